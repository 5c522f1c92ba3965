"""``r_`` and ``c_``: arrays written by indexing, joined.

``np.r_`` and ``np.c_`` convert what they are given to plain arrays, without a call of
``__array_function__``, so that a variable raises TypeError. Those of ``wyrmling`` take variables,
in every form that NumPy's take: arrays, numbers, slices (``0:5``, ``0:1:5j``) and a leading string
of integers, which says along which axis, how many axes there are at least, and where the axes of
smaller arrays go.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import Variable, concatenate, constant, expand_dims, has_variable, transpose


class _Concatenator:
    def __init__(self, name: str, axis: int, ndmin: int, trans1d: int) -> None:
        self._name = name
        self._defaults = axis, ndmin, trans1d

    def __repr__(self) -> str:
        return f"wyrmling.{self._name}"

    def _directive(self, text: str) -> tuple[int, int, int]:
        if self._name == "r_" and text in ("r", "c"):
            raise TypeError(f"r_: {text!r} makes a matrix, which no variable is")
        parts = text.split(",")
        try:
            found = [int(part) for part in parts]
        except ValueError:
            found = []
        if not 1 <= len(found) <= 3:
            raise ValueError(
                f"{self._name}: expected up to three integers in a string, got {text!r}"
            )
        axis, ndmin, trans1d = (*found, *self._defaults[len(found) :])
        return axis, ndmin, trans1d

    def __getitem__(self, key: Any) -> Any:
        """The arrays joined; by NumPy's own if none is a variable."""
        if not has_variable((key,), {}):
            return getattr(np, self._name)[key]
        items = key if isinstance(key, tuple) else (key,)
        axis, ndmin, trans1d = self._defaults
        if items and isinstance(items[0], str):
            axis, ndmin, trans1d = self._directive(items[0])
            items = items[1:]
        parts: list[Variable] = []
        for item in items:
            if isinstance(item, str):
                raise ValueError(f"{self._name}: a string is expected first, got {item!r}")
            # numpy.r_ makes the numbers that a slice stands for.
            x = constant(np.r_[item] if isinstance(item, slice) else item)
            if x.ndim == 0:
                x = expand_dims(x, tuple(range(max(ndmin, 1))))
            elif x.ndim < ndmin:
                x = self._widened(x, ndmin, trans1d)
            parts.append(x)
        if not parts:
            raise ValueError(f"{self._name}: expected an array at least")
        return concatenate(parts, axis)

    @staticmethod
    def _widened(x: Variable, ndmin: int, trans1d: int) -> Variable:
        """With axes of length 1 in front, and then its own from the axis ``trans1d`` on."""
        new = ndmin - x.ndim
        wide = expand_dims(x, tuple(range(new)))
        first = trans1d if trans1d >= 0 else trans1d + new + 1
        own = list(range(new, ndmin))
        order = list(range(new))
        return transpose(wide, order[:first] + own + order[first:])


r_ = _Concatenator("r_", 0, 1, -1)
c_ = _Concatenator("c_", -1, 2, 0)
