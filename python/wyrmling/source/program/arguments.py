"""The arguments of a call, leaf by leaf: what a program may have as parameters.

Tuples, lists and dicts are taken apart. So are instances that hold numbers, if the function is
differentiated by them: ``Opened`` stands for one. Other instances are leaves, whose attributes are
looked up where they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...transforms import instances, tree
from ..abstract.values import ELEMENTS, KINDS
from ..text import refuse
from ..text.scope import Needs, Place, argument
from . import form as forms
from .form import Constant, Instance, Make

EXTRA = "."
"""With what names of arguments begin that are no arguments of the user's function."""

NO_GRADIENT = Constant(None)
"""What a derivative has in the place of what has none."""


class Misfit(Exception):
    """A transform does not fit what the function takes or returns: tracing raises what is right."""


class ArgumentMisfit(Misfit):
    """A transform does not fit the arguments: tracing says so before it runs the function."""


@dataclass(frozen=True, eq=False)
class Opened:
    """An instance that a function is differentiated by, as the values of its attributes."""

    instance: Any
    names: tuple[str, ...]
    values: tuple[Any, ...]

    def places(self, place: Place) -> Iterator[tuple[Place, Any]]:
        """The attributes and where they are, if the instance is at a place."""
        where = instances.layout(type(self.instance))
        assert where is not None, "its class is looked into"
        for name, value in zip(self.names, self.values, strict=True):
            if name in where.slots:
                yield place.attribute(name), value
            else:
                yield place.attribute("__dict__").item(name), value

    def expect(self, place: Place, needs: Needs) -> None:
        """What is here must be of that class, and have these attributes."""
        needs.instance(place, type(self.instance))
        where = instances.layout(type(self.instance))
        assert where is not None, "its class is looked into"
        if where.has_dict:
            needs.keys(place.attribute("__dict__"), vars(self.instance))
        for name in where.slots.difference(self.names):
            needs.absent(place.attribute(name))


def _opened(value: Any, made: dict[int, Any]) -> Any:
    """The value with ``Opened`` for the instances that hold numbers; what it is made of is made
    once if it is one object.
    """
    if id(value) in made:
        if isinstance(made[id(value)], Opened):
            raise refuse.unsupported("one instance in two places of the arguments")
        return made[id(value)]
    found = value
    if type(value) in (tuple, list):
        found = type(value)([_opened(each, made) for each in value])
    elif forms.is_named(value):
        found = tuple.__new__(type(value), [_opened(each, made) for each in value])
    elif type(value) is dict:
        found = {key: _opened(each, made) for key, each in value.items()}
    elif instances.is_instance(value) and instances.has_numbers(value):
        if any(_is_lookup(type(value), name) for name in ("__getattribute__", "__getattr__")):
            raise refuse.unsupported(f"an argument of {type(value).__name__}, with __getattr__,")
        own = instances.attributes(value)
        parts = tuple([_opened(part, made) for part in own.values()])
        found = Opened(value, tuple(own), parts)
    if found is not value:
        made[id(value)] = found
    return found


def _is_lookup(cls: type, name: str) -> bool:
    return getattr(cls, name, None) not in (None, object.__getattribute__)


@dataclass(frozen=True)
class Arguments:
    """The arguments of a call, leaf by leaf. Those of ``skipped`` have no gradient."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    leaves: list[Any]
    places: list[Place]
    # For each argument, the numbers of its leaves.
    owned: list[range]
    skipped: frozenset[int]

    @classmethod
    def of(cls, args: tuple[Any, ...], kwargs: dict[str, Any], at: Iterable[int] = ()) -> Arguments:
        """Those of a call, which is differentiated by the arguments ``at`` these positions; those
        by keyword come after the others.
        """
        values = [*args, *kwargs.values()]
        made: dict[int, Any] = {}
        for k in set(at):
            found: list[Any] = []
            tree.flatten(values[k], f"argument {k}", found)
            if found:
                try:
                    instances.refuse_bound(f"argument {k}", found)
                except TypeError as error:
                    raise ArgumentMisfit(str(error)) from None
                values[k] = _opened(values[k], made)
        leaves: list[Any] = []
        places: list[Place] = []
        owned = []
        skipped: set[int] = set()
        for k, value in enumerate(values):
            start = len(leaves)
            for place, leaf, has_gradient in _flat(argument(k), value, False):
                if not has_gradient:
                    skipped.add(len(leaves))
                places.append(place)
                leaves.append(leaf)
            owned.append(range(start, len(leaves)))
        named = dict(zip(kwargs, values[len(args) :], strict=True))
        given = tuple(values[: len(args)])
        return cls(given, named, leaves, places, owned, frozenset(skipped))

    def numbers(self, at: int) -> list[int]:
        """The leaves of an argument by which it is differentiated."""
        return [number for number in self.owned[at] if number not in self.skipped]

    def arranged(self, at: int, parts: dict[int, Any]) -> Any:
        """The form of argument ``at``, with these for its leaves that have gradients."""

        def opened(found: Opened, values: list[Any]) -> Make:
            return Make(Instance.of(type(found.instance), found.names), values)

        leaves = (parts.get(k, NO_GRADIENT) for k in self.owned[at])
        made = filled(self.args[at], leaves, NO_GRADIENT, forms.named, opened)
        return without_nothing(made) if self.skipped else made


def without_nothing(form: Any) -> Any:
    """The form of a derivative, with None for attributes of instances in which nothing has one."""
    made = forms.of_parts(without_nothing, form)
    if isinstance(made, Make) and isinstance(made.function, Instance):
        parts = [NO_GRADIENT if _is_nothing(part) else part for part in made.parts]
        return Make(made.function, parts)
    return made


def _is_nothing(form: Any) -> bool:
    """Whether nothing in a form has a gradient: what a function makes, zeros, has one."""
    if isinstance(form, Make) and not isinstance(form.function, Instance | forms.MakeNamed):
        return False
    parts = forms.parts(form)
    return form is NO_GRADIENT if parts is None else all(map(_is_nothing, parts))


def _flat(place: Place, value: Any, inside: bool) -> list[tuple[Place, Any, bool]]:
    """The leaves of a value of plain containers, in the order of ``tree.flatten``, and whether each
    has a gradient, which within an instance numbers that are no integers have.
    """
    parts: list[tuple[Place, Any]]
    if type(value) in (tuple, list) or forms.is_named(value):
        parts = [(place.item(at), part) for at, part in enumerate(value)]
    elif type(value) is dict:
        parts = [(place.item(key), part) for key, part in value.items()]
    elif isinstance(value, Opened):
        parts, inside = list(value.places(place)), True
    elif value is None:
        return []
    elif tree.is_leaf(value) or (inside and not instances.has_numbers(value)):
        return [(place, value, not inside or instances.is_real(value))]
    else:
        raise refuse.unsupported(f"an argument of class {type(value).__name__}")
    return [leaf for at, part in parts for leaf in _flat(at, part, inside)]


def _again(found: Opened, values: list[Any]) -> Any:
    return replace(found, values=tuple(values))


def filled(
    value: Any,
    parts: Iterator[Any],
    none: Any = None,
    named: Callable[[Any, list[Any]], Any] = tuple.__new__,
    opened: Callable[[Opened, list[Any]], Any] = _again,
) -> Any:
    """A value of the same form with other leaves, and what stands for None; ``named`` makes a named
    tuple, ``opened`` what stands for an instance.
    """

    def inner(each: Any) -> Any:
        return filled(each, parts, none, named, opened)

    if type(value) in (tuple, list):
        return type(value)([inner(each) for each in value])
    if forms.is_named(value):
        return named(type(value), [inner(each) for each in value])
    if type(value) is dict:
        return {key: inner(each) for key, each in value.items()}
    if isinstance(value, Opened):
        return opened(value, [inner(each) for each in value.values])
    if value is None:
        return none
    return next(parts)


def expect_arguments(args: tuple[Any, ...], kwargs: dict[str, Any], needs: Needs) -> None:
    """The arguments must be of the kinds of these."""

    def expect(place: Place, value: Any) -> None:
        kind = type(value)
        # Programs have no parameter for a np.bool_.
        number = kind in KINDS and kind is not np.bool_
        if kind in (tuple, list):
            needs.length(place, value)
            for at, part in enumerate(value):
                expect(place.item(at), part)
        elif forms.is_named(value):
            needs.instance(place, kind)
            for at, part in enumerate(value):
                expect(place.item(at), part)
        elif kind is dict:
            needs.keys(place, value)
            for key, part in value.items():
                expect(place.item(key), part)
        elif kind is Opened:
            value.expect(place, needs)
            for at, part in value.places(place):
                expect(at, part)
        elif number and (kind is not int or -(2**63) <= value < 2**63):
            needs.test(place, ("kind", KINDS[kind]))
        elif kind is np.ndarray and value.dtype in ELEMENTS:
            needs.test(place, ("array", value.dtype.name, value.ndim))
        elif kind is np.ndarray:
            needs.instance(place, kind)
            needs.test(place.attribute("dtype").attribute("str"), ("equal", value.dtype.str))
        elif value is None:
            needs.expect(place, value)
        else:
            needs.instance(place, kind)

    for at, value in enumerate((*args, *kwargs.values())):
        expect(argument(at), value)
