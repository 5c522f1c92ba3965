"""Columns as callers have them, as arrays: ids, and numbers that go along with them.

A column is a sequence or an iterator, a NumPy array (masked too), or a series of pandas, polars or
pyarrow; none of those libraries is imported. Ids are integers, that fit int64, or strings, and stay
what they are: ``1`` is not ``"1"``. ``np.integer`` counts as ``int``, ``np.str_`` as ``str``.
Everything else is refused, since nobody can tell how it is to be written: a float may be an integer
that a missing value has turned into a float, and of a datetime, UUID or enum the caller chooses the
text, by ``str`` or otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ..arguments import NO_NUMBERS, TEXTS
from ..array_types import Float64Array

__all__ = [
    "Column",
    "Id",
    "categorised",
    "check_int64",
    "id_column",
    "is_missing",
    "is_whole",
    "number_column",
    "unchanging",
]

Id: TypeAlias = int | str
Column: TypeAlias = Iterable[Any] | npt.NDArray[Any]
Integers: TypeAlias = npt.NDArray[np.int64]

# One text, or bytes of one, has elements, and a set and a dict have no order.
NO_COLUMNS = *TEXTS, Set, Mapping
MOST = 2**32 - 1
INT64 = np.iinfo(np.int64)
AS_TEXT = "; str() of it would be an id"
FRACTIONS = {unit: 1000**k for k, unit in enumerate(("ms", "us", "ns", "ps", "fs", "as"), 1)}


def is_missing(value: object) -> bool:
    """Whether a value is None, NaN, NaT, pandas' NA or a masked element.

    >>> is_missing(None), is_missing(float("nan")), is_missing(0)
    (True, True, False)
    """
    if value is None or value is np.ma.masked or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(value))
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def id_column(name: str, column: Column) -> Integers | list[Id]:
    """A column of ids as an int64 array, or, if any is a string, as a list of int and str.

    Args:
        name: what errors call the column.
        column: ids, each an integer within int64 or a string; may be an iterator.

    Raises:
        TypeError: something else than a column, or an id of another type.
        ValueError: a missing value, an integer beyond int64, a column of several axes, or of
            2**32 or more ids.
    """
    if isinstance(column, NO_COLUMNS):
        raise TypeError(f"{name}: expected a sequence of ids, found a {type(column).__name__}")
    _check_iterable(name, column, "ids")
    array = _as_array(name, column)
    if array is None:
        if isinstance(column, range):
            if len(column) > MOST:
                raise ValueError(f"{name} has {len(column)} ids, expected at most {MOST}")
            with suppress(OverflowError):
                return np.fromiter(column, np.int64, len(column))
        return _checked_list(name, column if isinstance(column, (list, tuple)) else list(column))
    if array.ndim != 1:
        raise ValueError(f"{name} must have one axis, found shape {array.shape}")
    if len(array) > MOST:
        raise ValueError(f"{name} has {len(array)} ids, expected at most {MOST}")
    if array.dtype.kind in "iu":
        if array.dtype.kind == "u" and array.dtype.itemsize == 8 and len(array):
            row = int(np.argmax(array))
            if array[row] > INT64.max:
                raise _too_large(name, row, int(array[row]))
        return array.astype(np.int64, copy=False)
    return _checked_list(name, array.tolist() if array.dtype.kind in "OUT" else list(array))


def categorised(column: Column) -> tuple[npt.NDArray[Any], Any] | None:
    """The codes and the categories of pandas' categorical data; None for any other column."""
    column = getattr(column, "cat", column)
    codes, categories = getattr(column, "codes", None), getattr(column, "categories", None)
    if codes is None or categories is None:
        return None
    return np.asarray(codes), categories


def number_column(
    name: str, column: Column, dtype: type[np.floating[Any]] | None
) -> npt.NDArray[Any]:
    """A column of finite numbers.

    Args:
        name: what errors call the column.
        column: numbers, or, if no dtype is given, dates and datetimes as well.
        dtype: the floating-point type wanted. None keeps integers as int64, makes all else
            float64, and of dates the seconds since 1970 (of UTC, if they have a time zone).

    Raises:
        TypeError: anything but numbers.
        ValueError: several axes; a missing number, or one that is not finite in that type.
    """
    array = _as_array(name, column)
    if array is None:
        if isinstance(column, NO_COLUMNS):
            raise TypeError(f"{name}: expected numbers, found a {type(column).__name__}")
        _check_iterable(name, column, "numbers")
        column = column if isinstance(column, (list, tuple)) else list(column)
        # NumPy makes 1 of True beside numbers.
        for kind in {bool, np.bool_} & set(map(type, column)):
            row = next(row for row, value in enumerate(column) if type(value) is kind)
            raise _no_number(name, row, column[row])
        try:
            array = _as_listed(column)
        except ValueError:
            raise TypeError(f"{name}: expected numbers, found rows of several") from None
    if array.ndim != 1:
        raise ValueError(f"{name} must have one axis, found shape {array.shape}")
    if array.dtype.kind == "O":
        array = _numbers_of_objects(name, array, dates=dtype is None)
    if dtype is None and array.dtype.kind == "M":
        return _seconds(name, array)
    if array.dtype.kind not in "iuf" and len(array):
        raise TypeError(f"{name}: expected numbers, found {array.dtype} such as {array[0]!r}")
    if dtype is None and array.dtype.kind in "iu":
        if len(array) and int(array.max()) > INT64.max:
            raise _too_large(name, int(array.argmax()), int(array.max()), "")
        return array.astype(np.int64, copy=False)
    with np.errstate(over="ignore"):
        numbers = array.astype(dtype or np.float64, copy=False)
    wrong = ~np.isfinite(numbers)
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"{name}: row {row}, counted from 0, is {array[row]}, "
            f"expected a finite number of {numbers.dtype}"
        )
    return numbers


def is_whole(kind: type) -> bool:
    """Whether a type of NumPy's is of integers: durations are not, though they inherit from it."""
    return issubclass(kind, np.integer) and not issubclass(kind, NO_NUMBERS)


def unchanging(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A column that nobody writes to: a read-only copy, unless its memory is read-only as it is, or
    in a mapped file, which may be larger than memory.
    """
    origin: Any = column
    while isinstance(origin.base, np.ndarray) and not isinstance(origin, np.memmap):
        origin = origin.base
    if isinstance(origin, np.memmap):
        column = column.view()
    elif origin.base is not None or origin.flags.writeable:
        # A view that is read-only shows what others write: such are those of pandas' columns.
        column = column.copy()
    column.flags.writeable = False
    return column


def _as_listed(column: list[Any] | tuple[Any, ...]) -> npt.NDArray[Any]:
    """A list as an array, of objects where NumPy would make one number or date into another."""
    array = np.array(column)
    if array.ndim == 1 and array.dtype.kind in "fM" and len(array):
        kinds = set(map(type, column))
        # Floats of integers that neither int64 nor uint64 holds, dates of durations beside dates.
        whole = all(kind is int or is_whole(kind) for kind in kinds)
        if whole or (array.dtype.kind == "M" and kinds != {np.datetime64}):
            return objects_of(column)
    return array


def objects_of(column: list[Any] | tuple[Any, ...]) -> npt.NDArray[Any]:
    """A list as an array of its objects, whatever these are."""
    array = np.empty(len(column), object)
    array[:] = column
    return array


def _seconds(name: str, array: npt.NDArray[Any]) -> Float64Array:
    wrong = np.isnat(array)
    if wrong.any():
        raise _missing(name, int(wrong.argmax()), "NaT")
    unit, step = np.datetime_data(array.dtype)
    if unit in FRACTIONS:
        # Whole seconds and the rest apart: nanoseconds since 1970 lose nothing before they must. By
        # integers, since the second in which the first nanoseconds lie begins before these.
        ticks = array.astype(np.int64)
        count: Any = ticks if step == 1 else ticks.astype(object) * step
        whole, rest = count // FRACTIONS[unit], count % FRACTIONS[unit]
        seconds: Float64Array = whole.astype(np.float64) + rest.astype(np.float64) / FRACTIONS[unit]
        return seconds
    try:
        moments = array.astype("datetime64[s]")
        lost = moments.astype(array.dtype) != array
    except OverflowError:
        # NumPy raises from 2.5 on; before, other dates came of it.
        lost = np.array([_overflows(one) for one in array])
    if lost.any():
        row = int(lost.argmax())
        raise ValueError(
            f"{name}: row {row}, counted from 0, is {int(array[row].astype(np.int64))} in steps of "
            f"{step} {unit}, expected a date of which int64 holds the seconds"
        )
    return moments.astype(np.int64).astype(np.float64)


def _overflows(moment: np.datetime64) -> bool:
    try:
        moment.astype("datetime64[s]")
    except OverflowError:
        return True
    return False


def _numbers_of_objects(name: str, array: npt.NDArray[Any], dates: bool) -> npt.NDArray[Any]:
    for row, value in enumerate(array):
        if is_missing(value):
            raise _missing(name, row, value)
    values = array.tolist()
    if dates and all(isinstance(value, date) for value in values):
        # As for Python, which compares none with one of the other kind.
        zoned = [isinstance(value, datetime) and value.utcoffset() is not None for value in values]
        if any(zoned) and not all(zoned):
            row, other = zoned.index(False), zoned.index(True)
            raise ValueError(
                f"{name}: row {row}, counted from 0, is {values[row]}, without a time zone, and "
                f"row {other} has one: expected all of one kind"
            )
        return np.array([_utc(value) for value in values], "datetime64[us]")
    for row, value in enumerate(values):
        # NumPy's complex numbers are np.number too, and would lose their imaginary parts.
        if isinstance(value, NO_NUMBERS) or not isinstance(
            value, (int, float, Decimal, np.integer, np.floating)
        ):
            raise _no_number(name, row, value)
    # A time stays the integer that it is; a value becomes a float of any size.
    if dates and all(isinstance(value, (int, np.integer)) for value in values):
        for row, value in enumerate(values):
            if not _fits(value):
                raise _too_large(name, row, int(value), "")
        return np.array(values, np.int64)
    try:
        return np.array(values, np.float64)
    except OverflowError:
        raise ValueError(f"{name}: found an integer that no float64 can hold") from None


def _utc(value: date) -> np.datetime64:
    """A date in UTC, of which Python has none before the year 1 and after 9999."""
    offset = value.utcoffset() if isinstance(value, datetime) else None
    if not isinstance(value, datetime) or offset is None:
        return np.datetime64(value, "us")
    return np.datetime64(value.replace(tzinfo=None), "us") - np.timedelta64(offset)


def _as_array(name: str, column: Any) -> npt.NDArray[Any] | None:
    """A column of an array library as an array without missing elements; None for any other."""
    if isinstance(column, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(column)
        if column.ndim == 1 and mask.any():
            raise _missing(name, int(mask.argmax()), "masked")
        return column.data
    if isinstance(column, np.ndarray):
        return column
    if not hasattr(column, "__array__"):
        return None
    if getattr(column, "nlevels", 1) != 1:
        raise TypeError(
            f"{name}: expected a column, found a {type(column).__name__} of {column.nlevels} levels"
        )
    for method in ("isna", "is_null"):
        if callable(find := getattr(column, method, None)):
            lacking = np.asarray(find())
            if lacking.ndim == 1 and lacking.any():
                raise _missing(name, int(lacking.argmax()), "NA")
            break
    # NumPy has no integers of 128 bits; the elements are integers of Python.
    if str(getattr(column, "dtype", "")) in ("Int128", "UInt128"):
        return None
    if not callable(convert := getattr(column, "to_numpy", None)):
        return np.asarray(column)
    kind = getattr(getattr(column, "dtype", None), "kind", None)
    # pandas' own types: its integers would become objects, and times with a zone Timestamps.
    if kind in ("i", "u") and not isinstance(column.dtype, np.dtype):
        return np.asarray(convert(dtype=f"{kind}nt64" if kind == "i" else "uint64"))
    if kind == "f" and not isinstance(column.dtype, np.dtype):
        return np.asarray(convert(dtype="float64"))
    if kind == "M" and not isinstance(column.dtype, np.dtype):
        # In its own unit: nanoseconds end in 2262, and what is beyond would be another year.
        unit = getattr(column.dtype, "unit", None)
        own = f"datetime64[{unit}]" if unit else column.dtype.numpy_dtype
        return np.asarray(convert(dtype=own))
    return np.asarray(column)


def _checked_list(name: str, column: list[Any] | tuple[Any, ...]) -> Integers | list[Id]:
    kinds = set(map(type, column))
    if kinds <= {str}:
        return column if isinstance(column, list) else list(column)
    for kind in kinds:
        # np.bool_ is no np.integer; subclasses of int and str, such as enums, are others' types.
        if kind not in (int, str, np.str_) and not is_whole(kind):
            row = next(row for row, value in enumerate(column) if type(value) is kind)
            raise _refused(name, row, column[row])
    if str in kinds or np.str_ in kinds:
        mixed = [value if type(value) is str else _plain(value) for value in column]
        for row, value in enumerate(mixed):
            if type(value) is int and not _fits(value):
                raise _too_large(name, row, value)
        return mixed
    try:
        return np.array(column, np.int64)
    except OverflowError:
        row = next(row for row, value in enumerate(column) if not _fits(value))
        raise _too_large(name, row, int(column[row])) from None


def _plain(value: Any) -> Id:
    return str(value) if isinstance(value, str) else int(value)


def _refused(name: str, row: int, value: Any) -> Exception:
    if is_missing(value):
        return _missing(name, row, value)
    hint = "str() of it would be one"
    if isinstance(value, (float, np.floating)):
        hint = "integers that are floats, as beside missing values, take .astype('int64')"
    elif isinstance(value, (bytes, bytearray, np.bytes_)):
        hint = ".decode() makes text of it"
    return TypeError(
        f"{name}: row {row}, counted from 0, is {value!r} of type {type(value).__name__}, "
        f"expected an int or str; {hint}"
    )


def _check_iterable(name: str, column: object, of: str) -> None:
    if hasattr(column, "__array__"):
        return
    try:
        iter(column)  # type: ignore[call-overload]
    except TypeError:
        raise TypeError(f"{name} is {column!r}, expected a column of {of}") from None


def _no_number(name: str, row: int, value: object) -> TypeError:
    return TypeError(f"{name}: row {row}, counted from 0, is {value!r}, expected a number")


def _missing(name: str, row: int, value: object) -> ValueError:
    return ValueError(
        f"{name}: row {row}, counted from 0, is {value}, which stands for a missing value"
    )


def check_int64(name: str, value: int) -> None:
    """Raises ValueError for an integer that can be no id, since int64 does not hold it."""
    if not _fits(value):
        raise ValueError(f"{name} is {_beyond(value)}{AS_TEXT}")


def _fits(value: Any) -> bool:
    return bool(INT64.min <= value <= INT64.max)


def _too_large(name: str, row: int, value: int, hint: str = AS_TEXT) -> ValueError:
    return ValueError(f"{name}: row {row}, counted from 0, is {_beyond(value)}{hint}")


def _beyond(value: int) -> str:
    return f"an integer of {value.bit_length()} bits, expected one that int64 holds"
