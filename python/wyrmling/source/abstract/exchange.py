"""Names that have exchanged their arrays, as in ``a, b = b, a``, where paths meet.

An address says which object of a path an object is; it means nothing by itself. So where the names
of one path stand for the same arrays as those of another, in another order, the addresses of that
path are exchanged: each name keeps its address, and what differs is what is at it. Each array can
then be written to as before, as in a loop that computes into one array what it reads from another.
So it is with items of lists and dicts that both paths have.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from .state import ArrayContents, State, differing, reachable
from .values import Array, Choice, Composite, Lost, Reference


def with_exchanged(incomings: Sequence[Any], held: Sequence[Any]) -> list[Any]:
    """Paths that meet, with the addresses of the first where names have exchanged their arrays;
    ``held`` are values that are in use, under the addresses that they have.
    """
    first = incomings[0]
    made = [first]
    for incoming in incomings[1:]:
        moved = _exchanged(first.state, incoming.state)
        if moved and moved.keys().isdisjoint(reachable(incoming.state, held)):
            state = _renamed_state(incoming.state, moved)
            values = tuple(_renamed(value, moved) for value in incoming.values)
            incoming = replace(incoming, state=state, values=values)
        made.append(incoming)
    return made


def _exchanged(first: State, other: State) -> dict[int, int]:
    """Which address of another path is which of the first, if names have exchanged their arrays and
    all else stays.
    """
    if not _may_differ(first, other):
        return {}
    moved: dict[int, int] = {}
    for value, found in _pairs(first, other):
        if type(value) is not Reference or type(found) is not Reference:
            continue
        if moved.setdefault(found.address, value.address) != value.address:
            return {}
    moved = {old: new for old, new in moved.items() if old != new}
    if not moved or moved.keys() != set(moved.values()):
        return {}
    contents = [state.heap.get(address) for state in (first, other) for address in moved]
    return moved if all(isinstance(one, ArrayContents) for one in contents) else {}


def _may_differ(first: State, other: State) -> bool:
    """Whether a name, or a part of an object, may be another object on another path."""
    for names, others in zip(first.environments, other.environments, strict=False):
        for name in differing(names, others):
            value = names.get(name)
            if type(value) is Reference and others.get(name) != value:
                return True
    # Thousands of objects may be the same: they are compared without a step of Python each.
    found = list(map(other.heap.get, first.heap))
    changed = itertools.compress(found, map(operator.is_not, found, first.heap.values()))
    return any(one is not None for one in changed)


def _pairs(first: State, other: State) -> Iterator[tuple[Any, Any]]:
    """What each name, and each part of an object, is on two paths."""
    if not first.heap:
        return
    for names, others in zip(first.environments, other.environments, strict=False):
        for name, value in names.items():
            yield value, others.get(name)
    for address, contents in first.heap.items():
        found = other.heap.get(address)
        if isinstance(contents, Lost) or isinstance(found, Lost) or found is contents:
            continue
        if type(found) is type(contents):
            yield from zip(contents.parts, found.parts, strict=False)


def _renamed(value: Any, moved: dict[int, int]) -> Any:
    """A value with other addresses for those of arrays."""
    if isinstance(value, Reference):
        return Reference(moved.get(value.address, value.address))
    if isinstance(value, Array):
        if value.bases.isdisjoint(moved):
            return value
        bases = frozenset(moved.get(one, one) for one in value.bases)
        return replace(value, bases=bases, view=_renamed(value.view, moved))
    if isinstance(value, Composite):
        return value.with_parts(tuple(_renamed(part, moved) for part in value.parts))
    if isinstance(value, Choice):
        return replace(value, alternatives=tuple(_renamed(v, moved) for v in value.alternatives))
    return value


def _renamed_state(state: State, moved: dict[int, int]) -> State:
    """The state of a path with other addresses for those of arrays."""
    heap = {}
    for address, contents in state.heap.items():
        if not isinstance(contents, Lost):
            contents = contents.with_parts(tuple(_renamed(part, moved) for part in contents.parts))
        heap[moved.get(address, address)] = contents
    names = [{name: _renamed(v, moved) for name, v in each.items()} for each in state.environments]
    return State(state.block, names, heap)
