"""Bayesian personalised ranking.

Rendle, Freudenthaler, Gantner and Schmidt-Thieme, "BPR: Bayesian Personalized Ranking from
Implicit Feedback", UAI 2009. For each interaction an item is drawn that the user has not interacted
with, and training raises the odds that the item interacted with scores higher.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import wyrmling as wy

from .factors import Loss
from .hyperparameters import Bounds, Count
from .negatives import NegativeSampling
from .pairwise import PairwiseModel
from .sparsity import Sparsity

__all__ = ["BPR"]


def loss(
    users: Any,
    items: Any,
    item_bias: Any,
    user: int,
    item: int,
    negative: int,
    weight: float = 1.0,
) -> Any:
    """The negative logarithm of the odds that the item scores higher than the negative."""
    score = users[user] @ items[item] + item_bias[item]
    other = users[user] @ items[negative] + item_bias[negative]
    return -weight * wy.logsigmoid(score - other)


@dataclass(kw_only=True, eq=False, repr=False)
class BPR(PairwiseModel, NegativeSampling):
    """Bayesian personalised ranking: for interactions that say what is liked, not how much.

    Values count for nothing, and a pair that occurs several times counts once; weights multiply the
    loss of an interaction, of which then all count. The defaults suit data of the size of MovieLens
    100K; larger data needs fewer epochs and bears more factors.

    Args:
        l2: weight of the penalty ``l2/2 · |w|²`` of each vector that a sample uses. None takes
            ``(0.08 + 0.6·density)·(1/√per_user + 1/√per_item)``, of the mean numbers of items of
            a user and of users of an item and the share of all pairs that occur: .027 on MovieLens
            100K. The second factor is the largest singular value of noise, the first how much a
            sample adds to it (:mod:`wyrmling.recommend.pairwise`).
    """

    lr: Annotated[float, Bounds(above=0)] = 0.2
    l2_bias: Annotated[float, Bounds(least=0)] = 0.01
    epochs: Count = 30

    _unused: ClassVar[tuple[str, ...]] = ("n_negatives",)

    def _loss(self) -> Loss:
        return loss

    def _penalty(self, pairs: Sparsity) -> float:
        noise = 1 / math.sqrt(pairs.per_user) + 1 / math.sqrt(pairs.per_item)
        return (0.08 + 0.6 * pairs.density) * noise
