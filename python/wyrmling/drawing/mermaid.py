"""Mermaid flowcharts (https://mermaid.js.org/syntax/flowchart.html)."""

from __future__ import annotations

from .graph import Graph
from .svg import COLOURS, INK


def write(graph: Graph) -> str:
    """The flowchart, a statement a line."""
    out = ["flowchart TD"]
    for at, node in enumerate(graph.nodes):
        label = "<br/>".join(escaped(line) for line in (node.title, *node.details))
        out.append(f'  n{at}["{label}"]:::{node.kind}')
    for start, end, operand in graph.edges:
        number = f"|{operand}|" if operand else ""
        out.append(f"  n{start} -->{number} n{end}")
    kinds = {node.kind for node in graph.nodes}
    for kind, (fill, border) in COLOURS.items():
        if kind in kinds:
            out.append(f"  classDef {kind} fill:{fill},stroke:{border},color:{INK}")
    return "\n".join(out) + "\n"


def escaped(text: str) -> str:
    """Text inside a quoted label: whatever might mean something is written by its number.

    >>> escaped('a "name"')
    'a #34;name#34;'
    """
    return "".join(c if c.isalnum() or c in " .,_-+()" else f"#{ord(c)};" for c in text)
