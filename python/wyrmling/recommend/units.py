"""Values in units of their standard deviation, in which a model of values is trained.

A step moves what is learnt by an error times the step length: one that suits ratings from 1 to 5
diverges where they go to 100. In units of their deviation all scales are alike, and a penalty
weighs as much. What a model has learnt is in the values' own units: a score is a product of two
vectors, each of which takes the square root of the unit, plus biases, which take all of it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..data import Interactions
from .fitted import Arrays

__all__ = ["deviation", "in_units", "measured"]

VECTORS = "users", "items"
BIASES = "user_bias", "item_bias", "bias"


def deviation(data: Interactions) -> float:
    """The standard deviation of values, by their weights; 1 where all are alike."""
    if data.values is None:
        return 1.0
    values = data.values.astype(np.float64)
    weights = None if data.weights is None or not data.weights.any() else data.weights
    mean = np.average(values, weights=weights)
    # Divided first, since squares of the largest numbers would not be finite.
    largest = np.abs(values - mean).max()
    if largest == 0.0:
        return 1.0
    squares = ((values - mean) / largest) ** 2
    return float(np.float32(largest * np.sqrt(np.average(squares, weights=weights)))) or 1.0


def measured(data: Interactions, unit: float) -> Interactions:
    """Interactions whose values are in a unit."""
    if data.values is None or unit == 1.0:
        return data
    return replace(data, values=data.values / np.float32(unit))


def in_units(arrays: Arrays, unit: float) -> Arrays:
    """What was learnt of values, of values that are so many times as large."""
    if unit == 1.0:
        return arrays
    factors = dict.fromkeys(VECTORS, unit**0.5) | dict.fromkeys(BIASES, unit)
    return {name: array * np.float32(factors.get(name, 1.0)) for name, array in arrays.items()}
