"""``wyrmling datasets``: the list, a download, and the lines that it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from publisher import RATINGS, Publisher, archive_of, lines_of, md5

from wyrmling.__main__ import main
from wyrmling.command.lines import write_lines
from wyrmling.data import Interactions
from wyrmling.datasets import read_interactions


def run(*arguments: Any) -> int:
    return main([str(argument) for argument in arguments])


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("datasets") == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    names = [f"movielens-{size}" for size in ("100k", "1m", "20m", "25m", "32m")] + ["goodbooks"]
    assert [line.split()[0] for line in lines] == names
    assert run("datasets", "--json") == 0
    listed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["name"] for one in listed] == names
    assert all(one["url"].startswith("https://") for one in listed)


def test_a_data_set_is_downloaded_and_written(
    publisher: Publisher, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = publisher.publish("/ml-100k.zip", archive_of("100k"))
    out, cache = tmp_path / "ratings.csv", tmp_path / "cache"
    command = ["datasets", "movielens-100k", "--url", url, "--cache", cache, "--out", out]
    assert run(*command) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "4 interactions of 3 users with 3 items" in captured.out
    assert "ratings     0.5 to 3.5, 2.00 on average" in captured.out
    assert "times       1997-11-07 to 1998-04-04" in captured.out
    assert f"written     {out}, {out.stat().st_size} bytes" in captured.out
    expected = "".join(f"{user},{item},{rating:g},{time}\n" for user, item, rating, time in RATINGS)
    assert out.read_text() == "user_id,item_id,rating,timestamp\n" + expected
    data = read_interactions(out)
    assert data.values is not None
    assert data.values.tolist() == [rating for _, _, rating, _ in RATINGS]
    assert len(list(cache.iterdir())) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "ratings.csv"]

    assert run(*command[:2], "--url", url, "--cache", cache, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "name": "movielens-100k",
        "interactions": 4,
        "users": 3,
        "items": 3,
        "ratings": [0.5, 3.5],
        "times": [878887116, 891717742],
        "out": None,
    }


def test_what_is_there_is_not_downloaded(
    publisher: Publisher, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "books.csv", tmp_path / "out.csv"
    path.write_bytes(lines_of("goodbooks"))
    assert run("datasets", "goodbooks", "--from-file", path, "--out", out) == 0
    assert "times" not in capsys.readouterr().out
    assert out.read_text().splitlines()[:2] == ["user_id,item_id,rating", "196,242,3"]
    assert publisher.requests == []
    assert run("datasets", "goodbooks", "--from-file", path, "--out", path) == 1
    assert "the file that is read" in capsys.readouterr().err
    assert path.read_bytes() == lines_of("goodbooks")


def test_errors_are_one_line(
    publisher: Publisher, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.csv"
    out.write_text("mine")
    content = archive_of("1m")
    url = publisher.publish("/ml-1m.zip", content, md5(b"another"))
    for arguments, says in (
        (["--url", url], f"has the MD5 {md5(content)}"),
        (["--url", f"{publisher.address}/none.zip"], "answers 404"),
        (["--url", "file:///x"], "https://"),
        (["--from-file", tmp_path / "none"], "none"),
    ):
        assert run("datasets", "movielens-1m", "--out", out, *arguments) == 1
        said = capsys.readouterr().err
        assert says in said
        assert said.count("\n") == 1
        assert out.read_text() == "mine"
    assert run("datasets", "movielens-1m", "--out", tmp_path / "none" / "out.csv") == 1
    assert "there is no directory" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run("datasets", "movielens-10m")
    assert "'movielens-10m'" in capsys.readouterr().err
    assert run("datasets", "--out", out) == 1
    assert "--out is of no use without a NAME" in capsys.readouterr().err
    assert run("datasets", "goodbooks", "--out", tmp_path / "out.parquet") == 1
    assert "out.parquet, expected another name: lines are written" in capsys.readouterr().err


def test_any_interactions_are_written(tmp_path: Path) -> None:
    path = tmp_path / "lines.csv"
    users = ['ann "the" first', "bob,b", "line\nbreak", "1"]
    values = np.array([0.1, -2, 1e-7, 3e8], np.float32)
    weights = [1.0, 0.5, 0.0, 2.0]
    data = Interactions.from_ids(users, [1, 2, 3, 4], values=values, weights=weights)
    write_lines(data, path)
    found = read_interactions(path)
    assert list(found.user_ids) == users
    assert list(found.item_ids) == ["1", "2", "3", "4"]
    assert found.values is not None
    assert found.values.tobytes() == values.tobytes()
    assert path.read_text().startswith("user_id,item_id,rating,weight\n")
    assert path.read_text().endswith("1,4,3e+08,2\n")
    packed = tmp_path / "lines.csv.gz"
    write_lines(data, packed)
    assert list(read_interactions(packed).user_ids) == users
    assert packed.read_bytes()[:2] == b"\x1f\x8b"
    with pytest.raises(OSError, match="none"):
        write_lines(data, tmp_path / "none" / "lines.csv")
    assert {one.name for one in tmp_path.iterdir()} == {path.name, packed.name}
