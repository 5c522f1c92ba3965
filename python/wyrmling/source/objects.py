"""Instances: dataclasses, named tuples, and plain classes in Python.

An instance that the function makes is the values of its attributes. One that exists outside is read
where it is, and not written to. Methods and properties are functions that are read in turn.
"""

from __future__ import annotations

import abc
import ast
import dataclasses
import enum
import functools
import types
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..ragged import Ragged
from .dicts import CLASSES as CLASSES_OF_DICTS
from .form import refuse_own_methods
from .read import is_made
from .scope import FUNCTION, HEAP_TYPE, Names, Place, is_built_in
from .standard import FILES, INSTANCES
from .state import (
    OF_CLASS,
    DictContents,
    GeneratorContents,
    InstanceContents,
)
from .values import (
    CLASSES,
    REAL,
    Applied,
    Array,
    Choice,
    Closure,
    Known,
    Lazy,
    MethodOf,
    Number,
    Range,
    Reference,
    Row,
    Single,
    kind_of,
    nothing,
)
from .walker import Walker

MISSING = object()


def member_of(cls: type, name: str, default: Any) -> Any:
    """What a class or those that it is derived from have under a name, as it stands there; what the
    class of the class has is none of an instance's.
    """
    for each in cls.__mro__:
        if name in vars(each):
            return vars(each)[name]
    return default


def _is_class_variable(field: Any) -> bool:
    """Whether what a dataclass says of an attribute is that its class has it."""
    found: bool = field._field_type.name == "_FIELD_CLASSVAR"
    return found


class Objects(Walker):
    """Instances and their classes."""

    def _of_super(self, value: Lazy, name: str, node: ast.AST) -> Any:
        """What the classes have that come after one in the order of an instance's."""
        cls, instance = value.over
        own = self.class_of(instance)
        if own is None or cls.object not in own.__mro__:
            self.refuse(node, "super of this", "name the class")
        place = self.class_place(instance)
        for at in range(own.__mro__.index(cls.object) + 1, len(own.__mro__)):
            holder = own.__mro__[at]
            if name not in vars(holder):
                continue
            if holder is object and name == "__init__":
                return Known(nothing)
            if place is None:
                self.refuse(node, "super of this", "name the class")
            where = place.attribute("__mro__").item(at)
            self.needs.test(where, ("is", holder))
            member = vars(holder)[name]
            return self._class_member(instance, own, place, member, where.attribute(name), node)
        self.leave(f"there is no attribute {name!r}", node)

    def class_place(self, value: Any) -> Any:
        """The place of the class of an instance; None if it has none."""
        if isinstance(value, Known):
            return value.place.type()
        contents = self.state.heap[value.address]
        return contents.place if isinstance(contents, InstanceContents) else None

    def _of_instance(
        self, value: Reference, contents: InstanceContents, name: str, node: ast.AST
    ) -> Any:
        cls = contents.cls
        self._expect_shown(cls, name, node)
        member = member_of(cls, name, MISSING)
        place = None if contents.place is None else contents.place.attribute(name)
        if isinstance(member, property):
            if not isinstance(member.fget, types.FunctionType):
                self.refuse(node, f"the property {name!r}", "write it in Python")
            function = Known(member.fget, None if place is None else place.attribute("fget"))
            return self.call(function, [value], {}, node)
        if name in contents.names:
            return contents.values[contents.names.index(name)]
        if isinstance(member, functools.cached_property) and place is not None:
            return self._computed_once(value, member, place, node)
        if name == "__class__":
            return Known(cls, contents.place)
        if member is MISSING:
            if member_of(cls, "__getattr__", MISSING) is not MISSING:
                self.refuse(node, "a class with __getattr__", "give it attributes")
            self.leave(f"there is no attribute {name!r}", node)
        return self._class_member(value, cls, contents.place, member, place, node)

    def _expect_shown(self, cls: type, name: str, node: ast.AST) -> None:
        """Leaves for an attribute that a class has which is read in place of one of the library's,
        and that one has not: its own text alone uses it.
        """
        stands_for = INSTANCES.get(cls)
        hidden = stands_for is not None and not hasattr(stands_for, name)
        if hidden and self.frame.reading.file not in FILES:
            self.leave(f"there is no attribute {name!r}", node, AttributeError)

    def _computed_once(self, value: Reference, member: Any, place: Place, node: ast.AST) -> Any:
        """A ``cached_property``, which becomes an attribute of the instance; of one that is given
        it is computed anew.
        """
        self.needs.test(place, ("is", member))
        found = self.call(Known(member.func, place.attribute("func")), [value], {}, node)
        contents = self.contents(value, node)
        if contents.external:
            return found
        if not contents.cls.__dictoffset__:
            self.leave("a cached property of a class with slots", node, TypeError)
        found = self.kept(found, node)
        names, values = (*contents.names, member.attrname), (*contents.values, found)
        self.store(value, replace(contents, names=names, values=values), node)
        return found

    def _class_member(
        self, value: Any, cls: type, owner: Any, member: Any, place: Any, node: ast.AST
    ) -> Any:
        """What an instance takes from its class."""
        if isinstance(member, types.FunctionType) or is_made(member):
            if place is not None:
                self.needs.expect(place, member)
            return Applied(Known(member, place), (value,))
        if isinstance(member, staticmethod):
            return Known(member.__func__, place)
        if isinstance(member, classmethod):
            inner = None if place is None else place.attribute("__func__")
            return Applied(Known(member.__func__, inner), (Known(cls, owner),))
        if hasattr(type(member), "__get__"):
            self.refuse(node, "a descriptor", "use a plain attribute, or a property")
        return Known(member) if place is None else self.known(member, place, node)

    def class_of(self, value: Any) -> type | None:
        """The class of an instance that has Python's own methods."""
        if isinstance(value, Reference):
            contents = self.state.heap.get(value.address)
            return contents.cls if isinstance(contents, InstanceContents) else None
        if isinstance(value, Known) and value.place is not None:
            cls = type(value.object)
            if is_built_in(cls) or isinstance(value.object, type | types.ModuleType):
                return None
            if isinstance(value.object, np.ndarray | np.generic | np.ufunc | Ragged):
                return None
            return cls
        return None

    def bound(self, value: Any, name: str, node: ast.AST) -> Any:
        """A method that a class defines in Python, bound to an instance; None if there is none."""
        cls = self.class_of(value)
        if cls is None:
            return None
        member = member_of(cls, name, None)
        if not isinstance(member, types.FunctionType):
            return None
        if isinstance(value, Known):
            place = value.place.type().attribute(name)
        else:
            contents = self.state.heap[value.address]
            assert isinstance(contents, InstanceContents)
            place = None if contents.place is None else contents.place.attribute(name)
        if place is not None:
            self.needs.expect(place, member)
        if dataclasses.is_dataclass(cls) and member.__code__.co_filename == "<string>":
            return self._generated(cls, name, value, node)
        return Applied(Known(member, place), (value,))

    def as_index(self, index: Any, node: ast.AST) -> Any:
        """An index with the integers that instances in it are by their ``__index__``."""
        if isinstance(index, Row):
            return replace(index, items=tuple(self.as_index(one, node) for one in index.items))
        if isinstance(index, Lazy) and index.name == "slice":
            return replace(index, over=tuple(self.as_index(one, node) for one in index.over))
        method = self.bound(index, "__index__", node)
        return index if method is None else self.call(method, [], {}, node)

    def _generated(self, cls: type, name: str, value: Any, node: ast.AST) -> Any:
        """A method that ``dataclass`` wrote."""
        if name == "__eq__":
            return MethodOf("dataclass __eq__", value)
        return self.refuse(node, f"{name} of a dataclass", "compare its fields")

    def fields_of(self, value: Any, node: ast.AST) -> Row:
        """The fields of an instance of a dataclass that are compared."""
        cls = self.class_of(value)
        assert cls is not None
        names = [field.name for field in dataclasses.fields(cls) if field.compare]
        return Row(tuple(self.attribute(value, name, node) for name in names))

    def instantiate(
        self, cls: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """An instance of a class; ``cls`` is a known value."""
        made: type = cls.object
        if made in (np.dtype, np.finfo, np.iinfo) and not keywords:
            given = [self.constant_of(one, node, "an argument that is computed") for one in args]
            return self.fold(made, given, node)
        if isinstance(made, enum.EnumMeta) and len(args) == 1 and not keywords:
            return self._member_of_value(cls, args[0], node)
        if made in CLASSES_OF_DICTS:
            return self.made_dict(made, args, keywords, node)
        if made in INSTANCES.values():
            return self.instantiate(self.written_out(made.__name__, node), args, keywords, node)
        package = made.__module__.split(".")[0]
        if package in ("numpy", "scipy", "wyrmling") and made not in INSTANCES:
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
    ) -> Row:
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
        return Row(tuple(self.kept(given[name], node) for name in cls._fields), cls)

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
        # Those that are no attributes are given to __post_init__.
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

    def store_attribute(self, owner: Any, name: str, value: Any, node: ast.AST) -> None:
        """``owner.name = value``."""
        if isinstance(owner, Choice):
            self.distribute(owner, lambda one: self.store_attribute(one, name, value, node), node)
            return
        if isinstance(owner, Known):
            self.refuse(
                node, "a write to an object that exists outside", "return the value, or make a copy"
            )
        if not isinstance(owner, Reference):
            self.leave("this has no attributes that can be set", node)
        contents = self.contents(owner, node)
        if not isinstance(contents, InstanceContents):
            self.leave("this has no attributes that can be set", node)
        self._expect_shown(contents.cls, name, node)
        setter = member_of(contents.cls, "__setattr__", None)
        if setter is not object.__setattr__:
            generated = isinstance(setter, types.FunctionType) and dataclasses.is_dataclass(
                contents.cls
            )
            if generated and self._is_frozen(contents.cls):
                self.leave("a frozen dataclass", node)
            self.refuse(node, "a class with __setattr__", "use plain attributes")
        member = member_of(contents.cls, name, None)
        if isinstance(member, property):
            if not isinstance(member.fset, types.FunctionType):
                self.leave(f"the property {name!r} cannot be set", node)
            place = None if contents.place is None else contents.place.attribute(name)
            function = Known(member.fset, None if place is None else place.attribute("fset"))
            self.call(function, [owner, value], {}, node)
            return
        if hasattr(type(member), "__set__") and not isinstance(member, types.MemberDescriptorType):
            self.refuse(node, "a descriptor", "use plain attributes")
        if not contents.cls.__dictoffset__ and not isinstance(member, types.MemberDescriptorType):
            self.leave(f"there is no slot {name!r}", node)
        names, values = list(contents.names), list(contents.values)
        if name in names:
            values[names.index(name)] = value
        else:
            names.append(name)
            values.append(value)
        self.store(owner, replace(contents, names=tuple(names), values=tuple(values)), node)

    def delete_attribute(self, owner: Any, name: str, node: ast.AST) -> None:
        """``del owner.name``."""
        contents: Any = self.contents(owner, node) if isinstance(owner, Reference) else None
        own = isinstance(contents, InstanceContents)
        if not own or member_of(contents.cls, "__delattr__", None) is not object.__delattr__:
            self.refuse(node, "del of an attribute of this", "set it to None")
        member = member_of(contents.cls, name, None)
        slot = isinstance(member, types.MemberDescriptorType)
        if hasattr(type(member), "__delete__") and not slot:
            self.refuse(node, "del of a property", "set what it reads to None")
        if name not in contents.names:
            self.leave(f"there is no attribute {name!r}", node, AttributeError)
        at = contents.names.index(name)
        names = contents.names[:at] + contents.names[at + 1 :]
        values = contents.values[:at] + contents.values[at + 1 :]
        self.store(owner, replace(contents, names=names, values=values), node)

    @staticmethod
    def _is_frozen(cls: Any) -> bool:
        return bool(cls.__dataclass_params__.frozen)

    def isinstance_of(self, value: Any, classes: Any, node: ast.AST) -> Any:
        """``isinstance(value, classes)``."""
        if isinstance(value, Choice):
            return self.distribute(value, lambda one: self.isinstance_of(one, classes, node), node)
        self.ask_kind(value)
        wanted: Any
        if isinstance(classes, Row):
            wanted = tuple(
                self.constant_of(c, node, "a class that is computed") for c in classes.items
            )
        else:
            wanted = self.constant_of(classes, node, "a class that is computed")
        for each in wanted if isinstance(wanted, tuple) else (wanted,):
            asked = getattr(type(each), "__instancecheck__", None)
            if isinstance(asked, types.FunctionType) and type(each) is not abc.ABCMeta:
                self.refuse(node, "a class whose own class says what isinstance is", "ask its type")
        try:
            return Known(issubclass(self.type_of(value, node), wanted))
        except TypeError:
            self.leave("isinstance of no class", node)

    def ask_kind(self, value: Any) -> None:
        """Notes that the way depends on what kind of object a value is: if it is differentiated,
        that is another one where the function is traced.
        """
        found = self.array_of(value)
        if isinstance(found, Array | Single) or kind_of(found) in REAL:
            self.asks_kind |= not isinstance(found, Known)

    def type_of(self, value: Any, node: ast.AST) -> type:
        """The class of a value."""
        if isinstance(value, Known):
            return type(value.object)
        if isinstance(value, Number):
            return CLASSES[value.kind]
        if isinstance(value, Row):
            return value.cls
        if isinstance(value, Range):
            return range
        if isinstance(value, Array | Single):
            return np.ndarray
        if isinstance(value, Closure):
            return types.FunctionType
        if isinstance(value, Reference):
            contents = self.contents(value, node)
            if isinstance(contents, InstanceContents):
                return INSTANCES.get(contents.cls, contents.cls)
            if isinstance(contents, DictContents):
                return contents.cls
            if isinstance(contents, GeneratorContents):
                # Iterators of the library are read as generators, too (standard.py).
                return self.refuse(node, "the class of an iterator", "use numbers or containers")
            return OF_CLASS.get(type(contents), np.ndarray)
        return self.refuse(node, "the class of this", "use numbers or containers")
