"""Adaptive sampling: what it draws, by the formula in NumPy, and when its orders are made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wyrmling as wy

N_USERS, N_ITEMS, WIDTH = 5, 24, 3
RNG = np.random.default_rng(8)
USERS = RNG.normal(size=(N_USERS, WIDTH))
ITEMS = RNG.normal(size=(N_ITEMS, WIDTH)) * [1.0, 0.2, 3.0]
BIAS = RNG.normal(size=N_ITEMS)


def parameters(dtype: Any = np.float32) -> list[wy.Parameter]:
    arrays = {"users": USERS, "items": ITEMS, "item_bias": BIAS}
    return [wy.Parameter(array.astype(dtype), name=name) for name, array in arrays.items()]


def chances(user: int, scale: float, known: Any = (), bias: bool = True) -> Any:
    """The probability of each item: Rendle and Freudenthaler (2014), section 4."""
    vector, factors = USERS[user], ITEMS
    if bias:
        vector, factors = np.append(vector, 1.0), np.column_stack([factors, BIAS])
    of_factor = abs(vector) * factors.std(axis=0)
    of_rank = np.exp(-np.arange(N_ITEMS) / scale)
    found = np.zeros(N_ITEMS)
    for factor, weight in enumerate(of_factor / of_factor.sum()):
        order = np.argsort(-factors[:, factor] * np.sign(vector[factor]))
        found[order] += weight * of_rank / of_rank.sum()
    found[list(known)] = 0.0
    return found / found.sum()


def drawn(sampler: Any, user: int, count: int = 20_000, **settings: Any) -> Any:
    """How often each item is drawn for samples that are all alike. Workers take turns: those that
    race for a number lose counts where one waits between reading and writing.
    """

    def counts(times: Any, negatives: Any) -> Any:
        return times[negatives].sum()

    times = wy.Parameter(np.zeros(N_ITEMS))
    wy.fit(
        counts,
        {"user": np.full(count // 10, user)},
        sample={"negatives": sampler},
        parameters={"times": times},
        optimizer=wy.SGD(lr=1.0),
        deterministic=True,
        **settings,
    )
    return -times.value


def check(found: Any, expected: Any) -> None:
    """Pearson's test, at four standard deviations of its statistic."""
    expected = expected * found.sum()
    assert not found[expected == 0].any()
    there = expected > 0
    statistic = ((found - expected)[there] ** 2 / expected[there]).sum()
    freedom = there.sum() - 1
    assert statistic < freedom + 4 * np.sqrt(2 * freedom), statistic


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("scale", [1.5, 6.0, 1000.0])
def test_what_is_drawn_follows_the_formula(scale: float, threads: int, dtype: Any) -> None:
    for user in range(N_USERS):
        sampler = wy.sampling.Adaptive(*parameters(dtype), rank_scale=scale, shape=10)
        check(drawn(sampler, user, threads=threads), chances(user, scale))
        sampler = wy.sampling.Adaptive(*parameters(dtype)[:2], rank_scale=scale, shape=10)
        check(drawn(sampler, user, threads=threads), chances(user, scale, bias=False))


def test_what_a_user_knows_is_not_drawn() -> None:
    """The rest keep their proportions; where nearly all draws are rejected, the order goes on."""
    known = np.argsort(-(ITEMS @ USERS[1] + BIAS))[:6]
    sampler = wy.sampling.Adaptive(
        *parameters(), positives=(np.full(6, 1), known), rank_scale=4.0, shape=10
    )
    check(drawn(sampler, 1), chances(1, 4.0, known))
    check(drawn(sampler, 2), chances(2, 4.0))
    # All of the first ranks of one factor are known: the next in its order comes.
    order = np.argsort(-ITEMS[:, 2] * np.sign(USERS[1, 2]))
    users = wy.Parameter(USERS * [0.0, 0.0, 1.0])
    sampler = wy.sampling.Adaptive(
        users,
        wy.Parameter(ITEMS),
        positives=(np.full(12, 1), order[:12]),
        rank_scale=1e-3,
        shape=10,
    )
    found = drawn(sampler, 1, count=100)
    assert found[order[12]] == found.sum() == 100
    # Of all but the last, whichever way the order goes round.
    sampler = wy.sampling.Adaptive(
        users,
        wy.Parameter(ITEMS),
        positives=(np.full(23, 1), np.delete(order, 5)),
        rank_scale=8.0,
        shape=10,
    )
    assert drawn(sampler, 1, count=100)[order[5]] == 100


def test_a_user_who_knows_nearly_all_of_many_items_draws_from_all_others() -> None:
    """To go through the order to the next one gave the lowest item, and looked at all others."""
    n = 50_000
    items = wy.Parameter(-np.arange(float(n))[:, None])
    known = np.arange(1, n - 1)
    sampler = wy.sampling.Adaptive(
        wy.Parameter([[1.0]]), items, positives=(np.zeros(n - 2, int), known), rank_scale=n / 4
    )
    times = wy.Parameter(np.zeros(n))
    columns, drawn = {"user": np.zeros(400, int)}, {"negative": sampler}
    wy.fit(
        lambda times, negative: times[negative],
        columns,
        sample=drawn,
        parameters={"times": times},
        optimizer=wy.SGD(lr=1.0),
    )
    found = -times.value
    assert found.sum() == found[[0, -1]].sum() == 400
    assert 150 < found[0] < 250


def test_users_without_factors_draw_from_all_items() -> None:
    zeros, known = wy.Parameter(np.zeros((2, 4))), ([0], [3])
    sampler = wy.sampling.Adaptive(zeros, wy.Parameter(ITEMS @ np.ones((3, 4))), shape=10)
    check(drawn(sampler, 0), np.full(N_ITEMS, 1 / N_ITEMS))
    alike = wy.Parameter(np.ones((N_ITEMS, 3)))
    sampler = wy.sampling.Adaptive(wy.Parameter(USERS), alike, positives=known, shape=10)
    check(drawn(sampler, 0), np.delete(np.full(N_ITEMS + 1, 1 / 23), 0) * (np.arange(24) != 3))


def test_shapes_are_those_that_are_asked_for() -> None:
    def total(w: Any, negative: Any) -> Any:
        found = 0.0
        for row in negative:
            for j in row:
                found = found + w[j]
        return found

    def one(w: Any, negative: int) -> Any:
        return w[negative]

    columns = {"user": [0, 1, 2], "xs": wy.Ragged(np.zeros(7), [0, 3, 3, 7])}
    shapes: list[Any] = [None, ("xs", 5), (2, 4), ("xs", "xs")]
    for make in (wy.sampling.Adaptive, wy.sampling.Dynamic):
        for shape, count in zip(shapes, [3, 35, 24, 25], strict=True):
            w = wy.Parameter(np.zeros(N_ITEMS))
            loss = one if shape is None else total
            given = columns if shape and "xs" in shape else {"user": columns["user"]}
            wy.fit(
                loss,
                given,
                sample={"negative": make(*parameters(), shape=shape)},
                parameters={"w": w},
                optimizer=wy.SGD(lr=1.0),
            )
            assert -w.value.sum() == count, (make, shape)


def test_orders_are_made_anew_within_an_epoch() -> None:
    """An item that falls as it is drawn stays at the top until there is another order."""

    def falls(items: Any, negative: int) -> Any:
        return items[negative, 0]

    items = wy.Parameter(np.arange(100.0, 50.0, -1.0)[:, None])
    sampler = wy.sampling.Adaptive(wy.Parameter([[1.0]]), items, rank_scale=1e-3)
    wy.fit(
        falls,
        {"user": np.zeros(600, int)},
        sample={"negative": sampler},
        parameters={"items": items},
        optimizer=wy.SGD(lr=1.0),
        batch_size=5,
    )
    # An order holds for the first multiple of 5 that is not below floor(50 log 50) = 195.
    expected = np.arange(100.0, 50.0, -1.0)
    left = 600
    while left:
        count = min(left, 195)
        expected[np.argmax(expected)] -= count
        left -= count
    assert np.array_equal(items.value[:, 0], expected)


def loss(users: Any, items: Any, item_bias: Any, user: int, item: int, negative: int) -> Any:
    score = users[user] @ items[item] + item_bias[item]
    other = users[user] @ items[negative] + item_bias[negative]
    return -wy.logsigmoid(score - other)


def trained(first: int = 0, start: Any = None, **settings: Any) -> list[Any]:
    model = parameters()
    if start is not None:
        for parameter, value in zip(model, start, strict=True):
            parameter.value = value
    rng = np.random.default_rng(5)
    columns = {"user": rng.integers(0, N_USERS, 500), "item": rng.integers(0, N_ITEMS, 500)}
    wy.fit(
        loss,
        columns,
        sample={"negative": wy.sampling.Adaptive(*model, rank_scale=5.0)},
        parameters=dict(zip(("users", "items", "item_bias"), model, strict=True)),
        optimizer=wy.SGD(lr=0.01),
        first_epoch=first,
        **{"epochs": 4, "seed": 3, "batch_size": 16} | settings,
    )
    return [parameter.value for parameter in model]


@pytest.mark.parametrize("settings", [{"threads": 1}, {"threads": 2, "deterministic": True}])
def test_runs_can_be_repeated_and_resumed(settings: Any) -> None:
    at_once = trained(**settings)
    for _ in range(3):
        for one, other in zip(at_once, trained(**settings), strict=True):
            np.testing.assert_array_equal(one, other)
    for k in (1, 3):
        resumed = trained(k, trained(epochs=k, **settings), **settings)
        for one, other in zip(at_once, resumed, strict=True):
            np.testing.assert_array_equal(one, other)
    assert not np.array_equal(at_once[0], trained(**settings | {"seed": 4})[0])


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda u, i, b: wy.sampling.Adaptive(u, i, rank_scale=0.0), ValueError, "rank_scale"),
        (
            lambda u, i, b: wy.sampling.Adaptive(u, i, rank_scale=float("inf")),
            ValueError,
            "above 0",
        ),
        (lambda u, i, b: wy.sampling.Adaptive(u, i, rank_scale="low"), TypeError, "rank_scale"),
        (lambda u, i, b: wy.sampling.Adaptive(u, i, i), ValueError, "item_bias"),
        (
            lambda u, i, b: wy.sampling.Adaptive(u.value, i),
            TypeError,
            "users: expected a Parameter",
        ),
        (lambda u, i, b: wy.sampling.Adaptive(u, i, shape=0.5), TypeError, "shape"),
    ],
)
def test_what_makes_no_sampler(make: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        make(*parameters())


def test_what_a_run_refuses() -> None:
    def one(w: Any, user: int, negative: int) -> Any:
        return w[negative] + 0.0 * w[user]

    w = wy.Parameter(np.zeros(N_ITEMS))
    settings: dict[str, Any] = {"parameters": {"w": w}, "optimizer": wy.SGD(lr=0.1)}
    sampler = wy.sampling.Adaptive(*parameters())
    with pytest.raises(IndexError, match="user of the sampler of input 'negative'"):
        wy.fit(one, {"user": [N_USERS]}, sample={"negative": sampler}, **settings)
    with pytest.raises(ValueError, match="no column 'user'"):
        wy.fit(one, {"who": [0]}, sample={"negative": sampler}, **settings)
