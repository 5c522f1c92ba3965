"""Weighted approximate-rank pairwise loss.

Weston, Bengio and Usunier, "WSABIE: Scaling up to large vocabulary image annotation", IJCAI 2011.
For each interaction items are drawn until the model ranks one less than 1 below the item interacted
with. The more draws that took, the higher the item ranks already, and the less the loss counts: by
the logarithm of the estimated rank, so that the head of the ranking is what is learnt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import wyrmling as wy

from .factors import Loss
from .hyperparameters import Bounds, Count
from .pairwise import PairwiseModel
from .sparsity import Sparsity

__all__ = ["WARP"]


def loss(
    users: Any,
    items: Any,
    item_bias: Any,
    user: int,
    item: int,
    violator: int,
    rank: float,
    weight: float = 1.0,
) -> Any:
    """How far the violator is above the item less 1, times the logarithm of its rank."""
    score = users[user] @ items[item] + item_bias[item]
    other = users[user] @ items[violator] + item_bias[violator]
    return weight * wy.log(rank) * wy.relu(1.0 - score + other)


@dataclass(kw_only=True, eq=False, repr=False)
class WARP(PairwiseModel):
    """Ranking in which the head of the list counts most: for interactions that say what is liked.

    Values count for nothing, and a pair that occurs several times counts once; weights multiply the
    loss of an interaction, of which then all count. Of two items nothing is learnt: the one that is
    drawn has the rank 1, whose logarithm is 0.

    Args:
        l2: weight of the penalty ``l2/2 · |w|²`` of each vector that a sample uses. None takes
            ``0.63 + 0.4·density``, of the share of all pairs that occur: .66 on MovieLens 100K. The
            loss counts by the logarithm of the rank, which makes up for sparse data
            (:mod:`wyrmling.recommend.pairwise`).
        n_negatives: how many items are drawn at most until one violates the order.
    """

    lr: Annotated[float, Bounds(above=0)] = 0.01
    l2_bias: Annotated[float, Bounds(least=0)] = 0.1
    epochs: Count = 25
    n_negatives: Annotated[int, Bounds(least=1, most=2**16)] = 30

    def _loss(self) -> Loss:
        return loss

    def _penalty(self, pairs: Sparsity) -> float:
        return 0.63 + 0.4 * pairs.density
