"""Text: a table with a line for each node, what it is computed from named by number."""

from __future__ import annotations

from .graph import Graph
from .svg import columns


def write(graph: Graph) -> str:
    """The table, without a newline at its end.

    Operands that are left out are three dots, and the first line says how many nodes are.
    """
    left_out = graph.nodes[0].kind == "rest"
    shift = int(left_out)
    rows = []
    for at, node in enumerate(graph.nodes[shift:]):
        what = node.title
        if node.kind == "operation":
            names = (f"%{p - shift}" if p >= shift else "..." for p in node.parents)
            attributes = f"[{node.attributes}]" if node.attributes else ""
            what = f"{what}{attributes}({', '.join(names)})"
        gradient = f"gradient {node.gradient}" if node.gradient else ""
        rows.append((f"%{at}", what, node.type, node.value, gradient))
    widths = [max(columns(row[k]) for row in rows) for k in range(4)]
    lines = [f"... {graph.nodes[0].type}"] if left_out else []
    for row in rows:
        cells = (text + " " * (w - columns(text)) for text, w in zip(row, widths, strict=False))
        lines.append("  ".join((*cells, row[4])).rstrip())
    return "\n".join(lines)
