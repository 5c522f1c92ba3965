"""Columns of ``fit`` that are files mapped into memory: they are read in place, and give the bits
that the same arrays in memory give.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import wyrmling as wy
from wyrmling.sampling import Uniform

USERS, ITEMS = 300, 500
LONG = 100_000
"""Samples of three words that are more than one window."""


def mapped(path: Path, values: npt.ArrayLike) -> Any:
    np.save(path, np.asarray(values))
    return np.load(path, mmap_mode="r")


def columns(count: int, dtype: Any = np.uint32) -> dict[str, npt.NDArray[Any]]:
    rng = np.random.default_rng(count)
    return {
        "u": rng.integers(0, USERS, count).astype(dtype),
        "i": rng.integers(0, ITEMS, count).astype(dtype),
        "y": rng.random(count, dtype=np.float32),
    }


def tables(dtype: Any = np.float32) -> tuple[wy.Parameter, wy.Parameter]:
    rng = np.random.default_rng(1)
    return (
        wy.Parameter(rng.normal(0, 0.1, (USERS, 4)).astype(dtype)),
        wy.Parameter(rng.normal(0, 0.1, (ITEMS, 4)).astype(dtype)),
    )


def rating(P: Any, Q: Any, u: int, i: int, y: float) -> Any:
    return (P[u] @ Q[i] - y) ** 2


def ranking(P: Any, Q: Any, u: int, i: int, j: int, y: float) -> Any:
    return y * np.logaddexp(0.0, P[u] @ Q[j] - P[u] @ Q[i])


def loops(P: Any, Q: Any, u: int, i: int, y: float) -> Any:
    total = 0.0
    for k in range(u % 3):
        total += (P[u] @ Q[i] - y - k) ** 2
    return total


def fitted(loss: Any, data: dict[str, Any], **given: Any) -> tuple[list[float], Any, Any]:
    P, Q = tables()
    history = wy.fit(
        loss,
        data,
        parameters={"P": P, "Q": Q},
        optimizer=wy.SGD(lr=0.05),
        **({"epochs": 2} | given),
    )
    return history.loss, P.value, Q.value


def assert_same(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("count", [1, 50, 1000, LONG])
@pytest.mark.parametrize("dtype", ["u4", "i4", "i8", "u8", "u2", ">u4", ">i8"])
def test_bits_are_those_of_arrays_in_memory(tmp_path: Path, count: int, dtype: str) -> None:
    if count == LONG and dtype not in ("u4", "i8"):
        count = 2000
    data = columns(count, dtype)
    files = {name: mapped(tmp_path / f"{name}.npy", values) for name, values in data.items()}
    for batch_size in (64, 7):
        expected = fitted(rating, data, batch_size=batch_size)
        assert_same(fitted(rating, files, batch_size=batch_size), expected)


@pytest.mark.parametrize("loss", [ranking, loops], ids=lambda loss: loss.__name__)
def test_samplers_and_loops_have_the_bits_too(tmp_path: Path, loss: Any) -> None:
    data = columns(LONG if loss is ranking else 90_000)
    files = {name: mapped(tmp_path / f"{name}.npy", values) for name, values in data.items()}
    sample = {"j": Uniform(ITEMS)} if loss is ranking else None
    given: Any = {"sample": sample, "batch_size": 100, "seed": 5, "epochs": 1}
    assert_same(fitted(loss, files, **given), fitted(loss, data, **given))
    # One mapped column among others is enough.
    some = data | {"y": files["y"]}
    assert_same(fitted(loss, some, **given), fitted(loss, data, **given))


def test_graphs_take_mapped_columns(tmp_path: Path) -> None:
    data = columns(LONG, np.int64)

    def run(data: dict[str, Any]) -> list[Any]:
        P, Q = tables()
        u, i, y = wy.IndexInput([0]), wy.IndexInput([0]), wy.Input(np.zeros(1, np.float32))
        loss = ((P[u] * Q[i]).sum(axis=1) - y).square().sum()
        history = wy.fit(
            loss, {u: data["u"], i: data["i"], y: data["y"]}, optimizer=wy.SGD(lr=0.05), epochs=2
        )
        return [history.loss, P.value, Q.value]

    files = {name: mapped(tmp_path / f"{name}.npy", values) for name, values in data.items()}
    assert_same(run(files), run(data))
    with pytest.raises(TypeError, match="expected float32, got float64"):
        run(files | {"y": mapped(tmp_path / "wide.npy", data["y"].astype(np.float64))})


def test_rows_and_wide_numbers_are_read_in_place(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    count = 3000
    data = {
        "x": rng.normal(size=(count, 3)),
        "items": rng.integers(-5, ITEMS, (count, 2)).astype(np.int32),
        "y": rng.normal(size=count),
    }

    def loss(P: Any, Q: Any, x: Any, items: Any, y: float) -> Any:
        at = items[0] if items[0] >= 0 else 0
        return (P[0, :3] @ x + Q[at].sum() - y + 0.01 * items[1]) ** 2

    files = {name: mapped(tmp_path / f"{name}.npy", values) for name, values in data.items()}
    given: Any = {"optimizer": wy.SGD(lr=1e-4)}
    results = []
    for columns in (data, files):
        P, Q = tables(np.float64)
        history = wy.fit(loss, columns, parameters={"P": P, "Q": Q}, **given)
        results.append((history.loss, P.value, Q.value))
    assert_same(*results)


@pytest.mark.parametrize("dtype", [">f4", ">f8", ">i4"])
def test_rows_of_the_other_order_of_bytes_are_taken_as_in_memory(
    tmp_path: Path, dtype: str
) -> None:
    rows = np.random.default_rng(0).integers(0, 5, (60, 3)).astype(dtype)

    def loss(w: Any, x: Any) -> Any:
        return (w[x].sum() if dtype == ">i4" else w[0] * x.sum() - x[1]) ** 2

    found = []
    for column in (rows, mapped(tmp_path / "rows.npy", rows)):
        w = wy.Parameter(np.linspace(0.1, 0.5, 5))
        optimizer = wy.SGD(lr=1e-3)
        wy.fit(loss, {"x": column}, parameters={"w": w}, optimizer=optimizer, batch_size=8)
        found.append(w.value.tolist())
    assert found[0] == found[1]


def test_threads_in_turn_give_equal_bits_and_all_samples(tmp_path: Path) -> None:
    data = columns(LONG)
    files = {name: mapped(tmp_path / f"{name}.npy", values) for name, values in data.items()}
    given: Any = {"threads": 2, "deterministic": True}
    first = fitted(rating, files, **given)
    assert_same(fitted(rating, files, **given), first)


def test_every_sample_is_trained_once_whatever_the_threads(tmp_path: Path) -> None:
    data = columns(LONG)
    files = {name: mapped(tmp_path / f"{name}.npy", values) for name, values in data.items()}

    def counted(P: Any, Q: Any, u: int, i: int, y: float) -> Any:
        return 1.0 + y + 0.0 * (P[u, 0] + Q[i, 0])

    for threads in (1, 2, 3):
        losses, *_ = fitted(counted, files, epochs=1, batch_size=50, threads=threads)
        assert losses == pytest.approx([LONG + data["y"].sum(dtype=np.float64)], rel=1e-6)


def test_slices_of_mapped_arrays_and_what_is_computed_of_them(tmp_path: Path) -> None:
    data = columns(2000)
    files = {name: mapped(tmp_path / f"{name}.npy", values) for name, values in data.items()}
    for part in (slice(100, 900), slice(0, 2000, 2), slice(None, None, -1)):
        expected = fitted(rating, {name: values[part] for name, values in data.items()})
        assert_same(fitted(rating, {name: each[part] for name, each in files.items()}), expected)
    computed = fitted(rating, files | {"y": files["y"] * 2})
    assert_same(computed, fitted(rating, data | {"y": data["y"] * 2}))


def test_indices_are_checked_before_anything_changes(tmp_path: Path) -> None:
    data = columns(1000)
    for dtype, wrong in (("u4", ITEMS), ("i8", 2**40), ("i4", -1), ("i8", -3)):
        items = data["i"].astype(dtype)
        items[17] = wrong
        P, Q = tables()
        u, i = wy.IndexInput([0]), wy.IndexInput([0])
        loss = (P[u] * Q[i]).sum()
        before = P.value
        with pytest.raises(IndexError, match=f"index {wrong} at position 17 is out of range"):
            wy.fit(
                loss, {u: data["u"], i: mapped(tmp_path / "i.npy", items)}, optimizer=wy.SGD(0.1)
            )
        np.testing.assert_array_equal(P.value, before)


def test_an_index_that_is_changed_during_the_run_ends_it(tmp_path: Path) -> None:
    data = columns(2000)
    np.save(tmp_path / "i.npy", data["i"])
    items = np.load(tmp_path / "i.npy", mmap_mode="r+")
    P, Q = tables()

    def spoil(epoch: int, history: Any) -> None:
        items[5] = 2**31

    with pytest.raises(IndexError, match="i: the mapped array was changed during the run"):
        wy.fit(
            rating,
            data | {"i": items},
            parameters={"P": P, "Q": Q},
            optimizer=wy.SGD(lr=0.1),
            epochs=5,
            callback=spoil,
        )
    assert np.isfinite(P.value).all()
    rows = wy.Parameter(np.zeros((3, 2)))
    at = wy.IndexInput([[0, 0]])
    pairs = np.memmap(tmp_path / "pairs", np.uint32, "w+", shape=(50, 2))

    def exchange(epoch: int, history: Any) -> None:
        pairs[7, 1] = 3

    with pytest.raises(IndexError, match="was changed during the run"):
        wy.fit(
            (rows[at] - 1.0).square().sum(),
            {at: pairs},
            optimizer=wy.SGD(lr=0.1),
            epochs=5,
            callback=exchange,
        )


def test_a_map_is_held_while_it_is_read(tmp_path: Path) -> None:
    data = columns(2000)
    files = {name: mapped(tmp_path / f"{name}.npy", values) for name, values in data.items()}
    maps = [values._mmap for values in files.values()]

    def close(epoch: int, history: Any) -> None:
        for each in maps:
            with pytest.raises(BufferError):
                each.close()
        files.clear()

    given: Any = {"epochs": 2}
    expected = fitted(rating, data, **given)
    assert_same(fitted(rating, files, **given, callback=close), expected)
    maps[0].close()  # the run has given it back


def test_the_sample_that_a_loss_is_left_at_is_named(tmp_path: Path) -> None:
    data = columns(LONG)
    data["y"][777] = -1.0
    files = {name: mapped(tmp_path / f"{name}.npy", values) for name, values in data.items()}

    def refusing(P: Any, Q: Any, u: int, i: int, y: float) -> Any:
        if y < 0.0:
            raise ValueError("negative")
        total = 0.0
        for _ in range(u % 2):
            total += P[u] @ Q[i]
        return total

    for columns_of in (data, files):
        with pytest.raises(ValueError, match="negative") as caught:
            fitted(refusing, columns_of)
        assert "sample 777 of the columns, in epoch 1" in caught.value.__notes__[0]


MEMORY = """
    import sys
    from pathlib import Path

    import numpy as np
    import wyrmling as wy

    def anonymous():
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024

    def loss(P, Q, u, i, y):
        return (P[u] @ Q[i] - y) ** 2

    names = {name: f"{sys.argv[1]}/{name}.npy" for name in "uiy"}
    data = {name: np.load(path, mmap_mode=sys.argv[2] or None) for name, path in names.items()}
    P, Q = wy.Parameter(np.zeros((300, 4))), wy.Parameter(np.zeros((500, 4)))
    def run(columns, **given):
        wy.fit(loss, columns, parameters={"P": P, "Q": Q}, optimizer=wy.SGD(0.01), **given)
    run({name: np.array(values[:1000]) for name, values in data.items()})
    most, before = [], anonymous()
    run(data, callback=lambda epoch, history: most.append(anonymous()))
    print(max(most) - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_mapped_columns_take_no_memory_of_their_own(tmp_path: Path) -> None:
    """12 MB of columns: in memory there is a copy of each, and one more in the samples' order."""
    for name, values in columns(1_000_000).items():
        np.save(tmp_path / f"{name}.npy", values)

    script = tmp_path / "memory.py"  # a loss is read from its file
    script.write_text(textwrap.dedent(MEMORY))

    def megabytes(mode: str) -> float:
        command = [sys.executable, str(script), str(tmp_path), mode]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        return float(done.stdout)

    assert megabytes("") > 20
    assert megabytes("r") < 8


def test_a_map_that_was_closed_is_refused(tmp_path: Path) -> None:
    # In a process of its own: NumPy reads the memory that is no longer there, which ends it.
    code = """
import sys, numpy as np, wyrmling as wy
np.arange(8, dtype=np.float32).tofile(sys.argv[1])
column = np.memmap(sys.argv[1], np.float32, mode="r")
column._mmap.close()
w, x = wy.Parameter(np.float32(0.0)), wy.Input(np.zeros(1, np.float32), name="x")
try:
    wy.fit((w * x).square().sum(), {x: column}, optimizer=wy.SGD(lr=0.1))
except ValueError as error:
    print(error)
"""
    run = [sys.executable, "-c", code, str(tmp_path / "x")]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "input 'x': its file is no longer mapped" in done.stdout
