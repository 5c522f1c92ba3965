"""Layers over sequences: the states of a cell after each vector of a sequence.

A sequence has shape (t, d), or (n, t, d) for ``n`` of one length. The first state follows on zeros.
The products of all vectors with their weights are one matrix product.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import wyrmling as wy

from .cells import gru_given, lstm_given

__all__ = ["ewma_states", "gru_states", "lstm_states"]


def ewma_states(vectors: Any, decay: Any) -> Any:
    """The states of :func:`.ewma` after each vector; the first vector is the first state.

    Args:
        vectors: shape (t, d) or (n, t, d), at least one.
        decay: shape (d,).

    Returns:
        Shape (t, d) or (n, t, d).

    >>> import numpy as np
    >>> ewma_states(np.array([[1.0, 1.0], [0.0, 3.0], [0.0, 3.0]]), np.zeros(2))
    array([[1.  , 1.  ],
           [0.5 , 2.  ],
           [0.25, 2.5 ]])
    """
    steps = _swapped(vectors)
    return _swapped(ewma_of_parts(steps[:1], steps[1:], decay))


def ewma_of_parts(first: Any, rest: Any, decay: Any) -> Any:
    """:func:`ewma_states` of the first vector and the others, with the step as the first axis.

    Vectors that are looked up are looked up in two parts, not as one array that is then cut.

    Args:
        first: shape (1, d) or (1, n, d).
        rest: shape (t - 1, d) or (t - 1, n, d).
        decay: shape (d,).

    Returns:
        Shape (t, d) or (t, n, d).
    """
    kept = wy.sigmoid(decay)
    return wy.linear_recurrence(np.concatenate([first, (1.0 - kept) * rest]), kept)


def gru_states(vectors: Any, of_vector: Any, of_state: Any, bias: Any) -> Any:
    """The states of :func:`.gru` after each vector of a sequence.

    Args:
        vectors: shape (t, d) or (n, t, d), at least one.
        of_vector: shape (d, 3 h), as :func:`.gru` has it.
        of_state: shape (h, 3 h).
        bias: shape (3 h,).

    Returns:
        Shape (t, h) or (n, t, h).

    Raises:
        IndexError: no vector.
        ValueError: shapes that do not fit together.

    >>> import numpy as np
    >>> ones = np.ones((1, 3))
    >>> gru_states(np.zeros((2, 1)), ones, ones, np.array([0.0, 0.0, 1.0])).round(3)
    array([[0.381],
           [0.568]])
    """
    given = _swapped(vectors @ of_vector + bias)
    states = _empty_states(given, of_state)
    state = np.zeros_like(given[0][..., : of_state.shape[0]])
    for t in range(len(given)):
        state = gru_given(state, given[t], of_state)
        states[t] = state
    return _swapped(_stacked(states))


def lstm_states(
    vectors: Any, of_vector: Any, of_state: Any, bias: Any, *, coupled: bool = False
) -> Any:
    """The states of :func:`.lstm` after each vector of a sequence.

    Args:
        vectors: shape (t, d) or (n, t, d), at least one.
        of_vector: shape (d, 4 h), or (d, 3 h) if coupled, as :func:`.lstm` has it.
        of_state: shape (h, 4 h) or (h, 3 h).
        bias: shape (4 h,) or (3 h,).
        coupled: whether the forget gate is 1 less the input gate.

    Returns:
        Shape (t, h) or (n, t, h).

    Raises:
        IndexError: no vector.
        ValueError: shapes that do not fit together.

    >>> import numpy as np
    >>> zeros, bias = np.zeros((1, 3)), np.array([0.0, 0.0, 9.0])
    >>> lstm_states(np.zeros((2, 1)), zeros, zeros, bias, coupled=True).round(3)
    array([[0.231],
           [0.318]])
    """
    given = _swapped(vectors @ of_vector + bias)
    states = _empty_states(given, of_state)
    state = np.zeros_like(given[0][..., : of_state.shape[0]])
    memory = state
    for t in range(len(given)):
        state, memory = lstm_given(state, memory, given[t], of_state, coupled)
        states[t] = state
    return _swapped(_stacked(states))


def _empty_states(given: Any, of_state: Any) -> Any:
    """An array for the states of all steps, of the element type that these will have. A list if an
    operand is a variable: each write to an array of a graph would copy the array.
    """
    if isinstance(given, wy.Variable) or isinstance(of_state, wy.Variable):
        return [None] * len(given)
    units = of_state.shape[0]
    return np.zeros_like(given[..., :units] + 1.0 * of_state[0, :units])


def _stacked(states: Any) -> Any:
    """The states of all steps as one array."""
    return np.stack(states) if isinstance(states, list) else states


def _swapped(sequences: Any) -> Any:
    """Steps before sequences, (t, n, d), and back; a single sequence stays."""
    return np.swapaxes(sequences, 0, -2)
