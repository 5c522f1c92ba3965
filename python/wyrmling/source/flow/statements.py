"""Statements: assignment, branches, return, definitions and assert. Loops have a file of their own
(``loops.py``), and so have ``raise``, ``try`` and ``with`` (``exceptions.py``).

What Python would raise is a guard that leaves, or the end of the path: the function is then run by
Python, on the same arguments.
"""

from __future__ import annotations

import ast
from collections import Counter
from typing import Any

import numpy as np

from ... import _core
from ..abstract.raising import Ended
from ..abstract.state import (
    ArrayContents,
    DictContents,
    GrownContents,
    InstanceContents,
    ListContents,
)
from ..abstract.values import (
    Choice,
    Known,
    Recorded,
    Reference,
    Tuple,
    ZeroDimensional,
    is_none,
)
from ..abstract.walker import Walker
from ..types.in_place import in_use
from ..types.numbers import IN_PLACE, is_numpy
from ..types.views import is_view, looked_up
from ..types.written_integers import expect_written


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
        # The parts of the condition are not in use any more.
        del self.held[held:]

        def then() -> None:
            self.execute(node.body)

        def otherwise() -> None:
            self.execute(node.orelse)

        self.decide(condition, then, otherwise, node)

    def execute_Assign(self, node: ast.Assign) -> None:
        """``a = b = value``."""
        if self.exchanges_rows(node):
            return
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
            if not isinstance(value, Tuple | Choice) and hasattr(value, "id"):
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
        if ways and plain and all(isinstance(one, Tuple) or is_none(one) for one in ways):
            items = [self._item_of(value, at, target) for at in range(len(target.elts))]
        elif plain and (self.grown(value) or getattr(self.array_of(value), "computed", False)):
            fits = self.compare("Eq", self.length(value, target), Known(len(target.elts)), target)
            self.guard(fits, "as many values as names are needed", target, ValueError)
            items = [self.item(value, Known(at), target) for at in range(len(target.elts))]
        else:
            items = self.items(value, target)
        # What is assigned later is in use while a part of the target is assigned.
        with in_use(self, items):
            self._assign_parts(target, items)

    def _item_of(self, value: Choice, at: int, target: ast.Tuple | ast.List) -> Any:
        """An item of a choice of tuples, each of which needs the length of the target."""

        def item(one: Any) -> Any:
            if not isinstance(one, Tuple):
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
                self._let_go_of_views(owner, index, value)
                self.store_item(owner, index, value, target)

    def _let_go_of_views(self, *used: Any) -> None:
        """Slices of which this statement computed an index, and which it does not use any more, bar
        no write. Their places among what is held stay, which ``holding`` counts.
        """
        kept = {id(one) for one in used}
        for at in range(self.statement, len(self.held)):
            if is_view(self.held[at]) and id(self.held[at]) not in kept:
                self.held[at] = Known(None)

    def _in_place(self, operator: str, before: Any, value: Any, node: ast.AST) -> Any:
        if isinstance(before, Recorded) and before.is_array and not before.variable.shape:
            self.refuse(node, "an operator in place on an array", "write x = x + …")
        if isinstance(before, Choice):
            return self.distribute(
                before, lambda one: self._in_place(operator, one, value, node), node
            )
        if isinstance(before, ZeroDimensional):
            self.refuse(node, "an operator in place on an array", "write x = x + …")
        if isinstance(before, Reference):
            contents = self.contents(before, node)
            if isinstance(contents, ListContents | GrownContents):
                if isinstance(value, Choice):
                    return self.distribute(
                        value, lambda one: self._in_place(operator, before, one, node), node
                    )
                if self.is_array(value) or is_numpy(value):
                    # NumPy's operator is asked first, and does nothing in place.
                    return self.binary(operator, before, value, node)
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
                method = self.bound(before, f"__{IN_PLACE[operator]}__", node)
                if method is not None:
                    return self.call(method, [value], {}, node)
            elif isinstance(contents, ArrayContents):
                self.replace_array(before, self._in_shape(operator, before, value, node), node)
                return before
            elif not isinstance(contents, ListContents):
                self.refuse(node, "an operator in place on this", "write x = x | …")
        if is_view(before):
            made = self._in_shape(operator, before, value, node)
            self.replace_array(before, made, node)
            return looked_up(self, before.view, node)
        if self.is_array(before):
            expect_written(self, before)
            self.refuse(node, "an operator in place on an array", "write x = x + …")
        return self.binary(operator, before, value, node)

    def _in_shape(self, operator: str, before: Any, value: Any, node: ast.AST) -> Any:
        """What an array becomes by an operator in place, which keeps its shape."""
        made = self.binary(operator, before, value, node)
        given = self.array_of(value)
        # What is recorded, and what is known, has its shape in what it holds.
        held = getattr(given, "variable", getattr(given, "object", given))
        if getattr(held, "shape", ()):
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
