"""``round`` to decimals: correctly rounded, half to even, with Python's special cases."""

import math

from .case import at


@at(2.675)
@at(0.125)
@at(-0.375)
@at(1.005)
@at(-0.004)
@at(123456789.98765)
def two_decimals(x):
    return x * x + round(x, 2)


@at(2.5)
@at(-0.5)
@at(0.5)
@at(-0.3)
@at(4503599627370497.5)
def no_decimals_and_a_float(x):
    return x + math.copysign(1.0, round(x, 0)) * round(x, 0)


@at(1250.0)
@at(-1350.0)
@at(1249.9999999999998)
@at(12345678901234567890.0)
def hundreds(x):
    return x + round(x, -2)


@at(math.inf)
@at(math.nan)
@at(1e300)
@at(5e-324)
@at(1e16)
def special_values(x):
    return round(x, 3) + round(x, -3) * 0.0 + x


@at(0.1234567890123456789)
@at(12.5)
def many_decimals(x):
    return round(x, 15) + round(x, 22) + round(x, ndigits=1)


@at(2.5, 3)
def integers(x, n):
    return x * round(n, 2) + round(True, 1)


@at(1.23)
def of_a_branch(x):
    y = x if x > 1 else 2
    return round(y, 1) * x


@at(2.5)
def digits_that_are_none(x):
    return x * round(x, None)


@at(2.5)
def digits_that_are_no_integer(x):
    return x * round(x, 1.5)


@at(2.5)
def more_digits_than_there_are(x):
    return x * round(x, 400) + round(x, -400)
