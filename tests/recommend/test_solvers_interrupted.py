"""Ctrl-C ends solvers soon."""

import os
import subprocess
import sys

import pytest
from interrupting import INTERRUPTED

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")

SETUP = (
    INTERRUPTED
    + """
import numpy as np
from wyrmling import _core
from wyrmling.datasets import make_interactions
from wyrmling.recommend import EASE, ImplicitALS
"""
)

CALLS = {
    "als": """
model = ImplicitALS(epochs=10**6, num_threads=1)
interrupted(lambda: model.fit(make_interactions(300, 120, 20)))
assert not model.is_fitted
""",
    "one call": """
n = 4_000
places = (np.arange(n * n) // n).astype(np.uint32), (np.arange(n * n) % n).astype(np.uint32)
matrix = _core.CsrMatrix(*places, np.ones(n * n, np.float32), n, n)
rows = np.ones((n, 64), np.float32)
l2 = np.ones(n, np.float32)
interrupted(lambda: _core.least_squares(matrix, rows, rows, l2, 10**4, 1))
interrupted(lambda: _core.nearest_items(matrix, matrix, "cosine", 10, 0.0, 0))
""",
    "ease": """
data = make_interactions(100, 6_000, 20)
model = EASE(num_threads=1)
interrupted(lambda: model.fit(data))
assert not model.is_fitted
""",
}


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_ends_it(name: str) -> None:
    command = [sys.executable, "-c", SETUP + CALLS[name]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
