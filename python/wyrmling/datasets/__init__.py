"""Interactions to learn from: read from files, and made up.

- :func:`read_interactions` reads lines of user, item and maybe a rating.
- :func:`make_interactions` makes up data with a structure that a model can find.
"""

from ..data import Interactions
from .generated import make_interactions
from .reading import read_interactions

__all__ = ["Interactions", "make_interactions", "read_interactions"]
