"""Interactions: frames, sparse matrices and columns, by plain Python."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from interaction_rows import rows_of

from wyrmling.data import Ids, Interactions

ROWS = [
    ("ann", 7, 5.0, 1.0, 30),
    ("bob", 7, 1.0, 2.0, 10),
    ("ann", 9, 4.0, 0.5, 20),
    ("ann", 7, 2.0, 1.5, 20),
    ("bob", "7", 3.0, 1.0, 10),
    ("cid", 9, 3.0, 0.0, 5),
]
NAMES = ("who", "what", "stars", "count", "when")
WHERE: Any = {"user": "who", "item": "what", "value": "stars", "weight": "count", "time": "when"}


DATA = Interactions.from_frame(dict(zip(NAMES, zip(*ROWS, strict=True), strict=True)), **WHERE)


def test_a_dict_of_columns() -> None:
    assert rows_of(DATA) == ROWS
    assert DATA.values is not None
    assert DATA.weights is not None
    assert DATA.times is not None
    assert (DATA.values.dtype, DATA.weights.dtype) == (np.float32, np.float32)
    assert DATA.times.dtype == np.int64
    assert list(DATA.item_ids) == [7, 9, "7"]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_frames(library: str) -> None:
    frames = pytest.importorskip(library)
    columns = dict(zip(NAMES, map(list, zip(*ROWS, strict=True)), strict=True))
    columns["what"] = [str(item) for item in columns["what"]]
    make = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}[library]
    frame = getattr(frames, make)(columns)
    data = Interactions.from_frame(frame, **WHERE)
    assert rows_of(data) == [(u, str(i), *rest) for u, i, *rest in ROWS]
    bare = Interactions.from_frame(frame, user="who", item="what")
    assert (bare.values, bare.weights, bare.times) == (None, None, None)
    with pytest.raises(KeyError, match="item: no column 'song', the frame has 'who', 'what'"):
        Interactions.from_frame(frame, user="who", item="song")
    with pytest.raises(TypeError, match=r"users: row 0, counted from 0, is .*5\.0"):
        Interactions.from_frame(frame, user="stars", item="what")


def test_datetimes_and_missing_values_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "u": [1, 2],
            "i": ["a", "b"],
            "t": pandas.to_datetime(["1970-01-02 00:00:00.0", "1970-01-01 00:00:01.5"]),
            "v": [1.0, None],
            "n": [1, None],
        }
    )
    data = Interactions.from_frame(frame, user="u", item="i", time="t")
    assert data.times is not None
    assert data.times.tolist() == [86400.0, 1.5]
    with pytest.raises(ValueError, match="values: row 1"):
        Interactions.from_frame(frame, user="u", item="i", value="v")
    with pytest.raises((TypeError, ValueError), match=r"users: row [01]"):
        Interactions.from_frame(frame, user="n", item="i")


def test_categories_that_no_row_has_need_not_be_ids() -> None:
    pandas = pytest.importorskip("pandas")
    column = pandas.Series(pandas.Categorical(["tea", "nan", "rye", "tea"], ["nan", "rye", "tea"]))
    data = Interactions.from_ids([1, 2, 3], column[column != "nan"])
    assert (data.items.tolist(), list(data.item_ids)) == ([0, 1, 0], ["tea", "rye"])
    with pytest.raises(ValueError, match=r"categories of items: .* 'nan', which stands for a mis"):
        Interactions.from_ids([1, 2, 3, 4], column)
    mixed = pandas.Series(pandas.Categorical([7, "a", 7]))
    assert Interactions.from_ids([1, 2], mixed[[0, 2]]).item_ids.values.dtype == np.int64
    assert len(Interactions.from_ids([], column[:0]).item_ids) == 0


@pytest.mark.parametrize("year", [1000, 3000])
def test_years_that_have_no_nanoseconds_stay_what_they_are(year: int) -> None:
    pandas = pytest.importorskip("pandas")
    of_utc = pandas.Series(pandas.to_datetime([f"{year}-01-01"], utc=True))
    columns = [of_utc, of_utc.dt.tz_convert("Europe/Paris")]
    pyarrow = pytest.importorskip("pyarrow")
    for unit in (pyarrow.timestamp("s", "UTC"), pyarrow.timestamp("us"), pyarrow.date32()):
        columns.append(of_utc.dt.tz_localize(None).astype(pandas.ArrowDtype(unit)))
    expected = datetime(year, 1, 1, tzinfo=UTC).timestamp()
    for times in columns:
        data = Interactions.from_ids([1], [2], times=times)
        assert data.times is not None
        assert data.times.tolist() == [expected]


def test_times_with_and_without_a_zone_are_not_mixed() -> None:
    naive = datetime(2020, 1, 1)
    here = naive.replace(tzinfo=timezone(timedelta(hours=2)))
    for times in ([here, naive], [here, date(2020, 1, 1)], np.array([here, naive], object)):
        with pytest.raises(
            ValueError, match=r"^times: row 1, .* without a time zone, and row 0 has"
        ):
            Interactions.from_ids([1, 2], [1, 1], times=times)
    data = Interactions.from_ids([1, 2], [1, 1], times=[here, here.astimezone(UTC)])
    assert data.times is not None
    assert data.times.tolist() == [here.timestamp()] * 2


def test_days_and_decimals_of_databases_are_times_and_numbers() -> None:
    days = [date(1970, 1, 2), datetime(1970, 1, 1, 0, 0, 1), date(1969, 12, 31)]
    prices = [Decimal("0.5"), 2, Decimal("1e3")]
    data = Interactions.from_ids([1, 2, 3], [1, 1, 1], values=prices, times=days)
    assert data.values is not None
    assert data.times is not None
    assert data.values.tolist() == [0.5, 2.0, 1000.0]
    assert data.times.tolist() == [86400.0, 1.0, -86400.0]
    for nan in ("NaN", "sNaN"):
        with pytest.raises(ValueError, match=f"values: row 1, .* is {nan}, which stands for"):
            Interactions.from_ids([1, 2], [1, 1], values=[Decimal(1), Decimal(nan)])
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"u": [1], "i": [2], "v": [Decimal("1.25")]})
    data = Interactions.from_frame(frame, user="u", item="i", value="v")
    assert data.values is not None
    assert data.values.tolist() == [1.25]


def test_columns_of_polars() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"u": [2**40, 2**40], "i": [1, 2], "t": [0, 86_400_000_000_000 - 1]})
    wide = frame.with_columns(polars.col("u", "i").cast(polars.Int128))
    data = Interactions.from_frame(wide, user="u", item="i", value="u", time="i")
    assert rows_of(data) == [(2**40, 1, 2.0**40, 1), (2**40, 2, 2.0**40, 2)]
    wider = wide.with_columns(polars.lit(2**100, polars.Int128).alias("u"))
    with pytest.raises(ValueError, match="users: row 0, counted from 0, is an integer of 101 bits"):
        Interactions.from_frame(wider, user="u", item="i")
    missing = wide.with_columns(polars.lit(None, polars.Int128).alias("u"))
    with pytest.raises(ValueError, match=r"users: row 0, .* missing value"):
        Interactions.from_frame(missing, user="u", item="i")
    with pytest.raises(TypeError, match="frame: expected a data frame, got LazyFrame"):
        Interactions.from_frame(frame.lazy(), user="u", item="i")
    of_day = frame.with_columns(polars.col("t").cast(polars.Time))
    with pytest.raises(TypeError, match=r"times: row 0, .*datetime\.time\(0, 0\)"):
        Interactions.from_frame(of_day, user="u", item="i", time="t")


def test_ranges_are_ids_without_a_list_of_them() -> None:
    ends = range(-(2**63), 1 - 2**63), range(2**63 - 2, 2**63)
    for numbers in (range(0), range(7, -7, -3), *ends):
        assert list(Ids(numbers)) == list(numbers)
    with pytest.raises(ValueError, match="ids: row 1, counted from 0, is an integer of 64 bits"):
        Ids(range(2**63 - 1, 2**63 + 1))
    tracemalloc.start()
    ids = Ids(range(200_000))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # Integers of Python and a list of them would be 40 bytes each, beside 8 times 8.
    assert most < 9 * ids.values.nbytes


def test_an_index_of_several_levels_is_no_column() -> None:
    pandas = pytest.importorskip("pandas")
    index = pandas.MultiIndex.from_tuples([("a", 1), ("b", 2)])
    with pytest.raises(TypeError, match="users: expected a column, found a MultiIndex of 2 levels"):
        Interactions.from_ids(index, [1, 2])
    with pytest.raises(TypeError, match="values: expected a column, found a MultiIndex of 2"):
        Interactions.from_ids([1, 2], [1, 2], values=index)


@pytest.mark.parametrize("frame", ["who", b"x", 3, None, np.zeros((2, 2)), [("who", "what")]])
def test_what_is_no_frame(frame: Any) -> None:
    with pytest.raises(TypeError, match="frame: expected a data frame"):
        Interactions.from_frame(frame, user="who", item="what")


def test_entries_of_one_place_add_up_in_any_format() -> None:
    places = ([1, 0, 1, 0, 0], [0, 1, 0, 2, 2])
    counts = scipy.sparse.coo_matrix(([2, 1, 3, 4, -4], places), shape=(2, 3))
    for matrix in (counts, counts.tocsr(), counts.tocsc()):
        assert sorted(rows_of(Interactions.from_csr(matrix))) == [(0, 1, 1.0), (1, 0, 5.0)]
    assert counts.nnz == 5
    flags = scipy.sparse.coo_matrix((np.ones(5, bool), places), shape=(2, 3))
    assert rows_of(Interactions.from_csr(flags)) == [(0, 1, 1.0), (0, 2, 1.0), (1, 0, 1.0)]
    assert flags.nnz == 5
    # Where none repeats they stay in their order.
    once = scipy.sparse.coo_matrix(([2, 1], ([1, 0], [0, 1])))
    assert rows_of(Interactions.from_csr(once)) == [(1, 0, 2.0), (0, 1, 1.0)]


@pytest.mark.parametrize("kind", ["csr", "coo", "csc", "lil"])
def test_sparse_matrices(kind: str) -> None:
    dense = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [1.5, 0.0, 3.0]])
    matrix = scipy.sparse.coo_matrix(dense).asformat(kind)
    data = Interactions.from_csr(matrix)
    assert (data.n_users, data.n_items) == (3, 3)
    assert sorted(rows_of(data)) == [(0, 1, 2.0), (2, 0, 1.5), (2, 2, 3.0)]
    named = Interactions.from_csr(matrix, ["a", "b", "c"], [10, 20, 30])
    assert sorted(rows_of(named)) == [("a", 20, 2.0), ("c", 10, 1.5), ("c", 30, 3.0)]
    stored = scipy.sparse.csr_matrix(([0.0, 1.0], ([0, 1], [0, 1])), shape=(2, 2))
    assert rows_of(Interactions.from_csr(stored)) == [(1, 1, 1.0)]
    with pytest.raises(ValueError, match="user_ids has 2 ids, expected 3"):
        Interactions.from_csr(matrix, ["a", "b"])
    with pytest.raises(TypeError, match="expected a sparse matrix"):
        Interactions.from_csr(dense)
    with pytest.raises(ValueError, match="values: row 0"):
        Interactions.from_csr(scipy.sparse.csr_matrix([[np.nan]]))


def test_other_words_are_refused() -> None:
    with pytest.raises(ValueError, match="values is 'median', expected 'last' or"):
        DATA.unique_pairs("median")  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [[-1.0], [np.nan], [np.inf]])
def test_weights_are_finite_and_not_negative(wrong: Any) -> None:
    with pytest.raises(ValueError, match="weights"):
        Interactions.from_ids(["a"], ["b"], weights=wrong)


def test_columns_of_different_length() -> None:
    with pytest.raises(ValueError, match="same length"):
        Interactions.from_ids(["a", "b"], ["x", "y"], values=[1.0])


def test_a_complex_number_is_refused_in_a_column_of_objects_too() -> None:
    column = np.array([np.complex128(1 + 2j)], object)
    with pytest.raises(TypeError, match=r"^values: row 0, .* is .*1\+2j.*, expected a number"):
        Interactions.from_ids(["a"], ["b"], values=column)


@pytest.mark.parametrize("column", [[2**63, -1], [2**63, 0], [np.uint64(2**63), np.int64(3)]])
def test_no_list_of_integers_becomes_floats_as_numpy_makes_them(column: Any) -> None:
    for times in (column, np.array([int(time) for time in column], object)):
        with pytest.raises(ValueError, match=r"^times: row 0, .* of 64 bits, .* int64 holds$"):
            Interactions.from_ids(["a", "b"], ["x", "y"], times=times)
    small = Interactions.from_ids(["a", "b"], ["x", "y"], times=[np.uint64(1), np.int64(-3)])
    assert small.times is not None
    assert small.times.dtype == np.int64
    assert small.times.tolist() == [1, -3]


@pytest.mark.parametrize(
    ("date", "kind", "seconds"),
    [
        (-(2**63) + 1, "M8[ns]", -(2.0**63) / 1e9),  # pandas' least Timestamp
        (2**63 - 1, "M8[ns]", 2.0**63 / 1e9),
        (-(2**63) + 1, "M8[us]", -(2.0**63) / 1e6),
        (-1, "M8[as]", 0.0),
        (2**60, "M8[25as]", 25 * 2.0**60 / 1e18),
        (-(2**40), "M8[D]", -86400.0 * 2**40),
    ],
)
def test_dates_at_the_ends_of_their_units(date: int, kind: str, seconds: float) -> None:
    data = Interactions.from_ids(["a"], ["x"], times=np.array([date]).view(kind))
    assert data.times is not None
    assert data.times[0] == pytest.approx(seconds, rel=1e-15, abs=1e-15)


def test_a_date_whose_seconds_int64_does_not_hold_is_refused() -> None:
    times = np.array([1, 2**62]).view("M8[D]")
    with pytest.raises(ValueError, match=r"^times: row 1, .* 4611686018427387904 in steps of 1 D"):
        Interactions.from_ids(["a", "b"], ["x", "y"], times=times)


def test_a_date_may_lie_in_another_year_than_python_has_by_utc() -> None:
    zone = timezone(timedelta(hours=2))
    data = Interactions.from_ids(["a"], ["x"], times=[datetime(1, 1, 1, tzinfo=zone)])
    assert data.times is not None
    assert data.times.tolist() == [-62135596800.0 - 7200.0]


def test_a_duration_beside_dates_is_no_date() -> None:
    times = [np.datetime64("2020-01-01"), np.timedelta64(1, "D")]
    with pytest.raises(TypeError, match=r"^times: "):
        Interactions.from_ids(["a", "b"], ["x", "y"], times=times)


def test_integers_beyond_int64_are_values_and_no_times() -> None:
    values = Interactions.from_ids(["a", "b"], ["x", "y"], values=[1, 2**100]).values
    assert values is not None
    assert values.tolist() == [1.0, 2.0**100]
    with pytest.raises(ValueError, match=r"^times: row 1, .* of 101 bits, .* int64 holds$"):
        Interactions.from_ids(["a", "b"], ["x", "y"], times=[1, 2**100])


@pytest.mark.filterwarnings("error")
def test_a_sum_that_single_precision_cannot_hold_is_refused() -> None:
    data = Interactions.from_ids(["a", "a"], ["x", "x"], values=[3e38, 3e38])
    with pytest.raises(ValueError, match=r"^values: row 0, .* is inf, expected a finite number"):
        data.unique_pairs("sum")


def test_ids_of_a_part_are_those_that_would_be_made_of_it() -> None:
    part = Ids([1, 2, "ann"])[:2]
    assert part == Ids([1, 2])
    assert part.values.dtype == np.int64
    assert Ids(["ann", 1])[:1] == Ids(["ann"])


def test_a_sparse_matrix_may_be_boolean_and_has_two_axes() -> None:
    data = Interactions.from_csr(scipy.sparse.csr_matrix(np.array([[True, False], [True, True]])))
    assert data.values is not None
    assert data.values.tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match=r"^matrix: its shape is \(3,\), expected users by items"):
        Interactions.from_csr(scipy.sparse.coo_array([1, 0, 2]))


def test_masked_numbers_of_users_are_refused_and_empty_lists_are_not() -> None:
    masked = np.ma.array([0, 1], mask=[False, True])
    with pytest.raises(ValueError, match=r"^users\[1\] is masked, expected an integer"):
        Interactions(masked, [0, 0], [1, 2], [1])
    assert len(Interactions([], [], [], [])) == 0


def test_columns_do_not_change_with_what_they_were_made_of(tmp_path: Path) -> None:
    numbers = np.arange(3, dtype=np.uint32)
    values, times = np.ones(3, np.float32), np.arange(3)
    by_number = Interactions(numbers, numbers, range(3), range(3), values, values, times)
    by_id = Interactions.from_ids(numbers, numbers, values=values, weights=values, times=times)
    for column in (numbers, values, times):
        column[:] = 0
    for data in (by_number, by_id):
        assert data.users.tolist() == data.items.tolist() == [0, 1, 2]
        assert data.values.tolist() == data.weights.tolist() == [1.0] * 3
        assert data.times.tolist() == [0, 1, 2]
        for column in (data.users, data.items, data.values, data.weights, data.times):
            with pytest.raises(ValueError, match="read-only"):
                column[0] = 1
    # A view that cannot be written shows what is written to its array.
    numbers, values, times = np.arange(3, dtype=np.uint32), np.ones(3, np.float32), np.arange(3)
    views = numbers[:], values[:], times[:]
    for view in views:
        view.flags.writeable = False
    data = Interactions(views[0], views[0], range(3), range(3), views[1], views[1], views[2])
    for column in (numbers, values, times):
        column[:] = 0
    assert data.users.tolist() == data.times.tolist() == [0, 1, 2]
    assert data.values.tolist() == data.weights.tolist() == [1.0] * 3
    assert np.shares_memory(data.take(slice(0, 2)).users, data.users)
    # Those in a mapped file stay there.
    mapped = np.memmap(tmp_path / "users", np.uint32, "w+", shape=(3,))
    data = Interactions(mapped, mapped, range(3), range(3))
    assert np.shares_memory(data.users, mapped)
    assert not data.users.flags.writeable
    assert mapped.flags.writeable


def test_a_frame_that_changes_does_not_change_interactions() -> None:
    pandas = pytest.importorskip("pandas")
    columns = {"values": np.array([1, 2], np.float32), "times": np.array([5, 6])}
    frame = pandas.DataFrame({"u": ["a", "b"], "i": [1, 2], **columns})
    data = Interactions.from_frame(frame, user="u", item="i", value="values", time="times")
    frame.loc[0, ["values", "times"]] = 99
    assert frame["times"].tolist() == [99, 6]
    assert data.values is not None
    assert data.times is not None
    assert data.values.tolist() == [1.0, 2.0]
    assert data.times.tolist() == [5, 6]


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))]
)
def test_copies_cannot_be_written_either(copied: Any) -> None:
    data = copied(DATA)
    assert rows_of(data) == ROWS
    for column in (data.users, data.items, data.values, data.weights, data.times):
        assert not column.flags.writeable
