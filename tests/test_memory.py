"""Lookups cost rows, not tables: memory while a large parameter is trained.

The table is a tenth of the 10,000,000 rows that are promised, with the bound that is promised
for all of them. It starts as 256 MB, so anything of its size would show.
"""

import subprocess
import sys
import textwrap

import pytest

BOUND = 10_000_000
# The state of Adagrad is as large as the table, and takes memory as rows are updated.
STATE = {"SGD(lr=0.01)": 0, "Adagrad(lr=0.01)": 256_000_000}

SETUP = """
    import numpy as np, wyrmling as wy

    rows, width, steps = 1_000_000, 64, 300
    rng = np.random.default_rng(0)
    value = np.ones((rows, width), np.float32)
    w = wy.Parameter(value, name="w")
    del value
    i = wy.IndexInput([0])
    loss = (w[i] ** 2).sum()
    optimizer = wy.OPTIMIZER
    column = rng.integers(0, rows, (steps, 64))

    def status(name):
        with open("/proc/self/status") as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith(name))

    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")  # the peak starts from here
    before = status("VmRSS")
"""

EAGER = """
    for batch in column:
        i.value = batch
        loss.zero_grad()
        loss.backward()
        optimizer.step([w])
"""

FIT = """
    wy.fit(loss, {i: column.ravel()}, optimizer=optimizer, batch_size=64, threads=THREADS)
"""

REPORT = """
    print(status("VmHWM") - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("optimizer", STATE)
@pytest.mark.parametrize(
    "work",
    [EAGER, FIT.replace("THREADS", "1"), FIT.replace("THREADS", "2")],
    ids=["eager", "one worker", "two workers"],
)
def test_training_by_lookup(work, optimizer):
    parts = [textwrap.dedent(part) for part in (SETUP, work, REPORT)]
    code = "".join(parts).replace("OPTIMIZER", optimizer)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < STATE[optimizer] + BOUND
