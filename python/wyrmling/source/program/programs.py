"""Programs of functions and of their transforms, from the ir of one to the ir of the next.

A ``Program`` is what the abstract interpreter makes of a function for arguments of some kinds.
Each transform is a function of a program that gives another one: ``gradient`` of a result that is
one number, ``pushforward`` (products of the Jacobian with tangents, forward mode) and ``pullback``
(products of gradients of the results with it, reverse mode); ``jacobians.py`` has the Jacobian
itself. They compose, so that higher derivatives are programs like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from ... import _core
from ..._core import IrBuilder, IrFunction
from ...transforms import instances
from ..text import refuse
from ..text.scope import Needs, Place
from . import form as forms
from .arguments import NO_GRADIENT, ArgumentMisfit, Arguments, Misfit, without_nothing
from .form import Argument, Constant, Instance, Leaf, Make, of_parts, plain
from .writer import Writer

SPECTRAL = {"eigh", "svd"}


class Left(Misfit):
    """A function leaves where its results are asked for, for arrays like them."""


@dataclass
class Program:
    """The ir of a function, and how it is called.

    Each parameter of ``function`` is read at the place in ``inputs``; ``samples`` were there when
    it was read. ``leaves`` says which parameter is which leaf of the arguments; ``form`` is that of
    the result.
    """

    function: IrFunction
    inputs: list[Place]
    samples: list[Any]
    leaves: dict[int, int]
    form: Any
    needs: Needs
    # Makes the result where it has several forms.
    build: Callable[..., Any] | None = None
    # Whether it ever returns.
    returns: bool = True
    # The form of what is printed, of further results.
    printed: Any = None
    # Whether tracing the function is known to do the same.
    as_traced: bool = True
    # The integers that it is for one value of.
    constants: dict[Place, int] = field(default_factory=dict)

    def expect_shapes(self) -> None:
        """It is for arrays of the samples' shapes."""
        for place, sample in zip(self.inputs, self.samples, strict=True):
            if isinstance(sample, np.ndarray):
                self.needs.test(place.attribute("shape"), ("equal", sample.shape))

    def writer(self, prefix: str) -> Writer:
        """What writes another function of these parameters."""
        return Writer(prefix, self.function, self.samples)

    def with_results(self, function: IrFunction, form: Any) -> Program:
        """The same of another function of these parameters."""
        return replace(self, function=function, form=form, build=None)


def differentiated(name: str, arguments: Arguments, at: Sequence[int]) -> list[int]:
    """The leaves of these arguments, by which it is differentiated."""
    numbers = [number for k in at for number in arguments.numbers(k)]
    for number in numbers:
        if kind_of(arguments.leaves[number]) is None:
            raise ArgumentMisfit(f"{name} by {type(arguments.leaves[number]).__name__}")
    return numbers


def with_zeros(program: Program) -> Program:
    """The same, where the program itself has the zeros that would be made when it has returned: to
    be differentiated again, or for a pullback.
    """

    def has_zeros(form: Any) -> bool:
        parts = forms.parts(form) or ()
        return _makes_zeros(form) or any(has_zeros(part) for part in parts)

    if not has_zeros(program.form):
        return program
    writer = program.writer("zeros")
    builder = writer.builder
    found = list(builder.inline(program.function, writer.parameters))

    def made(form: Any) -> Any:
        if not _makes_zeros(form):
            return of_parts(made, form)
        if form.parts:
            like = form.parts[0]
            is_leaf = isinstance(like, Leaf)
            at = like.number if is_leaf else program.inputs.index(like.place)
            value = found[at] if is_leaf else writer.parameters[at]
            sample = np.zeros(builder.shape(value), builder.dtype(value))
            found.append(writer.applied(np.zeros_like, sample, value))
        else:
            found.append(builder.constant(form.function()))
        return Leaf(len(found) - 1, "array")

    form = made(program.form)
    return replace(program, function=writer.finish(found), form=form)


def _makes_zeros(form: Any) -> bool:
    if not isinstance(form, Make):
        return False
    return form.function is np.zeros_like or getattr(form.function, "func", None) is np.zeros


def refuse_spectral(function: IrFunction) -> None:
    """Raises SourceError for eigenvalues and singular values, of which a second derivative is to be
    taken: where some coincide it needs the direction, or there is none; tracing knows which.
    """
    if not SPECTRAL.isdisjoint(function.operators):
        raise refuse.unsupported("a second derivative through eigenvalues or singular values")


def kind_of(leaf: Any) -> str | None:
    """As what the gradient of an argument is given, or None if it has none."""
    if isinstance(leaf, np.ndarray):
        return "array" if leaf.dtype in (np.float64, np.float32) else None
    if type(leaf) in (float, int, np.float64):
        return "float"
    return "float32" if type(leaf) is np.float32 else None


def is_without_axes(leaf: Any) -> bool:
    """Whether this is an array without axes, which programs have as its number."""
    return isinstance(leaf, np.ndarray) and not leaf.shape


def only(program: Program, results: Sequence[int]) -> IrFunction:
    """The function that returns these results alone."""
    if list(results) == list(range(len(program.function.results))):
        return program.function
    writer = program.writer("part")
    found = writer.builder.inline(program.function, writer.parameters)
    return writer.finish([found[number] for number in results])


def _summed(program: Program, leaf: Leaf) -> IrFunction:
    """The function that returns one result, or the sum of its elements."""
    if leaf.kind != "array":
        return only(program, [leaf.number])
    writer = program.writer("sum")
    found = writer.builder.inline(program.function, writer.parameters)
    value = found[leaf.number]
    like = np.ones(writer.builder.shape(value), writer.builder.dtype(value))
    return writer.finish([writer.applied(_core.sum, like, value)])


def one_of(kind: str) -> Any:
    """One, as a number of this kind."""
    return np.float32(1.0) if kind == "float32" else 1.0


def zero_of(kind: str | None) -> Any:
    """Zero, as a number of this kind."""
    return np.float32(0.0) if kind == "float32" else 0.0


def transposed(
    function: IrFunction, parameters: Sequence[int]
) -> tuple[IrFunction, list[int | None]]:
    """``function.vjp(parameters)``. Raises Left where only that shows that it never returns."""
    vjp, places = function.vjp(list(parameters))
    if not vjp.returns:
        raise Left("the function leaves")
    return vjp, places


def _gradients(
    writer: Writer, program: Program, leaf: Leaf, wrt: dict[int, int]
) -> tuple[int, dict[int, int]]:
    """Writes one result, or the sum of its elements, and its gradients by leaves of arguments that
    are these parameters; those on which it depends.
    """
    vjp, places = transposed(_summed(program, leaf), list(wrt.values()))
    seed = writer.builder.constant(one_of(vjp.results[0]))
    found = writer.builder.inline(vjp, [*writer.parameters, seed])
    pairs = zip(wrt, places, strict=True)
    return found[0], {number: found[place] for number, place in pairs if place is not None}


def chosen(program: Program, numbers: Sequence[int]) -> dict[int, int]:
    """The parameters that are these leaves."""
    return {number: program.leaves[number] for number in numbers if number in program.leaves}


class Results:
    """The results of a function as they are collected, and the form that they take."""

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments
        self.values: list[int] = []

    def leaf(self, value: int, kind: str) -> Leaf:
        """The form of another result."""
        self.values.append(value)
        return Leaf(len(self.values) - 1, kind)

    def gradient(self, number: int, value: int | None) -> Any:
        """The form of the gradient by a leaf; zeros if nothing depends on it."""
        leaf = self.arguments.leaves[number]
        if value is not None and is_without_axes(leaf):
            kind = "float32" if leaf.dtype == np.float32 else "float"
            return Make(np.asarray, [self.leaf(value, kind)])
        if value is not None:
            return self.leaf(value, kind_of(leaf) or "float")
        if isinstance(leaf, np.ndarray):
            return Make(np.zeros_like, [Argument(self.arguments.places[number])])
        return Constant(zero_of(kind_of(leaf)))

    def arranged(self, at: Sequence[int], found: dict[int, int], several: bool) -> Any:
        """Gradients by the leaves of arguments, in their form; a tuple if there are several."""
        parts = []
        for k in at:
            owned = self.arguments.numbers(k)
            gradients = {number: self.gradient(number, found.get(number)) for number in owned}
            parts.append(self.arguments.arranged(k, gradients))
        return tuple(parts) if several else parts[0]


DISCRETE = ("int", "int64", "bool", "numpy_bool")


def real(form: Any) -> Any:
    """The form of a function's results, if all are floating-point numbers: new ones, as tracing
    gives. In instances there may be others, of which there are no derivatives. Raises SourceError
    for results in objects of other kinds, and for arguments in instances.
    """
    made = _real(plain(form), False)
    if isinstance(made, Make) and isinstance(made.function, Instance) and not numbers_of(made):
        raise Misfit("a result is an instance without floating-point numbers")
    return made


def _real(form: Any, inside: bool) -> Any:
    if isinstance(form, Make):
        if isinstance(form.function, forms.AsType):
            raise Misfit("a result is an array of integers or truths")
        if not isinstance(form.function, forms.MakeNamed | Instance):
            what = "a result in an object of a class, or in a list of computed length,"
            raise refuse.unsupported(what)
        inside = inside or isinstance(form.function, Instance)
    if forms.parts(form) is not None:
        return of_parts(lambda part: _real(part, inside), form)
    if isinstance(form, Leaf) and (inside or form.kind not in DISCRETE):
        return Leaf(form.number, form.kind)
    if is_number(form):
        return form
    if inside:
        if isinstance(form, Constant) and not instances.has_numbers(form.object):
            return form
        raise refuse.unsupported("a result in an object, with an argument in it")
    raise Misfit("a result is no floating-point number")


def is_number(leaf: Any) -> bool:
    """Whether a leaf of a form that is ``real`` is a floating-point number or an array of them."""
    if isinstance(leaf, Leaf):
        return leaf.kind not in DISCRETE
    return isinstance(leaf, Constant) and isinstance(leaf.object, float | np.floating)


def numbers_of(form: Any) -> list[Any]:
    """The leaves of a form that are such numbers."""
    return [leaf for leaf in forms.leaves(form) if is_number(leaf)]


def derivative(function: Callable[[Any], Any], form: Any) -> Any:
    """The form of a derivative of results: ``function`` of what is a number. Other attributes of
    instances have None.
    """
    made = forms.convert(lambda leaf: function(leaf) if is_number(leaf) else NO_GRADIENT, form)
    return without_nothing(made)


def gradient(
    program: Program,
    arguments: Arguments,
    at: Sequence[int],
    several: bool,
    *,
    value: bool = False,
    has_aux: bool = False,
    total: bool = False,
    copied: frozenset[Place] = frozenset(),
) -> Program:
    """The gradient of the one number that a function returns, or with ``total`` of the sum of an
    array; after the value with ``value``; with ``has_aux`` that is the first of a pair, and the
    second is returned too, with arguments at the places ``copied`` as new arrays.
    """
    wrt = chosen(program, differentiated("grad", arguments, at))
    form, aux = program.form, None
    if has_aux:
        if not isinstance(form, tuple) or len(form) != 2:
            raise Misfit("has_aux, but the result is no pair")
        form, aux = form
    form = real(form)
    if not isinstance(form, Leaf | Constant):
        raise Misfit("the result is not one number")
    if isinstance(form, Leaf) and form.kind == "array" and not total:
        raise Misfit("the result is an array")
    writer, results = program.writer("gradient"), Results(arguments)
    outputs = outputs_of(form)
    values: dict[int, int] = {}
    found: dict[int, int] = {}
    for leaf in outputs:
        values[leaf.number], gradients = _gradients(writer, program, leaf, wrt)
        for number, part in gradients.items():
            before = found.get(number)
            found[number] = part if before is None else writer.builder.apply("add", [before, part])
    if has_aux or not outputs:
        # For what is beside; and the function may leave, even if nothing depends on anything.
        values |= enumerate(writer.builder.inline(program.function, writer.parameters))

    def again(leaf: Any) -> Any:
        return results.leaf(values[leaf.number], leaf.kind) if isinstance(leaf, Leaf) else leaf

    given = forms.convert(again, form) if value else None
    beside = None
    if has_aux:
        beside = forms.convert(again, forms.returned(plain(aux), copied))
    made = results.arranged(at, found, several)
    if value:
        made = ((given, beside) if has_aux else given, made)
    elif has_aux:
        made = (made, beside)
    return program.with_results(writer.finish(results.values), made)


def outputs_of(form: Any) -> list[Leaf]:
    """The results of the program in a form that are differentiated."""
    found = [] if form is None else numbers_of(form)
    return [leaf for leaf in found if isinstance(leaf, Leaf)]


def _parameter(sample: Any) -> Literal["array", "float32", "float"]:
    """The kind of a parameter for a tangent like this."""
    if isinstance(sample, np.ndarray):
        return "array"
    return "float32" if isinstance(sample, np.float32) else "float"


def _extended(
    program: Program, prefix: str, like: Sequence[Any], places: Sequence[Place]
) -> tuple[Writer, Program, list[int]]:
    """A writer of a function with parameters for more arguments, the program that it will be, and
    the new parameters.
    """
    writer = program.writer(prefix)
    added = []
    for sample in like:
        added.append(writer.builder.parameter(0, _parameter(sample), sample))
    samples = [*program.samples, *like]
    return writer, replace(program, inputs=[*program.inputs, *places], samples=samples), added


def pushforward(
    program: Program,
    arguments: Arguments,
    at: Sequence[int],
    tangents: Sequence[tuple[Place, Any]],
    *,
    value: bool,
) -> Program:
    """The tangents of the results for tangents of the arguments' leaves, which are read at these
    places; after the results with ``value``.
    """
    numbers = differentiated("jvp", arguments, at)
    wrt = chosen(program, numbers)
    form = real(program.form)
    by_number = dict(zip(numbers, tangents, strict=True))
    places = [by_number[number][0] for number in wrt]
    like = [by_number[number][1] for number in wrt]
    writer, extended, added = _extended(program, "tangents", like, places)
    push, slots = program.function.jvp(list(wrt.values()))
    found = writer.builder.inline(push, [*writer.parameters, *added])
    results = Results(arguments)

    def tangent(leaf: Any) -> Any:
        slot = slots[leaf.number] if isinstance(leaf, Leaf) else None
        if slot is not None:
            return results.leaf(found[slot], leaf.kind)
        if isinstance(leaf, Leaf) and leaf.kind == "array":
            zeros = results.leaf(found[leaf.number], leaf.kind)
            return Make(np.zeros_like, [zeros])
        return Constant(zero_of(leaf.kind if isinstance(leaf, Leaf) else kind_of(leaf.object)))

    def again(leaf: Any) -> Any:
        return results.leaf(found[leaf.number], leaf.kind) if isinstance(leaf, Leaf) else leaf

    made = derivative(tangent, form)
    if value:
        made = (forms.convert(again, form), made)
    return extended.with_results(writer.finish(results.values), made)


def sampled(function: IrFunction, samples: Sequence[Any]) -> list[Any]:
    """The results for the samples. Raises Left if there are none: an index may be out of range."""
    try:
        found = function.interpret(list(samples))
    except (LookupError, ValueError) as error:
        raise Left("an operator refuses its operands") from error
    if isinstance(found, int):
        raise Left("the function leaves")
    return found


def pullback(program: Program, arguments: Arguments, at: Sequence[int]) -> Program:
    """The function of the parameters and a gradient for each ``Leaf`` of the result, in order, that
    gives the gradients by the leaves of arguments. Its further parameters have no places.
    """
    wrt = chosen(program, differentiated("vjp", arguments, at))
    outputs = outputs_of(real(program.form))
    part = only(program, [leaf.number for leaf in outputs])
    vjp, places = transposed(part, list(wrt.values()))
    writer, results = program.writer("pullback"), Results(arguments)
    kinds = vjp.parameters[len(program.samples) :]
    like = sampled(part, program.samples) if "array" in kinds else [0.0] * len(kinds)
    seeds = [writer.builder.parameter(0, *each) for each in zip(kinds, like, strict=True)]
    found = writer.builder.inline(vjp, [*writer.parameters, *seeds])
    pairs = zip(wrt, places, strict=True)
    by_leaf = {number: found[place] for number, place in pairs if place is not None}
    made = results.arranged(at, by_leaf, True)
    extended = replace(program, samples=[*program.samples, *like])
    return with_zeros(extended.with_results(writer.finish(results.values), made))


def with_integers(program: Program, converted: Sequence[int]) -> IrFunction:
    """The function, where these parameters are Python's integers that it takes as floats."""
    if not converted:
        return program.function
    like = program.function
    builder = IrBuilder(like.name, like.file)
    given = []
    for at, (kind, sample) in enumerate(zip(like.parameters, program.samples, strict=True)):
        if at in converted:
            given.append(builder.compute("int_to_float", [builder.parameter(0, "int")]))
        else:
            given.append(builder.parameter(0, kind, sample))
    if program.returns:
        builder.returns(builder.inline(like, given))
    else:
        builder.leave(builder.exit(*like.exits[-1]))
    return builder.finish()
