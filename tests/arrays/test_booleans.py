"""Booleans in graphs mean what they mean in NumPy: arithmetic, reductions, choices and indexing.

Each is built on an input or a parameter, frozen, run on other numbers and compared with plain
NumPy, or refused by an error.
"""

import numpy as np
import pytest

import wyrmling as wy

OLD = np.array([-1.5, 0.5, 1.5, 2.0])
NEW = np.array([3.0, -0.5, 0.75, 1.0])
INTEGERS = np.array([0, 1, 2, 3])

ANSWERS = {
    "where of integers": lambda x: np.where(x > 0.5, 1, 0),
    "where of True and False": lambda x: np.where(x > 0.5, True, False),
    "where of an array": lambda x: np.where(x > 0.5, np.arange(x.size).reshape(x.shape), 7),
    "or": lambda x: (x > 0) + (x > 1),
    "or of three": lambda x: (x > 0) + (x > 1) + (x > 2),
    "np.add": lambda x: np.add(x > 0, x > 1),
    "or of one": lambda x: (x > 0) + (OLD > 1),
    "or of a boolean": lambda x: (x > 0) + True,
    "a boolean or": lambda x: True + (x > 0),
    "and": lambda x: (x > 0) * (x > 1),
    "and of one": lambda x: (OLD > 0) * (x > 1),
    "|": lambda x: (x < 0) | (x > 1),
    "&": lambda x: (x > 0) & ~(x > 1),
    "^": lambda x: (x > 0) ^ (x > 1),
    "logical": lambda x: np.logical_or(x, x > 1),
    "compared": lambda x: (x > 0) == (x > 1),
    "compared by order": lambda x: (x > 0) > (x > 1),
    "maximum": lambda x: np.maximum(x > 0, x > 1),
    "minimum": lambda x: np.minimum(x > 0, x > 1),
    "fmax of integers": lambda x: np.fmax(x.astype(int), 1),
    "fmin of integers": lambda x: np.fmin(x > 0, x.astype(int)),
    "plus 1": lambda x: (x > 0) + 1,
    "1 minus": lambda x: 1 - (x > 0),
    "minus 1": lambda x: (x > 0) - 1,
    "times 2": lambda x: (x > 0) * 2,
    "plus 1.0": lambda x: (x > 0) + 1.0,
    "minus a float": lambda x: (x > 0) - 0.5,
    "times x": lambda x: (x > 0) * x,
    "x times": lambda x: x * (x > 0),
    "minus x": lambda x: (x > 0) - x,
    "plus integers": lambda x: (x > 0) + INTEGERS,
    "minus integers": lambda x: (x > 0) - x.astype(int),
    "integers plus": lambda x: x.astype(int) + (x > 0) + (x > 1),
    "divided": lambda x: (x > 0) / 2,
    "quotient": lambda x: (x > 0) / ((x > 1) + 1),
    "// 2": lambda x: (x > 0) // 2,
    "% 2": lambda x: (x > 0) % 2,
    "** 2": lambda x: (x > 0) ** 2,
    "2 **": lambda x: 2 ** (x > 0),
    "minus": lambda x: (x > 0) - (x > 1),
    "negative": lambda x: -(x > 0),
    "positive": lambda x: +(x > 0),
    "np.negative": lambda x: np.negative(x > 0),
    "abs": lambda x: abs(x > 0),
    "~": lambda x: ~(x > 0),
    "~ 3": lambda x: ~x.astype(int),
    "& 1": lambda x: x.astype(int) & 1,
    "sum": lambda x: np.sum(x > 0),
    "method sum": lambda x: (x > 0).sum() / 2,
    "sum // 2": lambda x: (x > 0).sum() // 2,
    "mean": lambda x: np.mean(x > 0),
    "max": lambda x: np.max(x > 1),
    "or of maxima": lambda x: np.max(x > 0) + np.max(x > 1),
    "cumsum": lambda x: np.cumsum(x > 0),
    "cumsum // 2": lambda x: np.cumsum(x > 0) // 2,
    "prod": lambda x: np.prod(x > 0),
    "any": lambda x: np.any(x > 2.5) + 0.0,
    "any along an axis": lambda x: np.any((x > 1).reshape(2, 2), 1, keepdims=True) + 0,
    "any where": lambda x: np.any(x > 2.5, where=x > 0) + 0.0,
    "method any": lambda x: (x > 2.5).any() + 0.0,
    "any of numbers": lambda x: np.any(x.reshape(2, 2) - 3.0, axis=0) * 2,
    "any of none": lambda x: np.any(x[:0]) + 0,
    "all": lambda x: np.all(x > -1.0) + 0.0,
    "logical_and.reduce": lambda x: np.logical_and.reduce(x > -1.0) + 0.0,
    "logical_or.reduce": lambda x: (
        np.logical_or.reduce((x - 3.0).reshape(2, 2), axis=1, keepdims=True, where=[[True, False]])
        * 2
    ),
    "all of numbers": lambda x: np.all(x + 0.5) + 0,
    "method all": lambda x: (x > -1.0).all() + 0.0,
    "all where": lambda x: np.all(x > -1.0, where=x > 0) + 0,
    "all of none": lambda x: np.all(x[:0]) + 0,
    "isclose": lambda x: np.isclose(x, 0.5, atol=0.3) + 0,
    "isclose to infinity": lambda x: np.isclose(x / 0.0, [np.inf, -np.inf, np.nan, 1.0]) + 0,
    "isclose of nan": lambda x: np.isclose(np.sqrt(x), [1.0, np.nan, 2.0, np.nan], equal_nan=True),
    "allclose": lambda x: np.allclose(x, NEW) + 0.0,
    "array_equal": lambda x: np.array_equal(x, NEW) + 0.0,
    "array_equal of nan": lambda x: np.array_equal(np.sqrt(x), np.sqrt(NEW), equal_nan=True) + 0.0,
    "count_nonzero": lambda x: np.count_nonzero(x > 0) + 0.0,
    "count_nonzero along": lambda x: np.count_nonzero(x.reshape(2, 2) - 1.0, axis=0) // 2,
    "dot": lambda x: np.dot(x > 0, x > 1),
    "@": lambda x: (x > 0) @ (x > 1),
    "@ numbers": lambda x: (x > 0) @ x,
    "where": lambda x: np.where(x > 0, x, 0.0),
    "where of booleans": lambda x: np.where(x > 0, x > 1, x < 2) + (x > 0),
    "where of or": lambda x: np.where((x > 0) + (x > 1), x, -1.0),
    "reshaped": lambda x: (x > 0).reshape(2, 2) + (x > 1).reshape(2, 2),
    "sliced": lambda x: (x > 0)[1:] + (x > 1)[:-1],
    "element": lambda x: (x > 0)[0] + (x > 1)[0],
    "joined": lambda x: np.concatenate([x > 0, x > 1]) + np.concatenate([x > 1, x > 2]),
    "stacked": lambda x: np.stack([x > 0, x > 1]) + np.stack([x > 1, x > 2]),
    "broadcast": lambda x: (x > 0)[:, None] + (x > 1),
    "astype float": lambda x: (x > 0).astype(float) + (x > 1).astype(float),
    "astype int": lambda x: (x > 0).astype(int) + (x > 1).astype(int),
    "astype bool": lambda x: x.astype(bool) + (x > 1),
    "assigned": lambda x: changed(x > 0),
    "diff": lambda x: np.diff(x > 0),
    "diff twice": lambda x: np.diff(x > 0, 2, prepend=False),
    "rows by": lambda x: wy.take(OLD, (x > 0) + 0, 0),
    "masked": lambda x: x[x > 0],
    "isnan": lambda x: np.isnan(x) + np.isfinite(x) + np.signbit(x),
    "searchsorted": lambda x: np.searchsorted([-1.0, 0.0, 0.5], x) + x.searchsorted([1.0]),
    "digitize": lambda x: np.digitize(x, [0.0, 1.0]) * 2 - np.digitize(x, [1.0, 0.0], right=True),
    "float of integers": lambda x: x.astype(int).astype(float) / 2 // 0.5,
}
# Those whose results have another length for other values, or are plain integers.
ASKING = {
    "nonzero": lambda x: np.nonzero(x),
    "method nonzero": lambda x: x.nonzero(),
    "flatnonzero": lambda x: np.flatnonzero(x > 0),
    "argwhere": lambda x: np.argwhere(x),
    "where of one": lambda x: np.where(x > 0),
    "unique": lambda x: np.unique(x),
    "union1d": lambda x: np.union1d(x, [1.0]),
    "intersect1d": lambda x: np.intersect1d(x, [1.0]),
    "setdiff1d": lambda x: np.setdiff1d(x, [1.0]),
    "setxor1d": lambda x: np.setxor1d(x, [1.0]),
    "isin": lambda x: np.isin(x, [0.5]),
    "masked": lambda x: x[x > 0],
    "masked by a tuple": lambda x: x[(x > 0,)],
    "masked plain": lambda x: OLD[x > 0],
    "compress": lambda x: np.compress(x > 0, x),
    "extract": lambda x: np.extract(x > 0, x),
    "trim_zeros": lambda x: np.trim_zeros(x),
    "bincount": lambda x: np.bincount(x.astype(int) + 1),
    "histogram": lambda x: np.histogram(x, 3),
    "lexsort": lambda x: np.lexsort((x, x)),
    "nanargmax": lambda x: np.nanargmax(x),
    "matrix_rank": lambda x: np.linalg.matrix_rank(x.reshape(2, 2)),
    "frexp": lambda x: np.frexp(x),
    "masks of numbers": lambda x: (x * 0.0) & (x > 0),
    "not of numbers": lambda x: ~(x * 0.0),
}
REFUSED = {
    "minus",
    "negative",
    "positive",
    "np.negative",
    "~ 3",
    "& 1",
    "dot",
    "@",
    "masked",
}


def changed(mask):
    q = mask.copy()
    q[0] = 5.0
    q[1:2] = 0
    return q + mask


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("leaf", [wy.Input, wy.Parameter])
@pytest.mark.parametrize("name", ANSWERS)
def test_booleans_are_numpys(name, leaf):
    f, x = ANSWERS[name], leaf(OLD)
    if name in REFUSED:
        with pytest.raises(TypeError):
            f(x)
        return
    y = f(x)
    assert isinstance(y, wy.Variable)
    kind = np.asarray(f(OLD)).dtype
    # All integers are int64 here; those that NumPy makes of booleans alone may be int8.
    kind = np.dtype(np.int64) if kind.kind == "i" else kind

    def check(found, values):
        assert found.dtype == kind
        np.testing.assert_array_equal(found, f(values))

    check(y.value, OLD)
    assert (y.dtype, y.itemsize) == (kind, kind.itemsize)
    program = wy.freeze(y)
    if leaf is wy.Input:
        check(program.run({x: NEW}), NEW)
    x.value = NEW
    check(y.value, NEW)
    if leaf is wy.Parameter:
        check(program.run(), NEW)
    first = y.reshape(-1)[0]
    assert first.item() == np.asarray(f(NEW)).reshape(-1)[0]
    assert type(first.item()) is type(kind.type(0).item())
    assert type(np.ravel(y.tolist()).tolist()[0]) is type(first.item())
    assert repr(first.item()) in repr(first)
    assert repr(y.value) in repr(y) or not y.ndim


@pytest.mark.parametrize("name", ASKING)
def test_what_cannot_follow_is_refused_where_models_are_made(name):
    """And answered by NumPy within a transform, of which no program is made."""
    f = ASKING[name]
    for leaf, match in ((wy.Input, "input|changes when"), (wy.Parameter, "parameter|changes when")):
        for x in (leaf(OLD), leaf(OLD) * 1.0):
            with pytest.raises(TypeError, match=f"{match}|as x > 0|can change|would be") as caught:
                f(x)
            assert "value" in str(caught.value) or "expected a mask" in str(caught.value)
    seen = []
    wy.grad(lambda x: seen.append(f(x)) or x.sum())(OLD)
    assert seen
    if name not in ("masks of numbers", "not of numbers"):
        seen[0] = seen[0].value if isinstance(seen[0], wy.Variable) else seen[0]
        if not isinstance(seen[0], tuple):
            np.testing.assert_array_equal(seen[0], f(OLD))


@pytest.mark.parametrize(
    "name",
    [
        "abs",
        "add",
        "argmax",
        "broadcast_like",
        "cast",
        "concatenate",
        "diagonal",
        "expand_dims",
        "from_index",
        "gather",
        "greater",
        "identity",
        "logical_not",
        "max",
        "min",
        "not_equal",
        "replace",
        "reshape",
        "slice",
        "slice_replace",
        "squeeze",
        "take_flat",
        "to_index",
        "transpose",
        "tril",
        "truth",
        "where",
        "whole",
    ],
)
def test_an_operator_of_the_callers_has_any_name(name):
    """What it gives of integers and booleans are the numbers that it gives."""

    def half(x):
        return np.asarray(x) * 0.5

    half.__name__ = half.__qualname__ = name
    operator = wy.primitive(half)
    operator.defvjp(None)
    i, x = wy.IndexInput([1, 2, 5]), wy.Input([1.0, -1.0])
    for given, expected in ((i * 1, [0.5, 1.0, 2.5]), (x > 0, [0.5, 0.0])):
        found = operator(given)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found.value, expected)
        np.testing.assert_array_equal((found * 3.0).value, np.multiply(expected, 3.0))
        with pytest.raises(TypeError):
            _ = ~found


def test_integers_repeated_are_integers_to_look_up_by():
    v, i = wy.Parameter(np.arange(6.0)), wy.IndexInput([1, 2])
    for f in (
        lambda i: np.repeat(i, 2),
        lambda i: np.tile(i, 2),
        lambda i: np.broadcast_to(i, (2, 2)),
        lambda i: np.dot(i, i)[None] % 6,
        lambda i: (i @ i).reshape(1) % 6,
        lambda i: np.outer(i, i) % 6,
        lambda i: np.concatenate([i, [0]]),
        lambda i: np.where(i > 1, i, 0),
        lambda i: np.triu(np.outer(i, i)),
    ):
        found = v[f(i)]
        np.testing.assert_array_equal(found.value, v.value[f(i.value.astype(int))])
        assert wy.freeze(f(i)).run({i: [1, 2]}).dtype == np.int64


def test_answers_of_a_parameter_are_branched_on():
    w = wy.Parameter([0.0, 2.0])
    assert np.any(w)
    assert not np.all(w)
    assert w.any()
    assert not w.all()
    assert np.allclose(w, [0.0, 2.0])
    assert not np.allclose(w, [0.0, 2.1])
    assert np.array_equal(w, [0.0, 2.0])
    assert not np.array_equal(w, [0.0])
    assert int(np.count_nonzero(w)) == 1
    for shown in (np.array_str(w), np.array_repr(w), np.result_type(w), np.array2string(w * 1.0)):
        assert str(shown)
    x = wy.Input([0.0, 2.0])
    with pytest.raises(TypeError, match="truth"):
        bool(np.allclose(x, [0.0, 2.0]))
    with pytest.raises(TypeError, match="array_equal: this follows an input"):
        np.array_equal(x, [0.0])


def test_a_mask_in_training(rng):
    """Two conditions that hold are one, as in the plain loss."""
    x, w = wy.Input(np.ones(1)), wy.Parameter(2.0)
    loss = (((x > 0) + (x > 1)) * (w * x)).sum()
    data = rng.normal(size=40) * 2.0
    history = wy.fit(loss, {x: data}, optimizer=wy.SGD(lr=1e-300))
    expected = (((data > 0) + (data > 1)) * (2.0 * data)).sum()
    assert history.loss[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_types_that_booleans_meet(dtype):
    x = wy.Input(OLD.astype(dtype))
    plain = OLD.astype(dtype)
    for f in (
        lambda x: (x > 0) * x,
        lambda x: x + (x > 0),
        lambda x: (x > 0) * 0.1,
        lambda x: (x > 0).sum(),
        lambda x: (x > 0).mean(),
        lambda x: (x > 0) + 1,
    ):
        assert f(x).dtype == f(plain).dtype
        np.testing.assert_array_equal(f(x).value, f(plain))


def test_booleans_of_float32_beside_those_of_float64_are_booleans():
    wide = wy.Parameter([0.5, -1.0]) > 0
    narrow = wy.Parameter(np.float32([0.5, 1e-40])) > 0
    for a, b in ((wide, narrow), (narrow, wide)):
        for join in (np.stack, np.concatenate, lambda pair: np.where(pair[1], *pair)):
            joined, expected = join([a, b]), join([a.value, b.value])
            assert joined.dtype == expected.dtype
            np.testing.assert_array_equal(joined.value, expected)


def test_numbers_are_no_masks_because_they_are_0_or_1_now():
    """Another value of the input would be answered by false."""
    for made in (lambda x: x & (x > 0), lambda x: ~x, lambda x: (x > 0) | x):
        with pytest.raises(TypeError, match="follows an input"):
            made(wy.Input([1.0, 0.0]))
        with pytest.raises(TypeError, match="follows an input"):
            made(wy.IndexInput([1, 0]))


def test_integers_that_where_chooses_are_indices():
    x, table = wy.Input([0.2, 0.7]), wy.Parameter([10.0, 20.0])
    y = table[np.where(x > 0.5, 1, 0)]
    np.testing.assert_array_equal(y.value, [10.0, 20.0])
    np.testing.assert_array_equal(wy.freeze(y).run({x: [0.9, 0.1, 0.6]}), [20.0, 10.0, 20.0])


def test_questions_take_masks_as_sums_do():
    x = wy.Input([0.0, 2.0])
    for f, answer in ((np.any, True), (np.all, True)):
        found = f(x, where=np.array([False, True]))
        assert bool(found.value) is answer
        x.value = [3.0]
        with pytest.raises(ValueError, match="shape"):
            found.forward()
        x.value = [0.0, 2.0]
        with pytest.raises(ValueError, match="does not broadcast"):
            f(x, where=[[True], [False]])
        with pytest.raises(TypeError, match="expected booleans"):
            f(x, where=[0.5, 7.0])


@pytest.mark.parametrize(("built", "later"), [(3, 1), (1, 3), (3, 2)])
def test_arrays_of_other_lengths_later_are_not_equal_by_repetition(built, later):
    x = wy.Input(np.ones(built))
    for other in (np.ones(built), wy.Input(np.ones(built))):
        found = np.array_equal(x, other)
        assert bool(found.value) is True
        x.value = np.ones(later)
        with pytest.raises(ValueError, match="shape"):
            found.forward()
        x.value = np.ones(built)


def test_masks_are_close_as_numpys():
    old = np.array([0.5, 1.5, np.nan])
    p = wy.Input(old)
    for equal_nan in (False, True):
        for a, b in ((lambda x: x > 0, lambda x: x > 1), (lambda x: x, lambda x: x > 1)):
            found = np.isclose(a(p), b(p), equal_nan=equal_nan)
            np.testing.assert_array_equal(
                found.value, np.isclose(a(old), b(old), equal_nan=equal_nan)
            )


def test_python_numbers_are_close_to_single_ones_as_numpys():
    x = np.array([1.0, 2.0], np.float32)
    for a, b in ((lambda x: x, lambda x: 1 - 2**-52), (lambda x: 1 - 2**-52, lambda x: x)):
        found = np.isclose(a(wy.Input(x)), b(wy.Input(x)), rtol=0, atol=0)
        np.testing.assert_array_equal(found.value, np.isclose(a(x), b(x), rtol=0, atol=0))


@pytest.mark.parametrize("places", [10**7, 400, 1, 0, -1, -2, -17, -400, -(10**7)])
def test_integers_are_rounded_to_any_number_of_places(places):
    x = wy.Parameter([16.0, 25.0, -149.0]).astype(int)
    expected = [int(round(n, max(places, -30))) for n in (16, 25, -149)]
    np.testing.assert_array_equal(np.round(x, places).value, expected)


@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_a_number_that_float32_has_not_is_true(name):
    """A Python number is asked itself whether it is 0, and not what it is as a float32."""
    numbers = [0.0, -0.0, 1e-46, 5e-324, -1e-310, 1e-45, 1.0, 1e300, np.nan, np.inf, 0, 1, True]
    for array in (np.float32([0.0, 1.0, 1e-45, np.nan]), np.float32(0.0), np.float32(2.0)):
        for number in [*numbers, *map(np.float64, numbers), *map(np.float32, numbers[:4])]:
            f = getattr(np, name)
            for g in (lambda x, f=f, y=number: f(x, y), lambda x, f=f, y=number: f(y, x)):
                np.testing.assert_array_equal(g(wy.Variable(array)).value, g(array), repr(number))


def either(x, y):
    return np.sum(x * np.where(np.logical_or(x, y), 2.0, 3.0))


@pytest.mark.parametrize("mode", ["trace", "source", "auto"])
def test_a_number_that_is_computed_is_true_too(mode):
    x = np.float32([0.0, 1.0])
    for y in (0.0, 1e-46, 1.0):
        found = wy.grad(either, mode=mode)(x, y)
        np.testing.assert_array_equal(found, np.where((x != 0) | (y != 0), 2.0, 3.0), f"{y}")
