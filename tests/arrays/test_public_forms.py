"""Public forms of functions: where they look for variables, what they stand for, and what reaches
NumPy's function if there is none. Each function has an example in test_plain.py.
"""

import itertools
import pickle
from collections import deque

import numpy as np
import pytest

import wyrmling as wy
from wyrmling import _core, plain

MASK = np.array([True, False, True])


def test_lists_that_hold_themselves_and_deep_ones_have_no_variable():
    x = wy.Variable(1.0)
    circle: list = [1.0]
    circle += [circle, circle, (circle, [circle])]
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    for given in ((circle,), (deep,)):
        assert not _core.has_variable(given, {})
        assert not _core.has_variable((), {"x": given[0]})
    circle[3][1].append((x,))
    assert _core.has_variable((circle,), {})
    while deep:
        deep = deep[0]


@pytest.mark.parametrize("join", [wy.stack, wy.concatenate, wy.vstack, wy.hstack])
def test_a_variable_is_found_wherever_it_stands(join):
    a, x = np.ones(2), wy.Variable([1.0, 2.0])
    for items in ([a, x], (a, x), deque([a, x]), {0: a, 1: x}.values()):
        assert isinstance(join(items), wy.Variable)
    for items in ([a, a], (a, a), deque([a, a]), {0: a, 1: a}.values()):
        assert type(join(items)) is np.ndarray
    assert isinstance(join(v for v in [a, x]), wy.Variable)
    assert type(join(v for v in [a, a])) is np.ndarray
    with pytest.raises(ValueError, match="at most"):
        join(itertools.repeat(a))


def test_a_public_form_says_what_it_stands_for():
    assert plain.inner(wy.exp) is _core.exp
    assert wy.exp.__doc__ == _core.exp.__doc__
    assert wy.exp.__text_signature__ == _core.exp.__text_signature__
    assert wy.exp.__module__ == "wyrmling"
    for function in (wy.exp, wy.cumsum, wy.special.gamma, wy.special.log1p, wy.linalg.det):
        assert pickle.loads(pickle.dumps(function)) is function
    for wrong in (len, wy.cumsum, None, wy.exp.__self__, np.exp):
        with pytest.raises(TypeError):
            _core.public(wrong, "wyrmling", wrong)


def test_plain_arguments_reach_numpys_function_as_they_are():
    x, out = np.array([1.0, 2.0, 3.0]), np.zeros(3)
    assert wy.exp(x, out=out) is out
    np.testing.assert_array_equal(out, np.exp(x))
    assert wy.sum(x, dtype=np.float32, where=MASK).dtype == np.float32
    assert wy.exp([1, 2], dtype=np.float32).dtype == np.float32
    assert type(wy.exp(np.ma.array([1.0], mask=[True]))) is np.ma.MaskedArray
    assert type(wy.cumsum(np.ma.array([1.0], mask=[True]))) is np.ma.MaskedArray
    assert wy.sqrt(-1 + 0j) == 1j
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        wy.log(0.0)
    with pytest.raises(TypeError, match="not supported"):
        wy.exp("a")
    with pytest.raises(ZeroDivisionError):
        wy.average([1.0], weights=[0.0])


def test_arguments_that_ours_have_not_come_back_from_numpy():
    """``out``, ``where`` and ``dtype`` with a variable are what NumPy's function makes of them."""
    v = wy.Variable([1.0, 2.0, 3.0])
    assert wy.sum(v, where=MASK, initial=0.5).item() == 4.5
    assert wy.max(v, where=~MASK, initial=0.5).item() == 2.0
    assert wy.exp(v, dtype=np.float32).dtype == wy.mean(v, dtype=np.float32).dtype == np.float32
    for f in (wy.exp, wy.sum):
        out = wy.array(np.full(np.shape(f(v)), 7.0))
        assert f(v, out=out) is out
        np.testing.assert_array_equal(out.value, f(v).value)
    # What NumPy has in that place is dtype, and keepdims here once was.
    with pytest.raises(TypeError, match="data type"):
        wy.sum(v, 0, True)
    assert wy.sum(v, 0, keepdims=True).shape == (1,)
    assert isinstance(wy.sum(v, **{"".join(["ax", "is"]): 0}), wy.Variable)


def test_a_variable_may_be_any_argument():
    a, v = np.ones(2), wy.Variable([1.0, 2.0])
    assert isinstance(wy.average(a, weights=v), wy.Variable)
    assert isinstance(wy.full(fill_value=v, shape=(2, 2)), wy.Variable)
    assert isinstance(wy.clip(a, None, v), wy.Variable)
    assert isinstance(wy.special.logsumexp(a, b=v), wy.Variable)
    assert isinstance(wy.linalg.multi_dot([np.eye(2), v]), wy.Variable)
    assert isinstance(wy.r_[1.0, v[0]], wy.Variable)
    for leaf in (wy.Parameter(a), wy.Input(a), v, v * 2.0, v[:1]):
        assert isinstance(wy.exp(leaf), wy.Variable)
        assert isinstance(wy.cumsum(leaf), wy.Variable)
    assert isinstance(wy.gather(a, wy.IndexInput([1])), wy.Variable)
    assert isinstance(wy.array(a), wy.Variable)


@pytest.mark.parametrize("name", ["apply_along_axis", "piecewise", "vectorize"])
def test_functions_that_are_given_may_bring_variables(name):
    v, x = wy.Variable(2.0), np.array([[1.0, -3.0]])
    calls = {
        "apply_along_axis": lambda f: wy.apply_along_axis(f, 1, x),
        "piecewise": lambda f: wy.piecewise(x, [x < 0], [f, f]),
        "vectorize": lambda f: wy.vectorize(f)(x),
    }
    found = calls[name](lambda lane: lane * v)
    found.sum().backward()
    np.testing.assert_array_equal(found.value, 2 * x)
    assert v.grad == -2.0
    assert type(calls[name](lambda lane: lane * 2.0)) is np.ndarray
