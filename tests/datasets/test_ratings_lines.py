"""Lines of published ratings: each layout, cut into blocks anywhere, and what is none."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wyrmling.datasets.ratings import LONGEST_LINE, interactions_of

ROW = st.tuples(
    st.integers(0, 2**31 - 1),
    st.integers(0, 300),
    st.integers(1, 10).map(lambda halves: halves / 2),
    st.integers(-(2**40), 2**62),
)


@given(
    st.lists(ROW, min_size=1, max_size=30),
    st.sampled_from(["\t", "::", ","]),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.integers(1, 40),
)
def test_every_layout_is_read(
    rows: list[tuple[int, int, float, int]],
    separator: str,
    named: bool,
    timed: bool,
    newline: str,
    ended: bool,
    size: int,
) -> None:
    table = [tuple(map(str, row[: 4 if timed else 3])) for row in rows]
    if named:
        table.insert(0, ("userId", "movieId", "rating", "timestamp")[: 4 if timed else 3])
    text = newline.join(separator.join(row) for row in table) + (newline if ended else "")
    content = text.encode()
    blocks = (content[at : at + size] for at in range(0, len(content), size))
    data = interactions_of(blocks, "lines")
    assert data.user_ids.take(data.users).tolist() == [row[0] for row in rows]
    assert data.item_ids.take(data.items).tolist() == [row[1] for row in rows]
    assert data.values is not None
    assert data.values.tolist() == [row[2] for row in rows]
    assert (data.times is not None) == timed
    if data.times is not None:
        assert data.times.tolist() == [row[3] for row in rows]


def test_names_say_which_column_is_which() -> None:
    text = b'\xef\xbb\xbf"book_id",note,"rating",user_id\n7,x,4,1\n\n8,y,2.5,1\n'
    data = interactions_of([text], "lines")
    assert list(data.user_ids) == [1]
    assert list(data.item_ids) == [7, 8]
    assert data.values is not None
    assert data.values.tolist() == [4, 2.5]
    assert data.times is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "lines is empty, expected lines of a user"),
        ("\n\n", "lines, line 1: found ''"),
        ("userId,movieId,rating\n", "a line of names and no line after it"),
        ("userId,movieId,rating\n\n\n", "a line of names and no line after it"),
        ("userId,movieId,stars\n1,2,3\n", "line 1: found 'userId,movieId,stars', expected a user"),
        ("userId,user_id,movieId,rating\n", "line 1: found"),
        ("1 2 3 4\n", "line 1: found '1 2 3 4', expected a user"),
        ("1,2\n", "line 1: found '1,2', expected a user"),
        ("1,2,3\n4,5\n", "line 2: found '4,5'"),
        ("1,2,3\n4,5,6,7\n", "line 2: found '4,5,6,7'"),
        ("1,2,3\n\nfour,5,6\n", "line 3: found 'four,5,6'"),
        ("userId,movieId,rating\n1,2,3\n1,2,\n", "line 3: found '1,2,'"),
        (f"1,2,3\n{2**31},5,6\n", f"line 2: found '{2**31},5,6'"),
        ("1,2,3\n1,2,nan\n", "line 2: found '1,2,nan', expected a finite rating"),
        ("1,2,3\n\n1,2,inf\n", "line 3: found '1,2,inf', expected a finite"),
        ("1,2,3\n1,2,3é\n", "line 2: expected numbers, found other bytes"),
    ],
)
def test_bad_lines_are_named(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        interactions_of([text.encode()], "lines")
    # The number of the line is that in the whole, wherever it is cut.
    if "line 2" in says:
        more = text.split("\n", 1)[0] + "\n"
        counted = re.sub("line 2", "line 1002", says)
        with pytest.raises(ValueError, match=counted):
            interactions_of([(more * 1000).encode(), text.encode()], "lines")


def test_lines_have_an_end() -> None:
    def endless() -> object:
        yield b"1,2,3\n"
        while True:
            yield b"9" * 1000

    with pytest.raises(ValueError, match=f"a line has more than {LONGEST_LINE:,} bytes"):
        interactions_of(endless(), "lines")  # type: ignore[arg-type]
