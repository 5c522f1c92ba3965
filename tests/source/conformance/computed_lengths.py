"""Lists whose length depends on a condition or on the number of turns of a loop."""

import math

import numpy as np

from .case import at

V = np.array([0.5, 1.5, -0.7])


@at(2.0)
@at(0.05)
def halved_until_small(x):
    out = []
    while x > 0.1:
        out.append(x)
        x = x * 0.6
    return sum(out) + len(out)


@at(3.0)
@at(0.3)
def items_by_number(x):
    out = [x, x * x]
    while x > 0.1:
        out.append(x)
        x = x * 0.7
    return out[-1] * out[0] + out[len(out) // 2] + out[-2] * out[1]


@at(2.0)
@at(0.05)
def index_error(x):
    out = []
    while x > 0.1:
        out.append(x * x)
        x = x * 0.6
    return out[2] * x


@at(0.05)
@at(2.0)
def last_of_nothing(x):
    out = []
    while x > 0.1:
        out.append(x)
        x = x - 1.0
    return out[-1]


@at(2.0)
def gone_through(x):
    out = []
    while x > 0.1:
        out.append(x)
        x = x * 0.6
    total = 0.0
    for k, v in enumerate(out):
        total += v**2 * (k + 1)
    for v, w in zip(out, reversed(out)):
        total += v * w
    return total


@at(V)
def comprehension_over_an_array(x):
    out = [np.sin(v) * v for v in x]
    return sum(out) + out[0] * out[-1]


@at(V)
def comprehension_with_a_condition(x):
    out = [v * v for v in x if v > 0]
    return sum(out) * len(out)


@at(2.0)
def stacked(x):
    out = []
    while x > 0.1:
        out.append(x)
        x = x * 0.6
    return np.sum(np.stack(out) ** 2) + np.mean(np.stack(out))


@at(2.0)
def made_an_array(x):
    out = []
    while x > 0.1:
        out.append(x)
        x = x * 0.6
    a = np.array(out)
    return np.sum(np.exp(-a) * a) + a[-1] * a[0] + np.max(a)


@at(2.0)
@at(0.05)
def returned_as_an_array(x):
    out = []
    while x > 0.1:
        out.append(x * x)
        x = x * 0.6
    return np.array(out)


@at(2.0)
def returned_as_a_list(x):
    out = []
    while x > 0.1:
        out.append(x * x)
        x = x * 0.6
    return out


@at(2.0, 0.3)
def rows_of_arrays(x, y):
    out = []
    v = np.stack([x, y, x * y])
    while v[0] > 0.1:
        out.append(v)
        v = v * 0.7 + 0.01
    return np.sum(np.stack(out) * out[0]) + out[-1] @ out[1]


@at(V)
def rows_that_are_written_before(x):
    out = []
    total = x[1]
    while total > 0.1:
        row = np.zeros(3)
        row[1] = total * x[0]
        row[2] = x[1]
        out.append(row)
        total = total * 0.5
    return sum(np.sum(row * x) for row in out)


@at(V)
def row_is_written_after(x):
    out = []
    total = x[1]
    while total > 0.1:
        row = np.zeros(3)
        out.append(row)
        row[1] = total * x[0]
        total = total * 0.5
    return sum(np.sum(row * x) for row in out)


@at(2.0)
def tuples(x):
    out = []
    k = 0
    while x > 0.1:
        out.append((x, k, x > 1.0))
        x = x * 0.6
        k += 1
    total = 0.0
    for value, number, large in out:
        total += value * number if large else value
    return total + out[-1][0] * out[-1][1]


@at(2.0)
def array_of_tuples(x):
    out = []
    while x > 0.1:
        out.append((x, x * x))
        x = x * 0.6
    a = np.array(out)
    return np.sum(a[:, 0] * a[:, 1]) + a[-1, 1]


@at(1.7)
@at(-0.3)
def grown_on_a_branch(x):
    out = [x]
    if x > 0:
        out.append(x * x)
    if x > 1:
        out.append(x**3)
    return sum(out) / len(out)


@at(1.7)
@at(-0.3)
def one_of_two_lists(x):
    out = [x, x * x, 1.5] if x > 0 else [x]
    return out[-1] * x + out[0]


@at(3.0)
def stack_of_numbers(x):
    waiting = [x]
    total = 0.0
    while waiting:
        v = waiting.pop()
        if v > 0.5:
            waiting.append(v * 0.5)
            waiting.append(v * 0.3)
        else:
            total += v * v
    return total


@at(2.0)
@at(0.05)
def pop_of_nothing(x):
    out = []
    while x > 0.1:
        out.append(x)
        x = x * 0.6
    return out.pop() * out.pop()


@at(2.0)
def item_assigned(x):
    out = [0.0]
    while x > 0.1:
        out.append(x)
        out[0] = out[-1] * 2.0 + out[0]
        x = x * 0.6
    for i in range(1, len(out)):
        out[i] = out[i] * out[i - 1]
    return out[-1] + out[0]


@at(2.0)
def extended(x):
    out = []
    while x > 0.1:
        out.extend([x, x * x])
        out += (x + 1.0,)
        x = x * 0.6
    more = [1.0, x]
    more.extend(out)
    return sum(more) + more[4]


@at(2.0)
def two_names(x):
    out = []
    other = out
    while x > 0.1:
        other.append(x)
        x = x * 0.6
    return sum(out) + len(other)


@at(2.0)
def a_copy_stays(x):
    out = []
    copies = 0.0
    while x > 0.1:
        out.append(x)
        before = out.copy()
        out.append(x * 2)
        copies += before[-1] * len(before) + len(list(out))
        x = x * 0.6
    return sum(out) + copies


@at(0.8)
def appended_while_gone_through(x):
    out = [x]
    while len(out) < 3:
        out.append(x * len(out))
    for v in out:
        if v < 4.0:
            out.append(v * 2.5)
    return sum(out) + len(out)


@at(2.0)
def within_a_tuple(x):
    both = ([], x)
    while x > 0.1:
        both[0].append(x)
        x = x * 0.6
    return sum(both[0]) * both[1]


@at(2.0)
def appended_by_a_function(x):
    out = []

    def add(v):
        out.append(v * v)

    while x > 0.1:
        add(x)
        x = x * 0.6
    return sum(out)


@at(2.0)
def slices(x):
    out = []
    while x > 0.1:
        out.append(x)
        x = x * 0.6
    k = len(out) - 2
    inner = out[1:-1]
    inner.append(x)
    return sum(out[2:]) * 2 + sum(out[:k]) + sum(inner) + sum(out[100:]) + sum(out[-2:])


@at(2.0)
def extremes(x):
    out = []
    while x > 0.1:
        out.append(x * (1.3 - x))
        x = x * 0.6
    none = out[100:]
    return max(out) + min(out) * 2 + max(out, key=abs) + min(none, default=x)


@at(2.0)
def any_and_all(x):
    out = []
    while x > 0.1:
        out.append(x)
        x = x * 0.6
    total = x
    if any(v > 1.5 for v in out):
        total += out[0]
    if all(v > 0.5 for v in out) or 99.0 in out:
        total += 2.0 * out[1]
    return total


@at(2.0)
def integers_and_truth(x):
    counts, flags = [], []
    k = 0
    while x > 0.1:
        counts.append(k * k)
        flags.append(x > 0.4)
        x = x * 0.6
        k += 1
    return x * sum(counts) + counts[-1] // 2 + sum(flags)


@at(2.0)
def in_two_loops(x):
    total = 0.0
    while x > 0.3:
        inner = []
        y = x
        while y > 0.2:
            inner.append(y)
            y = y * 0.5
        total += sum(inner) * len(inner)
        x = x * 0.7
    return total


@at(1.3, 3000)
def turns_of_an_argument(x, n):
    out = [x]
    for _ in range(n):
        out.append(math.sin(out[-1]) + 0.5)
    return out[-1] + out[n // 2] * x


@at(2.0)
def left_by_break(x):
    out = []
    for k in range(100):
        if x < 0.2:
            break
        out.append(x / (k + 1))
        x = x * 0.6
    else:
        return 0.0
    return sum(out) * len(out)


@at(2.0)
def emptied(x):
    out = []
    total = 0.0
    while x > 0.1:
        out.append(x)
        if len(out) == 3:
            total += out[0] * out[2]
            out = []
        x = x * 0.7
    return total + sum(out)


@at(2.0)
def cleared(x):
    out = []
    total = 0.0
    while x > 0.1:
        out.append(x)
        if len(out) == 3:
            total += out[0] * out[2]
            out.clear()
        x = x * 0.7
    return total + sum(out)


@at(2.0)
def of_several_kinds(x):
    out = []
    while x > 0.1:
        out.append(x if x > 1 else 1)
        x = x * 0.6
    return sum(out)


@at(2.0)
def lists_in_a_list(x):
    out = []
    while x > 0.1:
        out.append([x, x * x])
        x = x * 0.6
    return out[0][0] * out[-1][1]


@at(np.float64(2.0))
def numbers_of_numpy(x):
    out = []
    while x > 0.1:
        out.append(np.sqrt(x))
        x = x * 0.6
    return sum(out) / out[0]


MATRIX = np.array([[0.5, 1.5, -0.7], [0.1, -0.4, 0.3]])


@at(2.0, MATRIX)
@at(1.2, MATRIX)
@at(0.9, MATRIX)
def lengths_that_meet_at_several_places(x, w):
    """The first length is met alone, the second beside an array: then one beside the other."""
    out = []
    while x > 0.5:
        out.append(x * w[0])
        x = x * 0.6
    rows = np.stack(out)
    alone = (rows @ w.T).sum(axis=1)
    beside = (rows * w).sum(axis=1)
    return np.sum(alone * beside - alone) + np.sum(beside[:, None] - rows)


@at(np.array([0.4, -1.2, 2.1]), 0.5)
@at(np.array([-0.4, -1.2, -0.3]), 0.5)
def operators_in_place(x, y):
    found = x[x > 0]
    other, before = found, found + 1.0
    found *= y
    other += found * before
    found = found / 2
    found -= other[::-1]
    while y < 2:
        y += 1
        other **= 2
    return found.sum() * y, other.sum() - before.sum(), len(found)


@at(np.array([0.4, -1.2, 2.1]), 0.5)
@at(np.array([0.4, -1.2, -0.3]), 0.5)
def operator_in_place_with_fewer(x, y):
    found, first = x[x > 0], x[x > 1]
    found *= first[:1] + y if len(first) else y
    return found.sum()
