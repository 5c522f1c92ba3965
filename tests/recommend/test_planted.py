"""BPR and WARP with their defaults: they find a signal that was planted, and make none up.

A small part of the grid of ``benches/recommenders.py --planted``.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wyrmling._core import Csr
from wyrmling.data import Interactions
from wyrmling.datasets import make_interactions
from wyrmling.datasets.generated import planted_preferences
from wyrmling.evaluation import evaluate
from wyrmling.recommend import BPR, WARP, Custom, Popularity, Recommender
from wyrmling.recommend.sparsity import Sparsity

METRIC = "ndcg@10"
PAIRWISE = [BPR, WARP]


def ranked(model: Recommender, train: Interactions, test: Interactions) -> Any:
    return evaluate(model.fit(train), test, METRIC)


@pytest.mark.parametrize("model", PAIRWISE)
@pytest.mark.parametrize("repeats", [0.0, 0.5])
@pytest.mark.parametrize(
    ("n_users", "n_items", "signal", "skew", "per_user"),
    [
        # Few interactions of each user: vectors that start near 0 stay there.
        (600, 240, 0.9, 0.8, 5),
        (600, 240, 0.9, 1.5, 10),
        (300, 120, 0.5, 0.8, 40),
        # Half of a small catalogue: most of what can be learnt is noise.
        (100, 80, 0.5, 0.8, 80),
        (100, 80, 0.5, 1.5, 80),
    ],
)
def test_a_planted_signal_is_found(
    model: type[Recommender],
    n_users: int,
    n_items: int,
    signal: float,
    skew: float,
    per_user: int,
    repeats: float,
) -> None:
    gains = []
    for seed in range(2):
        made = make_interactions(
            n_users, n_items, per_user, skew=skew, noise=1 - signal, repeats=repeats, seed=seed
        )
        train, test = made.split(0.2, seed)
        popularity = ranked(Popularity(), train, test)[METRIC]
        gains.append(ranked(model(num_threads=1), train, test)[METRIC] - popularity)
    assert np.mean(gains) > 0


@pytest.mark.parametrize("model", PAIRWISE)
@pytest.mark.parametrize("repeats", [0.0, 0.5])
@pytest.mark.parametrize(
    ("n_users", "n_items", "skew", "per_user"),
    [(100, 80, 0.8, 80), (100, 80, 1.5, 80), (300, 120, 0.8, 20), (600, 240, 1.5, 5)],
)
def test_where_nothing_is_planted_models_rank_as_popularity_does(
    model: type[Recommender],
    n_users: int,
    n_items: int,
    skew: float,
    per_user: int,
    repeats: float,
) -> None:
    made = make_interactions(
        n_users, n_items, per_user, skew=skew, noise=1.0, repeats=repeats, seed=1
    )
    train, test = made.split(0.2, seed=1)
    popularity = ranked(Popularity(), train, test)
    low, _ = popularity.interval[METRIC]
    assert ranked(model(num_threads=1), train, test)[METRIC] >= low


def test_planted_preferences_are_what_interactions_are_drawn_by() -> None:
    # Of one item a user, how often each is drawn is how probable it is.
    users, items = planted_preferences(4000, 16, skew=1.0, noise=0.3, seed=3)
    made = make_interactions(4000, 16, 1, skew=1.0, noise=0.3, seed=3)
    first = np.unique(made.users, return_index=True)[1]
    assert users.shape == (4000, 8)
    assert items.shape == (16, 8)
    one = np.bincount(made.users) == 1
    drawn = made.items[first[one]]
    expected = (users @ items.T)[one]
    np.testing.assert_allclose(expected.sum(axis=1), 1.0)
    found = np.bincount(drawn, minlength=16)
    spread = np.sqrt((expected * (1 - expected)).sum(axis=0))
    assert (np.abs(found - expected.sum(axis=0)) < 5 * spread).all()
    # A user's own taste says more than the mean of all.
    own = np.log(expected[np.arange(len(drawn)), drawn]).mean()
    assert own > np.log(expected.mean(axis=0)[drawn]).mean() + 0.1
    # No ranking is better.
    train, test = made.split(0.2, seed=1)
    oracle = evaluate(Custom.from_factors(users, items, train), test, METRIC)
    assert oracle[METRIC] > ranked(Popularity(), train, test)[METRIC]


def test_without_noise_of_their_own_all_users_have_one_taste() -> None:
    users, _ = planted_preferences(5, 16, noise=1.0)
    np.testing.assert_allclose(users, 1 / 8)
    with pytest.raises(ValueError, match=r"noise are 0\.8 and 2, expected at least 0, and 0 to 1"):
        planted_preferences(5, 16, noise=2)
    with pytest.raises(ValueError, match="n_items and per_user are 5, 4 and 1, expected at least"):
        planted_preferences(5, 4)


@pytest.mark.parametrize(
    ("given", "floats"),
    [
        ({"skew": Fraction(1, 2)}, {"skew": 0.5}),
        ({"skew": np.longdouble(0.5)}, {"skew": 0.5}),
        ({"skew": 1, "noise": 1}, {"skew": 1.0, "noise": 1.0}),
        ({"per_user": Fraction(9, 2)}, {"per_user": 4.5}),
        ({"per_user": 10**300}, {"per_user": 1e300}),
        ({"repeats": Fraction(1, 2)}, {"repeats": 0.5}),
    ],
)
def test_any_real_number_makes_what_its_float_makes(given: Any, floats: Any) -> None:
    made, expected = (make_interactions(20, 16, seed=3, **some) for some in (given, floats))
    np.testing.assert_array_equal(made.users, expected.users)
    np.testing.assert_array_equal(made.items, expected.items)


@pytest.mark.parametrize("model", PAIRWISE)
def test_a_pair_that_repeats_counts_once_unless_it_has_weights(model: type[Recommender]) -> None:
    once = make_interactions(60, 40, 8, seed=1)
    again = np.concatenate([np.arange(len(once)), np.arange(0, len(once), 3)])
    twice = once.take(again)
    settings = {"factors": 4, "epochs": 3, "num_threads": 1}
    arrays = [model(**settings).fit(data).fitted.arrays for data in (once, twice)]
    for name, array in arrays[0].items():
        np.testing.assert_array_equal(arrays[1][name], array)
    ones = np.ones(len(twice), np.float32)
    weighted = model(**settings).fit(
        Interactions(twice.users, twice.items, twice.user_ids, twice.item_ids, weights=ones)
    )
    assert (weighted.fitted.arrays["items"] != arrays[0]["items"]).any()
    assert weighted.history is not None
    assert weighted.history.samples == len(twice)


def test_the_penalty_suits_the_data() -> None:
    pairs = Csr(np.array([0, 0, 0, 1, 3], np.uint32), np.array([0, 1, 2, 1, 1], np.uint32), 5, 4)
    # Three users have something, and three items somebody; one of each has none.
    assert Sparsity.of(pairs) == (5 / 3, 5 / 3, 5 / 9)
    data = Interactions(
        np.array([0, 0, 0, 1, 3, 3]), np.array([0, 1, 2, 1, 1, 1]), range(5), range(4)
    )
    root = (3 / 5) ** 0.5
    for model, expected in (
        (BPR(epochs=1), (0.08 + 0.6 * 5 / 9) * 2 * root),
        (WARP(epochs=1), 0.63 + 0.4 * 5 / 9),
    ):
        model.fit(data)
        assert model.l2 is None
        assert model.fitted.params["l2"] == pytest.approx(expected)
        assert model.get_params()["l2"] is None
    assert BPR(l2=0.5, epochs=1).fit(data).fitted.params["l2"] == 0.5
    with pytest.raises(ValueError, match="l2 is -1, expected a finite number at least 0"):
        BPR(l2=-1).fit(data)


@pytest.mark.parametrize("model", PAIRWISE)
def test_a_model_without_histories_goes_on_with_the_penalty_it_had(
    model: type[Any], tmp_path: Path
) -> None:
    data = make_interactions(n_users=40, n_items=30, per_user=12, seed=1)
    fitted = model(epochs=2, num_threads=1).fit(data)
    before = fitted.fitted.params["l2"]
    fitted.save(tmp_path / "model.safetensors", histories=False)
    loaded = model.load(tmp_path / "model.safetensors")
    loaded.partial_fit(data.take(np.arange(1)), epochs=1)
    assert loaded.fitted.params["l2"] == before
