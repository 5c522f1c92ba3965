"""SVG: a picture that needs nothing else.

It is light on a ground of its own, so that a dark page changes nothing. There are no style
sheets and no ids in it, which on a page would meet those of others. Text is set in a font whose
characters are of one width, which is known without asking the font.
"""

from __future__ import annotations

import unicodedata
from html import escape
from itertools import pairwise

from .graph import Graph, Node
from .layout import PORT, Box, Point, arrange

# Fill and border by kind; DOT and Mermaid use them too.
COLOURS = {
    "Parameter": ("#e2f3e6", "#2f7d4f"),
    "Variable": ("#fdf1d8", "#a8741a"),
    "Input": ("#e1edfb", "#3069ad"),
    "IndexInput": ("#e1edfb", "#3069ad"),
    "constant": ("#f0f1f3", "#8a929e"),
    "operation": ("#ffffff", "#5b6472"),
    "rest": ("#ffffff", "#8a929e"),
}
INK, SOFT, GRADIENT = "#1b2330", "#5b6472", "#b3261e"
GROUND, EDGE = "#fbfcfd", "#8b94a3"
FONT = (
    "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', "
    "monospace"
)
# Sizes of text, and the width of a character in parts of that.
_TITLE, _DETAIL, _ADVANCE = 13.0, 11.0, 0.61
_PAD_X, _PAD_Y, _LEADING = 10.0, 7.0, 1.32


def write(graph: Graph) -> str:
    """The ``svg`` element."""
    lines = [_lines(node) for node in graph.nodes]
    edges = graph.edges
    sizes = [_size(text, len(node.parents)) for text, node in zip(lines, graph.nodes, strict=True)]
    layout = arrange(sizes, [(a, b) for a, b, _ in edges])
    width, height = _coordinate(layout.width), _coordinate(layout.height)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="{escape(FONT)}">',
        f'<rect width="{width}" height="{height}" rx="8" fill="{GROUND}"/>',
        f'<g fill="none" stroke="{EDGE}" stroke-width="1.3">',
        *(f'<path class="edge" d="{_curve(path)}"/>' for path in _branches(layout.paths)),
        "</g>",
        f'<g fill="{EDGE}">',
        *(_head(path[-1]) for path in layout.paths),
        "</g>",
    ]
    out.append(f'<g fill="{SOFT}" font-size="9">')
    for (_, _, operand), path in zip(edges, layout.paths, strict=True):
        if operand:
            # On the side where the edge does not come from.
            (x, y), right = path[-1], path[-3][0] <= path[-1][0]
            side = f'x="{_coordinate(x + 5 if right else x - 5)}" y="{_coordinate(y - 2)}"'
            anchor = "" if right else ' text-anchor="end"'
            out.append(f"<text {side}{anchor}>{operand}</text>")
    out.append("</g>")
    last = len(graph.nodes) - 1
    for at, (node, text, box) in enumerate(zip(graph.nodes, lines, layout.boxes, strict=True)):
        out += _node(node, text, box, at == last)
    out.append("</svg>")
    return "\n".join(out) + "\n"


def _lines(node: Node) -> list[tuple[str, float, str]]:
    """The lines of a node: text, size and colour."""
    colours = {node.value: INK, f"gradient {node.gradient}": GRADIENT}
    details = [(text, _DETAIL, colours.get(text, SOFT)) for text in node.details]
    return [(node.title, _TITLE, INK), *details]


def _size(lines: list[tuple[str, float, str]], operands: int) -> tuple[float, float]:
    """Width and height of a box, with room for the text and for the edges that end at it."""
    width = max(columns(text) * size * _ADVANCE for text, size, _ in lines)
    height = sum(size * _LEADING for _, size, _ in lines)
    return max(width + 2 * _PAD_X, PORT * (operands + 1)), height + 2 * _PAD_Y


def columns(text: str) -> int:
    """The number of characters of usual width that a text is as wide as.

    >>> columns("abc"), columns("日本")
    (3, 4)
    """
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _coordinate(x: float) -> str:
    return f"{x:.1f}".removesuffix(".0")


def _branches(paths: list[list[Point]]) -> list[list[Point]]:
    """The paths, each from where it leaves those before it: what is drawn twice looks bold."""
    drawn: set[tuple[Point, Point]] = set()
    branches = []
    for path in paths:
        steps = list(pairwise(path))
        # An even number of steps, so that the next one goes straight down.
        common = next((k for k, step in enumerate(steps) if step not in drawn), 0) // 2 * 2
        branches.append(path[common:])
        drawn.update(steps)
    return branches


def _curve(path: list[Point]) -> str:
    """Straight down, then in a curve to the next point, by turns."""
    x, y = path[0]
    parts = [f"M{_coordinate(x)} {_coordinate(y)}"]
    for k, (next_x, next_y) in enumerate(path[1:]):
        if k % 2 == 0 or next_x == x:
            if next_y != y:
                parts.append(f"V{_coordinate(next_y)}")
        else:
            middle = _coordinate((y + next_y) / 2)
            ends = f"{_coordinate(next_x)} {middle} {_coordinate(next_x)} {_coordinate(next_y)}"
            parts.append(f"C{_coordinate(x)} {middle} {ends}")
        x, y = next_x, next_y
    return "".join(parts)


def _head(end: Point) -> str:
    """The head of an arrow that points down to where it ends."""
    x, y = end
    left, right, up = _coordinate(x - 3.5), _coordinate(x + 3.5), _coordinate(y - 7)
    return f'<path d="M{left} {up}L{right} {up}L{_coordinate(x)} {_coordinate(y)}Z"/>'


def _node(node: Node, lines: list[tuple[str, float, str]], box: Box, root: bool) -> list[str]:
    fill, border = COLOURS[node.kind]
    stroke = f'stroke="{INK}" stroke-width="2"' if root else f'stroke="{border}"'
    dashes = ' stroke-dasharray="4 3"' if node.kind == "rest" else ""
    x, y, width, height = map(_coordinate, (box.x, box.y, box.width, box.height))
    out = [
        '<g class="node">',
        f"<title>{escape(chr(10).join([node.title, *node.details]))}</title>",
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="5" fill="{fill}" '
        f"{stroke}{dashes}/>",
    ]
    centre, baseline = _coordinate(box.x + box.width / 2), box.y + _PAD_Y
    for text, size, colour in lines:
        baseline += size * _LEADING
        at = _coordinate(baseline - size * 0.34)
        bold = ' font-weight="bold"' if size == _TITLE else ""
        out.append(
            f'<text x="{centre}" y="{at}" text-anchor="middle" font-size="{size:.0f}"{bold} '
            f'fill="{colour}">{escape(text)}</text>'
        )
    out.append("</g>")
    return out
