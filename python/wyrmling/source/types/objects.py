"""Instances of classes in Python: their attributes, methods and classes.

An instance that the function makes (``instantiation.py``) is the values of its attributes. One that
exists outside is read where it is, and not written to. Methods and properties are functions that
are read in turn.
"""

from __future__ import annotations

import abc
import ast
import dataclasses
import functools
import types
from dataclasses import replace
from typing import Any

import numpy as np

from ...ragged import Ragged
from ..abstract.state import (
    MISSING,
    OF_CLASS,
    DictContents,
    GeneratorContents,
    InstanceContents,
)
from ..abstract.values import (
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
    Tuple,
    ZeroDimensional,
    kind_of,
    nothing,
)
from ..abstract.walker import Walker
from ..library.standard import FILES, INSTANCES
from ..text.read import is_made
from ..text.scope import Place, is_built_in

COMPARED = {"__eq__": "Eq", "__lt__": "Lt", "__le__": "LtE", "__gt__": "Gt", "__ge__": "GtE"}
"""Methods that ``dataclass`` writes, by their operators."""


def member_of(cls: type, name: str, default: Any) -> Any:
    """What a class or those that it is derived from have under a name, as it stands there; what the
    class of the class has is none of an instance's.
    """
    for each in cls.__mro__:
        if name in vars(each):
            return vars(each)[name]
    return default


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
        self._leave_if_hidden(cls, name, node)
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

    def _leave_if_hidden(self, cls: type, name: str, node: ast.AST) -> None:
        """Leaves for an attribute that the library's class has not, of an instance of the class
        that is read in its place (``_items`` of a ``deque``), except in that class's own text.
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

    def class_with_operators(self, value: Any) -> type | None:
        """The class of an instance or of a named tuple, which may have operators in Python."""
        named = isinstance(value, Tuple) and value.cls is not tuple
        return value.cls if named else self.class_of(value)

    def bound(self, value: Any, name: str, node: ast.AST) -> Any:
        """A method that a class defines in Python, bound to an instance; None if there is none."""
        cls = self.class_with_operators(value)
        if cls is None:
            return None
        member = member_of(cls, name, None)
        where = value.place if isinstance(value, Tuple) else self.class_place(value)
        place = None if where is None else where.attribute(name)
        if not isinstance(member, types.FunctionType):
            if place is not None and not hasattr(cls, name):
                # The instance may get an attribute of this name later.
                self.needs.absent(place)
            return None
        if place is not None:
            self.needs.expect(place, member)
        if dataclasses.is_dataclass(cls) and member.__code__.co_filename == "<string>":
            return self._generated(cls, name, value, node)
        return Applied(Known(member, place), (value,))

    def as_index(self, index: Any, node: ast.AST) -> Any:
        """An index in which instances with ``__index__`` are replaced by what that gives."""
        if isinstance(index, Tuple):
            return replace(index, items=tuple(self.as_index(one, node) for one in index.items))
        if isinstance(index, Lazy) and index.name == "slice":
            return replace(index, over=tuple(self.as_index(one, node) for one in index.over))
        method = self.bound(index, "__index__", node)
        return index if method is None else self.call(method, [], {}, node)

    def _generated(self, cls: type, name: str, value: Any, node: ast.AST) -> Any:
        """A method that ``dataclass`` wrote."""
        if name in COMPARED:
            return MethodOf(COMPARED[name], value)
        return self.refuse(node, f"{name} of a dataclass", "compare its fields")

    def fields_of(self, value: Any, node: ast.AST) -> Tuple:
        """The fields of an instance of a dataclass that are compared."""
        cls = self.class_of(value)
        assert cls is not None
        names = [field.name for field in dataclasses.fields(cls) if field.compare]
        return Tuple(tuple(self.attribute(value, name, node) for name in names))

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
        self._leave_if_hidden(contents.cls, name, node)
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
        if isinstance(classes, Tuple):
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
            found = issubclass(self.type_of(value, node), wanted)
        except TypeError:
            self.leave("isinstance of no class", node)
        if not found:
            self.needs.no_subclass(wanted)
        return Known(found)

    def ask_kind(self, value: Any) -> None:
        """Notes that the path depends on what kind of object a value is: if it is differentiated,
        that is another one where the function is traced.
        """
        found = self.array_of(value)
        if isinstance(found, Array | ZeroDimensional) or kind_of(found) in REAL:
            self.asks_kind |= not isinstance(found, Known)

    def type_of(self, value: Any, node: ast.AST) -> type:
        """The class of a value."""
        if isinstance(value, Known):
            return type(value.object)
        if isinstance(value, Number):
            return CLASSES[value.kind]
        if isinstance(value, Tuple):
            return value.cls
        if isinstance(value, Range):
            return range
        if isinstance(value, Array | ZeroDimensional):
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
