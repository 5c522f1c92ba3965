"""``wyrmling similar``: the items most like others, of a model."""

from __future__ import annotations

import argparse

from ..recommend import Recommender
from . import types
from .text import show_answers

__all__ = ["add_options", "run"]


def run(options: argparse.Namespace) -> None:
    """Prints the items that are most similar to each item that is named."""
    model = Recommender.load(options.model)
    items = [model.item_ids.spelled(text) for text in options.item]
    answers = model.similar_items(items, options.k)
    show_answers(answers, "item", items, "similar", "is the only item", options.json)


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
