"""Embedding bags: sums of rows of a table, one for each bag of them.

The features of an item, say, are a few rows of a table of features, and its vector is their sum.
Where samples name items, ``bag(table, features[item])`` sums those of the item of each sample:
``features`` is one constant ``Ragged``, and no sample carries its bag with it.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _core, plain
from ._core import Variable
from .ragged import Chosen, Ragged

__all__ = ["bag"]

# Offsets are 32 bits.
_MOST = 2**32 - 1


def bag(
    table: Any,
    ids: Any,
    offsets: Any = None,
    weights: Any = None,
    *,
    mode: Literal["sum", "mean"] = "sum",
) -> Any:
    """The sum over each bag of the rows of ``table`` that are in it, times their weights.

    ``table`` has shape ``(n, ...)`` and is float32 or float64. ``ids`` are integers of shape
    ``(k,)``, rows of the table, and ``offsets`` of shape ``(m + 1,)`` cut them into bags: row ``b``
    of the result, of shape ``(m, ...)``, is the sum of ``weights[j] * table[ids[j]]`` over ``j``
    from ``offsets[b]`` to ``offsets[b + 1]``, that excluded. The first offset is 0, none is less
    than the one before, the last is ``k``. An empty bag has zeros. Without ``weights``, of shape
    ``(k,)``, all are 1.

    In the place of ``ids`` and ``offsets`` there may be a ``Ragged`` of integers, with its weights
    if it has any. ``features[i]``, a Ragged at a Variable of integers of any shape, has bags that
    ``i`` names: the result has shape ``(*i.shape, ...)``. In ``fit`` the column of ``i`` names a
    bag for each sample, and bags of all lengths are summed without padding.

    ``mode="mean"`` divides by the sum of the weights of the bag (by its length without weights),
    which are plain arrays then. If they sum to zero the mean is NaN or infinite; that of an empty
    bag is zero.

    The gradient by ``table`` is rows, those of ids that are there twice added up; weights that are
    a Variable have a gradient, too. PyTorch calls this ``EmbeddingBag``.

    Raises IndexError for an id or a bag that is not there, ValueError for offsets that do not cut
    ``ids`` into bags, weights of another shape or another ``mode``, TypeError for what holds no
    numbers or no integers.

    >>> table = [[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]]
    >>> bag(table, [0, 2, 2], [0, 1, 1, 3])
    array([[  1.,   2.],
           [  0.,   0.],
           [200., 400.]])
    >>> import wyrmling as wy
    >>> features = wy.Ragged([0, 2, 2], [0, 1, 1, 3], weights=[1.0, 0.5, 0.25])
    >>> w, item = wy.Parameter(table), wy.IndexInput([2])
    >>> vectors = wy.bag(w, features[item])
    >>> vectors.value
    array([[ 75., 150.]])
    >>> vectors.sum().backward()
    >>> w.grad.to_dense()[:, 0]
    array([0.  , 0.  , 0.75])
    """
    index = None
    if isinstance(ids, Chosen):
        ids, index = ids.ragged, ids.index
    if isinstance(ids, Ragged):
        if offsets is not None:
            raise TypeError("offsets: a Ragged has its own")
        weights = ids.weights if weights is None else weights
        ids, offsets = ids.values, ids.offsets
    if offsets is None:
        raise TypeError("offsets: expected integers that cut ids into bags, or a Ragged of ids")
    if not isinstance(offsets, Variable):
        offsets = _offsets(offsets)
    if mode == "mean":
        weights = _shares(offsets, weights)
    elif mode != "sum":
        raise ValueError(f"mode: expected 'sum' or 'mean', got {mode!r}")
    given = table, ids, offsets, weights, index
    sums = _core.bag(*given)
    return sums if any(isinstance(x, Variable) for x in given) else plain.value(sums)


def _offsets(given: Any) -> npt.NDArray[Any]:
    """Offsets that are given, none of them negative."""
    offsets = np.asarray(given)
    if offsets.dtype.kind not in "iu":
        raise TypeError(f"offsets: expected integers, got {offsets.dtype}")
    if offsets.ndim != 1 or not offsets.size:
        raise ValueError(
            f"offsets: expected one axis of n + 1 integers for n bags, got shape {offsets.shape}"
        )
    outside = np.flatnonzero((offsets < 0) | (offsets > _MOST))
    if len(outside):
        at = int(outside[0])
        raise ValueError(
            f"offsets: expected integers from 0 to {_MOST}, got {offsets[at]} at position {at}"
        )
    return offsets


def _shares(offsets: Any, weights: Any) -> npt.NDArray[Any]:
    """Weights, each divided by the sum over its bag."""
    for what, given in (("offsets", offsets), ("weights", weights)):
        if isinstance(given, Variable):
            raise TypeError(f"{what}: expected a plain array with mode='mean', got a Variable")
    lengths = np.diff(offsets.astype(np.int64))
    if offsets[0] or (lengths < 0).any():
        raise ValueError("offsets: expected 0 at first, and none less than the one before")
    bags = np.repeat(np.arange(len(lengths)), lengths)
    if weights is None:
        return np.asarray(1.0 / lengths[bags])
    found = np.asarray(weights)
    if found.dtype.kind not in "iuf":
        raise TypeError(f"weights: expected numbers, got {found.dtype}")
    if found.shape != bags.shape:
        raise ValueError(f"weights: expected shape {bags.shape}, got {found.shape}")
    totals = np.bincount(bags, found, len(lengths))
    with np.errstate(divide="ignore", invalid="ignore"):
        shares: npt.NDArray[Any] = found / totals[bags]
    return shares
