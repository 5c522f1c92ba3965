"""Checkpoints: functions that are run again when their gradient is taken."""

import math

import numpy as np
import pytest

import wyrmling as wy


def test_checkpoints_give_the_same_derivatives():
    calls = []

    def block(params, x):
        calls.append(type(x))
        return np.tanh(params["w"] @ x + params["b"])

    params = {"w": np.array([[0.1, 0.2], [0.3, -0.4]]), "b": np.array([0.1, -0.1])}
    x = np.array([0.5, -0.25])

    def loss(block):
        return lambda p, x: np.sum(block(p, block(p, x)) ** 2)

    plain = wy.grad(loss(block), argnums=(0, 1))(params, x)
    calls.clear()
    again = wy.grad(loss(wy.checkpoint(block)), argnums=(0, 1))(params, x)
    assert wy.Variable in calls
    assert np.ndarray in calls
    for a, b in zip((*plain[0].values(), plain[1]), (*again[0].values(), again[1]), strict=True):
        np.testing.assert_allclose(a, b)
    wy.check_grads(loss(wy.checkpoint(block)), (params, x), order=2)


def test_a_checkpoint_does_not_lose_what_it_closes_over():
    w = wy.Parameter(2.0)
    with pytest.raises(TypeError, match="pass them as arguments"):
        wy.checkpoint(lambda x: w * x)(wy.Variable(1.0))
    with pytest.raises(TypeError, match="pass them as arguments"):
        wy.grad(lambda v: wy.checkpoint(lambda x: v * x)(2.0 * v))(1.0)


def flat(tree):
    """All numbers of nested tuples and dicts."""
    if isinstance(tree, dict):
        tree = tuple(tree.values())
    if isinstance(tree, tuple):
        return np.concatenate([flat(part) for part in tree])
    return np.ravel(tree)


def test_checkpoints_return_what_their_function_does():
    def layer(params, x):
        y = np.tanh(params["w"] @ x)
        return {"y": y, "norm": (np.sum(y * y), y.shape[0])}

    def loss(layer):
        def of(params, x):
            first = layer(params, x)
            second = layer(params, first["y"])
            return np.sum(second["y"]) * first["norm"][0] + second["norm"][0] * first["norm"][1]

        return of

    params, x = {"w": np.array([[0.1, 0.2], [0.3, -0.4]])}, np.array([0.5, -0.25])
    for transform in (wy.grad, wy.hessian):
        found = transform(loss(wy.checkpoint(layer)), (0, 1))(params, x)
        expected = transform(loss(layer), (0, 1))(params, x)
        np.testing.assert_allclose(*map(flat, (found, expected)), rtol=1e-12)
    wy.check_grads(loss(wy.checkpoint(layer)), (params, x), order=2)


def counted():
    def cubed(x):
        calls.append(None)
        return x**3 * np.sin(x)

    calls = []
    return cubed, calls


@pytest.mark.parametrize("order", range(1, 9))
def test_a_derivative_runs_the_function_once_more_for_each_order(order):
    cubed, calls = counted()
    f, expected = wy.checkpoint(cubed), cubed
    for _ in range(order):
        f, expected = wy.grad(f), wy.grad(expected)
    value = f(0.7)
    assert len(calls) == order + 1
    np.testing.assert_allclose(value, expected(0.7), rtol=1e-12)


@pytest.mark.parametrize("order", range(1, 7))
def test_checkpoints_of_derivatives_of_checkpoints_run_it_a_few_times_more(order):
    """Each runs again what it is made of, and that runs again what that is made of: as many times
    as there are ways to nest them (the Catalan numbers).
    """
    cubed, calls = counted()
    f, expected = cubed, cubed
    for _ in range(order):
        f, expected = wy.grad(wy.checkpoint(f)), wy.grad(expected)
    value = f(0.7)
    assert len(calls) <= math.comb(2 * order + 2, order + 1) // (order + 2)
    np.testing.assert_allclose(value, expected(0.7), rtol=1e-12)


def test_a_second_derivative_by_many_arguments_runs_the_function_a_few_times():
    calls = []

    def f(*xs):
        calls.append(None)
        return math.prod(xs)

    wy.hessian(lambda xs: wy.checkpoint(f)(*xs))([1.0, 2.0, 3.0, 4.0])
    # Once; once for each argument; and for each of those once more for each argument.
    assert len(calls) <= 1 + 4 + 4 * (4 + 1)
