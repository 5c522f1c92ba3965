"""Random small models, built for one batch and run for others: plain NumPy's numbers, or an error.

A model is a list of steps. Each is a function of NumPy's, or an operator, on values that came
before: inputs, indices, tables of integers, parameters, and what was made of them; it is kept if
NumPy takes it for the batch that is built. The same steps are taken with plain arrays for other
batches, of other lengths and numbers. A program, the graph after an assignment, and the gradients
of both must agree with steps taken anew, or raise. So does an epoch of ``fit`` with steps by hand.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

import wyrmling as wy

ITEMS, WIDTH = 4, 3
FEATURES = np.array([2, 0, 3, 1])
HISTORY = np.array([[0, 1], [3, 3], [2, 0], [1, 2]])
KNOTS, HEIGHTS = np.array([-1.0, 0.0, 2.0]), np.array([0.5, -1.0, 3.0])
MASK = np.array([True, False, True])


def copied(a):
    return wy.array(a) if isinstance(a, wy.Variable) else np.array(a)


def changed(change):
    """A step that changes a copy of its first operand."""
    return lambda a, *others: change(copied(a), *others)


def stored(key, number=None):
    def change(copy, *others):
        copy[key] = others[0] if number is None else number
        return copy

    return changed(change)


def added(copy, other):
    copy += other
    return copy


def scaled_rows(copy):
    for row in copy:
        row *= 2.0
    return copy


def steps(rng):
    """A step with arguments drawn anew: name, function, number of operands."""
    axis = [None, 0, -1][rng.integers(3)]
    one = int(rng.integers(-1, 2))
    keep = bool(rng.integers(2))
    number = [0, 1, 2, -1, 0.5, 1.5, True][rng.integers(7)]
    length = [(-1,), (-1, 1), (1, -1), (-1, 3), (3, -1), (2, -1)][rng.integers(6)]
    key = [0, -1, slice(1, None), slice(None, None, -1), slice(None, 2), (Ellipsis, 0), None][
        rng.integers(7)
    ]
    unary = {
        "negative": lambda a: -a,
        "abs": abs,
        "exp": lambda a: np.exp(-abs(a)),
        "sqrt": lambda a: np.sqrt(abs(a)),
        "sign": np.sign,
        "floor": np.floor,
        "rint": np.rint,
        "tanh": np.tanh,
        "square": np.square,
        "power": lambda a: a**2,
        "power of": lambda a: 2.0**a,
        # Nothing is infinite, for BLAS gives 0 for some products of 0 and infinity.
        "reciprocal": lambda a: 1.0 / (a * a + 0.5),
        "not": lambda a: ~a,
        "positive": lambda a: a > 0,
        "equal": lambda a: a == 1,
        "int": lambda a: a.astype(int),
        "float": lambda a: a.astype(float),
        "bool": lambda a: a.astype(bool),
        "plus a number": lambda a: a + number,
        "a number minus": lambda a: number - a,
        "times a number": lambda a: a * number,
        "floor_divide": lambda a: a // 2,
        "remainder": lambda a: a % 3,
        "compare": lambda a: a <= number,
        "sum": lambda a: np.sum(a, axis, keepdims=keep),
        "mean": lambda a: np.mean(a, axis, keepdims=keep),
        "max": lambda a: np.max(a, axis, keepdims=keep),
        "min": lambda a: a.min(one),
        "prod": lambda a: np.prod(a, axis),
        "any": lambda a: np.any(a, axis),
        "all": lambda a: np.all(a, axis, keepdims=keep),
        "count_nonzero": lambda a: np.count_nonzero(a, axis),
        "var": lambda a: np.var(a, axis),
        "ptp": lambda a: np.ptp(a, one),
        "median": lambda a: np.median(a, axis),
        "cumsum": lambda a: np.cumsum(a, axis),
        "cumprod": lambda a: np.cumprod(a, one),
        "sort": lambda a: np.sort(a, one),
        "argsort": lambda a: np.argsort(a, one, kind="stable"),
        "argmax": lambda a: np.argmax(a, axis),
        "argmin": lambda a: np.argmin(a, one, keepdims=True),
        "diff": lambda a: np.diff(a, axis=one),
        "flip": lambda a: np.flip(a, axis),
        "roll": lambda a: np.roll(a, 1, axis),
        "repeat": lambda a: np.repeat(a, 2, axis),
        "tile": lambda a: np.tile(a, 2),
        "T": lambda a: a.T,
        "ravel": np.ravel,
        "reshape": lambda a: np.reshape(a, length),
        "reshape by a length": lambda a: np.reshape(a, (a.shape[0], -1)),
        "reshape by a shape": lambda a: np.reshape(a, a.shape[::-1]),
        "squeeze": np.squeeze,
        "expand_dims": lambda a: np.expand_dims(a, one),
        "item": lambda a: a[key],
        "column": lambda a: a[:, 0],
        "atleast_2d": np.atleast_2d,
        "over the length": lambda a: a / a.shape[0],
        "over len": lambda a: a / len(a),
        "over the size": lambda a: np.sum(a) / a.size,
        "times arange": lambda a: a * np.arange(len(a)),
        "ones of the shape": lambda a: a + np.ones(a.shape),
        # With a term that reads the operand: a program computes nothing of which the shape is read.
        "zeros_like": lambda a: np.zeros_like(a) + a * 0,
        "full_like": lambda a: np.full_like(a, 2) + a * 0,
        "ones_like": lambda a: np.ones_like(a, dtype=int) + a * 0,
        "rows": lambda a: sum(row * (k + 1) for k, row in enumerate(a)),
        "list": lambda a: np.stack(list(a)),
        "triu": np.triu,
        "diagonal": np.diagonal,
        "trace": np.trace,
        "norm": lambda a: np.linalg.norm(a, axis=axis),
        "interp": lambda a: np.interp(a, KNOTS, HEIGHTS),
        "clip": lambda a: np.clip(a, -0.5, 1.0),
        "isfinite": np.isfinite,
        "nan_to_num": np.nan_to_num,
        "round": lambda a: np.round(a, 1),
        "pad": lambda a: np.pad(a, 1),
        "gradient": lambda a: np.gradient(a, axis=0),
        "split": lambda a: np.array_split(a, 2)[1],
        "sum where": lambda a: np.sum(a, where=MASK),
        "features": lambda a: np.take(FEATURES, a),
        "history": lambda a: np.take(HISTORY, a, 0),
        "modulo items": lambda a: abs(a).astype(int) % ITEMS,
        "store a number": stored(key, number),
        "store where": changed(lambda copy: stored_where(copy)),
        "scale rows": changed(scaled_rows),
        "copy": np.copy,
        "maximum.reduce": lambda a: np.maximum.reduce(a, one),
        "add.accumulate": lambda a: np.add.accumulate(a, one),
        "bincount": lambda a: np.bincount(a, minlength=3),
        "searchsorted": lambda a: np.searchsorted(KNOTS, a),
    }
    binary = {
        "add": lambda a, b: a + b,
        "subtract": lambda a, b: a - b,
        "multiply": lambda a, b: a * b,
        "divide": lambda a, b: a / (b * b + 1),
        "floor_divide": lambda a, b: a // b,
        "remainder": lambda a, b: a % b,
        "maximum": np.maximum,
        "minimum": np.minimum,
        "hypot": np.hypot,
        "greater": lambda a, b: a > b,
        "equal": lambda a, b: a == b,
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
        "logical_and": np.logical_and,
        "isclose": np.isclose,
        "matmul": lambda a, b: a @ b,
        "dot": np.dot,
        "outer": np.outer,
        "inner": np.inner,
        "vecdot": lambda a, b: wy.vecdot(a, b),
        "einsum": lambda a, b: np.einsum("i...,i...->...", a, b),
        "tensordot": lambda a, b: np.tensordot(a, b, 1),
        "concatenate": lambda a, b: np.concatenate([a, b], one if one < 1 else 0),
        "stack": lambda a, b: np.stack([a, b], one),
        "append": np.append,
        "hstack": lambda a, b: np.hstack([a, b]),
        "take": lambda a, b: np.take(a, b, one),
        "lookup": lambda a, b: a[b],
        "take_along_axis": lambda a, b: np.take_along_axis(a, b, one),
        "broadcast_to": lambda a, b: np.broadcast_to(a, b.shape),
        "reshape to": lambda a, b: np.reshape(a, b.shape),
        "broadcast_arrays": lambda a, b: np.broadcast_arrays(a, b)[0],
        "over the length of": lambda a, b: a / b.shape[0],
        "over len of": lambda a, b: a / len(b),
        "masked": lambda a, b: a[b],
        "sum where": lambda a, b: np.sum(a, where=b),
        "store": stored(key),
        "add in place": changed(added),
        "average": lambda a, b: np.average(a, weights=b * b + 1),
        "compress": lambda a, b: np.compress(b, a, 0),
        "cross": lambda a, b: np.cross(a, b),
        "convolve": np.convolve,
        "trapezoid": lambda a, b: np.sum((a[1:] + a[:-1]) * np.diff(b)),
        "zip": lambda a, b: sum(p * q for p, q in zip(a, b, strict=True)),
    }
    ternary = {
        "where": lambda a, b, c: np.where(a, b, c),
        "choose": lambda a, b, c: np.choose(a % 2, [b, c]),
        "select": lambda a, b, c: np.select([a, b > 0], [b, c], 0.5),
        "clip": np.clip,
    }
    kinds = [unary, binary, ternary]
    count = [0, 0, 0, 0, 1, 1, 1, 1, 2][rng.integers(9)]
    name = [*kinds[count]][rng.integers(len(kinds[count]))]
    return name, kinds[count][name], count + 1


def stored_where(copy):
    copy[copy > 0.5] = 0
    return copy


@dataclass
class Step:
    name: str
    function: object
    operands: list


class Batch:
    """Numbers of the inputs for so many samples."""

    def __init__(self, rng, n):
        # Some numbers are equal, zero, or whole.
        self.x = rng.choice([-1.5, -1.0, 0.0, 0.5, 1.0, 2.0], (n, WIDTH))
        self.x += rng.normal(size=(n, WIDTH)) * rng.integers(2)
        self.t = np.round(rng.normal(size=n), int(rng.integers(3)))
        self.i = rng.integers(0, ITEMS, n)

    def rows(self, places):
        part = object.__new__(Batch)
        part.x, part.t, part.i = self.x[places], self.t[places], self.i[places]
        return part

    def arrays(self):
        return [self.x, self.t, self.i]


class Model:
    """Steps that NumPy takes for one batch."""

    def __init__(self, seed, built, count=7):
        self.rng = rng = np.random.default_rng(seed)
        self.parameters = [rng.normal(size=(ITEMS, WIDTH)), rng.normal(size=WIDTH), rng.normal()]
        self.batch = Batch(rng, built)
        self.leaves = self.new_leaves(self.batch)
        self.steps, self.values = [], [*self.leaves]
        plain = [*self.batch.arrays(), *map(np.asarray, self.parameters)]
        for _ in range(60):
            if len(self.steps) == count:
                break
            name, function, operands = steps(rng)
            # What came last is used more.
            at = [int(k) for k in rng.integers(0, len(plain), 2 * operands)]
            at = [max(at[2 * k : 2 * k + 2]) for k in range(operands)]
            expected = taken(function, [plain[k] for k in at])
            if expected is None or expected.size > 200 or expected.ndim > 3:
                continue
            try:
                found = function(*(self.values[k] for k in at))
            except (TypeError, ValueError, IndexError, NotImplementedError):
                continue  # refused, by a message that other tests read
            step = Step(name, function, at)
            self.steps.append(step)
            agree(found, expected, self.text())
            plain.append(expected)
            self.values.append(found)

    def new_leaves(self, batch):
        inputs = [
            wy.Input(batch.x, name="x"),
            wy.Input(batch.t, name="t"),
            wy.IndexInput(batch.i, name="i"),
        ]
        return [*inputs, *map(wy.Parameter, self.parameters)]

    def needed(self, at):
        """The steps that a value is made of, by number, in order."""
        first, needed = len(self.leaves), {at}
        for k in range(at, first - 1, -1):
            if k in needed:
                needed.update(self.steps[k - first].operands)
        return sorted(k for k in needed if k >= first)

    def has_all_inputs(self, at, program):
        """Whether a program has all inputs of its value: of others a length is a mere number."""
        read = {o for k in self.needed(at) for o in self.steps[k - len(self.leaves)].operands}
        return len(program.inputs) == len(read & {0, 1, 2})

    def take(self, at, leaves):
        """A value made anew from other leaves."""
        values = dict(enumerate(leaves))
        for k in self.needed(at):
            step = self.steps[k - len(self.leaves)]
            values[k] = step.function(*(values[o] for o in step.operands))
        return values[at]

    def plain(self, at, batch):
        """What NumPy has for a batch, None where that is an error."""
        leaves = [*batch.arrays(), *map(np.asarray, self.parameters)]
        return taken(lambda: self.take(at, leaves), [])

    def outputs(self):
        """Values that follow an input and are no leaves, latest first."""
        first = len(self.leaves)
        for at in range(len(self.values) - 1, first - 1, -1):
            value = self.values[at]
            if isinstance(value, wy.Variable) and wy._core.follows_input(value):
                yield at, value

    def text(self, at=None):
        first = len(self.leaves)
        lines = [f"batch of {len(self.batch.t)}; 0 to {first - 1}: x, t, i, W, v, s"]
        for k, step in enumerate(self.steps, first):
            if at is None or k in self.needed(at):
                lines.append(f"{k}: {step.name} of {step.operands}")
        return "\n".join(lines)


def taken(function, operands):
    """A step of NumPy's, None where that is an error."""
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(function(*operands))
    except (*REFUSALS, AttributeError, OverflowError, ZeroDivisionError):
        return None  # the sum of no rows is an integer of Python's, without attributes
    # NumPy computes functions of booleans in float16.
    return found if found.dtype.kind in "biuf" and found.dtype != np.float16 else None


def agree(found, expected, text):
    value = found.value if isinstance(found, wy.Variable) else np.asarray(found)
    assert value.shape == expected.shape, text
    assert value.dtype.kind == expected.dtype.kind, f"{text}\n{value.dtype} for {expected.dtype}"
    # A sum that is 0 may be -0.0, of which a quotient is another infinity.
    found, expected = (
        np.where(np.isinf(x), np.inf, x) for x in (value.astype(float), expected.astype(float))
    )
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8, err_msg=text)


def dense(gradient, like):
    if gradient is None:
        return np.zeros(np.shape(like))
    return gradient if isinstance(gradient, np.ndarray) else gradient.to_dense()


def given(program, leaves, batch):
    """The values of the inputs that a program has."""
    values = zip("xti", leaves, batch.arrays(), strict=False)
    return {leaf: value for name, leaf, value in values if name in program.inputs}


def gradients(y, leaves):
    """The gradients of the parameters, or None if there is nothing to differentiate."""
    try:
        y.backward()
    except TypeError:
        return None
    return [dense(leaf.grad, leaf.value) for leaf in leaves[3:]]


SEEDS = range(150)
REFUSALS = (ValueError, IndexError, TypeError, FloatingPointError)


def compare(seed, built):
    """The outputs of a model for batches of other lengths: how many were equal, and refused."""
    model = Model(seed, built)
    equal = refused = 0
    for at, y in itertools.islice(model.outputs(), 3):
        text = f"seed {seed}\n" + model.text(at)
        try:
            program = wy.freeze(y)
        except REFUSALS:
            refused += 1
            continue
        # Of nothing an average is NaN here, and ZeroDivisionError in NumPy.
        lengths = (built, 1, 2, 3, 5) if "average" in text else (built, 1, 2, 3, 5, 0)
        follows = model.has_all_inputs(at, program)
        if not follows:
            lengths = (built,)
        for n in lengths:
            batch = Batch(model.rng, n)
            expected = model.plain(at, batch)
            try:
                found = program.run(given(program, model.leaves, batch))
            except REFUSALS:
                refused += 1
                continue
            if expected is None and not n:
                continue  # what NumPy refuses of nothing may be read for its length alone
            assert expected is not None, f"{text}\nNumPy refuses a batch of {n}"
            agree(found, expected, f"{text}\nrun with {n}")
            equal += 1
            if found.dtype.kind != "f":
                continue
            leaves = model.new_leaves(batch)
            try:
                anew = gradients(model.take(at, leaves), leaves)
            except (*REFUSALS, AttributeError):
                continue
            if anew is None:
                continue
            _, ours = program.value_and_grad(given(program, model.leaves, batch))
            for k, leaf in enumerate(model.leaves[3:]):
                agree(dense(ours.get(leaf), leaf.value), anew[k], f"{text}\ngradient {k} of {n}")
        if not follows:
            continue
        # The graph itself, after an assignment.
        batch = Batch(model.rng, 3)
        expected = model.plain(at, batch)
        for leaf, value in zip(model.leaves, batch.arrays(), strict=False):
            leaf.value = value
        try:
            found = y.value
        except REFUSALS:
            refused += 1
        else:
            assert expected is not None, f"{text}\nNumPy refuses what was assigned"
            agree(found, expected, f"{text}\nassigned")
            equal += 1
        for leaf, value in zip(model.leaves, model.batch.arrays(), strict=False):
            leaf.value = value
    return equal, refused


def by_hand(model, at, batch, order, size):
    """The parameters after an epoch of steps on graphs that are built anew."""
    leaves = model.new_leaves(batch)
    optimizer = wy.SGD(lr=0.01)
    for start in range(0, len(order), size):
        part = batch.rows(list(order[start : start + size]))
        for leaf, value in zip(leaves, part.arrays(), strict=False):
            leaf.value = value
        if gradients(model.take(at, leaves).sum(), leaves) is not None:
            optimizer.step(leaves[3:])
        for leaf in leaves[3:]:
            leaf.zero_grad()
    return [leaf.value for leaf in leaves[3:]]


def compare_training(seed, built, size):
    """An epoch of ``fit`` on three samples with steps by hand, in one of the six orders."""
    model = Model(seed, built)
    for at, y in itertools.islice(model.outputs(), 3):
        text = f"seed {seed}, batches of {size}\n" + model.text(at)
        batch = Batch(model.rng, 3)
        start = [leaf.value for leaf in model.leaves[3:]]
        try:
            loss = y.sum()
            program = wy.freeze(loss)
            data = given(program, model.leaves, batch)
            if not model.has_all_inputs(at, program):
                continue  # made of the length of another input
            wy.fit(loss, data, optimizer=wy.SGD(lr=0.01), batch_size=size)
        except REFUSALS:
            for leaf, value in zip(model.leaves[3:], start, strict=True):
                leaf.value = value
            continue
        found = [leaf.value for leaf in model.leaves[3:]]
        for leaf, value in zip(model.leaves[3:], start, strict=True):
            leaf.value = value
        model.parameters = start
        candidates = []
        for order in itertools.permutations(range(3)):
            try:
                candidates.append(by_hand(model, at, batch, order, size))
            except REFUSALS:
                continue
        assert any(
            all(np.allclose(a, b, rtol=1e-8, atol=1e-9) for a, b in zip(found, each, strict=True))
            for each in candidates
        ), text


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("built", [1, 2, 3])
def test_models_are_what_steps_taken_anew_give(built):
    counts = np.sum([compare(1000 * built + seed, built) for seed in SEEDS], axis=0)
    equal, refused = counts
    assert equal > refused  # and not most of them are refused


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("built", [1, 2, 3])
@pytest.mark.parametrize("size", [2, 3])
def test_training_is_steps_by_hand(built, size):
    for seed in SEEDS[:60]:
        compare_training(7000 + 1000 * built + seed, built, size)
