"""Integers and truths in arrays (``values.Traced``): those of arguments, and their elements.

An array of integers that a function of NumPy's calculates with becomes such a value, since in the
program its words are 32 bits without a sign, which only look up rows. So does any array of bool.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .._core import IndexInput, Input, where
from .values import Array, Number, Traced

if TYPE_CHECKING:
    from .walker import Walker


def truths_of(made: int, found: npt.NDArray[np.bool_]) -> Traced:
    """An array of bool of the caller's, which is this value of the program."""
    leaf, other = (IndexInput(one.astype(np.uint32)) for one in (found, ~found))
    return Traced(leaf != 0, ((leaf, made),), other != 0, (other,))


def signed(array: Array) -> Traced:
    """An array of integers, to calculate with. While it is recorded it has those that were seen, by
    which what they look up is there.
    """
    seen = array.example
    if seen is None or seen.shape != array.shape:
        seen = np.zeros(array.shape, np.int64)
    leaf, other = (IndexInput(seen.astype(np.uint32)) for _ in range(2))
    return Traced(
        _signed(leaf), ((leaf, array.id),), _signed(other), (other,), computed=array.computed
    )


def _signed(leaf: Any) -> Any:
    numbers = leaf.astype(float)
    return where(numbers >= 2.0**31, numbers - 2.0**32, numbers).astype(int)


def as_floats(walker: Walker, value: Traced) -> Array:
    """Integers as floats, truths as 1 and 0."""
    inputs = [one for one, _ in value.inputs]
    computed = list(range(len(inputs))) if value.computed else []
    ids = [id for _, id in value.inputs]
    made = walker.builder.splice([value.variable.astype(float)], inputs, ids, computed)[0]
    shape = tuple(int(length) for length in value.variable.shape)
    return Array(made, np.dtype(np.float64), shape, computed=value.computed)


def answered(walker: Walker, found: Any, like: Traced, node: ast.AST) -> Any:
    """A part of what ``as_floats`` made, as integers or truths again."""
    is_truth = like.variable.dtype == np.bool_
    if isinstance(found, Number):
        if is_truth:
            return Number("numpy_bool", walker.compute("float_to_bool", found.id))
        exit = walker.exit("no integer of 64 bits", node)
        return Number("int64", walker.compute("float_to_int", found.id, exit=exit))
    array = walker.array_of(found)
    leaf, other = (Input(np.zeros(array.shape)) for _ in range(2))
    kind = bool if is_truth else int
    return replace(
        like,
        variable=leaf.astype(kind),
        inputs=((leaf, array.id),),
        again=other.astype(kind),
        others=(other,),
        computed=array.computed,
    )


def integer_of(walker: Walker, value: Any, node: ast.AST) -> Any:
    """An integer that was recorded, as that of ``argmax``, as a number; anything else as it is."""
    if not isinstance(value, Traced) or value.computed:
        return value
    found = value.variable
    if found.shape or found.dtype.kind not in "iu":
        return value
    inputs = [one for one, _ in value.inputs]
    made = walker.builder.splice([found], inputs, [id for _, id in value.inputs])[0]
    if walker.builder.kind(made) == "index":
        return Number("int64", walker.compute("index_to_signed", made))
    exit = walker.exit("no integer of 64 bits", node)
    return Number("int64", walker.compute("float_to_int", made, exit=exit))
