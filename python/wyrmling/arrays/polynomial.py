"""Polynomials by their coefficients: NumPy's function, for variables too."""

from .._core import Variable, constant, fixed
from .operand import Like
from .shaping import zeros_like


def polyval(p: Like, x: Like) -> Variable:
    """Return p[0] x^(n-1) + … + p[n-1], by Horner's rule, with a gradient for both.

    ``p`` has the coefficients along its first axis, whose length cannot change later. Raises
    ValueError if it has no axis.

    >>> polyval([1.0, 0.0, -2.0], 3.0).item()
    7.0
    """
    coefficients, x = constant(p), constant(x)
    if coefficients.ndim == 0:
        raise ValueError("polyval: p: expected the coefficients in an array, got one number")
    coefficients = fixed(coefficients, "polyval", 0)
    result: Variable = zeros_like(x)
    for k in range(coefficients.shape[0]):
        result = result * x + coefficients[k]
    return result
