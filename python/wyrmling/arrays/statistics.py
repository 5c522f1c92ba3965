"""Running sums and products, mean, variance and range: NumPy's functions, for variables too.

Products are trees of products of two, so that their gradients are right where elements are zero.

Limit: cumulative and full products are length-specialised (see the package).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import (
    Variable,
    concatenate,
    constant,
    count,
    fixed,
    mean,
    reshape,
    square,
    squeeze,
)
from .operand import (
    Axis,
    Like,
    along,
    axes_of,
    axis_of,
    in_single,
    lanes,
    only_axis,
    reduced_axes,
    truth,
    ufunc_axes,
)
from .output import finished
from .predicates import changes
from .reductions import computed_in, counted, mask_of, masked, starting
from .roots import root
from .shaping import astype, moveaxis


def cumsum(
    a: Like,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    out: Variable | None = None,
) -> Any:
    """Sums of the elements up to each, along an axis or of the flattened array.

    ``dtype`` and ``out`` as in ``numpy.sum``, for variables; see ``arrays.reductions``.

    Raises ValueError if there is no such axis.

    >>> cumsum([1.0, 2.0, 3.0])
    array([1., 3., 6.])
    """
    x = computed_in("cumsum", a, dtype)
    return finished("cumsum", _core.cumsum(*lanes("cumsum", x, axis)), out)


# Most elements of an axis that are combined without pairs.
_MOST_IN_STEPS = 256


def scan(name: str, combine: Callable[[Any, Any], Any], x: Variable, axis: int) -> Variable:
    """All elements up to each along an axis, combined by an associative function.

    Each of log₂ n steps combines whole arrays, of 1, 2, 4, … elements up to each (Hillis and
    Steele, 1986). Where there are many elements, pairs are combined first, and then all pairs up to
    each (Blelloch, 1990), so that the work grows with n and not with n log n.
    """
    axis = axis_of(name, axis, x.ndim)
    return _scanned(combine, fixed(x, name, axis), axis)


def _scanned(combine: Callable[[Any, Any], Any], x: Variable, axis: int) -> Variable:
    """``scan`` of an array whose length along the axis is fixed."""

    def part(x: Variable, *which: int | None) -> Variable:
        return x[along(axis, slice(*which))]

    reach, n = 1, x.shape[axis]
    if n > _MOST_IN_STEPS:
        pairs = combine(part(x, 1, None, 2), part(x, 0, n - 1, 2))
        # Results for elements 1, 3, 5, …; those for 2, 4, … have one element more.
        odd = _scanned(combine, pairs, axis)
        more = combine(part(x, 2, None, 2), part(odd, (n - 1) // 2))
        both = concatenate([part(x, 1), more, odd], axis)
        places = np.empty(n, np.int64)
        places[::2], places[1::2] = np.split(np.arange(n), [n - n // 2])
        return both[along(axis, places)]
    while reach < n:
        x = concatenate([part(x, reach), combine(part(x, reach, None), part(x, -reach))], axis)
        reach *= 2
    return x


def running_product(name: str, x: Variable, axis: int) -> Variable:
    """The products of all elements up to each along an axis, one after the other, as NumPy takes
    them: what overflows or underflows on the way stays so.
    """
    if x.dtype.kind != "f":
        return scan(name, _core.multiply, x, axis)
    axis = axis_of(name, axis, x.ndim)
    first, rest = x[along(axis, slice(1))], x[along(axis, slice(1, None))]
    # Minus zero is added: a product that is minus zero stays so.
    added = concatenate([first, _core.broadcast_like(x.dtype.type(-0.0), rest)], axis)
    return _core.linear_recurrence(added, x, axis)


def cumprod(
    a: Like,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    out: Variable | None = None,
) -> Any:
    """Products of the elements up to each, along an axis or of the flattened array.

    ``dtype`` and ``out`` as for ``cumsum``.

    Raises ValueError if there is no such axis.

    >>> cumprod([1.0, 2.0, 3.0])
    array([1., 2., 6.])
    """
    x = computed_in("cumprod", a, dtype)
    if isinstance(x, Variable) and x.dtype == bool:
        x = constant(astype(x, int))
    return finished("cumprod", running_product("cumprod", *lanes("cumprod", x, axis)), out)


def _cumulative(
    name: str, x: Like, axis: int | None, dtype: Any, out: Any, include_initial: bool
) -> Any:
    first, running = (0.0, cumsum) if name == "cumulative_sum" else (1.0, cumprod)
    array = computed_in(name, x, dtype)
    array = reshape(array, 1) if array.ndim == 0 else array
    at = axis_of(name, only_axis(name, axis, array.ndim), array.ndim)
    result = constant(running(array, at))
    if include_initial:
        # The sum with keepdims has length 1 along the axis, even if the array has length 0 there.
        row = _core.sum(array, at, keepdims=True)
        result = concatenate([_core.broadcast_like(array.dtype.type(first), row), result], at)
    return finished(name, result, out)


def cumulative_sum(
    x: Like,
    /,
    *,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    include_initial: bool = False,
) -> Any:
    """Sums of the elements up to each along an axis, with ``include_initial`` 0 in front of them.

    Raises ValueError if there is no such axis, or if none is given and there are
    several.

    >>> cumulative_sum([1.0, 2.0], include_initial=True)
    array([0., 1., 3.])
    """
    return _cumulative("cumulative_sum", x, axis, dtype, out, include_initial)


def cumulative_prod(
    x: Like,
    /,
    *,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    out: Any = None,
    include_initial: bool = False,
) -> Any:
    """Products of the elements up to each along an axis, with ``include_initial`` 1 in front.

    Raises ValueError if there is no such axis, or if none is given and there are
    several.

    >>> cumulative_prod([3.0, 2.0], include_initial=True)
    array([1., 3., 6.])
    """
    return _cumulative("cumulative_prod", x, axis, dtype, out, include_initial)


def _product(x: Variable, axis: int) -> Variable:
    """Products along an axis, which is kept with length 1."""
    n = x.shape[axis]
    x = fixed(x, "prod", axis)
    if n == 0:
        return _core.sum(x, axis, keepdims=True) + 1.0
    while n > 1:
        half = n // 2
        pairs = x[along(axis, slice(half))] * x[along(axis, slice(half, 2 * half))]
        if n % 2:
            pairs = concatenate([pairs, x[along(axis, slice(n - 1, n))]], axis)
        x, n = pairs, n - half
    return x


def prod(
    a: Like,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Variable | None = None,
    keepdims: bool = False,
    initial: Like | None = None,
    where: Any = True,
) -> Any:
    """Product over axes: all of them, one, or a tuple of several.

    The other arguments are those of ``numpy.prod``, for variables; see ``arrays.reductions``.

    Raises ValueError if there is no such axis.

    >>> prod([[1.0, 2.0], [3.0, 4.0]], axis=0)
    array([3., 8.])
    >>> x = Variable([0.0, 2.0, 3.0])
    >>> prod(x).backward()
    >>> x.grad
    array([6., 0., 0.])
    """
    x = computed_in("prod", a, dtype)
    discrete = _core.is_boolean(x) or x.dtype.kind == "i"
    if (mask := mask_of("prod", where)) is not None:
        x = masked("prod", mask, x, 1.0)
    axes = ufunc_axes("prod", axis, x.ndim)
    for k in axes:
        x = _product(x, k)
    result = x if truth("prod: keepdims", keepdims) or not axes else squeeze(x, axes)
    # A number is no view of the products.
    result = result if result.ndim else result[()]
    result = astype(result, int) if discrete else result
    result = result if initial is None else result * starting("prod", initial, x)
    return finished("prod", result, out)


def var(
    a: Like,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Variable | None = None,
    ddof: float = 0.0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Like | None = None,
    correction: float | None = None,
) -> Any:
    """Variance over axes: the mean squared distance from the mean, its divisor less ``ddof``.

    ``correction`` is another name of ``ddof``, and ``mean`` the mean if it is known, with the axes
    kept. The other arguments are those of ``numpy.var``, for variables; see ``arrays.reductions``.

    Raises ValueError if there is no such axis.

    >>> var([1.0, 2.0, 3.0, 4.0]).item()
    1.25
    """
    x = computed_in("var", a, dtype, averaged=True)
    less = divisor("var", ddof, correction)
    found = variance("var", x, axis, less, keepdims, mask_of("var", where), mean)
    return finished("var", found, out)


def divisor(name: str, ddof: Any, correction: Any) -> Any:
    """By how much the divisor of a variance is less than the number of elements."""
    if correction is None:
        return ddof
    if ddof != 0:
        raise ValueError(f"{name}: ddof and correction are the same, give one")
    return correction


def variance(
    name: str,
    a: Like,
    axis: Axis,
    ddof: Any,
    keepdims: bool,
    mask: Any = None,
    given: Like | None = None,
) -> Variable:
    """The variance over axes, of the elements that a mask takes if there is one."""
    x = constant(a)
    # With a mask NumPy counts by its sum, and takes the axis of a number as that does.
    axes = (reduced_axes if mask is None else ufunc_axes)(name, axis, x.ndim)
    if isinstance(ddof, Variable) or np.ndim(ddof) or np.asarray(ddof).dtype.kind not in "biuf":
        raise TypeError(f"{name}: ddof: expected one number, got {ddof!r}")
    ddof = np.asarray(ddof).item()  # NumPy's scalars would widen float32
    if mask is not None:
        number = counted(mask, x, axes, keepdims=True)
        middle = _core.sum(masked(name, mask, x, 0.0), axes, keepdims=True) / number
        middle = middle if given is None else _known(name, given, middle)
        squares = square(masked(name, mask, x - middle, 0.0))
        left = _core.maximum(counted(mask, x, axes, keepdims) - ddof, 0.0)
        return _core.sum(squares, axes, keepdims) / left
    middle = mean(x, axes, keepdims=True)
    squares = square(x - (middle if given is None else _known(name, given, middle)))
    if ddof == 0:
        return mean(squares, axes, keepdims)
    left = _core.maximum(count(x, sorted(axes)) - ddof, 0.0)
    return _core.sum(squares, axes, keepdims) / left


def _known(name: str, given: Like, middle: Any) -> Any:
    """A mean that is given: a number, or of the shape of the mean, axes kept; else ValueError."""
    found = constant(given).shape
    if found not in (middle.shape, ()):
        raise ValueError(f"{name}: mean: expected shape {middle.shape}, got {found}")
    return given


def std(
    a: Like,
    axis: Axis = None,
    dtype: npt.DTypeLike | None = None,
    out: Variable | None = None,
    ddof: float = 0.0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Like | None = None,
    correction: float | None = None,
) -> Any:
    """Standard deviation over axes, the root of the variance.

    Where all elements are equal it has no derivative; its gradient is 0 there, a subgradient, as
    that of ``linalg.norm`` is at zero. The other arguments are those of ``numpy.std``.

    Raises ValueError if there is no such axis.

    >>> std([1.0, 3.0]).item()
    1.0
    >>> x = Variable([2.0, 2.0])
    >>> std(x).backward()
    >>> x.grad
    array([0., 0.])
    """
    x = computed_in("std", a, dtype, averaged=True)
    less = divisor("std", ddof, correction)
    result = root(variance("std", x, axis, less, keepdims, mask_of("std", where), mean))
    return finished("std", result, out)


def average(
    a: Like,
    axis: Axis = None,
    weights: Like | None = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Any:
    """The mean over an axis, each element counted by its weight; with ``returned`` also their sum.

    ``weights`` has the shape of ``a``, or the lengths of the axes, in their order. Raises
    ZeroDivisionError where they add up to zero, unless they can change later: then the mean is not
    a number.

    Raises ValueError for weights of another shape, or if there is no such axis.

    >>> average([1.0, 4.0], weights=[2.0, 1.0]).item()
    2.0
    """
    x = constant(a)
    if x.dtype == np.float32:
        # Integers as elements are float64 beside any weights, as weights they are small.
        weights = in_single(weights)
    # Without weights each element has weight 1, whatever length an input gets later.
    each = constant(weights) if weights is not None else _core.broadcast_like(1.0, x)
    if x.dtype == np.float64 and each.dtype == np.float32:
        each = astype(each, x.dtype)
    axes = axes_of("average", axis, x.ndim)
    if each.shape == x.shape:
        each = _core.broadcast_like(each, x, x.ndim)
    else:
        if axis is None:
            raise TypeError(f"average: axis: must be given for weights of shape {each.shape}")
        lengths = tuple(x.shape[k] for k in axes)
        if each.shape != lengths:
            raise ValueError(
                f"weights: expected shape {x.shape}, or {lengths} along axis {axis}; "
                f"got {each.shape}"
            )
        last = range(-len(axes), 0)
        moved = moveaxis(x, axes, last)
        each = moveaxis(_core.broadcast_like(each, moved, len(axes)), last, axes)
    total = _core.sum(each, axes, keepdims)
    if weights is not None:
        refuse_zero("average", total)
    result = _core.sum(x * each, axes, keepdims) / total
    return (result, total) if returned else result


def refuse_zero(name: str, total: Any) -> None:
    """Raises ZeroDivisionError, as NumPy does, for weights that add up to zero, unless they can
    change later.
    """
    if not changes(total) and not np.all(total.value):
        raise ZeroDivisionError(f"{name}: weights: they add up to zero, and cannot be normalized")


def ptp(a: Like, axis: Axis = None, out: Variable | None = None, keepdims: bool = False) -> Any:
    """The largest element less the smallest, over axes.

    Raises ValueError for no elements, or if there is no such axis.

    >>> ptp([1.0, 5.0, 2.0]).item()
    4.0
    """
    x = constant(a)
    return finished("ptp", _core.max(x, axis, keepdims) - _core.min(x, axis, keepdims), out)
