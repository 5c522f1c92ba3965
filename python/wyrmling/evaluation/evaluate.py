"""How well a model ranks what was held out: all items compete, and ties count against it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _core
from ..arguments import check_choice, check_flag, check_integer, is_one
from ..array_types import IndexArray
from ..data import Interactions
from ..data.interactions import check_interactions
from ..data.pairs import among
from .intervals import check_level
from .metrics import DEFAULT, ERRORS, parse
from .ranking import errors, measured, selected
from .result import Evaluation, Skipped
from .trained import Trained, check_values, numbers_of, trained

__all__ = ["evaluate", "evaluated"]

Unknown = Literal["skip", "error"]


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
    return evaluated(
        "test",
        model,
        test,
        metrics,
        exclude_seen=exclude_seen,
        unknown=unknown,
        users=users,
        confidence=confidence,
        resamples=resamples,
        random_state=random_state,
        progress=progress,
    )


def evaluated(
    name: str,
    model: Any,
    test: Interactions,
    metrics: str | Iterable[str],
    *,
    exclude_seen: bool = True,
    unknown: Unknown = "skip",
    users: Iterable[Any] | None = None,
    confidence: float = 0.95,
    resamples: int = 1000,
    random_state: int = 0,
    progress: bool = False,
) -> Evaluation:
    """As :func:`evaluate`, with errors that call what was held out by a name."""
    wanted = parse(metrics)
    check_level(confidence, resamples)
    seed = check_integer("random_state", random_state, 0, 2**63 - 1)
    exclude_seen = check_flag("exclude_seen", exclude_seen)
    check_choice("unknown", unknown, ("skip", "error"))
    check_flag("progress", progress)
    check_interactions(name, test)
    known = trained(model)
    check_values(model, test, wanted, name)
    user, item, there, skipped = _numbered(known, test, users, unknown, name)
    pairs = _core.Csr(user, item, known.n_users, known.n_items)
    skipped = replace(skipped, repeated=len(user) - len(pairs))
    rows = np.flatnonzero(pairs.counts).astype(np.uint32)
    seen = selected(known.seen, rows) if exclude_seen else None
    popularity = np.zeros(known.n_items, np.int64)
    if any(metric.kind == "novelty" for metric in wanted):
        popularity = np.bincount(known.seen.indices, minlength=known.n_items)
    if not len(rows):
        raise ValueError(f"{name} has nothing to measure; left out: {skipped or 'nothing'}")
    per_user, overall, measured_rows, held_out = measured(
        known.scores,
        rows,
        seen,
        selected(pairs, rows),
        popularity,
        known.n_users,
        [metric for metric in wanted if metric.kind not in ERRORS],
        progress,
    )
    skipped = replace(skipped, seen=len(pairs) - held_out)
    if not len(measured_rows):
        raise ValueError(f"{name} has nothing to measure; left out: {skipped}")
    if any(metric.kind in ERRORS for metric in wanted):
        assert known.predict is not None
        assert test.values is not None
        new = slice(None) if seen is None else ~among(known.seen, user, item)
        off = errors(known.predict, user[new], item[new], test.values[there][new])
        overall |= {metric.name: off[metric.kind] for metric in wanted if metric.kind in ERRORS}
    return Evaluation(
        per_user,
        overall,
        known.user_id(rows[measured_rows]),
        skipped,
        confidence=confidence,
        resamples=resamples,
        seed=seed,
        order=tuple(metric.name for metric in wanted),
    )


def _numbered(
    model: Trained,
    test: Interactions,
    users: Iterable[Any] | None,
    unknown: Unknown,
    held_out: str,
) -> tuple[IndexArray, IndexArray, npt.NDArray[np.bool_], Skipped]:
    """The users and items of ``test`` that the model can be asked for, in its numbers, and which
    rows they are of.
    """
    names = ("user", test.users, test.user_ids), ("item", test.items, test.item_ids)
    columns = []
    for (name, column, ids), own in zip(names, (model.user_ids, model.item_ids), strict=True):
        numbers = numbers_of(own, ids).take(column)
        if unknown == "error" and (numbers < 0).any():
            first = ids[int(column[np.argmax(numbers < 0)])]
            raise ValueError(f"{held_out} has {name} {first!r}, which the model does not know")
        columns.append(numbers)
    there = (columns[0] >= 0) & (columns[1] >= 0)
    skipped = Skipped(unknown=int(np.count_nonzero(~there)))
    if users is not None:
        asked = _asked(model, users, unknown)
        wanted = there & np.isin(columns[0], asked)
        skipped = replace(skipped, unasked=int(np.count_nonzero(there & ~wanted)))
        there = wanted
    chosen = columns if there.all() else [column[there] for column in columns]
    user, item = (column.astype(np.uint32) for column in chosen)
    return user, item, there, skipped


def _asked(model: Trained, users: Iterable[Any], unknown: Unknown) -> npt.NDArray[np.int64]:
    """The numbers of users that were asked for by id."""
    if is_one(users):
        raise TypeError(f"users: expected several ids, such as ['ann'], got {users!r}")
    ids = list(users)
    numbers = numbers_of(model.user_ids, ids, "users")
    if unknown == "error" and (numbers < 0).any():
        first = ids[int(np.argmax(numbers < 0))]
        raise ValueError(f"users has {first!r}, which the model does not know")
    return numbers
