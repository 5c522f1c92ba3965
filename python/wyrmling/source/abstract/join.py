"""Where paths meet: one state for several.

What all paths agree on stays as it is. Numbers of one kind that differ become a parameter of the
block at which they meet. Values of different kinds (an integer and a float, None and a number, a
name that is not set on some path) become a choice, of which an integer says which. What cannot be
told apart while the program runs, such as lists of different lengths, is lost: it cannot be read.

Objects that were made on different paths and that the same names lead to become one object, unless
that would part two names of one object; then the merge fails. Two names of one array may part: then
neither array is written to any more.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any

from .columns import Packed, Retag, form_of_lists, parts_of, references_of, single_forms
from .exchange import with_exchanged
from .masks import ones_and_zeros, recorded_as
from .state import (
    NOT_MOVED,
    PLAIN,
    ArrayContents,
    CellContents,
    Contents,
    GrownContents,
    State,
    bases_of,
    differing,
    dominates,
    has_floats,
    names_of,
    reachable,
)
from .values import (
    Array,
    Choice,
    Composite,
    Known,
    Lost,
    Number,
    Recorded,
    Reference,
    Text,
    Unset,
    Value,
    View,
    alternatives_of,
    kind_of,
    same_object,
    sources_of,
)

KeyPath = tuple[Hashable, ...]  # Where a value is in a state: the depth of a frame and a name, say.
MANY = 12
UNSET = Unset()
MIXED = "a list that grows by items of several kinds, or none of numbers, arrays, tuples and lists,"


class Conflict(Exception):
    """Two names of one object lead to different ones on another path."""


@dataclass(slots=True)
class Incoming:
    """A path that arrives, with values that are no name's."""

    state: State
    values: tuple[Any, ...] = ()


@dataclass(slots=True)
class Slot:
    """A parameter of the block: its kind, and what each path gives for it (None: anything)."""

    kind: str
    like: Any
    given: list[Any]


@dataclass(slots=True)
class Merge:
    """One state of several. ``make`` makes a parameter of a kind (``like`` an array, if it is one);
    ``forced`` is the layout of an earlier merge, which this one repeats at least; ``kept`` are
    names of which is kept track where they are unset on some paths. ``held`` are values that are in
    use; what ``alive`` has is not freed, so that no other object has its id.
    """

    incomings: list[Incoming]
    make: Callable[[str, Any], int]
    address: Callable[[], int]
    held: list[Any]
    forced: dict[KeyPath, Hashable]
    kept: frozenset[Hashable]
    alive: dict[int, Any]
    # Whether lists of different lengths become one whose length is computed.
    grows: bool = False
    # Why a list has no such length, and in what arrays differ that meet.
    reason: str = ""
    meets: str = ""
    slots: list[Slot] = field(default_factory=list)
    layout: dict[KeyPath, Hashable] = field(default_factory=dict)
    structural: bool = False
    mixed: bool = False
    _heap: dict[int, Contents] = field(default_factory=dict)
    _pairs: dict[tuple[Any, ...], int] = field(default_factory=dict)
    _parted: set[int] = field(default_factory=set)
    _owners: list[dict[int, int]] = field(default_factory=list)
    _reached: list[set[int]] = field(default_factory=list)
    _changed: set[KeyPath] = field(default_factory=set)
    # Objects that became items of lists of computed length, by path.
    _packed: set[tuple[int, int]] = field(default_factory=set)

    def run(self, block: int) -> Incoming:
        """The state of the block at which the paths meet, and the values."""
        self.incomings = with_exchanged(self.incomings, self.held)
        states = [incoming.state for incoming in self.incomings]
        self._owners = [{} for _ in states]
        self._reached = [
            reachable(i.state, [*names_of(i.state), *i.values, *self.held]) for i in self.incomings
        ]
        self._changed = {path[:2] for path in self.forced if path[0] == "heap"}
        merged = State(block)
        if self.held:
            self._held()
        for depth, first in enumerate(states[0].environments):
            others = [state.environments[depth] for state in states[1:]]
            changed = {path[1] for path in self.forced if path[0] == depth}
            environment: dict[str, Value] = dict(first)
            for other in others:
                changed.update(differing(first, other))
                if not other.keys() <= environment.keys():
                    environment |= {n: v for n, v in other.items() if n not in environment}
            # Thousands of names may stand for one value on all paths: they are passed over, unless
            # it leads to objects.
            classes = zip(environment, map(type, environment.values()), strict=True)
            for name in [n for n, c in classes if c not in PLAIN or n in changed]:
                given = [first.get(name, UNSET), *[other.get(name, UNSET) for other in others]]
                environment[name] = self.merge((depth, name), given)
            merged.environments.append(environment)
        values = tuple(
            self.merge(("value", at), list(given))
            for at, given in enumerate(zip(*(i.values for i in self.incomings), strict=True))
        )
        merged.heap = self._heap
        self._bar_writes(merged, values)
        return Incoming(merged, values)

    def _bar_writes(self, merged: State, values: tuple[Any, ...]) -> None:
        """An array that has another address now cannot be written to, if there are views."""
        for at, address in self._packed:
            own = [new for key, new in self._pairs.items() if key[at] == address]
            for one in [address, *own]:
                contents = merged.heap.get(one)
                if not isinstance(contents, Lost | None):
                    merged.heap[one] = replace(contents, external=True)
        if not self._pairs:
            return
        for address in self._parted:
            contents = merged.heap[address]
            if isinstance(contents, ArrayContents):
                merged.heap[address] = replace(contents, external=True)
        viewed = any(bases_of(one) for one in [*names_of(merged), *values, *self.held]) or any(
            bases_of(part)
            for contents in merged.heap.values()
            if not isinstance(contents, Lost)
            for part in contents.parts
        )
        if viewed:
            for address in self._pairs.values():
                contents = merged.heap[address]
                if isinstance(contents, ArrayContents):
                    merged.heap[address] = replace(contents, external=True)

    def _held(self) -> None:
        held = reachable(self.incomings[0].state, self.held)
        for address in sorted(held.intersection(*self._reached)):
            self._references(("held", address), [Reference(address)] * len(self.incomings))

    def merge(self, path: KeyPath, given: list[Any]) -> Any:
        """One value for those that the paths give; None for a path that gives none."""
        first = given[0]
        if type(first) in PLAIN and path not in self.forced:
            for value in given:
                if value is not first:
                    break
            else:
                return first
        present = [value for value in given if value is not None]
        first, whole = present[0], len(present) == len(given)
        classes = {type(value) for value in present}
        if Lost in classes:
            self.layout[path] = "lost"
            return next(value for value in present if isinstance(value, Lost))
        if isinstance(self.forced.get(path), tuple):
            return self._choose(path, given)
        if Unset in classes:
            return self._unset(path, given, present)
        if View in classes:
            # Where the array was not written to, the part is what it was.
            given = [getattr(v, "view", None) or v for v in given]
            present = [v for v in given if v is not None]
            first, classes = present[0], set(map(type, present))
        arrays = self._arrays(given) if Array in classes or Reference in classes else None
        if arrays is not None:
            return self._array(path, arrays, [one for one in arrays if one is not None], whole)
        kind = kind_of(first)
        if kind is not None:
            if all(kind_of(value) == kind for value in present):
                return self._number(path, kind, given, present, whole)
            return self._choose(path, given)
        if len(classes) > 1:
            return self._choose(path, given)
        if isinstance(first, Known):
            same = all(same_object(first.object, value.object) for value in present)
            return first if same else self._choose(path, given)
        if isinstance(first, Reference):
            return self._references(path, given)
        if isinstance(first, Composite):
            if any(value.head != first.head for value in present):
                if isinstance(first, Text):
                    return Text()
                return self._choose(path, given)
            parts = [
                self.merge((*path, at), [None if v is None else v.parts[at] for v in given])
                for at in range(len(first.parts))
            ]
            return first.with_parts(tuple(parts))
        if isinstance(first, Choice):
            same = whole and all(value == first for value in present) and dominates(first)
            return first if same else self._choose(path, given)
        same = all(v == first for v in present)
        # What a Recorded is computed of is not defined on paths that lack it.
        if isinstance(first, Recorded) and not (same and whole and path not in self.forced):
            like = ones_and_zeros(present)
            if like is None:
                return self._lose(path, "differ")
            return recorded_as(self._array(path, given, [like], False), bool)
        return first if same else self._lose(path, "differ")

    def _unset(self, path: KeyPath, given: list[Any], present: list[Any]) -> Any:
        if all(isinstance(value, Unset) for value in present):
            return present[0]
        key = path[-1]
        if key in self.kept:
            return self._choose(path, given)
        self.layout[path] = "lost"
        return Lost("it is set on some of the paths that lead here only", key)

    def _lose(self, path: KeyPath, reason: str, meets: bool = False) -> Lost:
        self.layout[path] = "lost"
        self.structural = True
        self.meets = f" in which {reason}" if meets else self.meets
        return Lost(reason)

    def _number(
        self, path: KeyPath, kind: str, given: list[Any], present: list[Any], whole: bool
    ) -> Any:
        first = present[0]
        if path not in self.forced:
            if isinstance(first, Number):
                if whole and all(isinstance(v, Number) and v.id == first.id for v in present):
                    return Number(kind, first.id, sources_of(*present))
            elif all(isinstance(v, Known) and same_object(v.object, first.object) for v in present):
                return first
        self.layout[path] = f"number {kind}"
        self.slots.append(Slot(kind, None, given))
        return Number(kind, self.make(kind, None), sources_of(*present))

    def _arrays(self, given: list[Any]) -> list[Any] | None:
        """The values of arrays that meet; None if they are no arrays, or all one object."""
        found: list[Any] = []
        references = []
        for value, incoming in zip(given, self.incomings, strict=True):
            one = value
            if isinstance(value, Reference):
                contents = incoming.state.heap.get(value.address)
                if not has_floats(contents):
                    return None
                references.append(value.address)
                one = replace(contents.value, bases=contents.value.bases | {value.address})
            elif value is not None and not isinstance(value, Array):
                return None
            found.append(one)
        shared = [a for a in references if all(a in reached for reached in self._reached)]
        same = len(set(references)) == 1
        if len(references) == sum(v is not None for v in given) and (same or not shared):
            return None
        return found

    def _array(self, path: KeyPath, given: list[Any], present: list[Any], whole: bool) -> Any:
        first = present[0]
        if any(v.dtype != first.dtype or len(v.shape) != len(first.shape) for v in present):
            return self._lose(path, "arrays of different types meet", True)
        if any(v.shape != first.shape for v in present):
            return self._lose(path, "arrays of different shapes meet", True)
        bases: frozenset[int] = frozenset().union(*(v.bases for v in present))
        outer: frozenset[Any] = frozenset().union(*(v.outer for v in present))
        computed = any(v.computed for v in present)
        shared = sorted(bases.intersection(*self._reached))
        if shared:
            self.layout[path] = f"view of {shared}"
        if path not in self.forced and whole and all(v.id == first.id for v in present):
            # One array on all paths: it stays a view if it is the same part on all.
            view = first.view if all(v.view == first.view for v in present) else None
            return replace(first, bases=bases, outer=outer, computed=computed, view=view)
        self.layout[path] = f"array {first.dtype} {first.shape} {shared} {computed}"
        self.slots.append(Slot("array", first, given))
        made = self.make("array", first)
        return Array(made, first.dtype, first.shape, bases, outer, computed)

    def _key(self, at: int, value: Any) -> Hashable:
        """What tells the alternatives of a choice apart."""
        kind = kind_of(value)
        if kind is not None:
            return ("number", kind)
        if isinstance(value, Known):
            self.alive[id(value.object)] = value.object
            return ("known", id(value.object))
        if isinstance(value, Reference):
            shared = all(value.address in reached for reached in self._reached)
            contents = self.incomings[at].state.heap.get(value.address)
            if shared or isinstance(contents, Lost | None):
                return ("reference", value.address)
            return ("fresh", type(contents), contents.head)
        if isinstance(value, Composite) and not isinstance(value, Text):
            return (type(value), value.head)
        return (type(value),)

    def _choose(self, path: KeyPath, given: list[Any]) -> Any:
        """A choice of all that the paths give."""
        before = self.forced.get(path)
        order: list[Hashable] = list(before) if isinstance(before, tuple) else []
        if isinstance(before, str) and before.startswith("number "):
            order.append(("number", before.removeprefix("number ")))
        groups: dict[Hashable, list[Any]] = {}
        tags: list[Any] = []
        for at, value in enumerate(given):
            if value is None:
                tags.append(None)
                continue
            positions = []
            for alternative in alternatives_of(value):
                key = self._key(at, alternative)
                if key not in order:
                    order.append(key)
                group = groups.setdefault(key, [None] * len(given))
                if group[at] is not None:
                    return self._lose(path, "two values of a choice become one")
                group[at] = alternative
                positions.append(order.index(key))
            if isinstance(value, Choice):
                tags.append(Retag(value.tag, tuple(positions)))
            else:
                tags.append(Known(positions[0]))
        if len(order) > MANY or any(key not in groups for key in order):
            return self._lose(path, "it is one of too many things")
        self.layout[path] = tuple(order)
        if len([key for key in order if isinstance(key, tuple) and key[0] == "number"]) > 1:
            self.mixed = True
        self.slots.append(Slot("int", None, tags))
        tag = self.make("int", None)
        merged = [self.merge((*path, at), groups[key]) for at, key in enumerate(order)]
        if any(isinstance(one, Lost) for one in merged):
            return self._lose(path, "it is one of several things that differ")
        return Choice(tag, tuple(merged))

    def _references(self, path: KeyPath, given: list[Any]) -> Any:
        present = [value.address for value in given if value is not None]
        first = present[0]
        everywhere = all(first in reached for reached in self._reached)
        if everywhere and all(address == first for address in present):
            for owner in self._owners:
                if owner.setdefault(first, first) != first:
                    raise Conflict
            if first not in self._heap and not self._stays(first):
                self._heap[first] = Lost("it is being merged")
                self._contents(first, ("heap", first), [first] * len(given))
            return Reference(first)
        if len(given) == len(present) and len(set(present)) > 1:
            for address in present:
                if all(address in reached for reached in self._reached):
                    return self._choose(path, given)
        key = tuple(None if value is None else value.address for value in given)
        if key in self._pairs:
            return Reference(self._pairs[key])
        new = self._pairs[key] = self.address()
        for owner, address in zip(self._owners, key, strict=True):
            if address is not None and owner.setdefault(address, new) != new:
                self._part(owner[address], new, key)
        self.layout[path] = "object"
        self._heap[new] = Lost("it is being merged")
        self._contents(new, (*path, "*"), list(key))
        return Reference(new)

    def _stays(self, address: int) -> bool:
        """Whether an object is the same on all paths, leads to no other, and has no part that an
        earlier merge changed: then it is kept as it is.
        """
        contents = self.incomings[0].state.heap.get(address)
        if contents is None or isinstance(contents, Lost) or ("heap", address) in self._changed:
            return False
        if any(i.state.heap.get(address) is not contents for i in self.incomings):
            return False
        for part in contents.parts:
            if type(part) not in PLAIN and not (type(part) is Choice and dominates(part)):
                return False
        self._heap[address] = contents
        return True

    def _part(self, first: int, second: int, where: tuple[int | None, ...]) -> None:
        """Lets two names of one array be names of two, which nobody may write to from now on."""
        for address, incoming in zip(where, self.incomings, strict=True):
            if address is None:
                continue
            if not isinstance(incoming.state.heap.get(address), ArrayContents):
                raise Conflict
        self._parted |= {first, second}

    def _contents(self, new: int, path: KeyPath, where: list[int | None]) -> None:
        found = [
            None if address is None else incoming.state.heap.get(address, Lost("it is gone"))
            for address, incoming in zip(where, self.incomings, strict=True)
        ]
        present = [contents for contents in found if contents is not None]
        first = present[0]
        lost = next((contents for contents in present if isinstance(contents, Lost)), None)
        whole = [contents for contents in present if not isinstance(contents, Lost)]
        if lost is not None:
            self.layout[path] = "lost"
            self._heap[new] = lost
            return
        assert not isinstance(first, Lost)
        if any(type(c) is not type(first) or c.head != first.head for c in whole):
            grown = self._grown(path, found) if self.grows else None
            if grown is not None:
                self._heap[new] = grown
                return
            self._heap[new] = self._lose(path, "its length or its keys depend on the path to here")
            return
        parts = []
        for at in range(len(first.parts)):
            column = [None if isinstance(c, Lost | None) else c.parts[at] for c in found]
            name = self._cell_name(first, path, at)
            parts.append(self.merge(name, column))
        made = first.with_parts(tuple(parts))
        if isinstance(made, ArrayContents) and any(c.external for c in whole):
            made = replace(made, external=True)
        self._heap[new] = made

    def _grown(self, path: KeyPath, found: list[Any]) -> GrownContents | None:
        """Lists of different lengths as one of computed length, if their items are of one form."""
        heaps = [incoming.state.heap for incoming in self.incomings]
        form = form_of_lists(found, heaps)
        if not form:
            self.reason = MIXED if form is False else ""
            return None
        firsts = [one and getattr(one, "first", NOT_MOVED) for one in found]
        lengths: list[Any] = []
        columns: list[list[Any]] = [[] for _ in single_forms(form)]
        for at, (contents, heap) in enumerate(zip(found, heaps, strict=True)):
            if contents is None:
                lengths.append(None)
                given: Any = [None] * len(columns)
            elif isinstance(contents, GrownContents):
                lengths.append(contents.length)
                given = contents.columns
            else:
                lengths.append(Known(len(contents.items)))
                rows = [parts_of(item, heap) for item in contents.items]
                given = [
                    Packed(tuple(row[k] for row in rows), one)
                    for k, one in enumerate(single_forms(form))
                ]
                for item in contents.items:
                    self._packed |= {(at, one.address) for one in references_of(item, heap)}
            for column, one in zip(columns, given, strict=True):
                column.append(one)
        self.layout[path] = f"list of {form}"
        made = [
            self._column((*path, "column", at), one.like, columns[at])
            for at, one in enumerate(single_forms(form))
        ]
        length = self.merge((*path, "length"), lengths)
        return GrownContents(form, length, tuple(made), first=self.merge((*path, "first"), firsts))

    def _column(self, path: KeyPath, like: Array, given: list[Any]) -> Array:
        parts = [p for v in given if v is not None for p in getattr(v, "parts", (v,))]
        arrays = [part for part in parts if isinstance(part, Array)]
        bases: frozenset[int] = frozenset().union(*(v.bases for v in arrays))
        outer: frozenset[Any] = frozenset().union(*(v.outer for v in arrays))
        self.layout[path] = "column"
        self.slots.append(Slot("array", like, given))
        return replace(like, id=self.make("array", like), bases=bases, outer=outer)

    @staticmethod
    def _cell_name(contents: Contents, path: KeyPath, at: int) -> KeyPath:
        return (*path, "cell") if isinstance(contents, CellContents) else (*path, at)
