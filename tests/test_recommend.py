"""Models of vectors that were trained elsewhere, and their files."""

import dataclasses
import json
import signal
import subprocess
import sys
import time
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from wyrmling.data import Interactions
from wyrmling.datasets import make_interactions
from wyrmling.recommend import BPR, Model


@pytest.fixture(scope="module")
def data() -> tuple[Interactions, Interactions]:
    return make_interactions(400, 160, 25, seed=1).split(0.2, seed=1)


@pytest.fixture(scope="module")
def model(data: tuple[Interactions, Interactions]) -> Model:
    arrays = BPR(factors=16, epochs=30, num_threads=1).fit(data[0]).fitted.arrays
    return Model.from_factors(arrays["users"], arrays["items"], arrays["item_bias"], data[0])


def test_recommendations_are_the_best_unseen_items(
    data: tuple[Interactions, Interactions], model: Model
) -> None:
    train, _ = data
    for user in (0, 17, 399):
        user_id = train.user_ids[user]
        scores = model.items @ model.users[user] + model.item_bias
        seen = set(train.items[train.users == user].tolist())
        for exclude in (True, False):
            best = model.recommend(user_id, 12, exclude_seen=exclude)
            numbers = [train.item_ids.index(item) for item, _ in best]
            assert len(best) == len(set(numbers)) == 12
            assert not exclude or not seen & set(numbers)
            for number, (_, score) in zip(numbers, best, strict=True):
                assert score == pytest.approx(scores[number], rel=1e-4, abs=1e-5)
            assert [score for _, score in best] == sorted((s for _, s in best), reverse=True)
            left_out = seen | set(numbers) if exclude else set(numbers)
            rest = [scores[i] for i in range(len(scores)) if i not in left_out]
            assert max(rest) <= best[-1][1] + 1e-5


def test_recommendations_follow_the_taste(
    data: tuple[Interactions, Interactions], model: Model
) -> None:
    train, _ = data
    agree = 0
    for user in range(100):
        heard = Counter(train.item_ids[i].split("-")[0] for i in train.items[train.users == user])
        liked = {genre for genre, _ in heard.most_common(2)}
        best = model.recommend(train.user_ids[user], 5)
        agree += sum(item.split("-")[0] in liked for item, _ in best)
    assert agree > 0.6 * 500


def test_everything_may_be_asked_for(model: Model, data: tuple[Interactions, Interactions]) -> None:
    train, _ = data
    heard = len(set(train.items[train.users == 0].tolist()))
    assert len(model.recommend("user-1", 10**9)) == 160 - heard
    assert len(model.recommend("user-1", 10**9, exclude_seen=False)) == 160
    with pytest.raises(KeyError, match=r"'nobody' is not among the 400 users .* 'user-1'"):
        model.recommend("nobody")
    with pytest.raises(ValueError, match="k is 0"):
        model.recommend("user-1", 0)


def test_a_model_comes_back_from_its_file(tmp_path: Path, model: Model) -> None:
    path = tmp_path / "model.safetensors"
    model.save(path)
    model.save(str(path))
    assert [file.name for file in tmp_path.iterdir()] == ["model.safetensors"]
    loaded = Model.load(path)
    np.testing.assert_array_equal(loaded.users, model.users)
    np.testing.assert_array_equal(loaded.items, model.items)
    np.testing.assert_array_equal(loaded.item_bias, model.item_bias)
    assert list(loaded.user_ids) == list(model.user_ids)
    assert list(loaded.item_ids) == list(model.item_ids)
    assert loaded.recommend("user-9") == model.recommend("user-9")
    assert loaded.history is None
    assert repr(loaded) == "Model(400 users, 160 items, 16 factors)"


def test_bad_model_files_are_refused(tmp_path: Path, model: Model) -> None:
    path = tmp_path / "model.safetensors"
    with pytest.raises(OSError, match=r"model\.safetensors"):
        Model.load(path)
    model.save(path)
    content = path.read_bytes()
    for bad in (b"", content[:-1], content + b"x", content[:100], b"\xff" * 100):
        path.write_bytes(bad)
        with pytest.raises(ValueError, match=r"model\.safetensors: it"):
            Model.load(path)
    with pytest.raises(OSError, match="place"):
        model.save(tmp_path / "no" / "such" / "place")
    broken = dataclasses.replace(model, items=np.full_like(model.items, np.nan))
    path.write_bytes(content)
    with pytest.raises(FloatingPointError, match="items"):
        broken.save(path)
    assert path.read_bytes() == content


def test_damage_is_seen_when_a_model_is_loaded(tmp_path: Path, model: Model) -> None:
    path = tmp_path / "model.safetensors"
    model.save(path)
    content = path.read_bytes()
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    data = content[8 + int.from_bytes(content[:8], "little") :]
    about = header.pop("__metadata__")
    assert about.pop("format") == "wyrmling.factorisation/1"
    ends = {name: tensor["data_offsets"] for name, tensor in header.items()}
    assert about == {
        f"crc32.{name}": f"{zlib.crc32(data[start:end]):08x}" for name, (start, end) in ends.items()
    }
    # The lowest bit of one number: no other check sees it.
    start, _ = ends["users"]
    at = len(content) - len(data) + start
    path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    with pytest.raises(ValueError, match=r"model\.safetensors: users is damaged: the checksum"):
        Model.load(path)


WRITER = """
import sys
import numpy as np
from wyrmling.data import Interactions
from wyrmling.recommend import Model

data = Interactions.from_ids(["u"], ["i"])
data = Interactions(data.users, data.items, [str(n) for n in range(20000)], ["i", "j"])
model = Model.from_factors(np.ones((20000, 100)), np.ones((2, 100)), None, data)
while True:
    model.save(sys.argv[1])
"""


def test_what_a_killed_writer_left_is_removed(tmp_path: Path, model: Model) -> None:
    path = tmp_path / "model.safetensors"
    left: list[Path] = []
    while not left:
        with subprocess.Popen([sys.executable, "-c", WRITER, str(path)]) as writer:
            while not any(tmp_path.glob(".wyrmling-*.part")) and writer.poll() is None:
                time.sleep(0.0005)
            writer.kill()
        # It was faster if nothing is left.
        assert writer.returncode == -signal.SIGKILL
        left = list(tmp_path.glob(".wyrmling-*.part"))
    model.save(path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert Model.load(path).recommend("user-9") == model.recommend("user-9")


def test_held_out_data_is_matched_by_id(
    data: tuple[Interactions, Interactions], model: Model
) -> None:
    _, test = data
    renumbered = Interactions.from_ids(
        [test.user_ids[u] for u in test.users], [test.item_ids[i] for i in test.items]
    )
    assert list(renumbered.user_ids) != list(test.user_ids)
    assert model.evaluate(renumbered) == model.evaluate(test)
    with pytest.raises(ValueError, match="item 'polka-1'"):
        model.evaluate(Interactions.from_ids(["user-1"], ["polka-1"]))
    with pytest.raises(ValueError, match="user 'nobody'"):
        model.evaluate(Interactions.from_ids(["nobody"], ["jazz-1"]))


def test_a_model_of_vectors_trained_elsewhere(
    tmp_path: Path, data: tuple[Interactions, Interactions], model: Model
) -> None:
    train, test = data
    ours = Model.from_factors(model.users, model.items, model.item_bias, train, model.history)
    assert ours.evaluate(test) == model.evaluate(test)
    assert ours.history is model.history
    for made in (ours, model):
        made.save(tmp_path / "model")
        assert Model.load(tmp_path / "model").recommend("user-9") == model.recommend("user-9")

    # Other types are rounded, and a bias may be lacking.
    wide = Model.from_factors(model.users.astype(float), model.items.tolist(), None, train)
    assert wide.items.dtype == np.float32
    scores = model.items @ model.users[0]
    best = wide.recommend("user-1", 1, exclude_seen=False)[0][0]
    assert best == train.item_ids[int(scores.argmax())]
    # What was given may change afterwards.
    users = model.users.copy()
    kept = Model.from_factors(users, model.items, None, train)
    users[:] = 0
    assert kept.users.any()


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("users", (399, 16)),
        ("users", (400,)),
        ("users", ()),
        ("items", (160, 15)),
        ("items", (161, 16)),
        ("item_bias", (159,)),
        ("item_bias", (160, 1)),
    ],
)
def test_vectors_that_do_not_fit_are_refused(
    data: tuple[Interactions, Interactions], model: Model, name: str, shape: tuple[int, ...]
) -> None:
    parts = {"users": model.users, "items": model.items, "item_bias": model.item_bias}
    parts[name] = np.zeros(shape, np.float32)
    with pytest.raises(ValueError, match=rf"^{name} has shape \("):
        Model.from_factors(**parts, data=data[0])


def test_several_users_at_once(model: Model) -> None:
    ids = ["user-7", "user-1", "user-7"]
    for seen in (True, False):
        many = model.recommend_many(ids, 5, exclude_seen=seen)
        assert many == [model.recommend(id_, 5, exclude_seen=seen) for id_ in ids]
    assert model.recommend_many(iter(ids), 1000)[1] == model.recommend("user-1", 1000)
    assert model.recommend_many([]) == []
    with pytest.raises(KeyError, match="'nobody' is not among"):
        model.recommend_many(["user-1", "nobody"])
    for bad in (["user-1"], None, 1.0):
        with pytest.raises(TypeError, match=r"expected a user's id, .* recommend_many"):
            model.recommend(bad)  # type: ignore[arg-type]
