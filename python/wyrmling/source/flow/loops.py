"""``for`` and ``while``: loops of the text become loops of the program.

The body is interpreted from the state in which the loop is entered. What it changed becomes a
parameter of the block at the head of the loop, and it is interpreted again, until nothing more
changes (a fixed point). Instructions that were written before the last time are not reached, and
dropped.

- Where the first run of the body changes what kind a number has (``s = 0`` before ``s += x``), that
  run is written by itself, before the loop.
- Where the runs of the body cannot be one (items of a tuple that differ, lists that grow), each is
  written by itself, if their number is known. A list that grows over an array of any length has a
  computed length; where that is refused, the function is read for the length that was seen.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from ..abstract.frames import Loop, LoopCode, LoopEnds
from ..abstract.join import Conflict, Incoming, KeyPath
from ..abstract.raising import Ended
from ..abstract.restarts import NeedsConstant, Restart, Structural
from ..abstract.values import Known, sources_of
from ..abstract.walker import COMPUTED_INDEX, CONFLICT, LONGEST_UNROLLED, LOST, SETTLES, Walker
from ..text.refuse import SourceError
from ..types.computed_slices import SLICE_STORE
from ..types.tables import Tabled
from ..types.texts import IN_A_LOOP, PRINT_IN_A_LOOP

MOST_WALKS = 12
ROLLS = ".rolls"
"""Says that loops whose items are found by computed indices stay loops where they can, as there is
too much to read otherwise."""
# For each frame, lists of paths that arrived and how long they were; how many handlers there are,
# and how many values are in use.
Marks = tuple[list[list[tuple[list[Any], int]]], list[int], int]


@dataclass(frozen=True)
class Turns:
    """How often a loop turns: ``count`` if that is known, ``bounds`` the leaves of the arguments
    that tell. ``settle`` makes lengths that were seen known, for which the program then is, and
    says how often that is; it raises what it is given where the number is none of such lengths.
    """

    count: int | None = None
    bounds: frozenset[int] = frozenset()
    settle: Callable[[NeedsConstant], int] | None = None


UNKNOWN_TURNS = Turns()


class _Mixed(Exception):
    """Numbers of different kinds meet at the head of a loop."""


class Grew(NeedsConstant):
    """A list that is gone through item by item gets a computed length."""


class Loops(Walker):
    """``while``, and how loops are written."""

    def execute_While(self, node: ast.While) -> None:
        """``while condition: …``."""

        def condition() -> Any:
            return self.truth(self.evaluate(node.test), node)

        code = LoopCode(condition, lambda: self.execute(node.body), None, node)
        ended, left = self.loop(code)
        self.after_loop(ended, left, node)

    def after_loop(
        self, ended: list[Incoming], left: list[Incoming], node: ast.For | ast.While
    ) -> None:
        """``else``, and where the paths out of a loop meet."""
        if node.orelse and ended:
            self.meet(ended, node)
            try:
                self.execute(node.orelse)
                ended = [self.here()]
            except Ended:
                ended = []
        self.meet([*ended, *left], node)

    def execute_Break(self, node: ast.Break) -> None:
        """``break``."""
        loop = self.frame.loops[-1]
        loop.breaks.append(self.leaving(loop.around))
        raise Ended

    def execute_Continue(self, node: ast.Continue) -> None:
        """``continue``."""
        loop = self.frame.loops[-1]
        loop.continues.append(self.here())
        raise Ended

    # How a loop is written.

    def loop(self, code: LoopCode, turns: Turns = UNKNOWN_TURNS) -> LoopEnds:
        """A loop: the paths on which it ended, and those that left it."""
        with self._loosening(False):
            entry, block = self.state, self.state.block
            marks = self._marks()
            try:
                return self._rolled(code)
            except _Mixed:
                self._rewind(entry, block, marks)
            except NeedsConstant as need:
                if sources_of(need.value):
                    raise
                self._rewind(entry, block, marks)
                return self._apart(code, turns, need)
            try:
                return self.set_apart(lambda: self._peeled(code))
            except NeedsConstant as need:
                if sources_of(need.value):
                    raise
                self._rewind(entry, block, marks)
                return self._apart(code, turns, need)

    @contextmanager
    def _loosening(self, loosens: bool) -> Iterator[None]:
        """Whether lists get a computed length, meanwhile, if computed indices find their items."""
        outer, self.loosens = self.loosens, loosens
        try:
            yield
        finally:
            self.loosens = outer

    def _apart(self, code: LoopCode, turns: Turns, need: NeedsConstant) -> LoopEnds:
        """Each run of the body by itself, because something has to be known in it; if that cannot
        be, a loop with lists of computed length.
        """
        indexed = need.advice == COMPUTED_INDEX
        builds = isinstance(need, Structural) or indexed
        if turns.settle is not None and turns.count is None and not turns.bounds:
            self.unsettled |= builds
            if not builds or SETTLES in self.names_kept:
                try:
                    turns = Turns(turns.settle(need))
                except NeedsConstant:
                    if not builds:
                        raise
        entry, block, marks = self.state, self.state.block, self._marks()
        if not builds:
            try:
                return self._each_apart(code, turns, need)
            except NeedsConstant:
                if need.what != SLICE_STORE:
                    raise
            self._rewind(entry, block, marks)
            return self._growing(code, True)
        ways = [
            lambda: self._each_apart(code, turns, need),
            lambda: self._growing(code, indexed),
        ]
        too_much = indexed and ROLLS in self.names_kept
        # The number of turns is known of no condition.
        endless = isinstance(code.node, ast.While) and isinstance(code.node.test, ast.Constant)
        if too_much or (endless and not indexed):
            ways.reverse()
        work = self.work
        try:
            return ways[0]()
        except (NeedsConstant, SourceError) as error:
            if isinstance(error, NeedsConstant) and sources_of(error.value):
                raise
            first = error
        self._rewind(entry, block, marks)
        self.work = work
        try:
            return ways[1]()
        except SourceError:
            if self.entries and isinstance(first, NeedsConstant):
                # The turns of a loop around this one can perhaps be written by themselves.
                raise first from None
            raise

    def _growing(self, code: LoopCode, indexed: bool) -> LoopEnds:
        """A loop in which lists have lengths that are computed; ``indexed`` if those whose items
        are found by computed indices have one, too. Where a list grows, it may turn out later that
        another one's items are found so.
        """
        entry, block, marks = self.state, self.state.block, self._marks()
        try:
            with self._loosening(indexed):
                try:
                    return self._rolled(code, grows=True)
                except _Mixed:
                    self._rewind(entry, block, marks)
                return self.set_apart(lambda: self._peeled(code, grows=True))
        except NeedsConstant as need:
            if indexed or need.advice != COMPUTED_INDEX or sources_of(need.value):
                raise
        self._rewind(entry, block, marks)
        return self._growing(code, True)

    def _each_apart(self, code: LoopCode, turns: Turns, need: NeedsConstant) -> LoopEnds:
        """Each run of the body by itself."""
        if turns.count is not None and turns.count > LONGEST_UNROLLED:
            raise need
        if turns.count is None and turns.bounds:
            raise Restart(static=turns.bounds)
        entry, block, marks = self.state, self.state.block, self._marks()
        try:
            return self.set_apart(lambda: self.unrolled(code))
        except NeedsConstant as inner:
            builds = isinstance(need, Structural) or need.advice == COMPUTED_INDEX
            if (builds and need.what != PRINT_IN_A_LOOP) or sources_of(inner.value):
                raise
            raise need from None
        except _Mixed:
            self._rewind(entry, block, marks)
            raise need from None

    def set_apart(self, write: Callable[[], LoopEnds]) -> LoopEnds:
        """Writes into a block that is reached once all is written: until then it can be dropped.
        Where a list grew, the path goes on where it was.
        """
        entry, start = self.state, self.builder.block()
        block, marks = entry.block, self._marks()
        self.resume(entry.copy(start))
        try:
            found = write()
        except Ended:
            # All paths leave.
            self.builder.switch(block)
            self.builder.jump(start, [])
            raise
        except Grew:
            self._rewind(entry, block, marks)
            raise
        self.builder.switch(block)
        self.builder.jump(start, [])
        return found

    def _marks(self) -> Marks:
        """How many paths have arrived where, and what is in use."""
        marks = []
        for frame in self.frames:
            handlers = [handler.raised for handler in frame.handlers]
            loops = [way for loop in frame.loops for way in (loop.breaks, loop.ends)]
            ways: list[list[Any]] = [frame.returns, *handlers, *loops]
            if frame.recursion is not None:
                ways.append(frame.recursion.calls)
            marks.append([(way, len(way)) for way in ways])
        return marks, [len(frame.handlers) for frame in self.frames], len(self.held)

    def _rewind(
        self,
        entry: Any,
        block: int,
        marks: Marks,
    ) -> None:
        """Forgets what was written since a loop was entered."""
        arrived, handlers, held = marks
        del self.frames[len(arrived) :]
        for frame, depth, ways in zip(self.frames, handlers, arrived, strict=True):
            del frame.handlers[depth:]
            for way, count in ways:
                del way[count:]
        del self.held[held:]
        entry.block = block
        self.resume(entry)

    def _run(self, code: LoopCode, loop: Loop) -> LoopEnds:
        """Condition and body once: the paths on which the loop ends, and those that go on."""
        held = self.truth_of(code.condition)
        ended: list[Incoming] = []
        if isinstance(held, Known):
            if not held.object:
                return [self.here()], []
        else:
            inside, outside = self.part(held.id)
            ended.append(Incoming(outside))
            self.resume(inside)
        frame = self.frame
        depth, kept = len(frame.loops), len(self.held)
        frame.loops.append(loop)
        going = []
        try:
            code.body()
            going = [self.here()]
        except Ended:
            pass
        finally:
            del frame.loops[depth:]
            del self.held[kept:]
        going += loop.continues
        if code.step is not None:
            for incoming in going:
                self.resume(incoming.state)
                code.step()
                incoming.state = self.state
        return ended, going

    def truth_of(self, condition: Callable[[], Any]) -> Any:
        """A condition, without keeping what it evaluated in use."""
        held = len(self.held)
        try:
            return condition()
        finally:
            del self.held[held:]

    def _rolled(self, code: LoopCode, fresh: bool = True, grows: bool = False) -> LoopEnds:
        """The loop as a loop of blocks. Raises ``_Mixed`` if ``fresh`` and numbers of different
        kinds meet at its head. With ``grows`` lists get lengths that are computed.
        """
        before, block, marks = self.state, self.state.block, self._marks()
        tables: dict[int, None] = {}
        while True:
            with self.entered() as entry:
                try:
                    return self._in_blocks(code, fresh, grows)
                except Tabled as found:
                    if found.entry is not entry:
                        raise
                    tables[found.address] = None
            self._rewind(before, block, marks)
            self.resume(before.copy(block))
            for address in tables:
                self.make_table(address, code.node)

    def _in_blocks(self, code: LoopCode, fresh: bool, grows: bool) -> LoopEnds:
        entry, block, marks = self.state, self.state.block, self._marks()
        forced: dict[KeyPath, Hashable] = {}
        backs: list[Incoming] = []
        for _ in range(MOST_WALKS):
            self._rewind(entry, block, marks)
            header = self.builder.block()
            merge = None
            if backs:
                merge = self.merge([Incoming(entry), *backs], header, forced, grows)
                try:
                    self.resume(merge.run(header).state)
                except Conflict:
                    self.unknown(None, code.node, CONFLICT, LOST)
            else:
                self.resume(entry.copy(header))
            loop = Loop(list(self.frames))
            try:
                ended, backs = self._run(code, loop)
            except Ended:
                # The condition itself leaves, or raises.
                ended, backs = [], []
            if self.prints_since(entry, backs):
                raise Structural(None, code.node, PRINT_IN_A_LOOP, IN_A_LOOP, self.frame.reading)
            if merge is None and not backs:
                # Nothing comes back: the head has one way in, and no parameters.
                self.jump(entry, header, [], 0)
                return ended, loop.breaks
            check = self.merge([Incoming(entry), *backs], None, forced if merge else {}, grows)
            try:
                check.run(-1)
            except Conflict:
                self.unknown(None, code.node, CONFLICT, LOST)
            if check.structural:
                what = f"a loop{check.meets}" if check.meets else check.reason
                what = what or "a list or dict that grows in a loop"
                raise Structural(None, code.node, what, LOST, self.frame.reading)
            if check.mixed and fresh:
                raise _Mixed
            before = {} if merge is None else merge.layout
            if list(check.layout.items()) == list(before.items()):
                self.jump(entry, header, check.slots, 0)
                for at, incoming in enumerate(backs):
                    self.jump(incoming.state, header, check.slots, at + 1)
                return ended, loop.breaks
            forced = check.layout
            if not backs:
                break
        return self.refuse(code.node, "a loop in which names change their kinds", LOST)

    def _peeled(self, code: LoopCode, grows: bool = False) -> LoopEnds:
        """The first run of the body by itself, then the loop."""
        loop = Loop(list(self.frames))
        ended, going = self._run(code, loop)
        left = loop.breaks
        if going:
            self.meet(going, code.node)
            more, others = self._rolled(code, False, grows)
            ended, left = [*ended, *more], [*left, *others]
        return ended, left

    def unrolled(self, code: LoopCode) -> LoopEnds:
        """Every run of the body by itself."""
        ended: list[Incoming] = []
        left: list[Incoming] = []
        for _ in range(LONGEST_UNROLLED + 1):
            loop = Loop(list(self.frames))
            try:
                held = self.truth_of(code.condition)
            except Ended:
                # The condition leaves; other paths have left the loop before.
                return ended, left
            if not isinstance(held, Known):
                self.unknown(held, code.node, "a loop of unknown length that builds or picks", LOST)
            if not held.object:
                ended.append(self.here())
                return ended, left
            _, going = self._run(replace(code, condition=lambda: Known(True)), loop)
            left += loop.breaks
            if not going:
                return ended, left
            self.meet(going, code.node)
        return self.refuse(code.node, "a loop of so many steps that builds or picks", LOST)
