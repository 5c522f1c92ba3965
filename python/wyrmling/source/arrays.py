"""Arrays: items, slices, assignment and truth.

An array that the function made can be written to: its value is replaced in the heap, so that all
its names see it. One that was given, and views, are refused there; so is a write to an array of
which a view is still in use. An item by an index that is computed is looked up within bounds.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .containers import is_slice
from .state import ArrayContents, names_of, reachable
from .values import (
    REAL,
    WHOLE,
    Array,
    Choice,
    Composite,
    Known,
    Lazy,
    Lost,
    Number,
    Reference,
    Row,
    Traced,
    is_index,
    is_integers,
    kind_of,
)
from .walker import Walker

WRITE = "copy it first, or make a new array"


class Arrays(Walker):
    """What is done with arrays but calls."""

    def is_array(self, value: Any) -> bool:
        """Whether a value is an array."""
        if isinstance(value, Reference):
            return isinstance(self.state.heap.get(value.address), ArrayContents)
        return isinstance(value, Array | Traced) or (
            isinstance(value, Known) and isinstance(value.object, np.ndarray)
        )

    def array_of(self, value: Any) -> Any:
        """The array that stands under an address; anything else as it is."""
        if isinstance(value, Reference):
            contents = self.state.heap.get(value.address)
            if isinstance(contents, ArrayContents):
                return contents.value
        return value

    def array_truth(self, value: Any, node: ast.AST) -> Any:
        """Whether an array of one element counts as true."""
        found = self.array_of(value)
        if isinstance(found, Known):
            return self.fold(bool, [found.object], node)
        if isinstance(found, Traced):
            if found.computed:
                self.refuse(node, "the truth of an array of computed length", "use len(…) of it")
            if found.variable.shape:
                self.leave("the truth of an array of several elements", node)
            inputs = [one for one, _ in found.inputs]
            made = self.builder.splice([found.variable], inputs, [id for _, id in found.inputs])
            return Number("bool", self.compute("float_to_bool", made[0]))
        if found.computed:
            self.refuse(node, "the truth of an array of computed length", "use len(…) of it")
        if np.prod(found.shape) != 1:
            self.leave("the truth of an array of several elements", node)
        number = self.array_call(np.ndarray.sum, [value], {}, node)
        return self.truth(number, node)

    def with_number_for_truth(self, args: Sequence[Any], node: ast.AST) -> Sequence[Any]:
        """The arguments of ``np.where``, the first of which is 1 or 0 if it is one bool."""
        ways = args[0].alternatives if isinstance(args[0], Choice) else args[:1]
        if len(args) != 3 or not {kind_of(one) for one in ways} <= {"bool", "numpy_bool"}:
            return args
        truth = self.truth(args[0], node)
        return [Number("float", self.as_real(truth, "float", node)), *args[1:]]

    def array_item(self, value: Any, index: Any, node: ast.AST) -> Any:
        """An item or slice of an array."""
        array = self.array_of(value)
        if isinstance(index, Choice):
            return self.distribute(index, lambda one: self.array_item(value, one, node), node)
        if isinstance(array, Array):
            if is_index(index):
                return self._row(value, array, index, node)
            parts = index.items if isinstance(index, Row) else ()
            if parts and len(parts) <= len(array.shape) and all(map(is_index, parts)):
                if len(parts) == len(array.shape):
                    return self._element_at(array, parts, node)
                found: Any = value
                for part in parts:
                    found = self.array_item(found, part, node)
                return found
            first, *rest = parts or (index,)
            if array.shape and self.is_cut(first):
                found = self.part_of(value, array, first, node)
                if not rest:
                    return found
                return self.array_item(found, Row((Known(slice(None)), *rest)), node)
            places = self.array_of(index)
            if is_integers(places):
                return self._rows(array, places, node)
        return self.array_call(_item, [value, self._index(index, node)], {}, node)

    def _rows(self, array: Array, places: Array, node: ast.AST) -> Any:
        """The rows that an array of integers names; a run with a negative one is left."""
        if not array.shape:
            self.leave("an array without axes has no items", node)
        if is_integers(array):
            self.refuse(node, "integers of an array by several indices", "look them up one by one")
        made = self.apply("gather", array.id, places.id)
        shape = (*places.shape, *array.shape[1:])
        computed = array.computed or places.computed
        return self.allocate(ArrayContents(Array(made, array.dtype, shape, computed=computed)))

    def _index(self, index: Any, node: ast.AST) -> Any:
        """An index whose slices are known."""
        if is_slice(index):
            ends = [self.constant_of(end, node, "a slice by computed ends") for end in index.over]
            return Known(slice(*ends))
        if isinstance(index, Row):
            return Row(tuple(self._index(part, node) for part in index.items))
        if isinstance(index, Lazy):
            self.refuse(node, "such an index", "use integers, slices or arrays")
        return index

    def place_within(self, index: Any, length: Any, node: ast.AST) -> int:
        """An index within a length; negative ones count from the end."""
        kind = kind_of(index)
        if kind not in WHOLE and kind != "bool":
            self.leave("an index that is no integer", node)
        if isinstance(index, Known):
            index = Known(int(index.object))
        else:
            index = Number("int", self.as_int(index))
        at = self.decide(
            self.compare("Lt", index, Known(0), node),
            lambda: self.binary("Add", index, length, node),
            lambda: index,
            node,
        )
        text = "an index that is out of range"
        if not isinstance(at, Known):
            self.guard(self.compare("GtE", at, Known(0), node), text, node)
        self.guard(self.compare("Lt", at, length, node), text, node)
        return self.index_of(self.as_int(at), node)

    def index_of(self, at: int, node: ast.AST) -> int:
        """An integer of the program as an index."""
        return self.compute(
            "int_to_index", at, exit=self.exit("an index that is out of range", node)
        )

    def _position(self, array: Array, index: Any, node: ast.AST) -> int:
        """An index along the first axis, within bounds."""
        return self.place_within(index, self.length(array, node), node)

    def _places(self, array: Array, index: Sequence[Any], node: ast.AST) -> list[int]:
        """An index along each axis, within bounds."""
        return [
            self.place_within(one, self.axis_length(array, axis, node), node)
            for axis, one in enumerate(index)
        ]

    def _element_at(self, array: Array, index: Sequence[Any], node: ast.AST) -> Number:
        """The element at an index along each axis."""
        places = self._places(array, index, node)
        made = self.apply("gather" if len(places) == 1 else "take_element", array.id, *places)
        if is_integers(array):
            return Number("int64", self.compute("index_to_signed", made))
        return Number("float32" if array.dtype == np.float32 else "float64", made)

    def _row(self, value: Any, array: Array, index: Any, node: ast.AST) -> Any:
        if len(array.shape) < 2:
            if not array.shape:
                self.leave("an array without axes has no items", node)
            return self._element_at(array, [index], node)
        made = self.apply("gather", array.id, self._position(array, index, node))
        bases = frozenset({value.address}) if isinstance(value, Reference) else array.bases
        return Array(made, array.dtype, array.shape[1:], bases, array.outer, array.computed)

    def array_store(self, owner: Any, index: Any, value: Any, node: ast.AST) -> None:
        """Assigns to an item or slice of an array."""
        contents = self.contents(owner, node)
        array = contents.value
        if not isinstance(array, Array):
            self.refuse(node, "a write to such an array", WRITE)
        self._no_views(owner, node)
        parts = index.items if isinstance(index, Row) else (index,)
        if all(map(is_index, parts)) and len(parts) == len(array.shape):
            held = self._element(value, array, node)
            made = self._replaced(array, list(parts), held, node)
            self.store(owner, ArrayContents(replace(array, id=made)), node)
            return
        if all(map(is_index, parts)) and 0 < len(parts) < len(array.shape):
            row = self._row_for(array, len(parts), value, node)
            if row is not None:
                made = self._replaced(array, list(parts), row, node)
                self.store(owner, ArrayContents(replace(array, id=made)), node)
                return
        args = [owner, self._index(index, node), value]
        found = self.array_of(self.array_call(_stored, args, {}, node))
        if not isinstance(found, Array) or found.shape != array.shape:
            self.refuse(node, "such a write to an array", WRITE)
        self.store(owner, ArrayContents(replace(array, id=found.id)), node)

    def replace_array(self, owner: Any, value: Any, node: ast.AST) -> None:
        """Gives an array the values of another, in place."""
        before, after = self.array_of(owner), self.array_of(value)
        fits = isinstance(before, Array) and isinstance(after, Array)
        if fits and (before.computed or after.computed):
            self.refuse(
                node, "an operator in place on an array of computed length", "write x = x + …"
            )
        if not fits or (before.shape, before.dtype) != (after.shape, after.dtype):
            self.refuse(node, "such an operator in place on an array", "write x = x + …")
        self._no_views(owner, node)
        self.store(owner, ArrayContents(replace(before, id=after.id)), node)

    def _row_for(self, array: Array, axes: int, value: Any, node: ast.AST) -> int | None:
        """What is assigned to a row, or to a row of rows: an array of that shape, or a number for
        all of its elements; None for anything else.
        """
        row = Array(-1, array.dtype, array.shape[axes:], computed=array.computed)
        if kind_of(value) in REAL and not row.computed:
            self.expect_shapes()
            like = self.constant(np.zeros(row.shape, row.dtype))
            value = self.array_call(np.full_like, [replace(row, id=like), value], {}, node)
        found = self.array_of(value)
        if not isinstance(found, Array):
            return None
        same = (found.dtype, found.shape) == (row.dtype, row.shape)
        return found.id if same else None

    def _element(self, value: Any, array: Array, node: ast.AST) -> int:
        kind = array.dtype.name
        if isinstance(value, Choice):
            return self.id_of(
                self.distribute(
                    value, lambda one: Number(kind, self._element(one, array, node)), node
                )
            )
        if self.is_array(value):
            found = self.array_of(value)
            if not isinstance(found, Array) or found.shape != ():
                self.leave("an element is set to an array", node)
            return found.id
        if kind_of(value) is None:
            self.leave("an element is set to no number", node)
        return self.as_real(value, kind, node)

    def _replaced(self, array: Array, index: list[Any], value: int, node: ast.AST) -> int:
        """The array with one element or row replaced."""
        if len(index) == len(array.shape) > 1:
            return self.apply("replace_element", array.id, value, *self._places(array, index, node))
        at = self._position(array, index[0], node)
        if len(index) > 1:
            held = self.apply("gather", array.id, at)
            row = Array(held, array.dtype, array.shape[1:], computed=array.computed)
            value = self._replaced(row, index[1:], value, node)
        return self.apply("replace_row", array.id, value, at)

    def _no_views(self, owner: Reference, node: ast.AST) -> None:
        """Refuses a write to an array of which a view is in use."""
        values = [*names_of(self.state), *self.held[: self.statement]]
        for address in reachable(self.state, values):
            contents = self.state.heap[address]
            if not isinstance(contents, Lost):
                values += contents.parts
        if any(_is_view(value, owner.address) for value in values):
            self.refuse(
                node, "a write to an array of which a slice is in use", "copy the slice first"
            )


def _is_view(value: Any, address: int) -> bool:
    if isinstance(value, Array):
        return address in value.bases
    if isinstance(value, Composite):
        return any(_is_view(part, address) for part in value.parts)
    if isinstance(value, Choice):
        return any(_is_view(part, address) for part in value.alternatives)
    return False


def _item(array: Any, index: Any) -> Any:
    return array[index]


def _stored(array: Any, index: Any, value: Any) -> Any:
    """The array after an assignment, which leaves the one that was given as it is."""
    import wyrmling

    made = array.copy() if isinstance(array, np.ndarray) else wyrmling.array(array)
    made[index] = value
    return made
