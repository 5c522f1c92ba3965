"""What is asked of classes and of what they define, before what they do is read."""

from __future__ import annotations

import types
from typing import Any


def is_class_or_union(found: Any) -> bool:
    """Whether this is a class of which ``|`` makes a union, or a union."""
    own = isinstance(found, type) and type(found).__or__ is type.__or__
    return own or isinstance(found, types.UnionType)


def package_of(found: Any) -> str:
    """The package that defines an object; a text of no package for what names none."""
    return str(getattr(found, "__module__", None)).split(".")[0]
