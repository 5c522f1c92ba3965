"""Exceptions that a function raises and its caller handles, beside functions of ``math``."""

import contextlib
import math
from contextlib import suppress

import numpy as np

from .case import at

PRICES = {"a": 2.0, "b": 3.0}


class OutOfRange(ValueError):
    pass


def logarithm(x):
    return math.log(x)


@at(1.5)
@at(-0.5)
@at(0.0)
def domain_of_a_helper(x):
    try:
        return logarithm(x) + logarithm(x + 1) * x
    except ValueError:
        return x * x


@at(1.5, 0.5)
@at(-1.5, 0.5)
@at(2.0, 3000.0)
@at(0.0, -1.0)
def powers(x, y):
    try:
        return math.pow(x, y)
    except ValueError:
        return 7 * x + y
    except OverflowError:
        return 3 * x


@at(0.0, math.nan)
@at(math.nan, 2.0)
@at(-1.0, math.nan)
def powers_of_nan(x, y):
    try:
        return 0.0 if math.isnan(math.pow(x, y)) else x
    except ValueError:
        return 1.0


@at(1.5, 2.0)
@at(1.5, 0.0)
def division_in_a_loop(x, y):
    total = 0.0
    for i in range(4):
        try:
            total += math.sin(x * i) / (y * (i - 2.0))
        except ZeroDivisionError:
            total += math.cos(x) * i
            continue
        total *= 1.1
    return total


@at(1.5, "a")
@at(1.5, "c")
def key_that_is_not_there(x, key):
    def price(key):
        return PRICES[key]

    try:
        return price(key) * math.sin(x)
    except KeyError:
        return math.cos(x)


@at(1.5, [1.0, 2.0], 1)
@at(1.5, [1.0, 2.0], 2)
@at(1.5, [1.0], -2)
def index_out_of_range(x, values, at):
    try:
        return values[at] * math.sin(x)
    except IndexError:
        return math.cos(x)


@at(1.5, 3)
@at(1.5, 30)
def array_that_is_too_short(x, n):
    values = np.zeros(8)
    for i in range(n):
        try:
            values[i] = math.sin(x * i)
        except IndexError:
            break
    return np.sum(values)


@at(2.0)
@at(-2.0)
def class_of_ones_own(x):
    def root(x):
        if x < 0:
            raise OutOfRange(f"{x} is negative")
        return math.sqrt(x)

    try:
        return root(x)
    except OutOfRange:
        return math.exp(x)


@at(2.0)
@at(-2.0)
def raised_from_another(x):
    def root(x):
        try:
            return math.sqrt(x)
        except ValueError as error:
            raise RuntimeError("no root") from error

    try:
        return root(x)
    except RuntimeError:
        return math.exp(x)


class Newton:
    def __init__(self):
        self.steps = 0

    def step(self, x, a):
        self.steps += 1
        if self.steps > 6:
            raise ArithmeticError("it does not converge")
        return 0.5 * (x + a / x)

    def root(self, a):
        x = a
        while abs(x * x - a) > 1e-10:
            x = self.step(x, a)
        return x


@at(2.0)
@at(900.0)
def state_is_kept(a):
    solver = Newton()
    try:
        return solver.root(a) + math.sin(a)
    except ArithmeticError:
        return math.cos(a) * solver.steps


def logarithms(x):
    for i in range(5):
        yield math.log(x - i)


@at(10.0)
@at(2.5)
def raised_by_a_generator(x):
    total = 0.0
    try:
        for y in logarithms(x):
            total += y
    except ValueError:
        total += 100 * x
    return total


@at(10.0)
@at(2.5)
def list_that_has_grown(x):
    found = []
    try:
        for i in range(5):
            found.append(math.log(x - i))
    except ValueError:
        found.append(x)
    return sum(found)


@at(2.0)
@at(-2.0)
def inner_handler_of_another_class(x):
    def inner(x):
        try:
            return math.log(x)
        except ZeroDivisionError:
            return 0.0

    try:
        return inner(x)
    except ValueError:
        return x * x


@at(1.0, [])
@at(1.0, [1.0, 3.0])
def largest_of_nothing(x, values):
    try:
        return max(values) * math.sin(x)
    except ValueError:
        return math.cos(x)


@at(1.0, "2.5")
@at(1.0, "x")
def text_that_is_no_number(x, text):
    try:
        return float(text) * math.sin(x)
    except ValueError:
        return math.cos(x)


@at(2.0)
@at(-2.0)
def assertion(x):
    def root(x):
        assert x > 0, "positive"
        return math.sqrt(x)

    try:
        return root(x)
    except AssertionError:
        return math.exp(x)


@at(2.0)
@at(-2.0)
def at_last_before_it_is_handled(x):
    def root(values):
        try:
            return math.log(values[0])
        finally:
            values[0] += 0.5

    values = [x]
    try:
        return root(values) * values[0]
    except ValueError:
        return values[0] * 3.0


@at(2.0)
@at(-2.0)
def at_last_after_a_handler_that_raises(x):
    try:
        try:
            x += math.sqrt(x)
        except ValueError:
            raise KeyError
        finally:
            x += 0.5
    except KeyError:
        return x * x
    return x


@at(0.5)
@at(1.5)
@at(-3.0)
def returned_at_last(x):
    for _ in range(3):
        try:
            if x > 1:
                return math.sqrt(2.0 - x)
        except ValueError:
            x *= 2.0
            continue
        finally:
            x += 1.0
            if x > 4.0:
                return x
    return -x


@at(1.5)
@at(-3.0)
@at(3.0)
@at(-4.0)
def item_of_a_range(x):
    try:
        return x * range(2, 8, 2)[int(x)]
    except IndexError:
        return -x


@at(2.5)
@at(-2.5)
def suppressed(x):
    with contextlib.suppress(ValueError):
        x += math.log(x)
        x *= 2.0
    return x * x


@at(2.5)
@at(1.5)
def suppressed_in_a_loop(x):
    total = 0.0
    for i in range(5):
        with suppress(ZeroDivisionError, ValueError), np.errstate(all="ignore"):
            total += 1.0 / (i - 3)
            total += math.sqrt(x - i)
            if i == 1:
                continue
        total *= 1.5
    return total


@at(2.0)
@at(-2.0)
def not_suppressed(x):
    kinds = (IndexError, KeyError)
    try:
        with suppress(*kinds), suppress(kinds):
            return math.sqrt(x)
    except ValueError:
        return 3.0 * x
