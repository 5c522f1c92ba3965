"""Elements stored in an array: NumPy's functions that change their first argument.

That argument is a variable whose elements can be assigned, one that was computed: what is stored is
seen through all its names and views, as after ``x[key] = v``, and the rest keeps its gradient. A
plain array cannot take what is differentiated, and a leaf keeps its value: both raise TypeError.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .._core import Variable, broadcast_to, constant, fixed, sum, where
from .joining import array
from .operand import Array, Like, axis_of, integers, is_weak
from .output import no_variable_error
from .predicates import value


def _target(name: str, a: Any) -> Variable:
    """What is stored in, which is a variable."""
    if isinstance(a, Variable):
        return a
    raise no_variable_error(
        f"{name}: a plain array cannot take what is differentiated; make it by wyrmling.array(x) "
        "or np.zeros_like(v)"
    )


def _flat(name: str, a: Variable, places: Array) -> tuple[Array, ...]:
    """Places in the flattened array as indices for each axis."""
    return np.unravel_index(places, a.shape)


def _store(name: str, a: Variable, places: Array, new: Variable, turns: Array) -> None:
    """Stores values, again from the first if there are too few."""
    if new.size and a.size:
        taken = new[turns % new.size]
        if a.ndim:
            a[_flat(name, a, places)] = taken
        elif places.size:
            a[...] = taken[-1]
    else:
        # Nothing is stored, but something would be if either had other lengths later.
        a[...] = fixed(a, name, tuple(range(a.ndim))) - sum(new[:0])


def put(a: Any, ind: Any, v: Like, mode: Literal["raise", "wrap", "clip"] = "raise") -> None:
    """Store values at places of the flattened array; they are repeated if there are too few.

    Raises IndexError for a place out of range, unless ``mode`` is ``"wrap"`` or ``"clip"`` and
    there are elements.

    >>> x = Variable([1.0, 2.0, 3.0]) * 1.0
    >>> put(x, [0, -1], Variable(5.0))
    >>> x.value
    array([5., 2., 5.])
    """
    x = _target("put", a)
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"put: mode: expected 'raise', 'wrap' or 'clip', got {mode!r}")
    places = np.asarray(integers("put: ind", np.ravel(value("put", ind))), np.int64)
    if not places.size:
        return
    if mode == "raise" or not x.size:
        if ((places < -x.size) | (places >= x.size)).any():
            raise IndexError(f"put: ind: an index is out of range for {x.size} elements")
        places = places % max(x.size, 1)
    else:
        places = places % x.size if mode == "wrap" else np.clip(places, 0, x.size - 1)
    _store("put", x, places, _vector("put", v), np.arange(places.size))


def place(arr: Any, mask: Any, vals: Like) -> None:
    """Store the first values where a mask is true, in C order; they are repeated if there are too
    few.

    Raises ValueError for a mask of another size, or no values; TypeError for an array of a type
    that does not fit into that of ``arr``, as float64 does not into float32.

    >>> x = Variable([1.0, 2.0, 3.0]) * 1.0
    >>> place(x, [True, False, True], [7.0, Variable(8.0)])
    >>> x.value
    array([7., 2., 8.])
    """
    x = _target("place", arr)
    chosen = np.asarray(value("place", mask), bool)
    if chosen.size != x.size:
        raise ValueError(f"place: mask: expected {x.size} elements, got shape {chosen.shape}")
    places = np.flatnonzero(chosen)
    if not places.size:
        return
    new = _vector("place", _safe("place: vals", vals, x))
    if new.size == 0:
        raise ValueError("place: vals: expected one value at least, got none")
    _store("place", x, places, new, np.arange(places.size))


def putmask(a: Any, mask: Any, values: Like) -> None:
    """Store values where a mask is true, each at its own place; they are repeated along the array
    if there are fewer.

    Raises ValueError for a mask of another shape; TypeError for an array of a type that does not
    fit into that of ``a``, as float64 does not into float32.

    >>> x = Variable([1.0, 2.0, 3.0]) * 1.0
    >>> putmask(x, x > 1.0, [7.0, 8.0])
    >>> x.value
    array([1., 8., 7.])
    """
    x = _target("putmask", a)
    chosen = np.asarray(value("putmask", mask), bool)
    if chosen.shape != x.shape:
        raise ValueError(f"putmask: mask: expected shape {x.shape}, got {chosen.shape}")
    new = _vector("putmask", _safe("putmask: values", values, x))
    places = np.flatnonzero(chosen)
    _store("putmask", x, places, new, places)


def _vector(name: str, values: Any) -> Variable:
    """Values, which may be variables in a list, along one axis, whose length cannot change."""
    return fixed(constant(array(values)).reshape(-1), name, 0)


def _safe(what: str, values: Any, into: Variable) -> Any:
    """Values that are no array of a type from which NumPy makes none of that of ``into``; what a
    variable without axes stands for may be a number, which NumPy takes.
    """
    is_array = isinstance(values, np.ndarray) or (isinstance(values, Variable) and values.ndim > 0)
    if is_array and not np.can_cast(values.dtype, into.dtype, "safe"):
        raise TypeError(
            f"{what}: an array of {values.dtype} is not stored in one of {into.dtype}; convert it "
            f"with .astype(np.{into.dtype})"
        )
    return values


def put_along_axis(arr: Any, indices: Any, values: Like, axis: int | None) -> None:
    """Store values along an axis at indices of their own for each lane; of the flattened array if
    there is no axis.

    Raises IndexError for an index that is out of range.

    >>> x = Variable([[1.0, 2.0], [3.0, 4.0]]) * 1.0
    >>> put_along_axis(x, np.array([[1], [0]]), 9.0, axis=1)
    >>> x.value
    array([[1., 9.],
           [9., 4.]])
    """
    x = _target("put_along_axis", arr)
    places = np.asarray(value("put_along_axis", indices))
    if places.dtype.kind not in "iu":
        raise TypeError(f"put_along_axis: indices: expected integers, got {places.dtype}")
    if axis is None:
        flat = np.where(places < 0, places + x.size, places)
        if ((flat < 0) | (flat >= x.size)).any():
            raise IndexError(f"put_along_axis: an index is out of range for {x.size} elements")
        x[_flat("put_along_axis", x, flat)] = values
        return
    along = axis_of("put_along_axis", axis, x.ndim)
    if places.ndim != x.ndim:
        raise ValueError(
            f"put_along_axis: indices of shape {places.shape} do not have the axes of an array of "
            f"shape {x.shape}"
        )
    grid = [
        np.arange(n).reshape([-1 if j == k else 1 for j in range(x.ndim)])
        for k, n in enumerate(x.shape)
    ]
    x[(*grid[:along], places, *grid[along + 1 :])] = values


def fill_diagonal(a: Any, val: Like, wrap: bool = False) -> None:
    """Store a value, or several in turn, on the main diagonal: where all indices are equal.

    A matrix of more rows than columns has its diagonal once, or with ``wrap`` again below, after a
    row between. Raises ValueError for less than two axes, and for more than two of different
    lengths.

    >>> x = Variable([[1.0, 2.0], [3.0, 4.0]]) * 1.0
    >>> fill_diagonal(x, 0.0)
    >>> x.value
    array([[0., 2.],
           [3., 0.]])
    """
    x = _target("fill_diagonal", a)
    if x.ndim < 2:
        raise ValueError(f"fill_diagonal: a: expected two axes at least, got shape {x.shape}")
    if x.ndim > 2 and len(set(x.shape)) > 1:
        raise ValueError(f"fill_diagonal: a: expected axes of one length, got shape {x.shape}")
    # NumPy itself says which elements those are.
    mask = np.zeros(x.shape, bool)
    np.fill_diagonal(mask, True, wrap)
    places, new = np.flatnonzero(mask), _vector("fill_diagonal", val)
    _store("fill_diagonal", x, places, new, np.arange(places.size))


def copyto(
    dst: Any,
    src: Like,
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = "same_kind",
    where: Any = True,
) -> None:
    """Store one array in another, where a mask is true if there is one.

    Raises TypeError if ``casting`` forbids the change of element type, ValueError if the shapes do
    not fit.

    >>> x = Variable([1.0, 2.0]) * 1.0
    >>> copyto(x, Variable(5.0), where=[True, False])
    >>> x.value
    array([5., 2.])
    """
    x, new = _target("copyto", dst), constant(src)
    if not isinstance(casting, str):
        raise TypeError(f"copyto: casting: expected a rule of NumPy's, got {casting!r}")
    if casting not in ("no", "equiv", "safe", "same_kind", "unsafe"):
        raise ValueError(f"copyto: casting: expected a rule of NumPy's, got {casting!r}")
    known: Any = type(src) if is_weak(src) else None
    if known is None and not np.can_cast(new.dtype, x.dtype, casting):
        raise TypeError(f"copyto: {new.dtype} cannot be stored as {x.dtype} by casting={casting!r}")
    if where is not True:
        new = chosen(broadcast_to(where, x.shape), new, x)
    x[...] = new


def chosen(mask: Any, new: Like, old: Variable) -> Any:
    """One array where a mask is true, elsewhere another, of the element type of that."""
    found: npt.NDArray[Any] | Variable = where(mask, new, old)
    return found.astype(old.dtype) if found.dtype != old.dtype else found
