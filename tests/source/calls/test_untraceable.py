"""Functions that cannot be traced: ``auto`` reads them in every call, whatever would be traced for
another reason, and says why if it cannot.
"""

import bisect
import functools
import math
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest
from outcomes import leaves

import wyrmling as wy
from wyrmling.source.text import read
from wyrmling.source.text.scope import FUNCTION, Needs

FACTOR = 0


def straight(x):
    return math.sin(x) * FACTOR


def looped(x):
    total = 0.0
    for _ in range(2):
        total = total + math.sin(x) * FACTOR
    return total


def in_place(x):
    y = np.ones((3, 2))
    y *= x
    y -= x
    y[0] /= x
    return np.sum(y * y)


def masked(x):
    y = np.ones(2)
    y[0] = np.sum(x[x > 0.0] ** 2)
    return np.sum(y * y)


@np.vectorize
def positive(t):
    return t * t if t > 0.0 else 0.0


def product_in_place(x):
    y = np.ones(2)
    y @= np.outer(x, x)
    return np.sum(y * y)


@pytest.mark.parametrize("f", [straight, looped])
def test_what_is_captured_may_change_at_each_call(f, monkeypatch):
    """It is compiled again for each, until that is too often."""
    slope = wy.grad(f)
    for k in range(200):
        monkeypatch.setitem(globals(), "FACTOR", k)
        times = k * (2 if f is looped else 1)
        assert slope(1.0) == pytest.approx(math.cos(1.0) * times, rel=1e-14)


CASES = {
    "float32": (lambda x: math.sin(x) * np.float32(2.0), 1.0),
    "isinstance": (lambda x: math.sin(x) * (2.0 if isinstance(x, float) else 3.0), 1.0),
    "an attribute": (lambda x: math.sin(x) * (1.0 + x.is_integer()), 1.0),
    "float": (lambda x: np.sum(float(x[0]) * x), np.ones(2, np.float32)),
    "looped": (looped, 1.0),
    "an element of all": (lambda x: x.flat[1] ** 2, np.ones((2, 2))),
    "a mask in a plain array": (masked, np.array([0.5, -1.5])),
    "called for each": (lambda x: np.sum(positive(x)), np.array([0.5, -1.5])),
    "a plain array in place": (in_place, np.array([0.5, -1.5])),
    "a product in place": (product_in_place, np.array([0.5, -1.5])),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("transform", [wy.grad, wy.value_and_grad, wy.jacrev])
def test_every_call_gives_what_reading_gives(transform, name):
    f, x = CASES[name]
    wanted = transform(f, mode="source")(x)
    found = transform(f)
    for _ in range(4):
        for one, other in zip(leaves(found(x)), leaves(wanted), strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_jacobian_of_arrays():
    jacobian = wy.jacrev(lambda x: np.array([math.sin(x[0]), x[1] * 2.0]))
    for _ in range(3):
        np.testing.assert_allclose(jacobian(np.ones(2)), [[math.cos(1.0), 0.0], [0.0, 2.0]])


def test_a_debugger_watches():
    slope, before = wy.grad(lambda x: math.exp(x) * x), sys.gettrace()
    sys.settrace(lambda *_: None)
    try:
        found = [slope(0.0) for _ in range(3)]
    finally:
        sys.settrace(before)
    assert found == [1.0] * 3


@pytest.mark.parametrize("way", ["eval", "exec", "command", "input"])
def test_why_it_is_not_read_is_said(way):
    text = "import math\nimport wyrmling as wy\nf = lambda x: math.sin(x) * x\n"
    if way in ("eval", "exec"):
        names = {}
        exec(text, names)
        f = eval("lambda x: math.sin(x)", {"math": math}) if way == "eval" else names["f"]
        slope = wy.grad(f)
        for _ in range(3):
            with pytest.raises(TypeError, match="would lose") as caught:
                slope(1.0)
            assert any("its source is not there" in note for note in caught.value.__notes__)
        return
    text += "wy.grad(f)(1.0)\n"
    command, given = (["-c", text], None) if way == "command" else (["-"], text)
    ended = subprocess.run(
        [sys.executable, *command], input=given, capture_output=True, text=True, check=False
    )
    # The interactive prompt, and -c, have their text from CPython 3.13 on.
    assert "its source is not there" in ended.stderr or ended.returncode == 0


def test_what_cannot_be_read_is_said():
    def f(x):
        return math.sin(x) * hash(x)

    slope = wy.grad(f)
    for _ in range(3):
        with pytest.raises(TypeError, match="would lose") as caught:
            slope(1.0)
        assert any("hash" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("mode", ["source", "auto"])
def test_a_pullback_takes_arrays_without_axes(mode):
    """As ``np.ones_like`` makes them of a number."""
    for kind in (float, np.float64, np.float32):
        y, pull = wy.pullback(lambda x: math.sin(x) * x, kind(0.5), mode=mode)
        (slope,) = pull(np.ones_like(y))
        assert slope == pytest.approx(math.sin(0.5) + 0.5 * math.cos(0.5), rel=1e-6)


def test_functions_of_math_are_differentiated_by_themselves():
    assert wy.grad(math.sin)(0.5) == math.cos(0.5)
    assert wy.grad(math.hypot, argnums=(0, 1))(3.0, 4.0) == (0.6, 0.8)
    assert wy.grad(wy.grad(math.sin))(0.5) == -math.sin(0.5)
    assert wy.vjp(math.sqrt, 4.0)[1](1.0) == (0.25,)
    assert wy.grad(np.sum, mode="source")(np.ones(2)).tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="math domain error"):
        wy.grad(math.log)(-1.0)
    slopes = [wy.grad(getattr(math, name), mode="source") for name in ("sin", "cos", "tan") * 20]
    assert all(slope(0.5) != 0.5 for slope in slopes)


def test_functions_in_c_of_modules_are_called():
    """Each by code of its own, for which what is compiled is kept."""
    fs = [math.sin, math.cos, abs, np.sin, np.sum, np.linalg.inv]
    found = [read.callee(f) for f in fs]
    assert [each.args for each in found] == [((f, FUNCTION),) for f in fs]
    assert len({id(each.function.__code__) for each in found}) == len(fs)
    assert read.callee(math.sin).function is found[0].function
    needs = Needs()
    read.callee(functools.partial(math.hypot, 3.0), needs=needs)
    assert needs.missed((functools.partial(math.hypot, 4.0),)) is None
    assert needs.missed((functools.partial(math.atan2, 3.0),)) is not None


def between(grid, x):
    k = bisect.bisect_right(grid, x)
    return grid[k - 1] * x + k


@pytest.mark.parametrize("calls", range(1, 4))
def test_what_python_says_of_a_variable_has_the_first_call_read(calls):
    """``bisect`` names the class of what is no sequence; nothing marks its error."""
    slope = wy.grad(between, (0, 1))
    for _ in range(calls):
        found = slope(np.array([0.0, 1.0, 4.0]), 2.5)
    assert found[0].tolist() == [0.0, 2.5, 0.0]
    assert found[1] == 1.0


def test_what_python_says_of_a_float_is_said_instead():
    with pytest.raises(TypeError, match="list indices must be integers or slices, not float"):
        wy.grad(lambda x: [1.0, 2.0][x])(1.0)


class Pair(NamedTuple):
    a: float
    b: float

    def __rmul__(self, k):
        return self if isinstance(k, Pair) else Pair(self.a * k, self.b * k)


def test_a_type_error_of_a_traced_operator_has_the_call_read():
    """A variable that stands for a float says of a tuple what a float would say of another."""
    for _ in range(3):
        assert wy.grad(lambda x: (x * Pair(x, 1.0)).a)(3.0) == 6.0
