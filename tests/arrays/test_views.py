"""What is assigned through a view is seen by all that share its memory in NumPy, by nothing else.

Programs are drawn that take views of arrays and views of views, assign to them, read them, and take
more. Each is run on plain arrays, on what a transform traces, and on variables: the results are the
same, or the run on variables says that it cannot know (of reshaped arrays NumPy does not promise
whether they are views).
"""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import wyrmling as wy

IN_C_ORDER = "astype in C order without a copy"

# Functions of one array that give a view, or a copy, of it; for arrays of 1 to 3 axes.
TAKEN = {
    "all": lambda a: a[...],
    "first": lambda a: a[0],
    "last": lambda a: a[-1],
    "row": lambda a: a[0, ...],
    "some": lambda a: a[1:],
    "every second": lambda a: a[::2],
    "backwards": lambda a: a[::-1],
    "last column": lambda a: a[..., -1],
    "columns": lambda a: a[..., 1:],
    "new axis": lambda a: a[None],
    "T": lambda a: a.T,
    "transpose": lambda a: a.transpose(),
    "np.transpose": np.transpose,
    "swapaxes": lambda a: np.swapaxes(a, 0, -1),
    "moveaxis": lambda a: np.moveaxis(a, 0, -1),
    "rollaxis": lambda a: np.rollaxis(a, a.ndim - 1),
    "flip": np.flip,
    "flipud": np.flipud,
    "rot90": lambda a: np.rot90(a) if a.ndim > 1 else np.flip(a),
    "expand_dims": lambda a: np.expand_dims(a, 1),
    "squeeze": lambda a: np.squeeze(a[:, None], 1),
    "atleast_2d": np.atleast_2d,
    "atleast_1d": np.atleast_1d,
    "atleast_3d": np.atleast_3d,
    "half": lambda a: np.array_split(a, 2)[0],
    "other half": lambda a: np.array_split(a, 2, -1)[1],
    "split": lambda a: np.split(a, [1])[1],
    "reshape": lambda a: a.reshape(-1),
    "reshape with an axis": lambda a: np.reshape(a, (1, *a.shape)),
    "ravel": np.ravel,
    "method ravel": lambda a: a.ravel(),
    "real": np.real,
    "iterated": lambda a: list(a)[-1],
    "unpacked": lambda a: next(iter(a)),
    "reversed": lambda a: next(iter(reversed(a))),
    "diagonal": lambda a: np.diagonal(a) if a.ndim > 1 else a,
    "broadcast": lambda a: np.broadcast_to(a, (2, *a.shape)),
    "windows": lambda a: np.lib.stride_tricks.sliding_window_view(a, 2, axis=-1),
    "astype without a copy": lambda a: a.astype(float, copy=False),
    "np.astype without a copy": lambda a: np.astype(a, float, copy=False),
    IN_C_ORDER: lambda a: a.astype(float, "C", copy=False),
    "method conj": lambda a: a.conj(),
    "method conjugate": lambda a: a.conjugate(),
    ".real": lambda a: a.real,
    "real_if_close": np.real_if_close,
    "permute_dims": np.permute_dims,
    "mT": lambda a: a[None].mT[0],
    "fliplr": lambda a: np.fliplr(a[None]),
    "no turn": lambda a: np.rot90(a[None], 0)[0],
    "unstack": lambda a: np.unstack(a, axis=-1)[0],
    "no diff": lambda a: np.diff(a, n=0),
    "no derivative": lambda a: np.polyder(a[..., 0].ravel(), 0),
    "no integral": lambda a: np.polyint(a[..., 0].ravel(), 0),
    "power 1": lambda a: np.linalg.matrix_power(a[..., :1, None], 1),
    "over no axes": lambda a: np.apply_over_axes(np.sum, a, []),
    "over an axis": lambda a: np.apply_over_axes(lambda x, k: x[:1], a, [0]),
    "lanes that are assigned": lambda a: (np.apply_along_axis(_doubled, 0, a), a)[1],
    "einsum of one": lambda a: np.einsum("...i->i...", a),
    "einsum of one with its axes": lambda a: np.einsum("...i->...i", a),
    "meshgrid without a copy": lambda a: np.meshgrid(a[..., 0].ravel(), copy=False)[0],
    "open grid without a copy": lambda a: np.meshgrid(a, a, copy=False, sparse=True)[0],
    # Copies.
    "copy": lambda a: a.copy(),
    "np.copy": np.copy,
    "flatten": lambda a: a.flatten(),
    "fancy": lambda a: a[[0, -1]],
    "mask": lambda a: a[np.arange(len(a)) > 0],
    "plus": lambda a: +a,
    "sum": lambda a: a + 0.0,
    "astype": lambda a: a.astype(np.float64),
    "tile": lambda a: np.tile(a, 1),
    "roll": lambda a: np.roll(a, 0),
    "repeat": lambda a: np.repeat(a, 1, 0),
    "concatenate": lambda a: np.concatenate([a]),
    "sort": lambda a: np.sort(a),
    "clip": lambda a: np.clip(a, -100.0, 100.0),
    "where": lambda a: np.where(True, a, 0.0),
    "take": lambda a: np.take(a, [0, 0], 0),
    "triu": lambda a: np.triu(a) if a.ndim > 1 else a.copy(),
    "pad": lambda a: np.pad(a, 0),
    "nan_to_num": lambda a: np.nan_to_num(a),
    "conj": np.conj,
    "positive": np.positive,
    "round": lambda a: np.round(a, 9),
    "sum over no axes": lambda a: np.sum(a, axis=()),
    "max over no axes": lambda a: np.max(a, axis=()),
    "meshgrid": lambda a: np.meshgrid(a, a)[0],
    "meshgrid of one": lambda a: np.meshgrid(a)[0],
    "open grid": lambda a: np.meshgrid(a, a, sparse=True)[1],
    "delete": lambda a: np.delete(a, [], 0),
    "insert": lambda a: np.insert(a, [], [], 0),
    "append": lambda a: np.append(a, []),
    "resize": lambda a: np.resize(a, a.shape),
    "compress": lambda a: np.compress([True] * len(a), a, 0),
    "extract": lambda a: np.extract(a > 0.0, a),
    "unwrap": np.unwrap,
    "full_like": lambda a: np.full_like(a, a),
    "polyadd": lambda a: np.polyadd(a[..., 0].ravel(), [0.0]),
    "einsum of two": lambda a: np.einsum("...i,->...i", a, 1.0),
    "block": lambda a: np.block([a]),
}


def _doubled(lane):
    lane *= 2.0
    return lane


KEYS = {
    "0": 0,
    "-1": -1,
    "all": ...,
    "slice": slice(None),
    "tail": slice(1, None),
    "fancy": [0],
    "last of the last axis": (..., -1),
}
steps = st.lists(
    st.one_of(
        st.tuples(st.just("take"), st.integers(0, 7), st.sampled_from(sorted(TAKEN))),
        st.tuples(st.just("set"), st.integers(0, 7), st.sampled_from(sorted(KEYS))),
        st.tuples(st.just("add"), st.integers(0, 7), st.sampled_from(["+=", "*=", "-="])),
        st.tuples(st.just("add at"), st.integers(0, 7), st.sampled_from(sorted(KEYS))),
        st.tuples(st.just("copy to"), st.integers(0, 7), st.integers(0, 7)),
        st.tuples(st.just("read"), st.integers(0, 7), st.none()),
    ),
    min_size=2,
    max_size=12,
)


def run(program, x):
    """What a drawn program leaves in all its arrays, and what it read, one after another; an error
    ends it.
    """
    names = [x * 1.0]
    log = []
    for number, (kind, which, what) in enumerate(program):
        a = names[which % len(names)]
        value = 10.0 + number
        try:
            if kind == "take":
                names.append(TAKEN[what](a))
            elif kind == "set":
                a[KEYS[what]] = value
            elif kind == "add at":
                a[KEYS[what]] += value
            elif kind == "copy to":
                b = names[what % len(names)]
                a[...] = b if np.shape(a) == np.shape(b) else value
            elif kind == "read":
                log.append(np.sum(a * 2.0))
            elif what == "+=":
                a += value
            elif what == "-=":
                a -= value
            else:
                a *= 2.0
        except (ValueError, IndexError, TypeError) as error:
            log.append(error)
            break
    for a in names:
        try:
            log.append(np.ravel(a * 1.0))
        except ValueError as error:
            log.append(error)
    return log


UNSURE = ("depends on the layout", "reshaped")


def compare(plain, traced):
    if any(word in str(one) for one in plain for word in ("item assignment", "scalar variable")):
        return  # NumPy's numbers cannot be assigned to, and variables of one element can
    for one, other in zip(plain, traced, strict=False):
        if isinstance(other, Exception):
            if any(word in str(other) for word in UNSURE):
                return
            assert isinstance(one, Exception), f"variables alone raise {other!r}"
            assert isinstance(other, type(one)) or isinstance(one, type(other)), (one, other)
            continue
        assert not isinstance(one, Exception), f"arrays alone raise {one!r}"
        value = other.value if isinstance(other, wy.Variable) else other
        np.testing.assert_allclose(value, one, rtol=1e-14)
    assert len(plain) == len(traced)


@settings(max_examples=500)
@example((3,), [("take", 0, "first"), ("take", 1, "other half")])  # of a number: no axis
@example((3,), [("take", 0, "backwards"), ("take", 1, IN_C_ORDER), ("set", 0, "-1")])
@example((3,), [("take", 0, "fliplr"), ("take", 1, IN_C_ORDER), ("set", 0, "-1")])
@example((3,), [("take", 0, "iterated"), ("take", 1, "repeat")])
@given(st.sampled_from([(3,), (2, 3), (3, 3), (2, 2, 3)]), steps)
def test_programs_of_views(shape, program):
    x = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    plain = run(program, x)
    compare(plain, run(program, wy.Variable(x)))

    def f(v):
        found.append(run(program, v))
        return np.sum(v)

    found = []
    wy.grad(f)(x)
    compare(plain, found[0])


@pytest.mark.parametrize("name", TAKEN)
def test_each_way_to_take_a_part(name):
    """Assigning to the part, then to the whole."""
    for shape in ((4,), (2, 3), (3, 3), (2, 2, 3)):
        program = [("take", 0, name), ("add", 1, "+="), ("add", 0, "*="), ("read", 1, None)]
        x = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
        plain = run(program, x)
        compare(plain, run(program, wy.Variable(x)))
        other = [("take", 0, name), ("add", 0, "*="), ("read", 1, None), ("set", 1, "all")]
        plain = run(other, x)
        compare(plain, run(other, wy.Variable(x)))


@pytest.mark.parametrize(
    "f",
    [
        lambda y: (y[0].__setitem__(1, 5.0), y)[1],
        lambda y: ([row.__imul__(2.0) for row in y], y)[1],
        lambda y: (y.T.__setitem__(..., y.T * 3.0), y)[1],
        lambda y: (y[0][1:].__setitem__(0, y[1, 0] ** 2), y)[1],
        lambda y: (y[:, ::-1].T[0].__iadd__(y[:, 1]), y)[1],
        lambda y: (y[None, 0].__setitem__(0, 1.0), y)[1],
        lambda y: (np.atleast_3d(y)[:, 0].__imul__(y[0, 0]), y)[1],
        lambda y: (np.split(y, 2)[1].__isub__(y[:1]), y)[1],
    ],
)
def test_gradients_through_views(f, rng):
    x, weights = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))

    def loss(v):
        return np.sum(f(v * 1.0) ** 2 * weights)

    value = wy.value_and_grad(loss)(x)[0]
    np.testing.assert_allclose(value, loss(x), rtol=1e-14)
    wy.check_grads(loss, (x,))
    inputs = wy.Input(x)
    y = np.sum(f(inputs * 1.0) ** 2 * weights)
    other = rng.normal(size=(2, 3))
    np.testing.assert_allclose(wy.freeze(y).run({inputs: other}), loss(other), rtol=1e-12)


def test_parts_of_leaves_refuse():
    for leaf in (wy.Variable(np.zeros((2, 3))), wy.Parameter(np.zeros((2, 3))), wy.Input([[0.0]])):
        for take in (lambda v: v[0], lambda v: v.T, lambda v: next(iter(v)), lambda v: v[0][:1]):
            with pytest.raises(TypeError, match=r"leaf.*wyrmling.array"):
                take(leaf)[0] = 1.0
        row = leaf[0]
        with pytest.raises(TypeError, match=r"leaf.*wyrmling.array"):
            row += 1.0
        assert leaf.value.sum() == row.value.sum() == 0.0
        copy = leaf.copy()
        copy[0] = 1.0
        assert leaf.value.sum() == 0.0


def test_what_is_not_known_is_refused():
    y = wy.Variable(np.zeros((2, 3))) * 1.0
    flat = y.ravel()
    with pytest.raises(ValueError, match=r"depends on the layout.*\.copy\(\)"):
        flat[0] = 1.0
    assert flat.value.sum() == 0.0
    y[0] = 1.0
    with pytest.raises(ValueError, match="reshape it again"):
        flat.sum()
    assert y.ravel().value.sum() == 3.0
    kept = y.ravel().copy()
    y[0] = 5.0
    assert kept.value.sum() == 3.0
    parts = [np.diagonal(y), np.broadcast_to(y, (2, 2, 3)), y.diagonal(), np.diag(y)]
    parts.append(np.einsum("ii->i", y[:, :2]))  # NumPy writes through this one
    for part in parts:
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 1.0
    y[1, 1] = 7.0
    assert parts[-1].value[1] == 7.0


def test_a_long_chain_of_views():
    y = wy.Variable(np.zeros(3)) * 1.0
    part = y
    for _ in range(20_000):
        part = part[:]
    part[0] = 1.0
    assert y.value.tolist() == [1.0, 0.0, 0.0]
    y[1] = 2.0
    assert part.value.tolist() == [1.0, 2.0, 0.0]


def test_adding_to_a_part_writes_it_once():
    """``y[key] += v`` assigns to the view, and then the view to its place."""

    def nodes(y):
        return len(wy.freeze(y.sum()).__str__().splitlines())

    x = wy.Variable(np.zeros((2, 3)))
    y, z = x * 1.0, x * 1.0
    y[0] += 1.0
    z[0] = z[0] + 1.0
    assert nodes(y) == nodes(z)


NUMBERS = {
    "an argument": lambda x, s: s,
    "an element": lambda x, s: x[0, 1],
    "an element of a row": lambda x, s: x[0][1],
    "a sum": lambda x, s: x.sum(),
    "a maximum": lambda x, s: np.max(x),
    "a product": lambda x, s: x[0] @ x[1],
    "arithmetic": lambda x, s: s * 2.0,
}
ARRAYS_OF_NUMBERS = {
    "atleast_1d": np.atleast_1d,
    "atleast_2d": np.atleast_2d,
    "ravel": np.ravel,
    "reshape": lambda a: np.reshape(a, (1,)),
    "expand_dims": lambda a: np.expand_dims(a, 0),
    "newaxis": lambda a: a[None],
}


@pytest.mark.parametrize("scalar", [float, np.float64])
@pytest.mark.parametrize("array", ARRAYS_OF_NUMBERS)
@pytest.mark.parametrize("number", NUMBERS)
def test_an_array_of_a_number_is_an_array_of_its_own(number, array, scalar):
    if scalar is float and number in ("an argument", "arithmetic") and array == "newaxis":
        pytest.skip("Python's floats have no elements")

    def f(x, s):
        y = x * 1.0
        a = NUMBERS[number](y, s)
        b = ARRAYS_OF_NUMBERS[array](a)
        b *= 3.0
        b[0] = b[0] ** 2
        return (y**2).sum() + 3.0 * a**2 + 7.0 * np.sum(b)

    x, s = np.arange(1.0, 5.0).reshape(2, 2), scalar(1.5)
    value, (by_x, by_s) = wy.value_and_grad(f, argnums=(0, 1))(x, s)
    assert value == f(x, s)
    step = 1e-6
    assert by_s == pytest.approx((f(x, s + step) - f(x, s - step)) / (2 * step), abs=1e-4)
    moved = np.zeros_like(x)
    moved[0, 1] = step
    assert by_x[0, 1] == pytest.approx((f(x + moved, s) - f(x - moved, s)) / (2 * step), abs=1e-4)


def test_an_array_without_axes_shares_its_number():
    def f(x):
        b = np.atleast_1d(x)
        b *= 2.0
        return (x * b).sum()

    value, slope = wy.value_and_grad(f)(np.array(3.0))
    assert (value, slope) == (f(np.array(3.0)), 24.0)
