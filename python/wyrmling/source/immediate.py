"""``vjp`` and ``jvp``, read or traced.

Other transforms give a function, for which programs are kept. These two are called with the
arguments at once: here a function is made for which they can be kept, and tangents, or gradients
of the results, are passed to it. The arguments of ``vjp`` are copied, for its pullback may be
called after they have been written to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core import Variable
from ..transforms import tree
from ..transforms.modes import Mode, differentiated

TANGENTS = ".tangents"
"""The name under which tangents are passed on, which no argument of a function has."""


def _fits(seed: Any, output: Any) -> bool:
    """Whether a gradient is as plain as the result; tracing knows what to do with any other."""
    if isinstance(output, np.ndarray):
        return isinstance(seed, np.ndarray) and seed.dtype == output.dtype
    if isinstance(seed, np.ndarray) and not seed.shape and seed.dtype == np.asarray(output).dtype:
        seed = seed[()]
    if isinstance(output, np.float32) and isinstance(seed, np.float64):
        return False
    return not isinstance(seed, Variable | np.ndarray)


def _as(seed: Any, output: Any) -> Any:
    """A gradient of a number as a number of the same type."""
    if isinstance(output, np.ndarray):
        return seed
    return np.float32(seed) if isinstance(output, np.float32) else float(seed)


def with_tangents(
    f: Callable[..., Any],
    primals: tuple[Any, ...],
    tangents: Sequence[Any],
    kwargs: dict[str, Any],
    traced: Callable[..., tuple[Any, Any]],
    mode: Mode,
) -> tuple[Any, Any]:
    """The value and how it moves with the leaves of the arguments, read or traced."""

    def along(*args: Any, **kwargs: Any) -> Any:
        given = kwargs.pop(TANGENTS)
        return traced(f, args, given, kwargs)

    made = differentiated("jvp", f, along, mode, range(len(primals)))
    found: tuple[Any, Any] = made(*primals, **kwargs, **{TANGENTS: tuple(tangents)})
    return found


def with_pullback(
    f: Callable[..., Any],
    xs: tuple[Any, ...],
    kwargs: dict[str, Any],
    traced: Callable[..., tuple[Any, Any]],
    seeds: Callable[[Any, Any, list[Any]], list[Any]],
    mode: Mode,
) -> tuple[Any, Callable[[Any], Any]]:
    """The value and what pulls gradients of it back, read or traced; ``seeds`` gives the leaves of
    a gradient that fits results of a shape.
    """

    def at_once(*args: Any, **kwargs: Any) -> Any:
        value, pullback = traced(f, *args, **kwargs)
        return value, None, pullback

    made = differentiated("vjp", f, at_once, mode, range(len(xs)))
    value, parameters, pull = made(*xs, **kwargs)
    if parameters is None:
        return value, pull
    # Who holds the arrays may write to them before the pullback is called.
    kept = [each.copy() if isinstance(each, np.ndarray) else each for each in parameters]
    again = tree.copied(xs, opened=True), tree.copied(kwargs)
    shape = tree.bare(value)
    outputs = [leaf for _, leaf in tree.flatten(value, opened=[])[0]]

    def pullback(gradient: Any) -> Any:
        given = seeds(gradient, shape, outputs)
        pairs = zip(given, outputs, strict=True)
        if all(_fits(*each) for each in pairs):
            found = pull(kept, [_as(*each) for each in zip(given, outputs, strict=True)])
            if found is not None:
                return found[0]
        return traced(f, *again[0], **again[1])[1](gradient)

    return value, pullback
