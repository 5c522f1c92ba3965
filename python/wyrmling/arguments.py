"""Arguments of functions: integers, flags and words, checked before anything is computed.

An error names the argument, the value and what was expected. A text is one id and never several of
a letter each.
"""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Iterable

import numpy as np

__all__ = [
    "NO_NUMBERS",
    "TEXTS",
    "check_choice",
    "check_flag",
    "check_integer",
    "check_number",
    "check_path",
    "is_one",
]

TEXTS = str, bytes, bytearray, memoryview
# Python and NumPy count these among the integers.
NO_NUMBERS = bool, np.bool_, np.timedelta64


def check_integer(
    name: str, value: object, least: int | None = None, most: int | None = None
) -> int:
    """An integer from ``least`` to ``most``; None is no bound.

    Raises:
        TypeError: no integer.
        ValueError: an integer out of the range.
    """
    # Most are ints, and one user is recommended to in some microseconds.
    if type(value) is not int and (
        isinstance(value, NO_NUMBERS) or not isinstance(value, numbers.Integral)
    ):
        raise TypeError(f"{name} is {value!r}, expected an integer{_range(least, most)}")
    integer = int(value)
    if (least is not None and integer < least) or (most is not None and integer > most):
        raise ValueError(f"{name} is {integer}, expected an integer{_range(least, most)}")
    return integer


def _range(least: int | None, most: int | None) -> str:
    if least is None:
        return "" if most is None else f" at most {most}"
    return f" at least {least}" if most is None else f" from {least} to {most}"


def check_number(name: str, value: object) -> float:
    """A real number as a float: infinite, if no float can hold it.

    Raises TypeError for what is no number; True and False are none.
    """
    if isinstance(value, NO_NUMBERS) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is {value!r}, expected a number")
    try:
        return float(value)
    except OverflowError:
        return -math.inf if value < 0 else math.inf


def check_flag(name: str, value: object) -> bool:
    """A truth value; raises TypeError for anything else."""
    if value is not True and value is not False and not isinstance(value, np.bool_):
        raise TypeError(f"{name} is {value!r}, expected True or False")
    return bool(value)


def check_choice(name: str, value: object, words: tuple[str, ...]) -> None:
    """Raises ValueError unless a value is one of some words."""
    if not isinstance(value, str) or value not in words:
        raise ValueError(f"{name} is {value!r}, expected {' or '.join(map(repr, words))}")


def check_path(name: str, value: object) -> str:
    """A path as text; raises TypeError for what is none."""
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise TypeError(f"{name} is {value!r}, expected a path")
    return os.fsdecode(value)


def is_one(given: object) -> bool:
    """Whether what is given is one id, or may be meant as one, and is no collection of ids.

    >>> [is_one(given) for given in ("ann", b"ann", 7, None, ["ann"], ())]
    [True, True, True, True, False, False]
    """
    # An int is asked for here too, since it takes longer to see that it is not iterable.
    if type(given) is int or isinstance(given, TEXTS):
        return True
    if isinstance(given, np.ndarray):
        return given.ndim == 0
    return not isinstance(given, Iterable)
