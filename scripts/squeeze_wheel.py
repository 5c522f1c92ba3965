"""Write the wheels in a directory anew, compressed as far as deflate goes: a thirtieth smaller.

    python scripts/squeeze_wheel.py dist

Zopfli searches for what zlib does not; any unzip reads the result. It takes half a minute.
"""

import sys
import zipfile
from pathlib import Path

import zopfli


def squeeze(wheel: Path) -> None:
    """Replace a wheel by one with the same files, dates and permissions."""
    smaller = wheel.with_suffix(".tmp")
    with zipfile.ZipFile(wheel) as old, zopfli.ZipFile(smaller, "w", iterations=15) as new:
        for entry in old.infolist():
            new.writestr(entry, old.read(entry), zipfile.ZIP_DEFLATED)
    smaller.replace(wheel)


if __name__ == "__main__":
    for wheel in Path(sys.argv[1]).glob("*.whl"):
        before = wheel.stat().st_size
        squeeze(wheel)
        print(f"{wheel.name}: {before:,} bytes, squeezed to {wheel.stat().st_size:,}")
