"""Files of interactions that commands read, and their options; files that they write."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ..data import Interactions
from ..datasets.reading import read_described
from ..recommend import ExplicitMF, ImplicitALS, Recommender
from ..tensor_files import check_writable
from . import types
from .text import count

__all__ = ["add_options", "check_destination", "read"]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the file, and what says how it is read."""
    option = parser.add_argument
    option(
        "file",
        metavar="FILE",
        help="lines of user and item, separated by , ; | tab or ::, compressed by gzip if the name "
        "ends with .gz, or a parquet file; each counts as liked, whatever stands in a third "
        "column, unless --min-rating is given; the model explicit learns the ratings there",
    )
    option(
        "--min-rating",
        type=types.finite,
        metavar="X",
        help="take only lines whose rating, the third column, is X or more; these count "
        "alike, but for the model explicit",
    )
    for what in ("user", "item", "rating", "weight", "time"):
        option(
            f"--{what}-column",
            type=types.column,
            metavar="COLUMN",
            help=f"the column of the {what}: its name in the header, or its number from 1 "
            "(in read_interactions, from 0)"
            + ("; none is used unless it is given" if what in ("weight", "time") else "")
            + (", and models of sequences take the order of the lines" if what == "time" else ""),
        )
    option(
        "--delimiter",
        type=types.delimiter,
        metavar="TEXT",
        help="what separates columns: , ; | :: or tab [as the file has it]",
    )
    option(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether the first line names the columns [as it looks]",
    )


def read(
    options: argparse.Namespace, models: Iterable[type[Recommender]] = ()
) -> tuple[Interactions, str]:
    """The interactions of a file, those of a low rating left out if that is asked for.

    They have their ratings as values only for ``models`` that learn ratings: others would take them
    for amounts. Also says which columns they were read from.
    """
    least, models = options.min_rating, tuple(models)
    rated = any(issubclass(model, ExplicitMF) for model in models)
    if rated and any(issubclass(model, ImplicitALS) for model in models):
        raise ValueError(
            "explicit learns ratings, which als would take for amounts: compare each with others"
        )
    if least is None and options.rating_column is not None and not rated:
        raise ValueError("--rating-column is of no use without --min-rating")
    asks = "the model explicit" if least is None else "--min-rating"
    try:
        data, columns = read_described(
            options.file,
            options.delimiter,
            options.header,
            rated or least is not None,
            options.user_column,
            options.item_column,
            options.rating_column,
            options.weight_column,
            options.time_column,
        )
    except ValueError as error:
        raise ValueError(_as_options(str(error), options.file, asks)) from None
    if data.values is None:
        if not rated and least is None:
            return data, columns
        raise ValueError(f"{options.file} has no ratings, which {asks} asks for")
    if least is not None:
        keep = data.values >= least
        if not keep.any():
            raise ValueError(
                f"of {count(len(data), 'interaction')} in {options.file} none is rated "
                f"{least:g} or more, the highest {data.values.max():g}"
            )
        data = data.take(keep)
    return data if rated else replace(data, values=None), columns


def _as_options(message: str, path: str, asks: str) -> str:
    """What is wrong with a file, with the numbers of columns as options have them.

    Ratings are left out without what asks for them, for which `ratings=False` stands elsewhere.
    """
    head = path if message.startswith(path) else ""
    number = re.compile(r"\bnumber (\d+) from 0\b")
    rest = number.sub(lambda at: f"number {int(at[1]) + 1}", message[len(head) :])
    return head + rest.replace("without ratings (ratings=False)", f"without {asks}")


def check_destination(path: str, source: str, option: str = "--out") -> None:
    """Refuses, before any work is done, the data, and a place where no model can be written."""
    if not path:
        raise FileNotFoundError(f"{option} is empty, expected the name of a file")
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(f"{path}: too many symbolic links")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no directory {target.parent}")
    if target.exists() and not target.is_file():
        raise OSError(f"{path} exists and is not a regular file")
    if target.exists() and Path(source).exists() and target.samefile(source):
        raise FileExistsError(f"{option} is {path}, the file that is read: it would be lost")
    check_writable(os.fspath(target.parent), option, path)
