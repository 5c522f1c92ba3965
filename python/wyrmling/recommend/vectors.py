"""Models of vectors: users and items are vectors, and a score is their product.

What has arrays ``users`` and ``items`` scores by them, and by ``user_bias``, ``item_bias`` and
``bias`` if it has those too. How it finds them is its own business: by stochastic gradient descent
(:mod:`.factors`) or by least squares (:mod:`.als`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .fitted import NewUser
from .recommender import Recommender
from .scoring import FactorScores, Numbers

__all__ = ["VectorModel"]


@dataclass(kw_only=True, eq=False, repr=False)
class VectorModel(Recommender):
    """A model whose score is a product of vectors, and biases. Similarity is the cosine."""

    def _scores(self, users: Numbers) -> FactorScores:
        return self._scores_of(self.fitted.arrays["users"][users])

    def _new_scores(self, users: Sequence[NewUser]) -> FactorScores:
        queries = [user.query for user in users if user.query is not None]
        return self._scores_of(np.array(queries, np.float32))

    def _scores_of(self, vectors: npt.NDArray[np.float32]) -> FactorScores:
        # The biases of a user and of all pairs do not change the order of items.
        arrays = self.fitted.arrays
        return FactorScores(vectors, arrays["items"], arrays.get("item_bias"))

    def _predict(self, users: Numbers, items: Numbers) -> npt.NDArray[np.float32]:
        arrays = self.fitted.arrays
        scores = np.einsum("kd,kd->k", arrays["users"][users], arrays["items"][items])
        for name, place in (("user_bias", users), ("item_bias", items)):
            if name in arrays:
                scores += arrays[name][place]
        if "bias" in arrays:
            scores += arrays["bias"]
        found: npt.NDArray[np.float32] = scores
        return found

    def _item_similarity(self, items: Numbers) -> FactorScores:
        return _cosines(self.fitted.arrays["items"], items)

    def _user_similarity(self, users: Numbers) -> FactorScores:
        return _cosines(self.fitted.arrays["users"], users)


def _cosines(vectors: npt.NDArray[np.float32], rows: Numbers) -> FactorScores:
    """The cosines of some rows with all; those of a vector of length 0 are 0."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    directions = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return FactorScores(directions[rows], directions, None)
