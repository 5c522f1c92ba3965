"""Arrays that are changed in place, and views of them."""

import math

import numpy as np

from .case import at

V = np.array([0.5, 1.5, -0.7])
M = np.array([[0.5, 1.5], [-0.7, 2.0]])


@at(V)
def filled_in_a_loop(x):
    y = np.zeros(3)
    for i in range(3):
        y[i] = x[i] * x[0]
    return np.sum(y * y)


@at(1.5, 4)
def filled_from_a_number(x, n):
    y = np.zeros(n)
    for i in range(n):
        y[i] = x**i
    return y.sum()


@at(V)
def recurrence(x):
    y = np.zeros(4)
    for i in range(3):
        y[i + 1] = y[i] * 0.5 + x[i]
    return y[-1] * y[1]


@at(V)
def item_assigned(x):
    y = x.copy()
    y[1] = y[0] * y[2]
    return np.sum(y * y)


@at(V)
def argument_is_changed(x):
    x[0] = x[1] * 2
    return np.sum(x * x)


@at(V)
def augmented_item(x):
    y = x * 1.0
    y[0] += y[1]
    y[2] *= y[0]
    return np.sum(y)


@at(V)
def augmented_array(x):
    y = x * 1.0
    z = y
    y += x * x
    return np.sum(z * y)


@at(V)
def slice_assigned(x):
    y = np.zeros(5)
    y[1:4] = x
    y[2:] += 1.0
    return np.sum(y * y)


@at(V)
def view_is_written_through(x):
    y = x * 1.0
    v = y[1:]
    v[0] = 10.0 * x[0]
    return np.sum(y * y)


@at(V)
def view_sees_a_change(x):
    y = x * 1.0
    v = y[1:]
    y[1] = x[0] * 3
    return np.sum(v * v)


@at(M)
def row_is_a_view(a):
    b = a * 1.0
    row = b[0]
    row[1] = 5.0 * a[1, 1]
    return np.sum(b * b)


@at(M)
def rows_changed_in_a_loop(a):
    b = a * 1.0
    for row in b:
        row *= 2.0
    return np.sum(b * a)


@at(V)
def alias(x):
    y = x * 1.0
    z = y
    z[0] = 7.0
    return y[0] * y[1]


@at(V)
def rebinding_is_no_change(x):
    y = x
    y = y + 1.0
    return np.sum(x * y)


@at(V)
def mask_assigned(x):
    y = x * 2.0
    y[y < 0] = 0.0
    return np.sum(y * x)


@at(V, np.array([0, 2]))
def fancy_assigned(x, i):
    y = np.zeros(3)
    y[i] = x[i] * x[1]
    return np.sum(y)


@at(V)
def transposed_is_a_view(x):
    a = np.zeros((2, 3))
    a[0] = x
    a.T[:, 1] = x * x
    return np.sum(a * a)


@at(V)
@at(-V)
def changed_on_a_branch(x):
    y = x * 1.0
    if x[0] > 0:
        y[0] = x[1] * x[2]
    return np.sum(y * y)


@at(V)
def callee_changes_an_array(x):
    def change(a, v):
        a[0] = v

    y = x * 1.0
    change(y, x[1] * x[1])
    return np.sum(y)


@at(V)
def index_out_of_range(x):
    y = np.zeros(3)
    y[3] = x[0]
    return np.sum(y)


@at(V)
def matrix_filled(x):
    a = np.zeros((3, 3))
    for i in range(3):
        for j in range(i, 3):
            a[i, j] = x[i] * x[j]
    return np.trace(a) + a[0, 2]


@at(V)
def integers_truncate(x):
    k = np.zeros(3, dtype=int)
    k[0] = 2
    return np.sum(x * k)


@at(V)
def list_then_array(x):
    rows = []
    for i in range(3):
        rows.append(x * i)
    return np.sum(np.stack(rows) * rows[1])


@at(V, 3)
@at(V, 0)
def two_names_of_one_array_before_a_loop(x, n):
    h = c = np.zeros(3)
    for _ in range(n):
        c = c * 0.5 + x
        h = np.tanh(c) + h
    return np.sum(h * c)


@at(V, 3)
@at(V, 0)
def two_names_part_and_one_is_written_to(x, n):
    h = c = x * 2.0
    for _ in range(n):
        c = c * 0.5 + x
        h = c + h
    h[0] = 5.0
    return np.sum(h * c)


@at(V, 3)
@at(V, 0)
def two_names_part_on_a_branch(x, n):
    h = c = x * 2.0
    if n > 1:
        h, c = c * 0.5 + x, h * 3.0
    h[1] = 7.0
    c[2] = 1.0
    return np.sum(h * c)


@at(V, 3)
@at(V, 0)
def whether_two_names_parted(x, n):
    h = c = x * 2.0
    for _ in range(n):
        c = c * 0.5 + x
        h = c + h
    return np.sum(h * c) * (2.0 if h is c else 3.0)


@at(M @ M.T + np.eye(2))
def factor_of_a_matrix(a):
    y = np.zeros((2, 2))
    for i in range(2):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= y[i, k] * y[j, k]
            y[i, j] = math.sqrt(s) if i == j else s / y[j, j]
    return np.sum(y * y[::-1])


@at(V, 3)
@at(V, 1)
def elements_of_several_kinds(x, n):
    y = np.zeros(3)
    for i in range(n):
        y[i] = 2 if i == 1 else x[i] if i > 1 else float(x[i]) ** 2
    y[n % 2] = x[1] if n > 2 else True
    return np.sum(y * x)


@at(V)
@at(np.array([-0.5, 1.5, -0.7]))
def added_to_looked_up_ones_on_a_branch(x):
    y = x * 1.0
    y[[0, 2]] += 2.0 * x[1] if x[0] > 0.0 else 3.0
    y[np.array([1, 2])] *= x[:2] if x[1] > 0.0 else x[1:]
    y[[0, 1]] -= max(x[0], x[2])
    return np.sum(y * y)


class Held:
    def __init__(self, a):
        self.a = a

    @property
    def copies(self):
        return [self.a, self.a * 2.0]

    @copies.setter
    def copies(self, values):
        self.a = values[1] * values[-1]


@at(1.5, 2.0)
@at(1.5, -2.0)
def added_to_a_propertys_list_on_a_branch(x, y):
    held = Held(x)
    held.copies += [y * y if y > 0.0 else x]
    return held.a


@at(M)
def elements_by_rows_and_columns(x):
    y = np.zeros((2, 2))
    for i in range(2):
        for j in range(2):
            y[i, j] = x[i][j] * x[-1 - i, -1 - j]
            y[i][j] += y[i - 1, j]
    return y[1][1] * y[0, -1] + y[-1][0]


@at(M, V)
def dynamic_programming(x, v):
    cost = np.full((3, 4), 10.0)
    cost[0, 0] = 0.0
    for i in range(1, 3):
        for j in range(1, 4):
            step = x[i - 1, (j - 1) % 2] * v[j - 1]
            cost[i, j] = step**2 + min(cost[i - 1, j - 1], cost[i - 1, j], cost[i][j - 1])
    return cost[2, 3]


@at(M)
def elimination(x):
    y = x + 4.0 * np.eye(2)
    for i in range(1, 2):
        for k in range(i):
            y[i, k] /= y[k, k]
            for j in range(k + 1, 2):
                y[i, j] -= y[i, k] * y[k, j]
    return y[0, 0] * y[1, 1]


@at(M)
def a_copy_keeps_its_elements(x):
    y = x * 2.0
    z = y.copy()
    for i in range(2):
        y[i, 1 - i] = z[1 - i, i] * y[0, 0]
    return z[0, 1] * y[1, 0] + np.sum(z) * np.sum(y)


@at(M, 3)
def three_axes(x, n):
    y = np.ones((2, n, 2))
    for a in range(2):
        for b in range(1, n):
            for c in range(2):
                y[a, b, c] = y[a, b - 1, c] * x[a, c] + y[1 - a][b - 1][c]
                y[a][b, c] *= 0.5
    return y[1, n - 1, 0] * y[0][-1][1]


@at(M)
def parts_of_rows_are_assigned(x):
    y = x * 1.0
    y[0][1:] = y[1][:1] * 2.0
    y[1][0] = y[0][1]
    return np.sum(y * y)


@at(M)
def an_index_along_an_axis_is_out_of_range(x):
    return x[1][0] + x[0, 2]


@at(M)
def an_assignment_along_an_axis_is_out_of_range(x):
    y = x * 1.0
    y[1, -3] = 2.0
    return y[0, 0]


@at(np.float32(1.5) * M.astype(np.float32))
def elements_of_float32(x):
    y = np.zeros((2, 2), np.float32)
    for i in range(2):
        for j in range(2):
            y[i, j] = x[j, i] * x[i, i]
    return y[0, 1] * y[1, 0]


@at(M, np.array([[1, 0], [0, 1]]))
def elements_of_integers(x, where):
    total = 0.0
    for i in range(2):
        for j in range(2):
            total += x[where[i, j], j] * (1 + where[j][i])
    return total


@at(M)
def columns_in_a_loop(x):
    y = np.zeros((2, 3))
    for j in range(2):
        y[:, j] = x[:, -1 - j] * x[j, 0]
        y[:, j + 1] += y[:, j] ** 2
        y[1:, j] = 0.5 * y[:1, j + 1]
    return np.sum(y * y) + y[:, 2] @ x[:, 1]


@at(M + 2.0 * np.eye(2))
def orthogonal_columns(x):
    q = np.zeros((2, 2))
    for j in range(2):
        v = x[:, j]
        for k in range(j):
            v = v - (q[:, k] @ x[:, j]) * q[:, k]
        q[:, j] = v / np.sqrt(v @ v)
    return np.sum(q * x) + q[0, 1]


@at(M)
def factor_by_parts_of_rows(x):
    a = x @ x.T + 3.0 * np.eye(2)
    low = np.zeros((2, 2))
    for i in range(2):
        for j in range(i + 1):
            rest = a[i, j] - low[i, :j] @ low[j, :j]
            low[i, j] = np.sqrt(rest) if i == j else rest / low[j, j]
    return low[0, 0] * low[1, 1] + low[1, 0]


@at(M, 3)
def parts_of_three_axes(x, n):
    y = np.zeros((2, n, 2))
    for i in range(2):
        for j in range(n):
            y[i, j] += x[i] * (j + 1)
            y[:, j, i] *= 2.0
        y[i, :, 1] = 0.5
        y[:, 1:, i] += y[:, :-1, i]
    return np.sum(y[1, :, 0] * y[0, :, 0]) + y[1][2] @ x[0]


@at(np.linspace(0.2, 0.9, 6), 3)
def windows_are_assigned(x, n):
    y = np.zeros(8)
    for i in range(n):
        y[i : i + 3] += x[i] * x[i : i + 3]
        y[i + 1 : i + 3] = y[i : i + 2] * 0.5
        y[i + 4 : i + 5] = 0.25
        y[i + 2 : i + 2] = 7.0
    return np.sum(y**2)


@at(np.linspace(0.2, 0.9, 12).reshape(6, 2), 3)
def windows_of_rows_are_assigned(x, n):
    y = x * 2.0
    for i in range(n):
        y[i : i + 2] = x[i + 1 : i + 3] * y[i : i + 2]
        y[i, i - 1 : i + 1] = y[0, 0]
    return np.sum(y**2)


@at(M, 2)
def a_column_that_is_not_there(x, n):
    total = 0.0
    for j in range(n + 1):
        total += np.sum(x[:, j])
    return total


@at(V)
def view_assigned_to_its_array_and_to_a_name(x):
    y = x * 1.0
    y[1:] = z = y[:2]
    return np.sum(z * x[1:])


@at(V)
def view_beside_what_writes_to_its_array(x):
    y = x * 1.0
    return (y[:2] * np.multiply(y, 2.0, out=y)[:2]).sum()


@at(V)
def number_assigned_to_several(x):
    y = x * 1.0
    y[0] = z = y[1] * 2.0
    y[1:] = w = x[:2] * 3.0
    np.multiply(y[::-1], 2.0, out=y)
    return np.sum(y * x) + z + w[0]


@at(np.array([0.5, 0.3, 0.9]))
def a_copy_is_written_to_and_takes_the_place_of_what_it_is_of(a):
    x = np.zeros(3)
    for _ in range(5):
        new = x.copy()
        for i in range(3):
            new[i] = x[i] * a[i] + 1.0
        x = new
    return x.sum()
