"""``read_interactions``: files of lines, as other programs write them, and what it refuses."""

import gzip
import re
from pathlib import Path

import numpy as np
import pytest
from interaction_rows import pairs

from wyrmling.datasets import read_interactions, reading
from wyrmling.recommend import BPR


@pytest.mark.parametrize("delimiter", [",", "\t", "::"])
@pytest.mark.parametrize("header", [True, False])
def test_files_are_read(tmp_path: Path, delimiter: str, header: bool) -> None:
    lines = [["7", "tea", "5"], ["9", "rye", "3.5"], ["7", "rye", "4"]]
    named = [["user_id", "item_id", "rating"]] if header else []
    path = tmp_path / "some.csv"
    path.write_text("".join(delimiter.join(line) + "\n" for line in named + lines))
    data = read_interactions(path)
    assert pairs(data) == [("7", "tea"), ("9", "rye"), ("7", "rye")]
    assert data.ratings is not None
    assert data.ratings.tolist() == [5, 3.5, 4]
    assert data.users.dtype == data.items.dtype == np.uint32


def test_text_may_be_compressed(tmp_path: Path) -> None:
    lines = b"user,item,rating,when\nann,tea,5,3\nbob,rye,1,2\n"
    path = tmp_path / "plays.csv.GZ"
    path.write_bytes(gzip.compress(lines[:24]) + gzip.compress(lines[24:]))
    data = read_interactions(path, time_column="when")
    assert (list(data.user_ids), list(data.item_ids)) == (["ann", "bob"], ["tea", "rye"])
    assert data.values is not None
    assert data.times is not None
    assert (data.values.tolist(), data.times.tolist()) == ([5.0, 1.0], [3, 2])
    path.write_bytes(gzip.compress(b"ann,tea,5\nbob,rye\n"))
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}, line 2: found 2 fields"):
        read_interactions(path)
    packed = gzip.compress(lines)
    for damaged in (packed[:-9], packed[:20] + b"\xff" * 9 + packed[29:], lines):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=f"^{re.escape(str(path))}: cannot be read as a file"):
            read_interactions(path)
    with pytest.raises(FileNotFoundError, match=r"nowhere\.gz"):
        read_interactions(tmp_path / "nowhere.gz")


def test_compressed_text_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file cannot fill the disk, and one that is large itself is read."""
    path, lines = tmp_path / "bomb.csv.gz", b"ann,tea\n" * 100_000
    path.write_bytes(gzip.compress(lines))
    assert len(lines) > 100 * path.stat().st_size
    assert len(read_interactions(path)) == 100_000
    monkeypatch.setattr(reading, "UNPACKED_BYTES", 1 << 16)
    with pytest.raises(ValueError, match=r"bomb\.csv\.gz, unpacked, has more than the .* bytes"):
        read_interactions(path)
    path.write_bytes(gzip.compress(lines, compresslevel=0))
    assert len(read_interactions(path)) == 100_000


def test_what_is_no_rating_may_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "days.csv"
    path.write_text("1,2,2020-01-01\n1,3,\n")
    assert pairs(read_interactions(path, ratings=False)) == [("1", "2"), ("1", "3")]
    assert read_interactions(path, ratings=False).ratings is None
    with pytest.raises(ValueError, match="a finite number as the rating"):
        read_interactions(path)


def test_the_caller_may_say_how_a_file_is_laid_out(tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    path.write_text("user,item\na::b,c\n")
    assert len(read_interactions(path, header=False)) == 2
    assert pairs(read_interactions(str(path), delimiter=","))[0] == ("a::b", "c")
    with pytest.raises(ValueError, match="delimiter: expected one of"):
        read_interactions(path, delimiter="-")  # type: ignore[arg-type]
    for delimiter, name in ((";", ";"), ("\t", "a tab")):
        with pytest.raises(ValueError, match=f"expected user and item separated by {name}$"):
            read_interactions(path, delimiter=delimiter)  # type: ignore[arg-type]


# What other programs write, by what is odd about it: the bytes, and the lines that are read (with
# ratings if there are any) or what the error says.
ODD_FILES: dict[str, tuple[bytes, list[tuple[str, ...]] | str]] = {
    "rating missing in the first line": (b"ann,tea,\nbob,rye,4\n", "line 1: found an empty rating"),
    "rating missing in the first line, in words": (
        b"ann,tea,NA\nbob,rye,4\n",
        "line 1: found NA as the rating, which stands for a missing value.*ratings=False",
    ),
    "rating nan in the first line": (
        b"ann,tea,nan\nbob,rye,4\n",
        "line 1: found nan as the rating",
    ),
    "rating missing later, in words": (b"ann,tea,4\nbob,rye,NULL\n", "line 2: found NULL as the"),
    "rating missing later": (b"ann,tea,4\nbob,rye,\n", "line 2: found an empty rating"),
    "rating missing below a header": (b"user,item,rating\na,b,\n", "line 2: found an empty rating"),
    "decimal commas, semicolons": (
        b"user;item;rating\r\nann;tea;4,5\r\nbob;rye;-3\r\n",
        [("ann", "tea", "4.5"), ("bob", "rye", "-3.0")],
    ),
    "decimal commas, no header": (b"7;8;4,5\n9;8;3,0\n", [("7", "8", "4.5"), ("9", "8", "3.0")]),
    "decimal commas, bars": (
        b"ann|tea|4,5\nann|rye|2\n",
        [("ann", "tea", "4.5"), ("ann", "rye", "2.0")],
    ),
    "decimal commas, tabs": (b"ann\ttea\t0,5\n", [("ann", "tea", "0.5")]),
    "thousands": (b"ann;tea;1.234,5\n", 'line 1: found "1.234,5"'),
    "decimal comma where commas separate": (b'ann,tea,"4,5"\n', 'line 1: found "4,5"'),
    "commas in names, semicolons": (
        b"ann;tea, black;5\nbob;rye, toasted;4\n",
        [("ann", "tea, black", "5.0"), ("bob", "rye, toasted", "4.0")],
    ),
    "semicolons in names, commas": (
        b"ann;x,tea,5\nbob,rye,4\n",
        [("ann;x", "tea", "5.0"), ("bob", "rye", "4.0")],
    ),
    "bars in genres": (b"1,2,5,a|b\n3,4,1,c|d\n", [("1", "2", "5.0"), ("3", "4", "1.0")]),
    "two delimiters that would do": (b"a;b,c\nd;e,f\n", "either may separate"),
    "old Mac": (
        b"user,item,rating\rann,tea,5\rbob,rye,4\r",
        [("ann", "tea", "5.0"), ("bob", "rye", "4.0")],
    ),
    "old Mac, bad line": (b"a,b\r\rc,d\re\r", "line 4: found 1 field"),
    "old Mac, one line": (b"ann::tea\r", [("ann", "tea")]),
    "two byte order marks": (
        "\ufeff\ufeffuser,item\nann,tea\n".encode(),
        [("ann", "tea")],
    ),
    "joined files": ("\ufeffann,tea\n\ufeffann,rye\n".encode(), [("ann", "tea"), ("ann", "rye")]),
    "UTF-16": ("ann,tea\n".encode("utf-16"), "line 1: .* UTF-8"),
    "UTF-16 without a mark": ("ann,tea\n".encode("utf-16-be"), "line 1: found a NUL"),
    "a NUL in a field": (b"ann,tea\nb\x00b,rye\n", "line 2: found a NUL character"),
    "blank lines": (b"\n \n\t\nann,tea\n\n\r\n  \nbob,rye\n\n", [("ann", "tea"), ("bob", "rye")]),
    "quotes": (b'"ann";"tea; ""black"""\n"bob";"rye"', [("ann", 'tea; "black"'), ("bob", "rye")]),
    "spaces before quotes": (
        b'ann, "rye, dark", 4\nbob, "tea" ,5\n',
        [("ann", "rye, dark", "4.0"), ("bob", "tea", "5.0")],
    ),
    "quoted line break": (b'ann,"rye\nbread"\nbob,tea\n', [("ann", "rye\nbread"), ("bob", "tea")]),
    "quote without end": (b'ann,tea\nbob,"rye\ncid,oat\n', "line 2: found a quote"),
    "pandas' missing user": (b"user,item\n,tea\n", "line 2: found an empty user"),
    "nan as a user": (b"user,item\nann,tea\n\nnan,rye\n", "line 4: found nan as the user"),
    "None as an item": (b"user,item\nann,None\n", "line 2: found None as the item"),
    "names like those": (b"nancy,Nonet\nNan A,none\n", [("nancy", "Nonet"), ("Nan A", "none")]),
    "unknown header": (
        b"uid,film,stars\nann,tea,5\n",
        'line 1: .*"uid", "film", "stars".*--user-column',
    ),
    "unknown header of numbers": (b"who,what\n1,2\n", 'line 1: .*"who", "what".*user_column'),
    "half a header": (b"user_id,tmdb\n1,2\n", 'line 1: .*"user_id", "tmdb".*item_column'),
    "two users": (b"user,user_id,item\na,b,c\n", "line 1: .*not several"),
    "trailing delimiters": (b"user,item,,\nann,tea,,\n", [("ann", "tea")]),
    "header alone": (b"user,item\n", "no line after it"),
    "nothing": (b"\xef\xbb\xbf\r\n\r\n", "is empty"),
}


@pytest.mark.parametrize("name", ODD_FILES)
def test_odd_files(tmp_path: Path, name: str) -> None:
    content, expected = ODD_FILES[name]
    path = tmp_path / "odd.csv"
    path.write_bytes(content)
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=rf"odd\.csv.*{expected}"):
            read_interactions(path)
        return
    data = read_interactions(path)
    lines = pairs(data)
    if data.ratings is not None:
        ratings = [str(float(rating)) for rating in data.ratings]
        assert [(*pair, rating) for pair, rating in zip(lines, ratings, strict=True)] == expected
    else:
        assert lines == expected


def test_columns_may_be_given(tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    path.write_text("when,film,stars,uid\n1,tea,5,ann\n2,rye,3,bob\n")
    data = read_interactions(path, user_column="uid", item_column="film", rating_column="stars")
    assert pairs(data) == [("ann", "tea"), ("bob", "rye")]
    assert data.ratings is not None
    assert data.ratings.tolist() == [5, 3]
    data = read_interactions(path, user_column=3, item_column=np.int64(1), header=True)
    assert pairs(data) == [("ann", "tea"), ("bob", "rye")]
    for wrong, error, says in [
        ({"user_column": "who", "item_column": "film"}, ValueError, 'expected "who" for the user'),
        ({"user_column": 4, "item_column": 1}, ValueError, "4 columns, expected one of number 4"),
        ({"user_column": "uid", "item_column": 3}, ValueError, "in the same column"),
        ({"user_column": 1.5}, TypeError, "user_column: expected the name of a column"),
        ({"user_column": True}, TypeError, "user_column"),
        ({"item_column": -1}, TypeError, "item_column"),
        ({"rating_column": "stars", "ratings": False}, ValueError, "left out"),
        ({"user_column": "uid", "header": False}, ValueError, "said not to be there"),
    ]:
        with pytest.raises(error, match=says):
            read_interactions(path, **wrong)  # type: ignore[arg-type]


def test_bad_files_are_named_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("a,b\n\nc\n")
    with pytest.raises(ValueError, match=r"bad\.csv, line 3: found .*\"c\", expected 2"):
        read_interactions(path)
    path.write_bytes(b"a,b\nc,\xff\n")
    with pytest.raises(ValueError, match=r"line 2: .* UTF-8"):
        read_interactions(path)
    path.write_text("")
    with pytest.raises(ValueError, match="empty"):
        read_interactions(path)
    with pytest.raises(OSError, match=r"missing\.csv"):
        read_interactions(tmp_path / "missing.csv")
    with pytest.raises(OSError, match=re.escape(str(tmp_path))):
        read_interactions(tmp_path)


@pytest.mark.parametrize("blank", [b"\n", b"\r\n", b" \t\n", b"\n\n\r\n"])
def test_blank_lines_are_no_long_line(tmp_path: Path, blank: bytes) -> None:
    """They are counted, and what follows has a length of its own."""
    path, gap = tmp_path / "gap", blank * 1_500_000
    path.write_bytes(b"ann,tea\n" + gap + b"bob,rye\n" + gap)
    assert read_interactions(path).n_users == 2
    place = 2 + gap.count(b"\n")
    path.write_bytes(b"ann,tea\n" + gap + b"bob," + b"x" * 3_000_000 + b"\ncid,oat\n")
    with pytest.raises(ValueError, match=f"gap, line {place}: found a line of more than"):
        read_interactions(path)
    path.write_bytes(b"ann,tea\n" + gap + b'bob,"rye\n' + gap)
    with pytest.raises(ValueError, match=f"gap, line {place}: found a line of more than"):
        read_interactions(path)


@pytest.mark.parametrize(
    "text",
    [
        b'ann,tea\nbob,"rye\n' + b"cid,oat\n" * 500_000,
        b"ann,tea\nbob," + b"x" * 3_000_000 + b"\ncid,oat\n",
        b"ann::tea\nbob::" + b"x" * 3_000_000,
    ],
    ids=["quote without end", "long field", "long field of colons"],
)
def test_a_line_has_an_end(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "long"
    path.write_bytes(text)
    with pytest.raises(ValueError, match="long, line 2: found a line of more than 1048576 bytes"):
        read_interactions(path)
    # One of less is read.
    path.write_bytes(text[:1_000_000] + (b'"' if b'"' in text else b""))
    assert read_interactions(path).n_users == 2


def test_a_file_that_is_not_there_is_said_to_be(tmp_path):
    missing, folder, file = tmp_path / "missing", tmp_path / "folder", tmp_path / "file"
    folder.mkdir()
    file.write_text("1,2\n")
    for read in (read_interactions, BPR.load):
        for place, error in (
            (missing, FileNotFoundError),
            (folder, OSError),
            (file / "inner", NotADirectoryError),
        ):
            with pytest.raises(error, match=place.name):
                read(place)
