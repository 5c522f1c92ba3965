"""Popularity: what most users had. The least that a model has to beat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..array_types import Float32Array, IndexArray
from .fitted import Arrays, ArrayType, NewUser
from .recommender import Recommender
from .scoring import FactorScores, by_bias
from .training import Task

__all__ = ["Popularity"]


@dataclass(kw_only=True, eq=False, repr=False)
class Popularity(Recommender):
    """Recommends what most users had. The score of an item is the number of its users.

    A user who had an item several times counts once.
    """

    def _learn(self, task: Task) -> Arrays:
        if task.start is not None and self._fitted is not None and self._fitted.seen is None:
            raise RuntimeError(
                "the model was saved without histories: it cannot count anew what it has "
                "forgotten; fit() starts with new data alone"
            )
        count = np.bincount(task.seen.indices, minlength=task.data.n_items)
        return {"count": count.astype(np.float32)}

    def _array_types(self) -> Mapping[str, ArrayType]:
        return {"count": ArrayType(("items",))}

    def _scores(self, users: IndexArray) -> FactorScores:
        return by_bias(len(users), self.fitted.arrays["count"])

    def _new_scores(self, users: Sequence[NewUser]) -> FactorScores:
        return by_bias(len(users), self.fitted.arrays["count"])

    def _popularity(self) -> FactorScores:
        return by_bias(1, self.fitted.arrays["count"])

    def _predict(self, users: IndexArray, items: IndexArray) -> Float32Array:
        return self.fitted.arrays["count"][items]
