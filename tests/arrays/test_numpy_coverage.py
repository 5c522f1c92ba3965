"""Every public function of NumPy, given a variable: the tables of those that are here and of those
that are refused have no gap.

Functions with a gradient are in the cases of test_arrays, in the rule table (test_elementwise), or
in ``MORE``; those that ask once are in ``array_cases.ONCE``. Both are tested here: by value, by
finite differences through the transform and the frozen graph. ``ANSWERS`` have no gradient. Methods
are in test_numpy_methods.py.
"""

import re
import warnings

import array_cases
import numpy as np
import pytest
import test_arrays
from conftest import numeric_gradient

import wyrmling as wy
from wyrmling import _core, dispatch

NEW = array_cases.NEW
X = np.array([[1.5, 4.0, 2.0], [3.0, 0.5, -1.0]])


def symmetric(a):
    return a @ a.T + 2.0 * np.eye(len(a), dtype=a.dtype)


def drawn(shapes, dtype=np.float64):
    rng = np.random.default_rng(3)
    return [rng.uniform(0.3, 2.0, shape).astype(dtype) for shape in shapes]


def here(name, *args, **named):
    """A function that older NumPys lack."""
    return getattr(np, name)(*args, **named)


flat = array_cases.flat
windows = np.lib.stride_tricks.sliding_window_view
MORE = {
    "amax": (lambda x: np.amax(x, 1), [(2, 3)]),
    "min": (lambda x: np.min(x, axis=0, keepdims=True), [(2, 3)]),
    "atleast_1d": (lambda x: np.atleast_1d(x) * 2.0, [()]),
    "atleast_2d": (lambda x: np.atleast_2d(x) * 2.0, [(3,)]),
    "atleast_3d": (lambda x: np.atleast_3d(x) * 2.0, [(2, 3)]),
    "broadcast_to": (lambda x: np.broadcast_to(x, (2, 3)) * 1.0, [(3,)]),
    "diag": (lambda x: np.diag(x, 1), [(3,)]),
    "divmod": (lambda x, y: flat(np.divmod(x + 3.0, y)), [(1,), (1,)]),
    "dot": (lambda x, y: np.dot(x, y), [(2, 3), (3,)]),
    "expand_dims": (lambda x: np.expand_dims(x, (0, 2)) * 1.0, [(2,)]),
    "fft.fftshift": (lambda x: np.fft.fftshift(x) * x, [(2, 5)]),
    "fft.fftshift axes": (lambda x: np.fft.fftshift(x, axes=(0, -1, 0)) * x, [(3, 2, 5)]),
    "fft.ifftshift": (lambda x: np.fft.ifftshift(x) * x, [(2, 5)]),
    "fft.ifftshift axes": (lambda x: np.fft.ifftshift(x, axes=-1) * x, [(3, 5)]),
    "sliding_window_view": (lambda x: windows(x, 3) * np.arange(3.0), [(5,)]),
    "sliding_window_view axes": (lambda x: windows(x, (2, 3), (-1, 0)) * 2.0, [(3, 2, 5)]),
    "sliding_window_view twice": (lambda x: windows(x, [2, 3], (1, 1)) * 2.0, [(2, 6)]),
    "sliding_window_view whole": (lambda x: windows(x, x.shape) * 2.0, [(2, 3)]),
    "sliding_window_view none": (lambda x: np.sum(windows(x, 0)) + x, [(3,)]),
    "convolution": (
        lambda x, w: np.einsum("ijkl,kl->ij", windows(x, w.shape), w),
        [(4, 5), (2, 3)],
    ),
    "fix": (lambda x: np.fix(x * 0.4 + 1.05) * x, [(2,)]),
    "full_like": (lambda x: np.full_like(x, 3.0) * x, [(2,)]),
    "ones_like": (lambda x: np.ones_like(x) * x, [(2,)]),
    "zeros_like": (lambda x: np.zeros_like(x) + x, [(2,)]),
    "empty_like": (
        lambda x: 0.0 * np.nan_to_num(np.empty_like(x), nan=0.0, posinf=0.0, neginf=0.0) + x,
        [(2,)],
    ),
    "outer": (lambda x, y: np.outer(x, y), [(2,), (3,)]),
    "squeeze": (lambda x: np.squeeze(x, 0) * 1.0, [(1, 3)]),
    "trace": (lambda x: np.trace(x, 1, dtype=float), [(3, 3)]),
    "triu": (lambda x: np.triu(x, 1), [(3, 3)]),
    "around": (lambda x: np.around(x * 0.02 + 1.1, 1) * x, [(3,)]),
    "round": (lambda x: np.round(x * 0.02 + 1.1, decimals=1) * x, [(3,)]),
    "linalg.cholesky": (lambda x: np.linalg.cholesky(symmetric(x)), [(2, 3)]),
    "linalg.cond": (lambda x: np.linalg.cond(symmetric(x), 1), [(2, 3)]),
    "linalg.det": (lambda x: np.linalg.det(x), [(2, 3, 3)]),
    "linalg.eigh": (lambda x: np.linalg.eigh(symmetric(x))[0], [(2, 3)]),
    "linalg.eigvalsh": (lambda x: np.linalg.eigvalsh(symmetric(x), "U"), [(2, 3)]),
    "linalg.inv": (lambda x: np.linalg.inv(symmetric(x)), [(2, 3)]),
    "linalg.matrix_power": (lambda x: np.linalg.matrix_power(symmetric(x), -2), [(2, 3)]),
    "linalg.multi_dot": (lambda x, y: np.linalg.multi_dot([x, y, x]), [(2, 3), (3, 2)]),
    "linalg.pinv": (lambda x: np.linalg.pinv(x), [(3, 2)]),
    "linalg.qr": (lambda x: np.linalg.qr(x)[1], [(3, 2)]),
    "linalg.slogdet": (lambda x: np.linalg.slogdet(symmetric(x))[1], [(2, 3)]),
    "linalg.solve": (lambda x, y: np.linalg.solve(symmetric(x), y), [(2, 3), (2, 2)]),
    "linalg.svd": (lambda x: np.linalg.svd(x, compute_uv=False), [(2, 3)]),
}
for order in (None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
    MORE[f"linalg.norm {order}"] = (
        lambda x, order=order: np.linalg.norm(x, order, axis=(0, 2)),
        [(2, 3, 3)],
    )
for order in (None, 0.5, 1, 2, 3, -2, np.inf, -np.inf):
    MORE[f"linalg.norm vector {order}"] = (
        lambda x, order=order: np.linalg.norm(x, order, axis=1, keepdims=True),
        [(2, 3)],
    )
for method in wy.arrays.quantiles.METHODS:
    MORE[f"quantile {method}"] = (
        lambda x, method=method: np.quantile(x, [0.0, 0.13, 0.5, 1.0], 0, method=method),
        [(5, 2)],
    )
    MORE[f"nanquantile {method}"] = (
        lambda x, method=method: np.nanquantile(x + array_cases.HOLES[::2], 0.4, 1, method=method),
        [(2, 3)],
    )
if NEW:
    MORE |= {
        "astype": (lambda x: here("astype", x, np.float64), [(3,)]),
        "concat": (lambda x, y: here("concat", [x, y], axis=1), [(2, 1), (2, 2)]),
        "matrix_transpose": (lambda x: here("matrix_transpose", x) * 1.0, [(2, 3)]),
        "permute_dims": (lambda x: here("permute_dims", x, (1, 0)) * 1.0, [(2, 3)]),
        "vecdot": (lambda x, y: here("vecdot", x, y, axis=0), [(3, 2), (3, 2)]),
        "linalg.diagonal": (lambda x: np.linalg.diagonal(x) * 1.0, [(2, 3, 3)]),
        "linalg.matmul": (lambda x, y: np.linalg.matmul(x, y), [(2, 3), (3, 2)]),
        "linalg.matrix_norm": (lambda x: np.linalg.matrix_norm(x, ord=1), [(2, 3, 3)]),
        "linalg.matrix_transpose": (lambda x: np.linalg.matrix_transpose(x) * 1.0, [(2, 3)]),
        "linalg.outer": (lambda x, y: np.linalg.outer(x, y), [(2,), (3,)]),
        "linalg.svdvals": (lambda x: np.linalg.svdvals(x), [(2, 3)]),
        "linalg.trace": (lambda x: np.linalg.trace(x, offset=1), [(2, 3, 3)]),
        "linalg.vecdot": (lambda x, y: np.linalg.vecdot(x, y), [(2, 3), (3,)]),
        "linalg.vector_norm": (lambda x: np.linalg.vector_norm(x, ord=3), [(2, 3)]),
    }
for newer in ("matvec", "vecmat"):
    if hasattr(np, newer):
        MORE[newer] = (
            lambda x, y, name=newer: here(name, *((x, y) if name == "matvec" else (y, x))),
            [(2, 3, 3), (3,)],
        )


def checked(f, shapes, exact):
    """Values and gradients through a transform and a frozen graph, and element types."""
    args = drawn(shapes)
    expected = np.asarray(f(*args))
    weights = np.random.default_rng(0).uniform(0.5, 1.5, expected.shape)
    value, pull = wy.vjp(f, *args)
    np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-12)
    leaves = [wy.Variable(a) for a in args]
    program = wy.freeze((f(*leaves) * weights).sum())
    frozen = program.value_and_grad()[1]
    for k, (found, leaf) in enumerate(zip(pull(weights), leaves, strict=True)):
        numeric = numeric_gradient(lambda *a: f(*a) * weights, args, k)
        np.testing.assert_allclose(found, numeric, rtol=1e-5, atol=1e-5)
        again = frozen[leaf]
        again = again if isinstance(again, np.ndarray) else again.to_dense()
        np.testing.assert_allclose(again, found, rtol=1e-9, atol=1e-9)
    wy.check_grads(f, args, atol=1e-4, rtol=1e-4)
    single = [a.astype(np.float32) for a in args]
    found, expected = f(*[wy.Variable(a) for a in single]), f(*single)
    assert found.dtype == (expected.dtype if exact else np.float32)


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated")
@pytest.mark.parametrize("name", MORE)
def test_more_functions(name):
    # NumPy's cond and norms of float32 are float64 in places.
    checked(*MORE[name], exact=not name.startswith("linalg."))


@pytest.mark.parametrize("name", array_cases.ONCE)
def test_those_that_ask_once(name):
    f, shapes = array_cases.ONCE[name]
    checked(f, shapes, exact=True)
    with pytest.raises(TypeError, match="follows an input"):
        f(*[wy.Input(a) for a in drawn(shapes)])


# Functions without a gradient, whose results are plain in a transform.
ANSWERS = dict.fromkeys(dispatch._OF_VALUES) | {
    "argmax": lambda x: np.argmax(x, 1),
    "argmin": lambda x: np.argmin(x, axis=0, keepdims=True),
    "argpartition": lambda x: np.sort(np.argpartition(x, 1, axis=1)),
    "argsort": lambda x: np.argsort(x, 0),
    "bitwise_and": lambda x: np.bitwise_and(x > 1.0, x < 3.0),
    "bitwise_or": lambda x: np.bitwise_or(x > 1.0, x < 3.0),
    "bitwise_xor": lambda x: np.bitwise_xor(x > 1.0, x < 3.0),
    "bitwise_invert": lambda x: ~(x > 1.0),
    "bitwise_not": lambda x: ~(x > 1.0),
    "invert": lambda x: np.invert(x > 1.0),
    "iscomplex": np.iscomplex,
    "isneginf": np.isneginf,
    "isposinf": np.isposinf,
    "isreal": np.isreal,
    "isscalar": np.isscalar,
    "nanargmax": lambda x: np.nanargmax(x, 1),
    "nanargmin": lambda x: np.nanargmin(x, axis=0, keepdims=True),
    "ndim": np.ndim,
    "shape": np.shape,
    "size": lambda x: np.size(x, 1),
    "linalg.matrix_rank": np.linalg.matrix_rank,
    "array2string": np.array2string,
    "array_repr": np.array_repr,
    "array_str": np.array_str,
    "all": lambda x: np.all(x, axis=1, keepdims=True),
    "allclose": lambda x: np.allclose(x, X),
    "any": lambda x: np.any(x, 0),
    "argwhere": np.argwhere,
    "array_equal": lambda x: np.array_equal(x, X),
    "array_equiv": lambda x: np.array_equiv(x, X),
    "can_cast": lambda x: np.can_cast(np.float32, np.result_type(x)),
    "common_type": np.common_type,
    "count_nonzero": lambda x: np.count_nonzero(x, axis=1),
    "diag_indices_from": lambda x: np.diag_indices_from(x[:, :2]),
    "digitize": lambda x: np.digitize(x, [0.0, 1.0, 2.0], right=True),
    "einsum_path": lambda x: np.einsum_path("ij,kj->ik", x, x)[1],
    "flatnonzero": np.flatnonzero,
    "isclose": lambda x: np.isclose(x, 2.0),
    "iscomplexobj": np.iscomplexobj,
    "isfortran": None,
    "isin": lambda x: np.isin(x, [2.0, 3.0]),
    "isrealobj": np.isrealobj,
    "lexsort": lambda x: np.lexsort((x[0], x[1])),
    "min_scalar_type": lambda x: np.min_scalar_type(x),
    "nonzero": np.nonzero,
    "result_type": lambda x: np.result_type(x, np.float32),
    "searchsorted": lambda x: np.searchsorted([0.0, 1.0, 2.0], x, side="right"),
    "tril_indices_from": lambda x: np.tril_indices_from(x, 1),
    "triu_indices_from": lambda x: np.triu_indices_from(x),
    # They write files: test_values_are_saved.
    **dict.fromkeys(("save", "savetxt", "savez", "savez_compressed")),
}


@pytest.mark.parametrize("name", [name for name, call in ANSWERS.items() if call])
def test_answers_are_numpys(name):
    call, got = ANSWERS[name], []
    wy.grad(lambda x: got.append(call(x)) or np.sum(x))(X)
    expected = call(X)
    assert not isinstance(got[0], wy.Variable)
    assert type(got[0]) is type(expected)
    for one, other in zip(
        *([part] if not isinstance(part, tuple) else part for part in (got[0], expected)),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def test_values_are_saved(tmp_path):
    v = wy.Variable(X) * 2.0
    np.save(tmp_path / "a.npy", v)
    np.savez(tmp_path / "b.npz", x=v)
    np.savez_compressed(tmp_path / "c.npz", x=v)
    np.savetxt(tmp_path / "d.txt", v)
    for found in (
        np.load(tmp_path / "a.npy"),
        np.load(tmp_path / "b.npz")["x"],
        np.load(tmp_path / "c.npz")["x"],
        np.loadtxt(tmp_path / "d.txt"),
    ):
        np.testing.assert_array_equal(found, X * 2.0)
    with pytest.raises(TypeError, match="follows an input"):
        np.save(tmp_path / "a.npy", wy.Input(X))


# They make plain arrays of anything without asking, so the variable refuses.
ASKING = {
    "asanyarray": np.asanyarray,
    "asarray": np.asarray,
    "asarray_chkfinite": np.asarray_chkfinite,
    "ascontiguousarray": np.ascontiguousarray,
    "asfortranarray": np.asfortranarray,
    "asmatrix": np.asmatrix,
    "array": np.array,
    "full": lambda x: np.full((2, 3), x),
    "require": lambda x: np.require(x, requirements="C"),
    "kaiser": lambda x: np.kaiser(4, x[0, 0]),
    "fromiter": lambda x: np.fromiter(x[0], float),
    "arange": lambda x: np.arange(x[0, 0], 3.0),
    "frompyfunc": lambda x: np.frompyfunc(lambda a: a, 1, 1)(x),
}


@pytest.mark.parametrize("name", ASKING)
def test_plain_arrays_are_refused(name):
    with pytest.raises(TypeError, match=r"gradient|not among wyrmling's"):
        wy.grad(lambda x: np.sum(ASKING[name](x)), mode="trace")(X)


# What takes no array of numbers: nothing that could be differentiated goes in.
NO_NUMBERS = """
bartlett base_repr binary_repr blackman bmat broadcast_shapes busday_count busday_offset
datetime_as_string datetime_data diag_indices empty eye format_float_positional
format_float_scientific from_dlpack frombuffer fromfile fromfunction fromregex fromstring
genfromtxt get_include get_printoptions getbufsize geterr geterrcall hamming hanning identity
indices info is_busday isdtype issubdtype iterable load loadtxt mask_indices mintypecode
nested_iters ones printoptions promote_types set_printoptions setbufsize seterr seterrcall
show_config show_runtime test tri tril_indices triu_indices typename zeros linalg.test
fft.fftfreq fft.rfftfreq fft.test set_numeric_ops set_string_function add_docstring add_newdoc
add_newdoc_ufunc byte_bounds cast compare_chararrays deprecate deprecate_with_doc disp
fastCopyAndTranspose find_common_type get_array_wrap issctype issubclass_ issubsctype lookfor
maximum_sctype msort obj2sctype product recfromcsv recfromtxt round_ safe_eval sctype2char
sometrue source trapz who alltrue asfarray cumproduct in1d row_stack geterrobj seterrobj
tracemalloc_domain
"""


def public():
    """NumPy's functions by their names, with the module's in front."""
    for prefix, module in (("", np), ("linalg.", np.linalg), ("fft.", np.fft)):
        for name in dir(module):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function = getattr(module, name, None)
            if not name.startswith("_") and callable(function) and not isinstance(function, type):
                yield prefix + name, function


REFUSED = {f"numpy.{name}" for name in dispatch.REFUSED}
REFUSED |= {f"numpy.linalg.{name}" for name in dispatch._OF_LINALG}


def test_no_function_of_numpys_is_forgotten():
    elementwise = {name for entry in _core.elementwise() for name in entry["numpy"]}
    tested = {name.split()[0] for name in [*test_arrays.CASES, *array_cases.ONCE, *MORE]}
    known = tested | elementwise | set(ANSWERS) | set(ASKING) | set(re.findall(r"\S+", NO_NUMBERS))
    known |= {f"linalg.{name}" for name in ("tensordot", "cross")}
    for name, function in public():
        refused = f"numpy.{name}" in REFUSED or (name.startswith("fft.") and name not in tested)
        short = name.removeprefix("linalg.")
        assert refused or name in known or short in known, f"{name} is in no table"
        if not refused and name in known and hasattr(function, "_implementation"):
            ours = {*dispatch.functions()}
            assert function in ours or name in NO_NUMBERS, f"{name} is not called for variables"


@pytest.mark.parametrize("name", [*sorted(REFUSED), "numpy.fft.fft", "numpy.fft.irfft2"])
def test_what_is_refused_says_what_to_do(name):
    module, _, function = name.removeprefix("numpy.").rpartition(".")
    found = getattr(getattr(np, module) if module else np, function, None)
    if found is None:
        pytest.skip(f"this NumPy has no {name}")
    v = wy.Variable(np.eye(2))
    args = [v] * getattr(found, "nin", 1)
    if function in ("ravel_multi_index", "unravel_index"):
        args = [v, (2, 2)]
    if function in ("may_share_memory", "shares_memory"):
        args = [v, v]
    name = name.replace(function, found.__name__)  # one function may have two names
    with pytest.raises(TypeError, match=rf"^{name} is not among wyrmling's functions: \w.{{9}}"):
        found(*args)
