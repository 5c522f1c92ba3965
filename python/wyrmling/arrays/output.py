"""``out=``: the variable or the plain array that is to hold a result, and its checks."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import Variable, constant


def no_variable_error(text: str) -> TypeError:
    """The error of what takes no variable. By its attribute ``mode="auto"`` knows that a function
    cannot be traced, and reads it; the native module's have that too.
    """
    error = TypeError(text)
    error.takes_no_variable = True  # type: ignore[attr-defined]
    return error


def finished(name: str, result: Any, out: Any, *, repeats: bool = False) -> Any:
    """The result, which ``out`` stands for afterwards if it is given; a plain result is stored in a
    plain array too. With ``repeats`` it is repeated along axes that ``out`` alone has.

    Raises TypeError for a plain array if the result is a variable, ValueError for another shape.
    """
    if isinstance(out, tuple) and len(out) == 1:
        (out,) = out
    if out is None:
        return result
    if not isinstance(out, Variable):
        if isinstance(out, np.ndarray) and not isinstance(result, Variable):
            _check(name, np.shape(result), out.shape, repeats)
            out[...] = result
            return out
        raise no_variable_error(
            f"{name}: out: a plain array cannot take what is differentiated; make it by "
            "wyrmling.array(x) or np.zeros_like(v), or write x = x + v for x += v"
        )
    found = constant(result)
    _check(name, found.shape, out.shape, repeats)
    out[...] = found
    return out


def _check(name: str, found: tuple[int, ...], shape: tuple[int, ...], repeats: bool) -> None:
    """Raises ValueError if what has one shape cannot be stored in another."""
    if found == shape:
        return
    pairs = zip(found[::-1], shape[::-1], strict=False)
    if not (repeats and len(found) <= len(shape) and all(n in (1, m) for n, m in pairs)):
        raise ValueError(f"{name}: out: expected shape {found}, got {shape}")
