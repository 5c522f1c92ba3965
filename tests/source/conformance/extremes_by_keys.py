"""The largest and smallest by a key, of what has a computed length, and how often the key is asked."""

import numpy as np

from .case import at


@at([3.0, 1.0, 2.0])
@at([-3.0, 1.0, 2.0])
@at([-3.0, -1.0, 2.0])
def key_of_each_item_once(xs):
    asked, kept = 0, []

    def key(v):
        nonlocal asked
        asked += 1
        return -v

    for x in xs:
        if x > 0.0:
            kept.append(x)
    return max(kept, key=key) * 10.0 + asked


@at([3.0, 1.0, 2.0])
@at([-3.0, -1.0, 2.0])
@at([-3.0, -1.0, -2.0])
def key_before_the_next_item(xs):
    told = 0.0

    def key(v):
        nonlocal told
        told = told * 2.0 + v
        return -v

    def positive():
        nonlocal told
        for x in xs:
            if x > 0.0:
                told += 100.0
                yield x

    return max(positive(), key=key, default=7.0) * 10.0 + told


@at([3.0, 1.0, 2.0], 3)
@at([0.5, 1.0, 0.2, 7.0], 4)
def places_that_are_left(xs, n):
    seen = [False] * n
    total = 0.0
    for _ in range(n):
        k = min((k for k in range(n) if not seen[k]), key=lambda k: -xs[k])
        seen[k] = True
        total = total * 2.0 + xs[k]
    return total


@at(np.array([0.5, 1.0, 0.2, 7.0]), 1.5)
@at(np.array([0.5, 1.0, 0.2, 7.0]), 0.1)
def places_of_a_computed_range(x, y):
    first = int(y)
    k = max(range(first, 4), key=lambda k: np.sin(x[k]))
    return x[k] * (1 + min(range(first, 4, 2), key=lambda k: x[k] * y))


@at([[2.0, 1.0, 1.0], [4.0, -6.0, 0.0], [-2.0, 7.0, 2.0]])
@at([[0.0, 1.0], [4.0, -6.0]])
def determinant_with_pivots(rows):
    a = [row[:] for row in rows]
    n, det = len(a), 1.0
    for k in range(n):
        p = max(range(k, n), key=lambda i: abs(a[i][k]))
        if a[p][k] == 0.0:
            return 0.0 * rows[0][1]
        if p != k:
            a[k], a[p] = a[p], a[k]
            det = -det
        det *= a[k][k]
        for i in range(k + 1, n):
            factor = a[i][k] / a[k][k]
            for j in range(k, n):
                a[i][j] -= factor * a[k][j]
    return det


@at({"a": 1.0, "b": 2.0}, [3.0, 4.0], (5.0, 1.0))
def items_as_keys(d, values, pair):
    best = max(range(2), key=values.__getitem__)
    least = min(d, key=d.__getitem__)
    return values[best] * d[least] + min(range(2), key=pair.__getitem__) * pair[0]


@at([3.0])
def item_that_is_not_there(values):
    return values.__getitem__(3)
