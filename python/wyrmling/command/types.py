"""What the texts of options stand for: numbers within bounds, columns, separators."""

from __future__ import annotations

import argparse
import math

from .._core import MOST_WORKERS

__all__ = ["column", "delimiter", "finite", "natural", "share", "whole", "workers"]

DELIMITERS = (",", ";", "|", "\t", "::")


def whole(text: str, least: int = 0) -> int:
    """A whole number from 0, or from another one."""
    most = 2**63 - 1
    if not (text.isascii() and text.isdecimal() and least <= int(text) <= most):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} to {most}")
    return int(text)


def workers(text: str) -> int:
    """A number of threads."""
    if whole(text) > MOST_WORKERS:
        raise argparse.ArgumentTypeError(f"{text!r} is more than {MOST_WORKERS}")
    return int(text)


def natural(text: str) -> int:
    """A whole number from 1."""
    return whole(text, 1)


def column(text: str) -> str | int:
    """A column, by its name or by its number from 1."""
    return natural(text) - 1 if text.isdecimal() else text


def delimiter(text: str) -> str:
    """What separates columns."""
    found = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if found not in DELIMITERS:
        raise argparse.ArgumentTypeError(f"{text!r} is none of , ; | :: and tab")
    return found


def finite(text: str) -> float:
    """A finite number."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a finite number")
    return number


def share(text: str) -> float:
    """A number between 0 and 1."""
    if not 0 < (found := finite(text)) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not between 0 and 1")
    return found
