"""Long short-term memory over the items that a user had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import nn
from ..factors import Loss
from .gated import GatedModel, loss_of

__all__ = ["LSTM"]

LOSS = loss_of(nn.lstm_states)


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
        return LOSS

    def _encode(self, vectors: npt.NDArray[Any], arrays: Any) -> Any:
        state = memory = np.zeros_like(vectors[0])
        for vector in vectors:
            gates = arrays["of_vector"], arrays["of_state"], arrays["gate_bias"]
            state, memory = nn.lstm(state, memory, vector, *gates)
        return state
