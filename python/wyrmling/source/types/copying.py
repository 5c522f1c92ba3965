"""``copy.copy`` and ``copy.deepcopy``: new lists, dicts, sets, arrays and instances.

What is found twice in a deep copy is one object there, as Python has it. Numbers, strings,
functions and classes are themselves.
"""

from __future__ import annotations

import ast
import copy
import types
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from ..abstract.state import (
    ArrayContents,
    DictContents,
    GrownContents,
    InstanceContents,
    ListContents,
    SetContents,
    addresses,
)
from ..abstract.values import (
    Array,
    Choice,
    Closure,
    Known,
    Number,
    Range,
    Recorded,
    Reference,
    Tuple,
)
from ..abstract.walker import Walker

FUNCTIONS = (copy.copy, copy.deepcopy)
_ITSELF: tuple[type, ...] = (
    int,
    float,
    str,
    bytes,
    type,
    types.FunctionType,
    types.ModuleType,
    range,
)
_ITSELF += (type(None), type(...), types.BuiltinFunctionType, np.generic, np.dtype, np.ufunc)
# By which a class says how its instances are copied.
_OWN = ("__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__")


def _may_be_one(value: Any, other: Any) -> bool:
    """Whether two arrays that have no address may be one object, of which there is one copy."""
    if isinstance(value, Known) and isinstance(other, Known):
        return value.object is other.object
    if isinstance(value, Recorded) and isinstance(other, Recorded):
        return value.variable is other.variable
    if not (isinstance(value, Array) and isinstance(other, Array)):
        return False
    if (value.dtype, value.shape) != (other.dtype, other.shape):
        return False
    shared = value.outer & other.outer or value.bases & other.bases
    return value.id == other.id or bool(shared)


def copied(
    walker: Walker, value: Any, deep: bool, node: ast.AST, known: dict[Hashable, Any]
) -> Any:
    """A copy of a value; ``known`` has those of objects by their addresses, and arrays that have no
    address as they are.
    """

    def each(parts: tuple[Any, ...]) -> tuple[Any, ...]:
        if not deep:
            return parts
        return tuple(copied(walker, part, True, node, known) for part in parts)

    if isinstance(value, Choice):
        if not deep:
            return walker.distribute(value, lambda one: copied(walker, one, deep, node, {}), node)
        if list(addresses(value)):
            walker.refuse(node, "a deep copy of one object or another", "copy it on either way")
        return value
    if isinstance(value, Tuple):
        return value.with_parts(each(value.parts))
    if isinstance(value, Number | Closure | Range):
        return value
    if isinstance(value, Known) and isinstance(value.object, _ITSELF):
        return value
    if walker.is_array(value) and not isinstance(value, Reference):
        if any(_may_be_one(value, other) for other in known.values()):
            walker.refuse(node, "a deep copy of one array in two places", "copy each by itself")
        known["array", len(known)] = value
        return walker.call(Known(np.array), [value], {}, node)
    if not isinstance(value, Reference):
        return walker.refuse(node, "a copy of this", "copy lists, dicts, arrays or instances")
    if value.address in known:
        return known[value.address]
    contents = walker.contents(value, node)
    if isinstance(contents, InstanceContents) and any(
        hasattr(contents.cls, name)
        and getattr(contents.cls, name) is not getattr(object, name, None)
        for name in _OWN
    ):
        walker.refuse(node, "a copy of an instance that says how it is copied", "make a new one")
    if isinstance(contents, ArrayContents | GrownContents | SetContents):
        made = walker.allocate(replace(contents, external=False))
        known[value.address] = made
        return made
    if not isinstance(contents, ListContents | DictContents | InstanceContents):
        walker.refuse(node, "a copy of this", "copy lists, dicts, arrays or instances")
    # A list may contain itself: its copy is known before its parts are copied.
    made = walker.allocate(replace(contents, external=False))
    known[value.address] = made
    with walker.holding(value, made):
        parts = each(contents.parts)
    walker.store(made, walker.contents(made, node).with_parts(parts), node)
    return made
