"""Logistic matrix factorisation.

Johnson, "Logistic Matrix Factorization for Implicit Feedback Data", NIPS 2014 workshop: the
probability that a user interacts with an item is the sigmoid of their score. Here items drawn at
random stand for all that the user did not interact with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import wyrmling as wy

from .factors import Loss
from .hyperparameters import Bounds, Count, Scale
from .negatives import NegativeSampling

__all__ = ["LogisticMF"]


def loss(
    users: Any,
    items: Any,
    user_bias: Any,
    item_bias: Any,
    user: int,
    item: int,
    negatives: Any,
    weight: float = 1.0,
) -> Any:
    """The negative log-likelihood of an interaction, and that of none with the negatives."""
    score = users[user] @ items[item] + user_bias[user] + item_bias[item]
    others = items[negatives] @ users[user] + user_bias[user] + item_bias[negatives]
    return -weight * wy.logsigmoid(score) - wy.logsigmoid(-others).sum()


@dataclass(kw_only=True, eq=False, repr=False)
class LogisticMF(NegativeSampling):
    """Logistic matrix factorisation: scores are log-odds of an interaction.

    They are the odds among an item and ``n_negatives`` others drawn at random, not among all. A
    weight multiplies the part of the item alone, as in Johnson's paper, not that of the others.

    Args:
        n_negatives: how many items are drawn for each interaction.
    """

    lr: Annotated[float, Bounds(above=0)] = 0.1
    l2: Annotated[float, Bounds(least=0)] = 0.05
    l2_bias: Annotated[float, Bounds(least=0)] = 0.001
    epochs: Count = 30
    init_scale: Scale = 0.01
    n_negatives: Annotated[int, Bounds(least=1, most=2**16)] = 5

    def _loss(self) -> Loss:
        return loss
