"""Frozen programs: what they compute, bind and print."""

import threading

import numpy as np
import pytest

import wyrmling as wy


def model():
    rng = np.random.default_rng(3)
    x, y = wy.Input(np.zeros((1, 4)), name="x"), wy.Input(np.zeros(1), name="y")
    w, b = wy.Parameter(rng.normal(size=4), name="w"), wy.Parameter(0.5, name="b")
    return x, y, w, b, (x @ w + b - y).square().sum()


def data(n):
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, 4)), rng.normal(size=n)


@pytest.mark.parametrize("n", [1, 3, 64, 0])
def test_any_batch_length(n):
    """Another length plans again and truncates nothing."""
    x, y, w, b, loss = model()
    program = wy.freeze(loss)
    a, t = data(n)
    residual = a @ w.value + 0.5 - t
    value, grads = program.value_and_grad({x: a, y: t})
    np.testing.assert_allclose(value, np.sum(residual**2))
    np.testing.assert_allclose(program.run({x: a, y: t}), value)
    np.testing.assert_allclose(grads[w], 2 * residual @ a, atol=1e-12)
    np.testing.assert_allclose(grads[b], 2 * residual.sum(), atol=1e-12)
    assert set(grads) == {w, b}


def test_parameters_stay_shared():
    x, y, w, b, loss = model()
    program = wy.freeze(loss)
    w.value = np.zeros(4)
    b.value = 0.0
    assert program.run({x: np.ones((2, 4)), y: [1.0, 2.0]}) == 5.0
    assert {id(p) for p in program.parameters()} == {id(w), id(b)}


def test_variables_are_fixed_and_have_gradients():
    v, w = wy.Variable([1.0, 2.0]), wy.Parameter([3.0, 4.0])
    program = wy.freeze((v * w).sum())
    v.value = [0.0, 0.0]
    value, grads = program.value_and_grad()
    assert value == 11.0
    assert grads[v].tolist() == [3.0, 4.0]


def test_a_leaf_without_influence_has_no_gradient():
    w, v = wy.Parameter([1.0]), wy.Parameter([2.0])
    _, grads = wy.freeze(((w > 0.0) * v).sum()).value_and_grad()
    assert grads[w] is None
    assert grads[v].tolist() == [1.0]


def test_printing():
    *_, loss = model()
    program = wy.freeze(loss)
    text = str(program)
    for part in ("input 'x'", "parameter 'w'", "matmul", "square", "fn loss_adjoint", "f64[1, 4]"):
        assert part in text
    assert program.inputs == ["x", "y"]
    assert repr(program) == "<Program with inputs [x, y] and 2 parameters>"


def test_two_threads_at_once():
    x, y, w, _, loss = model()
    program = wy.freeze(loss)
    a, t = data(100)
    expected = program.run({x: a, y: t})
    failures = []

    def work():
        try:
            for _ in range(200):
                value, grads = program.value_and_grad({x: a, y: t})
                assert value == expected
                assert grads[w].shape == (4,)
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_bindings_are_checked():
    x, y, w, _, loss = model()
    program = wy.freeze(loss)
    a, t = data(3)
    with pytest.raises(ValueError, match="input 'y' has no value"):
        program.run({x: a})
    with pytest.raises(ValueError, match=r"'other' is not one of this graph.*x, y"):
        program.run({x: a, y: t, wy.Input(0.0, name="other"): 1.0})
    with pytest.raises(
        TypeError, match=r"expected an Input or IndexInput, got wyrmling\.Parameter"
    ):
        program.run({x: a, y: t, w: t})
    with pytest.raises(TypeError, match=r"input 'x': expected numbers .* dtype complex128"):
        program.run({x: a.astype(complex), y: t})
    with pytest.raises(ValueError, match="input 'x': expected 2 axes"):
        program.run({x: t, y: t})
    with pytest.raises(ValueError, match=r"\(3,\) and \(2,\)"):
        program.run({x: a, y: t[:2]})
    i = wy.IndexInput([0], name="i")
    lookup = wy.freeze(wy.Parameter(np.zeros((5, 2)))[i].sum())
    for bad in (5, -1, 2**40):
        with pytest.raises(IndexError, match=f"input 'i': index {bad} .* 5 rows"):
            lookup.run({i: [0, bad]})
    with pytest.raises(TypeError, match="input 'i': expected integer indices"):
        lookup.run({i: [0.0]})


def test_many_joined_in_a_program_of_any_length(rng):
    """More operands than one operator joins; each is found again when lengths change."""
    x = wy.Input(np.zeros((1, 2)), name="x")
    w = [wy.Parameter(rng.normal(size=(k % 3, 2))) for k in range(400)]
    scale = np.arange(2.0)
    parts = [part * scale for part in w]
    parts[100] = parts[100] + 0.0 * x.sum()
    parts[200:200] = [x, x * 2.0]
    joined = wy.concatenate(parts)
    stacked = wy.stack([part.sum() for part in w])
    loss = (joined * joined).sum() + (stacked * np.arange(400.0)).sum()
    program = wy.freeze(loss)
    for n in (1, 0, 5):
        batch = rng.normal(size=(n, 2))
        x.value = batch
        arrays = [part.value * scale for part in w]
        arrays[200:200] = [batch, batch * 2.0]
        expected = (np.concatenate(arrays) ** 2).sum()
        expected += np.dot([part.value.sum() for part in w], np.arange(400.0))
        np.testing.assert_allclose(loss.item(), expected)
        value, grads = program.value_and_grad({x: batch})
        np.testing.assert_allclose(value, expected)
        loss.zero_grad()
        loss.backward()
        for k, part in enumerate(w):
            gradient = 2.0 * part.value * scale**2 + k
            np.testing.assert_allclose(part.grad, gradient, atol=1e-12)
            np.testing.assert_allclose(grads[part], gradient, atol=1e-12)
