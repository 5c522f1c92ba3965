"""The command line: train recommenders on files, ask, measure, compare and ship them.

Results go to the standard output; an error is one line on the standard error, with
exit code 2 for a command that makes no sense, 1 for one that failed and 130 when it
was interrupted. ``wyrmling.command`` has a file for each command.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import wyrmling as wy

from .command import (
    compare,
    datasets,
    demo,
    evaluate,
    recommend,
    search,
    serve,
    similar,
    train,
    wheel,
)
from .command.models import chosen
from .command.text import complain, discard_output


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit code."""
    # Ids may hold characters that the terminal's encoding lacks.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    options = _parser(chosen(arguments)).parse_args(arguments)

    def warn(message: Warning | str, *_: Any, **__: Any) -> None:
        complain(f"{options.prog}: warning: {' '.join(str(message).split())}")

    try:
        with warnings.catch_warnings():
            warnings.showwarning = warn  # without the line of code that warns
            options.run(options)
        print(end="", flush=True)  # where there is an output
    except KeyboardInterrupt:
        complain("interrupted")
        return 130
    except BrokenPipeError:
        discard_output()
        return 1
    except Exception as error:
        message = error.args[0] if isinstance(error, KeyError) and error.args else error
        text = " ".join(str(message).split()) or type(error).__name__
        complain(f"{options.prog}: error: {text}")
        return 1
    return 0


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {' '.join(message.split())}\n")


def _parser(model: str) -> argparse.ArgumentParser:
    parser = _Parser(
        prog="wyrmling" if Path(sys.argv[0]).stem == "wyrmling" else "python -m wyrmling",
        description="Train recommenders on files of interactions, ask, measure and ship them.",
    )
    parser.add_argument("--version", action="version", version=f"wyrmling {wy.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[argparse.Namespace], None]) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=run.__doc__, description=run.__doc__)
        added.set_defaults(run=run, prog=added.prog)
        return added

    train.add_options(command("train", train.run), model)
    evaluate.add_options(command("evaluate", evaluate.run))
    recommend.add_options(command("recommend", recommend.run))
    similar.add_options(command("similar", similar.run))
    compare.add_options(command("compare", compare.run))
    search.add_options(command("search", search.run), model)
    datasets.add_options(command("datasets", datasets.run))
    demo.add_options(command("demo", demo.run))
    serve.add_options(command("serve", serve.run))
    wheel.add_options(command("wheel", wheel.run))
    return parser


if __name__ == "__main__":
    sys.exit(main())
