"""Gradients within functions that are read, and gradients of those."""

import numpy as np
import pytest
from reading import read, same

import wyrmling as wy
from wyrmling.source.interpreter import read_function
from wyrmling.source.text.refuse import SourceError

FACTOR = 1.25


def cubed(x):
    return wy.grad(lambda y: y * y * y)(x) * x


def captured(x):
    # The derivative is by y alone, though x is the same number.
    return wy.grad(lambda y: y * y * x)(x)


def twice(x):
    return wy.grad(lambda y: wy.grad(lambda z: z * z * z * y)(y))(x)


def loops(x, n):
    def f(y):
        s = y
        for _ in range(n):
            s = s * y + x
        return s

    value, slope = wy.value_and_grad(f)(x)
    return value + slope * FACTOR


def newton(x):
    def f(y):
        return y * y - x

    y = 1.0
    for _ in range(6):
        y = y - f(y) / wy.grad(f)(y)
    return y


def hidden(x):
    return wy.grad(lambda y: y * y * FACTOR)(x)


def pairs(x):
    slopes = wy.grad(lambda p, q: p[0] * p[1] * q, argnums=(0, 1))((x, x), x)
    return slopes[0][0] + 2 * slopes[0][1] + 3 * slopes[1]


def unused(x):
    return wy.grad(lambda y: 2.0)(x) + x


CASES = [(f, (1.5,)) for f in (cubed, captured, twice, newton, hidden, pairs, unused)]
CASES += [(loops, (1.5, n)) for n in (0, 1, 3)]


@pytest.mark.parametrize(("f", "args"), CASES)
def test_values_are_those_of_tracing(f, args):
    assert same(read(f, *args), f(*args))


@pytest.mark.parametrize(("f", "args"), CASES)
def test_gradients_are_those_of_tracing(f, args):
    assert wy.grad(f, mode="source")(*args) == pytest.approx(wy.grad(f)(*args), rel=1e-14)


def test_arrays():
    def f(w):
        return np.sum(wy.grad(lambda v: np.sum(v**3))(w) * w)

    w = np.array([0.5, -1.0])
    assert read(f, w) == pytest.approx(f(w), rel=1e-15)
    np.testing.assert_allclose(wy.grad(f, mode="source")(w), 9 * w**2, rtol=1e-14)


def test_what_is_written_inside_is_refused():
    def f(x):
        seen = [0.0]

        def g(y):
            seen[0] = y
            return y * y

        return wy.grad(g)(x) + seen[0]

    def outer(x):
        count = 0.0

        def g(y):
            nonlocal count
            count += 1.0
            return y * y

        return wy.grad(g)(x) + count

    with pytest.raises(SourceError, match="write"):
        read(f, 1.5)
    with pytest.raises(SourceError, match="count"):
        read(outer, 1.5)


def test_a_gradient_of_nothing_has_the_length_of_the_argument():
    def f(x, y):
        first, second = wy.grad(lambda a, b: np.sum(a * a), argnums=(0, 1))(x, y)
        return np.sum(first) + np.sum(second) + len(second)

    made = read_function(f, (np.ones(3), np.ones(3)), {})
    same_length = made.function.interpret([np.ones(3), np.zeros(3)])
    assert made.build(same_length, (f,)) == f(np.ones(3), np.zeros(3))
    # A program leaves where it holds for the length that it saw alone.
    assert isinstance(made.function.interpret([np.ones(3), np.ones(5)]), int)


def nothing_added(v):
    return np.sum(wy.grad(lambda u: sum(one for one in u if one > 5.0))(v))


def test_a_result_of_several_kinds():
    """A sum that begins at 0.0 is a float of Python's where nothing is added."""

    def total(v):
        found = 0.0
        for one in v:
            found = found + one**3
        return found

    def picked(v):
        kept = [one * one for one in v if one > 0.0]
        return sum(kept) if kept else v[0] * 1.0

    w = np.array([0.5, -1.0, 2.0])
    for inner, wanted in ((total, 6 * w), (picked, np.array([2.0, 0.0, 2.0]))):
        outer = wy.grad(lambda v, f=inner: np.sum(wy.grad(f)(v)), mode="source")
        np.testing.assert_allclose(outer(w), wanted, rtol=1e-14)
    with pytest.raises(TypeError, match="integers have no gradient"):
        wy.compile(nothing_added, mode="source")(w)
