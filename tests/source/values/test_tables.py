"""Lists of lists whose numbers computed indices find (``types/tables.py``): programs that are as
long for large tables as for small ones. What they compute is held against Python in
``conformance``.
"""

import math

import numpy as np
import pytest

import wyrmling as wy


def soft_time_warping(a, b):
    n, m = len(a), len(b)
    table = [[math.inf] * (m + 1) for _ in range(n + 1)]
    table[0][0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            before = [table[i - 1][j], table[i][j - 1], table[i - 1][j - 1]]
            least = min(before)
            total = sum(math.exp(least - one) for one in before)
            table[i][j] = (a[i - 1] - b[j - 1]) ** 2 + least - math.log(total)
    return table[n][m]


def test_a_program_is_as_long_for_a_large_table_but_for_its_rows(rng):
    lengths = []
    for n in (12, 60):
        a, b = rng.normal(size=(2, n))
        lengths.append(len(wy.code_adjoint(soft_time_warping, a, b).splitlines()))
    # Rows are put together one by one.
    assert lengths[1] < lengths[0] + 3 * (60 - 12)


@pytest.mark.parametrize("n", [9, 33])
def test_its_gradient_is_that_of_an_array(rng, n):
    def on_an_array(a, b):
        table = np.full((len(a) + 1, len(b) + 1), np.inf)
        table[0, 0] = 0.0
        for i in range(1, len(a) + 1):
            for j in range(1, len(b) + 1):
                before = np.stack([table[i - 1, j], table[i, j - 1], table[i - 1, j - 1]])
                least = before.min()
                total = np.exp(least - before).sum()
                table[i, j] = (a[i - 1] - b[j - 1]) ** 2 + least - np.log(total)
        return table[-1, -1]

    a, b = rng.normal(size=n), rng.normal(size=n + 2)
    for mode in ("auto", "source"):
        value, slopes = wy.value_and_grad(soft_time_warping, argnums=(0, 1), mode=mode)(a, b)
        assert value == pytest.approx(soft_time_warping(a, b), rel=1e-12)
        expected = wy.grad(on_an_array, argnums=(0, 1))(a, b)
        for slope, one in zip(slopes, expected, strict=True):
            np.testing.assert_allclose(slope, one, rtol=1e-9, atol=1e-12)


def test_rows_of_a_large_table_are_exchanged(rng):
    def determinant(matrix):
        n = len(matrix)
        rows = [[matrix[i, j] for j in range(n)] for i in range(n)]
        found = 1.0
        for k in range(n):
            best = k
            for i in range(k, n):
                if math.fabs(rows[i][k]) > math.fabs(rows[best][k]):
                    best = i
            if best != k:
                rows[k], rows[best] = rows[best], rows[k]
                found = -found
            found = found * rows[k][k]
            for i in range(k + 1, n):
                factor = rows[i][k] / rows[k][k]
                for j in range(k, n):
                    rows[i][j] = rows[i][j] - factor * rows[k][j]
        return found

    matrix = rng.normal(size=(12, 12))
    value, slope = wy.value_and_grad(determinant, mode="source")(matrix)
    assert value == pytest.approx(np.linalg.det(matrix))
    np.testing.assert_allclose(slope, value * np.linalg.inv(matrix).T, rtol=1e-8)
