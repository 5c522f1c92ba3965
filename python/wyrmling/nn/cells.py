"""Cells: what a state becomes when a sequence goes on by one vector.

A vector is an array of shape (d,), or (n, d) for ``n`` sequences at once; a state has shape (h,),
or (n, h). A cell whose name ends in ``_given`` gets the product of the vector and its weights,
which :mod:`.sequences` computes for all steps at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import wyrmling as wy

__all__ = ["ewma", "gru", "gru_given", "lstm", "lstm_given"]


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
    kept = wy.sigmoid(decay)
    return kept * state + (1.0 - kept) * vector


def gru(state: Any, vector: Any, of_vector: Any, of_state: Any, bias: Any) -> Any:
    """A gated recurrent unit (Cho et al., 2014; the reset gate after the product, as in cuDNN).

    ``r, z, n`` are the reset gate, the update gate and the new content, and the state becomes
    ``(1 - z) n + z state``.

    Args:
        state: shape (h,).
        vector: shape (d,).
        of_vector: shape (d, 3 h), for ``r``, ``z`` and ``n`` side by side.
        of_state: shape (h, 3 h), alike.
        bias: shape (3 h,).

    Raises:
        ValueError: ``of_state`` of another shape, or arrays that do not fit together.

    >>> import numpy as np
    >>> zeros = np.zeros((2, 6))
    >>> gru(np.array([1.0, -2.0]), np.ones(2), zeros, zeros, np.zeros(6))
    array([ 0.5, -1. ])
    """
    return gru_given(state, vector @ of_vector + bias, of_state)


def gru_given(state: Any, given: Any, of_state: Any) -> Any:
    """:func:`gru` of ``vector @ of_vector + bias``."""
    size = _size(given, of_state, 3)
    own = state @ of_state
    gates = wy.sigmoid(given[..., : 2 * size] + own[..., : 2 * size])
    reset, update = gates[..., :size], gates[..., size:]
    new = wy.tanh(given[..., 2 * size :] + reset * own[..., 2 * size :])
    return (1.0 - update) * new + update * state


def lstm(
    state: Any,
    memory: Any,
    vector: Any,
    of_vector: Any,
    of_state: Any,
    bias: Any,
    *,
    coupled: bool = False,
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
        coupled: whether ``f`` is ``1 - i``, so that it forgets as much as it learns (Greff et al.,
            "LSTM: A search space odyssey", 2017). Weights then have ``i``, ``o`` and ``c``: 3 h.

    Returns:
        The state and the memory.

    Raises:
        ValueError: ``of_state`` of another shape, or arrays that do not fit together.

    >>> import numpy as np
    >>> zeros = np.zeros((1, 4))
    >>> lstm(np.zeros(1), np.array([2.0]), np.ones(1), zeros, zeros, np.zeros(4))
    (array([0.38079708]), array([1.]))
    """
    # A memory of one number would be broadcast.
    if np.shape(memory)[-1] != np.shape(state)[-1]:
        raise ValueError(
            f"memory has shape {np.shape(memory)}, expected that of state, {np.shape(state)}"
        )
    return lstm_given(state, memory, vector @ of_vector + bias, of_state, coupled)


def lstm_given(
    state: Any, memory: Any, given: Any, of_state: Any, coupled: bool
) -> tuple[Any, Any]:
    """:func:`lstm` of ``vector @ of_vector + bias``."""
    gates = 2 if coupled else 3
    size = _size(given, of_state, gates + 1)
    both = given + state @ of_state
    opened = wy.sigmoid(both[..., : gates * size])
    new = wy.tanh(both[..., gates * size :])
    add, show = opened[..., :size], opened[..., (gates - 1) * size :]
    keep = 1.0 - add if coupled else opened[..., size : 2 * size]
    memory = keep * memory + add * new
    return show * wy.tanh(memory), memory


def _size(given: Any, of_state: Any, parts: int) -> Any:
    """The length of a state, by weights for so many gates and contents side by side."""
    size = np.shape(of_state)[0]
    if np.shape(of_state)[1] != parts * size:
        raise ValueError(
            f"of_state has shape {np.shape(of_state)}, expected ({size}, {parts * size}): "
            f"{parts} matrices side by side"
        )
    # States of one number would be broadcast.
    if given.shape[-1] != parts * size:
        raise ValueError(
            f"of_vector and bias give {given.shape[-1]} numbers, expected {parts * size}: "
            f"{parts} matrices side by side, as of_state"
        )
    return size
