"""Functions of lanes or numbers applied throughout an array.

Both call the function so many times, and compute with lengths: they hold for arrays of the same
lengths only, and an input that gets another one raises ValueError. ``numpy.vectorize`` makes plain
arrays of what it is given before anybody is asked; that of ``wyrmling`` takes variables.
"""

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .._core import Variable, constant, fixed, reshape, split_axis, stack
from .operand import Array, Like, axis_of
from .shaping import broadcast_arrays, moveaxis


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Like, *args: Any, **kwargs: Any
) -> Variable:
    """What a function returns for each lane along an axis, in the place of the lane.

    Raises ValueError if there are no lanes.

    >>> apply_along_axis(lambda lane: lane[1] * lane[0], 1, [[1.0, 2.0], [3.0, 4.0]]).value
    array([ 2., 12.])
    """
    x = constant(arr)
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
    return moveaxis(result, tuple(inner), tuple(range(axis, axis + found[0].ndim)))


class vectorize:
    """A function of numbers as one of arrays, which broadcast.

    It is called once for each element, as ``numpy.vectorize`` does, and may return several numbers
    in a tuple. ``excluded`` are positions and names of arguments that are passed as they are.
    Where no argument is a variable it is ``numpy.vectorize``. Raises NotImplementedError for a
    ``signature``, TypeError for ``otypes`` that no variable holds.

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
        if signature is not None:
            raise NotImplementedError(
                "vectorize: signature: a function of numbers only is applied here; use "
                "apply_along_axis, or a loop and stack"
            )
        functools.update_wrapper(self, pyfunc)
        self.pyfunc = pyfunc
        self.excluded = set(excluded or ())
        self._plain = np.vectorize(pyfunc, otypes, doc, self.excluded or None, cache)
        self.otypes = [np.dtype(kind) for kind in otypes] if otypes is not None else None
        self.__doc__ = pyfunc.__doc__ if doc is None else doc

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function of each element of the arguments."""
        places: list[int | str] = [k for k in range(len(args)) if k not in self.excluded]
        places += [name for name in kwargs if name not in self.excluded]
        given = dict(enumerate(args)) | kwargs
        if not any(isinstance(given[at], Variable) for at in places):
            return self._plain(*args, **kwargs)
        whole = broadcast_arrays(*(constant(given[at]) for at in places))
        shape = whole[0].shape
        # Elements of plain arguments are passed as NumPy's scalars, so integers stay integers.
        known: dict[int | str, Array | Variable] = {
            at: fixed(x, "vectorize", tuple(range(x.ndim)))
            if isinstance(given[at], Variable)
            else np.broadcast_to(given[at], shape)
            for at, x in zip(places, whole, strict=True)
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

    def _joined(self, k: int, parts: Iterable[Any], shape: tuple[int, ...]) -> Any:
        result = reshape(stack([constant(part) for part in parts]), shape)
        return result if self.otypes is None else result.astype(self.otypes[k])
