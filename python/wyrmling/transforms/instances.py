"""Instances of classes that hold numbers: what they hold, and others like them.

An instance of a class written in Python, such as a dataclass, is the values of its attributes:
those in its ``__dict__`` and its slots. What its class has, properties and cached properties are
none of these. Another like it is made without a call of ``__init__`` or ``__post_init__``, as
``copy.copy`` makes one, so that frozen classes and classes that check their arguments are no
exceptions. Classes of Python's own library, of NumPy, and those whose instances are arrays, say
what they hold in other ways: their instances are not looked into.
"""

from __future__ import annotations

import enum
import functools
import sys
import types
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core import Variable

# A class that ``exec`` makes without a ``__name__`` among its globals says "builtins"; Python's own
# are told by their flags.
_FOREIGN = (sys.stdlib_module_names - {"builtins"}) | {"numpy", "scipy", "wyrmling"}
_OTHERWISE = ("__array__", "__array_interface__", "__array_struct__", "__array_ufunc__", "__del__")
_HEAP = 1 << 9


@dataclass(frozen=True)
class Layout:
    """Where instances of a class keep their attributes: in these slots, and maybe in a dict."""

    slots: frozenset[str]
    has_dict: bool
    # Attributes in the dict that are computed again when they are asked for.
    cached: frozenset[str]


_layouts: weakref.WeakKeyDictionary[type, Layout | None] = weakref.WeakKeyDictionary()


def layout(cls: type) -> Layout | None:
    """Where instances of a class keep their attributes; None if they are not looked into."""
    try:
        return _layouts[cls]
    except KeyError:
        found = _layouts[cls] = _layout(cls) if _is_plain(cls) else None
        return found


def _is_plain(cls: type) -> bool:
    module = getattr(cls, "__module__", None)
    if cls is object or not isinstance(module, str) or module.partition(".")[0] in _FOREIGN:
        return False
    if isinstance(cls, enum.EnumType) or any(hasattr(cls, name) for name in _OTHERWISE):
        return False
    return cls.__mro__[-1] is object and all(map(_is_of_python, cls.__mro__[:-1]))


def _is_of_python(cls: type) -> bool:
    """Whether a class adds nothing to its instances but slots, a dict and weak references."""
    own = vars(cls)
    if not cls.__flags__ & _HEAP or isinstance(own.get("__new__"), types.BuiltinFunctionType):
        return False
    if any(name in own for name in ("__dict__", "__weakref__", "__slots__")):
        return True
    base = cls.__base__
    return base is not None and cls.__basicsize__ == base.__basicsize__


def _layout(cls: type) -> Layout | None:
    # Without the descriptors of slots, which would keep the class that they belong to.
    slots: set[str] = set()
    members: dict[str, Any] = {}
    for each in reversed(cls.__mro__):
        own = vars(each)
        members |= own
        slots |= {name for name in own if isinstance(own[name], types.MemberDescriptorType)}
    if not all(isinstance(members[name], types.MemberDescriptorType) for name in slots):
        return None
    cached = {name for name, own in members.items() if isinstance(own, functools.cached_property)}
    return Layout(frozenset(slots), bool(cls.__dictoffset__), frozenset(cached))


def attributes(value: Any) -> dict[str, Any]:
    """The attributes that an instance has itself, by name."""
    where = layout(type(value))
    assert where is not None, "its class is looked into"
    found: dict[str, Any] = {}
    for name in sorted(where.slots):
        try:
            found[name] = object.__getattribute__(value, name)
        except AttributeError:
            continue
    if where.has_dict:
        held = object.__getattribute__(value, "__dict__")
        found |= {name: own for name, own in held.items() if name not in where.cached}
    return found


def made(cls: type, names: Iterable[str], values: Iterable[Any]) -> Any:
    """An instance with these attributes."""
    return filled(object.__new__(cls), names, values)


def filled(value: Any, names: Iterable[str], values: Iterable[Any]) -> Any:
    """The instance, with these attributes."""
    where = layout(type(value))
    assert where is not None, "its class is looked into"
    for name, own in zip(names, values, strict=True):
        if name in where.slots:
            object.__setattr__(value, name, own)
        else:
            object.__getattribute__(value, "__dict__")[name] = own
    return value


def is_instance(value: Any) -> bool:
    """Whether this is an instance that is looked into."""
    return layout(type(value)) is not None


def is_real(value: Any) -> bool:
    """Whether this is a number or an array that has a gradient where it is an attribute: one of
    floating-point numbers. Integers are counts and lengths there.
    """
    if isinstance(value, Variable | np.ndarray):
        return value.dtype.kind == "f"
    return isinstance(value, float | np.floating)


def holds(value: Any, wanted: Callable[[Any], bool]) -> bool:
    """Whether there is such a part somewhere in instances, tuples, lists and dicts."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if wanted(each):
            return True
        if isinstance(each, tuple | list | dict):
            parts: Iterable[Any] = each.values() if isinstance(each, dict) else each
        elif is_instance(each):
            parts = attributes(each).values()
        else:
            continue
        if id(each) not in seen:
            seen.add(id(each))
            waiting += parts
    return False


def has_numbers(value: Any) -> bool:
    """Whether something in it has a gradient."""
    return holds(value, is_real)


def _behind(value: Any) -> list[Any]:
    """What a function has hold of: the object that it is bound to, arguments, and cells."""
    if isinstance(value, types.MethodType):
        return [value.__self__]
    if isinstance(value, functools.partial):
        return [*_behind(value.func), *value.args, *value.keywords.values()]
    found: list[Any] = []
    for cell in getattr(value, "__closure__", None) or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:
            continue
    return found


def refuse_bound(name: str, opened: Sequence[Any]) -> None:
    """Raises TypeError if one of these instances, by which a function is differentiated, has an
    attribute that is a function with hold of one of them: of others like them it knows nothing.
    """
    own = {id(each) for each in opened}

    def is_bound(value: Any) -> bool:
        return callable(value) and any(id(each) in own for each in _behind(value))

    for each in opened:
        for attribute, part in attributes(each).items():
            if holds(part, is_bound):
                raise TypeError(
                    f"{name}: {type(each).__name__}.{attribute}: expected no function that is "
                    "bound to what is differentiated, whose gradient it would lose; make it a "
                    "method of the class"
                )
