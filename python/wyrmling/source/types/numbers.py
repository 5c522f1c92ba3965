"""Arithmetic of numbers, to the bit as Python and NumPy do it.

The kind of each operand is known, so that the program has plain instructions. Where Python raises,
or gives an integer of more than 64 bits or a complex number, a guard leaves: Python then computes
itself. Numbers of NumPy do not raise.

- Integers are exact; NumPy's leave where they would wrap around. ``int / int`` is rounded once, as
  both are exact as floats below 2^53.
- ``float ** float`` leaves where finite operands give no finite result, which covers Python's
  ZeroDivisionError, OverflowError and its complex results.
- float32 stays float32 with Python's numbers, as NumPy 2 has it, whichever NumPy there is.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..abstract.values import (
    BOOLS,
    INTEGERS,
    NUMPY,
    REAL,
    Array,
    Choice,
    Known,
    Number,
    Reference,
    Text,
    Tuple,
    ZeroDimensional,
    is_integers,
    kind_of,
    number_of,
    seen_of,
    sources_of,
    whole_beside,
)
from ..abstract.walker import Walker
from .bits import inverted, of_bits
from .computed_slices import is_computed
from .objects import member_of

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "Pow": operator.pow,
    "MatMult": operator.matmul,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
    "BitAnd": operator.and_,
}
UNARY: dict[str, Callable[[Any], Any]] = {
    "USub": operator.neg,
    "UAdd": operator.pos,
    "Invert": operator.invert,
}
TABLE = {
    "Add": "add",
    "Sub": "sub",
    "Mult": "mul",
    "Div": "div",
    "FloorDiv": "floor_divide",
    "Mod": "remainder",
    "Pow": "pow",
}
INTEGER = {
    "Add": "int_add",
    "Sub": "int_sub",
    "Mult": "int_mul",
    "FloorDiv": "int_floor_div",
    "Mod": "int_mod",
    "Pow": "int_pow",
    "LShift": "int_shift_left",
    "RShift": "int_shift_right",
    "BitOr": "int_or",
    "BitXor": "int_xor",
    "BitAnd": "int_and",
}
NEVER_FAILS = frozenset({"int_or", "int_xor", "int_and"})
TRUTH = {"BitOr": "bool_or", "BitXor": "bool_xor", "BitAnd": "bool_and"}
METHODS = {
    "Add": "add",
    "Sub": "sub",
    "Mult": "mul",
    "Div": "truediv",
    "FloorDiv": "floordiv",
    "Mod": "mod",
    "Pow": "pow",
    "MatMult": "matmul",
    "LShift": "lshift",
    "RShift": "rshift",
    "BitOr": "or",
    "BitXor": "xor",
    "BitAnd": "and",
}
# What asks of a number whether it is 0, and does not round it to float32 before.
LOGICAL: frozenset[Any] = frozenset({np.logical_and, np.logical_or, np.logical_xor})
EXACT = 2.0**53
LARGEST_FOLDED = 1 << 16
FOLDED = (
    *(int, float, bool, complex, str, bytes, tuple, frozenset, type(None), range),
    *(np.generic, np.dtype),
)
IN_PLACE = {name: f"i{method}" for name, method in METHODS.items()}


class Numbers(Walker):
    """Operators on numbers."""

    def evaluate_BinOp(self, node: ast.BinOp) -> Any:
        """``left + right`` and the like."""
        left = self.evaluate(node.left)
        right = self.evaluate(node.right)
        return self.binary(type(node.op).__name__, left, right, node)

    def evaluate_UnaryOp(self, node: ast.UnaryOp) -> Any:
        """``-x``, ``+x``, ``~x`` and ``not x``."""
        value = self.evaluate(node.operand)
        if isinstance(node.op, ast.Not):
            return self.negated(self.truth(value, node))
        return self.unary(type(node.op).__name__, value, node)

    def fold(self, function: Callable[..., Any], args: Sequence[Any], node: ast.AST) -> Any:
        """What Python gives for known objects; the path leaves where it raises."""
        try:
            with np.errstate(all="ignore"):
                return Known(function(*args))
        except Exception as error:
            self.leave("Python raises an exception here", node, type(error))

    def binary(self, operator: str, left: Any, right: Any, node: ast.AST) -> Any:
        """An operator on two values."""
        if isinstance(left, ZeroDimensional) or isinstance(right, ZeroDimensional):
            own = self.class_of(left) is not None or self.class_of(right) is not None
            if own:
                self.refuse(node, "this operator on an array without axes", "use float(...) of it")
            is_power = operator == "Pow"
            left, right = number_of(left), number_of(right)
            if is_power and kind_of(left) is not None and kind_of(right) is not None:
                # NumPy takes another way to powers of arrays than to those of numbers.
                return self.array_call(np.power, [left, right], {}, node)
        if isinstance(left, Choice):
            return self.distribute(left, lambda one: self.binary(operator, one, right, node), node)
        if isinstance(right, Choice):
            return self.distribute(right, lambda one: self.binary(operator, left, one, node), node)
        kinds = kind_of(left), kind_of(right)
        if isinstance(left, Known) and isinstance(right, Known):
            if isinstance(left.object, FOLDED) and isinstance(right.object, FOLDED):
                self._refuse_large(operator, left.object, right.object, node)
                return self.fold(OPERATORS[operator], [left.object, right.object], node)
        elif kinds[0] is not None and kinds[1] is not None:
            return self.arithmetic(operator, left, right, node)
        if self.is_array(left) or self.is_array(right):
            made = of_bits(self, operator, left, right, node)
            if made is not None:
                return made
            both = [
                self._beside(left, right, operator, node),
                self._beside(right, left, operator, node),
            ]
            return self.array_call(OPERATORS[operator], both, {}, node)
        if isinstance(left, Text) or isinstance(right, Text):
            return self.joined_text([left, right]) if operator == "Add" else Text()
        found = self._overloaded(operator, left, right, node)
        if found is not None:
            return found
        beside = operator != "Mult" and {*kinds} & {"float64", "float32"}
        if beside and self.holds_numbers(left) and self.holds_numbers(right):
            # NumPy's numbers make an array of a list that they stand beside.
            return self.array_call(OPERATORS[operator], [left, right], {}, node)
        whole = whole_beside(left, right), whole_beside(right, left)
        if whole[0] is not left or whole[1] is not right:
            return self.binary(operator, *whole, node)
        return self.sequence_operator(operator, left, right, node)

    def _beside(self, value: Any, other: Any, operator: str, node: ast.AST) -> Any:
        """An operand; a computed integer beside an array of floats is a float, as NumPy makes it
        one.
        """
        if operator not in ("Add", "Sub", "Mult", "Div") or not is_computed(value):
            return value
        array = self.array_of(other)
        array = array.object if isinstance(array, Known) else array
        if not isinstance(array, Array | np.ndarray):
            return value
        # NumPy's own integers make an array of float32 one of float64.
        single = array.dtype == np.float32 and value.kind == "int"
        if array.dtype != np.float64 and not single:
            return value
        return Number("float", self.as_real(value, "float", node))

    def _overloaded(self, operator: str, left: Any, right: Any, node: ast.AST) -> Any:
        """What a class's own operator gives; None if there is none."""
        if isinstance(right, Tuple) and is_numpy(left):
            # NumPy's own operator is asked first, and takes a tuple for an array.
            return None
        name = METHODS[operator]
        classes = self.class_with_operators(left), self.class_with_operators(right)
        attempts = [(left, f"__{name}__", right)]
        if classes[0] is not classes[1]:
            attempts.append((right, f"__r{name}__", left))
            if classes[0] and classes[1] and issubclass(classes[1], classes[0]):
                # The right one goes first only if its class has a reflected method of its own.
                own, other = (member_of(cls, f"__r{name}__", None) for cls in classes if cls)
                if own is not other:
                    attempts.reverse()
        for owner, method, other in attempts:
            if self.class_with_operators(owner) is None:
                continue
            function = self.bound(owner, method, node)
            if function is None:
                continue
            value = self.call(function, [other], {}, node)
            if not (isinstance(value, Known) and value.object is NotImplemented):
                return value
        return None

    def _refuse_large(self, operator: str, left: Any, right: Any, node: ast.AST) -> None:
        """Refuses what would make the reader compute for long."""
        whole = isinstance(right, int)
        large = (
            (operator == "Pow" and isinstance(left, int) and whole)
            and abs(right) * left.bit_length() > LARGEST_FOLDED
        ) or (operator == "LShift" and whole and right > LARGEST_FOLDED)
        if operator == "Mult":
            for one, other in ((left, right), (right, left)):
                if isinstance(one, str | bytes | tuple) and isinstance(other, int):
                    large = large or len(one) * other > LARGEST_FOLDED
        if large:
            self.refuse(node, "a constant of this size", "compute with floats")

    def arithmetic(self, operator: str, left: Any, right: Any, node: ast.AST) -> Any:
        """An operator on two numbers, of which one at least is computed."""
        kinds = (kind_of(left), kind_of(right))
        sources = sources_of(left, right)
        whole = all(kind in INTEGERS or kind == "bool" for kind in kinds)
        if operator in TRUTH and all(kind in BOOLS for kind in kinds):
            made = self.compute(TRUTH[operator], self.id_of(left), self.id_of(right))
            kind = "numpy_bool" if "numpy_bool" in kinds else "bool"
            return Number(kind, made, sources)
        if "numpy_bool" in kinds:
            return self._truth_arithmetic(operator, left, right, node)
        if operator == "MatMult":
            self.leave("numbers have no matrix product", node)
        if whole:
            return self._integers(operator, left, right, sources, node)
        if operator not in TABLE:
            self.leave("floats have no such operator", node)
        kind = self.common_kind(left, right, node)
        x, y = self.as_real(left, kind, node), self.as_real(right, kind, node)
        return Number(kind, self.reals(operator, kind, x, y, right, node), sources)

    def _truth_arithmetic(self, operator: str, left: Any, right: Any, node: ast.AST) -> Any:
        """An operator on two numbers, of which NumPy's truth values count as numbers of the other's
        type; a sum of two of them is an "or", a product an "and".
        """
        kinds = {kind_of(left), kind_of(right)}
        if kinds <= BOOLS:
            if operator in ("Add", "Mult"):
                return self.binary("BitOr" if operator == "Add" else "BitAnd", left, right, node)
            if operator == "Sub":
                self.leave("NumPy refuses a difference of truth values", node)
            if operator != "Div":
                self.refuse(node, "arithmetic with NumPy's truth values", "use bool(...) of it")
            kind = "float64"
        elif "float32" in kinds:
            kind = "float32"
        else:
            kind = "float64" if kinds & REAL else "int64"
        left, right = (self._truth_as(kind, one, node) for one in (left, right))
        return self.binary(operator, left, right, node)

    def _truth_as(self, kind: str, value: Any, node: ast.AST) -> Any:
        """NumPy's truth value as a number of a kind of NumPy's; any other as it is."""
        if kind_of(value) not in BOOLS:
            return value
        if isinstance(value, Known):
            return Known(np.dtype(kind).type(value.object))
        if kind == "int64":
            return Number(kind, self.compute("bool_to_int", value.id), value.sources)
        return Number(kind, self.as_real(value, kind, node), value.sources)

    def common_kind(self, left: Any, right: Any, node: ast.AST) -> str:
        """The kind of a result of two numbers, one of which is real."""
        kinds = {kind_of(left), kind_of(right)}
        if kinds & {"float64", "int64"}:
            return "float64"
        if "float32" in kinds:
            for value in (left, right):
                # A variable that stands for it is no number of Python's.
                if kind_of(value) != "float32":
                    self.ask_kind(value)
            return "float32"
        return "float"

    def as_real(self, value: Any, kind: str, node: ast.AST) -> int:
        """A number as one of a real kind."""
        single = kind == "float32"
        if isinstance(value, Known):
            made = value.object
            try:
                return self.constant(np.float32(made) if single else float(made))
            except OverflowError:
                self.leave("an integer is too large for a float", node)
        own = "bool" if value.kind == "numpy_bool" else value.kind
        held: int = value.id
        if own == "bool":
            held = self.compute("bool_to_int", held)
        if own == "bool" or own in INTEGERS:
            held = self.compute("int_to_float", held)
            if single and own != "bool":
                below = self.compute("less_int", value.id, self.constant(2**24))
                above = self.compute("less_int", self.constant(-(2**24)), value.id)
                both = self.compute("bool_and", below, above)
                self.guard(both, "an integer is no float32", node)
        if single and own != "float32":
            return self.apply("cast", held, dtype="float32")
        if not single and own == "float32":
            return self.apply("cast", held, dtype="float64")
        return held

    def _below(self, held: int, bound: float, text: str, node: ast.AST) -> None:
        size = self.apply("abs", held)
        self.guard(self.compute("less_number", size, self.constant(bound)), text, node)

    def reals(self, operator: str, kind: str, x: int, y: int, right: Any, node: ast.AST) -> int:
        """An operator on two numbers of one real kind; ``right`` is what y was before."""
        checked = kind == "float"
        if checked and operator in ("Div", "FloorDiv", "Mod"):
            if not isinstance(right, Known):
                zero = self.compute("not_equal_number", y, self.constant(0.0))
                self.guard(zero, "division by zero", node, ZeroDivisionError)
            elif right.object == 0:
                self.leave("division by zero", node, ZeroDivisionError)
        made = self.apply(TABLE[operator], x, y)
        if checked and operator == "Pow":
            self._power(made, x, y, right, node)
        return made

    def _power(self, made: int, x: int, y: int, right: Any, node: ast.AST) -> None:
        """Leaves where finite numbers have no finite power."""
        text = "a power that Python refuses, or that is no float"
        infinity = self.constant(math.inf)
        fine = self.compute("less_number", self.apply("abs", made), infinity)
        operands = [x] if isinstance(right, Known) and math.isfinite(right.object) else [x, y]
        for operand in operands:
            finite = self.compute("less_number", self.apply("abs", operand), infinity)
            fine = self.compute("bool_or", fine, self.compute("bool_not", finite))
        self.guard(fine, text, node)

    def as_int(self, value: Any) -> int:
        """An integer or a bool as an integer."""
        if isinstance(value, Known):
            return self.constant(int(value.object))
        held: int = value.id
        return self.compute("bool_to_int", held) if value.kind == "bool" else held

    def _integers(
        self, operator: str, left: Any, right: Any, sources: frozenset[int], node: ast.AST
    ) -> Any:
        theirs = "int64" in (kind_of(left), kind_of(right))
        if operator == "Div" and theirs:
            x, y = (self.as_real(value, "float64", node) for value in (left, right))
            return Number("float64", self.apply("div", x, y), sources)
        if operator == "Div":
            return Number("float", self._quotient(left, right, node), sources)
        if operator == "Pow" and isinstance(right, Known) and right.object < 0:
            if theirs:
                self.leave("NumPy refuses a negative power of an integer", node)
            x, y = self.as_real(left, "float", node), self.as_real(right, "float", node)
            return Number("float", self.reals("Pow", "float", x, y, right, node), sources)
        name = INTEGER[operator]
        x, y = self.as_int(left), self.as_int(right)
        exit = None if name in NEVER_FAILS else self.exit("an integer of more than 64 bits", node)
        made = self.compute(name, x, y, exit=exit)
        if theirs:
            return Number("int64", made, sources)
        return Number("int", made, sources, self._seen(operator, left, right))

    @staticmethod
    def _seen(operator: str, left: Any, right: Any) -> int | None:
        """What lengths of arrays made of an integer when they were seen."""
        values = [seen_of(one) for one in (left, right)]
        if None in values or operator not in ("Add", "Sub", "Mult", "FloorDiv", "Mod"):
            return None
        if operator in ("FloorDiv", "Mod") and not values[1]:
            return None
        return int(OPERATORS[operator](*values))

    def _quotient(self, left: Any, right: Any, node: ast.AST) -> int:
        for value in (left, right):
            if isinstance(value, Known) and abs(value.object) >= EXACT:
                self.leave("an integer of more than 53 bits", node)
        x, y = self.as_real(left, "float", node), self.as_real(right, "float", node)
        for value, held in ((left, x), (right, y)):
            if kind_of(value) == "int" and isinstance(value, Number):
                self._below(held, EXACT, "an integer of more than 53 bits", node)
        return self.reals("Div", "float", x, y, right, node)

    def unary(self, operator: str, value: Any, node: ast.AST) -> Any:
        """An operator on one value, but ``not``."""
        value = number_of(value)
        if isinstance(value, Choice):
            return self.distribute(value, lambda one: self.unary(operator, one, node), node)
        if isinstance(value, Known) and isinstance(value.object, FOLDED):
            return self.fold(UNARY[operator], [value.object], node)
        if isinstance(value, Number):
            return self._unary_number(operator, value, node)
        if self.is_array(value):
            made = inverted(self, value, node) if operator == "Invert" else None
            return made or self.array_call(UNARY[operator], [value], {}, node)
        if self.class_with_operators(value) is not None:
            name = {"USub": "__neg__", "UAdd": "__pos__", "Invert": "__invert__"}[operator]
            function = self.bound(value, name, node)
            if function is not None:
                return self.call(function, [], {}, node)
        if isinstance(value, Tuple | Reference):
            self.leave("this has no such operator", node)
        self.refuse(node, f"the operator {operator} of this", "compute with numbers or arrays")

    def _unary_number(self, operator: str, value: Number, node: ast.AST) -> Any:
        if value.kind == "numpy_bool":
            if operator == "Invert":
                return Number("numpy_bool", self.compute("bool_not", value.id), value.sources)
            self.leave("NumPy refuses this of a truth value", node)
        if value.kind in REAL:
            if operator == "Invert":
                self.leave("a float has no bits", node)
            made = value.id if operator == "UAdd" else self.apply("neg", value.id)
            return Number(value.kind, made, value.sources)
        held = self.as_int(value)
        if operator == "USub":
            exit = self.exit("an integer of more than 64 bits", node)
            held = self.compute("int_neg", held, exit=exit)
        elif operator == "Invert":
            held = self.compute("int_invert", held)
        return Number("int64" if value.kind == "int64" else "int", held, value.sources)

    def negated(self, value: Any) -> Any:
        """``not`` of a bool."""
        if isinstance(value, Known):
            return Known(not value.object)
        return Number("bool", self.compute("bool_not", value.id), value.sources)


def is_numpy(value: Any) -> bool:
    """Whether a number is NumPy's."""
    return kind_of(value) in NUMPY


def is_huge(value: Any) -> bool:
    """Whether a value is a known integer of more than 64 bits."""
    return isinstance(value, Known) and type(value.object) is int and kind_of(value) is None


def number_in(walker: Walker, value: Any) -> Any:
    """The number of an array without axes; anything else as it is."""
    found = walker.array_of(value)
    if isinstance(found, Array) and not found.shape and not is_integers(found):
        return Number(found.dtype.name, found.id)
    return number_of(value)
