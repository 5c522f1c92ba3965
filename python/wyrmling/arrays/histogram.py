"""Counts and weights by bins: NumPy's functions, for variables too.

Which bin an element lies in is asked once, of the values at hand: raises TypeError for what follows
an input, whose bins would stay. Counts have no gradient by what is counted; sums of weights have
one by the weights, and edges that are made of the smallest and the largest element by these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from .._core import Variable, constant, fixed, reshape
from .construction import linspace
from .differences import diff
from .operand import Array, Like, integer
from .predicates import value
from .shaping import astype, atleast_1d


def _summed(weights: Like, places: Array, count: int) -> Variable:
    """The weights added up by places, of which there are so many."""
    x = fixed(weights, "the bins", 0)
    return _core.add_rows(np.zeros(count, x.dtype), places, x)


def bincount(x: Any, weights: Like | None = None, minlength: int = 0) -> Any:
    """How often each integer from 0 on occurs, or the sum of the weights of its places.

    Counts are a plain array. Raises ValueError for negative integers, and for weights of another
    length.

    >>> bincount([0, 2, 2], weights=Variable([1.0, 2.0, 3.0])).value
    array([1., 0., 5.])
    """
    # A copy: NumPy relies on the range that it has found, whatever a thread writes meanwhile.
    places = np.array(value("bincount", x))
    if not places.size and isinstance(x, list | tuple):  # of floats, though it has none
        places = places.astype(np.int64)
    least = integer("bincount: minlength", minlength)
    counts = np.bincount(places, minlength=least)
    if weights is None:
        return counts
    if np.shape(weights) != places.shape:
        raise ValueError(
            f"bincount: weights: expected one for each of {places.shape}, got {np.shape(weights)}"
        )
    # In float64, as NumPy adds them up.
    return _summed(astype(weights, float), places.astype(np.int64), len(counts))


def _variable_edges(name: str, a: Variable, bins: Any) -> Variable:
    """Edges at equal distances from the smallest element to the largest, or half a unit around them
    if they are equal, as NumPy has it.
    """
    count = integer(f"{name}: bins", bins)
    if count < 1:
        raise ValueError(f"{name}: bins: expected 1 or more, got {count}")
    if a.size == 0:
        kind = a.dtype if a.dtype.kind == "f" else float
        return constant(np.linspace(0.0, 1.0, count + 1, dtype=kind))
    low, high = _core.min(a), _core.max(a)
    least, most = low.item(), high.item()
    if not np.isfinite([least, most]).all():
        raise ValueError(f"{name}: autodetected range of [{least}, {most}] is not finite")
    if least == most:
        low, high = low - 0.5, high + 0.5
    edges = constant(linspace(low, high, count + 1))
    if (np.diff(edges.value) <= 0.0).any():
        raise ValueError(f"{name}: bins: {count} between {least} and {most} are too many to differ")
    return edges


def histogram_bin_edges(
    a: Like,
    bins: Any = 10,
    range: tuple[float, float] | None = None,
    weights: Like | None = None,
) -> Any:
    """The edges of the bins that ``histogram`` counts in: one more than there are bins.

    They are a variable only if they are made of the smallest and largest element of one. A
    rule by name (``"auto"``) says how many bins there are. Raises TypeError for a rule with
    weights, ValueError for weights of another shape, and for more bins than there are numbers.

    >>> histogram_bin_edges(Variable([1.0, 5.0, 3.0]), 2).value
    array([1., 3., 5.])
    """
    plain = value("histogram_bin_edges", a)
    if weights is not None and np.shape(weights) != np.shape(plain):
        raise ValueError(
            f"histogram_bin_edges: weights: expected shape {np.shape(plain)}, got "
            f"{np.shape(weights)}"
        )
    if isinstance(bins, str):
        if weights is not None:
            raise TypeError(f"bins: a rule ({bins!r}) is for elements without weights, as in NumPy")
        bins = len(np.histogram_bin_edges(plain, bins, range)) - 1
    if isinstance(a, Variable) and range is None and np.ndim(bins) == 0:
        return _variable_edges("histogram_bin_edges", a, bins)
    edges = np.histogram_bin_edges(plain, value("histogram_bin_edges", bins), range)
    # Edges that are given are the result, with their gradient.
    return bins if isinstance(bins, Variable) and bins.ndim else edges


def _inside(a: Array, edges: Array) -> tuple[Array, Array]:
    """The bin of each element, and which of them lie in any; the last bin has both its edges."""
    known = (a >= edges[0]) & (a <= edges[-1])
    return np.searchsorted(edges[1:-1], a, "right"), known


def histogram(
    a: Like,
    bins: Any = 10,
    range: tuple[float, float] | None = None,
    density: bool | None = None,
    weights: Like | None = None,
) -> tuple[Any, Any]:
    """The number of elements in each bin, or the sum of their weights; and the edges of the bins.

    With ``density`` they are divided by their sum and by the widths of the bins. Counts are a plain
    array, sums of a variable's weights a variable. Raises ValueError for weights of another shape.

    >>> weights = Variable([1.0, 2.0, 4.0])
    >>> histogram([1.0, 2.0, 2.5], [0.0, 2.0, 4.0], weights=weights)[0].value
    array([1., 6.])
    """
    edges = histogram_bin_edges(a, bins, range, weights if isinstance(bins, str) else None)
    plain = np.asarray(value("histogram", a))
    limits = np.asarray(value("histogram", edges))
    if not isinstance(weights, Variable):
        # NumPy's versions differ in the types of weights.
        counts: Any = weights
        found: Any = np.histogram(plain, limits, weights=counts)[0]
    else:
        if weights.shape != plain.shape:
            raise ValueError(
                f"histogram: weights: expected shape {plain.shape}, got {weights.shape}"
            )
        places, known = _inside(plain.ravel(), limits)
        at = np.flatnonzero(known)
        flat = fixed(reshape(weights, -1), "histogram", 0)
        counted = flat[at]
        found = _summed(counted, places[at], len(limits) - 1)
    if density:
        found = found / diff(edges) if isinstance(edges, Variable) else found / np.diff(limits)
        total = np.sum(np.histogram(plain, limits)[0]) if weights is None else None
        if total is None:
            widths = diff(edges) if isinstance(edges, Variable) else np.diff(limits)
            total = np.sum(found * widths)
        found = found / total
    return found, edges


def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Sequence[Any] | None = None,
    density: bool | None = None,
    weights: Like | None = None,
) -> tuple[Any, list[Any]]:
    """As ``histogram``, of points in several dimensions: rows of a matrix, or a sequence with the
    coordinates of each dimension.

    Raises ValueError for ``bins`` or a ``range`` that are not one for each dimension,
    and TypeError for points that follow an input.

    >>> points = Variable([[0.0, 0.0], [1.0, 1.0], [1.0, 0.9]])
    >>> histogramdd(points, bins=2)[0]
    array([[1., 0.],
           [0., 2.]])
    """
    if isinstance(sample, Variable | np.ndarray):
        table = constant(sample)
        table = table if table.ndim == 2 else _core.expand_dims(atleast_1d(table), 1)
        if table.ndim > 2:
            raise ValueError(f"histogramdd: sample: expected a matrix, got shape {sample.shape}")
        axes: list[Any] = [table[:, k] for k in _up_to(table.shape[1])]
        if not isinstance(sample, Variable):
            axes = [axis.value for axis in axes]
    else:
        axes = list(sample)
    each = list(bins) if isinstance(bins, list | tuple | str | np.ndarray) else [bins] * len(axes)
    ranges = [None] * len(axes) if range is None else list(range)
    if len(each) != len(axes) or len(ranges) != len(axes):
        raise ValueError(
            f"histogramdd: bins and range: expected one for each of {len(axes)} dimensions"
        )
    if len(set(map(np.shape, axes))) != 1 or np.ndim(axes[0]) != 1:
        shapes = [np.shape(axis) for axis in axes]
        raise ValueError(f"histogramdd: sample: expected vectors of one length, got {shapes}")
    edges = [
        histogram_bin_edges(axis, count, between)
        for axis, count, between in zip(axes, each, ranges, strict=True)
    ]
    limits = [np.asarray(value("histogramdd", edge)) for edge in edges]
    shape = [len(limit) - 1 for limit in limits]
    known = np.ones(np.shape(axes[0]), bool)
    places = np.zeros(known.shape, np.int64)
    for axis, limit, length in zip(axes, limits, shape, strict=True):
        at, inside = _inside(np.asarray(value("histogramdd", axis)), limit)
        known &= inside
        places = places * length + at
    rows = np.flatnonzero(known)
    if weights is not None and np.shape(weights) != known.shape:
        raise ValueError(
            f"histogramdd: weights: expected shape {known.shape}, got {np.shape(weights)}"
        )
    if isinstance(weights, Variable):
        heavy = fixed(astype(weights, float), "histogramdd", 0)[rows]
        found: Any = _summed(heavy, places[rows], int(np.prod(shape)))
        found = reshape(found, shape)
    else:
        known_weights = None if weights is None else np.asarray(weights)[rows]
        counts = np.bincount(places[rows], known_weights, int(np.prod(shape)))
        found = counts.astype(float).reshape(shape)
    if density:
        found = found / np.sum(found)
        for k, (edge, limit) in enumerate(zip(edges, limits, strict=True)):
            width = diff(edge) if isinstance(edge, Variable) else np.diff(limit)
            found = found / np.reshape(width, (-1, *[1] * (len(shape) - 1 - k)))
    return found, edges


_up_to = range


def histogram2d(
    x: Like,
    y: Like,
    bins: Any = 10,
    range: Sequence[Any] | None = None,
    density: bool | None = None,
    weights: Like | None = None,
) -> tuple[Any, Any, Any]:
    """As ``histogramdd``, of points in two dimensions; the counts, and the edges of both.

    Raises ValueError for ``x`` and ``y`` of different lengths, and what ``histogramdd``
    raises.

    >>> histogram2d(Variable([0.0, 1.0]), [0.0, 1.0], bins=2)[0]
    array([[1., 0.],
           [0., 1.]])
    """
    # One sequence that is no pair has the edges of both.
    alone = isinstance(bins, list | tuple | np.ndarray) and len(bins) not in (1, 2)
    both = [bins, bins] if alone else bins
    found, edges = histogramdd([x, y], both, range, density, weights)
    return found, edges[0], edges[1]
