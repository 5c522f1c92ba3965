"""Questions about values: NumPy's functions whose results carry no gradient.

The answer is about the value as it is now, as that of ``.value`` is, and is a plain array, number
or boolean: nothing remembers that it came from a variable.

>>> from wyrmling import Variable
>>> np.allclose(Variable([1.0, 2.0]), [1.0, 2.0]), np.nonzero(Variable([0.0, 3.0]))
(True, (array([1]),))
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .operand import plain

_NAMES = (
    "all",
    "allclose",
    "any",
    "argwhere",
    "array_equal",
    "array_equiv",
    "count_nonzero",
    "digitize",
    "flatnonzero",
    "isclose",
    "iscomplexobj",
    "isrealobj",
    "may_share_memory",
    "nonzero",
    "result_type",
    "searchsorted",
    "shares_memory",
)


def _of_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy that is given the values of variables."""

    def asked(*args: Any, **kwargs: Any) -> Any:
        return function(*plain(args), **plain(kwargs))

    return asked


FUNCTIONS = {name: _of_values(getattr(np, name)) for name in _NAMES}
