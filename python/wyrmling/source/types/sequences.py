"""Displays of lists, ``len``, and the items of what can be iterated over."""

from __future__ import annotations

import ast
import inspect
import itertools
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import numpy as np

from ..abstract.masks import as_floats
from ..abstract.state import DictContents, GrownContents, ListContents, SetContents
from ..abstract.values import (
    INTEGERS,
    Array,
    Choice,
    Known,
    Lazy,
    Range,
    Recorded,
    Reference,
    Tuple,
    alternatives_of,
    kind_of,
)
from ..abstract.walker import LONGEST_UNROLLED, Walker
from .computed_slices import as_seen
from .iterators import iterated
from .numbers import FOLDED

LIST = "go through it by for, or look its items up"


class Sequences(Walker):
    """Lengths and items."""

    def evaluate_List(self, node: ast.List) -> Any:
        """``[a, b]``, and ``[*a, b]``, where a may have a computed length."""
        if not any(isinstance(one, ast.Starred) for one in node.elts):
            return self.new_list([self.kept(self.evaluate(one), one) for one in node.elts])
        made = self.new_list([])
        self.held.append(made)
        for one in node.elts:
            if not isinstance(one, ast.Starred):
                self.grow(made, self.kept(self.evaluate(one), one), node)
                continue
            value = self.evaluate(one.value)
            if self.grown(value) is not None:
                self.call_method("extend", made, [value], {}, node)
            else:
                for item in self.items(value, one):
                    self.grow(made, item, node)
        return made

    def length(self, value: Any, node: ast.AST) -> Any:
        """``len(value)``."""
        if isinstance(value, Choice):
            return self.distribute(value, lambda one: self.length(one, node), node)
        value = self.array_of(value)
        if isinstance(value, Recorded):
            value = as_floats(self.builder, value)
        if isinstance(value, Known):
            return self._known_length(value, node)
        if isinstance(value, Tuple):
            return Known(len(value.items))
        if isinstance(value, Reference):
            if (known := self.table_length(value)) is not None:
                return known
            contents = self.contents(value, node)
            if isinstance(contents, ListContents):
                return Known(len(contents.items))
            if isinstance(contents, DictContents):
                return Known(len(contents.keys))
            if isinstance(contents, GrownContents):
                return contents.length
            if isinstance(contents, SetContents):
                return Known(len(contents.items))
            own = self.own_length(value, node)
            if own is not None:
                return own
        if isinstance(value, Range):
            return self._range_length(value, node)
        if isinstance(value, Array):
            if not value.shape:
                self.leave("an array without axes has no length", node)
            return self.axis_length(value, 0, node)
        if isinstance(value, Lazy):
            if value.name in ("dict_keys", "dict_values", "dict_items"):
                return self.length(value.over[0], node)
            self.leave("this has no length", node)
        return self.refuse(node, "the length of this", "use a list, a tuple or an array")

    def _known_length(self, value: Known, node: ast.AST) -> Any:
        if value.place is not None and self.class_of(value) is not None:
            own = self.own_length(value, node)
            if own is not None:
                return own
            if hasattr(value.object, "__len__") and not isinstance(value.object, FOLDED):
                self.refuse(node, "the length of this", "use a list, a tuple or an array")
        return self.fold(len, [value.object], node)

    def own_length(self, value: Any, node: ast.AST) -> Any:
        """What a class's own ``__len__`` gives, which has to be an integer from 0; None if it has
        none.
        """
        method = self.bound(value, "__len__", node)
        if method is None:
            return None
        found = self.call(method, [], {}, node)
        found = self.settled(found, node)
        if kind_of(found) not in (*INTEGERS, "bool"):
            self.leave("__len__ returns no integer", node)
        fine = self.compare("GtE", found, Known(0), node)
        self.guard(self.truth(fine, node), "__len__ returns less than 0", node)
        return self.call(Known(int), [found], {}, node)

    def _range_length(self, value: Range, node: ast.AST) -> Any:
        """The length of a range, by Python's formula."""
        zero, one = Known(0), Known(1)

        def count(low: Any, high: Any, step: Any) -> Any:
            def some() -> Any:
                span = self.binary("Sub", self.binary("Sub", high, low, node), one, node)
                return self.binary("Add", self.binary("FloorDiv", span, step, node), one, node)

            return self.decide(self.compare("Lt", low, high, node), some, lambda: zero, node)

        rising = self.compare("Gt", value.step, zero, node)
        found = self.decide(
            rising,
            lambda: count(value.start, value.stop, value.step),
            lambda: count(value.stop, value.start, self.unary("USub", value.step, node)),
            node,
        )
        return as_seen(found, _count, *value.parts)

    def items(self, over: Any, node: ast.AST) -> list[Any]:
        """The items of what has a known length."""
        over = self.settled(over, node)
        if self.runs(over):
            return self.listed(over, node)
        given = over
        over = self.array_of(over)
        if isinstance(over, Recorded):
            over = as_floats(self.builder, over)
        if isinstance(over, Tuple):
            return list(over.items)
        if isinstance(over, Reference):
            contents = self.contents(over, node)
            if isinstance(contents, ListContents):
                return list(contents.items)
            if isinstance(contents, DictContents):
                return [Known(key) for key in contents.keys]
            if isinstance(contents, GrownContents):
                self.unknown(None, node, "a list of computed length here", LIST)
        if isinstance(over, Range):
            ends = [self.constant_of(end, node, "a range of unknown length") for end in over.parts]
            return self._known_items(range(*ends), node)
        if isinstance(over, Known):
            if isinstance(over.object, Iterator):
                # Left, the function would be run, and traced after that: it would take items twice.
                self.refuse(node, "an iterator that was there before", "make it in the function")
            return self._known_items(over.object, node)
        if isinstance(over, Lazy):
            return self._lazy_items(over, node)
        if isinstance(over, Array):
            if not over.shape:
                self.leave("an array without axes has no items", node)
            if over.computed:
                self.unknown(None, node, "an array of computed length here", LIST)
            if over.shape[0] > LONGEST_UNROLLED:
                self.refuse(node, "going through an array here", "use a loop, or slices")
            self.constant_of(self.axis_length(over, 0, node), node, "a length")
            return [self.array_item(given, Known(at), node) for at in range(over.shape[0])]
        if (made := iterated(self, over, node)) is not over:
            return self.items(made, node)
        return self.refuse(node, "going through this", "use a list, a tuple, a range or an array")

    def floats_of(self, value: Any, node: ast.AST) -> Any:
        """Nested lists and tuples of numbers with their floats, as np.array(…, dtype=float) makes
        them; anything else as it is.
        """
        found = alternatives_of(value)
        if all(kind_of(one) is not None for one in found):
            return self.call(Known(float), [value], {}, node)
        parts = self.list_or_row(value, node)
        if parts is None:
            return value
        return Tuple(tuple(self.floats_of(item, node) for item in parts[1]))

    def _known_items(self, found: Any, node: ast.AST) -> list[Any]:
        if isinstance(found, range | tuple | str | bytes | frozenset):
            if isinstance(found, frozenset) and len(found) > 1:
                self.refuse(node, "going through a set", "use a tuple")
            if len(found) > LONGEST_UNROLLED:
                self.refuse(node, "so many items here", "use a loop over a range")
            return [Known(item) for item in found]
        if isinstance(found, np.ndarray):
            return [Known(item) for item in found]
        kind = type(found)
        own = (inspect.getattr_static(kind, name, None) for name in ("__iter__", "__getitem__"))
        if any(isinstance(one, FunctionType) for one in own):
            self.refuse(node, f"going through an object of {kind.__qualname__}", "make it a tuple")
        self.leave_with("this cannot be gone through", node, Known(found))

    def view_items(self, kind: str, owner: Any, node: ast.AST) -> list[Any]:
        """What a view of a dict has now."""
        keys = self.contents(owner, node).keys
        return [self.view_item(kind, owner, at, node) for at in range(len(keys))]

    def view_item(self, kind: str, owner: Any, at: int, node: ast.AST) -> Any:
        """The item of a view of a dict that is number ``at`` now."""
        contents = self.contents(owner, node)
        if kind == "dict_values":
            return contents.values[at]
        key = Known(contents.keys[at])
        return key if kind == "dict_keys" else Tuple((key, contents.values[at]))

    def _lazy_items(self, over: Lazy, node: ast.AST) -> list[Any]:
        name, parts = over.name, over.over
        if name in ("dict_keys", "dict_values", "dict_items"):
            return self.view_items(name, parts[0], node)
        if name == "enumerate":
            numbers = itertools.count()
            return [
                Tuple((self.binary("Add", parts[1], Known(at), node), item))
                for at, item in zip(numbers, self.items(parts[0], node), strict=False)
            ]
        if name in ("zip", "strict zip"):
            columns = [self.items(part, node) for part in parts]
            if name == "strict zip" and len({len(column) for column in columns}) > 1:
                self.leave("zip of different lengths", node)
            return [Tuple(tuple(row)) for row in zip(*columns, strict=False)]
        if name == "reversed":
            return self.items(parts[0], node)[::-1]
        return self.refuse(node, "going through this", "use a list")


def _count(start: int, stop: int, step: int) -> int:
    """The length of a range; of one that Python refuses, which has been left, any."""
    return len(range(start, stop, step or 1))
