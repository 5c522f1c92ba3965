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
