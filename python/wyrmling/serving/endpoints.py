"""Endpoints ``/recommend`` and ``/similar``: parameters of HTTP requests, and the answers.

Parameters are the query of a URL or an object of JSON; both are checked in full before the model is
asked. In JSON an id is an integer or a string, and 1 is not "1". In a URL all is text: an id there
is what :meth:`.Ids.spelled` makes of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from ..data import Ids
from ..recommend import Recommender
from ..recommend.arguments import folded
from ..recommend.fitted import NewUser
from ..recommend.recommendations import Recommendations

__all__ = ["Refused", "recommend", "similar"]

# Answers to one request: users times items.
MOST_ANSWERS = 100_000
# New users in one request: each may take milliseconds of training.
MOST_HISTORIES = 1000

Parameters = Mapping[str, Any]
Answer = dict[str, Any]


class Refused(Exception):
    """A request that gets an error: its status, a word for programs, and a sentence for people."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


def of_url(query: str) -> Parameters:
    """The parameters in the query of a URL. Raises :class:`Refused` for a name that is twice."""
    try:
        pairs = parse_qsl(
            query, keep_blank_values=True, strict_parsing=bool(query), errors="strict"
        )
    except (ValueError, UnicodeDecodeError):
        raise Refused(400, "bad_query", "the query of the URL is not valid") from None
    parameters = dict(pairs)
    if len(parameters) < len(pairs):
        raise Refused(400, "bad_query", "a name is there twice; several ids are sent by POST")
    return {name: InUrl(text) for name, text in parameters.items()}


def of_json(body: bytes) -> Parameters:
    """The parameters in the body of a request. Raises :class:`Refused` unless it is an object, and
    for a name that is twice.
    """
    try:
        parameters = json.loads(body, parse_constant=_no_number, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        raise Refused(400, "bad_json", "the body is not valid JSON") from None
    if not isinstance(parameters, dict):
        raise Refused(400, "bad_json", "the body must be an object of JSON")
    return parameters


def _no_number(text: str) -> Any:
    raise ValueError(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Refused(400, "bad_json", "a name is there twice in an object")
    return found


class InUrl(str):
    """Text of a URL, of which nobody said what type it has."""

    __slots__ = ()


def recommend(model: Recommender, parameters: Parameters) -> Answer:
    """Answers ``/recommend``.

    Args:
        model: the model.
        parameters: one of ``user`` (an id), ``users`` (a list), ``history`` (items that a new user
            had) and ``histories`` (a list of such lists), and ``n``, ``exclude_seen``, ``items``,
            ``filter_items``, ``cold_start`` as :meth:`.Recommender.recommend` takes them. Beside
            ``history`` also ``values``, a number for each of its items, for models whose
            ``fold_in`` takes them, beside ``histories`` a list of such lists.

    Raises:
        Refused: it cannot be answered, and why.
    """
    _check_names(
        parameters,
        ("user", "users", "history", "histories"),
        ("n", "exclude_seen", "items", "filter_items", "cold_start")
        + (("values",) if "history" in parameters or "histories" in parameters else ()),
    )
    n = _count(parameters)
    options: dict[str, Any] = {
        "exclude_seen": _flag(parameters, "exclude_seen", True),
        "items": _ids(parameters, "items", model.item_ids) if "items" in parameters else None,
        "filter_items": (
            _ids(parameters, "filter_items", model.item_ids)
            if "filter_items" in parameters
            else None
        ),
    }
    if "cold_start" in parameters:
        if parameters["cold_start"] not in ("error", "popular"):
            raise Refused(400, "bad_value", 'cold_start: expected "error" or "popular"')
        options["cold_start"] = str(parameters["cold_start"])
    if "user" in parameters:
        user = _id(parameters["user"], "user", model.user_ids)
        pairs = _asked(lambda: model.recommend(user, n, **options))
        return {"user": user, "items": _pairs(pairs)}
    if "users" in parameters:
        users = _ids(parameters, "users", model.user_ids)
        _check_answers(len(users), n, model.item_ids)
        found = _asked(lambda: model.recommend(users, n, **options))
        return {"users": _rows("user", users, found)}
    options.pop("cold_start", None)
    if "history" in parameters:
        history = _ids(parameters, "history", model.item_ids)
        values = parameters.get("values")
        if isinstance(values, InUrl):
            raise Refused(400, "bad_value", "values: expected a list of numbers, sent by POST")
        newcomer = _folded(model, history, values)
        pairs = _asked(lambda: model.recommend(newcomer, n, **options))
        return {"history": history, "items": _pairs(pairs)}
    given = parameters["histories"]
    if not isinstance(given, list):
        raise Refused(400, "bad_value", "histories: expected a list of lists of ids")
    if len(given) > MOST_HISTORIES:
        raise Refused(413, "too_many", f"{len(given)} histories, expected {MOST_HISTORIES} at most")
    histories = [_ids({"histories": one}, "histories", model.item_ids) for one in given]
    _check_answers(len(histories), n, model.item_ids)
    values = parameters.get("values", [None] * len(given))
    if not isinstance(values, list) or len(values) != len(given):
        raise Refused(400, "bad_value", "values: expected a list of numbers for each history")
    new = list(map(partial(_folded, model), histories, values))
    found = _asked(lambda: model.recommend(new, n, **options))
    return {"histories": _rows("history", histories, found)}


def similar(model: Recommender, parameters: Parameters) -> Answer:
    """Answers ``/similar``: one of ``item``, ``items``, ``user``, ``users``, and ``n``.

    Raises:
        Refused: it cannot be answered, and why.
    """
    kind = _check_names(parameters, ("item", "items", "user", "users"), ("n",))
    n = _count(parameters)
    one = kind.rstrip("s")
    ids, ask = (
        (model.item_ids, model.similar_items)
        if one == "item"
        else (model.user_ids, model.similar_users)
    )
    if kind == one:
        of = _id(parameters[kind], kind, ids)
        pairs = _asked(lambda: ask(of, n))
        return {one: of, "similar": _pairs(pairs, one)}
    several = _ids(parameters, kind, ids)
    _check_answers(len(several), n, ids)
    found = _asked(lambda: ask(several, n))
    return {kind: _rows(one, several, found, "similar", one)}


def _asked(ask: Callable[[], Any]) -> Any:
    """What the model answers; its errors are those of the request."""
    try:
        return ask()
    except KeyError as error:
        raise Refused(404, "unknown_id", str(error.args[0])) from None
    except (TypeError, ValueError, RuntimeError) as error:
        raise Refused(400, "bad_value", str(error)) from error


def _folded(model: Recommender, history: list[Any], values: Any) -> NewUser:
    """A new user. That no finite vector comes of values is an error of the request; where there
    are none, of the model.
    """
    try:
        return _asked(lambda: folded(model, history, values))  # type: ignore[no-any-return]
    except FloatingPointError as error:
        if values is None:
            raise
        raise Refused(400, "bad_value", f"values: {error}") from error


def _pairs(pairs: list[tuple[Any, float]], name: str = "item") -> list[Answer]:
    return [{name: item, "score": score} for item, score in pairs]


def _rows(
    of: str, ids: list[Any], found: Recommendations, answer: str = "items", name: str = "item"
) -> list[Answer]:
    return [{of: id, answer: _pairs(found.row(row), name)} for row, id in enumerate(ids)]


def _check_names(parameters: Parameters, one_of: tuple[str, ...], others: tuple[str, ...]) -> str:
    """Which of some names there is; there must be one of them, and no unknown one."""
    found = [name for name in one_of if name in parameters]
    if len(found) != 1:
        raise Refused(400, "bad_request", f"expected one of {', '.join(one_of)}")
    for name in parameters:
        if name not in one_of and name not in others:
            known = ", ".join((*one_of, *others))
            raise Refused(400, "bad_request", f"unknown {name[:60]!r}, expected {known}")
    return found[0]


def _id(value: Any, name: str, ids: Ids) -> int | str:
    if isinstance(value, str):
        _check_text(name, value)
    if isinstance(value, InUrl):
        return ids.spelled(str(value))
    if type(value) is not int and type(value) is not str:
        raise Refused(400, "bad_value", f"{name}: expected an id, an integer or a string")
    return value


def _check_text(name: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Refused(400, "bad_value", f"{name}: half of a surrogate pair is no text") from None


def _ids(parameters: Parameters, name: str, ids: Ids) -> list[int | str]:
    value = parameters[name]
    if isinstance(value, InUrl):
        # One id: what separates several would be a part of one.
        return [_id(value, name, ids)]
    if not isinstance(value, list):
        raise Refused(400, "bad_value", f"{name}: expected a list of ids")
    return [_id(one, name, ids) for one in value]


def _count(parameters: Parameters) -> int:
    value = parameters.get("n", 10)
    if isinstance(value, InUrl) and value.isascii() and value.isdecimal() and len(value) < 10:
        value = int(value)
    if type(value) is not int or not 1 <= value <= MOST_ANSWERS:
        raise Refused(400, "bad_value", f"n: expected an integer from 1 to {MOST_ANSWERS}")
    return value


def _flag(parameters: Parameters, name: str, default: bool) -> bool:
    value = parameters.get(name, default)
    if isinstance(value, InUrl):
        value = {"true": True, "1": True, "false": False, "0": False}.get(value)
    if not isinstance(value, bool):
        raise Refused(400, "bad_value", f"{name}: expected true or false")
    return value


def _check_answers(count: int, n: int, ids: Ids) -> None:
    if count * min(n, len(ids)) > MOST_ANSWERS:
        raise Refused(
            413, "too_many", f"{count} times {n} answers, expected {MOST_ANSWERS} in all at most"
        )
