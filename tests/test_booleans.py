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
    "count_nonzero": lambda x: np.count_nonzero(x > 0) + 0.0,
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
    "rows by": lambda x: wy.take(OLD, (x > 0) + 0, 0),
    "masked": lambda x: x[x > 0],
    "isnan": lambda x: np.isnan(x) + np.isfinite(x) + np.signbit(x),
    "float of integers": lambda x: x.astype(int).astype(float) / 2 // 0.5,
}
REFUSED = {"minus", "negative", "positive", "np.negative", "~ 3", "& 1", "any", "count_nonzero"}
REFUSED |= {"dot", "@", "diff", "masked"}


def changed(mask):
    q = mask.copy()
    q[0] = 5.0
    q[1:2] = 0
    return q + mask


@pytest.mark.parametrize("leaf", [wy.Input, wy.Parameter])
@pytest.mark.parametrize("name", ANSWERS)
def test_booleans_are_numpys(name, leaf):
    f, x = ANSWERS[name], leaf(OLD)
    if name in REFUSED and not (leaf is wy.Parameter and name in ("any", "count_nonzero")):
        with pytest.raises(TypeError):
            f(x)
        return
    y = f(x)
    if not isinstance(y, wy.Variable):  # asked of a parameter as it is now
        return
    np.testing.assert_array_equal(y.value, f(OLD))
    program = wy.freeze(y)
    if leaf is wy.Input:
        np.testing.assert_array_equal(program.run({x: NEW}), f(NEW))
    x.value = NEW
    np.testing.assert_array_equal(y.value, f(NEW))
    if leaf is wy.Parameter:
        np.testing.assert_array_equal(program.run(), f(NEW))
    if name != "prod":  # which is a float's
        integers = np.asarray(f(OLD)).dtype.kind == "i"
        assert (y.dtype.kind == "i") == integers


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


def test_numbers_are_no_masks_because_they_are_0_or_1_now():
    """Another value of the input would be answered by false."""
    for made in (lambda x: x & (x > 0), lambda x: ~x, lambda x: (x > 0) | x):
        with pytest.raises(TypeError, match="follows an input"):
            made(wy.Input([1.0, 0.0]))
        with pytest.raises(TypeError, match="follows an input"):
            made(wy.IndexInput([1, 0]))
