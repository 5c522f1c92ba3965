"""Lists whose length is computed, as arrays: a column for each number or array of an item.

The items of such a list are of one form: numbers of one kind, arrays of one shape, or tuples and
lists of these. A column has room for more items than there are, and what it holds beyond them is
unused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .state import GrownContents, ListContents
from .values import REAL, Array, Known, Reference, Tuple, kind_of

CAPACITY = 8
"""For how many items an empty list has room, and what is taken for a length that is computed."""

# Integers are exact in a column up to here.
LARGEST = 2**53


@dataclass(frozen=True, slots=True)
class NumberForm:
    """A number of a kind."""

    kind: str

    @property
    def like(self) -> Array:
        """A column."""
        single = self.kind == "float32"
        return Array(-1, np.dtype(np.float32 if single else np.float64), (CAPACITY,), computed=True)


@dataclass(frozen=True, slots=True)
class ArrayForm:
    """An array of an element type and shape."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def like(self) -> Array:
        """A column."""
        return Array(-1, self.dtype, (CAPACITY, *self.shape), computed=True)


@dataclass(frozen=True, slots=True)
class TupleForm:
    """A tuple of class ``cls``, or a list."""

    cls: type
    items: tuple[ItemForm, ...]


ItemForm = NumberForm | ArrayForm | TupleForm


@dataclass(frozen=True, slots=True)
class Retag:
    """The tag of a choice, counted in another order."""

    tag: int
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """A column of a list of known length, for a path that arrives where it is not known: the
    number or array of each item.
    """

    parts: tuple[Any, ...]
    form: NumberForm | ArrayForm


def form_of(item: Any, heap: Mapping[int, Any]) -> ItemForm | None:
    """The form of an item, None if it is none that a list of computed length can have."""
    kind = kind_of(item)
    if kind is not None:
        if isinstance(item, Known) and kind not in REAL and abs(item.object) > LARGEST:
            return None
        return NumberForm(kind)
    row = _row(item, heap)
    if row is not None:
        parts = [form_of(part, heap) for part in row.items]
        found = tuple(part for part in parts if part is not None)
        return TupleForm(row.cls, found) if 0 < len(found) == len(parts) else None
    array = _array(item, heap)
    if array is None or not array.shape or array.computed:
        return None
    if array.dtype not in (np.float64, np.float32):
        return None
    return ArrayForm(array.dtype, array.shape)


def common_form(items: Iterator[Any] | tuple[Any, ...], heap: Mapping[int, Any]) -> Any:
    """The form of all items; None if there are none, False if they are not of one form."""
    found: Any = None
    for item in items:
        form = form_of(item, heap)
        if form is None or found not in (None, form):
            return False
        found = form
    return found


def form_of_lists(found: Sequence[Any], heaps: Sequence[Mapping[int, Any]]) -> Any:
    """The form of the items of lists that meet; None if they are no lists of the function's own, or
    empty; False if items are not of one form.
    """
    forms = set()
    for contents, heap in zip(found, heaps, strict=True):
        if isinstance(contents, GrownContents):
            forms.add(contents.form)
        elif isinstance(contents, ListContents) and not contents.external:
            forms.add(common_form(contents.items, heap))
        elif contents is not None:
            return None
    forms.discard(None)
    return forms.pop() if len(forms) == 1 else False if forms else None


def _row(item: Any, heap: Mapping[int, Any]) -> Tuple | None:
    """A tuple, or what a list holds; None of anything else."""
    contents = heap.get(item.address) if isinstance(item, Reference) else None
    if isinstance(contents, ListContents):
        return Tuple(contents.items, list)
    return item if isinstance(item, Tuple) else None


def _array(item: Any, heap: Mapping[int, Any]) -> Array | None:
    if isinstance(item, Reference):
        contents = heap.get(item.address)
        item = None if getattr(contents, "head", None) else getattr(contents, "value", None)
    return item if isinstance(item, Array) else None


def single_forms(form: ItemForm) -> list[NumberForm | ArrayForm]:
    """The forms of the columns."""
    if isinstance(form, TupleForm):
        return [one for part in form.items for one in single_forms(part)]
    return [form]


def parts_of(item: Any, heap: Mapping[int, Any]) -> list[Any]:
    """The numbers and arrays of an item, in the order of its columns."""
    row = _row(item, heap)
    if row is not None:
        return [one for part in row.items for one in parts_of(part, heap)]
    array = _array(item, heap)
    return [item if array is None else array]


def references_of(item: Any, heap: Mapping[int, Any]) -> list[Reference]:
    """The objects that an item is, or has among its parts."""
    row, found = _row(item, heap), [item] if isinstance(item, Reference) else []
    parts = () if row is None else row.items
    return [*found, *(one for part in parts for one in references_of(part, heap))]


def built(form: ItemForm, parts: Iterator[Any], row: Callable[..., Any] = Tuple) -> Any:
    """An item of its parts, whose tuples and lists ``row`` makes."""
    if isinstance(form, TupleForm):
        return row(tuple(built(part, parts, row) for part in form.items), form.cls)
    return next(parts)


def has_lists(form: ItemForm) -> bool:
    """Whether items are lists, or have some in them."""
    return isinstance(form, TupleForm) and (form.cls is list or any(map(has_lists, form.items)))


def is_numeric(form: ItemForm) -> bool:
    """Whether items are floating-point numbers."""
    return isinstance(form, NumberForm) and form.kind in REAL


def unchanged(now: GrownContents, before: GrownContents) -> bool:
    """Whether a list holds what it held before."""
    pairs = zip(now.parts, before.parts, strict=True)
    return all(_identity(a) == _identity(b) for a, b in pairs)


def _identity(part: Any) -> Any:
    """What is equal for equal parts of a list."""
    return (part.object, "known") if isinstance(part, Known) else part.id
