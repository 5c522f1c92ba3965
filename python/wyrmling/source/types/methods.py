"""Methods of lists, dicts, sets, tuples and numbers."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..abstract.state import (
    OF_CLASS,
    ArrayContents,
    DictContents,
    GrownContents,
    ListContents,
    SetContents,
)
from ..abstract.values import (
    REAL,
    Array,
    Choice,
    Known,
    Lazy,
    Number,
    Recorded,
    Reference,
    Tuple,
    kind_of,
    same_object,
)
from ..abstract.walker import Walker
from .classes import fits
from .objects import COMPARED

OPERATORS = frozenset(COMPARED.values())
OF_ONE_NUMBER = frozenset({"clip", "max", "mean", "min", "prod", "squeeze", "std", "sum", "var"})
"""Methods of NumPy's numbers that are its functions of that name."""


class Methods(Walker):
    """What containers do."""

    def call_method(
        self, name: str, owner: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """What a method of a container or number returns."""
        given = list(args)
        if isinstance(owner, Choice):
            return self.distribute(
                owner, lambda one: self.call_method(name, one, args, keywords, node), node
            )
        if name == "__getitem__" and len(given) == 1 and not keywords:
            return self.item(owner, given[0], node)
        if name in OPERATORS:
            return self._compared(name, owner, given[0], node)
        if isinstance(owner, Number):
            return self._number_method(name, owner, given, keywords, node)
        if isinstance(owner, Tuple):
            return self._of_tuple(name, owner, given, keywords, node)
        is_constant = isinstance(owner, Known) and isinstance(owner.object, np.ndarray)
        if is_constant or isinstance(owner, Array | Recorded):
            return self._array_method(name, owner, given, keywords, node)
        if isinstance(owner, Reference):
            contents = self.contents(owner, node)
            if isinstance(contents, ArrayContents):
                return self._array_method(name, owner, given, keywords, node)
            own = OF_CLASS[type(contents)]
            prefix = "grown" if isinstance(contents, GrownContents) else own.__name__
            method = getattr(self, f"{prefix}_{name}", None)
            if isinstance(contents, DictContents):
                own, method = contents.cls, self.dict_method(contents, name)
            if method is not None:
                # Python does not say what methods of sets take.
                is_one = own is not set or (len(given) == 1 and not keywords)
                if not is_one or not fits(getattr(own, name), [owner, *given], keywords):
                    self.leave("arguments do not fit", node)
                return method(owner, contents, given, keywords, node)
            if prefix == "grown":
                what = f"the method {name} of a list of computed length"
                self.refuse(node, what, "use append, extend, insert, pop, del and items")
        return self.refuse(node, f"the method {name}", "write what it does")

    def _compared(self, operator: str, owner: Any, other: Any, node: ast.AST) -> Any:
        """How instances of a dataclass compare: as the tuples of their fields, within a class."""
        if self.class_of(owner) is not self.class_of(other):
            return Known(NotImplemented)
        fields = self.fields_of(owner, node), self.fields_of(other, node)
        return self.compare(operator, *fields, node)

    def _array_method(
        self, name: str, owner: Any, args: list[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        method = getattr(np.ndarray, name)
        if name in ("searchsorted", "nonzero"):
            return self.call(Known(getattr(np, name)), [owner, *args], keywords, node)
        return self.array_call(method, [owner, *args], keywords, node)

    def _number_method(
        self, name: str, owner: Number, args: list[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        if name in ("conjugate", "conj") and not args:
            # ``True.conjugate()`` is 1, as ``+True`` is.
            return self.unary("UAdd", owner, node)
        if name == "is_integer" and not args and owner.kind in REAL:
            whole = self.compute("equal_number", self.apply("trunc", owner.id), owner.id)
            infinity = (np.float32 if owner.kind == "float32" else float)("inf")
            size = self.apply("abs", owner.id)
            finite = self.compute("less_number", size, self.constant(infinity))
            return Number("bool", self.compute("bool_and", whole, finite), owner.sources)
        # Python's integers have it from 3.12.
        has = ("int64", "int", "bool") if hasattr(int, name) else ("int64",)
        if name == "is_integer" and not args and owner.kind in has:
            return Known(True)
        if name == "bit_length" and not args and owner.kind in ("int", "bool"):
            return self.call(self.written_out(name, node), [owner], {}, node)
        if name == "item" and not args and owner.kind in ("float64", "float32", "int64"):
            # Tracing gives a plain number, without a gradient: see ``ask_kind``.
            self.ask_kind(owner)
            plain = int if owner.kind == "int64" else float
            return self.call(Known(plain), [owner], {}, node)
        if name == "astype" and len(args) == 1 and not keywords and owner.kind in REAL:
            wanted = np.dtype(self.constant_of(args[0], node, "a type that is computed"))
            if wanted in (np.float64, np.float32, np.int64, np.bool_):
                return self.call(Known(wanted.type), [owner], {}, node)
        if name in OF_ONE_NUMBER and owner.kind in ("float64", "float32"):
            return self.call(Known(getattr(np, name)), [owner, *args], keywords, node)
        if name in ("any", "all") and not (args or keywords) and owner.kind == "numpy_bool":
            return owner
        operators = {"__add__": "Add", "__mul__": "Mult", "__sub__": "Sub", "__truediv__": "Div"}
        if name in operators and len(args) == 1 and kind_of(args[0]) is not None:
            return self.binary(operators[name], owner, args[0], node)
        return self.refuse(node, f"the method {name} of a number", "use an operator")

    def _of_tuple(
        self, name: str, owner: Tuple, args: list[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        fields = getattr(owner.cls, "_fields", ())
        if name == "_replace" and not args:
            if set(keywords) - set(fields):
                self.leave("there is no such field", node)
            pairs = zip(fields, owner.items, strict=True)
            return owner.with_parts(
                tuple(self.kept(keywords.get(field, item), node) for field, item in pairs)
            )
        if name == "_asdict":
            return self.allocate(DictContents(tuple(fields), owner.items))
        if name in ("index", "count"):
            return self._found(name, list(owner.items), args, node)
        return self.refuse(node, f"the method {name} of a tuple", "write what it does")

    def _found(self, name: str, items: list[Any], args: list[Any], node: ast.AST) -> Any:
        """How often, or where first, a sequence has a value."""
        if len(args) != 1:
            self.refuse(node, f"{name} within bounds", "use a slice")
        if name == "count":
            total: Any = Known(0)
            for item in items:
                same = self.truth(self.same_or_equal(item, args[0], node), node)
                total = self.binary("Add", total, self.call(Known(int), [same], {}, node), node)
            return total

        def first(at: int) -> Any:
            if at == len(items):
                self.leave("the value is not there", node, ValueError)
            same = self.truth(self.same_or_equal(items[at], args[0], node), node)
            return self.decide(same, lambda: Known(at), lambda: first(at + 1), node)

        return first(0)

    def list_append(
        self, owner: Any, contents: ListContents, args: list[Any], _: Any, node: ast.AST
    ) -> Any:
        """``x.append(item)``."""
        self.store(owner, replace(contents, items=(*contents.items, args[0])), node)
        return Known(None)

    def list_extend(
        self, owner: Any, contents: ListContents, args: list[Any], _: Any, node: ast.AST
    ) -> Any:
        """``x.extend(items)``."""
        if self.runs(args[0]) or self.grown(args[0]) is not None:
            with self.holding(owner):
                self.each(args[0], lambda item: self.grow(owner, item, node), node)
            return Known(None)
        more = self.items(args[0], node)
        contents = self.contents(owner, node)
        self.store(owner, replace(contents, items=(*contents.items, *more)), node)
        return Known(None)

    def list_insert(
        self, owner: Any, contents: ListContents, args: list[Any], _: Any, node: ast.AST
    ) -> Any:
        """``x.insert(index, item)``."""
        items = list(contents.items)
        at = self.constant_of(args[0], node, "an item by a computed index")
        self.fold(items.insert, [at, args[1]], node)
        self.store(owner, replace(contents, items=tuple(items)), node)
        return Known(None)

    def list_pop(
        self, owner: Any, contents: ListContents, args: list[Any], _: Any, node: ast.AST
    ) -> Any:
        """``x.pop(index)``."""
        items = list(contents.items)
        at = self.position(args[0] if args else Known(-1), items, node)
        item = items.pop(at)
        self.store(owner, replace(contents, items=tuple(items)), node)
        return item

    def list_remove(
        self, owner: Any, contents: ListContents, args: list[Any], _: Any, node: ast.AST
    ) -> Any:
        """``x.remove(value)``."""
        at = self._found("index", list(contents.items), args, node)
        where = self.constant_of(at, node, "removing a value that is computed")
        items = list(contents.items)
        del items[where]
        self.store(owner, replace(contents, items=tuple(items)), node)
        return Known(None)

    def list_clear(
        self, owner: Any, contents: ListContents, args: list[Any], _: Any, node: ast.AST
    ) -> Any:
        """``x.clear()``."""
        self.store(owner, replace(contents, items=()), node)
        return Known(None)

    def list_copy(
        self, owner: Any, contents: ListContents, args: list[Any], _: Any, node: ast.AST
    ) -> Any:
        """``x.copy()``."""
        return self.new_list(contents.items)

    def list_reverse(
        self, owner: Any, contents: ListContents, args: list[Any], _: Any, node: ast.AST
    ) -> Any:
        """``x.reverse()``."""
        self.store(owner, replace(contents, items=contents.items[::-1]), node)
        return Known(None)

    def list_sort(
        self, owner: Any, contents: ListContents, args: list[Any], keywords: Any, node: ast.AST
    ) -> Any:
        """``x.sort(key=f, reverse=r)``."""
        items = self.in_order(list(contents.items), keywords, node)
        contents = self.contents(owner, node)
        self.store(owner, replace(contents, items=tuple(items)), node)
        return Known(None)

    def list_index(
        self, owner: Any, contents: ListContents, args: list[Any], _: Any, node: ast.AST
    ) -> Any:
        """``x.index(value)``."""
        return self._found("index", list(contents.items), args, node)

    def list_count(
        self, owner: Any, contents: ListContents, args: list[Any], _: Any, node: ast.AST
    ) -> Any:
        """``x.count(value)``."""
        return self._found("count", list(contents.items), args, node)

    def dict_keys(
        self, owner: Any, contents: DictContents, args: list[Any], _: Any, node: ast.AST
    ) -> Any:
        """``x.keys()``."""
        return Lazy("dict_keys", (owner,))

    def dict_values(
        self, owner: Any, contents: DictContents, args: list[Any], _: Any, node: ast.AST
    ) -> Any:
        """``x.values()``."""
        return Lazy("dict_values", (owner,))

    def dict_items(
        self, owner: Any, contents: DictContents, args: list[Any], _: Any, node: ast.AST
    ) -> Any:
        """``x.items()``."""
        return Lazy("dict_items", (owner,))

    def _at(self, contents: DictContents, key: Any) -> int | None:
        for at, one in enumerate(contents.keys):
            if same_object(one, key) or one == key:
                return at
        return None

    def set_add(
        self, owner: Any, contents: SetContents, args: list[Any], _: Any, node: ast.AST
    ) -> Any:
        """``x.add(item)``."""
        self.add_to_set(owner, args[0], node)
        return Known(None)

    def set_discard(
        self, owner: Any, contents: SetContents, args: list[Any], _: Any, node: ast.AST
    ) -> Any:
        """``x.discard(item)``."""
        key = self.key(args[0], node)
        kept = tuple(item for item in contents.items if item != key)
        self.store(owner, replace(contents, items=kept), node)
        return Known(None)

    def dict_get(
        self, owner: Any, contents: DictContents, args: list[Any], _: Any, node: ast.AST
    ) -> Any:
        """``x.get(key, default)``."""
        default = args[1] if len(args) > 1 else Known(None)
        if self.picks_key(contents, args[0]):
            return self.decide(
                self.contains(args[0], owner, node),
                lambda: self.item(owner, args[0], node),
                lambda: default,
                node,
            )
        at = self._at(contents, self.key(args[0], node, contents))
        return default if at is None else contents.values[at]

    def dict_setdefault(
        self, owner: Any, contents: DictContents, args: list[Any], _: Any, node: ast.AST
    ) -> Any:
        """``x.setdefault(key, default)``."""
        at = self._at(contents, self.key(args[0], node))
        if at is not None:
            return contents.values[at]
        default = args[1] if len(args) > 1 else Known(None)
        self.store_item(owner, args[0], default, node)
        return default

    def dict_pop(
        self, owner: Any, contents: DictContents, args: list[Any], _: Any, node: ast.AST
    ) -> Any:
        """``x.pop(key, default)``."""
        at = self._at(contents, self.key(args[0], node))
        if at is None:
            if len(args) > 1:
                return args[1]
            self.leave("a key that is not there", node, KeyError)
        value = contents.values[at]
        self.delete_item(owner, args[0], node)
        return value

    def dict_update(
        self, owner: Any, contents: DictContents, args: list[Any], keywords: Any, node: ast.AST
    ) -> Any:
        """``x.update(y, name=value)``."""
        for arg in args:
            self.update(owner, arg, node, pairs=True)
        for name, value in keywords.items():
            self.store_item(owner, Known(name), value, node)
        return Known(None)

    def dict_copy(
        self, owner: Any, contents: DictContents, args: list[Any], _: Any, node: ast.AST
    ) -> Any:
        """``x.copy()``."""
        return self.allocate(replace(contents, external=False))

    def dict_clear(
        self, owner: Any, contents: DictContents, args: list[Any], _: Any, node: ast.AST
    ) -> Any:
        """``x.clear()``."""
        self.store(owner, replace(contents, keys=(), values=()), node)
        return Known(None)
