"""What models of sequences share: histories in order, training step by step, and states of users.

A sample is a history of up to ``max_length`` items and the one after each; a longer one is several
samples. Histories have any length and are not padded. The vectors of users are the states after
their last ``max_length`` items; they are computed when training ends, or is validated, from the
histories, which the model keeps in order to go on from them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

import wyrmling as wy

from ... import nn
from ...array_types import Float32Array, IndexArray
from ...data import Id, Interactions
from ...data.pairs import users_of
from ..arguments import numbers_of
from ..factors import FactorModel
from ..fitted import Arrays, ArrayType, Fitted, NewUser, Reasons
from ..hyperparameters import Bounds, Count, Scale
from ..training import Task
from .dropout import PARTS, factors_of
from .losses import LOSSES, LossName

__all__ = ["SequenceModel"]

ENCODED_AT_ONCE = 1 << 20
"""Numbers of an array of all steps of the histories that are encoded together, at most."""


@dataclass(kw_only=True, eq=False, repr=False)
class SequenceModel(FactorModel):
    """A model of the next item: a state, computed of the items before, times an item's vector.

    Interactions are taken in the order of their times, or of their rows where there are no times.
    Values and weights count for nothing. A fitted model keeps the order and not the times, so
    `partial_fit` puts what it is given after what was there, whatever its times.

    Args:
        loss: how the item that came is compared with ``n_negatives`` that the user never had:
            ``"bpr"``, ``"hinge"``, ``"warp"`` (the first that violates the order, by its estimated
            rank) or ``"softmax"``.
        n_negatives: how many items are drawn for each item of a history, uniformly.
        shared_negatives: whether they are drawn once for a whole history: all of its steps are then
            compared with the same, by one matrix product, so that many more cost as much.
        max_length: how many items a state may depend on.
        dropout: the share of a state's numbers that count for nothing, drawn anew for each history
            that is trained on, at least 0 and at most 0.9.
    """

    loss: LossName = "softmax"
    max_length: Annotated[int, Bounds(least=1, most=2**16)] = 100
    lr: Annotated[float, Bounds(above=0)] = 0.1
    l2: Annotated[float, Bounds(least=0)] = 1e-3
    batch_size: Count = 1
    optimizer: Literal["sgd", "adagrad", "adam"] = "adagrad"
    init_scale: Scale = 0.03
    n_negatives: Annotated[int, Bounds(least=1, most=2**14)] = 50
    shared_negatives: bool = False
    dropout: Annotated[float, Bounds(least=0, most=0.9)] = 0.0

    @abstractmethod
    def _parameter_types(self) -> dict[str, ArrayType]:
        """The parameters beside the items' vectors and biases."""

    @abstractmethod
    def _encode(self, vectors: npt.NDArray[Any], arrays: Arrays) -> Any:
        """The states after histories of one length, shape (n, d), of their vectors, (t, n, d)."""

    def _learn(self, task: Task) -> Arrays:
        names = "items", "item_bias"
        tables = {name: self._table(name, task) for name in names}
        for name, kind in self._parameter_types().items():
            tables[name] = wy.Parameter(self._start(name, kind, task), name=name)
        histories = _histories(task)
        users, samples = self._windows(histories, task.data.n_items)
        if not len(samples):
            raise ValueError(
                "data has no user with two interactions who lacks an item, "
                "expected some to learn from"
            )

        def arrays() -> Arrays:
            found: dict[str, Any] = {name: table.value for name, table in tables.items()}
            found["users"] = self._states(histories, found)
            if task.start is not None and "history_items" not in task.start:
                # Of a model that was saved without histories the states are all that is known.
                known = np.flatnonzero(histories.lengths[: len(task.start["users"])] == 0)
                found["users"][known] = task.start["users"][known]
            found["history_items"] = histories.values.astype(np.uint32)
            found["history_offsets"] = histories.offsets.astype(np.int64)
            return found

        weights = {table: self.l2_bias for name, table in tables.items() if name == "item_bias"}
        own = self.l2 if self.l2_items is None else self.l2_items
        optimizer = self._optimizer_with({tables["items"]: own} | weights)
        n_items, of = task.seen.shape[1], users_of(task.seen)
        lacking = task.seen.counts[of] < n_items
        sampler = wy.sampling.Uniform(
            n_items,
            positives=(of[lacking], task.seen.indices[lacking]),
            given="user",
            shape=self.n_negatives if self.shared_negatives else (self.n_negatives, "history"),
        )
        loss = partial(self._loss(), ranking=partial(LOSSES[self.loss], count=self.n_negatives))
        drawn: dict[str, Any] = {"negatives": sampler}
        if self.dropout > 0.0:
            loss = partial(loss, dropout=factors_of(self.dropout))
            drawn["draws"] = wy.sampling.Uniform(PARTS, shape=tables["items"].value.shape[1])
        columns: dict[str, Any] = {"history": samples, "user": users}
        run = self._run(task, tables, optimizer, arrays)
        wy.fit(loss, columns, sample=drawn, parameters=tables, **run)
        return arrays()

    def _start(self, name: str, kind: ArrayType, task: Task) -> Float32Array:
        """A parameter before training: as it was, or new."""
        shape = tuple(self.factors if axis == "factors" else int(axis) for axis in kind.shape)
        if task.start is not None:
            known = task.start[name]
            if known.shape != shape:
                raise ValueError(
                    f"{name} has shape {known.shape} in the fitted model, expected {shape}: "
                    "partial_fit goes on with the factors, and the blocks, that it had"
                )
            return known.astype(np.float32)
        return self._new(name, shape, task.rng)

    def _new(self, name: str, shape: tuple[int, ...], rng: np.random.Generator) -> Float32Array:
        """A parameter that is new: at random; what has one axis is 0."""
        return np.zeros(shape, np.float32) if len(shape) == 1 else nn.xavier(shape, rng)

    def _windows(self, histories: wy.Ragged, n_items: int) -> tuple[IndexArray, wy.Ragged]:
        """The samples of all users: whose each is, and its items. Windows overlap by one item."""
        of: list[int] = []
        starts: list[int] = []
        ends: list[int] = []
        offsets = histories.offsets
        for user in range(len(histories)):
            start, end = int(offsets[user]), int(offsets[user + 1])
            if len(np.unique(histories.values[start:end])) >= n_items:
                continue  # there is nothing to compare with
            for first in range(start, end - 1, self.max_length):
                of.append(user)
                starts.append(first)
                ends.append(min(first + self.max_length + 1, end))
        parts = [histories.values[a:b] for a, b in zip(starts, ends, strict=True)]
        lengths = np.array(ends, np.int64) - np.array(starts, np.int64)
        values = np.concatenate(parts) if parts else histories.values[:0]
        return np.array(of, np.uint32), wy.Ragged(values, np.append(0, np.cumsum(lengths)))

    def _states(self, histories: wy.Ragged, arrays: Arrays) -> Float32Array:
        """The states of users, shape (n, d); 0 for those without a history."""
        items, offsets = arrays["items"], histories.offsets
        lengths = np.minimum(histories.lengths, self.max_length)
        states = np.zeros((len(histories), items.shape[1]), np.float32)
        for length in np.unique(lengths[lengths > 0]).tolist():
            alike = np.flatnonzero(lengths == length)
            count = max(1, ENCODED_AT_ONCE // (length * max(length, items.shape[1])))
            for first in range(0, len(alike), count):
                users = alike[first : first + count]
                steps = offsets[users + 1] - length + np.arange(length)[:, None]
                states[users] = self._encode(items[histories.values[steps]], arrays)
        return states

    def _array_types(self) -> Mapping[str, ArrayType]:
        return {
            "users": ArrayType(("users", "factors")),
            "items": ArrayType(("items", "factors")),
            "item_bias": ArrayType(("items",)),
            "history_items": ArrayType(("steps",), "uint32", optional=True, private=True),
            "history_offsets": ArrayType(("ends",), "int64", optional=True, private=True),
        } | self._parameter_types()

    def _check_arrays(self, fitted: Fitted) -> None:
        arrays = fitted.arrays
        both = "history_items", "history_offsets"
        there = [name for name in both if name in arrays]
        if not there:
            return
        if len(there) == 1:
            raise ValueError(f"it has {there[0]} and not the other of {both}")
        histories = wy.Ragged(arrays[both[0]], arrays[both[1]])
        n_users, n_items = len(fitted.user_ids), len(fitted.item_ids)
        if len(histories) != n_users:
            raise ValueError(f"it has histories of {len(histories)} users, expected {n_users}")
        if len(histories.values) and histories.values.max() >= n_items:
            raise ValueError(f"history_items has an item that is none of {n_items}")

    # New users.

    def fold_in(self, history: Iterable[Id]) -> NewUser:
        """A user that the model was not trained on, by the items that they had, the last one last.

        Raises:
            KeyError: an item that the model does not know.
            TypeError: one id alone, a set, or what is no id.
        """
        model = self._as_fitted()
        steps = numbers_of("history", model.item_ids, history, ordered=True)
        return model._new_user(np.unique(steps), model._query(steps), steps)

    def _reasons(self, user: int | NewUser, item: int) -> Reasons:
        """How much less the score would be without each item: an approximation.

        Scores are no sums of what items add, so that parts do not add up. An item is left out of
        the last ``max_length`` wherever it occurs there; those before add nothing.
        """
        arrays, steps = self.fitted.arrays, self._steps(user)
        target = arrays["items"][item]
        had = np.unique(steps)
        without = [steps[steps != one] for one in had]
        states = self._states(wy.Ragged.from_list([steps, *without]), arrays)
        scores = states.astype(np.float64) @ target
        return Reasons(had, scores[0] - scores[1:])

    def _steps(self, user: int | NewUser) -> IndexArray:
        """The last items that a user had, in their order: those that their state depends on."""
        if isinstance(user, NewUser):
            if user.steps is None:
                raise ValueError("user: a new user of another model, expected one of fold_in")
            steps = user.steps
        else:
            arrays = self.fitted.arrays
            if "history_items" not in arrays:
                raise RuntimeError(
                    "the model was saved without histories: it does not know what users have had"
                )
            begin, end = arrays["history_offsets"][user : user + 2].tolist()
            steps = arrays["history_items"][begin:end]
        return steps[-self.max_length :]

    def _query(self, items: IndexArray) -> Float32Array:
        arrays = self.fitted.arrays
        one = wy.Ragged(items, np.array([0, len(items)]))
        found: Float32Array = self._states(one, arrays)[0]
        return found


def _histories(task: Task) -> wy.Ragged:
    """The items of each user in their order, those of earlier runs first."""
    data: Interactions = task.data
    order = np.arange(len(data)) if data.times is None else np.argsort(data.times, kind="stable")
    order = order[np.argsort(data.users[order], kind="stable")]
    users, items = data.users[order].astype(np.int64), data.items[order]
    if task.start is not None and "history_items" in task.start:
        before = task.start["history_offsets"]
        of = np.repeat(np.arange(len(before) - 1), np.diff(before))
        users = np.concatenate([of, users])
        items = np.concatenate([task.start["history_items"], items])
        joined = np.argsort(users, kind="stable")
        users, items = users[joined], items[joined]
    offsets = np.append(0, np.cumsum(np.bincount(users, minlength=data.n_users)))
    return wy.Ragged(items, offsets)
