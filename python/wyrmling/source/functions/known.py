"""Calls of callables whose code is not read: NumPy's, SciPy's, ours, and those written in C.

Each way to call one is a method that gives None for what is not its own; ``call_known`` asks
them in turn. A callable that none of them takes is refused.
"""

from __future__ import annotations

import ast
import builtins
import functools
import math
import types
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..abstract.values import Applied, Choice, Known, Number, Tuple
from ..abstract.walker import Walker
from ..text.read import is_made
from ..text.scope import is_built_in
from ..types.classes import fits, package_of
from ..types.creation import is_quadrature
from ..types.integer_arrays import integer_of
from ..types.iterators import TAKERS, iterated
from ..types.numbers import FOLDED, number_in
from ..types.zero_dimensional import with_numbers
from . import caching
from .allowed import is_own_function, is_primitive, own_of_scipy
from .nested import transform_name
from .stand_ins import stand_in

PURE_MODULES = ("math", "cmath")
PURE = frozenset(
    {"ascii", "bin", "bytes", "chr", "complex", "format", "frozenset", "hash", "hex"}
    | {"oct", "ord"}
)


class KnownCalls(Walker):
    """Calls of callables that are not read."""

    def call_known(
        self, function: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """What a callable returns that is not read."""
        found = function.object
        if function.place is not None and isinstance(found, types.FunctionType):
            # Its code is not read, and over other cells may do something else: the function itself
            # has to be the same.
            self.needs.test(function.place, ("is", found))
        args, keywords = self._numbers_for(found, args, keywords, node)
        if getattr(builtins, getattr(found, "__name__", ""), None) is found:
            return self._call_built_in(found, args, keywords, node)
        if isinstance(found, np.ufunc) or _is_of_math(found):
            args = [self.one_beside(arg, args, node) for arg in args]
            chosen = next((one for one in args if isinstance(one, Choice)), None)
            if chosen is not None:

                def on(one: Any) -> Any:
                    given = [one if arg is chosen else arg for arg in args]
                    return self.call_known(function, given, keywords, node)

                return self.distribute(chosen, on, node)
        made = self.call_mathematics(found, args, keywords, node)
        if made is not None:
            return made
        ways = (
            self._call_standard,
            self._call_number_type,
            self._call_method_of_known,
            self._call_rules,
            self._call_type,
        )
        for way in ways:
            made = way(function, args, keywords, node)
            if made is not None:
                return made
        label = _label(found)
        if hasattr(found, "cache_info"):
            if function.place is not None:
                return self.call_cached_outside(function, args, keywords, node)
            advice = f"call {label}.__wrapped__, or use mode='trace'"
            self.refuse(node, f"a call of {label}, which keeps its results,", advice)
        return self.refuse(
            node, f"a call of {label}, which is not written in Python,", "use mode='trace'"
        )

    def _numbers_for(
        self, found: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> tuple[Sequence[Any], dict[str, Any]]:
        """The arguments, with numbers for arrays without axes where a callable takes numbers."""
        if any(found is one for one in (float, int, abs)):
            return [integer_of(self, number_in(self, arg), node) for arg in args], keywords
        if _is_of_math(found):
            numbers = [number_in(self, arg) for arg in args]
            if found is math.trunc and numbers and numbers[0] is not args[0]:
                self.leave("an array has no __trunc__", node, TypeError)
            return numbers, keywords
        if _is_numpy(found) and hasattr(found, "__name__"):
            named = {key: with_numbers(self, found, one) for key, one in keywords.items()}
            return [with_numbers(self, found, arg) for arg in args], named
        return args, keywords

    def _call_built_in(
        self, found: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """A function or type of Python's own, by the method that is named after it."""
        name = found.__name__
        method = getattr(self, f"builtin_{name}", None)
        if method is not None:
            if not fits(found, args, keywords):
                self.leave("arguments do not fit", node)
            if name in TAKERS and (len(args) == 1 or name not in ("max", "min")):
                args = [iterated(self, arg, node) for arg in args]
            return method(list(args), keywords, node)
        if name not in PURE and not isinstance(found, type):
            self.refuse(node, f"a call of {name}", "do it outside of the function")
        return self.pure(found, args, keywords, node)

    def _call_standard(
        self, function: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """A function of Python's library that takes functions, or for which a text is read."""
        found = function.object
        if found in caching.DECORATORS:
            return self.cached(args, keywords, node)
        made = stand_in(self, function, args, keywords, node)
        if made is not None:
            return made
        if found is functools.partial:
            given = tuple(self.kept(arg, node) for arg in args[1:])
            named = tuple((name, self.kept(one, node)) for name, one in keywords.items())
            return Applied(args[0], given, named)
        if found is math.prod and len(args) == 1 and not set(keywords) - {"start"}:
            first = keywords.get("start", Known(1))
            return self.accumulate(
                args[0], first, lambda total, one: self.binary("Mult", total, one, node), node
            )
        return self._reduce(args, node) if found is functools.reduce else None

    def _call_number_type(
        self, function: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """A type of NumPy's numbers, of what is computed."""
        found = function.object
        if len(args) != 1:
            return None
        if found in (np.int64, np.bool_) and isinstance(args[0], Number):
            plain = self.call(Known(int if found is np.int64 else bool), args, {}, node)
            kind = "int64" if found is np.int64 else "numpy_bool"
            return replace(plain, kind=kind) if isinstance(plain, Number) else plain
        if found in (np.float64, np.float32):
            value = number_in(self, args[0])
            if self.is_array(value) and not isinstance(value, Known):
                made = self.array_call(np.ndarray.astype, [value, Known(found)], {}, node)
                return number_in(self, made)
            if isinstance(value, Number):
                kind = "float32" if found is np.float32 else "float"
                made = self.as_real(value, kind, node)
                return Number(found.__name__, made, value.sources)
        return None

    def _call_method_of_known(
        self, function: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """A method of a text, a number, a tuple or a ufunc that is known."""
        found = function.object
        owner = getattr(found, "__self__", None)
        is_known = all(isinstance(arg, Known) for arg in args)
        if isinstance(owner, str) and found.__name__ == "format" and not (keywords or is_known):
            return self.filled_in("format", owner, Tuple(tuple(args)), node)
        if isinstance(owner, str) and found.__name__ == "join" and not is_known:
            return self.text_between(owner, args, node)
        if isinstance(owner, np.ufunc):
            return self.array_call(found, args, keywords, node)
        if isinstance(owner, str | bytes | int | float | tuple | np.generic):
            return self.pure(found, args, keywords, node)
        return None

    def _call_rules(
        self, function: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """A function with a derivative: a transform's, a primitive, NumPy's, SciPy's or ours."""
        found = function.object
        if is_made(found):
            return self.call(self.made_outside(function, node), args, keywords, node)
        transform = transform_name(found)
        if transform is not None:
            return self.transform(transform, args, keywords, node)
        if is_primitive(found):
            if function.place is None:
                self.refuse(node, "a primitive that was found here", "give it a global name")
            self._expect_rules(found, function.place)
            return self.array_call(found, args, keywords, node)
        if is_own_function(found):
            return self.array_call(found, args, keywords, node)
        own = own_of_scipy(found)
        if own is not None:
            return self.array_call(own, args, keywords, node)
        if is_quadrature(found):
            return self.quadrature(found, args, keywords, node)
        if _is_numpy(found) and not isinstance(found, type):
            return self.array_call(found, args, keywords, node)
        return None

    def _call_type(
        self, function: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """A class, or a function of a module without effects."""
        found = function.object
        if isinstance(found, type):
            if is_built_in(found) or issubclass(found, np.generic):
                return self.pure(found, args, keywords, node)
            return self.instantiate(function, args, keywords, node)
        if getattr(found, "__module__", None) in PURE_MODULES:
            return self.pure(found, args, keywords, node)
        return None

    def _expect_rules(self, found: Any, place: Any) -> None:
        """A primitive has to have the same function and rules at each call."""
        self.needs.test(place, ("is", found))
        self.needs.test(place.attribute("function"), ("is", found.function))
        for name in ("vjps", "jvps"):
            rules = getattr(found, name)
            self.needs.keys(place.attribute(name), rules)
            for at, rule in rules.items():
                self.needs.test(place.attribute(name).item(at), ("is", rule))

    def pure(self, found: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """A function without effects, whose arguments have to be known."""
        label = _label(found)
        given = [self._plain(arg, node, label) for arg in args]
        named = {key: self._plain(value, node, label) for key, value in keywords.items()}
        result = self.fold(lambda: found(*given, **named), [], node)
        if isinstance(result.object, list) and all(type(one) is str for one in result.object):
            return self.new_list([Known(one) for one in result.object])
        if not isinstance(result.object, FOLDED):
            self.refuse(node, f"a call of {label}", "compute it outside of the function")
        if isinstance(result.object, tuple):
            return Tuple(tuple(Known(item) for item in result.object))
        return result

    def _plain(self, value: Any, node: ast.AST, label: str) -> Any:
        if isinstance(value, Tuple) and value.cls is tuple:
            return tuple(self._plain(item, node, label) for item in value.items)
        found = self.constant_of(
            value, node, f"a call of {label} with what is computed", "use what has a derivative"
        )
        if not isinstance(found, (*FOLDED, type, slice)):
            self.refuse(node, f"a call of {label} with this", "compute it outside of the function")
        return found

    def _reduce(self, args: Sequence[Any], node: ast.AST) -> Any:
        if len(args) == 3:
            return self.accumulate(
                args[1], args[2], lambda one, item: self.call(args[0], [one, item], {}, node), node
            )
        if self.runs(args[1]) or self.grown(args[1]) is not None:
            return self.call(self.written_out("reduced", node), args, {}, node)
        items = self.items(args[1], node)
        if not items:
            self.leave("reduce of nothing", node)
        total = items[0]
        for item in items[1:]:
            total = self.call(args[0], [total, item], {}, node)
        return total


def _is_numpy(found: Any) -> bool:
    return isinstance(found, np.ufunc) or package_of(found) == "numpy"


def _is_of_math(found: Any) -> bool:
    return getattr(found, "__module__", None) == "math"


def _label(found: Any) -> str:
    return getattr(found, "__qualname__", None) or type(found).__qualname__
