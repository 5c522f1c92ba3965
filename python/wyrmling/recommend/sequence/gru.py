"""Gated recurrent units over the items that a user had (GRU4Rec, Hidasi et al., 2016)."""

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

__all__ = ["GRU"]


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
    states = nn.gru_states(items[history[:-1]], of_vector, of_state, gate_bias)
    states = dropped(states, draws, dropout)
    return next_items(states, items, item_bias, history, negatives, ranking)


@dataclass(kw_only=True, eq=False, repr=False)
class GRU(GatedModel):
    """The next item, by the state of a gated recurrent unit (:func:`wyrmling.nn.gru`).

    Hidasi et al., "Session-based recommendations with recurrent neural networks", 2016.
    Interactions are taken in the order of their times, or of their rows where there are no times;
    values and weights count for nothing.
    """

    _parts = 3
    _shown = 1.0

    def _loss(self) -> Loss:
        return loss

    def _encode(self, vectors: npt.NDArray[Any], arrays: Any) -> Any:
        state = np.zeros_like(vectors[0])
        for vector in vectors:
            gates = arrays["of_vector"], arrays["of_state"], arrays["gate_bias"]
            state = nn.gru(state, vector, *gates)
        return state
