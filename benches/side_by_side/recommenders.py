"""Epochs of Bayesian personalised ranking, by every side, on small data and on large."""

from __future__ import annotations

import argparse
import importlib
import subprocess
import tempfile
import timeit
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import wyrmling as wy
from wyrmling.datasets import read_interactions

from .peers import Peers
from .rows import OURS, Row, Run, Target

FACTORS = 32
RATE = 0.05


@dataclass(frozen=True)
class Interactions:
    """Users and items of distinct interactions."""

    users: np.ndarray[Any, np.dtype[np.uint32]]
    items: np.ndarray[Any, np.dtype[np.uint32]]
    n_users: int
    n_items: int

    @classmethod
    def generate(cls, n_users: int, n_items: int, count: int) -> Interactions:
        """Interactions with a few users and items in a large share of them."""
        rng = np.random.default_rng(1)
        keys = np.empty(0, np.int64)
        while len(keys) < count:
            users = (n_users * rng.random(count) ** 1.6).astype(np.int64)
            items = (n_items * rng.random(count) ** 2.2).astype(np.int64)
            keys = np.unique(np.concatenate([keys, users * n_items + items]))
        keys = rng.permutation(keys)[:count]
        users, items = np.divmod(keys, n_items)
        return cls(users.astype(np.uint32), items.astype(np.uint32), n_users, n_items)

    @classmethod
    def read(cls, path: str) -> Interactions:
        """The interactions of a file."""
        data = read_interactions(path)
        return cls(data.users, data.items, data.n_users, data.n_items)

    def __len__(self) -> int:
        return len(self.users)


def bpr_ours(data: Interactions, epochs: int, batch_size: int, threads: int) -> Run:
    """Epochs of a loss written in Python."""

    def run() -> Sequence[float]:
        rng = np.random.default_rng(1)

        def vectors(count: int) -> Any:
            return rng.uniform(-0.1, 0.1, (count, FACTORS)).astype(np.float32)

        users = wy.Parameter(vectors(data.n_users), name="users")
        items = wy.Parameter(vectors(data.n_items), name="items")
        bias = wy.Parameter(np.zeros(data.n_items, np.float32), name="bias")
        u, i, j = wy.IndexInput([0]), wy.IndexInput([0]), wy.IndexInput([0])
        positive = wy.vecdot(users[u], items[i]) + bias[i]
        negative = wy.vecdot(users[u], items[j]) + bias[j]
        history = wy.fit(
            -(positive - negative).logsigmoid().sum(),
            {u: data.users, i: data.items},
            sample={j: wy.sampling.Uniform(data.n_items)},
            optimizer=wy.SGD(lr=RATE),
            epochs=epochs,
            batch_size=batch_size,
            threads=threads,
            seed=1,
        )
        learned(OURS, history.loss[-1] / len(data))
        return history.seconds

    return run


def bpr_function(data: Interactions, epochs: int, batch_size: int) -> Run:
    """Epochs of the same loss, written as a function of one sample."""

    def loss(users: Any, items: Any, bias: Any, u: int, i: int, j: int) -> Any:
        positive = users[u] @ items[i] + bias[i]
        negative = users[u] @ items[j] + bias[j]
        return -wy.special.log_expit(positive - negative)

    def run() -> Sequence[float]:
        rng = np.random.default_rng(1)

        def vectors(count: int) -> Any:
            return rng.uniform(-0.1, 0.1, (count, FACTORS)).astype(np.float32)

        history = wy.fit(
            loss,
            {"u": data.users, "i": data.items},
            parameters={
                "users": wy.Parameter(vectors(data.n_users)),
                "items": wy.Parameter(vectors(data.n_items)),
                "bias": wy.Parameter(np.zeros(data.n_items, np.float32)),
            },
            sample={"j": wy.sampling.Uniform(data.n_items)},
            optimizer=wy.SGD(lr=RATE),
            epochs=epochs,
            batch_size=batch_size,
            seed=1,
        )
        learned(f"{OURS}, a function", history.loss[-1] / len(data))
        return history.seconds

    return run


def bpr_by_hand(folder: str, form: str, data: Interactions, epochs: int) -> Run:
    """Epochs of the hand-written Rust loop, in a process of its own.

    The form ``"whole"`` sums the loss of every epoch, as all other sides do; ``"bare"`` takes
    the steps alone, by a sigmoid of few bits.
    """
    pairs = np.stack([data.users, data.items], axis=1).astype("<u4")

    def run() -> Sequence[float]:
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "pairs"
            pairs.tofile(file)
            command = [str(Path(folder) / "handwritten_bpr"), form, str(epochs), str(file)]
            answer = subprocess.run(command, check=True, capture_output=True, text=True)
        *times, loss = answer.stdout.splitlines()
        learned("by hand", float(loss.split()[1]))
        return [float(milliseconds) / 1e3 for milliseconds in times]

    return run


def bpr_implicit(implicit: ModuleType, data: Interactions, epochs: int, threads: int) -> Run:
    """Epochs of implicit, which draws negatives as we do here: known positives may come."""
    sparse = importlib.import_module("scipy.sparse")
    ones = np.ones(len(data), np.float32)
    shape = (data.n_users, data.n_items)
    matrix = sparse.csr_matrix((ones, (data.users, data.items)), shape)

    def run() -> Sequence[float]:
        model = implicit.BayesianPersonalizedRanking(
            factors=FACTORS,
            learning_rate=RATE,
            regularization=0.0,
            iterations=epochs,
            num_threads=threads,
            verify_negative_samples=False,
            random_state=1,
        )
        seconds: list[float] = []
        right: list[float] = []

        def note(_epoch: int, elapsed: float, correct: float, *_: Any) -> None:
            seconds.append(elapsed)
            right.append(correct)

        model.fit(matrix, show_progress=False, callback=note)
        if not right[-1] > 0.5:
            raise AssertionError(f"implicit ranked {right[-1]} right")
        return seconds

    return run


def bpr_torch(torch: ModuleType, data: Interactions, batch_size: int) -> Run:
    """One epoch of PyTorch with sparse gradients."""
    users = torch.from_numpy(data.users.astype(np.int64))
    items = torch.from_numpy(data.items.astype(np.int64))

    def run() -> Sequence[float]:
        torch.manual_seed(1)
        lookup = torch.nn.functional.embedding
        tables = [
            torch.empty(count, width).uniform_(-0.1, 0.1).requires_grad_()
            for count, width in ((data.n_users, FACTORS), (data.n_items, FACTORS))
        ]
        bias = torch.zeros(data.n_items, 1, requires_grad=True)
        optimizer = torch.optim.SGD([*tables, bias], lr=RATE)
        total = 0.0
        start = timeit.default_timer()
        order = torch.randperm(len(data))
        others = torch.randint(data.n_items, (len(data),))
        for batch in order.split(batch_size):
            u, i, j = users[batch], items[batch], others[batch]
            user = lookup(u, tables[0], sparse=True)
            positive, negative = (
                (user * lookup(k, tables[1], sparse=True)).sum(1)
                + lookup(k, bias, sparse=True)[:, 0]
                for k in (i, j)
            )
            loss = -torch.nn.functional.logsigmoid(positive - negative).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        seconds = timeit.default_timer() - start
        learned("PyTorch", total / len(data))
        return [seconds]

    return run


def bpr_jax(jax: ModuleType, data: Interactions, epochs: int, batch_size: int) -> Run:
    """Epochs of JAX, each compiled as one loop, with gradients of the looked-up rows."""
    jnp = jax.numpy
    users, items = (jnp.asarray(c.astype(np.int32)) for c in (data.users, data.items))
    steps = len(data) // batch_size
    known = {"mode": "promise_in_bounds"}

    def loss(user: Any, both: Any) -> Any:
        # An item's bias is the last element of its row.
        apart = both[:batch_size] - both[batch_size:]
        return -jax.nn.log_sigmoid((user * apart[:, :-1]).sum(1) + apart[:, -1]).sum()

    def step(tables: Any, batch: Any) -> Any:
        p, q = tables
        u, k = batch
        rows = p.at[u].get(**known), q.at[k].get(**known)
        value, (gu, gk) = jax.value_and_grad(loss, (0, 1))(*rows)
        return (p.at[u].add(-RATE * gu, **known), q.at[k].add(-RATE * gk, **known)), value

    def epoch(tables: Any, key: Any) -> Any:
        one, two = jax.random.split(key)
        order = jax.random.permutation(one, len(data))[: steps * batch_size]
        others = jax.random.randint(two, order.shape, 0, data.n_items, jnp.int32)
        columns = (users[order], items[order], others)
        u, i, j = (column.reshape(steps, batch_size) for column in columns)
        tables, values = jax.lax.scan(step, tables, (u, jnp.concatenate([i, j], 1)))
        return tables, values.sum()

    compiled = jax.jit(epoch, donate_argnums=0)

    def fresh() -> Any:
        rng = np.random.default_rng(1)
        shapes = ((data.n_users, FACTORS), (data.n_items, FACTORS + 1))
        return tuple(jnp.asarray(rng.uniform(-0.1, 0.1, s).astype(np.float32)) for s in shapes)

    jax.block_until_ready(compiled(fresh(), jax.random.PRNGKey(0)))

    def run() -> Sequence[float]:
        tables, seconds = fresh(), []
        for key in jax.random.split(jax.random.PRNGKey(1), epochs):
            start = timeit.default_timer()
            tables, value = jax.block_until_ready(compiled(tables, key))
            seconds.append(timeit.default_timer() - start)
        learned("JAX", float(value) / (steps * batch_size))
        return seconds

    return run


def learned(side: str, loss: float) -> None:
    """Raises if the mean loss is that of chance, or worse."""
    if not loss < np.log(2):
        raise AssertionError(f"{side} has learned nothing: mean loss {loss}")


def small(peers: Peers, options: argparse.Namespace) -> Row:
    """A recommender on the data set that everybody knows."""
    if options.movielens:
        data, name = Interactions.read(options.movielens), "MovieLens"
    else:
        data, name = Interactions.generate(943, 1682, 100_000), "made-up data like MovieLens 100K"
    epochs = 5 if options.quick else 20
    ours = f"{OURS}, batch 10"
    sides = {
        ours: bpr_ours(data, epochs, 10, 1),
        f"{OURS}, batch 64": bpr_ours(data, epochs, 64, 1),
        f"{OURS}, a function, batch 10": bpr_function(data, epochs, 10),
    }
    if options.hand:
        sides["Rust by hand"] = bpr_by_hand(options.hand, "whole", data, epochs)
        sides["the same without the loss"] = bpr_by_hand(options.hand, "bare", data, epochs)
    if peers.implicit:
        sides["implicit"] = bpr_implicit(peers.implicit, data, epochs, 1)
    if peers.jax:
        sides["JAX, jit, batch 10"] = bpr_jax(peers.jax, data, 3, 10)
    if peers.torch:
        sides["PyTorch, batch 1024"] = bpr_torch(peers.torch, data, 1024)
        if not options.quick:
            sides["PyTorch, batch 10"] = bpr_torch(peers.torch, data, 10)
    return Row(
        f"BPR epoch, {name} ({len(data):,}), {FACTORS} factors",
        "ms",
        lambda seconds: f"{seconds * 1e3:,.2f}",
        sides,
        [
            Target("at most 1.5 times Rust by hand", ours, "Rust by hand", most=1.5),
            Target("at least 1.5 times as fast as implicit", "implicit", ours, least=1.5),
            Target(
                "a function of one sample at most 1.5 times the graph",
                f"{OURS}, a function, batch 10",
                ours,
                most=1.5,
            ),
        ],
        repeats=15,
    )


def large(peers: Peers, options: argparse.Namespace) -> Row:
    """A recommender on data that no cache holds."""
    count = 2_000_000 if options.quick else 20_000_000
    data = Interactions.generate(138_493, 26_744, count)
    ours = {threads: f"{OURS}, {threads} thread{'s' * (threads > 1)}" for threads in (1, 2)}
    sides = {name: bpr_ours(data, 2, 64, threads) for threads, name in ours.items()}
    if options.hand:
        sides["Rust by hand, 1 thread"] = bpr_by_hand(options.hand, "whole", data, 1)
    if peers.implicit:
        sides["implicit, 1 thread"] = bpr_implicit(peers.implicit, data, 1, 1)
        sides["implicit, 2 threads"] = bpr_implicit(peers.implicit, data, 1, 2)
    return Row(
        f"BPR, {count:,} made-up interactions, {FACTORS} factors",
        "M samples/s",
        lambda seconds: f"{count / seconds / 1e6:,.2f}",
        sides,
        [
            Target("at least 3 times implicit", "implicit, 2 threads", ours[2], least=3.0),
            Target("at least 1.8 times our own one thread", ours[1], ours[2], least=1.8),
        ],
        repeats=3,
    )
