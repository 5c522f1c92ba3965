"""What a model has learnt: arrays, the ids of users and items, and who had what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..data import Ids
from .history import LearningCurve

__all__ = ["Arrays", "Fitted", "NewUser", "Stateful"]

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Fitted:
    """The state of a fitted model. It never changes: another fit makes another one.

    Args:
        user_ids: the users' ids, by number.
        item_ids: the items' ids, by number.
        seen: the items that each user had in training; None for a model that was saved without.
        arrays: what was learnt, by name.
        history: how training went; None for a model from a file.
    """

    user_ids: Ids
    item_ids: Ids
    seen: _core.Csr | None
    arrays: Arrays
    history: LearningCurve | None = None


@dataclass(frozen=True, eq=False)
class NewUser:
    """A user whom the model was not trained on, known by a history: what ``fold_in`` gives.

    Args:
        items: the numbers of the items that the user had, rising: uint32.
        query: what the model has computed of them, of a shape that is the model's own; None where
            the history is all that scores need.
    """

    items: npt.NDArray[np.uint32]
    query: npt.NDArray[np.float32] | None


class Stateful:
    """What has a state. That is no hyperparameter, hence not in a dataclass."""

    _fitted: Fitted | None = None
