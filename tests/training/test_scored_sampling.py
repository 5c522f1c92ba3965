"""Samplers that read the model: what they draw, by scores of NumPy's, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wyrmling as wy

N_USERS, N_ITEMS = 6, 40
RNG = np.random.default_rng(3)
USERS = RNG.normal(size=(N_USERS, 5))
ITEMS = RNG.normal(size=(N_ITEMS, 5))
BIAS = RNG.normal(size=N_ITEMS)
SCORES = USERS @ ITEMS.T + BIAS


def parameters(dtype: Any = np.float32) -> list[wy.Parameter]:
    arrays = {"users": USERS, "items": ITEMS, "item_bias": BIAS}
    return [wy.Parameter(array.astype(dtype), name=name) for name, array in arrays.items()]


def drawn(sampler: Any, user: int, item: int, count: int = 400, **settings: Any) -> Any:
    """How often each item is drawn for samples that are all alike, and the sum of the ranks.

    Workers take turns: of two that write to a number at once one can be lost.
    """

    def counts(times: Any, ranks: Any, user: int, item: int, negative: int, rank: float) -> Any:
        return times[negative] + ranks[item] * rank + 0.0 * times[user]

    times, ranks = wy.Parameter(np.zeros(N_ITEMS)), wy.Parameter(np.zeros(N_ITEMS))
    wy.fit(
        counts,
        {"user": np.full(count, user), "item": np.full(count, item)},
        sample={"negative": sampler, "rank": sampler.rank},
        parameters={"times": times, "ranks": ranks},
        optimizer=wy.SGD(lr=1.0),
        deterministic=True,
        **settings,
    )
    return -times.value, -ranks.value[item]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("threads", [1, 2])
def test_what_warp_draws_is_within_the_margin(dtype: Any, threads: int) -> None:
    user, item = 2, int(np.argsort(SCORES[2])[30])
    sampler = wy.sampling.WARP(*parameters(dtype), margin=0.5, most=10_000)
    times, _ = drawn(sampler, user, item, threads=threads)
    violators = SCORES[user] > SCORES[user, item] - 0.5
    assert times.sum() == 400
    assert set(np.flatnonzero(times)) <= set(np.flatnonzero(violators))
    # All are as likely.
    expected = 400 / violators.sum()
    assert abs(times[violators] - expected).max() < 5 * np.sqrt(expected)


def test_ranks_are_estimated_by_the_number_of_draws() -> None:
    user = 0
    item = int(np.argsort(SCORES[user])[-4])  # with itself 4 items are at least as high
    sampler = wy.sampling.WARP(*parameters(), margin=1e-4, most=10**6)
    _, ranks = drawn(sampler, user, item, count=4000)
    # The number of draws is geometric with a share of 4 of 40.
    share = 4 / N_ITEMS
    draws = np.arange(1, 3000)
    chance = share * (1 - share) ** (draws - 1)
    estimate = np.maximum((N_ITEMS - 1) // draws, 1)
    mean = (chance * estimate).sum()
    spread = np.sqrt((chance * estimate**2).sum() - mean**2)
    assert abs(ranks / 4000 - mean) < 5 * spread / np.sqrt(4000)


def test_where_no_item_violates_the_rank_is_one() -> None:
    user = 1
    item = int(np.argmax(SCORES[user]))
    known = np.flatnonzero(SCORES[user] > SCORES[user, item] - 1.0)
    positives = np.full(len(known), user), known
    sampler = wy.sampling.WARP(*parameters(), positives=positives, most=20)
    times, ranks = drawn(sampler, user, item)
    assert ranks == 400
    assert times[known].sum() == 0


def test_what_a_user_knows_is_not_drawn() -> None:
    known = np.arange(0, N_ITEMS, 2)
    positives = np.full(len(known), 3), known
    for sampler in (
        wy.sampling.WARP(*parameters(), positives=positives, margin=100.0),
        wy.sampling.WARP(*parameters()[:2], positives=list(positives), margin=100.0),
    ):
        times, _ = drawn(sampler, 3, 0)
        assert times[known].sum() == 0
        assert (times[1::2] > 0).sum() > 15


def test_the_hardest_of_many_is_the_highest() -> None:
    def counts(times: Any, user: int, item: int, negative: int) -> Any:
        return times[negative] + 0.0 * times[item] + 0.0 * times[user]

    for of in (1, 3, 4000):
        times = wy.Parameter(np.zeros(N_ITEMS))
        wy.fit(
            counts,
            {"user": np.full(2000, 4), "item": np.full(2000, 1)},
            sample={"negative": wy.sampling.Dynamic(*parameters(), of=of)},
            parameters={"times": times},
            optimizer=wy.SGD(lr=1.0),
        )
        order = np.argsort(SCORES[4])
        # Of so many the highest is at most the k-th lowest with the chance ((k+1) / n)**of.
        steps = (np.arange(N_ITEMS + 1) / N_ITEMS) ** of
        expected = 2000 * np.diff(steps)
        found = -times.value[order]
        assert np.all(abs(found - expected) <= 5 * np.sqrt(expected) + 1), of


def warp_loss(
    users: Any, items: Any, item_bias: Any, user: int, item: int, negative: int, rank: float
) -> Any:
    score = users[user] @ items[item] + item_bias[item]
    other = users[user] @ items[negative] + item_bias[negative]
    return wy.log(rank) * wy.relu(1.0 - score + other)


def trained(**settings: Any) -> list[Any]:
    model = parameters()
    sampler = wy.sampling.WARP(*model)
    rng = np.random.default_rng(5)
    columns = {"user": rng.integers(0, N_USERS, 500), "item": rng.integers(0, N_ITEMS, 500)}
    wy.fit(
        warp_loss,
        columns,
        sample={"negative": sampler, "rank": sampler.rank},
        parameters=dict(zip(("users", "items", "item_bias"), model, strict=True)),
        optimizer=wy.SGD(lr=0.01),
        epochs=3,
        **settings,
    )
    return [parameter.value for parameter in model]


@pytest.mark.parametrize("settings", [{"threads": 1}, {"threads": 2, "deterministic": True}])
def test_equal_seeds_train_equally(settings: Any) -> None:
    """The scores that are read do not depend on which worker is faster."""
    first = trained(seed=3, batch_size=16, **settings)
    for _ in range(5):
        again = trained(seed=3, batch_size=16, **settings)
        for one, other in zip(first, again, strict=True):
            np.testing.assert_array_equal(one, other)
    other = trained(seed=4, batch_size=16, **settings)
    assert not np.array_equal(first[0], other[0])


def test_scores_are_those_of_the_batch_before() -> None:
    """Item 0 is far above all others until the first run has lowered it."""

    def lowered(item_bias: Any, user: int, item: int, negative: int, rank: float) -> Any:
        return 1e3 * item_bias[item] + 0.0 * item_bias[negative] * rank + 0.0 * item_bias[user]

    def loss(item_bias: Any, user: int, item: int, negative: int, rank: float) -> Any:
        return item_bias[item] + 0.0 * item_bias[negative] + 0.0 * item_bias[user] + rank

    zeros = wy.Parameter(np.zeros((1, 1))), wy.Parameter(np.zeros((9, 1)))
    bias = wy.Parameter(np.array([500.0] + [0.0] * 8), name="item_bias")
    sampler = wy.sampling.WARP(*zeros, bias, positives=([0], [0]), most=3)
    history = [
        wy.fit(
            each,
            {"user": [0], "item": [0]},
            sample={"negative": sampler, "rank": sampler.rank},
            parameters={"item_bias": bias},
            optimizer=wy.SGD(lr=1.0),
        )
        for each in (loss, lowered, loss)
    ]
    # None is found at first, and then by the first draw, at rank 8 // 1.
    assert [each.loss for each in history] == [[501.0], [499_000.0], [-501.0 + 8]]


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda u, i, b: wy.sampling.WARP(u, i, i), ValueError, "item_bias"),
        (lambda u, i, b: wy.sampling.WARP(u, b), ValueError, "users and items"),
        (lambda u, i, b: wy.sampling.WARP(u.value, i), TypeError, "users: expected a Parameter"),
        (lambda u, i, b: wy.sampling.WARP(u, i, margin=float("nan")), ValueError, "margin"),
        (lambda u, i, b: wy.sampling.WARP(u, i, margin="wide"), TypeError, "margin"),
        (lambda u, i, b: wy.sampling.WARP(u, i, most=0), ValueError, "most"),
        (lambda u, i, b: wy.sampling.Dynamic(u, i, of=0), ValueError, "of"),
        (lambda u, i, b: wy.sampling.Dynamic(u, i, of=2.5), TypeError, "of"),
        (
            lambda u, i, b: wy.sampling.WARP(u, i, positives=([0] * N_ITEMS, range(N_ITEMS))),
            ValueError,
            "user 0 knows every item",
        ),
        (
            lambda u, i, b: wy.sampling.WARP(u, i, positives=([0], [N_ITEMS])),
            IndexError,
            r"items\[0\] is 40",
        ),
    ],
)
def test_what_makes_no_sampler(make: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        make(*parameters())


def test_what_a_run_refuses() -> None:
    sampler = wy.sampling.WARP(*parameters())

    def fit(columns: Any, sample: Any) -> None:
        def loss(w: Any, user: int, item: int, negative: int, rank: float) -> Any:
            return w[negative] * rank + w[user] + w[item]

        w = wy.Parameter(np.zeros(N_ITEMS))
        wy.fit(loss, columns, sample=sample, parameters={"w": w}, optimizer=wy.SGD(lr=0.1))

    both = {"negative": sampler, "rank": sampler.rank}
    fit({"user": [0], "item": [1]}, both)
    with pytest.raises(IndexError, match="user"):
        fit({"user": [N_USERS], "item": [1]}, both)
    with pytest.raises(IndexError, match="item"):
        fit({"user": [0], "item": [N_ITEMS]}, both)
    with pytest.raises(ValueError, match="one index a sample"):
        fit({"user": [0.5], "item": [1]}, both)
    other = wy.sampling.WARP(*parameters())
    with pytest.raises(ValueError, match="no input is drawn by the sampler"):
        fit({"user": [0], "item": [1]}, {"negative": sampler, "rank": other.rank})
    named = wy.sampling.WARP(*parameters(), given="who")
    with pytest.raises(ValueError, match="no column 'who'"):
        fit({"user": [0], "item": [1]}, {"negative": named, "rank": named.rank})
    index = wy.IndexInput([0], "index")
    loss = wy.Parameter(np.zeros(N_ITEMS))[index].sum()
    with pytest.raises(TypeError, match="sampler"):
        wy.fit(loss, {}, sample={index: sampler}, optimizer=wy.SGD(lr=0.1))  # type: ignore[call-overload]


def test_losses_with_branches_draw_as_well() -> None:
    """Such a loss is run sample by sample, by the same draws."""

    def branched(
        users: Any, items: Any, item_bias: Any, user: int, item: int, negative: int, rank: float
    ) -> Any:
        score = users[user] @ items[item] + item_bias[item]
        other = users[user] @ items[negative] + item_bias[negative]
        margin = 1.0 - score + other
        if margin > 0.0:
            return wy.log(rank) * margin
        return 0.0

    values = []
    for loss in (warp_loss, branched):
        model = parameters(np.float64)
        sampler = wy.sampling.WARP(*model)
        rng = np.random.default_rng(5)
        wy.fit(
            loss,
            {"user": rng.integers(0, N_USERS, 99), "item": rng.integers(0, N_ITEMS, 99)},
            sample={"negative": sampler, "rank": sampler.rank},
            parameters=dict(zip(("users", "items", "item_bias"), model, strict=True)),
            optimizer=wy.SGD(lr=0.01),
            batch_size=8,
            seed=2,
        )
        values.append([parameter.value for parameter in model])
    for one, other in zip(*values, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
