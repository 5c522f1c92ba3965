"""A fit that was interrupted goes on from its file and gives the model of the one that was not."""

from __future__ import annotations

import copy
import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recommend.every_model import DATA, ITEMS, TRAINED, USERS, make

import wyrmling as wy
from wyrmling.data import Interactions
from wyrmling.recommend import BPR, EASE, EWMA, WARP, Custom, FactorizationMachine, ItemKNN
from wyrmling.tensor_files import Contents, read, write

# Models this small are worse than popularity now and then.
pytestmark = pytest.mark.filterwarnings("ignore:.*worse than the ranking by popularity")

RESUMED = [name for name in TRAINED if name != "ImplicitALS"]
FEATURES: dict[Any, Any] = {item: [f"g{n % 3}", ("all", 0.5)] for n, item in enumerate(ITEMS)}


class Killed(Exception):
    """Stands for whatever ends a process."""


def kill(at: int) -> Any:
    def callback(epoch: int, curve: Any) -> None:
        if epoch == at:
            raise Killed

    return callback


def contents(model: Any) -> dict[str, Any]:
    """All that a fit gives, times apart."""
    fitted = model.fitted
    curve = fitted.history
    rest = {"loss": curve.loss, "validation": curve.validation, "best": curve.best_epoch}
    return {name: array.tobytes() for name, array in fitted.arrays.items()} | rest


@pytest.mark.parametrize("validated", [False, True])
@pytest.mark.parametrize("name", RESUMED)
def test_the_model_is_that_of_one_fit(name: str, validated: bool, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"epochs": 4, "batch_size": 4}
    fit: dict[str, Any] = {"validation": 0.2, "metric": "recall@3"} if validated else {}
    if name == "FactorizationMachine":
        fit["item_features"] = FEATURES
    whole = make(name, **settings).fit(DATA, **fit)
    path = tmp_path / "run"
    for at in (1, 3):
        model = make(name, **settings)
        # The epoch that was going on is lost, and those before are not.
        with pytest.raises(Killed):
            model.fit(DATA, checkpoint=path, callback=kill(at), **fit)
        assert not model.is_fitted
    told: list[tuple[int, int]] = []
    model = make(name, **settings).fit(
        DATA,
        checkpoint=path,
        callback=lambda epoch, curve: told.append((epoch, len(curve))),
        **fit,
    )
    assert told == [(3, 4)]
    assert contents(model) == contents(whole)
    assert len(model.history.seconds) == 4
    # It has ended: the same call gives it again, and trains nothing.
    again = make(name, **settings).fit(DATA, checkpoint=path, callback=kill(0), **fit)
    assert contents(again) == contents(whole)


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad"])
@pytest.mark.parametrize("threads", [1, 2])
def test_threads_that_are_deterministic_go_on_too(
    optimizer: Any, threads: int, tmp_path: Path
) -> None:
    def model() -> WARP:
        return WARP(
            factors=3, epochs=3, optimizer=optimizer, num_threads=threads, deterministic=True
        )

    whole = model().fit(DATA)
    with pytest.raises(Killed):
        model().fit(DATA, checkpoint=tmp_path / "run", callback=kill(1))
    assert contents(model().fit(DATA, checkpoint=tmp_path / "run")) == contents(whole)


def test_patience_counts_epochs_of_both_runs(tmp_path: Path) -> None:
    def model() -> BPR:
        return BPR(factors=2, epochs=30, lr=0.5, num_threads=1, schedule="constant")

    fit: dict[str, Any] = {"validation": 0.3, "metric": "recall@3", "patience": 3}
    whole = model().fit(DATA, **fit)
    assert whole.history is not None
    assert whole.history.best_epoch is not None
    n = len(whole.history)
    assert n < 30
    for at in range(1, n):
        path = tmp_path / f"run {at}"
        with pytest.raises(Killed):
            model().fit(DATA, checkpoint=path, callback=kill(at), **fit)
        assert contents(model().fit(DATA, checkpoint=path, **fit)) == contents(whole)
    # More patience goes on with the same file.
    longer = model().fit(DATA, checkpoint=path, **fit | {"patience": 4})
    assert longer.history is not None
    assert len(longer.history) > n
    assert contents(longer) == contents(model().fit(DATA, **fit | {"patience": 4}))


def test_a_run_that_its_callback_stopped_stays_so(tmp_path: Path) -> None:
    model = BPR(factors=2, epochs=5, num_threads=1)
    stopped = model.fit(DATA, checkpoint=tmp_path / "run", callback=lambda epoch, _: epoch == 2)
    before = contents(stopped)
    assert len(before["loss"]) == 3
    again = BPR(factors=2, epochs=5, num_threads=1).fit(DATA, checkpoint=tmp_path / "run")
    assert contents(again) == before


def test_there_may_be_more_epochs_where_steps_do_not_depend_on_them(tmp_path: Path) -> None:
    def model(**settings: Any) -> BPR:
        return BPR(factors=2, num_threads=1, **settings)

    path = tmp_path / "run"
    model(epochs=2, schedule="constant").fit(DATA, checkpoint=path)
    more = model(epochs=3, schedule="constant").fit(DATA, checkpoint=path)
    assert contents(more) == contents(model(epochs=3, schedule="constant").fit(DATA))
    with pytest.raises(ValueError, match="it has 3 epochs, expected 2 at most"):
        model(epochs=2, schedule="constant").fit(DATA, checkpoint=path)
    model(epochs=2).fit(DATA, checkpoint=tmp_path / "linear")
    with pytest.raises(ValueError, match="of a run with epochs 2, this one has 3"):
        model().fit(DATA, checkpoint=tmp_path / "linear", epochs=3)


def test_partial_fit_goes_on_as_well(tmp_path: Path) -> None:
    """Tables grow by new users and items, and the second run has a file of its own."""
    first = DATA.take(np.arange(len(DATA)) % 3 > 0)
    more = Interactions.from_ids(["new", "new", "u3"], ["i2", "other", "other"])
    for kind in (BPR, EWMA):

        def model(kind: Any = kind) -> Any:
            return kind(factors=2, epochs=3, num_threads=1).fit(first)

        path = tmp_path / kind.__name__
        whole = model().partial_fit(more)
        begun = model()
        before = contents(begun)
        with pytest.raises(Killed):
            begun.partial_fit(more, checkpoint=path, callback=kill(1))
        assert contents(begun) == before
        assert contents(begun.partial_fit(more, checkpoint=path)) == contents(whole)
        with pytest.raises(ValueError, match="of a run with"):
            model().partial_fit(first, checkpoint=path)


def other_loss(users: Any, items: Any, user: int, item: int, negative: int) -> Any:
    return wy.softplus(users[user] @ items[negative] - users[user] @ items[item])


def test_other_runs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run"

    def model(**settings: Any) -> BPR:
        return BPR(**{"factors": 2, "epochs": 2, "num_threads": 1} | settings)

    model().fit(DATA, checkpoint=path, validation=0.2)
    content = path.read_bytes()
    fewer = DATA.take(np.arange(len(DATA)) > 0)
    renamed = Interactions(DATA.users, DATA.items, USERS, [f"j{n}" for n in range(len(ITEMS))])
    others: list[tuple[Any, Any, dict[str, Any], str]] = [
        (model(factors=3), DATA, {}, "factors 2, this one has 3"),
        (model(lr=0.5), DATA, {}, "this one has 0.5"),
        (model(random_state=1), DATA, {}, "random_state 0, this one has 1"),
        (model(optimizer="adagrad"), DATA, {}, "optimizer sgd"),
        (WARP(factors=2, epochs=2, num_threads=1), DATA, {}, "model BPR, this one has WARP"),
        (model(), fewer, {}, "with data"),
        (model(), renamed, {}, "with data"),
        (model(), DATA, {"validation": 0.3}, "with data"),
        (model(), DATA, {"validation": None}, "with data"),
        (model(), DATA, {"metric": "recall@3"}, "with validation"),
    ]
    for other, data, fit, text in others:
        with pytest.raises(ValueError, match=text):
            other.fit(data, checkpoint=path, **{"validation": 0.2} | fit)
        assert not other.is_fitted
        assert path.read_bytes() == content
    swapped = DATA.items.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    model().fit(DATA, checkpoint=tmp_path / "all")
    other_data = Interactions(
        DATA.users, swapped, USERS, ITEMS, values=DATA.values, times=DATA.times
    )
    with pytest.raises(ValueError, match="with data"):
        model().fit(other_data, checkpoint=tmp_path / "all")
    features = FactorizationMachine(factors=2, epochs=2, num_threads=1)
    features.fit(DATA, item_features=FEATURES, checkpoint=tmp_path / "features")
    weights = FEATURES | {"i0": [("g0", 0.75), ("all", 0.5)]}
    with pytest.raises(ValueError, match="with start"):
        features.fit(DATA, item_features=weights, checkpoint=tmp_path / "features")


def test_functions_are_told_apart_by_their_text(tmp_path: Path) -> None:
    path = tmp_path / "run"
    Custom(other_loss, factors=2, epochs=1, num_threads=1).fit(DATA, checkpoint=path)

    def changed(users: Any, items: Any, user: int, item: int, negative: int) -> Any:
        return wy.softplus(1.0 + users[user] @ items[negative] - users[user] @ items[item])

    changed.__qualname__ = other_loss.__qualname__
    with pytest.raises(ValueError, match="with loss"):
        Custom(changed, factors=2, epochs=1, num_threads=1).fit(DATA, checkpoint=path)


def test_what_cannot_go_on_says_so(tmp_path: Path) -> None:
    for model in (EASE(), ItemKNN(), make("ImplicitALS"), make("Popularity")):
        with pytest.raises(ValueError, match=f"{type(model).__name__} does not train by gradient"):
            model.fit(DATA, checkpoint=tmp_path / "run")
        assert not model.is_fitted
    with pytest.raises(ValueError, match="random_state, which is None"):
        BPR(random_state=None).fit(DATA, checkpoint=tmp_path / "run")
    for path in (3, b"run", True):
        with pytest.raises(TypeError, match=r"checkpoint is .*, expected a path"):
            BPR().fit(DATA, checkpoint=path)  # type: ignore[arg-type]
    with pytest.raises(OSError, match="nowhere"):
        make("BPR").fit(DATA, checkpoint=tmp_path / "nowhere" / "run")
    assert not list(tmp_path.iterdir())


def test_hostile_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run"

    def fit() -> Any:
        model = BPR(factors=2, epochs=2, num_threads=1)
        return model.fit(DATA, checkpoint=path, validation=0.2)

    fit()
    good = read(path, ["wyrmling.fit/1"])
    curve = json.loads(good.arrays["curve"].tobytes())

    def text(name: str, content: str) -> dict[str, Any]:
        return {name: np.frombuffer(content.encode(), np.uint8)}

    def of_curve(**parts: Any) -> dict[str, Any]:
        return text("curve", json.dumps(curve | parts))

    bad = [
        text("run", "[]"),
        text("run", "{}"),
        text("run", "[" * 20000),
        text("training", "{}"),
        text("curve", "[]"),
        text("curve", "{}"),
        of_curve(loss=3),
        of_curve(loss=[]),
        of_curve(loss=["a", "b"]),
        of_curve(seconds=[1.0]),
        of_curve(samples=1.5),
        of_curve(validation=[]),
        of_curve(validation={"ndcg@10": [1.0]}),
        of_curve(best_epoch=None),
        of_curve(best_epoch=2),
        of_curve(best_epoch=-1),
        of_curve(best_epoch="0"),
        of_curve(best_epoch=0.0),
        of_curve(validation={"recall@3": [1.0, 0.5]}),
        of_curve(validation=curve["validation"] | {"recall@3": [1.0, 0.5]}),
        of_curve(stopped=1),
        of_curve(more=1),
        of_curve(loss=[1.0] * 3, seconds=[1.0] * 3, validation={"ndcg@10": [1.0] * 3}),
        {"best.users": np.zeros((2, 2), np.float32)},
        {"best.users": np.full(good.arrays["best.users"].shape, np.nan, np.float32)},
        {"best.more": np.zeros(3)},
        {"more": np.zeros(3)},
        {"parameter.users": np.zeros((2, 2), np.float32)},
    ]
    for arrays in bad:
        write(path, Contents(good.format, good.about, {**good.arrays, **arrays}))
        content = path.read_bytes()
        with pytest.raises(ValueError, match="run: "):
            fit()
        assert path.read_bytes() == content
    for name in good.arrays:
        fewer = {key: array for key, array in good.arrays.items() if key != name}
        write(path, Contents(good.format, good.about, fewer))
        with pytest.raises(ValueError, match="run: "):
            fit()
    # A file of another kind is not written over.
    BPR(factors=2, epochs=1, num_threads=1).fit(DATA).save(path)
    content = path.read_bytes()
    with pytest.raises(ValueError, match="run"):
        fit()
    assert path.read_bytes() == content


SCRIPT = """
import sys, time
sys.path.insert(0, {tests!r})
from recommend.every_model import DATA, make
def callback(epoch, curve):
    print(epoch, flush=True)
    if epoch == {at}:
        time.sleep(60)
model = make({name!r}, epochs=5).fit(
    DATA, validation=0.2, patience=4, checkpoint={path!r}, callback=callback)
model.save({path!r} + ".model")
"""


@pytest.mark.parametrize("name", ["WARP", "LSTM"])
def test_a_process_that_was_killed_goes_on(name: str, tmp_path: Path) -> None:
    path = str(tmp_path / "run")

    def start(at: int) -> subprocess.Popen[str]:
        tests = str(Path(__file__).parent.parent)
        text = SCRIPT.format(tests=tests, path=path, name=name, at=at)
        return subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)

    with start(2) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(3)] == ["0\n", "1\n", "2\n"]
        os.kill(process.pid, signal.SIGKILL)
    with start(-1) as process:
        assert process.stdout is not None
        assert process.stdout.read().split() == ["2", "3", "4"]
    assert process.returncode == 0
    make(name, epochs=5).fit(DATA, validation=0.2, patience=4).save(path + ".whole")
    # A model file has no times: equal models make equal files.
    assert Path(path + ".model").read_bytes() == Path(path + ".whole").read_bytes()


def test_the_curve_is_not_copied_number_by_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each epoch would copy the numbers of all before it."""
    copied: list[Any] = []
    deepcopy = copy.deepcopy
    monkeypatch.setattr(
        copy, "deepcopy", lambda x, *memo: (copied.append(x), deepcopy(x, *memo))[1]
    )
    make("BPR", epochs=5).fit(DATA, checkpoint=tmp_path / "run")
    assert not [x for x in copied if isinstance(x, float)]


def test_what_a_callback_changes_does_not_change_the_run(tmp_path: Path) -> None:
    whole = contents(make("BPR", epochs=3).fit(DATA))
    model = make("BPR", epochs=3)
    (tmp_path / "elsewhere").mkdir()

    def meddle(epoch: int, curve: Any) -> None:
        model.set_params(lr=5.0, schedule="constant", factors=7, random_state=9)
        curve.loss.clear()
        curve.validation["recall@3"] = [1.0]
        os.chdir(tmp_path / "elsewhere")
        if epoch == 2:
            raise Killed

    home = Path.cwd()
    try:
        os.chdir(tmp_path)
        with pytest.raises(Killed):
            model.fit(DATA, checkpoint="run", callback=meddle)
    finally:
        os.chdir(home)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["run"]
    assert contents(make("BPR", epochs=3).fit(DATA, checkpoint=tmp_path / "run")) == whole


def test_hyperparameters_of_numpy_are_those_of_python(tmp_path: Path) -> None:
    path = tmp_path / "run"
    given = {"epochs": np.int64(2), "factors": np.int32(4), "lr": np.float64(0.05)}
    model = make("BPR", **given).fit(DATA, checkpoint=path)
    again = make("BPR", epochs=2, factors=4, lr=0.05).fit(DATA, checkpoint=path)
    assert contents(again) == contents(model)


def test_a_folder_that_is_not_there_is_said_before_training(tmp_path: Path) -> None:
    epochs: list[int] = []
    with pytest.raises(FileNotFoundError, match="checkpoint is in no folder"):
        make("BPR").fit(
            DATA,
            checkpoint=tmp_path / "nowhere" / "run",
            callback=lambda epoch, curve: epochs.append(epoch),
        )
    assert epochs == []


def test_a_place_where_nothing_can_be_written_is_found_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(dir: str) -> Any:
        raise PermissionError(errno.EACCES, "Permission denied", f"{dir}/tmp1")

    def never(epoch: int, history: Any) -> None:
        raise AssertionError("it was trained")

    with pytest.raises(IsADirectoryError):
        BPR(epochs=1).fit(DATA, checkpoint=tmp_path, callback=never)
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    path = tmp_path / "run"
    with pytest.raises(PermissionError, match="checkpoint cannot be written: Permission") as caught:
        BPR(epochs=1).fit(DATA, checkpoint=path, callback=never)
    assert caught.value.filename == str(path)
    assert list(tmp_path.iterdir()) == []
