"""Slices whose ends are computed, of arrays; and what is filled with a length that is."""

import numpy as np

from .case import at

V = np.array([0.5, 1.5, -0.7, 2.0, 0.3])
M = np.array([[0.5, 1.5], [-0.7, 2.0], [0.3, 0.9], [1.1, -1.2]])


@at(V)
def windows_in_a_loop(x):
    total = 0.0
    for k in range(len(x) - 1):
        pair = x[k : k + 2]
        total += np.sum(pair * pair) * pair[0]
    return total


@at(V, 2.7)
@at(V, 0.2)
@at(V, 4.9)
def up_to_a_number(x, y):
    k = int(y)
    return np.sum(x[:k] * x[:k]) * y + np.sum(x[k:]) + np.sum(x[-k:])


@at(V, 2.7)
@at(V, 7.2)
@at(V, -1.5)
@at(V, -9.5)
def clamped_as_numpy_does(x, y):
    k = int(y)
    return np.sum(x[k:]) + 2.0 * np.sum(x[:k]) + np.sum(x[k : k + 2] ** 2) + len(x[1:k])


@at(M, 1.5)
@at(M, 3.5)
def rows_of_a_matrix(m, y):
    k = int(y)
    block = m[k : k + 2]
    return np.sum(block @ m.T) + np.sum(m[k:, 0]) + np.sum(m[:k, 1:] ** 2)


@at(M)
def two_rows_at_a_time(m):
    total = 0.0
    k = 0
    while k + 2 <= len(m):
        total += np.sum(m[k : k + 2] @ m[k : k + 2])
        k += 2
    return total


@at(V)
def before_and_after(x):
    total = 0.0
    for k in range(len(x)):
        total += np.sum(x[:k]) * np.sum(x[k + 1 :]) * x[k]
    return total


@at(V)
def three_before(x):
    total = 0.0
    for k in range(3, len(x) + 1):
        total += np.prod(x[k - 3 : k])
    return total


@at(V, 2.7)
def part_is_written_to(x, y):
    k = int(y)
    z = x * 1.0
    z[:k] = 0.0
    return np.sum(z)


@at(V, 2.7)
def part_of_what_is_written_to(x, y):
    k = int(y)
    z = x * 1.0
    part = z[k:]
    z[k] = 5.0
    return np.sum(part) * y


@at(V, 1.5)
def truth_of_a_part(x, y):
    k = int(y)
    return y if x[:k] else x[0]


@at(M)
def states_with_their_next(m):
    h = np.zeros((len(m) + 1, 2))
    for t in range(len(m)):
        h[t + 1] = np.tanh(h[t] * 0.5 + m[t])
    return np.sum(h[1:] * m) + h[-1, 0]


@at(V)
def numbers_with_their_next(x):
    h = np.zeros(x.shape[0] + 1)
    for t in range(x.shape[0]):
        h[t + 1] = h[t] * 0.9 + x[t] * x[t]
    return h[-1] * h[2] + h[1 : 1 + 2].sum()


@at(M)
def rows_set_to_numbers(m):
    h = np.ones((3, 2, 2))
    for t in range(len(m) - 1):
        h[t] = m[t, 0] * m[t, 1]
        h[t, 1] = m[t]
        h[-1, 0] = 2.0
    return np.sum(h * h) + h[0, 1] @ h[1, 0]


@at(M)
def rows_of_other_shapes(m):
    h = np.zeros((3, 2))
    for t in range(len(m) - 1):
        h[t] = m[t, :1] * m[t, 1]
    return np.sum(h * h)


@at(M)
def row_set_to_a_row_of_itself(m):
    h = m * 1.0
    for t in range(len(m) - 1):
        h[t + 1] = h[t]
        h[t] = h[t + 1] * 2.0 + m[t]
    return np.sum(h * m)


@at(V)
def row_out_of_range(x):
    h = np.zeros((3, 5))
    for t in range(len(x)):
        h[t] = x
    return np.sum(h)


@at(3.7)
@at(0.2)
@at(-3.5)
def filled_to_a_computed_length(x):
    n = int(x)
    h = np.zeros(n + 1)
    for i in range(n):
        h[i + 1] = h[i] * 0.5 + x * x
    return h[-1] * h.sum() + len(h)


@at(3.7, 1.2)
@at(0.5, 1.2)
def rows_of_a_computed_number(x, y):
    n = int(x)
    h = np.ones((n, 2))
    for i in range(n):
        h[i, 1] = y * (i + 1)
    return np.sum(h * h) * x


@at(0.5, 1.5)
@at(0.5, 0.0)
def of_a_list_that_may_have_grown_and_is_not_used(x, y):
    rows = [1.0, 1.0]
    if y == 0.0:
        if y == 2.0:
            rows.insert(0, 1.0)

        def later():
            for k in range(3):
                yield rows[1:]

        later()
    return x * x


@at(0.5, 0)
@at(0.5, 1)
def of_a_list_that_grows_where_nothing_comes(x, n):
    rows = [1.0, 1.0]
    total = 0.0
    if n == 0:
        if n == 2:
            rows.append(1.0)
        for k in range(3):
            total += len(rows[1:]) * x
    return total


@at(np.array([[1.0, 2.0], [4.0, 3.0], [0.5, 5.2]]))
@at(np.array([[0.1, 2.3, 1.0], [0.3, 1.0, 2.0]]))
def up_to_the_shorter_of_two_lengths(a):
    r = a.copy()
    m, n = r.shape
    for k in range(min(m - 1, n)):
        x = r[k:, k]
        v = x + np.sqrt(np.sum(x * x))
        v = v / np.sqrt(np.sum(v * v))
        r[k:, k:] -= 2.0 * np.outer(v, np.dot(v, r[k:, k:]))
    return np.sum(r[0] ** 3)


@at(V)
@at(-V)
@at(3 * V)
def filled_up_to_a_count(x):
    n = int(np.sum(x > 0.4))
    y = np.zeros(5)
    y[:n] = x[:n]
    y[n:] = 7
    y[n:] -= x[n:]
    y[n:] *= 2.0
    return (y * np.arange(5)).sum()


@at(V)
@at(3 * V)
def as_many_values_as_places(x):
    n = int(np.sum(x > 0.4))
    y = np.zeros(5)
    y[:n] = x[:2] * x[0]
    return y.sum()


@at(V)
@at(-V)
def parts_of_each_turn(x):
    y, n = np.zeros((5, 2)), 0
    while n < 4 and y[n, 0] > -1.0:
        y[n:] += x[n]
        y[: n + 1, 1] *= 0.5
        y[:n] = y[:n] * 2.0
        n += 1
    return (y * y).sum()


@at(V, 2)
@at(V, 3)
def slices_with_names(x, k):
    tail, pair, rows = np.s_[1:], np.s_[k - 1 : k + 1], np.s_[:, 1]
    y = x.copy()
    y[pair] = x[tail][:2]
    return (y[tail] * x[np.s_[:-1]]).sum() + M[rows].sum() * y[0] + sum([1, 2, 3, 4][pair])
