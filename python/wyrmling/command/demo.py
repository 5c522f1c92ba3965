"""``wyrmling demo``: the whole way, on data that is made up."""

from __future__ import annotations

import argparse
from collections import Counter

from ..datasets import make_interactions
from ..recommend import BPR
from . import types
from .quality import measured, show_quality
from .text import describe, say, show_recommendations
from .train import add_run_options, fit

__all__ = ["add_options", "run"]


def run(options: argparse.Namespace) -> None:
    """Trains on made-up data, measures the result and recommends something."""
    print("Bayesian personalised ranking, its loss written in Python, on made-up listening data\n")
    data = make_interactions(seed=options.seed)
    data, test = data.split(0.2, options.seed)
    say(f"data        {describe(data)}; {len(test):,} more held out")
    recommender = BPR(epochs=options.epochs, num_threads=options.threads, random_state=options.seed)
    model = fit(recommender, data, say)
    show_quality(measured(model, data, test), say)

    for user in range(3):
        user_id = data.user_ids[user]
        heard = [data.item_ids[item] for item in data.items[data.users == user]]
        genres = Counter(str(item).split("-")[0] for item in heard).most_common(3)
        favourites = ", ".join(f"{count} x {genre}" for genre, count in genres)
        print(f"\n{user_id} heard {len(heard)} pieces, mostly {favourites}. Recommended:\n")
        show_recommendations(model.recommend(user_id, 5))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    epochs = BPR().epochs
    parser.add_argument(
        "--epochs", type=types.natural, default=epochs, help="passes over the data [%(default)s]"
    )
    add_run_options(parser)
