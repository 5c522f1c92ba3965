"""float32 arrays stay float32 with Python's numbers, as in NumPy 2, whatever the number is."""

import operator

import numpy as np
import pytest

import wyrmling as wy

W = np.array([0.5, -2.0, 0.0, 3e38], np.float32)
FUNCTIONS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "reversed": lambda w, x: x - w,
    "maximum": np.maximum,
    "several": lambda w, x: x * w * 0.1 + x,
    "np.float64": lambda w, x: w * np.exp(x),
}

adapting = pytest.mark.skipif(
    int(np.__version__.split(".")[0]) < 2, reason="Python's numbers adapt since NumPy 2"
)


@adapting
@pytest.mark.parametrize("x", [0.3, -0.0, 1e-50, 1e300, 3, -(2**24) - 1, float("nan")])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_numpys(name, x):
    function = FUNCTIONS[name]

    def f(w, x):
        return function(w, x)

    with np.errstate(all="ignore"):
        expected = f(W, x)
    found = wy.compile(f, mode="source")(W, x)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@adapting
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_those_of_the_trace(name):
    function = FUNCTIONS[name]

    def f(w, x):
        return np.sum(function(w, x))

    read, traced = (
        wy.grad(f, argnums=(0, 1), mode=mode)(W[:3], 0.75) for mode in ("source", "trace")
    )
    assert read[0].dtype == traced[0].dtype == np.float32
    assert type(read[1]) is type(traced[1]) is float
    np.testing.assert_allclose(read[0], traced[0], rtol=1e-6)
    assert read[1] == pytest.approx(traced[1], rel=1e-6)


def test_numbers_of_single_precision_stay_so_whichever_numpy_there_is():
    def f(w, x):
        return np.sum(w * 0.5 + w[0] * 2.0) + w[1] * x * 3.0

    read, traced = (wy.grad(f, mode=mode)(W[:3], 0.75) for mode in ("source", "trace"))
    assert read.dtype == traced.dtype == np.float32
    np.testing.assert_allclose(read, [6.5, 2.75, 0.5], rtol=1e-6)
    np.testing.assert_allclose(traced, read, rtol=1e-6)


TENTH = 0.1


def power_of_a_tenth(x):
    return np.float_power(TENTH, x) + np.float_power(x, TENTH)


@pytest.mark.parametrize("x", [np.float32(1.25), np.array([1.25], np.float32)])
def test_float_power_takes_numbers_of_python_in_float64(x):
    """Others take them in float32 beside float32."""
    value, _ = wy.vjp(power_of_a_tenth, x, mode="source")
    expected = power_of_a_tenth(x)
    assert np.shape(value) == np.shape(expected)
    assert np.asarray(value).dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(value, expected, rtol=1e-15)
