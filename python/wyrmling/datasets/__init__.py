"""Interactions to learn from: read from files, made up, or published by others.

- :func:`read_interactions` reads lines of user, item and maybe a rating.
- :func:`make_interactions` makes up data with a structure that a model can find.
- :func:`movielens` and :func:`goodbooks` are ratings of films and of books, which are downloaded
  when they are first asked for, compared with their checksums, and kept.
"""

from ..data import Interactions
from .generated import make_interactions
from .goodbooks import goodbooks
from .movielens import movielens
from .reading import read_interactions

__all__ = ["Interactions", "goodbooks", "make_interactions", "movielens", "read_interactions"]
