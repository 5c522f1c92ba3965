"""Writes to views: to an item or slice that a name stands for, of an array that the function made.

A view is the value of a part, with how it was had (``values.View``). What is written to it is
written to that part of the array. A write to an array leaves to names that stood for views how
these are had, and they are looked up anew where they are read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..abstract.masks import as_floats
from ..abstract.state import ArrayContents
from ..abstract.values import (
    Array,
    Choice,
    Composite,
    Known,
    Lost,
    Recorded,
    Reference,
    View,
)

if TYPE_CHECKING:
    from ..abstract.walker import Walker


WRITTEN = Lost("a slice of an array that was written to", advice="copy the slice first")


def is_view(value: Any) -> bool:
    """Whether a value is a part of an array of the function's own that can be written to."""
    return isinstance(value, Array | Recorded) and value.view is not None


def as_view(value: Any, index: Any, part: Any) -> Any:
    """A part of an array, which knows that it is one if that is of the function's own."""
    owner = value.view if isinstance(value, Array | Recorded) else value
    if not (isinstance(part, Array | Recorded) and isinstance(owner, Reference | View)):
        return part
    bases = owner.bases if isinstance(owner, View) else {owner.address}
    if part.bases.isdisjoint(bases):
        return part
    return replace(part, view=View(owner, index))


def looked_up(walker: Walker, value: Any, node: ast.AST) -> Any:
    """What a name stands for: of a view, the part as it is now."""
    if isinstance(value, Choice) and any(isinstance(one, View) for one in value.alternatives):
        return walker.distribute(value, lambda one: looked_up(walker, one, node), node)
    if not isinstance(value, View):
        return value
    if isinstance(value.owner, Reference):
        walker.contents(value.owner, node)  # No object is refused, as of names that meet others.
    return walker.array_item(looked_up(walker, value.owner, node), value.index, node)


def store_in_view(walker: Walker, view: View, index: Any, value: Any, node: ast.AST) -> None:
    """Assigns to an item or slice of a view."""
    made = _apart(walker, looked_up(walker, view, node))
    walker.array_store(made, index, value, node)
    write_back(walker, view, made, node)


def write_back(walker: Walker, view: View, part: Any, node: ast.AST) -> None:
    """Gives the part of an array these values."""
    if isinstance(view.owner, View):
        store_in_view(walker, view.owner, view.index, part, node)
    else:
        walker.array_store(view.owner, view.index, part, node)


def _apart(walker: Walker, part: Array | Recorded) -> Reference:
    """An array with these values that can be written to."""
    if isinstance(part, Recorded):
        held = as_floats(walker.builder, part)
        return walker.allocate(ArrayContents(held, head=part.variable.dtype.name))
    own = Array(part.id, part.dtype, part.shape, computed=part.computed)
    return walker.allocate(ArrayContents(own))


def as_written(value: Any, address: int) -> Any:
    """What a name stands for after a write to the array at an address."""
    if not (isinstance(value, Array | Recorded) and address in value.bases):
        return value
    return getattr(value, "view", None) or WRITTEN


def is_view_of(value: Any, address: int) -> bool:
    """Whether a value is, or has, a part of the array at an address."""
    if isinstance(value, Array | Recorded):
        return address in value.bases
    if isinstance(value, Composite):
        return any(is_view_of(part, address) for part in value.parts)
    if isinstance(value, Choice):
        return any(is_view_of(part, address) for part in value.alternatives)
    return False


def let_go(held: list[Any], given: Iterable[Any]) -> list[Any]:
    """The views among arguments. What is evaluated for a call is not needed once names of the
    function stand for them, which see what it writes.
    """
    views = [value for value in given if is_view(value)]
    for view in views:
        at = next((at for at in reversed(range(len(held))) if held[at] is view), None)
        if at is not None:
            held[at] = Known(None)
    return views
