"""Methods of Python's floats that a variable without axes has, as the number that it stands for.

What they answer has no derivative: a truth value, a text. One whose answer would stand for the
number itself raises TypeError where a gradient would be lost.
"""

from __future__ import annotations

from ._core import Variable
from .arrays import predicates


def _number(name: str, self: Variable) -> float:
    """What a variable without axes holds. Raises TypeError if it follows an input."""
    found: float = predicates.value_now(name, self).item()
    return found


def is_integer(self: Variable) -> bool:
    """Whether a number is a whole one, as ``float.is_integer``."""
    return _number("is_integer", self).is_integer()


def hex(self: Variable) -> str:
    """All digits of a number in base 16, as ``float.hex``."""
    return _number("hex", self).hex()


def as_integer_ratio(self: Variable) -> tuple[int, int]:
    """Two integers whose quotient is the number, as ``float.as_integer_ratio``. Raises TypeError,
    as ``float(x)`` does, where a gradient would be lost.
    """
    return float(self).as_integer_ratio()
