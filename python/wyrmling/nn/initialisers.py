"""Initialisers: random arrays that training starts from.

The names and formulas are those of Glorot and Bengio, "Understanding the difficulty of training
deep feedforward neural networks", 2010 (``xavier``), and He et al., "Delving deep into rectifiers",
2015 (``he``). Fans are the lengths of the last two axes, of a vector its length twice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arguments import check_integer, check_number, is_one
from ..array_types import Float32Array

__all__ = ["he", "normal", "uniform", "xavier"]

Shape = int | Sequence[int]


def normal(shape: Shape, scale: float, rng: np.random.Generator) -> Float32Array:
    """Independent normal numbers of float32 around 0.

    Args:
        shape: of the array.
        scale: their standard deviation, at least 0.
        rng: the source of random numbers.

    Raises:
        TypeError: another source than a ``numpy.random.Generator``, such as a seed.
        ValueError: a scale that is negative, or that float32 does not hold.

    >>> normal((2, 3), 0.1, np.random.default_rng(0)).shape
    (2, 3)
    """
    _check("scale", scale, rng)
    return rng.normal(0.0, scale, shape).astype(np.float32)


def uniform(shape: Shape, bound: float, rng: np.random.Generator) -> Float32Array:
    """Independent numbers of float32 between ``-bound`` and ``bound``, at least 0.

    Raises:
        TypeError: another source than a ``numpy.random.Generator``, such as a seed.
        ValueError: a bound that is negative, or that float32 does not hold.
    """
    _check("bound", bound, rng)
    return rng.uniform(-bound, bound, shape).astype(np.float32)


def xavier(shape: Shape, rng: np.random.Generator) -> Float32Array:
    """Uniform numbers within ``sqrt(6 / (fan_in + fan_out))``: for layers with tanh or sigmoid.

    >>> bool(abs(xavier((3, 3), np.random.default_rng(0))).max() < 1)
    True
    """
    return uniform(shape, float(np.sqrt(6.0 / sum(_fans(shape)))), rng)


def he(shape: Shape, rng: np.random.Generator) -> Float32Array:
    """Normal numbers of standard deviation ``sqrt(2 / fan_in)``: for layers with ReLU."""
    return normal(shape, float(np.sqrt(2.0 / _fans(shape)[0])), rng)


def _check(name: str, size: float, rng: object) -> None:
    if not isinstance(rng, np.random.Generator | np.random.RandomState):
        raise TypeError(f"rng is {rng!r}, expected numpy.random.default_rng(seed)")
    if not 0.0 <= check_number(name, size) <= float(np.finfo(np.float32).max):
        raise ValueError(f"{name} is {size!r}, expected a number of at least 0 that float32 holds")


def _fans(shape: Shape) -> tuple[int, int]:
    axes = (shape,) if is_one(shape) else tuple(shape)  # type: ignore[arg-type]
    axes = tuple(check_integer("shape", axis) for axis in axes)
    if not axes or min(axes) < 1:
        raise ValueError(f"shape is {shape}, expected at least one axis and no empty one")
    return axes[-2:] if len(axes) > 1 else (axes[0], axes[0])  # type: ignore[return-value]
