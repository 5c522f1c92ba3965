"""``wyrmling evaluate``: how well a model ranks the interactions of a file."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace

from ..array_types import IndexArray
from ..data import Ids
from ..evaluation import evaluate
from ..evaluation.metrics import ERRORS
from ..recommend import ExplicitMF, Recommender
from . import files
from .quality import METRICS
from .text import count, watched

__all__ = ["add_options", "run"]


def run(options: argparse.Namespace) -> None:
    """Measures a model on a file of interactions that it was not trained on."""
    model = Recommender.load(options.model)
    metrics = options.metric or list(METRICS)
    data, _ = files.read(options, [ExplicitMF] if {*metrics} & {*ERRORS} else [])
    # A file of text has no integers.
    users, user_ids = _spelled(model.user_ids, data.user_ids)
    items, item_ids = _spelled(model.item_ids, data.item_ids)
    data = replace(
        data,
        users=users[data.users],
        items=items[data.items],
        user_ids=user_ids,
        item_ids=item_ids,
    )
    found = evaluate(
        model, data, metrics, exclude_seen=not options.include_seen, progress=watched()
    )
    if options.json:
        intervals = {name: list(found.interval[name]) for name in metrics if name in found.interval}
        left_out = vars(found.skipped)
        about = {"users": found.n_users, **found, "intervals": intervals, "left_out": left_out}
        print(json.dumps(about, allow_nan=False))
        return
    print(f"mean over {count(found.n_users, 'user')}, and its 95 % interval\n")
    width = max(map(len, metrics))
    for name in metrics:
        low, high = found.interval.get(name, (None, None))
        between = "" if low is None else f"  {low:.4f} to {high:.4f}"
        print(f"{name:{width}}  {found[name]:.4f}{between}")
    if found.skipped:
        print(f"\nlines left out: {found.skipped}")


def _spelled(known: Ids, written: Ids) -> tuple[IndexArray, Ids]:
    """Ids as a model knows them, and the number of each as it is written: of 7, as 7 or as 07."""
    return Ids.of([known.spelled(id) if isinstance(id, str) else id for id in written])


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    option = parser.add_argument
    option("model", metavar="MODEL", help="what train has written")
    files.add_options(parser)
    option(
        "--metric",
        action="append",
        metavar="NAME",
        help="such as ndcg@10, recall@20, mrr or coverage, or, of ratings, rmse and mae; may be "
        "given several times",
    )
    option("--include-seen", action="store_true", help="rank also what users had in training")
    option("--json", action="store_true", help="print JSON")
