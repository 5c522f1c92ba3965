"""What commands print: lines, counts, tables of what is recommended."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from ..data import Id, Interactions
from ..recommend import Recommendations

__all__ = [
    "aside",
    "complain",
    "count",
    "describe",
    "discard_output",
    "nothing",
    "printable",
    "say",
    "show_answers",
    "show_recommendations",
    "watched",
]


def show_answers(
    answers: Recommendations, kind: str, asked: Sequence[Any], name: str, none: str, as_json: bool
) -> None:
    """Prints the items of each who was asked for, in tables or lines of JSON.

    JSON calls them by a name; a text is said of those for whom there are none.
    """
    for number, one in enumerate(asked):
        best = answers.row(number)
        if as_json:
            items = [{"item": item, "score": score} for item, score in best]
            print(json.dumps({kind: one, name: items}, allow_nan=False))
            continue
        named = f"{kind} {printable(str(one))}"
        if not best:
            print(f"{named} {none}")
            continue
        if len(asked) > 1:
            print(("\n" if number else "") + f"{named}\n")
        show_recommendations(best)


def show_recommendations(best: list[tuple[Id, float]]) -> None:
    """Prints items with their scores."""
    ids = [printable(str(item)) for item, _ in best]
    width = max(len("item"), *map(len, ids))
    print(f"{'item':{width}}  {'score':>8}")
    for id_, (_, score) in zip(ids, best, strict=True):
        print(f"{id_:{width}}  {score:8.3f}")


def describe(data: Interactions) -> str:
    """How many of what data has."""
    return (
        f"{count(len(data), 'interaction')} of {count(data.n_users, 'user')} "
        f"with {count(data.n_items, 'item')}"
    )


def count(number: int, noun: str) -> str:
    """So many of something, in words."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def say(line: str) -> None:
    """Prints a line at once."""
    # Flush at once, because the next line may take minutes.
    print(line, flush=True)


def aside(line: str) -> None:
    """Says something about work that goes on when nobody listens any more."""
    try:
        say(line)
    except BrokenPipeError:
        discard_output()


def watched() -> bool:
    """Whether somebody looks at how a command goes: the standard error is a terminal.

    Python has None for a stream that was closed before it began.
    """
    return sys.stderr is not None and sys.stderr.isatty()


def complain(line: str) -> None:
    """Prints a line to the standard error, where somebody reads it.

    Where there is none, print would take the output; and what a command does goes on.
    """
    if sys.stderr is not None:
        with suppress(OSError):
            print(line, file=sys.stderr, flush=True)


def nothing(line: str) -> None:
    """Says nothing."""


def discard_output() -> None:
    """Lets what is printed from here on go nowhere."""
    # The reader closed the pipe. Redirect what is still buffered, so that the flush at exit works.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def printable(text: str) -> str:
    """Text that cannot move the cursor or break the line."""
    return text if text.isprintable() else repr(text)[1:-1]
