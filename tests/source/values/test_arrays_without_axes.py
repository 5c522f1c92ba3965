"""What has no axes is an array or a number as in NumPy: ``+=`` changes all names of an array."""

import linecache

import numpy as np
import pytest

import wyrmling as wy
from wyrmling.source.types.zero_dimensional import FUNCTIONS

ARRAYS = [
    "np.where(x > 0, x, 0.0)",
    "np.select([x > 0], [x], 0.0)",
    "np.piecewise(x, [x < 0, x >= 0], [lambda t: t, lambda t: 2 * t])",
    "np.tensordot(v, v, 1)",
    "np.broadcast_arrays(x, 2.0)[0]",
    "np.apply_along_axis(np.sum, 0, v)",
    "np.expand_dims(x, ())",
    "np.reshape(x, ())",
    "np.squeeze(x)",
    "np.transpose(x)",
    "np.moveaxis(x, [], [])",
    "np.roll(x, 1)",
    "np.i0(x)",
    "np.zeros_like(x)",
    "np.copy(v[0])",
    "wy.where(x > 0, x, 0.0)",
    "v[0, ...]",
    "v[:1].reshape(())",
]
NUMBERS = [
    "np.prod(v)",
    "np.prod(x)",
    "np.flip(x)",
    "np.inner(v, v)",
    "np.linalg.multi_dot([v, v])",
    "np.where(x > 0, x, 0.0)[()]",
    "np.zeros_like(v[0])[()]",
    "v.sum()[()]",
    "v.sum().copy()",
    "np.where(x > 0, x, 0.0) + 0",
    "np.nan_to_num(v[0])",
]


def of(expression, change):
    lines = [f"y = {expression}", "z = y", f"z {change}", "return y * x + v[0]"]
    text = "\n    ".join(["def f(x, v):", *lines]) + "\n"
    name = f"<{expression} {change}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space = {"np": np, "wy": wy}
    exec(compile(text, name, "exec"), space)
    return space["f"]


@pytest.mark.parametrize("change", ["+= 2.0", "*= x", "-= v[1]"])
@pytest.mark.parametrize("expression", ARRAYS + NUMBERS)
def test_names_of_one_array_see_what_is_added_in_place(expression, change):
    f = of(expression, change)
    x, v = 1.5, np.array([2.0, 3.0])
    expected = f(x, v.copy())
    step = 1e-6
    slope = (f(x + step, v.copy()) - f(x - step, v.copy())) / (2 * step)
    for mode in ("trace", "auto", "source"):
        g = wy.value_and_grad(f, (0, 1), mode=mode)
        for _ in range(3 if mode == "auto" else 1):
            try:
                value, (found, _) = g(x, v.copy())
            except wy.SourceError:
                assert mode == "source"
                continue
            np.testing.assert_allclose([value, found], [expected, slope], rtol=1e-6)


@pytest.mark.parametrize("expression", ARRAYS)
def test_the_arrays_are_numpys(expression):
    """Else the test above tests nothing."""
    y = eval(expression, {"np": np, "wy": wy, "x": 1.5, "v": np.array([2.0, 3.0])})
    assert isinstance(y, np.ndarray)


JOINERS = ["column_stack", "concatenate", "dstack", "hstack", "stack", "vstack"]
GIVEN = [
    "np.{}(x)",
    "np.{}([x, 2 * x])",
    "np.{}(x, 0.5)",
    "np.{}(0.5, x)",
    "np.{}((x, 0.5))",
    "np.{}(x > 0, x, 1.0)",
    "np.{}(x, 0.1, 0.7)",
    "np.{}(x, axis=None)",
    "np.{}(x, 2)",
    "np.{}(2, x)",
    "np.{}(x, [0.0, 1.0], [x, 2.0])",
    "np.{}([[x], [0.5]])",
]


def numpys(expression):
    text = f"def f(x):\n    return {expression}\n"
    name = f"<given {expression}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space = {"np": np}
    exec(compile(text, name, "exec"), space)
    return space["f"]


def kinds(result):
    if isinstance(result, tuple | list):
        return type(result), [kinds(one) for one in result]
    return type(result), np.shape(result), np.asarray(result).dtype


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", [*sorted(FUNCTIONS - {"item"}), *JOINERS, "exp", "hypot"])
def test_functions_of_one_that_is_given_are_numpys(name, dtype):
    """Of the type and kind that NumPy gives, wherever the function is read."""
    read = 0
    for form in GIVEN:
        f = numpys(form.format(name))
        x = np.array(0.6, dtype)
        try:
            expected = f(x)
        except (TypeError, ValueError, IndexError, AttributeError):
            continue
        try:
            found = wy.compile(f, mode="source")(x)
        except wy.SourceError:
            continue
        read += 1
        assert kinds(found) == kinds(expected), form
        np.testing.assert_allclose(found, expected, rtol=1e-6, err_msg=form)
        assert x == dtype(0.6)
    assert read


@pytest.mark.parametrize("expression", ["np.asarray(x)", "np.atleast_1d(x)", "np.transpose(x)"])
def test_what_may_be_the_array_itself_is_refused(expression):
    with pytest.raises(wy.SourceError):
        wy.compile(numpys(expression), mode="source")(np.array(0.6))


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite", "signbit", "exp"])
def test_what_is_written_to_is_refused(name):
    """The second argument of a function of one is where it writes."""
    f = numpys(f"np.{name}(1.7, x)")
    with pytest.raises(wy.SourceError, match="writes to such an array"):
        wy.compile(f, mode="source")(np.array(0.6))
    x = np.array(0.6)
    assert wy.compile(f)(x) is x or name == "signbit"


def test_attributes_and_methods_of_one_that_is_given():
    def f(x, scale):
        kinds = x.ndim + x.size + len(x.shape) + (x.dtype == np.float32)
        return x.sum() * x.item() + x.clip(0.1, 0.5) * scale + x[()] * kinds + x.mean() * x.max()

    for x in (np.array(0.6), np.array(0.6, np.float32)):
        value, slope = wy.value_and_grad(f, 1, mode="source")(x, 2.0)
        assert value == pytest.approx(f(x, 2.0), rel=1e-6)
        assert slope == 0.5


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("f", "slope"),
    [
        (lambda x: np.sin(x) * x, lambda x: np.cos(x) * x + np.sin(x)),
        (lambda x: x**3 + x**2 - 2.0**x, lambda x: 3 * x * x + 2 * x - np.log(2) * 2.0**x),
        (lambda x: (x * np.arange(3.0)).sum() if x > 1 else x, lambda x: 3.0),
        (lambda x: 2.0, lambda x: 0.0),
        (lambda x: x, lambda x: 1.0),
    ],
)
def test_a_gradient_by_one_is_one(f, slope, dtype):
    x = np.array(1.5, dtype)
    for mode in ("source", "auto", "trace"):
        both = wy.value_and_grad(f, mode=mode)
        for derived in (wy.grad(f, mode=mode), lambda x, both=both: both(x)[1]):
            found = [derived(x) for _ in range(3)]
            assert all(type(one) is np.ndarray and one.dtype == dtype for one in found)
            assert all(one == pytest.approx(slope(1.5), rel=1e-6) for one in found)


def test_of_a_gradient_by_one_only_the_first_is_read():
    for transform in (wy.hessian, wy.jacrev, wy.jacfwd):
        with pytest.raises(wy.SourceError, match="another derivative than grad"):
            transform(lambda x: x * x, mode="source")(np.array(1.5))
        assert transform(lambda x: x * x)(np.array(1.5)).shape == ()
