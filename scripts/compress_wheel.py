"""Compress the files of the wheels in a directory once more, as small as deflate can.

    python scripts/compress_wheel.py dist

zlib, which writes wheels, looks for repetitions for a while; Zopfli looks for the smallest coding,
which takes a minute: a wheel is a twenty-fifth smaller, and every installer unpacks it as before.
"""

import zipfile
import zlib
from pathlib import Path

import zopfli.zlib
from wheels import each_wheel, written_anew

HEAD, TAIL = 2, 4  # bytes that zlib's format has before and after what is deflated


def compress(wheel: Path) -> None:
    """Replace a wheel by one of the same files, if that is smaller."""

    def is_same_and_smaller(path: Path) -> bool:
        with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(path) as new:
            if old.namelist() != new.namelist():
                raise SystemExit(f"{wheel.name} has other files after compression")
            for name in old.namelist():
                if old.read(name) != new.read(name):
                    raise SystemExit(f"{name} of {wheel.name} is another after compression")
        return path.stat().st_size < wheel.stat().st_size

    written_anew(wheel, deflate, is_same_and_smaller)


def deflate(old: zipfile.ZipFile, new: zipfile.ZipFile) -> None:
    """Add all files of a wheel to another."""
    for info in old.infolist():
        add(new, info, old.read(info))


def add(archive: zipfile.ZipFile, like: zipfile.ZipInfo, content: bytes) -> None:
    """Add a file, with the name, the time and the permissions of another.

    ``zipfile`` takes no compressed bytes: they are added as they are, and the header before them is
    then written again, with what they are.
    """
    info = zipfile.ZipInfo(like.filename, like.date_time)
    info.external_attr = like.external_attr
    info.create_system = like.create_system
    # As many blocks with codes of their own as make it smaller, and 100 tries for each; 15 of both
    # are what Zopfli takes by itself.
    deflated = zopfli.zlib.compress(content, numiterations=100, blocksplittingmax=0)
    packed = deflated[HEAD:-TAIL]
    archive.writestr(info, packed, zipfile.ZIP_STORED)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.CRC = zlib.crc32(content)
    info.file_size = len(content)
    after = archive.fp.tell()
    archive.fp.seek(info.header_offset)
    archive.fp.write(info.FileHeader(zip64=False))
    archive.fp.seek(after)


if __name__ == "__main__":
    each_wheel(compress)
