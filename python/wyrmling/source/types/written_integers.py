"""Arrays of integers and of truths to which the function writes.

Those that it makes are known, or a ``Recorded``. Where one is written to, the function is read
anew, and what makes it gives an array of floats in the heap, of which ``ArrayContents.head`` is the
type. What is read of that is a ``Recorded``. Limit: integers of up to 53 bits.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..abstract.masks import as_floats, recorded_as
from ..abstract.restarts import Restart
from ..abstract.state import ArrayContents, integer_type
from ..abstract.values import (
    REAL,
    Array,
    Choice,
    Known,
    Number,
    Recorded,
    Reference,
    Tuple,
    is_integers,
    kind_of,
)
from .integer_arrays import answered, integer_of, signed

if TYPE_CHECKING:
    from ..abstract.walker import Walker

LARGEST = 2**53
TYPES = (np.dtype(np.int64), np.dtype(np.bool_))
# Functions whose results share no memory with what they are given, unless ``copy`` says otherwise.
FRESH = frozenset(
    {"arange", "argsort", "array", "astype", "copy", "empty", "empty_like", "eye", "full"}
    | {"full_like", "identity", "ones", "ones_like", "tri", "where", "zeros", "zeros_like"}
    | {"concatenate", "cumsum", "hstack", "repeat", "roll", "sort", "stack", "tile", "tril"}
    | {"triu", "vstack"}
)


def is_fresh(function: Any, args: Sequence[Any], keywords: Mapping[str, Any]) -> bool:
    """Whether what a call of a function of NumPy's gives shares no memory with its arguments."""
    if isinstance(function, np.ufunc) or getattr(function, "__module__", "") == "_operator":
        return True
    name = getattr(function, "__name__", "")
    if name == "_item":
        # What an advanced index picks is a copy, what integers and slices do a view.
        parts = args[1].items if isinstance(args[1], Tuple) else args[1:2]
        return any(map(_is_advanced, parts))
    # The sixth argument of ``astype`` is ``copy`` too.
    copies = keywords.get("copy", args[5] if len(args) > 5 else Known(True))
    always = isinstance(copies, Known) and copies.object is True
    return always and name in FRESH


def _is_advanced(index: Any) -> bool:
    """Whether an index is advanced, as NumPy calls it: an array or a list of places, or a mask."""
    found = index.object if isinstance(index, Known) else index
    if isinstance(found, Recorded):
        return bool(found.variable.shape)
    return isinstance(found, Reference | list) or bool(getattr(found, "shape", ()))


def made_by(walker: Walker, function: Any, value: Any, node: ast.AST) -> Any:
    """A new array, which can be written to if the function does so."""
    found = value.object if isinstance(value, Known) else value
    like = found.variable if isinstance(found, Recorded) else found
    if not isinstance(found, np.ndarray | Recorded):
        return value
    if like.dtype not in TYPES or not like.shape or getattr(found, "computed", False):
        return value
    key = ("written", id(node))
    if key not in walker.names_kept:
        walker.makers[id(found)] = (found, key)
        return value
    if isinstance(found, np.ndarray) and "empty" in function.__name__:
        found = np.zeros_like(found)
    held = as_floats(walker.builder, found) if found is value else _constant(walker, found)
    return value if held is None else walker.allocate(ArrayContents(held, head=like.dtype.name))


def _constant(walker: Walker, given: Any) -> Array | None:
    if given.dtype not in TYPES or (given.size and np.abs(given.astype(float)).max() >= LARGEST):
        return None
    return Array(walker.constant(given.astype(float)), np.dtype(np.float64), given.shape)


def expect_written(walker: Walker, value: Any) -> None:
    """Has the function read anew if this array can be written to then."""
    key = _key_of(walker, value)
    if key is not None and key not in walker.names_kept:
        raise Restart(kept=frozenset({key}))


def _key_of(walker: Walker, value: Any) -> Any:
    """The key of what made an array, or that of which it is a part."""
    found = value.object if isinstance(value, Known) else value
    while found is not None and id(found) not in walker.makers:
        found = getattr(found, "base", None)
    return None if found is None else walker.makers[id(found)][1]


def part_in(walker: Walker, value: Any, array: Any, index: Any, node: ast.AST) -> Any:
    """An item of an array of integers or truths, which is looked up in floats; None of any other
    array.
    """
    like, held = array, None
    if isinstance(value, Reference):
        contents: Any = walker.state.heap[value.address]
        held = contents.value
    elif isinstance(array, Recorded):
        held = as_floats(walker.builder, array)
    elif isinstance(array.object, np.ndarray):
        held = _constant(walker, array.object)
        like = recorded_as(held, array.object.dtype) if held else None
    if held is None:
        return None
    held = replace(held, bases=like.bases)
    part = answered(walker, walker.array_item(held, index, node), like, node)
    key = _key_of(walker, array)
    if key is not None:
        walker.makers[id(part)] = (part, key)
    return part


def value_in(contents: Any, address: int) -> Any:
    """The array in the heap, as integers or truths if it is of these."""
    found, dtype = contents.value, integer_type(contents)
    if dtype is None or not isinstance(found, Array):
        return found
    return recorded_as(replace(found, bases=found.bases | {address}), dtype)


def replaced(walker: Walker, before: Recorded, value: Any, node: ast.AST) -> Array:
    """What an array of integers or truths becomes by an operator in place, as floats."""
    own, after = before.variable, getattr(value, "variable", None)
    if after is None or (after.shape, after.dtype) != (own.shape, own.dtype):
        walker.refuse(node, "such an operator in place on an array", "write x = x + …")
    return as_floats(walker.builder, value)


def store_integers(walker: Walker, owner: Reference, index: Any, value: Any, node: ast.AST) -> None:
    """Assigns to an item or slice of an array of integers or truths."""
    contents: Any = walker.contents(owner, node)
    own = walker.allocate(ArrayContents(contents.value))
    dtype = integer_type(contents)
    with walker.holding(owner, own, value):
        walker.array_store(own, index, stored(walker, value, dtype, node), node)
    made: Any = walker.contents(own, node)
    walker.store(owner, replace(contents, value=made.value), node)


def stored(walker: Walker, value: Any, dtype: Any, node: ast.AST) -> Any:
    """What is written to an array of this type, as floats."""
    value = integer_of(walker, value, node)
    if isinstance(value, Choice):
        return walker.distribute(value, lambda one: stored(walker, one, dtype, node), node)
    if kind_of(value) is not None:
        return _number(walker, value, dtype, node)
    if not walker.is_array(value):
        value = walker.call(Known(np.array), [value], {}, node)
    found = walker.array_of(value)
    found = signed(found) if is_integers(found) else found
    given = found.object if isinstance(found, Known) else getattr(found, "variable", None)
    if given is None or given.dtype not in (dtype, TYPES[1]):
        advice = "write integers, or truths, or use an array of floats"
        walker.refuse(node, f"a write of such values to an array of {dtype}", advice)
    if isinstance(found, Recorded):
        return as_floats(walker.builder, found)
    return _constant(walker, given) or walker.refuse(node, "an integer of more than 53 bits", "")


def _number(walker: Walker, value: Any, dtype: Any, node: ast.AST) -> Number:
    if kind_of(value) in REAL and dtype != np.bool_:
        walker.refuse(node, "a float written to an array of integers", "use int(...) of it")
    if dtype == np.bool_:
        value = walker.truth(value, node)
    held = walker.as_real(value, "float", node)
    if isinstance(value, Number) and value.kind in ("int", "int64"):
        size = walker.apply("abs", held)
        below = walker.compute("less_number", size, walker.constant(float(LARGEST)))
        walker.guard(below, "an integer of more than 53 bits", node)
    elif isinstance(value, Known) and abs(value.object) >= LARGEST:
        walker.refuse(node, "an integer of more than 53 bits in an array", "use floats")
    return Number("float", held)
