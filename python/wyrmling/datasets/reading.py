"""Interactions read from files of lines: what separates columns, and which are which, is found out.

The native module reads; this file says what it is asked for, and puts the columns together.
"""

from __future__ import annotations

import os
from typing import Literal

from .. import _core
from ..data import Ids, Interactions

__all__ = ["read_described", "read_interactions"]

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
