"""Facts about classes and callables that are needed before they are read: package and signature."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Sequence
from typing import Any


def is_class_or_union(found: Any) -> bool:
    """Whether this is a class of which ``|`` makes a union, or a union."""
    own = isinstance(found, type) and type(found).__or__ is type.__or__
    return own or isinstance(found, types.UnionType)


def package_of(found: Any) -> str:
    """The package that defines an object; a text of no package for what names none."""
    return str(getattr(found, "__module__", None)).split(".")[0]


@functools.cache
def _signature(function: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except ValueError:
        return None


def fits(function: Any, args: Sequence[Any], keywords: dict[str, Any]) -> bool:
    """Whether a function of Python's own takes these arguments, as far as it says what it takes."""
    try:
        if signature := _signature(function):
            signature.bind(*args, **keywords)
    except TypeError:
        return False
    return True
