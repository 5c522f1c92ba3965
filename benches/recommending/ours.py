"""The models of this package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

import wyrmling as wy
from wyrmling.evaluation import evaluate

from .clock import Laps
from .pairs import Pairs

Scores = npt.NDArray[np.float32]
MEASURED = ("precision@10", "map@10", "ndcg@10", "auc")
"""What implicit measures at once."""


def fit(kind: str) -> Callable[[Pairs, Mapping[str, Any], int], Scores]:
    """A fit of the model of this name, which gives dense scores."""

    def fitted(data: Pairs, parameters: Mapping[str, Any], seed: int) -> Scores:
        settings = {"num_threads": 1, "random_state": seed, **parameters}
        model = getattr(wy.recommend, kind)(**settings).fit(data.interactions)
        users = np.repeat(np.arange(data.n_users), data.n_items)
        items = np.tile(np.arange(data.n_items), data.n_users)
        scores: Scores = model.predict(users, items)
        return scores.reshape(data.n_users, data.n_items)

    return fitted


def time_epochs(
    kind: str, data: Pairs, factors: int, threads: int, epochs: int = 3, **settings: Any
) -> list[float]:
    """Seconds of the epochs after the first, with the model's defaults but for the width and what
    is named.
    """
    model = getattr(wy.recommend, kind)(
        factors=factors, num_threads=threads, random_state=1, **settings
    )
    laps = Laps(threads)
    model.fit(data.interactions, epochs=epochs, callback=laps)
    return laps.seconds[1:]


def time_als(
    data: Pairs, factors: int, threads: int, conjugate: bool, epochs: int = 3
) -> list[float]:
    """Seconds of iterations of alternating least squares after the first."""
    solver = "cg" if conjugate else "cholesky"
    model = wy.recommend.ImplicitALS(
        factors=factors, solver=solver, num_threads=threads, random_state=1
    )
    laps = Laps(threads)
    model.fit(data.interactions, epochs=epochs, callback=laps)
    return laps.seconds[1:]


def model_of(train: Pairs, users: Scores, items: Scores, threads: int) -> Any:
    """A model of some vectors, without biases."""
    model = wy.recommend.Custom.from_factors(users, items, train.interactions)
    return model.set_params(num_threads=threads)


def recommend_one(model: Any) -> Callable[[int], Any]:
    """Recommends to a user by id."""
    return model.recommend


def recommend_all(model: Any) -> Any:
    """Recommends to all users."""
    return model.recommend(model.user_ids)


def measure(model: Any, test: Pairs) -> Any:
    """Measures what the others do, on all held-out pairs."""
    return evaluate(model, test.interactions, MEASURED)
