"""Calls: a Python function is read in turn, and becomes part of the program where it is called.

Arguments are bound as Python binds them; where they do not fit, the program leaves, and Python
raises. Recursion is followed as far as its depth is known, and becomes a loop with tapes else.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Sequence
from typing import Any

from ..abstract.frames import Frame
from ..abstract.join import Incoming
from ..abstract.raising import Ended
from ..abstract.restarts import NeedsConstant
from ..abstract.state import CellContents, DictContents
from ..abstract.values import (
    Applied,
    Choice,
    Closure,
    Known,
    Lazy,
    Lost,
    MethodOf,
    Number,
    Reference,
    Tuple,
    Unset,
    nothing,
)
from ..functions import caching
from ..functions.caching import CACHED, Caching
from ..functions.stand_ins import WRAPPERS, of_statistics, text_of_norm
from ..library import standard
from ..text import names as scopes
from ..text import read
from ..text.refuse import SourceError, Unreadable
from ..text.refuse import at as refuse_at
from ..text.scope import Names
from ..types import copying
from ..types.classes import package_of
from ..types.grouping import SILENT, UNCHANGED, called_silently, expect_unchanged
from ..types.views import let_go
from .recursion import DEEPEST, Recursions

# Functions that go through all of a list, and keep nothing of it.
REDUCTIONS = (sum, any, all)
# Packages whose functions are known by themselves, and not read.
KNOWN_PACKAGES = ("numpy", "scipy", "wyrmling", "operator")
# Modules of this package whose functions are written to be read, as those of its users.
READ_MODULES = ("wyrmling.nn", "wyrmling.recommend")


class Calls(Recursions, Caching):
    """What is called."""

    def evaluate_Call(self, node: ast.Call) -> Any:
        """``function(args, keyword=value)``."""
        function = self.evaluate(node.func)
        args: list[Any] = []
        reduces = isinstance(function, Known) and any(function.object is one for one in REDUCTIONS)
        for given in node.args:
            if reduces and isinstance(given, ast.ListComp) and len(node.args) == 1:
                # The list is gone at once: its items are reduced as they come.
                first = self.evaluate(given.generators[0].iter)
                args.append(Lazy("generator", (first,), given))
            elif isinstance(given, ast.Starred):
                args += self.items(self.evaluate(given.value), given)
            else:
                args.append(self.evaluate(given))
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.evaluate(keyword.value)
            named = {keyword.arg: value} if keyword.arg else self._mapping(value, keyword)
            if set(named) & set(keywords):
                self.leave("an argument is given twice", node)
            keywords |= named
        return self.call(function, args, keywords, node)

    def _mapping(self, value: Any, node: ast.AST) -> dict[str, Any]:
        contents = self.contents(value, node) if isinstance(value, Reference) else None
        if not isinstance(contents, DictContents):
            self.refuse(node, "** of this", "use a dict")
        if not all(isinstance(key, str) for key in contents.keys):
            self.leave("keywords have to be strings", node)
        return dict(zip(contents.keys, contents.values, strict=True))

    def evaluate_Lambda(self, node: ast.Lambda) -> Any:
        """``lambda x: …``."""
        return self.closure(node)

    def closure(self, node: ast.FunctionDef | ast.Lambda) -> Closure:
        """A function that stands in the text, where it is defined."""
        scope = self.scope_of(node)
        frame = self.frame
        cells = []
        parameters = {one.name for one in getattr(node, "type_params", ())}
        for name in sorted(scope.free):
            if name in parameters:
                lost = Lost("it is a type parameter", advice="write the type itself")
                cells.append((name, self.allocate(CellContents(lost))))
                continue
            own = name
            for renamed in reversed(frame.renamed):
                if name in renamed:
                    own = renamed[name]
                    break
            if own in frame.cells:
                cells.append((name, frame.cells[own]))
        defaults = tuple(self.kept(self.evaluate(one), one) for one in node.args.defaults)
        pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        keywords = tuple(
            (one.arg, self.kept(self.evaluate(value), value))
            for one, value in pairs
            if value is not None
        )
        return Closure(node, frame.reading, frame.names, tuple(cells), defaults, keywords)

    def scope_of(self, node: ast.FunctionDef | ast.Lambda) -> scopes.Scope:
        """The names of a function."""
        if id(node) not in self.scopes:
            self.scopes[id(node)] = scopes.scope(node)
        return self.scopes[id(node)]

    def call(
        self, function: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """What a function returns."""
        if isinstance(function, Choice):
            return self.distribute(function, lambda one: self.call(one, args, keywords, node), node)
        if isinstance(function, Closure):
            return self.inline(function, args, keywords, node)
        if isinstance(function, Applied):
            given = dict(function.keywords) | keywords
            return self.call(function.function, [*function.args, *args], given, node)
        if isinstance(function, Lazy) and function.name == CACHED:
            return self.call_cached(function.over[0], args, keywords, node)
        if isinstance(function, Lazy) and function.name == SILENT:
            return called_silently(self, function.over[0], args, node)
        if isinstance(function, Lazy) and function.name == UNCHANGED:
            return expect_unchanged(self, function.node, node)
        if isinstance(function, Lazy) and function.name in ("grad", "value_and_grad"):
            return self.call_transformed(function, args, keywords, node)
        if isinstance(function, MethodOf):
            return self.call_method(function.name, function.owner, args, keywords, node)
        if isinstance(function, Known):
            return self._call_object(function, args, keywords, node)
        method = self.bound(function, "__call__", node)
        if method is not None:
            return self.call(method, args, keywords, node)
        if isinstance(function, Number | Tuple | Reference):
            self.leave("this cannot be called", node)
        return self.refuse(node, "a call of this", "call a function")

    def _call_object(
        self, function: Known, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        found = function.object
        if found is nothing:
            return Known(None)
        if not callable(found):
            self.leave("this cannot be called", node)
        if isinstance(found, types.FunctionType) and self.special(found):
            return self.call_known(function, args, keywords, node)
        if package_of(type(found)) in KNOWN_PACKAGES:
            return self.call_known(function, args, keywords, node)
        if text_of_norm(found) is not None:
            return self.call_known(function, args, keywords, node)
        if read.is_dispatching(found) and function.place is not None and args:
            return self.dispatched(function, args, keywords, node)
        python = isinstance(found, types.FunctionType | types.MethodType)
        if python or (function.place is not None and self.class_of(function) is not None):
            try:
                return self._read_and_call(function, args, keywords, node)
            except Unreadable as error:
                if python:
                    return self.unread(function, args, keywords, node, str(error))
        return self.call_known(function, args, keywords, node)

    def dispatched(
        self, function: Known, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """A call of what ``functools.singledispatch`` made: of the function for the class of the
        first argument, which is Python's class; a variable's when the function is traced.
        """
        first = args[0]
        if isinstance(first, Choice):

            def on(one: Any) -> Any:
                return self.dispatched(function, [one, *args[1:]], keywords, node)

            return self.distribute(first, on, node)
        found, place = Names(function.object, function.place).find("dispatch")
        self.needs.expect(place, found)
        cls = self.type_of(first, node)
        return self.call(self.known(found(cls), place.called(cls), node), args, keywords, node)

    def special(self, function: Any) -> bool:
        """Whether a Python function is known by itself, and not read."""
        if function.__module__ in standard.MODULES:
            return False
        if function in copying.FUNCTIONS or function in caching.DECORATORS:
            return True
        if of_statistics(function) or function in WRAPPERS:
            return True
        modules = (getattr(function, "__module__", None), function.__globals__.get("__name__"))
        if str(modules[1]).startswith(READ_MODULES):
            return False
        return any(str(module).split(".")[0] in KNOWN_PACKAGES for module in modules)

    def unread(
        self,
        function: Known,
        args: Sequence[Any],
        keywords: dict[str, Any],
        node: ast.AST,
        reason: str,
    ) -> Any:
        """A call of a Python function that cannot be read."""
        name = getattr(function.object, "__qualname__", "this")
        return self.refuse(node, f"a call of {name}: {reason}; this", "use mode='trace'")

    def _read_and_call(
        self, function: Known, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        place = function.place
        if place is None:
            # An object without a place belongs to another that the call is tested for.
            place = self.anonymous(function.object)
        callee = read.callee(function.object, place, self.needs)
        first = [self.known(value, where, node) for value, where in callee.args]
        given = {name: self.known(*found, node) for name, found in callee.keywords.items()}
        closure = self.closure_of(callee.function, callee.place, node)
        return self.inline(closure, [*first, *args], given | keywords, node)

    def anonymous(self, function: Any) -> Any:
        """A place for a function of a class whose place is not known."""
        raise Unreadable("it was found where it cannot be looked for again")

    def closure_of(self, function: types.FunctionType, place: Any, node: ast.AST) -> Closure:
        """A Python function as a value."""
        reading = read.function(function)
        names = Names(function, place)
        text = reading.node
        if isinstance(text, ast.AsyncFunctionDef):
            self.refuse(node, "a call of an async function", "call a plain function")
        names.expect_defaults(self.needs)
        defaults = []
        for one in [*text.args.posonlyargs, *text.args.args]:
            found = names.default(one.arg)
            if found is not None:
                defaults.append(self.known(*found, node))
        keywords = []
        for one in text.args.kwonlyargs:
            found = names.default(one.arg)
            if found is not None:
                keywords.append((one.arg, self.known(*found, node)))
        return Closure(text, reading, names, (), tuple(defaults), tuple(keywords))

    def inline(
        self,
        function: Closure,
        args: Sequence[Any],
        keywords: dict[str, Any],
        node: ast.AST,
        is_cached: bool = False,
    ) -> Any:
        """The body of a function, with its arguments bound. Calls of itself become a loop, unless
        it ``is_cached``: then its arguments are known, and the calls end.
        """
        scope = self.scope_of(function.node)
        recursion = None if is_cached else self.under_way(function, args, scope.yields, node)
        if is_cached and len(self.frames) > DEEPEST:
            self.refuse(node, "calls this deep", "write it as a loop, or use mode='trace'")
        bound = self._bind(function, args, keywords, node)
        bound = {name: self.kept(value, node) for name, value in bound.items()}
        if recursion is not None:
            return self.call_again(recursion, bound, node)
        place = self.place_of(function, node)
        if place in self.recursive and not is_cached:
            return self.recurse(
                function, bound, lambda *own: self._walked(function, place, *own), node
            )
        if scope.yields:
            with self.holding(function, *bound.values()):
                return self.generator(function, bound, self._cells(function, bound), node)
        try:
            return self.meet(self._walked(function, place, None, bound), node)[0]
        except (SourceError, NeedsConstant) as error:
            # An error in a text of ``library`` names the line of the call, as users know it.
            reading = self.frame.reading
            if function.reading.file not in standard.FILES or reading.file in standard.FILES:
                raise
            if isinstance(error, SourceError):
                raise refuse_at(reading, node, error.construct, error.advice) from None
            error.node, error.reading = node, reading
            raise

    def _cells(self, function: Closure, bound: dict[str, Any]) -> dict[str, Reference]:
        """Cells of a function that is called; its parameters among them are taken."""
        cells = dict(function.cells)
        for name in sorted(self.scope_of(function.node).cells):
            cells[name] = self.allocate(CellContents(bound.pop(name, Unset())))
        return cells

    def _walked(
        self, function: Closure, place: Any, recursion: Any, bound: dict[str, Any]
    ) -> list[Incoming]:
        """Walks the body of a function: the paths on which it returns."""
        scope = self.scope_of(function.node)
        frame = Frame(function.node, function.reading, function.names, scope)
        frame.place, frame.recursion = place, recursion
        views = let_go(self.held, bound.values())
        others = [value for value in bound.values() if not any(value is one for one in views)]
        with self.holding(function, *others):
            frame.cells = self._cells(function, bound)
            with self.holding(*frame.cells.values()):
                return self.walk_body(frame, bound)

    def walk_body(self, frame: Frame, bound: dict[str, Any]) -> list[Incoming]:
        """Follows the body of a function whose names stand for these: the paths on which it
        returns, without them.
        """
        self.frames.append(frame)
        frame.around = list(self.frames)
        self.state.environments.append(bound)
        depth = len(self.frames)
        text = frame.node
        try:
            if isinstance(text, ast.Lambda):
                frame.returns.append(self.here(self.handed_back(self.evaluate(text.body), text)))
            else:
                self.execute(text.body)
                frame.returns.append(self.here(Known(None)))
        except Ended:
            pass
        finally:
            del self.frames[depth - 1 :]
        for incoming in frame.returns:
            del incoming.state.environments[depth - 1 :]
        return frame.returns

    def _bind(
        self, function: Closure, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> dict[str, Any]:
        """Names of the parameters, with what they are given."""
        spec = function.node.args
        positional = [one.arg for one in (*spec.posonlyargs, *spec.args)]
        bound: dict[str, Any] = dict(zip(positional, args, strict=False))
        rest = tuple(self.kept(arg, node) for arg in args[len(positional) :])
        if spec.vararg is not None:
            bound[spec.vararg.arg] = Tuple(rest)
        elif rest:
            self.leave("too many arguments", node)
        only = {one.arg for one in spec.posonlyargs}
        named = {one.arg for one in (*spec.args, *spec.kwonlyargs)}
        others: dict[str, Any] = {}
        for name, value in keywords.items():
            if name in named and name not in bound:
                bound[name] = value
            elif spec.kwarg is not None and (name not in named or name in only):
                others[name] = self.kept(value, node)
            else:
                self.leave("arguments do not fit", node)
        if spec.kwarg is not None:
            contents = DictContents(tuple(others), tuple(others.values()))
            bound[spec.kwarg.arg] = self.allocate(contents)
        first = len(positional) - len(function.defaults)
        for name, value in zip(positional[first:], function.defaults, strict=True):
            bound.setdefault(name, value)
        for name, value in function.keyword_defaults:
            bound.setdefault(name, value)
        if any(one not in bound for one in (*positional, *(o.arg for o in spec.kwonlyargs))):
            self.leave("an argument is missing", node)
        return bound
