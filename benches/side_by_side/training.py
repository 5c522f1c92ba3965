"""Epochs of a small dense network: what a step costs beside its arithmetic, for three batch sizes.

The loss of a batch is the sum over its samples, and the steps are those of plain stochastic
gradient descent, in single precision, over samples in a random order. JAX compiles a whole epoch,
a scan over batches.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import wyrmling as wy

from .peers import Peers
from .rows import OURS, Row, Run, Target

SAMPLES, INPUTS, HIDDEN = 4096, 20, 64
RATE = 1e-3
EPOCHS = 8
"""Until it has to have learned."""
ENOUGH = 0.05
"""Mean squared error of what has learned; of a constant it is 0.7."""


def _data() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(SAMPLES, INPUTS)).astype(np.float32)
    return x, np.sin(x[:, 0]) + 0.5 * x[:, 1]


def _start() -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(1)
    shapes = (INPUTS, HIDDEN), (HIDDEN,), (HIDDEN, 1), (1,)
    scales = INPUTS**-0.5, 0.0, HIDDEN**-0.5, 0.0
    values = (rng.normal(0.0, 1.0, shape) * s for shape, s in zip(shapes, scales, strict=True))
    return [value.astype(np.float32) for value in values]


def _learned(side: str, loss: float) -> None:
    if not loss / SAMPLES < ENOUGH:
        raise AssertionError(f"{side} has not learned: the error is {loss / SAMPLES}")


def _ours(batch: int) -> Run:
    xs, ys = _data()

    def run() -> list[float]:
        w1, b1, w2, b2 = (wy.Parameter(value) for value in _start())
        x, y = wy.Input(xs[:1]), wy.Input(ys[:1])
        error = (wy.tanh(x @ w1 + b1) @ w2 + b2)[:, 0] - y
        history = wy.fit(
            (error**2).sum(),
            {x: xs, y: ys},
            optimizer=wy.SGD(lr=RATE),
            epochs=EPOCHS,
            batch_size=batch,
        )
        _learned(OURS, history.loss[-1])
        return list(history.seconds)

    return run


def _torch(torch: Any, batch: int) -> Run:
    xs, ys = (torch.from_numpy(part) for part in _data())

    def run() -> list[float]:
        first, last = torch.nn.Linear(INPUTS, HIDDEN), torch.nn.Linear(HIDDEN, 1)
        w1, b1, w2, b2 = (torch.from_numpy(value) for value in _start())
        with torch.no_grad():
            first.weight.copy_(w1.T)
            first.bias.copy_(b1)
            last.weight.copy_(w2.T)
            last.bias.copy_(b2)
        model = torch.nn.Sequential(first, torch.nn.Tanh(), last)
        sgd = torch.optim.SGD(model.parameters(), lr=RATE)

        def epoch() -> float:
            total = torch.zeros(())
            for rows in torch.randperm(SAMPLES).split(batch):
                sgd.zero_grad()
                loss = ((model(xs[rows])[:, 0] - ys[rows]) ** 2).sum()
                loss.backward()
                sgd.step()
                total += loss.detach()
            return float(total)

        return _timed("PyTorch", epoch)

    return run


def _jax(jax: Any, batch: int) -> Run:
    xs, ys = _data()
    jnp = jax.numpy

    def loss(weights: Any, x: Any, y: Any) -> Any:
        w1, b1, w2, b2 = weights
        return (((jnp.tanh(x @ w1 + b1) @ w2 + b2)[:, 0] - y) ** 2).sum()

    def step(weights: Any, samples: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(weights, *samples)
        return [w - jnp.float32(RATE) * g for w, g in zip(weights, gradients, strict=True)], value

    def scanned(weights: Any, order: Any) -> Any:
        shape = (SAMPLES // batch, batch)
        weights, losses = jax.lax.scan(
            step, weights, (xs[order].reshape(*shape, INPUTS), ys[order].reshape(shape))
        )
        return weights, losses.sum()

    compiled = jax.jit(scanned)

    def run() -> list[float]:
        rng = np.random.default_rng(2)
        weights: Any = [jnp.asarray(value) for value in _start()]
        compiled(weights, np.arange(SAMPLES))  # compiled here

        def epoch() -> float:
            nonlocal weights
            weights, total = compiled(weights, rng.permutation(SAMPLES))
            return float(total)

        return _timed("JAX, compiled", epoch)

    xs, ys = jnp.asarray(xs), jnp.asarray(ys)
    return run


def _timed(side: str, epoch: Callable[[], float]) -> list[float]:
    losses, seconds = [], []
    for _ in range(EPOCHS):
        start = time.perf_counter()
        losses.append(epoch())
        seconds.append(time.perf_counter() - start)
    _learned(side, losses[-1])
    return seconds


def network(batch: int) -> Callable[[Peers, argparse.Namespace], Row]:
    """An epoch by batches of so many samples."""

    def row(peers: Peers, options: argparse.Namespace) -> Row:
        sides = {OURS: _ours(batch)}
        if peers.torch:
            sides["PyTorch"] = _torch(peers.torch, batch)
        if peers.jax:
            sides["JAX, compiled"] = _jax(peers.jax, batch)
        return Row(
            f"an epoch of a {INPUTS}-{HIDDEN}-1 network, {SAMPLES} samples by batches of {batch}",
            "ms",
            lambda s: f"{1e3 * s:.2f}",
            sides,
            [Target("faster than PyTorch", "PyTorch", OURS, least=1.0)],
            repeats=3,
        )

    return row


ROWS = {f"train-{batch}": network(batch) for batch in (1, 32, 256)}
