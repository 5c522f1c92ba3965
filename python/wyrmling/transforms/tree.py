"""Nested tuples, lists and dicts: taken apart into leaves, and put together again.

Whatever is not such a container (or None, which has no leaves) is a leaf. Dicts keep the order
of their keys; named tuples stay what they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._core import Variable

# What most leaves are: they are known without asking for containers of every kind.
LEAVES = frozenset({float, int, np.ndarray, Variable})

Rebuild = Callable[[Iterator[Any]], Any]


def _children(tree: Any) -> tuple[list[tuple[str, Any]], Callable[[list[Any]], Any]] | None:
    """The parts of a container, each with how one writes it, and what puts others together."""
    if isinstance(tree, dict):
        keys = list(tree)
        return (
            [(f"[{key!r}]", tree[key]) for key in keys],
            lambda parts: dict(zip(keys, parts, strict=True)),
        )
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        make = type(tree)
        names = [f".{name}" for name in tree._fields]
        return list(zip(names, tree, strict=True)), lambda parts: make(*parts)
    if isinstance(tree, tuple | list):
        kind = tuple if isinstance(tree, tuple) else list
        return [(f"[{i}]", part) for i, part in enumerate(tree)], kind
    if tree is None:
        return [], lambda parts: None
    return None


def is_leaf(tree: Any) -> bool:
    """Whether this is no container."""
    return type(tree) in LEAVES or _children(tree) is None


def flatten(tree: Any, name: str = "") -> tuple[list[tuple[str, Any]], Rebuild]:
    """The leaves, each with its name, and what makes such a tree of other leaves."""
    if type(tree) in LEAVES:
        return [(name, tree)], next
    split = _children(tree)
    if split is None:
        return [(name, tree)], next
    children, make = split
    leaves: list[tuple[str, Any]] = []
    rebuilds: list[Rebuild] = []
    for suffix, child in children:
        inner, rebuild = flatten(child, name + suffix)
        leaves += inner
        rebuilds.append(rebuild)
    return leaves, lambda others: make([rebuild(others) for rebuild in rebuilds])


def convert(function: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with ``function`` of each leaf in its place."""
    leaves, rebuild = flatten(tree)
    return rebuild(iter([function(leaf) for _, leaf in leaves]))


def structure(tree: Any) -> Any:
    """The tree without its leaves: equal for trees that fit each other."""
    return convert(lambda leaf: "leaf", tree)
