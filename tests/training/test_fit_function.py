"""``fit`` of a plain function of parameters and one sample: against a graph's, and refusals."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from interrupting import INTERRUPTED

import wyrmling as wy
from wyrmling.sampling import Uniform

RNG = np.random.default_rng(11)
USERS, ITEMS, COUNT, WIDTH = 40, 60, 500, 8


def bpr(P: Any, Q: Any, user: Any, item: Any, negative: Any) -> Any:
    x = P[user] @ (Q[item] - Q[negative])
    return np.log1p(np.exp(-x))


def bpr_with_a_branch(P: Any, Q: Any, user: Any, item: Any, negative: Any) -> Any:
    """The same, chosen by a mask: batches compute both arms."""
    x = P[user] @ (Q[item] - Q[negative])
    return np.log1p(np.exp(-x)) if x < 1e9 else x


def bpr_with_a_loop(P: Any, Q: Any, user: Any, item: Any, negative: Any) -> Any:
    """The same, but a sample says how long the loop is: each is run by itself."""
    x = P[user] @ (Q[item] - Q[negative])
    while x > 1e9:
        x = x - 1.0
    return np.log1p(np.exp(-x))


def tables(dtype: Any = np.float64) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    return (
        wy.Parameter(rng.normal(0, 0.1, (USERS, WIDTH)).astype(dtype), name="P"),
        wy.Parameter(rng.normal(0, 0.1, (ITEMS, WIDTH)).astype(dtype), name="Q"),
    )


def pairs() -> tuple[Any, Any]:
    rng = np.random.default_rng(4)
    return rng.integers(0, USERS, COUNT), rng.integers(0, ITEMS, COUNT)


def graph_of_bpr(P: Any, Q: Any) -> tuple[Any, Any, Any, Any]:
    u, i, j = (wy.IndexInput([0], name=name) for name in ("u", "i", "j"))
    x = (P[u] * (Q[i] - Q[j])).sum(axis=1)
    return np.log1p(np.exp(-x)).sum(), u, i, j


def both_bpr(
    optimizer: Any, dtype: Any = np.float64, loss_of_one: Any = bpr, **options: Any
) -> list[tuple[Any, Any, Any]]:
    users, items = pairs()
    found = []
    for function in (False, True):
        P, Q = tables(dtype)
        if function:
            history = wy.fit(
                loss_of_one,
                {"user": users, "item": items},
                parameters={"P": P, "Q": Q},
                sample={"negative": Uniform(ITEMS)},
                optimizer=optimizer(),
                **options,
            )
        else:
            loss, u, i, j = graph_of_bpr(P, Q)
            history = wy.fit(
                loss,
                {u: users, i: items},
                sample={j: Uniform(ITEMS)},
                optimizer=optimizer(),
                **options,
            )
        found.append((P.value, Q.value, history))
    return found


OPTIMIZERS = {
    "sgd": lambda: wy.SGD(lr=0.1),
    "momentum": lambda: wy.SGD(lr=0.1, momentum=0.5),
    "l2": lambda: wy.SGD(lr=0.1, l2=0.01),
    "adagrad": lambda: wy.Adagrad(lr=0.1),
    "adam": lambda: wy.Adam(lr=0.01),
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("batch_size", [1, 7, 1000])
@pytest.mark.parametrize("loss", [bpr, bpr_with_a_branch, bpr_with_a_loop])
def test_bpr_is_as_the_graph(optimizer: str, batch_size: int, loss: Any) -> None:
    graph, function = both_bpr(
        OPTIMIZERS[optimizer], np.float64, loss, epochs=3, batch_size=batch_size, seed=5
    )
    for a, b in zip(graph[:2], function[:2], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(graph[2].loss, function[2].loss, rtol=1e-12)
    assert graph[2].samples == function[2].samples == COUNT
    assert not np.allclose(graph[0], tables()[0].value, atol=1e-3)


@pytest.mark.parametrize("loss", [bpr, bpr_with_a_branch, bpr_with_a_loop])
def test_bpr_of_float32_by_workers_in_turn(loss: Any) -> None:
    for threads in (2, 3):
        options = {"epochs": 2, "batch_size": 16, "threads": threads, "deterministic": True}
        graph, function = both_bpr(OPTIMIZERS["sgd"], np.float32, loss, seed=1, **options)
        again = both_bpr(OPTIMIZERS["sgd"], np.float32, loss, seed=1, **options)[1]
        for a, b, c in zip(graph[:2], function[:2], again[:2], strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)
            np.testing.assert_array_equal(b, c)


@pytest.mark.parametrize("loss", [bpr, bpr_with_a_branch, bpr_with_a_loop])
def test_workers_without_turns_learn(loss: Any) -> None:
    options = {"epochs": 5, "batch_size": 8, "threads": 2}
    graph, function = both_bpr(OPTIMIZERS["sgd"], np.float32, loss, **options)
    assert function[2].loss[-1] < function[2].loss[0]
    assert abs(function[2].loss[-1] / graph[2].loss[-1] - 1) < 0.05


def test_a_dense_parameter_and_rows_of_data() -> None:
    X, y = RNG.normal(size=(200, 5)), RNG.normal(size=200)

    def loss(w: Any, b: Any, x: Any, target: Any) -> Any:
        return (w @ x + b - target) ** 2

    w, b = wy.Parameter(np.zeros(5)), wy.Parameter(0.0)
    wy.fit(
        loss,
        {"x": X, "target": y},
        parameters={"w": w, "b": b},
        optimizer=wy.Adam(lr=0.05),
        epochs=4,
        batch_size=16,
        seed=2,
    )
    v, c, x, t = wy.Parameter(np.zeros(5)), wy.Parameter(0.0), wy.Input(X[:1]), wy.Input(y[:1])
    graph = ((x @ v + c - t) ** 2).sum()
    wy.fit(graph, {x: X, t: y}, optimizer=wy.Adam(lr=0.05), epochs=4, batch_size=16, seed=2)
    np.testing.assert_allclose(w.value, v.value, rtol=1e-9)
    np.testing.assert_allclose(b.item(), c.item(), rtol=1e-9)


def test_loops_and_branches_over_the_sample() -> None:
    """Rows are looked up in a loop whose length is the sample's; against a step by hand."""
    start = RNG.normal(size=(10, 3))
    counts, signs = np.array([0, 1, 2, 3, 5]), np.array([1, -1, 1, -1, -1])

    def loss(P: Any, n: int, sign: int, scale: float) -> Any:
        total = 0.0
        for k in range(n):
            row = P[k * 2 % 10]
            if sign < 0:
                total += scale * (row @ row)
            else:
                total += np.sin(row[0]) * row[1]
        return total + 0.5 * (P[-1] @ P[-1])

    scales = np.array([0.5, 1.0, 2.0, 3.0, 4.0])
    P = wy.Parameter(start)
    wy.fit(
        loss,
        {"n": counts, "sign": signs, "scale": scales},
        parameters={"P": P},
        optimizer=wy.SGD(lr=0.1),
        batch_size=5,
    )
    gradient = np.zeros_like(start)
    h = 1e-6
    for at in np.ndindex(*start.shape):
        for side in (h, -h):
            moved = start.copy()
            moved[at] += side
            for n, sign, scale in zip(counts.tolist(), signs.tolist(), scales, strict=True):
                gradient[at] += loss(moved, n, sign, float(scale)) / (2 * side)
    np.testing.assert_allclose(P.value, start - 0.1 * gradient, atol=1e-8)


def test_negative_indices_and_columns_of_wide_integers() -> None:
    P = wy.Parameter(np.zeros(4))

    def loss(P: Any, k: int, big: int) -> Any:
        return (P[k] - float(big >> 40)) ** 2

    wy.fit(
        loss,
        {"k": [-1, -4], "big": [3 << 40, -(2**62)]},
        parameters={"P": P},
        optimizer=wy.SGD(lr=0.5),
        batch_size=2,
    )
    np.testing.assert_array_equal(P.value, [float(-(2**62) >> 40), 0, 0, 3])


def test_booleans_and_constants_from_outside() -> None:
    weights = np.array([2.0, 5.0])

    def loss(p: Any, flag: bool, k: int) -> Any:
        return -p * weights[k] if flag else p * 3.0

    p = wy.Parameter(0.0)
    wy.fit(
        loss,
        {"flag": [True, False, True], "k": [0, 1, 1]},
        parameters={"p": p},
        optimizer=wy.SGD(lr=1.0),
        batch_size=3,
    )
    assert p.item() == 2.0 + 5.0 - 3.0


def test_a_parameter_under_two_names() -> None:
    def loss(P: Any, Q: Any, u: int, v: int) -> Any:
        return P[u] * Q[v]

    P = wy.Parameter(np.array([2.0, 3.0, 5.0]))
    wy.fit(loss, {"u": [0], "v": [1]}, parameters={"P": P, "Q": P}, optimizer=wy.SGD(lr=1.0))
    np.testing.assert_array_equal(P.value, [-1.0, 1.0, 5.0])


def simple(P: Any, k: int) -> Any:
    return P[k] * P[k]


def fit_simple(loss: Any = simple, columns: Any = None, **options: Any) -> Any:
    P = options.pop("P", None)
    if P is None:
        P = wy.Parameter(np.ones(4))
    settings: dict[str, Any] = {
        "parameters": {"P": P},
        "optimizer": wy.SGD(lr=0.1),
        "batch_size": 2,
        **options,
    }
    return wy.fit(loss, {"k": [0, 1, 2]} if columns is None else columns, **settings)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"columns": {}}, TypeError, "'k'"),
        ({"columns": {"k": [0], "m": [1]}}, TypeError, "'m'"),
        ({"columns": {3: [0]}}, TypeError, "names"),
        ({"columns": {"k": []}}, ValueError, "no samples"),
        ({"columns": {"k": 3}}, ValueError, "'k'"),
        ({"columns": {"k": ["a"]}}, TypeError, "'k'"),
        ({"columns": {"k": [2**63]}}, ValueError, "'k'"),
        *[
            ({"columns": {"k": np.ma.array(column, mask=mask)}}, TypeError, "'k': a masked array")
            for mask in ([True, False], [False, False])
            for column in ([0, 1], [-1, 1], [0.5, 1.0], [True, False])
        ],
        ({"columns": {"k": np.ma.array([[0, 1]], mask=[[0, 1]])}}, TypeError, "'k': a masked"),
        ({"columns": {"k": np.ma.array([[0.0, 1.0]])}}, TypeError, "'k': a masked array"),
        ({"columns": {"k": [np.ma.array([0.0, 1.0])]}}, TypeError, "'k': .*a masked array"),
        ({"parameters": {}}, TypeError, "'P'"),
        ({"parameters": None}, TypeError, "'P'"),
        ({"parameters": {"P": np.ones(3)}}, TypeError, "Parameter"),
        (
            {"parameters": {"P": wy.Parameter(np.ones(3)), "k": wy.Parameter(1.0)}},
            ValueError,
            "'k'",
        ),
        ({"sample": {"k": Uniform(3)}}, ValueError, "'k'"),
        ({"sample": {"j": 3}}, TypeError, "sampler"),
        ({"epochs": 0}, ValueError, "epochs"),
        ({"loss": 3}, TypeError, "loss"),
        ({"loss": lambda P, k: None}, TypeError, "None"),
        ({"loss": lambda P, k: (yield P[k])}, TypeError, "returns a generator"),
        ({"loss": lambda P, k: k}, TypeError, "int"),
        ({"loss": lambda P, k: (P[k], P[k])}, TypeError, "tuple"),
        ({"loss": lambda P, k: P}, (TypeError, ValueError), "number"),
        ({"loss": lambda P, k: 1.0}, ValueError, "1.0"),
        ({"loss": lambda P, k: 2.0 * k}, ValueError, "depend"),
        ({"loss": lambda P, *k: P[0]}, TypeError, "k"),
        ({"loss": lambda P, k: P[k] * len(str(k))}, wy.SourceError, "str"),
    ],
)
def test_what_does_not_fit_is_refused(change: Any, error: Any, words: str) -> None:
    P = wy.Parameter(np.ones(4))
    with pytest.raises(error, match=words):
        fit_simple(P=P, **change)
    np.testing.assert_array_equal(P.value, np.ones(4))


def test_columns_of_different_lengths() -> None:
    with pytest.raises(ValueError, match="differ in length"):
        fit_simple(lambda P, k, x: P[k] * x, {"k": [0, 1], "x": [1.0]})


def test_a_graph_has_its_own_parameters() -> None:
    P, x = wy.Parameter(1.0), wy.Input([1.0])
    with pytest.raises(TypeError, match="parameters"):
        wy.fit((P * x).sum(), {x: [1.0]}, parameters={"P": P}, optimizer=wy.SGD(lr=0.1))


@pytest.mark.parametrize("threads", [1, 2])
def test_python_raises_what_the_function_does_for_a_sample(threads: int) -> None:
    def index(P: Any, k: int) -> Any:
        return P[k]

    P = wy.Parameter(np.ones(4))
    with pytest.raises(IndexError) as caught:
        fit_simple(index, {"k": [7]}, P=P, threads=threads)
    assert "sample 0" in str(caught.value.__notes__)

    def divide(P: Any, k: int) -> Any:
        return P[k] * (1 / (k - 3))

    with pytest.raises(ZeroDivisionError):
        fit_simple(divide, {"k": [1, 2, 3, 0]}, P=P, threads=threads, batch_size=4)

    def raising(P: Any, k: int) -> Any:
        if k == 2:
            raise KeyError(f"no {k}")
        return P[k]

    with pytest.raises(KeyError, match="no 2") as caught_key:
        fit_simple(raising, {"k": [0, 1, 3, 2]}, P=P, threads=threads, batch_size=4)
    assert "sample 3" in str(caught_key.value.__notes__)
    np.testing.assert_array_equal(P.value, np.ones(4))

    def domain(P: Any, k: int, x: float) -> Any:
        return P[k] * math.log(x)

    with pytest.raises(ValueError, match=r"math domain|positive"):
        fit_simple(domain, {"k": [0], "x": [-1.0]}, P=P)


def test_what_python_computes_and_training_does_not_imitate() -> None:
    def big(P: Any, k: int) -> Any:
        return P[0] * float((k * k) % 7)

    P = wy.Parameter(np.ones(4))
    with pytest.raises(wy.SourceError, match=r"sample 1 .*epoch 1"):
        fit_simple(big, {"k": [3, 2**40]}, P=P)
    np.testing.assert_array_equal(P.value, np.ones(4))


def test_integers_as_the_loss_of_some_samples() -> None:
    def loss(P: Any, k: int) -> Any:
        if k == 0:
            return 0
        return P[k] if k < 3 else k

    for dtype in (np.float64, np.float32):
        P = wy.Parameter(np.ones(4, dtype))
        history = fit_simple(loss, {"k": [0, 1, 3]}, P=P)
        np.testing.assert_allclose(P.value, [1.0, 0.9, 1.0, 1.0], rtol=1e-6)
        assert sum(history.loss) == pytest.approx(4.0)


@pytest.mark.parametrize("other", ["a", None, (1.0,), np.ones(2), True], ids=repr)
def test_a_loss_that_is_no_number_for_some_sample(other: Any) -> None:
    def loss(P: Any, k: int) -> Any:
        return P[k] if k < 2 else other

    with pytest.raises(TypeError, match=r"loss returns .* for sample 1 of the columns"):
        fit_simple(loss, {"k": [0, 2, 1]}, epochs=1)


def test_a_loss_that_is_not_finite() -> None:
    P = wy.Parameter(np.zeros(4))
    with pytest.raises(FloatingPointError, match="loss became"):
        fit_simple(lambda P, k: np.log(P[k]), P=P)


def test_callbacks_and_stopping() -> None:
    seen = []

    def callback(epoch: int, history: Any) -> bool:
        seen.append((epoch, len(history.loss)))
        return epoch == 2

    history = fit_simple(callback=callback, epochs=10)
    assert seen == [(0, 1), (1, 2), (2, 3)]
    assert len(history.loss) == 3
    assert history.loss[0] > history.loss[2]


def test_defaults_stay() -> None:
    def loss(P: Any, k: int, power: float = 3.0) -> Any:
        return P[k] * power

    P = wy.Parameter(np.zeros(4))
    fit_simple(loss, {"k": [0]}, P=P)
    np.testing.assert_allclose(P.value, [-0.3, 0, 0, 0])


def test_methods_and_keyword_only_arguments() -> None:
    class Model:
        scale = 2.0

        def loss(self, k: int, *, P: Any) -> Any:
            return self.scale * P[k]

    P = wy.Parameter(np.zeros(4))
    fit_simple(Model().loss, {"k": [0]}, P=P)
    np.testing.assert_allclose(P.value, [-0.2, 0, 0, 0])


def test_rows_are_collected_as_often_as_they_are_read() -> None:
    """Also where what a loop reads does not change, and in loops in loops."""

    def repeated(P: Any, k: int, n: int) -> Any:
        total = 0.0
        for _ in range(n):
            total += P[k]
        return total

    P = wy.Parameter(np.zeros(4))
    fit_simple(repeated, {"k": [0, 1], "n": [3, 2]}, P=P)
    np.testing.assert_allclose(P.value, [-0.3, -0.2, 0, 0])

    def nested(P: Any, k: int, n: int) -> Any:
        total = 0.0
        for i in range(n):
            for j in range(i):
                if j % 2 == 0:
                    total += P[k] * 2.0
            total += P[3]
        return total

    P = wy.Parameter(np.zeros(4))
    fit_simple(nested, {"k": [0, 1], "n": [3, 4]}, P=P)
    np.testing.assert_allclose(P.value, [-0.4, -0.8, 0, -0.7])


def test_a_gradient_within_the_loss() -> None:
    def loss(P: Any, k: int) -> Any:
        slope = wy.grad(lambda row: (row * row).sum())(P[k])
        return (slope * slope).sum()

    P = wy.Parameter(np.ones((3, 2)))
    fit_simple(loss, {"k": [0, 2]}, P=P)
    np.testing.assert_allclose(P.value, [[0.2, 0.2], [1, 1], [0.2, 0.2]])


ENDED = (
    INTERRUPTED
    + """
import numpy as np
import wyrmling as wy

def batched(P, k):
    return P[k] * P[k] if P[k] < 1e9 else P[k]

def one_by_one(P, k):
    x = P[k]
    while x > 1e9:
        x = x - 1.0
    return x * x

loss = {"batched": batched, "one by one": one_by_one}[sys.argv[1]]
keys = np.random.default_rng(0).integers(0, 4, 100_000)
P = wy.Parameter(np.ones(4))

def run(epochs):
    settings = {"parameters": {"P": P}, "optimizer": wy.SGD(lr=0.1), "batch_size": 2}
    return wy.fit(loss, {"k": keys}, epochs=epochs, threads=int(sys.argv[2]), **settings)

interrupted(run, 10**6)
assert run(1).samples == 100_000
"""
)


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("loss", ["batched", "one by one"])
def test_ctrl_c_ends_a_run(loss: str, threads: int, tmp_path: Path) -> None:
    """In a process of its own: what others ask of Python there, such as to be told when memory is
    collected, may lose the exception of a signal.
    """
    script = tmp_path / "script.py"
    script.write_text(ENDED)
    done = subprocess.run(
        [sys.executable, script, loss, str(threads)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
