"""Arrays in functions that are read."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from .walker import Walker

ADVICE = "use mode='trace'"


class Arrays(Walker):
    """What is done with arrays."""

    def array_call(
        self, function: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """What a function of NumPy's gives for arrays."""
        name = getattr(function, "__name__", "this")
        return self.refuse(node, f"{name} of arrays", ADVICE)

    def array_item(self, value: Any, index: Any, node: ast.AST) -> Any:
        """An item or slice of an array."""
        return self.refuse(node, "an item of an array", ADVICE)

    def array_store(self, owner: Any, index: Any, value: Any, node: ast.AST) -> None:
        """Assigns to an item or slice of an array."""
        self.refuse(node, "a write to an array", ADVICE)
