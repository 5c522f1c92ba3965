"""One thread, and several that are deterministic, give the same bits in every process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import wyrmling.recommend as recommend
from wyrmling.datasets import make_interactions

data = make_interactions(80, 40, 10, seed=3)
name, threads, path = sys.argv[1:]
settings = {"num_threads": int(threads), "epochs": 3, "factors": 8}
if name != "ImplicitALS":
    settings["deterministic"] = True
getattr(recommend, name)(**settings).fit(data).save(path)
"""


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "name", ["BPR", "WARP", "SampledSoftmax", "FactorizationMachine", "EWMA", "ImplicitALS"]
)
def test_files_of_two_processes_are_equal(name: str, threads: int, tmp_path: Path) -> None:
    files = [tmp_path / "first", tmp_path / "second"]
    for file in files:
        command = [sys.executable, "-c", PROGRAM, name, str(threads), str(file)]
        subprocess.run(command, check=True, timeout=120)
    assert files[0].read_bytes() == files[1].read_bytes()
