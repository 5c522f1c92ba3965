"""Penalties that are chosen by how many pairs of a user and an item there are.

What vectors can learn of a matrix that has no structure is noise, whose largest singular values are
near a bound (the edge of Marchenko and Pastur, 1967). Vectors whose penalty is below that bound fit
the noise and rank worse than popularity; far above it they learn nothing. The bound depends on the
data: models choose the penalty by the mean numbers of pairs of a user and of an item, and by the
density, their share among all pairs of a user and an item.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from .. import _core
from .fitted import Stateful

__all__ = ["Sparsity", "with_penalty"]

Model = TypeVar("Model", bound=Stateful)


class Sparsity(NamedTuple):
    """How many pairs of a user and an item occur; those without any pair count for nothing.

    Args:
        per_user: the mean number of items of a user.
        per_item: the mean number of users of an item.
        density: the share of the pairs that occur, from 0 to 1.
    """

    per_user: float
    per_item: float
    density: float

    @classmethod
    def of(cls, pairs: _core.Csr) -> Self:
        """That of some pairs, at least one."""
        n_users = int(np.count_nonzero(pairs.counts))
        n_items = int(np.count_nonzero(np.bincount(pairs.indices)))
        count = len(pairs)
        return cls(count / n_users, count / n_items, count / (n_users * n_items))


def with_penalty(
    model: Model, pairs: _core.Csr | None, penalty: Callable[[Sparsity], float]
) -> Model:
    """A model whose ``l2`` is a number: its own, or what a rule says of pairs.

    Without pairs it is that of the fitted state. Raises ValueError where there is none.
    """
    given: Any = model
    if given.l2 is not None:
        return model
    found: Any = copy.copy(model)
    if pairs is not None:
        found.l2 = penalty(Sparsity.of(pairs))
    elif found._fitted is not None:
        found.l2 = found._fitted.params.get("l2")
    if found.l2 is None:
        raise ValueError("l2 is None, and the model was saved without histories: expected a number")
    return found  # type: ignore[no-any-return]
