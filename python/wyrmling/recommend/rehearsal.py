"""What a model that is trained by gradient steps goes on learning from: all that it knows.

A step for one interaction moves vectors and biases that the scores of others are made of. A model
that went on with new interactions alone would forget those before (catastrophic interference:
McCloskey and Cohen, 1989), and rank worse than without them. So each pair that was seen before is
trained on beside the new interactions, once an epoch (rehearsal: Robins, 1995), and ``partial_fit``
gives what a fit to everything gives, from a start that knows most of it.

A loss may ask for more than the user and the item. A model keeps that for each pair, as its last
interaction had it.

Limits: an epoch takes as long as one of everything. A pair that occurred more than once counts once
from the next run on. Where nothing is known of earlier pairs, in a model that was saved without
histories, or not what the loss asks for, new interactions are all there is to learn from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..data import Interactions
from ..data.pairs import among, grouped, users_of
from .fitted import ArrayType, Fitted

__all__ = ["REHEARSED", "check_kept", "kept_columns", "rehearsed"]

DTYPES = {"values": "float32", "weights": "float32", "times": "float64"}
KEPT = {name: f"history_{name}" for name in DTYPES}
REHEARSED = {
    KEPT[name]: ArrayType(("pairs",), dtype, optional=True, private=True)
    for name, dtype in DTYPES.items()
}
"""The arrays of a model that rehearsals need: a number for each of its pairs."""


def rehearsed(
    data: Interactions, before: Fitted | None, defaults: Mapping[str, Any]
) -> Interactions:
    """What a model is trained on: the pairs of an earlier state, then new interactions.

    Args:
        data: the new ones, numbered as the model numbers users and items. An earlier pair that is
            among them is theirs.
        before: what the model has learnt so far; None for nothing.
        defaults: the columns that the model looks at besides, and what each is where it is not
            known: a number, or anything else where nothing can stand for it.
    """
    if before is None or before.seen is None:
        return data
    users, items = users_of(before.seen), before.seen.indices
    new = _core.Csr(data.users, data.items, data.n_users, data.n_items)
    earlier = ~among(new, users, items)
    columns: dict[str, Any] = dict.fromkeys(KEPT)
    for name, default in defaults.items():
        known, given = before.arrays.get(KEPT[name]), getattr(data, name)
        if known is None and given is None:
            continue
        if known is None or given is None:
            if not isinstance(default, (int, float)):
                return data
            known = np.full(len(users), default) if known is None else known
            given = np.full(len(data), default) if given is None else given
        columns[name] = np.concatenate([known[earlier], given])
    return replace(
        data,
        users=np.concatenate([users[earlier], data.users]),
        items=np.concatenate([items[earlier], data.items]),
        **columns,
    )


def kept_columns(
    data: Interactions, seen: _core.Csr, names: Iterable[str]
) -> dict[str, npt.NDArray[Any]]:
    """The columns of these names as arrays of a model that was trained on some interactions.

    They have the number of each pair's last interaction. None are kept where the model has seen
    pairs besides, of which they are not known.
    """
    columns = {name: getattr(data, name) for name in names}
    if all(column is None for column in columns.values()):
        return {}
    order, starts = grouped(data.users, data.items, data.times)
    if len(starts) != len(seen):
        return {}
    last = order[np.append(starts[1:], len(order)) - 1]
    return {
        KEPT[name]: column[last].astype(DTYPES[name])
        for name, column in columns.items()
        if column is not None
    }


def check_kept(fitted: Fitted) -> None:
    """Raises ValueError for kept columns of another length than the pairs."""
    for name in REHEARSED:
        column = fitted.arrays.get(name)
        if column is not None and fitted.seen is not None and len(column) != len(fitted.seen):
            raise ValueError(f"{name} has {len(column)} numbers for {len(fitted.seen)} pairs")
