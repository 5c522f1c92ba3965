"""Sets of the elements of arrays: NumPy's functions, for variables too.

Which elements are equal is asked once, of the values at hand: raises TypeError for what follows an
input. Indices and counts are plain arrays; of equal elements the first has the gradient.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._core import Variable, concatenate, constant, reshape
from .indexing import take
from .operand import Like, of_one_type
from .predicates import value


def unique(
    ar: Like,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """The distinct elements in order, or slices along an axis; of equal ones the first has the
    gradient.

    Indices and counts are plain arrays. Which elements are equal is asked once, of the values at
    hand: raises TypeError for what follows an input.

    >>> import wyrmling as wy
    >>> x = np.array([3.0, 1.0, 3.0])
    >>> unique(wy.Variable(x)).value, wy.grad(lambda x: unique(x).sum())(x)
    (array([1., 3.]), array([1., 1., 0.]))
    """
    x = constant(ar)
    named = {"equal_nan": equal_nan} | ({} if sorted else {"sorted": False})
    _, first, inverse, counts = np.unique(value("unique", x), True, True, True, axis, **named)
    found = take(reshape(x, -1), first) if axis is None else take(x, first, axis)
    more = [
        part
        for part, asked in (
            (first, return_index),
            (inverse, return_inverse),
            (counts, return_counts),
        )
        if asked
    ]
    return (found, *more) if more else found


class UniqueAllResult(NamedTuple):
    """What ``unique_all`` gives."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCountsResult(NamedTuple):
    """What ``unique_counts`` gives."""

    values: Any
    counts: Any


class UniqueInverseResult(NamedTuple):
    """What ``unique_inverse`` gives."""

    values: Any
    inverse_indices: Any


def unique_all(x: Like, /) -> UniqueAllResult:
    """The distinct elements, their first places, those of each element among them, and counts.

    Each NaN is distinct, as in the standard of array interfaces; so for the functions that follow.

    Raises TypeError for what follows an input, whose answer could change.
    """
    found = unique(x, True, True, True, equal_nan=False)
    return UniqueAllResult(*found)


def unique_counts(x: Like, /) -> UniqueCountsResult:
    """The distinct elements, and how often each occurs.

    Errors are those of ``unique_all``.
    """
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: Like, /) -> UniqueInverseResult:
    """The distinct elements, and the place of each element among them.

    Errors are those of ``unique_all``.
    """
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False))


def unique_values(x: Like, /) -> Any:
    """The distinct elements, here in order.

    Errors are those of ``unique_all``.
    """
    return unique(x, equal_nan=False)


def _flat(x: Like) -> Variable:
    return reshape(constant(x), -1)


@of_one_type
def union1d(ar1: Like, ar2: Like) -> Any:
    """The distinct elements of two arrays together, in order.

    Raises TypeError for what follows an input, whose answer could change.

    >>> union1d(Variable([3.0, 1.0]), [1.0, 2.0]).value
    array([1., 2., 3.])
    """
    return unique(concatenate([ar1, ar2], None))


def _distinct(x: Variable, assume_unique: bool) -> tuple[Variable, Any]:
    """The distinct elements of a vector, and their places."""
    if assume_unique:
        return x, np.arange(x.size)
    found, at = unique(x, return_index=True)
    return found, at


def intersect1d(
    ar1: Like, ar2: Like, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """The distinct elements that both arrays have, in order, from the first; with
    ``return_indices`` also their places in both.

    Raises TypeError for what follows an input, whose answer could change.

    >>> intersect1d(Variable([3.0, 1.0, 2.0]), [2.0, 3.0]).value
    array([2., 3.])
    """
    x, other = _flat(ar1), _flat(ar2)
    _, first, second = np.intersect1d(
        value("intersect1d", x), value("intersect1d", other), assume_unique, True
    )
    found = take(x, first)
    return (found, first, second) if return_indices else found


def setdiff1d(ar1: Like, ar2: Like, assume_unique: bool = False) -> Any:
    """The distinct elements of the first array that the second has not.

    Raises TypeError for what follows an input, whose answer could change.

    >>> setdiff1d(Variable([3.0, 1.0, 2.0]), [2.0]).value
    array([1., 3.])
    """
    x, _ = _distinct(_flat(ar1), assume_unique)
    inside = np.isin(value("setdiff1d", x), value("setdiff1d", constant(ar2)))
    return take(x, np.flatnonzero(~inside))


@of_one_type
def setxor1d(ar1: Like, ar2: Like, assume_unique: bool = False) -> Any:
    """The distinct elements that one of two arrays has and the other has not, in order.

    Raises TypeError for what follows an input, whose answer could change.

    >>> setxor1d(Variable([3.0, 1.0]), [1.0, 2.0]).value
    array([2., 3.])
    """
    both = [_distinct(_flat(ar), assume_unique)[0] for ar in (ar1, ar2)]
    joined = concatenate(both)
    known = np.asarray(value("setxor1d", joined))
    order = np.argsort(known, kind="stable")
    ordered = known[order]
    apart = np.concatenate([[True], ordered[1:] != ordered[:-1], [True]])
    apart = apart if known.size else apart[1:]
    return take(joined, order[apart[1:] & apart[:-1]])
