"""Jacobians as programs: a pass of reverse mode for each result, or of forward mode for each
argument.

For arrays the passes are a loop of the program, over what is 1 at one element and 0 elsewhere: the
rows, or columns, are written into an array. Such a program is for arrays of given shapes. What of a
pass is the same in each leaves the loop when the program is simplified. Loops within the function
do not: in forward mode each turn of the outer loop goes through them with several directions.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..._core import IrFunction
from ..text import refuse
from .arguments import Arguments
from .form import Constant, Leaf, Make
from .programs import (
    Program,
    Results,
    chosen,
    derivative,
    differentiated,
    one_of,
    only,
    outputs_of,
    real,
    sampled,
    transposed,
    zero_of,
)
from .writer import Writer

LARGEST = 2**24

TOGETHER = 5
"""Directions that a loop is gone through with at a time, at most."""

Shape = tuple[int, ...]


def jacobian(
    program: Program,
    arguments: Arguments,
    at: Sequence[int],
    several: bool,
    *,
    forward: bool,
    typed_as_gradients: bool = False,
) -> Program:
    """The derivative of each number that a function returns by each that it takes.

    As tracing has it a tangent is of the type of the result, a gradient of the argument's; tangents
    may be ``typed_as_gradients``.

    Raises SourceError for Jacobians of very many elements.
    """
    numbers = differentiated("jacobian", arguments, at)
    wrt = chosen(program, numbers)
    form = real(program.form)
    outputs = outputs_of(form)
    given = {number: np.shape(arguments.leaves[number]) for number in numbers}
    writer = program.writer("Jacobian")
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
            if math.prod(s + t) > LARGEST:
                raise refuse.unsupported(f"the Jacobian of shape {s + t}")
    # Blocks without elements are not computed.
    outputs = [leaf for leaf in outputs if math.prod(shapes[leaf.number])]
    wrt = {number: place for number, place in wrt.items() if math.prod(given[number])}
    blocks: dict[tuple[int, int], int] = {}
    if forward:
        for number, place in wrt.items():
            try:
                columns = _columns(writer, program, outputs, samples, number, place)
            except ValueError:
                what = "a Jacobian in forward mode of an array of computed length"
                raise refuse.unsupported(what) from None
            if typed_as_gradients:
                dtype = getattr(arguments.leaves[number], "dtype", np.dtype(np.float64)).name
                columns = {key: _cast(writer, value, dtype) for key, value in columns.items()}
            blocks |= columns
    else:
        # A length that is computed may be another than that of the samples.
        values = writer.builder.inline(program.function, writer.parameters)
        exit = writer.builder.exit("a result of another length than the Jacobian is for", 0)
        for leaf in outputs:
            if shapes[leaf.number]:
                length = writer.builder.compute("length", [values[leaf.number]], exit, axis=0)
                wanted = writer.builder.constant(shapes[leaf.number][0])
                writer.builder.guard(writer.builder.compute("equal_int", [length, wanted]), exit)
        for leaf in outputs:
            blocks |= _rows(writer, program, leaf, samples[leaf.number], wrt)
    if not blocks:
        # It may leave, even if nothing depends on anything.
        writer.builder.inline(program.function, writer.parameters)
    results = Results(arguments)

    def part(leaf: Any, number: int) -> Any:
        own = getattr(leaf, "number", -1)
        shape = shapes.get(own, ()) + given[number]
        like = arguments.leaves[number]
        if forward and not typed_as_gradients:
            like = samples.get(own, getattr(leaf, "object", None))
        dtype = getattr(like, "dtype", np.dtype(np.float64))
        kind = "float32" if dtype == np.float32 else "float"
        if (own, number) in blocks:
            return results.leaf(blocks[own, number], "array" if shape else kind)
        if shape:
            return Make(functools.partial(np.zeros, shape, dtype), [])
        return Constant(zero_of(kind))

    def arranged(leaf: Any) -> Any:
        trees = [
            arguments.arranged(k, {number: part(leaf, number) for number in arguments.numbers(k)})
            for k in at
        ]
        return tuple(trees) if several else trees[0]

    made = derivative(arranged, form)
    function = writer.finish(results.values)
    # Simplifying replaces a copy by what is copied. stop_gradient is such a copy, which second
    # derivatives have to find.
    simplified = "stop_gradient" not in function.operators
    if simplified and (any(given.values()) or any(shapes.values())):
        # All arrays are of the samples' shapes.
        function = function.simplify(exact=True)
    return program.with_results(function, made)


def _rows(
    writer: Writer, program: Program, leaf: Leaf, sample: Any, wrt: dict[int, int]
) -> dict[tuple[int, int], int]:
    """The derivatives of one result, which is like ``sample``, by leaves of arguments on which it
    depends.
    """
    pullback, places = transposed(only(program, [leaf.number]), list(wrt.values()))
    there = {number: at for number, at in zip(wrt, places, strict=True) if at is not None}
    kind = pullback.parameters[-1]

    def several(seeds: list[int]) -> list[list[int]]:
        found = [writer.builder.inline(pullback, [*writer.parameters, seed]) for seed in seeds]
        return [[each[at] for at in there.values()] for each in found]

    like = [program.samples[wrt[number]] for number in there]
    made = _each(writer, sample, kind, several, like)
    return {
        (leaf.number, number): _reshaped(writer, value, each, np.shape(sample))
        for number, value, each in zip(there, made, like, strict=True)
    }


def _columns(
    writer: Writer,
    program: Program,
    outputs: Sequence[Leaf],
    samples: dict[int, Any],
    number: int,
    place: int,
) -> dict[tuple[int, int], int]:
    """The derivatives of results, which are like ``samples``, by one leaf of the arguments, where
    they depend on it.
    """
    sample = program.samples[place]
    shape = np.shape(sample)
    push, directions = _moving(program, place, math.prod(shape))
    there = {leaf.number: at for leaf in outputs if (at := directions[0][leaf.number]) is not None}

    def several(seeds: list[int]) -> list[list[int]]:
        found = writer.builder.inline(push, [*writer.parameters, *seeds])
        return [
            [found[at] for own in there if (at := each[own]) is not None] for each in directions
        ]

    like = [np.asarray(samples[own]) for own in there]
    kind = program.function.parameters[place]
    made = _each(writer, sample, kind, several, like, len(directions))
    return {
        (own, number): _transposed(writer, value, each, shape)
        for own, value, each in zip(there, made, like, strict=True)
    }


def _moving(program: Program, place: int, size: int) -> tuple[IrFunction, list[list[int | None]]]:
    """The function with tangents by one of its parameters, which has so many elements, in several
    directions if that pays; for each direction the places of tangents among the results.

    With loops and branches it does: they are gone through once for all these directions. What moves
    in a further direction is found as any tangent is. That of tangents is dropped.
    """
    push, places = program.function.jvp([place])
    directions = [places]
    if program.function.is_straight:
        return push, directions
    count = next(n for n in range(TOGETHER, 0, -1) if size % n == 0)
    seed = program.samples[place]
    moved = program
    while len(directions) < count:
        moved = replace(moved, function=push, samples=[*moved.samples, seed])
        more, tangents = push.jvp([place])
        own = len(places)
        known = len(push.results)
        kept = [at for at in tangents[:own] if at is not None]
        # The results and tangents so far, and the tangents of the results in this direction.
        push = only(
            replace(moved, function=more, samples=[*moved.samples, seed]), [*range(known), *kept]
        ).simplify()
        place_of = {at: known + k for k, at in enumerate(kept)}
        directions.append([None if at is None else place_of[at] for at in tangents[:own]])
    return push, directions


def _each(
    writer: Writer,
    sample: Any,
    kind: str,
    several: Callable[[list[int]], list[list[int]]],
    like: Sequence[Any],
    together: int = 1,
) -> list[int]:
    """What ``several`` gives for seeds of a sample's type, so many at a time: as it is for a
    number; for an array the rows of what it gives for each element, which are ``like`` these, in
    arrays of one more axis.
    """
    builder = writer.builder
    shape = np.shape(sample)
    if not shape:
        return several([builder.constant(one_of(kind))])[0]
    dtype = sample.dtype
    size = math.prod(shape)
    zeros = builder.constant(np.zeros(size, dtype))
    unit = builder.constant(dtype.type(1.0) if dtype == np.float32 else 1.0)
    rows = [np.zeros((size, *np.shape(each)), getattr(each, "dtype", np.float64)) for each in like]
    head, body, after = builder.block(), builder.block(), builder.block()
    builder.jump(head, [builder.constant(0), *[builder.constant(row) for row in rows]])
    turn = builder.parameter(head, "int")
    tables = [builder.parameter(head, "array", row) for row in rows]
    builder.switch(head)
    builder.branch(builder.compute("less_int", [turn, builder.constant(size)]), body, [], after, [])
    builder.switch(body)
    exit = builder.exit("a Jacobian has too many rows", 0)
    indices, seeds, following = [], [], turn
    for _ in range(together):
        index = builder.compute("int_to_index", [following], exit)
        seed = builder.apply("replace_row", [zeros, unit, index])
        if len(shape) > 1:
            seed = writer.applied(lambda x: x.reshape(shape), np.zeros(size, dtype), seed)
        indices.append(index)
        seeds.append(seed)
        following = builder.compute("int_add", [following, builder.constant(1)], exit)
    tables_then = tables
    for index, values in zip(indices, several(seeds), strict=True):
        pairs = zip(tables_then, values, strict=True)
        tables_then = [builder.apply("replace_row", [row, value, index]) for row, value in pairs]
    builder.jump(head, [following, *tables_then])
    builder.switch(after)
    return tables


def _cast(writer: Writer, value: int, dtype: str) -> int:
    """A value with this element type."""
    builder = writer.builder
    return value if builder.dtype(value) == dtype else builder.apply("cast", [value], dtype=dtype)


def _reshaped(writer: Writer, value: int, sample: Any, shape: Shape) -> int:
    """Rows for each element of a shape, as an array of that shape and the sample's."""
    if len(shape) < 2:
        return value
    whole = shape + np.shape(sample)
    like = np.zeros((math.prod(shape), *np.shape(sample)), getattr(sample, "dtype", np.float64))
    return writer.applied(lambda x: x.reshape(whole), like, value)


def _transposed(writer: Writer, value: int, sample: Any, shape: Shape) -> int:
    """Rows for each element of an argument's shape, as an array of the result's shape and that."""
    own = np.shape(sample)
    if not shape or (not own and len(shape) < 2):
        return value
    like = np.zeros((math.prod(shape), *own), sample.dtype)
    whole = own + shape
    axes = (*range(1, len(own) + 1), 0)
    return writer.applied(lambda x: x.transpose(axes).reshape(whole), like, value)
