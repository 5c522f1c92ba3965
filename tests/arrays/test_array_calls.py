"""How NumPy's array functions may be called for variables, and what they refuse.

What they compute is tested in test_arrays.py.
"""

import inspect

import array_cases
import numpy as np
import pytest

import wyrmling as wy

windows = np.lib.stride_tricks.sliding_window_view


def called_like(theirs, ours):
    """Names of functions of NumPy's module that ours has too, and that NumPy dispatches."""
    for name in ours.__all__:
        function = vars(theirs).get(name)
        # What has no array among its arguments, or makes one of anything, is not dispatched.
        if hasattr(function, "__array_function__") or hasattr(function, "_implementation"):
            yield name


# Those with arguments of their own kind have a case, or are about values (test_numpy_coverage.py).
CASES = array_cases.STORING | array_cases.SECOND | array_cases.ONCE
APART = {name.split()[0] for name in CASES} | {"nanargmax", "nanargmin", "matrix_rank"}
NAMES = [(np, name) for name in called_like(np, wy) if name not in APART]
NAMES += [(np.linalg, name) for name in called_like(np.linalg, wy.linalg) if name not in APART]


@pytest.mark.parametrize(("module", "name"), NAMES, ids=lambda x: getattr(x, "__name__", x))
def test_every_exported_function_of_numpy_is_called_for_variables(module, name):
    """With a variable for each argument that has no default, or what the function needs there."""
    function = getattr(module, name)
    x, row = wy.Variable(np.eye(2)), wy.Variable([1.0, 2.0, 3.0])
    by_function = {
        "apply_along_axis": [np.sum, 0, x],
        "convolve": [row, row],
        "correlate": [row, row],
        "cross": [row, row],
        "dsplit": [wy.Variable(np.ones((1, 1, 2))), 1],
        "einsum": ["ij->i", x],
        "delete": [x, 1],
        "full_like": [x, 1.0],
        "geomspace": [row, row],
        "gradient": [x],
        "insert": [x, 1, 5.0],
        "interp": [x, row, row],
        "partition": [x, 1],
        "argpartition": [wy.Parameter([3.0, 1.0, 2.0]), 1],
        "piecewise": [row, [np.array([True, False, True])], [np.sin]],
        "select": [[np.array([True, False, True])], [row]],
        "vander": [row],
        "where": [x > 0.0, x, x],
    }
    by_name = {"axis": 0, "axis1": 0, "axis2": 1, "source": 0, "destination": 0, "repeats": 2}
    by_name |= {"indices": [[0, 0]], "q": 0.5, "n": 2, "shift": 1, "pad_width": 1, "reps": 2}
    by_name |= {"shape": (2, 2), "indices_or_sections": 1, "arrays": [x, x], "tup": [x, x]}
    parameters = inspect.signature(function).parameters.values()
    needed = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    if function is getattr(np.linalg, "outer", None):
        by_function["outer"] = [row, row]  # that of linalg takes vectors alone
    got = function(*by_function.get(name, [by_name.get(p.name, x) for p in needed]))
    parts = got if isinstance(got, tuple | list) else [got]
    assert parts
    assert all(isinstance(part, wy.Variable) for part in parts)


@pytest.mark.parametrize(
    ("error", "match", "call"),
    [
        (ValueError, "axis 2 is out of range", lambda v: np.cumsum(v, 2)),
        (ValueError, "axis 5 is out of range", lambda v: np.sort(v, 5)),
        (TypeError, "sort: axis: expected an integer", lambda v: (v * 1.0).sort(None)),
        (TypeError, "partition: axis: expected an integer", lambda v: (v * 1.0).partition(0, None)),
        (ValueError, "kind must be", lambda v: (v * 1.0).sort(kind="nonsense")),
        (ValueError, "kind must be", lambda v: (v * 1.0).partition(0, kind="nonsense")),
        (TypeError, "masked array", lambda v: np.trapezoid(v, np.ma.array([0, 1], mask=[0, 1]))),
        (ValueError, "axis -3 is out of range", lambda v: np.prod(v, -3)),
        (ValueError, "given twice", lambda v: np.var(v, (0, 0))),
        (ValueError, "no elements", lambda v: np.argmax(v[:0], 0)),
        (ValueError, "quantile of no elements", lambda v: np.quantile(v[:0], 0.5)),
        (ValueError, "percentile of no elements", lambda v: np.percentile(v[:0], 50)),
        (ValueError, "^quantile: q: .* from 0 to 1, got 1.5", lambda v: np.quantile(v, 1.5)),
        (ValueError, "^percentile: q: .* from 0 to 100, got 200", lambda v: np.percentile(v, 200)),
        (TypeError, "^quantile: q: .* numbers .* got 'a'", lambda v: np.quantile(v, "a")),
        (TypeError, "^percentile: q: .* got None", lambda v: np.percentile(v, None)),
        (TypeError, "^quantile: q: .* got a variable", lambda v: np.quantile(v, v[0, 0])),
        (
            ValueError,
            "^quantile: method: expected one of .* got 'most'",
            lambda v: np.quantile(v, 0.5, method="most"),
        ),
        (ValueError, "^percentile: method", lambda v: np.percentile(v, 5, method="low")),
        (TypeError, "^median: axis: .* got 'a'", lambda v: np.median(v, "a")),
        (TypeError, "^clip: a_min: expected numbers.* got str", lambda v: np.clip(v, "a", 1)),
        (TypeError, "^clip: a_max: expected numbers.* got str", lambda v: np.clip(v, 1, "a")),
        (TypeError, "^clip: a_max: expected numbers.* got dict", lambda v: v.clip(max={})),
        (TypeError, "^clip: a_max: expected both", lambda v: np.clip(v, 1.7)),
        (TypeError, "^clip: a_min: expected both", lambda v: np.clip(v, a_max=1.7)),
        (ValueError, "^clip: the bounds are given twice", lambda v: np.clip(v, 0, None, max=1)),
        (TypeError, "^tril: k: expected an integer, got str 'a'", lambda v: np.tril(v, "a")),
        (TypeError, "^triu: k: expected an integer, got float 1.5", lambda v: np.triu(v, 1.5)),
        (TypeError, "^diag: k: expected an integer", lambda v: np.diag(v, "a")),
        (TypeError, "^diagonal: offset: expected an integer", lambda v: np.diagonal(v, "a")),
        (TypeError, "^linspace: num: .* got Variable", lambda v: np.linspace(v, 1.0, v[0, 0])),
        (TypeError, "^linspace: num: .* got 2.5", lambda v: np.linspace(v, 1.0, 2.5)),
        (TypeError, "^linspace: stop: expected numbers", lambda v: np.linspace(v, "a", 2)),
        (TypeError, "^round: decimals: .* got 0.5", lambda v: np.round(v, 0.5)),
        (TypeError, "^matrix_power: n: .* got 'a'", lambda v: np.linalg.matrix_power(v, "a")),
        (TypeError, r"^var: ddof: .* got \[1, 2\]", lambda v: np.var(v, ddof=[1, 2])),
        (TypeError, "^var: ddof: .* got Variable", lambda v: np.var(v, ddof=v[0, 0])),
        (TypeError, "^std: ddof: expected one number, got 'a'", lambda v: np.std(v, ddof="a")),
        (TypeError, "^std: axis: .* got 'a'", lambda v: np.std(v, "a")),
        (
            ValueError,
            r"^full_like: fill_value: shape \(3,\) does not broadcast to \(2, 2\)",
            lambda v: np.full_like(v, [1.0, 2.0, 3.0]),
        ),
        (ValueError, "^full_like: fill_value", lambda v: np.full_like(v[0], v)),
        (TypeError, "^full_like: fill_value: .* got str", lambda v: np.full_like(v, "a")),
        (TypeError, "^shape: .* got 'a'", lambda v: np.full_like(v, 1.0, shape="a")),
        (
            ValueError,
            r"^nan_to_num: posinf: shape \(2, 2, 2\) does not broadcast to \(2, 2\)",
            lambda v: np.nan_to_num(v, posinf=np.ones((2, 2, 2))),
        ),
        (ValueError, "^nan_to_num: nan: shape", lambda v: np.nan_to_num(v, nan=[1.0, 2.0, 3.0])),
        (TypeError, "^nan_to_num: neginf: .* got str", lambda v: np.nan_to_num(v, neginf="a")),
        (TypeError, "^nan_to_num: nan: .* got NoneType", lambda v: np.nan_to_num(v, nan=None)),
        (ValueError, "^reshape: order: .* got 'K'", lambda v: np.reshape(v, 4, order="K")),
        (ValueError, "^reshape: order: .* got 'A'", lambda v: v.T.reshape(4, order="A")),
        (ValueError, "^ravel: order: .* got 'A'", lambda v: v.T.ravel("A")),
        (TypeError, "^reshape: order: .* got NoneType", lambda v: v.reshape(4, order=None)),
        (TypeError, "^reshape: order: .* got int", lambda v: wy.reshape(v, 4, 3)),
        (ValueError, "^vecdot: axis 2 is out of range", lambda v: wy.vecdot(v, v, axis=2)),
        (ValueError, "^vecdot: axis -2 is out", lambda v: wy.vecdot(v, v[0], axis=-2)),
        (ValueError, "^vecdot: axis -2", lambda v: wy.vecdot(1.0, v, axis=-2)),
        (TypeError, "^vecdot: axis: .* got str 'a'", lambda v: wy.vecdot(v, v, axis="a")),
        (ValueError, "window_shape: .* got 3 for an axis of 2", lambda v: windows(v, 3, 0)),
        (ValueError, "window_shape: .* got -1 for an axis", lambda v: windows(v, -1, 0)),
        (ValueError, "window_shape: .* each of 2 axes, got 1", lambda v: windows(v, 1)),
        (ValueError, "sliding_window_view: axis 2 is out of range", lambda v: windows(v, 1, 2)),
        (TypeError, "window_shape: .* got 1.5", lambda v: windows(v, 1.5, 0)),
        (ValueError, "writeable", lambda v: windows(v, 1, 0, writeable=True)),
        (ValueError, "equal parts", lambda v: np.split(v, 3)),
        (TypeError, "indices_or_sections: .* got 'a'", lambda v: np.split(v, "a")),
        (TypeError, "indices_or_sections: .* got .1.5.", lambda v: np.array_split(v, [1.5])),
        (ValueError, "indices_or_sections", lambda v: np.array_split(v, 0)),
        (ValueError, "3 or more axes", lambda v: np.dsplit(v, 2)),
        (ValueError, "mode", lambda v: np.pad(v, 1, "ramp")),
        (ValueError, "negative", lambda v: np.pad(v, -1)),
        (TypeError, "pad_width", lambda v: np.pad(v, 1.5)),
        (ValueError, "repeats", lambda v: np.repeat(v, -1)),
        (TypeError, "repeats: .* got 1.5", lambda v: np.repeat(v, 1.5)),
        (TypeError, r"repeats: .* got \[\[1, 2\]\]", lambda v: np.repeat(v, [[1, 2]])),
        (TypeError, "repeat: axis: .* got 'a'", lambda v: np.repeat(v, 2, axis="a")),
        (TypeError, "var: axis: .* got 1.5", lambda v: np.var(v, axis=1.5)),
        (TypeError, "k: expected an integer, got 'a'", lambda v: np.rot90(v, "a")),
        (ValueError, "reps", lambda v: np.tile(v, -1)),
        (TypeError, "reps: .* got 1.5", lambda v: np.tile(v, 1.5)),
        (TypeError, "shift: .* got 1.5", lambda v: np.roll(v, 1.5)),
        (TypeError, "list of axes, got Variable", lambda v: np.einsum(v)),
        (TypeError, "list of axes, got int", lambda v: np.einsum(v, 1)),
        (ValueError, "axes: .* got -1", lambda v: np.einsum(v, [0, -1])),
        (TypeError, "axes: .* 0.5", lambda v: np.einsum(v, [0, 0.5])),
        (ValueError, "order", lambda v: np.ravel(v, "K")),
        (ValueError, "3 components", lambda v: np.cross(v, v)),
        (ValueError, "vector", lambda v: np.convolve(v, v)),
        (ValueError, "mode", lambda v: np.convolve(v[0], v[0], "most")),
        (ValueError, "differ in length", lambda v: np.tensordot(v, np.ones((3, 2)), 1)),
        (ValueError, "axes: 3", lambda v: np.tensordot(v, v, 3)),
        (TypeError, "axes: .* got {}", lambda v: np.tensordot(v, v, {})),
        (TypeError, "axes: .* got 1.5", lambda v: np.tensordot(v, v, 1.5)),
        (TypeError, "average: axis: must be given", lambda v: np.average(v, weights=[1.0, 2.0])),
        (IndexError, "out of range", lambda v: np.take(v, 4)),
        (IndexError, "out of range", lambda v: np.take_along_axis(v, np.array([[2]]), 0)),
        (ValueError, "do not have the axes", lambda v: np.take_along_axis(v, np.array([0]), 0)),
        (ValueError, "mode", lambda v: np.take(v, 0, mode="any")),
        (TypeError, "not complex128", lambda v: v.astype(complex)),
        (ValueError, "NaN is none", lambda v: (v * np.nan).astype(int)),
        (TypeError, "int64, not int8", lambda v: v.astype(np.int8)),
        (ValueError, "n: expected 0 or more", lambda v: np.diff(v, -1)),
        (TypeError, "n: expected an integer, got 1.5", lambda v: np.diff(v, 1.5)),
        (ValueError, "num", lambda v: np.linspace(v, 1.0, -1)),
        (ValueError, "indexing", lambda v: np.meshgrid(v, indexing="xz")),
        (TypeError, "numpy.roots is not among", lambda v: np.roots(v)),
        (TypeError, "^cumsum: dtype: .* complex128", lambda v: np.cumsum(v, dtype=complex)),
        (TypeError, "^cumsum: out: a plain array", lambda v: np.cumsum(v, out=np.zeros(4))),
    ],
)
def test_errors(error, match, call):
    v = wy.Variable([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(error, match=match):
        call(v)


@pytest.mark.parametrize(
    "call",
    [
        lambda v, axis: np.prod(v, axis=axis),
        lambda v, axis: np.prod(v, axis=(axis,)),
        lambda v, axis: np.var(v, axis=axis),
        lambda v, axis: np.std(v, axis=axis),
        lambda v, axis: np.median(v, axis=axis),
        lambda v, axis: np.cumsum(v, axis=axis),
        lambda v, axis: np.cumprod(v, axis=axis),
        lambda v, axis: np.argmax(v, axis=axis),
        lambda v, axis: np.argmin(v, axis=axis),
        lambda v, axis: np.argsort(v, axis=axis),
        lambda v, axis: np.sort(v, axis=axis),
        lambda v, axis: np.take(v, [0], axis=axis),
        lambda v, axis: np.take_along_axis(v, np.array([[0]]), axis=axis),
        lambda v, axis: np.repeat(v, 2, axis=axis),
        lambda v, axis: np.flip(v, axis=axis),
        lambda v, axis: np.roll(v, 1, axis=axis),
        lambda v, axis: np.diff(v, axis=axis),
        lambda v, axis: np.swapaxes(v, axis, 0),
        lambda v, axis: np.moveaxis(v, axis, 0),
        lambda v, axis: np.linalg.norm(v, axis=axis),
        lambda v, axis: wy.softmax(v, axis=axis),
        lambda v, axis: wy.vecdot(v, v, axis=axis),
    ],
)
def test_a_truth_value_is_no_axis(call):
    """As in NumPy's reductions; its functions in Python take True for 1, and ours do not."""
    v = wy.Variable([[1.0, 2.0], [3.0, 4.0]])
    for axis in (True, False, np.True_, "a", 1.0):
        with pytest.raises(TypeError, match=r"axis: expected an integer.*, got "):
            call(v, axis)
    call(v, 1)


def test_a_mask_repeats_what_it_is_true_for():
    mask = np.array([True, False, True])
    np.testing.assert_array_equal(np.repeat(wy.Variable([1.0, 2.0, 3.0]), mask).value, [1.0, 3.0])


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of means of nothing
def test_medians_of_no_elements_are_numpys(shape, dtype):
    x = np.zeros(shape, dtype)
    for axis in (None, *range(len(shape))):
        for keepdims in (False, True):
            expected = np.median(x, axis, keepdims=keepdims)
            got = np.median(wy.Variable(x), axis, keepdims=keepdims)
            assert (got.shape, got.dtype) == (np.shape(expected), dtype)
            np.testing.assert_array_equal(got.value, expected)


@pytest.mark.parametrize("indices", [[], [[], []], np.zeros(0, int), ()])
@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_nothing_is_taken_as_numpy_does(indices, mode):
    for x in (np.ones((2, 3)), np.zeros((0, 3)), np.zeros(0)):
        for axis in (None, *range(x.ndim)):
            expected = np.take(x, np.asarray(indices, int), axis, mode=mode)
            got = np.take(wy.Variable(x), indices, axis, mode=mode)
            assert got.shape == expected.shape


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    ("of", "to"),
    [
        ((2, 3), (3, 2)),
        ((2, 3, 4), (4, -1)),
        ((6,), (2, 3)),
        ((2, 3), -1),
        ((1,), ()),
        ((0, 2), (3, 0)),
    ],
)
def test_reshapes_in_an_order_are_numpys(order, of, to, rng):
    x, weights = rng.normal(size=of), rng.normal(size=of)
    expected = np.reshape(x, to, order=order)
    places = wy.Variable(x)
    for got in (np.reshape(places, to, order=order), places.reshape(to, order=order)):
        np.testing.assert_array_equal(got.value, expected)
    np.testing.assert_array_equal(
        wy.grad(
            lambda v: np.sum(np.reshape(v, to, order=order) * np.reshape(weights, to, order=order))
        )(x),
        weights,
    )
    np.testing.assert_array_equal(np.ravel(places, order).value, np.ravel(x, order))


@pytest.mark.skipif(not hasattr(np, "vecdot"), reason="NumPy 2 has it")
@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_vecdot_along_an_axis(axis, rng):
    x, y = rng.normal(size=(2, 3, 3))
    expected = np.vecdot(x, y, axis=axis)
    for f in (np.vecdot, np.linalg.vecdot, wy.vecdot):
        np.testing.assert_allclose(f(wy.Variable(x), y, axis=axis).value, expected, rtol=1e-14)
    with pytest.raises(TypeError, match="out"):
        np.vecdot(wy.Variable(x), y, out=np.zeros(3))


def test_tensordot_takes_axes_in_an_array():
    x = np.arange(6.0).reshape(2, 3)
    axes = np.array([[0], [0]])
    found = np.tensordot(wy.Variable(x), x, axes)
    np.testing.assert_array_equal(found.value, np.tensordot(x, x, axes))
