"""Results without a gradient, and functions that cannot be read: errors say of which function, in
which line, what was found and what was expected, in every mode.
"""

import math
import re
from typing import Any

import numpy as np
import pytest

import wyrmling as wy


def whole(x: Any) -> Any:
    y = x * x
    return 0 if y > 0.0 else y


def untraceable(x: Any) -> Any:
    math.sin(x)
    return 0


def sometimes(x: Any) -> Any:
    y = math.sin(x)
    if x > 100.0:
        return y
    return 0


def in_a_list(x: Any) -> Any:
    return [x, 0]


def a_flag(x: Any) -> Any:
    return x > 0.0


RESULTS = {
    "whole": (whole, "the result", "int 0; integers have no gradient: return floats"),
    "in_a_list": (in_a_list, r"the result\[1\]", "int 0; integers have no gradient"),
    "a_flag": (a_flag, "the result", "bool True; integers have no gradient"),
    # They cannot be traced.
    "untraceable": (untraceable, "the result", "int 0; integers have no gradient"),
    "sometimes": (sometimes, "the result", "int 0; integers have no gradient"),
}


@pytest.mark.parametrize("mode", ["auto", "source", "trace"])
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_without_a_gradient_is_said(name: str, mode: str) -> None:
    f, label, found = RESULTS[name]
    if mode == "trace" and f in (untraceable, sometimes):
        pytest.skip("math.sin raises first")
    place = re.escape(f"{f.__code__.co_filename}:{f.__code__.co_firstlineno}")
    says = rf"grad: {label} of {name} \({place}\): expected floating-point numbers, got {found}"
    for _ in range(2):
        with pytest.raises(TypeError, match=f"^{says}"):
            wy.grad(f, mode=mode)(3.0)


def test_others_are_said_by_the_function_too() -> None:
    with pytest.raises(TypeError, match=r"one number, got list \[.*\] from pair \(.*\.py:\d"):
        wy.grad(pair)(1.0)
    with pytest.raises(TypeError, match=r"an array of shape \(2,\) from doubled \(.*\.py:\d"):
        wy.grad(doubled)(np.ones(2))


def pair(x: Any) -> Any:
    return [x, x]


def doubled(x: Any) -> Any:
    return x * 2.0


def nothing(x: Any) -> Any:
    y = math.sin(x)
    if x > 100.0:
        return y
    return None


def test_a_program_that_was_left_says_the_line() -> None:
    line = nothing.__code__.co_firstlineno
    with pytest.raises(wy.SourceError, match=rf"\.py:{line}: nothing cannot be read") as error:
        wy.grad(nothing, mode="source")(3.0)
    assert error.value.lineno == line


@wy.primitive
def sine(x: Any) -> Any:
    return np.sin(x)


@wy.primitive
def failing(x: Any) -> Any:
    return np.sin(x)


def rule(g: Any, ans: Any, x: Any) -> Any:
    raise KeyError("a fault of the rule")


failing.defvjp(rule)


def test_a_primitive_is_not_read_and_its_errors_are_its_own() -> None:
    for made, name in ((sine, "sine"), (wy.checkpoint(doubled), "doubled")):
        with pytest.raises(wy.SourceError, match=f"^{name} cannot be read: {name} has rules or"):
            wy.grad(made, mode="source")(1.0)
    for mode in ("auto", "trace"):
        with pytest.raises(NotImplementedError, match=r"^sine has no rule for its derivative"):
            wy.grad(sine, mode=mode)(1.0)
    for mode in ("auto", "trace", "source"):
        with pytest.raises(NotImplementedError, match=r"^sine has no rule for its derivative"):
            wy.grad(lambda x: sine(x) * 2.0, mode=mode)(1.0)
        with pytest.raises(KeyError, match="a fault of the rule"):
            wy.grad(lambda x: failing(x) * 2.0, mode=mode)(1.0)
