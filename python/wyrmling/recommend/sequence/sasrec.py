"""Self-attention over the items that a user had.

Kang and McAuley, "Self-attentive sequential recommendation", ICDM 2018: each item of a history
looks at those before it. A block is attention with one head and a network of one hidden layer, each
of which adds to what it is given, normalised before (Ba, Kiros and Hinton, "Layer normalization",
2016). Without dropout.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from ..factors import Loss
from ..fitted import ArrayType
from ..hyperparameters import Bounds
from .losses import next_items
from .sequence_model import SequenceModel

__all__ = ["SASRec"]

FAR = -1e9  # what is added to the score of what may not be looked at


def may_look(at: Any) -> Any:
    """What is added to scores of attention: 0 where a row's place is not before the column's.

    ``at`` has the places, numbers of shape (n,); the result has shape (n, n).
    """
    return np.where(at[:, None] >= at, 0.0, FAR)


def normalised(vectors: Any) -> Any:
    """Rows with mean 0 and variance 1."""
    centred = vectors - vectors.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-6)


def block(vectors: Any, before: Any, weights: Any, hidden: Any) -> Any:
    """A block of attention: shape (n, d) to shape (n, d).

    ``before`` has 0 where a row (of shape (n, n)) may look, ``weights`` shape (3, d, d) of queries,
    keys and values, ``hidden`` shape (2, d, d) of the network.
    """
    rows = normalised(vectors)
    size = 1.0 / np.sqrt(1.0 * vectors.shape[-1])
    keys = np.swapaxes(rows @ weights[1], -1, -2)
    scores = (rows @ weights[0]) @ keys * size + before
    share = np.exp(scores - scores.max(axis=-1, keepdims=True))
    share = share / share.sum(axis=-1, keepdims=True)
    vectors = vectors + share @ (rows @ weights[2])
    return vectors + np.maximum(normalised(vectors) @ hidden[0], 0.0) @ hidden[1]


def of_one(vectors: Any, before: Any, weights: Any, hidden: Any) -> Any:
    """The states of one block."""
    return normalised(block(vectors, before, weights[0], hidden[0]))


def of_two(vectors: Any, before: Any, weights: Any, hidden: Any) -> Any:
    """The states of two blocks."""
    vectors = block(vectors, before, weights[0], hidden[0])
    return normalised(block(vectors, before, weights[1], hidden[1]))


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
    order: Any,
) -> Any:
    """The loss of a user's history, with one block."""
    at = steps[:-1]
    vectors = items[history[:-1]] + positions[at]
    states = of_one(vectors, may_look(order[at]), weights, hidden)
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
    order: Any,
) -> Any:
    """The loss of a user's history, with two blocks."""
    at = steps[:-1]
    vectors = items[history[:-1]] + positions[at]
    states = of_two(vectors, may_look(order[at]), weights, hidden)
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
        loss = loss_of_one if self.blocks == 1 else loss_of_two
        return partial(loss, order=np.arange(self.max_length, dtype=np.float32))

    def _encode(self, vectors: npt.NDArray[Any], arrays: Any) -> Any:
        before = may_look(np.arange(len(vectors)))
        by_user = np.moveaxis(vectors, 0, -2) + arrays["positions"][: len(vectors)]
        states = (of_one if len(arrays["weights"]) == 1 else of_two)(
            by_user, before, arrays["weights"], arrays["hidden"]
        )
        return states[..., -1, :]

    def _longest(self, arrays: Any) -> int:
        # There are no positions beyond.
        return len(arrays["positions"])
