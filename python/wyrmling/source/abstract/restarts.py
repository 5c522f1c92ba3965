"""What ends an attempt to read a function: a value that has to be known, and that it is read anew.

Reading goes on otherwise then: with each run of a loop by itself, with an argument as a constant,
or from the beginning.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable
from typing import Any


class NeedsConstant(Exception):
    """A value that is computed stands where only a known one can."""

    def __init__(
        self, value: Any, node: ast.AST, what: str, advice: str, reading: Any = None
    ) -> None:
        super().__init__(what)
        self.value, self.node, self.what, self.advice = value, node, what, advice
        self.reading = reading


class Structural(NeedsConstant):
    """Paths that meet in a loop disagree about what cannot differ while the program runs."""


class Restart(Exception):
    """The function has to be read again: with leaves of the arguments known, keeping track of names
    that are not set on all paths, or with calls as recursions, unless other leaves were known.
    """

    def __init__(
        self,
        static: frozenset[int] = frozenset(),
        kept: frozenset[Hashable] = frozenset(),
        recursive: dict[Hashable, frozenset[int]] | None = None,
    ) -> None:
        self.static, self.kept, self.recursive = static, kept, recursive or {}
