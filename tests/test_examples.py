"""The examples run, and find what they are about."""

import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out


def numbers(pattern: str, text: str) -> list[float]:
    found = re.search(pattern, text)
    assert found, text
    return [float(number) for number in found.groups()]


def test_every_example_is_tested() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == {"regression.py", "bpr.py"}


def test_regression(capsys: pytest.CaptureFixture[str]) -> None:
    out = run("regression.py", capsys)
    assert "loss 16.0, gradient -24.0 -8.0" in out
    assert "loss at x = 0: 49.0" in out
    for steps in ("20 steps", "5 epochs"):
        line = numbers(rf"after {steps}: (\S+) x \+ (\S+)", out)
        assert line == pytest.approx([2.0, 1.0], abs=0.05)
    assert numbers(r"mean loss (\S+);", out) == pytest.approx([0.01], abs=0.002)


def test_bpr(capsys: pytest.CaptureFixture[str]) -> None:
    out = run("bpr.py", capsys)
    assert out.count("epoch") == 4
    model, popularity = numbers(r"NDCG@10: (\S+), by popularity (\S+)", out)
    assert model > popularity + 0.05
