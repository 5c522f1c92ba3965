"""Functions that call themselves or each other."""

from .case import at


@at(1.5, 5)
@at(1.5, 0)
def power(x, n):
    return 1.0 if n == 0 else x * power(x, n - 1)


@at(1.5, 9)
def fast_power(x, n):
    if n == 0:
        return 1.0
    half = fast_power(x, n // 2)
    return half * half * (x if n % 2 else 1.0)


@at(0.7, 6)
def fibonacci_like(x, n):
    if n < 2:
        return x * n + 1
    return fibonacci_like(x, n - 1) * 0.5 + fibonacci_like(x, n - 2) * x


@at(10.0)
def until_small(x):
    if x < 1:
        return x * x
    return until_small(x / 2) + x


def _even(x, n):
    return x if n == 0 else _odd(x * 1.1, n - 1)


def _odd(x, n):
    return -x if n == 0 else _even(x + 1, n - 1)


@at(1.5, 5)
def mutual(x, n):
    return _even(x, n)


@at(1.5)
def inner_recursion(x):
    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    return x * factorial(5)


@at(((1.0, 2.0), (3.0, (4.0, 5.0))))
def over_a_tree(tree):
    if isinstance(tree, tuple):
        left, right = tree
        return over_a_tree(left) * 0.5 + over_a_tree(right)
    return tree * tree


@at(1.5)
def without_end(x):
    return without_end(x + 1)
