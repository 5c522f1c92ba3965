"""The state of a function that is read: what names stand for, and what the heap holds.

A path through the function has a state of its own. It is copied where paths part, which is cheap:
values and contents never change, they are replaced. ``block`` is the block of the program that is
being written.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, TypeGuard

import numpy as np

from .values import (
    Array,
    Choice,
    Composite,
    Known,
    Lost,
    Number,
    Recorded,
    Reference,
    Unset,
    Value,
    View,
    is_iterator,
)

MISSING = object()
"""A default that is no value of any name or member."""
NOT_MOVED = Known(0)
"""The first row of a list of computed length from which none was taken in front."""
PLAIN_KEYS = (int, float, str, bytes, tuple, type(None))
"""What a set may have: their hashes and comparisons run no code of the caller's."""


@dataclass(frozen=True, slots=True)
class ListContents:
    """The items of a list. What was given as an argument is ``external``: nobody writes to it."""

    items: tuple[Any, ...]
    external: bool = False

    @property
    def head(self) -> Hashable:
        """The length."""
        return (len(self.items), self.external)

    @property
    def parts(self) -> tuple[Any, ...]:
        """The items."""
        return self.items

    def with_parts(self, parts: tuple[Any, ...]) -> ListContents:
        """Other items."""
        return replace(self, items=parts)


@dataclass(frozen=True, slots=True)
class GrownContents:
    """A list whose length is computed; its items are of one form (``columns.py``). The first of
    them is in the row ``first`` of each column: what is before was taken out.
    """

    form: Any
    length: Any
    columns: tuple[Any, ...]
    external: bool = False
    first: Any = NOT_MOVED

    @property
    def head(self) -> Hashable:
        """The form of the items."""
        return (self.form,)

    @property
    def is_moved(self) -> bool:
        """Whether the first item may be in another row than the first."""
        return not isinstance(self.first, Known) or self.first.object != 0

    @property
    def parts(self) -> tuple[Any, ...]:
        """The first row, the length and the columns."""
        return (self.first, self.length, *self.columns)

    def with_parts(self, parts: tuple[Any, ...]) -> GrownContents:
        """Another first row and length, and other columns."""
        return replace(self, first=parts[0], length=parts[1], columns=parts[2:])


@dataclass(frozen=True, slots=True)
class TableContents:
    """A list of lists of numbers as an array of them (``types/tables.py``). Where they are of
    several ``kinds``, the array ``which`` has their places among these.
    """

    kinds: tuple[str, ...]
    shape: tuple[int, int]
    values: Reference
    which: Reference | None
    external: bool = False

    @property
    def head(self) -> Hashable:
        """The kinds and the lengths."""
        return (self.kinds, self.shape, self.external)

    @property
    def parts(self) -> tuple[Any, ...]:
        """The arrays."""
        return (self.values,) if self.which is None else (self.values, self.which)

    def with_parts(self, parts: tuple[Any, ...]) -> TableContents:
        """Other arrays."""
        return replace(self, values=parts[0], which=None if self.which is None else parts[1])


@dataclass(frozen=True, slots=True)
class TableRowContents:
    """A row of a table."""

    owner: Any
    index: Any
    external: bool = False
    head: Hashable = None

    @property
    def parts(self) -> tuple[Any, ...]:
        """The table, and which row it is."""
        return (self.owner, self.index)

    def with_parts(self, parts: tuple[Any, ...]) -> TableRowContents:
        """Another row."""
        return replace(self, owner=parts[0], index=parts[1])


@dataclass(frozen=True, slots=True)
class DictContents:
    """The keys of a dict, which are known, in their order, and its values. ``factory`` is what
    makes the values of a ``defaultdict``, or None.
    """

    keys: tuple[Any, ...]
    values: tuple[Any, ...]
    external: bool = False
    cls: type = dict
    factory: Any = None

    @property
    def head(self) -> Hashable:
        """The class, and the keys, their types and their order."""
        keys = tuple((type(key), key) for key in self.keys)
        return (self.cls, self.factory is None, keys, self.external)

    @property
    def parts(self) -> tuple[Any, ...]:
        """The values, and the factory."""
        return self.values if self.factory is None else (*self.values, self.factory)

    def with_parts(self, parts: tuple[Any, ...]) -> DictContents:
        """Other values of the same keys, and another factory."""
        if self.factory is None:
            return replace(self, values=parts)
        return replace(self, values=parts[:-1], factory=parts[-1])


@dataclass(frozen=True, slots=True)
class SetContents:
    """What a set has, which is known, in the order in which it came."""

    items: tuple[Any, ...]
    external: bool = False
    parts: tuple[Any, ...] = ()

    @property
    def head(self) -> Hashable:
        """The items and their types."""
        return tuple((type(item), item) for item in self.items)

    def with_parts(self, parts: tuple[Any, ...]) -> SetContents:
        """The same: it has no parts."""
        return self


@dataclass(frozen=True, slots=True)
class InstanceContents:
    """The attributes of an instance that the function made; its class was found at ``place``."""

    cls: type
    names: tuple[str, ...]
    values: tuple[Any, ...]
    place: Any = None
    external: bool = False

    @property
    def head(self) -> Hashable:
        """The class and the names."""
        return (self.cls, self.names, self.external)

    @property
    def parts(self) -> tuple[Any, ...]:
        """The values."""
        return self.values

    def with_parts(self, parts: tuple[Any, ...]) -> InstanceContents:
        """Other values of the same attributes."""
        return replace(self, values=parts)


@dataclass(frozen=True, slots=True)
class OneValue:
    """Contents that are one value."""

    value: Any
    external: bool = False
    head: Hashable = None

    @property
    def parts(self) -> tuple[Any, ...]:
        """The value."""
        return (self.value,)

    def with_parts(self, parts: tuple[Any, ...]) -> Self:
        """Another value."""
        return replace(self, value=parts[0])


class CellContents(OneValue):
    """What a variable stands for that several functions share."""

    __slots__ = ()


class ArrayContents(OneValue):
    """The value of an array that the function made, and may write to."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class GeneratorContents:
    """A generator that nobody has begun to go through, or that is at its end (``over``).

    ``text`` is the function, with its arguments and cells by name, or a generator expression, with
    what it goes through first; ``home`` is then the frame in which it stands, and ``renamed`` the
    names of comprehensions around it.
    """

    text: Any
    function: Any = None
    names: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()
    cells: tuple[tuple[str, Reference], ...] = ()
    home: Any = None
    renamed: tuple[dict[str, str], ...] = ()
    over: bool = False
    external: bool = False

    @property
    def head(self) -> Hashable:
        """The text and where it is."""
        cells = tuple(name for name, _ in self.cells)
        return (id(self.text), id(self.home), self.names, cells, self.over)

    @property
    def parts(self) -> tuple[Any, ...]:
        """The function, arguments and cells."""
        own = () if self.function is None else (self.function,)
        return (*own, *self.values, *(cell for _, cell in self.cells))

    def with_parts(self, parts: tuple[Any, ...]) -> GeneratorContents:
        """Others in their places."""
        first = 0 if self.function is None else 1
        after = first + len(self.values)
        cells = zip((name for name, _ in self.cells), parts[after:], strict=True)
        return replace(
            self,
            function=parts[0] if first else None,
            values=parts[first:after],
            cells=tuple(cells),
        )


Contents = (
    ListContents
    | GrownContents
    | TableContents
    | TableRowContents
    | DictContents
    | InstanceContents
    | CellContents
    | ArrayContents
    | GeneratorContents
    | SetContents
    | Lost
)


OF_CLASS: dict[type, type] = {
    ListContents: list,
    GrownContents: list,
    DictContents: dict,
    SetContents: set,
}
"""The class of Python's whose methods contents have."""


def is_list_or_dict(contents: Any) -> TypeGuard[ListContents | DictContents]:
    """Whether this is a list of known length or a dict, and of no class derived from these."""
    return isinstance(contents, ListContents) or getattr(contents, "cls", None) is dict


@dataclass(slots=True)
class State:
    """What names stand for in each function that is being called, the innermost last."""

    block: int
    environments: list[dict[str, Value]] = field(default_factory=list)
    heap: dict[int, Contents] = field(default_factory=dict)

    def copy(self, block: int) -> State:
        """The same state for another block."""
        return State(block, [dict(names) for names in self.environments], dict(self.heap))


def addresses(value: Any) -> Iterable[int]:
    """The addresses that a value names itself."""
    if isinstance(value, Reference):
        yield value.address
    elif isinstance(value, Composite):
        for part in value.parts:
            yield from addresses(part)
    elif isinstance(value, Choice):
        for alternative in value.alternatives:
            yield from addresses(alternative)


# Classes of values that lead to no object.
PLAIN = frozenset({Number, Known, Unset, Lost, Array})


def reachable(state: State, roots: Iterable[Any]) -> set[int]:
    """The addresses that values lead to."""
    found: set[int] = set()
    heap = state.heap
    if not heap:
        return found
    waiting = [value for value in roots if type(value) not in PLAIN]
    while waiting:
        value = waiting.pop()
        if type(value) is Reference:
            address = value.address
            if address in found or address not in heap:
                continue
            found.add(address)
            contents = heap[address]
            parts = () if isinstance(contents, Lost) else contents.parts
        elif type(value) is Choice:
            parts = value.alternatives
        else:
            parts = getattr(value, "parts", ())
        for part in parts:
            if type(part) not in PLAIN:
                waiting.append(part)
    return found


def computed_items(state: State) -> int:
    """How many items of lists and dicts are computed."""
    held = [c.parts for c in state.heap.values() if isinstance(c, ListContents | DictContents)]
    return sum(type(item) is not Known for items in held for item in items)


def names_of(state: State) -> list[Any]:
    """All values that names stand for."""
    return [value for names in state.environments for value in names.values()]


def dominates(choice: Choice) -> bool:
    """Whether a choice has no objects, so that it may stay as it is where paths agree."""
    return all(isinstance(one, Number | Known | Unset) for one in choice.alternatives)


def differing(ours: dict[str, Any], theirs: dict[str, Any]) -> Iterable[str]:
    """The names that stand for different values in two environments. These may have thousands of
    names, nearly all of which stand for the same: they are compared without a step of Python each.
    """
    if len(ours) == len(theirs) and all(map(operator.is_, ours, theirs)):
        return itertools.compress(ours, map(operator.is_not, ours.values(), theirs.values()))
    known = (name for name, value in theirs.items() if ours.get(name, MISSING) is not value)
    return itertools.chain(ours.keys() - theirs.keys(), known)


def integer_type(contents: ArrayContents) -> np.dtype[Any] | None:
    """The element type of an array of integers or truths, which is held as floats; None of any
    other array.
    """
    return None if contents.head is None else np.dtype(str(contents.head))


def has_floats(contents: Any) -> TypeGuard[ArrayContents]:
    """Whether these are the contents of an array of floats."""
    own = isinstance(contents, ArrayContents) and contents.head is None
    return own and not isinstance(contents.value, Lost)


def bases_of(value: Any) -> frozenset[int]:
    """The addresses of arrays of which a value is a view, or has one among its parts."""
    if isinstance(value, Array | View | Recorded):
        return value.bases
    if isinstance(value, Composite):
        return frozenset().union(*map(bases_of, value.parts))
    if isinstance(value, Choice):
        return frozenset().union(*map(bases_of, value.alternatives))
    return frozenset()


def gets_iterator(parts: Sequence[Any], before: Sequence[Any]) -> bool:
    """Whether an iterator is among the parts of an object, which had others before."""
    # The parts from before have been looked at, and appending would take time by the square.
    if all(map(operator.is_, parts, before)):
        parts = parts[len(before) :]
    return any(map(is_iterator, parts))
