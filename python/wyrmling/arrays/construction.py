"""Arrays made of numbers: filled with one, like another array, spaced along an axis, or powers.

``numpy.full`` converts what it is given to a plain array, without a call of
``__array_function__``, so that a variable raises TypeError; that of ``wyrmling`` takes one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import (
    Variable,
    broadcast_like,
    broadcast_to,
    concatenate,
    constant,
    expand_dims,
    fixed,
    stack,
)
from .operand import (
    Like,
    count,
    filling,
    integers,
    is_weak,
    numbers,
    of_one_type,
)
from .shaping import astype, broadcast_arrays, copy, memory_layout, moveaxis


def full(
    shape: int | Sequence[int],
    fill_value: Like,
    dtype: npt.DTypeLike | None = None,
    order: Literal["C", "F"] = "C",
    *,
    device: Literal["cpu"] | None = None,
    like: Any = None,
) -> Any:
    """An array of one value, which may be a variable, or of what broadcasts to the shape.

    Its elements can be assigned. Of an element type that no variable holds, such as complex
    numbers, it is a plain array; raises TypeError if ``fill_value`` is a variable then. ``order``
    says how NumPy lays an array out in memory, and means nothing for a variable, as ``device`` and
    ``like``.

    >>> full(2, Variable(3.0)).value
    array([3., 3.])
    """
    lengths = integers("full: shape", shape)
    if order not in ("C", "F"):
        raise ValueError(f"full: order: expected 'C' or 'F', got {order!r}")
    if not isinstance(fill_value, Variable):
        found = np.dtype(dtype) if dtype is not None else None
        if found is not None and found not in (np.float32, np.float64):
            return np.full(lengths, fill_value, found)
    filling("full: fill_value", fill_value, tuple(lengths))
    value = constant(fill_value) if dtype is None else astype(fill_value, dtype)
    return copy(broadcast_to(value, lengths))


def full_like(
    a: Like,
    fill_value: Like,
    dtype: npt.DTypeLike | None = None,
    order: Literal["K", "A", "C", "F"] = "K",
    subok: bool = True,
    shape: int | Sequence[int] | None = None,
    *,
    device: Literal["cpu"] | None = None,
) -> Any:
    """One value throughout an array's shape, as a variable whose elements can be assigned.

    The shape follows that of ``a``, if it is a variable and no other is given. Of an element type
    that no variable holds, such as integers, it is a plain array; raises TypeError if
    ``fill_value`` is a variable then. Integers and booleans like what follows an input follow its
    length, and other types raise TypeError there. ``order``, ``subok`` and ``device`` change
    nothing.

    >>> full_like(Variable([1.0, 2.0]), 3.0).value
    array([3., 3.])
    >>> full_like(Variable([1.0, 2.0]), 3.0, dtype=int)
    array([3, 3])
    """
    memory_layout("full_like", order, device)
    if dtype is None:
        dtype = a.dtype if isinstance(a, Variable) else np.asarray(a).dtype
    kind = np.dtype(dtype)
    if kind.kind == "f":
        filling("full_like: fill_value", fill_value, _lengths(a, shape))
    if isinstance(fill_value, Variable):
        filled: Like = astype(fill_value, kind)
    elif kind in (np.float32, np.float64):
        filled = np.asarray(fill_value, kind)
    elif shape is None and isinstance(a, Variable) and _core.follows_input(a):
        return _discrete_like(a, np.full((), fill_value, kind))
    else:
        return np.full(_lengths(a, shape), fill_value, kind)
    if shape is None and isinstance(a, Variable):
        return copy(broadcast_like(filled, a))
    return copy(broadcast_to(filled, _lengths(a, shape)))


def _discrete_like(a: Variable, value: Any) -> Any:
    """An integer or boolean throughout the shape of what follows an input."""
    if value.dtype.kind not in "iub":
        raise TypeError(
            f"full_like: {value.dtype} is no type of what follows an input; use "
            "np.full_like(x.value, ...), which is a constant"
        )
    filled = broadcast_like(value.astype(np.float64), a)
    return _core.not_equal(filled, 0) if value.dtype.kind == "b" else _core.whole(filled)


def _lengths(a: Like, shape: int | Sequence[int] | None) -> tuple[int, ...]:
    """A shape that is given, or else that of an array."""
    return np.shape(a) if shape is None else tuple(integers("shape", shape))


def zeros_like(
    a: Like,
    dtype: npt.DTypeLike | None = None,
    order: Literal["K", "A", "C", "F"] = "K",
    subok: bool = True,
    shape: int | Sequence[int] | None = None,
    *,
    device: Literal["cpu"] | None = None,
) -> Any:
    """Zeros of an array's shape and element type; see ``full_like``.

    Errors are those of ``full_like``.

    >>> x = Variable([1.0, 2.0])
    >>> y = zeros_like(x)
    >>> y[1] = x[0] * 5.0
    >>> y.value
    array([0., 5.])
    """
    return full_like(a, 0.0, dtype, order, shape=shape, device=device)


def ones_like(
    a: Like,
    dtype: npt.DTypeLike | None = None,
    order: Literal["K", "A", "C", "F"] = "K",
    subok: bool = True,
    shape: int | Sequence[int] | None = None,
    *,
    device: Literal["cpu"] | None = None,
) -> Any:
    """Ones of an array's shape and element type; see ``full_like``.

    Errors are those of ``full_like``.

    >>> ones_like(Variable([1.0, 2.0])).value
    array([1., 1.])
    """
    return full_like(a, 1.0, dtype, order, shape=shape, device=device)


def empty_like(
    prototype: Like,
    dtype: npt.DTypeLike | None = None,
    order: Literal["K", "A", "C", "F"] = "K",
    subok: bool = True,
    shape: int | Sequence[int] | None = None,
    *,
    device: Literal["cpu"] | None = None,
) -> Any:
    """An array of an array's shape and element type, of zeros too; see ``full_like``.

    Errors are those of ``full_like``.

    >>> empty_like(Variable([1.0, 2.0])).shape
    (2,)
    """
    return zeros_like(prototype, dtype, order, shape=shape, device=device)


def _ends(name: str, start: Like, stop: Like, *more: tuple[str, Like]) -> tuple[Variable, ...]:
    """Numbers in their common shape and type; a number of Python takes the type of the others."""
    given = [("start", start), ("stop", stop), *more]
    found = [numbers(f"{name}: {what}", value) for what, value in given]
    typed = [x.dtype for (_, value), x in zip(given, found, strict=True) if not is_weak(value)]
    kind = np.result_type(*typed) if typed else np.dtype(float)
    return broadcast_arrays(*(x if x.dtype == kind else astype(x, kind) for x in found))


@of_one_type
def linspace(
    start: Like,
    stop: Like,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: npt.DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Literal["cpu"] | None = None,
) -> Any:
    """``num`` numbers at equal distances, from ``start`` to ``stop``, along a new axis; with
    ``retstep`` also the distance.

    Raises ValueError for a ``num`` below 0, or ends whose shapes do not fit together.

    >>> linspace(0.0, Variable(1.0), 3).value
    array([0. , 0.5, 1. ])
    """
    num = count("linspace: num", num)
    if retstep not in (True, False):
        raise TypeError(f"linspace: retstep: expected True or False, got {retstep!r}")
    first, last = _ends("linspace", start, stop)
    gaps = num - 1 if endpoint else num
    span = last - first
    step: Any = span / float(gaps) if gaps > 0 else span * np.nan
    # As NumPy computes them: steps from the first, and the last itself.
    places = np.arange(num, dtype=first.dtype).reshape(num, *[1] * first.ndim)
    points = expand_dims(first, 0) + places * expand_dims(step if gaps > 0 else span, 0)
    if endpoint and num > 1:
        points = concatenate([points[:-1], expand_dims(last, 0)], 0)
    points = moveaxis(points if dtype is None else astype(points, dtype), 0, axis)
    return (points, step) if retstep else points


@of_one_type
def logspace(
    start: Like,
    stop: Like,
    num: int = 50,
    endpoint: bool = True,
    base: Like = 10.0,
    dtype: npt.DTypeLike | None = None,
    axis: int = 0,
) -> Any:
    """``base`` to the powers that ``linspace`` gives from ``start`` to ``stop``.

    Errors are those of ``linspace``.

    >>> logspace(0.0, Variable(2.0), 3).value
    array([  1.,  10., 100.])
    """
    if np.ndim(base):
        # NumPy makes arrays of numbers then, which have an element type.
        start, stop = (np.asarray(end, float) if is_weak(end) else end for end in (start, stop))
    first, last, power = _ends("logspace", start, stop, ("base", base))
    points = expand_dims(power, axis) ** linspace(first, last, num, endpoint, axis=axis)
    return points if dtype is None else astype(points, dtype)


def geomspace(
    start: Like,
    stop: Like,
    num: int = 50,
    endpoint: bool = True,
    dtype: npt.DTypeLike | None = None,
    axis: int = 0,
) -> Any:
    """``num`` numbers of equal ratios, from ``start`` to ``stop``, both of one sign; in float64
    unless ``dtype`` is given, as NumPy's.

    Raises ValueError if one is zero; of different signs the numbers between them are NaN.

    >>> geomspace(1.0, Variable(100.0), 3).value
    array([  1.,  10., 100.])
    """
    start, stop = (np.asarray(end, float) if is_weak(end) else end for end in (start, stop))
    first, last = _ends("geomspace", start, stop)
    for name, end in (("start", first), ("stop", last)):
        if not np.all(end.value):
            raise ValueError(f"geomspace: {name}: expected numbers that are not zero, got 0")
    num = count("geomspace: num", num)
    # As NumPy computes them: powers of ten between the logarithms of positive ends, with the sign
    # of the first outside, and the ends themselves. Where the signs differ the numbers between are
    # NaN. It computes in float64, whatever the ends are.
    first, last = (x if x.dtype == float else astype(x, float) for x in (first, last))
    sign = _core.sign(first)
    powers = linspace(_core.log10(first * sign), _core.log10(last * sign), num, endpoint)
    points = constant(10.0) ** powers * expand_dims(sign, 0)
    if num > 0:
        behind = [expand_dims(last * sign * sign, 0)] if endpoint and num > 1 else []
        inner = points[1 : num - len(behind)]
        points = concatenate([expand_dims(first, 0), inner, *behind], 0)
    points = moveaxis(points, 0, axis)
    return points if dtype is None else astype(points, dtype)


def vander(x: Like, N: int | None = None, increasing: bool = False) -> Variable:
    """The powers of a vector's elements as columns, ``N`` of them, the highest first.

    Without ``N`` there are as many as elements, and the length cannot change later. Raises
    ValueError unless ``x`` is a vector, MemoryError if there is not the memory.

    >>> vander([2.0, 3.0], 3)
    array([[4., 2., 1.],
           [9., 3., 1.]])
    """
    # In float64, as NumPy's, which multiplies by integers.
    base = astype(x, float)
    if base.ndim != 1:
        raise ValueError(f"vander: x: expected one axis, got shape {base.shape}")
    if N is None:
        base = fixed(base, "vander", 0)
    columns = base.shape[0] if N is None else count("vander: N", N)
    # NumPy's errors for a table that there is no memory for, before the powers are computed.
    np.empty((int(base.shape[0]), columns), base.dtype)
    if columns == 0:
        return expand_dims(base, 1)[:, :0]
    powers = [broadcast_like(constant(np.ones((), base.dtype)), base)]
    while len(powers) < columns:
        powers.append(powers[-1] * base)
    return stack(powers if increasing else powers[::-1], 1)
