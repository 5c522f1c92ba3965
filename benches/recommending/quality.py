"""Which model ranks best, each tuned alike.

For every seed a fifth of the data is held out. Of the training part a fifth is held out once more,
to choose among trials, the first with a package's own parameters, the others random; the best is
trained on all of the training part and measured once on the test set. A :class:`Protocol` says what
is held out and what is measured. That of ``PAIRS`` splits pairs of user and item at random. All
items compete but those that the user has in training; equal scores count against the model.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .pairs import Pairs

Scores = npt.NDArray[np.float32]
Draw = Callable[[np.random.Generator], Any]
SHARE = 0.2


@dataclass(frozen=True)
class Contender:
    """A model of some package, what may be tuned of it, and how it is fitted.

    ``fit(data, parameters, seed)`` gives what the protocol measures: by that of ``PAIRS`` the
    scores of all users and items.
    """

    name: str
    fit: Callable[[Pairs, Mapping[str, Any], int], Any]
    space: Mapping[str, Draw] = field(default_factory=dict)

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Parameters drawn at random."""
        return {name: draw(rng) for name, draw in self.space.items()}


@dataclass(frozen=True)
class Protocol:
    """What is held out, and what is measured on it.

    ``split(data, seed)`` gives the training and the held-out part, ``measure(fitted, known,
    held_out)`` the numbers that ``columns`` names, of which the first chooses among trials.
    """

    split: Callable[[Pairs, int], tuple[Pairs, Pairs]]
    measure: Callable[[Any, Pairs, Pairs], tuple[float, ...]]
    columns: tuple[str, ...]


def one_of(*choices: Any) -> Draw:
    """One of some choices, each as likely."""
    return lambda rng: choices[rng.integers(len(choices))]


def log_uniform(low: float, high: float) -> Draw:
    """A number whose logarithm is uniform."""
    return lambda rng: float(math.exp(rng.uniform(math.log(low), math.log(high))))


def ranking_quality(scores: Scores, known: Pairs, held_out: Pairs) -> tuple[float, float, float]:
    """NDCG@10, recall@20 and the mean reciprocal rank of the best, in NumPy.

    The rank of an item is the number of unknown ones that score at least as high.
    """
    scores = np.array(scores, np.float64)
    if np.isnan(scores).any():
        return math.nan, math.nan, math.nan
    scores[known.users, known.items] = -np.inf
    ordered = np.sort(scores, axis=1)
    rows: dict[int, list[int]] = {}
    for user, item in zip(held_out.users.tolist(), held_out.items.tolist(), strict=True):
        above = np.searchsorted(ordered[user], scores[user, item], "left")
        rows.setdefault(user, []).append(scores.shape[1] - int(above))
    ndcg, recall, first = [], [], []
    for ranks in rows.values():
        found = np.array(ranks)
        ideal = np.arange(1, min(10, len(found)) + 1)
        gain = (1 / np.log2(1 + found))[found <= 10].sum()
        ndcg.append(gain / (1 / np.log2(1 + ideal)).sum())
        recall.append((found <= 20).mean())
        first.append(1 / found.min())
    return float(np.mean(ndcg)), float(np.mean(recall)), float(np.mean(first))


def popularity(data: Pairs, parameters: Mapping[str, Any], seed: int) -> Scores:
    """How often an item occurs, the same for all users."""
    count = np.bincount(data.items, minlength=data.n_items).astype(np.float32)
    return np.broadcast_to(count, (data.n_users, data.n_items))


PAIRS = Protocol(
    lambda data, seed: data.split(SHARE, seed), ranking_quality, ("NDCG@10", "recall@20", "MRR")
)


def tuned(
    contender: Contender,
    protocol: Protocol,
    data: Pairs,
    seed: int,
    trials: int,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """The best of a package's own parameters and some random ones, on a validation split."""
    rng = np.random.default_rng(seed)
    train, validation = protocol.split(data, seed + 1_000)
    best, chosen = -1.0, {}
    for trial in range(trials if contender.space else 0):
        parameters = contender.draw(rng) if trial else {}
        start = time.perf_counter()
        fitted = contender.fit(train, parameters, seed)
        value, *_ = protocol.measure(fitted, train, validation)
        seconds = time.perf_counter() - start
        say(f"    {contender.name}: {value:.4f} in {seconds:.1f} s, {_shown(parameters)}")
        if value > best:
            best, chosen = value, parameters
    return chosen


def table(
    contenders: list[Contender],
    protocol: Protocol,
    data: Pairs,
    seeds: int,
    trials: int,
    say: Callable[[str], None],
) -> dict[str, float]:
    """Prints means over the seeds, with the spread of the first column; that column by name."""
    found: dict[str, list[tuple[float, ...]]] = {}
    first = protocol.columns[0]
    for seed in range(seeds):
        train, test = protocol.split(data, seed)
        for contender in contenders:
            parameters = tuned(contender, protocol, train, seed, trials, say)
            measured = protocol.measure(contender.fit(train, parameters, seed), train, test)
            found.setdefault(contender.name, []).append(measured)
            say(
                f"  seed {seed}, {contender.name}: {first} {measured[0]:.4f}, "
                f"of {_shown(parameters)}"
            )
    print(f"\n{'':28}{first:>10}{'+-':>8}" + "".join(f"{n:>11}" for n in protocol.columns[1:]))
    means = {}
    for name, rows in sorted(found.items(), key=lambda row: -statistics.mean(r[0] for r in row[1])):
        value, *others = (statistics.mean(column) for column in zip(*rows, strict=True))
        spread = statistics.stdev(row[0] for row in rows) if len(rows) > 1 else math.nan
        print(f"{name:28}{value:10.4f}{spread:8.4f}" + "".join(f"{n:11.4f}" for n in others))
        means[name] = value
    return means


def _shown(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {k: round(v, 5) if isinstance(v, float) else v for k, v in parameters.items()}
