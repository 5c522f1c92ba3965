"""Calls that are common in NumPy's code and seldom in ours: values, types, gradients and errors as
NumPy has them.
"""

import numpy as np
import pytest
import scipy.special
from conftest import numeric_gradient

import wyrmling as wy

X = np.array([[1.0, 4.0, 2.0], [3.0, 0.5, -1.0]])
trapezoid = getattr(np, "trapezoid" if hasattr(np, "trapezoid") else "trapz")


@pytest.mark.parametrize(
    ("heights", "places", "axis"),
    [
        ((3,), (2, 2, 3), -1),
        ((2, 3), (4, 2, 3), -1),
        ((1, 3), (2, 2, 3), -2),
        ((3, 2), (2, 1, 3, 2), -2),
        ((4, 2, 3), (2, 3), -1),
        ((4, 2, 3), (1, 3), -1),
        ((2, 3, 2), (2, 3, 2), 1),
    ],
)
def test_trapezoid_over_places_with_other_axes_than_heights(heights, places, axis):
    rng = np.random.default_rng(1)
    y, x = rng.uniform(0.5, 2.0, heights), rng.uniform(0.5, 2.0, places)
    expected = trapezoid(y, x, axis=axis)
    found = trapezoid(wy.Variable(y), wy.Variable(x), axis=axis)
    np.testing.assert_allclose(found.value, expected, rtol=1e-12, strict=True)
    gradients = wy.grad(lambda y, x: (trapezoid(y, x, axis=axis) ** 2).sum(), (0, 1))(y, x)
    for k, gradient in enumerate(gradients):
        slopes = numeric_gradient(lambda y, x: trapezoid(y, x, axis=axis) ** 2, (y, x), k)
        np.testing.assert_allclose(gradient, slopes, atol=1e-6)


@pytest.mark.parametrize("name", ["any", "all"])
def test_answers_are_stored_in_a_variable(name):
    f = getattr(np, name)
    for x in (wy.Variable(X), wy.Input(X), wy.Variable(X) > 1.0, X):
        out = wy.array(np.full(3, 7.0))
        assert f(x, axis=0, out=out) is out
        np.testing.assert_array_equal(out.value, f(getattr(x, "value", x), axis=0))
        with pytest.raises(ValueError, match=f"{name}: out: expected shape"):
            f(x, axis=0, out=wy.array(np.zeros(2)))
    plain = np.zeros(3, bool)
    assert f(wy.Variable(X), axis=0, out=plain) is plain
    np.testing.assert_array_equal(plain, f(X, axis=0))


@pytest.mark.parametrize("name", ["nanmax", "nanmin", "max", "min"])
def test_a_mask_of_more_axes_is_refused(name):
    f = getattr(np, name)
    for mask in (np.ones((2, 2, 3), bool), np.ones(7, bool), np.ones((4, 1), bool)):
        for x in (X, wy.Variable(X)):
            with pytest.raises(ValueError, match=r"broadcast|more dimensions"):
                f(x, axis=0, where=mask, initial=0.0)
    mask = np.array([True, False, True])
    found = f(wy.Variable(X), axis=0, where=mask, initial=0.25)
    np.testing.assert_array_equal(found.value, f(X, axis=0, where=mask, initial=0.25))


def test_what_integers_start_from_may_be_infinite():
    x = wy.IndexInput([3, 1, 2])
    mask = np.array([True, False, True])
    assert np.max(x, where=mask, initial=-np.inf).item() == 3.0
    assert np.nanmin(x, where=mask, initial=np.inf).item() == 2.0


@pytest.mark.parametrize("ddof", [1, np.int64(1), np.uint8(1), np.array(1), np.float64(0.5), True])
@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
def test_ddof_does_not_widen_float32(name, ddof):
    f, x = getattr(np, name), X.astype(np.float32)
    for given in ({}, {"where": X != 4.0}):
        found = f(wy.Variable(x), 1, ddof=ddof, **given).value
        np.testing.assert_allclose(found, f(x, 1, ddof=ddof, **given), rtol=1e-6, strict=True)


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="NumPy 2 has it")
@pytest.mark.parametrize("name", ["var", "std"])
def test_a_mean_that_is_given_may_be_a_number(name):
    f = getattr(np, name)
    for x in (X, X.astype(np.float32)):
        for mean in (x.mean(), float(x.mean())):
            found = f(wy.Variable(x), mean=mean).value
            np.testing.assert_allclose(found, f(x, mean=mean), rtol=1e-6, strict=True)
    found = wy.grad(lambda x: f(x, mean=x.mean()))(X)
    np.testing.assert_allclose(found, wy.grad(f)(X), rtol=1e-12)
    with pytest.raises(ValueError, match="mean: expected shape"):
        f(wy.Variable(X), 1, mean=np.zeros(3))


@pytest.mark.parametrize("p", [None, 2, 1, -1, np.inf, "fro", "nuc"])
def test_the_condition_of_what_is_no_matrix(p):
    for shape in ((), (3,), (0, 0), (2, 0, 3)):
        with pytest.raises(np.linalg.LinAlgError):
            np.linalg.cond(wy.Variable(np.ones(shape)), p)


@pytest.mark.parametrize("initial", [np.float64(1.5), np.int64(2), np.array(2), np.int8(2), 2.5])
def test_what_reductions_start_from_does_not_widen_float32(initial):
    x = X.astype(np.float32)
    for f in (
        np.sum,
        np.prod,
        np.max,
        np.min,
        np.nansum,
        np.nanmax,
        np.add.reduce,
        np.maximum.reduce,
    ):
        found = f(wy.Variable(x), axis=0, initial=initial).value
        np.testing.assert_allclose(found, f(x, axis=0, initial=initial), rtol=1e-6, strict=True)


@pytest.mark.parametrize("other", [np.float64(1.5), np.int64(2), np.array([2.0, 3.0]), [1, 2], 2.5])
def test_nan_to_num_keeps_the_type(other):
    x = np.array([np.nan, np.inf], np.float32)
    found = np.nan_to_num(wy.Variable(x), nan=other, posinf=other).value
    np.testing.assert_array_equal(found, np.nan_to_num(x, nan=other, posinf=other), strict=True)


@pytest.mark.parametrize("other", [2, 2.5, True, np.float32(2.0), np.array([1, 2], np.int64)])
def test_choose_has_the_type_that_arrays_have_together(other):
    x = np.array([0.5, 1.5], np.float32)
    found = np.choose([1, 0], [wy.Variable(x), other]).value
    np.testing.assert_array_equal(found, np.choose([1, 0], [x, other]), strict=True)


@pytest.mark.parametrize("other", [np.int8(2), np.uint8(2), np.int16(2), np.bool_(True)])
def test_small_integers_alone_do_not_widen_float32(other):
    x = X.astype(np.float32)[0]
    for f in (np.kron, np.append, np.inner, lambda x, y: np.diff(x, prepend=y)):
        found = f(wy.Variable(x), other).value
        np.testing.assert_allclose(found, f(x, other), rtol=1e-6, strict=True)


@pytest.mark.parametrize("mode", ["mean", "median", "maximum", "minimum"])
@pytest.mark.parametrize("length", [1.5, 2.5, np.float64(1.0), (1.6, 3)])
def test_lengths_of_pad_are_rounded(mode, length):
    found = np.pad(wy.Variable(X), 1, mode, stat_length=length).value
    np.testing.assert_allclose(found, np.pad(X, 1, mode, stat_length=length), rtol=1e-12)


@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
@pytest.mark.parametrize("width", [1, 2, 5, 11, (0, 40), (37, 3)])
def test_odd_reflections_far_beyond_the_array(mode, width):
    x = np.array([0.5, 2.0, 1.25])
    found = np.pad(wy.Variable(x), width, mode, reflect_type="odd").value
    np.testing.assert_allclose(found, np.pad(x, width, mode, reflect_type="odd"), rtol=1e-12)


def test_odd_reflections_take_steps_that_double():
    y = np.pad(wy.Variable(np.ones(3)), 1000, "reflect", reflect_type="odd")
    # A line for each node, 200 at most: steps of three elements would need thousands.
    assert len(str(wy.draw(y)).splitlines()) < 150


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3), (1, 1), (0, 0)])
def test_pinv_of_symmetric_matrices_reads_the_lower_triangle(shape):
    rng = np.random.default_rng(3)
    x = rng.uniform(-1.0, 1.0, shape) + 2.0 * np.eye(shape[-1])
    found = np.linalg.pinv(wy.Variable(x), hermitian=True).value
    np.testing.assert_allclose(found, np.linalg.pinv(x, hermitian=True), rtol=1e-11, atol=1e-13)
    gradient = wy.grad(lambda x: (np.linalg.pinv(x, hermitian=True) ** 2).sum())(x)
    slopes = numeric_gradient(lambda x: np.linalg.pinv(x, hermitian=True) ** 2, (x,), 0)
    np.testing.assert_allclose(gradient, slopes, atol=1e-7)
    assert not np.triu(gradient, 1).any()


def test_pinv_of_a_symmetric_matrix_of_lower_rank():
    x = np.outer([1.0, 2.0, -1.0], [1.0, 2.0, -1.0]) + np.diag([0.0, 0.0, 1e-4])
    for rcond in (1e-2, 1e-8):
        found = np.linalg.pinv(wy.Variable(x), rcond, hermitian=True).value
        np.testing.assert_allclose(found, np.linalg.pinv(x, rcond, hermitian=True), rtol=1e-6)
    with pytest.raises(np.linalg.LinAlgError, match="square"):
        np.linalg.pinv(wy.Variable(X), hermitian=True)


@pytest.mark.parametrize("b", [2.0, 2, True, np.float32(2.0), np.float64(2.0), [1.0, 2.0, 0.5]])
def test_a_factor_of_logsumexp_widens_float32_as_in_scipy(b):
    x = X.astype(np.float32)
    expected = scipy.special.logsumexp(x, axis=1, b=b)
    found = wy.special.logsumexp(wy.Variable(x), axis=1, b=b).value
    np.testing.assert_allclose(found, expected, rtol=1e-6, strict=True)


WHERE = [
    (lambda x, y: np.divide(x, y, out=np.zeros_like(x * y), where=y != 0), lambda x, y: x / y),
    (lambda x, y: np.power(x, y, out=np.zeros_like(x * y), where=y != 0), lambda x, y: x**y),
    (lambda x, y: np.sqrt(y, out=np.zeros_like(x * y), where=y != 0), lambda x, y: np.sqrt(y)),
    (lambda x, y: np.log(y, out=np.zeros_like(x * y), where=y != 0), lambda x, y: np.log(y)),
    (
        lambda x, y: np.divide.outer(x, y, out=np.zeros_like(np.outer(x, y)), where=y != 0),
        lambda x, y: x[:, None] / y,
    ),
]


@pytest.mark.parametrize("mode", ["trace", "source"])
@pytest.mark.parametrize(("masked", "plain"), WHERE)
def test_what_where_leaves_out_has_no_gradient(masked, plain, mode):
    """Derivatives are infinite there, and NaN times zero is NaN."""
    x, y = np.array([-1.0, 3.0, 0.0, 5.0]), np.array([0.0, 2.0, 0.0, 4.0])
    kept = y != 0
    wanted = kept if masked is not WHERE[-1][0] else slice(None)

    def of(f):
        return lambda x, y: (f(x, y) ** 2).sum()

    def some(y):
        """The function of those elements of the second argument at which it is computed."""
        return of(plain)(x[wanted], y)

    np.testing.assert_allclose(of(masked)(x, y), some(y[kept]))
    for arguments in (0, 1):
        assert np.isfinite(wy.grad(of(masked), arguments, mode=mode)(x, y)).all()
    found = np.zeros(4)
    found[kept] = wy.grad(some)(y[kept])
    np.testing.assert_allclose(wy.grad(of(masked), 1, mode=mode)(x, y), found, rtol=1e-12)
    curved = np.zeros((4, 4))
    curved[np.ix_(kept, kept)] = wy.hessian(some)(y[kept])
    np.testing.assert_allclose(wy.hessian(of(masked), 1, mode=mode)(x, y), curved, rtol=1e-12)
    if masked is not WHERE[-1][0]:  # whose NumPy would make a plain array
        a, b = wy.Parameter(x), wy.Parameter(y)
        gradients = wy.freeze(of(masked)(a, b)).value_and_grad()[1]
        np.testing.assert_allclose(gradients[b], found, rtol=1e-12)


AT = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "fmin", "logaddexp"]


@pytest.mark.parametrize("name", AT)
def test_at_takes_a_place_as_often_as_it_is_named(name, rng):
    x, v = rng.uniform(0.5, 2.0, 5), rng.uniform(0.9, 1.2, 3000)
    places = rng.integers(-2, 5, 3000)
    ufunc, expected, found = getattr(np, name), x.copy(), wy.Variable(x) * 1.0
    ufunc.at(expected, places, v)
    ufunc.at(found, places, v)
    # One after the other, as NumPy does.
    np.testing.assert_allclose(found.value, expected, rtol=1e-12 if name == "logaddexp" else 0.0)
    ufunc.at(found, np.zeros(0, int), np.zeros(0))
    np.testing.assert_allclose(found.value, expected, rtol=1e-12 if name == "logaddexp" else 0.0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "maximum", "fmin"])
def test_at_takes_numbers_that_overflow_or_are_none(name, dtype):
    """Several numbers of a place may overflow together where the result does not."""
    large = float(np.sqrt(np.finfo(dtype).max)) * 2.0
    ufunc, small = getattr(np, name), 1.0 / large
    for start, numbers in (
        ([small, 1.0], [large, large]),
        ([large, 1.0], [small, small]),
        ([large, 0.0], [large, -0.0, np.inf]),
        ([-0.0, np.nan], [0.0, 1.0, np.nan]),
        ([-np.finfo(dtype).max, 1.0], [np.finfo(dtype).max] * 2),
        ([np.finfo(dtype).max, 1.0], [np.finfo(dtype).max] * 2),
        ([1.0, 2.0], []),
    ):
        for places in ([0] * len(numbers), [1, *[0] * len(numbers)][: len(numbers)]):
            index = np.array(places, int)
            expected = np.array(start, dtype)
            found = wy.Variable(np.array(start, dtype)) * 1.0
            ufunc.at(expected, index, np.array(numbers, dtype))
            ufunc.at(found, index, np.array(numbers, dtype))
            np.testing.assert_array_equal(found.value, expected)
            assert found.dtype == dtype


def test_functions_of_pieces_of_a_graph_have_no_gradient_elsewhere():
    """They get the whole array there, also where their derivatives are infinite or NaN."""
    x = wy.Parameter([0.0, 1.0, 4.0, -2.0])
    for pieces, expected in (
        ([np.log, 0.0], [0.0, 1.0, 0.25, 0.0]),
        ([np.sqrt, lambda v: v * 3.0], [3.0, 0.5, 0.25, 3.0]),
        ([lambda v: 1.0 / v, lambda v: np.sqrt(-v)], None),
    ):
        positive = x > 0.0
        conditions = [positive] if expected else [positive, x < 0.0]
        expected = expected or [0.0, -1.0, -0.0625, -(0.125**0.5)]
        y = np.piecewise(x, conditions, pieces).sum()
        x.zero_grad()
        y.backward()
        np.testing.assert_allclose(x.grad, expected, rtol=1e-14)
        gradients = wy.freeze(y).value_and_grad()[1]
        np.testing.assert_allclose(gradients[x], expected, rtol=1e-14)


def test_out_without_its_name():
    x = wy.Variable([1.0, 2.0])
    for f, shape in ((np.outer, (2, 2)), (np.dot, ())):
        out = wy.array(np.zeros(shape))
        assert f(x, x, out) is out
        np.testing.assert_array_equal(out.value, f(x.value, x.value))
    with pytest.raises(TypeError, match="positional arguments but 4"):
        np.outer(x, x, out, out)
    out = wy.array(np.zeros(2))
    assert np.fix(x * 1.25, out) is out
    assert out.value.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_nothing_can_be_put_where_there_are_no_elements(mode):
    for empty in (np.zeros(0), wy.array(np.zeros(0))):
        with pytest.raises(IndexError):
            np.put(empty, [0], 1.0, mode=mode)
        np.put(empty, [], 1.0, mode=mode)
