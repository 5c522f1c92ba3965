"""Sampled softmax: the item against several others at once.

Jean, Cho, Memisevic and Bengio, "On Using Very Large Target Vocabulary for Neural Machine
Translation", ACL 2015; for recommenders Wu et al., "On the Effectiveness of Sampled Softmax Loss
for Item Recommendation", TOIS 2024. Negatives that are drawn uniformly have all the same
correction, which the softmax does not see; there is none where ``sampling`` says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import wyrmling as wy

from .factors import Loss
from .hyperparameters import Bounds, Count, Scale
from .negatives import NegativeSampling

__all__ = ["SampledSoftmax"]


def loss(
    users: Any,
    items: Any,
    item_bias: Any,
    user: int,
    item: int,
    negatives: Any,
    weight: float = 1.0,
) -> Any:
    """The negative logarithm of the item's share in the softmax of its score and the others'."""
    score = users[user] @ items[item] + item_bias[item]
    others = items[negatives] @ users[user] + item_bias[negatives]
    return weight * (wy.logaddexp(score, wy.logsumexp(others)) - score)


@dataclass(kw_only=True, eq=False, repr=False)
class SampledSoftmax(NegativeSampling):
    """Softmax over an item and ``n_negatives`` others, drawn for each interaction.

    Args:
        n_negatives: how many items are drawn for each interaction.
    """

    lr: Annotated[float, Bounds(above=0)] = 0.1
    l2: Annotated[float, Bounds(least=0)] = 0.055
    l2_bias: Annotated[float, Bounds(least=0)] = 0.001
    epochs: Count = 30
    init_scale: Scale = 0.01
    n_negatives: Annotated[int, Bounds(least=1, most=2**16)] = 20

    def _loss(self) -> Loss:
        return loss
