"""Element types of ``wyrmling.linalg``: those of NumPy's functions of the same names."""

import numpy as np
import pytest

import wyrmling as wy

COMPLEX = np.array([[2.0, 1j], [-1j, 3.0]])


@pytest.mark.parametrize("name", [name for name in wy.linalg.__all__ if name.islower()])
def test_complex_numbers_get_numpys_answer(name):
    """Nothing traced is complex, so there is nothing that ours could add."""
    theirs = getattr(np.linalg, name, None)
    if theirs is None:
        pytest.skip(f"this NumPy has no {name}")
    args = {
        "cross": ([1j, 2.0, 3.0], [1.0, 1j, 0.0]),
        "lstsq": (COMPLEX, [1.0, 2.0]),
        "matrix_power": (COMPLEX, 3),
        "multi_dot": ([COMPLEX, COMPLEX, COMPLEX],),
        "outer": ([1j, 2.0], [1.0, 2.0]),
        "tensorinv": (COMPLEX, 1),
        "tensorsolve": (COMPLEX, np.ones(2)),
        **dict.fromkeys(("matmul", "solve", "tensordot", "vecdot"), (COMPLEX, np.eye(2))),
    }.get(name, (COMPLEX,))
    got, expected = getattr(wy.linalg, name)(*args), theirs(*args)
    both = (got, expected) if isinstance(expected, tuple) else ([got], [expected])
    for one, other in zip(*both, strict=True):
        np.testing.assert_array_equal(one, other)
        assert np.asarray(one).dtype == np.asarray(other).dtype


def test_types_of_norms_and_ranks():
    single = np.array([[1.0, 2.0], [0.0, 4.0]], np.float32)
    for order in (None, 0, 1, 2, 3, np.inf, -np.inf, 0.5):
        for x in (single[0], wy.Variable(single[0])):
            expected = np.linalg.norm(single[0], order)
            assert wy.linalg.norm(x, order).dtype == expected.dtype, order
    for a in (single, wy.Variable(single)):
        found = wy.linalg.lstsq(a, single[0])
        expected = np.linalg.lstsq(single, single[0])
        assert [np.asarray(getattr(x, "value", x)).dtype for x in found] == [
            np.asarray(x).dtype for x in expected
        ]


@pytest.mark.parametrize("rcond", [0.0, -1.0, 1.0, 1e3, None, 0.3])
def test_shares_of_least_squares_are_lapacks(rcond):
    """It takes the precision for a share that is none."""
    a, b = np.array([[1.0, 2.0], [0.0, 4.0], [1.0, 1.0]]), np.arange(3.0)
    got = np.linalg.lstsq(wy.Variable(a), b, rcond)
    expected = np.linalg.lstsq(a, b, rcond)
    np.testing.assert_allclose(got[0].value, expected[0], atol=1e-14)
    assert got[2] == expected[2]


@pytest.mark.parametrize("n", [1, 3, 40, 200])
def test_decompositions_of_single_precision_are_rounded_once(n):
    """Each element is that of double precision, to the last bit of single precision."""
    rng = np.random.default_rng(n)
    a = (rng.standard_normal((n, n)) + 2 * np.sqrt(n) * np.eye(n)).astype(np.float32)
    b = rng.standard_normal((n, 2)).astype(np.float32)
    s = a @ a.T
    s = (s + s.T) / 2
    double = [x.astype(np.float64) for x in (a, b, s)]
    for function, args in {
        wy.linalg.inv: (0,),
        wy.linalg.pinv: (0,),
        wy.linalg.det: (0,),
        wy.linalg.solve: (0, 1),
        wy.linalg.cholesky: (2,),
        wy.linalg.qr: (0,),
        wy.linalg.svd: (0,),
        wy.linalg.eigh: (2,),
    }.items():
        got = function(*[wy.Variable((a, b, s)[k]) for k in args])
        expected = function(*[double[k] for k in args])
        both = zip(got, expected, strict=True) if isinstance(got, tuple) else [(got, expected)]
        for one, other in both:
            assert one.value.dtype == np.float32
            with np.errstate(over="ignore"):
                rounded = np.asarray(other, np.float32)
            np.testing.assert_allclose(one.value, rounded, rtol=2e-7, atol=1e-12)
