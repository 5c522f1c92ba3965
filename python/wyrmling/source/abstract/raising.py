"""How a path ends that raises an exception: in a handler of the text, or out of the program."""

from __future__ import annotations

import ast
import builtins
import types
from typing import Any, NoReturn

import numpy as np

from .frames import Frame, Handler
from .operations import Operations
from .values import Known, Number

PLAIN = frozenset(
    {type(None), bool, int, float, complex, str, bytes, tuple, range, slice, type, type(...)}
    | {types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType}
    | {type(NotImplemented), np.float64, np.float32, np.int64, np.bool_, np.ufunc}
)
"""The classes of objects of which it is known what operations Python has for them."""

UNKNOWN = Known(None)
"""The arguments of an exception that Python raises itself."""


class Ended(Exception):
    """The path that was followed goes no further."""


def is_plain(cls: type) -> bool:
    """Whether nothing but Python's own code runs when an exception of this class is made. The
    arguments of an OSError choose its class.
    """
    if type(cls) is not type or not issubclass(cls, BaseException) or issubclass(cls, OSError):
        return False
    own = [one for one in cls.__mro__ if vars(builtins).get(one.__name__) != one]
    return not any({"__init__", "__new__"} & vars(one).keys() for one in own)


class Raising(Operations):
    """What leaves the program, or reaches a handler."""

    builder: Any
    frames: list[Frame]

    def exit(self, text: str, node: ast.AST) -> int:
        """A way out of the program."""
        made: int = self.builder.exit(text, getattr(node, "lineno", 0))
        return made

    def handler_of(self, cls: type[BaseException]) -> Handler | None:
        """Where an exception of a class goes first, if it is known what handles it in the end: not
        within ``with``, in a program of its own, or out of a function that calls itself.
        """
        passed = None
        for frame in reversed(self.frames):
            for handler in reversed(frame.handlers):
                if handler.barred or handler.builder is not self.builder:
                    return None
                if handler.passes:
                    passed = passed or handler
                elif any(issubclass(cls, one) for one in handler.classes):
                    return passed or handler
            if frame.recursion is not None:
                return None
        return None

    def handed(self, handler: Handler, cls: type[BaseException], args: Any = UNKNOWN) -> NoReturn:
        """Ends the path at a handler, with the arguments of the exception."""
        handler.raised.append((self.leaving(handler.around, args), cls))
        raise Ended

    def guard(
        self, condition: Any, text: str, node: ast.AST, error: type[Exception] | None = None
    ) -> None:
        """Goes on where a condition holds: a bool, known or computed, or a value of the program;
        else to what handles the exception, or out.
        """
        if isinstance(condition, Known):
            if not condition.object:
                self.leave(text, node, error)
            return
        held = condition if isinstance(condition, int) else condition.id
        if error is None or self.handler_of(error) is None:
            self.builder.guard(held, self.exit(text, node))
            return
        self.decide(Number("bool", held), lambda: None, lambda: self.leave(text, node, error), node)

    def leave_with(self, text: str, node: ast.AST, *values: Any) -> NoReturn:
        """Ends the path where Python has no such operation for values of its own kinds. An object
        of another class may have it: what follows would be run, though it was not read.
        """
        for value in values:
            if isinstance(value, Known) and type(value.object) not in PLAIN:
                kind = type(value.object).__qualname__
                self.refuse(
                    node, f"an object of {kind} here", "use numbers, tuples, lists or arrays"
                )
        self.leave(text, node)

    def leave(
        self,
        text: str,
        node: ast.AST,
        error: type[Exception] | None = None,
        args: Any = UNKNOWN,
    ) -> NoReturn:
        """Ends the path: where nothing handles the exception, whoever runs the program calls the
        Python function instead.
        """
        # The constructor of another class may have effects.
        if error is not None and is_plain(error):
            handler = self.handler_of(error)
            if handler is not None:
                self.handed(handler, error, args)
        self.builder.leave(self.exit(text, node))
        raise Ended
