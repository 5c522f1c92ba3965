"""What a model has learnt: arrays, the ids of users and items, and who had what."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from .. import _core
from ..array_types import Float32Array, IndexArray
from ..data import Id, Ids, Interactions
from .hyperparameters import Hyperparameters
from .learning_curve import LearningCurve

__all__ = ["ArrayType", "Arrays", "Fitted", "NewUser", "Reasons", "Stateful"]

Arrays = Mapping[str, npt.NDArray[Any]]

CALLS = "random_state", "num_threads"
"""Hyperparameters of a call, not of what is learnt."""


@dataclass(frozen=True)
class ArrayType:
    """What an array of a model must be.

    Args:
        shape: the length of each axis, a number or a name: ``"users"`` and ``"items"`` are how many
            there are; any other name is a length that is the same in all arrays of the model.
        dtype: the type of its elements.
        optional: whether it may be missing.
        private: whether it says what users had, and is left out of a file without histories.
    """

    shape: tuple[int | str, ...]
    dtype: str = "float32"
    optional: bool = False
    private: bool = False


@dataclass(frozen=True, eq=False)
class Fitted:
    """The state of a fitted model. It never changes: another fit makes another one.

    Args:
        user_ids: the users' ids, by number.
        item_ids: the items' ids, by number.
        seen: the items that each user had in training; None for a model that was saved without.
        arrays: what was learnt, by name; read-only once it is a model's state.
        history: how training went; None for a model that has no epochs.
        params: the hyperparameters that it was fitted with, in place of those that the model has
            now; those that are missing are the same.
    """

    user_ids: Ids
    item_ids: Ids
    seen: _core.Csr | None
    arrays: Arrays
    history: LearningCurve | None = None
    params: Mapping[str, Any] = field(default_factory=dict)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Of pickle, and of deepcopy: NumPy restores arrays as ones that can be written.
        self.__dict__.update(state)
        self.close()

    def close(self) -> None:
        """Makes the arrays read-only: what is computed of them once has to stay right."""
        for array in self.arrays.values():
            array.flags.writeable = False

    @cached_property
    def popularity(self) -> Float32Array:
        """How many users had each item, of a state with histories; counted once."""
        assert self.seen is not None
        return np.bincount(self.seen.indices, minlength=len(self.item_ids)).astype(np.float32)

    @cached_property
    def fingerprint(self) -> tuple[int, int]:
        """Tells this state from others, but not from its copies: checksums of some of the items'
        ids, and of some elements of what was learnt, but for what is of users, as a copy may lack.
        """
        ids = self.item_ids.values
        listed = repr((len(ids), _spread(ids).tolist()))
        items = found = zlib.crc32(listed.encode(errors="surrogatepass"))
        for name in sorted(self.arrays):
            if not name.startswith(("user", "history", "values")):
                array = self.arrays[name]
                found = zlib.crc32(repr((name, array.shape)).encode(), found)
                found = zlib.crc32(_spread(array.ravel()).tobytes(), found)
        return items, found


def _spread(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Some thousand elements, from all over an array of one axis."""
    return values[:: 1 + len(values) // 4096]


@dataclass(frozen=True, eq=False)
class NewUser:
    """A user whom the model was not trained on, known by a history: what ``fold_in`` gives.

    Args:
        items: the numbers of the items that the user had, rising: uint32.
        query: what the model has computed of them, of a shape that is the model's own; None where
            the history is all that scores need.
        steps: the numbers of the items in the order in which the user had them, for models that
            look at it; else None.
        of: the fingerprint of the state of the model that made it; None where it is not known.
        values: how much the user had of each item, for models that look at it; None for 1 of each.
    """

    items: IndexArray
    query: Float32Array | None
    steps: IndexArray | None = None
    of: tuple[int, int] | None = None
    values: Float32Array | None = None


def pairs_of(users: Sequence[NewUser], n_items: int) -> _core.Csr:
    """The items that new users had, in the order of the users."""
    rows = np.repeat(np.arange(len(users), dtype=np.uint32), [len(user.items) for user in users])
    return _core.Csr(rows, np.concatenate([user.items for user in users]), len(users), n_items)


class Reasons(NamedTuple):
    """What a score is made of.

    Args:
        items: numbers of items that the user had.
        parts: what each adds to the score.
        rest: the part of the score that comes of none of them; None for none.
    """

    items: IndexArray
    parts: npt.NDArray[Any]
    rest: float | None = None

    def listed(self, item_ids: Ids) -> list[tuple[Id | None, float]]:
        """Pairs of an item and its part, the largest first; the rest beside the id None."""
        pairs: list[tuple[Id | None, float]]
        pairs = list(zip(item_ids.take(self.items).tolist(), self.parts.tolist(), strict=True))
        if self.rest is not None:
            pairs.append((None, self.rest))
        return sorted(pairs, key=lambda pair: -pair[1])


class Stateful(Hyperparameters):
    """A model that has hyperparameters and, once it is fitted, a state."""

    # What a model has learnt is no hyperparameter, hence not in a dataclass.
    _fitted: Fitted | None = None
    # Whether a fit can go on from a file.
    _resumes: ClassVar[bool] = False

    @property
    def is_fitted(self) -> bool:
        """Whether the model has learnt something."""
        return self._fitted is not None

    @property
    def fitted(self) -> Fitted:
        """The state. Raises RuntimeError for a model that was not fitted."""
        if self._fitted is None:
            raise RuntimeError(f"this {type(self).__name__} is not fitted: call fit(data) first")
        return self._fitted

    def _resolved(
        self,
        pairs: _core.Csr | None,
        data: Interactions | None = None,
        before: Fitted | None = None,
    ) -> Self:
        """The model with numbers for the hyperparameters that it chooses by the pairs of data, and
        by the interactions that it is to learn from after an earlier state.

        Raises ValueError for a model that chooses, where there are no pairs.
        """
        return self

    def _scores_values(self) -> bool:
        """Whether scores are what values of interactions are, such as ratings, and not an order."""
        return False

    def _set_fitted(self, fitted: Fitted) -> None:
        """Takes a state that requests will be answered from."""
        fitted.close()
        self._fitted = fitted

    def _snapshot(self) -> Self:
        """The model as it is now, whatever other threads fit while a request is answered."""
        model = object.__new__(type(self))
        # One call of a dict's method: it is copied whole, and faster than by the copy module.
        model.__dict__.update(self.__dict__)
        return model

    def _as_fitted(self) -> Self:
        """The model with the hyperparameters that it was fitted with.

        By these it answers: what ``set_params`` has changed since counts from the next fit on, but
        for the number of threads and the seed, which are no part of what was learnt.
        """
        model = self._snapshot()
        return model._learnt_by(model.fitted)._resolved(model.fitted.seen)

    def _learnt_by(self, fitted: Fitted) -> Self:
        """The model with the hyperparameters by which a state was learnt."""
        model = self._snapshot()
        for name, value in fitted.params.items():
            if name not in CALLS:
                setattr(model, name, value)
        return model

    def _new_user(
        self,
        items: IndexArray,
        query: Float32Array | None,
        steps: IndexArray | None = None,
    ) -> NewUser:
        """A new user of this model, as it is."""
        return NewUser(items, query, steps, self.fitted.fingerprint)

    def _check_new(self, users: Sequence[NewUser]) -> None:
        """Raises ValueError for a new user of another model, or of this one before a fit.

        Of one who has a history alone the items have to be the same.
        """
        for row, user in enumerate(users):
            known = slice(1 if user.query is None else 2)
            if user.of is not None and user.of[known] != self.fitted.fingerprint[known]:
                raise ValueError(
                    f"users: new user {row}, counted from 0, is of another model, or of this one "
                    "before it was fitted again, expected one that its fold_in has made"
                )

    def _array_types(self) -> Mapping[str, ArrayType]:
        """What the model's arrays must be, by name: what a file is checked against."""
        raise TypeError(
            f"{type(self).__name__} has no files, for it does not say what its arrays are "
            "(_array_types)"
        )

    def _check_arrays(self, fitted: Fitted) -> None:
        """Raises ValueError for arrays that are of the right types and yet cannot be.

        They may come from a file, which is not trusted: a model looks whether indices are in range.
        """
