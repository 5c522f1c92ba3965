"""DOT, the language of Graphviz (https://graphviz.org/doc/info/lang.html)."""

from __future__ import annotations

from .graph import Graph
from .svg import COLOURS, EDGE


def write(graph: Graph) -> str:
    """The graph, a statement a line."""
    out = [
        "digraph {",
        '  node [shape=box, style="rounded,filled", fontname="monospace", fontsize=11];',
        f'  edge [color="{EDGE}", fontname="monospace", fontsize=8];',
    ]
    last = len(graph.nodes) - 1
    for at, node in enumerate(graph.nodes):
        label = r"\n".join(escaped(line) for line in (node.title, *node.details))
        fill, border = COLOURS[node.kind]
        extra = ', style="rounded,filled,dashed"' if node.kind == "rest" else ""
        extra += ", penwidth=2" if at == last else ""
        out.append(f'  n{at} [label="{label}", fillcolor="{fill}", color="{border}"{extra}];')
    for start, end, operand in graph.edges:
        number = f' [headlabel="{operand}"]' if operand else ""
        out.append(f"  n{start} -> n{end}{number};")
    out.append("}")
    return "\n".join(out) + "\n"


def escaped(text: str) -> str:
    r"""Text inside a quoted label, where Graphviz knows backslashes and HTML's entities.

    >>> print(escaped('a "name" & \\N'))
    a \"name\" &amp; \\N
    """
    return text.replace("\\", r"\\").replace('"', r"\"").replace("&", "&amp;")
