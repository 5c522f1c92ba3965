"""The command line, as a user meets it: what it prints, and how it fails."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import wyrmling as wy
from wyrmling.__main__ import main
from wyrmling.data import Ids, Interactions
from wyrmling.datasets import make_interactions
from wyrmling.recommend import EASE, ExplicitMF, Recommender

COMMAND = [sys.executable, "-m", "wyrmling"]


def run(*arguments: str | Path, code: int = 0) -> str:
    """The output of a command that ends with ``code``: of the stream that it is for."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stderr
    if code == 0:
        assert done.stderr == ""
        return done.stdout
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def lines() -> list[str]:
    data = make_interactions(60, 40, 8, seed=2)
    return [
        f"{data.user_ids[u]},{data.item_ids[i]}\n"
        for u, i in zip(data.users, data.items, strict=True)
    ]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, lines: list[str]) -> Path:
    directory = tmp_path_factory.mktemp("main")
    (directory / "plays.csv").write_text("".join(lines))
    path = directory / "plays.safetensors"
    run("train", directory / "plays.csv", "--out", path, "--epochs", "3", "--quiet")
    return path


def test_train_reports_and_saves(tmp_path: Path, lines: list[str]) -> None:
    file, out = tmp_path / "plays.csv", tmp_path / "plays.safetensors"
    file.write_text("user,item\n" + "".join(lines))
    arguments = ["--factors", "4", "--epochs", "3", "--threads", "1", "--batch-size", "16"]
    said = run("train", file, "--out", out, "--holdout", "0.25", *arguments)
    count = len(lines) - round(len(lines) / 4)
    assert f"{len(lines)} interactions of 60 users" in said
    assert f"held out    {len(lines) - count} interactions" in said
    assert "4 factors, 3 epochs, batches of 16, 1 thread\n" in said
    epochs = [line for line in said.splitlines() if line.split()[:1] in (["1"], ["2"], ["3"])]
    assert len(epochs) == 6  # of what is measured, and of everything
    assert "samples a second" in said
    for name in ("BPR", "popularity", "MRR", "NDCG@10", "recall@10", "AUC"):
        assert name in said
    model = Recommender.load(out)
    assert model.fitted.arrays["users"].shape == (60, 4)
    # What was held out was to measure: the model has learnt everything.
    assert len(model.seen) == len(set(lines))
    assert str(out) in said


def test_quiet_is_quiet_and_training_reproducible(tmp_path: Path, lines: list[str]) -> None:
    file = tmp_path / "plays.csv"
    file.write_text("".join(lines))
    files = []
    for name in ("one", "two"):
        out = tmp_path / name
        assert run("train", file, "--out", out, "--quiet", "--epochs", "2", "--threads", "1") == ""
        files.append(out.read_bytes())
    assert files[0] == files[1]


def test_quiet_leaves_the_quality(tmp_path: Path, lines: list[str]) -> None:
    file, out = tmp_path / "plays.csv", tmp_path / "model"
    file.write_text("".join(lines))
    arguments = ["--out", out, "--holdout", "0.25", "--epochs", "2", "--threads", "1"]
    said = run("train", file, *arguments, "--quiet")
    assert [line.split()[0] for line in said.splitlines() if line] == [
        "ranking",
        "MRR",
        "BPR",
        "popularity",
    ]
    assert said in run("train", file, *arguments)
    assert out.exists()


def test_ratings_count_if_asked_for(tmp_path: Path) -> None:
    file, out = tmp_path / "rated.csv", tmp_path / "model"
    file.write_text("ann,tea,5\nann,rye,1.5\nbob,rye,4\nbob,oat,3\n")
    command = ["train", file, "--out", out, "--epochs", "1", "--quiet"]
    for options, pairs in [
        ([], {"ann": {"tea", "rye"}, "bob": {"rye", "oat"}}),
        (["--min-rating", "4"], {"ann": {"tea"}, "bob": {"rye"}}),
        (["--min-rating", "-1"], {"ann": {"tea", "rye"}, "bob": {"rye", "oat"}}),
    ]:
        run(*command, *options)
        model = Recommender.load(out)
        for user, liked in pairs.items():
            unseen = {item for item, _ in model.recommend(user)}
            assert {"tea", "rye", "oat"} - unseen == liked
    assert "none is rated 6 or more, the highest 5" in run(*command, "--min-rating", "6", code=1)
    assert "'good' is not a finite number" in run(*command, "--min-rating", "good", code=2)
    assert "'nan' is not a finite number" in run(*command, "--min-rating", "nan", code=2)

    # What is not asked for may be anything.
    file.write_text("1,2,2020-01-01\n2,3,\n")
    run(*command)
    assert "line 1: " in run(*command, "--min-rating", "4", "--no-header", code=1)
    # What says how to leave ratings out says it in the words of the command.
    file.write_text("ann,tea,5\nbob,rye,NA\n")
    run(*command)
    assert "is read without --min-rating" in run(*command, "--min-rating", "4", code=1)
    assert "is read without the model explicit" in run(*command, "--model", "explicit", code=1)
    file.write_text("1,2\n2,3\n")
    assert "has no ratings" in run(*command, "--min-rating", "4", code=1)


def test_the_version() -> None:
    assert run("--version") == f"wyrmling {wy.__version__}\n"


@pytest.mark.parametrize("delimiter", ["\t", "::", ";", "|"])
def test_other_delimiters(tmp_path: Path, lines: list[str], delimiter: str) -> None:
    file, out = tmp_path / "plays.txt", tmp_path / "model"
    file.write_text("".join(lines).replace(",", delimiter))
    run("train", file, "--out", out, "--epochs", "1", "--quiet")
    assert "user-1" in Recommender.load(out).user_ids


def test_a_header_may_be_denied(tmp_path: Path) -> None:
    file, out = tmp_path / "plays.txt", tmp_path / "model"
    file.write_text("user,item\nann,tea\n")
    run("train", file, "--out", out, "--epochs", "1", "--quiet", "--no-header")
    assert Recommender.load(out).user_ids == Ids(["user", "ann"])


def test_recommend_prints_a_table_or_json(model: Path) -> None:
    expected = Recommender.load(model).recommend("user-3", 4)
    table = run("recommend", model, "--user", "user-3", "-k", "4").splitlines()
    assert table[0].split() == ["item", "score"]
    assert [line.split()[0] for line in table[1:]] == [item for item, _ in expected]
    answer = json.loads(run("recommend", model, "--user", "user-3", "-k", "4", "--json"))
    assert answer["user"] == "user-3"
    found = [(line["item"], line["score"]) for line in answer["recommendations"]]
    assert found == expected
    everything = run("recommend", model, "--user", "user-3", "-k", "1000", "--include-seen")
    assert len(everything.splitlines()) == 1 + len(Recommender.load(model).item_ids)


def test_recommend_answers_for_each_user(model: Path) -> None:
    found = Recommender.load(model).recommend(["user-3", "user-5"], 2)
    expected = [found.row(0), found.row(1)]
    command = ["recommend", model, "--user", "user-3", "--user", "user-5", "-k", "2"]
    said = run(*command)
    blocks = said.split("user user-")[1:]
    assert [block.split()[0] for block in blocks] == ["3", "5"]
    for block, best in zip(blocks, expected, strict=True):
        assert [line.split()[0] for line in block.splitlines()[3:] if line] == [i for i, _ in best]
    answers = [json.loads(line) for line in run(*command, "--json").splitlines()]
    assert [answer["user"] for answer in answers] == ["user-3", "user-5"]
    for answer, best in zip(answers, expected, strict=True):
        assert [(r["item"], r["score"]) for r in answer["recommendations"]] == best
    # Nothing is said for one if the other is not known.
    said = run("recommend", model, "--user", "user-3", "--user", "nobody", code=1)
    assert "user 'nobody' is not among" in said


def test_recommend_answers_for_somebody_new(model: Path) -> None:
    known = Recommender.load(model)
    history = list(known.item_ids[:2])
    expected = known.recommend(known.fold_in(history), 3)
    command = ["recommend", model, "--history", history[0], "--history", history[1], "-k", "3"]
    answer = json.loads(run(*command, "--json"))
    assert answer["history"] == history
    assert [(r["item"], r["score"]) for r in answer["recommendations"]] == expected
    table = run(*command).splitlines()
    assert [line.split()[0] for line in table] == ["item", *(item for item, _ in expected)]
    assert "item 'nothing' is not among" in run(*command, "--history", "nothing", code=1)
    assert "not allowed with" in run(*command, "--user", "user-3", code=2)
    everything = [word for item in known.item_ids for word in ("--history", item)]
    assert "has seen every item" in run("recommend", model, *everything)
    assert "values: BPR learns nothing from them" in run(*command, "--value", "3", code=1)


def test_recommend_takes_the_ratings_of_somebody_new(tmp_path: Path) -> None:
    data = Interactions.from_ids(list("aabbc"), list("xyyzz"), values=[5, 1, 2, 4, 3])
    rated = ExplicitMF(factors=2, epochs=3, num_threads=1).fit(data)
    rated.save(tmp_path / "model")
    command = ["recommend", tmp_path / "model", "--history", "y", "--value", "4.5", "--json"]
    command += ["--history", "x", "--value", "-1"]
    answer = json.loads(run(*command))
    expected = rated.recommend(rated.fold_in(["y", "x"], values=[4.5, -1]))
    assert [(r["item"], r["score"]) for r in answer["recommendations"]] == expected
    assert "values has 3 numbers" in run(*command, "--value", "2", code=1)
    assert "'nan' is not a finite number" in run(*command, "--value", "nan", code=2)
    alone = ["recommend", tmp_path / "model", "--user", "a", "--value", "2"]
    assert "--value is of no use without --history" in run(*alone, code=1)


def test_train_says_which_columns_it_took(tmp_path: Path) -> None:
    file, out = tmp_path / "rated.csv", tmp_path / "model"
    file.write_text("day;film;stars;uid\n1;tea;4,5;ann\n2;rye;1,5;bob\n3;oat;5;bob\n")
    command = ["train", file, "--out", out, "--epochs", "1", "--threads", "1"]
    said = run(*command, code=1)
    assert '"day", "film", "stars", "uid"' in said
    assert "--user-column" in said
    said = run(*command, "--user-column", "uid", "--item-column", "2")
    assert "user 'uid' (column 4), item 'film' (column 2), a header, separated by ';'" in said
    assert Recommender.load(out).item_ids == Ids(["tea", "rye", "oat"])
    rated = ["--rating-column", "stars", "--min-rating", "4"]
    said = run(*command, "--user-column", "uid", "--item-column", "film", *rated)
    assert "rating 'stars' (column 3)" in said
    assert "2 interactions" in said
    assert "without --min-rating" in run(*command, *rated[:2], code=1)
    file.write_text("a;b,c\nd;e,f\n")
    assert "either may separate" in run(*command, code=1)
    said = run(*command, "--delimiter", ";")
    assert "user column 1, item column 2, no header, separated by ';'" in said
    assert "'x' is none of" in run(*command, "--delimiter", "x", code=2)
    assert "'0' is not a whole number from 1" in run(*command, "--user-column", "0", code=2)
    large = str(2**63)
    assert f"'{large}' is not a whole number from 1 to {2**63 - 1}" in run(
        *command, "--user-column", large, code=2
    )
    # Errors count columns as options do.
    said = run(*command, "--delimiter", ";", "--user-column", "9", code=1)
    assert "found 2 columns, expected one of number 9 for the user" in said


def test_a_user_who_has_seen_everything(tmp_path: Path) -> None:
    file, out = tmp_path / "plays.txt", tmp_path / "model"
    file.write_text("ann,tea\nann,rye\nbob,tea\n")
    run("train", file, "--out", out, "--epochs", "1", "--quiet")
    assert run("recommend", out, "--user", "ann") == "user ann has seen every item\n"
    assert json.loads(run("recommend", out, "--user", "ann", "--json"))["recommendations"] == []


def test_ids_cannot_take_over_the_terminal(tmp_path: Path) -> None:
    file, out = tmp_path / "plays.txt", tmp_path / "model"
    file.write_text('ann,tea\nbob,"\x1b[2Jrye\nbread"\n', encoding="utf-8")
    run("train", file, "--out", out, "--epochs", "1", "--quiet", "--no-header")
    said = run("recommend", out, "--user", "ann")
    assert "\x1b" not in said
    assert "\\x1b[2Jrye\\nbread" in said


def test_the_demo(tmp_path: Path) -> None:
    said = run("demo", "--epochs", "4", "--threads", "1")
    for name in ("loss", "BPR", "popularity", "samples a second", "Recommended", "NDCG@10"):
        assert name in said
    rows = {line.split()[0]: line.split()[1:] for line in said.splitlines() if line.strip()}
    assert float(rows["BPR"][1]) > float(rows["popularity"][1])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["fly"],
        ["train"],
        ["train", "f.csv", "--factors", "0"],
        ["train", "f.csv", "--epochs", "-1"],
        ["train", "f.csv", "--lr", "nan"],
        ["train", "f.csv", "--lr", "0"],
        ["train", "f.csv", "--l2", "-1"],
        ["train", "f.csv", "--holdout", "1"],
        ["train", "f.csv", "--threads", "two"],
        ["demo", "--threads", "100000"],
        ["train", "f.csv", "--batch-size", "1" * 5000],
        ["recommend", "model"],
        ["recommend", "model", "--user", "1", "-k", "0"],
        ["demo", "extra"],
        ["serve", "model", "--port", "-1"],
        ["serve", "model", "--threads", "0"],
        ["serve", "model", "--max-body", "1_000"],
    ],
)
def test_bad_options_end_with_code_2_and_an_error(arguments: list[str]) -> None:
    assert "error: " in run(*arguments, code=2)


@pytest.mark.parametrize("spelling", ["itself", "a/../data.csv", "link", "hard", "a/deep"])
@pytest.mark.parametrize("swapped", [False, True])
def test_the_model_does_not_replace_the_data(
    tmp_path: Path, lines: list[str], spelling: str, swapped: bool
) -> None:
    data = tmp_path / "data.csv"
    data.write_text("".join(lines))
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to("data.csv")
    (tmp_path / "a" / "deep").symlink_to("../link")
    os.link(data, tmp_path / "hard")
    other = data if spelling == "itself" else tmp_path / spelling
    file, out = (other, data) if swapped else (data, other)
    said = run("train", file, "--out", out, "--epochs", "1", code=1)
    assert f"--out is {out}, the file that is read" in said
    assert data.read_text() == "".join(lines)
    assert (tmp_path / "link").is_symlink()


def test_links_that_lead_nowhere_are_refused_before_training(
    tmp_path: Path, lines: list[str]
) -> None:
    data = tmp_path / "data.csv"
    data.write_text("".join(lines))
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "away").symlink_to(tmp_path / "no" / "model")
    for out, says in (("loop", "too many symbolic links"), ("away", "there is no directory")):
        assert says in run("train", data, "--out", tmp_path / out, code=1)
    (tmp_path / "new").symlink_to("model")
    run("train", data, "--out", tmp_path / "new", "--epochs", "1", "--quiet")
    assert (tmp_path / "new").is_symlink()
    assert (tmp_path / "model").is_file()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="it is a file system of Linux")
def test_a_place_that_takes_no_files_is_found_before_training(
    tmp_path: Path, lines: list[str]
) -> None:
    data = tmp_path / "data.csv"
    data.write_text("".join(lines))
    # Permissions allow the superuser to write there, but the file system makes no files.
    said = run("train", data, "--out", "/proc/model", code=1)
    assert "--out cannot be written" in said
    assert "training" not in said


def test_failures_are_one_line(tmp_path: Path, model: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("a,b\nc,d\ne\n")
    out = tmp_path / "out"
    said = run("train", bad, "--out", out, code=1)
    assert "train: error: " in said
    assert "bad.csv, line 3: " in said
    assert "missing.csv" in run("train", tmp_path / "missing.csv", "--out", out, code=1)
    bad.write_text("")
    assert "empty" in run("train", bad, "--out", out, code=1)
    bad.write_text("a,b\nc,d\n")
    assert "no directory" in run("train", bad, "--out", tmp_path / "no" / "out", code=1)
    assert "regular file" in run("train", bad, "--out", tmp_path, code=1)
    assert "--out is empty" in run("train", bad, "--out", "", code=1)
    assert "holds out" in run("train", bad, "--out", out, "--holdout", "0.1", code=1)
    assert "bad.csv: it is no safetensors file" in run("recommend", bad, "--user", "1", code=1)
    bad.write_text("a,x\na,y\n")
    assert "expected some to learn from" in run("train", bad, "--out", out, code=1)
    assert "missing" in run("recommend", tmp_path / "missing", "--user", "1", code=1)
    said = run("recommend", model, "--user", "nobody", code=1)
    assert "user 'nobody' is not among the 60 users" in said
    assert not out.exists()


@pytest.mark.skipif(os.name != "posix", reason="signals and pipes are those of POSIX")
def test_interruption_and_closed_pipes(tmp_path: Path, lines: list[str], model: Path) -> None:
    file, out = tmp_path / "plays.csv", tmp_path / "model"
    file.write_text("".join(lines))
    command = [*COMMAND, "train", str(file), "--out", str(out), "--epochs", "100000000"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        while process.stdout.readline().split()[:1] != ["1"]:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.stderr.read() == "interrupted\n"
        assert process.wait(timeout=60) == 130
    assert not out.exists()

    # Data that does not come is waited for no longer either.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [*COMMAND, "train", str(pipe), "--out", str(out)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        # Opens when the other side does.
        with pipe.open("w"):
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=60) == 130
        assert process.stderr is not None
        assert process.stderr.read() == "interrupted\n"

    # Nobody needs to watch training for the model to be saved.
    command = [*COMMAND, "train", str(file), "--out", str(out), "--epochs", "50"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=60) == 0
    assert Recommender.load(out).fitted.arrays["users"].shape == (60, 32)

    file = tmp_path / "plays.csv"
    file.write_text("".join(lines))
    # What does nothing but print ends there.
    for question in (["recommend", model, "--user", "user-1"], ["compare", file]):
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run(
            [*COMMAND, *map(str, question)],
            stdout=write,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
        os.close(write)
        assert (done.returncode, done.stderr) == (1, b"")


def test_errors_and_warnings_are_lines_of_the_error_stream(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "model"
    EASE().fit(make_interactions(20, 10, 3)).save(path)
    wheel = ["wheel", str(path), "--name", "recs", "--out", str(tmp_path), "--no-histories"]
    # The command is called by the name that it was called by.
    for name, called in (("bin/wyrmling", "wyrmling"), ("__main__.py", "python -m wyrmling")):
        monkeypatch.setattr(sys, "argv", [name])
        assert main([*wheel, "--json"]) == 0
        said = capsys.readouterr()
        assert json.loads(said.out)["package"] == "recs"
        assert said.err.startswith(f"{called} wheel: warning: EASE scores by histories: without")
        assert said.err.count("\n") == 1
    # Who closes that stream loses what it says and no more.
    read, write = os.pipe()
    os.close(read)
    for command, code in ((wheel, 0), (["recommend", str(path), "--user", "nobody"], 1)):
        done = subprocess.run(
            [*COMMAND, *command], stdout=subprocess.DEVNULL, stderr=write, timeout=60, check=False
        )
        assert done.returncode == code
    os.close(write)
    # Without that stream an error is no output.
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["recommend", str(path), "--user", "nobody"]) == 1
    assert capsys.readouterr().out == ""


@pytest.mark.skipif(os.name == "nt", reason="closed streams are those of a POSIX shell")
def test_a_command_works_without_an_output_or_an_error_stream(
    tmp_path: Path, lines: list[str], model: Path
) -> None:
    file = tmp_path / "plays.csv"
    file.write_text("".join(lines))
    for number, closed in enumerate((">&-", "2>&-", ">&- 2>&-")):
        out = tmp_path / f"{number}.safetensors"
        for command in (
            ["train", file, "--model", "popularity", "--out", out, "--holdout", "0.2"],
            ["recommend", model, "--user", "user-1"],
            ["compare", file, "--models", "popularity"],
        ):
            script = f'exec "$@" {closed}'
            given = ["sh", "-c", script, "sh", *COMMAND, *map(str, command)]
            done = subprocess.run(given, capture_output=True, timeout=120, check=False)
            assert (done.returncode, done.stderr) == (0, b""), (closed, command, done)
        assert Recommender.load(out).is_fitted
