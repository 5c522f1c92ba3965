"""Operators of Python on variables: as on NumPy's arrays, with the right gradients."""

import array
import enum
import math
import operator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import wyrmling as wy

X = np.array([5.5, -7.25, 0.5])
Y = np.array([2.0, 3.0, -1.5])
MASK = np.array([True, False, True])
OTHER = np.array([True, True, False])
ARITHMETIC = [operator.mod, operator.floordiv, divmod]
COMPARISONS = [getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")]
LOGICAL = [operator.and_, operator.or_, operator.xor]
BINARY = [*COMPARISONS, *ARITHMETIC]
BINARY += [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]


class Level(enum.IntEnum):
    """Integers of a class of their own."""

    ONE = 1
    THREE = 3


@pytest.mark.parametrize("f", ARITHMETIC)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_remainders_are_those_of_arrays(f, dtype):
    x, y = X.astype(dtype), Y.astype(dtype)
    v, w = wy.Variable(x), wy.Variable(y)
    for got, expected in [
        (f(v, w), f(x, y)),
        (f(v, y), f(x, y)),
        (f(v, 2), f(x, 2)),
        (f(7.0, v), f(7.0, x)),
        (f(v, [2.0, 3.0, 4.0]), f(x, np.array([2.0, 3.0, 4.0]))),
        (f([2.0, 3.0, 4.0], v), f(np.array([2.0, 3.0, 4.0]), x)),
        (f(v[0], w), f(x[0], y)),
    ]:
        pairs = zip(got, expected, strict=True) if f is divmod else [(got, expected)]
        for one, other in pairs:
            np.testing.assert_array_equal(one.value, other)
            assert one.dtype == other.dtype


def test_array_on_the_left():
    v = wy.Variable(Y)
    np.testing.assert_array_equal((X % v).value, X % Y)
    np.testing.assert_array_equal((X // v).value, X // Y)
    np.testing.assert_array_equal((np.float64(7.0) % v).value, 7.0 % Y)


def test_gradients_of_remainders():
    wy.check_grads(lambda x, y: x % y + 2.0 * (x // y), (X, Y))
    wy.check_grads(lambda x: divmod(x, 2.0)[1] * divmod(7.3, x)[1], (X,))
    # x % y = x - y floor(x / y), so by y it is -floor(x / y).
    got = wy.grad(lambda x, y: (x % y).sum(), (0, 1))(X, Y)
    np.testing.assert_array_equal(got, [np.ones(3), -np.floor(X / Y)])


@pytest.mark.parametrize("x", [2.0**53, -(2.0**53), 2.0**124, 1e308, math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("by", COMPARISONS)
def test_floats_are_compared_exactly_with_integers(by, x):
    near = int(x) if math.isfinite(x) else 0
    for n in (near, near + 1, near - 1, 10**400, -(10**400), 2**63):
        for left, right in [(x, n), (n, x)]:

            def f(y, at=left is x, n=n):
                return y * (1.0 if (by(y, n) if at else by(n, y)) else 2.0)

            wanted = 1.0 if by(left, right) else 2.0
            for mode in ("trace", "source"):
                assert wy.grad(f, mode=mode)(x) == wanted, (left, right, mode)


@pytest.mark.parametrize("f", LOGICAL)
def test_masks(f):
    a, b = wy.Variable(X) > 0.0, wy.Variable(Y) > 0.0
    x, y = X > 0.0, Y > 0.0
    for got, expected in [
        (f(a, b), f(x, y)),
        (f(a, y), f(x, y)),
        (f(a, y.astype(float)), f(x, y)),
        (f(a, y.tolist()), f(x, y)),
        (f(y.tolist(), a), f(y, x)),
        (f(a, True), f(x, True)),
        (f(False, a), f(False, x)),
        (f(a, 1), f(x, True)),
        (f(a, y[:, None]), f(x, y[:, None])),
    ]:
        np.testing.assert_array_equal(got.value, expected.astype(float))
    np.testing.assert_array_equal((~a).value, (~x).astype(float))


def test_masks_keep_the_type_and_choose():
    x = np.array([0.5, 1.5, 2.5], np.float32)
    assert ((wy.Variable(x) > 1.0) & (wy.Variable(x) < 2.0)).dtype == bool
    got = wy.grad(lambda x: np.where((x > 1.0) & ~(x > 2.0), x * x, 0.0).sum())(x)
    np.testing.assert_array_equal(got, [0.0, 3.0, 0.0])


def test_a_frozen_mask_follows_its_inputs():
    x = wy.Input([0.5, 1.5, 2.5], name="x")
    program = wy.freeze((((x > 1.0) & (x < 2.0)) * x).sum())
    assert program.run({x: [1.25, 3.0, 1.5, 0.0]}) == 2.75


@pytest.mark.parametrize("f", LOGICAL)
def test_what_is_no_mask_is_refused(f):
    v = wy.Variable(X)
    for x, y in [(v, v > 0), (v > 0, v), (v > 0, X), (v > 0, 2), (v > 0, 0.5), (3, v > 0)]:
        with pytest.raises(TypeError, match="expected a mask, whose elements are 0 or 1"):
            f(x, y)
    with pytest.raises(TypeError, match="~: expected a mask"):
        operator.invert(v)
    with pytest.raises(TypeError, match="expected a mask"):
        f(v > 0, np.array([np.nan, 0.0, 1.0]))


class Foreign:
    """Knows what to do with a variable on either side."""

    def __mod__(self, other):
        return "left"

    def __rmod__(self, other):
        return "right"

    __and__ = __floordiv__ = __divmod__ = __or__ = __xor__ = __mod__
    __rand__ = __rfloordiv__ = __rdivmod__ = __ror__ = __rxor__ = __rmod__


@pytest.mark.parametrize("f", ARITHMETIC + LOGICAL)
def test_foreign_types_are_asked(f):
    mask = wy.Variable(X) > 0.0
    assert f(mask, Foreign()) == "right"
    assert f(Foreign(), mask) == "left"
    for other in ("text", None, {}, 1j, Fraction(1, 2)):
        with pytest.raises(TypeError, match="unsupported operand"):
            f(mask, other)


class Equal:
    """A number that has an answer of its own."""

    def __float__(self):
        return 0.5

    def __eq__(self, other):
        return "equal"

    def __ne__(self, other):
        return "unequal"


@pytest.mark.parametrize("other", [Fraction(1, 2), Decimal("0.5"), 0.5 + 0j], ids=str)
def test_equality_with_numbers_of_other_classes(other):
    """Where both sides have no answer, Python says that they are unequal."""
    for mode in ("trace", "auto"):
        assert wy.grad(lambda x: 2.0 * x if x == other else 3.0 * x, mode=mode)(0.5) == 2.0
        assert wy.grad(lambda x: 2.0 * x if other != x else 3.0 * x, mode=mode)(0.5) == 3.0
        assert wy.grad(lambda x: 2.0 * x if x in (None, other) else x, mode=mode)(0.5) == 2.0
        assert wy.grad(lambda x: 2.0 * x if x == other else 3.0 * x, mode=mode)(0.25) == 3.0
    for v in (wy.Variable(0.5), wy.Variable([0.5]), wy.Input(0.5), wy.Variable([0.5]) > 0.0):
        for f in (operator.eq, operator.ne):
            with pytest.raises(
                TypeError, match=f"equal: expected a number .*{type(other).__name__}"
            ):
                f(v, other)


def test_equality_with_buffers_and_other_objects():
    v = wy.Variable([0.5])
    for buffer in (array.array("d", [0.5]), memoryview(np.array([0.5])), bytearray(b"a")):
        with pytest.raises(TypeError, match="not_equal: expected a number"):
            operator.ne(v, buffer)
    for thing in (None, "0.5", b"a", {}, float, Fraction, object()):
        assert (v == thing) is False
        assert (v != thing) is True
    assert (v == Equal(), v != Equal()) == ("equal", "unequal")


@pytest.mark.parametrize("shape", [(3,), (2, 3), (1, 3), (0, 3)])
@pytest.mark.parametrize("item", [1.5, 7, None, "a", [1.5, 1.5, 2.0], np.full(3, 9.0), True])
def test_an_array_has_what_one_of_its_elements_is_equal_to(shape, item):
    array = np.full(shape, 1.5)
    assert (item in wy.Parameter(array)) is (item in array)


@pytest.mark.parametrize("by", [operator.add, operator.mul, operator.eq, operator.ne, operator.lt])
def test_a_range_is_an_array_beside_one(by):
    x = np.array([2.0, 1.0, 0.0])
    for given, variable in ((x, wy.Parameter(x)), (x[:1], wy.Parameter(x[:1]))):
        assert np.array_equal(by(variable, range(3)).value, by(given, range(3)))
        assert np.array_equal(by(range(3), variable).value, by(range(3), given))


@pytest.mark.parametrize("other", [[1.0], (1.0, 2.0), [], range(2)])
def test_a_float_equals_no_sequence_and_an_array_its_elements(other):
    def equals(x):
        return x * 1.0, ((x == other, other != x), np.sum(x == np.array(other)))

    assert wy.grad(equals, has_aux=True, mode="trace")(1.0)[1] == equals(1.0)[1]
    for by in (operator.lt, operator.ge, operator.add):
        with pytest.raises(TypeError):
            wy.grad(lambda x, by=by: by(x, other), mode="trace")(1.0)


def test_elements_are_searched_where_there_are_axes_of_these_lengths():
    with pytest.raises(ValueError, match="broadcast"):
        assert [1.0, 2.0] in wy.Parameter(np.ones(3))
    with pytest.raises(TypeError, match="'in' of a variable without axes"):
        assert 1.0 in wy.Parameter(1.0)
    with pytest.raises(TypeError, match=r"'in' of a value that follows an input.* use np\.any"):
        assert 1.0 in wy.Input(np.ones(3))


def test_in_place():
    def f(x):
        y = x * 1.0
        z = y
        y %= 4.0
        y[0] = 5.0
        y //= 2.0
        assert z is y
        return y

    np.testing.assert_array_equal(f(wy.Variable(X)).value, f(X))
    mask = wy.Variable(X) > 0.0
    same = mask
    mask &= OTHER
    mask |= MASK
    mask ^= OTHER
    assert same is mask
    np.testing.assert_array_equal(mask.value, (((X > 0) & OTHER) | MASK) ^ OTHER)


@pytest.mark.parametrize("decimals", [0, 1, 3, -1])
def test_round(decimals):
    x = np.array([[1.25, -0.35, 12.5], [15.0, 2.5, 1234.56789]])
    v = wy.Variable(x)
    for f in (np.round, np.around, wy.round, wy.around):
        np.testing.assert_array_equal(f(v, decimals).value, np.round(x, decimals))
    np.testing.assert_array_equal(v.round(decimals).value, x.round(decimals))
    np.testing.assert_array_equal(
        wy.grad(lambda x: (np.round(x, decimals) * x).sum())(x), np.round(x, decimals)
    )


def test_round_of_other_kinds():
    assert round(wy.Variable(2.5)).item() == 2.0
    assert round(wy.Variable(2.55), 1).item() == round(np.float64(2.55), 1)
    # An array of NumPy's has no __round__.
    with pytest.raises(TypeError, match=r"use np.round"):
        round(wy.Variable([2.5, 1.0]), 1)
    assert np.round(wy.Variable(np.float32(1.26)), 1).dtype == np.float32
    assert np.isnan(np.round(wy.Variable(np.nan), 1).item())
    for dtype, most in ((np.float32, 38), (np.float64, 308)):
        v = wy.Variable(np.ones(1, dtype))
        assert np.round(v, most).value == np.round(v, -most).value + 1.0 == 1.0
        with pytest.raises(ValueError, match=f"decimals: expected -{most} to {most}"):
            np.round(v, most + 1)
    with pytest.raises(TypeError):
        np.round(wy.Variable(1.0), 1.5)


def test_format():
    v = wy.Variable([1.23456, -2.0])
    assert f"{v[0]:.3f}|{v[1]:+08.2f}|{np.sum(v):e}" == "1.235|-0002.00|-7.654400e-01"
    assert f"{v}" == str(v)
    assert f"{wy.IndexInput(3):03d}" == "003"
    printed = []
    wy.grad(lambda x: printed.append(f"{x * 2.0:.1f}") or x * x)(3.0)
    assert printed == ["6.0"]
    with pytest.raises(TypeError, match=r"format: '.3f' is for numbers, .* shape \(2,\)"):
        f"{v:.3f}"
    with pytest.raises(ValueError, match="format"):
        f"{v[0]:nonsense}"


def test_lists_and_reversed():
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    v = wy.Variable(x)
    assert v.tolist() == x.tolist()
    assert wy.Variable(1.5).tolist() == 1.5
    np.testing.assert_array_equal([row.value for row in reversed(v)], x[::-1])
    got = wy.grad(lambda x: sum(k * row.sum() for k, row in enumerate(reversed(x))))(x)
    np.testing.assert_array_equal(got, [[1.0, 1.0], [0.0, 0.0]])
    with pytest.raises(TypeError, match="without axes"):
        reversed(v[0, 0])


@pytest.mark.parametrize("f", BINARY)
@pytest.mark.parametrize("x", [2.5, 3.0, X, X.astype(np.float32)])
def test_integers_of_a_derived_class_are_integers(f, x):
    v = wy.Variable(x)
    for got, expected in [
        (f(v, Level.THREE), f(x, Level.THREE)),
        (f(Level.THREE, v), f(Level.THREE, x)),
    ]:
        pairs = zip(got, expected, strict=True) if f is divmod else [(got, expected)]
        for one, other in pairs:
            np.testing.assert_array_equal(getattr(one, "value", one), other)


def test_integers_of_a_derived_class_widen_float32_as_numpys_do():
    x = X.astype(np.float32)
    assert (wy.Variable(x) * Level.THREE).dtype == (x * Level.THREE).dtype


def test_integers_of_a_derived_class_have_no_effect_on_gradients():
    assert wy.grad(lambda x: x**Level.THREE / Level.THREE - Level.ONE)(2.0) == 4.0
    assert wy.grad(lambda x: x if x > Level.ONE else -x)(2.0) == 1.0
    with pytest.raises(ZeroDivisionError):
        wy.grad(lambda x: x / enum.IntEnum("Zero", {"NONE": 0}).NONE)(2.0)
    y = wy.array(X)
    y[0] = Level.THREE
    assert y[0].item() == 3.0


class Half(float):
    """Floats of a class of their own, as units of measure have."""


class Count(int):
    """Integers of a class of their own."""


class Measured(np.float64):
    """Numbers of NumPy's of a class of their own."""


NUMBERS = [Half(2.5), Count(3), *Level, Measured(2.5), True]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: type(number).__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_of_subclasses_are_numbers(number, dtype):
    x = X.astype(dtype)
    binary = [*BINARY, np.add, np.maximum, np.power, np.arctan2, np.floor_divide, np.equal]
    calls = [lambda v, of=of: of(v, number) for of in binary]
    calls += [lambda v, of=of: of(number, v) for of in binary]
    calls += [
        lambda v: np.where(v > 0.0, number, v),
        lambda v: np.clip(v, -number, number),
        lambda v: np.full_like(v, number),
        lambda v: np.sum(v, initial=number),
        lambda v: np.stack([v[0], number]),
    ]
    for k, call in enumerate(calls):
        made, expected = call(wy.Variable(x)), call(x)
        pairs = (
            zip(made, expected, strict=True) if isinstance(expected, tuple) else [(made, expected)]
        )
        for one, other in pairs:
            assert (
                np.asarray(wy.stop_gradient(one).value).dtype == other.dtype or other.dtype == bool
            ), k
            np.testing.assert_allclose(
                wy.stop_gradient(one).value, other, rtol=1e-6, err_msg=str(k)
            )
    leaf = wy.Input(x)
    leaf.value = np.full(3, number, dtype)
    y = wy.array(x)
    y[0] = number
    y += number
    assert y.value[0] == 2 * dtype(number)


def test_floats_of_subclasses_divide_as_pythons():
    def f(x, by):
        return x / by

    for zero in (Half(0.0), Count(0)):
        with pytest.raises(ZeroDivisionError):
            wy.grad(lambda x, zero=zero: f(x, zero), mode="trace")(1.0)
    assert wy.grad(lambda x: x * Half(2.0), mode="trace")(Half(3.0)) == 2.0
    assert wy.vjp(lambda x: x * Half(2.0), 3.0)[1](Half(1.0)) == (2.0,)
