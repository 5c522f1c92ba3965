"""The array functions that do not simply call NumPy's function where no argument is a variable.

``astype`` and the ways to split take lists too, and NumPy has no ``replace``. Functions of
functions, such as ``apply_along_axis``, keep the variables that the given function returns: NumPy's
would make arrays of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import replace as _replace
from . import application, selection
from .application import GivesVariables, watched


def astype(x: Any, dtype: npt.DTypeLike, /, *, copy: bool = True, device: Any = None) -> Any:
    """An array in another type, as ``numpy.astype`` of NumPy 2.1, and a number as a scalar."""
    if device not in (None, "cpu"):
        raise ValueError(f"astype: device: expected 'cpu', got {device!r}")
    return np.asanyarray(x).astype(dtype, copy=copy)[()]


def replace(x: Any, key: Any, value: Any, /) -> Any:
    """A copy with other elements, which take its type."""
    _replace(x, key, value)  # It raises for what does not fit.
    y = np.array(x)
    y[key] = value
    return y[()]


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """NumPy's, unless the function returns variables, which it may have from elsewhere.

    Then it is called anew for the first lane.
    """
    try:
        return np.apply_along_axis(watched(func1d), axis, arr, *args, **kwargs)
    except GivesVariables:
        return application.apply_along_axis(func1d, axis, arr, *args, **kwargs)


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """NumPy's, unless a function returns variables; then all are called anew."""
    try:
        return np.piecewise(x, condlist, [watched(f) for f in funclist], *args, **kw)
    except GivesVariables:
        return selection.piecewise(x, condlist, funclist, *args, **kw)


def _of_arrays(name: str) -> Callable[..., Any]:
    """NumPy's function, which takes arrays alone, of lists too."""
    function: Callable[..., Any] = getattr(np, name)

    def taken(*args: Any, **kwargs: Any) -> Any:
        return function(*(np.asarray(x) if isinstance(x, list) else x for x in args), **kwargs)

    return taken


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _of_arrays(name) for name in ("dsplit", "hsplit", "take_along_axis", "vsplit")},
    "apply_along_axis": apply_along_axis,
    "astype": astype,
    "piecewise": piecewise,
    "replace": replace,
}
