"""Archives that lie about themselves: a clear error, bounded memory, nothing written."""

from __future__ import annotations

import io
import random
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from publisher import archive_of, lines_of, zipped

from wyrmling.datasets import archives, movielens
from wyrmling.datasets.movielens import published

MEMBER = "ml-100k/u.data"


def encrypted() -> bytes:
    content = bytearray(zipped({MEMBER: lines_of("100k")}))
    for begin, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(begin) + at] |= 1
    return bytes(content)


def claiming(size: int) -> bytes:
    """An archive that says so much of the size of its member."""
    content = bytearray(zipped({MEMBER: lines_of("100k")}))
    for begin, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", content, content.index(begin) + at, size)
    return bytes(content)


def crowded() -> bytes:
    """An archive with more members than anybody needs."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number in range(60_000):
            archive.writestr(zipfile.ZipInfo(f"{number:040}"), b"")
    return file.getvalue()


HOSTILE: dict[str, tuple[bytes | Callable[[], bytes], str]] = {
    "a bomb that says so": (
        zipped({MEMBER: bytes(published("100k").most + 1)}),
        "u.data unpacks to 16,777,217 bytes, expected at most 16,777,216",
    ),
    "a bomb that says less": (claiming(10), "Bad CRC-32"),
    "less than it says": (claiming(10_000), "has .* bytes, the archive says 10,000"),
    # This one takes seconds to make.
    "members without number": (crowded, "list of members has more than 4,194,304 bytes"),
    "a name above": (zipped({MEMBER: b"1", "../../x": b""}), r"names '\.\./\.\./x', outside"),
    "the member above": (zipped({f"a/../../{MEMBER}": b"1"}), "outside of itself"),
    "an absolute name": (zipped({"/etc/u.data": b"1"}), "names '/etc/u.data', outside"),
    "a drive": (zipped({"C:u.data": b"1"}), "outside"),
    "a backslash": (zipped({"..\\u.data": b"1"}), "outside"),
    "encrypted": (encrypted(), "u.data is encrypted"),
    "another method": (zipped({MEMBER: b"1"}, zipfile.ZIP_LZMA), "by method 14, expected deflate"),
    "no member": (
        zipped({"a.csv": b"", "b.csv": b""}),
        "0 members called u.data.*'a.csv', 'b.csv'",
    ),
    "a folder": (zipped({"u.data/": b""}), "0 members"),
    "two members": (zipped({"a/u.data": b"1", "b/u.data": b"2"}), "2 members called u.data"),
    "nothing": (zipped({}), "0 members called u.data, expected 1; there is nothing"),
    "truncated": (archive_of("100k")[:-40], "not a zip file"),
    "the start alone": (b"PK\x03\x04", "not a zip file"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archives_are_refused(name: str, tmp_path: Path) -> None:
    content, says = HOSTILE[name]
    content = content() if callable(content) else content
    path = tmp_path / "ml.zip"
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(
            ValueError, match=rf"ml\.zip: cannot be read as a zip archive: .*{says}"
        ):
            movielens("100k", from_file=path)
        assert tracemalloc.get_traced_memory()[1] < 24e6
    finally:
        tracemalloc.stop()
    assert list(tmp_path.iterdir()) == [path]


def test_stored_members_are_read(tmp_path: Path) -> None:
    path = tmp_path / "ml.zip"
    path.write_bytes(zipped({"u.data": lines_of("100k")}, zipfile.ZIP_STORED))
    assert len(movielens("100k", from_file=path)) == 4


def test_a_bomb_costs_no_memory(tmp_path: Path) -> None:
    """A member of 64 MiB, of an archive of less than 200 KB, is read block by block."""
    path = tmp_path / "bomb.zip"
    path.write_bytes(zipped({"ratings.csv": b"1,2,3,4\n" * (1 << 23)}))
    assert path.stat().st_size < 200_000
    tracemalloc.start()
    total = 0
    with path.open("rb") as file:
        for block in archives.blocks_of_member(file, "bomb", "ratings.csv", 1 << 26):
            total += len(block)
    assert total == 1 << 26
    assert tracemalloc.get_traced_memory()[1] < 8e6
    tracemalloc.stop()
    path.write_bytes(b"1,2,3,4\n" * (1 << 12))
    with path.open("rb") as file, pytest.raises(ValueError, match="more than the 100 bytes"):
        list(archives.blocks_of_file(file, "text", 100))


def test_mutated_archives_are_read_or_refused(tmp_path: Path) -> None:
    good = archive_of("100k")
    path = tmp_path / "ml.zip"
    path.write_bytes(good)
    expected = movielens("100k", from_file=path)
    rng = random.Random(3)
    refused = 0
    for _ in range(600):
        content = bytearray(good)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(content))
            kind = rng.randrange(4)
            if kind == 0:
                del content[at : at + rng.randint(1, 30)]
            elif kind == 1:
                content[at:at] = rng.randbytes(rng.randint(1, 8))
            else:
                content[at] = rng.choice([0, 1, 128, 255, rng.randrange(256)])
        path.write_bytes(content)
        try:
            found = movielens("100k", from_file=path)
        except ValueError:
            refused += 1
            continue
        assert found.values is not None
        if content[:4] == good[:4]:
            # A CRC-32 finds every change of a few bytes of what it is of.
            assert np.array_equal(found.values, expected.values)  # type: ignore[arg-type]
    assert refused > 300
