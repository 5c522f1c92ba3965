"""A list that has variables somewhere is an operand like any other: the array of its items."""

import numpy as np
import pytest

import wyrmling as wy


def test_functions_and_operators_take_them():
    v = wy.Variable([1.0, 2.0, 3.0])
    assert np.concatenate([[v[0]], v, (v[2], 0.0)]).value.tolist() == [1.0, 1.0, 2.0, 3.0, 3.0, 0.0]
    assert np.vstack([v, [v[2], 0.0, v[0]]]).value.tolist() == [[1.0, 2.0, 3.0], [3.0, 0.0, 1.0]]
    assert (v * [v[1], 2.0, 1.0]).value.tolist() == [2.0, 4.0, 3.0]
    assert ([v[1], 2.0, 1.0] - v).value.tolist() == [1.0, 0.0, -2.0]
    assert np.dot([v[1], 1.0, 0.0], v).item() == 4.0
    assert wy.sum([v[0], [v[1]][0], 1]).item() == 4.0
    single = wy.Variable(np.ones(2, np.float32))
    assert np.concatenate([[single[0]], single]).dtype == np.float32


def test_their_gradient_is_that_of_the_array():
    def f(x):
        return np.sum(np.concatenate([[x[0]], x]) ** 2) + np.sum(x * [x[1], 0.0, 1.0])

    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(wy.grad(f, mode="trace")(x), [6.0, 5.0, 7.0])


def test_a_list_within_itself_is_refused():
    v = wy.Variable([1.0, 2.0])
    items = [v[0]]
    items.append(items)
    with pytest.raises((TypeError, ValueError)):
        wy.sum(items)


@pytest.mark.parametrize(
    ("other", "error"),
    [
        ([[0.0], [1.0, "v"]], ValueError),  # lengths differ
        ([[], ["v"]], ValueError),
        (["v", None], TypeError),
        (["v", "text"], TypeError),
    ],
)
def test_what_is_no_array_is_refused(other, error):
    v = wy.Variable(2.0)

    def with_v(part):
        if isinstance(part, list):
            return [with_v(one) for one in part]
        return v if part == "v" else part

    with pytest.raises(error):
        v * with_v(other)


def test_a_list_may_be_as_deep_as_arrays_have_axes():
    v = wy.Variable(2.0)
    deep = v
    for _ in range(60):
        deep = [deep]
    assert (v * deep).shape == (1,) * 60
    for _ in range(200):
        deep = [deep]
    with pytest.raises(ValueError, match="dimension"):
        v * deep
