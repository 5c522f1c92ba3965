"""What becomes of a function: printed ir, that of its gradient, and if it is read or traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, SupportsIndex

from ..transforms.modes import Differentiated
from ..transforms.tracing import Argnums
from . import programs, refuse
from .arguments import Arguments, Misfit
from .chained import Transform, chain_of, opened_at, program
from .explanation import Explanation
from .refuse import SourceError, Unreadable


def _program(f: Callable[..., Any], *more: Transform, arguments: Arguments) -> programs.Program:
    """The program of a function, or of a transform of one. Raises SourceError, or TypeError."""
    inner, chain = (f.function, chain_of(f.made)) if isinstance(f, Differentiated) else (f, ())
    try:
        return program(inner, (*chain, *more), arguments)
    except Unreadable as error:
        name = getattr(inner, "__qualname__", type(inner).__qualname__)
        raise refuse.unreadable(name, str(error)) from None
    except Misfit as error:
        raise TypeError(f"{getattr(f, '__name__', 'f')}: {error}") from None


def _arguments(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    chain = chain_of(f.made) if isinstance(f, Differentiated) else ()
    try:
        return Arguments.of(args, kwargs, opened_at(chain, args, kwargs))
    except Misfit as error:
        raise TypeError(f"{getattr(f, '__name__', 'f')}: {error}") from None


def code_ir(f: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """The program of ``f`` for arguments like these, as text: blocks of instructions in SSA form,
    with Python's names and lines.

    Raises SourceError if ``f`` cannot be read, and TypeError if it is a transform that does not fit
    its function.
    """
    return str(_program(f, arguments=_arguments(f, args, kwargs)).function)


def code_adjoint(
    f: Callable[..., Any], *args: Any, argnums: Argnums | None = None, **kwargs: Any
) -> str:
    """The program of ``f`` and of its gradients for given ones of its results, for arguments like
    these, as text.

    ``argnums`` says by which arguments; all that are made of floating-point numbers if it is not
    given. Errors are those of ``code_ir``.
    """
    arguments = Arguments.of(args, kwargs, range(len(args)))
    if argnums is None:
        argnums = [at for at in range(len(args)) if _is_real(arguments, at)]
    made = _program(f, arguments=arguments)
    try:
        wrt = (
            [int(k) for k in argnums] if not isinstance(argnums, SupportsIndex) else [int(argnums)]
        )
        return str(programs.pulled(made, arguments, wrt).function)
    except Misfit as error:
        raise TypeError(f"code_adjoint: {error}") from None


def _is_real(arguments: Arguments, at: int) -> bool:
    return all(programs.kind_of(arguments.leaves[k]) is not None for k in arguments.numbers(at))


def explain(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Explanation:
    """Whether ``mode="auto"`` reads ``f`` for arguments like these or traces it, and why. It is
    read anew, not run. Raises TypeError if it is a transform that does not fit its function.
    """
    name = getattr(f, "__qualname__", type(f).__qualname__)
    try:
        made = _program(f, arguments=_arguments(f, args, kwargs))
    except SourceError as error:
        return Explanation(name, False, str(error))
    exits = len(made.function.exits)
    return Explanation(name, True, f"compiled, with {exits} way(s) out to Python")
