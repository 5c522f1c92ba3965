"""Runs random programs in all modes, and says which give something else than plain Python.

    python tests/source/random_programs.py [--count N] [--first SEED] [--mode MODE ...]

Each program (``program.py``) is called at two points or three. What ``mode="source"`` gives, by
machine code and by the interpreter (``WYRMLING_JIT=0``), and what tracing gives, is held against
plain Python and against derivatives by series (``held.py``); the programs that are refused are
counted. A program with a fault is shrunk and printed. Programs run in processes of a few hundred
each, so that one that crashes ends nothing but its own.
"""

from __future__ import annotations

import argparse
import ast
import collections
import contextlib
import linecache
import os
import re
import signal
import subprocess
import sys
import warnings
from pathlib import Path

from held import Held, Refused
from program import Program
from shrinking import shrunk

BLOCK = 250
SECONDS = 60
TOO_LONG = f"takes more than {SECONDS} seconds"


class TooLong(BaseException):
    """A program took too long; no handler of the program catches it."""


@contextlib.contextmanager
def limited(seconds):
    """Ends what takes longer, in the main thread of systems that have alarms."""

    def stop(*_):
        raise TooLong

    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def function(text, name="<random program>"):
    """The function ``f`` of a text, whose source is found as that of a notebook's cell is."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space = {"__name__": "random_program"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # a shrunk program may be silly
        exec(compile(text, name, "exec"), space)
    return space["f"]


def faults(text, points, mode, orders):
    """What a mode gives wrong for a program, or the refusal, or nothing."""
    found = []
    try:
        with limited(SECONDS):
            f = function(text)
            for at, point in enumerate(points):
                found += Held(f, point, {}).faults(mode, orders if at == 0 else 1)
                if found:
                    return [f"at {point}: {found[0]}"]
    except TooLong:
        return [TOO_LONG]
    return found


def kind(fault):
    """What sort of fault it is, which shrinking has to keep: the text but for numbers."""
    text = fault.partition("): ")[2] or fault
    return re.sub(r"[-+]?[0-9][-+.e0-9]*|'\w+'|nan|inf", "#", text)[:60]


def orders_of(seed):
    """Derivatives of third order cost most."""
    return 3 if seed % 8 < 2 else 2 if seed % 2 else 1


def run(seed, modes):
    """Each mode with "ok", "refused", "fault" or "long", and what is said of it."""
    program = Program(seed)
    said = {}
    for mode in modes:
        try:
            found = faults(program.text, program.points, mode, orders_of(seed))
        except Refused as error:
            said[mode] = ("refused", str(error))
        else:
            result = "long" if found == [TOO_LONG] else "fault"
            said[mode] = (result, found[0]) if found else ("ok", "")
    return program, said


def smallest(program, points, mode, fault, orders):
    """The smallest program found with a fault of that kind, and what it says."""
    last = [fault]

    def fails(text):
        try:
            found = faults(text, points, mode, orders)
        except Exception:
            return False
        if found and kind(found[0]) == kind(fault):
            last[0] = found[0]
            return True
        return False

    return shrunk(program, fails), last[0]


def block(first, count, modes, shrink):
    """Runs programs in this process, and prints a line for each that is not fine."""
    counts = collections.Counter()
    for seed in range(first, first + count):
        print(f"seed {seed}", flush=True)
        program, said = run(seed, modes)
        for mode, (result, text) in said.items():
            counts[f"{mode} {result}"] += 1
            if result == "refused":
                print(f"refused {mode}: {text.splitlines()[0]}")
            if result == "long":
                print(f"FAULT of program {seed} in {mode}: {text}", flush=True)
            if result == "fault":
                small = (program.text, text)
                if shrink:
                    orders = orders_of(seed)
                    small = smallest(program.text, program.points, mode, text, orders)
                print(f"FAULT of program {seed} in {mode}: {small[1]}\n{small[0]}", flush=True)
    print("counts", dict(counts), flush=True)


def main():
    """Runs blocks of programs one after the other and adds up what they say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    option = parser.add_argument
    option("--count", type=int, default=1000)
    option("--first", type=int, default=0)
    option("--mode", action="append", choices=["source", "trace"])
    option("--interpreter", action="store_true", help="without machine code only")
    option("--block", action="store_true", help=argparse.SUPPRESS)
    option("--refusals", action="store_true", help="print what is refused, by how often")
    option("--no-shrink", action="store_true")
    given = parser.parse_args()
    modes = given.mode or ["source", "trace"]
    if given.block:
        block(given.first, given.count, modes, not given.no_shrink)
        return
    total, refusals, bad = collections.Counter(), collections.Counter(), 0
    end = given.first + given.count
    for first in range(given.first, end, BLOCK):
        count = min(BLOCK, end - first)
        for jit in ["0"] if given.interpreter else ["1", "0"] if "source" in modes else ["1"]:
            chosen = [m for m in modes if m == "source" or jit == "1" or given.interpreter]
            command = [sys.executable, str(Path(__file__)), "--block", "--first", str(first)]
            command += ["--count", str(count), *(["--no-shrink"] if given.no_shrink else [])]
            command += [part for mode in chosen for part in ("--mode", mode)]
            done = subprocess.run(
                command,
                env={**os.environ, "WYRMLING_JIT": jit},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            last = ""
            for line in done.stdout.splitlines():
                if line.startswith("seed "):
                    last = line
                elif line.startswith("refused "):
                    refusals[line] += 1
                elif line.startswith("counts "):
                    how = "" if jit == "1" else " interpreted"
                    for name, n in ast.literal_eval(line.removeprefix("counts ")).items():
                        total[name + how] += n
                else:
                    bad += line.startswith("FAULT")
                    print(line, flush=True)
            if done.returncode:
                bad += 1
                print(f"FAULT: the process ended with {done.returncode} at {last}", flush=True)
        print(f"up to {first + count}: {dict(sorted(total.items()))}", flush=True)
    if given.refusals:
        for line, n in refusals.most_common(60):
            print(n, line)
    print("no program differs" if not bad else f"{bad} faults")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
