"""Gated recurrent units over the items that a user had (GRU4Rec, Hidasi et al., 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import nn
from ..factors import Loss
from ..fitted import ArrayType
from .losses import next_items
from .sequence_model import SequenceModel

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
) -> Any:
    """The loss of a user's history."""
    states = nn.gru_states(items[history[:-1]], of_vector, of_state, gate_bias)
    return next_items(states, items, item_bias, history, negatives, ranking)


@dataclass(kw_only=True, eq=False, repr=False)
class GRU(SequenceModel):
    """The state is that of a gated recurrent unit (:func:`wyrmling.nn.gru`)."""

    def _parameter_types(self) -> dict[str, ArrayType]:
        gates = 3 * self.factors
        return {
            "of_vector": ArrayType(("factors", gates)),
            "of_state": ArrayType(("factors", gates)),
            "gate_bias": ArrayType((gates,)),
        }

    def _loss(self) -> Loss:
        return loss

    def _encode(self, vectors: npt.NDArray[Any], arrays: Any) -> Any:
        state = np.zeros_like(vectors[0])
        for vector in vectors:
            gates = arrays["of_vector"], arrays["of_state"], arrays["gate_bias"]
            state = nn.gru(state, vector, *gates)
        return state
