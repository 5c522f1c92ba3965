"""Logistic matrix factorisation.

Johnson, "Logistic Matrix Factorization for Implicit Feedback Data", NIPS 2014 workshop: the
probability that a user interacts with an item is the sigmoid of their score. Here items drawn at
random stand for all that the user did not interact with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import wyrmling as wy

from .factors import FactorModel, Loss

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
class LogisticMF(FactorModel):
    """Logistic matrix factorisation: scores are log-odds of an interaction.

    They are the odds among an item and ``n_negatives`` others drawn at random, not among all.
    """

    n_negatives: Any = 5

    def _loss(self) -> Loss:
        return loss
