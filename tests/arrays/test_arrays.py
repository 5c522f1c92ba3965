"""NumPy's array functions: values against NumPy, gradients against finite differences.

Each case is written once, with NumPy's names, and is run on plain arrays and on variables: so it
also shows that NumPy calls ours. It is run eagerly and frozen, in both float types, and on inputs
that get other values afterwards: what depends on values must not be baked in.
"""

import array_cases
import numpy as np
import pytest
from conftest import numeric_gradient
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import wyrmling as wy


def flat(parts):
    """Several arrays as one."""
    return np.concatenate([np.ravel(part) for part in parts])


COUNTS = np.array([2, 0, 1])
WEIGHTS = np.array([0.5, 2.0, 1.0])
HOLES = np.array([0.0, np.nan, np.inf, -np.inf])
trapezoid = getattr(np, "trapezoid" if hasattr(np, "trapezoid") else "trapz")

# Name: the function, and shapes of operands.
CASES = {
    "cumsum": (lambda x: np.cumsum(x, 1), [(2, 4, 2)]),
    "cumsum flat": (lambda x: np.cumsum(x), [(2, 3)]),
    "cumprod": (lambda x: np.cumprod(x, 0), [(5, 2)]),
    "cumprod flat": (lambda x: np.cumprod(x), [(2, 3)]),
    "cumprod of nothing": (lambda x: np.cumprod(x, -1), [(2, 0)]),
    "prod": (lambda x: np.prod(x), [(2, 3)]),
    "prod axis": (lambda x: np.prod(x, axis=1, keepdims=True), [(2, 7, 2)]),
    "prod axes": (lambda x: np.prod(x, axis=(0, -1)), [(2, 3, 4)]),
    "prod of nothing": (lambda x: np.prod(x, axis=0), [(0, 3)]),
    "var": (lambda x: np.var(x), [(2, 3)]),
    "var axis": (lambda x: np.var(x, axis=0, ddof=1, keepdims=True), [(4, 3)]),
    "std": (lambda x: np.std(x, axis=(0, 2)), [(2, 3, 2)]),
    "std ddof": (lambda x: np.std(x, -1, ddof=1), [(2, 3)]),
    "average": (lambda x: np.average(x, 0), [(3, 2)]),
    "average weighted": (lambda x: np.average(x, 1, WEIGHTS), [(2, 3, 2)]),
    "average by variable": (lambda x, y: np.average(x, weights=y), [(2, 3), (2, 3)]),
    "median odd": (lambda x: np.median(x), [(5,)]),
    "median even": (lambda x: np.median(x, axis=0, keepdims=True), [(4, 3)]),
    "median axes": (lambda x: np.median(x, axis=(0, 2)), [(2, 3, 2)]),
    "quantile": (lambda x: np.quantile(x, 0.3, axis=1), [(2, 5)]),
    "quantiles": (lambda x: np.quantile(x, [[0.1, 1.0], [0.0, 0.5]], axis=0), [(5, 2)]),
    "percentile": (lambda x: np.percentile(x, [25, 80], keepdims=True), [(3, 4)]),
    "polyval": (lambda p, x: np.polyval(p, x), [(4,), (2, 3)]),
    "polyval of numbers": (lambda x: np.polyval([2.0, 0.0, -1.0], x), [(5,)]),
    "polyval of several": (lambda p, x: np.polyval(p, x), [(3, 2), (4, 2)]),
    "nan_to_num": (lambda x: np.nan_to_num(x[:, :2] + HOLES[:2], nan=2.5), [(2, 4)]),
    "nan_to_num all": (lambda x: np.nan_to_num(x + HOLES, True, 0.0, 7.0, x[0, 0]), [(2, 4)]),
    "ptp": (lambda x: np.ptp(x, axis=1), [(3, 4)]),
    "diff": (lambda x: np.diff(x), [(2, 4)]),
    "diff twice": (lambda x: np.diff(x, 2, 0, prepend=1.0, append=x[:2]), [(4, 2)]),
    "trapezoid": (lambda x: trapezoid(x, dx=0.5, axis=0), [(4, 2)]),
    "trapezoid places": (lambda x, y: trapezoid(x, y, axis=0), [(4, 2), (4,)]),
    "nansum": (lambda x: np.nansum(x, 0), [(2, 3)]),
    "nanmean": (lambda x: np.nanmean(x, axis=1), [(2, 3)]),
    "sort": (lambda x: np.sort(x), [(2, 5)]),
    "sort axis": (lambda x: np.sort(x, axis=0), [(5, 2)]),
    "sort flat": (lambda x: np.sort(x, axis=None), [(2, 3)]),
    "by argsort": (lambda x: x[np.argsort(x)[::-1]], [(6,)]),
    "along argsort": (lambda x: np.take_along_axis(x, np.argsort(x, 0), 0), [(3, 2)]),
    "at argmax": (
        lambda x: np.take_along_axis(x, np.argmax(x, axis=1, keepdims=True), 1),
        [(2, 4, 2)],
    ),
    "row of argmin": (lambda x: x[np.argmin(x[:, 0])], [(4, 2)]),
    "einsum": (lambda x, y: np.einsum("ij,kj->ik", x, y), [(2, 3), (4, 3)]),
    "einsum three": (
        lambda x, y, z: np.einsum("aij,ajk,k->ia", x, y, z),
        [(2, 3, 2), (2, 2, 3), (3,)],
    ),
    "tensordot": (lambda x, y: np.tensordot(x, y), [(2, 3, 4), (3, 4, 2)]),
    "tensordot axes": (
        lambda x, y: np.tensordot(x, y, ([0, -1], [1, 0])),
        [(2, 3, 4), (4, 2)],
    ),
    "tensordot none": (lambda x, y: np.tensordot(x, y, 0), [(2,), (3,)]),
    "inner": (lambda x, y: np.inner(x, y), [(2, 3), (4, 2, 3)]),
    "inner number": (lambda x, y: np.inner(x, y), [(), (3,)]),
    "vdot": (lambda x, y: np.vdot(x, y), [(2, 3), (3, 2)]),
    "float_power": (lambda x: np.float_power(abs(x) + 1, x) + np.float_power(x, 2), [(3, 4)]),
    "ldexp": (lambda x: np.ldexp(x, [[3], [-2]]), [(2, 4)]),
    "ldexp of numbers": (lambda x: np.ldexp(x, 1100) + np.ldexp(2.0, 3), [(0,)]),
    "kron": (lambda x, y: np.kron(x, y), [(2, 3), (2, 2)]),
    "kron dimensions": (lambda x, y: np.kron(x, y), [(3,), (2, 1, 2)]),
    "cross": (lambda x, y: np.cross(x, y), [(2, 3), (3,)]),
    "cross axes": (lambda x, y: np.cross(x, y, 0, 1, 0), [(3, 2), (2, 3)]),
    "convolve": (lambda x, y: np.convolve(x, y), [(4,), (3,)]),
    "convolve short": (lambda x, y: np.convolve(x, y, "valid"), [(2,), (5,)]),
    "correlate": (lambda x, y: np.correlate(x, y, "full"), [(4,), (2,)]),
    "ravel": (lambda x: np.ravel(x, "F"), [(2, 3, 2)]),
    "swapaxes": (lambda x: np.swapaxes(x, 0, -1) * 1.0, [(2, 3, 4)]),
    "moveaxis": (lambda x: np.moveaxis(x, (0, 2), (-1, 0)) * 1.0, [(2, 3, 4)]),
    "rollaxis": (lambda x: np.rollaxis(x, 2, 1) * 1.0, [(2, 3, 4)]),
    "atleast": (
        lambda x, y: flat([np.atleast_1d(x), *np.atleast_2d(y, x), np.atleast_3d(y)]),
        [(), (2,)],
    ),
    "flip": (lambda x: np.flip(x) * 1.0, [(2, 3)]),
    "flip axes": (lambda x: np.flip(x, (0, 2)), [(2, 3, 2)]),
    "flipud": (lambda x: np.flipud(x) * 1.0, [(3,)]),
    "fliplr": (lambda x: np.fliplr(x) * 1.0, [(2, 3)]),
    "rot90": (lambda x: flat(np.rot90(x, k) for k in range(-1, 4)), [(2, 3)]),
    "rot90 axes": (lambda x: np.rot90(x, 1, (2, 0)), [(2, 3, 2)]),
    "roll": (lambda x: np.roll(x, 2), [(2, 3)]),
    "roll axes": (lambda x: np.roll(x, (1, -2), (0, 1)), [(2, 3)]),
    "roll far": (lambda x: np.roll(x, -7, 0) * 1.0, [(3, 2)]),
    "roll nothing": (lambda x: np.roll(x, 1, 1), [(2, 0)]),
    "tile": (lambda x: np.tile(x, 3), [(2, 2)]),
    "tile axes": (lambda x: np.tile(x, (2, 1, 2)), [(2, 3)]),
    "tile number": (lambda x: np.tile(x, (2, 0)), [()]),
    "repeat": (lambda x: np.repeat(x, 2), [(2, 2)]),
    "repeat axis": (lambda x: np.repeat(x, 3, axis=0), [(2, 2)]),
    "repeat counts": (lambda x: np.repeat(x, COUNTS, axis=1), [(2, 3)]),
    "copy": (lambda x: np.copy(x), [(2, 3)]),
    "broadcast_arrays": (lambda x, y: flat(np.broadcast_arrays(x, y)), [(2, 1), (3,)]),
    "meshgrid": (lambda x, y, z: flat(np.meshgrid(x, y, z)), [(2,), (3,), (2,)]),
    "meshgrid ij": (
        lambda x, y: flat(np.meshgrid(x, y, indexing="ij", sparse=True)),
        [(2,), (3,)],
    ),
    "append": (lambda x, y: np.append(x, y), [(2, 2), (3,)]),
    "hstack": (lambda x, y: np.hstack([x, y]), [(2, 1), (2, 3)]),
    "hstack vectors": (lambda x, y: np.hstack([x, y]), [(), (3,)]),
    "vstack": (lambda x, y: np.vstack([x, y]), [(2,), (3, 2)]),
    "dstack": (lambda x, y: np.dstack([x, y]), [(2, 3), (2, 3)]),
    "column_stack": (lambda x, y: np.column_stack([x, y]), [(2,), (2, 3)]),
    "split": (lambda x: flat(np.split(x, 3, axis=1)[::-1]), [(2, 6)]),
    "split at": (lambda x: flat(np.split(x, [1, 1, 9])[::-1]), [(3, 2)]),
    "array_split": (lambda x: flat(np.array_split(x, 3)[::-1]), [(5,)]),
    "hsplit": (lambda x: np.hsplit(x, 2)[1] * 1.0, [(2, 4)]),
    "hsplit vector": (lambda x: np.hsplit(x, 2)[1] * 1.0, [(4,)]),
    "vsplit": (lambda x: np.vsplit(x, [1])[1] * 1.0, [(3, 2)]),
    "dsplit": (lambda x: np.dsplit(x, 2)[0] * 1.0, [(2, 1, 2)]),
    "pad": (lambda x: np.pad(x, 1), [(2, 3)]),
    "pad values": (
        lambda x: np.pad(x, ((1, 0), (0, 2)), constant_values=((2.0, 3.0), (4.0, 5.0))),
        [(2, 3)],
    ),
    "pad nothing": (lambda x: np.pad(x, (1, 2)), [(0,)]),
    "pad edge": (lambda x: np.pad(x, ((2, 1), (0, 3)), "edge"), [(2, 3)]),
    "pad reflect": (lambda x: np.pad(x, 4, "reflect"), [(3,)]),
    "pad symmetric": (lambda x: np.pad(x, 2, "symmetric"), [(3, 2)]),
    "pad wrap": (lambda x: np.pad(x, (4, 1), "wrap"), [(3,)]),
    "take": (lambda x: np.take(x, [[1, -1], [0, 0]]), [(2, 3)]),
    "take axis": (lambda x: np.take(x, [[2, 0]], axis=1), [(2, 3, 2)]),
    "take one": (lambda x: np.take(x, 1, axis=-1), [(2, 3)]),
    "take clip": (lambda x: np.take(x, [9, -9], axis=1, mode="clip"), [(2, 3)]),
    "take wrap": (lambda x: np.take(x, [9, -4], axis=0, mode="wrap"), [(5, 2)]),
    "take_along_axis": (
        lambda x: np.take_along_axis(x, np.array([[1, -1, 0]]), axis=1),
        [(2, 3)],
    ),
    "take_along_axis wide": (
        lambda x: np.take_along_axis(x, np.array([[1], [0], [1]]), axis=1),
        [(1, 2)],
    ),
    "where": (lambda x, y: np.where(x > y, x, y * 2), [(2, 3), (3,)]),
    "diagonal": (lambda x: np.diagonal(x, 1, 2, 0) * 1.0, [(3, 2, 2)]),
    "tril": (lambda x: np.tril(x) + np.triu(x, 1) * 2, [(3, 3)]),
    "tril of a vector": (lambda x: np.tril(x, -1) + np.triu(x, 1) * 2, [(4,)]),
    "clip": (lambda x: np.clip(x, 0.7, 1.4), [(2, 5)]),
    "clip below": (lambda x: x.clip(1.0), [(6,)]),
    "clip by arrays": (lambda x, y, z: np.clip(x, y, z + 0.5), [(2, 3), (3,), (2, 1)]),
    "real": (lambda x: np.real(x) * 1.0, [(3,)]),
} | array_cases.CASES


def draw(rng, shapes, dtype):
    """Numbers that differ clearly, in arrays that are not contiguous."""
    found = []
    for k, shape in enumerate(shapes):
        count = 2 * int(np.prod(shape))
        values = rng.permutation(np.linspace(0.3, 2.0 - 0.013 * k, count)).astype(dtype)
        found.append(values[::2].reshape(shape[::-1]).T)
    return found


def dense(gradient):
    return gradient if isinstance(gradient, np.ndarray) else gradient.to_dense()


def check(f, args, weights, tolerance, near):
    """Values and gradients of ``f``, eager and frozen."""
    dtype = args[0].dtype
    leaves = [wy.Variable(a) for a in args]
    y = f(*leaves)
    expected = f(*[a.astype(np.float64) for a in args])
    assert isinstance(y, wy.Variable)
    assert y.dtype in (dtype, f(*args).dtype)
    assert y.shape == np.shape(expected)
    np.testing.assert_allclose(y.value, expected, rtol=tolerance, atol=tolerance)
    loss = (y * weights.astype(dtype)).sum()
    loss.backward()
    value, frozen = wy.freeze(loss).value_and_grad()
    np.testing.assert_allclose(value, loss.item(), rtol=tolerance, atol=tolerance)
    for k, leaf in enumerate(leaves):
        numeric = numeric_gradient(lambda *a: f(*a) * weights, args, k)
        if leaf.grad is None:  # as of what is overwritten
            assert frozen[leaf] is None
            assert not numeric.any()
            continue
        assert leaf.grad.dtype == dtype
        np.testing.assert_allclose(dense(leaf.grad), numeric, rtol=near, atol=near)
        again = dense(frozen[leaf])
        np.testing.assert_allclose(again, dense(leaf.grad), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", CASES)
def test_value_and_gradient(name, dtype, rng):
    f, shapes = CASES[name]
    args = draw(rng, shapes, dtype)
    weights = rng.uniform(0.5, 1.5, np.shape(f(*args)))
    wide = dtype is np.float64
    check(f, args, weights, 1e-12 if wide else 3e-5, 1e-6 if wide else 3e-4)


@pytest.mark.parametrize("name", array_cases.CASES)
def test_derivatives_within_transforms(name, rng):
    """First and second ones, in forward and reverse mode."""
    f, shapes = CASES[name]
    args = draw(rng, shapes, np.float64)
    assert isinstance(wy.vjp(f, *args)[0], np.ndarray | float)
    wy.check_grads(f, args, order=2, atol=1e-5, rtol=1e-4, eps=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_an_input_may_get_other_values(name, rng):
    f, shapes = CASES[name]
    args = draw(rng, shapes, np.float64)
    inputs = [wy.Input(a) for a in args]
    y = f(*inputs)
    program = wy.freeze(y)
    for _ in range(2):
        values = draw(rng, shapes, np.float64)
        for one, value in zip(inputs, values, strict=True):
            one.value = value
        expected = f(*values)
        np.testing.assert_allclose(y.value, expected, rtol=1e-12)
        got = program.run(dict(zip(inputs, values, strict=True)))
        np.testing.assert_allclose(got, expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CASES)
def test_another_length_gives_the_right_numbers_or_an_error(name, rng):
    """Never something else: whatever was computed from a length is checked."""
    f, shapes = CASES[name]
    args = draw(rng, shapes, np.float64)
    inputs = [wy.Input(a) for a in args]
    y = f(*inputs)
    program = wy.freeze(y)
    for k, shape in enumerate(shapes):
        for n in {1, 2, 3, 4, 6, 8, 12} if shape else ():
            values = [*args[:k], rng.uniform(0.3, 2.0, (n, *shape[1:])), *args[k + 1 :]]
            try:
                expected = f(*values)
            except (ValueError, IndexError, TypeError, DeprecationWarning):
                expected = None
            for got in (
                lambda values=values: program.run(dict(zip(inputs, values, strict=True))),
                lambda values=values: assigned(inputs, values, y),
            ):
                try:
                    found = got()
                except (ValueError, IndexError):
                    continue
                assert expected is not None
                assert found.shape == np.shape(expected)
                np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("name", CASES)
def test_what_is_read_for_no_or_one_element_is_right_for_more(name, first, rng):
    """Where lengths are 0 or 1 functions do less, and what is made of them fits any length."""
    if name in ("take wrap", "put wrap") and first == 0:
        pytest.skip("NumPy's take, and put before NumPy 2, do not end there")
    f, shapes = CASES[name]
    compiled = wy.compile(f, mode="source")
    few = [np.ones([first] * len(shape)) for shape in shapes]
    try:
        f(*few)
    except (ValueError, IndexError, ZeroDivisionError, TypeError, RuntimeError, AttributeError):
        return  # NumPy refuses it, or has it not
    for args in (few, draw(rng, shapes, np.float64)):
        try:
            found = compiled(*args)
        except wy.SourceError:
            return
        expected = f(*args)
        assert np.shape(found) == np.shape(expected)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def assigned(inputs, values, y):
    for one, value in zip(inputs, values, strict=True):
        one.value = value
    return y.value


FOLLOWING = """cumsum, std, average, nanmean, diff, sort, by argsort, einsum, inner, flip axes,
tile axes, repeat axis, hstack, column_stack, pad, take axis, kron, tril of a vector,
broadcast_arrays"""


@pytest.mark.parametrize("name", [name.strip() for name in FOLLOWING.split(",")])
def test_array_functions_follow_the_length_of_an_input(name, rng):
    f, shapes = CASES[name]
    args = draw(rng, shapes, np.float64)
    inputs = [wy.Input(a) for a in args]
    y = f(*inputs)
    longer = [rng.uniform(0.3, 2.0, (5, *shape[1:])) for shape in shapes]
    if name == "broadcast_arrays":
        longer = [rng.uniform(0.3, 2.0, (5, 1)), args[1]]
    if name == "kron":
        longer = [rng.uniform(0.3, 2.0, (5, 3)), args[1]]
    np.testing.assert_allclose(assigned(inputs, longer, y), f(*longer), rtol=1e-12)


SHAPES = npst.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=5)
# Numbers of which some are equal, some zero.
ELEMENTS = st.integers(-2, 2).map(float)


@given(st.data())
def test_gradients_of_products_with_zeros(data):
    x = data.draw(npst.arrays(np.float64, SHAPES, elements=ELEMENTS))
    axis = data.draw(st.integers(0, x.ndim - 1))
    for f in (np.prod, np.cumprod):
        weights = np.arange(1.0, 1.0 + np.size(f(x, axis=axis))).reshape(f(x, axis=axis).shape)
        check(lambda x, f=f: f(x, axis=axis), [x], weights, 1e-9, 1e-4)


def test_what_was_built_for_a_length_says_so():
    x = wy.Input(np.zeros(3), name="x")
    y = np.roll(x, 1)
    with pytest.raises(ValueError, match=r"roll: built for .* \(3\), .* \(4,\)"):
        assigned([x], [np.zeros(4)], y)


def test_rows_that_come_later_are_not_forgotten():
    x = wy.Input(np.ones((2, 3)))
    total = sum(row.sum() for row in x)
    x.value = np.full((2, 3), 2.0)
    assert total.item() == 12.0
    with pytest.raises(ValueError, match="iteration asked for"):
        assigned([x], [np.ones((4, 3))], total)
