"""Work of microseconds: a loss and its gradients, where overhead is what counts."""

from __future__ import annotations

import argparse
import importlib
from typing import Any

import numpy as np

import wyrmling as wy

from .peers import Peers
from .rows import OURS, Row, Run, Target, check, micro, microseconds


def regression(peers: Peers, options: argparse.Namespace) -> Row:
    """A line through one point: nothing but overhead."""
    expected = (-24.0, -8.0)
    sides: dict[str, Run] = {}

    slope, intercept = wy.Parameter(1.0), wy.Parameter(0.0)
    x, y = wy.Input(3.0), wy.Input(7.0)

    def ours() -> None:
        slope.zero_grad()
        intercept.zero_grad()
        loss = (y - (slope * x + intercept)) ** 2
        loss.backward()

    ours()
    check(OURS, (slope.grad, intercept.grad), expected)
    sides[OURS] = micro(ours)

    program = wy.freeze((y - (slope * x + intercept)) ** 2)

    def frozen() -> Any:
        return program.value_and_grad({x: 3.0, y: 7.0})[1]

    check("frozen", [frozen()[leaf] for leaf in (slope, intercept)], expected)
    sides[f"{OURS}, frozen"] = micro(frozen)

    if torch := peers.torch:
        s, b = (torch.tensor(value, requires_grad=True) for value in (1.0, 0.0))
        tx, ty = torch.tensor(3.0), torch.tensor(7.0)

        def with_torch() -> None:
            s.grad = b.grad = None
            loss = (ty - (s * tx + b)) ** 2
            loss.backward()

        with_torch()
        check("PyTorch", (s.grad, b.grad), expected)
        sides["PyTorch"] = micro(with_torch)

    def loss(s: Any, b: Any, x: Any, y: Any) -> Any:
        return (y - (s * x + b)) ** 2

    if jax := peers.jax:
        compiled = jax.jit(jax.value_and_grad(loss, (0, 1)))

        def with_jax() -> Any:
            return jax.block_until_ready(compiled(1.0, 0.0, 3.0, 7.0))[1]

        check("JAX", with_jax(), expected)
        sides["JAX, jit"] = micro(with_jax)
    if autograd := peers.autograd:
        gradient = autograd.value_and_grad(loss, (0, 1))
        check("autograd", gradient(1.0, 0.0, 3.0, 7.0)[1], expected)
        sides["HIPS autograd"] = micro(lambda: gradient(1.0, 0.0, 3.0, 7.0))
    return Row(
        "(y - (s * x + b)) ** 2 of numbers, forward and backward",
        "µs",
        microseconds,
        sides,
        [Target("at most 2 µs", OURS, most=2e-6)],
    )


def trace(peers: Peers, options: argparse.Namespace) -> Row:
    """The trace of a product, with the gradients in hand as arrays."""
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 30, 30))
    expected = (b.T, a.T)
    sides: dict[str, Run] = {}

    x1, x2 = wy.Variable(a), wy.Variable(b)

    def ours() -> Any:
        x1.zero_grad()
        x2.zero_grad()
        wy.trace(x1 @ x2).backward()
        return x1.grad, x2.grad

    check(OURS, ours(), expected)
    sides[OURS] = micro(ours)

    i1, i2 = wy.Parameter(a), wy.Parameter(b)
    program = wy.freeze(wy.trace(i1 @ i2))

    def frozen() -> Any:
        _, gradients = program.value_and_grad()
        return gradients[i1], gradients[i2]

    check("frozen", frozen(), expected)
    sides[f"{OURS}, frozen"] = micro(frozen)

    def by_hand() -> Any:
        np.trace(a @ b)
        return b.T.copy(), a.T.copy()

    sides["NumPy by hand"] = micro(by_hand)

    if torch := peers.torch:
        t1, t2 = (torch.tensor(m, requires_grad=True) for m in (a, b))

        def with_torch() -> Any:
            t1.grad = t2.grad = None
            torch.trace(t1 @ t2).backward()
            return t1.grad, t2.grad

        check("PyTorch", with_torch(), expected)
        sides["PyTorch"] = micro(with_torch)
    if jax := peers.jax:
        compiled = jax.jit(jax.value_and_grad(lambda p, q: jax.numpy.trace(p @ q), (0, 1)))
        j1, j2 = jax.numpy.asarray(a), jax.numpy.asarray(b)

        def with_jax() -> Any:
            return jax.block_until_ready(compiled(j1, j2))[1]

        check("JAX", with_jax(), expected)
        sides["JAX, jit"] = micro(with_jax)
    if autograd := peers.autograd:
        numpy = importlib.import_module("autograd.numpy")
        gradient = autograd.value_and_grad(lambda p, q: numpy.trace(p @ q), (0, 1))
        check("autograd", gradient(a, b)[1], expected)
        sides["HIPS autograd"] = micro(lambda: gradient(a, b))
    return Row(
        "tr(x1 @ x2) and both gradients, 30x30 float64",
        "µs",
        microseconds,
        sides,
        [Target("no slower than NumPy by hand", OURS, "NumPy by hand", most=1.0)],
    )


def least_squares(peers: Peers, options: argparse.Namespace) -> Row:
    """The mean squared error of a linear model, with its gradient in hand."""
    rng = np.random.default_rng(1)
    data, truth, start = rng.normal(size=(1000, 10)), rng.normal(size=1000), rng.normal(size=10)

    def by_hand() -> Any:
        error = data @ start - truth
        return error @ error / len(error), data.T @ error * (2 / len(error))

    expected = by_hand()[1:]
    sides: dict[str, Run] = {}

    w, x, y = wy.Parameter(start), wy.Input(data), wy.Input(truth)

    def ours() -> Any:
        w.zero_grad()
        ((x @ w - y) ** 2).mean().backward()
        return (w.grad,)

    check(OURS, ours(), expected)
    sides[OURS] = micro(ours)

    program = wy.freeze(((data @ w - truth) ** 2).mean())

    def frozen() -> Any:
        return (program.value_and_grad()[1][w],)

    check("frozen", frozen(), expected)
    sides[f"{OURS}, frozen"] = micro(frozen)
    sides["NumPy by hand"] = micro(by_hand)

    if torch := peers.torch:
        tw = torch.tensor(start, requires_grad=True)
        tx, ty = torch.tensor(data), torch.tensor(truth)

        def with_torch() -> Any:
            tw.grad = None
            ((tx @ tw - ty) ** 2).mean().backward()
            return (tw.grad,)

        check("PyTorch", with_torch(), expected)
        sides["PyTorch"] = micro(with_torch)

    def loss(w: Any, x: Any, y: Any) -> Any:
        return ((x @ w - y) ** 2).mean()

    if jax := peers.jax:
        compiled = jax.jit(jax.value_and_grad(loss))
        arrays = [jax.numpy.asarray(array) for array in (start, data, truth)]

        def with_jax() -> Any:
            return (jax.block_until_ready(compiled(*arrays))[1],)

        check("JAX", with_jax(), expected)
        sides["JAX, jit"] = micro(with_jax)
    if autograd := peers.autograd:
        numpy = importlib.import_module("autograd.numpy")
        gradient = autograd.value_and_grad(lambda w: numpy.mean((data @ w - truth) ** 2))
        check("autograd", gradient(start)[1:], expected)
        sides["HIPS autograd"] = micro(lambda: gradient(start))
    title = "least squares, 1000x10 float64, loss and gradient"
    return Row(title, "µs", microseconds, sides)


def network(peers: Peers, options: argparse.Namespace) -> Row:
    """A step of a small network: the loss of a batch, and the gradients of all weights."""
    rng = np.random.default_rng(1)
    data = rng.normal(size=(32, 784))
    truth = np.eye(10)[rng.integers(10, size=32)]
    start = [rng.normal(size=(784, 100)) / 28, np.zeros(100)]
    start += [rng.normal(size=(100, 10)) / 10, np.zeros(10)]

    def by_hand() -> Any:
        w1, b1, w2, b2 = start
        hidden = np.tanh(data @ w1 + b1)
        scores = hidden @ w2 + b2
        top = scores.max(1, keepdims=True)
        shares = np.exp(scores - top)
        sums = shares.sum(1, keepdims=True)
        loss = (np.log(sums) + top - (scores * truth).sum(1, keepdims=True)).mean()
        last = (shares / sums - truth) / len(data)
        inner = (last @ w2.T) * (1 - hidden * hidden)
        return loss, [data.T @ inner, inner.sum(0), hidden.T @ last, last.sum(0)]

    expected = by_hand()[1]
    sides: dict[str, Run] = {}

    weights = [wy.Parameter(w) for w in start]
    x, y = wy.Input(data), wy.Input(truth)

    def forward() -> Any:
        w1, b1, w2, b2 = weights
        scores = wy.tanh(x @ w1 + b1) @ w2 + b2
        return (wy.logsumexp(scores, 1) - (scores * y).sum(1)).mean()

    def ours() -> Any:
        for w in weights:
            w.zero_grad()
        forward().backward()
        return [w.grad for w in weights]

    check(OURS, ours(), expected)
    sides[OURS] = micro(ours)

    program = wy.freeze(forward())

    def frozen() -> Any:
        gradients = program.value_and_grad({x: data, y: truth})[1]
        return [gradients[w] for w in weights]

    check("frozen", frozen(), expected)
    sides[f"{OURS}, frozen"] = micro(frozen)
    sides["NumPy by hand"] = micro(by_hand)

    if torch := peers.torch:
        tw = [torch.tensor(w, requires_grad=True) for w in start]
        tx, ty = torch.tensor(data), torch.tensor(truth)

        def with_torch() -> Any:
            for w in tw:
                w.grad = None
            scores = torch.tanh(tx @ tw[0] + tw[1]) @ tw[2] + tw[3]
            (torch.logsumexp(scores, 1) - (scores * ty).sum(1)).mean().backward()
            return [w.grad for w in tw]

        check("PyTorch", with_torch(), expected)
        sides["PyTorch"] = micro(with_torch)
    if jax := peers.jax:

        def loss(weights: Any, x: Any, y: Any) -> Any:
            w1, b1, w2, b2 = weights
            scores = jax.numpy.tanh(x @ w1 + b1) @ w2 + b2
            return (jax.nn.logsumexp(scores, 1) - (scores * y).sum(1)).mean()

        compiled = jax.jit(jax.value_and_grad(loss))
        arrays = [[jax.numpy.asarray(w) for w in start], *map(jax.numpy.asarray, (data, truth))]

        def with_jax() -> Any:
            return jax.block_until_ready(compiled(*arrays))[1]

        check("JAX", with_jax(), expected)
        sides["JAX, jit"] = micro(with_jax)
    if autograd := peers.autograd:
        numpy = importlib.import_module("autograd.numpy")
        logsumexp = importlib.import_module("autograd.scipy.special").logsumexp

        def loss_of(weights: Any) -> Any:
            w1, b1, w2, b2 = weights
            scores = numpy.dot(numpy.tanh(numpy.dot(data, w1) + b1), w2) + b2
            return numpy.mean(logsumexp(scores, 1) - numpy.sum(scores * truth, 1))

        gradient = autograd.value_and_grad(loss_of)
        check("autograd", gradient(start)[1], expected)
        sides["HIPS autograd"] = micro(lambda: gradient(start))
    title = "a 784-100-10 network, batch of 32, float64, loss and gradients"
    return Row(title, "µs", microseconds, sides)


def hessian(peers: Peers, options: argparse.Namespace) -> Row:
    """The Hessian of Rosenbrock's function of 100 numbers."""
    point = np.random.default_rng(1).normal(size=100)

    def rosenbrock(x: Any) -> Any:
        return (100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2).sum()

    def by_hand() -> Any:
        x = point
        outer = -400.0 * x[:-1]
        diagonal = np.zeros_like(x)
        diagonal[:-1] = 1200.0 * x[:-1] ** 2 - 400.0 * x[1:] + 2.0
        diagonal[1:] += 200.0
        return np.diag(diagonal) + np.diag(outer, 1) + np.diag(outer, -1)

    expected = [by_hand()]
    sides: dict[str, Run] = {}
    # TO BE TRIED when wy.hessian is there; until then the row has the peers alone.
    if hasattr(wy, "hessian"):
        ours = wy.hessian(rosenbrock)
        check(OURS, [ours(point)], expected)
        sides[OURS] = micro(lambda: ours(point))
    sides["NumPy by hand"] = micro(by_hand)
    if torch := peers.torch:
        tx = torch.tensor(point)

        def with_torch() -> Any:
            return torch.autograd.functional.hessian(rosenbrock, tx)

        check("PyTorch", [with_torch()], expected)
        sides["PyTorch"] = micro(with_torch)
    if jax := peers.jax:
        compiled, jx = jax.jit(jax.hessian(rosenbrock)), jax.numpy.asarray(point)

        def with_jax() -> Any:
            return jax.block_until_ready(compiled(jx))

        check("JAX", [with_jax()], expected)
        sides["JAX, jit"] = micro(with_jax)
    if autograd := peers.autograd:
        numpy = importlib.import_module("autograd.numpy")

        def with_numpy(x: Any) -> Any:
            return numpy.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

        second = autograd.hessian(with_numpy)
        check("autograd", [second(point)], expected)
        sides["HIPS autograd"] = micro(lambda: second(point))
    title = "Hessian of Rosenbrock's function of 100 numbers, float64"
    return Row(title, "µs", microseconds, sides)
