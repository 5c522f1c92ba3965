"""Pairs of a user and an item: one interaction for each, of data in which pairs repeat, and which
are among others.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _core
from ..array_types import Float32Array, IndexArray

__all__ = ["Combine", "among", "combined", "grouped", "numbered", "users_of"]

Combine = Literal["last", "first", "sum", "mean", "max"]


def grouped(
    users: IndexArray, items: IndexArray, times: npt.NDArray[Any] | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The rows pair by pair, in each by time and then by row, and where each pair begins.

    Pairs come in the order of users and items.
    """
    order = np.arange(len(users)) if times is None else np.argsort(times, kind="stable")
    order = order[np.lexsort((items[order], users[order]))]
    first = np.ones(len(users), bool)
    first[1:] = np.diff(users[order]).astype(bool) | np.diff(items[order]).astype(bool)
    return order, np.flatnonzero(first)


def combined(numbers: Float32Array, starts: npt.NDArray[np.int64], how: Combine) -> Float32Array:
    """A number for each pair, of numbers in the order of :func:`grouped`; sums are of float64."""
    ends = np.append(starts[1:], len(numbers))
    if how in ("first", "last"):
        return numbers[starts if how == "first" else ends - 1]
    found: npt.NDArray[Any]
    if how == "max":
        found = np.maximum.reduceat(numbers, starts)
    else:
        found = np.add.reduceat(numbers.astype(np.float64), starts)
    if how == "mean":
        found = found / (ends - starts)
    # What single precision cannot hold becomes infinite, which interactions refuse.
    with np.errstate(over="ignore"):
        return found.astype(np.float32)


def users_of(pairs: _core.Csr) -> IndexArray:
    """The user of each pair, as ``pairs.indices`` has the item."""
    users = np.arange(pairs.shape[0], dtype=np.uint32)
    return np.repeat(users, pairs.counts.astype(np.int64))


def among(
    pairs: _core.Csr, users: npt.NDArray[Any], items: npt.NDArray[Any]
) -> npt.NDArray[np.bool_]:
    """Whether each pair of a user and an item, numbers of any integer type, is among some."""
    n_items = pairs.shape[1]
    own = numbered(users_of(pairs), pairs.indices, n_items)
    return np.isin(numbered(users, items, n_items), own)


def numbered(
    users: npt.NDArray[Any], items: npt.NDArray[Any], n_items: int
) -> npt.NDArray[np.int64]:
    """A number of each pair, which no other has."""
    # NumPy 1 multiplies an array of 32 bits by a small number in 32 bits, whatever type that has.
    found: npt.NDArray[np.int64] = users.astype(np.int64) * n_items + items
    return found
