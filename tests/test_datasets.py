"""Interactions: reading, making up, numbering and splitting."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wyrmling.datasets import GENRES, Interactions, make_interactions, read_interactions

IDS = st.lists(st.tuples(st.integers(0, 5), st.text(max_size=2)), max_size=30)


def pairs(data: Interactions) -> list[tuple[str, str]]:
    """The ids of every interaction, in order."""
    columns = zip(data.users, data.items, strict=True)
    return [(data.user_ids[u], data.item_ids[i]) for u, i in columns]


@given(IDS)
def test_ids_are_numbered_by_first_appearance(lines: list[tuple[int, str]]) -> None:
    data = Interactions.from_ids([u for u, _ in lines], [i for _, i in lines])
    assert pairs(data) == [(str(u), i) for u, i in lines]
    assert data.users.dtype == data.items.dtype == np.uint32
    for column in (data.users, data.items):
        seen = [int(n) for n in dict.fromkeys(column.tolist())]
        assert seen == list(range(len(seen)))


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
    data = Interactions.from_ids("abc", "xyz")
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


@pytest.mark.parametrize("delimiter", [",", "\t", "::"])
@pytest.mark.parametrize("header", [True, False])
def test_files_are_read(tmp_path: Path, delimiter: str, header: bool) -> None:
    lines = [["7", "tea", "5"], ["9", "rye", "3.5"], ["7", "rye", "4"]]
    named = [["user_id", "item_id", "rating"]] if header else []
    path = tmp_path / "some.csv"
    path.write_text("".join(delimiter.join(line) + "\n" for line in named + lines))
    data = read_interactions(path)
    assert pairs(data) == [("7", "tea"), ("9", "rye"), ("7", "rye")]
    assert data.ratings is not None
    assert data.ratings.tolist() == [5, 3.5, 4]
    assert data.users.dtype == data.items.dtype == np.uint32


def test_what_is_no_rating_may_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    path.write_text("1,2,2020-01-01\n1,3,\n")
    assert pairs(read_interactions(path, ratings=False)) == [("1", "2"), ("1", "3")]
    assert read_interactions(path, ratings=False).ratings is None
    with pytest.raises(ValueError, match="a finite number as the rating"):
        read_interactions(path)


def test_the_caller_may_say_how_a_file_is_laid_out(tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    path.write_text("user,item\na::b,c\n")
    assert len(read_interactions(path, header=False)) == 2
    assert pairs(read_interactions(str(path), delimiter=","))[0] == ("a::b", "c")
    with pytest.raises(ValueError, match="delimiter"):
        read_interactions(path, delimiter=";")  # type: ignore[arg-type]


def test_bad_files_are_named_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("a,b\n\nc\n")
    with pytest.raises(ValueError, match=r"bad\.csv, line 3: found .*\"c\", expected 2"):
        read_interactions(path)
    path.write_bytes(b"a,b\nc,\xff\n")
    with pytest.raises(ValueError, match=r"line 2: .* UTF-8"):
        read_interactions(path)
    path.write_text("")
    with pytest.raises(ValueError, match="empty"):
        read_interactions(path)
    with pytest.raises(OSError, match=r"missing\.csv"):
        read_interactions(tmp_path / "missing.csv")
    with pytest.raises(OSError, match=re.escape(str(tmp_path))):
        read_interactions(tmp_path)


def test_made_up_data_has_the_structure_it_claims() -> None:
    data = make_interactions(500, 400, 30, seed=3)
    assert (data.n_users, data.n_items) == (500, 400)
    assert len(set(pairs(data))) == len(data)
    counts = np.bincount(data.users, minlength=500)
    assert counts.min() >= 1
    assert 25 <= np.median(counts) <= 35

    # Two of the eight genres are most of what a user chooses.
    genre = np.array([GENRES.index(id_.split("-")[0]) for id_ in data.item_ids])
    by_genre = np.zeros((500, len(GENRES)))
    np.add.at(by_genre, (data.users, genre[data.items]), 1)
    top_two = np.sort(by_genre, axis=1)[:, -2:].sum()
    assert top_two / len(data) > 0.6

    # The tenth that is most popular by name is chosen several times as often.
    place = np.array([int(id_.split("-")[1]) for id_ in data.item_ids])
    chosen = np.bincount(data.items, minlength=400)
    assert chosen[place <= 5].mean() > 3 * chosen[place > 5].mean()


def test_made_up_data_follows_its_seed_and_settings() -> None:
    first, again, other = (make_interactions(50, 40, 5, seed=seed) for seed in (1, 1, 2))
    assert pairs(first) == pairs(again)
    assert pairs(first) != pairs(other)
    level = make_interactions(400, 16, 4, skew=0.0, noise=1.0)
    chosen = np.bincount(level.items, minlength=16)
    assert chosen.max() < 1.5 * chosen.min()
    smallest = make_interactions(1, 8, 1)
    assert 1 <= len(smallest) <= 4
    for bad in (
        {"n_users": 0},
        {"n_items": 7},
        {"per_user": 0},
        {"skew": -1.0},
        {"noise": 1.1},
        {"seed": -1},
    ):
        with pytest.raises(ValueError, match="expected at least"):
            make_interactions(**bad)
