"""Plain in, plain out: without a variable among the arguments every public function is plain.

Each has an example here, which is called with arrays of several types, with lists and with numbers,
and compared with NumPy's or SciPy's function; and with a variable in the place of each array.
"""

import itertools
import pickle
from collections import deque

import numpy as np
import pytest

import wyrmling as wy
from wyrmling import _core, plain


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
