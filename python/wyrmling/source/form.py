"""The form of what a program returns: which of its results is where in a Python object.

A form is a tree of tuples, lists and dicts, whose leaves are ``Leaf`` (a result of the program),
``Constant`` (the same object at each call), ``Argument`` (the very object that was given), or
``Make`` (what a function makes of other forms, such as a dataclass of its fields).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .scope import Place


@dataclass(frozen=True)
class Leaf:
    """Result ``number`` of the program, as a number or array of ``kind``: ``float`` and ``int`` and
    ``bool`` of Python, ``float64``, ``float32`` and ``numpy_bool`` of NumPy, or ``array``.
    """

    number: int
    kind: str


@dataclass(frozen=True, eq=False)
class Constant:
    """An object that is the same at each call."""

    object: Any


@dataclass(frozen=True)
class Argument:
    """What is at a place at the call."""

    place: Place


@dataclass(frozen=True, eq=False)
class Make:
    """What a function makes of its arguments."""

    function: Callable[..., Any]
    parts: Sequence[Any]


def leaves(form: Any) -> list[Any]:
    """The leaves in order: results, constants and arguments; those of a ``Make`` are its parts'."""
    inner = parts(form)
    return [form] if inner is None else [leaf for part in inner for leaf in leaves(part)]


def has_objects(form: Any) -> bool:
    """Whether some part of it is what a function makes."""
    return isinstance(form, Make) or any(has_objects(part) for part in parts(form) or ())


def convert(function: Callable[[Any], Any], form: Any) -> Any:
    """The form with ``function`` of each leaf in its place."""
    if isinstance(form, Make):
        return Make(form.function, [convert(function, part) for part in form.parts])
    if isinstance(form, dict):
        return {key: convert(function, part) for key, part in form.items()}
    if isinstance(form, tuple | list):
        return type(form)([convert(function, part) for part in form])
    return function(form)


def parts(form: Any) -> list[Any] | None:
    """The parts of a form that has some; None for a leaf."""
    if isinstance(form, Make):
        return list(form.parts)
    if isinstance(form, dict):
        return list(form.values())
    return list(form) if isinstance(form, tuple | list) else None


def makes(form: Any, slots: dict[Place, int]) -> list[tuple[Any, ...]]:
    """What the native module does to make an object of this form, step by step; the last step gives
    it. Each names the steps before it that it needs.
    """
    steps: list[tuple[Any, ...]] = []

    def add(form: Any) -> int:
        step: tuple[Any, ...]
        if isinstance(form, Leaf) and form.kind == "numpy_bool":
            steps.append(("bool", form.number))
            step = ("call", np.bool_, [len(steps) - 1])
        elif isinstance(form, Leaf):
            step = (form.kind, form.number)
        elif isinstance(form, Constant):
            step = ("object", form.object)
        elif isinstance(form, Argument):
            step = ("slot", slots[form.place])
        elif isinstance(form, Make):
            step = ("call", form.function, [add(part) for part in form.parts])
        elif isinstance(form, dict):
            step = ("dict", tuple(form), [add(part) for part in form.values()])
        else:
            name = "tuple" if isinstance(form, tuple) else "list"
            step = (name, [add(part) for part in form])
        steps.append(step)
        return len(steps) - 1

    add(form)
    return steps


def filled(form: Any, results: Sequence[Any]) -> Any:
    """An object of this form, of the results of a program, which has no ``Argument``."""
    if isinstance(form, Leaf):
        return results[form.number]
    if isinstance(form, Constant):
        return form.object
    if isinstance(form, Make):
        return form.function(*[filled(part, results) for part in form.parts])
    if isinstance(form, dict):
        return {key: filled(part, results) for key, part in form.items()}
    return type(form)([filled(part, results) for part in form])
