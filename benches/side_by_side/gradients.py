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
