"""Samplers that are Python functions: what they get, what they may give, and how they end a run."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import textwrap
import traceback
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wyrmling as wy

N = 20


def one(times: Any, item: int, negative: int) -> Any:
    return times[negative] + 0.0 * times[item]


def several(times: Any, negatives: Any) -> Any:
    total = 0.0
    for row in negatives:
        for j in row:
            total = total + times[j]
    return total


def fit(draw: Any, count: int = 100, loss: Any = one, **settings: Any) -> wy.Parameter:
    times = wy.Parameter(np.zeros(N), name="times")
    sampler = draw if isinstance(draw, wy.sampling.Sampler) else wy.sampling.Custom(draw, N)
    wy.fit(
        loss,
        {"item": np.arange(count) % N},
        sample={"negative": sampler},
        parameters={"times": times},
        optimizer=wy.SGD(lr=1.0),
        **{"batch_size": 10} | settings,
    )
    return times


def test_a_function_draws_for_blocks_of_samples() -> None:
    calls: list[Any] = []

    def next_item(rng: Any, shape: Any, item: Any, weight: Any, row: Any, ids: Any) -> Any:
        calls.append((type(rng), shape, item.copy(), weight.copy(), row.copy(), ids.copy()))
        return (item + ids[:, 1]) % N

    def loss(times: Any, item: int, negative: int, weight: float, row: Any, ids: Any) -> Any:
        return times[negative] * weight + 0.0 * (times[item] + row.sum() + times[ids].sum())

    count = 3000
    rng = np.random.default_rng(0)
    columns = {
        "item": rng.integers(0, N, count),
        "weight": rng.random(count),
        "row": rng.random((count, 2), dtype=np.float32),
        "ids": rng.integers(0, N, (count, 3)),
    }
    times = wy.Parameter(np.zeros(N))
    wy.fit(
        loss,
        columns,
        sample={"negative": wy.sampling.Custom(next_item, N, columns=list(columns))},
        parameters={"times": times},
        optimizer=wy.SGD(lr=1.0),
    )
    drawn = (columns["item"] + columns["ids"][:, 1]) % N
    expected = np.bincount(drawn, columns["weight"], N)
    np.testing.assert_allclose(-times.value, expected, rtol=1e-12)
    assert len(calls) < 30
    for of, shape, item, weight, row, ids in calls:
        assert of is np.random.Generator
        assert type(shape) is tuple
        assert len(shape) == 1
        assert [x.dtype for x in (item, weight, row, ids)] == [int, float, np.float32, int]
        assert [x.shape for x in (item, weight, row, ids)] == [
            shape,
            shape,
            (*shape, 2),
            (*shape, 3),
        ]
    numbers = {
        name: np.concatenate([call[2 + k] for call in calls]) for k, name in enumerate(columns)
    }
    assert sum(shape[0] for _, shape, *_ in calls) == count
    order, given = np.argsort(numbers["weight"]), np.argsort(columns["weight"])
    for name, column in columns.items():
        assert np.array_equal(numbers[name][order], column[given])


def test_shapes_are_those_that_are_asked_for() -> None:
    asked: list[Any] = []

    def draw(rng: Any, shape: Any, user: Any) -> Any:
        asked.append(shape)
        assert user.shape == shape[:1]
        return np.broadcast_to(user.reshape(-1, *[1] * (len(shape) - 1)), shape)

    columns = {"user": [4, 5, 6], "xs": wy.Ragged(np.zeros(7), [0, 3, 3, 7])}
    shapes: list[Any] = [((2, 5), (3, 2, 5), [10, 10, 10]), (("xs", 5), (35,), [15, 0, 20])]
    for shape, expected, counts in shapes:
        asked.clear()
        times = wy.Parameter(np.zeros(N))
        used = columns if "xs" in shape else {"user": columns["user"]}
        wy.fit(
            several,
            used,
            sample={"negatives": wy.sampling.Custom(draw, N, columns=["user"], shape=shape)},
            parameters={"times": times},
            optimizer=wy.SGD(lr=1.0),
        )
        assert asked == [expected]
        assert (-times.value[4:7]).tolist() == counts
        assert not times.value[:4].any()


def test_a_graph_takes_one_as_well() -> None:
    item, other, x = wy.IndexInput([0], "item"), wy.IndexInput([0], "other"), wy.Input([0.0], "x")
    times = wy.Parameter(np.zeros(N))
    loss = times[other] * x + 0.0 * times[item]

    def draw(rng: Any, shape: Any, x: Any, item: Any) -> Any:
        return (item + 2 * x).astype(int)

    sampler = wy.sampling.Custom(draw, N, columns=[x, item])
    columns = {item: [1, 2, 3], x: [1.0, 2.0, 3.0]}
    wy.fit(loss.sum(), columns, sample={other: sampler}, optimizer=wy.SGD(lr=1.0))
    assert np.flatnonzero(times.value).tolist() == [3, 6, 9]
    assert times.value[[3, 6, 9]].tolist() == [-1.0, -2.0, -3.0]
    named = wy.sampling.Custom(draw, N, columns=["x", "item"])
    with pytest.raises(ValueError, match="columns as a name"):
        wy.fit(loss.sum(), columns, sample={other: named}, optimizer=wy.SGD(lr=1.0))


@pytest.mark.parametrize("settings", [{"threads": 1}, {"threads": 2, "deterministic": True}])
def test_runs_can_be_repeated_and_resumed(settings: Any) -> None:
    """Each block has a generator of its own, by the seed, the epoch and its place."""

    def draw(rng: Any, shape: Any) -> Any:
        return rng.integers(0, N, shape)

    def run(first: int, epochs: int, start: Any = 0.0, seed: int = 3) -> Any:
        times = wy.Parameter(np.zeros(N) + start)
        wy.fit(
            lambda times, item, negative: times[negative] ** 2 * times[item],
            {"item": np.arange(5000) % N},
            sample={"negative": wy.sampling.Custom(draw, N)},
            parameters={"times": times},
            optimizer=wy.SGD(lr=1e-3),
            epochs=epochs,
            first_epoch=first,
            seed=seed,
            **settings,
        )
        return times.value

    begin = np.linspace(0.5, 1.5, N)
    at_once = run(0, 3, begin)
    assert np.array_equal(at_once, run(0, 3, begin))
    assert np.array_equal(at_once, run(1, 3, run(0, 1, begin)))
    assert not np.array_equal(at_once, run(0, 3, begin, seed=4))
    # Blocks differ, or the counts would be multiples of how many there are.
    counts = -fit(draw, 3072).value
    assert counts.sum() == 3072
    expected = 3072 / N
    assert ((counts - expected) ** 2 / expected).sum() < 19 + 4 * np.sqrt(38)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("result", "error", "says"),
    [
        (lambda shape: np.full(shape, N), IndexError, "bad drew 20, expected less than 20"),
        (lambda shape: np.full(shape, -1), IndexError, "bad drew: index -1"),
        (lambda shape: np.full(shape, 2**40), IndexError, "bad drew: index 1099511627776"),
        (lambda shape: np.full(shape, 0.5), TypeError, "bad drew: expected integer"),
        (lambda shape: np.zeros(shape, bool), TypeError, "bad drew: expected integer"),
        (lambda shape: None, TypeError, "bad drew"),
        (lambda shape: 3, ValueError, "bad drew: expected shape"),
        (lambda shape: np.zeros((*shape, 1), int), ValueError, "bad drew: expected shape"),
        (lambda shape: np.zeros(shape[0] - 1, int), ValueError, "bad drew: expected shape"),
    ],
)
def test_what_a_function_may_not_give(result: Any, error: Any, says: str, threads: int) -> None:
    def bad(rng: Any, shape: Any) -> Any:
        return result(shape)

    times = wy.Parameter(np.zeros(N))
    with pytest.raises(error, match=says):
        wy.fit(
            one,
            {"item": np.arange(100) % N},
            sample={"negative": wy.sampling.Custom(bad, N)},
            parameters={"times": times},
            optimizer=wy.SGD(lr=1.0),
            threads=threads,
        )
    assert not times.value.any()


def test_more_items_than_the_table_has_are_refused() -> None:
    item, other, times = wy.IndexInput([0]), wy.IndexInput([0]), wy.Parameter(np.zeros(N))
    called: list[Any] = []
    sampler = wy.sampling.Custom(lambda rng, shape: called.append(shape), N + 1)
    loss = (times[item] - times[other]).sum()
    with pytest.raises(IndexError, match="draws from 21 rows, the table has 20"):
        wy.fit(loss, {item: [0, 1]}, sample={other: sampler}, optimizer=wy.SGD(lr=1.0))
    assert not called

    # A function is compiled for any index, and is left where Python raises.
    def last(rng: Any, shape: Any) -> Any:
        return np.full(shape, N)

    with pytest.raises(IndexError, match="out of bounds"):
        fit(wy.sampling.Custom(last, N + 1))


@pytest.mark.parametrize("threads", [1, 2])
def test_what_a_function_raises_ends_the_run(threads: int) -> None:
    class Mine(Exception):
        pass

    def failing(rng: Any, shape: Any) -> Any:
        raise Mine("on purpose")

    with pytest.raises(Mine, match="on purpose") as caught:
        fit(failing, threads=threads)
    assert "failing" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    fit(lambda rng, shape: np.zeros(shape, int), threads=threads)  # nothing is left locked


@pytest.mark.parametrize("threads", [1, 2])
def test_a_function_cannot_train_what_is_trained(threads: int) -> None:
    times = wy.Parameter(np.zeros(N), name="times")
    others: list[float] = []

    def again(rng: Any, shape: Any) -> Any:
        fit(lambda rng, shape: np.zeros(shape, int))  # another parameter may be
        others.append(1.0)
        times.value = np.ones(N)
        return np.zeros(shape, int)

    def nested(rng: Any, shape: Any) -> Any:
        train(lambda rng, shape: np.zeros(shape, int))
        return np.zeros(shape, int)

    def train(draw: Any) -> None:
        wy.fit(
            one,
            {"item": np.arange(100) % N},
            sample={"negative": wy.sampling.Custom(draw, N)},
            parameters={"times": times},
            optimizer=wy.SGD(lr=1.0),
            threads=threads,
        )

    for draw in (again, nested):
        with pytest.raises(RuntimeError, match="times"):
            train(draw)
    assert others
    assert not times.value.any()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_function_reads_what_the_batches_before_have_left(threads: int) -> None:
    times = wy.Parameter(np.zeros(N), name="times")
    seen: list[float] = []

    def least_drawn(rng: Any, shape: Any) -> Any:
        seen.append(times.value.sum())
        return np.full(shape, np.argmax(times.value))

    wy.fit(
        one,
        {"item": np.arange(5000) % N},
        sample={"negative": wy.sampling.Custom(least_drawn, N)},
        parameters={"times": times},
        optimizer=wy.SGD(lr=1.0),
        threads=threads,
    )
    assert seen[0] == 0.0
    if threads == 1:
        assert seen == sorted(seen, reverse=True)
        assert times.value.sum() == -5000
    assert seen[-1] < -1000


@pytest.mark.parametrize("settings", [{}, {"momentum": 0.5}, {"clip": 0.1}])
@pytest.mark.parametrize("kind", [wy.SGD, wy.Adagrad, wy.Adam])
def test_what_is_drawn_is_trained_with_the_bits_of_a_column(kind: Any, settings: Any) -> None:
    """A worker beside whom others may read, and one who is alone."""
    if "momentum" in settings and kind is not wy.SGD:
        return
    trained = []
    items, row = np.arange(500) % N, np.random.default_rng(0).random((N, 3))
    for is_drawn in (False, True):
        w = wy.Parameter(row, name="w")
        item, other = wy.IndexInput([0], "item"), wy.IndexInput([0], "other")
        loss = wy.softplus((w[item] * w[other]).sum(axis=1)).sum()
        columns, sample = {item: items, other: (items * 7 + 1) % N}, {}
        if is_drawn:
            del columns[other]

            def draw(rng: Any, shape: Any, item: Any) -> Any:
                return (item * 7 + 1) % N

            sample = {other: wy.sampling.Custom(draw, N, columns=[item])}
        optimizer = kind(lr=0.05, l2=0.01, **settings)
        wy.fit(loss, columns, sample=sample, optimizer=optimizer, epochs=3, batch_size=8)
        trained.append(w.value)
    assert np.array_equal(*trained)


def test_ctrl_c_ends_a_run(tmp_path: Path) -> None:
    script = """
        import os, signal
        import numpy as np
        import wyrmling as wy

        calls = []

        def draw(rng, shape):
            calls.append(shape)
            if len(calls) == 20:
                os.kill(os.getpid(), signal.SIGINT)
            return np.zeros(shape, int)

        times = wy.Parameter(np.zeros(3))
        try:
            wy.fit(lambda times, item, negative: times[negative] + times[item] * 0.0,
                   {"item": np.zeros(10**5, int)}, sample={"negative": wy.sampling.Custom(draw, 3)},
                   parameters={"times": times}, optimizer=wy.SGD(lr=1.0), epochs=10**6,
                   threads=THREADS)
        except KeyboardInterrupt:
            print("interrupted", times.value[0] < 0.0)
    """
    for threads in (1, 2):
        file = tmp_path / "interrupted.py"
        file.write_text(textwrap.dedent(script).replace("THREADS", str(threads)))
        run = subprocess.run(
            [sys.executable, file], capture_output=True, text=True, timeout=60, check=False
        )
        assert run.stdout.split() == ["interrupted", "True"], run.stderr


class Near:
    """A function that can be pickled."""

    def __init__(self, width: int) -> None:
        self.width = width

    def __call__(self, rng: Any, shape: Any, item: Any) -> Any:
        return (item + rng.integers(0, self.width, shape)) % N


def test_samplers_are_pickled_with_their_function() -> None:
    sampler = wy.sampling.Custom(Near(3), N, columns=("item",))
    assert repr(sampler) == "<Custom of 20 items, Near>"
    back = pickle.loads(pickle.dumps(sampler))
    assert repr(back) == repr(sampler)
    assert np.array_equal(fit(back).value, fit(sampler).value)


def test_a_circle_through_a_sampler_is_freed() -> None:
    near = Near(3)
    near.sampler = wy.sampling.Custom(near, N)  # type: ignore[attr-defined]
    alive = weakref.ref(near)
    del near
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: wy.sampling.Custom(3, N), TypeError, "draw: expected a function"),  # type: ignore[arg-type]
        (lambda: wy.sampling.Custom(print, 0), ValueError, "n: "),
        (
            lambda: wy.sampling.Custom(print, N, columns="item"),
            TypeError,
            "columns: expected a seq",
        ),
        (lambda: wy.sampling.Custom(print, N, columns=[3]), TypeError, "columns"),  # type: ignore[list-item]
        (lambda: fit(wy.sampling.Custom(print, N, columns=["it"])), ValueError, "no column 'it'"),
    ],
)
def test_what_makes_no_sampler(make: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        make()


def test_columns_of_entries_are_refused() -> None:
    columns = {"user": [4], "xs": wy.Ragged(np.zeros(3), [0, 3])}
    sampler = wy.sampling.Custom(print, N, columns=["xs"], shape=(1, 2))
    with pytest.raises(ValueError, match=r"'negatives': columns: .* 'xs' is another"):
        wy.fit(
            several,
            columns,
            sample={"negatives": sampler},
            parameters={"times": wy.Parameter(np.zeros(N))},
            optimizer=wy.SGD(lr=1.0),
        )
