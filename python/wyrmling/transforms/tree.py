"""Nested tuples, lists and dicts: taken apart into leaves, and put together again.

Whatever is not such a container (or None, which has no leaves) is a leaf. Dicts keep the order
of their keys; named tuples, and subclasses such as ``defaultdict``, stay what they are.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .._core import Variable

# What most leaves are: they are known without asking for containers of every kind.
LEAVES = frozenset({float, int, np.ndarray, Variable})

Rebuild = Callable[[Iterator[Any]], Any]

TOO_DEEP = "{}: it is nested too deep; does it contain itself?"


def _children(tree: Any) -> tuple[list[tuple[str, Any]], Callable[[list[Any]], Any]] | None:
    """The parts of a container, each with how one writes it, and what puts others together."""
    if isinstance(tree, dict):
        # Without asking for the length: a subclass may say anything.
        keys = list(iter(tree))
        named = [(f"[{key!r}]", tree[key]) for key in keys]
        if type(tree) is dict:
            return named, lambda parts: dict(zip(keys, parts, strict=True))
        return named, functools.partial(_dict, tree, keys)
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        names = [f".{name}" for name in tree._fields]
        pairs = list(zip(names, tuple.__iter__(tree), strict=True))
        return pairs, functools.partial(_sequence, tree, tuple)
    if isinstance(tree, tuple | list):
        # What it holds, whatever a subclass says of it.
        kind: Any = tuple if isinstance(tree, tuple) else list
        same = kind if type(tree) is kind else functools.partial(_sequence, tree, kind)
        return [(f"[{i}]", part) for i, part in enumerate(kind.__iter__(tree))], same
    if tree is None:
        return [], lambda parts: None
    return None


def _dict(like: dict[Any, Any], keys: list[Any], parts: list[Any]) -> dict[Any, Any]:
    """A dict of the class of another, with what else that has, such as a default. It is a plain one
    if those cannot be copied or written to.
    """
    pairs = list(zip(keys, parts, strict=True))
    try:
        made = copy.copy(like)
        for key, part in pairs:
            made[key] = part
    except (TypeError, AttributeError, NotImplementedError):
        return dict(pairs)
    return made


def _sequence(like: Any, kind: Any, parts: list[Any]) -> Any:
    """A list or tuple of a subclass, with the attributes of another."""
    made = kind.__new__(type(like), *([parts] if kind is tuple else []))
    if kind is list:
        list.extend(made, parts)
    state = object.__getstate__(like)
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    if attributes:
        made.__dict__.update(attributes)
    for name, value in (slots or {}).items():
        object.__setattr__(made, name, value)
    return made


def is_leaf(tree: Any) -> bool:
    """Whether this is no container."""
    return type(tree) in LEAVES or _children(tree) is None


def flatten(tree: Any, name: str = "") -> tuple[list[tuple[str, Any]], Rebuild]:
    """The leaves, each with its name, and what makes such a tree of other leaves.

    Raises RecursionError, with the name, if it is nested deeper than Python can follow, as what
    contains itself is.
    """
    split = None if type(tree) in LEAVES else _children(tree)
    if split is None:
        return [(name, tree)], next
    children, make = split
    leaves: list[tuple[str, Any]] = []
    rebuilds: list[Rebuild] = []
    try:
        for suffix, child in children:
            inner, rebuild = flatten(child, name + suffix)
            leaves += inner
            rebuilds.append(rebuild)
    except RecursionError:
        raise RecursionError(TOO_DEEP.format(name or "a tuple, list or dict")) from None
    return leaves, lambda others: make([rebuild(others) for rebuild in rebuilds])


def leaves_like(tree: Any, like: Any) -> list[Any] | None:
    """The leaves in the order of those of ``like``, or None if that has another form.

    Dicts of the same keys have one form, in whatever order the keys were written; a named tuple has
    that of a tuple, but not that of one whose names are others.
    """
    found: list[Any] = []
    try:
        return found if _match(tree, like, found) else None
    except RecursionError:
        raise RecursionError(TOO_DEEP.format("a tuple, list or dict")) from None


def _match(tree: Any, like: Any, found: list[Any]) -> bool:
    if is_leaf(like):
        found.append(tree)
        return is_leaf(tree)
    if isinstance(like, dict):
        if not isinstance(tree, dict) or tree.keys() != like.keys():
            return False
        return all(_match(tree[key], part, found) for key, part in like.items())
    for kind in (dict, list, tuple):
        if isinstance(tree, kind) != isinstance(like, kind):
            return False
    names = [getattr(one, "_fields", None) for one in (tree, like)]
    if None not in names and names[0] != names[1]:
        return False
    parts, others = _children(tree), _children(like)
    if parts is None or others is None or len(parts[0]) != len(others[0]):
        return False
    pairs = zip(parts[0], others[0], strict=True)
    return all(_match(part, other, found) for (_, part), (_, other) in pairs)


def convert(function: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with ``function`` of each leaf in its place."""
    leaves, rebuild = flatten(tree)
    return rebuild(iter([function(leaf) for _, leaf in leaves]))


def copied(tree: Any) -> Any:
    """The tree with copies of its arrays, which nobody else has."""
    return convert(lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, tree)


def structure(tree: Any) -> Any:
    """The tree without its leaves, for messages and as what other trees are compared with."""
    return convert(lambda leaf: "leaf", tree)
