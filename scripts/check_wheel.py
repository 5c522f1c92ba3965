"""Check the wheel in a directory: one, abi3, small, and whole without anything but NumPy.

    python scripts/check_wheel.py dist

It is installed in a new virtual environment, where the demo runs in an empty directory.
"""

import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

LIMIT = 4_000_000  # bytes
NEEDED = ["wyrmling/__init__.py", "wyrmling/_core.pyi", "wyrmling/py.typed"]


def check(directory: Path) -> str:
    """Return a line that says what was checked; raise ``SystemExit`` with what is wrong."""
    wheels = list(directory.glob("*.whl"))
    if len(wheels) != 1:
        raise SystemExit(f"expected one wheel in {directory}, found {len(wheels)}")
    wheel = wheels[0].resolve()
    if "-cp311-abi3-" not in wheel.name:
        raise SystemExit(f"{wheel.name} is not a cp311-abi3 wheel")
    size = wheel.stat().st_size
    if size >= LIMIT:
        raise SystemExit(f"{wheel.name} has {size:,} bytes, the limit is {LIMIT:,}")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    missing = [name for name in NEEDED if name not in names]
    if missing:
        raise SystemExit(f"{wheel.name} lacks {', '.join(missing)}")
    modules = [name for name in names if "/_core." in name and not name.endswith(".pyi")]
    if len(modules) != 1:
        raise SystemExit(f"expected one native module in {wheel.name}, found {modules}")
    installed = run_demo(wheel)
    return f"{wheel.name}: {size:,} bytes, ran the demo with {', '.join(installed)}"


def run_demo(wheel: Path) -> list[str]:
    """Run the demo with the wheel in a new environment; return what is installed there."""
    with tempfile.TemporaryDirectory() as scratch:
        environment = Path(scratch, "environment")
        elsewhere = Path(scratch, "elsewhere")
        elsewhere.mkdir()
        venv.create(environment, with_pip=True)
        python = [str(environment / "bin" / "python"), "-I"]
        subprocess.run([*python, "-m", "pip", "install", "--quiet", str(wheel)], check=True)
        listed = subprocess.run(
            [*python, "-m", "pip", "list", "--format=freeze"],
            check=True,
            capture_output=True,
            text=True,
        )
        own = {"pip", "setuptools"}
        installed = [line for line in listed.stdout.split() if line.split("==")[0] not in own]
        if {line.split("==")[0] for line in installed} != {"numpy", "wyrmling"}:
            raise SystemExit(f"expected numpy and wyrmling to be installed, found {installed}")
        subprocess.run([*python, "-m", "wyrmling", "demo"], check=True, cwd=elsewhere)
    return installed


if __name__ == "__main__":
    try:
        print(check(Path(sys.argv[1])))
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"failed: {error}") from None
