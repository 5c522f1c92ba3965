"""Cross-validation: every interaction is held out once.

The folds' training sets overlap, so the spread of their values says how much a split matters; it is
no confidence interval.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ..arguments import check_flag, check_integer, is_one
from ..data import Interactions
from ..data.interactions import check_interactions
from .evaluate import evaluated
from .metrics import DEFAULT, parse
from .models import arguments_of_fit, copied
from .result import Evaluation
from .trained import check_values

__all__ = ["CrossValidation", "cross_validate"]

Split = tuple[Interactions, Interactions]


class CrossValidation(Mapping[str, float]):
    """The mean of each metric over the folds.

    Args:
        folds: what was found in each fold, at least one.
    """

    def __init__(self, folds: Iterable[Evaluation]) -> None:
        self.folds = list(folds)

    @property
    def spread(self) -> dict[str, float]:
        """The standard deviation of each metric between folds, with n - 1; NaN of one fold."""
        return {
            name: float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
            for name, values in self._values()
        }

    def _values(self) -> Iterator[tuple[str, list[float]]]:
        for name in self:
            yield name, [fold[name] for fold in self.folds]

    def __getitem__(self, name: str) -> float:
        return float(np.mean([fold[name] for fold in self.folds]))

    def __iter__(self) -> Iterator[str]:
        return iter(self.folds[0])

    def __len__(self) -> int:
        return len(self.folds[0])

    def __repr__(self) -> str:
        width, spread = max(map(len, self)), self.spread
        lines = [self._title()]
        lines += [f"  {name:{width}}  {self[name]:.4f}  {spread[name]:.4f}" for name in self]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        spread = self.spread
        rows = "".join(
            f"<tr><th>{html.escape(name)}</th><td>{value:.4f}</td><td>{spread[name]:.4f}</td></tr>"
            for name, value in self.items()
        )
        return f"<table><caption>{self._title()}</caption>{rows}</table>"

    def _title(self) -> str:
        folds = f"{len(self.folds)} fold{'' if len(self.folds) == 1 else 's'}"
        return f"{folds}; the mean and the standard deviation between folds"


def cross_validate(
    model: Any,
    data: Interactions,
    folds: int | Iterable[Split] = 5,
    metrics: str | Iterable[str] = DEFAULT,
    *,
    exclude_seen: bool = True,
    random_state: int = 0,
    fit_params: Mapping[str, Any] | None = None,
) -> CrossValidation:
    """Trains a model on all folds but one and measures it on that one, for each fold.

    Args:
        model: a recommender; copies of it are trained, itself it stays as it is.
        data: what to divide.
        folds: into how many parts of equal size, at random; or pairs of interactions to train on
            and to measure on, such as splits by time.
        metrics: names, as :mod:`wyrmling.evaluation.metrics` defines them.
        exclude_seen: as of :func:`~wyrmling.evaluation.evaluate`.
        random_state: of the division.
        fit_params: further arguments of each ``fit``, such as the features of a
            :class:`.FactorizationMachine`.

    Raises:
        TypeError: not Interactions, or no recommender.
        ValueError: fewer than 2 folds, or more than interactions; what ``fit`` and
            :func:`~wyrmling.evaluation.evaluate` refuse.

    >>> from wyrmling.datasets import make_interactions
    >>> from wyrmling.evaluation import cross_validate
    >>> from wyrmling.recommend import BPR
    >>> data = make_interactions(n_users=200)
    >>> found = cross_validate(BPR(epochs=5), data, folds=3, metrics="auc")
    >>> len(found.folds), found["auc"] > 0.6, found.spread["auc"] < 0.05
    (3, True, True)
    """
    check_interactions("data", data)
    parsed = parse(metrics)
    wanted = [metric.name for metric in parsed]
    seed = check_integer("random_state", random_state, 0, 2**63 - 1)
    check_flag("exclude_seen", exclude_seen)
    copied(model, {})
    given = arguments_of_fit("fit_params", fit_params)
    divided = is_one(folds)
    splits = list(_divided(data, folds, seed) if divided else _pairs(folds))
    if not splits:
        raise ValueError("folds is empty, expected at least one pair of interactions")
    names = [f"fold {k} of data" if divided else f"folds[{k}][1]" for k in range(len(splits))]
    for name, (_, test) in zip(names, splits, strict=True):
        check_values(model, test, parsed, name)
    return CrossValidation(
        evaluated(name, copied(model, {}).fit(train, **given), test, wanted, exclude_seen)
        for name, (train, test) in zip(names, splits, strict=True)
    )


def _divided(data: Interactions, folds: Any, seed: int) -> Iterator[Split]:
    """Parts of equal size, give or take one, each held out in turn."""
    if len(data) < 2:
        raise ValueError(f"data has {len(data)} interactions, expected at least 2")
    count = check_integer("folds", folds, 2, len(data))
    fold = np.arange(len(data)) % count
    np.random.default_rng(seed).shuffle(fold)
    for held_out in range(count):
        yield data.take(fold != held_out), data.take(fold == held_out)


def _pairs(folds: Any) -> Iterator[Split]:
    for place, pair in enumerate(folds):
        if not (
            isinstance(pair, (tuple, list))
            and len(pair) == 2
            and all(isinstance(side, Interactions) for side in pair)
        ):
            raise TypeError(f"folds[{place}]: expected a pair of Interactions, got {pair!r}")
        train, test = pair
        yield train, test
