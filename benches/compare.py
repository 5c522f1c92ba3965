"""wyrmling beside its peers: the same work in one process, in turn, as times and ratios.

    python benches/compare.py [--quick] [--only NAME ...] [--hand [FOLDER]] [--movielens FILE]

PyTorch, JAX, HIPS autograd and implicit take part if they can be imported, the hand-written
Rust loops (``examples/handwritten_*.rs``) with ``--hand``. In each row the sides take turns,
so that whatever else the machine does hits all of them; the best of each is compared, since
it is disturbed least, and the median shows how much it was disturbed. Before anything is
timed, gradients are compared with known ones; recommenders must have learned.

Ratios travel from one machine to another, times do not. Every side has one thread but where
a row says otherwise.
"""

from __future__ import annotations

import argparse
import os
import platform
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from side_by_side import (
    by_hand,
    decompositions,
    gradients,
    loops,
    operators,
    recommenders,
    sequences,
    training,
)
from side_by_side.peers import Peers
from side_by_side.rows import Row, measure, report

import wyrmling as wy

ROWS: dict[str, Callable[[Peers, argparse.Namespace], Row]] = {
    "regression": gradients.regression,
    "trace": gradients.trace,
    "least-squares": gradients.least_squares,
    "network": gradients.network,
    "hessian": gradients.hessian,
    "sines": operators.sines,
    "sines-gradient": operators.sines_gradient,
    "matmul": operators.matmul("float64"),
    "matmul-float32": operators.matmul("float32"),
    **decompositions.ROWS,
    "exp": operators.exp("float64"),
    "exp-float32": operators.exp("float32"),
    **loops.ROWS,
    "lstm": sequences.lstm,
    **training.ROWS,
    "bpr": recommenders.small,
    "bpr-large": recommenders.large,
}


def machine() -> str:
    """The processor and how busy it is."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{name}, {os.cpu_count()} cores{load}"


def main() -> None:
    """Runs the rows and prints what came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    option = parser.add_argument
    option("--quick", action="store_true", help="fewer repeats, and 2 million for 20 million")
    option("--only", choices=ROWS, action="append", metavar="NAME", help=f"of {', '.join(ROWS)}")
    option("--hand", nargs="?", const="", metavar="FOLDER", help="Rust by hand; built if not given")
    option("--movielens", metavar="FILE", help="users and items for the small BPR row")
    options = parser.parse_args()
    if options.hand == "":
        options.hand = by_hand.build()
    # implicit would like to see BLAS threads turned off; BPR uses no BLAS.
    warnings.filterwarnings("ignore", category=RuntimeWarning, module="implicit")
    warnings.filterwarnings("ignore", category=UserWarning, module="implicit")
    peers = Peers()
    print(
        f"{machine()}\nwyrmling {wy.__version__}, NumPy {np.__version__}, Python "
        f"{platform.python_version()}, {', '.join(peers.found) or 'no peers'}"
    )
    if peers.missing:
        print(f"not installed: {', '.join(peers.missing)}")
    for name in options.only or ROWS:
        row = ROWS[name](peers, options)
        repeats = max(2, row.repeats // 5) if options.quick else row.repeats
        report(row, measure(row, repeats))
    print(f"\n{machine()}")


if __name__ == "__main__":
    main()
