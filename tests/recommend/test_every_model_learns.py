"""Every model: files and copies, runs of training, and data that say little or too much."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

import numpy as np
import pytest
from every_model import (
    DATA,
    DRAWING,
    HAD,
    ITEMS,
    N_ITEMS,
    NAMES,
    RATED,
    SEQUENCES,
    TRAINED,
    USERS,
    check_ranking,
    fitted,
    fold,
    hinge,
    interactions,
    make,
    same_answers,
    scores_of,
)

from wyrmling.data import Interactions
from wyrmling.evaluation import evaluate
from wyrmling.recommend import Recommender
from wyrmling.recommend.hyperparameters import alternatives, parameter_types

pytestmark = pytest.mark.filterwarnings("ignore:.* is worse than the ranking by popularity")
every = pytest.mark.parametrize("name", NAMES)
METRICS = ["auc", "mrr", "ndcg@3", "coverage@4"]
trained = pytest.mark.parametrize("name", TRAINED)


# Files, copies, settings.


@every
def test_files_and_copies_answer_alike(name: str, tmp_path: Path) -> None:
    model = fitted(name)
    given = {"loss": hinge} if name == "Custom" else {}
    model.save(tmp_path / "whole")
    model.save(tmp_path / "bare", histories=False)
    kind = type(model)
    alike = [
        kind.load(tmp_path / "whole", **given),
        kind.load((tmp_path / "whole").read_bytes(), **given),
        Recommender.load(str(tmp_path / "whole"), mmap=True, verify=True, **given),
        pickle.loads(pickle.dumps(model)),
        copy.copy(model),
        copy.deepcopy(model),
    ]
    for other in alike:
        same_answers(model, other)
        assert other.recommend("u2") == model.recommend("u2")
        np.testing.assert_array_equal(other.predict(["u3"], ["i3"]), model.predict(["u3"], ["i3"]))
        new = [m.recommend(fold(m, ["i3", "i5"]), 4) for m in (model, other)]
        assert new[0] == new[1]
        assert repr(other) == repr(model)
    bare = kind.load(tmp_path / "bare", **given)
    assert new[0] == bare.recommend(fold(bare, ["i3", "i5"]), 4)
    with pytest.raises(RuntimeError, match="saved without histories"):
        bare.recommend("u2")
    if "users" in model.fitted.arrays or name == "Popularity":
        same_answers(model, bare)
    else:
        with pytest.raises(RuntimeError, match="without histories, of which it computes scores"):
            bare.predict(["u2"], ["i3"])
    if name not in ("FactorizationMachine", "Popularity"):
        with pytest.raises(RuntimeError, match="saved without histories"):
            bare.explain("u2", "i3")
    test = interactions().take(np.arange(40))
    for metrics, exclude in ((["auc"], True), (["novelty"], False)):
        with pytest.raises(RuntimeError, match="saved without histories"):
            evaluate(bare, test, metrics, exclude_seen=exclude)
    if name not in ("EASE", "ItemKNN"):
        both = [dict(evaluate(m, test, METRICS, exclude_seen=False)) for m in (bare, model)]
        assert both[0] == both[1]


@every
def test_settings_are_listed_changed_and_cloned(name: str) -> None:
    model = make(name)
    params = model.get_params()
    assert set(params) == {field.name for field in dataclasses.fields(model)}
    assert model.set_params(random_state=5) is model
    clone = type(model)(**model.get_params())
    assert clone.get_params() == params | {"random_state": 5}
    assert not clone.is_fitted
    with pytest.raises(ValueError, match=f"{name} has no hyperparameter 'colour'"):
        model.set_params(random_state=6, colour="red")
    assert model.random_state == 5


@every
def test_every_setting_at_its_ends(name: str) -> None:
    """Each word, both truths, and the least of each number: all rank by their scores."""
    model = make(name)
    for setting, kind in parameter_types(type(model)).items():
        values: list[Any] = []
        for one in alternatives(kind):
            if get_origin(one) is Literal:
                values += get_args(one)
            elif one is bool:
                values += [False, True]
            elif one is NoneType:
                values.append(None)
            elif get_origin(one) is Annotated and setting not in ("random_state", "num_threads"):
                number, bounds = get_args(one)
                least = max(bounds.least, bounds.above)
                values.append(number(least) if least == bounds.least else 1e-6)
        for value in values:
            if setting == "loss" and name == "Custom":
                continue
            other = make(name, **{setting: value}).fit(DATA)
            listed = other.recommend(USERS, 5)
            scores = scores_of(other)
            for user in (0, 1, 2, 7):
                check_ranking(listed.row(user), scores[user], ~HAD[user], 5)
            new = other.recommend(fold(other, ["i3", "i5"]), 30)
            assert len(new) == N_ITEMS - 2, (setting, value)
            assert all(np.isfinite(score) for _, score in new)


@every
def test_settings_that_are_changed_count_from_the_next_fit_on(name: str) -> None:
    model = fitted(name)._with(fitted(name).fitted)
    fields = parameter_types(type(model))
    new = fold(model, ["i3", "i5"])
    for setting, value in {"factors": 7, "blocks": 2, "similarity": "bm25", "l2": 0.5}.items():
        if setting in fields:
            model.set_params(**{setting: value})
    if name == "SASRec":
        model.set_params(max_length=1000)
    again = fold(model, ITEMS * 6)
    assert (again.query is None) == (new.query is None)
    assert again.query is None or again.query.shape == new.query.shape
    same_answers(model, fitted(name))
    if name not in ("Popularity", "ImplicitALS"):
        assert model.explain("u2", "i3") == fitted(name).explain("u2", "i3")
    if "factors" in fields:
        with pytest.raises(ValueError, match=r"in the fitted model|factors is 7, and was"):
            model.partial_fit(DATA)


@every
@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"random_state": -1}, ValueError),
        ({"random_state": 1.0}, TypeError),
        ({"random_state": 2**64}, ValueError),
        ({"num_threads": -1}, ValueError),
        ({"num_threads": 1025}, ValueError),
        ({"num_threads": None}, TypeError),
        ({"num_threads": True}, TypeError),
    ],
)
def test_bad_settings_are_refused(
    name: str, settings: dict[str, Any], error: type[Exception]
) -> None:
    model = fitted(name)._with(fitted(name).fitted).set_params(**settings)
    (setting,) = settings
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(error, match=f"^{setting} is "):
            learn(DATA)
    assert model.fitted is fitted(name).fitted


# Training.


@every
def test_equal_runs_give_equal_bits(name: str) -> None:
    model = make(name)
    assert model.fit(DATA) is model
    first = model.fitted
    model.fit(DATA)
    assert model.fitted is not first
    for other in (fitted(name), model, make(name).partial_fit(DATA)):
        for key, array in other.fitted.arrays.items():
            np.testing.assert_array_equal(array, first.arrays[key], err_msg=key)
    differ = make(name, random_state=9).fit(DATA).fitted.arrays
    changed = any(not np.array_equal(differ[key], array) for key, array in first.arrays.items())
    assert changed == (name in TRAINED)
    free = make(name, random_state=None, num_threads=2).fit(DATA)
    assert len(free.recommend("u2", 3)) == 3


@every
def test_times_count_where_order_does(name: str) -> None:
    past = np.arange(len(DATA)) - 10**15
    for times, same in ((past, True), (past * 1e-3, True), (None, True), (-past, False)):
        other = make(name).fit(interactions(times=times))
        first = fitted(name).fitted.arrays
        equal = all(np.array_equal(first[key], a) for key, a in other.fitted.arrays.items())
        assert equal == (same or name not in SEQUENCES)


class Stop(BaseException):
    """As KeyboardInterrupt, which the test runner would take for its own."""


@trained
def test_what_ends_a_run_leaves_the_model_as_it_was(name: str) -> None:
    model = make(name)

    def ends(epoch: int, history: Any) -> None:
        raise Stop

    with pytest.raises(Stop):
        model.fit(DATA, callback=ends)
    assert not model.is_fitted
    model = fitted(name)._with(fitted(name).fitted)
    for learn in (model.fit, model.partial_fit):
        with pytest.raises(Stop):
            learn(DATA, callback=ends)
    assert model.fitted is fitted(name).fitted
    same_answers(model, make(name).fit(DATA))


@trained
def test_epochs_are_watched(name: str) -> None:
    seen = []

    def watch(epoch: int, history: Any) -> bool:
        seen.append((epoch, len(history.loss), len(history.validation["ndcg@5"])))
        return epoch == 1

    model = make(name).fit(DATA, epochs=4, validation=0.25, metric="ndcg@5", callback=watch)
    assert seen == [(0, 1, 1), (1, 2, 2)]
    history = model.history
    assert len(history) == len(history.seconds) == 2
    assert history.best_epoch == int(np.argmax(history.validation["ndcg@5"]))
    train, held_out = DATA.split(0.25, seed=1)
    model = make(name).fit(train, epochs=6, validation=held_out, metric="auc", patience=1)
    values = model.history.validation["auc"]
    best = model.history.best_epoch
    assert len(values) == min(best + 2, 6)
    assert evaluate(model, held_out, "auc", resamples=1)["auc"] == values[best]


@every
def test_more_is_learnt(name: str) -> None:
    model = fitted(name)._with(fitted(name).fitted)
    more = Interactions.from_ids(
        ["new", "u3", "new", "u3"], ["i2", "extra", "extra", "i2"], values=[1.0, 5.0, 2.0, 3.0]
    )
    model.partial_fit(more)
    assert list(model.user_ids) == [*USERS, "new"]
    assert list(model.item_ids) == [*ITEMS, "extra"]
    assert set(model.seen.row(3).tolist()) == {*np.flatnonzero(HAD[3]).tolist(), 2, 20}
    assert model.seen.row(30).tolist() == [2, 20]
    had = {item for item, _ in model.recommend("new", 30)}
    assert len(had) == 19
    assert not had & {"i2", "extra"}
    assert fitted(name).item_ids == DATA.item_ids
    with pytest.raises(ValueError, match="data has no interactions"):
        model.partial_fit(Interactions.from_ids([], [], values=[]))


@every
def test_more_is_learnt_without_histories(name: str, tmp_path: Path) -> None:
    fitted(name).save(tmp_path / "bare", histories=False)
    given = {"loss": hinge} if name == "Custom" else {}
    model = Recommender.load(tmp_path / "bare", **given)
    more = Interactions.from_ids(
        ["u3", "u3", "new", "new"], ["i5", "x", "x", "i2"], values=[2.0] * 4
    )
    if name != "Popularity":
        with pytest.raises(RuntimeError, match="histories: it does not know what is popular"):
            model.recommend("who", exclude_seen=False, cold_start="popular")
    if "users" not in model.fitted.arrays:
        before = model.fitted
        with pytest.raises(RuntimeError, match=r"without histories: it cannot .* anew"):
            model.partial_fit(more)
        assert model.fitted is before
        return
    model.partial_fit(more)
    assert model.seen.row(3).tolist() == [5, 20]
    assert {item for item, _ in model.recommend("new", 30)} == {*ITEMS} - {"i2"}
    if name not in ("FactorizationMachine", "ImplicitALS"):
        kept, first = (m.fitted.arrays["users"][7] for m in (model, fitted(name)))
        np.testing.assert_array_equal(kept, first)
    assert model.fitted.arrays["users"][7].any()


# What a model cannot learn from.


@every
def test_little_data(name: str) -> None:
    def of(users: str, items: str, item_ids: Any = None) -> Interactions:
        data = Interactions.from_ids(list(users), list(items), values=[4.0] * len(users))
        return data if item_ids is None else dataclasses.replace(data, item_ids=item_ids)

    for data, unseen in (
        (of("a", "x"), []),
        (of("aaa", "xyz"), []),
        (of("ab", "xx"), []),
        (of("aab", "xyx", ["x", "y"]), []),
        (of("aaa", "xyz", list("xyzw")), ["w"]),
    ):
        lacks = data.n_items > len(set(data.items[data.users == 0].tolist()))
        teaches = lacks or (name not in SEQUENCES and data.n_users == 2 and data.n_items == 2)
        if name in DRAWING and not teaches:
            with pytest.raises(ValueError, match=r"data has no .*expected some to learn from"):
                make(name).fit(data)
            continue
        model = make(name).fit(data)
        assert [item for item, _ in model.recommend("a")] == unseen
        assert len(model.recommend("a", exclude_seen=False)) == data.n_items


@every
def test_users_and_items_without_interactions(name: str) -> None:
    data = dataclasses.replace(
        DATA, user_ids=[*USERS, "lone"], item_ids=[*ITEMS, "unsold"], values=DATA.values
    )
    model = make(name).fit(data)
    best = model.recommend("lone", 50)
    assert len(best) == 21
    assert all(np.isfinite(score) for _, score in best)
    if name != "Popularity":
        assert len(model.similar_items("unsold", 3)) == 3


@every
def test_weights_and_values_at_their_ends(name: str) -> None:
    model = fitted(name)._with(fitted(name).fitted)
    ones, huge = np.ones(len(DATA)), np.full(len(DATA), 3e38)
    cases: list[tuple[dict[str, Any], dict[str, type[Exception]]]] = [
        ({"weights": 0 * ones}, {"ImplicitALS": ValueError}),
        ({"values": 0 * ones}, {"ImplicitALS": ValueError}),
        ({"values": -ones}, {"ImplicitALS": ValueError}),
        ({"values": huge}, {"ImplicitALS": FloatingPointError}),
        (
            {"weights": huge},
            dict.fromkeys(set(DRAWING) - {*SEQUENCES, "Custom"}, FloatingPointError)
            | {"ImplicitALS": ValueError, "ExplicitMF": FloatingPointError},
        ),
    ]
    for columns, refused in cases:
        data = interactions(**columns)
        if name in refused:
            with pytest.raises(refused[name]):
                model.fit(data)
            assert model.fitted is fitted(name).fitted
        else:
            other = make(name).fit(data)
            assert all(np.isfinite(a).all() for a in other.fitted.arrays.values())


@every
def test_data_of_other_kinds_is_refused(name: str) -> None:
    model = fitted(name)._with(fitted(name).fitted)
    for data in (None, [("u1", "i1")], {"user": []}, np.eye(2), "data.csv"):
        for learn in (model.fit, model.partial_fit):
            with pytest.raises(TypeError, match="data: expected Interactions, got"):
                learn(data)
    if name in RATED:
        with pytest.raises(ValueError, match="data has no values"):
            model.fit(interactions(values=None))
    assert model.fitted is fitted(name).fitted


@pytest.mark.parametrize("name", NAMES)
def test_who_had_nothing_is_as_a_new_user_of_whom_nothing_is_known(name: str) -> None:
    def check(model: Recommender, user: str) -> None:
        found, expected = (model.recommend(of, N_ITEMS) for of in (user, fold(model, [])))
        assert [item for item, _ in found] == [item for item, _ in expected]

    model = make(name).fit(dataclasses.replace(DATA, user_ids=[*USERS, "nobody"]))
    check(model, "nobody")
    known = model.predict(["u3"] * N_ITEMS, ITEMS)
    later = DATA.take(DATA.users > 3)
    model.partial_fit(dataclasses.replace(later, user_ids=[*USERS, "new"]))
    check(model, "new")
    # What was learnt of users stays, of whom other data have nothing.
    if name in ("BPR", "ExplicitMF"):
        assert np.corrcoef(known, model.predict(["u3"] * N_ITEMS, ITEMS))[0, 1] > 0.8


@pytest.mark.parametrize("name", [name for name in DRAWING if name not in SEQUENCES])
def test_who_had_everything_is_as_a_new_user_who_had(name: str) -> None:
    """There is nothing to compare with, so that nothing is learnt of user 0."""
    model = fitted(name)
    known, new = (
        model.recommend(user, N_ITEMS, exclude_seen=False) for user in ("u0", fold(model, ITEMS))
    )
    assert known == new


def test_an_item_that_nobody_rated_is_predicted_by_biases() -> None:
    data = dataclasses.replace(DATA, item_ids=[*ITEMS, "unrated"])
    model = make("ExplicitMF").fit(data)
    arrays = model.fitted.arrays
    np.testing.assert_array_equal(
        model.predict(USERS, ["unrated"] * len(USERS)), arrays["bias"] + arrays["user_bias"]
    )
    # As is one that came later.
    model.partial_fit(dataclasses.replace(DATA, item_ids=[*ITEMS, "later"]))
    assert not model.fitted.arrays["items"][[N_ITEMS, N_ITEMS + 1]].any()


def test_what_nobody_knew_learns_once_it_is_known() -> None:
    """Vectors of 0 of a user and an item would have no gradient by each other."""
    nobody = dataclasses.replace(DATA, user_ids=[*USERS, "ann"], item_ids=[*ITEMS, "tea"])
    model = make("ExplicitMF").fit(nobody)
    model.partial_fit(Interactions.from_ids(["ann"], ["tea"], values=[5.0]))
    vectors = model.fitted.arrays["users"][-1], model.fitted.arrays["items"][-1]
    assert all(vector.any() for vector in vectors)
