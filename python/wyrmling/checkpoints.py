"""Training that goes on: parameters, the state of their optimizer and the epoch, in one file.

A run of :func:`wyrmling.fit` depends on its arguments, on the numbers of the parameters, on what
the optimizer remembers of them, and on the number of the epoch, by which all random numbers are
drawn. The first come with the call; the rest is in a file, by which another process goes on with
the same bits. What such a file holds, and whether it fits, is written once, for Rust too
(``src/train/checkpoint.rs``); it need not be trusted.

Limit: the names of all arrays together have some 512 KB, for a header has 1 MB.
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
STATE, TRAINING = "state.", "training"
MOST_EPOCHS = 2**63 - 1

Parameters = dict[str, Parameter] | Iterable[Parameter]


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
            512 KB.
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
    saved, arrays = _saved(optimizer, named, False)
    state: dict[str, dict[str, Any]] = {name: {"l2": saved["l2"][name]} for name in named}
    for key, array in arrays.items():
        # Names may have points in them, and slots have none.
        name, _, slot = key.removeprefix(STATE).rpartition(".")
        state[name][slot] = array
    return {"optimizer": saved["optimizer"], "settings": saved["settings"], "state": state}


def load_state_dict(optimizer: Optimizer, state: object, parameters: Parameters) -> None:
    """What ``optimizer.load_state_dict(state, parameters)`` does."""
    named = _named(parameters)
    parts = {"optimizer", "settings", "state"}
    if not isinstance(state, dict) or set(state) != parts:
        raise TypeError(f"state: expected a dict of {sorted(parts)}, as state_dict gives")
    weights: dict[str, Any] = {}
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, one in _dict("state", state["state"]).items():
        slots = dict(_dict(f"state of {name!r}", one))
        weights[name] = slots.pop("l2", None)
        arrays |= {f"{STATE}{name}.{slot}": array for slot, array in slots.items()}
    _resume(optimizer, named, {**state, "l2": weights}, arrays, False)


def contents(kind: str, parameters: Parameters, optimizer: Optimizer, epochs: int) -> Contents:
    """What a file of this format holds of a run."""
    named = _named(parameters)
    _check_optimizer(optimizer)
    done = check_integer("epochs", epochs, 0, MOST_EPOCHS)
    saved, arrays = _saved(optimizer, named, True)
    arrays[TRAINING] = encoded(saved | {"epochs": done})
    return Contents(kind, {"wyrmling": _core.__version__}, arrays)


def restore(found: Contents, parameters: Mapping[str, Parameter], optimizer: Optimizer) -> int:
    """Puts what :func:`contents` gave into parameters and an optimizer; gives the epochs."""
    arrays = dict(found.arrays)
    saved = decoded(TRAINING, arrays)
    if (names := sorted(saved)) != ["epochs", "l2", "optimizer", "settings"]:
        raise ValueError(
            f"{TRAINING}: it has {str(names)[:200]}, expected epochs, l2, optimizer and settings"
        )
    done = check_integer("epochs", saved["epochs"], 0)
    _resume(optimizer, parameters, saved, arrays, True)
    return done


def _saved(
    optimizer: Optimizer, named: dict[str, Parameter], values: bool
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """The settings of an optimizer, and arrays by the names that they have in a file."""
    kind, settings, weights, arrays = _core.checkpoint_parts(optimizer, named, values)

    def loaded(texts: dict[str, str]) -> dict[str, Any]:
        return {name: json.loads(text) for name, text in texts.items()}

    saved = {"optimizer": json.loads(kind), "settings": loaded(settings), "l2": loaded(weights)}
    return saved, arrays


def _resume(
    optimizer: Optimizer,
    parameters: Mapping[str, Parameter],
    saved: Mapping[str, Any],
    arrays: dict[str, npt.NDArray[Any]],
    values: bool,
) -> None:
    """Compares what was saved with an optimizer and its parameters, and puts it there."""
    kind = _texts({"optimizer": saved["optimizer"]})["optimizer"]
    settings, weights = (_texts(_dict(name, saved[name])) for name in ("settings", "l2"))
    _core.restore_checkpoint(optimizer, dict(parameters), kind, settings, weights, arrays, values)


def _texts(settings: Mapping[str, Any]) -> dict[str, str]:
    """Settings as JSON, one by one."""
    try:
        return {name: json.dumps(value) for name, value in settings.items()}
    except (TypeError, ValueError, RecursionError):
        raise TypeError("settings and l2: expected numbers, texts and None") from None


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
    for name in given:
        if not isinstance(name, str):
            raise TypeError(f"{what}: expected texts as keys, got {name!r}")
    return given
