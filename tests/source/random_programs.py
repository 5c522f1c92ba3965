"""Runs random programs in all modes, and says which give something else than plain Python.

    python tests/source/random_programs.py [--count N] [--first SEED] [--mode MODE ...]

Each program (``program.py``) is called at two points or three. What ``mode="source"`` gives, by
machine code and by the interpreter, and what tracing gives, is held against plain Python and
against derivatives by series (``held.py``); the programs that are refused are counted. A program
with a fault is shrunk and printed. Programs run in processes of a few hundred each, so that one
that crashes ends nothing but its own.

A program is read once for all transforms at a point, and once for both ways to run it: reading is
nine tenths of the time, and gives the same each time (``once``).
"""

from __future__ import annotations

import argparse
import ast
import collections
import contextlib
import copy
import dataclasses
import functools
import linecache
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

from held import Held, Refused
from outcomes import leaves, outcome
from program import Program
from shrinking import shrunk

from wyrmling import _core
from wyrmling.source import chained, choose, policy

MODES = ["source", "interpreter", "trace"]
BLOCK = 250
SECONDS = 20
MOST_TURNS = 10_000
TOO_LONG = f"takes more than {SECONDS} seconds"


class TooLong(BaseException):
    """A program took too long; no handler of the program catches it."""


def is_short(text, point):
    """Whether a program goes through few turns of ranges there: a huge integer may reach one. The
    turns are counted, so that the same points are left out each time.
    """
    left = MOST_TURNS

    def counted(*bounds):
        nonlocal left
        turns = range(*bounds)
        try:
            left -= len(turns)
        except OverflowError:
            raise TooLong from None
        if left < 0:
            raise TooLong
        return turns

    f = function(text)
    f.__globals__["range"] = counted
    try:
        outcome(f, *point)
    except TooLong:
        return False
    return True


@contextlib.contextmanager
def limited(seconds):
    """Ends what takes longer, of the processor's time, on systems that have such timers."""

    def stop(*_):
        raise TooLong

    if not hasattr(signal, "SIGPROF"):
        yield
        return
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def function(text, name="<random program>"):
    """The function ``f`` of a text, whose source is found as that of a notebook's cell is."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space = {"__name__": "random_program"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # a shrunk program may be silly
        exec(compile(text, name, "exec"), space)
    return space["f"]


def _copied(read):
    """What was read, with conditions of its own, to which each transform adds."""
    needs = copy.copy(read.needs)
    needs._tests = {place: list(tests) for place, tests in needs._tests.items()}
    needs._hidden = dict(needs._hidden)
    return dataclasses.replace(read, needs=needs)


@contextlib.contextmanager
def once():
    """Functions are read once for arguments that are written the same, whatever is made of them,
    and each transform of one is made once.
    """
    real = chained.read_function, choose.program
    kept = {}

    def remembered(key, make):
        if key not in kept:
            try:
                kept[key] = make(), None
            except Exception as error:
                kept[key] = None, error
        made, error = kept[key]
        if error is not None:
            raise error.with_traceback(None)
        return _copied(made)

    def written(tree):
        return repr(tree), tuple(map(type, leaves(tree)))

    def read_function(f, args, kwargs, **options):
        key = (f, written(args), written(kwargs), repr(options))
        return remembered(key, lambda: real[0](f, args, kwargs, **options))

    def program(f, chain, arguments, **options):
        key = (f, repr(chain), written(arguments.args), written(arguments.kwargs), repr(options))
        return remembered(key, lambda: real[1](f, chain, arguments, **options))

    chained.read_function, choose.program = read_function, program
    try:
        yield
    finally:
        chained.read_function, choose.program = real


@contextlib.contextmanager
def interpreted():
    """What is compiled here is interpreted, and nothing is left of what was compiled before."""
    real = _core.IrFunction.compile
    policy._records.clear()
    _core.IrFunction.compile = functools.partialmethod(real, native=False)
    try:
        yield
    finally:
        _core.IrFunction.compile = real
        policy._records.clear()


def faults(text, points, mode, orders, held=None):
    """What a mode gives wrong for a program, or the refusal, or nothing. ``held`` is a list of what
    is known of the points, to which is added.
    """
    held = [] if held is None else held
    is_interpreted = mode == "interpreter"
    given = "source" if is_interpreted else mode
    try:
        with limited(SECONDS), interpreted() if is_interpreted else contextlib.nullcontext():
            f = held[0].function if held else function(text)
            for at, point in enumerate(points):
                if at == len(held):
                    held.append(Held(f, point, {}))
                    held[-1].steps_may_vanish = True
                found = held[at].faults(given, orders if at == 0 else 1)
                if found:
                    return [f"at {point}: {found[0]}"]
    except TooLong:
        return [TOO_LONG]
    return []


def kind(fault):
    """What sort of fault it is, which shrinking has to keep: the text but for numbers."""
    text = fault.partition("): ")[2] or fault
    return re.sub(r"[-+]?[0-9][-+.e0-9]*|'\w+'|nan|inf", "#", text)[:60]


def orders_of(seed):
    """Derivatives of third order cost most."""
    return 3 if seed % 8 < 2 else 2 if seed % 2 else 1


@functools.cache
def stores_in_order():
    """Whether ``a, a = x, y`` makes ``a`` what ``y`` is. CPython 3.11.2 exchanges the stores."""
    return function("def f(x, y):\n    a, a = x, y\n    return a\n")(1.0, 2.0) == 2.0


def run(seed, modes):
    """Each mode with "ok", "refused", "fault" or "long", and what is said of it."""
    program = Program(seed)
    program.points = [point for point in program.points if is_short(program.text, point)]
    if re.search(r"\b(\w+), (\w+, )?\1 = ", program.text) and not stores_in_order():
        program.points = []
    said = {}
    held = []
    with once():
        for mode in modes:
            try:
                found = faults(program.text, program.points, mode, orders_of(seed), held)
            except Refused as error:
                said[mode] = ("refused", str(error))
            else:
                result = "long" if found == [TOO_LONG] else "fault"
                said[mode] = (result, found[0]) if found else ("ok", "")
    return program, said


def smallest(program, points, mode, fault, orders):
    """The smallest program found with a fault of that kind, and what it says."""
    last = [fault]
    end = time.monotonic() + SECONDS

    def fails(text):
        if time.monotonic() > end:
            return False
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
    option("--mode", action="append", choices=MODES)
    option("--block", action="store_true", help=argparse.SUPPRESS)
    option("--refusals", action="store_true", help="print what is refused, by how often")
    option("--no-shrink", action="store_true")
    given = parser.parse_args()
    modes = given.mode or MODES
    if given.block:
        block(given.first, given.count, modes, not given.no_shrink)
        return
    total, refusals, bad = collections.Counter(), collections.Counter(), 0
    end = given.first + given.count
    for first in range(given.first, end, BLOCK):
        count = min(BLOCK, end - first)
        command = [sys.executable, str(Path(__file__)), "--block", "--first", str(first)]
        command += ["--count", str(count), *(["--no-shrink"] if given.no_shrink else [])]
        command += [part for mode in modes for part in ("--mode", mode)]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        last = ""
        for line in done.stdout.splitlines():
            if line.startswith("seed "):
                last = line
            elif line.startswith("refused "):
                refusals[re.sub(r"<.*>:[0-9]+: in \w+", "", line)] += 1
            elif line.startswith("counts "):
                total.update(ast.literal_eval(line.removeprefix("counts ")))
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
