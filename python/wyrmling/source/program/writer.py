"""A builder of the ir for transforms: of a new function with the parameters of another.

What a transform computes is appended to it, mostly by inlining the other function and its
derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._core import Input, IrBuilder, IrFunction


class Writer:
    """A new function with the parameters of another, for which ``samples`` stand."""

    def __init__(self, prefix: str, like: IrFunction, samples: Sequence[Any]) -> None:
        """Names the function after the other, with ``prefix`` before it."""
        self.builder = IrBuilder(f"{prefix} of {like.name}", like.file)
        pairs = zip(like.parameters, samples, strict=True)
        self.parameters = [self.builder.parameter(0, kind, sample) for kind, sample in pairs]

    def applied(self, function: Callable[[Any], Any], like: Any, value: int) -> int:
        """A function of wyrmling's or NumPy's of a value that is an array like this one."""
        sample = Input(like)
        return self.builder.splice([function(sample)], [sample], [value])[0]

    def finish(self, results: Sequence[int]) -> IrFunction:
        """The function that returns these values."""
        self.builder.returns(list(results))
        return self.builder.finish()
