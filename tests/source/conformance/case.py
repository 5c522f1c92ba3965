"""How a function says at which arguments it is tested."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

CASES: dict[str, Case] = {}


@dataclass
class Case:
    """A function and the arguments to call it with, each time anew."""

    name: str
    function: Callable[..., Any]
    points: list[tuple[tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)


def at(*args: Any, **kwargs: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Has the function tested at these arguments; several of them stand one above the other."""

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        add(f, *args, **kwargs)
        return f

    return decorate


def add(f: Callable[..., Any], *args: Any, name: str = "", **kwargs: Any) -> None:
    """The same for what no decorator can be written at: lambdas, methods, objects."""
    module = getattr(f, "__module__", None) or type(f).__module__
    label = name or f.__name__
    key = f"{module.rpartition('.')[2]}.{label}"
    case = CASES.setdefault(key, Case(key, f))
    if case.function is not f:
        raise ValueError(f"two functions are called {key}")
    case.points.append((args, kwargs))
