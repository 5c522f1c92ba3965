"""Every public function of NumPy, and every method of its arrays, given a variable: the tables of
those that are here and of those that are refused have no gap.

Functions with a gradient are in the cases of test_arrays and test_operators, or in the rule table;
those that ask once are in ``array_cases.ONCE``, and tested here: by value, by finite differences
through the transform and the frozen graph.
"""

import array_cases
import numpy as np
import pytest
from conftest import numeric_gradient

import wyrmling as wy


def drawn(shapes, dtype=np.float64):
    rng = np.random.default_rng(3)
    return [rng.uniform(0.3, 2.0, shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("name", array_cases.ONCE)
def test_those_that_ask_once(name):
    f, shapes = array_cases.ONCE[name]
    args = drawn(shapes)
    expected = f(*args)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, expected.shape)
    value, pull = wy.vjp(f, *args)
    np.testing.assert_allclose(value, expected, rtol=1e-10)
    leaves = [wy.Variable(a) for a in args]
    program = wy.freeze((f(*leaves) * weights).sum())
    frozen = program.value_and_grad()[1]
    for k, (found, leaf) in enumerate(zip(pull(weights), leaves, strict=True)):
        numeric = numeric_gradient(lambda *a: f(*a) * weights, args, k)
        np.testing.assert_allclose(found, numeric, rtol=1e-5, atol=1e-5)
        again = frozen[leaf]
        again = again if isinstance(again, np.ndarray) else again.to_dense()
        np.testing.assert_allclose(again, found, rtol=1e-9, atol=1e-9)
    wy.check_grads(f, args, atol=1e-4, rtol=1e-4)
    single = [a.astype(np.float32) for a in args]
    assert f(*[wy.Variable(a) for a in single]).dtype == f(*single).dtype
    with pytest.raises(TypeError, match="follows an input"):
        f(*[wy.Input(a) for a in args])
