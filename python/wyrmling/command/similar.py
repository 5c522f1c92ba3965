"""``wyrmling similar``: the items most like others, of a model."""

from __future__ import annotations

import argparse
import json

from ..recommend import Recommender
from . import types
from .text import printable, show_recommendations

__all__ = ["add_options", "run"]


def run(options: argparse.Namespace) -> None:
    """Prints the items that are most similar to each item that is named."""
    model = Recommender.load(options.model)
    items = [model.item_ids.spelled(text) for text in options.item]
    answers = model.similar_items(items, options.k)
    for number, item in enumerate(items):
        nearest = answers.row(number)
        if options.json:
            found = [{"item": other, "score": score} for other, score in nearest]
            print(json.dumps({"item": item, "similar": found}, allow_nan=False))
            continue
        if len(items) > 1:
            print(("\n" if number else "") + f"item {printable(str(item))}\n")
        show_recommendations(nearest)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    option = parser.add_argument
    option("model", metavar="MODEL", help="what train has written")
    option(
        "--item",
        required=True,
        action="append",
        metavar="ID",
        help="the item, as the training file calls it; may be given several times",
    )
    option("-k", "-n", type=types.natural, default=10, help="how many items [%(default)s]")
    option("--json", action="store_true", help="print JSON, a line for each item")
