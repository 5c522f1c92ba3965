"""The metrics of ranking: their names and their definitions.

For every user with held-out items, the items compete that the user does not have in training (all
of them, if seen ones are not left out). The rank of a held-out item is the number of competitors
that score at least as high, itself included: ties count against the model. With k the number of
recommendations looked at, h the number of a user's held-out items and r the ranks of these:

===============  ===================================================================================
``ndcg@k``       sum of 1/log2(1 + r) over ranks up to k, divided by the same sum over ranks 1 to
                 min(h, k) (Järvelin and Kekäläinen 2002, binary gains)
``recall@k``     held-out items of rank up to k, divided by h
``precision@k``  held-out items of rank up to k, divided by k
``map@k``        sum over ranks r up to k of (held-out items of rank up to r)/r, divided by
                 min(h, k)
``hit@k``        1 when a held-out item has rank up to k, else 0
``mrr``          1 over the rank of the best held-out item; ``mrr@k``: 0 when that is beyond k
``auc``          share of pairs of a held-out and another competing item that are in order, a tie
                 counting half; a half where there is no such pair
``novelty@k``    mean of -log2(share of all users who have the item in training) over the first k,
                 in bits; an item that nobody has counts as if one user had it
``coverage@k``   share of all items that are among the first k of a user who is measured
``rmse``         root of the mean of (score - value)² over held-out interactions, for models of
                 ratings; the less the better
``mae``          mean of |score - value|, likewise
===============  ===================================================================================

Each but coverage and the two errors is averaged over users. Among the first k, equal scores are
ordered by item number. ``coverage`` and ``novelty`` without a number look at the first 10.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["DEFAULT", "ERRORS", "Metric", "parse", "sign"]

AT_K = ("ndcg", "recall", "precision", "map", "hit")
LISTED = ("coverage", "novelty")
WHOLE = ("mrr", "auc")
ERRORS = ("rmse", "mae")
DEFAULT = (
    "ndcg@10",
    "recall@20",
    "precision@10",
    "map@10",
    "mrr",
    "auc",
    "hit@10",
    "coverage",
    "novelty",
)
LISTED_BY_DEFAULT = 10
MOST = 2**31 - 1


@dataclass(frozen=True)
class Metric:
    """A metric: what it is called, which it is, and how many recommendations it looks at."""

    name: str
    kind: str
    k: int | None


def parse(metrics: str | Iterable[str]) -> list[Metric]:
    """The metrics of these names, each once.

    Raises:
        TypeError: something else than strings.
        ValueError: an unknown name, a number below 1 or above 2,147,483,647, or no metric.

    >>> parse(["ndcg@10", "auc"])
    [Metric(name='ndcg@10', kind='ndcg', k=10), Metric(name='auc', kind='auc', k=None)]
    """
    try:
        names = [metrics] if isinstance(metrics, str) else list(metrics)
    except TypeError:
        raise TypeError(f"metrics: expected strings such as 'ndcg@10', found {metrics!r}") from None
    if not names:
        raise ValueError("metrics is empty, expected at least one")
    return list(dict.fromkeys(_parse(name) for name in names))


def sign(name: str) -> int:
    """-1 for a metric that is the better the less it is, else 1."""
    return -1 if name in ERRORS else 1


def _parse(name: str) -> Metric:
    if not isinstance(name, str):
        raise TypeError(f"metrics: expected strings such as 'ndcg@10', found {name!r}")
    found = re.fullmatch(r"([a-z]+)(?:@([0-9]+))?", name, re.ASCII)
    kind, digits = found.groups() if found else (name, None)
    if digits is None and kind in (*WHOLE, *ERRORS):
        return Metric(name, kind, None)
    if digits is None and kind in LISTED:
        return Metric(name, kind, LISTED_BY_DEFAULT)
    if digits is not None and kind in (*AT_K, *LISTED, "mrr"):
        # More digits than those of MOST need not be read.
        k = int(digits) if len(digits) < 20 else MOST + 1
        if not 1 <= k <= MOST:
            raise ValueError(f"metrics: {name!r} looks at {digits} items, expected 1 to {MOST}")
        return Metric(name, kind, k)
    known = ", ".join(f"'{kind}@k'" for kind in (*AT_K, *LISTED))
    rest = "'mrr', 'mrr@k', 'auc', 'rmse' or 'mae'"
    raise ValueError(f"metrics: unknown {name!r}, expected {known}, {rest}")
