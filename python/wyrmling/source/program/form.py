"""The form of what a program returns: which of its results is where in a Python object.

A form is a tree of tuples, lists and dicts, whose leaves are ``Leaf`` (a result of the program),
``Constant`` (the same object at each call), ``Argument`` (the very object that was given), or
``Make`` (what a function makes of other forms, such as a dataclass of its fields).
"""

from __future__ import annotations

import copy
import functools
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..abstract.values import CLASSES
from ..text import refuse
from ..text.scope import Place


@dataclass(frozen=True)
class Leaf:
    """Result ``number`` of the program, as a number or array of ``kind``: ``float`` and ``int`` and
    ``bool`` of Python, ``float64``, ``float32`` and ``numpy_bool`` of NumPy, or ``array``.

    In Python it is the very array at ``place``, if that is known; ``memory`` has the places of the
    caller's arrays and the numbers of the function's own that it may share memory with. Of an array
    without axes, ``element`` is the kind of its number, which transforms give.
    """

    number: int
    kind: str
    place: Place | None = None
    memory: frozenset[Place | int] = frozenset()
    element: str | None = None


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


def is_named(value: Any) -> bool:
    """Whether this is a named tuple of which nothing but its fields is its own."""
    return is_named_class(type(value))


def is_named_class(cls: Any) -> bool:
    """Whether this is the class of such named tuples."""
    if cls.__bases__ != (tuple,) or not hasattr(cls, "_fields") or cls.__dictoffset__:
        return False
    return bool(cls.__getitem__ is tuple.__getitem__ and cls.__iter__ is tuple.__iter__)


OF_TUPLES = (
    *("__bool__", "__contains__", "__eq__", "__ge__", "__getattr__", "__getattribute__"),
    *("__getitem__", "__gt__", "__iadd__", "__imul__", "__iter__", "__le__", "__len__"),
    *("__lt__", "__ne__", "__reversed__"),
)


def refuse_own_methods(walker: Any, cls: type, node: Any) -> None:
    """Refuses a class of tuples that does otherwise than tuples do, but for its operators."""
    for name in OF_TUPLES:
        if getattr(cls, name, None) is not getattr(tuple, name, None):
            walker.refuse(node, f"a named tuple with its own {name}", "use a dataclass")


@dataclass(frozen=True)
class MakeNamed:
    """Makes a named tuple of its fields."""

    cls: type

    def __call__(self, *parts: Any) -> Any:
        """A named tuple, without a call of the class."""
        return tuple.__new__(self.cls, parts)


@dataclass(frozen=True)
class Instance:
    """Makes an instance of its attributes.

    It refers to the class weakly, so that a compiled function does not keep the class alive: the
    caller has the class, or an instance.
    """

    cls: weakref.ref[type]
    names: tuple[str, ...]

    @classmethod
    def of(cls, made: type, names: tuple[str, ...]) -> Instance:
        """Makes instances of a class."""
        return cls(weakref.ref(made), names)

    def __call__(self, *values: Any) -> Any:
        """An instance, without a call of ``__init__``, which has run already."""
        made: Any = object.__new__(self.cls())  # type: ignore[arg-type]
        for name, value in zip(self.names, values, strict=True):
            object.__setattr__(made, name, value)
        return made


@dataclass(frozen=True)
class DictOf:
    """Makes a dict of its values, by keys of any class."""

    keys: tuple[Any, ...]

    def __call__(self, *values: Any) -> Any:
        """A dict."""
        return dict(zip(self.keys, values, strict=True))


@dataclass(frozen=True)
class AsType:
    """Gives an array of floats as one of integers or truths."""

    dtype: str

    def __call__(self, array: Any) -> Any:
        """An array of this type."""
        return array.astype(self.dtype) if array.shape else np.dtype(self.dtype).type(array[()])


def named(cls: type, parts: list[Any]) -> Make:
    """The form of a named tuple."""
    return Make(MakeNamed(cls), parts)


FILLED: dict[str, Callable[[str, Any], str]] = {
    "%": lambda text, values: text % values,
    "format": lambda text, values: text.format(*values),
}
"""What fills values into a text."""


@dataclass(frozen=True)
class Formatted:
    """Makes a string: ``template`` has what is written, and how each of the values is formatted."""

    template: tuple[Any, ...]

    def __call__(self, *values: Any) -> str:
        """The string."""
        changes: dict[int, Callable[[Any], str]] = {115: str, 114: repr, 97: ascii}
        given = iter(values)
        parts = []
        for piece in self.template:
            if isinstance(piece, str):
                parts.append(piece)
                continue
            change, spec = piece
            value = next(given)
            if change in FILLED:
                parts.append(FILLED[change](spec, value))
                continue
            parts.append(format(changes[change](value) if change in changes else value, spec))
        return "".join(parts)


@dataclass(frozen=True)
class Either:
    """One of several forms; the result ``tag`` says which."""

    tag: int
    forms: tuple[Any, ...]


def leaves(form: Any) -> list[Any]:
    """The leaves in order: results, constants and arguments; those of a ``Make`` are its parts'."""
    inner = parts(form)
    return [form] if inner is None else [leaf for part in inner for leaf in leaves(part)]


def of_parts(function: Callable[[Any], Any], form: Any) -> Any:
    """The form with ``function`` of each of its parts; a leaf as it is."""
    if isinstance(form, Make):
        return Make(form.function, [function(part) for part in form.parts])
    if isinstance(form, dict):
        return {key: function(part) for key, part in form.items()}
    if isinstance(form, tuple | list):
        return type(form)([function(part) for part in form])
    return form


def convert(function: Callable[[Any], Any], form: Any) -> Any:
    """The form with ``function`` of each leaf in its place."""
    if parts(form) is None:
        return function(form)
    return of_parts(lambda part: convert(function, part), form)


def plain(form: Any) -> Any:
    """The form of results as transforms give them: arrays without axes are numbers, and NumPy's
    float64 numbers are Python's floats, but not where they are formatted.
    """
    if isinstance(form, Make) and isinstance(form.function, Formatted):
        return form
    if not isinstance(form, Leaf):
        return of_parts(plain, form)
    kind = form.element or form.kind
    if kind == "array":
        return form
    return Leaf(form.number, "float" if kind == "float64" else kind)


def returned(form: Any, copied: frozenset[Place] = frozenset()) -> Any:
    """The form in which a caller gets what a function returns: an array of his own is that array,
    unless it is at one of the places whose arrays are ``copied``.

    Raises SourceError for results that share memory otherwise: views, whose writes would be seen by
    others in Python.
    """
    seen: set[Place | int] = set()

    def leaf(form: Any) -> Any:
        if isinstance(form, Constant) and isinstance(form.object, np.ndarray | list | dict | set):
            return Make(functools.partial(copy.deepcopy, form.object), [])
        if not isinstance(form, Leaf) or not form.memory:
            return form
        if form.place is not None and form.place not in copied:
            return Argument(form.place)
        memory = form.memory - copied
        for each in memory:
            if isinstance(each, Place):
                raise refuse.unsupported(
                    f"a result that is a view of {each}, which the caller has,"
                )
        if not memory.isdisjoint(seen):
            raise refuse.unsupported("a result that shares memory with another result")
        seen.update(memory)
        return Leaf(form.number, form.kind)

    return convert(leaf, form)


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
            parts = [add(part) for part in form.values()]
            plain = all(type(key) in (str, int) for key in form)
            step = ("dict", tuple(form), parts) if plain else ("call", DictOf(tuple(form)), parts)
        else:
            name = "tuple" if isinstance(form, tuple) else "list"
            step = (name, [add(part) for part in form])
        steps.append(step)
        return len(steps) - 1

    add(form)
    return steps


def filled(found: Any, values: Sequence[Any], roots: tuple[Any, ...] = ()) -> Any:
    """The Python object of a form, of the results of a program. ``roots`` are the function that was
    called and its arguments; a form without an ``Argument`` needs none.
    """
    if isinstance(found, Leaf):
        value = values[found.number]
        return np.array(value, found.element) if found.element else boxed(value, found.kind)
    if isinstance(found, Constant):
        return found.object
    if isinstance(found, Argument):
        return found.place.read(roots)
    if isinstance(found, Make):
        return found.function(*[filled(part, values, roots) for part in found.parts])
    if isinstance(found, Either):
        return filled(found.forms[values[found.tag]], values, roots)
    if isinstance(found, dict):
        return {key: filled(part, values, roots) for key, part in found.items()}
    return type(found)([filled(part, values, roots) for part in found])


def boxed(value: Any, kind: str) -> Any:
    """A result of the program as a number of a kind of Python's or NumPy's."""
    return CLASSES[kind](value) if kind in CLASSES else value
