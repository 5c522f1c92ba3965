"""Signed zeros, infinities, NaN, subnormal and very large numbers."""

import math

import numpy as np

from .case import at

INF, NAN = float("inf"), float("nan")


@at(0.0)
@at(-0.0)
def sign_of_zero(x):
    return math.copysign(3.0, x) + x


@at(0.0)
@at(-0.0)
def negative_zero_is_kept(x):
    return -x


@at(0.0)
@at(-0.0)
def zero_plus_negative_zero(x):
    return x + -0.0


@at(-0.0)
def zero_times_negative(x):
    return x * 3.0


@at(0.0)
def zero_minus_zero(x):
    return 0.0 - x


@at(-3.0)
def product_with_zero_keeps_its_sign(x):
    return 0.0 * x


@at(-3.0)
def sum_with_zero_drops_the_sign(x):
    return (0 * x) + 0.0


@at(INF)
@at(-INF)
@at(NAN)
def arithmetic_of_infinities(x):
    return x * 0.5 + 1


@at(INF)
def infinity_minus_infinity(x):
    return x - x


@at(INF)
def infinity_times_zero(x):
    return x * 0


@at(INF, 2.0)
@at(3.0, INF)
@at(-3.0, INF)
@at(INF, INF)
def remainder_of_infinities(x, y):
    return x % y


@at(INF, 2.0)
@at(-3.0, INF)
@at(3.0, -INF)
def floor_division_of_infinities(x, y):
    return x // y


@at(5e-324)
@at(1e-310)
def subnormal(x):
    return x * 0.5 + x


@at(5e-324)
def subnormal_quotient(x):
    return x / 3.0


@at(1.7e308)
def near_the_largest(x):
    return x * 2 - x


@at(NAN)
def nan_in_max(x):
    return max(x, 1.0) + max(1.0, x)


@at(0.0)
@at(-0.0)
def zeros_in_max(x):
    return math.copysign(1.0, max(x, 0.0)) + math.copysign(1.0, min(0.0, x)) * 3


@at(NAN)
def nan_to_the_zero(x):
    return x**0 + 1.0**x


@at(INF)
@at(-INF)
def infinity_to_powers(x):
    return x**2 + x**-1 + 2.0**x


@at(-8.0)
def negative_to_a_fraction(x):
    return x ** (1 / 3)


@at(-0.0)
@at(0.0)
def zero_to_odd_powers(x):
    return x**3


@at(-7.5)
@at(-0.0)
def remainder_has_the_sign_of_the_divisor(x):
    return x % 2.5


@at(6.0)
@at(-6.0)
def remainder_is_a_signed_zero(x):
    return math.copysign(1.0, x % -2.0) + math.copysign(1.0, x % 2.0) * 3


@at(1.0)
@at(1.0000000000000002)
def floor_division_of_close_numbers(x):
    return x // 0.1 + x % 0.1


@at(1e308, 10.0)
def quotient_overflows(x, y):
    return x / (1 / y) * 0.5


@at(2.0**53)
def ties(x):
    return x + 1.0 - x


@at(0.1)
def decimal_fractions(x):
    return x + 0.2 - 0.3


@at(INF)
def comparison_with_infinity(x):
    return 1.0 if x > 10**30 else 2.0


@at(-0.0)
def truth_of_negative_zero(x):
    return 1.0 if x else 2.0


@at(0.0)
def abs_at_its_kink(x):
    return abs(x) + x


@at(1e-320)
def square_root_of_subnormal(x):
    return math.sqrt(x)


UNLIMITED = math.inf


@at(np.array([0.5, -1.5, 0.7]))
def infinity_as_an_option(x):
    least = UNLIMITED
    for t in x:
        least = min(least, t * t)
    return least * np.linalg.norm(x, np.inf) + np.linalg.norm(x, -UNLIMITED) * x[0]
