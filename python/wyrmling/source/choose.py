"""Whether a function is read or traced.

With ``mode="source"`` it is read, or SourceError says why not. With ``"auto"`` it is read where
that pays (``policy.py``) and is possible, and traced otherwise; so are calls with variables as
arguments, and all calls while a debugger or coverage watches.

What is compiled is kept for the code of the function (not for the function: closures that are made
anew share it), in a bounded table of specializations for different kinds of arguments. The native
``Dispatcher`` finds the one that fits a call; what it cannot find it asks for here.

A specialization leaves where it does not imitate Python: overflow of integers, division by zero,
``raise``. Then the call is traced in ``"auto"``; if that fails, and in ``"source"`` before, the
function itself runs on the arguments, so that exceptions are Python's own.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .._core import Specialization, Variable
from ..transforms.modes import Differentiated, Made
from ..transforms.tracing import Argnums, positions
from . import form as forms
from . import programs, refuse
from .arguments import EXTRA, Arguments, Misfit, expect_arguments, filled
from .compilation import specialise
from .form import Argument, Constant, Leaf
from .jacobians import jacobian
from .leaving import goes_on, left_error, neither, takes_no_variable
from .policy import Record, has_loop, may_print, record
from .printing import with_printing
from .programs import Left, Program
from .pullback import Pullback
from .refuse import SourceError, Unreadable
from .scope import Needs, Place
from .untagged import untagged
from .walker import OTHER_LENGTH


class Transform(NamedTuple):
    """What is done to a function."""

    name: str
    argnums: Any = 0
    has_aux: bool = False


COMPILE = Transform("compile")
# Whether the call that is under way in a thread was seen to leave.
_here = threading.local()


def chain_of(made: Made) -> tuple[Transform, ...]:
    """The transforms that made a function, the innermost first."""
    within = chain_of(made.f.made) if isinstance(made.f, Differentiated) else ()
    return (*within, Transform(made.name, made.argnums, made.has_aux))


def known(made: Made) -> Record:
    """What is known of the code of the function of which this is a transform."""
    inner, key = made.f, _key(made)
    while isinstance(inner, Differentiated):
        key = (*_key(inner.made), *key)
        inner = inner.made.f
    try:
        return record(inner, (made.mode, *key))
    except (Unreadable, TypeError):
        found = Record()
        if made.mode == "auto":
            found.table.close()
        return found


def _key(made: Made) -> tuple[Any, ...]:
    """What tells a transform from others: ``argnums=True`` means 1, but is equal to it."""
    argnums = made.argnums
    return (made.name, argnums if type(argnums) is int else repr(argnums), made.has_aux)


class Chosen:
    """How a transform of a function is called where nothing that is compiled fits."""

    def __init__(self, made: Made) -> None:
        self.inner = made.f.function if isinstance(made.f, Differentiated) else made.f
        self.chain = chain_of(made)
        self.traced = made.traced
        self.mode = made.mode
        self.record = known(made)
        self.can_be_traced = False

    def fallback(
        self,
        specialization: Specialization | None,
        exit: int | Exception | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """The result where no program gives it: the function is traced, and has tracing's errors.

        What cannot be traced is read for this call. Where a program left, now or too often before,
        the function itself is run then, for Python's exception; it was read, so it has no effects.
        """
        if self.traced is self.inner:
            return self.traced(*args, **kwargs)
        # With no exit nothing ran: there is no program, or it was left too often.
        left = exit is not None or _here.__dict__.pop("left", False)
        if self.record.prints and not (left and goes_on(specialization, exit)):
            return self._printing(specialization, exit, args, kwargs)
        if left and self.mode == "source" and not self.record.prints:
            # What tracing does otherwise is not asked for.
            self._run(args, kwargs)
        try:
            found = self.traced(*args, **kwargs)
            self.can_be_traced = True
            return found
        except TypeError as error:
            if not (takes_no_variable(error) or (left and self.mode == "source")):
                raise
            failure = error
        try:
            if self.record.prints:
                raise left_error(self.inner, specialization, exit, failure) from failure
            if not left:
                return self.read_once(args, kwargs, failure)
            if self.mode == "source":
                raise left_error(self.inner, specialization, exit, failure) from failure
            self._run(args, kwargs)
            raise failure
        finally:
            # Its traceback has this frame.
            del failure

    def _printing(
        self,
        specialization: Specialization | None,
        exit: int | Exception | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """The result of a function that prints, and must do so once: nothing was printed yet."""
        if exit is None:
            never = specialization is None or specialization.compiled is None
            if never or self.can_be_traced:
                return self.traced(*args, **kwargs)
            return self.read_once(args, kwargs, TypeError("it was left too often"), prints=True)
        # It raises most likely.
        self._run(args, kwargs)
        error = TypeError("it has printed already")
        raise left_error(self.inner, specialization, exit, error)

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Runs the function itself, for what it raises."""
        arguments = Arguments.of(args, kwargs)
        at = [k for transform in self.chain for k in _at(transform, arguments)]
        _, own, named = _given(arguments, [number for k in at for number in arguments.numbers(k)])
        self.inner(*own, **named)

    def read_once(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        failure: Exception,
        prints: bool = False,
    ) -> Any:
        """The result of a function that cannot be traced (``math.sin`` takes no variables), read
        for this call alone: with what it found while it was read, in case that goes on changing.
        """
        try:
            arguments = self._arguments(args, kwargs)
            if any(isinstance(leaf, Variable) for leaf in arguments.leaves):
                raise failure
            made = program(self.inner, self.chain, arguments)
            if made.printed is not None and not prints:
                raise failure
            found = made.function.compile()(tuple(made.samples))
        except Exception as error:
            raise neither(self.inner, failure, error) from None
        if isinstance(found, int):
            self._run(args, kwargs)
            raise failure
        if made.build is not None:
            return made.build(found, roots=())
        return forms.filled(made.form, found, (self.inner, *args, *kwargs.values()))

    def specialize(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Specialization | None:
        """What is compiled for a call like this, or None if this one is traced.

        Raises SourceError where the mode is ``source``.
        """
        is_auto = self.mode == "auto"
        if is_auto:
            self.record.ask()
        try:
            arguments = self._arguments(args, kwargs)
        except Misfit:
            return None
        except SourceError:
            if not is_auto:
                raise
            return _traced(args, kwargs)
        except RecursionError:
            if not is_auto:
                raise
            return None
        try:
            signature = tuple([(type(leaf), np.ndim(leaf)) for leaf in arguments.leaves])
            if any(isinstance(leaf, Variable) for leaf in arguments.leaves):
                return _traced(arguments.args, arguments.kwargs)
            if is_auto:
                at_once = has_loop(self.inner) or may_print(self.inner)
                if self.record.is_new(signature) and not at_once:
                    return None
                if self._is_slow(arguments):
                    raise refuse.unsupported("the Jacobian of arrays, which is faster when traced,")
                if not self.record.may_compile():
                    return _traced(args, kwargs)
            return compiled(self.inner, self.chain, arguments, self.record, exact=not is_auto)
        except Left:
            _here.left = True
            return None
        except Misfit:
            return None
        except Unreadable as error:
            refusal: Exception = refuse.unreadable(
                getattr(self.inner, "__qualname__", "it"), str(error)
            )
        except NotImplementedError as error:
            refusal = error
        except Exception as error:
            if not is_auto:
                raise
            # Whatever reading does wrong, tracing does not need it.
            refusal = error
        if is_auto:
            return _traced(args, kwargs)
        if isinstance(refusal, SourceError) and COMPILE in self.chain:
            raise refuse.without_modes(refusal, "call the function itself, which runs it")
        raise refusal

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        """The arguments of a call, with the instances that are differentiated taken apart."""
        return Arguments.of(args, kwargs, opened_at(self.chain, args, kwargs))

    def _is_slow(self, arguments: Arguments) -> bool:
        """Whether these are Jacobians of arrays: each row computes the function again."""
        jacobians = {"jacrev", "jacfwd", "hessian"}
        has_arrays = any(isinstance(leaf, np.ndarray) for leaf in arguments.leaves)
        return has_arrays and any(transform.name in jacobians for transform in self.chain)


def _traced(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Specialization | None:
    """What says that calls with arguments of these kinds are traced; None if they are nested too
    deep to say of what kinds.
    """
    needs = Needs()
    try:
        expect_arguments(args, kwargs, needs)
        steps, _ = needs.steps(len(args) + len(kwargs))
    except RecursionError:
        return None
    return Specialization(len(args), tuple(kwargs), steps, [], None, None, None)


def program(
    f: Callable[..., Any],
    chain: Sequence[Transform],
    arguments: Arguments,
    *,
    as_traced: bool = False,
) -> Program:
    """The program of a function under transforms, for arguments like these.

    Raises SourceError or Unreadable if it cannot be read, or does not go the way that tracing does
    and has to (``as_traced``); Misfit if a transform does not fit.
    """
    wrt = _differentiated(chain, arguments)
    leaves, args, kwargs = _given(arguments, wrt)
    if any(isinstance(leaves[number], np.ndarray) and not leaves[number].shape for number in wrt):
        raise refuse.unsupported("a derivative by an array without axes")
    found = specialise(f, args, kwargs)
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
        {leaf: at for at, leaf in enumerate(found.leaves)},
        found.whole,
        found.needs,
        found.build if found.tagged else None,
        found.returns,
        found.printed,
    )
    if found.tagged and found.printed is not None:
        raise refuse.unsupported("print beside a result that is of several kinds")
    for number, value in found.static.items():
        if type(value) in (bool, float):
            made.needs.test(arguments.places[number], ("equal", value))
        else:
            made.needs.expect(arguments.places[number], value)
    if found.tagged and tuple(chain) != (COMPILE,):
        # The loss of a sample is summed to others, as what it is.
        made = untagged(made, singles=not chain)
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
        made = _apply(transform, made, arguments, copied)
    if chain and chain[-1] == COMPILE:
        made = replace(made, form=forms.returned(made.form))
    if chain and made.printed is not None:
        made = with_printing(made, simple)
    return made


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
        raise Misfit(str(error)) from None


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
        case "hessian":
            slope = jacobian(made, arguments, at, several, forward=False)
            return jacobian(slope, arguments, at, several, forward=True, typed_as_gradients=True)
        case "jacrev" | "jacfwd":
            return jacobian(made, arguments, at, several, forward=name == "jacfwd")
        case "jvp":
            return programs.moved(made, arguments, at, extras, value=True)
        case "hvp":
            slope = programs.gradient(made, arguments, at, several)
            return programs.moved(slope, arguments, at, extras, value=False)
        case "vjp":
            return _with_pullback(made, arguments, at)
    raise AssertionError(f"there is no transform {name!r}")


def _with_pullback(made: Program, arguments: Arguments, at: Sequence[int]) -> Program:
    pulled = programs.pulled(made, arguments, at)
    native = programs.with_integers(pulled, _integers(made, arguments)).compile()
    value = programs.real(made.form)
    taken = tuple(
        at for at, leaf in enumerate(programs.numbers_of(value)) if isinstance(leaf, Leaf)
    )
    parameters = tuple(Argument(place) for place in made.inputs)
    back = Constant(Pullback(native, pulled.form, taken))
    return made.with_results(made.function, (value, parameters, back))


def _integers(made: Program, arguments: Arguments) -> list[int]:
    """The parameters that are integers of the caller's, and floats of the program."""
    by_place = dict(zip(arguments.places, arguments.leaves, strict=True))
    return [
        at
        for at, place in enumerate(made.inputs)
        if type(by_place.get(place)) is int and made.function.parameters[at] == "float"
    ]


def compiled(
    f: Callable[..., Any],
    chain: Sequence[Transform],
    arguments: Arguments,
    known: Record,
    *,
    exact: bool,
) -> Specialization:
    """A program of a function under transforms, compiled, and when it may be called. One that
    leaves for arrays of other lengths is for these alone, if it has to be ``exact``.
    """
    made = program(f, chain, arguments, as_traced=not exact)
    known.prints |= made.printed is not None
    if exact and any(text == OTHER_LENGTH for text, _ in made.function.exits):
        made.expect_shapes()
    expect_arguments(arguments.args, arguments.kwargs, made.needs)
    steps, slots = made.needs.steps(len(arguments.args) + len(arguments.kwargs))
    native = programs.with_integers(made, _integers(made, arguments)).compile()
    build = None if made.build is None else functools.partial(made.build, roots=())
    return Specialization(
        len(arguments.args),
        tuple(arguments.kwargs),
        steps,
        [slots[place] for place in made.inputs],
        native,
        None if build else forms.makes(made.form, slots),
        build,
    )
