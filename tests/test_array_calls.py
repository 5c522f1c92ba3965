"""How NumPy's array functions may be called for variables, and what they refuse.

What they compute is tested in test_arrays.py.
"""

import inspect

import numpy as np
import pytest

import wyrmling as wy


def called_like(theirs, ours):
    """Names of functions of NumPy's module that ours has too, and that NumPy dispatches."""
    for name in ours.__all__:
        function = vars(theirs).get(name)
        # What has no array among its arguments, or makes one of anything, is not dispatched.
        if hasattr(function, "__array_function__") or hasattr(function, "_implementation"):
            yield name


NAMES = [(np, name) for name in called_like(np, wy)]
NAMES += [(np.linalg, name) for name in called_like(np.linalg, wy.linalg)]


@pytest.mark.parametrize(("module", "name"), NAMES, ids=lambda x: getattr(x, "__name__", x))
def test_every_exported_function_of_numpy_is_called_for_variables(module, name):
    """With a variable for each argument that has no default, or what the function needs there."""
    function = getattr(module, name)
    x, row = wy.Variable(np.eye(2)), wy.Variable([1.0, 2.0, 3.0])
    by_function = {
        "convolve": [row, row],
        "correlate": [row, row],
        "cross": [row, row],
        "dsplit": [wy.Variable(np.ones((1, 1, 2))), 1],
        "einsum": ["ij->i", x],
        "full_like": [x, 1.0],
        "where": [x > 0.0, x, x],
    }
    by_name = {"axis": 0, "axis1": 0, "axis2": 1, "source": 0, "destination": 0, "repeats": 2}
    by_name |= {"indices": [[0, 0]], "q": 0.5, "n": 2, "shift": 1, "pad_width": 1, "reps": 2}
    by_name |= {"shape": (2, 2), "indices_or_sections": 1, "arrays": [x, x], "tup": [x, x]}
    parameters = inspect.signature(function).parameters.values()
    needed = [p for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    got = function(*by_function.get(name, [by_name.get(p.name, x) for p in needed]))
    parts = got if isinstance(got, tuple | list) else [got]
    assert parts
    assert all(isinstance(part, wy.Variable) for part in parts)


@pytest.mark.parametrize(
    ("error", "match", "call"),
    [
        (ValueError, "axis 2 is out of range", lambda v: np.cumsum(v, 2)),
        (ValueError, "axis 5 is out of range", lambda v: np.sort(v, 5)),
        (ValueError, "axis -3 is out of range", lambda v: np.prod(v, -3)),
        (ValueError, "given twice", lambda v: np.var(v, (0, 0))),
        (ValueError, "no elements", lambda v: np.argmax(v[:0], 0)),
        (ValueError, "median of no elements", lambda v: np.median(v[:0])),
        (ValueError, "q: expected shares from 0 to 1, got 1.5", lambda v: np.quantile(v, 1.5)),
        (ValueError, "q: expected shares from 0 to 100, got 200", lambda v: np.percentile(v, 200)),
        (ValueError, "method", lambda v: np.quantile(v, 0.5, method="nearest")),
        (ValueError, "equal parts", lambda v: np.split(v, 3)),
        (TypeError, "indices_or_sections: .* got 'a'", lambda v: np.split(v, "a")),
        (TypeError, "indices_or_sections: .* got .1.5.", lambda v: np.array_split(v, [1.5])),
        (ValueError, "indices_or_sections", lambda v: np.array_split(v, 0)),
        (ValueError, "3 or more axes", lambda v: np.dsplit(v, 2)),
        (ValueError, "mode", lambda v: np.pad(v, 1, "linear_ramp")),
        (ValueError, "negative", lambda v: np.pad(v, -1)),
        (TypeError, "pad_width", lambda v: np.pad(v, 1.5)),
        (ValueError, "repeats", lambda v: np.repeat(v, -1)),
        (TypeError, "repeats: .* got 1.5", lambda v: np.repeat(v, 1.5)),
        (TypeError, r"repeats: .* got \[\[1, 2\]\]", lambda v: np.repeat(v, [[1, 2]])),
        (TypeError, "repeat: axis: .* got 'a'", lambda v: np.repeat(v, 2, axis="a")),
        (TypeError, "var: axis: .* got 1.5", lambda v: np.var(v, axis=1.5)),
        (TypeError, "k: expected an integer, got 'a'", lambda v: np.rot90(v, "a")),
        (ValueError, "reps", lambda v: np.tile(v, -1)),
        (TypeError, "reps: .* got 1.5", lambda v: np.tile(v, 1.5)),
        (TypeError, "shift: .* got 1.5", lambda v: np.roll(v, 1.5)),
        (TypeError, "list of axes, got Variable", lambda v: np.einsum(v)),
        (TypeError, "list of axes, got int", lambda v: np.einsum(v, 1)),
        (ValueError, "axes: .* got -1", lambda v: np.einsum(v, [0, -1])),
        (TypeError, "axes: .* 0.5", lambda v: np.einsum(v, [0, 0.5])),
        (ValueError, "order", lambda v: np.ravel(v, "K")),
        (ValueError, "3 components", lambda v: np.cross(v, v)),
        (ValueError, "vector", lambda v: np.convolve(v, v)),
        (ValueError, "mode", lambda v: np.convolve(v[0], v[0], "most")),
        (ValueError, "differ in length", lambda v: np.tensordot(v, np.ones((3, 2)), 1)),
        (ValueError, "axes: 3", lambda v: np.tensordot(v, v, 3)),
        (TypeError, "axes: .* got {}", lambda v: np.tensordot(v, v, {})),
        (TypeError, "axes: .* got 1.5", lambda v: np.tensordot(v, v, 1.5)),
        (ValueError, "weights", lambda v: np.average(v, weights=[1.0, 2.0])),
        (IndexError, "out of range", lambda v: np.take(v, 4)),
        (IndexError, "out of range", lambda v: np.take_along_axis(v, np.array([[2]]), 0)),
        (ValueError, "do not have the axes", lambda v: np.take_along_axis(v, np.array([0]), 0)),
        (ValueError, "mode", lambda v: np.take(v, 0, mode="any")),
        (TypeError, "float32 or float64, not int64", lambda v: v.astype(np.int64)),
        (ValueError, "n: expected 0 or more", lambda v: np.diff(v, -1)),
        (TypeError, "n: expected an integer, got 1.5", lambda v: np.diff(v, 1.5)),
        (ValueError, "num", lambda v: np.linspace(v, 1.0, -1)),
        (ValueError, "indexing", lambda v: np.meshgrid(v, indexing="xz")),
        (TypeError, "numpy.unwrap is not among", lambda v: np.unwrap(v)),
        (TypeError, "dtype", lambda v: np.cumsum(v, dtype=np.float32)),
        (TypeError, "out", lambda v: np.cumsum(v, out=np.zeros(4))),
    ],
)
def test_errors(error, match, call):
    v = wy.Variable([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(error, match=match):
        call(v)


def test_tensordot_takes_axes_in_an_array():
    x = np.arange(6.0).reshape(2, 3)
    axes = np.array([[0], [0]])
    found = np.tensordot(wy.Variable(x), x, axes)
    np.testing.assert_array_equal(found.value, np.tensordot(x, x, axes))
