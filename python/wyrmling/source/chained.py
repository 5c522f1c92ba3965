"""The program of a function under a chain of transforms, for arguments of given kinds.

``program`` reads the function and applies each transform to what it got, the innermost first: to a
function of the ir, and to the form of its results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..transforms.modes import Differentiated, Made
from ..transforms.tracing import Argnums, positions
from .interpreter import read_function
from .program import form as forms
from .program import programs
from .program.arguments import EXTRA, ArgumentMisfit, Arguments, filled
from .program.form import Argument, Constant, Leaf
from .program.jacobians import jacobian
from .program.printing import with_printing
from .program.programs import Program
from .program.pullback import Pullback
from .program.untagged import untagged
from .text import refuse
from .text.scope import Place


class Transform(NamedTuple):
    """What is done to a function."""

    name: str
    argnums: Any = 0
    has_aux: bool = False


COMPILE = Transform("compile")


def chain_of(made: Made) -> tuple[Transform, ...]:
    """The transforms that made a function, the innermost first."""
    within = chain_of(made.f.made) if isinstance(made.f, Differentiated) else ()
    return (*within, Transform(made.name, made.argnums, made.has_aux))


def has_array_jacobian(chain: Sequence[Transform], arguments: Arguments) -> bool:
    """Whether a chain has Jacobians of arrays: a program computes the function again for each row,
    so tracing is faster.
    """
    jacobians = {"jacrev", "jacfwd", "hessian"}
    has_arrays = any(isinstance(leaf, np.ndarray) for leaf in arguments.leaves)
    return has_arrays and any(transform.name in jacobians for transform in chain)


def program(
    f: Callable[..., Any],
    chain: Sequence[Transform],
    arguments: Arguments,
    *,
    as_traced: bool = False,
    varying: frozenset[Place] = frozenset(),
    settles: bool = True,
) -> Program:
    """The program of a function under transforms, for arguments like these; for all lengths of
    arrays, and all integers, at places that are ``varying``, and if it ``settles`` for the lengths
    of these alone, where that is needed.

    Raises SourceError or Unreadable if it cannot be read, or does not go the way that tracing does
    and has to (``as_traced``); Misfit if a transform does not fit.
    """
    wrt = _differentiated(chain, arguments)
    leaves, args, kwargs = _given(arguments, wrt)
    numbers = [number for number in wrt if programs.is_without_axes(leaves[number])]
    if numbers and [one.name for one in chain] not in (["grad"], ["value_and_grad"]):
        raise refuse.unsupported("another derivative than grad by an array without axes")
    found = read_function(f, args, kwargs, varying=varying, settles=settles)
    if as_traced and wrt and found.asks_kind:
        raise refuse.unsupported("a question for the kind of what may be differentiated")
    for number in wrt:
        if number in found.static:
            # The program is right for this value of it alone: it would have no gradient.
            raise refuse.unsupported(
                f"a function that has to know the value of {arguments.places[number]}, by which it "
                "is differentiated,"
            )
    if not found.returns:
        chain = ()
    by_place = dict(zip(arguments.places, leaves, strict=True))
    given = len(found.inputs) - len(found.captured)
    made = Program(
        found.function,
        list(found.inputs),
        [*[by_place[place] for place in found.inputs[:given]], *found.captured],
        {leaf: at for at, leaf in enumerate(found.leaves)}
        | _without_axes(arguments, numbers, found),
        found.whole,
        found.needs,
        found.build if found.tagged else None,
        found.returns,
        found.printed,
        as_traced=not (found.asks_kind or found.takes_no_variable),
        constants=dict(found.constants),
    )
    if found.tagged and found.printed is not None:
        raise refuse.unsupported("print beside a result that is of several kinds")
    for number, value in found.static.items():
        if type(value) is int:
            made.constants[arguments.places[number]] = value
        if type(value) in (bool, float):
            made.needs.test(arguments.places[number], ("equal", value))
        else:
            made.needs.expect(arguments.places[number], value)
    if found.tagged and tuple(chain) != (COMPILE,):
        # With no transform it is the loss of one sample (training.py), which has to be one float.
        made = untagged(made, as_float=not chain)
    elif found.tagged and not _is_new(found.whole):
        raise refuse.unsupported("a result that is of several kinds, with an argument in it")
    if len(chain) > 1 or (chain and chain[0].name in ("hvp", "hessian")):
        programs.refuse_spectral(made.function)
    copied = frozenset(arguments.places[number] for number in wrt)
    plain = made
    for at, transform in enumerate(chain):
        made = replace(made, function=made.function.simplify())
        if not made.function.returns:
            return replace(plain, returns=False)
        if at == 0:
            simple = made
        made = _apply(transform, programs.with_zeros(made), arguments, copied)
    if chain and chain[-1] == COMPILE:
        made = replace(made, form=forms.returned(made.form))
    if chain and made.printed is not None:
        made = with_printing(made, simple)
    return made


def _without_axes(arguments: Arguments, numbers: Sequence[int], found: Any) -> dict[int, int]:
    """The parameters that are the numbers of arrays without axes."""
    places = [(number, arguments.places[number].item(())) for number in numbers]
    return {number: found.inputs.index(at) for number, at in places if at in found.inputs}


def _given(
    arguments: Arguments, wrt: Sequence[int]
) -> tuple[list[Any], tuple[Any, ...], dict[str, Any]]:
    """What the function itself is given, and its leaves: integers are floats where it is
    differentiated by them.
    """
    leaves = list(arguments.leaves)
    integers = [number for number in wrt if type(leaves[number]) is int]
    if not integers:
        own = {key: each for key, each in arguments.kwargs.items() if not key.startswith(EXTRA)}
        return leaves, arguments.args, own
    for number in integers:
        if not -(2**63) <= leaves[number] < 2**63:
            raise refuse.unsupported("an integer of more than 64 bits as an argument")
        leaves[number] = float(leaves[number])
    values = [
        filled(value, iter([leaves[number] for number in owned]))
        for value, owned in zip(
            (*arguments.args, *arguments.kwargs.values()), arguments.owned, strict=True
        )
    ]
    positional = len(arguments.args)
    named = zip(arguments.kwargs, values[positional:], strict=True)
    kwargs = {name: value for name, value in named if not name.startswith(EXTRA)}
    return leaves, tuple(values[:positional]), kwargs


def _is_new(form: Any) -> bool:
    """Whether all in a form, of one of several kinds, is made anew at each call."""

    def leaves(form: Any) -> list[Any]:
        parts = getattr(form, "forms", None) or forms.parts(form)
        return [form] if parts is None else [leaf for part in parts for leaf in leaves(part)]

    found = forms.returned(tuple(leaves(form)))
    return all(isinstance(leaf, Leaf | Constant) for leaf in found)


def _differentiated(chain: Sequence[Transform], arguments: Arguments) -> list[int]:
    """The leaves by which some transform differentiates. Raises Misfit if one is no number."""
    found: set[int] = set()
    for transform in chain:
        found.update(programs.differentiated(transform.name, arguments, _at(transform, arguments)))
    return sorted(found)


def opened_at(
    chain: Sequence[Transform], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[int]:
    """Where the arguments are whose instances are taken apart: what is differentiated, and the
    directions in which it is. Raises Misfit where a transform does not fit.
    """
    found = [k for transform in chain for k in _positions(transform, len(args))]
    extras = [at for at, name in enumerate(kwargs, len(args)) if name.startswith(EXTRA)]
    return found + extras


def _at(transform: Transform, arguments: Arguments) -> tuple[int, ...]:
    return _positions(transform, len(arguments.args))


def _positions(transform: Transform, count: int) -> tuple[int, ...]:
    if transform.name == "compile":
        return ()
    try:
        return positions(transform.name, transform.argnums, count)
    except (TypeError, ValueError) as error:
        raise ArgumentMisfit(str(error)) from None


def _apply(
    transform: Transform, made: Program, arguments: Arguments, copied: frozenset[Place]
) -> Program:
    at, name = _at(transform, arguments), transform.name
    argnums: Argnums = transform.argnums
    several = type(argnums) is not int and isinstance(argnums, Sequence)
    extras = [
        pair
        for key, owned in zip(arguments.kwargs, arguments.owned[len(arguments.args) :], strict=True)
        if key.startswith(EXTRA)
        for pair in [
            (arguments.places[k], arguments.leaves[k]) for k in owned if k not in arguments.skipped
        ]
    ]
    match name:
        case "compile":
            return made
        case "grad" | "value_and_grad":
            value = name == "value_and_grad"
            has_aux = transform.has_aux
            return programs.gradient(
                made, arguments, at, several, value=value, has_aux=has_aux, copied=copied
            )
        case "elementwise_grad":
            return programs.gradient(made, arguments, at, several, total=True)
        case "hessian" | "jacrev" | "jacfwd" if transform.has_aux:
            raise refuse.unsupported(f"has_aux of {name}")
        case "hessian":
            slope = programs.with_zeros(jacobian(made, arguments, at, several, forward=False))
            return jacobian(slope, arguments, at, several, forward=True, typed_as_gradients=True)
        case "jacrev" | "jacfwd":
            return jacobian(made, arguments, at, several, forward=name == "jacfwd")
        case "jvp":
            return programs.pushforward(made, arguments, at, extras, value=True)
        case "hvp":
            slope = programs.with_zeros(programs.gradient(made, arguments, at, several))
            return programs.pushforward(slope, arguments, at, extras, value=False)
        case "vjp":
            return _with_pullback(made, arguments, at)
    raise AssertionError(f"there is no transform {name!r}")


def _with_pullback(made: Program, arguments: Arguments, at: Sequence[int]) -> Program:
    pulled = programs.pullback(made, arguments, at)
    native = programs.with_integers(pulled, converted(made, arguments)).compile()
    value = programs.real(made.form)
    taken = tuple(
        at for at, leaf in enumerate(programs.numbers_of(value)) if isinstance(leaf, Leaf)
    )
    parameters = tuple(Argument(place) for place in made.inputs)
    back = Constant(Pullback(native, pulled.form, taken))
    return made.with_results(made.function, (value, parameters, back))


def own_arguments(
    chain: Sequence[Transform], arguments: Arguments
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What the function itself is called with, below the transforms."""
    at = [k for transform in chain for k in _at(transform, arguments)]
    _, own, named = _given(arguments, [number for k in at for number in arguments.numbers(k)])
    return own, named


def converted(made: Program, arguments: Arguments) -> list[int]:
    """The parameters that are integers of the caller's, and floats of the program."""
    by_place = dict(zip(arguments.places, arguments.leaves, strict=True))
    return [
        at
        for at, place in enumerate(made.inputs)
        if type(by_place.get(place)) is int and made.function.parameters[at] == "float"
    ]
