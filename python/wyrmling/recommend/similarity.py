"""Models that score an item by the items that a user had: sums of rows of a matrix of items.

``score(u, j) = Σ weights[i, j]`` over the items i of user u. So a model knows nothing of users but
their histories, and a new one needs no training.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .. import _core
from ..array_types import Float32Array, IndexArray
from ..data.pairs import users_of
from .fitted import NewUser, Reasons, pairs_of
from .recommender import Recommender
from .scoring import FactorScores
from .training import Task

__all__ = ["SimilarityModel", "SimilarityScores"]

Weights = Float32Array | _core.CsrMatrix

SCORED_AT_ONCE = 1 << 23
"""Scores held in memory."""


class SimilarityScores(NamedTuple):
    """The scores ``Σ weights[i, j]`` over the items i of each history.

    Args:
        histories: the items of n users, of m.
        weights: shape (m, m), float32: an array or a sparse matrix.
    """

    histories: _core.Csr
    weights: Weights

    def blocks(self) -> Iterator[tuple[IndexArray, FactorScores]]:
        """The scores of some users after others: their places, and their scores as products."""
        n_users, n_items = self.histories.shape
        # The product takes each user as many operations as there are users, for each item.
        step = max(1, min(64, SCORED_AT_ONCE // max(n_items, 1)))
        for start in range(0, max(n_users, 1), step):
            rows = np.arange(start, min(start + step, n_users), dtype=np.uint32)
            sums = _core.sums_of_rows(self.histories.select(rows), self.weights)
            # Ranking takes products of vectors: here the vectors of users are units.
            yield rows, FactorScores(np.eye(len(rows), dtype=np.float32), sums.T, None)


@dataclass(kw_only=True, eq=False, repr=False)
class SimilarityModel(Recommender):
    """A model whose score is a sum of weights of the items that a user had.

    Learning is one step: there are no epochs, and ``callback`` is not called. ``partial_fit``
    learns anew from all interactions, old and new.
    """

    @abstractmethod
    def _weights(self) -> Weights:
        """How much having item i adds to the score of item j: shape (m, m)."""

    @abstractmethod
    def _weights_of(self, item: int) -> Float32Array:
        """How much having each item adds to the score of one: shape (m,)."""

    @abstractmethod
    def _item_similarity(self, items: IndexArray) -> SimilarityScores:
        """How similar all items are to each of some items."""

    def _interactions(self, task: Task) -> tuple[_core.CsrMatrix, _core.CsrMatrix]:
        """Who had what, by user and by item: ones."""
        if task.start is not None and self._fitted is not None and self._fitted.seen is None:
            raise RuntimeError(
                "the model was saved without histories: it cannot learn anew from what it has "
                "forgotten; fit() starts with new data alone"
            )
        by_user = _matrix(task.seen)
        return by_user, by_user.transposed()

    def _scores(self, users: IndexArray) -> SimilarityScores:
        return SimilarityScores(self._histories.select(users), self._weights())

    def _new_scores(self, users: Sequence[NewUser]) -> SimilarityScores:
        return SimilarityScores(pairs_of(users, len(self.item_ids)), self._weights())

    def _predict(self, users: IndexArray, items: IndexArray) -> Float32Array:
        known, places = np.unique(users, return_inverse=True)
        order = np.argsort(places, kind="stable")
        ends = np.searchsorted(places[order], np.arange(len(known) + 1))
        scores = np.empty(len(users), np.float32)
        if not len(users):
            return scores
        for rows, block in self._scores(known).blocks():
            own = order[ends[rows[0]] : ends[rows[-1] + 1]]
            scores[own] = block.items[items[own], places[own] - rows[0]]
        return scores

    def _reasons(self, user: int | NewUser, item: int) -> Reasons:
        """The weights that the score is the sum of."""
        had = user.items if isinstance(user, NewUser) else self._histories.row(user)
        return Reasons(had, self._weights_of(item)[had])

    @property
    def _histories(self) -> _core.Csr:
        """The items that each user had, of which scores are made."""
        if self.fitted.seen is None:
            raise RuntimeError(
                "the model was saved without histories, of which it computes scores: it can only "
                "recommend to new users (fold_in)"
            )
        return self.fitted.seen


def _matrix(pairs: _core.Csr) -> _core.CsrMatrix:
    """The matrix that has 1 for each pair."""
    ones = np.ones(len(pairs), np.float32)
    return _core.CsrMatrix(users_of(pairs), pairs.indices, ones, *pairs.shape)
