"""Derivatives against finite differences."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core import Variable
from . import tree
from .forward import jvp
from .modes import DEFAULT, Mode
from .reverse import vjp
from .tracing import described, function

MODES = ("fwd", "rev")


def _moved(args: Sequence[Any], by: Sequence[Any], step: float) -> list[Any]:
    """The arguments, moved by a step in a direction."""
    leaves, rebuild = tree.flatten(list(args), opened=[])
    directions = tree.flatten(list(by), opened=[])[0]
    pairs = zip(leaves, directions, strict=True)
    moved: list[Any] = rebuild(iter([x + step * d for (_, x), (_, d) in pairs]))
    return moved


def _values(result: Any) -> list[Any]:
    leaves = [leaf for _, leaf in tree.flatten(result, opened=[])[0]]
    return [leaf.value if isinstance(leaf, Variable) else np.asarray(leaf) for leaf in leaves]


def _inner(a: Any, b: Any) -> float:
    """The sum of products of two results of one form, in double precision."""
    pairs = zip(_values(a), _values(b), strict=True)
    return float(sum(np.sum(x.astype(np.float64) * y) for x, y in pairs))


def _directions(like: Any, rng: np.random.Generator) -> Any:
    """A random tree of the form, shapes and dtypes of another; of length 1 as a whole."""
    leaves, rebuild = tree.flatten(like, opened=[])
    drawn = [rng.standard_normal(np.shape(leaf)) for _, leaf in leaves]
    length = max(float(np.sqrt(sum(np.sum(d * d) for d in drawn))), 1e-300)
    typed = []
    for d, (_, leaf) in zip(drawn, leaves, strict=True):
        dtype = getattr(leaf, "dtype", None)
        scaled = d / length
        typed.append(float(scaled) if dtype is None else np.asarray(scaled, dtype))
    return rebuild(iter(typed))


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = MODES,
    *,
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    mode: Mode = DEFAULT,
) -> None:
    """Checks the derivatives of ``f`` at ``args`` against central differences, in a random
    direction, up to ``order``, in forward mode (``"fwd"``), reverse mode (``"rev"``) or both, and
    for higher orders in every combination.

    ``f`` takes and returns what ``grad`` and ``vjp`` allow, and is also run on plain numbers and
    arrays. Derivatives may differ from the differences by ``atol + rtol * |difference|``, for steps
    of ``eps``; by default 1e-6, 1e-5 and 1e-5 in double precision, 0.01, 0.02 and 0.01 if an
    argument is float32. The direction is drawn with a fixed seed.

    ``mode`` is that of ``grad``, for derivatives of the first order; what is above those calls
    transforms itself, and is read where that can be.

    Raises AssertionError if they differ by more, and ValueError or TypeError for arguments that
    make no sense.

    >>> import numpy as np
    >>> import wyrmling as wy
    >>> wy.check_grads(lambda x: np.sum(np.sin(x) ** 2), (np.array([0.1, 0.7]),))
    >>> wrong = wy.primitive(np.sin)
    >>> wrong.defvjp(lambda g, ans, x: g * np.sin(x))
    <primitive sin>
    >>> wy.check_grads(wrong, (0.1,), order=1)
    Traceback (most recent call last):
    AssertionError: check_grads: order 1, fwd: ...
    """
    function("check_grads", f)
    if not isinstance(args, tuple | list):
        raise TypeError(f"check_grads: args: expected a tuple or list, got {described(args)}")
    if operator.index(order) < 1:
        raise ValueError(f"check_grads: order: expected an integer from 1, got {order!r}")
    if isinstance(modes, str) or not modes or any(mode not in MODES for mode in modes):
        raise ValueError(f"check_grads: modes: expected some of {MODES}, got {modes!r}")
    leaves = [leaf for _, leaf in tree.flatten(list(args), opened=[])[0]]
    single = any(getattr(leaf, "dtype", None) == np.float32 for leaf in leaves)
    bounds = (1e-2, 2e-2, 1e-2) if single else (1e-6, 1e-5, 1e-5)
    given = (atol, rtol, eps)
    chosen = [b if g is None else g for g, b in zip(given, bounds, strict=True)]
    _check(f, list(args), order, tuple(modes), chosen, np.random.default_rng(0), "", mode)


def _check(
    f: Callable[..., Any],
    args: list[Any],
    order: int,
    modes: tuple[str, ...],
    bounds: list[float],
    rng: np.random.Generator,
    taken: str,
    mode: Mode,
) -> None:
    atol, rtol, eps = bounds
    direction = _directions(args, rng)
    value = f(*args)
    seed = _directions(tree.convert(_plain, value, opened=True), rng)
    ahead, behind = (f(*_moved(args, direction, step)) for step in (eps, -eps))
    expected = (_inner(ahead, seed) - _inner(behind, seed)) / (2.0 * eps)
    for way in modes:
        if way == "fwd":
            found = _inner(jvp(f, args, direction, mode=mode)[1], seed)
        else:
            found = _inner(list(vjp(f, *args, mode=mode)[1](seed)), direction)
        where = f"order {taken.count('of') + 1}, {taken}{way}"
        if not abs(found - expected) <= atol + rtol * abs(expected):
            raise AssertionError(
                f"check_grads: {where}: the derivative is {found}, by differences {expected}"
            )
        if order > 1:

            def derivative(*xs: Any, way: str = way) -> Any:
                if way == "fwd":
                    return jvp(f, xs, direction, mode=mode)[1]
                return vjp(f, *xs, mode=mode)[1](seed)

            more = f"{taken}{way} of "
            # ``derivative`` calls a transform, and not every call of one can be read.
            outer: Mode = "trace" if mode == "trace" else "auto"
            _check(derivative, args, order - 1, modes, bounds, rng, more, outer)


def _plain(leaf: Any) -> Any:
    if isinstance(leaf, Variable):
        return leaf.value
    return leaf
