"""Arguments of several functions: flags, and shares of interactions that are held out."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from ..data import Interactions

__all__ = ["check_flag", "held_out"]


def check_flag(name: str, value: object) -> bool:
    """A truth value; raises TypeError for anything else."""
    if value is not True and value is not False and not isinstance(value, np.bool_):
        raise TypeError(f"{name} is {value!r}, expected True or False")
    return bool(value)


def held_out(
    name: str, given: Any, data: Interactions, seed: int
) -> tuple[Interactions, Interactions]:
    """What is left of some data, and what is held out.

    Args:
        name: what errors call ``given``.
        given: interactions that are held out already, or the share of ``data`` to hold out.
        data: what is split.
        seed: of the random choice.

    Raises:
        TypeError: neither interactions nor a number.
        ValueError: a share that leaves either part empty.
    """
    if isinstance(given, Interactions):
        return data, given
    if isinstance(given, (bool, np.bool_)) or not isinstance(given, numbers.Real):
        raise TypeError(f"{name} is {given!r}, expected Interactions or a share")
    share = float(given)
    count = round(share * len(data)) if 0 < share < 1 else 0
    if not 0 < count < len(data):
        raise ValueError(
            f"{name} is {given}, expected Interactions or a share between 0 and 1 that leaves some "
            f"of {len(data)} interactions on both sides"
        )
    return data.split(share, seed=seed)
