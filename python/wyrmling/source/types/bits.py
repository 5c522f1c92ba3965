"""Bitwise operators on arrays of integers, as arithmetic: the ir has none on arrays.

``<<``, ``>>`` and ``~`` are read, and ``&``, ``|`` and ``^`` of an array and an integer that is
known (up to ``LARGEST_MASK``).

Limit: elements of up to 53 bits, as in all arithmetic on arrays of integers.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from ..abstract.values import INTEGERS, Known, kind_of
from .integer_arrays import is_integer_array, is_whole, refuse_other_widths

if TYPE_CHECKING:
    from ..abstract.walker import Walker

LARGEST_MASK = 2**48


def of_bits(walker: Walker, operator: str, left: Any, right: Any, node: ast.AST) -> Any:
    """What an operator gives for bits of arrays; None of others, as masks are."""
    if operator in ("LShift", "RShift"):
        if not (is_whole(walker, left) and is_whole(walker, right)):
            return None
        if not any(kind_of(x) in INTEGERS or is_integer_array(walker, x) for x in (left, right)):
            refuse_other_widths(walker, "a shift", np.dtype(np.int8), node)
        if isinstance(right, Known) and np.min(right.object, initial=0) < 0:
            walker.refuse(node, "a shift by a negative number", "shift the other way")
        power = walker.binary("Pow", Known(2), right, node)
        return walker.binary("Mult" if operator == "LShift" else "FloorDiv", left, power, node)
    if operator not in ("BitAnd", "BitOr", "BitXor"):
        return None
    for value, mask in ((left, right), (right, left)):
        if not (isinstance(mask, Known) and type(mask.object) in (int, np.int64)):
            continue
        if abs(mask.object) > LARGEST_MASK or not is_integer_array(walker, value):
            continue
        common = _common(walker, value, int(mask.object), node)
        if operator == "BitAnd":
            return common
        if operator == "BitXor":
            common = walker.binary("Mult", common, Known(2), node)
        return walker.binary("Sub", walker.binary("Add", value, mask, node), common, node)
    return None


def inverted(walker: Walker, value: Any, node: ast.AST) -> Any:
    """``~x`` of an array of integers; None of others."""
    if not is_integer_array(walker, value):
        return None
    return walker.binary("Sub", Known(-1), value, node)


def _common(walker: Walker, value: Any, mask: int, node: ast.AST) -> Any:
    """``value & mask``: for bits that follow one another, the difference of two remainders."""
    if mask < 0:
        return walker.binary("Sub", value, _common(walker, value, ~mask, node), node)
    found = walker.binary("Mult", value, Known(0), node)
    rest = mask
    while rest:
        lowest = rest & -rest
        above = (rest + lowest) & -(rest + lowest)
        rest &= ~(above - lowest)
        for sign, end in (("Add", above), ("Sub", lowest)):
            part = walker.binary("Mod", value, Known(end), node)
            found = walker.binary(sign, found, part, node)
    return found
