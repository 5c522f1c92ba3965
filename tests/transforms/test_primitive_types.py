"""Element types of what primitives and checkpoints are given, and of what checkpoints give."""

import numpy as np
import pytest

import wyrmling as wy

DISCRETE = {
    "mask twice": (lambda x, d: np.sum((d + d) * x), lambda x: x > 0.5),
    "inverted": (lambda x, d: np.sum(np.where(~d, x, 0.0)), lambda x: x > 0.5),
    "in a dict": (lambda x, d: np.sum(x * ~d["m"]), lambda x: {"m": x > 0.5}),
    "sorted": (lambda x, d: np.sum(x[d] * np.arange(3.0)), lambda x: np.argsort(x)),
    "integers": (lambda x, d: np.sum(x * (d // 2)), lambda x: np.argsort(x) * 3),
}


@pytest.mark.parametrize("make", [wy.primitive, wy.checkpoint])
@pytest.mark.parametrize("name", DISCRETE)
def test_masks_and_integers_are_arguments_of_their_type(name, make):
    """A function that is a primitive or checkpoint gives what it gives without."""
    f, discrete = DISCRETE[name]
    same = make(f)
    if make is wy.primitive:
        same.defvjp(lambda g, ans, x, d: g * wy.grad(f)(x, d))
    value = np.array([0.3, 0.9, 0.7])
    expected = f(value, discrete(value))
    slope = wy.grad(f)(value, discrete(value))
    second = wy.hessian(f)(value, discrete(value))
    x, w = wy.Input(np.zeros(3)), wy.Parameter(np.ones(3))
    loss = same(x * w, discrete(x * w))
    program = wy.freeze(loss)
    x.value = value
    np.testing.assert_allclose(loss.value, expected)
    np.testing.assert_allclose(program.run({x: value}), expected)
    loss.backward()
    np.testing.assert_allclose(w.grad, slope * value)
    np.testing.assert_allclose(program.value_and_grad({x: value})[1][w], slope * value)
    np.testing.assert_allclose(wy.grad(lambda x: same(x, discrete(x)))(value), slope)
    np.testing.assert_allclose(wy.hessian(lambda x: same(x, discrete(x)))(value), second)
    moved = wy.jvp(lambda x: same(x, discrete(x)), (value,), (value,))[1]
    np.testing.assert_allclose(moved, slope @ value)


def test_results_of_checkpoints_have_the_types_of_those_without():
    def f(x):
        return {"m": x > 0.5, "i": np.argsort(x), "n": 3, "t": True, "x": x * 2.0}

    def loss(f, x):
        y = f(x)
        return np.sum(y["x"][y["i"]] * np.arange(3.0) * (y["m"] + y["m"]) * y["n"])

    same = wy.checkpoint(f)
    value = np.array([0.3, 0.9, 0.7])
    x, y = wy.Input(value), wy.Input(np.zeros(3))
    kinds = {name: same(x)[name].dtype for name in "mintx"}
    assert kinds == {"m": bool, "i": np.int64, "n": np.int64, "t": bool, "x": np.float64}
    np.testing.assert_array_equal(
        wy.grad(lambda x: loss(same, x))(value), wy.grad(lambda x: loss(f, x))(value)
    )
    result = loss(same, y)
    program = wy.freeze(result)
    y.value = value
    assert result.item() == program.run({y: value}) == loss(f, value)
    alone = wy.checkpoint(lambda x: x > 0.5)(x)
    assert alone.dtype == bool
    np.testing.assert_array_equal(alone.value, value > 0.5)
