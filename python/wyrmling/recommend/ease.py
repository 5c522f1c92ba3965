"""EASE: a linear autoencoder in closed form.

Steck, "Embarrassingly shallow autoencoders for sparse data", WWW 2019. Each of a user's items X is
predicted from the others by weights B with a zero diagonal, those that make ``|X - XB|² + l2 |B|²``
least. With ``P = (XᵀX + l2 I)⁻¹`` they are ``B = I - P diag(P)⁻¹``: nothing is sampled, and there
is one setting.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from .. import _core
from ..array_types import Float32Array, IndexArray
from .fitted import Arrays, ArrayType
from .hyperparameters import Bounds
from .similarity import SimilarityModel, SimilarityScores
from .training import Task

__all__ = ["EASE"]

BYTES = 12
"""Memory that training takes for each pair of items."""


@dataclass(kw_only=True, eq=False, repr=False)
class EASE(SimilarityModel):
    """A weight for each pair of items, in closed form: for up to some ten thousand items.

    It uses who had what; values and weights of interactions count for nothing. For m items training
    takes ``12 m²`` bytes of memory and some ``m³`` multiplications, and the model ``4 m²`` bytes:
    4.8 GB, minutes and 1.6 GB for 20,000 items. What would take more than the machine's memory
    raises MemoryError at once. The result has the same bits for any number of threads.

    Args:
        l2: weight of the penalty; it grows with the data, and hundreds are usual.
    """

    # Beyond, weights of 1 / l2² would be 0 in single precision.
    l2: Annotated[float, Bounds(above=0, most=1e18)] = 300.0

    def _array_types(self) -> Mapping[str, ArrayType]:
        return {"weights": ArrayType(("items", "items"))}

    def _learn(self, task: Task) -> Arrays:
        n_items = task.data.n_items
        needed, there = BYTES * n_items**2, _memory()
        if there is not None and needed > there:
            raise MemoryError(
                f"data has {n_items:,} items, for which EASE takes {needed / 1e9:,.1f} GB of "
                f"memory, and the machine has {there / 1e9:,.1f} GB"
            )
        by_user, by_item = self._interactions(task)
        return {"weights": _core.item_weights(by_item, by_user, self.l2, self.num_threads)}

    def _weights(self) -> Float32Array:
        return self.fitted.arrays["weights"]

    def _weights_of(self, item: int) -> Float32Array:
        return self.fitted.arrays["weights"][:, item]

    def _item_similarity(self, items: IndexArray) -> SimilarityScores:
        # Items are similar to those that they raise the scores of: each is a history of one.
        rows = np.arange(len(items), dtype=np.uint32)
        each = _core.Csr(rows, items, len(items), len(self.item_ids))
        return SimilarityScores(each, self._weights())


def _memory() -> int | None:
    """The machine's memory in bytes, if the system tells."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
