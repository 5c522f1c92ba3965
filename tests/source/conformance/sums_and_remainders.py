"""``fsum``, ``remainder`` and ``modf`` of what is computed, to the last bit."""

import math

from .case import at


@at([1.0, 2.0, 0.5])
@at([0.1] * 10)
@at([])
def exact_sum(values):
    return math.fsum(values)


@at([1.0, 1e100, 1.0, -1e100])
@at([2.0**53, 1.0, 2.0**-60])
@at([1.0, 2.0**-53, 5e-324])
@at([1.0 + 2.0**-52, 2.0**-53, -5e-324])
def sum_that_cancels(values):
    return math.fsum(values)


@at([1e308, 1e308])
@at([math.inf, 1.0])
@at([math.inf, -math.inf])
def sum_that_is_no_number(values):
    return math.fsum(values)


@at([1.0, 2.0, 4.0], [1.0, 3.0, 2.0])
def sum_of_a_generator(xs, ys):
    mean = math.fsum(xs) / len(xs)
    return math.fsum((x - mean) * y for x, y in zip(xs, ys, strict=True))


@at(7.3, 2.0)
@at(-8.3, 2.0)
@at(8.9, -2.0)
@at(0.3, math.inf)
def remainder(x, y):
    return math.remainder(x, y)


@at(3.0)
@at(5.0)
@at(-1.0)
@at(-0.0)
@at(math.inf)
def remainder_at_special_points(x):
    return math.copysign(1.0, math.remainder(x, 2.0)) + math.remainder(x, 2.0)


@at(1.0)
def remainder_by_zero(x):
    return math.remainder(x, 0.0 * x)


@at(0.5)
@at(400.0)
@at(-190.0)
def angle_within_a_turn(degrees):
    def within(x):
        y = math.remainder(x, 360.0) if math.isfinite(x) else math.nan
        return 180.0 if y == -180.0 else y

    return within(degrees) ** 2 * math.sin(math.radians(within(degrees)))


@at(2.75)
@at(-2.75)
@at(-0.0)
def parts_of_a_number(x):
    part, whole = math.modf(x)
    return 2.0 * part + 3.0 * whole + math.copysign(1.0, part) + math.copysign(4.0, whole)


@at(math.inf)
@at(-2.0)
def parts_of_whole_numbers(x):
    part, whole = math.modf(x)
    return math.copysign(1.0, part) * (part == 0.0) * (whole == x)
