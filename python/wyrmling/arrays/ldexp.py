"""Powers of two: NumPy's function, for variables too."""

from __future__ import annotations

import numpy as np

from .._core import Variable
from .operand import Array, Like, numbers


def _exponents(value: Like) -> Array:
    """Integers of one type. Raises TypeError for anything else."""
    if isinstance(value, Variable):
        raise TypeError("ldexp: x2: expected plain integers, got a variable")
    exponents = np.asarray(value)
    if not np.can_cast(exponents.dtype, np.int64):
        raise TypeError(f"ldexp: x2: expected integers that int64 holds, got {exponents.dtype}")
    return exponents.astype(np.int64)


def ldexp(x1: Like, x2: Like) -> Variable:
    """Return x1 * 2**x2, exact but for what underflows, which is rounded once.

    Elementwise, with broadcasting, in the float type of ``x1``. ``x2`` holds integers and is plain:
    the function has no derivative by it. Raises TypeError if it is a variable or holds other
    numbers, ValueError if shapes do not fit.

    >>> ldexp([0.75, 1.0], [2, -1074])
    array([3.e+000, 5.e-324])
    """
    x, rest = numbers("ldexp: x1", x1), _exponents(x2)
    type_ = np.finfo(x.dtype)
    largest, smallest = type_.maxexp - 1, type_.minexp
    # In steps by powers that the type has, three as far as its range is wide. Before the last one
    # a number is made smaller by less than the range: if that rounds it, the last leaves nothing.
    down = smallest + type_.nmant + 1
    for _ in range(3):
        step = np.where(rest < smallest, down, np.minimum(rest, largest))
        x = x * np.ldexp(np.ones((), x.dtype), step)
        rest = rest - step
        if not rest.any():
            break
    return x
