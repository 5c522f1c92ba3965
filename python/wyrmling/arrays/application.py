"""Functions of lanes or numbers applied throughout an array.

Each calls the function once for every lane or number. ``numpy.vectorize`` converts what it is
given to plain arrays, without a call of ``__array_function__``, so that a variable raises
TypeError; that of ``wyrmling`` takes variables.

Limit: length-specialised (see the package).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import numpy as np

from .._core import Variable, constant, expand_dims, fixed, has_variable, reshape, split_axis, stack
from ..plain import whole
from .operand import Array, Axis, Like, axis_of, integers, is_axis_of_number, itself
from .shaping import broadcast_arrays, moveaxis


class GivesVariables(Exception):
    """A function that was given returned a variable."""


def watched(function: Any) -> Any:
    """The function, which raises GivesVariables in place of giving one; a number as it is."""
    if not callable(function):
        return function

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if has_variable((result,), {}):
            raise GivesVariables
        return result

    return called


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Like, *args: Any, **kwargs: Any
) -> Variable:
    """What a function returns for each lane along an axis, in the place of the lane.

    Raises ValueError if there are no lanes.

    >>> apply_along_axis(lambda lane: lane[1] * lane[0], 1, [[1.0, 2.0], [3.0, 4.0]])
    array([ 2., 12.])
    """
    x = itself(arr)
    axis = axis_of("apply_along_axis", axis, x.ndim)
    others = [k for k in range(x.ndim) if k != axis]
    outer = tuple(x.shape[k] for k in others)
    if 0 in outer:
        raise ValueError(
            f"apply_along_axis: expected one lane at least along axis {axis} of shape {x.shape}"
        )
    lanes = moveaxis(fixed(x, "apply_along_axis", others), axis, -1)
    found = [constant(func1d(lanes[place], *args, **kwargs)) for place in np.ndindex(outer)]
    # The axes of each result replace the axis of the lanes.
    result = split_axis(stack(found), 0, outer) if outer else found[0]
    inner = range(len(outer), len(outer) + found[0].ndim)
    return whole(moveaxis(result, tuple(inner), tuple(range(axis, axis + found[0].ndim))))


def apply_over_axes(func: Callable[..., Any], a: Like, axes: Axis) -> Any:
    """What a function of an array and an axis gives, applied for each of some axes in turn.

    A result with one axis less gets it back, of length 1. Raises ValueError for any other.

    >>> apply_over_axes(np.sum, Variable([[1.0, 2.0], [3.0, 4.0]]), [0, 1]).value
    array([[10.]])
    """
    x = itself(a)
    for axis in integers("apply_over_axes: axes", axes):
        if x.ndim or not is_axis_of_number(axis):
            axis = axis_of("apply_over_axes", axis, x.ndim)
        found = itself(func(x, axis))
        if found.ndim != x.ndim:
            found = expand_dims(found, axis)
        if found.ndim != x.ndim:
            raise ValueError(
                f"apply_over_axes: func gave shape {found.shape} for {x.shape} and axis {axis}"
            )
        x = found
    return x


def _core_axes(signature: str) -> tuple[list[list[str]], list[list[str]]]:
    """The names of the axes of each argument and result, from ``"(n),(m)->(k)"``."""
    parts = signature.replace(" ", "").split("->")
    group = r"\((?:\w+(?:,\w+)*)?\)"
    if len(parts) != 2 or not all(re.fullmatch(rf"{group}(?:,{group})*", part) for part in parts):
        raise ValueError(
            f"vectorize: signature: expected one such as '(n),(m)->(k)', got {signature!r}"
        )
    before, behind = (
        [names.strip("()").split(",") if names != "()" else [] for names in re.findall(group, part)]
        for part in parts
    )
    return before, behind


class vectorize:
    """A function of numbers as one of arrays, which broadcast.

    It is called once for each element, as ``numpy.vectorize`` does, and may return several numbers
    in a tuple. ``excluded`` are positions and names of arguments that are passed as they are. By a
    ``signature`` such as ``"(n),(n)->()"`` it is a function of vectors or matrices: those along the
    last axes of the arguments, for each place in the others. Where no argument is a variable it is
    ``numpy.vectorize``. Raises TypeError for ``otypes`` that no variable holds, ValueError for a
    signature that is none, or that arguments or results do not fit.

    >>> f = vectorize(lambda x, y: x * y if x > y else x + y)
    >>> f(Variable([1.0, 3.0]), 2.0).value
    array([3., 6.])
    """

    def __init__(
        self,
        pyfunc: Callable[..., Any],
        otypes: Any = None,
        doc: str | None = None,
        excluded: Iterable[int | str] | None = None,
        cache: bool = False,
        signature: str | None = None,
    ) -> None:
        self.signature = signature
        self._axes = None if signature is None else _core_axes(signature)
        functools.update_wrapper(self, pyfunc)
        self.pyfunc = pyfunc
        self.excluded = set(excluded or ())
        self._plain = np.vectorize(
            watched(pyfunc), otypes, doc, self.excluded or None, cache, signature
        )
        self.otypes = [np.dtype(kind) for kind in otypes] if otypes is not None else None
        self.__doc__ = pyfunc.__doc__ if doc is None else doc

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function of each element of the arguments."""
        places: list[int | str] = [k for k in range(len(args)) if k not in self.excluded]
        places += [name for name in kwargs if name not in self.excluded]
        given = dict(enumerate(args)) | kwargs
        if not any(isinstance(given[at], Variable) for at in places):
            # The function may have variables from elsewhere: then it is called anew.
            with suppress(GivesVariables):
                return self._plain(*args, **kwargs)
        if self._axes is not None:
            return self._by_signature(args, kwargs, given, places)
        spread = broadcast_arrays(*(constant(given[at]) for at in places))
        shape = spread[0].shape
        # Elements of plain arguments are passed as NumPy's scalars, so integers stay integers.
        known: dict[int | str, Array | Variable] = {
            at: fixed(x, "vectorize", tuple(range(x.ndim)))
            if isinstance(given[at], Variable)
            else np.broadcast_to(given[at], shape)
            for at, x in zip(places, spread, strict=True)
        }

        def one(place: tuple[int, ...]) -> Any:
            filled = dict(given) | {at: x[place] for at, x in known.items()}
            named = {at: filled[at] for at in kwargs}
            return self.pyfunc(*(filled[k] for k in range(len(args))), **named)

        found = [one(place) for place in np.ndindex(shape)]
        if not found:
            raise ValueError(f"vectorize: expected one element at least, got shape {shape}")
        if not isinstance(found[0], tuple):
            return self._joined(0, found, shape)
        parts = zip(*found, strict=True)
        return tuple(self._joined(k, part, shape) for k, part in enumerate(parts))

    def _by_signature(
        self, args: Any, kwargs: Any, given: dict[int | str, Any], places: list[int | str]
    ) -> Any:
        """The function of what lies along the last axes of the arguments."""
        assert self._axes is not None
        before, behind = self._axes
        if len(places) != len(before):
            raise TypeError(
                f"vectorize: the signature {self.signature!r} is for {len(before)} arguments, got "
                f"{len(places)}"
            )
        known: dict[int | str, Any] = {}
        lengths: dict[str, int] = {}
        outer: list[tuple[int, ...]] = []
        for at, names in zip(places, before, strict=True):
            x = given[at] if isinstance(given[at], Variable) else np.asarray(given[at])
            inner = x.shape[x.ndim - len(names) :] if x.ndim >= len(names) else None
            if inner is None or any(
                lengths.setdefault(name, n) != n for name, n in zip(names, inner, strict=True)
            ):
                raise ValueError(
                    f"vectorize: shape {x.shape} does not fit {names} of {self.signature!r}"
                )
            known[at] = (
                fixed(x, "vectorize", tuple(range(x.ndim))) if isinstance(x, Variable) else x
            )
            outer.append(x.shape[: x.ndim - len(names)])
        shape = np.broadcast_shapes(*outer)
        if 0 in shape:
            raise ValueError(f"vectorize: expected one call at least, got shape {shape}")

        def one(place: tuple[int, ...]) -> Any:
            filled = dict(given)
            for (at, x), own in zip(known.items(), outer, strict=True):
                last = place[len(place) - len(own) :]
                filled[at] = x[tuple(k if n > 1 else 0 for k, n in zip(last, own, strict=True))]
            found = self.pyfunc(
                *(filled[k] for k in range(len(args))), **{name: filled[name] for name in kwargs}
            )
            return found if len(behind) > 1 else (found,)

        parts = list(zip(*(one(place) for place in np.ndindex(shape)), strict=True))
        if len(parts) != len(behind):
            raise ValueError(
                f"vectorize: {self.signature!r} has {len(behind)} results, the function "
                f"{len(parts)}"
            )
        results = []
        for k, (names, part) in enumerate(zip(behind, parts, strict=True)):
            made = [constant(each) for each in part]
            for each in made:
                if each.ndim != len(names) or any(
                    lengths.setdefault(name, n) != n
                    for name, n in zip(names, each.shape, strict=True)
                ):
                    raise ValueError(
                        f"vectorize: a result of shape {each.shape} does not fit {names} of "
                        f"{self.signature!r}"
                    )
            joined: Any = reshape(stack(made), (*shape, *made[0].shape))
            results.append(joined if self.otypes is None else joined.astype(self.otypes[k]))
        return tuple(results) if len(behind) > 1 else results[0]

    def _joined(self, k: int, parts: Iterable[Any], shape: tuple[int, ...]) -> Any:
        result = reshape(stack([constant(part) for part in parts]), shape)
        return result if self.otypes is None else result.astype(self.otypes[k])
