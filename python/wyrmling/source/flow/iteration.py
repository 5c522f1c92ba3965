"""What loops go through: ranges and arrays by a number, containers item by item.

What the body changes is seen as Python sees it: a list is looked up at each step, a dict may
change its values and not its keys; where items were looked up before (``enumerate`` of a list), a
change of the list is refused.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ..abstract.frames import LoopCode, LoopEnds
from ..abstract.join import Incoming
from ..abstract.masks import as_floats
from ..abstract.raising import Ended
from ..abstract.restarts import NeedsConstant
from ..abstract.state import ArrayContents, DictContents, GrownContents, ListContents, addresses
from ..abstract.values import (
    Array,
    Choice,
    Known,
    Lazy,
    Range,
    Recorded,
    Reference,
    Tuple,
    sources_of,
)
from ..abstract.walker import LONGEST_UNROLLED, Walker
from ..types.computed_slices import as_seen, is_computed, known_array
from ..types.iterators import iterated
from .loops import Grew, Turns

LONGER = "append to another list"


def chosen(over: Any) -> tuple[Choice, Callable[[Any], Any]] | None:
    """The choice that decides what is gone through, and what that is for each thing that it may
    be; None if there is no choice.
    """
    if isinstance(over, Choice):
        return over, lambda one: one
    if not isinstance(over, Lazy):
        return None
    found = ((at, parted) for at, part in enumerate(over.over) if (parted := chosen(part)))
    at, parted = next(found, (0, None))
    if parted is None:
        return None
    choice, made = parted
    return choice, lambda one: over.with_parts((*over.over[:at], made(one), *over.over[at + 1 :]))


class Iteration(Walker):
    """``for``, and whatever goes through something."""

    def execute_For(self, node: ast.For) -> None:
        """``for target in iterable: …``."""
        held = len(self.held)
        over = self.evaluate(node.iter)
        # What it was computed of is not needed any more.
        self.held[held:] = [over]

        def action(item: Any) -> None:
            self.assign(node.target, item)
            self.execute(node.body)

        ended, left = self.ways_through(over, action, node)
        self.after_loop(ended, left, node)

    def each(self, over: Any, action: Callable[[Any], None], node: ast.AST) -> None:
        """Runs an action for each item."""
        ended, left = self.ways_through(over, action, node)
        self.meet([*ended, *left], node)

    def ways_through(self, over: Any, action: Callable[[Any], None], node: ast.AST) -> LoopEnds:
        """Goes through something: the paths on which it ended, and those that left it."""
        if (parted := chosen(over)) is not None:
            return self._through_choice(*parted, action, node)
        if isinstance(over, Known) and isinstance(over.object, range):
            ends = over.object
            over = Range(Known(ends.start), Known(ends.stop), Known(ends.step))
        if self.runs(over):
            return self.running(over, action, node)
        if isinstance(over, Reference):
            contents = self.contents(over, node)
            if isinstance(contents, ListContents):
                return self._through_list(over, action, node)
            if isinstance(contents, GrownContents):
                return self.through_grown(over, action, node)
            if isinstance(contents, DictContents):
                return self._through_dict("dict_keys", over, action, node)
            if (made := iterated(self, over, node)) is not over:
                return self.running(made, action, node)
            if self.class_of(over) is not None:
                self.refuse(node, "going through an instance", "go through a list of its own")
        if isinstance(over, Lazy) and over.name in ("dict_keys", "dict_values", "dict_items"):
            return self._through_dict(over.name, over.over[0], action, node)
        if isinstance(over, Range):
            return self._over_range(over, action, node)
        counted = self.counted(over, node)
        if counted is None:
            return self._one_by_one(self.items(over, node), action, node, over)
        length, item = counted
        return self._count(length, item, action, node, over)

    def _through_choice(
        self,
        choice: Choice,
        made: Callable[[Any], Any],
        action: Callable[[Any], None],
        node: ast.AST,
    ) -> LoopEnds:
        """Goes through what ``made`` makes of each thing that a choice may be, each on its path."""
        ended: list[Incoming] = []
        left: list[Incoming] = []

        def through(one: Any) -> None:
            found = self.ways_through(made(one), action, node)
            ended.extend(found[0])
            left.extend(found[1])
            raise Ended

        with contextlib.suppress(Ended):
            self.distribute(choice, through, node)
        return ended, left

    def _through_list(
        self, over: Reference, action: Callable[[Any], None], node: ast.AST
    ) -> LoopEnds:
        """A list, which the body may change: what it holds is looked up at each step."""
        at = 0

        def condition() -> Any:
            contents = self.contents(over, node)
            if isinstance(contents, GrownContents):
                raise Grew(None, node, "a list that grows while it is gone through", LONGER)
            return Known(at < len(contents.items))

        def body() -> None:
            nonlocal at
            item = self.contents(over, node).items[at]
            at += 1
            action(item)

        try:
            with self.holding(over):
                return self.set_apart(lambda: self.unrolled(LoopCode(condition, body, None, node)))
        except Grew:
            if not self.loosened(over, node):
                raise
        return self.through_grown(over, action, node)

    def _through_dict(
        self, kind: str, over: Reference, action: Callable[[Any], None], node: ast.AST
    ) -> LoopEnds:
        """A dict or a view of it: the body may change its values, but not its keys."""
        keys = self.contents(over, node).keys
        at = 0

        def condition() -> Any:
            now = self.contents(over, node).keys
            if len(now) != len(keys):
                self.leave("a dict changes its size while it is gone through", node)
            if now is not keys and now != keys:
                self.refuse(node, "a change of the keys that are gone through", "use a list")
            return Known(at < len(keys))

        def body() -> None:
            nonlocal at
            item = self.view_item(kind, over, at, node)
            at += 1
            action(item)

        with self.holding(over):
            return self.unrolled(LoopCode(condition, body, None, node))

    def _one_by_one(
        self, items: list[Any], action: Callable[[Any], None], node: ast.AST, over: Any
    ) -> LoopEnds:
        # A tuple stays what it is, whatever becomes of the objects in it.
        looked_at = [] if isinstance(over, Tuple) else addresses(over)
        before = {address: self.state.heap.get(address) for address in looked_at}
        if len(items) > LONGEST_UNROLLED:
            self.refuse(node, "a loop over so many items", "use a range, or an array")
        at = 0

        def body() -> None:
            nonlocal at
            at += 1
            action(items[at - 1])

        def condition() -> Any:
            nonlocal items, before
            now = {address: self.state.heap.get(address) for address in before}
            pairs = [(now[address], one) for address, one in before.items()]
            if any(one is not other and one != other for one, other in pairs):
                # As Python, this looks up what has become of the items.
                if not all(_has_as_many(*pair) for pair in pairs):
                    self.refuse(node, "a change of what is gone through", "go through a copy")
                items, before = self.items(over, node), now
            return Known(at < len(items))

        with self.holding(over, *items):
            return self.unrolled(LoopCode(condition, body, None, node))

    def counted(self, over: Any, node: ast.AST) -> tuple[Any, Callable[[Any], Any]] | None:
        """The length of what any item can be had of by a computed index, and how."""
        if isinstance(over, Range):
            if not isinstance(over.step, Known) and not is_computed(over.step):
                self.unknown(over.step, node, "a range of a computed step", "write the step")
            return self._range_count(over, node), lambda at: self._range_item(over, at, node)
        grown = self.grown(over)
        if grown is not None:
            return self.counted_grown(over, grown, node)
        array = self.array_of(over)
        known = over.object if isinstance(over, Known) else None
        if isinstance(known, np.ndarray) and known.ndim and len(known) > LONGEST_UNROLLED:
            array = over = known_array(self, known)
        if isinstance(array, Recorded):
            array = as_floats(self.builder, array)
        if isinstance(array, Array) and array.shape:
            return self.length(array, node), lambda at: self.array_item(over, at, node)
        if isinstance(over, Lazy) and over.name == "enumerate":
            inner = self.counted(over.over[0], node)
            if inner is not None:
                start = over.over[1]
                return inner[0], lambda at: Tuple(
                    (self.binary("Add", start, at, node), inner[1](at))
                )
        if isinstance(over, Lazy) and over.name in ("zip", "strict zip") and over.over:
            columns = [self.counted(part, node) for part in over.over]
            if all(column is not None for column in columns):
                found = [column for column in columns if column is not None]
                shortest = found[0][0]
                for length, _ in found[1:]:
                    if over.name == "zip":
                        shortest = self.smaller(shortest, length, node)
                    else:
                        same = self.compare("Eq", shortest, length, node)
                        self.guard(same, "zip of different lengths", node)
                return shortest, lambda at: Tuple(tuple(item(at) for _, item in found))
        if isinstance(over, Lazy) and over.name == "reversed":
            inner = self.counted(over.over[0], node)
            if inner is not None:
                last = self.binary("Sub", inner[0], Known(1), node)
                return inner[0], lambda at: inner[1](self.binary("Sub", last, at, node))
        if isinstance(over, Known) and isinstance(over.object, range):
            ends = over.object
            return self.counted(Range(Known(ends.start), Known(ends.stop), Known(ends.step)), node)
        return None

    def settled_length(self, value: Any, need: NeedsConstant, node: ast.AST) -> Known:
        """A number that is known, or a length that was seen as what it was; raises ``need`` for any
        other.
        """
        if not isinstance(value, Known) and value.seen is None:
            raise need
        return Known(self.constant_of(value, node, need.what))

    def smaller(self, left: Any, right: Any, node: ast.AST) -> Any:
        """The smaller of two numbers."""
        less = self.compare("Lt", right, left, node)
        return as_seen(self.decide(less, lambda: right, lambda: left, node), min, left, right)

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
        return self.length(over, node)

    def _range_item(self, over: Range, at: Any, node: ast.AST) -> Any:
        is_one = isinstance(over.step, Known) and over.step.object == 1
        scaled = at if is_one else self.binary("Mult", at, over.step, node)
        if isinstance(over.start, Known) and over.start.object == 0:
            return scaled
        return self.binary("Add", over.start, scaled, node)

    def _over_range(self, over: Range, action: Callable[[Any], None], node: ast.AST) -> LoopEnds:
        """A range: a loop with the number itself as its counter."""
        if is_computed(over.step):
            count = self._range_count(over, node)
            return self._count(
                count, lambda at: self._range_item(over, at, node), action, node, over
            )
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

        def settle(need: NeedsConstant) -> int:
            nonlocal over
            over = Range(*(self.settled_length(end, need, node) for end in over.parts))
            self.state.environments[-1][name] = over.start
            return len(range(*(end.object for end in over.parts)))

        count = None if known is None else known.object
        turns = Turns(count, sources_of(*over.parts), settle)
        with self.holding(over):
            found = self.loop(LoopCode(condition, body, advance, node), turns)
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
    ) -> LoopEnds:
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

        def settle(need: NeedsConstant) -> int:
            nonlocal length
            length = self.settled_length(length, need, node)
            found: int = length.object
            return found

        known = length.object if isinstance(length, Known) else None
        with self.holding(over):
            turns = Turns(known, sources_of(length), settle)
            found = self.loop(LoopCode(condition, body, step, node), turns)
        for incoming in [*found[0], *found[1]]:
            incoming.state.environments[-1].pop(name, None)
        return found


def _has_as_many(now: Any, before: Any) -> bool:
    """Whether something is still what it was, or as many other items in the same list, dict or
    array.
    """
    if type(now) is not type(before):
        return False
    if isinstance(now, ListContents):
        return len(now.items) == len(before.items)
    if isinstance(now, DictContents):
        return bool(now.keys == before.keys)
    if isinstance(now, ArrayContents):
        return bool(now.value.shape == before.value.shape)
    return bool(now == before)


def known_range(over: Range) -> bool:
    """Whether the length of a range is known."""
    return all(isinstance(end, Known) for end in over.parts)
