"""Arrays of different lengths, as a column of ``fit`` or by themselves.

A ``Ragged`` is one array of all values and the place where each entry begins. So a million short
sequences are two arrays, not a million, and an entry is found without a search.

Limit: entries differ in the length of their first axis alone.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from ._core import Variable

__all__ = ["Ragged"]


class Ragged:
    """A sequence of arrays that may differ in length.

    Entry ``i`` is ``values[offsets[i]:offsets[i + 1]]``. ``values`` holds float32, float64 or
    integers and has one axis, or more: then entries are slices along the first, which may differ in
    that length alone. ``offsets`` holds ``n + 1`` integers for ``n`` entries; the first is 0, none
    is less than the one before, the last is the length of ``values``.

    ``weights``, if given, are numbers of shape ``(len(values),)`` that ``bag`` multiplies rows
    with; entries do not have them.

    All are copied. Nothing changes the copies: neither what is done to the given arrays later, nor
    an entry, which is a read-only view. ``x[i]`` is an entry; ``x[2:5]``, ``x[[4, 0]]`` and
    ``x[mask]`` are Ragged themselves, with their weights; ``x[i]`` of a Variable of integers is
    what ``bag`` sums rows of, the entries that it names. ``==`` is true if all entries have equal
    lengths, numbers and weights. A copy (``copy.copy``) is the object itself.

    Raises TypeError if ``values`` or ``weights`` are no numbers or ``offsets`` no integers,
    ValueError if ``offsets`` or ``weights`` are not as above.

    >>> x = Ragged([1.0, 2.0, 3.0], [0, 2, 2, 3])
    >>> x
    <Ragged of 3 arrays of float64, lengths 0 to 2>
    >>> x[0], x[-1]
    (array([1., 2.]), array([3.]))
    >>> x[1:].lengths
    array([0, 1])
    >>> x == Ragged.from_list([[1.0, 2.0], [], [3.0]])
    True
    """

    __slots__ = ("__weakref__", "_offsets", "_values", "_weights")
    # NumPy's operators refuse it, in place of applying themselves to every entry as an object.
    __array_ufunc__ = None
    _values: npt.NDArray[Any]
    _offsets: npt.NDArray[np.int64]
    _weights: npt.NDArray[Any] | None

    def __init__(
        self,
        values: npt.ArrayLike,
        offsets: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
    ) -> None:
        found = _numbers("values", values)
        if not found.ndim:
            raise ValueError(f"values: expected one axis or more, got the number {found}")
        self._values = _frozen(found)
        self._offsets = _frozen(_checked(offsets, len(self._values)))
        self._weights = None if weights is None else _frozen(_weights(weights, len(self._values)))

    @classmethod
    def from_csr(cls, matrix: Any) -> Ragged:
        """The rows of a sparse matrix as entries: the columns in which they have numbers, with
        these numbers as weights, where True is 1.

        ``matrix`` is a CSR matrix or array of SciPy's, or has the attributes ``indptr``,
        ``indices`` and ``data`` of one. Raises TypeError for anything else, and what ``Ragged``
        raises.

        >>> from types import SimpleNamespace
        >>> csr = SimpleNamespace(indptr=[0, 2, 2, 3], indices=[0, 4, 1], data=[1.0, 0.5, 2.0])
        >>> x = Ragged.from_csr(csr)
        >>> x[0], x.weights
        (array([0, 4]), array([1. , 0.5, 2. ]))
        """
        if getattr(matrix, "format", "csr") != "csr":
            raise TypeError(f"matrix: expected it in CSR, got {matrix.format}; give it by .tocsr()")
        try:
            indices, indptr, data = matrix.indices, matrix.indptr, matrix.data
        except AttributeError:
            raise TypeError(
                f"matrix: expected a sparse matrix in CSR, got {type(matrix).__name__}"
            ) from None
        if np.asarray(data).dtype.kind == "b":
            data = np.asarray(data, np.float32)
        return cls(indices, indptr, data)

    @classmethod
    def from_list(cls, rows: Iterable[npt.ArrayLike]) -> Ragged:
        """The entries given one by one, as arrays or lists, of equal shape but for the first axis.

        The element type is the one that holds all numbers (``numpy.result_type``); an empty entry
        has no say in it. Raises TypeError if an entry is no array of numbers, or no type of NumPy's
        holds all of them, ValueError if shapes differ elsewhere.

        >>> [entry.tolist() for entry in Ragged.from_list([[1, 2], [], [3]])]
        [[1, 2], [], [3]]
        """
        if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
            raise TypeError(f"rows: expected a list of arrays, got {type(rows).__name__}")
        return _joined(cls, list(rows))

    @property
    def values(self) -> npt.NDArray[Any]:
        """The values of all entries, one after the other; read-only."""
        return self._values

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Where each entry begins in ``values``, and where the last ends; read-only, int64."""
        return self._offsets

    @property
    def weights(self) -> npt.NDArray[Any] | None:
        """A number for each of the values, by which ``bag`` multiplies rows; read-only. None if it
        has none.
        """
        return self._weights

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """The length of each entry, int64."""
        return np.diff(self._offsets)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        return self._values.dtype

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(
        self, index: slice | Sequence[int] | Sequence[bool] | npt.NDArray[Any]
    ) -> Ragged: ...
    @overload
    def __getitem__(self, index: int | np.integer[Any]) -> npt.NDArray[Any]: ...
    @overload
    def __getitem__(self, index: Variable) -> Chosen: ...
    def __getitem__(self, index: Any) -> Any:
        """An entry, or several as a Ragged; by a Variable, what ``bag`` takes.

        Raises IndexError for a place that is not there, TypeError for what is no index.
        """
        if isinstance(index, Variable):
            return Chosen(self, index)
        if isinstance(index, slice | list) or (isinstance(index, np.ndarray) and index.ndim):
            return self._several(index)
        if isinstance(index, bool | np.bool_):
            raise TypeError(f"index: expected an integer, a slice or an array, got {index}")
        try:
            at = operator.index(index)
        except TypeError:
            hint = "; write x[i][j] for x[i, j]" if isinstance(index, tuple) else ""
            raise TypeError(
                f"index: expected an integer, a slice or an array, got {type(index).__name__}{hint}"
            ) from None
        if not -len(self) <= at < len(self):
            raise IndexError(f"index {at} is out of range; there are {len(self)} arrays")
        at %= len(self)
        return self._values[self._offsets[at] : self._offsets[at + 1]]

    def _several(self, index: Any) -> Ragged:
        places = np.arange(len(self))[index]
        if places.ndim != 1:
            raise IndexError(f"index: expected one axis, got an array of shape {places.shape}")
        starts, lengths = self._offsets[places], self.lengths[places]
        offsets = np.zeros(len(places) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        # Place k of the result is place k of its entry's, moved as far as the entry was.
        every = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
        weights = None if self._weights is None else self._weights[every]
        return Ragged(self._values[every], offsets, weights)

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        for start, stop in pairwise(self._offsets.tolist()):
            yield self._values[start:stop]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ragged):
            return NotImplemented
        same = np.array_equal(self._offsets, other._offsets)
        if (self._weights is None) != (other._weights is None):
            return False
        if self._weights is not None and other._weights is not None:
            same = same and np.array_equal(self._weights, other._weights)
        return same and np.array_equal(self._values, other._values)

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """The entries as rows of one array, if they have one length.

        Raises ValueError if lengths differ, or if there should be no ``copy`` and it takes one.
        """
        lengths = self.lengths
        if len(lengths) and lengths.min() != lengths.max():
            raise ValueError(
                f"arrays of lengths {lengths.min()} to {lengths.max()} are not rows of one array; "
                "take .values for all values, or list(x) for the arrays"
            )
        row = (int(lengths[0]) if len(lengths) else 0, *self._values.shape[1:])
        rows = self._values.reshape(len(self), *row)
        return np.array(rows, dtype, copy=copy is not False)

    def __repr__(self) -> str:
        lengths = self.lengths
        spread = f", lengths {lengths.min()} to {lengths.max()}" if len(lengths) else ""
        each = self._values.shape[1:]
        shape = f" by {' by '.join(map(str, each))}" if each else ""
        weights = ", with weights" if self._weights is not None else ""
        return f"<Ragged of {len(self)} arrays of {self.dtype}{spread}{shape}{weights}>"

    def __copy__(self) -> Ragged:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Ragged:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._values, self._offsets, self._weights)


class Chosen:
    """Entries of a Ragged that a Variable names: ``x[i]``, of which ``bag`` sums rows.

    ``ragged`` is the Ragged, ``index`` the Variable.
    """

    __slots__ = ("index", "ragged")
    __array_ufunc__ = None

    def __init__(self, ragged: Ragged, index: Variable) -> None:
        self.ragged, self.index = ragged, index

    def __repr__(self) -> str:
        return f"<entries of {self.ragged} that {self.index.shape} integers name>"


def plain(what: str, given: Any) -> npt.NDArray[Any]:
    """An array; the caller's own if it is one. Raises TypeError for a masked array, whose mask
    would be lost, and for a matrix, as Variables do.
    """
    if isinstance(given, np.ma.MaskedArray):
        raise TypeError(f"{what}: a masked array would lose its mask; fill it with .filled()")
    if isinstance(given, np.matrix):
        raise TypeError(f"{what}: expected an array, got a matrix; give it by .A")
    return np.asarray(given)


def _numbers(what: str, given: Any) -> npt.NDArray[Any]:
    """An array of numbers in the machine's order of bytes; the caller's own if it is one."""
    found = plain(what, given)
    kind = found.dtype.kind
    if kind not in "iu" and not (kind == "f" and found.dtype.itemsize in (4, 8)):
        raise TypeError(
            f"{what}: expected numbers (float32, float64 or integers), got {found.dtype}"
        )
    return found.astype(found.dtype.newbyteorder("="), copy=False)


def _weights(given: Any, count: int) -> npt.NDArray[Any]:
    """Weights of so many values."""
    found = _numbers("weights", given)
    if found.shape != (count,):
        raise ValueError(
            f"weights: expected a number for each of {count} values, got shape {found.shape}"
        )
    return found if found.dtype.kind == "f" else found.astype(np.float64)


def _frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A copy that nobody can write to: its memory is that of a bytes object."""
    if not array.size:
        empty = np.zeros_like(array, subok=False)
        empty.flags.writeable = False
        return empty
    return np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape)


def _checked(given: Any, end: int) -> npt.NDArray[np.int64]:
    """A copy of the offsets, checked."""
    # It is checked once it is copied: other threads may write to what was given.
    offsets = np.array(given)
    if offsets.dtype.kind not in "iu" and (offsets.size or isinstance(given, np.ndarray)):
        raise TypeError(f"offsets: expected integers, got {offsets.dtype}")
    if offsets.ndim != 1 or not offsets.size:
        raise ValueError(
            f"offsets: expected one axis of n + 1 integers for n arrays, got shape {offsets.shape}"
        )
    if offsets[0] != 0:
        raise ValueError(f"offsets: expected 0 at first, got {offsets[0]}")
    falls = np.flatnonzero(offsets[1:] < offsets[:-1])
    if len(falls):
        at = int(falls[0])
        raise ValueError(
            f"offsets: expected none to be less than the one before, got {offsets[at + 1]} after "
            f"{offsets[at]} at position {at + 1}"
        )
    if offsets[-1] != end:
        raise ValueError(
            f"offsets: expected the length of values, {end}, at last, got {offsets[-1]}"
        )
    return offsets.astype(np.int64)


def _joined(cls: type[Ragged], rows: list[Any]) -> Ragged:
    """The entries in one array."""
    arrays: list[npt.NDArray[Any]] = []
    for at, row in enumerate(rows):
        array = _numbers(f"rows[{at}]", row)
        if array.ndim == 0:
            raise TypeError(f"rows[{at}]: expected an array, got the number {array}")
        arrays.append(array)
    # An empty list is float64 in NumPy, whatever the others are.
    counted = [array for array in arrays if array.size] or arrays
    each = counted[0].shape[1:] if counted else ()
    for at, array in enumerate(arrays):
        if array.shape[1:] != each and array.shape != (0,):
            shape = ", ".join(["any", *map(str, each)])
            raise ValueError(f"rows[{at}]: expected shape ({shape}), got {array.shape}")
    dtypes = {array.dtype for array in counted}
    dtype = np.result_type(*dtypes) if dtypes else np.dtype(np.float64)
    if dtype.kind == "f" and all(one.kind != "f" for one in dtypes) and dtypes:
        names = " and ".join(sorted(map(str, dtypes)))
        raise TypeError(f"rows: no integers of NumPy's hold both {names}; convert them to one type")
    offsets = np.zeros(len(arrays) + 1, np.int64)
    np.cumsum([len(array) for array in arrays], out=offsets[1:])
    values = np.empty((int(offsets[-1]), *each), dtype)
    np.concatenate([values[:0], *(array for array in arrays if array.shape != (0,))], out=values)
    return cls(values, offsets)
