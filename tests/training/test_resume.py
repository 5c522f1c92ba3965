"""A run that is resumed from a checkpoint gives the bits of the run that was not interrupted."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from optimizer_states import OPTIMIZERS, state_bits

import wyrmling as wy
from wyrmling.tensor_files import Contents, read, write

N_USERS, N_ITEMS, WIDTH = 12, 9, 3
USERS = np.repeat(np.arange(N_USERS), 6).astype(np.uint32)
ITEMS = ((USERS * 5 + np.tile(np.arange(6), N_USERS)) % N_ITEMS).astype(np.uint32)
EPOCHS = 4


def tables(dtype: Any = np.float32) -> dict[str, wy.Parameter]:
    rng = np.random.default_rng(3)
    return {
        "users": wy.Parameter(rng.normal(size=(N_USERS, WIDTH)).astype(dtype), name="users"),
        "items": wy.Parameter(rng.normal(size=(N_ITEMS, WIDTH)).astype(dtype), name="items"),
        "scale": wy.Parameter(np.ones(WIDTH, dtype), name="scale"),
    }


def of_function(of: dict[str, wy.Parameter]) -> tuple[Any, dict[str, Any]]:
    """A loss with a loop, so that it runs sample by sample; rows, and a parameter used whole."""

    def loss(users: Any, items: Any, scale: Any, user: int, item: int, negatives: Any) -> Any:
        total = 0.0
        for k in range(len(negatives)):
            total += wy.softplus((users[user] * scale) @ (items[negatives[k]] - items[item]))
        return total

    drawn = wy.sampling.Uniform(N_ITEMS, positives=(USERS, ITEMS), given="user", shape=2)
    return loss, {
        "columns": {"user": USERS, "item": ITEMS},
        "sample": {"negatives": drawn},
        "parameters": of,
    }


def of_batch(of: dict[str, wy.Parameter]) -> tuple[Any, dict[str, Any]]:
    """A function that becomes a program of the batch, with negatives by score."""

    def loss(users: Any, items: Any, scale: Any, user: int, item: int, violator: int, rank: float):
        score = (users[user] * scale) @ (items[item] - items[violator])
        return wy.log1p(rank) * wy.relu(1.0 - score)

    warp = wy.sampling.WARP(of["users"], of["items"], most=4, positives=(USERS, ITEMS))
    return loss, {
        "columns": {"user": USERS, "item": ITEMS},
        "sample": {"violator": warp, "rank": warp.rank},
        "parameters": of,
    }


def of_graph(of: dict[str, wy.Parameter]) -> tuple[Any, dict[str, Any]]:
    """A graph, with items drawn by how popular they are."""
    user, item, other = (wy.IndexInput([0], name) for name in ("user", "item", "other"))
    vectors = of["users"][user] * of["scale"]
    loss = wy.softplus(wy.vecdot(vectors, of["items"][other] - of["items"][item]))
    popular = wy.sampling.Popularity(np.bincount(ITEMS, minlength=N_ITEMS))
    return loss, {"columns": {user: USERS, item: ITEMS}, "sample": {other: popular}}


def of_program(of: dict[str, wy.Parameter]) -> tuple[Any, dict[str, Any]]:
    loss, arguments = of_graph(of)
    return wy.freeze(loss.sum()), arguments


LOSSES = [of_function, of_batch, of_graph, of_program]


def decay(optimizer: wy.Optimizer, epoch: int) -> None:
    """A schedule, as users write one in a callback: it goes by the number of the epoch."""
    optimizer.lr = 0.1 / (epoch + 2)


def run(
    of: dict[str, wy.Parameter],
    optimizer: wy.Optimizer,
    make: Any,
    epochs: int,
    first: int = 0,
    **more: Any,
) -> wy.History:
    loss, arguments = make(of)
    columns = arguments.pop("columns")
    return wy.fit(
        loss,
        columns,
        optimizer=optimizer,
        epochs=epochs,
        first_epoch=first,
        seed=5,
        callback=lambda epoch, history: decay(optimizer, epoch),
        **arguments,
        **more,
    )


def bits(of: dict[str, wy.Parameter]) -> dict[str, bytes]:
    return {name: parameter.value.tobytes() for name, parameter in of.items()}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("batch_size", [1, 64])
@pytest.mark.parametrize("make", LOSSES)
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_bits_are_those_of_one_run(
    kind: str, make: Any, batch_size: int, threads: int, tmp_path: Path
) -> None:
    more = {"batch_size": batch_size, "threads": threads, "deterministic": True}
    whole, optimizer = tables(), OPTIMIZERS[kind]()
    history = run(whole, optimizer, make, EPOCHS, **more)
    for k in (1, 3):
        first, before = tables(), OPTIMIZERS[kind]()
        run(first, before, make, k, **more)
        wy.save_checkpoint(tmp_path / "run", first, before, k)
        # Nothing of the first run is left but the file.
        second, after = tables(), OPTIMIZERS[kind]()
        assert wy.load_checkpoint(tmp_path / "run", second, after) == k
        assert bits(second) == bits(first)
        rest = run(second, after, make, EPOCHS, k, **more)
        assert bits(second) == bits(whole)
        assert rest.loss == history.loss[k:]
        assert state_bits(after, second) == state_bits(optimizer, whole)
        # Without the state, or with the streams of other epochs, it is another run.
        if k == 1 and kind != "sgd":
            third, fresh = tables(), OPTIMIZERS[kind]()
            wy.load_checkpoint(tmp_path / "run", third, OPTIMIZERS[kind]())
            decay(fresh, k - 1)
            run(third, fresh, make, EPOCHS, k, **more)
            assert bits(third) != bits(whole)
        third, other = tables(), OPTIMIZERS[kind]()
        wy.load_checkpoint(tmp_path / "run", third, other)
        run(third, other, make, EPOCHS - k, **more)
        assert bits(third) != bits(whole)


def test_every_epoch_may_be_a_run_of_its_own(tmp_path: Path) -> None:
    whole, optimizer = tables(), OPTIMIZERS["adam"]()
    run(whole, optimizer, of_batch, EPOCHS)
    for epoch in range(EPOCHS):
        one, its = tables(np.float32), OPTIMIZERS["adam"]()
        if epoch:
            assert wy.load_checkpoint(tmp_path / "run", one, its) == epoch
        run(one, its, of_batch, epoch + 1, epoch)
        wy.save_checkpoint(tmp_path / "run", one, its, epoch + 1)
    assert bits(one) == bits(whole)


def test_callbacks_are_told_the_number_of_the_epoch(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[tuple[int, int]] = []
    w, x = wy.Parameter(0.0), wy.Input([0.0])
    arguments: dict[str, Any] = {"optimizer": wy.SGD(lr=0.01), "epochs": 5}
    loss = (w - x) ** 2
    wy.fit(
        loss,
        {x: [1.0]},
        first_epoch=3,
        callback=lambda epoch, history: told.append((epoch, len(history))),
        progress=True,
        **arguments,
    )
    assert told == [(3, 1), (4, 2)]
    shown = capsys.readouterr().err
    assert "5/5" in shown
    assert "3/5" not in shown.replace("\r", "\n").split("\n")[-2]


def test_all_epochs_may_be_done() -> None:
    w, x = wy.Parameter(0.5), wy.Input([0.0])
    optimizer = wy.Adam()
    history = wy.fit((w - x) ** 2, {x: [1.0]}, optimizer=optimizer, epochs=3, first_epoch=3)
    assert (len(history), history.loss, w.item()) == (0, [], 0.5)
    assert (history.samples_per_second, history.last) == (0.0, None)


@pytest.mark.parametrize(
    ("first", "error", "text"),
    [
        (4, ValueError, "first_epoch: expected at most 3, got 4"),
        (-1, ValueError, "first_epoch: expected at least 0, got -1"),
        (10**40, ValueError, "first_epoch: expected at most 3"),
        (1.0, TypeError, "first_epoch: expected an integer"),
        (True, TypeError, "first_epoch: expected an integer"),
    ],
)
def test_other_first_epochs_are_refused(first: Any, error: Any, text: str) -> None:
    w, x = wy.Parameter(0.5), wy.Input([0.0])
    with pytest.raises(error, match=text):
        wy.fit((w - x) ** 2, {x: [1.0]}, optimizer=wy.Adam(), epochs=3, first_epoch=first)
    assert w.item() == 0.5


# Files.


def saved(path: Path) -> tuple[dict[str, wy.Parameter], wy.Optimizer]:
    of, optimizer = tables(), OPTIMIZERS["adam"]()
    run(of, optimizer, of_graph, 1)
    wy.save_checkpoint(path, of, optimizer, 1)
    return of, optimizer


def test_damage_is_found_wherever_it_is(tmp_path: Path) -> None:
    of, optimizer = saved(tmp_path / "run")
    before, state = bits(of), state_bits(optimizer, of)
    content = (tmp_path / "run").read_bytes()
    rng = np.random.default_rng(1)
    places = [0, 8, 9, len(content) - 1, *rng.integers(0, len(content), 150).tolist()]
    other = tmp_path / "other"
    for place in places:
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(rng.integers(8))
        other.write_bytes(flipped)
        # But for the version, which nothing depends on, all is found.
        with contextlib.suppress(ValueError):
            assert wy.load_checkpoint(other, of, optimizer) == 1
        assert (bits(of), state_bits(optimizer, of)) == (before, state)
    for length in (0, 7, 8, 100, len(content) - 1):
        other.write_bytes(content[:length])
        with pytest.raises(ValueError, match="other"):
            wy.load_checkpoint(other, of, optimizer)


def test_hostile_files_are_refused(tmp_path: Path) -> None:
    of, optimizer = saved(tmp_path / "run")
    before, state = bits(of), state_bits(optimizer, of)
    good = read(tmp_path / "run", ["wyrmling.checkpoint/1"])
    kept = json.loads(good.arrays["training"].tobytes())

    def training(text: str | bytes) -> dict[str, Any]:
        content = text if isinstance(text, bytes) else text.encode()
        return {"training": np.frombuffer(content, np.uint8)}

    def with_part(**parts: Any) -> dict[str, Any]:
        return training(json.dumps(kept | parts))

    bad: list[dict[str, Any]] = [
        with_part(epochs=-1),
        with_part(epochs=1.5),
        with_part(epochs=True),
        with_part(more=1),
        with_part(optimizer=["Adam"]),
        with_part(settings=None),
        with_part(settings=kept["settings"] | {"lr": True}),
        with_part(settings=kept["settings"] | {"lr": 10**400}),
        with_part(l2=3),
        with_part(l2={}),
        with_part(l2=kept["l2"] | {"more": 0.0}),
        training("[" * 20000),
        training("[]"),
        training('{"epochs": ' + "9" * 5000 + "}"),
        training("{}"),
        training(b"\xff"),
        training(""),
        {"training": np.zeros(3)},
        {"parameter.more": np.zeros(3)},
        {"state.users.more": np.zeros(3)},
        {"state.more.step": np.zeros(3)},
        {"more": np.zeros(3)},
        {"parameter.scale": np.zeros(2, np.float32)},
        {"parameter.scale": np.zeros(3)},
        {"parameter.scale": np.full(3, np.nan, np.float32)},
        {"state.users.step": np.zeros(3, np.int64)},
        {"state.users.exp_avg": np.zeros((1, 3), np.float32)},
    ]
    for arrays in bad:
        write(tmp_path / "bad", Contents(good.format, good.about, {**good.arrays, **arrays}))
        with pytest.raises(ValueError, match="bad: "):
            wy.load_checkpoint(tmp_path / "bad", of, optimizer)
        assert (bits(of), state_bits(optimizer, of)) == (before, state)
    write(tmp_path / "bad", Contents("wyrmling.recommender/1", good.about, good.arrays))
    with pytest.raises(ValueError, match="bad: "):
        wy.load_checkpoint(tmp_path / "bad", of, optimizer)
    for name in good.arrays:
        fewer = {key: array for key, array in good.arrays.items() if key != name}
        write(tmp_path / "bad", Contents(good.format, good.about, fewer))
        with pytest.raises(ValueError, match=r"bad: .*it has no"):
            wy.load_checkpoint(tmp_path / "bad", of, optimizer)
    with pytest.raises(FileNotFoundError):
        wy.load_checkpoint(tmp_path / "none", of, optimizer)
    with pytest.raises(TypeError, match=r"epochs is 1\.5"):
        wy.save_checkpoint(tmp_path / "bad", of, optimizer, 1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="optimizer is 3"):
        wy.save_checkpoint(tmp_path / "bad", of, 3)  # type: ignore[arg-type]


def test_a_table_that_grew_is_refused_and_goes_on_by_hand(tmp_path: Path) -> None:
    """Rows are added to the state as to the parameter, with zeros for those that are new."""
    of, optimizer = saved(tmp_path / "run")

    def grown(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.concatenate([array, np.zeros((1, *array.shape[1:]), array.dtype)])

    more = of | {"users": wy.Parameter(grown(of["users"].value), name="users")}
    with pytest.raises(ValueError, match=r"'users' has shape \(12, 3\).*expected \(13, 3\)"):
        wy.load_checkpoint(tmp_path / "run", more, optimizer)
    state = optimizer.state_dict(of)
    old = state["state"]["users"]
    state["state"]["users"] = {k: v if k == "l2" else grown(v) for k, v in old.items()}
    other = OPTIMIZERS["adam"]()
    other.load_state_dict(state, more)
    run(of, optimizer, of_graph, 3, 1)
    of["users"].value, expected = np.zeros((N_USERS, WIDTH), np.float32), of["users"].value
    wy.load_checkpoint(tmp_path / "run", of, OPTIMIZERS["adam"]())
    more |= {name: of[name] for name in ("items", "scale")}
    third = OPTIMIZERS["adam"]()
    third.load_state_dict(state, more)
    run(more, third, of_graph, 3, 1)
    np.testing.assert_array_equal(more["users"].value[:-1], expected)
    np.testing.assert_array_equal(more["users"].value[-1], np.zeros(WIDTH))


SCRIPT = """
import sys, time
sys.path.insert(0, {tests!r})
import numpy as np
import wyrmling as wy
import test_resume as t
of, optimizer = t.tables(), t.OPTIMIZERS["adam"]()
first = 0
try:
    first = wy.load_checkpoint({path!r}, of, optimizer)
except FileNotFoundError:
    pass
loss, arguments = t.of_batch(of)
def after(epoch, history):
    t.decay(optimizer, epoch)
    wy.save_checkpoint({path!r}, of, optimizer, epoch + 1)
    print(epoch, flush=True)
    time.sleep({pause})
wy.fit(loss, arguments.pop("columns"), optimizer=optimizer, epochs=6, first_epoch=first, seed=5,
       callback=after, **arguments)
"""


def test_a_run_that_was_killed_goes_on(tmp_path: Path) -> None:
    path = str(tmp_path / "run")

    def start(pause: float) -> subprocess.Popen[str]:
        text = textwrap.dedent(SCRIPT).format(
            tests=str(Path(__file__).parent), path=path, pause=pause
        )
        command = [sys.executable, "-c", text]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    with start(60.0) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "0\n"
        os.kill(process.pid, signal.SIGKILL)
    with start(0.0) as process:
        assert process.stdout is not None
        assert process.stdout.read().split() == ["1", "2", "3", "4", "5"]
    assert process.returncode == 0
    whole, optimizer = tables(), OPTIMIZERS["adam"]()
    run(whole, optimizer, of_batch, 6)
    found, other = tables(), OPTIMIZERS["adam"]()
    assert wy.load_checkpoint(path, found, other) == 6
    assert bits(found) == bits(whole)
    assert state_bits(other, found) == state_bits(optimizer, whole)


def test_a_thousand_parameters_have_a_file(tmp_path: Path) -> None:
    made = {f"layer{k}.weight": wy.Parameter([float(k), 1.0]) for k in range(1000)}
    optimizer, again = wy.Adam(lr=0.1), wy.Adam(lr=0.1)
    for parameter in made.values():
        parameter.sum().backward()
    optimizer.step(made.values())
    wy.save_checkpoint(tmp_path / "c", made, optimizer, 3)
    loaded = {name: wy.Parameter([0.0, 0.0]) for name in made}
    assert wy.load_checkpoint(tmp_path / "c", loaded, again) == 3
    for name, parameter in made.items():
        assert parameter.value.tolist() == loaded[name].value.tolist()
    assert state_bits(again, loaded) == state_bits(optimizer, made)


def test_a_file_is_what_it_was(tmp_path: Path) -> None:
    """The same file is read from Rust (``tests/rust/checkpoint.rs``); earlier versions wrote it."""
    known = Path(__file__).parents[1] / "files" / "run.safetensors"
    w, adam = wy.Parameter(np.zeros(2, np.float32)), wy.Adam(lr=0.5)
    assert wy.load_checkpoint(known, {"w": w}, adam) == 3
    assert (w.value.tolist(), adam.lr) == ([0.5, -1.5], 0.1 + 0.2)
    state = {
        name: array.tolist()
        for name, array in adam.state_dict([w])["state"]["0"].items()
        if name != "l2"
    }
    assert state == {"exp_avg": [0.25, -0.5], "exp_avg_sq": [1.0, 2.0], "step": [4.0, 5.0]}
    wy.save_checkpoint(tmp_path / "again", {"w": w}, adam, 3)
    again, before = (
        read(path, ["wyrmling.checkpoint/1"]).arrays for path in (tmp_path / "again", known)
    )
    assert again.keys() == before.keys()
    for name, array in before.items():
        if name != "training":
            np.testing.assert_array_equal(again[name], array)
    texts = [json.loads(arrays["training"].tobytes()) for arrays in (again, before)]
    assert texts[0] == texts[1]
