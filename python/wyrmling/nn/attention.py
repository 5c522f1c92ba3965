"""Attention: averages of values, each weighted by how well its key fits a query.

Vaswani et al., "Attention is all you need", 2017, with one head. Several heads are the same on
arrays of shape (n, heads, t, d / heads).
"""

from __future__ import annotations

from typing import Any

import numpy as np

import wyrmling as wy

__all__ = ["attention", "causal", "steps_back"]

HIDDEN = -3e38
"""The score of what may not be looked at: below all others of float32, and finite, so that rows
that see nothing have gradients."""


def attention(queries: Any, keys: Any, values: Any, mask: Any = None, *, bias: Any = None) -> Any:
    """Scaled dot-product attention: ``softmax(queries @ keys.T / sqrt(d)) @ values``.

    A layer over a sequence gives the same vectors thrice, each times weights of its own; a cell
    gives one query, of shape (d,). Large scores do not overflow.

    Args:
        queries: shape (..., m, d), or (d,).
        keys: shape (..., t, d), at least one. Where d is 0 all fit alike.
        values: shape (..., t, e).
        mask: truth values that broadcast to shape (..., m, t): which query may look at which key;
            None for all. A query that may look at none gets the mean of all values.
        bias: what is added to the scores, of a shape that broadcasts to (..., m, t), such as one
            that falls with the distance (Press, Smith and Lewis, ICLR 2022); None for 0.

    Returns:
        Shape (..., m, e), or (e,).

    Raises:
        ValueError: shapes that do not fit together.

    >>> import numpy as np
    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> attention(rows[0], 100 * rows, np.array([[5.0], [7.0]]))
    array([5.])
    >>> attention(0 * rows, rows, np.array([[5.0], [7.0]]), causal(rows))
    array([[5.],
           [6.]])
    """
    # All scores are 0 where vectors have no length.
    scores = queries @ np.swapaxes(keys, -1, -2) * max(np.shape(queries)[-1], 1) ** -0.5
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = np.where(mask, scores, HIDDEN)
    return wy.softmax(scores, axis=-1) @ values


def causal(vectors: Any) -> Any:
    """The mask of a sequence whose steps look at themselves and at those before.

    Args:
        vectors: the sequence, shape (t, d) or (n, t, d), of which only the shape counts.

    Returns:
        Truth values of shape (t, t) or (n, t, t), true where the row's step is not before the
        column's.

    >>> import numpy as np
    >>> causal(np.zeros((3, 2))).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]])
    """
    return steps_back(vectors) >= 0.0


def steps_back(vectors: Any) -> Any:
    """How many steps the column's is before the row's, shape (t, t) or (n, t, t), negative where it
    comes later.

    Args:
        vectors: as of :func:`causal`.
    """
    # A loss that is read has no integers up to a computed length, but sums of ones.
    steps = np.cumsum(np.ones_like(vectors[..., 0]), axis=-1)
    return steps[..., :, None] - steps[..., None, :]
