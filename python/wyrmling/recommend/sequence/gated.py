"""What models with a gated cell share: their loss, their parameters, and how training starts.

A new model is nearly a moving average of items' vectors, as :class:`.EWMA` is: the new content of a
cell is the vector itself, by an identity matrix (as Le, Jaitly and Hinton, "A simple way to
initialize recurrent networks of rectified linear units", 2015, start from one), and all other
matrices are small, so that gates are 1/2. On MovieLens 100K that ranks the next item better than
matrices drawn at random, which have to find first that a state should be near its items.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ...array_types import Float32Array
from ..factors import Loss
from ..fitted import ArrayType
from ..hyperparameters import Bounds, Count
from .dropout import dropped
from .losses import next_items
from .sequence_model import SequenceModel

__all__ = ["GatedModel"]

SMALL = 0.1
"""The size of a new model's other matrices, of those of Glorot and Bengio."""


def loss_of(states_of: Callable[[Any, Any, Any, Any], Any]) -> Loss:
    """The loss of a user's history, whose states a layer over sequences gives."""

    def loss(
        items: Any,
        item_bias: Any,
        of_vector: Any,
        of_state: Any,
        gate_bias: Any,
        history: Any,
        negatives: Any,
        ranking: Any,
        draws: Any = None,
        dropout: Any = None,
    ) -> Any:
        states = states_of(items[history[:-1]], of_vector, of_state, gate_bias)
        states = dropped(states, draws, dropout)
        return next_items(states, items, item_bias, history, negatives, ranking)

    return loss


@dataclass(kw_only=True, eq=False, repr=False)
class GatedModel(SequenceModel):
    """The state is that of a cell with gates.

    ``of_vector`` and ``of_state`` have the matrices of the gates side by side, shape (factors,
    n factors), and that of the new content last; ``gate_bias`` has shape (n factors,).
    """

    optimizer: Literal["sgd", "adagrad", "adam"] = "adam"
    lr: Annotated[float, Bounds(above=0)] = 0.006
    l2: Annotated[float, Bounds(least=0)] = 1e-4
    l2_per: Literal["sample", "step"] = "step"
    epochs: Count = 12

    _parts: ClassVar[int]
    """Gates and new content together."""

    _shown: ClassVar[float]
    """The share of the content in the state of a new model, while it is small."""

    def _parameter_types(self) -> dict[str, ArrayType]:
        width = self._parts * self.factors
        return {
            "of_vector": ArrayType(("factors", width)),
            "of_state": ArrayType(("factors", width)),
            "gate_bias": ArrayType((width,)),
        }

    def _new(self, name: str, shape: tuple[int, ...], rng: np.random.Generator) -> Float32Array:
        found = SMALL * super()._new(name, shape, rng)
        if name == "of_vector":
            found[:, -self.factors :] = np.eye(self.factors) / self._shown
        return found
