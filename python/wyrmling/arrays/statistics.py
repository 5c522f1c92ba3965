"""Running sums and products, moments and quantiles: NumPy's functions, for variables too.

Products are trees of products of two, so that their gradients are right where elements are
zero. They and quantiles compute with lengths: they hold for arrays of the same length only, and
an input that gets another one raises ValueError.
"""

from typing import Any

import numpy as np

from .. import _core
from .._core import (
    Variable,
    concatenate,
    constant,
    count,
    expand_dims,
    fixed,
    mean,
    merge_axes,
    reshape,
    split_axis,
    square,
    squeeze,
    where,
)
from .indexing import take
from .operand import Array, Axis, Like, along, axes_of, axis_of, integer
from .ordering import sort
from .roots import root
from .shaping import moveaxis


def cumsum(a: Like, axis: int | None = None) -> Variable:
    """Sums of the elements up to each, along an axis or of the flattened array.

    >>> cumsum([1.0, 2.0, 3.0]).value
    array([1., 3., 6.])
    """
    return _core.cumsum(reshape(a, -1), 0) if axis is None else _core.cumsum(a, axis)


def cumprod(a: Like, axis: int | None = None) -> Variable:
    """Products of the elements up to each, along an axis or of the flattened array.

    >>> cumprod([1.0, 2.0, 3.0]).value
    array([1., 2., 6.])
    """
    x = reshape(a, -1) if axis is None else constant(a)
    axis = axis_of("cumprod", 0 if axis is None else axis, x.ndim)
    x = fixed(x, "cumprod", axis)
    # Products of 1, 2, 4, … elements up to each (Hillis and Steele, 1986).
    reach, n = 1, x.shape[axis]
    while reach < n:
        more = x[along(axis, slice(reach, None))] * x[along(axis, slice(None, -reach))]
        x = concatenate([x[along(axis, slice(reach))], more], axis)
        reach *= 2
    return x


def _product(x: Variable, axis: int) -> Variable:
    """Products along an axis, which is kept with length 1."""
    n = x.shape[axis]
    x = fixed(x, "prod", axis)
    if n == 0:
        return _core.sum(x, axis, keepdims=True) + 1.0
    while n > 1:
        half = n // 2
        pairs = x[along(axis, slice(half))] * x[along(axis, slice(half, 2 * half))]
        if n % 2:
            pairs = concatenate([pairs, x[along(axis, slice(n - 1, n))]], axis)
        x, n = pairs, n - half
    return x


def prod(a: Like, axis: Axis = None, *, keepdims: bool = False) -> Variable:
    """Product over axes: all of them, one, or a tuple of several.

    >>> prod([[1.0, 2.0], [3.0, 4.0]], axis=0).value
    array([3., 8.])
    >>> x = Variable([0.0, 2.0, 3.0])
    >>> prod(x).backward()
    >>> x.grad
    array([6., 0., 0.])
    """
    x = constant(a)
    axes = axes_of("prod", axis, x.ndim)
    for k in axes:
        x = _product(x, k)
    return x if keepdims or not axes else squeeze(x, axes)


def var(a: Like, axis: Axis = None, *, ddof: float = 0.0, keepdims: bool = False) -> Variable:
    """Variance over axes: the mean squared distance from the mean, its divisor less ``ddof``.

    >>> var([1.0, 2.0, 3.0, 4.0]).item()
    1.25
    """
    return _variance("var", a, axis, ddof, keepdims)


def _variance(name: str, a: Like, axis: Axis, ddof: Any, keepdims: bool) -> Variable:
    x = constant(a)
    axes = axes_of(name, axis, x.ndim)
    if isinstance(ddof, Variable) or np.ndim(ddof) or np.asarray(ddof).dtype.kind not in "biuf":
        raise TypeError(f"{name}: ddof: expected one number, got {ddof!r}")
    squares = square(x - mean(x, axes, keepdims=True))
    if ddof == 0:
        return mean(squares, axes, keepdims)
    left = _core.maximum(count(x, sorted(axes)) - ddof, 0.0)
    return _core.sum(squares, axes, keepdims) / left


def std(a: Like, axis: Axis = None, *, ddof: float = 0.0, keepdims: bool = False) -> Variable:
    """Standard deviation over axes, the root of the variance.

    Where all elements are equal it has no derivative; its gradient is 0 there, a subgradient, as
    that of ``linalg.norm`` is at zero.

    >>> std([1.0, 3.0]).item()
    1.0
    >>> x = Variable([2.0, 2.0])
    >>> std(x).backward()
    >>> x.grad
    array([0., 0.])
    """
    return root(_variance("std", a, axis, ddof, keepdims))


def average(
    a: Like,
    axis: int | None = None,
    weights: Like | None = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """The mean over an axis, each element counted by its weight; with ``returned`` also their sum.

    ``weights`` has the shape of ``a``, or is a vector along the axis.

    >>> average([1.0, 4.0], weights=[2.0, 1.0]).item()
    2.0
    """
    x = constant(a)
    # One for each element, whatever the length.
    each = constant(weights) if weights is not None else _core.broadcast_like(1.0, x)
    if each.shape == x.shape:
        each = _core.reshape_like(each, x)
    else:
        if axis is None or each.ndim != 1:
            raise ValueError(
                f"weights: expected shape {x.shape}, or a vector along an axis; got {each.shape}"
            )
        behind = x.ndim - 1 - axis_of("average", axis, x.ndim)
        if each.shape[0] != x.shape[x.ndim - 1 - behind]:
            raise ValueError(
                f"weights: a vector of {each.shape[0]} does not fit axis {axis} of {x.shape}"
            )
        each = _core.broadcast_like(expand_dims(each, tuple(range(1, 1 + behind))), x)
    total = _core.sum(each, axis, keepdims)
    result = _core.sum(x * each, axis, keepdims) / total
    return (result, total) if returned else result


def ptp(a: Like, axis: Axis = None, *, keepdims: bool = False) -> Variable:
    """The largest element less the smallest, over axes.

    >>> ptp([1.0, 5.0, 2.0]).item()
    4.0
    """
    x = constant(a)
    return _core.max(x, axis, keepdims) - _core.min(x, axis, keepdims)


def _sorted(name: str, a: Like, axis: Axis) -> tuple[Variable, tuple[int, ...], int]:
    """The elements over some axes in order along a last one; those axes, and its length."""
    x = constant(a)
    axes = tuple(sorted(axes_of(name, axis, x.ndim)))
    kept = x.ndim - len(axes)
    lanes = merge_axes(moveaxis(x, axes, tuple(range(kept, x.ndim))), kept, len(axes))
    return fixed(sort(lanes), name, -1), axes, lanes.shape[-1]


def _unless_nan(result: Variable, ordered: Variable) -> Variable:
    """The result, or NaN for lanes that end with one."""
    last = ordered[..., -1]
    return where(last == last, result, last)


def median(a: Like, axis: Axis = None, *, keepdims: bool = False) -> Variable:
    """The middle of the elements in order over axes, the mean of the two in the middle.

    Of no elements it is NaN.

    >>> median([3.0, 1.0, 2.0, 10.0]).item()
    2.5
    """
    ordered, axes, n = _sorted("median", a, axis)
    # One element in the middle, or two; the mean of none is NaN.
    first = max(n - 1, 0) // 2
    middle = mean(ordered[..., first : n // 2 + 1], -1)
    middle = _unless_nan(middle, ordered) if n else middle
    return expand_dims(middle, axes) if keepdims else middle


def _shares(name: str, q: Any, whole: float) -> Array:
    """What is asked of quantiles, from 0 to ``whole``, as shares."""
    expected = f"{name}: q: expected numbers from 0 to {whole:g}, got"
    if isinstance(q, Variable):
        raise TypeError(f"{expected} a variable; no gradient passes through it, so give its value")
    given = np.asarray(q)
    if given.dtype.kind not in "biuf":
        raise TypeError(f"{expected} {q!r}")
    shares: Array = given.astype(float) / whole
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(f"{expected} {q!r}")
    return shares


def quantile(
    a: Like, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Variable:
    """Where a share ``q`` of the elements lies below, interpolated between the two nearest.

    ``q`` is a number from 0 to 1 or an array of them, whose axes come first in the result.
    Raises ValueError for others, for no elements, and for a ``method`` other than ``"linear"``;
    TypeError for a ``q`` that is no number, or a variable.

    >>> quantile([1.0, 2.0, 3.0], [0.25, 1.0]).value
    array([1.5, 3. ])
    """
    return _quantile("quantile", a, _shares("quantile", q, 1), axis, method, keepdims)


def _quantile(
    name: str, a: Like, shares: Array, axis: Axis, method: str, keepdims: bool
) -> Variable:
    if method != "linear":
        raise ValueError(f"{name}: method: expected 'linear', the only one here, got {method!r}")
    ordered, axes, n = _sorted(name, a, axis)
    if n == 0:
        raise ValueError(f"{name} of no elements is not defined (shape {np.shape(a)})")
    places = shares.ravel() * (n - 1)
    below = np.floor(places).astype(int)
    above = np.minimum(below + 1, n - 1)
    share = (places - below).astype(ordered.dtype)
    low, high = take(ordered, below, -1), take(ordered, above, -1)
    last = ordered[..., -1:]
    found = where(last == last, low + (high - low) * share, last)
    found = split_axis(moveaxis(found, -1, 0), 0, shares.shape)
    return expand_dims(found, tuple(k + shares.ndim for k in axes)) if keepdims else found


def percentile(
    a: Like, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Variable:
    """As ``quantile``, by hundredths.

    >>> percentile([1.0, 2.0, 3.0], 25).item()
    1.5
    """
    return _quantile("percentile", a, _shares("percentile", q, 100), axis, method, keepdims)


def diff(
    a: Like,
    n: int = 1,
    axis: int = -1,
    prepend: Like | None = None,
    append: Like | None = None,
) -> Variable:
    """Differences of neighbours along an axis, taken ``n`` times.

    ``prepend`` and ``append`` come before and behind first, a number as one element a lane.

    >>> diff([1.0, 4.0, 9.0]).value
    array([3., 5.])
    """
    times = integer("n", n)
    if times < 0:
        raise ValueError(f"n: expected 0 or more, got {times}")
    x = constant(a)
    axis = axis_of("diff", axis, x.ndim)

    def end(values: Like) -> Variable:
        lane = constant(values)
        if lane.ndim:
            return lane
        # One element also along an axis that has none, or will.
        return _core.broadcast_like(lane, _core.sum(x, axis, keepdims=True))

    parts = [end(e) for e in (prepend,) if e is not None]
    parts += [x, *(end(e) for e in (append,) if e is not None)]
    if len(parts) > 1 and times:
        x = concatenate(parts, axis)
    if times > x.shape[axis]:
        # Nothing is left, however often it is repeated, of an array of this length.
        x, times = fixed(x, "diff", (axis,)), x.shape[axis]
    for _ in range(times):
        x = x[along(axis, slice(1, None))] - x[along(axis, slice(None, -1))]
    return x


def trapezoid(y: Like, x: Like | None = None, dx: Like = 1.0, axis: int = -1) -> Variable:
    """The integral along an axis by the trapezoidal rule, over places ``x`` or steps ``dx``.

    >>> trapezoid([1.0, 2.0, 3.0]).item()
    4.0
    """
    heights = constant(y)
    axis = axis_of("trapezoid", axis, heights.ndim)
    step: Like | Variable = dx
    if x is not None:
        places = constant(x)
        if places.ndim == 1:
            step = expand_dims(diff(places), tuple(range(1, heights.ndim - axis)))
        else:
            step = diff(places, axis=axis)
    ends = heights[along(axis, slice(1, None))] + heights[along(axis, slice(None, -1))]
    return _core.sum(ends * step * 0.5, axis)


def nansum(a: Like, axis: Axis = None, *, keepdims: bool = False) -> Variable:
    """Sum over axes of what is not NaN.

    >>> nansum([1.0, float("nan")]).item()
    1.0
    """
    x = constant(a)
    return _core.sum(where(x == x, x, 0.0), axis, keepdims)


def nanmean(a: Like, axis: Axis = None, *, keepdims: bool = False) -> Variable:
    """Mean over axes of what is not NaN; NaN where there is nothing else.

    >>> nanmean([1.0, 3.0, float("nan")]).item()
    2.0
    """
    x = constant(a)
    return nansum(x, axis, keepdims=keepdims) / _core.sum(x == x, axis, keepdims)
