"""Matrix factorisation of ratings.

Koren, Bell and Volinsky, "Matrix Factorization Techniques for Recommender Systems", IEEE Computer
2009: the squared error of ratings by vectors and biases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from .factors import FactorModel, Loss
from .hyperparameters import Bounds

__all__ = ["ExplicitMF"]


def loss(
    users: Any,
    items: Any,
    user_bias: Any,
    item_bias: Any,
    bias: Any,
    user: int,
    item: int,
    value: float,
    weight: float = 1.0,
) -> Any:
    """Half the squared error of a rating."""
    predicted = users[user] @ items[item] + user_bias[user] + item_bias[item] + bias[0]
    return 0.5 * weight * (predicted - value) ** 2


@dataclass(kw_only=True, eq=False, repr=False)
class ExplicitMF(FactorModel):
    """Matrix factorisation of ratings: ``predict`` gives ratings.

    It learns from the values of interactions, which need not be ratings: any finite numbers. It
    ranks what users would rate highest, which is not what they would choose: for ranking the
    models of implicit feedback are better.
    """

    lr: Annotated[float, Bounds(above=0)] = 0.02
    l2: Annotated[float, Bounds(least=0)] = 0.05
    batch_size: Annotated[int, Bounds(least=1)] = 8

    def _loss(self) -> Loss:
        return loss
