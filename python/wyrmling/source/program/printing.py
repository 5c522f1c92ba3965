"""What is printed when a program has returned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from . import form as forms
from .form import Argument, Constant, Either, Leaf, Make, of_parts, parts
from .programs import Program
from .writer import Writer


@dataclass(frozen=True)
class Printed:
    """Prints, of parts that a program gives, and returns the result beside them.

    ``form`` is that of what is printed: None, or what was printed before and the last call of
    ``print``: ``sep``, ``end``, ``flush``, ``file`` and the arguments.
    """

    form: Any

    def __call__(self, result: Any, *parts: Any) -> Any:
        """The result."""
        calls = []
        found = forms.filled(self.form, parts)
        while found is not None:
            found, call = found
            calls.append(call)
        for sep, end, flush, file, values in reversed(calls):
            print(*values, sep=sep, end=end, flush=bool(flush), file=file)
        return result


class _Parts:
    """The leaves of a form, as parts that are given to a function; the first is its result."""

    def __init__(self, shift: Sequence[int]) -> None:
        self._shift = shift
        self.leaves: list[Any] = []

    def part(self, leaf: Any) -> int:
        """The number of another part."""
        self.leaves.append(leaf)
        return len(self.leaves) - 1

    def renumbered(self, form: Any) -> Any:
        """The form over the parts."""
        if isinstance(form, Leaf):
            return Leaf(self.part(Leaf(self._shift[form.number], form.kind)), form.kind)
        if isinstance(form, Argument):
            return Leaf(self.part(form), "object")
        if isinstance(form, Either):
            tag = self.part(Leaf(self._shift[form.tag], "int"))
            return Either(tag, tuple([self.renumbered(one) for one in form.forms]))
        assert isinstance(form, Constant) or parts(form) is not None, form
        return of_parts(self.renumbered, form)


def with_printing(made: Program, plain: Program) -> Program:
    """A transform of a program, which prints what that does."""
    writer = Writer("printing", made.function, made.samples)
    found = list(writer.builder.inline(made.function, writer.parameters))
    more = found
    if made.function is not plain.function:
        own = writer.parameters[: len(plain.inputs)]
        more = list(writer.builder.inline(plain.function, own))
    results = found if more is found else [*found, *more]
    parts = _Parts(range(len(results) - len(more), len(results)))
    form = parts.renumbered(plain.printed)
    made_form = Make(Printed(form), [made.form, *parts.leaves])
    return replace(made, function=writer.finish(results), form=made_form)
