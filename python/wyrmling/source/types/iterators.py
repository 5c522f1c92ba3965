"""``iter``, and instances whose class has ``__iter__``: the generator that goes through them."""

from __future__ import annotations

import ast
from typing import Any

from ..abstract.values import Reference, kind_of
from ..abstract.walker import Walker

TAKERS = frozenset(
    {"all", "any", "enumerate", "filter", "iter", "list", "map", "max", "min", "sorted", "sum"}
    | {"tuple", "zip"}
)
"""Functions of Python's own that go through what they are given."""


def iterated(walker: Walker, value: Any, node: ast.AST) -> Any:
    """The generator that ``__iter__`` of an instance gives; anything else as it is."""
    method = walker.bound(value, "__iter__", node) if isinstance(value, Reference) else None
    if method is None:
        return value
    made = walker.call(method, [], {}, node)
    return made if walker.runs(made) else value


def iterator(walker: Walker, value: Any, node: ast.AST) -> Any:
    """What ``iter`` gives, as a generator."""
    if walker.runs(value):
        return value
    if kind_of(value) is not None:
        walker.leave("a number cannot be gone through", node)
    return walker.call(walker.written_out("each", node), [value], {}, node)
