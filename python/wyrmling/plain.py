"""Plain in, plain out: the form in which users get the functions of the package.

Inside the package a function makes variables of what it is given, and gives a variable. What users
call is its public form: if no argument is a variable (a ``Parameter``, an ``Input``, what a
transform traces, also inside lists and tuples, ``out=`` and ``where=``), the result is plain:
arrays and NumPy's scalars, tuples and lists of them.

- A function of NumPy's name and meaning is then NumPy's own, called as it was: element types,
  integers, arguments, warnings and errors are NumPy's.
- Any other, and all of ``wyrmling.special`` and ``wyrmling.linalg``, computes as it does for
  variables, so that a function of these gives the same to the bit whether it is traced or not; the
  value is given. float32 stays float32, integers and booleans become float64.

What makes variables on purpose, ``array`` and the classes, has no such form.
"""

import functools
import re
from collections.abc import Callable, Iterator, Sequence, ValuesView
from itertools import islice
from typing import Any, TypeVar, cast

import numpy as np

from . import _core
from ._core import Variable, has_variable

Function = Callable[..., Any]
T = TypeVar("T")

# What stands for an argument that is not given.
_NOTHING = object()

# Most items that are taken of what is no list or tuple, and may have no end.
MOST_ITEMS = 1 << 20


def value(x: Any) -> Any:
    """The value of a variable, or of those in a tuple, list or dict: arrays and NumPy's scalars.

    >>> value((Variable([1.0, 2.0]), 3))
    (array([1., 2.]), 3)
    """
    if isinstance(x, Variable):
        return x.value if x.ndim else x.value[()]
    if isinstance(x, tuple):
        parts = map(value, x)
        return type(x)(*parts) if hasattr(x, "_fields") else tuple(parts)
    if isinstance(x, list):
        return [value(item) for item in x]
    return x


def _opened(x: Any) -> Any:
    """The items, of what NumPy or we would go through to find arrays; anything else as it is."""
    if isinstance(x, Iterator | ValuesView) or (
        isinstance(x, Sequence)
        and not isinstance(x, list | tuple | str | bytes | bytearray | memoryview | range)
    ):
        # By a loop: list() would believe the length that it says it has.
        items = [item for item in islice(x, MOST_ITEMS + 1)]  # noqa: C416
        if len(items) > MOST_ITEMS:
            raise ValueError(f"expected {MOST_ITEMS} items at most, got more")
        return items
    return x


def plainly(ours: Function, theirs: Function | None = None) -> Function:
    """What is called where no variable was found: ``theirs``, or ``ours`` for the value."""

    def function(*args: Any, **kwargs: Any) -> Any:
        args = tuple(map(_opened, args))
        kwargs = {name: _opened(x) for name, x in kwargs.items()}
        if has_variable(args, kwargs):
            return ours(*args, **kwargs)
        if theirs is not None:
            return theirs(*args, **kwargs)
        return value(ours(*args, **kwargs))

    return function


def public(ours: Function, module: str, theirs: Function | None = None) -> Function:
    """The public form of a function, for the module that users import it from.

    ``inner`` gives ``ours`` back.
    """
    without = plainly(ours, theirs)
    if isinstance(ours, type(_core.exp)):
        made: Function = _core.public(ours, module, without, _wide(ours, theirs))
        return made

    @functools.wraps(ours)
    def function(x: Any = _NOTHING, /, *args: Any, **kwargs: Any) -> Any:
        # The first argument nearly always is the variable, and often the only one.
        if isinstance(x, Variable):
            return ours(x, *args, **kwargs) if args or kwargs else ours(x)
        given = () if x is _NOTHING else (x, *args)
        return (ours if has_variable(given, kwargs) else without)(*given, **kwargs)

    function.__module__ = module
    return function


def _wide(ours: Any, theirs: Function | None) -> tuple[Function, int, list[str]] | None:
    """NumPy's function, and the arguments that ours shares with it, by position and by name."""
    if theirs is None or theirs is not numpys(theirs.__name__):
        return None  # It is no function that would ask a variable.
    unnamed, _, rest = ours.__text_signature__.strip("()").partition("/")
    placed, _, named = rest.partition("*")
    first, others = (re.findall(r"(\w+)=?[^,]*", part) for part in (placed, named))
    # In NumPy dtype or out comes before keepdims.
    shared = unnamed.count(",") + len(first) - ("keepdims" in first)
    return theirs, shared, first + others


def inner(function: Any) -> Any:
    """The function that a public form stands for; any other as it is.

    >>> import wyrmling as wy
    >>> inner(wy.exp) is _core.exp, inner(wy.arrays.cumsum) is wy.arrays.statistics.cumsum
    (True, True)
    """
    bound = getattr(function, "__self__", None)
    if isinstance(bound, _core.Public):
        return bound.function
    return getattr(function, "__wrapped__", function)


# Native functions that in NumPy give arrays also where nothing has axes. Those of ``_OF_NUMBERS``
# do so of Python's numbers, of which they make arrays; a number of NumPy's stays one.
_OF_ARRAYS = ("expand_dims", "i0", "where")
_OF_NUMBERS = ("reshape", "squeeze", "transpose")


def whole(x: T) -> T:
    """A result without axes as an array, which ``+=`` changes for all its names, and no number."""
    if isinstance(x, Variable) and not x.ndim and _core.is_scalar(x):
        return cast(T, x[...])
    return x


@functools.cache
def native(name: str) -> Function:
    """A function of the native module; what it gives is an array where NumPy makes one."""
    function: Function = getattr(_core, name)
    if name not in _OF_ARRAYS + _OF_NUMBERS:
        return function

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        first = args[0] if args and name in _OF_NUMBERS else None
        if first is None or (isinstance(first, Variable) and _core.is_number(first)):
            return whole(result)
        return result

    return wrapped


def numpys(name: str) -> Function | None:
    """NumPy's function of this name, if this NumPy has it."""
    # By the module's dictionary: getattr would warn of names that are deprecated.
    found = vars(np).get(name)
    return found if callable(found) else None
