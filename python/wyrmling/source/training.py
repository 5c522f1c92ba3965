"""A loss that is a function of parameters and one sample, as ``fit`` trains it.

The function is read once, for arguments of the kinds that its columns have: an integer of a column
is an int, a floating-point number a float, a row of a column with more axes an array of the
column's type, and so is an entry of a ragged column; integers in arrays are int64. A sampler gives
ints, or arrays of them. Parameters are arrays. What the function finds outside is a constant.

Limits: functions that have to know the value of an argument are refused.
"""

from __future__ import annotations

import contextlib
import inspect
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import IrFunction
from ..ragged import Ragged, plain
from ..transforms.tracing import described, is_number
from .abstract.columns import CAPACITY
from .abstract.walker import OTHER_LENGTH
from .chained import program
from .program.arguments import Arguments, Misfit
from .program.form import Constant, Leaf
from .program.programs import Program
from .read_once import ReadOnce
from .text import refuse
from .text.refuse import SourceError, Unreadable

SEEN = (3, 5)
"""Lengths of arrays whose lengths differ, while the function is read: the program is for all
lengths if it is the same for both.
"""
INSTEAD = "write it as docs/source.md says, or fit a graph"
"""What is advised where a transform could trace."""
FLOATS = ("float", "float32", "float64", "array")
"""What a loss may be; an array if it has no axes."""


@dataclass
class Loss:
    """A loss that was read. ``bindings`` says what each parameter of ``function`` is: a kind of
    ``_core.fit``'s, and the object.
    """

    function: IrFunction
    bindings: list[tuple[str, Any]]

    of: Callable[..., Any]
    names: list[str]

    def left(self, named: dict[str, Any], text: str, line: int, number: int, epoch: int) -> None:
        """Raises what the Python function raises for these arguments, where what was read of it was
        left; TypeError if it returns something else than a number, SourceError if it returns one.
        """
        where = f"sample {number} of the columns, in epoch {epoch + 1} (its batch was not applied)"
        bound = inspect.signature(self.of).bind_partial()
        bound.arguments.update((name, named[name]) for name in self.names)
        try:
            result = self.of(*bound.args, **bound.kwargs)
        except Exception as raised:
            raised.add_note(f"raised by {where}")
            raise
        title, file = getattr(self.of, "__qualname__", "loss"), self.function.file
        if np.ndim(result) or not is_number(np.asarray(result)[()]):
            got = f"{described(result)} for {where}"
            raise TypeError(f"loss: {title} returns {got}; expected one floating-point number")
        place = f"{file}:{line}" if line else file
        error = SourceError(
            f"{place}: {title} was left ({text}) by {where}; Python computes it, which training "
            "does not imitate"
        )
        error.filename, error.lineno = file, line or None
        raise error


def column(name: str, values: Any) -> tuple[str, Any]:
    """The kind of a column's values in the function, and the column as it is staged: words of 32
    bits, integers, floating-point numbers, or a Ragged; one that is mapped as it is.

    Raises TypeError for what holds no numbers, a masked array and a matrix, ValueError for integers
    beyond 64 bits, and where there is no sample.
    """
    if isinstance(values, list | tuple):
        try:
            if values and np.ndim(values[0]):
                values = Ragged.from_list(values)
        except (TypeError, ValueError) as error:
            raise type(error)(f"columns: {name!r}: {error}") from None
    if isinstance(values, Ragged):
        if not len(values):
            raise ValueError(f"columns: {name!r}: there are no samples")
        return "entry", values
    try:
        array = plain(f"columns: {name!r}", values)
    except ValueError as error:
        raise ValueError(f"columns: {name!r}: {error}") from None
    if not array.ndim:
        raise ValueError(f"columns: {name!r}: expected a value for each sample, got a single one")
    if not len(array):
        raise ValueError(f"columns: {name!r}: there are no samples")
    kind = array.dtype.kind
    is_mapped = isinstance(values, np.memmap)
    if kind == "f" and array.dtype.itemsize <= 8:
        if array.dtype.itemsize == 2:
            array = array.astype(np.float32)
        elif is_mapped:
            array = values
        else:
            array = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
        return ("float" if array.ndim == 1 else "row"), array
    if kind == "b" and array.ndim == 1:
        return "bool", array.astype(np.uint32)
    if kind not in "iu":
        raise TypeError(
            f"columns: {name!r}: expected numbers, got an array of dtype {array.dtype}"
            + (f" with {array.ndim} axes" if kind == "b" else "")
        )
    if array.ndim > 1:
        return "integers", values if is_mapped else array
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    if low >= 0 and high < 2**32:
        return "int", values if is_mapped else array.astype(np.uint32)
    if high >= 2**63:
        raise ValueError(f"columns: {name!r}: expected integers of 64 bits, got {high}")
    return "wide", array.astype("<i8").view("<u4").astype(np.uint32).reshape(-1, 2)


@dataclass(frozen=True)
class Varying:
    """Arrays of a type whose lengths may differ: those are None in ``shape``. ``length`` is the one
    that all have, if they do.
    """

    shape: tuple[int | None, ...]
    dtype: Any
    length: int | None = None

    def of(self, length: int) -> npt.NDArray[Any]:
        """An array of such a length."""
        return np.ones([length if one is None else one for one in self.shape], self.dtype)


def _sample(kind: str, data: Any) -> Any:
    """The first value of a column, or what all of a ragged one are like."""
    if kind == "entry":
        dtype = data.dtype if data.dtype.kind == "f" else np.int64
        first = int(data.lengths[0])
        length = first if (data.lengths == first).all() else None
        return Varying((None, *data.values.shape[1:]), dtype, length)
    if kind == "wide":
        return int(data[0, 0]) | int(data[0, 1].view(np.int32)) << 32
    if kind in ("row", "integers"):
        # A mapped column may have another order of bytes, in which no array of a program is.
        return np.array(data[0], data.dtype.newbyteorder("=") if kind == "row" else np.int64)
    return {"int": int, "float": float, "bool": bool}[kind](data[0])


def _drawn(
    shape: Sequence[int | None], used: Sequence[str], kind: str, columns: Mapping[str, Any]
) -> Any:
    """A value like those that a sampler draws. The lengths that may differ are those of the last
    columns that it uses; all entries of a column may have the same.
    """
    if kind == "float":
        return 1.0
    of = iter(used[len(used) - list(shape).count(None) :])
    shape = tuple(_length(columns[next(of)]) if axis is None else axis for axis in shape)
    found = Varying(shape, np.int64)
    return 1 if not shape else found if None in shape else found.of(0)


def _length(column: Any) -> int | None:
    """The length of all entries of a column of arrays; None if they differ."""
    return column.length if isinstance(column, Varying) else len(column)


def _parameter(shape: tuple[int, ...], dtype: str) -> Any:
    """A value like a parameter's, in little memory."""
    if shape:
        return np.broadcast_to(np.ones((), dtype), shape)
    return 1.0 if dtype == "float64" else np.float32(1.0)


def prepare(
    loss: Callable[..., Any],
    columns: Mapping[str, tuple[str, Any]],
    sample: Mapping[str, tuple[tuple[int | None, ...], Sequence[str], str]],
    parameters: Mapping[str, tuple[tuple[int, ...], str]],
) -> Loss:
    """Reads a loss. Columns are given by the kind of their values and all of them, samplers by the
    shape of what they draw (None for lengths that differ), the columns that they use themselves and
    the kind of what they draw, parameters by shape and type.

    Raises TypeError for names that do not fit the function's arguments, or a result that is no
    floating-point number, ValueError for a name that is given twice, SourceError if it cannot be
    read.
    """
    if isinstance(loss, ReadOnce):
        kept: Loss = loss.read(prepare, columns, sample, parameters)
        return kept
    title = getattr(loss, "__qualname__", type(loss).__qualname__)
    given: dict[str, tuple[str, Any]] = {}
    samples = {name: _sample(*each) for name, each in columns.items()}
    values: dict[str, dict[str, Any]] = {
        "columns": samples,
        "sample": {name: _drawn(*each, samples) for name, each in sample.items()},
        "parameters": {name: _parameter(*each) for name, each in parameters.items()},
    }
    for what, entries in values.items():
        for name, value in entries.items():
            if name in given:
                raise ValueError(f"{what}: {name!r} is in {given[name][0]} already")
            given[name] = what, value
    if inspect.isgeneratorfunction(loss) or inspect.iscoroutinefunction(loss):
        kind = "generator" if inspect.isgeneratorfunction(loss) else "coroutine"
        raise TypeError(f"loss: {title} returns a {kind}; expected one floating-point number")
    used = {name for _, columns, _ in sample.values() for name in columns}
    names = _names(loss, title, given, used)
    bound = inspect.signature(loss).bind_partial()
    bound.arguments.update((name, given[name][1]) for name in names)
    try:
        arguments, made = _read(loss, bound)
    except Unreadable as error:
        raise refuse.without_modes(refuse.unreadable(title, str(error)), INSTEAD) from None
    except SourceError as error:
        raise refuse.without_modes(error, INSTEAD) from None
    except Misfit as error:
        raise TypeError(f"loss: {title}: {error}") from None
    except Exception as error:
        found = refuse.fault(loss, error)
        if not isinstance(found, SourceError):
            raise
        raise refuse.without_modes(found, INSTEAD) from error
    if made.printed is not None:
        raise refuse.without_modes(refuse.unsupported(f"{title}: print in a loss"), INSTEAD)
    order = list(bound.arguments)
    by_place = dict(zip(arguments.places, order, strict=True))
    for number, place in enumerate(arguments.places):
        if number not in made.leaves:
            raise _has_to_know(title, by_place[place])
    bindings: list[tuple[str, Any]] = []
    for place, like in zip(made.inputs, made.samples, strict=True):
        if place in by_place:
            name = by_place[place]
            bindings.append((given[name][0], name))
        else:
            bindings.append(("constant", like))
    if not made.returns:
        # It raises for any sample, or it is no loss.
        args, kwargs = _arguments(bound, SEEN[0])
        loss(*args, **kwargs)
        raise TypeError(f"loss: {title} never returns; expected it to return a number")
    _expect_number(title, made.form)
    return Loss(made.function, bindings, loss, names)


def _arguments(
    bound: inspect.BoundArguments, length: int, *, all_alike: bool = False
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call, where what differs has a length, or what might (``all_alike``)."""

    def like(value: Any) -> Any:
        if not isinstance(value, Varying):
            return value
        return value.of(length if all_alike or value.length is None else value.length)

    found = OrderedDict((name, like(value)) for name, value in bound.arguments.items())
    of_length = inspect.BoundArguments(bound.signature, found)
    return of_length.args, of_length.kwargs


def _asks_for_lengths(function: IrFunction) -> bool:
    left = any(text == OTHER_LENGTH for text, _ in function.exits)
    return left or bool(_fixed(function))


def _fixed(function: IrFunction) -> set[tuple[str, str]]:
    """Operators that hold for the lengths alone for which they were recorded, and these."""
    return set(re.findall(r'fixed_lengths\[by: "(.*?)", lengths: \[(.*?)\]\]', str(function)))


def _without_types(function: IrFunction) -> str:
    """A function's text without the lengths that were seen: of its values, and of slices."""
    return re.sub(r": [a-z]+[0-9]+\[[0-9, ]*\]|(?<= = rows)[0-9]+", "", str(function))


def _read(loss: Callable[..., Any], bound: inspect.BoundArguments) -> tuple[Arguments, Program]:
    """The arguments, and the program for them, which is for all lengths of what differs.

    A program that asks for lengths may be for those that were seen alone, and one that has to know
    an integer is for that one. Then, and where so much cannot be read, the function is read for
    lengths and integers that are computed, of which less can be read.
    """
    values = list(bound.arguments.values())
    # Each argument is one leaf.
    arrays = {at for at, value in enumerate(values) if isinstance(value, Varying)}
    integers = {at for at, value in enumerate(values) if type(value) in (int, bool)}

    def read(length: int) -> tuple[Arguments, Program]:
        arguments = Arguments.of(*_arguments(bound, length))
        return arguments, program(loss, (), arguments)

    def read_computed() -> tuple[Arguments, Program]:
        arguments = Arguments.of(*_arguments(bound, CAPACITY, all_alike=True))
        varying = frozenset(arguments.places[at] for at in arrays | integers)
        return arguments, program(loss, (), arguments, varying=varying)

    try:
        found = read(SEEN[0])
    except SourceError:
        if arrays or integers:
            with contextlib.suppress(SourceError):
                return _for_all(read_computed(), frozenset())
        raise
    first = found[1]
    if not integers <= first.leaves.keys():
        return _for_all(read_computed(), _fixed(first.function))
    differ = any(values[at].length is None for at in arrays)
    if not differ or not _asks_for_lengths(first.function):
        return found
    other = read(SEEN[1])[1]
    if _without_types(first.function) == _without_types(other.function):
        return found
    return _for_all(read_computed(), _fixed(first.function) & _fixed(other.function))


def _for_all(
    found: tuple[Arguments, Program], known: Set[tuple[str, str]]
) -> tuple[Arguments, Program]:
    """What was read for all lengths. Raises SourceError if it has operators that hold for some
    alone, but those that are ``known``.
    """
    for by, _ in sorted(_fixed(found[1].function) - known):
        raise refuse.unsupported(f"{by} of arrays whose lengths differ between samples")
    return found


def _names(
    loss: Callable[..., Any], title: str, given: Mapping[str, Any], used: Set[str]
) -> list[str]:
    """The arguments of a function that are given, in order: all but those that are used otherwise
    may have to be there.
    """
    try:
        signature = inspect.signature(loss)
    except (TypeError, ValueError):
        error = refuse.unreadable(title, "it says nothing of its arguments")
        raise refuse.without_modes(error, INSTEAD) from None
    names = []
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(
                f"loss: {title} takes {'*' * (1 + (parameter.kind == parameter.VAR_KEYWORD))}"
                f"{parameter.name}; give all arguments names"
            )
        if parameter.name in given:
            names.append(parameter.name)
        elif parameter.default is parameter.empty:
            raise TypeError(
                f"loss: nothing is given for the argument {parameter.name!r} of {title}; name it "
                "in columns, sample or parameters"
            )
    for name, (what, _) in given.items():
        if name not in names and name not in used:
            expected = ", ".join(signature.parameters) or "none"
            raise TypeError(f"{what}: {title} has no argument {name!r}; its arguments: {expected}")
    return names


def _has_to_know(title: str, name: str) -> SourceError:
    error = refuse.unsupported(f"{title}: having to know the value of the argument {name!r}")
    error.args = (f"{title} has to know the value of its argument {name!r}, which differs",)
    error.advice = INSTEAD
    return error


def _expect_number(title: str, form: Any) -> None:
    """Raises TypeError unless a function's result is a floating-point number."""
    if isinstance(form, Leaf) and form.kind in FLOATS:
        return
    if isinstance(form, Leaf):
        got = form.kind
    elif isinstance(form, Constant):
        got = repr(form.object)
        if isinstance(form.object, float | np.floating):
            raise ValueError(f"loss: {title} returns {got} for all samples")
    else:
        got = type(form).__name__ if isinstance(form, tuple | list | dict) else "an object"
    raise TypeError(f"loss: {title} returns {got}; expected one floating-point number")
