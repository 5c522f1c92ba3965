"""Whether a function is read or traced, and the memory of that choice.

With ``mode="source"`` it is read, or SourceError says why not. With ``"auto"`` it is read where
that pays and is possible, and traced otherwise: the first call is traced unless the text has a
loop, as is what cannot be read; so are calls with variables as arguments, and all calls while a
debugger, a profiler or coverage watches.

What is compiled is kept for the code of the function (not for the function: closures that are made
anew share it), in a bounded table of specializations for different kinds of arguments. The native
``Dispatcher`` finds the one that fits a call; what it cannot find it asks for here.

A specialization leaves where it does not imitate Python: overflow of integers, division by zero,
``raise``. Then the function itself runs on the arguments, so that exceptions are Python's own; if
it returns, it is traced.
"""

from __future__ import annotations

import ast
import functools
import threading
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import _core
from .._core import Specialization, SpecializationTable, Variable
from ..transforms.tracing import Argnums, named, positions
from . import form as forms
from . import programs, read, refuse
from .compilation import specialise
from .form import Argument, Constant, Leaf
from .identity import IdentityCache
from .jacobians import jacobian
from .programs import EXTRA, Arguments, Left, Misfit, Program
from .pullback import Pullback
from .refuse import SourceError, Unreadable
from .scope import Needs, Place, argument
from .walker import OTHER_LENGTH

MOST_SIGNATURES = 16
MOST_LEAVES = 3


@dataclass(frozen=True)
class Transform:
    """What is done to a function, as part of the key of what is kept."""

    name: str
    argnums: Any = 0
    has_aux: bool = False


COMPILE = Transform("compile")


class Record:
    """What is known of a function's code under a chain of transforms."""

    def __init__(self) -> None:
        self.table = SpecializationTable(MOST_SIGNATURES)
        self.seen: set[Any] = set()

    def is_new(self, signature: Any) -> bool:
        """Whether no call of this signature came before; from now on one did."""
        if signature in self.seen:
            return False
        if len(self.seen) >= 4 * MOST_SIGNATURES:
            self.seen.clear()
        self.seen.add(signature)
        return True


_records: IdentityCache[types.CodeType, dict[Any, Record]] = IdentityCache(4096)
_lock = threading.Lock()
# Whether the call that is under way in a thread was seen to leave.
_here = threading.local()


def record(f: Callable[..., Any], key: Any) -> Record:
    """What is known of a function's code under this key. Raises Unreadable if it has no code."""
    is_function = isinstance(f, types.FunctionType)
    code = f.__code__ if is_function else read.callee(f).function.__code__
    found = _records.get(code)
    if found is not None and key in found:
        return found[key]
    with _lock:
        found = _records.get(code)
        if found is None:
            found = _records.put(code, {})
        return found.setdefault(key, Record())


class Differentiated(_core.Dispatcher):
    """A function that a transform made and that is compiled; pickled as what it was made of."""

    chain: tuple[Transform, ...]
    inner: Callable[..., Any]
    made: tuple[str, Callable[..., Any], dict[str, Any]]

    def __reduce__(self) -> Any:
        name, f, options = self.made
        return functools.partial(_again, name, **options), (f,)


def _again(name: str, f: Callable[..., Any], **options: Any) -> Any:
    from .. import transforms

    return getattr(transforms, name)(f, **options)


def transformed(
    transform: Transform,
    f: Callable[..., Any],
    traced: Callable[..., Any],
    mode: str,
    made: tuple[str, Callable[..., Any], dict[str, Any]],
) -> Callable[..., Any]:
    """The transform of a function, read or traced; ``traced`` is what traces it."""
    inner: Callable[..., Any] = f
    chain: tuple[Transform, ...] = (transform,)
    if isinstance(f, Differentiated):
        inner, chain = f.inner, (*f.chain, *chain)
    # By how they print: ``argnums=True`` means 1, but is equal to it.
    key = (mode, tuple((t.name, repr(t.argnums), t.has_aux) for t in chain))
    try:
        known = record(inner, key)
    except (Unreadable, TypeError):
        if mode == "auto":
            return traced
        known = Record()
    chosen = Chosen(inner, chain, traced, mode, known)
    is_auto = mode == "auto"
    made_of = Differentiated(
        inner,
        chosen.specialize,
        chosen.fallback,
        known.table,
        most_leaves=MOST_LEAVES if is_auto else None,
        watches=is_auto,
    )
    made_of.inner, made_of.chain, made_of.made = inner, chain, made
    return named(transform.name, f)(made_of)


class Chosen:
    """How a transform of a function is called where nothing that is compiled fits."""

    def __init__(
        self,
        inner: Callable[..., Any],
        chain: tuple[Transform, ...],
        traced: Callable[..., Any],
        mode: str,
        known: Record,
    ) -> None:
        self.inner = inner
        self.chain = chain
        self.traced = traced
        self.mode = mode
        self.record = known

    def fallback(
        self,
        specialization: Specialization | None,
        exit: int | Exception | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """The result where no program gives it.

        Where a program left, now or too often before, the function itself runs first, so that what
        raises raises Python's exception: tracing would divide by zero. What returns is traced.
        """
        ran = exit is not None or (specialization is not None and specialization.compiled)
        ran = ran or _here.__dict__.pop("left", False)
        if self.traced is self.inner or not ran:
            return self.traced(*args, **kwargs)
        arguments = Arguments.of(args, kwargs)
        _, own, named = _given(arguments, _differentiated(self.chain, arguments))
        try:
            self.inner(*own, **named)
        except AttributeError as error:
            # Variables have methods that numbers and arrays have not.
            if self.mode == "auto" and hasattr(Variable, error.name or ""):
                return self.traced(*args, **kwargs)
            raise
        if self.mode == "auto":
            return self.traced(*args, **kwargs)
        try:
            return self.traced(*args, **kwargs)
        except TypeError as error:
            raise _left(self.inner, specialization, exit, error) from error

    def specialize(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Specialization | None:
        """What is compiled for a call like this, or None if this one is traced.

        Raises SourceError where the mode is ``source``.
        """
        try:
            arguments = Arguments.of(args, kwargs)
        except (SourceError, RecursionError):
            if self.mode == "source":
                raise
            return None
        try:
            signature = tuple((type(leaf), np.ndim(leaf)) for leaf in arguments.leaves)
            if any(isinstance(leaf, Variable) for leaf in arguments.leaves):
                return _traced(arguments)
            if self.mode == "auto" and self.record.is_new(signature) and not has_loop(self.inner):
                return None
            if self.mode == "auto" and self._is_slow(arguments):
                raise refuse.unsupported("the Jacobian of arrays, which is faster when traced,")
            return compiled(self.inner, self.chain, arguments, exact=self.mode == "source")
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
            if self.mode == "source":
                raise
            # Whatever reading does wrong, tracing does not need it.
            refusal = error
        if self.mode == "source":
            raise refusal
        return _traced(arguments)

    def _is_slow(self, arguments: Arguments) -> bool:
        """Whether these are Jacobians of arrays: each row computes the function again."""
        jacobians = {"jacrev", "jacfwd", "hessian"}
        has_arrays = any(isinstance(leaf, np.ndarray) for leaf in arguments.leaves)
        return has_arrays and any(transform.name in jacobians for transform in self.chain)


def _left(
    f: Callable[..., Any],
    specialization: Specialization | None,
    exit: int | Exception | None,
    error: TypeError,
) -> SourceError:
    """The error of a function that was left, returns, and cannot be traced."""
    name = getattr(f, "__qualname__", type(f).__qualname__)
    program = specialization.compiled if specialization is not None else None
    if not isinstance(exit, int) or program is None:
        return refuse.unreadable(name, f"it was left ({exit}), and tracing it fails: {error}")
    text, line = program.function.exits[exit]
    reason = f"it was left ({text}), returns then, and tracing it fails: {error}"
    return refuse.unreadable(name, reason, program.function.file, line)


def has_loop(f: Callable[..., Any]) -> bool:
    """Whether the text of a function has a loop."""
    try:
        node = read.function(read.callee(f).function).node
    except Unreadable:
        return False
    return any(isinstance(each, ast.For | ast.While | ast.comprehension) for each in ast.walk(node))


def _traced(arguments: Arguments) -> Specialization:
    """What says that calls of these kinds are traced."""
    needs = Needs()
    expect_arguments(arguments, needs)
    count = len(arguments.args) + len(arguments.kwargs)
    steps, _ = needs.steps(count)
    return Specialization(len(arguments.args), tuple(arguments.kwargs), steps, [], None, None, None)


def program(f: Callable[..., Any], chain: Sequence[Transform], arguments: Arguments) -> Program:
    """The program of a function under transforms, for arguments like these.

    Raises SourceError or Unreadable if it cannot be read, Misfit if a transform does not fit.
    """
    wrt = _differentiated(chain, arguments)
    leaves, args, kwargs = _given(arguments, wrt)
    found = specialise(f, args, kwargs)
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
    roots = (f, *arguments.args, *arguments.kwargs.values())
    made = Program(
        found.function,
        list(found.inputs),
        [by_place[place] if place in by_place else place.read(roots) for place in found.inputs],
        {leaf: at for at, leaf in enumerate(found.leaves)},
        found.whole,
        found.needs,
        found.build if found.tagged else None,
        found.returns,
    )
    for number, value in found.static.items():
        if type(value) in (bool, float):
            made.needs.test(arguments.places[number], ("equal", value))
        else:
            made.needs.expect(arguments.places[number], value)
    if found.tagged and tuple(chain) != (COMPILE,):
        made = programs.untagged(made)
    elif found.tagged and not _is_new(found.whole):
        raise refuse.unsupported("a result that is of several kinds, with an argument in it")
    copied = frozenset(arguments.places[number] for number in wrt)
    for transform in chain:
        made = _apply(transform, made, arguments, copied)
    if chain and chain[-1] == COMPILE:
        made = replace(made, form=forms.returned(made.form))
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
        leaves[number] = float(leaves[number])
    values = [
        programs.filled(value, iter([leaves[number] for number in owned]))
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


def _at(transform: Transform, arguments: Arguments) -> tuple[int, ...]:
    if transform.name == "compile":
        return ()
    try:
        return positions(transform.name, transform.argnums, len(arguments.args))
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
        for pair in [(arguments.places[k], arguments.leaves[k]) for k in owned]
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
            return jacobian(slope, arguments, at, several, forward=True)
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
    taken = tuple(at for at, leaf in enumerate(forms.leaves(value)) if isinstance(leaf, Leaf))
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
    f: Callable[..., Any], chain: Sequence[Transform], arguments: Arguments, *, exact: bool
) -> Specialization:
    """A program of a function under transforms, compiled, and when it may be called. One that
    leaves for arrays of other lengths is for these alone, if it has to be ``exact``.
    """
    made = program(f, chain, arguments)
    if exact and any(text == OTHER_LENGTH for text, _ in made.function.exits):
        made.expect_shapes()
    expect_arguments(arguments, made.needs)
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


_KINDS: dict[type, str] = {
    float: "float",
    int: "int",
    bool: "bool",
    np.float64: "float64",
    np.float32: "float32",
    np.int64: "int64",
}


def expect_arguments(arguments: Arguments, needs: Needs) -> None:
    """The arguments must be of the kinds of these."""

    def expect(place: Place, value: Any) -> None:
        kind = type(value)
        if kind in (tuple, list):
            needs.length(place, value)
            for at, part in enumerate(value):
                expect(place.item(at), part)
        elif kind is dict:
            needs.keys(place, value)
            for key, part in value.items():
                expect(place.item(key), part)
        elif kind in _KINDS and (kind is not int or -(2**63) <= value < 2**63):
            needs.test(place, ("kind", _KINDS[kind]))
        elif kind is np.ndarray and value.dtype.name in ("float64", "float32", "int64"):
            needs.test(place, ("array", value.dtype.name, value.ndim))
        elif value is None:
            needs.expect(place, value)
        else:
            needs.instance(place, kind)

    for at, value in enumerate((*arguments.args, *arguments.kwargs.values())):
        expect(argument(at), value)
