"""Pictures of graphs: SVG laid out here, DOT and Mermaid for other programs, and text.

One file a concept: ``graph`` reads the nodes and puts them in words, ``layout`` finds places for
boxes, ``svg``, ``dot``, ``mermaid`` and ``text`` write one format each. Nothing is needed but
Python, and nothing walks a graph recursively.
"""

from __future__ import annotations

import operator
from os import PathLike, fspath
from pathlib import Path

from .. import _core
from . import dot, mermaid, svg, text
from .graph import Graph, read

__all__ = ["Drawing", "draw"]


class Drawing:
    """A graph as it was when ``draw`` was called.

    Shows itself as a picture in Jupyter and as a table elsewhere.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def svg(self) -> str:
        """The picture: an ``svg`` element, to be a file or part of a page.

        What a node does not say for lack of space is shown when the pointer rests on it.
        """
        return svg.write(self._graph)

    def dot(self) -> str:
        """The graph in the DOT language of Graphviz."""
        return dot.write(self._graph)

    def mermaid(self) -> str:
        """The graph as a Mermaid flowchart, which many pages of documentation show."""
        return mermaid.write(self._graph)

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a file in the format that its name ends in: ``.svg``, ``.dot`` or ``.mmd``.

        Raises ValueError for any other ending, OSError if the file cannot be written.
        """
        formats = {".svg": self.svg, ".dot": self.dot, ".mmd": self.mermaid}
        write = formats.get(Path(path).suffix.lower())
        if write is None:
            known = ", ".join(formats)
            raise ValueError(f"path: expected a name that ends in one of {known}, got {path!r}")
        with open(fspath(path), "w", encoding="utf-8", newline="\n") as file:
            file.write(write())

    def _repr_svg_(self) -> str:
        return self.svg()

    def __str__(self) -> str:
        return text.write(self._graph)

    def __repr__(self) -> str:
        return str(self)


def draw(loss: _core.Variable, limit: int = 200) -> Drawing:
    """A picture of how a variable is computed: operators, shapes, values and gradients.

    ``loss`` is any variable; values are brought up to date first. At most ``limit`` nodes are
    shown, those that the fewest steps lead to from ``loss``; one more stands for the rest and says
    how many they are. Arrays of more than a few elements are shown by their range.

    Raises TypeError if ``loss`` is no variable or ``limit`` no integer, ValueError if ``limit``
    is less than 1, and whatever ``loss.value`` raises.

    >>> import wyrmling as wy
    >>> slope, intercept = wy.Parameter(1.0, name="slope"), wy.Parameter(0.0, name="intercept")
    >>> loss = (7.0 - (slope * 3.0 + intercept)).square()
    >>> loss.backward()
    >>> wy.draw(loss)
    %0  constant             float64  7
    %1  Parameter slope      float64  1   gradient -24
    %2  constant             float64  3
    %3  mul(%1, %2)          float64  3
    %4  Parameter intercept  float64  0   gradient -8
    %5  add(%3, %4)          float64  3
    %6  sub(%0, %5)          float64  4
    %7  square(%6)           float64  16
    """
    given: object = loss
    if not isinstance(given, _core.Variable):
        hint = "; draw the loss that it was frozen from" if isinstance(given, _core.Program) else ""
        raise TypeError(f"loss: expected a variable, got {type(given).__name__}{hint}")
    try:
        limit = operator.index(limit)
    except TypeError:
        name = type(limit).__name__
        raise TypeError(f"limit: expected a number of nodes, got {name}") from None
    if limit < 1:
        raise ValueError(f"limit: expected at least 1 node, got {limit}")
    return Drawing(read(loss, limit))
