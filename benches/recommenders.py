"""Recommenders beside implicit, LightFM, Cornac and sbr: quality and speed.

    python benches/recommenders.py [--quality FILE] [--sequences FILE] [--planted] [--speed]

``--quality`` and ``--sequences`` read MovieLens 100K, which may not be shipped: a file with the
columns ``user_id,item_id,rating,timestamp``, of which every row counts as liked. ``--trials 0``
measures models with their defaults. ``--planted`` and ``--speed`` make their data up. All but
``--sequences`` and ``--planted`` has the peers installed (``pip install implicit rectools-lightfm
cornac``); BLAS is kept to one thread wherever it is called from several. sbr is a crate of Rust:
``sbr/`` is built and run as a program of its own. ``recommending/`` has the parts; the head of each
says how it measures.
"""

from __future__ import annotations

import argparse
import os
import sys

# Libraries read this when they are loaded: whoever calls BLAS here has threads of its own.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from recommending import clock, contenders, peers, planted, quality, sequences, speed
from recommending.pairs import SIZES, read
from side_by_side.rows import measure, report

import wyrmling as wy


def main() -> int:
    """Prints what was asked for; the exit code is 1 where a target was missed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    option = parser.add_argument
    option("--quality", metavar="FILE", help="rank held-out pairs of MovieLens 100K")
    option("--sequences", metavar="FILE", help="rank the last items of held-out users of it")
    option("--planted", action="store_true", help="look for a signal in data that is made up")
    option("--only", metavar="NAME", action="append", help="models or kinds of rows; all if none")
    option("--seeds", type=int, default=3, help="splits [%(default)s]")
    option("--trials", type=int, default=12, help="of each model, its defaults first [%(default)s]")
    option("--verbose", action="store_true", help="print every trial")
    option("--speed", action="store_true", help="time epochs, recommending and measuring")
    option("--sizes", nargs="+", choices=SIZES, default=list(SIZES), help="of the data to time on")
    option("--threads", nargs="+", type=int, default=[1, 2], help="[1 2]")
    option("--repeats", type=int, help="of each row, in place of its own number")
    option("--busy", action="store_true", help="two threads by processor time: machines of many")
    options = parser.parse_args()
    asked = {
        contenders: options.quality,
        sequences: options.sequences,
        planted: options.planted,
        speed: options.speed,
    }
    # A name is checked here, before anything is measured: it may be of one part and not of another.
    known = [name for part, is_asked in asked.items() if is_asked for name in part.all_names()]
    for name in options.only or ():
        if name not in known:
            what = (
                f"one of {', '.join(dict.fromkeys(known))}" if known else "--speed or another part"
            )
            parser.error(f"argument --only: invalid name {name!r}: expected {what}")
    print(f"wyrmling {wy.__version__}, NumPy {np.__version__}, {', '.join(peers.versions())}")
    missed = 0
    for path, models, protocol, judged in (
        (options.quality, contenders.named, quality.PAIRS, contenders.judged),
        (options.sequences, sequences.named, sequences.LAST_ITEMS, sequences.judged),
    ):
        if path:
            say = print if options.verbose else lambda line: None
            chosen = models(options.only)
            missed += judged(
                quality.table(chosen, protocol, read(path), options.seeds, options.trials, say)
            )
    if options.planted:
        missed += planted.table(options.only, options.seeds)
    if options.speed:
        if options.busy:
            clock.machine_is_busy()
        for row in speed.rows(options.sizes, options.threads, options.only or []):
            report(row, measure(row, options.repeats or row.repeats))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
