"""Jacobians as programs: a pass of reverse mode for each result, or of forward mode for each
argument.

For arrays the passes are a loop of the program, over what is 1 at one element and 0 elsewhere: the
rows, or columns, are written into an array. Such a program is for arrays of given shapes. What of a
pass is the same in each, such as the function itself in reverse mode, leaves the loop when the
program is simplified.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _core
from . import form as forms
from . import refuse
from .form import Constant, Leaf, Make
from .programs import (
    Arguments,
    Program,
    Results,
    Writer,
    chosen,
    differentiated,
    kind_of,
    one_of,
    only,
    outputs_of,
    real,
    sampled,
)

LARGEST = 2**24

Shape = tuple[int, ...]


def jacobian(
    program: Program, arguments: Arguments, at: Sequence[int], several: bool, *, forward: bool
) -> Program:
    """The derivative of each number that a function returns by each that it takes.

    Raises SourceError for arrays without elements, and for Jacobians of very many.
    """
    numbers = differentiated("jacobian", arguments, at)
    wrt = chosen(program, numbers)
    form = real(program.form)
    outputs = outputs_of(form)
    given = {number: np.shape(arguments.leaves[number]) for number in numbers}
    writer = Writer("Jacobian", program)
    shapes: dict[int, Shape] = {leaf.number: () for leaf in outputs}
    samples = {leaf.number: one_of(leaf.kind) for leaf in outputs}
    if any(leaf.kind == "array" for leaf in outputs):
        found = sampled(program.function, program.samples)
        shapes = {leaf.number: np.shape(found[leaf.number]) for leaf in outputs}
        samples = {leaf.number: found[leaf.number] for leaf in outputs}
    if any(given.values()) or any(shapes.values()):
        program.expect_shapes()
    for s in shapes.values():
        for t in given.values():
            if not 0 < math.prod(s + t) <= LARGEST:
                raise refuse.unsupported(f"the Jacobian of shape {s + t}")
    blocks: dict[tuple[int, int], int] = {}
    if forward:
        for number, place in wrt.items():
            blocks |= _columns(writer, program, outputs, shapes, number, place)
    else:
        for leaf in outputs:
            blocks |= _rows(writer, program, leaf, shapes[leaf.number], wrt)
    if not outputs or not wrt:
        # It may leave, even if nothing depends on anything.
        writer.builder.inline(program.function, writer.parameters)
    results = Results(arguments)

    def part(leaf: Any, number: int) -> Any:
        own = getattr(leaf, "number", -1)
        shape = shapes.get(own, ()) + given[number]
        if (own, number) in blocks:
            kind = "array" if shape else kind_of(arguments.leaves[number])
            return results.leaf(blocks[own, number], kind or "float")
        # As tracing has it: a tangent is of the type of the result, a gradient of the argument's.
        like = (
            samples.get(own, getattr(leaf, "object", None)) if forward else arguments.leaves[number]
        )
        dtype = getattr(like, "dtype", np.dtype(np.float64))
        if shape:
            return Make(functools.partial(np.zeros, shape, dtype), [])
        return Constant(np.float32(0.0) if dtype == np.float32 else 0.0)

    def arranged(leaf: Any) -> Any:
        trees = [
            arguments.arranged(k, {number: part(leaf, number) for number in arguments.owned[k]})
            for k in at
        ]
        return tuple(trees) if several else trees[0]

    made = forms.convert(arranged, form)
    return program.with_results(writer.finish(results.values), made)


def _rows(
    writer: Writer, program: Program, leaf: Leaf, shape: Shape, wrt: dict[int, int]
) -> dict[tuple[int, int], int]:
    """The derivatives of one result, by leaves of arguments on which it depends."""
    pullback, places = only(program, [leaf.number]).vjp(list(wrt.values()))
    there = {number: at for number, at in zip(wrt, places, strict=True) if at is not None}
    kind = pullback.parameters[-1]

    def one(seed: int) -> list[int]:
        found = writer.builder.inline(pullback, [*writer.parameters, seed])
        return [found[at] for at in there.values()]

    like = [program.samples[wrt[number]] for number in there]
    made = _each(writer, shape, kind, one, like)
    return {
        (leaf.number, number): _reshaped(writer, value, sample, shape)
        for number, value, sample in zip(there, made, like, strict=True)
    }


def _columns(
    writer: Writer,
    program: Program,
    outputs: Sequence[Leaf],
    shapes: dict[int, Shape],
    number: int,
    place: int,
) -> dict[tuple[int, int], int]:
    """The derivatives of results by one leaf of the arguments, where they depend on it."""
    push, places = program.function.jvp([place])
    there = {leaf.number: at for leaf in outputs if (at := places[leaf.number]) is not None}
    sample = program.samples[place]
    shape = np.shape(sample)

    def one(seed: int) -> list[int]:
        found = writer.builder.inline(push, [*writer.parameters, seed])
        return [found[at] for at in there.values()]

    dtype = getattr(sample, "dtype", np.float64)
    like = [np.zeros(shapes[own], dtype) for own in there]
    made = _each(writer, shape, program.function.parameters[place], one, like)
    return {
        (own, number): _transposed(writer, value, each, shape)
        for own, value, each in zip(there, made, like, strict=True)
    }


def _each(
    writer: Writer,
    shape: Shape,
    kind: str,
    one: Callable[[int], list[int]],
    like: Sequence[Any],
) -> list[int]:
    """What ``one`` gives for a seed: as it is for a number; for an array of a shape the rows of
    what it gives for each element, in arrays of one more axis.
    """
    builder = writer.builder
    if not shape:
        return one(builder.constant(one_of(kind)))
    dtype = np.result_type(*[getattr(each, "dtype", np.float64) for each in like] or [np.float64])
    size = math.prod(shape)
    zeros = builder.constant(np.zeros(size, dtype))
    unit = builder.constant(dtype.type(1.0) if dtype == np.float32 else 1.0)
    rows = [np.zeros((size, *np.shape(each)), dtype) for each in like]
    head, body, after = builder.block(), builder.block(), builder.block()
    builder.jump(head, [builder.constant(0), *[builder.constant(row) for row in rows]])
    turn = builder.parameter(head, "int")
    tables = [builder.parameter(head, "array", row) for row in rows]
    builder.switch(head)
    builder.branch(builder.compute("less_int", [turn, builder.constant(size)]), body, [], after, [])
    builder.switch(body)
    exit = builder.exit("a Jacobian has too many rows", 0)
    index = builder.compute("int_to_index", [turn], exit)
    seed = builder.apply("replace_row", [zeros, unit, index])
    if len(shape) > 1:
        seed = _spliced(writer, np.zeros(size, dtype), seed, lambda x: x.reshape(shape))
    values = one(seed)
    pairs = zip(tables, values, strict=True)
    tables_then = [builder.apply("replace_row", [row, value, index]) for row, value in pairs]
    following = builder.compute("int_add", [turn, builder.constant(1)], exit)
    builder.jump(head, [following, *tables_then])
    builder.switch(after)
    return tables


def _spliced(writer: Writer, like: Any, value: int, function: Callable[[Any], Any]) -> int:
    """A function of an array, recorded."""
    sample = _core.Input(like)
    return writer.builder.splice([function(sample)], [sample], [value])[0]


def _reshaped(writer: Writer, value: int, sample: Any, shape: Shape) -> int:
    """Rows for each element of a shape, as an array of that shape and the sample's."""
    if len(shape) < 2:
        return value
    whole = shape + np.shape(sample)
    like = np.zeros((math.prod(shape), *np.shape(sample)), getattr(sample, "dtype", np.float64))
    return _spliced(writer, like, value, lambda x: x.reshape(whole))


def _transposed(writer: Writer, value: int, sample: Any, shape: Shape) -> int:
    """Rows for each element of an argument's shape, as an array of the result's shape and that."""
    own = np.shape(sample)
    if not shape or (not own and len(shape) < 2):
        return value
    like = np.zeros((math.prod(shape), *own), sample.dtype)
    whole = own + shape
    axes = (*range(1, len(own) + 1), 0)
    return _spliced(writer, like, value, lambda x: x.transpose(axes).reshape(whole))
