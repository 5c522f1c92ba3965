"""Order: sorted elements and their indices, the largest and the smallest.

Indices are variables of integers, which follow the order of whatever values a graph or program
is given and have no gradient; ``x[argsort(x)]`` has. Equal elements keep their order, and NaN
comes last, as in NumPy.
"""

from typing import Any

from .. import _core
from .._core import Variable, constant, reshape
from .operand import Like


def argsort(
    a: Like, axis: int | None = -1, *, kind: str | None = None, stable: bool | None = None
) -> Variable:
    """The indices that sort an array along an axis, or flattened; every sort here is stable.

    >>> argsort([3.0, 1.0, 2.0]).value
    array([1, 2, 0], dtype=uint32)
    """
    return _core.argsort(reshape(a, -1), 0) if axis is None else _core.argsort(a, axis)


def sort(
    a: Like, axis: int | None = -1, *, kind: str | None = None, stable: bool | None = None
) -> Variable:
    """The elements in order along an axis, or of the flattened array.

    >>> sort([3.0, 1.0, 2.0]).value
    array([1., 2., 3.])
    """
    x, along = (reshape(a, -1), 0) if axis is None else (constant(a), axis)
    return _core.take_along_axis(x, _core.argsort(x, along), along)


def _extreme(find: Any, a: Like, axis: int | None, keepdims: bool) -> Variable:
    x = constant(a)
    found: Variable
    if axis is not None:
        found = find(x, axis, keepdims)
        return found
    found = find(reshape(x, -1), 0, False)
    return reshape(found, (1,) * x.ndim) if keepdims else found


def argmax(a: Like, axis: int | None = None, *, keepdims: bool = False) -> Variable:
    """The index of the largest element along an axis, or in the flattened array; the first.

    Raises ValueError if there are no elements.

    >>> argmax([[1.0, 5.0], [7.0, 3.0]], axis=1).value
    array([1, 0], dtype=uint32)
    """
    return _extreme(_core.argmax, a, axis, keepdims)


def argmin(a: Like, axis: int | None = None, *, keepdims: bool = False) -> Variable:
    """The index of the smallest element along an axis, or in the flattened array; the first.

    Raises ValueError if there are no elements.

    >>> argmin([[1.0, 5.0], [7.0, 3.0]]).value
    array(0, dtype=uint32)
    """
    return _extreme(_core.argmin, a, axis, keepdims)
