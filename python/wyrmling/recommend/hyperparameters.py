"""Hyperparameters: the settings of a model, which can be listed, checked, changed and copied.

A model is a dataclass whose fields are its hyperparameters. A field's annotation says what is
allowed: ``Annotated[int, Bounds(least=1)]``, ``Literal["cg", "cholesky"]``, ``int | None``. Options
of a command line and spaces of a search can be made from that. ``get_params`` and ``set_params``
are those of scikit-learn's estimators, so that its ``clone`` copies a model without what it has
learnt.

Values are checked when a model is fitted and not before: an object may be set up in steps.
"""

from __future__ import annotations

import copy
import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)
from weakref import WeakKeyDictionary

import numpy as np

from ..arguments import NO_NUMBERS

__all__ = ["Bounds", "Count", "Hyperparameters", "Scale"]


@dataclass(frozen=True)
class Bounds:
    """What a number may be: at least ``least``, above ``above`` and at most ``most``."""

    least: float = -math.inf
    above: float = -math.inf
    most: float = math.inf

    def allow(self, number: float) -> bool:
        """Whether a number is within the bounds."""
        return self.least <= number <= self.most and number > self.above

    def __str__(self) -> str:
        parts = [] if self.least == -math.inf else [f"at least {self.least:g}"]
        parts += [] if self.above == -math.inf else [f"more than {self.above:g}"]
        parts += [] if self.most == math.inf else [f"at most {self.most}"]
        return " and ".join(parts)


Count = Annotated[int, Bounds(least=1, most=2**31 - 1)]
"""The number of something, from 1, below 2³¹."""
Scale = Annotated[float, Bounds(above=0, most=10**9)]
"""A standard deviation of vectors, whose products single precision can hold."""


class Hyperparameters:
    """What models have in common as holders of hyperparameters: subclasses are dataclasses."""

    # Hyperparameters of a base class that this class ignores: the command line has no options for
    # them.
    _unused: ClassVar[tuple[str, ...]] = ()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The hyperparameters by name.

        Args:
            deep: for scikit-learn, which asks; there is nothing deeper.
        """
        return {name: getattr(self, name) for name in parameter_types(type(self))}

    def set_params(self, **params: Any) -> Self:
        """Changes hyperparameters and returns the model; they count from the next fit on.

        Raises:
            ValueError: a name that is not a hyperparameter; then none is changed.
        """
        known = parameter_types(type(self))
        for name in params:
            if name not in known:
                raise ValueError(
                    f"{type(self).__name__} has no hyperparameter {name!r}, expected one of "
                    f"{', '.join(known)}"
                )
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = {field.name: field.default for field in fields(self)}  # type: ignore[arg-type]
        changed = (
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if not _is(value, defaults[name])
        )
        return f"{type(self).__name__}({', '.join(changed)})"

    def check_params(self) -> None:
        """Compares every hyperparameter with what its field allows.

        Raises:
            TypeError: a value of another kind.
            ValueError: a number out of bounds, or none of the words that are allowed.
        """
        for name, kind in parameter_types(type(self)).items():
            check(name, getattr(self, name), kind)

    def _plain(self) -> Self:
        """A copy whose numbers are Python's, as :func:`plain` makes them."""
        model = copy.copy(self)
        for name, kind in parameter_types(type(self)).items():
            setattr(model, name, plain(getattr(self, name), kind))
        return model


def _is(value: Any, default: Any) -> bool:
    """Whether a value, which nobody has checked, is the default."""
    try:
        return value is default or bool(value == default)
    except Exception:  # of arrays == is an array, which is neither true nor false
        return False


def parameter_types(model: type) -> Mapping[str, Any]:
    """The hyperparameters of a class of models: the annotation of each, by its name."""
    if (known := _parameter_types.get(model)) is None:
        # This evaluates the text of each annotation, which takes milliseconds.
        hints = get_type_hints(model, include_extras=True)
        known = {field.name: hints[field.name] for field in fields(model)}
        _parameter_types[model] = known
    return known


_parameter_types: WeakKeyDictionary[type, Mapping[str, Any]] = WeakKeyDictionary()


def check(name: str, value: object, kind: Any) -> None:
    """Compares a value with an annotation, and raises as :meth:`Hyperparameters.check_params`."""
    if not (problems := [problem(value, one) for one in alternatives(kind)]) or None in problems:
        return
    wanted = " or ".join(describe(one) for one in alternatives(kind))
    error = ValueError if ValueError in problems else TypeError
    raise error(f"{name} is {value!r}, expected {wanted}")


def plain(value: Any, kind: Any) -> Any:
    """A value that fits an annotation, as Python's own where it is a number or a truth value.

    Numbers of NumPy compute in their own precision: ``-np.uint8(2)`` is 254, and of ``np.float16``
    three digits are right. Integers of any size, and fractions, are no numbers to NumPy.
    """
    for one in alternatives(kind):
        inner = get_args(one)[0] if get_origin(one) is Annotated else one
        if inner in (int, float, bool) and problem(value, inner) is None:
            return inner(value)
    return value


def alternatives(kind: Any) -> tuple[Any, ...]:
    """The kinds of which a value may have any: the members of a union, or the one."""
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def problem(value: Any, kind: Any) -> type[Exception] | None:
    """The exception that a value is worth where this kind is expected; None if it fits."""
    if kind in (None, NoneType):
        return None if value is None else TypeError
    if get_origin(kind) is Annotated:
        inner, *bounds = get_args(kind)
        wrong = problem(value, inner)
        if wrong is not None or isinstance(value, bool):
            return wrong
        number = plain(value, inner)
        return None if all(bound.allow(number) for bound in bounds) else ValueError
    if get_origin(kind) is Literal:
        # Of arrays == is an array: only what is of the word's own type is compared.
        words = (isinstance(value, type(word)) and value == word for word in get_args(kind))
        return None if any(words) else ValueError
    if kind is bool:
        return None if isinstance(value, (bool, np.bool_)) else TypeError
    if kind is int:
        whole = isinstance(value, numbers.Integral) and not isinstance(value, NO_NUMBERS)
        return None if whole else TypeError
    if kind is float:
        if isinstance(value, NO_NUMBERS) or not isinstance(value, numbers.Real):
            return TypeError
        try:
            return None if math.isfinite(value) else ValueError
        except OverflowError:  # an integer that no float can hold
            return ValueError
    return None  # what is no plain value is checked by its model


def describe(kind: Any) -> str:
    """A kind in words."""
    if kind in (None, NoneType):
        return "None"
    if get_origin(kind) is Annotated:
        inner, *bounds = get_args(kind)
        return " ".join([describe(inner), *(str(bound) for bound in bounds)])
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    words = {int: "an integer", float: "a finite number", bool: "True or False", str: "text"}
    return words.get(kind, getattr(kind, "__name__", str(kind)))
