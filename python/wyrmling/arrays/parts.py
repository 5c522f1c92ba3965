"""Numbers in parts, and their phases: NumPy's functions, for variables too."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .._core import Variable, constant, fmod, isinf, isnan, trunc, where
from .construction import full_like
from .ldexp import ldexp
from .operand import Like, along, axis_of
from .output import finished
from .predicates import value


def modf(x: Like, /) -> tuple[Variable, Variable]:
    """The parts of each number behind and before the point, both with its sign.

    The derivative of the first is 1, that of the second 0.

    Raises TypeError for what holds no numbers.

    >>> behind, before = modf(Variable([1.25, -2.5]))
    >>> behind.value, before.value
    (array([ 0.25, -0.5 ]), array([ 1., -2.]))
    """
    x = constant(x)
    return where(isinf(x), _core.copysign(0.0, x), fmod(x, 1.0)), trunc(x)


def frexp(x: Like, /) -> tuple[Variable, Any]:
    """Numbers from 0.5 to 1 and integers: each element is the number times 2 to the integer.

    The integers are plain: raises TypeError for what follows an input, which would change them.

    >>> number, power = frexp(Variable([3.0, 0.25]))
    >>> number.value, power
    (array([0.75, 0.5 ]), array([ 2, -1], dtype=int32))
    """
    x = constant(x)
    _, power = np.frexp(value("frexp", x))
    return ldexp(x, -power), power


def angle(z: Like, deg: bool = False) -> Any:
    """The angle of numbers as complex ones: 0 for positive, π (or 180) for negative ones.

    Its derivative is 0.

    The result has the shape and type of ``z``. Raises TypeError for what holds no
    numbers.

    >>> angle(Variable([1.0, -1.0]), deg=True).value
    array([  0., 180.])
    """
    x = constant(z)
    half = 180.0 if deg else np.pi
    found = where(_core.signbit(x), x.dtype.type(half), x.dtype.type(0.0))
    return where(isnan(x), x.dtype.type(np.nan), found)


def unwrap(
    p: Like, discont: Like | None = None, axis: int = -1, *, period: Any = 2.0 * np.pi
) -> Any:
    """Angles along an axis that go on without jumps: where neighbours differ by more than half a
    period, periods are added to the later ones.

    ``discont`` is the least difference that counts as a jump, half a period if it is less. The
    derivative by each element is 1, and by ``period`` the number of periods that were added.

    Raises ValueError if there is no such axis.

    >>> unwrap(Variable([0.0, 2.0, 4.0, 0.0]), period=6.0).value
    array([0., 2., 4., 6.])
    """
    x = constant(p)
    axis = axis_of("unwrap", axis, x.ndim)
    full = _core.stop_gradient(period) if isinstance(period, Variable) else period
    half = full / 2.0
    steps = x[along(axis, slice(1, None))] - x[along(axis, slice(None, -1))]
    folded = _core.mod(steps + half, full) - half
    folded = where(_core.logical_and(folded == -half, steps > 0.0), half, folded)
    # What is added is a number of whole periods, which does not change with the elements.
    added = _core.stop_gradient(folded - steps)
    most = half if discont is None else discont
    added = where(_core.abs(steps) < most, 0.0, added)
    if isinstance(period, Variable):
        added = added + _core.stop_gradient(added / full) * (period - full)
    rest = x[along(axis, slice(1, None))] + _core.cumsum(added, axis)
    first = x[along(axis, slice(0, 1))]
    return _core.concatenate([first, rest.astype(x.dtype)], axis)


def imag(val: Like) -> Any:
    """Zeros: the imaginary parts of real numbers.

    Raises TypeError for what holds no numbers.

    >>> imag(Variable([1.0, 2.0])).value
    array([0., 0.])
    """
    x = constant(val)
    return _core.broadcast_like(x.dtype.type(0.0), x)


def is_real(x: Like) -> Any:
    """Whether each element is a real number, as every one of a variable is."""
    x = constant(x)
    return full_like(x, True, bool)[()]


def is_complex(x: Like) -> Any:
    """Whether each element is a complex number, as none of a variable is."""
    x = constant(x)
    return full_like(x, False, bool)[()]


def isposinf(x: Like, out: Any = None) -> Any:
    """Whether each element is positive infinity.

    The result has the shape of ``x``. Raises TypeError for what holds no numbers.
    """
    return finished("isposinf", _core.equal(x, np.inf), out)


def isneginf(x: Like, out: Any = None) -> Any:
    """Whether each element is negative infinity.

    The result has the shape of ``x``. Raises TypeError for what holds no numbers.
    """
    return finished("isneginf", _core.equal(x, -np.inf), out)
