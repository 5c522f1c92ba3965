"""Several models, trained and measured alike, beside popularity."""

from __future__ import annotations

import html
import math
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..arguments import check_choice, check_flag, check_integer
from ..data import Interactions
from ..data.interactions import check_interactions
from ..progress import Steps
from .evaluate import evaluate
from .held_out import Unknown
from .metrics import ERRORS, parse, sign
from .models import arguments_of_fit, check_params, copied, popularity
from .result import Evaluation
from .trained import Trained, check_values

__all__ = ["BASELINE", "Comparison", "compare"]

BASELINE = "popularity"
METRICS = ("ndcg@10", "recall@20", "mrr", "coverage", "novelty")


class Comparison(Mapping[str, Evaluation]):
    """What was found of each model, by its name, the best by the first metric first.

    Args:
        evaluations: what was found; all have the metrics of the first, but that the ranking by
            popularity has no errors of ratings.
        models: the trained models by name.
        seconds: how long each took to train.
    """

    def __init__(
        self,
        evaluations: Mapping[str, Evaluation],
        models: Mapping[str, Any],
        seconds: Mapping[str, float],
    ) -> None:
        self.metrics = list(next(iter(evaluations.values())))
        first = self.metrics[0]
        # The ranking by popularity predicts no values, and has no errors of ratings.
        order = sorted(
            evaluations, key=lambda name: -sign(first) * evaluations[name].get(first, math.inf)
        )
        self._evaluations = {name: evaluations[name] for name in order}
        self.models = dict(models)
        self.seconds = dict(seconds)

    @property
    def best(self) -> str:
        """The name of the model that is best by the first metric."""
        return next(iter(self))

    def plot(self, axes: Any = None) -> Any:
        """Draws the first metric of each model with its interval; needs matplotlib."""
        from .plots import plot_comparison

        return plot_comparison(self, axes)

    def __getitem__(self, name: str) -> Evaluation:
        if name not in self._evaluations:
            raise KeyError(f"{name!r} was not compared, expected one of {', '.join(self)}")
        return self._evaluations[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._evaluations)

    def __len__(self) -> int:
        return len(self._evaluations)

    def __repr__(self) -> str:
        rows = list(self._rows())
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(
                [row[0].ljust(widths[0])]
                + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
            ).rstrip()
            for row in rows
        )

    def _repr_html_(self) -> str:
        head, *rows = (
            "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row)
            for tag, row in zip(["th"] + ["td"] * len(self), self._rows(), strict=True)
        )
        return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"

    def _rows(self) -> Iterator[list[str]]:
        """The table as text, its header first."""
        first = self.metrics[0]
        yield ["model", first, "interval", *self.metrics[1:], "seconds"]
        for name, found in self.items():
            low, high = found.interval.get(first, (None, None))
            bounds = "" if low is None else f"{low:.4f} to {high:.4f}"
            values = [f"{found[metric]:.4f}" if metric in found else "" for metric in self.metrics]
            seconds = f"{self.seconds[name]:.1f}" if name in self.seconds else ""
            yield [name, values[0], bounds, *values[1:], seconds]


def compare(
    models: Mapping[str, Any],
    train: Interactions | None,
    test: Interactions,
    metrics: str | Iterable[str] = METRICS,
    *,
    exclude_seen: bool = True,
    unknown: Unknown = "skip",
    random_state: int = 0,
    progress: bool = False,
    fit_params: Mapping[str, Mapping[str, Any]] | None = None,
) -> Comparison:
    """Trains models on the same data, measures them on the same, and adds popularity if any
    metric is of rankings.

    Args:
        models: recommenders by name. Copies of them are trained, themselves they stay as they are;
            without ``train`` they are models that were fitted.
        train: what to train on, or None.
        test: what to measure on.
        metrics: names, as :mod:`wyrmling.evaluation.metrics` defines them; the first orders the
            models.
        exclude_seen, unknown: as of :func:`~wyrmling.evaluation.evaluate`.
        random_state: of the intervals.
        progress: whether to show what has been trained and measured: a bar of tqdm's if it is
            installed, otherwise lines on the standard error.
        fit_params: by the name of a model, further arguments of its ``fit``, such as the features
            of a :class:`.FactorizationMachine`.

    Raises:
        TypeError: something else than a dict of recommenders by name, or no Interactions.
        ValueError: no models; what ``fit`` and :func:`~wyrmling.evaluation.evaluate` refuse.

    >>> from wyrmling.datasets import make_interactions
    >>> from wyrmling.evaluation import compare
    >>> from wyrmling.recommend import BPR
    >>> train, test = make_interactions(n_users=300).split(seed=1)
    >>> found = compare({"short": BPR(epochs=1), "long": BPR(epochs=20)}, train, test, "ndcg@10")
    >>> list(found)[0], found.best, len(found)
    ('long', 'long', 3)
    """
    if not isinstance(models, Mapping):
        raise TypeError(f"models: expected a dict by name, got {type(models).__name__}")
    for name in models:
        if not isinstance(name, str):
            raise TypeError(f"models: expected names of type str, got {name!r}")
    if not models:
        raise ValueError("models is empty, expected at least one")
    for name, data in (("train", train), ("test", test)):
        if data is not None or name == "test":
            check_interactions(name, data)
    parsed = parse(metrics)
    wanted = [metric.name for metric in parsed]
    check_flag("progress", progress)
    check_flag("exclude_seen", exclude_seen)
    check_choice("unknown", unknown, ("skip", "error"))
    check_integer("random_state", random_state, 0, 2**63 - 1)
    given = arguments_of_fit("fit_params", fit_params)
    for name in given:
        if train is None or name not in models:
            raise ValueError(f"fit_params has {name!r}, expected names of models that are trained")
        given[name] = arguments_of_fit(f"fit_params[{name!r}]", given[name])
    fitted: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    # All are copied before any is trained, so that one that is no model is said at once.
    copies = models if train is None else {name: copied(m, {}) for name, m in models.items()}
    for name, model in copies.items():
        try:
            if train is not None:
                check_params(model)
            check_values(model, test, parsed)
        except (TypeError, ValueError) as error:
            raise type(error)(f"models[{name!r}]: {error}") from None
    trained = 0 if train is None else len(copies)
    found = {}
    with Steps(trained + len({*copies, BASELINE}), "step", shows=progress) as bar:
        for name, model in copies.items():
            if train is None:
                fitted[name] = model
            else:
                start = time.perf_counter()
                fitted[name] = model.fit(train, **given.get(name, {}))
                seconds[name] = time.perf_counter() - start
                bar.advance(f"{name} is trained")
        rankers: dict[str, Any] = dict(fitted)
        ranked = [name for name in wanted if name not in ERRORS]
        if BASELINE not in rankers and ranked:
            rankers[BASELINE] = _baseline(train, fitted)
        for name, ranker in rankers.items():
            found[name] = evaluate(
                ranker,
                test,
                ranked if isinstance(ranker, Trained) else wanted,
                exclude_seen=exclude_seen,
                unknown=unknown,
                random_state=random_state,
            )
            bar.advance(f"{name} is measured")
    return Comparison(found, fitted, seconds)


def _baseline(train: Interactions | None, fitted: Mapping[str, Any]) -> Trained:
    """Popularity in the data of training, or in what the first model was trained on."""
    return popularity(next(iter(fitted.values())) if train is None else train)
