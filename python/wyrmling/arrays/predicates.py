"""Questions about values: NumPy's functions whose results carry no gradient.

The answer is about the value as it is now, as that of ``.value`` is, and is a plain array, number
or boolean: nothing remembers that it came from a variable. Of what follows an input none is given,
for a program made from it would keep the answer whatever the input is.

>>> import numpy as np
>>> from wyrmling import Variable
>>> np.allclose(Variable([1.0, 2.0]), [1.0, 2.0]), np.nonzero(Variable([0.0, 3.0]))
(True, (array([1]),))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._core import Variable, constant, follows_input, length
from .operand import Array, Axis, Like, axes_of, itself, plain


def of_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy that is given the values of variables.

    >>> of_values(len)(constant([0.0, 2.0]))
    2
    """

    name = getattr(function, "__name__", "the function")

    def asked(*args: Any, **kwargs: Any) -> Any:
        for given in (*args, *kwargs.values()):
            value(name, given)
        return function(*plain(args), **plain(kwargs))

    return asked


def value(name: str, x: Any) -> Any:
    """The value of a variable, or of those in a tuple or list; anything else as it is.

    Raises TypeError for a variable that follows an input, whose value now says nothing of later.
    """
    if isinstance(x, Variable):
        if follows_input(x):
            raise TypeError(
                f"{name}: this follows an input, and the answer would be a constant, whatever the "
                "input is later; compare and choose by operators (x > 0, np.where), or give "
                ".value for the answer of now"
            )
        return x.value
    if isinstance(x, tuple | list):
        for item in x:
            value(name, item)
    return plain(x)


def places(condition: Like) -> tuple[Array, ...]:
    """The places that are not zero: ``numpy.where`` of one argument."""
    found: tuple[Array, ...] = np.nonzero(value("where", constant(condition)))
    return found


def shape(a: Like) -> tuple[int, ...]:
    """The length of each axis, as ``Variable.shape``."""
    x, lengths = itself(a), []
    for axis in range(x.ndim):
        lengths.append(length(x, axis))  # in a frame of this function, see there
    return tuple(lengths)


def ndim(a: Like) -> int:
    """The number of axes."""
    return constant(a).ndim


def size(a: Like, axis: Axis = None) -> int:
    """The number of elements, or the length of an axis, of several the product.

    >>> size(constant([[1.0], [2.0]]), 0)
    2
    """
    x = itself(a)
    return length(x, axes_of("size", axis, x.ndim))
