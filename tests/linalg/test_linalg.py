"""Linear algebra: values against NumPy, gradients against finite differences, and where there are
none."""

import math
import signal
import threading

import numpy as np
import pytest
from conftest import numeric_gradient
from hypothesis import given
from hypothesis import strategies as st

import wyrmling as wy

LinAlgError = np.linalg.LinAlgError


def well(rng, *shape):
    """Matrices with singular values apart, and symmetric part positive definite."""
    small = rng.uniform(-0.4, 0.4, shape)
    rows = np.arange(2.0, 2.0 + shape[-2])[:, None]
    return small + rows * np.eye(*shape[-2:])


# What is written, of `lin`, which is wy.linalg or np.linalg; shapes of operands.
CASES = {
    "inv": (lambda lin, a: lin.inv(a), [(3, 3)]),
    "inv stack": (lambda lin, a: lin.inv(a), [(2, 1, 3, 3)]),
    "inv of nothing": (lambda lin, a: lin.inv(a), [(0, 2, 2)]),
    "solve": (lambda lin, a, b: lin.solve(a, b), [(3, 3), (3, 2)]),
    "solve vector": (lambda lin, a, b: lin.solve(a, b[0]), [(3, 3), (2, 3)]),
    "solve stack of vectors": (lambda lin, a, b: lin.solve(a, b[0]), [(2, 3, 3), (2, 3)]),
    "solve broadcast": (lambda lin, a, b: lin.solve(a, b), [(2, 1, 2, 2), (3, 2, 4)]),
    "det": (lambda lin, a: lin.det(a), [(3, 3)]),
    "det stack": (lambda lin, a: lin.det(a), [(2, 2, 2)]),
    "det negative": (lambda lin, a: lin.det(-a), [(3, 3)]),
    "logabsdet": (lambda lin, a: lin.slogdet(-a).logabsdet, [(2, 3, 3)]),
    "det sign": (lambda lin, a: lin.slogdet(-a)[0] * a[0, 0], [(3, 3)]),
    "cholesky": (lambda lin, a: lin.cholesky(a), [(3, 3)]),
    "cholesky stack": (lambda lin, a: lin.cholesky(a), [(2, 2, 2)]),
    "cholesky symmetric": (lambda lin, a: lin.cholesky(a @ a.T), [(3, 3)]),
    "cholesky upper": (lambda lin, a: lin.cholesky(a, upper=True), [(3, 3)]),
    "eigenvalues": (lambda lin, a: lin.eigh(a).eigenvalues, [(2, 3, 3)]),
    "eigvalsh U": (lambda lin, a: lin.eigvalsh(a, "U"), [(3, 3)]),
    "eigenvectors": (lambda lin, a: lin.eigh(a)[1] ** 2, [(3, 3)]),
    "function of a symmetric matrix": (
        lambda lin, a: lin.eigh(a)[1] @ (lin.eigh(a)[1] * lin.eigh(a)[0] ** 3).T,
        [(3, 3)],
    ),
    "svdvals": (lambda lin, a: lin.svd(a, compute_uv=False), [(2, 3, 4)]),
    "singular vectors": (
        lambda lin, a: (lin.svd(a).U ** 2) @ (lin.svd(a).Vh ** 2),
        [(3, 3)],
    ),
    "left singular vectors, tall": (lambda lin, a: lin.svd(a, False).U ** 2, [(4, 2)]),
    "right singular vectors, tall": (lambda lin, a: lin.svd(a, False).Vh ** 2, [(4, 2)]),
    "left singular vectors, wide": (lambda lin, a: lin.svd(a, False)[0] ** 2, [(2, 4)]),
    "right singular vectors, wide": (lambda lin, a: lin.svd(a, False)[2] ** 2, [(2, 2, 4)]),
    "polar factor": (lambda lin, a: lin.svd(a, False).U @ lin.svd(a, False).Vh, [(4, 3)]),
    "qr Q": (lambda lin, a: lin.qr(a).Q, [(3, 3)]),
    "qr R": (lambda lin, a: lin.qr(a)[1], [(2, 4, 2)]),
    "qr r": (lambda lin, a: lin.qr(a, "r"), [(4, 2)]),
    "qr tall": (lambda lin, a: lin.qr(a)[0], [(4, 2)]),
    "qr wide Q": (lambda lin, a: lin.qr(a)[0], [(2, 4)]),
    "qr wide R": (lambda lin, a: lin.qr(a)[1], [(2, 2, 4)]),
    "pinv": (lambda lin, a: lin.pinv(a), [(3, 3)]),
    "pinv tall": (lambda lin, a: lin.pinv(a), [(2, 4, 2)]),
    "pinv wide": (lambda lin, a: lin.pinv(a), [(2, 3)]),
    "matrix_power": (lambda lin, a: lin.matrix_power(a, 5), [(2, 2)]),
    "matrix_power -2": (lambda lin, a: lin.matrix_power(a, -2), [(2, 3, 3)]),
    "matrix_power 0": (lambda lin, a: lin.matrix_power(a, 0), [(2, 3, 3)]),
    "multi_dot": (lambda lin, *a: lin.multi_dot(a), [(2, 3), (3, 1), (1, 4), (4, 2)]),
    "multi_dot vectors": (
        lambda lin, a, b, c: lin.multi_dot([a[0], b, c[:, 0]]),
        [(1, 3), (3, 2), (2, 1)],
    ),
    "cond": (lambda lin, a: lin.cond(a), [(2, 3, 3)]),
    "cond -2": (lambda lin, a: lin.cond(a, -2), [(3, 3)]),
    "cond 1": (lambda lin, a: lin.cond(a, 1), [(2, 3, 3)]),
    "norm": (lambda lin, a: lin.norm(a), [(2, 3, 2)]),
    "norm keepdims": (lambda lin, a: lin.norm(a, keepdims=True), [(2, 3, 2)]),
    "norm of a vector": (lambda lin, a: lin.norm(a[0]), [(2, 3)]),
}
for order in (2, 1, 0, 3, 2.5, 0.5, -1, math.inf, -math.inf):
    CASES[f"vector norm {order}"] = (
        lambda lin, a, order=order: lin.norm(a, order, axis=-2),
        [(2, 3, 2)],
    )
    CASES[f"norm of one vector {order}"] = (
        lambda lin, a, order=order: lin.norm(a[0], order),
        [(2, 3)],
    )
for order in (None, "fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
    CASES[f"matrix norm {order}"] = (lambda lin, a, order=order: lin.norm(a, order), [(3, 2)])
    CASES[f"matrix norms {order}"] = (
        lambda lin, a, order=order: lin.norm(a, order, axis=(2, 0), keepdims=True),
        [(2, 3, 2)],
    )
if hasattr(np.linalg, "vector_norm"):
    CASES |= {
        "vector_norm": (lambda lin, a: lin.vector_norm(a), [(2, 3)]),
        "vector_norm axes": (
            lambda lin, a: lin.vector_norm(a, axis=(0, 2), ord=3, keepdims=True),
            [(2, 3, 2)],
        ),
        "matrix_norm": (lambda lin, a: lin.matrix_norm(a, ord="nuc"), [(2, 3, 2)]),
        "trace": (lambda lin, a: lin.trace(a, offset=1), [(2, 3, 3)]),
        "diagonal": (lambda lin, a: lin.diagonal(a, offset=-1), [(2, 3, 3)]),
        "outer": (lambda lin, a, b: lin.outer(a[0], b[0]), [(1, 2), (1, 3)]),
        "matmul": (lambda lin, a, b: lin.matmul(a, b), [(2, 3), (3, 2)]),
        "vecdot": (lambda lin, a, b: lin.vecdot(a, b, axis=0), [(2, 3), (2, 3)]),
        "vecdot of other axes": (
            lambda lin, a, b: lin.vecdot(a, b, axis=0),
            [(3, 2), (3, 4, 2)],
        ),
        "vecdot from the end": (
            lambda lin, a, b: lin.vecdot(a, b, axis=-2),
            [(3, 2), (4, 3, 2)],
        ),
        "matrix_transpose": (lambda lin, a: lin.matrix_transpose(a), [(2, 3, 2)]),
    }


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", CASES)
def test_value_and_gradient(name, dtype, rng):
    f, shapes = CASES[name]
    args = [well(rng, *shape).astype(dtype) for shape in shapes]
    leaves = [wy.Variable(a) for a in args]
    tolerance = 1e-12 if dtype is np.float64 else 3e-5
    expected = f(np.linalg, *[a.astype(np.float64) for a in args])
    y = f(wy.linalg, *leaves)
    assert y.dtype == dtype
    assert y.shape == np.shape(expected)
    np.testing.assert_allclose(y.value, expected, rtol=tolerance, atol=tolerance)
    # NumPy's own function gets to the same; test_spectral.py has the signs.
    theirs = f(np.linalg, *leaves).value
    np.testing.assert_allclose(theirs, expected, rtol=tolerance, atol=tolerance)

    weights = rng.uniform(0.5, 1.5, size=y.shape).astype(dtype)
    loss = (y * weights).sum()
    loss.backward()
    value, frozen = wy.freeze(loss).value_and_grad()
    np.testing.assert_allclose(value, loss.item(), rtol=tolerance)
    for k, leaf in enumerate(leaves):
        numeric = numeric_gradient(lambda *a: f(np.linalg, *a) * weights, args, k)
        near = 1e-6 if dtype is np.float64 else 1e-3
        # A count has no gradient.
        grad, again = (np.zeros(leaf.shape) if g is None else g for g in (leaf.grad, frozen[leaf]))
        np.testing.assert_allclose(grad, numeric, rtol=near, atol=near)
        np.testing.assert_allclose(again, grad, rtol=tolerance, atol=tolerance)


SIDES = st.integers(0, 6)
NUMBERS = st.sampled_from([0.0, 0.0, 1.0, -1.0, 0.5, 1e-9, 1e9, 3.0])


@st.composite
def matrices(draw, square=False, rank=False):
    m = draw(SIDES)
    n = m if square else draw(SIDES)
    fill = lambda m, n: np.array([draw(NUMBERS) for _ in range(m * n)]).reshape(m, n)  # noqa: E731
    if rank:
        k = draw(st.integers(0, 3))
        return np.random.default_rng(draw(st.integers(0, 99))).normal(size=(m, k)) @ fill(k, n)
    return fill(m, n)


def scale(x):
    return max(np.abs(x).max(initial=0.0), 1e-300)


@given(st.one_of(matrices(), matrices(rank=True)))
def test_decompositions_of_any_matrix_give_it_back(a):
    k = min(a.shape)
    u, s, vh = wy.linalg.svd(a, full_matrices=False)
    near = 1e-13 * scale(a)
    np.testing.assert_allclose((u * s) @ vh, a, rtol=0, atol=20 * near)
    np.testing.assert_allclose(u.T @ u, np.eye(k), rtol=0, atol=1e-13)
    np.testing.assert_allclose(vh @ vh.T, np.eye(k), rtol=0, atol=1e-13)
    assert np.all(np.diff(s) <= 0)
    assert np.all(s >= 0)
    expected = np.linalg.svd(a, compute_uv=False)
    np.testing.assert_allclose(s, expected, rtol=0, atol=20 * near)
    q, r = wy.linalg.qr(a)
    theirs = np.linalg.qr(a)
    assert (q.shape, r.shape) == (theirs.Q.shape, theirs.R.shape)
    np.testing.assert_allclose(q @ r, a, rtol=0, atol=20 * near)
    np.testing.assert_allclose(q.T @ q, np.eye(k), rtol=0, atol=1e-13)
    np.testing.assert_array_equal(r, np.triu(r))


@given(matrices(square=True))
def test_eigenvectors_of_any_symmetric_matrix_give_it_back(a):
    a = np.tril(a) + np.tril(a, -1).T
    w, v = wy.linalg.eigh(a)
    near = 1e-13 * scale(a)
    np.testing.assert_allclose((v * w) @ v.T, a, rtol=0, atol=20 * near)
    np.testing.assert_allclose(v.T @ v, np.eye(len(a)), rtol=0, atol=1e-13)
    np.testing.assert_allclose(w, np.linalg.eigvalsh(a), rtol=0, atol=20 * near)


@given(st.integers(2, 5), st.integers(0, 4), st.integers(0, 99))
def test_the_gradient_of_a_determinant_is_right_for_any_rank(n, rank, seed):
    rng = np.random.default_rng(seed)
    rank = min(rank, n)
    a = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, n))
    v = wy.Variable(a)
    wy.linalg.det(v).backward()

    def minor(i, j):
        rest = np.delete(np.delete(a, i, 0), j, 1)
        return (-1) ** (i + j) * np.linalg.det(rest)

    cofactors = [[minor(i, j) for j in range(n)] for i in range(n)]
    np.testing.assert_allclose(v.grad, cofactors, rtol=0, atol=1e-12 * max(1, scale(a)) ** n)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_determinant_with_elements_that_are_no_numbers_is_none(bad):
    a = np.array([[bad, 1.0], [1.0, 2.0]])
    v = wy.Variable(a)
    y = wy.linalg.det(v)
    with np.errstate(invalid="ignore"):
        np.testing.assert_equal(y.item(), float(np.linalg.det(a)))
    y.backward()
    assert np.isnan(v.grad).all()
    second = wy.grad(lambda x: np.sum(wy.grad(np.linalg.det)(x)))(a)
    assert np.isnan(second).all()


def test_a_large_matrix(rng):
    a = rng.normal(size=(60, 60))
    u, s, vh = wy.linalg.svd(a)
    np.testing.assert_allclose((u * s) @ vh, a, atol=1e-12)
    np.testing.assert_allclose(wy.linalg.eigvalsh(a), np.linalg.eigvalsh(a), atol=1e-12)
    np.testing.assert_allclose(wy.linalg.inv(a) @ a, np.eye(60), atol=1e-10)


@pytest.mark.parametrize(
    ("f", "match"),
    [
        (lambda v: wy.linalg.inv(v * 0.0), "inverse: the matrix is singular"),
        (lambda v: wy.linalg.solve(v * 0.0, v), "solve: the matrix is singular"),
        (lambda v: wy.linalg.cholesky(-v), "cholesky: the matrix is not positive definite"),
        (lambda v: wy.linalg.cholesky(v * math.nan), "not positive definite"),
        (lambda v: wy.linalg.eigh(v * math.nan), "eigh: the matrix has NaN or infinite"),
        (lambda v: wy.linalg.svd(v * math.inf), "svd: the matrix has NaN or infinite"),
        (lambda v: wy.linalg.pinv(v * math.nan), "pinv: the matrix has NaN or infinite"),
        (
            lambda v: wy.linalg.slogdet(v * 0.0).logabsdet.backward(),
            "^slogdet: there is no derivative: the matrix is singular",
        ),
        (lambda v: wy.linalg.cond(v[:0]), r"cond: expected elements, got shape \(0, 2\)"),
        (lambda v: wy.linalg.matrix_power(v[:1], 2), r"square matrices, got shape \(1, 2\)"),
        (lambda v: wy.linalg.multi_dot([v, v[0], v]), "array 1 is not a matrix"),
        (lambda v: wy.linalg.inv(v[:1]), r"inverse: expected square matrices, got shape \(1, 2\)"),
        (lambda v: wy.linalg.solve(v[:1], v), r"solve: expected square .*, got shape \(1, 2\)"),
        (lambda v: wy.linalg.slogdet(v[:1]), r"expected square matrices, got shape \(1, 2\)"),
        (lambda v: wy.linalg.cholesky(v[:1]), r"cholesky: expected square .* \(1, 2\)"),
        (lambda v: wy.linalg.eigh(v[:1]), r"eigh: expected square matrices, got .* \(1, 2\)"),
        (lambda v: wy.linalg.det(v[0]), r"det: expected a matrix.* \(2,\)"),
        (lambda v: wy.linalg.qr(v[0]), r"qr: expected a matrix.* \(2,\)"),
    ],
)
def test_what_has_no_decomposition_is_refused(f, match):
    with pytest.raises(LinAlgError, match=match):
        f(wy.Variable(np.eye(2)))


@pytest.mark.parametrize(
    ("f", "kind", "match"),
    [
        (lambda v: wy.linalg.solve(v, np.ones(3)), ValueError, r"\(2, 2\) and \(3, 1\)"),
        (lambda v: wy.linalg.svd(v[:1]), NotImplementedError, "full_matrices=False"),
        (lambda v: wy.linalg.svd(v, hermitian=True), NotImplementedError, "eigh"),
        (lambda v: wy.linalg.qr(v, "complete"), NotImplementedError, "'reduced' or 'r'"),
        (lambda v: wy.linalg.eigh(v, "X"), ValueError, "UPLO: expected 'L' or 'U', got 'X'"),
        (lambda v: wy.linalg.norm(v, "nuc", axis=0), ValueError, "order of a norm of vectors"),
        (lambda v: wy.linalg.norm(v, 3), ValueError, "3 is no order of a norm of matrices"),
        (lambda v: wy.linalg.norm(v, 2, axis=2), ValueError, "axis 2 is out of range"),
        (lambda v: wy.linalg.norm(v, 2, axis=(0, -2)), ValueError, "given twice"),
        (lambda v: wy.linalg.norm(v[None], 2), ValueError, "one axis or two"),
        (lambda v: wy.linalg.pinv(v, 1e-3, rtol=1e-3), ValueError, "give one"),
        (lambda v: wy.linalg.matrix_power(v, 0.5), TypeError, "integer"),
        (lambda v: wy.linalg.multi_dot([v]), ValueError, "at least two"),
        (lambda v: np.linalg.eigvals(v), TypeError, r"numpy\.linalg\.eigvals is not among"),
    ],
)
def test_what_is_not_there_is_refused(f, kind, match):
    with pytest.raises(kind, match=match):
        f(wy.Variable(np.eye(2)))


def test_vectors_of_repeated_values_have_no_gradient():
    for f in (
        lambda v: wy.linalg.eigh(v).eigenvectors,
        lambda v: wy.linalg.svd(v).U,
        lambda v: wy.linalg.svd(v).Vh,
    ):
        v = wy.Variable(np.eye(3))
        y = f(v)
        with pytest.raises(LinAlgError, match="there is no derivative"):
            (y * np.arange(9.0).reshape(3, 3)).sum().backward()
    dependent = wy.Variable(np.ones((3, 2)))
    with pytest.raises(LinAlgError, match="there is no derivative"):
        wy.linalg.qr(dependent).R.sum().backward()


def test_repeated_values_are_differentiated_as_far_as_they_can_be(rng):
    q, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    a = wy.Variable((q * [1.0, 1.0, 1.0, 2.0]) @ q.T)
    wy.linalg.eigvalsh(a)[:3].sum().backward()
    projection = q[:, :3] @ q[:, :3].T
    np.testing.assert_allclose(a.grad, np.tril(projection) + np.tril(projection, -1), atol=1e-12)
    a = wy.Variable(np.ones((3, 2)))
    wy.linalg.norm(a, "nuc").backward()
    u = np.ones((3, 1)) / np.sqrt(3.0)
    # One of the subgradients: u vᵀ, and anything of norm up to 1 orthogonal to both.
    assert np.linalg.norm(a.grad, 2) <= 1 + 1e-12
    np.testing.assert_allclose(u.T @ a.grad, np.ones((1, 2)) / np.sqrt(2.0), atol=1e-12)


def test_types_meet_and_plain_arrays_work():
    single = np.eye(2, dtype=np.float32)
    assert wy.linalg.solve(single, np.ones(2)).dtype == np.float64
    assert wy.linalg.inv(single).dtype == np.float32
    assert wy.linalg.norm([3, 4]).item() == 5.0
    assert wy.linalg.det([[2, 0], [0, 3]]).item() == 6.0


def test_a_wide_matrix_that_becomes_tall_is_no_wrong_number(rng):
    x = wy.Input(rng.normal(size=(2, 4)))
    r = wy.linalg.qr(x).R
    x.value = rng.normal(size=(3, 5))
    np.testing.assert_allclose(abs(r.value), abs(np.linalg.qr(x.value).R), atol=1e-12)
    x.value = rng.normal(size=(4, 2))
    with pytest.raises(ValueError, match="rows"):
        r.forward()


def test_what_is_made_of_vectors_has_no_derivative_where_values_coincide():
    """Also where the parts that are divided by nothing happen to be zero."""

    def again(x):
        w, v = np.linalg.eigh(x)
        return (v * w) @ v.T

    def again_by_svd(x):
        u, s, v = np.linalg.svd(x)
        return (u * s) @ v

    for f in (again, again_by_svd):
        for x in (np.eye(2), np.diag([1.0, 2.0, 1.0]), np.array([[2.0, 0.0], [0.0, -2.0]]) ** 2):
            with pytest.raises(np.linalg.LinAlgError, match="there is no derivative"):
                wy.grad(lambda x, f=f: f(x)[1, 0])(x)
    np.testing.assert_array_equal(
        wy.grad(lambda x: np.sum(np.linalg.eigvalsh(x)))(np.eye(3)), np.eye(3)
    )


def test_what_is_made_of_vectors_has_no_derivative_where_all_values_are_zero():
    def again(x):
        w, v = np.linalg.eigh(x)
        return (v * w) @ v.T

    with pytest.raises(np.linalg.LinAlgError):
        wy.grad(lambda x: again(x)[1, 0])(np.zeros((2, 2)))


@pytest.mark.parametrize("name", ["eigh", "svd"])
def test_ctrl_c_ends_the_wait_for_a_large_decomposition(name, rng):
    """Which then ends by itself: it owns its matrix."""
    a = rng.normal(size=(600, 600))
    before = threading.active_count()

    def raised(*_):
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, raised)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        with pytest.raises(KeyboardInterrupt):
            getattr(wy.linalg, name)(wy.Variable(a))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert threading.active_count() == before
    small = getattr(wy.linalg, name)(wy.Variable(np.eye(2)))[0]
    assert small.shape[-1] == 2


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_matrices_far_from_one_are_decomposed(scale, rng):
    a = rng.normal(size=(5, 5)) * scale
    u, s, vh = (np.asarray(x) for x in map(plain, wy.linalg.svd(a)))
    np.testing.assert_allclose(s, np.linalg.svd(a / scale)[1] * scale, rtol=1e-12)
    np.testing.assert_allclose((u * (s / scale)) @ vh, a / scale, atol=1e-12)
    w = plain(wy.linalg.eigvalsh(a))
    np.testing.assert_allclose(w / scale, np.linalg.eigvalsh(a / scale), atol=1e-12)
    q, r = map(plain, wy.linalg.qr(a))
    np.testing.assert_allclose(q @ (r / scale), a / scale, atol=1e-12)


def plain(x):
    return x.value if isinstance(x, wy.Variable) else np.asarray(x)


def test_a_determinant_is_zero_where_a_pivot_is():
    for a in ([[0.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [2.0, 4.0]], np.zeros((40, 40))):
        assert plain(wy.linalg.det(a)) == 0.0
        assert plain(wy.linalg.slogdet(a).sign) == 0.0
        assert plain(wy.linalg.slogdet(a).logabsdet) == -np.inf


@pytest.mark.parametrize("n", [2, 17, 64, 100])
def test_inverse_and_solution_of_nan_are_numpys(n):
    a = np.eye(n) * 3 + 1.0
    a[1, 0] = np.nan
    with np.errstate(invalid="ignore"):
        assert np.isnan(np.linalg.inv(a)).any()
        assert np.isnan(plain(wy.linalg.inv(a))).any()
        assert np.isnan(plain(wy.linalg.solve(a, np.ones(n)))).any()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [33, 100, 130])
def test_values_of_matrices_of_low_rank_are_in_order(n, dtype, rng):
    near = n * 20 * np.finfo(dtype).eps
    for a in (np.ones((n, n)), np.eye(n), np.outer(np.arange(n), np.ones(n)), np.zeros((n, n))):
        a = a.astype(dtype)
        u, s, vh = map(plain, wy.linalg.svd(a))
        assert np.all(np.diff(s) <= 0)
        assert np.all(s >= 0)
        np.testing.assert_allclose((u * s) @ vh, a, atol=near * max(s[0], 1.0))
        np.testing.assert_allclose(u.T @ u, np.eye(n), atol=near)
        w, v = map(plain, wy.linalg.eigh(a + a.T))
        assert np.all(np.diff(w) >= 0)
        np.testing.assert_allclose((v * w) @ v.T, a + a.T, atol=near * max(w[-1], 1.0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_no_numbers_and_of_negative_zeros_are_positive(dtype):
    """As NumPy's are: 1 / x is infinity, and not its negative."""
    x = wy.Variable(np.zeros((0, 0), dtype))
    negative = wy.Variable(np.full((2, 2), -0.0, dtype))
    got = [np.trace(x), np.linalg.slogdet(x).logabsdet, np.trace(negative)]
    assert [(v.item(), bool(np.signbit(v.value))) for v in got] == [(0.0, False)] * 3


@pytest.mark.parametrize("power", [0, 3, -2])
def test_powers_and_condition_numbers_that_are_read_follow_the_lengths_of_matrices(power, rng):
    """What was read for a matrix of one number is right for others: so is the identity."""

    def both(a):
        return np.linalg.matrix_power(a, power) + np.linalg.cond(a, 1)

    compiled = wy.compile(both, mode="source")
    for n in (1, 3, 2):
        a = well(rng, n, n)
        np.testing.assert_allclose(compiled(a), both(a), rtol=1e-10)
    singular = np.diag([1.0, 0.0])
    assert wy.compile(lambda a: np.linalg.cond(a, 1), mode="source")(singular) == np.inf


def test_the_power_zero_of_other_lengths_is_refused():
    x = wy.Input(np.ones((1, 1)))
    program = wy.freeze(np.linalg.matrix_power(x, 0))
    assert program.run({x: [[5.0]]}) == 1.0
    with pytest.raises(ValueError, match="matmul"):
        program.run({x: np.ones((3, 1))})


@pytest.mark.parametrize("svd", [np.linalg.svd, wy.linalg.svd])
def test_whole_singular_vectors_are_of_square_matrices_later_too(svd, rng):
    square = wy.Input(well(rng, 2, 2))
    program = wy.freeze(svd(square)[0] ** 2)
    with pytest.raises(ValueError, match="svd: built for"):
        program.run({square: well(rng, 3, 2)})
    number = wy.Input([[2.0]])
    program = wy.freeze(np.linalg.pinv(number, hermitian=True))
    with pytest.raises(ValueError, match="pinv: built for"):
        program.run({number: np.ones((3, 1))})

    def squares(a):
        u, s, vh = np.linalg.svd(a)
        return np.concatenate([np.ravel(u**2), s, np.ravel(vh**2)])

    compiled = wy.compile(squares, mode="source")
    for shape in ((2, 2), (3, 3), (3, 2), (2, 4)):
        a = well(rng, *shape)
        np.testing.assert_allclose(compiled(a), squares(a), rtol=1e-12)
