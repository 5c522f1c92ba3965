"""Model files: one format for all models.

A file is in the safetensors format (:mod:`wyrmling.tensor_files`), so that other tools can read it
too. Of n users, m items and s distinct pairs of them it holds

=======================  ============  ===========================================================
tensor                   type, shape   content
=======================  ============  ===========================================================
``array.NAME``                         what the model has learnt; the names are the model's own
``user_ids``             I64 (n,)      the users' ids, if all are integers; else
``user_ids``             U8            the UTF-8 of all ids, one after the other (of an integer its
                                       decimal digits), with
``user_id_offsets``      U64 (n+1,)    where each id begins, and where the last ends, and
``user_id_integers``     U8 (n,)       1 for an id that is an integer, if there are both
``item_ids``, …                        the items' ids, in the same way
``seen_indptr``          U64 (n+1,)    where each user's training items begin, and the last's end
``seen_items``           U32 (s,)      training items, rising for each user
``curve.loss``, …        F64           how training went, an entry an epoch; without times, so that
                                       equal models make equal files
=======================  ============  ===========================================================

and in the metadata ``format`` = ``wyrmling.recommender/1``, ``model``, the name of the class,
``hyperparameters`` and ``functions``, objects of JSON, ``fitted``, the hyperparameters that were
others when the model was fitted, if there are such, ``curve``, what the learning curve has beside
its columns, ``wyrmling``, the version that wrote it, and checksums of each tensor and the header.

**Trust.** A file imports and executes nothing: its class is found by name among those that are
there. It is checked whole: hyperparameters are of their types, ids are distinct, offsets in range,
arrays what the model says that they are (``_array_types``), and numbers finite. Memory is bounded
by the file: arrays take as much as there, and ids of text some 15 times as much.

**Functions** (the loss of :class:`.Custom`) are not in a file, but for their names. The model
recommends without them; for what needs them :meth:`.Recommender.load` takes them as arguments.

**Histories**, that is what users had, are most of a file and private: ``save(path,
histories=False)`` leaves them out. The model then cannot exclude what users have seen, and says so.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from inspect import isabstract
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from .. import __version__, _core
from ..data import Ids
from ..tensor_files import Contents, read, write
from .fitted import Fitted, Stateful
from .hyperparameters import check, parameter_types, plain
from .learning_curve import LearningCurve

__all__ = [
    "UnloadedFunction",
    "check_arrays",
    "check_finite",
    "id_arrays",
    "load_model",
    "plain_hyperparameters",
    "save_model",
]

FORMAT = "wyrmling.recommender/1"
ARRAY, CURVE = "array.", "curve."

Model = TypeVar("Model", bound=Stateful)


@dataclass(frozen=True)
class UnloadedFunction:
    """Stands for a function that a file names and that was not given when it was loaded.

    Args:
        name: what the function was called, with its module.
    """

    name: str

    def __repr__(self) -> str:
        return f"<function {self.name}, which is not in a file: give it to load>"


def save_model(model: Stateful, path: str | os.PathLike[str], histories: bool = True) -> None:
    """Writes a fitted model, as :meth:`.Recommender.save` describes."""
    fitted = model.fitted
    params, functions = plain_hyperparameters(model._plain().get_params())
    model.check_params()  # as whoever reads the file will
    check_arrays(model, fitted)
    arrays: dict[str, npt.NDArray[Any]] = {}
    types = model._learnt_by(fitted)._array_types()
    for name, array in fitted.arrays.items():
        if types[name].private and not histories:
            continue
        check_finite(name, array)
        arrays[ARRAY + name] = array
    arrays |= id_arrays("user_id", fitted.user_ids) | id_arrays("item_id", fitted.item_ids)
    if fitted.seen is not None and histories:
        arrays |= {"seen_indptr": fitted.seen.indptr, "seen_items": fitted.seen.indices}
    learnt_with, _ = plain_hyperparameters(fitted.params)
    others = {
        name: value for name, value in learnt_with.items() if value != params.get(name, value)
    }
    about = {
        "model": type(model).__name__,
        "hyperparameters": json.dumps(params, allow_nan=False),
        "functions": json.dumps(functions),
        "wyrmling": __version__,
    }
    if others:
        about["fitted"] = json.dumps(others, allow_nan=False)
    if fitted.history is not None:
        curve = fitted.history
        rest = {"samples": curve.samples, "best_epoch": curve.best_epoch}
        about["curve"] = json.dumps(rest | {"validation": list(curve.validation)})
        for name, column in [("loss", curve.loss), *curve.validation.items()]:
            arrays[CURVE + name] = np.array(column, np.float64)
    write(path, Contents(FORMAT, about, arrays))


def load_model(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview,
    base: type[Model],
    mmap: bool,
    verify: bool | None,
    given: Mapping[str, Any],
) -> Model:
    """Reads a model of a class or of one that inherits from it, as :meth:`.Recommender.load`."""
    if isinstance(source, (bytearray, memoryview)):
        source = bytes(source)
    contents = read(source, [FORMAT], mmap=mmap, verify=verify)
    checks_numbers = not mmap or bool(verify)
    try:
        return _restored(contents, base, given, checks_numbers)
    except (ValueError, IndexError, FloatingPointError) as error:
        named = "the bytes" if isinstance(source, bytes) else os.fspath(source)
        raise ValueError(f"{named}: {error}") from None


def _restored(
    contents: Contents, base: type[Model], given: Mapping[str, Any], checks_numbers: bool
) -> Model:
    about, arrays = contents.about, dict(contents.arrays)
    kind = _class(about.get("model", ""), base)
    model = _with_hyperparameters(kind, contents, given)
    user_ids, item_ids = _decoded("user_id", arrays), _decoded("item_id", arrays)
    n_users, n_items = len(user_ids), len(item_ids)
    if not n_users or not n_items:
        raise ValueError(f"it has {n_users} users and {n_items} items, expected some of each")
    seen = None
    if "seen_indptr" in arrays or "seen_items" in arrays:
        indptr = _taken(arrays, "seen_indptr", np.uint64, 1)
        seen = _core.Csr.from_parts(indptr, _taken(arrays, "seen_items", np.uint32, 1), n_items)
        if seen.shape[0] != n_users:
            raise ValueError(f"seen_indptr is of {seen.shape[0]} users, expected {n_users}")
    curve = _curve(about.get("curve"), arrays)
    learnt = {}
    for name in list(arrays):
        if not name.startswith(ARRAY):
            raise ValueError(f"it has a tensor {name!r}, which no model of this version has")
        learnt[name.removeprefix(ARRAY)] = arrays.pop(name)
    types = parameter_types(kind)
    params = {
        name: plain(value, types[name])
        for name, value in model.get_params().items()
        if not isinstance(value, UnloadedFunction)
    }
    if "fitted" in about:
        others = _checked(_object(contents, "fitted"), kind, contents)
        params |= {
            name: plain(value, types[name]) for name, value in others.items() if name not in given
        }
    fitted = Fitted(user_ids, item_ids, seen, learnt, curve, params)
    check_arrays(model, fitted)
    if checks_numbers:
        for name, array in learnt.items():
            check_finite(name, array)
    model._set_fitted(fitted)
    return model


def check_arrays(model: Stateful, fitted: Fitted) -> None:
    """Compares a state with what the model says of its arrays.

    Raises:
        TypeError: the model says nothing.
        ValueError: an array that is missing, unknown, of another type or shape, or not finite.
    """
    model = model._learnt_by(fitted)
    types, arrays = model._array_types(), fitted.arrays
    lengths: dict[str, int] = {"users": len(fitted.user_ids), "items": len(fitted.item_ids)}
    for name in [*arrays, *(name for name in types if not types[name].optional)]:
        if name not in types or name not in arrays:
            what = "no" if name in types else "an unknown"
            raise ValueError(
                f"it has {what} array {name[:60]!r}, {type(model).__name__} has "
                f"{', '.join(types) or 'none'}"
            )
    for name, array in arrays.items():
        axes = types[name].shape
        if len(axes) == array.ndim:
            for axis, length in zip(axes, array.shape, strict=True):
                if isinstance(axis, str):
                    lengths.setdefault(axis, length)
        expected = tuple(lengths.get(str(axis), axis) for axis in axes)
        if array.shape != expected or array.dtype != types[name].dtype:
            raise ValueError(
                f"{name} has shape {array.shape} and dtype {array.dtype}, expected "
                f"{_shown(expected)} and {types[name].dtype}"
            )
    model._check_arrays(fitted)


def _shown(shape: Sequence[int | str]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def _class(name: str, base: type[Model]) -> type[Model]:
    """The class of this name among a class and those that inherit from it."""
    known = {base}
    new = [base]
    while new:
        new = [kind for one in new for kind in one.__subclasses__() if kind not in known]
        known.update(new)
    found = [kind for kind in known if kind.__name__ == name and not isabstract(kind)]
    if len(found) == 1:
        return found[0]
    if len(found) > 1:
        modules = " and ".join(sorted(kind.__module__ for kind in found))
        raise ValueError(
            f"it is a model of a class {name!r}, and there are several, in {modules}; load it by "
            "the method of the right one"
        )
    raise ValueError(
        f"it is a model of a class {name[:60]!r}, which is neither {base.__name__} nor one that "
        "inherits from it; Recommender.load reads all models whose classes are imported"
    )


def plain_hyperparameters(params: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Hyperparameters as JSON has them, and the names of those that are functions."""
    values, functions = {}, {}
    for name, value in params.items():
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, UnloadedFunction):
            functions[name] = value.name
            continue
        if callable(value):
            called = getattr(value, "__qualname__", type(value).__qualname__)
            module = getattr(value, "__module__", None) or "?"
            functions[name] = f"{module}.{called}"
            continue
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            raise TypeError(
                f"{name} is {value!r}: a model file holds hyperparameters that are numbers, texts, "
                "None, or lists of such"
            ) from None
        values[name] = value
    return values, functions


def _with_hyperparameters(kind: type[Model], contents: Contents, given: Mapping[str, Any]) -> Model:
    """A model that was not fitted, with the hyperparameters of a file and those given."""
    types = parameter_types(kind)
    functions = _object(contents, "functions")
    _check_known(functions, kind, contents)
    found = _checked(_object(contents, "hyperparameters"), kind, contents)
    for name, value in functions.items():
        if not isinstance(value, str):
            raise ValueError(f"functions has {name} {value!r}, expected the name of a function")
        found[name] = UnloadedFunction(value)
    for name, value in given.items():
        if name not in types:
            raise TypeError(f"{kind.__name__} has no hyperparameter {name!r}")
        check(name, value, types[name])
    values = found | dict(given)
    for field in fields(kind):  # type: ignore[arg-type]  # every model is a dataclass
        if field.name not in values and _is_required(field):
            raise ValueError(f"it has no hyperparameter {field.name!r}, which has no default")
    return kind(**values)


def _checked(found: dict[str, Any], kind: type[Model], contents: Contents) -> dict[str, Any]:
    """Hyperparameters of a file, compared with what a class of models takes."""
    _check_known(found, kind, contents)
    types = parameter_types(kind)
    for name, value in found.items():
        found[name] = tuple(value) if isinstance(value, list) else value
        try:
            check(name, found[name], types[name])
        except TypeError as error:
            raise ValueError(str(error)) from None
    return found


def _check_known(names: Iterable[str], kind: type[Model], contents: Contents) -> None:
    """Raises ValueError for a name that is no hyperparameter of a class of models."""
    known = parameter_types(kind)
    for name in names:
        if name not in known:
            by = contents.about.get("wyrmling", "an unknown version")
            raise ValueError(
                f"it has a hyperparameter {name[:60]!r}, which {kind.__name__} of wyrmling "
                f"{__version__} does not know; the file was written by {by[:60]}"
            )


def _object(contents: Contents, name: str) -> dict[str, Any]:
    """The object of JSON by this name in the metadata."""
    text = contents.about.get(name, "")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"{name} is not valid JSON") from None
    if not isinstance(found, dict):
        raise ValueError(f"{name} is {text[:60]!r}, expected an object of JSON")
    return found


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def id_arrays(name: str, ids: Ids) -> dict[str, npt.NDArray[Any]]:
    """Ids as the tensors of a file."""
    values = ids.values
    if values.dtype == np.int64:
        return {f"{name}s": values}
    texts = [str(id).encode() for id in ids]
    encoded: dict[str, npt.NDArray[Any]] = {
        f"{name}s": np.frombuffer(b"".join(texts), np.uint8),
        f"{name}_offsets": np.cumsum([0, *map(len, texts)], dtype=np.uint64),
    }
    integers = np.fromiter((type(id) is int for id in ids), np.uint8, len(ids))
    if integers.any():
        encoded[f"{name}_integers"] = integers
    return encoded


def _decoded(name: str, arrays: dict[str, npt.NDArray[Any]]) -> Ids:
    """The ids that tensors hold, which are taken out of ``arrays``."""
    if f"{name}_offsets" not in arrays:
        return Ids(_taken(arrays, f"{name}s", np.int64, 1), f"{name}s")
    content = _taken(arrays, f"{name}s", np.uint8, 1).tobytes()
    offsets = _taken(arrays, f"{name}_offsets", np.uint64, 1)
    rise = bool((offsets[:-1] <= offsets[1:]).all())
    ends = offsets.tolist()
    if not ends or ends[0] != 0 or ends[-1] != len(content) or not rise:
        raise ValueError(
            f"{name}_offsets must rise from 0 to {len(content)}, the length of {name}s"
        )
    try:
        texts: list[Any] = [content[start:end].decode() for start, end in pairwise(ends)]
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}s are not UTF-8: {error}") from None
    if f"{name}_integers" in arrays:
        integers = _taken(arrays, f"{name}_integers", np.uint8, 1)
        if len(integers) != len(texts):
            raise ValueError(f"{name}_integers has {len(integers)} elements, expected {len(texts)}")
        for number in np.flatnonzero(integers).tolist():
            texts[number] = _integer(f"{name}s", texts[number])
    return Ids(texts, f"{name}s")


def _integer(name: str, text: str) -> int:
    """The integer that a text spells in the one way that :func:`id_arrays` writes."""
    if len(text) <= 20 and text.isascii() and text.removeprefix("-").isdecimal():
        number = int(text)
        if str(number) == text:
            return number
    raise ValueError(f"{name}: {text[:60]!r} is no integer in decimal digits")


def _curve(text: str | None, arrays: dict[str, npt.NDArray[Any]]) -> LearningCurve | None:
    """The learning curve that a file holds, if it does; its tensors are taken out of ``arrays``."""
    if text is None:
        return None
    invalid = ValueError("its learning curve is not valid")
    try:
        rest = json.loads(text)
        metrics, samples, best = rest["validation"], rest["samples"], rest["best_epoch"]
    except (ValueError, RecursionError, KeyError, TypeError):
        raise invalid from None
    if not isinstance(metrics, list) or not all(isinstance(name, str) for name in metrics):
        raise invalid
    if type(samples) is not int or (best is not None and type(best) is not int):
        raise invalid
    columns = {
        name: _taken(arrays, CURVE + name, np.float64, 1).tolist() for name in ["loss", *metrics]
    }
    if len({len(column) for column in columns.values()}) > 1:
        raise invalid
    loss = columns.pop("loss")
    if best is not None and not 0 <= best < len(loss):
        raise invalid
    return LearningCurve(loss, [], samples, columns, best)


def _taken(
    arrays: dict[str, npt.NDArray[Any]], name: str, dtype: type, axes: int
) -> npt.NDArray[Any]:
    """The array of this name, type and number of axes, which is taken out."""
    array = arrays.pop(name, None)
    if array is None:
        raise ValueError(f"it has no tensor {name!r}")
    if array.dtype != dtype or array.ndim != axes:
        raise ValueError(
            f"{name} has shape {array.shape} and dtype {array.dtype}, expected {axes} axis and "
            f"{np.dtype(dtype)}"
        )
    return array


def check_finite(name: str, array: npt.NDArray[Any]) -> None:
    """Raises FloatingPointError for an array of floats that has NaN or infinity."""
    # A minimum is NaN where an element is, and takes no memory.
    if array.dtype.kind == "f" and array.size:
        for element in (array.min(), array.max()):
            if not np.isfinite(element):
                raise FloatingPointError(f"{name} has an element {element}, expected finite ones")
