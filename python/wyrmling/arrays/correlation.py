"""Covariance and correlation: NumPy's functions, for variables too."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import Variable, concatenate, constant, count, diag, expand_dims, fixed, squeeze
from .operand import Like, integer
from .ordering import clip
from .reductions import computed_in
from .shaping import atleast_2d, swapaxes
from .statistics import refuse_zero


def _rows(name: str, what: str, m: Like, rowvar: bool, dtype: Any) -> Variable:
    """A matrix with a variable in each row and an observation in each column."""
    x = computed_in(name, m, dtype, averaged=True)
    if x.ndim > 2:
        raise ValueError(f"{name}: {what}: expected 2 axes or fewer, got shape {x.shape}")
    many = x.ndim == 2
    x = atleast_2d(x)
    return swapaxes(x, 0, 1) if many and not rowvar else x


def _weights(name: str, given: Any, n: int) -> Any:
    """A weight for each observation."""
    weights = constant(given)
    # Sums of weights are computed in float64, as NumPy's are.
    weights = weights if weights.dtype.kind in "iu" else weights.astype(np.float64)
    if weights.ndim != 1 or weights.shape[0] != n:
        raise ValueError(f"cov: {name}: expected {n} weights, got shape {weights.shape}")
    if not isinstance(given, Variable) and (np.asarray(given) < 0).any():
        raise ValueError(f"cov: {name}: a weight cannot be negative")
    return weights


def cov(
    m: Like,
    y: Like | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: npt.ArrayLike | None = None,
    aweights: Like | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
) -> Variable:
    """The covariances of variables, whose observations are the rows of ``m`` and ``y``, or their
    columns unless ``rowvar``.

    ``fweights`` says how often each observation counts, and ``aweights`` how much it weighs. The
    divisor is the number of observations less ``ddof``, which is 1, or 0 with ``bias``.

    Raises ValueError for more than two axes, or weights that are not one for each
    observation.

    >>> cov([[1.0, 2.0, 3.0], [1.0, 0.0, 2.0]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    # In float64 unless another type is given, as NumPy has it.
    dtype = np.float64 if dtype is None else dtype
    x = _rows("cov", "m", m, rowvar, dtype)
    if y is not None:
        x = concatenate([x, _rows("cov", "y", y, rowvar, dtype)], 0)
    # The number of variables determines the shape of the result, so it may not change later.
    x = fixed(x, "cov", 0)
    less = int(bias == 0) if ddof is None else integer("cov: ddof", ddof)
    weights: Any = None
    if fweights is not None:
        if isinstance(fweights, Variable) or np.asarray(fweights).dtype.kind not in "iu":
            raise TypeError(f"cov: fweights: expected plain integers, got {fweights!r}")
        weights = _weights("fweights", fweights, x.shape[1])
    heavy: Any = None
    if aweights is not None:
        heavy = _weights("aweights", aweights, x.shape[1])
        weights = heavy if weights is None else weights * heavy
    if weights is None:
        left: Any = count(x, (1,)) - less
        middle = _core.mean(x, 1, True)
        scaled = x - middle
    else:
        x = fixed(x, "cov", 1)
        total = _core.sum(weights)
        refuse_zero("cov", total)
        middle = expand_dims(_core.sum(x * weights, 1) / total, 1)
        scaled = (x - middle) * weights
        left = total
        if less and aweights is None:
            left = total - less
        elif less:
            left = total - less * _core.sum(weights * heavy) / total
    left = _core.maximum(left, 0.0)
    found = (x - middle) @ swapaxes(scaled, 0, 1) / left
    ones = tuple(k for k in range(2) if found.shape[k] == 1)
    found = squeeze(found, ones) if ones else found
    return found if found.dtype == x.dtype else found.astype(x.dtype)


def corrcoef(
    x: Like, y: Like | None = None, rowvar: bool = True, *, dtype: npt.DTypeLike | None = None
) -> Variable:
    """The correlations of variables: their covariances over the roots of their variances, from
    -1 to 1.

    Raises ValueError for more than two axes.

    >>> corrcoef([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    found = cov(x, y, rowvar, dtype=dtype)
    if found.ndim == 0:
        return found / found
    deviations = diag(found) ** 0.5
    found = found / expand_dims(deviations, 1) / deviations
    bounded: Variable = clip(found, -1.0, 1.0)
    return bounded
