"""What ``import wyrmling`` costs beside ``import numpy``, each in fresh processes.

    python benches/import_time.py [runs]

Both are imported in turns, so that a machine that becomes slower does so for both. Prints the
medians of wall time and of CPU time in milliseconds, and their difference. Compiled files
are kept, as where a package is installed.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

STATEMENTS = {"numpy": "import numpy", "numpy and wyrmling": "import numpy, wyrmling"}


def run(statement: str, compiled: str) -> tuple[float, float]:
    """Wall and CPU milliseconds of a new interpreter that runs a statement."""

    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = compiled
    before, start = spent(), time.perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True, env=environment)
    return 1e3 * (time.perf_counter() - start), 1e3 * (spent() - before)


def main() -> None:
    """Measures and prints."""
    with tempfile.TemporaryDirectory() as compiled:
        measure(compiled)


def measure(compiled: str) -> None:
    """Measures and prints, with compiled files in a folder."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 41
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in STATEMENTS}
    for statement in STATEMENTS.values():
        run(statement, compiled)  # Compiled files are written, and the disk is read.
    for _ in range(runs):
        for name, statement in STATEMENTS.items():
            found[name].append(run(statement, compiled))
    medians = {
        name: [statistics.median(times) for times in zip(*pairs, strict=True)]
        for name, pairs in found.items()
    }
    print(f"{'ms, median of ' + str(runs):28}{'wall':>8}{'CPU':>8}")
    for name, (wall, cpu) in medians.items():
        print(f"{name:28}{wall:8.1f}{cpu:8.1f}")
    theirs, ours = medians.values()
    print(f"{'wyrmling':28}{ours[0] - theirs[0]:8.1f}{ours[1] - theirs[1]:8.1f}")


if __name__ == "__main__":
    main()
