"""Lists whose length is computed: built in loops whose number of turns is, or on some paths only.

Such a list is an integer, its length, and a column for each number or array of an item
(``columns.py``). What is appended replaces a row of each column; where there is no room, the
columns become twice as long. So the gradient of a loop that appends takes a row each turn.

An array or list that is appended is written to no more, since its values are copied. Items are of
one form; what else is appended is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..abstract.columns import (
    CAPACITY,
    ArrayForm,
    NumberForm,
    Packed,
    TupleForm,
    built,
    common_form,
    form_of,
    is_numeric,
    parts_of,
    references_of,
    single_forms,
)
from ..abstract.frames import LoopCode, LoopEnds
from ..abstract.state import ArrayContents, GrownContents, ListContents
from ..abstract.values import (
    INTEGERS,
    REAL,
    Array,
    Choice,
    Known,
    Lazy,
    Number,
    Reference,
    Tuple,
    kind_of,
)
from ..abstract.walker import Walker
from .computed_slices import cut

ADVICE = "make it an array by np.array(…), or build it in a loop over a range that is known"
ONE_FORM = "append numbers of one kind, arrays of one shape, or tuples or lists of these"
MANY = "an integer of more than 53 bits in a list of computed length"
# Functions of NumPy for which a list is the array of its items.
OF_LISTS = frozenset(
    {"sum", "mean", "prod", "max", "min", "amax", "amin", "std", "var", "dot", "cumsum", "cumprod"}
    | {"diff", "array", "asarray", "median", "average", "square", "stack", "argmin", "argmax"}
)


class Grown(Walker):
    """What is done with lists of computed length."""

    def grown(self, value: Any) -> GrownContents | None:
        """What such a list holds; None for anything else."""
        if not isinstance(value, Reference):
            return None
        contents = self.state.heap.get(value.address)
        return contents if isinstance(contents, GrownContents) else None

    # Columns.

    def packed(self, column: Packed) -> int:
        """A column of a list of known length, where it is not known any more."""
        room = CAPACITY
        while room < len(column.parts):
            room *= 2
        like = column.form.like
        self.expect_shapes()
        zeros = np.zeros((room, *like.shape[1:]), like.dtype)
        if zeros.ndim == 1 and all(isinstance(part, Known) for part in column.parts):
            zeros[: len(column.parts)] = [part.object for part in column.parts]
            return self.constant(zeros)
        made = self.constant(zeros)
        if room > CAPACITY:
            # A column has the lengths that stand for any from its beginning, since rules that
            # differentiate compare them.
            rows = replace(like, id=self.constant(zeros[:1]))
            made = cut(self, rows, Known(0), Known(room), Known(0), CAPACITY)
        for at, part in enumerate(column.parts):
            index = self.index_of(self.constant(at), self.node)
            made = self.apply("replace_row", made, self._held(part, column.form), index)
        return made

    def loosened(self, value: Any, node: ast.AST) -> bool:
        """Gives a list a computed length; whether its items can be those of such a list."""
        contents = self.contents(value, node)
        form = common_form(contents.items, self.state.heap)
        if not form or contents.external:
            return False
        rows = [parts_of(item, self.state.heap) for item in contents.items]
        for item in contents.items:
            self._bar(item)
        columns = tuple(
            self._column(tuple(row[at] for row in rows), one)
            for at, one in enumerate(single_forms(form))
        )
        length = Number("int", self.constant(len(contents.items)))
        self.store(value, GrownContents(form, length, columns), node)
        return True

    def _column(self, parts: tuple[Any, ...], form: NumberForm | ArrayForm) -> Array:
        """A column that begins with these numbers or arrays."""
        arrays = [part for part in parts if isinstance(part, Array)]
        bases: frozenset[int] = frozenset().union(*(part.bases for part in arrays))
        outer: frozenset[Any] = frozenset().union(*(part.outer for part in arrays))
        return replace(form.like, id=self.packed(Packed(parts, form)), bases=bases, outer=outer)

    def grown_product(self, item: Any, count: Any, node: ast.AST) -> Reference | None:
        """``[item] * count`` as a list of computed length; None if it cannot have such an item."""
        form = form_of(item, self.state.heap)
        if form is None:
            return None
        self._bar(item)
        length = self.larger(Number("int", self.as_int(count)), Known(0), node)
        room = self._room(length, node)
        columns = []
        for part, one in zip(parts_of(item, self.state.heap), single_forms(form), strict=True):
            column = self._column((part,), one)
            made = cut(self, column, Known(0), room, Known(0), CAPACITY)
            columns.append(replace(column, id=made))
        return self.allocate(GrownContents(form, length, tuple(columns)))

    def _held(self, part: Any, form: Any) -> int:
        """A number or array as a row of a column."""
        if isinstance(part, Array):
            return part.id
        if form.kind == "float32":
            return self.id_of(part)
        held = self.as_real(part, "float", self.node)
        if form.kind in INTEGERS and not isinstance(part, Known):
            size = self.apply("abs", held)
            inside = self.compute("less_number", size, self.constant(2.0**53))
            self.guard(inside, MANY, self.node)
        return held

    def _row_of(self, column: Array, form: Any, index: int, node: ast.AST) -> Any:
        """A row of a column as a number or array."""
        made = self.apply("gather", column.id, index)
        if not isinstance(form, NumberForm):
            return Array(made, form.dtype, form.shape, column.bases, column.outer)
        return self.number_of_kind(form.kind, made, node)

    def number_of_kind(self, kind: str, held: int, node: ast.AST) -> Number:
        """The number that a float of the program holds."""
        if kind in INTEGERS:
            held = self.compute("float_to_int", held, exit=self.exit(MANY, node))
        elif kind not in REAL:
            held = self.compute("float_to_bool", held)
        return Number(kind, held)

    def _item_at(self, contents: GrownContents, index: int, node: ast.AST) -> Any:
        forms = single_forms(contents.form)
        rows = zip(contents.columns, forms, strict=True)
        parts = [self._row_of(column, form, index, node) for column, form in rows]
        return built(contents.form, iter(parts), self._made)

    def _made(self, items: tuple[Any, ...], cls: type) -> Any:
        """A tuple, or a list to which nobody writes: it is a copy of what the item is."""
        if cls is list:
            return self.allocate(ListContents(items, external=True))
        return Tuple(items, cls)

    def _bar(self, item: Any) -> None:
        """Lets nobody write to arrays and lists that are items."""
        for one in references_of(item, self.state.heap):
            contents: Any = self.state.heap[one.address]
            self.state.heap[one.address] = replace(contents, external=True)

    def _parts_for(self, contents: GrownContents, item: Any, node: ast.AST) -> list[Any]:
        """The parts of an item that gets a place in a list."""
        item = self.settled(item, node)
        heap = self.state.heap
        if form_of(item, heap) != contents.form:
            self.refuse(node, "a list of computed length with items of several kinds", ONE_FORM)
        self._bar(item)
        return parts_of(item, heap)

    # What a list does.

    def grow(self, owner: Reference, item: Any, node: ast.AST) -> None:
        """``x.append(item)``."""
        contents = self.contents(owner, node)
        if isinstance(contents, ListContents):
            self.store(owner, replace(contents, items=(*contents.items, item)), node)
            return
        parts = self._parts_for(contents, item, node)
        length = contents.length
        capacity = self._capacity(contents, node)
        full = self.compare("Eq", self._row_at(contents, length, node), capacity, node)

        def doubled() -> Any:
            last = self.binary("Sub", capacity, Known(1), node)
            count = self.binary("Mult", capacity, Known(2), node)
            if contents.is_moved:
                # Rows of what was taken out are left behind.
                count = self.binary("Mult", length, Known(2), node)
                count = self.larger(count, Known(CAPACITY), node)
            made = [
                replace(one, id=cut(self, one, contents.first, count, last, CAPACITY))
                for one in contents.columns
            ]
            return Tuple((Known(0) if contents.is_moved else contents.first, *made))

        found = self.decide(full, doubled, lambda: Tuple((contents.first, *contents.columns)), node)
        contents = replace(contents, first=found.items[0], columns=found.items[1:])
        index = self.index_of(self.as_int(self._row_at(contents, length, node)), node)
        longer = self.binary("Add", length, Known(1), node)
        self.store(owner, self._with_item(replace(contents, length=longer), parts, index), node)

    def _capacity(self, contents: GrownContents, node: ast.AST) -> Number:
        """How many rows the columns have."""
        exit = self.exit("an array has no such axis", node)
        return Number("int", self.builder.compute("length", [contents.columns[0].id], exit, axis=0))

    def _row_at(self, contents: GrownContents, at: Any, node: ast.AST) -> Any:
        """The row of the columns that has an item."""
        return self.binary("Add", contents.first, at, node) if contents.is_moved else at

    def _row(self, contents: GrownContents, index: Any, node: ast.AST) -> int:
        """The index of the row that has an item; negative ones count from the end."""
        at = self.place_within(index, contents.length, node)
        if not contents.is_moved:
            return at
        place = Number("int", self.compute("index_to_int", at))
        return self.index_of(self.as_int(self._row_at(contents, place, node)), node)

    def rows_of(self, contents: GrownContents, node: ast.AST) -> tuple[Any, Any, Any]:
        """The first row of the items, how many there are, and the one after them."""
        length = contents.length
        return contents.first, length, self._row_at(contents, length, node)

    def _with_item(self, contents: GrownContents, parts: list[Any], index: int) -> GrownContents:
        """The list with an item of these parts in a row."""
        triples = zip(contents.columns, parts, single_forms(contents.form), strict=True)
        columns = tuple(self._with_row(*triple, index) for triple in triples)
        return replace(contents, columns=columns)

    def _with_row(self, column: Array, part: Any, form: Any, index: int) -> Array:
        made = self.apply("replace_row", column.id, self._held(part, form), index)
        bases, outer = column.bases, column.outer
        if isinstance(part, Array):
            bases, outer = bases | part.bases, outer | part.outer
        return replace(column, id=made, bases=bases, outer=outer)

    def grown_item(self, value: Reference, index: Any, node: ast.AST) -> Any:
        """``x[index]``."""
        contents = self.contents(value, node)
        if isinstance(index, Choice):
            return self.distribute(index, lambda one: self.grown_item(value, one, node), node)
        if isinstance(index, Lazy) and index.name == "slice":
            return self._slice(contents, index, node)
        return self._item_at(contents, self._row(contents, index, node), node)

    def _slice(self, contents: GrownContents, index: Lazy, node: ast.AST) -> Any:
        start, stop, step = index.over
        if not (isinstance(step, Known) and step.object in (None, 1)):
            self.refuse(node, "a slice of such steps of a list of computed length", ADVICE)
        return self._between(contents, start, stop, node)[1]

    def _between(
        self, contents: GrownContents, start: Any, stop: Any, node: ast.AST
    ) -> tuple[Any, Reference]:
        """Where a slice begins, and a new list of what is in it."""
        first, count = self.bounds(start, stop, contents.length, node)
        # An empty slice at the end has room for one item, too, and nothing is behind the last.
        last = self.larger(self.binary("Sub", contents.length, Known(1), node), Known(0), node)
        start, last = (self._row_at(contents, at, node) for at in (first, last))
        columns = [
            replace(one, id=cut(self, one, start, self._room(count, node), last, CAPACITY))
            for one in contents.columns
        ]
        return first, self.allocate(GrownContents(contents.form, count, tuple(columns)))

    def _room(self, count: Any, node: ast.AST) -> Any:
        """Room for so many items: for one at least, so that twice as many are more."""
        return self.decide(
            self.compare("Lt", count, Known(1), node), lambda: Known(1), lambda: count, node
        )

    def bounds(self, start: Any, stop: Any, length: Any, node: ast.AST) -> tuple[Any, Any]:
        """Where a slice of step 1 begins, and how long it is, as Python has it."""

        def placed(end: Any, default: Any) -> Any:
            if isinstance(end, Known) and end.object is None:
                return default
            if kind_of(end) not in INTEGERS and kind_of(end) != "bool":
                self.leave("a slice that Python refuses", node)
            end = Known(int(end.object)) if isinstance(end, Known) else end
            end = end if isinstance(end, Known) else Number("int", self.as_int(end))
            zero = Known(0)
            from_end = self.decide(
                self.compare("Lt", end, zero, node),
                lambda: self.binary("Add", end, length, node),
                lambda: end,
                node,
            )
            return self.larger(self.smaller(from_end, length, node), zero, node)

        first, end = placed(start, Known(0)), placed(stop, length)
        return first, self.larger(self.binary("Sub", end, first, node), Known(0), node)

    def larger(self, left: Any, right: Any, node: ast.AST) -> Any:
        """The larger of two integers."""
        return self.decide(self.compare("Lt", left, right, node), lambda: right, lambda: left, node)

    def grown_store(self, owner: Reference, index: Any, value: Any, node: ast.AST) -> None:
        """``x[index] = value``."""
        contents = self.contents(owner, node)
        if isinstance(index, Lazy):
            self.refuse(node, "a write to a slice of a list of computed length", ADVICE)
        if isinstance(index, Choice):
            self.distribute(index, lambda one: self.grown_store(owner, one, value, node), node)
            return
        parts = self._parts_for(contents, value, node)
        at = self._row(contents, index, node)
        self.store(owner, self._with_item(self.contents(owner, node), parts, at), node)

    def grown_array(self, contents: GrownContents, node: ast.AST) -> Any:
        """``np.array(x)``: a new array."""
        form = contents.form
        forms = single_forms(form)
        numbers = all(is_numeric(one) for one in forms)
        plain = isinstance(form, TupleForm) and form.cls in (tuple, list)
        plain = plain and len(form.items) == len(forms)
        if not isinstance(form, TupleForm):
            if isinstance(form, NumberForm) and not numbers:
                self.refuse(node, "an array of integers that are computed", "make them floats")
        elif not (numbers and plain and len({one.like.dtype for one in forms}) == 1):
            self.refuse(node, "an array of such tuples", "append numbers")
        if not is_numeric(form) or forms[0].like.dtype != np.float64:
            # Of nothing NumPy makes an array of another shape or type.
            some = self.compare("Gt", contents.length, Known(0), node)
            self.guard(some, "an array of an empty list", node)
        found = []
        for one in contents.columns:
            made = cut(self, one, *self.rows_of(contents, node), CAPACITY)
            array = Array(made, one.dtype, one.shape, computed=True)
            found.append(self.allocate(ArrayContents(array)))
        if not isinstance(form, TupleForm):
            return found[0]
        return self.array_call(np.stack, [self.new_list(found)], {"axis": Known(-1)}, node)

    def arrays_for(self, name: str, args: Any, node: ast.AST) -> list[Any]:
        """Arguments of a function of NumPy, lists of computed length as arrays."""
        made = []
        for arg in args:
            contents = self.grown(arg)
            if contents is None:
                made.append(arg)
            elif name in OF_LISTS:
                made.append(self.grown_array(contents, node))
            else:
                what = f"{name} of a list of computed length"
                self.refuse(node, what, "give it np.array(…) of the list")
        return made

    # Going through it.

    def through_grown(
        self, over: Reference, action: Callable[[Any], None], node: ast.AST
    ) -> LoopEnds:
        """A list, which the body may change: what it holds is looked up at each step."""
        name = self.serial()
        self.state.environments[-1][name] = Known(0)

        def condition() -> Any:
            length = self.length(over, node)
            return self.compare("Lt", self.state.environments[-1][name], length, node)

        def body() -> None:
            names = self.state.environments[-1]
            at = names[name]
            names[name] = self.binary("Add", at, Known(1), node)
            action(self.item(over, at, node))

        with self.holding(over):
            found = self.loop(LoopCode(condition, body, None, node))
        for incoming in [*found[0], *found[1]]:
            incoming.state.environments[-1].pop(name, None)
        return found

    def counted_grown(
        self, over: Reference, contents: GrownContents, node: ast.AST
    ) -> tuple[Any, Callable[[Any], Any]]:
        """The length of a list that nobody makes longer or shorter meanwhile, and its items."""

        def item(at: Any) -> Any:
            now = self.grown(over)
            if now is None or (now.length, now.first) != (contents.length, contents.first):
                self.refuse(node, "a change of what is gone through", "go through a copy")
            return self._item_at(now, self._row(now, at, node), node)

        return contents.length, item
