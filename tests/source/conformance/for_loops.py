"""for loops over ranges and what else can be walked over."""

import math

import numpy as np

from .case import at


@at(1.5)
def fixed_count(x):
    y = x
    for _ in range(5):
        y = y * x + 1
    return y


@at(1.5, 4)
@at(1.5, 0)
@at(1.5, -2)
def count_from_an_argument(x, n):
    y = 1.0
    for _ in range(n):
        y = y * x
    return y


@at(1.5, 5)
def index_is_used(x, n):
    y = 0.0
    for i in range(n):
        y += i * x**i
    return y


@at(1.5, 2, 9)
@at(1.5, 9, 2)
def start_and_stop(x, a, b):
    y = x
    for i in range(a, b):
        y += x / i
    return y


@at(1.5, 9, 2, -3)
@at(1.5, 2, 9, 2)
@at(1.5, 2, 9, 0)
def steps(x, a, b, c):
    y = x
    for i in range(a, b, c):
        y = y * 0.5 + i * x
    return y


@at(1.5, 4)
def index_after_the_loop(x, n):
    for i in range(n):
        pass
    return x * i


@at(1.5, 0)
def index_unbound_after_no_iteration(x, n):
    for i in range(n):
        pass
    return x * i


@at(1.5, 4)
def index_is_assigned_in_the_body(x, n):
    y = 0.0
    for i in range(n):
        y += x * i
        i = 10
        y += i
    return y


@at(1.5, 4)
def argument_is_shadowed_by_the_index(x, n):
    for n in range(n):
        x = x * 1.5 + n
    return x * n


@at(1.5, 3)
def bound_is_read_once(x, n):
    for _ in range(n):
        n = n + 2
        x = x * 1.1
    return x * n


@at(1.5, 3, 4)
def nested(x, n, m):
    y = 0.0
    for i in range(n):
        for j in range(m):
            y += (i - j) * x**i / (j + x)
    return y


@at(1.5, 5)
def triangular(x, n):
    y = 0.0
    for i in range(n):
        for j in range(i):
            y = y * 0.9 + x * i - j
    return y


@at(1.5)
def over_a_tuple(x):
    y = x
    for c in (1.0, -2.0, 0.5):
        y = y * x + c
    return y


@at(1.5)
def over_a_list_of_computed(x):
    y = 1.0
    for v in [x, x * x, x + 1]:
        y = y * v
    return y


@at(1.5, [0.5, 1.0, -2.0])
def over_a_list_argument(x, values):
    y = x
    for v in values:
        y = y * x + v
    return y


@at([0.5, 1.0, -2.0])
def horner(coefficients):
    y = 0.0
    for c in coefficients:
        y = y * 1.5 + c
    return y


@at((0.5, 1.0, -2.0))
def over_a_tuple_argument(values):
    y = 1.0
    for v in values:
        y = y * (v + 3)
    return y


@at(1.5)
def kinds_of_elements_differ(x):
    y = 0.0
    for v in (x, 2, True, 0.5):
        y += v * x
    return y


@at(1.5)
def over_pairs(x):
    y = x
    for a, b in ((1.0, 2.0), (3.0, 4.0), (x, x * x)):
        y = y * 0.1 + a * b
    return y


@at(1.5)
def over_nested_pairs(x):
    y = x
    for i, (a, b) in enumerate([(1.0, x), (x, 4.0)]):
        y += a * b * i + a
    return y


@at(1.5, [0.5, 1.0, -2.0])
def with_enumerate(x, values):
    y = 0.0
    for i, v in enumerate(values, 1):
        y += v * x**i
    return y


@at([1.5, 2.5, 0.5], [0.5, 1.0, -2.0])
@at([1.5, 2.5, 0.5], [0.5, 1.0])
def with_zip(xs, ys):
    total = 0.0
    for x, y in zip(xs, ys):
        total += x * y * y
    return total


@at([1.5, 2.5, 0.5], [0.5, 1.0])
def with_strict_zip_of_other_lengths(xs, ys):
    total = 0.0
    for x, y in zip(xs, ys, strict=True):
        total += x * y
    return total


@at([1.5, 2.5, 0.5])
def with_reversed(xs):
    y = 0.0
    for x in reversed(xs):
        y = y * 0.5 + x * x
    return y


@at(1.5, 5)
def with_reversed_range(x, n):
    y = 0.0
    for i in reversed(range(n)):
        y = y * x + i
    return y


@at([1.5, 2.5, 0.5])
def with_sorted(xs):
    y = 0.0
    for x in sorted(xs):
        y = y * 0.5 + x
    return y


@at([1.5, 2.5, 0.5])
def with_sorted_backwards(xs):
    y = 0.0
    for x in sorted(xs, reverse=True):
        y = y * 0.5 + x
    return y


@at({"a": 1.5, "b": 2.5})
def over_a_dict(parameters):
    y = 1.0
    for key in parameters:
        y = y * parameters[key] + 1
    return y


@at({"a": 1.5, "b": 2.5})
def over_items(parameters):
    y = 0.0
    for key, v in parameters.items():
        y += v * v if key == "a" else v
    return y


@at({"a": 1.5, "b": 2.5})
def over_values(parameters):
    y = 1.0
    for v in parameters.values():
        y *= v
    return y


@at(1.5)
def over_characters(x):
    y = x
    for letter in "abca":
        y = y * 2 if letter == "a" else y + x
    return y


@at(1.5, 100)
def breaks(x, n):
    y = x
    for i in range(n):
        if y > 20:
            break
        y = y * x + i
    return y * i


@at(1.5, 8)
def continues(x, n):
    y = 0.0
    for i in range(n):
        if i % 3 == 1:
            continue
        y = y * 0.7 + i * x
    return y


@at(1.5, 8)
@at(1.5, 2)
def loop_else(x, n):
    for i in range(n):
        x = x * 1.3
        if x > 4:
            break
    else:
        x = x * 100
    return x


@at(1.5, 8)
@at(9.5, 8)
def returns_inside(x, n):
    for i in range(n):
        x = x * 1.3
        if x > 4:
            return x * i
    return -x


@at(1.5, 3)
def break_of_the_inner_loop_only(x, n):
    y = 0.0
    for i in range(n):
        for j in range(10):
            if j > i:
                break
            y += x * j
        else:
            y = -1000.0
        y += i
    return y


@at(1.5, 3)
def break_out_of_two_loops(x, n):
    y = 0.0
    for i in range(n):
        for j in range(n):
            y += x * i * j
            if y > 3:
                break
        else:
            continue
        break
    return y * (i + j)


@at(0.9, 30)
def sine_by_its_series(x, n):
    term, total = x, 0.0
    for k in range(n):
        total += term
        term = -term * x * x / ((2 * k + 2) * (2 * k + 3))
    return total


@at(0.5, 1000)
def thousand_iterations(x, n):
    for _ in range(n):
        x = x * 0.999 + 0.001 * x * x
    return x


@at(0.5, 50)
def two_values_carried(x, n):
    v = 0.0
    for _ in range(n):
        v = v - 0.01 * x
        x = x + 0.01 * v
    return x * x + v * v


@at(1.5, 4)
def index_times_float_in_the_exponent(x, n):
    y = 0.0
    for i in range(1, n):
        y += x**i - i**x
    return y


@at(1.5)
def target_is_an_item(x):
    slots = [0.0, 0.0]
    for slots[1] in (x, x * x):
        slots[0] += slots[1]
    return slots[0] * slots[1]


@at(1.5, 3)
def starred_target(x, n):
    y = 0.0
    for first, *rest in ((x, 1.0, 2.0), (x * x, 3.0)):
        y += first * sum(rest) + len(rest)
    return y


@at(1.5)
def range_as_a_value(x):
    r = range(2, 10, 3)
    y = x * len(r) + r[1] + r[-1]
    for i in r:
        y = y * 0.5 + i
    return y


@at(1.5)
def over_a_tuple_whose_lists_change(x):
    total, pair = 0.0, ([x], [x * x, 2.0])
    for values in pair:
        values.append(3.0 * x)
        pair[1].append(x)
        total = total * x + sum(values)
    return total


MANY = np.random.default_rng(4).permutation(2500)


@at(np.linspace(0.1, 0.9, 2500))
def over_many_known_integers(x):
    total = 0.0
    for i in MANY:
        total += x[i] * (i % 3)
    for k, i in enumerate(np.arange(len(x))):
        total = total * 0.999 + x[i] * x[MANY[k]]
    return total


@at(0.7123)
def a_block_that_one_way_goes_past(x, n=3):
    y = x = math.sin(x)
    for k in range(n):
        if k == 1:
            y = y * x
        for _ in range(2 - k):
            y *= x
    return y


@at(0.7123)
def elements_exchanged_before_a_shorter_loop(x, n=3):
    y = np.ones(n) * math.cos(x)
    for k in range(n):
        other = n - 1 if k % 2 else k
        y[k], y[other] = y[other], y[k]
        for i in range(k + 1, n):
            y[i] *= y[k]
    return y[n - 1]
