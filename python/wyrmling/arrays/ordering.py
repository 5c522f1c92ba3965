"""Order: sorted elements and their indices, the largest and the smallest, and bounds.

Every order is stable and found alike, whatever ``kind``. Indices have no gradient;
``x[argsort(x)]`` has. Where what is ordered can change, they are variables of integers, which
follow the order of whatever values a graph or program is given; else they are plain integers. Equal
elements keep their order, and NaN comes last, as in NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import Variable, constant, fixed, reshape
from .operand import Like, axis_of, integers, lanes, numbers, of_one_type
from .output import finished
from .reductions import as_type, mask_of

# What an argument is that is not given, where None means something.
_NOT_GIVEN: Any = np._NoValue


def _checked(name: str, **given: Any) -> None:
    """Raises what NumPy raises for the kind of sort and the fields that are given: every sort here
    is alike, and variables have no fields.
    """
    if asked := {key: each for key, each in given.items() if each is not None}:
        try:
            np.sort(np.zeros(1), **asked)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name}: {error}") from None


def argsort(
    a: Like,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
) -> Any:
    """The indices that sort an array along an axis, or flattened; every sort here is stable.

    The result has the shape of ``a``, integers. Raises ValueError if there is no such
    axis.

    >>> argsort([3.0, 1.0, 2.0])
    array([1, 2, 0])
    """
    _checked("argsort", kind=kind, order=order, stable=stable)
    return _core.argsort(*lanes("argsort", constant(a), axis))


def sort(
    a: Like,
    axis: int | None = -1,
    kind: str | None = None,
    order: None = None,
    *,
    stable: bool | None = None,
) -> Variable:
    """The elements in order along an axis, or of the flattened array.

    The result has the shape and type of ``a``. Raises ValueError if there is no such
    axis.

    >>> sort([3.0, 1.0, 2.0])
    array([1., 2., 3.])
    """
    _checked("sort", kind=kind, order=order, stable=stable)
    x, along = (reshape(a, -1), 0) if axis is None else (constant(a), axis)
    if x.dtype.kind != "f":
        # Integers or booleans that can change.
        found: Variable = sort(x * 1.0, along).astype(bool if x.dtype == bool else int)
        return found
    return _core.take_along_axis(x, _core.argsort(x, along), along)


def _with_places(name: str, kth: Any, x: Variable, axis: int, kind: Any, order: Any) -> Variable:
    """``x``, after a check that it has the places ``kth``; programs refuse other lengths of it.

    Raises ValueError for places that the axis has not, for fields and for a kind that NumPy has
    not; TypeError for places that are no integers.
    """
    if kind != "introselect" or order is not None:
        try:
            np.zeros(1).partition(0, kind=kind, order=order)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name}: {error}") from None
    n = x.shape[axis]
    for place in integers(f"{name}: kth", kth):
        # Of no elements NumPy takes any place.
        if x.size and not -n <= place < n:
            raise ValueError(f"{name}: kth: {place} is out of range for {n} elements")
    return fixed(x, name, axis if x.size else tuple(range(x.ndim)))


def partition(
    a: Like, kth: Any, axis: int | None = -1, kind: str = "introselect", order: None = None
) -> Variable:
    """The elements along an axis with those at the places ``kth`` where sorting would put them,
    smaller ones before and larger ones behind. Here all are in order, which is one such order.

    Raises ValueError for a place that there is not.

    >>> partition([3.0, 1.0, 2.0], 1)
    array([1., 2., 3.])
    """
    x = reshape(a, -1) if axis is None else constant(a)
    along = axis_of("partition", -1 if axis is None else axis, x.ndim)
    return sort(_with_places("partition", kth, x, along, kind, order), along)


def argpartition(
    a: Like, kth: Any, axis: int | None = -1, kind: str = "introselect", order: None = None
) -> Any:
    """The indices that give ``partition``.

    Raises ValueError for a ``kth`` that is out of range, or if there is no such axis.

    >>> argpartition(Variable([3.0, 1.0, 2.0]), 1).value
    array([1, 2, 0])
    """
    x, along = lanes("argpartition", constant(a), axis)
    return argsort(_with_places("argpartition", kth, x, along, kind, order), along)


def _extreme(name: str, a: Like, axis: int | None, out: Any, keepdims: bool) -> Any:
    x, find = constant(a), getattr(_core, name)
    lane, along = lanes(name, x, axis)
    if lane.ndim == x.ndim:
        return finished(name, find(lane, along, keepdims), out)
    found = find(lane, 0, False)
    return finished(name, np.reshape(found, (1,) * x.ndim) if keepdims else found, out)


def argmax(a: Like, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
    """The index of the largest element along an axis, or in the flattened array; the first.

    Raises ValueError if there are no elements.

    >>> argmax([[1.0, 5.0], [7.0, 3.0]], axis=1)
    array([1, 0])
    """
    return _extreme("argmax", a, axis, out, keepdims)


def argmin(a: Like, axis: int | None = None, out: Any = None, *, keepdims: bool = False) -> Any:
    """The index of the smallest element along an axis, or in the flattened array; the first.

    Raises ValueError if there are no elements.

    >>> int(argmin([[1.0, 5.0], [7.0, 3.0]]))
    0
    """
    return _extreme("argmin", a, axis, out, keepdims)


@of_one_type
def clip(
    a: Like,
    a_min: Like | None = _NOT_GIVEN,
    a_max: Like | None = _NOT_GIVEN,
    out: Variable | None = None,
    *,
    min: Like | None = _NOT_GIVEN,
    max: Like | None = _NOT_GIVEN,
    where: Any = True,
    dtype: npt.DTypeLike | None = None,
) -> Any:
    """Elements within bounds: what lies outside becomes the bound; None is no bound.

    The gradient goes to the element where it lies within the bounds or on one, else to the
    bound; where NaN makes a NaN, that of both is NaN. ``a_min`` and ``a_max`` are given both or
    not at all, ``min`` and ``max`` in their place. ``out``, ``where`` and ``dtype`` as in NumPy's
    ufuncs, for variables.

    Raises ValueError for shapes that do not fit together, TypeError for one of ``a_min`` and
    ``a_max`` alone, and for a ``dtype`` that would round the elements to integers.

    >>> clip([-1.0, 0.5, 2.0], 0.0, 1.0)
    array([0. , 0.5, 1. ])
    """
    missing = [one is _NOT_GIVEN for one in (a_min, a_max)]
    if any(missing) and not all(missing):
        lacking = "a_min" if missing[0] else "a_max"
        raise TypeError(f"clip: {lacking}: expected both a_min and a_max; None is no bound")
    if not all(missing) and not (min is _NOT_GIVEN and max is _NOT_GIVEN):
        raise ValueError("clip: the bounds are given twice, as a_min and a_max and as min or max")
    bounds = (min, max) if all(missing) else (a_min, a_max)
    low, high = (None if one is _NOT_GIVEN else one for one in bounds)
    x = as_type("clip", a, dtype)
    mask = mask_of("clip", where)
    if mask is not None and out is None:
        raise TypeError("clip: where: without out the other elements are not defined; use np.where")
    for name, bound in (("a_min", low), ("a_max", high)):
        if bound is not None:
            numbers(f"clip: {name}", bound)
    # An element on a bound has the gradient, which ``maximum`` would share; ``maximum`` has NaN.
    if low is not None:
        x = _core.where(x >= low, x, _core.maximum(x, low))
    if high is not None:
        x = _core.where(x <= high, x, _core.minimum(x, high))
    if mask is not None and isinstance(out, Variable):
        x = _core.where(mask, x, out)
    return finished("clip", x, out)
