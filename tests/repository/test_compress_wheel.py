"""The script that compresses a wheel once more."""

import subprocess
import sys
import zipfile
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "compress_wheel.py"


def test_files_names_and_permissions_stay_and_the_wheel_is_smaller(tmp_path: Path) -> None:
    wheel = tmp_path / "a-1-py3-none-any.whl"
    contents = {
        "a/__init__.py": b"",
        "a/code.py": SCRIPT.read_bytes() * 2,
        "a/module.so": bytes(i * i % 251 for i in range(10_000)),
        "a-1.dist-info/RECORD": b"a/code.py,,\n",
    }
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in contents.items():
            info = zipfile.ZipInfo(name, (2026, 1, 2, 3, 4, 6))
            info.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    before = wheel.stat().st_size
    subprocess.run([sys.executable, str(SCRIPT), str(tmp_path)], check=True)
    assert wheel.stat().st_size < before
    assert [p.name for p in tmp_path.iterdir()] == [wheel.name]
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == list(contents)
        for name, content in contents.items():
            info = archive.getinfo(name)
            assert archive.read(name) == content
            assert info.date_time == (2026, 1, 2, 3, 4, 6)
            assert info.external_attr >> 16 == (0o100755 if name.endswith(".so") else 0o100644)
