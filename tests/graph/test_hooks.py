"""Hooks, which see and change gradients."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import wyrmling as wy


def test_hooks_see_and_change_gradients():
    x = wy.Variable([1.0, 2.0])
    y = x * 3.0
    seen = []
    handle = y.register_hook(lambda g: seen.append(g) or g * 10.0)
    (y * y + y).sum().backward()
    # Complete, and once, though y is used three times.
    (g,) = seen
    np.testing.assert_array_equal(g, [7.0, 13.0])
    np.testing.assert_array_equal(x.grad, [210.0, 390.0])
    x.zero_grad()
    handle.remove()
    handle.remove()
    (y * y + y).sum().backward()
    np.testing.assert_array_equal(x.grad, [21.0, 39.0])


def test_hooks_on_leaves_and_on_graphs():
    w = wy.Parameter(np.zeros((4, 2)))
    kinds = []
    w.register_hook(lambda g: kinds.append(type(g)))
    w[[1, 2]].sum().backward()
    assert kinds == [wy.SparseGrad]
    x = wy.Variable(3.0)
    x.register_hook(lambda g: kinds.append(type(g)) or g * 2)
    (x * x).backward(create_graph=True)
    assert kinds[-1] is wy.Variable
    assert x.grad.item() == 12.0


def test_a_hook_may_give_rows():
    table = wy.Parameter(np.ones((4, 2)))

    def halved(g):
        return wy.SparseGrad(g.indices, 0.5 * g.values, g.shape)

    handle = table.register_hook(halved)
    loss = table[[0, 0, 3]].sum()
    loss.backward()
    assert isinstance(table.grad, wy.SparseGrad)
    expected = np.outer([1.0, 0.0, 0.0, 0.5], [1.0, 1.0])
    np.testing.assert_array_equal(table.grad.to_dense(), expected)
    handle.remove()
    # Rows in the place of an array, of a gradient that is a graph, and of a result of an operator.
    row = wy.SparseGrad([2, 2], [[1.0, 2.0], [3.0, 4.0]], (4, 2))
    expected = [[0.0, 0.0], [0.0, 0.0], [4.0, 6.0], [0.0, 0.0]]
    for of in (table, 1.0 * table):
        for create_graph in (False, True):
            handle = of.register_hook(lambda g: row)
            table.zero_grad()
            (of * of).sum().backward(create_graph=create_graph)
            handle.remove()
            found = table.grad
            found = found.value if create_graph else found
            found = found.to_dense() if isinstance(found, wy.SparseGrad) else found
            np.testing.assert_array_equal(found, expected)
    table.zero_grad()
    wrong = [
        (ValueError, wy.SparseGrad([0], [[1.0, 2.0]], (5, 2))),
        (TypeError, wy.SparseGrad([0], np.ones((1, 2), np.float32), (4, 2))),
    ]
    for error, given in wrong:
        handle = table.register_hook(lambda g, given=given: given)
        with pytest.raises(error, match=r"hook: expected .* float64 and shape \(4, 2\)"):
            loss.backward()
        handle.remove()
    assert table.grad is None


def test_hooks_of_a_parameter_are_those_of_its_thread():
    w = wy.Parameter(3.0)

    def slope(of):
        w.zero_grad()
        (of * of).backward()
        return float(w.grad)

    def other():
        with pytest.raises(RuntimeError, match=r"register_hook: .* another thread"):
            w.register_hook(lambda g: 10.0 * g)
        made = w * 1.0
        made.register_hook(lambda g: 10.0 * g)
        found.extend([slope(w), slope(made)])

    found = []
    w.register_hook(lambda g: -g)
    with ThreadPoolExecutor() as pool:
        pool.submit(other).result()
    assert found == [6.0, 60.0]
    assert slope(w) == -6.0


def test_bad_hooks_and_bad_results_of_hooks_are_errors():
    x = wy.Variable([1.0, 2.0])
    with pytest.raises(TypeError, match="hook: expected a function"):
        x.register_hook(3)
    with pytest.raises(TypeError, match="no gradient flows"):
        wy.Input(1.0).register_hook(print)
    handle = x.register_hook(lambda g: np.ones(3))
    with pytest.raises(ValueError, match="hook: expected a gradient of float64 and shape"):
        x.sum().backward()
    handle.remove()
    x.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        x.sum().backward()
    assert x.grad is None
    with pytest.raises(TypeError, match=r"freeze: .* hook"):
        wy.freeze(x.sum())


def test_a_hook_may_pull_back_through_its_own_graph():
    # Its nodes hold the gradients of the walk under way, which the inner walk must not touch.
    calls, inner = [], []

    def hook(g):
        calls.append(g)
        if len(calls) == 1:
            inner.append(pullback(1.0))

    def f(x, w):
        y = x * w
        y.register_hook(hook)
        return y * y + x * y

    _, pullback = wy.vjp(f, 2.0, 3.0)
    expected = (2 * 2.0 * 9.0 + 2 * 2.0 * 3.0, 2 * 3.0 * 4.0 + 4.0)
    assert pullback(1.0) == expected
    assert inner == [expected]
    assert len(calls) == 2


def test_a_pullback_of_several_results_passes_what_they_share_once():
    seen = []

    def f(x):
        y = x * 2.0
        y.register_hook(lambda g: seen.append(getattr(g, "value", g)))
        return [y[0], y[1] * np.float32(3.0), wy.sum(y) * y]

    x = np.array([1.0, 2.0])
    result, pull = wy.vjp(f, x)
    assert not seen
    for seeds in ([1.0, 2.0, np.zeros(2)], [wy.Variable(1.0), 2.0, np.zeros(2)]):
        (slope,) = pull(seeds)
        np.testing.assert_array_equal(getattr(slope, "value", slope), [2.0, 12.0])
    np.testing.assert_array_equal(seen, [[1.0, 6.0]] * 2)
    assert len(result) == 3
