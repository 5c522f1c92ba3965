"""Names: reading, binding and deleting them, and what is found outside of the function.

A name that nested functions share lives in a cell of the heap, so that they see what it stands for
when they run. What is found outside is known by the place at which it was found, which later calls
look at again: floats and arrays are hidden arguments, read anew at each call; integers, functions,
modules and classes have to be the same.
"""

from __future__ import annotations

import ast
import math
import types
from typing import Any

import numpy as np

from ..._core import Variable
from ...ragged import Ragged
from ..abstract.columns import Retag
from ..abstract.restarts import Restart
from ..abstract.state import CellContents, DictContents, ListContents
from ..abstract.values import (
    ELEMENTS,
    KINDS,
    STORED,
    Array,
    Choice,
    Known,
    Lost,
    Number,
    Recorded,
    Reference,
    Tuple,
    Unset,
    ZeroDimensional,
)
from ..abstract.walker import Walker
from ..program.arguments import Opened
from ..program.form import refuse_own_methods
from ..text import scope as places
from ..text.refuse import Unreadable
from ..types.integer_arrays import truths_of
from ..types.views import looked_up


def _title(kind: str, place: places.Place) -> str:
    """What an object is called that was found outside, or within an argument."""
    root = place
    while root.base is not None:
        root = root.base
    article = "an" if kind[0] in "aeiou" or kind.startswith("nd") else "a"
    return f"a captured {kind}" if root == places.FUNCTION else f"{place}, {article} {kind},"


def _is_plain_key(key: Any) -> bool:
    """Whether a key is found by its value."""
    if type(key) is tuple:
        return all(map(_is_plain_key, key))
    return type(key) in {str, int, float, bool, type(None)}


class Environment(Walker):
    """The names of the function that is being called."""

    def evaluate_Name(self, node: ast.Name) -> Any:
        """The value of a name."""
        return self.load(node.id, node)

    def evaluate_Constant(self, node: ast.Constant) -> Any:
        """A number, a string, None and so on."""
        return Known(node.value)

    def _renamed(self, name: str) -> str:
        for names in reversed(self.frame.renamed):
            if name in names:
                return names[name]
        return name

    def load(self, name: str, node: ast.AST) -> Any:
        """What a name stands for."""
        own = self._renamed(name)
        frame = self.frame
        if own in frame.cells:
            value = self.contents(frame.cells[own], node).value
        elif own != name or name in frame.scope.own:
            value = self.state.environments[-1].get(own, Unset())
        else:
            return self._outside(name, node)
        if isinstance(value, Unset):
            self.leave(f"the name {name!r} is not set", node)
        if isinstance(value, Lost):
            if value.key is not None and value.key not in self.names_kept:
                raise Restart(kept=frozenset({value.key}))
            self.unknown(
                value,
                node,
                f"the name {name!r}: {value.reason}",
                value.advice or "give it a value of one kind on all paths",
            )
        if isinstance(value, Choice) and any(isinstance(v, Unset) for v in value.alternatives):
            # It is set on some of the paths to here.
            value = self._set_only(value, node)
            self.bind(name, value)
        return looked_up(self, value, node)

    def _set_only(self, value: Choice, node: ast.AST) -> Any:
        """A choice without what is unset; the program leaves where that is chosen."""
        order: list[int] = []
        kept: list[Any] = []
        for at, one in enumerate(value.alternatives):
            order.append(len(kept))
            if isinstance(one, Unset):
                unset = self.compute("equal_int", value.tag, self.constant(at))
                self.guard(self.compute("bool_not", unset), "a name is not set", node)
            else:
                kept.append(one)
        if len(kept) == 1:
            return kept[0]
        if len(kept) == len(order):
            return value
        return Choice(self.retagged(Retag(value.tag, tuple(order))), tuple(kept))

    def bind(self, name: str, value: Any) -> None:
        """Gives a name of the function, or a nonlocal one, a value."""
        own = self._renamed(name)
        frame = self.frame
        value = self.kept(value, self.node)
        if own in frame.cells:
            address = frame.cells[own].address
            before = self.state.heap[address]
            if isinstance(before, CellContents) and before.external:
                self.refuse(
                    frame.node,
                    f"an assignment to {name!r}, which is of a function around a derivative,",
                    "return the value",
                )
            self.state.heap[address] = CellContents(value)
        else:
            self.state.environments[-1][own] = value

    def store_name(self, name: str, value: Any, node: ast.AST) -> None:
        """Binds a name where a statement says so."""
        frame = self.frame
        if name in frame.scope.globals:
            self.refuse(node, f"assignment to the global name {name!r}", "return the value")
        own = self._renamed(name)
        if name in frame.scope.nonlocals and own not in frame.cells:
            self.refuse(
                node,
                f"assignment to {name!r}, a variable of a function that is not read",
                "return the value",
            )
        self.bind(name, value)

    def delete_name(self, name: str, node: ast.AST) -> None:
        """``del name``."""
        self.load(name, node)
        self.store_name(name, Unset(), node)

    def _outside(self, name: str, node: ast.AST) -> Any:
        """A global name, or one of a function around that has returned."""
        try:
            found, place = self.frame.names.find(name)
        except NameError:
            self.needs.absent(self.frame.names.where(name))
            self.leave(f"the name {name!r} is not defined", node)
        return self.known(found, place, node)

    def known(self, found: Any, place: Any, node: ast.AST) -> Any:
        """The value for an object that was found at a place."""
        if isinstance(found, Variable):
            self.refuse(node, "a captured variable", "pass it as an argument")
        kind = type(found)
        if kind is float and math.isinf(found):
            # An infinity is an option, as of np.linalg.norm, or the start of a minimum: a constant.
            self.needs.test(place, ("kind", "float"))
            self.needs.test(place, ("equal", found))
            return Known(found, place)
        if kind is int and place not in self.varying:
            self.constants[place] = found
        elif kind in (int, float, np.float64, np.float32):
            at = self.needs.hidden(place)
            if at not in self.hidden:
                self.needs.test(place, ("kind", KINDS[kind]))
                made = self.builder.parameter(0, STORED[KINDS[kind]])
                self.hidden[at] = Number(KINDS[kind], made)
                if kind is int:
                    self.left_open.add(made)
                self.places.append(place)
                self.captured.append(found)
            return self.hidden[at]
        if kind is np.ndarray and not found.shape and found.dtype in (np.float64, np.float32):
            self.needs.test(place, ("array", found.dtype.name, 0))
            return ZeroDimensional(self.known(found[()], place.item(()), node), place)
        if kind is np.ndarray and found.dtype in ELEMENTS:
            at = self.needs.hidden(place)
            if at not in self.hidden:
                self.needs.test(place, ("array", found.dtype.name, found.ndim))
                if not found.shape:
                    self.refuse(node, _title("array without axes", place), "make it a number")
                self.hidden[at] = self.outer_array(found, place, node)
                self.places.append(place)
                self.captured.append(found)
            return self.hidden[at]
        if kind is tuple:
            self.needs.length(place, found)
            return Tuple(
                tuple(self.known(one, place.item(at), node) for at, one in enumerate(found))
            )
        if isinstance(found, tuple) and hasattr(kind, "_fields"):
            self.needs.instance(place, kind)
            refuse_own_methods(self, kind, node)
            items = tuple.__iter__(found)
            values = tuple(self.known(one, place.item(at), node) for at, one in enumerate(items))
            return Tuple(values, kind, place.type())
        if kind in (list, dict):
            return self._container(found, place, node)
        if isinstance(found, np.ndarray):
            advice = "make it an array of float64, float32, int64 or bool"
            self.refuse(node, _title(f"{kind.__name__} of {found.dtype}", place), advice)
        if isinstance(found, set | bytearray):
            self.refuse(node, _title(kind.__name__, place), "make it a tuple")
        if (
            # What is in a Ragged never changes, and is written into the program.
            isinstance(found, types.FunctionType | types.ModuleType | type | Ragged)
            or kind in KINDS
            or isinstance(found, types.BuiltinFunctionType | types.MethodType | np.ufunc)
            or found is None
            # Also of a class that is derived from one of these, as members of enumerations are.
            or isinstance(
                found, int | float | complex | str | bytes | tuple | frozenset | np.generic
            )
            or places.is_native(found)
        ):
            self.needs.expect(place, found)
        elif hasattr(found, "__dict__") or callable(found) or hasattr(kind, "__slots__"):
            # Attributes are looked up at their own places.
            self.needs.instance(place, kind)
        else:
            self.needs.expect(place, found)
        return Known(found, place)

    def outer_array(self, found: Any, place: Any, node: ast.AST) -> Array | Recorded:
        """An array of the caller's, which becomes a parameter of the program."""
        whole = found.dtype == np.int64
        if whole and (found != found.astype(np.int32)).any():
            self.refuse(node, "an array of integers of more than 32 bits", "use smaller integers")
        made = self.builder.parameter(0, "array", found)
        self.shapes.append((place, found.shape))
        if found.dtype == np.bool_:
            return truths_of(made, found)
        self.outer_arrays[made] = place
        outer = frozenset({place})
        return Array(made, found.dtype, found.shape, outer=outer, example=found if whole else None)

    def _container(self, found: Any, place: Any, node: ast.AST) -> Any:
        """A list or dict that exists outside: the function may not write to it. One that is in two
        places is read as two, since the next call may find two there.
        """
        if place in self.outer:
            reference: Reference = self.outer[place]
            if reference.address in self.state.heap:
                return reference
        if len(found) > 1000 or len(self.outer) > 10_000:
            self.refuse(node, "a captured list or dict of this length", "make it an array")
        if isinstance(found, list):
            self.needs.length(place, found)
            items = [self.known(one, place.item(at), node) for at, one in enumerate(found)]
            reference = self.allocate(ListContents(tuple(items), external=True))
        else:
            self.needs.keys(place, found)
            if not all(map(_is_plain_key, found)):
                self.refuse(node, "a captured dict of such keys", "use strings or integers")
            values = [self.known(one, place.item(key), node) for key, one in found.items()]
            reference = self.allocate(DictContents(tuple(found), tuple(values), external=True))
        self.outer[place] = reference
        self.outer_places[reference.address] = place
        return reference

    def member(self, value: Known, name: str, node: ast.AST) -> Any:
        """An attribute of an object that exists outside."""
        if value.place is None:
            return self.fold(lambda owner: getattr(owner, name), [value.object], node)
        try:
            found = places.attribute(value.object, value.place, name, self.needs)
        except Unreadable as error:
            self.refuse(node, str(error), "compute the value before")
        except AttributeError:
            self.needs.absent(value.place.attribute(name))
            self.leave("there is no such attribute", node)
        if isinstance(found, places.Property):
            self.needs.expect(found.place, found.get)
            return self.call(Known(found.get, found.place), [value], {}, node)
        return self.known(found[0], found[1], node)

    def are_one(self, left: Any, right: Any) -> bool | None:
        """Whether two arrays, lists, dicts or instances that exist outside are one object, which
        holds at calls where it is the same; None of others.
        """
        where = [self._outer_place(value) for value in (left, right)]
        if None in where or type(left) is not type(right):
            return None
        if where[0] == where[1]:
            return True
        found = [place.read(self.roots) for place in where]
        if any(one is places.ABSENT or isinstance(one, Opened) for one in found):
            return None
        are_one = found[0] is found[1]
        self.needs.pair(*where, are_one)
        return are_one

    def _outer_place(self, value: Any) -> Any:
        if isinstance(value, Array):
            return self.outer_arrays.get(value.id) if value.outer else None
        if isinstance(value, Reference):
            return self.outer_places.get(value.address)
        return value.place if isinstance(value, ZeroDimensional) else None
