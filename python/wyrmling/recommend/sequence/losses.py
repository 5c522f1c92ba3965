"""Losses of a sequence: how well each state ranks the item that came next above items drawn.

All are sums over the steps of a sequence, of the scores of the items that came, shape (n,), and of
``count`` others each, shape (n, count).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

import wyrmling as wy

__all__ = ["LOSSES", "LossName", "Ranking", "next_items"]

Ranking = Callable[..., Any]
LossName = Literal["bpr", "hinge", "warp", "softmax"]


def next_items(
    states: Any, items: Any, item_bias: Any, history: Any, negatives: Any, ranking: Any
) -> Any:
    """The loss of states, one before each item of a history but the first, shape (n, d).

    ``negatives`` has ``k`` items drawn for each item of the history, shape (n + 1, k), or for all,
    shape (k,).
    """
    came = history[1:]
    score = wy.vecdot(states, items[came]) + item_bias[came]
    if negatives.ndim == 1:
        others = states @ items[negatives].T + item_bias[negatives]
    else:
        drawn = negatives[1:]
        others = wy.vecdot(states[:, None, :], items[drawn]) + item_bias[drawn]
    return ranking(score, others, len(items))


def bpr(score: Any, others: Any, n_items: int, count: int) -> Any:
    """The negative logarithm of the odds that an item scores higher than another (Rendle, 2009)."""
    return -wy.logsigmoid(score[:, None] - others).sum()


def hinge(score: Any, others: Any, n_items: int, count: int) -> Any:
    """How far others are above the item less 1."""
    return wy.relu(1.0 - score[:, None] + others).sum()


def warp(score: Any, others: Any, n_items: int, count: int) -> Any:
    """The hinge of the first that is above the item less 1, by the logarithm of its estimated rank
    (Weston, Bengio and Usunier, 2011).
    """
    margin = wy.relu(1.0 - score[:, None] + others)
    above = np.sign(margin)
    first = np.where(np.cumsum(above, axis=1) == above, margin, 0.0)
    ranks = n_items / np.arange(1, count + 1, dtype=np.float32)
    return (first.sum(0) * np.log(ranks)).sum()


def softmax(score: Any, others: Any, n_items: int, count: int) -> Any:
    """The negative logarithm of the item's share in the softmax of its score and the others'."""
    return (wy.logaddexp(score, wy.logsumexp(others, axis=1)) - score).sum()


LOSSES: dict[str, Ranking] = {"bpr": bpr, "hinge": hinge, "warp": warp, "softmax": softmax}
