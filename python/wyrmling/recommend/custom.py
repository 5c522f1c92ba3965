"""A model whose loss its user writes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .factors import COLUMNS, DRAWN, PARAMETERS, FactorModel, Loss

__all__ = ["Custom"]


@dataclass(kw_only=True, eq=False, repr=False)
class Custom(FactorModel):
    """A factor model trained by a loss of your own, a plain Python function of one sample.

    >>> def hinge(users, items, item_bias, user, item, negative):
    ...     score = users[user] @ items[item] + item_bias[item]
    ...     other = users[user] @ items[negative] + item_bias[negative]
    ...     return max(0.0, 1.0 - score + other)
    >>> from wyrmling.datasets import make_interactions
    >>> model = Custom(loss=hinge, epochs=5).fit(make_interactions(100, 40))
    >>> len(model.recommend("user-1", 3))
    3

    The arguments are found by their names, which :mod:`wyrmling.recommend.factors` lists. The loss
    has to name ``users`` and ``items``, for scores are products of these. What a function may do
    says ``docs/source.md``.

    Args:
        loss: the function.
    """

    loss: Callable[..., Any]

    def _loss(self) -> Loss:
        if not callable(self.loss):
            raise TypeError(f"loss is {self.loss!r}, expected a function")
        known = PARAMETERS + COLUMNS + DRAWN
        asked = inspect.signature(self.loss).parameters
        for name, parameter in asked.items():
            if name not in known and parameter.default is inspect.Parameter.empty:
                raise ValueError(
                    f"loss: argument {name!r} is not known, expected one of {', '.join(known)}, or "
                    "a default"
                )
        for name in ("users", "items"):
            if name not in asked:
                raise ValueError(f"loss: expected an argument {name!r}, the vectors of {name}")
        return self.loss
