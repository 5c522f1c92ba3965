"""Interactions: reading them, and making them up."""

from __future__ import annotations

import os
from typing import Literal

import numpy as np

from . import _core
from .data import Ids, Interactions
from .data.splits import generator

__all__ = ["Interactions", "make_interactions", "read_interactions"]

GENRES = ("jazz", "folk", "soul", "punk", "house", "blues", "opera", "metal")


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
    users, items, user_ids, item_ids, found_ratings = columns
    ids = Ids(user_ids), Ids(item_ids)
    return Interactions(users, items, *ids, found_ratings), ", ".join(words)


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
        user_ids=Ids([f"user-{n}" for n in range(1, n_users + 1)]),
        item_ids=Ids([f"{GENRES[g]}-{n}" for g, n in zip(genre, place, strict=True)]),
    )
