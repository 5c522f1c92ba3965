"""Interactions: reading them, making them up, and holding some out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _core

__all__ = ["Interactions", "make_interactions", "read_interactions"]

IndexArray = npt.NDArray[np.uint32]

# What Python, NumPy, pandas and databases write where a value is missing: no id.
MISSING = ("None", "nan", "NaN", "<NA>", "NaT", "NULL", "null")

GENRES = ("jazz", "folk", "soul", "punk", "house", "blues", "opera", "metal")


@dataclass(frozen=True, eq=False)
class Interactions:
    """Who interacted with what: one entry of each column is one interaction.

    Users and items are numbered from 0; ``user_ids[users[n]]`` and
    ``item_ids[items[n]]`` are what the caller calls those of interaction ``n``. A
    pair may occur more than once.

    Args:
        users: user numbers, integers, shape (s,).
        items: item numbers, integers, shape (s,).
        user_ids: the users' ids, by number; distinct.
        item_ids: the items' ids, by number; distinct.
        ratings: what the users thought of it, if known, shape (s,).

    Raises:
        ValueError: columns of different length, or ids that are not distinct.
        TypeError: numbers that are not integers, or ids that are not strings.
        IndexError: a number without an id.
    """

    users: IndexArray
    items: IndexArray
    user_ids: Sequence[str]
    item_ids: Sequence[str]
    ratings: npt.NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        for name, ids in (("users", self.user_ids), ("items", self.item_ids)):
            for number, id_ in enumerate(ids):
                if not isinstance(id_, str):
                    raise TypeError(
                        f"{name[:-1]}_ids[{number}] is {id_!r}, expected a string; "
                        "Interactions.from_ids takes ids of any type"
                    )
            column = _index_column(name, getattr(self, name), len(ids))
            object.__setattr__(self, name, column)
            if len(set(ids)) != len(ids):
                raise ValueError(f"the ids of {name} must be distinct")
        lengths = {"users": len(self.users), "items": len(self.items)}
        if self.ratings is not None:
            object.__setattr__(self, "ratings", np.asarray(self.ratings, np.float32))
            lengths["ratings"] = len(self.ratings)
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns must have the same length, found {lengths}")

    @classmethod
    def from_ids(cls, users: Iterable[object], items: Iterable[object]) -> Interactions:
        """Numbers the ids of two columns in the order in which they first appear.

        An id is text, a number, or what else ``str`` names; a column is a sequence or an iterator
        of them. Raises ValueError for None, NaN, masked elements and whatever else stands for a
        missing value, as text too: it would be one user or item; and for an array of several axes.
        Raises TypeError for bytes, lists and arrays as ids, and for sets and dicts, whose order is
        not that of the other column.

        >>> data = Interactions.from_ids(["ann", "bob", "ann"], [7, 7, 9])
        >>> data.users, data.items, data.item_ids
        (array([0, 1, 0], dtype=uint32), array([0, 0, 1], dtype=uint32), ['7', '9'])
        """
        user_numbers, user_ids = _number("users", users)
        item_numbers, item_ids = _number("items", items)
        return cls(user_numbers, item_numbers, user_ids, item_ids)

    @property
    def n_users(self) -> int:
        """Number of users, also of those who never occur."""
        return len(self.user_ids)

    @property
    def n_items(self) -> int:
        """Number of items, also of those that never occur."""
        return len(self.item_ids)

    def __len__(self) -> int:
        return len(self.users)

    def __repr__(self) -> str:
        return f"Interactions({len(self):,} of {self.n_users:,} users, {self.n_items:,} items)"

    def take(self, places: npt.NDArray[Any]) -> Interactions:
        """The interactions at these places (numbers or a mask), with the same ids.

        ``data.take(data.ratings >= 4)`` keeps what was liked.
        """
        ratings = None if self.ratings is None else self.ratings[places]
        return replace(self, users=self.users[places], items=self.items[places], ratings=ratings)

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


Delimiter = Literal[",", ";", "|", "\t", "::"]
Column = str | int


def read_interactions(
    path: str | os.PathLike[str],
    *,
    delimiter: Delimiter | None = None,
    header: bool | None = None,
    ratings: bool = True,
    user_column: Column | None = None,
    item_column: Column | None = None,
    rating_column: Column | None = None,
) -> Interactions:
    """Reads lines of user and item, with a rating and more if there is more.

    Fields are separated by a tab, ``::``, ``,``, ``;`` or ``|``: that by which the first two lines
    have the same number of fields, the most of them. With all but ``::`` a field may be quoted.
    Ids are any text, but what stands for a missing value (``nan``, ``None``, ``NULL``). The third
    field is the rating, a number, which may have a decimal comma where no comma separates fields.
    Blank lines, byte order marks and the kind of line end do not matter.

    The first line is a header when a column is given by its name, or when neither of its first two
    fields is a number and it names a user's column, or its third field is no number, nor a
    missing one (``NA``), and that of the second line is one, or the first two fields of the second
    line are numbers. It then says which
    columns are the user, the item and the rating.

    Args:
        path: the file.
        delimiter: what separates fields, where that is not found out.
        header: whether the first line names the columns, where that is not found out.
        ratings: False leaves ratings out, which may then be missing or anything else.
        user_column: the users' column, by its name in the header or its number from 0 (on the
            command line, ``--user-column`` counts from 1).
        item_column: the items' column.
        rating_column: the ratings' column.

    Raises:
        OSError: the file cannot be read.
        ValueError: there is nothing in it; a header names no user or item that is known here,
            and the column is not given; or a line is bad: the message has its number, what was
            found and what was expected.
        TypeError: a column that is neither a name nor a number.
    """
    columns = user_column, item_column, rating_column
    return read_described(path, delimiter, header, ratings, *columns)[0]


def read_described(
    path: str | os.PathLike[str],
    delimiter: Delimiter | None,
    header: bool | None,
    ratings: bool,
    user: Column | None,
    item: Column | None,
    rating: Column | None,
) -> tuple[Interactions, str]:
    """What :func:`read_interactions` returns, and in words which columns it took."""
    if rating is not None and not ratings:
        raise ValueError("rating_column: ratings are left out (ratings=False)")
    columns, (found, *places) = _core.read_interactions(
        os.fspath(path), delimiter, header, ratings, user, item, rating
    )
    words = [
        f"{what} {place[1]!r} (column {place[0] + 1})"
        if place[1]
        else f"{what} column {place[0] + 1}"
        for what, place in zip(("user", "item", "rating"), places, strict=True)
        if place is not None
    ]
    named = places[0] is not None and places[0][1] is not None
    words.append("a header" if named else "no header")
    words.append(f"separated by {found!r}")
    return Interactions(*columns), ", ".join(words)


def make_interactions(
    n_users: int = 2000,
    n_items: int = 800,
    per_user: int = 40,
    *,
    skew: float = 0.8,
    noise: float = 0.1,
    seed: int = 0,
) -> Interactions:
    """Makes up who listened to what, with a structure that a model can find.

    Every item belongs to one genre and has a popularity, 1/n**skew for the n-th of
    its genre. Every user has a taste, a share for each genre that adds up to 1:
    drawn from a Dirichlet distribution with concentration 0.2, so that one or two
    genres prevail, then blended with ``noise`` of all genres alike. How many items
    a user chooses is log-normal around ``per_user``, and which is drawn without
    repetition with probabilities ``taste[genre] * popularity``, the popularities of
    a genre adding up to 1.

    The best a model can do is to learn the tastes: to recommend a user the most
    popular items of the genres that prevail. Items are called after genre and
    popularity: ``jazz-1`` is the most popular jazz.

    Args:
        n_users: number of users.
        n_items: number of items, at least 8, one for each genre.
        per_user: median number of items a user chooses.
        skew: how unequal popularities are; 0 makes them equal.
        noise: how much of a taste is for all genres alike, from 0 to 1.
        seed: of all random choices; equal seeds make equal data.

    Raises:
        ValueError: an argument outside its range.
    """
    if n_users < 1 or n_items < len(GENRES) or per_user < 1:
        raise ValueError(
            f"n_users, n_items and per_user are {n_users}, {n_items} and {per_user}, "
            f"expected at least 1, {len(GENRES)} and 1"
        )
    if not (skew >= 0 and 0 <= noise <= 1):
        raise ValueError(f"skew and noise are {skew} and {noise}, expected at least 0, and 0 to 1")
    rng = generator(seed)
    genre = np.arange(n_items) % len(GENRES)
    place = np.arange(n_items) // len(GENRES) + 1
    popularity = place**-skew
    popularity /= np.bincount(genre, popularity)[genre]
    tastes = rng.dirichlet(np.full(len(GENRES), 0.2), n_users)
    tastes = (1 - noise) * tastes + noise / len(GENRES)
    wishes = rng.lognormal(np.log(per_user), 0.5, n_users)
    counts = np.clip(wishes, 1, n_items // 2).astype(np.int64)

    chosen = []
    for taste, count in zip(tastes, counts, strict=True):
        # The items with the largest log-weight plus Gumbel noise are a draw without repetition
        # (the Gumbel-top-k trick). A taste may be so small that it is 0.
        with np.errstate(divide="ignore"):
            keys = np.log(taste[genre] * popularity) + rng.gumbel(size=n_items)
        chosen.append(np.argpartition(-keys, count - 1)[:count])
    return Interactions(
        users=np.repeat(np.arange(n_users, dtype=np.uint32), counts),
        items=np.concatenate(chosen).astype(np.uint32),
        user_ids=[f"user-{n}" for n in range(1, n_users + 1)],
        item_ids=[f"{GENRES[g]}-{n}" for g, n in zip(genre, place, strict=True)],
    )


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


def _column_of_ids(name: str, ids: Iterable[object]) -> Iterable[object]:
    """A column of which every entry names something, or may be missing."""
    if isinstance(ids, (bytes, Set, Mapping)):
        raise TypeError(f"{name}: expected a sequence of ids, found a {type(ids).__name__}")
    if isinstance(ids, np.ndarray) and ids.ndim != 1:
        raise ValueError(f"{name} must have one axis, found shape {ids.shape}")
    if isinstance(ids, np.ma.MaskedArray):
        return [None if id_ is np.ma.masked else id_ for id_ in ids]
    if isinstance(ids, np.ndarray) and ids.dtype.kind not in "OSV":
        return ids
    column = ids if isinstance(ids, (list, tuple, str, range)) else list(ids)
    for kind in set(map(type, column)):
        if issubclass(kind, (bytes, bytearray, list, Set, Mapping, np.ndarray)):
            row = next(row for row, id_ in enumerate(column) if type(id_) is kind)
            raise TypeError(
                f"{name}: row {row}, counted from 0, is {column[row]!r}, expected text or a number"
            )
    return column


def _number(name: str, ids: Iterable[object]) -> tuple[IndexArray, list[str]]:
    numbers: dict[str, int] = {}
    ids = _column_of_ids(name, ids)
    column = np.fromiter((numbers.setdefault(str(id_), len(numbers)) for id_ in ids), np.uint32)
    for missing in MISSING:
        if missing in numbers:
            row = np.argmax(column == numbers[missing])
            raise ValueError(
                f"{name}: row {row}, counted from 0, is {missing}, which stands for a "
                "missing value; expected an id"
            )
    return column, list(numbers)
