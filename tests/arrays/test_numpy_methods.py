"""Every method and attribute of NumPy's arrays, and every method of its ufuncs, on a variable: as
NumPy's, or refused with what to use in its place.
"""

import array_cases
import numpy as np
import pytest
from test_numpy_coverage import X, public

import wyrmling as wy
from wyrmling import variable

METHODS = {
    "T": lambda x: x.T * 1.0,
    "all": lambda x: x.all(1, keepdims=True),
    "any": lambda x: x.any(axis=0, where=X > 1.0),
    "argmax": lambda x: x.argmax(1),
    "argmin": lambda x: x.argmin(axis=0, keepdims=True),
    "argpartition": lambda x: np.sort(x.argpartition(1)),
    "argsort": lambda x: x.argsort(axis=0, kind="stable"),
    "astype": lambda x: x.astype(np.float32, order="C", casting="same_kind", copy=False),
    "choose": None,
    "clip": lambda x: x.clip(0.0, 2.0),
    "compress": lambda x: x.compress([True, False], axis=0),
    "conj": lambda x: x.conj(),
    "conjugate": lambda x: x.conjugate(),
    "copy": lambda x: x.copy(order="F"),
    "cumprod": lambda x: x.cumprod(axis=1, dtype=np.float64),
    "cumsum": lambda x: x.cumsum(0, np.float64),
    "diagonal": lambda x: x.diagonal(1),
    "dot": lambda x: x.dot([1.0, 2.0, 3.0]),
    "dtype": lambda x: x.dtype,
    "fill": lambda x: x.fill(2.0),
    "flatten": lambda x: x.flatten("F"),
    "imag": lambda x: x.imag,
    "item": lambda x: x[0, 0].item(),
    "itemsize": lambda x: x.itemsize,
    "max": lambda x: x.max(axis=1, initial=2.5, keepdims=True),
    "mean": lambda x: x.mean(0, np.float32),
    "min": lambda x: x.min(initial=0.0, where=X > 1.0),
    "nbytes": lambda x: x.nbytes,
    "ndim": lambda x: x.ndim,
    "nonzero": lambda x: x.nonzero()[1],
    "partition": lambda x: x.partition(1),
    "prod": lambda x: x.prod(axis=(0, 1), dtype=np.float64, initial=2.0),
    "put": lambda x: x.put([0, 5], [7.0, 8.0]),
    "ravel": lambda x: x.ravel(order="C"),
    "real": lambda x: x.real,
    "repeat": lambda x: x.repeat(2, axis=1),
    "reshape": lambda x: x.reshape(3, 2, order="F"),
    "round": lambda x: x.round(decimals=1),
    "searchsorted": lambda x: np.sort(X[0]).searchsorted(1.7),
    "shape": lambda x: x.shape,
    "size": lambda x: x.size,
    "sort": lambda x: x.sort(axis=0),
    "squeeze": lambda x: x[:1].squeeze(0) * 1.0,
    "std": lambda x: x.std(ddof=1, axis=1),
    "sum": lambda x: x.sum(axis=1, dtype=np.float32),
    "swapaxes": lambda x: x.swapaxes(0, 1) * 1.0,
    "take": lambda x: x.take([0, -1], axis=1),
    "tolist": lambda x: x.tolist(),
    "trace": lambda x: x.trace(offset=1),
    "transpose": lambda x: x.transpose(1, 0) * 1.0,
    "var": lambda x: x.var(0, ddof=1, keepdims=True),
}
if array_cases.NEW:
    METHODS |= {
        "device": lambda x: x.device,
        "mT": lambda x: x.mT * 1.0,
        "to_device": lambda x: x.to_device("cpu"),
    }


def test_no_method_of_arrays_is_forgotten():
    names = {name for name in dir(np.ndarray) if not name.startswith("_")}
    names -= {"newbyteorder", "itemset", "ptp"}  # those that NumPy 2 gave up
    assert names - set(variable.REFUSED) == set(METHODS)


@pytest.mark.parametrize("name", [name for name, call in METHODS.items() if call])
def test_methods_are_numpys(name):
    call = METHODS[name]
    plain, made = X.copy(), wy.Variable(X) * 1.0
    expected, got = call(plain), call(made)
    np.testing.assert_allclose(made.value, plain)
    got = got.value if isinstance(got, wy.Variable) else got
    if expected is None:
        assert got is None
        return
    if isinstance(expected, str | np.dtype):
        assert got == expected
        return
    np.testing.assert_allclose(got, expected, rtol=1e-6)
    if isinstance(expected, np.ndarray):
        # Indices that can change are uint32.
        kinds = [np.asarray(x).dtype.kind.replace("u", "i") for x in (got, expected)]
        assert kinds[0] == kinds[1]
        assert expected.dtype.kind != "f" or got.dtype == expected.dtype


@pytest.mark.parametrize("name", variable.REFUSED)
def test_attributes_that_are_refused_say_what_to_use(name):
    with pytest.raises(AttributeError, match=rf"a Variable has no attribute '{name}': \w.{{9}}"):
        getattr(wy.Variable(X), name)
    assert not hasattr(wy.Variable(X), name)


UFUNCS = [f for _, f in public() if isinstance(f, np.ufunc)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda f: f.__name__)
def test_methods_of_ufuncs_are_numpys_or_refused(ufunc):
    x = np.abs(X) + 0.5
    calls = {
        "reduce": lambda x: ufunc.reduce(x, axis=1),
        "accumulate": lambda x: ufunc.accumulate(x, axis=1),
        "outer": lambda x: ufunc.outer(x, x[0]),
        "reduceat": lambda x: ufunc.reduceat(x, [0, 2, 1], axis=1),
    }
    for call in calls.values():
        try:
            expected = call(x)
        except (TypeError, ValueError, RuntimeError):
            expected = None
        try:
            got = call(wy.Variable(x))
        except (TypeError, ValueError, RuntimeError) as error:
            text = str(error)
            assert expected is None or (
                ufunc.__name__ in text and len(text) > len(ufunc.__name__) + 20
            ), text
            continue
        got = got if isinstance(got, tuple) else (got,)
        expected = expected if isinstance(expected, tuple) else (expected,)
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_allclose(getattr(one, "value", one), other, rtol=1e-12)


def test_plain_arrays_are_clipped_to_variables():
    bounded = {
        "both": lambda x: X.clip(0.3, x),
        "one": lambda x: X.clip(x),
        "a number": lambda x: np.float64(2.0).clip(min=0.5, max=x),
    }
    for clipped in bounded.values():
        found = wy.grad(lambda x, f=clipped: np.sum(f(x)), mode="trace")(1.25)
        assert found == np.sum(clipped(1.25) == 1.25)


@pytest.mark.parametrize("method", ["mean", "var", "std"])
def test_methods_of_plain_arrays_refuse_a_variable_as_out(method):
    # NumPy would divide the sum that it is given by the number of elements, and lose the result.
    plain, out = np.arange(6.0).reshape(2, 3), wy.array(np.zeros(3))
    with pytest.raises(TypeError, match=r"add.reduce: out: .*call np\.sum\(array, out=x\)"):
        getattr(plain, method)(0, out=out)
    assert not out.value.any()
    assert getattr(np, method)(plain, 0, out=out) is out
    np.testing.assert_allclose(out.value, getattr(plain, method)(0))
