"""Comparisons, chains of them, and truth."""

import numpy as np

from .case import at


@at(1.5)
@at(2.5)
def less(x):
    return x * x if x < 2 else -x


@at(2.0)
def less_or_equal_at_the_point(x):
    return x * x if x <= 2 else -x


@at(1.5)
@at(2.0)
@at(3.5)
def chained(x):
    return x * x if 1 < x <= 2.0 < 3 else x + 5


@at(1.5, 2.5)
@at(2.5, 1.5)
def chain_of_three(x, y):
    return x * y if 0 < x < y < 3 else y - x


@at(1.5)
@at(-1.5)
def chain_evaluates_the_middle_once(x):
    seen = 0

    def middle():
        nonlocal seen
        seen += 1
        return x

    inside = 0 < middle() < 2
    return x * seen + (10.0 if inside else 20.0)


@at(1.5)
@at(-1.5)
def chain_stops_early(x):
    seen = 0

    def last():
        nonlocal seen
        seen += 1
        return 2.0

    inside = 0 < x < last()
    return x * (seen + 3) + inside


@at(1.5, 1.5)
@at(1.5, 2.0)
def equality(x, y):
    return x * 2 if x == y else y * 3 if x != y else 0.0


@at(float("nan"))
def comparisons_with_nan(x):
    n = (x < 1) + (x > 1) * 2 + (x == x) * 4 + (x != x) * 8 + (x <= x) * 16
    return 2.0 * n + 0 * 1.0


@at(0.0)
@at(-0.0)
def zeros_are_equal(x):
    return x + 1 if x == -0.0 else x - 1


@at(1.5, 3)
def float_with_integer(x, n):
    return x * n if x < n else x


@at(1.5, True)
def float_with_truth(x, flag):
    return x * 3 if x > flag else x


@at(1.5)
@at(0.0)
@at(-0.0)
@at(float("nan"))
def truth_of_float(x):
    if x:
        return x * 2
    return x + 1


@at(1.5)
@at(0.0)
def not_of_float(x):
    return x + (not x) + (not not x) * 3


@at(1.5, 2.5)
@at(0.0, 2.5)
@at(1.5, 0.0)
def and_gives_a_value(x, y):
    return (x and y) * 3


@at(1.5, 2.5)
@at(0.0, 2.5)
@at(0.0, 0.0)
def or_gives_a_value(x, y):
    return (x or y or 7.0) * 3


@at(1.5, 2.5)
@at(-1.5, 2.5)
@at(-1.5, -2.5)
def and_or_of_conditions(x, y):
    if x > 0 and y > 0 or x * y > 10:
        return x * y
    if not (x > 0 or y > 0):
        return x - y
    return x + y


@at(1.5)
@at(0.0)
def or_guards_division(x):
    return 1.0 if x == 0 or 1 / x > 10 else x * 2


@at(1.5)
@at(0.0)
def and_guards_division(x):
    return 1 / x if x != 0 and 1 / x < 10 else x + 4


@at(1.5, 0)
@at(1.5, 3)
def or_with_a_default(x, n):
    n = n or 5
    return x * n


@at(1.5)
def conditions_are_values(x):
    big = x > 1
    small = x < 1
    return x * big - 3 * x * small + (big == small) + (big is True)


@at(1.5)
def is_none(x):
    missing = None
    if missing is None and x is not None:
        return x * 2
    return x


@at(1.5, None)
@at(1.5, 2.0)
def optional_argument(x, scale):
    return x * scale if scale is not None else x * x


@at(1.5, 2)
@at(1.5, 5)
def membership_in_a_tuple(x, n):
    return x * 2 if n in (1, 2, 3) else x * 3 if n not in (4, 6) else x


@at(1.5, "a")
@at(1.5, "b")
def equality_of_strings(x, name):
    return x * x if name == "a" else -x


@at(1.5)
@at(1.0)
def any_and_all(x):
    a = any(x > k for k in (1.0, 2.0, 3.0))
    b = all([x > 0, x < 2])
    return x * (1 + a + 2 * b)


@at(1.5, 2.5)
@at(2.5, 1.5)
def comparison_of_tuples(x, y):
    return x * 2 if (x, 1) < (y, 0) else y * 5


@at(1.5, "square")
@at(1.5, ["scale", 2.0])
@at(1.5, ("add", 2.0))
@at(1.5, {"add": 2.0})
@at(1.5, None)
def option_of_one_class_or_another(x, option):
    if option == "square" or option == {1.0}:
        return x * x
    match option:
        case None | "none":
            return x
        case ["scale", k] if option != ("scale", k):
            return k * x
    return x * 7.0 if [x] == option or option == 2.0 else x * 3.0


@at(1.5)
def lists_are_not_before_strings(x):
    try:
        return x if [x] < "a" else -x
    except TypeError:
        return x * 3.0


@at(1.5)
@at(-1.0)
def items_in_arrays(x):
    """An array has what one of its elements is equal to."""
    a = np.ones((2, 3)) * x
    found = [x in a, 7 in a, np.float32(8.5) not in a, (7.0, x, 8.0) in a, a in a, x in a[0, :0]]
    for k in range(7, 9):
        found.append(k in a[0])
    return x * sum(3.0**k for k, one in enumerate(found) if one)


@at(1.5)
def keys_that_cannot_be_hashed(x):
    try:
        return x * (np.array([1]) not in {})
    except TypeError:
        return x * 3.0
