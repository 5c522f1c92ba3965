"""A model's ranking of held-out items, as columns with an entry for each user.

Nearly everything follows from lists of the best items, one item longer than the longest that a
metric looks at: all metrics at all numbers of items come of one list. What looks at all ranks, the
area under the curve and the rank of the best held-out item, is counted of the same scores while
they are searched for the lists (``_core.evaluate_ranking``). :mod:`.metrics` has the definitions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..array_types import Float64Array, IndexArray
from ..progress import Steps
from .metrics import LISTED, MOST, Metric

__all__ = ["Columns", "errors", "measured", "selected"]

Columns = dict[str, Float64Array]
"""The values of users, by the name of a metric."""

LISTED_AT_ONCE = 1 << 20
"""Numbers of recommended items, and of vectors, held in memory."""
PREDICTED_AT_ONCE = 1 << 16


def measured(
    scores: Any,
    users: IndexArray,
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
    lists = _Lists.of(metrics, popularity, n_users)
    columns = {metric.name: np.empty(len(users)) for metric in metrics if metric.kind != "coverage"}
    counts = np.empty(len(users), np.int64)
    step = max(1, LISTED_AT_ONCE // lists.width)
    with Steps(len(users), "user", shows=progress) as bar:
        for start in range(0, len(users), step):
            block = np.arange(start, min(start + step, len(users)), dtype=np.uint32)
            for places, part in _parts(scores(users[block]), len(block)):
                own = block[places]
                competing = None if known is None else selected(known, own)
                found, left = lists.measure(part, competing, selected(held_out, own))
                counts[own] = left
                for name, values in found.items():
                    columns[name][own] = values
                bar.advance(count=len(own))
    overall = {
        metric.name: float(np.count_nonzero(lists.earliest < metric.k)) / n_items
        for metric in metrics
        if metric.kind == "coverage" and metric.k is not None
    }
    rows = np.flatnonzero(counts)
    if len(rows) < len(counts):
        columns = {name: values[rows] for name, values in columns.items()}
    return columns, overall, rows, int(counts.sum())


@dataclass(eq=False)
class _Lists:
    """Measures users by their lists of the best items.

    Args:
        metrics: what is asked for.
        width: the length of the lists.
        surprise: what an item adds to novelty, and 0 for the end of a list: shape (m + 1,).
        earliest: the place of each item in the list where it comes first, from 0, and a larger
            number for one that is in none: shape (m,).
    """

    metrics: Sequence[Metric]
    width: int
    surprise: Float64Array
    earliest: npt.NDArray[np.int64]

    @classmethod
    def of(cls, metrics: Sequence[Metric], popularity: npt.NDArray[Any], n_users: int) -> _Lists:
        n_items, width = len(popularity), 1
        for metric in metrics:
            if metric.k is not None:
                # One item more says whether the score of the last is that of others, too.
                width = max(width, metric.k + (metric.kind not in LISTED))
        share = np.maximum(popularity, 1) / max(n_users, 1)
        return cls(
            metrics,
            min(width, n_items),
            np.append(-np.log2(share), 0.0),
            np.full(n_items, MOST),
        )

    def measure(
        self, scores: Any, known: _core.Csr | None, held_out: _core.Csr
    ) -> tuple[Columns, npt.NDArray[np.int64]]:
        """The values of some users, and how many items of each were held out that are not known.

        The values of users of whom there are none mean nothing.
        """
        of_all = [metric for metric in self.metrics if metric.k is None]
        queries, vectors, bias = scores
        lists = _core.evaluate_ranking(
            queries, vectors, bias, known, held_out, self.width, bool(of_all)
        )
        ranked, items = _Ranked.of(lists), lists["items"]
        there = items != _core.NO_ITEM
        found: Columns = {}
        surprises: npt.NDArray[Any] | None = None
        for metric in self.metrics:
            if metric.kind == "auc":
                found["auc"] = lists["auc"]
            elif metric.k is None:
                found["mrr"] = 1.0 / np.maximum(lists["best_rank"], 1)
            elif metric.kind == "novelty":
                if surprises is None:
                    # What fills up a list that has ended has a number of its own.
                    listed = np.minimum(items, len(self.surprise) - 1)
                    totals = np.cumsum(self.surprise[listed], axis=1)
                    surprises = totals / np.maximum(np.cumsum(there, axis=1), 1)
                found[metric.name] = surprises[:, min(metric.k, self.width) - 1]
            elif metric.kind != "coverage":
                found[metric.name] = ranked.at(metric.kind, metric.k)
        if any(metric.kind == "coverage" for metric in self.metrics):
            np.minimum.at(self.earliest, items[there], np.nonzero(there)[1])
        return found, lists["held_out"].astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Ranked:
    """Lists of the best items of n users, and what of them was held out.

    What a metric adds up is added up once for all numbers of items that it looks at.

    Args:
        hits: which were, shape (n, width).
        ranks: how many competitors score at least as high as each, if they are in the list:
            where the last of a list may have the score of others beyond, its rank is too low.
        held: how many items of each user were held out, at least 1.
    """

    hits: npt.NDArray[np.bool_]
    ranks: npt.NDArray[np.int64]
    held: npt.NDArray[np.int64]

    @classmethod
    def of(cls, lists: dict[str, npt.NDArray[Any]]) -> _Ranked:
        items, scores = lists["items"], lists["scores"]
        width = items.shape[1]
        there = items != _core.NO_ITEM
        # A rank is the place of the last of those with the same score.
        is_last = np.ones(items.shape, bool)
        is_last[:, :-1] = (scores[:, :-1] != scores[:, 1:]) | ~there[:, 1:]
        places = np.where(is_last, np.arange(1, width + 1), width)
        ranks = np.minimum.accumulate(places[:, ::-1], axis=1)[:, ::-1]
        return cls(lists["hits"], ranks, np.maximum(lists["held_out"], 1).astype(np.int64))

    @cached_property
    def first(self) -> Float64Array:
        """The rank of the best held-out item; infinite if it is not in the list."""
        first: Float64Array = np.where(self.hits, self.ranks, np.inf).min(axis=1, initial=np.inf)
        return first

    @cached_property
    def found(self) -> npt.NDArray[Any]:
        """How many held-out items have a rank up to each."""
        return self._up_to(self.hits)

    @cached_property
    def gains(self) -> npt.NDArray[Any]:
        """The sum of 1/log2(1 + r) over their ranks r up to each."""
        width = self.ranks.shape[1]
        return self._up_to(self.hits * _gains(width).take(self.ranks - 1))

    @cached_property
    def precisions(self) -> npt.NDArray[Any]:
        """The sum of (held-out items of rank up to r)/r over their ranks r up to each."""
        above = np.take_along_axis(self.found, self.ranks - 1, axis=1)
        return self._up_to(self.hits * above / self.ranks)

    def _up_to(self, terms: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The sums of the terms of items, none below 0, whose rank is up to 1, 2, ..."""
        sums = np.cumsum(terms, axis=1)
        is_rank = self.ranks == np.arange(1, self.ranks.shape[1] + 1)
        return np.maximum.accumulate(np.where(is_rank, sums, 0), axis=1)

    def at(self, kind: str, k: int) -> Float64Array:
        """A metric of the first k."""
        place = min(k, self.ranks.shape[1]) - 1
        most = np.minimum(self.held, k)
        values: npt.NDArray[Any]
        if kind == "mrr":
            values = np.where(self.first <= k, 1.0 / self.first, 0.0)
        elif kind == "hit":
            values = self.found[:, place] > 0
        elif kind == "ndcg":
            ideal = np.cumsum(_gains(most.max(initial=1)))
            # The same terms in another order could exceed 1 by rounding.
            values = np.minimum(self.gains[:, place] / ideal[most - 1], 1.0)
        elif kind == "map":
            values = self.precisions[:, place] / most
        else:
            values = self.found[:, place] / (k if kind == "precision" else self.held)
        return values.astype(np.float64)


def _gains(count: int) -> Float64Array:
    """What the ranks 1, 2, ... gain."""
    gains: Float64Array = 1.0 / np.log2(1.0 + np.arange(1, count + 1))
    return gains


def errors(
    predict: Any, users: IndexArray, items: IndexArray, values: npt.NDArray[Any]
) -> dict[str, float]:
    """How far scores of pairs are from values: the root of the mean square, and the mean.

    Raises FloatingPointError for a score that is not a number, or infinite.
    """
    squares, sizes = 0.0, 0.0
    for start in range(0, len(users), PREDICTED_AT_ONCE):
        part = slice(start, start + PREDICTED_AT_ONCE)
        off = predict(users[part], items[part]).astype(np.float64) - values[part]
        squares, sizes = squares + float(off @ off), sizes + float(np.abs(off).sum())
    if not np.isfinite(squares):
        raise FloatingPointError(
            "a score is not a number, or infinite: the model holds NaN, or products overflow"
        )
    return {"rmse": float(np.sqrt(squares / len(users))), "mae": sizes / len(users)}


def _parts(scores: Any, count: int) -> Iterator[tuple[IndexArray, Any]]:
    """The scores of some users, which may be there for some after others: places, and scores."""
    if hasattr(scores, "blocks"):
        yield from scores.blocks()
    else:
        yield np.arange(count, dtype=np.uint32), scores


def selected(pairs: _core.Csr, rows: IndexArray) -> _core.Csr:
    """The rows of some users, in that order: the same pairs if it is all rows in theirs."""
    return pairs if np.array_equal(rows, np.arange(pairs.shape[0])) else pairs.select(rows)
