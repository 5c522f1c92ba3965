"""Checks of arguments at the edges of what they take."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from wyrmling.arguments import check_choice, check_flag, check_integer, check_number, is_one
from wyrmling.nn import he


@pytest.mark.parametrize("value", [1, 9, np.int8(3), np.uint64(9)])
def test_integers_are_python_integers(value: Any) -> None:
    found = check_integer("n", value, 1, 9)
    assert type(found) is int
    assert found == value


@pytest.mark.parametrize("value", [True, np.bool_(True), 1.0, np.float64(1), "1", None, [1], 1j])
def test_what_is_no_integer_is_named(value: Any) -> None:
    with pytest.raises(TypeError, match=re.escape(f"n is {value!r}, expected an integer from 1")):
        check_integer("n", value, 1, 9)


@pytest.mark.parametrize("value", [0, 10, -(2**70), 2**70, np.int64(-1)])
def test_integers_out_of_range_are_named(value: Any) -> None:
    text = f"n is {int(value)}, expected an integer from 1 to 9"
    with pytest.raises(ValueError, match=re.escape(text)):
        check_integer("n", value, 1, 9)


def test_integers_without_an_upper_bound() -> None:
    assert check_integer("n", 2**70, 1) == 2**70
    with pytest.raises(ValueError, match="n is 0, expected an integer at least 1"):
        check_integer("n", 0, 1)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, 0.0),
        (-0.0, -0.0),
        (5e-324, 5e-324),
        (Fraction(1, 2), 0.5),
        (np.float32(0.1), float(np.float32(0.1))),
        (np.int64(-3), -3.0),
        (2**53 + 1, 2.0**53),
        (10**308, 1e308),
        (10**400, np.inf),
        (-(10**400), -np.inf),
        (Fraction(10**400), np.inf),
        (Fraction(-(10**400), 3), -np.inf),
        (Fraction(1, 10**400), 0.0),
        (-np.inf, -np.inf),
        (np.nan, np.nan),
    ],
    ids=lambda value: str(value)[:20],
)
def test_numbers_are_floats_and_infinite_where_no_float_can_hold_them(
    value: Any, expected: float
) -> None:
    found = check_number("n", value)
    assert type(found) is float
    np.testing.assert_array_equal(found, expected)
    assert np.signbit(found) == np.signbit(expected)


@pytest.mark.parametrize("value", [True, np.bool_(False), "1", None, 1j, [1.0], Decimal(1)])
def test_what_is_no_number_is_named(value: Any) -> None:
    with pytest.raises(TypeError, match=re.escape(f"n is {value!r}, expected a number")):
        check_number("n", value)


def test_flags_and_words() -> None:
    assert check_flag("f", np.bool_(False)) is False
    for wrong in (0, 1, None, "yes", 1.0, np.array([True])):
        with pytest.raises(TypeError, match=r"f is .*, expected True or False"):
            check_flag("f", wrong)
    check_choice("w", "a", ("a", "b"))
    for other in ("c", "", None, 1, ["a"]):
        with pytest.raises(ValueError, match=r"w is .*, expected 'a' or 'b'"):
            check_choice("w", other, ("a", "b"))


def test_one_id_or_several() -> None:
    for one in ("ab", b"ab", bytearray(b"ab"), "", 7, 1.5, np.int64(1), np.array("ab"), None):
        assert is_one(one)
    for several in ([], (), {}, {"a"}, np.array([1]), iter("ab"), range(2)):
        assert not is_one(several)


@pytest.mark.parametrize(("shape", "axis"), [((2.5, 3), "2.5"), ((True, 2), "True"), ("a", "'a'")])
def test_the_shape_of_an_initialiser_is_named(shape: Any, axis: str) -> None:
    with pytest.raises(TypeError, match=f"^shape is {axis}, expected an integer$"):
        he(shape, np.random.default_rng(0))
