"""Interactions: who had what, how much they liked it, how much it counts, and when.

Columns of equal length, users and items by number: what models learn from and are measured on.
Nothing here changes: what selects or splits makes new interactions with the same ids.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .columns import Column, number_column
from .ids import Ids

__all__ = ["Interactions", "generator"]

IndexArray = npt.NDArray[np.uint32]
FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Interactions:
    """Who interacted with what: one entry of each column is one interaction.

    Users and items are numbered from 0; ``user_ids[users[n]]`` and
    ``item_ids[items[n]]`` are what the caller calls those of interaction ``n``. A
    pair may occur more than once.

    Args:
        users: user numbers, integers, shape (s,).
        items: item numbers, integers, shape (s,).
        user_ids: the users' ids, by number: an Ids, or a sequence of distinct strings and integers.
        item_ids: the items' ids, by number.
        values: what the users thought of it, or how much of it they took, if known: float32 of
            shape (s,), finite.
        weights: how much each interaction counts, if not alike: float32 of shape (s,), finite and
            at least 0.
        times: when it was, if known: int64 or float64 of shape (s,), in any unit; datetimes become
            seconds since 1970.

    Raises:
        ValueError: columns of different length, ids that are not distinct, or numbers that are not
            finite.
        TypeError: numbers that are not integers, or ids that are neither strings nor integers.
        IndexError: a number without an id.
    """

    users: IndexArray
    items: IndexArray
    user_ids: Ids
    item_ids: Ids
    values: FloatArray | None = None
    weights: FloatArray | None = None
    times: npt.NDArray[Any] | None = None

    def __post_init__(self) -> None:
        for name, of in (("users", "user_ids"), ("items", "item_ids")):
            ids = getattr(self, of)
            if not isinstance(ids, Ids):
                ids = Ids(ids, of)
                object.__setattr__(self, of, ids)
            column = _index_column(name, getattr(self, name), len(ids))
            object.__setattr__(self, name, column)
        lengths = {"users": len(self.users), "items": len(self.items)}
        for name, dtype in (("values", np.float32), ("weights", np.float32), ("times", None)):
            numbers = getattr(self, name)
            if numbers is not None:
                numbers = number_column(name, numbers, dtype)
                object.__setattr__(self, name, numbers)
                lengths[name] = len(numbers)
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns must have the same length, found {lengths}")
        if self.weights is not None and len(negative := np.flatnonzero(self.weights < 0)):
            at = negative[0]
            raise ValueError(f"weights[{at}] is {self.weights[at]}, expected at least 0")

    @classmethod
    def from_ids(
        cls,
        users: Column,
        items: Column,
        *,
        values: Column | None = None,
        weights: Column | None = None,
        times: Column | None = None,
    ) -> Interactions:
        """Numbers the ids of two columns in the order in which they first appear.

        An id is a string or an integer, and 1 is not "1". A column is a sequence, an iterator or an
        array, or one of pandas, polars or pyarrow.

        Args:
            users: the users' ids, shape (s,).
            items: the items' ids, shape (s,).
            values: as for :class:`Interactions`, and so are the others.
            weights: how much each interaction counts.
            times: when it was.

        Raises:
            ValueError: None, NaN, masked elements and whatever else stands for a missing value, as
                text too: it would be one user or item; an array of several axes.
            TypeError: an id of another type: ``str`` of it would be one; sets and dicts, whose
                order is not that of the other column.

        >>> data = Interactions.from_ids(["ann", "bob", "ann"], [7, 7, 9])
        >>> data.users, data.items, data.item_ids
        (array([0, 1, 0], dtype=uint32), array([0, 0, 1], dtype=uint32), Ids([7, 9]))
        """
        user_numbers, user_ids = Ids.of(users, "users")
        item_numbers, item_ids = Ids.of(items, "items")
        columns: Any = (values, weights, times)
        return cls(user_numbers, item_numbers, user_ids, item_ids, *columns)

    @property
    def n_users(self) -> int:
        """Number of users, also of those who never occur."""
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        """Number of items, also of those that never occur."""
        return len(self.item_ids)

    @property
    def ratings(self) -> FloatArray | None:
        """The values, by the name that files of ratings have for them."""
        return self.values

    def __len__(self) -> int:
        return len(self.users)

    def __repr__(self) -> str:
        return f"Interactions({len(self):,} of {self.n_users:,} users, {self.n_items:,} items)"

    def take(self, places: npt.NDArray[Any]) -> Interactions:
        """The interactions at these places (numbers or a mask), with the same ids.

        ``data.take(data.values >= 4)`` keeps what was liked.
        """
        return replace(
            self,
            users=self.users[places],
            items=self.items[places],
            values=None if self.values is None else self.values[places],
            weights=None if self.weights is None else self.weights[places],
            times=None if self.times is None else self.times[places],
        )

    def split(self, test: float = 0.2, seed: int = 0) -> tuple[Interactions, Interactions]:
        """Holds out a share of the interactions at random.

        Args:
            test: the share to hold out, between 0 and 1.
            seed: of the random choice; equal seeds choose equally.

        Returns:
            What is left to train on, and what was held out.

        Raises:
            ValueError: a share that leaves either part empty, or a negative seed.
        """
        held_out = round(test * len(self)) if 0 < test < 1 else 0
        if not 0 < held_out < len(self):
            raise ValueError(
                f"test is {test}, which holds out {held_out} of {len(self)} interactions, "
                "expected a share that leaves some on both sides"
            )
        order = generator(seed).permutation(len(self))
        return self.take(np.sort(order[held_out:])), self.take(np.sort(order[:held_out]))


def generator(seed: int) -> np.random.Generator:
    """A source of random numbers, which starts the same for equal seeds."""
    if seed < 0:
        raise ValueError(f"seed is {seed}, expected at least 0")
    return np.random.default_rng(seed)


def _index_column(name: str, column: npt.ArrayLike, limit: int) -> IndexArray:
    numbers = np.asarray(column)
    if numbers.ndim != 1:
        raise ValueError(f"{name} must have one axis, found shape {numbers.shape}")
    if numbers.dtype.kind not in "iu":
        raise TypeError(f"{name} must be integers, found {numbers.dtype}")
    outside = np.flatnonzero((numbers < 0) | (numbers >= limit))
    if len(outside):
        at = outside[0]
        raise IndexError(f"{name}[{at}] is {numbers[at]}, expected 0 to {limit - 1}")
    return numbers.astype(np.uint32, copy=False)
