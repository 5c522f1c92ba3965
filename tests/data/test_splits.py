"""Splits, and one interaction a pair: which rows they keep, by plain Python."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from interaction_rows import pairs, rows_of

from wyrmling.data import Interactions

IDS = st.lists(st.tuples(st.integers(0, 5), st.text(max_size=2)), max_size=30)


@given(IDS.filter(lambda lines: len(lines) > 4), st.floats(0.2, 0.8), st.integers(0, 99))
def test_a_split_loses_nothing(lines: list[tuple[int, str]], share: float, seed: int) -> None:
    data = Interactions.from_ids([u for u, _ in lines], [i for _, i in lines])
    train, test = data.split(share, seed)
    assert len(test) == round(share * len(data))
    assert Counter(pairs(train)) + Counter(pairs(test)) == Counter(pairs(data))
    assert train.user_ids == test.user_ids == data.user_ids
    again, _ = data.split(share, seed)
    assert pairs(again) == pairs(train)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 1.5, 0.01, 0.99, float("nan")])
def test_a_split_leaves_something_on_both_sides(share: float) -> None:
    data = Interactions.from_ids(list("abc"), list("xyz"))
    with pytest.raises(ValueError, match=r"holds out . of 3"):
        data.split(share)


def test_ratings_go_along() -> None:
    data = Interactions(
        np.array([0, 1, 1]),
        np.array([1, 0, 1]),
        ["a", "b"],
        ["x", "y"],
        np.array([5.0, 1.0, 4.0]),
    )
    assert data.ratings is not None
    assert data.ratings.dtype == np.float32
    assert pairs(data.take(data.ratings >= 4)) == [("a", "y"), ("b", "y")]
    train, test = data.split(0.3, seed=1)
    assert train.ratings is not None
    assert test.ratings is not None
    assert sorted([*train.ratings, *test.ratings]) == [1, 4, 5]


def many(seed: int = 0, times: bool = True) -> Interactions:
    rng = np.random.default_rng(seed)
    users, items = rng.integers(0, 20, 200), rng.integers(0, 15, 200)
    when = rng.integers(0, 50, 200) if times else None
    return Interactions(
        users, items, range(20), range(15), rng.normal(size=200), rng.random(200), when
    )  # type: ignore[arg-type]


def test_splits_by_user_hold_out_whole_users() -> None:
    data = many()
    for seed in range(5):
        train, test = data.split(0.3, seed, by="user")
        assert not set(train.users.tolist()) & set(test.users.tolist())
        assert len(set(test.users.tolist())) == round(0.3 * len(set(data.users.tolist())))
        assert sorted(rows_of(train) + rows_of(test)) == sorted(rows_of(data))
    same = [rows_of(data.split(0.3, 4, by="user")[1]) for _ in range(2)]
    assert same[0] == same[1]
    with pytest.raises(ValueError, match="of 1 users"):
        data.take(data.users == 3).split(0.5, by="user")


def test_splits_by_time_hold_out_the_latest() -> None:
    data = many()
    train, test = data.split(0.25, by="time")
    assert len(test) == 50
    assert train.times is not None
    assert test.times is not None
    assert train.times.max() <= test.times.min()
    ordered = sorted(range(200), key=lambda row: (int(data.times[row]), row))  # type: ignore[index]
    assert rows_of(test) == [rows_of(data)[row] for row in sorted(ordered[150:])]
    with pytest.raises(ValueError, match="have no times"):
        many(times=False).split(by="time")
    with pytest.raises(ValueError, match="by is 'item'"):
        data.split(by="item")  # type: ignore[arg-type]


@pytest.mark.parametrize("times", [True, False])
@pytest.mark.parametrize("count", [1, 3, 9, 100])
def test_the_last_of_each_user(times: bool, count: int) -> None:
    data = many(1, times)
    train, test = data.leave_last_out(count)
    rows = rows_of(data)
    expected = []
    for user in range(20):
        own = [row for row in range(200) if data.users[row] == user]
        if data.times is not None:
            own.sort(key=lambda row: int(data.times[row]))  # type: ignore[index]
        expected += own[-count:] if len(own) > count else []
    assert rows_of(test) == [rows[row] for row in sorted(expected)]
    assert len(train) + len(test) == 200


def test_special_splits() -> None:
    one = Interactions.from_ids(["a"], ["b"])
    train, test = one.leave_last_out()
    assert (len(train), len(test)) == (1, 0)
    with pytest.raises(ValueError, match="count is 0"):
        one.leave_last_out(0)
    empty = one.take(np.zeros(1, bool))
    assert [len(part) for part in empty.leave_last_out()] == [0, 0]
    assert len(empty.unique_pairs("sum")) == 0


@pytest.mark.parametrize("count", [1.5, True, "a", None])
def test_how_many_are_held_out_is_an_integer(count: Any) -> None:
    data = Interactions.from_ids(["a", "a", "b"], ["x", "y", "x"])
    with pytest.raises(TypeError, match=r"^count is .*, expected an integer at least 1"):
        data.leave_last_out(count)


@pytest.mark.parametrize("how", ["last", "first", "sum", "mean", "max"])
@pytest.mark.parametrize("times", [True, False])
def test_one_interaction_a_pair(how: Any, times: bool) -> None:
    data = many(2, times)
    groups: dict[tuple[int, int], list[int]] = {}
    for row in range(200):
        groups.setdefault((int(data.users[row]), int(data.items[row])), []).append(row)
    of = {
        "last": lambda column: column[-1],
        "first": lambda column: column[0],
        "sum": lambda column: column.astype(float).sum(),
        "mean": lambda column: column.astype(float).mean(),
        "max": lambda column: column.max(),
    }[how]
    found = data.unique_pairs(how)
    assert data.values is not None
    assert data.weights is not None
    assert found.values is not None
    assert found.weights is not None
    assert len(found) == len(groups) < 200
    for place, (pair, rows) in enumerate(sorted(groups.items())):
        if data.times is not None:
            rows.sort(key=lambda row: int(data.times[row]))  # type: ignore[index]
            assert found.times is not None
            assert found.times[place] == data.times[rows[-1]]
        assert (found.users[place], found.items[place]) == pair
        assert found.values[place] == pytest.approx(of(data.values[rows]), rel=1e-6)
        assert found.weights[place] == pytest.approx(of(data.weights[rows]), rel=1e-6)
    bare = Interactions(data.users, data.items, data.user_ids, data.item_ids)
    counts = bare.unique_pairs(how).values
    assert (counts is None) == (how != "sum")
    if counts is not None:
        assert counts.tolist() == [len(rows) for _, rows in sorted(groups.items())]
