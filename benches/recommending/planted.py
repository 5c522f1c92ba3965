"""Whether BPR and WARP, with their defaults, find a signal that was planted, and make none up.

Interactions are made up (``make_interactions``) over a grid: how much of a user's taste is their
own (the signal, 1 - noise), how steep popularity falls (the tail, ``skew``), how many items a user
chose (the density), what share of the interactions repeats a pair, and how many users and items
there are. Of each cell a fifth is held out at random, once for each seed; all items compete that
the user does not have in training, and equal scores count against a ranking.

The oracle ranks by the probabilities that the interactions were drawn by, without having seen any.
A signal is *there* where it ranks above the interval of popularity, by the bootstrap over the users
of all seeds. What the oracle knows need not be in the data: of n choices the share of a genre is
known but for some 1/√n, so that a signal is called *clear* where signal·√per_user is at least 2.
Where it was fainter, no model that was tried found it in all cells, ALS and EASE neither.

- Where the signal is there and clear, a model has to rank above popularity.
- Everywhere else, and above all where nothing is planted, its mean has to be within the interval of
  popularity or above it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

import wyrmling as wy
from wyrmling.data import Interactions
from wyrmling.datasets import make_interactions
from wyrmling.datasets.generated import planted_preferences
from wyrmling.evaluation import Evaluation, evaluate

from .contenders import said

METRIC = "ndcg@10"
SHARE = 0.2
CLEAR = 2.0
MODELS = ("BPR", "WARP")

SIZES = ((100, 80), (500, 200), (2000, 800))
SIGNALS = (0.9, 0.5, 0.2, 0.0)
SKEWS = (0.0, 0.8, 1.5)
PER_USER = (5, 20, 80)
REPEATS = (0.0, 0.5)


class Cell(NamedTuple):
    """What interactions are made of."""

    n_users: int
    n_items: int
    signal: float
    skew: float
    per_user: int
    repeats: float

    @property
    def is_clear(self) -> bool:
        """Whether the choices of a user tell their taste from that of all."""
        return self.signal * math.sqrt(self.per_user) >= CLEAR

    def interactions(self, seed: int) -> tuple[Interactions, Interactions]:
        """Made-up interactions, and a share of them held out."""
        made = make_interactions(
            self.n_users,
            self.n_items,
            self.per_user,
            skew=self.skew,
            noise=1 - self.signal,
            repeats=self.repeats,
            seed=seed,
        )
        return made.split(SHARE, seed)

    def oracle(self, train: Interactions, seed: int) -> Any:
        """What ranks by the probabilities that the interactions were drawn by."""
        users, items = planted_preferences(
            self.n_users, self.n_items, skew=self.skew, noise=1 - self.signal, seed=seed
        )
        # Items of one genre are equal where popularity is flat, and would count against it.
        items *= 1 + 1e-4 * np.random.default_rng(seed).random((self.n_items, 1))
        return wy.recommend.Custom.from_factors(users, items, train)


class Found(NamedTuple):
    """The metric of some users, of all seeds."""

    mean: float
    low: float
    high: float


def cells() -> Iterator[Cell]:
    """The grid."""
    for size, *rest in itertools.product(SIZES, SIGNALS, SKEWS, PER_USER, REPEATS):
        yield Cell(*size, *rest)


def all_names() -> list[str]:
    """The names of all models."""
    return [*MODELS]


def named(names: list[str] | None) -> dict[str, Callable[[int], Any]]:
    """The models of some names, or both: each makes one for a seed."""
    return {name: _made(name) for name in MODELS if not names or name in names}


def _made(name: str) -> Callable[[int], Any]:
    return lambda seed: getattr(wy.recommend, name)(num_threads=1, random_state=seed)


def measured(
    cell: Cell, models: dict[str, Callable[[int], Any]], seeds: Iterable[int]
) -> dict[str, Found]:
    """The metric of popularity, of the oracle and of models, and its interval, by name."""
    users: dict[str, list[Any]] = {}
    for seed in seeds:
        train, test = cell.interactions(seed)
        fitted = {"popularity": wy.recommend.Popularity().fit(train)}
        fitted["oracle"] = cell.oracle(train, seed)
        fitted |= {name: model(seed).fit(train) for name, model in models.items()}
        for name, model in fitted.items():
            found = evaluate(model, test, METRIC)
            users.setdefault(name, []).append(found.per_user[METRIC])
    rows = {}
    for name, columns in users.items():
        pooled = np.concatenate(columns)
        whole = Evaluation({METRIC: pooled}, {}, range(len(pooled)))
        rows[name] = Found(whole[METRIC], *whole.interval[METRIC])
    return rows


def is_met(cell: Cell, popularity: Found, oracle: Found, model: Found) -> bool:
    """Whether a model ranks as it has to in a cell."""
    if cell.is_clear and oracle.mean > popularity.high:
        return model.mean > popularity.mean
    return model.mean >= popularity.low


def table(names: list[str] | None, seeds: int) -> int:
    """Prints a line for each cell and how often each model does what it has to; how many do not."""
    models = named(names)
    met = dict.fromkeys(models, 0)
    above = dict.fromkeys(models, 0)
    count = 0
    head = f"\n{'users':>6}{'items':>6}{'signal':>8}{'tail':>6}{'each':>6}{'repeats':>9}"
    head += f"{'popularity':>12}{'interval':>18}{'oracle':>9}"
    print(head + "".join(f"{name:>9} " for name in models) + f"  of {METRIC}")
    for cell in cells():
        rows = measured(cell, models, range(seeds))
        popularity, oracle = rows["popularity"], rows["oracle"]
        line = f"{cell.n_users:6}{cell.n_items:6}{cell.signal:8.1f}{cell.skew:6.1f}"
        line += f"{cell.per_user:6}{cell.repeats:9.1f}{popularity.mean:12.4f}"
        line += f"{popularity.low:10.4f} ..{popularity.high:6.4f}{oracle.mean:8.4f} "
        count += 1
        for name in models:
            good = is_met(cell, popularity, oracle, rows[name])
            met[name] += good
            above[name] += rows[name].mean > popularity.mean
            line += f"{rows[name].mean:9.4f}{' ' if good else '!'}"
        kind = "clear" if cell.is_clear else "faint" if cell.signal else "none"
        print(f"{line}  {kind}", flush=True)
    print()
    return sum(
        said(
            met[name] == count,
            f"{name} as it has to be in {met[name]} of {count} cells (above popularity in "
            f"{above[name]})",
        )
        for name in models
    )
