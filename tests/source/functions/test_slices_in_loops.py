"""Writes to slices whose ends are counters, and to rows that a list names."""

import numpy as np
import pytest

import wyrmling as wy

M = np.array([[4.0, 0.7, 0.3], [0.5, 5.0, 0.9], [1.1, 0.2, 6.0]])
V = np.array([0.6, 1.3, 0.9])


def lower_upper(m):
    upper, n = m.copy(), len(m)
    lower = np.eye(n)
    for k in range(n - 1):
        for i in range(k + 1, n):
            lower[i, k] = upper[i, k] / upper[k, k]
            upper[i, k:] -= lower[i, k] * upper[k, k:]
    return lower * 2 + upper


def by_outer_products(m):
    made = m.copy()
    for k in range(len(m) - 1):
        made[k + 1 :, k] /= made[k, k]
        made[k + 1 :, k + 1 :] -= np.outer(made[k + 1 :, k], made[k, k + 1 :])
    return made


def reflected(m):
    made = m.copy()
    for k in range(len(m) - 1):
        x = made[k:, k].copy()
        x[0] += np.sign(x[0]) * np.linalg.norm(x)
        v = x / np.linalg.norm(x)
        made[k:, k:] -= 2.0 * np.outer(v, v @ made[k:, k:])
    return made


def by_slices_that_are_named_anew(m):
    made = m.copy()
    for k in range(len(m) - 1):
        x = made[k:, k]
        v = np.zeros(len(x))
        v[0] = np.sign(x[0]) * np.linalg.norm(x)
        v = (v + x) / np.linalg.norm(v + x)
        made[k:, k:] -= 2.0 * np.outer(v, v @ made[k:, k:])
        row = made[k]
        made[k] = row * row[0]
    return made


def with_pivots(m):
    made, n = m[::-1] * 1.0, len(m)
    for k in range(n):
        p = k + np.argmax(np.abs(made[k:, k]))
        made[[k, p]] = made[[p, k]]
        for i in range(k + 1, n):
            made[i, k:] -= made[i, k] / made[k, k] * made[k, k:]
    return made


def suffixes(m):
    made = m[0] * 1.0
    for k, row in enumerate(m):
        made[k:] *= row[k]
        made[: k + 1] += row[0]
    return made


def rows_of_a_list(m):
    made = m * 1.0
    for k in range(2):
        made[[k, k + 1], 1:] = made[[k + 1, k], 1:] * 2.0
        made[[-1 - k, k]] += m[[k, 0]]
        made[[k, k]] = m[[k + 1, k]]
    return made


def places(m):
    k = int(np.argmax(m[1]))
    made = m[0] * 1.0
    made[np.argmin(m[0])] = m[k, m[2].argmax()] * k
    return made * float(np.argmax(m[0]) + 1)


PLACES = np.array([2, 0, 2, -1])


def rows_of_an_array_of_integers(m):
    made = np.zeros((3, 3))
    made[PLACES[:2]] = m[:2]
    made[PLACES[1:]] += m[::-1] * 2.0
    made[PLACES, 1:] = m[0, :2]
    made[PLACES] *= m[1]
    return made


FUNCTIONS = [
    lower_upper,
    by_outer_products,
    reflected,
    by_slices_that_are_named_anew,
    with_pivots,
    suffixes,
    rows_of_a_list,
    places,
]


@pytest.mark.parametrize("f", FUNCTIONS)
def test_derivatives(f):
    wanted = f(M.copy())
    seed = np.cos(np.arange(wanted.size) + 1.0).reshape(wanted.shape)
    slopes = np.zeros_like(M)
    for at in np.ndindex(M.shape):
        step = np.zeros_like(M)
        step[at] = 1e-5
        slopes[at] = np.sum(seed * (f(M + step) - f(M - step))) / 2e-5
    for mode in ("source", "auto"):
        value, pull = wy.pullback(f, M.copy(), mode=mode)
        np.testing.assert_allclose(value, wanted, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(pull(seed)[0], slopes, rtol=1e-7, atol=1e-8)


def test_a_slice_that_is_read_after_a_write_to_its_array():
    def f(m):
        made = m.copy()
        row = made[0]
        made[0, 0] = 5.0
        return row * 2.0

    def turned(m):
        made = m.copy()
        row = made.T[0]
        made[0, 0] = 5.0
        return row * 2.0

    for mode in ("source", "auto"):
        np.testing.assert_array_equal(wy.compile(f, mode=mode)(M), [10.0, 1.4, 0.6])
    with pytest.raises(wy.SourceError, match=r"name 'row': a slice of an array .*\n.*\n.*\n.*copy"):
        wy.compile(turned, mode="source")(M)
    for _ in range(3):
        np.testing.assert_array_equal(wy.compile(turned)(M), turned(M))


def test_other_lengths_are_read_anew():
    program = wy.compile(lower_upper)
    for n in (2, 3, 5, 3):
        m = np.eye(n) * 3 + 0.1 * np.arange(n * n).reshape(n, n)
        np.testing.assert_allclose(program(m), lower_upper(m), rtol=1e-12)


def test_turns_of_unknown_number():
    def f(x):
        made, k = x * 1.0, 0
        while made.sum() < 100:
            made[k:] *= 2.0 + made[k:]
            k = (k + 1) % 3
        return made

    for mode in ("source", "auto"):
        np.testing.assert_allclose(wy.compile(f, mode=mode)(V), f(V), rtol=1e-12)
        slopes = wy.jacobian(f, mode=mode)(V)
        steps = 1e-6 * np.eye(3)
        expected = np.stack([(f(V + h) - f(V - h)) / 2e-6 for h in steps], axis=1)
        np.testing.assert_allclose(slopes, expected, rtol=1e-6, atol=1e-6)
