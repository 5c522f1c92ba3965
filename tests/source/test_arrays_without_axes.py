"""What has no axes is an array or a number as in NumPy: ``+=`` changes all names of an array."""

import linecache

import numpy as np
import pytest

import wyrmling as wy

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
