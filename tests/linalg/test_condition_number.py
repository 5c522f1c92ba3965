"""Condition numbers of singular matrices, and of what is no number, against NumPy."""

import numpy as np
import pytest

import wyrmling as wy

ORDERS = [None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"]
MATRICES = {
    "regular": np.array([[2.0, 1.0], [-1.0, 4.0]]),
    "zero": np.zeros((2, 2)),
    "number zero": np.zeros((1, 1)),
    "of rank 1": np.ones((2, 2)),
    "one of several": np.stack([np.eye(2), np.zeros((2, 2)), [[1.0, 2.0], [3.0, 4.0]]]),
    "of several none": np.zeros((0, 2, 2)),
    "infinite": np.array([[1.0, np.inf], [0.0, 1.0]]),
    "NaN": np.array([[1.0, np.nan], [0.0, 1.0]]),
}


def number_of(matrix, order):
    """NumPy's, but that it has no nuclear norm of an inverse that is not there."""
    if order == "nuc" and np.linalg.det(matrix) == 0.0:
        return np.inf
    return np.linalg.cond(matrix, order)


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_condition_numbers_are_numpys(name, order):
    """Those of singular matrices are infinite, whatever the order. What needs a singular value of
    something that is no number raises, as everywhere in ``linalg``.
    """
    x = MATRICES[name]
    if name in ("infinite", "NaN") and order in (None, 2, -2, "nuc"):
        with pytest.raises(np.linalg.LinAlgError, match="NaN or infinite"):
            np.linalg.cond(wy.Variable(x), order)
        return
    each = [number_of(matrix, order) for matrix in x.reshape(-1, *x.shape[-2:])]
    expected = np.reshape(each, x.shape[:-2])
    got = np.linalg.cond(wy.Variable(x), order)
    assert got.shape == np.shape(expected)
    single = np.linalg.cond(wy.Variable(x.astype(np.float32)), order)
    assert single.dtype == np.float32
    if order in (None, 2, -2) and name == "of rank 1":  # NumPy rounds its smallest value, too
        assert got.value > 1e15 or got.value < 1e-15
    else:
        np.testing.assert_allclose(got.value, expected, rtol=1e-12)


@pytest.mark.parametrize("order", [None, 1, "fro"])
@pytest.mark.parametrize("name", ["zero", "number zero"])
def test_no_gradient_of_a_singular_matrix_is_a_number(name, order):
    gradient = wy.grad(lambda x: np.linalg.cond(x, order))(MATRICES[name])
    assert not np.isfinite(gradient).any()


@pytest.mark.parametrize("order", [1, -np.inf, "fro"])
def test_derivatives_of_regular_matrices_stay(order, rng):
    x = rng.normal(size=(3, 3)) + 3 * np.eye(3)
    wy.check_grads(lambda x: np.linalg.cond(x, order), (x,), order=2)


def test_a_frozen_condition_number_is_that_of_each_run():
    x = wy.Input(MATRICES["regular"])
    program = wy.freeze(np.linalg.cond(x, 1))
    for name in ("regular", "of rank 1", "zero"):
        expected = np.linalg.cond(MATRICES[name], 1)
        np.testing.assert_allclose(program.run({x: MATRICES[name]}), expected)
