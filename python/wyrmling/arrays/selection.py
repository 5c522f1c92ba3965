"""A choice among functions or arrays by conditions: NumPy's, for variables too."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core import Variable, constant, replace, where
from .operand import Like
from .shaping import zeros_like


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
    result: Any = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        result = where(condition, choice, result)
    return result


def _conditions(x: Variable, condlist: Any, count: int) -> list[Any]:
    """A mask for each of so many functions; one is added where nothing else holds."""
    if isinstance(condlist, Variable | bool | np.bool_) or (
        x.ndim and not isinstance(condlist[0], list | np.ndarray | Variable)
    ):
        condlist = [condlist]
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

    >>> x = np.array([-1.0, 4.0])
    >>> piecewise(Variable(x), [x < 0.0], [lambda x: -x, lambda x: x**0.5]).value
    array([1., 2.])
    """
    values = constant(x)
    masks = _conditions(values, condlist, len(funclist))
    result: Variable = zeros_like(values)
    for mask, function in zip(masks, funclist, strict=True):
        if isinstance(mask, Variable):
            found = function(values, *args, **kw) if callable(function) else function
            result = where(mask, found, result)
            continue
        if not callable(function):
            result = replace(result, mask, function)
        elif mask.any():
            result = replace(result, mask, function(values[mask], *args, **kw))
    return result if result.dtype == values.dtype else result.astype(values.dtype)
