"""Instances that a function makes: of dataclasses, named tuples and plain classes in Python.

The methods that ``dataclass`` and ``namedtuple`` have written are not read: what they do with their
arguments and defaults is done here. Of enumerations the member is found that has a value. Classes
of Python's library for which a text is read are in ``standard.INSTANCES``, those of dicts in
``dicts.py``; other classes that are not written in Python are refused.
"""

from __future__ import annotations

import abc
import ast
import dataclasses
import enum
import types
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..abstract.state import InstanceContents
from ..abstract.values import Known, Reference, Tuple
from ..abstract.walker import Walker
from ..library.standard import INSTANCES
from ..program.form import refuse_own_methods
from ..text.scope import FUNCTION, HEAP_TYPE, Names, Place
from .classes import package_of
from .dicts import CLASSES as CLASSES_OF_DICTS
from .objects import member_of


def _is_class_variable(field: Any) -> bool:
    """Whether what a dataclass says of an attribute is that its class has it."""
    found: bool = field._field_type.name == "_FIELD_CLASSVAR"
    return found


class Instantiation(Walker):
    """Calls of classes."""

    def instantiate(
        self, cls: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """An instance of a class; ``cls`` is a known value."""
        made: type = cls.object
        if made in (np.dtype, np.finfo, np.iinfo) and not keywords:
            given = [self.constant_of(one, node, "an argument that is computed") for one in args]
            return self.fold(made, given, node)
        if made is np.ndarray and len(args) <= 2 and set(keywords) <= {"shape", "dtype", "order"}:
            return self.array_call(np.empty, args, keywords, node)
        if isinstance(made, enum.EnumMeta) and len(args) == 1 and not keywords:
            return self._member_of_value(cls, args[0], node)
        if made in CLASSES_OF_DICTS:
            return self.made_dict(made, args, keywords, node)
        if made in INSTANCES.values():
            return self.instantiate(self.written_out(made.__name__, node), args, keywords, node)
        if package_of(made) in ("numpy", "scipy", "wyrmling") and made not in INSTANCES:
            self.refuse(node, f"an instance of {made.__name__}", "make it outside of the function")
        new = getattr(made, "__new__", None)
        if issubclass(made, tuple) and hasattr(made, "_fields"):
            if getattr(new, "__globals__", {}).get("__name__") != f"namedtuple_{made.__name__}":
                self.refuse(node, "a named tuple with its own __new__", "use a dataclass")
            refuse_own_methods(self, made, node)
            return self._named_tuple(cls, args, keywords, node)
        is_abstract = bool(getattr(made, "__abstractmethods__", None))
        plain = type(made) in (type, abc.ABCMeta) and new is object.__new__ and not is_abstract
        plain = plain and member_of(made, "__getattribute__", None) is object.__getattribute__
        if not plain or issubclass(made, BaseException):
            advice = "use a list, a dict or a class of data"
            self.refuse(node, f"an instance of {made.__name__}", advice)
        if cls.place is not None:
            self._expect_members(made, cls.place)
        value = self.allocate(InstanceContents(made, (), (), cls.place))
        with self.holding(value):
            if dataclasses.is_dataclass(made) and self._has_generated_init(made):
                self._dataclass(value, cls, args, keywords, node)
            elif isinstance(getattr(made, "__init__", None), types.FunctionType):
                function = self.bound(value, "__init__", node)
                self.call(function, args, keywords, node)
            elif args or keywords:
                self.leave("a class takes no arguments", node)
        return value

    def _member_of_value(self, cls: Known, value: Any, node: ast.AST) -> Any:
        """The member of an enumeration that has a value."""
        wanted = self.constant_of(value, node, "a member by a value that is computed")
        for name, member in cls.object.__members__.items():
            if type(member.value) is type(wanted) and member.value == wanted:
                return self.attribute(cls, name, node)
        return self.refuse(node, "such a member of an enumeration", "name the member")

    def _expect_members(self, cls: type, place: Place) -> None:
        """At each call a class and those that it is derived from have members of the same names:
        another may be a property, or decide what attributes there are.
        """
        for at, each in enumerate(cls.__mro__):
            if each.__flags__ & HEAP_TYPE:
                owner = place.attribute("__mro__").item(at) if at else place
                self.needs.test(owner.attribute("__dict__"), ("names", tuple(vars(each))))

    @staticmethod
    def _has_generated_init(cls: type) -> bool:
        init = vars(cls).get("__init__") or getattr(cls, "__init__", None)
        return isinstance(init, types.FunctionType) and init.__code__.co_filename == "<string>"

    def _defaults(self, cls: Known, method: str, node: ast.AST) -> Callable[[str], Any]:
        """What finds the default of a parameter of a method that a library has written for a class,
        None if there is none. It has to be that method at each call.
        """
        function = getattr(cls.object, method)
        place = None if cls.place is None else cls.place.attribute(method)
        names = Names(function, place or FUNCTION)
        if place is not None:
            self.needs.expect(place, function)
            names.expect_defaults(self.needs)

        def default(name: str) -> Any:
            found = names.default(name)
            if found is None:
                return None
            return Known(found[0]) if place is None else self.known(*found, node)

        return default

    def _named_tuple(
        self, known: Known, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Tuple:
        cls: Any = known.object
        given = dict(zip(cls._fields, args, strict=False))
        if len(args) > len(cls._fields) or set(keywords) & set(given):
            self.leave("arguments do not fit a named tuple", node)
        given |= keywords
        default = self._defaults(known, "__new__", node)
        for name in cls._fields:
            if name not in given and (found := default(name)) is not None:
                given[name] = found
        if set(given) != set(cls._fields):
            self.leave("arguments do not fit a named tuple", node)
        return Tuple(tuple(self.kept(given[name], node) for name in cls._fields), cls, known.place)

    def _dataclass(
        self,
        value: Reference,
        known: Known,
        args: Sequence[Any],
        keywords: dict[str, Any],
        node: ast.AST,
    ) -> None:
        cls: Any = known.object
        default = self._defaults(known, "__init__", node)
        # Fields of type ``InitVar``, which are no attributes, are given to __post_init__.
        passed = [
            field
            for field in cls.__dataclass_fields__.values()
            if field.name not in {own.name for own in dataclasses.fields(cls)}
            and not _is_class_variable(field)
        ]
        declared = [
            field for field in cls.__dataclass_fields__.values() if not _is_class_variable(field)
        ]
        fields = [field for field in declared if field.init]
        positional = [field.name for field in fields if not field.kw_only]
        given = dict(zip(positional, args, strict=False))
        if len(args) > len(positional) or set(keywords) & set(given):
            self.leave("arguments do not fit a dataclass", node)
        given |= keywords
        if set(given) - {field.name for field in fields}:
            self.leave("arguments do not fit a dataclass", node)
        attributes: dict[str, Any] = {}
        for field in declared:
            if field.name in given:
                attributes[field.name] = given[field.name]
            elif field.default_factory is not dataclasses.MISSING:
                attributes[field.name] = self.call(self._factory(value, field), [], {}, node)
            elif field.init and (found := default(field.name)) is not None:
                attributes[field.name] = found
            elif not field.init and field.default is not dataclasses.MISSING:
                attributes[field.name] = Known(field.default)
            elif field.init:
                self.leave("arguments do not fit a dataclass", node)
        extra = [attributes.pop(field.name) for field in passed]
        set_by_class = any(hasattr(getattr(cls, name, None), "__set__") for name in attributes)
        if set_by_class and not hasattr(cls, "__slots__"):
            self.refuse(node, "a dataclass with descriptors", "use plain fields")
        contents = self.contents(value, node)
        made = replace(contents, names=tuple(attributes), values=tuple(attributes.values()))
        self.store(value, made, node)
        after = self.bound(value, "__post_init__", node)
        if after is not None:
            self.call(after, extra, {}, node)

    def _factory(self, value: Reference, field: Any) -> Known:
        """What makes the default of a field."""
        place = self.class_place(value)
        if place is not None:
            place = place.attribute("__dataclass_fields__").item(field.name)
            place = place.attribute("default_factory")
        return Known(field.default_factory, place)
