"""A list stands for the array that NumPy makes of it; ``np.full`` and ``np.asarray`` are read."""

import numpy as np
import pytest

import wyrmling as wy

X = np.array([0.6, 1.3, 0.9])


def differences(f, x):
    """The derivative of a sum of the results, each with a weight of its own."""
    rows = []
    for step in np.eye(len(x)) * 1e-5:
        rows.append((np.asarray(f(x + step)) - np.asarray(f(x - step))) / 2e-5)
    return np.array([np.sum(weighted(row)) for row in rows])


def weighted(y):
    return np.asarray(y) * np.cos(np.arange(np.size(y)) + 1.0).reshape(np.shape(y))


def between_edges(x):
    return np.concatenate([[x[0]], x, (x[-1], 0.0)]) ** 2


def joined_by_index(x):
    return np.r_[x[0], x, 1.0] ** 2


def columns(x):
    return np.c_[x, x**2, np.ones(3)]


def rows(x):
    return np.vstack([x, [x[0], 1.0, x[1]]]) ** 2


def filled(x):
    made = np.full((2, 3), x[0])
    made[1] = x**2
    return made * np.full(x.shape, fill_value=x.sum())


def filled_by_rows(x):
    return np.full((2, 3), x) * np.full(3, 2.0)


def reduced(x):
    return np.sum([x[0], x[1] ** 2, 1]) + np.max([x[0], x[1]]) + np.mean([x, x**2])


def solved(x):
    return np.linalg.solve([[2.0, x[0]], [x[1], 5.0]], [1.0, x[2]])


def beside_an_array(x):
    return x[:2] * [x[1], 2.0] + [1.0, x[2]] @ x[1:] + np.dot([x[0], 1.0], x[:2])


def assigned(x):
    made = np.zeros((2, 3))
    made[0] = [x[0], x[1], 1.0]
    made[:, 2] = (x[2], x[0] * x[1])
    return made


def selected(x):
    return np.select([x > 1, x > 0.7], [x**2, x[0]], 0.5) + np.choose([0, 1, 0], [x, x[1]])


def converted(x):
    y = np.asarray(x, dtype=float)
    return np.ascontiguousarray(y) * np.array(y) * np.asanyarray(y, np.float64)


def copied(x):
    made = x * 2.0
    copy = np.array(made)
    same = np.asarray(made)
    copy[0] = 7.0 * x[1]
    same[1] = x[0] ** 3
    return made * copy + same


def typed(x):
    return np.array([x[0], 1], "float64") * np.array([x[1], x[2]], dtype=np.float64)


FUNCTIONS = [
    *(between_edges, joined_by_index, columns, rows, filled, filled_by_rows, reduced, solved),
    *(beside_an_array, assigned, selected, converted, copied, typed),
]


@pytest.mark.parametrize("mode", ["source", "auto"])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_derivatives(f, mode):
    wanted = f(X.copy())
    value, pull = wy.pullback(f, X.copy(), mode=mode)
    np.testing.assert_allclose(value, wanted, rtol=1e-14)
    seed = weighted(np.ones(np.shape(wanted)))
    (found,) = pull(seed if np.ndim(wanted) else float(seed))
    np.testing.assert_allclose(found, differences(f, X), rtol=1e-7, atol=1e-8)


def test_single_precision_stays():
    def f(x):
        return np.concatenate([[x[0]], x, np.full(2, x[1])]) * np.array([x[2]])

    x = X.astype(np.float32)
    value, pull = wy.pullback(f, x, mode="source")
    assert value.dtype == f(x).dtype == np.float32
    np.testing.assert_allclose(value, f(x), rtol=1e-6)
    assert pull(np.ones(6, np.float32))[0].dtype == np.float32

    def beside_a_float(x):
        return np.array([x[0], 2.0]) * 1.0

    assert wy.compile(beside_a_float)(x).dtype == beside_a_float(x).dtype == np.float64


def test_lists_that_are_no_arrays_raise_as_before():
    def ragged(x):
        return np.sum([[x[0]], [x[1], x[2]]])

    with pytest.raises(ValueError, match="inhomogeneous"):
        wy.grad(ragged, mode="source")(X)


def test_an_array_is_its_own_where_numpy_copies_nothing():
    def same(x):
        return np.asarray(x)

    def copy(x):
        return np.array(x)

    assert wy.compile(same)(X) is X
    assert not np.shares_memory(wy.compile(copy)(X), X)


def test_an_array_of_a_list_from_which_items_were_taken_in_front():
    def rest(x):
        items, y = [], x[0]
        while y < 9.0:
            items.append(y)
            y = y * x[1]
        first = items.pop(0)
        del items[0]
        return first * np.sum(np.stack(items) ** 2) + sum(items[1:])

    fast = wy.compile(rest, mode="source")
    for y in (X, X + 0.5):
        assert fast(y) == pytest.approx(rest(y), rel=1e-14)
        found = wy.grad(rest, mode="source")(y)
        assert found == pytest.approx(wy.grad(rest, mode="trace")(y), rel=1e-12)


def test_a_list_from_which_items_were_taken_in_front_is_returned():
    def rest(x):
        items = []
        while x < 9.0:
            items.append(x)
            x = x * 1.5
        items.pop(0)
        return items

    assert wy.compile(rest, mode="source")(1.0) == rest(1.0)


def any_of_several(x):
    return x * x if np.any([x > 1.0, x > 0.2]) else x


def all_of_several(x):
    return x * x if np.all((x > 0.2, x < 1.0, True)) else 3.0 * x


def counted(x):
    above = [x > 0.35 * k + 0.02 for k in range(8)]
    return np.sum(above) * x + np.count_nonzero(above) * x**2 + np.mean(above) * x**3


def masked(x):
    chosen = np.array([[x > 1.0, True], [x > 0.2, x < 9.0]])
    return np.sum(chosen * x) + np.sum(np.where([x > 1.0, x > 0.2], x**2, x))


def selected_by_bools(x):
    return np.select([x > 1.0, x > 0.2], [x * x, np.sin(x)], -x) + np.select([x > 0.2], [1], 2) * x


def selected_in_a_loop(x):
    total = 0.0
    for k in range(20):
        total += np.select(condlist=[x * k > 3.1, x > 0.2], choicelist=[0, x * k], default=x**2)
    return total


def selected_beside_an_array(x):
    chosen = np.select([x > 1.0, np.array([True, False])], [x**2, [2.0, x]], default=x**3)
    return np.sum(chosen * np.array([1.0, 10.0]))


def of_masks(x):
    v = np.array([0.3, 0.8, 1.2]) * x
    chosen = np.any([v > 1.0, v < 0.2], axis=0) * v + np.where([v > 1, v > 0.2], v, 1)
    return np.sum(chosen) + np.sum(np.logical_and.reduce((v < 1.0, v > 0.2)) * v**2)


BOOLS = [any_of_several, all_of_several, counted, masked, selected_by_bools, selected_in_a_loop]


@pytest.mark.parametrize("f", [*BOOLS, selected_beside_an_array, of_masks])
def test_lists_of_comparisons_are_masks(f):
    for x in (0.1, 0.5, 1.5):
        value, slope = wy.value_and_grad(f, mode="source")(x)
        assert value == pytest.approx(float(f(x)), rel=1e-14)
        assert slope == pytest.approx(float(f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rel=1e-7)


def test_select_of_bools_raises_as_numpy_does():
    def uneven(x):
        return np.select([x > 1.0], [x, x])

    with pytest.raises(ValueError, match="list of cases"):
        wy.compile(uneven)(0.5)
