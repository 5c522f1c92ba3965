"""The data of the comparison: distinct pairs of user and item, as plain arrays.

Each package gets them in the form that it likes best (scipy's CSR matrix, Cornac's data set,
Interactions), made before anything is timed.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from wyrmling.datasets import Interactions, make_interactions

Numbers = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Pairs:
    """Users and items of distinct pairs, and when, if that is known."""

    users: Numbers
    items: Numbers
    n_users: int
    n_items: int
    times: npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.users)

    def take(self, places: npt.NDArray[Any]) -> Pairs:
        """The pairs at some places."""
        times = None if self.times is None else self.times[places]
        return Pairs(self.users[places], self.items[places], self.n_users, self.n_items, times)

    def split(self, share: float, seed: int) -> tuple[Pairs, Pairs]:
        """A share of the pairs held out at random: what is left, and the share."""
        order = np.random.default_rng(seed).permutation(len(self))
        held_out = round(share * len(self))
        return self.take(np.sort(order[held_out:])), self.take(np.sort(order[:held_out]))

    def split_users(self, share: float, seed: int) -> tuple[Pairs, Pairs]:
        """All pairs of a share of the users held out at random: what is left, and the share."""
        known = np.unique(self.users)
        chosen = np.random.default_rng(seed).permutation(known)[: round(share * len(known))]
        held_out = np.isin(self.users, chosen)
        return self.take(np.flatnonzero(~held_out)), self.take(np.flatnonzero(held_out))

    def histories(self) -> list[Numbers]:
        """The items of each user who has some, in the order of time, or else of rows."""
        times = np.zeros(len(self)) if self.times is None else self.times
        order = np.lexsort((times, self.users))
        _, starts = np.unique(self.users[order], return_index=True)
        return np.split(self.items[order], starts[1:])

    @cached_property
    def matrix(self) -> Any:
        """A scipy CSR matrix of ones, float32, for implicit and LightFM."""
        from scipy.sparse import csr_matrix

        ones = np.ones(len(self), np.float32)
        return csr_matrix((ones, (self.users, self.items)), (self.n_users, self.n_items))

    @cached_property
    def cornac(self) -> Any:
        """Cornac's data set, with users and items numbered as here."""
        from cornac.data import Dataset

        columns = self.users.astype(np.int32), self.items.astype(np.int32)
        numbers = ({n: n for n in range(count)} for count in (self.n_users, self.n_items))
        ones = np.ones(len(self), np.float32)
        return Dataset(self.n_users, self.n_items, *numbers, (*columns, ones))

    @cached_property
    def interactions(self) -> Interactions:
        """The same as Interactions."""
        return Interactions(
            self.users,
            self.items,
            range(self.n_users),
            range(self.n_items),
            times=self.times,
        )


def read(path: str) -> Pairs:
    """The pairs of a file with the columns ``user_id,item_id,rating,timestamp``."""
    with Path(path).open(newline="") as file:
        rows = [(row["user_id"], row["item_id"], row["timestamp"]) for row in csv.DictReader(file)]
    columns = np.array(rows, dtype=np.int64)
    _, users = np.unique(columns[:, 0], return_inverse=True)
    _, items = np.unique(columns[:, 1], return_inverse=True)
    sizes = int(users.max()) + 1, int(items.max()) + 1
    return Pairs(users.astype(np.uint32), items.astype(np.uint32), *sizes, columns[:, 2])


def generated(n_users: int, n_items: int, count: int, per_user: int) -> Pairs:
    """So many made-up pairs, some ``per_user`` for each user."""
    made = make_interactions(n_users, n_items, per_user, seed=1)
    if len(made) < count:
        raise ValueError(f"{per_user} for each user make {len(made)} pairs, expected {count}")
    kept = np.sort(np.random.default_rng(1).permutation(len(made))[:count])
    return Pairs(made.users[kept], made.items[kept], n_users, n_items)


SIZES = {
    "100k": (943, 1_682, 100_000, 110),
    "1m": (6_040, 3_706, 1_000_209, 155),
}
"""Users, items and pairs of MovieLens 100K and 1M, and how many a user to draw these from."""
