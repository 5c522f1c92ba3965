"""Files that were downloaded, kept in a directory, and compared with their checksums at each use.

A file is complete or is not there: it is written under another name, compared with the checksum,
read, and then renamed. Its name ends with its checksum, so that one renaming publishes both.
Processes that download the same file at once write each its own, of which the last one stays; each
reads what it has itself compared. What a killed process leaves has a name of its own, is never read
and is removed after a day.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TypeVar
from urllib.parse import urlsplit

from ..progress import Bytes
from .download import BLOCK, blocks_of

__all__ = ["Source", "directory", "obtain"]

T = TypeVar("T")
MOST_TEXT = 4096
"""Bytes of a text with a checksum, at most."""
PART = re.compile(r"[a-z0-9-]+-[0-9a-f]{8}\.[0-9]+-[0-9a-f]{8}\.part")
"""Names of files that are being written."""
ABANDONED = 24 * 3600.0
"""After so many seconds without a change nobody writes to a file any more."""


@dataclass(frozen=True)
class Source:
    """Where a file comes from.

    Args:
        name: what the cache calls it.
        url: its address.
        most: its size in bytes, at most.
        checksum_url: the address of a text with its MD5, None if nobody publishes one; then the
            SHA-256 of the first download is what later uses are compared with.
        advice: what to do if it cannot be downloaded.
    """

    name: str
    url: str
    most: int
    checksum_url: str | None
    advice: str

    @property
    def stem(self) -> str:
        """With what its names in the cache begin: the same for each download of one address."""
        return f"{self.name}-{hashlib.sha256(self.url.encode()).hexdigest()[:8]}"


def directory(given: str | os.PathLike[str] | None = None) -> Path:
    """Where files are kept.

    It is what the caller gives, else the environment's ``WYRMLING_DATA``, else ``wyrmling`` in its
    ``XDG_CACHE_HOME``, else ``~/.cache/wyrmling``. A relative XDG_CACHE_HOME does not count, as the
    XDG Base Directory Specification says.
    """
    if given is not None:
        return Path(given)
    if own := os.environ.get("WYRMLING_DATA"):
        return Path(own)
    caches = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(caches) if os.path.isabs(caches) else Path.home() / ".cache") / "wyrmling"


def obtain(
    source: Source,
    folder: Path,
    read: Callable[[io.BufferedReader, str], T],
    progress: bool = False,
) -> T:
    """What ``read`` makes of a file, which is downloaded if it is not kept yet.

    Args:
        source: where it comes from.
        folder: where it is kept; made if it is not there.
        read: is given the file, open and compared, and what to call it. A file of which it raises
            is not kept.
        progress: whether to show how the download goes.

    Raises:
        ConnectionError: it is not kept, and cannot be downloaded.
        OSError: a checksum is wrong; the file is then removed. Or the directory cannot be written.
    """
    for path in _kept(source, folder):
        try:
            file = path.open("rb")
        except FileNotFoundError:
            continue
        with file:
            _compare(path, file)
            return read(file, str(path))
    folder.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(folder)
    return _download(source, folder, read, progress)


def _kept(source: Source, folder: Path) -> list[Path]:
    """The files that are kept of a source, the newest first."""
    pattern = re.compile(re.escape(source.stem) + r"-(?:[0-9a-f]{32}|[0-9a-f]{64})(?:\.\w+)?")
    found = []
    for path in folder.glob(f"{source.stem}-*"):
        if pattern.fullmatch(path.name):
            try:
                found.append((path.stat().st_mtime, path))
            except FileNotFoundError:
                continue
    return [path for _, path in sorted(found, reverse=True)]


def _compare(path: Path, file: io.BufferedReader) -> None:
    """Compares a kept file with the checksum in its name, and removes it if it is another one."""
    expected = path.stem.rpartition("-")[2]
    digest = hashlib.new("md5" if len(expected) == 32 else "sha256", usedforsecurity=False)
    while block := file.read(BLOCK):
        digest.update(block)
    file.seek(0)
    if digest.hexdigest() != expected:
        path.unlink(missing_ok=True)
        raise OSError(
            f"{path} has the {digest.name.upper()} {digest.hexdigest()}, expected {expected}: it "
            "was changed after it had been downloaded. It has been removed, and the next call "
            "downloads it again"
        )


def _download(
    source: Source,
    folder: Path,
    read: Callable[[io.BufferedReader, str], T],
    progress: bool,
) -> T:
    """What ``read`` makes of a file that is downloaded, which is kept if all goes well."""
    expected = _published(source)
    digest = hashlib.new("md5" if expected else "sha256", usedforsecurity=False)
    part = folder / f"{source.stem}.{os.getpid()}-{secrets.token_hex(4)}.part"
    try:
        with part.open("xb") as written:
            _fetch(source, written, digest, progress)
        found = digest.hexdigest()
        if expected and found != expected:
            raise OSError(
                f"{source.url} has the MD5 {found}, and {source.checksum_url} says {expected}: it "
                "was changed on the way, or by its publisher. Nothing has been kept"
            )
        with part.open("rb") as file:
            result = read(file, source.url)
        os.replace(part, folder / f"{source.stem}-{found}{_suffix(source.url)}")
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return result


def _published(source: Source) -> str | None:
    """The MD5 that the publisher has, in hexadecimal digits."""
    if source.checksum_url is None:
        return None
    content = b"".join(_advised(source, blocks_of(source.checksum_url, MOST_TEXT)))
    text = content.decode("ascii", "replace").lower()
    found = {match[0] for match in re.finditer(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])", text)}
    if len(found) != 1:
        raise OSError(f"{source.checksum_url}: expected an MD5, found {text[:80]!r}")
    return found.pop()


def _fetch(source: Source, file: IO[bytes], digest: hashlib._Hash, progress: bool) -> None:
    """Writes to a file what is at the address."""
    bar = Bytes(source.name) if progress else None
    try:
        blocks = blocks_of(source.url, source.most, bar.begin if bar else None)
        for block in _advised(source, blocks):
            digest.update(block)
            file.write(block)
            if bar:
                bar.add(len(block))
    finally:
        if bar:
            bar.close()


def _advised(source: Source, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Blocks that are downloaded; where this fails, the error says what to do."""
    try:
        yield from blocks
    except OSError as error:
        kind = ConnectionError if isinstance(error, ConnectionError) else OSError
        raise kind(f"{error}. {source.advice}") from error


def _suffix(url: str) -> str:
    """The end of a file's name by which people tell what it is, such as ``.zip``."""
    suffix = PurePosixPath(urlsplit(url).path).suffix
    return suffix if re.fullmatch(r"\.[A-Za-z0-9]{1,8}", suffix) else ""


def _remove_abandoned(folder: Path) -> None:
    """Removes what killed processes have left of their downloads."""
    for path in folder.glob("*.part"):
        if not PART.fullmatch(path.name):
            continue  # Other programs call files so too, and the caller may share the directory.
        try:
            if time.time() - path.stat().st_mtime > ABANDONED:
                path.unlink()
        except OSError:
            continue  # Another process removes it, or it belongs to somebody else.
