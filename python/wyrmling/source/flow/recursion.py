"""Functions that call themselves, to a depth that is not known while they are read.

The body is walked once for all calls, as that of a loop is for all turns: what the parameters are
is what all calls give, and is found by walking it until nothing more changes. So is what it
returns: in the first walk no call within it returns; later ones return what the walk before has
found. The program keeps what a caller still needs on tapes (``src/ir/recursion.rs``), and leaves
where Python would raise RecursionError.

A function sees its arguments and its closure. What it changes of lists, variables and instances
that all calls share is a result of each call; a change of what each call has of its own is refused.

Limit: the depth at which the program leaves is ``sys.getrecursionlimit()`` when it is read, counted
from where the program begins.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Hashable, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..abstract.join import Conflict, Incoming, KeyPath, Slot
from ..abstract.raising import Ended
from ..abstract.restarts import Restart, Structural
from ..abstract.state import State, bases_of, names_of, reachable
from ..abstract.values import (
    STORED,
    Array,
    Choice,
    Closure,
    Composite,
    Known,
    Lost,
    Number,
    Recorded,
    Reference,
    is_iterator,
    kind_of,
    sample,
)
from .loops import MOST_WALKS, Loops

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST = 200
MANY = 20
ADVICE = "write a loop"
CHANGED = "a change of what was given, in a function that calls itself"


@dataclass(frozen=True, slots=True)
class Result:
    """What a call returns, with what it has changed, and the leaves of these, which are computed:
    their kinds, and their values in the program. ``layout`` tells whether two are of one form.
    """

    value: Any
    changed: dict[int, Any]
    heap: dict[int, Any]
    shared: frozenset[int]
    leaves: list[tuple[str, Any]]
    ids: list[int]
    layout: list[Hashable]


@dataclass(slots=True)
class InnerCall:
    """A call of a function within itself: the path that calls, how deep it is, the block that goes
    on, and the addresses of arrays of which the caller has views.
    """

    incoming: Incoming
    depth: int
    then: int
    viewed: frozenset[int]


@dataclass(slots=True)
class Recursion:
    """A function that is walked for all of its calls. ``level`` is how many functions are around
    it, ``shared`` are the addresses that all calls have, and ``result`` is what a call within it
    returns, as far as that is known.
    """

    builder: Any
    function: Closure
    header: int
    depth: int
    level: int
    shared: frozenset[int]
    result: Result | None
    calls: list[InnerCall] = field(default_factory=list)


class Recursions(Loops):
    """Calls of what is being called."""

    def place_of(self, function: Closure, node: ast.AST) -> Hashable:
        """What tells a call in the text: where it stands, and where the function does."""
        own, caller = function.node, self.frame.reading
        return (
            *(function.reading.file, own.lineno, own.col_offset),
            *(caller.file, getattr(node, "lineno", 0), getattr(node, "col_offset", 0)),
        )

    def under_way(
        self, function: Closure, args: Iterable[Any], yields: bool, node: ast.AST
    ) -> Recursion | None:
        """The recursion that a call belongs to; None if the call is read by itself. Raises Restart
        where the depth of the calls is not known, so that they are read as a recursion; calls of
        what ``yields`` cannot be.
        """
        own = [frame for frame in self.frames if frame.node is function.node]
        if len(own) > MANY:
            self.repeated = own[0].place
        if not own:
            if len(self.frames) > DEEPEST:
                self.refuse(node, "calls this deep", ADVICE)
            return None
        found: Recursion | None = own[-1].recursion
        if found is not None:
            same = found.function.names.function is function.names.function
            if not same or found.function.cells != function.cells:
                self.refuse(node, "recursion of a function that is made anew", ADVICE)
            if found.builder is not self.builder:
                self.refuse(node, "recursion within a derivative", ADVICE)
            return found
        integers = [v for v in args if isinstance(v, Number) and v.kind == "int" and v.sources]
        at = self.frames.index(own[0])
        parted = any(frame.parted for frame in self.frames[at:])
        if integers or parted or len(self.frames) > DEEPEST:
            if yields:
                value = integers[0] if integers else None
                what = "a generator of generators to an unknown depth"
                self.unknown(value, node, what, "append to a list and return it")
            sources = frozenset().union(*(one.sources for one in integers))
            raise Restart(recursive={own[0].place: sources})
        return None

    def recurse(
        self,
        function: Closure,
        bound: dict[str, Any],
        walk: Callable[[Recursion, dict[str, Any]], list[Incoming]],
        node: ast.AST,
    ) -> Any:
        """The first call of a function that calls itself. ``walk`` walks its body."""
        before, state = self.state, self.state
        viewed = self._viewed(before, self.held)
        level = len(state.environments)
        nothing: list[dict[str, Any]] = [{} for _ in range(level)]
        depth = self._depth(node)
        with self._forgetting(function):
            entry = State(before.block, [*nothing, bound], dict(before.heap))
            start = Incoming(entry)
            block, marks = entry.block, self._marks()
            forced: dict[KeyPath, Hashable] = {}
            result: Result | None = None
            calls: list[InnerCall] = []
            for _ in range(MOST_WALKS):
                self._rewind(entry, block, marks)
                header = self.builder.block()
                own = Recursion(
                    self.builder,
                    function,
                    header,
                    self.builder.parameter(header, "int"),
                    level,
                    frozenset(before.heap),
                    result,
                )
                merge = None
                if calls:
                    merge = self.merge([start, *(c.incoming for c in calls)], header, forced)
                    try:
                        state = merge.run(header).state
                    except Conflict:
                        self.refuse(node, CHANGED, ADVICE)
                else:
                    state = entry.copy(header)
                self.resume(state)
                given = dict(state.heap)
                returns = walk(own, state.environments.pop())
                calls = own.calls
                del self.held[marks[-1] :]
                check = self.merge(
                    [start, *(c.incoming for c in calls)], None, forced if merge else {}
                )
                try:
                    check.run(-1)
                except Conflict:
                    self.refuse(node, CHANGED, ADVICE)
                layout = {} if merge is None else merge.layout
                settled = list(check.layout.items()) == list(layout.items())
                if not returns:
                    # Every path leaves, or calls again; with what was known before that may be so
                    # in the first calls only.
                    if calls and not settled and not check.structural:
                        forced = check.layout
                        continue
                    self._rewind(before, block, marks)
                    self.leave("no path through this function returns", node)
                if check.structural:
                    what = f"a recursion{check.meets}" if check.meets else check.reason
                    what = what or "a list or dict that grows from call to call"
                    raise Structural(None, node, what, ADVICE, self.frame.reading)
                found = self._returned(own, returns, given, node)
                known = not calls or (result is not None and found.layout == result.layout)
                if settled and known:
                    viewed = viewed.union(*(one.viewed for one in calls))
                    if viewed & found.changed.keys():
                        self.refuse(node, CHANGED, "copy the slice of the array that is changed")
                    self.builder.returns_to(header, found.ids)
                    after = self.builder.block()
                    self._call_at(block, own, depth, check.slots, 0, after)
                    for at, one in enumerate(calls):
                        place = one.incoming.state.block
                        self._call_at(place, own, one.depth, check.slots, at + 1, one.then)
                    break
                forced, result = check.layout, found
            else:
                self.refuse(node, "recursion in which names change their kinds", ADVICE)
        return self._behind(before, after, found)

    @contextmanager
    def _forgetting(self, function: Closure) -> Iterator[None]:
        """Lets nothing be in use but a function: what is around it, it cannot reach."""
        kept, self.held = self.held, [function]
        before = self.statement
        self.statement = 0
        try:
            yield
        finally:
            self.held, self.statement = kept, before

    def _depth(self, node: ast.AST) -> int:
        """How many calls Python has under way when a function is called now."""
        for at in range(len(self.frames) - 1, -1, -1):
            around = self.frames[at].recursion
            if around is not None and around.builder is self.builder:
                return self._deeper(around, len(self.frames) - at, node)
        return self.constant(len(self.frames))

    def _deeper(self, recursion: Recursion, calls: int, node: ast.AST) -> int:
        exit = self.exit("the recursion is too deep", node)
        return self.compute("int_add", recursion.depth, self.constant(calls), exit=exit)

    def call_again(self, recursion: Recursion, bound: dict[str, Any], node: ast.AST) -> Any:
        """A call of a function within itself."""
        at = [frame.recursion for frame in self.frames].index(recursion)
        depth = self._deeper(recursion, len(self.frames) - at, node)
        if any(self.runs(value) for value in bound.values()):
            self.refuse(node, "a generator given to a function that calls itself", "give a list")
        limit = self.constant(sys.getrecursionlimit())
        fits = self.compute("less_equal_int", depth, limit)
        self.builder.guard(fits, self.exit("the recursion is too deep", node))
        environments: list[dict[str, Any]] = [{} for _ in range(recursion.level)]
        calling = State(self.state.block, [*environments, bound], dict(self.state.heap))
        then = self.builder.block()
        viewed = self._viewed(self.state, self.held)
        recursion.calls.append(InnerCall(Incoming(calling), depth, then, viewed))
        if recursion.result is None:
            raise Ended
        return self._behind(self.state, then, recursion.result)

    @staticmethod
    def _viewed(state: State, held: list[Any]) -> frozenset[int]:
        """The addresses of arrays of which there are views among names and what is held."""
        values = [*names_of(state), *held]
        for address in reachable(state, values):
            contents = state.heap[address]
            if not isinstance(contents, Lost):
                values += contents.parts
        return frozenset().union(*map(bases_of, values))

    def _call_at(
        self, block: int, own: Recursion, depth: int, slots: list[Slot], at: int, then: int
    ) -> None:
        """Ends a block by a call, with what it gives for the parameters."""
        self.builder.switch(block)
        args = [self._given(slot, slot.given[at]) for slot in slots]
        self.builder.call(own.header, [depth, *args], then)

    def _behind(self, before: State, block: int, result: Result) -> Any:
        """Goes on behind a call: what it returns, in the state before it with what it changed."""
        made = iter(
            [
                self.builder.parameter(block, kind, None if like is None else sample(like))
                for kind, like in result.leaves
            ]
        )
        self.resume(before.copy(block))
        carry = Carrier(self, result.heap, result.shared, lambda *_: next(made))
        value = carry.value(result.value)
        for address, contents in result.changed.items():
            parts = tuple(carry.value(part) for part in contents.parts)
            self.state.heap[address] = contents.with_parts(parts)
        return value

    def _returned(
        self, own: Recursion, returns: list[Incoming], given: dict[int, Any], node: ast.AST
    ) -> Result:
        """What all paths through a function return, and what of ``given`` they change."""
        for incoming in returns:
            heap = incoming.state.heap
            for address in given.keys() - own.shared:
                if not unchanged(given[address], heap.get(address, given[address])):
                    self.refuse(node, CHANGED, ADVICE)
        common = [
            address
            for address in sorted(given.keys() & own.shared)
            if all(address in incoming.state.heap for incoming in returns)
        ]
        with self.holding(*(Reference(address) for address in common)):
            value = self.meet(returns, node)[0]
        heap = self.state.heap
        changed = {
            address: heap[address]
            for address in common
            if not unchanged(given[address], heap[address])
        }
        leaves: list[tuple[str, Any]] = []
        ids: list[int] = []

        def leaf(id: int, kind: str, like: Any) -> int:
            ids.append(id)
            leaves.append((kind, like))
            return id

        barred = frozenset(given) - own.shared
        carry = Carrier(self, heap, own.shared, leaf, barred)
        carry.value(value)
        for address, contents in changed.items():
            old = given[address]
            if isinstance(contents, Lost) or isinstance(old, Lost) or contents.head != old.head:
                self.refuse(node, CHANGED, ADVICE)
            carry.layout.append(("changed", address))
            for part in contents.parts:
                carry.value(part)
        return Result(value, changed, dict(heap), own.shared, leaves, ids, carry.layout)


class Carrier:
    """Takes a value to another state: ``leaf`` gives each part that is computed its value in the
    program there. Objects of ``shared`` addresses are the same there, others are made anew; those
    of ``barred`` addresses belong to the caller, which knows them by other addresses.
    """

    def __init__(
        self,
        walker: Recursions,
        heap: dict[int, Any],
        shared: frozenset[int],
        leaf: Callable[[int, str, Any], int],
        barred: frozenset[int] = frozenset(),
    ) -> None:
        self.walker, self.heap, self.shared, self.leaf = walker, heap, shared, leaf
        self.barred = barred
        self.layout: list[Hashable] = []
        self.moved: dict[int, Reference] = {}

    def value(self, value: Any) -> Any:
        """The value in the other state."""
        walker = self.walker
        if isinstance(value, Number):
            self.layout.append(("number", value.kind))
            return Number(value.kind, self.leaf(value.id, STORED[value.kind], None))
        if isinstance(value, Array):
            self.layout.append(("array", value.dtype, value.shape, value.computed))
            self._expect(not value.bases & self.barred)
            return replace(value, id=self.leaf(value.id, "array", value))
        if isinstance(value, Known):
            if kind_of(value) is not None:
                self.layout.append(("known", kind_of(value), repr(value.object)))
            else:
                walker.alive[id(value.object)] = value.object
                self.layout.append(("object", id(value.object)))
            return value
        if isinstance(value, Choice):
            self.layout.append(("choice", len(value.alternatives)))
            tag = self.leaf(value.tag, "int", None)
            return Choice(tag, tuple(self.value(one) for one in value.alternatives))
        if isinstance(value, Reference):
            return self._object(value)
        self._expect(not is_iterator(value))
        self.layout.append((type(value), getattr(value, "head", None)))
        if isinstance(value, Composite):
            return value.with_parts(tuple(self.value(part) for part in value.parts))
        self._expect(not isinstance(value, Lost | Recorded))
        return value

    def _object(self, value: Reference) -> Reference:
        self._expect(value.address not in self.barred)
        if value.address in self.shared:
            self.layout.append(("shared", value.address))
            return value
        if value.address in self.moved:
            self.layout.append(("again", list(self.moved).index(value.address)))
            return self.moved[value.address]
        contents = self.heap[value.address]
        self._expect(not isinstance(contents, Lost))
        self.layout.append((type(contents), contents.head))
        made = self.walker.allocate(contents)
        self.moved[value.address] = made
        parts = tuple(self.value(part) for part in contents.parts)
        self.walker.state.heap[made.address] = contents.with_parts(parts)
        return made

    def _expect(self, holds: bool) -> None:
        if not holds:
            self.walker.refuse(
                self.walker.node,
                "such a result of a function that calls itself",
                "return numbers, tuples or lists that it makes",
            )


def unchanged(old: Any, new: Any) -> bool:
    """Whether contents of an address are the same as before."""
    if old is new:
        return True
    if type(old) is not type(new) or isinstance(old, Lost) or old.head != new.head:
        return False
    return all(map(_same, old.parts, new.parts))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Number | Array) and isinstance(b, type(a)):
        return a.id == b.id
    if isinstance(a, Composite) and type(a) is type(b) and a.head == b.head:
        return all(map(_same, a.parts, b.parts))
    return a is b or (isinstance(a, Reference) and a == b)
