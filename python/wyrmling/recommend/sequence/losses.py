"""Losses of a sequence: how well each state ranks the item that came next above items drawn.

All are sums over the steps of a sequence, of the scores of the items that came and of ``count``
others each. The others lie along ``axis``: where each step has its own, shape (count, n), so that
what is computed of them goes along the steps; where all have the same, shape (n, count), as a
matrix product gives them. The items that came have length 1 there. ``score_at(places)`` computes
the score of one other item for each step, given its place along the axis, shape (1, n) or (n, 1):
a loss that uses one item differentiates that score alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

import wyrmling as wy

__all__ = ["LOSSES", "LossName", "Ranking", "next_items"]

Ranking = Callable[..., Any]
ScoreAt = Callable[[Any], Any]
LossName = Literal["bpr", "hinge", "warp", "softmax"]


def next_items(
    states: Any, items: Any, item_bias: Any, history: Any, negatives: Any, ranking: Any
) -> Any:
    """The loss of states, one before each item of a history but the first, shape (n, d).

    ``negatives`` has ``k`` items drawn for each item of the history, shape (k, n + 1), or for all,
    shape (k,).
    """
    shared = negatives.ndim == 1
    axis = 1 if shared else 0
    drawn = negatives if shared else negatives[:, 1:]
    steps = np.expand_dims(states, axis)

    def scores(chosen: Any) -> Any:
        return wy.vecdot(steps, items[chosen]) + item_bias[chosen]

    def score_at(places: Any) -> Any:
        return scores(drawn[places] if shared else np.take_along_axis(drawn, places, axis=0))

    others = states @ items[drawn].T + item_bias[drawn] if shared else scores(drawn)
    came = history[1:]
    score = scores(came[:, None] if shared else came[None])
    return ranking(score, others, score_at, len(items), axis)


def bpr(score: Any, others: Any, score_at: ScoreAt, n_items: int, axis: int, count: int) -> Any:
    """The negative logarithm of the odds that an item scores higher than another (Rendle, 2009)."""
    return -wy.logsigmoid(score - others).sum()


def hinge(score: Any, others: Any, score_at: ScoreAt, n_items: int, axis: int, count: int) -> Any:
    """How far others are above the item less 1."""
    return wy.relu(1.0 - score + others).sum()


def warp(score: Any, others: Any, score_at: ScoreAt, n_items: int, axis: int, count: int) -> Any:
    """The hinge of the first that is above the item less 1, by the logarithm of its estimated rank
    (Weston, Bengio and Usunier, 2011).
    """
    first = np.argmax(1.0 - score + others > 0.0, axis=axis, keepdims=True)
    draws = np.arange(1, count + 1, dtype=np.float32)
    weights = np.log(np.maximum(n_items / draws, 1.0))
    return (wy.relu(1.0 - score + score_at(first)) * weights[first]).sum()


def softmax(score: Any, others: Any, score_at: ScoreAt, n_items: int, axis: int, count: int) -> Any:
    """The negative logarithm of the item's share in the softmax of its score and the others'."""
    return (wy.logaddexp(score, wy.logsumexp(others, axis=axis, keepdims=True)) - score).sum()


LOSSES: dict[str, Ranking] = {"bpr": bpr, "hinge": hinge, "warp": warp, "softmax": softmax}
