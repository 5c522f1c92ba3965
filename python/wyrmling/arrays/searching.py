"""Where numbers stand in a sorted vector: ``np.searchsorted`` and ``np.digitize`` of variables.

The number of a bin is an integer that looks up rows (``w[np.digitize(price, edges)]``), in graphs
and programs too. It has no gradient: of what cannot change later NumPy gives it, plain.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..arguments import check_choice, check_flag
from .indexing import take
from .operand import Like, plain
from .predicates import changes, value


def searchsorted(a: Like, v: Like, side: str = "left", sorter: Any = None) -> Any:
    """As NumPy's; of an ``a`` that is not sorted some number from 0 to its length.

    >>> searchsorted([1.0, 2.0, 4.0], _core.Input([2.0, np.nan])).value
    array([1, 3])
    """
    if not changes(a, v, sorter):
        return np.searchsorted(plain(a), plain(v), side, plain(sorter))  # type: ignore[call-overload]
    check_choice("searchsorted: side", side, ("left", "right"))
    if sorter is not None:
        if np.shape(sorter) != np.shape(a):
            raise ValueError(
                f"searchsorted: sorter: expected shape {np.shape(a)}, got {np.shape(sorter)}"
            )
        if not changes(sorter):
            order = np.asarray(plain(sorter))
            if order.dtype.kind not in "iu":
                raise TypeError(f"searchsorted: sorter: expected integers, got {sorter!r}")
            if not ((order >= 0) & (order < len(order))).all():
                what = f"expected indices from 0 to {len(order) - 1}, got {sorter!r}"
                raise ValueError(f"searchsorted: sorter: {what}")
        # A program that runs on another length refuses it: the sorter has the length of now.
        a = take(_core.reshape_like(a, sorter), sorter)
    return _core.searchsorted(a, v, side == "right")


def digitize(x: Like, bins: Like, right: bool = False) -> Any:
    """As NumPy's; ``bins``, whose values say whether they rise or fall, must not change.

    >>> digitize(_core.Input([0.5, 1.0, 9.0]), [3.0, 1.0, 0.0]).value
    array([2, 1, 0])
    """
    edges = np.asarray(value("digitize: bins", bins))
    if not changes(x):
        return np.digitize(plain(x), edges, right)
    # NumPy compares the bins with each other.
    np.digitize(0.0, edges)
    after = not check_flag("digitize: right", right)
    # They fall, as NumPy has it, if the first that differs is not above the one before.
    others = edges[1:][edges[1:] != edges[:1]]
    if len(others) and not edges[0] < others[0]:
        return len(edges) - _core.searchsorted(edges[::-1], x, after)
    return _core.searchsorted(edges, x, after)
