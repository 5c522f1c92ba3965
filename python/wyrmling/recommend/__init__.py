"""Recommenders: models that learn from interactions, each by a loss that can be read.

All have the methods of :class:`Recommender`: ``fit``, ``recommend``, ``similar_items``, ``fold_in``
and others.

=============================  =========================================================
:class:`Popularity`            what most users had
:class:`BPR`                   vectors, by pairs of items
:class:`WARP`                  vectors, by pairs of items, the head of the ranking first
:class:`LogisticMF`            vectors, by the probability of an interaction
:class:`SampledSoftmax`        vectors, by one item against several
:class:`ExplicitMF`            vectors and biases, by ratings
:class:`ImplicitALS`           vectors, by alternating least squares over all pairs
:class:`EASE`                  a weight for each pair of items, in closed form
:class:`ItemKNN`               similarities of items, by the users they share
:class:`FactorizationMachine`  sums of vectors of features, of users and of items
:class:`EWMA`                  the next item, by a moving average of those before
:class:`GRU`, :class:`LSTM`    the next item, by a recurrent network over those before
:class:`SASRec`                the next item, by attention to those before
:class:`Custom`                vectors, by a loss of your own
=============================  =========================================================
"""

from .als import ImplicitALS
from .bpr import BPR
from .custom import Custom
from .ease import EASE
from .explicit import ExplicitMF
from .factorization_machine import FactorizationMachine
from .features import Features
from .fitted import NewUser
from .knn import ItemKNN
from .learning_curve import LearningCurve
from .logistic import LogisticMF
from .popularity import Popularity
from .recommendations import Recommendations
from .recommender import Recommender
from .sequence import EWMA, GRU, LSTM, SASRec
from .softmax import SampledSoftmax
from .warp import WARP

__all__ = [
    "BPR",
    "EASE",
    "EWMA",
    "GRU",
    "LSTM",
    "WARP",
    "Custom",
    "ExplicitMF",
    "FactorizationMachine",
    "Features",
    "ImplicitALS",
    "ItemKNN",
    "LearningCurve",
    "LogisticMF",
    "NewUser",
    "Popularity",
    "Recommendations",
    "Recommender",
    "SASRec",
    "SampledSoftmax",
]
