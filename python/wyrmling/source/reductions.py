"""What goes through something and gives one value: ``sum``, ``min``, ``any``, ``sorted``."""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable
from typing import Any

from .values import REAL, Choice, Known, Lazy, Number, Row, kind_of
from .walker import Walker

# Since 3.12 Python adds floats with a correction (Neumaier, 1974).
COMPENSATED = sys.version_info >= (3, 12)
LONGEST_SORTED = 64


class Reductions(Walker):
    """Reductions of what Python can go through."""

    def through(self, over: Any, action: Callable[[Any], None], node: ast.AST) -> None:
        """Goes through anything, a generator expression too."""
        if isinstance(over, Lazy) and over.name == "generator":
            generator: ast.GeneratorExp = over.node
            self.comprehend(generator, lambda: action(self.evaluate(generator.elt)))
        else:
            self.each(over, action, node)

    def accumulate(
        self, over: Any, first: Any, step: Callable[[Any, Any], Any], node: ast.AST
    ) -> Any:
        """A value that each item changes."""
        name = self.serial()
        depth = len(self.frames)
        self.state.environments[-1][name] = first

        def action(item: Any) -> None:
            assert len(self.frames) == depth
            before = self.state.environments[-1][name]
            value = step(before, item)
            self.state.environments[-1][name] = value

        with self.holding(over):
            self.through(over, action, node)
        return self.state.environments[-1].pop(name)

    def listed(self, over: Any, node: ast.AST) -> list[Any]:
        """The items of what has a known number of them, a generator expression too."""
        if isinstance(over, Lazy) and over.name == "generator":
            made = self.evaluate(
                ast.copy_location(ast.ListComp(over.node.elt, over.node.generators), over.node)
            )
            return self.items(made, node)
        return self.items(over, node)

    def builtin_sum(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``sum(x, start)``."""
        start = keywords.get("start", args[1] if len(args) > 1 else Known(0))
        if not COMPENSATED:
            return self.accumulate(
                args[0], start, lambda total, item: self.binary("Add", total, item, node), node
            )
        both = self.accumulate(
            args[0],
            Row((start, Known(None))),
            lambda pair, item: self._corrected(pair, item, node),
            node,
        )
        total, lost = both.items
        return self._with_correction(total, lost, node)

    def _with_correction(self, total: Any, lost: Any, node: ast.AST) -> Any:
        if isinstance(lost, Choice):
            return self.distribute(lost, lambda one: self._with_correction(total, one, node), node)
        if isinstance(lost, Known) and lost.object is None:
            return total
        finite = self.call(Known(math.isfinite), [lost], {}, node)
        return self.decide(
            self.truth(finite, node),
            lambda: self.binary("Add", total, lost, node),
            lambda: total,
            node,
        )

    def _corrected(self, pair: Row, item: Any, node: ast.AST) -> Any:
        """A sum of floats and what rounding lost of it."""
        total, lost = pair.items
        for value in (total, item, lost):
            if isinstance(value, Choice):
                self.unknown(None, node, "sum of numbers of kinds that differ", "use floats")
        if kind_of(total) != "float" or kind_of(item) not in ("float", "int", "bool"):
            return Row((self.binary("Add", total, item, node), lost))
        if isinstance(lost, Known) and lost.object is None:
            lost = Known(0.0)
        value = self.call(Known(float), [item], {}, node)
        made = self.binary("Add", total, value, node)
        large = self.compare("GtE", self._size(total, node), self._size(value, node), node)

        def rest(one: Any, other: Any) -> Any:
            return self.binary("Add", self.binary("Sub", one, made, node), other, node)

        part = self.decide(large, lambda: rest(total, value), lambda: rest(value, total), node)
        return Row((made, self.binary("Add", lost, part, node)))

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
        items = args if len(args) > 1 else self.listed(args[0], node)
        if not items:
            if "default" in keywords:
                return keywords["default"]
            self.leave("nothing to compare", node)

        def keyed(item: Any) -> Any:
            if isinstance(key, Known) and key.object is None:
                return item
            return self.call(key, [item], {}, node)

        best = Row((items[0], keyed(items[0])))
        for item in items[1:]:
            best = self._better(operator, best, item, keyed(item), node)
        return best.items[0]

    def _better(self, operator: str, best: Row, item: Any, key: Any, node: ast.AST) -> Any:
        wins = self.truth(self.compare(operator, key, best.items[1], node), node)
        return self.decide(wins, lambda: Row((item, key)), lambda: best, node)

    def builtin_sorted(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``sorted(x, key=f, reverse=r)``."""
        return self.new_list(self.in_order(self.listed(args[0], node), keywords, node))

    def in_order(self, items: list[Any], keywords: dict[str, Any], node: ast.AST) -> list[Any]:
        """Items sorted, by exchanges of neighbours, so that equal ones keep their order."""
        key = keywords.get("key", Known(None))
        backwards = self.constant_of(keywords.get("reverse", Known(False)), node, "reverse")
        if len(items) > LONGEST_SORTED:
            self.refuse(node, "sorting so many values", "use np.sort on an array")
        plain = isinstance(key, Known) and key.object is None
        keyed = [Row((i, i if plain else self.call(key, [i], {}, node))) for i in items]
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

    def _exchanged(self, wrong: Any, left: Row, right: Row, node: ast.AST) -> tuple[Row, Row]:
        made = self.decide(wrong, lambda: Row((right, left)), lambda: Row((left, right)), node)
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
        def step(found: Any, item: Any) -> Any:
            held = self.truth(item, node)
            return self.decide(
                found,
                (lambda: Known(True)) if decisive else (lambda: held),
                (lambda: held) if decisive else (lambda: Known(False)),
                node,
            )

        return self.accumulate(over, Known(not decisive), step, node)
