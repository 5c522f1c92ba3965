"""What lists of computed length do: the methods of ``list``, ``del`` and ``+`` (``grown.py``)."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from ..abstract.columns import CAPACITY
from ..abstract.state import GrownContents, ListContents
from ..abstract.values import Choice, Known, Lazy, Reference, Tuple
from .computed_slices import consecutive, cut
from .grown import ADVICE, Grown


class GrownMethods(Grown):
    """The methods of lists of computed length."""

    def grown_append(self, owner: Any, _: Any, args: list[Any], __: Any, node: ast.AST) -> Any:
        """``x.append(item)``."""
        if len(args) != 1:
            self.leave("arguments do not fit", node)
        self.grow(owner, args[0], node)
        return Known(None)

    def grown_extend(self, owner: Any, _: Any, args: list[Any], __: Any, node: ast.AST) -> Any:
        """``x.extend(items)``."""
        if args[0] == owner:
            self.refuse(node, "a list of computed length that is added to itself", ADVICE)
        with self.holding(owner):
            self.each(args[0], lambda item: self.grow(owner, item, node), node)
        return Known(None)

    def grown_pop(
        self, owner: Any, contents: GrownContents, args: list[Any], _: Any, node: ast.AST
    ) -> Any:
        """``x.pop()`` or ``x.pop(index)``."""
        if args and not (isinstance(args[0], Known) and args[0].object == -1):
            item = self.grown_item(owner, args[0], node)
            with self.holding(item):
                self.grown_delete(owner, args[0], node)
            return item
        item = self._item_at(contents, self._row(contents, Known(-1), node), node)
        shorter = self.binary("Sub", contents.length, Known(1), node)
        self.store(owner, replace(contents, length=shorter), node)
        return item

    def grown_delete(self, owner: Reference, index: Any, node: ast.AST) -> None:
        """``del x[index]``: what comes after it moves."""
        contents = self.contents(owner, node)
        if isinstance(index, Lazy | Choice):
            self.refuse(node, "del of such an item of a list of computed length", ADVICE)
        self.place_within(index, contents.length, node)
        left = self.binary("Sub", contents.length, Known(1), node)
        if isinstance(index, Known) and index.object == 0:
            after = self.binary("Add", contents.first, Known(1), node)
            self.store(owner, replace(contents, length=left, first=after), node)
            return
        first, count = self.bounds(index, Known(None), contents.length, node)
        after = self.binary("Add", first, Known(1), node)
        fewer = self.binary("Sub", count, Known(1), node)
        moved = self._shifted(contents, after, first, fewer, node)
        self.store(owner, replace(moved, length=left), node)

    def _shifted(
        self, contents: GrownContents, first: Any, to: Any, count: Any, node: ast.AST
    ) -> GrownContents:
        """So many items from one place on copied to another."""
        first, to, last = (self._row_at(contents, at, node) for at in (first, to, contents.length))
        columns = self._with_rows_moved(contents.columns, first, to, last, count)
        return replace(contents, columns=columns)

    def _with_rows_moved(
        self, columns: tuple[Any, ...], first: Any, to: Any, last: Any, count: Any
    ) -> tuple[Any, ...]:
        """So many rows from one on copied to others; there are rows up to ``last``."""
        old, new = (consecutive(self, at, count, last, CAPACITY) for at in (first, to))
        return tuple(
            replace(
                one, id=self.apply("replace_row", one.id, self.apply("gather", one.id, old), new)
            )
            for one in columns
        )

    def grown_insert(
        self, owner: Any, contents: GrownContents, args: list[Any], _: Any, node: ast.AST
    ) -> Any:
        """``x.insert(index, item)``: what comes after it moves."""
        if len(args) != 2:
            self.leave("arguments do not fit", node)
        if isinstance(args[0], Choice):
            self.refuse(node, "an insertion at one of several places", ADVICE)
        if isinstance(args[0], Known) and args[0].object == 0:
            self._grow_in_front(owner, contents, args[1], node)
            return Known(None)
        first, count = self.bounds(args[0], Known(None), contents.length, node)
        after = self.binary("Add", first, Known(1), node)
        with self.holding(owner, args[1]):
            self.grow(owner, args[1], node)
            moved = self._shifted(self.contents(owner, node), first, after, count, node)
            self.store(owner, moved, node)
            self.grown_store(owner, first, args[1], node)
        return Known(None)

    def _grow_in_front(
        self, owner: Reference, contents: GrownContents, item: Any, node: ast.AST
    ) -> None:
        """``x.insert(0, item)``: the item gets the row before the first one. Where there is none,
        all items move behind as many free rows as there are items.
        """
        parts = self._parts_for(contents, item, node)
        full = self.compare("Eq", contents.first, Known(0), node)

        def moved() -> Any:
            free = self.larger(contents.length, Known(CAPACITY), node)
            capacity = self._capacity(contents, node)
            last = self.binary("Sub", capacity, Known(1), node)
            count = self.binary("Mult", free, Known(3), node)
            columns = tuple(
                replace(one, id=cut(self, one, contents.first, count, last, CAPACITY))
                for one in contents.columns
            )
            end = self.binary("Sub", count, Known(1), node)
            return Tuple(
                (free, *self._with_rows_moved(columns, Known(0), free, end, contents.length))
            )

        found = self.decide(full, moved, lambda: Tuple((contents.first, *contents.columns)), node)
        first = self.binary("Sub", found.items[0], Known(1), node)
        longer = self.binary("Add", contents.length, Known(1), node)
        contents = replace(contents, first=first, length=longer, columns=found.items[1:])
        index = self.index_of(self.as_int(first), node)
        self.store(owner, self._with_item(contents, parts, index), node)

    def grown_sum(self, left: Any, right: Any, node: ast.AST) -> Any:
        """``x + y`` of two lists: a new one."""
        for one in (left, right):
            known = self.list_or_row(one, node)
            if self.grown(one) is None and not (known and known[0] is list):
                self.leave("a list and something else cannot be added", node)
        contents: Any = self.contents(left, node)
        made = self.allocate(replace(contents, external=False))
        self.grown_extend(made, None, [right], None, node)
        return made

    def grown_clear(self, owner: Any, _: Any, args: list[Any], __: Any, node: ast.AST) -> Any:
        """``x.clear()``."""
        self.store(owner, ListContents(()), node)
        return Known(None)

    def grown_copy(
        self, _: Any, contents: GrownContents, args: list[Any], __: Any, node: ast.AST
    ) -> Any:
        """``x.copy()``."""
        return self.allocate(replace(contents, external=False))
