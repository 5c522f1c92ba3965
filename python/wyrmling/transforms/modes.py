"""How a transform gets derivatives of a function: by reading it, or by running it.

``"source"`` reads the function's text and compiles it with its derivatives, loops and branches
included; SourceError says what of it cannot be read. ``"trace"`` runs it on variables that remember
what was computed. ``"auto"`` reads where that pays and is possible, and traces otherwise.
``docs/source.md`` has more.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal, get_args

from .tracing import described

Mode = Literal["auto", "source", "trace"]
MODES: tuple[Mode, ...] = get_args(Mode)
DEFAULT: Mode = "trace"


def is_traced(name: str, mode: Any) -> bool:
    """Whether a transform that is given this mode only traces. Raises ValueError for no mode."""
    if mode == "trace":
        return True
    if not isinstance(mode, str) or mode not in MODES:
        expected = ", ".join(map(repr, MODES))
        raise ValueError(f"{name}: mode: expected one of {expected}, got {described(mode)}")
    return False


def reading(name: str) -> Any:
    """A module of ``wyrmling.source``, imported by its name when it is needed: that package knows
    the transforms, which it also meets inside of functions; transforms know only that it is there.
    """
    return import_module(f"wyrmling.source.{name}")


def chosen(
    name: str,
    f: Callable[..., Any],
    traced: Callable[..., Any],
    mode: Mode,
    argnums: Any = 0,
    has_aux: bool = False,
) -> Callable[..., Any]:
    """A transform of ``f`` in this mode; ``traced`` is the one that traces."""
    if is_traced(name, mode):
        return traced
    choose = reading("choose")
    transform = choose.Transform(name, argnums, has_aux)
    options: dict[str, Any] = {"mode": mode}
    if name != "compile":
        options["argnums"] = argnums
    if has_aux:
        options["has_aux"] = True
    made: Callable[..., Any] = choose.transformed(transform, f, traced, mode, (name, f, options))
    return made
