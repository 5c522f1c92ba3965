"""Bad input gets a Python exception that says what is wrong, and changes nothing."""

import numpy as np
import pytest
from conftest import refuses

import wyrmling as wy

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("leaf", [wy.Parameter, wy.Input, wy.Variable])
@pytest.mark.parametrize(
    "value",
    [
        1j,
        "1.0",
        b"1",
        None,
        [1, "a"],
        {},
        object(),
        np.zeros(2, complex),
        np.array(["a"]),
        np.array([None]),
        np.array(["2020-01-01"], "M8[D]"),
        {1.0},
    ],
)
def test_what_is_not_a_number(leaf, value):
    refuses(TypeError, "value: expected numbers", lambda: leaf(value))


def test_ragged_lists_and_wide_types():
    refuses(ValueError, "inhomogeneous", lambda: wy.Input([[1.0], [1.0, 2.0]]))
    refuses(TypeError, "longdouble|float128", lambda: wy.Input(np.zeros(2, np.longdouble)))
    refuses(OverflowError, "too large", lambda: wy.Input(10**400))
    refuses(OverflowError, "too large", lambda: wy.Variable(1.0) * 10**400)
    refuses(TypeError, r"use \.value", lambda: wy.Parameter(wy.Parameter(1.0)))


def test_indices():
    refuses(IndexError, "input 'u': index -1 at position 1", lambda: wy.IndexInput([0, -1], "u"))
    refuses(IndexError, "index 4294967296 ", lambda: wy.IndexInput([2**32]))
    refuses(
        IndexError,
        "index 18446744073709551615 ",
        lambda: wy.IndexInput(np.array([2**64 - 1], np.uint64)),
    )
    for bad in ([0.0], np.zeros(2), [True], "0", None, [1j], [[1], [1, 2]]):
        refuses(
            (TypeError, ValueError)[isinstance(bad, list) and isinstance(bad[0], list)],
            "integer indices|inhomogeneous",
            lambda bad=bad: wy.IndexInput(bad),
        )
    table = wy.Parameter(np.zeros((3, 2)), name="users")
    i = wy.IndexInput([3])
    refuses(IndexError, "parameter 'users': index 3 at position 0.*3 rows", lambda: table[i])
    refuses(IndexError, "index -4 at position 1.*3 rows", lambda: table[[0, -4]])
    refuses(IndexError, "index 3 .*axis 0 of length 3", lambda: table[3])
    refuses(IndexError, "too many indices", lambda: table[0, 0, 0])
    refuses(IndexError, "one '...'", lambda: table[..., ...])
    refuses(IndexError, "out of range", lambda: table[2**70])
    assert table[: 2**70].shape == (3, 2)
    refuses(ValueError, "step cannot be 0", lambda: table[::0])
    refuses(IndexError, "not float", lambda: table[1.5])
    refuses(IndexError, "not str", lambda: table["0"])
    refuses(TypeError, r"x\[rows\]\[:, 0\], not x\[rows, 0\]", lambda: table[i, 0])
    refuses(IndexError, "boolean index did not match", lambda: table[np.array([True, False])])
    refuses(TypeError, "an index is integers, or a mask", lambda: table[wy.Input([0.0])])
    refuses(IndexError, "no rows", lambda: wy.Parameter(1.0)[i])
    refuses(TypeError, "expected floating-point numbers", lambda: wy.linalg.inv(i))
    refuses(TypeError, "integers, which have no gradient", lambda: i.backward())
    refuses(TypeError, "integers, which have no gradient", lambda: np.argmax(table).backward())
    refuses(IndexError, "targets: index -1 .*2 rows", lambda: wy.cross_entropy(table, [0, 1, -1]))
    refuses(
        IndexError,
        "cross_entropy: target 2 at position 2 .* 2 classes",
        lambda: wy.cross_entropy(table, [0, 1, 2]),
    )
    targets = wy.IndexInput([0, 1, 1])
    loss = wy.cross_entropy(table, targets)
    targets.value = [0, 9, 0]
    refuses(IndexError, "cross_entropy: target 9 at position 1", loss.forward)
    i.value = [1]
    refuses(IndexError, "value: index -1", lambda: setattr(i, "value", [-1]))
    assert i.value.tolist() == [1]


def test_shapes_and_types_in_operators():
    a, b = wy.Variable(np.zeros((2, 3))), wy.Variable(np.zeros((4, 5)))
    refuses(ValueError, r"add: shapes \(2, 3\) and \(4, 5\)", lambda: a + b)
    refuses(ValueError, r"matmul: shapes \(2, 3\) and \(4, 5\)", lambda: a @ b)
    refuses(ValueError, r"matmul: shapes \(2, 3\) and \(\)", lambda: a @ 1.0)
    refuses(ValueError, r"vecdot: shapes \(2, 3\) and \(4, 5\)", lambda: wy.vecdot(a, b))
    refuses(ValueError, r"\(2, 3\) and \(4, 5\)", lambda: wy.concatenate([a, b]))
    refuses(ValueError, r"stack: shapes \(2, 3\) and \(4, 5\)", lambda: wy.stack([a, b]))
    refuses(TypeError, "^stack: expected numbers", lambda: wy.stack([a, "x"]))
    refuses(ValueError, "^stack: axis 3 is out of range", lambda: wy.stack([a], axis=3))
    refuses(
        ValueError,
        r"^cross_entropy: targets of shape \(3,\) .* logits of shape \(2, 3\)",
        lambda: wy.cross_entropy(a, [0, 1, 2]),
    )
    refuses(TypeError, "^cross_entropy: targets: expected int", lambda: wy.cross_entropy(a, a))
    refuses(ValueError, r"^cross_entropy: .* shape \(\)", lambda: wy.cross_entropy(1.0, 0))
    refuses(ValueError, "at least one", lambda: wy.stack([]))
    refuses(ValueError, "at least one", lambda: wy.concatenate([]))
    refuses(ValueError, r"\(2, 3\).*\(4, 2\)", lambda: a.reshape(4, 2))
    refuses(ValueError, r"\(2, 3\).*\(-1, -1\)", lambda: a.reshape(-1, -1))
    refuses(ValueError, r"does not fit shape \(5,\)$", lambda: a.reshape(5))
    refuses(TypeError, "^shape: expected integers, got None", lambda: a.reshape(None))
    refuses(TypeError, "^shape: expected integers, got None", lambda: wy.Variable(1.0).reshape())
    refuses(TypeError, "^shape: expected integers, got None", lambda: wy.reshape(a, None))
    refuses(ValueError, "cannot be -2", lambda: a.reshape(-2))
    refuses(ValueError, "too large", lambda: a.reshape(2**40, 2**40))
    refuses(ValueError, "too large", lambda: wy.broadcast_to(wy.Variable(1.0), (2**40, 2**40)))
    refuses(ValueError, r"\(2, 3\)", lambda: wy.broadcast_to(a, (3, 2)))
    refuses(ValueError, "axis 2 is out of range", lambda: a.sum(axis=2))
    refuses(ValueError, "twice", lambda: a.sum(axis=(0, -2)))
    refuses(TypeError, "axis: expected an integer", lambda: a.sum(axis=0.5))
    for f in (wy.sum, wy.squeeze, wy.expand_dims, wy.softmax, wy.log_softmax):
        refuses(TypeError, "got bool", lambda f=f: f(a, axis=True))
    for f in (wy.stack, wy.concatenate):
        refuses(TypeError, "got bool", lambda f=f: f([a, a], axis=False))
    refuses(TypeError, "got bool", lambda: wy.transpose(a, (True, False)))
    refuses(ValueError, "^softmax: axis: expected at most", lambda: wy.softmax(a, axis=2**70))
    for f in (wy.sum, wy.mean, wy.max, wy.logsumexp, wy.squeeze, wy.expand_dims):
        for axis, bound in ((2**63, "most"), ((0, 2**70), "most"), (-(2**70), "least")):
            refuses(ValueError, f"^axis: expected at {bound}", lambda f=f, n=axis: f(a, axis=n))
    refuses(ValueError, "^shape: expected at most", lambda: a.reshape(2**64, 2))
    refuses(ValueError, "^axes: expected at most", lambda: wy.transpose(a, (2**63, 0)))
    refuses(TypeError, "shape: expected an integer", lambda: a.reshape(2.0, 3))
    refuses(ValueError, "permutation", lambda: a.transpose(0, 0))
    refuses(ValueError, "length 1", lambda: a.squeeze(0))
    refuses(ValueError, "max", lambda: wy.max(np.zeros((0, 2))))
    refuses(ValueError, "empty", lambda: wy.softmax(np.zeros((2, 0))))
    refuses(ValueError, "trace", lambda: wy.trace(wy.Variable([1.0])))
    refuses(ValueError, "exactly one element", lambda: a.item())
    for number in (bool, float):
        refuses(
            ValueError,
            r"^(expected exactly one|the truth of an array) .*\(2, 3\)",
            lambda number=number: number(a),
        )
    refuses(TypeError, "unsupported operand", lambda: a + "x")
    refuses(TypeError, "unsupported operand", lambda: None * a)
    refuses(TypeError, "add: expected numbers.*complex128", lambda: a + np.zeros(3, complex))
    refuses(TypeError, "modulus", lambda: pow(a, 2, 3))
    refuses(TypeError, "dot: expected numbers", lambda: a.dot("x"))
    refuses(TypeError, "add: expected numbers", lambda: wy.add(a, "x"))


def test_masked_arrays():
    """They would lose their masks, wherever they come in."""
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    rows = np.ma.array([0, 1], mask=[False, True])
    w, x = wy.Parameter([1.0, 2.0]), wy.Input([0.0], name="x")
    users, items = np.zeros((1, 2), np.float32), np.ma.array(np.zeros((3, 2), np.float32))
    for call in [
        lambda: wy.Parameter(masked),
        lambda: wy.Input(masked),
        lambda: wy.Variable(np.ma.masked),
        lambda: wy.IndexInput(rows),
        lambda: setattr(w, "value", masked),
        lambda: w * masked,
        lambda: w == masked,
        lambda: wy.relu(masked),
        lambda: wy.maximum(w, masked),
        lambda: w[rows],
        lambda: w.backward(masked),
        lambda: wy.freeze(x.sum()).run({x: masked}),
        lambda: wy.sampling.Popularity(masked),
        lambda: wy._core.top_k(users, items, None, None, 1),
        lambda: wy.Ragged(masked, [0, 2]),
        lambda: wy.fit(
            lambda w, x: w[0] * x, {"x": masked}, parameters={"w": w}, optimizer=wy.SGD(lr=0.1)
        ),
    ]:
        refuses(TypeError, "masked array would lose its mask", call)
    assert (w * masked.filled(0.0)).value.tolist() == [1.0, 0.0]


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_matrices():
    """Their products by * mean another thing, so they are refused wherever they come in."""
    matrix = np.matrix([[1.0, 2.0], [3.0, 4.0]])
    w, x = wy.Parameter(np.eye(2)), wy.Input(np.eye(2), name="x")
    square = lambda m: np.sum(m * m)  # noqa: E731
    for call in [
        lambda: wy.Parameter(matrix),
        lambda: wy.Variable(matrix),
        lambda: wy.Input(matrix),
        lambda: setattr(w, "value", matrix),
        lambda: w * matrix,
        lambda: matrix * w,
        lambda: matrix @ w,
        lambda: np.add(matrix, w),
        lambda: np.dot(matrix, w),
        lambda: wy.linalg.solve(w, matrix),
        lambda: wy.relu(matrix),
        lambda: w.sum(0).backward(matrix),
        lambda: wy.freeze(x.sum()).run({x: matrix}),
        lambda: wy.grad(square)(matrix),
        lambda: wy.value_and_grad(square)(matrix),
        lambda: wy.jvp(square, (matrix,), (matrix,)),
        lambda: wy.vjp(square, matrix),
        lambda: wy.hessian(square)(matrix),
        lambda: wy.grad(lambda m: np.sum(m[0]))([matrix]),
        lambda: wy.grad(lambda m: np.sum(m * matrix))(np.eye(2)),
    ]:
        refuses(TypeError, "matrix multiplies by", call)
    for call in [
        lambda: wy.Ragged(matrix, [0, 2]),
        lambda: wy.Ragged.from_list([matrix]),
        lambda: wy.fit(
            lambda w, x: w[0, 0] * x[0, 0],
            {"x": matrix},
            parameters={"w": w},
            optimizer=wy.SGD(lr=0.1),
        ),
    ]:
        refuses(TypeError, "expected an array, got a matrix", call)
    assert wy.grad(square)(matrix.A).tolist() == [[2.0, 4.0], [6.0, 8.0]]


def test_assignment():
    w = wy.Parameter(np.ones((2, 2), np.float32), name="w")
    before = w.value
    refuses(
        ValueError,
        r"parameter 'w': expected shape \(2, 2\), got \(3,\)",
        lambda: setattr(w, "value", [1.0, 2.0, 3.0]),
    )
    refuses(
        TypeError,
        r"value: expected float32, got float64 of shape \(2, 2\); .*\.astype\(np\.float32\), or ",
        lambda: setattr(w, "value", np.zeros((2, 2))),
    )
    for bad in (NAN, INF, -INF):
        refuses(
            FloatingPointError,
            "parameter 'w'.*NaN or infinity",
            lambda bad=bad: setattr(w, "value", [[0.0, 0.0], [0.0, bad]]),
        )
        refuses(FloatingPointError, "NaN or infinity", lambda bad=bad: wy.Parameter([bad]))
    assert w.value.tobytes() == before.tobytes()
    v = wy.Variable([1.0])
    refuses(
        ValueError, r"expected shape \(1,\), got \(2,\)", lambda: setattr(v, "value", [1.0, 2.0])
    )
    refuses(TypeError, "only a leaf", lambda: setattr(v * 2.0, "value", [1.0]))
    refuses(TypeError, "value: expected numbers", lambda: setattr(v, "value", "x"))
    assert v.value.tolist() == [1.0]


def test_backward():
    w = wy.Parameter([1.0, 2.0])
    y = w * 2.0
    refuses(
        ValueError, r"grad: expected shape \(2,\), got \(3,\)", lambda: y.backward([1.0, 1.0, 1.0])
    )
    narrow = wy.Parameter(np.ones(2, np.float32)) * 2.0
    refuses(TypeError, "grad: expected float32, got float64", lambda: narrow.backward(np.ones(2)))
    refuses(TypeError, "nothing below records a gradient", lambda: (wy.Input(1.0) * 2.0).backward())
    assert w.grad is None


def test_more_axes_than_numpy_has_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 64 axes"):
        wy.Parameter(1.0)[(None,) * 70]


def test_a_sparse_gradient_too_large_for_memory_is_refused() -> None:
    grad = wy.SparseGrad([0], [[1.0]], (2**45, 1))
    with pytest.raises((ValueError, MemoryError)):
        grad.to_dense()
