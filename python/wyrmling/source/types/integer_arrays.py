"""Arithmetic on arrays of integers and of bool, and on their elements.

In the program such an array has words of 32 bits without a sign, by which rows can be looked up and
nothing else. Where a function of NumPy's calculates with it, it becomes a ``values.Recorded``: a
variable of float64 numbers that are marked as integers or truths, recorded in a graph as tracing
records it, and written into the program where it is used.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ..._core import IndexInput, where
from ..abstract.masks import recorded_as, spliced
from ..abstract.values import (
    BOOLS,
    INTEGERS,
    Array,
    Choice,
    Known,
    Number,
    Recorded,
    is_integers,
    kind_of,
)

if TYPE_CHECKING:
    from ..abstract.walker import Walker


def truths_of(made: int, found: npt.NDArray[np.bool_]) -> Recorded:
    """An array of bool of the caller's, which is this value of the program."""
    leaf, other = (IndexInput(one.astype(np.uint32)) for one in (found, ~found))
    return Recorded(leaf != 0, ((leaf, made),), other != 0, (other,))


def signed(array: Array) -> Recorded:
    """An array of integers, to calculate with. While it is recorded it has those that were seen, by
    which what they look up is there.
    """
    seen = array.example
    if seen is None or seen.shape != array.shape:
        seen = np.zeros(array.shape, np.int64)
    leaf, other = (IndexInput(seen.astype(np.uint32)) for _ in range(2))
    return Recorded(
        _signed(leaf), ((leaf, array.id),), _signed(other), (other,), computed=array.computed
    )


def _signed(leaf: Any) -> Any:
    numbers = leaf.astype(float)
    return where(numbers >= 2.0**31, numbers - 2.0**32, numbers).astype(int)


def answered(walker: Walker, found: Any, like: Recorded, node: ast.AST) -> Any:
    """A part of what ``as_floats`` made, as integers or truths again."""
    is_truth = like.variable.dtype == np.bool_
    if isinstance(found, Number):
        if is_truth:
            return Number("numpy_bool", walker.compute("float_to_bool", found.id))
        exit = walker.exit("no integer of 64 bits", node)
        return Number("int64", walker.compute("float_to_int", found.id, exit=exit))
    return recorded_as(walker.array_of(found), like.variable.dtype)


def integer_of(walker: Walker, value: Any, node: ast.AST) -> Any:
    """An integer that was recorded, as that of ``argmax``, as a number; anything else as it is."""
    if not isinstance(value, Recorded):
        return value
    found = value.variable
    if found.shape or found.dtype.kind not in "iu":
        return value
    made = spliced(walker.builder, value, found)
    if walker.builder.kind(made) == "index":
        return Number("int64", walker.compute("index_to_signed", made))
    exit = walker.exit("no integer of 64 bits", node)
    return Number("int64", walker.compute("float_to_int", made, exit=exit))


def expect_powers(walker: Walker, function: Any, args: Sequence[Any], node: ast.AST) -> None:
    """Goes on where no integer is raised to a negative one that is computed: NumPy raises there.
    Nor is a mask raised to Python's 2, of which NumPy's operator makes a square of int8.
    """
    if len(args) != 2 or isinstance(args[1], Known) or not all(is_whole(walker, a) for a in args):
        return
    square = function is operator.pow and kind_of(args[1]) == "int"
    if square and not is_integer_array(walker, args[0]):
        other = walker.truth(walker.compare("NotEq", args[1], Known(2), node), node)
        walker.guard(other, "the square of a mask, which is of int8", node)
    negative = walker.compare("Lt", args[1], Known(0), node)
    if walker.is_array(negative):
        negative = walker.array_call(np.any, [negative], {}, node)
    holds = walker.negated(walker.truth(negative, node))
    walker.guard(holds, "an integer to a negative power", node, ValueError)


def is_whole(walker: Walker, value: Any) -> bool:
    """Whether this is an integer of 64 bits or a truth, or an array or list of them."""
    found = walker.array_of(value)
    if isinstance(found, Known):
        return np.can_cast(np.asarray(found.object).dtype, np.int64)
    if isinstance(found, Recorded):
        return found.variable.dtype in (np.int64, np.bool_)
    items = found.alternatives if isinstance(found, Choice) else walker.list_items(found)
    if items is not None:
        return all(is_whole(walker, item) for item in items)
    return is_integers(found) or kind_of(found) in INTEGERS | BOOLS


def are_whole(walker: Walker, function: Any, values: Sequence[Any]) -> bool:
    """Whether integers among these stay integers: there is an array of them, or there are masks and
    nothing but integers beside them. What ``where`` chooses by says nothing of that, and what it or
    ``stack`` is given need be no array.
    """
    if function is np.where:
        values = values[1:]
    if function in (np.where, np.stack):
        return all(is_whole(walker, value) for value in values)
    if any(is_integer_array(walker, value) for value in values):
        return True
    return any(map(walker.is_array, values)) and all(is_whole(walker, value) for value in values)


def is_integer_array(walker: Walker, value: Any) -> bool:
    """Whether this is an array of integers of the program."""
    found = walker.array_of(value)
    return is_integers(found) or (isinstance(found, Recorded) and found.variable.dtype == np.int64)


def refuse_other_widths(walker: Walker, name: str, kind: np.dtype[Any], node: ast.AST) -> None:
    """Raises SourceError where NumPy calculates with less than the program does: it makes float16
    of the root of a mask, and int8 of masks that are divided.
    """
    if kind.kind in "iuf" and kind not in (np.float64, np.float32, np.int64):
        advice = "use astype(float) or astype(int) of it before"
        walker.refuse(node, f"{name}, which gives {kind} here,", advice)
