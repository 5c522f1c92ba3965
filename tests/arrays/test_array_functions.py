"""NumPy's array functions one by one: axes, order, new arrays, methods, copies and ends.

What all have in common is tested by the cases of ``test_arrays.py``.
"""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import wyrmling as wy
from wyrmling.arrays import quantiles

SHAPES = npst.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=5)
# Numbers of which some are equal, some zero.
ELEMENTS = st.integers(-2, 2).map(float)


@given(st.data())
def test_functions_of_an_axis(data):
    x = data.draw(npst.arrays(np.float64, SHAPES, elements=ELEMENTS))
    axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1))
    v = wy.Variable(x)
    for f in (np.cumsum, np.cumprod, np.prod, np.var, np.std, np.median, np.ptp):
        np.testing.assert_allclose(f(v, axis=axis).value, f(x, axis=axis), rtol=1e-12, atol=1e-12)
    for f in (np.argmax, np.argmin, np.flip, np.sort, np.take):
        extra = {"indices": [0, -1]} if f is np.take else {}
        np.testing.assert_array_equal(f(v, **extra, axis=axis).value, f(x, **extra, axis=axis))
    stable = np.argsort(x, axis=axis, kind="stable")
    np.testing.assert_array_equal(np.argsort(v, axis=axis).value, stable)
    for keepdims in (False, True):
        got = np.argmax(v, axis=axis, keepdims=keepdims)
        np.testing.assert_array_equal(got.value, np.argmax(x, axis=axis, keepdims=keepdims))


@given(st.data())
def test_quantiles(data):
    x = data.draw(npst.arrays(np.float64, SHAPES, elements=st.floats(-5, 5)))
    axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1))
    q = data.draw(npst.arrays(np.float64, npst.array_shapes(max_dims=2), elements=st.floats(0, 1)))
    for keepdims in (False, True):
        got = np.quantile(wy.Variable(x), q, axis=axis, keepdims=keepdims)
        expected = np.quantile(x, q, axis=axis, keepdims=keepdims)
        assert got.shape == expected.shape
        np.testing.assert_allclose(got.value, expected, rtol=1e-9, atol=1e-9)


@given(st.data())
def test_convolution(data):
    vectors = npst.arrays(np.float64, st.integers(1, 6), elements=st.floats(-5, 5))
    x, y = data.draw(vectors), data.draw(vectors)
    mode = data.draw(st.sampled_from(["full", "same", "valid"]))
    for f in (np.convolve, np.correlate):
        np.testing.assert_allclose(f(wy.Variable(x), y, mode).value, f(x, y, mode), atol=1e-9)


@given(st.data())
def test_rolls_and_tiles(data):
    x = data.draw(npst.arrays(np.float64, SHAPES, elements=ELEMENTS))
    v = wy.Variable(x)
    shift = data.draw(st.integers(-9, 9))
    axis = data.draw(st.none() | st.integers(-x.ndim, x.ndim - 1))
    np.testing.assert_array_equal(np.roll(v, shift, axis).value, np.roll(x, shift, axis))
    reps = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4).map(tuple))
    np.testing.assert_array_equal(np.tile(v, reps).value, np.tile(x, reps))
    times = data.draw(st.integers(0, 3))
    np.testing.assert_array_equal(np.repeat(v, times, axis).value, np.repeat(x, times, axis))


def test_order_of_nan_and_of_equal_numbers():
    x = np.array([np.nan, 1.0, -np.inf, np.nan, 1.0, np.inf])
    v = wy.Variable(x)
    assert np.argsort(v).value.tolist() == np.argsort(x, kind="stable").tolist()
    np.testing.assert_array_equal(np.sort(v).value, np.sort(x))
    assert np.argmax(v).item() == np.argmax(x)
    assert np.argmin(v).item() == np.argmin(x)
    assert np.argmax(wy.Variable([1.0, 3.0, 3.0])).item() == 1
    for f in (np.median, lambda v: np.quantile(v, 0.2)):
        assert np.isnan(f(v).item())
    assert np.isnan(wy.nanmean(wy.Variable([np.nan])).item())


def test_indices_have_no_gradient():
    v = wy.Variable([3.0, 1.0])
    order = np.argsort(v)
    assert order.dtype == np.int64
    with pytest.raises(TypeError, match="gradient"):
        order.backward()
    assert order.value.tolist() == [1, 0]
    with pytest.raises(TypeError, match="would be a constant"):
        np.asarray(order)
    assert [10, 20][int(np.argmax(v))] == 10
    assert (np.argmax(v) + 1.5).item() == 1.5


def test_answers_about_values_are_plain():
    x = np.array([[0.0, 2.0], [3.0, np.inf]])
    v = wy.Variable(x)
    for f in (
        np.any,
        np.all,
        np.nonzero,
        np.argwhere,
        np.flatnonzero,
        np.count_nonzero,
        np.iscomplexobj,
        np.isrealobj,
        np.where,
        np.shape,
        np.ndim,
        np.size,
        np.result_type,
        lambda x: np.all(x, axis=0),
        lambda x: np.full_like(x, 7.0, dtype=int),
        lambda x: np.zeros_like(x, dtype=int, shape=3),
        lambda x: np.ones_like(x, dtype=bool),
        lambda x: np.allclose(x, x),
        lambda x: np.allclose([1.0, x[1, 0]], [1.0, 3.0]) if isinstance(x, np.ndarray) else True,
        lambda x: np.isclose(x, 2.0),
        lambda x: np.array_equal(x, x + 0.0),
        lambda x: np.array_equiv(x, x[0]),
        lambda x: np.searchsorted([1.0, 2.5], x),
        lambda x: np.digitize(x, [1.0, 2.5]),
        np.isscalar,
    ):
        got, expected = f(v), f(x)
        assert not isinstance(got, wy.Variable)
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2)])
def test_new_arrays_like_others_are_variables(shape):
    x = np.ones(shape, np.float32)
    for f in (
        np.zeros_like,
        np.ones_like,
        lambda x: np.full_like(x, 7.0),
        lambda x: np.full_like(x, 7.0, dtype=float),
        lambda x: np.zeros_like(x, shape=(4, 1)),
    ):
        for got in (f(wy.Variable(x)), f(wy.Variable(x) * 2.0), f(wy.Input(x))):
            assert isinstance(got, wy.Variable)
            assert got.dtype == f(x).dtype
            np.testing.assert_array_equal(got.value, f(x))
            got[...] = 3.0
            np.testing.assert_array_equal(got.value, np.full_like(f(x), 3.0))
    assert np.empty_like(wy.Variable(x)).shape == shape


def test_new_arrays_are_filled_in_differentiated_code():
    def f(x):
        out = np.zeros_like(x)
        for i in range(len(x)):
            out[i] = x[i] ** 2
        return out.sum()

    x = np.array([1.0, -2.0, 3.0])
    np.testing.assert_array_equal(wy.grad(f)(x), 2.0 * x)
    np.testing.assert_array_equal(wy.hessian(f)(x), 2.0 * np.eye(3))
    np.testing.assert_array_equal(wy.jacfwd(f)(x), 2.0 * x)
    got = wy.grad(lambda x: (np.full_like(x, x[0]) * x).sum())(x)
    np.testing.assert_array_equal(got, [x.sum() + x[0], x[0], x[0]])
    assert wy.full_like(x, wy.Variable(2.0)).value.tolist() == [2.0, 2.0, 2.0]
    assert np.full_like(wy.Variable(x), wy.Variable(1.5), dtype=np.int64).value.tolist() == [
        1,
        1,
        1,
    ]
    with pytest.raises(TypeError, match="not complex128"):
        np.full_like(wy.Variable(x), wy.Variable(1.0), dtype=complex)


def test_new_arrays_follow_the_length_of_an_input():
    x = wy.Input([1.0, 2.0], name="x")
    out = np.ones_like(x)
    out[0] = x[-1]
    program = wy.freeze(out)
    np.testing.assert_array_equal(program.run({x: [3.0, 4.0, 5.0]}), [5.0, 1.0, 1.0])


METHODS = [
    lambda x: x.cumsum(),
    lambda x: x.cumprod(1),
    lambda x: x.prod(axis=0),
    lambda x: x.var(0, ddof=1),
    lambda x: x.std(),
    lambda x: x.argmax(axis=1),
    lambda x: x.argmin(),
    lambda x: x.argsort(0),
    lambda x: x.repeat(2, axis=0),
    lambda x: x.take([0, 2], axis=1),
    lambda x: x.ravel("F"),
    lambda x: x.flatten(),
    lambda x: x.swapaxes(0, 1),
    lambda x: x.diagonal(1),
    lambda x: x.astype(np.float32),
    lambda x: x.copy(),
]


@pytest.mark.parametrize("k", range(len(METHODS)))
def test_methods(k):
    x = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
    got, expected = METHODS[k](wy.Variable(x)), METHODS[k](x)
    assert isinstance(got, wy.Variable)
    np.testing.assert_allclose(got.value, expected)
    assert wy.Variable(x).any()
    assert not wy.Variable(x).all()
    assert wy.Variable(x).nonzero()[0].tolist() == x.nonzero()[0].tolist()


def test_a_copy_is_another_variable():
    x = wy.Variable([1.0, 2.0])
    y = x.copy()
    with pytest.raises(TypeError, match="only a leaf"):
        y.value = [3.0, 4.0]
    (y * y).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_a_bound_belongs_to_what_is_clipped():
    x, low = wy.Variable([1.0, 0.0, 3.0, np.nan]), wy.Variable(1.0)
    y = wy.clip(x, min=low, max=3.0)
    y.sum().backward()
    np.testing.assert_array_equal(y.value, [1.0, 1.0, 3.0, np.nan])
    np.testing.assert_array_equal(x.grad, [1.0, 0.0, 1.0, np.nan])
    assert np.isnan(low.grad)
    for bound in (np.array([np.nan, 1.0]), wy.Variable([np.nan, 1.0])):
        above, below = wy.Variable([2.0, 0.0]), wy.Variable([2.0, 3.0])
        np.testing.assert_array_equal(wy.clip(above, bound, None).value, [np.nan, 1.0])
        np.testing.assert_array_equal(wy.clip(below, None, bound).value, [np.nan, 1.0])
    with pytest.raises(ValueError, match="given twice"):
        wy.clip(x, 0.0, None, min=1.0)


def test_linspace():
    start, stop = wy.Variable([0.0, 1.0]), wy.Variable(5.0)
    for endpoint in (True, False):
        got = np.linspace(start, stop, 4, endpoint=endpoint)
        expected = np.linspace([0.0, 1.0], 5.0, 4, endpoint=endpoint)
        np.testing.assert_allclose(got.value, expected)
    assert wy.linspace(0.1, wy.Variable(0.7), 5).value[-1] == 0.7
    assert np.linspace(start, stop, 1, axis=1).shape == (2, 1)
    np.linspace(start, stop, 3).sum().backward()
    assert start.grad.tolist() == [1.5, 1.5]
    assert stop.grad.item() == 3.0


def test_differences_taken_more_often_than_there_are_elements():
    v = wy.Variable([[1.0, 2.0], [3.0, 4.0]])
    assert np.diff(v, 10**9, axis=0).shape == (0, 2)


@pytest.mark.parametrize(
    "f", [wy.std, lambda x: wy.std(x, ddof=1), lambda x: wy.linalg.norm(x - 2.0)]
)
def test_the_root_of_nothing_has_the_gradient_zero(f):
    equal, others = np.full(3, 2.0), np.array([2.0, 2.0, 3.5])
    assert f(equal).item() == 0.0
    np.testing.assert_array_equal(wy.grad(f)(equal), np.zeros(3))
    np.testing.assert_array_equal(wy.jvp(f, (equal,), (np.ones(3),))[1], 0.0)
    rows = np.stack([equal, others])
    got = wy.grad(lambda x: f(x[0]) + f(x[1]))(rows)
    assert np.all(got[0] == 0.0)
    np.testing.assert_allclose(got[1], wy.grad(f)(others))
    wy.check_grads(f, (others,))
    assert np.isnan(f(np.array([np.nan, 2.0, 2.0])).item())


@pytest.mark.parametrize("count", [0, 1, 2, 4, 6])
def test_any_number_of_elements_is_taken_along_an_axis(count):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 4))
    for places in (rng.integers(-4, 4, (3, count)), rng.integers(0, 4, (1, count))):
        found = np.take_along_axis(wy.Variable(x), places, 1)
        np.testing.assert_array_equal(found.value, np.take_along_axis(x, places, 1))


def test_inputs_that_become_empty_are_padded_still():
    x = wy.Input([1.0, 2.0])
    padded, steps = np.pad(x, 1, constant_values=5.0), np.diff(x, prepend=1.0, append=4.0)
    x.value = np.zeros(0)
    np.testing.assert_array_equal(padded.value, [5.0, 5.0])
    np.testing.assert_array_equal(steps.value, [3.0])


def test_what_nan_to_num_and_polyval_take():
    x = np.array([np.nan, np.inf, -np.inf, 2.0], np.float32)
    y = np.nan_to_num(wy.Variable(x))
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y.value, np.nan_to_num(x))
    np.testing.assert_array_equal(np.polyval([], wy.Variable(x)).value, np.polyval([], x))
    z = wy.Variable(x) * np.float32(1.0)
    assert np.nan_to_num(z, copy=False, nan=5.0) is z
    np.testing.assert_array_equal(z.value, np.nan_to_num(x, nan=5.0))
    with pytest.raises(ValueError, match="polyval: p: expected the coefficients"):
        wy.polyval(2.0, wy.Variable(x))


def test_no_difference_has_nothing_before_and_behind():
    v = wy.Variable([1.0, 2.0])
    np.testing.assert_array_equal(np.diff(v, 0, prepend=0.0, append=5.0).value, [1.0, 2.0])


def test_variance_over_axes_in_any_order():
    x = np.random.default_rng(0).normal(size=(3, 4, 2))
    for axis in [(1, 0), (-1, -2), (2, 0)]:
        found = np.var(wy.Variable(x), axis=axis, ddof=1)
        np.testing.assert_allclose(found.value, np.var(x, axis=axis, ddof=1))


@pytest.mark.parametrize(
    ("n", "m"), [(1, 1), (4, 3), (3, 4), (1, 5), (1024, 1024), (1025, 3000), (2049, 1)]
)
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("f", [np.convolve, np.correlate])
def test_sliding_products_of_several_blocks(f, mode, n, m, rng):
    x, y = rng.normal(size=n), rng.normal(size=m)
    value, pull = wy.vjp(lambda a, b: f(a, b, mode), x, y)
    expected = f(x, y, mode)
    np.testing.assert_allclose(value, expected, rtol=1e-11, atol=1e-11)
    # It is linear in each operand: the adjoint is that of the products of the tangents.
    g, dx, dy = rng.normal(size=value.shape), rng.normal(size=n), rng.normal(size=m)
    of_x, of_y = pull(g)
    np.testing.assert_allclose(of_x @ dx, g @ f(dx, y, mode), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(of_y @ dy, g @ f(x, dy, mode), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("f", [np.convolve, np.correlate])
def test_the_gradient_of_a_sliding_product_takes_no_matrix(f):
    x = np.ones(6000)
    tracemalloc.start()
    try:
        slope = wy.grad(lambda v: np.sum(f(v, x, "full")))(x)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(slope, np.full(6000, 6000.0))
    assert (
        most < 4_000_000
    )  # bytes that Python and NumPy allocated; the indices of all pairs: 288 MB


INFINITE = (
    [-np.inf, 3.0, 3.0],
    [1.0, np.inf, np.inf, 2.0],
    [-np.inf, 1.0],
    [np.inf, 0.5],
    [-np.inf],
    [1.0, 2.0, 3.0, np.inf],
    [-np.inf, -np.inf, 3.0, 4.0, np.inf],
)


@pytest.mark.parametrize("x", INFINITE)
@pytest.mark.parametrize("method", sorted(quantiles.METHODS))
def test_quantiles_among_infinite_elements_are_numpys(x, method):
    x = np.array(x)
    for f in (np.quantile, np.nanquantile):
        for q in (0, 1, 0.0, 0.1, 0.25, 0.3, 0.5, 2 / 3, 0.7, 0.75, 0.9, 1.0):
            with np.errstate(invalid="ignore"):
                expected = f(x, q, method=method)
            got, back = wy.vjp(lambda v, f=f, q=q: f(v, q, method=method), x)
            np.testing.assert_array_equal(got, expected, err_msg=f"{f} {q}")
            assert np.isclose(np.sum(back(1.0)), 1.0), (f, q)


@pytest.mark.parametrize("x", [*INFINITE, [np.inf, np.inf], [-np.inf, np.nan, np.inf]])
def test_medians_of_infinite_elements_are_numpys(x):
    x = np.array(x)
    for f in (np.median, np.nanmedian):
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(wy.vjp(f, x)[0], f(x))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_nanmedian_of_an_odd_number_is_the_element(bad):
    x = np.array([1e308, bad, -1e308, 1e308]) if np.isnan(bad) else np.array([1e308, bad, 1e308])
    np.testing.assert_array_equal(wy.vjp(np.nanmedian, x)[0], np.nanmedian(x))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_bins_between_what_is_not_finite_are_refused(bad):
    x = np.array([bad, 1.0])
    for f in (
        lambda v: np.histogram_bin_edges(v, bins=4),
        lambda v: np.histogram(v, 4)[1],
        lambda v: np.histogram2d(v, v, 4)[1],
    ):
        for call in (f, lambda v, f=f: wy.vjp(f, v)):
            with pytest.raises(ValueError, match=r"autodetected range of .* is not finite"):
                call(x)


def test_the_number_of_bins_by_a_rule(rng):
    x = rng.normal(size=50)
    for rule in ("auto", "fd", "sqrt"):
        counts, edges = np.histogram(x, rule)
        got = np.histogram(wy.Variable(x), rule)
        np.testing.assert_array_equal(got[0], counts)
        np.testing.assert_allclose(got[1].value, edges, rtol=1e-14)
        traced = wy.vjp(lambda v, rule=rule: np.histogram_bin_edges(v, rule), x)[0]
        np.testing.assert_allclose(traced, edges, rtol=1e-14)
    with pytest.raises(TypeError, match="bins: a rule"):
        np.histogram(x, "auto", weights=wy.Variable(x))
    for f in (np.histogram, np.histogram_bin_edges):
        with pytest.raises(ValueError, match="too many"):
            f(wy.Variable([1.0, np.nextafter(1.0, 2.0)]), 10)


@pytest.mark.parametrize("places", [np.array([3, 1, 2], np.uint8), np.array([True, False, True])])
def test_steps_between_places_of_small_integers_are_numpys(places):
    y = np.array([[1.0, 2.0, 4.0], [3.0, 0.5, 1.0]])
    trapezoid = getattr(np, "trapezoid" if hasattr(np, "trapezoid") else "trapz")
    got, back = wy.vjp(lambda v: trapezoid(v, places), y)
    np.testing.assert_array_equal(got, trapezoid(y, places))
    np.testing.assert_allclose(np.vdot(back(np.ones(2)), y), got.sum())


def test_interp_takes_no_matrix(rng):
    n = 200_000  # points and places: one number for each pair of them would be 320 GB
    at, places = rng.random(n), np.sort(rng.random(n))
    heights = rng.normal(size=n)
    value, pull = wy.vjp(lambda x, xp, fp: np.interp(x, xp, fp), at, places, heights)
    np.testing.assert_allclose(value, np.interp(at, places, heights), rtol=1e-9, atol=1e-9)
    # It is linear in the heights: the adjoint is that of the function of other heights.
    g, other = rng.normal(size=n), rng.normal(size=n)
    expected = g @ np.interp(at, places, other)
    np.testing.assert_allclose(pull(g)[2] @ other, expected, rtol=1e-9)


def test_powers_without_the_memory_are_refused_at_once():
    v = wy.Variable([1.0, 2.0, 3.0])
    for f in (lambda: np.vander(v, 2**46), lambda: np.polyfit(v, [1.0, 2.0, 4.0], 2**46)):
        with pytest.raises(MemoryError):
            f()
    # More differences than elements leave none, however many there are.
    assert np.diff(v, 2**46).shape == (0,)


@pytest.mark.parametrize("places", [[], (), np.zeros(0, int)], ids=["list", "tuple", "array"])
def test_no_weights_are_counted_in_no_places(places):
    """A list without elements is of floats to NumPy, which counts them all the same."""
    got = np.bincount(places, wy.Variable(np.zeros(0)), minlength=2)
    np.testing.assert_array_equal(got.value, np.bincount(places, np.zeros(0), minlength=2))
    with pytest.raises(TypeError, match="safe"):
        np.bincount(np.zeros(0), wy.Variable(np.zeros(0)))


def test_the_angle_has_the_derivative_zero_everywhere():
    x = np.array([np.nan, -1.0, -0.0, 2.0, np.inf])
    np.testing.assert_array_equal(wy.grad(lambda x: np.angle(x).sum())(x), np.zeros(5))
    np.testing.assert_array_equal(wy.angle(wy.Variable(x)).value, np.angle(x))


def test_conditions_of_pieces_are_the_rows_of_an_array():
    """One array of several axes is a list of conditions, and no condition."""
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    masks = np.array([[True, False], [False, True]])
    pieces = [5.0, lambda x: x * 7.0]
    expected = np.piecewise(x, masks, pieces)
    np.testing.assert_array_equal(np.piecewise(wy.Variable(x), masks, pieces).value, expected)
    v = wy.Variable(x)
    with pytest.raises(ValueError, match="do not fit"):
        np.piecewise(v, v > 2.0, pieces)
    np.testing.assert_array_equal(np.piecewise(v[0], v[0] > 1.0, [5.0, 6.0]).value, [6.0, 5.0])


@pytest.mark.skipif(not hasattr(np, "trapezoid"), reason="NumPy 1 calls it trapz")
@pytest.mark.parametrize(
    "heights", [[True, False, True], np.int8([100, 100, 27]), np.uint8([200, 100, 3]), [1, 2, 3]]
)
def test_heights_of_trapezoids_add_up_as_numpys(heights):
    x = np.array([0.5, 1.5, 4.5])
    expected = np.trapezoid(heights, x)
    np.testing.assert_allclose(np.trapezoid(heights, wy.Variable(x)).item(), expected)
    mask = np.trapezoid(wy.Variable(x) > 1.0, wy.Variable(x))
    assert mask.item() == np.trapezoid(x > 1.0, x) == 2.0


@pytest.mark.parametrize("plain", [[0.0, 0.0, 2.0], [0, 1], [0.0, 0.0], [], np.array([0, 3])])
def test_leading_zeros_of_plain_polynomials_are_left_out(plain):
    y = np.array([0.5, 3.0, 1.0])
    np.testing.assert_array_equal(np.polymul(plain, wy.Variable(y)).value, np.polymul(plain, y))
    np.testing.assert_array_equal(np.polymul(wy.Variable(y), plain).value, np.polymul(y, plain))


def test_divisors_of_a_polynomial_keep_the_length_that_they_are_read_for():
    def divided(v):
        return np.concatenate(np.polydiv([3.0, 2.0], v))

    compiled = wy.compile(divided, mode="source")
    for v in ([1.0, 3.0, 5.0], [4.0, 3.0, 1.0], [2.0], [4.0, 8.0]):
        np.testing.assert_allclose(compiled(np.array(v)), divided(np.array(v)))
    quotient, rest = np.polydiv([np.inf, 2.0], wy.Variable([1.0, 3.0, 5.0]))
    assert quotient.value.tolist() == [0.0]
    assert rest.value.tolist() == [np.inf, 2.0]
