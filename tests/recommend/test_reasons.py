"""What scores are made of, for every model: parts that add up, beside NumPy; approximations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from every_model import DATA, HAD, ITEMS, NAMES, SEQUENCES, fitted, fold, make, scores_of

from wyrmling.recommend import Custom, ItemKNN

every = pytest.mark.parametrize("name", [name for name in NAMES if name != "Popularity"])
VECTORS = [n for n in NAMES if n not in (*SEQUENCES, "Popularity", "EASE", "ItemKNN")]
SGD = [name for name in VECTORS if name not in ("ImplicitALS", "FactorizationMachine")]


def had_by(user: int) -> list[str]:
    return [ITEMS[item] for item in np.flatnonzero(HAD[user])]


@every
def test_reasons_are_items_that_the_user_had(name: str) -> None:
    model = fitted(name)
    for user in (0, 1, 7):
        for item in ("i4", "i19"):
            parts = model.explain(f"u{user}", item)
            assert [part for _, part in parts] == sorted((p for _, p in parts), reverse=True)
            ids = [id_ for id_, _ in parts if id_ is not None]
            assert sorted(ids) == ([] if name == "FactorizationMachine" else sorted(had_by(user)))
            assert all(type(part) is float for _, part in parts)


@every
def test_exact_parts_add_up_to_the_score(name: str) -> None:
    if name in ("GRU", "LSTM", "SASRec"):
        pytest.skip("scores are no sums")
    # Users of ImplicitALS are solved before the items, which move less from epoch to epoch.
    model = make(name, epochs=40).fit(DATA) if name == "ImplicitALS" else fitted(name)
    scores = scores_of(model)
    for user in (0, 1, 7):
        for item in (4, 19):
            total = sum(part for _, part in model.explain(f"u{user}", f"i{item}"))
            assert total == pytest.approx(scores[user, item], abs=1e-4)
    new = fold(model, ["i3", "i5", "i8"])
    listed = dict(model.recommend(new, 30, exclude_seen=False))
    for item in ("i3", "i19"):
        total = sum(part for _, part in model.explain(new, item))
        assert total == pytest.approx(listed[item], abs=1e-4)


def test_popularity_has_no_reasons() -> None:
    with pytest.raises(NotImplementedError, match="Popularity cannot explain a score: it depends"):
        fitted("Popularity").explain("u2", "i3")


@every
def test_what_is_not_known_is_refused(name: str) -> None:
    model = fitted(name)
    with pytest.raises(KeyError, match="user 'who'"):
        model.explain("who", "i3")
    with pytest.raises(KeyError, match="item 'what'"):
        model.explain("u2", "what")


@pytest.mark.parametrize("name", SGD)
def test_vectors_are_sums_of_those_of_items(name: str) -> None:
    """Ridge regression as least squares with rows for the penalty."""
    model = fitted(name)
    arrays = {key: array.astype(np.float64) for key, array in model.fitted.arrays.items()}
    for user in (0, 1, 7):
        own = arrays["items"][HAD[user]]
        penalty = 0.01 * np.square(own).sum() / own.shape[1]
        system = np.vstack([own.T, np.sqrt(penalty) * np.eye(len(own))])
        right = np.concatenate([arrays["users"][user], np.zeros(len(own))])
        shares: npt.NDArray[np.float64] = np.linalg.lstsq(system, right, rcond=None)[0]
        parts = dict(model.explain(f"u{user}", "i9"))
        for item, share, vector in zip(had_by(user), shares, own, strict=True):
            assert parts[item] == pytest.approx(share * (vector @ arrays["items"][9]), abs=1e-5)


def test_a_vector_that_is_a_sum_of_items_is_explained_by_them() -> None:
    items = np.eye(20, 8) + np.eye(20, 8, -8)  # items 0 and 8 are alike, 1 and 9, …
    users = HAD @ items
    model = Custom.from_factors(users, items, DATA, item_bias=np.arange(20) / 4)
    user = int(np.flatnonzero(HAD[:, 2] & ~HAD[:, 10])[1])
    parts = model.explain(f"u{user}", "i10")
    assert parts[0][0] is None  # the bias
    assert parts[0][1] == pytest.approx(2.5, abs=0.05)
    assert parts[1][0] == "i2"
    assert parts[1][1] == pytest.approx(1.0, abs=0.05)
    assert all(part == pytest.approx(0.0, abs=1e-6) for _, part in parts[2:])
    level = Custom.from_factors(users, 0 * items, DATA)
    assert {part for _, part in level.explain(f"u{user}", "i10")} == {0.0}


@pytest.mark.parametrize("name", ["GRU", "LSTM", "SASRec"])
def test_without_an_item_the_score_is_less_by_its_part(name: str) -> None:
    model = make(name, max_length=6).fit(DATA)
    user = 7
    order = DATA.items[DATA.users == user].tolist()  # rows are in the order of times
    steps = [ITEMS[item] for item in order]

    def score(history: list[str]) -> Any:
        found = model.recommend(model.fold_in(history), 30, exclude_seen=False)
        return dict(found)["i19"]

    parts = dict(model.explain("u7", "i19"))
    assert set(parts) == set(steps[-6:])
    for item, part in parts.items():
        without = [one for one in steps[-6:] if one != item]
        assert part == pytest.approx(score(steps) - score(without), abs=1e-5)
    again = model.fold_in(["i1", "i2", "i1", "i3"])
    parts = dict(model.explain(again, "i19"))
    assert set(parts) == {"i1", "i2", "i3"}
    less = score(["i1", "i2", "i1", "i3"]) - score(["i2", "i3"])
    assert parts["i1"] == pytest.approx(less, abs=1e-5)
    with pytest.raises(ValueError, match="of another model"):
        model.explain(ItemKNN().fit(DATA).fold_in(["i3"]), "i4")
    assert model.explain(model.fold_in([]), "i3") == []


def test_a_moving_average_is_a_sum() -> None:
    model = fitted("EWMA")
    arrays = {key: array.astype(np.float64) for key, array in model.fitted.arrays.items()}
    kept = 1 / (1 + np.exp(-arrays["decay"]))
    steps = [1, 2, 1, 3]
    shares = [kept**3, (1 - kept) * kept**2, (1 - kept) * kept, 1 - kept]
    parts = dict(model.explain(model.fold_in([ITEMS[item] for item in steps]), "i19"))
    for item in (1, 2, 3):
        own = sum(
            (share * arrays["items"][item]) @ arrays["items"][19]
            for step, share in zip(steps, shares, strict=True)
            if step == item
        )
        assert parts[ITEMS[item]] == pytest.approx(own, abs=1e-6)
    assert parts[None] == pytest.approx(arrays["item_bias"][19], abs=1e-6)


def test_an_average_that_keeps_nothing_is_the_last_item() -> None:
    model = fitted("EWMA")
    arrays = {**model.fitted.arrays, "decay": np.full(4, -1000.0, np.float32)}
    model = model._with(replace(model.fitted, arrays=arrays))
    with np.errstate(over="raise"):
        parts = dict(model.explain(model.fold_in(["i1", "i2"]), "i19"))
    assert parts["i1"] == 0.0
    assert parts["i2"] == pytest.approx(arrays["items"][2] @ arrays["items"][19], abs=1e-6)
