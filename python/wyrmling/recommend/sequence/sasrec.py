"""Self-attention over the items that a user had.

Kang and McAuley, "Self-attentive sequential recommendation", ICDM 2018: each item of a history
looks at those before it. A block is attention with one head and a network of one hidden layer, each
of which adds to what it is given, normalised before (Ba, Kiros and Hinton, "Layer normalization",
2016).

It differs from the paper in three ways, which small data need. What the first block is given are
moving averages of items' vectors, as those of :class:`.EWMA`, in place of items and positions.
Scores of attention fall linearly with the distance, by a slope that is learnt (Press, Smith and
Lewis, "Train short, test long: attention with linear biases", ICLR 2022). And attention and network
add 0 at first (Zhang, Dauphin and Ma, "Fixup initialization", ICLR 2019), so that a new model is
the average.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

import wyrmling as wy

from ... import nn
from ...array_types import Float32Array
from ...nn.attention import steps_back
from ..factors import Loss
from ..fitted import ArrayType
from ..hyperparameters import Bounds, Count
from .dropout import dropped
from .losses import next_items
from .sequence_model import SequenceModel

__all__ = ["SASRec"]

SCALE = 0.04
"""What matrices are multiplied by, and by 1 / sqrt(d).

Steps of Adagrad are as long for all parameters. A number of a matrix acts on all vectors, and needs
steps that are shorter by about as much than those of an item's vector.
"""

SMALL = 0.3
"""The standard deviation of queries' and keys' matrices of a new model; the network's is 1."""


def block(vectors: Any, weights: Any, hidden: Any, decay: Any) -> Any:
    """A block of attention: shape (n, d) to shape (n, d).

    ``weights`` has shape (3, d, d) of queries, keys and values, ``hidden`` shape (2, d, d) of the
    network, all to be scaled. The share of an item is multiplied by the sigmoid of ``decay``, a
    number, for each step that it is further back.
    """
    scale = SCALE * vectors.shape[-1] ** -0.5
    rows = nn.layer_norm(vectors)
    bias = np.maximum(steps_back(vectors), 0.0) * wy.logsigmoid(decay)
    queries, keys = rows @ (scale * weights[0]), rows @ (scale * weights[1])
    values = rows @ (scale * weights[2])
    vectors = vectors + nn.attention(queries, keys, values, nn.causal(vectors), bias=bias)
    return vectors + wy.relu(nn.layer_norm(vectors) @ (scale * hidden[0])) @ (scale * hidden[1])


def of_one(vectors: Any, kept: Any, weights: Any, hidden: Any, decay: Any) -> Any:
    """The states of one block, on averages of vectors by ``kept``, shape (d,)."""
    return block(nn.ewma_states(vectors, kept), weights[0], hidden[0], decay[0])


def of_two(vectors: Any, kept: Any, weights: Any, hidden: Any, decay: Any) -> Any:
    """The states of two blocks."""
    vectors = block(nn.ewma_states(vectors, kept), weights[0], hidden[0], decay[0])
    return block(vectors, weights[1], hidden[1], decay[1])


def loss_of(states_of: Callable[..., Any]) -> Loss:
    """The loss of a user's history, whose states blocks of attention give."""

    def loss(
        items: Any,
        item_bias: Any,
        kept: Any,
        weights: Any,
        hidden: Any,
        decay: Any,
        history: Any,
        negatives: Any,
        ranking: Any,
        draws: Any = None,
        dropout: Any = None,
    ) -> Any:
        states = states_of(items[history[:-1]], kept, weights, hidden, decay)
        states = dropped(states, draws, dropout)
        return next_items(states, items, item_bias, history, negatives, ranking)

    return loss


LOSSES = {1: loss_of(of_one), 2: loss_of(of_two)}
"""The losses by the number of blocks."""


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
    factors: Annotated[int, Bounds(least=1, most=2**16)] = 128
    dropout: Annotated[float, Bounds(least=0, most=0.9)] = 0.5
    n_negatives: Annotated[int, Bounds(least=1, most=2**14)] = 100
    shared_negatives: bool = True
    lr: Annotated[float, Bounds(above=0)] = 0.25
    l2: Annotated[float, Bounds(least=0)] = 6e-4
    epochs: Count = 20

    def _parameter_types(self) -> dict[str, ArrayType]:
        return {
            "kept": ArrayType(("factors",)),
            "weights": ArrayType((self.blocks, 3, "factors", "factors")),
            "hidden": ArrayType((self.blocks, 2, "factors", "factors")),
            "decay": ArrayType((self.blocks,)),
        }

    def _new(self, name: str, shape: tuple[int, ...], rng: np.random.Generator) -> Float32Array:
        if len(shape) == 1:
            return super()._new(name, shape, rng)
        found = nn.normal(shape, 1.0, rng)
        if name == "weights":
            found[:, :2] *= SMALL
            found[:, 2] = 0.0
        else:
            found[:, 1] = 0.0
        return found

    def _loss(self) -> Loss:
        return LOSSES[self.blocks]

    def _encode(self, vectors: npt.NDArray[Any], arrays: Any) -> Any:
        names = "kept", "weights", "hidden", "decay"
        states = (of_one if len(arrays["weights"]) == 1 else of_two)(
            np.moveaxis(vectors, 0, -2), *(arrays[name] for name in names)
        )
        return states[..., -1, :]
