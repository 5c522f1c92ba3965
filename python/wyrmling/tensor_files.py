"""Files of arrays: the safetensors format, with texts by name and checksums of those and of arrays.

Models and the state of training are kept in it. The format is open: a header in JSON, then the
numbers, little-endian. The native module (``src/io/tensors.rs``) writes and checks it: a file is
replaced at once and only by a complete one; whatever a file contains, reading it executes nothing,
allocates in proportion to the file, and ends in arrays or in an error.

**Mapped files.** With ``mmap=True`` arrays of floats are not read but mapped: their pages come
from the disk as they are used, and processes share them. They are read-only. Arrays of integers
are read all the same, since memory is found by them: they are checked once and must not change
after that. If another program writes into a mapped file, the floats change under whoever uses
them, which gives other numbers and no more; if it shortens the file, the system ends the process
(SIGBUS) that reads beyond its end. :func:`write` does neither: it makes a new file and gives it
the name, while those who have mapped the old one keep it.
"""

from __future__ import annotations

import errno
import mmap as memory
import os
import stat
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from .arguments import check_path

__all__ = ["Contents", "check_writable", "read", "write"]

# Names of element types: the format's, and NumPy's. Booleans are left out: the format keeps them as
# bytes, of which only 0 and 1 are booleans.
TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
}
NAMES = {kind: name for name, kind in TYPES.items()}

# A longer header is refused, by the native module too.
LONGEST_HEADER = 1 << 20
PIECE = 1 << 20


@dataclass(frozen=True)
class Contents:
    """What a file holds.

    Args:
        format: what it is, and in which version, such as ``wyrmling.model/2``.
        about: texts by name.
        arrays: arrays of integers or floats by name.
    """

    format: str
    about: Mapping[str, str]
    arrays: Mapping[str, npt.NDArray[Any]]


def write(path: str | os.PathLike[str], contents: Contents) -> None:
    """Writes a file, which replaces an existing one at once.

    The new file keeps the permissions of the old; where the path is a symbolic link the file that
    it leads to is replaced. Equal contents make equal files.

    Raises:
        OSError: the file cannot be written.
        TypeError: an array of something else than integers or floats of 16 to 64 bits.
        ValueError: names and texts that together have more than 1 MB.
    """
    tensors: dict[str, tuple[str, Sequence[int], npt.NDArray[np.uint8]]] = {}
    for name, array in contents.arrays.items():
        kind = NAMES.get(array.dtype.newbyteorder("<").str)
        if kind is None:
            raise TypeError(
                f"{name}: expected an array of integers, or of floats of 16 to 64 bits, got one of "
                f"dtype {array.dtype}"
            )
        straight = np.ascontiguousarray(array, TYPES[kind]).reshape(-1)
        tensors[name] = kind, list(array.shape), straight.view(np.uint8)
    target = check_path("path", path)
    _refuse_folder(target)
    _core.write_tensors(target, contents.format, dict(contents.about), tensors)


def check_writable(folder: str, name: str, path: str | os.PathLike[str]) -> None:
    """Raises OSError, before any work is done, for a folder in which no file can be made.

    Args:
        folder: the folder.
        name: the argument that names the file, for errors.
        path: the file.
    """
    try:
        # What a user may do a file system need not allow: only to write shows it.
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = f"{name} cannot be written: {error.strerror}"
        raise OSError(error.errno, reason, os.fspath(path)) from None


def read(
    source: str | os.PathLike[str] | bytes,
    formats: Sequence[str],
    *,
    mmap: bool = False,
    verify: bool | None = None,
) -> Contents:
    """Reads a file, which need not be trusted.

    >>> import tempfile
    >>> weights = Contents("example/1", {"of": "rye"}, {"weights": np.array([0.5, 1.0])})
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     write(directory + "/weights.safetensors", weights)
    ...     found = read(directory + "/weights.safetensors", ["example/1"])
    >>> found.about, found.arrays["weights"]
    ({'of': 'rye'}, array([0.5, 1. ]))

    Args:
        source: a path, or the bytes of a file.
        formats: those that are accepted.
        mmap: whether to map arrays of floats into memory in place of reading them, as the head of
            this module describes; the file must then stay as it is. Only of a path.
        verify: whether to compare arrays with their checksums. None does so unless the file is
            mapped, for it reads all of them. What is not mapped is always compared.

    Raises:
        OSError: the file cannot be read.
        TypeError: neither a path nor bytes.
        ValueError: another format, or a damaged file.
        MemoryError: there is no memory for it.
    """
    if not mmap:
        if not isinstance(source, bytes):
            source = check_path("source", source)
            _refuse_folder(source)
        kind, about, tensors = _core.read_tensors(source, list(formats))
        arrays = {name: _array(*tensor) for name, tensor in tensors.items()}
        return Contents(kind, about, arrays)
    if isinstance(source, bytes):
        raise ValueError("source: bytes are in memory already, expected a path where mmap=True")
    path = check_path("source", source)
    _refuse_folder(path)
    try:
        return _mapped(path, formats, bool(verify))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _refuse_folder(path: str) -> None:
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, "it is a folder, expected a file of tensors", path)


def _array(kind: str, shape: Sequence[int], elements: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
    """The array that has these bytes."""
    array = elements.view(TYPES[kind]).reshape(shape)
    # Of this machine's own order and alignment; as a rule both are so.
    return np.require(array, array.dtype.newbyteorder("="), ["ALIGNED"])


def _mapped(path: str, formats: Sequence[str], verify: bool) -> Contents:
    # To open a pipe would wait for its writer.
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise OSError(f"{path} is not a regular file, expected a file of tensors")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(8)
        head += file.read(min(int.from_bytes(head, "little"), LONGEST_HEADER))
        kind, about, places = _core.tensor_places(head, size, list(formats))
        whole = memory.mmap(file.fileno(), 0, access=memory.ACCESS_READ)
    if len(whole) != size:
        raise ValueError(f"it has {len(whole)} bytes now, and had {size} when it was opened")
    arrays = {}
    for name, (element, shape, start, end, checksum) in places.items():
        elements = np.frombuffer(whole, np.uint8, end - start, start)
        if (is_integer := element[0] != "F") and len(elements):
            elements = elements.copy()
        if checksum is not None and (verify or is_integer):
            found = f"{_checksum(elements):08x}"
            if found != checksum:
                raise ValueError(
                    f"{name} is damaged: the checksum of its bytes is {found}, expected "
                    f"{checksum[:60]!r}"
                )
        arrays[name] = _array(element, shape, elements)
    return Contents(kind, about, arrays)


def _checksum(elements: npt.NDArray[np.uint8]) -> int:
    """CRC-32, piece by piece: Ctrl-C is seen between them."""
    checksum = 0
    for start in range(0, len(elements), PIECE):
        checksum = zlib.crc32(elements[start : start + PIECE].data, checksum)
    return checksum
