"""Views of the function's own arrays: what is written to them, and what they see."""

import math

import numpy as np

from .case import at

V = np.array([0.5, 1.5, -0.7])
M = np.array([[0.5, 1.5, 2.5], [3.5, -4.5, 0.7], [1.2, 0.3, 0.9]])
N = np.arange(9.0).reshape(3, 3)


@at(V)
def in_place_on_parts(x):
    y = x.copy()
    y[1:] *= 2
    part = y[:2]
    part += 1
    return (y**2).sum() + part @ y[1:]


@at(M)
def row_after_row(x):
    y = x.copy()
    for k, row in enumerate(y):
        row[0] = row[1] * 2
        row += k * y[0]
    return (y * N).sum()


@at(M)
def rows_divided(x):
    y = x * x
    for i in range(3):
        row = y[i]
        row /= row.sum()
    return (y * N).sum()


@at(V)
def part_is_filled(x):
    y = np.zeros(5)
    part = y[1:4]
    part[:] = x
    part[0] += x[1]
    return (y**2).sum()


@at(M)
def row_is_filled_by_elements(x):
    y = np.zeros((3, 3))
    for i in range(3):
        row = y[i]
        for j in range(3):
            row[j] = x[i, j] * x[j, i] + (row[j - 1] if j > 0 else 0.0)
    return (y * N).sum()


@at(V)
def sees_what_its_array_becomes(x):
    y = x * 1.0
    part = y[1:]
    y[1] = x[0] ** 2
    before = part.sum()
    y *= 2.0
    return part.sum() * y[0] + before


@at(M)
def view_of_a_view(x):
    y = x.copy()
    lower = y[1:]
    row = lower[0]
    row[1] = x[0, 0] ** 2
    lower[1] = row * 2
    row *= 0.5
    return (y * N).sum() + (row * lower[1]).sum()


def scale(row, k):
    row *= k
    row[0] += math.sin(k)


@at(M)
def written_by_a_helper(x):
    y = x.copy()
    for i in range(3):
        scale(y[i], x[i, 0])
    scale(y[:, 1], x[0, 0])
    return (y * N).sum()


@at(M)
def columns_and_steps(x):
    y = x.copy()
    column = y[:, 1]
    column -= y[:, 0]
    column[1:] *= column[:-1]
    back = y[::-1, 2]
    back[0] = 3 * x[1, 1]
    back[1:] = x[:2, 0] ** 2
    return (y * N).sum()


@at(V)
def in_a_while_loop(x):
    y = x * 1.0
    part = y[1:]
    i = 0
    while i < 2:
        part[i] = part[i] * y[i]
        i += 1
    return part.sum() * y[0]


@at(V)
@at(-V)
def on_one_way_only(x):
    y = x * 1.0
    part = y[1:]
    if x[0] > 0:
        part[0] = x[0] * 5
    elif x[1] > 0:
        y[2] = 2.0
    return part.sum() * y[1]


@at(V)
def overlapping(x):
    y = x * 1.0
    right = y[1:]
    left = y[:2]
    right += left
    left *= right
    return (right * left).sum() + y.sum()


@at(M)
def rows_by_three_names(x):
    y = x.copy()
    a, b, c = y
    a[:] = b * c
    b[0] = a[1]
    c -= a
    return (y * N).sum() + c @ a


@at(M)
def written_by_functions_of_numpy(x):
    y = x.copy()
    row = y[1]
    row.fill(x[0, 0])
    np.fill_diagonal(y, 1.5)
    row[0] = 2.0
    other = y[2]
    other.sort()
    np.multiply(other, row, out=other)
    return (y * N).sum()


@at(V)
def written_in_a_closure(x):
    y = np.zeros(3)
    part = y[:2]

    def fill(k):
        part[k] = x[k] ** 2 + part[1 - k]

    fill(0)
    fill(1)
    return (y * np.arange(3.0)).sum() + part[0]


@at(M)
def elimination(x):
    a = x + 5 * np.eye(3)
    for k in range(3):
        pivot = a[k]
        pivot /= pivot[k]
        for i in range(3):
            if i != k:
                row = a[i]
                row -= row[k] * pivot
    return a.sum() + np.trace(a) * x[0, 0]


@at(M)
def block(x):
    y = x.copy()
    corner = y[:2, :2]
    corner += np.outer(x[0, :2], x[1, :2])
    corner[0, 0] = 7 * x[2, 2]
    corner[1] = corner[0]
    return (y * N).sum()


@at(M)
def another_name_of_a_view(x):
    y = x.copy()
    row = y[0]
    other = row
    other[0] = x[1, 1] * 3
    row = row * 2
    row[1] = 100.0
    return (y * N).sum() + row.sum() + other.sum()


@at(M)
def two_arrays_in_turn(x):
    y = x.copy()
    z = x * 2
    for a, b in zip(y, z):
        a[1:] = b[:-1]
        b *= a
    return (y * z).sum()


@at(M)
def temporary_of_rows(x):
    y = x.copy()
    kept = y[0]
    y[0] = y[1]
    y[1] = kept
    return (y * N).sum()


@at(M)
def rows_exchanged_by_views(x):
    y = x.copy()
    y[0], y[1] = y[1], y[0]
    return (y * N).sum()


@at(M)
def views_in_a_list(x):
    y = x.copy()
    rows = [row for row in y]
    rows[0][1] = 5 * x[0, 0]
    return (y**2).sum()


@at(M)
def written_while_its_value_is_used(x):
    y = x.copy()
    row = y[0]

    def change():
        row[0] = 7.0 * x[1, 1]
        return row[0]

    return (row + change()).sum() + y.sum()


@at(M)
def part_of_an_argument(x):
    row = x[0]
    row[1] = 5.0
    return (x * N).sum()


@at(M)
def returned_after_a_write(x):
    def first(y):
        row = y[0]
        row += x[1]
        return row

    y = x.copy()
    found = first(y)
    y[0, 0] = 0.25
    return (found * x[2]).sum() + y.sum()


@at(V, 1)
@at(V, 0)
def one_part_or_another(x, k):
    y = x * 1.0
    part = y[1:] if x[k] > 1.0 else y[:2]
    part[0] = x[2] ** 2
    part += x[0]
    return part.sum() * y[1] + y[2]


@at(V, 1)
@at(V, 0)
def part_or_a_number(x, k):
    y = x * 1.0
    part = y[1:]
    y[1] = x[0] ** 2
    if x[k] > 1.0:
        part = 0.0
    else:
        y[2] = 3.0 * x[1]
    return np.sum(part) + y.sum()


@at(V, 1)
@at(V, 0)
def part_of_one_array_or_another(x, k):
    y = x * 1.0
    z = x * x
    part = y[1:] if x[k] > 1.0 else z[1:]
    y[1] = x[0] ** 2
    z[2] = 0.5
    return part.sum() + (y * z).sum()


def filled_with_powers(row, v):
    for i in range(len(row)):
        row[i] += v**i
    k = 0
    while k < len(row):
        row[k] = row[k] * 2.0 if row[k] > 1.0 else row[k] + 1.0
        k += 1
    for i, value in enumerate(row.copy()):
        row[-1 - i] -= value * 0.5


@at(M)
def filled_by_a_loop_over_its_length(x):
    y = x.copy()
    filled_with_powers(y[0], 1.5)
    filled_with_powers(y[:, 1], x[0, 0])
    return (y * N).sum()
