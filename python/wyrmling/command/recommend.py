"""``wyrmling recommend``: the best items for users of a model."""

from __future__ import annotations

import argparse
from typing import Any

from ..recommend import Recommender
from ..recommend.arguments import folded
from . import types
from .text import show_answers

__all__ = ["add_options", "run"]


def run(options: argparse.Namespace) -> None:
    """Prints the best items for each user that is named, or for somebody new, of a model."""
    model = Recommender.load(options.model)
    who: list[Any]
    kind, who = "user", [model.user_ids.spelled(text) for text in options.user or ()]
    asked = who
    if options.value and not options.history:
        raise ValueError("--value is of no use without --history")
    if options.history:
        history = [model.item_ids.spelled(text) for text in options.history]
        kind, who, asked = "history", [history], [folded(model, history, options.value)]
    answers = model.recommend(asked, options.k, exclude_seen=not options.include_seen)
    show_answers(answers, kind, who, "recommendations", "has seen every item", options.json)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    option = parser.add_argument
    option("model", metavar="MODEL", help="what train has written")
    whom = parser.add_mutually_exclusive_group(required=True)
    whom.add_argument(
        "--user",
        action="append",
        metavar="ID",
        help="the user, as the training file calls it; may be given several times",
    )
    whom.add_argument(
        "--history",
        action="append",
        metavar="ID",
        help="an item that somebody had who is not in the training file; may be given several "
        "times, in the order in which they had them",
    )
    option(
        "--value",
        action="append",
        type=types.finite,
        metavar="X",
        help="how they rated an item of --history, or how much of it they had, for models that "
        "learn from that: one for each, in the same order",
    )
    option("-k", "-n", type=types.natural, default=10, help="how many items [%(default)s]")
    option("--include-seen", action="store_true", help="also what the user had in training")
    option("--json", action="store_true", help="print JSON, a line for each user")
