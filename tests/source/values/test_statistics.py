"""Functions of ``statistics`` of floats, which tracing cannot do: it adds fractions."""

import math
import random
import statistics

import numpy as np
import pytest

import wyrmling as wy


def mean(a, b, c):
    return statistics.mean([a, b, c, 2])


def variance(a, b, c):
    return statistics.variance([a, b, c])


def variance_about(a, b, c):
    return statistics.variance((a, b, c), 0.5) + statistics.pvariance([a, b], mu=c)


def pvariance(a, b, c):
    return statistics.pvariance([a, b, c])


def stdev(a, b, c):
    return statistics.stdev([a, b, c])


def pstdev(a, b, c):
    return statistics.pstdev([x * x for x in (a, b, c)])


@pytest.mark.parametrize("f", [mean, variance, variance_about, pvariance, stdev, pstdev])
def test_values_and_gradients(f):
    fast = wy.compile(f, mode="source")
    random.seed(4)
    for _ in range(200):
        centre, spread = random.choice([0.0, 1.0, 1e6]), 10.0 ** random.randint(-3, 3)
        numbers = [centre + random.gauss(0, 1) * spread for _ in range(3)]
        expected = f(*numbers)
        assert abs(fast(*numbers) - expected) <= 3 * math.ulp(expected)
    at = (1.3, 0.7, -0.4)
    step = 1e-5
    for mode in ("source", "auto"):
        gradient = wy.grad(f, (0, 1, 2), mode=mode)(*at)
        for k, slope in enumerate(gradient):
            ends = [f(*(x + way * step * (n == k) for n, x in enumerate(at))) for way in (1, -1)]
            assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: statistics.mean(x) + statistics.stdev(x),
        lambda x: statistics.pvariance(list(x)),
        lambda x: statistics.variance([*x, 1, 2.0], 0.5),
        lambda x: statistics.mean(math.sin(v) for v in x),
        lambda x: statistics.pstdev(v * v for v in x if v > 0.0),
    ],
)
def test_arrays_and_generators(f):
    """NumPy's numbers give NumPy's."""
    for x in (np.array([1.0, 2.5, -0.3]), np.array([0.5, 2.0])):
        assert isinstance(wy.compile(f)(x), type(f(x)))
        for mode in ("source", "auto"):
            value, gradient = wy.value_and_grad(f, mode=mode)(x)
            assert value == pytest.approx(f(x), rel=1e-15)
            for at, slope in enumerate(gradient):
                step = 1e-5 * (np.arange(len(x)) == at)
                expected = (f(x + step) - f(x - step)) / 2e-5
                assert slope == pytest.approx(expected, rel=1e-7, abs=1e-9)
    for mode in ("source", "auto"):
        with pytest.raises(statistics.StatisticsError):
            wy.grad(lambda x: statistics.mean(v * v for v in x if v > 0.0), mode=mode)(-x)


def one(x):
    return statistics.variance([x])


def one_that_is_handled(x):
    try:
        return statistics.variance([x])
    except ValueError:
        return 2.0 * x


def of_integers(x):
    return statistics.mean([1, 2, 4]) * x


def test_what_is_refused_or_raised():
    with pytest.raises(statistics.StatisticsError):
        wy.compile(one, mode="source")(1.5)
    assert wy.grad(one_that_is_handled, mode="source")(1.5) == 2.0
    with pytest.raises(wy.SourceError, match="give it a list of floats"):
        wy.grad(of_integers, mode="source")(1.5)
    assert wy.grad(of_integers)(1.5) == statistics.mean([1, 2, 4])


def beyond_floats(x, y):
    try:
        return statistics.stdev([x, y, 1.0])
    except Exception:
        return -1.0


def mean_square(x, y):
    return statistics.pvariance([x, y], 0.0)


@pytest.mark.parametrize(
    "numbers", [(1e160, 2e160), (-1e200, 1e200), (1.0, 1e-200), (math.inf, 1.0), (1.0, 1.0)]
)
def test_squares_that_no_float_holds_are_python_s(numbers):
    fast = wy.compile(beyond_floats, mode="source")
    for _ in range(2):
        assert fast(*numbers) == pytest.approx(beyond_floats(*numbers), rel=1e-15)


def test_variances_of_small_numbers_are_python_s():
    fast = wy.compile(mean_square, mode="source")
    for numbers in ((1e-150, 3e-150), (1e-155, 0.0), (0.0, 0.0), (1e-161, 2e-161)):
        assert fast(*numbers) == pytest.approx(mean_square(*numbers), rel=1e-15, abs=0.0)
    for numbers in ((1e160, 1.0), (math.inf, 1.0)):
        expected = outcome(mean_square, numbers)
        assert outcome(fast, numbers) == expected
    # Fractions cannot be traced.
    with pytest.raises(TypeError, match="float"):
        wy.grad(mean_square)(1e160, 1.0)
    assert wy.grad(mean_square, (0, 1))(1e150, 1.0) == (1e150, 1.0)


def outcome(f, args):
    try:
        return f(*args)
    except OverflowError as error:
        return str(error)
