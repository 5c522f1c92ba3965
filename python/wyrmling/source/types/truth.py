"""Comparisons, truth, and what ``and``, ``or`` and ``not`` make of it.

``and`` and ``or`` give one of their operands, as Python's do; where only its truth matters they are
branches. Integers are compared with floats exactly: the program leaves where an integer has more
than 53 bits.
"""

from __future__ import annotations

import ast
import enum
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..abstract.state import (
    OF_CLASS,
    PLAIN_KEYS,
    DictContents,
    GeneratorContents,
    GrownContents,
    InstanceContents,
    ListContents,
    SetContents,
)
from ..abstract.values import (
    BOOLS,
    INTEGERS,
    REAL,
    Applied,
    Array,
    Choice,
    Closure,
    Known,
    Lazy,
    MethodOf,
    Number,
    Range,
    Reference,
    Text,
    Tuple,
    kind_of,
    number_of,
    same_object,
    seen_of,
    sources_of,
    whole_beside,
)
from ..abstract.walker import SETTLES, Walker
from .numbers import FOLDED, is_huge, is_numpy
from .objects import COMPARED, member_of

COMPARISONS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "Lt": ("less", operator.lt),
    "LtE": ("less_equal", operator.le),
    "Eq": ("equal", operator.eq),
    "NotEq": ("not_equal", operator.ne),
    "Gt": ("greater", operator.gt),
    "GtE": ("greater_equal", operator.ge),
}
MIRRORED = {"Lt": "Gt", "LtE": "GtE", "Eq": "Eq", "NotEq": "NotEq", "Gt": "Lt", "GtE": "LtE"}
METHOD = {operator: name for name, operator in COMPARED.items()} | {"NotEq": "__ne__"}
PLAIN_NUMBERS = ("float", "int", "bool")
SINGLETONS = (type(None), bool, type(NotImplemented), type(Ellipsis))
"""Types all of whose objects are one, or two."""


class Truth(Walker):
    """What conditions are made of."""

    def evaluate_Compare(self, node: ast.Compare) -> Any:
        """``a < b``, and chains, each of which is evaluated once and only as far as needed."""
        return self._chain(self.evaluate(node.left), node, 0)

    def _chain(self, left: Any, node: ast.Compare, at: int) -> Any:
        right = self.evaluate(node.comparators[at])
        found = self.compare(type(node.ops[at]).__name__, left, right, node)
        if at + 1 == len(node.ops):
            return found
        return self.decide(
            self.truth(found, node),
            lambda: self._chain(right, node, at + 1),
            lambda: found,
            node,
        )

    def evaluate_BoolOp(self, node: ast.BoolOp) -> Any:
        """``a and b``, ``a or b``."""
        return self._operands(node.values, isinstance(node.op, ast.And), node)

    def _operands(self, operands: list[ast.expr], both: bool, node: ast.AST) -> Any:
        first = self.evaluate(operands[0])
        if len(operands) == 1:
            return first

        def rest() -> Any:
            return self._operands(operands[1:], both, node)

        held = self.truth(first, node)
        if kind_of(first) == "bool" and not isinstance(first, Known):
            # The operand is its own truth, which is known on each path.
            decided = Known(not both)
            return self.decide(
                held, rest if both else lambda: decided, (lambda: decided) if both else rest, node
            )
        ways = (rest, lambda: first) if both else (lambda: first, rest)
        return self.decide(held, *ways, node)

    def evaluate_IfExp(self, node: ast.IfExp) -> Any:
        """``a if condition else b``."""
        condition = self.truth(self.evaluate(node.test), node)
        return self.decide(
            condition,
            lambda: self.evaluate(node.body),
            lambda: self.evaluate(node.orelse),
            node,
        )

    def truth(self, value: Any, node: ast.AST) -> Any:
        """Whether a value counts as true: a bool, known or computed."""
        value = number_of(value)
        if isinstance(value, Known):
            return self._known_truth(value, node)
        if isinstance(value, Choice):
            return self.distribute(value, lambda one: self.truth(one, node), node)
        if isinstance(value, Number):
            if value.seen is not None:
                self.measured = True
                if SETTLES in self.names_kept:
                    return Known(bool(self.constant_of(value, node, "a length")))
            if value.kind in BOOLS:
                return Number("bool", value.id, value.sources)
            name = "int_to_bool" if value.kind in INTEGERS else "float_to_bool"
            return Number("bool", self.compute(name, value.id), value.sources)
        if isinstance(value, Tuple):
            return self._own_truth(value, len(value.items), node)
        if isinstance(value, Closure | Applied | MethodOf):
            return Known(True)
        if isinstance(value, Reference) and not self.is_array(value):
            contents = self.contents(value, node)
            if isinstance(contents, ListContents | DictContents):
                return self.compare("NotEq", self.length(value, node), Known(0), node)
            if isinstance(contents, GrownContents):
                return self.compare("NotEq", contents.length, Known(0), node)
            if isinstance(contents, GeneratorContents):
                return Known(True)
            if isinstance(contents, SetContents):
                return Known(bool(contents.items))
            return self._own_truth(value, None, node)
        if isinstance(value, Range):
            return self.compare("NotEq", self.length(value, node), Known(0), node)
        if self.is_array(value):
            return self.array_truth(value, node)
        if isinstance(value, Text):
            self.refuse(node, "a condition on a text that is computed", "use numbers")
        return self.refuse(node, "a condition on this", "use numbers, or arrays of one element")

    def _known_truth(self, value: Known, node: ast.AST) -> Any:
        if self.class_of(value) is not None:
            return self._own_truth(value, None, node)
        if isinstance(value.object, (*FOLDED, np.ndarray)) or callable(value.object):
            return self.fold(bool, [value.object], node)
        if isinstance(value.object, list | dict | set | frozenset):
            return self.compare("NotEq", self.length(value, node), Known(0), node)
        return self.refuse(node, "a condition on this object", "compare it with None")

    def _own_truth(self, value: Any, length: int | None, node: ast.AST) -> Any:
        method = self.bound(value, "__bool__", node) if self.class_of(value) else None
        if method is not None:
            found = self.settled(self.call(method, [], {}, node), node)
            if kind_of(found) != "bool":
                self.leave("__bool__ returns no bool", node)
            return found
        own = self.own_length(value, node) if self.class_of(value) else None
        if own is not None:
            return self.truth(own, node)
        if length is not None:
            return Known(length > 0)
        if isinstance(value, Known) and isinstance(value.object, FOLDED):
            return self.fold(bool, [value.object], node)
        cls = self.class_of(value)
        if cls and any(member_of(cls, name, None) for name in ("__bool__", "__len__")):
            self.refuse(node, "a condition on this object", "compare it with None")
        return Known(True)

    def compare(self, operator: str, left: Any, right: Any, node: ast.AST) -> Any:
        """A comparison of two values."""
        if operator in ("Is", "IsNot"):
            found = self.identical(left, right, node)
            return found if operator == "Is" else self.negated(found)
        if operator in ("In", "NotIn"):
            found = self.contains(left, right, node)
            return found if operator == "In" else self.negated(found)
        left, right = self.one_beside(left, [right], node), self.one_beside(right, [left], node)
        if isinstance(left, Choice):
            return self.distribute(left, lambda one: self.compare(operator, one, right, node), node)
        if isinstance(right, Choice):
            return self.distribute(right, lambda one: self.compare(operator, left, one, node), node)
        function = COMPARISONS[operator][1]
        if isinstance(left, Known) and isinstance(right, Known):
            plain = isinstance(left.object, FOLDED) and isinstance(right.object, FOLDED)
            if plain or isinstance(left.object, type) or isinstance(right.object, type):
                return self.fold(function, [left.object, right.object], node)
        kinds = kind_of(left), kind_of(right)
        if kinds[0] is not None and kinds[1] is not None:
            return self._numbers(operator, left, right, node)
        if (is_huge(left) and kinds[1] in PLAIN_NUMBERS) or (
            is_huge(right) and kinds[0] in PLAIN_NUMBERS
        ):
            return self._huge(operator, left, right, node)
        if self.is_array(left) or self.is_array(right):
            return self.array_call(function, [left, right], {}, node)
        if self.class_of(left) is not None or self.class_of(right) is not None:
            found = self._own(operator, left, right, node)
            if found is not None:
                return found
        whole = whole_beside(left, right), whole_beside(right, left)
        if whole[0] is not left or whole[1] is not right:
            return self.compare(operator, *whole, node)
        if (is_numpy(left) or is_numpy(right)) and all(map(self.holds_numbers, (left, right))):
            # NumPy's numbers make an array of a list that they stand beside.
            return self.array_call(function, [left, right], {}, node)
        alone = [_is_only_itself(one) for one in (left, right)]
        if operator in ("Eq", "NotEq") and any(alone):
            if all(alone):
                found = self.identical(left, right, node)
                return found if operator == "Eq" else self.negated(found)
            if _is_plain(right if alone[0] else left):
                return Known(operator == "NotEq")
        return self._sequences(operator, left, right, node)

    def _numbers(self, operator: str, left: Any, right: Any, node: ast.AST) -> Any:
        name, function = COMPARISONS[operator]
        kinds = (kind_of(left), kind_of(right))
        sources = sources_of(left, right)
        kind = "numpy_bool" if is_numpy(left) or is_numpy(right) else "bool"
        if all(k in INTEGERS | BOOLS for k in kinds):
            made = self.compute(f"{name}_int", self._integer(left), self._integer(right))
            values = seen_of(left), seen_of(right)
            seen = None if None in values or kind != "bool" else int(function(*values))
            return Number(kind, made, sources, seen)
        common = self.common_kind(left, right, node)
        held = []
        for value in (left, right):
            real = self.as_real(value, common, node)
            # NumPy compares its own integers as floats.
            if kind_of(value) == "int" and "int64" not in kinds:
                self._exact(value, real, common, node)
            held.append(real)
        return Number(kind, self.compute(f"{name}_number", *held), sources)

    def _huge(self, operator: str, left: Any, right: Any, node: ast.AST) -> Any:
        """A comparison with an integer of more than 64 bits, which Python makes exactly."""
        name, function = COMPARISONS[operator]
        if "float" not in (kind_of(left), kind_of(right)):
            # Any other integer is nearer to zero.
            sides = [value.object if is_huge(value) else 0 for value in (left, right)]
            return self.fold(function, sides, node)
        held = []
        for value in (left, right):
            if is_huge(value):
                try:
                    real = float(value.object)
                except OverflowError:
                    real = 0.0
                if real != value.object:
                    self.leave("an integer of more than 53 bits", node)
                held.append(self.constant(real))
            else:
                held.append(self.id_of(value))
        return Number("bool", self.compute(f"{name}_number", *held), sources_of(left, right))

    def _exact(self, value: Any, real: int, common: str, node: ast.AST) -> None:
        """Leaves where an integer is not exact as a float."""
        if isinstance(value, Known):
            if abs(value.object) > 2**53 and float(value.object) != value.object:
                self.leave("an integer of more than 53 bits", node)
        elif common != "float32":
            size = self.apply("abs", real)
            below = self.compute("less_number", size, self.constant(2.0**53))
            self.guard(below, "an integer of more than 53 bits", node)

    def _integer(self, value: Any) -> int:
        if isinstance(value, Known):
            return self.constant(int(value.object))
        held: int = value.id
        return held if value.kind in INTEGERS else self.compute("bool_to_int", held)

    def _own(self, operator: str, left: Any, right: Any, node: ast.AST) -> Any:
        """What a class's own comparison gives; None if there is none."""
        attempts = [(left, METHOD[operator], right), (right, METHOD[MIRRORED[operator]], left)]
        ours, theirs = self.class_of(left), self.class_of(right)
        if ours and theirs and ours is not theirs and issubclass(theirs, ours):
            attempts.reverse()
        for owner, name, other in attempts:
            method = self.bound(owner, name, node) if self.class_of(owner) else None
            if method is not None:
                value = self.call(method, [other], {}, node)
                if not (isinstance(value, Known) and value.object is NotImplemented):
                    return value
        return None

    def _sequences(self, operator: str, left: Any, right: Any, node: ast.AST) -> Any:
        both = left, right
        parts = [self.list_or_row(value, node) for value in both]
        if parts[0] is None or parts[1] is None or parts[0][0] is not parts[1][0]:
            if self._differ(left, right):
                if operator in ("Eq", "NotEq"):
                    text = str in (type(one.object) for one in both if isinstance(one, Known))
                    # A text beside a number of NumPy's gives one of its truth values.
                    own = np.bool_ if text and any(map(is_numpy, both)) else bool
                    return Known(own(operator == "NotEq"))
                self.leave("a comparison that Python refuses", node)
            return self.refuse(node, "a comparison of these", "compare numbers")
        ours, theirs = parts[0][1], parts[1][1]
        if operator in ("Eq", "NotEq"):
            if len(ours) != len(theirs):
                return Known(operator == "NotEq")
            found = self._all_equal(list(zip(ours, theirs, strict=True)), node)
            return found if operator == "Eq" else self.negated(found)
        return self._ordered(operator, ours, theirs, node)

    def _differ(self, left: Any, right: Any) -> bool:
        """Whether two values are of kinds of which nothing is equal."""
        kinds: list[Any] = []
        for one in (left, right):
            kind = type(one.object) if isinstance(one, Known) else type(one)
            if isinstance(one, Reference):
                kind = OF_CLASS.get(type(self.state.heap[one.address]), Reference)
            kinds.append("number" if kind_of(one) else kind)
        plain = {"number", type(None), str, Tuple, Range, list, dict, set}
        if is_numpy(left) or is_numpy(right):
            # NumPy makes an array of these.
            plain -= {Tuple, Range, list}
        return kinds[0] != kinds[1] and all(kind in plain for kind in kinds)

    def _all_equal(self, pairs: list[tuple[Any, Any]], node: ast.AST) -> Any:
        if not pairs:
            return Known(True)
        same = self.truth(self.same_or_equal(*pairs[0], node), node)
        return self.decide(
            same, lambda: self._all_equal(pairs[1:], node), lambda: Known(False), node
        )

    def same_or_equal(self, left: Any, right: Any, node: ast.AST) -> Any:
        """Whether items are equal. Python takes one object for equal to itself, also if it is NaN:
        whether two names have one object is not known of numbers, so a NaN leaves.
        """
        left, right = number_of(left), number_of(right)
        for value in (left, right):
            if kind_of(value) and isinstance(value, Known) and value.object != value.object:
                self.leave("a comparison of containers with a NaN", node)
            if isinstance(value, Number) and value.kind in REAL:
                fine = self.compute("equal_number", value.id, value.id)
                self.guard(fine, "a comparison of containers with a NaN", node)
        return self.compare("Eq", left, right, node)

    def _ordered(self, operator: str, ours: list[Any], theirs: list[Any], node: ast.AST) -> Any:
        if not ours or not theirs:
            return Known(COMPARISONS[operator][1](len(ours), len(theirs)))
        same = self.truth(self.same_or_equal(ours[0], theirs[0], node), node)
        return self.decide(
            same,
            lambda: self._ordered(operator, ours[1:], theirs[1:], node),
            lambda: self.compare(operator, ours[0], theirs[0], node),
            node,
        )

    def identical(self, left: Any, right: Any, node: ast.AST) -> Any:
        """``left is right``."""
        for value, other in ((left, right), (right, left)):
            if isinstance(value, Choice):
                return self._identical_choice(value, other, node)
        for value in (left, right):
            if isinstance(value, Known) and value.place is not None:
                # The answer holds for these objects alone.
                self.needs.test(value.place, ("is", value.object))
        if isinstance(left, Known) and isinstance(right, Known):
            if any(isinstance(one.object, (*SINGLETONS, type)) for one in (left, right)):
                return Known(left.object is right.object)
            plain = kind_of(left) is not None or isinstance(left.object, str | bytes | tuple)
            if not plain and kind_of(right) is None:
                return Known(left.object is right.object)
        if (found := self.are_one(left, right)) is not None:
            return Known(found)
        if isinstance(left, Reference) and isinstance(right, Reference):
            own = self.contents(left, node)
            if left == right and isinstance(own, InstanceContents):
                return Known(True)
            if own.external and self.contents(right, node).external:
                self.refuse(node, "whether two arguments are one object", "use ==")
            return Known(left.address == right.address)
        for value, other in ((left, right), (right, left)):
            if kind_of(value) == kind_of(other) == "bool" and isinstance(value, Known):
                return self.compare("Eq", left, right, node)
            if self._is_another(value, other, node):
                return Known(False)
        return self.refuse(node, "whether two such objects are one", "use ==, or compare with None")

    def _is_another(self, value: Any, other: Any, node: ast.AST) -> bool:
        """Whether ``other`` is an object that ``value`` cannot be."""
        if isinstance(value, Known) and isinstance(value.object, SINGLETONS):
            return True
        known = isinstance(other, Known) and not isinstance(other.object, np.ndarray)
        if isinstance(value, Number | Array) and known and kind_of(other) is None:
            return True
        if isinstance(value, Number) and isinstance(other, Array):
            return True
        if not isinstance(value, Reference) or isinstance(other, Reference):
            return False
        own = self.contents(value, node)
        if isinstance(other, Array) and own.external:
            # An item of a list of computed length may be the very array.
            self.refuse(node, "whether two such arrays are one", "compare their elements")
        if own.external and isinstance(own, InstanceContents) and isinstance(other, Known):
            self.refuse(node, "whether an argument is such an object", "use ==")
        return True

    def _identical_choice(self, value: Choice, other: Any, node: ast.AST) -> Any:
        answers: list[bool] = []
        if isinstance(other, Known):
            for one in value.alternatives:
                are_bools = kind_of(one) == kind_of(other) == "bool"
                found = None if are_bools else self.identical(one, other, node)
                if not isinstance(found, Known):
                    answers = []
                    break
                answers.append(found.object)
        if answers and sum(answers) == 1:
            at = answers.index(True)
            return Number("bool", self.compute("equal_int", value.tag, self.constant(at)))
        if answers and not any(answers):
            return Known(False)
        return self.distribute(value, lambda one: self.identical(one, other, node), node)

    def contains(self, item: Any, container: Any, node: ast.AST) -> Any:
        """``item in container``."""
        if isinstance(container, Choice):
            return self.distribute(container, lambda one: self.contains(item, one, node), node)
        if isinstance(item, Choice):
            return self.distribute(item, lambda one: self.contains(one, container, node), node)
        held = self.in_known(item, container.object, node) if isinstance(container, Known) else None
        if held is not None:
            return held
        if self.is_array(container) and not (isinstance(item, Number) and item.kind in INTEGERS):
            same = self.array_call(operator.eq, [container, item], {}, node)
            return self.truth(self.array_call(np.any, [same], {}, node), node)
        if isinstance(container, Lazy) and container.name == "dict_keys":
            container = container.over[0]
        if isinstance(container, Reference):
            contents = self.contents(container, node)
            if isinstance(contents, DictContents | SetContents):
                keys = contents.keys if isinstance(contents, DictContents) else contents.items
                if isinstance(item, Number):
                    self.ask_kind(item)
                    return self._among_keys(item, list(map(Known, keys)), node)
                key = self.key(item, node)
                if isinstance(contents, SetContents) and not isinstance(key, PLAIN_KEYS):
                    self.refuse(node, "whether a set has such an object", "use numbers or strings")
                return Known(any(same_object(key, k) or key == k for k in keys))
        method = self.bound(container, "__contains__", node)
        if method is not None:
            return self.truth(self.call(method, [item], {}, node), node)
        if self.runs(container) or self.grown(container) is not None:
            return self.first_of(
                container,
                lambda one: self.truth(self.same_or_equal(one, item, node), node),
                lambda _: Known(True),
                Known(False),
                node,
            )
        return self._among_keys(item, self.items(container, node), node)

    def _among_keys(self, item: Any, keys: list[Any], node: ast.AST) -> Any:
        if not keys:
            return Known(False)
        same = self.truth(self.same_or_equal(keys[0], item, node), node)
        return self.decide(
            same, lambda: Known(True), lambda: self._among_keys(item, keys[1:], node), node
        )


def _is_only_itself(value: Any) -> bool:
    """Whether this is a member of an enumeration, or a bare object: equal to itself alone."""
    if not isinstance(value, Known):
        return False
    cls = type(value.object)
    equality: Any = cls.__eq__
    return cls is object or (isinstance(cls, enum.EnumMeta) and equality is object.__eq__)


def _is_plain(value: Any) -> bool:
    """Whether this is of a type of Python's own, of which nothing is equal to such an object."""
    if isinstance(value, Known):
        return type(value.object) in (int, float, bool, str, bytes, type(None))
    return kind_of(value) in ("int", "float", "bool")
