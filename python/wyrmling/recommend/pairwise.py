"""Models that learn by pairs of items: what a user had is to rank above what they did not have.

**Repeats.** A pair of a user and an item counts once, however often it occurs, as in the set S of
Rendle et al. (UAI 2009, section 3.1). How often somebody comes back to an item has a long tail, and
says little about the other items: with repeats the vectors learn the tail. Interactions that have
weights all count, each by its weight.

**The penalty.** What vectors can learn of a matrix that has no structure is noise, whose largest
singular values are near a bound (the edge of Marchenko and Pastur, 1967). Vectors whose penalty is
below that bound fit the noise and rank worse than popularity; far above it they learn nothing. The
bound depends on the data: models choose the penalty by the mean numbers of pairs of a user and of
an item, and by the density, their share among all pairs of a user and an item. The constants were
chosen on MovieLens 100K and on data made up of many sizes, densities, tails and signals
(``benches/recommenders.py --planted``).
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple, Self

import numpy as np

from .. import _core
from ..data import Interactions
from ..data.pairs import numbered
from .factors import FactorModel
from .fitted import Arrays
from .hyperparameters import Bounds
from .training import Task

__all__ = ["PairwiseModel", "Sparsity"]


class Sparsity(NamedTuple):
    """How many pairs of a user and an item occur; those without any pair count for nothing.

    Args:
        per_user: the mean number of items of a user.
        per_item: the mean number of users of an item.
        density: the share of the pairs that occur, from 0 to 1.
    """

    per_user: float
    per_item: float
    density: float

    @classmethod
    def of(cls, pairs: _core.Csr) -> Sparsity:
        """That of some pairs, at least one."""
        n_users = int(np.count_nonzero(pairs.counts))
        n_items = int(np.count_nonzero(np.bincount(pairs.indices)))
        count = len(pairs)
        return cls(count / n_users, count / n_items, count / (n_users * n_items))


@dataclass(kw_only=True, eq=False, repr=False)
class PairwiseModel(FactorModel):
    """A factor model that learns which of two items a user prefers, by distinct pairs.

    Args:
        l2: weight of the penalty ``l2/2 · |w|²`` of each vector that a sample uses; None for one
            that suits the number of pairs of a user and of an item.
    """

    # Other factor models have a number here.
    l2: Annotated[float, Bounds(least=0)] | None = None  # type: ignore[assignment]

    @abstractmethod
    def _penalty(self, pairs: Sparsity) -> float:
        """The weight of the penalty for data of this sparsity."""

    def _resolved(self, pairs: _core.Csr | None) -> Self:
        if self.l2 is not None:
            return self
        model = copy.copy(self)
        if pairs is not None:
            model.l2 = self._penalty(Sparsity.of(pairs))
        elif self._fitted is not None:
            model.l2 = self._fitted.params.get("l2")
        if model.l2 is None:
            raise ValueError(
                "l2 is None, and the model was saved without histories: expected a number"
            )
        return model

    def _learn(self, task: Task) -> Arrays:
        return super()._learn(replace(task, data=_distinct(task.data)))


def _distinct(data: Interactions) -> Interactions:
    """The interactions without those of a pair that came before, unless they have weights."""
    if data.weights is not None:
        return data
    pairs = numbered(data.users, data.items, data.n_items)
    _, first = np.unique(pairs, return_index=True)
    return data if len(first) == len(data) else data.take(np.sort(first))
