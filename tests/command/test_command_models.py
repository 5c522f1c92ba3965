"""Commands for any model: training with its hyperparameters, asking, measuring, comparing."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from wyrmling.__main__ import main
from wyrmling.command import recommend, similar
from wyrmling.command.models import MODELS, offered
from wyrmling.command.train import add_run_options
from wyrmling.data import Id, Interactions
from wyrmling.datasets import make_interactions, read_interactions
from wyrmling.evaluation import evaluate
from wyrmling.recommend import BPR, EASE, WARP, Popularity, Recommender


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = make_interactions(60, 40, 8, seed=1)
    path = tmp_path_factory.mktemp("data") / "plays.csv"
    pairs = zip(data.users.tolist(), data.items.tolist(), strict=True)
    rows = [f"{data.user_ids[u]},{data.item_ids[i]},{1 + i % 5}" for u, i in pairs]
    path.write_text("user,item,rating\n" + "\n".join(rows) + "\n")
    return path


def run(*arguments: Any) -> int:
    return main([str(argument) for argument in arguments])


def quick(name: str) -> list[str]:
    """What makes training short."""
    return ["--epochs", "2"] if name not in ("popularity", "ease", "knn") else []


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_trained_and_asked(
    name: str, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "model.safetensors"
    command = ["train", file, "--model", name, "--out", out, "--threads", 1, *quick(name)]
    if name == "explicit":
        command += ["--min-rating", 1]
    assert run(*command) == 0
    model = Recommender.load(out)
    assert type(model) is MODELS[name]
    assert type(model).__name__ in capsys.readouterr().out
    assert run("recommend", out, "--user", "user-1", "-k", 3, "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["recommendations"]) == 3
    code = run("similar", out, "--item", "jazz-1", "-k", 2, "--json")
    if name == "popularity":
        assert code == 1
        return
    assert len(json.loads(capsys.readouterr().out)["similar"]) == 2


def test_models_of_sequences_say_whose_order_they_take(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", file, "--epochs", 1, "--threads", 1, "--out", tmp_path / "model", "--model"]
    said = []
    for more in (["ewma"], ["ewma", "--time-column", "rating"], ["bpr"]):
        assert run(*command, *more) == 0
        said.append("since --time-column is not given" in capsys.readouterr().out)
    assert said == [True, False, False]


def test_hyperparameters_are_options(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    for arguments, expected in (
        (["--model", "warp", "--factors", "5", "--n-negatives", "7"], {"factors": 5}),
        (["--model", "bpr", "--l2-users", "none", "--optimizer", "adagrad"], {"l2_users": None}),
        (["--l2-users", "0.5", "--schedule=constant"], {"l2_users": 0.5, "schedule": "constant"}),
        (["--model", "fm", "--identity", "false", "--loss", "logistic"], {"identity": False}),
    ):
        assert run("train", file, "--out", out, "--quiet", "--epochs", 1, *arguments) == 0
        params = Recommender.load(out).get_params()
        assert expected.items() <= params.items()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--model", "svd"], "invalid choice: 'svd'"),
        (["--factors", "0"], "--factors is 0, expected an integer at least 1"),
        (["--factors", "many"], "--factors is 'many', expected an integer"),
        (["--lr", "nan"], "--lr is 'nan', expected a finite number"),
        (["--optimizer", "rmsprop"], "expected 'sgd' or 'adagrad' or 'adam'"),
        (["--model", "ease", "--factors", "3"], "--factors"),
        (["--model", "fm", "--identity", "maybe"], "expected True or False"),
    ],
)
def test_what_makes_no_sense(
    arguments: list[str], says: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as raised:
        run("train", file, *arguments)
    assert raised.value.code == 2
    assert says in capsys.readouterr().err


def test_help_names_the_hyperparameters(capsys: pytest.CaptureFixture[str]) -> None:
    for name, option, says in (
        ("bpr", "--l2-bias", "that of biases [0.01]"),
        ("ease", "--l2", "it grows with the data, and hundreds are usual"),
        ("sasrec", "--max-length", "how many items a state may depend on [100]"),
        ("als", "--solver", '"cg", conjugate gradients, or "cholesky"'),
    ):
        with pytest.raises(SystemExit):
            run("train", "--model", name, "--help")
        said = capsys.readouterr().out
        assert f"hyperparameters of {name}" in said
        assert option in said
        assert says in " ".join(said.split())


def test_models_are_measured(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "model"
    lines = file.read_text().splitlines(keepends=True)
    (tmp_path / "train.csv").write_text("".join(lines[:1] + lines[1::2]))
    (tmp_path / "test.csv").write_text("".join(lines[:1] + lines[2::2]))
    assert run("train", tmp_path / "train.csv", "--model", "ease", "--out", out, "--quiet") == 0
    capsys.readouterr()
    assert run("evaluate", out, tmp_path / "test.csv", "--metric", "ndcg@5", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    low, high = found["intervals"]["ndcg@5"]
    assert 0 < low <= found["ndcg@5"] <= high <= 1
    assert run("evaluate", out, tmp_path / "test.csv") == 0
    assert "ndcg@10" in capsys.readouterr().out
    assert "left out" not in capsys.readouterr().out
    assert run("evaluate", out, tmp_path / "test.csv", "--metric", "magic@5") == 1


def test_lines_that_are_not_measured_are_told(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, test = tmp_path / "model", tmp_path / "test.csv"
    data = read_interactions(file)
    Popularity().fit(data).save(out)
    user, item = data.user_ids[data.users[0]], data.item_ids[data.items[0]]
    new = next(item for item in data.item_ids if item not in had_by(data, user))
    rows = [(user, new), (user, new), (user, item), ("zed", item), (user, "zed")]
    test.write_text("".join(f"{user},{item}\n" for user, item in rows))
    assert run("evaluate", out, test, "--json") == 0
    left_out = {"unknown": 2, "unasked": 0, "seen": 1, "repeated": 1}
    assert json.loads(capsys.readouterr().out)["left_out"] == left_out
    assert run("evaluate", out, test) == 0
    assert "lines left out: 2 of a user or item that the model does" in capsys.readouterr().out


def had_by(data: Interactions, user: Id) -> set[Id]:
    """What a user had."""
    rows = data.users == data.user_ids.number(user)
    return set(data.item_ids.take(data.items[rows]).tolist())


def test_training_is_told_in_json(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "model.safetensors"
    command = ["train", file, "--model", "ease", "--out", out, "--json"]
    assert run(*command, "--holdout", 0.2) == 0
    found = json.loads(capsys.readouterr().out)
    data = read_interactions(file)
    assert (found["model"], found["interactions"]) == ("ease", len(data))
    assert (found["users"], found["items"]) == (data.n_users, data.n_items)
    assert (found["saved"], found["bytes"]) == (str(out), out.stat().st_size)
    train, test = data.split(0.2, 0)
    expected = evaluate(EASE().fit(train), test, "ndcg@10")["ndcg@10"]
    assert found["held_out"]["EASE"]["ndcg@10"] == pytest.approx(expected)
    assert set(found["held_out"]) == {"EASE", "popularity"}
    assert run(*command) == 0
    assert json.loads(capsys.readouterr().out)["held_out"] == {}


def test_models_are_compared(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compare", file, "--models", "ease, knn", "--json", "--threads", 1) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"ease", "knn", "popularity"}
    assert all(0 <= metrics["ndcg@10"] <= 1 for metrics in found.values())
    assert run("compare", file, "--models", "knn", "--metric", "recall@3") == 0
    said = capsys.readouterr().out
    assert "recall@3" in said
    assert "popularity" in said
    with pytest.raises(SystemExit):
        run("compare", file, "--models", "knn,magic")
    assert "'magic' is none of popularity, bpr" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run("compare", file, "--models", "knn,ease,KNN")
    assert "'knn' is there twice, expected each model once" in capsys.readouterr().err


def test_what_a_model_makes_nothing_of_is_no_option(capsys: pytest.CaptureFixture[str]) -> None:
    for name, is_option in (("bpr", False), ("explicit", False), ("warp", True)):
        with pytest.raises(SystemExit):
            run("train", "--model", name, "--help")
        assert ("--n-negatives" in capsys.readouterr().out) == is_option
    assert "n_negatives" not in offered(BPR)
    assert "num_threads" not in offered(WARP)


def test_options_have_the_names_of_python_too() -> None:
    parser = argparse.ArgumentParser()
    add_run_options(parser)
    options = parser.parse_args(["--num-threads", "2", "--random-state", "7"])
    assert (options.threads, options.seed) == (2, 7)
    for command in (recommend, similar):
        parser = argparse.ArgumentParser()
        command.add_options(parser)
        given = ["model", "--user", "a", "-n", "3"] if command is recommend else []
        given = given or ["model", "--item", "a", "-n", "3"]
        assert parser.parse_args(given).k == 3


def test_a_model_may_be_named_by_a_shorter_option(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "model.safetensors"
    assert run("train", file, "--mod", "als", "--epo", 1, "--l2-pow", 0.5, "--out", out) == 0
    model = Recommender.load(out)
    assert (type(model).__name__, model.get_params()["l2_power"]) == ("ImplicitALS", 0.5)
    # What may be this option or another is neither.
    with pytest.raises(SystemExit):
        run("train", file, "--m", "als", "--out", out)


def test_ratings_are_no_amounts(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "model.safetensors"
    shared = [file, "--epochs", 1, "--threads", 1, "--out", out, "--model"]
    assert run("train", *shared, "als", "--min-rating", 2) == 0
    assert "values" not in Recommender.load(out).fitted.arrays
    # A count is a weight.
    assert run("train", *shared, "als", "--weight-column", "rating") == 0
    assert Recommender.load(out).fitted.arrays["values"].max() == 5
    # What learns ratings reads them unasked.
    for more in ([], ["--rating-column", "rating"], ["--min-rating", 2]):
        assert run("train", *shared, "explicit", *more) == 0
    bare = tmp_path / "bare.csv"
    bare.write_text("ann,tea\nbob,rye\n")
    capsys.readouterr()
    assert run("train", bare, "--model", "explicit", "--out", out) == 1
    assert "has no ratings, which the model explicit asks for" in capsys.readouterr().err
    assert run("compare", file, "--models", "als,explicit") == 1
    assert "which als would take for amounts" in capsys.readouterr().err


def test_a_model_of_integers_is_measured_on_a_text_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = make_interactions(60, 40, 8, seed=1)
    numbers = Interactions.from_ids(data.users.astype(int), data.items.astype(int))
    train, test = numbers.split(0.3, seed=2)
    model = tmp_path / "model.safetensors"
    BPR(epochs=2, num_threads=1).fit(train).save(model)
    users, items = test.user_ids.take(test.users), test.item_ids.take(test.items)
    # Zeros in front of some: 7 and 07 are one user.
    pairs = enumerate(zip(users, items, strict=True))
    rows = [f"{user:0{1 + row % 2 * 3}},{item}\n" for row, (user, item) in pairs]
    (tmp_path / "test.csv").write_text("".join(rows))
    assert run("evaluate", model, tmp_path / "test.csv", "--json", "--metric", "ndcg@10") == 0
    found = json.loads(capsys.readouterr().out)
    expected = evaluate(Recommender.load(model), test, ["ndcg@10"])
    assert found["ndcg@10"] == expected["ndcg@10"]
    assert found["users"] == expected.n_users
