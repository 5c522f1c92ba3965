"""Slices of arrays by ends that are computed.

The rows are looked up by indices that follow one another, so that a gradient adds to those rows
alone. Where the text says how long the slice is (``x[k : k + 2]``), its length is known; a slice
that NumPy would make shorter leaves. Otherwise its length is computed.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...ragged import Ragged
from ..abstract.columns import CAPACITY
from ..abstract.state import ArrayContents
from ..abstract.values import (
    INTEGERS,
    REAL,
    Array,
    Known,
    Lazy,
    Number,
    Range,
    Reference,
    Tuple,
    is_index,
    is_integers,
    is_none,
    kind_of,
    seen_of,
    sources_of,
)
from ..abstract.walker import Walker

_INDICES = 2**32
"""How many indices there are."""
SLICE_STORE = "such a write to a slice by computed ends"
FILLED = frozenset({"zeros", "ones"})
"""Functions that make arrays of one number."""


def is_computed(value: Any) -> bool:
    """Whether this is an integer that depends on floats, or on how often something is done."""
    return (
        isinstance(value, Number)
        and value.kind in INTEGERS
        and value.seen is None
        and not value.sources
    )


def as_seen(found: Any, of: Callable[..., int], *given: Any) -> Any:
    """A length that was computed of numbers, with what it was if they were seen."""
    if not isinstance(found, Number):
        return found
    seen = [seen_of(one) for one in given]
    known = None if None in seen else of(*seen)
    return replace(found, seen=known, sources=sources_of(found, *given))


def _has_been_seen(value: Any) -> bool:
    """Whether this is known, or the length of an array of which it was seen."""
    return isinstance(value, Known) or (isinstance(value, Number) and value.seen is not None)


def known_array(walker: Walker, given: npt.NDArray[Any]) -> Array | None:
    """A known array as a constant of the program: float32, float64, or integers that are
    indices. None for any other.
    """
    if given.dtype in (np.float32, np.float64):
        return Array(walker.constant(given), given.dtype, given.shape)
    indices = given.dtype.kind in "iu" and given.ndim > 0
    if not indices or (given.size and not 0 <= given.min() <= given.max() < _INDICES):
        return None
    return Array(walker.constant(given.astype(np.uint32)), np.dtype(np.int64), given.shape)


def with_cut(walker: Walker, array: Array, index: Lazy, value: Any, node: ast.AST) -> int:
    """An array after an assignment to a slice by computed ends."""
    rows, part = _cut_of(walker, array, index, node)
    # In a loop the ends may be known in each turn; where they are not, the lengths are compared.
    held = None
    if not part.computed:
        held = filled_part(walker, part, value, node)
    elif walker.loosens:
        held = _filled_to_length(walker, part, value, node)
    if held is None:
        advice = "write the length, as in x[k : k + 2], and assign a number or as many"
        walker.unknown(None, node, SLICE_STORE, advice)
    return walker.apply("replace_row", array.id, held, rows)


def _cut_of(walker: Walker, array: Array, index: Lazy, node: ast.AST) -> tuple[int, Array]:
    """The indices of the rows of a slice by computed ends, and the rows."""
    if is_integers(array):
        walker.refuse(node, "a slice of integers by computed ends", "look them up one by one")
    length = walker.length(array, node)
    start, stop, _ = index.over
    width = width_of(index.node)
    computed = width is None or array.computed
    seen = CAPACITY if width is None else width
    if width is None:
        first, count = walker.bounds(start, stop, length, node)
    else:
        text = "a slice that is shorter than it is written"
        inside = walker.compare("GtE", start, Known(0), node)
        walker.guard(inside, text, node)
        inside = walker.compare("LtE", stop, length, node)
        walker.guard(inside, text, node)
        first, count = start, Known(width)
    rows = consecutive(walker, first, count, length, seen)
    made = walker.apply("gather", array.id, rows)
    shape = (seen, *array.shape[1:])
    return rows, Array(made, array.dtype, shape, array.bases, array.outer, computed)


def consecutive(walker: Walker, first: Any, count: Any, last: Any, seen: int) -> int:
    """So many indices from one on; ``last`` stands for those after it."""
    exit = walker.exit("a slice that is too long", walker.node)
    ends = [walker.as_int(one) for one in (first, count, last)]
    return walker.compute(f"rows{seen}", *ends, exit=exit)


def filled_part(walker: Walker, part: Array, value: Any, node: ast.AST) -> int | None:
    """What is assigned to a part of an array: an array of its shape, or a number for all of its
    elements; None for anything else.
    """
    if kind_of(value) in REAL and not part.computed:
        walker.expect_shapes()
        like = walker.constant(np.zeros(part.shape, part.dtype))
        value = walker.array_call(np.full_like, [replace(part, id=like), value], {}, node)
    found = walker.array_of(value)
    if not isinstance(found, Array):
        return None
    same = (found.dtype, found.shape) == (part.dtype, part.shape)
    return found.id if same else None


def _filled_to_length(walker: Walker, part: Array, value: Any, node: ast.AST) -> int | None:
    """What is assigned to a part of computed length: rows of its form, as many, or a number; None
    for anything else.
    """
    if kind_of(value) is not None:
        kind = part.dtype.name
        value = Number(kind, walker.as_real(value, kind, node))
        value = walker.array_call(np.full_like, [part, value], {}, node)
    found = walker.array_of(value)
    if not isinstance(found, Array) or not found.shape:
        return None
    if (found.dtype, found.shape[1:]) != (part.dtype, part.shape[1:]):
        return None
    count = walker.length(part, node)
    same = walker.compare("Eq", walker.length(found, node), count, node)
    walker.guard(same, "a slice and as many values", node)
    if found.shape == part.shape:
        return found.id
    return cut(walker, found, Known(0), count, count, part.shape[0])


def part_of_range(walker: Walker, over: Range, index: Lazy, node: ast.AST) -> Range:
    """A slice of a range: of step 1, or the whole backwards."""
    start, stop, step = index.over
    by, length = step.object if isinstance(step, Known) else 0, walker.length(over, node)

    def at(place: Any) -> Any:
        return walker.binary("Add", over.start, walker.binary("Mult", place, over.step, node), node)

    if by == -1 and is_none(start) and is_none(stop):
        last = walker.binary("Sub", length, Known(1), node)
        return Range(at(last), at(Known(-1)), walker.unary("USub", over.step, node))
    if by not in (None, 1):
        walker.refuse(node, "such a slice of a range", "write another range")
    first, count = walker.bounds(start, stop, length, node)
    return Range(at(first), at(walker.binary("Add", first, count, node)), over.step)


def cut(walker: Walker, array: Array, first: Any, count: Any, last: Any, seen: int) -> int:
    """So many rows of an array from one on; ``last`` stands for those after it."""
    return walker.apply("gather", array.id, consecutive(walker, first, count, last, seen))


class ComputedSlices(Walker):
    """Parts of arrays along their first axis."""

    def filled(self, function: Any, shape: Any, node: ast.AST) -> Any:
        """``np.zeros(n)`` or ``np.zeros((n, 2))`` of a length n that is computed, else None."""
        count, *rest = shape.items if isinstance(shape, Tuple) and shape.items else (shape,)
        if not is_computed(count) or not all(map(_has_been_seen, rest)):
            return None
        rest = [Known(self.constant_of(one, node, "a length that is computed")) for one in rest]
        self.guard(self.compare("GtE", count, Known(0), node), "a negative length", node)
        row = self.fold(lambda: function((1, *(one.object for one in rest))), [], node).object
        one = Array(self.constant(row), row.dtype, row.shape)
        made = cut(self, one, Known(0), count, Known(0), CAPACITY)
        return self.allocate(
            ArrayContents(Array(made, row.dtype, (CAPACITY, *row.shape[1:]), computed=True))
        )

    def ragged_entry(self, ragged: Ragged, index: Any, node: ast.AST) -> Array | Known:
        """An entry of a ``Ragged``, which is known as a whole."""
        if isinstance(index, Known):
            entry: Known = self.fold(lambda at: ragged[at], [index.object], node)
            return entry
        values, offsets = (known_array(self, part) for part in (ragged.values, ragged.offsets))
        if values is None or offsets is None or not is_index(index):
            advice = "name it by an integer; its values are floats, or indices"
            self.refuse(node, "such an entry of a Ragged", advice)
        at = self.place_within(index, Known(len(ragged)), node)
        after = self.binary("Add", Number("int", self.compute("index_to_int", at)), Known(1), node)
        first, end = (
            Number("int", self.compute("index_to_signed", self.apply("gather", offsets.id, place)))
            for place in (at, self.index_of(self.as_int(after), node))
        )
        count = self.binary("Sub", end, first, node)
        made = cut(self, values, first, count, Known(max(len(ragged.values) - 1, 0)), CAPACITY)
        return Array(made, values.dtype, (CAPACITY, *values.shape[1:]), computed=True)

    def is_cut(self, index: Any) -> bool:
        """Whether this is a slice of step 1 with an end that is computed, and of no length that was
        seen.
        """
        if not isinstance(index, Lazy) or index.name != "slice":
            return False
        start, stop, step = index.over
        ends = [end for end in (start, stop) if isinstance(end, Number)]
        depends = any(map(is_computed, ends))
        plain = isinstance(step, Known) and step.object in (None, 1)
        return depends and plain and all(end.kind in INTEGERS for end in ends)

    def part_of(self, value: Any, array: Array, index: Lazy, node: ast.AST) -> Any:
        """A slice by computed ends: a view, or a copy of integers, to which nobody writes."""
        if is_integers(array) and len(array.shape) == 1:
            start, stop, _ = index.over
            ends = self.bounds(start, stop, self.length(array, node), node)
            return self.call(self.written_out("integers_from", node), [value, *ends], {}, node)
        bases = frozenset({value.address}) if isinstance(value, Reference) else array.bases
        return replace(_cut_of(self, array, index, node)[1], bases=bases)

    def fitting(self, args: Sequence[Any], node: ast.AST) -> Iterator[list[Any]]:
        """Arguments with other lengths in the place of those that are computed."""
        arrays = [self.array_of(arg) for arg in args]
        known = [one for one in arrays if isinstance(one, Array)]
        # Lengths that stand for those that are computed may differ among each other, too. The
        # largest array keeps its own, because a cut copies.
        known.sort(key=lambda one: (one.computed, -math.prod(one.shape)))
        lengths = [length for one in known for length in one.shape]
        for length in dict.fromkeys(lengths):
            made = []
            for arg, one in zip(args, arrays, strict=True):
                grown = isinstance(one, Array) and one.computed and one.shape
                if grown and one.shape[0] != length:
                    count = self.length(one, node)
                    id = cut(self, one, Known(0), count, count, length)
                    shape = (length, *one.shape[1:])
                    array = Array(id, one.dtype, shape, computed=True)
                    made.append(self.allocate(ArrayContents(array)))
                else:
                    made.append(arg)
            yield made


def width_of(node: Any) -> int | None:
    """The length of a slice such as ``e : e + n`` or ``e - 1 : e + n``, ``e`` without effects."""
    if not isinstance(node, ast.Slice) or node.lower is None or node.upper is None:
        return None
    (one, first), (other, end) = _offset(node.lower), _offset(node.upper)
    plain = (ast.Name, ast.Constant, ast.BinOp, ast.operator, ast.expr_context)
    same = ast.dump(one) == ast.dump(other)
    if same and end >= first and all(isinstance(part, plain) for part in ast.walk(one)):
        return end - first
    return None


def _offset(node: ast.expr) -> tuple[ast.expr, int]:
    """An expression as another one and a number that is added to it."""
    if isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant):
        count = node.right.value
        if type(count) is int and isinstance(node.op, ast.Add | ast.Sub):
            return node.left, count if isinstance(node.op, ast.Add) else -count
    return node, 0
