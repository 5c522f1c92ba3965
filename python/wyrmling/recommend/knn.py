"""Item-based nearest neighbours: an item scores by its neighbours among the items that a user had.

Sarwar, Karypis, Konstan and Riedl, "Item-based collaborative filtering recommendation algorithms",
WWW 2001: ``score(u, j)`` is the sum of how similar j is to those of its nearest items that u had.
Two items are similar if the same users had them. Similarities of items with few users are shrunk,
by a number added to what they are divided by (Ferrari Dacrema, Cremonesi and Jannach, "Are we
really making much progress?", RecSys 2019).

==============  ==================================================================================
``"cosine"``    ``p(i,j) / (√p(i,i) √p(j,j) + shrink)``, where p counts the users in common
``"jaccard"``   ``p(i,j) / (p(i,i) + p(j,j) - p(i,j) + shrink)``
``"tf-idf"``    the cosine, where a user with n of m items counts ``ln(m/n)²``: who has everything
                says nothing (inverse user frequency: Breese, Heckerman and Kadie, UAI 1998)
``"bm25"``      ``Σ w(i,u) w(j,u)`` by the weights of BM25 (Robertson and Walker, SIGIR 1994), where
                items are texts and users words, k₁ = 1.2 and b = 0.75; a word counts ``ln(m/n)``,
                which is never negative; not divided, nor shrunk
==============  ==================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal
from weakref import WeakKeyDictionary

import numpy as np

from .. import _core
from ..array_types import Float32Array, IndexArray
from ..data.pairs import users_of
from .fitted import Arrays, ArrayType, Fitted
from .hyperparameters import Bounds
from .similarity import SimilarityModel, SimilarityScores
from .training import Task

__all__ = ["ItemKNN"]

K1, B = 1.2, 0.75
"""The parameters of BM25."""

MATRICES: WeakKeyDictionary[Fitted, tuple[_core.CsrMatrix, _core.CsrMatrix]] = WeakKeyDictionary()
"""What states score by, made when it is first asked for."""


@dataclass(kw_only=True, eq=False, repr=False)
class ItemKNN(SimilarityModel):
    """The items most like those that a user had, by the users that items have in common.

    It uses who had what; values and weights of interactions count for nothing. Training takes time
    with the sum over users of the square of how many items they had, and holds no matrix of all
    pairs of items. The result has the same bits for any number of threads.

    Args:
        neighbours: how many items an item is compared with: those most similar to it, of equal ones
            the lower numbers.
        similarity: ``"cosine"``, ``"jaccard"``, ``"tf-idf"`` or ``"bm25"``.
        shrink: how strongly similarities of items with few users are lowered.
    """

    neighbours: Annotated[int, Bounds(least=1, most=2**31)] = 200
    similarity: Literal["cosine", "jaccard", "tf-idf", "bm25"] = "cosine"
    shrink: Annotated[float, Bounds(least=0)] = 10.0

    def _array_types(self) -> Mapping[str, ArrayType]:
        return {
            "neighbours": ArrayType(("items", "neighbours"), "uint32"),
            "similarities": ArrayType(("items", "neighbours")),
        }

    def _check_arrays(self, fitted: Fitted) -> None:
        numbers = fitted.arrays["neighbours"]
        if numbers.size and numbers.max() >= len(fitted.item_ids):
            raise ValueError(
                f"neighbours has the number {numbers.max()}, expected less than "
                f"{len(fitted.item_ids)}"
            )

    def _learn(self, task: Task) -> Arrays:
        by_user, by_item = self._interactions(task)
        kind = {"jaccard": "jaccard", "bm25": "product"}.get(self.similarity, "cosine")
        if self.similarity in ("tf-idf", "bm25"):
            by_user = _weighted(task.seen, self.similarity)
            by_item = by_user.transposed()
        nearest = _core.nearest_items(
            by_item, by_user, kind, self.neighbours, self.shrink, self.num_threads
        )
        # Rows of one length: those with fewer neighbours end in item 0 with a similarity of 0.
        ends = nearest.indptr.astype(np.int64)
        counts = ends[1:] - ends[:-1]
        longest = int(counts.max(initial=0))
        there = np.arange(longest) < counts[:, None]
        neighbours = np.zeros(there.shape, np.uint32)
        similarities = np.zeros(there.shape, np.float32)
        neighbours[there], similarities[there] = nearest.indices, nearest.values
        return {"neighbours": neighbours, "similarities": similarities}

    def _matrices(self) -> tuple[_core.CsrMatrix, _core.CsrMatrix]:
        """The similarity of each item to its neighbours, and the transpose."""
        fitted = self.fitted
        if fitted not in MATRICES:
            neighbours, similarities = (
                fitted.arrays[name] for name in ("neighbours", "similarities")
            )
            n_items, count = neighbours.shape
            items = np.repeat(np.arange(n_items, dtype=np.uint32), count)
            there = similarities.ravel() != 0
            entries = items[there], neighbours.ravel()[there], similarities.ravel()[there]
            matrix = _core.CsrMatrix(*entries, n_items, n_items)
            MATRICES[fitted] = matrix, matrix.transposed()
        return MATRICES[fitted]

    def _weights(self) -> _core.CsrMatrix:
        return self._matrices()[1]

    def _weights_of(self, item: int) -> Float32Array:
        arrays = self.fitted.arrays
        weights = np.zeros(len(self.item_ids), np.float32)
        there = arrays["similarities"][item] != 0
        weights[arrays["neighbours"][item][there]] = arrays["similarities"][item][there]
        return weights

    def _item_similarity(self, items: IndexArray) -> SimilarityScores:
        rows = np.arange(len(items), dtype=np.uint32)
        each = _core.Csr(rows, items, len(items), len(self.item_ids))
        return SimilarityScores(each, self._matrices()[0])


def _weighted(pairs: _core.Csr, weighting: str) -> _core.CsrMatrix:
    """The weights of pairs by user: TF-IDF or BM25, where items are texts and users words."""
    n_users, n_items = pairs.shape
    counts = pairs.counts.astype(np.int64)
    users = users_of(pairs)
    weights = np.log(n_items / np.maximum(counts, 1))[users]
    if weighting == "bm25":
        lengths = np.bincount(pairs.indices, minlength=n_items)
        norm = 1 - B + B * lengths / max(lengths.mean(), 1e-300)
        weights *= ((K1 + 1) / (K1 * norm + 1))[pairs.indices]
    return _core.CsrMatrix(users, pairs.indices, weights.astype(np.float32), n_users, n_items)
