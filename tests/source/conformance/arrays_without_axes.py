"""Arrays without axes, as arguments that need no gradient and made of numbers: NumPy makes numbers
of them.
"""

import math

import numpy as np

from .case import at

RATE = np.array(0.25)
STEP = np.array(0.5, np.float32)


@at(1.5, np.float64(2.0))
def factor_is_captured(x, y):
    return x * RATE + y / RATE - RATE


@at(1.5)
@at(-0.0)
def arithmetic_of_a_captured_one(x):
    a = RATE * 2.0 + 1
    return x * (a // 0.3) + a % 0.7 - (-RATE) * x + abs(RATE) * x


@at(1.5)
def in_single_precision(x):
    y = STEP * 2.0
    return x * float(y) + (y.dtype == np.float32)


@at(np.array([1.5, -2.5]))
def with_arrays(x):
    return np.sum(x * RATE + np.exp(RATE) * x)


@at(0.1)
@at(2.0)
def compared_and_converted(x):
    if x < RATE:
        return float(RATE) * x
    return math.sqrt(RATE) * x + int(RATE) + bool(RATE)


@at(1.5)
def powers(x):
    return RATE**2 * x


@at(1.5)
def changed_in_place(x):
    a = RATE
    a *= 1.0
    return a * x


@at(1.5)
def class_of_it(x):
    return x * isinstance(RATE, float) + x * isinstance(RATE, np.ndarray) + (RATE is None)


@at(1.5)
def among_others(x):
    return x * max(RATE, x) + (RATE in [x, 0.25]) + sum([RATE, x])


@at(1.5)
def shape_of_it(x):
    return x * len(RATE.shape)


@at(1.5)
def in_a_loop(x):
    y = x
    for _ in range(3):
        y = y - RATE * y
    return y


@at(1.5)
def product(x):
    return math.prod([x, 2, x]) * math.prod((x * k for k in (1, 2)), start=3) + math.prod([])


@at(1.5, 2)
def float64_of_numbers(x, n):
    return np.float64(x) / n + np.float64(n) * x


@at(1.5)
@at(-0.5)
@at(np.float32(0.25))
def where_a_number_is_positive(x):
    return np.where(x > 0, x * x, -x)


@at(1.5, 2.5)
@at(2.5, 1.5)
@at(np.float64(1.0), 1.25)
def where_one_number_is_less(x, y):
    smaller = np.where(x < y, x, y)
    return smaller * 2.0 + np.where(not x < y, 3.0, smaller)


@at(1.5)
@at(-1.5)
def where_between_an_array_and_a_number(x):
    rows = np.array([1.0, -2.0, 3.0]) * x
    return np.where(x > 0, rows, 0.5), np.where(x <= 0.0, x, rows).sum()


@at(1.5, 0.75)
@at(-1.5, 0.75)
@at(1.5, -0.5)
def where_two_conditions_hold(x, y):
    both = np.where(x > 0 and y > 0, x * y, 2.0 * x)
    either = np.where(x > 1.0 or not y > 0, y, 3.0)
    return both + either + (x if not y or x < np.where(0.5 <= y, 2.0, x) else y)


def norm_of_what_may_be_a_number(x):
    x = np.asarray(x, dtype=float)
    return np.sqrt(x * x) if x.ndim == 0 else np.linalg.norm(x)


@at(1.5)
@at(-1.5)
def made_of_a_number(x):
    y = np.array(x, copy=True)
    if y > 1:
        y = y * 2 - np.asarray([x, y]).sum()
    return norm_of_what_may_be_a_number(x) * y + norm_of_what_may_be_a_number([x, y * x, 2.0])


@at(0.5)
@at(np.float32(0.25))
def converted_to_numbers(x):
    y = np.asarray(x)
    return math.sin(y) * float(y) + int(y + 2.25) * x + y[()] + np.ascontiguousarray(y)[0]


@at(0.5)
@at(1.5)
def written_to(x):
    y = np.array(x)
    z = y
    for k in range(3):
        y += x * k
    y[...] = y * x
    z[()] = y + max(np.where(x > 1, x, 2.0), 1.0)
    return y * x + y.shape[0] if y.shape else y * x


@at(0.5)
@at(3.0)
def larger_of_one_and_a_number(x):
    return max(np.array(x * x), 1.0)


@at(1.5)
def none_is_truncated_by_math(x):
    total = math.floor(RATE) * x + math.ceil(RATE)
    try:
        return total + math.trunc(RATE)
    except TypeError:
        return total + x * x
