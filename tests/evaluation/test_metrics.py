"""``evaluate`` against the metrics' definitions, spelt out item by item, and at special points.

Scores are small integers, so that ties are plenty and sums are exact.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ranking_oracle import Pairs, interactions, metric, model_of

from wyrmling import _core
from wyrmling.data import Interactions
from wyrmling.evaluation import compare, evaluate, metrics, ranking
from wyrmling.evaluation.trained import Trained
from wyrmling.recommend import Popularity

N_USERS, N_ITEMS = 5, 9
NAMES = [
    *(f"{kind}@{k}" for kind in (*metrics.AT_K, *metrics.LISTED, "mrr") for k in (1, 3, 9, 50)),
    *("mrr", "auc", "coverage", "novelty"),
]
PAIRS = st.sets(st.tuples(st.integers(0, N_USERS - 1), st.integers(0, N_ITEMS - 1)), max_size=40)


@settings(deadline=None)
@given(st.integers(0, 2**32), PAIRS, PAIRS, st.booleans())
def test_metrics_are_what_they_are_defined_to_be(
    seed: int, train: Pairs, test: Pairs, exclude_seen: bool
) -> None:
    scores = np.random.default_rng(seed).integers(-2, 3, (N_USERS, N_ITEMS))
    model, held_out = model_of(scores, train), interactions(test, N_USERS, N_ITEMS)
    expected = {name: metric(name, scores, train, test, exclude_seen) for name in NAMES}
    if not expected["auc"]:
        with pytest.raises(ValueError, match="test has nothing to measure"):
            evaluate(model, held_out, NAMES, exclude_seen=exclude_seen)
        return
    found = evaluate(model, held_out, NAMES, exclude_seen=exclude_seen)
    assert list(found) == NAMES
    assert found.users.tolist() == [f"u{user}" for user in expected["auc"]]
    for name in NAMES:
        values = list(expected[name].values())
        assert found[name] == pytest.approx(np.mean(values), abs=1e-12), name
        if name.startswith("coverage"):
            assert name not in found.per_user
        else:
            np.testing.assert_allclose(found.per_user[name], values, atol=1e-12, err_msg=name)
    assert found.skipped.seen == (len(train & test) if exclude_seen else 0)


@pytest.mark.parametrize("levels", [1, 2, 3, 10, 1000])
@pytest.mark.parametrize("exclude_seen", [True, False])
def test_ranks_beyond_lists(
    levels: int, exclude_seen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Items enough that the best held-out one, and those with its score, are beyond the list."""
    monkeypatch.setattr(ranking, "LISTED_AT_ONCE", 64)  # several blocks
    rng = np.random.default_rng(levels)
    n_users, n_items = 12, 60
    scores = rng.integers(0, levels, (n_users, n_items)).astype(np.float64)
    test = {(u, i) for u in range(n_users) for i in rng.choice(n_items, 1 + u).tolist()}
    for user, item in test:
        if user % 2:  # what was held out is at the end
            scores[user, item] = -float(rng.integers(1, 1 + levels))
    scores[3, 5], scores[4, :9], scores[5, 7] = np.inf, -np.inf, -np.inf
    train = {(u, i) for u in range(n_users) for i in rng.choice(n_items, 9).tolist()}
    names = [f"{kind}@{k}" for kind in (*metrics.AT_K, "mrr") for k in (1, 4, 5, 59, 60, 61)]
    names += ["mrr", "auc", "novelty@5", "coverage@5"]
    table = scores.astype(np.float32)
    data = interactions(train, n_users, n_items)
    seen = _core.Csr(data.users, data.items, n_users, n_items)
    # The scores of an item are its own; a product of infinity with 0 would be no number.
    items = np.zeros((n_items, 0), np.float32)

    class Blocks:
        def __init__(self, users: npt.NDArray[np.uint32]) -> None:
            self.users = users

        def blocks(self) -> Iterator[tuple[npt.NDArray[np.uint32], Any]]:
            for row, user in enumerate(self.users.tolist()):
                one = np.zeros((1, 0), np.float32), items, table[user]
                yield np.array([row], np.uint32), one

    model = Trained(data.user_ids, data.item_ids, seen, Blocks)
    held_out = interactions(test, n_users, n_items)
    found = evaluate(model, held_out, names, exclude_seen=exclude_seen)
    for name in names:
        expected = metric(name, scores, train, test, exclude_seen)
        assert found[name] == pytest.approx(np.mean(list(expected.values())), abs=1e-12), name
        # One by one, lists have other lengths.
        alone = evaluate(model, held_out, name, exclude_seen=exclude_seen)
        assert alone[name] == pytest.approx(found[name], abs=1e-12), name


def test_a_curve_over_numbers_of_items_adds_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    test = {(u, int(i)) for u in range(6) for i in rng.choice(30, 5)}
    model = model_of(rng.integers(0, 9, (6, 30)), set())
    names = [f"{kind}@{k}" for kind in (*metrics.AT_K, *metrics.LISTED) for k in range(1, 33)]
    alone = {name: evaluate(model, interactions(test, 6, 30), name)[name] for name in names}
    sums = []
    cumulated = np.cumsum
    monkeypatch.setattr(np, "cumsum", lambda x, **given: sums.append(x) or cumulated(x, **given))
    found = evaluate(model, interactions(test, 6, 30), names)
    assert dict(found) == pytest.approx(alone, abs=1e-12)
    # The ideal gains, of one axis, are those of the user's own number of items.
    assert sum(np.ndim(one) == 2 for one in sums) <= 5


def test_scores_that_are_equal_but_for_rounding() -> None:
    """The ranks of products that NumPy adds up in another order, and of equal vectors."""
    rng = np.random.default_rng(8)
    users, items = rng.normal(size=(20, 33)), rng.normal(size=(50, 33))
    items[25:] = items[:25]
    users[0] = 0.0
    test = {(u, i) for u in range(20) for i in (u, u + 25, (u + 7) % 50)}
    data = interactions(test, 20, 50)
    vectors = users.astype(np.float32), items.astype(np.float32)
    empty = _core.Csr(*(np.zeros(0, np.uint32),) * 2, 20, 50)
    model = Trained(
        data.user_ids, data.item_ids, empty, lambda rows: (vectors[0][rows], vectors[1], None)
    )
    found = evaluate(model, data, "mrr").per_user["mrr"]
    # Of items with equal vectors both count, so that ranks are even.
    exact = vectors[0].astype(np.float64) @ vectors[1].astype(np.float64).T
    for user in range(20):
        best = max(exact[user, i] for u, i in test if u == user)
        rank = int((exact[user] >= best - 1e-6).sum())
        assert found[user] == 1 / rank
        assert rank % 2 == 0


def test_all_metrics_are_documented() -> None:
    assert metrics.__doc__ is not None
    for kind in (*metrics.AT_K, *metrics.LISTED):
        assert f"\n``{kind}@k``" in metrics.__doc__
    for kind in metrics.WHOLE:
        assert f"\n``{kind}``" in metrics.__doc__


def test_equal_scores_count_against_the_model() -> None:
    model, test = model_of(np.zeros((1, 4)), set()), interactions({(0, 2)}, 1, 4)
    found = evaluate(model, test, ["mrr", "hit@3", "hit@4", "ndcg@3", "auc"])
    assert dict(found) == {"mrr": 1 / 4, "hit@3": 0, "hit@4": 1, "ndcg@3": 0, "auc": 0.5}


def test_one_item_and_one_user() -> None:
    model, test = model_of([[3.0]], set()), interactions({(0, 0)}, 1, 1)
    found = evaluate(model, test)
    assert found.n_users == 1
    assert found["ndcg@10"] == found["recall@20"] == found["mrr"] == found["coverage"] == 1
    assert (found["precision@10"], found["auc"], found["novelty"]) == (0.1, 0.5, 0)
    assert found.interval["mrr"] == (1, 1)


def test_nothing_can_be_measured_where_all_was_seen() -> None:
    model = model_of(np.eye(2), {(0, 0), (0, 1), (1, 0)})
    test = interactions({(0, 0), (1, 0)}, 2, 2)
    with pytest.raises(ValueError, match=r"nothing to measure; left out: 2 of pairs that were tr"):
        evaluate(model, test)
    with pytest.raises(ValueError, match="nothing to measure; left out: nothing"):
        evaluate(model, interactions(set(), 2, 2))
    assert evaluate(model, test, "hit@2", exclude_seen=False)["hit@2"] == 1


def test_repeated_rows_count_once_and_are_said() -> None:
    model = model_of([[1.0, 2.0, 3.0]], {(0, 2)})
    test = interactions([(0, 1), (0, 1), (0, 1), (0, 2), (0, 2)], 1, 3)
    found = evaluate(model, test, ["recall@1", "precision@1"])
    assert dict(found) == {"recall@1": 1, "precision@1": 1}
    assert (found.skipped.repeated, found.skipped.seen) == (3, 1)
    assert "1 of pairs that were trained on, 3 of pairs that came before" in repr(found)
    assert "trained on" in found._repr_html_()


def test_ids_are_matched_and_unknown_ones_are_left_out_or_refused() -> None:
    model = model_of([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]], set())
    test = Interactions(
        np.array([0, 1, 2, 1], np.uint32),
        np.array([0, 1, 0, 2], np.uint32),
        ["u1", "u0", "nobody"],
        ["i2", "i1", "nothing"],
    )
    found = evaluate(model, test, "mrr")
    # User u1 has item i2, which is the third; u0 has i1, the second.
    assert found.users.tolist() == ["u0", "u1"]
    assert found.per_user["mrr"].tolist() == [1 / 2, 1 / 3]
    assert found.skipped.unknown == 2
    with pytest.raises(ValueError, match="test has user 'nobody', which the model does not know"):
        evaluate(model, test, unknown="error")
    with pytest.raises(ValueError, match="test has item 'nothing'"):
        evaluate(model, test.take(np.array([0, 3])), unknown="error")
    with pytest.raises(ValueError, match="nothing to measure; left out: 1 of a user or item"):
        evaluate(model, test.take(np.array([2])))


class ArrowLike:
    """A column whose elements are no ids, as the scalars of Arrow and PyTorch are none."""

    def __init__(self, ids: list[str]) -> None:
        self.ids = ids

    def __iter__(self) -> Iterator[object]:
        return ([id] for id in self.ids)

    def __array__(self, dtype: object = None, copy: object = None) -> npt.NDArray[Any]:
        return np.array(self.ids)


def test_users_may_be_chosen() -> None:
    rng = np.random.default_rng(4)
    scores = rng.normal(size=(6, 8))
    test = {(u, i) for u in range(5) for i in rng.choice(8, 3).tolist()}
    model, held_out = model_of(scores, set()), interactions(test, 6, 8)
    whole = evaluate(model, held_out, "auc")
    some = evaluate(model, held_out, "auc", users=["u3", "u1", "u5", "u3", "nobody"])
    assert some.users.tolist() == ["u1", "u3"]
    column: Any = ArrowLike(["u3", "u1"])
    assert evaluate(model, held_out, "auc", users=column).users.tolist() == ["u1", "u3"]
    np.testing.assert_array_equal(some.per_user["auc"], whole.per_user["auc"][[1, 3]])
    assert some.skipped.unasked == sum(user not in (1, 3) for user, _ in test)
    with pytest.raises(ValueError, match="users has 'nobody'"):
        evaluate(model, held_out, users=["u1", "nobody"], unknown="error")
    with pytest.raises(ValueError, match="nothing to measure"):
        evaluate(model, held_out, users=[])
    for others in ("u1", b"u1", 3, 1.5):
        with pytest.raises(TypeError, match=r"users: expected several ids, such as .* got"):
            evaluate(model, held_out, users=others)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"users: row 0, counted from 0, is 1\.5"):
        evaluate(model, held_out, users=[1.5])


MALFORMED = "foo|ndcg|ndcg@|ndcg@0|ndcg@-1|ndcg@1.5|ndcg@x|NDCG@10| mrr|auc@5|mrr@0|ndcg@10 "
MALFORMED += "|ndcg@1_0|ndcg@٣|coverage@0||ndcg@2147483648|ndcg@" + "9" * 5000


@pytest.mark.parametrize("name", MALFORMED.split("|"))
def test_other_names_are_refused(name: str) -> None:
    model, test = model_of(np.eye(2), set()), interactions({(0, 1)}, 2, 2)
    with pytest.raises(ValueError, match=r"^metrics: "):
        evaluate(model, test, ["auc", name])


def test_what_does_not_fit_is_refused() -> None:
    model, test = model_of(np.eye(2), set()), interactions({(0, 1)}, 2, 2)
    for metrics_, found in (([3], "3"), (3, "3"), (None, "None"), (b"auc", "97"), ([[]], r"\[\]")):
        with pytest.raises(TypeError, match=f"metrics: expected strings .*, found {found}"):
            evaluate(model, test, metrics_)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="exclude_seen is 'no', expected True or False"):
        evaluate(model, test, exclude_seen="no")  # type: ignore[arg-type]
    for level in ("x", None, True):
        with pytest.raises(TypeError, match="confidence is"):
            evaluate(model, test, confidence=level)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="metrics is empty"):
        evaluate(model, test, [])
    with pytest.raises(TypeError, match="test: expected Interactions, got list"):
        evaluate(model, [])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="model: expected a fitted model, got str"):
        evaluate("model", test)
    with pytest.raises(ValueError, match="unknown is 'ignore', expected 'skip' or 'error'"):
        evaluate(model, test, unknown="ignore")  # type: ignore[arg-type]
    for confidence in (0, 1, -1, float("nan")):
        with pytest.raises(ValueError, match="confidence is"):
            evaluate(model, test, confidence=confidence)
    with pytest.raises(ValueError, match="resamples is 0"):
        evaluate(model, test, resamples=0)
    for resamples in (1.5, True, "9"):
        with pytest.raises(TypeError, match="resamples"):
            evaluate(model, test, resamples=resamples)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="random_state is -1"):
        evaluate(model, test, random_state=-1)
    with pytest.raises(KeyError, match=r"'auc' was not measured, expected one of mrr"):
        evaluate(model, test, "mrr")["auc"]


def test_scores_that_are_no_numbers_are_refused() -> None:
    model = model_of([[1.0, 2.0], [np.nan, 1.0]], set())
    with pytest.raises(FloatingPointError):
        evaluate(model, interactions({(1, 1)}, 2, 2))
    # Of a user who is not measured they do not matter.
    assert evaluate(model, interactions({(0, 1)}, 2, 2), "mrr")["mrr"] == 1


def test_a_class_is_no_model_and_a_number_no_name() -> None:
    data = Interactions.from_ids(["a", "a", "b"], ["x", "y", "x"])
    with pytest.raises(TypeError, match="expected a fitted model, got the class Popularity"):
        evaluate(Popularity, data)
    with pytest.raises(TypeError, match="models: expected names of type str, got 1"):
        compare({1: Popularity()}, data, data, "auc")
