"""Paths: what is none is named, and errors of the system keep their kind and the path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wyrmling as wy
from wyrmling.datasets import make_interactions, movielens, read_interactions
from wyrmling.recommend import Popularity, Recommender

WRITERS: dict[str, Callable[[Any], Any]] = {
    "save_checkpoint": lambda path: wy.save_checkpoint(path, [wy.Parameter(1.0)], wy.SGD(lr=0.1)),
    "save": lambda path: Popularity().fit(make_interactions(20, 16, 4)).save(path),
}
READERS: dict[str, Callable[[Any], Any]] = {
    "load_checkpoint": lambda path: wy.load_checkpoint(path, [wy.Parameter(1.0)], wy.SGD(lr=0.1)),
    "load": Recommender.load,
    "load mapped": lambda path: Recommender.load(path, mmap=True),
    "read_interactions": read_interactions,
    "movielens": lambda path: movielens("100k", from_file=path),
}


@pytest.mark.parametrize("function", [*WRITERS, *READERS])
@pytest.mark.parametrize("path", [3, 1.5, ["a"]])
def test_what_is_no_path_is_named(function: str, path: Any) -> None:
    with pytest.raises(TypeError, match=r"(path|source|from_file) is .*, expected a path") as error:
        (WRITERS | READERS)[function](path)
    assert repr(path) in str(error.value)


@pytest.mark.parametrize("function", [*WRITERS, *READERS])
def test_errors_of_the_system_keep_their_kind(function: str, tmp_path: Path) -> None:
    call = (WRITERS | READERS)[function]
    file = tmp_path / "file"
    file.write_text("some")
    wrong: list[tuple[Path, type[OSError]]] = [
        (tmp_path / "no" / "file", FileNotFoundError),
        (file / "below", NotADirectoryError),
        (tmp_path, IsADirectoryError),
    ]
    if function in READERS:
        wrong.append((tmp_path / "none", FileNotFoundError))
    for path, kind in wrong:
        with pytest.raises(kind) as error:
            call(path)
        assert str(path) in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
