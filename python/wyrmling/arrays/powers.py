"""Powers in double precision: NumPy's function, for variables too."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import Variable, power
from .operand import Like, numbers
from .shaping import astype


def float_power(x1: Like, x2: Like) -> Variable:
    """Return x1**x2 as float64, whatever the types of the operands.

    Elementwise, with broadcasting; ``power`` keeps float32. Raises TypeError for what holds no
    numbers, ValueError for shapes that do not fit.

    >>> float_power(Variable(np.float32([2.0, 3.0])), 2).dtype
    dtype('float64')
    """
    base = astype(numbers("float_power: x1", x1), np.float64)
    # A number keeps the rule that powers with one have.
    exponent: Any = x2
    # That for 0.5 is the square root, which differs at -0.0 and minus infinity.
    if not isinstance(exponent, int | float) or exponent == 0.5:
        exponent = astype(numbers("float_power: x2", x2), np.float64)
    return power(base, exponent)
