"""Reductions at their special points: offsets, ties, zeros, equal elements, none at all.

Gradients are compared with exact identities, or with sums that are written out.
"""

import itertools
import math

import numpy as np
import pytest

import wyrmling as wy

TYPES = [np.float32, np.float64]


def offsets(dtype):
    """Numbers to add to all elements, up to where the type ends."""
    largest = float(np.finfo(dtype).max)
    sizes = [0.0, 1.0, 1e3, 1e6, 1e8, 1e16, 1e30, 0.9 * largest]
    return [x for size in sizes for x in (size, -size)]


@pytest.mark.parametrize("dtype", TYPES)
def test_gradients_of_logsumexp_are_shares_at_any_offset(dtype, rng):
    tolerance = 8 * np.finfo(dtype).eps
    x = rng.uniform(-3, 3, (3, 7)).astype(dtype)
    for offset in offsets(dtype):
        moved = x + dtype(offset)
        for axis in (0, 1, None):
            slope = wy.grad(lambda x, axis=axis: np.sum(wy.logsumexp(x, axis)))(moved)
            assert slope.dtype == dtype
            np.testing.assert_allclose(slope.sum(axis), 1.0, rtol=tolerance)
            if axis is not None:
                np.testing.assert_array_equal(slope, wy.softmax(wy.Variable(moved), axis).value)
            # The shares of the numbers as they are, in double precision.
            wide = moved.astype(np.float64)
            shares = np.exp(wide - wide.max(axis, keepdims=True))
            shares /= shares.sum(axis, keepdims=True)
            np.testing.assert_allclose(slope, shares, rtol=32 * np.finfo(dtype).eps, atol=1e-37)


INFINITE = list(itertools.product([-np.inf, 0.0, 1.0, np.inf, np.nan], repeat=3))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weights", [None, 1.0, [1.0, 1.0, 1.0]], ids=str)
def test_infinite_terms_share_the_gradient_of_logsumexp(dtype, weights):
    """As those of a maximum do: -inf alone is a sum of nothing, of which each part is as good."""
    x = np.array(INFINITE, dtype)
    if weights is not None:
        x = x[~(x == np.inf).any(axis=1)]  # An infinite sum of weighted terms has no derivative.
    names = {} if weights is None else {"b": weights}
    value = wy.logsumexp(x, axis=1, **names)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(value, np.logaddexp.reduce(x, axis=1), rtol=1e-6)
    slope = wy.grad(lambda x: np.sum(wy.logsumexp(x, axis=1, **names)))(x)
    assert slope.dtype == dtype
    largest = x.max(axis=1, keepdims=True)
    ties = np.where(x == largest, 1.0, 0.0)
    with np.errstate(all="ignore"):
        finite = np.exp(x - largest)
        expected = np.where(np.isinf(largest), ties, finite)
        expected = np.where(np.isnan(largest), np.nan, expected)
        expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(slope, expected, rtol=1e-6)
    columns = wy.grad(lambda x: np.sum(wy.logsumexp(x, axis=0, **names)))
    if weights is None:
        np.testing.assert_array_equal(columns(x.T), slope.T)
    alone = wy.grad(lambda x: wy.logsumexp(x, **names))(
        np.full(4 if weights == 1.0 else 3, -np.inf)
    )
    np.testing.assert_array_equal(alone, np.full_like(alone, 1.0 / len(alone)))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_gradients_of_two_exponentials_are_shares_at_any_offset(name, dtype, rng):
    f = getattr(wy, name)
    x, y = rng.uniform(-3, 3, (2, 9)).astype(dtype)
    for offset in offsets(dtype):
        a, b = x + dtype(offset), y + dtype(offset)
        first, second = (wy.grad(lambda x, y: np.sum(f(x, y)), k)(a, b) for k in (0, 1))
        np.testing.assert_allclose(first + second, 1.0, rtol=4 * np.finfo(dtype).eps)
        gap = (a.astype(float) - b.astype(float)) * (math.log(2) if name[-1] == "2" else 1)
        np.testing.assert_allclose(first, 1 / (1 + np.exp(-gap)), rtol=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", TYPES)
def test_normalised_exponentials_do_not_see_an_offset(dtype, rng):
    x = rng.uniform(-3, 3, 6).astype(dtype)
    weights = rng.uniform(0.5, 1, 6).astype(dtype)
    tolerance = 16 * np.finfo(dtype).eps
    for offset in offsets(dtype):
        moved = x + dtype(offset)
        wide = moved.astype(float) - float(moved.max())
        p = np.exp(wide) / np.exp(wide).sum()
        first = wy.grad(lambda x: np.sum(wy.softmax(x, 0) * weights))(moved)
        np.testing.assert_allclose(first, p * (weights - (p * weights).sum()), atol=tolerance)
        second = wy.grad(lambda x: np.sum(wy.log_softmax(x, 0) * weights))(moved)
        np.testing.assert_allclose(second, weights - p * weights.sum(), atol=8 * tolerance)


@pytest.mark.parametrize("dtype", TYPES)
def test_spreads_do_not_see_an_offset(dtype, rng):
    """Of numbers that the type holds exactly, so that only the rule can lose digits."""
    x = rng.integers(-8, 8, 7).astype(dtype)
    centred = x.astype(float) - x.astype(float).mean()
    for offset in (0.0, 2.0**10, -(2.0**20)):
        moved = x + dtype(offset)
        # What is taken from the mean is rounded as that is.
        error = 8 * np.finfo(dtype).eps * max(abs(offset), 8.0)
        np.testing.assert_allclose(wy.grad(np.var)(moved), 2 * centred / 7, atol=error)
        std = np.sqrt((centred**2).mean())
        np.testing.assert_allclose(wy.grad(np.std)(moved), centred / 7 / std, atol=error)
        loose = wy.grad(lambda x: np.var(x, ddof=2.0))(moved)
        np.testing.assert_allclose(loose, 2 * centred / 5, atol=error)


@pytest.mark.parametrize("dtype", TYPES)
def test_equal_elements_have_no_spread_and_a_gradient_of_zero(dtype):
    for value in (0.0, 3.0, 1e30):
        x = np.full(4, value, dtype)
        assert not wy.grad(np.var)(x).any()
        assert not wy.grad(np.std)(x).any()
    assert not wy.grad(np.linalg.norm)(np.zeros(3, dtype)).any()
    curve = wy.hessian(np.var)(np.full(3, 2.0))
    np.testing.assert_allclose(curve, 2 / 3 * (np.eye(3) - 1 / 3), atol=1e-15)


@pytest.mark.parametrize("name", ["max", "min"])
def test_equal_extremes_share_the_gradient(name):
    sign = 1.0 if name == "max" else -1.0
    f = getattr(np, name)
    for x, expected in [
        ([1.0, 3.0, 3.0, 2.0], [0.0, 0.5, 0.5, 0.0]),
        ([3.0, 3.0, 3.0], [1 / 3] * 3),
        ([0.0, -0.0], [0.5, 0.5]),
        ([np.inf, 1.0], [1.0, 0.0]),
        ([np.inf, np.inf], [0.5, 0.5]),
    ]:
        np.testing.assert_allclose(wy.grad(f)(sign * np.array(x)), expected, rtol=1e-15)
    x = np.array([[1.0, 1.0], [0.0, 2.0]])
    slope = wy.grad(lambda x: np.sum(f(sign * x, 1)))(x)
    np.testing.assert_array_equal(slope, sign * np.array([[0.5, 0.5], [0.0, 1.0]]))
    assert not wy.hessian(f)(np.array([1.0, 1.0, 0.0])).any()


def test_the_elements_in_the_middle_have_the_gradient_of_the_median():
    assert wy.grad(np.median)(np.array([3.0, 1.0, 2.0])).tolist() == [0.0, 0.0, 1.0]
    assert wy.grad(np.median)(np.array([3.0, 1.0, 2.0, 9.0])).tolist() == [0.5, 0.0, 0.5, 0.0]
    # Of equal elements those that a stable sort has in the middle.
    ties = wy.grad(np.median)(np.array([2.0, 2.0, 2.0]))
    assert sorted(ties.tolist()) == [0.0, 0.0, 1.0]
    weights = np.array([1.0, 10.0, 100.0])
    slope = wy.grad(lambda x: np.sum(np.sort(x) * weights))(np.array([5.0, 5.0, 4.0]))
    assert slope.tolist() == [10.0, 100.0, 1.0]


def products(x):
    """The gradient and the Hessian of a product, each entry as a product of the others."""
    n = len(x)
    without = [
        [np.prod([x[k] for k in range(n) if k not in (i, j)]) for j in range(n)] for i in range(n)
    ]
    slope = [np.prod([x[k] for k in range(n) if k != i]) for i in range(n)]
    return np.array(slope), np.array(without) * (1 - np.eye(n))


@pytest.mark.parametrize("zeros", [[], [1], [0, 3], [0, 1, 2], [0, 1, 2, 3, 4]])
def test_derivatives_of_products_of_zeros(zeros, rng):
    x = rng.uniform(1, 2, 5)
    x[zeros] = 0.0
    slope, curve = products(x)
    np.testing.assert_allclose(wy.grad(np.prod)(x), slope, rtol=1e-14)
    np.testing.assert_allclose(wy.hessian(np.prod)(x), curve, rtol=1e-14)
    # Sums of the products of the first elements.
    slopes, curves = np.zeros(5), np.zeros((5, 5))
    for n in range(1, 6):
        part = products(x[:n])
        slopes[:n] += part[0]
        curves[:n, :n] += part[1]

    def f(x):
        return np.sum(np.cumprod(x))

    np.testing.assert_allclose(wy.grad(f)(x), slopes, rtol=1e-14)
    np.testing.assert_allclose(wy.hessian(f)(x), curves, rtol=1e-14)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_reductions_of_no_elements_are_numpys():
    empty = np.empty((2, 0))
    for f in (np.sum, np.prod, np.mean, np.var, np.std, np.median):
        for axis in (None, 0, 1):
            expected = f(empty, axis=axis)
            found = f(wy.Variable(empty), axis=axis)
            np.testing.assert_array_equal(found.value, expected)
            assert wy.grad(lambda x, f=f, axis=axis: np.sum(f(x, axis=axis)))(empty).shape == (2, 0)
    for f in (np.max, np.min, wy.softmax):
        with pytest.raises(ValueError, match="0"):
            f(wy.Variable(empty), axis=1)
    # More is taken from the divisor than there is.
    one = np.array([2.0])
    np.testing.assert_array_equal(np.var(wy.Variable(one), ddof=1).value, np.var(one, ddof=1))


@pytest.mark.parametrize("dtype", TYPES)
def test_slopes_keep_their_digits_where_the_result_is_one(dtype):
    """The logistic function and the hyperbolic tangent, whose slopes end with the least number."""
    ends = 80.0 if dtype == np.float32 else 700.0
    x = np.linspace(0.0, ends, 500).astype(dtype)
    wide = x.astype(float)
    for f, true in [
        (wy.sigmoid, np.exp(-wide) / (1 + np.exp(-wide)) ** 2),
        (wy.tanh, 4 * np.exp(-2 * wide) / (1 + np.exp(-2 * wide)) ** 2),
    ]:
        for side in (1, -1):
            slope = wy.grad(lambda x, f=f: np.sum(f(x)))(side * x)
            normal = true > np.finfo(dtype).tiny
            tolerance = 6 * np.finfo(dtype).eps
            np.testing.assert_allclose(slope[normal], true[normal], rtol=tolerance)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("names", [{}, {"b": 2.0}, {"return_sign": True}, {"b": -3.0}])
def test_the_logsumexp_of_no_elements_is_that_of_zero(names, dtype):
    signed = "return_sign" in names
    for shape, axis in [
        ((0,), None),
        ((2, 0), 1),
        ((2, 0), None),
        ((0, 3), 0),
        ((2, 0, 3), (0, 1)),
    ]:
        empty = np.empty(shape, dtype)

        def f(x, axis=axis, **more):
            result = wy.logsumexp(x, axis, **names, **more)
            return result[0] if signed else result

        for keepdims in (False, True):
            expected = np.full(np.sum(empty, axis, keepdims=keepdims).shape, -np.inf, dtype)
            x = wy.Variable(empty)
            for found in (f(empty, keepdims=keepdims), f(x, keepdims=keepdims).value):
                np.testing.assert_array_equal(found, expected, strict=not names)
            np.testing.assert_array_equal(wy.freeze(f(x, keepdims=keepdims)).run(), expected)
        if signed:
            assert not np.any(wy.logsumexp(empty, axis, **names)[1])
        sums = lambda x, f=f: np.sum(f(x))  # noqa: E731 (a function of each pass)
        assert wy.grad(sums)(empty).shape == shape
        assert wy.hessian(sums)(empty).shape == 2 * shape
        assert np.shape(wy.jvp(f, (empty,), (empty,))[1]) == np.sum(empty, axis).shape
    empty = np.empty((2, 0))
    found = np.logaddexp.reduce(wy.Variable(empty), axis=1).value
    np.testing.assert_array_equal(found, np.logaddexp.reduce(empty, axis=1))


def test_a_frozen_logsumexp_runs_on_an_empty_batch():
    x = wy.Input(np.ones((3, 2)))
    w = wy.Parameter(np.zeros(2))
    for axis, expected in ((0, [-np.inf] * 2), (1, []), (None, -np.inf)):
        program = wy.freeze(wy.logsumexp(x + w, axis))
        np.testing.assert_array_equal(program.run({x: np.empty((0, 2))}), expected)
        np.testing.assert_allclose(
            program.run({x: np.ones((4, 2))}), np.log(np.exp(np.ones((4, 2))).sum(axis))
        )
    # The gradient, and the gradient of the gradient, of a program that was built on three rows.
    shares = wy.grad(lambda w: np.sum(wy.logsumexp(x + w, 0)))
    for y in (np.sum(wy.logsumexp(x + w, 0)), np.sum(shares(w) ** 2)):
        _, gradients = wy.freeze(y).value_and_grad({x: np.empty((0, 2))})
        np.testing.assert_array_equal(gradients[w], np.zeros(2))


@pytest.mark.parametrize("dtype", TYPES)
def test_second_derivatives_of_logsumexp_are_those_of_what_has_a_share(dtype):
    inf = np.inf
    for x in ([-inf, 0.0, 1.0], [0.0, 1.0, 3.0], [inf, 1.0, inf], [inf, -inf, 0.0], [-inf] * 3):
        x = np.array(x, dtype)
        shares = np.zeros(3)
        if np.isfinite(np.max(x)):
            shares = np.exp(x - np.max(x)) / np.sum(np.exp(x - np.max(x)))
        expected = np.diag(shares) - np.outer(shares, shares)
        found = wy.hessian(wy.logsumexp)(x)
        np.testing.assert_allclose(found, expected, rtol=0, atol=4 * np.finfo(dtype).eps)
    assert np.isnan(wy.hessian(wy.logsumexp)(np.array([np.nan, 1.0], dtype))).all()


def test_linear_recurrence_has_the_wider_type_and_the_shape_of_its_first_operand():
    x = np.ones((2, 3), np.float32)
    for factors, dtype in ((0.5, np.float32), (np.float64(0.5), np.float64), (x, np.float32)):
        assert wy.linear_recurrence(x, factors).dtype == dtype
        assert wy.linear_recurrence(wy.Variable(x), factors).dtype == dtype
    assert wy.linear_recurrence([1, 2], 1).tolist() == [1.0, 3.0]
    # The factor of the first step is not used, whatever it is.
    np.testing.assert_array_equal(wy.linear_recurrence([1.0, 2.0], [np.nan, 3.0]), [1.0, 5.0])
    for shape, axis in (((0, 3), 0), ((3, 0), 1)):
        assert wy.linear_recurrence(np.ones(shape), 2.0, axis).shape == shape


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ([1e200, 1e200, -1e200], [-np.inf, -np.inf, np.inf]),
        ([3e200, 3e200], [3e200 + 1.0, 3e200]),
        ([-np.inf, -np.inf], [-np.inf, -np.inf]),
        ([2.0, np.inf], [np.inf, 2.0]),
    ],
)
@pytest.mark.parametrize("mode", ["trace", "source"])
def test_gradients_of_running_products_overflow_as_products_do(x, expected, mode):
    """The first element is multiplied by nothing before it: 0 times infinity would be NaN there."""
    x = np.array(x)
    found = wy.grad(lambda x: np.sum(np.cumprod(x)), mode=mode)(x)
    np.testing.assert_array_equal(found, expected)
    # The first factor is not used, whatever the elements count for.
    for factors in ([2.0, np.inf, 2.0], [np.nan, 2.0, np.inf]):
        found = wy.grad(lambda f: np.sum(wy.linear_recurrence(np.ones(3), f)), mode=mode)(
            np.array(factors)
        )
        assert found[0] == 0.0


def test_linear_recurrence_names_what_does_not_fit():
    x = np.ones((2, 3))
    refused = (
        (ValueError, r"shapes \(2, 3\) and \(3, 2\)", lambda: wy.linear_recurrence(x, x.T)),
        (ValueError, r"factors of shape \(2, 3\)", lambda: wy.linear_recurrence(x[0], x)),
        (ValueError, "axis 2 is out of range", lambda: wy.linear_recurrence(x, 1.0, 2)),
        (ValueError, "axis 0 is out of range", lambda: wy.linear_recurrence(1.0, 1.0)),
        (TypeError, "complex128", lambda: wy.linear_recurrence(x + 1j, 1.0)),
    )
    for error, text, call in refused:
        with pytest.raises(error, match="linear_recurrence: .*" + text):
            call()


LONG_SUMS = {
    "all": ((3_000_001,), None),
    "rows": ((400_003, 3), 0),
    "columns": ((3, 700_001), 1),
    "outer and last": ((5, 3, 300_001), (0, 2)),
    "outer and middle": ((7, 100_003, 2), (0, 1)),
    "inside": ((2, 300_001, 3), 1),
    "three": ((300_001, 2, 1, 3), (0, 1)),
}


@pytest.mark.parametrize("case", LONG_SUMS)
@pytest.mark.parametrize("mean", [False, True])
def test_sums_of_many_equal_numbers_keep_their_digits(case, mean):
    """The rounding errors of equal numbers have one sign: a running sum is off by percents."""
    shape, axis = LONG_SUMS[case]
    x = wy.Parameter(np.full(shape, 0.1, np.float32))
    total = np.mean(x, axis) if mean else np.sum(x, axis)
    exact = np.full(shape, np.float64(np.float32(0.1))).sum(axis)
    exact = exact / (x.size / total.size) if mean else exact
    np.testing.assert_allclose(total.value, exact, rtol=2e-5)
    loss = np.sum(total)
    np.testing.assert_allclose(wy.freeze(loss).run(), loss.value, rtol=1e-6)


@pytest.mark.parametrize("case", ["all", "rows", "columns", "inside"])
def test_norms_of_many_equal_numbers_keep_their_digits(case):
    shape, axis = LONG_SUMS[case]
    number, x = np.float64(np.float32(0.1)), np.full(shape, 0.1, np.float32)
    count = x.size // np.sum(x, axis).size
    norm = wy.value_and_grad(lambda x: np.sum(np.linalg.norm(x, axis=axis)))
    value, slope = norm(x)
    np.testing.assert_allclose(value, np.sqrt(count) * number * (x.size // count), rtol=2e-5)
    np.testing.assert_allclose(slope, 1 / np.sqrt(count), rtol=2e-5)


@pytest.mark.parametrize("mode", ["source", "trace"])
def test_gradients_of_repeated_numbers_keep_their_digits(mode):
    x = np.full((1 << 20, 3), 0.1, np.float32)
    slope = wy.grad(lambda w, x: np.sum(w * x), mode=mode)
    exact = np.float64(np.float32(0.1)) * len(x)
    np.testing.assert_allclose(slope(np.float32(1), x), 3 * exact, rtol=1e-6)
    np.testing.assert_allclose(slope(np.ones(3, np.float32), x), exact, rtol=2e-5)


@pytest.mark.parametrize("dtype", TYPES)
def test_long_products_and_exponentials_keep_their_digits(dtype):
    x = np.full(3_000_001, 0.1, dtype)
    number, eps = np.float64(dtype(0.1)), np.finfo(dtype).eps
    v = wy.Parameter(x)
    for product in (v @ x, wy.vecdot(v, x), (v[None] @ x[:, None])[0, 0], np.sum(v * v)):
        np.testing.assert_allclose(product.value, len(x) * number**2, rtol=100 * eps)
    np.testing.assert_allclose(wy.logsumexp(v).value, np.log(len(x)) + number, rtol=10 * eps)
    np.testing.assert_allclose(wy.softmax(v).value, 1 / len(x), rtol=100 * eps)
