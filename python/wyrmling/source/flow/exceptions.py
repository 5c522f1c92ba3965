"""Exceptions and contexts: ``raise``, ``try`` and ``with``.

What Python would raise is a guard that leaves, or the end of the path: the function is then run by
Python, on the same arguments. So handlers of ``try`` need not be written, except for what the text
raises itself.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ..abstract.frames import Handler
from ..abstract.join import Incoming
from ..abstract.raising import Ended, is_plain
from ..abstract.values import Caught, Known, Tuple, Unset
from ..abstract.walker import Walker

REFUSING = (TypeError, AttributeError)


class Exceptions(Walker):
    """What raises, what handles, and what is done at last."""

    def execute_Raise(self, node: ast.Raise) -> None:
        """``raise error``: goes to the handler of the text, or leaves."""
        handled = self._handler(node)
        if handled is None:
            self.leave("an exception is raised", node)
        handler, cls = handled
        given = node.exc.args if isinstance(node.exc, ast.Call) else []
        # What is given to it may change something, or raise.
        args = self.evaluate(ast.copy_location(ast.Tuple(given, ast.Load()), node))
        self.handed(handler, cls, args)

    def _handler(self, node: ast.Raise) -> tuple[Handler, Any] | None:
        """The handler that an exception of a known class reaches."""
        if node.exc is None or not any(frame.handlers for frame in self.frames):
            return None
        cause = Caught() if node.cause is None else self.evaluate(node.cause)
        if not isinstance(cause, Caught) and getattr(cause, "object", cause) is not None:
            return None
        named = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        # Most classes take no argument by its name.
        if not isinstance(named, ast.Name | ast.Attribute) or getattr(node.exc, "keywords", None):
            return None
        found = self.evaluate(named)
        if not isinstance(found, Known) or not isinstance(found.object, type):
            return None
        cls: type = found.object
        if not is_plain(cls):
            return None
        handler = self.handler_of(cls)
        return None if handler is None else (handler, cls)

    def execute_Try(self, node: ast.Try) -> None:
        """``try``: what may raise leaves; what the text raises itself goes to its handler."""
        if not node.finalbody:
            self._handled(node)
            return
        passing = Handler((), list(self.frames), self.builder, passes=True)
        self._at_last(
            lambda: self._under(passing, lambda: self._handled(node)),
            lambda: self.execute(node.finalbody),
            node,
            passing,
        )

    def _at_last(
        self,
        action: Callable[[], None],
        last: Callable[[], None],
        node: ast.Try | ast.With,
        passing: Handler,
    ) -> None:
        """Runs an action, and something at last: also where the text returns, or jumps out, and
        before an exception goes on.
        """
        frame = self.frame
        loops = [way for loop in frame.loops[-1:] for way in (loop.breaks, loop.continues)]
        ways = [frame.returns, *loops]
        counts = [len(way) for way in ways]
        done: list[Incoming] = []
        try:
            action()
            done = [self.here()]
        except Ended:
            pass
        jumped = [way[count:] for way, count in zip(ways, counts, strict=True)]
        for way, count in zip(ways, counts, strict=True):
            del way[count:]
        for way, jumps in zip(ways, jumped, strict=True):
            if jumps and self.frames != frame.around:
                self.refuse(node, "a jump out of this in a loop over a generator", "use a list")
            for incoming in jumps:
                self.resume(incoming.state)
                name = self.serial()
                self.state.environments[-1][name] = Tuple(incoming.values)
                try:
                    last()
                except Ended:
                    continue
                values: Any = self.state.environments[-1].pop(name)
                way.append(self.here(*values.items))
        for incoming, cls in passing.raised:
            self.resume(incoming.state)
            name = self.serial()
            self.state.environments[-1][name] = Tuple(incoming.values)
            with contextlib.suppress(Ended):
                last()
                kept: Any = self.state.environments[-1].pop(name)
                self.leave("an exception is raised", node, cls, kept.items[0])
        self.meet(done, node)
        last()

    def _handled(self, node: ast.Try) -> None:
        classes = [self._classes(handler, node) for handler in node.handlers]
        flat = tuple(cls for group in classes for cls in group)
        handler = Handler(flat, list(self.frames), self.builder)
        # Where tracing takes no variable it raises one of these, which is handled then.
        self.takes_no_variable |= any(issubclass(one, cls) for one in REFUSING for cls in flat)
        frame = self.frame
        depth = len(frame.handlers)
        frame.handlers.append(handler)
        ended: list[Incoming] = []
        try:
            self.execute(node.body)
            done = True
        except Ended:
            done = False
        finally:
            del frame.handlers[depth:]
        if done:
            try:
                self.execute(node.orelse)
                ended.append(self.here())
            except Ended:
                pass
        for at, one in enumerate(node.handlers):
            group = [raised for raised in handler.raised if self._first(classes, raised[1]) == at]
            if group:
                ended += self._handle(one, group, node)
        self.meet(ended, node)

    @staticmethod
    def _first(classes: list[tuple[type[BaseException], ...]], cls: type[BaseException]) -> int:
        return next(at for at, group in enumerate(classes) if issubclass(cls, group))

    def _classes(
        self, handler: ast.ExceptHandler, node: ast.AST
    ) -> tuple[type[BaseException], ...]:
        if handler.type is None:
            return (BaseException,)
        found = self.evaluate(handler.type)
        items = found.items if isinstance(found, Tuple) else (found,)
        classes = tuple(self.constant_of(item, node, "a class that is computed") for item in items)
        if not all(isinstance(c, type) and issubclass(c, BaseException) for c in classes):
            self.refuse(handler, "this except", "name classes of exceptions")
        return classes

    def _handle(
        self, handler: ast.ExceptHandler, group: list[tuple[Incoming, Any]], node: ast.AST
    ) -> list[Incoming]:
        args = self.meet([incoming for incoming, _ in group], node)[0]
        if handler.name:
            shows_args = all(cls.__str__ is BaseException.__str__ for _, cls in group)
            self.store_name(handler.name, Caught(args, shows_args), handler)
        try:
            self.execute(handler.body)
            if handler.name:
                self.store_name(handler.name, Unset(), handler)
            return [self.here()]
        except Ended:
            return []

    def execute_With(self, node: ast.With) -> None:
        """``with context as name: …`` of a class in Python, of NumPy's ``errstate``, and of
        ``suppress``.
        """
        handled = self._suppressed(node)
        if handled is not None:
            self._handled(handled)
            return
        contexts = []
        for item in node.items:
            contexts.append(self._enter(item))
        leaves = [leave for leave in contexts if leave is not None]

        def last() -> None:
            for leave in reversed(leaves):
                self.call(leave, [Known(None)] * 3, {}, node)

        if leaves:
            with self.holding(*leaves):
                barred = Handler((), list(self.frames), self.builder, barred=True)
                self._at_last(
                    lambda: self._under(barred, lambda: self.execute(node.body)),
                    last,
                    node,
                    barred,
                )
        else:
            self.execute(node.body)

    def _suppressed(self, node: ast.With) -> ast.Try | None:
        """``with contextlib.suppress(error, …)``, before other contexts or alone, as ``try``."""
        item, *rest = node.items
        context = item.context_expr
        if item.optional_vars or not isinstance(context, ast.Call) or context.keywords:
            return None
        if not isinstance(context.func, ast.Name | ast.Attribute):
            return None
        function = self.evaluate(context.func)
        if not isinstance(function, Known) or function.object is not contextlib.suppress:
            return None
        classes: ast.expr = ast.Tuple(context.args, ast.Load())
        if len(context.args) == 1 and not isinstance(context.args[0], ast.Starred):
            classes = context.args[0]
        body: list[ast.stmt] = [ast.With(rest, node.body)] if rest else node.body
        made = ast.Try(body, [ast.ExceptHandler(classes, None, [ast.Pass()])], [], [])
        return ast.fix_missing_locations(ast.copy_location(made, node))

    def _under(self, handler: Handler, action: Callable[[], None]) -> None:
        """Runs an action whose exceptions meet a handler."""
        frame = self.frame
        depth = len(frame.handlers)
        frame.handlers.append(handler)
        try:
            action()
        finally:
            del frame.handlers[depth:]

    def _enter(self, item: ast.withitem) -> Any:
        context = item.context_expr
        if isinstance(context, ast.Call):
            function = self.evaluate(context.func)
            if isinstance(function, Known) and function.object is np.errstate:
                for keyword in context.keywords:
                    asked = self.constant_of(self.evaluate(keyword.value), context, "errstate")
                    if asked in ("raise", "call"):
                        self.refuse(context, "errstate that raises", "test for it with if")
                return None
            if isinstance(function, Known) and function.object is contextlib.nullcontext:
                args = [self.evaluate(one) for one in context.args]
                value = args[0] if args else Known(None)
                if item.optional_vars is not None:
                    self.assign(item.optional_vars, value)
                return None
        value = self.evaluate(context)
        enter, leave = (self.bound(value, name, context) for name in ("__enter__", "__exit__"))
        if enter is None or leave is None:
            self.refuse(
                context, "with of this", "enter the context around the call of the function"
            )
        entered = self.call(enter, [], {}, context)
        if item.optional_vars is not None:
            self.assign(item.optional_vars, entered)
        return leave
