"""What Rust ranks and measures, against definitions spelt out in NumPy.

Factors are small integers, so that scores are exact and ties are plenty.
"""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wyrmling import _core

Scores = npt.NDArray[np.float32]
Pairs = set[tuple[int, int]]
N_USERS, N_ITEMS = 6, 25


def grouped(pairs: Pairs) -> _core.Csr:
    columns = np.array(sorted(pairs), np.uint32).reshape(-1, 2)
    users, items = columns.T.copy()
    return _core.Csr(users, items, N_USERS, N_ITEMS)


def naive(scores: Scores, train: Pairs, test: Pairs, k: int) -> list[dict[str, object]]:
    """What is found of each user, item by item."""
    rows: list[dict[str, object]] = []
    for u in range(N_USERS):
        competing = [i for i in range(N_ITEMS) if (u, i) not in train]
        held_out = [i for i in competing if (u, i) in test]
        others = [i for i in competing if (u, i) not in test]
        width = min(k, N_ITEMS)
        best = sorted(competing, key=lambda i: (-scores[u, i], i))[:k] if held_out else []
        missing = width - len(best)
        order = [
            1.0 if scores[u, i] > scores[u, j] else 0.5 if scores[u, i] == scores[u, j] else 0.0
            for i in held_out
            for j in others
        ]
        highest = max((scores[u, i] for i in held_out), default=np.inf)
        rows.append(
            {
                "held_out": len(held_out),
                "best_rank": sum(scores[u, j] >= highest for j in competing),
                "auc": float(np.mean(order)) if order else 0.5 if held_out else np.nan,
                "items": best + [_core.NO_ITEM] * missing,
                "scores": [scores[u, i] for i in best] + [-np.inf] * missing,
                "hits": [i in held_out for i in best] + [False] * missing,
            }
        )
    return rows


PAIRS = st.sets(st.tuples(st.integers(0, N_USERS - 1), st.integers(0, N_ITEMS - 1)), max_size=60)


@settings(deadline=None)
@given(st.integers(0, 2**32), PAIRS, PAIRS, st.integers(1, 30), st.booleans(), st.integers(0, 3))
def test_metrics_are_what_they_are_defined_to_be(
    seed: int, train: Pairs, test: Pairs, k: int, biased: bool, factors: int
) -> None:
    rng = np.random.default_rng(seed)
    users = rng.integers(-2, 3, (N_USERS, factors)).astype(np.float32)
    items = rng.integers(-2, 3, (N_ITEMS, factors)).astype(np.float32)
    bias = rng.integers(-2, 3, N_ITEMS).astype(np.float32) if biased else None
    scores = users @ items.T + (0 if bias is None else bias)
    arguments = users, items, bias, grouped(train), grouped(test), k
    found = _core.evaluate_ranking(*arguments, True)
    for u, expected in enumerate(naive(scores, train, test, k)):
        for name, value in expected.items():
            np.testing.assert_allclose(found[name][u], value, atol=1e-12, err_msg=name)
    lists = _core.evaluate_ranking(*arguments, False)
    assert set(lists) == set(found) - {"best_rank", "auc"}
    for name, column in lists.items():
        np.testing.assert_array_equal(column, found[name])
    if not train:
        alike = _core.evaluate_ranking(users, items, bias, None, grouped(test), k, True)
        for name, column in alike.items():
            np.testing.assert_array_equal(column, found[name])


@pytest.mark.parametrize("held_out", [4, 5, 63, 64, 8191, 8192, 9000])
def test_of_many_held_out_items_each_counts_once(held_out: int) -> None:
    """Few are compared with all scores, more are searched as trees, and many by bisection."""
    rng = np.random.default_rng(held_out)
    scores = rng.integers(-50, 50, 12_000).astype(np.float32)
    scores[::97] = rng.choice([-0.0, np.inf, -np.inf], len(scores[::97]))
    mask = np.zeros(12_000, bool)
    mask[rng.permutation(12_000)[:held_out]] = True
    users, items = np.zeros((1, 1), np.float32), np.zeros((12_000, 1), np.float32)
    test = _core.Csr(np.zeros(held_out, np.uint32), np.flatnonzero(mask).astype("u4"), 1, 12_000)
    found = _core.evaluate_ranking(users, items, scores, None, test, 10, True)
    others = np.sort(scores[~mask])
    above = np.searchsorted(others, scores[mask]) + np.searchsorted(others, scores[mask], "right")
    assert found["auc"][0] == pytest.approx(above.mean() / 2 / len(others), abs=1e-12)
    assert found["best_rank"][0] == (scores >= scores[mask].max()).sum()


def test_the_best_items_are_those_of_a_stable_sort() -> None:
    rng = np.random.default_rng(5)
    users = rng.integers(-3, 4, (40, 4)).astype(np.float32)
    items = rng.integers(-3, 4, (90, 4)).astype(np.float32)
    columns = rng.integers(0, 40, 300), rng.integers(0, 90, 300)
    seen = _core.Csr(columns[0].astype(np.uint32), columns[1].astype(np.uint32), 40, 90)
    scores = users @ items.T
    scores[columns] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")[:, :12]
    ids, best = _core.top_k(users, items, None, seen, 12)
    assert ids.dtype == np.uint32
    np.testing.assert_array_equal(ids, order)
    np.testing.assert_array_equal(best, np.take_along_axis(scores, order, 1))


def test_what_does_not_fit_is_refused() -> None:
    users, items = np.zeros((N_USERS, 2), np.float32), np.zeros((N_ITEMS, 2), np.float32)
    train, test, evaluate = grouped(set()), grouped({(0, 0)}), _core.evaluate_ranking
    with pytest.raises(ValueError, match="k is 0"):
        evaluate(users, items, None, train, test, 0, True)
    with pytest.raises(ValueError, match="columns"):
        evaluate(users[:, :1], items, None, train, test, 10, True)
    with pytest.raises(ValueError, match="train is about 6 users and 25 items"):
        evaluate(users[:3], items, None, train, test, 10, True)
    with pytest.raises(ValueError, match="found 3 for 25 items"):
        evaluate(users, items, np.zeros(3, np.float32), train, test, 10, True)
    with pytest.raises(TypeError):
        evaluate(users.astype(np.float64), items, None, train, test, 10, True)  # type: ignore[arg-type]
    users[1] = np.nan
    with pytest.raises(FloatingPointError, match="user 1 "):
        evaluate(users, items, None, train, grouped({(1, 0)}), 10, True)
    with pytest.raises((ValueError, OverflowError)):
        _core.top_k(users, items, None, None, -1)


def test_what_is_of_another_type_is_named() -> None:
    users, items = np.ones((N_USERS, 2), np.float32), np.ones((N_ITEMS, 2), np.float32)
    some, other = grouped({(0, 1)}), grouped({(0, 2)})
    for refused, arguments in {
        "users: expected an array.* got NoneType": (None, items, None, some, other, 10, True),
        "items: expected an array.* got list": (users, [], None, some, other, 10, True),
        r"(?s)'None' is not an instance of 'Csr'.*test": (users, items, None, some, None, 10, True),
        "list": (users, items, None, some, [], 10, True),
    }.items():
        with pytest.raises(TypeError, match=refused):
            _core.evaluate_ranking(*arguments)  # type: ignore[arg-type]


def test_pairs_can_be_read_back() -> None:
    users, items = np.array([2, 0, 2, 2], np.uint32), np.array([1, 0, 0, 1], np.uint32)
    pairs = _core.Csr(users, items, 4, 2)
    assert pairs.indptr.tolist() == [0, 1, 1, 3, 3]
    assert pairs.indices.tolist() == [0, 0, 1]
    assert [pairs.row(user).tolist() for user in range(4)] == [[0], [], [0, 1], []]
    for user in (4, 2**70):
        with pytest.raises((IndexError, ValueError, OverflowError), match="user"):
            pairs.row(user)
    pairs.indices[0] = 1  # a copy
    assert pairs.row(0).tolist() == [0]
