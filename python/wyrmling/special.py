"""Special functions, by the names that they have in ``scipy.special``.

They take variables, numbers and whatever NumPy makes an array of, and return a variable. SciPy is
not needed; where it is loaded, its own functions take variables too, those that are ufuncs. Orders
of Bessel functions and of ``polygamma`` are integers. ``help`` on a function says what it computes,
and the source of the formula.

>>> import wyrmling as wy
>>> x = wy.Variable(0.5)
>>> y = wy.special.erf(x)
>>> y.backward()
>>> round(y.item(), 12), round(float(x.grad), 12)
(0.520499877813, 0.878782578936)
"""

from ._core import (
    log_softmax,
    logsumexp,
    softmax,
)

__all__ = [
    "log_softmax",
    "logsumexp",
    "softmax",
]
