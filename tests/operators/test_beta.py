"""The beta function and its logarithm, with their derivatives, against mpmath.

At points where the textbook's formula cancels: an argument next to a pole of the gamma function,
both, or the sum of the two. ``test_special_points.py`` has the others.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import oracle
import pytest
import scipy.special
from mpmath import mp

import wyrmling as wy
from wyrmling import _core


def _rgamma(x: Any) -> Any:
    """The reciprocal, which has no poles, of the gamma function.

    mpmath prepares a series around 1, ten seconds of it for the digits that 1e-300 needs. The
    asymptotic one, far to the right, takes a few terms.
    """
    if mp.dps < 600 or abs(x) > 1:
        return mp.rgamma(x)
    far = mp.dps
    return mp.fprod(x + k for k in range(far)) / mp.gamma(x + far)


def _beta(x: Any, y: Any) -> Any:
    return _rgamma(x + y) / (_rgamma(x) * _rgamma(y))


FUNCTIONS = {"beta": _beta, "betaln": lambda x, y: mp.log(abs(_beta(x, y)))}
ORDERS = [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]


def derivative(name: str, orders: tuple[int, int], x: float, y: float) -> float:
    f = getattr(_core, name)
    for k, n in enumerate(orders):
        for _ in range(n):
            f = wy.elementwise_grad(f, k)
    found = f(np.array([x]), np.array([y]))
    return float(np.asarray(getattr(found, "value", found))[0])


POINTS = [
    # One argument small, the other negative.
    (1e-8, -0.5),
    (-1e-8, -0.5),
    (1e-8, -2.7),
    (1e-12, -1.5),
    (1e-300, -0.5),
    (0.01, -0.49),
    (0.06, -0.5),
    # Both small.
    (1e-8, 1e-8),
    (1e-8, -3e-8),
    (1e-8, -1.0000001e-8),
    (0.1, -0.12),
    # The sum next to a pole, on one, and where it only is rounded to one.
    (0.5, -0.5 + 1e-15),
    (0.5, -0.5 - 1e-15),
    (0.3, -1.3 + 1e-15),
    (0.3, -1.3),
    (0.1, -2.1),
    (-0.5, -0.5 + 1e-13),
    (-1.3, -2.7 + 1e-10),
    (2.5, -3.5 + 1e-9),
    (30.5, -30.5 + 1e-12),
    (300.25, -500.25 + 1e-9),
    # An argument next to a pole, and the other next to an integer, where poles cancel.
    (-2 + 1e-8, 0.5),
    (-2 + 1e-8, 1.0),
    (-2 + 1e-8, 2.0),
    (-2 + 1e-8, 1 + 1e-9),
    (-2 + 1e-8, 3e-8),
    (-2 + 1e-7, 1e-10),
    (-2 + 1e-8, -3 + 1e-9),
    # Between.
    (-0.3, 0.9),
    (-3.3, 3.1),
    (-3.3, 5.0),
    (-0.3, -0.4),
    (-700.5, -2.5),
    (-1e5 - 0.25, 0.3),
    # Of a sum that is much smaller than an argument.
    (31.5, -30.5),
    (30.5, -29.3),
    (12.0, -10.75),
    # One large, the other negative: logarithms of the gamma function would cancel.
    (1e8, -0.5),
    (1e16, -1.5),
    (1e100, -0.001),
    (1e5, -77.3),
    (90.25, -10.5),
    (-1e6 - 0.25, 1e6 + 3.5),
    (-1e6 - 0.25, 50.125),
    (-1e6 - 0.25, -30.3),
]


def exact_sum(x: float, y: float) -> bool:
    return Fraction(x) + Fraction(y) == Fraction(x + y)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("orders", ORDERS)
@pytest.mark.parametrize(("x", "y"), POINTS)
def test_derivatives_are_mpmaths(name, orders, x, y):
    exact = oracle.derivative(FUNCTIONS[name], (x, y), orders, 25)
    if name == "betaln" and any(orders) and x + y == math.floor(x + y) and exact_sum(x, y):
        # Where the function is 0 the logarithm has no derivative.
        return
    # In either order of the arguments.
    for found in (derivative(name, orders, x, y), derivative(name, orders[::-1], y, x)):
        if exact == 0:
            # On a pole of the sum, of which there is no rounding.
            assert found == 0.0
        elif abs(exact) > 1.79e308:
            assert found == math.copysign(math.inf, exact)
        elif math.isinf(exact):
            assert found == float(exact)
        else:
            assert abs(found - exact) <= 3e-11 * abs(exact), (found, exact)


def test_a_hessian_next_to_a_zero():
    found = wy.hessian(lambda v: wy.special.beta(v[0], v[1]))(np.array([0.5, -0.5 + 1e-15]))
    exact = [
        [
            float(oracle.derivative(_beta, (0.5, -0.5 + 1e-15), (2 - i - j, i + j), 25))
            for j in (0, 1)
        ]
        for i in (0, 1)
    ]
    np.testing.assert_allclose(found, exact, rtol=1e-13)


def test_where_poles_cancel_the_value_and_its_derivatives_by_the_pole_are_finite():
    # B(x, 2) is 1 / (x (x + 1)), also at -3.
    assert scipy.special.beta(-3.0, 2.0) == derivative("beta", (0, 0), -3.0, 2.0)
    np.testing.assert_allclose(derivative("beta", (1, 0), -3.0, 2.0), 5 / 36, rtol=1e-14)
    np.testing.assert_allclose(derivative("beta", (2, 0), -3.0, 2.0), 19 / 108, rtol=1e-14)
    # By the other argument there is no limit.
    assert math.isnan(derivative("beta", (0, 1), -3.0, 2.0))


def test_the_beta_function_of_the_smallest_numbers_is_infinite():
    for x, y in ((5e-324, 5e-324), (1e-310, 2e-310)):
        assert wy.special.beta(x, y) == math.inf
        assert math.isclose(wy.special.betaln(x, y), math.log(1 / (x / (x + y))) - math.log(y))


@pytest.mark.parametrize("s", [0.25, 0.1, 1e-3, 1e-8, 2.0**-52, 0.0, -(2.0**-53), -1e-8, -0.1])
def test_the_logarithm_next_to_where_it_is_zero(s):
    """At (1, 1): the logarithm of beta, rounded before, had no digit there."""
    for t in (0.25, 0.07, 1e-8, 2.0**-52, 0.0, -(2.0**-53), -1e-3, -s, -0.25):
        a, b = 1.0 + s, 1.0 + t
        with mp.workdps(60):
            expected = float(mp.log(_beta(mp.mpf(a), mp.mpf(b))))
        for pair in ((a, b), (b, a)):
            assert float(wy.special.betaln(*pair)) == pytest.approx(expected, rel=4e-15, abs=0.0)
