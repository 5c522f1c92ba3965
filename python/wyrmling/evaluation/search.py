"""Hyperparameters found by trial, on interactions held out of the training data.

Random search tries combinations drawn at random (Bergstra and Bengio, "Random Search for
Hyper-Parameter Optimization", JMLR 2012). Successive halving trains all of them for a few epochs,
keeps the best third, trains these anew for three times as many, and so on (Jamieson and Talwalkar,
"Non-stochastic Best Arm Identification and Hyperparameter Optimization", AISTATS 2016).

The test set has no part in it. The best value on the validation split is too good, since it was
chosen for being high: measure the model that is returned on other data.
"""

from __future__ import annotations

import html
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..arguments import check_choice, check_flag, check_integer, check_number
from ..data import Interactions
from ..data.interactions import check_interactions
from ..progress import Steps
from .evaluate import evaluated
from .metrics import parse, sign
from .models import arguments_of_fit, check_params, copied, parameters_of
from .result import Evaluation
from .spaces import Distribution, draw
from .trained import check_values
from .validation import validation_split

__all__ = ["Search", "Trial", "search"]

KEPT = 3
"""Of so many trials one stays, for so many times as many epochs."""


@dataclass(frozen=True)
class Trial:
    """One combination of hyperparameters, and what it came to.

    Args:
        parameters: the hyperparameters that were drawn.
        value: the metric on the validation split; NaN where the trial failed: training diverged,
            or a function gave no finite number.
        seconds: of training and measuring.
        epochs: trained for, where halving has said so, else None.
        evaluation: all that was measured, None where the trial failed, or by a function.
        error: why it failed, else None.
    """

    parameters: Mapping[str, Any]
    value: float
    seconds: float
    epochs: int | None = None
    evaluation: Evaluation | None = None
    error: str | None = None


class Search(Sequence[Trial]):
    """The trials of a search, in the order in which they were made, and the best of them.

    Args:
        trials: what was tried.
        metric: by which it was chosen.
        model: the best, trained on all of the data; None with ``refit=False``.
        best: the best trial; with halving, of those trained longest.
        sign: -1 for a metric that is the better the less it is, else 1.
    """

    def __init__(
        self, trials: Sequence[Trial], metric: str, best: Trial, model: Any, sign: int = 1
    ) -> None:
        self.trials = list(trials)
        self.metric = metric
        self.best = best
        self.model = model
        self.sign = sign

    @property
    def parameters(self) -> dict[str, Any]:
        """The hyperparameters of the best trial."""
        return dict(self.best.parameters)

    def plot(self, axes: Any = None) -> Any:
        """Draws the value of each trial, and the best so far; needs matplotlib."""
        from .plots import plot_search

        return plot_search(self, axes)

    def __len__(self) -> int:
        return len(self.trials)

    def __getitem__(self, place: Any) -> Any:
        return self.trials[place]

    def __repr__(self) -> str:
        rows = [self._header(), *self._rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            for row in rows
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, *rows = (
            "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row)
            for tag, row in [("th", self._header()), *(("td", row) for row in self._rows())]
        )
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><tr>{head}</tr>{body}</table>"

    def _header(self) -> list[str]:
        epochs = ["epochs"] if self.best.epochs is not None else []
        return [self.metric, *self.best.parameters, *epochs, "seconds"]

    def _rows(self) -> Iterator[list[str]]:
        """The trials as text, the best first."""
        by = _order(self.sign)
        order = sorted(self.trials, key=lambda trial: (-(trial.epochs or 0), by(trial)))
        for trial in order:
            value = "failed" if trial.error else f"{trial.value:.4f}"
            epochs = [str(trial.epochs)] if trial.epochs is not None else []
            yield [value, *map(_shown, trial.parameters.values()), *epochs, f"{trial.seconds:.1f}"]


def search(
    model: Any,
    space: Mapping[str, Sequence[Any] | Distribution],
    data: Interactions,
    *,
    trials: int = 20,
    first: Mapping[str, Any] | None = None,
    method: Literal["random", "halving"] = "random",
    validation: float | Interactions = 0.2,
    metric: str | Callable[[Any, Interactions], float] = "ndcg@10",
    exclude_seen: bool = True,
    refit: bool = True,
    random_state: int = 0,
    callback: Callable[[Trial], object] | None = None,
    progress: bool = False,
    fit_params: Mapping[str, Any] | None = None,
) -> Search:
    """Looks for the hyperparameters with which a model ranks best what is held out of ``data``.

    Args:
        model: a recommender; its own hyperparameters hold where ``space`` names none.
        space: by hyperparameter, a list of choices, or a distribution (``uniform``,
            ``log_uniform``, ``integers``, or one of scipy.stats).
        data: what to learn from, without the test set.
        trials: how many combinations to try; fewer if there are no more.
        first: a combination to try before those that are drawn, such as the model's own; the best
            is then no worse on what is held out.
        method: ``"random"`` trains each as the model says, ``"halving"`` all for a few epochs, and
            the better ones again for more, the last for the model's ``epochs``.
        validation: the share of ``data`` held out at random to choose by, or interactions that are
            not in ``data``.
        metric: what to choose by: a name, or a function of a fitted model and what was held out,
            of which the largest value is the best.
        exclude_seen: as of :func:`~wyrmling.evaluation.evaluate`.
        refit: whether to train the best anew, on all of ``data``.
        random_state: of the combinations and the split.
        callback: called with each :class:`Trial`.
        progress: whether to show how the trials go: a bar of tqdm's if it is installed, otherwise
            a line for each on the standard error.
        fit_params: further arguments of each ``fit``, such as the features of a
            :class:`.FactorizationMachine`.

    Raises:
        TypeError, ValueError: an argument of another kind, or outside its range; a parameter that
            the model does not have, or that it refuses.
        FloatingPointError: every trial failed, since training diverged or ``metric`` gave NaN,
            infinity or this error.

    >>> from wyrmling.datasets import make_interactions
    >>> from wyrmling.recommend import BPR
    >>> train, test = make_interactions(n_users=200).split(seed=1)
    >>> from wyrmling.evaluation import evaluate, log_uniform, search
    >>> space = {"lr": log_uniform(0.01, 0.2), "factors": [8, 16]}
    >>> found = search(BPR(epochs=5), space, train, trials=3)
    >>> len(found), sorted(found.parameters)
    (3, ['factors', 'lr'])
    >>> evaluate(found.model, test)["auc"] > 0.6
    True
    """
    check_interactions("data", data)
    check_choice("method", method, ("random", "halving"))
    name, measure, better = _measure(metric, exclude_seen)
    order = _order(better)
    seed = check_integer("random_state", random_state, 0, 2**63 - 1)
    count = check_integer("trials", trials, 1, 1_000_000)
    own = parameters_of(model)
    longest = _longest(own, space) if method == "halving" else None
    drawn = draw(space, count, np.random.default_rng(seed))
    if first is not None:
        given: object = first
        if not isinstance(given, Mapping) or {*given} != {*space}:
            raise ValueError(f"first is {first!r}, expected a dict of {', '.join(space)}")
        drawn = [dict(first), *(one for one in drawn if one != first)][:count]
    for parameters in drawn:
        check_params(copied(model, parameters))
    check_flag("exclude_seen", exclude_seen)
    check_flag("progress", progress)
    check_flag("refit", refit)
    given_fit = arguments_of_fit("fit_params", fit_params)
    if "epochs" in given_fit and (longest is not None or "epochs" in space):
        raise ValueError(
            "fit_params has 'epochs', which would hold for all trials: expected those of the model"
        )
    if callback is not None and not callable(callback):
        raise TypeError(f"callback is {callback!r}, expected a function or None")
    train, kept_out = validation_split("validation", validation, data, seed)
    if isinstance(metric, str):
        check_values(model, kept_out, parse(metric), "validation")

    made: list[Trial] = []
    rounds = 0 if longest is None else math.floor(math.log(len(drawn), KEPT) + 1e-9)

    def attempt(parameters: Mapping[str, Any], epochs: int | None) -> Trial:
        changes = dict(parameters) if epochs is None else {**parameters, "epochs": epochs}
        candidate, start = copied(model, changes), time.perf_counter()
        value, found, error = math.nan, None, None
        try:
            value, found = measure(candidate.fit(train, **given_fit), kept_out)
        except FloatingPointError as failed:
            error = str(failed)
        seconds = time.perf_counter() - start
        trial = Trial(parameters, value, seconds, epochs, found, error)
        made.append(trial)
        bar.advance(_line(trial, name))
        if callback is not None:
            callback(trial)
        return trial

    with Steps(_planned(len(drawn), rounds), "trial", shows=progress) as bar:
        last = [attempt(parameters, None) for parameters in drawn] if longest is None else []
        if longest is not None:
            for left in range(rounds, -1, -1):
                epochs = max(1, round(longest / KEPT**left))
                last = [attempt(parameters, epochs) for parameters in drawn]
                kept = math.ceil(len(last) / KEPT)
                drawn = [dict(trial.parameters) for trial in sorted(last, key=order)[:kept]]
    best = min(last, key=order)
    if best.error is not None:
        raise FloatingPointError(f"every trial failed; the first: {made[0].error}")
    chosen = copied(model, best.parameters).fit(data, **given_fit) if refit else None
    return Search(made, name, best, chosen, better)


def _planned(count: int, rounds: int) -> int:
    """How many trials there are, of which a part stays for so many further rounds."""
    return count if rounds == 0 else count + _planned(math.ceil(count / KEPT), rounds - 1)


def _longest(own: Mapping[str, Any], space: Mapping[str, Any]) -> int:
    """For how many epochs the last trials of a halving are trained."""
    if "epochs" not in own:
        raise ValueError(
            "method is 'halving', which gives trials more and more epochs, and the model has no "
            "parameter 'epochs'; expected 'random'"
        )
    if "epochs" in space:
        raise ValueError(
            "space has 'epochs', which method 'halving' chooses; the model's own is the longest"
        )
    return check_integer("epochs", own["epochs"], 1, 2**31 - 1)


def _measure(
    metric: Any, exclude_seen: bool
) -> tuple[str, Callable[[Any, Interactions], tuple[float, Evaluation | None]], int]:
    """What a metric is called, what measures a fitted model by it, and its sign."""
    if not callable(metric):
        (wanted,) = parse([metric])

        def ranked(model: Any, held_out: Interactions) -> tuple[float, Evaluation]:
            found = evaluated("validation", model, held_out, wanted.name, exclude_seen)
            return found[wanted.name], found

        return wanted.name, ranked, sign(wanted.name)
    called = getattr(metric, "__name__", type(metric).__name__)

    def given(model: Any, held_out: Interactions) -> tuple[float, None]:
        try:
            value = check_number(f"what metric {called} gives", metric(model, held_out))
        except FloatingPointError as error:
            raise FloatingPointError(f"metric {called}: {error}") from error
        if not math.isfinite(value):
            what = f"what metric {called} gives is {value}, expected a finite number"
            raise FloatingPointError(what)
        return value, None

    return called, given, 1


def _order(sign: int) -> Callable[[Trial], tuple[bool, float]]:
    """A key that sorts trials from the best to the worst, and to those that failed."""
    return lambda trial: (trial.error is not None, 0.0 if trial.error else -sign * trial.value)


def _line(trial: Trial, metric: str) -> str:
    parameters = ", ".join(f"{name}={_shown(value)}" for name, value in trial.parameters.items())
    found = f"{metric} {trial.value:.4f}" if trial.error is None else trial.error
    return f"{found} in {trial.seconds:.1f} s with {parameters}"


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
