"""Training that goes on: parameters, the state of their optimizer and the epoch, in one file.

A run of :func:`wyrmling.fit` depends on its arguments, on the numbers of the parameters, on what
the optimizer remembers of them, and on the number of the epoch, by which all random numbers are
drawn. The first come with the call; the rest is in a file, by which another process goes on with
the same bits.

A file is in the safetensors format (:mod:`wyrmling.tensor_files`). For each parameter it holds
``parameter.NAME``, and ``state.NAME.KIND`` for each array that the optimizer keeps; ``training``,
the UTF-8 of an object of JSON, has the number of epochs and the optimizer's settings: an array,
since arrays have checksums. It need not be trusted: reading it executes nothing, and ends in what
fits the parameters or in an error.

Limit: the names of all arrays together have some 32 KB, for a header has 64 KB.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._core import Optimizer, Parameter
from .arguments import check_integer, check_path
from .tensor_files import Contents, read, write

__all__ = ["load_checkpoint", "save_checkpoint"]

FORMAT = "wyrmling.checkpoint/1"
PARAMETER, STATE, TRAINING = "parameter.", "state.", "training"

Parameters = dict[str, Parameter] | Iterable[Parameter]
Arrays = Mapping[str, npt.NDArray[Any]]


def save_checkpoint(
    path: str | os.PathLike[str],
    parameters: Parameters,
    optimizer: Optimizer,
    epochs: int = 0,
) -> None:
    """Writes what training needs to go on in another process, for :func:`load_checkpoint`.

    A file that is there is replaced at once and only by a complete one, so that a callback of
    :func:`wyrmling.fit` may write after each epoch. The learning rate is kept as it is at that
    moment: a callback that changes it does so before. The state is copied once.

    >>> import wyrmling as wy
    >>> def train(path, w, epochs, first_epoch=0):
    ...     x, optimizer = wy.Input([0.0]), wy.Adam(lr=0.1)
    ...     if first_epoch:
    ...         wy.load_checkpoint(path, {"w": w}, optimizer)
    ...     def save(epoch, history):
    ...         wy.save_checkpoint(path, {"w": w}, optimizer, epoch + 1)
    ...     wy.fit((w * x - 1).square().sum(), {x: [1.0, 2.0, 3.0]}, optimizer=optimizer,
    ...            epochs=epochs, first_epoch=first_epoch, batch_size=2, callback=save)
    ...     return w.item()
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     path = directory + "/run.safetensors"
    ...     at_once = train(path, wy.Parameter(0.0), epochs=5)
    ...     interrupted = train(path, wy.Parameter(0.0), epochs=2)
    ...     resumed = train(path, wy.Parameter(0.0), epochs=5, first_epoch=2)
    >>> resumed == at_once
    True

    Args:
        path: the file.
        parameters: a dict of Parameters by name, or a list of them, which have the names ``"0"``,
            ``"1"`` and so on.
        optimizer: their optimizer.
        epochs: how many epochs they have been trained for; after that of number ``epoch``, which a
            callback is told, this is ``epoch + 1``.

    Raises:
        OSError: the file cannot be written.
        TypeError: something else than Parameters and an optimizer, or no integer.
        ValueError: a parameter twice, epochs out of range, or names of together more than some
            32 KB.
    """
    write(check_path("path", path), contents(FORMAT, parameters, optimizer, epochs))


def load_checkpoint(
    path: str | os.PathLike[str], parameters: Parameters, optimizer: Optimizer
) -> int:
    """Reads what :func:`save_checkpoint` has written, into parameters and their optimizer.

    Numbers of the parameters, the state and the learning rate are then as they were, bit for bit.
    Training goes on with ``fit(…, first_epoch=epochs)``.

    Args:
        path: the file, which need not be trusted.
        parameters: those that were saved, by the same names.
        optimizer: one of the same class and settings, but for the learning rate.

    Returns:
        The number of epochs that had been trained.

    Raises:
        OSError: the file cannot be read.
        TypeError: something else than Parameters and an optimizer.
        ValueError: a file of another kind, a damaged one, one of other parameters, shapes, dtypes,
            optimizers or settings, or one with a parameter or state that has NaN or infinity.
        RuntimeError: a parameter is being trained.

        Nothing is changed then.
    """
    named = _named(parameters)
    _check_optimizer(optimizer)
    # What is mapped is copied once, to where it belongs.
    name = check_path("path", path)
    found = read(name, [FORMAT], mmap=True, verify=True)
    try:
        return restore(found, named, optimizer)
    except (TypeError, ValueError, FloatingPointError) as error:
        raise ValueError(f"{name}: {error}") from None


def state_dict(optimizer: Optimizer, parameters: Parameters) -> dict[str, Any]:
    """What ``optimizer.state_dict(parameters)`` gives."""
    named = _named(parameters)
    kind, settings, slots, l2 = _core.optimizer_settings(optimizer, list(named.values()))
    state: dict[str, dict[str, Any]] = {}
    for (name, parameter), weight in zip(named.items(), l2, strict=True):
        arrays = _core.optimizer_slots(optimizer, parameter)
        state[name] = {"l2": weight} | dict(zip(slots, arrays, strict=True))
    return {"optimizer": kind, "settings": settings, "state": state}


def load_state_dict(optimizer: Optimizer, state: object, parameters: Parameters) -> None:
    """What ``optimizer.load_state_dict(state, parameters)`` does."""
    _resume(optimizer, state, _named(parameters), {})


def contents(kind: str, parameters: Parameters, optimizer: Optimizer, epochs: int) -> Contents:
    """What a file of this format holds of a run."""
    named = _named(parameters)
    _check_optimizer(optimizer)
    done = check_integer("epochs", epochs, 0)
    arrays: dict[str, npt.NDArray[Any]] = {}
    saved = state_dict(optimizer, named)
    weights = {}
    for name, state in saved.pop("state").items():
        weights[name] = state.pop("l2")
        arrays[PARAMETER + name] = named[name].value
        arrays |= {f"{STATE}{name}.{slot}": array for slot, array in state.items()}
    arrays[TRAINING] = encoded(saved | {"l2": weights, "epochs": done})
    return Contents(kind, {"wyrmling": _core.__version__}, arrays)


def restore(found: Contents, parameters: Mapping[str, Parameter], optimizer: Optimizer) -> int:
    """Puts what :func:`contents` gave into parameters and an optimizer; gives the epochs."""
    arrays = dict(found.arrays)
    saved = decoded(TRAINING, arrays)
    _compare(TRAINING, saved, ["optimizer", "settings", "l2", "epochs"])
    done = check_integer("epochs", saved.pop("epochs"), 0)
    weights = _dict("l2", saved.pop("l2")).items()
    state: dict[str, dict[str, Any]] = {name: {"l2": weight} for name, weight in weights}
    values = {}
    for key, array in arrays.items():
        kind, _, rest = key.partition(".")
        name, _, slot = rest.rpartition(".")
        if kind + "." == PARAMETER:
            values[rest] = array
        elif kind + "." == STATE and name in state:
            state[name][slot] = array
        else:
            raise ValueError(f"it has a tensor {key[:60]!r}, which no checkpoint has")
    _compare("parameters", values, parameters)
    for name, array in values.items():
        parameter = parameters[name]
        if (array.shape, array.dtype) != (parameter.shape, parameter.dtype):
            raise ValueError(
                f"parameter {name!r} has shape {array.shape} and dtype {array.dtype}, expected "
                f"{parameter.shape} and {parameter.dtype}"
            )
    _resume(optimizer, saved | {"state": state}, parameters, values)
    return done


def encoded(value: Mapping[str, Any]) -> npt.NDArray[np.uint8]:
    """An object of JSON as an array of a file."""
    return np.frombuffer(json.dumps(value, allow_nan=False).encode(), np.uint8)


def decoded(name: str, arrays: dict[str, npt.NDArray[Any]]) -> dict[str, Any]:
    """The object of JSON that is in an array of a file, which is taken out."""
    if name not in arrays:
        raise ValueError(f"it has no tensor {name!r}")
    array = arrays.pop(name)
    try:
        found = json.loads(array.tobytes())
    except (ValueError, RecursionError):
        raise ValueError(f"{name} is no valid JSON") from None
    if not isinstance(found, dict):
        raise ValueError(f"{name} is a {type(found).__name__}, expected an object of JSON")
    return found


def _resume(
    optimizer: Optimizer, given: object, named: Mapping[str, Parameter], values: Arrays
) -> None:
    """Compares state with an optimizer, and puts it there, with numbers of the parameters."""
    parts = {"optimizer", "settings", "state"}
    if not isinstance(given, dict) or set(given) != parts:
        raise TypeError(f"state: expected a dict of {sorted(parts)}, as state_dict gives")
    kind, settings, slots, l2 = _core.optimizer_settings(optimizer, list(named.values()))
    if type(given["optimizer"]) is not str or given["optimizer"] != kind:
        raise ValueError(f"state: it is of {str(given['optimizer'])[:60]}, expected that of {kind}")
    _compare("settings", _dict("settings", given["settings"]), settings)
    for name, wanted in settings.items():
        if name != "lr":
            _check_setting(name, given["settings"][name], wanted)
    state = _dict("state", given["state"])
    _compare("state", state, named)
    resumed = []
    for (name, parameter), weight in zip(named.items(), l2, strict=True):
        one = _dict(f"state of {name!r}", state[name])
        _compare(f"state of {name!r}", one, ["l2", *slots])
        _check_setting(f"l2 of {name!r}", one["l2"], weight)
        for slot in slots:
            _check_slot(f"state of {name!r}: {slot}", slot, one[slot])
        resumed.append((parameter, [one[slot] for slot in slots], values.get(name)))
    lr = given["settings"]["lr"]
    if not isinstance(lr, float):
        raise TypeError(f"lr is {lr!r}, expected a float")
    _core.resume_optimizer(optimizer, lr, resumed)


def _named(parameters: Any) -> dict[str, Parameter]:
    """Parameters by name, each checked as it comes: an iterable need not end."""
    pairs: Iterable[tuple[Any, Any]]
    if isinstance(parameters, dict):
        pairs = parameters.items()
    elif isinstance(parameters, Iterable) and not isinstance(parameters, (Parameter, str)):
        pairs = ((str(number), parameter) for number, parameter in enumerate(parameters))
    else:
        raise TypeError(
            f"parameters: expected a dict or list of Parameters, got {type(parameters).__name__}"
        )
    named: dict[str, Parameter] = {}
    seen: dict[int, str] = {}
    for name, parameter in pairs:
        if not isinstance(name, str):
            raise TypeError(f"parameters: expected names, got {name!r}")
        if not isinstance(parameter, Parameter):
            raise TypeError(
                f"parameters: {name!r}: expected a Parameter, got {type(parameter).__name__}"
            )
        if (other := seen.setdefault(id(parameter), name)) != name:
            raise ValueError(f"parameters: {other!r} and {name!r} are the same Parameter")
        named[name] = parameter
    return named


def _check_optimizer(optimizer: object) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"optimizer is {optimizer!r}, expected one such as wyrmling.SGD(lr=0.1)")


def _dict(what: str, given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise TypeError(f"{what}: expected a dict, got {type(given).__name__}")
    return given


def _compare(what: str, found: Iterable[Any], expected: Iterable[str]) -> None:
    """Raises ValueError for names that are missing, or that are not expected."""
    # Dicts keep the order.
    names, wanted = dict.fromkeys(found), dict.fromkeys(expected)
    for name in [*names, *wanted]:
        if name not in names or name not in wanted:
            which = "an unknown" if name in names else "no"
            raise ValueError(
                f"{what}: it has {which} {str(name)[:60]!r}, expected "
                f"{', '.join(map(repr, wanted)) or 'none'}"
            )


def _check_slot(what: str, slot: str, array: object) -> None:
    """Raises ValueError for numbers that no training leaves; dtype and shape are checked later."""
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f" or not array.size:
        return
    # The least is NaN if any is.
    least, largest = array.min(), array.max()
    if not np.isfinite(least) or not np.isfinite(largest):
        raise ValueError(f"{what} has NaN or infinity, expected finite numbers")
    if slot in ("exp_avg_sq", "sum", "step") and least < 0:
        raise ValueError(f"{what} has {least}, expected numbers at least 0")
    if slot == "step" and (np.trunc(array) != array).any():
        raise ValueError(f"{what} is not whole, expected a number of steps")


def _check_setting(name: str, found: object, wanted: object) -> None:
    if type(found) is not type(wanted) or found != wanted:
        raise ValueError(
            f"settings: {name} is {str(found)[:60]} in the state, and {wanted} in this optimizer; "
            "only the learning rate may be another"
        )
