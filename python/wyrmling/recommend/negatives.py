"""Factor models whose negatives may be drawn in several ways.

The loss of such a model asks for ``negative`` or ``negatives``, and ``sampling`` says what these
are drawn from. An item that the model ranks high, or that many users have, teaches more than one
drawn from all alike, and is more often one that the user would like.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

import wyrmling as wy

from .. import _core
from .factors import NEGATIVES, FactorModel, Parameters

__all__ = ["NegativeSampling"]


@dataclass(kw_only=True, eq=False, repr=False)
class NegativeSampling(FactorModel):
    """A factor model whose negatives are drawn as a hyperparameter says.

    Args:
        sampling: what ``negative`` and ``negatives`` are drawn from, but never an item that the
            user had: ``"uniform"``, all items alike; ``"popularity"``, by the number of their users
            to the power 0.75; ``"in_batch"``, the items of other samples of the batch, by which
            scores lack the logarithm of an item's share, and nothing lowers that of an item that
            nobody had (``docs/recommenders.md`` puts it right); ``"adaptive"``, items that a factor
            of the model ranks high for the user (:class:`wyrmling.sampling.Adaptive`). ``fit``
            raises ValueError for ``"in_batch"`` with ``batch_size=1``.
    """

    sampling: Literal["uniform", "popularity", "in_batch", "adaptive"] = "uniform"

    def _used_columns(self, drawn: list[str]) -> tuple[str, ...]:
        in_batch = self.sampling == "in_batch" and any(name in NEGATIVES for name in drawn)
        return ("user", "item") if in_batch else super()._used_columns(drawn)

    def _least_batch(self) -> int:
        return 2 if self.sampling == "in_batch" else 1

    def _negatives(
        self, known: Parameters, seen: _core.Csr, rest: dict[str, Any]
    ) -> wy.sampling.Sampler | wy.sampling.ScoredSampler:
        match self.sampling:
            case "popularity":
                # An item that no user had counts as if one had it, so that it is drawn too.
                counts = self._counts
                if counts is None:
                    counts = np.bincount(seen.indices, minlength=seen.shape[1])
                return wy.sampling.Popularity(np.maximum(counts, 1), **rest)
            case "in_batch" if self._counts is not None:
                # Batches of a new user are of their own items; those of training are of all users.
                return wy.sampling.Popularity(np.maximum(self._counts, 1e-6), 1.0, **rest)
            case "in_batch":
                return wy.sampling.InBatch("item", seen.shape[1], **rest)
            case "adaptive":
                tables = known["users"], known["items"], known.get("item_bias")
                return wy.sampling.Adaptive(*tables, **rest)
            case _:
                return super()._negatives(known, seen, rest)

    def _reads_model(self, drawn: list[str]) -> bool:
        adaptive = self.sampling == "adaptive" and any(name in NEGATIVES for name in drawn)
        return adaptive or super()._reads_model(drawn)
