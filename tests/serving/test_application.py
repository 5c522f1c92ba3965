"""What the server answers to each request, asked without a network."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any
from urllib.parse import quote
from wsgiref.validate import validator

import pytest

from wyrmling.data import Interactions
from wyrmling.datasets import make_interactions
from wyrmling.recommend import BPR, Custom, ExplicitMF, ImplicitALS, Popularity
from wyrmling.serving.application import Application
from wyrmling.serving.current_model import CurrentModel
from wyrmling.serving.page import Page

Reply = tuple[int, Any, dict[str, str]]


@pytest.fixture(scope="module")
def model() -> BPR:
    return BPR(factors=4, epochs=2, num_threads=1).fit(make_interactions(60, 40, 8, seed=2))


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory, model: BPR) -> Application:
    path = tmp_path_factory.mktemp("served") / "model"
    model.save(path)
    return Application(CurrentModel(path), Page(), frozenset({"localhost"}))


def ask(
    application: Application,
    path: str,
    body: Any = None,
    *,
    method: str | None = None,
    host: str | None = "localhost:8000",
    kind: str = "application/json",
    **environ: str,
) -> Reply:
    """The status, the answer and the headers; asked as PEP 3333 says, which is checked."""
    place, _, query = path.partition("?")
    sent = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    given: dict[str, Any] = {
        "REQUEST_METHOD": method or ("GET" if body is None else "POST"),
        "SCRIPT_NAME": "",
        "PATH_INFO": place,
        "QUERY_STRING": query,
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "8000",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_HOST": host,
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(sent),
        "wsgi.errors": io.StringIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    if body is not None:
        given |= {"CONTENT_TYPE": kind, "CONTENT_LENGTH": str(len(sent))}
    given |= environ
    given = {name: value for name, value in given.items() if value is not None}
    found: list[Any] = []

    def start(status: str, headers: list[tuple[str, str]], *_: Any) -> Any:
        found.extend((int(status[:3]), dict(headers)))
        return lambda _: None

    answer = validator(application)(given, start)
    content = b"".join(answer)
    answer.close()  # type: ignore[attr-defined]
    status, headers = found
    assert int(headers["Content-Length"]) == len(content)
    assert headers["X-Content-Type-Options"] == "nosniff"
    if headers["Content-Type"] == "application/json":
        return status, json.loads(content), headers
    return status, content.decode(), headers


def pairs(best: list[tuple[Any, float]], name: str = "item") -> list[dict[str, Any]]:
    return [{name: id, "score": score} for id, score in best]


def test_recommendations_are_those_of_the_model(application: Application, model: BPR) -> None:
    best = pairs(model.recommend("user-3"))
    expected = (200, {"user": "user-3", "items": best})
    assert ask(application, "/recommend?user=user-3")[:2] == expected
    assert ask(application, "/recommend", {"user": "user-3"})[:2] == expected
    everything = pairs(model.recommend("user-3", 99, exclude_seen=False))
    path = "/recommend?user=user-3&n=99&exclude_seen=false"
    assert ask(application, path)[1]["items"] == everything
    few = ["jazz-1", "jazz-2", "folk-1"]
    status, answer, _ = ask(
        application, "/recommend", {"user": "user-3", "items": few, "filter_items": ["jazz-1"]}
    )
    assert status == 200
    asked = model.recommend("user-3", items=few, filter_items=["jazz-1"])
    assert answer["items"] == pairs(asked)
    users = ["user-1", "user-9", "user-1"]
    _, answer, _ = ask(application, "/recommend", {"users": users, "n": 3})
    assert answer["users"] == [
        {"user": user, "items": pairs(model.recommend(user, 3))} for user in users
    ]
    assert ask(application, "/recommend", {"users": []})[:2] == (200, {"users": []})
    unknown = {"users": ["user-1", "nobody"], "n": 2, "cold_start": "popular"}
    _, answer, _ = ask(application, "/recommend", unknown)
    assert len(answer["users"][1]["items"]) == 2


def test_new_users_are_known_by_histories(application: Application, model: BPR) -> None:
    history = ["jazz-1", "folk-2"]
    best = pairs(model.recommend(model.fold_in(history), 4))
    _, answer, _ = ask(application, "/recommend", {"history": history, "n": 4})
    assert answer == {"history": history, "items": best}
    _, answer, _ = ask(application, "/recommend", {"histories": [history, []], "n": 4})
    assert answer["histories"][0] == {"history": history, "items": best}
    assert answer["histories"][1]["history"] == []
    assert len(answer["histories"][1]["items"]) == 4
    assert ask(application, "/recommend", {"histories": []})[:2] == (200, {"histories": []})


def test_a_new_user_may_have_ratings(tmp_path: Path) -> None:
    data = Interactions.from_ids([1, 1, 2, 2, 3], list("abbca"), values=[5, 1, 2, 4, 3])
    rated = ExplicitMF(factors=2, epochs=3, num_threads=1).fit(data)
    rated.save(tmp_path / "model")
    served = Application(CurrentModel(tmp_path / "model"))
    question = {"history": ["a", "b"], "values": [4, 1.5]}
    _, answer, _ = ask(served, "/recommend", question)
    assert answer["items"] == pairs(rated.recommend(rated.fold_in(["a", "b"], values=[4, 1.5])))
    for wrong in ([4], ["a", "b"], [1, True], 3, [1e300, 1]):
        status, answer, _ = ask(served, "/recommend", question | {"values": wrong})
        assert (status, answer["error"]["code"]) == (400, "bad_value")
        assert "values" in answer["error"]["message"]
    several = {"histories": [["a", "b"], ["c"]], "values": [[4, 1.5], [2]]}
    _, answers, _ = ask(served, "/recommend", several)
    assert [answer["items"] for answer in answers["histories"]] == [
        pairs(rated.recommend(rated.fold_in(history, values=values)))
        for history, values in zip(*several.values(), strict=True)
    ]
    for wrong in ([[4, 1.5]], [[4, 1.5], 2], [4, 1.5], [[4], [2]], 3, [[4, 1.5], ["a"]]):
        status, answer, _ = ask(served, "/recommend", several | {"values": wrong})
        assert (status, answer["error"]["code"]) == (400, "bad_value")
        assert "values" in answer["error"]["message"]
    status, answer, _ = ask(served, "/recommend?history=a&values=4")
    assert status == 400
    assert answer["error"]["message"] == "values: expected a list of numbers, sent by POST"
    status, answer, _ = ask(served, "/recommend", {"user": 1, "values": [4]})
    assert (status, answer["error"]["code"]) == (400, "bad_request")


def test_values_of_a_model_that_takes_none_are_refused(application: Application) -> None:
    question = {"history": ["jazz-1"], "values": [4]}
    status, answer, _ = ask(application, "/recommend", question)
    assert (status, answer["error"]["code"]) == (400, "bad_value")
    assert answer["error"]["message"] == "values: BPR learns nothing from them"


def test_neighbours(application: Application, model: BPR) -> None:
    near = pairs(model.similar_items("jazz-1", 3))
    expected = (200, {"item": "jazz-1", "similar": near})
    assert ask(application, "/similar?item=jazz-1&n=3")[:2] == expected
    _, answer, _ = ask(application, "/similar", {"items": ["jazz-1"], "n": 3})
    assert answer["items"] == [{"item": "jazz-1", "similar": near}]
    near = pairs(model.similar_users("user-1", 3), "user")
    assert ask(application, "/similar?user=user-1&n=3")[1]["similar"] == near
    assert ask(application, "/similar", {"users": []})[:2] == (200, {"users": []})


Wrong = tuple[str, Any, int, str, str]
WRONG: list[Wrong] = [
    ("/recommend?user=nobody", None, 404, "unknown_id", "'nobody' is not among the 60 users"),
    ("/recommend", {"users": ["user-1", "nobody"]}, 404, "unknown_id", "'nobody'"),
    ("/recommend", {"user": 1}, 404, "unknown_id", "user 1 is not"),
    ("/recommend", {"history": ["polka"]}, 404, "unknown_id", "'polka'"),
    ("/recommend", {"user": "user-1", "items": ["polka"]}, 404, "unknown_id", "'polka'"),
    ("/recommend", None, 400, "bad_request", "expected one of user"),
    ("/recommend?user=a&users=b", None, 400, "bad_request", "expected one of user"),
    ("/recommend?user=a&colour=b", None, 400, "bad_request", "unknown 'colour'"),
    ("/recommend?user=a&user=b", None, 400, "bad_query", "twice"),
    ("/recommend?user=%FF", None, 400, "bad_query", "not valid"),
    ("/recommend?user", None, 400, "bad_query", "not valid"),
    *(
        (f"/recommend?user=user-1&n={n}", None, 400, "bad_value", "n: expected an integer")
        for n in ("0", "-1", "1.5", "x", "", "1" * 5000, "100001", "%D9%A5")
    ),
    *(
        ("/recommend", {"user": "user-1", "n": n}, 400, "bad_value", "n: expected an integer")
        for n in (0, -1, 1.0, None, True, "3", 2**70, [])
    ),
    ("/recommend?user=user-1&exclude_seen=yes", None, 400, "bad_value", "exclude_seen"),
    ("/recommend", {"user": "user-1", "exclude_seen": 1}, 400, "bad_value", "exclude_seen"),
    ("/recommend", {"user": "user-1", "cold_start": "no"}, 400, "bad_value", "cold_start"),
    ("/recommend", {"user": None}, 400, "bad_value", "user: expected an id"),
    ("/recommend", {"user": 1.0}, 400, "bad_value", "user: expected an id"),
    ("/recommend", {"user": True}, 400, "bad_value", "user: expected an id"),
    ("/recommend", {"users": "user-1"}, 400, "bad_value", "users: expected a list"),
    ("/recommend", {"users": {"a": 1}}, 400, "bad_value", "users: expected a list"),
    ("/recommend", {"histories": "jazz-1"}, 400, "bad_value", "histories: expected a list"),
    ("/recommend", {"histories": ["jazz-1"]}, 400, "bad_value", "histories: expected a list"),
    ("/recommend", {"histories": [[]] * 1001, "n": 1}, 413, "too_many", "1001 histories"),
    ("/recommend", {"users": ["user-1"] * 2501, "n": 40}, 413, "too_many", "2501 times 40"),
    ("/recommend", b'{"user": "\\ud800"}', 400, "bad_value", "half of a surrogate"),
    ("/recommend", b"", 400, "bad_json", "not valid JSON"),
    ("/recommend", b"{", 400, "bad_json", "not valid JSON"),
    ("/recommend", b"\xff", 400, "bad_json", "not valid JSON"),
    ("/recommend", b"[" * 100_000, 400, "bad_json", "not valid JSON"),
    ("/recommend", b'{"user": NaN}', 400, "bad_json", "not valid JSON"),
    ("/recommend", b'{"user": ' + b"1" * 5000 + b"}", 400, "bad_json", "not valid JSON"),
    ("/recommend", [1], 400, "bad_json", "must be an object"),
    ("/recommend", b'{"user": "user-1", "user": "user-2"}', 400, "bad_json", "twice"),
    ("/similar?item=polka", None, 404, "unknown_id", "'polka'"),
    ("/similar", {"item": "jazz-1", "user": "user-1"}, 400, "bad_request", "expected one of"),
    ("/nowhere", None, 404, "no_such_path", "nothing here"),
    ("/health", {}, 405, "bad_method", "expected GET"),
]


@pytest.mark.parametrize(("path", "body", "status", "code", "message"), WRONG)
def test_wrong_questions_get_errors(
    application: Application, path: str, body: Any, status: int, code: str, message: str
) -> None:
    found, answer, headers = ask(application, path, body)
    assert (found, answer["error"]["code"]) == (status, code)
    assert message in answer["error"]["message"]
    assert headers.get("Allow") == ("GET, HEAD" if status == 405 else None)


def test_requests_that_a_web_page_could_send_are_refused(application: Application) -> None:
    for host in ("evil.example", "localhost.evil.example:8000", "", "127.0.0.1"):
        status, answer, _ = ask(application, "/health", host=host)
        assert (status, answer["error"]["code"]) == (403, "bad_host")
        old = ask(application, "/health", host=host, SERVER_PROTOCOL="HTTP/1.0")
        assert old[0] == 403
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        status, answer, _ = ask(application, "/recommend", {"user": "user-1"}, kind=kind)
        assert (status, answer["error"]["code"]) == (415, "bad_type")
    status, answer, _ = ask(application, "/recommend", {}, CONTENT_LENGTH="")
    assert (status, answer["error"]["code"]) == (411, "no_length")


def test_health_checks_of_old_may_have_no_host(application: Application) -> None:
    # So ask the health checks of HAProxy, and ab; browsers always name the host.
    status, answer, _ = ask(application, "/health", host=None, SERVER_PROTOCOL="HTTP/1.0")
    assert (status, answer["status"]) == (200, "ok")
    status, answer, _ = ask(application, "/health", host=None)
    assert (status, answer["error"]["code"]) == (400, "no_host")


def test_integers_beyond_int64_are_no_ids(application: Application) -> None:
    for body in ({"user": 2**63}, {"users": [2**63]}, {"history": [-(2**70)]}):
        status, answer, _ = ask(application, "/recommend", body)
        assert (status, answer["error"]["code"]) == (400, "bad_value")
        assert "expected one that int64 holds" in answer["error"]["message"]


def test_ids_in_urls_are_found_by_their_text(tmp_path: Path) -> None:
    users = [7, "8", 8, "a b&c", "é"]
    model = Popularity().fit(Interactions.from_ids(users, [1, 2, 2, 1, "x"]))
    model.save(tmp_path / "model")
    application = Application(CurrentModel(tmp_path / "model"))
    for text, id in (("7", 7), ("8", "8"), ("a b&c", "a b&c"), ("é", "é")):
        status, answer, _ = ask(application, f"/recommend?user={quote(text)}", host="any.example")
        assert (status, answer["user"]) == (200, id)
        assert answer["items"] == pairs(model.recommend(id))
    assert ask(application, "/recommend", {"user": 8})[1]["user"] == 8
    status, answer, _ = ask(application, "/similar?item=1")
    assert (status, answer["error"]["code"]) == (400, "bad_value")
    # Without histories.
    model.save(tmp_path / "model", histories=False)
    application = Application(CurrentModel(tmp_path / "model"))
    status, answer, _ = ask(application, "/recommend?user=7")
    assert (status, answer["error"]["code"]) == (400, "bad_value")
    assert "without histories" in answer["error"]["message"]
    assert ask(application, "/recommend?user=7&exclude_seen=0")[0] == 200


def test_values_without_a_finite_vector_are_an_error_of_the_question(tmp_path: Path) -> None:
    model = ImplicitALS(factors=4, epochs=2, num_threads=1).fit(make_interactions(60, 40, 8))
    model.save(tmp_path / "model")
    application = Application(CurrentModel(tmp_path / "model"))
    for question in (
        {"history": ["jazz-1"], "values": [1e38]},
        {"histories": [["jazz-1"], ["jazz-2"]], "values": [[1], [1e38]]},
    ):
        status, answer, _ = ask(application, "/recommend", question)
        assert (status, answer["error"]["code"]) == (400, "bad_value")
        assert "values are too large" in answer["error"]["message"]


def test_health_and_metrics(tmp_path: Path, model: BPR) -> None:
    model.save(tmp_path / "model")
    application = Application(CurrentModel(tmp_path / "model"))
    status, answer, _ = ask(application, "/health")
    assert status == 200
    expected = {"status": "ok", "model": "BPR", "users": 60, "items": 40, "reloads": 0}
    assert expected.items() <= answer.items()
    for path in ("/recommend?user=user-1", "/recommend?user=user-1", "/recommend", "/a", "/b"):
        ask(application, path)
    status, text, headers = ask(application, "/metrics")
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert values['wyrmling_requests_total{route="/recommend",status="200"}'] == "2"
    assert values['wyrmling_requests_total{route="/recommend",status="400"}'] == "1"
    assert values['wyrmling_requests_total{route="other",status="404"}'] == "2"
    assert values['wyrmling_request_seconds_count{route="/recommend"}'] == "3"
    assert values["wyrmling_model_users"] == "60"
    buckets = [
        (line.split('le="')[1].split('"')[0], int(value))
        for line, value in values.items()
        if line.startswith('wyrmling_request_seconds_bucket{route="/recommend"')
    ]
    bounds, counts = zip(*buckets, strict=True)
    assert list(map(float, bounds)) == sorted(map(float, bounds))
    assert float(bounds[-1]) == math.inf
    assert list(counts) == sorted(counts)
    assert counts[-1] == 3


def test_what_goes_wrong_inside_is_not_told(
    tmp_path: Path, model: BPR, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    model.save(tmp_path / "model")
    application = Application(CurrentModel(tmp_path / "model"))

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(application.current.get().model, "recommend", fail)
    status, answer, _ = ask(application, "/recommend?user=user-1")
    assert (status, answer["error"]) == (500, {"code": "internal", "message": "internal error"})
    assert "secret" in caplog.text


def test_a_score_that_is_no_number_of_json_is_an_error_of_the_server(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = Interactions.from_ids(["ann", "bob"], ["tea", "rye"])
    huge = Custom.from_factors([[1e30], [1.0]], [[1e30], [1e30]], data)
    huge.save(tmp_path / "model")
    application = Application(CurrentModel(tmp_path / "model"))
    assert ask(application, "/recommend?user=bob")[0] == 200
    status, answer, headers = ask(application, "/recommend?user=ann")
    assert (status, answer["error"]) == (500, {"code": "internal", "message": "internal error"})
    assert headers["Content-Type"] == "application/json"
    assert "/recommend failed" in caplog.text
    assert 'route="/recommend",status="500"} 1' in ask(application, "/metrics")[1]
