"""Every model: what it answers, beside NumPy, by ids of all kinds, to users known and new."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import every_model
import numpy as np
import pytest
from every_model import (
    DATA,
    HAD,
    ITEMS,
    N_ITEMS,
    N_USERS,
    NAMES,
    TRAINED,
    USERS,
    alike,
    check_ranking,
    cosines,
    fitted,
    fold,
    interactions,
    make,
    scores_of,
    weights_of,
)

from wyrmling import recommend
from wyrmling.data import Interactions
from wyrmling.datasets import make_interactions
from wyrmling.evaluation import evaluate
from wyrmling.recommend import Popularity, Recommendations, Recommender

pytestmark = pytest.mark.filterwarnings("ignore:.* is worse than the ranking by popularity")
every = pytest.mark.parametrize("name", NAMES)
trained = pytest.mark.parametrize("name", TRAINED)


def test_every_model_is_here() -> None:
    kinds, new = {Recommender}, [Recommender]
    while new:
        new = [kind for one in new for kind in one.__subclasses__()]
        kinds.update(new)
    own = {k for k in kinds if k.__module__.startswith("wyrmling.") and every_model.is_model(k)}
    assert {kind.__name__ for kind in own} == set(NAMES)
    assert len(NAMES) >= 15


# Ranking.


@every
@pytest.mark.parametrize("exclude", [True, False])
def test_the_best_scores_are_recommended(name: str, exclude: bool) -> None:
    model = fitted(name)
    scores = scores_of(model)
    for n in (1, 5, N_ITEMS, 10**30):
        found = model.recommend(USERS, n, exclude_seen=exclude)
        assert isinstance(found, Recommendations)
        assert found.of.tolist() == USERS
        assert found.items.shape == found.scores.shape == (N_USERS, min(n, N_ITEMS))
        for user in range(N_USERS):
            allowed = ~HAD[user] if exclude else np.ones(N_ITEMS, bool)
            check_ranking(found.row(user), scores[user], allowed, n)
    for user in (0, 1, 7):
        assert alike(model.recommend(USERS[user], n, exclude_seen=exclude), found.row(user))


@every
def test_items_are_chosen_and_left_out(name: str) -> None:
    model = fitted(name)
    scores = scores_of(model)
    for given, left_out in (([3, 5, 3, 19], []), ([], []), (None, [0, 0, 7]), ([3, 4], [4])):
        allowed = np.zeros(N_ITEMS, bool)
        allowed[range(N_ITEMS) if given is None else given] = True
        allowed[left_out] = False
        items = None if given is None else [ITEMS[number] for number in given]
        for choices in (list, np.array, iter, set):
            one = None if items is None else choices(items)
            found = model.recommend(
                "u2", 9, items=one, filter_items=choices([ITEMS[k] for k in left_out])
            )
            check_ranking(found, scores[2], allowed & ~HAD[2], 9)
    everything = model.recommend("u2", items=ITEMS, filter_items=ITEMS)
    assert everything == model.recommend("u0") == model.recommend("u0", items=["i3"]) == []
    assert model.recommend(["u2", "u3"], items=[]).items.shape == (2, 0)


@every
def test_equal_scores_rank_by_number(name: str) -> None:
    model = fitted(name)
    state = model.fitted
    same = {n: np.zeros_like(a) if a.dtype.kind == "f" else a for n, a in state.arrays.items()}
    level = model._with(dataclasses.replace(state, arrays=same))
    assert [item for item, _ in level.recommend("u5", 20, exclude_seen=False)] == ITEMS
    unseen = np.flatnonzero(~HAD[5])
    assert [item for item, _ in level.recommend("u5", 4)] == [ITEMS[k] for k in unseen[:4]]


@every
def test_predictions_are_the_scores(name: str) -> None:
    model = fitted(name)
    users, items = np.divmod(np.arange(N_USERS * N_ITEMS)[::-1], N_ITEMS)
    found = model.predict(DATA.user_ids.take(users), DATA.item_ids.take(items))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, scores_of(model)[users, items], rtol=1e-4, atol=1e-5)
    assert model.predict([], []).shape == (0,)
    best = model.recommend("u3", 4, exclude_seen=False)
    again = model.predict(["u3"] * 4, [item for item, _ in best])
    np.testing.assert_allclose(again, [score for _, score in best], rtol=1e-4, atol=1e-5)


@every
def test_neighbours_are_those_of_the_similarity(name: str) -> None:
    model = fitted(name)
    arrays = model.fitted.arrays
    if name == "Popularity":
        with pytest.raises(TypeError, match="Popularity does not compare items"):
            model.similar_items("i3")
    else:
        table = cosines(arrays["items"]) if "items" in arrays else weights_of(model)
        # Similarities are lists of each item's neighbours, weights of what an item speaks for.
        table = table.T if name == "ItemKNN" else table
        found = model.similar_items([*ITEMS, "i3"], 10**20)
        assert found.of.tolist() == [*ITEMS, "i3"]
        # There is no column for the item itself.
        assert found.items.shape == (N_ITEMS + 1, N_ITEMS - 1)
        for item in range(N_ITEMS):
            check_ranking(found.row(item), table[item], np.arange(N_ITEMS) != item, N_ITEMS)
        assert found.row(3) == found.row(N_ITEMS)
        assert alike(model.similar_items("i3", 50), found.row(3))
        assert len(model.similar_items([], 3)) == 0
    if "users" not in arrays:
        with pytest.raises(TypeError, match=f"{name} does not compare users"):
            model.similar_users("u3")
    else:
        table = cosines(arrays["users"])
        near = model.similar_users("u3", 7)
        check_ranking(near, table[3], np.arange(N_USERS) != 3, 7, USERS)


@every
def test_evaluation_ranks_as_recommend_does(name: str) -> None:
    train, test = DATA.split(0.25, seed=2)
    model = make(name).fit(train)
    found = evaluate(model, test, ["hit@3", "recall@5"], resamples=1)
    held_out = np.zeros((N_USERS, N_ITEMS), bool)
    held_out[test.users, test.items] = True
    had = np.zeros((N_USERS, N_ITEMS), bool)
    had[train.users, train.items] = True
    scores = np.where(had, -np.inf, scores_of(model, had).astype(np.float32))
    ranks = (scores[:, None, :] >= scores[:, :, None]).sum(axis=2)
    users = held_out.any(axis=1)
    recall = ((ranks <= 5) & held_out).sum(axis=1)[users] / held_out.sum(axis=1)[users]
    assert found["recall@5"] == pytest.approx(recall.mean())
    assert found["hit@3"] == pytest.approx(((ranks <= 3) & held_out).any(axis=1)[users].mean())


@every
def test_answers_become_data_frames(name: str) -> None:
    pytest.importorskip("pandas")
    frame = fitted(name).recommend(["u0", "u2", "u2"], 2).to_pandas()
    assert frame["of"].tolist() == ["u2"] * 4  # u0 had everything
    assert frame["rank"].tolist() == [1, 2, 1, 2]
    pairs = fitted(name).recommend(["u2", "u3"], 2).row(0)
    assert frame["item"].tolist() == [item for item, _ in pairs] * 2
    np.testing.assert_allclose(frame["score"], [score for _, score in pairs] * 2, rtol=1e-5)
    assert fitted(name).recommend([], 2).to_pandas().shape == (0, 4)


def test_data_frames_have_integers_where_a_list_ends_early() -> None:
    pytest.importorskip("pandas")
    model = Popularity().fit(Interactions.from_ids([7, 7, 8], [1, 2, 1]))
    frame = model.recommend([7, 8], 2).to_pandas()
    assert frame["item"].tolist() == [2]
    assert frame.dtypes[["of", "item"]].tolist() == [np.int64, np.int64]


# Ids.


@every
def test_users_who_are_not_known(name: str) -> None:
    model = fitted(name)
    popular = Popularity().fit(DATA).recommend("u1", 3, exclude_seen=False)
    assert model.recommend("who", 3, cold_start="popular") == popular
    found = model.recommend(["who", "u2", 7], 3, cold_start="popular")
    assert found.of.tolist() == ["who", "u2", 7]
    assert [found.row(0), found.row(2)] == [popular] * 2
    assert alike(found.row(1), model.recommend("u2", 3))
    with pytest.raises(KeyError, match="user 'who' is not among the 30 users"):
        model.recommend("who")
    with pytest.raises(KeyError, match="user 7 is not among"):
        model.recommend(["u2", 7])


@every
def test_ids_of_all_kinds_stand_for_the_same(name: str) -> None:
    """Beyond 32 bits, negative, of both kinds; answers are by the callers' ids."""
    model = fitted(name)
    texts = [f"{n}" if n % 2 else n for n in range(N_ITEMS)]
    for user_ids, item_ids in (
        ([2**40 + n for n in range(N_USERS)], [-(2**50) - n for n in range(N_ITEMS)]),
        ([-n for n in range(N_USERS)], [2**63 - 1 - n for n in range(N_ITEMS)]),
        ([f"ü\0{n}\0" for n in range(N_USERS)], texts),
    ):
        other = make(name).fit(interactions(user_ids, item_ids))
        found = other.recommend(user_ids, 4)
        assert found.of.tolist() == user_ids
        for user in (1, 2, 29):
            pairs = [(item_ids[ITEMS.index(i)], s) for i, s in model.recommend(USERS[user], 4)]
            assert alike(found.row(user), pairs)
            assert alike(other.recommend(user_ids[user], 4), pairs)
            assert [type(item) for item, _ in found.row(user)] == [type(i) for i, _ in pairs]
        if not isinstance(user_ids[0], str):  # NumPy's text drops NULs at the end
            several = np.array(user_ids[3:6])
            assert other.recommend(several, 4).items.tolist() == found.items[3:6].tolist()


@every
def test_repeated_ids_are_answered_each(name: str) -> None:
    model = fitted(name)
    for ids in (["u2", "u3", "u2"], np.array(["u2", "u3", "u2"]), iter(["u2", "u3", "u2"])):
        found = model.recommend(ids, 3)
        assert found.of.tolist() == ["u2", "u3", "u2"]
        assert found.row(0) == found.row(2)
        assert alike(found.row(0), model.recommend("u2", 3))
    assert model.recommend(np.str_("u2"), 3) == model.recommend("u2", 3)
    for nobody in ([], (), np.array([]), iter([])):
        found = model.recommend(nobody, 3)
        assert found.items.shape == found.scores.shape == (0, 3)
        assert found.of.dtype.kind in "iO"


@every
def test_repeated_pairs_are_one_thing_to_leave_out(name: str) -> None:
    data = Interactions.from_ids(
        list("aaaabbccca"), list("xxxyxzyzzx"), values=range(1, 11), times=[5] * 10
    )
    model = make(name).fit(data)
    assert [item for item, _ in model.recommend("a")] == ["z"]
    assert len(model.recommend("b", exclude_seen=False)) == 3


# New users.


@every
def test_new_users(name: str) -> None:
    model = fitted(name)
    before = {key: array.copy() for key, array in model.fitted.arrays.items()}
    new = fold(model, ["i3", "i5", "i3"])
    assert new.items.tolist() == [3, 5]
    best = model.recommend(new, 30)
    assert len(best) == N_ITEMS - 2
    assert not {"i3", "i5"} & {item for item, _ in best}
    again = model.recommend([fold(model, ["i4"]), new], 30)
    assert alike(again.row(1), best)
    assert again.of.tolist() == [None, None]
    everything = model.recommend(new, 30, exclude_seen=False, items=["i3", "i7"])
    assert {item for item, _ in everything} == {"i3", "i7"}
    assert model.recommend(fold(model, ITEMS)) == []
    nobody = model.recommend(fold(model, []), 30)
    assert len(nobody) == N_ITEMS
    assert all(np.isfinite(score) for _, score in nobody)
    for key, array in model.fitted.arrays.items():
        np.testing.assert_array_equal(array, before[key])


@every
def test_new_users_of_other_models_are_refused_or_right(name: str) -> None:
    model = fitted(name)
    of_ease = fitted("EASE").fold_in(["i3"])
    beyond = recommend.NewUser(np.array([99], np.uint32), fold(model, ["i3"]).query)
    with pytest.raises(IndexError, match="99"):
        model.recommend(beyond)
    if "users" not in model.fitted.arrays:
        assert len(model.recommend(of_ease)) == 10
        return
    for row, given in enumerate((of_ease, [fold(model, ["i3"]), of_ease])):
        with pytest.raises(ValueError, match=f"users: new user {row}.* is of another model"):
            model.recommend(given)


def test_new_users_are_of_the_model_that_made_them() -> None:
    """A copy of the model takes them, and neither another one nor the same one after a fit does."""
    made = {seed: make_interactions(60, 40, seed=seed) for seed in (1, 7)}
    one, other = (
        recommend.ImplicitALS(factors=4, epochs=2, num_threads=1).fit(made[seed]) for seed in (1, 7)
    )
    item = one.item_ids.values[0]
    user = one.fold_in([item])
    best = one.recommend(user, 3)
    for copied in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert copied.recommend(user, 3) == best
        assert copied.explain(user, item) == one.explain(user, item)
    ease = recommend.EASE().fit(made[1])
    for model in (other, ease, one.fit(made[7])):
        with pytest.raises(ValueError, match=r"users: new user 0, .* is of another model"):
            model.recommend(user, 3)
        with pytest.raises(ValueError, match="is of another model"):
            model.explain(user, item)
    # What has a history alone is answered by any model of the same items.
    knn = recommend.ItemKNN().fit(made[1])
    assert knn.recommend(ease.fold_in([item])) == knn.recommend(knn.fold_in([item]))
    with pytest.raises(ValueError, match="is of another model"):
        recommend.ItemKNN().fit(make_interactions(60, 41)).recommend(ease.fold_in([item]))


def overflowing(name: str, is_nan: bool) -> Any:
    """A model, fitted before, whose scores single precision cannot hold: infinite, or NaN."""
    model = fitted(name)
    arrays = dict(model.fitted.arrays)
    for key in ("users", "items", "similarities"):
        if key in arrays:
            large = np.full_like(arrays[key], 3e38)
            if is_nan and key == "items":
                large[:, 1::2] *= -1
            arrays[key] = large
    return model._with(dataclasses.replace(model.fitted, arrays=arrays))


@pytest.mark.parametrize("name", [n for n in NAMES if "users" in fitted(n).fitted.arrays])
def test_a_score_that_is_no_number_is_refused_by_all_that_is_asked(name: str) -> None:
    model = overflowing(name, is_nan=True)
    says = "is not a number: the factors hold NaN or are so large that their product overflows"
    with pytest.raises(FloatingPointError, match=f"^the score of user 'u2' and item 'i4' {says}"):
        model.predict(["u2", "u3"], ["i4", "i4"])
    with pytest.raises(FloatingPointError, match=says):
        model.recommend("u2")
    with pytest.raises(FloatingPointError, match=r"^the score of item 'i4' is nan"):
        model.explain("u2", "i4")


@pytest.mark.parametrize(
    "name",
    [n for n in NAMES if {"users", "similarities"} & set(fitted(n).fitted.arrays)],
)
def test_nothing_adds_up_to_an_infinite_score(name: str) -> None:
    model = overflowing(name, is_nan=False)
    scores = dict(model.recommend("u2", N_ITEMS, exclude_seen=False))
    (item,) = [next(item for item, score in scores.items() if score == np.inf)]
    assert model.predict(["u2"], [item]).tolist() == [np.inf]
    with pytest.raises(FloatingPointError, match=f"^the score of item '{item}' is inf"):
        model.explain("u2", item)
