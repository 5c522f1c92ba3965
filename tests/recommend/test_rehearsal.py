"""A model that goes on learning does not forget what it knew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wyrmling as wy
from wyrmling.data import Interactions
from wyrmling.datasets import make_interactions
from wyrmling.evaluation import evaluate
from wyrmling.recommend import BPR, Custom, ExplicitMF, ImplicitALS
from wyrmling.recommend.fitted import Fitted
from wyrmling.recommend.rehearsal import kept_columns, rehearsed

TRAINED_BY_STEPS = ["BPR", "WARP", "LogisticMF", "SampledSoftmax", "FactorizationMachine"]
OF_SEQUENCES = ["EWMA", "GRU", "LSTM", "SASRec"]
SMALL = {"factors": 16}


def made(name: str) -> Any:
    more = SMALL if name in OF_SEQUENCES else {}
    return getattr(wy.recommend, name)(num_threads=1, **more)


@pytest.fixture(scope="module")
def halves() -> tuple[Interactions, Interactions]:
    return make_interactions(400, 150, 25, seed=5).split(0.25, 3)


# New items come after all others in a history: sequences say then that they follow these.
TENTHS = [(name, by) for name in TRAINED_BY_STEPS for by in ("interactions", "users", "items")]
TENTHS += [(name, by) for name in ("EWMA", "GRU") for by in ("interactions", "users")]


@pytest.mark.parametrize(("name", "by"), TENTHS)
def test_more_data_makes_no_model_worse(
    name: str, by: str, halves: tuple[Interactions, Interactions]
) -> None:
    train, test = halves
    rng = np.random.default_rng(1)
    numbers = {"interactions": np.arange(len(train)), "users": train.users, "items": train.items}[
        by
    ]
    later = np.isin(numbers, rng.permutation(numbers.max() + 1)[: (numbers.max() + 1) // 10])

    def quality(model: Any) -> float:
        return evaluate(model, test, ["ndcg@10"], resamples=1)["ndcg@10"]

    model = made(name).fit(train.take(~later))
    before = quality(model)
    model.partial_fit(train.take(later))
    # Trained on new interactions alone they lose a fifth to a half of their quality.
    assert quality(model) > 0.95 * before
    assert quality(model) > 0.9 * quality(made(name).fit(train))


def test_ratings_are_not_forgotten(rng: np.random.Generator) -> None:
    taste, kind = rng.normal(size=(200, 3)), rng.normal(size=(60, 3))
    users, items = np.nonzero(rng.random((200, 60)) < 0.4)
    values = 3 + (taste[users] * kind[items]).sum(axis=1) + rng.normal(0, 0.3, len(users))
    data = Interactions(users, items, range(200), range(60), values=values.astype(np.float32))
    train, test = data.split(0.2, 1)
    first, later = train.split(0.1, 2)

    def error(model: ExplicitMF) -> float:
        return evaluate(model, test, ["rmse"], resamples=1)["rmse"]

    model = ExplicitMF(factors=4, num_threads=1).fit(first)
    before = error(model)
    model.partial_fit(later)
    assert error(model) < 1.02 * before


@pytest.mark.parametrize("name", [*TRAINED_BY_STEPS, *OF_SEQUENCES])
def test_the_second_half_of_the_epochs_is_trained(name: str) -> None:
    data = make_interactions(30, 12, 5)
    model = made(name).set_params(epochs=5).fit(data)
    assert len(model.partial_fit(data).history) == 3
    assert len(model.partial_fit(data, epochs=4).history) == 4
    assert len(made(name).set_params(epochs=5).partial_fit(data).history) == 5


def test_steps_go_on_as_short_as_in_the_second_half() -> None:
    """One sample of a loss whose gradient is 1: the parameter moves by the sum of the steps."""

    def loss(users: Any, items: Any, item_bias: Any, user: int, item: int) -> Any:
        return item_bias[item] + 0.0 * (users[user] @ items[item])

    data = Interactions([0], [0], ["ann"], ["tea"])
    settings: dict[str, Any] = {"factors": 1, "lr": 1.0, "epochs": 4, "l2": 0.0, "num_threads": 1}
    model = Custom(loss, **settings).fit(data)
    assert model.fitted.arrays["item_bias"].tolist() == [-(4 + 3 + 2 + 1) / 4]
    model.partial_fit(data)
    assert model.fitted.arrays["item_bias"].tolist() == [-(4 + 3 + 2 + 1 + 2 + 1) / 4]
    model.partial_fit(data, epochs=2)
    assert model.fitted.arrays["item_bias"].tolist() == [-(13 + 4 + 2) / 4]


def state_of(data: Interactions, names: list[str]) -> Fitted:
    """What a model has learnt from data, but for vectors."""
    seen = wy._core.Csr(data.users, data.items, data.n_users, data.n_items)
    return Fitted(data.user_ids, data.item_ids, seen, kept_columns(data, seen, names))


OLD = Interactions(
    [1, 0, 0, 1], [2, 1, 0, 2], ["ann", "bob"], list("xyz"), [5, 4, 3, 2], times=[9, 8, 7, 6]
)


def test_each_earlier_pair_comes_once_before_what_is_new() -> None:
    more = Interactions([0, 0, 1], [0, 0, 1], OLD.user_ids, OLD.item_ids, [1, 2, 1])
    names = {"values": 3.0}
    found = rehearsed(more, state_of(OLD, ["values"]), names)
    # Bob's rating of z is the later one, and ann's of x is new.
    assert found.users.tolist() == [0, 1, 0, 0, 1]
    assert found.items.tolist() == [1, 2, 0, 0, 1]
    assert found.values is not None
    assert found.values.tolist() == [4, 5, 1, 2, 1]
    assert found.times is None
    assert rehearsed(more, None, names) is more
    assert rehearsed(more, Fitted(OLD.user_ids, OLD.item_ids, None, {}), names) is more


def test_a_column_that_is_not_known_has_its_default() -> None:
    more = Interactions([0], [2], OLD.user_ids, OLD.item_ids, weights=[2.0])
    found = rehearsed(more, state_of(OLD, []), {"weights": 1.0, "times": None})
    assert found.weights is not None
    assert found.weights.tolist() == [1, 1, 1, 2]
    # Nothing can stand for what has no default.
    assert rehearsed(more, state_of(OLD, []), {"weights": None}) is more


def test_what_a_loss_asks_for_is_kept_in_files(tmp_path: Path) -> None:
    model = ExplicitMF(factors=2, epochs=3, num_threads=1).fit(OLD)
    assert model.fitted.arrays["history_values"].tolist() == [3, 4, 5]
    assert not [name for name in BPR(epochs=1).fit(OLD).fitted.arrays if "history" in name]
    path = tmp_path / "model.safetensors"
    model.save(path)
    loaded = ExplicitMF.load(path)
    more = Interactions.from_ids(["ann"], ["z"], values=[1.0])
    for one in (model, loaded):
        one.partial_fit(more)
    for name, array in model.fitted.arrays.items():
        np.testing.assert_array_equal(array, loaded.fitted.arrays[name])
    assert model.fitted.arrays["history_values"].tolist() == [3, 4, 1, 5]
    model.save(path, histories=False)
    short = ExplicitMF.load(path)
    assert "history_values" not in short.fitted.arrays
    short.partial_fit(more)
    wrong = {**model.fitted.arrays, "history_values": np.ones(2, np.float32)}
    state = Fitted(model.user_ids, model.item_ids, model.seen, wrong)
    with pytest.raises(ValueError, match="history_values has 2 numbers for 4 pairs"):
        model._check_arrays(state)


def test_vectors_trained_elsewhere_are_rehearsed() -> None:
    def loss(users: Any, items: Any, user: int, item: int, value: float) -> Any:
        return (users[user] @ items[item] - value) ** 2

    model = Custom.from_factors(np.eye(2), np.ones((3, 2)), OLD, loss=loss)
    assert model.fitted.arrays["history_values"].tolist() == [3, 4, 5]
    assert not [
        name
        for name in Custom.from_factors(np.eye(2), np.ones((3, 2)), OLD).fitted.arrays
        if "history" in name
    ]


def test_amounts_add_up_as_before() -> None:
    """Least squares learn from all pairs anyway, and keep amounts by a name of their own."""
    model = ImplicitALS(factors=2, num_threads=1).fit(OLD)
    assert model.fitted.arrays["values"].tolist() == [3, 4, 7]
