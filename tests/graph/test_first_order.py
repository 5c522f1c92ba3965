"""Worked examples of first-order gradients, checked by hand."""

import numpy as np

import wyrmling as wy


def test_dot_relu_sum():
    """A product, a rectifier, ones as the seed: arrays are summed."""
    l1 = wy.Variable(np.arange(-4, 4).reshape(2, 4))
    l2 = wy.Variable(np.arange(-2, 2).reshape(4, 1))
    n2 = wy.relu(wy.dot(l1, l2))
    n2.backward()
    assert n2.value.tolist() == [[10.0], [2.0]]
    assert l1.grad.tolist() == [[-2.0, -1.0, 0.0, 1.0]] * 2
    assert l2.grad.tolist() == [[-4.0], [-2.0], [0.0], [2.0]]
    loss = n2.sum()
    loss.zero_grad()
    loss.backward()
    assert loss.item() == 12.0
    assert l2.grad.tolist() == [[-4.0], [-2.0], [0.0], [2.0]]


def test_trace_of_a_product(rng):
    """``tr(x1 @ x2)``: the gradients are the transposes."""
    a, b = rng.normal(size=(2, 30, 30))
    x1, x2 = wy.Variable(a), wy.Variable(b)
    z = wy.trace(x1 @ x2)
    z.backward()
    np.testing.assert_allclose(z.item(), np.trace(a @ b))
    np.testing.assert_array_equal(x1.grad, b.T)
    np.testing.assert_array_equal(x2.grad, a.T)


def test_regression():
    """Slope and intercept, by hand and by ``step``."""
    slope, intercept = wy.Parameter(1.0), wy.Parameter(0.0)
    x, y = wy.Input(3.0), wy.Input(7.0)
    loss = (y - (slope * x + intercept)).square()
    assert loss.item() == 16.0
    loss.backward()
    assert slope.grad == -24.0
    assert intercept.grad == -8.0

    optimizer = wy.SGD(lr=0.1)
    for step in range(500):
        x.value = (step % 10) / 10
        y.value = 3.0 * (step % 10) / 10 + 5.0
        loss.zero_grad()
        loss.backward()
        optimizer.step(loss.parameters())
    np.testing.assert_allclose(slope.value, 3.0, atol=0.05)
    np.testing.assert_allclose(intercept.value, 5.0, atol=0.05)


def test_a_pullback_inside_of_a_gradient():
    """It is plain where nothing outside can want its gradient, and differentiated where it can."""
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])

    def of_constants(x):
        (g,) = wy.vjp(lambda z: z**2, y)[1](np.ones(2))
        assert isinstance(g, np.ndarray)
        return (g * x).sum()

    def of_the_argument(x):
        return wy.vjp(lambda z: z**3, x)[1](np.ones(2))[0].sum()

    assert wy.grad(of_constants)(x).tolist() == [6.0, 8.0]
    assert wy.grad(of_the_argument)(x).tolist() == [6.0, 12.0]
    assert wy.jvp(of_the_argument, (x,), (np.ones(2),)) == (15.0, 18.0)
    assert wy.grad(lambda x: wy.grad(of_the_argument)(x).sum())(x).tolist() == [6.0, 6.0]
    assert wy.grad(lambda s: wy.vjp(lambda z: z**2, y)[1](np.ones(2) * s)[0].sum())(2.0) == 14.0
