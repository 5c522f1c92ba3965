"""The Airy functions against mpmath and SciPy, and by the equation that they solve."""

import numpy as np
import pytest
import scipy.special

import wyrmling as wy

# Ai, Ai', Bi and Bi', by mpmath 1.3 to 60 digits and more, rounded.
AIRY = [
    (
        -10000000000.0,
        [0.00017362064481528185, -177.56561416929327, 0.0017756561416929328, 17.36206448152823],
    ),
    (
        -100000.0,
        [-0.013152978737498166, -9.130078851932488, 0.02887184428505844, -4.1593370104464045],
    ),
    (-1000.0, [0.05597189577301992, 2.6330710195241287, -0.08326457411708063, 1.769965940135989]),
    (-20.0, [-0.1764061270779847, 0.8928628567364713, -0.20013930932265134, -0.7914290338395364]),
    (-9.6, [0.31465158331169335, 0.19695044232125805, -0.06091292736011371, 0.9734991795471133]),
    (-7.0, [0.18428083525050565, -0.7710081684101265, 0.293762071854414, 0.4982445900581135]),
    (-3.0, [-0.37881429367765806, 0.3145837692165988, -0.19828962637492653, -0.6756112226852585]),
    (-0.7, [0.5110003975750101, -0.14464128564332104, 0.2752680119878797, 0.5449991200691819]),
    (0.3, [0.2788064819550049, -0.2451463642190548, 0.7524855850873157, 0.48004902875244804]),
    (2.0, [0.03492413042327438, -0.05309038443365363, 3.2980949999782148, 4.10068204993289]),
    (5.0, [0.00010834442813607442, -0.0002474138908684625, 657.7920441711711, 1435.8190802179824]),
    (8.0, [4.6922076160992316e-08, -1.3414392979067865e-07, 1199586.00412446, 3354342.3127445388]),
    (9.6, [3.9032335304151394e-10, -1.2193337781681137e-09, 131624577.04426041, 404320141.561829]),
    (
        50.0,
        [
            4.5849417240748285e-104,
            -3.244331819828799e-103,
            4.9090996994442195e101,
            3.4687987795459765e102,
        ],
    ),
    (
        103.5,
        [
            1.2145593287760307e-306,
            -1.235924520706669e-305,
            1.2880457349028663e304,
            1.31008137402667e305,
        ],
    ),
]


@pytest.mark.parametrize(("x", "expected"), AIRY)
def test_airy_functions(x, expected):
    for a in (x, np.full(3, x)):
        found = wy.special.airy(a)
        expected = np.asarray(expected)
        # Where they oscillate, relative to the amplitude.
        scale = abs(expected)
        if x < 0:
            scale = np.tile([np.hypot(*expected[::2]), np.hypot(*expected[1::2])], 2)
        error = [np.max(abs(y - e) / s) for y, e, s in zip(found, expected, scale, strict=True)]
        assert max(error) < 1e-14


def test_airy_functions_are_scipys(rng):
    x = np.concatenate([rng.uniform(-30, 100, 300), rng.uniform(-12, 12, 700)])
    theirs = scipy.special.airy(x)
    scale = [np.where(x < 0, np.hypot(*theirs[k % 2 :: 2]), abs(theirs[k])) for k in range(4)]
    for y, their, size in zip(scipy.special.airy(wy.Variable(x)), theirs, scale, strict=True):
        assert isinstance(y, wy.Variable)
        assert np.max(abs(y.value - their) / size) < 2e-13
    for y in wy.special.airy(np.array([np.nan, -1e13])):
        assert np.isnan(y).all()


def test_airy_functions_solve_their_equation(rng):
    x = rng.uniform(-15, 15, 50)
    for k in (0, 2):

        def f(x, k=k):
            return wy.special.airy(x)[k]

        y = f(x)
        slope = wy.grad(lambda x, f=f: np.sum(f(x)))
        curve = wy.grad(lambda x, g=slope: np.sum(g(x)))(x)
        np.testing.assert_allclose(curve, x * y, rtol=1e-14)


@pytest.mark.parametrize("x", [5e-324, 1e-320, 1e-310])
def test_second_derivatives_of_the_scaled_ones_at_subnormal_numbers(x):
    """They grow by 1/√x: the derivative of the exponential factor, and finite."""
    ai, slope = 0.3550280538878172, -0.2588194037928068  # at 0, DLMF 9.2.3 and 9.2.4
    for k, expected in enumerate((ai, slope, -(3**0.5) * ai, 3**0.5 * slope)):
        second = wy.grad(wy.grad(lambda x, k=k: wy.special.airye(x)[k]))(x)
        assert second == pytest.approx(0.5 * expected / np.sqrt(x), rel=1e-13)


@pytest.mark.parametrize("x", [0.0, -0.0])
def test_second_derivatives_of_the_scaled_ones_at_zero_are_infinite(x):
    for k, expected in enumerate((np.inf, -np.inf, -np.inf, -np.inf)):
        for mode in ("trace", "source"):
            first = wy.grad(lambda x, k=k: wy.special.airye(x)[k], mode=mode)
            assert wy.grad(first, mode=mode)(x) == expected, (k, mode)
