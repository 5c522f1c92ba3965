"""The methods of NumPy's arrays on variables, where the native class does not have them.

They are the functions of ``wyrmling.arrays``, whose first argument is the variable.

>>> from wyrmling import Variable
>>> Variable([1.0, 2.0, 3.0]).cumsum().value
array([1., 3., 6.])
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from . import arrays
from ._core import Variable
from ._core import diagonal as _diagonal


def diagonal(self: Variable, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Variable:
    """The diagonal of each matrix, along a last axis."""
    return _diagonal(self, offset, axis1, axis2)


def any_true(self: Variable, axis: Any = None) -> Any:
    """Whether any element along axes is not zero, as a plain value."""
    return np.any(self.value, axis=axis)


def all_true(self: Variable, axis: Any = None) -> Any:
    """Whether no element along axes is zero, as a plain value."""
    return np.all(self.value, axis=axis)


def nonzero(self: Variable) -> Any:
    """The indices of the elements that are not zero, as plain arrays."""
    return np.nonzero(self.value)


def tolist(self: Variable) -> Any:
    """The values as a float, or nested lists of floats, which carry no gradient."""
    return self.value.tolist()


def to_int(self: Variable) -> int:
    """The value as an integer, rounded towards zero. Raises ValueError unless it is one."""
    return int(self.item())


METHODS: dict[str, Callable[..., Any]] = {
    "__int__": to_int,
    "all": all_true,
    "any": any_true,
    "argmax": arrays.argmax,
    "argmin": arrays.argmin,
    "argsort": arrays.argsort,
    "astype": arrays.astype,
    "clip": arrays.clip,
    "copy": arrays.copy,
    "cumprod": arrays.cumprod,
    "cumsum": arrays.cumsum,
    "diagonal": diagonal,
    "flatten": arrays.ravel,
    "nonzero": nonzero,
    "prod": arrays.prod,
    "ravel": arrays.ravel,
    "repeat": arrays.repeat,
    "round": arrays.round,
    "std": arrays.std,
    "swapaxes": arrays.swapaxes,
    "take": arrays.take,
    "tolist": tolist,
    "var": arrays.var,
}

for _name, _method in METHODS.items():
    setattr(Variable, _name, _method)
