"""``wyrmling train``: a model of a file of interactions."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable

from ..data import Interactions
from ..evaluation import Evaluation
from ..progress import Steps
from ..recommend import LearningCurve, Recommender
from ..recommend.sequence import SequenceModel
from . import files, types
from .models import add_options as add_model_options
from .models import model_of
from .quality import measured, show_quality
from .text import aside, count, describe, nothing, printable, watched

__all__ = ["add_options", "add_run_options", "fit", "run"]


def run(options: argparse.Namespace) -> None:
    """Trains on a file and writes the model."""
    files.check_destination(options.out, options.file)
    say = nothing if options.quiet or options.json else aside
    model = model_of(options)
    data, columns = files.read(options, [type(model)])
    say(f"data        {describe(data)}")
    say(f"columns     {printable(columns)}")
    if isinstance(model, SequenceModel) and data.times is None:
        say("order       that of the lines, since --time-column is not given")
    quality: dict[str, Evaluation] = {}
    if options.holdout is not None:
        train, test = data.split(options.holdout, options.seed)
        say(f"held out    {count(len(test), 'interaction')}, to measure a model of the others")
        quality = measured(fit(model, train, say), train, test)
        show_quality(quality, nothing if options.json else aside)
        say("\nnow a model of everything")
    fit(model, data, say)
    model.save(options.out)
    size = os.path.getsize(options.out)
    say(f"\nsaved       {options.out}, {size:,} bytes")
    if options.json:
        about = {"model": options.model, "interactions": len(data), "users": data.n_users}
        about |= {"items": data.n_items, "saved": options.out, "bytes": size}
        held_out = {name: dict(metrics) for name, metrics in quality.items()}
        print(json.dumps({**about, "held_out": held_out}, allow_nan=False))


def fit(model: Recommender, data: Interactions, say: Callable[[str], None]) -> Recommender:
    """Trains a model, and says how it goes."""
    threads = "all cores"
    if model.num_threads:
        threads = count(model.num_threads, "thread")
    params = model.get_params()
    parts = [type(model).__name__]
    if "factors" in params:
        parts.append(f"{params['factors']} factors")
    if "epochs" in params:
        parts.append(count(params["epochs"], "epoch"))
    if "batch_size" in params:
        parts.append(f"batches of {params['batch_size']}")
    say(f"training    {', '.join([*parts, threads])}\n")
    if "epochs" in params:
        say("epoch  loss of a sample  samples a second")

    epochs = params.get("epochs", 0)
    # Where there is no bar, the lines are enough.
    shows = epochs > 0 and say is not nothing and watched()
    start = time.perf_counter()
    with Steps(epochs, "epoch", shows=shows, lines=False) as bar:

        def report(_: int, history: LearningCurve) -> None:
            loss = history.loss[-1]
            speed = history.samples / history.seconds[-1]
            with bar.hidden():
                say(f"{len(history):5}  {loss:16.4f}  {speed:16,.0f}")
            bar.advance()

        model.fit(data, callback=report)
    say(f"\ntrained     in {time.perf_counter() - start:.2f} s")
    return model


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Adds how many threads there are, and the seed."""
    option = parser.add_argument
    option(
        "--threads",
        "--num-threads",
        type=types.workers,
        default=0,
        help="workers; 0 takes all cores [0]",
    )
    option(
        "--seed", "--random-state", type=types.whole, default=0, help="of all random choices [0]"
    )


def add_options(parser: argparse.ArgumentParser, model: str) -> None:
    """Adds the options of the command, with the hyperparameters of a model."""
    files.add_options(parser)
    option = parser.add_argument
    option("--out", default="model.safetensors", help="the model to write [%(default)s]")
    add_run_options(parser)
    option(
        "--holdout",
        type=types.share,
        metavar="SHARE",
        help="first hold out a share, to measure ranking; then train on everything",
    )
    option(
        "--quiet",
        action="store_true",
        help="no progress: print the quality of --holdout and errors",
    )
    option("--json", action="store_true", help="print JSON, and no progress")
    add_model_options(parser, model)
