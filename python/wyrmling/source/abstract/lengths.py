"""Lengths that are computed of others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .values import Number, seen_of, sources_of


def as_seen(found: Any, of: Callable[..., int], *given: Any) -> Any:
    """A length that was computed of numbers, with what it was of those that were seen, and with
    their sources.
    """
    if not isinstance(found, Number):
        return found
    seen = [seen_of(one) for one in given]
    known = None if None in seen else of(*seen)
    return replace(found, seen=known, sources=found.sources | sources_of(*given))
