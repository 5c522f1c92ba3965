"""NumPy's functions of numbers give what NumPy gives, of its kind: truth values of what is logical,
integers of integers, and arrays of as many axes.
"""

import math

import numpy as np
import pytest
from outcomes import Raised, leaves, outcome, same

import wyrmling as wy

MODES = ["source", "auto"]
INTEGERS = np.array([3, -2, 5])


def branches(x, y):
    total = 0.0
    if np.logical_and(x > 1.0, y) or np.logical_not(x):
        total = total + x
    if np.logical_xor(x, y) or np.signbit(y):
        total = total + y
    return total


LOGICAL = {
    "and": lambda x, y: np.logical_and(x, y),
    "or": lambda x, y: np.logical_or(x, y),
    "xor": lambda x, y: np.logical_xor(x, 2.0 * y),
    "not": lambda x, y: (np.logical_not(x), ~np.logical_not(y)),
    "signbit": lambda x, y: (np.signbit(x), np.signbit(np.float32(2.0))),
    "of comparisons": lambda x, y: np.logical_or(x > y, np.logical_and(x < 0.0, y)),
    "branches": branches,
}
ADDED = {
    "sum of truth values": lambda x, y: np.logical_and(x, y) + np.logical_or(x, y),
    "product with one": lambda x, y: x * np.logical_not(y),
}
OF_INTEGERS = {
    "abs": lambda a, x: np.abs(a[1]),
    "add": lambda a, x: np.add(a[0], a[1]) * x,
    "mod": lambda a, x: (np.mod(a[1], 3), np.floor_divide(a[1], 2)),
    "power": lambda a, x: np.power(a[0], 2),
    "bits": lambda a, x: np.bitwise_and(a[0], 1) | np.bitwise_or(a[1], a[0]),
    "negative": lambda a, x: np.negative(a[0]),
    "clip": lambda a, x: (np.clip(a[0], 0, 2), np.clip(a[1], -1, 0), np.clip(a[0], 2, 0)),
    "as floats": lambda a, x: (np.sin(a[0]), np.true_divide(a[0], 2), np.maximum(a[0], x)),
}
REFUSED = {
    "maximum": lambda a, x: np.maximum(a[0], a[1]),
    "sign": lambda a, x: np.sign(a[1]),
    "dot": lambda a, x: np.dot(a[0], a[1]),
}
PAIRS = [(1.5, 2.0), (0.0, -0.0), (math.nan, 0.0), (-math.inf, 1.0), (np.float64(2.0), 0.0)]


def calls(f, mode, *args):
    fast = wy.compile(f, mode=mode)
    return [outcome(fast, *args) for _ in range(3)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", LOGICAL)
def test_what_is_logical_is_a_truth_value(name, mode):
    f = LOGICAL[name]
    for args in PAIRS:
        assert all(same(found, f(*args)) for found in calls(f, mode, *args))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ADDED)
def test_arithmetic_of_truth_values_is_numpys(name, mode):
    f = ADDED[name]
    for args in PAIRS[:2]:
        assert all(same(found, f(*args)) for found in calls(f, mode, *args))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", OF_INTEGERS)
def test_functions_of_integers_give_integers(name, mode):
    f = OF_INTEGERS[name]
    assert all(same(found, f(INTEGERS, 1.5)) for found in calls(f, mode, INTEGERS, 1.5))


@pytest.mark.parametrize("name", REFUSED)
def test_other_functions_of_integers_are_refused(name):
    f = REFUSED[name]
    assert all(same(found, f(INTEGERS, 1.5)) for found in calls(f, "auto", INTEGERS, 1.5))
    with pytest.raises(wy.SourceError, match="of integers of NumPy's"):
        wy.compile(f, mode="source")(INTEGERS, 1.5)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["grad", "value_and_grad", "jacobian", "jacfwd", "jvp"])
def test_a_truth_value_has_no_gradient(name, mode):
    def f(x):
        return np.logical_not(x)

    if name == "jvp":
        found = [outcome(wy.jvp, f, (2.0,), (1.0,), mode=mode)] * 3
    else:
        slope = getattr(wy, name)(f, mode=mode)
        found = [outcome(slope, 2.0) for _ in range(3)]
    for each in found:
        assert isinstance(each, Raised)
        assert each.kind is TypeError
        assert "expected floating-point numbers, got bool" in each.text


SQUEEZED = {
    "function": lambda x: np.squeeze(x),
    "method": lambda x: x.squeeze(),
    "of a result": lambda x: np.squeeze(x * 2.0) + 1.0,
    "of some axes": lambda x: np.squeeze(x[..., None] * 2.0, -1),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SQUEEZED)
def test_axes_that_another_length_makes_go(name, mode):
    f = SQUEEZED[name]
    fast, loss = wy.compile(f, mode=mode), wy.grad(lambda x: np.sum(f(x) ** 2), mode=mode)
    for shape in [(5,), (1,), (3, 3), (1, 3), (3, 1), (1, 1), (0,), (0, 1), (4,), (2, 1)]:
        x = np.linspace(-1.0, 1.0, math.prod(shape)).reshape(shape)
        for _ in range(2):
            assert same(outcome(fast, x), f(x), exactly=False)
            assert same(loss(x), wy.grad(lambda x: np.sum(f(x) ** 2), mode="trace")(x))


OF_SUMS = {
    "softplus": lambda s, x: wy.softplus(-s) + wy.sigmoid(s),
    "clip": lambda s, x: np.clip(s, 0.25, 1.0) + wy.clip(x[0], s, 2.0),
    "sum": lambda s, x: np.sum(s) * np.mean(s),
    "dot": lambda s, x: np.dot(s, s),
    "stacked": lambda s, x: np.sum(np.stack([s, 2.0]) * s),
    "interp": lambda s, x: np.interp(s, [0.0, 1.0, 4.0], [0.0, 2.0, 3.0]),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", OF_SUMS)
def test_functions_of_a_sum_that_begins_at_zero(name, dtype):
    """It is Python's 0.0 where there is nothing to add, and of NumPy's types elsewhere."""

    def f(x, weights):
        total = 0.0
        for weight in weights:
            total = total + weight * x[0]
        return OF_SUMS[name](total, x)

    slope = wy.grad(f, mode="source")
    x = np.array([0.5, 0.25], np.float32)
    for count in (2, 0, 3):
        weights = np.linspace(1.0, 1.5, count, dtype=dtype)
        expected = wy.grad(f, mode="trace")(x, weights)
        np.testing.assert_allclose(slope(x, weights), expected, rtol=1e-5)
        assert slope(x, weights).dtype == np.float32


def test_arrays_of_several_types_are_refused_as_what_they_are():
    def f(x, weights):
        total = 0.0
        for weight in weights:
            total = total + weight * x[0]
        return np.sum(np.full(2, total))

    with pytest.raises(wy.SourceError, match="one of several things"):
        wy.grad(f, mode="source")(np.ones(2, np.float32), np.ones(2, np.float32))


ROUNDED = {
    "float32 of a float": lambda x: np.float32(x * 0.1) * 3.0,
    "float32 of float64": lambda x: np.float32(np.float64(x) / 3) + np.float32(math.pi),
    "float32 of an integer": lambda x: np.float32(int(x)) * x,
    "float64 of float32": lambda x: np.float64(np.float32(x)) * 1.1,
    "astype": lambda x: np.float64(x).astype(np.float32) * 0.1 + np.float32(x).astype("f8"),
    "digits of float64": lambda x: round(np.float64(x) / 7, 2) + round(np.float64(x), -1),
    "digits of float32": lambda x: round(np.float32(x), 1) * np.float32(0.3),
}


@pytest.mark.parametrize("x", [1.2345678, -77.125, 0.15, 1e300, math.inf, -0.0])
@pytest.mark.parametrize("name", ROUNDED)
def test_numbers_of_another_precision_are_numpys(name, x):
    f = ROUNDED[name]
    with np.errstate(all="ignore"):
        expected = outcome(f, x)
        found = outcome(wy.compile(f, mode="source"), x)
    assert isinstance(found, Raised) == isinstance(expected, Raised)
    assert type(found) is type(expected)
    assert isinstance(expected, Raised) or same(found, expected)


def test_a_sum_that_is_rounded_in_each_turn_has_a_gradient():
    def f(x):
        total = np.float32(0)
        for value in x:
            total = np.float32(total + np.float64(value) * 0.1)
        return total

    x = np.array([1.1, 2.3, -0.7])
    value, gradient = wy.value_and_grad(f, mode="source")(x)
    assert same(value, f(x))
    np.testing.assert_allclose(gradient, [0.1, 0.1, 0.1], rtol=1e-7)


def test_an_axis_is_an_integer():
    """Where a function is written out in Python, too: 1.0 equals an axis, and is none."""

    def f(x, axis):
        return np.apply_along_axis(lambda lane: lane.sum() * lane, axis, x)

    x, compiled = np.arange(6.0).reshape(2, 3), wy.compile(f, mode="source")
    for axis in (1, np.int64(-1), 0):
        np.testing.assert_array_equal(compiled(x, axis), f(x, axis))
    with pytest.raises(TypeError, match="integer"):
        compiled(x, 1.0)


def above(x, u):
    x = np.sum(u) if u[0] > 0.0 else x
    return np.sum(np.where(u > x, u, -x)) + np.sum(u[x <= u])


def near(x, u):
    x = u.max() if u[0] > 0.0 else 1
    total = np.sum(np.isclose(u, x) * u * x) + np.sum(np.greater(x, u) * u)
    return total + np.sum(np.maximum(u, x)) if np.any(u != x) else total


@pytest.mark.parametrize("mode", ["source", "auto"])
@pytest.mark.parametrize("f", [above, near])
def test_one_of_several_floats_is_compared_with_an_array(f, mode):
    slope = wy.value_and_grad(f, argnums=(0, 1), mode=mode)
    plain = wy.value_and_grad(f, argnums=(0, 1), mode="trace")
    for u in ([0.3, -0.2], [-0.3, 0.2], [0.5, 2.0], [-3.0, 1.0]):
        for x in (0.1, -3.0):
            found, expected = slope(x, np.array(u)), plain(x, np.array(u))
            assert found[0] == pytest.approx(expected[0], rel=1e-14)
            assert found[1][0] == expected[1][0]
            np.testing.assert_allclose(found[1][1], expected[1][1], rtol=1e-14)


def rolled(x):
    k = int(10.0 * x[0])
    y = np.roll(x, k)
    y[0] = x[1]
    return y, np.roll(x, x.argmax()), np.roll(x, shift=-k, axis=0)


def rolled_matrix(x):
    k = int(10.0 * x[0])
    m = x.reshape(2, 3)
    return np.roll(m, k), np.roll(m, k, axis=0), np.roll(m, k, axis=1), np.roll(m, k, -2)


def circular(x):
    k, total = 0, 0.0
    while k < 9 and abs(total) < 50.0:
        total += k * (x @ np.roll(x, k - 2))
        k += 1
    return total


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("f", [rolled, rolled_matrix, circular])
def test_arrays_are_rolled_by_computed_integers(f, dtype):
    def loss(x):
        found, total = f(x), 0.0
        for one in found if type(found) is tuple else (found,):
            weights = np.cos(np.arange(np.size(one))).reshape(np.shape(one))
            total = total + np.sum(one * weights)
        return total

    for first in (0.31, -0.47, 1.2):
        x = np.array([first, 0.5, -0.25, 2.0, 1.5, -1.0], dtype)
        pairs = map(leaves, (wy.compile(f, mode="source")(x), f(x)))
        for found, expected in zip(*pairs, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-6)
        slopes = [wy.grad(loss, mode=mode)(x) for mode in ("source", "trace")]
        assert slopes[0].dtype == slopes[1].dtype == dtype
        np.testing.assert_allclose(*slopes, rtol=1e-5)


def mask_of_a_branch(x):
    mask = x > 0.0 if x[0] > 0.0 else x < 0.5
    return np.sum(x[mask]) + np.sum(np.where(mask, x, 1.0)) + np.sum(~mask * x) + mask.sum() * x[1]


def mask_of_a_loop(x):
    mask = x > 0.0
    while np.any(mask) and x[0] < 5.0:
        x = np.where(mask, x - 0.15, x * 1.1)
        mask = mask & (x > 0.1) if x[1] > 0.0 else x > 0.1
        if x.max() < 0.2:
            mask = x > 9.0
    return np.sum(x * (1.0 + mask))


def masks_in_containers(x):
    masks = {"first": x > 0.0, "pair": (x > 0.0, x < 0.3)}
    if x[1] > 0.0:
        masks["first"] = x < 0.0
        masks["pair"] = masks["pair"][::-1]
    return np.sum(np.where(masks["first"], x * x, 0.0)) + np.sum(x[masks["pair"][0]])


def mask_or_a_known_one(x):
    mask = np.ones(x.shape, bool) if x[0] > 0.0 else x < 0.5
    return np.sum(x * mask)


MASKS = [mask_of_a_branch, mask_of_a_loop, masks_in_containers, mask_or_a_known_one]


@pytest.mark.parametrize("f", MASKS)
def test_masks_that_differ_meet(f):
    slope = wy.value_and_grad(f, mode="source")
    curve = wy.hessian(lambda x: f(x) * np.sum(x * x), mode="source")
    for x in ([0.1, -0.5, 0.2, 0.3], [-0.1, 0.5, 0.2, -0.3], [0.6, 0.7], [-0.6, -0.7, -0.8]):
        found = slope(np.array(x))
        expected = wy.value_and_grad(f, mode="trace")(np.array(x))
        assert found[0] == pytest.approx(expected[0], rel=1e-14)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-13)
        traced = wy.hessian(lambda x: f(x) * np.sum(x * x), mode="trace")(np.array(x))
        np.testing.assert_allclose(curve(np.array(x)), traced, rtol=1e-12, atol=1e-13)


def test_masks_of_several_shapes_are_refused():
    def f(x):
        mask = x > 0.0 if x[0] > 0.0 else x[:2] < 0.5
        return np.sum(mask) * x[0]

    with pytest.raises(wy.SourceError, match="'mask': differ"):
        wy.grad(f, mode="source")(np.ones(3))
