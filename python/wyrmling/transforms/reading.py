"""Functions that are read for their value, and a look at what reading makes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..source.explanation import Explanation
from ..source.text.refuse import SourceError
from .modes import Mode, chosen, reading
from .tracing import Argnums, described, function

__all__ = ["SourceError", "code_adjoint", "code_ir", "compile", "explain"]


def compile(f: Callable[..., Any], *, mode: Mode = "auto") -> Callable[..., Any]:
    """``f`` as machine code: the same function, without a gradient, whose loops over numbers run no
    Python.

    It takes and returns numbers, arrays of any shape (of float32, float64 or integers) and nested
    tuples, lists, dicts and instances of them. One program is made for each combination of kinds:
    Python's types, dtypes, numbers of axes and forms, not lengths. Results have the types, shapes
    and dtypes of those of ``f``, and its numbers: to the bit for arithmetic, within one unit in the
    last place for each function. Where the program would have to imitate an exception, ``f`` itself
    is called. The machine code is Cranelift's; where there can be none, an interpreter runs the
    program, with the same results.

    With ``mode="auto"``, ``f`` itself is called too where it cannot be read; with ``"source"``,
    SourceError is raised then. Raises TypeError if ``f`` is no function, ValueError for another
    mode, and what ``f`` raises.

    >>> import wyrmling as wy
    >>> @wy.compile
    ... def digits(n):
    ...     count = 0
    ...     while n > 0:
    ...         n //= 10
    ...         count += 1
    ...     return count
    >>> digits(2026)
    4
    """
    function("compile", f)
    if mode == "trace":
        raise ValueError(f"compile: mode: expected 'auto' or 'source', got {described(mode)}")
    return chosen("compile", f, f, mode)


def code_ir(f: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """The program that ``f`` is read as, for arguments of the kinds of these, as text: blocks of
    instructions in SSA form, with Python's names and lines.

    ``f`` may also be what a transform made, such as ``grad(f)``: the program is that of the
    gradient. The text is for people, and changes with versions;
    ``docs/source.md`` has an example.

    Raises SourceError if ``f`` cannot be read, and TypeError if it is no function, does not take
    these arguments, or is a transform that does not fit its function.
    """
    found: str = reading("explain").code_ir(function("code_ir", f), *args, **kwargs)
    return found


def code_adjoint(
    f: Callable[..., Any], *args: Any, argnums: Argnums | None = None, **kwargs: Any
) -> str:
    """The program of ``f`` and of its gradients: it takes the arguments, then a gradient of each
    result, and gives the gradients by the arguments.

    ``argnums`` says by which; by default all that are made of floating-point numbers. The adjoint
    has the blocks of ``f`` and then the same in reverse, with tapes for what it has to know again
    (Innes, "Don't unroll adjoint", 2018). Errors are those of ``code_ir``, and TypeError or
    ValueError if ``argnums`` names no arguments.
    """
    f = function("code_adjoint", f)
    found: str = reading("explain").code_adjoint(f, *args, argnums=argnums, **kwargs)
    return found


def explain(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Explanation:
    """Whether ``mode="auto"`` reads ``f`` for arguments of the kinds of these or traces it, and
    why: an object whose ``is_read`` (a bool) and ``reason`` (a text) say so, and which prints as
    both. ``f`` is not run.

    Raises TypeError if ``f`` is no function, does not take these arguments, or is a transform that
    does not fit its function.
    """
    found: Explanation = reading("explain").explain(function("explain", f), *args, **kwargs)
    return found
