"""A length of 1 that is seen while building means nothing for later: batches of one and of many.

Every function of arrays is built on inputs with so many rows, frozen, and run with another number:
the result is plain NumPy's, or the function said that it needs the length. The list of functions is
that of ``test_arrays.py``, with what else takes rows.
"""

import itertools

import numpy as np
import pytest
from test_arrays import CASES, trapezoid

import wyrmling as wy

ROW = np.array([0.5, -1.0, 2.0, 0.25])
ROWS = np.arange(8.0).reshape(2, 4) / 4.0 - 0.5

# Of a batch of rows of 4, and another.
OF_ROWS = {
    "vecdot": lambda x, y: wy.vecdot(x, y),
    "vecdot of a row": lambda x, y: wy.vecdot(x, ROW),
    "vecdot of a column": lambda x, y: wy.vecdot(x[:, None], ROWS),
    "matmul": lambda x, y: x @ y.T,
    "matmul of batches": lambda x, y: x[:, None] @ y[:, :, None],
    "matvec": lambda x, y: x @ ROW,
    "product": lambda x, y: x * y,
    "product with a row": lambda x, y: x * ROW[None],
    "dot": lambda x, y: np.dot(x, ROWS.T),
    "inner": lambda x, y: np.inner(x, y),
    "outer": lambda x, y: np.outer(x, ROW),
    "tensordot": lambda x, y: np.tensordot(x, ROWS, ([1], [1])),
    "einsum": lambda x, y: np.einsum("bi,bi->b", x, y),
    "einsum outer": lambda x, y: np.einsum("bi,bj->bij", x, y),
    "einsum of a constant": lambda x, y: np.einsum("bi,ci->bc", x, ROWS),
    "where": lambda x, y: np.where(x > y, x, y),
    "squeeze": lambda x, y: np.squeeze(x[:, None], 1),
    "squeeze all": lambda x, y: np.squeeze(x[:, None]),
    "squeeze batch": lambda x, y: np.squeeze(x),
    "stack": lambda x, y: np.stack([x, y], 1),
    "concatenate": lambda x, y: np.concatenate([x, y]),
    "concatenate a row": lambda x, y: np.concatenate([x, ROWS]),
    "hstack": lambda x, y: np.hstack([x, y]),
    "vstack": lambda x, y: np.vstack([x, ROW]),
    "assigned a row": lambda x, y: assigned(x, slice(None), ROW),
    "assigned rows": lambda x, y: assigned(x, slice(None), y),
    "assigned one": lambda x, y: assigned(x, 0, ROW),
    "assigned a row of a batch": lambda x, y: assigned(x, 0, y[0]),
    "assigned a batch of one": lambda x, y: assigned(x, slice(None), y[:1]),
    "assigned to what is fixed": lambda x, y: assigned(ROWS, ([0, 1],), x[:1]),
    "broadcast arrays": lambda x, y: np.broadcast_arrays(x, ROW)[1],
    "average": lambda x, y: np.average(x, 1, weights=ROW),
    "average by rows": lambda x, y: np.average(x, 0, weights=np.abs(y)),
    "sum of all": lambda x, y: np.sum(x),
    "mean of the batch": lambda x, y: np.mean(x, 0),
    "var": lambda x, y: np.var(x, 1),
    "softmax": lambda x, y: np.exp(wy.log_softmax(x)),
    "norm": lambda x, y: np.linalg.norm(x, axis=1),
    "reshape": lambda x, y: np.reshape(x, (-1, 2, 2)),
    "flatten": lambda x, y: np.ravel(x),
    "transpose": lambda x, y: np.transpose(x),
    "tile": lambda x, y: np.tile(x, (1, 2)),
    "repeat": lambda x, y: np.repeat(x, 2, 0),
    "flip": lambda x, y: np.flip(x, 0),
    "last": lambda x, y: x[-1],
    "first two": lambda x, y: x[:2],
    "take": lambda x, y: np.take(x, [0, -1], 0),
    "cumsum": lambda x, y: np.cumsum(x, 0),
    "sort": lambda x, y: np.sort(x, 0),
    "argmax": lambda x, y: np.argmax(x, 1),
    "clip": lambda x, y: np.clip(x, -(ROW**2), y),
    "pad": lambda x, y: np.pad(x, ((0, 0), (1, 1))),
    "meshgrid": lambda x, y: np.meshgrid(x[:, 0], ROW)[0],
    "kron": lambda x, y: np.kron(x, ROWS),
    "cross": lambda x, y: np.cross(x[:, :3], y[:, :3]),
    "diag of products": lambda x, y: np.diagonal(x @ y.T),
    "trace": lambda x, y: np.trace(x @ y.T),
    "atleast": lambda x, y: np.atleast_3d(x),
    "polyval": lambda x, y: np.polyval(ROW, x),
    "linspace": lambda x, y: np.linspace(x, y, 3),
    "hypot": lambda x, y: np.hypot(x, y),
    "solve": lambda x, y: np.linalg.solve(np.eye(4) * 2.0, x.T),
}
# What computes with the length of the batch, and says so.
BY_LENGTH = {"squeeze all", "squeeze batch", "kron"}


def assigned(x, key, value):
    """A copy with other elements."""
    copy = wy.array(x) if isinstance(x, wy.Variable) or isinstance(value, wy.Variable) else x.copy()
    copy[key] = value
    return copy


@pytest.mark.parametrize("of_one", [0, 1, 2])
@pytest.mark.parametrize(("built", "run"), [(1, 3), (3, 1), (1, 2), (2, 5), (3, 0)])
@pytest.mark.parametrize("name", OF_ROWS)
def test_functions_of_rows(name, built, run, of_one, rng):
    """The second operand is a batch as well, or one row that stays so, or the first is."""
    f = OF_ROWS[name]
    lengths = {0: (built, built), 1: (built, 1), 2: (1, built)}[of_one]
    later = {0: (run, run), 1: (run, 1), 2: (1, run)}[of_one]
    old = [rng.normal(size=(n, 4)) for n in lengths]
    new = [rng.normal(size=(n, 4)) for n in later]
    fits = []
    for values in (old, new):
        try:
            fits.append(value_of(f(*(wy.Variable(v) for v in values))))
        except (ValueError, IndexError):
            fits.append(None)
        except ZeroDivisionError:
            return  # the weights of no rows; a program, in which they can change, gives NaN
    if fits[0] is None:
        return
    inputs = [wy.Input(v) for v in old]
    y = f(*inputs)
    np.testing.assert_allclose(y.value, fits[0], rtol=1e-12, atol=1e-12)
    program = wy.freeze(y)
    if fits[1] is None or name in BY_LENGTH:
        # As plain NumPy does, or since it was said; what still runs is right.
        try:
            found = program.run(given(program, inputs, new))
        except (ValueError, IndexError):
            return
    else:
        found = program.run(given(program, inputs, new))
    assert fits[1] is not None, "an error on a graph that is built for these lengths"
    assert found.shape == fits[1].shape
    np.testing.assert_allclose(found, fits[1], rtol=1e-12, atol=1e-12)
    for leaf, value in zip(inputs, new, strict=True):
        leaf.value = value
    np.testing.assert_allclose(y.value, fits[1], rtol=1e-12, atol=1e-12)


def given(program, inputs, values):
    """The values of those inputs that the program has."""
    pairs = zip(inputs, values, strict=True)
    known = {}
    for leaf, value in pairs:
        try:
            program.run({leaf: value})
        except ValueError as error:
            if "is not one of this graph" in str(error):
                continue
        except IndexError:
            pass
        known[leaf] = value
    return known


def value_of(y):
    return y.value if isinstance(y, wy.Variable) else np.asarray(y)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of variances of one element
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # and of cross products in the plane
@pytest.mark.parametrize(
    ("built", "run"), [(b, r) for b in (1, 3) for r in (0, 1, 2, 3, 5) if b != r]
)
@pytest.mark.parametrize("name", CASES)
def test_every_function_of_arrays(name, built, run, rng):
    """The first axis of the first operand is the batch, where the function takes that length."""
    f, shapes = CASES[name]
    (first, *others) = shapes
    if not first:
        return
    values = [rng.uniform(0.5, 1.5, shape) for shape in others]
    old, new = (rng.uniform(0.5, 1.5, (n, *first[1:])) for n in (built, run))
    try:
        before, after = (np.asarray(f(v, *values)) for v in (old, new))
    except (ValueError, IndexError, TypeError):
        return
    x = wy.Input(old)
    try:
        y = f(x, *values)
    except ValueError:  # `var` by means that NumPy would repeat
        assert name == "var mean"
        return
    if not isinstance(y, wy.Variable):
        return
    np.testing.assert_allclose(y.value, before, rtol=1e-10, atol=1e-10)
    program = wy.freeze(y)
    try:
        found = program.run({x: new})
    except (ValueError, IndexError):
        return
    assert found.shape == after.shape
    np.testing.assert_allclose(found, after, rtol=1e-10, atol=1e-10)


def assigned_in(change):
    """A function of a copy that is changed."""

    def changed(x, y):
        copy = wy.array(x) if isinstance(x, wy.Variable) else np.array(x)
        change(copy, y)
        return copy

    return changed


# Of two batches. Of most NumPy refuses lengths that differ, also if one is 1.
VECTORS, ROWS_OF_TWO = [(3,), (3,)], [(3, 2), (3, 2)]
OF_TWO = {name: case for name, case in CASES.items() if len(case[1]) == 2} | {
    "vecdot": (wy.vecdot, VECTORS),
    "vecdot of rows": (wy.vecdot, ROWS_OF_TWO),
    "vecdot of a vector": (wy.vecdot, [(2,), (3, 2)]),
    "vecdot along": (lambda x, y: wy.vecdot(x, y, axis=0), ROWS_OF_TWO),
    "matmul": (lambda x, y: x @ y, [(2, 3), (3, 2)]),
    "vector and matrix": (lambda x, y: x @ y, [(3,), (3, 2)]),
    "matrix and vector": (lambda x, y: x @ y, [(2, 3), (3,)]),
    "dot": (lambda x, y: np.dot(x, y), [(2, 3), (2, 3, 2)]),
    "tensordot 1": (lambda x, y: np.tensordot(x, y, 1), [(2, 3), (3, 2)]),
    "tensordot 0": (lambda x, y: np.tensordot(x, y, ([0], [0])), ROWS_OF_TWO),
    "inner": (lambda x, y: np.inner(x, y), ROWS_OF_TWO),
    "vdot": (lambda x, y: np.vdot(x, y), ROWS_OF_TWO),
    "multi_dot": (lambda x, y: np.linalg.multi_dot([x, y, x]), [(3, 3), (3, 3)]),
    "solve": (lambda x, y: np.linalg.solve(x @ x.T + np.eye(3), y), [(3, 3), (3,)]),
    "lstsq": (lambda x, y: np.linalg.lstsq(x, y, rcond=None)[0], [(4, 2), (4,)]),
    "interp": (lambda x, y: np.interp([0.1, 0.9], np.cumsum(x), y), VECTORS),
    "cov": (lambda x, y: np.cov(x, y), VECTORS),
    "corrcoef": (lambda x, y: np.corrcoef(x, y), VECTORS),
    "average": (lambda x, y: np.average(x, weights=y), ROWS_OF_TWO),
    "average by a vector": (lambda x, y: np.average(x, 0, y), [(3, 2), (3,)]),
    "average of rows": (lambda x, y: np.average(x, 1, y), [(2, 3), (3,)]),
    "trapezoid": (trapezoid, VECTORS),
    "gradient": (lambda x, y: np.gradient(x, np.cumsum(y)), VECTORS),
    "einsum": (lambda x, y: np.einsum("ij,ij->", x, y), ROWS_OF_TWO),
    "einsum of a product": (lambda x, y: np.einsum("ij,jk->ik", x, y), [(2, 3), (3, 2)]),
    "einsum of a diagonal": (lambda x, y: np.einsum("ii,i->i", x, y), [(3, 3), (3,)]),
    "stack": (lambda x, y: np.stack([x, y]), ROWS_OF_TWO),
    "concatenate": (lambda x, y: np.concatenate([x, y]), ROWS_OF_TWO),
    "concatenate columns": (lambda x, y: np.concatenate([x, y], 1), ROWS_OF_TWO),
    "block": (lambda x, y: np.block([[x, y], [y, x]]), ROWS_OF_TWO),
    "append": (lambda x, y: np.append(x, y, 0), ROWS_OF_TWO),
    "column_stack": (lambda x, y: np.column_stack([x, y]), VECTORS),
    "along argsort": (lambda x, y: np.take_along_axis(x, np.argsort(y), 0), VECTORS),
    "by argsort": (lambda x, y: x[np.argsort(y)], VECTORS),
    "at argmax": (lambda x, y: x[np.argmax(y)], VECTORS),
    "where": (lambda x, y: np.where(x > 1.0, x, y), VECTORS),
    "select": (lambda x, y: np.select([x > 1.0, y > 1.0], [x, y], 0.0), VECTORS),
    "piecewise": (lambda x, y: np.piecewise(x, [y > 1.0], [np.exp, np.sin]), VECTORS),
    "insert": (lambda x, y: np.insert(x, 1, y), VECTORS),
    "sum where": (lambda x, y: np.sum(x, where=y > 1.0), [(3, 2), (2,)]),
    "logsumexp": (lambda x, y: wy.logsumexp(x, b=y), VECTORS),
    "isclose": (lambda x, y: np.isclose(x, y), VECTORS),
    "assigned": (assigned_in(lambda x, y: x.__setitem__(slice(None), y)), VECTORS),
    "assigned a part": (assigned_in(lambda x, y: x.__setitem__(slice(1, None), y[1:])), VECTORS),
    "copyto": (assigned_in(lambda x, y: np.copyto(x, y)), VECTORS),
    "add.at": (assigned_in(lambda x, y: np.add.at(x, [0], y[:1])), VECTORS),
    "zipped": (lambda x, y: sum(a * b for a, b in zip(x, y, strict=True)), VECTORS),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", OF_TWO)
def test_every_function_of_two_batches(name, turned, rng):
    """The first axis of each is a batch of its own length, or, turned, the last axis is."""
    f, shapes = OF_TWO[name]
    if not all(shapes):
        return
    if turned:
        shapes, g = [shape[::-1] for shape in shapes], f
        f = lambda *arrays: g(*(x.T for x in arrays))  # noqa: E731 (it is the function turned)

    def draw(lengths):
        pairs = zip(lengths, shapes, strict=True)
        return [rng.uniform(0.5, 1.5, (n, *shape[1:])) for n, shape in pairs]

    for built in itertools.product(*({1, shape[0]} for shape in shapes)):
        old = draw(built)
        inputs = [wy.Input(value) for value in old]
        try:
            f(*old)
            y = f(*inputs)
        except (ValueError, IndexError, TypeError):
            continue  # or what does not fit at all, or a length that is part of the result
        program = wy.freeze(y) if isinstance(y, wy.Variable) else None
        if program is None or len(program.inputs) < 2:
            continue
        for run in itertools.product(sorted({1, 2, 3, built[0]}), repeat=2):
            new = draw(run)
            try:
                found = program.run(dict(zip(inputs, new, strict=True)))
            except (ValueError, IndexError):
                continue
            expected = np.asarray(f(*new))
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("built", [1, 3])
def test_the_example_of_a_batch_of_one(built):
    x, c = wy.Input(np.ones((1, 4))), wy.Parameter(np.arange(20.0).reshape(5, 4))
    i = wy.IndexInput(np.zeros(built, int))
    y = wy.vecdot(x, c[i])
    program = wy.freeze(y)
    for rows in ([0, 1, 2], [4], [2, 2, 3, 1]):
        expected = c.value[rows].sum(1)
        np.testing.assert_array_equal(program.run({x: np.ones((1, 4)), i: rows}), expected)
        value, gradients = program.value_and_grad({x: np.ones((1, 4)), i: rows})
        np.testing.assert_array_equal(value, expected)
        expected = np.zeros((5, 4))
        np.add.at(expected, rows, 1.0)
        found = gradients[c]
        found = found if isinstance(found, np.ndarray) else found.to_dense()
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("built", [1, 3])
def test_training_with_another_length_than_built(built, rng):
    """Batches of two, and a last one of one."""
    x, i = wy.Input(np.ones((built, 4))), wy.IndexInput(np.zeros(built, int))
    y = wy.Input(np.ones(built))
    c = wy.Parameter(np.zeros((5, 4)))
    loss = (wy.vecdot(x, c[i]) - y).square().sum()
    rows, at = rng.normal(size=(41, 4)), rng.integers(0, 5, 41)
    truth = rng.normal(size=(5, 4))
    target = (rows * truth[at]).sum(1)
    data = {x: rows, i: at, y: target}
    history = wy.fit(loss, data, optimizer=wy.SGD(lr=0.1), epochs=60, batch_size=2)
    assert history.loss[-1] < 1e-2 * history.loss[0]
