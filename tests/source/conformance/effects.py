"""Effects that are seen outside, beside what makes a compiled function leave."""

import math

from .case import at

SEEN = []
COUNTS = {"calls": 0}


@at([1.5, 2.5], 3)
@at([1.5, 2.5], 2**62)
def argument_is_changed_and_integers_overflow(values, n):
    values[0] = values[0] * 2
    k = n + n
    return values[0] * values[1] + (k > 0)


@at([1.5, 2.5], 2.0)
@at([1.5, 2.5], 0.0)
def argument_is_changed_and_division_is_caught(values, y):
    values[0] = values[0] * 3
    try:
        z = 1 / y
    except ZeroDivisionError:
        z = 7.0
    return values[0] * values[1] + z


@at([1.5, 2.5], 2.0)
@at([1.5, 2.5], 0.0)
def argument_grows_and_an_exception_follows(values, y):
    values.append(4.0)
    return values[0] * values[2] / y


@at({"a": 1.5}, 2**62)
def dict_argument_is_changed_and_integers_overflow(p, n):
    p["a"] = p["a"] + 1
    return p["a"] * ((n * 4) > n)


@at(1.5)
def global_list_grows(x):
    SEEN.append(1)
    return x * (len(SEEN) > 0)


@at(1.5)
def global_counter(x):
    COUNTS["calls"] += 1
    return x * x


@at(1.5)
@at(-1.5)
def print_before_an_exception(x):
    print(end="")
    return math.sqrt(x)


@at(2.0**62)
def overflow_after_a_local_change(x):
    a = [x, 2.0]
    a[0] = a[0] + 1
    k = int(x) * 4
    return a[0] + k


@at(1.5, 2**40)
def overflow_in_a_loop(x, n):
    k = 1
    for _ in range(3):
        k = k * n
        x = x * 1.5
    return x * (k > 0)


@at([1.5, 2.5])
def same_argument_by_two_names(values):
    def change(a, b):
        a[0] = 5.0 * a[1]
        return b[0]

    return change(values, values) * values[1]


def _shared():
    inner = [1.5, 2.5]
    return inner, inner


@at(*_shared())
def two_arguments_are_one_list(a, b):
    a[0] = a[1] * 3
    return b[0] * b[1]
