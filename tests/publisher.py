"""A publisher of data sets, on this machine: archives in MovieLens's layouts, and checksums."""

from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[BaseHTTPRequestHandler], None]

# A user, an item, a rating and a time of each.
RATINGS = [
    (196, 242, 3.0, 881250949),
    (186, 302, 3.5, 891717742),
    (196, 377, 1.0, 878887116),
    (7, 242, 0.5, 880606923),
]
MEMBERS = {"100k": "ml-100k/u.data", "1m": "ml-1m/ratings.dat"}


def lines_of(size: str) -> bytes:
    """The ratings in the layout that MovieLens of a size has, or goodbooks."""
    if size == "goodbooks":
        rows = [f"{user},{item},{rating:g}" for user, item, rating, _ in RATINGS]
        return "\n".join(["user_id,book_id,rating", *rows, ""]).encode()
    separator = {"100k": "\t", "1m": "::"}.get(size, ",")
    rows = [
        separator.join([str(user), str(item), f"{rating:g}", str(time)])
        for user, item, rating, time in RATINGS
    ]
    if separator == ",":
        rows = ["userId,movieId,rating,timestamp", *rows]
    return "\n".join([*rows, ""]).encode()


def archive_of(size: str) -> bytes:
    """The archive, with other files in it as there are."""
    member = MEMBERS.get(size, f"ml-{size}/ratings.csv" if size != "goodbooks" else "ratings.csv")
    return zipped({"ml/README": b"read me\n", member: lines_of(size), "ml/movies.csv": b"1,Toy\n"})


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An archive with these members, of the same bytes whenever it is made."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return file.getvalue()


def md5(content: bytes) -> str:
    """The MD5, in hexadecimal digits."""
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def sending(content: bytes, *, announced: int | None = None, status: int = 200) -> Answer:
    """An answer with this content, whose length may be announced wrongly."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        request.send_header("Content-Length", str(len(content) if announced is None else announced))
        request.end_headers()
        request.wfile.write(content)

    return answer


def redirecting(address: str) -> Answer:
    """An answer that leads elsewhere."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(302)
        request.send_header("Location", address)
        request.send_header("Content-Length", "0")
        request.end_headers()

    return answer


class Publisher:
    """A server of what it is given by path, which counts the requests."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.requests: list[str] = []
        publisher = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                publisher.requests.append(self.path)
                answer = publisher.answers.get(self.path, sending(b"nothing here", status=404))
                try:
                    answer(self)
                except OSError:
                    self.close_connection = True  # The client has gone.

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    @property
    def address(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.server.server_port}"

    def publish(self, path: str, content: bytes, checksum: str | None = None) -> str:
        """Offers a file and its checksum, the right one unless another is given; the address."""
        self.answers[path] = sending(content)
        self.answers[f"{path}.md5"] = sending((checksum or md5(content) + "\n").encode())
        return self.address + path

    def close(self) -> None:
        """Answers no more."""
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
