"""Nearest neighbours of items, held against dense similarities in double precision."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from wyrmling import _core
from wyrmling.data import Interactions
from wyrmling.datasets import make_interactions
from wyrmling.evaluation import evaluate
from wyrmling.recommend import ItemKNN, Popularity

Array = npt.NDArray[Any]
SIMILARITIES: list[Any] = ["cosine", "jaccard", "tf-idf", "bm25"]


@pytest.fixture(scope="module")
def data() -> Interactions:
    return make_interactions(300, 90, 12, seed=2)


def ones(data: Interactions) -> Array:
    had = np.zeros((data.n_users, data.n_items))
    had[data.users, data.items] = 1
    return had


def similarities(had: Array, similarity: str, shrink: float) -> Array:
    """The similarity of all items."""
    n_items = had.shape[1]
    if similarity in ("tf-idf", "bm25"):
        had = had * np.log(n_items / np.maximum(had.sum(1, keepdims=True), 1))
    if similarity == "bm25":
        lengths = (had > 0).sum(0)
        had = had * 2.2 / (1.2 * (0.25 + 0.75 * lengths / lengths.mean()) + 1)
        return had.T @ had
    product = had.T @ had
    own = np.diag(product)
    if similarity == "jaccard":
        below = own[:, None] + own - product + shrink
    else:
        below = np.sqrt(own[:, None] * own) + shrink
    return np.divide(product, below, out=np.zeros_like(product), where=below > 0)


def nearest(similar: Array, k: int) -> Array:
    """The same with all but the k largest of each row set to 0: of equal ones, the first."""
    similar = similar.astype(np.float32).astype(np.float64)
    np.fill_diagonal(similar, 0)
    kept = np.argsort(-similar, axis=1, kind="stable")[:, :k]
    rows = np.zeros_like(similar)
    np.put_along_axis(rows, kept, np.take_along_axis(similar, kept, 1), 1)
    return rows


def dense(model: ItemKNN) -> Array:
    arrays = model.fitted.arrays
    weights = np.zeros((len(model.item_ids),) * 2)
    for row, items, values in zip(
        weights, arrays["neighbours"], arrays["similarities"], strict=True
    ):
        row[items[values != 0]] = values[values != 0]
    return weights


@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize(("k", "shrink"), [(1, 0.0), (7, 3.0), (1000, 0.0)])
def test_neighbours_are_the_most_similar(
    data: Interactions, similarity: Any, k: int, shrink: float
) -> None:
    settings: dict[str, Any] = {"similarity": similarity, "neighbours": k, "shrink": shrink}
    model = ItemKNN(num_threads=1, **settings).fit(data)
    found, all_similar = dense(model), similarities(ones(data), similarity, shrink)
    np.testing.assert_array_equal(
        (found > 0).sum(1), np.minimum((all_similar > 1e-9).sum(1) - 1, k)
    )
    np.testing.assert_allclose(found, np.where(found > 0, all_similar, 0), rtol=1e-5)
    expected = nearest(all_similar, k)
    # Which of nearly equal ones are taken depends on rounding.
    np.testing.assert_allclose(np.sort(found), np.sort(expected), rtol=1e-5)
    again = ItemKNN(num_threads=0, **settings).fit(data)
    for name, array in model.fitted.arrays.items():
        np.testing.assert_array_equal(array, again.fitted.arrays[name])


def test_of_equal_similarities_the_lower_number_counts() -> None:
    users, items = np.nonzero(np.ones((3, 6)))
    data = Interactions(users, items, range(3), range(6))
    model = ItemKNN(neighbours=2, shrink=0).fit(data)
    neighbours = model.fitted.arrays["neighbours"]
    np.testing.assert_array_equal(neighbours, [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1], [0, 1]])
    np.testing.assert_allclose(model.fitted.arrays["similarities"], 1)
    assert model.recommend(0) == []


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_scores_are_sums_of_similarities(data: Interactions, similarity: Any) -> None:
    model = ItemKNN(similarity=similarity, neighbours=9).fit(data)
    scores = ones(data) @ dense(model).T
    users, items = np.arange(0, 300, 7), np.arange(43) * 2
    predicted = model.predict(data.user_ids.take(users), data.item_ids.take(items))
    np.testing.assert_allclose(predicted, scores[users, items], rtol=1e-5, atol=1e-6)
    found = model.recommend(data.user_ids, 4, exclude_seen=False)
    np.testing.assert_allclose(found.scores, -np.sort(-scores)[:, :4], rtol=1e-5)
    assert model.recommend(data.user_ids[280], 4, exclude_seen=False) == found.row(280)
    user, item = data.user_ids[3], found.row(3)[0][0]
    parts = model.explain(user, item)
    assert len(parts) == len(model.seen.row(3))
    assert sum(part for _, part in parts) == pytest.approx(found.row(3)[0][1], rel=1e-5)
    new = model.fold_in(had for had, _ in parts)
    assert model.explain(new, item) == parts
    assert model.recommend(new, 4, exclude_seen=False) == found.row(3)


def test_similar_items_are_neighbours(data: Interactions) -> None:
    model = ItemKNN(neighbours=3, shrink=0).fit(data)
    found = model.similar_items(data.item_ids[4], 5)
    row = dense(model)[4]
    order = np.argsort(-row, kind="stable")[:3]
    assert found[:3] == [(data.item_ids[int(k)], pytest.approx(row[k])) for k in order]
    assert [score for _, score in found[3:]] == [0, 0]


def test_it_learns_what_popularity_cannot() -> None:
    train, test = make_interactions(400, 160, 25, seed=1).split(0.2, seed=1)
    learnt, popular = (
        evaluate(model.fit(train), test, ["ndcg@10"], resamples=1)["ndcg@10"]
        for model in (ItemKNN(neighbours=50), Popularity())
    )
    assert learnt > 1.3 * popular


def test_who_is_alone_has_no_neighbours() -> None:
    data = Interactions.from_ids(["a", "b", "b"], ["x", "y", "y"])
    model = ItemKNN().fit(data)
    assert model.fitted.arrays["neighbours"].shape == (2, 0)
    assert model.recommend("a") == [("y", 0.0)]
    assert model.explain("b", "x") == [("y", 0.0)]
    one = ItemKNN().fit(Interactions.from_ids(["a"], ["x"]))
    assert one.recommend("a") == []


def test_files(data: Interactions, tmp_path: Any) -> None:
    model = ItemKNN(neighbours=5).fit(data)
    model.save(tmp_path / "knn.safetensors")
    for again in (ItemKNN.load(tmp_path / "knn.safetensors"), pickle.loads(pickle.dumps(model))):
        assert again.recommend(data.user_ids[3]) == model.recommend(data.user_ids[3])
    neighbours = model.fitted.arrays["neighbours"].copy()
    neighbours[0, 0] = 90
    wrong = type(model.fitted)(
        data.user_ids, data.item_ids, model.seen, {**model.fitted.arrays, "neighbours": neighbours}
    )
    with pytest.raises(ValueError, match="neighbours has the number 90, expected less than 90"):
        model._check_arrays(wrong)


def test_what_makes_no_sense_is_refused(data: Interactions) -> None:
    for wrong in ({"neighbours": 0}, {"shrink": -1}, {"similarity": "dice"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            ItemKNN(**wrong).fit(data)
    none = np.zeros(0, np.uint32)
    empty = _core.CsrMatrix(none, none, none.astype(np.float32), 2, 2)
    with pytest.raises(ValueError, match='similarity is "dice"'):
        _core.nearest_items(empty, empty, "dice", 1, 0.0, 1)
    with pytest.raises(ValueError, match="shrink is NaN"):
        _core.nearest_items(empty, empty, "cosine", 1, float("nan"), 1)
    assert len(_core.nearest_items(empty, empty, "cosine", 1, 0.0, 1)) == 0


def test_a_sparse_matrix_is_checked() -> None:
    ones = np.ones(2, np.float32)
    with pytest.raises(IndexError, match=r"rows\[1\] is 5, expected less than 2"):
        _core.CsrMatrix(np.array([0, 5], np.uint32), np.array([0, 0], np.uint32), ones, 2, 2)
    with pytest.raises(ValueError, match=r"values\[0\] is NaN"):
        _core.CsrMatrix(np.zeros(2, np.uint32), np.zeros(2, np.uint32), ones * np.nan, 2, 2)
    with pytest.raises(TypeError, match="rows: expected an array of dtype uint32"):
        _core.CsrMatrix(np.zeros(2), np.zeros(2, np.uint32), ones, 2, 2)  # type: ignore[arg-type]
    none = np.zeros(0, np.uint32)
    with pytest.raises(MemoryError):
        _core.CsrMatrix(none, none, none.astype(np.float32), 2**62, 2)
