"""Interactions read from parquet files, by pyarrow or else polars, whichever is installed.

Columns have types there: ids that are integers stay integers, and times may be timestamps. Which
column is which is found by the names that ``read_interactions`` knows in the header of a text.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .. import _core
from ..data import Interactions

__all__ = ["is_parquet", "read_parquet"]


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Whether a file is one by its name."""
    return os.fspath(path).lower().endswith(".parquet")


def read_parquet(
    path: str | os.PathLike[str], given: Mapping[str, str | int | None], ratings: bool
) -> tuple[Interactions, str]:
    """The interactions of a file, and in words which columns they were taken from.

    Args:
        path: the file.
        given: the columns of ``user``, ``item``, ``rating``, ``weight`` and ``time``, by name or by
            number from 0; None for one that is to be found, or left out.
        ratings: whether ratings are looked for.

    Raises:
        ImportError: neither pyarrow nor polars is installed.
        OSError: the file cannot be read.
        ValueError: something else than a parquet file, a column that is not there, or a value that
            :meth:`Interactions.from_ids` refuses.
        TypeError: as :meth:`Interactions.from_ids`, or a column that is neither name nor number.
    """
    name = os.fspath(path)
    with open(name, "rb"):
        pass  # An OSError that says what Python says of any file.
    names_of, columns_of = _library(name)
    names = _readable(name, names_of)
    taken: dict[str, str] = {}
    # Ratings last: they are not looked for where weights and times are.
    for what in ("weight", "time", "user", "item", "rating"):
        column = given[what]
        if column is not None:
            taken[what] = _given(name, what, column, names)
        elif what in ("user", "item") or (what == "rating" and ratings):
            read = [taken[other] for other in ("weight", "time") if other in taken]
            left = [column for column in names if what != "rating" or column not in read]
            found = _found(name, what, left)
            if found is not None:
                taken[what] = found
    taken = {what: taken[what] for what in given if what in taken}
    # What is given as the rating may count as the weight too.
    others = [column for what, column in taken.items() if what != "rating"]
    if len(set(others)) < len(others) or taken.get("rating") in (taken["user"], taken["item"]):
        raise ValueError(f"{name}: found {taken}, expected one column each")
    frame = _readable(name, lambda path: columns_of(path, list(dict.fromkeys(taken.values()))))
    options: dict[str, Any] = {
        ("value" if what == "rating" else what): taken[what] for what in taken
    }
    try:
        data = Interactions.from_frame(frame, **options)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from error
    return data, ", ".join(f"{what} {column!r}" for what, column in taken.items()) + ", parquet"


def _library(name: str) -> tuple[Any, Any]:
    """What gives the names of a file's columns, and what reads some of them."""
    try:
        from pyarrow import parquet
    except ImportError:
        pass
    else:
        return (
            lambda path: list(parquet.read_schema(path).names),
            lambda path, columns: parquet.read_table(path, columns=columns),
        )
    try:
        import polars
    except ImportError:
        raise ImportError(
            f"{name} is a parquet file, which pyarrow or polars reads, and neither is installed: "
            "pip install pyarrow"
        ) from None
    return (
        lambda path: list(polars.read_parquet_schema(path)),
        lambda path, columns: polars.read_parquet(path, columns=columns),
    )


def _readable(name: str, read: Any) -> Any:
    """What a library reads of a file; its own kinds of errors become ValueErrors."""
    try:
        return read(name)
    except MemoryError:
        raise
    except BaseException as error:
        # What polars raises where it panics is no Exception; of others none is the file's.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        text = " ".join(str(error).split())
        raise ValueError(f"{name}: cannot be read as a parquet file: {text}") from error


def _given(name: str, what: str, column: str | int, names: list[str]) -> str:
    """A column that the caller gives, by its name."""
    there = ", ".join(map(repr, names))
    if isinstance(column, str):
        if names.count(column) != 1:
            raise ValueError(
                f"{name}: found the columns {there}, expected {column!r} for the {what}"
            )
        return column
    if isinstance(column, bool) or not hasattr(column, "__index__") or int(column) < 0:
        raise TypeError(
            f"{what}_column: expected the name of a column, or its number from 0, got {column!r}"
        )
    if int(column) >= len(names):
        raise ValueError(
            f"{name}: found {len(names)} columns, expected one of number {column} from 0 for the "
            f"{what}"
        )
    return names[int(column)]


def _found(name: str, what: str, names: list[str]) -> str | None:
    """The one column whose name is known to be this; None for ratings that are not there."""
    found = [column for column in names if _core.column_role(column) == what]
    if len(found) == 1 or (what == "rating" and not found):
        return found[0] if found else None
    raise ValueError(
        f"{name}: found the columns {', '.join(map(repr, names))}, expected one of the {what}: "
        f"give its name as {what}_column (--{what}-column)"
    )
