"""Programs by hand in Rust: ``examples/handwritten_*.rs``."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from .rows import Run


def build() -> str:
    """Builds the programs and returns the folder that they are in."""
    command = ["cargo", "build", "--release", "--locked", "--message-format", "json"]
    for program in ("handwritten_bpr", "handwritten_loops"):
        command += ["--example", program]
    root = Path(__file__).resolve().parent.parent.parent
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=root)
    messages = [json.loads(line) for line in answer.stdout.splitlines()]
    programs = [m["executable"] for m in messages if m.get("executable")]
    return str(Path(programs[-1]).parent)


def loop(folder: str, name: str) -> Run:
    """One of the loops, in a process of its own."""

    def run() -> list[float]:
        command = [str(Path(folder) / "handwritten_loops"), name]
        answer = subprocess.run(command, check=True, capture_output=True, text=True)
        return [float(answer.stdout)]

    return run
