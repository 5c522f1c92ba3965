"""Confidence intervals of means over users, by the bootstrap.

Users are drawn again with replacement, as many as there are, and the mean is taken each time; the
interval has the middle share of these means (the percentile method: Efron and Tibshirani, "An
Introduction to the Bootstrap", 1993, chapter 13). Users are drawn and not pairs, since the pairs of
one user are not independent. The interval says how far the mean would move with other users, not
with another split or another training.

From 100,000 users on, the normal distribution to which these means tend is taken, at once.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arguments import check_integer, check_number
from ..array_types import Float64Array

__all__ = ["bootstrap", "check_level"]

MANY_USERS = 100_000
BLOCK = 1 << 22
"""Draws held in memory at a time."""


def check_level(confidence: Any, resamples: int) -> None:
    """Raises ValueError or TypeError for what is no confidence, or no number of resamples."""
    if not 0.0 < check_number("confidence", confidence) < 1.0:
        raise ValueError(f"confidence is {confidence!r}, expected a number between 0 and 1")
    check_integer("resamples", resamples, 1, 1_000_000)


def bootstrap(
    values: npt.NDArray[Any], confidence: float, resamples: int, seed: int
) -> Float64Array:
    """The bounds of the mean of each column: float64, shape (columns, 2).

    Args:
        values: a row for each user, shape (n, columns), n at least 1.
        confidence: the share of means within the bounds, such as .95.
        resamples: how often users are drawn.
        seed: of the draws; the same users are drawn for all columns.
    """
    values = np.asarray(values, np.float64)
    count = len(values)
    if count >= MANY_USERS:
        reach = NormalDist().inv_cdf(0.5 + confidence / 2) * values.std(axis=0) / math.sqrt(count)
        center = values.mean(axis=0)
        return np.stack([center - reach, center + reach], axis=1)
    rng = np.random.default_rng(seed)
    means = np.empty((resamples, values.shape[1]))
    step = max(1, BLOCK // count)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = rng.integers(count, size=(rows, count), dtype=np.int64)
        drawn += np.arange(rows)[:, None] * count
        times = np.bincount(drawn.ravel(), minlength=rows * count).reshape(rows, count)
        means[start : start + rows] = times @ values / count
    tail = (1 - confidence) / 2
    return np.quantile(means, [tail, 1 - tail], axis=0).T
