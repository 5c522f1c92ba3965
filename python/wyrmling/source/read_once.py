"""A loss that ``fit`` reads once, however often it is trained.

Reading takes milliseconds: little beside a training, but most of the time of the short ones that
learn the vectors of new users. A loss may be wrapped in a :class:`ReadOnce` if all that it finds
outside of itself (globals, cells) stays as it is.

Limit: a function with columns of arrays of different lengths is read each time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from .._core import Captured

__all__ = ["ReadOnce"]


class ReadOnce:
    """A function of parameters and one sample, with what was read of it.

    >>> wrapped = ReadOnce(lambda w, x: w[0] * x)
    >>> wrapped([2.0], 3.0)
    6.0

    Args:
        function: the loss. What it finds outside of itself counts as it is when it is first read.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        # By this name inspect.signature finds the function's own arguments.
        self.__wrapped__ = function
        self._read: dict[Hashable, Any] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function returns."""
        return self.__wrapped__(*args, **kwargs)

    def read(
        self,
        prepare: Callable[..., Any],
        columns: Mapping[str, tuple[str, Any]],
        sample: Mapping[str, tuple[Any, Any, str]],
        parameters: Mapping[str, tuple[Any, str]],
    ) -> Any:
        """What ``prepare`` makes of the function, made once for arguments of the same kinds.

        The arguments are those of :func:`wyrmling.source.training.prepare`.
        """
        if any(kind == "entry" for kind, _ in columns.values()):
            return prepare(self.__wrapped__, columns, sample, parameters)
        kinds = (
            tuple((name, kind, data.dtype.str, data.shape[1:]) for name, (kind, data) in
                  columns.items()),
            tuple((name, tuple(shape), tuple(used), kind) for name, (shape, used, kind) in
                  sample.items()),
            tuple((name, tuple(shape), dtype) for name, (shape, dtype) in parameters.items()),
        )  # fmt: skip
        if kinds not in self._read:
            found = prepare(self.__wrapped__, columns, sample, parameters)
            # What stays as it is is copied once, and not for each run.
            found.bindings = [
                (kind, Captured(object) if isinstance(object, np.ndarray) else object)
                for kind, object in found.bindings
            ]
            self._read[kinds] = found
        return self._read[kinds]
