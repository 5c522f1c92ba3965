"""Which functions of NumPy are ours when they are given a variable.

NumPy asks ``Variable.__array_function__``, which looks here; the operators' own functions are
known to the native module. What is in neither raises a TypeError that names the function.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from . import arrays
from ._core import constant, register_functions
from .arrays import indexing, predicates, shaping

# Ours that have another name than NumPy's, or are not exported.
_OTHERS: dict[str, Callable[..., Any]] = {
    "empty_like": shaping.empty_like,
    "ones_like": shaping.ones_like,
    "zeros_like": shaping.zeros_like,
    "real": constant,
    "row_stack": arrays.vstack,
    "trapz": arrays.trapezoid,
    "where": indexing.choose_where,
}


def functions() -> dict[Callable[..., Any], Callable[..., Any]]:
    """The functions of this NumPy that are ours, each with ours.

    >>> functions()[np.cumsum] is arrays.cumsum
    True
    """
    ours = {name: getattr(arrays, name) for name in arrays.__all__}
    named = {**predicates.FUNCTIONS, **ours, **_OTHERS}
    # By its dictionary: asking NumPy for a name that it gives up would warn.
    known = vars(np)
    return {known[name]: function for name, function in named.items() if name in known}


register_functions(functions())
