"""Gradients shortened to a length, all together, so that their direction stays.

Pascanu, Mikolov and Bengio, "On the difficulty of training recurrent neural networks", 2013.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..transforms.tree import flatten

__all__ = ["clip_by_norm"]


def clip_by_norm(gradients: Any, most: float) -> Any:
    """Gradients whose Euclidean norm, of all numbers together, is ``most`` at the most.

    Those that are no longer are returned as they are, zeros among them. The norm cannot overflow.
    The optimizers' ``clip`` bounds each element by itself.

    Args:
        gradients: floating-point numbers, arrays, and tuples, lists and dicts of such, as
            :func:`wyrmling.grad` returns; None stays None.
        most: the bound, a finite number above 0.

    Returns:
        A tree of the same form, with the same types of elements.

    Raises:
        FloatingPointError: an infinity or NaN among the gradients: they have no direction.
        TypeError: something else than numbers.
        ValueError: a bound out of range.

    >>> import numpy as np
    >>> clip_by_norm({"w": np.array([3.0, 0.0]), "b": 4.0}, 1.0)
    {'w': array([0.6, 0. ]), 'b': 0.8}
    """
    if isinstance(most, bool) or not isinstance(most, (int, float, np.floating, np.integer)):
        raise TypeError(f"most is {most!r}, expected a number")
    if not 0.0 < most < math.inf:
        raise ValueError(f"most is {most}, expected a finite number above 0")
    leaves, rebuild = flatten(gradients, "gradients")
    arrays = []
    for name, leaf in leaves:
        array = np.asarray(leaf)
        if array.dtype.kind != "f":
            raise TypeError(f"{name} is {leaf!r:.60}, expected floating-point numbers")
        if not np.isfinite(array).all():
            raise FloatingPointError(f"{name} has an infinity or NaN: it cannot be shortened")
        arrays.append(array.astype(np.float64))
    largest = max((float(abs(array).max()) for array in arrays if array.size), default=0.0)
    # Squares of what is divided by the largest neither overflow nor vanish.
    squares = sum(float(np.square(array / largest).sum()) for array in arrays) if largest else 0.0
    norm = math.sqrt(squares)
    if largest * norm <= most:
        return rebuild(leaf for _, leaf in leaves)
    found = (array / largest * (most / norm) for array in arrays)
    return rebuild(
        one.astype(np.asarray(leaf).dtype) if isinstance(leaf, np.ndarray) else type(leaf)(one)
        for one, (_, leaf) in zip(found, leaves, strict=True)
    )
