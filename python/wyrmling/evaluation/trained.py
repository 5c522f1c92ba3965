"""Trained models as evaluation sees them: ids, pairs in training and scores, for any kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .. import _core
from ..array_types import Float32Array, IndexArray
from ..data import Interactions
from .metrics import ERRORS, Metric

__all__ = ["Trained", "check_values", "numbers_of", "trained"]


class Scores(Protocol):
    """Gives the scores of some users, as ``_core.top_k`` takes them."""

    def __call__(self, users: IndexArray) -> Any: ...


@dataclass(frozen=True)
class Trained:
    """A model's ids by number, the pairs that it was trained on, and its scores of some users.

    The pairs are None for a model that was saved without histories, and what scores pairs of a user
    and an item is None for a ranking by popularity.
    """

    user_ids: Any
    item_ids: Any
    pairs: _core.Csr | None
    scores: Scores
    predict: Callable[[IndexArray, IndexArray], Float32Array] | None = None

    @property
    def seen(self) -> _core.Csr:
        """The pairs; raises RuntimeError if it has none."""
        if self.pairs is None:
            raise RuntimeError(
                "the model was saved without histories: it can only be measured with "
                "exclude_seen=False, and without novelty"
            )
        return self.pairs

    @property
    def n_users(self) -> int:
        """How many users the model knows."""
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        """How many items the model knows."""
        return len(self.item_ids)

    def _scores_values(self) -> bool:
        return self.predict is not None

    def user_id(self, numbers: IndexArray) -> npt.NDArray[Any]:
        """The ids of some users."""
        if hasattr(self.user_ids, "take"):
            taken: npt.NDArray[Any] = self.user_ids.take(numbers)
            return taken
        return np.array([self.user_ids[number] for number in numbers.tolist()], object)


def trained(model: Any) -> Trained:
    """What evaluation reads of a model; raises TypeError if it is none, or was not fitted."""
    if isinstance(model, Trained):
        return model
    if isinstance(model, type):
        raise TypeError(f"model: expected a fitted model, got the class {model.__name__}")
    if hasattr(model, "_scores"):
        # Of one state, whatever other threads fit meanwhile.
        model = model._snapshot() if hasattr(model, "_snapshot") else model
        predict = getattr(model, "_predict", None)
        return Trained(model.user_ids, model.item_ids, model.fitted.seen, model._scores, predict)
    raise TypeError(f"model: expected a fitted model, got {type(model).__name__}")


def check_values(
    model: Any, test: Interactions, metrics: Iterable[Metric], name: str = "test"
) -> None:
    """Refuses errors of values where scores are no values, or there are none in ``test``.

    Args:
        model: a model, which need not be fitted.
        test: what it is to be measured on.
        metrics: what is asked for.
        name: what errors call ``test``.

    Raises:
        ValueError: ``rmse`` or ``mae`` of a ranking, or of interactions without values.
    """
    if not any(metric.kind in ERRORS for metric in metrics):
        return
    if isinstance(model, type) or not hasattr(model, "_scores_values"):
        return  # It is no model, as `trained` says.
    what = f"{name} has no values"
    if not model._scores_values():
        what = (
            f"{type(model).__name__} gives none, for its scores are an order: expected a model of "
            "ratings, such as ExplicitMF"
        )
    elif test.values is not None:
        return
    raise ValueError(f"metrics: 'rmse' and 'mae' are of values, and {what}")


def numbers_of(ids: Any, column: Sequence[Any], name: str = "ids") -> npt.NDArray[np.int64]:
    """The numbers of some ids, which errors call by a name, -1 where one is unknown."""
    if column is ids:
        return np.arange(len(ids))
    if hasattr(ids, "numbers"):
        numbers: npt.NDArray[np.int64] = ids.numbers(column, name)
        return numbers
    table = {id_: number for number, id_ in enumerate(ids)}
    return np.array([table.get(id_, -1) for id_ in column], np.int64)
