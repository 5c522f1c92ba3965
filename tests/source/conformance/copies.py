"""Copies of arrays, and what is the array itself: which of them a later write changes."""

import numpy as np

from .case import at

V = np.array([0.35, 1.25, 0.75, 0.45])


@at(V)
def copied_by_astype(x):
    a = np.zeros(3, int)
    b = a.astype(int)
    c = a.astype(int, copy=True)
    a[0], b[1] = 2, 3
    return x[a[0]] + 2.0 * x[b[1]] + 3.0 * x[b[0]] + 5.0 * x[c[0]]


@at(V)
def mask_copied_by_astype(x):
    m = x > 0.4
    c = m.astype(bool, copy=True)
    m[0], m[1] = True, False
    return x[m].sum() + 2.0 * x[c].sum()


@at(V)
def itself_by_astype(x):
    a = np.zeros(3, int)
    b = a.astype(int, copy=False)
    a[0] = 2
    return x[b[0]]


@at(V)
def itself_that_is_written_to(x):
    a = np.zeros(3, int)
    b = a.astype(int, copy=False)
    b[0] = 2
    return x[a[0]]


@at(V)
def itself_by_the_sixth_argument(x):
    a = np.zeros(3, int)
    b = a.astype(int, "K", "unsafe", True, False)
    a[0] = 2
    return x[b[0]]


@at(V)
def itself_of_another_type_is_a_copy(x):
    a = np.zeros(3, int)
    b = a.astype(float, copy=False)
    a[0] = 2
    return x[a[0]] * (b[0] + 1.0)


@at(V)
def mask_itself_by_astype(x):
    m = x > 0.4
    b = m.astype(bool, copy=False)
    m[0], m[1] = True, False
    return x[b].sum()


@at(V)
def itself_by_asarray(x):
    a = np.zeros(3, int)
    b, c = np.asarray(a), np.asarray(a, dtype=int)
    a[0], b[1] = 2, 3
    return x[b[0]] + 2.0 * x[c[1]]


@at(V)
def floats_themselves(x):
    a = np.zeros(3)
    b = a.astype(float, copy=False)
    c = a.astype(float, "K", "unsafe", True, False)
    a[0], c[1] = 2.0, 3.0
    return x[0] * b[0] + x[1] * c[0] + x[2] * a[1]


@at(V)
def made_by_functions_that_copy(x):
    a = np.arange(3)
    made = [np.repeat(a, 1), np.concatenate([a]), np.tile(a, 1), np.roll(a, 0), +a]
    for b in made:
        b[0] = 3
    return x[a[0]] + sum(x[b[0]] for b in made)


@at(V)
def changed_where_a_mask_of_the_same_array_is(x):
    b = np.stack([x, 2.0 * x])
    b[b[:, 0] > 0.5] *= 2.0
    return b.sum()


@at(V)
@at(-V[::-1])
def picked_by_places_is_a_copy(x):
    order = np.arange(len(x))
    order[2] = 3
    again, above = order[order % 5], x > 0.5
    again[1] = 4
    above[2] = True
    turned = above[np.argsort(x)]
    turned[3] = not turned[3]
    return (x * order).sum() + (x * again).sum() * (x * turned).sum() + (x * above).sum()
