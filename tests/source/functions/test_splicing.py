"""Arrays in functions that are read: items, writes, views, and NumPy's functions."""

import numpy as np
import pytest
from reading import Left, agrees, read, same

import wyrmling
from wyrmling.source.interpreter import read_function
from wyrmling.source.text.refuse import SourceError

X = np.array([0.5, 1.5, -0.7])
M = np.array([[0.5, 1.5], [-0.7, 2.0]])


def test_elements_in_a_loop():
    def horner(c, x):
        y = 0.0
        for v in c:
            y = y * x + v
        return y

    for length in (0, 1, 5):
        agrees(horner, np.linspace(-1, 1, length), 1.5)


def test_a_loop_holds_for_other_lengths():

    def total(c):
        s = 0.0
        for i in range(len(c)):
            s += c[i] * c[-1 - i]
        return s

    made = read_function(total, (X,), {})
    # The sum of nothing is a float of Python's, any other is one of NumPy's.
    assert made.tagged
    for other in (np.arange(7.0), np.zeros(0)):
        found = made.build(made.function.interpret([other]), (total, other))
        assert same(found, total(other))


@pytest.mark.parametrize("index", [0, 2, -1, -3, 3, -4])
def test_items_are_within_bounds(index):
    agrees(lambda x, i: x[i] * 2, X, index)
    agrees(lambda x: x[index] * 2, X)


def test_zeros_are_filled_in_a_loop():
    def filled(x):
        y = np.zeros(len(x))
        y[0] = x[0]
        for i in range(1, len(x)):
            y[i] = y[i - 1] * 0.5 + x[i]
        return y

    agrees(filled, X)

    def matrix(x):
        y = np.zeros((2, 3))
        for i in range(2):
            for j in range(3):
                y[i, j] = x[j] ** (i + 1)
        return y

    agrees(matrix, X)


def test_names_of_one_array_see_a_write():
    def f(x):
        y = x * 2
        z = y
        z[0] = 5.0
        return y, z[0]

    found = read(f, X)
    np.testing.assert_array_equal(found[0], f(X)[0])
    assert found[1] == 5.0


def test_writes_that_would_reach_a_view_are_refused():
    def through(x):
        y = x * 2
        row = y[:, None]
        row = row.T
        row[0] = 5.0
        return y

    def beneath(x):
        y = x * 2
        rows = [y[1:]]
        y[1] = 5.0
        return np.sum(rows[0])

    def argument(x):
        x[0] = 1.0
        return x

    def on_one_way(x, flag):
        y = x * 2
        z = y if flag else x
        y[0] = 7.0
        return np.sum(z)

    for f, *args in ((through, X), (beneath, X), (argument, X.copy()), (on_one_way, X, True)):
        with pytest.raises(SourceError, match=r"writ\w+ to"):
            read(f, *args)


def test_a_slice_that_is_no_longer_used_is_no_obstacle():
    def f(x):
        y = x * 1.0
        for i in range(1, 3):
            y[i] = np.sum(y[:2]) * x[i]
        return y

    found = read(f, X)
    np.testing.assert_allclose(found, f(X), rtol=1e-15)


def test_a_list_of_numbers_becomes_an_array():
    agrees(lambda x: np.array([x, 2.0, x * x]), 1.5)
    agrees(lambda x: np.array([[x, 1.0], [2.0, x]]) @ np.ones(2), 1.5)


def test_what_reads_values_is_refused():
    for f in (lambda x: np.sum(np.unique(x)), lambda x: np.histogram(x)[0]):
        with pytest.raises(SourceError):
            read(f, X)


def test_wrong_shapes_leave():
    assert isinstance(read(lambda x: x @ np.ones(7), X), Left)


def test_an_array_is_carried_through_a_loop():
    def f(x, n):
        y = x
        for _ in range(n):
            y = np.tanh(y * x) + 0.1
        return y

    for n in (0, 1, 4):
        np.testing.assert_allclose(read(f, X, n), f(X, n), rtol=1e-14)


def test_masks_and_branches_on_arrays():
    def f(x):
        if np.sum(x) > 1:
            return np.where(x > 0, x, 0.0)
        return np.where(x > 0, 0.0, x)

    agrees(f, X)
    agrees(f, -X)


def test_rules_of_users_are_used_and_seen_when_they_change():
    cube = wyrmling.primitive(lambda x: x**3)
    cube.defvjp(lambda g, y, x: 100 * g * x)

    def f(x):
        for _ in range(2):
            x = cube(x) * 0.1 + 1
        return x

    agrees(f, 1.5)
    made = read_function(f, (1.5,), {})
    assert made.needs.missed((f, 1.5)) is None
    cube.defvjp(lambda g, y, x: 3 * g * x**2)
    assert made.needs.missed((f, 1.5)) is not None


def test_functions_of_wyrmling():
    agrees(lambda x: wyrmling.exp(x) * wyrmling.sigmoid(x) + wyrmling.special.erf(x), 1.5)
    agrees(lambda x: wyrmling.softmax(x) * 2, X)
    agrees(lambda x: wyrmling.degrees(x) + wyrmling.fabs(x) * wyrmling.radians(x), -X)
    agrees(lambda x: wyrmling.conj(x) * wyrmling.conjugate(x), -X)


def test_arrays_of_wyrmling_are_of_floats_and_can_be_written():
    def table(x):
        y = wyrmling.array(np.zeros((2, 2)))
        for i in range(2):
            for j in range(2):
                y[i, j] = x[i] * x[j]
        return y.sum()

    def whole(x):
        y = wyrmling.array([True, True])
        z = wyrmling.array([1, 2])
        z[0] = x[0] / 3
        return ((y + y) * z * x[1]).sum()

    def copied(x):
        y = wyrmling.array(x)
        y[0] = 2 * y[1]
        return (y * x).sum()

    for f in (table, whole, copied):
        traced = wyrmling.value_and_grad(f, mode="trace")(X)
        value, gradient = wyrmling.value_and_grad(f, mode="source")(X)
        assert value == pytest.approx(traced[0], rel=1e-14)
        np.testing.assert_allclose(gradient, traced[1], rtol=1e-14)


def test_what_takes_numbers_out_of_an_array_is_refused():
    def reads(x):
        return np.sum(x * np.sign(np.asarray(x.tolist())))

    with pytest.raises(SourceError):
        read(reads, X)
