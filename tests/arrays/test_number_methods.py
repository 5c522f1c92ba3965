"""Methods of Python's floats on variables that stand for numbers: they answer what the number does,
and where the answer stands for the number they raise, since its gradient would be lost.
"""

from typing import Any

import numpy as np
import pytest

import wyrmling as wy

NUMBERS = [3.0, -0.0, 2.5, 1e300, 5e-324, float("inf"), float("-inf"), float("nan")]
MODES = ["auto", "trace", "source"]


def by_truth(x: Any) -> Any:
    return 2.0 * x if x.is_integer() else 3.0 * x


def of_computed(x: Any) -> Any:
    y = x * 0.5
    return y if y.is_integer() else x


def conjugated(x: Any) -> Any:
    return x.conjugate() * x.real + x.imag


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", [by_truth, of_computed])
def test_is_integer_is_that_of_the_number(f: Any, mode: str) -> None:
    derivative = wy.value_and_grad(f, mode=mode)
    for x in NUMBERS:
        for kind in (float, np.float64):
            slope = f(1.0) if f is by_truth and x.is_integer() else f(0.5) / 0.5
            if f is of_computed:
                slope = 0.5 if (x * 0.5).is_integer() else 1.0
            value, found = derivative(kind(x))
            np.testing.assert_equal((value, found), (f(x), slope))


@pytest.mark.parametrize("mode", MODES)
def test_a_real_number_is_its_own_conjugate(mode: str) -> None:
    assert wy.value_and_grad(conjugated, mode=mode)(3.0) == (9.0, 6.0)
    assert wy.grad(lambda x: x.conj() * x, mode=mode)(np.float64(3.0)) == 6.0


@pytest.mark.parametrize("x", NUMBERS)
def test_texts_have_all_digits(x: float) -> None:
    seen: list[str] = []

    def f(y: Any) -> Any:
        seen.append(y.hex())
        return y * 1.0

    wy.grad(f, mode="trace")(x)
    assert seen == [x.hex()]
    assert wy.Variable(x).hex() == x.hex()


def test_a_ratio_stands_for_the_number() -> None:
    assert wy.Variable(2.5).as_integer_ratio() == (5, 2)
    for mode in ("auto", "trace"):
        with pytest.raises(TypeError, match="would lose the gradient"):
            wy.grad(lambda x: x.as_integer_ratio()[0] * x, mode=mode)(2.5)
    for x in (float("inf"), float("nan")):
        with pytest.raises((OverflowError, ValueError)) as expected:
            x.as_integer_ratio()
        with pytest.raises(expected.type):
            wy.Variable(x).as_integer_ratio()


@pytest.mark.parametrize("name", ["is_integer", "hex", "as_integer_ratio"])
def test_arrays_have_none_of_them_and_inputs_no_answer(name: str) -> None:
    assert hasattr(wy.Variable(1.0), name)
    assert not hasattr(wy.Variable([1.0]), name)
    assert name in dir(wy.Variable(1.0))
    assert name not in dir(wy.Variable([1.0]))
    with pytest.raises(AttributeError, match=rf"of shape \(1,\) has no attribute '{name}'"):
        getattr(wy.Variable([1.0]), name)
    with pytest.raises(TypeError, match="input"):
        getattr(wy.Input(1.0) * 2.0, name)()
