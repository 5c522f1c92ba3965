"""``wyrmling datasets``: published data sets, listed, downloaded and written as lines."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from ..data import Interactions
from ..datasets import goodbooks, movielens
from ..datasets.goodbooks import PUBLISHED
from ..datasets.movielens import SIZES, published
from ..datasets.parquet import is_parquet
from ..datasets.published import Published
from . import files
from .lines import write_lines
from .text import describe, say, watched

__all__ = ["add_options", "run"]

KNOWN: Mapping[str, tuple[Published, Any, str]] = {
    **{
        published(size).name: (published(size), partial(movielens, size), "films, GroupLens")
        for size in SIZES
    },
    PUBLISHED.name: (PUBLISHED, goodbooks, "books, Zygmunt Zając on GitHub"),
}


def run(options: argparse.Namespace) -> None:
    """Lists published data sets, or downloads one, and writes it as lines that train reads."""
    if options.name is None:
        for name in ("out", "from_file", "url", "cache"):
            if getattr(options, name) is not None:
                raise ValueError(f"--{name.replace('_', '-')} is of no use without a NAME")
        _list(options.json)
        return
    if options.out is not None:
        files.check_destination(options.out, options.from_file or "")
        if is_parquet(options.out):
            raise ValueError(f"--out is {options.out}, expected another name: lines are written")
    _, load, _ = KNOWN[options.name]
    data = load(
        cache=options.cache,
        url=options.url,
        from_file=options.from_file,
        progress=watched(),
    )
    if options.out is not None:
        write_lines(data, options.out)
    if options.json:
        print(json.dumps({"name": options.name, **_measures(data), "out": options.out}))
        return
    say(f"data        {describe(data)}")
    if data.values is not None and len(data):
        low, high, mean = data.values.min(), data.values.max(), data.values.mean(dtype=float)
        say(f"ratings     {low:g} to {high:g}, {mean:.2f} on average")
    if data.times is not None and len(data):
        say(f"times       {_day(data.times.min())} to {_day(data.times.max())}")
    if options.out is not None:
        say(f"written     {options.out}, {os.path.getsize(options.out):,} bytes")


def _list(as_json: bool) -> None:
    """Prints what there is."""
    if as_json:
        for name, (known, _, what) in KNOWN.items():
            line = {"name": name, "ratings": known.ratings, "what": what, "url": known.url}
            print(json.dumps(line, ensure_ascii=False))
        return
    width = max(map(len, KNOWN))
    print(f"{'name':{width}}  {'ratings, about':>14}  of")
    for name, (known, _, what) in KNOWN.items():
        print(f"{name:{width}}  {known.ratings:14,}  {what}")


def _measures(data: Interactions) -> dict[str, Any]:
    """How much of what there is, as plain numbers."""
    found: dict[str, Any] = {
        "interactions": len(data),
        "users": data.n_users,
        "items": data.n_items,
    }
    for name, column in (("ratings", data.values), ("times", data.times)):
        if column is not None and len(column):
            found[name] = [column.min().item(), column.max().item()]
    return found


def _day(seconds: Any) -> str:
    """The day of a time in seconds since 1970, or the number if it is in no calendar."""
    try:
        return datetime.fromtimestamp(int(seconds), UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return str(seconds)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    option = parser.add_argument
    option("name", nargs="?", choices=KNOWN, metavar="NAME", help="which one; without it, a list")
    option(
        "--out",
        metavar="FILE",
        help="where to write lines of user, item, rating and time, compressed by gzip if the name "
        "ends with .gz",
    )
    option(
        "--from-file",
        metavar="FILE",
        help="the archive, or the file of ratings in it, that is there already",
    )
    option("--url", help="the address of the archive, if not its publisher's")
    option(
        "--cache",
        metavar="DIRECTORY",
        help="where archives are kept [WYRMLING_DATA, or wyrmling in XDG_CACHE_HOME or ~/.cache]",
    )
    option("--json", action="store_true", help="print JSON")
