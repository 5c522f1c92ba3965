"""Interactions written as lines of a csv file, which ``read_interactions`` reads.

The file is there when it is complete: it is written under another name and renamed. One whose name
ends with ``.gz`` is compressed, as it will be read.
"""

from __future__ import annotations

import csv
import gzip
import os
import secrets
from pathlib import Path
from typing import Any

from ..data import Interactions

__all__ = ["write_lines"]

ROWS = 1 << 16
"""Rows that are written at once."""


def write_lines(data: Interactions, path: str | os.PathLike[str]) -> None:
    """Writes a line of names, and one for each interaction: user, item, and what else there is.

    Args:
        data: values are ratings, times timestamps, weights stay weights.
        path: the file, which is replaced if it is there.

    Raises:
        OSError: it cannot be written; then what was there stays.
    """
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    optional = {"rating": data.values, "timestamp": data.times, "weight": data.weights}
    columns = {name: column for name, column in optional.items() if column is not None}
    try:
        opened: Any = gzip.open if os.fspath(path).lower().endswith(".gz") else open
        with opened(part, "xt", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["user_id", "item_id", *columns])
            for start in range(0, len(data), ROWS):
                rows = slice(start, start + ROWS)
                users = data.user_ids.take(data.users[rows]).tolist()
                items = data.item_ids.take(data.items[rows]).tolist()
                others = [_texts(column[rows]) for column in columns.values()]
                writer.writerows(zip(users, items, *others, strict=True))
        os.replace(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _texts(column: Any) -> list[str]:
    """Numbers in the fewest digits that give them back, whole ones without a point."""
    return [str(number).removesuffix(".0") for number in column]
