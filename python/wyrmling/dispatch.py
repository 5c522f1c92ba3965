"""Which functions of NumPy are ours when they are given a variable: the one place that says.

NumPy asks ``Variable.__array_function__``, and for its universal functions ``__array_ufunc__``,
which look here; those that are operators by themselves (``np.sin``) the native module knows from
the rule table, with their names. What is in neither raises a TypeError that names the function.
"""

import inspect
import sys
from collections.abc import Callable, Iterable
from itertools import takewhile
from typing import Any

import numpy as np

from . import _core, arrays, linalg, numpy_factors, plain, variable
from .arrays import (
    contraction,
    joining,
    operand,
    parts,
    predicates,
    reductions,
    searching,
    shaping,
    windows,
)
from .arrays.output import finished

Function = Callable[..., Any]

# NumPy's own functions, called with the values of the variables: those whose answers a graph would
# keep.
_OF_VALUES = (
    "argwhere",
    "array_equiv",
    "flatnonzero",
    "isin",
    "lexsort",
    "nonzero",
)
# And those that show or save values, or ask for types and shapes.
_OF_VALUES_NOW = (
    "array2string",
    "array_repr",
    "array_str",
    "can_cast",
    "common_type",
    "diag_indices_from",
    "einsum_path",
    "iscomplexobj",
    "isfortran",
    "isrealobj",
    "min_scalar_type",
    "result_type",
    "save",
    "savetxt",
    "savez",
    "savez_compressed",
    "tril_indices_from",
    "triu_indices_from",
)


def _divmod(x1: Any, x2: Any, /) -> tuple[Any, Any]:
    """The quotient rounded down, and the remainder."""
    return _core.floor_divide(x1, x2), _core.mod(x1, x2)


def _real_if_close(a: Any, tol: float = 100) -> Any:
    """The array itself, which is real."""
    return operand.itself(a)


# Functions of ours under names of NumPy's that wyrmling does not export.
_OTHERS: dict[str, Function] = {
    "all": predicates.all,
    "allclose": predicates.allclose,
    "amax": _core.max,
    "amin": _core.min,
    "any": predicates.any,
    "array_equal": predicates.array_equal,
    "bitwise_and": variable.LOGICAL["&"][1],
    "bitwise_or": variable.LOGICAL["|"][1],
    "bitwise_xor": variable.LOGICAL["^"][1],
    "count_nonzero": predicates.count_nonzero,
    "digitize": searching.digitize,
    "divmod": _divmod,
    "i0": plain.native("i0"),
    "invert": variable.invert,
    "isclose": predicates.isclose,
    "iscomplex": parts.is_complex,
    "isreal": parts.is_real,
    "matmul": _core.matmul,
    "matrix_transpose": _core.matrix_transpose,
    "matvec": contraction.matvec,
    "ndim": predicates.ndim,
    "real": operand.itself,
    "real_if_close": _real_if_close,
    "row_stack": plain.inner(arrays.vstack),
    "searchsorted": searching.searchsorted,
    "shape": predicates.shape,
    "size": predicates.size,
    "trapz": plain.inner(arrays.trapezoid),
    "vecmat": contraction.vecmat,
}


# Those that have arguments of NumPy's which the native functions have not.
_WIDE: dict[str, Function] = {
    "amax": reductions.max,
    "amin": reductions.min,
    "concatenate": joining.concatenate_to,
    "max": reductions.max,
    "mean": reductions.mean,
    "min": reductions.min,
    "stack": joining.stack_to,
    "sum": reductions.sum,
    "trace": contraction.trace,
}

_MEMORY = "a variable has no memory of its own to ask for; ask whether it is the same object"
_INTEGERS = "it is for integers, which carry no gradient; give it .value"
_COMPLEX = "its result is complex, which no variable is"
_WINDOW = "compose it of np.fft's formulas as a product with a constant matrix of cosines and sines"
# Functions of NumPy that are refused, each with the way out.
REFUSED: dict[str, str] = {
    "bitwise_count": _INTEGERS,
    "bitwise_left_shift": _INTEGERS,
    "bitwise_right_shift": _INTEGERS,
    "gcd": _INTEGERS,
    "isnat": "it is for dates; give it .value",
    "ix_": "it is for indices; give it plain arrays of integers or booleans",
    "lcm": _INTEGERS,
    "left_shift": _INTEGERS,
    "may_share_memory": _MEMORY,
    "nextafter": "it has no derivative by its direction; give it .value",
    "packbits": _INTEGERS,
    "ravel_multi_index": _INTEGERS,
    "right_shift": _INTEGERS,
    "roots": f"{_COMPLEX}; of a real zero write Newton's iteration, or give it .value",
    "shares_memory": _MEMORY,
    "sort_complex": f"{_COMPLEX}; use np.sort",
    "spacing": "it is piecewise constant; give it .value",
    "unpackbits": _INTEGERS,
    "unravel_index": _INTEGERS,
}
_OF_LINALG = {
    "eig": f"{_COMPLEX}; use np.linalg.eigh for symmetric matrices",
    "eigvals": f"{_COMPLEX}; use np.linalg.eigvalsh for symmetric matrices",
}

# Those of np.fft whose results are real: they move elements.
_OF_FFT: dict[str, Function] = {"fftshift": shaping.fftshift, "ifftshift": shaping.ifftshift}
_OF_STRIDES: dict[str, Function] = {"sliding_window_view": windows.sliding_window_view}


def _refuse(name: str, way: str) -> Function:
    """What is called in the place of a function that is refused."""

    def refused(*args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"numpy.{name} is not among wyrmling's functions: {way}")

    return refused


def _refusals() -> dict[Function, Function]:
    named = {name: _refuse(name, way) for name, way in REFUSED.items()}
    spectral = {name: _refuse(f"linalg.{name}", way) for name, way in _OF_LINALG.items()}
    waves = {
        name: _refuse(f"fft.{name}", f"{_COMPLEX}; {_WINDOW}, or give it .value")
        for name in np.fft.__all__
        if name not in _OF_FFT
    }
    return dict([*_pairs(np, named), *_pairs(np.linalg, spectral), *_pairs(np.fft, waves)])


def placed(function: Function, named: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments of a function of NumPy that all have names, as far as they can go without: the
    first ones of native functions have none. They are taken out of ``named``.
    """
    try:
        names = list(inspect.signature(function).parameters)
    except ValueError:  # of functions in C of older NumPys
        names = []
    return tuple(named.pop(name) for name in takewhile(named.__contains__, names))


def _with_out(name: str, ours: Function, count: int) -> Function:
    """A function of so many operands, with the argument ``out``, which it has not by itself."""

    def function(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if len(args) == count + 1:
            args, out = args[:count], args[count]
        return finished(name, ours(*args, **kwargs), out)

    return function


def _public(module: Any) -> dict[str, Function]:
    """What a module exports, by name, without the question whether there is a variable."""
    return {name: plain.inner(getattr(module, name)) for name in module.__all__}


def _pairs(theirs: Any, named: dict[str, Function]) -> Iterable[tuple[Function, Function]]:
    """The functions of a module of NumPy that have these names, each with ours."""
    # Names are looked up in the module's dictionary: getattr would warn of deprecated ones, and the
    # oldest NumPy that we support lacks some.
    known = vars(theirs)
    return ((known[name], ours) for name, ours in named.items() if callable(known.get(name)))


def functions() -> dict[Function, Function]:
    """The functions of this NumPy that are ours, each with ours.

    >>> functions()[np.cumsum] is plain.inner(arrays.cumsum)
    True
    """
    # The native module says which of its functions are NumPy's. Elementwise ones are registered
    # too: most are ufuncs, for which NumPy asks __array_ufunc__, but some (sinc, i0) are not.
    native = [name for name, _, home in _core.exported() if home == "numpy"]
    native += [name for entry in _core.elementwise() for name in entry["numpy"]]
    named = {name: plain.native(name) for name in native}
    named |= {name: predicates.of_values(getattr(np, name)) for name in _OF_VALUES}
    now = predicates.value_now
    named |= {name: predicates.of_values(getattr(np, name), now) for name in _OF_VALUES_NOW}
    named |= _public(arrays) | _OTHERS
    decompositions = {name: f for name, f in _public(linalg).items() if name.islower()}
    decompositions |= numpy_factors.FUNCTIONS
    homes = (np, named), (np.linalg, decompositions), (np.fft, _OF_FFT)
    strides = (np.lib.stride_tricks, _OF_STRIDES)
    return dict(pair for home in (*homes, strides) for pair in _pairs(*home))


# Native functions that have an ``out`` in NumPy.
_WIDE |= {name: _with_out(name, getattr(_core, name), 2) for name in ("dot", "outer")}
_OTHERS["fix"] = _with_out("fix", _core.trunc, 1)
# The method ``clip`` of arrays calls a universal function that NumPy does not export. NumPy 2 names
# its module otherwise.
_INNER: Any = sys.modules.get("numpy._core.umath") or sys.modules["numpy.core.umath"]
_BEHIND = {_INNER.clip: plain.inner(arrays.clip)}
_core.register_functions(functions() | _refusals() | _BEHIND, dict(_pairs(np, _WIDE)))
