"""Wheels installed in an empty environment, and scripts that run there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import numpy as np

import wyrmling


def empty_environment(place: Path) -> Path:
    """Makes an empty environment; the Python that is found in it."""
    venv.create(place, with_pip=True)
    return place / ("Scripts" if sys.platform == "win32" else "bin") / "python"


def install(python: Path, wheel: Path) -> None:
    """Installs a wheel as pip does, without any network."""
    pip = [str(python), "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-index", "--no-deps", "--force-reinstall", str(wheel)], check=True)


def run(python: Path, script: str, *folders: Path) -> Any:
    """What a script prints as JSON, with packages of some folders at hand."""
    found = subprocess.run(
        [str(python), "-c", script],
        env={"PYTHONPATH": os.pathsep.join(map(str, folders)), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


def folder_with_numpy(folder: Path, *, wyrmling_too: bool = False) -> Path:
    """A folder with NumPy and nothing else, unless it is to have wyrmling too."""
    folder.mkdir()
    here = Path(np.__file__).parent
    for package in (here, here.with_name("numpy.libs")):
        if package.exists():
            (folder / package.name).symlink_to(package)
    if wyrmling_too:
        (folder / "wyrmling").symlink_to(Path(wyrmling.__file__).parent)
    return folder
