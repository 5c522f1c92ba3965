"""Which model of sequences finds the last item of users that it was not trained on.

For every seed a fifth of the users is held out, all of their pairs. Each is a new user to the
model, by all of their items in the order of time but the last (``fold_in``), which is then ranked
among all items but those of that history; equal scores count against the model. Of the training
users a fifth is held out once more, to choose among random trials by the mean reciprocal rank.

A fifth of MovieLens 100K is 189 users: a mean over them has a standard error of about 0.02, and one
over three seeds about 0.01. Models are therefore better compared with each other on the same seeds
than with numbers of other splits.

The baselines say what the numbers are worth: how often an item occurs, and how often it came next
after the last item of the history (a first-order Markov chain, ties by how often it occurs).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

import wyrmling as wy

from . import sbr
from .contenders import chosen, reached, said
from .pairs import Numbers, Pairs
from .quality import SHARE, Contender, Draw, Protocol, Scores, log_uniform, one_of

Answer = Callable[[Numbers], npt.NDArray[Any]]
"""The scores of all items for a history, the last item last."""


def fit(kind: str) -> Callable[[Pairs, Mapping[str, Any], int], Answer]:
    """A fit of our model of this name."""

    def fitted(data: Pairs, parameters: Mapping[str, Any], seed: int) -> Answer:
        settings = {"num_threads": 1, "random_state": seed, **parameters}
        model = getattr(wy.recommend, kind)(**settings).fit(data.interactions)

        def answer(history: Numbers) -> Scores:
            new = model.fold_in(history.tolist())
            items, scores = zip(*model.recommend(new, data.n_items), strict=True)
            found = np.full(data.n_items, -np.inf, np.float32)
            found[list(items)] = scores
            return found

        return answer

    return fitted


def popularity(data: Pairs, parameters: Mapping[str, Any], seed: int) -> Answer:
    """How often an item occurs."""
    count = np.bincount(data.items, minlength=data.n_items)
    return lambda history: count


def markov(data: Pairs, parameters: Mapping[str, Any], seed: int) -> Answer:
    """How often an item came next after the last one, then how often it occurs."""
    after = np.zeros((data.n_items, data.n_items))
    for items in data.histories():
        np.add.at(after, (items[:-1], items[1:]), 1.0)
    after += popularity(data, parameters, seed)(np.array([])) / (1.0 + len(data))
    return lambda history: after[history[-1]]


def last_items(answer: Answer, known: Pairs, held_out: Pairs) -> tuple[float, float]:
    """The mean reciprocal rank of the last items of users, and how many are among the first ten."""
    ranks = []
    for items in held_out.histories():
        if len(items) > 1:
            scores = np.array(answer(items[:-1]), np.float64)
            mine = scores[items[-1]]
            scores[items[:-1]] = -np.inf
            # What is no number is above all.
            ranks.append(np.count_nonzero(~(scores < mine)))
    found = np.array(ranks)
    return float((1.0 / found).mean()), float((found <= 10).mean())


LAST_ITEMS = Protocol(
    lambda data, seed: data.split_users(SHARE, seed), last_items, ("MRR", "hits@10")
)


SPACES: dict[str, dict[str, Draw]] = {
    "EWMA": {
        "factors": one_of(64, 128),
        "dropout": one_of(0.2, 0.3, 0.5),
        "lr": log_uniform(0.1, 0.4),
        "l2": log_uniform(1e-4, 3e-3),
        "init_scale": log_uniform(0.02, 0.1),
        "n_negatives": one_of(100, 300),
        "epochs": one_of(10, 20, 30),
    },
    "LSTM": {
        "lr": log_uniform(0.003, 0.01),
        "n_negatives": one_of(50, 100),
        "epochs": one_of(8, 12, 16),
    },
    "SASRec": {
        "factors": one_of(64, 128),
        "dropout": one_of(0.2, 0.3, 0.5),
        "lr": log_uniform(0.1, 0.4),
        "l2": log_uniform(1e-4, 3e-3),
        "n_negatives": one_of(100, 300),
        "epochs": one_of(10, 20),
    },
}

SBR: dict[str, Draw] = {
    "loss": one_of("hinge", "warp"),
    "factors": one_of(32, 64),
    "lr": log_uniform(0.05, 0.3),
    "l2": log_uniform(1e-5, 1e-3),
    "epochs": one_of(10, 20, 40),
}

OURS = [Contender(kind, fit(kind), SPACES[kind]) for kind in SPACES]
THEIRS = [Contender(f"sbr {kind}", sbr.fit(kind.lower()), SBR) for kind in ("EWMA", "LSTM")]
BASELINES = [Contender("popularity", popularity), Contender("most often next", markov)]
ALL = [*OURS, *THEIRS, *BASELINES]

TARGETS = {"EWMA": 0.14, "LSTM": 0.10}
"""The mean reciprocal ranks that the project has set itself, as means of three seeds."""
ABOVE = [("SASRec", "EWMA"), ("SASRec", "LSTM"), ("EWMA", "sbr EWMA"), ("LSTM", "sbr LSTM")]
"""Which is to rank better than which, on the same seeds."""


def all_names() -> list[str]:
    """The names of all models."""
    return [contender.name for contender in ALL]


def named(names: list[str] | None) -> list[Contender]:
    """The models of some names, or all; those of sbr, if it can be built."""
    found = chosen(ALL, names)
    theirs = [contender for contender in found if contender in THEIRS]
    return [one for one in found if one not in theirs] if theirs and not sbr.built() else found


def judged(means: Mapping[str, float]) -> int:
    """Prints which targets were met; how many were missed."""
    missed = reached("MRR", TARGETS, means)
    for mine, other in ABOVE:
        if mine in means and other in means:
            text = f"{mine} ({means[mine]:.4f}) above {other} ({means[other]:.4f})"
            missed += said(means[mine] > means[other], text)
    return missed
