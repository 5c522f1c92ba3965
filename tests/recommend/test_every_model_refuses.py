"""Every model: arguments that make no sense, named by the error, and questions before ``fit``."""

from __future__ import annotations

import datetime
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from every_model import DATA, ITEMS, NAMES, RATED, TRAINED, fitted, fold, make

from wyrmling.data import Interactions
from wyrmling.evaluation import evaluate

every = pytest.mark.parametrize("name", NAMES)
Refused = tuple[Callable[[Any], object], type[Exception], str]

NO_IDS = [b"u2", bytearray(b"u2"), 1.5, None, True, np.array("u2"), uuid.UUID(int=2), 2j]
NO_IDS += [np.datetime64("2020-01-01"), datetime.date(2020, 1, 1), object, np.float32(2)]
NO_IDS += [np.timedelta64(2, "ns"), memoryview(b"u2"), memoryview(np.arange(4).reshape(2, 2))]


@every
@pytest.mark.parametrize("given", NO_IDS, ids=lambda given: type(given).__name__)
def test_what_is_no_id(name: str, given: Any) -> None:
    model = fitted(name)
    rated = {"values": [4.0]} if name in RATED else {}
    with pytest.raises(TypeError, match=r"^users is .*, expected an id"):
        model.recommend(given)
    with pytest.raises(TypeError, match=r"^users is .*, expected an id"):
        model.recommend(given, cold_start="popular")
    for compare, kind in ((model.similar_items, "items"), (model.similar_users, "users")):
        with pytest.raises(TypeError, match=f"^{kind} is .*, expected an id"):
            compare(given)
    for ask, argument in (
        (lambda: model.predict(given, ["i3"]), "users"),
        (lambda: model.predict(["u2"], given), "items"),
        (lambda: model.fold_in(given, **rated), "history"),
    ):
        with pytest.raises(TypeError, match=f"^{argument}: expected several ids"):
            ask()
    if given is not None:
        for argument in ("items", "filter_items"):
            with pytest.raises(TypeError, match=f"^{argument}: expected several ids"):
                model.recommend("u2", **{argument: given})
    # Of columns None stands for what is missing; an array without axes in a list has no type.
    for argument, ask_several in (
        ("users", lambda: model.recommend(["u2", given])),
        ("items", lambda: model.predict(["u2", "u2"], ["i3", given])),
        ("filter_items", lambda: model.recommend("u2", filter_items=["i3", given])),
    ):
        with pytest.raises((TypeError, ValueError), match=f"^{argument}: row 1, counted from 0"):
            ask_several()
    if name != "Popularity":
        for pair in ((given, "i3"), ("u2", given)):
            with pytest.raises(TypeError, match="expected an int or str, got"):
                model.explain(*pair)


@every
@pytest.mark.parametrize("given", [2**63, -(2**63) - 1, 2**200])
def test_integers_that_can_be_no_id_are_refused_alone_and_among_others(
    name: str, given: int
) -> None:
    model = fitted(name)
    beyond = f"is an integer of {given.bit_length()} bits, expected one that int64 holds"
    for cold_start in ("error", "popular"):
        for users in (given, [given], ["u2", given]):
            with pytest.raises(ValueError, match=beyond):
                model.recommend(users, cold_start=cold_start)
    for ask in (model.similar_items, model.similar_users):
        for ids in (given, [given]):
            with pytest.raises((ValueError, TypeError), match=beyond + "|does not compare"):
                ask(ids)
    for pair in ((given, "i3"), ("u2", given)):
        with pytest.raises(ValueError, match=beyond):
            model.explain(*pair)
    assert given not in model.user_ids
    with pytest.raises(ValueError, match=beyond):
        model.user_ids.number(given)


REFUSED: dict[str, Refused] = {
    **{
        f"n={n!r}": (lambda m, n=n: m.recommend("u2", n), error, f"^n is {re.escape(repr(n))}, exp")
        for n, error in [
            (0, ValueError),
            (-1, ValueError),
            (-(2**70), ValueError),
            (1.5, TypeError),
            (3.0, TypeError),
            (True, TypeError),
            (None, TypeError),
            ("3", TypeError),
            ([3], TypeError),
        ]
    },
    "n of several": (lambda m: m.recommend(["u2"], 0), ValueError, "^n is 0"),
    "n of a new user": (lambda m: m.recommend(fold(m, ["i3"]), 0), ValueError, "^n is 0"),
    "cold_start": (
        lambda m: m.recommend("u2", cold_start="warm"),
        ValueError,
        "^cold_start is 'warm', expected 'error' or 'popular'",
    ),
    "cold_start of a new user": (
        lambda m: m.recommend(fold(m, ["i3"]), cold_start=[]),
        ValueError,
        r"^cold_start is \[\], expected",
    ),
    "exclude_seen": (
        lambda m: m.recommend("u2", exclude_seen="no"),
        TypeError,
        "^exclude_seen is 'no', expected True or False",
    ),
    "letters of users": (lambda m: m.predict("u2", "i3"), TypeError, "^users: expected several"),
    "letters of items": (
        lambda m: m.recommend("u2", items="i3"),
        TypeError,
        r"^items: expected several ids, such as \['i3'\], got 'i3'",
    ),
    "letters of a history": (
        lambda m: fold(m, "i3"),
        TypeError,
        "^history: expected several",
    ),
    "unknown items": (lambda m: m.recommend("u2", items=["q"]), KeyError, "item 'q' is not among"),
    "unknown filtered": (
        lambda m: m.recommend("u2", filter_items=["i3", "q"]),
        KeyError,
        "item 'q' is not among",
    ),
    "unknown history": (lambda m: fold(m, ["q"]), KeyError, "item 'q' is not among"),
    "unknown predicted user": (lambda m: m.predict(["q"], ["i3"]), KeyError, "user 'q' is not"),
    "unknown predicted item": (lambda m: m.predict(["u2"], ["q"]), KeyError, "item 'q' is not"),
    "other type of id": (lambda m: m.predict(["u2"], [3]), KeyError, "item 3 is not among"),
    "unknown neighbour": (lambda m: m.similar_items("q"), KeyError, "item 'q' is not among"),
    "unknown user": (lambda m: m.similar_users(["u2", "q"]), KeyError, "user 'q' is not among"),
    "sets of pairs": (
        lambda m: m.predict({"u2"}, {"i3"}),
        TypeError,
        "^users: expected a sequence of ids, found a set",
    ),
    "columns of other lengths": (
        lambda m: m.predict(["u2", "u3"], ["i3"]),
        ValueError,
        "^users has 2 ids and items 1",
    ),
    "axes": (lambda m: m.recommend(np.array([["u2"]])), ValueError, "^users must have one axis"),
    "ids and new users": (
        lambda m: m.recommend([fold(m, ["i3"]), "u2"]),
        TypeError,
        "^users: expected ids or new users, got some of both",
    ),
    "new user's neighbours": (
        lambda m: m.similar_users(fold(m, ["i3"])),
        TypeError,
        "^users is NewUser",
    ),
    "histories": (
        lambda m: m.save("unwritten", histories="no"),
        TypeError,
        "^histories is 'no', expected True or False",
    ),
    "path": (lambda m: m.save(None), TypeError, "path is None, expected a path"),
    "mmap": (lambda m: m.load("unread", mmap="no"), TypeError, "^mmap is 'no'"),
    "verify": (lambda m: m.load("unread", verify=2), TypeError, "^verify is 2"),
    "no file": (lambda m: m.load("no such file"), OSError, "no such file"),
    "no model": (lambda m: m.load(b"{}"), ValueError, "bytes"),
    "setting": (lambda m: m.set_params(colour=1), ValueError, "no hyperparameter 'colour'"),
}


@every
@pytest.mark.parametrize("case", REFUSED)
def test_bad_arguments_are_named(name: str, case: str) -> None:
    model, (ask, error, message) = fitted(name), REFUSED[case]
    before = model.fitted
    with pytest.raises(error, match=message):
        ask(model)
    assert model.fitted is before
    assert not Path("unwritten").exists()


SETTINGS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "epochs of 0": ({"epochs": 0}, ValueError, "^epochs is 0"),
    "epochs and a half": ({"epochs": 1.5}, TypeError, "^epochs is 1.5"),
    "epochs of True": ({"epochs": True}, TypeError, "^epochs is True"),
    "share of 0": ({"validation": 0}, ValueError, "^validation is 0, expected Interactions or a"),
    "share of 1": ({"validation": 1.0}, ValueError, r"^validation is 1\.0"),
    "share below 0": ({"validation": -0.5}, ValueError, r"^validation is -0\.5"),
    "share of next to nothing": ({"validation": 1e-9}, ValueError, "^validation is 1e-09"),
    "share of NaN": ({"validation": float("nan")}, ValueError, "^validation is nan"),
    "share of True": ({"validation": True}, TypeError, "^validation is True"),
    "share in words": ({"validation": "half"}, TypeError, "^validation is 'half'"),
    "validation of nothing": (
        {"validation": Interactions.from_ids([], [])},
        ValueError,
        "^validation has 0 interactions",
    ),
    "validation of strangers": (
        {"validation": Interactions.from_ids(["who"], ["what"])},
        ValueError,
        "^validation has 1 interactions, of which 1 are of a user or item that is not",
    ),
    "validation on the data": ({"validation": DATA}, ValueError, "^validation has .* all others"),
    "another metric": ({"metric": "foo"}, ValueError, "^metrics: unknown 'foo'"),
    "several metrics": ({"metric": ["auc"]}, TypeError, r"^metric is \['auc'\]"),
    "no metric": ({"metric": None}, TypeError, "^metric is None"),
    "patience alone": ({"patience": 1}, ValueError, "^patience needs validation"),
    "patience of 0": ({"patience": 0, "validation": 0.2}, ValueError, "^patience is 0"),
    "patience and a half": ({"patience": 1.5, "validation": 0.2}, TypeError, "^patience is 1.5"),
    "a word for a callback": ({"callback": "say"}, TypeError, "^callback is 'say', expected a f"),
    "a word for progress": ({"progress": "yes"}, TypeError, "^progress is 'yes', expected True"),
}


@every
@pytest.mark.parametrize("case", SETTINGS)
def test_bad_settings_of_a_run_are_named_before_it(name: str, case: str) -> None:
    model = fitted(name)._with(fitted(name).fitted)
    settings, error, message = SETTINGS[case]
    epochs: list[int] = []
    if name in TRAINED and "callback" not in settings:
        settings = settings | {"callback": lambda epoch, history: epochs.append(epoch)}
    learns = [model.fit, make(name).fit]
    if "patience" not in settings:  # partial_fit looks for what it has not seen, first
        learns.append(model.partial_fit)
    for learn in learns:
        with pytest.raises(error, match=message):
            learn(DATA, **settings)
    assert not epochs
    assert model.fitted is fitted(name).fitted


@every
def test_questions_before_it_is_fitted(name: str) -> None:
    model = make(name)
    for ask in (
        lambda: model.recommend("u2"),
        lambda: model.recommend(["u2"]),
        lambda: model.predict(["u2"], ["i3"]),
        lambda: model.similar_items("i3"),
        lambda: model.similar_users("u2"),
        lambda: fold(model, ["i3"]),
        lambda: model.explain("u2", "i3"),
        lambda: model.save("unwritten"),
        lambda: model.seen,
        lambda: model.user_ids,
        lambda: model.item_ids,
        lambda: model.history,
        lambda: evaluate(model, DATA),
    ):
        with pytest.raises(RuntimeError, match=rf"this {name} is not fitted: call fit\(data\)"):
            ask()
    assert not model.is_fitted
    assert not Path("unwritten").exists()


# What no model is given, for data refuse it.


def test_memory_is_no_column() -> None:
    for column in (memoryview(b"abc"), memoryview(np.arange(3)), memoryview(np.eye(3))):
        with pytest.raises(TypeError, match=r"^users: expected a sequence of ids, found a mem"):
            Interactions.from_ids(column, [1, 2, 3])
        with pytest.raises(TypeError, match=r"^values: expected numbers, found a memoryview"):
            Interactions.from_ids([1, 2, 3], [1, 2, 3], values=column)


NUMBERS = [float("nan"), float("inf"), -float("inf"), 1e39, None]


@pytest.mark.parametrize("wrong", NUMBERS)
@pytest.mark.parametrize("column", ["values", "weights", "times"])
def test_numbers_that_are_not_finite(column: str, wrong: float | None) -> None:
    given = {column: [1.0, wrong, 2.0]}
    if wrong == 1e39 and column == "times":
        assert Interactions.from_ids([1, 1, 2], [1, 2, 2], **given).times is not None
        return
    with pytest.raises(ValueError, match=f"^{column}: row 1, counted from 0"):
        Interactions.from_ids([1, 1, 2], [1, 2, 2], **given)


def test_weights_below_zero() -> None:
    with pytest.raises(ValueError, match=r"^weights\[1\] is -1\.0, expected at least 0"):
        Interactions.from_ids([1, 1], [1, 2], weights=[1.0, -1.0])


@pytest.mark.parametrize(
    "given",
    [b"x", 1.5, None, True, uuid.UUID(int=2), ("a", 1), np.datetime64("2020-01-01"), 2**63]
    + [np.timedelta64(2, unit) for unit in ("ns", "s")],
    ids=lambda given: type(given).__name__,
)
def test_ids_of_other_types(given: Any) -> None:
    for users, items, name in (
        ([1, given], [1, 2], "users"),
        (["a", "b"], ["x", given], "items"),
    ):
        with pytest.raises((TypeError, ValueError), match=f"^{name}: row 1, counted from 0"):
            Interactions.from_ids(users, items)
    assert given not in DATA.item_ids or given in ITEMS
