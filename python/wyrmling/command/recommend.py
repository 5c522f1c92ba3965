"""``wyrmling recommend``: the best items for users of a model."""

from __future__ import annotations

import argparse
import json

from ..recommend import Recommender
from . import types
from .text import printable, show_recommendations

__all__ = ["add_options", "run"]


def run(options: argparse.Namespace) -> None:
    """Prints the best items for each user that is named, of a model."""
    model = Recommender.load(options.model)
    users = [model.user_ids.spelled(text) for text in options.user]
    answers = model.recommend(users, options.k, exclude_seen=not options.include_seen)
    for number, user in enumerate(users):
        best = answers.row(number)
        if options.json:
            items = [{"item": item, "score": score} for item, score in best]
            print(json.dumps({"user": user, "recommendations": items}, allow_nan=False))
            continue
        if len(users) > 1 and best:
            print(("\n" if number else "") + f"user {printable(str(user))}\n")
        if best:
            show_recommendations(best)
        else:
            print(f"user {printable(str(user))} has seen every item")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    option = parser.add_argument
    option("model", metavar="MODEL", help="what train has written")
    option(
        "--user",
        required=True,
        action="append",
        metavar="ID",
        help="the user, as the training file calls it; may be given several times",
    )
    option("-k", "-n", type=types.natural, default=10, help="how many items [%(default)s]")
    option("--include-seen", action="store_true", help="also what the user had in training")
    option("--json", action="store_true", help="print JSON, a line for each user")
