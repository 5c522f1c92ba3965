"""A model over HTTP: the server itself, and when it ends.

The server is waitress: threads that each answer one request, in pure Python. On one core it answers
several thousand requests a second.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..arguments import check_flag, check_integer, check_path
from .application import Application
from .current_model import CurrentModel
from .page import Page

__all__ = ["serve"]

# The longest headers of a request, in bytes.
LONGEST_HEADERS = 1 << 14
# Connections that are open at once; others wait.
MOST_CONNECTIONS = 1000
# Open files that are left for what else the server opens, such as the model's file.
SPARE_FILES = 16
NAMES = ("localhost", "127.0.0.1", "::1")


def serve(
    path: str | os.PathLike[str],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    ui: bool = False,
    threads: int = 4,
    max_body: int = 1 << 20,
    mmap: bool = False,
    ready: Callable[[str], object] | None = None,
) -> None:
    """Answers HTTP requests with a model until it is interrupted (Ctrl-C or SIGTERM).

    The model is read again when its file changes and at SIGHUP; requests go on meanwhile.
    :mod:`.application` lists what is answered.

    There is no encryption and no login: what others reach needs a proxy before it that has both.

    Args:
        path: the file of the model.
        host: the address to answer at; the default is reached from this machine only.
        port: the port; 0 takes one that is free.
        ui: whether to show a web page at ``/``.
        threads: requests that are answered at the same time.
        max_body: bodies of requests have at most so many bytes.
        mmap: whether to map the file (see :meth:`.Recommender.load`).
        ready: called with the URL when requests can be sent; None prints it.

    Raises:
        ImportError: waitress is not installed.
        OSError: the file cannot be read, or the port is taken.
        TypeError: a setting of another type.
        ValueError: the file is no model, or a setting outside its range.
    """
    try:
        from waitress import create_server
    except ImportError:
        raise ImportError(
            "a server needs waitress: pip install 'wyrmling[serve]'", name="waitress"
        ) from None

    if not isinstance(host, str):
        raise TypeError(f"host is {host!r}, expected a text")
    port = check_integer("port", port, 0, 65535)
    threads = check_integer("threads", threads, 1, 1024)
    max_body = check_integer("max_body", max_body, 1)
    check_flag("ui", ui)

    current = CurrentModel(check_path("path", path), mmap)
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    listening = _listening(host, port)
    # In numbers, with the interface that an address of IPv6 belongs to.
    numeric = socket.NI_NUMERICHOST | socket.NI_NUMERICSERV
    address, found = socket.getnameinfo(listening.getsockname(), numeric)
    application = Application(current, Page() if ui else None, _names(host, address))
    server: Any = create_server(
        application,
        sockets=[listening],
        threads=threads,
        ident=None,
        max_request_body_size=max_body + 1,  # waitress refuses as many
        max_request_header_size=LONGEST_HEADERS,
        connection_limit=_most_connections(listening.fileno()),
        channel_timeout=30,
        asyncore_use_poll=True,
    )
    server.channel_class = _connection(server.channel_class)

    current.watch()
    undo = _handle_signals(current)
    named = f"[{address.replace('%', '%25')}]" if ":" in address else address
    url = f"http://{named}:{found}/"
    try:
        if ready is None:
            print(
                f"{type(current.get().model).__name__} answers at {url}",
                file=sys.stderr,
                flush=True,
            )
        else:
            ready(url)
        server.run()
    except KeyboardInterrupt:
        pass
    finally:
        undo()
        current.close()
        server.close()


def _connection(base: Any) -> Any:
    """Waitress's connections, but that those who are still sending get a refusal, and those who
    ask whether to send on an answer though they have nothing to send.

    One that is closed with something unread is reset, and the answer is lost: it is first closed
    for writing, and what comes is forgotten until the other side closes, or waitress's time is over
    (RFC 9112, 9.6). A request that expects to be told to go on and is there whole is answered at
    once (RFC 9110, 10.1.1); waitress would wait for more of it. What Python makes no address of, or
    no integer, as of a length with too many digits, is refused and no error of the server.
    """
    from waitress.parser import ParsingError

    class Request(base.parser_class):  # type: ignore[misc]
        def parse_header(self, header_plus: bytes) -> None:
            try:
                super().parse_header(header_plus)
            except ValueError:
                raise ParsingError("an address or a length is invalid") from None

    class Connection(base):  # type: ignore[misc]
        parser_class = Request
        refused = forgets = False

        def service(self) -> None:
            self.refused = self.requests[0].error is not None
            super().service()

        def send_continue(self) -> None:
            if not self.request.completed:
                super().send_continue()

        def readable(self) -> Any:
            return self.forgets or super().readable()

        def handle_read(self) -> None:
            if self.forgets:
                self.recv(self.adj.recv_bytes)
            else:
                super().handle_read()

        def handle_close(self) -> None:
            if not self.refused or self.forgets:
                super().handle_close()
                return
            self.forgets, self.will_close = True, False
            with suppress(OSError):
                self.socket.shutdown(socket.SHUT_WR)

    return Connection


def _listening(host: str, port: int) -> socket.socket:
    """A socket that takes connections at an address. Raises OSError that names it."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, _, _, _, address = found[0]
        return socket.create_server(address, family=family, backlog=1024)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OSError(f"cannot answer at {host} port {port}: {reason}") from None


def _most_connections(opened: int) -> int:
    """How many connections may be open, beside so many files that are open already.

    One for which the system opens no file waits, and waitress would try again at once, for ever.
    """
    try:
        import resource
    except ImportError:  # on Windows
        return MOST_CONNECTIONS
    granted = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if granted == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    # Waitress counts its own two among them.
    return max(min(MOST_CONNECTIONS, granted - opened - SPARE_FILES), 3)


def _names(host: str, address: str) -> frozenset[str] | None:
    """The names of a server that is reached from this machine only; None for any other.

    The address that ``host`` was found to have says which it is: a name may be written in capitals,
    or be one of this machine's own.
    """
    if not ipaddress.ip_address(address).is_loopback:
        return None
    return frozenset({*NAMES, host.lower(), address})


def _handle_signals(current: CurrentModel) -> Callable[[], None]:
    """Has SIGHUP read the model again and SIGTERM end the server; returns what undoes that."""
    if threading.current_thread() is not threading.main_thread():
        return lambda: None  # Only the main thread gets signals.

    def end(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = {signal.SIGTERM: signal.signal(signal.SIGTERM, end)}
    if hasattr(signal, "SIGHUP"):
        before[signal.SIGHUP] = signal.signal(signal.SIGHUP, lambda *_: current.ask())

    def undo() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    return undo
