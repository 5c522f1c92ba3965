"""Ranking quality: how well scores order the items that were held out.

For every user with held-out items, all items but the user's training items compete.
The rank of a held-out item is the number of competitors that score at least as high,
itself included: ties count against the model. With k the number of recommendations
looked at and h the number of a user's held-out items:

==============  =================================================================
mrr             mean of 1/rank over the user's held-out items
ndcg            sum of 1/log2(1 + rank) over ranks up to k, divided by the same
                sum over ranks 1 to min(h, k)
recall          held-out items of rank up to k, divided by h
precision       held-out items of rank up to k, divided by k
hit_rate        1 when an item has rank up to k, else 0
auc             share of pairs of a held-out and another competing item that are
                in order, a tie counting half
==============  =================================================================

each averaged over users. A pair that is also in the training set is not held out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from . import _core
from .data import Interactions

__all__ = ["Quality", "evaluate", "popularity"]

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Quality:
    """Ranking metrics from 0 to 1, the means over ``n_users`` users."""

    mrr: float
    ndcg: float
    recall: float
    precision: float
    hit_rate: float
    auc: float
    k: int
    n_users: int


def evaluate(
    users: FloatArray,
    items: FloatArray,
    item_bias: FloatArray | None,
    train: Interactions,
    test: Interactions,
    k: int = 10,
) -> Quality:
    """Measures the ranking by ``users[u] @ items[i] + item_bias[i]``.

    Args:
        users: factors of users, float32, shape (n, d); d may be 0.
        items: factors of items, float32, shape (m, d).
        item_bias: float32, shape (m,), or None for no bias.
        train: what the model knows, left out of every user's ranking.
        test: what it should have ranked high.
        k: how many recommendations are looked at.

    Raises:
        TypeError: arrays that are not float32, or anything but Interactions.
        ValueError: shapes that do not fit together, k below 1, or nothing held out.
        FloatingPointError: a score that is not a number.
    """
    pairs = seen_pairs("train", train), seen_pairs("test", test)
    return measure(users, items, item_bias, *pairs, k)


def popularity(train: Interactions, test: Interactions, k: int = 10) -> Quality:
    """Measures the ranking by how often an item occurs in ``train``, the same for all.

    It is the least that a model has to beat.

    ``train`` and ``test`` are Interactions with the same ids. Raises TypeError for
    anything else, ValueError for a ``k`` below 1 or nothing held out.
    """
    known = seen_pairs("train", train)
    count = np.bincount(train.items, minlength=train.n_items).astype(np.float32)
    # With factors of width 0 the score of an item is its bias.
    users = np.zeros((train.n_users, 0), np.float32)
    items = np.zeros((train.n_items, 0), np.float32)
    return measure(users, items, count, known, seen_pairs("test", test), k)


def seen_pairs(name: str, data: Interactions) -> _core.Csr:
    """The distinct pairs of some interactions, an argument of that name, grouped by user."""
    if not isinstance(data, Interactions):
        raise TypeError(f"{name}: expected Interactions, got {type(data).__name__}")
    return _core.Csr(data.users, data.items, data.n_users, data.n_items)


def measure(
    users: FloatArray,
    items: FloatArray,
    item_bias: FloatArray | None,
    train: _core.Csr,
    test: _core.Csr,
    k: int,
) -> Quality:
    """What :func:`evaluate` does, with pairs that are grouped already."""
    per_user = _core.evaluate_ranking(users, items, item_bias, train, test, k)
    mean = {name: float(np.mean(values)) for name, values in per_user.items() if name != "user"}
    return Quality(**mean, k=k, n_users=len(per_user["user"]))
