"""Where the names of a function come from, as places that are read anew at each call.

A compiled function is used again as long as what it was made from is the same. What it was made
from is found at *places*: cells, globals, attributes, items, reached from the function that is
called or from its arguments. A place is relative to the call, never an object: a lambda that is
made anew in each iteration, over new cells, has the places of the one that was compiled.

``Needs`` collects them while a function is read. At each call its steps are taken in order, and
each result compared with what is expected; where one differs, the function is read anew. What is
captured and is a number or an array is a *hidden argument*: read at the call, but not compared.

The native module (``_core.Specialization``) takes steps and tests as they are here, and holds what
is compared weakly where that is possible, so that what is kept for a function never keeps it.
"""

from __future__ import annotations

import abc
import enum
import inspect
import struct
import types
from typing import Any, NamedTuple

from .refuse import Unreadable


class _Mark:
    """A word that is no value of a user's."""

    def __init__(self, word: str) -> None:
        self.word = word

    def __repr__(self) -> str:
        return self.word


ABSENT = _Mark("ABSENT")
"""What a step gives that finds nothing."""

Test = tuple[Any, ...]
"""What a result must be: ``("any",)``, ``("absent",)``, ``("is", object)``, ``("equal", value)``
of exactly that type, ``("instance", class)`` exactly, ``("tuple" | "list", length)``, or ``("dict",
keys)`` in that order, ``("names", names)`` of a class's members, ``("same", slot)`` or
``("distinct", (slot,))``; the native module knows more, for what is an argument or a hidden one.
"""

Step = tuple[str, int, Any, Test]
"""``(kind, base, key, test)``: the result is read from that of step ``base``."""


class Place(NamedTuple):
    """Where an object was found: by a step of this ``kind`` from another place.

    The kinds: ``root`` (``key`` 0 is what is called, then its positional arguments, then those by
    keyword in the order of the call), ``cell`` (contents, by the position among ``__closure__``),
    ``global`` (a name in a function's globals, else in its builtins), ``attribute``, ``item``,
    ``length``, ``type``, of a function ``code``, ``defaults`` and ``kwdefaults``, ``called`` (what
    it gives for a class), and of anything ``registrations``.
    """

    base: Place | None
    kind: str
    key: Any

    def cell(self, at: int) -> Place:
        """What is in cell ``at`` of the function here."""
        return Place(self, "cell", at)

    def globals(self, name: str) -> Place:
        """What a global name of the function here means."""
        return Place(self, "global", name)

    def attribute(self, name: str) -> Place:
        """An attribute of the object here."""
        return Place(self, "attribute", name)

    def item(self, key: Any) -> Place:
        """An item of the tuple, list or dict here."""
        return Place(self, "item", key)

    def length(self) -> Place:
        """The length of what is here."""
        return Place(self, "length", None)

    def type(self) -> Place:
        """The type of what is here."""
        return Place(self, "type", None)

    def code(self) -> Place:
        """The code of the function here."""
        return Place(self, "code", None)

    def defaults(self) -> Place:
        """The defaults of positional parameters of the function here: a tuple, or None."""
        return Place(self, "defaults", None)

    def kwdefaults(self) -> Place:
        """The defaults of keyword-only parameters of the function here: a dict, or None."""
        return Place(self, "kwdefaults", None)

    def called(self, cls: Any) -> Place:
        """What the function here gives for a class."""
        return Place(self, "called", cls)

    def registrations(self) -> Place:
        """A number that is another one after each call of ``ABC.register``."""
        return Place(self, "registrations", None)

    def read(self, roots: tuple[Any, ...]) -> Any:
        """What is here at a call of ``roots[0]`` with the arguments that follow; ABSENT if nothing
        is. It is what the native module does at each call, step by step.
        """
        if self.base is None:
            return roots[self.key]
        return take(self.kind, self.base.read(roots), self.key)

    def __str__(self) -> str:
        if self.base is None:
            return "the function" if self.key == 0 else f"argument {self.key - 1}"
        if self.kind == "item" and self.base.kind == "attribute" and self.base.key == "__dict__":
            return f"{self.base.base}.{self.key}"
        written = {"item": f"{self.base}[{self.key!r}]", "global": f"{self.key}"}
        written |= {"attribute": f"{self.base}.{self.key}", "cell": f"cell {self.key}"}
        return written.get(self.kind, f"{self.kind} of {self.base}")


FUNCTION = Place(None, "root", 0)
"""What is called."""


def argument(at: int) -> Place:
    """Argument ``at`` of the call."""
    return Place(None, "root", at + 1)


def take(kind: str, base: Any, key: Any) -> Any:
    """The result of one step; ABSENT if there is none."""
    try:
        if kind == "cell":
            return base.__closure__[key].cell_contents
        if kind == "global":
            found = base.__globals__.get(key, ABSENT)
            return base.__builtins__.get(key, ABSENT) if found is ABSENT else found
        if kind == "attribute":
            return getattr(base, key)
        if kind == "item":
            return base[key]
        if kind == "length":
            return len(base)
        if kind == "called":
            return base(key)
        if kind == "registrations":
            return abc.get_cache_token()
        return type(base) if kind == "type" else getattr(base, f"__{kind}__")
    except (LookupError, AttributeError, TypeError, ValueError):
        return ABSENT


class Needs:
    """What a compiled function depends on, and what it is given beside its arguments."""

    def __init__(self) -> None:
        self._tests: dict[Place, list[Test]] = {}
        self._hidden: dict[Place, int] = {}
        self._pairs: dict[tuple[Place, Place], bool] = {}

    def test(self, place: Place, test: Test) -> None:
        """What is here must pass a test at each call."""
        tests = self._tests.setdefault(place, [])
        if not any(each[0] == test[0] and _identical(each[1:], test[1:]) for each in tests):
            tests.append(test)

    def expect(self, place: Place, found: Any) -> None:
        """The object here must be this one at each call; a string or integer must be equal.

        Of a Python function the code alone is compared, since its defaults, cells and globals have
        places of their own where they are read; of a method, that and the object.
        """
        if isinstance(found, types.FunctionType):
            self.test(place.code(), ("is", found.__code__))
        elif isinstance(found, types.MethodType):
            self.expect(place.attribute("__func__"), found.__func__)
            self.expect(place.attribute("__self__"), found.__self__)
        elif isinstance(found, types.BuiltinFunctionType) and not isinstance(
            found.__self__, types.ModuleType | type(None)
        ):
            # It is made anew whenever it is read.
            self.instance(place, type(found))
            self.test(place.attribute("__name__"), ("equal", found.__name__))
            self.expect(place.attribute("__self__"), found.__self__)
        elif type(found) in (int, str):
            self.test(place, ("equal", found))
        else:
            self.test(place, ("is", found))

    def absent(self, place: Place) -> None:
        """There must be nothing here."""
        self.test(place, ("absent",))

    def instance(self, place: Place, expected: type) -> None:
        """What is here must be exactly of this type."""
        self.test(place, ("instance", expected))

    def length(self, place: Place, found: tuple[Any, ...] | list[Any]) -> None:
        """There must be a tuple or list here as long as this one."""
        self.test(place, ("list" if isinstance(found, list) else "tuple", len(found)))

    def keys(self, place: Place, found: dict[Any, Any]) -> None:
        """There must be a dict here with the keys of this one, in that order."""
        self.test(place, ("dict", tuple(found)))

    def pair(self, place: Place, other: Place, are_one: bool) -> None:
        """Whether what is here and there is one object has to be the same at each call."""
        self._pairs[place, other] = are_one

    def no_subclass(self, classes: Any) -> None:
        """That something is of none of these classes holds until a class is registered, if one of
        them takes registrations.
        """
        waiting = [classes]
        while waiting:
            each = waiting.pop()
            if isinstance(each, abc.ABCMeta):
                self.test(FUNCTION.registrations(), ("equal", abc.get_cache_token()))
            waiting += each if isinstance(each, tuple) else getattr(each, "__args__", ())

    def hidden(self, place: Place) -> int:
        """The number of a hidden argument, which is read here at each call."""
        return self._hidden.setdefault(place, len(self._hidden))

    def steps(self, count: int) -> tuple[list[Step], dict[Place, int]]:
        """What to do at each call with ``count`` arguments, and in which slot each place is then.

        Slot 0 is the function, the next ``count`` its arguments; each step fills another. Every
        place that a test or a hidden argument names is there.
        """
        slots = {Place(None, "root", at): at for at in range(count + 1)}
        steps: list[Step] = []

        def slot(place: Place) -> int:
            if place not in slots:
                assert place.base is not None, f"there is no {place}"
                base = slot(place.base)
                first, *others = self._tests.get(place, [("any",)])
                steps.append((place.kind, base, place.key, first))
                slots[place] = at = count + len(steps)
                steps.extend(("self", at, None, test) for test in others)
            return slots[place]

        for place, tests in self._tests.items():
            at = slot(place)
            if place.base is None:
                steps += [("self", at, None, test) for test in tests]
        for place in self._hidden:
            slot(place)
        for (place, other), are_one in self._pairs.items():
            there = slot(other)
            here = slot(place)
            test = ("same", there) if are_one else ("distinct", (there,))
            steps.append(("self", here, None, test))
        return steps, slots

    def missed(self, roots: tuple[Any, ...]) -> str | None:
        """None if all is as expected at a call of ``roots[0]``, or the place that differs."""
        steps, slots = self.steps(len(roots) - 1)
        names = {at: place for place, at in slots.items()}
        found = list(roots)
        for kind, base, key, test in steps:
            found.append(found[base] if kind == "self" else take(kind, found[base], key))
            if test[0] in ("same", "distinct"):
                there = test[1] if test[0] == "same" else test[1][0]
                passed = (found[-1] is found[there]) == (test[0] == "same")
            else:
                passed = passes(found[-1], test)
            if not passed:
                return str(names[base if kind == "self" else len(found) - 1])
        return None


def passes(found: Any, test: Test) -> bool:
    """Whether an object passes a test; the native module decides the same."""
    match test:
        case ("any",):
            return True
        case ("absent",):
            return found is ABSENT
        case ("is", wanted):
            return bool(found is wanted)
        case ("equal", wanted):
            if isinstance(wanted, float) and type(found) is type(wanted):
                # Zeros have signs, and the same NaN is the same.
                return struct.pack("d", found) == struct.pack("d", wanted)
            return type(found) is type(wanted) and bool(found == wanted)
        case ("instance", wanted):
            return bool(type(found) is wanted)
        case ("names", wanted):
            return type(found) is types.MappingProxyType and bool(tuple(found) == wanted)
        case ("dict", wanted):
            return type(found) is dict and bool(tuple(found) == wanted)
        case ("tuple" | "list" as name, wanted):
            return type(found).__name__ == name and len(found) == int(wanted)
    raise ValueError(f"{test[0]!r} is no test of what is captured")


def _identical(some: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    return len(some) == len(others) and all(a is b for a, b in zip(some, others, strict=True))


class Names:
    """What the names of a function mean that are not its own: cells, globals and builtins."""

    def __init__(self, function: types.FunctionType, place: Place = FUNCTION) -> None:
        self.function = function
        self.place = place
        self._free = {name: at for at, name in enumerate(function.__code__.co_freevars)}

    def where(self, name: str) -> Place:
        """Where the object is that a name means, if there is one."""
        if name in self._free:
            return self.place.cell(self._free[name])
        return self.place.globals(name)

    def find(self, name: str) -> tuple[Any, Place]:
        """The object that a name means now, and where it is. Raises NameError as Python would."""
        place = self.where(name)
        found = take(place.kind, self.function, place.key)
        if found is not ABSENT:
            return found, place
        if place.kind == "cell":
            raise NameError(
                f"cannot access free variable '{name}' where it is not associated with a "
                "value in enclosing scope"
            )
        raise NameError(f"name '{name}' is not defined")

    def default(self, parameter: str) -> tuple[Any, Place] | None:
        """The default of a parameter, and where it is; None if it has none."""
        code = self.function.__code__
        positional = code.co_varnames[: code.co_argcount]
        if parameter in positional:
            defaults = self.function.__defaults__ or ()
            at = positional.index(parameter) - (len(positional) - len(defaults))
            if at < 0:
                return None
            return defaults[at], self.place.defaults().item(at)
        named = self.function.__kwdefaults__ or {}
        if parameter not in named:
            return None
        return named[parameter], self.place.kwdefaults().item(parameter)

    def expect_defaults(self, needs: Needs) -> None:
        """There must be as many defaults at each call; their values are at their places."""
        defaults = self.place.defaults()
        if self.function.__defaults__ is None:
            needs.expect(defaults, None)
        else:
            needs.length(defaults, self.function.__defaults__)
        named = self.place.kwdefaults()
        if self.function.__kwdefaults__ is None:
            needs.expect(named, None)
        else:
            needs.keys(named, self.function.__kwdefaults__)


class Property(NamedTuple):
    """A property: reading it calls ``get`` with the object."""

    get: types.FunctionType
    place: Place


HEAP_TYPE = 1 << 9
"""The flag of classes to which attributes can be added (``Include/object.h``)."""


def is_built_in(cls: type) -> bool:
    """Whether a class is Python's own: one that ``exec`` makes without a ``__name__`` among its
    globals says so too.
    """
    return cls.__module__ == "builtins" and not cls.__flags__ & HEAP_TYPE


def attribute(found: Any, place: Place, name: str, needs: Needs) -> tuple[Any, Place] | Property:
    """An attribute of an object that is known, and its place. A property is given as such.

    Raises AttributeError as Python would, and Unreadable if the object's class has code of its own
    that decides what attributes there are.
    """
    kind = type(found)
    if not isinstance(found, types.ModuleType | type):
        needs.instance(place, kind)
    if isinstance(_lookup(kind, "__getattribute__"), types.FunctionType):
        raise Unreadable(f"{kind.__qualname__} decides by itself what attributes it has")
    if kind.__flags__ & HEAP_TYPE and not isinstance(found, type):
        needs.expect(place.type().attribute("__getattribute__"), kind.__getattribute__)
    if isinstance(found, enum.EnumType) and name in found.__members__:
        return found.__members__[name], place.attribute(name)
    if isinstance(found, enum.Enum) and _lookup(kind, name) in (_NAME, _VALUE):
        return getattr(found, name), place.attribute(name)
    member = inspect.getattr_static(found, name, ABSENT)
    if member is ABSENT:
        if isinstance(_lookup(kind, "__getattr__"), types.FunctionType):
            raise Unreadable(f"{kind.__qualname__} decides by itself what attributes it has")
    elif isinstance(member, property) and not isinstance(found, type):
        if not isinstance(member.fget, types.FunctionType):
            raise Unreadable(f"the property {kind.__qualname__}.{name} is not written in Python")
        return Property(member.fget, place.type().attribute(name).attribute("fget"))
    elif isinstance(_lookup(type(member), "__get__"), types.FunctionType):
        raise Unreadable(f"{kind.__qualname__}.{name} is a descriptor written in Python")
    return getattr(found, name), place.attribute(name)


_NAME, _VALUE = vars(enum.Enum)["name"], vars(enum.Enum)["value"]


def is_native(found: Any) -> bool:
    """Whether an object can be called and has no text for that, as ``np.max``. What it does is
    known by its identity alone: another object of its class, as ``np.min``, does something else.
    """
    call = inspect.getattr_static(type(found), "__call__", None)
    return callable(found) and not isinstance(call, types.FunctionType)


def _lookup(kind: type, name: str) -> Any:
    """A member of a class or of those that it is derived from, as it stands there."""
    for each in kind.__mro__:
        if name in each.__dict__:
            return each.__dict__[name]
    return ABSENT
