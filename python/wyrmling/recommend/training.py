"""A run of training: what is learnt from, and what monitors it.

Validation belongs to every model: the monitor measures the model after each epoch, keeps the best
state, stops a run that no longer improves, and says so where popularity ranks better.
"""

from __future__ import annotations

import errno
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np

import wyrmling as wy

from .. import _core
from ..arguments import check_flag
from ..array_types import IndexArray
from ..data import Ids, Interactions
from ..data.interactions import check_interactions
from ..data.pairs import among, users_of
from ..evaluation import evaluate
from ..evaluation.metrics import ERRORS, parse, sign
from ..evaluation.models import popularity
from ..evaluation.trained import Trained, check_values
from ..evaluation.validation import validation_split
from ..progress import Progress
from ..tensor_files import check_writable
from .checkpointing import CheckpointFile, RunProgress, TrainingState, checksum, run_of
from .fitted import Arrays, Fitted, Stateful
from .hyperparameters import Bounds, Count, check
from .learning_curve import LearningCurve

__all__ = ["Callback", "MonitorSettings", "Task", "TrainingMonitor"]

Callback = Callable[[int, LearningCurve], bool | None]


class Learner(Protocol):
    """What a run of training knows of the model that learns."""

    _resumes: ClassVar[bool]

    @property
    def random_state(self) -> int | None:
        """Seed of the random choices."""

    def _with(self, fitted: Fitted) -> Self:
        """The model in another state."""

    def get_params(self) -> dict[str, Any]:
        """The hyperparameters by name."""


@dataclass(frozen=True)
class Task:
    """What a model is to learn from.

    Args:
        data: interactions, numbered as the model will number users and items.
        seen: the items of each user, with those of earlier runs that this one continues.
        validation: interactions to measure on, by ids; None for none.
        start: the arrays to continue from, for the first users and items; None to start anew.
        epochs: passes over the data that the caller asks for; None for the model's own number.
        rng: the source of random numbers.
        monitor: what the model tells after each epoch.
    """

    data: Interactions
    seen: _core.Csr
    validation: Interactions | None
    start: Arrays | None
    epochs: int | None
    rng: np.random.Generator
    monitor: TrainingMonitor | None = None

    @classmethod
    def of(
        cls,
        model: Learner,
        data: Interactions,
        before: Fitted | None,
        epochs: int | None,
        validation: Interactions | float | None,
    ) -> Task:
        """Checks what a model is given, and numbers it as the model does."""
        check_interactions("data", data)
        check("epochs", epochs, Count | None)
        rng = np.random.default_rng(model.random_state)
        kept_out = None
        if validation is not None:
            seed = 0 if isinstance(validation, Interactions) else int(rng.integers(2**63))
            data, kept_out = validation_split("validation", validation, data, seed)
        if len(data) == 0:
            raise ValueError("data has no interactions, expected some to learn from")
        if before is None:
            seen = _pairs(data)
        else:
            if model.random_state is not None:
                # What a run drew is not drawn again by the next, which goes on from its end.
                rng = np.random.default_rng([model.random_state, checksum(before.arrays)])
            data = _renumbered(data, before)
            seen = _pairs(data) if before.seen is None else _union(before.seen, data)
        if kept_out is not None:
            _check_measurable(kept_out, data, seen)
        start = None if before is None else before.arrays
        return cls(data, seen, kept_out, start, epochs, rng)


class MonitorSettings(NamedTuple):
    """How a run is monitored.

    Args:
        metric: what is measured on the validation data.
        patience: epochs without improvement after which it stops; None for no end.
        callback: called after each epoch; returns True to stop.
        progress: whether to show the epochs.
        checkpoint: the file by which it goes on where it was interrupted; None for none.
    """

    metric: str
    patience: int | None
    callback: Callback | None
    progress: bool
    checkpoint: str | os.PathLike[str] | None


class TrainingMonitor:
    """Measures a model while it learns.

    Args:
        model: the model.
        task: what it learns from.
        settings: how it is monitored.
    """

    def __init__(self, model: Learner, task: Task, settings: MonitorSettings) -> None:
        metric, patience, callback, progress, checkpoint = settings
        check_flag("progress", progress)
        if patience is not None:
            if task.validation is None:
                raise ValueError("patience needs validation, which is None")
            check("patience", patience, Annotated[int, Bounds(least=1)])
        if not isinstance(metric, str):
            raise TypeError(f"metric is {metric!r}, expected a name such as 'ndcg@10'")
        wanted = parse(metric)
        if task.validation is not None:
            check_values(model, task.validation, wanted, "validation")
        if callback is not None and not callable(callback):
            raise TypeError(f"callback is {callback!r}, expected a function")
        if checkpoint is not None:
            _check_checkpoint(checkpoint, model)
        self._model = model
        self._task = task
        self._metric = metric
        self._patience = patience
        self._callback = callback
        self._progress = progress
        # A callback may change the working directory.
        self._path = None if checkpoint is None else os.path.abspath(checkpoint)
        self._file: CheckpointFile | None = None
        self._bar: Progress | None = None
        self._best: Arrays | None = None
        self.history = LearningCurve()

    def begin(self, epochs: int, training: TrainingState | None = None) -> int:
        """Says how many epochs there will be, and what is trained, which goes on from its file.

        Returns:
            The number of epochs that were trained; all if the run has ended.
        """
        first = 0
        if self._path is not None and training is not None:
            model, task = self._model, self._task
            assert isinstance(model, Stateful)
            state = self._state(training.arrays())
            measured = None if task.validation is None else (task.validation, self._metric)
            run = run_of(model, training, state, epochs, task.data, measured)
            self._file = CheckpointFile(self._path, training, run)
            first = self._resume(self._file.load(model, state), epochs)
        if self._progress:
            self._bar = Progress(epochs, first)
        return first

    def _resume(self, found: RunProgress | None, epochs: int) -> int:
        if found is None:
            return 0
        done, best = len(found.curve), found.curve.best_epoch
        if done > epochs:
            raise ValueError(f"{self._path}: it has {done} epochs, expected {epochs} at most")
        metrics = [] if self._task.validation is None else [self._metric]
        if list(found.curve.validation) != metrics:
            raise ValueError(f"{self._path}: its learning curve is not of {metrics}")
        self.history, self._best = found.curve, found.best
        ends = best is not None and self._patience is not None and done - 1 - best >= self._patience
        return epochs if found.stopped or ends else done

    def epoch(self, number: int, record: wy.History, arrays: Callable[[], Arrays]) -> bool:
        """Looks at an epoch that has ended; `arrays` gives the state. True asks to stop."""
        history = self.history
        history.samples = record.samples
        assert record.last is not None
        loss, seconds = record.last
        history.loss.append(loss / record.samples)
        history.seconds.append(seconds)
        if self._bar is not None:
            self._bar(number, record)
        stop = stopped = False
        if self._task.validation is not None:
            stop = self._validate(number, arrays())
        if self._callback is not None:
            answer = self._callback(number, history.copied())
            # A callback that returns a number, such as a loss, is an error, as in wyrmling.fit.
            stopped = answer is not None and check_flag("what callback returns", answer)
        if self._file is not None:
            self._file.save(RunProgress(history, self._best, stopped))
        return stop or stopped

    def _validate(self, number: int, arrays: Arrays) -> bool:
        measured = self._measure(self._state(arrays))
        values = self.history.validation.setdefault(self._metric, [])
        values.append(measured)
        best = self.history.best_epoch
        better = sign(self._metric)
        if best is None or better * measured > better * values[best]:
            self.history.best_epoch = number
            self._best = {name: array.copy() for name, array in arrays.items()}
            return False
        return self._patience is not None and number - best >= self._patience

    def finish(self, arrays: Arrays) -> Fitted:
        """The state that the model is to have: the best, or the last."""
        if self._bar is not None:
            self._bar.close()
        fitted = self._state(arrays if self._best is None else self._best)
        if self._task.validation is not None and self._metric not in ERRORS:
            self._compare(fitted)
        return fitted

    def _state(self, arrays: Arrays) -> Fitted:
        task = self._task
        history = self.history if len(self.history) else None
        ids = task.data.user_ids, task.data.item_ids
        return Fitted(*ids, task.seen, arrays, history, self._model.get_params())

    def _measure(self, fitted: Fitted) -> float:
        return self._metric_of(self._model._with(fitted))

    def _metric_of(self, model: Learner | Trained) -> float:
        assert self._task.validation is not None
        return evaluate(model, self._task.validation, [self._metric], resamples=1)[self._metric]

    def _compare(self, fitted: Fitted) -> None:
        """Warns where popularity ranks the validation data better than the model."""
        model = self._model._with(fitted)
        learnt, popular = self._metric_of(model), self._metric_of(popularity(model))
        if learnt < popular:
            warnings.warn(
                f"{type(self._model).__name__} is worse than the ranking by popularity on the "
                f"validation data: {self._metric} is {learnt:.4f}, that of popularity "
                f"{popular:.4f}; other hyperparameters, or another model, may suit the data",
                stacklevel=5,
            )


def _check_checkpoint(checkpoint: object, model: Learner) -> None:
    """Raises TypeError for what is no path, ValueError for a model that cannot go on from one.

    A folder that is not there, or in which nothing can be written, is an OSError now, and not after
    the first epoch.
    """
    if not isinstance(checkpoint, (str, os.PathLike)):
        raise TypeError(f"checkpoint is {checkpoint!r}, expected a path")
    folder = os.path.dirname(os.path.realpath(checkpoint))
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "checkpoint is in no folder", os.fspath(checkpoint))
    if not model._resumes:
        raise ValueError(
            f"checkpoint is {os.fspath(checkpoint)!r}, expected None: {type(model).__name__} does "
            "not train by gradient steps, and has nothing to go on from"
        )
    if model.random_state is None:
        raise ValueError(
            "checkpoint needs random_state, which is None: a run that goes on draws what it would "
            "have drawn"
        )
    check_writable(folder, "checkpoint", checkpoint)


def _check_measurable(kept_out: Interactions, data: Interactions, seen: _core.Csr) -> None:
    """Raises ValueError where no interaction can be measured that was held out."""
    users = data.user_ids.numbers(kept_out.user_ids)[kept_out.users]
    items = data.item_ids.numbers(kept_out.item_ids)[kept_out.items]
    known = (users >= 0) & (items >= 0)
    if among(seen, users[known], items[known]).all():
        raise ValueError(
            f"validation has {len(kept_out)} interactions, of which {np.count_nonzero(~known)} are "
            "of a user or item that is not in the data and all others are in the data: expected "
            "some to measure"
        )


def _pairs(data: Interactions) -> _core.Csr:
    return _core.Csr(data.users, data.items, data.n_users, data.n_items)


def _union(before: _core.Csr, data: Interactions) -> _core.Csr:
    """The pairs of earlier runs and of these interactions."""
    return _core.Csr(
        np.concatenate([users_of(before), data.users]),
        np.concatenate([before.indices, data.items]),
        data.n_users,
        data.n_items,
    )


def _renumbered(data: Interactions, before: Fitted) -> Interactions:
    """Interactions by the numbers of a model, with new ids after those that it knows."""

    def numbered(column: IndexArray, ids: Ids, known: Ids) -> tuple[IndexArray, Ids]:
        numbers = known.numbers(ids)
        new = np.flatnonzero(numbers < 0)
        numbers[new] = len(known) + np.arange(len(new))
        return numbers[column].astype(np.uint32), known.extended(ids.take(new))

    users, user_ids = numbered(data.users, data.user_ids, before.user_ids)
    items, item_ids = numbered(data.items, data.item_ids, before.item_ids)
    return replace(data, users=users, items=items, user_ids=user_ids, item_ids=item_ids)
