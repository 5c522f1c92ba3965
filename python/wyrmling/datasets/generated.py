"""Interactions that are made up, with a structure that a model can find.

Nothing is measured on them that should hold for real data: tastes are few, and do not change.
"""

from __future__ import annotations

import math

import numpy as np

from ..arguments import check_integer, check_number
from ..array_types import Float64Array
from ..data import Ids, Interactions
from ..data.columns import MOST
from ..data.splits import generator

__all__ = ["GENRES", "make_interactions", "planted_preferences"]

GENRES = ("jazz", "folk", "soul", "punk", "house", "blues", "opera", "metal")


def make_interactions(
    n_users: int = 2000,
    n_items: int = 800,
    per_user: float = 40,
    *,
    skew: float = 0.8,
    noise: float = 0.1,
    repeats: float = 0.0,
    seed: int = 0,
) -> Interactions:
    """Makes up who listened to what, with a structure that a model can find.

    Every item belongs to one genre and has a popularity, 1/n**skew for the n-th of
    its genre. Every user has a taste, a share for each genre that adds up to 1:
    drawn from a Dirichlet distribution with concentration 0.2, so that one or two
    genres prevail, then blended with ``noise`` of all genres alike. How many items
    a user chooses is log-normal around ``per_user``, and which is drawn without
    repetition with probabilities ``taste[genre] * popularity``, the popularities of
    a genre adding up to 1.

    The best a model can do is to learn the tastes: to recommend a user the most
    popular items of the genres that prevail. Items are called after genre and
    popularity: ``jazz-1`` is the most popular jazz.

    With ``repeats`` a user comes back to each item, and again, with that probability each time: a
    pair occurs a geometrically distributed number of times, 1/(1 - repeats) on average, as
    purchases of groceries do. The interactions of a user are then in random order.

    Args:
        n_users: number of users.
        n_items: number of items, at least 8, one for each genre.
        per_user: median number of items a user chooses, each counted once; nobody has more than
            half of all.
        skew: how unequal popularities are; 0 makes them equal.
        noise: how much of a taste is for all genres alike, from 0 to 1; with 1 all users have one
            taste, and nothing ranks better than popularity.
        repeats: the share of the interactions whose pair occurred before, on average; at least 0
            and less than 1. The pairs are the same for every value.
        seed: of all random choices; equal seeds make equal data.

    Raises:
        TypeError: an argument of another kind.
        ValueError: an argument outside its range.

    >>> groceries = make_interactions(300, 160, repeats=0.5)
    >>> 0.45 < 1 - len(groceries.unique_pairs()) / len(groceries) < 0.55
    True
    """
    per_user, skew, noise = _check(n_users, n_items, per_user, skew, noise)
    repeats = _finite("repeats", repeats)
    if not 0 <= repeats < 1:
        raise ValueError(f"repeats is {repeats}, expected at least 0 and less than 1")
    rng = generator(seed)
    tastes, popularities = _planted(rng, n_users, n_items, skew, noise)
    place = np.arange(n_items) // len(GENRES) + 1
    genre = np.arange(n_items) % len(GENRES)
    wishes = rng.lognormal(np.log(per_user), 0.5, n_users)
    counts = np.clip(wishes, 1, n_items // 2).astype(np.int64)

    chosen = []
    popularity = popularities.sum(axis=1)
    for taste, count in zip(tastes, counts, strict=True):
        # The items with the largest log-weight plus Gumbel noise are a draw without repetition
        # (the Gumbel-top-k trick). A taste may be so small that it is 0.
        with np.errstate(divide="ignore"):
            keys = np.log(taste[genre] * popularity) + rng.gumbel(size=n_items)
        chosen.append(np.argpartition(-keys, count - 1)[:count])
    users = np.repeat(np.arange(n_users, dtype=np.uint32), counts)
    items = np.concatenate(chosen).astype(np.uint32)
    if repeats > 0:
        times = rng.geometric(1 - repeats, len(users))
        users, items = np.repeat(users, times), np.repeat(items, times)
        order = np.lexsort((rng.random(len(users)), users))
        users, items = users[order], items[order]
    return Interactions(
        users=users,
        items=items,
        user_ids=Ids([f"user-{n}" for n in range(1, n_users + 1)]),
        item_ids=Ids([f"{GENRES[g]}-{n}" for g, n in zip(genre, place, strict=True)]),
    )


def planted_preferences(
    n_users: int = 2000,
    n_items: int = 800,
    *,
    skew: float = 0.8,
    noise: float = 0.1,
    seed: int = 0,
) -> tuple[Float64Array, Float64Array]:
    """The signal in what :func:`make_interactions` makes of the same arguments.

    The probability that the first item of user u is i is ``users[u] @ items[i]``. No model ranks
    better on average than these numbers do: they are the bound that models are measured against.

    Args:
        n_users: number of users.
        n_items: number of items, at least 8.
        skew: how unequal popularities are.
        noise: how much of a taste is for all genres alike.
        seed: that of the interactions.

    Returns:
        The users' tastes, float64 of shape (n_users, 8), and each item's popularity at the place of
        its genre, float64 of shape (n_items, 8).

    Raises:
        TypeError: an argument of another kind.
        ValueError: an argument outside its range.

    >>> users, items = planted_preferences(5, 16)
    >>> (users @ items.T).sum(axis=1).round(9).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    _, skew, noise = _check(n_users, n_items, 1, skew, noise)
    return _planted(generator(seed), n_users, n_items, skew, noise)


def _planted(
    rng: np.random.Generator, n_users: int, n_items: int, skew: float, noise: float
) -> tuple[Float64Array, Float64Array]:
    """The tastes of users, and the popularity of each item at the place of its genre."""
    genre = np.arange(n_items) % len(GENRES)
    popularity = (np.arange(n_items) // len(GENRES) + 1.0) ** -skew
    popularity /= np.bincount(genre, popularity)[genre]
    tastes = rng.dirichlet(np.full(len(GENRES), 0.2), n_users)
    tastes = (1 - noise) * tastes + noise / len(GENRES)
    return tastes, np.eye(len(GENRES))[genre] * popularity[:, None]


def _check(
    n_users: int, n_items: int, per_user: float, skew: float, noise: float
) -> tuple[float, float, float]:
    """``per_user``, ``skew`` and ``noise`` as floats, which NumPy computes with: of other numbers,
    as fractions and long integers, it knows no power and no logarithm."""
    for name, count in (("n_users", n_users), ("n_items", n_items)):
        check_integer(name, count, most=MOST)
    floats = _finite("per_user", per_user), _finite("skew", skew), _finite("noise", noise)
    if n_users < 1 or n_items < len(GENRES) or not floats[0] >= 1:
        raise ValueError(
            f"n_users, n_items and per_user are {n_users}, {n_items} and {per_user}, "
            f"expected at least 1, {len(GENRES)} and 1"
        )
    if not (floats[1] >= 0 and 0 <= floats[2] <= 1):
        raise ValueError(f"skew and noise are {skew} and {noise}, expected at least 0, and 0 to 1")
    return floats


def _finite(name: str, value: float) -> float:
    number = check_number(name, value)
    if math.isinf(number):
        raise ValueError(f"{name} is {number}, expected a finite number")
    return number
