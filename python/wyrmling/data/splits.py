"""Which interactions are held out, by number: at random, by user, by time, or each user's last.

What is held out says how good a model is on what it has not seen. A split at random asks for what
users also had; one by time asks for what they had next, and is what a model meets in use; one by
user asks how it serves users who were not there.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from ..arguments import check_choice, check_integer, check_number
from ..array_types import IndexArray

__all__ = ["By", "generator", "held_out", "last_of_each"]

By = Literal["random", "user", "time"]
Mask = npt.NDArray[np.bool_]


def held_out(
    by: By, test: float, seed: int, users: IndexArray, times: npt.NDArray[Any] | None
) -> Mask:
    """Which interactions a split holds out: bool of shape (s,).

    Args:
        by: ``"random"``: a share of the interactions; ``"user"``: all of a share of the users who
            have any; ``"time"``: the latest share, of equal times the last rows.
        test: the share, between 0 and 1.
        seed: of the random choice.
        users: whose each interaction is, shape (s,).
        times: when each was, or None.

    Raises:
        TypeError: a share that is no number, or a seed that is no integer.
        ValueError: a share that leaves either part empty, no times to split by, another word, or a
            negative seed.
    """
    test = check_number("test", test)
    check_choice("by", by, get_args(By))
    count, what = len(users), "interactions"
    if by == "user":
        who, of = np.unique(users, return_inverse=True)
        count, what = len(who), "users"
    number = round(test * count) if 0 < test < 1 else 0
    if not 0 < number < count:
        raise ValueError(
            f"test is {test}, which holds out {number} of {count} {what}, "
            "expected a share that leaves some on both sides"
        )
    mask = np.zeros(count, bool)
    if by == "time":
        mask[np.argsort(_needed(times), kind="stable")[count - number :]] = True
        return mask
    mask[generator(seed).permutation(count)[:number]] = True
    return mask[of] if by == "user" else mask


def last_of_each(count: int, users: IndexArray, times: npt.NDArray[Any] | None) -> Mask:
    """The last ``count`` interactions of each user who has more: bool of shape (s,).

    The last are those with the latest times, of equal times the last rows; where there are no times
    the last rows.

    Raises TypeError for a count that is no integer, ValueError for one below 1.
    """
    count = check_integer("count", count, 1)
    order = np.arange(len(users)) if times is None else np.argsort(times, kind="stable")
    order = order[np.argsort(users[order], kind="stable")]
    grouped = users[order]
    _, starts, sizes = np.unique(grouped, return_index=True, return_counts=True)
    # How many of the same user follow each.
    after = np.repeat(starts + sizes, sizes) - 1 - np.arange(len(users))
    mask = np.zeros(len(users), bool)
    mask[order] = (after < count) & np.repeat(sizes > count, sizes)
    return mask


def _needed(times: npt.NDArray[Any] | None) -> npt.NDArray[Any]:
    if times is None:
        raise ValueError("by is 'time', and the interactions have no times")
    return times


def generator(seed: int) -> np.random.Generator:
    """A source of random numbers, which starts the same for equal seeds."""
    return np.random.default_rng(check_integer("seed", seed, 0))
