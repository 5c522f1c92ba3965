"""What all parts of the abstract interpreter share: the program that is written, the state of the
path that is followed, where paths part and meet, and how one leaves.

Each part is a class of its own file, of base ``Walker`` (``evaluate_BinOp`` and ``execute_For`` are
methods, found by the name of the node's class); ``interpreter.Interpreter`` has them all.

A path that ends raises ``Ended``: it has returned, left, or jumped. The code that parted the paths
catches it and goes on with the others.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from ..text import refuse
from ..text.names import Scope
from .columns import Packed, Retag
from .frames import Frame
from .join import Conflict, Incoming, KeyPath, Merge, Slot
from .masks import as_floats
from .raising import Ended, Raising
from .restarts import NeedsConstant
from .state import (
    Contents,
    ListContents,
    State,
    TableContents,
    TableRowContents,
    computed_items,
    gets_iterator,
)
from .values import (
    PLACEHOLDER,
    STORED,
    Array,
    Choice,
    Known,
    Lost,
    Number,
    Recorded,
    Reference,
    is_iterator,
    kind_of,
    sample,
)

COMPUTED_INDEX = (
    "loop over the items, or over a range whose length does not depend on what is computed; "
    "or make it an array"
)
LONGEST_UNROLLED = 2000
MOST_WORK = 30_000
# So many computed items of lists, which are compared where paths meet, count as a step of reading.
ITEMS_OF_A_STEP = 16
OTHER_LENGTH = "an array has another length than before"
"""The text of exits for lengths that were seen."""


class Walker(Raising):
    """The state that the parts share. See the head of this file."""

    def __init__(self, builder: Any, needs: Any, kept: frozenset[Hashable]) -> None:
        self.builder = builder
        self.needs = needs
        self.names_kept = kept
        self.recursive: dict[Hashable, frozenset[int]] = {}
        # Of cached functions (caching.py): the results of those that are being called, with the
        # builder that writes them, and the contents of the objects that each of them reads.
        self.memos: dict[Hashable, tuple[Reference, Any]] = {}
        self.asked: dict[Hashable, Hashable] = {}
        self.seen_by: dict[Hashable, dict[int, Any]] = {}
        self.repeated: Hashable = None
        self.state = State(0)
        self.frames: list[Frame] = []
        self.held: list[Any] = []
        self.statement = 0
        self.node: ast.AST = ast.Pass()
        self.hidden: dict[int, Any] = {}
        self.places: list[Any] = []
        # The program is for all lengths and values of arrays and integers at these places.
        self.varying: frozenset[Hashable] = frozenset()
        self.left_open: set[int] = set()
        # What is called, and the arguments, of the call for which it is read.
        self.roots: tuple[Any, ...] = ()
        self.captured: list[Any] = []
        self.constants: dict[Any, int] = {}
        self.outer: dict[Any, Reference] = {}
        self.outer_places: dict[int, Any] = {}
        self.outer_arrays: dict[int, Any] = {}
        self.work = 0
        # Whether a list gets a computed length where an item is looked up by a computed index: not
        # where the index may be known in each run of a loop. Whether one got a length that is known
        # for arrays of the lengths that were seen; whether a condition is.
        self.loosens, self.unsettled, self.measured = True, False, False
        # The states in which the loops were entered that are being written, the outermost first.
        self.entries: list[State] = []
        # Whether reading ended because of MOST_WORK.
        self.exhausted = False
        # Whether the function does something of which tracing gives another result, or refuses it.
        self.asks_kind = self.takes_no_variable = False
        self.shapes: list[tuple[Any, tuple[int, ...]]] = []
        self.alive: dict[int, Any] = {}
        # Arrays of integers and truths by their ids, and the keys of what made them
        # (written_integers.py).
        self.makers: dict[int, tuple[Any, Hashable]] = {}
        self.scopes: dict[int, Scope] = {}
        self._addresses = itertools.count(1)
        self._serial = itertools.count(1)

    # What the parts give each other.

    def evaluate(self, node: ast.expr) -> Any:
        """The value of an expression."""
        self._spend(node)
        value = self._handler_of("evaluate", node)(node)
        self.hold(value)
        return value

    def hold(self, value: Any) -> None:
        """Keeps a value in use until the end of the statement."""
        if not isinstance(value, Number | Known):
            self.held.append(value)

    def execute(self, body: Sequence[ast.stmt]) -> None:
        """Statements, one after the other."""
        for node in body:
            self._spend(node)
            held, before = len(self.held), self.statement
            self.statement = held
            self.node = node
            self.builder.line(node.lineno)
            try:
                self._handler_of("execute", node)(node)
            finally:
                del self.held[held:]
                self.statement = before

    def _handler_of(self, verb: str, node: ast.AST) -> Callable[[Any], Any]:
        found: Callable[[Any], Any] | None = getattr(self, f"{verb}_{type(node).__name__}", None)
        if found is None:
            refusal = refuse.refusal(self.frame.reading, node)
            assert refusal is not None, f"the table says that {type(node).__name__} is read"
            raise refusal
        return found

    def _spend(self, node: ast.AST, work: int = 1) -> None:
        self.work += work
        if self.work > MOST_WORK:
            self.exhausted = True
            self.refuse(
                node,
                "a function of this size, with what it calls",
                "write long loops over ranges or arrays, which stay loops",
            )

    # The text.

    @property
    def frame(self) -> Frame:
        """The function that is being called."""
        return self.frames[-1]

    def refuse(self, node: ast.AST, construct: str, advice: str) -> NoReturn:
        """Raises the error that names a place in the text."""
        raise refuse.at(self.frame.reading, node, construct, advice)

    def unknown(self, value: Any, node: ast.AST, what: str, advice: str) -> NoReturn:
        """Raises that a value is not known where it has to be."""
        raise NeedsConstant(value, node, what, advice, self.frame.reading)

    def constant_of(self, value: Any, node: ast.AST, what: str, advice: str = "") -> Any:
        """The object that a value is known to be."""
        if isinstance(value, Known):
            return value.object
        value = self.settled(value, node)
        if isinstance(value, Number) and value.seen is not None:
            self.expect_shapes()
            same = self.compute("equal_int", self.as_int(value), self.constant(value.seen))
            self.guard(same, OTHER_LENGTH, node)
            return value.seen
        return self.unknown(value, node, what, advice or "pass it as a number that is written")

    def expect_shapes(self) -> None:
        """The program is for arrays of the shapes that were seen: others are read anew."""
        for place, shape in self.shapes:
            self.needs.test(place.attribute("shape"), ("equal", shape))

    def expect_shape(self, array: Array, node: ast.AST) -> None:
        """The program leaves where an array has another shape than the one that was seen."""
        for axis in range(len(array.shape)):
            self.constant_of(self.axis_length(array, axis, node), node, "a length")

    # The program.

    def constant(self, value: Any) -> int:
        """A constant of the program."""
        made: int = self.builder.constant(value)
        return made

    def axis_length(self, array: Array, axis: int, node: ast.AST) -> Number:
        """The length of an axis of an array."""
        exit = self.exit("an array has no such axis", node)
        made = self.builder.compute("length", [array.id], exit, axis=axis)
        return Number("int", made, seen=None if array.computed else array.shape[axis])

    def id_of(self, value: Any) -> int:
        """The value of the program that holds a number or an array."""
        value = as_floats(self.builder, value) if isinstance(value, Recorded) else value
        if isinstance(value, Number | Array):
            return value.id
        assert isinstance(value, Known), value
        kind = kind_of(value)
        assert kind is not None, value
        made = value.object
        if kind in ("float64", "int64", "numpy_bool"):
            made = made.item()
        return self.constant(made)

    def within_length(self, index: Any, length: Any, node: ast.AST) -> Any:
        """An index within a length, counted from the start; negative ones count from the end."""
        at = self.decide(
            self.compare("Lt", index, Known(0), node),
            lambda: self.binary("Add", index, length, node),
            lambda: index,
            node,
        )
        text = "an index that is out of range"
        self.guard(self.compare("GtE", at, Known(0), node), text, node, IndexError)
        self.guard(self.compare("Lt", at, length, node), text, node, IndexError)
        return at

    def apply(self, operator: str, *args: int, **attributes: Any) -> int:
        """An operator of the rule table."""
        made: int = self.builder.apply(operator, list(args), **attributes)
        return made

    def compute(self, operator: str, *args: int, exit: int | None = None) -> int:
        """An operator on integers, truth and single numbers."""
        made: int = self.builder.compute(operator, list(args), exit)
        return made

    # The heap.

    def kept(self, value: Any, node: ast.AST) -> Any:
        """A value that gets a name, or a place in a container. An iterator becomes a generator, an
        object whose items are gone after they were gone through.
        """
        value = self.owned(value)
        return self.as_generator(value, node) if is_iterator(value) else value

    def allocate(self, contents: Contents) -> Reference:
        """A new object."""
        if not isinstance(contents, Lost):
            self._no_iterators(contents, self.node)
        address = next(self._addresses)
        self.state.heap[address] = contents
        return Reference(address)

    def new_list(self, items: Sequence[Any]) -> Reference:
        """A new list."""
        return self.allocate(ListContents(tuple(items)))

    def contents(self, value: Reference, node: ast.AST) -> Any:
        """What stands under an address."""
        found = self.state.heap.get(value.address, Lost("the paths to here made several"))
        if isinstance(found, Lost):
            what = f"what is no one object here ({found.reason})"
            self.unknown(value, node, what, found.advice or LOST)
        if isinstance(found, TableContents | TableRowContents):
            self.as_lists(value, node)
            return self.contents(value, node)
        return found

    def store(self, value: Reference, contents: Any, node: ast.AST) -> None:
        """Other contents for an address."""
        if (old := self.contents(value, node)).external:
            place = self.outer_places.get(value.address)
            advice = "copy it first, or return the new value"
            if place is not None:
                self.refuse(node, f"a write to {place}, which the function did not make,", advice)
            # It may be in a list of known length where each run of a loop is read by itself.
            what = "what the function did not make, or put into a list of computed length,"
            self.unknown(Known(None), node, f"a write to {what}", advice)
        self._no_iterators(contents, node, old.parts)
        self.state.heap[value.address] = contents

    def _no_iterators(self, contents: Any, node: ast.AST, before: Sequence[Any] = ()) -> None:
        if gets_iterator(contents.parts, before):
            self.refuse(node, "an iterator that is kept", "go through it where it is made")

    def serial(self) -> str:
        """A name that no variable has."""
        return f".{next(self._serial)}"

    # Paths.

    def resume(self, state: State) -> None:
        """Follows another path."""
        self.state = state
        self.builder.switch(state.block)

    def here(self, *values: Any) -> Incoming:
        """The path that is followed, as it arrives somewhere."""
        return Incoming(self.state, values)

    def leaving(self, around: list[Frame], *values: Any) -> Incoming:
        """The path that is followed, as it arrives where these are the frames: generators that are
        gone through on the way are dropped.
        """
        if around != self.frames:
            pairs = zip(self.frames, self.state.environments, strict=True)
            names = {id(frame): environment for frame, environment in pairs}
            self.state.environments = [names[id(frame)] for frame in around]
        return Incoming(self.state, values)

    def innermost(self, frame: Frame, action: Callable[[], Any]) -> Any:
        """Runs an action where a frame is the innermost."""
        at = next((at for at, one in enumerate(self.frames) if one is frame), -1)
        assert at >= 0, "the frame is one of those that run"
        if at == len(self.frames) - 1:
            return action()
        self.frames.append(self.frames.pop(at))
        names = self.state.environments
        names.append(names.pop(at))
        try:
            found = action()
            names = self.state.environments
            names.insert(at, names.pop())
        finally:
            self.frames.insert(at, self.frames.pop())
        return found

    def part(self, condition: int) -> tuple[State, State]:
        """Two paths: one where a condition holds, and one where it does not."""
        self.frame.parted = True
        then, otherwise = self.builder.block(), self.builder.block()
        self.builder.branch(condition, then, [], otherwise, [])
        return self.state.copy(then), self.state.copy(otherwise)

    def decide(
        self,
        condition: Any,
        then: Callable[[], Any],
        otherwise: Callable[[], Any],
        node: ast.AST,
    ) -> Any:
        """What ``then`` gives where a condition holds, what ``otherwise`` does where it does not.

        Both give a value, or None for no value.
        """
        if isinstance(condition, Known):
            return then() if condition.object else otherwise()
        arrived: list[Incoming] = []
        held = len(self.held)
        for state, action in zip(self.part(condition.id), (then, otherwise), strict=True):
            self.resume(state)
            try:
                value = action()
                arrived.append(self.here(*([] if value is None else [value])))
            except Ended:
                pass
            del self.held[held:]
        values = self.meet(arrived, node)
        return values[0] if values else None

    def meet(self, arrived: list[Incoming], node: ast.AST) -> tuple[Any, ...]:
        """Goes on with what is common to the paths that arrive; returns their values."""
        if not arrived:
            raise Ended
        if len(arrived) == 1:
            self.resume(arrived[0].state)
            return arrived[0].values
        self._spend(node, computed_items(arrived[0].state) // ITEMS_OF_A_STEP)
        block = self.builder.block()
        merge = self.merge(arrived, block, {}, grows=True)
        try:
            merged = merge.run(block)
        except Conflict:
            self.refuse(node, CONFLICT, LOST)
        for at, incoming in enumerate(arrived):
            self.jump(incoming.state, block, merge.slots, at)
        self.resume(merged.state)
        return merged.values

    def merge(
        self,
        arrived: list[Incoming],
        block: int | None,
        forced: dict[KeyPath, Hashable],
        grows: bool = False,
    ) -> Merge:
        """A merge whose parameters are those of a block; None only looks what it would be. With
        ``grows`` lists may be of different lengths.
        """

        def make(kind: str, like: Any) -> int:
            if block is None:
                return -1
            made: int
            if kind == "array":
                made = self.builder.parameter(block, "array", sample(like))
            else:
                made = self.builder.parameter(block, STORED[kind])
            return made

        return Merge(
            arrived,
            make,
            lambda: next(self._addresses),
            list(self.held),
            forced,
            self.names_kept,
            self.alive,
            grows,
        )

    def jump(self, state: State, block: int, slots: list[Slot], at: int) -> None:
        """Ends a path by going to a block, with what it gives for the parameters."""
        self.builder.switch(state.block)
        args = [self._given(slot, slot.given[at]) for slot in slots]
        self.builder.jump(block, args)

    def _given(self, slot: Slot, value: Any) -> int:
        if isinstance(value, Retag):
            return self.retagged(value)
        if isinstance(value, Packed):
            return self.packed(value)
        if value is not None:
            return self.id_of(value)
        if slot.kind == "array":
            return self.constant(sample(slot.like))
        return self.constant(PLACEHOLDER[slot.kind])

    def retagged(self, given: Retag) -> int:
        """The tag of a choice in another order: a sum of which one term is not zero."""
        if given.order == tuple(range(len(given.order))):
            return given.tag
        total = self.constant(0)
        for old, new in enumerate(given.order):
            chosen = self.compute("equal_int", given.tag, self.constant(old))
            exit = self.builder.exit("a tag is out of range", 0)
            term = self.compute("bool_to_int", chosen)
            scaled = self.compute("int_mul", term, self.constant(new), exit=exit)
            total = self.compute("int_add", total, scaled, exit=exit)
        return total

    # Choices.

    def distribute(self, value: Choice, action: Callable[[Any], Any], node: ast.AST) -> Any:
        """What an action gives for the value that a choice turns out to be."""
        return self._among(value, 0, action, node)

    def _among(self, value: Choice, at: int, action: Callable[[Any], Any], node: ast.AST) -> Any:
        def use() -> Any:
            return action(value.alternatives[at])

        if at == len(value.alternatives) - 1:
            return use()
        chosen = Number("bool", self.compute("equal_int", value.tag, self.constant(at)))
        rest = at + 1
        return self.decide(chosen, use, lambda: self._among(value, rest, action, node), node)

    def settled(self, value: Any, node: ast.AST) -> Any:
        """A value that has to be one thing: a choice is refused."""
        if isinstance(value, Choice):
            self.unknown(
                value, node, "a value that is one of several things", "compute with numbers"
            )
        return value

    @contextmanager
    def holding(self, *values: Any) -> Iterator[None]:
        """Keeps values in use while others are computed."""
        count = len(self.held)
        self.held += values
        try:
            yield
        finally:
            del self.held[count:]


SETTLES = ".settles"
"""Says that loops which build lists, and conditions, are for the lengths that were seen."""
CONFLICT = "two names of one object, one of which is another object on another path to here"
LOST = (
    "append numbers of one kind, arrays of one shape or tuples and lists of these, do the same to "
    "it on all paths, or build it in a loop over a range whose length does not depend on what is "
    "computed"
)
