"""Arrays that names exchange in a loop, each of which is written to in turn."""

import numpy as np
import pytest

import wyrmling as wy

X = np.array([0.6, 1.3, 0.9, 1.1])


def whole(x):
    a, b = np.zeros(4), np.ones(4)
    for _ in range(5):
        b[:] = a * 0.5 + x
        a, b = b, a
    return a * b


def diffusion(x):
    now, after = x.copy(), np.zeros_like(x)
    k = 0
    while k < 6:
        after[1:-1] = now[1:-1] + 0.1 * (now[2:] - 2 * now[1:-1] + now[:-2])
        after[0] = now[0] ** 2
        now, after = after, now
        k += 1
        if now[1] > 100:
            break
    return now + 2.0 * after


def around(x):
    a, b, c = np.zeros(4), np.ones(4), x * 2
    for _ in range(5):
        a[:] = b * 0.5 + c * x
        c[0] = a[1]
        a, b, c = b, c, a
    return a * b + c


def elements(x):
    before, now = np.zeros(5), np.zeros(5)
    before[0] = 1.0
    for i in range(4):
        for j in range(i + 1):
            now[j] = before[j] * x[i] + (before[j - 1] if j else 0.0)
        before, now = now, before
    return before + now


def in_some_turns(x):
    a, b = x.copy(), np.zeros_like(x)
    for k in range(4):
        b[1:] = 0.3 * (a[:-1] + a[1:])
        if k % 2 == 0:
            other = a
            a = b
            b = other
        else:
            a[:] = b
    return a * b + a


def on_a_branch(x):
    a, b = x * 1.0, x * 2.0
    if x[0] > 0.5:
        a, b = b, a
    a[0] = 3.0 * x[1]
    return a * b + a


def in_a_list(x):
    pair = [x * 1.0, x * 2.0]
    for _ in range(3):
        pair[1][:] = pair[0] * 0.5 + x
        pair[0], pair[1] = pair[1], pair[0]
    return pair[0] * pair[1] + pair[1]


def with_a_list_that_keeps_them(x):
    a, b = x * 1.0, x * 3.0
    both = [a, b]
    for _ in range(3):
        a, b = b, a
    a = a + 1.0
    return both[0] * a + 2.0 * both[1] * b


FUNCTIONS = [
    *(whole, diffusion, around, elements, in_some_turns, on_a_branch, in_a_list),
    with_a_list_that_keeps_them,
]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_derivatives(f):
    for x in (X, X * 0.3):
        wanted = f(x.copy())
        value, pull = wy.pullback(f, x.copy(), mode="source")
        np.testing.assert_allclose(value, wanted, rtol=1e-14)
        seed = np.cos(np.arange(len(wanted)) + 1.0)
        steps = [(f(x + step) - f(x - step)) / 2e-5 for step in np.eye(4) * 1e-5]
        np.testing.assert_allclose(pull(seed)[0], np.array(steps) @ seed, rtol=1e-7, atol=1e-8)


def test_one_array_of_two_names_is_not_exchanged():
    def f(x):
        a, b = x * 1.0, x * 2.0
        same = a
        for _ in range(3):
            a, b = b, a
        a = a * x
        return a * b + same

    value = wy.compile(f)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-14)
