"""What goes through something and gives one value: ``sum``, ``min``, ``any``, ``sorted``."""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..abstract.raising import Ended
from ..abstract.values import (
    REAL,
    Array,
    Choice,
    Known,
    Lazy,
    Number,
    Range,
    Tuple,
    is_none,
    kind_of,
    seen_of,
)
from ..abstract.walker import Walker
from ..types.computed_slices import is_computed

# Since 3.12 Python adds floats with a correction (Neumaier, 1974), at first not integers to them.
COMPENSATED = sys.version_info >= (3, 12)
WHOLE_COMPENSATED = sum([1e16, 1, -1e16]) == 1.0
LONGEST_SORTED = 48
LONGEST_COMPARED = 16


class Reductions(Walker):
    """Reductions of what Python can go through."""

    def accumulate(
        self, over: Any, first: Any, step: Callable[[Any, Any], Any], node: ast.AST
    ) -> Any:
        """A value that each item changes."""
        name = self.serial()
        frame = self.frame
        self.state.environments[-1][name] = first

        def action(item: Any) -> None:
            assert self.frame is frame
            before = self.state.environments[-1][name]
            value = step(before, item)
            self.state.environments[-1][name] = value

        with self.holding(over):
            self.each(over, action, node)
        return self.state.environments[-1].pop(name)

    def listed(
        self, over: Any, node: ast.AST, change: Callable[[Any], Any] = lambda item: item
    ) -> list[Any]:
        """The items of what has a known number of them, one after the other, each changed where it
        comes.
        """
        if not self.runs(over):
            return [change(item) for item in self.items(over, node)]
        return self.items(self.list_of(over, node, change), node)

    def list_of(
        self, over: Any, node: ast.AST, change: Callable[[Any], Any] = lambda item: item
    ) -> Any:
        """A new list of the items, each changed where it comes."""
        made = self.new_list(())
        with self.holding(made, over):
            self.each(over, lambda item: self.grow(made, self.kept(change(item), node), node), node)
        return made

    def builtin_sum(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``sum(x, start)``."""
        start = keywords.get("start", args[1] if len(args) > 1 else Known(0))
        if not COMPENSATED:
            return self.accumulate(
                args[0], start, lambda total, item: self.binary("Add", total, item, node), node
            )
        both = self.accumulate(
            args[0],
            Tuple((start, Known(None))),
            lambda pair, item: self._corrected(pair, item, node),
            node,
        )
        total, lost = both.items
        return self._with_correction(total, lost, node)

    def _with_correction(self, total: Any, lost: Any, node: ast.AST) -> Any:
        if isinstance(lost, Choice):
            return self.distribute(lost, lambda one: self._with_correction(total, one, node), node)
        if is_none(lost):
            return total
        finite = self.truth(self.call(Known(math.isfinite), [lost], {}, node), node)

        def corrected() -> Any:
            # To add 0.0 would take the sign of a negative zero.
            lossy = self.compare("NotEq", lost, Known(0.0), node)
            return self.decide(
                lossy, lambda: self.binary("Add", total, lost, node), lambda: total, node
            )

        return self.decide(finite, corrected, lambda: total, node)

    def _corrected(self, pair: Tuple, item: Any, node: ast.AST) -> Any:
        """A sum of floats and what rounding lost of it."""
        total, lost = pair.items
        if isinstance(total, Choice):
            return self.distribute(
                total, lambda one: self._corrected(Tuple((one, lost)), item, node), node
            )
        if isinstance(lost, Choice):
            return self.distribute(
                lost, lambda one: self._corrected(Tuple((total, one)), item, node), node
            )
        if isinstance(item, Choice):
            return self.distribute(item, lambda one: self._corrected(pair, one, node), node)
        if kind_of(total) != "float" or kind_of(item) not in ("float", "int", "bool"):
            # Nothing is corrected from here on.
            total = self._with_correction(total, lost, node)
            return Tuple((self.binary("Add", total, item, node), Known(None)))
        if is_none(lost):
            lost = Known(0.0)
        value = self.call(Known(float), [item], {}, node)
        made = self.binary("Add", total, value, node)
        if kind_of(item) != "float" and not WHOLE_COMPENSATED:
            return Tuple((made, lost))
        large = self.compare("GtE", self._size(total, node), self._size(value, node), node)

        def rest(one: Any, other: Any) -> Any:
            return self.binary("Add", self.binary("Sub", one, made, node), other, node)

        part = self.decide(large, lambda: rest(total, value), lambda: rest(value, total), node)
        return Tuple((made, self.binary("Add", lost, part, node)))

    def _size(self, value: Any, node: ast.AST) -> Any:
        return self.call(Known(abs), [value], {}, node)

    def builtin_min(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``min(a, b)``, ``min(x, key=f, default=d)``."""
        return self._extreme("Lt", args, keywords, node)

    def builtin_max(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``max(a, b)``, ``max(x, key=f, default=d)``."""
        return self._extreme("Gt", args, keywords, node)

    def _extreme(
        self, operator: str, args: list[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        key = keywords.get("key", Known(None))
        plain = is_none(key)

        def with_key(item: Any) -> Any:
            return Tuple((item, item if plain else self.call(key, [item], {}, node)))

        keyed: Callable[[Any], Any] = with_key
        if len(args) == 1 and self.runs(args[0]):
            # The key of an item is asked for before the next item comes.
            args = [self.list_of(args[0], node, _itself if plain else with_key)]
            keyed = with_key if plain else _itself
        if len(args) == 1 and self._is_gone_through(args[0]):
            return self._extreme_of(operator, args[0], keyed, keywords.get("default"), node)
        rows = list(map(keyed, args)) if len(args) > 1 else self.listed(args[0], node, keyed)
        if not rows:
            if "default" in keywords:
                return keywords["default"]
            self.leave("nothing to compare", node, ValueError)
        best = rows[0]
        for row in rows[1:]:
            best = self._better(operator, best, row, node)
        return self._seen_extreme(operator, rows, best.items[0]) if plain else best.items[0]

    @staticmethod
    def _seen_extreme(operator: str, rows: list[Tuple], found: Any) -> Any:
        """The extreme of lengths of arrays as a length that was seen, too."""
        values = [row.items[0] for row in rows]
        seen: list[Any] = [seen_of(value) for value in values]
        whole = all(kind_of(value) == "int" for value in [*values, found])
        if not isinstance(found, Number) or not whole or None in seen:
            return found
        return replace(found, seen=min(seen) if operator == "Lt" else max(seen))

    def _is_gone_through(self, value: Any) -> bool:
        """Whether an extreme takes a loop: of what is long, or of any length."""
        if isinstance(value, Range):
            return any(map(is_computed, value.parts))
        array = self.array_of(value)
        if isinstance(array, Array):
            return bool(array.shape) and (array.computed or array.shape[0] > LONGEST_COMPARED)
        return self.grown(value) is not None

    def _extreme_of(
        self,
        operator: str,
        over: Any,
        keyed: Callable[[Any], Tuple],
        default: Any,
        node: ast.AST,
    ) -> Any:
        """The extreme of a list, range or array, by a loop over the items after the first."""

        def found() -> Any:
            with self.holding(over):
                first = keyed(self.item(over, Known(0), node))
                others = Range(Known(1), self.length(over, node), Known(1))

                def next_best(best: Tuple, at: Any) -> Any:
                    return self._better(operator, best, keyed(self.item(over, at, node)), node)

                return self.accumulate(others, first, next_best, node).items[0]

        def none() -> Any:
            if default is None:
                self.leave("nothing to compare", node, ValueError)
            return default

        some = self.compare("NotEq", self.length(over, node), Known(0), node)
        return self.decide(some, found, none, node)

    def _better(self, operator: str, best: Tuple, row: Tuple, node: ast.AST) -> Any:
        wins = self.truth(self.compare(operator, row.items[1], best.items[1], node), node)
        return self.decide(wins, lambda: row, lambda: best, node)

    def builtin_sorted(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``sorted(x, key=f, reverse=r)``."""
        return self.new_list(self.in_order(self.listed(args[0], node), keywords, node))

    def in_order(self, items: list[Any], keywords: dict[str, Any], node: ast.AST) -> list[Any]:
        """Items sorted, by exchanges of neighbours, so that equal ones keep their order."""
        key = keywords.get("key", Known(None))
        backwards = self.constant_of(keywords.get("reverse", Known(False)), node, "reverse")
        if len(items) > LONGEST_SORTED:
            self.refuse(node, "sorting so many values", "use np.sort on an array")
        plain = is_none(key)
        keyed = [Tuple((i, i if plain else self.call(key, [i], {}, node))) for i in items]
        for row in keyed:
            self._no_nan(row.items[1], node)
        operator = "Gt" if backwards else "Lt"
        for end in range(len(keyed) - 1, 0, -1):
            for at in range(end):
                left, right = keyed[at], keyed[at + 1]
                wrong = self.truth(
                    self.compare(operator, right.items[1], left.items[1], node), node
                )
                keyed[at], keyed[at + 1] = self._exchanged(wrong, left, right, node)
        return [row.items[0] for row in keyed]

    def _exchanged(
        self, wrong: Any, left: Tuple, right: Tuple, node: ast.AST
    ) -> tuple[Tuple, Tuple]:
        made = self.decide(wrong, lambda: Tuple((right, left)), lambda: Tuple((left, right)), node)
        return made.items[0], made.items[1]

    def _no_nan(self, value: Any, node: ast.AST) -> None:
        if isinstance(value, Number) and value.kind in REAL:
            fine = self.compute("equal_number", value.id, value.id)
            self.guard(fine, "sorting a NaN", node)
        elif isinstance(value, Known) and value.object != value.object:
            self.leave("sorting a NaN", node)

    def builtin_any(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``any(x)``."""
        return self._quantified(args[0], True, node)

    def builtin_all(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``all(x)``."""
        return self._quantified(args[0], False, node)

    def _quantified(self, over: Any, decisive: bool, node: ast.AST) -> Any:
        if isinstance(over, Lazy) and isinstance(over.node, ast.ListComp):
            # ``all([…])`` makes the whole list first, while ``all(…)`` of a generator stops early.
            return self.accumulate(
                over,
                Known(not decisive),
                lambda found, item: self._either(found, item, decisive, node),
                node,
            )

        def held(item: Any) -> Any:
            found = self.truth(item, node)
            return found if decisive else self.negated(found)

        found = self.first_of(over, held, lambda _: Known(decisive), Known(not decisive), node)
        return found

    def _either(self, found: Any, item: Any, decisive: bool, node: ast.AST) -> Any:
        held = self.truth(item, node)
        decided = Known(decisive)
        return self.decide(
            found,
            lambda: decided if decisive else held,
            lambda: held if decisive else decided,
            node,
        )

    def first_of(
        self,
        over: Any,
        wanted: Callable[[Any], Any],
        made: Callable[[Any], Any],
        default: Any,
        node: ast.AST,
    ) -> Any:
        """What is made of the first item that is wanted, after which nothing more runs; the default
        if there is none, where a default of None leaves.
        """
        frame = self.frame

        def action(item: Any) -> None:
            def stop() -> None:
                loop = frame.loops[-1]
                loop.breaks.append(self.leaving(loop.around, made(item)))
                raise Ended

            self.decide(wanted(item), stop, lambda: None, node)

        with self.holding(over, default):
            ended, left = self.ways_through(over, action, node)
            for incoming in ended:
                self.resume(incoming.state)
                try:
                    if default is None:
                        self.leave("there is no item", node)
                    left.append(self.here(default))
                except Ended:
                    pass
            return self.meet(left, node)[0]


def _itself(item: Any) -> Any:
    return item
