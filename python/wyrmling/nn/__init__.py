"""What models are made of: layers, cells and layers over sequences, attention, initialisers.

All are plain functions of arrays, which are their weights too: nothing has a state. They take
arrays of NumPy, parameters and other variables, and are read in a function that :func:`.fit` trains
or that is differentiated. The type of elements stays: float32 gives float32.

A sequence is an array of shape (t, d), in order, or (n, t, d) for ``n`` of one length. In a loss
that ``fit`` reads, each sample may have a sequence of another length.
"""

from .attention import attention, causal
from .cells import ewma, gru, lstm
from .clipping import clip_by_norm
from .initialisers import he, normal, uniform, xavier
from .layers import dropout, embedding, layer_norm, linear
from .sequences import ewma_states, gru_states, lstm_states

__all__ = [
    "attention",
    "causal",
    "clip_by_norm",
    "dropout",
    "embedding",
    "ewma",
    "ewma_states",
    "gru",
    "gru_states",
    "he",
    "layer_norm",
    "linear",
    "lstm",
    "lstm_states",
    "normal",
    "uniform",
    "xavier",
]
