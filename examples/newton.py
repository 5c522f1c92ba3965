"""Differentiate plain Python: a loop that stops when it is done, read and compiled.

    python examples/newton.py

The function has no types of wyrmling's. With ``mode="source"`` its text is read, not run on tracked
numbers: the loop stays a loop in the program and in its adjoint, and how often it runs depends on
the numbers.
"""

import math

import wyrmling as wy


def newton_sqrt(a, n=20):
    """The square root of ``a``, and how it is found."""
    x = a
    for _ in range(n):
        if abs(x * x - a) < 1e-12 * a:
            break
        x = 0.5 * (x + a / x)
    return x


def cable(length, span):
    """How far a cable of this length sags between two posts: its catenary's parameter is found
    first, by Newton's iteration.
    """
    c = span
    for _ in range(60):
        error = 2 * c * math.sinh(span / (2 * c)) - length
        slope = 2 * math.sinh(span / (2 * c)) - span / c * math.cosh(span / (2 * c))
        step = error / slope
        c -= step
        if abs(step) < 1e-13 * c:
            break
    return c * (math.cosh(span / (2 * c)) - 1)


def main() -> None:
    """Shows gradients, a pullback, and the programs that were made."""
    gradient = wy.grad(newton_sqrt, mode="source")
    for a in (2.0, 1e-6, 12345.0):
        print(f"slope of sqrt at {a}: {gradient(a):.12g}, exactly {0.5 / math.sqrt(a):.12g}")
    second = wy.grad(gradient, mode="source")
    print(f"second derivative at 2: {second(2.0):.12g}")

    value, pullback = wy.pullback(cable, 11.0, 10.0, mode="source")
    by_length, by_span = pullback(1.0)
    print(
        f"a cable of 11 over 10 sags {value:.6f}: by length {by_length:.6f}, by span {by_span:.6f}"
    )

    print(f"\n{wy.code_ir(newton_sqrt, 2.0)}")
    print(wy.code_adjoint(newton_sqrt, 2.0))


if __name__ == "__main__":
    main()
