"""Arrays: items, slices, assignment and truth.

An array that the function made can be written to: its value is replaced in the heap, so that all
its names see it. One that was given is refused; so is a write where a view is in use.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..abstract.masks import is_mask, only_mask, spliced
from ..abstract.state import ArrayContents, CellContents, ListContents, names_of, reachable
from ..abstract.values import (
    INTEGERS,
    REAL,
    Array,
    Choice,
    Known,
    Lazy,
    Lost,
    Number,
    Recorded,
    Reference,
    Tuple,
    is_index,
    is_integers,
    kind_of,
    number_of,
)
from .computed_slices import filled_part, with_cut
from .containers import is_slice
from .creation import Creation
from .indices import ALL, is_cross, is_short, is_whole, spelled_out
from .integer_arrays import integer_of
from .numbers import number_in
from .views import as_view, as_written, is_view_of, write_back
from .written_integers import part_in, replaced, store_integers, value_in

WRITE = "copy it first, or make a new array"
MOST_ROWS = 64
"""How many rows are assigned to one by one."""


class Arrays(Creation):
    """What is done with arrays but calls."""

    def is_array(self, value: Any) -> bool:
        """Whether a value is an array."""
        if isinstance(value, Reference):
            return isinstance(self.state.heap.get(value.address), ArrayContents)
        return isinstance(value, Array | Recorded) or (
            isinstance(value, Known) and isinstance(value.object, np.ndarray)
        )

    def array_of(self, value: Any) -> Any:
        """The array that stands under an address; anything else as it is."""
        if isinstance(value, Reference):
            contents = self.state.heap.get(value.address)
            if isinstance(contents, ArrayContents):
                return value_in(contents, value.address)
        return value

    def array_truth(self, value: Any, node: ast.AST) -> Any:
        """Whether an array of one element counts as true."""
        found = self.array_of(value)
        if isinstance(found, Known):
            return self.fold(bool, [found.object], node)
        if isinstance(found, Recorded):
            if found.variable.shape:
                if found.computed:
                    self.refuse(node, "the truth of an array of computed length", "use len(…)")
                self.leave("the truth of an array of several elements", node)
            if found.variable.dtype != np.bool_:
                return self.truth(integer_of(self, found, node), node)
            made = spliced(self.builder, found, found.variable)
            return Number("bool", self.compute("float_to_bool", made))
        if found.computed:
            self.refuse(node, "the truth of an array of computed length", "use len(…) of it")
        if np.prod(found.shape) != 1:
            self.leave("the truth of an array of several elements", node)
        self.expect_shape(found, node)
        number = self.array_call(np.ndarray.sum, [value], {}, node)
        return self.truth(number, node)

    def array_item(self, value: Any, index: Any, node: ast.AST) -> Any:
        """An item or slice of an array."""
        if isinstance(index, Choice):
            return self.distribute(index, lambda one: self.array_item(value, one, node), node)
        return as_view(value, index, self._picked_out(value, index, node))

    def _picked_out(self, value: Any, index: Any, node: ast.AST) -> Any:
        array = self.array_of(value)
        if index == Tuple(()) and (
            kind_of(value) or (isinstance(array, Array) and not array.shape)
        ):
            return number_in(self, value)
        index = self._index_for(array, index, node)
        parts = index.items if isinstance(index, Tuple) else (index,)
        if isinstance(array, Recorded | Known):
            like = array.variable if isinstance(array, Recorded) else array.object
            looks_up = self._looks_up(like, parts) or is_mask(index)
            found: Any = part_in(self, value, array, index, node) if looks_up else None
            if found is not None:
                return found
        if isinstance(array, Array):
            if is_mask(index):
                return self._masked(value, array, index, node)
            if is_cross(index):
                args = [value, *index.over]
                return self.call(self.written_out("crossed", node), args, {}, node)
            if is_index(index):
                if not array.shape:
                    self.leave("an array without axes has no items", node)
                return self._part_at(value, array, [index], node)[0]
            if self._looks_up(array, parts):
                part, _, rest = self._part_at(value, array, parts, node)
                return self.array_item(part, rest, node) if rest else part
            listed = self._listed_rows(parts, node)
            if listed is not None:
                found = [self.array_item(value, one, node) for one in listed]
                return self.array_call(np.stack, [self.new_list(found)], {}, node)
            first, *others = parts
            if array.shape and self.is_cut(first):
                found = self.part_of(value, array, first, node)
                if not others:
                    return found
                return self.array_item(found, Tuple((ALL, *others)), node)
            if len(array.shape) == 2 == len(parts) and all(map(self._are_places, parts)):
                return self.call(self.written_out("paired", node), [value, *parts], {}, node)
            mask = only_mask(parts)
            places = [at for at, part in enumerate(parts) if at == mask or self._are_places(part)]
            if len(places) == 1 < len(parts) and not isinstance(parts[places[0]], Known):
                found = self._rows_and_parts(value, parts, places[0], node)
                if found is not None:
                    return found
            places = self.array_of(index)
            if is_integers(places) and not is_integers(array):
                return self._rows(array, places, node)
        return self.array_call(_item, [value, self._index(index, node)], {}, node)

    def _masked(self, value: Any, array: Array, mask: Recorded, node: ast.AST) -> Any:
        """What a mask picks: the rows at some numbers, or the elements."""
        axes = len(mask.variable.shape)
        if not 0 < axes <= len(array.shape):
            self.leave("a mask with too many axes, or none", node)
        numbers = self.call(self.written_out("positions", node), [value, mask], {}, node)
        if axes > 1:
            self.expect_shapes()
            rows = [value, Known((-1, *array.shape[axes:]))]
            value = self.array_call(np.reshape, rows, {}, node)
        return self.array_call(_item, [value, numbers], {}, node)

    def _rows_and_parts(
        self, value: Any, parts: Sequence[Any], at: int, node: ast.AST
    ) -> Any | None:
        """``x[2, places, 1:]``, as ``x[2][places][:, 1:]``, and ``x[:, places]`` by exchanging
        axes; None for another order.
        """
        before, places, after = parts[:at], parts[at], parts[at + 1 :]
        array = self.array_of(places)
        axes = len(array.variable.shape if isinstance(array, Recorded) else array.shape)
        if all(map(is_index, before)) and all(is_index(one) or is_slice(one) for one in after):
            found = self.array_item(value, Tuple(tuple(before)), node) if before else value
            found = self.array_item(found, places, node)
            return self.array_item(found, Tuple((*[ALL] * axes, *after)), node) if after else found
        if axes == 1 and not after and not any(map(is_index, before)):
            if any(map(is_short, before)):
                value = self.array_item(value, Tuple(tuple(before)), node)
            ends = Known(at), Known(0)
            turned = self.array_call(np.moveaxis, [value, *ends], {}, node)
            found = self.array_item(turned, places, node)
            return self.array_call(np.moveaxis, [found, *ends[::-1]], {}, node)
        return None

    def _are_places(self, index: Any) -> bool:
        """Whether an index is an array of integers, known or not."""
        array = self.array_of(index)
        if isinstance(array, Known) and isinstance(array.object, np.ndarray):
            array = array.object
        found = array.variable if isinstance(array, Recorded) else array
        return getattr(found, "dtype", None) == np.int64 and len(found.shape) > 0

    def _has_rows(self, value: Any, array: Array, mask: Recorded) -> bool:
        """Whether what is assigned by a mask has a row for each place."""
        given = self.array_of(value)
        axes = len(array.shape) - len(mask.variable.shape) + 1
        return isinstance(given, Array) and len(given.shape) == axes and axes > 0

    def _index_for(self, array: Any, index: Any, node: ast.AST) -> Any:
        """An index of an array, as ``_with_integers`` has it, without ``...``."""
        found = array.object if isinstance(array, Known) else getattr(array, "variable", array)
        return spelled_out(self._with_integers(index, node), len(getattr(found, "shape", ())))

    def _with_integers(self, index: Any, node: ast.AST) -> Any:
        """An index whose integers are numbers, also those that were recorded, as of ``argmax``, or
        are Python's on one path and NumPy's on another, and whose masks are what they are now.
        """
        if isinstance(index, Tuple):
            items = tuple(self._with_integers(part, node) for part in index.items)
            alone = len(items) == 1 and self._are_places(items[0])
            return items[0] if alone else Tuple(items or (Known(...),))
        if is_slice(index):
            return index.with_parts(tuple(self._with_integers(end, node) for end in index.over))
        if isinstance(index, Choice) and {*map(kind_of, index.alternatives)} <= INTEGERS:
            return self.distribute(index, lambda one: Number("int", self.as_int(one)), node)
        found = self.array_of(index)
        return integer_of(self, found if isinstance(found, Recorded) else index, node)

    def _listed_rows(self, parts: Sequence[Any], node: ast.AST, most: int = 0) -> list[Any] | None:
        """The index of each row, if rows are named by a list of integers that are computed, or by
        an array of at most so many integers.
        """
        first, *rest = parts
        if not all(map(is_slice, rest)):
            return None
        array = self.array_of(first)
        contents = self.state.heap.get(first.address) if isinstance(first, Reference) else None
        if isinstance(contents, ListContents):
            items = [integer_of(self, one, node) for one in contents.items]
        elif is_integers(array) and len(array.shape) == 1 and 0 < array.shape[0] <= most:
            items = self.items(first, node)
        else:
            return None
        if not all(map(is_index, items)) or all(isinstance(one, Known) for one in items):
            return None
        return [Tuple((one, *rest)) if rest else one for one in items]

    def _looks_up(self, array: Any, parts: Sequence[Any]) -> bool:
        """Whether these are integers and slices, and not all of them known."""
        places = [part for part in parts if is_index(part)]
        slices = [part for part in parts if is_slice(part)]
        return (
            len(places) + len(slices) == len(parts) <= len(array.shape)
            and len(places) > 0
            and (
                not slices
                or any(isinstance(p, Number) for p in places)
                or any(map(self.is_cut, slices))
            )
        )

    def _part_at(
        self, value: Any, array: Array, parts: Sequence[Any], node: ast.AST
    ) -> tuple[Any, dict[int, int], Tuple | None]:
        """What is at the integers among these, by their axes; the places; and which part of it the
        slices name, None for all of it.
        """
        places = {
            axis: self.place_within(part, self.axis_length(array, axis, node), node)
            for axis, part in enumerate(parts)
            if is_index(part)
        }
        shape = tuple(n for axis, n in enumerate(array.shape) if axis not in places)
        if list(places) == [0]:
            made = self.apply("gather", array.id, places[0])
        else:
            made = self.apply("take_at", array.id, *places.values(), axes=list(places))
        slices = [part for part in parts if not is_index(part)]
        rest = Tuple(tuple(slices)) if any(map(is_short, slices)) else None
        if not shape:
            if is_integers(array):
                return Number("int64", self.compute("index_to_signed", made)), places, rest
            kind = "float32" if array.dtype == np.float32 else "float64"
            return Number(kind, made), places, rest
        bases = frozenset({value.address}) if isinstance(value, Reference) else array.bases
        part = Array(made, array.dtype, shape, bases, array.outer, array.computed)
        return part, places, rest

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
        if isinstance(index, Tuple):
            return Tuple(tuple(self._index(part, node) for part in index.items))
        if isinstance(index, Lazy):
            self.refuse(node, "such an index", "use integers, slices or arrays")
        return index

    def place_within(self, index: Any, length: Any, node: ast.AST) -> int:
        """An index within a length; negative ones count from the end."""
        kind = kind_of(index)
        if kind not in INTEGERS and kind != "bool":
            self.leave("an index that is no integer", node)
        if isinstance(index, Known):
            index = Known(int(index.object))
        else:
            index = Number("int", self.as_int(index))
        return self.index_of(self.as_int(self.within_length(index, length, node)), node)

    def index_of(self, at: int, node: ast.AST) -> int:
        """An integer of the program as an index."""
        return self.compute(
            "int_to_index", at, exit=self.exit("an index that is out of range", node)
        )

    def array_store(self, owner: Any, index: Any, value: Any, node: ast.AST) -> None:
        """Assigns to an item or slice of an array."""
        if isinstance(index, Choice):
            self.distribute(index, lambda one: self.array_store(owner, one, value, node), node)
            return
        contents = self.contents(owner, node)
        array = contents.value
        if not isinstance(array, Array):
            self.refuse(node, "a write to such an array", WRITE)
        self._no_views(owner, node)
        if contents.head is not None:
            return store_integers(self, owner, index, value, node)
        value = self.as_array(value, node)
        index = self._index_for(array, index, node)
        if is_cross(index) or (is_mask(index) and self._has_rows(value, array, index)):
            crosses = isinstance(index, Lazy)
            args = [owner, *(index.over if crosses else (index,)), value]
            name = "crossed_store" if crosses else "masked_store"
            self.call(self.written_out(name, node), args, {}, node)
            return
        parts = index.items if isinstance(index, Tuple) else (index,)
        at = only_mask(parts)
        if at is not None and not any(map(is_slice, parts[:at])):
            around = Tuple((*parts[:at], ALL, *parts[at + 1 :]))
            self.store_item(self.array_item(owner, around, node), parts[at], value, node)
            return
        axis = self._turned(array, parts, value)
        if axis:
            args = [owner, Known(axis), parts[axis], value]
            self.call(self.written_out("turned_store", node), args, {}, node)
            return
        listed = self._listed_rows(parts, node, MOST_ROWS)
        if listed is not None:
            self._store_rows(owner, listed, value, node)
            return
        are_pairs = len(parts) == 2 == len(array.shape)
        known = all(isinstance(part, Known) for part in parts)
        if not known and all(map(self._are_places, parts)) and (len(parts) == 1 or are_pairs):
            name = "paired_store" if are_pairs else "placed_store"
            self.call(self.written_out(name, node), [owner, *parts, value], {}, node)
            return
        # Places are computed on several paths, on which the value has to stay what it is.
        with self.holding(value):
            if self._looks_up(array, parts):
                part, places, rest = self._part_at(owner, array, parts, node)
                held = self._new_part(part, rest, value, array, node)
                made = self._replaced(array, places, held)
            elif array.shape and len(parts) == 1 and self.is_cut(index):
                made = with_cut(self, array, index, value, node)
            else:
                made = self._stored(array, owner, index, value, node)
        self.store(owner, ArrayContents(replace(array, id=made)), node)

    def _turned(self, array: Array, parts: Sequence[Any], value: Any) -> int:
        """Along which axis but the first a mask or integers that are computed name what is
        assigned, all of it along others; 0 if it is not so.
        """
        at = [at for at, part in enumerate(parts) if not is_whole(part)]
        index = parts[at[0]] if len(at) == 1 else None
        found = getattr(self.array_of(index), "variable", self.array_of(index))
        named = is_mask(index) or (not isinstance(index, Known) and self._are_places(index))
        if not (named and len(found.shape) == 1):
            return 0
        given = self.array_of(value)
        fits = kind_of(given) or (isinstance(given, Array) and len(given.shape) == len(array.shape))
        return at[0] if fits else 0

    def _store_rows(self, owner: Any, listed: list[Any], value: Any, node: ast.AST) -> None:
        """Assigns to rows one by one: of two in one place the last one stays."""
        given = self.array_of(value)
        several = isinstance(given, Array) and len(given.shape) == len(self.array_of(owner).shape)
        if several and given.shape[0] != len(listed):
            self.refuse(node, "such a write to rows", "assign a number, or as many rows")
        with self.holding(owner, value):
            for at, one in enumerate(listed):
                part = self.array_item(value, Known(at), node) if several else value
                self.array_store(owner, one, part, node)

    def _stored(self, array: Array, owner: Any, index: Any, value: Any, node: ast.AST) -> int:
        """An array after an assignment by a known index."""
        args = [owner, self._index(index, node), value]
        found = self.array_of(self.array_call(_stored, args, {}, node))
        if not isinstance(found, Array) or found.shape != array.shape:
            self.refuse(node, "such a write to an array", WRITE)
        return found.id

    def _new_part(
        self, part: Any, rest: Tuple | None, value: Any, array: Array, node: ast.AST
    ) -> int:
        """The part of an array after an assignment to what slices name of it, or to all of it."""
        if not isinstance(part, Array):
            return self._element(value, array, node)
        if rest is None:
            made = filled_part(self, part, value, node)
            return self._stored(part, part, ALL, value, node) if made is None else made
        if len(rest.items) == 1 and self.is_cut(rest.items[0]):
            return with_cut(self, part, rest.items[0], value, node)
        return self._stored(part, part, rest, value, node)

    def _replaced(self, array: Array, places: dict[int, int], value: int) -> int:
        """The array with the part at these places replaced."""
        if list(places) == [0]:
            return self.apply("replace_row", array.id, value, places[0])
        return self.apply("replace_at", array.id, value, *places.values(), axes=list(places))

    def replace_array(self, owner: Any, value: Any, node: ast.AST) -> None:
        """Gives an array the values of another, in place."""
        before, after = self.array_of(owner), self.array_of(value)
        if isinstance(before, Recorded):
            held = replaced(self, before, after, node)
            if isinstance(owner, Recorded) and owner.view is not None:
                return write_back(self, owner.view, value, node)
            self._no_views(owner, node)
            self.store(owner, replace(self.contents(owner, node), value=held), node)
            return
        if isinstance(before, Array) and not before.shape and kind_of(value) in REAL:
            # NumPy makes a number of what is computed of arrays without axes.
            after = replace(before, id=self.as_real(value, before.dtype.name, node))
        fits = isinstance(before, Array) and isinstance(after, Array)
        if fits and (before.computed or after.computed):
            if not (isinstance(owner, Reference) and before.computed and after.computed):
                self.refuse(
                    node, "an operator in place on an array of computed length", "write x = x + …"
                )
            length, other = self.length(before, node), self.length(after, node)
            same = self.compare("Eq", length, other, node)
            self.guard(same, "an operator in place on an array of another length", node)
        if not fits or (before.shape, before.dtype) != (after.shape, after.dtype):
            self.refuse(node, "such an operator in place on an array", "write x = x + …")
        if isinstance(owner, Array):
            assert owner.view is not None
            write_back(self, owner.view, after, node)
            return
        self._no_views(owner, node)
        self.store(owner, ArrayContents(replace(before, id=after.id)), node)

    def _element(self, value: Any, array: Array, node: ast.AST) -> int:
        kind = array.dtype.name
        if isinstance(value, Choice):
            return self.id_of(
                self.distribute(
                    value, lambda one: Number(kind, self._element(one, array, node)), node
                )
            )
        value = number_of(value)
        if self.is_array(value):
            found = self.array_of(value)
            if not isinstance(found, Array) or found.shape != ():
                self.leave("an element is set to an array", node)
            return found.id
        if self.class_of(value) is not None:
            self.refuse(node, "an element that is set to this object", "use float(...) of it")
        if kind_of(value) is None:
            self.leave("an element is set to no number", node)
        return self.as_real(value, kind, node)

    def _no_views(self, owner: Reference, node: ast.AST) -> None:
        """Refuses a write to an array of which a view is in use. A name of one may be given another
        value before it is read, as in a loop: that is refused where it is read.
        """
        for names in self.state.environments:
            for name, value in names.items():
                names[name] = as_written(value, owner.address)
        values = [*names_of(self.state), *self.held[: self.statement]]
        for address in reachable(self.state, values):
            contents = self.state.heap[address]
            if isinstance(contents, CellContents):
                made = as_written(contents.value, owner.address)
                self.state.heap[address] = replace(contents, value=made)
            elif not isinstance(contents, Lost):
                values += contents.parts
        if any(is_view_of(value, owner.address) for value in values):
            self.refuse(
                node, "a write to an array of which a slice is in use", "copy the slice first"
            )


def _item(array: Any, index: Any) -> Any:
    return array[index]


def _stored(array: Any, index: Any, value: Any) -> Any:
    """The array after an assignment, which leaves the one that was given as it is."""
    import wyrmling

    made = array.copy() if isinstance(array, np.ndarray) else wyrmling.array(array)
    made[index] = value
    return made
