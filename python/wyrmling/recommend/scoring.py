"""How models score, and the best items by scores.

Scores are what ranking and evaluation take of a model: a product of vectors, block by block, so
that the scores of all users and items need not be there at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from .. import _core
from ..array_types import Float32Array, IndexArray
from ..data.pairs import users_of

__all__ = [
    "NO_ITEM",
    "BlockScores",
    "FactorScores",
    "Scores",
    "by_bias",
    "shifted",
    "top",
]

NO_ITEM = _core.NO_ITEM


class FactorScores(NamedTuple):
    """The scores ``queries[q] · items[i] + bias[i]``.

    Args:
        queries: float32, shape (n, d); d may be 0.
        items: float32, shape (m, d).
        bias: float32, shape (m,), or None for none.
    """

    queries: Float32Array
    items: Float32Array
    bias: Float32Array | None


def by_bias(n_queries: int, bias: Float32Array) -> FactorScores:
    """The same scores for each query."""
    # The score of an item is its bias where vectors have no length.
    return FactorScores(
        np.zeros((n_queries, 0), np.float32), np.zeros((len(bias), 0), np.float32), bias
    )


def shifted(scores: Float32Array, offsets: Float32Array | None) -> Float32Array:
    """Scores of shape (q, n) with what those of each query have in common, shape (q,), or None."""
    return scores if offsets is None else scores + offsets[:, None]


class BlockScores(Protocol):
    """Scores that are there for some queries after others."""

    def blocks(self) -> Iterator[tuple[IndexArray, FactorScores]]:
        """The places of some queries, and their scores."""


Scores = FactorScores | BlockScores


def top(
    scores: Scores, seen: _core.Csr | None, n: int, allowed: IndexArray | None
) -> tuple[IndexArray, Float32Array]:
    """The n items with the highest scores for each query, the highest first.

    Args:
        scores: what is ranked by; equal scores rank by number.
        seen: items that are left out, by query; None for none.
        n: how many, at least 1.
        allowed: the only items that may come, rising; None for all.

    Returns:
        Numbers and scores, of shape (queries, min(n, m)); NO_ITEM, with a score of -inf, where
        there are no more.
    """
    if not isinstance(scores, FactorScores):
        parts = [
            top(block, None if seen is None else seen.select(rows), n, allowed)
            for rows, block in scores.blocks()
        ]
        return np.concatenate([part[0] for part in parts]), np.concatenate(
            [part[1] for part in parts]
        )
    if allowed is None:
        return _core.top_k(*scores, seen, n)
    shape = n_queries, n_items = len(scores.queries), len(scores.items)
    rows, items = np.zeros((2, 0), np.uint32)
    if seen is not None:
        rows, items = users_of(seen), seen.indices
    if n_queries * (n_items - len(allowed)) < len(allowed):
        # To leave out the few others takes less than to copy the vectors of these.
        others = np.delete(np.arange(n_items, dtype=np.uint32), allowed)
        rows = np.append(rows, np.repeat(np.arange(n_queries, dtype=np.uint32), len(others)))
        seen = _core.Csr(rows, np.append(items, np.tile(others, n_queries)), *shape)
        return _core.top_k(*scores, seen, min(n, len(allowed)))
    bias = None if scores.bias is None else scores.bias[allowed]
    if seen is not None:
        # The pairs of items that are allowed, by their places among these.
        place = np.full(n_items, NO_ITEM, np.uint32)
        place[allowed] = np.arange(len(allowed), dtype=np.uint32)
        items = place[items]
        left = items != NO_ITEM
        seen = _core.Csr(rows[left], items[left], n_queries, len(allowed))
    best, found = _core.top_k(scores.queries, scores.items[allowed], bias, seen, n)
    there = best != NO_ITEM
    best[there] = allowed[best[there]]
    return best, found
