"""Masks and integers that are recorded, as arrays of floats, which a program holds.

What a ``Recorded`` is recorded of is not there on other paths through a function. Where masks that
differ meet, they are arrays of ones and zeros, of which a mask is made again.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._core import Input, IrBuilder
from .values import Array, Recorded


def ones_and_zeros(masks: Sequence[Recorded]) -> Array | None:
    """The array, without a value, that masks are where paths meet; None of anything but masks of
    one shape.
    """
    first = masks[0].variable
    for each in masks:
        found = each.variable
        if each.computed or found.dtype != np.bool_ or found.shape != first.shape:
            return None
    return Array(-1, np.dtype(np.float64), tuple(map(int, first.shape)))


def truths_in(array: Array) -> Recorded:
    """The mask of what is not zero."""
    leaf, other = Input(np.zeros(array.shape)), Input(np.ones(array.shape))
    return Recorded(leaf != 0.0, ((leaf, array.id),), other != 0.0, (other,))


def as_floats(builder: IrBuilder, value: Recorded) -> Array:
    """Integers as floats, truths as 1 and 0."""
    inputs = [one for one, _ in value.inputs]
    computed = list(range(len(inputs))) if value.computed else []
    ids = [id for _, id in value.inputs]
    made = builder.splice([value.variable.astype(float)], inputs, ids, computed)[0]
    shape = tuple(int(length) for length in value.variable.shape)
    return Array(made, np.dtype(np.float64), shape, computed=value.computed)
