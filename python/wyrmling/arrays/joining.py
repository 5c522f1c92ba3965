"""Arrays joined and split: NumPy's functions, for variables too.

Limit: splitting in equal parts is length-specialised (see the package).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .._core import Variable, concatenate, constant, expand_dims, fixed, has_variable, stack
from .operand import Array, Like, along, axis_of, integer, integers, itself, of_one_type
from .output import finished
from .shaping import astype, atleast_1d, atleast_2d, atleast_3d
from .shaping import copy as copied


def concatenate_to(
    arrays: Sequence[Like],
    axis: int | None = 0,
    out: Variable | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = "same_kind",
) -> Any:
    """``concatenate`` with NumPy's other arguments: an element type, or a variable that stands for
    the result afterwards.

    >>> concatenate_to([[1.0], [2.0]], dtype=np.float32).dtype
    dtype('float32')
    """
    joined = concatenate(arrays, axis)
    return finished("concatenate", _cast("concatenate", joined, dtype, casting), out)


def stack_to(
    arrays: Sequence[Like],
    axis: int = 0,
    out: Variable | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = "same_kind",
) -> Any:
    """``stack`` with NumPy's other arguments; see ``concatenate_to``.

    >>> stack_to([1.0, 2.0], dtype=np.float32).dtype
    dtype('float32')
    """
    return finished("stack", _cast("stack", stack(arrays, axis), dtype, casting), out)


def array(
    object: Any,
    dtype: npt.DTypeLike | None = None,
    *,
    copy: bool = True,
    order: Literal["K", "A", "C", "F"] = "K",
    subok: bool = False,
    ndmin: int = 0,
    like: Any = None,
) -> Variable:
    """A new variable, from variables, numbers and arrays in nested lists or tuples.

    Its elements can be assigned, and a leaf that it was made from is not affected. It is float64
    unless all that it is made of, or ``dtype``, is float32; Python's numbers are float64.
    ``ndmin`` is the least number of axes, of which those of length 1 come first; ``order``,
    ``subok`` and ``like`` change nothing. Raises ValueError for ``copy=False``.

    >>> x = Variable(3.0)
    >>> a = array([[1.0, x], [x * x, 0.0]])
    >>> a[1, 1] = x
    >>> a.value
    array([[1., 3.],
           [9., 3.]])
    """
    if not copy:
        raise ValueError("array: copy=False: a new variable is always made")
    made = _nested(object)
    made = made if dtype is None else astype(made, dtype)
    if made.ndim < integer("array: ndmin", ndmin):
        made = expand_dims(made, tuple(range(ndmin - made.ndim)))
    return copied(made)


def _nested(item: Any) -> Any:
    if isinstance(item, list | tuple) and has_variable((item,), {}):
        return stack([_nested(part) for part in item])
    return constant(item)


@of_one_type
def append(arr: Like, values: Like, axis: int | None = None) -> Variable:
    """Values behind those of an array; both are flattened first if there is no axis.

    Either may be a list that holds variables. Of two such lists ``numpy.append`` knows nothing.

    Raises ValueError for shapes that do not fit away from the axis, or if there is no
    such axis.

    >>> append([1.0, Variable(2.0)], [Variable(3.0)]).value
    array([1., 2., 3.])
    """
    return concatenate([_nested(arr), _nested(values)], axis)


def _cast(name: str, x: Variable, dtype: npt.DTypeLike | None, casting: Any) -> Any:
    if casting not in ("no", "equiv", "safe", "same_kind", "unsafe"):
        raise ValueError(f"{name}: casting: expected a rule of NumPy's, got {casting!r}")
    return x if dtype is None else astype(x, dtype, casting=casting)


@of_one_type
def hstack(
    tup: Sequence[Like],
    *,
    dtype: npt.DTypeLike | None = None,
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = "same_kind",
) -> Variable:
    """Arrays joined along the second axis, vectors along their only one.

    Raises ValueError for shapes that do not fit away from the axis, or no arrays.

    >>> hstack([[1.0, 2.0], [3.0]])
    array([1., 2., 3.])
    """
    parts = [atleast_1d(array) for array in tup]
    joined = concatenate(parts, 0 if parts and parts[0].ndim == 1 else 1)
    found: Variable = _cast("hstack", joined, dtype, casting)
    return found


@of_one_type
def vstack(
    tup: Sequence[Like],
    *,
    dtype: npt.DTypeLike | None = None,
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = "same_kind",
) -> Variable:
    """Arrays joined along the first axis, vectors as rows.

    Raises ValueError for shapes that do not fit away from the first axis, or no arrays.

    >>> vstack([[1.0, 2.0], [3.0, 4.0]])
    array([[1., 2.],
           [3., 4.]])
    """
    joined = concatenate([atleast_2d(array) for array in tup], 0)
    found: Variable = _cast("vstack", joined, dtype, casting)
    return found


@of_one_type
def dstack(tup: Sequence[Like]) -> Variable:
    """Arrays joined along the third axis.

    Raises ValueError for shapes that do not fit away from the third axis, or no arrays.

    >>> dstack([[1.0, 2.0], [3.0, 4.0]])
    array([[[1., 3.],
            [2., 4.]]])
    """
    return concatenate([atleast_3d(array) for array in tup], 2)


@of_one_type
def column_stack(tup: Sequence[Like]) -> Variable:
    """Vectors as the columns of a matrix; matrices as they are.

    Raises ValueError for different numbers of rows, or no arrays.

    >>> column_stack([[1.0, 2.0], [3.0, 4.0]])
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

    Raises ValueError for fewer parts than one, or if there is no such axis.

    >>> [part for part in array_split([1.0, 2.0, 3.0], 2)]
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

    >>> [part for part in split([1.0, 2.0, 3.0, 4.0], [1])]
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

    Raises ValueError for a number, or if there is no equal division.

    >>> hsplit([1.0, 2.0], 2)
    [array([1.]), array([2.])]
    """
    x = _with_axes("hsplit", ary, 1)
    return split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


def vsplit(ary: Like, indices_or_sections: int | Sequence[int] | Array) -> list[Variable]:
    """Parts of an array along the first axis, of two or more.

    Raises ValueError for fewer than two axes, or if there is no equal division.

    >>> vsplit([[1.0], [2.0]], 2)
    [array([[1.]]), array([[2.]])]
    """
    return split(_with_axes("vsplit", ary, 2), indices_or_sections, 0)


def dsplit(ary: Like, indices_or_sections: int | Sequence[int] | Array) -> list[Variable]:
    """Parts of an array along the third axis.

    Raises ValueError for fewer than three axes, or if there is no equal division.

    >>> dsplit([[[1.0, 2.0]]], 2)
    [array([[[1.]]]), array([[[2.]]])]
    """
    return split(_with_axes("dsplit", ary, 3), indices_or_sections, 2)


def _with_axes(name: str, array: Like, ndim: int) -> Variable:
    x = itself(array)
    if x.ndim < ndim:
        raise ValueError(f"{name}: expected {ndim} or more axes, got shape {x.shape}")
    return x
