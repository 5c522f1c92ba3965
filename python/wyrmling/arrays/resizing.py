"""Arrays resized, trimmed, unstacked, or put on a diagonal: NumPy's functions, for variables too.

Limit: length-specialised (see the package).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from .. import _core
from .._core import Variable, constant, fixed, reshape
from .indexing import take
from .operand import Axis, Like, along, axes_of, axis_of, integers, itself
from .predicates import value


def resize(a: Like, new_shape: int | Sequence[int]) -> Any:
    """The elements in C order in another shape, again from the first if there are too few.

    Raises ValueError for a negative length.

    >>> resize(Variable([1.0, 2.0, 3.0]), (2, 2)).value
    array([[1., 2.],
           [3., 1.]])
    """
    lengths = integers("resize: new_shape", new_shape)
    if min(lengths, default=0) < 0:
        raise ValueError(f"resize: new_shape: a length cannot be negative, got {new_shape}")
    x = constant(a)
    x = fixed(x, "resize", tuple(range(x.ndim)))
    flat, count = reshape(x, -1), prod(lengths)
    if flat.size == 0:
        # NumPy fills what was made of nothing with zeros.
        flat = _core.concatenate([flat, np.zeros(1, x.dtype)])
    return reshape(take(flat, np.arange(count) % flat.size), lengths)


def unstack(x: Like, /, *, axis: int = 0) -> tuple[Variable, ...]:
    """The slices along an axis, in a tuple.

    Raises ValueError for a number, or if there is no such axis.

    >>> [row.value for row in unstack(Variable([[1.0, 2.0], [3.0, 4.0]]))]
    [array([1., 2.]), array([3., 4.])]
    """
    array = itself(x)
    if array.ndim == 0:
        raise ValueError("unstack: expected an array with an axis, got a number")
    at = axis_of("unstack", axis, array.ndim)
    array = fixed(array, "unstack", at)
    return tuple(array[along(at, k)] for k in range(array.shape[at]))


def diagflat(v: Like, k: int = 0) -> Any:
    """A matrix with the flattened array on its ``k``-th diagonal, and zeros elsewhere.

    Raises TypeError for a ``k`` that is no integer.

    >>> diagflat(Variable([[1.0], [2.0]])).value
    array([[1., 0.],
           [0., 2.]])
    """
    return _core.diag(reshape(constant(v), -1), k)


def trim_zeros(filt: Like, trim: str = "fb", axis: Axis = None) -> Any:
    """An array without the zeros at its beginning (``"f"``) and end (``"b"``), along axes.

    Which elements are zero is asked once, of the values at hand: raises TypeError for what follows
    an input, ValueError for another ``trim``.

    >>> trim_zeros(Variable([0.0, 1.0, 0.0, 2.0, 0.0])).value
    array([1., 0., 2.])
    """
    x = itself(filt)
    sides = str(trim).lower()
    if sides not in ("f", "b", "fb", "bf"):
        raise ValueError(f"trim_zeros: trim: expected 'f', 'b' or both, got {trim!r}")
    axes = axes_of("trim_zeros", axis, x.ndim)
    places = np.argwhere(value("trim_zeros", constant(x)))
    key = []
    for k in range(x.ndim):
        if k not in axes:
            key.append(slice(None))
        elif len(places):
            low, high = int(places[:, k].min()), int(places[:, k].max()) + 1
            key.append(slice(low if "f" in sides else None, high if "b" in sides else None))
        else:
            key.append(slice(0, 0))
    return x[tuple(key)]
