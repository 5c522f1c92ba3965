"""Elements put in and left out by place, and arrays set together of blocks.

Limit: ``insert`` and ``delete`` are length-specialised (see the package).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import Variable, broadcast_to, concatenate, constant, expand_dims, fixed, reshape
from .indexing import take
from .operand import Array, Like, axis_of, of_one_type
from .shaping import astype, moveaxis


def _places(name: str, obj: Any, n: int) -> Array:
    """Places along an axis of ``n`` elements, from integers, a slice or a mask."""
    if isinstance(obj, Variable):
        raise TypeError(
            f"{name}: obj: expected plain integers, a slice or a mask, got a variable; the shape "
            "of the result would change with it"
        )
    if isinstance(obj, slice):
        return np.arange(*obj.indices(n))
    places = np.asarray(obj)
    if places.dtype == bool:
        if places.shape != (n,):
            raise ValueError(f"{name}: obj: expected a mask of {n} elements, got {places.shape}")
        return np.flatnonzero(places)
    if places.size == 0 and not isinstance(obj, np.ndarray):
        places = places.astype(int)
    if places.dtype.kind not in "iu":
        raise TypeError(f"{name}: obj: expected integers, a slice or a mask, got {obj!r}")
    if places.ndim > 1:
        raise ValueError(f"{name}: obj: expected places along one axis, got {places.shape}")
    outside = places[(places < -n) | (places > n)]
    if outside.size:
        raise IndexError(f"{name}: obj: index {outside.flat[0]} is out of range for {n} elements")
    return places


def insert(arr: Like, obj: Any, values: Like, axis: int | None = None) -> Variable:
    """Values in front of the elements at some places of an axis, or of the flattened array.

    ``obj`` is one place, several, a slice or a mask; several values at one place are taken as
    ``numpy.insert`` does. Raises IndexError for a place out of range.

    >>> insert([1.0, 2.0], 1, Variable(5.0)).value
    array([1., 5., 2.])
    """
    x = reshape(arr, -1) if axis is None else constant(arr)
    axis = axis_of("insert", 0 if axis is None else axis, x.ndim)
    n = x.shape[axis]
    places = _places("insert", obj, n)
    new = astype(values, x.dtype)
    if places.size == 1:
        # One place takes all values along the axis.
        if new.ndim < x.ndim:
            new = expand_dims(new, tuple(range(x.ndim - new.ndim)))
        if places.ndim == 0:
            new = moveaxis(new, 0, axis)
        count = new.shape[axis]
        at: Any = int(places.flat[0])
    else:
        count, at = places.size, places
    shape = list(x.shape)
    shape[axis] = count
    # The number of values is part of the order below.
    new = broadcast_to(fixed(new, "insert: values", tuple(range(new.ndim))), shape)
    order = np.insert(np.arange(n), at, np.arange(n, n + count))
    found: Variable = take(concatenate([fixed(x, "insert", axis), new], axis), order, axis)
    return found


def delete(arr: Like, obj: Any, axis: int | None = None) -> Variable:
    """The elements along an axis, or of the flattened array, without those at some places.

    Raises IndexError for a place out of range.

    >>> delete([1.0, 2.0, 3.0], [0, -1])
    array([2.])
    """
    x = reshape(arr, -1) if axis is None else constant(arr)
    axis = axis_of("delete", 0 if axis is None else axis, x.ndim)
    n = x.shape[axis]
    places = _places("delete", obj, n)
    kept = np.delete(np.arange(n), places if places.ndim else int(places))
    found: Variable = take(fixed(x, "delete", axis), kept, axis)
    return found


def _depth(arrays: Any) -> int:
    """How deep lists are nested. Raises ValueError unless they all are as deep, TypeError for a
    tuple.
    """
    if isinstance(arrays, tuple):
        raise TypeError("block: expected lists, got a tuple; a tuple has no meaning here")
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("block: expected lists that are not empty")
    depths = {_depth(part) for part in arrays}
    if len(depths) > 1:
        raise ValueError(f"block: expected lists of one depth, got {sorted(depths)} in one list")
    return depths.pop() + 1


def _most_axes(arrays: Any) -> int:
    if isinstance(arrays, list):
        return max(_most_axes(part) for part in arrays)
    return constant(arrays).ndim


@of_one_type
def block(arrays: Any) -> Variable:
    """Arrays in nested lists set together: the innermost along the last axis, the next along the
    one before it, and so on.

    Raises ValueError for lists of different depth, TypeError for tuples.

    >>> x = Variable([[1.0, 2.0]])
    >>> block([[x, 3.0], [x * 2.0, 0.0]]).value
    array([[1., 2., 3.],
           [2., 4., 0.]])
    """
    depth = _depth(arrays)
    axes = max(_most_axes(arrays), depth)

    def joined(part: Any, level: int) -> Variable:
        if isinstance(part, list):
            return concatenate([joined(item, level - 1) for item in part], axes - level)
        x = constant(part)
        return expand_dims(x, tuple(range(axes - x.ndim))) if x.ndim < axes else x[...]

    return joined(arrays, depth)
