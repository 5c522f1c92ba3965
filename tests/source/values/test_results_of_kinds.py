"""Functions whose result is a number on some ways and an array on others, as a sum is that starts
at 0.0: what is compiled is for what the result is where it was read, and leaves for the rest.
"""

import itertools

import numpy as np
import pytest
from outcomes import leaves

import wyrmling as wy

MODES = ["source", "auto"]


def summed(x, n=2):
    total = 0.0
    for k in range(n):
        total = total + x * x * (k + 1.0)
    return total


def by_a_branch(x, n=2):
    if n > 5:
        return 1.5
    return np.sin(x) * n


def two_arrays(x, n=2):
    if n == 0:
        return 0.0
    if n == 1:
        return x * 3.0
    return np.outer(x, x).sum(axis=0) if n == 2 else np.cumsum(x)


def itself(x, n=2):
    return x if n == 2 else 0.0


def widened(x, n=2):
    return x.astype(np.float64) * n if n > 1 else x * x


TRANSFORMS = {
    "elementwise_grad": lambda f, m, x, n: wy.elementwise_grad(f, mode=m)(x, n),
    "jacrev": lambda f, m, x, n: wy.jacrev(f, mode=m)(x, n),
    "jacfwd": lambda f, m, x, n: wy.jacfwd(f, mode=m)(x, n),
    "jvp": lambda f, m, x, n: wy.jvp(lambda x: f(x, n), (x,), (x,), mode=m),
    "vjp": lambda f, m, x, n: pulled(*wy.vjp(lambda x: f(x, n), x, mode=m)),
    "aux": lambda f, m, x, n: wy.grad(lambda x: (np.sum(x), f(x, n)), has_aux=True, mode=m)(x),
}


def pulled(value, pullback):
    return value, pullback(value)


def agree(found, wanted):
    for one, other in zip(leaves(found), leaves(wanted), strict=True):
        assert type(one) is type(other)
        assert (np.shape(one), np.asarray(one).dtype) == (np.shape(other), np.asarray(other).dtype)
        np.testing.assert_allclose(
            one, other, rtol=1e-6 if np.asarray(one).itemsize == 4 else 1e-13
        )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("f", [summed, by_a_branch, two_arrays, itself, widened])
def test_each_way_in_turn(f, name, mode, dtype):
    x = np.array([0.5, 1.5, -2.0], dtype)
    for n in (2, 2, 0, 2, 1, 7, 2, 3, 0, 0, 2):
        try:
            found = TRANSFORMS[name](f, mode, x, n)
        except wy.SourceError:
            # What may be an argument's array, and the pullback of a number that is a constant.
            assert mode == "source"
            assert f is itself or name == "vjp"
            continue
        agree(found, TRANSFORMS[name](f, "trace", x, n))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_sum_is_compiled(name, monkeypatch):
    """It is not left at each call, and traced then."""
    x = np.array([0.5, 1.5])
    wanted = TRANSFORMS[name](summed, "trace", x, 3)

    def traced(*args, **kwargs):
        raise AssertionError("it was traced")

    monkeypatch.setattr("wyrmling.transforms.tracing.Run.__init__", traced)
    for _ in range(3):
        agree(TRANSFORMS[name](summed, "source", x, 3), wanted)


def from_the_integer_zero(x, n=2):
    return sum(x[k] ** 3 for k in range(n))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_sum_of_elements_has_their_type(dtype):
    """It is the integer 0 before the first turn, and a number of the array after it."""
    x = np.array([0.5, 1.5], dtype)
    gradients = [wy.grad(from_the_integer_zero, mode=mode)(x) for mode in ("source", "trace")]
    agree(*gradients)
    agree(*[wy.hessian(from_the_integer_zero, mode=mode)(x) for mode in ("source", "trace")])
    assert gradients[0].dtype == dtype
    with pytest.raises(TypeError, match="got int 0"):
        wy.grad(from_the_integer_zero, mode="source")(x, 0)


WITHOUT_AXES = [
    lambda x, n=2: np.tensordot(x, x, 1) * n,
    lambda x, n=2: np.where(x[0] > 0.0, x[0] ** n, x[1]),
    lambda x, n=2: np.squeeze(x[:1] ** n),
    lambda x, n=2: max(np.tensordot(x, x, 1), x[0]),
]


@pytest.mark.parametrize("f", WITHOUT_AXES)
@pytest.mark.parametrize("name", TRANSFORMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_an_array_without_axes_is_a_number(f, name, dtype, monkeypatch):
    """As it is where it is traced, and what is read is not traced."""
    x = np.array([0.5, 1.5], dtype)
    wanted = TRANSFORMS[name](f, "trace", x, 2)
    pair = wy.grad(lambda x: (f(x), [f(x)]), has_aux=True, mode="trace")(x)

    def traced(*args, **kwargs):
        raise AssertionError("it was traced")

    monkeypatch.setattr("wyrmling.transforms.tracing.Run.__init__", traced)
    agree(TRANSFORMS[name](f, "source", x, 2), wanted)
    agree(wy.grad(lambda x: (f(x), [f(x)]), has_aux=True, mode="source")(x), pair)


@pytest.mark.parametrize("f", WITHOUT_AXES[:3])
def test_the_gradient_of_one_within_a_function(f):
    x = np.array([0.5, 1.5])
    found = wy.grad(lambda x: np.sum(wy.grad(f)(x) ** 2), mode="source")(x)
    agree(found, wy.grad(lambda x: np.sum(wy.grad(f)(x) ** 2), mode="trace")(x))


@pytest.mark.parametrize("mode", ["auto", "source", "trace"])
@pytest.mark.parametrize("seed", [np.array(1j), np.array(1, np.float16), np.array("2.0")])
def test_a_gradient_of_a_number_has_its_type(mode, seed):
    _, pull = wy.pullback(lambda x: np.squeeze(x[:1]) ** 2, np.array([0.5, 1.5]), mode=mode)
    for two in (np.array(2.0), np.array(2), np.array(2, np.float32)):
        np.testing.assert_array_equal(pull(two)[0], [2.0, 0.0])
    with pytest.raises(TypeError):
        pull(seed)


@pytest.mark.parametrize("number", [lambda x: x[0], np.max, lambda x: np.float64(x[0])])
def test_a_number_that_is_indexed_by_nothing_is_a_number(number):
    """Who adds to it has another one, and leaves other names as they were."""

    def f(x):
        y = number(x)[()]
        z = y
        y += 1.0
        return z * y

    x = np.array([0.3])
    compiled = wy.compile(f)
    assert [compiled(x) for _ in range(3)] == [f(x)] * 3
    np.testing.assert_allclose(wy.grad(f, mode="source")(x), [1.6])


def test_what_python_refuses_is_refused_in_each_call():
    def never_ends(x):
        return sum(itertools.repeat(x, None))

    def adds_two(x):
        found = {1}
        found.add(1, 2)
        return x * len(found)

    for f in (never_ends, adds_two):
        compiled = wy.compile(f)
        for _ in range(3):
            with pytest.raises(TypeError):
                compiled(0.5)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [float, int])
def test_the_truth_of_an_array_is_that_of_its_only_element(mode, dtype):
    def signed(x, array):
        return x if array else -x

    given = [np.array([3], dtype), np.array([0], dtype), np.array([[2]], dtype)]
    compiled = wy.compile(signed, mode=mode)
    for _ in range(3):
        for array, expected in zip(given, [1.5, -1.5, 1.5], strict=True):
            assert compiled(1.5, array) == expected
        for array in (np.array([1, 2], dtype), np.array([[0], [0]], dtype)):
            with pytest.raises(ValueError, match="ambiguous"):
                compiled(1.5, array)
