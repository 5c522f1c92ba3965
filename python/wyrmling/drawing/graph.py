"""A graph in words: its nodes in order, each with what there is to say about it.

Every format shows these words, so that all say the same. Numbers are rounded to five digits. What
has few elements shows them, anything else its range; the native module looks through the
elements, and they are not copied.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from .. import _core

# First elements, smallest and largest, and how many are NaN.
Numbers = tuple[list[float], float, float, int]

# Longest name or attributes, and longest list of elements, in characters.
_NAME, _ELEMENTS = 32, 30


@dataclass(frozen=True)
class Node:
    """One node; ``kind`` is the class of a leaf, "constant", "operation" or "rest"."""

    kind: str
    title: str
    attributes: str
    type: str
    value: str
    gradient: str
    # The places of its operands among the nodes.
    parents: tuple[int, ...]

    @property
    def details(self) -> list[str]:
        """What there is beside the title, a line each."""
        gradient = f"gradient {self.gradient}" if self.gradient else ""
        return [line for line in (self.attributes, self.type, self.value, gradient) if line]


@dataclass(frozen=True)
class Graph:
    """Nodes, parents first; the last is what was drawn.

    Where nodes are left out, the first is of kind "rest" and stands for them.
    """

    nodes: tuple[Node, ...]

    @property
    def edges(self) -> list[tuple[int, int, int]]:
        """An operand, what uses it, and as which operand: from 1, or 0 for the only one."""
        edges = []
        for at, node in enumerate(self.nodes):
            several = len(node.parents) > 1
            edges += [(parent, at, k * several) for k, parent in enumerate(node.parents, 1)]
        return edges


def read(root: _core.Variable, limit: int) -> Graph:
    """The graph below a variable, of which at most ``limit`` nodes are shown."""
    outlined, total = _core.outline(root, min(limit, sys.maxsize))
    left_out = total - len(outlined)
    shift = int(left_out > 0)
    nodes = []
    if left_out:
        words = "1 more node" if left_out == 1 else f"{left_out:,} more nodes"
        nodes.append(Node("rest", "...", "", words, "", "", ()))
    for kind, name, attributes, shape, dtype, parents, value, gradient in outlined:
        title = kind
        if kind == "operation":
            title = printable(name or "")
        elif name is not None:
            title = f"{kind} {printable(name)}"
        nodes.append(
            Node(
                kind,
                title,
                shown_attributes(attributes),
                shown_type(shape, dtype),
                "is being trained" if value is None else shown(shape, value),
                "" if gradient is None else shown_gradient(shape, *gradient),
                tuple(0 if at is None else at + shift for at in parents),
            )
        )
    return Graph(tuple(nodes))


def printable(name: str) -> str:
    """A name on one line, cut if it is long.

    Characters that do not show, or would change how others do, are written as escapes.
    """
    name = name if len(name) <= _NAME else name[: _NAME - 1] + "…"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)


def shown_attributes(attributes: str) -> str:
    """Attributes as the native module gives them, without those that are off.

    >>> shown_attributes("axes: [0], keepdims: false")
    'axes [0]'
    >>> shown_attributes("shape: [Some(3), None]")
    'shape [3, -1]'
    """
    parts = re.split(r", (?=\w+: )", attributes)
    kept = [part for part in parts if not part.endswith((": false", ": None", ": []"))]
    text = ", ".join(re.sub(r"^(\w+): true$", r"\1", part) for part in kept)
    text = re.sub(r"Some\((-?\d+)\)", r"\1", text)
    if text.startswith("shape"):
        text = text.replace("None", "-1")
    text = re.sub(r"^(\w+): ", r"\1 ", text)
    return printable(text)


def shown_type(shape: Sequence[int], dtype: str) -> str:
    """Element type and, unless it is a single number, shape."""
    return f"{dtype} {tuple(shape)}" if shape else dtype


def number(x: float) -> str:
    """A number in few digits.

    >>> number(16.0), number(0.1234567), number(-2.5e-8), number(float("nan"))
    ('16', '0.12346', '-2.5e-08', 'nan')
    """
    return f"{x:.0f}" if x == x // 1 and abs(x) < 1e9 else f"{x:.5g}"


def shown(shape: Sequence[int], numbers: Numbers) -> str:
    """The elements if they are few, else their range.

    >>> shown([2], ([1.0, 2.0], 1.0, 2.0, 0))
    '[1, 2]'
    >>> shown([1000], ([0.0, 1.0], -0.5, 3.0, 2))
    '-0.5 to 3, 2 NaN'
    """
    first, low, high, nans = numbers
    size = 1
    for length in shape:
        size *= length
    if size == 0:
        return "empty"
    if size == len(first):
        words = [number(x) for x in first]
        if not shape:
            return words[0]
        if len(shape) == 2:
            width = shape[1]
            rows = (words[at : at + width] for at in range(0, size, width))
            text = f"[{', '.join('[' + ', '.join(row) + ']' for row in rows)}]"
        else:
            text = f"[{', '.join(words)}]"
        if len(text) <= _ELEMENTS:
            return text
    if nans == size:
        return "all NaN"
    text = f"all {number(low)}" if low == high else f"{number(low)} to {number(high)}"
    return f"{text}, {nans:,} NaN" if nans else text


def shown_gradient(shape: Sequence[int], numbers: Numbers, rows: int | None) -> str:
    """A gradient, which may be some rows of what has ``shape``."""
    if rows is None:
        return shown(shape, numbers)
    if rows == 0:
        return "of no rows"
    words = "1 row" if rows == 1 else f"{rows:,} rows"
    return f"{shown([rows, *shape[1:]], numbers)} in {words}"
