"""Wheels in a directory, written anew: what search_table.py and compress_wheel.py share."""

import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

Write = Callable[[zipfile.ZipFile, zipfile.ZipFile], None]


def written_anew(wheel: Path, write: Write, fits: Callable[[Path], bool] | None = None) -> None:
    """Replace a wheel by the one that ``write`` makes of it, if that ``fits`` or nothing is asked.

    The new one is written beside the wheel and moved to its place when it is complete: the wheel
    stays as it is if anything fails.
    """
    with tempfile.TemporaryDirectory(dir=wheel.parent) as scratch:
        path = Path(scratch, wheel.name)
        with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(path, "w") as new:
            write(old, new)
        if fits is None or fits(path):
            path.replace(wheel)


def each_wheel(change: Callable[[Path], None]) -> None:
    """Change the wheels in the directory that the command line names."""
    for found in Path(sys.argv[1]).glob("*.whl"):
        change(found)
