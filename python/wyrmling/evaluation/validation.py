"""Data to validate on: given as interactions, or as a share of those to learn from."""

from __future__ import annotations

import numbers
from typing import Any

from ..arguments import NO_NUMBERS, check_number
from ..data import Interactions

__all__ = ["validation_split"]


def validation_split(
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
    if isinstance(given, NO_NUMBERS) or not isinstance(given, numbers.Real):
        raise TypeError(f"{name} is {given!r}, expected Interactions or a share")
    share = check_number(name, given)
    count = round(share * len(data)) if 0 < share < 1 else 0
    if not 0 < count < len(data):
        raise ValueError(
            f"{name} is {given}, expected Interactions or a share between 0 and 1 that leaves some "
            f"of {len(data)} interactions on both sides"
        )
    return data.split(share, seed=seed)
