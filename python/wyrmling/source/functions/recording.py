"""The arguments with which a function of NumPy's is called while it is recorded (``splicing.py``).

It is called on two sets of variables with different values, which have to record the same graph:
a function that reads values would record another. And it is called on plain arrays, for the types
of its results and whether they are views.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..abstract.values import NONE, Array


class Unfit(Exception):
    """NumPy raises for the lengths that stand for those that are computed."""


@dataclass(slots=True)
class Recording:
    """The arguments of one call: two sets of variables with different values, and plain arrays.
    ``sliced`` is whether elements of an array of integers are taken, so that the result is one,
    ``single`` whether numbers of Python become float32, as where a ufunc of NumPy's meets them with
    nothing but float32.
    """

    inputs: list[tuple[Any, int]] = field(default_factory=list)
    others: list[Any] = field(default_factory=list)
    arrays: list[tuple[Any, Any]] = field(default_factory=list)
    counts: int = 0
    opaque: bool = False
    # The numbers of the inputs whose lengths are computed.
    computed: list[int] = field(default_factory=list)
    sliced: bool = False
    # Whether integers are places on an axis, as those of take_along_axis, or targets of a
    # cross-entropy.
    places: bool = False
    single: bool = False
    # Whether there is an array of integers, beside which integers stay what they are.
    whole: bool = False
    # Whether there is an integer of NumPy's, which functions are given as a float.
    integer: bool = False
    # The arrays that are written to of which an argument may be a view.
    bases: frozenset[int] = NONE

    @property
    def takes_integers(self) -> bool:
        """Whether the next argument may be an array of integers."""
        return self.places or (self.sliced and not self.counts)

    def sample_of(self, array: Array, seed: int) -> Any:
        """An array of a type; integers that are places are 0, since there is at least one."""
        if self.places and array.dtype == np.int64:
            return np.zeros(array.shape, np.int64)
        return sample_of(array, self.counts + seed)


@dataclass(frozen=True, eq=False, slots=True)
class Samples:
    """An argument in the two recordings, and in NumPy's own run."""

    first: Any
    second: Any
    real: Any


def picked(value: Any, which: int) -> Any:
    """An argument in the first recording, in the second, or in NumPy's own run."""
    if isinstance(value, Samples):
        return (value.first, value.second, value.real)[which]
    if isinstance(value, tuple | list):
        return type(value)([picked(item, which) for item in value])
    return value


def sample_of(array: Array, seed: int) -> Any:
    """An array of a type; a matrix is one that can be inverted and factorised."""
    made = np.random.default_rng(seed).uniform(0.1, 0.9, array.shape)
    if array.dtype == np.int64:
        return (1000 * made).astype(array.dtype)
    if len(array.shape) > 1 and array.shape[-1] == array.shape[-2]:
        made = made + array.shape[-1] * np.eye(array.shape[-1])
    if seed >= 1000:
        # Of a matrix the diagonal stays positive, as some factors need.
        square = len(array.shape) > 1 and array.shape[-1] == array.shape[-2]
        made = (2 * made * np.eye(array.shape[-1]) - made) * 1.5 if square else -made
    return made.astype(array.dtype)
