"""A fit that was interrupted goes on by the same call: ``model.fit(data, checkpoint=path)``.

After each epoch a file is replaced, at once and only by a complete one. It holds what
:mod:`wyrmling.checkpoints` keeps of parameters and their optimizer, ``best.NAME``, the arrays of
the epoch that was best on the validation data, ``curve``, the learning curve, and ``run``, by which
a fit knows its own file: the model's class, its hyperparameters, this version, and checksums of the
data, of the validation data, and of what training starts from, which features and an earlier fit
are part of. ``curve`` and ``run`` are UTF-8 of JSON.

A fit that finds a file of another run refuses it. It may have other ``epochs`` if the step length
does not depend on their number, and another ``patience``, ``callback`` and ``progress``. A run that
has ended, also by its callback, is given back as it was. The file stays until somebody removes it.

Limits: functions, such as the loss of :class:`.Custom`, are compared by their names and by the text
of their source, not by what they call. With several threads, unless ``deterministic``, a run that
goes on is one of many that the seed may give, as any other. Of each epoch a file is written that is
as large as parameters, state and best arrays together.
"""

from __future__ import annotations

import inspect
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

import wyrmling as wy

from .. import checkpoints
from ..data import Interactions
from ..tensor_files import Contents, read, write
from .files import check_arrays, check_finite, id_arrays, plain_hyperparameters
from .fitted import Arrays, Fitted, Stateful
from .learning_curve import LearningCurve

__all__ = ["CheckpointFile", "RunProgress", "TrainingState", "checksum", "run_of"]

FORMAT = "wyrmling.fit/1"
BEST, CURVE, RUN = "best.", "curve", "run"


@dataclass(frozen=True)
class TrainingState:
    """What a run trains.

    Args:
        tables: the parameters by name.
        optimizer: their optimizer.
        arrays: gives what the model has learnt so far.
        depends_on_epochs: whether an epoch depends on how many there will be.
    """

    tables: dict[str, wy.Parameter]
    optimizer: wy.Optimizer
    arrays: Callable[[], Arrays]
    depends_on_epochs: bool


@dataclass(frozen=True)
class RunProgress:
    """How far a run has come.

    Args:
        curve: how it went.
        best: the arrays of the best epoch; None where nothing is validated.
        stopped: whether its callback has ended it.
    """

    curve: LearningCurve
    best: Arrays | None
    stopped: bool


class CheckpointFile:
    """The file of a run.

    Args:
        path: where it is.
        training: what is trained.
        run: what tells the run from others.
    """

    def __init__(self, path: str, training: TrainingState, run: Mapping[str, Any]) -> None:
        self._path = path
        self._training = training
        self._run = run

    def save(self, progress: RunProgress) -> None:
        """Writes how far the run has come."""
        training, curve = self._training, progress.curve
        found = checkpoints.contents(FORMAT, training.tables, training.optimizer, len(curve))
        best = {BEST + name: array for name, array in (progress.best or {}).items()}
        about = {"stopped": progress.stopped} | vars(curve)
        more = {RUN: checkpoints.encoded(self._run), CURVE: checkpoints.encoded(about)}
        write(self._path, replace(found, arrays={**found.arrays, **best, **more}))

    def load(self, model: Stateful, state: Fitted) -> RunProgress | None:
        """Goes on from the file, if there is one; ``state`` is the model's before training.

        Raises:
            OSError: it cannot be read.
            ValueError: it is damaged, or of another run.
        """
        try:
            # What is mapped is copied once, to where it belongs.
            found = read(self._path, [FORMAT], mmap=True, verify=True)
        except FileNotFoundError:
            return None
        try:
            return self._restored(found, model, state)
        except (TypeError, ValueError, FloatingPointError) as error:
            raise ValueError(f"{self._path}: {error}") from None

    def _restored(self, found: Contents, model: Stateful, state: Fitted) -> RunProgress:
        arrays = dict(found.arrays)
        self._compare(checkpoints.decoded(RUN, arrays))
        about = checkpoints.decoded(CURVE, arrays)
        best = {
            name.removeprefix(BEST): np.array(arrays.pop(name))
            for name in list(arrays)
            if name.startswith(BEST)
        }
        curve, stopped = _curve(about)
        if bool(best) != (curve.best_epoch is not None):
            raise ValueError("it has best arrays or a best epoch, and not both")
        if best:
            check_arrays(model, replace(state, arrays=best))
            for name, array in best.items():
                check_finite(name, array)
        training = self._training
        done = checkpoints.restore(
            replace(found, arrays=arrays), training.tables, training.optimizer
        )
        if done != len(curve):
            raise ValueError(f"its curve has {len(curve)} epochs, expected {done}")
        return RunProgress(curve, best or None, stopped)

    def _compare(self, found: Mapping[str, Any]) -> None:
        """Raises ValueError for a file of another run, and says what differs."""
        for name in {**found, **self._run}:
            theirs, ours = found.get(name), self._run.get(name)
            if theirs != ours:
                raise ValueError(
                    f"it is of a run with {name} {str(theirs)[:60]}, this one has "
                    f"{str(ours)[:60]}: expected the same call, or the path of another file"
                )


def run_of(
    model: Stateful,
    training: TrainingState,
    state: Fitted,
    epochs: int,
    data: Interactions,
    measured: tuple[Interactions, str] | None,
) -> dict[str, Any]:
    """What tells a run from others: texts and numbers by name.

    ``state`` is the model's before training; ``measured`` are what it is validated on, and how.
    """
    plain, functions = plain_hyperparameters(model.get_params())
    del plain["epochs"]
    run: dict[str, Any] = {"model": type(model).__name__, "wyrmling": wy.__version__}
    # The first that differs is told: the seed draws what is validated on, which is no part of the
    # data, by which hyperparameters may have been chosen.
    run["random_state"] = plain.pop("random_state")
    run["data"] = _described(data)
    for name, value in plain.items():
        run[name] = list(value) if isinstance(value, tuple) else value
    for name, called in functions.items():
        run[name] = f"{called} {_source(getattr(model, name))}"
    if training.depends_on_epochs:
        run["epochs"] = int(epochs)
    if measured is not None:
        run["validation"] = f"{_described(measured[0])}, {measured[1]}"
    seen = state.seen
    arrays = dict(state.arrays)
    if seen is not None:
        arrays |= {"indptr": seen.indptr, "indices": seen.indices}
    run["start"] = f"{checksum(arrays):08x}"
    return run


def _described(data: Interactions) -> str:
    """How many interactions there are, and their checksum."""
    names = "users", "items", "values", "weights", "times"
    columns = {name: getattr(data, name) for name in names if getattr(data, name) is not None}
    columns |= id_arrays("user_id", data.user_ids) | id_arrays("item_id", data.item_ids)
    return f"{len(data)} interactions of checksum {checksum(columns):08x}"


def _source(function: object) -> str:
    """A checksum of a function's text, where it has one."""
    try:
        text = inspect.getsource(function)  # type: ignore[arg-type]  # it raises TypeError
    except (OSError, TypeError):
        return ""
    return f"{zlib.crc32(text.encode()):08x}"


def checksum(arrays: Arrays) -> int:
    """CRC-32 of arrays, their names, types and shapes: against mistakes, not forgery."""
    found = 0
    for name in sorted(arrays):
        array: npt.NDArray[Any] = np.ascontiguousarray(arrays[name])
        found = zlib.crc32(f"{name} {array.dtype} {array.shape}".encode(), found)
        found = zlib.crc32(array.reshape(-1).view(np.uint8).data, found)
    return found


def _curve(about: dict[str, Any]) -> tuple[LearningCurve, bool]:
    """A learning curve, and whether the run was stopped, from a file that need not be trusted."""
    stopped = about.pop("stopped", None)
    try:
        curve = LearningCurve(**about)
        columns: Iterable[Any] = [curve.loss, curve.seconds, *curve.validation.values()]
        is_valid = all(
            isinstance(column, list)
            and len(column) == len(curve.loss)
            and all(isinstance(number, float) for number in column)
            for column in columns
        )
        best = curve.best_epoch
        is_valid &= type(curve.samples) is int and isinstance(stopped, bool)
        if curve.validation:
            is_valid &= type(best) is int and 0 <= best < len(curve.loss)
        else:
            is_valid &= best is None
    except (TypeError, AttributeError):
        is_valid = False
    if not is_valid:
        raise ValueError("its learning curve is not valid")
    return curve, bool(stopped)
