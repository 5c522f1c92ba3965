"""Bayesian personalised ranking.

Rendle, Freudenthaler, Gantner and Schmidt-Thieme, "BPR: Bayesian Personalized Ranking from
Implicit Feedback", UAI 2009. For each interaction an item is drawn that the user has not interacted
with, and training raises the odds that the item interacted with scores higher.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import wyrmling as wy

from .factors import Loss
from .hyperparameters import Bounds
from .negatives import NegativeSampling

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
class BPR(NegativeSampling):
    """Bayesian personalised ranking: for interactions that say what is liked, not how much.

    Values count for nothing; weights multiply the loss of an interaction. The defaults suit data
    of the size of MovieLens 100K; larger data needs fewer epochs and bears more factors.
    """

    lr: Annotated[float, Bounds(above=0)] = 0.15
    l2: Annotated[float, Bounds(least=0)] = 0.025
    l2_bias: Annotated[float, Bounds(least=0)] = 0.001
    epochs: Annotated[int, Bounds(least=1)] = 30
    init_scale: Annotated[float, Bounds(above=0)] = 0.01

    def _loss(self) -> Loss:
        return loss
