"""Displays of sets, comprehensions, and generator expressions as what is gone through later.

A comprehension runs within the function around it; the names that it binds are renamed, as they are
its own. Its loops are those of ``iteration.py``: a list for which they take a number of turns that
is computed has a length that is computed (``grown.py``). Sets and dicts have items that are known
while the function is read.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..abstract.state import PLAIN_KEYS, CellContents, DictContents, ListContents, SetContents
from ..abstract.values import Lazy, Unset
from ..abstract.walker import Walker
from ..text.names import captured, targets

if TYPE_CHECKING:
    from collections.abc import Iterator

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class Comprehensions(Walker):
    """Loops within expressions."""

    def evaluate_ListComp(self, node: ast.ListComp) -> Any:
        """``[element for target in iterable if condition]``."""
        made = self.allocate(ListContents(()))
        with self.holding(made):

            def add() -> None:
                self.grow(made, self.evaluate(node.elt), node)

            self.comprehend(node, add)
        return made

    def evaluate_SetComp(self, node: ast.SetComp) -> Any:
        """``{element for target in iterable if condition}``."""
        made = self.allocate(SetContents(()))
        with self.holding(made):
            self.comprehend(node, lambda: self.add_to_set(made, self.evaluate(node.elt), node))
        return made

    def evaluate_Set(self, node: ast.Set) -> Any:
        """``{a, b}``."""
        made = self.allocate(SetContents(()))
        with self.holding(made):
            for element in node.elts:
                if isinstance(element, ast.Starred):
                    for item in self.items(self.evaluate(element.value), element):
                        self.add_to_set(made, item, node)
                else:
                    self.add_to_set(made, self.evaluate(element), node)
        return made

    def add_to_set(self, owner: Any, item: Any, node: ast.AST) -> None:
        """Gives a set what it may have already."""
        key = self.key(item, node)
        if not isinstance(key, PLAIN_KEYS):
            self.refuse(node, "a set of such objects", "use numbers, strings or tuples")
        contents = self.contents(owner, node)
        if key not in contents.items:
            self.store(owner, replace(contents, items=(*contents.items, key)), node)

    def evaluate_DictComp(self, node: ast.DictComp) -> Any:
        """``{key: value for …}``."""
        made = self.allocate(DictContents((), ()))
        with self.holding(made):

            def add() -> None:
                key = self.evaluate(node.key)
                self.store_item(made, key, self.evaluate(node.value), node)

            self.comprehend(node, add)
        return made

    def evaluate_GeneratorExp(self, node: ast.GeneratorExp) -> Any:
        """A generator expression; what it goes through first is evaluated where it stands."""
        return Lazy("generator", (self.evaluate(node.generators[0].iter),), node)

    def comprehend(self, node: Comprehension, add: Callable[[], None], first: Any = None) -> None:
        """Goes through a comprehension, and runs ``add`` where its element is evaluated; ``first``
        is what it goes through first, if that is evaluated already.
        """
        if first is None:
            first = self.evaluate(node.generators[0].iter)
        with self.holding(first), self._names(node):
            self._clause(node, 0, first, add)

    @contextmanager
    def _names(self, node: Comprehension) -> Iterator[None]:
        """The names that a comprehension binds, as others than those of the function."""
        frame = self.frame
        serial = self.serial()
        renamed = {name: f"{name}{serial}" for name in targets(node)}
        cells = []
        for name in sorted(captured(node)):
            cell = self.allocate(CellContents(Unset()))
            frame.cells[renamed[name]] = cell
            cells.append(cell)
        frame.renamed.append(renamed)
        try:
            with self.holding(*cells):
                yield
        finally:
            frame.renamed.remove(renamed)
            for own in renamed.values():
                frame.cells.pop(own, None)
        names = self.state.environments[-1]
        for own in renamed.values():
            names.pop(own, None)

    def _clause(self, node: Comprehension, at: int, over: Any, add: Callable[[], None]) -> None:
        clause = node.generators[at]
        if clause.is_async:
            self.refuse(node, "an asynchronous comprehension", "use a plain one")

        def action(item: Any) -> None:
            self.assign_inside(clause.target, item)
            self._conditions(clause.ifs, inner)

        def inner() -> None:
            if at + 1 == len(node.generators):
                add()
            else:
                over = self.evaluate(node.generators[at + 1].iter)
                self._clause(node, at + 1, over, add)

        self.each(over, action, node)

    def _conditions(self, conditions: list[ast.expr], inner: Callable[[], None]) -> None:
        if not conditions:
            inner()
            return
        node = conditions[0]
        held = self.truth(self.evaluate(node), node)
        self.decide(held, lambda: self._conditions(conditions[1:], inner), lambda: None, node)

    def assign_inside(self, target: ast.expr, value: Any) -> None:
        """Binds a target of a comprehension: its own name, whatever the function declares."""
        if isinstance(target, ast.Name):
            self.bind(target.id, value)
        else:
            self.assign(target, value)
