"""Samples that are divided among workers by the rows they look up: each comes once an epoch."""

from typing import Any

import numpy as np
import pytest

import wyrmling as wy

USERS, ITEMS, SAMPLES = 400, 1600, 20_000
# Rows are dealt out by the page, 8 of them where they have so many numbers: enough for all workers.
WIDTH, PAGE = 64, 8


def table(numbers: np.ndarray) -> wy.Parameter:
    """A table whose rows have each one number of these over and over."""
    return wy.Parameter(np.repeat(numbers.astype(np.float64)[:, None], WIDTH, axis=1))


def columns(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    users = (USERS * rng.random(SAMPLES) ** 2).astype(np.uint32)
    items = (ITEMS * rng.random(SAMPLES) ** 2).astype(np.uint32)
    return users, items


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
@pytest.mark.parametrize("batch_size", [1, 7, 64])
def test_every_sample_comes_once_and_whole(threads: int, batch_size: int) -> None:
    users, items = columns()
    numbers = np.arange(1, SAMPLES + 1, dtype=np.float64)
    of_users, of_items = table(np.arange(USERS)), table(np.arange(ITEMS))
    u, i = wy.IndexInput([0]), wy.IndexInput([0])
    y, number = wy.Input(np.zeros(1)), wy.Input(np.zeros(1))
    # Zero, and without a gradient, where the columns of a sample are together.
    both = (of_users[u] + 3.0 * of_items[i]).mean(axis=1)
    loss = ((both - y) ** 2 + number).sum()
    data = {u: users, i: items, y: users + 3.0 * items, number: numbers}
    history = wy.fit(
        loss, data, optimizer=wy.SGD(0.01), epochs=3, batch_size=batch_size, threads=threads
    )
    assert history.loss == [SAMPLES * (SAMPLES + 1) / 2] * 3
    assert np.array_equal(of_users.value[:, 5], np.arange(USERS))


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("power", [1, 1.6, 4])
def test_items_are_drawn_as_often_as_without(given: bool, power: float) -> None:
    """Also where a fifth of the samples have items of one page, so that a worker who has it has few
    others, and where half have, which fill a block by themselves."""
    users, items = columns()
    items = (ITEMS * (items / ITEMS) ** power).astype(np.uint32)
    # User 3 knows every item but one, which lies in another worker's part every other epoch.
    known = np.full(ITEMS - 1, 3, np.uint32), np.delete(np.arange(ITEMS, dtype=np.uint32), 777)
    sampler = wy.sampling.Uniform(ITEMS)
    u, i, j = wy.IndexInput([0]), wy.IndexInput([0]), wy.IndexInput([0])
    if given:
        sampler = wy.sampling.Uniform(ITEMS, positives=known, given=u)
    of_users, of_items = table(np.zeros(USERS)), table(np.zeros(ITEMS))
    # The gradient of an item is how often it was drawn.
    loss = (of_users[u] + of_items[i] * 0.0 + of_items[j]).sum() / WIDTH
    wy.fit(
        loss,
        {u: users, i: items},
        sample={j: sampler},
        optimizer=wy.SGD(float(WIDTH)),
        epochs=100,
        batch_size=16,
        threads=2,
    )
    drawn = -of_items.value[:, 0]
    of_user_3 = 100 * np.count_nonzero(users == 3) if given else 0
    expected = 100 * SAMPLES / ITEMS
    assert drawn[777] == pytest.approx(of_user_3 + expected, rel=0.1)
    others = np.delete(drawn, 777)
    # Several workers may lose an update of each other; draws vary by the square root.
    assert others.mean() == pytest.approx(expected, rel=0.05)
    assert others[:PAGE].mean() == pytest.approx(expected, rel=0.05)
    assert others.std() < 4 * np.sqrt(expected)


def test_two_samplers_of_unlike_numbers_of_items_draw_each_as_often_as_others() -> None:
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, USERS, SAMPLES), rng.integers(0, ITEMS, SAMPLES)
    # A page has 32 of these rows.
    p, q = wy.Parameter(np.zeros((USERS, 16))), wy.Parameter(np.zeros((ITEMS, 16)))
    u, i, j, k = (wy.IndexInput([0]) for _ in range(4))
    few = ITEMS // 8
    counts = {j: wy.Parameter(np.zeros(ITEMS)), k: wy.Parameter(np.zeros(few))}
    rows = 0.0 * (p[u] * (q[i] + q[j] + q[k])).sum()
    wy.fit(
        rows + sum(count[of].sum() for of, count in counts.items()),
        {u: users, i: items},
        sample={j: wy.sampling.Uniform(ITEMS), k: wy.sampling.Uniform(few)},
        optimizer=wy.SGD(1.0),
        epochs=40,
        batch_size=16,
        threads=2,
    )
    for count in counts.values():
        expected = 40 * SAMPLES / count.value.size
        # The square of what a count is off, over the variance of draws.
        assert np.mean((count.value + expected) ** 2) < 2 * expected


@pytest.mark.parametrize(("threads", "share"), [(2, 0.15), (4, 0.05)])
@pytest.mark.parametrize("sampling", ["uniform", "popularity", "in_batch", "custom"])
def test_what_is_drawn_does_not_depend_on_what_the_sample_is_of(
    sampling: str, threads: int, share: float
) -> None:
    """Also for samples of items of one page that are drawn often: a worker has pages of its own."""
    rng = np.random.default_rng(0)
    users = rng.integers(0, USERS, SAMPLES)
    is_of_page = rng.random(SAMPLES) < share
    items = np.where(is_of_page, rng.integers(0, PAGE, SAMPLES), rng.integers(PAGE, ITEMS, SAMPLES))
    samplers = {
        "uniform": wy.sampling.Uniform(ITEMS),
        "popularity": wy.sampling.Popularity(np.bincount(items, minlength=ITEMS), power=1.0),
        "in_batch": wy.sampling.InBatch("item", ITEMS),
        "custom": wy.sampling.Custom(
            lambda rng, shape, item: rng.permutation(item), ITEMS, columns=["item"]
        ),
    }
    tables = {"p": table(np.zeros(USERS)), "q": table(np.zeros(ITEMS))}
    counts = {name: wy.Parameter(np.zeros(ITEMS)) for name in ("of_page", "of_others")}

    def loss(
        p: Any, q: Any, of_page: Any, of_others: Any, user: int, item: int, of: float, other: int
    ) -> Any:
        rows = 0.0 * (p[user] @ q[item] + q[other].sum())
        return rows + of * of_page[other] + (1.0 - of) * of_others[other]

    # Gradients are how often an item was drawn for samples of the page, and for others.
    wy.fit(
        loss,
        {"user": users, "item": items, "of": is_of_page.astype(np.float64)},
        sample={"other": samplers[sampling]},
        parameters=tables | counts,
        optimizer=wy.SGD(1.0),
        epochs=60,
        batch_size=16,
        threads=threads,
    )
    expected = PAGE / ITEMS if sampling == "uniform" else share
    for one in counts.values():
        drawn = -one.value
        assert drawn[:PAGE].sum() / drawn.sum() == pytest.approx(expected, rel=0.2)


@pytest.mark.parametrize("threads", [2, 4])
def test_no_update_is_lost_but_at_the_end_of_an_epoch(threads: int) -> None:
    epochs, batch_size = 5, 16
    rng = np.random.default_rng(1)
    users = (USERS * rng.random(5 * SAMPLES) ** 2).astype(np.uint32)
    items = (ITEMS * rng.random(5 * SAMPLES) ** 2).astype(np.uint32)
    of_users, of_items = table(np.zeros(USERS)), table(np.zeros(ITEMS))
    u, i, j = wy.IndexInput([0]), wy.IndexInput([0]), wy.IndexInput([0])
    # The gradient of a row is how often it was looked up.
    wy.fit(
        (of_users[u] + of_items[i] + of_items[j]).sum() / WIDTH,
        {u: users, i: items},
        sample={j: wy.sampling.Uniform(ITEMS)},
        optimizer=wy.SGD(float(WIDTH)),
        epochs=epochs,
        batch_size=batch_size,
        threads=threads,
    )
    # What fills no batch of its block may race: less than a batch in each of threads² blocks of
    # up to 16 stretches.
    racing = epochs * 16 * threads**2 * batch_size
    count = epochs * len(users)
    assert 0 <= count + of_users.value[:, 0].sum() < racing
    assert 0 <= 2 * count + of_items.value[:, 0].sum() < 2 * racing


def trained(first: int, epochs: int, deterministic: bool, state: list[np.ndarray]) -> None:
    """Trains vectors of users and items that have 4 MiB together, by one thread."""
    users, items = columns()
    p, q = (wy.Parameter(numbers) for numbers in state)
    u, i, j = wy.IndexInput([0]), wy.IndexInput([0]), wy.IndexInput([0])
    margin = (p[u] * (q[i] - q[j])).sum(axis=1)
    wy.fit(
        wy.softplus(-margin).sum(),
        {u: users, i: items},
        sample={j: wy.sampling.Uniform(ITEMS)},
        optimizer=wy.SGD(0.05),
        epochs=epochs,
        first_epoch=first,
        batch_size=8,
        deterministic=deterministic,
    )
    state[:] = p.value, q.value


@pytest.mark.parametrize("deterministic", [False, True])
def test_one_thread_gives_equal_bits_and_goes_on_with_any_epoch(deterministic: bool) -> None:
    rng = np.random.default_rng(1)
    start = [rng.normal(0, 0.1, (rows, 512)).astype(np.float32) for rows in (USERS, ITEMS)]
    whole, again, parts = start.copy(), start.copy(), start.copy()
    trained(0, 3, deterministic, whole)
    trained(0, 3, deterministic, again)
    for epoch in range(3):
        trained(epoch, epoch + 1, deterministic, parts)
    for a, b, c in zip(whole, again, parts, strict=True):
        assert np.array_equal(a, b)
        assert np.array_equal(a, c)


def test_one_thread_trains_in_the_same_order_whether_deterministic_or_not() -> None:
    rng = np.random.default_rng(1)
    start = [rng.normal(0, 0.1, (rows, 512)).astype(np.float32) for rows in (USERS, ITEMS)]
    one, other = start.copy(), start.copy()
    trained(0, 3, False, one)
    trained(0, 3, True, other)
    for a, b in zip(one, other, strict=True):
        assert np.array_equal(a, b)
