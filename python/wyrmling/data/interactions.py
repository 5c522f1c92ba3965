"""Interactions: who had what, how much they liked it, how much it counts, and when.

Columns of equal length, users and items by number: what models learn from and are measured on.
Nothing here changes: what selects or splits makes new interactions with the same ids. Columns are
copies of what they were made of, and read-only, but for those in a mapped file, which stay there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from ..arguments import check_choice
from ..array_types import Float32Array, IndexArray
from .columns import Column, number_column, unchanging
from .ids import Ids
from .pairs import Combine, combined, grouped, numbered
from .splits import By, held_out, last_of_each

__all__ = ["Interactions", "check_interactions"]


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
        times: when it was, if known: int64 or float64 of shape (s,), in any unit; dates and
            datetimes become seconds since 1970.

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
    values: Float32Array | None = None
    weights: Float32Array | None = None
    times: npt.NDArray[Any] | None = None

    def __post_init__(self) -> None:
        for name, of in (("users", "user_ids"), ("items", "item_ids")):
            ids = getattr(self, of)
            if not isinstance(ids, Ids):
                ids = Ids(ids, of)
                object.__setattr__(self, of, ids)
            column = _index_column(name, getattr(self, name), len(ids))
            object.__setattr__(self, name, unchanging(column))
        lengths = {"users": len(self.users), "items": len(self.items)}
        for name, dtype in (("values", np.float32), ("weights", np.float32), ("times", None)):
            numbers = getattr(self, name)
            if numbers is not None:
                numbers = number_column(name, numbers, dtype)
                object.__setattr__(self, name, unchanging(numbers))
                lengths[name] = len(numbers)
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns must have the same length, found {lengths}")
        if self.weights is not None and len(negative := np.flatnonzero(self.weights < 0)):
            at = negative[0]
            raise ValueError(f"weights[{at}] is {self.weights[at]}, expected at least 0")

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Of pickle, and of deepcopy: NumPy restores arrays as ones that can be written.
        for name, value in state.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

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

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        user: str,
        item: str,
        value: str | None = None,
        weight: str | None = None,
        time: str | None = None,
    ) -> Interactions:
        """The columns of a data frame of pandas or polars, an Arrow table, or a dict of columns.

        Args:
            frame: what gives a column by its name, as ``frame[name]``.
            user: the name of the column with the users' ids.
            item: that with the items' ids.
            value: that with the values; None for none.
            weight: that with the weights; None for none.
            time: that with the times, numbers, dates or datetimes; None for none.

        Raises:
            KeyError: a column that is not there.
            TypeError: something else than a frame, and as :meth:`from_ids`.
            ValueError: as :meth:`from_ids`.
        """
        names = {"user": user, "item": item, "value": value, "weight": weight, "time": time}
        columns = {key: _column(frame, key, name) for key, name in names.items()}
        return cls.from_ids(
            columns["user"],
            columns["item"],
            values=columns["value"],
            weights=columns["weight"],
            times=columns["time"],
        )

    @classmethod
    def from_csr(
        cls, matrix: Any, user_ids: Column | None = None, item_ids: Column | None = None
    ) -> Interactions:
        """The entries of a sparse matrix of SciPy's: a row for each user, a column for each item.

        Args:
            matrix: values, of any sparse format; entries that are stored and 0 are left out. Those
                of one place add up, as they do in SciPy. True counts as 1.
            user_ids: the ids of the rows, in their order; their numbers if None.
            item_ids: the ids of the columns.

        Raises:
            TypeError: something else than a sparse matrix.
            ValueError: not one id for each row or column, a value that is not finite, or a matrix
                that has not two axes.
        """
        if not hasattr(matrix, "tocoo"):
            raise TypeError(
                f"matrix: expected a sparse matrix of SciPy's, got {type(matrix).__name__}"
            )
        if len(matrix.shape) != 2:
            raise ValueError(f"matrix: its shape is {matrix.shape}, expected users by items")
        entries = matrix.tocoo()
        n_users, n_items = entries.shape
        values = entries.data
        # Not by astype of the matrix, which adds up entries in the caller's own.
        if is_flag := values.dtype == bool:
            values = values.astype(np.float32)
        there = values != 0
        found = cls(
            entries.row[there],
            entries.col[there],
            _ids_of("user_ids", user_ids, n_users),
            _ids_of("item_ids", item_ids, n_items),
            values[there],
        )
        if getattr(matrix, "has_canonical_format", False):
            return found  # as SciPy knows of most matrices in CSR
        if len(np.unique(numbered(found.users, found.items, n_items))) == len(found):
            return found
        added = found.unique_pairs("max" if is_flag else "sum")
        assert added.values is not None
        return added.take(added.values != 0)

    @property
    def n_users(self) -> int:
        """Number of users, also of those who never occur."""
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        """Number of items, also of those that never occur."""
        return len(self.item_ids)

    @property
    def ratings(self) -> Float32Array | None:
        """The values, by the name that files of ratings have for them."""
        return self.values

    def __len__(self) -> int:
        return len(self.users)

    def __repr__(self) -> str:
        return f"Interactions({len(self):,} of {self.n_users:,} users, {self.n_items:,} items)"

    def take(self, places: npt.NDArray[Any]) -> Interactions:
        """The interactions at these places (numbers or a mask), with the same ids.

        ``data.take(data.values >= 4)`` keeps what was liked.

        Raises:
            IndexError: a mask of another length, or a number without an interaction.
            TypeError: neither numbers nor a mask.
            ValueError: not one axis.
        """
        places = _places(places, len(self))
        return replace(
            self,
            users=self.users[places],
            items=self.items[places],
            values=None if self.values is None else self.values[places],
            weights=None if self.weights is None else self.weights[places],
            times=None if self.times is None else self.times[places],
        )

    def split(
        self, test: float = 0.2, seed: int = 0, *, by: By = "random"
    ) -> tuple[Interactions, Interactions]:
        """Holds out a share of the interactions.

        Args:
            test: the share to hold out, between 0 and 1.
            seed: of the random choice; equal seeds choose equally.
            by: ``"random"``, a share of the interactions; ``"user"``, all of a share of the users;
                ``"time"``, the latest share.

        Returns:
            What is left to train on, and what was held out.

        Raises:
            TypeError: a share that is no number, or a seed that is no integer.
            ValueError: a share that leaves either part empty, a negative seed, or no times to split
                by.
        """
        mask = held_out(by, test, seed, self.users, self.times)
        return self.take(~mask), self.take(mask)

    def leave_last_out(self, count: int = 1) -> tuple[Interactions, Interactions]:
        """Holds out the last interactions of each user, by time, or by row if there are no times.

        Args:
            count: how many of each user. Users who have no more are not held out.

        Returns:
            What is left to train on, and what was held out.

        Raises:
            TypeError: a count that is no integer.
            ValueError: a count below 1.

        >>> data = Interactions.from_ids(["ann", "ann", "bob"], ["tea", "rye", "tea"])
        >>> train, test = data.leave_last_out()
        >>> len(train), test.item_ids[int(test.items[0])]
        (2, 'rye')
        """
        mask = last_of_each(count, self.users, self.times)
        return self.take(~mask), self.take(mask)

    def unique_pairs(self, values: Combine = "last") -> Interactions:
        """One interaction for each pair of a user and an item, in the order of users and items.

        Args:
            values: of the values of a pair, and of its weights, the ``"last"`` or ``"first"`` by
                time (by row, if there are no times), the ``"sum"``, the ``"mean"`` or the
                ``"max"``. Where there are no values, ``"sum"`` counts how often the pair occurs.

        Returns:
            The interactions; their times are the latest of each pair.

        Raises:
            ValueError: another word.

        >>> data = Interactions.from_ids(["ann", "ann", "ann"], ["tea", "rye", "tea"])
        >>> data.unique_pairs("sum").values
        array([2., 1.], dtype=float32)
        """
        check_choice("values", values, get_args(Combine))
        if len(self) == 0:
            return self
        order, starts = grouped(self.users, self.items, self.times)
        own = self.values
        if own is None and values == "sum":
            own = np.ones(len(self), np.float32)
        last = order[np.append(starts[1:], len(order)) - 1]
        return replace(
            self.take(last),
            values=None if own is None else combined(own[order], starts, values),
            weights=None if self.weights is None else combined(self.weights[order], starts, values),
        )


def check_interactions(name: str, given: Any) -> None:
    """Refuses an argument that is no Interactions, and says what makes them."""
    if not isinstance(given, Interactions):
        raise TypeError(
            f"{name}: expected Interactions, got {type(given).__name__}; Interactions.from_frame, "
            "from_csr and from_ids make them"
        )


def _ids_of(name: str, given: Column | None, count: int) -> Ids:
    """The ids of so many rows or columns: their numbers, if none are given."""
    ids = Ids(range(count) if given is None else given, name)
    if len(ids) != count:
        raise ValueError(f"{name} has {len(ids)} ids, expected {count}")
    return ids


def _column(frame: Any, what: str, name: Any) -> Any:
    """A column of a frame by its name."""
    if name is None:
        return None
    if type(frame).__name__ == "LazyFrame":
        raise TypeError("frame: expected a data frame, got LazyFrame; .collect() makes one of it")
    columns = getattr(frame, "column_names", None)  # of an Arrow table
    if columns is None:
        columns = getattr(frame, "columns", frame)
    no_frames = str, bytes, list, tuple, np.ndarray, np.generic
    if isinstance(frame, no_frames) or not hasattr(frame, "__getitem__"):
        raise TypeError(f"frame: expected a data frame, got {type(frame).__name__}")
    if isinstance(name, np.ndarray) or name not in list(columns):
        there = ", ".join(repr(column) for column in columns)
        raise KeyError(f"{what}: no column {name!r}, the frame has {there}")
    return frame[name]


def _places(places: Any, count: int) -> Any:
    """Places of so many interactions as NumPy takes them."""
    if isinstance(places, slice):
        return places
    at = _one_axis("places", places)
    if at.dtype == bool:
        if len(at) != count:
            raise IndexError(f"places: a mask of {len(at)}, expected one of {count} interactions")
        return at
    if at.dtype.kind not in "iu" and len(at):
        raise TypeError(f"places: expected integers or a mask, found {at.dtype}")
    if len(wrong := np.flatnonzero((at < -count) | (at >= count))):
        raise IndexError(
            f"places[{wrong[0]}] is {at[wrong[0]]}, expected {-count} to {count - 1}, for {count} "
            "interactions"
        )
    return at.astype(np.int64, copy=False)


def _one_axis(name: str, column: npt.ArrayLike) -> npt.NDArray[Any]:
    """A column as an array; refuses more axes, and what is masked."""
    numbers = np.asarray(column)
    if numbers.ndim != 1:
        raise ValueError(f"{name} must have one axis, found shape {numbers.shape}")
    if isinstance(column, np.ma.MaskedArray) and column.mask.any():
        at = np.ma.getmaskarray(column).argmax()
        raise ValueError(f"{name}[{at}] is masked, expected an integer")
    return numbers


def _index_column(name: str, column: npt.ArrayLike, limit: int) -> IndexArray:
    numbers = _one_axis(name, column)
    # An empty list becomes an array of floats.
    if numbers.dtype.kind not in "iu" and (len(numbers) or isinstance(column, np.ndarray)):
        raise TypeError(f"{name} must be integers, found {numbers.dtype}")
    outside = np.flatnonzero((numbers < 0) | (numbers >= limit))
    if len(outside):
        at = outside[0]
        raise IndexError(f"{name}[{at}] is {numbers[at]}, expected 0 to {limit - 1}")
    return numbers.astype(np.uint32, copy=False)
