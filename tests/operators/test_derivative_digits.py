"""Derivatives keep their digits where formulas cancel or overflow: far out, and at poles."""

import numpy as np
import pytest
import scipy.special

import wyrmling as wy
from wyrmling import _core

# Derivatives of an order at a point, by mpmath 1.3 to 60 digits and more, rounded.
FAR = [
    ("expm1", -40.0, 1, 4.248354255291589e-18),
    ("sigmoid", -40.0, 2, 4.248354255291589e-18),
    ("tanh", 1.5, 3, 0.5268972195881028),
    ("erf", 10.0, 1, 4.197656231354417e-44),
    ("erf", 20.0, 2, -8.644149897547193e-173),
    ("ndtr", -30.0, 3, 1.3248078752558141e-193),
    ("erfcx", 2.9, 3, -0.03001684037329678),
    ("erfcx", 3.1, 1, -0.05132503374198143),
    ("erfcx", 3.1, 3, -0.024126165302629538),
    ("erfcx", 30.0, 2, 4.165309238445888e-05),
    ("erfcx", 100000000.0, 1, -5.641895835477562e-17),
    ("erfcx", 100000000.0, 3, -3.385137501286536e-32),
    ("erfcx", -5.0, 3, -152650386595258.06),
    ("dawsn", 1.9, 3, 0.08156763067858644),
    ("dawsn", 2.1, 3, -0.14079089419120286),
    ("dawsn", -7.3, 3, -0.0011665529501826309),
    ("dawsn", 7.5, 3, -0.001041252611573517),
    ("dawsn", 50.0, 2, 8.00961442694064e-06),
    ("dawsn", 100000000.0, 1, -5.0000000000000005e-17),
    ("dawsn", -100000000.0, 3, -3.0000000000000017e-32),
    ("erfi", 26.65, 0, 5.9121685816187087e306),
    ("erfi", -26.714, 0, -1.7945180846561779e308),
    ("log_ndtr", -30.0, 2, -0.9988962284881099),
    ("log_ndtr", -10000.0, 2, -0.9999999900000006),
    ("log_ndtr", -100000000.0, 2, -0.9999999999999999),
    ("log_ndtr", -1e100, 2, -1.0),
    ("log_ndtr", -1000.0, 3, 1.999976000299996e-09),
    ("log_ndtr", 30.0, 2, -4.420938404635642e-195),
    ("arctan", 1e100, 2, -2e-300),
    ("arctan", -3.0, 3, 0.052),
    ("arcsinh", 1e100, 2, -1e-200),
    ("arcsec", 1e100, 2, -2e-300),
    ("arcsec", -1.5, 3, 3.583009073279663),
    ("logit", 1e-100, 2, -1e200),
    ("ellipe", -1e160, 1, -5e-81),
    ("ellipe", -1e300, 1, -5e-151),
    ("ellipe", -1e100, 3, -3.75e-251),
    ("ellipk", -1e100, 2, 8.638666175811663e-249),
    ("gammaln", 1e200, 2, 1e-200),
]


def derivative(f, order):
    for _ in range(order):
        f = wy.grad(f)
    return f


@pytest.mark.parametrize(("name", "x", "order", "expected"), FAR)
def test_derivatives_keep_their_digits_far_out(name, x, order, expected):
    found = derivative(getattr(_core, name), order)(x)
    np.testing.assert_allclose(found, expected, rtol=1e-8 if name == "log_ndtr" else 1e-12, atol=0)


@pytest.mark.parametrize(
    "name",
    [
        "airy_ai",
        "arccot",
        "arccsc",
        "arcsec",
        "arcsinh",
        "arctan",
        "dawsn",
        "erf",
        "erfc",
        "ndtr",
        "sigmoid",
        "tanh",
    ],
)
@pytest.mark.parametrize("x", [np.inf, -np.inf])
def test_derivatives_are_zero_at_infinity(name, x):
    f = getattr(_core, name)
    if name == "airy_ai":
        f, x = (lambda x: _core.airy_ai(0, x)), np.inf
    for order in range(1, 4):
        assert derivative(f, order)(x) == 0.0


@pytest.mark.parametrize("x", [-1e8, -1e4, -40.0, -1.0, 0.0, 1.0, 40.0, 1e4])
def test_log_ndtr_is_curved_as_it_should_far_out(x):
    # Below, the second derivative tends to -1, by the continued fraction of Mills' ratio.
    slope = wy.grad(wy.special.log_ndtr)
    second = wy.grad(slope)(x)
    assert np.isfinite(second)
    if x < -1e3:
        assert abs(second + 1.0) < 1e-4
    if x > 39.0:
        assert second == 0.0
    if abs(x) <= 1.0:
        # Of y' = φ / Φ it is -y' (x + y').
        np.testing.assert_allclose(second, -slope(x) * (x + slope(x)), rtol=1e-10)


def test_gradients_of_the_beta_function_do_not_cancel():
    """By mpmath, as above; and at a pole of the factors, where 1 / (x (x + 1)) has none."""
    betaln = wy.special.betaln
    for x, y, first, second in [
        (1e10, 1.0, -1e-10, 1e-20),
        (1e15, 0.5, -5.000000000000001e-16, 5.000000000000002e-31),
        (3.0, 1e-12, -3.949340668481494e-13, 1.541138063191291e-13),
    ]:
        slope = wy.grad(betaln)
        np.testing.assert_allclose(slope(x, y), first, rtol=1e-13)
        np.testing.assert_allclose(wy.grad(slope)(x, y), second, rtol=1e-13)
        np.testing.assert_allclose(wy.grad(betaln, 1)(y, x), first, rtol=1e-13)
    beta = wy.special.beta
    np.testing.assert_allclose(wy.grad(beta)(-3.0, 2.0), 5 / 36, rtol=1e-14)
    np.testing.assert_allclose(wy.grad(wy.grad(beta))(-3.0, 2.0), 19 / 108, rtol=1e-14)
    assert np.isnan(wy.grad(beta, 1)(-3.0, 2.0))  # no limit: it is infinite beside


def test_gradients_of_the_reciprocal_gamma_function_at_its_poles():
    """(-1)^n n! at -n, where the gamma function and its derivatives are infinite (DLMF 5.7.1)."""
    slope = wy.grad(wy.special.rgamma)
    np.testing.assert_allclose([slope(-float(n)) for n in range(4)], [1, -1, 2, -6], rtol=1e-14)
    np.testing.assert_allclose(wy.grad(slope)(0.0), 2 * np.euler_gamma, rtol=1e-14)


def test_the_sine_and_cosine_integrals(rng):
    x = rng.uniform(-60, 60, 300)
    for y, theirs in zip(scipy.special.sici(wy.Variable(x)), scipy.special.sici(x), strict=True):
        np.testing.assert_allclose(y.value, theirs, rtol=1e-13, atol=1e-15)
    slopes = [derivative(_core.sinint, order)(0.0) for order in (1, 2, 3)]
    np.testing.assert_allclose(slopes, [1.0, 0.0, -1 / 3], atol=1e-15)
