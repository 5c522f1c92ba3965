"""0-d arrays that exist outside of the function, as arguments of NumPy's functions.

Such an array is a ``values.ZeroDimensional``. Functions whose result is the same for it as for its
number are given the number. Those that may return the array itself or a view of it
(``np.asarray``, ``np.transpose``) are refused, since the program has no array to return.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..abstract.state import ListContents
from ..abstract.values import Reference, Tuple, ZeroDimensional
from ..abstract.walker import Walker

METHODS = frozenset({"clip", "item", "max", "mean", "min", "prod", "std", "sum", "var"})
"""Methods of such an array whose result is that of the number's method."""
FUNCTIONS = METHODS | frozenset(
    {"all", "amax", "amin", "angle", "any", "append", "around", "array", "average", "block"}
    | {"clip", "convolve", "copy", "corrcoef", "cov", "cumprod", "cumsum", "cumulative_prod"}
    | {"cumulative_sum", "diagflat", "dot", "ediff1d", "full", "full_like", "geomspace"}
    | {"gradient", "i0", "inner", "interp", "isclose", "isreal", "kron", "linspace", "logspace"}
    | {"median", "meshgrid", "nan_to_num", "nancumprod", "nancumsum", "nanmax", "nanmean"}
    | {"nanmedian", "nanmin", "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum"}
    | {"nanvar", "ndim", "ones_like", "outer", "percentile", "polyadd", "polymul", "polysub"}
    | {"ptp", "quantile", "roll", "round", "shape", "sinc", "size", "sort", "tile", "vdot"}
    | {"where", "zeros_like"}
)
"""Functions of NumPy, beside its ufuncs, whose result is the same for the number."""


def with_numbers(walker: Walker, function: Any, value: Any) -> Any:
    """An argument of a function of NumPy's with numbers in the place of such arrays. In lists and
    tuples any function is given numbers: NumPy makes a new array of these.
    """
    if isinstance(value, ZeroDimensional):
        takes = isinstance(function, np.ufunc) or function.__name__ in FUNCTIONS
        return value.number if takes else value
    return _replaced(walker, value) if _holds(walker, value) else value


def _items(walker: Walker, value: Any) -> tuple[Any, ...]:
    if isinstance(value, Tuple):
        return value.items
    contents = walker.state.heap.get(value.address) if isinstance(value, Reference) else None
    return contents.items if isinstance(contents, ListContents) else ()


def _holds(walker: Walker, value: Any) -> bool:
    return isinstance(value, ZeroDimensional) or any(
        _holds(walker, item) for item in _items(walker, value)
    )


def _replaced(walker: Walker, value: Any) -> Any:
    if isinstance(value, ZeroDimensional):
        return value.number
    items = tuple(_replaced(walker, item) for item in _items(walker, value))
    if isinstance(value, Tuple):
        return Tuple(items, value.cls)
    return walker.new_list(items) if items else value
