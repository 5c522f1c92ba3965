"""Elements by index: NumPy's functions, for variables too.

Indices are integers, or a variable that holds them: an ``IndexInput``, or what ``argsort``,
``argmax`` and ``argmin`` give.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from .. import _core
from .._core import Variable, constant, fixed, gather, reshape, transpose
from .operand import Like, axis_of, lanes
from .output import finished


def take(
    a: Like,
    indices: Any,
    axis: int | None = None,
    out: Variable | None = None,
    mode: Literal["raise", "wrap", "clip"] = "raise",
) -> Any:
    """Elements along an axis, or of the flattened array, by index; see ``numpy.take``.

    An index out of range raises IndexError, counts on from the start (``mode="wrap"``) or stands
    for the nearest (``"clip"``); the latter two need integers, and hold for arrays of the same
    length only. Integers taken by a variable are integers, and can be taken by in turn.

    >>> take([1.0, 2.0, 3.0], [2, -1, 0])
    array([3., 3., 1.])
    """
    found = _taken(a, indices, axis, mode)
    if out is None:
        return found
    return finished("take", found, out)


def _taken(a: Like, indices: Any, axis: int | None, mode: str) -> Variable:
    x = _core.table(a) if isinstance(indices, Variable) else constant(a)
    x, axis = lanes("take", x, axis)
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"mode: expected 'raise', 'wrap' or 'clip', got {mode!r}")
    if mode != "raise":
        if isinstance(indices, Variable):
            raise TypeError(f"mode: {mode!r} needs integers, not a variable that holds indices")
        # NumPy makes an empty list an array of floats; as indices it is one of integers.
        none = not isinstance(indices, np.ndarray) and np.size(indices) == 0
        n, indices = x.shape[axis], np.asarray(indices, int if none else None)
        x = fixed(x, "take", axis)
        indices = indices % n if mode == "wrap" and n else np.clip(indices, 0, max(n - 1, 0))
    if axis == 0:
        return gather(x, indices)
    others = [k for k in range(x.ndim) if k != axis]
    rows = gather(transpose(x, (axis, *others)), indices)
    # gather puts the axes of the index first; numpy.take puts them in the place of the axis.
    new = rows.ndim - len(others)
    places = range(new, rows.ndim)
    return transpose(rows, (*places[:axis], *range(new), *places[axis:]))


def take_along_axis(arr: Like, indices: Any, axis: int | None = -1) -> Variable:
    """Elements along an axis by indices of their own for each lane.

    ``indices`` has the shape of the array but for the axis, or 1 where it broadcasts; without an
    axis the array is flattened first. If ``indices`` is a variable and ``arr`` holds integers, the
    result holds integers and can be used as indices. Raises IndexError if one is out of range.

    >>> take_along_axis([[1.0, 2.0], [3.0, 4.0]], [[1], [0]], 1)
    array([[2.],
           [3.]])
    """
    x = _core.table(arr) if isinstance(indices, Variable) else constant(arr)
    x = reshape(x, -1) if axis is None else x
    axis = axis_of("take_along_axis", 0 if axis is None else axis, x.ndim)
    if isinstance(indices, Variable):
        return _core.take_along_axis(x, indices, axis)
    places = np.asarray(indices)
    if places.ndim != x.ndim:
        raise ValueError(
            f"take_along_axis: indices of shape {places.shape} do not have the axes of an array "
            f"of shape {x.shape}"
        )
    n = x.shape[axis]
    if (places < 0).any():
        x = fixed(x, "take_along_axis", axis)
        places = np.where(places < 0, places + n, places)
    # Along all axes but this one the array and the indices broadcast.
    around = [(*shape[:axis], 1, *shape[axis + 1 :]) for shape in (x.shape, places.shape)]
    lanes = list(np.broadcast_shapes(*around))
    lanes[axis] = places.shape[axis]
    places = np.broadcast_to(places, lanes)
    lanes[axis] = n
    if tuple(lanes) != x.shape:
        # A program that runs on lanes of one element refuses them: they would be broadcast.
        x = _core.broadcast_to(fixed(x, "take_along_axis", axis), lanes)
    return _core.take_along_axis(x, places, axis)
