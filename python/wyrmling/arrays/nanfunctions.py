"""Functions that leave NaN out or replace it: NumPy's, for variables too.

Elements that are NaN have the gradient 0. Where there is nothing else the result is NaN, but for
sums and products, which are those of no elements.

Limit: medians and quantiles are length-specialised (see the package).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import Variable, constant, expand_dims, isnan, stack, where
from . import reductions
from .indexing import take
from .operand import Axis, Like, filling, ufunc_axes
from .output import finished
from .predicates import value
from .quantiles import CHOOSING, between, kind_of, neighbours, shares, sorted_lanes, taken, widened
from .reductions import computed_in, counted, extreme, mask_of, masked, starting, sum
from .roots import root
from .statistics import cumprod, cumsum, divisor, prod, variance


def _valid(name: str, x: Any, where_: Any = True) -> Any:
    """A mask of the elements that are no NaN, of those that are asked for."""
    mask = mask_of(name, where_)
    known = x == x
    return known if mask is None else _core.logical_and(known, mask)


def nansum(
    a: Like,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Variable | None = None,
    keepdims: bool = False,
    initial: Like | None = None,
    where: Any = True,
) -> Any:
    """Sum over axes of what is not NaN; the other arguments are those of ``numpy.nansum``.

    The result lacks the axes, or has them with length 1 if ``keepdims``. Raises
    ValueError if there is no such axis.

    >>> nansum([1.0, float("nan")]).item()
    1.0
    """
    x = computed_in("nansum", a, dtype)
    x = _core.where(x == x, x, 0.0)
    return sum(x, axis, out=out, keepdims=keepdims, initial=initial, where=where)


def nanprod(
    a: Like,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Variable | None = None,
    keepdims: bool = False,
    initial: Like | None = None,
    where: Any = True,
) -> Any:
    """Product over axes of what is not NaN; the other arguments are those of ``numpy.nanprod``.

    The result lacks the axes, or has them with length 1 if ``keepdims``. Raises
    ValueError if there is no such axis.

    >>> nanprod([2.0, float("nan"), 3.0]).item()
    6.0
    """
    x = computed_in("nanprod", a, dtype)
    x = _core.where(x == x, x, 1.0)
    return prod(x, axis, out=out, keepdims=keepdims, initial=initial, where=where)


def nancumsum(
    a: Like,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    out: Variable | None = None,
) -> Any:
    """Sums of the elements up to each, NaN as 0.

    Errors are those of ``cumsum``.

    >>> nancumsum([1.0, float("nan"), 2.0])
    array([1., 1., 3.])
    """
    x = computed_in("nancumsum", a, dtype)
    return cumsum(where(x == x, x, 0.0), axis, out=out)


def nancumprod(
    a: Like,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    out: Variable | None = None,
) -> Any:
    """Products of the elements up to each, NaN as 1.

    Errors are those of ``cumprod``.

    >>> nancumprod([2.0, float("nan"), 3.0])
    array([2., 2., 6.])
    """
    x = computed_in("nancumprod", a, dtype)
    return cumprod(where(x == x, x, 1.0), axis, out=out)


def nanmean(
    a: Like,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Variable | None = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Any:
    """Mean over axes of what is not NaN; NaN where there is nothing else.

    The result lacks the axes, or has them with length 1 if ``keepdims``. Raises
    ValueError if there is no such axis.

    >>> nanmean([1.0, 3.0, float("nan")]).item()
    2.0
    """
    x = computed_in("nanmean", a, dtype, averaged=True)
    result = reductions.mean(x, axis, keepdims=keepdims, where=_valid("nanmean", x, where))
    return finished("nanmean", result, out)


def nanvar(
    a: Like,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Variable | None = None,
    ddof: float = 0.0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Like | None = None,
    correction: float | None = None,
) -> Any:
    """Variance over axes of what is not NaN; NaN where no more than ``ddof`` elements are left.

    The result lacks the axes, or has them with length 1 if ``keepdims``. Raises
    ValueError if there is no such axis.

    >>> nanvar([1.0, 3.0, float("nan")]).item()
    1.0
    """
    x = computed_in("nanvar", a, dtype, averaged=True)
    less = divisor("nanvar", ddof, correction)
    return finished("nanvar", _nanvar("nanvar", x, axis, less, keepdims, where, mean), out)


def _nanvar(
    name: str, x: Any, axis: Axis, ddof: float, keepdims: bool, where_: Any, given: Any
) -> Any:
    mask = _valid(name, x, where_)
    axis = ufunc_axes(name, axis, x.ndim)
    found = variance(name, x, axis, ddof, keepdims, mask, given)
    return where(counted(mask, x, axis, keepdims) > ddof, found, np.nan)


def nanstd(
    a: Like,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Variable | None = None,
    ddof: float = 0.0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Like | None = None,
    correction: float | None = None,
) -> Any:
    """Standard deviation over axes of what is not NaN, with the gradient 0 where it is 0.

    The result lacks the axes, or has them with length 1 if ``keepdims``. Raises
    ValueError if there is no such axis.

    >>> nanstd([1.0, 3.0, float("nan")]).item()
    1.0
    """
    x = computed_in("nanstd", a, dtype, averaged=True)
    less = divisor("nanstd", ddof, correction)
    return finished("nanstd", root(_nanvar("nanstd", x, axis, less, keepdims, where, mean)), out)


def _nanextreme(
    name: str, a: Like, axis: Axis, out: Any, keepdims: bool, initial: Any, where_: Any
) -> Any:
    x = constant(a)
    asked = "nanmax" if name == "maximum" else "nanmin"
    mask = _valid(asked, x, where_)
    if mask_of(asked, where_) is not None and initial is None:
        raise ValueError(f"{asked}: where: initial must be given with it")
    # NaN becomes the number that every other one beats, one to start from too.
    worst = -np.inf if name == "maximum" else np.inf
    is_nan = initial is not None and bool(np.isnan(value(asked, starting(asked, initial, x))))
    start = worst if is_nan else initial
    found = extreme(name, masked(asked, mask, x, worst), axis, None, keepdims, start, True)
    if initial is None or is_nan:
        found = where(counted(mask, x, axis, keepdims) > 0, found, np.nan)
    return finished(asked, found, out)


def nanmax(
    a: Like,
    axis: Axis = None,
    out: Variable | None = None,
    keepdims: bool = False,
    initial: Like | None = None,
    where: Any = True,
) -> Any:
    """Largest element over axes that is not NaN; NaN where there is none.

    The result lacks the axes, or has them with length 1 if ``keepdims``. Raises
    ValueError for no elements, or if there is no such axis.

    >>> nanmax([1.0, float("nan"), 3.0]).item()
    3.0
    """
    return _nanextreme("maximum", a, axis, out, keepdims, initial, where)


def nanmin(
    a: Like,
    axis: Axis = None,
    out: Variable | None = None,
    keepdims: bool = False,
    initial: Like | None = None,
    where: Any = True,
) -> Any:
    """Smallest element over axes that is not NaN; NaN where there is none.

    The result lacks the axes, or has them with length 1 if ``keepdims``. Raises
    ValueError for no elements, or if there is no such axis.

    >>> nanmin([1.0, float("nan"), 3.0]).item()
    1.0
    """
    return _nanextreme("minimum", a, axis, out, keepdims, initial, where)


def _nanarg(name: str, a: Like, axis: int | None, out: Any, keepdims: bool) -> Any:
    x = constant(a)
    known = value(name, x)
    if np.isnan(known).all(axis).any():
        raise ValueError(f"{name}: a lane has no element that is a number (shape {x.shape})")
    found = getattr(np, name)(known, axis=axis, keepdims=keepdims)
    return finished(name, found, out)


def nanargmax(a: Like, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
    """The index of the largest element along an axis that is not NaN, a plain integer.

    Raises ValueError where all are NaN, TypeError for what follows an input.

    >>> int(nanargmax(Variable([1.0, np.nan, 3.0])))
    2
    """
    return _nanarg("nanargmax", a, axis, out, keepdims)


def nanargmin(a: Like, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
    """The index of the smallest element along an axis that is not NaN, a plain integer.

    Raises ValueError where all are NaN, TypeError for what follows an input.

    >>> int(nanargmin(Variable([1.0, np.nan, 3.0])))
    0
    """
    return _nanarg("nanargmin", a, axis, out, keepdims)


def _neighbours(share: float, number: Any, n: int, method: str) -> tuple[Any, Any, Any]:
    """Between which elements in order the quantile of so many lies, of ``n`` at most, and the share
    of the way from one to the other.
    """
    counts = np.arange(1, n + 1)
    if method in CHOOSING:
        each = [neighbours(np.asarray(share), k, method) for k in counts.tolist()]
        found = np.array(each, float).reshape(n, 3).T
    else:
        found = np.array(neighbours(share, counts, method), float)
    # Of no elements there are none.
    table = np.pad(found, ((0, 0), (1, 0))).astype(number.dtype)
    at = constant(number).astype(int)
    return take(table[0], at), take(table[1], at), take(table[2], at)


def _nanquantile(
    name: str,
    a: Like,
    q: Any,
    axis: Axis,
    out: Any,
    keepdims: bool,
    method: str = "linear",
    kind: Any = None,
    between: Callable[[Any, Any, Any], Any] = between,
) -> Any:
    """Quantiles of the elements of each lane that are no NaN, which come last in order."""
    ordered, axes, n = sorted_lanes(name, a, axis)
    if ordered.size == 0:
        # NumPy's answer, whatever is asked for, as long as there are no elements.
        a = constant(a)
        a = _core.fixed(a, name, tuple(range(a.ndim)))
        return finished(name, nanmean(a, axis, keepdims=keepdims), out)
    ordered = widened(ordered, kind)
    number = counted(ordered == ordered, ordered, -1)
    at = np.arange(n)
    values = where(ordered == ordered, ordered, 0.0)

    def element(place: Any) -> Any:
        # A mask picks the element: its place depends on how many elements are no NaN.
        return _core.sum(where(at == expand_dims(place, -1), values, 0.0), -1)

    def one(share: float) -> Any:
        below, above, way = _neighbours(share, number, n, method)
        found = element(below)
        if method not in CHOOSING:
            found = between(found, element(above), way)
        found = where(number > 0, found, np.nan)
        return expand_dims(found, axes) if keepdims else found

    parts = [one(share) for share in q.ravel().tolist()]
    if q.ndim == 0:
        return finished(name, parts[0], out)
    if not parts:
        return finished(name, constant(np.zeros((*q.shape, *one(0.0).shape), ordered.dtype)), out)
    found = stack(parts)
    found = _core.reshape(found, (*q.shape, *parts[0].shape)) if q.ndim > 1 else found
    return finished(name, found, out)


def nanmedian(
    a: Like,
    axis: Axis = None,
    out: Variable | None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """The middle of the elements in order over axes that are not NaN; NaN where there is none.

    The result lacks the axes, or has them with length 1 if ``keepdims``. Raises
    ValueError if there is no such axis.

    >>> nanmedian([3.0, float("nan"), 1.0, 10.0]).item()
    3.0
    """
    half = np.asarray(0.5)
    return _nanquantile("nanmedian", a, half, axis, out, keepdims, between=_middle)


def _middle(low: Any, high: Any, share: Any) -> Any:
    """The mean of the two elements in the middle, or the one that is there."""
    return where(share == 0.0, low, (low + high) / 2.0)


def nanquantile(
    a: Like,
    q: Any,
    axis: Axis = None,
    out: Variable | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: None = None,
) -> Any:
    """As ``quantile``, of the elements that are not NaN.

    Errors are those of ``quantile``.

    >>> nanquantile([1.0, float("nan"), 3.0], 0.5).item()
    2.0
    """
    places, kind = shares("nanquantile", q, 1, method, weights), kind_of(q, method)
    way = taken(q, method)
    return _nanquantile("nanquantile", a, places, axis, out, keepdims, way, kind)


def nanpercentile(
    a: Like,
    q: Any,
    axis: Axis = None,
    out: Variable | None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: None = None,
) -> Any:
    """As ``nanquantile``, by hundredths.

    Raises ValueError for a ``q`` outside of 0 to 100, and what ``quantile`` raises.

    >>> nanpercentile([1.0, float("nan"), 3.0], 50).item()
    2.0
    """
    places = shares("nanpercentile", q, 100, method, weights)
    return _nanquantile("nanpercentile", a, places, axis, out, keepdims, method, kind_of(q, method))


def nan_to_num(
    x: Like,
    copy: bool = True,
    nan: Like = 0.0,
    posinf: Like | None = None,
    neginf: Like | None = None,
) -> Variable:
    """Replace NaN by a number, and infinities by others, or the largest that the type has.

    What is replaced has the gradient 0. With ``copy=False`` it is replaced in ``x`` itself, as by
    ``x[...] = y``. Raises ValueError for numbers that do not broadcast to ``x``.

    >>> nan_to_num([1.0, np.nan, -np.inf], neginf=-5.0)
    array([ 1.,  0., -5.])
    """
    given, x = x, constant(x)
    filling("nan_to_num: nan", nan, x.shape)
    for name, other in (("posinf", posinf), ("neginf", neginf)):
        if other is not None:
            filling(f"nan_to_num: {name}", other, x.shape)
    largest = float(np.finfo(x.dtype).max)
    y = where(isnan(x), nan, x)
    y = where(x == np.inf, largest if posinf is None else posinf, y)
    y = where(x == -np.inf, -largest if neginf is None else neginf, y)
    y = y if y.dtype == x.dtype else y.astype(x.dtype)
    return y if copy else finished("nan_to_num", y, given)
