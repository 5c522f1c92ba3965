"""Models as evaluation makes them: copies with other hyperparameters, and popularity."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import NoneType
from typing import Any

import numpy as np

from .. import _core
from ..array_types import IndexArray
from ..data import Interactions
from .evaluate import evaluate
from .trained import Trained, trained

__all__ = [
    "arguments_of_fit",
    "check_params",
    "copied",
    "parameters_of",
    "popularity",
    "worse_than_popularity",
]


def parameters_of(model: Any) -> dict[str, Any]:
    """The hyperparameters of a model by name; raises TypeError if it is none."""
    if isinstance(model, type):
        raise TypeError(f"model: expected a recommender, got the class {model.__name__}: call it")
    if hasattr(model, "fit") and hasattr(model, "get_params"):
        return dict(model.get_params())
    if hasattr(model, "fit") and dataclasses.is_dataclass(model):
        return {field.name: getattr(model, field.name) for field in dataclasses.fields(model)}
    raise TypeError(
        f"model: expected a recommender with hyperparameters, such as BPR(), got {model!r}"
    )


def copied(model: Any, changes: Mapping[str, Any]) -> Any:
    """A model that was not fitted, with the same hyperparameters but for some.

    Raises ValueError for a name that is none of the model's.
    """
    parameters = parameters_of(model)
    for name in changes:
        if name not in parameters:
            raise ValueError(
                f"{type(model).__name__} has no parameter {name!r}, expected one of "
                f"{', '.join(sorted(parameters))}"
            )
    return type(model)(**parameters | dict(changes))


def arguments_of_fit(name: str, given: Any) -> dict[str, Any]:
    """Further arguments of `fit`, by name; raises TypeError for what is neither a dict nor None."""
    if not isinstance(given, (Mapping, NoneType)):
        raise TypeError(f"{name} is {given!r}, expected a dict of arguments of fit")
    return dict(given or {})


def check_params(model: Any) -> None:
    """Raises what a model's own check of its hyperparameters raises, if it has one.

    Several models are checked before the first is trained, so that one that is refused costs none
    of the others.
    """
    if hasattr(model, "check_params"):
        model.check_params()


def popularity(data: Any) -> Trained:
    """What ranks items by how many users have them in training, the same for all users.

    It is the least that a model has to beat.

    Args:
        data: Interactions, or a model that was fitted: what it was fitted on.

    Raises:
        RuntimeError: the model was not fitted, or was saved without histories.
        TypeError: something else.
    """
    if isinstance(data, Interactions):
        seen = _core.Csr(data.users, data.items, data.n_users, data.n_items)
        user_ids, item_ids = data.user_ids, data.item_ids
    else:
        known = trained(data)
        seen, user_ids, item_ids = known.seen, known.user_ids, known.item_ids
    count = np.bincount(seen.indices, minlength=len(item_ids)).astype(np.float32)
    items = np.zeros((len(item_ids), 0), np.float32)

    def scores(users: IndexArray) -> Any:
        # With factors of width 0 the score of an item is its bias.
        return np.zeros((len(users), 0), np.float32), items, count

    return Trained(user_ids, item_ids, seen, scores)


def worse_than_popularity(
    model: Any, validation: Interactions, metric: str = "ndcg@10", *, exclude_seen: bool = True
) -> str | None:
    """A sentence, if a model ranks held-out interactions worse than popularity does, else None.

    Args:
        model: a model that was fitted.
        validation: interactions that it was not fitted on.
        metric: by which they are compared.
        exclude_seen: as of :func:`~wyrmling.evaluation.evaluate`.

    Raises:
        What :func:`~wyrmling.evaluation.evaluate` raises.
    """
    if not isinstance(metric, str):
        raise TypeError(f"metric is {metric!r}, expected one name, such as 'ndcg@10'")
    own, baseline = (
        evaluate(ranker, validation, metric, exclude_seen=exclude_seen)
        for ranker in (model, popularity(model))
    )
    if not own[metric] < baseline[metric]:
        return None
    gap, low, high = own.difference(baseline, metric)
    return (
        f"{metric} on the validation set is {own[metric]:.4f}, that of popularity "
        f"{baseline[metric]:.4f} (the difference is {gap:.4f}, its 95 % interval "
        f"{low:.4f} to {high:.4f}): recommending the most popular items would do better"
    )
