"""ldexp: every bit of NumPy's, also where the power of two alone is no number."""

import numpy as np
import pytest

import wyrmling as wy


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ldexp_is_exact_where_the_power_alone_is_not_a_number(dtype, rng):
    bits = np.uint32 if dtype is np.float32 else np.uint64
    a = rng.integers(0, np.iinfo(bits).max, 20000, bits).view(dtype)
    n = rng.integers(-2200, 2200, a.size)
    n[::3] = rng.integers(-60, 60, n[::3].size) - np.frexp(a[::3])[1] + np.finfo(dtype).minexp
    edges = [-(2**63), 2**63 - 1, -1023, -1022, 1023, 1024, -969, -970, -2100, 2100, 0]
    with np.errstate(all="ignore"):
        found = np.ldexp(wy.Variable(a), n)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.value, np.ldexp(a, n))
        x = np.array([1.5, -3.0, 5e-324, 1.7e308, 1.1, 0.0, -np.inf, np.nan]).astype(dtype)
        v = wy.Variable(x)
        for k in edges:
            np.testing.assert_array_equal(wy.ldexp(v, k).value, np.ldexp(x, np.int64(k)))
    slope = wy.grad(lambda x: np.sum(np.ldexp(x, np.array([2, -3], np.int8))))
    np.testing.assert_array_equal(slope(np.ones((3, 2), dtype)), [[4.0, 0.125]] * 3)


def test_ldexp_takes_integers_alone():
    x = wy.Variable([1.0, 2.0])
    for n in (1.0, [0.5, 1.0], np.uint64(1), "1"):
        with pytest.raises(TypeError, match="ldexp: x2: expected integers that int64 holds, got"):
            np.ldexp(x, n) if not isinstance(n, str) else wy.ldexp(x, n)
    for n in (x, wy.IndexInput([0, 1])):
        with pytest.raises(TypeError, match="ldexp: x2: expected plain integers, got a variable"):
            np.ldexp(1.0, n)
    with pytest.raises(ValueError, match="shape"):
        np.ldexp(x, [1, 2, 3])
