"""Arrays of integers as arguments: their elements are NumPy's integers, and look up rows."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wyrmling as wy

compiled = functools.partial(wy.compile, mode="source")
TABLE = np.arange(12.0).reshape(4, 3) / 7


def total(table: Any, places: Any) -> Any:
    """Elements as rows, from either end."""
    found = 0.0
    for i in places:
        found = found + table[i] @ table[i]
    return found


def pairs(table: Any, places: Any) -> Any:
    """Neighbours, by slices."""
    found = 0.0
    for i, j in zip(places[:-1], places[1:], strict=True):  # noqa: RUF007
        found = found + table[i] @ table[j]
    return found


def counted(table: Any, places: Any) -> Any:
    """By their numbers, from behind too."""
    found = 0.0
    for t in range(len(places)):
        found = found + table[places[t]] @ table[places[-1 - t]] * (t + 1)
    return found


def numbered(table: Any, places: Any) -> Any:
    """As numbers among floats."""
    found = 0.0
    for t, i in enumerate(places):
        found = found + table[0, 1] * i / 3 + i * 0.5 * table[1, 2] + (i - t) ** 2 * table[2, 0]
    return found


def compared(table: Any, places: Any) -> Any:
    """What decides."""
    found = 0.0
    for i in places:
        if i >= 2 or i == 0:
            found = found + table[i, 0]
        elif i:
            found = found - table[i, 1]
    return found


def fancy(table: Any, places: Any) -> Any:
    """All rows at once."""
    return (table[places] * table[places[::-1]]).sum() + table[places][0] @ table[places][-1]


def by_range(table: Any, places: Any) -> Any:
    """As ends of ranges, and as plain integers."""
    found = 0.0
    for i in places:
        for k in range(i):
            found = found + table[k, i % 3] * int(i)
    return found


FUNCTIONS = [total, pairs, counted, numbered, compared, fancy, by_range]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("places", [[3, 1, 2], [0], [1, 1, 1, 3, 0, 2], [2] * 40])
def test_value_and_gradient(function: Callable[..., Any], places: list[int]) -> None:
    """As Python and tracing have them."""
    given = np.array(places)
    expected = function(TABLE, given)
    assert float(compiled(function)(TABLE, given)) == pytest.approx(float(expected), rel=1e-14)
    found = wy.grad(function, mode="source")(TABLE, given)
    assert np.allclose(found, wy.grad(function, mode="trace")(TABLE, given), rtol=1e-13)


def test_other_lengths_are_the_same_program() -> None:
    """Nothing is read anew for another length, empty ones among them."""
    gradient = wy.grad(total, mode="source")
    for places in ([1, 2], [], [0], list(range(4)) * 100):
        found = gradient(TABLE, np.array(places, np.int64))
        assert np.allclose(found, 2 * TABLE * np.bincount(places, minlength=4)[:, None])


def test_negative_ones_count_from_the_end() -> None:
    """As in Python."""
    given = np.array([-1, 0, -4, 3])
    assert compiled(total)(TABLE, given) == pytest.approx(total(TABLE, given))
    found = wy.grad(total, mode="source")(TABLE, given)
    assert np.allclose(found, wy.grad(total, mode="trace")(TABLE, given))
    # All at once they are left to Python.
    assert compiled(fancy)(TABLE, given) == pytest.approx(fancy(TABLE, given))


def test_rows_of_a_matrix_of_integers() -> None:
    """An array of several axes is gone through row by row."""
    given = np.array([[1, 2], [3, 3]])

    def rows(table: Any, places: Any) -> Any:
        found = 0.0
        for row in places:
            found = found + table[row[0]] @ table[row[1]]
        return found + places[1, 0] * table[0, 0] + places.shape[1] * table[1, 1]

    assert compiled(rows)(TABLE, given) == pytest.approx(rows(TABLE, given))
    assert np.allclose(
        wy.grad(rows, mode="source")(TABLE, given), wy.grad(rows, mode="trace")(TABLE, given)
    )


def best_of_each(table: Any, places: Any) -> Any:
    """Of each column one place, chosen by integers that are computed."""
    best = np.argmax(table[places][..., 0] > 0.3, axis=0, keepdims=True)
    chosen = np.take_along_axis(places, best, axis=0)
    last = np.take_along_axis(places, np.argmax(table[places][..., 1], axis=0)[None] - 1, axis=0)
    return (table[chosen] ** 2).sum() + (table[last[:, ::-1]] * table[chosen]).sum()


def at_given(table: Any, places: Any) -> Any:
    """Elements of rows at integers that are given."""
    return (np.take_along_axis(table.T, places, axis=1) ** 2).sum() * table[places[0]].sum()


@pytest.mark.parametrize("function", [best_of_each, at_given])
@pytest.mark.parametrize("mode", ["source", "trace"])
def test_integers_along_an_axis(function: Callable[..., Any], mode: Any) -> None:
    """As NumPy takes them, and for other lengths."""
    rng = np.random.default_rng(0)
    gradient = wy.value_and_grad(function, mode=mode)
    for width in (4, 4, 1, 6):
        places = rng.integers(0, 4, (3, width))
        value, found = gradient(TABLE, places)
        assert value == pytest.approx(function(TABLE, places), rel=1e-14)
        for at in np.ndindex(TABLE.shape):
            step = np.zeros_like(TABLE)
            step[at] = 1e-6
            ends = [function(TABLE + s, places) for s in (step, -step)]
            assert found[at] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6, abs=1e-8)


def test_integers_along_an_axis_are_within_it() -> None:
    """Negative ones count from the end, others raise, in every mode."""
    for mode in ("source", "trace", "auto"):
        value = wy.compile(at_given, mode=mode) if mode != "trace" else at_given
        negative = np.array([[-1, 0], [1, -4], [2, 2]])
        assert value(TABLE, negative) == pytest.approx(at_given(TABLE, negative))
        for outside in (4, -5):
            with pytest.raises(IndexError):
                value(TABLE, np.array([[0], [0], [outside]]))
    x = wy.Input(np.array([[3.0, 4.0, -3.0]]))
    place = np.argmax(x, axis=1, keepdims=True)
    taken = np.take_along_axis(np.array([[5, 6, 7]]), place - 1, axis=1)
    assert taken.dtype.kind in "iu"
    np.testing.assert_array_equal(taken.value, [[5]])
    x.value = np.array([[7.0, 4.0, -3.0]])
    np.testing.assert_array_equal(taken.value, [[7]])
    outside = np.take_along_axis(np.array([[5, 6, 7]]), place + 1, axis=1)
    x.value = np.array([[1.0, 4.0, 8.0]])
    with pytest.raises(IndexError):
        outside.value  # noqa: B018


def test_a_captured_array() -> None:
    """Its numbers are looked at anew at each call."""
    places = np.array([0, 2])

    def lookup(table: Any) -> Any:
        return table[places[0]] @ table[places[1]]

    read = compiled(lookup)
    assert read(TABLE) == TABLE[0] @ TABLE[2]
    places[1] = 3
    assert read(TABLE) == TABLE[0] @ TABLE[3]


@pytest.mark.parametrize(
    "function",
    [
        lambda i, j, x: (type(i) is np.int64, isinstance(i, int), type(i + 1) is np.int64),
        lambda i, j, x: (i + j, i - j, i * j, -i, +i, ~i, abs(i), i // j, i % j, i / j),
        lambda i, j, x: (i & j, i | j, i ^ j, i << 2, i >> 1, i**2, 2**j, True + i),
        lambda i, j, x: (
            i * x,
            x / j,
            i + 1.5,
            2.5 // j,
            i * np.float32(1.5),
            x - i,
            abs(i) ** 0.5,
        ),
        lambda i, j, x: (i < j, i == 3, i != x, ~(i == j), (i == j) | (i < j), not i),
        lambda i, j, x: (int(i), float(i), bool(i), math.sqrt(j), i.item(), np.sqrt(j)),
        lambda i, j, x: ({3: 5.0, -3: 7.0}[i],),
        lambda i, j, x: (max(i, j), min(i, j, 0), i if i > j else x, sum([i, j], 0.0)),
        lambda i, j, x: divmod(i, j),
    ],
)
@pytest.mark.parametrize("i", [3, -3])
def test_elements_are_integers_of_numpys(function: Callable[..., Any], i: int) -> None:
    """Results have the values and types that NumPy's have."""
    read = compiled(lambda places, x: function(places[0], places[1], x))
    given = np.array([i, 2])
    expected = function(given[0], given[1], 0.75)
    try:
        found = read(given, 0.75)
    except wy.SourceError as refusal:
        pytest.fail(str(refusal))
    assert found == expected
    assert [type(one) for one in found] == [type(one) for one in expected]


@pytest.mark.parametrize(
    "function",
    [
        lambda i, x: x / (i - i),
        lambda i, x: (i + 1) // (i - i),
        lambda i, x: i % (i - i) + x,
        lambda i, x: (i + 2**31) * 2**40 * x,
        lambda i, x: (2 - (i + 2)) / x,
    ],
)
def test_where_numpy_warns(function: Callable[..., Any]) -> None:
    """Division by zero and overflow give NumPy's numbers."""
    read = compiled(lambda places, x: function(places[0], x))
    with np.errstate(all="ignore"):
        expected = function(np.int64(3), 2.0)
        assert read(np.array([3]), 2.0) == expected


def test_a_negative_power() -> None:
    """NumPy refuses it."""
    for function in (lambda p, x: p[0] ** -1 * x, lambda p, x: 2 ** p[1] * x):
        with pytest.raises(ValueError, match="negative integer powers"):
            compiled(function)(np.array([3, -1]), 1.0)


@pytest.mark.parametrize(
    "function",
    [
        lambda p, x: np.sum(2**p * x),
        lambda p, x: np.sum(p ** (p - 1) * x),
        lambda p, x: np.sum(np.power(p, p[1] - 2) * x),
        lambda p, x: np.sum((p > x) ** p * x),
    ],
)
def test_a_negative_power_of_an_array(function: Callable[..., Any]) -> None:
    """NumPy refuses it if one of them is negative."""
    read = compiled(function)
    assert read(np.array([1, 3]), 1.5) == function(np.array([1, 3]), 1.5)
    with pytest.raises(ValueError, match="negative integer powers"):
        read(np.array([3, -1]), 1.5)


@pytest.mark.parametrize(
    "function",
    [
        lambda p, x: np.sum(np.exp(p > 0) * x),
        lambda p, x: np.sum(np.logaddexp(p > 0, p > 1) * x),
        lambda p, x: np.sum((p > 0) * np.int8(100) * np.int8(2) * x),
        lambda p, x: np.sum(((p > 0) + np.uint8(255)) * x),
        lambda p, x: np.sum((p > 0) // (p < 9) * x),
    ],
)
def test_what_numpy_has_in_less_than_64_bits(function: Callable[..., Any]) -> None:
    """It is refused, since a program has more: NumPy makes float16 and int8 of masks."""
    with pytest.raises(wy.SourceError, match=r"which gives (float16|int8|uint8) here"):
        compiled(function)(np.array([1, 2]), 1.5)
    given = np.array([1, -2]), 1.5
    assert [wy.compile(function)(*given) for _ in range(3)] == [function(*given)] * 3


@pytest.mark.parametrize(
    "function",
    [
        lambda p, n: (p << n, p >> n, 1 << p, p >> p),
        lambda p, n: (~p, ~(p > 1), (p > 1) << 1),
        lambda p, n: (p & 1, p & 0b110110, p & -4, 6 & p, p & 0, p & np.int64(2**40 + 5)),
        lambda p, n: (p | 6, 5 | p, p | -8, p | 2**40),
        lambda p, n: (p ^ 3, p ^ -1, 12 ^ p, p ^ np.int64(-(2**31))),
        lambda p, n: (np.arange(8) >> n & 1, p >> n & 1),
    ],
)
def test_bits_of_arrays(function: Callable[..., Any]) -> None:
    """As NumPy has them, for negative integers too, and for shifts that leave."""

    def weighed(x: Any, p: Any, n: int) -> Any:
        return sum([np.sum(bits * x) for bits in function(p, n)])

    read = wy.value_and_grad(weighed, mode="source")
    for integers in ([1, 2, 7], [0, 5, 100], [-1, -2, -7], [2**31 - 1, -(2**31), 0]):
        for n in (0, 1, 3, 40):
            places = np.array(integers)
            expected = weighed(1.0, places, n)
            assert read(1.5, places, n) == (weighed(1.5, places, n), expected)


def test_integers_that_do_not_fit() -> None:
    """Beyond 32 bits an array is refused, and within them it is not."""
    read = compiled(lambda places, x: places[0] * x)
    auto = wy.compile(lambda places, x: places[0] * x, mode="auto")
    for i in (2**31 - 1, -(2**31), 2**31, -(2**31) - 1, 2**63 - 1, 5):
        assert auto(np.array([i]), 0.5) == np.int64(i) * 0.5
        if -(2**31) <= i < 2**31:
            assert read(np.array([i]), 0.5) == np.int64(i) * 0.5
        else:
            with pytest.raises(wy.SourceError, match="integers of more than 32 bits"):
                read(np.array([i]), 0.5)


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.uint32, np.uint64, ">i8"])
def test_other_element_types(dtype: Any) -> None:
    """They are refused when read, and traced else."""
    given = np.array([1, 0]).astype(dtype)
    with pytest.raises(wy.SourceError, match=r"argument 1, an ndarray of .*, is not supported"):
        wy.grad(total, mode="source")(TABLE, given)
    assert np.allclose(
        wy.grad(total, mode="auto")(TABLE, given), wy.grad(total)(TABLE, np.array([1, 0]))
    )


@pytest.mark.parametrize(
    "function",
    [
        lambda p, x: (p + 1)[0] * x,
        lambda p, x: p.sum() * x,
        lambda p, x: np.sum(p * x),
        lambda p, x: p[p][0] * x,
        lambda p, x: (p > 0).sum() * x,
        lambda p, x: p.astype(float)[0] * x,
        lambda p, x: np.concatenate([p, p])[0] * x,
        lambda p, x: np.zeros((4, 2))[p, 0].sum() * x,
        lambda p, x: (np.where(p > 0, int(x), 3) // p).sum() * x,
        lambda p, x: (np.where(p > 0, int(x), 3) % (p > 0).sum()).sum() * x,
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_arithmetic_of_whole_arrays(function: Callable[..., Any]) -> None:
    """As NumPy's, and for other integers."""
    read = compiled(function)
    for given in (np.array([1, 1]), np.array([0, 1]), np.array([-1, 0]), np.array([1, -2])):
        assert read(given, 1.5) == function(given, 1.5)
        assert wy.grad(function, 1, mode="source")(given, 1.5) == function(given, 1.0)


def test_an_array_of_integers_and_a_list() -> None:
    """An array that is made of arrays of integers has none."""
    with pytest.raises(wy.SourceError, match="integers"):
        compiled(lambda p, x: x * np.array([p, p]).sum())(np.array([1, 2]), 1.5)


def test_truths_of_other_lengths_and_numbers() -> None:
    """One program for all masks of an argument."""

    def some(x: Any, mask: Any) -> Any:
        return (x[mask] ** 2).sum() + (x * mask).sum() * len(mask)

    slope = wy.grad(some, mode="source")
    for mask in ([True, False], [False] * 3, [True] * 3, [], [False, True, True, False]):
        given = np.array(mask, bool)
        x = np.arange(1.0, len(mask) + 1.0)
        np.testing.assert_array_equal(slope(x, given), given * (2 * x + len(mask)))
    with pytest.raises(IndexError):
        slope(np.ones(3), np.array([True, False]))


def test_results_and_derivatives_by_integers() -> None:
    """An array of integers is no result, and has no derivative."""
    with pytest.raises(wy.SourceError, match="an array of integers as a result"):
        compiled(lambda p: p[1:])(np.array([1, 2]))
    with pytest.raises(wy.SourceError, match="an array of integers as a result"):
        compiled(lambda p: p)(np.array([1, 2]))
    for mode in ("source", "auto", "trace"):
        with pytest.raises(Exception) as error:  # noqa: PT011
            wy.grad(total, argnums=1, mode=mode)(TABLE, np.array([1, 2]))  # type: ignore[arg-type]
        assert type(error.value) in (TypeError, wy.SourceError, ValueError, IndexError)


def test_ways_that_meet() -> None:
    """Arrays of integers, and elements, from two branches."""

    def chosen(x: Any, p: Any, q: Any) -> Any:
        places = p if x > 0.5 else q
        i = places[0] if x > 0.25 else 1
        for j in places:
            i = j if j > i else i
        return x * i

    read, gradient = compiled(chosen), wy.grad(chosen, mode="source")
    for x in (0.9, 0.4, 0.1):
        p, q = np.array([1, 3]), np.array([2, -5])
        assert read(x, p, q) == chosen(x, p, q)
        assert gradient(x, p, q) == chosen(1.0, p, q) if x == 0.9 else True


def test_a_write_is_refused() -> None:
    """The caller's array stays as it is."""

    def write(p: Any, x: Any) -> Any:
        p[0] = 5
        return p[0] * x

    given = np.array([1, 2])
    with pytest.raises(wy.SourceError, match="write"):
        compiled(write)(given, 1.0)
    assert given.tolist() == [1, 2]


def test_an_index_that_is_out_of_range() -> None:
    """Python's own exception."""
    for places in ([4], [0, -5], [2**31 - 1]):
        for function in (total, fancy):
            with pytest.raises(IndexError):
                wy.grad(function, mode="source")(TABLE, np.array(places))
            with pytest.raises(IndexError):
                compiled(function)(TABLE, np.array(places))


def test_targets_of_a_cross_entropy() -> None:
    """Several places, a part of them, and one number; against the logarithm of the softmax."""

    def entropy(x: Any, targets: Any) -> Any:
        return wy.cross_entropy(x * x, targets).sum()

    def of_one(x: Any, target: Any) -> Any:
        return wy.cross_entropy(x * x, target)

    def of_a_part(x: Any, targets: Any) -> Any:
        return (wy.cross_entropy(x, targets[1:5]) * np.arange(4.0)).sum()

    targets = np.array([2, 0, 1, 2, 2])
    share = np.exp(TABLE - TABLE.max()) / np.exp(TABLE - TABLE.max()).sum(axis=1, keepdims=True)
    for mode in ("source", "trace"):
        found = wy.grad(of_a_part, mode=mode)(TABLE, targets)
        expected = np.arange(4.0)[:, None] * (share - np.eye(3)[targets[1:]])
        np.testing.assert_allclose(found, expected)
        for target in (0, 2, np.int64(1)):
            found = wy.grad(of_one, mode=mode)(TABLE[1], target)
            odds = np.exp(TABLE[1] ** 2)
            expected = 2 * TABLE[1] * (odds / odds.sum() - np.eye(3)[target])
            np.testing.assert_allclose(found, expected)
    for bad in (np.array([0, 1, 2, 3]), np.array([0, 1, 2, -1])):
        for function in (wy.grad(entropy, mode="source"), wy.grad(entropy, mode="trace")):
            with pytest.raises(IndexError, match="out of range"):
                function(TABLE, bad)
    for number in (3, -1):
        with pytest.raises(IndexError, match="out of range"):
            wy.grad(of_one, mode="source")(TABLE[0], number)
    assert compiled(entropy)(TABLE, targets[:4]) == pytest.approx(
        entropy(TABLE, targets[:4]).item()
    )


def test_arrays_of_integers_that_are_made_in_the_function_have_their_methods() -> None:
    """They are as long as an argument, and known while the function is read."""

    def shaped(x: Any) -> Any:
        return np.sum(np.arange(x.size).reshape(x.shape) * x)

    def converted(x: Any) -> Any:
        a = np.arange(len(x))
        return np.sum(a.astype(float) ** 2 * x.T) + a.shape[0] * a.max() * x[0, 0] + a.mean()

    def picked(x: Any) -> Any:
        a = np.array([1, 0])
        return np.sum(x[a.argsort()][:, a.item(0)] * a.ndim) * a.T[0]

    for x in (TABLE[:2, :2], TABLE[:3, :3]):
        count = len(x)
        corner = np.zeros(x.shape)
        corner[0, 0] = count * (count - 1)
        columns = np.broadcast_to(np.arange(count) ** 2.0, x.shape).T
        column = np.zeros(x.shape)
        column[:2, 1] = 1.0
        ways = (shaped, np.arange(x.size).reshape(x.shape)), (converted, columns + corner)
        for function, expected in (*ways, (picked, column)):
            np.testing.assert_array_equal(wy.grad(function, mode="source")(x), expected)

    def absent(x: Any) -> Any:
        return np.arange(x.size).nothing * x  # type: ignore[attr-defined]

    def changed(x: Any) -> Any:
        a = np.arange(x.size)[::-1].copy()
        a.sort()
        return np.sum(a * x.ravel())

    with pytest.raises(AttributeError, match="nothing"):
        wy.grad(absent, mode="source")(TABLE)
    slopes = wy.grad(changed, mode="source")(TABLE)
    np.testing.assert_array_equal(slopes, np.arange(TABLE.size).reshape(TABLE.shape))
