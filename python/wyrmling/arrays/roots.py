"""Roots whose gradient is 0 at 0, for norms and standard deviations.

The derivative of a root is infinite there, and would make NaN of a gradient.
"""

from __future__ import annotations

from .._core import Variable, where


def root(total: Variable, power: float | Variable = 0.5) -> Variable:
    """``total ** power``, with the gradient 0 where the total is 0.

    The total is a sum of what is not negative. Where it is 0, the slope of the root is infinite,
    and times the gradient of the sum, which is 0, would be NaN. The root is least there, so that 0
    is a subgradient.
    """
    zero = total == 0.0
    return where(zero, 0.0, where(zero, 1.0, total) ** power)
