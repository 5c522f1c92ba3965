"""Ragged: arrays of different lengths, against lists of arrays."""

import copy
import pickle
import re
import threading
from typing import Any

import numpy as np
import pytest

import wyrmling as wy

ROWS = [[1.0, 2.0], [], [3.0], [4.0, 5.0, 6.0], []]


def listed(x: wy.Ragged) -> list[Any]:
    """The entries as lists."""
    return [entry.tolist() for entry in x]


@pytest.fixture
def ragged() -> wy.Ragged:
    """Entries of lengths 2, 0, 1, 3, 0."""
    return wy.Ragged([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0, 2, 2, 3, 6, 6])


def test_entries(ragged: wy.Ragged) -> None:
    """One by one, from either end, and in order."""
    assert len(ragged) == 5
    assert listed(ragged) == ROWS
    assert [ragged[i].tolist() for i in range(-5, 5)] == ROWS + ROWS
    assert ragged[np.int8(-2)].tolist() == ragged[np.array(3)].tolist() == [4.0, 5.0, 6.0]
    assert ragged.lengths.tolist() == [2, 0, 1, 3, 0]
    assert ragged.offsets.dtype == ragged.lengths.dtype == np.int64
    assert ragged.dtype == np.float64


@pytest.mark.parametrize("seed", range(20))
def test_slices_and_lists_of_places(seed: int) -> None:
    """What is taken is what a list of the entries gives."""
    rng = np.random.default_rng(seed)
    rows = [rng.integers(0, 9, rng.integers(0, 4)) for _ in range(rng.integers(0, 7))]
    x = wy.Ragged.from_list(rows)
    n = len(rows)
    for _ in range(20):
        start, stop = (int(k) for k in rng.integers(-9, 10, 2))
        cut = slice(start, stop, int(rng.choice([-3, -1, 1, 2])))
        assert listed(x[cut]) == [row.tolist() for row in rows[cut]]
    places = rng.integers(-n, n, 5) if n else np.array([], np.int64)
    assert listed(x[places]) == listed(x[places.tolist()]) == [rows[i].tolist() for i in places]
    mask = rng.random(n) < 0.5
    assert listed(x[mask]) == [row.tolist() for row, keep in zip(rows, mask, strict=True) if keep]


def test_entries_of_several_axes() -> None:
    """Slices along the first axis."""
    values = np.arange(24.0).reshape(4, 2, 3)
    x = wy.Ragged(values, [0, 1, 1, 4])
    assert [entry.shape for entry in x] == [(1, 2, 3), (0, 2, 3), (3, 2, 3)]
    assert np.array_equal(x[2], values[1:])
    assert x == wy.Ragged.from_list([values[:1], [], values[1:]])
    assert np.array_equal(x[::-1].values, values[[1, 2, 3, 0]])
    assert repr(x) == "<Ragged of 3 arrays of float64, lengths 0 to 3 by 2 by 3>"


def test_no_entries_and_empty_ones() -> None:
    """Nothing at all is a Ragged too, and so is nothing but empty entries."""
    assert len(wy.Ragged([], [0])) == 0
    assert repr(wy.Ragged([], [0])) == "<Ragged of 0 arrays of float64>"
    empty = wy.Ragged(np.zeros(0, np.int32), [0, 0, 0])
    assert [entry.shape for entry in empty] == [(0,), (0,)]
    assert empty.dtype == np.int32
    assert empty == wy.Ragged.from_list([[], []])
    assert listed(empty[::-1]) == [[], []]
    assert wy.Ragged.from_list([]) == wy.Ragged([], [0])
    assert wy.Ragged.from_list([np.zeros(0, np.int8)]).dtype == np.int8


@pytest.mark.parametrize(
    "dtype", ["f4", "f8", "i1", "u1", "i4", "u8", ">f4", ">f8", ">i8", ">u2", "<i8"]
)
def test_any_layout_and_order_of_bytes(dtype: str) -> None:
    """Numbers are the same, in the machine's order of bytes and contiguous."""
    values = np.arange(12).astype(dtype)
    expected = [[0, 2], [4, 6, 8, 10]]
    for given in (values[::2], np.asfortranarray(values)[::2]):
        x = wy.Ragged(given, np.array([0, 99, 2, 99, 6])[::2].astype(">i4"))
        assert listed(x) == expected
        assert x.dtype.isnative
        assert x.values.flags.c_contiguous
        assert x.dtype == values.dtype.newbyteorder("=")


def test_it_is_a_copy_that_nobody_changes(ragged: wy.Ragged) -> None:
    """Not by what was given, an entry, or the arrays that it shows."""
    values, offsets = np.arange(6.0), np.array([0, 2, 6])
    x = wy.Ragged(values, offsets)
    values[:], offsets[:] = -1.0, 99
    assert listed(x) == [[0.0, 1.0], [2.0, 3.0, 4.0, 5.0]]
    for array in (x[0], x.values, x.offsets, ragged[1:].values, wy.Ragged([], [0]).values):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(ValueError, match="WRITEABLE"):
        x.values.setflags(write=True)
    for name in ("values", "offsets", "lengths", "dtype", "other"):
        with pytest.raises(AttributeError):
            setattr(x, name, values)
    given = np.arange(3.0)
    given.flags.writeable = False
    assert listed(wy.Ragged(given, [0, 3])) == [[0.0, 1.0, 2.0]]


def test_offsets_that_change_while_they_are_read() -> None:
    """What is checked is what is kept."""
    offsets = np.zeros(1001, np.int64)
    offsets[-1] = 5
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            offsets[1:-1] = 10**9
            offsets[1:-1] = 3

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(300):
            try:
                x = wy.Ragged(np.arange(5), offsets)
            except ValueError:
                continue
            assert sum(len(entry) for entry in x) == 5
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize(
    ("offsets", "error", "message"),
    [
        ([0.0, 2.0, 3.0], TypeError, "offsets: expected integers, got float64"),
        ([False, True], TypeError, "offsets: expected integers, got bool"),
        (np.array([]), TypeError, "offsets: expected integers, got float64"),
        (["0", "3"], TypeError, "offsets: expected integers, got <U1"),
        (None, TypeError, "offsets: expected integers, got object"),
        ([0, 2**70, 3], TypeError, "offsets: expected integers, got object"),
        ([], ValueError, r"n \+ 1 integers for n arrays, got shape (0,)"),
        (3, ValueError, r"n \+ 1 integers for n arrays, got shape ()"),
        ([[0, 3]], ValueError, r"n \+ 1 integers for n arrays, got shape (1, 2)"),
        ([1, 3], ValueError, "offsets: expected 0 at first, got 1"),
        ([-1, 3], ValueError, "offsets: expected 0 at first, got -1"),
        ([0, -1, 3], ValueError, "be less than the one before, got -1 after 0 at position 1"),
        ([0, 2, 1, 3], ValueError, "be less than the one before, got 1 after 2 at position 2"),
        ([0, 9, 3], ValueError, "be less than the one before, got 3 after 9 at position 2"),
        ([0, 2], ValueError, "offsets: expected the length of values, 3, at last, got 2"),
        ([0, 2**62], ValueError, "the length of values, 3, at last, got 4611686018427387904"),
        (np.array([0, 2**64 - 1, 3], np.uint64), ValueError, "got 3 after 18446744073709551615"),
    ],
)
def test_offsets_that_do_not_fit(offsets: Any, error: type[Exception], message: str) -> None:
    """Each by its name, value and what it should be."""
    message = message.replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(error, match=message):
        wy.Ragged([1.0, 2.0, 3.0], offsets)


@pytest.mark.parametrize(
    "values",
    [
        [True, False],
        np.zeros(2, np.float16),
        np.zeros(2, np.longdouble),
        [1j, 2.0],
        ["a", "b"],
        "ab",
        [None, 1.0],
        np.array(["2020-01-01", "2021-01-01"], "M8[D]"),
        [10**30, 1],
        np.ma.masked_array([1.0, 2.0], [True, False]),
    ],
)
def test_values_that_are_no_numbers(values: Any) -> None:
    """TypeError names the argument."""
    with pytest.raises(TypeError, match=r"^values: "):
        wy.Ragged(values, [0, 2])
    with pytest.raises(TypeError, match=r"^rows\[1\]: "):
        wy.Ragged.from_list([[1.0], values])


def test_values_without_axes() -> None:
    """A number is no array."""
    with pytest.raises(ValueError, match=r"^values: expected one axis or more, got the number 3.0"):
        wy.Ragged(3.0, [0, 1])
    with pytest.raises(TypeError, match=r"^rows\[0\]: expected an array, got the number 3"):
        wy.Ragged.from_list([3, 4])


@pytest.mark.parametrize(
    ("index", "error", "message"),
    [
        (5, IndexError, "index 5 is out of range; there are 5 arrays"),
        (-6, IndexError, "index -6 is out of range; there are 5 arrays"),
        (10**30, IndexError, "out of range"),
        ([0, 5], IndexError, "out of bounds"),
        ([True, False], IndexError, "boolean"),
        (np.zeros((2, 2), int), IndexError, "index: expected one axis, got an array of shape"),
        (True, TypeError, "index: expected an integer, a slice or an array, got True"),
        (1.0, TypeError, "index: expected an integer, a slice or an array, got float"),
        ((0, 1), TypeError, r"got tuple; write x\[i\]\[j\] for x\[i, j\]"),
        (None, TypeError, "got NoneType"),
        ([0.5], IndexError, "integer"),
    ],
)
def test_indices_that_do_not_fit(
    ragged: wy.Ragged, index: Any, error: type[Exception], message: str
) -> None:
    """As NumPy's, by kind of error."""
    with pytest.raises(error, match=message):
        ragged[index]


def test_lists_of_arrays() -> None:
    """The element type is the one that holds all numbers; empty entries have no say."""
    assert wy.Ragged.from_list([[1, 2], [], (3,)]).dtype == np.int64
    assert wy.Ragged.from_list([np.array([1, 2]), np.array([])]).dtype == np.int64
    assert wy.Ragged.from_list([np.zeros(1, np.float32), [1.5]]).dtype == np.float64
    assert wy.Ragged.from_list([np.zeros(1, np.int8), np.zeros(1, np.uint8)]).dtype == np.int16
    assert wy.Ragged.from_list(np.arange(k) for k in range(3)).lengths.tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match=r"^rows: no integers .* both int64 and uint64"):
        wy.Ragged.from_list([np.array([-1]), np.array([1], np.uint64)])
    for shape in ((1, 3), (1,), (0, 3), (2, 1, 1)):
        with pytest.raises(ValueError, match=re.escape("rows[1]: expected shape (any, 2)")):
            wy.Ragged.from_list([np.zeros((1, 2)), np.zeros(shape)])
    with pytest.raises(TypeError, match=r"^rows: expected a list of arrays, got str"):
        wy.Ragged.from_list("ab")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^rows: expected a list of arrays, got int"):
        wy.Ragged.from_list(3)  # type: ignore[arg-type]


def test_equality(ragged: wy.Ragged) -> None:
    """By lengths and numbers; NaN is no number's equal."""
    assert ragged == wy.Ragged.from_list(ROWS)
    assert ragged != wy.Ragged(ragged.values, [0, 2, 3, 3, 6, 6])
    assert ragged != ragged[:-1]
    assert ragged != ragged.values.tolist()
    assert wy.Ragged([1, 2], [0, 2]) == wy.Ragged([1.0, 2.0], [0, 2])
    nan = wy.Ragged([np.nan], [0, 1])
    assert nan != nan
    with pytest.raises(TypeError, match="unhashable"):
        hash(ragged)


def test_pickle_and_copy(ragged: wy.Ragged) -> None:
    """A pickle is checked as anything else; a copy is the object, which does not change."""
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        back = pickle.loads(pickle.dumps(ragged, protocol))
        assert back == ragged
        assert back.dtype == ragged.dtype
        assert not back.values.flags.writeable
    assert copy.copy(ragged) is ragged
    assert copy.deepcopy([ragged])[0] is ragged


def test_as_an_array(ragged: wy.Ragged) -> None:
    """Rows of one length are an array; others are refused, and NumPy's operators too."""
    even = wy.Ragged(np.arange(6), [0, 2, 4, 6])
    assert np.asarray(even).tolist() == [[0, 1], [2, 3], [4, 5]]
    assert np.asarray(even, np.float32).dtype == np.float32
    assert np.array(wy.Ragged([], [0])).shape == (0, 0)
    np.asarray(even)[0, 0] = 9
    assert even[0].tolist() == [0, 1]
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        assert np.shares_memory(np.array(even, copy=False), even.values)
        with pytest.raises(ValueError, match="copy"):
            np.array(even, np.float32, copy=False)
    with pytest.raises(ValueError, match="lengths 0 to 3 are not rows of one array"):
        np.asarray(ragged)
    with pytest.raises(TypeError):
        ragged + np.ones(5)  # type: ignore[operator]
    with pytest.raises(TypeError):
        np.ones(5) * ragged
    with pytest.raises(TypeError):
        np.sin(ragged)  # type: ignore[call-overload]


def test_a_million_entries() -> None:
    """Many short ones, and one of a million numbers."""
    lengths = np.random.default_rng(0).integers(0, 4, 10**6)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    x = wy.Ragged(np.arange(offsets[-1]), offsets)
    assert x[999_999].tolist() == list(range(offsets[-2], offsets[-1]))
    assert x[::-1][::-1] == x
    long = wy.Ragged(np.arange(10**6), [0, 0, 10**6, 10**6])
    assert long.lengths.max() == 10**6
    assert long[1][-1] == 10**6 - 1
