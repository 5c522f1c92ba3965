"""Sum, mean, largest and smallest element with all of NumPy's arguments.

``dtype`` is the type in which is computed, ``where`` a mask of the elements that count, ``initial``
what the result starts from, and ``out`` a variable that was computed, which stands for the result
afterwards as after an assignment; a plain array cannot take what is differentiated. The functions
of ``wyrmling`` of the same names have none of them and are called where none is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import Variable, broadcast_like, concatenate, constant, shaped_like
from .operand import Axis, Like, numbers, ufunc_axes
from .output import finished
from .shaping import astype


def mask_of(name: str, where: Any) -> Any:
    """A mask for ``where``, or None for all elements. Raises TypeError if it is none."""
    if where is True:
        return None
    if isinstance(where, Variable):
        return where
    mask = np.asarray(where)
    if mask.dtype != bool:
        raise TypeError(f"{name}: where: expected booleans, got {mask.dtype}")
    return mask


def read_where(mask: Any, x: Any) -> Any:
    """An operand that has no gradient by the elements of which nothing is computed: there, the
    derivative of the function may be infinite or NaN, which times zero is NaN.
    """
    if not isinstance(x, Variable) or x.dtype.kind != "f":
        return x
    return _core.where(mask, x, _core.stop_gradient(x))


def cast_to(name: str, x: Like, dtype: npt.DTypeLike | None) -> Any:
    """Elements of a type, if one is given. Raises TypeError for what no variable holds."""
    if dtype is None:
        return constant(x)
    try:
        return astype(x, dtype)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None


def as_type(name: str, x: Any, dtype: Any, casting: Any = "same_kind") -> Any:
    """An operand in the type in which is computed. Raises TypeError if ``casting`` forbids it."""
    found = cast_to(name, x, dtype)
    kind = getattr(x, "dtype", constant(x).dtype)
    if dtype is not None and not np.can_cast(kind, found.dtype, casting):
        raise TypeError(f"{name}: dtype: {kind} cannot be computed in as {np.dtype(dtype)}")
    return found


def computed_in(name: str, x: Like, dtype: npt.DTypeLike | None, *, averaged: bool = False) -> Any:
    """The elements in the type in which a reduction computes.

    Raises TypeError for a type of integers or booleans, in which NumPy rounds every step, unless
    the elements have one themselves and are only added or multiplied; NumPy's sum of booleans in
    booleans is no number, so it is refused too.
    """
    if dtype is None or not isinstance(x, Variable) or (kind := np.dtype(dtype).kind) not in "biu":
        return cast_to(name, x, dtype)
    is_integer = x.dtype.kind in "iu" or _core.is_boolean(x)
    if averaged or kind == "b" or not is_integer:
        raise TypeError(
            f"{name}: dtype: expected float32 or float64, got {np.dtype(dtype)}, in which "
            "nothing is differentiated; give the variable's .value"
        )
    return cast_to(name, x, dtype)


def starting(name: str, initial: Any, x: Any) -> Any:
    """What the result of reducing ``x`` starts from: one number, which does not widen float32.
    Raises ValueError for several, else TypeError.
    """
    if numbers(f"{name}: initial", initial).ndim:
        raise ValueError(f"{name}: initial: expected one number, got shape {np.shape(initial)}")
    if isinstance(initial, Variable):
        return astype(initial, x.dtype) if x.dtype == np.float32 else initial
    return np.asarray(initial).item()


def masked(name: str, mask: Any, x: Any, other: Any) -> Any:
    """The elements that a mask takes, and another number for the rest.

    Raises ValueError for a mask that does not broadcast to their shape.
    """
    shape = np.shape(mask)
    padded = (1,) * (x.ndim - len(shape)) + shape
    if len(padded) > x.ndim or any(n not in (1, m) for n, m in zip(padded, x.shape, strict=True)):
        raise ValueError(f"{name}: where: shape {shape} does not broadcast to {x.shape}")
    if x.dtype.kind in "biu" and not isinstance(other, Variable) and float(other).is_integer():
        other = x.dtype.type(other)
    # It raises if an input later gets a length that the mask would broadcast up.
    return shaped_like(_core.where(mask, x, other), x)


def sum(
    a: Like,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Variable | None = None,
    keepdims: bool = False,
    initial: Like | None = None,
    where: Any = True,
) -> Any:
    """Sum over axes, of the elements that ``where`` says, plus ``initial``.

    >>> sum([1.0, 2.0, 4.0], where=np.array([True, False, True]), initial=10.0).item()
    15.0
    """
    if dtype is None and out is None and initial is None and where is True:
        return _core.sum(a, axis, keepdims)
    x = computed_in("sum", a, dtype)
    if (mask := mask_of("sum", where)) is not None:
        x = masked("sum", mask, x, 0.0)
    result = _core.sum(x, axis, keepdims)
    result = result if initial is None else result + starting("sum", initial, x)
    return finished("sum", result, out)


def counted(mask: Any, x: Any, axis: Axis, keepdims: bool = False) -> Any:
    """How many elements of ``x`` a mask takes, over axes."""
    ones = broadcast_like(np.ones((), x.dtype), x)
    return _core.sum(masked("where", mask, ones, 0.0), axis, keepdims)


def mean(
    a: Like,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Variable | None = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Any:
    """Mean over axes, of the elements that ``where`` says.

    >>> mean([1.0, 2.0, 4.0], where=np.array([True, False, True])).item()
    2.5
    """
    if dtype is None and out is None and where is True:
        return _core.mean(a, axis, keepdims)
    x = computed_in("mean", a, dtype, averaged=True)
    if (mask := mask_of("mean", where)) is None:
        return finished("mean", _core.mean(x, axis, keepdims), out)
    total = _core.sum(masked("mean", mask, x, 0.0), axis, keepdims)
    return finished("mean", total / counted(mask, x, axis, keepdims), out)


def extreme(
    name: str, a: Like, axis: Axis, out: Any, keepdims: bool, initial: Any, where: Any
) -> Any:
    """The largest or smallest element, by the name of the ufunc of two."""
    x = constant(a)
    reduce: Callable[..., Any] = _core.max if name == "maximum" else _core.min
    pair: Callable[..., Any] = _core.maximum if name == "maximum" else _core.minimum
    asked = "max" if name == "maximum" else "min"
    mask = mask_of(asked, where)
    if initial is None:
        if mask is not None:
            raise ValueError(
                f"{asked}: where: the {name} of no elements is not defined, so initial must be "
                "given with it"
            )
        return finished(asked, reduce(x, axis, keepdims), out)
    initial = starting(asked, initial, x)
    if mask is not None:
        x = masked(asked, mask, x, initial)
    axes = ufunc_axes(asked, axis, x.ndim)
    for k in axes:
        if x.shape[k] == 0:
            # An empty lane gets one element, `initial`.
            x = concatenate([broadcast_like(initial, _core.sum(x, k, keepdims=True)), x], k)
    result = pair(reduce(x, axes, keepdims) if axes else x, initial)
    return finished(asked, result, out)


def max(
    a: Like,
    axis: Axis = None,
    out: Variable | None = None,
    keepdims: bool = False,
    initial: Like | None = None,
    where: Any = True,
) -> Any:
    """Largest element over axes and ``initial``, of those that ``where`` says.

    >>> max([1.0, 5.0, 2.0], initial=3.0, where=np.array([True, False, True])).item()
    3.0
    """
    if out is None and initial is None and where is True:
        return _core.max(a, axis, keepdims)
    return extreme("maximum", a, axis, out, keepdims, initial, where)


def min(
    a: Like,
    axis: Axis = None,
    out: Variable | None = None,
    keepdims: bool = False,
    initial: Like | None = None,
    where: Any = True,
) -> Any:
    """Smallest element over axes and ``initial``, of those that ``where`` says.

    >>> min([4.0, 1.0], initial=3.0, where=np.array([True, False])).item()
    3.0
    """
    if out is None and initial is None and where is True:
        return _core.min(a, axis, keepdims)
    return extreme("minimum", a, axis, out, keepdims, initial, where)
