"""Tables that a function fills: lists of lists, whose places are found by the counters of loops."""

import math

import numpy as np

from .case import at


@at(0.7123)
def longest_common_subsequence(x, n=6):
    table = [[0.0] * (n + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            likeness = math.exp(-((x * i - j) ** 2) * 0.1)
            step = table[i - 1][j - 1] + likeness
            table[i][j] = max(table[i - 1][j], table[i][j - 1], step)
    return table[n][n]


@at(0.7123)
def edit_distance(x, one="kitten", other="sitting"):
    table = [[0.0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i in range(len(one) + 1):
        table[i][0] = i * x
    for j in range(len(other) + 1):
        table[0][j] = j * x
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            changed = 0.0 if one[i - 1] == other[j - 1] else math.sqrt(x)
            table[i][j] = min(
                table[i - 1][j] + x, table[i][j - 1] + x, table[i - 1][j - 1] + changed
            )
    return table[-1][-1]


@at(0.7123)
def soft_time_warping(x, n=6):
    table = [[1e10] * (n + 1) for _ in range(n + 1)]
    table[0][0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            d = (math.sin(x * i) - math.cos(x * j)) ** 2
            a, b, c = -table[i - 1][j], -table[i][j - 1], -table[i - 1][j - 1]
            most = max(a, b, c)
            total = math.exp(a - most) + math.exp(b - most) + math.exp(c - most)
            table[i][j] = d - (most + math.log(total))
    return table[n][n]


@at(0.7123)
def knapsack(x, n=5, room=8):
    table = []
    for _ in range(n + 1):
        table.append([0.0] * (room + 1))
    for i in range(1, n + 1):
        weight, worth = i % 4 + 1, math.sqrt(x * i)
        for c in range(room + 1):
            table[i][c] = table[i - 1][c]
            if c >= weight and table[i - 1][c - weight] + worth > table[i][c]:
                table[i][c] = table[i - 1][c - weight] + worth
    return table[n][room]


@at(0.7123)
def most_likely_states(x, n=5):
    table = [[0.0] * 3 for _ in range(n)]
    for t in range(1, n):
        for s in range(3):
            before = [table[t - 1][k] + math.log(0.2 + 0.1 * abs(s - k) * x) for k in range(3)]
            table[t][s] = max(before) + math.sin(x * t * s)
    return max(table[n - 1])


@at(0.7123, np.array([0.3, -0.2, 0.9, 0.4]))
def elimination(x, right):
    n = len(right)
    rows = [[math.cos(x * i * j) + (3.0 if i == j else 0.0) for j in range(n)] for i in range(n)]
    found = list(right)
    for k in range(n):
        for i in range(k + 1, n):
            factor = rows[i][k] / rows[k][k]
            for j in range(k, n):
                rows[i][j] -= factor * rows[k][j]
            found[i] -= factor * found[k]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            found[i] -= rows[i][j] * found[j]
        found[i] /= rows[i][i]
    return sum(found)


@at(0.7123)
def a_row_that_two_places_have(x, n=4):
    row = [x] * n
    table = [row] * 3
    for i in range(3):
        for j in range(n):
            table[i][j] = table[i][j] * math.exp(0.1 * x) + i
    return sum(row) + sum(table[1])


@at(0.7123, np.linspace(-1.0, 1.0, 9))
def numbers_of_two_kinds(x, y, n=9):
    table = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(1, n):
            table[i][j] = table[i - 1][j - 1] * 0.5 + y[i] * math.sin(x * j)
    return table[n - 1][n - 1] + table[0][0] / 2


@at(0.7123)
def a_zero_of_python(x, n=9):
    table = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(i, n):
            table[i][j] = math.exp(x * i) - j
    counted = 0
    for i in range(n):
        for j in range(n):
            counted += isinstance(table[i][j], int)
    return table[3][5] + counted


@at(0.7123)
def products(x, n=9):
    left = [[math.cos(x * i * j) for j in range(n)] for i in range(n)]
    right = [[x * i - j for j in range(n - 1)] for i in range(n)]
    found = [[0.0] * len(right[0]) for _ in left]
    for i in range(len(left)):
        for j in range(len(right[0])):
            for k in range(len(right)):
                found[i][j] += left[i][k] * right[k][j]
    return found[2][3] - found[-1][-2]


@at(0.7123)
def rows_that_are_exchanged(x, n=9):
    rows = [[math.cos(x * i * j) + (i == j) for j in range(n)] for i in range(n)]
    for k in range(n):
        rows[k], rows[n - 1 - k] = rows[n - 1 - k], rows[k]
        for j in range(k, n):
            rows[k][j] = math.sin(rows[k][j] + rows[-1][j])
    return rows[1][3] - rows[n - 1][n - 2]


@at(0.7123)
def pivots(x, n=4):
    rows = [[math.cos(x * i * j) + (i == j) for j in range(n)] for i in range(n)]
    for k in range(n):
        best = k
        for i in range(k, n):
            if abs(rows[i][k]) > abs(rows[best][k]):
                best = i
        rows[k], rows[best] = rows[best], rows[k]
    return rows[n - 1][n - 1] / rows[1][1]


@at(0.7123)
def a_row_with_a_name(x, n=9):
    table = [[x * i - j for j in range(n)] for i in range(n)]
    row = table[2]
    for i in range(n):
        for j in range(n):
            table[i][j] = math.sin(table[i][j]) + row[j]
    return sum(row) + table[2][3] * table[3][2]


@at(0.7123)
def a_row_that_is_replaced(x, n=9):
    table = [[x * i - j for j in range(n)] for i in range(n)]
    for i in range(n):
        for j in range(n):
            table[i][j] = math.sin(table[i][j])
        if i == 3:
            table[1] = [x] * n
    return sum(table[1]) + table[2][3]


@at(0.7123)
def a_table_as_lists_again(x, n=9):
    table = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            table[i][j] = math.sin(x * i - j)
    table.append([x])
    last = table.pop(2)
    return sum(map(sum, table)) + max(last) * len(table) + sum(zip(*table[:3], strict=True))[0][0]


@at(0.7123, [[0.3 * i - 0.1 * j for j in range(9)] for i in range(10)])
def a_table_that_is_given(x, table):
    total = 0.0
    for i in range(len(table)):
        for j in range(len(table[i])):
            total += math.sin(table[i][j] * x) * (i - j)
    return total


@at(0.7123)
def a_table_of_a_table(x, n=9):
    table = [[0.0] * n for _ in range(n)]
    other = [[x] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            table[i][j] = other[j][i] * math.cos(i * j)
            other[i][j] = table[i][j] + x
    both = [table, other]
    return both[0][1][2] * both[1][2][1]


@at(0.7123)
def a_table_in_a_loop(x, n=9):
    total = 0.0
    for k in range(4):
        table = [[x * k] * n for _ in range(n)]
        for i in range(1, n):
            for j in range(1, n):
                table[i][j] = math.sin(table[i - 1][j - 1] + x)
        total += table[n - 1][n - 1]
    return total


@at(0.7123, 3)
def a_place_that_is_given(x, k, n=9):
    table = [[x * i - j for j in range(n)] for i in range(n)]
    for i in range(n):
        table[i][k] = math.exp(table[k][i])
        for j in range(n):
            if table[i][j] > 1.0:
                table[i][j] = 1.0
    return table[k][k] + table[k][2]


@at(0.7123)
def a_table_on_one_way(x, n=9):
    table = [[x * i - j for j in range(n)] for i in range(n)]
    if x > 0.5:
        for i in range(n):
            for j in range(n):
                table[i][j] = math.sin(table[i][j])
    return table[2][3] + table[-1][-1]


@at(0.7123)
def a_place_that_is_not_there(x, n=9):
    table = [[x * i - j for j in range(n)] for i in range(n)]
    total = 0.0
    for i in range(n + 1):
        for j in range(n):
            try:
                total += table[i][j] * math.sin(x)
            except IndexError:
                total += 1.0
    return total


@at(0.7123)
def a_table_that_a_function_fills(x, n=9):
    def fill(rows, at):
        for j in range(n):
            rows[at][j] = math.sin(x * at - j) + rows[at - 1][j]

    table = [[0.0] * n for _ in range(n)]
    for i in range(n):
        fill(table, i)
    return table[n - 1][2]


@at(0.7123)
def integers_in_a_table(x, n=9):
    counts = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            counts[i][j] = counts[i - 1][j - 1] + i * j
    return math.sin(x) * counts[n - 1][n - 1] // 3


@at(0.7123)
def large_integers_in_a_table(x, n=9):
    table = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            table[i][j] = 2**60 + 1
        table[i][i] = i
    total = 0.0
    for i in range(n):
        for j in range(n):
            total += (table[i][j] % 7) * math.sin(x * i)
    return total


class Counting:
    """Each sum counts."""

    def __init__(self):
        self.count = 0

    def __add__(self, other):
        self.count += 1
        return (self.count + other) % 4


@at(0.7123)
def indices_whose_sums_have_effects(x, n=9):
    table = [[math.sin(x * (i + 1) * (j + 2)) for j in range(n)] for i in range(n)]
    counting, total = Counting(), 0.0
    for i in range(n):
        table[i], table[counting + 1] = table[counting + 1], table[i]
        for j in range(n):
            table[i][j] *= math.exp(x)
        total += table[i][1] * counting.count
    return total


@at(0.7123, 4)
@at(-0.7123, 0)
def another_kind_in_a_later_loop(x, n):
    table = [[x] * 9 for _ in range(9)]
    for i in range(1, 9):
        for j in range(1, 9):
            table[i][j] = 0.3 * i - table[i - 1][j - 1] * table[i][j - 1]
    for i in range(9):
        table[i][n] = i
    for i in range(9):
        table[n][i] = True
    whole = sum([3.0 if type(one) is int else 1.0 for one in table[1]])
    return sum([sum(row) * (k + 1) for k, row in enumerate(table)]) * whole
