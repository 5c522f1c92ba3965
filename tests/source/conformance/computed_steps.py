"""Ranges whose step is computed, and slices that are made by ``slice``."""

import math

import numpy as np

from .case import at

V = np.array([0.35, 1.25, 0.75, 0.45, 2.15, 0.95, 0.55, 0.85])


@at(1.5, 30)
def sieve_of_eratosthenes(x, n):
    is_prime = np.ones(n, dtype=bool)
    is_prime[:2] = False
    s = 0.0
    for i in range(2, n):
        if is_prime[i]:
            s += x / i
            for j in range(i * i, n, i):
                is_prime[j] = False
    return s


@at(V)
def butterflies(x):
    y = x.copy()
    n = len(y)
    length = 2
    while length <= n:
        half = length // 2
        for start in range(0, n, length):
            for k in range(half):
                u = y[start + k]
                v = y[start + k + half]
                y[start + k] = u + v * math.cos(k)
                y[start + k + half] = u - v
        length *= 2
    return np.sum(y * np.arange(n))


@at(1.5, 7)
def downwards(x, n):
    s = 0.0
    k = -1
    while k > -4:
        for i in range(n, 0, k):
            s += x * i
        for i in reversed(range(n, 0, k)):
            s = s * 0.9 + i * x
        k -= 1
    return s + len(range(0, n, -k))


@at(1.5, 7)
def step_of_zero(x, n):
    s = 0.0
    for k in range(3):
        for _ in range(0, n, 2 - k):
            s += x
    return s


@at(1.5, 7)
def step_of_zero_is_handled(x, n):
    s = 0.0
    for k in range(3):
        try:
            for i in range(0, n, k):
                s += x * i
        except ValueError:
            s += 10 * x
    return s


@at(1.5, 2)
@at(1.5, 7)
def step_of_zero_of_a_range_that_is_not_used(x, k):
    s = 0.0
    for i in range(3):
        range(0, 5, k - i)
        s = s + x
    return s


@at(1.5, 9)
def gone_through_together(x, n):
    s = 0.0
    for k in range(1, 4):
        for i, j in zip(range(0, n, k), range(n)):  # noqa: B905
            s += x * i * j
        for a, b in enumerate(range(n, 0, -k)):
            s += a * b * x
        s += sum(i * x for i in range(1, n, k))
    return s


@at(1.5, 9)
def left_or_ended(x, n):
    s = 0.0
    for k in range(1, 4):
        i = -1
        for i in range(0, n, k):  # noqa: B007
            if i > 5:
                break
        else:
            s += x
        s += i * x
    return s


@at(V)
def sorted_by_gaps(x):
    a = x.copy()
    n = len(a)
    gap = n // 2
    while gap > 0:
        for i in range(gap, n):
            t = a[i]
            j = i
            while j >= gap and a[j - gap] > t:
                a[j] = a[j - gap]
                j -= gap
            a[j] = t
        for i in range(0, n, gap):
            a[i] = a[i] * 1.5
        gap //= 2
    return np.sum(a * np.arange(n))


@at(V)
def slices_by_name(x):
    first, rest = slice(2), slice(1, 4)
    y = x[:6].reshape(2, 3).copy()
    y[slice(1, 2), 0] = 3.0
    parts = [slice(i, i + 2) for i in range(3)]
    total = sum(x[part].sum() * (k + 1) for k, part in enumerate(parts))
    return x[first].sum() + 2 * x[rest].sum() + y[(slice(None), 1)].sum() + y.sum() * total


@at(V, 4)
def slices_in_a_loop(x, n):
    t = 0.0
    for k in range(n):
        t += x[slice(k, k + 2)].sum() * k
    return t


@at(V)
@at(V[:3])
def numbers_of_two_kinds_in_a_list(d):
    n = len(d)
    x, y, z = [0.0] * n, [0.0] * n, [0.0] * n
    x[-1] = y[0] = z[0] = d[-1]
    for i in reversed(range(n - 1)):
        x[i] = d[i] - x[i + 1]
    for k, i in enumerate(range(1, n)):
        y[i] = d[i] - y[i - 1] * k
    for i, v in zip(range(1, n), d):  # noqa: B905
        z[i] = v - z[i - 1]
    return sum(x) + sum(y) * sum(z)


@at(V, 4)
@at(V, 1)
def slices_of_ranges(x, n):
    s = 0.0
    for i in range(n)[::-1]:
        s = s * 0.9 + x[i]
    for i in range(len(x))[1:n]:
        s = s * 1.1 + x[i] * i
    for i in range(0, 8, 2)[-3:]:
        s = s * 0.8 - x[i]
    for k in range(1, 3):
        for i in range(len(x) - 1, 0, -k)[::-1]:
            s = s * 0.7 + x[i] * k
        for i in range(0, n, k)[k:]:
            s += i * x[0]
    return s + len(range(n)[:2])
