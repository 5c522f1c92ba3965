"""Programs whose results have several forms, as those of one.

A function may return a number on some paths and an array, None or a tuple on others; a sum that
starts at 0.0 is a number before the first turn of its loop. Derivatives are those of one form: the
program leaves where a result has another.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ..text import refuse
from ..text.scope import Place
from . import form as forms
from .form import Constant, Either, Leaf
from .programs import Program, sampled


def untagged(program: Program, as_float: bool = False) -> Program:
    """The function where results of several forms are one floating-point number, or an array if it
    is one for the samples; it leaves where a result is another thing. The number is a float32 if no
    other is computed. With ``as_float`` it is a float, which a float32 or an integer becomes too.

    Raises SourceError where none is such a number, Left if it leaves for the samples.
    """
    writer = program.writer("number")
    builder = writer.builder
    found = builder.inline(program.function, writer.parameters)
    results: list[int] = []
    seen: list[Any] = []

    def is_own(form: Any) -> bool:
        if _kind(form) != "array":
            return False
        return not any(isinstance(each, Place) for each in (form.place, *form.memory))

    def array(form: Either) -> Any:
        """What the result is for the samples, if that is an array of its own."""
        if as_float or not any(map(is_own, form.forms)):
            return None
        if not seen:
            seen.extend(sampled(program.function, program.samples))
        leaf = form.forms[seen[form.tag]]
        return seen[leaf.number] if is_own(leaf) else None

    def like(sample: Any, form: Any) -> int | None:
        if not is_own(form):
            return None
        id = found[form.number]
        fits = (builder.dtype(id), builder.ndim(id)) == (str(sample.dtype), sample.ndim)
        return id if fits else None

    def single(form: Any) -> int | None:
        return found[form.number] if _kind(form) == "float32" else None

    def value(form: Any) -> int | None:
        kind = _kind(form)
        id = found[form.number] if kind else -1
        if kind in ("float", "float64"):
            return id
        if as_float and kind == "float32":
            return builder.apply("cast", [id], dtype="float64")
        if as_float and kind in ("int", "int64"):
            return builder.compute("int_to_float", [id])
        kinds = (float, np.float64, int) if as_float else (float, np.float64)
        if isinstance(form, Constant) and type(form.object) in kinds:
            return builder.constant(float(form.object))
        return None

    def arrive(done: int, each: int | None) -> None:
        if each is None:
            builder.leave(builder.exit("a result is of another kind", 0))
        else:
            builder.jump(done, [each])

    def number(form: Any) -> Any:
        if isinstance(form, Leaf):
            results.append(found[form.number])
            return replace(form, number=len(results) - 1)
        if not isinstance(form, Either):
            return form
        sample = array(form)
        computed = set(map(_kind, form.forms))
        kind: Literal["float", "float32", "array"] = "float"
        find: Callable[[Any], int | None] = value
        if sample is not None:
            kind, find = "array", functools.partial(like, sample)
        elif not as_float and "float32" in computed and not computed & {"float", "float64"}:
            kind, find = "float32", single
        done = builder.block()
        results.append(builder.parameter(done, kind, sample))
        *others, last = [find(each) for each in form.forms]
        if last is None and not any(each is not None for each in others):
            raise refuse.unsupported("a result that is of several kinds")
        for tag, each in enumerate(others):
            is_this = builder.compute("equal_int", [found[form.tag], builder.constant(tag)])
            chosen, rest = builder.block(), builder.block()
            builder.branch(is_this, chosen, [], rest, [])
            builder.switch(chosen)
            arrive(done, each)
            builder.switch(rest)
        arrive(done, last)
        builder.switch(done)
        if sample is None:
            return Leaf(len(results) - 1, kind)
        memory = [each.memory for each in form.forms if is_own(each)]
        return Leaf(len(results) - 1, kind, memory=frozenset().union(*memory))

    made = forms.convert(number, program.form)
    return program.with_results(writer.finish(results), made)


def _kind(form: Any) -> str | None:
    """The kind of a result, which is a number if it is an array without axes; None of others."""
    return form.element or form.kind if isinstance(form, Leaf) else None
