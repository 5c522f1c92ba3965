"""Roots of sums of what is not negative, as norms and standard deviations are."""

from __future__ import annotations

from .._core import Variable, where


def root(total: Variable, power: float | Variable = 0.5) -> Variable:
    """``total ** power``, with the gradient 0 where the total is 0.

    A root is steep without end at zero, and times the gradient of the sum, which is zero there
    too, that would be NaN. Where all that was summed is zero the root is at its least, and 0 is
    a subgradient; so descent stays there, and elsewhere nothing changes.
    """
    zero = total == 0.0
    return where(zero, 0.0, where(zero, 1.0, total) ** power)
