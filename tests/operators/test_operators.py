"""Every operator: its value against NumPy, its gradient against finite differences.

Eager and frozen, in float64 and float32, with broadcasting, 0-d, empty and non-contiguous
operands.
"""

import itertools
import runpy
from pathlib import Path

import numpy as np
import pytest
import scipy.special
from conftest import numeric_gradient

import wyrmling as wy


def np_linear_recurrence(x, factors, axis=0):
    y = np.array(np.moveaxis(x, axis, 0))
    factors = np.moveaxis(np.broadcast_to(factors, x.shape), axis, 0)
    for t in range(1, len(y)):
        y[t] += factors[t] * y[t - 1]
    return np.moveaxis(y, 0, axis)


def np_softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def np_logsumexp(x, axis=None):
    return np.log(np.sum(np.exp(x), axis=axis))


TARGETS = np.array([2, 0, 1])
INDEX = np.array([[1, 0], [2, 1]])
ROWS = wy.IndexInput([1, 1], name="rows")
MASK = np.array([[True, False, True], [False, True, False]])

# Name: our function, NumPy's, and shapes of operands, which are drawn from (0.3, 2).
CASES = {
    "add": (lambda x, y: x + y, lambda x, y: x + y, [(2, 3), (3,)]),
    "add number": (lambda x: 1.5 + x, lambda x: 1.5 + x, [()]),
    "sub": (lambda x, y: x - y, lambda x, y: x - y, [(2, 1), (1, 3)]),
    "rsub": (lambda x: 2 - x, lambda x: 2 - x, [(2,)]),
    "mul": (lambda x, y: x * y, lambda x, y: x * y, [(), (4,)]),
    "div": (lambda x, y: x / y, lambda x, y: x / y, [(2, 3, 2), (3, 1)]),
    "rdiv": (lambda x: 2.0 / x, lambda x: 2.0 / x, [(3,)]),
    "pow": (lambda x, y: x**y, lambda x, y: x**y, [(2, 3), (3,)]),
    "pow 2": (lambda x: x**2, lambda x: x**2, [(3,)]),
    "pow 0.5": (lambda x: x**0.5, lambda x: x**0.5, [(3,)]),
    "pow -1.5": (lambda x: x**-1.5, lambda x: x**-1.5, [(3,)]),
    "rpow": (lambda x: 2.0**x, lambda x: 2.0**x, [(3,)]),
    "neg": (lambda x: -x, lambda x: -x, [(0, 3)]),
    "pos": (lambda x: +x * 1, lambda x: +x, [(3,)]),
    "abs": (lambda x: abs(x - 5.0), lambda x: abs(x - 5.0), [(3,)]),
    "exp": (wy.exp, np.exp, [(2, 3)]),
    "log": (wy.log, np.log, [(2, 3)]),
    "log1p": (wy.log1p, np.log1p, [(2, 3)]),
    "expm1": (wy.expm1, np.expm1, [(2, 3)]),
    "sqrt": (wy.sqrt, np.sqrt, [(2, 3)]),
    "square": (wy.square, np.square, [()]),
    "sin": (wy.sin, np.sin, [(5,)]),
    "cos": (wy.cos, np.cos, [(5,)]),
    "tan": (lambda x: wy.tan(x / 2), lambda x: np.tan(x / 2), [(5,)]),
    "tanh": (wy.tanh, np.tanh, [(5,)]),
    "sigmoid": (wy.sigmoid, lambda x: 1 / (1 + np.exp(-x)), [(5,)]),
    "logsigmoid": (wy.logsigmoid, lambda x: -np.log1p(np.exp(-x)), [(5,)]),
    "softplus": (wy.softplus, lambda x: np.log1p(np.exp(x)), [(5,)]),
    "relu": (lambda x: wy.relu(x - 1.1), lambda x: np.maximum(x - 1.1, 0), [(6,)]),
    "maximum": (wy.maximum, np.maximum, [(2, 3), (3,)]),
    "minimum": (wy.minimum, np.minimum, [(2, 3), ()]),
    "where": (
        lambda x, y: wy.where(MASK, x, y),
        lambda x, y: np.where(MASK, x, y),
        [(3,), (2, 1)],
    ),
    "where mask": (
        lambda x, y: wy.where(x > y, x * y, y),
        lambda x, y: np.where(x > y, x * y, y),
        [(2, 3), (2, 3)],
    ),
    "sum": (wy.sum, np.sum, [(2, 3)]),
    "sum of nothing": (wy.sum, np.sum, [(0, 3)]),
    "sum axis": (lambda x: x.sum(axis=-1), lambda x: x.sum(axis=-1), [(2, 3)]),
    "sum axes": (
        lambda x: x.sum((0, 2), keepdims=True),
        lambda x: x.sum((0, 2), keepdims=True),
        [(2, 3, 2)],
    ),
    "mean": (lambda x: x.mean(0), lambda x: x.mean(0), [(2, 3)]),
    "max": (lambda x: x.max(axis=1), lambda x: x.max(axis=1), [(2, 3)]),
    "min": (wy.min, np.min, [(2, 3)]),
    "matmul": (lambda x, y: x @ y, lambda x, y: x @ y, [(2, 3), (3, 4)]),
    "matmul vector": (lambda x, y: x @ y, lambda x, y: x @ y, [(2, 3), (3,)]),
    "matmul row": (lambda x, y: x @ y, lambda x, y: x @ y, [(3,), (3, 2)]),
    "matmul vectors": (lambda x, y: x @ y, lambda x, y: x @ y, [(3,), (3,)]),
    "matmul stacks": (lambda x, y: x @ y, lambda x, y: x @ y, [(2, 1, 2, 3), (3, 3, 2)]),
    "matmul row stack": (lambda x, y: x @ y, lambda x, y: x @ y, [(3,), (2, 3, 2)]),
    "dot": (wy.dot, np.dot, [(2, 3), (3, 2)]),
    "dot numbers": (wy.dot, np.dot, [(), (3,)]),
    "dot vectors": (wy.dot, np.dot, [(3,), (3,)]),
    "dot stacks": (wy.dot, np.dot, [(2, 3), (4, 3, 2)]),
    "dot vector stack": (wy.dot, np.dot, [(3,), (4, 3, 2)]),
    "vecdot": (wy.vecdot, lambda x, y: (x * y).sum(-1), [(2, 3), (2, 3)]),
    "vecdot broadcast": (wy.vecdot, lambda x, y: (x * y).sum(-1), [(4, 1, 3), (2, 3)]),
    "outer": (wy.outer, np.outer, [(2,), (3,)]),
    "outer of matrices": (wy.outer, np.outer, [(2, 2), (3, 1)]),
    "trace": (wy.trace, np.trace, [(3, 4)]),
    "T": (lambda x: x.T * 1.0, lambda x: x.T, [(2, 3, 4)]),
    "transpose": (
        lambda x: wy.transpose(x, (1, 2, 0)),
        lambda x: np.transpose(x, (1, 2, 0)),
        [(2, 3, 4)],
    ),
    "tril": (wy.tril, np.tril, [(2, 3, 4)]),
    "triu": (lambda x: wy.triu(x, 1), lambda x: np.triu(x, 1), [(3, 2)]),
    "diagonal": (wy.diagonal, np.diagonal, [(3, 4)]),
    "diagonal axes": (
        lambda x: wy.diagonal(x, -1, 2, 0),
        lambda x: np.diagonal(x, -1, 2, 0),
        [(3, 2, 4)],
    ),
    "diag": (lambda x: wy.diag(x, -1), lambda x: np.diag(x, -1), [(3, 4)]),
    "diag of a vector": (lambda x: wy.diag(x, 2), lambda x: np.diag(x, 2), [(3,)]),
    "reshape": (lambda x: x.reshape(3, -1), lambda x: x.reshape(3, -1), [(2, 3)]),
    "broadcast_to": (
        lambda x: wy.broadcast_to(x, (4, 2, 3)),
        lambda x: np.broadcast_to(x, (4, 2, 3)),
        [(2, 1)],
    ),
    "concatenate": (
        lambda x, y: wy.concatenate([x, y, x], axis=1),
        lambda x, y: np.concatenate([x, y, x], axis=1),
        [(2, 1), (2, 3)],
    ),
    "stack": (
        lambda x, y: wy.stack([x, y], axis=-1),
        lambda x, y: np.stack([x, y], axis=-1),
        [(2, 3), (2, 3)],
    ),
    "squeeze": (wy.squeeze, np.squeeze, [(1, 3, 1)]),
    "squeeze axis": (lambda x: x.squeeze(-1), lambda x: x.squeeze(-1), [(1, 3, 1)]),
    "expand_dims": (
        lambda x: wy.expand_dims(x, (0, -1)),
        lambda x: np.expand_dims(x, (0, -1)),
        [(3,)],
    ),
    "softmax": (wy.softmax, np_softmax, [(2, 3)]),
    "softmax axis": (lambda x: wy.softmax(x, 0), lambda x: np_softmax(x, 0), [(2, 3)]),
    "log_softmax": (wy.log_softmax, lambda x: np.log(np_softmax(x)), [(2, 3)]),
    "logsumexp": (wy.logsumexp, np_logsumexp, [(2, 3)]),
    "logsumexp axes": (
        lambda x: wy.logsumexp(x, axis=(0, -1)),
        lambda x: np_logsumexp(x, axis=(0, -1)),
        [(2, 3, 2)],
    ),
    "linear_recurrence": (wy.linear_recurrence, np_linear_recurrence, [(4, 3), (4, 3)]),
    "linear_recurrence of one step": (wy.linear_recurrence, np_linear_recurrence, [(1, 2), (2,)]),
    "linear_recurrence of shared factors": (
        lambda x, y: wy.linear_recurrence(x, y, axis=-1),
        lambda x, y: np_linear_recurrence(x, y, -1),
        [(2, 3, 5), (3, 1)],
    ),
    "cross_entropy": (
        lambda x: wy.cross_entropy(x, TARGETS),
        lambda x: -np.log(np_softmax(x))[np.arange(3), TARGETS],
        [(3, 4)],
    ),
    "gather": (lambda x: wy.gather(x, INDEX), lambda x: x[INDEX], [(3, 2)]),
    "bag": (
        lambda x: wy.bag(x, [2, 0, 2], [0, 1, 1, 3]),
        lambda x: np.stack([x[2], 0 * x[0], x[0] + x[2]]),
        [(3, 2)],
    ),
    "[list]": (lambda x: x[[2, -1, 2]], lambda x: x[[2, -1, 2]], [(3, 2)]),
    "[IndexInput]": (lambda x: x[ROWS], lambda x: x[[1, 1]], [(3,)]),
    "[int]": (lambda x: x[-1], lambda x: x[-1], [(3, 2)]),
    "[slice]": (lambda x: x[::-2, 1:], lambda x: x[::-2, 1:], [(5, 3)]),
    "[...]": (lambda x: x[..., None, 0], lambda x: x[..., None, 0], [(2, 3)]),
    "[empty]": (lambda x: x[5:], lambda x: x[5:], [(3, 2)]),
}


def inputs(name):
    """What a frozen case is bound to."""
    return {ROWS: [1, 1]} if name == "[IndexInput]" else {}


def draw(rng, shapes, dtype):
    """Numbers that differ clearly, away from kinks, in arrays that are not contiguous."""
    arrays = []
    for k, shape in enumerate(shapes):
        count = 2 * int(np.prod(shape))
        values = rng.permutation(np.linspace(0.3, 2.0 - 0.01 * k, count)).astype(dtype)
        arrays.append(values[::2].reshape(shape[::-1]).T)
    return arrays


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", CASES)
def test_value_and_gradient(name, dtype, rng):
    ours, theirs, shapes = CASES[name]
    args = draw(rng, shapes, dtype)
    leaves = [wy.Variable(a) for a in args]
    y = ours(*leaves)
    tolerance = 1e-12 if dtype is np.float64 else 3e-5
    expected = theirs(*[a.astype(np.float64) for a in args])
    assert y.dtype == dtype
    assert y.shape == np.shape(expected)
    np.testing.assert_allclose(y.value, expected, rtol=tolerance, atol=tolerance)

    # A weighted sum, so that every element of the result counts for itself.
    weights = rng.uniform(0.5, 1.5, size=y.shape).astype(dtype)
    loss = (y * weights).sum()
    loss.backward()
    value, frozen = wy.freeze(loss).value_and_grad(inputs(name))
    np.testing.assert_allclose(value, loss.item(), rtol=tolerance)
    for k, leaf in enumerate(leaves):
        grad = leaf.grad if isinstance(leaf.grad, np.ndarray) else leaf.grad.to_dense()
        assert grad.dtype == dtype
        numeric = numeric_gradient(lambda *a: theirs(*a) * weights, args, k)
        near = 1e-6 if dtype is np.float64 else 3e-4
        np.testing.assert_allclose(grad, numeric, rtol=near, atol=near)
        again = frozen[leaf] if isinstance(frozen[leaf], np.ndarray) else frozen[leaf].to_dense()
        np.testing.assert_allclose(again, grad, rtol=tolerance, atol=tolerance)


operators = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "operators.py"))
TABLE = [name for name, *_ in wy._core.operators()]


@pytest.mark.parametrize("name", [*TABLE, "dot", "outer", "stack"])
def test_all_ways_to_write_an_operator_agree(name, rng):
    x, y = rng.uniform(0.3, 2.0, (2, 2, 2))
    narrow, rows = np.ones((2, 2), np.float32), np.array([1, 0])
    ours = {"wy": wy, "np": np, "x": wy.Input(x), "y": wy.Input(y), "rows": rows}
    ours["scipy"] = scipy
    theirs = {"np": np, "scipy": scipy, "x": x, "y": y}
    ways = [way for way in operators["ways"](name) if way]
    values = [eval(way, ours | {"single": wy.Variable(narrow)}) for way in ways]
    assert all(isinstance(value, wy.Variable) for value in values)
    # NumPy's comes last, if there is one.
    if ways and ways[-1].startswith(("np.", "scipy.")):
        with np.errstate(invalid="ignore"):
            expected = eval(ways[-1], theirs)
        # SciPy's kl_div has the rounding of its three terms, which cancel next to x = y.
        rounding = 1e-15 if name == "kl_div" else 0.0
        np.testing.assert_allclose(values[-1].value, expected, rtol=2e-13, atol=rounding)
    # The factors that np.linalg gives are NumPy's own (test_spectral.py).
    digits = 1e-12 if name in ("qr", "svd", "eigh") else 0.0
    for value in values[1:]:
        np.testing.assert_allclose(value.value, values[0].value, rtol=digits, atol=0.0)


def test_methods_take_shapes_and_axes_one_by_one():
    x = wy.Variable(np.ones((3, 3)))
    assert x.reshape((9,)).shape == x.reshape(9).shape == (9,)
    assert x.transpose(1, 0).shape == x.transpose((1, 0)).shape == (3, 3)


def test_functions_take_plain_arrays():
    one = wy.Variable([1.0, 1.0])
    assert wy.hypot([0.0, 0.0], one).value.tolist() == [1.0, 1.0]
    assert wy.maximum(np.float32(2.0), wy.Variable(np.float32(1.0))).dtype == np.float32
    assert wy.stack([1.0, wy.Variable(2.0)]).value.tolist() == [1.0, 2.0]


def test_types_follow_numpy():
    narrow, wide = wy.Variable(np.ones(2, np.float32)), wy.Variable(np.ones(2))
    single, double = np.float32, np.float64
    for result, dtype in [
        (narrow * 2, single),
        (narrow * 2.5, single),
        (2.5 - narrow, single),
        (narrow * True, single),
        (narrow * np.array([True, False]), single),
        (narrow**2, single),
        (narrow**2.5, single),
        (narrow * np.float64(2.0), double),
        (narrow * np.float32(2.0), single),
        (narrow * np.arange(2), double),
        (narrow * np.ones(2, np.float32), single),
        (narrow * wide, double),
        (wide * narrow, double),
        (narrow @ wide, double),
        (wy.concatenate([narrow, wide]), double),
        (wy.where(np.array([True, False]), narrow, 0.0), single),
        (wy.where(wide, narrow, 0.0), single),
        (wy.where(narrow > 0, narrow, wide), double),
        (wy.maximum(narrow, 0.0), single),
    ]:
        assert result.dtype == dtype
    (narrow * wide).backward()
    assert narrow.grad.dtype == single
    assert wide.grad.dtype == double


def test_a_root_is_what_numpys_power_operator_gives():
    """``**`` is the square root there, also where ``pow`` of C gives something else."""
    a = np.array([-np.inf, -0.0, 0.0, 4.0, np.inf, -1.0, np.nan])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal((wy.Variable(a) ** 0.5).value, a**0.5)
    assert np.signbit((wy.Variable(a) ** 0.5).value[1])


def test_a_tiny_condition_counts_as_true():
    x, y = wy.Variable(np.float32(1.0)), wy.Variable(np.float32(2.0))
    assert wy.where(np.float64(1e-200), x, y).item() == 1.0
    assert wy.where(wy.Input(np.nan), x, y).item() == 1.0
    assert wy.where(0.0, x, y).item() == 2.0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_stable_far_from_zero(dtype):
    big = np.array([-1000.0, 0.0, 1000.0], dtype)
    x = wy.Variable(big)
    with np.errstate(all="raise"):
        for f, value, gradient in [
            (wy.logsigmoid, [-1000.0, -np.log(2.0), 0.0], [1.0, 0.5, 0.0]),
            (wy.softplus, [0.0, np.log(2.0), 1000.0], [0.0, 0.5, 1.0]),
            (wy.sigmoid, [0.0, 0.5, 1.0], [0.0, 0.25, 0.0]),
            (wy.logsumexp, 1000.0, [0.0, 0.0, 1.0]),
            (wy.softmax, [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]),
            (wy.log_softmax, [-2000.0, -1000.0, 0.0], [1.0, 1.0, -2.0]),
        ]:
            x.zero_grad()
            y = f(x)
            y.backward()
            np.testing.assert_allclose(y.value, value, rtol=1e-6, atol=1e-30)
            np.testing.assert_allclose(x.grad, gradient, atol=1e-6)
    assert wy.logsumexp(-big[2:] * np.inf).item() == -np.inf


@pytest.mark.parametrize("name", TABLE)
def test_every_operator_can_be_written(name):
    """Save those that only gradients are made of, whose entries say so, each with its reason."""
    if name in operators["INTERNAL"]:
        assert not any(operators["ways"](name))
    else:
        assert any(operators["ways"](name)), (
            f"nobody can write {name}: give it a function in src/python/operations/functions.rs, "
            "or its entry in src/rules a reason why not, as internal"
        )


def test_what_is_said_of_operators_is_of_the_table():
    for known in ("SYMBOLS", "OPERANDS"):
        assert set(operators[known]) <= {*TABLE, "stack", "cross_entropy", "clip"}
    assert all(formula and source for _, formula, source, _ in wy._core.operators())


@pytest.mark.skipif(not hasattr(np, "vecdot"), reason="the page has the names of NumPy 2")
def test_the_page_of_operators_is_current():
    page = operators["PAGE"].read_text("utf-8")
    assert page == operators["page"](page), "run python scripts/operators.py"


def test_a_function_that_is_gone_would_be_missed():
    assert operators["applied"]("wy.exp(x)") == {"exp"}
    assert operators["applied"]("wy.no_such_function(x)") == set()
    assert operators["applied"]("np.modf(x)") == set()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_infinite_logits_are_those_of_scipy(name, dtype):
    """Softmax is NaN where an infinite one is the largest; SciPy is the oracle at every lane."""
    special = [0.0, 1.0, np.inf, -np.inf, np.nan, 1e30, -1e30]
    ours, scipys = getattr(wy, name), getattr(scipy.special, name)
    for length in (1, 2, 3):
        lanes = np.array(list(itertools.product(special, repeat=length)), dtype)
        with np.errstate(all="ignore"):
            expected = scipys(lanes, axis=1)
            across = scipys(lanes.T, axis=0)
        np.testing.assert_allclose(ours(wy.Variable(lanes), 1).value, expected, rtol=1e-6)
        np.testing.assert_allclose(ours(wy.Variable(lanes.T), 0).value, across, rtol=1e-6)
    # More than are added side by side.
    many = np.linspace(-3.0, 3.0, 40).astype(dtype)
    many[7] = np.inf
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(ours(wy.Variable(many), 0).value, scipys(many), rtol=1e-6)


def test_logits_of_minus_infinity_have_no_part_in_gradients():
    """As if they were left out; and what is NaN has no other gradient."""
    x, rest = np.array([1.0, -np.inf, 2.0]), np.array([1.0, 2.0])
    for f in (wy.softmax, wy.log_softmax):
        for transform in (wy.jacrev, wy.jacfwd):
            found = transform(f)(x)
            np.testing.assert_allclose(found[::2, ::2], transform(f)(rest), rtol=1e-12)
            np.testing.assert_array_equal(found[::2, 1], 0.0)
    np.testing.assert_allclose(
        wy.grad(wy.logsumexp)(x), [*wy.grad(wy.logsumexp)(rest)[:1], 0.0, 1 / (1 + np.exp(-1.0))]
    )
    np.testing.assert_array_equal(wy.grad(wy.logsumexp)(np.array([1.0, np.inf])), [0.0, 1.0])
    assert np.isnan(wy.jacrev(wy.softmax)(np.array([1.0, np.inf]))).all()
