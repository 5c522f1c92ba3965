"""Functions of math, and what they raise."""

import math
from math import cos, exp
from math import sin as sine

from .case import add, at


@at(0.7)
def imported_by_name(x):
    return sine(x) * cos(x) + exp(x)


@at(0.7)
def all_together(x):
    return math.exp(-x * x) * math.sin(3 * x) / math.sqrt(1 + x) + math.log(x)


def _of(name):
    function = getattr(math, name)

    def f(x):
        return function(x) * x

    return f


ONE = {
    "sin": 0.7, "cos": 0.7, "tan": 0.7, "asin": 0.4, "acos": 0.4, "atan": 0.7, "sinh": 0.7,
    "cosh": 0.7, "tanh": 0.7, "asinh": 0.7, "acosh": 1.7, "atanh": 0.4, "exp": 0.7, "exp2": 0.7,
    "expm1": 0.7, "log": 1.7, "log2": 1.7, "log10": 1.7, "log1p": 0.7, "sqrt": 1.7, "cbrt": 1.7,
    "erf": 0.7, "erfc": 0.7, "gamma": 2.7, "lgamma": 2.7, "fabs": -0.7, "degrees": 0.7,
    "radians": 0.7,
}  # fmt: skip
for _name, _at in ONE.items():
    add(_of(_name), _at, name=f"closure_over_{_name}")

# Where math raises, or is at the end of its domain.
WRONG = {
    "sin": math.inf, "cos": -math.inf, "tan": math.inf, "asin": 1.5, "acos": -1.5, "acosh": 0.5,
    "atanh": 1.0, "exp": 1000.0, "exp2": 2000.0, "expm1": 1000.0, "log": 0.0, "log2": -1.0,
    "log10": -0.0, "log1p": -1.0, "sqrt": -1.0, "gamma": -2.0, "lgamma": 0.0, "sinh": 1000.0,
    "cosh": 1000.0,
}  # fmt: skip
for _name, _at in WRONG.items():
    add(_of(_name), _at, name=f"{_name}_raises")


@at(-0.5)
@at(-20.4)
def gamma_where_it_is_not_positive(x):
    return math.gamma(x) * 2.0 + math.lgamma(x)


@at(1.5, 0.5)
@at(-1.5, -0.5)
def angle(y, x):
    return math.atan2(y, x) * x


@at(1.5, 0.5)
def hypotenuse(x, y):
    return math.hypot(x, y) + math.hypot(x, y, 2.0) * math.dist((x, y), (1.0, 2.0))


@at(1.5, 2.5)
@at(-8.0, 1 / 3)
@at(0.0, -1.0)
def power(x, y):
    return math.pow(x, y)


@at(7.5, 2.0)
@at(-7.5, 2.0)
@at(7.5, 0.0)
def remainders(x, y):
    return math.fmod(x, y) * x + math.remainder(x, y)


@at(1.5, -2.0)
@at(-1.5, 0.0)
@at(1.5, -0.0)
def sign_copied(x, y):
    return math.copysign(x, y) * x


@at(8.0)
def logarithm_to_a_base(x):
    return math.log(x, 3) + math.log(2, x)


@at(2.7)
@at(-2.7)
def rounding(x):
    return x * math.floor(x) + math.ceil(x) - math.trunc(x) * x


@at(1e300)
def floor_beyond_64_bits(x):
    return x * (math.floor(x) > 5)


@at(float("nan"))
def floor_of_nan(x):
    return x * math.floor(x)


@at(1.5)
def constants(x):
    return x * math.pi + math.e - math.tau + (math.inf > x)


@at(1.5)
@at(float("inf"))
@at(float("nan"))
def predicates(x):
    if math.isnan(x):
        return 1.0
    if math.isinf(x) or not math.isfinite(x):
        return 2.0
    return x * math.isclose(x, 1.5)


@at(1.5)
def sums_and_products(x):
    return math.fsum([x, 1e16, x * x, -1e16]) + math.prod([x, 2.0, x])


@at(1.5, 10)
def integer_functions(x, n):
    return x * math.factorial(n) + math.gcd(n, 4) + math.comb(n, 3) + math.isqrt(n)


@at(1.5, 3)
def scaled_by_a_power_of_two(x, n):
    return math.ldexp(x, n) * x


@at(3.75)
def parts(x):
    fraction, whole = math.modf(x)
    return fraction * x + whole


@at(0.7)
def of_an_integer(x):
    return x * math.sin(1) + math.sqrt(4) + math.exp(0)


@at(0.7, 4)
def of_an_integer_argument(x, n):
    return x * math.sqrt(n) + math.log(n)


@at(0.5, 20)
def in_a_loop(x, n):
    for _ in range(n):
        x = math.sin(x) * 1.01 + 0.1 * x
    return x


@at(0.7)
def cancels(x):
    return math.sin(x) ** 2 + math.cos(x) ** 2 + x


@at(2.0)
@at(-2.0)
def chosen_by_a_value(x):
    f = math.sin if x > 0 else math.cos
    return f(x)


@at(0.7)
def passed_as_an_argument(x):
    def apply(f, y):
        return f(y) * f(2 * y)

    return apply(math.sin, x) + apply(math.exp, x)


@at("text")
@at(1.5)
def of_a_string(x):
    return math.sin(x)


@at(0.3)
def softplus(x):
    return math.log1p(math.exp(-abs(x))) + max(x, 0.0)


@at(0.3, 1.2, 0.5)
def normal_log_density(x, mean, deviation):
    z = (x - mean) / deviation
    return -0.5 * z * z - math.log(deviation) - 0.5 * math.log(2 * math.pi)
