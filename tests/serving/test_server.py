"""The server as a process: limits, signals, and a model that is replaced while requests run."""

from __future__ import annotations

import http.client
import ipaddress
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from wyrmling.datasets import make_interactions
from wyrmling.recommend import BPR, Popularity, Recommender
from wyrmling.serving import current_model, serve
from wyrmling.serving.current_model import CurrentModel

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")


@pytest.fixture(scope="module")
def models() -> list[Recommender]:
    data = make_interactions(60, 40, 8, seed=2)
    return [BPR(factors=4, epochs=2, num_threads=1, random_state=seed).fit(data) for seed in (0, 1)]


@pytest.fixture
def path(tmp_path: Path, models: list[Recommender]) -> Path:
    path = tmp_path / "model.safetensors"
    models[0].save(path)
    return path


@contextmanager
def served(
    path: Path, *options: str, shell: str = ""
) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """The port at which a command serves a model, and its process, which a shell may prepare."""
    command = [sys.executable, "-m", "wyrmling", "serve", str(path), "--port", "0", *options]
    command = ["sh", "-c", f'{shell} exec "$@"', "sh", *command]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        try:
            assert "BPR answers at http://127.0.0." in said
            yield int(said.rstrip("/\n").rpartition(":")[2]), process
        finally:
            process.kill()


def get(
    port: int, path: str, body: bytes | None = None, timeout: int = 60, **headers: str
) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    connection.request("GET" if body is None else "POST", path, body, headers)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    kind = response.headers["Content-Type"]
    return response.status, json.loads(content) if kind == "application/json" else content.decode()


def wait(condition: Callable[[], bool]) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen within 30 s")


def test_it_is_reached_from_this_machine_and_ends_when_told(path: Path) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        with served(path) as (port, process):
            assert get(port, "/health")[0] == 200
            # No other address is listened at.
            listening = Path("/proc/net/tcp")
            if listening.exists():
                at = {line.split()[1] for line in listening.read_text().splitlines()[1:]}
                assert [a for a in at if a.endswith(f":{port:04X}")] == [f"0100007F:{port:04X}"]
            process.send_signal(number)
            assert process.wait(timeout=60) in (0, 130)


def test_headers_alone(path: Path) -> None:
    with served(path) as (port, _):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        length = len(json.dumps(get(port, "/recommend?user=user-1")[1], separators=(",", ":")))
        for _ in range(2):  # over one connection, where a body would be taken for an answer
            connection.request("HEAD", "/recommend?user=user-1")
            response = connection.getresponse()
            assert (response.status, response.read()) == (200, b"")
            assert int(response.headers["Content-Length"]) == length
            connection.request("HEAD", "/nowhere")
            response = connection.getresponse()
            assert (response.status, response.read()) == (404, b"")


def test_long_requests_are_refused(path: Path) -> None:
    with served(path, "--max-body", "1000") as (port, _):
        json_type = {"Content-Type": "application/json"}
        status, _ = get(port, "/recommend", b'{"user":"user-1"}' + b" " * 900, **json_type)
        assert status == 200
        assert get(port, "/recommend", b'{"user":"user-1"}' + b" " * 983, **json_type)[0] == 200
        # Whoever is still sending gets the answer, too.
        for size in (1001, 5_000_000):
            assert get(port, "/recommend", b" " * size, **json_type)[0] == 413
        # One that only says so is refused at once.
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            connection.sendall(b"POST /recommend HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n")
            assert connection.recv(1000).startswith(b"HTTP/1.1 413")
        # Of this Python makes no integer, and no address.
        for head in (
            b"POST / HTTP/1.1\r\nContent-Length: " + b"9" * 5000,
            b"GET http://[ HTTP/1.1",
        ):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                connection.sendall(head + b"\r\n\r\n")
                assert b" 400 Bad Request\r\n" in connection.recv(1000)
        assert get(port, "/health?" + "x" * 20_000)[0] in (400, 431)
        for nonsense in (b"\r\n\r\n", b"\0" * 100 + b"\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                connection.sendall(nonsense)
        assert get(port, "/health")[0] == 200


def test_who_asks_whether_to_send_gets_an_answer(path: Path) -> None:
    body = b'{"user": "user-1"}'
    line = b"Host: localhost\r\nExpect: 100-continue\r\n"
    length = b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(body)
    go_on = b"HTTP/1.1 100 Continue\r\n\r\n"
    with served(path) as (port, _):
        # The head, what is sent with it, and what is sent after being told to go on.
        for head, rest, later in (
            (b"GET /health HTTP/1.1\r\n" + line, b"", b""),
            (b"POST /recommend HTTP/1.1\r\n" + line + length, body, b""),
            (b"POST /recommend HTTP/1.1\r\n" + line + length, b"", body),
        ):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                connection.sendall(head + b"\r\n" + rest)
                if later:
                    assert connection.recv(len(go_on), socket.MSG_WAITALL) == go_on
                    connection.sendall(later)
                answer = b""
                while b"}" not in answer:
                    found = connection.recv(65536)
                    assert found, "closed without an answer"
                    answer += found
                assert answer.removeprefix(go_on).startswith(b"HTTP/1.1 200")


def test_a_model_is_replaced_while_requests_run(path: Path, models: list[Recommender]) -> None:
    answers = [
        {user: [item for item, _ in model.recommend(user)] for user in model.user_ids}
        for model in models
    ]
    wrong: list[Any] = []
    ended = threading.Event()

    def ask(port: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while not ended.is_set():
            for user in list(models[0].user_ids)[:20]:
                connection.request("GET", f"/recommend?user={user}")
                response = connection.getresponse()
                found = json.loads(response.read())
                items = [pair["item"] for pair in found.get("items", [])]
                if response.status != 200 or items not in [answer[user] for answer in answers]:
                    wrong.append((response.status, found))

    with served(path) as (port, process):
        asking = [threading.Thread(target=ask, args=(port,)) for _ in range(2)]
        for thread in asking:
            thread.start()
        try:
            for number in (1, 2, 3):
                models[number % 2].save(path)
                wait(lambda: get(port, "/health")[1]["reloads"] >= number)  # noqa: B023
                found = get(port, "/recommend?user=user-1")[1]["items"]
                assert [pair["item"] for pair in found] == answers[number % 2]["user-1"]
            process.send_signal(signal.SIGHUP)
            wait(lambda: get(port, "/health")[1]["reloads"] >= 4)
        finally:
            ended.set()
            for thread in asking:
                thread.join()
    assert wrong == []


def test_signals_that_come_while_others_are_handled_stop_nothing(path: Path) -> None:
    with served(path) as (port, process):
        for _ in range(20):
            for _ in range(10_000):
                process.send_signal(signal.SIGHUP)
            assert get(port, "/health", timeout=10)[0] == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0


def test_a_bad_file_leaves_the_model(path: Path, models: list[Recommender]) -> None:
    current = CurrentModel(path)
    before = current.get().model
    current.watch(0.01)
    try:
        content = path.read_bytes()
        path.write_bytes(content[:-7])
        wait(lambda: current.failures > 0)
        path.unlink()
        current.ask()
        wait(lambda: current.failures > 1)
        assert current.get().model is before
        # Written in place, in pieces.
        path.write_bytes(content)
        wait(lambda: current.get().number == 1)
        assert current.get().model is not before
        with pytest.raises(OSError, match="nowhere"):
            CurrentModel(path.with_name("nowhere"))
    finally:
        current.close()


def test_a_file_that_is_read_for_long_holds_up_no_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    current = CurrentModel(path)
    begun, go_on = threading.Event(), threading.Event()

    def read() -> Recommender:
        begun.set()
        go_on.wait(60)
        return current.get().model

    monkeypatch.setattr(current, "_read", read)
    monkeypatch.setattr(current_model, "PATIENCE", 0.1)
    current.watch(0.01)
    current.ask()
    begun.wait(60)
    start = time.monotonic()
    current.close()
    assert time.monotonic() - start < 30
    go_on.set()


@pytest.mark.parametrize("host", ["LOCALHOST", "127.1", "127.0.0.2"])
def test_who_may_ask_goes_by_the_address(path: Path, host: str) -> None:
    # Of a name in capitals, or an address written short, too, this machine alone is answered.
    with served(path, "--host", host) as (port, _):
        address = "127.0.0.2" if host == "127.0.0.2" else "127.0.0.1"
        for name, status in (
            (host, 200),
            (address, 200),
            ("localhost", 200),
            ("evil.example", 403),
        ):
            connection = http.client.HTTPConnection(address, port, timeout=60)
            connection.request("GET", "/health", headers={"Host": f"{name}:{port}"})
            assert connection.getresponse().status == status, name
            connection.close()


def test_connections_beyond_the_files_that_may_be_open_wait(path: Path) -> None:
    with served(path, shell="ulimit -n 48;") as (port, process):
        opened = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(60)]
        request = b"HEAD /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for _ in opened:  # at each the server looks whether there are others
            opened[0].sendall(request)
            assert opened[0].recv(10_000).startswith(b"HTTP/1.1 200")
        opened[-1].sendall(request)
        while len(opened) > 1:
            opened.pop(0).close()
        assert opened[0].recv(12) == b"HTTP/1.1 200"
        opened[0].close()
        process.send_signal(signal.SIGTERM)
        assert "Too many open files" not in process.communicate(timeout=60)[1]


def test_an_address_may_be_of_one_interface(path: Path) -> None:
    addresses = Path("/proc/net/if_inet6")
    lines = addresses.read_text().split("\n") if addresses.exists() else []
    # An address in digits without colons, ..., its scope, flags, and the interface.
    local = [line.split() for line in lines if line[:4] == "fe80" and line.split()[4] == "80"]
    if not local:
        pytest.skip("no interface has an address of its own link")
    digits, name = local[0][0], local[0][-1]
    host = f"{ipaddress.IPv6Address(int(digits, 16))}%{name}"
    ready: list[str] = []

    def connect(url: str) -> None:
        ready.append(url)
        raise KeyboardInterrupt

    serve(path, host=host, port=0, ready=connect)
    assert ready[0].startswith(f"http://[{host.replace('%', '%25')}]:")


def test_settings_are_checked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for options, message in (
        ({"port": 70000}, "port is 70000, expected an integer from 0 to 65535"),
        ({"port": -1}, "port is -1"),
        ({"threads": 0}, "threads is 0, expected an integer from 1"),
        ({"max_body": 0}, "max_body is 0"),
    ):
        with pytest.raises(ValueError, match=message):
            serve(path, **options)  # type: ignore[arg-type]
    for wrong, message in (
        ({"port": "8000"}, "port is '8000', expected an integer"),
        ({"threads": 2.5}, "threads is 2.5, expected an integer"),
        ({"max_body": True}, "max_body is True, expected an integer"),
        ({"host": None}, "host is None, expected a text"),
        ({"ui": "no"}, "ui is 'no', expected True or False"),
        ({"path": None}, "path is None, expected a path"),
    ):
        with pytest.raises(TypeError, match=message):
            serve(**{"path": path, **wrong})  # type: ignore[arg-type]
    with pytest.raises(OSError, match=f"cannot answer at {'a' * 70} port"):
        serve(path, host="a" * 70)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"cannot answer at 127.0.0.1 port {port}"):
            serve(path, port=port)
    with pytest.raises(OSError, match=r"cannot answer at nowhere\.invalid"):
        serve(path, host="nowhere.invalid")
    with pytest.raises(OSError, match="missing"):
        serve(path.with_name("missing"))
    monkeypatch.setitem(sys.modules, "waitress", None)
    with pytest.raises(ImportError, match=r"pip install 'wyrmling\[serve\]'"):
        serve(path)


def test_popularity_is_served_too(tmp_path: Path) -> None:
    """In a thread, where no signals come."""
    Popularity().fit(make_interactions(20, 10, 3)).save(tmp_path / "model")
    urls: list[str] = []
    settings = {"port": 0, "ready": urls.append}
    threading.Thread(target=serve, args=(tmp_path / "model",), kwargs=settings, daemon=True).start()
    wait(lambda: bool(urls))
    port = int(urls[0].rstrip("/").rpartition(":")[2])
    assert get(port, "/recommend?user=user-1")[0] == 200
