"""What becomes of a function: printed ir, that of its gradient, and if it is read or traced."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..transforms.modes import Differentiated
from ..transforms.second import DIRECTION, PRODUCTS
from ..transforms.tracing import Argnums, positions
from .chained import Transform, chain_of, has_array_jacobian, opened_at, program
from .explanation import Explanation
from .program import programs
from .program.arguments import Arguments, Misfit
from .text import refuse
from .text.refuse import SourceError, Unreadable


def _chain(f: Callable[..., Any]) -> tuple[Transform, ...]:
    """The transforms that made a function; none if it is a plain one."""
    return chain_of(f.made) if isinstance(f, Differentiated) else ()


def _passed_on(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """The transform that is called, and with what: ``hvp`` gives it the direction by a name."""
    found = getattr(f, "__dict__", {}).get(PRODUCTS)
    if not isinstance(found, Differentiated) or len(args) < 2:
        return f, args, kwargs
    return found, args[:-1], {**kwargs, DIRECTION: args[-1]}


def _program(
    f: Callable[..., Any], arguments: Arguments, as_traced: bool = False
) -> programs.Program:
    """The program of a function, or of a transform of one; ``as_traced`` as for ``program``.
    Raises SourceError, or TypeError.
    """
    inner = f.function if isinstance(f, Differentiated) else f
    try:
        return program(inner, _chain(f), arguments, as_traced=as_traced, settles=not as_traced)
    except Unreadable as error:
        name = getattr(inner, "__qualname__", type(inner).__qualname__)
        raise refuse.unreadable(name, str(error)) from None
    except Misfit as error:
        raise TypeError(f"{getattr(f, '__name__', 'f')}: {error}") from None


def _expect_fitting(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises TypeError for arguments with which a function cannot be called, and SourceError for
    what has no text of the user's, which may take other arguments than it says.
    """
    inner = f.function if isinstance(f, Differentiated) else f
    names = getattr(inner, "__globals__", {})
    if str(names.get("__name__")).split(".")[0] == "wyrmling":
        name = getattr(f, "__name__", "f")
        raise refuse.unreadable(name, "it is wyrmling's own, or what a transform that traces made")
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        # It has no signature to compare with.
        return
    named = {name: value for name, value in kwargs.items() if name != DIRECTION}
    try:
        signature.bind(*args, **named)
    except TypeError as error:
        raise TypeError(f"{getattr(f, '__name__', 'f')}: {error}") from None


def _arguments(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    _expect_fitting(f, args, kwargs)
    try:
        return Arguments.of(args, kwargs, opened_at(_chain(f), args, kwargs))
    except Misfit as error:
        raise TypeError(f"{getattr(f, '__name__', 'f')}: {error}") from None


def code_ir(f: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """The program of ``f`` for arguments like these, as text: blocks of instructions in SSA form,
    with Python's names and lines.

    Raises SourceError if ``f`` cannot be read, and TypeError if the arguments do not fit, or if it
    is a transform that does not fit its function.
    """
    f, args, kwargs = _passed_on(f, args, kwargs)
    return str(_program(f, _arguments(f, args, kwargs)).function)


def code_adjoint(
    f: Callable[..., Any], *args: Any, argnums: Argnums | None = None, **kwargs: Any
) -> str:
    """The program of ``f`` and of its gradients for given ones of its results, for arguments like
    these, as text.

    ``argnums`` says by which arguments; all that are made of floating-point numbers if it is not
    given. Errors are those of ``code_ir``, and of ``grad`` for ``argnums``.
    """
    _expect_fitting(f, args, kwargs)
    if argnums is None:
        everything = Arguments.of(args, kwargs, range(len(args)))
        wanted = [at for at in range(len(args)) if _is_real(everything, at)]
    else:
        wanted = list(positions("code_adjoint", argnums, len(args)))
    given = [float(x) if at in wanted and type(x) is int else x for at, x in enumerate(args)]
    arguments = Arguments.of(tuple(given), kwargs, wanted)
    made = _program(f, arguments)
    try:
        return str(programs.pullback(made, arguments, wanted).function)
    except Misfit as error:
        raise TypeError(f"code_adjoint: {error}") from None


def _is_real(arguments: Arguments, at: int) -> bool:
    """Whether an argument is made of floating-point numbers: of integers alone it is not."""
    leaves = [arguments.leaves[k] for k in arguments.numbers(at)]
    return all(programs.kind_of(one) for one in leaves) and any(type(x) is not int for x in leaves)


def explain(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Explanation:
    """Whether ``mode="auto"`` reads ``f`` for arguments like these, once it compiles at all, or
    traces it, and why. It is read anew, not run. Raises TypeError if the arguments do not fit, or
    if it is a transform that does not fit its function.
    """
    name = getattr(f, "__qualname__", type(f).__qualname__)
    f, args, kwargs = _passed_on(f, args, kwargs)
    try:
        arguments = _arguments(f, args, kwargs)
        if has_array_jacobian(_chain(f), arguments):
            return Explanation(name, False, "a program of Jacobians of arrays is slower")
        made = _program(f, arguments, as_traced=True)
    except SourceError as error:
        # It is traced already.
        return Explanation(name, False, str(refuse.without_modes(error, "")).rstrip())
    exits = len(made.function.exits)
    return Explanation(name, True, f"compiled, with {exits} way(s) out to Python")
