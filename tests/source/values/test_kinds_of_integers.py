"""Integers that are computed stay integers in NumPy's functions, as results and as keys."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from outcomes import leaves

import wyrmling as wy

PLACES = np.array([2, 0, 1])
MASK = np.array([True, False, True])


class Colour(enum.Enum):
    """A key of a dict."""

    RED = 1


def raised_in_place(q: Any, x: float, k: int) -> Any:
    """An array without axes stays one."""
    count = np.where(x > 1.0, k, 0)
    count += 1
    return count


def within_keys(a: Any) -> bool:
    """Whether this is a key, asked of a view of the keys."""
    keys = {2: 1.0}.keys()
    return a in keys


def kinds(result: Any) -> Any:
    """The classes, element types and numbers of all parts."""
    return [(type(one), getattr(one, "dtype", None), np.asarray(one).tolist()) for one in result]


READ: list[Callable[..., Any]] = [
    lambda q, x, k: np.where(MASK, [1, 2, 3], k),
    lambda q, x, k: np.where(x > 1.0, PLACES, k),
    lambda q, x, k: np.where(x > 1.0, q, 7),
    lambda q, x, k: np.where(x > 1.0, q, 2.5),
    lambda q, x, k: np.where(q > 1, True, k),
    lambda q, x, k: np.where(q > 1, k, x),
    lambda q, x, k: (np.where(x > 1.0, k, 2) * 2, np.where(x, 0, k) * x),
    lambda q, x, k: np.stack([np.int64(k), k + 1]),
    lambda q, x, k: np.stack([np.max(q), k]),
    lambda q, x, k: np.stack([k, x]),
    lambda q, x, k: (np.max(q), x if x > 1.0 else k),
    lambda q, x, k: [x if x > 1.0 else k, np.argmax(q), np.any(q > 1)],
    lambda q, x, k: (not np.argmax(q), 1.0 if np.sum(q) else x, all([x, np.min(q)])),
    lambda q, x, k: (range(5)[np.int64(1)], range(5)[np.argmax(q)], range(5)[True]),
    lambda q, x, k: (np.isscalar(np.sum(q)), np.max(q) and x, np.argmax(q) if x > 1.0 else k),
    lambda q, x, k: (np.maximum(k, 3), np.add(q[0], k)),
    lambda q, x, k: (np.float64(np.sum(q)), np.float32(np.max(q)), np.float64(np.array(x))),
    lambda q, x, k: [x, 2.0] * np.max(q) + np.argmax(q - 1) * [x],
    lambda q, x, k: (k ** np.max(q), k ** np.argmax(q), np.max(q) ** k),
    lambda q, x, k: (np.float64(x) == [2, x], np.float64(x) != (0.5, 1.5), np.float64(x) == []),
    lambda q, x, k: (np.int64(k) == "a", np.float64(x) != "a", np.bool_(x > 1.0) == "a"),
]


@pytest.mark.parametrize("function", READ)
@pytest.mark.parametrize("x", [0.5, 1.5])
def test_results_are_of_numpys_kinds(function: Callable[..., Any], x: float) -> None:
    try:
        found = wy.compile(function, mode="source")(PLACES, x, 4)
    except wy.SourceError as refusal:
        pytest.fail(str(refusal))
    expected = function(PLACES, x, 4)
    assert type(found) is type(expected)
    assert kinds(found) == kinds(expected)
    assert getattr(found, "dtype", None) == getattr(expected, "dtype", None)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda q, x, k: np.where(x, k, 3), "an array without axes as a result"),
        (lambda q, x, k: np.array([np.max(q), k]), "integers that are computed"),
        (lambda q, x, k: np.asarray(np.max(q)), "integers that are computed"),
        (lambda q, x, k: np.minimum(q[0], k), "minimum of integers of NumPy's"),
        (lambda q, x, k: np.sum(q).astype(float), "the method astype of a number"),
        (raised_in_place, "an operator in place on an array"),
        (lambda q, x, k: q >> -1, "a shift by a negative number"),
        (lambda q, x, k: np.int64(k) == range(3), "a comparison of these"),
        (lambda q, x, k: ["a", x] != np.int64(k), "a comparison of these"),
        (lambda q, x, k: np.bool_(x > 1.0) == ("a", k), "a comparison of these"),
    ],
)
def test_what_would_have_another_kind_is_refused(function: Callable[..., Any], why: str) -> None:
    with pytest.raises(wy.SourceError, match=why):
        wy.compile(function, mode="source")(PLACES, 1.5, 4)


def test_a_mask_to_a_power_has_numpys_type() -> None:
    """NumPy's operator makes a square of int8 for Python's 2, and int64 otherwise."""
    read = wy.compile(lambda x, k: (x > 1.0) ** k, mode="source")
    for k in (3, 2, 0, np.int64(2)):
        found, expected = read(np.array([0.5, 1.5]), k), MASK[1:] ** k
        assert kinds([found]) == kinds([expected])


@pytest.mark.parametrize(
    "within",
    [lambda a: a in {2: 1.0}, within_keys, lambda a: a in {2}],
)
def test_an_array_is_in_no_dict_or_set(within: Callable[..., Any]) -> None:
    for array in (np.array, lambda k: np.array([k])):
        with pytest.raises(TypeError, match="unhashable"):
            wy.compile(lambda k, array=array: within(array(k)), mode="source")(2)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: {np.int64(4): x, "b": 2.0 * x},
        lambda x: {np.bool_(True): x, 1.5: 2.0 * x},
        lambda x: {Colour.RED: x, (Colour.RED, 2): 2.0 * x},
    ],
)
def test_keys_of_any_class(function: Callable[..., Any]) -> None:
    found = wy.compile(function, mode="source")(1.5)
    assert found == function(1.5)
    assert list(map(type, found)) == list(map(type, function(1.5)))
    slopes = wy.jacrev(function, mode="source")(1.5)
    assert list(slopes) == list(found)
    assert leaves(slopes) == [1.0, 2.0]


def test_iterators_are_not_reversed() -> None:
    for function in (lambda x: list(reversed(enumerate([x]))), lambda x: reversed(map(abs, [x]))):
        with pytest.raises(TypeError, match="not reversible"):
            wy.compile(function, mode="source")(1.5)


def test_what_is_written_in_place_keeps_its_length() -> None:
    def counted(q: Any) -> Any:
        seen, total = np.ones(1, bool), np.ones(1)
        total += q * 2
        seen &= q > 1
        return seen, total

    read = wy.compile(counted, mode="source")
    assert kinds(read(np.array([3]))) == kinds(counted(np.array([3])))
    with pytest.raises(ValueError, match="non-broadcastable output operand"):
        read(np.array([1, 2]))
