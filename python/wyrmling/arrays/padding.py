"""Arrays padded: NumPy's function, for variables too.

Limit: padding by anything but a constant is length-specialised (see the package).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from .._core import Variable, broadcast_like, concatenate, constant, fixed, has_variable
from .indexing import take
from .operand import Like, along, axis_of
from .quantiles import median
from .shaping import astype

# Modes that repeat elements, and those that compute new ones of the elements at each end.
_REPEATING = ("edge", "reflect", "symmetric", "wrap")
_OF_ENDS: dict[str, Any] = {
    "maximum": _core.max,
    "mean": _core.mean,
    "median": lambda x, axis, keepdims: median(x, axis, keepdims=keepdims),
    "minimum": _core.min,
}
MODES = ("constant", "empty", "linear_ramp", *_REPEATING, *_OF_ENDS)
# The argument that a mode has, besides those of all.
_ARGUMENT = {
    "constant": "constant_values",
    "linear_ramp": "end_values",
    "reflect": "reflect_type",
    "symmetric": "reflect_type",
} | dict.fromkeys(_OF_ENDS, "stat_length")


def _block(x: Variable, axis: int, length: int, value: Any) -> Variable:
    """A constant of so many elements along an axis, else of the lengths of ``x``."""
    # The sum with keepdims has length 1 along the axis, even if the array has length 0 there.
    row = _core.sum(x, axis, keepdims=True)
    shape = [1] * x.ndim
    shape[axis] = length
    if not isinstance(value, Variable):
        found = broadcast_like(np.full(shape, value, x.dtype), row)
    else:
        found = broadcast_like(_core.broadcast_to(value.astype(x.dtype), shape), row)
    return found if found.dtype == x.dtype else astype(found, x.dtype)


def _pairs(name: str, given: Any, ndim: int) -> list[tuple[Any, Any]]:
    """What is before and behind for each axis: one for all, a pair for all, a pair for each, or by
    axis in a dictionary, which says 0 of the others.
    """
    if isinstance(given, dict):
        found: list[Any] = [(0, 0)] * ndim
        for axis, pair in given.items():
            found[axis_of(name, axis, ndim)] = pair if np.ndim(pair) else (pair, pair)
        return [(before, after) for before, after in found]
    if isinstance(given, Variable):
        wide = _core.broadcast_to(given, (ndim, 2))
        return [(wide[k, 0], wide[k, 1]) for k in range(ndim)]
    if isinstance(given, list | tuple) and has_variable((given,), {}):
        parts = [part if isinstance(part, list | tuple) else (part, part) for part in given]
        if len(given) == 2 and not any(isinstance(part, list | tuple) for part in given):
            parts = [(given[0], given[1])]
        parts = parts * ndim if len(parts) == 1 else parts
        if len(parts) != ndim or any(len(part) not in (1, 2) for part in parts):
            raise ValueError(f"{name}: expected a pair for each of {ndim} axes, got {given!r}")
        return [(part[0], part[-1]) for part in parts]
    plain = np.broadcast_to(np.asarray(given), (ndim, 2))
    return [(before, after) for before, after in plain.tolist()]


def _widths(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    found = _pairs("pad: pad_width", pad_width, ndim)
    widths = np.asarray(found).reshape(ndim, 2) if found else np.zeros((0, 2), int)
    if widths.dtype.kind not in "iu":
        raise TypeError(f"pad_width: expected integers, got {pad_width!r}")
    if (widths < 0).any():
        raise ValueError(f"pad_width: a width cannot be negative, got {pad_width!r}")
    return [(int(before), int(after)) for before, after in widths]


def _ramp(x: Variable, axis: int, widths: tuple[int, int], ends: tuple[Any, Any]) -> list[Any]:
    """Elements from a value to the first one, and from the last one to a value."""
    first, last = x[along(axis, slice(0, 1))], x[along(axis, slice(-1, None))]
    shape = [-1 if k == axis else 1 for k in range(x.ndim)]
    made = []
    for edge, width, end in ((first, widths[0], ends[0]), (last, widths[1], ends[1])):
        # Of a width that no array has NumPy's ``arange`` is empty, and ``empty`` an error.
        width = np.empty(width).size
        steps = (np.arange(width) / max(width, 1)).astype(x.dtype).reshape(shape)
        made.append(end + (edge - end) * steps)
    return [made[0], x, made[1][along(axis, slice(None, None, -1))]]


def _of_ends(
    x: Variable, axis: int, mode: str, widths: tuple[int, int], lengths: tuple[Any, Any]
) -> list[Any]:
    """What is computed of so many elements at each end, as often as the widths say."""
    n = x.shape[axis]
    made = []
    for width, length, start in ((widths[0], lengths[0], True), (widths[1], lengths[1], False)):
        count = n if length is None else min(round(length), n)
        if count < 1:
            raise ValueError(f"pad: stat_length: expected 1 or more for {mode!r}, got {length}")
        part = x[along(axis, slice(0, count) if start else slice(n - count, None))]
        found = constant(_OF_ENDS[mode](part, axis, True))
        made.append(take(found, np.zeros(width, int), axis))
    return [made[0], x, made[1]]


def _odd(x: Variable, axis: int, mode: str, widths: tuple[int, int]) -> Variable:
    """An array mirrored at points: what lies behind an end is twice the end less what lies before.

    Both ends get as many elements as there are, or one less, until there are enough.
    """
    n = x.shape[axis]
    skipped = 1 if mode == "reflect" else 0
    result, reach = x, 0
    while reach < max(widths):
        length = n + 2 * reach
        more = min(length - skipped, max(widths) - reach)
        first, last = result[along(axis, slice(0, 1))], result[along(axis, slice(length - 1, None))]
        near = result[along(axis, slice(skipped, skipped + more))]
        far = result[along(axis, slice(length - skipped - more, length - skipped))]
        turned = along(axis, slice(None, None, -1))
        result = concatenate([2.0 * first - near[turned], result, 2.0 * last - far[turned]], axis)
        reach += more
    return result[along(axis, slice(reach - widths[0], reach + n + widths[1]))]


def pad(array: Like, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Variable:
    """An array with more elements before and behind along each axis.

    ``pad_width`` is one number, a pair for every axis, a pair for each, or these by axis in a
    dictionary, as for ``numpy.pad``; so are the other arguments, of which each mode has its own.
    The modes fill in a value (``"constant"`` with ``constant_values``; ``"empty"`` zeros), come
    from one (``"linear_ramp"`` with ``end_values``), repeat the last element (``"edge"``), mirror
    the array at it (``"reflect"``) or behind it (``"symmetric"``, both with ``reflect_type``),
    begin anew (``"wrap"``), or fill in the ``"maximum"``, ``"mean"``, ``"median"`` or ``"minimum"``
    of ``stat_length`` elements at that end. Values may be variables.

    Raises ValueError for other modes and arguments, negative widths, and no elements to fill in
    from; TypeError for a function as the mode, which would fill an array in place.

    >>> pad([1.0, 2.0], (1, 2))
    array([0., 1., 2., 0., 0.])
    >>> pad([1.0, 2.0, 3.0], 2, "reflect")
    array([3., 2., 1., 2., 3., 2., 1.])
    >>> pad([1.0, 3.0], 2, "mean")
    array([2., 2., 1., 3., 2., 2.])
    """
    if callable(mode):
        raise TypeError(
            "pad: mode: a function would fill a plain array in place; compute the ends and join "
            "them by np.concatenate"
        )
    if mode not in MODES:
        raise ValueError(f"mode: expected one of {MODES}, got {mode!r}")
    if unknown := sorted(set(kwargs) - {_ARGUMENT.get(mode, "")}):
        raise ValueError(f"pad: the mode {mode!r} has no arguments {unknown}")
    x = constant(array)
    widths = _widths(pad_width, x.ndim)
    value = kwargs.get(_ARGUMENT.get(mode, ""), "even" if "reflect_type" in kwargs else None)
    if mode in ("reflect", "symmetric"):
        if value not in (None, "even", "odd"):
            raise ValueError(f"pad: reflect_type: expected 'even' or 'odd', got {value!r}")
        values: Any = [(None, None)] * x.ndim
    else:
        plain = 0.0 if mode in ("constant", "linear_ramp") and value is None else value
        values = [(None, None)] * x.ndim
        if plain is not None:
            values = _pairs(f"pad: {_ARGUMENT[mode]}", plain, x.ndim)
    for axis, (before, after) in enumerate(widths):
        if before == after == 0:
            continue
        ends = values[axis]
        if mode in ("constant", "empty"):
            first = _block(x, axis, before, 0.0 if mode == "empty" else ends[0])
            last = _block(x, axis, after, 0.0 if mode == "empty" else ends[1])
            x = concatenate([first, x, last], axis)
            continue
        n = x.shape[axis]
        if n == 0:
            raise ValueError(f"pad: the mode {mode!r} needs elements along axis {axis}")
        x = fixed(x, "pad", axis)
        if mode == "linear_ramp":
            x = concatenate(_ramp(x, axis, (before, after), ends), axis)
        elif mode in _OF_ENDS:
            x = concatenate(_of_ends(x, axis, mode, (before, after), ends), axis)
        else:
            places = np.pad(np.arange(n), (before, after), mode=mode)  # type: ignore[call-overload]
            # One element alone is repeated, as NumPy does.
            odd = value == "odd" and n > 1
            x = _odd(x, axis, mode, (before, after)) if odd else take(x, places, axis)
    return x
