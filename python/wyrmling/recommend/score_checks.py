"""Scores that are NaN or infinite: one error for all methods of a model.

Vectors may be so large that their products overflow float32, and the sum of two infinities is NaN,
which has no rank. The parts of an infinite score (``explain``) would not add up to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array_types import Float32Array, IndexArray
from .fitted import NewUser
from .scoring import shifted, top

__all__ = ["check_finite", "numbers_only"]

_WHY = "the factors hold NaN or are so large that their product overflows"


def numbers_only(
    scores: Float32Array, model: Any, users: IndexArray, items: IndexArray
) -> Float32Array:
    """The scores of pairs of a user and an item; raises FloatingPointError if one is NaN."""
    wrong = np.flatnonzero(np.isnan(scores))
    if len(wrong):
        (user,) = model.user_ids.take(users[wrong[:1]]).tolist()
        (item,) = model.item_ids.take(items[wrong[:1]]).tolist()
        raise FloatingPointError(
            f"the score of user {user!r} and item {item!r} is not a number: {_WHY}"
        )
    return scores


def check_finite(model: Any, user: int | NewUser, item: int) -> None:
    """Raises FloatingPointError if the score of an item is infinite or NaN."""
    new = isinstance(user, NewUser)
    users: Any = [user] if new else np.array([user], np.uint32)
    scores = model._new_scores(users) if new else model._scores(users)
    try:
        found = top(scores, None, 1, np.array([item], np.uint32))[1]
        score = shifted(found, model._offsets(users)).item()
    except FloatingPointError:
        score = np.nan
    if not np.isfinite(score):
        (id_,) = model.item_ids.take([item]).tolist()
        raise FloatingPointError(
            f"the score of item {id_!r} is {score}, so that nothing adds up to it: {_WHY}"
        )
