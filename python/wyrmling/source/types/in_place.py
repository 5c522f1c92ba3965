"""Functions of NumPy that write to an array: ``out=``, ``np.copyto``, ``x.fill``, ``np.add.at``.

What is recorded writes to a copy and gives that, so that the array has a new value in the heap as
after an assignment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

METHODS = frozenset({"fill", "partition", "put", "sort"})
UNREAD_METHODS = frozenset({"byteswap", "itemset", "resize", "setfield", "setflags"})
"""Methods that write to an array, or change how it is seen, and are refused."""
FUNCTIONS: tuple[Any, ...] = (
    *(np.copyto, np.fill_diagonal, np.place, np.put, np.put_along_axis, np.putmask),
)


@contextmanager
def in_use(walker: Any, values: Sequence[Any]) -> Iterator[None]:
    """Keeps values in use in the statement that is executed: views among them bar writes."""
    start = walker.statement
    walker.held[start:start] = values
    walker.statement += len(values)
    try:
        yield
    finally:
        walker.statement = start
        del walker.held[start : start + len(values)]


def _copied(array: Any) -> Any:
    import wyrmling

    return array.copy() if isinstance(array, np.ndarray) else wyrmling.array(array)


class Written:
    """A function that writes, as one that gives what was written to: a copy of its first argument,
    which it is given as ``out`` or as its first argument. ``of`` is the function itself.
    """

    def __init__(self, function: Callable[..., Any], name: str, way: str) -> None:
        self.of, self.way, self.label = function, way, name
        self.__name__ = f"{name} in place"

    def __call__(self, array: Any, *args: Any, **kwargs: Any) -> Any:
        """The array afterwards."""
        made = _copied(array)
        if self.way == "out":
            self.of(*args, out=made, **kwargs)
        elif self.way == "method":
            getattr(made, self.of.__name__)(*args, **kwargs)
        else:
            self.of(made, *args, **kwargs)
        return made


def written(function: Any, name: str, has_out: bool) -> Written | None:
    """What is recorded for a function that writes to an array; None if it does not."""
    if has_out:
        return Written(function, name, "out")
    if isinstance(function, type(np.ndarray.sum)):
        return Written(function, name, "method") if name in METHODS else None
    if any(function is one for one in FUNCTIONS):
        return Written(function, name, "first")
    if name == "at" and isinstance(getattr(function, "__self__", None), np.ufunc):
        return Written(function, name, "first")
    return None
