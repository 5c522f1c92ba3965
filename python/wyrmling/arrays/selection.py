"""A choice among functions, arrays or elements by conditions: NumPy's, for variables too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _core
from .._core import Variable, constant, replace, reshape, where
from ..plain import whole
from .construction import zeros_like
from .indexing import take
from .operand import Like, is_weak, lanes, of_one_type
from .output import finished
from .predicates import value
from .reductions import read_where
from .shaping import broadcast_arrays


@of_one_type
def select(condlist: Sequence[Any], choicelist: Sequence[Like], default: Like = 0.0) -> Any:
    """Of each place the element of the first array whose condition is true there, or a default.

    Conditions are masks; all broadcast together. Raises ValueError unless there are as many
    conditions as choices, and one at least; TypeError for what is no mask.

    >>> x = Variable([-1.0, 0.5, 3.0])
    >>> select([x < 0.0, x < 1.0], [-x, x * 2.0], 9.0).value
    array([1., 1., 9.])
    """
    if len(condlist) != len(choicelist):
        raise ValueError(
            f"select: expected as many conditions as choices, got {len(condlist)} and "
            f"{len(choicelist)}"
        )
    if not len(condlist):
        raise ValueError("select: expected a condition and a choice at least")
    for k, condition in enumerate(condlist):
        if not isinstance(condition, Variable) and np.asarray(condition).dtype != bool:
            raise TypeError(
                f"select: condition {k}: expected booleans, got {np.asarray(condition).dtype}"
            )
    arrays = [*choicelist, default]
    typed = [constant(x).dtype for x in arrays if not is_weak(x)]
    if typed and np.result_type(*typed) == np.float32:
        arrays = [np.asarray(x, np.float32) if is_weak(x) else x for x in arrays]
    result: Any = arrays[-1]
    for condition, choice in zip(reversed(condlist), reversed(arrays[:-1]), strict=True):
        result = where(condition, choice, result)
    return whole(result)


def _conditions(x: Variable, condlist: Any, count: int) -> list[Any]:
    """A mask for each of so many functions; one is added where nothing else holds."""
    # As in NumPy an array of several axes is a list of conditions.
    if isinstance(condlist, Variable):
        single = condlist.ndim <= min(x.ndim, 1)
    elif isinstance(condlist, bool | np.bool_):
        single = True
    else:
        single = x.ndim > 0 and not isinstance(condlist[0], list | np.ndarray | Variable)
    condlist = [condlist] if single else condlist
    masks = [c if isinstance(c, Variable) else np.asarray(c, bool) for c in condlist]
    if len(masks) == count - 1:
        some: Any = masks[0]
        for mask in masks[1:]:
            some = np.logical_or(some, mask)
        masks.append(np.logical_not(some))
    if len(masks) != count:
        raise ValueError(
            f"piecewise: with {len(masks)} conditions, {len(masks)} or {len(masks) + 1} functions "
            f"are expected, got {count}"
        )
    return masks


def piecewise(
    x: Like,
    condlist: Any,
    funclist: Sequence[Callable[..., Any] | Like],
    *args: Any,
    **kw: Any,
) -> Variable:
    """Functions of the elements where conditions hold, the last that does; zero where none does.

    There is a function, or a number, for each condition, and maybe one more for the rest. Where
    the conditions are plain booleans, as they are within a transform, a function gets the elements
    where its condition holds, and no others. Conditions that can change, as those of an input, are
    chosen by afterwards: the functions get the whole array then, and must be elementwise.

    Raises ValueError for too many or too few functions.

    >>> x = np.array([-1.0, 4.0])
    >>> piecewise(Variable(x), [x < 0.0], [lambda x: -x, lambda x: x**0.5]).value
    array([1., 2.])
    """
    values = constant(x)
    masks = _conditions(values, condlist, len(funclist))
    result: Variable = zeros_like(values)
    for mask, function in zip(masks, funclist, strict=True):
        if isinstance(mask, Variable):
            # A condition of another shape is an error, also where it would repeat.
            mask = _core.broadcast_like(mask, values, values.ndim)
            if callable(function):
                function = function(read_where(mask, values), *args, **kw)
            result = where(mask, function, result)
            continue
        if not callable(function):
            result = replace(result, mask, function)
        elif mask.any():
            result = replace(result, mask, function(values[mask], *args, **kw))
    return whole(result if result.dtype == values.dtype else result.astype(values.dtype))


def compress(condition: Any, a: Like, axis: int | None = None, out: Any = None) -> Any:
    """The slices along an axis, or elements of the flattened array, for which a condition is true.

    Which they are is asked once: raises TypeError for a condition that follows an input, ValueError
    for one with another number of axes than one.

    >>> compress([False, True], Variable([[1.0, 2.0], [3.0, 4.0]]), axis=0).value
    array([[3., 4.]])
    """
    mask = np.asarray(value("compress", condition))
    if mask.ndim != 1:
        raise ValueError(f"compress: condition: expected one axis, got shape {mask.shape}")
    x, at = lanes("compress", constant(a), axis)
    return finished("compress", take(x, np.flatnonzero(mask), at), out)


def extract(condition: Any, arr: Like) -> Any:
    """The elements for which a condition is true, in C order.

    Raises TypeError for a condition that follows an input.

    >>> x = Variable([1.0, 5.0, 2.0])
    >>> extract(x > 1.0, x).value
    array([5., 2.])
    """
    mask = np.asarray(value("extract", condition))
    return take(reshape(arr, -1), np.flatnonzero(mask))


def choose(a: Any, choices: Sequence[Like], out: Any = None, mode: str = "raise") -> Any:
    """Of each place the element of the array whose number an array of integers has there.

    All broadcast together. The integers may be a variable of them; ``mode`` says what happens to
    those out of range, as for ``take``, for plain ones. Raises ValueError or IndexError for them.

    >>> choose([1, 0], [Variable([1.0, 2.0]), [10.0, 20.0]]).value
    array([10.,  2.])
    """
    arrays = list(choices)
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"choose: mode: expected 'raise', 'wrap' or 'clip', got {mode!r}")
    if isinstance(a, Variable):
        if mode != "raise":
            raise TypeError(f"choose: mode: {mode!r} needs plain integers, not a variable of them")
        numbers: Any = a
    else:
        numbers = np.asarray(a)
        if numbers.dtype.kind not in "iub":
            raise TypeError(f"choose: a: expected integers, got {numbers.dtype}")
        numbers = numbers.astype(np.int64)
        count = len(arrays)
        if mode == "raise" and ((numbers < 0) | (numbers >= count)).any():
            raise ValueError(f"choose: a: expected numbers from 0 to {count - 1}, got others")
        numbers = numbers % count if mode == "wrap" else np.clip(numbers, 0, count - 1)
    shape = np.shape(numbers)
    wide = of_one_type(broadcast_arrays)(*arrays, np.zeros(shape, bool))[:-1]
    typed = [x.dtype for x, c in zip(wide, arrays, strict=True) if not is_weak(c)]
    kind = np.result_type(*(typed or [x.dtype for x in wide]))
    stacked = _core.stack([x if x.dtype == kind else x.astype(kind) for x in wide])
    if isinstance(numbers, Variable):
        places: Any = _core.expand_dims(numbers, tuple(range(stacked.ndim - len(shape))))
        if places.shape[1:] != stacked.shape[1:]:
            raise ValueError(
                f"choose: a: expected shape {stacked.shape[1:]} of a variable, got {shape}"
            )
    else:
        places = np.broadcast_to(numbers, stacked.shape[1:])[None]
    return finished("choose", _core.take_along_axis(stacked, places, 0)[0], out)
