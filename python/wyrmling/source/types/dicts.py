"""Dicts of the classes ``defaultdict``, ``Counter`` and ``OrderedDict`` of ``collections``.

Each is a ``DictContents`` as that of any other dict, with another class, and that of a
``defaultdict`` has the factory of its values too. The methods of ``Counter`` that those of dicts do
not have, and its operators, are texts (``standard_collections.py``). Their keys are known, as those
of all dicts are.
"""

from __future__ import annotations

import ast
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..abstract.state import DictContents
from ..abstract.values import Known, Number, Reference, Tuple, is_none
from ..abstract.walker import Walker

CLASSES = (defaultdict, Counter, OrderedDict)
"""Classes of dicts that are read."""
COUNTER_METHODS = frozenset({"update", "subtract", "most_common", "elements", "total"})
"""Methods of ``Counter`` that are read as texts."""
COUNTER_OPERATORS = {"Add": "counter_sum", "Sub": "counter_difference"}
"""Operators of two of ``Counter`` that are read as texts."""


class Dicts(Walker):
    """Dicts of the classes of ``collections``."""

    def made_dict(
        self, cls: type, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Reference:
        """``defaultdict(factory, …)``, ``Counter(…)``, ``OrderedDict(…)``."""
        given = list(args)
        factory = None
        if cls is defaultdict and given:
            factory = self.kept(given.pop(0), node)
            if is_none(factory):
                factory = None
            elif isinstance(factory, Number | Tuple) or (
                isinstance(factory, Known) and not callable(factory.object)
            ):
                self.leave("a defaultdict is made with what cannot be called", node, TypeError)
        if len(given) > 1:
            self.leave("arguments do not fit", node)
        made = self.allocate(DictContents((), (), cls=cls, factory=factory))
        with self.holding(made):
            if given or keywords:
                self.call_method("update", made, given, keywords, node)
        return made

    def update(self, owner: Reference, other: Any, node: ast.AST, pairs: bool = False) -> None:
        """Gives a dict the items of another; or of ``pairs``, which the method takes, but ``|`` and
        ``**`` do not.
        """
        contents = self.contents(other, node) if isinstance(other, Reference) else None
        if isinstance(contents, DictContents):
            for key, value in zip(contents.keys, contents.values, strict=True):
                self.store_item(owner, Known(key), value, node)
            return
        if not pairs or self.class_of(other) is not None:
            self.refuse(node, "an update with this", "use a dict")
        for pair in self.listed(other, node):
            found = self.items(pair, node)
            if len(found) != 2:
                self.leave("pairs of a dict have two items", node, ValueError)
            self.store_item(owner, found[0], found[1], node)

    def missing(self, owner: Any, contents: DictContents, key: Any, node: ast.AST) -> Any:
        """What ``owner[key]`` gives for a key that is not there."""
        if contents.cls is Counter:
            return Known(0)
        if contents.factory is None:
            self.leave("a key that is not there", node, KeyError)
        with self.holding(owner):
            made = self.kept(self.call(contents.factory, [], {}, node), node)
            self.store_item(owner, Known(key), made, node)
        return made

    def dict_method(self, contents: DictContents, name: str) -> Any:
        """What a method of a dict is read by."""
        if contents.cls is Counter and name in COUNTER_METHODS:
            return self._method_of_text(name)
        if contents.cls is OrderedDict and name in ("move_to_end", "popitem"):
            return getattr(self, f"ordered_{name}")
        return getattr(self, f"dict_{name}", None)

    def _method_of_text(self, name: str) -> Any:
        """A method of ``Counter`` that is read as a text."""

        def call(owner: Any, _: Any, args: list[Any], keywords: Any, node: ast.AST) -> Any:
            text = self.written_out(f"counter_{name}", node)
            return self.call(text, [owner, *args], keywords, node)

        return call

    def counter_operator(self, operator: str, left: Any, right: Any, node: ast.AST) -> Any:
        """``+`` and ``-`` of two counters, as new ones; None of anything else."""
        if operator not in COUNTER_OPERATORS or not (
            self._is_counter(left) and self._is_counter(right)
        ):
            return None
        return self.call(
            self.written_out(COUNTER_OPERATORS[operator], node), [left, right], {}, node
        )

    def _is_counter(self, value: Any) -> bool:
        contents = self.state.heap.get(value.address) if isinstance(value, Reference) else None
        return isinstance(contents, DictContents) and contents.cls is Counter

    def ordered_move_to_end(
        self, owner: Any, contents: DictContents, args: list[Any], keywords: Any, node: ast.AST
    ) -> Any:
        """``x.move_to_end(key, last)``."""
        last = self._flag(args[1:], keywords, node)
        key = self.key(args[0] if args else keywords["key"], node)
        if key not in contents.keys:
            self.leave("a key that is not there", node, KeyError)
        at = contents.keys.index(key)
        rest = [k for k in range(len(contents.keys)) if k != at]
        self._reorder(owner, contents, [*rest, at] if last else [at, *rest], node)
        return Known(None)

    def ordered_popitem(
        self, owner: Any, contents: DictContents, args: list[Any], keywords: Any, node: ast.AST
    ) -> Any:
        """``x.popitem(last)`` of an ``OrderedDict``."""
        return self._popped(owner, contents, -1 if self._flag(args, keywords, node) else 0, node)

    def dict_popitem(
        self, owner: Any, contents: DictContents, args: list[Any], keywords: Any, node: ast.AST
    ) -> Any:
        """``x.popitem()``."""
        return self._popped(owner, contents, -1, node)

    def _flag(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> bool:
        last = args[0] if args else keywords.get("last", Known(True))
        return bool(self.constant_of(last, node, "an end that is computed"))

    def _popped(self, owner: Any, contents: DictContents, at: int, node: ast.AST) -> Tuple:
        if not contents.keys:
            self.leave("an item of an empty dict", node, KeyError)
        found = Tuple((Known(contents.keys[at]), contents.values[at]))
        rest = list(range(len(contents.keys)))
        del rest[at]
        self._reorder(owner, contents, rest, node)
        return found

    def _reorder(
        self, owner: Any, contents: DictContents, order: Sequence[int], node: ast.AST
    ) -> None:
        keys = tuple(contents.keys[at] for at in order)
        values = tuple(contents.values[at] for at in order)
        self.store(owner, replace(contents, keys=keys, values=values), node)
