"""Weights and times that are read from files, and files of parquet."""

from __future__ import annotations

import builtins
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wyrmling import _core
from wyrmling.__main__ import main
from wyrmling.datasets import read_interactions
from wyrmling.recommend import Recommender


def written(path: Path, text: str) -> Path:
    path.write_text(text, newline="")
    return path


WORDS = {
    "user": ("user", "customer", "reader", "member", "visitor"),
    "item": ("item", "movie", "product", "book", "article", "track", "song", "artist"),
    "rating": ("rating", "score", "stars"),
}
FIELD = st.text("ab ,;'\"é\n", max_size=4).map(lambda text: f"x{text}x")
ROWS = st.lists(
    st.tuples(FIELD, FIELD, st.floats(0, 9, width=32), st.integers(-(2**62), 2**62)),
    min_size=1,
    max_size=8,
)


@settings(max_examples=60)
@given(ROWS, st.sampled_from([",", ";", "\t", "|"]), st.booleans())
def test_weights_and_times_are_those_of_their_lines(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, str, float, int]],
    delimiter: str,
    by_name: bool,
) -> None:
    def quoted(text: object) -> str:
        return '"' + str(text).replace('"', '""') + '"'

    lines = [delimiter.join(map(quoted, (user, time, item, w))) for user, item, w, time in rows]
    if by_name:
        lines.insert(0, delimiter.join(("who", "when", "what", "how much")))
    path = written(tmp_path_factory.mktemp("columns") / "data.csv", "\n\n".join(lines) + "\n")
    columns: dict[str, Any] = {"user": "who", "item": "what", "weight": "how much", "time": "when"}
    if not by_name:
        columns = {"user": 0, "item": 2, "weight": 3, "time": 1}
    options: Any = {f"{name}_column": column for name, column in columns.items()}
    data = read_interactions(path, delimiter=delimiter, header=by_name, ratings=False, **options)  # type: ignore[arg-type]
    assert data.user_ids.take(data.users).tolist() == [user for user, *_ in rows]
    assert data.item_ids.take(data.items).tolist() == [item for _, item, *_ in rows]
    assert data.weights is not None
    assert data.weights.dtype == np.float32
    assert data.weights.tolist() == [weight for *_, weight, _ in rows]
    assert data.times is not None
    assert data.times.dtype == np.int64
    assert data.times.tolist() == [time for *_, time in rows]
    assert data.values is None


def test_one_of_them_may_be_read(tmp_path: Path) -> None:
    path = written(tmp_path / "u.data", "7\t1\t5\t881250949\n7\t2\t3\t881250949\n8\t1\t1\t5\n")
    data = read_interactions(path, time_column=3)
    assert data.values is not None
    assert data.values.tolist() == [5, 3, 1]
    assert data.times is not None
    assert data.times.tolist() == [881250949, 881250949, 5]
    assert data.weights is None
    data = read_interactions(path, weight_column=2)
    assert data.weights is not None
    assert data.weights.tolist() == [5, 3, 1]
    assert data.times is None
    # A name says that there is a header.
    path = written(tmp_path / "named.csv", "u,i,when\n1,2,3\n")
    data = read_interactions(path, user_column=0, item_column=1, time_column="when")
    assert len(data) == 1


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1.5", "-2"], [1.5, -2]),
        (["1e3", "10"], [1000, 10]),
        (["2020-01-01", "2020-01-01T00:00:01.5"], [1577836800, 1577836801.5]),
        (["2020-01-01T01:00:00+01:00", "2020-01-01 00:00:00Z"], [1577836800, 1577836800]),
        (["2020-01-01T01:00:00+01:00", "2020-01-01"], [1577836800, 1577836800]),
    ],
)
def test_times_are_numbers_or_dates(tmp_path: Path, texts: list[str], expected: list[Any]) -> None:
    lines = "".join(f"ann,{number},{text}\n" for number, text in enumerate(texts))
    data = read_interactions(written(tmp_path / "a.csv", lines), time_column=2, ratings=False)
    assert data.times is not None
    assert data.times.dtype == np.float64
    assert data.times.tolist() == expected


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        (
            "a,b,1,soon\n",
            {"time_column": 3},
            "found 'soon' as a time, expected a number, or a date",
        ),
        ("a,b,1,2\na,b,1,2020-01-01\n", {"time_column": 3}, "'2020-01-01' as a time, expected a n"),
        ("a,b,1,1_0\n", {"time_column": 3}, "found '1_0' as a time"),
        (f"a,b,1,2\na,b,1,{2**63}\n", {"time_column": 3}, f"found '{2**63}' as a time"),
        ("a,b,1,inf\n", {"time_column": 3}, "found 'inf' as a time"),
        (f"a,b,1,{'9' * 5000}\n", {"time_column": 3}, f"row 0.*found '{'9' * 60}' as a time"),
        ("a,b,1,2\na,b,1,\n", {"time_column": 3}, "line 2: found an empty time"),
        ("a,b,1,2\na,b,1,nan\n", {"time_column": 3}, "line 2: found nan as the time, which stands"),
        ("a,b,1,heavy\n", {"weight_column": 3}, 'line 1: found "heavy", .* as the weight'),
        ("a,b,1,\n", {"weight_column": 3}, r"found an empty weight.*\(weight_column=None\)"),
        ("a,b,1,-1\n", {"weight_column": 3}, r"weights\[0\] is -1.0, expected at least 0"),
        ("a,b,1,2\n", {"time_column": 4}, "found 4 columns, expected one of number 4 .* the time"),
        ("a,b,1,2\n", {"time_column": 0}, "user and time in the same column"),
        ("a,b,1,2\n", {"time_column": 1}, "item and time in the same column"),
        ("a,b,1,2\n", {"weight_column": 1}, "item and weight in the same column"),
        ("a,b,1,2\n", {"weight_column": 0, "time_column": 3}, "weight and user in the same"),
        ("a,5,1,2\n", {"weight_column": 1, "time_column": 3}, "item and weight in the same"),
        ("a,b,1,2\n", {"weight_column": 3, "time_column": 3}, "time and weight in the same"),
        (
            "user,item,rating\nitem,a,1\n",
            {"time_column": "when"},
            'the columns "user", "item", "rating", expected "when" for the time',
        ),
        ("user,item\n1,2\n", {"time_column": "when", "header": False}, "said not to be there"),
    ],
)
def test_what_is_no_weight_or_time(
    tmp_path: Path, text: str, options: dict[str, Any], says: str
) -> None:
    # The file's name has words that errors change elsewhere.
    path = written(tmp_path / "item rating.csv", text)
    with pytest.raises(ValueError, match=rf"{says}") as raised:
        read_interactions(path, **options)
    if "weights[" not in str(raised.value):
        assert "item rating.csv" in str(raised.value)


def test_columns_of_another_type(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "a,b,1,2\n")
    for name in ("weight", "time"):
        with pytest.raises(TypeError, match=f"{name}_column: expected the name of a column"):
            read_interactions(path, **{f"{name}_column": 1.5})  # type: ignore[arg-type]


@pytest.mark.parametrize("settings", [{"header": 1}, {"ratings": "no"}, {"delimiter": 5}])
def test_settings_of_another_type_are_named(tmp_path: Path, settings: dict[str, Any]) -> None:
    (tmp_path / "plays.csv").write_text("a,b\nc,d\n")
    (name,) = settings
    with pytest.raises(TypeError, match=f"^{name} is .*, expected "):
        read_interactions(tmp_path / "plays.csv", **settings)


def test_pipes_are_not_read_twice(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="is read twice for weights and times, expected a regular"):
        read_interactions(tmp_path / "pipe", time_column=2)
    with pytest.raises(OSError, match="nothing"):
        read_interactions(tmp_path / "nothing", time_column=2)


def hidden(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    """Makes it so that these are not installed."""
    real = builtins.__import__

    def absent(name: str, *arguments: Any, **options: Any) -> Any:
        if name.partition(".")[0] in modules:
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", absent)


@pytest.fixture(params=["pyarrow", "polars"])
def _library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "pyarrow":
        pytest.importorskip("pyarrow.parquet")
    else:
        hidden(monkeypatch, "pyarrow")


@pytest.fixture
def plays(tmp_path: Path) -> Path:
    path = tmp_path / "plays.parquet"
    frame = pl.DataFrame(
        {
            "when": [30, 10, 20],
            "UserID": ["ann", "bob", "ann"],
            "share": [1.0, 0.5, 2.0],
            "movie_id": [7, 2**40, 7],
            "stars": [5.0, 2.5, 1.0],
            "label": ["a", "b", "c"],
        }
    )
    frame.write_parquet(path)
    return path


@pytest.mark.usefixtures("_library")
def test_parquet_is_read(plays: Path) -> None:
    data = read_interactions(plays)
    assert list(data.user_ids) == ["ann", "bob"]
    assert list(data.item_ids) == [7, 2**40]
    assert data.users.tolist() == data.items.tolist() == [0, 1, 0]
    assert data.values is not None
    assert data.values.tolist() == [5, 2.5, 1]
    assert data.weights is None
    assert data.times is None
    data = read_interactions(str(plays), ratings=False, weight_column="share", time_column=0)
    assert data.values is None
    assert data.weights is not None
    assert data.weights.tolist() == [1, 0.5, 2]
    assert data.times is not None
    assert data.times.tolist() == [30, 10, 20]
    data = read_interactions(plays, user_column="movie_id", item_column=1)
    assert list(data.user_ids) == [7, 2**40]
    data = read_interactions(plays, weight_column="stars")
    assert data.values is None
    assert data.weights is not None
    assert data.weights.tolist() == [5, 2.5, 1]
    several = plays.parent / "several.parquet"
    pl.read_parquet(plays).with_columns(score=pl.lit(2.0)).write_parquet(several)
    with pytest.raises(ValueError, match="expected one of the rating"):
        read_interactions(several)
    data = read_interactions(several, weight_column="score")
    assert data.values is not None
    assert data.weights is not None
    assert (data.values.tolist(), data.weights.tolist()) == ([5, 2.5, 1], [2, 2, 2])
    data = read_interactions(plays, weight_column="stars", rating_column="stars")
    assert data.values is not None
    assert data.weights is not None
    assert data.values.tolist() == data.weights.tolist() == [5, 2.5, 1]


@pytest.mark.usefixtures("_library")
def test_what_is_wrong_with_parquet(plays: Path, tmp_path: Path) -> None:
    for options, error, says in (
        ({"user_column": "who"}, ValueError, "'label', expected 'who' for the user"),
        ({"item_column": 6}, ValueError, "found 6 columns, expected one of number 6"),
        ({"item_column": -1}, TypeError, "item_column: expected the name"),
        ({"item_column": True}, TypeError, "item_column: expected the name"),
        ({"time_column": "UserID"}, ValueError, "expected one column each"),
        ({"rating_column": "movie_id"}, ValueError, "expected one column each"),
        ({"item_column": "share"}, TypeError, r"plays\.parquet: items: row 0"),
        ({"weight_column": "label"}, TypeError, r"plays\.parquet: weights"),
        ({"delimiter": ","}, ValueError, "delimiter is ',', expected None"),
        ({"header": True}, ValueError, "header is True, expected None"),
        ({"rating_column": "stars", "ratings": False}, ValueError, "left out"),
    ):
        with pytest.raises(error, match=says):
            read_interactions(plays, **options)  # type: ignore[arg-type]
    other = tmp_path / "other.parquet"
    pl.DataFrame({"user": [1], "visitor": [2], "item": [3]}).write_parquet(other)
    with pytest.raises(ValueError, match="'user', 'visitor', 'item', expected one of the user: gi"):
        read_interactions(other)
    pl.DataFrame({"user": ["ann", None], "item": [1, 2]}).write_parquet(other)
    with pytest.raises(ValueError, match=r"other\.parquet: users: row 1, .* missing value"):
        read_interactions(other)
    content = plays.read_bytes()
    for damaged in (b"", b"user,item\n1,2\n", content[:-5], content[:40] + content[60:]):
        other.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"other\.parquet: cannot be read as a parquet file"):
            read_interactions(other)
    with pytest.raises(FileNotFoundError):
        read_interactions(tmp_path / "nothing.parquet")


def test_a_panic_of_polars_is_an_error(plays: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        """As pyo3's."""

    class Stopped(BaseException):
        """As a caller's handler of a signal may raise."""

    def reads(error: BaseException) -> Any:
        def read(*_: object, **__: object) -> None:
            raise error

        return read

    hidden(monkeypatch, "pyarrow")
    monkeypatch.setattr(pl, "read_parquet", reads(PanicException("assertion failed:\nlength")))
    with pytest.raises(ValueError, match=r"plays\.parquet: cannot be read .*: assertion failed: l"):
        read_interactions(plays)
    for error in (Stopped(), KeyboardInterrupt(), MemoryError()):
        monkeypatch.setattr(pl, "read_parquet", reads(error))
        with pytest.raises(type(error)):
            read_interactions(plays)


def test_without_a_library_parquet_says_what_to_install(
    plays: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden(monkeypatch, "pyarrow", "polars")
    with pytest.raises(ImportError, match=r"plays\.parquet .* pip install pyarrow"):
        read_interactions(plays)
    # Nothing else imports them.
    monkeypatch.undo()
    assert "wyrmling.datasets.parquet" in sys.modules


@pytest.mark.parametrize("what", WORDS)
def test_names_are_those_of_headers(tmp_path: Path, what: str) -> None:
    """The columns of a text and of a parquet file are found by the same names."""
    for word in WORDS[what]:
        assert _core.column_role(f" {word.upper()}-id ") == what
        assert _core.column_role(f"{word}s") is None
        names = {"user": "user", "item": "item", "rating": "rating"} | {what: f"{word.title()}_ID"}
        path = written(tmp_path / "a.csv", ",".join(names.values()) + "\nann,tea,5\n")
        text = read_interactions(path)
        frame = pl.DataFrame({names["user"]: ["ann"], names["item"]: ["tea"], names["rating"]: [5]})
        frame.write_parquet(tmp_path / "a.parquet")
        table = read_interactions(tmp_path / "a.parquet")
        for data in (text, table):
            assert list(data.user_ids) == ["ann"]
            assert list(data.item_ids) == ["tea"]
            assert data.values is not None
            assert data.values.tolist() == [5]


def test_commands_take_both(
    tmp_path: Path, plays: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "model"
    path = written(tmp_path / "a.csv", "ann,tea,1,30\nann,rye,2,20\nbob,oat,1,10\n")
    common = ["--out", str(out), "--model", "ewma", "--epochs", "1", "--threads", "1"]
    assert main(["train", str(path), "--time-column", "4", "--weight-column", "3", *common]) == 0
    said = capsys.readouterr().out
    assert "weight column 3, time column 4, no header" in said
    model = Recommender.load(out)
    assert set(model.user_ids) == {"ann", "bob"}
    frame = pl.read_parquet(plays).with_columns(movie_id=pl.Series([7, 2**40, 9]))
    frame.write_parquet(plays)
    assert main(["train", str(plays), "--time-column", "when", *common]) == 0
    assert "user 'UserID', item 'movie_id', time 'when', parquet" in capsys.readouterr().out
    assert list(Recommender.load(out).item_ids) == [7, 2**40, 9]


def test_what_is_read_as_something_else_is_no_rating(tmp_path: Path) -> None:
    lines = "ann,tea,10\nann,rye,1\nbob,rye,nan\n"
    whole = lines.replace("nan", "7")
    bare = written(tmp_path / "bare.csv", whole)
    headed = written(tmp_path / "headed.csv", "user,item,rating\n" + whole)
    for path, column in ((bare, 2), (headed, 2), (headed, "rating")):
        weighed = read_interactions(path, weight_column=column)
        assert weighed.values is None
        assert weighed.weights is not None
        assert weighed.weights.tolist() == [10, 1, 7]
        timed = read_interactions(path, time_column=column)
        assert timed.values is None
        assert timed.times is not None
        assert timed.times.tolist() == [10, 1, 7]
        both = read_interactions(path, weight_column=column, rating_column=column)
        assert both.values is not None
        assert both.weights is not None
        assert both.values.tolist() == both.weights.tolist() == [10, 1, 7]
    # Of two columns that are known as ratings one is something else.
    several = written(tmp_path / "several.csv", "user,item,rating,score\nann,tea,5,2\n")
    with pytest.raises(ValueError, match="one of the rating, not several"):
        read_interactions(several)
    scored = read_interactions(several, weight_column="score")
    assert scored.values is not None
    assert scored.weights is not None
    assert (scored.values.tolist(), scored.weights.tolist()) == ([5], [2])
    # The error is about the weight.
    with pytest.raises(ValueError, match="as the weight"):
        read_interactions(written(tmp_path / "nan.csv", lines), weight_column=2)
    dated = written(tmp_path / "dated.csv", "ann,tea,2020-01-01\nann,rye,2020-01-02\n")
    assert read_interactions(dated, time_column=2).values is None


def test_the_third_field_is_the_rating_of_the_first_two(tmp_path: Path) -> None:
    path = written(tmp_path / "r.csv", "ann,tea,5\nbob,rye,4\n")
    for user, item in ((0, 1), (0, None), (None, 1), (1, 0)):
        data = read_interactions(path, user_column=user, item_column=item)
        assert data.values is not None
        assert data.values.tolist() == [5, 4]
    assert read_interactions(path, user_column=0, item_column=2).values is None
