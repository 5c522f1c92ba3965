"""Arrays of integers and of truths, as arguments and from outside: places, masks, targets, factors."""

import math

import numpy as np

from .case import at

W = np.array([[0.5, 1.5, -0.7], [-0.3, 2.0, 0.25], [1.25, -1.75, 0.8], [0.4, 0.9, -0.6]])
V = np.array([0.5, 1.5, -0.7, 1.2, 0.3, -0.9])
USERS = np.array([0, 1, 3])
ITEMS = np.array([1, 1, 2])
LABELS = np.array([2, 0, 1, 1])
SOME = np.array([True, False, True, True, False, False])
NONE_OF_THEM = np.zeros(6, bool)


@at(W, USERS, ITEMS)
@at(W, USERS, ITEMS - 4)
@at(W, USERS[:0], ITEMS[:0])
def rows_of_pairs(w, users, items):
    return ((w[users] - w[items]) ** 2).sum()


@at(V, USERS % 2, 3, ITEMS)
@at(V, np.array([0]), 2, np.array([-1]))
def numbered_by_two(x, user, n, other):
    return (x[user * n + other] ** 2).sum()


@at(V, np.int64(1), 3, np.int64(2))
def numbered_by_two_numbers(x, user, n, other):
    return x[user * n + other] ** 2


@at(V, ITEMS, 2)
def whole_arithmetic(x, items, n):
    halves = (items + 5) // n
    return (x[halves] * (items % 2 + 1)).sum() + x[0] * (items**2 - items).sum() + items[1] * x[1]


@at(V, np.array([2, -1, 0, 3, 1, 7]))
def factors(x, a):
    return (x * a).sum() + (x / (a + 2)).mean() + a @ x + np.exp(-(a**2.0) * x[1]).sum()


@at(V, np.array([2, -1, 0, 3, 1, 7]))
def asked_for(x, a):
    return x[0] * a.sum() + x[1] * a.mean() + x[2] * a.max() + x[3] * a.size + x[4] * a.ndim


@at(W, LABELS)
@at(W, np.array([0, -1, -3, 2]))
def negative_log_likelihood(w, labels):
    p = np.exp(w)
    p = p / p.sum(axis=1, keepdims=True)
    return -np.log(p[np.arange(len(labels)), labels]).mean()


@at(W, USERS, ITEMS)
def elements_of_pairs(w, i, j):
    return (w[i, j] ** 2).sum() + w[i, 0] @ w[1, j] + w[USERS, ITEMS] @ w[j, i - 1]


@at(W, LABELS)
def compared_with_numbers(w, labels):
    return np.where((labels == 1)[:, None], w, w * w).sum() + w[labels > 0].sum()


@at(W, LABELS)
def one_hot(w, labels):
    targets = np.eye(3)[labels]
    return ((w - targets) ** 2).sum() + (w * (np.arange(3) == labels[:, None])).sum()


@at(V, np.array([2, 0, 1]))
def gone_through(x, places):
    total = 0.0
    for k, i in enumerate(places + 1):
        total += x[i] * math.sin(x[k]) * i
    return total


@at(V, np.array([[0, 1], [2, 2], [5, 3]]))
def edges(x, pairs):
    total = 0.0
    for i, j in pairs:
        total += (x[i] - x[j]) ** 2
    return total + ((x[pairs[:, 0]] - x[pairs[:, 1]]) ** 3).sum()


@at(V, np.array([4, 1, 1, 0]))
def places_of_places(x, a):
    return (x[a[a % 4]] ** 2).sum() + x[np.concatenate([a, a + 1])].sum()


@at(V, np.array([4, 1, 0]))
def assigned_at_places(x, a):
    y = np.zeros(6)
    y[a] = x[:3]
    y[a + 1] += x[a] ** 2
    y[a - 1] = 0.5 * x[0]
    return (y * y * np.arange(6.0)).sum()


@at(V, np.argsort(V))
def order_is_given(x, order):
    ranks = np.empty(6)
    ranks[order] = np.arange(6.0)
    return x @ ranks + (x[order][1:] - x[order][:-1]) @ np.arange(5.0)


@at(V, SOME)
@at(V, ~SOME)
@at(V, NONE_OF_THEM)
def masked(x, mask):
    return (x[mask] ** 2).sum() + x[~mask].sum() * 0.5


@at(V, SOME)
def truths_in_arithmetic(x, mask):
    return (x * mask).sum() + (x**2 * mask.astype(float)).sum() + x[0] * mask.sum() + mask @ x**3


@at(V, SOME)
@at(V, NONE_OF_THEM)
def chosen_by_truths(x, mask):
    both = mask & (x > 0.4)
    either = mask | (x > 1.0)
    return (
        np.where(mask, x * x, -x).sum() + np.where(both, x**3, 0.0).sum() + x[either ^ both].sum()
    )


@at(V, SOME)
def truths_one_by_one(x, mask):
    total = 0.0
    for value, take in zip(x, mask):
        if take:
            total += math.exp(value)
        elif not mask[0]:
            total -= value
    for i in range(len(mask)):
        total += x[i] ** 2 if mask[i] and mask[-1 - i] is not None else x[i]
    return total + sum(value for value, take in zip(x, mask) if not take)


@at(V, SOME)
@at(V, NONE_OF_THEM)
def any_and_all(x, mask):
    found = x[0] if mask.any() else x[1] * x[2]
    return (
        found * x[3] if mask.all() else found + mask.mean() * x[4] + np.count_nonzero(mask) * x[5]
    )


@at(W, np.array([[True, False, True], [False, False, True], [True, True, True], [False] * 3]))
def truths_in_rows(w, mask):
    total = (w[mask] ** 2).sum() + (w * mask).sum(axis=1) @ np.arange(4.0)
    for row, wanted in zip(w, mask):
        if wanted[0]:
            total += row[wanted].sum() ** 2
    return total + w[mask[:, 0]].sum() + w[mask.all(axis=1)].sum() + mask.shape[1] * w[0, 0]


@at(V, SOME)
def assigned_by_truths(x, mask):
    y = x * 2.0
    y[mask] = 0.25
    y[~mask] *= x[~mask]
    return (y * np.arange(6.0)).sum()


@at(V)
def found_outside(x):
    return (x[SOME] ** 2).sum() + (x[LABELS] ** 3).sum() + (x * SOME).sum() + (x[:4] * LABELS).sum()


@at({"w": W, "v": V}, {"mask": SOME, "places": USERS, "sizes": [USERS, ITEMS]})
def within_dicts(parameters, data):
    rows = parameters["w"][data["places"]]
    masked = parameters["v"][data["mask"]]
    one, other = data["sizes"]
    return (rows @ rows.T).sum() + masked @ masked + (one * other) @ parameters["v"][:3]


@at(V, np.array([3, 1, 2]))
def numbers_of_turns(x, counts):
    total = 0.0
    for i, n in enumerate(counts):
        for _ in range(n):
            total = total * 0.5 + x[i] * n
    return total


@at(V, np.array([0, 2, 1, 0, 2, 1]))
def groups(x, group):
    means = [x[group == k].mean() for k in range(3)]
    return sum(((x[group == k] - means[k]) ** 2).sum() for k in range(3)) + means[0]


@at(V, 2)
def truths_that_are_computed(x, n):
    mask = x > 0.4
    order = np.argsort(x)
    total = 0.0
    for i, wanted in enumerate(mask):
        if wanted and mask[order[i]]:
            total += x[order[i]] * (order[i] + n)
    return total * len(mask) + mask.shape[0] * x[order[0]] + sum(x[i] * i for i in order)


@at(W, LABELS, np.array([3, -1, 0, 2]))
def parts_of_rows(w, columns, rows):
    total = w[rows, 0] @ w[rows, -1] + (w[:, columns] ** 2).sum() + w[2, columns] @ w[rows, 1]
    return total + (w[rows, 1:] ** 3).sum() + w[:2, columns - 1].sum() * w[1:, columns].sum()


@at(W, np.array([3, 0, 2]), np.array([1, 1, -1]))
def assigned_by_pairs(w, rows, columns):
    y = np.zeros((4, 3))
    y[rows, columns] = w[rows, columns] ** 2
    y[rows, columns - 1] += w[rows, 0]
    y[rows - 1] *= 2.0
    return (y * w).sum()


@at(V, np.arange(100) % 6, np.arange(100) % 7 - 1)
def many_places(x, ones, others):
    y = np.zeros(7)
    y[others] = x[ones]
    y[ones] += 1.0
    return (y**2).sum()


@at(np.array([0.5, 1.5, 2.5]))
@at(np.array([[0.5, 1.5, 2.5], [2.0, 0.3, 1.1]]))
def slices_by_their_class(x):
    total = 0.0
    for axis in (0, -1):
        before, after = [slice(None)] * x.ndim, [slice(None)] * x.ndim
        before[axis], after[axis] = slice(None, -1), slice(1, None)
        total += np.sum((x[tuple(after)] - x[tuple(before)]) ** 3)
    y = np.zeros_like(x)
    y[slice(0, 1)] = x[slice(x.shape[0] - 1, x.shape[0])] * 2.0
    y[slice(None, None, 2)] *= x[slice(1)]
    return total + np.sum(y) + np.sum([x[0], 2 * x[1]][slice(1, 2)][0])


@at(np.array([0.5, 1.5, 2.5, 0.9]))
@at(np.array([0.5, 1.5, 2.5, 0.9, 1.1]))
def windows_and_frequencies(x):
    n = len(x)
    smooth = np.hanning(n) + np.hamming(n) * np.bartlett(n) + np.blackman(n) * np.kaiser(n, 2.5)
    spread = np.broadcast_to(x, np.broadcast_shapes(x.shape, (2, 1))) * np.fft.fftfreq(n, d=0.5)
    return np.sum(smooth * x) + np.sum(spread**2) + x[np.ravel_multi_index((1, 1), (2, 2))]
