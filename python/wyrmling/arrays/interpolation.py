"""Piecewise linear interpolation: NumPy's function, for variables too."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .._core import Variable, concatenate, fixed, isnan, searchsorted, where
from .indexing import take
from .operand import Like
from .ordering import argsort
from .predicates import changes
from .shaping import astype


def _finite(x: Variable) -> bool:
    """Whether all elements, and their differences, are finite."""
    known = x.value
    return bool(np.isfinite(known).all() and np.isfinite(np.diff(known)).all())


def _line(at: Any, counts: Any, base: Any, height: Any, rise: Any, run: Any) -> Any:
    """The height on the line through a point, where it counts; elsewhere that of the point."""
    slope = where(counts, rise, 0.0) / where(counts, run, 1.0)
    return height + slope * where(counts, at - base, 0.0)


def interp(
    x: Like,
    xp: Like,
    fp: Like,
    left: Like | None = None,
    right: Like | None = None,
    period: float | None = None,
) -> Variable:
    """The function through the points ``(xp, fp)`` that is linear between them, at ``x``.

    ``xp`` rises. Before the first point the function is ``left``, behind the last ``right``, or the
    value there; with ``period`` it repeats, and ``xp`` may be in any order. There is a gradient by
    ``x``, the slope of its segment (at a point, of the one that begins there), by ``xp`` and by
    ``fp``. Raises ValueError unless there are as many ``xp`` as ``fp``, one at least, and for a
    period of 0. It computes in float64.

    >>> x = Variable([0.5, 3.0])
    >>> y = interp(x, [0.0, 1.0, 2.0], [0.0, 10.0, 0.0])
    >>> y.sum().backward()
    >>> y.value, x.grad
    (array([5., 0.]), array([10.,  0.]))
    """
    # In float64, whatever the types, as NumPy has it.
    at, places, heights = (astype(each, float) for each in (x, xp, fp))
    if places.ndim != 1 or heights.ndim != 1 or places.shape != heights.shape:
        raise ValueError(
            f"interp: expected xp and fp of one length, got shapes {places.shape} and "
            f"{heights.shape}"
        )
    if places.shape[0] == 0:
        raise ValueError("interp: expected one point at least, got none")
    places, heights = fixed(places, "interp", 0), fixed(heights, "interp", 0)
    if period is not None:
        if period == 0:
            raise ValueError("interp: period: expected a number that is not zero, got 0")
        period, left, right = abs(period), None, None
        at, places = at % period, places % period
        order = argsort(places)
        places, heights = take(places, order), take(heights, order)
        places = concatenate([places[-1:] - period, places, places[:1] + period], 0)
        heights = concatenate([heights[-1:], heights, heights[:1]], 0)
    first, last = places[0], places[-1]
    before: Any = heights[0] if left is None else left
    behind: Any = heights[-1] if right is None else right
    if places.shape[0] > 1:
        # The number of the segment between neighbours: how many places within are not above.
        segment = searchsorted(places[1:-1], at, True)
        start, height = take(places, segment), take(heights, segment)
        end, top = take(places[1:], segment), take(heights[1:], segment)
        run, rise = end - start, top - height
        # Where the formula does not count, outside, of NaN and in segments of no length, it is
        # computed of other numbers: times the gradient 0 an infinite slope or distance would be
        # NaN. A point that is NaN is neither below nor above.
        outside = _core.logical_or(at < first, at >= last)
        outside = _core.logical_or(outside, at != at)
        counts = _core.logical_not(_core.logical_or(outside, run == 0.0))
        if not changes(places, heights) and _finite(places) and _finite(heights):
            found = _line(at, counts, start, height, rise, run)
        else:
            # NumPy's order: from the start, or where that is NaN from the end, or where that is NaN
            # too and both heights are equal, that height.
            odd = isnan(_line(at, counts, start, height, rise, run))
            neither = isnan(_line(at, counts, end, top, rise, run))
            level = _core.logical_and(height == top, neither)
            level = _core.logical_and(odd, _core.logical_or(at == start, level))
            counts = _core.logical_and(counts, _core.logical_not(level))
            back = _core.logical_and(odd, _core.logical_not(level))
            base, height = where(back, end, start), where(back, top, height)
            found = _line(at, counts, base, height, rise, run)
    else:
        found = _core.broadcast_like(heights[0], at)
    # The formula above would give NaN at the last point if a neighbouring height is infinite.
    found = where(at == last, heights[-1], found)
    found = where(at < first, before, found)
    found = where(at > last, behind, found)
    # Of one point alone NaN has the height too, in NumPy.
    return found if places.shape[0] == 1 else where(at == at, found, at)
