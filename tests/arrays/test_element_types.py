"""Element types: as NumPy 2 has them (NEP 50), and what no variable holds is refused by name.

Python's numbers take the type of what they meet, NumPy's keep theirs. Arrays of any layout, byte
order or subclass mean their numbers.
"""

import array_cases
import numpy as np
import pytest
import scipy.special
import test_arrays
import test_numpy_coverage

import wyrmling as wy

CASES = test_arrays.CASES | array_cases.ONCE | test_numpy_coverage.MORE
# NumPy's linalg computes with float64 constants here and there.
CASES = {name: case for name, case in CASES.items() if not name.startswith("linalg.")}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")
@pytest.mark.parametrize("name", CASES)
def test_functions_give_the_types_of_numpys(name):
    f, shapes = CASES[name]
    args = test_numpy_coverage.drawn(shapes, np.float32)
    got, expected = f(*[wy.Variable(a) for a in args]), f(*args)
    assert got.dtype == np.asarray(expected).dtype
    got = wy.vjp(f, *args)[0]
    assert np.asarray(got).dtype == np.asarray(expected).dtype


OPERANDS = [1, 2.0, True, [1, 2], [1.0, 2.0], [True, False]]
OPERANDS += [
    kind(value)
    for kind in (np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint64)
    for value in (2, [1, 2])
]
OPERANDS += [np.bool_(True), np.array([True, False]), np.array(2.0), np.array(2), np.array(2, "i1")]
FUNCTIONS = (
    np.add,
    np.multiply,
    np.power,
    np.maximum,
    np.arctan2,
    np.floor_divide,
    np.copysign,
    np.float_power,
    lambda x, y: x + y,
    lambda x, y: x**y,
    lambda x, y: np.where([True, False], x, y),
)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("k", range(len(FUNCTIONS)))
def test_constants_promote_as_numpys(k, kind):
    f, x = FUNCTIONS[k], np.array([1.5, 2.0], kind)
    for other in OPERANDS:
        for call in (lambda x, o=other: f(x, o), lambda x, o=other: f(o, x)):
            got, expected = call(wy.Variable(x)), call(x)
            assert got.dtype == expected.dtype, (other, type(other))
            np.testing.assert_allclose(got.value, expected, rtol=1e-6)


REFUSED = {
    "complex": np.array([1.0j, 2.0]),
    "a complex number": 1j,
    "half": np.array([1.0, 2.0], np.float16),
    "long": np.array([1.0, 2.0], np.longdouble),
    "objects": np.array([1.0, 2.0], object),
    "text": np.array(["a", "b"]),
    "dates": np.array(["2020-01-01", "2021-01-01"], "M8[D]"),
    "masked": np.ma.array([1.0, 2.0], mask=[False, True]),
}
TAKING = {
    "add": lambda v, x: np.add(v, x),
    "maximum": lambda v, x: np.maximum(v, x),
    "concatenate": lambda v, x: np.concatenate([v, np.atleast_1d(x)]),
    "stack": lambda v, x: np.stack([v, np.atleast_1d(x)]),
    "where": lambda v, x: np.where([True, False], v, x),
    "dot": lambda v, x: np.dot(v, x),
    "outer": lambda v, x: np.outer(v, x),
    "interp": lambda v, x: np.interp(v, x, x),
    "clip": lambda v, x: np.clip(v, x, None),
    "einsum": lambda v, x: np.einsum("i,i", v, x),
    "Variable": lambda v, x: wy.Variable(x),
    "grad": lambda v, x: wy.grad(np.sum)(x),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("name", TAKING)
def test_what_no_variable_holds_is_refused(name, what):
    if np.size(np.longdouble(1.0)) and what == "long" and np.dtype(np.longdouble).itemsize == 8:
        pytest.skip("here it is float64")
    if what == "masked" and name in ("concatenate", "stack"):
        pytest.skip("np.atleast_1d in the case itself")
    x = REFUSED[what]
    with pytest.raises(TypeError) as caught:
        TAKING[name](wy.Variable([1.5, 2.0]), x)
    assert len(str(caught.value)) > 20


LAYOUTS = {
    "swapped": lambda x: x.astype(x.dtype.newbyteorder()),
    "strided": lambda x: np.repeat(x, 2, 0)[::2],
    "negative": lambda x: x[::-1][::-1],
    "Fortran": np.asfortranarray,
    "transposed": lambda x: np.ascontiguousarray(x.T).T,
    "read-only": lambda x: np.lib.stride_tricks.as_strided(x, writeable=False),
    "broadcast": lambda x: np.broadcast_to(x, x.shape),
    "subclass": lambda x: x.view(type("Sub", (np.ndarray,), {})),
    "record": lambda x: np.rec.fromarrays([x], names="a").a,
    "memoryview": lambda x: np.asarray(memoryview(np.ascontiguousarray(x))),
    "unaligned": lambda x: np.frombuffer(b"0" + x.tobytes(), x.dtype, offset=1).reshape(x.shape),
}


BESIDE = {
    "append": np.append,
    "average": lambda v, o: np.average(v, weights=o),
    "block": lambda v, o: np.block([v, o]),
    "column_stack": lambda v, o: np.column_stack([v, o]),
    "concatenate": lambda v, o: np.concatenate([v, o]),
    "convolve": np.convolve,
    "correlate": np.correlate,
    "cross": lambda v, o: np.cross(np.append(v, v[:1]), np.append(o, o[:1])),
    "diff": lambda v, o: np.diff(v, append=o),
    "einsum": lambda v, o: np.einsum("i,i", v, o),
    "hstack": lambda v, o: np.hstack([v, o]),
    "inner": np.inner,
    "insert": lambda v, o: np.insert(v, 0, o),
    "kron": np.kron,
    "linspace": lambda v, o: np.linspace(v, o, 3),
    "logspace": lambda v, o: np.logspace(v, o, 3),
    "outer": np.outer,
    "polyadd": np.polyadd,
    "average of": lambda v, o: np.average(o, weights=v),
    "multi_dot": lambda v, o: np.linalg.multi_dot([v, np.diag(o), np.diag(o)]),
    "polymul": np.polymul,
    "polysub": np.polysub,
    "polyval": np.polyval,
    "polyval at": lambda v, o: np.polyval(o, v),
    "setxor1d": np.setxor1d,
    "tensordot": lambda v, o: np.tensordot(v, o, 1),
    "union1d": np.union1d,
    "vdot": np.vdot,
    "where": lambda v, o: np.where([True, False], v, o),
}


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint16, np.int64, np.float64])
@pytest.mark.parametrize("name", BESIDE)
def test_plain_arrays_beside_float32_promote_as_numpys(name, kind):
    x, other = np.array([0.5, 0.7], np.float32), np.array([1, 0]).astype(kind)
    expected = BESIDE[name](x, other)
    for v in (wy.Variable(x), wy.Input(x)):
        if isinstance(v, wy.Input) and name in ("setxor1d", "union1d"):
            continue  # they ask for values
        got = BESIDE[name](v, other)
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got.value, expected, rtol=1e-6)


OF_A_TRUTH = {
    "append": lambda x: np.append(x, [True, False]),
    "convolve": lambda x: np.convolve(x, True),
    "diff": lambda x: np.diff(x, prepend=True),
    "einsum": lambda x: np.einsum("i,->i", x, True),
    "hstack": lambda x: np.hstack([x, True]),
    "inner": lambda x: np.inner(x, True),
    "kron": lambda x: np.kron(x, True),
    "polyval": lambda x: np.polyval(x, True),
    "vdot": lambda x: np.vdot(x[0], True),
}


@pytest.mark.parametrize("name", OF_A_TRUTH)
def test_true_beside_float32_is_no_wider_than_an_array_of_it(name):
    x = np.array([0.5, 0.7], np.float32)
    expected, got = OF_A_TRUTH[name](x), OF_A_TRUTH[name](wy.Variable(x))
    assert got.dtype == expected.dtype == np.float32
    np.testing.assert_allclose(got.value, expected, rtol=1e-6)


TRAPEZOID = getattr(np, "trapezoid" if hasattr(np, "trapezoid") else "trapz")
SET = {
    "diff": lambda x, k: np.diff(x, n=k, axis=k),
    "diff places": lambda x, k: np.diff(x, k, k),
    "average": lambda x, k: np.average(x, k, keepdims=k),
    "append": lambda x, k: np.append(x, x, axis=k),
    "trapezoid": lambda x, k: TRAPEZOID(x, axis=k),
    "tensordot": lambda x, k: np.tensordot(x, x, axes=[[k], [k]]),
    "cross": lambda x, k: np.cross(x, x[:, ::-1], axisa=k, axisb=k, axisc=k),
    "linspace": lambda x, k: np.linspace(x, x * 2, k + 2, axis=k),
}


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16])
@pytest.mark.parametrize("name", SET)
def test_settings_of_small_integers_stay_integers(name, kind):
    """Beside operands of float32, which operands of small integers are computed in."""
    x = np.arange(9, dtype=np.float32).reshape(3, 3) ** 2
    expected, got = SET[name](x, kind(1)), SET[name](wy.Variable(x), kind(1))
    np.testing.assert_allclose(got.value, expected, rtol=1e-6, strict=True)


OF_SMALL = {
    "add": np.add,
    "append": np.append,
    "clip": lambda x, k: np.clip(k, x, 9),
    "cross": np.cross,
    "inner": np.inner,
    "kron": np.kron,
    "list": lambda x, k: np.concatenate([x, k]),
    "polyval": np.polyval,
    "tensordot": lambda x, k: np.tensordot(x, k, 1),
    "vdot": np.vdot,
}


@pytest.mark.parametrize("kind", [">i2", ">u2", "<i2"])
@pytest.mark.parametrize("name", OF_SMALL)
def test_small_integers_in_any_order_of_bytes_do_not_widen_float32(name, kind):
    x, k = np.array([1.5, -2.0, 3.0], np.float32), np.array([3, 1, 2], kind)
    expected, got = OF_SMALL[name](x, k), OF_SMALL[name](wy.Variable(x), k)
    np.testing.assert_allclose(got.value, expected, rtol=1e-6, strict=True)


def test_masks_of_ufuncs_beside_float32_stay_masks():
    x, mask = wy.Variable(np.array([1.0, 2.0], np.float32)), np.array([True, False])
    out = np.zeros_like(x)
    assert np.multiply.outer(x, np.float32(3.0), out=out, where=mask).value.tolist() == [3.0, 0.0]
    out = np.zeros_like(x)
    assert np.clip(x, 0.0, 0.5, out=out, where=mask).value.tolist() == [0.5, 0.0]


MIXED = {
    "average": lambda x, w: np.average(x, weights=w),
    "average axis": lambda x, w: np.average(x, 1, w[0]),
    "average sum": lambda x, w: np.average(x, 0, w, returned=True)[1],
    "cov": lambda x, w: np.cov(x, aweights=w[0]),
}


@pytest.mark.parametrize("name", MIXED)
def test_float64_weighed_by_float32_has_the_digits_of_float64(name, rng):
    x, weights = rng.normal(size=(4, 5)), rng.uniform(0.1, 1.0, (4, 5)).astype(np.float32)
    expected = MIXED[name](x, weights)
    for w in (weights, wy.Variable(weights)):
        found = MIXED[name](wy.Variable(x), w)
        np.testing.assert_allclose(found.value, expected, rtol=1e-13, strict=True)


def test_logsumexp_of_float32_with_factors_of_float64_has_the_digits_of_these(rng):
    x, b = rng.normal(size=7).astype(np.float32), rng.uniform(0.1, 1.0, 7)
    expected = scipy.special.logsumexp(x.astype(np.float64), b=b)
    found = wy.special.logsumexp(wy.Variable(x), b=b)
    np.testing.assert_allclose(found.value, expected, rtol=1e-14, strict=True)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays_of_any_layout_mean_their_numbers(layout, dtype):
    x = np.arange(1, 7).reshape(2, 3).astype(dtype)
    laid = LAYOUTS[layout](x)
    v = wy.Variable(np.ones((2, 3), np.float64))
    np.testing.assert_array_equal((v + laid).value, x + 1.0)
    np.testing.assert_array_equal(np.multiply(laid, v).value, x)
    np.testing.assert_array_equal(wy.Variable(laid).value, x)
    if dtype is not np.int32:
        slope = wy.grad(lambda a: np.sum(a * a))(laid)
        np.testing.assert_array_equal(slope, 2 * x)
        assert slope.dtype == dtype


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (3, 0), (1,)])
def test_arrays_of_few_elements(shape):
    x = np.full(shape, 2.0)
    for f in (np.sum, lambda x: np.sum(np.sin(x) * 2.0), lambda x: np.sum(np.cumsum(x))):
        value, slope = wy.value_and_grad(f)(x)
        assert value == pytest.approx(f(x))
        assert np.shape(slope) == shape


SINGLE = np.array([1.5, 2.5], np.float32)
# What NumPy makes arrays of before it looks at their types.
OF_ARRAYS = {
    "dot": np.dot,
    "dot method": lambda x, y: x.dot(y),
    "outer": np.outer,
    "add.outer": np.add.outer,
    "subtract.outer": lambda x, y: np.subtract.outer(y, x),
    "stack": lambda x, y: np.stack([x[0], y]),
    "array": lambda x, y: np.sum(x * [x[0], y]) * x,
    "hstack": lambda x, y: np.hstack([x, y]),
    "block": lambda x, y: np.block([[x], [np.full(2, y, type(y))]]),
    "concatenate": lambda x, y: np.concatenate([x, y], None),
    "union1d": np.union1d,
    "geomspace": lambda x, y: np.geomspace(x, y, 3),
    "choose": lambda x, y: np.choose([0, 1], [x, y]),
    "select": lambda x, y: np.select([x > 2.0, x > 1.0], [x, y], y),
    "sum": lambda x, y: np.sum(x, initial=y),
}


@pytest.mark.parametrize("y", [0.1, 3, True, np.int8(3), np.float32(0.1), np.float64(0.1)])
@pytest.mark.parametrize("name", OF_ARRAYS)
def test_numbers_that_become_arrays_have_their_types(name, y):
    f = OF_ARRAYS[name]
    expected = f(SINGLE, y)
    for got in (f(wy.Variable(SINGLE), y).value, wy.vjp(lambda x: f(x, y), SINGLE)[0]):
        np.testing.assert_allclose(got, expected, rtol=1e-7 if expected.itemsize == 4 else 1e-15)
        assert got.dtype == expected.dtype


@pytest.mark.parametrize("y", [[True, False], np.array([3, 2], "i1"), np.array([True, False])])
@pytest.mark.parametrize("join", [np.hstack, np.vstack, np.column_stack])
def test_joined_small_integers_and_truth_are_single(join, y):
    for parts in ([SINGLE, y], [y, SINGLE]):
        got = join([wy.Variable(x) if x is SINGLE else x for x in parts])
        np.testing.assert_array_equal(got.value, join(parts), strict=True)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "nansum", "nanmax"])
def test_what_a_reduction_starts_from_does_not_widen(name):
    f, start = getattr(np, name), wy.Variable(np.float64(0.1))
    x = wy.Variable(SINGLE)
    result = f(x, initial=start)
    assert result.dtype == np.float32
    assert result.item() == f(SINGLE, initial=np.float64(0.1))
    (result * 2.0).backward()
    assert start.grad.dtype == np.float64
    assert start.grad == {"max": 0.0, "nanmax": 0.0, "prod": 7.5}.get(name, 2.0)


@pytest.mark.parametrize("dtype", [int, bool, np.float32])
@pytest.mark.parametrize("name", ["clip", "einsum"])
def test_a_type_that_would_round_is_refused(name, dtype):
    call = {
        "clip": lambda x: np.clip(x, 0.0, 2.0, dtype=dtype),
        "einsum": lambda x: np.einsum("i,i", x, x, dtype=dtype),
    }[name]
    x = np.array([1.5, 2.5])
    if name == "clip" and dtype is np.float32:  # of the same kind
        np.testing.assert_array_equal(call(wy.Variable(x)).value, call(x), strict=True)
        return
    for given in (x, wy.Variable(x)):
        with pytest.raises(TypeError, match=r"cast|cannot be computed in"):
            call(given)
    unsafe = np.einsum("i,i", wy.Variable(x), x, dtype=np.float32, casting="unsafe")
    assert unsafe.dtype == np.float32


@pytest.mark.parametrize("mode", ["trace", "source"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_pullback_takes_the_numbers_that_jvp_takes(dtype, mode):
    """One rule: integers, booleans and narrower numbers take the type that is expected."""
    x = np.array([1.0, 2.0], dtype)
    _, pullback = wy.vjp(lambda x: x * x, x, mode=mode)

    def pushed(given):
        return wy.jvp(lambda x: x * x, (x,), (given,), mode=mode)[1]

    for given in (np.array([1, 0]), np.array([True, False]), np.array([1.0, 0.0], np.float32)):
        for found in (pullback(given)[0], pushed(given)):
            assert (found.dtype, found.tolist()) == (dtype, [2.0, 0.0])
    for way, whose in ((pullback, "result's"), (pushed, "argument's")):
        with pytest.raises(TypeError, match=f"expected {np.dtype(dtype)}, as the {whose}, got fl"):
            way(np.ones(2, np.float16 if dtype is np.float64 else np.float64))
        with pytest.raises(ValueError, match=rf"expected shape \(2,\), as the {whose}, got \(3,\)"):
            way(np.ones(3))
