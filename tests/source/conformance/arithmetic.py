"""Operators on floats."""

from .case import at


@at(1.5)
def identity(x):
    return x


@at(1.5)
def constant(x):
    return 3.25


@at(1.5, -0.25)
def sum_and_difference(x, y):
    return x + y - (y - 2.5) - x * 0.5


@at(1.5, -0.25)
def product(x, y):
    return x * y * 3.0 * x


@at(1.5, -0.25)
@at(1.5, 0.0)
def quotient(x, y):
    return x / y


@at(0.3)
def reciprocal(x):
    return 1 / x


@at(1.7)
@at(-1.7)
def negation(x):
    return -x * -(-x) + +x


@at(1.7)
@at(-1.7)
def absolute(x):
    return abs(x) * x


@at(7.3, 2.1)
@at(-7.3, 2.1)
@at(7.3, -2.1)
@at(-7.3, -2.1)
@at(7.3, 0.0)
def floor_division(x, y):
    return x // y * x


@at(7.3, 2.1)
@at(-7.3, 2.1)
@at(7.3, -2.1)
@at(-7.3, -2.1)
@at(7.3, 0.0)
def remainder(x, y):
    return x % y * x


@at(7.3, 2.1)
@at(-7.3, 2.1)
@at(7.3, -2.1)
@at(-7.3, -2.1)
@at(1.0, 0.0)
def quotient_and_remainder(x, y):
    q, r = divmod(x, y)
    return q * y + r * r


@at(1.3)
@at(-1.3)
@at(0.0)
def square(x):
    return x**2


@at(1.3)
@at(-1.3)
def cube_by_float(x):
    return x**3.0


@at(1.3)
@at(-1.3)
@at(0.0)
def negative_power(x):
    return x**-2


@at(1.3)
@at(0.0)
def power_zero(x):
    return x**0 + x


@at(1.3)
def square_root_by_power(x):
    return x**0.5


@at(1.3, 2.7)
@at(0.4, -1.2)
@at(-2.0, 3.0)
def power_of_two_numbers(x, y):
    return x**y


@at(1.3)
@at(-4.0)
def power_of_constant(x):
    return 2**x + 0.5**x


@at(400.0)
def power_overflows(x):
    return x**200.0


@at(0.0)
def zero_to_negative(x):
    return x**-1.5


@at(1.3)
def power_is_right_associative(x):
    return 2.0**x**2 - -(x**2)


@at(1e200)
def product_overflows_to_infinity(x):
    return x * x


@at(1e-200)
def product_underflows(x):
    return x * x


@at(0.1, 0.2)
def sums_are_not_reassociated(x, y):
    return (x + y + 0.3) - (x + (y + 0.3)) + x


@at(3.0)
def products_are_not_distributed(x):
    return (x * 0.1 + x * 0.2) - x * (0.1 + 0.2) + x


@at(2.7)
@at(-2.7)
def rounding(x):
    return round(x) * x + round(x, 1) + int(x) * 0.5


@at(2.5)
@at(3.5)
@at(-2.5)
@at(0.5)
def rounding_half_to_even(x):
    return round(x) * x


@at(1.1, 2.3)
@at(2.3, 1.1)
@at(2.0, 2.0)
def extremes(x, y):
    return max(x, y) * 3.0 - min(x, y)


@at(1.1, 2.3, -0.4)
def extremes_of_three(x, y, z):
    return max(x, y, z) * min(z, y, x) + max(0.0, z)


@at(1.1, 2.3)
def sum_of_tuple(x, y):
    return sum((x, y, x * y)) + sum([x, y], 0.5)


@at(2.0)
def float_of_float(x):
    return float(x) * float(3) + float("2.5")


@at(1.5)
def methods_of_floats(x):
    return x * x.is_integer() + x.conjugate() * x.real + x.imag


@at(0.7)
def nested_expression(x):
    return ((x + 1) * (x - 1) / (x * x + 1) - x) ** 2 / (1 + (x + 2) * (x + 3))


@at(0.7)
def long_straight_code(x):
    a = x + 1.0
    b = a * x
    c = b - a
    d = c / b
    e = d * d + a
    f = e - c * b
    g = f / (a + 2)
    return g * e + d
