"""What tests of every model share: small models, their data, and their scores by NumPy alone."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from wyrmling import recommend
from wyrmling.data import Interactions
from wyrmling.recommend import NewUser, Recommender

N_USERS, N_ITEMS = 30, 20


def hinge(users, items, item_bias, user, item, negative):  # type: ignore[no-untyped-def]
    score = users[user] @ items[item] + item_bias[item]
    other = users[user] @ items[negative] + item_bias[negative]
    return max(0.0, 1.0 - score + other)


def is_model(kind: object) -> bool:
    return inspect.isclass(kind) and issubclass(kind, Recommender) and not inspect.isabstract(kind)


NAMES = [name for name in recommend.__all__ if is_model(getattr(recommend, name))]
TRAINED = [
    name
    for name in NAMES
    if "epochs" in {field.name for field in dataclasses.fields(getattr(recommend, name))}
]
"""Models that have epochs."""
RATED = ("ExplicitMF",)
SEQUENCES = ("EWMA", "GRU", "LSTM", "SASRec")
DRAWING = [name for name in TRAINED if name not in ("ExplicitMF", "ImplicitALS")]
"""Models that compare what a user had with what they had not."""


def make(name: str, **settings: Any) -> Any:
    """A small model."""
    kind = getattr(recommend, name)
    small = {"factors": 4, "epochs": 2, "num_threads": 1}
    fields = {field.name for field in dataclasses.fields(kind)}
    settings = {key: value for key, value in small.items() if key in fields} | settings
    return kind(hinge, **settings) if name == "Custom" else kind(**settings)


def interactions(user_ids: Any = None, item_ids: Any = None, **columns: Any) -> Interactions:
    """Who had what: user 0 had everything, user 1 one item, nobody had item 19 but user 0."""
    rng = np.random.default_rng(3)
    had = rng.random((N_USERS, N_ITEMS)) < 0.35
    had[:, N_ITEMS - 1] = False
    had[0], had[1] = True, False
    had[1, 4] = True
    users, items = np.nonzero(had)
    order = rng.permutation(len(users))
    columns = {
        "values": rng.integers(1, 6, len(users)),
        "times": np.arange(len(users)),
    } | columns
    return Interactions(
        users[order],
        items[order],
        [f"u{n}" for n in range(N_USERS)] if user_ids is None else user_ids,
        [f"i{n}" for n in range(N_ITEMS)] if item_ids is None else item_ids,
        **columns,
    )


DATA = interactions()
HAD = np.zeros((N_USERS, N_ITEMS), bool)
HAD[DATA.users, DATA.items] = True
USERS, ITEMS = DATA.user_ids.values.tolist(), DATA.item_ids.values.tolist()


@functools.cache
def fitted(name: str) -> Any:
    """A small model that was fitted, for tests that do not change it."""
    return make(name).fit(DATA)


def fold(model: Any, history: Any) -> NewUser:
    """A new user, with ratings where the model asks for them."""
    if type(model).__name__ in RATED:
        return model.fold_in(history, values=[4.0] * len(history))  # type: ignore[no-any-return]
    return model.fold_in(history)  # type: ignore[no-any-return]


def scores_of(model: Recommender, had: npt.NDArray[np.bool_] = HAD) -> npt.NDArray[np.float64]:
    """The scores of all users and items."""
    arrays = {name: array.astype(np.float64) for name, array in model.fitted.arrays.items()}
    if "users" in arrays:
        scores: npt.NDArray[np.float64] = arrays["users"] @ arrays["items"].T
        if "item_bias" in arrays:
            scores = scores + arrays["item_bias"]
        if "user_bias" in arrays:
            scores = scores + arrays["user_bias"][:, None]
        return scores + arrays.get("bias", 0.0)
    return had @ weights_of(model) if len(arrays) > 1 or "weights" in arrays else popular(had)


def popular(had: npt.NDArray[np.bool_] = HAD) -> npt.NDArray[np.float64]:
    """The scores by popularity."""
    return np.tile(had.sum(axis=0, dtype=np.float64), (len(had), 1))


def weights_of(model: Recommender) -> npt.NDArray[np.float64]:
    """How much having an item adds to the score of another, of models of similarity."""
    arrays = model.fitted.arrays
    if "weights" in arrays:
        return arrays["weights"].astype(np.float64)
    weights = np.zeros((N_ITEMS, N_ITEMS))
    for item, (near, similar) in enumerate(
        zip(arrays["neighbours"], arrays["similarities"], strict=True)
    ):
        for other, similarity in zip(near, similar, strict=True):
            if similarity:
                weights[other, item] = similarity
    return weights


def cosines(vectors: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    directions = vectors / np.where(lengths > 0, lengths, 1.0)
    return directions @ directions.T  # type: ignore[no-any-return]


def check_ranking(
    found: list[tuple[Any, float]],
    scores: npt.NDArray[np.float64],
    allowed: npt.NDArray[np.bool_],
    n: int,
    ids: list[Any] = ITEMS,
) -> None:
    """Compares a list of the best with all scores: its length, order, scores, and what is left."""
    numbers = [ids.index(id_) for id_, _ in found]
    listed = np.array([score for _, score in found])
    assert len(set(numbers)) == len(found) == min(n, int(allowed.sum()))
    assert all(allowed[number] for number in numbers)
    np.testing.assert_allclose(listed, scores[numbers], rtol=1e-4, atol=1e-5)
    for k in range(len(found) - 1):
        assert listed[k] > listed[k + 1] or (
            listed[k] == listed[k + 1] and numbers[k] < numbers[k + 1]
        )
    rest = allowed.copy()
    rest[numbers] = False
    if found and rest.any():
        assert scores[rest].max() <= listed[-1] + 1e-5


def alike(one: list[tuple[Any, float]], other: list[tuple[Any, float]]) -> bool:
    """Whether two lists have the same items with the same scores.

    One user and several are scored by other kernels, which add up in another order.
    """
    first, second = dict(one), dict(other)
    return first.keys() == second.keys() and all(
        score == pytest.approx(second[item], rel=1e-5, abs=1e-6) for item, score in first.items()
    )


def same_answers(one: Recommender, other: Recommender) -> None:
    """Compares what two models answer."""
    first, second = (model.recommend(USERS, 6, exclude_seen=False) for model in (one, other))
    assert first.items.tolist() == second.items.tolist()
    np.testing.assert_array_equal(first.scores, second.scores)
