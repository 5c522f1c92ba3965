"""Cached functions: those that ``functools.cache`` or ``lru_cache`` decorates.

A call is read as a call of the function that is decorated, so that a program computes the result
anew. That gives what the cache has if the function does nothing but return numbers: a function that
changes or prints something, reads what has changed since it was called before, or returns what may
be changed is refused.

While a cached function calls itself, results are kept here too, by the arguments (``memos``): its
body is walked once for each of them, and not once for each call.
"""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..abstract.state import DictContents, reachable
from ..abstract.values import (
    Applied,
    Choice,
    Closure,
    Known,
    Lazy,
    Number,
    Reference,
    Tuple,
    is_none,
    kind_of,
)
from ..abstract.walker import Walker
from ..text import read

DECORATORS = (functools.cache, functools.lru_cache)
CACHED = "cached"
"""The name of the ``Lazy`` value of a function that is decorated where it is read."""
LOOKUP = "an argument of a function that keeps its results and calls itself"
CALL_WRAPPED = "call its __wrapped__, or use mode='trace'"
PLAIN = (int, float, str, bytes, type(None), type, np.generic, types.FunctionType)
"""Classes whose objects are hashed and compared by no code of the caller's."""


class Caching(Walker):
    """Calls of cached functions, and of what makes them."""

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
        """A call of what was decorated outside of the function that is read; it has a place."""
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
        """A call of the cached function that decorates ``inner``."""
        parts = [*args, *keywords.values()]
        for value in parts:
            self._check_hashable(value, node)
        identity = self._identity(inner)
        key = (tuple(map(_key, args)), tuple((name, _key(one)) for name, one in keywords.items()))
        equal = (tuple(map(_equal, args)), *((name, _equal(one)) for name, one in keywords.items()))
        if self.asked.setdefault((identity, equal), key) != key:
            what = "a function that keeps its results, of equal arguments of two types,"
            self.refuse(node, what, CALL_WRAPPED)
        if identity not in self.memos:
            return self._outermost(identity, inner, args, keywords, node)
        for value in parts:
            if isinstance(value, Number) and value.kind in ("int", "int64"):
                self.unknown(value, node, LOOKUP, CALL_WRAPPED)
        memo, builder = self.memos[identity]
        if builder is not self.builder:
            self.refuse(node, "a function that keeps its results within a derivative", CALL_WRAPPED)
        if key in (kept := self._kept_by(memo)).keys:
            return kept.values[kept.keys.index(key)]
        made = self._result_of(inner, args, keywords, node)
        # The calls within this one have kept results meanwhile.
        kept = self._kept_by(memo)
        more = replace(kept, keys=(*kept.keys, key), values=(*kept.values, made))
        self.state.heap[memo.address] = more
        return made

    def _outermost(
        self,
        identity: Hashable,
        inner: Any,
        args: Sequence[Any],
        keywords: dict[str, Any],
        node: ast.AST,
    ) -> Any:
        """A call that is not within another of the same function. Refuses the function if it reads
        other values than in an earlier call, changes or prints something, or returns what may be
        changed.
        """
        before, printed = dict(self.state.heap), self.printed
        sees = {one: before[one] for one in reachable(self.state, [inner])}
        if self.seen_by.setdefault(identity, sees) != sees:
            what = "a function that keeps its results, and reads what has changed since,"
            self.refuse(node, what, CALL_WRAPPED)
        memo = self.allocate(DictContents((), ()))
        self.memos[identity] = memo, self.builder
        try:
            with self.holding(memo):
                made = self._result_of(inner, args, keywords, node)
        finally:
            del self.memos[identity]
        now = self.state.heap
        # Other cached functions that are being called keep results meanwhile.
        memos = {one.address for one, _ in self.memos.values()}
        changed = (
            now[address] is not old and now[address] != old
            for address, old in before.items()
            if address in now and address not in memos
        )
        if self.printed is not printed or any(changed):
            what = "a function that keeps its results and changes or prints something"
            self.refuse(node, what, CALL_WRAPPED)
        if not _is_unchangeable(made):
            what = "a function that keeps its results, which are no numbers,"
            self.refuse(node, what, CALL_WRAPPED)
        return made

    def _result_of(
        self, inner: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """What the function that is decorated returns."""
        if isinstance(inner, Closure):
            return self.inline(inner, args, keywords, node, is_cached=True)
        return self.call(inner, args, keywords, node)

    def _kept_by(self, memo: Reference) -> DictContents:
        """The results that were kept on all paths that lead here."""
        contents = self.state.heap.get(memo.address)
        return contents if isinstance(contents, DictContents) else DictContents((), ())

    def _identity(self, inner: Any) -> Hashable:
        """What is equal for one function in all calls, and of no other."""
        if isinstance(inner, Closure):
            return (id(inner.node), inner.names.function, inner.cells)
        return id(inner.object) if isinstance(inner, Known) else id(inner)

    def _check_hashable(self, value: Any, node: ast.AST) -> None:
        """Leaves for what has no hash, and refuses what is no number or known value."""
        if isinstance(value, Tuple):
            for item in value.items:
                self._check_hashable(item, node)
        elif self.is_array(value) or (
            isinstance(value, Reference) and self.class_of(value) is None
        ):
            self.leave("an argument of a cached function has no hash", node, TypeError)
        elif not isinstance(value, Number | Closure) and not (
            isinstance(value, Known) and isinstance(value.object, PLAIN)
        ):
            self.refuse(node, "such an argument of a function that keeps its results", CALL_WRAPPED)


def _key(value: Any) -> Hashable:
    """An argument as a part of the key of a result."""
    if isinstance(value, Tuple):
        return (value.cls, tuple(map(_key, value.items)))
    if isinstance(value, Known):
        # Numbers of another type, or with another sign of zero, are equal to it.
        return (type(value.object), value.object, str(value.object))
    found: Hashable = value
    return found


def _equal(value: Any) -> Hashable:
    """What Python compares of an argument: an integer may be equal to a float."""
    if isinstance(value, Tuple):
        return tuple(map(_equal, value.items))
    found: Hashable = value.object if isinstance(value, Known) else value
    return found


def _is_unchangeable(value: Any) -> bool:
    """Whether a result is made of numbers, tuples, and known texts and None."""
    if isinstance(value, Choice):
        return all(map(_is_unchangeable, value.alternatives))
    if isinstance(value, Tuple):
        return all(map(_is_unchangeable, value.items))
    if isinstance(value, Known):
        return kind_of(value) is not None or isinstance(value.object, str | None)
    return isinstance(value, Number)
