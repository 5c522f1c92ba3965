"""Differences of neighbours, derivatives and integrals by them: NumPy's, for variables too.

They are made of slices, which follow the length of what they are given.

Limit: ``gradient`` is length-specialised (see the package).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from .._core import Variable, concatenate, constant, expand_dims, fixed, has_variable, reshape
from .operand import Axis, Like, along, axes_of, axis_of, count, integer, itself, of_one_type
from .shaping import astype


def _are_truth(values: Like) -> bool:
    if isinstance(values, Variable):
        return _core.is_boolean(values)
    return np.asarray(values).dtype == bool


@of_one_type
def diff(
    a: Like,
    n: int = 1,
    axis: int = -1,
    prepend: Like | None = None,
    append: Like | None = None,
) -> Variable:
    """Differences of neighbours along an axis, taken ``n`` times; the array itself for 0.

    Of truth values they are whether neighbours differ.

    ``prepend`` and ``append`` come before and behind first, a number as one element a lane.

    Raises ValueError for an ``n`` below 0, or if there is no such axis.

    >>> diff([1.0, 4.0, 9.0])
    array([3., 5.])
    """
    times = count("n", n)
    if times == 0:
        return itself(a)
    x = constant(a)
    axis = axis_of("diff", axis, x.ndim)

    def end(values: Like) -> Variable:
        lane = constant(values)
        if lane.ndim:
            return lane
        # The sum with keepdims has length 1 along the axis, even if the array has length 0 there.
        return _core.broadcast_like(lane, _core.sum(x, axis, keepdims=True))

    parts = [end(e) for e in (prepend,) if e is not None]
    parts += [x, *(end(e) for e in (append,) if e is not None)]
    if len(parts) > 1:
        x = concatenate(parts, axis)
    if times > x.shape[axis]:
        # More differences than elements leave an empty array of this length, so the loop below
        # stops there; an input may not get another length.
        x, times = fixed(x, "diff", (axis,)), x.shape[axis]
    given = [values for values in (a, prepend, append) if values is not None]
    difference = _core.not_equal if all(map(_are_truth, given)) else _core.subtract
    for _ in range(times):
        x = difference(x[along(axis, slice(1, None))], x[along(axis, slice(None, -1))])
    return x


def trapezoid(y: Like, x: Like | None = None, dx: Like = 1.0, axis: int = -1) -> Variable:
    """The integral along an axis by the trapezoidal rule, over places ``x`` or steps ``dx``.

    Raises ValueError for shapes that do not fit, or if there is no such axis.

    >>> trapezoid([1.0, 2.0, 3.0]).item()
    4.0
    """
    ndim, step = constant(y).ndim, dx
    at = axis_of("trapezoid", axis, ndim)
    if x is not None:
        # Of plain places NumPy's differences: those of unsigned integers are none below zero.
        places: Any = constant(x) if has_variable((x,), {}) else np.asanyarray(x)
        lane = places.ndim == 1
        step = np.diff(places, axis=-1 if lane else axis)
        step = np.expand_dims(step, tuple(range(1, ndim - at))) if lane else step
    # NumPy's sums of plain heights too: of two booleans it is whether one is true.
    heights: Any = constant(y) if has_variable((y,), {}) else np.asarray(y)
    ends = heights[along(at, slice(1, None))] + heights[along(at, slice(None, -1))]
    ends, step = _same_type(ends, step)
    # Places may have more axes: those of the product are counted as the caller counts them.
    return _core.sum(constant(ends) * step * 0.5, axis)


@of_one_type
def _same_type(x: Any, y: Any) -> tuple[Any, Any]:
    return x, y


def ediff1d(ary: Like, to_end: Like | None = None, to_begin: Like | None = None) -> Variable:
    """Differences of neighbours in the flattened array, between other numbers if they are given.

    Raises TypeError for what holds no numbers.

    >>> ediff1d([1.0, 4.0, 9.0], to_begin=0.0)
    array([0., 3., 5.])
    """
    x = diff(reshape(ary, -1))
    parts = [x]
    if to_begin is not None:
        parts.insert(0, astype(reshape(to_begin, -1), x.dtype))
    if to_end is not None:
        parts.append(astype(reshape(to_end, -1), x.dtype))
    return concatenate(parts, 0) if len(parts) > 1 else x


def _spacing(name: str, given: Like, n: int, before: int, behind: int) -> Any:
    """The distance of neighbours: a number, or one for each pair of them along an axis."""
    if np.ndim(given) == 0:
        return given
    step = constant(given)
    if step.ndim != 1 or step.shape[0] != n:
        raise ValueError(
            f"{name}: expected a distance, or the places of the {n} elements along an axis, got "
            f"shape {step.shape}"
        )
    step = diff(fixed(step, name, 0))
    return expand_dims(step, (*range(before), *range(before + 1, before + 1 + behind)))


def _derivative(x: Variable, axis: int, step: Any, edge_order: int) -> Variable:
    """The derivative along an axis by the differences of neighbours."""

    def at(start: int | None, stop: int | None) -> Variable:
        return x[along(axis, slice(start, stop))]

    def steps(start: int | None, stop: int | None) -> Any:
        return step[along(axis, slice(start, stop))] if np.ndim(step) else step

    left, right = steps(None, -1), steps(1, None)
    if np.ndim(step) == 0:
        inner = (at(2, None) - at(None, -2)) / (2.0 * step)
    else:
        # The derivative of the parabola through three neighbours.
        inner = (
            at(None, -2) * (-right / (left * (left + right)))
            + at(1, -1) * ((right - left) / (left * right))
            + at(2, None) * (left / (right * (left + right)))
        )
    if edge_order == 1:
        first = (at(1, 2) - at(0, 1)) / steps(0, 1)
        last = (at(-1, None) - at(-2, -1)) / steps(-1, None)
    else:
        one, two = steps(0, 1), steps(1, 2)
        first = (
            at(0, 1) * (-(2.0 * one + two) / (one * (one + two)))
            + at(1, 2) * ((one + two) / (one * two))
            + at(2, 3) * (-one / (two * (one + two)))
        )
        one, two = steps(-2, -1), steps(-1, None)
        last = (
            at(-3, -2) * (two / (one * (one + two)))
            + at(-2, -1) * (-(two + one) / (one * two))
            + at(-1, None) * ((2.0 * two + one) / (two * (one + two)))
        )
    return concatenate([first, inner, last], axis)


def gradient(f: Like, *varargs: Like, axis: Axis = None, edge_order: int = 1) -> Any:
    """The derivative along axes by second-order differences of neighbours, of first or second
    order at the ends.

    ``varargs`` are the distances of neighbours: one number for all axes, or for each axis a number
    or the places of the elements along it, which may be variables. The result is an array, or a
    tuple of one for each axis. Raises ValueError for fewer than ``edge_order + 1`` elements along
    an axis, TypeError for another number of distances.

    >>> gradient([1.0, 4.0, 9.0, 16.0])
    array([3., 4., 6., 7.])
    """
    x = constant(f)
    axes = axes_of("gradient", axis, x.ndim)
    order = integer("gradient: edge_order", edge_order)
    if order not in (1, 2):
        raise ValueError(f"gradient: edge_order: expected 1 or 2, got {edge_order}")
    given: Sequence[Like] = varargs or (1.0,)
    if len(given) == 1 and (len(axes) != 1 or np.ndim(given[0]) == 0):
        if np.ndim(given[0]):
            raise TypeError(
                f"gradient: expected a distance for each of {len(axes)} axes, got one array"
            )
        given = [given[0]] * len(axes)
    if len(given) != len(axes):
        raise TypeError(
            f"gradient: expected 0, 1 or {len(axes)} distances, one for each axis, got "
            f"{len(varargs)}"
        )
    found = []
    for k, distance in zip(axes, given, strict=True):
        if x.shape[k] < order + 1:
            raise ValueError(
                f"gradient: expected at least {order + 1} elements along axis {k}, got {x.shape[k]}"
            )
        step = _spacing("gradient", distance, x.shape[k], k, x.ndim - 1 - k)
        # In a shorter array the slices at the two ends would overlap, so the length is fixed.
        slope = _derivative(fixed(x, "gradient", k), k, step, order)
        # Of float32 it is float32, of integers it is not integers.
        kept = slope.dtype == x.dtype or x.dtype.kind != "f"
        found.append(slope if kept else slope.astype(x.dtype))
    return found[0] if len(found) == 1 else tuple(found)
