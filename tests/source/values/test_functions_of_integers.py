"""Functions of this package of integers that are computed are those of NumPy; masks with 8 bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wyrmling as wy

NAMES = ["log", "sqrt", "exp", "sin", "log1p", "tanh"]


@pytest.mark.parametrize("name", NAMES)
def test_of_a_counted_step(name: str) -> None:
    function = getattr(wy, name)

    def of_steps(x: float, steps: Any) -> Any:
        for k in range(len(steps)):
            if x * k > 1.5:
                return function(19 // (k + 1)) * x
        return x

    value, slope = wy.value_and_grad(of_steps, mode="source")(0.6, np.arange(5.0))
    assert value == pytest.approx(of_steps(0.6, np.arange(5.0)), rel=1e-15)
    assert slope == pytest.approx(float(getattr(np, name)(4)), rel=1e-15)


def test_of_two_integers_and_of_a_float() -> None:
    def mixed(x: float, n: int) -> Any:
        return wy.power(n // 2, 2) * wy.maximum(x, n) + wy.log(x)

    value, slope = wy.value_and_grad(mixed, mode="source")(7.5, 6)
    assert value == mixed(7.5, 6)
    assert slope == pytest.approx(9.0 + 1 / 7.5)


@pytest.mark.parametrize(
    "function",
    [
        lambda p, x: np.sum(((p > 0) << (p < 9)) * x),
        lambda p, x: np.sum((True >> (p < 9)) * x),
    ],
)
def test_shifts_of_masks_by_masks_have_8_bits(function: Callable[..., Any]) -> None:
    with pytest.raises(wy.SourceError, match="which gives int8 here"):
        wy.compile(function, mode="source")(np.array([1, 2]), 1.5)
