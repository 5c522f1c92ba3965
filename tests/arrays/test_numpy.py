"""NumPy's functions and operators on our objects."""

import numpy as np
import pytest
import scipy.special

import wyrmling as wy

UNARY = "exp log log1p expm1 sqrt square abs absolute sin cos tan tanh negative sign reciprocal"
BINARY = "add subtract multiply divide true_divide power maximum minimum"
COMPARISONS = "greater greater_equal less less_equal equal"


@pytest.mark.parametrize("name", UNARY.split())
def test_unary_ufuncs(name):
    x = np.array([0.5, 1.5])
    f = getattr(np, name)
    got = f(wy.Variable(x))
    assert isinstance(got, wy.Variable)
    np.testing.assert_allclose(got.value, f(x), rtol=1e-14)


@pytest.mark.parametrize("name", BINARY.split())
def test_binary_ufuncs_with_a_variable_on_either_side(name):
    f = getattr(np, name)
    x, y = np.array([[0.5], [1.5]]), np.array([2.0, 3.0])
    for got in (f(wy.Variable(x), y), f(x, wy.Variable(y)), f(wy.Variable(x), wy.Variable(y))):
        assert isinstance(got, wy.Variable)
        np.testing.assert_allclose(got.value, f(x, y), rtol=1e-14)


@pytest.mark.parametrize("name", COMPARISONS.split())
def test_comparisons_give_masks(name):
    f = getattr(np, name)
    x, y = np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 2.0])
    np.testing.assert_array_equal(f(wy.Variable(x), y).value, f(x, y).astype(float))


def test_array_on_the_left():
    a, v = np.array([1.0, 2.0]), wy.Variable([3.0, 4.0])
    for got, expected in [
        (a + v, [4.0, 6.0]),
        (a - v, [-2.0, -2.0]),
        (a * v, [3.0, 8.0]),
        (a / v, [1 / 3, 0.5]),
        (a**v, [1.0, 16.0]),
        (a @ v, 11.0),
        (a < v, [1.0, 1.0]),
        (np.float64(2.0) * v, [6.0, 8.0]),
        (np.int64(2) * v, [6.0, 8.0]),
    ]:
        assert isinstance(got, wy.Variable)
        np.testing.assert_allclose(got.value, expected)


def test_masks_as_arrays_on_the_left():
    mask, v = np.array([True, False, True]), wy.Variable([1.0, 2.0, -1.0])
    for got, expected in [
        (mask & (v > 0), [1.0, 0.0, 0.0]),
        (mask | (v > 0), [1.0, 1.0, 1.0]),
        (mask ^ (v > 0), [0.0, 1.0, 1.0]),
        (np.bitwise_and(v > 0, mask), [1.0, 0.0, 0.0]),
        (np.invert(v > 0), [0.0, 0.0, 1.0]),
        (np.divmod(7.0, v)[1], [0.0, 1.0, 0.0]),
        (divmod(np.array([7.0, 7.5, 7.25]), v)[1], [0.0, 1.5, -0.75]),
    ]:
        np.testing.assert_array_equal(got.value, expected)
    with pytest.raises(TypeError, match="expected a mask"):
        np.arange(3) & (v > 0)


def test_in_place_arithmetic_on_an_array_is_refused():
    a = np.zeros(2)
    with pytest.raises(TypeError, match="out"):
        a += wy.Variable([1.0, 1.0])
    assert a.tolist() == [0.0, 0.0]
    v = wy.Variable([1.0, 1.0])
    w = v
    w += 1.0
    assert v.value.tolist() == [1.0, 1.0]


def test_functions():
    x = np.arange(6.0).reshape(2, 3)
    y = np.arange(6.0, 12.0).reshape(2, 3)
    v, w = wy.Variable(x), wy.Variable(y)
    calls = [
        lambda x, y: np.sum(x),
        lambda x, y: np.sum(x, axis=0, keepdims=True),
        lambda x, y: np.mean(x, axis=(0, 1)),
        lambda x, y: np.max(x, axis=-1),
        lambda x, y: np.min(x),
        lambda x, y: np.amax(x),
        lambda x, y: np.amin(x, 0),
        lambda x, y: np.dot(x, y.T),
        lambda x, y: np.matmul(x, np.transpose(y)),
        lambda x, y: np.outer(x[0], y[1]),
        lambda x, y: np.trace(x @ y.T),
        lambda x, y: np.transpose(x, (1, 0)),
        lambda x, y: np.reshape(x, (3, -1)),
        lambda x, y: np.broadcast_to(x[0], (4, 3)),
        lambda x, y: np.concatenate([x, y], axis=1),
        lambda x, y: np.concatenate((x, y), axis=None),
        lambda x, y: np.stack([x, y], axis=-1),
        lambda x, y: np.squeeze(x[:1]),
        lambda x, y: np.expand_dims(x, (0, 2)),
        lambda x, y: np.where(x > 2.0, x, y),
        lambda x, y: np.where(np.array([True, False, True]), x, 0.0),
    ]
    if hasattr(np, "vecdot"):
        calls.append(lambda x, y: np.vecdot(x, y))
    for call in calls:
        got, expected = call(v, w), call(x, y)
        assert isinstance(got, wy.Variable)
        np.testing.assert_allclose(got.value, expected)
    mixed = np.concatenate([v, y])
    assert mixed.shape == (4, 3)
    assert (np.shape(v), np.ndim(v), np.size(v)) == ((2, 3), 2, 6)
    assert (np.size(v, 0), np.size(v, -1), np.size(a=v, axis=1)) == (2, 3, 3)
    with pytest.raises(ValueError, match="size: axis 2 is out of range"):
        np.size(v, 2)


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 3), (2, 3, 4, 5)])
@pytest.mark.parametrize("offset", [0, 1, -1])
def test_traces_of_every_diagonal(shape, offset):
    x = np.random.default_rng(0).normal(size=shape)
    for axes in [(0, 1), (1, 0), (-1, 0)]:
        for f in (np.trace, wy.trace):
            got = f(wy.Variable(x), offset, *axes).value
            np.testing.assert_allclose(got, np.trace(x, offset, *axes), rtol=1e-14)
        wy.check_grads(lambda x, axes=axes: np.trace(x, offset, *axes), (x,))


def test_gradients_flow_through_numpy():
    x = np.array([0.3, 0.6])
    v = wy.Variable(x)
    np.sum(np.sin(v) * np.exp(v)).backward()
    np.testing.assert_allclose(v.grad, np.exp(x) * (np.sin(x) + np.cos(x)))


def test_what_is_not_there_is_refused():
    v = wy.Variable([1.0, 2.0])
    for refused in [
        lambda: np.linalg.eigvals(v),
        lambda: np.hypot.reduce(v),
        lambda: np.hypot.reduceat(v, [0, 1]),
        lambda: np.add(v, v, out=np.zeros(2)),
        lambda: np.sin(v, dtype=np.complex128),
        lambda: np.sum(v, dtype=np.complex128),
        lambda: np.add(v, np.array([1j, 2j])),
        lambda: np.add(v, np.array(["a", "b"])),
    ]:
        with pytest.raises(TypeError):
            refused()
    for name, lacking in [
        ("linalg.eigvals", lambda: np.linalg.eigvals(v)),
        ("fft.fft", lambda: np.fft.fft(v)),
        ("nextafter", lambda: np.nextafter(np.ones(2), v)),
        ("left_shift", lambda: np.left_shift(v, 1)),
        ("roots", lambda: np.roots(v)),
    ]:
        match = rf"^numpy\.{name} is not among wyrmling's functions: .*"
        with pytest.raises(TypeError, match=match):
            lacking()
    with pytest.raises(TypeError, match=r"^scipy\.special\.fresnel is not among"):
        scipy.special.fresnel(v)
    with pytest.raises(TypeError, match=r"^<lambda> \(vectorized\) is not among"):
        np.frompyfunc(lambda x: x, 1, 1)(v)


def test_a_gradient_is_never_lost_silently():
    v = wy.Variable([1.0, 2.0])
    for refused in (np.asarray, np.array, lambda v: np.zeros(2) + np.asarray(v * 2.0)):
        with pytest.raises(TypeError, match=r"\.value"):
            refused(v)
    with pytest.raises(TypeError, match=r"\.value"):
        np.asarray(wy.Parameter(1.0))
    x = wy.Input([1.0, 2.0])
    for follows in (x, x * 2.0, x > 1.0):
        with pytest.raises(TypeError, match="would be a constant"):
            np.asarray(follows)
    y = wy.array([1.0, 2.0])
    assert np.asarray(y).tolist() == [1.0, 2.0]
    assert np.asarray(y * 2.0, dtype=np.float32).dtype == np.float32
