"""Models that learn by pairs of items: what a user had is to rank above what they did not have.

**Repeats.** A pair of a user and an item counts once, however often it occurs, as in the set S of
Rendle et al. (UAI 2009, section 3.1). How often somebody comes back to an item has a long tail, and
says little about the other items: with repeats the vectors learn the tail. Interactions that have
weights all count, each by its weight.

**The penalty** is chosen by the sparsity of the data (:mod:`.sparsity`). The constants were chosen
on MovieLens 100K and on data made up of many sizes, densities, tails and signals
(``benches/recommenders.py --planted``).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Annotated, Self

import numpy as np

from .. import _core
from ..data import Interactions
from ..data.pairs import numbered
from .factors import FactorModel
from .fitted import Arrays, Fitted
from .hyperparameters import Bounds
from .sparsity import Sparsity, with_penalty
from .training import Task

__all__ = ["PairwiseModel"]


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

    def _resolved(
        self,
        pairs: _core.Csr | None,
        data: Interactions | None = None,
        before: Fitted | None = None,
    ) -> Self:
        return with_penalty(self, pairs, self._penalty)

    def _learn(self, task: Task) -> Arrays:
        return super()._learn(replace(task, data=_distinct(task.data)))


def _distinct(data: Interactions) -> Interactions:
    """The interactions without those of a pair that came before, unless they have weights."""
    if data.weights is not None:
        return data
    pairs = numbered(data.users, data.items, data.n_items)
    _, first = np.unique(pairs, return_index=True)
    return data if len(first) == len(data) else data.take(np.sort(first))
