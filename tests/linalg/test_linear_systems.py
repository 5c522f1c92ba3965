"""Linear systems whose pivots are subnormal, against fractions and NumPy."""

import math
from fractions import Fraction

import numpy as np
import pytest

import wyrmling as wy

SUBNORMAL = [
    [[1e-310]],
    [[1.0, 0.0], [0.0, 1e-310]],
    [[1e-310, 0.0], [0.0, 1.0]],
    [[1.0, 1.0], [1e-310, 3e-310]],
    [[1e-310, 2e-310], [3e-310, 1e-310]],
    [[1e-320, 1.0], [1e-320, 2.0]],
    [[2e-309, 1e-310, 0.0], [4e-309, 5e-310, 3e-310], [1e-309, 0.0, 1.0]],
]


def solution_of(a, b):
    """Cramer's rule in fractions; infinite beyond float64."""
    rows = rows_of(a)
    whole = determinant(rows)
    found = []
    for k in range(len(rows)):
        of = determinant(
            [[*r[:k], Fraction(v), *r[k + 1 :]] for r, v in zip(rows, b.tolist(), strict=True)]
        )
        try:
            found.append(float(of / whole))
        except OverflowError:
            found.append(math.inf if of / whole > 0 else -math.inf)
    return np.array(found)


def rows_of(a):
    return [[Fraction(v) for v in row] for row in a.tolist()]


def determinant(rows):
    """By the first row, in fractions."""
    if not rows:
        return Fraction(1)
    minors = ([[*r[:k], *r[k + 1 :]] for r in rows[1:]] for k in range(len(rows)))
    return sum((-1) ** k * rows[0][k] * determinant(m) for k, m in enumerate(minors))


@pytest.mark.parametrize("matrix", SUBNORMAL)
@pytest.mark.parametrize("right", [1e-310, 3e-300, 1.0])
def test_systems_with_subnormal_pivots(matrix, right):
    """Reciprocals of such pivots are infinite."""
    a = np.array(matrix)
    n = len(a)
    b = right * np.arange(1.0, n + 1)
    exact = solution_of(a, b)
    with np.errstate(all="ignore"):
        theirs, inverse = np.linalg.solve(a, b), np.linalg.inv(a)
    ours = wy.linalg.solve(a, b)
    # Times a solution that is infinite, NumPy and we have NaN for 0.
    there = np.isfinite(exact) & ~np.isnan(theirs)
    largest = np.abs(exact[there]).max(initial=0.0)
    np.testing.assert_allclose(ours[there], exact[there], rtol=1e-9, atol=1e-12 * largest)
    assert np.isfinite(ours[np.isfinite(theirs)]).all()
    assert np.isfinite(wy.linalg.inv(a)[np.isfinite(inverse)]).all()
    np.testing.assert_allclose(wy.linalg.det(a), float(determinant(rows_of(a))), atol=1e-322)
    # The gradient by the right-hand side is a solution for the transpose.
    expected = solution_of(a.T, b)
    if np.isfinite(exact).all() and np.isfinite(expected).all():
        slope = wy.grad(lambda v: np.sum(wy.linalg.solve(a, v) * b))(b)
        largest = np.abs(expected).max()
        np.testing.assert_allclose(slope, expected, rtol=1e-9, atol=1e-12 * largest)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
@pytest.mark.parametrize("exponent", [-460, 340, 460])
def test_gradient_of_the_pseudoinverse_of_large_and_small_numbers(shape, exponent, rng):
    """It is that of numbers around 1, times a power of two."""
    x, scale = rng.normal(size=shape), 2.0**exponent
    gradient = wy.grad(lambda a: (np.linalg.pinv(a) * np.arange(a.size).reshape(a.T.shape)).sum())
    np.testing.assert_allclose(gradient(x * scale) * scale * scale, gradient(x), rtol=1e-9)
