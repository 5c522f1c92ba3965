"""The script that leaves the unwinder's search table out of a wheel."""

import base64
import ctypes
import hashlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "search_table.py"
SOURCE = r"""
#include <unwind.h>
static _Unwind_Reason_Code count(struct _Unwind_Context *context, void *number) {
    ++*(int *)number;
    return _URC_NO_REASON;
}
__attribute__((noinline)) int frames(int depth) {
    int number = 0;
    if (depth == 0) _Unwind_Backtrace(count, &number);
    else number = frames(depth - 1);
    __asm__ volatile("" : "+r"(number));
    return number;
}
"""


def wheel_of(path: Path, files: dict[str, bytes]) -> Path:
    record = "".join(f"{name},sha256=old,{len(content)}\n" for name, content in files.items())
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.writestr("a-1.dist-info/RECORD", record + "a-1.dist-info/RECORD,,\n")
    return path


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="libraries of Linux are ELF")
def test_stacks_are_unwound_without_the_table(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    assert compiler is not None, "make needs a C compiler"
    source, library = tmp_path / "a.c", tmp_path / "a.so"
    source.write_text(SOURCE)
    options = ["-shared", "-fPIC", "-O1", "-fno-optimize-sibling-calls", "-funwind-tables"]
    subprocess.run([compiler, *options, "-o", str(library), str(source)], check=True)
    whole = library.read_bytes()
    directory = tmp_path / "dist"
    directory.mkdir()
    files = {"a/code.py": b"1\n", "a/a.so": whole, "a/b.so": b"no ELF"}
    wheel = wheel_of(directory / "a-1-py3-none-any.whl", files)
    subprocess.run([sys.executable, str(SCRIPT), str(directory)], check=True)
    assert [path.name for path in directory.iterdir()] == [wheel.name]
    with zipfile.ZipFile(wheel) as archive:
        assert archive.namelist() == [*files, "a-1.dist-info/RECORD"]
        changed = archive.read("a/a.so")
        assert archive.read("a/b.so") == b"no ELF"
        record = archive.read("a-1.dist-info/RECORD").decode().splitlines()
    digest = base64.urlsafe_b64encode(hashlib.sha256(changed).digest()).decode().rstrip("=")
    assert record[0] == "a/code.py,sha256=old,2"
    assert record[1] == f"a/a.so,sha256={digest},{len(changed)}"
    assert record[3] == "a-1.dist-info/RECORD,,"
    assert len(changed) == len(whole)
    assert changed.count(0) > whole.count(0)
    other = tmp_path / "changed.so"
    other.write_bytes(changed)
    for depth in (0, 1, 30):
        found = [ctypes.CDLL(str(path)).frames(depth) for path in (library, other)]
        assert found[0] == found[1] > depth


def test_a_wheel_stays_as_it_is_if_it_cannot_be_rewritten(tmp_path: Path) -> None:
    wheel = tmp_path / "a-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("a/b.so", b"no ELF, and no RECORD")
    before = wheel.read_bytes()
    assert subprocess.run([sys.executable, str(SCRIPT), str(tmp_path)]).returncode != 0
    assert [path.name for path in tmp_path.iterdir()] == [wheel.name]
    assert wheel.read_bytes() == before
