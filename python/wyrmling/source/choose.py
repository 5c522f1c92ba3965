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
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core import Specialization, Variable
from ..transforms import tree
from ..transforms.modes import Differentiated, Made
from ..transforms.tracing import refuse_result
from .abstract.walker import OTHER_LENGTH
from .chained import (
    COMPILE,
    Transform,
    chain_of,
    converted,
    has_array_jacobian,
    opened_at,
    own_arguments,
    program,
)
from .leaving import goes_on, left_at, left_error, neither, takes_no_variable
from .policy import Record, has_loop, may_ask_kind, may_print, record, tracing_differs
from .program import form as forms
from .program import programs
from .program.arguments import ArgumentMisfit, Arguments, Misfit, expect_arguments
from .program.programs import Left
from .text import refuse
from .text.refuse import SourceError, Unreadable
from .text.scope import Needs, Place

# Whether the call that is under way in a thread was seen to leave.
_here = threading.local()
PRINTED = "something in it takes no variables, and it has printed already"
LEFT_OFTEN = "it was left too often"


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
        self.traced, self.traced_whole = made.traced, made.traced_whole
        self.mode = made.mode
        self.record = known(made)

    def fallback(
        self,
        specialization: Specialization | None,
        exit: int | Exception | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """The result where no program gives it: the function is traced, and has tracing's errors.

        What cannot be traced is read for this call. Where a program left, now or too often before,
        the function itself is run first, for Python's exception; it was read, so it has no effects.
        """
        if self.traced is self.inner:
            self.record.was_traced = True
            return self.traced(*args, **kwargs)
        # With no exit nothing ran: there is no program, or it was left too often.
        left = exit is not None or _here.__dict__.pop("left", False)
        if self.record.prints and not (left and goes_on(specialization, exit)):
            return self._printing(specialization, exit, args, kwargs)
        too_often = not left and specialization is not None and specialization.compiled is not None
        differs = (left or too_often) and tracing_differs(self.inner)
        if left and (self.mode == "source" or differs) and not self.record.prints:
            # What tracing does otherwise is not asked for.
            self._run(args, kwargs)
        if too_often and differs:
            failure: Exception = TypeError(LEFT_OFTEN)
            try:
                return self.read_once(args, kwargs, failure)
            except Exception as error:
                if error is not failure:
                    raise
        try:
            return self._trace(args, kwargs)
        except Exception as error:
            from_source = left and self.mode == "source" and isinstance(error, TypeError)
            if not (from_source or self.may_read(error)):
                raise
            failure = error
        try:
            if self.record.prints:
                raise left_error(self.inner, specialization, exit, failure) from failure
            if not left:
                return self.read_once(args, kwargs, failure)
            if self.mode == "auto":
                self._run(args, kwargs)
            # It returns: what was read was for other lengths.
            try:
                return self.read_once(args, kwargs, failure)
            except Exception:
                if self.mode == "auto":
                    raise failure from None
                raise left_error(self.inner, specialization, exit, failure) from failure
        finally:
            # Its traceback has this frame.
            del failure

    def may_read(self, error: Exception) -> bool:
        """Whether a call may be read that raised this when it was traced: what it calls takes no
        variables, or it may have asked of what kind one is, as ``assert isinstance(x, float)`` and
        operators do.
        """
        if takes_no_variable(error):
            if not self.record.untraceable:
                self.record.untraceable = True
                # Calls that were to be traced are read in more ways from now on.
                self.record.table.clear()
            return True
        asks = _is_its_own(error) or may_ask_kind(self.inner)
        return self.mode == "auto" and not self.record.prints and asks

    def _printing(
        self,
        specialization: Specialization | None,
        exit: int | Exception | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """The result of a function that prints, and must do so once: nothing was printed yet.

        It is traced, unless it is known to do what tracing may refuse, after it has printed.
        """
        if exit is None and (specialization is None or specialization.compiled is None):
            return self._trace(args, kwargs)
        if not self.record.unlike_traced or self.record.was_traced:
            try:
                return self._trace(args, kwargs)
            except TypeError as error:
                if not takes_no_variable(error):
                    raise
                raise left_error(self.inner, specialization, exit, error) from error
        if exit is None:
            return self.read_once(args, kwargs, TypeError(LEFT_OFTEN), prints=True)
        # It raises most likely.
        self._run(args, kwargs)
        raise left_error(self.inner, specialization, exit, TypeError(PRINTED))

    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        found = self.traced_whole(args, kwargs)
        self.record.was_traced = True
        return found

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Runs the function itself, for what it raises, and raises TypeError for a result that has
        no gradient.
        """
        own, named = own_arguments(self.chain, Arguments.of(args, kwargs))
        result = self.inner(*own, **named)
        first = self.chain[0]
        if first.name == "compile":
            return
        if first.has_aux and isinstance(result, tuple) and len(result) == 2:
            result = result[0]
        for label, leaf in tree.flatten(result, "the result", [])[0]:
            refuse_result(first.name, self.inner, label, leaf)

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
        unread: Exception | None = None
        try:
            arguments = self._arguments(args, kwargs)
            if any(isinstance(leaf, Variable) for leaf in arguments.leaves):
                raise failure
            made = program(self.inner, self.chain, arguments)
            if made.printed is not None and not prints:
                raise failure
            found = made.function.compile()(tuple(made.samples))
        except Exception as error:
            of_result = isinstance(error, Misfit) and not isinstance(error, ArgumentMisfit)
            if of_result and not may_print(self.inner):
                # It was read up to its result, so it has no effects.
                self._run(args, kwargs)
            if takes_no_variable(failure):
                raise neither(self.inner, failure, error) from None
            unread = error
        if unread is not None:
            # It is the function's own, and stays as it is.
            raise failure
        if isinstance(found, int):
            self._run(args, kwargs)
            if prints:
                raise left_at(self.inner, made.function, found, TypeError(PRINTED))
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
        except (SourceError, RecursionError) as error:
            if not is_auto:
                raise
            return _traced(args, kwargs) if isinstance(error, SourceError) else None
        try:
            # Objects are not asked for a number of axes: what they have may have effects.
            axes = (leaf.ndim if isinstance(leaf, np.ndarray) else 0 for leaf in arguments.leaves)
            signature = tuple(zip(map(type, arguments.leaves), axes, strict=True))
            if any(isinstance(leaf, Variable) for leaf in arguments.leaves):
                return _traced(arguments.args, arguments.kwargs)
            if is_auto:
                if self.record.is_new(signature) and not _is_compiled_at_once(self.inner):
                    return None
                if has_array_jacobian(self.chain, arguments):
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
        except refuse.Unsettled as error:
            if not self.record.was_traced:
                return None
            refusal = error
        except NotImplementedError as error:
            refusal = error
        except Exception as error:
            # Whatever reading does wrong, tracing does not need it.
            refusal = error if is_auto else refuse.fault(self.inner, error)
        if is_auto:
            for_now = isinstance(refusal, MemoryError) or _is_deep()
            return None if for_now else _traced(args, kwargs)
        if isinstance(refusal, SourceError) and COMPILE in self.chain:
            raise refuse.without_modes(refusal, "call the function itself, which runs it")
        raise refusal

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        """The arguments of a call, with the instances that are differentiated taken apart."""
        return Arguments.of(args, kwargs, opened_at(self.chain, args, kwargs))


def _is_compiled_at_once(f: Callable[..., Any]) -> bool:
    """Whether a function is compiled at its first call: one that has a loop, or that tracing may
    do otherwise.
    """
    return has_loop(f) or may_print(f) or tracing_differs(f)


def _is_deep() -> bool:
    """Whether more than half of the calls that may be nested are: what cannot be read then may be
    read later.
    """
    frame: Any = sys._getframe()
    for _ in range(sys.getrecursionlimit() // 2):
        if frame is None:
            return False
        frame = frame.f_back
    return frame is not None


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
    made = _left_open(f, chain, arguments, known, exact=exact)
    known.prints |= made.printed is not None
    known.unlike_traced |= not made.as_traced
    if exact and any(text == OTHER_LENGTH for text, _ in made.function.exits):
        made.expect_shapes()
    expect_arguments(arguments.args, arguments.kwargs, made.needs)
    steps, slots = made.needs.steps(len(arguments.args) + len(arguments.kwargs))
    native = programs.with_integers(made, converted(made, arguments)).compile()
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


def _left_open(
    f: Callable[..., Any],
    chain: Sequence[Transform],
    arguments: Arguments,
    known: Record,
    *,
    exact: bool,
) -> programs.Program:
    """The program for a call; for all values of those integers of which there are several
    programs, each for one value, that can be left open: a list that grows has a computed length
    then.
    """
    settles = exact or known.untraceable
    read = functools.partial(program, f, chain, arguments, as_traced=not exact, settles=settles)
    made, left_open, waiting = None, frozenset[Place](), [known.varying()]
    while waiting:
        places = waiting.pop()
        if not places:
            continue
        try:
            made = read(varying=left_open | set(places))
            left_open |= set(places)
        except SourceError:
            if len(places) == 1:
                known.held |= set(places)
            else:
                half = len(places) // 2
                waiting += [places[half:], places[:half]]
    made = made or read()
    known.holds(made.constants)
    return made


def _is_its_own(error: Exception) -> bool:
    """Whether a TypeError was raised in a function that was traced, and not for its result."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else str(trace.tb_frame.f_globals.get("__name__"))
    return isinstance(error, TypeError) and not where.startswith("wyrmling.transforms")
