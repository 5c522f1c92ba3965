"""The models of sequences of sbr 0.4.0, a crate of Rust, on the same users and items.

``benches/sbr`` is a program that fits one and prints scores for histories. It is built when it is
first asked for. Where cargo is missing, or the build fails, that is said, and sbr is left out.

Parameters are those of sbr's tests unless others are given: sbr's own defaults (16 factors, Adam
with step length 0.01) are not what its author measures with.
"""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .pairs import Numbers, Pairs

Scores = npt.NDArray[np.float32]

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "target/sbr/release/sbr-beside"
AS_IN_ITS_TESTS = {
    "loss": "warp",
    "factors": 32,
    "epochs": 10,
    "lr": 0.16,
    "l2": 0.0004,
    "length": 128,
}


@cache
def built() -> bool:
    """Builds the program if it is missing; whether it is there. What went wrong is printed."""
    if PROGRAM.exists():
        return True
    print("building benches/sbr, which takes a minute or two")
    command = ["sh", "scripts/ensure-rust.sh", "cargo", "build", "--release", "--locked", "--quiet"]
    places = ["--manifest-path", "benches/sbr/Cargo.toml", "--target-dir", "target/sbr"]
    failed = subprocess.run([*command, *places], cwd=ROOT, check=False).returncode != 0
    if failed:
        print("left out, since cargo could not build it: sbr")
    return not failed


class Fit:
    """A program that fits ``"ewma"`` or ``"lstm"`` to data, and then answers histories.

    ``settings`` are ``loss``, ``factors``, ``epochs``, ``lr``, ``l2`` and ``length``.
    """

    def __init__(self, model: str, settings: Mapping[str, Any], data: Pairs, seed: int) -> None:
        loss, *numbers = (settings[name] for name in AS_IN_ITS_TESTS)
        arguments = [str(one) for one in (model, loss, data.n_items, *numbers, seed)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen([PROGRAM, *arguments], text=True, **pipes)
        for history in data.histories():
            self._say(history)
        self._say([])

    def _say(self, items: Iterable[int]) -> None:
        print(*items, file=self._process.stdin)

    def __call__(self, history: Numbers) -> Scores:
        """The scores of all items."""
        self._say(history)
        self._process.stdin.flush()
        return np.array(self._process.stdout.readline().split(), np.float32)

    def end(self) -> None:
        """Waits until the program has done what it was asked for."""
        self._process.communicate()
        if self._process.returncode:
            raise RuntimeError(f"sbr-beside ended with code {self._process.returncode}")

    def __del__(self) -> None:
        if self._process.returncode is None:
            self._process.communicate()


def fit(model: str) -> Callable[[Pairs, Mapping[str, Any], int], Fit]:
    """A fit of ``"ewma"`` or ``"lstm"``, which answers a history with scores."""
    return lambda data, parameters, seed: Fit(model, AS_IN_ITS_TESTS | parameters, data, seed)


def time_epochs(model: str, loss: str, data: Pairs, factors: int, epochs: int = 3) -> list[float]:
    """The processor's seconds of an epoch: those of a program with some more less one of one."""
    seconds = []
    for count in (1, 1 + epochs):
        settings = AS_IN_ITS_TESTS | {"loss": loss, "factors": factors, "epochs": count}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        Fit(model, settings, data, 1).end()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return [(seconds[1] - seconds[0]) / epochs]
