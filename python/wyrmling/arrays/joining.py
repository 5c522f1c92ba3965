"""Arrays joined, split and padded: NumPy's functions, for variables too.

Splitting in equal parts, and padding by anything but a constant, compute with lengths: they hold
for arrays of the same length only, and an input that gets another one raises ValueError.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .._core import Variable, broadcast_like, concatenate, constant, expand_dims, fixed, stack
from .._core import sum as sum_over
from .indexing import take
from .operand import Array, Like, along, axis_of, integers, itself
from .shaping import astype, atleast_1d, atleast_2d, atleast_3d, copy


def array(object: Any, dtype: npt.DTypeLike | None = None) -> Variable:
    """A new variable, from variables, numbers and arrays in nested lists or tuples.

    Its elements can be assigned, and a leaf that it was made from is not affected. It is float64
    unless what it is made of, or ``dtype``, is float32.

    >>> x = Variable(3.0)
    >>> a = array([[1.0, x], [x * x, 0.0]])
    >>> a[1, 1] = x
    >>> a.value
    array([[1., 3.],
           [9., 3.]])
    """
    made = _nested(object)
    return copy(made if dtype is None else astype(made, dtype))


def _nested(item: Any) -> Any:
    if isinstance(item, list | tuple) and any(_holds_variable(part) for part in item):
        return stack([_nested(part) for part in item])
    return constant(item)


def _holds_variable(item: Any) -> bool:
    if isinstance(item, list | tuple):
        return any(_holds_variable(part) for part in item)
    return isinstance(item, Variable)


def append(arr: Like, values: Like, axis: int | None = None) -> Variable:
    """Values behind those of an array; both are flattened first if there is no axis.

    Either may be a list that holds variables. Of two such lists ``numpy.append`` knows nothing.

    >>> append([1.0, Variable(2.0)], [Variable(3.0)]).value
    array([1., 2., 3.])
    """
    return concatenate([_nested(arr), _nested(values)], axis)


def _cast(name: str, x: Variable, dtype: npt.DTypeLike | None, casting: str) -> Variable:
    if casting not in ("same_kind", "unsafe"):
        raise ValueError(f"{name}: casting: expected 'same_kind' or 'unsafe', got {casting!r}")
    return x if dtype is None else astype(x, dtype)


def hstack(
    tup: Sequence[Like],
    *,
    dtype: npt.DTypeLike | None = None,
    casting: Literal["same_kind", "unsafe"] = "same_kind",
) -> Variable:
    """Arrays joined along the second axis, vectors along their only one.

    >>> hstack([[1.0, 2.0], [3.0]]).value
    array([1., 2., 3.])
    """
    parts = [atleast_1d(array) for array in tup]
    joined = concatenate(parts, 0 if parts and parts[0].ndim == 1 else 1)
    return _cast("hstack", joined, dtype, casting)


def vstack(
    tup: Sequence[Like],
    *,
    dtype: npt.DTypeLike | None = None,
    casting: Literal["same_kind", "unsafe"] = "same_kind",
) -> Variable:
    """Arrays joined along the first axis, vectors as rows.

    >>> vstack([[1.0, 2.0], [3.0, 4.0]]).value
    array([[1., 2.],
           [3., 4.]])
    """
    joined = concatenate([atleast_2d(array) for array in tup], 0)
    return _cast("vstack", joined, dtype, casting)


def dstack(tup: Sequence[Like]) -> Variable:
    """Arrays joined along the third axis.

    >>> dstack([[1.0, 2.0], [3.0, 4.0]]).value
    array([[[1., 3.],
            [2., 4.]]])
    """
    return concatenate([atleast_3d(array) for array in tup], 2)


def column_stack(tup: Sequence[Like]) -> Variable:
    """Vectors as the columns of a matrix; matrices as they are.

    >>> column_stack([[1.0, 2.0], [3.0, 4.0]]).value
    array([[1., 3.],
           [2., 4.]])
    """

    def columns(array: Like) -> Variable:
        x = atleast_1d(array)
        column: Variable = expand_dims(x, 1) if x.ndim == 1 else x
        return column

    return concatenate([columns(array) for array in tup], 1)


def array_split(
    ary: Like, indices_or_sections: int | Sequence[int] | Array, axis: int = 0
) -> list[Variable]:
    """Parts of an array along an axis: so many of nearly equal length, or cut at these places.

    >>> [part.value for part in array_split([1.0, 2.0, 3.0], 2)]
    [array([1., 2.]), array([3.])]
    """
    x = itself(ary)
    axis = axis_of("array_split", axis, x.ndim)
    numbers = integers("indices_or_sections", indices_or_sections)
    if np.ndim(indices_or_sections) == 0:
        sections = numbers[0]
        if sections < 1:
            raise ValueError(f"indices_or_sections: expected 1 part or more, got {sections}")
        each, extra = divmod(x.shape[axis], sections)
        lengths = [each + 1] * extra + [each] * (sections - extra)
        cuts = np.cumsum([0, *lengths]).tolist()
        x = fixed(x, "array_split", axis)
    else:
        cuts = [0, *numbers, None]
    return [x[along(axis, slice(start, stop))] for start, stop in pairwise(cuts)]


def split(
    ary: Like, indices_or_sections: int | Sequence[int] | Array, axis: int = 0
) -> list[Variable]:
    """Parts of an array along an axis: so many of equal length, or cut at these places.

    Raises ValueError if there is no equal division.

    >>> [part.value for part in split([1.0, 2.0, 3.0, 4.0], [1])]
    [array([1.]), array([2., 3., 4.])]
    """
    x = itself(ary)
    if np.ndim(indices_or_sections) == 0:
        n = x.shape[axis_of("split", axis, x.ndim)]
        (parts,) = integers("indices_or_sections", indices_or_sections)
        if parts < 1 or n % parts:
            raise ValueError(
                f"indices_or_sections: {n} elements do not divide into {parts} equal parts"
            )
    return array_split(x, indices_or_sections, axis)


def hsplit(ary: Like, indices_or_sections: int | Sequence[int] | Array) -> list[Variable]:
    """Parts of an array along the second axis, of a vector along its only one.

    >>> [part.value for part in hsplit([1.0, 2.0], 2)]
    [array([1.]), array([2.])]
    """
    x = _with_axes("hsplit", ary, 1)
    return split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


def vsplit(ary: Like, indices_or_sections: int | Sequence[int] | Array) -> list[Variable]:
    """Parts of an array along the first axis, of two or more.

    >>> [part.value for part in vsplit([[1.0], [2.0]], 2)]
    [array([[1.]]), array([[2.]])]
    """
    return split(_with_axes("vsplit", ary, 2), indices_or_sections, 0)


def dsplit(ary: Like, indices_or_sections: int | Sequence[int] | Array) -> list[Variable]:
    """Parts of an array along the third axis.

    >>> [part.value for part in dsplit([[[1.0, 2.0]]], 2)]
    [array([[[1.]]]), array([[[2.]]])]
    """
    return split(_with_axes("dsplit", ary, 3), indices_or_sections, 2)


def _with_axes(name: str, array: Like, ndim: int) -> Variable:
    x = itself(array)
    if x.ndim < ndim:
        raise ValueError(f"{name}: expected {ndim} or more axes, got shape {x.shape}")
    return x


def _block(x: Variable, axis: int, length: int, value: float) -> Variable:
    """A constant of so many elements along an axis, else of the lengths of ``x``."""
    # The sum with keepdims has length 1 along the axis, even if the array has length 0 there.
    row = sum_over(x, axis, keepdims=True)
    shape = [1] * x.ndim
    shape[axis] = length
    return broadcast_like(np.full(shape, value, x.dtype), row)


def pad(
    array: Like,
    pad_width: Any,
    mode: Literal["constant", "edge", "reflect", "symmetric", "wrap"] = "constant",
    *,
    constant_values: Any = 0.0,
) -> Variable:
    """An array with more elements before and behind along each axis.

    ``pad_width`` is one number, a pair for every axis, or a pair for each, as for ``numpy.pad``;
    so is ``constant_values``. The modes repeat the last element (``"edge"``), mirror the array at
    it (``"reflect"``) or behind it (``"symmetric"``), or begin anew (``"wrap"``).

    Raises ValueError for other modes and negative widths.

    >>> pad([1.0, 2.0], (1, 2)).value
    array([0., 1., 2., 0., 0.])
    >>> pad([1.0, 2.0, 3.0], 2, "reflect").value
    array([3., 2., 1., 2., 3., 2., 1.])
    """
    x = constant(array)
    modes = ("constant", "edge", "reflect", "symmetric", "wrap")
    if mode not in modes:
        raise ValueError(f"mode: expected one of {modes}, got {mode!r}")
    widths = np.broadcast_to(np.asarray(pad_width), (x.ndim, 2))
    if widths.dtype.kind not in "iu":
        raise TypeError(f"pad_width: expected integers, got {pad_width!r}")
    if (widths < 0).any():
        raise ValueError(f"pad_width: a width cannot be negative, got {pad_width!r}")
    values = np.broadcast_to(np.asarray(constant_values, float), (x.ndim, 2))
    for axis, (before, after) in enumerate(widths.tolist()):
        if before == after == 0:
            continue
        if mode == "constant":
            ends = zip((before, after), values[axis].tolist(), strict=True)
            first, last = (_block(x, axis, length, value) for length, value in ends)
            x = concatenate([first, x, last], axis)
        else:
            places = np.pad(np.arange(x.shape[axis]), (before, after), mode=mode)
            x = take(fixed(x, "pad", axis), places, axis)
    return x
