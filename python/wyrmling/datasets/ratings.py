"""Ratings as data sets are published: lines of numbers, a user, an item, a rating and maybe a time.

Fields are separated by a tab, ``::`` or a comma, which the first line shows, and a first line of
names says which column is which. NumPy parses blocks of lines, so that memory is that of the
columns: 20 bytes for each rating, and 70 while ids are numbered. Ids are integers below 2^31, as
they are in the data sets; :func:`~wyrmling.datasets.read_interactions` reads others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..data import Interactions

__all__ = ["interactions_of"]

LONGEST_LINE = 1 << 16
"""Bytes of a line, at most."""
SEPARATORS = ("\t", "::", ",")
COLUMNS: dict[str, npt.DTypeLike] = {
    "user": np.int32,
    "item": np.int32,
    "rating": np.float32,
    "time": np.int64,
}
"""The columns in the order that they have without a line of names, and their element types."""
NAMES = {
    "userid": "user",
    "movieid": "item",
    "bookid": "item",
    "itemid": "item",
    "rating": "rating",
    "timestamp": "time",
}
"""What names of columns mean, in small letters and without ``_``."""


def interactions_of(blocks: Iterable[bytes], what: str) -> Interactions:
    """The interactions that lines describe: ratings are their values, and seconds their times.

    Args:
        blocks: the bytes of the lines, cut anywhere.
        what: what errors call them.

    Raises:
        ValueError: a line that is something else than described above; the message has its number.
    """
    columns: list[str | None] = []
    parts: dict[str, list[npt.NDArray[Any]]] = {}
    separator = ""
    for number, lines in _whole_lines(blocks, what):
        first = number
        if not columns:
            separator, columns, named = _layout(lines[0], what)
            parts = {name: [] for name in columns if name is not None}
            if named:
                first, lines = first + 1, lines[1:]
        for name, column in _parsed(lines, first, separator, columns, what).items():
            parts[name].append(column)
    if not columns:
        raise ValueError(f"{what} is empty, expected lines of a user, an item and a rating")
    if not parts["user"]:
        raise ValueError(f"{what} has a line of names and no line after it")
    joined = {name: np.concatenate(parts.pop(name)) for name in list(parts)}
    return Interactions.from_ids(
        joined.pop("user"),
        joined.pop("item"),
        values=joined.pop("rating"),
        times=joined.pop("time", None),
    )


def _whole_lines(blocks: Iterable[bytes], what: str) -> Iterator[tuple[int, list[str]]]:
    """The lines that end in each block, if any, and the number of the first of them."""
    rest, number = b"", 1
    for block in blocks:
        text, newline, rest = (rest + block).rpartition(b"\n")
        if len(rest) > LONGEST_LINE:
            raise ValueError(f"{what}: a line has more than {LONGEST_LINE:,} bytes")
        if newline:
            lines = _decoded(text, number, what)
            yield number, lines
            number += len(lines)
    if rest:
        yield number, _decoded(rest, number, what)


def _decoded(text: bytes, number: int, what: str) -> list[str]:
    text = text.removeprefix(b"\xef\xbb\xbf") if number == 1 else text
    try:
        return text.decode("ascii").replace("\r", "").split("\n")
    except UnicodeDecodeError as error:
        line = number + text.count(b"\n", 0, error.start)
        raise ValueError(f"{what}, line {line}: expected numbers, found other bytes") from None


def _layout(line: str, what: str) -> tuple[str, list[str | None], bool]:
    """What separates columns, which they are, None for others, and whether the line names them."""
    separator = next((sign for sign in SEPARATORS if sign in line), ",")
    fields = [field.strip() for field in line.split(separator)]
    named = not fields[0].isdecimal()
    columns: list[str | None]
    if named:
        columns = [NAMES.get(field.lower().replace("_", "").strip('"')) for field in fields]
    else:
        columns = [*list(COLUMNS)[: len(fields)], *[None] * (len(fields) - len(COLUMNS))]
    for name in ("user", "item", "rating"):
        if columns.count(name) != 1:
            raise ValueError(
                f"{what}, line 1: found {line[:80]!r}, expected a user, an item, a rating and "
                "maybe a time, with a tab, :: or a comma between them"
            )
    return separator, columns, named


def _parsed(
    lines: list[str], first: int, separator: str, columns: list[str | None], what: str
) -> dict[str, npt.NDArray[Any]]:
    """The columns of some lines."""
    if len(separator) > 1:
        lines = [line.replace(separator, "\t") for line in lines]
        separator = "\t"
    used = [place for place, name in enumerate(columns) if name is not None]
    kinds = np.dtype([(name, COLUMNS[name]) for name in columns if name is not None])

    def parse(lines: list[str]) -> npt.NDArray[Any]:
        # NumPy compares the number of columns of each line only where all are used.
        usecols = used if len(used) < len(columns) else None
        return np.loadtxt(
            lines, kinds, comments=None, delimiter=separator, usecols=usecols, ndmin=1
        )

    if not any(lines):
        return {}
    try:
        rows = parse(lines)
    except ValueError:
        for number, line in enumerate(lines, first):
            try:
                if line:
                    parse([line])
            except ValueError as error:
                raise ValueError(f"{what}, line {number}: found {line[:80]!r}: {error}") from None
        raise
    if len(wrong := np.flatnonzero(~np.isfinite(rows["rating"]))):
        there = [(number, line) for number, line in enumerate(lines, first) if line]
        number, line = there[wrong[0]]
        raise ValueError(f"{what}, line {number}: found {line[:80]!r}, expected a finite rating")
    return {name: rows[name].copy() for name in columns if name is not None}
