"""Recursion to a depth that is written, or a global: too deep to be written call by call."""

from .case import at

DEPTH = 300


@at(1.1)
def depth_that_is_written(x):
    def scaled(y, n):
        return y if n == 0 else scaled(y * 0.99, n - 1) + y * 0.01

    return scaled(x, 400) * scaled(x, 3)


@at(1.1)
def depth_of_a_global(x):
    def scaled(y, n):
        if n == 0:
            return y
        return scaled(y * 0.99, n - 1) + y * 0.01

    return scaled(x, DEPTH)


@at(1.1)
def two_functions_to_a_known_depth(x):
    def even(y, n):
        return y if n == 0 else odd(y * 0.9, n - 1)

    def odd(y, n):
        return y * 2.0 if n == 0 else even(y * 1.1, n - 1)

    return even(x, 301)


@at(1.1)
def known_depth_and_no_end(x):
    def down(y, n):
        return down(y * 0.5, n - 1)

    return down(x, 10)
