"""The result of ``explain``.

It has a file of its own since annotations of ``wyrmling.transforms`` name it: that package does not
import ``explain.py``, and with it the abstract interpreter, before a function is read.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Explanation:
    """Whether a function is read for some arguments, and why not if it is not."""

    function: str
    is_read: bool
    reason: str

    def __repr__(self) -> str:
        return f"{self.function}: {'read' if self.is_read else 'traced'}; {self.reason}"
