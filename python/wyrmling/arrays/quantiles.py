"""Medians and quantiles: NumPy's functions, for variables too.

They compute with lengths: they hold for arrays of the same length only, and an input that gets
another one raises ValueError.
"""

from typing import Any

import numpy as np

from .._core import Variable, constant, expand_dims, fixed, mean, merge_axes, split_axis, where
from .indexing import take
from .operand import Array, Axis, Like, axes_of
from .ordering import sort
from .shaping import moveaxis


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


def median(a: Like, axis: Axis = None, *, keepdims: bool = False) -> Variable:
    """The middle of the elements in order over axes, the mean of the two in the middle.

    Of no elements it is NaN.

    >>> median([3.0, 1.0, 2.0, 10.0]).item()
    2.5
    """
    ordered, axes, n = sorted_lanes("median", a, axis)
    # The slice has one element, or two if their number is even. The mean of no elements is NaN.
    first = max(n - 1, 0) // 2
    middle = mean(ordered[..., first : n // 2 + 1], -1)
    middle = _unless_nan(middle, ordered) if n else middle
    return expand_dims(middle, axes) if keepdims else middle


def shares(name: str, q: Any, whole: float, method: str = "linear") -> Array:
    """What is asked of quantiles, from 0 to ``whole``, as shares."""
    if method != "linear":
        raise ValueError(f"{name}: method: expected 'linear', the only one here, got {method!r}")
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
    return _quantile("quantile", a, shares("quantile", q, 1, method), axis, keepdims)


def _quantile(name: str, a: Like, q: Array, axis: Axis, keepdims: bool) -> Variable:
    ordered, axes, n = sorted_lanes(name, a, axis)
    if n == 0:
        raise ValueError(f"{name} of no elements is not defined (shape {np.shape(a)})")
    places = q.ravel() * (n - 1)
    below = np.floor(places).astype(int)
    above = np.minimum(below + 1, n - 1)
    share = (places - below).astype(ordered.dtype)
    low, high = take(ordered, below, -1), take(ordered, above, -1)
    last = ordered[..., -1:]
    found = where(last == last, low + (high - low) * share, last)
    found = split_axis(moveaxis(found, -1, 0), 0, q.shape)
    return expand_dims(found, tuple(k + q.ndim for k in axes)) if keepdims else found


def percentile(
    a: Like, q: Any, axis: Axis = None, *, method: str = "linear", keepdims: bool = False
) -> Variable:
    """As ``quantile``, by hundredths.

    >>> percentile([1.0, 2.0, 3.0], 25).item()
    1.5
    """
    return _quantile("percentile", a, shares("percentile", q, 100, method), axis, keepdims)
