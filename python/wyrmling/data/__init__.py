"""What models learn from: ids, and interactions of users with items."""

from .columns import Column, Id
from .ids import Ids
from .interactions import Interactions

__all__ = ["Column", "Id", "Ids", "Interactions"]
