"""Epochs of an LSTM over sequences of different lengths: a function of one, and padded batches."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import wyrmling as wy

from .peers import Peers
from .rows import OURS, Row, Run, Target

ITEMS, HIDDEN, SEQUENCES, LONGEST = 200, 16, 512, 60
BATCH, RATE = 32, 0.01
PADDED = "padded graph"


def data() -> wy.Ragged:
    """Sequences of items, most of which are short."""
    rng = np.random.default_rng(0)
    lengths = np.minimum(2 + rng.geometric(1 / 12, SEQUENCES), LONGEST)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return wy.Ragged(rng.integers(0, ITEMS, offsets[-1]), offsets)


def starts() -> dict[str, Any]:
    """The parameters before training."""
    rng = np.random.default_rng(1)
    shapes = {"E": (ITEMS, HIDDEN), "W": (4 * HIDDEN, HIDDEN), "U": (4 * HIDDEN, HIDDEN)}
    values = {name: rng.normal(0.0, 0.25, shape) for name, shape in shapes.items()}
    return {**values, "b": np.zeros(4 * HIDDEN)}


def sigmoid(z: Any) -> Any:
    """From 0 to 1."""
    return 1.0 / (1.0 + np.exp(-z))


def loss(E: Any, W: Any, U: Any, b: Any, items: Any, negatives: Any) -> Any:
    """The logistic loss of each item against a negative, given those before."""
    h, c = np.zeros(HIDDEN), np.zeros(HIDDEN)
    total = 0.0
    for t in range(len(items) - 1):
        z = W @ E[items[t]] + U @ h + b
        keep, add = sigmoid(z[:HIDDEN]), sigmoid(z[HIDDEN : 2 * HIDDEN])
        c = keep * c + add * np.tanh(z[2 * HIDDEN : 3 * HIDDEN])
        h = sigmoid(z[3 * HIDDEN :]) * np.tanh(c)
        total += np.log1p(np.exp(h @ E[negatives[t]] - h @ E[items[t + 1]]))
    return total


def by_function(items: wy.Ragged, negatives: wy.Ragged) -> Callable[[int], Any]:
    """Trains the function for some epochs."""
    parameters = {name: wy.Parameter(value) for name, value in starts().items()}
    columns = {"items": items, "negatives": negatives}
    return lambda epochs: wy.fit(
        loss,
        columns,
        parameters=parameters,
        optimizer=wy.SGD(lr=RATE),
        epochs=epochs,
        batch_size=BATCH,
    )


def by_graph(items: wy.Ragged, negatives: wy.Ragged) -> Callable[[int], Any]:
    """Trains a graph of sequences that are filled up to the longest, with masks."""
    longest = int(items.lengths.max())
    places = np.arange(longest) < items.lengths[:, None]
    padded, others = (np.zeros((len(items), longest), np.int64) for _ in range(2))
    padded[places], others[places] = items.values, negatives.values
    mask = places[:, 1:].astype(float)
    E, W, U, b = (wy.Parameter(value) for value in starts().values())
    i, j, m = wy.IndexInput(padded[:1]), wy.IndexInput(others[:1]), wy.Input(mask[:1])
    h: Any = np.zeros((1, HIDDEN))
    c: Any = np.zeros((1, HIDDEN))
    total: Any = 0.0
    for t in range(longest - 1):
        z = E[i[:, t]] @ W.T + h @ U.T + b
        keep, add = wy.sigmoid(z[:, :HIDDEN]), wy.sigmoid(z[:, HIDDEN : 2 * HIDDEN])
        c = keep * c + add * np.tanh(z[:, 2 * HIDDEN : 3 * HIDDEN])
        h = wy.sigmoid(z[:, 3 * HIDDEN :]) * np.tanh(c)
        margin = wy.vecdot(h, E[j[:, t]] - E[i[:, t + 1]])
        total = total + (wy.softplus(margin) * m[:, t]).sum()
    program = wy.freeze(total)
    columns = {i: padded, j: others, m: mask}
    return lambda epochs: wy.fit(
        program, columns, optimizer=wy.SGD(lr=RATE), epochs=epochs, batch_size=BATCH
    )


def lstm(peers: Peers, options: argparse.Namespace) -> Row:
    """An epoch of either, which have the same losses."""
    items = data()
    rng = np.random.default_rng(2)
    negatives = wy.Ragged(rng.integers(0, ITEMS, len(items.values)), items.offsets)
    sides: dict[str, Run] = {}
    losses = []
    for name, make in ((OURS, by_function), (PADDED, by_graph)):
        train = make(items, negatives)
        losses.append(train(2).loss)
        sides[name] = lambda train=train: train(2).seconds[1:]
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-8)
    return Row(
        f"an epoch of an LSTM of {HIDDEN} over {len(items)} sequences of {items.lengths.min()} to "
        f"{items.lengths.max()} items ({items.lengths.mean():.0f} on average)",
        "ms",
        lambda s: f"{1e3 * s:.1f}",
        sides,
        [Target("at most the padded graph's", OURS, PADDED, most=1.0)],
    )
