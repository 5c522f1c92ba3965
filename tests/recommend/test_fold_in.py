"""New users by ratings: least squares beside their sum, and losses that are read once."""

from __future__ import annotations

import resource
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from every_model import DATA, ITEMS, NAMES, fitted, fold, interactions, make

import wyrmling
from wyrmling import SourceError
from wyrmling.data import Interactions
from wyrmling.datasets import make_interactions
from wyrmling.recommend import (
    BPR,
    Custom,
    ExplicitMF,
    FactorizationMachine,
    ImplicitALS,
    Recommender,
    SampledSoftmax,
    SASRec,
)
from wyrmling.source import training

RATED = ["i3", "i5", "i5", "i7", "i11"], [5.0, 1.0, 2.0, 4.0, -3.0]


def test_a_new_user_of_a_model_of_many_epochs_is_learnt_in_a_thousand() -> None:
    model = make("BPR").fit(DATA)
    several = []
    for epochs in (1000, 10**9):
        model._set_fitted(replace(model.fitted, params={**model.fitted.params, "epochs": epochs}))
        several.append(model.fold_in(["i3", "i5"]).query)
    assert np.array_equal(*several)


def test_the_items_of_a_state_are_copied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = make("WARP").fit(DATA)
    made, parameter = [], wyrmling.Parameter

    def counted(*args: Any, name: str) -> Any:
        made.append(name)
        return parameter(*args, name=name)

    monkeypatch.setattr(wyrmling, "Parameter", counted)
    histories = [["i3", "i5"], ["i7"], ["i1", "i2", "i4"]]
    first = [model.fold_in(history).query for history in histories]
    assert (made.count("users"), made.count("items")) == (3, 1)
    with ThreadPoolExecutor(4) as several:
        found = list(several.map(lambda history: model.fold_in(history).query, histories * 20))
    assert all(np.array_equal(*pair) for pair in zip(found, first * 20, strict=True))
    model.partial_fit(DATA)
    assert not np.array_equal(model.fold_in(histories[0]).query, first[0])


def test_a_batch_of_a_new_user_fits_memory() -> None:
    items = [f"i{number}" for number in range(400)]
    data = Interactions.from_ids([0, 1] * 200, items)
    model = SampledSoftmax(factors=64, epochs=1, num_threads=1).fit(data)
    huge = {"n_negatives": 2**14, "batch_size": 2**31 - 1}
    model._set_fitted(replace(model.fitted, params={**model.fitted.params, **huge}))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert len(model.recommend(model.fold_in(items[:300]))) == 10
    # In kilobytes: a batch of all would have 2.5 GB of vectors and gradients.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_500_000


def total(model: Any, query: Any, penalties: tuple[float, float]) -> float:
    """The sum that training makes least, of a user's vector and bias, in the ratings' own units."""
    arrays = {name: array.astype(np.float64) for name, array in model.fitted.arrays.items()}
    vector, bias, found = query[:-1], query[-1], 0.0
    for item, value in zip(*RATED, strict=True):
        at = ITEMS.index(item)
        predicted = vector @ arrays["items"][at] + arrays["item_bias"][at]
        found += 0.5 * (predicted + bias + arrays["bias"][0] - value) ** 2
    of_vector = penalties[0] * arrays["unit"][0] * (vector @ vector)
    return found + 0.5 * (of_vector + penalties[1] * bias**2)  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("settings", "penalties"),
    [
        ({}, (5 * 0.05, 0.0)),
        ({"l2_users": 0.5, "l2_bias": 0.2}, (5 * 0.5, 5 * 0.2)),
        ({"l2_per": "step", "batch_size": 2, "l2": 0.3, "l2_bias": 0.1}, (3 * 0.3, 3 * 0.1)),
    ],
)
def test_ratings_of_a_new_user(settings: dict[str, Any], penalties: tuple[float, float]) -> None:
    model = make("ExplicitMF", epochs=8, **settings).fit(DATA)
    new = model.fold_in(RATED[0], values=RATED[1])
    assert new.items.tolist() == [3, 5, 7, 11]
    least = new.query.astype(np.float64)
    for axis in range(5):
        for step in (-0.01, 0.01):
            moved = least.copy()
            moved[axis] += step
            assert total(model, moved, penalties) > total(model, least, penalties) - 1e-6
            # A minimum of a square: both sides are as high.
        up, down = least.copy(), least.copy()
        up[axis] += 0.1
        down[axis] -= 0.1
        assert total(model, up, penalties) == pytest.approx(total(model, down, penalties), abs=1e-4)
    # Scores are ratings.
    arrays = model.fitted.arrays
    for item, score in model.recommend(new, 3):
        at = ITEMS.index(item)
        rating = least[:-1] @ arrays["items"][at] + arrays["item_bias"][at] + arrays["bias"][0]
        assert score == pytest.approx(rating + least[-1], abs=1e-5)


def test_without_a_penalty_the_shortest_solution_is_taken() -> None:
    model = make("ExplicitMF", l2=0.0).fit(DATA)
    query = model.fold_in(["i3"], values=[5.0]).query
    assert np.isfinite(query).all()
    best = model.recommend(model.fold_in(["i3"], values=[5.0]), 30, exclude_seen=False)
    assert dict(best)["i3"] == pytest.approx(5.0, abs=1e-5)


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        (None, ValueError, "^values is None, expected a number for each item of the history"),
        ([1.0], ValueError, "^values has 1 numbers, expected one for each of 2 items"),
        ([1.0, float("nan")], ValueError, "^values: row 1, counted from 0, is nan"),
        ([1.0, None], ValueError, "^values: row 1"),
        ([1.0, 1e39], ValueError, "^values: row 1"),
        (["a", "b"], TypeError, "^values: expected numbers"),
        ("ab", TypeError, "^values: expected numbers, found a str"),
    ],
)
def test_other_values_are_refused(values: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fitted("ExplicitMF").fold_in(["i3", "i5"], values=values)


def test_ratings_without_a_finite_solution_are_refused() -> None:
    model = make("ExplicitMF", l2=0.0, l2_bias=0.0).fit(DATA)
    with pytest.raises(FloatingPointError, match="the solution of values, in single precision, "):
        model.fold_in(["i3", "i5"], values=[3e38, -3e38])
    # A mapped file may hold anything, and LAPACK does not end with infinity.
    for number in (np.nan, np.inf):
        for name in ("items", "item_bias"):
            arrays = {**model.fitted.arrays, name: model.fitted.arrays[name].copy()}
            arrays[name][3] = number
            other = model._with(replace(model.fitted, arrays=arrays))
            with pytest.raises(FloatingPointError, match=f"{name}.* an element -?{number}"):
                other.fold_in(["i3", "i5"], values=[4.0, 3.0])
            assert np.isfinite(other.fold_in(["i5"], values=[4.0]).query).all()


def squared(users, items, user, item, value):  # type: ignore[no-untyped-def]
    return 0.5 * (users[user] @ items[item] - value) ** 2


def test_values_for_a_loss_of_ones_own() -> None:
    model = Custom(squared, factors=4, num_threads=1, l2=0.0, epochs=40).fit(DATA)
    high, low = (
        dict(model.recommend(model.fold_in(["i3"], values=[value]), 30, exclude_seen=False))["i3"]
        for value in (4.0, -4.0)
    )
    assert high == pytest.approx(4.0, abs=1.0)
    assert low == pytest.approx(-4.0, abs=1.0)
    # Nothing is drawn, so that who had everything teaches, too.
    assert model.fold_in(ITEMS, values=[3.0] * len(ITEMS)).query.any()
    assert model.fold_in([]).query.tolist() == model.fold_in([], values=[]).query.tolist()
    with pytest.raises(ValueError, match="values is None"):
        model.fold_in(["i3"])
    with pytest.raises(ValueError, match="the loss asks for no value, expected None"):
        fitted("Custom").fold_in(["i3"], values=[4.0])


def test_a_loss_has_values_of_its_own_for_a_new_user() -> None:
    def likes(users: Any, items: Any, user: int, item: int, value: float = 4.0) -> Any:
        return (users[user] @ items[item] - value) ** 2

    model = Custom(likes, factors=4, num_threads=1, l2=0.0, epochs=40).fit(DATA)
    for _ in range(2):
        without, same, other = (
            model.fold_in(["i3", "i5"], values=values).query
            for values in (None, [4.0, 4.0], [-4.0, -4.0])
        )
        np.testing.assert_allclose(without, same, rtol=1e-5)
        assert not np.allclose(without, other)


@pytest.mark.parametrize("name", ["BPR", "WARP", "LogisticMF", "Custom", "FactorizationMachine"])
def test_a_loss_is_read_once_for_a_fitted_state(name: str, monkeypatch: Any) -> None:
    reads = []
    read = training._read
    monkeypatch.setattr(training, "_read", lambda *args: (reads.append(args), read(*args))[1])
    model = make(name).fit(DATA)
    del reads[:]
    first = model.fold_in(["i3", "i5"]).query
    assert len(reads) == 1
    np.testing.assert_array_equal(model.fold_in(["i3", "i5"]).query, first)
    assert not np.array_equal(model.fold_in(["i4", "i8", "i9"]).query, first)
    assert len(reads) == 1
    # Another state has another loss.
    model.fit(DATA.take(np.arange(60)))
    assert not np.array_equal(model.fold_in(["i3", "i5"]).query, first)
    assert len(reads) > 1
    again = make(name).fit(DATA.take(np.arange(60)))
    np.testing.assert_array_equal(
        model.fold_in(["i3", "i5"]).query, again.fold_in(["i3", "i5"]).query
    )


@pytest.mark.parametrize("name", NAMES)
def test_threads_learn_new_users_at_once(name: str) -> None:
    """As those of a server: also what one thread has read that has ended."""
    model = fitted(name)
    with ThreadPoolExecutor(1) as ended:
        ended.submit(fold, model, ["i3"]).result()
    histories = [[ITEMS[(3 * k + j) % 20] for j in range(1 + k % 5)] for k in range(40)]
    with ThreadPoolExecutor(8) as several:
        found = list(several.map(lambda one: model.recommend(fold(model, one), 4), histories))
    assert found == [model.recommend(fold(model, one), 4) for one in histories]


def test_a_loss_needs_no_hash() -> None:
    @dataclass
    class Scaled:
        margin: float

        def __call__(self, users, items, user, item, negative):  # type: ignore[no-untyped-def]
            score = users[user] @ items[item] - users[user] @ items[negative]
            return max(0.0, self.margin - score)

    model = Custom(Scaled(1.0), factors=4, epochs=2, num_threads=1)
    try:
        model.fit(DATA)
    except SourceError:
        pytest.skip("objects that are called are not read")
    assert len(model.recommend(model.fold_in(["i3"]), 3)) == 3


def test_ratings_take_no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted("ExplicitMF")
    monkeypatch.setattr(ExplicitMF, "_minimise", None)
    assert model.fold_in(["i3"], values=[5.0]).query.shape == (5,)


def test_what_changes_after_a_fit_counts_from_the_next_fit_on(tmp_path: Path) -> None:
    data = make_interactions(60, 40, 8, seed=1)
    history = list(data.item_ids)[:4]
    changes: dict[type[Recommender], dict[str, Any]] = {
        BPR: {"l2": 0.9, "lr": 0.5, "epochs": 1},
        ImplicitALS: {"l2": 99.0, "alpha": 7.0, "l2_power": 0.0},
        SASRec: {"max_length": 1},
    }
    for kind, changed in changes.items():
        model = kind(num_threads=1).fit(data, epochs=2)
        before = model.fold_in(history)
        reasons = model.explain(before, history[0])
        model.set_params(**changed)
        model.save(tmp_path / "model")
        for other in (model, Recommender.load(tmp_path / "model")):
            assert {name: getattr(other, name) for name in changed} == changed
            np.testing.assert_array_equal(other.fold_in(history).query, before.query)
            assert other.explain(before, history[0]) == reasons
        # Who loads it may say otherwise.
        given = kind.load(tmp_path / "model", **changed)
        assert (np.asarray(given.fold_in(history).query) != before.query).any()
        assert (np.asarray(model.fit(data, epochs=2).fold_in(history).query) != before.query).any()


def test_an_item_of_a_new_user_counts_once() -> None:
    """A loss that multiplies by a weight learns what the one without it does."""

    def plain(users, items, user, item):  # type: ignore[no-untyped-def]
        return 0.5 * (users[user] @ items[item] - 1.0) ** 2

    def weighted(users, items, user, item, weight):  # type: ignore[no-untyped-def]
        return weight * 0.5 * (users[user] @ items[item] - 1.0) ** 2

    def timed(users, items, user, item, time):  # type: ignore[no-untyped-def]
        return 0.5 * (users[user] @ items[item] - 1.0 + 0.0 * time) ** 2

    data = interactions(weights=np.ones(len(DATA)))
    settings: dict[str, Any] = {"factors": 4, "num_threads": 1, "epochs": 3}
    model = Custom(plain, **settings).fit(data)
    expected = model.fold_in(["i3", "i5"]).query
    found = Custom(weighted, **settings).fit(data).fold_in(["i3", "i5"]).query
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    with pytest.raises(ValueError, match="history has no times, which the loss asks for without"):
        Custom(timed, **settings).fit(data).fold_in(["i3"])


@pytest.mark.parametrize(
    "model",
    [
        FactorizationMachine(),
        FactorizationMachine(loss="logistic"),
        FactorizationMachine(optimizer="adam", lr=0.005),
        BPR(optimizer="adagrad", lr=0.05),
        BPR(),
        BPR(sampling="popularity"),
        BPR(sampling="in_batch"),
        BPR(l2_per="step", l2=0.1),
    ],
    ids=str,
)
def test_a_new_user_is_as_one_who_was_trained_on(model: Any) -> None:
    """Steps of Adagrad and Adam are about as long for one sample as for all of a user's, a penalty
    by the step is one for all, and a user's own items say nothing of what others had.
    """
    data = make_interactions(300, 120, seed=1)
    model.set_params(factors=8, num_threads=1).fit(data)
    alike = []
    for user in range(20):
        history = model.item_ids.take(model.seen.row(user)).tolist()
        new = dict(model.recommend(model.fold_in(history), 120, exclude_seen=False))
        trained = dict(model.recommend(model.user_ids[user], 120, exclude_seen=False))
        scores = [(new[item], trained[item]) for item in model.item_ids]
        alike.append(np.corrcoef(scores, rowvar=False)[0, 1])
    assert np.median(alike) > 0.97


def test_a_new_user_of_a_model_that_draws_from_batches() -> None:
    settings: dict[str, Any] = {"sampling": "in_batch", "optimizer": "adagrad", "factors": 4}
    model = BPR(epochs=2, num_threads=1, **settings).fit(DATA)
    assert model.fold_in(["i3", "i5", "i8"]).query.any()


@pytest.mark.filterwarnings("error")
def test_ratings_without_a_penalty_give_the_shortest_solution() -> None:
    ratings = replace(DATA, values=np.arange(len(DATA)) % 5 + 1.0)
    model = ExplicitMF(factors=6, l2=0.0, l2_bias=0.0, epochs=3, num_threads=1).fit(ratings)
    arrays = model.fitted.arrays
    unit = float(arrays["unit"][0])
    # In the unit of training: a vector takes the root of it, a bias all.
    scales = np.append(np.full(6, unit**0.5), unit)
    for items in ([3], [3, 5], [1, 2, 4]):
        query = model.fold_in(DATA.item_ids.take(items), values=[5.0, 1.0, 2.0][: len(items)]).query
        rows = np.column_stack([arrays["items"][items], np.ones(len(items))]).astype(np.float64)
        rest = np.array([5.0, 1.0, 2.0][: len(items)]) - arrays["item_bias"][items]
        expected = scales * (np.linalg.pinv(rows * scales) @ (rest - arrays["bias"][0]))
        np.testing.assert_allclose(query, expected, rtol=1e-5)
