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


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("f", [remainders, sums, products, by_twos, backwards, up_to_itself])
def test_integers_are_those_of_python_to_the_ends_of_64_bits(
    f: Callable[[int, int], int], ends: tuple[int, int]
) -> None:
    compiled = wy.compile(f)
    for _ in range(3):
        assert compiled(*ends) == f(*ends)


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
    compiled = wy.compile(elements)
    for _ in range(3):
        try:
            expected = elements(c, *ends)
        except IndexError:
            with pytest.raises(IndexError):
                compiled(c, *ends)
        else:
            assert compiled(c, *ends) == expected
