"""A function is the same function while it is traced: values, and what it raises.

``value_and_grad(f)(x)[0]`` is ``f(x)``, whatever Python and NumPy do inside: functions of numbers
that Python and NumPy treat differently, and expressions drawn from their operators.
"""

import math
import operator
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import wyrmling as wy

NUMBERS = [0.0, -0.0, 1.0, -1.0, 2.0, -2.5, 1e308, -1e308, 1e-320, 0.5, 3.0]
NOT_FINITE = [math.inf, -math.inf, math.nan]

# Functions of one number.
FUNCTIONS = {
    "1 / x": lambda x: 1 / x,
    "1.0 / x": lambda x: 1.0 / x,
    "x / 0": lambda x: x / 0,
    "x / 0.0": lambda x: x / 0.0,
    "x / x": lambda x: x / x,
    "x // 0": lambda x: x // 0,
    "1 // x": lambda x: 1 // x,
    "x % 0": lambda x: x % 0,
    "5 % x": lambda x: 5 % x,
    "divmod": lambda x: divmod(x, 0.0)[0],
    "divmod of a number": lambda x: divmod(7.0, x)[1],
    "x ** -1": lambda x: x**-1,
    "x ** -1.5": lambda x: x**-1.5,
    "x ** 0.5": lambda x: x**0.5,
    "x ** 2": lambda x: x**2,
    "0 ** x": lambda x: 0**x,
    "2 ** x": lambda x: 2.0**x,
    "(-8) ** x": lambda x: (-8.0) ** x,
    "x ** x": lambda x: x**x,
    "of NumPy's zero": lambda x: x / np.float64(0.0),
    "of a number of NumPy's": lambda x: np.float64(1.0) / x,
    "of an array": lambda x: np.sum(np.array([1.0, 0.0]) / x),
    "np.divide": lambda x: np.divide(1.0, x),
    "np.power": lambda x: np.power(x, -1.0),
    "after np.sin": lambda x: 1.0 / np.sin(x),
    "after np.max": lambda x: 1.0 / np.max(x),
    "after -": lambda x: 1.0 / -x,
    "after +": lambda x: 1.0 / +x,
    "after abs": lambda x: 1.0 / abs(x),
    "after a difference": lambda x: 1.0 / (x - x),
    "after a product": lambda x: 1.0 / (0 * x),
    "after a product with NumPy's": lambda x: 1.0 / (np.float64(0.0) * x),
    "in place": lambda x: operator.itruediv(x, 0),
    "round": lambda x: 1.0 / round(x * 1e-300, 2),
    "round to an integer": lambda x: x * round(min(max(x, -9.0), 9.0)),
    "floor": lambda x: x * math.floor(min(max(x, -9.0), 9.0)),
    "int": lambda x: x * int(min(max(x, -9.0), 9.0)),
    "branch": lambda x: -x if x < 0.5 else x * 2.0,
    "chained": lambda x: x if -1.0 <= x <= 1.0 else 1.0 / x,
    "loop": lambda x: sum(x / k for k in range(1, 4)),
    "while": lambda x: halved(x),
    "comparison": lambda x: x * (x > 0.0),
    "equal": lambda x: (x == 2.0) + 0.0 * x,
    "sum of comparisons": lambda x: ((x > 0.0) + (x > 1.0)) * 1.0 + 0.0 * x,
    "and": lambda x: x if x > 0.0 and x < 2.0 else -x,
    "not": lambda x: x * (not x),
    "max": lambda x: max(x, 0.0) + min(x, 1.0),
    "index": lambda x: [1.0, 2.0, 3.0][int(x > 0.0)] * x,
    "nested": lambda x: 1.0 / wy.grad(lambda y: y * y)(x),
    "nested value": lambda x: 1.0 / wy.value_and_grad(lambda y: y * y)(x)[0],
    "round itself": lambda x: round(x) * 1.0,
    "round divided": lambda x: round(x) / 0,
    "by round": lambda x: 1 // round(x) + 0.0,
    "round to a power": lambda x: round(x) ** -1 * 1.0,
    "floor divided": lambda x: math.floor(x) / 0,
    "ceil": lambda x: math.ceil(x) * 1.0,
    "trunc": lambda x: math.trunc(x) * 1.0,
    "int itself": lambda x: int(x) * 1.0,
    "x // -2.5": lambda x: x // -2.5,
    "x % -3": lambda x: x % -3.0,
    "x % inf": lambda x: x % math.inf,
    "x % -inf": lambda x: x % -math.inf,
    "divmod by -inf": lambda x: divmod(x, -math.inf)[1],
    "float_power": lambda x: np.float_power(x, 0.5),
    "floor_divide": lambda x: np.floor_divide(x, 0.0),
    "mod": lambda x: np.mod(x, -0.0),
    "fmod": lambda x: np.fmod(x, 0.0),
    "sign": np.sign,
    "maximum of nan": lambda x: np.maximum(x, math.nan),
    "maximum of zeros": lambda x: np.maximum(x, -0.0),
    "fmax of nan": lambda x: np.fmax(math.nan, x),
    "fmin": lambda x: np.fmin(x, 0.0),
    "clip of crossed bounds": lambda x: np.clip(x, 2.0, 1.0),
    "clip by nan": lambda x: np.clip(x, math.nan, 1.0),
    "nan_to_num": lambda x: np.nan_to_num(x, nan=1.0, posinf=2.0, neginf=-3.0),
    "heaviside": lambda x: np.heaviside(x, 0.5),
    "copysign": lambda x: np.copysign(3.0, x),
    "copysign of x": lambda x: np.copysign(x, -0.0),
    "where": lambda x: np.where(x > 0.0, x, math.nan) * 1.0,
    "linspace": lambda x: np.linspace(x, 3.0, 4)[2],
    "linspace to": lambda x: np.linspace(3.0, x, 4)[-1],
    "geomspace": lambda x: np.geomspace(abs(x) + 1e-300, 3.0, 4)[-1],
    "interp": lambda x: np.interp(x, [0.0, 1.0, 1.0], [1.0, 3.0, 2.0]),
    "argmax": lambda x: np.argmax(np.stack([x, 0.5, -x])) * x,
}


def halved(x):
    while abs(x) > 1.0:
        x = x / 1e100
    return x


def outcome(call):
    """A value, or the kind of error; a complex number is an error where it is traced."""
    try:
        value = call()
    except (ArithmeticError, ValueError, TypeError) as error:
        return type(error)
    return TypeError if isinstance(value, complex) else value


def same(plain, traced):
    if isinstance(plain, type) or isinstance(traced, type):
        assert plain is traced
    else:
        np.testing.assert_allclose(traced, plain, rtol=1e-13, atol=0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of divisions by zero
@pytest.mark.parametrize("kind", [float, np.float64, np.array], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_numbers(name, kind):
    f = FUNCTIONS[name]
    for number in [*NUMBERS, *NOT_FINITE]:
        if name in ("while", "index") and number in NOT_FINITE:
            continue  # endless
        x = kind(number)
        plain = outcome(lambda x=x: f(x))
        if plain is TypeError and kind is np.array:
            continue  # ``round`` of an array without axes
        if name.startswith("nested") and kind is not float:
            continue  # transforms give a number of NumPy's a gradient that is one of Python's
        x = kind(number)
        same(plain, outcome(lambda x=x: wy.value_and_grad(f)(x)[0]))
        if kind is float:
            # As the argument of a function within one that is differentiated.
            inner = outcome(lambda x=x: wy.grad(lambda y: wy.value_and_grad(f)(y)[0])(x))
            assert isinstance(plain, type) <= isinstance(inner, type)


BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
]
UNARY = [operator.neg, operator.pos, abs, np.sin, np.negative, np.square, np.float64]
leaves = st.one_of(st.just("x"), st.sampled_from([0, 1, 2, -1, 0.0, 0.5, -2.0, np.float64(0.0)]))
expressions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(BINARY), inner, inner),
        st.tuples(st.sampled_from([f for f in UNARY if f is not np.float64]), inner),
    ),
    max_leaves=8,
)


def evaluated(expression, x):
    if isinstance(expression, str):
        return x
    if not isinstance(expression, tuple):
        return expression
    function, *operands = expression
    value = function(*(evaluated(operand, x) for operand in operands))
    if isinstance(value, complex):
        # A power of a negative float. Tracing ends here, whatever Python makes of it further on.
        raise TypeError(f"{function.__name__} is complex")
    return value


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=500, derandomize=True)
@given(
    expressions, st.sampled_from(NUMBERS[:6] + NUMBERS[9:]), st.sampled_from([float, np.float64])
)
@example((operator.truediv, (operator.pow, "x", "x"), 0), -2.5, float)
@example((operator.mul, (operator.pow, "x", 0.5), (operator.pow, "x", 0.5)), -2.5, float)
@example((operator.truediv, (operator.pow, "x", "x"), 0), -2.5, np.float64)
def test_expressions(expression, number, kind):
    def f(x):
        return evaluated(expression, x) + 0.0 * x

    plain = outcome(lambda: f(kind(number)))
    traced = outcome(lambda: wy.value_and_grad(f)(kind(number))[0])
    if not isinstance(plain, type) and not np.isfinite(plain):
        return  # a power that rounds to infinity elsewhere
    same(plain, traced)


def test_answers_are_plain_while_traced():
    """Comparisons and integers have no gradient to lose: they are NumPy's."""
    seen = []

    def f(x):
        seen.extend([x > 1.0, x == x, np.isnan(x), np.argmax(x), np.argsort(x), x.argmin()])
        seen.extend([np.floor(x).astype(int), np.nonzero(x)[0], x.astype(bool), ~(x > 1.0)])
        seen.extend([np.logical_and(x > 0.0, x < 2.0), (x > 1.0) & (x < 3.0), x != 2.0])
        table = np.arange(10.0)
        return np.sum(x[x > 1.0]) + np.sum(table[np.floor(x).astype(int)] * x) + x[np.argmax(x)]

    x = np.array([0.5, 2.5, 1.5])
    expected = f(x)
    plain, seen = seen, []
    value, gradient = wy.value_and_grad(f)(x)
    assert value == expected
    np.testing.assert_array_equal(gradient, [0.0, 4.0, 2.0])
    for one, other in zip(plain, seen, strict=True):
        assert type(one) is type(other)
        assert np.asarray(one).dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(one, other)
    # They are variables where what they came from can change, within a transform too.
    parameter = wy.Parameter(x)
    wy.grad(lambda y: seen.append((y * parameter) > 1.0) or np.sum(y))(x)
    assert isinstance(seen[-1], wy.Variable)


def test_numbers_take_no_assignment():
    """A number of NumPy's has no elements to assign to; an array without axes has."""

    def assigned(x):
        x[...] = 2.0
        return x * 1.0

    for f in (assigned, lambda x: assigned(np.sum(x)), lambda x: assigned(x * 2.0)):
        for number in (1.5, np.float64(1.5)):
            for call in (f, wy.grad(f)):
                with pytest.raises(TypeError, match="assign"):
                    call(number)
    value, slope = wy.value_and_grad(assigned)(np.array(1.5))
    assert (value, slope) == (2.0, 0.0)
    # What takes a result stays an array, which has views.
    out = wy.array(0.0)
    np.sum(wy.Variable([1.0, 2.0]), out=out)
    view = out[None]
    view[0] = 7.0
    assert out.item() == 7.0
    other = out
    other += 1.0
    assert out.item() == 8.0


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("xp", [[0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [1.0, 1.0], [0.0, 1.0, 2.0]])
def test_interp_has_finite_gradients(xp):
    xp = np.array(xp)
    fp = np.arange(1.0, 1.0 + len(xp)) ** 2
    for x in (-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, *NOT_FINITE):
        value, slopes = wy.value_and_grad(np.interp, argnums=(0, 1, 2))(x, xp, fp)
        np.testing.assert_array_equal(value, np.interp(x, xp, fp))
        assert all(np.isfinite(slope).all() for slope in slopes)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sort(x) @ np.arange(1.0, 5.0),
        lambda x: np.median(x) * 4.0,
        lambda x: np.quantile(x, 0.4) * 4.0,
        lambda x: np.max(x) + np.min(x),
        lambda x: np.nanmedian(x) * 4.0,
        lambda x: np.partition(x, 1)[1] * 4.0,
    ],
)
def test_ties_have_a_gradient_of_the_right_sum(f):
    """Where elements are equal, moving all alike changes the result alike."""
    x = np.array([2.0, 2.0, 2.0, 2.0])
    slope = wy.grad(f)(x)
    assert np.isfinite(slope).all()
    moved = (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
    assert slope.sum() == pytest.approx(moved, rel=1e-6)


class Pair(NamedTuple):
    first: float
    second: float

    def __rmul__(self, factor):
        return Pair(factor * self.first, factor * self.second)


@pytest.mark.parametrize("mode", ["trace", "auto", "source"])
def test_a_sequence_may_have_the_operator_that_a_float_has_not(mode):
    def scaled(x):
        return (x * Pair(2.0, 3.0)).second

    assert wy.value_and_grad(scaled, mode=mode)(1.5) == (4.5, 3.0)
    for plain in ((1.0, 2.0), [1.0, 2.0]):
        with pytest.raises(TypeError, match="can't multiply sequence by non-int"):
            wy.grad(lambda x: x * plain, mode=mode)(1.5)  # noqa: B023
