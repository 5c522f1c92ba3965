"""Generators, and whatever else runs while one goes through it: ``map``, ``filter``, ``zip``.

The text of a generator is written where it is consumed: where it yields, what is done with the item
is written, in the frame of who consumes it. So effects come in Python's order, a loop of a
generator stays one loop, and ``break`` leaves both. A generator runs once, from its beginning: one
that was left is lost, and refused where it is gone through again. What is pulled from two
generators in turn is refused, and so is ``yield`` within ``try`` or ``with``, as dropping the
generator would run code.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..abstract.frames import Frame, Loop, LoopEnds
from ..abstract.join import Incoming
from ..abstract.raising import Ended
from ..abstract.state import (
    DictContents,
    GeneratorContents,
    GrownContents,
    ListContents,
    SetContents,
)
from ..abstract.values import ITERATORS, Known, Lazy, Lost, Reference, Tuple, is_none
from ..abstract.walker import Walker
from ..text.names import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

LEFT = "a generator that was begun before"
Action = Callable[[Any], None]


class Generators(Walker):
    """What runs while one goes through it."""

    def runs(self, over: Any) -> bool:
        """Whether something runs while one goes through this."""
        if isinstance(over, Reference):
            return isinstance(self.state.heap.get(over.address), GeneratorContents)
        if not isinstance(over, Lazy) or over.name not in ITERATORS:
            return False
        if over.name in ("generator", "map", "filter"):
            return True
        return any(self.runs(part) for part in over.over)

    def owned(self, value: Any) -> Any:
        """A generator expression as an object of the frame in which it stands, before it gets
        another name or goes to another frame; anything else as it is.
        """
        if not isinstance(value, Lazy) or value.name != "generator":
            return value
        renamed = tuple(self.frame.renamed)
        values = tuple(self.kept(over, value.node) for over in value.over)
        return self.allocate(
            GeneratorContents(value.node, values=values, home=self.frame, renamed=renamed)
        )

    def as_generator(self, value: Lazy, node: ast.AST) -> Any:
        """An iterator of Python's own as a generator, which begins when one goes through it."""
        for over in value.over:
            found = self.state.heap.get(over.address) if isinstance(over, Reference) else over
            # The length of a dict, and of a list gone through backwards, counts as it is now.
            if (
                isinstance(found, DictContents | SetContents)
                or (isinstance(found, Lazy) and found.name not in ITERATORS)
                or (value.name == "reversed" and isinstance(found, ListContents | GrownContents))
            ):
                what = "an iterator of a dict, a set or a list backwards, that is kept"
                self.refuse(node, what, "go through it where it is made")
        text = self.written_out(f"each_of_{value.name.replace(' ', '_')}", node)
        return self.call(text, list(value.over), {}, node)

    def handed_back(self, value: Any, node: ast.AST) -> Any:
        """A value that a function returns: iterators of its generator expressions stay in it."""
        value = self.owned(value)
        if _has_expression(value):
            self.refuse(node, "an iterator of a generator expression as a result", "return a list")
        return value

    def generator(
        self, function: Any, bound: dict[str, Any], cells: dict[str, Any], node: ast.AST
    ) -> Any:
        """What a call of a function with ``yield`` gives: it begins when one goes through it."""
        for statement in function.node.body:
            self._check_yields(statement, False)
        return self.allocate(
            GeneratorContents(
                function.node, function, tuple(bound), tuple(bound.values()), tuple(cells.items())
            )
        )

    def _check_yields(self, node: ast.AST, guarded: bool) -> None:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            return
        if guarded and isinstance(node, ast.Yield | ast.YieldFrom):
            self.refuse(node, "yield within try or with", "append to a list and return it")
        guarded = guarded or isinstance(node, ast.Try | ast.With)
        for child in ast.iter_child_nodes(node):
            self._check_yields(child, guarded)

    def evaluate_Yield(self, node: ast.Yield) -> Any:
        """``yield value``: what is done with it; the value of ``yield`` is None."""
        value = Known(None) if node.value is None else self.kept(self.evaluate(node.value), node)
        self._delivery(node)(value)
        return Known(None)

    def evaluate_YieldFrom(self, node: ast.YieldFrom) -> Any:
        """``yield from values``, which gives what a generator returns."""
        deliver = self._delivery(node)
        over = self.evaluate(node.value)
        if isinstance(over, Reference) and self.runs(over):
            return self._consumed(over, deliver, node)
        self.each(over, deliver, node)
        return Known(None)

    def _delivery(self, node: ast.AST) -> Action:
        deliver = self.frame.deliver
        if deliver is None:
            self.refuse(node, "a generator that is not called from here", "return a list")
        return deliver

    def running(self, over: Any, action: Action, node: ast.AST) -> LoopEnds:
        """Goes through what runs meanwhile: the paths on which it ended, and those that left it."""
        if isinstance(over, Lazy) and over.name == "map":
            function, *columns = over.over
            if len(columns) == 1:
                return self.ways_through(
                    columns[0], lambda item: action(self.call(function, [item], {}, node)), node
                )
            rows = Lazy("zip", tuple(columns))
            return self.ways_through(
                rows, lambda row: action(self.call(function, row.items, {}, node)), node
            )
        if isinstance(over, Lazy) and over.name == "filter":
            return self._filtered(over.over[0], over.over[1], action, node)
        if isinstance(over, Lazy) and over.name == "enumerate":
            return self._numbered(over.over[0], over.over[1], action, node)
        if isinstance(over, Lazy) and over.name == "zip":
            return self._zipped(list(over.over), action, node)
        if isinstance(over, Lazy) and over.name == "reversed":
            self.leave("an iterator cannot be reversed", node)
        if isinstance(over, Lazy) and over.name != "generator":
            self.refuse(node, f"{over.name} of a generator", "make it a list")
        return self._pushed(over, action, node)

    def _filtered(self, function: Any, column: Any, action: Action, node: ast.AST) -> LoopEnds:
        def keep(item: Any) -> None:
            found = item if is_none(function) else self.call(function, [item], {}, node)
            self.decide(self.truth(found, node), lambda: action(item), lambda: None, node)

        return self.ways_through(column, keep, node)

    def _numbered(self, over: Any, start: Any, action: Action, node: ast.AST) -> LoopEnds:
        """``enumerate``: a counter beside the items."""
        name = self.serial()
        self.state.environments[-1][name] = start

        def count(item: Any) -> None:
            names = self.state.environments[-1]
            at = names[name]
            names[name] = self.binary("Add", at, Known(1), node)
            action(Tuple((at, item)))

        found = self.ways_through(over, count, node)
        for incoming in [*found[0], *found[1]]:
            incoming.state.environments[-1].pop(name, None)
        return found

    def _zipped(self, columns: list[Any], action: Action, node: ast.AST) -> LoopEnds:
        """``zip`` of one column that runs and of others, whose items are looked up."""
        running = [at for at, column in enumerate(columns) if self.runs(column)]
        if len(running) > 1:
            self.refuse(node, "zip of several that run in turn", "make one of them a list")
        own = running[0]
        pulled = {at: self._looked_up(c, node) for at, c in enumerate(columns) if at != own}
        name = self.serial()
        self.state.environments[-1][name] = Known(0)
        # The paths that end here because a column is at its end; no ``break`` of the text does.
        loop = Loop(list(self.frames))

        def stop() -> None:
            loop.ends.append(self.leaving(loop.around))
            raise Ended

        def stop_unless_within(some: range) -> None:
            for at in some:
                count = self.state.environments[-1][name]
                within = self.compare("Lt", count, pulled[at][0], node)
                self.decide(within, lambda: None, stop, node)

        def row(item: Any) -> None:
            stop_unless_within(range(own + 1, len(columns)))
            names = self.state.environments[-1]
            count = names[name]
            names[name] = self.binary("Add", count, Known(1), node)
            parts = (item if at == own else pulled[at][1](count) for at in range(len(columns)))
            self._once(action, Tuple(tuple(parts)), self.frame.loops[-1], node)
            # Python takes an item of the columns before the generator first: where one of these is
            # at its end, the generator does not run on.
            stop_unless_within(range(own))

        with self.holding(*columns), self._within(loop):
            try:
                stop_unless_within(range(own))
                ended, left = self.ways_through(columns[own], row, node)
            except Ended:
                ended, left = [], []
        self._forget(name, [*loop.ends, *left])
        return [*ended, *loop.ends], left

    def _looked_up(self, column: Any, node: ast.AST) -> tuple[Any, Callable[[Any], Any]]:
        """The length of a column, and an item by its number."""
        found = self.counted(column, node)
        if found is not None:
            return found
        items = self.items(column, node)
        before = self.state.heap.get(column.address) if isinstance(column, Reference) else None

        def item(at: Any) -> Any:
            if before is not None and self.state.heap.get(column.address) != before:
                self.refuse(node, "a change of what is gone through", "go through a copy")
            return items[self.position(at, items, node)]

        return Known(len(items)), item

    @contextmanager
    def _within(self, loop: Loop) -> Iterator[None]:
        """Marks where paths arrive that leave from within."""
        loops = self.frame.loops
        depth = len(loops)
        loops.append(loop)
        try:
            yield
        finally:
            del loops[depth:]

    def _once(self, action: Action, item: Any, loop: Loop, node: ast.AST) -> None:
        """Runs an action of a loop, and goes on after it also where it says ``continue``."""
        inner = Loop(loop.around, loop.breaks)
        held = len(self.held)
        going = []
        with self._within(inner):
            try:
                action(item)
                going = [self.here()]
            except Ended:
                pass
            finally:
                del self.held[held:]
        self.meet([*going, *inner.continues], node)

    def _forget(self, first: str, left: list[Incoming]) -> None:
        """Drops what has names of generators, and counters, on paths that left them."""
        since = int(first[1:])
        for incoming in left:
            own = incoming.state.environments[-1]
            for name in [one for one in own if "." in one and int(one.split(".")[1]) >= since]:
                del own[name]

    def _pushed(self, over: Any, action: Action, node: ast.AST) -> LoopEnds:
        """Writes a generator, with the action where it yields."""
        name = self.serial()
        loop = Loop(list(self.frames))
        ended: list[Incoming] = []
        with self._within(loop):
            try:
                self._generate(over, lambda item: self._once(action, item, loop, node), node)
                ended = [self.here()]
            except Ended:
                pass
        self._forget(name, loop.breaks)
        return ended, loop.breaks

    def _generate(self, over: Any, consume: Action, node: ast.AST) -> None:
        if isinstance(over, Reference):
            self._consumed(over, consume, node)
        else:
            renamed = list(self.frame.renamed)
            self._express(over.node, over.over[0], self.frame, renamed, consume)

    def _consumed(self, over: Reference, consume: Action, node: ast.AST) -> Any:
        """Runs a generator to its end; what it returns."""
        contents = self.contents(over, node)
        if contents.over:
            return Known(None)
        self.state.heap[over.address] = Lost(LEFT, advice="make it a list, and go through that")
        with self.holding(over, *contents.parts):
            if contents.home is not None:
                if not any(contents.home is frame for frame in self.frames):
                    self.refuse(node, "a generator expression of another function", "use a list")
                renamed = list(contents.renamed)
                self._express(contents.text, contents.values[0], contents.home, renamed, consume)
                found: Any = Known(None)
            else:
                found = self._body(contents, consume, node)
        self.state.heap[over.address] = replace(contents, over=True)
        return found

    def _body(self, contents: GeneratorContents, consume: Action, node: ast.AST) -> Any:
        consumer, function = self.frame, contents.function
        frame = Frame(
            function.node,
            function.reading,
            function.names,
            self.scope_of(function.node),
            dict(contents.cells),
            deliver=lambda item: self.innermost(consumer, lambda: consume(item)),
        )
        bound = dict(zip(contents.names, contents.values, strict=True))
        return self.meet(self.walk_body(frame, bound), node)[0]

    def _express(
        self,
        text: ast.GeneratorExp | ast.ListComp,
        first: Any,
        home: Frame,
        renamed: list[dict[str, str]],
        consume: Action,
    ) -> None:
        """A generator expression runs in the frame in which it stands."""
        consumer = self.frame
        outside = home.renamed

        def add() -> None:
            item = self.kept(self.evaluate(text.elt), text)
            inside, home.renamed = home.renamed, outside
            try:
                self.innermost(consumer, lambda: consume(item))
            finally:
                home.renamed = inside

        def run() -> None:
            home.renamed = renamed
            try:
                self.comprehend(text, add, first)
            finally:
                home.renamed = outside

        self.innermost(home, run)


def _has_expression(value: Any) -> bool:
    """Whether a generator expression, which is no object yet, is in an iterator."""
    if not isinstance(value, Lazy):
        return False
    return value.name == "generator" or any(map(_has_expression, value.over))
