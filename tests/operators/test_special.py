"""Functions of ``wyrmling.special`` and their derivatives where SciPy has no value to compare with.

Expected numbers are by mpmath 1.4 to 60 digits and more, rounded; derivatives are its own, or
differences with steps of 1e-30. What SciPy has is compared with it in test_elementwise.py.
"""

import functools

import numpy as np
import pytest
import scipy.special
from mpmath import mp, mpf

import wyrmling as wy
from wyrmling import special


def derivative(f, *orders):
    """The function differentiated by each argument as often as it says."""
    for argument, order in enumerate(orders):
        for _ in range(order):
            f = wy.grad(f, argument)
    return f


# x, then the functions.
AIRYE = [
    (0.0, [0.3550280538878172, -0.2588194037928068, 0.6149266274460007, 0.4482883573538264]),
    (0.25, [0.316467281056048, -0.27070661812043256, 0.6704795186449266, 0.4322931669772772]),
    (2.0, [0.2301649186525116, -0.3498882825800875, 0.5004372543040949, 0.6222179973154376]),
    (9.4, [0.16053961595760904, -0.4963866894223971, 0.32341193084402114, 0.9827637095760965]),
    (9.6, [0.1597139498259528, -0.4989314944902078, 0.32167601083420466, 0.988114022154052]),
    (103.0, [0.08854061124067511, -0.898803838678739, 0.17711651796783867, 1.7971061833802648]),
    (1e4, [0.028209476238902756, -2.820948329126741, 0.05641896423175517, 5.641895012700529]),
    (1e10, [0.0008920620580763855, -89.20620580763857, 0.0017841241161527712, 178.41241161527708]),
]


@pytest.mark.parametrize(("x", "expected"), AIRYE)
def test_scaled_airy_functions(x, expected):
    found = [y.item() for y in special.airye(x)]
    np.testing.assert_allclose(found, expected, rtol=4e-15)


# Which of the four, the order of the derivative, x.
SLOPES = [
    (0, 1, 2.0, -0.024385933039205422),
    (0, 1, 9.6, -0.004075920223870104),
    (0, 1, 10000.0, -7.052364652001638e-07),
    (0, 2, 2.0, 0.012401752914887602),
    (0, 2, 9.6, 0.0005161739903414878),
    (0, 2, 10000.0, 8.815448101495565e-11),
    (1, 1, 2.0, -0.034486917235166455),
    (1, 1, 9.6, -0.012628776918015134),
    (1, 1, 10000.0, -7.052364652001639e-05),
    (1, 2, 2.0, 0.008916997860642498),
    (1, 2, 9.6, 0.0009415578168571199),
    (1, 2, 10000.0, 5.289265775494746e-09),
    (2, 1, 2.0, -0.08550715483816701),
    (2, 1, 9.6, -0.00856264411419701),
    (2, 1, 10000.0, -1.4104749873415176e-06),
    (2, 2, 2.0, 0.06491946806574282),
    (2, 2, 9.6, 0.0011505218512529326),
    (2, 2, 10000.0, 1.7630952768873857e-10),
    (3, 1, 2.0, 0.12092537805207199),
    (3, 1, 9.6, 0.026530382443028785),
    (3, 1, 10000.0, 0.00014104749873415176),
    (3, 2, 2.0, -0.06157864768760254),
    (3, 2, 9.6, -0.0021829708232391854),
    (3, 2, 10000.0, -1.0578577832166267e-08),
]


@pytest.mark.parametrize(("which", "order", "x", "expected"), SLOPES)
def test_gradients_of_scaled_airy_functions_do_not_cancel_far_out(which, order, x, expected):
    found = derivative(lambda x: special.airye(x)[which], order)(x)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (2, 0), (1,), (), (0, 1, 2)])
def test_softmax_over_scipys_axes(name, axis, rng):
    ours, theirs = getattr(special, name), getattr(scipy.special, name)
    for shape in ((2, 3, 4), (2, 1, 1)):
        x, weights = rng.normal(size=shape), rng.normal(size=shape)
        np.testing.assert_allclose(ours(x, axis), theirs(x, axis), rtol=1e-12, atol=1e-15)
        np.testing.assert_array_equal(wy.vjp(lambda v: ours(v, axis=axis), x)[0], ours(x, axis))
        wy.check_grads(lambda v: np.sum(ours(v, axis) * weights), (x,))  # noqa: B023
        node, other = wy.Input(x), rng.normal(size=(3, 3, 2))
        found = wy.freeze(ours(node, axis)).run({node: x})
        np.testing.assert_allclose(found, theirs(x, axis), rtol=1e-12, atol=1e-15)
    node = wy.Input(rng.normal(size=(2, 3, 4)))
    found = wy.freeze(ours(node, axis)).run({node: other})
    np.testing.assert_allclose(found, theirs(other, axis), rtol=1e-12, atol=1e-15)
    single = ours(np.ones((2, 2, 2), np.float32), axis)
    assert single.dtype == np.float32


def test_defaults_of_softmax():
    x = np.array([[0.0, 1.0], [2.0, 3.0]])
    for name in ("softmax", "log_softmax"):
        theirs = getattr(scipy.special, name)
        np.testing.assert_allclose(getattr(special, name)(x), theirs(x), rtol=1e-14)
        np.testing.assert_allclose(getattr(wy, name)(x), theirs(x, -1), rtol=1e-14)
        np.testing.assert_allclose(getattr(special, name)(2.0), theirs(2.0))
        with pytest.raises(ValueError, match="empty"):
            getattr(special, name)(np.zeros((2, 0)))


def test_scaled_airy_functions_below_zero_are_those_that_do_not_grow(rng):
    x = rng.uniform(-30, 0, 50)
    _, _, bi, slope = scipy.special.airy(x)
    found = special.airye(x)
    for y in found[:2]:
        assert np.isnan(y).all()
    for k, expected in ((2, [bi, slope]), (3, [slope, x * bi])):
        np.testing.assert_allclose(found[k], expected[0], rtol=1e-12, atol=1e-13)
        first = derivative(lambda x, k=k: np.sum(special.airye(x)[k]), 1)(x)
        np.testing.assert_allclose(first, expected[1], rtol=1e-12, atol=1e-12)


def test_scaled_airy_functions_at_zero_bend_without_bound():
    for k, sign in ((0, 1.0), (2, -1.0)):
        second = derivative(lambda x, k=k: special.airye(x)[k], 2)
        assert second(0.0) == sign * np.inf
        assert np.sign(second(1e-12)) == sign


# Order and s.
RIEMANN = [
    (1, 0.0, -0.9189385332046728),
    (2, 0.0, -2.006356455908585),
    (3, 0.5, -96.00330924531907),
    (1, -2.0, -0.03044845705839327),
    (2, -2.5, -0.0337977180364223),
    (1, -60.5, 2.8784864782963413e34),
    (3, -9.0, -0.021729793905894516),
    (1, 1.001, -999999.9271940662),
    (2, 30.0, 4.4746260164732365e-10),
    (5, 2.0, -120.00082433327182),
]


@pytest.mark.parametrize(("order", "s", "expected"), RIEMANN)
def test_derivatives_of_the_riemann_zeta_function(order, s, expected):
    np.testing.assert_allclose(derivative(special.zeta, order)(s), expected, rtol=3e-14)


# Orders in s and q, s, q.
HURWITZ = [
    (1, 0, 1.5, 0.5, -2.0682093782329916),
    (2, 0, 3.0, 1.0, 0.2397469173053872),
    (3, 0, 2.0, 10.0, -4.854677234523198),
    (1, 1, 2.5, 0.25, -571.6771474822444),
    (1, 2, 4.0, 3.0, -0.024972250850889336),
    (1, 0, 50.0, 2.0, -6.156383689796488e-16),
    (2, 1, 1.0001, 7.0, -0.539255011475255),
    (0, 0, 123.69335612105873, 72.2426264758086, 1.4711880658576218e-230),
]


@pytest.mark.parametrize(("in_s", "in_q", "s", "q", "expected"), HURWITZ)
def test_derivatives_of_the_hurwitz_zeta_function(in_s, in_q, s, q, expected):
    found = derivative(special.zeta, in_s, in_q)(s, q)
    np.testing.assert_allclose(found, expected, rtol=3e-14)


@pytest.mark.parametrize(
    "s", [-171.5, -253.0, -260.5, -261.0, -262.25, -1001.0, -2003.0, -3001.5, -1e5 - 1]
)
@pytest.mark.parametrize("order", [0, 1, 2])
def test_the_riemann_zeta_function_far_left(order, s):
    with mp.workdps(60):
        exact = mp.diff(mp.zeta, mpf(s), order, h=mpf(10) ** -25) if order else mp.zeta(mpf(s))
        expected = (
            float(exact) if abs(exact) < 1.7e308 else np.copysign(np.inf, float(mp.sign(exact)))
        )
    np.testing.assert_allclose(derivative(special.zeta, order)(s), expected, rtol=1e-12)


def test_the_riemann_zeta_function_has_zeros_as_far_as_there_are_numbers():
    assert special.zeta(np.array([-2.0, -2000.0, -1e17, -1e300])).tolist() == [0.0] * 4
    assert np.isnan(special.zeta(-np.inf))


@pytest.mark.parametrize("s", [0.5, 0.999, 0.0, -3.0])
def test_where_the_hurwitz_zeta_function_is_nan_so_are_its_derivatives(s):
    assert np.isnan(scipy.special.zeta(s, 2.0))
    for in_s, in_q in [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2)]:
        assert np.isnan(derivative(special.zeta, in_s, in_q)(s, 2.0))


@pytest.mark.parametrize(("in_s", "in_q"), [(0, 1), (1, 1), (0, 2), (2, 1), (1, 2), (0, 3)])
@pytest.mark.parametrize(("s", "q"), [(1.0, 0.5), (1.0, 2.0), (1.5, 1e-3), (2.0, 1.0), (3.5, 60.0)])
def test_mixed_derivatives_of_the_hurwitz_zeta_function(in_s, in_q, s, q):
    with mp.workdps(60):
        # DLMF 25.11.17: those by q are of s + in_q, with a factor.
        def by_q(t):
            return (-1) ** in_q * mp.rf(t, in_q) * mp.zeta(t + in_q, mpf(q))

        exact = mp.diff(by_q, mpf(s), in_s, h=mpf(10) ** -15) if in_s else by_q(mpf(s))
    found = derivative(special.zeta, in_s, in_q)(s, q)
    np.testing.assert_allclose(found, float(exact), rtol=3e-14)


def test_zeta_of_scipy_takes_variables(rng):
    s, q = rng.uniform(1.1, 9, 4), rng.uniform(0.1, 9, (3, 1))
    for y, expected in [
        (scipy.special.zeta(wy.Variable(s)), scipy.special.zeta(s)),
        (scipy.special.zeta(wy.Variable(s), q), scipy.special.zeta(s, q)),
        (scipy.special.zeta(2.0, wy.Variable(q)), scipy.special.zeta(2.0, q)),
    ]:
        assert isinstance(y, wy.Variable)
        np.testing.assert_allclose(y.value, expected, rtol=1e-14)


def test_zeta_of_large_and_small_numbers_ends():
    numbers = [5e-324, 1e-300, 0.5, 1.0, 1.0 + 1e-15, 2.0, 1e10, 1e100, 1.7e308, -0.5, -1e10 - 0.5]
    s, q = np.meshgrid(numbers, numbers)
    value = special.zeta(s, q)
    assert np.isnan(value[s < 1]).all()
    assert not np.isnan(value[(s >= 1) & (q > 0)]).any()
    assert special.zeta(1e10, 1e10).item() == 0.0
    # The sign is that of the nearer of two terms that overflow.
    for s, q in [(1e15 + 1, -0.3), (3001.0, -0.4), (3001.0, -1.4), (1e15 + 1, -20.3)]:
        assert special.zeta(s, q).item() == -np.inf
        assert special.zeta(s, np.floor(q) + 0.3).item() == np.inf
        assert special.zeta(s + 1, q).item() == np.inf
    assert special.zeta(2.0, 1e300).item() == pytest.approx(1e-300)
    assert np.isinf([special.zeta(2.0, -3.0).item(), special.zeta(1.0, 5.0).item()]).all()


# The order in a, a, x.
INCOMPLETE = [
    (1, 1e-08, 0.5, -0.5597736006437566),
    (2, 1e-08, 0.5, -0.5867595646804943),
    (1, 1e-08, 3.0, -0.013048381589111773),
    (1, 0.5, 0.25, -0.797947316783223),
    (2, 0.5, 0.25, 0.8096615461928606),
    (1, 3.0, 2.0, -0.2318486720439896),
    (2, 3.0, 40.0, -2.643640506693295e-14),
    (3, 2.5, 1.5, 0.02581217938604694),
    (3, 40.0, 20.0, -1.7688738257945618e-05),
    (1, 500.0, 300.0, -1.9598843756749183e-26),
    (2, 500.0, 300.0, 1.0013259831707331e-26),
    (1, 1000.0, 1010.0, -0.011945731337225441),
    (2, 1000.0, 900.0, 6.581064795890883e-06),
    (1, 5000.0, 5000.0, -0.00564198986848495),
]


@pytest.mark.parametrize(("order", "a", "x", "expected"), INCOMPLETE)
def test_derivatives_of_incomplete_gamma_functions_by_their_first_argument(order, a, x, expected):
    found = derivative(special.gammainc, order)(a, x)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    np.testing.assert_allclose(derivative(special.gammaincc, order)(a, x), -expected, rtol=1e-13)


@pytest.mark.parametrize("a", [1e6, 1e12, 1e18, 1e300])
def test_incomplete_gamma_functions_of_large_numbers_are_those_of_a_normal_variable(a):
    """By the uniform expansion (DLMF 8.12.3) to its second term: errors of a^(-3/2)."""
    for wanted in (-5.0, -1.0, 0.0, 2.0, 6.0):
        x = a + wanted * np.sqrt(a)
        distance = (x - a) / a
        less = distance - np.log1p(distance) if abs(distance) > 1e-4 else 0.0
        if less == 0.0:
            less = distance**2 * (1 / 2 - distance * (1 / 3 - distance * (1 / 4 - distance / 5)))
        eta = np.copysign(np.sqrt(2 * less), distance)
        # 1 / (λ - 1) - 1 / η, by its series.
        coefficient = -1 / 3 + eta / 12
        rest = np.exp(-a * less) / np.sqrt(2 * np.pi * a) * coefficient
        z = eta * np.sqrt(a / 2)
        lower, upper = scipy.special.erfc([-z, z]) / 2
        tolerance = 1e-11 + 20 / a
        np.testing.assert_allclose(special.gammainc(a, x).item(), lower - rest, rtol=tolerance)
        np.testing.assert_allclose(special.gammaincc(a, x).item(), upper + rest, rtol=tolerance)
        density = np.exp(-a * less) / np.sqrt(2 * np.pi * a)
        slope = wy.grad(special.gammainc, 1)(a, x)
        np.testing.assert_allclose(slope, density * a / x, rtol=1e-11 + 1 / a)
        by_a = wy.grad(special.gammainc)(a, x)
        np.testing.assert_allclose(by_a, -density, rtol=1e-10 + 20 / np.sqrt(a))


def test_incomplete_gamma_functions_at_zero():
    curve = derivative(special.gammainc, 0, 2)
    assert [curve(a, 0.0) for a in (1.0, 2.0, 2.5, 3.0)] == [-1.0, 1.0, 0.0, 0.0]
    third = derivative(special.gammainc, 0, 3)
    assert third(1.0, 0.0) == 1.0
    # The sign of Γ(a - 1), and of Γ(a - 2).
    assert [curve(a, 0.0) for a in (0.25, 0.5, 1.5)] == [-np.inf, -np.inf, np.inf]
    assert [third(a, 0.0) for a in (0.5, 1.5, 2.5)] == [np.inf, -np.inf, np.inf]
    # 1/Γ(a - 1) is 0 at a = 1, and rises.
    assert derivative(special.gammainc, 1, 2)(1.0, 0.0) == np.inf
    slope = wy.grad(special.gammainc, 1)
    assert [slope(a, 0.0) for a in (0.5, 1.0, 2.0)] == [np.inf, 1.0, 0.0]
    for x in (0.25, 3.0):
        # -E_1, the derivative of the lower function where it is 1.
        by_a = wy.grad(special.gammainc)(0.0, x)
        np.testing.assert_allclose(by_a, -scipy.special.exp1(x), rtol=1e-14)
    assert np.isnan([slope(-1.0, 2.0), wy.grad(special.gammainc)(-1.0, 2.0)]).all()


def test_incomplete_gamma_functions_are_probabilities(rng):
    """Also where the other one is less than the distance of 1 to its neighbours."""
    a, x = 10.0 ** rng.uniform(-320, 0, 20_000), 10.0 ** rng.uniform(-5, 0, 20_000)
    lower, upper = special.gammainc(a, x), special.gammaincc(a, x)
    assert lower.max() <= 1.0
    assert upper.min() >= 0.0
    np.testing.assert_allclose(lower + upper, 1.0, rtol=1e-14)


@pytest.mark.parametrize("n", [0, 1, 2, -1])
def test_derivatives_of_bessel_functions_next_to_their_pole_are_infinite(n):
    """At subnormal numbers their neighbours are infinite, too: 0 times that would be NaN."""
    derivative, sign = functools.partial(wy.special.yn, n), -1.0 if n >= 0 else 1.0
    for _ in range(3):
        derivative, sign = wy.grad(derivative), -sign
        for x in (5e-324, 1e-310):
            assert derivative(x) == sign * np.inf
    second = wy.grad(wy.grad(wy.special.y1))
    assert [second(x) for x in (5e-324, 1e-310, 1e-200)] == [-np.inf] * 3


def test_the_sign_of_the_gamma_function_is_scipys():
    numbers = [0.0, -0.0, -0.5, -1.5, -180.5, -171.5, 3.0, 200.0, np.inf, -np.inf, np.nan]
    found = special.gammasgn(np.array(numbers))
    assert found.tolist()[:-2] == [1.0, -1.0, -1.0, 1.0, -1.0, 1.0, 1.0, 1.0, 1.0]
    # SciPy had 0 at the poles, and has NaN.
    assert np.isnan([*found[-2:], *special.gammasgn([-1.0, -2.0])]).all()
    assert wy.grad(special.gammasgn)(-0.5) == 0.0


@pytest.mark.parametrize("d", [0, 1, 2, 5])
def test_the_multivariate_gamma_function_is_scipys(d, rng):
    a = (d - 1) / 2 + rng.uniform(0.1, 9, (2, 3))
    np.testing.assert_allclose(
        special.multigammaln(a, d), scipy.special.multigammaln(a, d), rtol=1e-13, atol=1e-13
    )
    slopes = wy.grad(lambda x: special.multigammaln(x, d).sum())(a)
    expected = sum((scipy.special.digamma(a - j / 2) for j in range(d)), np.zeros_like(a))
    np.testing.assert_allclose(slopes, expected, rtol=1e-12, atol=1e-13)


def test_where_the_multivariate_gamma_function_is_not_there():
    x = wy.Variable(np.float32([1.0, 1.25]))
    y = special.multigammaln(x, 3)
    y.sum().backward()
    assert y.dtype == np.float32
    assert np.isnan([y.value[0], x.grad[0]]).all()
    assert np.isfinite([y.value[1], x.grad[1]]).all()
    assert special.multigammaln(3, 2) == scipy.special.multigammaln(3, 2)
    for d, error in [(1.5, TypeError), ("2", TypeError), (-1, ValueError)]:
        with pytest.raises(error, match=f"multigammaln: d: expected .*, got {d!r}"):
            special.multigammaln(2.0, d)
