"""``make_interactions``: the structure that it plants, and that it follows its seed."""

from collections import Counter

import numpy as np
import pytest
from interaction_rows import pairs

from wyrmling.datasets import make_interactions
from wyrmling.datasets.generated import GENRES


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
        {"repeats": -0.1},
        {"repeats": 1.0},
        {"repeats": float("nan")},
    ):
        with pytest.raises(ValueError, match="expected at least"):
            make_interactions(**bad)
    with pytest.raises(ValueError, match="seed is -1, expected an integer at least 0"):
        make_interactions(seed=-1)


def test_made_up_data_is_that_of_before() -> None:
    """Examples and measurements elsewhere rest on what equal seeds make."""
    data = make_interactions(4, 16, 3, seed=5)
    assert [" ".join(map(str, pair)) for pair in pairs(data)] == [
        "user-1 soul-1",
        "user-1 jazz-1",
        "user-1 opera-1",
        "user-2 blues-1",
        "user-3 punk-2",
        "user-4 opera-2",
        "user-4 opera-1",
        "user-4 jazz-1",
        "user-4 blues-1",
    ]


@pytest.mark.parametrize("repeats", [0.1, 0.5, 0.8])
def test_made_up_purchases_repeat(repeats: float) -> None:
    once = make_interactions(400, 80, 10, seed=2)
    again = make_interactions(400, 80, 10, repeats=repeats, seed=2)
    assert set(pairs(again)) == set(pairs(once))
    times = np.array([*Counter(pairs(again)).values()])
    share = 1 - len(times) / len(again)
    assert abs(share - repeats) < 0.03
    # A geometric distribution: of those that were bought again, as many are bought once more.
    more = (times > 2).sum() / (times > 1).sum()
    assert abs(more - repeats) < 0.06
    # Users stay in order, and what repeats does not stand together.
    assert (np.diff(again.users.astype(int)) >= 0).all()
    adjacent = (np.diff(again.items.astype(int)) == 0).mean()
    assert adjacent < repeats / 2
    equal = make_interactions(400, 80, 10, repeats=repeats, seed=2)
    assert pairs(equal) == pairs(again)
