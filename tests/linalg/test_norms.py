"""Norms: at zero, of no elements, of infinite numbers and NaN, and derivatives by their order."""

import math

import numpy as np
import pytest
from mpmath import mp, mpf

import wyrmling as wy


@pytest.mark.parametrize("order", [None, 1, 2, 3, "fro", "nuc", math.inf])
def test_norms_at_zero_have_the_gradient_zero(order):
    for shape in [(3,), (3, 2)]:
        if (len(shape) == 1 and isinstance(order, str)) or (len(shape) == 2 and order == 3):
            continue
        v = wy.Variable(np.zeros(shape))
        y = wy.linalg.norm(v, order)
        y.backward()
        assert y.item() == 0.0
        np.testing.assert_array_equal(v.grad, np.zeros(shape))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "x",
    [
        [[3e200, 4e200], [3e-200, 4e-200]],
        [[1.5e308, 1.5e308], [5e-324, 0.0]],
        [[3e-160, 4e-160], [3e-155, 1e-320]],
        [[3e25, 4e25], [3e-25, 4e-25]],
        [[1e38, 2e38], [1e-45, 3e-45]],
        [[3.0, 4.0], [0.0, 0.0]],
    ],
)
def test_gradients_of_norms_whose_squares_overflow_or_vanish(x, dtype):
    with np.errstate(over="ignore", under="ignore"):
        x = np.array(x, dtype)
        expected = np.linalg.norm(x, axis=1)
    if not np.isfinite(x).all():
        return
    # The direction, and the second derivative, by mpmath's range.
    direction, bend = np.zeros_like(x), np.zeros((2, 2, 2))
    for k, row in enumerate(x):
        exact = [mpf(float(v)) for v in row]
        length = mp.sqrt(sum(v * v for v in exact))
        if length:
            direction[k] = [float(v / length) for v in exact]
            for i, j in np.ndindex(2, 2):
                bend[k, i, j] = ((i == j) - exact[i] * exact[j] / length**2) / length
    for axis, order in [(1, None), (1, 2), (-1, 2)]:
        v = wy.Variable(x)
        y = np.linalg.norm(v, order, axis)
        np.sum(y).backward()
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(
                y.value, expected, rtol=1e-6 if dtype == np.float32 else 1e-15
            )
        np.testing.assert_allclose(v.grad, direction, rtol=3e-7 if dtype == np.float32 else 1e-15)
    for row, first, second in zip(x, direction, bend, strict=True):
        np.testing.assert_allclose(wy.grad(np.linalg.norm)(row), first, rtol=3e-7)
        if np.abs(second).max() < np.finfo(dtype).max:
            found = wy.hessian(np.linalg.norm)(row)
            scale = np.abs(second).max()
            tolerance = 1e-6 if dtype == np.float32 else 1e-14
            # The reciprocal of a length beyond the largest number is 0.
            least = np.finfo(dtype).tiny
            atol = max(tolerance * scale, least)
            np.testing.assert_allclose(found, second, rtol=tolerance, atol=atol)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", [None, "fro", "nuc", 0, 1, -1, 2, -2, 3, math.inf, -math.inf])
def test_norms_of_no_elements_are_numpys(shape, dtype, order):
    x = np.zeros(shape, dtype)
    for axis in (None, 0, -1, (0, 1), (-1, 0)):
        for keepdims in (False, True):
            try:
                with np.errstate(divide="ignore"):
                    expected = np.linalg.norm(x, order, axis, keepdims)
            except ValueError:  # AxisError is one
                with pytest.raises(ValueError, match=r"norm|axis|max|min"):
                    np.linalg.norm(wy.Variable(x), order, axis, keepdims)
                continue
            got = np.linalg.norm(wy.Variable(x), order, axis, keepdims)
            assert (got.shape, got.dtype) == (np.shape(expected), dtype)
            np.testing.assert_array_equal(got.value, expected)
            if order != 0:
                v = wy.Variable(x)
                np.sum(np.linalg.norm(v, order, axis)).backward()
                assert v.grad.shape == shape


def test_a_norm_of_none_is_no_norm_of_others():
    x = wy.Input(np.zeros(0))
    program = wy.freeze(np.linalg.norm(x, math.inf))
    assert program.run({x: []}) == 0.0
    with pytest.raises(ValueError, match="norm"):
        program.run({x: [1.0]})


def test_norms_of_negative_order_of_infinite_numbers():
    x = np.array([np.inf, -np.inf])
    # As NumPy's, which warns: 1 / (1/∞ + 1/∞).
    assert np.linalg.norm(wy.Variable(x), -1).item() == np.inf


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0, 0.5, 1.5, -1.0, -2.0, -0.5])
def test_norms_are_differentiated_by_their_order(order, rng):
    x = rng.normal(size=(2, 3))
    for f in (
        lambda p: wy.linalg.norm(x[0], p),
        lambda p: np.sum(wy.linalg.norm(x, ord=p, axis=0)),
        lambda p: np.sum(wy.linalg.norm(x, p, -1, True)),
        lambda p: np.sum(wy.linalg.vector_norm(x, axis=(0, 1), ord=p)),
    ):
        value, slope = wy.value_and_grad(f)(order)
        np.testing.assert_allclose(value, f(order), rtol=1e-15)
        np.testing.assert_allclose(
            slope, (f(order + 1e-5) - f(order - 1e-5)) / 2e-5, rtol=1e-5, atol=1e-9
        )
        wy.check_grads(f, (order,))
    wy.check_grads(lambda v: np.linalg.norm(v[:2], ord=v[2]), (np.array([1.0, 2.0, order]),))
    for zeros in ([0.0, 1.0], [0.0, 0.0]):
        assert wy.value_and_grad(lambda p: wy.linalg.norm(zeros, p))(order) == (  # noqa: B023
            np.linalg.norm(zeros, order) if order > 0 else 0.0,
            0.0,
        )


@pytest.mark.parametrize("order", [0.0, math.inf, -math.inf, 1.0, 2.0, -2.0])
def test_orders_without_a_derivative_are_refused(order):
    matrix = np.eye(2)
    refused = [
        lambda p: wy.linalg.norm(matrix, p),
        lambda p: wy.linalg.matrix_norm(matrix, ord=p),
        lambda p: wy.linalg.cond(matrix, p),
        lambda p: np.linalg.norm(matrix * p, p),
        lambda p: np.linalg.cond(matrix * p, p),
    ]
    if order == 0 or math.isinf(order):
        refused += [
            lambda p: wy.linalg.norm(matrix[0], p),
            lambda p: np.linalg.norm(p * np.ones(1), p),
        ]
    for f in refused:
        # What has no such norm with plain numbers says so itself.
        with pytest.raises(
            (TypeError, ValueError), match=r"norm: (ord: |0\.0 is no order)|norm order"
        ):
            wy.grad(f)(order)
        with pytest.raises(TypeError, match="norm: ord: "):
            wy.grad(f, mode="trace")(order)
    with pytest.raises(TypeError, match="norm: ord: this follows an input"):
        wy.linalg.norm(matrix[0], wy.Input(order))
    with pytest.raises(TypeError, match="norm: ord: expected one number"):
        wy.linalg.norm(matrix[0], wy.Variable([1.0, 2.0]))


def test_norms_see_nan():
    assert math.isnan(wy.linalg.norm([math.nan, 0.0]).item())
