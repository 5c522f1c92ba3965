"""The pullback that ``vjp`` returns where a function is read: a compiled program and its call.

``programs.pullback`` makes the program. Its parameters are those of the function, which have the
values of the call of ``vjp``, and a gradient for each result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import form as forms


@dataclass(frozen=True, eq=False)
class Pullback:
    """The compiled pullback of a function, of its parameters and a gradient for each result."""

    compiled: Any
    form: Any
    # Which leaves of the result depend on anything: gradients of others are dropped.
    taken: tuple[int, ...]

    def __call__(self, parameters: Sequence[Any], seeds: Sequence[Any]) -> Any:
        """The gradients; None if the program leaves."""
        found = self.compiled((*parameters, *[seeds[at] for at in self.taken]))
        return None if isinstance(found, int) else (forms.filled(self.form, found),)
