"""Integers of loops at the ends of 64 bits: machine code leaves out checks that cannot fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wyrmling as wy

MOST = 2**63 - 1


def remainders(first: int, last: int) -> int:
    s = 0
    for i in range(first, last):
        s += i % 3 + (i // 7) % 5
    return s


def sums(first: int, last: int) -> int:
    s = 0
    for i in range(first, last):
        s = s + i if i >= 0 else s - i
    return s


def products(first: int, last: int) -> int:
    s = 0
    for i in range(first, last):
        s = s ^ (i * 3) ^ (i * i)
    return s


def by_twos(first: int, last: int) -> int:
    i = first
    turns = 0
    while i < last:
        i += 2
        turns += 1
    return i - last + turns


def backwards(first: int, last: int) -> int:
    turns = 0
    i = last
    while i > first:
        i -= 1
        turns += i % 4
    return turns


def up_to_itself(first: int, last: int) -> int:
    i = first
    while i <= last:
        i += 1
        if i % 11 == 5:
            break
    return i


def multiples(first: int, last: int) -> int:
    s = 0
    for i in range(first, last):
        if i < 0:
            continue
        if i % 3 == 0:
            s ^= i
        if i % 7 != 0:
            s += 1
        if i % 6 == 0 or i % 1 == 0:
            s += 2
        if i % 3037000493 == 0:
            s += 11
        if i % 9223372036854775807 == 0:
            s += 17
    return s


def thirds(n: int) -> int:
    s = 0
    for i in range(n):
        if i % 3 == 0:
            s += i
        elif i % 101 != 0:
            s -= 1
    return s


ENDS = [
    (-20, 20),
    (0, 0),
    (3, 2),
    (MOST - 9, MOST),
    (MOST - 8, MOST - 1),
    (-MOST - 1, -MOST + 9),
    (2**32 - 5, 2**32 + 5),
    (3_037_000_490, 3_037_000_510),
    (MOST // 3 - 3, MOST // 3 + 3),
    (-(MOST // 3) - 3, -(MOST // 3) + 3),
]


WHILES = [by_twos, backwards, up_to_itself]


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("f", [remainders, sums, products, multiples, *WHILES])
def test_integers_are_those_of_python_to_the_ends_of_64_bits(
    f: Callable[[int, int], int], ends: tuple[int, int]
) -> None:
    compiled = wy.compile(f, mode="source")
    for _ in range(3):
        assert compiled(*ends) == f(*ends)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 1023, 1024, 1025, 5000])
def test_long_ranges_are_gone_through_whole(n: int) -> None:
    compiled = wy.compile(thirds, mode="source")
    for _ in range(3):
        assert compiled(n) == thirds(n)


def elements(c: Any, first: int, last: int) -> float:
    s = 0.0
    for i in range(first, last):
        s += c[i] * 2.0 + c[i]
    return s


@pytest.mark.parametrize(
    "ends",
    [(0, 5), (-5, 0), (-5, 5), (4, 5), (5, 6), (-6, 1), (2**32, 2**32 + 1)],
)
def test_elements_are_within_the_array_or_the_error_is_pythons(ends: tuple[int, int]) -> None:
    c = np.arange(1.0, 6.0)
    compiled = wy.compile(elements, mode="source")
    for _ in range(3):
        try:
            expected = elements(c, *ends)
        except IndexError:
            with pytest.raises(IndexError):
                compiled(c, *ends)
        else:
            assert compiled(c, *ends) == expected


def condition_at_the_end(x: Any, n: int) -> Any:
    i = 0
    while True:
        x = np.sin(x) * 1.1
        if i < n:
            i += 1
        else:
            break
    return x


def return_at_the_end(x: Any, n: int) -> Any:
    i, total = n, 0.0
    while True:
        x = np.sin(x) * 1.1
        total = total * 0.5 + x * x
        if i == 0:
            return total
        i -= 1


def squares_until_small(x: Any, n: int) -> Any:
    while True:
        x = x * x
        if np.sum(x) < 0.1 ** min(n, 300):
            return x


@pytest.mark.parametrize("n", [0, 1, 2, 5, 300, 1023, 1024, 1025, 3000])
@pytest.mark.parametrize("f", [condition_at_the_end, return_at_the_end, squares_until_small])
def test_what_stands_before_a_condition_runs_once_a_turn(
    f: Callable[[Any, int], Any], n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it puts on tapes, and takes from them, is of one turn."""
    arrays = wy.elementwise_grad(f, mode="trace")(np.array([0.7, -0.3]), n)
    wanted = wy.value_and_grad(f, mode="trace")(0.7, n)

    def traced(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("it was traced")

    monkeypatch.setattr("wyrmling.transforms.tracing.Run.__init__", traced)
    found = wy.value_and_grad(f, mode="source")(0.7, n)
    np.testing.assert_allclose(found, wanted, rtol=1e-11)
    found = wy.elementwise_grad(f, mode="source")(np.array([0.7, -0.3]), n)
    np.testing.assert_allclose(found, arrays, rtol=1e-11)


def test_what_is_taken_from_the_front_of_a_list_moves_nothing():
    """A queue takes time for each of its items, and not for the square of their number."""

    def emptied(x):
        items = []
        while x < 9.0:
            items.append(x)
            x = x * 1.5
        total = 0.0
        while items:
            total += items.pop(0) * x
        return total

    printed = str(wy.code_ir(emptied, 2.0))
    assert printed.count("replace_row") == 1
    assert wy.grad(emptied, mode="source")(2.0) == pytest.approx(
        wy.grad(emptied, mode="trace")(2.0)
    )
