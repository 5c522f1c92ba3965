"""Dropout of states: numbers of a state that count for nothing while one history is trained on.

Gal and Ghahramani, "A theoretically grounded application of dropout in recurrent neural networks",
NIPS 2016: the same numbers of all states of a history, so that a model is one of many narrow ones
that share their numbers. What is left is larger by as much, so that scores are the same on average.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...array_types import Float32Array

__all__ = ["PARTS", "dropped", "factors_of"]

PARTS = 1000
"""A rate is rounded to one of so many parts."""


def factors_of(rate: float) -> Float32Array:
    """What a number is multiplied by, for each integer less than ``PARTS`` that may be drawn for
    it: 0 for a share of ``rate`` of them. As :func:`wyrmling.nn.dropout`, computed once before
    training.
    """
    some = round(rate * PARTS)
    kept = np.arange(PARTS) >= some
    return (kept / (1.0 - some / PARTS)).astype(np.float32)


def dropped(states: Any, draws: Any, factors: Any) -> Any:
    """States of a history, shape (n, d), without some of their numbers.

    ``draws`` has an integer less than ``PARTS`` for each of the ``d``, ``factors`` is of
    :func:`factors_of`; where ``draws`` is None, states stay.
    """
    return states if draws is None else states * factors[draws]
