"""Items of short lists, tuples and dicts at places that are computed.

One of several numbers is found by comparing the index, and so is one of what an argument tells
apart. In a list of numbers of several kinds, as where a ``np.float64`` takes the place of a float,
each is replaced where its place is the index: lists of computed length have numbers of one kind.
So are the numbers of a dict whose keys are integers; which keys it has is known.
"""

from __future__ import annotations

import ast
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from ..abstract.state import DictContents, ListContents
from ..abstract.values import INTEGERS, STORED, Known, Number, alternatives_of, kind_of, sources_of
from ..abstract.walker import Walker

LONGEST_PICKED = 64
"""Of how many items one is picked by an integer that is computed."""
ITEM = "an item by a computed index"
LONGEST_MIXED = 16
"""Of how many numbers of several kinds one is replaced at a place that is computed."""


class Picks(Walker):
    """What is found at computed places."""

    def is_pick(self, items: tuple[Any, ...], index: Any) -> bool:
        """Whether one of these is picked while the program runs: a number, or by an argument."""
        if not isinstance(index, Number) or index.seen is not None:
            return False
        if index.kind not in (*INTEGERS, "bool") or not 0 < len(items) <= LONGEST_PICKED:
            return False
        if index.id in self.left_open:
            return True
        computed = bool(self.varying) or (self.loosens and not index.sources)
        found = (one for item in items for one in alternatives_of(item))
        return computed and all(kind_of(one) is not None for one in found)

    def picked(self, items: tuple[Any, ...], index: Any, node: ast.AST) -> Any:
        """The item at a place that is computed, found by halving."""
        at = self.within_length(index, Known(len(items)), node)
        kinds = {kind_of(item) for item in items}
        if len(kinds) == 1 and None not in kinds and isinstance(at, Number):
            return self._picked_number(items, at)

        def within(low: int, high: int) -> Any:
            if high - low == 1:
                return items[low]
            middle = (low + high) // 2
            return self.decide(
                self.compare("Lt", at, Known(middle), node),
                lambda: within(low, middle),
                lambda: within(middle, high),
                node,
            )

        return within(0, len(items))

    def _picked_number(self, items: tuple[Any, ...], at: Number) -> Number:
        """One of several numbers of a kind: nothing else differs between the paths to them."""
        kind = kind_of(items[0]) or ""
        builder, end = self.builder, self.builder.block()
        found = Number(kind, builder.parameter(end, STORED[kind]), sources_of(*items))
        self.frame.parted = True

        def within(block: int, low: int, high: int) -> None:
            builder.switch(block)
            if high - low == 1:
                builder.jump(end, [self.id_of(items[low])])
                return
            middle = (low + high) // 2
            before = self.compute("less_int", at.id, self.constant(middle))
            then, otherwise = builder.block(), builder.block()
            builder.branch(before, then, [], otherwise, [])
            within(then, low, middle)
            within(otherwise, middle, high)

        within(self.state.block, 0, len(items))
        self.state.block = end
        builder.switch(end)
        return found

    def name_of_item(self, items: Sequence[Any]) -> str:
        """What an item of these at a computed place is called where it is refused."""
        kinds = dict.fromkeys(kind_of(one) for item in items for one in alternatives_of(item))
        if len(kinds) < 2 or None in kinds:
            return ITEM
        return f"{ITEM} among numbers of several kinds ({', '.join(map(str, kinds))})"

    def mixes(self, contents: ListContents, index: Any, value: Any) -> bool:
        """Whether a number at a computed place makes numbers of several kinds, which no list of
        computed length has.
        """
        items = contents.items
        if not (self.loosens and len(items) <= LONGEST_MIXED and self.is_pick(items, index)):
            return False
        kinds = {kind_of(one) for item in (*items, value) for one in alternatives_of(item)}
        return len(kinds) > 1 and None not in kinds

    def replaced_item(self, items: list[Any], index: Any, value: Any, node: ast.AST) -> list[Any]:
        """Numbers of several kinds, of which that at a place that is computed is another."""
        index = Number("int", self.as_int(index))
        at = self.within_length(index, Known(len(items)), node)
        return self._replaced_at(range(len(items)), items, at, value, node)

    def picks_key(self, contents: DictContents, index: Any) -> bool:
        """Whether one of the numbers of a dict is picked by a key that is computed."""
        if contents.cls not in (dict, OrderedDict) or len(contents.keys) > LONGEST_MIXED:
            return False
        return has_integer_keys(contents) and self.is_pick(contents.values, index)

    def replaced_value(
        self, owner: Any, contents: DictContents, index: Any, value: Any, node: ast.AST
    ) -> tuple[Any, ...]:
        """The numbers of a dict, of which that by a key that is computed is another."""
        self.guard(self.contains(index, owner, node), "a key that is new", node)
        return tuple(self._replaced_at(contents.keys, contents.values, index, value, node))

    def _replaced_at(
        self, places: Sequence[int], items: Sequence[Any], at: Any, value: Any, node: ast.AST
    ) -> list[Any]:
        """Numbers by their places, with another one where the place is that which is computed."""

        def replaced(place: int, item: Any) -> Any:
            same = self.compare("Eq", at, Known(place), node)
            return self.decide(same, lambda: value, lambda: item, node)

        with self.holding(value, *items):
            return list(map(replaced, places, items))


def has_integer_keys(contents: DictContents) -> bool:
    """Whether all keys of a dict are integers, and there are some."""
    return {int} == set(map(type, contents.keys))
