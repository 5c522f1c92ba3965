"""The rows of interactions as plain Python has them."""

from typing import Any

from wyrmling.data import Interactions


def pairs(data: Interactions) -> list[tuple[str, str]]:
    """The ids of every interaction, in order."""
    columns = zip(data.users, data.items, strict=True)
    return [(data.user_ids[u], data.item_ids[i]) for u, i in columns]


def rows_of(data: Interactions) -> list[tuple[Any, ...]]:
    """Ids and numbers of every interaction, in order."""
    columns = [data.user_ids.take(data.users), data.item_ids.take(data.items)]
    columns += [c for c in (data.values, data.weights, data.times) if c is not None]
    return list(zip(*(column.tolist() for column in columns), strict=True))
