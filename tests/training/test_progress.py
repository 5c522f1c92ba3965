"""What shows how long work goes on: bars on a terminal, lines without tqdm, nothing elsewhere."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from wyrmling.__main__ import main
from wyrmling.datasets import make_interactions
from wyrmling.evaluation import compare, evaluate, search
from wyrmling.progress import Bytes, Steps
from wyrmling.recommend import BPR, EASE


def test_lines_without_tqdm(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with Steps(5, "trial") as bar:
        bar.advance("good")
        with bar.hidden():
            print("between")
        bar.advance(count=4)
    for silent in (Steps(2, "trial", shows=False), Steps(2, "trial", lines=False)):
        with silent as bar, bar.hidden():
            bar.advance("unseen")
    out, err = capsys.readouterr()
    assert out == "between\n"
    assert err == "trial 1/5: good\ntrial 5/5\n"

    train, test = make_interactions(60, 40, 8, seed=3).split(seed=1)
    model = BPR(factors=4, epochs=1, num_threads=1)
    compare({"bpr": model}, train, test, "mrr", progress=True)
    said = ["bpr is trained", "bpr is measured", "popularity is measured"]
    lines = [f"step {n}/3: {what}\n" for n, what in enumerate(said, 1)]
    assert capsys.readouterr().err == "".join(lines)
    found = evaluate(model.fit(train), test, "mrr", progress=True)
    assert capsys.readouterr().err == f"user {found.n_users}/{found.n_users}\n"
    # Of a halving all trials are counted: of 9 go on 3, and of these 1.
    space = {"lr": [0.01 * n for n in range(1, 10)]}
    search(model.set_params(epochs=9), space, train, trials=9, method="halving", progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in lines] == [f"trial {n}/13" for n in range(1, 14)]
    asked: list[tuple[Any, Any]] = [
        (compare, ({"bpr": model}, train, test)),
        (evaluate, (model, test)),
        (search, (model, space, train)),
    ]
    for function, given in asked:
        with pytest.raises(TypeError, match="progress"):
            function(*given, progress="yes")


@pytest.mark.parametrize("without_tqdm", [False, True])
def test_a_program_without_a_standard_error_sees_nothing(
    without_tqdm: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if without_tqdm:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    monkeypatch.setattr(sys, "stderr", None)
    data = make_interactions(60, 40, 8, seed=3)
    BPR(factors=4, epochs=2, num_threads=1).fit(data, progress=True)
    download = Bytes("file")
    download.begin(10)
    download.add(10)
    download.close()
    assert capsys.readouterr().out == ""


def test_a_bar_is_closed_when_work_fails(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    bar = Steps(2, "trial")

    def work() -> None:
        with bar:
            bar.advance()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert capsys.readouterr().err.endswith("\n")
    assert bar._bar.disable, "it is closed"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Interactions as lines, and a model."""
    data = make_interactions(60, 40, 8, seed=3)
    place = tmp_path_factory.mktemp("progress")
    pairs = zip(data.users.tolist(), data.items.tolist(), strict=True)
    lines = [f"{data.user_ids[u]},{data.item_ids[i]}\n" for u, i in pairs]
    (place / "plays.csv").write_text("".join(lines))
    EASE().fit(data).save(place / "model")
    return place / "plays.csv", place / "model"


@pytest.mark.parametrize(
    ("command", "unit", "count"),
    [
        ("train {file} --epochs 3 --out {out}", "epoch", 3),
        ("compare {file} --models ease,knn", "step", 5),
        ("search {file} --trials 2 --epochs 2", "trial", 2),
        ("evaluate {model} {file} --include-seen", "user", 60),
    ],
)
def test_commands_show_a_bar_on_a_terminal(
    command: str,
    unit: str,
    count: int,
    files: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("tqdm")
    file, model = files
    given = command.format(file=file, model=model, out=tmp_path / "out").split()
    assert main(given) == 0
    plain = capsys.readouterr()
    assert plain.err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(given) == 0
    shown = capsys.readouterr()
    assert f"{count}/{count}" in shown.err
    assert unit in shown.err
    # Results are the same, whoever looks.
    assert len(shown.out.splitlines()) == len(plain.out.splitlines())
    assert shown.out.splitlines()[0] == plain.out.splitlines()[0]
    assert "%" not in shown.out.replace("95 % interval", "")
    if given[0] == "train":
        assert main([*given, "--quiet"]) == 0
        assert capsys.readouterr() == ("", "")
    else:
        assert main([*given, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)
