"""A model's ranking of held-out items, as columns with an entry for each user.

Nearly everything follows from lists of the best items, one item longer than the longest that a
metric looks at: all metrics at all numbers of items come of one list. What looks at all ranks, the
area under the curve and the rank of the best held-out item where no list has it, is counted in Rust
(``_core.evaluate_ranking``). :mod:`.metrics` has the definitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..progress import Steps
from .metrics import AT_K, LISTED, Metric

__all__ = ["measured"]

FloatArray = npt.NDArray[np.float64]
Rows = npt.NDArray[np.uint32]
Columns = dict[str, FloatArray]
"""The values of users, by the name of a metric."""

LISTED_AT_ONCE = 1 << 20
"""Numbers of recommended items, and of vectors, held in memory."""
LOOKED_AT = 10
"""Items that are listed for the rank of the best held-out item, which mostly is among them."""
NEARLY = 1e-5
"""How far scores that are equal may differ by rounding, as a share of the longest product."""


def measured(
    scores: Any,
    users: Rows,
    known: _core.Csr | None,
    held_out: _core.Csr,
    popularity: npt.NDArray[np.integer[Any]],
    n_users: int,
    metrics: Sequence[Metric],
    progress: bool = False,
) -> tuple[Columns, dict[str, float], npt.NDArray[np.int64], int]:
    """The values of users by metric, and the metrics that are of no user.

    Args:
        scores: gives the scores of some users, as ``_core.top_k`` takes them.
        users: the n users of ``known`` and ``held_out``, by the model's numbers.
        known: pairs that do not compete, or None.
        held_out: pairs of the same n users and m items.
        popularity: how many users have an item in training, shape (m,).
        n_users: how many users there are in training.
        metrics: what is asked for.
        progress: whether to show how many users have been measured.

    Returns:
        Columns with an entry for each user who has something held out that is not known, the
        metrics of no user, the rows of these users, and the number of their held-out pairs.
    """
    n_items = len(popularity)
    held_out = _without(held_out, known)
    rows = np.flatnonzero(held_out.counts).astype(np.uint32)
    lists = _Lists.of(metrics, popularity, n_users)
    columns = {metric.name: np.empty(len(rows)) for metric in metrics if metric.kind != "coverage"}
    step = max(1, LISTED_AT_ONCE // max(lists.width, 1))
    with Steps(len(rows), "user", shows=progress) as bar:
        for start in range(0, len(rows), step):
            block = rows[start : start + step]
            for places, part in _parts(scores(users[block]), len(block)):
                own = block[places]
                competing = None if known is None else known.select(own)
                found = lists.measure(part, competing, held_out.select(own))
                for name, values in found.items():
                    columns[name][start + places.astype(np.int64)] = values
                bar.advance(count=len(own))
    overall = {
        metric.name: float(np.count_nonzero(lists.recommended[metric.k])) / n_items
        for metric in metrics
        if metric.kind == "coverage" and metric.k is not None
    }
    return columns, overall, rows.astype(np.int64), len(held_out)


@dataclass(eq=False)
class _Lists:
    """Measures users by their lists of the best items.

    Args:
        metrics: what is asked for.
        width: the length of the lists; 0 if there need to be none.
        surprise: what an item adds to novelty, and 0 for the end of a list: shape (m + 1,).
        recommended: for each k of a coverage which items have been recommended: shape (m,).
    """

    metrics: Sequence[Metric]
    width: int
    surprise: FloatArray
    recommended: dict[int | None, npt.NDArray[np.bool_]]

    @classmethod
    def of(cls, metrics: Sequence[Metric], popularity: npt.NDArray[Any], n_users: int) -> _Lists:
        n_items, width = len(popularity), 0
        for metric in metrics:
            if metric.kind in LISTED:
                width = max(width, metric.k or 0)
            elif metric.kind != "auc":
                # One item more says whether the score of the last is that of others, too.
                width = max(width, (metric.k or LOOKED_AT) + 1)
        share = np.maximum(popularity, 1) / max(n_users, 1)
        return cls(
            metrics,
            min(width, n_items),
            np.append(-np.log2(share), 0.0),
            {m.k: np.zeros(n_items, bool) for m in metrics if m.kind == "coverage"},
        )

    def measure(self, scores: Any, known: _core.Csr | None, held_out: _core.Csr) -> Columns:
        """The values of some users who all have something held out that is not known."""
        found: Columns = {}
        names = {metric.kind: metric.name for metric in self.metrics if metric.k is None}
        if "auc" in names:
            found["auc"] = _ranked(scores, known, held_out)["auc"]
        if not self.width:
            return found
        queries, vectors, bias = scores
        items, best = _core.top_k(queries, vectors, bias, known, self.width)
        ranked = _Ranked.of(items, best, held_out)
        for metric in self.metrics:
            if metric.kind in AT_K or (metric.kind == "mrr" and metric.k is not None):
                assert metric.k is not None
                found[metric.name] = ranked.at(metric.kind, metric.k)
            elif metric.kind in LISTED:
                # What fills up a list that has ended has a number of its own.
                listed = np.minimum(items[:, : metric.k], len(self.surprise) - 1)
                if metric.kind == "novelty":
                    length = (listed < len(self.surprise) - 1).sum(axis=1)
                    total = self.surprise[listed].sum(axis=1)
                    found[metric.name] = total / np.maximum(length, 1)
                else:
                    there = listed < len(self.surprise) - 1
                    self.recommended[metric.k][listed[there]] = True
        if "mrr" in names:
            first, is_last = ranked.first, self.width == held_out.shape[1]
            beyond = np.flatnonzero(first >= (np.inf if is_last else self.width))
            inverse = 1.0 / first
            if len(beyond):
                rows = beyond.astype(np.uint32)
                inverse[beyond] = _best_inverse_ranks(
                    (queries[beyond], vectors, bias),
                    None if known is None else known.select(rows),
                    held_out.select(rows),
                )
            found["mrr"] = inverse
        return found


@dataclass(frozen=True, eq=False)
class _Ranked:
    """Lists of the best items of n users, and what of them was held out.

    Args:
        hits: which were, shape (n, width).
        ranks: how many competitors score at least as high as each, if they are in the list:
            where the last of a list may have the score of others beyond, its rank is too low.
        held: how many items of each user were held out.
    """

    hits: npt.NDArray[np.bool_]
    ranks: npt.NDArray[np.int64]
    held: npt.NDArray[np.int64]

    @classmethod
    def of(cls, items: Rows, scores: npt.NDArray[np.float32], held_out: _core.Csr) -> _Ranked:
        count, width = items.shape
        there = items != _core.NO_ITEM
        keys = np.arange(count)[:, None] * np.int64(held_out.shape[1]) + items
        hits = there & _among(_keys(held_out), keys)
        # A rank is the place of the last of those with the same score.
        is_last = np.ones(items.shape, bool)
        is_last[:, :-1] = (scores[:, :-1] != scores[:, 1:]) | ~there[:, 1:]
        places = np.where(is_last, np.arange(1, width + 1), width)
        ranks = np.minimum.accumulate(places[:, ::-1], axis=1)[:, ::-1]
        return cls(hits, ranks, held_out.counts.astype(np.int64))

    @property
    def first(self) -> FloatArray:
        """The rank of the best held-out item; infinite if it is not in the list."""
        first: FloatArray = np.where(self.hits, self.ranks, np.inf).min(axis=1, initial=np.inf)
        return first

    def at(self, kind: str, k: int) -> FloatArray:
        """A metric of the first k."""
        within = self.hits & (self.ranks <= k)
        most = np.minimum(self.held, k)
        values: npt.NDArray[Any]
        if kind == "mrr":
            values = np.where(self.first <= k, 1.0 / self.first, 0.0)
        elif kind == "hit":
            values = np.asarray(within.any(axis=1))
        elif kind == "ndcg":
            sums = (within / np.log2(1.0 + self.ranks)).sum(axis=1)
            ideal = np.cumsum(1.0 / np.log2(1.0 + np.arange(1, most.max(initial=1) + 1)))
            # The same terms in another order could exceed 1 by rounding.
            values = np.minimum(sums / ideal[most - 1], 1.0)
        elif kind == "map":
            above = np.take_along_axis(np.cumsum(self.hits, axis=1), self.ranks - 1, axis=1)
            values = (within * above / self.ranks).sum(axis=1) / most
        else:
            values = within.sum(axis=1) / (k if kind == "precision" else self.held)
        return values.astype(np.float64)


def _parts(scores: Any, count: int) -> Iterator[tuple[Rows, Any]]:
    """The scores of some users, which may be there for some after others: places, and scores."""
    if hasattr(scores, "blocks"):
        yield from scores.blocks()
    else:
        yield np.arange(count, dtype=np.uint32), scores


def _keys(pairs: _core.Csr) -> npt.NDArray[np.int64]:
    """A number for each pair, rising."""
    n_users, n_items = pairs.shape
    rows = np.repeat(np.arange(n_users, dtype=np.int64), pairs.counts.astype(np.int64))
    return rows * n_items + pairs.indices


def _among(keys: npt.NDArray[np.int64], asked: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Which numbers are among some that rise."""
    if not len(keys):
        return np.zeros(asked.shape, bool)
    at = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
    found: npt.NDArray[np.bool_] = keys[at] == asked
    return found


def _without(pairs: _core.Csr, known: _core.Csr | None) -> _core.Csr:
    """Pairs but those that are known."""
    if known is None:
        return pairs
    keys = _keys(pairs)
    left = keys[~_among(_keys(known), keys)]
    n_users, n_items = pairs.shape
    users, items = (part.astype(np.uint32) for part in np.divmod(left, n_items))
    return _core.Csr(users, items, n_users, n_items)


def _ranked(
    scores: Any, known: _core.Csr | None, held_out: _core.Csr
) -> dict[str, npt.NDArray[Any]]:
    """What Rust counts of users who all have something held out."""
    if known is None:
        none = np.zeros(0, np.uint32)
        known = _core.Csr(none, none, *held_out.shape)
    queries, vectors, bias = scores
    return _core.evaluate_ranking(queries, vectors, bias, known, held_out, 1)


def _best_inverse_ranks(
    scores: Any, known: _core.Csr | None, held_out: _core.Csr
) -> npt.NDArray[Any]:
    """1 over the rank of each user's best held-out item.

    It is the one of the highest score. Where others are as high but for rounding, each is ranked.
    """
    queries, vectors, bias = scores
    counts = held_out.counts.astype(np.int64)
    users, items = np.repeat(np.arange(len(counts)), counts), held_out.indices
    own = np.empty(len(users), np.float32)
    step = max(1, LISTED_AT_ONCE // max(queries.shape[1], 1))
    for start in range(0, len(users), step):
        part = slice(start, start + step)
        own[part] = np.einsum("pd,pd->p", queries[users[part]], vectors[items[part]])
    longest = np.sqrt(np.square(vectors).sum(axis=1).max(initial=0.0))
    error = NEARLY * np.sqrt(np.square(queries).sum(axis=1)) * longest
    if bias is not None:
        own += bias[items]
        error += NEARLY * np.abs(bias).max(initial=0.0)
    starts = np.append(0, np.cumsum(counts)[:-1])
    highest = np.maximum.reduceat(own, starts)
    with np.errstate(invalid="ignore"):
        near = np.flatnonzero((own == highest[users]) | (own >= (highest - error)[users]))
    inverse = np.empty(len(near))
    for start in range(0, len(near), step):
        pairs = near[start : start + step]
        rows = users[pairs].astype(np.uint32)
        numbers = np.arange(len(pairs), dtype=np.uint32)
        test = _core.Csr(numbers, items[pairs], len(pairs), held_out.shape[1])
        chosen = None if known is None else known.select(rows)
        found = _ranked((queries[rows], vectors, bias), chosen, test)
        inverse[start : start + step] = found["mrr"]
    each = np.searchsorted(users[near], np.arange(len(counts)))
    best: npt.NDArray[Any] = np.maximum.reduceat(inverse, each)
    return best
