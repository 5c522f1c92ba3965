"""``wyrmling search``: hyperparameters of a model that suit a file of interactions."""

from __future__ import annotations

import argparse
import json
import math
import os
from typing import Any

from ..evaluation import Search, Trial, evaluate, popularity, search
from ..evaluation.metrics import ERRORS
from . import files, types
from .models import add_options as add_model_options
from .models import model_of
from .spaces import around, varied
from .text import aside, count, describe, nothing, watched
from .train import add_run_options

__all__ = ["add_options", "run"]


def run(options: argparse.Namespace) -> None:
    """Tries hyperparameters of a model on a part of a file, and prints the best."""
    if options.save is not None:
        files.check_destination(options.save, options.file, "--save")
    model = model_of(options)
    data, _ = files.read(options, [type(model)])
    space = dict(options.vary) or around(model, data)
    if 0 < len(options.vary) != len(space):
        raise ValueError("--vary has a hyperparameter twice: NAME=A,B,C is for several values")
    if not space:
        raise ValueError(f"{options.model} has no hyperparameters to search; see --vary")
    say = nothing if options.json else aside
    say(f"data        {describe(data)}; a share of {options.validation:g} to choose by")
    say(f"trials      {count(options.trials, 'trial')} at most, of {', '.join(space)}\n")
    found = search(
        model,
        space,
        data,
        trials=options.trials,
        first=None if options.vary else {name: getattr(model, name) for name in space},
        method=options.method,
        validation=options.validation,
        metric=options.metric,
        refit=options.save is not None,
        random_state=options.seed,
        progress=watched(),
    )
    train, held_out = data.split(options.validation, options.seed)
    baseline = None
    if found.metric not in ERRORS:
        baseline = evaluate(popularity(train), held_out, found.metric, resamples=1)[found.metric]
    if options.save is not None:
        found.model.save(options.save)
    if options.json:
        print(json.dumps(_report(found, baseline, options.save), allow_nan=False))
        return
    print(found)
    beside = "" if baseline is None else f"; popularity {baseline:.4f}"
    print(f"\nbest        {found.metric} {found.best.value:.4f}{beside}")
    if options.save is not None:
        print(f"saved       {options.save}, {os.path.getsize(options.save):,} bytes")
    print(f"options     {_options(found)}")


def add_options(parser: argparse.ArgumentParser, model: str) -> None:
    """Adds the options of the command, with the hyperparameters of a model."""
    files.add_options(parser)
    option = parser.add_argument
    option(
        "--vary",
        type=lambda text: varied(model, text),
        action="append",
        default=[],
        metavar="NAME=VALUES",
        help="what a hyperparameter may be: factors=16,32,64 for a choice, lr=0.01..0.2 for what "
        "is between, with --vary for each [those that matter most, around their defaults, but "
        "for those that are given other values as options]",
    )
    option("--trials", type=types.natural, default=20, help="how many [%(default)s]")
    option(
        "--method",
        choices=("random", "halving"),
        default="random",
        help="halving trains all for a few epochs, and the better ones for more [%(default)s]",
    )
    option(
        "--validation",
        type=types.share,
        default=0.2,
        metavar="SHARE",
        help="of the file, held out to choose by [%(default)s]",
    )
    option("--metric", default="ndcg@10", metavar="NAME", help="to choose by [%(default)s]")
    option("--save", metavar="MODEL", help="train the best on the whole file, and write it here")
    option("--json", action="store_true", help="print JSON")
    add_run_options(parser)
    add_model_options(parser, model)


def _report(found: Search, baseline: float | None, saved: str | None) -> dict[str, Any]:
    return {
        "metric": found.metric,
        "best": _trial(found.best),
        "popularity": baseline,
        "trials": [_trial(trial) for trial in found],
        "saved": saved,
    }


def _trial(trial: Trial) -> dict[str, Any]:
    return {
        "parameters": dict(trial.parameters),
        "value": None if math.isnan(trial.value) else trial.value,
        "epochs": trial.epochs,
        "seconds": trial.seconds,
        "error": trial.error,
    }


def _options(found: Search) -> str:
    """The hyperparameters of the best trial as options of ``train``."""
    return " ".join(
        f"--{name.replace('_', '-')} {str(value).lower() if value is None else value}"
        for name, value in found.parameters.items()
    )
