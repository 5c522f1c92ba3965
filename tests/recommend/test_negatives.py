"""Models whose negatives are drawn in several ways: each trains, resumes, folds in and is saved."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wyrmling as wy
from wyrmling.data import Interactions
from wyrmling.datasets import make_interactions
from wyrmling.evaluation import evaluate
from wyrmling.recommend import BPR, WARP, Custom, LogisticMF, SampledSoftmax
from wyrmling.recommend.negatives import NegativeSampling

DATA = make_interactions(n_users=80, n_items=40)
KINDS = ["uniform", "popularity", "in_batch", "adaptive"]


def hinge(users: Any, items: Any, user: int, item: int, negative: int) -> Any:
    """A loss of the user's own, without biases."""
    return wy.relu(1.0 - users[user] @ (items[item] - items[negative]))


def models(sampling: Any) -> list[NegativeSampling]:
    settings: dict[str, Any] = {"sampling": sampling, "factors": 8, "random_state": 3}
    settings |= {"num_threads": 1, "epochs": 4}
    return [
        BPR(**settings),
        LogisticMF(**settings),
        SampledSoftmax(**settings),
        Custom(hinge, **settings),
    ]


@pytest.mark.parametrize("sampling", KINDS)
def test_all_learn_by_all_negatives(sampling: str) -> None:
    for model in models(sampling):
        model.fit(DATA, epochs=30)
        found = evaluate(model, DATA, "auc", exclude_seen=False, resamples=1)["auc"]
        assert found > 0.75, (model, found)
        assert len(model.recommend(model.fold_in(["jazz-1", "folk-1"]), n=3)) == 3
        assert len(model.recommend(model.fold_in(["jazz-1"]), n=3)) == 3


def test_two_threads_learn_by_popularity_what_one_does() -> None:
    """Of as many users and items that there could be blocks of samples: users would then like the
    items of the last block of an epoch.
    """
    train, test = make_interactions(n_users=3000, n_items=1600, seed=1).split(seed=1)
    found = []
    for threads in (1, 2):
        model = SampledSoftmax(sampling="popularity", epochs=10, num_threads=threads).fit(train)
        found.append(evaluate(model, test, "ndcg@10", resamples=1)["ndcg@10"])
    assert found[1] > 0.9 * found[0], found


@pytest.mark.parametrize("sampling", KINDS)
def test_a_run_that_is_resumed_has_the_same_bits(sampling: str, tmp_path: Path) -> None:
    for number, model in enumerate(models(sampling)):
        at_once = type(model)(**model.get_params()).fit(DATA)
        path = tmp_path / f"{sampling}-{number}"

        def interrupt(epoch: int, curve: Any) -> bool:
            if epoch == 1:
                raise KeyboardInterrupt
            return False

        with pytest.raises(KeyboardInterrupt):
            model.fit(DATA, checkpoint=path, callback=interrupt)
        resumed = type(model)(**model.get_params()).fit(DATA, checkpoint=path)
        for name, array in at_once.fitted.arrays.items():
            assert np.array_equal(array, resumed.fitted.arrays[name]), (model, name)


def test_each_way_draws_something_else() -> None:
    learnt = [BPR(sampling=kind, epochs=2, random_state=1).fit(DATA) for kind in KINDS]  # type: ignore[arg-type]
    arrays = {model.fitted.arrays["items"].tobytes() for model in learnt}
    assert len(arrays) == len(KINDS)


def test_uniform_is_the_default() -> None:
    for model in models("uniform"):
        assert type(model)().sampling == "uniform"


def test_files_keep_it(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    BPR(sampling="adaptive", epochs=1).fit(DATA).save(path)
    assert BPR.load(path).sampling == "adaptive"


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="sampling is 'hard', expected 'uniform' or"):
        BPR(sampling="hard").fit(DATA)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="batch_size: expected at least 2, got 1"):
        BPR(sampling="in_batch", batch_size=1).fit(DATA)
    with pytest.raises(TypeError, match="sampling"):
        WARP(sampling="adaptive")  # type: ignore[call-arg]


def test_users_who_lack_one_item_learn_from_it() -> None:
    """Of two users one has all items but one, which is all that there is to compare with."""
    data = Interactions.from_ids(["a", "a", "a", "b"], [0, 1, 2, 3])
    for sampling in KINDS:
        model = BPR(sampling=sampling, epochs=50, random_state=0).fit(data)  # type: ignore[arg-type]
        scores = dict(model.recommend("a", n=4, exclude_seen=False))
        assert min(scores, key=lambda item: scores[item]) == 3, (sampling, scores)


def test_negatives_of_new_users_are_as_popular_as_in_training(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn_by: list[Any] = []
    popularity = wy.sampling.Popularity

    def noted(counts: Any, *power: float, **rest: Any) -> Any:
        drawn_by.append(np.array(counts))
        return popularity(counts, *power, **rest)

    monkeypatch.setattr(wy.sampling, "Popularity", noted)
    for model in models("popularity"):
        model.fit(DATA)
        model.fold_in(DATA.item_ids.take([3, 5]))
        model.partial_fit(DATA.take(np.arange(4)), epochs=1)
    for trained, new, again in zip(*[iter(drawn_by)] * 3, strict=True):
        expected = np.maximum(np.bincount(DATA.items, minlength=DATA.n_items), 1)
        assert np.array_equal(trained, expected)
        assert np.array_equal(np.maximum(new, 1), expected)
        assert np.array_equal(again, expected)
    assert len(drawn_by) == 12
    for model in models("in_batch"):
        model.fit(DATA).fold_in(DATA.item_ids.take([3, 5]))
    assert len(drawn_by) == 16
    for new in drawn_by[12:]:
        assert np.array_equal(np.round(new), np.bincount(DATA.items, minlength=DATA.n_items))


def test_a_run_that_goes_on_draws_other_negatives() -> None:
    """Each time that an item is drawn adds 1 to its bias."""

    def counts(users: Any, items: Any, item_bias: Any, user: int, item: int, negative: int) -> Any:
        return 0.0 * (users[user] @ items[item]) - item_bias[negative]

    settings: dict[str, Any] = {"lr": 1.0, "l2": 0.0, "epochs": 1, "num_threads": 1}
    model, drawn, sums = Custom(counts, **settings), [], np.zeros(DATA.n_items)
    for _ in range(4):
        state = copy.copy(model)
        model.partial_fit(DATA)
        # Of equal states the runs are equal.
        again = state.partial_fit(DATA).fitted.arrays["item_bias"]
        np.testing.assert_array_equal(again, model.fitted.arrays["item_bias"])
        drawn.append(again - sums)
        sums = again
    assert [one.sum() for one in drawn] == [len(DATA)] * 4
    assert len({one.tobytes() for one in drawn}) == 4
