"""Model files: what is written comes back, in other processes too, and nothing else is read."""

from __future__ import annotations

import copy
import json
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mutations import (
    attempt,
    attempt_checked,
    joined,
    parts,
    small_files,
    state,
    without_checksums,
)

from wyrmling.data import Ids, Interactions
from wyrmling.datasets import make_interactions
from wyrmling.recommend import (
    BPR,
    EWMA,
    GRU,
    LSTM,
    WARP,
    Custom,
    ExplicitMF,
    LogisticMF,
    Popularity,
    Recommender,
    SampledSoftmax,
    SASRec,
)


def hinge(users, items, item_bias, user, item, negative):  # type: ignore[no-untyped-def]
    score = users[user] @ items[item] + item_bias[item]
    other = users[user] @ items[negative] + item_bias[negative]
    return max(0.0, 1.0 - score + other)


def by_vectors(users, items, user, item, negative):  # type: ignore[no-untyped-def]
    return max(0.0, 1.0 - users[user] @ items[item] + users[user] @ items[negative])


class Half(Popularity):
    """A model that somebody else has written."""


MODELS: list[Recommender] = [
    BPR(factors=4, epochs=2, num_threads=1, random_state=None),
    Custom(loss=hinge, factors=4, epochs=2),
    ExplicitMF(factors=4, epochs=2),
    Half(),
    LogisticMF(factors=4, epochs=2),
    Popularity(),
    SampledSoftmax(factors=4, epochs=2),
    WARP(factors=4, epochs=2),
]


@pytest.fixture(scope="module")
def data() -> Interactions:
    made = make_interactions(60, 40, 8, seed=2)
    ratings = np.where(made.items % 2 == 0, 4.0, 1.0)
    return Interactions(made.users, made.items, made.user_ids, made.item_ids, ratings)


@pytest.fixture(scope="module")
def model(data: Interactions) -> BPR:
    return BPR(factors=4, epochs=2, num_threads=1).fit(data)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.safetensors"


def same(one: Recommender, other: Recommender) -> None:
    """Asserts that two models know and answer the same."""
    assert type(one) is type(other)
    assert one.user_ids == other.user_ids
    assert one.item_ids == other.item_ids
    assert set(one.fitted.arrays) == set(other.fitted.arrays)
    for name, array in one.fitted.arrays.items():
        np.testing.assert_array_equal(array, other.fitted.arrays[name])
    for user in list(one.user_ids)[:5]:
        assert one.recommend(user) == other.recommend(user)


@pytest.mark.parametrize("unfitted", MODELS, ids=lambda model: type(model).__name__)
def test_models_come_back(path: Path, data: Interactions, unfitted: Recommender) -> None:
    model = copy.copy(unfitted).fit(data, validation=0.2)
    model.save(path)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    for kind in (Recommender, type(model)):
        given = {"loss": hinge} if isinstance(model, Custom) else {}
        for back in (
            kind.load(str(path), **given),
            kind.load(path.read_bytes(), **given),
            kind.load(bytearray(path.read_bytes()), **given),
            kind.load(memoryview(path.read_bytes()), **given),
            kind.load(path, mmap=True, **given),
            kind.load(path, mmap=True, verify=True, **given),
        ):
            same(back, model)
            assert back.get_params() == model.get_params()
            if model.history is not None:
                assert back.history is not None
                assert back.history.loss == model.history.loss
                assert back.history.validation == model.history.validation
                assert back.history.best_epoch == model.history.best_epoch
                assert back.history.samples == model.history.samples
            back.partial_fit(data, epochs=1)
            if not isinstance(back, ExplicitMF):  # whose histories need ratings
                back.recommend(back.fold_in(["jazz-1"]))
    content = path.read_bytes()
    Recommender.load(path).save(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("users", "items"),
    [
        ([1, "1", -5, 2**63 - 1], ["é", "", "a\0", "\n"]),
        ([-(2**63), 3, 0], [10**12, 4, 5]),
        (["x"], [""]),
    ],
)
def test_ids_keep_their_types(path: Path, users: list[Any], items: list[Any]) -> None:
    rows = [(user, item) for user in users for item in items]
    model = Popularity().fit(Interactions.from_ids(*map(list, zip(*rows, strict=True))))
    model.save(path)
    back = Popularity.load(path)
    assert [(type(id), id) for id in back.user_ids] == [(type(id), id) for id in users]
    assert [(type(id), id) for id in back.item_ids] == [(type(id), id) for id in items]
    assert back.recommend(users[0]) == []


def test_histories_may_be_left_out(path: Path, model: BPR) -> None:
    model.save(path)
    size = path.stat().st_size
    model.save(path, histories=False)
    assert path.stat().st_size < size
    assert b"seen" not in path.read_bytes()
    back = Recommender.load(path)
    assert back.recommend("user-1", exclude_seen=False) == model.recommend(
        "user-1", exclude_seen=False
    )
    for ask in (lambda: back.recommend("user-1"), lambda: back.seen):
        with pytest.raises(RuntimeError, match="was saved without histories"):
            ask()
    # A new user's history is known.
    assert back.recommend(back.fold_in(["jazz-1"]), 3)
    back.save(path)
    assert b"seen" not in path.read_bytes()


LOADS = """
import sys
from wyrmling.recommend import Recommender
for item, score in Recommender.load(sys.argv[1]).recommend("user-3", 5):
    print(item, score)
"""


def test_another_process_gives_the_same_answers(path: Path, model: BPR) -> None:
    model.save(path)
    said = subprocess.run(
        [sys.executable, "-c", LOADS, str(path)], capture_output=True, text=True, check=True
    ).stdout
    assert said == "".join(f"{item} {score}\n" for item, score in model.recommend("user-3", 5))


def test_a_loss_is_not_in_a_file(path: Path, data: Interactions) -> None:
    model = Custom(loss=hinge, factors=4, epochs=1).fit(data)
    model.save(path)
    for _ in range(2):
        back = Custom.load(path)
        assert back.recommend("user-1") == model.recommend("user-1")
        missing = f"<function {__name__}.hinge, which is not in a file: give it to load>"
        assert repr(back.loss) == missing
        for ask, argument in ((back.fold_in, ["jazz-1"]), (back.fit, data)):
            with pytest.raises(
                TypeError, match=f"^loss is {missing}, expected a function: Custom.load"
            ):
                ask(argument)  # type: ignore[operator]
        back.save(path)  # keeps the name
    with pytest.raises(ValueError, match="an unknown array 'item_bias', Custom has users, items"):
        Custom.load(path, loss=by_vectors)
    with pytest.raises(TypeError, match="Custom has no hyperparameter 'los'"):
        Custom.load(path, los=hinge)
    assert Custom.load(path, epochs=7).epochs == 7


def test_the_class_is_checked(path: Path, model: BPR) -> None:
    model.save(path)
    with pytest.raises(ValueError, match=r"safetensors: .* class 'BPR', which is neither Custom"):
        Custom.load(path)
    header, numbers = parts(without_checksums(path.read_bytes()))
    for name in ("FactorModel", "Recommender", "os", "", "Ids", "BPR\0"):
        header["__metadata__"]["model"] = name
        with pytest.raises(ValueError, match="the bytes: it is a model of a class"):
            Recommender.load(joined(header, numbers))


def test_what_cannot_be_saved_is_refused(path: Path, model: BPR) -> None:
    model.save(path)
    content = path.read_bytes()
    with pytest.raises(RuntimeError, match="this BPR is not fitted"):
        BPR().save(path)
    broken = copy.deepcopy(model)
    broken.fitted.arrays["items"] = model.fitted.arrays["items"] * np.nan  # type: ignore[index]
    with pytest.raises(FloatingPointError, match="items has an element nan"):
        broken.save(path)
    odd = copy.copy(model).set_params(optimizer=object())
    with pytest.raises(TypeError, match="optimizer is <object"):
        odd.save(path)
    assert path.read_bytes() == content
    with pytest.raises(OSError, match="place"):
        model.save(path.parent / "no" / "such" / "place")
    for source in (3, None, ["x"]):
        with pytest.raises(TypeError):
            Recommender.load(source)  # type: ignore[arg-type]


def test_bad_files_are_refused(path: Path, model: BPR) -> None:
    with pytest.raises(OSError, match=r"model\.safetensors"):
        BPR.load(path)
    model.save(path)
    content = path.read_bytes()
    for bad in (b"", content[:-1], content + b"x", content[:100], b"\xff" * 100):
        path.write_bytes(bad)
        for mmap in (False, True):
            with pytest.raises(ValueError, match=r"model\.safetensors: it"):
                BPR.load(path, mmap=mmap)


Change = tuple[str, Any, str]
METADATA: list[Change] = [
    ("format", "wyrmling.factorisation/1", "format"),
    ("hyperparameters", "[]", "hyperparameters is '\\[\\]', expected an object"),
    ("hyperparameters", "{", "not valid JSON"),
    ("hyperparameters", "[" * 20000, "not valid JSON"),
    ("hyperparameters", '{"epochs": 0}', "epochs is 0"),
    ("hyperparameters", f'{{"epochs": {2**70}}}', "epochs is 1180591620717411303424"),
    ("hyperparameters", f'{{"batch_size": {2**31}}}', "batch_size is 2147483648"),
    ("hyperparameters", '{"epochs": "1"}', "epochs is '1'"),
    ("hyperparameters", '{"colour": 1}', "hyperparameter 'colour', which BPR of wyrmling"),
    ("functions", '{"lr": 3}', "functions has lr 3"),
    ("functions", '{"loss": "os.system"}', "hyperparameter 'loss'"),
    ("curve", "[]", "learning curve"),
    ("curve", '{"validation": [], "samples": 1, "best_epoch": 2}', "learning curve"),
    ("curve", '{"validation": ["x"], "samples": 1, "best_epoch": 0}', "no tensor 'curve.x'"),
]


@pytest.mark.parametrize(("name", "value", "message"), METADATA)
def test_bad_metadata_are_refused(
    path: Path, model: BPR, name: str, value: str, message: str
) -> None:
    model.save(path)
    header, numbers = parts(without_checksums(path.read_bytes()))
    header["__metadata__"][name] = value
    with pytest.raises(ValueError, match=message):
        Recommender.load(joined(header, numbers))


def rebuilt(content: bytes, **changes: np.ndarray[Any, Any] | None) -> bytes:
    """A file with other tensors, or without some; names have dots where Python has two lines."""
    header, numbers = parts(without_checksums(content))
    about = header.pop("__metadata__")
    tensors = {}
    for name, tensor in header.items():
        start, end = tensor["data_offsets"]
        tensors[name] = tensor["dtype"], tensor["shape"], numbers[start:end]
    for name, array in changes.items():
        name = name.replace("__", ".")
        tensors.pop(name, None)
        if array is not None:
            kind = f"{array.dtype.kind.upper()}{8 * array.dtype.itemsize}"
            tensors[name] = kind, list(array.shape), array.tobytes()
    made: dict[str, Any] = {"__metadata__": about}
    at = 0
    for name, (kind, shape, content) in tensors.items():
        made[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + len(content)]}
        at += len(content)
    return joined(made, b"".join(content for _, _, content in tensors.values()))


ENDS = np.array([0] + [1] * 60, np.uint64)
F, U, U8, I64 = np.float32, np.uint64, np.uint8, np.int64
TENSORS: list[tuple[dict[str, np.ndarray[Any, Any] | None], str]] = [
    ({"array__users": None}, "no array 'users'"),
    ({"array__users": np.ones((59, 4), F)}, r"users has shape \(59, 4\) .* expected \(60, 4\)"),
    ({"array__users": np.ones((60, 5), F)}, r"users has shape \(60, 5\) .* expected \(60, 4\)"),
    ({"array__users": np.ones(60, F)}, r"users has shape \(60,\) .* expected \(60, 4\)"),
    ({"array__users": np.ones((60, 4))}, "dtype float64, expected .* float32"),
    ({"array__items": np.full((40, 4), np.inf, F)}, "items has an element inf"),
    ({"array__bias": np.ones(1, F)}, "an unknown array 'bias'"),
    ({"x": np.ones(1, F)}, "a tensor 'x', which no model"),
    ({"user_ids": None}, "no tensor 'user_ids'"),
    ({"user_offsets": np.zeros(2, U)}, "a tensor 'user_offsets'"),
    ({"user_id_offsets": None}, "user_ids has .* uint8, expected"),
    ({"user_id_offsets": np.zeros(0, U)}, "must rise from 0"),
    ({"user_id_offsets": np.array([0, 2**64 - 1], U)}, "must rise from 0"),
    ({"user_ids": np.arange(60, dtype=I64)}, "user_ids has .* int64, expected .* uint8"),
    ({"user_ids": np.zeros(60, I64), "user_id_offsets": None}, "user_ids must be distinct"),
    ({"user_ids": np.arange(59), "user_id_offsets": None}, "seen_indptr is of 60 users"),
    ({"user_ids": np.zeros(0, I64), "user_id_offsets": None}, "it has 0 users"),
    ({"user_ids": np.full(2, 0xFF, U8), "user_id_offsets": np.array([0, 2], U)}, "not UTF-8"),
    ({"user_id_integers": np.ones(60, U8)}, "user_ids: 'user-1' is no integer"),
    ({"user_id_integers": np.zeros(59, U8)}, "user_id_integers has 59 elements"),
    ({"seen_items": None}, "no tensor 'seen_items'"),
    ({"seen_indptr": None}, "no tensor 'seen_indptr'"),
    ({"seen_indptr": np.array([0, 2**63, 1], U)}, "indptr"),
    ({"seen_items": np.zeros(3, np.uint32)}, "3"),
    ({"seen_items": np.array([40], np.uint32), "seen_indptr": ENDS}, "40"),
    ({"curve__loss": np.zeros((2, 2))}, "curve.loss has shape"),
]


@pytest.mark.parametrize(("changes", "message"), TENSORS, ids=lambda value: str(value)[:50])
def test_bad_tensors_are_refused(
    path: Path, model: BPR, changes: dict[str, Any], message: str
) -> None:
    model.save(path)
    content = path.read_bytes()
    same(Recommender.load(rebuilt(content)), model)
    with pytest.raises(ValueError, match=message):
        Recommender.load(rebuilt(content, **changes))


def test_damage_is_seen(path: Path, model: BPR) -> None:
    model.save(path)
    content = path.read_bytes()
    header, numbers = parts(content)
    about = header.pop("__metadata__")
    assert about["format"] == "wyrmling.recommender/1"
    assert json.loads(about["hyperparameters"])["factors"] == 4
    for name, tensor in header.items():
        start, end = tensor["data_offsets"]
        assert about[f"crc32.{name}"] == f"{zlib.crc32(numbers[start:end]):08x}"
    # The lowest bit of one number: no other check sees it.
    start, _ = header["array.users"]["data_offsets"]
    at = len(content) - len(numbers) + start
    path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    for options in ({}, {"mmap": True, "verify": True}):
        with pytest.raises(ValueError, match=r"array\.users is damaged: the checksum"):
            Recommender.load(path, **options)
    Recommender.load(path, mmap=True)


def test_a_changed_digit_of_a_hyperparameter_is_seen(path: Path, model: BPR) -> None:
    model.save(path)
    content = path.read_bytes()
    header, numbers = parts(content)
    about = header["__metadata__"]
    text = content[8 : len(content) - len(numbers)]
    own = about["crc32.__metadata__"].encode()
    assert text.count(own) == 1
    assert own == b"%08x" % zlib.crc32(text.replace(own, b"00000000"))
    changed = content.replace(rb"\"factors\": 4", rb"\"factors\": 5", 1)
    assert changed != content
    path.write_bytes(changed)
    for options in ({}, {"mmap": True}, {"mmap": True, "verify": False}):
        with pytest.raises(ValueError, match="its header is damaged: the checksum of its bytes is"):
            Recommender.load(path, **options)
    # Earlier versions wrote no checksum of the header.
    del about["crc32.__metadata__"]
    older = joined(header, numbers)
    assert state(Recommender.load(older)) == state(Recommender.load(content))


def test_random_faults_leave_the_model_or_are_seen() -> None:
    found = attempt_checked(small_files(checksums=True), 5_000, seed=1)
    assert found["refused"] > 4_800


def test_random_faults_end_in_a_model_or_an_error() -> None:
    found = attempt(small_files(), 10_000, seed=1)
    assert found["refused"] > 2000
    assert found["read"] > 500


WRITER = """
import sys
import numpy as np
from wyrmling.data import Ids, Interactions
from wyrmling.recommend import Custom

data = Interactions([0], [0], Ids(range(20000)), Ids(["i", "j"]))
model = Custom.from_factors(np.ones((20000, 100)), np.ones((2, 100)), data)
while True:
    model.save(sys.argv[1])
"""


def test_what_a_killed_writer_left_is_removed(path: Path, model: BPR) -> None:
    left: list[Path] = []
    while not left:
        with subprocess.Popen([sys.executable, "-c", WRITER, str(path)]) as writer:
            while not any(path.parent.glob(".wyrmling-*.part")) and writer.poll() is None:
                time.sleep(0.0005)
            writer.kill()
        # It was faster if nothing is left.
        assert writer.returncode == -signal.SIGKILL
        left = list(path.parent.glob(".wyrmling-*.part"))
        if path.exists():
            assert len(Recommender.load(path).user_ids) == 20000
    model.save(path)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    same(Recommender.load(path), model)


def test_vectors_trained_elsewhere_make_a_model(path: Path, data: Interactions, model: BPR) -> None:
    arrays = model.fitted.arrays
    made = Custom.from_factors(
        arrays["users"].astype(float),
        arrays["items"].tolist(),
        data,
        item_bias=arrays["item_bias"],
        loss=hinge,
    )
    assert made.recommend("user-3") == model.recommend("user-3")
    assert made.factors == 4
    made.save(path)
    same(Recommender.load(path), made)
    made.partial_fit(data, epochs=1)
    # Biases may be lacking, and what was given may change afterwards.
    users = np.ones((60, 2))
    plain = Custom.from_factors(users, np.ones((40, 2)), data, user_bias=np.ones(60), bias=0.5)
    users[:] = 0
    assert plain.predict(["user-1"], ["jazz-1"]).tolist() == [3.5]
    with pytest.raises(TypeError, match="loss is None, expected a function"):
        plain.fold_in(["jazz-1"])


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("users", (59, 4)),
        ("users", (60,)),
        ("users", ()),
        ("items", (40, 3)),
        ("items", (41, 4)),
        ("item_bias", (39,)),
        ("item_bias", (40, 1)),
        ("user_bias", (1,)),
        ("bias", (2,)),
    ],
)
def test_vectors_that_do_not_fit_are_refused(
    data: Interactions, model: BPR, name: str, shape: tuple[int, ...]
) -> None:
    arrays: dict[str, Any] = dict(model.fitted.arrays)
    arrays[name] = np.zeros(shape, np.float32)
    with pytest.raises(ValueError, match=r"^(items|users|\w*bias) has shape \("):
        Custom.from_factors(**arrays, data=data)
    with pytest.raises(TypeError, match="data: expected Interactions, got list"):
        Custom.from_factors(**model.fitted.arrays, data=[])  # type: ignore[arg-type]


def test_ids_that_somebody_writes() -> None:
    ids = Ids([1, "2", 2, "ann", -7])
    for text, id in (("1", 1), ("2", "2"), ("ann", "ann"), ("-7", -7), ("9", "9"), ("01", 1)):
        found = ids.spelled(text)
        assert (type(found), found) == (type(id), id)
    assert ids.spelled("9" * 5000) == "9" * 5000


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        (GRU, {"factors": 8}),
        (LSTM, {"factors": 8}),
        (SASRec, {"blocks": 1}),
        (EWMA, {"factors": 8}),
    ],
)
def test_what_counts_from_the_next_fit_on_stops_no_file(
    path: Path, data: Interactions, kind: type[Recommender], changed: dict[str, Any]
) -> None:
    blocks = {"blocks": 2} if kind is SASRec else {}
    model = kind(factors=4, epochs=1, num_threads=1, **blocks).fit(data)
    best = model.recommend("user-1", 3)
    model.set_params(**changed).save(path)
    back = Recommender.load(path)
    assert back.get_params() == model.get_params()
    assert back.recommend("user-1", 3) == model.recommend("user-1", 3) == best
    assert back.recommend(back.fold_in(["jazz-1"])) == model.recommend(model.fold_in(["jazz-1"]))
