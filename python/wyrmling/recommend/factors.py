"""Factor models: users and items are vectors, and a score is their product.

``score(u, i) = users[u] · items[i] + item_bias[i] + user_bias[u] + bias``, of which a model has
what its loss names. The loss is what distinguishes the models: a plain Python function of the
parameters and one sample, by which stochastic gradient descent finds the vectors
(:func:`wyrmling.fit`). :class:`.Custom` takes one from its user; the other models bring theirs.

The arguments of a loss are found by their names:

==================  ==============================================================================
``users, items``    the parameters: vectors, shapes (n, factors) and (m, factors)
``user_bias``       shape (n,)
``item_bias``       shape (m,)
``bias``            shape (1,)
``user, item``      the numbers of the sample's user and item
``value``           the value of the interaction, where data have values
``weight``          its weight, where data have weights; else its default, 1
``time``            its time, where data have times
``negative``        an item that the user did not have in training, drawn anew each time
``negatives``       several of them, drawn independently
``violator``        the first of several drawn that the model ranks less than 1 below the item
``rank``            the rank of the violator, estimated by the number of draws (:class:`.WARP`)
``hardest``         the one of several drawn that the model ranks highest
==================  ==============================================================================
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Literal
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

import wyrmling as wy

from .. import _core
from ..array_types import Float32Array, IndexArray
from ..data import Ids, Interactions
from ..data.pairs import users_of
from ..source.read_once import ReadOnce
from .checkpointing import TrainingState
from .fitted import Arrays, ArrayType, Fitted
from .hyperparameters import Bounds, Count, Scale
from .rehearsal import REHEARSED, check_kept, kept_columns, rehearsed
from .training import Task
from .units import in_units, measured
from .vectors import VectorModel

__all__ = ["FactorModel"]

Loss = Callable[..., Any]
Parameters = dict[str, wy.Parameter]
EpochCallback = Callable[[int, wy.History], bool | None]

OF_USERS = ("users", "user_bias")
TYPES = {
    "users": ArrayType(("users", "factors")),
    "items": ArrayType(("items", "factors")),
    "user_bias": ArrayType(("users",)),
    "item_bias": ArrayType(("items",)),
    "bias": ArrayType((1,)),
}
PARAMETERS = tuple(TYPES)
ATTRIBUTES = {
    "user": "users",
    "item": "items",
    "value": "values",
    "weight": "weights",
    "time": "times",
}
COLUMNS = tuple(ATTRIBUTES)
DRAWN = ("negative", "negatives", "violator", "rank", "hardest")
BY_SCORE = ("violator", "rank", "hardest")
NEGATIVES = ("negative", "negatives")
MOST_EPOCHS = 1000
"""So many epochs a new user is learnt in at most, since somebody waits for the answer."""
MOST_NUMBERS = 1 << 27
"""So many elements the vectors of a batch of a new user have at most."""


@dataclass(kw_only=True, eq=False, repr=False)
class FactorModel(VectorModel):
    """A model whose score is a product of vectors, trained by stochastic gradient descent.

    Args:
        factors: length of the vectors.
        lr: step length of the optimizer.
        schedule: ``"linear"``, by which the step length falls to 0 from epoch to epoch, or
            ``"constant"``.
        l2: weight of the penalty ``l2/2 · |w|²`` of each vector that a sample uses.
        l2_users: that of users' vectors; None for ``l2``.
        l2_items: that of items' vectors; None for ``l2``.
        l2_bias: that of biases.
        l2_per: ``"sample"``, by which the penalty counts for each sample that uses a vector, or
            ``"step"``, by which it counts once a step, so that larger batches weaken it.
        epochs: how many times every interaction is trained on; those of a new user, 1,000 times
            at most.
        batch_size: samples a step.
        deterministic: whether several threads give the same bits each time, more slowly; one thread
            always does.
        optimizer: ``"sgd"``; ``"adagrad"``, which shortens the steps of what changes often; or
            ``"adam"``, whose steps are about ``lr`` long whatever the size of gradients.
        init_scale: standard deviation of the vectors that training starts from.
        n_negatives: how many items ``negatives`` has, or are drawn at most for ``violator``, or for
            ``hardest``, for a loss that asks for one of these.
    """

    factors: Annotated[int, Bounds(least=1, most=2**16)] = 32
    lr: Annotated[float, Bounds(above=0)] = 0.05
    schedule: Literal["linear", "constant"] = "linear"
    l2: Annotated[float, Bounds(least=0)] = 0.01
    l2_users: Annotated[float, Bounds(least=0)] | None = None
    l2_items: Annotated[float, Bounds(least=0)] | None = None
    l2_bias: Annotated[float, Bounds(least=0)] = 0.0
    l2_per: Literal["sample", "step"] = "sample"
    epochs: Count = 20
    batch_size: Count = 64
    deterministic: bool = False
    optimizer: Literal["sgd", "adagrad", "adam"] = "sgd"
    init_scale: Scale = 0.1
    n_negatives: Annotated[int, Bounds(least=1, most=2**16)] = 10

    _resumes: ClassVar[bool] = True
    # How many users had each item, while a new user is learnt; in training the data say it.
    _counts: ClassVar[npt.NDArray[Any] | None] = None

    @abstractmethod
    def _loss(self) -> Loss:
        """The loss of a sample: a function of arguments that the module's head lists."""

    def _learn(self, task: Task) -> Arrays:
        loss, unit = self._loss(), self._unit(task)
        start = None if task.start is None else in_units(task.start, 1.0 / unit)
        begun = replace(task, data=measured(task.data, unit), start=start)
        tables = {name: self._table(name, begun) for name in _parameters(loss)}
        defaults = columns_of(loss)
        before = None if task.start is None else self._fitted
        data = rehearsed(task.data, before, defaults)
        columns, sample = self._samples(loss, tables, measured(data, unit), task.seen)
        kept = kept_columns(data, task.seen, defaults)
        if unit != 1.0:
            kept["unit"] = np.array([unit], np.float32)

        def arrays() -> Arrays:
            learnt = {name: table.value for name, table in tables.items()}
            return {**in_units(learnt, unit), **kept}

        run = self._run(task, tables, self._optimizer(tables), arrays)
        wy.fit(loss, columns, sample=sample, parameters=tables, **run)
        return arrays()

    def _unit(self, task: Task) -> float:
        """What values are measured in while a model learns."""
        return 1.0

    def _run(
        self,
        task: Task,
        tables: Parameters,
        optimizer: wy.Optimizer,
        arrays: Callable[[], Arrays],
    ) -> dict[str, Any]:
        """Begins a run of parameters, or goes on with it: arguments of :func:`wyrmling.fit`."""
        monitor = task.monitor
        assert monitor is not None
        scheduled = epochs = task.epochs or self.epochs
        if task.epochs is None and task.start is not None:
            # A whole schedule would train what is known twice as long as a fit does, and fit it too
            # closely. Its second half is long enough for rows that are new.
            epochs = -(-scheduled // 2)
        training = TrainingState(tables, optimizer, arrays, self.schedule == "linear")
        first = monitor.begin(epochs, training)

        def after(epoch: int, record: wy.History) -> bool:
            return monitor.epoch(epoch, record, arrays)

        return self._settings(optimizer, epochs, after, first, scheduled) | {
            "threads": self.num_threads,
            "seed": int(task.rng.integers(2**63)),
            "first_epoch": first,
        }

    def _minimise(
        self,
        loss: Loss,
        trained: Parameters,
        known: Parameters,
        data: Interactions,
        seen: _core.Csr,
        more: Mapping[str, npt.NDArray[Any]] = MappingProxyType({}),
    ) -> None:
        """Trains parameters of new users by a loss on some interactions, in one thread; samplers
        read all that are known.

        Columns of ``more`` are given to the loss beside those of the interactions.
        """
        model = copy(self)
        if self.fitted.seen is not None:
            object.__setattr__(model, "_counts", self.fitted.popularity)
        columns, sample = model._samples(loss, known, data, seen)
        columns.update(more)
        settings = self._settings(self._optimizer(trained), min(self.epochs, MOST_EPOCHS))
        # A file may have such batch_size and n_negatives that no memory holds a batch.
        of_sample = self.n_negatives * trained["users"].value.shape[1]
        settings["batch_size"] = min(
            self.batch_size, max(self._least_batch(), MOST_NUMBERS // of_sample)
        )
        if self.optimizer != "sgd" or self.l2_per == "step":
            # In training a batch seldom has several samples of one user. One step for all samples
            # of a new user would move the vector too little: steps of Adagrad and Adam are hardly
            # longer for a larger gradient, and a penalty by the step would count too little.
            settings["batch_size"] = self._least_batch()
        wy.fit(loss, columns, sample=sample, parameters=trained, **settings)

    def _least_batch(self) -> int:
        """How few samples a batch may have."""
        return 1

    def _settings(
        self,
        optimizer: wy.Optimizer,
        epochs: int,
        callback: EpochCallback | None = None,
        first: int = 0,
        scheduled: int | None = None,
    ) -> dict[str, Any]:
        """Arguments of :func:`wyrmling.fit` for epochs whose step length goes by the schedule: they
        are the last of so many.
        """
        skipped = 0 if scheduled is None else scheduled - epochs

        def begin(epoch: int) -> None:
            if epoch < epochs:
                shrinks = self.schedule == "linear"
                done = (skipped + epoch) / (skipped + epochs)
                optimizer.lr = self.lr * (1.0 - done) if shrinks else self.lr

        def after_epoch(epoch: int, record: wy.History) -> bool | None:
            stop = None if callback is None else callback(epoch, record)
            begin(epoch + 1)
            return stop

        begin(first)
        return {
            "optimizer": optimizer,
            "batch_size": self.batch_size,
            "epochs": epochs,
            "deterministic": self.deterministic,
            "callback": after_epoch,
        }

    def _samples(
        self, loss: Loss, known: Parameters, data: Interactions, seen: _core.Csr
    ) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        """The columns that a loss asks for, and what is drawn for it."""
        asked = inspect.signature(loss).parameters
        drawn = [name for name in DRAWN if name in asked]
        if drawn:
            # A user who has every item says nothing about preference: there is nothing to compare.
            data = data.take(seen.counts[data.users] < data.n_items)
            if len(data) == 0:
                raise ValueError(
                    "data has no interaction of a user who lacks an item, "
                    "expected some to learn from"
                )
        columns = {}
        for name in COLUMNS:
            if name not in asked:
                continue
            column = getattr(data, ATTRIBUTES[name])
            if column is not None:
                columns[name] = column
            elif asked[name].default is inspect.Parameter.empty:
                raise ValueError(f"data has no {name}s, which the loss asks for")
        if not drawn:
            return columns, {}
        for name in self._used_columns(drawn):
            columns.setdefault(name, getattr(data, ATTRIBUTES[name]))
        return columns, self._samplers(drawn, known, seen)

    def _used_columns(self, drawn: list[str]) -> tuple[str, ...]:
        """The columns that samplers of these names use."""
        return ("user", "item") if "violator" in drawn else ("user",)

    def _samplers(self, drawn: list[str], known: Parameters, seen: _core.Csr) -> dict[str, Any]:
        """What draws the arguments of these names."""
        n_items, users = seen.shape[1], users_of(seen)
        # A user who has every item has no samples, and there would be nothing to draw for them.
        lacking = seen.counts[users] < n_items
        positives = users[lacking], seen.indices[lacking]
        by_score: dict[str, Any] = {"positives": positives, "item_bias": known.get("item_bias")}
        samplers: dict[str, Any] = {}
        for name in drawn:
            if name in NEGATIVES:
                shape = self.n_negatives if name == "negatives" else None
                rest = {"positives": positives, "given": "user", "shape": shape}
                samplers[name] = self._negatives(known, seen, rest)
            elif name == "hardest":
                samplers[name] = wy.sampling.Dynamic(
                    known["users"], known["items"], of=self.n_negatives, **by_score
                )
            elif name == "violator":
                samplers[name] = wy.sampling.WARP(
                    known["users"], known["items"], most=self.n_negatives, **by_score
                )
        if "rank" in drawn:
            if "violator" not in drawn:
                raise ValueError("the loss asks for a rank, expected it to ask for violator too")
            samplers["rank"] = samplers["violator"].rank
        return samplers

    def _negatives(
        self, known: Parameters, seen: _core.Csr, rest: dict[str, Any]
    ) -> wy.sampling.Sampler | wy.sampling.ScoredSampler:
        """What draws items that a user did not have; `rest` are arguments that samplers share."""
        return wy.sampling.Uniform(seen.shape[1], **rest)

    def _reads_model(self, drawn: list[str]) -> bool:
        """Whether a sampler of these names reads the model."""
        return any(name in BY_SCORE for name in drawn)

    def _optimizer(self, trained: Parameters) -> wy.Optimizer:
        weights = {
            "users": self.l2 if self.l2_users is None else self.l2_users,
            "items": self.l2 if self.l2_items is None else self.l2_items,
        }
        return self._optimizer_with(
            {table: weights.get(name, self.l2_bias) for name, table in trained.items()}
        )

    def _optimizer_with(self, l2: dict[wy.Parameter, float]) -> wy.Optimizer:
        """The optimizer, with the weight of each parameter's penalty."""
        kinds: dict[str, Callable[..., wy.Optimizer]] = {
            "sgd": wy.SGD,
            "adagrad": wy.Adagrad,
            "adam": wy.Adam,
        }
        return kinds[self.optimizer](lr=self.lr, l2=l2, l2_per=self.l2_per)

    def _table(self, name: str, task: Task) -> wy.Parameter:
        """A parameter: what is known of it, and for new rows random vectors or biases of 0."""
        rows = self._first(name, task.data.n_users, task.data.n_items, task.rng)
        if name in ("users", "items"):
            # Nothing is learnt of who had nothing, or everything where that is compared with what
            # they lack, and of what nobody had but where it is drawn to be compared with: scores
            # are those of biases, as for a new user, and not noise.
            if name == "users":
                nothing = task.seen.counts == 0
                if any(one in DRAWN for one in inspect.signature(self._loss()).parameters):
                    nothing |= task.seen.counts == task.data.n_items
            else:
                nothing = np.bincount(task.seen.indices, minlength=len(rows)) == 0
            rows[nothing] = 0.0
        if name == "bias" and task.data.values is not None:
            values, weights = task.data.values.astype(np.float64), task.data.weights
            counts = weights is not None and weights.any()
            rows[:] = np.average(values, weights=weights if counts else None)
        if task.start is not None:
            self._continue(rows, task.start[name])
        return wy.Parameter(rows, name=name)

    def _continue(self, rows: npt.NDArray[Any], learnt: Float32Array) -> None:
        """Writes what was learnt over the first rows; vectors of which nothing was are as new."""
        if learnt.shape[1:] != rows.shape[1:]:
            raise ValueError(
                f"factors is {self.factors}, and was {learnt.shape[1]} when the model was fitted: "
                "partial_fit goes on with the length that it had"
            )
        there = learnt.any(axis=1) if learnt.ndim == 2 else np.ones(len(learnt), bool)
        # Two vectors of 0 that meet in a product would stay so.
        rows[: len(learnt)][there] = learnt[there]

    def _first(
        self, name: str, n_users: int, n_items: int, rng: np.random.Generator
    ) -> Float32Array:
        """What a parameter is before training."""
        count = {"bias": 1}.get(name, n_users if name in OF_USERS else n_items)
        if name.endswith("bias"):
            return np.zeros(count, np.float32)
        return self._random(count, self.factors, rng)

    def _random(self, count: int, width: int, rng: np.random.Generator) -> Float32Array:
        """Vectors before training."""
        return rng.normal(0.0, self.init_scale, (count, width)).astype(np.float32)

    def _array_types(self) -> Mapping[str, ArrayType]:
        return {name: TYPES[name] for name in _parameters(self._loss())} | REHEARSED

    def _check_arrays(self, fitted: Fitted) -> None:
        check_kept(fitted)

    # New users.

    def _query(self, items: IndexArray) -> Float32Array:
        return self._learnt(items, None)

    def _learnt(self, items: IndexArray, values: Float32Array | None) -> Float32Array:
        """The vector of a new user, and their bias if the loss has one, found as in training while
        all else stays as it is.

        They are 0 where there is nothing to learn from: items then rank by their biases.
        """
        loss, n_items = self._loss(), len(self.item_ids)
        names = [name for name in _parameters(loss) if name in OF_USERS]
        asked = inspect.signature(loss).parameters
        draws = any(name in DRAWN for name in asked)
        width = self.fitted.arrays["users"].shape[1]
        if not len(items) or (draws and len(np.unique(items)) == n_items):
            return np.zeros(width + len(names) - 1, np.float32)
        # As long as in the fitted state, whatever the hyperparameter is now.
        first = {"users": self._random(1, width, np.random.default_rng(0))}
        zero = np.zeros(1, np.float32)
        tables = {name: wy.Parameter(first.get(name, zero), name=name) for name in names}
        fixed, others = self._fixed(loss)
        user = np.zeros(len(items), np.uint32)
        needed = [name for name in asked if asked[name].default is inspect.Parameter.empty]
        if "time" in needed:
            raise ValueError("history has no times, which the loss asks for without a default")
        weights = np.ones(len(items), np.float32) if "weight" in needed else None
        data = Interactions(user, items, Ids(["new"]), self.item_ids, values, weights)
        # Two runs cannot have one parameter: each call has its own, and those of one call are kept.
        idle = IDLE.setdefault(self.fitted, {}).setdefault(tuple(others), [])
        try:
            read = idle.pop()
        except IndexError:
            read = {name: wy.Parameter(array, name=name) for name, array in others.items()}
        self._minimise(fixed, tables, tables | read, data, _core.Csr(user, items, 1, n_items))
        if not idle:
            idle.append(read)
        found: Float32Array = np.concatenate([tables[name].value.ravel() for name in names])
        return found

    def _fixed(self, loss: Loss) -> tuple[ReadOnce, Arrays]:
        """A loss of new users, where all else stays as it is in the fitted state, and what samplers
        read that read the model.
        """
        asked = inspect.signature(loss).parameters
        names = [name for name in _parameters(loss) if name not in OF_USERS]
        kept = FIXED.setdefault(self.fitted, {})
        # By identity, since a loss need not have a hash; what is kept holds it.
        if id(loss) not in kept:
            kept[id(loss)] = ReadOnce(partial(loss, **self._known(names)))
        drawn = [name for name in DRAWN if name in asked]
        return kept[id(loss)], self._known(names) if self._reads_model(drawn) else {}

    def _known(self, names: list[str]) -> Arrays:
        """The arrays of these names as new users are learnt by them."""
        return {name: self.fitted.arrays[name] for name in names}


FIXED: WeakKeyDictionary[Fitted, dict[int, ReadOnce]] = WeakKeyDictionary()
"""The losses of new users of each state, which are read when first asked for; each holds a copy of
the items' vectors from then on.
"""
IDLE: WeakKeyDictionary[Fitted, dict[tuple[str, ...], list[Parameters]]] = WeakKeyDictionary()
"""Of each state the parameters that samplers of new users read, by their names, while no run has
them.
"""


def _parameters(loss: Loss) -> list[str]:
    """The parameters that a loss names."""
    asked = inspect.signature(loss).parameters
    return [name for name in PARAMETERS if name in asked]


def columns_of(loss: Loss) -> dict[str, Any]:
    """The columns beside users and items that a loss asks for, and their defaults."""
    asked = inspect.signature(loss).parameters
    return {
        ATTRIBUTES[name]: asked[name].default
        for name in COLUMNS
        if name in asked and name not in ("user", "item")
    }
