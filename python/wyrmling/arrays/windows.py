"""Windows that slide over an array: NumPy's function, for variables too.

Limit: length-specialised (see the package).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Variable, fixed, reshape
from .operand import Like, along, axes_of, axis_of, integers, itself, truth
from .shaping import moveaxis, repeated


def _windows(x: Variable, axis: int, length: int) -> Variable:
    """The windows of one axis, along a new axis at the end.

    The array is repeated once more often than a window is long. What follows in rows of one
    element more than the axis has begins one element later in each row. It is made by reshape,
    so that assignments to the array or its windows, which share memory in NumPy, raise an error.
    """
    before, n, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    if axis and x.size:
        # The first axis may have any length.
        before = (-1, *before[1:])
    row = reshape(repeated(x, length + 1, axis), (*before, (length + 1) * n, *after))
    row = row[along(axis, slice(length * (n + 1)))]
    rows = reshape(row, (*before, length, n + 1, *after))
    return moveaxis(rows[along(axis + 1, slice(n + 1 - length))], axis, -1)


def sliding_window_view(
    x: Like,
    window_shape: int | Sequence[int],
    axis: int | Sequence[int] | None = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> Any:
    """All windows of a shape: an axis says where a window begins, and one at the end goes through
    it. An axis that is given twice has windows of windows.

    Raises ValueError for a window that is longer than its axis or negative, for another number of
    axes than of lengths, if there is no such axis, or with ``writeable``; TypeError for lengths or
    axes that are no integers.

    >>> sliding_window_view(Variable([1.0, 2.0, 3.0]), 2).value
    array([[1., 2.],
           [2., 3.]])
    """
    name = "sliding_window_view"
    array = itself(x)
    lengths = integers(f"{name}: window_shape", window_shape)
    if axis is None:
        axes = list(axes_of(name, None, array.ndim))
    else:
        axes = [axis_of(name, k, array.ndim) for k in integers(f"{name}: axis", axis)]
    if len(lengths) != len(axes):
        raise ValueError(
            f"{name}: window_shape: expected a length for each of {len(axes)} axes, "
            f"got {window_shape}"
        )
    if truth(f"{name}: writeable", writeable):
        raise ValueError(f"{name}: writeable: windows of a variable are not written to; copy them")
    truth(f"{name}: subok", subok)
    array = fixed(array, name, [k for k in range(array.ndim) if k or 0 in axes or not array.size])
    for at, length in zip(axes, lengths, strict=True):
        if not 0 <= length <= array.shape[at]:
            raise ValueError(
                f"{name}: window_shape: expected lengths from 0 to that of the axis, "
                f"got {length} for an axis of {array.shape[at]}"
            )
        array = _windows(array, at, length)
    return array
