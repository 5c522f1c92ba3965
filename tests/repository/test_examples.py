"""The examples run, and find what they are about."""

import math
import re
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def saving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of the examples that write a file."""
    monkeypatch.chdir(tmp_path)


def run(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out


def numbers(pattern: str, text: str) -> list[float]:
    found = re.search(pattern, text)
    assert found, text
    return [float(number) for number in found.groups()]


def test_every_example_is_tested() -> None:
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert {path.stem for path in EXAMPLES.glob("*.py")} == tested - {"every_example_is_tested"}


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


def test_approximate_search(capsys: pytest.CaptureFixture[str]) -> None:
    out = run("approximate_search.py", capsys)
    for name in ("hnswlib", "faiss"):
        if f"{name} is not installed" not in out:
            assert numbers(rf"{name} finds (\S+) of the 100 best", out)[0] > 95


def test_least_squares(capsys: pytest.CaptureFixture[str]) -> None:
    out = run("least_squares.py", capsys)
    assert numbers(r"gradient differs by (\S+) from", out)[0] < 1e-12
    assert numbers(r"weights differ by (\S+) from", out)[0] < 1e-9


def test_network(capsys: pytest.CaptureFixture[str]) -> None:
    out = run("network.py", capsys)
    assert "gradient of x [[-2.0, -1.0, 0.0, 1.0], [-2.0, -1.0, 0.0, 1.0]]" in out
    assert "gradient of w [[-4.0], [-2.0], [0.0], [2.0]]" in out
    assert re.search(r"%4 +maximum\(%2, %3\) +float64 \(2, 1\) +\[\[10\], \[2\]\]", out)
    assert numbers(r"(\S+)% of the points", out)[0] > 98


def test_lstm(capsys: pytest.CaptureFixture[str]) -> None:
    out = run("lstm.py", capsys)
    first, last = numbers(r"loss (\S+) to (\S+) a sequence", out)
    assert last < first / 4
    assert numbers(r"(\S+)% of the next items", out)[0] > 80


def test_own_loss(capsys: pytest.CaptureFixture[str], saving: None) -> None:
    model, popularity = numbers(r"NDCG@10: (\S+), by popularity (\S+)", run("own_loss.py", capsys))
    assert model > popularity + 0.2


def test_item_features(capsys: pytest.CaptureFixture[str], saving: None) -> None:
    recommended, similar = run("item_features.py", capsys).split("] [")
    assert recommended.count("('") == 3
    assert similar.count("('jazz-") == 3


def test_sequence_encoder(capsys: pytest.CaptureFixture[str], saving: None) -> None:
    last, following = numbers(r"page-(\d+)'\] \[\('page-(\d+)'", run("sequence_encoder.py", capsys))
    assert following == (last + 1) % 30


def test_spin_chain(capsys: pytest.CaptureFixture[str]) -> None:
    out = run("spin_chain.py", capsys)
    one, same = numbers(r"amplitude (\S+), trace of the product (\S+)", out)
    assert one == pytest.approx(same, rel=1e-10)
    exact, error = numbers(r"exact energy (\S+), relative error (\S+)", out)
    # Free fermions (Pfeuty, "The one-dimensional Ising model with a transverse field", 1970).
    assert exact == pytest.approx(-2 / math.sin(math.pi / 16), abs=1e-5)
    assert -1e-3 < error < 0, "from above, since the energy of any state is"


def test_fizzbuzz(capsys: pytest.CaptureFixture[str]) -> None:
    out = run("fizzbuzz.py", capsys)
    assert "100.0% of 101 to 1023 right" in out
    said = out.splitlines()[-2].split()
    right = [
        "fizz" * (n % 3 == 0) + "buzz" * (n % 5 == 0) or str(n) for n in range(1, len(said) + 1)
    ]
    assert len(said) == 100
    # All of them where this was written; a number or two may depend on how sums are rounded.
    same = sum(a == b for a, b in zip(said, right, strict=True))
    assert same >= 95
    assert numbers(r"(\d+)% of 1 to 100 right", out)[0] == same


def test_newton(capsys: pytest.CaptureFixture[str]) -> None:
    out = run("newton.py", capsys)
    for a in ("2.0", "1e-06", "12345.0"):
        found, exactly = numbers(rf"slope of sqrt at {a}: (\S+), exactly (\S+)", out)
        assert found == pytest.approx(exactly, rel=1e-10)
    assert numbers(r"second derivative at 2: (\S+)", out)[0] == pytest.approx(-(2**-3.5))
    # Differences of the function in plain Python.
    slopes = numbers(r"by length (\S+), by span (\S+)", out)
    assert slopes == pytest.approx([1.066806, -0.973186], abs=2e-6)
    assert "branch" in out
    assert "line 21" in out
