"""Evaluation: how well models rank, which hyperparameters suit, and which model is best.

:func:`evaluate` measures a model on held-out interactions; :mod:`.metrics` defines the metrics.
"""

from .evaluate import evaluate
from .result import Evaluation, Skipped

__all__ = ["Evaluation", "Skipped", "evaluate"]
