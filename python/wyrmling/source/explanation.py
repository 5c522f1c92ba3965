"""What ``explain`` says of a function."""

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
