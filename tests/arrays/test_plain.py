"""Plain in, plain out: without a variable among the arguments every public function is plain.

Each has an example here, which is called with arrays of several types, with lists and with numbers,
and compared with NumPy's or SciPy's function; and with a variable in the place of each array.
"""

import warnings

import numpy as np
import pytest
import scipy.special

import wyrmling as wy
from wyrmling import _core, plain

# Examples: what is done with a function and arrays, and the shapes of these.
V, M, S, P = (3,), (2, 3), (2, 2), ()


def one(f, x):
    return f(x)


def two(f, x, y):
    return f(x, y)


def ordered(f, x):
    return f(2, x)


def written(f, x, *args):
    """What writes to an array, on an array of its own."""
    y = x * 1.0 if isinstance(x, wy.Variable) else np.array(x)
    f(y, *args)
    return y


def symmetric(x):
    return x if isinstance(x, list) else x @ x.T


PLACES = np.array([2, 0])
MASK = np.array([True, False, True])

FUNCTIONS = {
    "broadcast_to": (lambda f, x: f(x, (2, 3)), [V]),
    "concatenate": (lambda f, x, y: f([x, y]), [V, (2,)]),
    "cross_entropy": (lambda f, x: f(x, [0, 1]), [M]),
    "diag": (one, [V]),
    "diagonal": (one, [S]),
    "dot": (two, [V, V]),
    "expand_dims": (lambda f, x: f(x, 0), [V]),
    "gather": (lambda f, x: f(x, [2, -1]), [V]),
    "linear_recurrence": (two, [V, V]),
    "log_softmax": (one, [M]),
    "matmul": (two, [M, V]),
    "max": (lambda f, x: f(x, axis=0), [M]),
    "mean": (one, [V]),
    "min": (lambda f, x: f(x, keepdims=True), [V]),
    "outer": (two, [V, V]),
    "reshape": (lambda f, x: f(x, (3, 2)), [M]),
    "softmax": (one, [V]),
    "squeeze": (one, [(1, 3)]),
    "stack": (lambda f, x, y: f([x, y], axis=1), [V, V]),
    "stop_gradient": (one, [V]),
    "sum": (one, [V]),
    "transpose": (one, [M]),
    "tril": (one, [S]),
    "triu": (lambda f, x: f(x, 1), [S]),
    "vecdot": (two, [V, V]),
}
ARRAYS = {
    "angle": (one, [V]),
    "append": (two, [V, V]),
    "apply_along_axis": (lambda f, x: f(lambda lane: lane[0] * lane, 1, x), [M]),
    "apply_over_axes": (lambda f, x: f(np.sum, x, [0]), [M]),
    "argmax": (one, [V]),
    "argmin": (lambda f, x: f(x, 1), [M]),
    "argpartition": (lambda f, x: f(x, 1), [V]),
    "argsort": (one, [V]),
    "around": (lambda f, x: f(x, 1), [V]),
    "array_split": (lambda f, x: f(x, 2), [V]),
    "astype": (lambda f, x: f(x, np.float32), [V]),
    "atleast_1d": (one, [P]),
    "atleast_2d": (two, [V, V]),
    "atleast_3d": (one, [V]),
    "average": (lambda f, x: f(x, weights=[1.0, 2.0, 3.0]), [V]),
    "bincount": (lambda f, x: f([0, 2, 2], x), [V]),
    "block": (lambda f, x, y: f([[x], [y]]), [M, M]),
    "broadcast_arrays": (two, [V, M]),
    "c_": (lambda f, x, y: f[x, y], [V, V]),
    "choose": (lambda f, x, y: f([0, 1, 0], [x, y]), [V, V]),
    "clip": (lambda f, x: f(x, 0.3, 0.7), [V]),
    "column_stack": (lambda f, x, y: f([x, y]), [V, V]),
    "compress": (lambda f, x: f([True, False, True], x), [V]),
    "convolve": (two, [V, V]),
    "copy": (one, [V]),
    "copyto": (lambda f, x, y: written(f, x, y), [V, V]),
    "corrcoef": (one, [M]),
    "correlate": (two, [V, V]),
    "cov": (one, [M]),
    "cross": (two, [V, V]),
    "cumprod": (one, [V]),
    "cumsum": (lambda f, x: f(x, 1), [M]),
    "cumulative_prod": (one, [V]),
    "cumulative_sum": (lambda f, x: f(x, include_initial=True), [V]),
    "delete": (lambda f, x: f(x, 1), [V]),
    "diagflat": (one, [V]),
    "diff": (one, [V]),
    "dsplit": (lambda f, x: f(x, 2), [(1, 1, 2)]),
    "dstack": (lambda f, x, y: f((x, y)), [V, V]),
    "ediff1d": (one, [V]),
    "einsum": (lambda f, x, y: f("i,i->", x, y), [V, V]),
    "empty_like": (lambda f, x: f(x) * 0, [V]),
    "extract": (lambda f, x: f(MASK, x), [V]),
    "fill_diagonal": (lambda f, x, y: written(f, x, y), [S, P]),
    "flip": (one, [V]),
    "fliplr": (one, [M]),
    "flipud": (one, [M]),
    "float_power": (two, [V, V]),
    "frexp": (one, [V]),
    "full": (lambda f, x: f((2, 3), x), [V]),
    "full_like": (two, [V, P]),
    "geomspace": (lambda f, x, y: f(x, y, 4), [P, P]),
    "gradient": (one, [V]),
    "histogram": (lambda f, x: f([0.1, 0.5, 0.7], 2, weights=x), [V]),
    "histogram2d": (lambda f, x: f([0.1, 0.5, 0.7], [0.1, 0.2, 0.3], 2, weights=x), [V]),
    "histogram_bin_edges": (lambda f, x: f(x, 3), [V]),
    "histogramdd": (lambda f, x: f(np.array([[0.1], [0.5], [0.7]]), 2, weights=x), [V]),
    "hsplit": (lambda f, x: f(x, [1]), [V]),
    "hstack": (lambda f, x, y: f([x, y]), [V, V]),
    "imag": (one, [V]),
    "inner": (two, [V, V]),
    "insert": (lambda f, x, y: f(x, 1, y), [V, P]),
    "interp": (lambda f, x: f([0.5, 1.5], [0.0, 1.0, 2.0], x), [V]),
    "intersect1d": (two, [V, V]),
    "isneginf": (one, [V]),
    "isposinf": (one, [V]),
    "kron": (two, [V, V]),
    "ldexp": (lambda f, x: f(x, 3), [V]),
    "linspace": (lambda f, x, y: f(x, y, 4), [P, P]),
    "logspace": (lambda f, x, y: f(x, y, 4), [P, P]),
    "logsumexp": (one, [V]),
    "median": (one, [V]),
    "meshgrid": (two, [V, (2,)]),
    "modf": (one, [V]),
    "moveaxis": (lambda f, x: f(x, 0, 1), [M]),
    "nan_to_num": (one, [V]),
    "nanargmax": (one, [V]),
    "nanargmin": (one, [V]),
    "nancumprod": (one, [V]),
    "nancumsum": (one, [V]),
    "nanmax": (one, [V]),
    "nanmean": (one, [V]),
    "nanmedian": (one, [V]),
    "nanmin": (one, [V]),
    "nanpercentile": (lambda f, x: f(x, 30), [V]),
    "nanprod": (one, [V]),
    "nanquantile": (lambda f, x: f(x, [0.3, 0.5]), [V]),
    "nanstd": (one, [V]),
    "nansum": (lambda f, x: f(x, 0), [M]),
    "nanvar": (one, [V]),
    "ones_like": (one, [V]),
    "pad": (lambda f, x: f(x, 1), [V]),
    "partition": (lambda f, x: f(x, 1), [V]),
    "percentile": (lambda f, x: f(x, 30.0), [V]),
    "piecewise": (lambda f, x: f(x, [MASK], [lambda x: x * x, 1]), [V]),
    "place": (lambda f, x: written(f, x, MASK, [2, 3]), [V]),
    "poly": (one, [V]),
    "polyadd": (two, [V, V]),
    "polyder": (one, [V]),
    "polydiv": (two, [V, (2,)]),
    "polyfit": (lambda f, x: f([0.0, 1.0, 2.0], x, 1), [V]),
    "polyint": (one, [V]),
    "polymul": (two, [V, V]),
    "polysub": (two, [V, V]),
    "polyval": (two, [V, V]),
    "prod": (one, [V]),
    "ptp": (one, [V]),
    "put": (lambda f, x: written(f, x, [0, 2], [5, 6]), [V]),
    "put_along_axis": (lambda f, x: written(f, x, PLACES, 5, 0), [V]),
    "putmask": (lambda f, x: written(f, x, MASK, 5), [V]),
    "quantile": (lambda f, x: f(x, 0.3), [V]),
    "r_": (lambda f, x: f[x, 0, x], [V]),
    "ravel": (one, [M]),
    "repeat": (lambda f, x: f(x, 2), [V]),
    "replace": (lambda f, x, y: f(x, 1, y), [V, P]),
    "resize": (lambda f, x: f(x, (2, 2)), [V]),
    "roll": (lambda f, x: f(x, 1), [V]),
    "rollaxis": (lambda f, x: f(x, 1), [M]),
    "rot90": (one, [M]),
    "round": (one, [V]),
    "select": (lambda f, x, y: f([MASK, ~MASK], [x, y]), [V, V]),
    "setdiff1d": (lambda f, x: f(x, [2]), [V]),
    "setxor1d": (lambda f, x: f(x, [2]), [V]),
    "sort": (one, [V]),
    "split": (lambda f, x: f(x, 3), [V]),
    "std": (one, [V]),
    "swapaxes": (lambda f, x: f(x, 0, 1), [M]),
    "take": (lambda f, x: f(x, [2, -1]), [V]),
    "take_along_axis": (lambda f, x: f(x, PLACES, 0), [V]),
    "tensordot": (lambda f, x, y: f(x, y, 1), [M, V]),
    "tile": (lambda f, x: f(x, 2), [V]),
    "trace": (one, [S]),
    "trapezoid": (one, [V]),
    "trim_zeros": (one, [V]),
    "union1d": (two, [V, V]),
    "unique": (one, [V]),
    "unique_all": (one, [V]),
    "unique_counts": (one, [V]),
    "unique_inverse": (one, [V]),
    "unique_values": (one, [V]),
    "unstack": (one, [M]),
    "unwrap": (one, [V]),
    "vander": (one, [V]),
    "var": (one, [V]),
    "vdot": (two, [V, V]),
    "vectorize": (lambda f, x: f(lambda a: a * a)(x), [V]),
    "vsplit": (lambda f, x: f(x, 2), [M]),
    "vstack": (lambda f, x, y: f([x, y]), [V, V]),
    "where": (lambda f, x, y: f(MASK, x, y), [V, V]),
    "zeros_like": (one, [V]),
}
SPECIAL = {
    "airy": (one, [V]),
    "airye": (one, [V]),
    "log_softmax": (lambda f, x: f(x, axis=-1), [M]),
    "logsumexp": (lambda f, x: f(x, axis=1), [M]),
    "multigammaln": (lambda f, x: f(x, 2), [V]),
    "sici": (one, [V]),
    "softmax": (lambda f, x: f(x, axis=-1), [M]),
    "zeta": (lambda f, x: f(2.5, x), [V]),
}
LINALG = {
    "cholesky": (one, [S]),
    "cond": (one, [S]),
    "cross": (two, [V, V]),
    "det": (one, [S]),
    "diagonal": (one, [S]),
    "eigh": (lambda f, x: f(x)[0], [S]),
    "eigvalsh": (one, [S]),
    "inv": (one, [S]),
    "lstsq": (lambda f, x, y: f(x, y, None)[::3], [S, (2,)]),
    "matmul": (two, [S, S]),
    "matrix_norm": (one, [S]),
    "matrix_power": (lambda f, x: f(x, 3), [S]),
    "matrix_rank": (one, [S]),
    "matrix_transpose": (one, [S]),
    "multi_dot": (lambda f, x, y: f([x, y]), [S, (2,)]),
    "norm": (one, [V]),
    "outer": (two, [V, V]),
    "pinv": (one, [S]),
    "qr": (lambda f, x: f(x), [S]),
    "slogdet": (one, [S]),
    "solve": (two, [S, (2,)]),
    "svd": (lambda f, x: f(x)[1], [S]),
    "svdvals": (one, [S]),
    "tensordot": (lambda f, x, y: f(x, y, axes=1), [S, S]),
    "tensorinv": (lambda f, x: f(x, 1), [S]),
    "tensorsolve": (two, [S, (2,)]),
    "trace": (one, [S]),
    "vecdot": (two, [V, V]),
    "vector_norm": (one, [V]),
}
ELEMENTWISE = {}
for entry in _core.elementwise():
    example = {(1, False): (one, [V]), (2, False): (two, [V, V]), (1, True): (ordered, [V])}
    for known in {entry["function"], *entry["numpy"], *entry["scipy"]}:
        ELEMENTWISE[known] = example.get((len(entry["domains"]), entry["ordered"]))
# Functions whose answers carry no gradient, so that they may be plain for variables too.
ANSWERS = {"angle", "imag", "isneginf", "isposinf", "isfinite", "isinf", "isnan", "signbit"}
ANSWERS |= {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"}
ANSWERS |= {"logical_and", "logical_or", "logical_xor", "logical_not", "matrix_rank"}
ANSWERS |= {"argmax", "argmin", "argsort", "argpartition", "nanargmax", "nanargmin"}
# Those that write to their first argument, which is the variable then.
WRITING = {"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"}
# What makes variables on purpose.
MAKERS = {"array"}
# Where NumPy's take arrays alone, ours take lists too.
OF_ARRAYS = {"astype", "dsplit", "hsplit", "take_along_axis", "vsplit"}

MODULES = [(wy, np, FUNCTIONS | ARRAYS, wy._names.HOMES["functions"].split())]
MODULES += [(wy, np, ARRAYS, wy.arrays.__all__)]
MODULES += [(wy.special, scipy.special, SPECIAL, wy.special.__all__)]
MODULES += [(wy.linalg, np.linalg, LINALG, wy.linalg.__all__)]
CASES = [
    (ours, theirs, name, table.get(name) or ELEMENTWISE.get(name))
    for ours, theirs, table, names in MODULES
    for name in names
    if name not in MAKERS and not (isinstance(getattr(ours, name), type) and name != "vectorize")
]
every_function = pytest.mark.parametrize(
    ("ours", "theirs", "name", "example"), CASES, ids=[f"{c[0].__name__}.{c[2]}" for c in CASES]
)


def given(kind, shape):
    """An argument of a kind; a square matrix is symmetric and positive definite."""
    n = int(np.prod(shape))
    x = np.linspace(0.2, 0.9, n).reshape(shape)
    if shape == S:
        x = np.array([[2.0, 1.0], [1.0, 3.0]])
    made = {
        "float64": x,
        "float32": x.astype(np.float32),
        "int64": np.arange(1, n + 1).reshape(shape) if shape != S else x.astype(int),
        "bool": (np.arange(n) % 2 == 0).reshape(shape),
        "list": x.tolist(),
        "integers": np.arange(1, n + 1).reshape(shape).tolist(),
    }[kind]
    return made[()] if isinstance(made, np.ndarray) and not shape else made


KINDS = ["float64", "float32", "int64", "bool", "list", "integers"]


def result(act, function, args):
    """What comes of a call: a value, or the type of what was raised."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return act(function, *args)
        except (TypeError, ValueError, AttributeError, np.linalg.LinAlgError) as error:
            return error


def compare(got, want, exact, values=True):
    """The same types, element types and values; not the same classes of named tuples."""
    if isinstance(want, tuple | list):
        assert isinstance(got, tuple if isinstance(want, tuple) else list)
        assert len(got) == len(want)
        for a, b in zip(got, want, strict=True):
            compare(a, b, exact, values)
        return
    assert type(got) is type(want)
    if not isinstance(want, np.ndarray | np.generic):
        assert got == want
        return
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    if exact:
        np.testing.assert_array_equal(got, want)
    elif values:
        tolerance = 1e-4 if want.dtype == np.float32 else 1e-9
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def widened(x, dtype):
    """SciPy's results in the type that ours have."""
    return tuple(widened(y, dtype) for y in x) if isinstance(x, tuple) else x.astype(dtype)


@pytest.mark.parametrize("kind", KINDS)
@every_function
def test_plain_arguments_give_what_numpy_and_scipy_give(ours, theirs, name, example, kind):
    assert example, f"{name} needs an example in this file"
    act, shapes = example
    args = [given(kind, shape) for shape in shapes]
    got = result(act, getattr(ours, name), args)
    assert not _core.has_variable((got,), {})
    reference, own = vars(theirs).get(name), theirs is not np
    expected = np.float32 if kind == "float32" else np.float64
    if reference is None:
        assert not isinstance(got, Exception), got
        if ours is wy.special or name in ELEMENTWISE:
            assert got.dtype == expected
        return
    if name in OF_ARRAYS and not own:
        args = [np.asarray(x) for x in args]
    want = result(act, reference, args)
    if isinstance(want, Exception):
        assert own or type(got) is type(want)
        return
    assert not isinstance(got, Exception), got
    if ours is wy.special:
        # SciPy computes booleans in few bits, and some functions in float64 only.
        want = widened(want, expected)
    compare(got, want, exact=not own, values=kind != "bool" or ours is not wy.special)


@every_function
def test_with_a_variable_they_give_variables(ours, theirs, name, example):
    act, shapes = example
    args = [given("float64", shape) for shape in shapes]
    for k in range(1 if name in WRITING else len(args)):
        mixed = [wy.Variable(x) if i == k else x for i, x in enumerate(args)]
        got = result(act, getattr(ours, name), mixed)
        assert not isinstance(got, Exception), got
        assert name in ANSWERS or _core.has_variable((got,), {})


@every_function
def test_of_variables_in_an_array_of_objects_no_gradient_is_lost(ours, theirs, name, example):
    act, shapes = example
    w = wy.Parameter(2.0)
    args = [given("float64", shape) for shape in shapes]
    # Of the first argument of these the shape is asked alone.
    for k in range(1 if name.endswith("_like") else 0, len(args)):
        objects = np.empty(shapes[k], object)
        objects[...] = args[k]
        objects.flat[0] = w * 2.0
        for mixed in (objects, [objects]):
            with_one = [mixed if i == k else x for i, x in enumerate(args)]
            got = result(act, getattr(ours, name), with_one)
            if isinstance(got, Exception):
                # The usual refusal, or that of a list that does not fit.
                assert isinstance(got, TypeError) or mixed is not objects, got
            else:
                assert name in ANSWERS or _core.has_variable((got,), {}), got


@pytest.mark.parametrize("kind", ["float64", "float32"])
@every_function
def test_own_functions_give_the_same_bits_traced_or_not(ours, theirs, name, example, kind):
    if theirs is np and vars(np).get(name) is not None:
        return
    act, shapes = example
    args = [given(kind, shape) for shape in shapes]
    got = result(act, getattr(ours, name), args)
    traced = result(act, getattr(ours, name), [wy.Variable(x) for x in args])
    compare(got, plain.value(traced), exact=True)
