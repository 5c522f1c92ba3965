"""Search, cross-validation and comparison, with models whose ranking is known beforehand."""

from __future__ import annotations

import math
import sys
from collections import Counter
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pytest
from ranking_oracle import interactions, metric
from scipy import stats

from wyrmling import _core
from wyrmling.data import Interactions
from wyrmling.datasets import make_interactions
from wyrmling.evaluation import (
    compare,
    cross_validate,
    evaluate,
    integers,
    log_uniform,
    popularity,
    search,
    uniform,
    worse_than_popularity,
)
from wyrmling.evaluation.spaces import draw
from wyrmling.evaluation.trained import Trained
from wyrmling.recommend import BPR, ExplicitMF, FactorizationMachine


def pairs_of(data: Interactions) -> set[tuple[int, int]]:
    return set(zip(data.users.tolist(), data.items.tolist(), strict=True))


@dataclass(frozen=True)
class Known:
    """Knows a share of all pairs, ranks those first, and notes what it was trained on."""

    share: float = 0.5
    epochs: int = 27
    seed: int = 0
    diverges: bool = False
    fitted: ClassVar[list[tuple[Known, Interactions]]] = []
    world: ClassVar[set[tuple[int, int]]] = set()

    def fit(self, data: Interactions) -> Trained:
        self.fitted.append((self, data))
        if self.diverges:
            raise FloatingPointError("the loss is not a number")
        known = np.random.default_rng(self.seed).random((data.n_users, data.n_items)) < self.share
        likes = np.zeros(known.shape, np.float32)
        likes[tuple(np.array(sorted(self.world)).T)] = 1
        scores = (known * likes).astype(np.float32)
        items, bias = np.eye(data.n_items, dtype=np.float32), np.zeros(data.n_items, np.float32)
        seen = _core.Csr(data.users, data.items, *known.shape)
        return Trained(
            data.user_ids, data.item_ids, seen, lambda users: (scores[users], items, bias)
        )


@pytest.fixture
def data() -> Interactions:
    made = make_interactions(60, 40, 8, seed=3)
    Known.world.clear()
    Known.world.update(pairs_of(made))
    Known.fitted.clear()
    return made


def test_random_search_finds_the_best_on_a_part_of_the_data(data: Interactions) -> None:
    told: list[Any] = []
    space = {"share": [0.1, 0.9, 0.5], "seed": [1]}
    found = search(Known(), space, data, trials=10, callback=told.append)
    # There are three combinations.
    assert sorted(trial.parameters["share"] for trial in found) == [0.1, 0.5, 0.9]
    assert found.parameters == {"share": 0.9, "seed": 1}
    assert told == found.trials
    assert found.best.value == max(trial.value for trial in found)
    *tried, last = Known.fitted
    train, held_out = data.split(0.2, seed=0)
    for model, used in tried:
        assert pairs_of(used) == pairs_of(train)
        value = next(t.value for t in found if t.parameters["share"] == model.share)
        assert value == evaluate(model.fit(train), held_out, "ndcg@10")["ndcg@10"]
    assert pairs_of(last[1]) == pairs_of(data)
    assert last[0].share == 0.9
    assert found.model is not None


def test_a_combination_may_be_tried_first(data: Interactions) -> None:
    space = {"share": [0.1, 0.9], "seed": [1]}
    own = {"share": 0.5, "seed": 7}
    found = search(Known(), space, data, trials=10, first=own)
    assert found[0].parameters == own
    assert sorted(trial.parameters["share"] for trial in found) == [0.1, 0.5, 0.9]
    assert [t.parameters for t in search(Known(), space, data, trials=1, first=own)] == [own]
    # What is drawn too is tried once.
    again = search(Known(), space, data, trials=10, first={"share": 0.9, "seed": 1})
    assert [trial.parameters["share"] for trial in again] == [0.9, 0.1]
    for wrong in ({"share": 0.5}, own | {"epochs": 2}, [own], 3):
        with pytest.raises(ValueError, match=r"first is .* expected a dict of share, seed"):
            search(Known(), space, data, first=wrong)  # type: ignore[arg-type]


def test_a_search_repeats(data: Interactions) -> None:
    space = {"share": uniform(0, 1), "seed": integers(0, 9), "epochs": [1, 2]}
    one, two, other = (
        [t.parameters for t in search(Known(), space, data, trials=6, random_state=seed)]
        for seed in (5, 5, 6)
    )
    assert one == two != other
    assert len(one) == 6


def test_a_metric_may_be_a_function(data: Interactions) -> None:
    rng = np.random.default_rng(0)
    stars = (data.users % 3 + data.items % 2).astype(np.float32)
    rated = replace(data, values=stars + rng.normal(0, 0.1, len(data)).astype(np.float32))
    train, held_out = rated.split(0.2, seed=5)

    def accuracy(model: Any, test: Interactions) -> Any:
        assert test is held_out
        users, items = test.user_ids.take(test.users), test.item_ids.take(test.items)
        return -np.sqrt(np.mean((model.predict(users, items) - test.values) ** 2))

    model = ExplicitMF(factors=2, epochs=20, num_threads=1)
    space = {"lr": [1e-6, 0.05, 1e9]}
    found = search(model, space, train, trials=3, validation=held_out, metric=accuracy)
    assert (found.metric, found.parameters) == ("accuracy", {"lr": 0.05})
    by_lr = {trial.parameters["lr"]: trial for trial in found}
    for lr in (1e-6, 0.05):
        again = ExplicitMF(factors=2, epochs=20, num_threads=1, lr=lr).fit(train)
        assert by_lr[lr].value == pytest.approx(float(accuracy(again, held_out)))
        assert by_lr[lr].evaluation is None
    assert by_lr[1e9].error is not None
    assert "accuracy" in repr(found)
    for wrong, error in ((np.nan, FloatingPointError), ("high", TypeError), (None, TypeError)):
        with pytest.raises(error, match="what metric <lambda> gives is "):
            search(model, {"lr": [0.05]}, train, trials=1, metric=lambda *_, wrong=wrong: wrong)


def test_a_trial_of_which_a_function_gives_no_number_failed(data: Interactions) -> None:
    def by_share(model: Any, test: Interactions) -> float:
        share = Known.fitted[-1][0].share
        if share == 0.5:
            raise FloatingPointError("divide by zero")
        return {0.2: math.nan, 0.4: -math.inf, 0.6: 0.25, 0.8: -3.0}[share]

    shares = {"share": [0.2, 0.4, 0.5, 0.6, 0.8]}
    found = search(Known(), shares, data, metric=by_share)
    assert found.parameters == {"share": 0.6}
    assert {trial.parameters["share"]: trial.error for trial in found} == {
        0.2: "what metric by_share gives is nan, expected a finite number",
        0.4: "what metric by_share gives is -inf, expected a finite number",
        0.5: "metric by_share: divide by zero",
        0.6: None,
        0.8: None,
    }


def test_validation_may_be_given(data: Interactions) -> None:
    train, held_out = data.split(0.3, seed=8)
    found = search(Known(), {"share": [0.2, 0.8]}, train, validation=held_out, refit=False)
    assert found.model is None
    assert {pairs_of(used) == pairs_of(train) for _, used in Known.fitted} == {True}
    assert found.best.evaluation is not None
    assert found.best.evaluation.n_users == len(np.unique(held_out.users))


def test_halving_gives_the_better_third_more_epochs(data: Interactions) -> None:
    shares = [place / 10 for place in range(9)]
    found = search(Known(epochs=27), {"share": shares}, data, trials=9, method="halving")
    assert Counter(trial.epochs for trial in found) == {3: 9, 9: 3, 27: 1}
    for fewer, more in ((3, 9), (9, 27)):
        tried = {t.parameters["share"]: t.value for t in found if t.epochs == fewer}
        kept = {t.parameters["share"] for t in found if t.epochs == more}
        assert kept == set(sorted(tried, key=tried.__getitem__)[-len(kept) :])
    assert found.best.epochs == 27
    assert [model.epochs for model, _ in Known.fitted[:9]] == [3] * 9
    assert Known.fitted[-1][0].epochs == 27
    assert "epochs" in repr(found).splitlines()[0]
    assert len(search(Known(epochs=1), {"share": shares}, data, trials=1, method="halving")) == 1


def test_trials_that_diverge_are_kept_and_never_best(data: Interactions) -> None:
    found = search(Known(), {"diverges": [True, False]}, data, trials=2)
    assert found.parameters == {"diverges": False}
    (bad,) = (trial for trial in found if trial.parameters["diverges"])
    assert math.isnan(bad.value)
    assert bad.error == "the loss is not a number"
    assert bad.evaluation is None
    assert "failed" in repr(found)
    assert "<td>failed</td>" in found._repr_html_()
    with pytest.raises(FloatingPointError, match="every trial failed; the first: the loss"):
        search(Known(diverges=True), {"share": [0.5]}, data)


def test_progress_is_said_on_the_standard_error(
    data: Interactions, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    search(Known(), {"share": [0.25]}, data, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("trial 1/1: ndcg@10 0.")
    assert "share=0.25" in err


def test_distributions_stay_in_their_bounds() -> None:
    rng = np.random.default_rng(0)
    for distribution, low, high in (
        (uniform(-2, 3), -2, 3),
        (log_uniform(1e-3, 10), 1e-3, 10),
        (integers(3, 5), 3, 5),
        (integers(1, 64, log=True), 1, 64),
        (uniform(2, 2), 2, 2),
    ):
        drawn = [distribution.rvs(random_state=rng) for _ in range(2_000)]
        assert low <= min(drawn) <= low + 0.02 * (high - low) + 1e-9
        assert high - 0.05 * (high - low) <= max(drawn) <= high
    logs = np.log10([log_uniform(1e-3, 10).rvs(random_state=rng) for _ in range(4_000)])
    assert np.histogram(logs, 4, (-3, 1))[0] == pytest.approx([1_000] * 4, rel=0.15)
    whole = Counter(integers(3, 5).rvs(random_state=rng) for _ in range(3_000))
    assert [whole[n] for n in (3, 4, 5)] == pytest.approx([1_000] * 3, rel=0.15)
    for low, high in ((2, 1), (0, math.nan), (-math.inf, 0), (-1e308, 1e308)):
        with pytest.raises(ValueError, match="bounds are"):
            uniform(low, high)
    for low in (0, -1):
        with pytest.raises(ValueError, match="expected more than 0"):
            log_uniform(low, 1)
        with pytest.raises(ValueError, match="expected more than 0"):
            integers(low, 1, log=True)
    with pytest.raises(TypeError, match=r"high is 2\.5, expected an integer"):
        integers(1, 2.5)  # type: ignore[arg-type]


def test_distributions_of_scipy_are_taken(data: Interactions) -> None:
    found = search(Known(), {"share": stats.uniform(0.2, 0.1)}, data, trials=3)
    for trial in found:
        assert type(trial.parameters["share"]) is float
        assert 0.2 <= trial.parameters["share"] <= 0.3


def test_a_space_is_searched_to_its_end(data: Interactions) -> None:
    space: Any = {"share": np.linspace(0.1, 0.9, 12), "seed": integers(1, 12, log=True)}
    found = search(Known(), space, data, trials=144, refit=False)
    tried = {(trial.parameters["share"], trial.parameters["seed"]) for trial in found}
    assert tried == set(product(space["share"].tolist(), range(1, 13)))
    # Choices that occur twice are one, and what is drawn ends where there is no more.
    few = search(Known(), {"seed": [1, 1, 2]}, data, trials=1_000_000, refit=False)
    assert sorted(trial.parameters["seed"] for trial in few) == [1, 2]
    drawn = search(Known(), {"seed": stats.randint(0, 2)}, data, trials=1_000_000, refit=False)
    assert sorted(trial.parameters["seed"] for trial in drawn) == [0, 1]


def test_trials_are_not_compared_with_all_before_them() -> None:
    compared = 0

    class Choice:
        def __init__(self, number: int) -> None:
            self.number = number

        def __hash__(self) -> int:
            return self.number

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return isinstance(other, Choice) and self.number == other.number

    drawn = draw({"one": list(map(Choice, range(2000)))}, 1000, np.random.default_rng(0))
    assert len({choice["one"].number for choice in drawn}) == 1000
    assert compared < 10_000


def test_choices_need_no_hash() -> None:
    space: Any = {"layers": [[8], [8, 8], np.ones(2)], "seed": [1, 1]}
    drawn = draw(space, 9, np.random.default_rng(0))
    assert sorted(repr(one["layers"]) for one in drawn) == ["[8, 8]", "[8]", "array([1., 1.])"]


def test_choices_are_one_if_they_are_equal_not_if_they_look_alike() -> None:
    class Same:
        __hash__ = None  # type: ignore[assignment]

        def __repr__(self) -> str:
            return "Same"

    long = np.arange(5000)
    other = np.where(long == 2500, 0, long)
    for choices, count in (
        ([Same(), Same()], 2),
        ([long, other, long.copy()], 2),
        ([np.array([0.1]), np.array([0.1 + 1e-12])], 2),
        ([[1], [1.0], (1,)], 2),
        ([{"x": 1, "y": [2]}, {"y": [2], "x": 1}], 1),
        ([{1, 2}, {2, 1}], 1),
        (np.array([np.nan, 1.0]), 2),
        ([np.array(None), np.array(None)], 1),
    ):
        assert len(draw({"one": choices}, 9, np.random.default_rng(0))) == count


def test_a_choice_that_the_model_refuses_costs_no_trial(data: Interactions) -> None:
    told: list[Any] = []
    space = {"factors": [1, 2, 4, 0]}
    with pytest.raises(ValueError, match="factors is 0, expected an integer at least 1"):
        search(BPR(epochs=1), space, data, trials=4, callback=told.append)
    assert not told


def test_what_cannot_be_searched_is_refused(data: Interactions) -> None:
    some = {"share": [0.5]}
    refused: dict[str, tuple[type[Exception], Any]] = {
        "Known has no parameter 'rate', expected one of diverges, epochs": (
            ValueError,
            lambda: search(Known(), {"rate": [1]}, data),
        ),
        "data: expected Interactions, got list": (TypeError, lambda: search(Known(), some, [])),
        "model: expected a recommender": (TypeError, lambda: search(3, some, data)),
        "space: expected a dict": (TypeError, lambda: search(Known(), [], data)),
        "space is empty": (ValueError, lambda: search(Known(), {}, data)),
        r"space\['share'\] is empty": (ValueError, lambda: search(Known(), {"share": []}, data)),
        r"space\['share'\]: expected a list of choices": (
            TypeError,
            lambda: search(Known(), {"share": "ab"}, data),
        ),
        r"space\['share'\]: expected choices on one axis, found shape \(1, 2\)": (
            TypeError,
            lambda: search(Known(), {"share": np.ones((1, 2))}, data),
        ),
        "method is 'grid'": (ValueError, lambda: search(Known(), some, data, method="grid")),
        "trials is 0": (ValueError, lambda: search(Known(), some, data, trials=0)),
        "unknown 'foo'": (ValueError, lambda: search(Known(), some, data, metric="foo")),
        "validation is 1": (ValueError, lambda: search(Known(), some, data, validation=1)),
        "space has 'epochs'": (
            ValueError,
            lambda: search(Known(), {"epochs": [1]}, data, method="halving"),
        ),
        "fit_params has 'epochs'": (
            ValueError,
            lambda: search(Known(), some, data, method="halving", fit_params={"epochs": 2}),
        ),
    }
    for message, (kind, call) in refused.items():
        Known.fitted.clear()
        with pytest.raises(kind, match=message):
            call()
        assert not Known.fitted, message


def test_folds_hold_out_everything_once(data: Interactions) -> None:
    found = cross_validate(Known(), data, folds=4, metrics=["mrr", "coverage"])
    assert len(found.folds) == len(Known.fitted) == 4
    left = Counter(pair for _, used in Known.fitted for pair in pairs_of(used))
    assert set(left) == pairs_of(data)
    assert set(left.values()) == {3}
    assert {len(used) for _, used in Known.fitted} <= {
        len(data) - len(data) // 4,
        len(data) - len(data) // 4 - 1,
    }
    values = [fold["mrr"] for fold in found.folds]
    assert found["mrr"] == pytest.approx(np.mean(values))
    assert found.spread["mrr"] == pytest.approx(np.std(values, ddof=1))
    assert repr(found).startswith("4 folds; the mean")
    assert "<th>coverage</th>" in found._repr_html_()
    same = cross_validate(Known(), data, folds=4, metrics="mrr")
    assert same["mrr"] == found["mrr"]
    assert cross_validate(Known(), data, 4, "mrr", random_state=1)["mrr"] != found["mrr"]


def test_folds_may_be_given(data: Interactions) -> None:
    split = data.split(0.4, seed=1)
    found = cross_validate(Known(), data, [split], "mrr")
    assert found["mrr"] == evaluate(Known().fit(split[0]), split[1], "mrr")["mrr"]
    assert math.isnan(found.spread["mrr"])
    assert cross_validate(Known(), data, [list(split)], "mrr")["mrr"] == found["mrr"]
    for folds, kind in ((1, ValueError), (len(data) + 1, ValueError), (2.5, TypeError)):
        with pytest.raises(kind, match="folds"):
            cross_validate(Known(), data, folds)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="folds is empty"):
        cross_validate(Known(), data, [])
    with pytest.raises(TypeError, match=r"folds\[0\]: expected a pair of Interactions"):
        cross_validate(Known(), data, [data])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="data has 1 interactions"):
        cross_validate(Known(), data.take(np.array([0])), 2)


def test_models_are_compared_beside_popularity(data: Interactions) -> None:
    train, test = data.split(0.3, seed=2)
    found = compare({"bad": Known(0.0), "good": Known(0.9)}, train, test, ["mrr", "coverage"])
    assert set(found) == {"bad", "good", "popularity"}
    assert found.best == "good"
    assert next(iter(found)) == "good"
    assert set(found.models) == set(found.seconds) == {"bad", "good"}
    baseline = metric("mrr", popular(train), pairs_of(train), pairs_of(test))
    assert found["popularity"]["mrr"] == pytest.approx(np.mean(list(baseline.values())))
    table = repr(found).splitlines()
    assert table[0].split() == ["model", "mrr", "interval", "coverage", "seconds"]
    assert [line.split()[0] for line in table[1:]] == list(found)
    assert "<td>good</td>" in found._repr_html_()
    again = compare(found.models, None, test, ["mrr", "coverage"])
    assert {name: dict(one) for name, one in again.items()} == {
        name: dict(one) for name, one in found.items()
    }
    gap, low, _ = found["good"].difference(found["popularity"], "mrr")
    assert 0 < low < gap
    with pytest.raises(KeyError, match="'best' was not compared, expected one of good"):
        found["best"]


def popular(train: Interactions) -> np.ndarray[Any, Any]:
    users = Counter(item for _, item in pairs_of(train))
    row = [users[item] for item in range(train.n_items)]
    return np.tile(row, (train.n_users, 1))


def test_what_cannot_be_compared_is_refused(data: Interactions) -> None:
    with pytest.raises(TypeError, match="models: expected a dict by name, got list"):
        compare([Known()], data, data)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="models is empty"):
        compare({}, data, data)
    with pytest.raises(TypeError, match="test: expected Interactions, got NoneType"):
        compare({"one": Known()}, data, None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="train: expected Interactions, got int"):
        compare({"one": Known()}, 3, data)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="model: expected a recommender"):
        compare({"one": Known(), "two": "model"}, data, data)
    # Nothing is trained before all of what is asked is known to be right.
    with pytest.raises(ValueError, match=r"models\['two'\]: lr is -1, expected a finite number"):
        compare({"one": Known(), "two": BPR(lr=-1)}, data, data)
    for option in ({"exclude_seen": 1}, {"unknown": "ask"}, {"random_state": -1}):
        with pytest.raises((TypeError, ValueError), match=f"^{next(iter(option))} is "):
            compare({"one": Known()}, data, data, **option)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^exclude_seen is 1"):
        cross_validate(Known(), data, exclude_seen=1)  # type: ignore[arg-type]
    assert not Known.fitted


def test_a_model_worse_than_popularity_is_said(data: Interactions) -> None:
    train, test = data.split(0.3, seed=2)
    assert worse_than_popularity(Known(0.9).fit(train), test) is None
    sentence = worse_than_popularity(Known(0.0).fit(train), test, "mrr")
    assert sentence is not None
    assert "mrr on the validation set is 0.0" in sentence
    assert "that of popularity 0." in sentence
    assert worse_than_popularity(popularity(train), test) is None


def test_popularity_counts_users() -> None:
    train = interactions([(0, 1), (0, 1), (0, 1), (1, 2), (2, 2)], 4, 3)
    found = evaluate(popularity(train), interactions({(3, 1), (1, 1)}, 4, 3), "mrr")
    # Two users have item 2, which user 1 has seen; one has item 1.
    assert found.per_user["mrr"].tolist() == [1, 1 / 2]


def test_bad_arguments_are_named() -> None:
    data = make_interactions(n_users=40, seed=1)
    others = {2.0: ValueError, 0: ValueError, True: TypeError, "x": TypeError}
    for validation, error in others.items():
        with pytest.raises(error, match=r"^validation is "):
            search(BPR(), {"lr": [0.1]}, data, validation=validation)  # type: ignore[arg-type]
    for flag in ("exclude_seen", "progress"):
        with pytest.raises(TypeError, match=f"^{flag} is 'no', expected True or False"):
            search(BPR(), {"lr": [0.1]}, data, **{flag: "no"})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="got the class BPR: call it"):
        search(BPR, {"lr": [0.1]}, data)


def test_further_arguments_of_fit_reach_it(data: Interactions) -> None:
    """Features, without which all items that nobody had would score alike."""
    genres = {item: [item.split("-")[0]] for item in data.item_ids}
    model = FactorizationMachine(factors=4, epochs=3, num_threads=1)
    train, test = data.split(0.3, seed=2)
    given = {"item_features": genres}
    expected = evaluate(model.fit(train, **given), test, "mrr")["mrr"]
    assert expected != evaluate(model.fit(train), test, "mrr")["mrr"]
    folds = cross_validate(model, data, [(train, test)], "mrr", fit_params=given)
    assert folds["mrr"] == expected
    table = compare({"fm": model, "b": BPR(epochs=1)}, train, test, "mrr", fit_params={"fm": given})
    assert table["fm"]["mrr"] == expected
    space = {"lr": [model.lr]}
    found = search(model, space, train, validation=test, metric="mrr", fit_params=given)
    assert found.best.value == expected
    assert "item_feature_names" in found.model.fitted.arrays
    for wrong in ([], {"fm": [1]}):
        with pytest.raises(TypeError, match="expected a dict of arguments of fit"):
            compare({"fm": model}, train, test, fit_params=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="fit_params has 'ease', expected names of models that"):
        compare({"fm": model}, train, test, fit_params={"ease": {}})
    with pytest.raises(ValueError, match="fit_params has 'fm', expected names of models that"):
        compare({"fm": table.models["fm"]}, None, test, fit_params={"fm": given})
    for call in (search, cross_validate):
        with pytest.raises(TypeError, match="fit_params is 'a', expected a dict of arguments"):
            call(model, space if call is search else data, data, fit_params="a")  # type: ignore[operator]
