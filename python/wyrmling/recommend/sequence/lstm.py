"""Long short-term memory over the items that a user had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import nn
from ..factors import Loss
from .dropout import dropped
from .gated import GatedModel
from .losses import next_items

__all__ = ["LSTM"]


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
    """The loss of a user's history."""
    states = nn.lstm_states(items[history[:-1]], of_vector, of_state, gate_bias)
    states = dropped(states, draws, dropout)
    return next_items(states, items, item_bias, history, negatives, ranking)


@dataclass(kw_only=True, eq=False, repr=False)
class LSTM(GatedModel):
    """The next item, by the state of a long short-term memory (:func:`wyrmling.nn.lstm`).

    Hochreiter and Schmidhuber, "Long short-term memory", 1997.
    Interactions are taken in the order of their times, or of their rows where there are no times;
    values and weights count for nothing.
    """

    _parts = 4
    _shown = 0.5

    def _loss(self) -> Loss:
        return loss

    def _encode(self, vectors: npt.NDArray[Any], arrays: Any) -> Any:
        state = memory = np.zeros_like(vectors[0])
        for vector in vectors:
            gates = arrays["of_vector"], arrays["of_state"], arrays["gate_bias"]
            state, memory = nn.lstm(state, memory, vector, *gates)
        return state
