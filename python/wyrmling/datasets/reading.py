"""Interactions read from files of lines: what separates columns, and which are which, is found.

The native module reads; this file says what it is asked for, and puts the columns together. It
reads users, items and ratings. Weights and times it reads as the ratings and items of a second
pass, so that they have the same grammar; times become text on the way, of which each is kept once.
Parquet files are read by ``wyrmling.datasets.parquet``.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _core
from ..arguments import check_flag, check_path
from ..data import Ids, Interactions
from ..data.columns import number_column
from .parquet import is_parquet, read_parquet

__all__ = ["read_described", "read_interactions"]

Delimiter = Literal[",", ";", "|", "\t", "::"]
Column = str | int

# What gzip has compressed may unpack to so many bytes, and to so many times the size of its file if
# that is more.
UNPACKED_BYTES, UNPACKED_TIMES = 1 << 30, 100


def read_interactions(
    path: str | os.PathLike[str],
    *,
    delimiter: Delimiter | None = None,
    header: bool | None = None,
    ratings: bool = True,
    user_column: Column | None = None,
    item_column: Column | None = None,
    rating_column: Column | None = None,
    weight_column: Column | None = None,
    time_column: Column | None = None,
) -> Interactions:
    """Reads lines of user and item, with a rating and more if there is more.

    Fields are separated by a tab, ``::``, ``,``, ``;`` or ``|``: that by which the first two lines
    have the same number of fields, the most of them. With all but ``::`` a field may be quoted.
    Ids are any text, but what stands for a missing value (``nan``, ``None``, ``NULL``). The third
    field is the rating, a number, which may have a decimal comma where no comma separates fields;
    it is none if it is given as the weight or the time, or if the user and the item are not the
    first two.
    Blank lines, spaces around a field (quoted or not), byte order marks and the kind of line end do
    not matter.

    The first line is a header when a column is given by its name, or when neither of its first two
    fields is a number and it names a user's column, or its third field is no number, nor a
    missing one (``NA``), and that of the second line is one, or the first two fields of the second
    line are numbers. It then says which
    columns are the user, the item and the rating.

    Weights and times are read if their columns are given. A time is a number, in any unit, or a
    date and time as ISO 8601 writes them, of UTC if they have no offset.

    A file whose name ends with ``.gz`` is text that gzip has compressed; it is unpacked to the
    folder for temporary files meanwhile, to 1 GiB or 100 times its size at most. One that ends with
    ``.parquet`` is read by pyarrow, or by polars if that is not there; its ids are the integers or
    strings that it has.

    Args:
        path: the file.
        delimiter: what separates fields, where that is not found out.
        header: whether the first line names the columns, where that is not found out.
        ratings: False leaves ratings out, which may then be missing or anything else.
        user_column: the users' column, by its name in the header or its number from 0 (on the
            command line, ``--user-column`` counts from 1).
        item_column: the items' column.
        rating_column: the ratings' column.
        weight_column: the column with how much each line counts.
        time_column: the column with when it was. With this or ``weight_column`` a text is read
            twice, so it must be a file and no pipe.

    Raises:
        OSError: the file cannot be read.
        ValueError: there is nothing in it, or it cannot be unpacked; a header names no user or item
            that is known here, and the column is not given; or a line is bad, or longer than 1 MiB
            (the first: 64 KiB): the message has its number, what was found and what was expected.
        TypeError: a column that is neither a name nor a number.
        MemoryError: there is no memory for it.
        ImportError: a parquet file, and nothing to read it with.
    """
    columns = user_column, item_column, rating_column, weight_column, time_column
    return read_described(path, delimiter, header, ratings, *columns)[0]


def read_described(
    path: str | os.PathLike[str],
    delimiter: Delimiter | None,
    header: bool | None,
    ratings: bool,
    user: Column | None,
    item: Column | None,
    rating: Column | None,
    weight: Column | None = None,
    time: Column | None = None,
) -> tuple[Interactions, str]:
    """What :func:`read_interactions` returns, and in words which columns it took."""
    path = check_path("path", path)
    if delimiter is not None and not isinstance(delimiter, str):
        raise TypeError(f"delimiter is {delimiter!r}, expected text")
    header = None if header is None else check_flag("header", header)
    ratings = check_flag("ratings", ratings)
    if rating is not None and not ratings:
        raise ValueError("rating_column: ratings are left out (ratings=False)")
    if path.lower().endswith(".gz"):
        with _unpacked(path) as text:
            return read_described(
                text, delimiter, header, ratings, user, item, rating, weight, time
            )
    if is_parquet(path):
        for name, value in (("delimiter", delimiter), ("header", header)):
            if value is not None:
                raise ValueError(f"{name} is {value!r}, expected None: parquet files have none")
        given = {"user": user, "item": item, "rating": rating, "weight": weight, "time": time}
        return read_parquet(path, given, ratings)
    more = weight is not None or time is not None
    if more and Path(path).exists() and not Path(path).is_file():
        raise ValueError(f"{path} is read twice for weights and times, expected a regular file")
    if header is None and (isinstance(weight, str) or isinstance(time, str)):
        header = True
    others = [column for column in (weight, time) if column is not None]
    columns, (found, *places) = _core.read_interactions(
        path, delimiter, header, ratings, user, item, rating, others
    )
    words = [
        _described(what, place)
        for what, place in zip(("user", "item", "rating"), places, strict=True)
        if place is not None
    ]
    named = places[0] is not None and places[0][1] is not None
    users, items, user_ids, item_ids, found_ratings = columns
    weights = times = None
    if more:
        taken = tuple(place[0] for place in places[:2] if place is not None)
        weights, times, described = _weights_and_times(path, found, named, taken, weight, time)
        words += described
    words.append("a header" if named else "no header")
    words.append(f"separated by {found!r}")
    ids = Ids(user_ids), Ids(item_ids)
    try:
        read = Interactions(users, items, *ids, found_ratings, weights, times)
    except ValueError as error:  # a weight below 0
        raise ValueError(f"{path}: {error} (counted from 0)") from None
    return read, ", ".join(words)


@contextmanager
def _unpacked(path: str) -> Iterator[str]:
    """A file with the text of one that gzip has compressed, by whose name errors call it."""
    from .archives import blocks_of_file  # which loads what speaks HTTP

    with TemporaryDirectory() as folder:
        text = os.path.join(folder, "text")
        with gzip.open(path) as packed, open(text, "wb") as file:
            most = max(UNPACKED_BYTES, UNPACKED_TIMES * os.stat(path).st_size)
            try:
                file.writelines(blocks_of_file(packed, f"{path}, unpacked,", most))
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise ValueError(f"{path}: cannot be read as a file of gzip: {error}") from None
        try:
            yield text
        except (TypeError, ValueError) as error:
            raise type(error)(str(error).replace(text, path)) from None


def _described(what: str, place: tuple[int, str | None]) -> str:
    at, name = place
    return f"{what} {name!r} (column {at + 1})" if name else f"{what} column {at + 1}"


def _weights_and_times(
    path: str,
    delimiter: str,
    header: bool,
    taken: tuple[int, ...],
    weight: Column | None,
    time: Column | None,
) -> tuple[npt.NDArray[Any] | None, npt.NDArray[Any] | None, list[str]]:
    """The weights and the times of a file, and in words their columns."""
    user, item = taken
    try:
        columns, (_, _, time_place, weight_place) = _core.read_interactions(
            path,
            delimiter,
            header,
            weight is not None,
            user,
            item if time is None else time,
            weight,
            (),
        )
    except (TypeError, ValueError) as error:
        renamed = {"rating": "weight", **({} if time is None else {"item": "time"})}
        raise type(error)(_renamed(str(error), path, renamed)) from None
    _, numbers, _, texts, weights = columns
    given = {"weight": weight_place, "time": None if time is None else time_place}
    for what, place in given.items():
        if place is not None and place[0] == item:
            raise ValueError(f"{path}: found item and {what} in the same column, expected one each")
    described = [] if weight_place is None else [_described("weight", weight_place)]
    if time is None:
        return weights, None, described
    described.append(_described("time", time_place))
    return weights, _times(texts, numbers, path)[numbers], described


def _renamed(message: str, path: str, names: dict[str, str]) -> str:
    """A message about columns by what they are for the caller; what was found stays as it is."""
    head = path if message.startswith(path) else ""
    parts = re.split(r'("(?:[^"\\]|\\.)*")', message[len(head) :])
    for old, new in names.items():
        pattern = re.compile(rf"\b{old}(?=s?\b|_column|-column)")
        parts[::2] = [pattern.sub(new, part) for part in parts[::2]]
    # Ratings are left out by an argument of their own.
    parts[::2] = [part.replace("weights=False", "weight_column=None") for part in parts[::2]]
    return head + "".join(parts)


def _times(texts: list[str], numbers: npt.NDArray[Any], path: str) -> npt.NDArray[Any]:
    """Times as int64, or as float64: numbers, or dates as ISO 8601 writes them, as the first is.

    Args:
        texts: those of the file, each once.
        numbers: which of them each row has.
        path: the file's, for errors.
    """
    if "".join(texts).isdecimal():
        try:
            return np.fromiter(map(int, texts), np.int64, len(texts))
        except (OverflowError, ValueError):
            pass  # What follows says which one it is.
    dates = _number(texts[0]) is None
    values: list[Any] = []
    for number, text in enumerate(texts):
        value = _date(text) if dates else _number(text)
        if value is None:
            also = ", or a date and time as ISO 8601 writes them" if dates else " as in other lines"
            row = int(np.argmax(numbers == number))
            raise ValueError(
                f"{path}, row {row}, counted from 0: found {text[:60]!r} as a time, "
                f"expected a number{also}"
            )
        values.append(value)
    if dates and any(value.tzinfo for value in values):
        # Those that say no offset are of UTC beside others that do, too.
        values = [value if value.tzinfo else value.replace(tzinfo=UTC) for value in values]
    return number_column("times", values, None)


def _number(text: str) -> int | float | None:
    """A text as a finite number, None if it is none."""
    try:
        number = int(text) if text.removeprefix("-").isdecimal() else float(text)
    except ValueError:
        return None
    return number if "_" not in text and abs(number) < 2**63 else None


def _date(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
