"""What all recommenders do: learn, rank, answer in ids, and refuse what makes no sense."""

from __future__ import annotations

import copy
import pickle
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from wyrmling.data import Interactions
from wyrmling.datasets import make_interactions
from wyrmling.evaluation import evaluate
from wyrmling.recommend import (
    BPR,
    WARP,
    Custom,
    ExplicitMF,
    LogisticMF,
    Popularity,
    Recommendations,
    Recommender,
    SampledSoftmax,
)

Split = tuple[Interactions, Interactions]


def hinge(users, items, item_bias, user, item, negative):  # type: ignore[no-untyped-def]
    score = users[user] @ items[item] + item_bias[item]
    other = users[user] @ items[negative] + item_bias[negative]
    return max(0.0, 1.0 - score + other)


def hinge_of_the_hardest(users, items, item_bias, user, item, hardest):  # type: ignore[no-untyped-def]
    return hinge(users, items, item_bias, user, item, hardest)


LEARNING = {
    "BPR": BPR(factors=16, epochs=30, num_threads=1),
    "adagrad": BPR(factors=16, epochs=30, num_threads=1, optimizer="adagrad", lr=0.1),
    "adam": BPR(factors=16, epochs=30, num_threads=1, optimizer="adam", lr=0.01),
    "LogisticMF": LogisticMF(factors=16, num_threads=1),
    "SampledSoftmax": SampledSoftmax(factors=16, num_threads=1),
    "Custom": Custom(hinge, factors=16, num_threads=1),
    "WARP": WARP(factors=16, num_threads=1),
    "hardest": Custom(hinge_of_the_hardest, factors=16, num_threads=1, l2=0.1, n_negatives=4),
}


@pytest.fixture(scope="module")
def data() -> Split:
    return make_interactions(400, 160, 25, seed=1).split(0.2, seed=1)


@pytest.fixture(scope="module")
def model(data: Split) -> BPR:
    return BPR(factors=16, epochs=30, num_threads=1).fit(data[0])


def rated(data: Interactions) -> Interactions:
    """The interactions with values: 4 for an item of an even number, else 1."""
    ratings = np.where(data.items % 2 == 0, 4.0, 1.0)
    return Interactions(data.users, data.items, data.user_ids, data.item_ids, ratings)


@pytest.mark.parametrize("name", LEARNING)
def test_it_learns_what_popularity_cannot(data: Split, name: str) -> None:
    train, test = data
    model = copy.copy(LEARNING[name])
    assert model.fit(train) is model
    learnt = evaluate(model, test, ["ndcg@10"], resamples=1)["ndcg@10"]
    popular = evaluate(Popularity().fit(train), test, ["ndcg@10"], resamples=1)["ndcg@10"]
    assert learnt > 1.3 * popular
    assert model.history is not None
    assert len(model.history) == len(model.history.seconds) == model.epochs
    assert model.history.loss[-1] < 0.8 * model.history.loss[0]
    assert model.history.samples == len(train)
    assert model.history.best_epoch is None


def test_ratings_are_predicted(data: Split) -> None:
    train = rated(data[0])
    model = ExplicitMF(factors=4, epochs=40, num_threads=1).fit(train)
    ids = [train.user_ids[0]] * 2, [train.item_ids[2], train.item_ids[3]]
    high, low = model.predict(*ids)
    assert high > 3.5
    assert low < 1.5
    with pytest.raises(ValueError, match="data has no values, which the loss asks for"):
        ExplicitMF().fit(data[0])


def test_a_weight_of_ratings_is_how_often_they_count() -> None:
    weights = np.array([0, 1, 2, 3, 0, 1])
    users, items, values = [0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [9.0, 1.0, 4.0, 2.0, 9.0, 3.0]
    weighted = Interactions(users, items, range(3), range(2), values, weights)
    rows = np.repeat(np.arange(6), weights)
    often = replace(weighted.take(rows), weights=None)
    # One step an epoch, the sum of all samples' gradients.
    model = ExplicitMF(factors=2, l2=0.0, batch_size=6 * 3, num_threads=1)
    found = [model.fit(data).predict([0, 1, 2], [0, 1, 1]) for data in (weighted, often)]
    np.testing.assert_allclose(*found, rtol=1e-5)


def test_popularity_counts_users() -> None:
    data = Interactions.from_ids(["a", "a", "a", "b", "b"], ["x", "x", "x", "y", "x"])
    model = Popularity().fit(data)
    assert model.recommend("a", exclude_seen=False) == [("x", 2.0), ("y", 1.0)]
    assert model.recommend("a") == [("y", 1.0)]
    assert model.recommend("b") == []
    assert model.history is None
    with pytest.raises(TypeError, match="Popularity does not compare items"):
        model.similar_items("x")


def test_recommendations_are_the_best_unseen_items(data: Split, model: BPR) -> None:
    train, _ = data
    arrays = model.fitted.arrays
    for user in (0, 17, 399):
        user_id = train.user_ids[user]
        scores = arrays["items"] @ arrays["users"][user] + arrays["item_bias"]
        seen = set(train.items[train.users == user].tolist())
        for exclude in (True, False):
            best = model.recommend(user_id, 12, exclude_seen=exclude)
            numbers = [train.item_ids.number(item) for item, _ in best]
            assert len(best) == len(set(numbers)) == 12
            assert not exclude or not seen & set(numbers)
            for number, (_, score) in zip(numbers, best, strict=True):
                assert score == pytest.approx(scores[number], rel=1e-4, abs=1e-5)
            left_out = seen | set(numbers) if exclude else set(numbers)
            rest = [scores[i] for i in range(len(scores)) if i not in left_out]
            assert max(rest) <= best[-1][1] + 1e-5


def test_predicted_scores_are_those_of_recommendations(model: BPR) -> None:
    best = model.recommend("user-3", 5)
    scores = model.predict(["user-3"] * 5, [item for item, _ in best])
    np.testing.assert_allclose(scores, [score for _, score in best], rtol=1e-5)
    assert model.predict([], []).shape == (0,)
    with pytest.raises(ValueError, match="users has 1 ids and items 2"):
        model.predict(["user-3"], ["jazz-1", "jazz-2"])
    with pytest.raises(KeyError, match="polka"):
        model.predict(["user-3"], ["polka"])


def test_several_users_give_arrays(model: BPR) -> None:
    ids = ["user-7", "user-1", "user-7"]
    found = model.recommend(ids, 5)
    assert isinstance(found, Recommendations)
    items, scores = found
    assert items.shape == scores.shape == (3, 5)
    assert scores.dtype == np.float32
    assert found.of.tolist() == ids
    for number, user in enumerate(ids):
        assert found.row(number) == model.recommend(user, 5)
    nobody = model.recommend([], 5)
    assert len(nobody) == 0
    assert nobody.items.shape == (0, 5)


def test_ends_of_lists_are_marked() -> None:
    data = Interactions.from_ids(["a", "a", "b"], ["x", "y", "x"])
    model = BPR(factors=2, epochs=1, num_threads=1).fit(data)
    found = model.recommend(["a", "b"], 10)
    assert found.items.tolist() == [[None, None], ["y", None]]
    assert found.scores[0].tolist() == [-np.inf, -np.inf]
    assert found.there.tolist() == [[False, False], [True, False]]
    assert found.row(0) == []


def test_recommendations_become_a_data_frame(model: BPR) -> None:
    pandas = pytest.importorskip("pandas")
    frame = model.recommend(["user-7", "user-1"], 3).to_pandas()
    assert list(frame.columns) == ["of", "rank", "item", "score"]
    assert isinstance(frame, pandas.DataFrame)
    assert frame["rank"].tolist() == [1, 2, 3, 1, 2, 3]


def test_items_may_be_chosen_and_left_out(model: BPR) -> None:
    everything = model.recommend("user-2", 1000)
    allowed = [item for item, _ in everything[::7]]
    chosen = model.recommend("user-2", 1000, items=allowed)
    assert chosen == everything[::7]
    rest = model.recommend("user-2", 1000, filter_items=allowed)
    assert [item for item, _ in rest] == [item for item, _ in everything if item not in allowed]
    assert model.recommend("user-2", items=[]) == []
    assert model.recommend("user-2", items=allowed, filter_items=allowed) == []
    # What was seen stays left out of what is allowed.
    seen = model.item_ids.take(model.seen.row(1)).tolist()
    assert model.recommend("user-2", items=seen) == []
    assert len(model.recommend("user-2", 1000, items=seen, exclude_seen=False)) == len(seen)
    with pytest.raises(KeyError, match="polka"):
        model.recommend("user-2", items=["polka"])


def test_unknown_users_get_what_is_popular_if_that_is_asked_for(model: BPR) -> None:
    with pytest.raises(KeyError, match="'nobody'"):
        model.recommend("nobody")
    with pytest.raises(KeyError, match="'nobody'"):
        model.recommend(["user-1", "nobody"])
    popular = Popularity().fit
    found = model.recommend(["user-1", "nobody"], 3, cold_start="popular")
    assert found.row(0) == model.recommend("user-1", 3)
    counts = np.bincount(model.seen.indices)
    best = [counts[model.item_ids.number(item)] for item in found.items[1]]
    assert best == sorted(counts.tolist(), reverse=True)[:3]
    assert model.recommend("nobody", 3, cold_start="popular") == found.row(1)
    with pytest.raises(ValueError, match="cold_start is 'often'"):
        model.recommend("nobody", cold_start="often")  # type: ignore[arg-type]
    assert popular is not None


def test_similar_items_are_of_one_genre(model: BPR) -> None:
    agree = 0
    for item in model.item_ids:
        similar = model.similar_items(item, 5)
        assert item not in [other for other, _ in similar]
        assert all(-1.0001 <= score <= 1.0001 for _, score in similar)
        agree += sum(other.split("-")[0] == item.split("-")[0] for other, _ in similar)
    assert agree > 0.5 * 5 * len(model.item_ids)
    both = model.similar_items(["jazz-1", "folk-1"], 3)
    assert both.row(1) == model.similar_items("folk-1", 3)
    assert len(model.similar_users("user-1", 4)) == 4


def test_a_new_user_is_folded_in(data: Split, model: BPR) -> None:
    """What a user of the model had gives a vector that ranks as the user's own does."""
    train, test = data
    before = {name: array.copy() for name, array in model.fitted.arrays.items()}
    folded = []
    for user in range(40):
        history = train.item_ids.take(np.unique(train.items[train.users == user])).tolist()
        new = model.fold_in(history)
        assert len(new.items) == len(history)
        folded.append(new)
        own = [item for item, _ in model.recommend(new, 10)]
        assert not set(own) & set(history)
    found = model.recommend(folded, 10)
    assert found.of.tolist() == [None] * 40
    hits = [0, 0]
    known = model.recommend([train.user_ids[user] for user in range(40)], 10)
    for user in range(40):
        held_out = set(test.item_ids.take(test.items[test.users == user]).tolist())
        for way, best in enumerate((found, known)):
            hits[way] += len(held_out & set(best.items[user].tolist()))
    assert hits[0] > 0.6 * hits[1]
    for name, array in model.fitted.arrays.items():
        np.testing.assert_array_equal(array, before[name])
    # Nothing to learn from: items rank by their biases.
    order = np.argsort(-before["item_bias"], kind="stable")
    nothing = model.recommend(model.fold_in([]), 3)
    assert [item for item, _ in nothing] == model.item_ids.take(order[:3]).tolist()
    assert model.recommend(model.fold_in(model.item_ids), 3) == []
    with pytest.raises(KeyError, match="polka"):
        model.fold_in(["polka"])


def test_one_thread_is_reproducible(data: Split) -> None:
    models = [
        BPR(factors=4, epochs=2, num_threads=1, random_state=seed).fit(data[0])
        for seed in (7, 7, 8)
    ]
    first, second, other = (model.fitted.arrays for model in models)
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])
        assert not np.array_equal(first[name], other[name])


def test_more_data_is_learnt_from_where_it_is(data: Split) -> None:
    train, _ = data
    model = BPR(factors=4, epochs=3, num_threads=1).fit(train)
    before = model.fitted
    more = Interactions.from_ids(
        ["user-9", "ann", "user-9", "ann"], ["rye", "jazz-1", "jazz-2", "folk-1"]
    )
    model.partial_fit(more, epochs=2)
    assert model.user_ids[:400] == before.user_ids
    assert model.user_ids[400] == "ann"
    assert model.item_ids[160] == "rye"
    assert set(model.seen.row(400).tolist()) == set(
        model.item_ids.numbers(["jazz-1", "folk-1"]).tolist()
    )
    user = model.user_ids.number("user-9")
    assert set(before.seen.row(user).tolist()) < set(model.seen.row(user).tolist())
    assert "rye" not in [item for item, _ in model.recommend("user-9", 1000)]
    model.set_params(factors=5)
    with pytest.raises(ValueError, match="factors is 5, and was 4"):
        model.partial_fit(more)
    fresh = BPR(factors=4, epochs=3, num_threads=1).partial_fit(train)
    assert fresh.recommend("user-1") == BPR(factors=4, epochs=3, num_threads=1).fit(
        train
    ).recommend("user-1")


def test_the_best_epoch_is_kept(data: Split) -> None:
    train, test = data
    model = BPR(factors=8, epochs=12, num_threads=1).fit(train, validation=test)
    history = model.history
    assert history is not None
    values = history.validation["ndcg@10"]
    assert len(values) == 12
    assert history.best_epoch == int(np.argmax(values))
    measured = evaluate(model, test, ["ndcg@10"], resamples=1)["ndcg@10"]
    assert measured == values[history.best_epoch]


def test_patience_ends_a_run(data: Split) -> None:
    train, test = data
    # Steps of length 1e-9 change no ranking: no epoch is better than the first.
    model = BPR(factors=8, lr=1e-9, num_threads=1)
    with pytest.warns(UserWarning, match="BPR is worse than the ranking by popularity"):
        model.fit(train, validation=test, patience=2)
    assert model.history is not None
    assert model.history.best_epoch == 0
    assert len(model.history) == 3
    with pytest.raises(ValueError, match="patience needs validation"):
        model.fit(train, patience=2)


def test_a_good_model_gives_no_warning(data: Split) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BPR(factors=16, epochs=20, num_threads=1).fit(data[0], validation=0.1)


def test_a_callback_sees_epochs_and_may_stop(data: Split) -> None:
    seen = []

    def callback(epoch: int, history: Any) -> bool:
        seen.append((epoch, len(history)))
        return epoch == 2

    model = BPR(factors=4, num_threads=1).fit(data[0], callback=callback)
    assert seen == [(0, 1), (1, 2), (2, 3)]
    assert model.history is not None
    assert len(model.history) == 3
    with pytest.raises(TypeError, match="callback is 3"):
        model.fit(data[0], callback=3)  # type: ignore[arg-type]

    def failing(epoch: int, history: Any) -> None:
        raise ZeroDivisionError

    before = model.fitted
    with pytest.raises(ZeroDivisionError):
        model.fit(data[0], callback=failing)
    assert model.fitted is before


def test_users_who_have_every_item_teach_nothing() -> None:
    data = Interactions.from_ids(["all", "all", "one", "all"], ["x", "y", "x", "x"])
    model = BPR(factors=2, epochs=1, num_threads=1).fit(data)
    assert model.recommend("all") == []
    assert [item for item, _ in model.recommend("one")] == ["y"]
    for users in (["all", "all", "all"], ["all"]):
        items = ["x", "y", "x"][: len(users)]
        with pytest.raises(ValueError, match="no interaction of a user who lacks an item"):
            BPR().fit(Interactions.from_ids(users, items))


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"factors": 0}, ValueError, "factors is 0, expected an integer at least 1"),
    ({"factors": 1.5}, TypeError, "factors is 1.5"),
    ({"factors": True}, TypeError, "factors is True"),
    ({"factors": 10**12}, ValueError, "factors is 1000000000000"),
    ({"lr": 0.0}, ValueError, "lr is 0.0, expected a finite number more than 0"),
    ({"lr": float("nan")}, ValueError, "lr is nan"),
    ({"lr": "fast"}, TypeError, "lr is 'fast'"),
    ({"l2": -1.0}, ValueError, "l2 is -1.0"),
    ({"epochs": -1}, ValueError, "epochs is -1"),
    ({"batch_size": 0}, ValueError, "batch_size is 0"),
    ({"num_threads": -1}, ValueError, "num_threads is -1"),
    ({"random_state": -1}, ValueError, "random_state is -1, expected an integer .* or None"),
    ({"random_state": 2**64}, ValueError, "random_state is 18446744073709551616"),
    ({"optimizer": "sdg"}, ValueError, "optimizer is 'sdg', expected 'sgd' or 'adagrad' or 'adam'"),
]


@pytest.mark.parametrize(("bad", "error", "message"), BAD)
def test_bad_settings_are_refused(
    data: Split, bad: dict[str, Any], error: type[Exception], message: str
) -> None:
    model = BPR(**bad)
    with pytest.raises(error, match=f"^{message}"):
        model.fit(data[0])
    assert not model.is_fitted


def test_bad_arguments_are_refused(data: Split, model: BPR) -> None:
    train, _ = data
    with pytest.raises(TypeError, match=r"data: expected Interactions, got list; .*from_csr"):
        BPR().fit([(1, 2)])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="data has no interactions"):
        BPR().fit(Interactions.from_ids([], []))
    with pytest.raises(ValueError, match="epochs is 0"):
        BPR().fit(train, epochs=0)
    with pytest.raises(TypeError, match="validation is 'half'"):
        BPR().fit(train, validation="half")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"validation is 1\.5"):
        BPR().fit(train, validation=1.5)
    with pytest.raises(ValueError, match="metric"):
        BPR(epochs=1).fit(train, validation=0.1, metric="ndcg@0")
    with pytest.raises(RuntimeError, match="this BPR is not fitted"):
        BPR().recommend("user-1")
    for n in (0, -1):
        with pytest.raises((ValueError, OverflowError)):
            model.recommend("user-1", n)
    for users in (None, 1.5):
        with pytest.raises(TypeError):
            model.recommend(users)  # type: ignore[arg-type]
    with pytest.raises(FloatingPointError):
        BPR(lr=1e30, epochs=5, num_threads=1).fit(train)
    assert len(model.recommend("user-1", 10**9)) == 160 - len(model.seen.row(0))


def test_a_loss_says_what_it_needs() -> None:
    data = make_interactions(50, 20, 5)

    def lonely(users, user, item):  # type: ignore[no-untyped-def]
        return users[user].sum()

    def curious(users, items, user, item, colour):  # type: ignore[no-untyped-def]
        return users[user] @ items[item]

    for loss, message in (
        (lonely, "expected an argument 'items'"),
        (curious, "argument 'colour' is not known"),
    ):
        with pytest.raises(ValueError, match=message):
            Custom(loss=loss).fit(data)
    with pytest.raises(TypeError, match="loss is 3, expected a function"):
        Custom(loss=3).fit(data)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("users", "error", "message"),
    [
        ([[np.nan, 1.0], [1.0, 1.0]], ValueError, r"^users\[0, 0\] is nan, expected a number that"),
        ([[1.0, 1.0], [1.0, np.inf]], ValueError, r"^users\[1, 1\] is inf"),
        ([[1.0, 1e39], [1.0, 1.0]], ValueError, r"^users\[0, 1\] is 1e\+39"),
        ([["a", 1.0], [1.0, 1.0]], TypeError, "^users: expected numbers, got <U"),
        (np.eye(2) * 1j, TypeError, "^users: expected numbers, got complex128"),
        (None, TypeError, "^users: expected numbers, got object"),
        ([1.0, 2.0], ValueError, r"^users has shape \(2,\)"),
        ([[1.0, 2.0]], ValueError, r"^users has shape \(1, 2\)"),
    ],
)
def test_vectors_trained_elsewhere_are_compared(
    users: Any, error: type[Exception], message: str
) -> None:
    data = Interactions.from_ids(["a", "a", "b"], ["x", "y", "y"])
    with pytest.raises(error, match=message):
        Custom.from_factors(users, np.eye(2), data)
    for name, wrong in (("bias", [1.0, 2.0]), ("item_bias", [1.0]), ("user_bias", np.eye(2))):
        with pytest.raises(ValueError, match=f"^{name} has shape"):
            Custom.from_factors(np.eye(2), np.eye(2), data, **{name: wrong})  # type: ignore[arg-type]


def test_hyperparameters_are_listed_and_changed() -> None:
    model = BPR(factors=8)
    params = model.get_params()
    assert params["factors"] == 8
    assert set(params) >= {"lr", "l2", "epochs", "batch_size", "random_state", "num_threads"}
    assert model.set_params(lr=0.5, factors=3) is model
    assert (model.lr, model.factors) == (0.5, 3)
    with pytest.raises(ValueError, match="BPR has no hyperparameter 'colour'"):
        model.set_params(lr=1.0, colour="red")
    assert model.lr == 0.5
    assert repr(model) == "BPR(factors=3, lr=0.5)"
    assert repr(BPR()) == "BPR()"


def test_scikit_learn_clones_models(data: Split) -> None:
    base = pytest.importorskip("sklearn.base")
    model = BPR(factors=4, epochs=1).fit(data[0])
    clone = base.clone(model)
    assert clone.get_params() == model.get_params()
    assert not clone.is_fitted


@pytest.mark.parametrize("name", LEARNING)
def test_models_are_pickled(data: Split, name: str) -> None:
    model: Recommender = copy.copy(LEARNING[name]).fit(data[0], epochs=1)
    back = pickle.loads(pickle.dumps(model))
    assert back.recommend("user-1") == model.recommend("user-1")
    assert back.get_params() == model.get_params()


def test_weights_multiply_the_loss(data: Split) -> None:
    """Interactions of weight 0 change nothing but the order of what is drawn."""
    train, _ = data
    one = BPR(factors=4, epochs=1, l2=0.0, num_threads=1)
    weighted = copy.copy(train)
    object.__setattr__(weighted, "weights", np.zeros(len(train), np.float32))
    arrays = one.fit(weighted).fitted.arrays
    assert not arrays["item_bias"].any()
