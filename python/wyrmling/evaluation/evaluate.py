"""How well a model ranks what was held out: all items compete, and ties count against it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..arguments import check_choice, check_flag, check_integer
from ..data import Interactions
from .held_out import HeldOut, Unknown
from .intervals import check_level
from .metrics import DEFAULT, parse
from .result import Evaluation

__all__ = ["evaluate", "evaluated"]


def evaluate(
    model: Any,
    test: Interactions,
    metrics: str | Iterable[str] = DEFAULT,
    *,
    exclude_seen: bool = True,
    unknown: Unknown = "skip",
    users: Iterable[Any] | None = None,
    confidence: float = 0.95,
    resamples: int = 1000,
    random_state: int = 0,
    progress: bool = False,
) -> Evaluation:
    """Measures how well a model ranks held-out interactions among all items.

    Users and items are matched by id, so that ``test`` may be numbered in another way than the
    training data. Memory is bounded, whatever the number of users; all cores work.

    Args:
        model: a model that was fitted.
        test: what it should have ranked high. A pair counts once, whatever its value; for ``rmse``
            and ``mae`` each interaction, with its value.
        metrics: names, as :mod:`wyrmling.evaluation.metrics` defines them.
        exclude_seen: whether items that a user has in training do not compete. Pairs of ``test``
            that were trained on are then left out too; with False they count (repeated purchases).
        unknown: what to do with a user or item that the model does not know: ``"skip"`` leaves the
            row out and says how many there were, ``"error"`` raises.
        users: the ids of users to measure; None for all of ``test``.
        confidence: of the intervals, which are the bootstrap's over users.
        resamples: how often users are drawn for them.
        random_state: of these draws, an integer.
        progress: whether to show how many users have been measured: a bar of tqdm's if it is
            installed, otherwise lines on the standard error.

    Returns:
        A mapping of names to values, with ``interval``, ``per_user``, ``users`` and ``skipped``.

    Raises:
        TypeError: not Interactions, or no model.
        RuntimeError: a model that was not fitted, or was saved without histories that the metrics
            need.
        ValueError: an unknown metric or choice; ``rmse`` or ``mae`` where ``test`` has no values,
            or of a model whose scores are none, as those of :class:`.BPR`; an unknown id with
            ``unknown="error"``, or nothing that could be measured.
        FloatingPointError: a score that is not a number, or infinite for ``rmse`` and ``mae``.

    >>> from wyrmling.datasets import make_interactions
    >>> from wyrmling.recommend import BPR
    >>> train, test = make_interactions(n_users=300).split(seed=1)
    >>> found = evaluate(BPR(epochs=10).fit(train), test, ["ndcg@10", "auc"])
    >>> found["auc"] > 0.7
    True
    >>> low, high = found.interval["auc"]
    >>> low < found["auc"] < high
    True
    """
    wanted = parse(metrics)
    check_level(confidence, resamples)
    seed = check_integer("random_state", random_state, 0, 2**63 - 1)
    exclude_seen = check_flag("exclude_seen", exclude_seen)
    check_choice("unknown", unknown, ("skip", "error"))
    check_flag("progress", progress)
    held_out = HeldOut.of("test", model, test, wanted, exclude_seen, unknown, users)
    return Evaluation(
        *held_out.measured(wanted, progress),
        confidence=confidence,
        resamples=resamples,
        seed=seed,
        order=tuple(metric.name for metric in wanted),
    )


def evaluated(
    name: str, model: Any, test: Interactions, metrics: str | Iterable[str], exclude_seen: bool
) -> Evaluation:
    """As :func:`evaluate`, with errors that call what was held out by a name."""
    wanted = parse(metrics)
    found = HeldOut.of(name, model, test, wanted, exclude_seen).measured(wanted)
    return Evaluation(*found, order=tuple(metric.name for metric in wanted))
