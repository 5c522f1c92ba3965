"""Which functions of NumPy's, SciPy's and ours may be called with arrays while a function is read.

They only compute: they write to no array, no file and no screen.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ... import _core, _names
from ..types.classes import package_of
from ..types.creation import CREATORS

# What writes to files, or shows.
EXPORTS = frozenset(
    {"save", "savetxt", "savez", "savez_compressed", "tofile", "dump", "dumps", "tolist"}
    | {"tobytes", "tostring", "array2string", "array_repr", "array_str"}
)
MADE_OF_NUMBERS = CREATORS | frozenset(
    {"zeros", "ones", "full", "empty", "eye", "identity", "arange", "linspace", "logspace"}
    | {"geomspace", "zeros_like", "ones_like", "full_like", "empty_like", "tri", "meshgrid"}
    | {"indices", "diag_indices", "tril_indices", "triu_indices", "ix_", "unravel_index"}
    | {"bartlett", "blackman", "hamming", "hanning", "kaiser", "fftfreq", "rfftfreq"}
    | {"broadcast_shapes", "ravel_multi_index"}
)


@functools.cache
def _own_functions() -> frozenset[int]:
    """The functions that wyrmling exports and that only compute, by their ids."""
    import wyrmling

    names = [name for name, _, _ in _core.exported()]
    names += _names.HOMES["functions"].split()
    found = {id(getattr(wyrmling, name)) for name in names if hasattr(wyrmling, name)}
    for module in (wyrmling.special, wyrmling.linalg, wyrmling.arrays):
        for name in getattr(module, "__all__", ()):
            found |= {
                id(getattr(owner, name)) for owner in (module, wyrmling) if hasattr(owner, name)
            }
    return frozenset(found)


def is_primitive(function: Any) -> bool:
    """Whether this is a function with rules of the user's."""
    # Its module imports this package: it is known by name.
    return type(function).__module__ == "wyrmling.transforms.primitive"


def is_own_function(function: Any) -> bool:
    """Whether this is a function of wyrmling's that takes variables, and only computes."""
    return package_of(function) == "wyrmling" and id(function) in _own_functions()


def own_of_scipy(function: Any) -> Any:
    """Our function for one of ``scipy.special`` that is no ufunc, and so does not ask variables;
    None for any other.
    """
    name = getattr(function, "__name__", "")
    module = getattr(function, "__module__", None) or ""
    if name not in ("log_softmax", "logsumexp", "softmax") or not module.startswith("scipy."):
        return None
    import wyrmling

    return getattr(wyrmling.special, name)


@functools.cache
def _dispatched() -> list[Any]:
    """The functions of NumPy that take variables."""
    from ... import dispatch

    return list(dispatch.functions())


def is_allowed(function: Any, name: str, method: bool) -> bool:
    """Whether a function, which may be a ``method`` of arrays, only computes."""
    if method:
        return hasattr(_core.Variable, name) and name not in EXPORTS
    own = isinstance(function, np.ufunc) or is_primitive(function) or is_own_function(function)
    if own or name in MADE_OF_NUMBERS:
        return True
    return package_of(function) != "numpy" or (
        name not in EXPORTS and any(function is one for one in _dispatched())
    )
