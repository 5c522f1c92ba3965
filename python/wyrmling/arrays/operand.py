"""Arguments of the array functions: operands as variables, types that meet, axes, integers."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from itertools import islice, zip_longest
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

from .._core import Variable, constant, reshape
from ..plain import MOST_ITEMS

Like: TypeAlias = Variable | npt.ArrayLike
Axis: TypeAlias = int | Sequence[int] | None
Array: TypeAlias = npt.NDArray[Any]

ALL = slice(None)


def itself(a: Like) -> Variable:
    """A variable itself, of which views can be taken, anything else as a constant.

    ``constant`` gives a variable another name, under which nothing that is assigned is seen.
    """
    return a if isinstance(a, Variable) else constant(a)


# Types of which NumPy makes float32 beside float32, where a constant is float64.
_SMALL = tuple(map(np.dtype, (bool, np.int8, np.uint8, np.int16, np.uint16)))
# Arguments that are no operands.
_SETTINGS = {
    *("axes", "axis", "axisa", "axisb", "axisc", "n", "num", "endpoint", "retstep", "returned"),
    "condlist",
    *("keepdims", "dtype", "optimize", "out", "where"),
}
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _kinds(operands: Sequence[Any], depth: int = 4) -> set[Any]:
    """The element types of arrays and booleans among operands, and in lists of them, whatever the
    order of their bytes.
    """
    found = set()
    for x in operands:
        if isinstance(x, list | tuple):
            found |= _kinds(x, depth - 1) if depth else set()
        elif isinstance(x, bool | Variable | np.ndarray | np.generic):
            found.add(np.dtype(bool) if isinstance(x, bool) else x.dtype.newbyteorder("="))
    return found


def of_one_type(function: _Function) -> _Function:
    """A function that makes constants of its operands, of which those of small integers and
    booleans do not widen float32.
    """
    places = inspect.signature(function).parameters.values()
    names = [x.name for x in places if x.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        # Arguments beyond the names are those of ``*args``: operands.
        given = [*zip_longest(names[: len(args)], args), *kwargs.items()]
        kinds = _kinds([x for name, x in given if name not in _SETTINGS])
        single = np.dtype(np.float32)
        if single not in kinds or kinds == {single} or not kinds <= {single, *_SMALL}:
            return function(*args, **kwargs)
        found = [x if name in _SETTINGS else in_single(x) for name, x in given]
        return function(*found[: len(args)], **dict(zip(kwargs, found[len(args) :], strict=True)))

    return cast(_Function, called)


def is_weak(value: Any) -> bool:
    """Whether this is a number of Python: it has no element type of its own (NEP 50: weak)."""
    return type(value) in (bool, int, float)


def in_single(x: Any) -> Any:
    """Small integers and booleans in float32, also those in a list or tuple; others as they are."""
    plain = isinstance(x, bool | np.ndarray | np.generic)
    if plain and np.asarray(x).dtype.newbyteorder("=") in _SMALL:
        return np.asarray(x, np.float32)[()]
    return type(x)(map(in_single, x)) if type(x) in (list, tuple) else x


def integer(what: str, value: Any) -> int:
    """An integer. Raises TypeError for anything else, booleans among it."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise TypeError(f"{what}: expected an integer, got {value!r}")


def count(what: str, value: Any) -> int:
    """An integer from 0 on. Raises TypeError for what is no integer, ValueError for one below 0."""
    number = integer(what, value)
    if number < 0:
        raise ValueError(f"{what}: expected 0 or more, got {number}")
    return number


def integers(what: str, value: Any) -> list[int]:
    """One integer, or those of a sequence or array. Raises TypeError for anything else."""
    if isinstance(value, Sequence) and not isinstance(value, list | tuple | str | bytes):
        value = list(islice(value, MOST_ITEMS + 1))
        if len(value) > MOST_ITEMS:
            raise ValueError(f"{what}: expected {MOST_ITEMS} integers at most, got more")
    items = np.asarray(value, object)
    try:
        if items.ndim < 2:
            return [integer(what, item) for item in items.ravel().tolist()]
    except TypeError:
        pass
    raise TypeError(f"{what}: expected an integer or several, got {value!r}")


def numbers(what: str, value: Like) -> Variable:
    """A variable as it is, anything else as a constant. Raises TypeError for what is no number."""
    try:
        return constant(value)
    except TypeError as error:
        raise TypeError(f"{what}: {str(error).removeprefix('x: ')}") from None


def filling(what: str, value: Like, shape: tuple[int, ...]) -> None:
    """Raises TypeError for what is no number, ValueError for what does not broadcast to a shape."""
    found = numbers(what, value).shape
    padded = (1,) * (len(shape) - len(found)) + found
    if len(padded) > len(shape) or any(n not in (1, m) for n, m in zip(padded, shape, strict=True)):
        raise ValueError(f"{what}: shape {found} does not broadcast to {shape}")


def axis_of(name: str, axis: int, ndim: int) -> int:
    """An axis counted from the start. Raises ValueError if there is none, or TypeError."""
    axis = integer(f"{name}: axis", axis)
    if not -ndim <= axis < ndim:
        # NumPy's error, a ValueError and an IndexError.
        raise np.exceptions.AxisError(
            f"{name}: axis {axis} is out of range for an array of {ndim} dimension(s)"
        )
    return axis % ndim


def axes_of(name: str, axis: Axis, ndim: int) -> tuple[int, ...]:
    """Axes counted from the start, all of them for None. Raises ValueError if one is twice."""
    if axis is None:
        return tuple(range(ndim))
    axes = tuple(axis_of(name, k, ndim) for k in integers(f"{name}: axis", axis))
    if len(set(axes)) < len(axes):
        raise ValueError(f"{name}: an axis is given twice in {axis}")
    return axes


def reduced_axes(name: str, axis: Axis, ndim: int) -> tuple[int, ...]:
    """As ``axes_of``, for functions that NumPy gives axes in a tuple alone: raises TypeError for a
    list or an array of them.
    """
    given: Any = axis
    if isinstance(given, list) or (isinstance(given, np.ndarray) and given.ndim):
        raise TypeError(f"{name}: axis: expected an integer or a tuple of integers, got {axis!r}")
    return axes_of(name, axis, ndim)


def is_axis_of_number(axis: Any) -> bool:
    """Whether an axis is 0 or -1: a number has none, but functions of NumPy's take these."""
    try:
        return not isinstance(axis, bool) and operator.index(axis) in (0, -1)
    except TypeError:
        return False


def only_axis(name: str, axis: Any, ndim: int) -> Any:
    """The one axis that ``numpy.ufunc.accumulate`` goes along: it may be in a tuple, and None is
    that of a vector. Raises ValueError for several axes, or none.
    """
    if axis is not None and not isinstance(axis, tuple):
        return axis
    axes = axes_of(name, axis, ndim)
    if len(axes) != 1:
        raise ValueError(f"{name}: axis: expected one axis, got {axis} of {ndim}")
    return axes[0]


def ufunc_axes(name: str, axis: Axis, ndim: int) -> tuple[int, ...]:
    """As ``reduced_axes``, for reductions by ``numpy.ufunc.reduce``: of a number the axis 0 or -1
    is none.
    """
    number = ndim == 0 and is_axis_of_number(axis)
    return () if number else reduced_axes(name, axis, ndim)


def lanes(name: str, x: Variable, axis: int | None) -> tuple[Variable, int]:
    """An array and an axis of it, of the flattened array for None. A number is flattened too, for
    its axis 0 or -1, as in NumPy's C functions (``PyArray_CheckAxis``).
    """
    if axis is None or (x.ndim == 0 and is_axis_of_number(axis)):
        return reshape(x, -1), 0
    return x, axis_of(name, axis, x.ndim)


def truth(what: str, value: Any) -> bool:
    """Of True, False, or an integer that is 0 or not. Raises TypeError for anything else."""
    if not isinstance(value, bool | np.bool_ | int | np.integer):
        raise TypeError(f"{what}: expected True or False, got {value!r}")
    return bool(value)


def along(axis: int, item: Any) -> tuple[Any, ...]:
    """The key that is ``item`` along an axis and takes the axes before it whole."""
    return (ALL,) * axis + (item,)


def plain(x: Any) -> Any:
    """The value of a variable, or of those in a tuple, list or dict; anything else as it is."""
    if isinstance(x, Variable):
        return x.value
    if isinstance(x, tuple | list):
        return type(x)(plain(item) for item in x) if type(x) in (tuple, list) else x
    if isinstance(x, dict):
        return {key: plain(item) for key, item in x.items()}
    return x
