"""Decompositions whose factors are not unique, and functions of eigenvalues and singular values:
one function whether plain, traced or frozen, and second derivatives where values coincide."""

import numpy as np
import pytest

import wyrmling as wy

LinAlgError = np.linalg.LinAlgError


def symmetric(a):
    return a + np.swapaxes(a, -1, -2)


# What is written, of `lin`, which is wy.linalg or np.linalg: all the factors as one array, so that
# signs are seen.
FACTORS = {
    "eigh": lambda lin, a: lin.eigh(a)[1] + lin.eigh(a)[0][..., None, :],
    "eigh U": lambda lin, a: lin.eigh(a, "U")[1] * lin.eigh(a, "u")[0][..., None, :],
    "svd U": lambda lin, a: lin.svd(a).U * lin.svd(a).S[..., None, :],
    "svd Vh": lambda lin, a: lin.svd(a)[2],
    "svd reduced": lambda lin, a: lin.svd(a[..., :2], full_matrices=False).U,
    "svd reduced, wide": lambda lin, a: lin.svd(a[..., :2, :], False)[2],
    "qr": lambda lin, a: lin.qr(a).Q + lin.qr(a).R,
    "qr tall": lambda lin, a: lin.qr(a[..., :2])[0],
    "qr r": lambda lin, a: lin.qr(a, mode="r"),
    "qr Q of a wide one": lambda lin, a: lin.qr(a[..., :2, :]).Q,
}
KINDS = {
    "any": lambda rng: rng.normal(size=(4, 4)),
    "batch": lambda rng: rng.normal(size=(2, 3, 4, 4)),
    "large": lambda rng: rng.normal(size=(20, 20)),
    "diagonal": lambda rng: np.diag([3.0, -1.0, 2.0, 0.5]),
    "negative": lambda rng: -np.eye(4) - np.diag(np.arange(4.0)),
    "ties": lambda rng: np.kron(np.diag([1.0, 4.0]), [[2.0, 1.0], [1.0, 2.0]]),
    "repeated": lambda rng: np.eye(4),
    "zero": lambda rng: np.zeros((4, 4)),
    "not contiguous": lambda rng: rng.normal(size=(4, 4, 2)).transpose(2, 1, 0)[::-1, :, ::-1],
}


def plain(x):
    return x.value if isinstance(x, wy.Variable) else np.asarray(x)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FACTORS)
@pytest.mark.parametrize("lin", [np.linalg, wy.linalg], ids=["np", "wy"])
def test_factors_are_the_same_plain_traced_and_frozen(lin, name, kind, dtype, rng):
    a = KINDS[kind](rng).astype(dtype)
    f = FACTORS[name]
    expected = plain(f(lin, a))
    assert expected.dtype == dtype
    seen = []

    def traced(x):
        y = f(lin, x)
        seen.append(plain(y))
        return np.sum(y)

    if kind not in ("repeated", "zero"):
        # Of the same function, so that the loss is to the bit what it is without a trace.
        value, _ = wy.value_and_grad(traced)(a)
        assert value == np.sum(wy.Variable(expected)).item()
        wy.jvp(traced, (a,), (np.zeros_like(a),))
    traced(wy.Variable(a))
    # Built on other numbers than it is run on.
    x = wy.Input(a * 0 + np.eye(a.shape[-1], dtype=dtype))
    frozen = wy.freeze(f(lin, x)).run({x: a})
    for found in [*seen, frozen]:
        np.testing.assert_array_equal(found, expected, strict=True)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_largest_component_of_a_vector_is_positive(dtype, rng):
    for kind in KINDS.values():
        a = kind(rng).astype(dtype)
        for vectors in (wy.linalg.eigh(a)[1], wy.linalg.svd(a)[0]):
            v = plain(vectors)
            top = np.take_along_axis(v, np.abs(v).argmax(-2)[..., None, :], -2)
            first = np.abs(v) >= np.abs(top) * (1 - 1e-4)
            signs = np.take_along_axis(v, first.argmax(-2)[..., None, :], -2)
            assert np.all(signs > 0)


def direction(rng, n):
    return symmetric(rng.normal(size=(n, n)))


def krein(h, slope, w):
    """Divided differences of the derivative `h` of a function, which has the derivative `slope`."""
    gap = w[:, None] - w
    same = np.abs(gap) < 1e-9
    divided = (h(w)[:, None] - h(w)) / np.where(same, 1.0, gap)
    return np.where(same, slope(w)[:, None], divided)


SPECTRA = {
    "identity": [1.0, 1.0, 1.0, 1.0],
    "two and two": [1.0, 1.0, 3.0, 3.0],
    "one apart": [0.5, 2.0, 2.0, 2.0],
    "zero": [0.0, 0.0, 0.0, 0.0],
    "negative": [-1.0, -1.0, 0.0, 2.0],
    "apart": [0.1, 0.9, 1.3, 2.0],
}
# Functions of eigenvalues, the derivative of what is summed, and that one's.
SUMS = {
    "squares": (lambda w: np.sum(w**2), lambda w: 2 * w, lambda w: 2 + 0 * w),
    "cubes": (lambda w: np.sum(w**3), lambda w: 3 * w**2, lambda w: 6 * w),
    "exponentials": (lambda w: np.sum(np.exp(w)), np.exp, np.exp),
    "themselves": (np.sum, np.ones_like, np.zeros_like),
    "sines": (lambda w: np.sum(np.sin(w)), np.cos, lambda w: -np.sin(w)),
}


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("spectrum", SPECTRA)
@pytest.mark.parametrize("name", SUMS)
def test_hessians_of_sums_over_eigenvalues_are_those_of_daleckii_and_krein(
    name, spectrum, turned, rng
):
    f, h, slope = SUMS[name]
    w = np.array(SPECTRA[spectrum])
    q = np.linalg.qr(rng.normal(size=(4, 4)))[0] if turned else np.eye(4)
    a = (q * w) @ q.T
    a = (a + a.T) / 2
    for lin in (wy.linalg, np.linalg):
        for T in [*map(symmetric, np.eye(16).reshape(16, 4, 4)), direction(rng, 4)]:
            loss = lambda x, lin=lin: f(lin.eigvalsh((x + x.T) / 2))  # noqa: E731
            expected = q @ (krein(h, slope, w) * (q.T @ T @ q)) @ q.T
            np.testing.assert_allclose(wy.hvp(loss)(a, T), expected, atol=1e-9)
    whole = wy.hessian(loss)(a)
    np.testing.assert_allclose(np.einsum("ijkl,kl", whole, T), expected, atol=1e-9)


# Functions of singular values, and what they are of the matrix itself where that is known.
OF_MATRICES = {
    "square of Frobenius": (lambda s: np.sum(s**2), lambda x: np.sum(x * x)),
    "fourth powers": (lambda s: np.sum(s**4), lambda x: np.sum((x.T @ x) ** 2)),
    "sixth powers": (lambda s: np.sum(s**6), lambda x: np.trace(x.T @ x @ x.T @ x @ x.T @ x)),
    "Frobenius": (lambda s: np.sqrt(np.sum(s**2)), lambda x: np.sqrt(np.sum(x * x))),
}


@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 4)])
@pytest.mark.parametrize(
    "values", [(1, 1, 1), (2, 1, 1), (2, 2, 0), (2, 0, 0), (0, 0, 0), (3, 2, 1)]
)
@pytest.mark.parametrize("name", OF_MATRICES)
def test_hessians_of_functions_of_singular_values(name, values, shape, rng):
    of_values, of_matrix = OF_MATRICES[name]
    if name == "Frobenius" and not any(values):
        return
    u = np.linalg.qr(rng.normal(size=(shape[0], 3)))[0]
    v = np.linalg.qr(rng.normal(size=(shape[1], 3)))[0]
    a = (u * np.array(values, float)) @ v.T
    f = lambda x: of_values(wy.linalg.svdvals(x))  # noqa: E731
    expected = wy.hessian(of_matrix)(a)
    np.testing.assert_allclose(wy.hessian(f)(a), expected, atol=1e-8)
    T = rng.normal(size=shape)
    np.testing.assert_allclose(wy.hvp(f)(a, T), np.einsum("ijkl,kl", expected, T), atol=1e-8)


def nuclear(s, M):
    """The second derivative along T with M = Uᵀ T V, by second-order perturbation theory."""
    return np.sum((M - M.T) ** 2 / (s[:, None] + s)) / 2


def spectral(s, M):
    """That of the largest value, which is apart."""
    row, column = M[0, 1:], M[1:, 0]
    pairs = s[0] * (row**2 + column**2) + 2 * s[1:] * row * column
    return np.sum(pairs / (s[0] ** 2 - s[1:] ** 2))


def frobenius(s, M):
    norm = np.sqrt(np.sum(s**2))
    return np.sum(M**2) / norm - np.sum(s * np.diag(M)) ** 2 / norm**3


# Where norms are smooth although values coincide.
NORMS = {
    "nuc": (nuclear, [(1, 1, 1), (2, 1, 1), (3, 3, 1), (3, 2, 1)]),
    2: (spectral, [(3, 1, 1), (3, 0, 0), (2, 1, 0), (3, 2, 1)]),
    "fro": (frobenius, [(1, 1, 1), (2, 0, 0)]),
}


@pytest.mark.parametrize("lin", [np.linalg, wy.linalg], ids=["np", "wy"])
@pytest.mark.parametrize("order", NORMS)
def test_norms_have_second_derivatives_where_they_are_smooth(order, lin, rng):
    second, spectra = NORMS[order]
    for values in spectra:
        u, v = (np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(2))
        s = np.array(values, float)
        T = rng.normal(size=(3, 3))
        got = np.sum(T * wy.hvp(lambda x: lin.norm(x, order))((u * s) @ v.T, T))
        np.testing.assert_allclose(got, second(s, u.T @ T @ v), rtol=1e-8, atol=1e-10)


def test_what_is_not_smooth_has_no_second_derivative(rng):
    T = direction(rng, 3)
    for f, a in [
        (lambda x: wy.linalg.eigvalsh(x)[0], np.eye(3)),
        (lambda x: np.sum(wy.linalg.eigvalsh(x) * np.arange(3.0)), np.diag([1.0, 1.0, 2.0])),
        (lambda x: wy.linalg.svdvals(x)[0], np.eye(3)),
        (lambda x: np.sum(wy.linalg.svdvals(x)), np.diag([1.0, 2.0, 0.0])),
    ]:
        with pytest.raises(LinAlgError, match="no second derivative"):
            wy.hvp(f)(a, T)
        with pytest.raises(LinAlgError, match="no second derivative"):
            wy.hessian(f)(a)


def test_reverse_mode_twice_says_what_finds_it():
    for f in (wy.linalg.eigvalsh, wy.linalg.svdvals):
        for a in (np.eye(3), np.zeros((3, 3))):
            with pytest.raises(LinAlgError, match="hvp"):
                wy.jacrev(wy.jacrev(lambda x, f=f: np.sum(f(x) ** 2)))(a)


def test_third_derivatives_at_repeated_values_are_refused_and_elsewhere_right(rng):
    def third(f, a, T):
        return wy.hvp(lambda x: np.sum(T * wy.hvp(f)(x, T)))(a, T)

    T = direction(rng, 3)
    a = direction(rng, 3) + np.diag([9.0, 5.0, 0.0])
    for values in (wy.linalg.eigvalsh, wy.linalg.svdvals):

        def f(x, values=values):
            return np.sum(values((x + x.T) / 2) ** 4)

        def same(x):
            x = (x + x.T) / 2
            return np.sum((x.T @ x) ** 2)

        with pytest.raises(LinAlgError):
            third(f, np.eye(3), T)
        np.testing.assert_allclose(third(f, a, T), third(same, a, T), rtol=1e-6)


@pytest.mark.parametrize("lin", [np.linalg, wy.linalg], ids=["np", "wy"])
def test_forward_mode_sees_what_reverse_mode_sees(lin, rng):
    """Where values are apart, of vectors too."""
    a = rng.normal(size=(2, 4, 4)) + np.diag([9.0, 5.0, 2.0, 0.0])
    T = rng.normal(size=a.shape)
    for f in (
        lambda x: lin.eigh(x).eigenvectors * np.arange(4.0),
        lambda x: lin.eigvalsh(x) ** 3,
        lambda x: lin.svd(x).U * np.arange(4.0) + lin.svd(x).Vh,
        lambda x: lin.svd(x[..., :2], False).U,
        lambda x: lin.svd(x[..., :2, :], False).Vh,
        lambda x: lin.svd(x, compute_uv=False),
    ):
        y, moved = wy.jvp(f, (a,), (T,))
        weights = rng.normal(size=y.shape)
        pulled = wy.grad(lambda x, f=f, weights=weights: np.sum(weights * f(x)))(a)
        np.testing.assert_allclose(np.sum(weights * moved), np.sum(pulled * T), rtol=1e-9)


def test_vectors_that_coincide_are_refused_in_forward_mode(rng):
    for f in (
        lambda x: wy.linalg.eigh(x)[1],
        lambda x: wy.linalg.svd(x).U,
        lambda x: wy.linalg.svd(x).Vh,
    ):
        with pytest.raises(LinAlgError, match="there is no derivative"):
            wy.jvp(f, (np.eye(3),), (direction(rng, 3),))


def test_a_frozen_gradient_of_eigenvalues():
    p = wy.Parameter(np.diag([1.0, 2.0, 3.0]))
    program = wy.freeze(np.sum(wy.linalg.eigvalsh(p) ** 3))
    p.value = np.eye(3)
    value, grads = program.value_and_grad()
    np.testing.assert_allclose(value, 3.0)
    np.testing.assert_allclose(grads[p], 3 * np.eye(3))
