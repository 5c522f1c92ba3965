"""The abstract interpreter, which makes of a Python function a program for arguments of some kinds.

``read_function`` is what transforms call. It is given arguments as samples: their kinds, their
containers, and the lengths of arrays are what the program is made for. ``Interpreter`` then
executes the text on abstract values (``abstract/values.py``) and writes instructions of the ir as
it goes; its parts are classes in the folders ``types``, ``functions`` and ``flow``. Where it finds
that the value of an argument has to be known (the length of a list, an axis), it begins anew with
that argument as a constant, which the result says (``ReadFunction.static``).

Limit: after so many beginnings (``MOST_RESTARTS``) the function is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import _core
from .abstract.frames import Frame
from .abstract.raising import Ended
from .abstract.restarts import NeedsConstant, Restart
from .abstract.state import CellContents, DictContents, InstanceContents, ListContents
from .abstract.values import (
    ELEMENTS,
    KINDS,
    STORED,
    Known,
    Number,
    Tuple,
    ZeroDimensional,
    kind_of,
    sources_of,
)
from .abstract.walker import SETTLES
from .flow.calls import Calls
from .flow.comprehensions import Comprehensions
from .flow.environment import Environment
from .flow.exceptions import Exceptions
from .flow.generators import Generators
from .flow.imports import Imports
from .flow.iteration import Iteration
from .flow.loops import ROLLS, Loops
from .flow.patterns import Patterns
from .flow.result import OutputLeaf, Results, Returned
from .flow.statements import Statements
from .functions.builtins import Builtins
from .functions.known import KnownCalls
from .functions.mathematics import Mathematics
from .functions.nested import Nested
from .functions.reductions import Reductions
from .functions.splicing import Splicing
from .program import form
from .program.arguments import Opened
from .program.form import filled, refuse_own_methods
from .text import read, refuse
from .text import scope as places
from .text.names import Scope
from .types.arrays import Arrays
from .types.attributes import Attributes
from .types.computed_slices import ComputedSlices
from .types.containers import Containers
from .types.dicts import Dicts
from .types.grown_methods import GrownMethods
from .types.instantiation import Instantiation
from .types.methods import Methods
from .types.numbers import Numbers
from .types.rounding import Rounding
from .types.sequences import Sequences
from .types.tables import NO_TABLES, SMALL_TABLES, Tables
from .types.texts import PRINTS, Texts
from .types.truth import Truth

MOST_RESTARTS = 30
UNSETTLED = (
    "a list as long as an array, or what is done as often as its length says, where tracing can do "
    "it, which is faster, is not supported"
)


class Interpreter(
    Statements,
    Exceptions,
    Calls,
    Loops,
    Iteration,
    Generators,
    Imports,
    Patterns,
    Comprehensions,
    Texts,
    Builtins,
    KnownCalls,
    Reductions,
    Tables,
    GrownMethods,
    ComputedSlices,
    Rounding,
    Mathematics,
    Methods,
    Attributes,
    Instantiation,
    Containers,
    Dicts,
    Sequences,
    Truth,
    Numbers,
    Arrays,
    Splicing,
    Nested,
    Environment,
    Returned,
):
    """The abstract interpreter: all its parts."""


@dataclass(frozen=True, eq=False)
class ReadFunction:
    """A function as a program.

    ``inputs`` has the place of each parameter of ``function``: first those leaves of the arguments
    that are computed with, whose numbers among all leaves are ``leaves``, then what is captured,
    whose values were ``captured``.
    ``static`` are the leaves whose values had to be known, and ``constants`` the captured integers.
    ``form`` says how the results make up what the function returns, unless they are ``tagged``;
    ``build`` makes it in either case. A function that never returns has ``returns`` False. With
    ``asks_kind`` its path, or the type of its result, depends on what kind of object a number or
    array is: another one under tracing. With ``takes_no_variable`` a computed number is given to
    ``float`` or to a function of ``math``, which take no variables.
    ``printed`` is the form of what is printed, beside the results; None if nothing is.
    """

    function: Any
    inputs: list[places.Place]
    captured: list[Any]
    leaves: list[int]
    needs: places.Needs
    static: dict[int, Any]
    constants: dict[places.Place, int]
    outputs: list[OutputLeaf]
    form: Any
    tagged: bool
    returns: bool
    whole: Any
    asks_kind: bool
    takes_no_variable: bool
    printed: Any = None

    def build(self, values: Sequence[Any], roots: tuple[Any, ...]) -> Any:
        """What the function returns, of the program's results. ``roots`` are what was called, and
        its arguments.
        """
        return filled(self.whole, values, roots)


def read_function(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    static: frozenset[int] = frozenset(),
    varying: frozenset[places.Place] = frozenset(),
    settles: bool = True,
) -> ReadFunction:
    """The program of ``f`` for arguments like these. ``static`` are leaves of ``(args, kwargs)``,
    as ``transforms.tree`` counts them, that are constants of it. The one program is for all
    lengths of arrays at places that are ``varying``, and for all values of integers there. It may
    be for the lengths of the others alone, with each run of a loop by itself, if it ``settles``.

    Raises SourceError for what cannot be read.
    """
    kept: frozenset[Hashable] = frozenset()
    recursive: dict[Hashable, frozenset[int]] = {}
    for _ in range(MOST_RESTARTS):
        # With these leaves known, recursions may be followed call by call.
        deep: frozenset[int] = frozenset().union(*recursive.values()) - static
        try:
            return _attempt(f, args, kwargs, static, varying, kept, recursive, settles)
        except Restart as again:
            new = not again.recursive.keys() <= recursive.keys()
            if again.static <= static and again.kept <= kept and not new:
                break
            if SETTLES in again.kept:
                recursive = {}
            static, kept = static | again.static, kept | again.kept
            recursive |= again.recursive
        except NeedsConstant as need:
            found: frozenset[int] = getattr(need.value, "sources", frozenset())
            found = (found | deep) - static
            if not found:
                raise refuse.at(need.reading, need.node, need.what, need.advice) from None
            static, recursive = static | found, {}
        except refuse.SourceError:
            if not deep:
                raise
            static, recursive = static | deep, {}
        except refuse.Unreadable as error:
            raise refuse.unreadable(_name(f), str(error)) from None
        except RecursionError:
            raise refuse.unreadable(_name(f), "calls or expressions are nested too deep") from None
    raise refuse.unreadable(_name(f), "what has to be known of its arguments is not settled")


def _name(f: Any) -> str:
    return getattr(f, "__qualname__", None) or type(f).__qualname__


class _Arguments:
    """The arguments as values: numbers and arrays are parameters, containers are taken apart."""

    def __init__(
        self,
        walker: Interpreter,
        static: frozenset[int],
        node: ast.AST,
    ) -> None:
        self.walker, self.wanted, self.node = walker, static, node
        self.count = 0
        self.leaves: list[int] = []
        self.inputs: list[places.Place] = []
        self.static: dict[int, Any] = {}
        self._singles: list[tuple[ZeroDimensional, Any]] = []

    def value(self, given: Any, place: places.Place) -> Any:
        """The value of an argument, or of a part of one."""
        if given is None:
            return Known(None)
        if isinstance(given, tuple):
            items = tuple(
                self.value(one, place.item(at)) for at, one in enumerate(tuple.__iter__(given))
            )
            if type(given) is not tuple and not hasattr(given, "_fields"):
                self.walker.refuse(self.node, "a tuple of a class of its own", "use a tuple")
            refuse_own_methods(self.walker, type(given), self.node)
            return Tuple(items, type(given), None if type(given) is tuple else place.type())
        if isinstance(given, list | dict):
            return self._container(given, place)
        if isinstance(given, Opened):
            return self._instance(given, place)
        number = self.count
        self.count += 1
        return self._leaf(given, place, number)

    def _container(self, given: Any, place: places.Place) -> Any:
        if type(given) not in (list, dict):
            self.walker.refuse(self.node, f"a {type(given).__name__} as an argument", "use a dict")
        # A container that is in two places is read as two: the next call may have two there, and a
        # gradient has a part for each place.
        contents: Any
        if isinstance(given, list):
            items = [self.value(one, place.item(at)) for at, one in enumerate(given)]
            contents = ListContents(tuple(items), external=True)
        else:
            values = [self.value(one, place.item(key)) for key, one in given.items()]
            contents = DictContents(tuple(given), tuple(values), external=True)
        reference = self.walker.allocate(contents)
        self.walker.outer_places[reference.address] = place
        return reference

    def _instance(self, given: Opened, place: places.Place) -> Any:
        values = tuple([self.value(part, at) for at, part in given.places(place)])
        cls = type(given.instance)
        reference = self.walker.allocate(
            InstanceContents(cls, given.names, values, place.type(), external=True)
        )
        self.walker.outer_places[reference.address] = place
        return reference

    def _leaf(self, given: Any, place: places.Place, number: int) -> Any:
        walker = self.walker
        kind = KINDS.get(type(given))
        constant = kind in ("numpy_bool", "int64") or kind_of(Known(given)) is None
        if kind is not None and (number in self.wanted or constant):
            self.static[number] = given
            return Known(given)
        if kind is not None:
            made = walker.builder.parameter(0, STORED[kind])
            self._parameter(number, place)
            # A float is never made a constant: it would be another program for each.
            exact = kind in ("int", "bool") and place not in walker.varying
            if kind == "int" and not exact:
                walker.left_open.add(made)
            return Number(kind, made, frozenset({number}) if exact else frozenset())
        if type(given) is np.ndarray and given.dtype in ELEMENTS:
            if not given.shape:
                return self._without_axes(given, place)
            made = walker.outer_array(given, place, self.node)
            self._parameter(number, place)
            return replace(made, computed=place in walker.varying)
        return walker.known(given, place, self.node)

    def _without_axes(self, given: Any, place: places.Place) -> Any:
        if given.dtype not in (np.float64, np.float32):
            self.walker.refuse(self.node, "an array of integers without axes", "pass a number")
        found = ZeroDimensional(Number("float64", -1), place)
        self._singles.append((found, given))
        return found

    def finish(self) -> None:
        """Makes parameters of the numbers of arrays without axes: what is read at places within the
        arguments comes after the arguments.
        """
        for single, given in self._singles:
            number = self.walker.known(given, single.place, self.node).number
            object.__setattr__(single, "number", number)

    def _parameter(self, number: int, place: places.Place) -> None:
        self.leaves.append(number)
        self.inputs.append(place)


def _attempt(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    static: frozenset[int],
    varying: frozenset[places.Place],
    kept: frozenset[Hashable],
    recursive: dict[Hashable, frozenset[int]],
    settles: bool,
) -> ReadFunction:
    needs = places.Needs()
    callee = read.callee(f, needs=needs)
    reading = read.function(callee.function)
    walker = Interpreter(_core.IrBuilder(reading.name, reading.file), needs, kept)
    walker.recursive = recursive
    walker.varying = varying
    walker.roots = (f, *args, *kwargs.values())
    node = reading.node
    names = places.Names(callee.function, callee.place)
    walker.frames.append(Frame(None, reading, names, Scope()))
    walker.state.environments.append({})
    if PRINTS in kept:
        walker.printed = walker.allocate(CellContents(Known(None)))
        walker.held.append(walker.printed)
    given = _Arguments(walker, static, node)
    values = [given.value(one, places.argument(at)) for at, one in enumerate(args)]
    named = {
        name: given.value(one, places.argument(len(args) + at))
        for at, (name, one) in enumerate(kwargs.items())
    }
    given.finish()
    walker.held += [*values, *named.values()]
    first = [walker.known(value, where, node) for value, where in callee.args]
    keywords = {name: walker.known(*found, node) for name, found in callee.keywords.items()}
    results = Results()
    found: Any = form.Constant(None)
    printed: Any = None
    returns = True
    try:
        first = [*first, *values]
        if read.is_dispatching(callee.function) and first:
            called = Known(callee.function, callee.place)
            value = walker.dispatched(called, first, keywords | named, node)
        else:
            closure = walker.closure_of(callee.function, callee.place, node)
            value = walker.inline(closure, first, keywords | named, node)
        found = walker.form_of(value, results, (), node)
        # What is printed are results after the others.
        beside = Results(results.ids)
        transcript = walker.all_printed(node)
        if transcript is not None:
            printed = walker.form_of(transcript, beside, (), node)
        walker.builder.returns(results.ids)
    except Ended:
        returns = False
    except (refuse.SourceError, NeedsConstant) as error:
        if walker.tabled and NO_TABLES not in kept:
            raise Restart(kept=frozenset({NO_TABLES})) from None
        if walker.was_small and SMALL_TABLES not in kept:
            raise Restart(kept=frozenset({SMALL_TABLES})) from None
        known = isinstance(error, NeedsConstant) and sources_of(error.value)
        # Calls that end at some length are followed one by one for the length that was seen.
        measured = walker.measured and (recursive or isinstance(error, NeedsConstant))
        ways = measured or (walker.unsettled and not recursive)
        if ways and not known and SETTLES not in kept:
            if not settles:
                raise refuse.Unsettled(UNSETTLED) from None
            raise Restart(kept=frozenset({SETTLES})) from None
        if walker.exhausted and settles and ROLLS not in kept:
            raise Restart(kept=frozenset({ROLLS})) from None
        raise
    except RecursionError:
        # Python's own stack is not deep enough to follow these calls one by one.
        if walker.repeated is None or walker.repeated in recursive:
            raise
        raise Restart(recursive={walker.repeated: frozenset()}) from None
    return ReadFunction(
        walker.builder.finish(),
        [*given.inputs, *walker.places],
        walker.captured,
        given.leaves,
        needs,
        given.static,
        walker.constants,
        results.outputs,
        None if results.tagged else found,
        results.tagged,
        returns,
        found,
        walker.asks_kind,
        walker.takes_no_variable,
        printed,
    )
