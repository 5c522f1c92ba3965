"""Models of vectors: users and items are vectors, and a score is their product.

What has arrays ``users`` and ``items`` scores by them, and by ``user_bias``, ``item_bias`` and
``bias`` if it has those too. A subclass finds them, by stochastic gradient descent
(:mod:`.factors`) or by least squares (:mod:`.als`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from ..array_types import Float32Array, IndexArray
from .fitted import Fitted, NewUser, Reasons
from .recommender import Recommender
from .scoring import FactorScores

__all__ = ["VectorModel"]

LINE = 64
"""Bytes of a cache line, and of the widest vector."""

RIDGE = 0.01
"""The penalty by which reasons are found, as a share of the mean square of vectors on an axis."""


@dataclass(kw_only=True, eq=False, repr=False)
class VectorModel(Recommender):
    """A model whose score is a product of vectors, and biases. Similarity is the cosine."""

    def _set_fitted(self, fitted: Fitted) -> None:
        # All of these are read for each user who is recommended to.
        items = aligned(fitted.arrays["items"])
        super()._set_fitted(replace(fitted, arrays={**fitted.arrays, "items": items}))

    def _scores(self, users: IndexArray) -> FactorScores:
        vectors = self.fitted.arrays["users"]
        if len(users) == 1:
            # A view takes a fifth of the time that a copy of one row takes.
            first = users.item()
            return self._scores_of(vectors[first : first + 1])
        return self._scores_of(vectors[users])

    def _new_scores(self, users: Sequence[NewUser]) -> FactorScores:
        return self._scores_of(self._new_vectors(users))

    def _new_vectors(self, users: Sequence[NewUser]) -> Float32Array:
        """The vectors of new users; after the vector a query may have the user's bias."""
        width = self.fitted.arrays["users"].shape[1]
        vectors = np.empty((len(users), width), np.float32)
        for row, user in enumerate(users):
            if user.query is None or user.query.shape not in ((width,), (width + 1,)):
                raise ValueError(
                    f"users: new user {row}, counted from 0, is of another model, expected one "
                    f"with a vector of {width} numbers, as fold_in makes"
                )
            vectors[row] = user.query[:width]
        return vectors

    def _scores_of(self, vectors: Float32Array) -> FactorScores:
        # The biases of a user and of all pairs do not change the order of items: see _offsets.
        arrays = self.fitted.arrays
        return FactorScores(vectors, arrays["items"], arrays.get("item_bias"))

    def _offsets(self, users: IndexArray | Sequence[NewUser]) -> Float32Array | None:
        arrays = self.fitted.arrays
        if "bias" not in arrays and "user_bias" not in arrays:
            return None
        offsets = np.zeros(len(users), np.float32)
        if not isinstance(users, np.ndarray):
            width = arrays["users"].shape[1]
            for row, user in enumerate(users):
                if user.query is not None:
                    offsets[row] = user.query[width:].sum()
        elif "user_bias" in arrays:
            offsets += arrays["user_bias"][users]
        if "bias" in arrays:
            offsets += arrays["bias"]
        return offsets

    def _predict(self, users: IndexArray, items: IndexArray) -> Float32Array:
        arrays = self.fitted.arrays
        scores = np.einsum("kd,kd->k", arrays["users"][users], arrays["items"][items])
        if "item_bias" in arrays:
            scores += arrays["item_bias"][items]
        offsets = self._offsets(users)
        found: Float32Array = scores if offsets is None else scores + offsets
        return found

    def _item_similarity(self, items: IndexArray) -> FactorScores:
        return _cosines(self.fitted, "items", items)

    def _user_similarity(self, users: IndexArray) -> FactorScores:
        return _cosines(self.fitted, "users", users)

    def _reasons(self, user: int | NewUser, item: int) -> Reasons:
        """Writes the user's vector as a sum of those of their items, as well as these can.

        The sum is that of ridge regression, whose penalty is so small that it only holds back what
        nearly parallel vectors would cancel of each other. What is left of the user's vector, and
        biases, come of no item: parts and rest add up to the score.
        """
        if isinstance(user, NewUser):
            vector = self._new_vectors([user])[0]
            offsets = self._offsets([user])
        else:
            vector = self.fitted.arrays["users"][user]
            offsets = self._offsets(np.array([user], np.uint32))
        arrays, had = self.fitted.arrays, self._had(user)
        target = arrays["items"][item].astype(np.float64)
        score = float(vector @ target)
        if "item_bias" in arrays:
            score += float(arrays["item_bias"][item])
        if offsets is not None:
            score += float(offsets[0])
        own = arrays["items"][had].astype(np.float64)
        squares = own.T @ own
        penalty = RIDGE * np.trace(squares) / len(target)
        if penalty == 0:
            return Reasons(had, np.zeros(len(had)), score)
        shares = own @ np.linalg.solve(squares + penalty * np.eye(len(target)), vector)
        parts = shares * (own @ target)
        return Reasons(had, parts, score - float(parts.sum()))


DIRECTIONS: WeakKeyDictionary[Fitted, dict[str, Float32Array]] = WeakKeyDictionary()
"""Each state's vectors of length 1 (or 0), by the names of arrays, made when first asked for."""


def _cosines(fitted: Fitted, name: str, rows: IndexArray) -> FactorScores:
    """The cosines of some rows of an array with all; those of a vector of length 0 are 0."""
    kept = DIRECTIONS.setdefault(fitted, {})
    if name not in kept:
        vectors = fitted.arrays[name]
        # In double precision, in which no square of a float32 number is infinite or 0.
        lengths = np.sqrt(np.einsum("kd,kd->k", vectors, vectors, dtype=np.float64))[:, None]
        directions = np.zeros(vectors.shape, np.float32)
        np.divide(vectors, lengths, out=directions, where=lengths > 0, casting="same_kind")
        kept[name] = aligned(directions)
    return FactorScores(kept[name][rows], kept[name], None)


def aligned(array: Float32Array) -> Float32Array:
    """The array, or a copy of it, whose memory begins at a cache line.

    A vector register that is loaded from two lines takes twice as long as from one. NumPy aligns
    arrays to 16 bytes. An array that cannot be written is mapped from a file, and stays there.
    """
    if not array.flags.writeable or array.ctypes.data % LINE == 0:
        return array
    memory = np.empty(array.nbytes + LINE, np.uint8)
    start = -memory.ctypes.data % LINE
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy
