"""Polynomials by their coefficients, the highest power first: NumPy's functions, for variables too.

The number of coefficients determines the result's shape, so it cannot change later. ``numpy.roots``
is not here: roots are complex in general.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from .._core import Variable, concatenate, constant, fixed, has_variable
from .construction import vander, zeros_like
from .contraction import convolve
from .least_squares import lstsq
from .operand import Like, count, itself, of_one_type
from .predicates import value


def _coefficients(name: str, what: str, p: Like) -> Variable:
    """The coefficients as a vector of fixed length."""
    x = constant(p)
    if x.ndim > 1:
        raise ValueError(f"{name}: {what}: expected one axis of coefficients, got shape {x.shape}")
    return fixed(_core.reshape(x, -1), name, 0)


def _several(name: str, p: Like) -> Variable:
    """Coefficients in an array. Raises TypeError for one number."""
    x = _coefficients(name, "p", p)
    if constant(p).ndim == 0:
        raise TypeError(f"{name}: p: expected the coefficients in an array, got one number")
    return x


@of_one_type
def polyval(p: Like, x: Like) -> Variable:
    """Return p[0] x^(n-1) + … + p[n-1], by Horner's rule, with a gradient for both.

    ``p`` has the coefficients along its first axis, whose length cannot change later. Raises
    ValueError if it has no axis.

    >>> polyval([1.0, 0.0, -2.0], 3.0).item()
    7.0
    """
    coefficients, x = constant(p), constant(x)
    if coefficients.ndim == 0:
        raise ValueError("polyval: p: expected the coefficients in an array, got one number")
    coefficients = fixed(coefficients, "polyval", 0)
    # The sum of no coefficients is 0, and keeps their number, of which it makes sure, in the graph.
    result: Variable = zeros_like(x) + _core.sum(coefficients[:0].astype(x.dtype))
    for k in range(coefficients.shape[0]):
        result = result * x + coefficients[k]
    return result


def _aligned(name: str, a1: Like, a2: Like) -> tuple[Any, Any]:
    """Coefficients of two polynomials, with zeros in front of the shorter."""
    x, y = _coefficients(name, "a1", a1), _coefficients(name, "a2", a2)
    n = max(x.size, y.size)
    both = [concatenate([np.zeros(n - z.size, z.dtype), z]) if z.size < n else z for z in (x, y)]
    return both[0], both[1]


@of_one_type
def polyadd(a1: Like, a2: Like) -> Any:
    """The sum of two polynomials.

    Raises ValueError unless each has one axis.

    >>> polyadd([1.0, 2.0], Variable([1.0, 0.0, 0.0])).value
    array([1., 1., 2.])
    """
    x, y = _aligned("polyadd", a1, a2)
    return x + y


@of_one_type
def polysub(a1: Like, a2: Like) -> Any:
    """The difference of two polynomials.

    Raises ValueError unless each has one axis.

    >>> polysub([1.0, 2.0], Variable([1.0, 0.0, 0.0])).value
    array([-1.,  1.,  2.])
    """
    x, y = _aligned("polysub", a1, a2)
    return x - y


@of_one_type
def polymul(a1: Like, a2: Like) -> Any:
    """The product of two polynomials.

    Leading zeros of plain coefficients are left out, as in NumPy; those of a variable are kept.

    Raises ValueError unless each has one axis.

    >>> polymul(Variable([1.0, 1.0]), [1.0, -1.0]).value
    array([ 1.,  0., -1.])
    """

    def trimmed(name: str, p: Any) -> Variable:
        plain = not has_variable((p,), {}) and np.ndim(p) == 1
        return _coefficients("polymul", name, np.trim_zeros(p, "f") if plain else p)

    x, y = trimmed("a1", a1), trimmed("a2", a2)
    # No coefficients are those of 0.
    x, y = (p if p.size else concatenate([p, np.zeros(1, p.dtype)]) for p in (x, y))
    return convolve(x, y)


def polydiv(u: Like, v: Like) -> tuple[Any, Any]:
    """The quotient of two polynomials, and the remainder, whose leading coefficients that are zero
    to rounding are left out, as NumPy does.

    Raises TypeError for a remainder of what follows an input: its length would change.

    >>> quotient, rest = polydiv(Variable([1.0, 0.0, 1.0]), [1.0, 1.0])
    >>> quotient.value, rest.value
    (array([ 1., -1.]), array([2.]))
    """
    x, y = _coefficients("polydiv", "u", u), _coefficients("polydiv", "v", v)
    found, leading = [], []
    rest: Any = x[: y.size]
    # A step changes as many coefficients as the divisor has, and no others are copied.
    for k in range(x.size - y.size + 1):
        ratio = rest[0] / y[0]
        found.append(ratio)
        rest = rest - ratio * y
        if k + y.size < x.size:
            leading.append(rest[:1])
            rest = concatenate([rest[1:], x[k + y.size : k + y.size + 1]])
    rest = concatenate([*leading, rest])
    known = np.asarray(value("polydiv", constant(rest)))
    is_large = ~np.isclose(known[:-1], 0.0, rtol=1e-14)
    first = int(np.argmax(is_large)) if is_large.any() else max(len(known) - 1, 0)
    if found:
        return _core.stack(found), rest[first:]
    # Of the divisor only the length counts: the sum of no coefficients keeps it, as in polyval.
    none = _core.sum(y[:0])
    return zeros_like(x[:1]) + none, rest[first:] + none


def polyder(p: Like, m: int = 1) -> Any:
    """The derivative of a polynomial, taken ``m`` times; the polynomial itself for 0.

    Raises ValueError unless ``p`` has one axis, or for an ``m`` below 0.

    >>> polyder(Variable([2.0, 1.0, 5.0])).value
    array([4., 1.])
    """
    times = count("polyder: m", m)
    if times == 0:
        return itself(p)
    x = _several("polyder", p)
    for _ in range(min(times, x.size)):
        x = x[:-1] * np.arange(x.size - 1, 0, -1)
    return x


def polyint(p: Like, m: int = 1, k: Like | None = None) -> Any:
    """The integral of a polynomial, taken ``m`` times, with the constants ``k``, 0 by default; the
    polynomial itself for no time.

    Raises ValueError unless ``p`` has one axis, or for an ``m`` below 0.

    >>> polyint(Variable([4.0, 1.0]), k=5.0).value
    array([2., 1., 5.])
    """
    times = count("polyint: m", m)
    if times == 0:
        return itself(p)
    x = _several("polyint", p)
    given = constant(np.zeros(times, x.dtype) if k is None else k)
    given = fixed(_core.reshape(given, -1), "polyint", 0)
    if given.size == 1 and times > 1:
        given = given[np.zeros(times, int)]
    if given.size < times:
        raise ValueError(f"polyint: k: expected one constant or {times}, got {given.size}")
    for j in range(times):
        scaled = x / np.arange(x.size, 0, -1)
        x = concatenate([scaled, given[j : j + 1]])
    return x


def poly(seq_of_zeros: Like) -> Any:
    """The coefficients of the polynomial with these zeros, the first of which is 1.

    Raises ValueError for a matrix, whose eigenvalues are the zeros in NumPy, and may be complex.

    >>> poly(Variable([1.0, -1.0])).value
    array([ 1.,  0., -1.])
    """
    x = constant(seq_of_zeros)
    if x.ndim > 1:
        raise ValueError(
            f"poly: expected a vector, got shape {x.shape}; of a symmetric matrix a give "
            "np.linalg.eigvalsh(a)"
        )
    zeros = fixed(_core.reshape(x, -1), "poly", 0)
    one = constant(np.ones(1, x.dtype))
    result: Any = one
    for k in range(zeros.size):
        padded = concatenate([result, np.zeros(1, x.dtype)])
        result = padded - concatenate([np.zeros(1, x.dtype), result * zeros[k]])
    return result


def polyfit(
    x: Like,
    y: Like,
    deg: int | Sequence[int],
    rcond: float | None = None,
    full: bool = False,
    w: Like | None = None,
    cov: bool | str = False,
) -> Any:
    """The polynomial of a degree that fits points best, by the least squares of ``w`` times the
    distances.

    There is a gradient by ``x``, ``y`` and ``w``. With ``full`` also the residuals, the rank, the
    singular values and ``rcond``; with ``cov`` also the covariances of the coefficients, which are
    not scaled if it is ``"unscaled"``. Raises ValueError for less points than coefficients where
    covariances are asked for, TypeError for a degree that is no integer.

    >>> polyfit([0.0, 1.0, 2.0], Variable([1.0, 3.0, 5.0]), 1).value.round(9)
    array([2., 1.])
    """
    power = count("polyfit: deg", deg)
    at, heights = constant(x), constant(y)
    if at.ndim != 1 or at.size == 0:
        raise TypeError(f"polyfit: x: expected a vector with elements, got shape {at.shape}")
    if heights.ndim not in (1, 2) or heights.shape[0] != at.shape[0]:
        raise TypeError(
            f"polyfit: y: expected {at.shape[0]} elements along the first axis, got shape "
            f"{heights.shape}"
        )
    limit = at.size * float(np.finfo(at.dtype).eps) if rcond is None else rcond
    table: Any = vander(at, power + 1)
    if w is not None:
        weights = constant(w)
        if weights.shape != at.shape:
            raise TypeError(f"polyfit: w: expected shape {at.shape}, got {weights.shape}")
        table = table * _core.expand_dims(weights, 1)
        # A program that runs on one height refuses it: the product would broadcast it.
        heights = fixed(heights, "polyfit", 0)
        heights = heights * (_core.expand_dims(weights, 1) if heights.ndim == 2 else weights)
    # Columns of length 1 make the numbers better conditioned; their lengths divide out.
    scale = _core.sum(_core.square(table), 0) ** 0.5
    scaled = table / scale
    found, residuals, rank, singular = lstsq(scaled, heights, limit)
    wide = _core.expand_dims(scale, 1) if heights.ndim == 2 else scale
    found = found / wide
    if full:
        return found, residuals, rank, singular, limit
    if not cov:
        return found
    inverse = _core.inv(_core.transpose(scaled) @ scaled)
    inverse = inverse / _core.outer(scale, scale)
    factor: Any = 1.0
    if cov != "unscaled":
        left = at.size - (power + 1)
        if left <= 0:
            raise ValueError(f"polyfit: cov: expected more than {power + 1} points, got {at.size}")
        # That of the distances from the weighted points.
        factor = _core.sum(_core.square(heights - table @ found), 0) / left
    if heights.ndim == 2:
        return found, _core.expand_dims(inverse, 2) * factor
    return found, inverse * factor
