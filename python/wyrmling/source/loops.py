"""Loops stay loops.

A loop is walked from the state in which it is entered; what its body changed becomes a parameter of
the block at its head, and it is walked again, until nothing more changes. What the walks before the
last one wrote is not reached, and dropped.

- Where the first run of the body changes what kind a number has (``s = 0`` before ``s += x``), that
  run is written by itself, before the loop.
- Where the runs of the body cannot be one (items of a tuple that differ, lists that grow), each is
  written by itself, if their number is known.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable
from typing import Any

from .join import Conflict, Incoming, Path
from .state import ListContents
from .values import Array, Choice, Known, Lazy, Range, Reference, Row, sources_of
from .walker import (
    CONFLICT,
    LONGEST_UNROLLED,
    LOST,
    Ended,
    Loop,
    NeedsConstant,
    Restart,
    Structural,
    Walker,
)

MOST_WALKS = 12
Step = Callable[[], Any]


class _Mixed(Exception):
    """Numbers of different kinds meet at the head of a loop."""


class Loops(Walker):
    """``for`` and ``while``, and whatever goes through something."""

    def execute_While(self, node: ast.While) -> None:
        """``while condition: …``."""

        def condition() -> Any:
            return self.truth(self.evaluate(node.test), node)

        ended, left = self._loop(condition, lambda: self.execute(node.body), None, node)
        self._after(ended, left, node)

    def execute_For(self, node: ast.For) -> None:
        """``for target in iterable: …``."""
        over = self.evaluate(node.iter)

        def action(item: Any) -> None:
            self.assign(node.target, item)
            self.execute(node.body)

        ended, left = self._through(over, action, node)
        self._after(ended, left, node)

    def _after(
        self, ended: list[Incoming], left: list[Incoming], node: ast.For | ast.While
    ) -> None:
        """``else``, and where the ways out of a loop meet."""
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
        loop.breaks.append(self.here())
        raise Ended

    def execute_Continue(self, node: ast.Continue) -> None:
        """``continue``."""
        loop = self.frame.loops[-1]
        loop.continues.append(self.here())
        raise Ended

    def each(self, over: Any, action: Callable[[Any], None], node: ast.AST) -> None:
        """Runs an action for each item."""
        ended, left = self._through(over, action, node)
        self.meet([*ended, *left], node)

    def _through(
        self, over: Any, action: Callable[[Any], None], node: ast.AST
    ) -> tuple[list[Incoming], list[Incoming]]:
        """Goes through something: the ways on which it ended, and those that left it."""
        if isinstance(over, Choice):
            over = self.settled(over, node)
        if isinstance(over, Known) and isinstance(over.object, range):
            ends = over.object
            over = Range(Known(ends.start), Known(ends.stop), Known(ends.step))
        if isinstance(over, Lazy) and over.name in ("map", "filter"):
            return self._mapped(over, action, node)
        if isinstance(over, Reference):
            contents = self.contents(over, node)
            if isinstance(contents, ListContents):
                return self._through_list(over, action, node)
            if self.class_of(over) is not None:
                self.refuse(node, "going through an instance", "go through a list of its own")
        if isinstance(over, Range):
            return self._over_range(over, action, node)
        counted = self._counted(over, node)
        if counted is None:
            return self._one_by_one(self.items(over, node), action, node)
        length, item = counted
        return self._count(length, item, action, node, over)

    def _mapped(
        self, over: Lazy, action: Callable[[Any], None], node: ast.AST
    ) -> tuple[list[Incoming], list[Incoming]]:
        if over.name == "filter" or len(over.over) != 2:
            found = self.items(over, node)
            return self._one_by_one(found, action, node)
        function, column = over.over
        return self._through(
            column, lambda item: action(self.call(function, [item], {}, node)), node
        )

    def _through_list(
        self, over: Reference, action: Callable[[Any], None], node: ast.AST
    ) -> tuple[list[Incoming], list[Incoming]]:
        """A list, which the body may change: what it holds is looked up at each step."""
        at = 0

        def condition() -> Any:
            return Known(at < len(self.contents(over, node).items))

        def body() -> None:
            nonlocal at
            item = self.contents(over, node).items[at]
            at += 1
            action(item)

        with self.holding(over):
            return self._unrolled(condition, body, None, node)

    def _one_by_one(
        self, items: list[Any], action: Callable[[Any], None], node: ast.AST
    ) -> tuple[list[Incoming], list[Incoming]]:
        if len(items) > LONGEST_UNROLLED:
            self.refuse(node, "a loop over so many items", "use a range, or an array")
        waiting = iter(items)
        left = len(items)

        def body() -> None:
            nonlocal left
            left -= 1
            action(next(waiting))

        with self.holding(*items):
            return self._unrolled(lambda: Known(left > 0), body, None, node)

    def _counted(self, over: Any, node: ast.AST) -> tuple[Any, Callable[[Any], Any]] | None:
        """The length of what any item can be had of by a computed index, and how."""
        if isinstance(over, Range):
            if not isinstance(over.step, Known):
                self.unknown(over.step, node, "a range of a computed step", "write the step")
            return self._range_count(over, node), lambda at: self._range_item(over, at, node)
        array = self.array_of(over)
        if isinstance(array, Array) and array.shape:
            return self.length(array, node), lambda at: self.array_item(over, at, node)
        if isinstance(over, Lazy) and over.name == "enumerate":
            inner = self._counted(over.over[0], node)
            if inner is not None:
                start = over.over[1]
                return inner[0], lambda at: Row((self.binary("Add", start, at, node), inner[1](at)))
        if isinstance(over, Lazy) and over.name == "zip" and over.over:
            columns = [self._counted(part, node) for part in over.over]
            if all(column is not None for column in columns):
                found = [column for column in columns if column is not None]
                shortest = found[0][0]
                for length, _ in found[1:]:
                    shortest = self.smaller(shortest, length, node)
                return shortest, lambda at: Row(tuple(item(at) for _, item in found))
        if isinstance(over, Lazy) and over.name == "reversed":
            inner = self._counted(over.over[0], node)
            if inner is not None:
                last = self.binary("Sub", inner[0], Known(1), node)
                return inner[0], lambda at: inner[1](self.binary("Sub", last, at, node))
        if isinstance(over, Known) and isinstance(over.object, range):
            ends = over.object
            return self._counted(Range(Known(ends.start), Known(ends.stop), Known(ends.step)), node)
        return None

    def smaller(self, left: Any, right: Any, node: ast.AST) -> Any:
        """The smaller of two numbers."""
        return self.decide(self.compare("Lt", right, left, node), lambda: right, lambda: left, node)

    def _range_count(self, over: Range, node: ast.AST) -> Any:
        if all(isinstance(end, Known) for end in over.parts):
            ends = [end.object for end in over.parts]
            try:
                found = range(*ends)
                if any(abs(end) >= 2**62 for end in ends):
                    self.refuse(node, "a range this long", "use a shorter one")
                return Known(len(found))
            except (TypeError, ValueError):
                self.leave("a range that Python refuses", node)
        if over.step.object == 0:
            self.leave("a range of step 0", node)
        return self.length(over, node)

    def _range_item(self, over: Range, at: Any, node: ast.AST) -> Any:
        step = over.step.object
        scaled = at if step == 1 else self.binary("Mult", at, Known(int(step)), node)
        if isinstance(over.start, Known) and over.start.object == 0:
            return scaled
        return self.binary("Add", over.start, scaled, node)

    def _over_range(
        self, over: Range, action: Callable[[Any], None], node: ast.AST
    ) -> tuple[list[Incoming], list[Incoming]]:
        """A range: a loop with the number itself as its counter."""
        known = self._range_count(over, node) if known_range(over) else None
        step = self.constant_of(over.step, node, "a range of a computed step", "write the step")
        name = self.serial()
        self.state.environments[-1][name] = over.start

        def condition() -> Any:
            at = self.state.environments[-1][name]
            return self.compare("Lt" if step > 0 else "Gt", at, over.stop, node)

        def body() -> None:
            action(self.state.environments[-1][name])

        def advance() -> None:
            names = self.state.environments[-1]
            names[name] = self.binary("Add", names[name], Known(step), node)

        count = None if known is None else known.object
        bounds = sources_of(*over.parts)
        with self.holding(over):
            found = self._loop(condition, body, advance, node, count, bounds)
        for incoming in [*found[0], *found[1]]:
            incoming.state.environments[-1].pop(name, None)
        return found

    def _count(
        self,
        length: Any,
        item: Callable[[Any], Any],
        action: Callable[[Any], None],
        node: ast.AST,
        over: Any,
    ) -> tuple[list[Incoming], list[Incoming]]:
        """A loop that counts."""
        name = self.serial()
        names = self.state.environments[-1]
        names[name] = Known(0)

        def condition() -> Any:
            return self.compare("Lt", self.state.environments[-1][name], length, node)

        def body() -> None:
            at = self.state.environments[-1][name]
            action(item(at))

        def step() -> None:
            names = self.state.environments[-1]
            names[name] = self.binary("Add", names[name], Known(1), node)

        known = length.object if isinstance(length, Known) else None
        bounds = sources_of(length)
        with self.holding(over):
            found = self._loop(condition, body, step, node, known, bounds)
        for incoming in [*found[0], *found[1]]:
            incoming.state.environments[-1].pop(name, None)
        return found

    # How a loop is written.

    def _loop(
        self,
        condition: Step,
        body: Step,
        step: Step | None,
        node: ast.AST,
        count: int | None = None,
        bounds: frozenset[int] = frozenset(),
    ) -> tuple[list[Incoming], list[Incoming]]:
        entry, block = self.state, self.state.block
        marks = self._marks()
        try:
            return self._rolled(condition, body, step, node)
        except _Mixed:
            self._rewind(entry, block, marks)
        except NeedsConstant as need:
            if sources_of(need.value):
                raise
            self._rewind(entry, block, marks)
            return self._apart(condition, body, step, node, count, bounds, need)
        try:
            return self._set_apart(lambda: self._peeled(condition, body, step, node))
        except NeedsConstant as need:
            if sources_of(need.value):
                raise
            self._rewind(entry, block, marks)
            return self._apart(condition, body, step, node, count, bounds, need)

    def _apart(
        self,
        condition: Step,
        body: Step,
        step: Step | None,
        node: ast.AST,
        count: int | None,
        bounds: frozenset[int],
        need: NeedsConstant,
    ) -> tuple[list[Incoming], list[Incoming]]:
        """Each run of the body by itself, because something has to be known in it."""
        if count is not None and count > LONGEST_UNROLLED:
            raise need
        if count is None and bounds:
            raise Restart(static=bounds)
        entry, block, marks = self.state, self.state.block, self._marks()
        try:
            return self._set_apart(lambda: self._unrolled(condition, body, step, node))
        except _Mixed:
            self._rewind(entry, block, marks)
            raise need from None

    def _set_apart(
        self, write: Callable[[], tuple[list[Incoming], list[Incoming]]]
    ) -> tuple[list[Incoming], list[Incoming]]:
        """Writes into a block that is reached once all is written: until then it can be dropped."""
        entry, start = self.state.block, self.builder.block()
        self.resume(self.state.copy(start))
        found = write()
        self.builder.switch(entry)
        self.builder.jump(start, [])
        return found

    def _marks(self) -> tuple[list[int], list[tuple[int, list[int]]], int]:
        returns = [len(frame.returns) for frame in self.frames]
        handlers = [(len(f.handlers), [len(h.raised) for h in f.handlers]) for f in self.frames]
        return returns, handlers, len(self.held)

    def _rewind(
        self,
        entry: Any,
        block: int,
        marks: tuple[list[int], list[tuple[int, list[int]]], int],
    ) -> None:
        """Forgets what was written since a loop was entered."""
        returns, handlers, held = marks
        del self.frames[len(returns) :]
        for frame, count, (depth, raised) in zip(self.frames, returns, handlers, strict=True):
            del frame.returns[count:]
            del frame.handlers[depth:]
            for handler, length in zip(frame.handlers, raised, strict=True):
                del handler.raised[length:]
        del self.held[held:]
        entry.block = block
        self.resume(entry)

    def _run(
        self, condition: Step, body: Step, step: Step | None, loop: Loop
    ) -> tuple[list[Incoming], list[Incoming]]:
        """Condition and body once: the ways on which the loop ends, and those that go on."""
        held = self.truth_of(condition)
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
            body()
            going = [self.here()]
        except Ended:
            pass
        finally:
            del frame.loops[depth:]
            del self.held[kept:]
        going += loop.continues
        if step is not None:
            for incoming in going:
                self.resume(incoming.state)
                step()
                incoming.state = self.state
        return ended, going

    def truth_of(self, condition: Step) -> Any:
        """A condition, without keeping what it evaluated in use."""
        held = len(self.held)
        try:
            return condition()
        finally:
            del self.held[held:]

    def _rolled(
        self, condition: Step, body: Step, step: Step | None, node: ast.AST, fresh: bool = True
    ) -> tuple[list[Incoming], list[Incoming]]:
        """The loop as a loop of blocks. Raises ``_Mixed`` if ``fresh`` and numbers of different
        kinds meet at its head.
        """
        entry, block, marks = self.state, self.state.block, self._marks()
        forced: dict[Path, Hashable] = {}
        backs: list[Incoming] = []
        for _ in range(MOST_WALKS):
            self._rewind(entry, block, marks)
            header = self.builder.block()
            merge = None
            if backs:
                merge = self.merge([Incoming(entry), *backs], header, forced)
                try:
                    self.resume(merge.run(header).state)
                except Conflict:
                    self.unknown(None, node, CONFLICT, LOST)
            else:
                self.resume(entry.copy(header))
            loop = Loop()
            try:
                ended, backs = self._run(condition, body, step, loop)
            except Ended:
                # The condition itself leaves, or raises.
                ended, backs = [], []
            check = self.merge([Incoming(entry), *backs], None, forced if merge else {})
            try:
                check.run(-1)
            except Conflict:
                self.unknown(None, node, CONFLICT, LOST)
            if check.structural:
                raise Structural(
                    None, node, "a list or dict that grows in a loop", LOST, self.frame.reading
                )
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
        return self.refuse(node, "a loop in which names change their kinds", LOST)

    def _peeled(
        self, condition: Step, body: Step, step: Step | None, node: ast.AST
    ) -> tuple[list[Incoming], list[Incoming]]:
        """The first run of the body by itself, then the loop."""
        loop = Loop()
        ended, going = self._run(condition, body, step, loop)
        left = loop.breaks
        if going:
            self.meet(going, node)
            more, others = self._rolled(condition, body, step, node, fresh=False)
            ended, left = [*ended, *more], [*left, *others]
        return ended, left

    def _unrolled(
        self, condition: Step, body: Step, step: Step | None, node: ast.AST
    ) -> tuple[list[Incoming], list[Incoming]]:
        """Every run of the body by itself."""
        ended: list[Incoming] = []
        left: list[Incoming] = []
        for _ in range(LONGEST_UNROLLED + 1):
            loop = Loop()
            held = self.truth_of(condition)
            if not isinstance(held, Known):
                self.unknown(held, node, "a loop of unknown length that builds or picks", LOST)
            if not held.object:
                ended.append(self.here())
                return ended, left
            _, going = self._run(lambda: Known(True), body, step, loop)
            left += loop.breaks
            if not going:
                return ended, left
            self.meet(going, node)
        return self.refuse(node, "a loop of so many steps that builds or picks", LOST)


def known_range(over: Range) -> bool:
    """Whether the length of a range is known."""
    return all(isinstance(end, Known) for end in over.parts)
