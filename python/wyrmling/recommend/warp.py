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

from .factors import FactorModel, Loss
from .hyperparameters import Bounds

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
class WARP(FactorModel):
    """Ranking in which the head of the list counts most: for interactions that say what is liked.

    Values count for nothing; weights multiply the loss of an interaction.

    Args:
        n_negatives: how many items are drawn at most until one violates the order.
    """

    lr: Annotated[float, Bounds(above=0)] = 0.01
    l2: Annotated[float, Bounds(least=0)] = 0.5
    l2_bias: Annotated[float, Bounds(least=0)] = 0.1
    init_scale: Annotated[float, Bounds(above=0)] = 0.01
    n_negatives: Annotated[int, Bounds(least=1, most=2**16)] = 30

    def _loss(self) -> Loss:
        return loss
