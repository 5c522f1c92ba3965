"""Recommenders: models written with wyrmling's operators, trained at native speed."""

from .bpr import BPR
from .model import Model

__all__ = ["BPR", "Model"]
