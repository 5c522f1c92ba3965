"""A trained factorisation that answers in the caller's own ids."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import islice, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

import wyrmling as wy

from .. import _core
from ..data import Ids, Interactions
from ..evaluate import Quality, measure, seen_pairs
from ..tensor_files import Contents, read, write

__all__ = ["Model"]

FloatArray = npt.NDArray[np.float32]

FORMAT = "wyrmling.factorisation/1"


@dataclass(frozen=True, eq=False)
class Model:
    """Scores are ``users[u] @ items[i] + item_bias[i]``.

    :class:`BPR` and :meth:`load` make one; :meth:`from_factors` makes one of vectors
    that a loss of your own has trained. Models can be pickled and copied; a file that need not be
    trusted is written by :meth:`save`.

    Args:
        users: vectors of users, float32, shape (n, d).
        items: vectors of items, float32, shape (m, d).
        item_bias: float32, shape (m,).
        user_ids: ids of users, by row.
        item_ids: ids of items, by row.
        train: which items each user had in training, for n users and m items.
        history: how training went; None for a model from a file.
    """

    users: FloatArray
    items: FloatArray
    item_bias: FloatArray
    user_ids: Sequence[str]
    item_ids: Sequence[str]
    train: _core.Csr
    history: wy.History | None = None

    @classmethod
    def from_factors(
        cls,
        users: npt.ArrayLike,
        items: npt.ArrayLike,
        item_bias: npt.ArrayLike | None,
        data: Interactions,
        history: wy.History | None = None,
    ) -> Model:
        """A model of vectors that were trained elsewhere, rounded to float32.

        Args:
            users: vectors of users, shape (data.n_users, d); of a Parameter, its ``value``.
            items: vectors of items, shape (data.n_items, d).
            item_bias: shape (data.n_items,), or None for no bias.
            data: what they were trained on. Names users and items, and says what
                :meth:`recommend` leaves out.
            history: how training went.

        Raises:
            ValueError: shapes that do not fit together.
        """
        n_users, n_items = data.n_users, data.n_items
        users, items = np.array(users, np.float32), np.array(items, np.float32)
        bias = np.zeros(n_items, np.float32)
        if item_bias is not None:
            bias = np.array(item_bias, np.float32)
        if users.ndim != 2:
            raise ValueError(f"users has shape {users.shape}, expected ({n_users}, d)")
        for name, array, expected in (
            ("users", users, (n_users, users.shape[1])),
            ("items", items, (n_items, users.shape[1])),
            ("item_bias", bias, (n_items,)),
        ):
            if array.shape != expected:
                raise ValueError(f"{name} has shape {array.shape}, expected {expected}")
        ids = [str(id_) for id_ in data.user_ids], [str(id_) for id_ in data.item_ids]
        return cls(users, items, bias, *ids, seen_pairs("data", data), history)

    def __repr__(self) -> str:
        n_users, factors = self.users.shape
        return f"Model({n_users:,} users, {len(self.items):,} items, {factors} factors)"

    def recommend(
        self, user_id: str | int, k: int = 10, exclude_seen: bool = True
    ) -> list[tuple[str, float]]:
        """The items with the highest scores for a user, the highest first.

        Args:
            user_id: the user, as the training data calls it.
            k: how many items; there are fewer when there are no more.
            exclude_seen: whether to leave out items the user had in training.

        Returns:
            Item ids with scores, which only compare within a user.

        Raises:
            KeyError: a user that was not in the training data.
            TypeError: something else than one id; :meth:`recommend_many` takes several.
            ValueError: k below 1.
        """
        return self.recommend_many([user_id], k, exclude_seen)[0]

    def recommend_many(
        self, user_ids: Iterable[str | int], k: int = 10, exclude_seen: bool = True
    ) -> list[list[tuple[str, float]]]:
        """What :meth:`recommend` gives for each of some users, on all cores."""
        users = np.array([self._user_number(user_id) for user_id in user_ids], np.uint32)
        seen = self.train.select(users) if exclude_seen else None
        best, scores = _core.top_k(self.users[users], self.items, self.item_bias, seen, k)
        return [
            [
                (self.item_ids[item], score)
                for item, score in zip(*row, strict=True)
                if item != _core.NO_ITEM
            ]
            for row in zip(best.tolist(), scores.tolist(), strict=True)
        ]

    def evaluate(self, test: Interactions, k: int = 10) -> Quality:
        """Measures how well the model ranks held-out interactions.

        Users and items are matched by id, so ``test`` may be numbered in another way
        than the training data.

        Raises:
            ValueError: an id that the model does not know, or nothing held out.
        """
        users = _translate("user", test.users, test.user_ids, self._user_numbers)
        items = _translate("item", test.items, test.item_ids, self._item_numbers)
        pairs = _core.Csr(users, items, len(self.user_ids), len(self.item_ids))
        return measure(self.users, self.items, self.item_bias, self.train, pairs, k)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a safetensors file, which replaces an existing one all at once.

        The new file keeps the permissions of the old, and where the path is a symbolic link the
        file that it leads to is replaced. A checksum of each tensor stands in the metadata.

        Raises:
            OSError: the file cannot be written.
            FloatingPointError: a number is not finite.
        """
        for name in ("users", "items", "item_bias"):
            _check_finite(name, getattr(self, name))
        write(path, Contents(FORMAT, {}, self._arrays()))

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        arrays: dict[str, npt.NDArray[Any]] = {
            name: getattr(self, name) for name in ("users", "items", "item_bias")
        }
        for name, ids, count in (
            ("user_id", self.user_ids, len(self.users)),
            ("item_id", self.item_ids, len(self.items)),
        ):
            if isinstance(ids, str) or not (
                hasattr(ids, "__iter__") or hasattr(ids, "__getitem__")
            ):
                raise TypeError(f"{name}s: expected texts, got {type(ids).__name__}")
            # An iterable need not end.
            found = list(islice(ids, count + 1))
            if len(found) != count or not all(isinstance(id_, str) for id_ in found):
                raise ValueError(f"{name}s: expected {count} texts")
            if len(set(found)) < count:
                raise ValueError(f"{name}s: expected distinct ids")
            texts = [id_.encode() for id_ in found]
            arrays[f"{name}s"] = np.frombuffer(b"".join(texts), np.uint8)
            arrays[f"{name}_offsets"] = np.cumsum([0, *map(len, texts)], dtype=np.uint64)
        arrays["train_indptr"] = self.train.indptr
        arrays["train_items"] = self.train.indices
        return arrays

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Reads what :meth:`save` wrote, in this version or before. The file need not be trusted.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is not a model, or damaged: what the checksums do not fit is refused.
            MemoryError: there is no memory for it.
        """
        contents = read(path, [FORMAT])
        try:
            return cls._of(contents.arrays)
        except (KeyError, ValueError, IndexError) as error:
            message = f"no tensor {error}" if isinstance(error, KeyError) else str(error)
            raise ValueError(f"{path}: {message}") from None

    @classmethod
    def _of(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Model:
        users, items, bias = arrays["users"], arrays["items"], arrays["item_bias"]
        train = _core.Csr.from_parts(arrays["train_indptr"], arrays["train_items"], len(items))
        ids = {
            name: _ids(arrays[f"{name}s"], arrays[f"{name}_offsets"])
            for name in ("user_id", "item_id")
        }
        n_users, n_items = len(ids["user_id"]), len(ids["item_id"])
        width = users.shape[1:]
        for name, array, shape in (
            ("users", users, (n_users, *width)),
            ("items", items, (n_items, *width)),
            ("item_bias", bias, (n_items,)),
            ("train", train, (n_users, n_items)),
        ):
            if array.shape != shape or len(width) != 1:
                raise ValueError(f"{name} has shape {array.shape}, expected {shape}")
            if isinstance(array, np.ndarray):
                if array.dtype != np.float32:
                    raise ValueError(f"{name} has dtype {array.dtype}, expected float32")
                _check_finite(name, array)
        return cls(users, items, bias, ids["user_id"], ids["item_id"], train)

    def __getstate__(self) -> dict[str, Any]:
        # The cached dictionaries of ids are left out: they are large and are computed when needed.
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _user_number(self, user_id: object) -> int:
        if not isinstance(user_id, (str, int, np.integer)):
            raise TypeError(
                f"expected a user's id, a string or integer, got {user_id!r}; "
                "recommend_many takes several"
            )
        user = self._user_numbers.get(str(user_id))
        if user is None:
            some = ", ".join(repr(known) for known in self.user_ids[:3])
            raise KeyError(
                f"user {str(user_id)!r} is not among the {len(self.user_ids):,} users "
                f"that the model knows, such as {some}"
            )
        return user

    @cached_property
    def _user_numbers(self) -> dict[str, int]:
        return {id_: number for number, id_ in enumerate(self.user_ids)}

    @cached_property
    def _item_numbers(self) -> dict[str, int]:
        return {id_: number for number, id_ in enumerate(self.item_ids)}


def _check_finite(name: str, array: FloatArray) -> None:
    if not np.isfinite(array).all():
        raise FloatingPointError(f"{name} has elements that are not finite")


def _ids(text: npt.NDArray[np.uint8], offsets: npt.NDArray[np.uint64]) -> list[str]:
    """The ids whose UTF-8 stands one after the other."""
    ends = offsets.tolist()
    content = text.tobytes()
    if not ends or ends[0] != 0 or ends[-1] != len(content) or sorted(ends) != ends:
        raise ValueError("offsets of ids must rise from 0 to the length of their text")
    ids = [content[start:end].decode() for start, end in pairwise(ends)]
    if len(set(ids)) < len(ids):
        raise ValueError("ids must differ, found one twice")
    return ids


def _translate(
    name: str, column: npt.NDArray[np.uint32], ids: Ids, numbers: dict[str, int]
) -> npt.NDArray[np.uint32]:
    """The model's numbers for a column that is numbered by ``ids``."""
    table = np.array([numbers.get(str(id_), -1) for id_ in ids], np.int64)
    translated = table[column]
    unknown = np.flatnonzero(translated < 0)
    if len(unknown):
        first = ids[column[unknown[0]]]
        raise ValueError(f"test has {name} {first!r}, which the model does not know")
    return translated.astype(np.uint32)
