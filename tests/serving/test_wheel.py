"""Wheels of models: installed in an empty environment, they answer as the model does."""

from __future__ import annotations

import base64
import errno
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from installed import empty_environment, folder_with_numpy, install, run

import wyrmling
from wyrmling.data import Interactions
from wyrmling.datasets import make_interactions
from wyrmling.recommend import BPR, EASE, Custom, ExplicitMF, Popularity, Recommender
from wyrmling.serving import build_wheel
from wyrmling.serving import wheel as wheels


@pytest.fixture(scope="module")
def data() -> Interactions:
    return make_interactions(60, 40, 8, seed=2)


@pytest.fixture(scope="module")
def model(data: Interactions) -> BPR:
    return BPR(factors=4, epochs=3, num_threads=1).fit(data)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return empty_environment(tmp_path_factory.mktemp("environment"))


@pytest.fixture
def only_numpy(tmp_path: Path) -> Path:
    return folder_with_numpy(tmp_path / "only-numpy")


ASK = """
import json
import os, sys
import my_recs
print(json.dumps([
    [my_recs.recommend(user, 5) for user in my_recs.user_ids()],
    [my_recs.recommend(user, 1000, exclude_seen=False) for user in my_recs.user_ids()[:3]],
    [my_recs.similar_items(item, 4) for item in my_recs.item_ids()],
    "wyrmling" in sys.modules,
]))
"""


@pytest.mark.parametrize("needs", ["wyrmling", "numpy"])
def test_an_installed_wheel_answers_as_its_model(
    tmp_path: Path, environment: Path, only_numpy: Path, model: BPR, needs: Any
) -> None:
    wheel = build_wheel(model, "My-Recs", directory=tmp_path / "dist", needs=needs)
    assert wheel.name == "my_recs-1.0-py3-none-any.whl"
    install(environment, wheel)
    if needs == "wyrmling":
        (only_numpy / "wyrmling").symlink_to(Path(wyrmling.__file__).parent)
    best, everything, near, there = run(environment, ASK, only_numpy)
    assert there == (needs == "wyrmling")
    users, items = list(model.user_ids), list(model.item_ids)
    for found, expected in (
        (best, [model.recommend(user, 5) for user in users]),
        (everything, [model.recommend(user, 1000, exclude_seen=False) for user in users[:3]]),
        (near, [model.similar_items(item, 4) for item in items]),
    ):
        assert [[id for id, _ in row] for row in found] == [[i for i, _ in row] for row in expected]
        np.testing.assert_allclose(
            [[score for _, score in row] for row in found],
            [[score for _, score in row] for row in expected],
            rtol=1e-5,
            atol=1e-6,
        )


ERRORS = """
import errno
import json
import few
asked = [
    lambda: few.recommend("1"), lambda: few.recommend(None), lambda: few.recommend(True),
    lambda: few.recommend([1]), lambda: few.recommend(1, 0), lambda: few.similar_items("x"),
    lambda: few.similar_items("tea"),
]
found = []
for ask in asked:
    try:
        ask()
    except Exception as error:
        found.append(f"{type(error).__name__} {error}")
print(json.dumps([few.recommend(2), few.recommend("all"), few.recommend(1, 5, False), found]))
"""


def test_special_points_without_wyrmling(
    tmp_path: Path, environment: Path, only_numpy: Path
) -> None:
    data = Interactions.from_ids([1, 2, 2, "all", "all", "all"], [7, "é", 7, "é", 7, "tea"])
    biases = {"user_bias": [0.0, 0.5, 1.0], "bias": 0.25}
    ones = Custom.from_factors(np.ones((3, 2)), np.ones((3, 2)), data, **biases)
    install(environment, build_wheel(ones, "few", directory=tmp_path, needs="numpy"))
    left, nothing, ties, errors = run(environment, ERRORS, only_numpy)
    assert left == [["tea", 2.75]]
    assert nothing == []
    assert ties == [[7, 2.25], ["é", 2.25], ["tea", 2.25]]
    assert errors == [
        "KeyError \"user '1' is not among the 3 users, such as 1\"",
        "KeyError 'user None is not among the 3 users, such as 1'",
        "KeyError 'user True is not among the 3 users, such as 1'",
        "KeyError 'user [1] is not among the 3 users, such as 1'",
        "ValueError n is 0, expected at least 1",
        "KeyError \"item 'x' is not among the 3 items, such as 7\"",
    ]
    # Biases alone, and no histories.
    popular = Popularity().fit(data)
    install(
        environment,
        build_wheel(popular, "few", directory=tmp_path, needs="numpy", histories=False),
    )
    script = "import json, few; print(json.dumps(few.recommend(1, 2, exclude_seen=False)))"
    assert run(environment, script, only_numpy) == [[7, 3.0], ["é", 2.0]]
    for question, error in (("recommend(1)", "RuntimeError"), ("similar_items(7)", "TypeError")):
        script = f"""
import few
try:
    few.{question}
except {error}:
    print(1)
"""
        assert run(environment, script, only_numpy) == 1
    # The model refuses to rank what is no number, and so does its wheel.
    items = np.float32([[3e38, -3e38], [1.0, 1.0], [2.0, 2.0]])
    large = Custom.from_factors(np.full((3, 2), 3e38), items, data)
    with pytest.raises(FloatingPointError, match="is not a number"):
        large.recommend(1, exclude_seen=False)
    install(environment, build_wheel(large, "few", directory=tmp_path, needs="numpy"))
    script = """
import few
try:
    print(few.recommend(1, exclude_seen=False))
except FloatingPointError:
    print(1)
"""
    assert run(environment, script, only_numpy) == 1


def test_what_a_user_had_does_not_stand_for_an_item_of_no_finite_score(tmp_path: Path) -> None:
    """A score of minus infinity is that of an item which may be recommended."""
    data = Interactions.from_ids(["ann", "ann", "bob"], ["tea", "rye", "oat"])
    model = Custom.from_factors([[1e30], [1.0]], [[1.0], [2.0], [-1e30]], data)
    package = extracted(build_wheel(model, "far", directory=tmp_path, needs="numpy"))
    for n in (1, 3):
        found = package.recommend("ann", n)
        assert found == model.recommend("ann", n) == [("oat", -np.inf)]


def test_equal_items_rank_by_number_without_wyrmling(tmp_path: Path) -> None:
    # As many items and numbers as a matrix product takes in blocks, with rows left over.
    rng = np.random.default_rng(0)
    kinds = rng.normal(size=(4, 33))[rng.integers(0, 4, 1037)]
    data = Interactions([0, 1], [0, 2], ["ann", "bob"], range(1037))
    # Lengths whose squares single precision cannot hold.
    for name, scale in (("plain", 1.0), ("tiny", 1e-25), ("huge", 1e25)):
        items = (kinds * scale).astype(np.float32)
        model = Custom.from_factors(rng.normal(size=(2, 33)), items, data)
        package = extracted(build_wheel(model, name, directory=tmp_path, needs="numpy"))
        for user in ("ann", "bob"):
            found = [item for item, _ in package.recommend(user, 1037)]
            assert found == [item for item, _ in model.recommend(user, 1037)]
        found = [item for item, _ in package.similar_items(5, 1037)]
        assert found == [item for item, _ in model.similar_items(5, 1037)]


def test_what_scores_of_a_user_have_in_common_does_not_rank_without_wyrmling(
    tmp_path: Path,
) -> None:
    # Beside the user's bias the products are too small to be seen, and they rank all the same.
    data = Interactions([0], [0], ["ann"], range(20))
    items = 2.0**-40 * np.random.default_rng(0).permutation(20)[:, None]
    model = Custom.from_factors([[1.0]], items, data, user_bias=[-3.5])
    package = extracted(build_wheel(model, "common", directory=tmp_path, needs="numpy"))
    assert package.recommend("ann", 20) == model.recommend("ann", 20)


def extracted(wheel: Path) -> Any:
    """The package in a wheel, imported from beside it."""
    name = wheel.name.partition("-")[0]
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(wheel.parent)
    path = wheel.parent / name / "__init__.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)
    return package


def test_a_wheel_is_whole_and_equal_models_make_equal_wheels(tmp_path: Path, model: BPR) -> None:
    path = tmp_path / "model"
    model.save(path)
    first = build_wheel(model, "recs", directory=tmp_path / "a")
    second = build_wheel(path, "recs", directory=tmp_path / "b")
    assert first.read_bytes() == second.read_bytes()
    assert [file.name for file in (tmp_path / "a").iterdir()] == [first.name]
    with zipfile.ZipFile(first) as archive:
        assert archive.testzip() is None
        record = archive.read("recs-1.0.dist-info/RECORD").decode().splitlines()
        assert {line.split(",")[0] for line in record} == set(archive.namelist())
        for line in record[:-1]:
            name, digest, size = line.split(",")
            content = archive.read(name)
            expected = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode()
            assert digest == f"sha256={expected.rstrip('=')}"
            assert int(size) == len(content)
        about = archive.read("recs-1.0.dist-info/METADATA").decode()
        assert "Name: recs\n" in about
        assert f"Requires-Dist: wyrmling>={wyrmling.__version__}\n" in about
        archive.extract("recs/model.safetensors", tmp_path)
    assert (tmp_path / "recs/model.safetensors").read_bytes() == path.read_bytes()
    private = build_wheel(path, "recs", directory=tmp_path / "a", histories=False)
    with zipfile.ZipFile(private) as archive:
        back = Recommender.load(archive.read("recs/model.safetensors"))
    assert back.fitted.seen is None
    numpy = build_wheel(
        model, "recs", directory=tmp_path / "a", needs="numpy", version="1!2.0rc1+a.0.1a"
    )
    assert numpy.name == "recs-1!2.0rc1+a.0.1a-py3-none-any.whl"


def test_a_model_that_scores_by_histories_says_what_it_cannot_without(
    data: Interactions, tmp_path: Path
) -> None:
    model, path = EASE().fit(data), tmp_path / "private.safetensors"
    model.save(path, histories=False)
    private = Recommender.load(path)
    for one, histories in ((model, False), (private, True)):
        with pytest.warns(UserWarning, match="recommends to new users alone"):
            wheel = build_wheel(one, "recs", directory=tmp_path, histories=histories)
    with zipfile.ZipFile(wheel) as archive:
        back = Recommender.load(archive.read("recs/model.safetensors"))
    assert len(back.recommend(back.fold_in(list(back.item_ids)[:2]), n=3)) == 3
    for one in (model, private):
        with pytest.raises(TypeError, match="does not score by vectors"):
            build_wheel(one, "recs", directory=tmp_path, needs="numpy")


def test_a_wheel_takes_the_place_of_another_at_once(
    tmp_path: Path, model: BPR, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, scratch = tmp_path / "dist", tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    wheel = build_wheel(model, "recs", directory=folder)
    before = wheel.read_bytes()
    wheel.chmod(0o600)
    # What a killed process has left is removed, as where models are saved.
    (folder / ".wyrmling-1-0.part").touch()

    def fails(*given: object) -> None:
        assert [file.name for file in scratch.iterdir()] != []
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(wheels, "_zip", fails)
        with pytest.raises(OSError, match="No space left"):
            build_wheel(model, "recs", directory=folder, histories=False)
    assert wheel.read_bytes() == before
    build_wheel(model, "recs", directory=folder, histories=False)
    assert wheel.read_bytes() != before
    assert os.name != "posix" or wheel.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in folder.iterdir()] == [wheel.name]
    assert not list(scratch.iterdir())


@pytest.mark.parametrize(
    "name",
    ["", "-a", "a-", "a b", "é", "../a", "a/b", "1a", "json", "numpy", "class", "test", "a" * 101],
)
def test_bad_names_are_refused(tmp_path: Path, model: BPR, name: str) -> None:
    with pytest.raises(ValueError, match=r"^name is "):
        build_wheel(model, name, directory=tmp_path / "dist")
    assert not (tmp_path / "dist").exists()


@pytest.mark.parametrize(
    "version",
    ["", "1.", "v1", "1.0-2", "01", "1.0+A", "1.0+01", "1.0+a.00", "1" * 101, "1\n", "\u0661"],
)
def test_bad_versions_are_refused(tmp_path: Path, model: BPR, version: str) -> None:
    with pytest.raises(ValueError, match=r"^version is "):
        build_wheel(model, "recs", version=version, directory=tmp_path / "dist")


class Mine(ExplicitMF):
    """A class that only this module has."""


def test_models_that_do_not_fit_are_refused(tmp_path: Path, data: Interactions) -> None:
    rated = Interactions(
        data.users, data.items, data.user_ids, data.item_ids, np.ones(len(data), np.float32)
    )
    mine = Mine(factors=2, epochs=1).fit(rated)
    with pytest.raises(TypeError, match="Mine is a class of test_wheel, which the wheel"):
        build_wheel(mine, "recs", directory=tmp_path)
    build_wheel(mine, "recs", directory=tmp_path, needs="numpy")
    with pytest.raises(RuntimeError, match="not fitted"):
        build_wheel(BPR(), "recs", directory=tmp_path, needs="numpy")
    with pytest.raises(ValueError, match="needs is 'rust'"):
        build_wheel(mine, "recs", directory=tmp_path, needs="rust")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="directory is 3, expected a path"):
        build_wheel(mine, "recs", directory=3)  # type: ignore[arg-type]
    with pytest.raises(OSError, match="nowhere"):
        build_wheel(tmp_path / "nowhere", "recs", directory=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["recs-1.0-py3-none-any.whl"]


def test_the_command(tmp_path: Path, model: BPR) -> None:
    model.save(tmp_path / "model")
    command = [sys.executable, "-m", "wyrmling", "wheel", str(tmp_path / "model")]
    options = ["--name", "my-recs", "--out", str(tmp_path / "dist"), "--needs", "numpy"]
    said = subprocess.run([*command, *options], capture_output=True, text=True, check=True).stdout
    assert "my_recs-1.0-py3-none-any.whl" in said
    assert "import my_recs" in said
    told = subprocess.run([*command, *options, "--json"], capture_output=True, check=True).stdout
    wheel = tmp_path / "dist" / "my_recs-1.0-py3-none-any.whl"
    assert json.loads(told) == {
        "path": str(wheel),
        "bytes": wheel.stat().st_size,
        "package": "my_recs",
    }
    found = subprocess.run([*command, "--name", "a b"], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (1, "")
    assert "name is 'a b'" in found.stderr
