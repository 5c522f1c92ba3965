"""Whether reading a function pays in ``mode="auto"``, and what is remembered of it.

The first call of a signature is traced unless the function has a loop: most functions that are
called once are not worth a compilation, and a loop may be long. Where kinds of arguments or
captured values go on changing, a function would be compiled again and again: there is a limit for
its code, after which what fits nothing is traced.
"""

from __future__ import annotations

import contextlib
import dis
import itertools
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .._core import SpecializationTable
from .text import read
from .text.identity import LOCK, IdentityCache
from .text.refuse import Unreadable
from .text.scope import Place

MOST_SIGNATURES = 16
MOST_COMPILED = 24
MOST_ASKED = 128
MOST_LOOKED_AT = 50
MOST_VALUES = 3
KINDS_ASKED = frozenset({"isinstance", "type", "hasattr", "__class__"})

_BACKWARD = frozenset(code for name, code in dis.opmap.items() if "JUMP_BACKWARD" in name)
_IS, _CONSTANT = dis.opmap["IS_OP"], dis.opmap["LOAD_CONST"]


class Record:
    """What is known of a function's code under a chain of transforms."""

    def __init__(self) -> None:
        self.table = SpecializationTable(MOST_SIGNATURES)
        self.seen: set[Any] = set()
        self.compiled = 0
        # Whether some program of it prints.
        self.prints = False
        # Whether some program of it does what tracing may refuse or do otherwise.
        self.unlike_traced = False
        # Whether tracing has refused it, and whether a call of it was traced.
        self.untraceable = False
        self.was_traced = False
        self.asked = 0
        # Of integers: the values that programs are for, each for one alone; and those integers that
        # no program leaves open.
        self.values: dict[Place, set[int]] = {}
        self.held: frozenset[Place] = frozenset()

    def varying(self) -> list[Place]:
        """The integers of which there are several programs, each for one value."""
        # Another thread may add to the dict meanwhile: a list of its items is made at once.
        found = list(self.values.items())
        often = [place for place, values in found if len(values) >= MOST_VALUES]
        return [place for place in often if place not in self.held]

    def holds(self, constants: Mapping[Place, int]) -> None:
        """Notes that there is a program for these values of integers."""
        for place, value in constants.items():
            if place not in self.held:
                self.values.setdefault(place, set()).add(value)

    def is_new(self, signature: Any) -> bool:
        """Whether no call of this signature came before; from now on one did."""
        if signature in self.seen:
            return False
        self.seen.add(signature)
        return True

    def ask(self) -> None:
        """Counts that nothing fitted a call; from the last time on nothing is made any more."""
        self.asked += 1
        if self.asked >= MOST_ASKED:
            self.table.close()

    def may_compile(self) -> bool:
        """Counts a compilation: whether it is one of the first."""
        self.compiled += 1
        return self.compiled <= MOST_COMPILED


_records: IdentityCache[types.CodeType, dict[Any, Record]] = IdentityCache(4096)


def record(f: Callable[..., Any], key: Any) -> Record:
    """What is known of a function's code under this key. Raises Unreadable if it has no code."""
    is_function = isinstance(f, types.FunctionType)
    code = f.__code__ if is_function else read.callee(f).function.__code__
    found = _records.get(code)
    if found is not None and key in found:
        return found[key]
    with LOCK:
        found = _records.get(code)
        if found is None:
            found = _records.put(code, {})
        return found.setdefault(key, Record())


def may_print(f: Callable[..., Any]) -> bool:
    """Whether a function names ``print``, or a function that it names does, and so on: if it were
    traced and could not be, it would have printed already.
    """
    return _mentions(f, frozenset({"print"}))


def may_ask_kind(f: Callable[..., Any]) -> bool:
    """Whether a function, or one that it names, names what tells a variable from an array."""
    return _mentions(f, KINDS_ASKED)


def tracing_differs(f: Callable[..., Any]) -> bool:
    """Whether a function, or one that it names, asks whether two objects are one, or is chosen by
    the class of an argument (``functools.singledispatch``): a variable is another object than the
    array that it stands for, and of another class. Not where it compares with a constant.
    """
    return any(code is read.DISPATCHING or _compares_objects(code) for code in _codes(f))


def _compares_objects(code: types.CodeType) -> bool:
    """Whether something in a code object is compared by identity, and not with a constant."""
    pairs = itertools.pairwise(code.co_code[::2])
    return any(after == _IS and before != _CONSTANT for before, after in pairs)


def _mentions(f: Callable[..., Any], names: frozenset[str]) -> bool:
    """Whether there is one of these names in a function, or in one that it names, and so on."""
    return any(not names.isdisjoint(code.co_names) for code in _codes(f))


def _codes(f: Callable[..., Any]) -> Iterator[types.CodeType]:
    """The code of a function and of those inside of it, of functions that it names, and so on."""
    try:
        waiting: list[Any] = [read.callee(f).function]
    except Unreadable:
        return
    seen: set[types.CodeType] = set()
    while waiting and len(seen) < MOST_LOOKED_AT:
        function = waiting.pop()
        code = function.__code__
        if code in seen:
            continue
        seen.add(code)
        codes = [code]
        while codes:
            each = codes.pop()
            yield each
            codes += [one for one in each.co_consts if isinstance(one, types.CodeType)]
            found = [function.__globals__.get(name) for name in each.co_names]
            waiting += [one for one in found if isinstance(one, types.FunctionType)]
        for cell in function.__closure__ or ():
            with contextlib.suppress(ValueError):
                if isinstance(cell.cell_contents, types.FunctionType):
                    waiting.append(cell.cell_contents)


def has_loop(f: Callable[..., Any]) -> bool:
    """Whether a function has a loop: a jump back in its code, or in that of a function inside."""
    try:
        waiting = [read.callee(f).function.__code__]
    except Unreadable:
        return False
    while waiting:
        code = waiting.pop()
        if not _BACKWARD.isdisjoint(code.co_code[::2]):
            return True
        waiting += [each for each in code.co_consts if isinstance(each, types.CodeType)]
    return False
