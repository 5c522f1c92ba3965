"""What a server answers to each request: a WSGI application (PEP 3333).

=========================  ==================================================================
``GET /health``            whether it works, and with which model
``GET /recommend?user=``   items for a user, see :func:`.endpoints.recommend`
``POST /recommend``        the same for several users, or for a history, asked in JSON
``GET, POST /similar``     what is similar to an item or a user
``GET /metrics``           counts and times, for Prometheus
``GET /``                  the web page, if it was asked for (:mod:`.page`)
=========================  ==================================================================

Answers are JSON, errors too: ``{"error": {"code": …, "message": …}}``. What goes wrong inside is
logged, and its caller is told no more than that. What is no HTTP, or too long, the server refuses
before it comes here, in plain text.

**Whom it answers.** A server of this machine alone answers requests for names of this machine only:
a web page from elsewhere whose name was made to lead here (DNS rebinding) is refused. A request of
HTTP/1.0 may have no name, as those have by which a proxy or load balancer of this machine looks
whether the server works; browsers send none of these.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable
from typing import Any

from .. import __version__
from .current_model import CurrentModel
from .endpoints import Refused, of_json, of_url, recommend, similar
from .metrics import Metrics
from .page import Page

__all__ = ["Application"]

logger = logging.getLogger("wyrmling.serving")

REASONS = {
    200: "200 OK",
    400: "400 Bad Request",
    403: "403 Forbidden",
    404: "404 Not Found",
    405: "405 Method Not Allowed",
    411: "411 Length Required",
    413: "413 Content Too Large",
    415: "415 Unsupported Media Type",
    500: "500 Internal Server Error",
}
# A web page may not guess what an answer is, keep it, or frame it.
SAFE = [("X-Content-Type-Options", "nosniff"), ("Cache-Control", "no-store")]

Environ = dict[str, Any]
Start = Callable[[str, list[tuple[str, str]]], Any]


class Application:
    """The application.

    Args:
        current: the model.
        page: the web page, or None for none.
        hosts: the names by which it may be called, in lower case; None for any.
    """

    def __init__(
        self,
        current: CurrentModel,
        page: Page | None = None,
        hosts: frozenset[str] | None = None,
    ) -> None:
        self.current, self.metrics = current, Metrics()
        self._page, self._hosts = page, hosts
        self._routes: dict[str, dict[str, Callable[[Environ], Any]]] = {
            "/health": {"GET": self._health},
            "/recommend": {"GET": self._recommend, "POST": self._recommend},
            "/similar": {"GET": self._similar, "POST": self._similar},
            "/metrics": {"GET": self._metrics},
        }
        if page is not None:
            for path, method in page.paths.items():
                self._routes[path] = {method: self._of_page}

    def __call__(self, environ: Environ, start: Start) -> Iterable[bytes]:
        """Answers a request, as PEP 3333 says."""
        begun = time.perf_counter()
        path = environ.get("PATH_INFO", "")
        route = path if path in self._routes else "other"
        extra: list[tuple[str, str]] = []
        try:
            status, (kind, body, more) = 200, _sent(self._answer(environ, path))
        except Refused as refused:
            status = refused.status
            kind, body, more = _sent({"error": {"code": refused.code, "message": refused.message}})
            if status == 405:
                # HEAD is answered where GET is.
                methods = ", ".join(self._routes[path]).replace("GET", "GET, HEAD")
                extra = [("Allow", methods)]
        except Exception:
            logger.exception("%s %s failed", environ.get("REQUEST_METHOD"), route)
            status = 500
            kind, body, more = _sent({"error": {"code": "internal", "message": "internal error"}})
        length = "Content-Length", str(len(body))
        headers = [("Content-Type", kind), length, *SAFE, *extra, *more]
        start(REASONS[status], headers)
        self.metrics.count(route, status, time.perf_counter() - begun)
        # Whoever asks by HEAD gets the headers that GET would have.
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    def _answer(self, environ: Environ, path: str) -> Any:
        host = _host(environ)
        if host is None and environ.get("SERVER_PROTOCOL") != "HTTP/1.0":
            raise Refused(400, "no_host", "expected a header Host, as RFC 9112 says")
        if host is not None and self._hosts is not None and host not in self._hosts:
            raise Refused(
                403, "bad_host", "this server answers only to the names of its own machine"
            )
        methods = self._routes.get(path)
        if methods is None:
            raise Refused(404, "no_such_path", "there is nothing here; try /health")
        answer = methods.get("GET" if (asked := environ["REQUEST_METHOD"]) == "HEAD" else asked)
        if answer is None:
            raise Refused(405, "bad_method", f"expected {' or '.join(methods)}")
        return answer(environ)

    def _parameters(self, environ: Environ) -> Any:
        if environ["REQUEST_METHOD"] != "POST":
            return of_url(environ.get("QUERY_STRING", ""))
        # No form of a web page from elsewhere can have this type.
        kind = environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise Refused(415, "bad_type", "expected a body of Content-Type application/json")
        length = environ.get("CONTENT_LENGTH") or ""
        if not length.isdecimal():
            raise Refused(411, "no_length", "expected a Content-Length")
        return of_json(environ["wsgi.input"].read(int(length)))

    def _recommend(self, environ: Environ) -> Any:
        return recommend(self.current.get().model, self._parameters(environ))

    def _similar(self, environ: Environ) -> Any:
        return similar(self.current.get().model, self._parameters(environ))

    def _health(self, environ: Environ) -> Any:
        current = self.current.get()
        return {
            "status": "ok",
            "model": type(current.model).__name__,
            "users": len(current.model.user_ids),
            "items": len(current.model.item_ids),
            "loaded": current.loaded,
            "reloads": current.number,
            "wyrmling": __version__,
        }

    def _metrics(self, environ: Environ) -> Any:
        current = self.current.get()
        model = current.model
        gauges = {
            "wyrmling_reloads_total": ("counter", "Models read after the first.", current.number),
            "wyrmling_reload_failures_total": (
                "counter",
                "Files that were no model.",
                self.current.failures,
            ),
            "wyrmling_model_loaded_seconds": (
                "gauge",
                "When the model was read, since 1970.",
                current.loaded,
            ),
            "wyrmling_model_users": ("gauge", "Users.", len(model.user_ids)),
            "wyrmling_model_items": ("gauge", "Items.", len(model.item_ids)),
        }
        text = self.metrics.text(gauges)
        return "text/plain; version=0.0.4; charset=utf-8", text.encode(), []

    def _of_page(self, environ: Environ) -> Any:
        assert self._page is not None
        return self._page.answer(
            environ["PATH_INFO"], self._parameters(environ), self.current.get().model
        )


def _sent(answer: Any) -> Any:
    """The type, the body and the headers of an answer; raises ValueError for what is no JSON."""
    if isinstance(answer, tuple):
        return answer
    text = json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return "application/json", text.encode(), []


def _host(environ: Environ) -> str | None:
    """The name by which the server was called, without the port; None if by no name."""
    if "HTTP_HOST" not in environ:
        return None
    host = str(environ["HTTP_HOST"]).lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]
