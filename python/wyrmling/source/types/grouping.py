"""``itertools.groupby``, whose groups are read as lists.

The text (``standard_collections.groupby``) makes each group before it is gone through, where Python
takes items and asks for keys one by one. The difference would be seen if the key printed, or if
what the groups are made of or what the key reads were changed meanwhile: the values that are made
here and given to the text refuse both. A group of a generator is refused altogether.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from ..abstract.state import reachable
from ..abstract.values import Known, Lazy, is_none
from ..abstract.walker import Walker

SILENT = "silent"
"""The name of the ``Lazy`` value of a key that may not print."""
UNCHANGED = "unchanged"
"""The name of the ``Lazy`` value whose call refuses a change of the objects that it has."""


def grouped(walker: Walker, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
    """``groupby(iterable, key)``."""
    given = dict(zip(("iterable", "key"), args, strict=False))
    if len(args) > 2 or keywords.keys() & given.keys() or keywords.keys() - {"iterable", "key"}:
        walker.leave("arguments do not fit", node)
    given |= keywords
    if "iterable" not in given:
        walker.leave("an argument is missing", node)
    if walker.runs(given["iterable"]):
        walker.refuse(node, "groupby of a generator", "make it a list")
    over, key = given["iterable"], given.get("key", Known(None))
    seen = {one: walker.state.heap[one] for one in reachable(walker.state, [over, key])}
    silent = key if is_none(key) else Lazy(SILENT, (key,))
    text = walker.written_out("groupby", node)
    return walker.call(text, [over, silent, Lazy(UNCHANGED, (over, key), seen)], {}, node)


def called_silently(walker: Walker, function: Any, args: Sequence[Any], node: ast.AST) -> Any:
    """A call of a key, which is refused if it prints: Python would call it later."""
    printed, heap = walker.printed, walker.state.heap
    before = None if printed is None else heap[printed.address]
    made = walker.call(function, args, {}, node)
    after = None if printed is None else walker.state.heap[printed.address]
    if walker.printed is not printed or after != before:
        walker.refuse(node, "print in a key of groupby", "print beside it")
    return made


def expect_unchanged(walker: Walker, seen: dict[int, Any], node: ast.AST) -> Known:
    """Refuses a change of objects that had the contents ``seen``, by their addresses."""
    heap = walker.state.heap
    if any(heap.get(one) is not old and heap.get(one) != old for one, old in seen.items()):
        walker.refuse(node, "a change of what groupby goes through or asks", "make a list of it")
    return Known(None)
