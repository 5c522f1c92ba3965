"""Gradients that are graphs, and where gradients stop."""

import gc
import weakref

import numpy as np

import wyrmling as wy


def test_create_graph():
    x = wy.Variable(2.0)
    (x**4).backward(create_graph=True)
    first = x.grad
    assert isinstance(first, wy.Variable)
    assert first.item() == 32.0
    x.zero_grad()
    assert x.grad is None
    first.backward(create_graph=True)
    second = x.grad
    assert second.item() == 48.0
    x.zero_grad()
    second.backward()
    assert x.grad == 48.0
    # Numbers and graphs add up.
    x.zero_grad()
    (x * x).backward()
    (x * x).backward(create_graph=True)
    assert x.grad.item() == 8.0
    (x * x).backward()
    assert x.grad == 12.0


def test_create_graph_for_a_penalty():
    """A penalty on the gradient, trained: the norm of the slope goes down."""
    w = wy.Parameter([1.0, -2.0])
    x = np.array([[1.0, 2.0], [3.0, -1.0]])
    optimizer = wy.SGD(lr=0.01)
    losses = []
    for _ in range(20):
        y = np.sum(np.tanh(x @ w) ** 2)
        y.backward(create_graph=True)
        penalty = (w.grad * w.grad).sum()
        w.zero_grad()
        penalty.backward()
        optimizer.step([w])
        w.zero_grad()
        losses.append(penalty.item())
    assert losses[-1] < losses[0]


def test_graphs_of_gradients_leak_nothing():
    x = wy.Variable(2.0)
    (x * x).backward(create_graph=True)
    graph = weakref.ref(x)
    del x
    gc.collect()
    assert graph() is None


def test_stop_gradient():
    assert wy.grad(lambda x: x * wy.stop_gradient(x))(3.0) == 3.0
    assert wy.jvp(lambda x: x * wy.stop_gradient(x), (3.0,), (1.0,))[1] == 3.0
