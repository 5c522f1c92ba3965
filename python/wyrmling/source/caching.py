"""Functions that keep their results, by ``functools.cache`` and ``lru_cache``: read as what they
keep results of.

While such a function calls itself its results are kept here too, by the arguments, so that it is
walked once for each of them. Everything else is computed anew, which gives the same if the function
does nothing but return numbers: what changes or prints something, or returns what may be changed,
is refused.
"""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from . import read
from .state import DictContents, reachable
from .values import Applied, Choice, Closure, Known, Lazy, Number, Reference, Row, is_none, kind_of
from .walker import Walker

FUNCTIONS = (functools.cache, functools.lru_cache)
CACHED = "cached"
"""The name of such a function as a value."""
LOOKUP = "an argument of a function that keeps its results and calls itself"
CALL_WRAPPED = "call its __wrapped__, or use mode='trace'"


PLAIN = (int, float, str, bytes, type(None), type, np.generic, types.FunctionType)
"""What is hashed and compared without code of the caller's."""


class Caching(Walker):
    """Calls of functions that keep their results."""

    def cached(self, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``cache(f)``, ``lru_cache(f)`` and ``lru_cache(maxsize)``."""
        if len(args) == 1 and not keywords and kind_of(args[0]) is None and not is_none(args[0]):
            return Lazy(CACHED, (args[0],))
        if len(args) > 2 or keywords.keys() - {"maxsize", "typed"}:
            self.leave("arguments do not fit", node)
        size = args[0] if args else keywords.get("maxsize", Known(None))
        if kind_of(size) not in ("int", "bool") and not is_none(size):
            self.leave("a number of results to keep that is no integer", node, TypeError)
        return Applied(Known(functools.cache), ())

    def call_cached_outside(
        self, function: Known, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """A call of what was decorated outside of the function; it has a place."""
        inner = function.object.__wrapped__
        if not isinstance(inner, types.FunctionType):
            self.refuse(node, "a call of what keeps the results of no function", CALL_WRAPPED)
        self.needs.test(function.place, ("is", function.object))
        callee = read.callee(inner, function.place.attribute("__wrapped__"))
        self.needs.expect(callee.place, callee.function)
        closure = self.closure_of(callee.function, callee.place, node)
        return self.call_cached(closure, args, keywords, node)

    def call_cached(
        self, inner: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """A call of what keeps the results of ``inner``."""
        parts = [*args, *keywords.values()]
        for value in parts:
            self._hashable(value, node)
        own = self._identity(inner)
        key = (tuple(map(_key, args)), tuple((name, _key(one)) for name, one in keywords.items()))
        plain = (tuple(map(_plain, args)), *((name, _plain(one)) for name, one in keywords.items()))
        if self.asked.setdefault((own, plain), key) != key:
            what = "a function that keeps its results, of equal arguments of two types,"
            self.refuse(node, what, CALL_WRAPPED)
        if own not in self.memos:
            return self._outermost(own, inner, args, keywords, key, node)
        for value in parts:
            if isinstance(value, Number) and value.kind in ("int", "int64"):
                self.unknown(value, node, LOOKUP, CALL_WRAPPED)
        memo, builder = self.memos[own]
        if builder is not self.builder:
            self.refuse(node, "a function that keeps its results within a derivative", CALL_WRAPPED)
        if key in (found := self._kept_by(memo)).keys:
            return found.values[found.keys.index(key)]
        made = self._walked_through(inner, args, keywords, node)
        found = self._kept_by(memo)
        kept = replace(found, keys=(*found.keys, key), values=(*found.values, made))
        self.state.heap[memo.address] = kept
        return made

    def _outermost(
        self,
        own: Hashable,
        inner: Any,
        args: Sequence[Any],
        keywords: dict[str, Any],
        key: Hashable,
        node: ast.AST,
    ) -> Any:
        before, printed = dict(self.state.heap), self.printed
        sees = {one: before[one] for one in reachable(self.state, [inner])}
        if self.seen_by.setdefault(own, sees) != sees:
            what = "a function that keeps its results, and reads what has changed since,"
            self.refuse(node, what, CALL_WRAPPED)
        memo = self.allocate(DictContents((), ()))
        self.memos[own] = memo, self.builder
        try:
            with self.holding(memo):
                made = self._walked_through(inner, args, keywords, node)
        finally:
            del self.memos[own]
        now = self.state.heap
        others = {one.address for one, _ in self.memos.values()}
        changed = (
            now[address] is not old and now[address] != old
            for address, old in before.items()
            if address in now and address not in others
        )
        if self.printed is not printed or any(changed):
            what = "a function that keeps its results and changes or prints something"
            self.refuse(node, what, CALL_WRAPPED)
        if not _is_number(made):
            what = "a function that keeps its results, which are no numbers,"
            self.refuse(node, what, CALL_WRAPPED)
        return made

    def _walked_through(
        self, inner: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        if isinstance(inner, Closure):
            return self.inline(inner, args, keywords, node, is_kept=True)
        return self.call(inner, args, keywords, node)

    def _kept_by(self, memo: Reference) -> DictContents:
        """What was kept on all ways to here."""
        contents = self.state.heap.get(memo.address)
        return contents if isinstance(contents, DictContents) else DictContents((), ())

    def _identity(self, inner: Any) -> Hashable:
        if isinstance(inner, Closure):
            return (id(inner.node), inner.names.function, inner.cells)
        return id(inner.object) if isinstance(inner, Known) else id(inner)

    def _hashable(self, value: Any, node: ast.AST) -> None:
        """Leaves for what has no hash, and refuses what is no number or known value."""
        if isinstance(value, Row):
            for item in value.items:
                self._hashable(item, node)
        elif self.is_array(value) or (
            isinstance(value, Reference) and self.class_of(value) is None
        ):
            self.leave("an argument of a cached function has no hash", node, TypeError)
        elif not isinstance(value, Number | Closure) and not (
            isinstance(value, Known) and isinstance(value.object, PLAIN)
        ):
            self.refuse(node, "such an argument of a function that keeps its results", CALL_WRAPPED)


def _key(value: Any) -> Hashable:
    if isinstance(value, Row):
        return (value.cls, tuple(map(_key, value.items)))
    if isinstance(value, Known):
        # Other numbers are equal to it that are of other types, or have another sign of zero.
        return (type(value.object), value.object, str(value.object))
    found: Hashable = value
    return found


def _plain(value: Any) -> Hashable:
    """What Python compares of an argument: an integer may be equal to a float."""
    if isinstance(value, Row):
        return tuple(map(_plain, value.items))
    found: Hashable = value.object if isinstance(value, Known) else value
    return found


def _is_number(value: Any) -> bool:
    """Whether a result is numbers, or known values that nobody can change."""
    if isinstance(value, Choice):
        return all(map(_is_number, value.alternatives))
    if isinstance(value, Row):
        return all(map(_is_number, value.items))
    if isinstance(value, Known):
        return kind_of(value) is not None or isinstance(value.object, str | None)
    return isinstance(value, Number)
