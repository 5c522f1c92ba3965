"""Layers: functions of vectors that need no order.

They take arrays of any number of axes and work along the last.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import wyrmling as wy

__all__ = ["dropout", "embedding", "layer_norm", "linear"]


def linear(x: Any, weights: Any, bias: Any = None) -> Any:
    """``x @ weights + bias``.

    Args:
        x: shape (..., d).
        weights: shape (d, h).
        bias: shape (h,); None for none.

    Returns:
        Shape (..., h).

    Raises:
        ValueError: shapes that do not fit together.

    >>> import numpy as np
    >>> linear(np.array([1.0, 2.0]), np.eye(2), np.array([0.5, 0.0]))
    array([1.5, 2. ])
    """
    return x @ weights if bias is None else x @ weights + bias


def embedding(table: Any, ids: Any, padding: int | None = None) -> Any:
    """The rows of a table at some ids, ``table[ids]``, those of padding as zeros.

    The gradient has the rows that were looked up, that of padding as zeros. Sums of rows in bags of
    different lengths are :func:`wyrmling.bag`.

    Args:
        table: shape (m, d).
        ids: integers of any shape, from 0 to m - 1. In NumPy a negative id counts from the end;
            ``fit`` refuses it.
        padding: the id that stands where a sequence has ended, one of the table's; None for none.

    Returns:
        Shape (..., d), with the axes of ``ids`` first.

    Raises:
        IndexError: an id that is not in the table.
        TypeError: padding that is True or False.
        ValueError: padding that is not in the table.

    >>> import numpy as np
    >>> embedding(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1, 0]), padding=0)
    array([[3., 4.],
           [0., 0.]])
    """
    if padding is None:
        return table[ids]
    if isinstance(padding, (bool, np.bool_)):
        raise TypeError(f"padding is {padding}, expected an integer")
    if padding not in range(len(table)):
        raise ValueError(f"padding is {padding}, expected at least 0 and less than {len(table)}")
    # Ids are looked up by, not compared, in a loss that is read.
    there = np.arange(len(table)) != padding
    return np.where(_rows((1.0 * there)[:, None], ids) > 0.0, table[ids], 0.0)


def _rows(array: Any, ids: Any) -> Any:
    """``array[ids]``, also of an array of NumPy at a variable."""
    return wy.gather(array, ids) if isinstance(ids, wy.Variable) else array[ids]


def layer_norm(x: Any, gain: Any = None, bias: Any = None, *, epsilon: float = 1e-6) -> Any:
    """Vectors with mean 0 and variance 1, times ``gain`` plus ``bias``.

    Ba, Kiros and Hinton, "Layer normalization", 2016. A vector of equal numbers becomes 0.

    Args:
        x: shape (..., d).
        gain: shape (d,); None for 1.
        bias: shape (d,); None for 0.
        epsilon: what is added to the variance.

    >>> import numpy as np
    >>> layer_norm(np.array([[1.0, 3.0], [5.0, 5.0]])).round(3)
    array([[-1.,  1.],
           [ 0.,  0.]])
    """
    centred = x - np.mean(x, axis=-1, keepdims=True)
    # Divided by a number from 1 on, which cancels and has no gradient, so that no square overflows.
    sizes = np.abs(wy.stop_gradient(centred))
    size = np.max(sizes, axis=-1, keepdims=True, initial=1.0)
    centred = centred / size
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    found = centred / np.sqrt(variance + epsilon / size / size)
    if gain is not None:
        found = found * gain
    return found if bias is None else found + bias


def dropout(x: Any, draws: Any, rate: float, of: int = 1000) -> Any:
    """Numbers of which a share is 0, and the others larger by as much, so that the mean stays.

    Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting", 2014.
    What is dropped the caller draws: in NumPy ``rng.integers(1000, size=x.shape)``, in ``fit`` a
    column ``sample={"draws": wy.sampling.Uniform(1000, shape=…)}``. Without dropout, as after
    training, leave it out.

    Args:
        x: numbers of any shape.
        draws: integers, at least 0 (which is not looked at in NumPy) and less than ``of``, all
            equally probable, that broadcast to the shape of ``x``.
        rate: the share that is dropped, at least 0 and less than 1, rounded to parts of ``of``.
        of: how many integers there are to draw.

    Raises:
        IndexError: a draw that is not less than ``of``.
        ValueError: a rate out of range, or that rounds to 1.

    >>> import numpy as np
    >>> dropout(np.ones(4), np.array([0, 499, 500, 999]), 0.5)
    array([0., 0., 2., 2.])
    """
    dropped = round(rate * of) if 0.0 <= rate < 1.0 else of
    if dropped >= of:
        raise ValueError(f"rate is {rate}, expected at least 0 and less than 1, in parts of {of}")
    # Draws are looked up by, not compared, in a loss that is read.
    kept = 1.0 * (np.arange(of) >= dropped)
    return np.where(_rows(kept, draws) > 0.0, x / (1.0 - dropped / int(of)), 0.0)
