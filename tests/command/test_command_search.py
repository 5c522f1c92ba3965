"""``wyrmling search``: what is varied, what is printed, what is saved."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wyrmling.__main__ import main
from wyrmling._core import Csr
from wyrmling.command.models import MODELS
from wyrmling.command.spaces import around, varied
from wyrmling.datasets import make_interactions, read_interactions
from wyrmling.evaluation import evaluate, popularity
from wyrmling.evaluation.spaces import draw
from wyrmling.recommend import BPR, EASE, ItemKNN, Recommender

DATA = make_interactions(80, 40, 8, seed=1)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = DATA
    path = tmp_path_factory.mktemp("data") / "plays.csv"
    pairs = zip(data.users.tolist(), data.items.tolist(), strict=True)
    path.write_text("".join(f"{data.user_ids[u]},{data.item_ids[i]}\n" for u, i in pairs))
    return path


def run(*arguments: Any) -> int:
    return main([str(argument) for argument in arguments])


def test_the_best_of_some_trials_is_printed_and_saved(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "best.safetensors"
    command = ["search", file, "--model", "EASE", "--trials", 4, "--vary", "l2=0.1..1e5"]
    command += ["--metric", "recall@5", "--validation", 0.25, "--seed", 3, "--threads", 1]
    assert run(*command, "--save", out, "--json") == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    found = json.loads(captured.out)
    assert found["metric"] == "recall@5"
    assert len(found["trials"]) == 4
    values = [trial["value"] for trial in found["trials"]]
    assert found["best"]["value"] == max(values) > min(values)
    assert found["best"] in found["trials"]

    # The same by hand.
    data = read_interactions(file)
    train, held_out = data.split(0.25, 3)
    for trial in found["trials"]:
        model = EASE(**trial["parameters"], num_threads=1, random_state=3).fit(train)
        assert evaluate(model, held_out, "recall@5")["recall@5"] == pytest.approx(trial["value"])
        assert 0.1 <= trial["parameters"]["l2"] <= 1e5
    least = evaluate(popularity(train), held_out, "recall@5")["recall@5"]
    assert found["popularity"] == pytest.approx(least)
    saved = Recommender.load(out)
    assert saved.get_params()["l2"] == found["best"]["parameters"]["l2"]
    # It has learnt everything, what was held out too.
    assert len(saved.seen) == len(data.unique_pairs())

    assert run(*command, "--save", out) == 0
    said = capsys.readouterr().out
    assert "4 trials at most, of l2\n" in said
    table = said.split("\n\n")[1].splitlines()
    assert table[0].split() == ["recall@5", "l2", "seconds"]
    assert [float(row.split()[0]) for row in table[1:]] == pytest.approx(
        sorted(values, reverse=True), abs=1e-4
    )
    assert f"best        recall@5 {max(values):.4f}; popularity {least:.4f}" in said
    assert f"options     --l2 {found['best']['parameters']['l2']}\n" in said
    assert f"saved       {out}, " in said


def test_halving_gives_the_best_more_epochs(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["search", file, "--model", "bpr", "--method", "halving", "--trials", 9]
    command += ["--epochs", 9, "--threads", 1, "--vary", "factors=4,8", "--vary", "lr=0.01..1"]
    command += ["--json"]
    assert run(*command) == 0
    found = json.loads(capsys.readouterr().out)
    assert [trial["epochs"] for trial in found["trials"]] == [1] * 9 + [3] * 3 + [9]
    assert {trial["parameters"]["factors"] for trial in found["trials"]} == {4, 8}
    assert {*found["best"]["parameters"]} == {"factors", "lr"}
    assert found["saved"] is None


def test_what_has_its_default_is_tried_first(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["search", file, "--model", "knn", "--trials", 3, "--threads", 1, "--json"]
    assert run(*command) == 0
    trials = json.loads(capsys.readouterr().out)["trials"]
    varies = around(ItemKNN(), DATA)
    assert trials[0]["parameters"] == {name: getattr(ItemKNN(), name) for name in varies}
    assert len(trials) == 3


@pytest.mark.parametrize("name", [name for name in MODELS if name != "popularity"])
def test_every_model_has_something_to_vary(name: str) -> None:
    model = MODELS[name]()
    space = around(model, DATA)
    assert space
    pairs = Csr(DATA.users, DATA.items, DATA.n_users, DATA.n_items)
    chosen = model._resolved(pairs)
    for parameters in draw(space, 20, np.random.default_rng(1)):
        type(model)(**parameters).check_params()
    for parameter, choices in space.items():
        drawn = [one[parameter] for one in draw({parameter: choices}, 30, np.random.default_rng(2))]
        default = getattr(chosen, parameter)
        assert min(drawn) < default < max(drawn)


def test_what_is_given_is_not_varied() -> None:
    assert set(around(BPR(), DATA)) == {"factors", "lr", "l2", "l2_bias"}
    assert set(around(BPR(factors=8, l2=0.0), DATA)) == {"lr", "l2_bias"}
    assert set(around(ItemKNN(), DATA)) == {"neighbours", "shrink"}


def test_choices_are_lists_or_ranges() -> None:
    assert varied("bpr", "factors=16, 32,64") == ("factors", [16, 32, 64])
    assert varied("bpr", "optimizer=sgd,adagrad") == ("optimizer", ["sgd", "adagrad"])
    assert varied("bpr", "l2-users=none,0.5") == ("l2_users", [None, 0.5])
    rng = np.random.default_rng(3)
    for text, low, high, middle, kind in (
        ("lr=0.01..1", 0.01, 1, 0.1, float),
        ("l2=0..1", 0, 1, 0.5, float),
        ("l2_users=0.01..1", 0.01, 1, 0.1, float),
        ("factors=1..100", 1, 100, 10, int),
    ):
        name, choices = varied("bpr", text)
        drawn = [one[name] for one in draw({name: choices}, 400, rng)]
        assert all(type(value) is kind and low <= value <= high for value in drawn)
        if kind is float:
            assert 0.4 < np.mean(np.array(drawn) < middle) < 0.6


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("lr", "expected NAME=VALUES with a hyperparameter of bpr: factors, lr"),
        ("magic=1", "expected NAME=VALUES"),
        ("num_threads=1,2", "expected NAME=VALUES"),
        ("factors=0,1", "--factors is 0, expected an integer at least 1"),
        ("factors=1.5..4", "--factors is '1.5', expected an integer"),
        ("lr=", "--lr is ''"),
        ("lr=0.2..0.1", "expected finite ones in rising order"),
        ("l2_users=none..1", "expected numbers before and after"),
        ("deterministic=true..false", "expected numbers before and after"),
    ],
)
def test_choices_that_make_no_sense(text: str, says: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError) as raised:
        varied("bpr", text)
    assert says in str(raised.value)


def test_what_makes_no_sense_is_one_line(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, says in (
        (["--model", "popularity"], "popularity has no hyperparameters to search"),
        (["--model", "ease", "--method", "halving"], "the model has no parameter 'epochs'"),
        (["--model", "ease", "--metric", "magic@5"], "magic@5"),
        (["--vary", "lr=1", "--vary", "lr=2"], "--vary has a hyperparameter twice"),
        (["--save", file], f"--save is {file}, the file that is read"),
        (["--save", tmp_path / "none" / "m"], "there is no directory"),
    ):
        assert run("search", file, *arguments) == 1
        said = capsys.readouterr().err
        assert says in said
        assert said.count("\n") == 1
    for arguments, says in (
        (["--model", "popularity", "--vary", "lr=1"], "of popularity, which has none"),
        (["--trials", "0"], "'0' is not a whole number from 1"),
        (["--validation", "1"], "'1' is not between 0 and 1"),
    ):
        with pytest.raises(SystemExit) as raised:
            run("search", file, *arguments)
        assert raised.value.code == 2
        assert says in capsys.readouterr().err
