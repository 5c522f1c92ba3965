"""Models that a stranger writes: short, trained, saved, loaded elsewhere, and shipped as wheels.

They are three examples: a loss of one's own, features of items, and a sequence encoder.
"""

from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from installed import empty_environment, folder_with_numpy, install, run

from wyrmling.__main__ import main
from wyrmling.datasets import make_interactions
from wyrmling.recommend import Custom

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ["own_loss", "item_features", "sequence_encoder"]
LOADED = """
import json
from wyrmling.recommend import Recommender
model = Recommender.load({path!r})
print(json.dumps([
    [model.recommend(user, 5) for user in model.user_ids[:20]],
    [model.similar_items(item, 5) for item in model.item_ids[:20]],
]))
"""
INSTALLED = """
import json, sys
import {name} as package
print(json.dumps([
    [package.recommend(user, 5) for user in package.user_ids()[:20]],
    [package.similar_items(item, 5) for item in package.item_ids()[:20]],
    "wyrmling" in sys.modules,
]))
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("own")


@pytest.fixture(scope="module")
def environment(place: Path) -> Path:
    return empty_environment(place / "environment")


@pytest.fixture(scope="module", params=NAMES)
def example(request: pytest.FixtureRequest, place: Path) -> tuple[str, Any]:
    """The name of an example, which has run in the folder, and its variables."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        return request.param, runpy.run_path(str(EXAMPLES / f"{request.param}.py"))


def same(found: list[Any], model: Any) -> None:
    """Compares what a script has found with what the model says here."""
    users, items = list(model.user_ids)[:20], list(model.item_ids)[:20]
    assert all(isinstance(id, str) for id in users + items)
    expected = [
        [model.recommend(user, 5) for user in users],
        [model.similar_items(item, 5) for item in items],
    ]
    for mine, theirs in zip(expected, found, strict=True):
        for row, other in zip(mine, theirs, strict=True):
            assert [id for id, _ in row] == [id for id, _ in other]
            np.testing.assert_allclose(
                [score for _, score in row], [score for _, score in other], rtol=1e-5, atol=1e-6
            )


@pytest.mark.parametrize("name", NAMES)
def test_it_takes_less_than_30_lines(name: str) -> None:
    text = (EXAMPLES / f"{name}.py").read_text("utf-8")
    lines = {n for n, line in enumerate(text.splitlines(), 1) if line.strip()}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.FunctionDef) and ast.get_docstring(node):
            first = node.body[0]
            lines -= set(range(first.lineno, (first.end_lineno or 0) + 1))
    assert len(lines) < 30


def test_it_is_loaded_in_another_process(example: tuple[str, Any], place: Path) -> None:
    name, variables = example
    path = str(place / f"{name}.safetensors")
    folder = folder_with_numpy(place / f"{name}-wyrmling", wyrmling_too=True)
    same(run(Path(sys.executable), LOADED.format(path=path), folder), variables["model"])


def test_it_is_shipped_as_a_wheel(
    example: tuple[str, Any], place: Path, environment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, variables = example
    for needs in ("numpy", "wyrmling"):
        given = [str(place / f"{name}.safetensors"), "--name", name, "--needs", needs]
        assert main(["wheel", *given, "--out", str(place)]) == 0
        assert f"import {name}" in capsys.readouterr().out
        install(environment, place / f"{name}-1.0-py3-none-any.whl")
        folder = place / f"{name}-beside-{needs}"
        folder_with_numpy(folder, wyrmling_too=needs == "wyrmling")
        *found, there = run(environment, INSTALLED.format(name=name), folder)
        assert there == (needs == "wyrmling")
        same(found, variables["model"])


HINGE = """
def hinge(users, items, user, item, negative):
    return max(0.0, 1.0 - users[user] @ (items[item] - items[negative]))
"""
NEW_USER = """
import json
from losses import hinge
from wyrmling.recommend import Custom
model = Custom.load({path!r}, loss=hinge)
print(json.dumps(model.recommend(model.fold_in(["jazz-1", "jazz-2"]), 5)))
"""


def test_new_users_are_known_where_the_loss_is(tmp_path: Path) -> None:
    """A file has no code: another process imports the loss from a module."""
    (tmp_path / "losses.py").write_text(HINGE, "utf-8")
    hinge = runpy.run_path(str(tmp_path / "losses.py"))["hinge"]
    model = Custom(hinge, factors=8, epochs=5, num_threads=1).fit(make_interactions(100, 40))
    path = str(tmp_path / "model.safetensors")
    model.save(path)
    here = model.recommend(model.fold_in(["jazz-1", "jazz-2"]), 5)
    folders = tmp_path, folder_with_numpy(tmp_path / "packages", wyrmling_too=True)
    there = run(Path(sys.executable), NEW_USER.format(path=path), *folders)
    assert [[id, pytest.approx(score, rel=1e-5)] for id, score in here] == there
