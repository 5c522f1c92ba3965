"""Attributes: of arrays and numbers as NumPy's have them, of containers, tuples and what is known.

Those of instances are found in ``objects.py``. A method is bound, and ``methods.py`` calls it.
"""

from __future__ import annotations

import ast
import functools
import types
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np

from ..._core import Variable
from ...variable import REFUSED
from ..abstract.masks import as_floats
from ..abstract.state import (
    MISSING,
    OF_CLASS,
    ArrayContents,
    DictContents,
    InstanceContents,
    integer_type,
)
from ..abstract.values import (
    Applied,
    Array,
    Caught,
    Choice,
    Known,
    Lazy,
    MethodOf,
    Number,
    Recorded,
    Reference,
    Tuple,
    ZeroDimensional,
)
from .objects import Objects, member_of
from .zero_dimensional import METHODS


@functools.cache
def _has_variable(name: str) -> bool:
    """Whether what stands for a number or an array has this attribute when it is traced."""
    return hasattr(Variable(np.ones((1, 1))), name)


class Attributes(Objects):
    """Attributes."""

    def evaluate_Attribute(self, node: ast.Attribute) -> Any:
        """``value.name``."""
        return self.attribute(self.evaluate(node.value), node.attr, node)

    def attribute(self, value: Any, name: str, node: ast.AST) -> Any:
        """An attribute."""
        if isinstance(value, Choice):
            return self.distribute(value, lambda one: self.attribute(one, name, node), node)
        if isinstance(value, Known):
            return self._known_attribute(value, name, node)
        if isinstance(value, Tuple):
            return self._of_row(value, name, node)
        if isinstance(value, Caught) and name == "args" and isinstance(value.args, Tuple | Choice):
            return value.args
        if isinstance(value, Lazy) and value.name == "super":
            return self._of_super(value, name, node)
        if isinstance(value, Reference):
            contents = self.contents(value, node)
            if isinstance(contents, InstanceContents):
                return self._of_instance(value, contents, name, node)
            if isinstance(contents, DictContents):
                if name == "default_factory" and contents.cls is defaultdict:
                    return Known(None) if contents.factory is None else contents.factory
                return self._method(contents.cls, name, value, node)
            if type(contents) in OF_CLASS:
                return self._method(OF_CLASS[type(contents)], name, value, node)
            if isinstance(contents, ArrayContents):
                like, dtype = contents.value, integer_type(contents)
                like = like if dtype is None else replace(like, dtype=dtype)
                return self._array_attribute(value, like, name, node)
        if isinstance(value, ZeroDimensional):
            return self._of_single(value, name, node)
        if isinstance(value, Recorded):
            like = replace(as_floats(self.builder, value), dtype=value.variable.dtype)
            return self._array_attribute(value, like, name, node)
        if isinstance(value, Array):
            return self._array_attribute(value, value, name, node)
        if isinstance(value, Number):
            return self._number_attribute(value, name, node)
        return self.refuse(node, f"the attribute {name!r} of this", "use a class of data")

    def _method(self, kind: type, name: str, value: Any, node: ast.AST) -> Any:
        if not hasattr(kind, name):
            self.leave(f"there is no attribute {name!r}", node)
        if not issubclass(kind, list | dict | set) and not _has_variable(name):
            self.ask_kind(value)
        return MethodOf(name, value)

    def _known_attribute(self, value: Known, name: str, node: ast.AST) -> Any:
        if value.place is not None:
            return self.member(value, name, node)
        if isinstance(value.object, float | int | str | bytes | np.generic | tuple):
            return self.fold(lambda owner: getattr(owner, name), [value.object], node)
        plain = type, types.ModuleType, types.BuiltinFunctionType, np.dtype, np.finfo, np.iinfo
        if value.object is None or isinstance(value.object, plain):
            return self.fold(lambda owner: getattr(owner, name), [value.object], node)
        if isinstance(value.object, np.ndarray):
            if callable(getattr(np.ndarray, name, None)):
                return self._method(np.ndarray, name, value, node)
            return self.fold(lambda owner: getattr(owner, name), [value.object], node)
        return self.refuse(node, f"the attribute {name!r} of this", "pass the value")

    def _number_attribute(self, value: Number, name: str, node: ast.AST) -> Any:
        if name == "__class__":
            return self.call(Known(type), [value], {}, node)
        if name == "real":
            return Number("int", self.as_int(value)) if value.kind == "bool" else value
        if name == "imag":
            if value.kind in ("int", "bool", "float"):
                return Known(0.0 if value.kind == "float" else 0)
            return Known(np.dtype(value.kind.removeprefix("numpy_")).type(0))
        return self._method(self.type_of(value, node), name, value, node)

    def _array_attribute(self, value: Any, array: Array, name: str, node: ast.AST) -> Any:
        if name == "__class__":
            return self.call(Known(type), [value], {}, node)
        if name == "ndim":
            return Known(len(array.shape))
        if name == "shape":
            lengths = (self.axis_length(array, axis, node) for axis in range(len(array.shape)))
            return Tuple(tuple(lengths))
        if name == "size":
            total: Any = Known(1)
            for length in self._array_attribute(value, array, "shape", node).items:
                total = self.binary("Mult", total, length, node)
            return total
        if name == "T":
            return self.array_call(np.transpose, [value], {}, node)
        if name == "flat":
            return self.array_call(np.ravel, [value], {}, node)
        if name == "dtype":
            return Known(array.dtype)
        if name in REFUSED:
            # Such as ``base``: what follows would take it for a method.
            self.refuse(node, f"{name!r} of an array", "use what has a derivative")
        return self._method(np.ndarray, name, value, node)

    def _of_single(self, value: ZeroDimensional, name: str, node: ast.AST) -> Any:
        if name in ("ndim", "size"):
            return Known(0 if name == "ndim" else 1)
        if name == "shape":
            return Tuple(())
        if name == "dtype":
            return Known(np.dtype(value.number.kind))
        if name not in METHODS:
            self.refuse(node, f"the attribute {name!r} of an array without axes", "use float(...)")
        return MethodOf(name, value.number)

    def _of_row(self, value: Tuple, name: str, node: ast.AST) -> Any:
        fields = getattr(value.cls, "_fields", ())
        if name in fields:
            return value.items[fields.index(name)]
        member = member_of(value.cls, name, MISSING)
        place = None if value.place is None else value.place.attribute(name)
        if isinstance(member, types.FunctionType) and name not in ("_asdict", "_replace"):
            return Applied(Known(member, place), (value,))
        if isinstance(member, property) and isinstance(member.fget, types.FunctionType):
            getter = None if place is None else place.attribute("fget")
            return self.call(Known(member.fget, getter), [value], {}, node)
        return self._method(value.cls, name, value, node)
