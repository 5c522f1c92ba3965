"""Self-attention over the items that a user had.

Kang and McAuley, "Self-attentive sequential recommendation", ICDM 2018: each item of a history
looks at those before it. A block is attention with one head and a network of one hidden layer, each
of which adds to what it is given, normalised before (Ba, Kiros and Hinton, "Layer normalization",
2016). Without dropout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

import wyrmling as wy

from ... import nn
from ..factors import Loss
from ..fitted import ArrayType
from ..hyperparameters import Bounds
from .losses import next_items
from .sequence_model import SequenceModel

__all__ = ["SASRec"]


def block(vectors: Any, mask: Any, weights: Any, hidden: Any) -> Any:
    """A block of attention: shape (n, d) to shape (n, d).

    ``mask`` is true where a row (of shape (n, n)) may look, ``weights`` has shape (3, d, d) of
    queries, keys and values, ``hidden`` shape (2, d, d) of the network.
    """
    rows = nn.layer_norm(vectors)
    seen = nn.attention(rows @ weights[0], rows @ weights[1], rows @ weights[2], mask)
    vectors = vectors + seen
    return vectors + wy.relu(nn.layer_norm(vectors) @ hidden[0]) @ hidden[1]


def of_one(vectors: Any, weights: Any, hidden: Any) -> Any:
    """The states of one block."""
    return nn.layer_norm(block(vectors, nn.causal(vectors), weights[0], hidden[0]))


def of_two(vectors: Any, weights: Any, hidden: Any) -> Any:
    """The states of two blocks."""
    mask = nn.causal(vectors)
    vectors = block(vectors, mask, weights[0], hidden[0])
    return nn.layer_norm(block(vectors, mask, weights[1], hidden[1]))


def loss_of_one(
    items: Any,
    item_bias: Any,
    positions: Any,
    weights: Any,
    hidden: Any,
    history: Any,
    negatives: Any,
    steps: Any,
    ranking: Any,
) -> Any:
    """The loss of a user's history, with one block."""
    vectors = items[history[:-1]] + positions[steps[:-1]]
    states = of_one(vectors, weights, hidden)
    return next_items(states, items, item_bias, history, negatives, ranking)


def loss_of_two(
    items: Any,
    item_bias: Any,
    positions: Any,
    weights: Any,
    hidden: Any,
    history: Any,
    negatives: Any,
    steps: Any,
    ranking: Any,
) -> Any:
    """The loss of a user's history, with two blocks."""
    vectors = items[history[:-1]] + positions[steps[:-1]]
    states = of_two(vectors, weights, hidden)
    return next_items(states, items, item_bias, history, negatives, ranking)


@dataclass(kw_only=True, eq=False, repr=False)
class SASRec(SequenceModel):
    """The state is what self-attention makes of the last ``max_length`` items.

    Args:
        blocks: of attention, 1 or 2.
    """

    blocks: Annotated[int, Bounds(least=1, most=2)] = 1

    def _parameter_types(self) -> dict[str, ArrayType]:
        return {
            "positions": ArrayType((self.max_length, "factors")),
            "weights": ArrayType((self.blocks, 3, "factors", "factors")),
            "hidden": ArrayType((self.blocks, 2, "factors", "factors")),
        }

    def _loss(self) -> Loss:
        return loss_of_one if self.blocks == 1 else loss_of_two

    def _encode(self, vectors: npt.NDArray[Any], arrays: Any) -> Any:
        by_user = np.moveaxis(vectors, 0, -2) + arrays["positions"][: len(vectors)]
        states = (of_one if len(arrays["weights"]) == 1 else of_two)(
            by_user, arrays["weights"], arrays["hidden"]
        )
        return states[..., -1, :]

    def _longest(self, arrays: Any) -> int:
        # There are no positions beyond.
        return len(arrays["positions"])
