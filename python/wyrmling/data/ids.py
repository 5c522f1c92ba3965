"""What the caller calls users or items, by number.

A model numbers its users and its items from 0; :class:`Ids` knows what the caller calls them. An id
is an ``int`` within int64 or a ``str``, and 1 is not "1". Integers are kept as one int64 array and
looked up by a table where they lie close together, else by bisection, which takes an eighth of a
dictionary's memory; strings are kept as objects, since an array of NumPy's strings would make each
as long as the longest and drop NULs at their end, and are looked up by a dictionary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from ..array_types import IndexArray
from .columns import Column, Id, categorised, check_int64, id_column, is_whole, objects_of

__all__ = ["Ids"]

# What Python, NumPy, pandas and databases write where a value is missing: no id.
MISSING = frozenset(("None", "nan", "NaN", "<NA>", "NaT", "NULL", "null"))


class Ids(Sequence[Id]):
    """An immutable sequence of distinct ids; that of number ``n`` is ``ids[n]``.

    Args:
        ids: integers within int64 and strings, all distinct.
        name: what errors call them.

    Raises:
        TypeError: an id of another type.
        ValueError: one id twice, a missing value (as text too: "nan", "None", "NULL"), an integer
            beyond int64, or a string that no UTF-8 can hold (half of a surrogate pair).

    >>> ids = Ids(["ann", "bob", 7])
    >>> ids[2], ids.number("bob"), len(ids)
    (7, 1, 3)
    >>> ids.numbers(["bob", 7, "7"])
    array([ 1,  2, -1])
    """

    __slots__ = ("_index", "_values")

    def __init__(self, ids: Column, name: str = "ids") -> None:
        numbers, distinct = _numbered(name, ids)
        if len(distinct) < len(numbers):
            # The first row whose number is below those of rows before it occurs there already.
            row = int(np.argmax(numbers != np.arange(len(numbers))))
            first = int(numbers[row])
            raise ValueError(
                f"{name} must be distinct, found {distinct[first]!r} at {first} and {row}"
            )
        self._set(distinct)

    def _set(self, values: npt.NDArray[Any]) -> None:
        values.flags.writeable = False
        self._values = values
        self._index: _Integers | dict[Id, int] | None = None

    @classmethod
    def _of_values(cls, values: npt.NDArray[Any]) -> Ids:
        """Ids that are known to be distinct and of the right types."""
        ids = cls.__new__(cls)
        ids._set(values)
        return ids

    @classmethod
    def of(cls, column: Column, name: str = "ids") -> tuple[IndexArray, Ids]:
        """Numbers the ids of a column in the order in which they first appear.

        Args:
            column: ids, shape (s,); of pandas, polars or pyarrow too, or an iterator.
            name: what errors call it.

        Returns:
            The number of each row's id, uint32, shape (s,), and the ids by number.

        Raises:
            TypeError, ValueError: as the constructor, but that ids may repeat.

        >>> Ids.of([30, 10, 30])
        (array([0, 1, 0], dtype=uint32), Ids([30, 10]))
        """
        numbers, distinct = _numbered(name, column)
        return numbers, cls._of_values(distinct)

    @property
    def values(self) -> npt.NDArray[Any]:
        """The ids by number, read-only: int64 if all are integers, else objects, int and str."""
        return self._values

    def number(self, id: Id, what: str = "id") -> int:
        """The number of one id.

        Args:
            id: an int or str; NumPy's count too.
            what: what errors call an id, such as ``user``.

        Raises:
            KeyError: an unknown id; the message says so if it is known as another type.
            TypeError: neither an int nor a str.
            ValueError: an integer beyond int64, as :meth:`numbers`: it can be no id.

        >>> Ids([1, 2]).number("2", "user")
        Traceback (most recent call last):
        KeyError: "user '2', a str, is not among the 2 users, such as 1, 2; the int 2 is"
        """
        if type(id) is not int and type(id) is not str:
            id = _one(id, what)
        found = self._find(id)
        if found < 0:
            if type(id) is int:
                check_int64(what, id)
            raise KeyError(self._unknown(id, what))
        return found

    def spelled(self, text: str) -> Id:
        """The id that somebody means who can only write text, as in a terminal or a URL.

        It is the text where that is known, else the integer that it spells where that is known,
        else the text, which then is unknown.

        >>> Ids([1, 2, "2"]).spelled("1"), Ids([1, 2, "2"]).spelled("2")
        (1, '2')

        Raises TypeError for what is no text.
        """
        if not isinstance(text, str):
            raise TypeError(f"text is {text!r}, expected a str")
        if self._find(text) < 0 and (number := _integer(text)) is not None:
            return number if self._find(number) >= 0 else text
        return text

    def numbers(self, column: Column, name: str = "ids") -> npt.NDArray[np.int64]:
        """The numbers of a column of ids, -1 where one is unknown; int64, shape (s,).

        Raises:
            TypeError, ValueError: a column or an id that :meth:`of` would refuse.
        """
        ids = id_column(name, column)
        index = self._lookup()
        if isinstance(index, dict):
            listed = ids.tolist() if isinstance(ids, np.ndarray) else ids
            return np.fromiter((index.get(id, -1) for id in listed), np.int64, len(listed))
        if isinstance(ids, np.ndarray):
            return index.find(ids)
        whole = np.fromiter((type(id) is int for id in ids), bool, len(ids))
        numbers = np.full(len(ids), -1)
        numbers[whole] = index.find(np.array([id for id in ids if type(id) is int], np.int64))
        return numbers

    def take(self, numbers: npt.ArrayLike) -> npt.NDArray[Any]:
        """The ids of some numbers, in an array of their shape: int64, or objects.

        Raises:
            IndexError: a number without an id, or something else than integers.
        """
        at = np.asarray(numbers)
        if at.dtype.kind not in "iu":
            if at.size:
                raise IndexError(f"numbers: expected integers, found {at.dtype}")
            at = at.astype(np.int64)
        if at.size and (at.min() < 0 or at.max() >= len(self)):
            wrong = at.min() if at.min() < 0 else at.max()
            raise IndexError(f"numbers: found {wrong}, expected 0 to {len(self) - 1}")
        taken: npt.NDArray[Any] = self._values[at]
        return taken

    def extended(self, more: Column, name: str = "ids") -> Ids:
        """These ids, and after them those of a column that are not among them, by appearance.

        Raises:
            TypeError, ValueError: a column or an id that :meth:`of` would refuse.

        >>> Ids(["a", "b"]).extended(["c", "a", "c"])
        Ids(['a', 'b', 'c'])
        """
        _, new = Ids.of(more, name)
        unknown = new._values[self.numbers(new._values) < 0]
        if not len(unknown):
            return self
        if self._values.dtype != unknown.dtype:
            return Ids._of_values(objects_of([*self, *unknown.tolist()]))
        return Ids._of_values(np.concatenate([self._values, unknown]))

    def _lookup(self) -> _Integers | dict[Id, int]:
        # Two threads may make it twice; either will do.
        if self._index is None:
            if self._values.dtype == np.int64:
                self._index = _Integers(self._values)
            else:
                self._index = {id: number for number, id in enumerate(self._values.tolist())}
        return self._index

    def _find(self, id: Id) -> int:
        index = self._lookup()
        if isinstance(index, dict):
            return index.get(id, -1)
        return index.find_one(id) if type(id) is int else -1

    def _unknown(self, id: Id, what: str) -> str:
        known = ", ".join(repr(known) for known in self._values[:3].tolist()) or "none"
        other = str(id) if isinstance(id, int) else _integer(id)
        if other is not None and self._find(other) >= 0:
            return (
                f"{what} {id!r}, {_type_of(id)}, is not among the {len(self):,} {what}s, such as "
                f"{known}; the {type(other).__name__} {other!r} is"
            )
        return f"{what} {id!r} is not among the {len(self):,} {what}s, such as {known}"

    def __len__(self) -> int:
        return len(self._values)

    @overload
    def __getitem__(self, number: int) -> Id: ...
    @overload
    def __getitem__(self, number: slice) -> Ids: ...
    def __getitem__(self, number: int | slice) -> Id | Ids:
        if isinstance(number, slice):
            values = self._values[number].copy()
            # Of ids of both types those of a part may all be integers.
            whole = values.dtype == object and all(type(id) is int for id in values)
            return Ids._of_values(values.astype(np.int64) if whole else values)
        id: Id = self._values.item(number)
        return id

    def __iter__(self) -> Iterator[Id]:
        return iter(self._values.tolist())

    def __contains__(self, id: object) -> bool:
        try:
            return self._find(_one(id, "id")) >= 0
        except TypeError:
            return False

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """The number of an id, as of any sequence. Raises ValueError for one unknown."""
        if value in self:
            number = self.number(value)
            if number in range(*slice(start, stop).indices(len(self))):
                return number
        raise ValueError(f"{value!r} is not among these ids")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ids):
            return NotImplemented
        if self._values is other._values:
            return True
        if len(self) != len(other) or (len(self) and self._values.dtype != other._values.dtype):
            return False
        return bool(np.array_equal(self._values, other._values))

    def __hash__(self) -> int:
        return hash((len(self), *self._values[:3].tolist(), *self._values[-3:].tolist()))

    def __repr__(self) -> str:
        if len(self) <= 6:
            return f"Ids({self._values.tolist()!r})"
        ends = [*map(repr, self._values[:3].tolist()), "...", repr(self._values.item(-1))]
        return f"Ids([{', '.join(ends)}], {len(self):,} in all)"

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        array = self._values if dtype is None else self._values.astype(dtype)
        return array.copy() if copy and array is self._values else array

    def __reduce__(self) -> tuple[Any, ...]:
        return Ids._of_values, (self._values,)


class _Integers:
    """Numbers of distinct integers, by a table from the lowest to the highest, or by bisection."""

    def __init__(self, ids: npt.NDArray[np.int64]) -> None:
        self._low = int(ids.min()) if len(ids) else 0
        self._high = int(ids.max()) if len(ids) else -1
        span = self._high - self._low + 1
        self._table: npt.NDArray[np.int64] | None = None
        if span <= 4 * len(ids) + 1024:
            self._table = np.full(span, -1)
            self._table[ids - self._low] = np.arange(len(ids))
        else:
            self._order = np.argsort(ids)
            self._sorted = ids[self._order]

    def find_one(self, id: int) -> int:
        """The number of an integer of any size, or -1."""
        if not self._low <= id <= self._high:
            return -1
        if self._table is not None:
            return self._table.item(id - self._low)
        at = int(self._sorted.searchsorted(id))
        return self._order.item(at) if self._sorted.item(at) == id else -1

    def find(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The numbers of some integers, -1 where one is unknown."""
        inside = (ids >= self._low) & (ids <= self._high)
        if self._table is not None:
            numbers = np.full(len(ids), -1)
            numbers[inside] = self._table[ids[inside] - self._low]
            return numbers
        at = np.where(inside, self._sorted.searchsorted(ids), 0)
        return np.where(self._sorted[at] == ids, self._order[at], -1)


def _numbered(name: str, column: Column) -> tuple[IndexArray, npt.NDArray[Any]]:
    """The number of each row's id by first appearance, and the distinct ids."""
    if (found := categorised(column)) is not None:
        codes, categories = found
        if len(codes) and codes.min() < 0:
            row = int(codes.argmin())
            raise ValueError(
                f"{name}: row {row}, counted from 0, is of no category, which stands for a "
                "missing value"
            )
        numbers, used = _numbered_integers(codes.astype(np.int64))
        # Of rows that were chosen many categories have none, and may be no ids.
        return numbers, Ids(categories[used], f"categories of {name}").values
    ids = id_column(name, column)
    if isinstance(ids, np.ndarray):
        return _numbered_integers(ids)
    distinct = list(dict.fromkeys(ids))
    _check_text(name, ids, distinct)
    if len(distinct) == len(ids):
        return np.arange(len(ids), dtype=np.uint32), objects_of(distinct)
    number = {id: n for n, id in enumerate(distinct)}
    return np.fromiter(map(number.__getitem__, ids), np.uint32, len(ids)), objects_of(distinct)


def _numbered_integers(
    column: npt.NDArray[np.int64],
) -> tuple[IndexArray, npt.NDArray[np.int64]]:
    count = len(column)
    if not count:
        return np.empty(0, np.uint32), np.empty(0, np.int64)
    low = int(column.min())
    span = int(column.max()) - low + 1
    if span <= 4 * count + 1024:
        at = column - low
        distinct = None
    else:
        # This sorts without regard to order among equals, which is faster than return_index.
        distinct, at = np.unique(column, return_inverse=True)
        span = len(distinct)
    # Of rows written to one place the last stays, so that backwards it is the first.
    first = np.full(span, count)
    first[at[::-1]] = np.arange(count - 1, -1, -1)
    present = np.flatnonzero(first < count)
    order = present[np.argsort(first[present])]
    number = np.empty(span, np.uint32)
    number[order] = np.arange(len(order), dtype=np.uint32)
    return number[at], order + low if distinct is None else distinct[order]


def _check_text(name: str, column: list[Id], distinct: list[Id]) -> None:
    if missing := MISSING.intersection(distinct):
        row, text = next((row, id) for row, id in enumerate(column) if id in missing)
        raise ValueError(
            f"{name}: row {row}, counted from 0, is {text!r}, which stands for a missing value"
        )
    try:
        "".join(id for id in distinct if type(id) is str).encode()
    except UnicodeEncodeError:
        for row, id in enumerate(column):
            if type(id) is str and any("\ud800" <= letter <= "\udfff" for letter in id):
                raise ValueError(
                    f"{name}: row {row}, counted from 0, is {id!r}, expected text that UTF-8 "
                    "can hold, without half of a surrogate pair"
                ) from None


def _one(id: Any, what: str) -> Id:
    """One id, of a plain type."""
    if type(id) is int or type(id) is str:
        return id
    if is_whole(type(id)):
        return int(id)
    if isinstance(id, np.str_):
        return str(id)
    raise TypeError(f"{what}: expected an int or str, got {id!r} of type {type(id).__name__}")


def _integer(text: str) -> int | None:
    """The integer that a text spells in decimal digits; None for any other text."""
    spells = len(text) <= 20 and text.isascii() and text.removeprefix("-").isdecimal()
    return int(text) if spells else None


def _type_of(id: Id) -> str:
    return "an int" if isinstance(id, int) else "a str"
