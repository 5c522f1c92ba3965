"""Numbers of few decimals: NumPy's functions, for variables too."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _core
from .._core import Variable, constant, rint
from .operand import Like, integer
from .output import finished


def round(a: Like, decimals: int = 0, out: Variable | None = None) -> Any:
    """Round to that many decimals, halves to the even neighbour; its derivative is 0.

    As ``numpy.round`` it rounds the element times a power of ten, which is not exact where the
    element has no such decimals. Raises ValueError if the element type does not hold that power.

    >>> round([1.25, -3.5], 1), round([15.0, 25.0], -1)
    (array([ 1.2, -3.5]), array([20., 20.]))
    """
    x = constant(a)
    places = integer("round: decimals", decimals)
    if x.dtype.kind in "iu":
        # Integers stay integers, as NumPy's. Below 2^53 they are all 0 to 17 places or more.
        power = 10 ** min(max(-places, 0), 18)
        found = _core.positive(x) if places >= 0 else _core.whole(rint(x / power)) * power
        return finished("round", found, out)
    if x.dtype.kind == "b":
        x = _core.cast(x, False)
    most = math.floor(math.log10(np.finfo(x.dtype).max))
    if abs(places) > most:
        raise ValueError(f"decimals: expected {-most} to {most} for {x.dtype}, got {places}")
    if places == 0:
        return finished("round", rint(x), out)
    power = 10.0 ** abs(places)
    found = rint(x * power) / power if places > 0 else rint(x / power) * power
    return finished("round", found, out)


def around(a: Like, decimals: int = 0, out: Variable | None = None) -> Any:
    """The same as ``round``.

    Raises TypeError for ``decimals`` that are no integer.

    >>> around(1.26, 1).item()
    1.3
    """
    return round(a, decimals, out)
