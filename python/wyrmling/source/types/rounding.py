"""``round``: to the nearest integer, or to decimals as Python does it, correctly rounded.

``round(x, n)`` is the float next to the decimal number of n digits that is next to x, of two the
even one. The product ``x * 10**n`` is rounded, but on the same side of each half as the exact one,
or a half itself: then its error (Dekker, "A floating-point technique for extending the available
precision", 1971) says which side the exact one is on. The integer next to it, divided by
``10**n``, is rounded once, since both are exact. With negative n the quotient and its remainder
serve likewise.

Limits: n is known, from -22 to 22, beyond which powers of ten are no floats. Where the product has
about as many digits as a float, the program leaves.
"""

from __future__ import annotations

import ast
import operator
from typing import Any

import numpy as np

from ..abstract.values import Choice, Known, Number, is_none
from ..abstract.walker import Walker

MOST_DIGITS = 22
# Below this, halves are floats; above the other, digits of x itself are all that there are.
SMALL, LARGE = 2.0**51, 2.0**55
# Splits a float into two of half as many digits.
SPLITTER = 2.0**27 + 1.0
LAST = "a float has no more digits than are asked for"


class Rounding(Walker):
    """``round``."""

    def builtin_round(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``round(x)`` and ``round(x, digits)``."""
        if not args or len(args) > 2 or set(keywords) - {"ndigits"}:
            self.leave("arguments do not fit", node)
        value = args[0]
        digits = keywords.get("ndigits", args[1] if len(args) > 1 else Known(None))
        if isinstance(value, Choice):
            return self.distribute(
                value, lambda one: self.builtin_round([one, digits], {}, node), node
            )
        if not isinstance(value, Number):
            return self.pure(round, args, keywords, node)
        if is_none(digits):
            return self._to_integer(value, node)
        found = self.constant_of(digits, node, "round to digits that are computed")
        try:
            count = operator.index(found)
        except TypeError:
            self.leave("digits that are no integer", node)
        if value.kind in ("int", "bool") and count >= 0:
            return Number("int", self.as_int(value), value.sources)
        if value.kind in ("float64", "float32"):
            return self.call(Known(np.round), [value, Known(count)], {}, node)
        if value.kind != "float":
            self.refuse(node, "round to digits of a number of this kind", "use float(...) of it")
        if abs(count) > MOST_DIGITS:
            self.refuse(node, "round to more than 22 digits", "round to fewer")
        x = Number("float", self.apply("stop_gradient", value.id))
        return self._to_digits(x, count, node)

    def _to_integer(self, value: Number, node: ast.AST) -> Number:
        if value.kind in ("int", "bool"):
            return Number("int", self.as_int(value), value.sources)
        if value.kind in ("int64", "numpy_bool"):
            self.refuse(node, "rounding an integer or bool of NumPy's", "use int(...) of it")
        exit = self.exit("no integer of 64 bits", node)
        held = self.as_real(value, "float", node)
        return Number("int", self.compute("round_to_int", held, exit=exit), value.sources)

    def _to_digits(self, x: Number, digits: int, node: ast.AST) -> Any:
        power = Known(10.0 ** abs(digits))
        up, down = ("Mult", "Div") if digits >= 0 else ("Div", "Mult")
        scaled = self.binary(up, x, power, node)
        size = self.apply("abs", scaled.id)
        small = self._truth("less_number", size, SMALL)

        def near() -> Any:
            whole = Number("float", self.apply("floor", scaled.id))
            next_to = Number("float", self.apply("rint", scaled.id))
            rest = self.binary("Sub", scaled, whole, node)

            def halfway() -> Any:
                error = self._error(x, scaled, power, digits >= 0, node)
                above = self.compare("Gt", error, Known(0.0), node)
                below = self.compare("Lt", error, Known(0.0), node)
                return self.decide(
                    above,
                    lambda: self.binary("Add", whole, Known(1.0), node),
                    lambda: self.decide(below, lambda: whole, lambda: next_to, node),
                    node,
                )

            half = self.compare("Eq", rest, Known(0.5), node)
            found = self.decide(half, halfway, lambda: next_to, node)
            signed = Number("float", self.apply("copysign", self.id_of(found), x.id))
            return self.binary(down, signed, power, node)

        def far() -> Any:
            # Neither is the case of what is no finite number.
            bound = size if digits >= 0 else self.apply("abs", x.id)
            inside = self._truth("less_number", bound, LARGE if digits >= 0 else float("inf"))
            self.guard(Number("bool", self.compute("bool_not", inside.id)), LAST, node)
            return x

        return self.decide(small, near, far, node)

    def _truth(self, name: str, held: int, bound: float) -> Number:
        return Number("bool", self.compute(name, held, self.constant(bound)))

    def _error(self, x: Any, scaled: Any, power: Known, is_product: bool, node: ast.AST) -> Any:
        """A number of the sign of what rounding took off: of ``x * power - scaled``, or of
        ``x / power - scaled``.
        """
        one = x if is_product else scaled
        product = scaled if is_product else self.binary("Mult", scaled, power, node)
        high, low = self._halves(one, node)
        upper, lower = self._halves(power, node)
        lost = self.binary("Sub", self.binary("Mult", high, upper, node), product, node)
        for a, b in ((high, lower), (low, upper), (low, lower)):
            lost = self.binary("Add", lost, self.binary("Mult", a, b, node), node)
        if is_product:
            return lost
        return self.binary("Sub", self.binary("Sub", x, product, node), lost, node)

    def _halves(self, x: Any, node: ast.AST) -> tuple[Any, Any]:
        """Two floats of half as many digits, of which a float is the sum."""
        large = self.binary("Mult", x, Known(SPLITTER), node)
        high = self.binary("Sub", large, self.binary("Sub", large, x, node), node)
        return high, self.binary("Sub", x, high, node)
