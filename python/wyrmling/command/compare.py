"""``wyrmling compare``: several models on one file, popularity among them."""

from __future__ import annotations

import argparse
import json

from ..evaluation import compare
from . import files, types
from .models import MODELS, named
from .text import describe, say, watched
from .train import add_run_options

__all__ = ["add_options", "run"]


def run(options: argparse.Namespace) -> None:
    """Trains models with their defaults on a part of a file and measures them on the rest."""
    data, _ = files.read(options, options.models.values())
    train, test = data.split(options.holdout, options.seed)
    models = {
        name: kind(num_threads=options.threads, random_state=options.seed)
        for name, kind in options.models.items()
    }
    if not options.json:
        say(f"data        {describe(train)}; {len(test):,} more held out\n")
    metrics = options.metric or ("ndcg@10", "recall@10", "mrr")
    found = compare(models, train, test, metrics, progress=watched())
    if options.json:
        about = {name: dict(metrics) for name, metrics in found.items()}
        print(json.dumps(about, allow_nan=False))
    else:
        print(found)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    files.add_options(parser)
    option = parser.add_argument
    option(
        "--models",
        type=named,
        default="bpr,warp,als,ease",
        metavar="NAMES",
        help=f"of {', '.join(MODELS)}, with commas between them [%(default)s]",
    )
    option("--holdout", type=types.share, default=0.2, metavar="SHARE", help="to measure on [0.2]")
    option(
        "--metric",
        action="append",
        metavar="NAME",
        help="such as ndcg@10 or recall@20; may be given several times, the first orders the table",
    )
    add_run_options(parser)
    option("--json", action="store_true", help="print JSON")
