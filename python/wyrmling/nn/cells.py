"""Cells: what a state becomes when a sequence goes on by one vector.

A vector is an array of shape (d,), or (n, d) for ``n`` sequences at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import wyrmling as wy

__all__ = ["ewma", "ewma_states", "gru", "lstm"]


def ewma(state: Any, vector: Any, decay: Any) -> Any:
    """A moving average: ``k state + (1 - k) vector``, where ``k`` is the sigmoid of ``decay``.

    Args:
        state: shape (d,).
        vector: shape (d,).
        decay: shape (d,): each number of the state has a memory of its own.

    >>> import numpy as np
    >>> ewma(np.array([1.0, 1.0]), np.array([0.0, 3.0]), np.zeros(2))
    array([0.5, 2. ])
    """
    kept = 1.0 / (1.0 + np.exp(-decay))
    return kept * state + (1.0 - kept) * vector


def ewma_states(vectors: Any, decay: Any) -> Any:
    """The states of :func:`ewma` after each of ``n`` vectors; the first vector is the first state.

    Args:
        vectors: shape (n, d), at least one.
        decay: shape (d,).

    Returns:
        Shape (n, d).

    >>> import numpy as np
    >>> ewma_states(np.array([[1.0, 1.0], [0.0, 3.0], [0.0, 3.0]]), np.zeros(2))
    array([[1.  , 1.  ],
           [0.5 , 2.  ],
           [0.25, 2.5 ]])
    """
    kept = 1.0 / (1.0 + np.exp(-decay))
    given = np.concatenate([vectors[:1], (1.0 - kept) * vectors[1:]])
    return wy.linear_recurrence(given, kept)


def gru(state: Any, vector: Any, of_vector: Any, of_state: Any, bias: Any, size: int) -> Any:
    """A gated recurrent unit (Cho et al., 2014; the reset gate after the product, as in cuDNN).

    ``r, z, n`` are the reset gate, the update gate and the new content, and the state becomes
    ``(1 - z) n + z state``.

    Args:
        state: shape (h,).
        vector: shape (d,).
        of_vector: shape (d, 3 h), for ``r``, ``z`` and ``n`` side by side.
        of_state: shape (h, 3 h), alike.
        bias: shape (3 h,).
        size: h, which a loss that is read has to know as a number.

    >>> import numpy as np
    >>> zeros = np.zeros((2, 6))
    >>> gru(np.array([1.0, -2.0]), np.ones(2), zeros, zeros, np.zeros(6), 2)
    array([ 0.5, -1. ])
    """
    given, own = vector @ of_vector + bias, state @ of_state
    gates = 1.0 / (1.0 + np.exp(-given[..., : 2 * size] - own[..., : 2 * size]))
    reset, update = gates[..., :size], gates[..., size:]
    new = np.tanh(given[..., 2 * size :] + reset * own[..., 2 * size :])
    return (1.0 - update) * new + update * state


def lstm(
    state: Any,
    memory: Any,
    vector: Any,
    of_vector: Any,
    of_state: Any,
    bias: Any,
    size: int,
) -> tuple[Any, Any]:
    """A long short-term memory (Hochreiter and Schmidhuber, 1997; Gers et al., 2000).

    ``i, f, o, c`` are the input, forget and output gates and the new content; the memory becomes
    ``f memory + i c``, the state ``o tanh(memory)``.

    Args:
        state: shape (h,).
        memory: shape (h,).
        vector: shape (d,).
        of_vector: shape (d, 4 h), for ``i``, ``f``, ``o`` and ``c`` side by side.
        of_state: shape (h, 4 h), alike.
        bias: shape (4 h,). 1 for ``f`` makes it remember at first.
        size: h, which a loss that is read has to know as a number.

    Returns:
        The state and the memory.

    >>> import numpy as np
    >>> zeros = np.zeros((1, 4))
    >>> lstm(np.zeros(1), np.array([2.0]), np.ones(1), zeros, zeros, np.zeros(4), 1)
    (array([0.38079708]), array([1.]))
    """
    given = vector @ of_vector + state @ of_state + bias
    gates = 1.0 / (1.0 + np.exp(-given[..., : 3 * size]))
    new = np.tanh(given[..., 3 * size :])
    memory = gates[..., size : 2 * size] * memory + gates[..., :size] * new
    return gates[..., 2 * size :] * np.tanh(memory), memory
