"""Data sets that are downloaded: from a publisher on this machine, and from one that misbehaves."""

from __future__ import annotations

import hashlib
import io
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
import zipfile
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from publisher import (
    RATINGS,
    Publisher,
    archive_of,
    lines_of,
    md5,
    redirecting,
    sending,
    zipped,
)

from wyrmling.data import Interactions
from wyrmling.datasets import cache, download, goodbooks, movielens
from wyrmling.datasets.movielens import SIZES, published


def check(data: Interactions, times: bool = True) -> None:
    """Compares interactions with what was published."""
    assert data.user_ids.take(data.users).tolist() == [user for user, *_ in RATINGS]
    assert data.item_ids.take(data.items).tolist() == [item for _, item, *_ in RATINGS]
    assert data.values is not None
    assert data.values.tolist() == [rating for _, _, rating, _ in RATINGS]
    if not times:
        assert data.times is None
        return
    assert data.times is not None
    assert data.times.dtype == np.int64
    assert data.times.tolist() == [time for *_, time in RATINGS]


def folder() -> Path:
    return Path(os.environ["WYRMLING_DATA"])


def kept() -> list[str]:
    """The names of what the cache has."""
    return sorted(path.name for path in folder().iterdir()) if folder().exists() else []


def test_the_publisher_makes_the_same_archive_at_any_time() -> None:
    """Else a file made for an answer may differ from the one whose checksum is published."""
    with zipfile.ZipFile(io.BytesIO(archive_of("1m"))) as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize("size", SIZES)
def test_every_size_is_downloaded_once(size: str, publisher: Publisher) -> None:
    content = archive_of(size)
    # GroupLens writes them in both ways.
    text = f"MD5 (ml.zip) = {md5(content)}\n" if size == "100k" else f"{md5(content)}  ml.zip\n"
    url = publisher.publish("/ml.zip", content, text)
    check(movielens(size, url=url))  # type: ignore[arg-type]
    assert publisher.requests == ["/ml.zip.md5", "/ml.zip"]
    publisher.close()
    check(movielens(size, url=url))  # type: ignore[arg-type]
    (name,) = kept()
    assert re.fullmatch(rf"movielens-{size}-[0-9a-f]{{8}}-{md5(content)}\.zip", name)
    assert published(size).url == f"https://files.grouplens.org/datasets/movielens/ml-{size}.zip"


def test_goodbooks_is_kept_with_its_checksum(publisher: Publisher) -> None:
    content = archive_of("goodbooks")
    url = publisher.publish("/v1.0/goodbooks-10k.zip", content)
    check(goodbooks(url=url), times=False)
    assert publisher.requests == ["/v1.0/goodbooks-10k.zip"]
    (name,) = kept()
    assert name.endswith(f"-{hashlib.sha256(content).hexdigest()}.zip")
    publisher.close()
    check(goodbooks(url=url), times=False)


def test_goodbooks_need_not_be_packed(publisher: Publisher) -> None:
    url = publisher.publish("/ratings.csv", lines_of("goodbooks"))
    check(goodbooks(url=url), times=False)
    assert kept()[0].endswith(".csv")


def test_other_sizes_and_addresses_are_refused(publisher: Publisher) -> None:
    with pytest.raises(ValueError, match=r"size is '10m', expected one of '100k', '1m', '20m'"):
        movielens("10m")  # type: ignore[arg-type]
    for url in ("file:///etc/passwd", "ftp://127.0.0.1/ml.zip", "ml.zip", ""):
        with pytest.raises(ValueError, match=r"url is .*https://"):
            goodbooks(url=url)
    url = f"{publisher.address}/é.zip"
    with pytest.raises(ValueError, match=f"url is '{url}', which cannot be asked for"):
        goodbooks(url=url)
    with pytest.raises(TypeError, match="url: expected text, got 7"):
        movielens("1m", url=7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="cache is 7, expected a path"):
        movielens("1m", cache=7)  # type: ignore[arg-type]
    # Each address has a file of its own.
    one, other = (publisher.publish(path, archive_of("100k")) for path in ("/a.zip", "/b.zip"))
    movielens("100k", url=one)
    movielens("100k", url=other)
    assert len(kept()) == 2


def test_files_that_are_there_are_read(tmp_path: Path, publisher: Publisher) -> None:
    for size in SIZES:
        for name, content in (("ml.zip", archive_of(size)), ("ratings", lines_of(size))):
            path = tmp_path / name
            path.write_bytes(content)
            check(movielens(size, from_file=path))
            check(movielens(size, from_file=str(path)))
    path.write_bytes(lines_of("goodbooks"))
    check(goodbooks(from_file=path), times=False)
    with pytest.raises(FileNotFoundError):
        movielens("1m", from_file=tmp_path / "nothing")
    with pytest.raises(ValueError, match="neither cache nor url"):
        movielens("1m", from_file=path, url=publisher.address)
    assert kept() == []
    assert publisher.requests == []


def test_a_wrong_checksum_is_an_error_and_nothing_is_kept(publisher: Publisher) -> None:
    content, other = archive_of("100k"), md5(b"another")
    url = publisher.publish("/ml.zip", content, other)
    with pytest.raises(OSError, match=rf"ml\.zip has the MD5 {md5(content)}, .* says {other}"):
        movielens("100k", url=url)
    assert kept() == []
    for text in ("", "<html>not here</html>", f"{md5(b'1')} {md5(b'2')}", "a" * 33):
        publisher.answers["/ml.zip.md5"] = sending(text.encode())
        with pytest.raises(OSError, match=r"ml\.zip\.md5: expected an MD5, found '"):
            movielens("100k", url=url)
    del publisher.answers["/ml.zip.md5"]
    with pytest.raises(OSError, match=r"ml\.zip\.md5: the server answers 404 Not Found.*from_file"):
        movielens("100k", url=url)
    assert kept() == []


@pytest.mark.parametrize("call", [movielens, goodbooks])
def test_a_kept_file_that_was_changed_is_removed(call: object, publisher: Publisher) -> None:
    def load() -> Interactions:
        return movielens("1m", url=url) if call is movielens else goodbooks(url=url)

    content = archive_of("1m" if call is movielens else "goodbooks")
    url = publisher.publish("/data.zip", content)
    load()
    (name,) = kept()
    damaged = bytearray(content)
    damaged[len(content) // 2] ^= 1
    (folder() / name).write_bytes(damaged)
    expected = Path(name).stem.rpartition("-")[2]
    with pytest.raises(OSError, match=rf"(?:MD5|SHA256) [0-9a-f]+, expected {expected}: .*removed"):
        load()
    assert kept() == []
    check(load(), times=call is movielens)
    assert kept() == [name]


def test_offline_says_what_to_do(publisher: Publisher) -> None:
    publisher.close()
    url = f"{publisher.address}/ml.zip"
    with pytest.raises(ConnectionError) as raised:
        movielens("100k", url=url)
    for part in (
        url,
        "Connection refused",
        "wyrmling.datasets.movielens('100k', …)",
        "from_file=PATH",
        "u.data",
        "url=ADDRESS",
        "wyrmling.datasets.read_interactions(PATH)",
    ):
        assert part in str(raised.value)
    with pytest.raises(ConnectionError, match=r"datasets\.goodbooks\(…\) takes from_file=PATH"):
        goodbooks(url=url)
    assert kept() == []


def test_what_ends_too_early_is_not_kept(
    publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = archive_of("100k")
    url = publisher.publish("/ml.zip", content)
    publisher.answers["/ml.zip"] = sending(content[:-9], announced=len(content))
    ended = f"ended after {len(content) - 9} of {len(content)} bytes.*from_file"
    with pytest.raises(ConnectionError, match=ended):
        movielens("100k", url=url)

    def stall(request: BaseHTTPRequestHandler) -> None:
        sending(content[:50], announced=len(content))(request)
        request.wfile.flush()
        time.sleep(1)

    monkeypatch.setattr(download, "TIMEOUT", 0.2)
    publisher.answers["/ml.zip"] = stall
    with pytest.raises(ConnectionError, match="timed out"):
        movielens("100k", url=url)

    def nonsense(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(b"\x16\x03\x01 no HTTP\r\n\r\n")

    publisher.answers["/ml.zip"] = nonsense
    with pytest.raises(ConnectionError, match="the connection failed"):
        movielens("100k", url=url)
    for status in (403, 500):
        publisher.answers["/ml.zip"] = sending(b"no", status=status)
        with pytest.raises(OSError, match=f"the server answers {status}"):
            movielens("100k", url=url)
    assert kept() == []


def test_downloads_are_bounded(publisher: Publisher) -> None:
    most = published("100k").most
    url = publisher.publish("/ml.zip", b"")
    publisher.answers["/ml.zip"] = sending(b"x", announced=most + 1)
    with pytest.raises(OSError, match=f"{most + 1:,} bytes, expected at most {most:,}"):
        movielens("100k", url=url)

    sent = []

    def endless(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        while True:
            request.wfile.write(bytes(1 << 16))
            sent.append(1 << 16)

    publisher.answers["/ml.zip"] = endless
    with pytest.raises(OSError, match=f"more than the {most:,} bytes"):
        movielens("100k", url=url)
    publisher.answers["/ml.zip.md5"] = endless
    with pytest.raises(OSError, match="more than the 4,096 bytes"):
        movielens("100k", url=url)
    assert kept() == []


def test_redirects_are_followed_but_not_from_https(publisher: Publisher) -> None:
    content = archive_of("100k")
    publisher.publish("/there.zip", content)
    publisher.answers["/here.zip"] = redirecting("/there.zip")
    publisher.answers["/here.zip.md5"] = redirecting(f"{publisher.address}/there.zip.md5")
    check(movielens("100k", url=f"{publisher.address}/here.zip"))

    for elsewhere in ("file:///etc/hostname", "ftp://127.0.0.1/x"):
        publisher.answers["/away.zip"] = redirecting(elsewhere)
        with pytest.raises(OSError):  # noqa: PT011 — urllib's own, of many texts
            goodbooks(url=f"{publisher.address}/away.zip")
    publisher.answers["/away.zip"] = redirecting("http://[::1")
    with pytest.raises(ValueError, match=r"away\.zip', which cannot be asked for: Invalid IPv6"):
        goodbooks(url=f"{publisher.address}/away.zip")
    publisher.answers["/round.zip"] = redirecting("/round.zip")
    with pytest.raises(OSError, match="redirect"):
        goodbooks(url=f"{publisher.address}/round.zip")
    assert len(kept()) == 1

    # No server here has a certificate that anybody trusts, so the handler is asked by itself.
    body = io.BytesIO()
    asked = urllib.request.Request("https://files.grouplens.org/ml.zip")
    follow = download._Redirects().redirect_request
    with pytest.raises(
        OSError, match=r"redirects to http://x/ml\.zip, which is not https: refused"
    ):
        follow(asked, body, 302, "Found", {}, "http://x/ml.zip")
    assert body.closed
    allowed = follow(asked, io.BytesIO(), 302, "Found", {}, "https://x/ml.zip")
    assert allowed is not None
    assert allowed.full_url == "https://x/ml.zip"


def test_bad_content_is_not_kept(publisher: Publisher) -> None:
    for content, says in (
        (b"<html>Sign in to this network</html>", "line 1: found '<html>"),
        (zipped({"README": b"x"}), "it has 0 members called ratings.csv, expected 1"),
        (archive_of("goodbooks")[:-30], "cannot be read as a zip archive"),
        (b"", "is empty"),
    ):
        url = publisher.publish("/goodbooks.zip", content)
        with pytest.raises(ValueError, match=re.escape(says)):
            goodbooks(url=url)
        url = publisher.publish("/ml.zip", content)
        with pytest.raises(ValueError, match=re.escape(says)):
            movielens("20m", url=url)
    assert kept() == []


def test_where_files_are_kept(
    publisher: Publisher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = publisher.publish("/ml.zip", archive_of("100k"))
    assert cache.directory() == folder()
    movielens("100k", url=url, cache=tmp_path / "mine" / "own")
    assert len(list((tmp_path / "mine" / "own").iterdir())) == 1
    assert kept() == []
    monkeypatch.delenv("WYRMLING_DATA")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.directory() == tmp_path / ".cache" / "wyrmling"
    for relative in ("", "relative/cache"):
        monkeypatch.setenv("XDG_CACHE_HOME", relative)
        assert cache.directory() == tmp_path / ".cache" / "wyrmling"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.directory() == tmp_path / "xdg" / "wyrmling"
    movielens("100k", url=url)
    assert len(list((tmp_path / "xdg" / "wyrmling").iterdir())) == 1
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        movielens("100k", url=url, cache=tmp_path / "file")


def test_what_killed_processes_left_is_removed(publisher: Publisher) -> None:
    url = publisher.publish("/ml.zip", archive_of("100k"))
    folder().mkdir(parents=True)
    names = ["movielens-1m-1234abcd.9-0123abcd.part", "movielens-1m-1234abcd.9-ffffffff.part"]
    old, new, foreign = (folder() / name for name in (*names, "browser.zip.part"))
    for path in (old, new, foreign):
        path.write_bytes(b"half")
    for path in (old, foreign):
        os.utime(path, (time.time() - 90_000,) * 2)
    check(movielens("100k", url=url))
    assert old.name not in kept()
    assert new.name in kept()
    assert foreign.name in kept()

    # That is what names are like while a file is written.
    seen = []

    def look(request: BaseHTTPRequestHandler) -> None:
        seen.extend(kept())
        sending(archive_of("1m"))(request)

    url = publisher.publish("/ml-1m.zip", archive_of("1m"))
    publisher.answers["/ml-1m.zip"] = look
    check(movielens("1m", url=url))
    (part,) = (
        name for name in seen if name.endswith(".part") and name not in [*names, foreign.name]
    )
    assert cache.PART.fullmatch(part)


SCRIPT = """
import sys
from wyrmling.datasets import movielens
print("ready", flush=True)
sys.stdin.readline()
data = movielens("100k", url=sys.argv[1])
print(len(data), data.values.sum(), flush=True)
"""


def process(url: str) -> subprocess.Popen[str]:
    """A process that downloads once it is given a line."""
    started = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n"
    return started


def slowly(content: bytes, pause: float) -> object:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        half = len(content) // 2
        request.wfile.write(content[:half])
        request.wfile.flush()
        time.sleep(pause)
        request.wfile.write(content[half:])

    return answer


def test_processes_may_download_at_once(publisher: Publisher) -> None:
    content = archive_of("100k")
    url = publisher.publish("/ml.zip", content)

    def together(request: BaseHTTPRequestHandler) -> None:
        # The first has not got it before another one asks.
        deadline = time.monotonic() + 60
        while publisher.requests.count("/ml.zip") < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        sending(content)(request)

    publisher.answers["/ml.zip"] = together
    processes = [process(url) for _ in range(3)]
    for one in processes:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    expected = f"{len(RATINGS)} {sum(rating for _, _, rating, _ in RATINGS)}\n"
    for one in processes:
        out, err = one.communicate(timeout=120)
        assert (out, err) == (expected, "")
    assert publisher.requests.count("/ml.zip") >= 2
    assert len(kept()) == 1
    check(movielens("100k", url=url))


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_a_download_that_is_broken_off_is_never_complete(
    sign: signal.Signals, publisher: Publisher
) -> None:
    content = archive_of("100k")
    url = publisher.publish("/ml.zip", content)
    publisher.answers["/ml.zip"] = slowly(content, 20)  # type: ignore[assignment]
    started = process(url)
    assert started.stdin is not None
    started.stdin.write("\n")
    started.stdin.flush()
    while not kept():
        assert started.poll() is None
        time.sleep(0.01)
    time.sleep(0.2)
    started.send_signal(sign)
    _, err = started.communicate(timeout=30)
    assert started.returncode != 0
    if sign == signal.SIGINT:
        assert "KeyboardInterrupt" in err
        assert kept() == []
    assert all(name.endswith(".part") for name in kept())
    publisher.answers["/ml.zip"] = sending(content)
    check(movielens("100k", url=url))


def test_progress_goes_to_the_standard_error(
    publisher: Publisher, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = archive_of("100k")
    url = publisher.publish("/ml.zip", content)
    movielens("100k", url=url)
    assert capsys.readouterr().err == ""
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    goodbooks(url=publisher.publish("/ratings.csv", lines_of("goodbooks")), progress=True)
    size = len(lines_of("goodbooks"))
    assert capsys.readouterr().err == f"goodbooks: {size} of {size} bytes\n"

    # With tqdm, its bar is told the same.
    told: list[object] = []

    class Bar:
        def __init__(self, **options: object) -> None:
            told.append((options["desc"], options["total"]))

        def update(self, count: int) -> None:
            told.append(count)

        def close(self) -> None:
            told.append("closed")

    monkeypatch.setitem(sys.modules, "tqdm.auto", SimpleNamespace(tqdm=Bar))
    movielens("100k", url=publisher.publish("/other.zip", content), progress=True)
    assert told == [("movielens-100k", len(content)), len(content), "closed"]
    assert capsys.readouterr().err == ""
