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
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

import wyrmling as wy

from ..factors import Loss
from ..fitted import ArrayType
from ..hyperparameters import Bounds
from .losses import LossName, next_items
from .sequence_model import FloatArray, SequenceModel

__all__ = ["SASRec"]

FAR = -1e9  # what is added to the score of what may not be looked at
SMALL = 0.02  # how long queries and keys of a new model are, of those of Glorot and Bengio


def distances(at: Any) -> Any:
    """How far back each place is, and 0 for those that come later.

    ``at`` has the places, numbers of shape (n,); the result has shape (n, n), rows look at columns.
    """
    return np.maximum(at[:, None] - at, 0.0)


def may_look(at: Any) -> Any:
    """What is added to scores of attention: 0 where a row's place is not before the column's.

    ``at`` has the places, numbers of shape (n,); the result has shape (n, n).
    """
    return np.where(at[:, None] >= at, 0.0, FAR)


def normalised(vectors: Any) -> Any:
    """Rows with mean 0 and variance 1."""
    centred = vectors - vectors.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-6)


def block(vectors: Any, at: Any, weights: Any, hidden: Any, decay: Any) -> Any:
    """A block of attention: shape (n, d) to shape (n, d).

    ``at`` has the places, ``weights`` shape (3, d, d) of queries, keys and values, ``hidden`` shape
    (2, d, d) of the network. The share of an item is multiplied by the sigmoid of ``decay``, a
    number, for each place that it is further back.
    """
    rows = normalised(vectors)
    size = 1.0 / np.sqrt(1.0 * vectors.shape[-1])
    keys = np.swapaxes(rows @ weights[1], -1, -2)
    before = may_look(at) + distances(at) * wy.logsigmoid(decay)
    scores = (rows @ weights[0]) @ keys * size + before
    share = np.exp(scores - scores.max(axis=-1, keepdims=True))
    share = share / share.sum(axis=-1, keepdims=True)
    vectors = vectors + share @ (rows @ weights[2])
    return vectors + np.maximum(normalised(vectors) @ hidden[0], 0.0) @ hidden[1]


def of_one(vectors: Any, at: Any, weights: Any, hidden: Any, decay: Any) -> Any:
    """The states of one block."""
    return normalised(block(vectors, at, weights[0], hidden[0], decay[0]))


def of_two(vectors: Any, at: Any, weights: Any, hidden: Any, decay: Any) -> Any:
    """The states of two blocks."""
    vectors = block(vectors, at, weights[0], hidden[0], decay[0])
    return normalised(block(vectors, at, weights[1], hidden[1], decay[1]))


def loss_of_one(
    items: Any,
    item_bias: Any,
    weights: Any,
    hidden: Any,
    decay: Any,
    history: Any,
    negatives: Any,
    steps: Any,
    ranking: Any,
    order: Any,
) -> Any:
    """The loss of a user's history, with one block."""
    states = of_one(items[history[:-1]], order[steps[:-1]], weights, hidden, decay)
    return next_items(states, items, item_bias, history, negatives, ranking)


def loss_of_two(
    items: Any,
    item_bias: Any,
    weights: Any,
    hidden: Any,
    decay: Any,
    history: Any,
    negatives: Any,
    steps: Any,
    ranking: Any,
    order: Any,
) -> Any:
    """The loss of a user's history, with two blocks."""
    states = of_two(items[history[:-1]], order[steps[:-1]], weights, hidden, decay)
    return next_items(states, items, item_bias, history, negatives, ranking)


@dataclass(kw_only=True, eq=False, repr=False)
class SASRec(SequenceModel):
    """The state is what self-attention makes of the last ``max_length`` items.

    Args:
        blocks: of attention, 1 or 2.
    """

    blocks: Annotated[int, Bounds(least=1, most=2)] = 1
    loss: LossName = "softmax"
    n_negatives: Annotated[int, Bounds(least=1, most=2**10)] = 50
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
        loss = loss_of_one if self.blocks == 1 else loss_of_two
        return partial(loss, order=np.arange(self.max_length, dtype=np.float32))

    def _encode(self, vectors: npt.NDArray[Any], arrays: Any) -> Any:
        at = np.arange(len(vectors), dtype=np.float32)
        states = (of_one if len(arrays["weights"]) == 1 else of_two)(
            np.moveaxis(vectors, 0, -2), at, arrays["weights"], arrays["hidden"], arrays["decay"]
        )
        return states[..., -1, :]
