"""Ids: how they are numbered, and what is none."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from interaction_rows import pairs

from wyrmling.data import Interactions

IDS = st.lists(st.tuples(st.integers(0, 5), st.text(max_size=2)), max_size=30)


@given(IDS)
def test_ids_are_numbered_by_first_appearance(lines: list[tuple[int, str]]) -> None:
    data = Interactions.from_ids([u for u, _ in lines], [i for _, i in lines])
    assert pairs(data) == lines
    assert data.users.dtype == data.items.dtype == np.uint32
    for column in (data.users, data.items):
        seen = [int(n) for n in dict.fromkeys(column.tolist())]
        assert seen == list(range(len(seen)))


@pytest.mark.parametrize(
    ("missing", "text"),
    [
        (None, "None"),
        (float("nan"), "nan"),
        (np.float32("nan"), "nan"),
        (np.datetime64("NaT", "s"), "NaT"),
        ("nan", "'nan'"),
    ],
)
def test_missing_values_are_no_ids(missing: object, text: str) -> None:
    with pytest.raises(ValueError, match=f"users: row 2, counted from 0, is {text}"):
        Interactions.from_ids(["a", "b", missing, missing], [1, 2, 3, 4])
    with pytest.raises(ValueError, match=f"items: row 0, counted from 0, is {text}"):
        Interactions.from_ids(["a"], iter([missing]))
    with pytest.raises(ValueError, match=r"user_ids: row 1, counted from 0, is None"):
        Interactions(np.array([0]), np.array([0]), ["a", None], ["b"])  # type: ignore[arg-type]


def test_masked_elements_are_no_ids() -> None:
    masked = np.ma.array([7, 8, 7], mask=[False, False, True])
    with pytest.raises(ValueError, match="items: row 2, counted from 0, is masked"):
        Interactions.from_ids([1, 2, 3], masked)
    data = Interactions.from_ids(np.ma.array([7, 8]), ["a", "b"])
    assert list(data.user_ids) == [7, 8]


@pytest.mark.parametrize(
    ("column", "error", "says"),
    [
        ({"ann", "bob"}, TypeError, "users: expected a sequence of ids, found a set"),
        ({"ann": 1, "bob": 2}, TypeError, "found a dict"),
        (b"ab", TypeError, "found a bytes"),
        (
            ["ann", b"bob"],
            TypeError,
            "users: row 1, counted from 0, is b'bob' of type bytes",
        ),
        (np.array([b"ann", b"bob"]), TypeError, "row 0, counted from 0, is .*b'ann'"),
        ([[1], [2]], TypeError, r"row 0, counted from 0, is \[1\]"),
        (iter([1, [2]]), TypeError, r"row 1, counted from 0, is \[2\]"),
        (np.zeros((2, 2)), ValueError, r"users must have one axis, found shape \(2, 2\)"),
    ],
)
def test_what_names_nobody_is_no_id(column: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        Interactions.from_ids(column, ["x", "y"])


def test_what_contradicts_itself_is_refused() -> None:
    one, ids = np.array([0]), ["a"]
    with pytest.raises(IndexError, match=r"users\[1\] is 1, expected 0 to 0"):
        Interactions(np.array([0, 1]), np.array([0, 0]), ids, ids)
    with pytest.raises(IndexError, match=r"items\[0\] is -1"):
        Interactions(one, np.array([-1]), ids, ids)
    with pytest.raises(TypeError, match="users must be integers, found float64"):
        Interactions(np.array([0.0]), one, ids, ids)
    with pytest.raises(ValueError, match="one axis"):
        Interactions(np.array([[0]]), one, ids, ids)
    with pytest.raises(ValueError, match="same length"):
        Interactions(one, np.array([0, 0]), ids, ids)
    with pytest.raises(ValueError, match="same length"):
        Interactions(one, one, ids, ids, np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="distinct"):
        Interactions(one, one, ["a", "a"], ids)
