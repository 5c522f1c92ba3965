"""Lists in lists whose length is computed, and lists that grow with the length of an array."""

import numpy as np

from .case import at

V = np.array([0.5, 1.5, -0.7, 0.2])


@at(2.0)
@at(0.15)
def looked_up_and_gone_through(x):
    out = []
    while x > 0.1:
        out.append([x, x * x])
        x = x * 0.6
    return out[0][0] * out[-1][1] + sum(a * b for a, b in out) + len(out[0])


@at(2.0)
def lists_and_tuples_in_lists(x):
    out = []
    while x > 0.1:
        out.append([x, [x * x, (x, 1)]])
        x = x * 0.6
    return out[0][1][0] * out[-1][1][1][0] + out[1][1][1][1]


@at(2.0)
def stack_of_lists(x):
    waiting, total = [[x, 1]], 0.0
    while waiting:
        value, depth = waiting.pop()
        total += value * depth
        if depth < 4:
            waiting.append([value * 0.5, depth + 1])
            waiting.append([value * 0.3, depth + 2])
    return total * x


@at(0.7)
def lists_that_are_exchanged(x):
    out = [[x, 1], [x * x, 0], [0.5 * x, 2]]
    for _ in range(3):
        for j in range(2):
            if out[j][0] > out[j + 1][0]:
                out[j], out[j + 1] = out[j + 1], out[j]
    return out[0][0] * out[1][0] ** 2 + out[2][1]


@at(2.0)
def made_an_array_of_rows(x):
    out = []
    while x > 0.1:
        out.append([x, x * x])
        x = x * 0.6
    rows = np.array(out)
    return np.sum(rows[:, 0] * rows[:, 1]) + rows[-1, 0]


@at(V)
def arrays_in_lists(x):
    out = []
    for t in x:
        if t > 0:
            out.append([x * t, t])
    return np.sum(out[0][0] * out[1][0]) * out[0][1]


@at(2.0)
def written_after_it_was_appended(x):
    out = []
    while x > 0.1:
        row = [0.0, 0.0]
        out.append(row)
        row[0] = x
        x = x * 0.6
    return out[0][0] * out[-1][0]


@at(2.0)
def one_list_appended_again_and_again(x):
    out, row = [], [0.0, 0.0]
    while x > 0.1:
        row[0] = x
        out.append(row)
        x = x * 0.6
    return out[0][0] * x + out[-1][0]


@at(2.0)
def written_where_it_is_an_item(x):
    out = []
    while x > 0.1:
        out.append([x, x * x])
        x = x * 0.6
    out[0][0] = 5.0
    return out[0][0] * out[-1][1]


@at(2.0)
def written_within_a_list_that_was_appended(x):
    out, inner = [], [x, x]
    while x > 0.1:
        out.append([inner, [x, 1.0]])
        x = x * 0.6
    inner[0] = 7.0
    return out[0][0][0] * x


@at(2.0)
def empty_items(x):
    out = []
    while x > 0.1:
        out.append([])
        x = x * 0.6
    return len(out) * x


@at(2.0)
def returned_with_lists_in_it(x):
    out = []
    while x > 0.1:
        out.append([x, x * x])
        x = x * 0.6
    return out


@at(V)
def kernel_matrix(x):
    def kernel(a, b):
        return np.exp(-((a - b) ** 2))

    gram = np.array([[kernel(a, b) for a in x] for b in x])
    return np.sum(gram @ x) + np.linalg.det(gram + np.eye(len(x)))


@at(V)
def matrix_with_zeros_below(x):
    n = len(x)
    upper = np.array([[x[i] * x[j] if i <= j else 0.0 for j in range(n)] for i in range(n)])
    return np.linalg.det(upper + np.eye(n))


@at(V)
def sorted_after_it_grew(x):
    out = []
    for t in x:
        out.append(t * t)
    out.sort()
    return out[0] + 2.0 * out[1] + 3.0 * out[-1]


@at(V)
def largest_fall(x):
    value, values = 1.0, []
    for t in x:
        value *= 1.0 + t
        values.append(value)
    highest = np.maximum.accumulate(np.array(values))
    return np.max(highest - np.array(values))


@at(0.3, 10.0)
@at(0.3, 3.0)
@at(0.3, 0.0)
def starred_lists_of_computed_length(x, n):
    items = [x]
    while n > 0:
        items = [*items, x * n]
        n -= 1.0
    more = [x * x, *items, 2.0 * x, *items, *(x, 1.0)]
    copied = [*items]
    copied.append(5.0 * x)
    for _ in range(2):
        more = [*more, more[-1] * x]
    return sum(more) * len(more) + sum(copied) + len(items) + more[-1]
