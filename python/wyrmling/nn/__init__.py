"""What models are made of: cells that go over a sequence, and arrays that training starts from.

All are plain functions of arrays. In a loss that is a function they are read as it is, and work on
one vector; with NumPy they also work on many at once, one a row.
"""

from .cells import ewma, ewma_states, gru, lstm
from .initialisers import he, normal, uniform, xavier

__all__ = ["ewma", "ewma_states", "gru", "he", "lstm", "normal", "uniform", "xavier"]
