"""Values that are one of several things, of different kinds, by the way that led to them."""

import numpy as np

from .case import at


@at(0.5, 2)
@at(1.5, 3)
@at(4.5, -2)
def going_through_a_list_or_a_tuple(x, n):
    found = [x, n] if x > 1 else (x * 2, 3, 4.0)
    total = 0.0
    for i, v in enumerate(found):
        total += i * v
        if total > 4:
            break
    else:
        total -= 1
    for u, v in zip((1.0, x, 2), found):
        if u > 3:
            return total
        total += u * v
    return total + sum(v * v for v in found)


@at(0.5, 0)
@at(0.5, 2)
@at(-1.5, 2)
def going_through_one_of_two_dicts(x, n):
    d = {"p": x, "q": 2.0 * x}
    for _ in range(n):
        if x < 0:
            d = {"p": x > 0, "q": 3}
        x = x + 0.25
    return x + sum(d.values()) + sum([v for _, v in d.items()])


@at(0.5, 2)
@at(1.5, 3)
@at(-2.5, 0)
def an_array_of_numbers_of_several_kinds(x, n):
    a = np.array([min(x, n), n, True, max(1, x), 0.25], dtype=float)
    b = np.array([n, n * 2], dtype=float)
    return (a * a).sum() + x * b[1]


@at(0.5, 2)
@at(-1e40, 0)
@at(1e40, -3)
@at(float("inf"), 1)
def comparing_with_an_integer_of_many_bits(x, n):
    total = 0.0
    if x < 2**70:
        total += 1
    if -(2**64) <= n < 2**64:
        total += 10
    if 2**70 == n:
        total += 100
    if x < -(2**70):
        total += 1000
    return total + min(x, 2**70) * 2.0


@at(0.5)
@at(3e21)
def comparing_with_an_integer_that_is_no_float(x):
    return x if x < 2**70 + 1 else 2 * x


@at(0.7)
@at(-0.7)
def text_within_a_text(x):
    part, key = ("xy", "a") if x > 0.0 else ("z", "b")
    held = x * (part in "xyz") + 2.0 * (part + "z" in "xyz") + 4.0 * (key in "bc")
    return held + 8.0 * (key in {"a": x}) + 16.0 * (key in {"b", "c"})


@at(0.7)
def number_within_a_text(x):
    return x in "0.7"


@at(0.7, np.array([1.5, 0.25, 3.0]), 2)
def items_of_ranges(x, a, n):
    places = range(1, 9, 2)[np.argmax(a)], range(n)[np.argmin(a)], range(4)[n]
    return places[0] / x + places[1] + places[2], places


@at(0.7, np.array([1.5, 0.25, 3.0]))
def no_item_of_a_range(x, a):
    return range(4)[a > 1.0]
