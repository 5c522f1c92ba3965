"""The factorisation machine: sums of features by SciPy, cold start, files, and what is refused."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from wyrmling import tensor_files
from wyrmling.data import Ids, Interactions
from wyrmling.datasets import make_interactions
from wyrmling.evaluation import evaluate
from wyrmling.recommend import FactorizationMachine, Features
from wyrmling.recommend.files import check_arrays

DATA = make_interactions(300, 160, 25, seed=2)
GENRES = {item: [str(item).split("-")[0]] for item in DATA.item_ids}
TASTES = {
    user: [("even", 2.0), "all"] if n % 2 else ["all"] for n, user in enumerate(DATA.user_ids)
}


def machine(**settings: Any) -> FactorizationMachine:
    return FactorizationMachine(**{"factors": 8, "epochs": 5, "num_threads": 1} | settings)


@pytest.fixture(scope="module")
def model() -> FactorizationMachine:
    return machine(epochs=20).fit(DATA, user_features=TASTES, item_features=GENRES)


def of_features(model: FactorizationMachine, kind: str) -> Any:
    """The sums of features by a sparse product, from what a fitted model keeps."""
    arrays = model.fitted.arrays
    table = arrays[f"{kind}_feature_vectors"].astype(np.float64)
    shape = len(arrays[f"{kind}s"]), len(table)
    parts = [arrays[f"{kind}_bag_{part}"] for part in ("weights", "features", "offsets")]
    return scipy.sparse.csr_matrix(tuple(parts), shape=shape) @ table


def test_without_identity_vectors_are_the_sums_of_features() -> None:
    settings = {"user_features": TASTES, "item_features": GENRES}
    for loss in ("bpr", "logistic"):
        model = machine(identity=False, loss=loss).fit(DATA, **settings)
        for kind in ("user", "item"):
            found = model.fitted.arrays[f"{kind}s"]
            np.testing.assert_allclose(found, of_features(model, kind), rtol=1e-5, atol=1e-6)
        # Items of a genre are alike, and so are users with the same features.
        scores = model.predict(["user-1"] * 2, ["jazz-1", "jazz-2"])
        assert scores[0] == scores[1]


def test_names_of_features_are_read_once_for_a_fitted_state(
    model: FactorizationMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a new user nor reasons take time for all features that there are."""
    read = []
    loads = json.loads
    monkeypatch.setattr(json, "loads", lambda text: read.append(text) or loads(text))
    one = copy.copy(model)
    one._fitted = replace(model.fitted)
    for _ in range(3):
        one.fold_in(features=["even"])
        one.explain("user-1", "jazz-1")
    assert len(read) == 2  # those of users, and those of items


def test_a_model_may_know_of_no_feature() -> None:
    model = machine(epochs=1).fit(DATA, user_features={"user-1": []})
    assert not model.fold_in(features=["even"]).query.any()


def test_weights_are_normalised_if_asked() -> None:
    for normalize, expected in ((True, [2 / 3, 1 / 3]), (False, [2.0, 1.0])):
        model = machine(normalize=normalize).fit(DATA, user_features=TASTES)
        arrays = model.fitted.arrays
        row = slice(*arrays["user_bag_offsets"][1:3])
        np.testing.assert_allclose(arrays["user_bag_weights"][row], expected, rtol=1e-6)
        assert "item_feature_names" not in arrays


def test_items_that_nobody_had_are_recommended_by_their_features() -> None:
    """Half of the users' jazz is hidden; those who had the rest are recommended it."""
    hidden = [n for n, item in enumerate(DATA.item_ids) if str(item).startswith("jazz")][::2]
    held = np.isin(DATA.items, hidden)
    train, test = DATA.take(~held), DATA.take(held)
    hybrid = machine(epochs=20).fit(train, item_features=GENRES)
    plain = machine(epochs=20).fit(train)
    scores = [evaluate(model, test, ["auc"], resamples=1)["auc"] for model in (hybrid, plain)]
    assert scores[0] > 0.65
    assert scores[0] > scores[1] + 0.04


@pytest.mark.parametrize("loss", ["bpr", "logistic"])
def test_an_item_of_which_nothing_is_known_is_recommended_last(loss: Any) -> None:
    more = replace(DATA, item_ids=[*DATA.item_ids, "unknown", "jazz-new"])
    genres = GENRES | {"jazz-new": ["jazz"], "unknown": []}
    for settings in ({}, {"item_features": genres}):
        model = machine(loss=loss, epochs=20).fit(more, **settings)
        best = model.recommend(list(DATA.user_ids), 162, exclude_seen=False).items.tolist()
        ranks = {id_: np.median([row.index(id_) for row in best]) for id_ in more.item_ids}
        assert ranks["unknown"] > 100
        # Nor is what somebody may like, by its features, compared with what they had.
        assert (ranks["jazz-new"] < 100) == bool(settings)


@pytest.mark.parametrize("loss", ["bpr", "logistic"])
def test_a_new_user_is_learnt_by_what_training_compares_with(loss: Any, tmp_path: Path) -> None:
    """Items that nobody had and that have features are drawn neither there nor here."""
    cold = {f"{genre}-new-{n}": [genre] for genre in ("jazz", "folk") for n in range(2000)}
    model = machine(loss=loss, factors=16, epochs=20).fit(DATA, item_features=GENRES | cold)
    own: dict[Any, list[Any]] = {}
    for user, item in zip(DATA.users, DATA.items, strict=True):
        own.setdefault(DATA.user_ids[int(user)], []).append(DATA.item_ids[int(item)])
    vectors, users = model.fitted.arrays["users"], list(own)[:20]
    path = tmp_path / "model.safetensors"
    model.save(path)
    for one in (model, FactorizationMachine.load(path)):
        found = [one.fold_in(own[user]).query for user in users]
        known = vectors[model.user_ids.numbers(users)]
        cosines = (known * found).sum(1)
        cosines /= np.linalg.norm(known, axis=1) * np.linalg.norm(found, axis=1)
        assert np.median(cosines) > 0.9
    # Of who had all of these there is nothing to learn, and what nobody had teaches something.
    assert not model.fold_in(list(DATA.item_ids)).query.any()
    assert model.fold_in(["jazz-new-1"]).query.any()


def test_users_are_known_by_features_alone() -> None:
    """A newcomer who says what they like gets that."""
    likes = {}
    for n, user in enumerate(DATA.user_ids):
        own = [str(DATA.item_ids[i]).split("-")[0] for i in DATA.items[DATA.users == n]]
        likes[user] = [max(sorted(set(own)), key=own.count)]
    model = machine(epochs=20).fit(DATA, user_features={**likes, "quiet": ["jazz"], "no": []})
    for new in ("quiet", model.fold_in(features=["jazz"])):
        best = [item.split("-")[0] for item, _ in model.recommend(new, 10)]
        assert best.count("jazz") >= 8
    # Of unknown features nothing is known: it is as a user without any.
    unknown = model.recommend(model.fold_in(features={"polka": 3.0}), 10)
    assert [item for item, _ in unknown] == [item for item, _ in model.recommend("no", 10)]
    both = model.fold_in(["folk-1", "folk-2", "folk-3", "folk-4"], features=["jazz"])
    genres = {item.split("-")[0] for item, _ in model.recommend(both, 10)}
    assert {"folk", "jazz"} & genres


def test_it_goes_on_with_more(model: FactorizationMachine) -> None:
    more = Interactions.from_ids(["user-1", "fred", "fred"], ["tango-1", "tango-1", "jazz-1"])
    again = copy.copy(model).partial_fit(more, item_features={**GENRES, "tango-1": ["tango"]})
    assert "tango" in list(Features.of({"a": ["tango"]}).names)
    assert len(again.item_ids) == len(model.item_ids) + 1
    assert len(again.fitted.arrays["item_feature_vectors"]) == 9
    assert {"fred"} == set(again.user_ids) - set(model.user_ids)
    assert again.recommend("fred", 3)
    # Features that are not given stay.
    kept = again.fitted.arrays["user_bag_offsets"]
    np.testing.assert_array_equal(kept[:-1], model.fitted.arrays["user_bag_offsets"])
    assert len(model.item_ids) == 160  # the first one is as it was


def test_explanations_add_up(model: FactorizationMachine) -> None:
    for item in ("jazz-1", "folk-3"):
        parts = model.explain("user-3", item)
        assert {name for name, _ in parts} == {item.split("-")[0], None}
        assert [part for _, part in parts] == sorted((p for _, p in parts), reverse=True)
        total = sum(part for _, part in parts)
        assert total == pytest.approx(model.predict(["user-3"], [item])[0], rel=1e-4, abs=1e-5)
    with pytest.raises(KeyError, match="nobody"):
        model.explain("nobody", "jazz-1")


def test_it_comes_back_from_files_and_pickles(model: FactorizationMachine, tmp_path: Path) -> None:
    path = tmp_path / "machine.safetensors"
    model.save(path)
    for back in (FactorizationMachine.load(path), pickle.loads(pickle.dumps(model))):
        assert back.get_params() == model.get_params()
        assert back.recommend("user-5", 5) == model.recommend("user-5", 5)
        assert back.explain("user-5", "jazz-1") == model.explain("user-5", "jazz-1")
        new = [m.recommend(m.fold_in(features=["even"]), 5) for m in (back, model)]
        assert new[0] == new[1]


@pytest.mark.parametrize(
    "change",
    [
        {"item_bag_features": lambda a: a + 8},
        {"item_bag_offsets": lambda a: a[::-1].copy()},
        {"item_bag_offsets": lambda a: a - 1},
        {"item_bag_offsets": lambda a: a[:-1].copy()},
        {"item_feature_names": lambda a: np.frombuffer(b'{"jazz": 1}', np.uint8)},
        {"item_feature_names": lambda a: np.frombuffer(b"[" * 99999, np.uint8)},
        {"item_feature_names": lambda a: np.frombuffer(b'["a", "a"]', np.uint8)},
        {"item_feature_names": lambda a: np.frombuffer(b"\xff", np.uint8)},
        {"item_feature_vectors": lambda a: a[:-1].copy()},
        {"item_bag_weights": lambda a: np.full_like(a, np.nan)},
        {"item_bag_weights": None},
    ],
)
def test_arrays_that_contradict_each_other_are_refused(
    model: FactorizationMachine, change: dict[str, Any], tmp_path: Path
) -> None:
    arrays = dict(model.fitted.arrays)
    for name, how in change.items():
        array = arrays.pop(name)
        if how is not None:
            arrays[name] = how(array)
    fitted = model.fitted
    broken = copy.copy(model)
    broken._fitted = type(fitted)(fitted.user_ids, fitted.item_ids, fitted.seen, arrays)
    if "weights" not in "".join(change):  # whether they are finite is looked at elsewhere
        with pytest.raises(ValueError, match="it"):
            check_arrays(broken, broken.fitted)
    with pytest.raises((ValueError, FloatingPointError)):
        broken.save(tmp_path / "broken.safetensors")


@pytest.mark.parametrize(
    ("features", "error", "says"),
    [
        (["jazz"], TypeError, "item_features: expected a dict"),
        ({"jazz-1": "jazz"}, TypeError, "item_features: features of 'jazz-1': expected a list"),
        ({"jazz-1": b"jazz"}, TypeError, "item_features: features of 'jazz-1': expected a list"),
        ({"b": ["x"], "a": [None]}, ValueError, "features of 'a': names: row 0, .* missing value"),
        ({"b": ["x"], "a": [1.5]}, TypeError, "features of 'a': names: row 0, .* an int or str"),
        ({"b": ["x"], "a": [("a", float("nan"))]}, ValueError, "features of 'a': weights: row 0"),
        ({"b": ["x"], "a": {"y": float("inf")}}, ValueError, "features of 'a': weights: row 0"),
        ({1.5: ["a"]}, TypeError, "item_features"),
    ],
)
def test_what_are_no_features(features: Any, error: type[Exception], says: str) -> None:
    model = machine()
    with pytest.raises(error, match=says):
        model.fit(DATA, item_features=features)
    assert not model.is_fitted


def test_features_come_from_columns_and_sparse_matrices() -> None:
    matrix = scipy.sparse.csr_matrix([[0.0, 2.0], [0.0, 0.0], [1.0, 3.0]])
    by_matrix = Features.from_csr(matrix, ["a", "b", "c"], ["x", "y"])
    by_columns = Features.from_columns(["c", "a", "c"], ["x", "y", "y"], [1.0, 2.0, 3.0])
    by_dict = Features.of({"a": {"y": 2.0}, "b": [], "c": [("x", 1.0), ("y", 3.0)]})
    ids = by_matrix.ids
    for features in (by_matrix, by_columns, by_dict):
        bags = features.bags_of(ids, by_matrix.names, normalize=False)
        dense = np.zeros((3, 2))
        for row in range(3):
            where = slice(bags.offsets[row], bags.offsets[row + 1])
            np.add.at(dense[row], bags.values[where].astype(int), bags.weights[where])
        np.testing.assert_array_equal(dense, matrix.toarray())
    has = Features.from_csr(matrix.astype(bool), ["a", "b", "c"], ["x", "y"])
    assert [bag.tolist() for bag in has.bags] == [[1], [], [0, 1]]
    assert has.bags.weights is not None
    assert has.bags.weights.tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="expected 2 for the columns"):
        Features.from_csr(matrix, ["a", "b", "c"], ["x"])
    with pytest.raises(ValueError, match="expected one for each of 2 ids"):
        Features.from_csr(matrix, ["a", "b"])
    with pytest.raises(ValueError, match="features: expected one"):
        Features.from_columns(["a"], ["x", "y"])


def test_one_user_and_one_item_are_not_enough() -> None:
    with pytest.raises(ValueError, match="expected some to learn from"):
        machine().fit(Interactions.from_ids(["a"], ["b"]), item_features={"b": ["x"]})


def test_equal_seeds_give_equal_bits() -> None:
    first, second = (
        machine().fit(DATA, item_features=GENRES, user_features=TASTES) for _ in range(2)
    )
    for name, array in first.fitted.arrays.items():
        np.testing.assert_array_equal(array, second.fitted.arrays[name])


def test_a_set_of_features_has_one_order_in_every_process() -> None:
    names = {f"genre-{number}" for number in range(40)}
    assert list(Features.of({"a": names}).names) == sorted(names)
    weighted = Features.of({"a": frozenset((name, len(name)) for name in names)})
    assert list(weighted.names) == sorted(names)


def test_a_feature_named_twice_is_explained_once() -> None:
    twice = {item: [*names, *names] for item, names in GENRES.items()}
    model = machine(normalize=False).fit(DATA, item_features=twice)
    arrays = model.fitted.arrays
    vector = arrays["users"][DATA.user_ids.number("user-3")]
    parts = model.explain("user-3", "jazz-1")
    assert len(parts) == len(dict(parts)) == len(GENRES["jazz-1"]) + 1
    names = Ids(json.loads(arrays["item_feature_names"].tobytes()))
    for name, part in parts:
        if name is not None:
            row = names.number(name)
            one = vector @ arrays["item_feature_vectors"][row] + arrays["item_feature_biases"][row]
            assert part == pytest.approx(2 * one, rel=1e-5)


def test_a_file_without_the_biases_of_features_is_refused(tmp_path: Path) -> None:
    data = Interactions.from_ids(["a", "a", "b"], ["x", "y", "z"])
    model = FactorizationMachine(epochs=1, factors=2, num_threads=1)
    model.fit(data, item_features={"x": ["g"]}).save(tmp_path / "model")
    name = "wyrmling.recommender/1"
    contents = tensor_files.read(tmp_path / "model", [name], mmap=False, verify=True)
    arrays = dict(contents.arrays)
    del arrays["array.item_feature_biases"]
    tensor_files.write(tmp_path / "model", tensor_files.Contents(name, contents.about, arrays))
    with pytest.raises(ValueError, match="no item_feature_biases"):
        FactorizationMachine.load(tmp_path / "model")
