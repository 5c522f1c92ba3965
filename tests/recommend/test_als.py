"""Alternating least squares, held against the normal equations in double precision."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from wyrmling import _core
from wyrmling.data import Interactions
from wyrmling.datasets import make_interactions
from wyrmling.evaluation import evaluate
from wyrmling.recommend import ImplicitALS, Popularity

Array = npt.NDArray[Any]


@pytest.fixture(scope="module")
def data() -> Interactions:
    return make_interactions(300, 120, 20, seed=2)


def matrix(dense: Array) -> _core.CsrMatrix:
    rows, columns = np.nonzero(dense)
    values = dense[rows, columns].astype(np.float32)
    return _core.CsrMatrix(rows.astype(np.uint32), columns.astype(np.uint32), values, *dense.shape)


def confidences(n: int, m: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((n, m)) < 0.2, rng.integers(1, 20, (n, m)), 0).astype(np.float64)
    dense[n // 2] = 0
    return dense


def system(row: Array, fixed: Array, l2: float) -> tuple[Array, Array]:
    left = fixed.T @ fixed + (fixed.T * row) @ fixed + l2 * np.eye(fixed.shape[1])
    return left, fixed.T @ np.where(row > 0, 1 + row, 0.0)


def conjugate_gradients(left: Array, right: Array, x: Array, steps: int) -> Array:
    residual = right - left @ x
    direction, length = residual, residual @ residual
    for _ in range(steps):
        if length < 1e-25:
            break
        product = left @ direction
        alpha = length / (direction @ product)
        x, residual = x + alpha * direction, residual - alpha * product
        before, length = length, residual @ residual
        direction = residual + length / before * direction
    return x


@pytest.mark.parametrize("d", [1, 3, 16, 17, 32, 50, 64, 70])
@pytest.mark.parametrize("steps", [None, 0, 1, 3])
def test_rows_are_solved(d: int, steps: int | None) -> None:
    dense = confidences(40, 70, d)
    rng = np.random.default_rng(d)
    fixed, start = (rng.normal(0, 0.3, (k, d)).astype(np.float32) for k in (70, 40))
    l2 = rng.uniform(0.5, 2, 40).astype(np.float32)
    found, objective = _core.least_squares(matrix(dense), fixed, start, l2, steps, 1)
    expected = np.zeros((40, d))
    total = 0.0
    wide = fixed.astype(np.float64)
    for row in range(40):
        if dense[row].any():
            left, right = system(dense[row], wide, l2[row])
            first = start[row].astype(np.float64)
            expected[row] = (
                np.linalg.solve(left, right)
                if steps is None
                else conjugate_gradients(left, right, first, steps)
            )
        own = (1 + dense[row]) @ ((dense[row] > 0) - wide @ expected[row]) ** 2
        total += own + l2[row] * expected[row] @ expected[row]
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5)
    assert objective == pytest.approx(total, rel=1e-5)
    again = _core.least_squares(matrix(dense), fixed, start, l2, steps, 0)
    np.testing.assert_array_equal(found, again[0])
    assert objective == again[1]
    # A row alone has the bits that it has among others.
    one = _core.least_squares(matrix(dense[7:8]), fixed, start[7:8], l2[7:8], steps, 1)[0]
    np.testing.assert_array_equal(one[0], found[7])


def test_what_does_not_fit_is_refused() -> None:
    ones = np.ones((3, 2), np.float32)
    own = matrix(np.eye(3))
    l2 = np.ones(3, np.float32)
    with pytest.raises(ValueError, match="the same number of columns, found 2 and 1"):
        _core.least_squares(own, ones, ones[:, :1], l2, 3, 1)
    with pytest.raises(ValueError, match="do not fit factors"):
        _core.least_squares(own, ones[:2], ones, l2, 3, 1)
    with pytest.raises(TypeError, match="fixed: expected an array of dtype float32"):
        _core.least_squares(own, ones.astype(float), ones, l2, 3, 1)  # type: ignore[arg-type]
    large = np.full((3, 2), 1e30, np.float32)
    for steps in (3, None):
        with pytest.raises(FloatingPointError, match="row 0 have no finite solution"):
            _core.least_squares(own, large, ones, l2, steps, 1)
    singular = _core.least_squares(own, np.zeros((3, 2), np.float32), ones, l2, None, 1)[0]
    np.testing.assert_array_equal(singular, 0)


@pytest.mark.parametrize("solver", ["cg", "cholesky"])
def test_an_epoch_is_two_sides(data: Interactions, solver: Any) -> None:
    model = ImplicitALS(factors=5, epochs=3, solver=solver, cg_steps=30, alpha=3, l2=0.7)
    model.fit(data)
    dense = np.zeros((data.n_users, data.n_items))
    np.add.at(dense, (data.users, data.items), 3.0)
    users, items = (model.fitted.arrays[name].astype(np.float64) for name in ("users", "items"))
    for row, vector in zip(dense.T, items, strict=True):
        penalty = 0.7 * max(np.count_nonzero(row), 1) ** 0.5
        expected = np.linalg.solve(*system(row, users, penalty)) if row.any() else 0 * vector
        np.testing.assert_allclose(vector, expected, rtol=1e-2, atol=1e-4)
    counts = [np.maximum((dense > 0).sum(axis=axis), 1) ** 0.5 for axis in (1, 0)]
    loss = ((1 + dense) * ((dense > 0) - users @ items.T) ** 2).sum()
    loss += 0.7 * (counts[0] @ (users**2).sum(1) + counts[1] @ (items**2).sum(1))
    assert model.history is not None
    assert model.history.samples == np.count_nonzero(dense)
    assert model.history.loss[-1] == pytest.approx(loss / np.count_nonzero(dense), rel=1e-4)
    assert model.history.loss == sorted(model.history.loss, reverse=True)
    assert "values" in model.fitted.arrays or not (dense > 3).any()


def test_it_learns_what_popularity_cannot() -> None:
    train, test = make_interactions(400, 160, 25, seed=1).split(0.2, seed=1)
    learnt, popular = (
        evaluate(model.fit(train), test, ["ndcg@10"], resamples=1)["ndcg@10"]
        for model in (ImplicitALS(factors=16), Popularity())
    )
    assert learnt > 1.3 * popular


def test_bits_do_not_depend_on_threads(data: Interactions) -> None:
    one, many = (ImplicitALS(num_threads=n, epochs=2).fit(data) for n in (1, 0))
    for name in ("users", "items"):
        np.testing.assert_array_equal(one.fitted.arrays[name], many.fitted.arrays[name])
    other = ImplicitALS(random_state=1, epochs=2).fit(data)
    assert (other.fitted.arrays["items"] != one.fitted.arrays["items"]).any()


def amounts(values: list[float] | None, weights: list[float] | None = None) -> Interactions:
    users, items = ["a", "a", "b", "b", "c"], ["x", "x", "x", "y", "z"]
    return Interactions.from_ids(users, items, values=values, weights=weights)


def test_amounts_are_added_up() -> None:
    def fitted(data: Interactions) -> Any:
        return ImplicitALS(factors=2, epochs=2).fit(data).fitted.arrays

    twice = fitted(amounts(None))
    np.testing.assert_array_equal(twice["values"], [2, 1, 1, 1])
    for same in (amounts([0.5, 1.5, 1, 1, 1]), amounts([1, 3, 2, 2, 2], [0.5] * 5)):
        np.testing.assert_array_equal(fitted(same)["users"], twice["users"])
    nothing = fitted(amounts([1, 1, 1, 1, 0]))
    np.testing.assert_array_equal(nothing["users"][2], 0)
    np.testing.assert_array_equal(nothing["items"][2], 0)
    assert nothing["users"][0].any()


def test_a_new_user_of_large_amounts_is_exact_or_refused() -> None:
    data = make_interactions(n_users=40, n_items=30)
    model = ImplicitALS(factors=8, epochs=3).fit(data)
    items = model.fitted.arrays["items"].astype(float)
    had = items[:2]
    penalties = model.fitted.params["l2"] * 2**model.l2_power * np.eye(8)
    directions = np.linalg.solve(items.T @ items + penalties, had.T)
    for amount in (1.0, 1e5, 1e10):
        weight = model.alpha * amount
        # By the two items' equations, which are as well conditioned for any amount.
        inner = np.linalg.solve(np.eye(2) / weight + had @ directions, np.ones(2))
        expected = directions @ inner * (1 + 1 / weight)
        found = model.fold_in(model.item_ids.values[:2], values=[amount] * 2).query
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    for amount in (1e16, 1e30):
        with pytest.raises(FloatingPointError, match="no finite solution in double precision"):
            model.fold_in(model.item_ids.values[:2], values=[amount] * 2)


def test_what_is_no_amount_is_refused() -> None:
    model = ImplicitALS(factors=2, epochs=1)
    with pytest.raises(ValueError, match=r"data has the value -1.0 at 1, expected at least 0"):
        model.fit(amounts([1, -1, 1, 1, 1]))
    with pytest.raises(ValueError, match="no interaction of a value above 0"):
        model.fit(amounts([0] * 5))
    with pytest.raises(ValueError, match="add up to inf"):
        model.fit(amounts([3e38, 3e38, 1, 1, 1]))
    with pytest.raises(ValueError, match=r"alpha is 10\.0 and the largest value"):
        ImplicitALS(alpha=10.0).fit(amounts([2e38, 1, 1, 1, 1]))
    with pytest.raises(FloatingPointError, match="no finite solution"):
        ImplicitALS(alpha=1e30).fit(amounts([1e8, 1, 1, 1, 1]))
    with pytest.raises(ValueError, match=r"l2 is 1e\+300, expected penalties within single"):
        ImplicitALS(l2=1e300).fit(amounts(None))
    for wrong in ({"l2": 0}, {"alpha": -1}, {"cg_steps": 0}, {"solver": "lu"}, {"l2_power": 2}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            ImplicitALS(**wrong).fit(amounts(None))
    assert not model.is_fitted


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (4, 1)])
def test_small_data(shape: tuple[int, int]) -> None:
    users, items = np.nonzero(np.ones(shape))
    data = Interactions(users, items, range(shape[0]), range(shape[1]))
    model = ImplicitALS(factors=3, solver="cholesky", l2=1e-3).fit(data)
    assert model.recommend(0) == []
    np.testing.assert_allclose(model.predict(users, items), 1, atol=0.02)


def test_a_new_user_is_solved_exactly(data: Interactions) -> None:
    model = ImplicitALS(factors=7, alpha=4, l2=2).fit(data)
    had = model.seen.row(3)
    items = model.fitted.arrays["items"].astype(np.float64)
    row = np.zeros(len(items))
    row[had] = 4
    expected = np.linalg.solve(*system(row, items, 2 * len(had) ** 0.5))
    new = model.fold_in(data.item_ids.take(had))
    np.testing.assert_allclose(new.query, expected, rtol=1e-4, atol=1e-6)
    assert model.fold_in([]).query is not None
    np.testing.assert_array_equal(model.fold_in([]).query, 0)


def test_a_new_user_has_so_much_of_each_item(data: Interactions) -> None:
    counted = replace(data, values=np.arange(len(data)) % 4)
    model = ImplicitALS(factors=7, alpha=4, l2=2).fit(counted)
    ids = data.item_ids.take([5, 9, 5, 2]).tolist()
    new = model.fold_in(ids, values=[3, 1, 2.5, 0])
    items = model.fitted.arrays["items"].astype(np.float64)
    row = np.zeros(len(items))
    row[[5, 9]] = 4 * 5.5, 4
    expected = np.linalg.solve(*system(row, items, 2 * 2**0.5))
    np.testing.assert_allclose(new.query, expected, rtol=1e-4, atol=1e-6)
    assert set(new.items) == {2, 5, 9}
    parts = dict(model.explain(new, data.item_ids[7]))
    assert set(parts) == set(ids)
    assert parts[ids[3]] == 0
    assert sum(parts.values()) == pytest.approx(items[7] @ expected, rel=1e-4)
    one = model.fold_in(ids[:2]).query
    np.testing.assert_array_equal(model.fold_in(ids[:2], values=[1, 1]).query, one)
    np.testing.assert_array_equal(model.fold_in(ids[:1], values=[0]).query, 0)
    for values, message in (
        ([1], "values has 1 numbers, expected one for each of 4 items"),
        ([1, 1, -1, 1], "values has the value -1.0 at 2, expected at least 0"),
        ([3e38, 1, 3e38, 1], "the largest value inf, expected a finite product"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fold_in(ids, values=values)


def test_a_score_is_explained(data: Interactions) -> None:
    model = ImplicitALS(factors=7, alpha=4, l2=2, cg_steps=20, epochs=40).fit(data)
    user, item = data.user_ids[3], data.item_ids[5]
    parts = model.explain(user, item)
    assert {had for had, _ in parts} == set(data.item_ids.take(model.seen.row(3)).tolist())
    assert [part for _, part in parts] == sorted((part for _, part in parts), reverse=True)
    assert sum(part for _, part in parts) == pytest.approx(
        model.predict([user], [item])[0], abs=0.02
    )
    new = model.fold_in([had for had, _ in parts])
    score = float(model.fitted.arrays["items"][5] @ new.query)
    assert sum(part for _, part in model.explain(new, item)) == pytest.approx(score, rel=1e-4)
    with pytest.raises(KeyError, match="nobody"):
        model.explain("nobody", item)


def test_more_data_is_learnt_with_the_old() -> None:
    first = amounts([2, 1, 1, 3, 1])
    more = Interactions.from_ids(["a", "d", "b"], ["z", "x", "x"], values=[1, 5, 2])
    model = ImplicitALS(factors=3, l2=1.0, epochs=60, solver="cholesky")
    model.fit(first).partial_fit(more, epochs=60)
    users = ["a", "a", "b", "b", "c", "a", "d", "b"]
    items = ["x", "x", "x", "y", "z", "z", "x", "x"]
    at_once = copy.copy(model).fit(
        Interactions.from_ids(users, items, values=[2, 1, 1, 3, 1, 1, 5, 2])
    )
    np.testing.assert_array_equal(model.fitted.arrays["values"], at_once.fitted.arrays["values"])
    everyone = [*"abcd"], ["x", "y", "z", "x"]
    np.testing.assert_allclose(model.predict(*everyone), at_once.predict(*everyone), atol=1e-3)
    with pytest.raises(ValueError, match="factors is 5, and was 3"):
        model.set_params(factors=5).partial_fit(more)


def test_files_and_similarity(data: Interactions, tmp_path: Any) -> None:
    values = np.linspace(0.5, 3, len(data))
    rated = Interactions(data.users, data.items, data.user_ids, data.item_ids, values)
    model = ImplicitALS(factors=4, epochs=2).fit(rated)
    model.save(tmp_path / "als.safetensors")
    again = ImplicitALS.load(tmp_path / "als.safetensors")
    assert again.get_params() == model.get_params()
    for name, array in model.fitted.arrays.items():
        np.testing.assert_array_equal(array, again.fitted.arrays[name])
    ids = [model.item_ids[0]], 3
    np.testing.assert_array_equal(model.similar_items(*ids).items, again.similar_items(*ids).items)
    # Without histories what is new is learnt, and vectors of all others stay.
    model.save(tmp_path / "short.safetensors", histories=False)
    short = ImplicitALS.load(tmp_path / "short.safetensors")
    user = model.fold_in([data.item_ids[0]], values=[2.0])
    assert short.recommend(user) == model.recommend(user)
    new = Interactions.from_ids([data.user_ids[0]] * 2, [data.item_ids[0], "new"])
    short.partial_fit(new)
    np.testing.assert_array_equal(
        short.fitted.arrays["users"][1:], model.fitted.arrays["users"][1:]
    )
    assert short.fitted.arrays["items"][-1].any()


def test_training_is_watched(data: Interactions) -> None:
    calls: list[int] = []

    def stop_after_two(epoch: int, history: Any) -> bool:
        calls.append(len(history))
        # What it is given is its own.
        for column in (history.loss, history.seconds, history.validation["ndcg@10"]):
            column.append(0.0)
        return epoch == 1

    model = ImplicitALS(factors=4).fit(data, validation=0.2, callback=stop_after_two)
    assert calls == [1, 2]
    assert model.history is not None
    assert len(model.history.seconds) == len(model.history.validation["ndcg@10"]) == 2
    assert model.history.best_epoch in (0, 1)


def chosen(data: Interactions, **settings: Any) -> float:
    """The penalty that a model chooses."""
    model = ImplicitALS(factors=2, epochs=1, num_threads=1, **settings).fit(data)
    assert model.l2 is None
    found: float = model.fitted.params["l2"]
    return found


def test_the_penalty_is_above_what_noise_has() -> None:
    # Two users of three have 2 items each, of four that somebody had: each item once.
    data = Interactions([0, 0, 1, 1], [0, 1, 2, 3], range(3), range(5), [1.0, 2.0, 3.0, 6.0])
    edge = (np.sqrt(2) + 1) * (1 - np.sqrt(4 / 8))
    bound = 0.9 * (1 + 0.2 * 3) * edge
    assert chosen(data) == pytest.approx(bound / 2**0.25)
    assert chosen(data, l2_power=0) == pytest.approx(bound)
    assert chosen(data, alpha=1) == pytest.approx(bound / 2**0.25 * 4 / 1.6)
    # A pair of an amount of 0 is none, and what is had twice adds up.
    more = Interactions([2, 0, 0], [4, 0, 1], range(3), range(5), [0.0, 0.25, 0.5])
    both = Interactions(
        [*data.users, *more.users],
        [*data.items, *more.items],
        range(3),
        range(5),
        [1, 2, 3, 6, 0, 0.25, 0.5],
    )
    assert chosen(both) == pytest.approx(bound / 2**0.25 * (1 + 0.2 * 12.75 / 4) / 1.6)
    later = ImplicitALS(factors=2, epochs=1, num_threads=1).fit(data).partial_fit(more)
    assert later.fitted.params["l2"] == pytest.approx(chosen(both))
    # Where everybody had everything a tenth is left.
    full = Interactions([0, 0, 1, 1], [0, 1, 0, 1], range(2), range(2))
    assert chosen(full, l2_power=0) == pytest.approx(0.9 * 1.2 * 2 * np.sqrt(2) * 0.1)


@pytest.mark.parametrize("size", [(3000, 1000, 5), (2000, 800, 40), (200, 50, 25)])
def test_sparse_and_dense_data_are_learnt_with_the_defaults(size: tuple[int, int, int]) -> None:
    train, test = make_interactions(*size, seed=7).split(0.2, 1)

    def quality(model: Any) -> float:
        return evaluate(model.fit(train), test, ["ndcg@10"], resamples=1)["ndcg@10"]

    # A penalty of 1.6 gave 1.1 times of popularity, of the sparse data.
    assert quality(ImplicitALS(num_threads=1)) > 1.4 * quality(Popularity())
