"""What the benchmarks say to wrong arguments; what they measure needs their peers."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHES = Path(__file__).parents[2] / "benches"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--speed", "--only", "nothing"], "'nothing': expected one of bpr, warp, als"),
        (["--planted", "--only", "bpr"], "'bpr': expected one of BPR, WARP\n"),
        (["--planted", "--speed", "--only", "als", "--only", "x"], "'x': expected one of BPR"),
        (["--only", "bpr"], "'bpr': expected --speed or another part"),
    ],
)
def test_a_wrong_name_is_an_error_that_lists_the_names(arguments, expected):
    command = [sys.executable, BENCHES / "recommenders.py", *arguments]
    found = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert found.returncode == 2
    assert f"argument --only: invalid name {expected}" in found.stderr
    assert "Traceback" not in found.stderr
