"""Negatives out of the batch: which samples they come from, by NumPy, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wyrmling as wy

N_ITEMS = 30


def drawn(
    sampler: Any, columns: dict[str, Any], axes: int = 0, n: int = N_ITEMS, **settings: Any
) -> np.ndarray:
    """How often each item is drawn for each value of the column `key`."""

    def one(times: Any, key: int, negative: int) -> Any:
        return times[key, negative]

    def several(times: Any, key: int, negative: Any) -> Any:
        total = 0.0
        for j in negative:
            total = total + times[key, j]
        return total

    def nested(times: Any, key: int, negative: Any) -> Any:
        total = 0.0
        for row in negative:
            for j in row:
                total = total + times[key, j]
        return total

    times = wy.Parameter(np.zeros((int(np.max(columns["key"])) + 1, n)), name="times")
    settings = {"batch_size": 8, "seed": 3} | settings
    wy.fit(
        [one, several, nested][axes],
        columns,
        sample={"negative": sampler},
        parameters={"times": times},
        optimizer=wy.SGD(lr=1.0),
        **settings,
    )
    return -times.value


@pytest.mark.parametrize("threads", [1, 2])
def test_all_other_samples_of_a_batch_are_as_likely(threads: int) -> None:
    """Of 6 samples in one batch each has the items of the 5 others."""
    items = np.array([3, 7, 7, 0, 29, 3])
    columns = {"key": np.arange(6), "item": items}
    sampler = wy.sampling.InBatch("item", N_ITEMS, shape=500)
    found = drawn(sampler, columns, 1, threads=threads)
    for own in range(6):
        expected = 100.0 * np.bincount(np.delete(items, own), minlength=N_ITEMS)
        assert found[own].sum() == 500
        assert not found[own][expected == 0].any()
        there = expected > 0
        statistic = ((found[own] - expected)[there] ** 2 / expected[there]).sum()
        assert statistic < 20.0, (own, statistic)  # 4 degrees of freedom at most: 1 in 2000


def test_negatives_are_of_the_same_batch() -> None:
    """Batches are those of a run without shuffling that NumPy can know: items name their batch."""
    count, batch = 64, 8
    columns = {"key": np.arange(count), "item": np.arange(count)}
    sampler = wy.sampling.InBatch("item", count, shape=300)
    found = drawn(sampler, columns, 1, n=count, batch_size=batch) > 0
    # Each sample has met the seven others of its batch, and has been met by them.
    assert (found.sum(axis=1) == batch - 1).all()
    assert np.array_equal(found, found.T)
    together = found | np.eye(count, dtype=bool)
    assert np.array_equal(together @ together, together)


def test_what_a_user_knows_is_not_drawn() -> None:
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 4, 400), rng.integers(0, N_ITEMS, 400)
    known = rng.integers(0, 2, (4, N_ITEMS)).astype(bool)
    known[3] = True
    known[3, 11] = False  # knows all but one, which batches seldom have
    sampler = wy.sampling.InBatch("item", N_ITEMS, positives=np.nonzero(known), given="key")
    found = drawn(sampler, {"key": users, "item": items}, epochs=5)
    assert found.sum() == 2000
    assert not found[known].any()
    assert found[3, 11] == 5 * (users == 3).sum()
    assert (found[:3][~known[:3]] > 0).all()


def test_shapes_are_those_that_are_asked_for() -> None:
    columns = {
        "key": [0, 1, 2],
        "item": [4, 5, 6],
    }
    arrays = {"xs": wy.Ragged(np.zeros(7), [0, 3, 3, 7]), "row": np.zeros((3, 2))}
    shapes: list[tuple[Any, list[int]]] = [
        (0, [0, 0, 0]),
        (7, [7, 7, 7]),
        ("xs", [3, 0, 4]),
        ("row", [2, 2, 2]),
        ((2, 4), [8, 8, 8]),
        (("xs", 5), [15, 0, 20]),
        (("row", "xs"), [6, 0, 8]),
        (("xs", "xs"), [9, 0, 16]),
    ]
    for shape, counts in shapes:
        sampler = wy.sampling.InBatch("item", N_ITEMS, shape=shape)
        used = {name: array for name, array in arrays.items() if name in np.atleast_1d(shape)}
        axes = 2 if isinstance(shape, tuple) else 1
        found = drawn(sampler, columns | used, axes)
        assert found.sum(axis=1).tolist() == counts, shape
        assert not found[[0, 1, 2], [4, 5, 6]].any()


def test_graphs_draw_from_the_batch_as_well() -> None:
    times, users = wy.Parameter(np.zeros((N_ITEMS, 4))), wy.Input(np.eye(4))
    user, item, other = (wy.IndexInput([0], name) for name in ("user", "item", "other"))
    sampler = wy.sampling.InBatch(item, N_ITEMS, positives=([0, 1], [6, 8]), given=user)
    loss = wy.vecdot(users, times[other]) + 0.0 * wy.vecdot(times[user], times[item])
    columns = {users: np.eye(4), user: [0, 1, 2, 3], item: [5, 6, 7, 8]}
    settings: dict[str, Any] = {"optimizer": wy.SGD(lr=1.0), "epochs": 200, "batch_size": 4}
    wy.fit(loss.sum(), columns, sample={other: sampler}, **settings)
    found = -times.value.T
    assert found.sum() == 800
    for own, items in zip(found, [[7, 8], [5, 7], [5, 6, 8], [5, 6, 7]], strict=True):
        assert set(np.flatnonzero(own)) == set(items)


def test_a_sample_by_itself_draws_from_all_items() -> None:
    columns = {"key": np.zeros(9, int), "item": np.full(9, 2)}
    sampler = wy.sampling.InBatch("item", 5, shape=400, positives=([0], [0]), given="key")
    found = drawn(sampler, columns, 1, n=5)  # batches of 8 and of 1
    assert found[0, 0] == 0
    assert found[0, 2] > 8 * 400
    rest = found[0, [1, 3, 4]]
    assert (abs(rest - 100) < 40).all()
    assert 240 < rest.sum() < 360


@pytest.mark.parametrize("settings", [{"threads": 1}, {"threads": 2, "deterministic": True}])
def test_equal_seeds_draw_equally(settings: Any) -> None:
    rng = np.random.default_rng(1)
    columns = {"key": rng.integers(0, 5, 300), "item": rng.integers(0, N_ITEMS, 300)}
    sampler = wy.sampling.InBatch("item", N_ITEMS)
    first = drawn(sampler, columns, **settings)
    assert np.array_equal(first, drawn(sampler, columns, **settings))
    assert not np.array_equal(first, drawn(sampler, columns, **settings | {"seed": 4}))


def test_what_a_run_refuses() -> None:
    sampler = wy.sampling.InBatch("item", N_ITEMS)
    columns = {"key": [0, 1], "item": [3, 4]}
    with pytest.raises(
        ValueError, match="batch_size: expected at least 2, got 1: input 'negative'"
    ):
        drawn(sampler, columns, batch_size=1)
    with pytest.raises(IndexError, match=r"column of the sampler of input 'negative'.*30"):
        drawn(sampler, columns | {"item": [3, 30]})
    with pytest.raises(ValueError, match="no column 'item'"):
        drawn(sampler, {"key": [0, 1]})
    with pytest.raises(ValueError, match="column: expected a column of one index a sample"):
        drawn(sampler, columns | {"item": [0.5, 1.5]})


def test_what_makes_no_sampler() -> None:
    with pytest.raises(TypeError, match="column"):
        wy.sampling.InBatch(3, N_ITEMS)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="n: "):
        wy.sampling.InBatch("item", 0)
    with pytest.raises(TypeError, match="given"):
        wy.sampling.InBatch("item", 3, positives=([0], [1]))
    with pytest.raises(ValueError, match="user 0 knows every item"):
        wy.sampling.InBatch("item", 2, positives=([0, 0], [0, 1]), given="user")


@pytest.mark.parametrize(
    ("shape", "column", "error", "message"),
    [
        ((1,), None, ValueError, "given: a sampler may depend on an input that has a column only"),
        ((1, 2), [[0, 1]], TypeError, r"on one index a sample; input 'user' is u32\[1, 2\]"),
    ],
)
def test_what_a_sampler_may_depend_on(
    shape: tuple[int, ...], column: Any, error: type[Exception], message: str
) -> None:
    table = wy.Parameter(np.zeros((4, 2)))
    user = wy.IndexInput(np.zeros(shape, int), "user")
    item, other = wy.IndexInput([0], "item"), wy.IndexInput([0], "other")
    columns: dict[Any, Any] = {item: [0]}
    sample: dict[Any, Any] = {other: wy.sampling.Uniform(4, positives=([0], [1]), given=user)}
    if column is None:
        sample[user] = wy.sampling.Uniform(4)
    else:
        columns[user] = column
    loss = table[item].sum() + table[user].sum() + table[other].sum()
    with pytest.raises(error, match=message):
        wy.fit(loss, columns, sample=sample, optimizer=wy.SGD(lr=0.1), epochs=1, batch_size=1)
