"""Errors of calls for which neither a program nor tracing gives a result, with both reasons.

A program was left at one of its exits, whose text and line say why; tracing failed because
something that the function calls takes no variables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core import IrFunction, Specialization
from .abstract.walker import OTHER_LENGTH
from .text import refuse
from .text.refuse import SourceError, Unreadable


def takes_no_variable(error: BaseException | None) -> bool:
    """Whether an error says that a function cannot be traced: what it calls takes no variables. The
    attribute is given by ``src/python/interop/error.rs``.
    """
    while error is not None:
        if getattr(error, "takes_no_variable", False):
            return True
        error = error.__cause__
    return False


# Parts of the texts of exits behind which the function itself goes on, and does not raise.
_ON = ("bits", "NaN", "too large for a float", OTHER_LENGTH)


def goes_on(specialization: Specialization | None, exit: int | Exception | None) -> bool:
    """Whether a function goes on where its program was left, as far as that is known."""
    if specialization is None or specialization.compiled is None or not isinstance(exit, int):
        return False
    text, _ = specialization.compiled.function.exits[exit]
    return any(part in text for part in _ON)


def left_error(
    f: Callable[..., Any],
    specialization: Specialization | None,
    exit: int | Exception | None,
    error: Exception,
) -> SourceError:
    """The error of a function that was left, returns, and cannot be traced."""
    name = getattr(f, "__qualname__", type(f).__qualname__)
    program = specialization.compiled if specialization is not None else None
    if not isinstance(exit, int) or program is None:
        why = "it was left too often" if exit is None else f"it was left ({exit})"
        return refuse.unreadable(name, f"{why}, and tracing it fails: {error}")
    return left_at(f, program.function, exit, error)


def left_at(
    f: Callable[..., Any], function: IrFunction, exit: int, error: Exception
) -> SourceError:
    """The error of a function whose program was left by an exit."""
    name = getattr(f, "__qualname__", type(f).__qualname__)
    text, line = function.exits[exit]
    line = line or getattr(getattr(f, "__code__", None), "co_firstlineno", 0)
    reason = f"it was left ({text}), returns then, and tracing it fails: {error}"
    return refuse.unreadable(name, reason, function.file, line)


def neither(f: Callable[..., Any], failure: Exception, error: Exception) -> Exception:
    """The error of a function that cannot be traced, with a note that says why it was not read."""
    if isinstance(error, Unreadable):
        error = refuse.unreadable(getattr(f, "__qualname__", type(f).__qualname__), str(error))
    if isinstance(error, SourceError):
        reason = refuse.without_modes(error, "write it as docs/source.md says, in a file or a cell")
        failure.add_note(f"It would be read, but {reason}")
    return failure
