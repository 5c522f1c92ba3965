"""Statements but loops: assignment, branches, return, definitions, assert, raise, try and with.

What Python would raise is a guard that leaves, or the end of the path: the function is then run by
Python, on the same arguments. So handlers of ``try`` need not be written, except for what the text
raises itself.
"""

from __future__ import annotations

import ast
import contextlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core
from .frames import Handler
from .in_place import in_use
from .join import Incoming
from .raising import Ended, is_plain
from .state import ArrayContents, DictContents, GrownContents, InstanceContents, ListContents
from .values import Array, Caught, Choice, Known, Reference, Row, Single, Unset, is_none
from .views import looked_up
from .walker import Walker

REFUSING = (TypeError, AttributeError)


def _in_shape(array: Any, like: Any) -> Any:
    """The result of an operator in place, which has to have the shape of the array that it is
    written to, in programs that run on other lengths too.
    """
    # Of plain arrays NumPy itself has compared the shapes.
    return array if isinstance(array, np.ndarray) else _core.shaped_like(array, like)


class Statements(Walker):
    """What a function's body is made of."""

    def execute_Pass(self, node: ast.Pass) -> None:
        """``pass``."""

    def execute_Global(self, node: ast.Global) -> None:
        """``global name``: the scope knows."""

    def execute_Nonlocal(self, node: ast.Nonlocal) -> None:
        """``nonlocal name``: the scope knows."""

    def execute_Expr(self, node: ast.Expr) -> None:
        """An expression by itself."""
        self.evaluate(node.value)

    def execute_Return(self, node: ast.Return) -> None:
        """``return value``."""
        value = (
            Known(None) if node.value is None else self.handed_back(self.evaluate(node.value), node)
        )
        self.frame.returns.append(self.leaving(self.frame.around, value))
        raise Ended

    def execute_If(self, node: ast.If) -> None:
        """``if condition: … else: …``."""
        held = len(self.held)
        condition = self.truth(self.evaluate(node.test), node)
        # What was looked at is in use no more: names may be bound anew.
        del self.held[held:]

        def then() -> None:
            self.execute(node.body)

        def otherwise() -> None:
            self.execute(node.orelse)

        self.decide(condition, then, otherwise, node)

    def execute_Assign(self, node: ast.Assign) -> None:
        """``a = b = value``."""
        value = self.owned(self.evaluate(node.value))
        *first, last = node.targets
        with in_use(self, [value] if first else []):
            for target in first:
                self.assign(target, value)
        self.assign(last, value)

    def execute_AnnAssign(self, node: ast.AnnAssign) -> None:
        """``name: annotation = value``."""
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value))

    def evaluate_NamedExpr(self, node: ast.NamedExpr) -> Any:
        """``name := value``."""
        value = self.kept(self.evaluate(node.value), node)
        self.assign(node.target, value)
        return value

    def assign(self, target: ast.expr, value: Any) -> None:
        """Binds a target."""
        if isinstance(target, ast.Name):
            self.store_name(target.id, value, target)
            if not isinstance(value, Row | Choice) and hasattr(value, "id"):
                self.builder.name(value.id, target.id)
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target, value)
        elif isinstance(target, ast.Attribute):
            self.store_attribute(self.evaluate(target.value), target.attr, value, target)
        elif isinstance(target, ast.Subscript):
            self.store_item(*self.subscript(target), value, target)
        else:
            self.refuse(target, "assignment to this", "assign to a name")

    def _unpack(self, target: ast.Tuple | ast.List, value: Any) -> None:
        ways = value.alternatives if isinstance(value, Choice) else ()
        plain = not any(isinstance(one, ast.Starred) for one in target.elts)
        if ways and plain and all(isinstance(one, Row) or is_none(one) for one in ways):
            items = [self._item_of(value, at, target) for at in range(len(target.elts))]
        else:
            items = self.items(value, target)
        # What is assigned later is in use while a part of the target is assigned.
        with in_use(self, items):
            self._assign_parts(target, items)

    def _item_of(self, value: Choice, at: int, target: ast.Tuple | ast.List) -> Any:
        """An item of a choice of tuples, each of which needs the length of the target."""

        def item(one: Any) -> Any:
            if not isinstance(one, Row):
                self.leave("None cannot be gone through", target, TypeError)
            if len(one.items) != len(target.elts):
                self.leave("as many values as names are needed", target, ValueError)
            return one.items[at]

        return self.distribute(value, item, target)

    def _assign_parts(self, target: ast.Tuple | ast.List, items: list[Any]) -> None:
        stars = [at for at, one in enumerate(target.elts) if isinstance(one, ast.Starred)]
        count = len(target.elts)
        if not stars:
            if len(items) != count:
                self.leave("as many values as names are needed", target)
            for one, item in zip(target.elts, items, strict=True):
                self.assign(one, item)
            return
        at = stars[0]
        after = count - at - 1
        if len(items) < count - 1:
            self.leave("too few values", target)
        middle = items[at : len(items) - after]
        for one, item in zip(target.elts[:at], items, strict=False):
            self.assign(one, item)
        starred = target.elts[at]
        assert isinstance(starred, ast.Starred)
        self.assign(starred.value, self.new_list(middle))
        for one, item in zip(target.elts[at + 1 :], items[len(items) - after :], strict=True):
            self.assign(one, item)

    def execute_AugAssign(self, node: ast.AugAssign) -> None:
        """``target += value``; the parts of the target are evaluated once."""
        target, operator = node.target, type(node.op).__name__
        if isinstance(target, ast.Name):
            before = self.evaluate(ast.copy_location(ast.Name(target.id, ast.Load()), target))
            value = self._in_place(operator, before, self.evaluate(node.value), node)
            self.assign(target, value)
        elif isinstance(target, ast.Attribute):
            owner = self.evaluate(target.value)
            before = self.attribute(owner, target.attr, target)
            with self.holding(before):
                value = self._in_place(operator, before, self.evaluate(node.value), node)
                self.store_attribute(owner, target.attr, value, target)
        else:
            assert isinstance(target, ast.Subscript)
            owner, index = self.subscript(target)
            before = self.item(owner, index, target)
            # It may be a copy, which nothing else holds.
            with self.holding(before):
                other = self.evaluate(node.value)
                if self.is_array(owner):
                    # In place on a slice, which is then assigned to itself.
                    value = self.binary(operator, before, other, node)
                else:
                    value = self._in_place(operator, before, other, node)
                self.store_item(owner, index, value, target)

    def _in_place(self, operator: str, before: Any, value: Any, node: ast.AST) -> Any:
        if isinstance(before, Choice):
            return self.distribute(
                before, lambda one: self._in_place(operator, one, value, node), node
            )
        if isinstance(before, Single):
            self.refuse(node, "an operator in place on an array", "write x = x + …")
        if isinstance(before, Reference):
            contents = self.contents(before, node)
            if isinstance(contents, ListContents | GrownContents) and operator == "Add":
                self.call_method("extend", before, [value], {}, node)
                return before
            if isinstance(contents, ListContents) and operator == "Mult":
                made = self.contents(self.binary(operator, before, value, node), node)
                self.store(before, made, node)
                return before
            if isinstance(contents, DictContents) and contents.cls is Counter:
                self.refuse(node, "an operator in place on a Counter", "use update or subtract")
            if isinstance(contents, DictContents) and operator == "BitOr":
                self.call_method("update", before, [value], {}, node)
                return before
            if isinstance(contents, InstanceContents):
                from .numbers import IN_PLACE

                method = self.bound(before, f"__{IN_PLACE[operator]}__", node)
                if method is not None:
                    return self.call(method, [value], {}, node)
            elif isinstance(contents, ArrayContents):
                self.replace_array(before, self._in_shape(operator, before, value, node), node)
                return before
            elif not isinstance(contents, ListContents):
                self.refuse(node, "an operator in place on this", "write x = x | …")
        if isinstance(before, Array) and before.view is not None:
            made = self._in_shape(operator, before, value, node)
            self.replace_array(before, made, node)
            return looked_up(self, before.view, node)
        if self.is_array(before):
            self.refuse(node, "an operator in place on an array", "write x = x + …")
        return self.binary(operator, before, value, node)

    def _in_shape(self, operator: str, before: Any, value: Any, node: ast.AST) -> Any:
        """What an array becomes by an operator in place, which keeps its shape."""
        made = self.binary(operator, before, value, node)
        given = self.array_of(value)
        if isinstance(given, Array) and given.shape:
            made = self.array_call(_in_shape, [made, before], {}, node)
        return made

    def execute_Delete(self, node: ast.Delete) -> None:
        """``del name, item``."""
        for target in node.targets:
            self._delete(target)

    def _delete(self, target: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.delete_name(target.id, target)
        elif isinstance(target, ast.Tuple | ast.List):
            for one in target.elts:
                self._delete(one)
        elif isinstance(target, ast.Subscript):
            self.delete_item(*self.subscript(target), target)
        else:
            assert isinstance(target, ast.Attribute)
            self.delete_attribute(self.evaluate(target.value), target.attr, target)

    def execute_FunctionDef(self, node: ast.FunctionDef) -> None:
        """``def name(…): …``."""
        decorators = [self.evaluate(one) for one in node.decorator_list]
        value: Any = self.closure(node)
        for decorator in reversed(decorators):
            value = self.call(decorator, [value], {}, node)
        self.store_name(node.name, value, node)

    def execute_Assert(self, node: ast.Assert) -> None:
        """``assert condition``: leaves unless it holds."""
        held = self.truth(self.evaluate(node.test), node)
        plain = isinstance(node.msg, ast.Constant | None)
        self.guard(held, "an assertion fails", node, AssertionError if plain else None)

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
                self.state.environments[-1][name] = Row(incoming.values)
                try:
                    last()
                except Ended:
                    continue
                values: Any = self.state.environments[-1].pop(name)
                way.append(self.here(*values.items))
        for incoming, cls in passing.raised:
            self.resume(incoming.state)
            name = self.serial()
            self.state.environments[-1][name] = Row(incoming.values)
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
        items = found.items if isinstance(found, Row) else (found,)
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
        import numpy as np

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
