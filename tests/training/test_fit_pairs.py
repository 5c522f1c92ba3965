"""Losses of pairs of rows, trained by plain SGD: gradients read rows from the tables themselves."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wyrmling as wy

N = 16
LR = 0.3


def pairwise(users: Any, items: Any, user: int, item: int, other: int) -> Any:
    """The squared difference of two scores."""
    return (users[user] @ items[item] - users[user] @ items[other] - 1.0) ** 2


def items_first(items: Any, users: Any, user: int, item: int, other: int) -> Any:
    """The tables in the other order."""
    return pairwise(users, items, user, item, other)


def one_score(users: Any, items: Any, user: int, item: int) -> Any:
    """A single product."""
    return (users[user] @ items[item] - 1.0) ** 2


def read_twice(users: Any, items: Any, user: int, item: int, other: int) -> Any:
    """A row of items is read by something else, too."""
    return pairwise(users, items, user, item, other) + 0.1 * items[item] @ items[item]


def of_items(users: Any, items: Any, user: int, item: int, other: int) -> Any:
    """Rows of one table, and of another."""
    return (items[item] @ items[other]) ** 2 + users[user] @ users[user]


LOSSES = {loss.__name__: loss for loss in (pairwise, items_first, one_score, read_twice, of_items)}


def start(dtype: Any, width: int) -> dict[str, Any]:
    """Tables of few rows, so that a batch looks most of them up more than once."""
    drawn = np.random.default_rng(3)
    shapes = {"users": (4, width), "items": (5, width)}
    return {name: drawn.normal(0, width**-0.5, of).astype(dtype) for name, of in shapes.items()}


def columns_of(loss: Callable[..., Any], count: int) -> dict[str, Any]:
    """Samples for the arguments of a loss."""
    drawn = np.random.default_rng(4)
    rows = {"user": 4, "item": 5, "other": 5}
    named = loss.__code__.co_varnames[2 : loss.__code__.co_argcount]
    return {name: drawn.integers(0, rows[name], count) for name in named}


def fitted(loss: Callable[..., Any], dtype: Any, width: int, **settings: Any) -> dict[str, Any]:
    """The tables after an epoch."""
    settings = {"optimizer": wy.SGD(lr=LR / N), **settings}
    tables = {name: wy.Parameter(value) for name, value in start(dtype, width).items()}
    wy.fit(loss, columns_of(loss, N), parameters=tables, **settings)
    return {name: table.value for name, table in tables.items()}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [2, 3, 32, 40])
@pytest.mark.parametrize("name", LOSSES)
def test_a_batch_is_a_step_by_the_sum_of_its_gradients(name: str, width: int, dtype: Any) -> None:
    """All gradients are those at the parameters as they were when the batch began."""
    loss = LOSSES[name]
    found = fitted(loss, dtype, width, batch_size=N)
    tables = start(np.float64, width)
    gradient = wy.grad(
        lambda given, sample: loss(**given, **sample),
        mode="trace",
    )
    expected = {key: value.copy() for key, value in tables.items()}
    columns = columns_of(loss, N)
    for k in range(N):
        sample = {key: int(column[k]) for key, column in columns.items()}
        for key, change in gradient(tables, sample).items():
            expected[key] -= LR / N * change
    for key, value in expected.items():
        digits = 1e-5 if dtype is np.float32 else 1e-12
        np.testing.assert_allclose(found[key], value, rtol=digits, atol=digits)


@pytest.mark.parametrize("threads", [2, 4])
@pytest.mark.parametrize("name", LOSSES)
def test_workers_in_turn_compute_on_what_the_round_before_left(name: str, threads: int) -> None:
    """A round of workers, each with a part of the samples, is one batch of all of them."""
    loss = LOSSES[name]
    together = fitted(loss, np.float64, 8, batch_size=N)
    in_turn = fitted(
        loss, np.float64, 8, batch_size=N // threads, threads=threads, deterministic=True
    )
    for key, value in together.items():
        np.testing.assert_allclose(in_turn[key], value, rtol=1e-12, atol=1e-14)
