"""Work that grows as what it is done on does, not with its square: steps are counted, not timed.

``growth.rs`` does so for the graph.
"""

import numpy as np
import pytest

import wyrmling as wy
from wyrmling.arrays import polynomial, shaping

N = 300


@pytest.mark.parametrize(
    "work",
    [lambda xs: np.broadcast_arrays(*xs), lambda xs: np.choose(np.arange(4), xs)],
    ids=["broadcast_arrays", "choose"],
)
def test_many_arrays_are_broadcast_once_each(work, monkeypatch):
    calls = []
    single = shaping.broadcast_like

    def counted(x, like):
        calls.append(1)
        return single(x, like)

    monkeypatch.setattr(shaping, "broadcast_like", counted)
    work([wy.Variable(np.arange(4.0)) for _ in range(N)])
    assert 0 < len(calls) <= 3 * N


def test_a_division_of_polynomials_copies_what_its_steps_change(monkeypatch, rng):
    copied = []
    joined = polynomial.concatenate

    def counted(parts):
        made = joined(parts)
        copied.append(made.size)
        return made

    monkeypatch.setattr(polynomial, "concatenate", counted)
    x, y = rng.normal(size=N), np.array([2.0, 0.5, 0.25])
    quotient, rest = np.polydiv(wy.Variable(x), y)
    assert 0 < sum(copied) <= 10 * N
    for made, expected in zip((quotient, rest), np.polydiv(x, y), strict=True):
        np.testing.assert_allclose(made.value, expected, rtol=1e-9, atol=1e-12)
