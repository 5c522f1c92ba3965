"""Several operands of an operator written in Python as one.

An operator has a product for each operand, and each product is called with all of them, so that
what has many operands takes time for their square. Where the operands are leaves of one container,
or arguments of one function that is run for all products, one array holds them all.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from .._core import Variable, follows_input


class Packed:
    """Leaves that are one operand, an array with one axis; the numbers are those of the leaves in
    their container.
    """

    def __init__(self, numbers: Sequence[int], shapes: Sequence[tuple[int, ...]]) -> None:
        self.numbers = numbers
        self.shapes = shapes
        self._ends = list(accumulate((math.prod(shape) for shape in shapes), initial=0))

    def parts(self, whole: Any) -> Iterator[tuple[int, Any]]:
        """Each leaf's number, and its array."""
        starts = zip(self.numbers, self.shapes, self._ends, self._ends[1:], strict=False)
        for number, shape, start, end in starts:
            part = whole[start:end].reshape(shape)
            # A copy, since a rule may write to its part, and a view would change the whole.
            yield number, part.copy() if isinstance(part, Variable) else part

    @staticmethod
    def packed(leaves: Sequence[Any]) -> Any:
        """The operand that leaves are."""
        return np.concatenate([np.reshape(leaf, -1) for leaf in leaves])


def are_alike(leaves: Sequence[Variable]) -> bool:
    """Whether leaves can be one operand: they are of one type of real numbers, and their lengths
    stay.
    """
    types = {leaf.dtype for leaf in leaves}
    is_real = types <= {np.dtype(np.float32)} or types <= {np.dtype(np.float64)}
    return is_real and not any(follows_input(leaf) for leaf in leaves)
