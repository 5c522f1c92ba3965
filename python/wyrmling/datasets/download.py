"""What HTTP gives, with bounds: on its size, on each wait, and on where redirects lead.

A download is one request, not resumed and not tried again. The time limit holds for each wait, so
that a server that sends a little every now and then can take as long as it likes; who started the
download can interrupt it.
"""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import IO, Any
from urllib.parse import urlsplit

from .. import _core

__all__ = ["BLOCK", "blocks_of"]

TIMEOUT = 30.0
"""Seconds to wait for a connection, and for more to come."""
BLOCK = 1 << 20
"""Bytes read at once."""


def blocks_of(
    url: str, most: int, begun: Callable[[int | None], object] | None = None
) -> Iterator[bytes]:
    """What is at an address, in blocks of at most ``BLOCK`` bytes.

    Args:
        url: begins with https:// or http://.
        most: of so many bytes at most.
        begun: called with the number of bytes to come, None if the server does not say.

    Raises:
        ValueError: another kind of address, or none.
        ConnectionError: the server is not reached, or the connection ends too early.
        OSError: the server refuses, redirects from https to http, or sends more than ``most``.
    """
    if urlsplit(url).scheme not in ("https", "http"):
        raise ValueError(f"url is {url!r}, expected one that begins with https:// or http://")
    agent = {"User-Agent": f"wyrmling/{_core.__version__}"}
    try:
        with _opener().open(urllib.request.Request(url, headers=agent), timeout=TIMEOUT) as answer:
            yield from _bounded(answer, url, most, begun)
    except urllib.error.HTTPError as error:
        with error:
            raise OSError(f"{url}: the server answers {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        raise ConnectionError(f"{url} is not reached: {error.reason}") from error
    except (TimeoutError, ConnectionError, http.client.HTTPException) as error:
        text = str(error) or type(error).__name__
        raise ConnectionError(f"{url}: the connection failed: {text}") from error
    except ValueError as error:  # of what parses addresses, those that a server leads to among them
        raise ValueError(f"url is {url!r}, which cannot be asked for: {error}") from None


def _bounded(
    answer: IO[bytes], url: str, most: int, begun: Callable[[int | None], object] | None
) -> Iterator[bytes]:
    announced = getattr(answer, "length", None)
    if announced is not None and announced > most:
        raise OSError(f"{url} has {announced:,} bytes, expected at most {most:,}")
    if begun is not None:
        begun(announced)
    received = 0
    while block := answer.read(BLOCK):
        received += len(block)
        if received > most:
            raise OSError(f"{url} has more than the {most:,} bytes that were expected at most")
        yield block
    if announced is not None and received < announced:
        raise ConnectionResetError(f"it ended after {received:,} of {announced:,} bytes")


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but none from https to what anybody on the way may change."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """The request to the new address."""
        if urlsplit(req.full_url).scheme == "https" and urlsplit(newurl).scheme != "https":
            fp.close()
            raise OSError(f"{req.full_url} redirects to {newurl}, which is not https: refused")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> urllib.request.OpenerDirector:
    """What opens https and http, through the proxies of the environment, and nothing else."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler,
        urllib.request.HTTPHandler,
        urllib.request.HTTPSHandler,
        urllib.request.HTTPDefaultErrorHandler,
        urllib.request.HTTPErrorProcessor,
        urllib.request.UnknownHandler,
        _Redirects,
    ):
        opener.add_handler(handler())
    return opener
