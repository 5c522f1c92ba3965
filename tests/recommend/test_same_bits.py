"""One thread, and several that are deterministic, give the same bits in every process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

NAMES = ["BPR", "WARP", "SampledSoftmax", "FactorizationMachine", "EWMA", "ImplicitALS"]
THREADS = [1, 2]

PROGRAM = """
import sys
import wyrmling.recommend as recommend
from wyrmling.datasets import make_interactions

data = make_interactions(80, 40, 10, seed=3)
for path in sys.argv[1:]:
    name, threads = path.rpartition("/")[2].split("-")
    settings = {"num_threads": int(threads), "epochs": 3, "factors": 8}
    if name != "ImplicitALS":
        settings["deterministic"] = True
    getattr(recommend, name)(**settings).fit(data).save(path)
"""


@pytest.fixture(scope="module")
def directories(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """What each of two processes wrote, which fitted the same models, in opposite orders."""
    found = [tmp_path_factory.mktemp("bits") for _ in range(2)]
    for step, directory in zip((1, -1), found, strict=True):
        files = [f"{directory.as_posix()}/{name}-{k}" for name in NAMES for k in THREADS]
        command = [sys.executable, "-c", PROGRAM, *files[::step]]
        subprocess.run(command, check=True, timeout=120)
    return found


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("name", NAMES)
def test_files_of_two_processes_are_equal(name: str, threads: int, directories: list[Path]) -> None:
    first, second = (directory / f"{name}-{threads}" for directory in directories)
    assert first.read_bytes() == second.read_bytes()
