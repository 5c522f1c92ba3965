"""Ids as arguments of a model's methods, checked before anything is computed.

An error names the argument, the value and what was expected. A text is one id and never several of
a letter each, and bytes are no integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arguments import NO_NUMBERS, is_one
from ..array_types import Float32Array, IndexArray
from ..data import Id, Ids
from ..data.columns import id_column, number_column, objects_of
from .fitted import NewUser

__all__ = [
    "folded",
    "numbers_of",
    "of_ids",
    "one_id",
    "several",
    "valued",
]


def several(name: str, given: Any, *, ordered: bool = False) -> npt.NDArray[np.int64] | list[Id]:
    """A collection of ids, as :func:`wyrmling.data.columns.id_column` has it.

    Args:
        name: what errors call it.
        given: the ids: a sequence, an iterator, an array or a series; a set or the keys of a dict
            too, unless their order counts.
        ordered: whether it does.

    Raises:
        TypeError: no collection of ids, or an id of another type.
        ValueError: a missing value.
    """
    if is_one(given):
        raise TypeError(f"{name}: expected several ids, such as [{_shown(given)}], got {given!r}")
    if isinstance(given, (Set, dict)) and not ordered:
        given = list(given)
    return id_column(name, given)


def one_id(name: str, given: Any) -> Id:
    """One id; raises TypeError for what is none."""
    if isinstance(given, NO_NUMBERS) or not isinstance(given, (int, str, np.integer)):
        raise TypeError(f"{name} is {given!r}, expected an id (an int or str), or several")
    id_: Id = given  # type: ignore[assignment]
    return id_


def numbers_of(name: str, of: Ids, ids: Iterable[Id], *, ordered: bool = False) -> IndexArray:
    """The numbers of some ids, an argument of this name, all of which must be known.

    Args:
        name: what errors call the argument.
        of: what is known.
        ids: what :func:`several` takes.
        ordered: as there.

    Raises:
        KeyError: an unknown id.
        TypeError, ValueError: as :func:`several`.
    """
    column = several(name, ids, ordered=ordered)
    numbers = of.numbers(column, name)
    if unknown := np.flatnonzero(numbers < 0).tolist():
        of.number(column[unknown[0]], "user" if name == "users" else "item")  # raises
    return numbers.astype(np.uint32)


def valued(
    of: Ids, history: Iterable[Id], values: Iterable[float] | None
) -> tuple[IndexArray, Float32Array]:
    """The numbers of a new user's items, and the value of each, compared."""
    steps = numbers_of("history", of, history, ordered=True)
    if values is None and len(steps):
        raise ValueError(
            "values is None, expected a number for each item of the history: the model learns from "
            "values"
        )
    numbers = number_column("values", () if values is None else values, np.float32)
    if len(numbers) != len(steps):
        raise ValueError(
            f"values has {len(numbers)} numbers, expected one for each of {len(steps)} items"
        )
    return steps, numbers


def folded(model: Any, history: Iterable[Id], values: Iterable[float] | None) -> NewUser:
    """A new user of a model, by a history, and a value for each of its items or None.

    Raises TypeError for values of a model that learns nothing from them, and what ``fold_in`` does.
    """
    found: NewUser
    if values is None:
        found = model.fold_in(history)
        return found
    if "values" not in signature(model.fold_in).parameters:
        raise TypeError(f"values: {type(model).__name__} learns nothing from them")
    found = model.fold_in(history, values=values)
    return found


def of_ids(ids: npt.NDArray[np.int64] | list[Id]) -> npt.NDArray[Any]:
    """Ids as an array: int64, or objects where any is a text, as :class:`.Ids` gives them."""
    if isinstance(ids, np.ndarray):
        return ids
    return objects_of(ids)


def _shown(given: object) -> str:
    return repr(given) if isinstance(given, (str, int)) else "'ann'"
