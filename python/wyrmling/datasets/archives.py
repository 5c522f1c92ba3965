"""One member of a zip archive, as a stream: nothing is unpacked to where a name says.

The archive may be anybody's. What an archive says of sizes, names and checksums is compared with
bounds and with what it holds, and memory is bounded by a block. Deflated and stored members are
read, as all zip programs write; others would have no bound on what a block unpacks to.
"""

from __future__ import annotations

import gzip
import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import PurePosixPath

from .download import BLOCK

__all__ = ["blocks_of_file", "blocks_of_member", "is_archive"]

MOST_READ = 1 << 22
"""Bytes that are read of an archive at once, its directory of members among them."""
OUTSIDE = re.compile(r"^/|^[A-Za-z]:|\\|(?:^|/)\.\.(?:/|$)|\0")


def is_archive(file: io.BufferedReader) -> bool:
    """Whether a file begins as zip archives do. It is read from the start again."""
    file.seek(0)
    begin = file.read(4)
    file.seek(0)
    return begin in (b"PK\x03\x04", b"PK\x05\x06")


def blocks_of_file(
    file: io.BufferedReader | gzip.GzipFile, what: str, most: int
) -> Iterator[bytes]:
    """The blocks of a file that is no archive, or of what gzip unpacks of it.

    Raises ValueError if these are more than ``most`` bytes.
    """
    file.seek(0)
    total = 0
    while block := file.read(BLOCK):
        total += len(block)
        if total > most:
            raise ValueError(f"{what} has more than the {most:,} bytes that were expected at most")
        yield block


def blocks_of_member(file: io.BufferedReader, what: str, member: str, most: int) -> Iterator[bytes]:
    """The blocks of a member of an archive, unpacked.

    Args:
        file: the archive.
        what: what errors call it.
        member: the name of the member, in whatever folder it lies.
        most: its size in bytes, at most.

    Raises:
        ValueError: something else than a whole archive, one that names a file outside of itself, or
            one without the member, or with several; a member that is encrypted, packed in another
            way, larger than ``most`` or than it says, or whose checksum is wrong.
    """
    try:
        with zipfile.ZipFile(_Bounded(file)) as archive:
            info = _chosen(archive, member, most)
            total = 0
            with archive.open(info) as stream:
                while block := stream.read(BLOCK):
                    total += len(block)
                    yield block
            if total != info.file_size:
                raise zipfile.BadZipFile(
                    f"{info.filename} has {total:,} bytes, the archive says {info.file_size:,}"
                )
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        text = str(error) or type(error).__name__
        raise ValueError(f"{what}: cannot be read as a zip archive: {text}") from error


def _chosen(archive: zipfile.ZipFile, member: str, most: int) -> zipfile.ZipInfo:
    """The one member of that name, which may be read."""
    members = archive.infolist()
    for info in members:
        if OUTSIDE.search(info.orig_filename):
            raise zipfile.BadZipFile(f"it names {info.orig_filename!r}, outside of itself")
    found = [info for info in members if PurePosixPath(info.filename).name == member]
    found = [info for info in found if not info.is_dir()]
    if len(found) != 1:
        there = ", ".join(repr(info.filename) for info in members[:5]) or "nothing"
        more = f" and {len(members) - 5:,} more" if len(members) > 5 else ""
        raise zipfile.BadZipFile(
            f"it has {len(found)} members called {member}, expected 1; there is {there}{more}"
        )
    (info,) = found
    if info.flag_bits & 1:
        raise zipfile.BadZipFile(f"{info.filename} is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise zipfile.BadZipFile(
            f"{info.filename} is packed by method {info.compress_type}, expected deflate"
        )
    if info.file_size > most:
        raise zipfile.BadZipFile(
            f"{info.filename} unpacks to {info.file_size:,} bytes, expected at most {most:,}"
        )
    return info


class _Bounded(io.BufferedIOBase):
    """A file of which nobody reads more at once than fits a bound.

    ``zipfile`` reads the directory of an archive as a whole, and makes an object of each entry.
    """

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file

    def read(self, size: int | None = -1, /) -> bytes:
        """As of a file."""
        if size is None or size < 0:
            size = MOST_READ + 1
        block = self._file.read(min(size, MOST_READ + 1))
        if len(block) > MOST_READ:
            raise zipfile.BadZipFile(f"its list of members has more than {MOST_READ:,} bytes")
        return block

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """As of a file; zipfile itself catches errors of seeking from the end."""
        if whence == 0 and offset < 0:
            raise zipfile.BadZipFile(f"it refers to {-offset:,} bytes before its start")
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """As of a file."""
        return self._file.tell()

    def seekable(self) -> bool:
        """As of a file."""
        return True

    def readable(self) -> bool:
        """As of a file."""
        return True
