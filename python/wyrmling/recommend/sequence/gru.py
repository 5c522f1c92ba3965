"""Gated recurrent units over the items that a user had (GRU4Rec, Hidasi et al., 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import nn
from ..factors import Loss
from .gated import GatedModel, loss_of

__all__ = ["GRU"]

LOSS = loss_of(nn.gru_states)


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
        return LOSS

    def _encode(self, vectors: npt.NDArray[Any], arrays: Any) -> Any:
        state = np.zeros_like(vectors[0])
        for vector in vectors:
            gates = arrays["of_vector"], arrays["of_state"], arrays["gate_bias"]
            state = nn.gru(state, vector, *gates)
        return state
