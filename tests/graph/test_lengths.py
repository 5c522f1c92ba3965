"""The length of a batch, asked for while a graph is built, is no constant of it in silence.

Each program is built on so many rows and run on others: the number is plain NumPy's on those, or
the error says what asked for the length. ``FOLLOWING`` are those that follow.
"""

import copy
import itertools
import json
import math
import numbers
import operator
import pickle

import numpy as np
import pytest

import wyrmling as wy

WEIGHTS = np.array([1.0, -2.0, 0.5, 3.0])

# Of a batch of rows of 4.
PROGRAMS = {
    "len": lambda x: (x * WEIGHTS).sum() / len(x),
    "len of a result": lambda x: (x * WEIGHTS).sum() / len(x * 2.0),
    "len of a sum": lambda x: x.sum() / len(x.sum(1)),
    "len of a transpose": lambda x: x.sum() * len(x.T),
    "len of joined": lambda x: x.sum() / len(np.concatenate([x, x])),
    "len of a row": lambda x: x.sum() / len(x[0]),
    "len of two rows": lambda x: x.sum() / len(x[:2]),
    "len before": lambda x: len(x) * (x * WEIGHTS).sum(),
    "shape": lambda x: (x * WEIGHTS).sum() / x.shape[0],
    "shape first": lambda x: x.shape[0] * (x * WEIGHTS).sum(),
    "shape taken apart": lambda x: apart(x),
    "shape and numbers": lambda x: (x * WEIGHTS).sum() * (1.0 / x.shape[0]),
    "shape in a power": lambda x: x.sum() / x.shape[0] ** 2,
    "shape times a variable": lambda x: x.sum() * (x.shape[0] * x[0, 0]),
    "shape minus": lambda x: x.sum() / (x.sum() * 0.0 + x.shape[0] - 0.5),
    "length and length": lambda x: x.sum() / (x.shape[0] * x.shape[1]),
    "size": lambda x: x.sum() / x.size,
    "np.size": lambda x: x.sum() / np.size(x),
    "np.size of an axis": lambda x: x.sum() / np.size(x, 0),
    "np.shape": lambda x: x.sum() / np.shape(x)[0],
    "np.divide": lambda x: np.divide(x.sum(), x.shape[0]),
    "np.multiply": lambda x: np.multiply(x.shape[0], x.sum()),
    "np.maximum": lambda x: np.maximum(x.sum(), x.shape[0]),
    "np.sqrt": lambda x: x.sum() / np.sqrt(x.shape[0]),
    "math.sqrt": lambda x: x.sum() / math.sqrt(x.shape[0]),
    "float": lambda x: x.sum() / float(x.shape[0]),
    "int": lambda x: x.sum() / int(x.shape[0]),
    "index": lambda x: x.sum() / operator.index(x.shape[0]),
    "np.array": lambda x: x.sum() / np.array(x.shape)[0],
    "np.prod": lambda x: x.sum() / np.prod(x.shape),
    "math.prod": lambda x: x.sum() / math.prod(x.shape),
    "divmod": lambda x: x.sum() * divmod(x.shape[0], 2)[1],
    "shift": lambda x: x.sum() * (x.shape[0] << 1),
    "negative": lambda x: x.sum() * -x.shape[0],
    "truth": lambda x: x.sum() if x.shape[0] else 5.0 + x.sum(),
    "compared": lambda x: x.sum() if x.shape[0] == 1 else 5.0 + x.sum(),
    "compared by order": lambda x: x.sum() if x.shape[0] > 2 else 5.0 + x.sum(),
    "compared with a shape": lambda x: x.sum() if x.shape == (3, 4) else 5.0 + x.sum(),
    "compared with another": lambda x: x.sum() if x.shape == (x * 2).shape else 5.0 + x.sum(),
    "found": lambda x: x.sum() if x.shape[0] in (1, 5) else 5.0 + x.sum(),
    "bit length": lambda x: x.sum() * x.shape[0].bit_length(),
    "ones": lambda x: x.sum() + np.ones(x.shape).sum(),
    "zeros": lambda x: x.sum() + np.exp(np.zeros(x.shape[0])).sum(),
    "full": lambda x: x.sum() + np.full(x.shape, 2.0).sum(),
    "eye": lambda x: x.sum() + np.eye(x.shape[0]).sum(),
    "arange": lambda x: x.sum() + np.arange(len(x)).sum(),
    "arange of a shape": lambda x: x.sum() + np.arange(x.shape[0]).sum(),
    "linspace": lambda x: x.sum() + np.linspace(0.0, 1.0, x.shape[0]).sum(),
    "broadcast a constant": lambda x: x.sum() + np.broadcast_to(2.0, x.shape).sum(),
    "broadcast": lambda x: np.broadcast_to(x[:1], x.shape).sum(),
    "zeros of integers": lambda x: x + np.zeros_like(x, dtype=int),
    "full of integers": lambda x: x * np.full_like(x, 2, dtype=int),
    "full of small integers": lambda x: x * np.full_like(x[:, 0], 2, dtype=np.uint8)[:, None],
    "ones of booleans": lambda x: x * np.ones_like(x, dtype=bool),
    "isreal": lambda x: (x * np.isreal(x)).sum(),
    "iscomplex": lambda x: x + np.iscomplex(x),
    "isfinite": lambda x: x * np.isfinite(x),
    "nbytes": lambda x: x.sum() / x.nbytes,
    "vecdot along an axis": lambda x: wy.vecdot(x, x * 2.0, axis=0),
    "ones like": lambda x: x.sum() + np.ones_like(x).sum(),
    "reshape by len": lambda x: x.reshape(len(x), -1),
    "reshape by shape": lambda x: x.reshape(x.shape[0], -1),
    "reshape to a half": lambda x: x.reshape(x.shape[0] * 2, 2),
    "repeat": lambda x: [1.0, 2.0] * x.shape[0] + x.sum() * np.ones(2 * x.shape[0]),
    "slice": lambda x: x[: x.shape[0] // 2 + 1].sum(),
    "row at half": lambda x: x[x.shape[0] // 2],
    "rows": lambda x: sum(np.tanh(row).sum() for row in x),
    "rows unread": lambda x: x.sum() * sum(1 for _ in x),
    "list": lambda x: x.sum() * len(list(x)),
    "tuple of rows": lambda x: np.stack([row.sum() for row in tuple(x)]),
    "zip": lambda x: sum((row * k).sum() for row, k in zip(x, itertools.count(1), strict=False)),
    "enumerate": lambda x: sum((row * k).sum() for k, row in enumerate(x)),
    "reversed": lambda x: np.stack([*reversed(x)]),
    "rows by range": lambda x: sum((x[k] * WEIGHTS).sum() for k in range(x.shape[0])),
    "rows by len": lambda x: np.stack([x[k] @ WEIGHTS for k in range(len(x))]),
    "mean": lambda x: x.mean(0),
    "reshape open": lambda x: x.reshape(-1, 2, 2),
    "columns": lambda x: sum(x[:, k] for k in range(x.shape[1])),
    "columns by len": lambda x: x.sum() * len(WEIGHTS),
    "largest": lambda x: x.sum() * max(x.shape),
    "smallest": lambda x: x.sum() * min(x.shape),
    "found by its hash": lambda x: x.sum() if x.shape[0] in {1, 5} else 5.0 + x.sum(),
    "looked up": lambda x: x.sum() * {1: 2.0, 2: 5.0}.get(x.shape[0], 3.0),
    "states of a GRU": lambda x: wy.nn.gru_states(x, np.ones((4, 3)), np.ones((1, 3)), np.ones(3)),
    "states of an LSTM": lambda x: wy.nn.lstm_states(
        x, np.ones((4, 4)), np.ones((1, 4)), np.ones(4)
    ),
    "running products": lambda x: np.cumprod(x, 0),
    "running products of all": lambda x: np.cumprod(x),
    "moving averages": lambda x: wy.nn.ewma_states(x, WEIGHTS),
    "attention": lambda x: wy.nn.attention(x, x, x, wy.nn.causal(x)),
    "attention of columns": lambda x: wy.nn.attention(x.T, x.T, x.T),
}
FOLLOWING = """shape, shape first, shape taken apart, shape times a variable, shape minus, size,
np.size, np.size of an axis, np.shape, np.divide, np.multiply, np.maximum, ones like, mean,
reshape open, columns, columns by len, compared with another, len of a row, zeros of integers,
full of integers, full of small integers, ones of booleans, isreal, iscomplex, isfinite,
vecdot along an axis, running products, running products of all, moving averages, attention"""


def apart(x):
    n, d = x.shape
    assert d == 4
    return x @ np.ones((d, 2)) / n


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("built", "run"), [(1, 3), (3, 1), (1, 2), (2, 5), (3, 0), (0, 2)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_length_follows_or_is_asked_for(name, built, run, rng):
    f = PROGRAMS[name]
    old, new = rng.normal(size=(built, 4)), rng.normal(size=(run, 4))
    x = wy.Input(old, name="x")
    try:
        f(old)
        expected = f(new)
    except (ValueError, ZeroDivisionError, IndexError):
        return
    y = f(x)
    if not isinstance(y, wy.Variable):
        assert built == 0
        return
    program = wy.freeze(y)
    np.testing.assert_allclose(program.run({x: old}), f(old), rtol=1e-12)

    def assigned():
        x.value = new
        return y.value

    said = []
    for way in (lambda: program.run({x: new}), assigned):
        try:
            found = way()
        except ValueError as error:
            said.append(str(error))
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert not said or name not in FOLLOWING.replace("\n", " ").split(", ")
    assert all("asked for while this was built" in text or "does not fit" in text for text in said)


@pytest.mark.parametrize("name", [name.strip() for name in FOLLOWING.split(",")])
def test_these_functions_follow_the_length_of_an_input(name, rng):
    x = wy.Input(rng.normal(size=(1, 4)))
    program = wy.freeze(PROGRAMS[name](x))
    for n in (2, 5):
        new = rng.normal(size=(n, 4))
        np.testing.assert_allclose(program.run({x: new}), PROGRAMS[name](new), rtol=1e-12)


PRODUCTS = {
    "matmul": lambda x, y: x @ y,
    "dot": lambda x, y: np.dot(x, y),
    "inner": lambda x, y: np.inner(x, y),
    "vdot": lambda x, y: np.vdot(x, y),
    "tensordot": lambda x, y: np.tensordot(x, y, 1),
    "vecdot": lambda x, y: wy.vecdot(x, y),
    "vecdot of rows": lambda x, y: wy.vecdot(x, y.reshape(1, -1)),
    "vecdot of sums": lambda x, y: wy.vecdot(x[:, None].sum(1), y.reshape(1, -1)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_length_of_one_that_is_summed_over_repeats_nothing(name):
    """Built of vectors of one element; NumPy refuses one element against three."""
    f = PRODUCTS[name]
    for one in (lambda x: x[:1], lambda x: wy.Parameter([2.0])):
        x = wy.Input([2.0])
        program = wy.freeze(f(one(x), x))
        assert np.sum(program.run({x: [2.0]})) == 4.0
        with pytest.raises(ValueError, match=r"shape|fit"):
            program.run({x: [1.0, 2.0, 3.0]})
    x, y = wy.Input([2.0]), wy.Input([3.0])
    program = wy.freeze(f(x, y))
    assert np.sum(program.run({x: [1.0, 2.0, 3.0], y: [1.0, 1.0, 2.0]})) == 9.0
    for a, b in (([1.0], [1.0, 2.0]), ([1.0, 2.0], [1.0])):
        with pytest.raises(ValueError, match=r"shape|fit"):
            program.run({x: a, y: b})


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_length_keeps_the_type_of_what_it_meets(dtype):
    x = wy.Input(np.ones((2, 4), dtype))
    for y in (x / x.shape[0], x.shape[0] - x, np.add(x, x.size), x * (x.shape[0] + 1)):
        assert y.dtype == dtype
    i = wy.IndexInput([0, 2])
    for y in (i + i.shape[0], i.size - i):
        assert y.dtype == np.int64
    program = wy.freeze(i - i.shape[0])
    assert program.run({i: [3, 4, 5]}).tolist() == [0, 1, 2]


def test_a_length_is_an_integer_elsewhere():
    x = wy.Input(np.ones((2, 4)))
    n, d = x.shape
    assert (str(n), repr(d), f"{n:3d}", f"{n}", str(x.shape)) == ("2", "4", "  2", "2", "(2, 4)")
    assert hash(n) == hash(2)
    assert {2: "two"}[n] == "two"
    assert all((n == 2, n != d, n < d, n <= 2, n >= 2, not n > 2, n != "2"))
    assert [type(k) for k in (n + 1, 1 + n, n / 4)] == [int, int, float]
    assert (n**3, 3**n, n // 2, n % 2, 7 - n, -n, +n, abs(n)) == (8, 9, 1, 0, 5, -2, 2, 2)
    assert (round(n), math.floor(n), math.ceil(n), math.trunc(n), n & 3, n | 1) == (2,) * 5 + (3,)
    assert np.zeros((n, d), np.float32).shape == (2, 4)
    assert (np.ones(3, np.float32) * n).dtype == np.float32
    assert np.asarray(n).dtype == np.int64
    assert isinstance(n, numbers.Integral)
    assert json.dumps([int(n), *x.value.shape]) == "[2, 2, 4]"
    assert [copy.copy(n), copy.deepcopy(n), pickle.loads(pickle.dumps(n))] == [2, 2, 2]
    with pytest.raises(TypeError):
        n + "text"
    with pytest.raises(AttributeError):
        _ = n.nothing
    # Of what has one length for good it is Python's.
    for other in (wy.Parameter(np.ones((2, 4))), wy.Variable(np.ones((2, 4))), wy.array([[1.0]])):
        assert all(type(length) is int for length in (*other.shape, other.size, np.size(other)))


def test_what_asks_for_nothing():
    """No false alarm: a shape printed, taken apart, compared with another, or of other axes."""
    x, t = wy.Input(np.ones((1, 4)), name="x"), wy.Input(np.ones(1), name="t")
    n, d = x.shape
    _ = f"{x.shape} {n} {x!r}"
    w = wy.Parameter(np.full((d, 2), 0.5))
    assert (x @ w).shape[0] == t.shape[0]
    y = (x @ w).sum(1) - t
    program = wy.freeze(y)
    assert program.run({x: np.ones((3, 4)), t: np.zeros(3)}).tolist() == [4.0] * 3
    wy.fit(y.square().sum(), {x: np.ones((9, 4)), t: np.ones(9)}, optimizer=wy.SGD(lr=0.01))


def test_a_graph_that_was_built_before_is_not_concerned():
    x = wy.Input(np.ones((1, 4)))
    before = (x * 2.0).sum()
    assert len(x) == 1
    assert wy.freeze(before).run({x: np.ones((3, 4))}) == 24.0
    after = (x * 2.0).sum()
    with pytest.raises(ValueError, match=r"len\(\) asked for"):
        wy.freeze(after).run({x: np.ones((3, 4))})


def test_a_graph_built_anew_for_each_batch():
    """The input gets another length and the graph is built again: each holds for its own."""
    x = wy.Input(np.ones((1, 2)), name="x")
    graphs = []
    for n in (1, 3, 2, 3, *range(4, 300)):
        x.value = np.full((n, 2), float(n))
        y = x.sum() / len(x)
        assert y.item() == 2.0 * n
        assert wy.freeze(y).run({x: np.ones((n, 2))}) == 2.0
        graphs.append((n, y))
    for n, y in graphs[-3:]:
        x.value = np.ones((n, 2))
        assert y.item() == 2.0
    for _, y in graphs[:3]:
        with pytest.raises(ValueError, match="asked for"):
            y.item()
    # A part of an old graph has its length in the new one.
    x.value = np.ones((5, 2))
    part = x.sum() / len(x)
    x.value = np.ones((6, 2))
    with pytest.raises(ValueError, match="asked for"):
        wy.freeze(part + x.sum())


def test_lengths_of_two_inputs():
    x, y = wy.Input(np.ones((1, 3)), name="x"), wy.Input(np.ones((2, 3)), name="y")
    scores = x @ y.T
    loss = scores.sum() / len(scores)
    program = wy.freeze(loss)
    assert program.run({x: np.ones((1, 3)), y: np.ones((5, 3))}) == 15.0
    with pytest.raises(ValueError, match=r"input 'x'.*len\(\)"):
        program.run({x: np.ones((2, 3)), y: np.ones((5, 3))})
    columns = scores.sum() / scores.shape[1]
    program = wy.freeze(columns)
    with pytest.raises(ValueError, match="asked for"):
        program.run({x: np.ones((2, 3)), y: np.ones((5, 3))})


# Of an input that is not in the graph: its length alone.
ELSEWHERE = {
    "len": lambda a, y: y / len(a),
    "len of a result": lambda a, y: y / len(a * 2),
    "an integer of the shape": lambda a, y: y / int(a.shape[0]),
    "integers of the shape": lambda a, y: y * np.ones(a.shape).sum(),
    "size": lambda a, y: y / (1.0 * a.size),
    "nbytes": lambda a, y: y / a.nbytes,
    "broadcast": lambda a, y: np.broadcast_to(y, a.shape).sum(),
    "reshaped": lambda a, y: np.reshape(y * np.ones(3), (a.shape[0], -1)).sum(0),
    "rows": lambda a, y: sum(y for _ in a),
    "range": lambda a, y: sum(y * k for k in range(len(a))),
    "list": lambda a, y: y * len(list(a)),
}


@pytest.mark.parametrize("kind", [wy.Input, wy.IndexInput])
@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_length_of_an_input_that_is_not_in_the_graph_is_a_number(name, kind):
    """What has nothing of an input is not refused, whatever the input was asked for."""
    a, b = kind([1, 2, 0], name="a"), wy.Input([1.0, 2.0], name="b")
    w = wy.Parameter(2.0)
    y = ELSEWHERE[name](a, b.sum())
    later = b.sum() * w * w
    now = y.value
    assert wy.freeze(y).inputs == ["b"]
    a.value = [1, 2]
    np.testing.assert_array_equal(y.value, now)
    np.testing.assert_array_equal(wy.freeze(y).run({b: [1.0, 2.0]}), now)
    later.backward()
    assert w.grad == 12.0
    wy.fit(later, {b: np.ones(6)}, optimizer=wy.SGD(lr=1e-300))
    with pytest.raises(ValueError, match="'a' is not one of this graph"):
        wy.freeze(y).run({b: [1.0, 2.0], a: [1, 2]})


def test_a_length_binds_only_nodes_built_after_it_was_read():
    a = wy.Input([1.0, 2.0], name="a")
    before = a.sum() * 2.0
    assert len(a) == len(a.value) == 2
    between = a.sum() * 2.0
    a.value = [1.0]
    after = a.sum() * 2.0
    for unconcerned in (before, after):
        assert unconcerned.item() == 2.0
        assert wy.freeze(unconcerned).run({a: [1.0, 2.0, 3.0]}) == 12.0
    for concerned in (lambda: between.value, lambda: wy.freeze(between)):
        with pytest.raises(ValueError, match=r"input 'a'.*len\(\).*ask len\(x.value\)"):
            concerned()


@pytest.mark.parametrize("threads", [1, 2])
def test_fit_refuses_batches_of_other_lengths_than_an_integer_was_made_of(threads):
    """Built with one row, trained by batches: an error before the first step, or the right loss."""
    rows, target = np.arange(12.0).reshape(6, 2) / 10.0, np.ones(6)

    def losses(make):
        x, t = wy.Input(rows[:1], name="x"), wy.Input(target[:1], name="t")
        w = wy.Parameter(np.ones(2))
        loss = make(x, (x @ w - t).square())
        options = {"optimizer": wy.SGD(lr=1e-300), "batch_size": 3, "threads": threads}
        try:
            return wy.fit(loss, {x: rows, t: target}, **options).loss[0]
        finally:
            assert w.value.tolist() == [1.0, 1.0]

    # The loss of an epoch is the sum over its batches, for each sample.
    expected = losses(lambda x, e: e.mean())
    for make in (lambda x, e: e.sum() / x.shape[0], lambda x, e: e.sum() / e.size):
        assert losses(make) == pytest.approx(expected, rel=1e-12)
    for make in (
        lambda x, e: e.sum() / len(x),
        lambda x, e: e.sum() / len(e),
        lambda x, e: e.sum() * (1.0 / x.shape[0]),
        lambda x, e: sum(e),
    ):
        with pytest.raises(ValueError, match="asked for while this was built"):
            losses(make)


def test_the_package_asks_for_nothing(rng):
    """Functions of ours that read a length keep it themselves, or follow."""
    x = wy.Input(rng.normal(size=(2, 3)))
    y = np.nanmean(x, axis=1) + np.linalg.norm(x, axis=1) + np.ravel(wy.logsumexp(x, 1))
    new = rng.normal(size=(5, 3))
    expected = new.mean(1) + np.linalg.norm(new, axis=1) + np.log(np.exp(new).sum(1))
    np.testing.assert_allclose(wy.freeze(y).run({x: new}), expected, rtol=1e-12)


def in_place(x, y):
    result = x * 1.0
    result += y
    return result


def rows_in_place(x):
    result = x * 1.0
    result[[0, 2]] *= 2.0
    return result


# Functions with the shapes that their programs are built with, and shapes that NumPy refuses. While
# a program is built an argument is checked against the length of then, or nothing is computed that
# depends on the length: so the program itself has to refuse another.
REFUSED = {
    "matrix_power": (lambda x: np.linalg.matrix_power(x, 1), [(3, 3)], [(2, 3)]),
    "partition of nothing": (lambda x: np.partition(x, 4), [(0, 3)], [(5, 3)]),
    "argpartition of nothing": (
        lambda x: x.sum() * np.argpartition(x, 4),
        [(0, 3)],
        [(5, 3)],
    ),
    "take_along_axis": (
        lambda x: np.take_along_axis(x, np.array([[0], [1], [0]]), 1),
        [(1, 4)],
        [(3, 1)],
    ),
    "searchsorted": (
        lambda x: x.sum() * np.searchsorted(x, [0.5], sorter=[2, 0, 1]),
        [(3,)],
        [(4,)],
    ),
    "apply_along_axis": (
        lambda x: np.apply_along_axis(lambda lane: lane[0] * lane, 0, x),
        [(3, 2)],
        [(3, 0)],
    ),
    "polyfit": (lambda y: np.polyfit(np.arange(4.0), y, 1, w=np.ones(4)), [(4,)], [(1,)]),
    "in place": (in_place, [(2, 3), (3,)], [(2, 1), (3,)]),
    "in place of one": (in_place, [(1,), (1,)], [(1,), (4,)]),
    "rows of nothing": (rows_in_place, [(3, 0)], [(2, 2)]),
    "rows that are not there": (rows_in_place, [(3, 0)], [(2, 0)]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_for_other_lengths_is_refused(name, rng):
    f, built, run = REFUSED[name]
    old = [rng.uniform(0.5, 2.0, shape) for shape in built]
    new = [rng.uniform(0.5, 2.0, shape) for shape in run]
    inputs = [wy.Input(array) for array in old]
    program = wy.freeze(f(*inputs))
    if np.size(old[0]):
        np.testing.assert_allclose(program.run(dict(zip(inputs, old, strict=True))), f(*old))
    compiled = wy.compile(f, mode="source")
    try:
        compiled(*old)
    except wy.SourceError:
        compiled = f
    for way in (
        lambda: f(*new),
        lambda: program.run(dict(zip(inputs, new, strict=True))),
        lambda: compiled(*new),
    ):
        # A LinAlgError is a ValueError.
        with pytest.raises((ValueError, IndexError, TypeError)):
            way()


def test_elements_that_come_later_are_not_left_as_they_were():
    """Built of no elements, of which none was assigned."""
    x = wy.Input(np.ones((3, 0)), name="x")
    y = rows_in_place(x)
    program = wy.freeze(y)
    x.value = np.ones((3, 2))
    for way in (lambda: program.run({x: np.ones((3, 2))}), lambda: y.value):
        with pytest.raises(ValueError, match=r"replace|broadcast"):
            way()
    compiled = wy.compile(rows_in_place, mode="source")
    assert compiled(np.ones((3, 0))).shape == (3, 0)
    assert compiled(np.ones((3, 2))).tolist() == [[2.0, 2.0], [1.0, 1.0], [2.0, 2.0]]


def test_an_array_in_place_keeps_its_type(rng):
    """The check of lengths takes integers and booleans too."""
    i, x = wy.IndexInput([2, 0], name="i"), wy.Input(rng.normal(size=3), name="x")
    j, positive = i + 1, x > 0.0
    j += i
    positive |= x < 0.0
    assert (j.dtype, positive.dtype) == (np.int64, np.bool_)
    assert wy.freeze(j).run({i: [3, 4]}).tolist() == [7, 9]
    assert wy.freeze(positive * 1.0).run({x: [1.0, 0.0]}).tolist() == [1.0, 0.0]


def test_the_rank_of_no_columns_follows_no_input():
    x = wy.Input(np.ones((5, 0)), name="x")
    with pytest.raises(TypeError, match="lstsq"):
        np.linalg.lstsq(x, np.ones(5))
