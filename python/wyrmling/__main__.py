"""The command line: train a recommender on a file, and ask it.

Results go to the standard output; an error is one line on the standard error, with
exit code 2 for a command that makes no sense, 1 for one that failed and 130 when it
was interrupted.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import wyrmling as wy

from ._core import MOST_WORKERS
from .command import serve, wheel
from .data import Id, Interactions
from .datasets import make_interactions, read_described
from .evaluation import evaluate
from .recommend import BPR, LearningCurve, Popularity, Recommender

DELIMITERS = (",", ";", "|", "\t", "::")
METRICS = {
    "mrr": "MRR",
    "ndcg@10": "NDCG@10",
    "recall@10": "recall@10",
    "precision@10": "precision@10",
    "hit@10": "hit rate",
    "auc": "AUC",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit code."""
    # Ids may hold characters that the terminal's encoding lacks.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        _discard_output()
        return 1
    except Exception as error:
        message = error.args[0] if isinstance(error, KeyError) and error.args else error
        text = " ".join(str(message).split()) or type(error).__name__
        print(f"{options.prog}: error: {text}", file=sys.stderr)
        return 1
    return 0


def train(options: argparse.Namespace) -> None:
    """Trains on a file and writes the model."""
    _check_destination(options.out, options.file)
    say = _nothing if options.quiet else _aside
    data, columns = _read(options)
    say(f"data        {_describe(data)}")
    say(f"columns     {_printable(columns)}")
    test = None
    if options.holdout is not None:
        data, test = data.split(options.holdout, options.seed)
        say(f"held out    {len(test):,} interactions, to measure; the model learns the others")
    recommender = BPR(
        factors=options.factors,
        lr=options.lr,
        l2=options.l2,
        epochs=options.epochs,
        batch_size=options.batch_size,
        num_threads=options.threads,
        random_state=options.seed,
    )
    model = _fit(recommender, data, say)
    if test is not None:
        _show_quality(model, data, test, _aside)
    model.save(options.out)
    say(f"\nsaved       {options.out}, {os.path.getsize(options.out):,} bytes")


def recommend(options: argparse.Namespace) -> None:
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
            print(("\n" if number else "") + f"user {_printable(str(user))}\n")
        if best:
            _show_recommendations(best)
        else:
            print(f"user {_printable(str(user))} has seen every item")


def demo(options: argparse.Namespace) -> None:
    """Trains on made-up data, measures the result and recommends something."""
    print("Bayesian personalised ranking, its loss written in Python, on made-up listening data\n")
    data = make_interactions(seed=options.seed)
    data, test = data.split(0.2, options.seed)
    _say(f"data        {_describe(data)}; {len(test):,} more held out")
    recommender = BPR(epochs=options.epochs, num_threads=options.threads, random_state=options.seed)
    model = _fit(recommender, data, _say)
    _show_quality(model, data, test, _say)

    for user in range(3):
        user_id = data.user_ids[user]
        heard = [data.item_ids[item] for item in data.items[data.users == user]]
        genres = Counter(str(item).split("-")[0] for item in heard).most_common(3)
        favourites = ", ".join(f"{count} x {genre}" for genre, count in genres)
        print(f"\n{user_id} heard {len(heard)} pieces, mostly {favourites}. Recommended:\n")
        _show_recommendations(model.recommend(user_id, 5))


def _read(options: argparse.Namespace) -> tuple[Interactions, str]:
    """The interactions of a file, those of a low rating left out if that is asked for.

    Also says which columns they were read from.
    """
    least = options.min_rating
    if least is None and options.rating_column is not None:
        raise ValueError("--rating-column is of no use without --min-rating")
    data, columns = read_described(
        options.file,
        options.delimiter,
        options.header,
        least is not None,
        options.user_column,
        options.item_column,
        options.rating_column,
    )
    if least is None:
        return data, columns
    if data.values is None:
        raise ValueError(f"{options.file} has no ratings, which --min-rating asks for")
    keep = data.values >= least
    if not keep.any():
        raise ValueError(
            f"of {_count(len(data), 'interaction')} in {options.file} none is rated "
            f"{least:g} or more, the highest {data.values.max():g}"
        )
    return data.take(keep), columns


def _fit(recommender: BPR, data: Interactions, say: Callable[[str], None]) -> BPR:
    threads = "all cores"
    if recommender.num_threads:
        threads = _count(recommender.num_threads, "thread")
    say(
        f"training    {recommender.factors} factors, {_count(recommender.epochs, 'epoch')}, "
        f"batches of {recommender.batch_size}, {threads}\n"
    )
    say("epoch  loss of a sample  samples a second")

    def report(_: int, history: LearningCurve) -> None:
        loss = history.loss[-1]
        speed = history.samples / history.seconds[-1]
        say(f"{len(history):5}  {loss:16.4f}  {speed:16,.0f}")

    start = time.perf_counter()
    recommender.fit(data, callback=report)
    say(f"\ntrained     in {time.perf_counter() - start:.2f} s")
    return recommender


def _show_quality(
    model: Recommender, data: Interactions, test: Interactions, say: Callable[[str], None]
) -> None:
    popular = Popularity().fit(data)
    measured = {"BPR": evaluate(model, test, METRICS, resamples=1)}
    measured["popularity"] = evaluate(popular, test, METRICS, resamples=1)
    users = _count(measured["BPR"].n_users, "user")
    say(f"\nranking of held-out items, mean over {users}\n")
    say(f"{'':10}  " + "  ".join(f"{head:>12}" for head in METRICS.values()))
    for name, metrics in measured.items():
        say(f"{name:10}  " + "  ".join(f"{metrics[metric]:12.4f}" for metric in METRICS))


def _show_recommendations(best: list[tuple[Id, float]]) -> None:
    ids = [_printable(str(item)) for item, _ in best]
    width = max(len("item"), *map(len, ids))
    print(f"{'item':{width}}  {'score':>8}")
    for id_, (_, score) in zip(ids, best, strict=True):
        print(f"{id_:{width}}  {score:8.3f}")


def _describe(data: Interactions) -> str:
    return (
        f"{_count(len(data), 'interaction')} of {_count(data.n_users, 'user')} "
        f"with {_count(data.n_items, 'item')}"
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _say(line: str) -> None:
    # Flush at once, because the next line may take minutes.
    print(line, flush=True)


def _aside(line: str) -> None:
    """Says something about work that goes on when nobody listens any more."""
    try:
        _say(line)
    except BrokenPipeError:
        _discard_output()


def _nothing(line: str) -> None:
    """Says nothing."""


def _discard_output() -> None:
    # The reader closed the pipe. Redirect what is still buffered, so that the flush at exit works.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _printable(text: str) -> str:
    """Text that cannot move the cursor or break the line."""
    return text if text.isprintable() else repr(text)[1:-1]


def _check_destination(path: str, source: str) -> None:
    """Refuses, before any work is done, the data, and a place where no model can be written."""
    if not path:
        raise FileNotFoundError("--out is empty, expected the name of a file")
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(f"{path}: too many symbolic links")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no directory {target.parent}")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"{path}: may not write to directory {target.parent}")
    if target.exists() and not target.is_file():
        raise OSError(f"{path} exists and is not a regular file")
    if target.exists() and Path(source).exists() and target.samefile(source):
        raise FileExistsError(f"--out is {path}, the file to train on: it would be lost")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {' '.join(message.split())}\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m wyrmling",
        description="Train a recommender on a file of interactions, and ask it.",
    )
    parser.add_argument("--version", action="version", version=f"wyrmling {wy.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], None]) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
        added.set_defaults(run=run, prog=added.prog)
        return added

    defaults = BPR()

    def training_options(added: argparse.ArgumentParser) -> None:
        option = added.add_argument
        epochs = defaults.epochs
        option("--epochs", type=_natural, default=epochs, help="passes over the data [%(default)s]")
        option("--threads", type=_workers, default=0, help="workers; 0 takes all cores [0]")
        option("--seed", type=_whole, default=0, help="of all random choices [0]")

    added = command("train", train)
    option = added.add_argument
    option(
        "file",
        metavar="FILE",
        help="lines of user and item, separated by , ; | tab or ::; each counts as liked, "
        "whatever stands in a third column, unless --min-rating is given",
    )
    option(
        "--min-rating",
        type=_finite,
        metavar="X",
        help="learn only from lines whose rating, the third column, is X or more",
    )
    for what in ("user", "item", "rating"):
        option(
            f"--{what}-column",
            type=_column,
            metavar="COLUMN",
            help=f"the column of the {what}: its name in the header, or its number from 1 "
            "(in read_interactions, from 0)",
        )
    option(
        "--delimiter",
        type=_delimiter,
        metavar="TEXT",
        help="what separates columns: , ; | :: or tab [found out]",
    )
    option("--out", default="model.safetensors", help="the model to write [%(default)s]")
    option("--factors", type=_natural, default=defaults.factors, help="vector length [%(default)s]")
    training_options(added)
    option("--lr", type=_positive, default=defaults.lr, help="step length [%(default)s]")
    option("--l2", type=_number, default=defaults.l2, help="regularisation [%(default)s]")
    batch_size = defaults.batch_size
    option("--batch-size", type=_natural, default=batch_size, help="samples a step [%(default)s]")
    option("--holdout", type=_share, metavar="SHARE", help="hold out a share, to measure ranking")
    option(
        "--header",
        action=argparse.BooleanOptionalAction,
        help="whether the first line names the columns [found out]",
    )
    option(
        "--quiet",
        action="store_true",
        help="no progress: print the quality of --holdout and errors",
    )

    added = command("recommend", recommend)
    option = added.add_argument
    option("model", metavar="MODEL", help="what train has written")
    option(
        "--user",
        required=True,
        action="append",
        metavar="ID",
        help="the user, as the training file calls it; may be given several times",
    )
    option("-k", type=_natural, default=10, help="how many items [%(default)s]")
    option("--include-seen", action="store_true", help="also what the user had in training")
    option("--json", action="store_true", help="print JSON, a line for each user")

    training_options(command("demo", demo))
    serve.add_options(command("serve", serve.run))
    wheel.add_options(command("wheel", wheel.run))
    return parser


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) < 2**63):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def _workers(text: str) -> int:
    if _whole(text) > MOST_WORKERS:
        raise argparse.ArgumentTypeError(f"{text!r} is more than {MOST_WORKERS}")
    return int(text)


def _natural(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 0 < int(text) < 2**63):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def _column(text: str) -> str | int:
    return _natural(text) - 1 if text.isdecimal() else text


def _delimiter(text: str) -> str:
    found = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if found not in DELIMITERS:
        raise argparse.ArgumentTypeError(f"{text!r} is none of , ; | :: and tab")
    return found


def _finite(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return number


def _number(text: str) -> float:
    if (number := _finite(text)) < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0")
    return number


def _positive(text: str) -> float:
    if (number := _number(text)) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def _share(text: str) -> float:
    if not 0 < (number := _number(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0 and 1")
    return number


if __name__ == "__main__":
    sys.exit(main())
