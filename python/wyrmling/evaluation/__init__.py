"""Evaluation: how well models rank, which hyperparameters suit, and which model is best.

- :func:`evaluate` measures a model on held-out interactions; :mod:`.metrics` defines the metrics.
- :func:`cross_validate` holds out every interaction once.
- :func:`compare` trains several models and puts popularity beside them.
- :func:`search` tries hyperparameters, drawn from lists, :func:`uniform`, :func:`log_uniform` and
  :func:`integers`, on a part of the training data.
- :func:`popularity` is what a model has to beat; :func:`worse_than_popularity` says if it does not.
"""

from .comparison import Comparison, compare
from .cross_validation import CrossValidation, cross_validate
from .evaluate import evaluate
from .models import popularity, worse_than_popularity
from .plots import plot_history
from .result import Evaluation, Skipped
from .search import Search, Trial, search
from .spaces import integers, log_uniform, uniform

__all__ = [
    "Comparison",
    "CrossValidation",
    "Evaluation",
    "Search",
    "Skipped",
    "Trial",
    "compare",
    "cross_validate",
    "evaluate",
    "integers",
    "log_uniform",
    "plot_history",
    "popularity",
    "search",
    "uniform",
    "worse_than_popularity",
]
