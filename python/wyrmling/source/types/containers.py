"""Tuples, lists and dicts as values of their parts: displays, items, slices and assignment."""

from __future__ import annotations

import ast
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...ragged import Ragged
from ..abstract.state import ArrayContents, DictContents, GrownContents, ListContents
from ..abstract.values import (
    INTEGERS,
    Applied,
    Array,
    Choice,
    Known,
    Lazy,
    MethodOf,
    Number,
    Range,
    Recorded,
    Reference,
    Tuple,
    ZeroDimensional,
    is_index,
    kind_of,
)
from ..abstract.walker import COMPUTED_INDEX, LONGEST_UNROLLED
from .classes import is_class_or_union
from .computed_slices import is_computed, part_of_range
from .creation import joiner_of
from .dicts import CLASSES
from .integer_arrays import integer_of
from .numbers import OPERATORS
from .picks import Picks, has_integer_keys
from .tables import is_cell
from .views import is_view, store_in_view
from .written_integers import expect_written


class Containers(Picks):
    """Items of containers."""

    def evaluate_Tuple(self, node: ast.Tuple) -> Any:
        """``a, b``."""
        return Tuple(tuple(self._elements(node.elts)))

    def _elements(self, nodes: Sequence[ast.expr]) -> list[Any]:
        found: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                found += self.items(self.evaluate(node.value), node)
            else:
                found.append(self.kept(self.evaluate(node), node))
        return found

    def evaluate_Dict(self, node: ast.Dict) -> Any:
        """``{key: value, **others}``."""
        made = self.allocate(DictContents((), ()))
        self.held.append(made)
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                self.update(made, self.evaluate(value), node)
            else:
                self.store_item(made, self.evaluate(key), self.evaluate(value), node)
        return made

    def evaluate_Subscript(self, node: ast.Subscript) -> Any:
        """``value[index]``."""
        return self.item(*self.subscript(node), node)

    def subscript(self, node: ast.Subscript) -> tuple[Any, Any]:
        """What ``value[index]`` is an item of, and the index. ``x[i][j]`` of an array is
        ``x[i, j]``: nobody needs the row.
        """
        if not isinstance(node.value, ast.Subscript):
            return self.evaluate(node.value), self.evaluate(node.slice)
        owner, rows = self.subscript(node.value)
        if self.is_list_of_lists(owner):
            return self.place_in_lists(owner, rows, node)
        array = self.array_of(owner)
        first = rows.items if isinstance(rows, Tuple) else (rows,)
        found = array.variable if isinstance(array, Recorded) else array
        axes = len(found.shape) if isinstance(array, Array | Recorded) else 0
        if len(first) >= axes or not all(map(is_index, first)):
            value = self.item(owner, rows, node.value)
            self.hold(value)
            return value, self.evaluate(node.slice)
        index = self.evaluate(node.slice)
        rest = index.items if isinstance(index, Tuple) else (index,)
        if all(is_index(one) or is_slice(one) for one in rest):
            return owner, Tuple((*first, *rest))
        return self.item(owner, rows, node.value), index

    def evaluate_Slice(self, node: ast.Slice) -> Any:
        """``start:stop:step``, as a tuple that is marked."""
        ends = (node.lower, node.upper, node.step)
        found = tuple(Known(None) if e is None else self.evaluate(e) for e in ends)
        return Lazy("slice", found, node)

    def item(self, value: Any, index: Any, node: ast.AST) -> Any:
        """``value[index]``."""
        if is_cell(index):
            return self.table_item(index, node)
        if isinstance(value, Choice):
            return self.distribute(value, lambda one: self.item(one, index, node), node)
        if isinstance(index, Choice):
            return self.distribute(index, lambda one: self.item(value, one, node), node)
        if not self._takes_keys(value):
            index = self.as_index(index, node)
        if isinstance(value, Tuple):
            return self._of_sequence(value.items, index, node, Tuple)
        if isinstance(value, Reference):
            found = self._of_reference(value, index, node)
            if found is not None:
                return found
        if isinstance(value, Array | Recorded) or kind_of(value) in ("float64", "float32"):
            return self.array_item(value, index, node)
        if isinstance(value, ZeroDimensional) and index == Tuple(()):
            return value.number
        if isinstance(value, Range):
            return self._of_range(value, index, node)
        if isinstance(value, Known):
            return self._of_known(value, index, node)
        if isinstance(value, Lazy) and value.name.startswith("dict_"):
            self.leave("a view of a dict has no items by number", node)
        return self.refuse(node, "an item of this", "use a list, a tuple, a dict or an array")

    def _of_reference(self, value: Reference, index: Any, node: ast.AST) -> Any:
        """An item of an object in memory; None for an object that has none."""
        if (found := self.of_table(value, index, node)) is not None:
            return found
        contents = self.contents(value, node)
        if isinstance(contents, ListContents):
            picked = self.is_pick(contents.items, index)
            if picked or not self._loosened_for(index, value, node):
                return self._of_sequence(contents.items, index, node, self.new_list)
            return self.grown_item(value, index, node)
        if isinstance(contents, GrownContents):
            return self.grown_item(value, index, node)
        if isinstance(contents, DictContents):
            return self._of_dict(value, contents, index, node)
        if isinstance(contents, ArrayContents):
            return self.array_item(value, index, node)
        method = self.bound(value, "__getitem__", node)
        return None if method is None else self.call(method, [index], {}, node)

    def _of_known(self, value: Known, index: Any, node: ast.AST) -> Any:
        if isinstance(value.object, Ragged):
            return self.ragged_entry(value.object, index, node)
        if value.object is np.s_:
            if value.place is not None:
                self.needs.test(value.place, ("is", np.s_))
            return index
        joiner = joiner_of(value.object)
        if joiner is not None:
            if value.place is not None:
                self.needs.test(value.place, ("is", value.object))
            parts = index.items if isinstance(index, Tuple) else (index,)
            known = [self.slice_of(one, node) if is_slice(one) else one for one in parts]
            return self.array_call(joiner, [Tuple(tuple(known))], {}, node)
        method = self.bound(value, "__getitem__", node) if self.class_of(value) else None
        if method is not None:
            return self.call(method, [index], {}, node)
        if isinstance(value.object, np.ndarray) and not isinstance(index, Known):
            return self.array_item(value, index, node)
        if isinstance(value.object, tuple):
            items = tuple(Known(item) for item in value.object)
            return self._of_sequence(items, index, node, Tuple)
        if isinstance(value.object, type):
            self.refuse(node, "a class with arguments", "define it outside of the function")
        key = self.slice_of(index, node) if is_slice(index) else index
        place = None if value.place is None else value.place.item
        found = self.constant_of(key, node, "an item by a computed index", COMPUTED_INDEX)
        if place is not None and not isinstance(value.object, str | bytes | range):
            self.refuse(node, "an item of this object", "pass a list, a dict or an array")
        return self.fold(lambda owner, at: owner[at], [value.object, found], node)

    def _takes_keys(self, owner: Any) -> bool:
        """Whether an index is a key, or an argument of a method, and need be no integer."""
        contents = self.state.heap.get(owner.address) if isinstance(owner, Reference) else None
        return isinstance(contents, DictContents) or self.class_of(owner) is not None

    def slice_of(self, index: Lazy, node: ast.AST) -> Known:
        """A slice whose ends are known."""
        ends = [
            self.constant_of(end, node, "a slice by computed ends", COMPUTED_INDEX)
            for end in index.over
        ]
        return Known(slice(*ends))

    def _of_sequence(self, items: tuple[Any, ...], index: Any, node: ast.AST, make: Any) -> Any:
        if is_slice(index):
            found = self.slice_of(index, node).object
            try:
                return make(items[found])
            except (TypeError, ValueError):
                self.leave("a slice that Python refuses", node)
        if self.is_pick(items, index):
            return self.picked(items, Number("int", self.as_int(index)), node)
        if all(isinstance(item, Known) for item in items):
            copy = self.new_list(items)
            if self._loosened_for(index, copy, node):
                return self.grown_item(copy, index, node)
        at = self.position(index, items, node)
        return items[at]

    def _loosened_for(self, index: Any, owner: Reference, node: ast.AST) -> bool:
        """Whether a list was given a computed length, because items are looked up by an index that
        is known in no run of a loop.
        """
        ends = index.over if isinstance(index, Lazy) and index.name == "slice" else (index,)
        return self.loosens and any(map(is_computed, ends)) and self.loosened(owner, node)

    def position(self, index: Any, items: Sequence[Any], node: ast.AST) -> int:
        """An index of one of these that is known."""
        if isinstance(index, Number) and index.kind not in ("int", "int64", "bool"):
            self.leave("an index that is no integer", node)
        at = self.constant_of(index, node, self.name_of_item(items), COMPUTED_INDEX)
        if not isinstance(at, int | np.integer):
            self.leave("an index that is no integer", node, TypeError)
        if not -len(items) <= at < len(items):
            self.leave("an index that is out of range", node, IndexError)
        return int(at)

    def _of_range(self, value: Range, index: Any, node: ast.AST) -> Any:
        if is_slice(index):
            return part_of_range(self, value, index, node)
        index = integer_of(self, index, node)
        if kind_of(index) not in (*INTEGERS, "bool"):
            self.leave("an index that is no integer", node, TypeError)
        # The item is Python's, whatever the index is.
        if isinstance(index, Known):
            index = Known(int(index.object))
        elif index.kind == "int64":
            index = replace(index, kind="int")
        at = self.within_length(index, self.length(value, node), node)
        return self.binary("Add", value.start, self.binary("Mult", at, value.step, node), node)

    def key(self, index: Any, node: ast.AST, within: DictContents | None = None) -> Any:
        """A key that is known: of a dict ``within`` which a computed one may be picked."""
        if isinstance(index, Tuple):
            return tuple(self.key(item, node) for item in index.items)
        picks = within is not None and has_integer_keys(within)
        advice = COMPUTED_INDEX if picks else "use keys that are known"
        found = self.constant_of(index, node, "an item by a computed key", advice)
        try:
            hash(found)
        except TypeError:
            self.leave("a key that cannot be hashed", node)
        if found != found:
            self.refuse(node, "a NaN as a key", "use another key")
        return found

    def _of_dict(self, owner: Any, contents: DictContents, index: Any, node: ast.AST) -> Any:
        if contents.cls in (dict, OrderedDict):
            if isinstance(index, Number) and len(contents.keys) <= 8 and index.kind in INTEGERS:
                return self._by_computed_key(contents, index, 0, node)
            if self.is_pick(contents.values, index) and {int} == set(map(type, contents.keys)):
                return self._picked_by_key(contents, index, node)
        found = self.key(index, node)
        if found not in contents.keys:
            return self.missing(owner, contents, found, node)
        return contents.values[contents.keys.index(found)]

    def _picked_by_key(self, contents: DictContents, index: Any, node: ast.AST) -> Any:
        rows = sorted(zip(contents.keys, contents.values, strict=True), key=lambda row: row[0])

        def within(low: int, high: int) -> Any:
            if high - low == 1:
                same = self.compare("Eq", index, Known(rows[low][0]), node)
                self.guard(same, "a key that is not there", node, KeyError)
                return rows[low][1]
            middle = (low + high) // 2
            return self.decide(
                self.compare("Lt", index, Known(rows[middle][0]), node),
                lambda: within(low, middle),
                lambda: within(middle, high),
                node,
            )

        return within(0, len(rows))

    def _by_computed_key(self, contents: DictContents, index: Any, at: int, node: ast.AST) -> Any:
        if at == len(contents.keys):
            self.leave("a key that is not there", node, KeyError)
        if not isinstance(contents.keys[at], int):
            return self._by_computed_key(contents, index, at + 1, node)
        same = self.compare("Eq", index, Known(contents.keys[at]), node)
        return self.decide(
            same,
            lambda: contents.values[at],
            lambda: self._by_computed_key(contents, index, at + 1, node),
            node,
        )

    def store_item(self, owner: Any, index: Any, value: Any, node: ast.AST) -> None:
        """``owner[index] = value``."""
        if self.stores_in_table(owner, index, value, node):
            return
        if isinstance(owner, Choice):
            self.distribute(owner, lambda one: self.store_item(one, index, value, node), node)
            return
        if not self._takes_keys(owner):
            index = self.as_index(index, node)
        if is_view(owner):
            return store_in_view(self, owner.view, index, value, node)
        if isinstance(owner, Array):
            self.refuse(
                node,
                "a write to an array that the function did not make, or to a view,",
                "copy it first, or assign to the array itself, by y[i, j]",
            )
        if self.is_array(owner) and not isinstance(owner, Reference):
            expect_written(self, owner)
            self.refuse(node, "a write to this array", "copy it first; use int64, bool or floats")
        if not isinstance(owner, Reference):
            self.leave_with("this has no items that can be assigned", node, owner)
        contents = self.contents(owner, node)
        mixes = isinstance(contents, ListContents) and self.mixes(contents, index, value)
        plain = isinstance(contents, ListContents) and not mixes
        if plain and self._loosened_for(index, owner, node):
            contents = self.contents(owner, node)
        if isinstance(contents, ListContents):
            items = list(contents.items)
            if is_slice(index):
                where = self.slice_of(index, node).object
                self.fold(items.__setitem__, [where, self.items(value, node)], node)
            elif mixes:
                items = self.replaced_item(items, index, value, node)
            else:
                items[self.position(index, items, node)] = value
            self.store(owner, replace(contents, items=tuple(items)), node)
        elif isinstance(contents, GrownContents):
            self.grown_store(owner, index, value, node)
        elif isinstance(contents, DictContents):
            if kind_of(value) is not None and self.picks_key(contents, index):
                after = self.replaced_value(owner, contents, index, value, node)
                self.store(owner, replace(contents, values=after), node)
                return
            key = self.key(index, node, contents)
            keys, values = list(contents.keys), list(contents.values)
            if key in keys:
                values[keys.index(key)] = value
            else:
                keys.append(key)
                values.append(value)
            made = replace(contents, keys=tuple(keys), values=tuple(values))
            self.store(owner, made, node)
        elif isinstance(contents, ArrayContents):
            self.array_store(owner, index, value, node)
        else:
            method = self.bound(owner, "__setitem__", node)
            if method is None:
                self.leave("this has no items that can be assigned", node)
            self.call(method, [index, value], {}, node)

    def delete_item(self, owner: Any, index: Any, node: ast.AST) -> None:
        """``del owner[index]``."""
        if not isinstance(owner, Reference):
            self.leave_with("this has no items that can be deleted", node, owner)
        contents = self.contents(owner, node)
        if not self._takes_keys(owner):
            index = self.as_index(index, node)
        if isinstance(contents, ListContents) and self._loosened_for(index, owner, node):
            contents = self.contents(owner, node)
        if isinstance(contents, ListContents):
            items = list(contents.items)
            if is_slice(index):
                self.fold(items.__delitem__, [self.slice_of(index, node).object], node)
            else:
                del items[self.position(index, items, node)]
            self.store(owner, replace(contents, items=tuple(items)), node)
        elif isinstance(contents, DictContents):
            key = self.key(index, node)
            if key not in contents.keys:
                if contents.cls is Counter:
                    return
                self.leave("a key that is not there", node, KeyError)
            at = contents.keys.index(key)
            keys = contents.keys[:at] + contents.keys[at + 1 :]
            values = contents.values[:at] + contents.values[at + 1 :]
            self.store(owner, replace(contents, keys=keys, values=values), node)
        elif isinstance(contents, GrownContents):
            self.grown_delete(owner, index, node)
        else:
            method = self.bound(owner, "__delitem__", node)
            if method is None:
                self.refuse(node, "del of an item of this", "make a new object")
            self.call(method, [index], {}, node)

    def sequence_operator(self, operator: str, left: Any, right: Any, node: ast.AST) -> Any:
        """``+`` and ``*`` of tuples and lists, ``|`` of dicts, and what is known."""
        if self.grown(left) is not None or self.grown(right) is not None:
            if operator == "Add":
                return self.grown_sum(left, right, node)
            self.refuse(
                node, "an operator on a list of computed length", "use extend, or np.array(…) of it"
            )
        ours, theirs = self.list_or_row(left, node), self.list_or_row(right, node)
        if operator == "Add" and ours and theirs:
            if ours[0] is not theirs[0]:
                self.leave("a list and a tuple cannot be added", node)
            joined = tuple(ours[1]) + tuple(theirs[1])
            return self.new_list(joined) if ours[0] is list else Tuple(joined)
        if operator == "Mult" and bool(ours) != bool(theirs):
            return self._repeated(*((ours, right) if ours else (theirs, left)), node)
        if (counted := self.counter_operator(operator, left, right, node)) is not None:
            return counted
        for one in (left, right):
            if isinstance(one, Reference) and self.type_of(one, node) in CLASSES:
                self.refuse(node, "this operator on such objects", "use dicts")
        if operator == "BitOr" and isinstance(left, Reference):
            made = self.allocate(DictContents((), ()))
            self.update(made, left, node)
            self.update(made, right, node)
            return made
        if isinstance(left, Known) and isinstance(right, Known):
            both = left.object, right.object
            if operator == "BitOr" and all(map(is_class_or_union, both)):
                return Known(left.object | right.object)
            plain = (set, frozenset, dict, list, type)
            if isinstance(left.object, plain) or isinstance(right.object, plain):
                self.refuse(node, "this operator on such objects", "compute it outside")
            return self.fold(OPERATORS[operator], [left.object, right.object], node)
        if isinstance(left, Known) and isinstance(left.object, str) and operator == "Mod":
            return self.filled_in("%", left.object, right, node)
        if isinstance(left, Tuple | Reference | Applied | MethodOf | Known | Number):
            self.leave_with("Python has no such operator for these", node, left, right)
        return self.refuse(node, "this operator on these", "compute with numbers or arrays")

    def _repeated(self, many: Any, count: Any, node: ast.AST) -> Any:
        """A list or a tuple, as ``list_or_row`` gives it, so many times."""
        kind, items = many
        count = self.as_index(count, node)
        if kind_of(count) not in ("int", "bool"):
            self.leave("a sequence is repeated by integers only", node)
        long = isinstance(count, Known) and count.object > LONGEST_UNROLLED
        if kind is list and len(items) == 1 and (long or is_computed(count)):
            made = self.grown_product(items[0], count, node)
            if made is not None:
                return made
        times = self.constant_of(
            count, node, "a list of a computed length", "use np.zeros of a length that is given"
        )
        if len(items) * times > 10_000:
            self.refuse(node, "a list of this length", "use an array")
        repeated = tuple(items) * times
        return self.new_list(repeated) if kind is list else Tuple(repeated)

    def list_or_row(self, value: Any, node: ast.AST) -> tuple[type, list[Any]] | None:
        """The type and the items of a list or a tuple; nothing for what is neither."""
        if isinstance(value, Tuple):
            return tuple, list(value.items)
        if isinstance(value, Known) and isinstance(value.object, tuple):
            return tuple, [Known(item) for item in value.object]
        if isinstance(value, Reference):
            contents = self.contents(value, node)
            if isinstance(contents, ListContents):
                return list, list(contents.items)
        return None


def is_slice(value: Any) -> bool:
    """Whether a value is a slice that is written."""
    return isinstance(value, Lazy) and value.name == "slice"
