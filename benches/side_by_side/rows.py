"""A row of the comparison: sides that do the same work, timed in turn, and how that is shown."""

from __future__ import annotations

import statistics
import sys
import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

OURS = "wyrmling"
READ = f"{OURS}, read"
"""Functions that are read and compiled, not traced."""

Run = Callable[[], Sequence[float]]
"""Does the work some times and returns the seconds of each."""


@dataclass(frozen=True)
class Target:
    """What the project has set itself: a bound on a quotient of two sides' times.

    ``slow`` over ``fast`` is at least ``least`` or at most ``most``. Without ``fast``, the
    time of ``slow`` itself, in seconds, is at most ``most``.
    """

    text: str
    slow: str
    fast: str | None = None
    least: float = 0.0
    most: float = float("inf")


@dataclass(frozen=True)
class Row:
    """One kind of work and the sides that do it; ``show`` turns seconds into ``unit``."""

    title: str
    unit: str
    show: Callable[[float], str]
    sides: dict[str, Run]
    targets: Sequence[Target] = ()
    repeats: int = 15


def micro(call: Callable[[], Any]) -> Run:
    """A run of a call that takes microseconds, each time for some 10 ms."""
    timer = timeit.Timer(call)
    timer.timeit(3)  # what is compiled on first use
    number = max(1, round(0.01 / (timer.timeit(20) / 20)))
    return lambda: [timer.timeit(number) / number]


def check(side: str, found: Sequence[Any], expected: Sequence[Any]) -> None:
    """Compares values and gradients with known ones."""
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-5, err_msg=side)


def microseconds(seconds: float) -> str:
    """Seconds as microseconds."""
    return f"{seconds * 1e6:,.2f}"


def measure(row: Row, repeats: int) -> dict[str, list[float]]:
    """Runs the sides in turn; one that fails is reported and left out."""
    times: dict[str, list[float]] = {side: [] for side in row.sides}
    for _ in range(repeats):
        for side in list(times):
            try:
                times[side] += row.sides[side]()
            except Exception as error:
                print(f"  {side} failed: {type(error).__name__}: {error}", file=sys.stderr)
                del times[side]
    return times


def report(row: Row, times: dict[str, list[float]]) -> None:
    """Prints a row: best and median of every side, quotients of the best, and targets."""
    print(f"\n{row.title}\n")
    best = {side: min(seconds) for side, seconds in times.items()}
    first = next(iter(best.values()), 1.0)
    print(f"  {'best of ' + row.unit:28}{'best':>12}{'median':>12}{'time / ours':>14}")
    for side, seconds in times.items():
        middle = row.show(statistics.median(seconds))
        print(f"  {side:28}{row.show(best[side]):>12}{middle:>12}{best[side] / first:>14.2f}")
    for target in row.targets:
        if target.slow not in best or (target.fast and target.fast not in best):
            continue
        if target.fast is None:
            found, value = row.show(best[target.slow]), best[target.slow]
        else:
            value = best[target.slow] / best[target.fast]
            found = f"{value:.2f}"
        verdict = "met" if target.least <= value <= target.most else "MISSED"
        print(f"  target {verdict}: {target.text} ({found})")
