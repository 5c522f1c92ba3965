"""The distinct elements of an array: NumPy's function, for variables too."""

from typing import Any

import numpy as np

from .._core import constant, reshape
from .indexing import take
from .operand import Like
from .predicates import value


def unique(
    ar: Like,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """The distinct elements in order, or slices along an axis; of equal ones the first has the
    gradient.

    Indices and counts are plain arrays. Which elements are equal is asked once, of the values at
    hand: raises TypeError for what follows an input.

    >>> import wyrmling as wy
    >>> x = np.array([3.0, 1.0, 3.0])
    >>> unique(wy.Variable(x)).value, wy.grad(lambda x: unique(x).sum())(x)
    (array([1., 3.]), array([1., 1., 0.]))
    """
    x = constant(ar)
    named = {"equal_nan": equal_nan} | ({} if sorted else {"sorted": False})
    _, first, inverse, counts = np.unique(value("unique", x), True, True, True, axis, **named)
    found = take(reshape(x, -1), first) if axis is None else take(x, first, axis)
    more = [
        part
        for part, asked in (
            (first, return_index),
            (inverse, return_inverse),
            (counts, return_counts),
        )
        if asked
    ]
    return (found, *more) if more else found
