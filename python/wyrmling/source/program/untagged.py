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
from .writer import Writer


def untagged(program: Program, as_float: bool = False) -> Program:
    """The function where results of several forms are one floating-point number, or an array if it
    is one for the samples; it leaves where a result is another thing. The number is a float32 if no
    other is computed. With ``as_float`` it is a float, which a float32 or an integer becomes too.

    Raises SourceError where none is such a number, Left if it leaves for the samples.
    """
    writer = program.writer("number")
    results = _Results(program, writer, as_float)
    made = forms.convert(results.number, program.form)
    return program.with_results(writer.finish(results.ids), made)


class _Results:
    """The results of a function, written anew one after the other."""

    def __init__(self, program: Program, writer: Writer, as_float: bool) -> None:
        self._program = program
        self._builder = writer.builder
        self._as_float = as_float
        self._found: list[int] = self._builder.inline(program.function, writer.parameters)
        self._samples: list[Any] = []
        self.ids: list[int] = []

    def number(self, form: Any) -> Any:
        """The form of one result, which has several no longer."""
        if isinstance(form, Leaf):
            self.ids.append(self._found[form.number])
            return replace(form, number=len(self.ids) - 1)
        if not isinstance(form, Either):
            return form
        sample = self._sample(form)
        computed = set(map(_kind, form.forms))
        kind: Literal["float", "float32", "array"] = "float"
        find: Callable[[Any], int | None] = self._double
        if sample is not None:
            kind, find = "array", functools.partial(self._like, sample)
        elif not self._as_float and "float32" in computed and not computed & {"float", "float64"}:
            kind, find = "float32", self._single
        found = [find(each) for each in form.forms]
        if all(each is None for each in found):
            raise refuse.unsupported("a result that is of several kinds")
        self._choose(form.tag, found, kind, sample)
        if sample is None:
            return Leaf(len(self.ids) - 1, kind)
        memory = [each.memory for each in form.forms if _is_own_array(each)]
        return Leaf(len(self.ids) - 1, kind, memory=frozenset().union(*memory))

    def _choose(self, tag: int, found: list[int | None], kind: Any, sample: Any) -> None:
        """Writes the result that a tag says, of which some are None: the program leaves there."""
        builder = self._builder
        done = builder.block()
        self.ids.append(builder.parameter(done, kind, sample))
        *others, last = found
        for number, each in enumerate(others):
            is_this = builder.compute("equal_int", [self._found[tag], builder.constant(number)])
            chosen, rest = builder.block(), builder.block()
            builder.branch(is_this, chosen, [], rest, [])
            builder.switch(chosen)
            self._arrive(done, each)
            builder.switch(rest)
        self._arrive(done, last)
        builder.switch(done)

    def _arrive(self, done: int, each: int | None) -> None:
        if each is None:
            self._builder.leave(self._builder.exit("a result is of another kind", 0))
        else:
            self._builder.jump(done, [each])

    def _sample(self, form: Either) -> Any:
        """What the result is for the samples, if that is an array of its own."""
        if self._as_float or not any(map(_is_own_array, form.forms)):
            return None
        if not self._samples:
            self._samples.extend(sampled(self._program.function, self._program.samples))
        leaf = form.forms[self._samples[form.tag]]
        return self._samples[leaf.number] if _is_own_array(leaf) else None

    def _like(self, sample: Any, form: Any) -> int | None:
        """An array of the sample's dtype and number of axes."""
        if not _is_own_array(form):
            return None
        id = self._found[form.number]
        fits = (self._builder.dtype(id), self._builder.ndim(id)) == (str(sample.dtype), sample.ndim)
        return id if fits else None

    def _single(self, form: Any) -> int | None:
        return self._found[form.number] if _kind(form) == "float32" else None

    def _double(self, form: Any) -> int | None:
        """A number that is a float, or becomes one."""
        kind = _kind(form)
        if kind is None:
            kinds = (float, np.float64, int) if self._as_float else (float, np.float64)
            if isinstance(form, Constant) and type(form.object) in kinds:
                return self._builder.constant(float(form.object))
            return None
        id: int = self._found[form.number]
        if kind in ("float", "float64"):
            return id
        if self._as_float and kind == "float32":
            return self._builder.apply("cast", [id], dtype="float64")
        if self._as_float and kind in ("int", "int64"):
            return self._builder.compute("int_to_float", [id])
        return None


def _is_own_array(form: Any) -> bool:
    """Whether this is an array of the function's own, of no memory that was given."""
    if _kind(form) != "array":
        return False
    return not any(isinstance(each, Place) for each in (form.place, *form.memory))


def _kind(form: Any) -> str | None:
    """The kind of a result, which is a number if it is an array without axes; None of others."""
    return form.element or form.kind if isinstance(form, Leaf) else None
