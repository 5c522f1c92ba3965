"""A model's ranking of held-out items, as columns with an entry for each user.

What is measured in Rust (``_core.evaluate_ranking``) and what follows from lists of the best items
meet here; :mod:`.metrics` has the definitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from .metrics import AT_K, LISTED, Metric

__all__ = ["measured"]

FloatArray = npt.NDArray[np.float64]
Rows = npt.NDArray[np.uint32]
Columns = dict[str, FloatArray]
"""The values of users, by the name of a metric."""

LISTED_AT_ONCE = 1 << 22
"""Numbers of recommended items held in memory."""


def measured(
    scores: Any,
    users: Rows,
    known: _core.Csr | None,
    held_out: _core.Csr,
    popularity: npt.NDArray[np.integer[Any]],
    n_users: int,
    metrics: Sequence[Metric],
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

    Returns:
        Columns with an entry for each user who has something held out that is not known, the
        metrics of no user, the rows of these users, and the number of their held-out pairs.
    """
    columns, rows, count = _by_rank(scores(users), known, held_out, metrics)
    overall: dict[str, float] = {}
    listed = [metric for metric in metrics if metric.kind in LISTED]
    if listed and len(rows):
        share = np.maximum(popularity, 1) / max(n_users, 1)
        surprise, covered = _lists(scores, users, known, rows, -np.log2(share), listed)
        for metric in listed:
            assert metric.k is not None
            if metric.kind == "novelty":
                columns[metric.name] = surprise[metric.k]
            else:
                overall[metric.name] = covered[metric.k] / len(popularity)
    return columns, overall, rows.astype(np.int64), count


def _by_rank(
    scores: Any, known: _core.Csr | None, held_out: _core.Csr, metrics: Sequence[Metric]
) -> tuple[Columns, Rows, int]:
    """What follows from the ranks of held-out items, whose they are, and how many there are."""
    ks = sorted({metric.k for metric in metrics if metric.kind in AT_K and metric.k is not None})
    found = _evaluate_ranking(scores, known, held_out, ks or [1])
    columns: Columns = {}
    for metric in metrics:
        if metric.kind in AT_K:
            assert metric.k is not None
            columns[metric.name] = found[metric.kind][ks.index(metric.k)]
        elif metric.kind == "mrr":
            # Divided as in Rust, so that a rank of k compares equal.
            beyond = 0.0 if metric.k is None else 1 / metric.k
            columns[metric.name] = np.where(found["mrr"] >= beyond, found["mrr"], 0.0)
        elif metric.kind == "auc":
            columns[metric.name] = found["auc"]
    return columns, found["user"], int(found["held_out"].sum())


def _lists(
    scores: Any,
    users: Rows,
    known: _core.Csr | None,
    rows: Rows,
    surprise: FloatArray,
    metrics: Sequence[Metric],
) -> tuple[dict[int, FloatArray], dict[int, int]]:
    """For each k, the mean surprise of a user's first k, and how many items are among anybody's."""
    n_items = len(surprise)
    ks = {metric.k: min(metric.k, n_items) for metric in metrics if metric.k is not None}
    longest = max(ks.values())
    mean = {k: np.empty(len(rows)) for k in ks}
    found = {k: np.zeros(n_items + 1, bool) for k in ks}
    step = max(1, LISTED_AT_ONCE // longest)
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        seen = None if known is None else known.select(block)
        best, _ = _top_k(scores(users[block]), seen, longest)
        # What fills up a list that has ended has a number of its own, and surprises nobody.
        best = np.minimum(best, n_items)
        each = np.append(surprise, 0.0)[best]
        for k, own in ks.items():
            length = (best[:, :own] < n_items).sum(axis=1)
            mean[k][start : start + step] = each[:, :own].sum(axis=1) / np.maximum(length, 1)
            found[k][best[:, :own]] = True
    return mean, {k: int(np.count_nonzero(found[k][:n_items])) for k in ks}


def _top_k(scores: Any, seen: _core.Csr | None, k: int) -> Any:
    if hasattr(scores, "blocks"):
        parts = [
            _top_k(block, None if seen is None else seen.select(rows), k)
            for rows, block in scores.blocks()
        ]
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))
    users, items, bias = scores
    return _core.top_k(users, items, bias, seen, k)


def _evaluate_ranking(
    scores: Any, known: _core.Csr | None, held_out: _core.Csr, ks: Sequence[int]
) -> dict[str, npt.NDArray[Any]]:
    """The columns of ``_core.evaluate_ranking`` for several k, and what it does not have."""
    if hasattr(scores, "blocks"):
        return _of_blocks(scores, known, held_out, ks)
    if known is None:
        none = np.zeros(0, np.uint32)
        known = _core.Csr(none, none, *held_out.shape)
    queries, items, bias = scores
    try:
        each = [_core.evaluate_ranking(queries, items, bias, known, held_out, k) for k in ks]
    except ValueError as error:
        if "test holds no pair" not in str(error):
            raise
        nobody = np.zeros(0, np.uint32)
        return dict.fromkeys(("user", "held_out", "mrr", "auc"), nobody) | dict.fromkeys(
            AT_K, np.zeros((len(ks), 0))
        )
    found: dict[str, npt.NDArray[Any]] = {
        "user": each[0]["user"],
        "auc": each[0]["auc"],
        **{name: np.stack([one[name] for one in each]) for name in ("ndcg", "recall", "precision")},
        "hit": np.stack([one["hit_rate"] for one in each]),
    }
    first, precise, counts = [], [], []
    for user in found["user"].tolist():
        own = items @ queries[user]
        if bias is not None:
            own += bias
        seen = known.row(user)
        test = np.setdiff1d(held_out.row(user), seen)
        own[seen] = -np.inf
        ranks = np.array([np.count_nonzero(own >= own[item]) for item in test])
        at = np.array([np.count_nonzero(ranks <= rank) / rank for rank in ranks])
        first.append(1 / ranks.min())
        counts.append(len(test))
        precise.append([at[ranks <= k].sum() / min(k, len(test)) for k in ks])
    found["mrr"], found["held_out"] = np.array(first), np.array(counts)
    found["map"] = np.array(precise).T
    return found


def _of_blocks(
    scores: Any, known: _core.Csr | None, held_out: _core.Csr, ks: Sequence[int]
) -> dict[str, npt.NDArray[Any]]:
    """The same of scores that are there for some users after others."""
    parts = []
    for rows, block in scores.blocks():
        own = None if known is None else known.select(rows)
        found = _evaluate_ranking(block, own, held_out.select(rows), ks)
        parts.append({**found, "user": found["user"] + rows[0]})
    return {name: np.concatenate([part[name] for part in parts], axis=-1) for name in parts[0]}
