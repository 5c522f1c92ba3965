"""Recommenders of the next item, by the order in which users had the ones before.

What has been is encoded as a vector, the state, whose product with an item's vector is the item's
score (Hidasi et al., "Session-based recommendations with recurrent neural networks", 2016).
"""

from .ewma import EWMA
from .gru import GRU
from .lstm import LSTM
from .sasrec import SASRec
from .sequence_model import SequenceModel

__all__ = ["EWMA", "GRU", "LSTM", "SASRec", "SequenceModel"]
