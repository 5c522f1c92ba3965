"""Single operators as they are called: on few numbers, where overhead counts, and on many."""

from __future__ import annotations

import argparse
import importlib
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import wyrmling as wy

from .peers import Peers
from .rows import OURS, READ, Row, Run, Target, check, micro, microseconds

CHAIN = 50


def sines(peers: Peers, options: argparse.Namespace) -> Row:
    """A chain of sines of ten numbers, forward."""
    data = np.linspace(0.1, 1.0, 10)

    def chain(x: Any, sine: Callable[[Any], Any] = np.sin) -> Any:
        for _ in range(CHAIN):
            x = sine(x)
        return x

    expected = [chain(data)]
    sides: dict[str, Run] = {}

    def ours() -> Any:
        return chain(wy.Variable(data))

    check(OURS, [ours().value], expected)
    sides[OURS] = _each(ours)
    sides[f"{OURS}, wy.sin"] = _each(lambda: chain(wy.Variable(data), wy.sin))
    sides["NumPy"] = _each(lambda: chain(data))
    if torch := peers.torch:

        def with_torch() -> Any:
            return chain(torch.tensor(data, requires_grad=True), torch.sin)

        check("PyTorch", [with_torch().detach()], expected)
        sides["PyTorch"] = _each(with_torch)
    return Row(
        f"{CHAIN} chained np.sin of 10 float64, forward, time of one",
        "µs",
        microseconds,
        sides,
        [Target("under 1 µs an operator", OURS, most=1e-6)],
    )


def sines_gradient(peers: Peers, options: argparse.Namespace) -> Row:
    """The same chain, with the gradient of its sum: by a graph, and compiled from what is read."""
    data = np.linspace(0.1, 1.0, 10)

    def chain(x: Any, sine: Callable[[Any], Any] = np.sin) -> Any:
        for _ in range(CHAIN):
            x = sine(x)
        return x.sum()

    def by_hand() -> Any:
        x, gradient = data, np.ones_like(data)
        for _ in range(CHAIN):
            gradient = gradient * np.cos(x)
            x = np.sin(x)
        return gradient

    expected = [by_hand()]
    sides: dict[str, Run] = {}

    def ours() -> Any:
        v = wy.Variable(data)
        chain(v).backward()
        return v.grad

    check(OURS, [ours()], expected)
    sides[OURS] = _each(ours)
    compiled_by_us = wy.grad(chain, mode="source")
    check(READ, [compiled_by_us(data)], expected)
    sides[READ] = _each(lambda: compiled_by_us(data))
    sides["NumPy by hand"] = _each(by_hand)
    if torch := peers.torch:

        def with_torch() -> Any:
            x = torch.tensor(data, requires_grad=True)
            chain(x, torch.sin).backward()
            return x.grad

        check("PyTorch", [with_torch()], expected)
        sides["PyTorch"] = _each(with_torch)
    if jax := peers.jax:
        compiled = jax.jit(jax.grad(lambda x: chain(x, jax.numpy.sin)))
        start = jax.numpy.asarray(data)

        def with_jax() -> Any:
            return jax.block_until_ready(compiled(start))

        check("JAX", [with_jax()], expected)
        sides["JAX, jit"] = _each(with_jax)
    if autograd := peers.autograd:
        numpy = importlib.import_module("autograd.numpy")
        gradient = autograd.grad(lambda x: numpy.sum(chain(x, numpy.sin)))
        check("autograd", [gradient(data)], expected)
        sides["HIPS autograd"] = _each(lambda: gradient(data))
    return Row(
        f"{CHAIN} chained np.sin of 10 float64, forward and backward, time of one",
        "µs",
        microseconds,
        sides,
        [
            Target("under 1 µs an operator", OURS, most=1e-6),
            Target("at most JAX's compiled", READ, "JAX, jit", most=1.0),
        ],
    )


def _each(call: Callable[[], Any]) -> Run:
    """A run whose time is that of one operator of the chain."""
    run = micro(call)
    return lambda: [seconds / CHAIN for seconds in run()]


def matmul(dtype: str) -> Callable[[Peers, argparse.Namespace], Row]:
    """The row of a product of 512x512 matrices."""

    def row(peers: Peers, options: argparse.Namespace) -> Row:
        rng = np.random.default_rng(1)
        a, b = rng.normal(size=(2, 512, 512)).astype(dtype)
        ones = np.ones_like(a)
        return _large(
            f"a @ b, 512x512 {dtype}",
            peers,
            [a, b],
            lambda x, y: x @ y,
            lambda: [ones @ b.T, a.T @ ones],
        )

    return row


def exp(dtype: str) -> Callable[[Peers, argparse.Namespace], Row]:
    """The row of the exponentials of a million numbers."""

    def row(peers: Peers, options: argparse.Namespace) -> Row:
        x = np.random.default_rng(1).normal(size=1_000_000).astype(dtype)
        title = f"exp of 1,000,000 {dtype}"
        return _large(title, peers, [x], np.exp, lambda: [np.exp(x)], "exp")

    return row


def _large(
    title: str,
    peers: Peers,
    data: list[Any],
    f: Callable[..., Any],
    by_hand: Callable[[], list[Any]],
    name: str | None = None,
) -> Row:
    """An operator on large arrays by itself, and with the gradients of its result's sum.

    ``f`` is the operator, or ``name`` what PyTorch and JAX call it.
    """
    expected, gradients = f(*data), by_hand()
    sides: dict[str, Run] = {}
    leaves = [wy.Variable(x) for x in data]

    def ours() -> Any:
        for leaf in leaves:
            leaf.zero_grad()
        f(*leaves).sum().backward()
        return [leaf.grad for leaf in leaves]

    _close(OURS, [f(*leaves).value, *ours()], [expected, *gradients])
    sides[OURS] = micro(lambda: f(*leaves))
    sides["NumPy"] = micro(lambda: f(*data))
    sides[f"{OURS}, gradient"] = micro(ours)
    sides["NumPy, gradient by hand"] = micro(lambda: (f(*data).sum(), by_hand()))
    if torch := peers.torch:
        g = getattr(torch, name) if name else f
        tensors = [torch.tensor(x, requires_grad=True) for x in data]

        def with_torch() -> Any:
            for tensor in tensors:
                tensor.grad = None
            g(*tensors).sum().backward()
            return [tensor.grad for tensor in tensors]

        _close("PyTorch", with_torch(), gradients)
        sides["PyTorch"] = _all_cores(torch, micro(lambda: g(*tensors)))
        sides["PyTorch, gradient"] = _all_cores(torch, micro(with_torch))
    if jax := peers.jax:
        h = getattr(jax.numpy, name) if name else f
        compiled = jax.jit(jax.value_and_grad(lambda xs: h(*xs).sum()))
        arrays = [jax.numpy.asarray(x) for x in data]

        def with_jax() -> Any:
            return jax.block_until_ready(compiled(arrays))[1]

        _close("JAX", with_jax(), gradients)
        sides["JAX, jit, gradient"] = micro(with_jax)
    sides = {side: _rested(run) for side, run in sides.items()}
    within = "within 1.3 of NumPy"
    return Row(
        f"{title}: value, and gradient of the sum; all cores, but JAX one",
        "µs",
        microseconds,
        sides,
        [Target(within, OURS, "NumPy", most=1.3)],
    )


def _close(side: str, found: list[Any], expected: list[Any]) -> None:
    """As ``check``, for sums of many terms in the arrays' own precision."""
    for one, other in zip(found, expected, strict=True):
        one = np.asarray(one.detach() if hasattr(one, "detach") else one)
        digits = 1e-4 if other.dtype == np.float32 else 1e-9
        np.testing.assert_allclose(one, other, rtol=digits, atol=10 * digits, err_msg=side)


def _rested(run: Run) -> Run:
    """A run that waits for the threads of the side before to sleep: OpenBLAS's spin for a while."""

    def late() -> Any:
        time.sleep(0.1)
        return run()

    return late


def _all_cores(torch: Any, run: Run) -> Run:
    """A run of PyTorch with as many threads as there are cores."""

    def wide() -> Any:
        torch.set_num_threads(os.cpu_count() or 1)
        try:
            return run()
        finally:
            torch.set_num_threads(1)

    return wide
