"""``x[…]`` selects what NumPy selects, whatever the slices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import wyrmling as wy

SHAPES = npst.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


@given(st.data())
def test_basic_slices(data):
    shape = data.draw(SHAPES)
    key = data.draw(npst.basic_indices(shape, allow_newaxis=True))
    x = np.arange(float(np.prod(shape))).reshape(shape)
    v = wy.Variable(x)
    y = v[key]
    np.testing.assert_array_equal(y.value, x[key])
    y.backward()
    expected = np.zeros(shape)
    expected[key] = 1.0
    np.testing.assert_array_equal(v.grad, expected)
    value, grads = wy.freeze(y).value_and_grad()
    np.testing.assert_array_equal(value, x[key])
    np.testing.assert_array_equal(grads[v], expected)


@given(st.data())
def test_rows_by_integers(data):
    shape = data.draw(npst.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4))
    rows = st.integers(-shape[0], shape[0] - 1)
    inner = npst.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=3)
    index = data.draw(npst.arrays(np.int64, inner, elements=rows))
    x = np.arange(float(np.prod(shape))).reshape(shape)
    v = wy.Variable(x)
    y = v[index]
    np.testing.assert_array_equal(y.value, x[index])
    y.backward()
    expected = np.zeros(shape)
    np.add.at(expected, index, 1.0)
    np.testing.assert_array_equal(v.grad.to_dense(), expected)


@given(st.data())
def test_broadcasting(data):
    shapes = data.draw(npst.mutually_broadcastable_shapes(num_shapes=2, max_dims=4, max_side=3))
    a, b = (np.arange(1.0, np.prod(s) + 1.0).reshape(s) for s in shapes.input_shapes)
    x, y = wy.Variable(a), wy.Variable(b)
    z = x * y
    np.testing.assert_array_equal(z.value, a * b)
    z.backward()
    ones = np.ones(shapes.result_shape)

    def back(full, shape):
        """Sums over the axes along which ``shape`` was repeated."""
        lead = full.ndim - len(shape)
        full = full.sum(tuple(range(lead)))
        repeated = tuple(k for k, n in enumerate(shape) if n == 1 and full.shape[k] != 1)
        return full.sum(repeated, keepdims=True)

    np.testing.assert_allclose(x.grad, back(ones * b, a.shape))
    np.testing.assert_allclose(y.grad, back(ones * a, b.shape))


def rows_of(key):
    """An input, a parameter, and rows of their product looked up in both ways."""
    x = wy.Input(np.arange(8.0).reshape(4, 2), name="x")
    w = wy.Parameter(np.array([1.0, 10.0]), name="w")
    y = x * w
    return x, w, y[key], wy.gather(y, key)


@pytest.mark.parametrize(
    "key",
    [[-1, 0], [-1], [1, -2, -2, 0], [[-1, 0], [1, -3]], np.array([-3, -1]), np.array(-2)],
    ids=str,
)
def test_negative_rows_count_from_the_end_of_what_an_input_becomes(key):
    x, w, *looked_up = rows_of(key)
    at = np.asarray(key)
    for y in looked_up:
        x.value = np.zeros((4, 2))
        program = wy.freeze(y)
        for n in (4, 7, 3):
            value = np.arange(2.0 * n).reshape(n, 2)
            x.value = value
            expected = (value * [1.0, 10.0])[at]
            np.testing.assert_array_equal(y.value, expected)
            np.testing.assert_array_equal(program.run({x: value}), expected)
            w.zero_grad()
            y.backward()
            gradient = value[at].reshape(-1, 2).sum(0)
            np.testing.assert_array_equal(w.grad, gradient)
            np.testing.assert_array_equal(program.value_and_grad({x: value})[1][w], gradient)
        x.value = np.zeros((1, 2))
        if at.min() < -1 or at.max() > 0:
            with pytest.raises(IndexError, match="out of range"):
                y.forward()
            with pytest.raises(IndexError, match="out of range"):
                program.run({x: np.zeros((1, 2))})


def test_negative_rows_of_a_parameter_stay_rows():
    w = wy.Parameter(np.zeros((5, 2)))
    w[[-1, 0]].backward()
    assert w.grad.indices.tolist() == [4, 0]
