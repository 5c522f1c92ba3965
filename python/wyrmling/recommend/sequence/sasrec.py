"""Self-attention over the items that a user had.

Kang and McAuley, "Self-attentive sequential recommendation", ICDM 2018: each item of a history
looks at those before it. A block is attention with one head and a network of one hidden layer, each
of which adds to what it is given, normalised before (Ba, Kiros and Hinton, "Layer normalization",
2016). Without dropout.

It differs from the paper in two ways, which small data need. Scores of attention fall linearly with
the distance, by a slope that is learnt, in place of vectors of positions (Press, Smith and Lewis,
"Train short, test long: attention with linear biases", ICLR 2022). And a new model is an average of
the items before, as :class:`.EWMA` is: queries and keys are small, values are the vectors
themselves, and the network adds 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

import wyrmling as wy

from ... import nn
from ...nn.attention import steps_back
from ..factors import Loss
from ..fitted import ArrayType
from ..hyperparameters import Bounds
from .losses import next_items
from .sequence_model import FloatArray, SequenceModel

__all__ = ["SASRec"]

SMALL = 0.02  # how long queries and keys of a new model are, of those of Glorot and Bengio


def block(vectors: Any, weights: Any, hidden: Any, decay: Any) -> Any:
    """A block of attention: shape (n, d) to shape (n, d).

    ``weights`` has shape (3, d, d) of queries, keys and values, ``hidden`` shape (2, d, d) of the
    network. The share of an item is multiplied by the sigmoid of ``decay``, a number, for each step
    that it is further back.
    """
    rows = nn.layer_norm(vectors)
    bias = np.maximum(steps_back(vectors), 0.0) * wy.logsigmoid(decay)
    given = rows @ weights[0], rows @ weights[1], rows @ weights[2]
    vectors = vectors + nn.attention(*given, nn.causal(vectors), bias=bias)
    return vectors + wy.relu(nn.layer_norm(vectors) @ hidden[0]) @ hidden[1]


def of_one(vectors: Any, weights: Any, hidden: Any, decay: Any) -> Any:
    """The states of one block."""
    return nn.layer_norm(block(vectors, weights[0], hidden[0], decay[0]))


def of_two(vectors: Any, weights: Any, hidden: Any, decay: Any) -> Any:
    """The states of two blocks."""
    vectors = block(vectors, weights[0], hidden[0], decay[0])
    return nn.layer_norm(block(vectors, weights[1], hidden[1], decay[1]))


def loss_of_one(
    items: Any,
    item_bias: Any,
    weights: Any,
    hidden: Any,
    decay: Any,
    history: Any,
    negatives: Any,
    ranking: Any,
) -> Any:
    """The loss of a user's history, with one block."""
    states = of_one(items[history[:-1]], weights, hidden, decay)
    return next_items(states, items, item_bias, history, negatives, ranking)


def loss_of_two(
    items: Any,
    item_bias: Any,
    weights: Any,
    hidden: Any,
    decay: Any,
    history: Any,
    negatives: Any,
    ranking: Any,
) -> Any:
    """The loss of a user's history, with two blocks."""
    states = of_two(items[history[:-1]], weights, hidden, decay)
    return next_items(states, items, item_bias, history, negatives, ranking)


@dataclass(kw_only=True, eq=False, repr=False)
class SASRec(SequenceModel):
    """The next item, by self-attention to the last ``max_length`` items.

    Kang and McAuley, "Self-attentive sequential recommendation", 2018. Interactions are taken in
    the order of their times, or of their rows where there are no times; values and weights count
    for nothing.

    Args:
        blocks: how many blocks of attention there are, 1 or 2.
    """

    blocks: Annotated[int, Bounds(least=1, most=2)] = 1
    optimizer: Literal["sgd", "adagrad", "adam"] = "adam"
    lr: Annotated[float, Bounds(above=0)] = 0.003
    l2: Annotated[float, Bounds(least=0)] = 1e-4
    l2_per: Literal["sample", "step"] = "step"
    epochs: Annotated[int, Bounds(least=1)] = 10

    def _parameter_types(self) -> dict[str, ArrayType]:
        return {
            "weights": ArrayType((self.blocks, 3, "factors", "factors")),
            "hidden": ArrayType((self.blocks, 2, "factors", "factors")),
            "decay": ArrayType((self.blocks,)),
        }

    def _new(self, name: str, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        found = super()._new(name, shape, rng)
        if name == "weights":
            found[:, :2] *= SMALL
            found[:, 2] = np.eye(shape[-1])
        if name == "hidden":
            found[:, 1] = 0.0
        return found

    def _loss(self) -> Loss:
        return loss_of_one if self.blocks == 1 else loss_of_two

    def _encode(self, vectors: npt.NDArray[Any], arrays: Any) -> Any:
        states = (of_one if len(arrays["weights"]) == 1 else of_two)(
            np.moveaxis(vectors, 0, -2), arrays["weights"], arrays["hidden"], arrays["decay"]
        )
        return states[..., -1, :]
