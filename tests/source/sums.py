"""The built-in ``sum``, as far off as one that adds in another way may be.

From Python 3.12 ``sum`` corrects what it loses of floats. Who adds plainly may be off by n times
eps of the sum of magnitudes; with ``disturbed``, ``sum`` is, so that what a function makes of it
shows how far its result may be off.
"""

import builtins
import contextlib
import random
import sys

import numpy as np
from jets import plain

IS_CORRECTED = sys.version_info >= (3, 12)
SUM = builtins.sum


@contextlib.contextmanager
def disturbed(seed):
    """``sum`` of floats is off, upwards or downwards as ``seed`` says."""
    chosen = random.Random(seed)

    def off(items, /, start=0):
        items = list(items)
        total = SUM(items, start)
        if not isinstance(total, float) or not np.isfinite(plain(total)):
            return total
        size = SUM(abs(plain(x)) for x in [start, *items])
        return total + chosen.choice((-1, 1)) * len(items) * sys.float_info.epsilon * size

    builtins.sum = off
    try:
        yield
    finally:
        builtins.sum = SUM
