"""Medians and quantiles: NumPy's functions, for variables too.

Limit: length-specialised (see the package).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import Variable, constant, expand_dims, fixed, mean, merge_axes, split_axis, where
from .indexing import take
from .operand import Array, Axis, Like, axes_of
from .ordering import sort
from .output import finished
from .shaping import moveaxis

# NumPy's, all of them.
METHODS = (
    "averaged_inverted_cdf",
    "closest_observation",
    "hazen",
    "higher",
    "interpolated_inverted_cdf",
    "inverted_cdf",
    "linear",
    "lower",
    "median_unbiased",
    "midpoint",
    "nearest",
    "normal_unbiased",
    "weibull",
)

# Those that give one of the elements.
CHOOSING = ("closest_observation", "higher", "inverted_cdf", "lower", "nearest")

# Those of Hyndman and Fan (1996) that go from element to element, with their alpha and beta.
_PLOTTED = {
    "averaged_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "interpolated_inverted_cdf": (0, 1),
    "median_unbiased": (1 / 3.0, 1 / 3.0),
    "normal_unbiased": (3 / 8.0, 3 / 8.0),
    "weibull": (0, 0),
}


def sorted_lanes(name: str, a: Like, axis: Axis) -> tuple[Variable, tuple[int, ...], int]:
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


def median(
    a: Like,
    axis: Axis = None,
    out: Variable | None = None,
    overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:
    """The middle of the elements in order over axes, the mean of the two in the middle.

    Of no elements it is NaN. ``overwrite_input`` changes nothing.

    Raises ValueError if there is no such axis.

    >>> median([3.0, 1.0, 2.0, 10.0]).item()
    2.5
    """
    ordered, axes, n = sorted_lanes("median", a, axis)
    # The slice has one element, or two if their number is even. The mean of no elements is NaN.
    first = max(n - 1, 0) // 2
    middle = mean(ordered[..., first : n // 2 + 1], -1)
    middle = _unless_nan(middle, ordered) if n else middle
    return finished("median", expand_dims(middle, axes) if keepdims else middle, out)


def shares(name: str, q: Any, whole: float, method: str, weights: Any) -> Array:
    """What is asked of quantiles, from 0 to ``whole``, as shares."""
    if method not in METHODS:
        raise ValueError(f"{name}: method: expected one of {METHODS}, got {method!r}")
    if weights is not None:
        raise TypeError(
            f"{name}: weights: quantiles of weighted elements are not here; repeat the elements by "
            "np.repeat where weights are whole numbers"
        )
    expected = f"{name}: q: expected numbers from 0 to {whole:g}, got"
    if isinstance(q, Variable):
        raise TypeError(f"{expected} a variable; no gradient passes through it, so give its value")
    given = np.asarray(q)
    if given.dtype.kind not in "biuf":
        raise TypeError(f"{expected} {q!r}")
    found: Array = given.astype(float) / whole
    if not ((found >= 0) & (found <= 1)).all():
        raise ValueError(f"{expected} {q!r}")
    return found


def kind_of(q: Any, method: str) -> Any:
    """The element type that shares bring along, unless they are a number of Python's or choose an
    element: NumPy's rule.
    """
    # NumPy's own float64 is a float of Python's, too.
    if type(q) in (int, float) or method in CHOOSING:
        return None
    return np.true_divide(q, 1).dtype


def widened(x: Variable, kind: Any) -> Variable:
    """Elements in the type that they have with shares of another, None for that of the elements."""
    wide = x.dtype if kind is None else np.result_type(x.dtype, kind)
    return x if x.dtype == wide else x.astype(wide)


def taken(q: Any, method: str) -> str:
    """The method for shares: of the integers 0 and 1 NumPy takes the elements themselves."""
    return "lower" if method == "linear" and np.asarray(q).dtype.kind in "biu" else method


def neighbours(q: Any, n: Any, method: str) -> tuple[Array, Array, Array]:
    """Between which two of ``n`` elements in order quantiles lie, counted from 0, and which share
    of the way from one to the other: those that NumPy has, where one of them may be infinite.
    """
    if method in CHOOSING:
        # The quantiles of the places themselves, which NumPy computes.
        places: Any = np.arange(n, dtype=float)
        place = np.quantile(places, q, method=method)  # type: ignore[call-overload]
        return place.astype(int), place.astype(int), np.zeros(np.shape(place))
    if method == "linear":
        place = q * (n - 1)
    elif method == "midpoint":
        place = 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q))
    else:
        alpha, beta = _PLOTTED[method]
        place = n * q + (alpha + q * (1 - alpha - beta)) - 1
    below = np.floor(place)
    share = place - below
    if method == "averaged_inverted_cdf":
        share = np.where(share == 0, 0.5, 1.0)
    elif method == "midpoint":
        share = np.where(share == 0, 0.0, 0.5)
    above = np.clip(below + 1, 0, n - 1)
    # Before the first element and from the last on it is that element, twice.
    below = np.where(place < n - 1, np.clip(below, 0, n - 1), n - 1)
    above = np.where(place < 0, 0, above)
    return below.astype(int), above.astype(int), share


def between(low: Any, high: Any, share: Any) -> Any:
    """The number that lies a share of the way from one element to the next.

    It is computed from the nearer one, as NumPy does, which matters where the other is infinite.
    """
    is_near = share < 0.5
    step = where(is_near, share, share - 1.0)
    return where(is_near, low, high) + (high - low) * step


def quantile(
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
    """Where a share ``q`` of the elements lies below, interpolated between the two nearest.

    ``q`` is a number from 0 to 1 or an array of them, whose axes come first in the result.
    ``method`` is any of NumPy's: how the place of the quantile follows from the share.
    ``overwrite_input`` changes nothing. Raises ValueError for other shares, for no elements, and
    for a method that is none; TypeError for a ``q`` that is no number, or a variable, and for
    ``weights``.

    >>> quantile([1.0, 2.0, 3.0], [0.25, 1.0])
    array([1.5, 3. ])
    >>> quantile([1.0, 2.0, 3.0], 0.3, method="higher").item()
    2.0
    """
    places, kind = shares("quantile", q, 1, method, weights), kind_of(q, method)
    method = taken(q, method)
    return finished("quantile", _quantile("quantile", a, places, axis, method, keepdims, kind), out)


def _quantile(
    name: str, a: Like, q: Array, axis: Axis, method: str, keepdims: bool, kind: Any
) -> Variable:
    ordered, axes, n = sorted_lanes(name, a, axis)
    if n == 0:
        raise ValueError(f"{name} of no elements is not defined (shape {np.shape(a)})")
    below, above, share = neighbours(q.ravel(), n, method)
    ordered = widened(ordered, kind)
    found = take(ordered, below, -1)
    if method not in CHOOSING:
        found = between(found, take(ordered, above, -1), share.astype(ordered.dtype))
    last = ordered[..., -1:]
    found = where(last == last, found, last)
    found = split_axis(moveaxis(found, -1, 0), 0, q.shape)
    return expand_dims(found, tuple(k + q.ndim for k in axes)) if keepdims else found


def percentile(
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
    """As ``quantile``, by hundredths.

    Raises ValueError for a ``q`` outside of 0 to 100, and what ``quantile`` raises.

    >>> percentile([1.0, 2.0, 3.0], 25).item()
    1.5
    """
    places, kind = shares("percentile", q, 100, method, weights), kind_of(q, method)
    found = _quantile("percentile", a, places, axis, method, keepdims, kind)
    return finished("percentile", found, out)
