"""Nested tuples, lists and dicts: taken apart into leaves, and put together again.

Whatever is not such a container (or None, which has no leaves) is a leaf. Dicts keep the order
of their keys; named tuples, and subclasses such as ``defaultdict``, stay what they are.

What is differentiated may be held by instances of classes too (``instances.py``). Where functions
are asked for them, an instance that holds floating-point numbers is a container of its attributes.
Within it these numbers alone are leaves; all else stays what it is, and is None in a derivative.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from .._core import Variable
from . import instances

# What most leaves are: they are known without asking for containers of every kind.
LEAVES = frozenset({float, int, np.ndarray, Variable})

Leaves = list[tuple[str, Any]]
Rebuild = Callable[[Iterator[Any]], Any]


class Derivatives(map):  # type: ignore[type-arg]
    """Leaves of a derivative: what is put together of them has None for what has none."""


def derivatives(leaves: Iterable[Any]) -> Derivatives:
    """These leaves of a derivative."""
    return Derivatives(lambda leaf: leaf, leaves)


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


def flatten(tree: Any, name: str = "", opened: list[Any] | None = None) -> tuple[Leaves, Rebuild]:
    """The leaves, each with its name, and what makes such a tree of other leaves.

    With ``opened``, instances are containers; those that are found are added to it, in order.
    Raises RecursionError, with the name, if it is nested deeper than Python can follow, as what
    contains itself is.
    """
    split = None if type(tree) in LEAVES else _children(tree)
    if split is None:
        if opened is not None and type(tree) not in LEAVES and _is_opened(tree):
            return _flatten_instance(tree, name, opened)
        return [(name, tree)], next
    children, make = split
    leaves: Leaves = []
    rebuilds: list[Rebuild] = []
    try:
        for suffix, child in children:
            inner, rebuild = flatten(child, name + suffix, opened)
            leaves += inner
            rebuilds.append(rebuild)
    except RecursionError:
        raise RecursionError(TOO_DEEP.format(name or "a tuple, list or dict")) from None
    return leaves, lambda others: make([rebuild(others) for rebuild in rebuilds])


def _is_opened(tree: Any) -> bool:
    """Whether this is an instance that is a container."""
    return instances.is_instance(tree) and instances.has_numbers(tree)


def _flatten_instance(tree: Any, name: str, opened: list[Any]) -> tuple[Leaves, Rebuild]:
    """``flatten`` of an instance that holds numbers."""
    opened.append(tree)
    leaves: Leaves = []
    rebuilds: list[Rebuild] = []
    found = instances.attributes(tree)
    try:
        for attribute, value in found.items():
            inner, rebuild = _flatten_part(value, f"{name}.{attribute}", opened)
            leaves += inner
            rebuilds.append(rebuild)
    except RecursionError:
        raise RecursionError(TOO_DEEP.format(name or "an instance")) from None
    cls, names = type(tree), list(found)
    return leaves, lambda others: instances.made(cls, names, [each(others) for each in rebuilds])


def _flatten_part(part: Any, name: str, opened: list[Any]) -> tuple[Leaves, Rebuild]:
    """``flatten`` of what an instance holds: leaves are floating-point numbers."""
    if instances.is_real(part):
        return [(name, part)], next
    if not instances.has_numbers(part):
        return [], lambda others: None if isinstance(others, Derivatives) else part
    split = _children(part)
    if split is None:
        return _flatten_instance(part, name, opened)
    children, make = split
    leaves: Leaves = []
    rebuilds: list[Rebuild] = []
    for suffix, child in children:
        inner, rebuild = _flatten_part(child, name + suffix, opened)
        leaves += inner
        rebuilds.append(rebuild)
    return leaves, lambda others: make([rebuild(others) for rebuild in rebuilds])


def leaves_like(tree: Any, like: Any, opened: bool = False) -> list[Any] | None:
    """The leaves in the order of those of ``like``, or None if that has another form.

    Dicts of the same keys have one form, in whatever order the keys were written; a named tuple has
    that of a tuple, but not that of one whose names are others. With ``opened``, instances of one
    class have one form, whatever of them has no gradient.
    """
    found: list[Any] = []
    try:
        return found if _match(tree, like, found, opened) else None
    except RecursionError:
        raise RecursionError(TOO_DEEP.format("a tuple, list or dict")) from None


def _match(tree: Any, like: Any, found: list[Any], opened: bool, inside: bool = False) -> bool:
    if inside and not instances.has_numbers(like):
        return True
    if is_leaf(like):
        if opened and type(like) not in LEAVES and _is_opened(like):
            if type(tree) is not type(like):
                return False
            own, parts = instances.attributes(tree), instances.attributes(like)
            return all(
                _match(own.get(name), part, found, opened, inside=True)
                for name, part in parts.items()
            )
        found.append(tree)
        return is_leaf(tree)
    if isinstance(like, dict):
        if not isinstance(tree, dict) or tree.keys() != like.keys():
            return False
        pairs = [(tree[key], part) for key, part in like.items()]
        return all(_match(*pair, found, opened, inside) for pair in pairs)
    for kind in (dict, list, tuple):
        if isinstance(tree, kind) != isinstance(like, kind):
            return False
    names = [getattr(one, "_fields", None) for one in (tree, like)]
    if None not in names and names[0] != names[1]:
        return False
    some, others = _children(tree), _children(like)
    if some is None or others is None or len(some[0]) != len(others[0]):
        return False
    both = zip(some[0], others[0], strict=True)
    return all(_match(part, other, found, opened, inside) for (_, part), (_, other) in both)


def convert(function: Callable[[Any], Any], tree: Any, opened: bool = False) -> Any:
    """The tree with ``function`` of each leaf in its place."""
    leaves, rebuild = flatten(tree, opened=[] if opened else None)
    return rebuild(iter([function(leaf) for _, leaf in leaves]))


def replaced(function: Callable[[Any], Any], tree: Any) -> Any:
    """As ``convert``, but a part in which each leaf stays the same object is that part itself."""
    flatten(tree)  # For its error, where it is nested too deep.
    return _replaced(function, tree)


def _replaced(function: Callable[[Any], Any], tree: Any) -> Any:
    split = None if type(tree) in LEAVES else _children(tree)
    if split is None:
        return function(tree)
    named, make = split
    parts = [_replaced(function, part) for _, part in named]
    if all(one is part for one, (_, part) in zip(parts, named, strict=True)):
        return tree
    return make(parts)


def copied(tree: Any, opened: bool = False) -> Any:
    """The tree with copies of its arrays, which nobody else has."""
    return convert(lambda leaf: leaf.copy() if isinstance(leaf, np.ndarray) else leaf, tree, opened)


def structure(tree: Any) -> Any:
    """The tree without its leaves, for messages and as what other trees are compared with."""
    return convert(lambda leaf: "leaf", tree)


def bare(tree: Any) -> Any:
    """The tree with 0.0 for its leaves, as what others are compared with: it keeps no arrays."""
    return convert(lambda leaf: 0.0, tree, opened=True)


class _Shown:
    """How an instance is shown in messages."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def shown(tree: Any) -> str:
    """The tree without its leaves, for messages, with the attributes of instances."""

    def leaf(value: Any) -> Any:
        if type(value) in LEAVES or not _is_opened(value):
            return "leaf"
        parts = [f"{name}={shown(own)}" for name, own in instances.attributes(value).items()]
        return _Shown(f"{type(value).__name__}({', '.join(parts)})")

    return str(convert(leaf, tree)) if not is_leaf(tree) else repr(leaf(tree))


def parts_of(tree: Any) -> list[tuple[str, Any, list[Any]]]:
    """What could be changed in a tree: its instances, lists and dicts, each with its name and with
    what it holds.
    """
    found: list[tuple[str, Any, list[Any]]] = []

    def look(value: Any, name: str) -> None:
        if type(value) not in LEAVES and instances.is_instance(value):
            if not instances.has_numbers(value):
                return
            children = [(f".{key}", own) for key, own in instances.attributes(value).items()]
        else:
            split = None if type(value) in LEAVES else _children(value)
            if split is None or value is None:
                return
            children = split[0]
        if not isinstance(value, tuple):
            found.append((name, value, _held(value)))
        for suffix, child in children:
            look(child, name + suffix)

    look(tree, "")
    return found


def _held(value: Any) -> list[Any]:
    if isinstance(value, list):
        return list(value)
    pairs = value if isinstance(value, dict) else instances.attributes(value)
    return [part for pair in pairs.items() for part in pair]


def is_changed(value: Any, held: list[Any]) -> bool:
    """Whether an instance, list or dict holds something else than it did."""
    now = _held(value)
    return len(now) != len(held) or any(a is not b for a, b in zip(now, held, strict=True))
