"""Numbers in place of NaN and infinities: NumPy's function, for variables too."""

import numpy as np

from .._core import Variable, constant, isnan, where
from .operand import Like, filling


def nan_to_num(
    x: Like,
    copy: bool = True,
    nan: Like = 0.0,
    posinf: Like | None = None,
    neginf: Like | None = None,
) -> Variable:
    """Replace NaN by a number, and infinities by others, or the largest that the type has.

    What is replaced has the gradient 0. Raises NotImplementedError for ``copy=False``: the value
    of a variable is not changed in place; ValueError for numbers that do not broadcast to ``x``.

    >>> nan_to_num([1.0, np.nan, -np.inf], neginf=-5.0).value
    array([ 1.,  0., -5.])
    """
    if not copy:
        raise NotImplementedError("nan_to_num: copy=False: a variable is not changed in place")
    x = constant(x)
    filling("nan_to_num: nan", nan, x.shape)
    for name, value in (("posinf", posinf), ("neginf", neginf)):
        if value is not None:
            filling(f"nan_to_num: {name}", value, x.shape)
    largest = float(np.finfo(x.dtype).max)
    y = where(isnan(x), nan, x)
    y = where(x == np.inf, largest if posinf is None else posinf, y)
    return where(x == -np.inf, -largest if neginf is None else neginf, y)
