"""Arrays in another shape or order: NumPy's functions, for variables too.

They are made of slices, transposes and broadcasts, which follow the shape of what they are
given.

Limit: ``roll``, and ``repeat`` with counts, are length-specialised (see the package).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import (
    Variable,
    broadcast_like,
    cast,
    concatenate,
    constant,
    expand_dims,
    fixed,
    merge_axes,
    reshape,
    reshape_like,
    transpose,
)
from ..plain import whole
from .indexing import take
from .operand import (
    Array,
    Axis,
    Like,
    along,
    axes_of,
    axis_of,
    integer,
    integers,
    itself,
    lanes,
)


def moveaxis(a: Like, source: int | Sequence[int], destination: int | Sequence[int]) -> Variable:
    """Move axes to other places; the others keep their order.

    Raises ValueError if there is no such axis, or for different numbers of them.

    >>> moveaxis(np.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    x = itself(a)
    source = axes_of("moveaxis: source", source, x.ndim)
    destination = axes_of("moveaxis: destination", destination, x.ndim)
    if len(source) != len(destination):
        raise ValueError(f"moveaxis: {len(source)} axes cannot move to {len(destination)} places")
    order = [k for k in range(x.ndim) if k not in source]
    for to, axis in sorted(zip(destination, source, strict=True)):
        order.insert(to, axis)
    moved = transpose(x, order)
    return whole(moved) if _core.is_number(x) else moved


def rollaxis(a: Like, axis: int, start: int = 0) -> Variable:
    """Move one axis to stand before another.

    Raises ValueError if there is no such axis.

    >>> rollaxis(np.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    x = itself(a)
    axis = axis_of("rollaxis", axis, x.ndim)
    start = x.ndim if start == x.ndim else axis_of("rollaxis: start", start, x.ndim)
    return moveaxis(x, axis, start - 1 if axis < start else start)


def swapaxes(a: Like, axis1: int, axis2: int) -> Variable:
    """Exchange two axes.

    Raises ValueError if there is no such axis.

    >>> swapaxes(np.zeros((2, 3, 4)), 0, -1).shape
    (4, 3, 2)
    """
    x = itself(a)
    one, two = axis_of("swapaxes", axis1, x.ndim), axis_of("swapaxes", axis2, x.ndim)
    order = list(range(x.ndim))
    order[one], order[two] = two, one
    return transpose(x, order)


def ravel(a: Like, order: Literal["C", "F"] = "C") -> Variable:
    """All elements along one axis, the last index moving first (``"C"``) or the first (``"F"``).

    Raises ValueError for NumPy's other orders, which follow memory.

    >>> ravel([[1.0, 2.0], [3.0, 4.0]], "F")
    array([1., 3., 2., 4.])
    """
    if order not in ("C", "F"):
        raise ValueError(f"ravel: order: expected 'C' or 'F', got {order!r}")
    return _core.ravel(a) if order == "C" else reshape(a, -1, order)


def _at_least(arrays: tuple[Like, ...], places: Sequence[Sequence[int]]) -> Any:
    """The arrays with the axes that those of so many dimensions lack."""

    def one(array: Like) -> Variable:
        x = itself(array)
        return expand_dims(x, places[x.ndim]) if x.ndim < len(places) else x

    made = tuple(one(array) for array in arrays)
    return made[0] if len(made) == 1 else made


def atleast_1d(*arrays: Like) -> Any:
    """Arrays with at least one axis: one, or a tuple of several.

    Raises TypeError for what holds no numbers.

    >>> atleast_1d(1.0).shape
    (1,)
    """
    return _at_least(arrays, [(0,)])


def atleast_2d(*arrays: Like) -> Any:
    """Arrays with at least two axes; a vector becomes a row.

    Raises TypeError for what holds no numbers.

    >>> atleast_2d([1.0, 2.0]).shape
    (1, 2)
    """
    return _at_least(arrays, [(0, 1), (0,)])


def atleast_3d(*arrays: Like) -> Any:
    """Arrays with at least three axes; a vector lies along the second.

    Raises TypeError for what holds no numbers.

    >>> atleast_3d([1.0, 2.0]).shape
    (1, 2, 1)
    """
    return _at_least(arrays, [(0, 1, 2), (0, 2), (2,)])


def flip(m: Like, axis: Axis = None) -> Variable:
    """Elements in reverse order along axes, all of them for None.

    Raises ValueError if there is no such axis.

    >>> flip([1.0, 2.0, 3.0])
    array([3., 2., 1.])
    """
    x = itself(m)
    axes = axes_of("flip", axis, x.ndim)
    return x[tuple(slice(None, None, -1 if k in axes else 1) for k in range(x.ndim))]


def flipud(m: Like) -> Variable:
    """Elements in reverse order along the first axis.

    Raises ValueError for a number, which has no axis.

    >>> flipud([[1.0], [2.0]])
    array([[2.],
           [1.]])
    """
    return flip(m, 0)


def fliplr(m: Like) -> Variable:
    """Elements in reverse order along the second axis.

    Raises ValueError for fewer than two axes.

    >>> fliplr([[1.0, 2.0]])
    array([[2., 1.]])
    """
    return flip(m, 1)


def rot90(m: Like, k: int = 1, axes: Sequence[int] = (0, 1)) -> Variable:
    """Rotate by ``k`` times 90 degrees in the plane of two axes, from the first to the second.

    Raises ValueError for fewer than two axes, or the same axis twice.

    >>> rot90([[1.0, 2.0], [3.0, 4.0]])
    array([[2., 4.],
           [1., 3.]])
    """
    x = itself(m)
    given = integers("rot90: axes", tuple(axes))
    outside = any(not -x.ndim <= axis < x.ndim for axis in given)
    if len(given) != 2 or outside:
        raise ValueError(f"rot90: axes: expected two of {x.ndim}, got {axes}")
    found = axes_of("rot90", given, x.ndim)
    one, two = found
    k = integer("k", k)
    if k % 4 == 0:
        return x[...]
    if k % 4 == 2:
        return flip(x, found)
    if k % 4 == 1:
        return swapaxes(flip(x, two), one, two)
    return flip(swapaxes(x, one, two), two)


def roll(a: Like, shift: int | Sequence[int], axis: Axis = None) -> Variable:
    """Move elements along axes; those beyond the end come in at the start.

    Without an axis the elements move in C order.

    Raises ValueError if there is no such axis, TypeError for a shift that is no
    integer.

    >>> roll([1.0, 2.0, 3.0], 1)
    array([3., 1., 2.])
    """
    x = constant(a)
    if axis is None:
        return whole(reshape_like(roll(ravel(x), shift, 0), x))
    places = np.asarray(integers("shift", shift), object), np.asarray(integers("axis", axis))
    for by, to in np.broadcast(*places):
        k = axis_of("roll", int(to), x.ndim)
        n = x.shape[k]
        x = fixed(x, "roll", k)
        if n and by % n:
            place = n - by % n
            x = concatenate([x[along(k, slice(place, None))], x[along(k, slice(place))]], k)
    return whole(x)


def _halved(name: str, a: Like, axes: Any, sign: int) -> Variable:
    """Elements moved along axes by half of their lengths, rounded down."""
    x = constant(a)
    if not x.ndim:
        raise ValueError(f"{name}: x has no axes, expected one or more")
    if isinstance(axes, np.ndarray) and not axes.ndim:
        raise TypeError(f"{name}: axes is an array without axes, expected an integer or several")
    given = range(x.ndim) if axes is None else integers(f"{name}: axes", axes)
    places = [axis_of(name, k, x.ndim) for k in given]
    return roll(x, [sign * (int(x.shape[k]) // 2) for k in places], places)


def fftshift(x: Like, axes: Axis = None) -> Variable:
    """Elements moved by half of each length: the first one comes to the middle.

    Raises ValueError if there is no such axis, or none at all, TypeError for axes that are no
    integers.

    >>> fftshift([0.0, 1.0, 2.0, -2.0, -1.0]).value
    array([-2., -1.,  0.,  1.,  2.])
    """
    return _halved("fftshift", x, axes, 1)


def ifftshift(x: Like, axes: Axis = None) -> Variable:
    """What ``fftshift`` moved, back in its place: the middle comes first.

    Raises ValueError if there is no such axis, or none at all, TypeError for axes that are no
    integers.

    >>> ifftshift([-2.0, -1.0, 0.0, 1.0, 2.0]).value
    array([ 0.,  1.,  2., -2., -1.])
    """
    return _halved("ifftshift", x, axes, -1)


def repeated(x: Variable, times: int, at: int) -> Variable:
    """``x`` that often along a new axis."""
    ones = np.ones((times, *[1] * (x.ndim - at)))
    return broadcast_like(expand_dims(x, at), ones)


def tile(A: Like, reps: int | Sequence[int]) -> Variable:
    """Copies of an array side by side, so many along each axis.

    Raises ValueError for a negative count.

    >>> tile([1.0, 2.0], 2)
    array([1., 2., 1., 2.])
    """
    x = constant(A)
    times = integers("reps", reps)
    times = [1] * (x.ndim - len(times)) + times
    x = expand_dims(x, tuple(range(len(times) - x.ndim)))
    for axis, count in enumerate(times):
        if count < 0:
            raise ValueError(f"reps: a count cannot be {count}")
        if count != 1:
            x = merge_axes(repeated(x, count, axis), axis, 2)
    return x


def repeat(a: Like, repeats: int | Sequence[int] | Array, axis: int | None = None) -> Variable:
    """Each element several times: as often as one number says, or as its own does.

    Without an axis the array is flattened first.

    Raises ValueError for a negative count, or counts that are not one for each element.

    >>> repeat([1.0, 2.0], 2)
    array([1., 1., 2., 2.])
    >>> repeat([1.0, 2.0], [1, 3])
    array([1., 2., 2., 2.])
    """
    x, at = lanes("repeat", constant(a), axis)
    if np.asarray(repeats).dtype == bool:
        repeats = np.asarray(repeats, int)  # a mask: once, or not at all
    counts = integers("repeats", repeats)
    if min(counts, default=0) < 0:
        raise ValueError(f"repeats: a count cannot be {min(counts)}")
    if len(counts) == 1:
        return merge_axes(repeated(x, counts[0], at + 1), at, 2)
    found: Variable = take(fixed(x, "repeat", at), np.repeat(np.arange(x.shape[at]), counts), at)
    return found


def copy(a: Like, order: Literal["K", "A", "C", "F"] = "K", subok: bool = False) -> Variable:
    """The same values as a variable of its own; ``order`` and ``subok`` change nothing.

    Raises TypeError for what holds no numbers.

    >>> copy([1.0, 2.0])
    array([1., 2.])
    """
    memory_layout("copy", order)
    return _own(a)


def memory_layout(name: str, order: Any, device: Any = None) -> None:
    """Raises for what is no layout or device of NumPy's; all of them change nothing here."""
    if not isinstance(order, str | None):
        raise TypeError(f"{name}: order: expected 'K', 'A', 'C' or 'F', got {order!r}")
    if order is not None and order.upper() not in ("K", "A", "C", "F"):
        raise ValueError(f"{name}: order: expected 'K', 'A', 'C' or 'F', got {order!r}")
    if device not in ("cpu", None):
        raise ValueError(f"{name}: device: expected 'cpu', got {device!r}")


def _own(a: Like) -> Variable:
    """A copy: what is assigned to it is not seen in what it was copied from."""
    return constant(constant(a)[...])


def astype(
    x: Like,
    dtype: npt.DTypeLike,
    order: Literal["K", "A", "C", "F"] = "K",
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = "unsafe",
    subok: bool = True,
    copy: bool = True,
    *,
    device: Literal["cpu"] | None = None,
) -> Any:
    """Elements of another type, for integers and booleans without a gradient.

    Integers are rounded towards zero. They are a plain array, as booleans are, unless ``x`` can
    change: then they are variables, which can be compared, added to and looked up by. Raises
    TypeError for other types than float32, float64, integers and booleans, and for what ``casting``
    forbids; ValueError for what is no integer. ``copy=False`` gives a variable of this type itself.
    An ``order`` "C" or "F" leaves it open then whether that is a copy, for a variable has no
    layout: to assign to it is an error, as to a reshaped array, unless one axis at most is longer
    than 1. The other arguments change nothing.

    >>> astype([1.0, 2.0], np.float32).dtype
    dtype('float32')
    >>> astype(Variable([1.5, -1.5]), int).value
    array([ 1, -1])
    """
    memory_layout("astype", order, device)
    found = np.dtype(dtype)
    if casting != "unsafe":
        own = x.dtype if isinstance(x, Variable) else np.asarray(x).dtype
        if not np.can_cast(own, found, casting):
            raise TypeError(f"astype: {own} is no {found} by casting={casting!r}")
    if not copy and isinstance(x, Variable) and x.dtype == found:
        if order not in ("C", "F") or x.ndim == 0:
            return x
        # Along one axis, beside those of length 1, it is a copy where ``ravel`` makes one.
        axes = sum(length != 1 for length in x.value.shape)
        return reshape(x.ravel() if axes <= 1 else x, x.shape)
    if found.kind in "iu":
        return _integers(x, found)
    if found.kind == "b":
        return _core.not_equal(x, 0.0)
    if found not in (np.float32, np.float64):
        raise TypeError(
            f"dtype: a variable holds float32 or float64, or integers, not {found}; "
            "for a plain array use .value.astype"
        )
    return cast(x, found == np.float32)


def _integers(x: Like, dtype: np.dtype[Any]) -> Any:
    """The elements as integers. Raises ValueError for what the type does not hold."""
    made = _core.whole(x)
    if isinstance(made, Variable):
        if dtype not in (np.int64, np.uint64):
            raise TypeError(f"dtype: integers that can change are int64, not {dtype}")
        # Those of an IndexInput are uint32, until something is computed of them.
        return made if made.dtype == np.int64 else _core.positive(made)
    return made.astype(dtype)


def broadcast_arrays(*arrays: Like, subok: bool = False) -> tuple[Variable, ...]:
    """Arrays repeated to their common shape.

    Raises ValueError for shapes that do not fit together.

    >>> [x.shape for x in broadcast_arrays([1.0, 2.0], [[3.0]])]
    [(1, 2), (1, 2)]
    """
    made = [itself(array) for array in arrays]
    if not made:
        return ()
    # What has the common shape is found once, so that there are as many steps as arrays.
    common = made[0]
    for other in made:
        common = broadcast_like(common, other)
    return tuple(whole(broadcast_like(x, common)) for x in made)


def meshgrid(
    *xi: Like,
    copy: bool = True,
    sparse: bool = False,
    indexing: Literal["xy", "ij"] = "xy",
) -> tuple[Variable, ...]:
    """Coordinates of the points of a grid, from those along each axis, in arrays of their own; with
    ``copy=False`` in views, which cannot be assigned to where they are broadcast.

    Raises ValueError for another ``indexing``.

    >>> x, y = meshgrid([1.0, 2.0], [3.0, 4.0])
    >>> x, y
    (array([[1., 2.],
           [1., 2.]]), array([[3., 3.],
           [4., 4.]]))
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing: expected 'xy' or 'ij', got {indexing!r}")
    grids = []
    for k, axis in enumerate(xi):
        others = [place for place in range(len(xi)) if place != k]
        grid = expand_dims(ravel(axis), others)
        if indexing == "xy" and len(xi) > 1:
            grid = swapaxes(grid, 0, 1)
        grids.append(grid)
    made = tuple(grids) if sparse else broadcast_arrays(*grids)
    return tuple(map(_own, made)) if copy else made
