"""Indices of arrays: what is among them, and ``...`` written as slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..abstract.masks import is_mask
from ..abstract.values import Known, Lazy, Tuple

ALL = Known(slice(None))
_WHOLE = Lazy("slice", (Known(None),) * 3)


def is_cross(index: Any) -> bool:
    """Whether an index is ``np.ix_`` of integers that are computed."""
    return isinstance(index, Lazy) and index.name == "ix_"


def is_short(index: Any) -> bool:
    """Whether a slice may leave out something."""
    return any(not isinstance(end, Known) or end.object is not None for end in index.over)


def is_whole(index: Any) -> bool:
    """Whether this is a slice that leaves out nothing."""
    return isinstance(index, Lazy) and index.name == "slice" and not is_short(index)


def spelled_out(index: Any, axes: int) -> Any:
    """An index with slices for ``...`` beside what is computed, for an array of so many axes."""
    parts: Sequence[Any] = index.items if isinstance(index, Tuple) else ()
    dots = [at for at, one in enumerate(parts) if _object(one) is Ellipsis]
    if len(dots) != 1 or all(isinstance(one, Known) for one in parts):
        return index
    (at,) = dots
    others = [*parts[:at], *parts[at + 1 :]]
    if any(isinstance(one, Known) and one.object is None for one in others):
        return index
    missing = axes - sum(map(_axes_of, others))
    # Beside integers for all axes it makes an array without axes.
    if missing < 0 or (missing == 0 and not any(map(is_mask, others))):
        return index
    return Tuple((*parts[:at], *[_WHOLE] * missing, *parts[at + 1 :]))


def _object(value: Any) -> Any:
    return value.object if isinstance(value, Known) else None


def _axes_of(index: Any) -> int:
    """How many axes an index names."""
    if is_mask(index):
        return len(index.variable.shape)
    found = _object(index)
    is_known_mask = isinstance(found, np.ndarray) and found.dtype == np.bool_
    return found.ndim if is_known_mask else 1
