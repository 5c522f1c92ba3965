"""Python's own functions: ``abs``, ``min``, ``sum``, ``range``, ``isinstance`` and so on."""

from __future__ import annotations

import ast
import types
from typing import Any

import numpy as np

from ..abstract.state import DictContents, InstanceContents, SetContents
from ..abstract.values import (
    INTEGERS,
    REAL,
    Applied,
    Choice,
    Closure,
    Known,
    Lazy,
    MethodOf,
    Number,
    Range,
    Reference,
    Tuple,
    is_iterator,
    kind_of,
)
from ..abstract.walker import Walker
from ..types.iterators import iterator
from ..types.objects import member_of

PLAIN_MEMBERS = (types.FunctionType, staticmethod, classmethod)
"""What any instance of a class has, of that which says itself what it is for an instance."""


class Builtins(Walker):
    """Functions that Python has by itself."""

    def _only(self, args: list[Any], keywords: dict[str, Any], counts: range, node: Any) -> None:
        if keywords or len(args) not in counts:
            self.leave("arguments do not fit", node)

    def builtin_len(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``len(x)``."""
        return self.length(args[0], node)

    def builtin_range(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``range(stop)``, ``range(start, stop, step)``."""
        self._only(args, keywords, range(1, 4), node)
        args = [self.as_index(arg, node) for arg in args]
        for arg in args:
            if kind_of(arg) not in INTEGERS and kind_of(arg) != "bool":
                self.leave_with("a range of no integers", node, arg)
        ends = [
            self._python(arg) if isinstance(arg, Number) else Known(int(arg.object)) for arg in args
        ]
        start, stop = (Known(0), ends[0]) if len(ends) == 1 else ends[:2]
        step = ends[2] if len(ends) == 3 else Known(1)
        moves = self.compare("NotEq", step, Known(0), node)
        self.guard(moves, "a range of step 0", node, ValueError)
        return Range(start, stop, step)

    def builtin_slice(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Lazy:
        """``slice(stop)``, ``slice(start, stop)`` or ``slice(start, stop, step)``."""
        self._only(args, keywords, range(1, 4), node)
        ends = [Known(None), *args, Known(None)] if len(args) == 1 else [*args, Known(None)]
        return Lazy("slice", tuple(ends[:3]), node)

    def builtin_enumerate(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``enumerate(x, start)``."""
        start = keywords.pop("start", args[1] if len(args) > 1 else Known(0))
        start = self.as_index(start, node)
        if kind_of(start) not in ("int", "bool"):
            self.leave_with("enumerate from no integer", node, start)
        return Lazy("enumerate", (args[0], self.call(Known(int), [start], {}, node)))

    def builtin_next(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``next(generator, default)``."""
        self._only(args, keywords, range(1, 3), node)
        if not self.runs(args[0]):
            self.refuse(node, "next of this", "use an index")
        default = args[1] if len(args) > 1 else None
        return self.first_of(args[0], lambda _: Known(True), lambda item: item, default, node)

    def builtin_iter(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``iter(x)``."""
        if len(args) > 1:
            self.refuse(node, "iter of a function", "use while")
        return iterator(self, args[0], node)

    def builtin_zip(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``zip(x, y)``."""
        strict = self.constant_of(keywords.get("strict", Known(False)), node, "zip's strict")
        return Lazy("strict zip" if strict else "zip", tuple(args))

    def builtin_reversed(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``reversed(x)``."""
        over = args[0]
        if isinstance(over, Reference) and isinstance(self.contents(over, node), InstanceContents):
            self.refuse(node, "reversed of an instance", "make a list of it first")
        if is_iterator(over):
            self.leave("an iterator cannot be reversed", node, TypeError)
        return Lazy("reversed", (args[0],))

    def builtin_map(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``map(f, x)``."""
        return Lazy("map", tuple(args))

    def builtin_filter(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``filter(f, x)``."""
        return Lazy("filter", (args[0], args[1]))

    def builtin_tuple(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``tuple(x)``."""
        return Tuple(tuple(self.listed(args[0], node)) if args else ())

    def builtin_list(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``list(x)``."""
        if args and self.grown(args[0]) is not None:
            return self.call_method("copy", args[0], [], {}, node)
        if args and self.runs(args[0]):
            return self.list_of(args[0], node)
        return self.new_list(self.listed(args[0], node) if args else ())

    def builtin_dict(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``dict(x, name=value)``."""
        made = self.allocate(DictContents((), ()))
        if args:
            self.update(made, args[0], node, pairs=True)
        for name, value in keywords.items():
            self.store_item(made, Known(name), value, node)
        return made

    def builtin_abs(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``abs(x)``."""
        value = args[0]
        if isinstance(value, Choice):
            return self.distribute(value, lambda one: self.builtin_abs([one], {}, node), node)
        if isinstance(value, Number):
            if value.kind in REAL:
                return Number(value.kind, self.apply("abs", value.id), value.sources)
            if value.kind == "numpy_bool":
                return value
            exit = self.exit("an integer of more than 64 bits", node)
            held = self.compute("int_abs", self.as_int(value), exit=exit)
            return Number("int64" if value.kind == "int64" else "int", held, value.sources)
        if self.is_array(value):
            return self.array_call(np.abs, [value], {}, node)
        method = self.bound(value, "__abs__", node)
        if method is not None:
            return self.call(method, [], {}, node)
        return self.pure(abs, args, keywords, node)

    def builtin_float(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``float(x)``."""
        value = args[0] if args else Known(0.0)
        if isinstance(value, Choice):
            return self.distribute(value, lambda one: self.builtin_float([one], {}, node), node)
        if isinstance(value, Number):
            self.takes_no_variable |= value.kind in REAL
            return Number("float", self.as_real(value, "float", node), value.sources)
        if self.is_array(value):
            return self.array_call(float, [value], {}, node)
        return self.pure(float, [value], {}, node)

    def builtin_int(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``int(x)``."""
        value = args[0] if args else Known(0)
        if isinstance(value, Choice):
            return self.distribute(value, lambda one: self.builtin_int([one], {}, node), node)
        if isinstance(value, Number) and len(args) == 1 and not keywords:
            return self.rounded("float_to_int", self._python(value), node)
        return self.pure(int, args, keywords, node)

    @staticmethod
    def _python(value: Number) -> Number:
        kinds = {"float64": "float", "numpy_bool": "bool", "int64": "int"}
        kind = kinds.get(value.kind, value.kind)
        return Number(kind, value.id, value.sources, value.seen)

    def builtin_bool(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``bool(x)``."""
        self._only(args, keywords, range(2), node)
        return self.truth(args[0], node) if args else Known(False)

    def builtin_divmod(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``divmod(x, y)``."""
        return Tuple(
            tuple(self.binary(name, args[0], args[1], node) for name in ("FloorDiv", "Mod"))
        )

    def builtin_pow(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``pow(x, y)``."""
        if len(args) == 2 and not keywords:
            return self.binary("Pow", args[0], args[1], node)
        return self.pure(pow, args, keywords, node)

    def builtin_isinstance(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``isinstance(x, classes)``."""
        return self.isinstance_of(args[0], args[1], node)

    def builtin_issubclass(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``issubclass(cls, classes)``."""
        found = self.pure(issubclass, args, keywords, node)
        if not found.object:
            self.needs.no_subclass(self.constant_of(args[1], node, "a class that is computed"))
        return found

    def builtin_type(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``type(x)``."""
        self._only(args, keywords, range(1, 2), node)
        value = args[0]
        if isinstance(value, Choice):
            return self.distribute(value, lambda one: self.builtin_type([one], {}, node), node)
        if not self.is_only_printed(node):
            self.ask_kind(value)
        place = None
        if isinstance(value, Known) and value.place is not None:
            place = value.place.type()
        if isinstance(value, Reference):
            contents = self.contents(value, node)
            place = contents.place if isinstance(contents, InstanceContents) else None
        return Known(self.type_of(value, node), place)

    def builtin_super(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``super()`` in a method, or ``super(cls, self)``."""
        frame = self.frame
        if len(args) == 2:
            self.constant_of(args[0], node, "a class that is computed")
            return Lazy("super", tuple(args))
        if args or not frame.scope.parameters:
            self.refuse(node, "super of this", "write super()")
        try:
            cls, place = frame.names.find("__class__")
        except NameError:
            self.refuse(node, "super outside of a method", "name the class")
        self.needs.test(place, ("is", cls))
        return Lazy("super", (Known(cls), self.load(frame.scope.parameters[0], node)))

    def builtin_callable(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``callable(x)``."""
        value = args[0]
        if isinstance(value, Known):
            # The answer holds for calls in which the class has the method, or has it not, as now.
            if self.class_of(value) is not None and callable(value.object):
                self.member(value, "__call__", node)
            elif self.class_of(value) is not None:
                self.needs.absent(value.place.attribute("__call__"))
            return Known(callable(value.object))
        if isinstance(value, Closure | Applied | MethodOf):
            return Known(True)
        cls = self.class_of(value)
        return Known(cls is not None and member_of(cls, "__call__", None) is not None)

    def builtin_getattr(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``getattr(x, name, default)``."""
        name = self.constant_of(args[1], node, "a name that is computed")
        if len(args) == 3 and not self._has(args[0], name, node, is_read=True):
            return args[2]
        return self.attribute(args[0], name, node)

    def builtin_setattr(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``setattr(x, name, value)``."""
        name = self.constant_of(args[1], node, "a name that is computed")
        if not isinstance(name, str):
            self.leave("a name that is no string", node)
        self.store_attribute(args[0], name, args[2], node)
        return Known(None)

    def builtin_set(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``set(x)``."""
        self._only(args, keywords, range(2), node)
        made = self.allocate(SetContents(()))
        with self.holding(made):
            for item in self.listed(args[0], node) if args else ():
                self.add_to_set(made, item, node)
        return made

    def builtin_hasattr(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``hasattr(x, name)``."""
        name = self.constant_of(args[1], node, "a name that is computed")
        return Known(self._has(args[0], name, node))

    def _has(self, value: Any, name: str, node: ast.AST, is_read: bool = False) -> bool:
        """Whether there is an attribute. A property says so when it is read, where it may raise."""
        self.ask_kind(value)
        if isinstance(value, Closure) and name == "__wrapped__":
            self.refuse(node, "whether a function wraps another", "call the function")
        if isinstance(value, Known):
            if value.place is not None and self.class_of(value) is not None:
                self.refuse(node, "a question for an attribute of this", "read the attribute")
            has = hasattr(value.object, name)
            if value.place is not None and not has:
                self.needs.absent(value.place.attribute(name))
            elif value.place is not None and not is_read:
                self.member(value, name, node)
            return has
        if isinstance(value, Reference):
            contents = self.contents(value, node)
            if isinstance(contents, InstanceContents):
                if name in contents.names:
                    return True
                if hasattr(contents.cls, "__getattr__"):
                    self.refuse(node, "a class with __getattr__", "give it attributes")
                member = member_of(contents.cls, name, None)
                if isinstance(member, types.MemberDescriptorType):
                    return False
                computed = hasattr(type(member), "__get__")
                if computed and not isinstance(member, PLAIN_MEMBERS) and not is_read:
                    self.refuse(node, "a question for a property", "read the attribute")
        return member_of(self.type_of(value, node), name, None) is not None
