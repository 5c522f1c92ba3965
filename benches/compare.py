"""wyrmling beside its peers: the same work in one process, in turn, as times and ratios.

    python benches/compare.py [--quick] [--only NAME ...] [--hand [PROGRAM]] [--movielens FILE]

PyTorch, JAX, HIPS autograd and implicit take part if they can be imported, the hand-written
Rust loop (``examples/handwritten_bpr.rs``) with ``--hand``. In each row the sides take turns,
so that whatever else the machine does hits all of them; the best of each is compared, since
it is disturbed least, and the median shows how much it was disturbed. Before anything is
timed, gradients are compared with known ones; recommenders must have learned.

Ratios travel from one machine to another, times do not. Every side has one thread but where
a row says otherwise.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import timeit
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

import wyrmling as wy
from wyrmling.datasets import read_interactions

OURS = "wyrmling"
FACTORS = 32
RATE = 0.05

Run = Callable[[], Sequence[float]]
"""Does the work some times and returns the seconds of each."""


@dataclass(frozen=True)
class Target:
    """What the project has set itself: a bound on a quotient of two sides' times.

    ``slow`` over ``fast`` is at least ``least`` or at most ``most``. Without ``fast``, the
    time of ``slow`` itself, in seconds, is at most ``most``.
    """

    text: str
    slow: str
    fast: str | None = None
    least: float = 0.0
    most: float = float("inf")


@dataclass(frozen=True)
class Row:
    """One kind of work and the sides that do it; ``show`` turns seconds into ``unit``."""

    title: str
    unit: str
    show: Callable[[float], str]
    sides: dict[str, Run]
    targets: Sequence[Target] = ()
    repeats: int = 15


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


class Peers:
    """Packages that may or may not be installed."""

    def __init__(self) -> None:
        self.missing: list[str] = []
        self.found: list[str] = []
        # One thread for everybody; JAX reads this when it is imported.
        os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
        self.torch = self._find("torch", "PyTorch")
        self.jax = self._find("jax", "JAX")
        self.autograd = self._find("autograd", "HIPS autograd")
        self.implicit = self._find("implicit.cpu.bpr", "implicit", "implicit")
        if self.torch:
            self.torch.set_num_threads(1)
        if self.jax:
            self.jax.config.update("jax_enable_x64", True)

    def _find(self, module: str, name: str, package: str | None = None) -> ModuleType | None:
        try:
            found = importlib.import_module(module)
        except ImportError:
            self.missing.append(name)
            return None
        version = getattr(importlib.import_module(package or module), "__version__", "")
        self.found.append(f"{name} {version}".strip())
        return found


def micro(call: Callable[[], Any]) -> Run:
    """A run of a call that takes microseconds, each time for some 10 ms."""
    timer = timeit.Timer(call)
    timer.timeit(3)  # what is compiled on first use
    number = max(1, round(0.01 / (timer.timeit(20) / 20)))
    return lambda: [timer.timeit(number) / number]


def check(side: str, found: Sequence[Any], expected: Sequence[Any]) -> None:
    """Compares values and gradients with known ones."""
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-5, err_msg=side)


def microseconds(seconds: float) -> str:
    """Seconds as microseconds."""
    return f"{seconds * 1e6:,.2f}"


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


def bpr_by_hand(program: str, form: str, data: Interactions, epochs: int) -> Run:
    """Epochs of the hand-written Rust loop, in a process of its own.

    The form ``"whole"`` sums the loss of every epoch, as all other sides do; ``"bare"`` takes
    the steps alone, by a sigmoid of few bits.
    """
    pairs = np.stack([data.users, data.items], axis=1).astype("<u4")

    def run() -> Sequence[float]:
        with tempfile.TemporaryDirectory() as directory:
            file = Path(directory) / "pairs"
            pairs.tofile(file)
            command = [program, form, str(epochs), str(file)]
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


ROWS: dict[str, Callable[[Peers, argparse.Namespace], Row]] = {
    "regression": regression,
    "trace": trace,
    "least-squares": least_squares,
    "bpr": small,
    "bpr-large": large,
}


def measure(row: Row, repeats: int) -> dict[str, list[float]]:
    """Runs the sides in turn; one that fails is reported and left out."""
    times: dict[str, list[float]] = {side: [] for side in row.sides}
    for _ in range(repeats):
        for side in list(times):
            try:
                times[side] += row.sides[side]()
            except Exception as error:
                print(f"  {side} failed: {type(error).__name__}: {error}", file=sys.stderr)
                del times[side]
    return times


def report(row: Row, times: dict[str, list[float]]) -> None:
    """Prints a row: best and median of every side, quotients of the best, and targets."""
    print(f"\n{row.title}\n")
    best = {side: min(seconds) for side, seconds in times.items()}
    first = next(iter(best.values()), 1.0)
    print(f"  {'best of ' + row.unit:28}{'best':>12}{'median':>12}{'time / ours':>14}")
    for side, seconds in times.items():
        middle = row.show(statistics.median(seconds))
        print(f"  {side:28}{row.show(best[side]):>12}{middle:>12}{best[side] / first:>14.2f}")
    for target in row.targets:
        if target.slow not in best or (target.fast and target.fast not in best):
            continue
        if target.fast is None:
            found, value = row.show(best[target.slow]), best[target.slow]
        else:
            value = best[target.slow] / best[target.fast]
            found = f"{value:.2f}"
        verdict = "met" if target.least <= value <= target.most else "MISSED"
        print(f"  target {verdict}: {target.text} ({found})")


def machine() -> str:
    """The processor and how busy it is."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{name}, {os.cpu_count()} cores{load}"


def build_by_hand() -> str:
    """Builds the hand-written loop and returns where it is."""
    command = ["cargo", "build", "--release", "--no-default-features"]
    command += ["--example", "handwritten_bpr", "--message-format", "json"]
    root = Path(__file__).resolve().parent.parent
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=root)
    messages = [json.loads(line) for line in answer.stdout.splitlines()]
    programs = [m["executable"] for m in messages if m.get("executable")]
    return str(programs[-1])


def main() -> None:
    """Runs the rows and prints what came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    option = parser.add_argument
    option("--quick", action="store_true", help="fewer repeats, and 2 million for 20 million")
    option("--only", choices=ROWS, action="append", metavar="NAME", help=f"of {', '.join(ROWS)}")
    option(
        "--hand", nargs="?", const="", metavar="PROGRAM", help="Rust by hand; built if not given"
    )
    option("--movielens", metavar="FILE", help="users and items for the small BPR row")
    options = parser.parse_args()
    if options.hand == "":
        options.hand = build_by_hand()
    # implicit would like to see BLAS threads turned off; BPR uses no BLAS.
    warnings.filterwarnings("ignore", category=RuntimeWarning, module="implicit")
    warnings.filterwarnings("ignore", category=UserWarning, module="implicit")
    peers = Peers()
    print(
        f"{machine()}\nwyrmling {wy.__version__}, NumPy {np.__version__}, Python "
        f"{platform.python_version()}, {', '.join(peers.found) or 'no peers'}"
    )
    if peers.missing:
        print(f"not installed: {', '.join(peers.missing)}")
    for name in options.only or ROWS:
        row = ROWS[name](peers, options)
        repeats = max(2, row.repeats // 5) if options.quick else row.repeats
        report(row, measure(row, repeats))
    print(f"\n{machine()}")


if __name__ == "__main__":
    main()
