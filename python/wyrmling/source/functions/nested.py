"""Transforms within functions: ``wyrmling.grad(h)(x)`` in a function that is read.

What ``h`` does becomes a program of its own, whose parameters are its arguments and whatever it
takes from around it; that is differentiated, and becomes part of the program where it is called. So
the whole can be differentiated again, and derivatives of one do not get into another's.

Read are ``grad`` and ``value_and_grad`` of functions that return one number, made in the function
or outside of it. What ``compile`` made is the function that it was made of.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ... import _core
from ..abstract.raising import Ended
from ..abstract.state import ArrayContents, InstanceContents, ListContents, State, is_list_or_dict
from ..abstract.values import (
    REAL,
    STORED,
    Array,
    Choice,
    Composite,
    Known,
    Lazy,
    Lost,
    Number,
    Recorded,
    Reference,
    Text,
    Tuple,
    ZeroDimensional,
    kind_of,
    sample,
)
from ..abstract.walker import Walker
from ..library.standard import INSTANCES
from ..program.programs import one_of, refuse_spectral, zero_of
from ..types.numbers import number_in

KEPT = "kept"
"""What an instance holds that is not differentiated, as a lazy value."""

TRANSFORMS = ("grad", "value_and_grad")
ADVICE = "differentiate a function of floats and arrays that returns one float"


class _NoValue(Exception):
    """A function that is differentiated never returns."""


@dataclass(slots=True)
class Outer:
    """What a program of its own takes from the one around it, by the values there."""

    builder: Any
    state: State
    ids: list[int] = field(default_factory=list)
    # Which of the parameters are differentiated.
    wrt: list[int] = field(default_factory=list)
    found: dict[int, int] = field(default_factory=dict)
    moved: dict[int, Reference] = field(default_factory=dict)


def transform_name(function: Any) -> str | None:
    """Which transform a function of wyrmling's is; None if it is none that is read."""
    # Their modules import this package: they are looked up, and not imported.
    for module, names in (("reverse", TRANSFORMS), ("reading", ("compile",))):
        known = sys.modules.get(f"wyrmling.transforms.{module}")
        for name in names:
            if getattr(known, name, None) is function:
                return name
    return None


class Nested(Walker):
    """Transforms that a function uses itself."""

    def made_outside(self, function: Known, node: ast.AST) -> Any:
        """What is called instead of what ``compile``, ``grad`` or ``value_and_grad`` made."""
        made = function.object.made
        place = function.place and function.place.attribute("made").attribute("f")
        inner = self.known(made.f, place, node) if place else Known(made.f)
        if made.name == "compile":
            return inner
        if made.name not in TRANSFORMS or made.has_aux:
            aux = " with has_aux" if made.has_aux else ""
            self.refuse(node, f"a call of what {made.name} made{aux}", "use grad or value_and_grad")
        several = isinstance(made.argnums, tuple)
        argnums = Tuple(tuple(map(Known, made.argnums))) if several else Known(made.argnums)
        return Lazy(made.name, (inner, argnums))

    def transform(
        self, name: str, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """``grad(f, argnums)``: a function that is called later; ``compile(f)`` is ``f``."""
        options = dict(zip(("f", "argnums", "has_aux"), args, strict=False)) | keywords
        mode = self.constant_of(options.pop("mode", Known("auto")), node, "a computed mode")
        if name == "compile" and set(options) == {"f"} and mode in ("auto", "source"):
            return options["f"]
        fit = mode in ("auto", "source", "trace") and not set(options) - {"f", "argnums"}
        if name == "compile" or not fit:
            self.refuse(node, f"such arguments of {name}", "give it a function and argnums")
        argnums = options.get("argnums", Known(0))
        return Lazy(name, (options["f"], argnums))

    def call_transformed(
        self, made: Lazy, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """The gradient of a function at arguments."""
        function, argnums = made.over
        several = isinstance(argnums, Tuple)
        given = argnums.items if isinstance(argnums, Tuple) else (argnums,)
        at = [self.constant_of(one, node, "a computed argnums") for one in given]
        if any(type(one) is not int or not -len(args) <= one < len(args) for one in at):
            self.leave("argnums do not fit the arguments", node)
        at = [one % len(args) for one in at]
        prepared = list(args)
        for one in set(at):
            prepared[one] = self._differentiable(args[one], node)
        value, gradients = self._derived(function, prepared, keywords, at, node)
        order = iter(gradients)
        found = {one: self._arranged(prepared[one], order, node) for one in dict.fromkeys(at)}
        trees = [found[one] for one in at]
        result = Tuple(tuple(trees)) if several else trees[0]
        return result if made.name == "grad" else Tuple((value, result))

    def _differentiable(self, value: Any, node: ast.AST) -> Any:
        """An argument that is differentiated: floats for integers, containers with their parts."""
        kind = kind_of(value)
        if kind in ("float", "float64", "int"):
            return Number("float", self.as_real(value, "float", node))
        if isinstance(value, Array) and value.computed:
            self.refuse(node, "a derivative by an array of computed length", ADVICE)
        if kind == "float32" or isinstance(value, Array):
            return Number("float32", self.id_of(value)) if isinstance(value, Known) else value
        if isinstance(value, Tuple):
            return Tuple(tuple(self._differentiable(one, node) for one in value.items), value.cls)
        if isinstance(value, Reference):
            contents = self.contents(value, node)
            if isinstance(contents, ArrayContents) and contents.head is None:
                return self._differentiable(contents.value, node)
            if is_list_or_dict(contents):
                parts = tuple(self._differentiable(one, node) for one in contents.parts)
                return self.allocate(contents.with_parts(parts))
            own = isinstance(contents, InstanceContents) and contents.cls not in INSTANCES
            if own and self._has_numbers(value):
                parts = tuple(self._part(one, node) for one in contents.parts)
                return self.allocate(replace(contents.with_parts(parts), external=False))
        return self.refuse(node, "a derivative by this", ADVICE)

    def _part(self, value: Any, node: ast.AST) -> Any:
        """What an instance holds: floats and arrays are differentiated, all else is kept."""
        if not self._has_numbers(value):
            return Lazy(KEPT, (value,))
        if isinstance(value, Tuple):
            return Tuple(tuple(self._part(one, node) for one in value.items), value.cls)
        if isinstance(value, Reference):
            contents = self.contents(value, node)
            if is_list_or_dict(contents):
                parts = tuple(self._part(one, node) for one in contents.parts)
                return self.allocate(contents.with_parts(parts))
        return self._differentiable(value, node)

    def _has_numbers(self, value: Any) -> bool:
        """Whether something in a value has a gradient where an instance holds it."""
        if isinstance(value, Number | Known | Array):
            return kind_of(value) in REAL or (isinstance(value, Array) and value.dtype.kind == "f")
        if isinstance(value, Tuple):
            return any(self._has_numbers(one) for one in value.items)
        if isinstance(value, Reference):
            contents = self.state.heap[value.address]
            return isinstance(contents, Lost) or any(map(self._has_numbers, contents.parts))
        # These may hold numbers, and are refused by the caller.
        return isinstance(value, Choice | Recorded | Lost | ZeroDimensional)

    def _arranged(self, value: Any, gradients: Iterator[Any], node: ast.AST) -> Any:
        """Gradients in the form of an argument."""
        if isinstance(value, Lazy):
            return Known(None)
        if isinstance(value, Number | Array):
            return next(gradients)
        if isinstance(value, Tuple):
            items = tuple(self._arranged(one, gradients, node) for one in value.items)
            return Tuple(items, value.cls)
        contents = self.contents(value, node)
        parts = tuple(self._arranged(one, gradients, node) for one in contents.parts)
        return self.allocate(contents.with_parts(parts))

    def _derived(
        self,
        function: Any,
        args: list[Any],
        keywords: dict[str, Any],
        at: list[int],
        node: ast.AST,
    ) -> tuple[Any, list[Any]]:
        """The value, and the gradient by each leaf of the arguments."""
        outer = Outer(self.builder, self.state)
        kept = self.hidden, self.places, self.captured, self.outer, self.held, self.statement
        # The ids of arrays from outside are values of this program alone.
        outer_arrays, self.outer_arrays = self.outer_arrays, {}
        self.builder = _core.IrBuilder("derivative")
        self.hidden, self.places, self.captured, self.outer = {}, [], [], {}
        self.held, self.statement = [], 0
        self.state = State(0, [{} for _ in outer.state.environments])
        try:
            # By each leaf of an argument by itself, also where the same value stands elsewhere.
            leaves: list[Any] = []
            fresh = {one: self._fresh(args[one], leaves, outer, node) for one in dict.fromkeys(at)}
            moved_args = [
                fresh[at] if at in fresh else self._moved(one, outer, node)
                for at, one in enumerate(args)
            ]
            moved = {name: self._moved(one, outer, node) for name, one in keywords.items()}
            given = self._moved(function, outer, node)
            try:
                value = self.call(given, moved_args, moved, node)
            except Ended:
                value = None
            if value is None:
                raise _NoValue
            if isinstance(value, Choice):
                value = self.distribute(value, lambda one: self._as_float(one, node), node)
                value = self.settled(value, node)
            value = number_in(self, value)
            constant = isinstance(value, Known) and kind_of(value) in REAL
            if not constant and not (isinstance(value, Number) and value.kind in REAL):
                self.refuse(node, "the gradient of such a result", ADVICE)
            self.builder.returns([self.id_of(value)])
            program = self.builder.finish()
            captured = list(zip(self.captured, self.places, strict=True))
        except _NoValue:
            pass
        finally:
            self.builder, self.state = outer.builder, outer.state
            self.hidden, self.places, self.captured, self.outer, self.held, self.statement = kept
            self.outer_arrays = outer_arrays
        if value is None:
            self.leave("a function that always raises is differentiated", node)
        # What it captures are its last parameters.
        outer.ids += [self.known(one, place, node).id for one, place in captured]
        return self._inlined(program, value, leaves, outer, node)

    def _as_float(self, value: Any, node: ast.AST) -> Any:
        """A result that is a float of Python's on some paths and NumPy's on others, which has one
        gradient; anything else as it is, but for integers, which have none.
        """
        value = number_in(self, value)
        if kind_of(value) in ("int", "bool"):
            self.leave("the gradient of an integer", node)
        if kind_of(value) not in ("float", "float64"):
            return value
        return Number("float", self.id_of(value))

    def _fresh(self, value: Any, leaves: list[Any], outer: Outer, node: ast.AST) -> Any:
        """An argument that is differentiated, with a parameter for each of its leaves."""
        if isinstance(value, Number | Array):
            leaves.append(value)
            outer.wrt.append(len(outer.ids))
            made = self._parameter(value, outer)
            if isinstance(value, Array):
                return Array(made, value.dtype, value.shape)
            return Number(value.kind, made)
        if isinstance(value, Tuple):
            items = tuple(self._fresh(one, leaves, outer, node) for one in value.items)
            return Tuple(items, value.cls)
        if isinstance(value, Lazy):
            return self._moved(value.over[0], outer, node)
        contents = outer.state.heap[value.address]
        assert not isinstance(contents, Lost)
        parts = tuple(self._fresh(one, leaves, outer, node) for one in contents.parts)
        return self.allocate(_barred(contents.with_parts(parts)))

    def _parameter(self, value: Any, outer: Outer) -> int:
        """A parameter of the program of its own, for a value of the one around it."""
        like = sample(value) if isinstance(value, Array) else None
        kind = "array" if isinstance(value, Array) else STORED[value.kind]
        made: int = self.builder.parameter(0, kind, like)
        outer.ids.append(value.id)
        return made

    def _moved(self, value: Any, outer: Outer, node: ast.AST) -> Any:
        """A value of the program around, in the program of its own."""
        if isinstance(value, Number | Array):
            if value.id not in outer.found:
                outer.found[value.id] = self._parameter(value, outer)
            if isinstance(value, Array):
                found = outer.found[value.id]
                return Array(found, value.dtype, value.shape, computed=value.computed)
            return Number(value.kind, outer.found[value.id], value.sources)
        if isinstance(value, Choice | Recorded | Lost | Text):
            self.refuse(node, "a derivative that depends on this", ADVICE)
        if isinstance(value, Reference):
            if value.address not in outer.moved:
                contents = outer.state.heap[value.address]
                if isinstance(contents, Lost):
                    self.refuse(node, "a derivative that depends on this", ADVICE)
                made = self.allocate(ListContents(()))
                outer.moved[value.address] = made
                parts = tuple(self._moved(part, outer, node) for part in contents.parts)
                # What is written inside would be lost outside.
                self.state.heap[made.address] = _barred(contents.with_parts(parts))
            return outer.moved[value.address]
        if isinstance(value, Composite):
            return value.with_parts(tuple(self._moved(part, outer, node) for part in value.parts))
        return value

    def _inlined(
        self,
        program: Any,
        value: Any,
        leaves: list[Any],
        outer: Outer,
        node: ast.AST,
    ) -> tuple[Any, list[Any]]:
        refuse_spectral(program)
        pullback, where = program.vjp(outer.wrt)
        kind = kind_of(value) or "float"
        one = self.constant(one_of(kind))
        results = self.builder.inline(pullback, [*outer.ids, one])
        # The program goes on in a new block, which becomes that of the state.
        after = self.builder.block()
        wanted = [results[0], *(results[at] for at in where if at is not None)]
        likes = [None, *(leaf for leaf, at in zip(leaves, where, strict=True) if at is not None)]
        parameters = [
            self.builder.parameter(after, "array", sample(like))
            if isinstance(like, Array)
            else self.builder.parameter(after, STORED[kind if like is None else like.kind])
            for like in likes
        ]
        self.builder.jump(after, wanted)
        self.state = self.state.copy(after)
        self.resume(self.state)
        given = iter(parameters[1:])
        found = [
            self._gradient(leaf, None if at is None else next(given), node)
            for leaf, at in zip(leaves, where, strict=True)
        ]
        plain = "float32" if kind == "float32" else "float"
        return Number(plain, parameters[0]), found

    def _zeros(self, array: Array, node: ast.AST) -> int:
        """Zeros of the shape that was seen; the program leaves for others."""
        self.expect_shape(array, node)
        return self.constant(sample(array))

    def _gradient(self, leaf: Any, made: int | None, node: ast.AST) -> Any:
        if isinstance(leaf, Array):
            held = self._zeros(leaf, node) if made is None else made
            return self.allocate(ArrayContents(Array(held, leaf.dtype, leaf.shape)))
        kind = "float32" if leaf.kind == "float32" else "float"
        if made is None:
            return Known(zero_of(kind))
        return Number(kind, made)


def _barred(contents: Any) -> Any:
    return replace(contents, external=True)
