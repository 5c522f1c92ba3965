"""The logarithm of a sum of exponentials: SciPy's function, for variables too."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .operand import is_weak


def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
) -> Any:
    """Return log(sum(b * exp(a))) over axes, stable for large numbers; without ``b`` its terms
    count once.

    Infinite terms that are the largest share the gradient equally, as those of a maximum do. ``b``
    broadcasts with ``a``, and may hold zeros, whose elements of ``a`` do not matter, and negative
    numbers. A sum below zero has no logarithm: it is NaN, but with ``return_sign``, which
    gives the logarithm of the absolute value and the sign. The sum of no terms is 0, its logarithm
    -inf; a program with ``b`` that was built with terms refuses to run without any.

    Raises ValueError if there is no such axis, or for a ``b`` that does not broadcast.

    >>> import numpy as np
    >>> round(float(logsumexp([1000.0, 1000.0], b=[3.0, -1.0]) - 1000.0), 6)
    0.693147
    >>> value, sign = logsumexp([0.0, 0.0], b=[1.0, -3.0], return_sign=True)
    >>> round(value.item(), 6), sign.item()
    (0.693147, -1.0)
    """
    if b is None and not return_sign:
        return _core.logsumexp(a, axis, keepdims)
    if b is None:
        y = _core.logsumexp(a, axis, keepdims)
        return y, _core.sign(_core.exp(y))
    x = _core.constant(a)
    single = x.dtype == np.float32 and is_weak(b)
    factor = _core.constant(np.float32(b) if single else b)
    if x.dtype == np.float32:
        x = x.astype(np.result_type(x.dtype, factor.dtype))
    x = _core.broadcast_like(x, factor)
    # The largest of the terms that count; it only shifts the others.
    counts: Any = _core.not_equal(factor, 0.0)
    counting = _core.where(counts, x, -np.inf)
    # Of no terms it is -inf, as their sum is.
    largest = _core.stop_gradient((_core.max if x.size else _core.logsumexp)(counting, axis, True))
    # Where the largest are infinite, of one sign, only the plain sum below has a derivative.
    infinite: Any = _core.logical_and(counts, _core.equal(x, np.inf))
    number = _core.sum(_core.where(infinite, 1.0, 0.0), axis, True)
    signs = _core.sum(_core.where(infinite, _core.sign(factor), 0.0), axis, True)
    alike: Any = _core.equal(_core.abs(signs) if return_sign else signs, number)
    limit: Any = _core.logical_and(_core.equal(_core.abs(largest), np.inf), alike)
    shift = _core.where(_core.isfinite(largest), largest, 0.0)
    exponent = _core.where(limit, 0.0, x) - shift
    # Zero times a term that overflows is zero.
    most = np.log(np.finfo(exponent.dtype).max)
    small: Any = _core.less(exponent, float(most))
    exponent = _core.where(_core.logical_or(counts, small), exponent, -np.inf)
    total = _core.sum(factor * _core.exp(exponent), axis, True)
    sign = _core.where(limit, _core.sign(signs), _core.sign(total))
    total = _core.where(limit, 1.0, total)
    result = _core.log(_core.abs(total) if return_sign else total) + shift
    term = x + _core.log(_core.abs(_core.where(counts, factor, 1.0)))
    plain = _core.logsumexp(_core.where(counts, term, -np.inf), axis, True)
    result = _core.where(limit, plain, result)
    if not keepdims:
        axes = tuple(range(x.ndim)) if axis is None else axis
        result, sign = (_core.squeeze(part, axes) if x.ndim else part for part in (result, sign))
    return (result, sign) if return_sign else result
