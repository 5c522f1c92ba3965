"""``x[…]`` selects, and ``replace`` assigns, what NumPy does, whatever the key."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import wyrmling as wy
from wyrmling import plain

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


@pytest.mark.parametrize("rows", [range(4), range(3, 0, -1), range(-1, -3, -1), range(0)])
def test_rows_by_a_range(rows):
    values = np.arange(12.0).reshape(4, 3)
    x = wy.Variable(values)
    assert np.array_equal(x[rows].value, values[rows])
    expected = np.zeros((4, 3))
    expected[rows] = 2 * values[rows]
    assert np.array_equal(wy.grad(lambda x: (x[rows] ** 2).sum(), mode="trace")(values), expected)
    for beyond in (range(5), range(-5, 0), range(10**12), range(10**30), range(10**30, 10**30 + 2)):
        with pytest.raises(IndexError):
            x[beyond]
    y = x * 1.0
    y[rows] = 7.0
    expected = values.copy()
    expected[rows] = 7.0
    assert np.array_equal(y.value, expected)


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


# Whatever else NumPy takes: arrays in several places, masks, and all of them mixed.


@st.composite
def keys(draw, shape):
    """A key with integer arrays, masks, slices, integers, None and an ellipsis."""
    parts, axes = [], list(shape)
    dots = draw(st.booleans())
    index = st.integers(0, 2)
    joint = draw(npst.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))
    while axes:
        kind = draw(st.sampled_from(["array", "array", "slice", "int", "none", "mask", "stop"]))
        n = axes[0]
        if kind == "none":
            parts.append(None)
            if len(parts) > 5:
                break
            continue
        if kind == "stop":
            break
        if kind == "slice" or n == 0:
            parts.append(draw(st.slices(n)))
        elif kind == "int":
            parts.append(draw(st.integers(-n, n - 1)))
        elif kind == "array":
            some = joint[draw(st.integers(0, len(joint))) :]
            some = tuple(1 if draw(index) == 0 else k for k in some)
            elements = st.integers(-n, n - 1)
            parts.append(draw(npst.arrays(np.int64, some, elements=elements)))
        else:
            mask = draw(npst.arrays(bool, n))
            parts.append(mask.tolist() if draw(st.booleans()) else mask)
        axes.pop(0)
    if dots:
        parts.insert(draw(st.integers(0, len(parts))), ...)
    return tuple(parts)


def selected(x, key):
    """What NumPy selects, or None where it refuses."""
    try:
        return x[key]
    except IndexError:
        return None


@given(st.data())
def test_every_key_of_numpy(data):
    shape = data.draw(SHAPES)
    key = data.draw(keys(shape))
    x = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    expected = selected(x, key)
    v = wy.Variable(x)
    if expected is None:
        with pytest.raises(IndexError):
            v[key]
        return
    y = v[key]
    np.testing.assert_array_equal(y.value, expected)
    assert y.shape == np.shape(expected)
    weights = np.arange(1.0, 1.0 + np.size(expected)).reshape(np.shape(expected))
    loss = (y * weights).sum()
    loss.backward()
    gradient = np.zeros(shape)
    np.add.at(gradient, key, weights)
    np.testing.assert_array_equal(dense(v.grad), gradient)
    value, grads = wy.freeze(loss).value_and_grad()
    assert value == loss.item()
    np.testing.assert_array_equal(dense(grads[v]), gradient)


def dense(gradient):
    return gradient if isinstance(gradient, np.ndarray) else gradient.to_dense()


@given(st.data())
def test_replaced_elements(data):
    shape = data.draw(SHAPES)
    basic = npst.basic_indices(shape, allow_newaxis=True)
    key = data.draw(st.one_of(keys(shape), basic))
    x = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    part = selected(x, key)
    if part is None:
        with pytest.raises(IndexError):
            wy.replace(x, key, 0.0)
        return
    # A value that broadcasts to what is replaced, maybe with more axes of length 1.
    some = np.shape(part)[data.draw(st.integers(0, np.ndim(part))) :]
    some = tuple(1 if data.draw(st.integers(0, 3)) == 0 else n for n in some)
    # (NumPy takes one more from all keys but masks, of which it says that it does not.)
    parts = key if isinstance(key, tuple) else (key,)
    mask = any(isinstance(k, np.ndarray) and k.dtype.kind == "b" for k in parts)
    if len(some) == np.ndim(part) > 0 and not mask and data.draw(st.booleans()):
        some = (1, *some)
    values = -np.arange(1.0, 1.0 + np.prod(some)).reshape(some)
    expected = x.copy()
    # For some masks NumPy refuses the axis more.
    expected[key] = values[0] if len(some) > np.ndim(part) else values
    v, w = wy.Variable(x), wy.Variable(values)
    y = wy.replace(v, key, w)
    np.testing.assert_array_equal(y.value, expected)
    np.testing.assert_array_equal(v.value, x)
    weights = np.arange(1.0, 1.0 + x.size).reshape(shape)
    loss = (y * weights).sum()
    loss.backward()
    # Each element is one of x, or one of the values: their numbers tell which.
    kept = np.where(expected > 0, weights, 0.0)
    if v.grad is None:  # nothing of it is left
        assert not kept.any()
    else:
        np.testing.assert_array_equal(v.grad, kept)
    of_value = [weights[expected == value].sum() for value in values.ravel()]
    if w.grad is None:  # nothing of it is written
        assert not np.size(part)
    else:
        np.testing.assert_array_equal(w.grad, np.reshape(of_value, some))
    value, grads = wy.freeze(loss).value_and_grad()
    assert value == loss.item()
    if v.grad is not None:
        np.testing.assert_array_equal(grads[v], v.grad)
    if w.grad is not None:
        np.testing.assert_array_equal(grads[w], w.grad)


def test_what_is_overwritten_has_no_gradient_whatever_it_was():
    for key in (1, slice(1, None), [1], np.array([False, True]), (np.array([1]),)):
        x = wy.Variable([2.0, np.nan])
        wy.replace(x * 3.0, key, x[0]).sum().backward()
        assert x.grad.tolist() == [4.0, 0.0]
    x = wy.Variable([2.0, np.inf])
    wy.replace(x, 1, 0.0).sum().backward()
    assert x.grad.tolist() == [1.0, 0.0]


def test_a_replaced_value_takes_the_type_of_the_array():
    narrow = np.zeros(2, np.float32)
    for value in (1.0, np.ones(()), wy.Variable(1.0), [1.0, 1.0]):
        y = wy.replace(narrow, slice(None), value)
        assert y.dtype == np.float32
        assert np.asarray(plain.value(y)).tolist() == [1.0, 1.0]


def test_replacing_follows_the_length_of_an_input():
    x = wy.Input([1.0, 2.0, 3.0])
    y = wy.replace(x, slice(-1, None), 0.0)
    x.value = [1.0, 2.0, 3.0, 4.0]
    assert y.value.tolist() == [1.0, 2.0, 3.0, 0.0]
    y = wy.replace(x, [0], 0.0)
    x.value = [1.0, 2.0]
    with pytest.raises(ValueError, match=r"made for an array of shape \(4,\)"):
        y.forward()


def test_places_are_of_one_shape():
    x = wy.Input(np.zeros((2, 3)))
    y = x[[0, 1], [2, 0]]
    program = wy.freeze(y)
    x.value = np.arange(6.0).reshape(2, 3)
    assert y.value.tolist() == [2.0, 3.0]
    longer = np.zeros((3, 3))
    x.value = longer
    for call in (y.forward, lambda: program.run({x: longer})):
        with pytest.raises(ValueError, match=r"made for an array of shape \(2, 3\)"):
            call()


def test_masks_that_are_variables():
    x = wy.Variable([3.0, -1.0, 2.0])
    fixed = wy.exp([0.0, 1.0, -1.0])
    assert x[fixed >= 1.0].value.tolist() == [3.0, -1.0]
    assert x[fixed != 1.0].value.tolist() == [-1.0, 2.0]
    assert wy.replace(x, fixed > 1.0, [7.0]).value.tolist() == [3.0, 7.0, 2.0]
    # How many elements would be selected depends on what can be assigned.
    for mask in (x > 0, wy.Input([1.0, 2.0, 3.0]) > 0, wy.Parameter([1.0, 2.0, 3.0]) == 1.0):
        with pytest.raises(TypeError, match=r"where\(mask, x"):
            x[mask]
    with pytest.raises(TypeError, match="mask: the result of a comparison"):
        x[wy.stop_gradient(wy.Variable(fixed))]
    # One number in their place is a choice, which follows the values.
    y = wy.replace(x, x > 0, 0.0)
    (y * [1.0, 2.0, 3.0]).sum().backward()
    assert y.value.tolist() == [0.0, -1.0, 0.0]
    assert x.grad.tolist() == [0.0, 2.0, 0.0]
    x.value = [-3.0, 1.0, -2.0]
    assert y.value.tolist() == [-3.0, 0.0, -2.0]
    rows = wy.Variable([[1.0, 2.0], [3.0, 4.0]])
    assert wy.replace(rows, rows[:, 0] > 1.0, 0.0).value.tolist() == [[1.0, 2.0], [0.0, 0.0]]


def test_indices_that_are_variables():
    x = wy.Variable([[3.0, 1.0], [2.0, 4.0]])
    rows = wy.IndexInput([1, 0])
    with pytest.raises(TypeError, match=r"x\[rows\]\[:, 0\]"):
        x[rows, 0]
    order = np.argsort(wy.exp([2.0, 1.0]))
    assert x[order, 0].value.tolist() == [2.0, 3.0]
    assert x[rows[::-1]].value.tolist() == [[3.0, 1.0], [2.0, 4.0]]
    assert x[rows.reshape(2, 1)].shape == (2, 1, 2)
    program = wy.freeze(x[rows[::-1]].sum(0) * [1.0, 10.0])
    assert program.run({rows: [0, 0]}).tolist() == [6.0, 20.0]


@pytest.mark.parametrize(
    ("error", "match", "key"),
    [
        (IndexError, "boolean index did not match", np.array([True])),
        (IndexError, "out of bounds", ([0], [5])),
        (IndexError, "too many indices", ([0], [0], [0])),
        (IndexError, "shape mismatch", ([0, 1], [0, 1, 1])),
        (IndexError, "integer", ([0.5], 0)),
        (IndexError, "not str", "a"),
        (IndexError, "not float", 1.0),
        (IndexError, "got a list of kind 'f'", [1.0]),
        (IndexError, "integer", np.array(["a"])),
        (IndexError, "not complex", 1j),
        (TypeError, "mask", (np.ma.array([0], mask=[True]), 0)),
    ],
)
def test_keys_that_do_not_fit(error, match, key):
    x = wy.Variable(np.zeros((2, 2)))
    for call in (lambda: x[key], lambda: wy.replace(x, key, 0.0)):
        with pytest.raises(error, match=match):
            call()


def test_values_that_do_not_fit():
    x = wy.Variable(np.zeros((2, 2)))
    for key in (0, [0], ([0], [1])):
        with pytest.raises(ValueError, match="shape"):
            wy.replace(x, key, np.zeros((3, 2)))
    with pytest.raises(TypeError, match="object"):
        wy.replace(x, 0, object())


FEW_OF_MANY = [
    ([1, 2], [3, -4]),
    ([1, 1], [3, 3], [0, 0]),
    ([[1], [-70]], [3, 4, 5]),
    (5, [1, 2]),
    (5, [1, 2], 0),
    ([0], slice(None), [1]),
    (slice(3, 5), [1, 2]),
    (..., [0, 2]),
    (None, [1], [2]),
    (np.array([], np.int64), np.array([], np.int64)),
    np.ix_([1, 5], [2, 3], [0]),
    (np.arange(70) == 4, [1, 2]),
    (np.arange(70) < 60,),
    (np.arange(70)[:, None] * np.arange(80) > 5000),
    ([True] + [False] * 69, slice(2)),
    (np.int64(3), np.uint8([2])),
]


@pytest.mark.parametrize("key", FEW_OF_MANY, ids=lambda key: str(key)[:40])
@pytest.mark.parametrize("leaf", [wy.Variable, wy.Input])
def test_places_of_a_large_array(leaf, key):
    values = np.arange(70 * 80 * 3.0).reshape(70, 80, 3) / 1000
    x = leaf(values)
    np.testing.assert_array_equal(x[key].value, values[key])
    if leaf is wy.Variable:
        (x[key] ** 2).sum().backward()
        expected = np.zeros_like(values)
        np.add.at(expected, key, 2 * values[key])
        np.testing.assert_allclose(np.asarray(x.grad), expected, rtol=1e-15)
    y = x * 1.0
    y[key] = -1.0
    expected = values.copy()
    expected[key] = -1.0
    np.testing.assert_array_equal(y.value, expected)


@pytest.mark.parametrize(
    "key",
    [([70], [0]), ([1, 2], [1, 2, 3]), ([1], [-81]), ([0.5], [1]), ([0], [0], [0], [0]), "a"],
    ids=str,
)
def test_places_that_a_large_array_has_not(key):
    values = np.zeros((70, 80, 3))
    with pytest.raises(IndexError) as expected:
        values[key]
    with pytest.raises(IndexError) as found:
        wy.Variable(values)[key]
    assert str(found.value) == str(expected.value) or key == "a"
