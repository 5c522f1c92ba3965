"""Leave the unwinder's search table out of the native modules of the wheels in a directory.

    python scripts/search_table.py dist

The section `.eh_frame_hdr` of a library lists its functions by address, so that who unwinds the
stack at a panic finds each by bisection. Addresses hardly compress: the list is a fiftieth of a
wheel. The section may say that it has none (Linux Standard Base Core 5.0, 10.6.2). The unwinders of
GCC and LLVM then go through the functions one by one, which takes longer, but only at a panic.
"""

import base64
import hashlib
import io
import zipfile
from pathlib import Path

from elftools.elf.elffile import ELFFile
from wheels import each_wheel, written_anew

HEAD = 8  # bytes of version, three encodings and the place of .eh_frame
NOTHING = 0xFF  # DW_EH_PE_omit, as an encoding


def without_table(library: bytes) -> bytes:
    """An ELF library without its search table, which becomes zeros; another file as it is."""
    if not library.startswith(b"\x7fELF"):
        return library
    section = ELFFile(io.BytesIO(library)).get_section_by_name(".eh_frame_hdr")
    if section is None:
        return library
    start, size = section["sh_offset"], section["sh_size"]
    changed = bytearray(library)
    # The encodings of the number of functions and of the table.
    changed[start + 2 : start + 4] = bytes([NOTHING, NOTHING])
    changed[start + HEAD : start + size] = bytes(size - HEAD)
    return bytes(changed)


def recorded(record: str, name: str, content: bytes) -> str:
    """A wheel's RECORD, with the checksum and the size of a file as it is now."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    lines = record.splitlines()
    [at] = [k for k, line in enumerate(lines) if line.startswith(f"{name},")]
    lines[at] = f"{name},sha256={digest},{len(content)}"
    return "\n".join(lines) + "\n"


def rewrite(wheel: Path) -> None:
    """Change the native modules of a wheel, and its RECORD with them."""
    written_anew(wheel, without_tables)


def without_tables(old: zipfile.ZipFile, new: zipfile.ZipFile) -> None:
    """Add all files of a wheel to another, native modules without their tables."""
    contents = {info.filename: old.read(info) for info in old.infolist()}
    [record] = [name for name in contents if name.endswith(".dist-info/RECORD")]
    for name in [name for name in contents if name.endswith(".so")]:
        contents[name] = without_table(contents[name])
        text = recorded(contents[record].decode(), name, contents[name])
        contents[record] = text.encode()
    for info in old.infolist():
        new.writestr(info, contents[info.filename], zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    each_wheel(rewrite)
