"""Masks and arrays of integers that are recorded, and the arrays of floats that stand for them.

A program computes with floats. What a ``Recorded`` is recorded of is not there on other paths
through a function: where masks that differ meet, they are arrays of ones and zeros, of which a mask
is made again. So are arrays of integers that are written to (``types/written_integers.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._core import Input, IrBuilder, is_boolean
from .values import Array, Lazy, Recorded, is_index


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


def recorded_as(array: Array, dtype: Any) -> Recorded:
    """An array of floats as integers, or as the mask of what is not zero."""
    leaves = Input(np.zeros(array.shape)), Input(np.ones(array.shape))
    one, two = (leaf != 0.0 if np.dtype(dtype) == np.bool_ else leaf.astype(int) for leaf in leaves)
    inputs = ((leaves[0], array.id),)
    return Recorded(one, inputs, two, leaves[1:], array.computed, array.bases)


def is_mask(index: Any) -> bool:
    """Whether an index is a mask that is computed."""
    return isinstance(index, Recorded) and is_boolean(index.variable)


def only_mask(parts: Sequence[Any]) -> int | None:
    """Where there is a mask of one axis among integers and slices; None if there is none."""
    masks = [at for at, part in enumerate(parts) if is_mask(part)]
    plain = [part for part in parts if is_index(part) or isinstance(part, Lazy)]
    if len(masks) != 1 or not plain or len(plain) + 1 != len(parts):
        return None
    return masks[0] if len(parts[masks[0]].variable.shape) == 1 else None


def spliced(builder: IrBuilder, value: Recorded, variable: Any) -> int:
    """What a variable that was recorded of the same inputs is in the program."""
    inputs, ids = [one for one, _ in value.inputs], [id for _, id in value.inputs]
    computed = list(range(len(inputs))) if value.computed else []
    made: int = builder.splice([variable], inputs, ids, computed)[0]
    return made


def as_floats(builder: IrBuilder, value: Recorded) -> Array:
    """Integers as floats, truths as 1 and 0."""
    made = spliced(builder, value, value.variable.astype(float))
    shape = tuple(int(length) for length in value.variable.shape)
    return Array(made, np.dtype(np.float64), shape, computed=value.computed)
