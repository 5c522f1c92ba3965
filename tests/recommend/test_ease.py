"""EASE, held against the closed form in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from wyrmling import _core
from wyrmling.data import Interactions
from wyrmling.datasets import make_interactions
from wyrmling.evaluation import evaluate
from wyrmling.recommend import EASE, Popularity, ease

Array = npt.NDArray[Any]


@pytest.fixture(scope="module")
def data() -> Interactions:
    return make_interactions(300, 150, 20, seed=2)


def ones(data: Interactions) -> Array:
    had = np.zeros((data.n_users, data.n_items))
    had[data.users, data.items] = 1
    return had


def closed_form(had: Array, l2: float) -> Array:
    inverse = np.linalg.inv(had.T @ had + l2 * np.eye(had.shape[1]))
    weights = -inverse / np.diag(inverse)
    np.fill_diagonal(weights, 0)
    return weights


@pytest.mark.parametrize("l2", [0.1, 30.0, 1e6])
@pytest.mark.parametrize("n_items", [1, 2, 31, 33, 127, 128, 129, 300])
def test_weights_are_the_closed_form(n_items: int, l2: float) -> None:
    had = (np.random.default_rng(n_items).random((90, n_items)) < 0.2).astype(float)
    had[:, n_items // 2] = 0
    users, items = (column.astype(np.uint32) for column in np.nonzero(had))
    by_user = _core.CsrMatrix(users, items, np.ones(len(users), np.float32), *had.shape)
    found = _core.item_weights(by_user.transposed(), by_user, l2, 1)
    expected = closed_form(had, l2)
    np.testing.assert_allclose(
        found, expected, rtol=1e-4, atol=1e-6 * np.abs(expected).max(initial=1)
    )
    np.testing.assert_array_equal(found, _core.item_weights(by_user.transposed(), by_user, l2, 0))


def test_scores_are_sums_of_weights(data: Interactions) -> None:
    model = EASE(l2=20).fit(data)
    had = ones(data)
    scores = had @ closed_form(had, 20)
    users, items = np.arange(0, 300, 7), np.arange(43) * 3
    predicted = model.predict(data.user_ids.take(users), data.item_ids.take(items))
    np.testing.assert_allclose(predicted, scores[users, items], rtol=1e-4, atol=1e-5)
    found = model.recommend(data.user_ids, 4, exclude_seen=False)
    np.testing.assert_allclose(found.scores, -np.sort(-scores)[:, :4], rtol=1e-4, atol=1e-5)
    unseen = model.recommend(data.user_ids[5], 150)
    assert {item for item, _ in unseen} == set(data.item_ids.take(np.flatnonzero(had[5] == 0)))
    # One user alone has the bits that they have among all.
    assert model.recommend(data.user_ids[280], 4, exclude_seen=False) == found.row(280)
    few = data.item_ids.take([3, 8, 70])
    assert {
        item for item, _ in model.recommend(data.user_ids[5], items=few, exclude_seen=False)
    } == {*few.tolist()}


def test_the_largest_penalty(data: Interactions) -> None:
    """Weights are then what pairs of items have in common, over the penalty."""
    had = ones(data)
    common = had.T @ had
    np.fill_diagonal(common, 0)
    found = EASE(l2=1e18).fit(data).fitted.arrays["weights"]
    np.testing.assert_allclose(found, common / 1e18, rtol=1e-6)
    with pytest.raises(ValueError, match=r"l2 is 1e\+300, expected .* at most 1e\+18"):
        EASE(l2=1e300).fit(data)


def test_it_learns_what_popularity_cannot() -> None:
    train, test = make_interactions(400, 160, 25, seed=1).split(0.2, seed=1)
    learnt, popular = (
        evaluate(model.fit(train), test, ["ndcg@10", "map@10", "coverage@10"], resamples=1)
        for model in (EASE(l2=20), Popularity())
    )
    for name in ("ndcg@10", "map@10", "coverage@10"):
        assert learnt[name] > 1.3 * popular[name]


def test_nobody_may_be_asked_for(data: Interactions) -> None:
    model = EASE().fit(data)
    assert model.recommend([], 3).items.shape == (0, 3)
    assert model.predict([], []).shape == (0,)
    assert model.similar_items([], 3).items.shape == (0, 3)


def test_a_new_user_scores_as_a_known_one(data: Interactions) -> None:
    model = EASE().fit(data)
    had = data.item_ids.take(model.seen.row(7))
    new = model.fold_in(had)
    assert new.query is None
    assert model.recommend(new) == model.recommend(data.user_ids[7])
    both = model.recommend([new, model.fold_in([])], 3)
    np.testing.assert_array_equal(both.scores[1], 0)


def test_a_score_is_explained(data: Interactions) -> None:
    model = EASE().fit(data)
    user, item = data.user_ids[3], data.item_ids[5]
    parts = model.explain(user, item)
    assert {had for had, _ in parts} == set(data.item_ids.take(model.seen.row(3)).tolist())
    score = model.predict([user], [item])[0]
    assert sum(part for _, part in parts) == pytest.approx(score, rel=1e-5)
    assert model.explain(model.fold_in([had for had, _ in parts]), item) == parts
    with pytest.raises(KeyError, match="nothing"):
        model.explain(user, "nothing")


def test_similar_items_are_those_that_having_one_speaks_for(data: Interactions) -> None:
    model = EASE().fit(data)
    weights = closed_form(ones(data), 300)
    found = model.similar_items(data.item_ids[4], 2)
    best = np.argsort(-np.where(np.arange(150) == 4, -np.inf, weights[4]))[:2]
    assert [item for item, _ in found] == data.item_ids.take(best).tolist()
    with pytest.raises(TypeError, match="EASE does not compare users"):
        model.similar_users(data.user_ids[0])


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (3, 1)])
def test_small_data(shape: tuple[int, int]) -> None:
    users, items = np.nonzero(np.ones(shape))
    data = Interactions(np.tile(users, 2), np.tile(items, 2), range(shape[0]), range(shape[1]))
    model = EASE(l2=0.5).fit(data)
    assert model.recommend(0) == []
    weights = model.fitted.arrays["weights"]
    np.testing.assert_allclose(weights, closed_form(np.ones(shape), 0.5), atol=1e-6)


def test_more_data_is_learnt_with_the_old(data: Interactions, tmp_path: Any) -> None:
    half = np.arange(len(data)) % 2 == 0
    model = EASE().fit(data.take(half)).partial_fit(data.take(~half))
    at_once = EASE().fit(data)
    np.testing.assert_array_equal(model.fitted.arrays["weights"], at_once.fitted.arrays["weights"])
    model.save(tmp_path / "ease.safetensors", histories=False)
    short = EASE.load(tmp_path / "ease.safetensors")
    new = short.fold_in(data.item_ids.take([1, 2]))
    assert short.recommend(new) == model.recommend(new)
    with pytest.raises(RuntimeError, match="saved without histories"):
        short.recommend(data.user_ids[0])
    with pytest.raises(RuntimeError, match="saved without histories"):
        short.partial_fit(data)


def test_what_makes_no_sense_is_refused(data: Interactions, monkeypatch: Any) -> None:
    with pytest.raises(ValueError, match="l2 is 0"):
        EASE(l2=0).fit(data)
    with pytest.raises(FloatingPointError, match=r"not positive definite|not finite"):
        EASE(l2=1e-300).fit(Interactions([0, 0], [0, 1], ["u"], ["a", "b"]))
    monkeypatch.setattr(ease, "_memory", lambda: 12 * 150**2 - 1)
    model = EASE()
    with pytest.raises(MemoryError, match="data has 150 items"):
        model.fit(data)
    assert not model.is_fitted
    none = np.zeros(0, np.uint32)
    square, oblong = (_core.CsrMatrix(none, none, none.astype(np.float32), 2, n) for n in (2, 3))
    with pytest.raises(ValueError, match="expected its transpose"):
        _core.item_weights(square, oblong, 1.0, 1)
    with pytest.raises(ValueError, match="l2 is -1"):
        _core.item_weights(square, square, -1.0, 1)


def test_sums_of_rows_are_checked() -> None:
    none = np.zeros(0, np.uint32)
    histories = _core.Csr(none, none, 2, 3)
    np.testing.assert_array_equal(
        _core.sums_of_rows(histories, np.ones((3, 3), np.float32)), np.zeros((2, 3))
    )
    with pytest.raises(ValueError, match=r"expected weights of shape \(3, 3\)"):
        _core.sums_of_rows(histories, np.ones((3, 2), np.float32))
    with pytest.raises(TypeError, match="weights: expected an array of dtype float32"):
        _core.sums_of_rows(histories, np.ones((3, 3)))  # type: ignore[arg-type]
