"""The axes 0 and -1 of a number, which has none: functions of NumPy that take them take them of a
variable, and others raise an error of the same kind. The oracle is the NumPy that is installed.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import wyrmling as wy

Call = Callable[[Any, Any], Any]

# Each with a slope where the result is no number of its own.
CALLS: dict[str, Call] = {
    "sum": lambda x, k: np.sum(x, axis=k),
    "sum keepdims": lambda x, k: np.sum(x, axis=k, keepdims=True),
    "sum where": lambda x, k: np.sum(x, axis=k, where=np.array(True), initial=1.0),
    "max": lambda x, k: np.max(x, axis=k),
    "max initial": lambda x, k: np.max(x, axis=k, initial=1.0),
    "min": lambda x, k: np.min(x, axis=k),
    "amax": lambda x, k: np.amax(x, axis=k),
    "prod": lambda x, k: np.prod(x, axis=k),
    "prod keepdims": lambda x, k: np.prod(x, axis=k, keepdims=True),
    "any": lambda x, k: np.any(x, axis=k),
    "all": lambda x, k: np.all(x, axis=k),
    "mean": lambda x, k: np.mean(x, axis=k),
    "var": lambda x, k: np.var(x, axis=k),
    "std": lambda x, k: np.std(x, axis=k),
    "ptp": lambda x, k: np.ptp(x, axis=k),
    "median": lambda x, k: np.median(x, axis=k),
    "average": lambda x, k: np.average(x, axis=k),
    "quantile": lambda x, k: np.quantile(x, 0.5, axis=k),
    "cumsum": lambda x, k: np.cumsum(x, axis=k),
    "cumprod": lambda x, k: np.cumprod(x, axis=k),
    "cumulative_sum": lambda x, k: np.cumulative_sum(x, axis=k),
    "take": lambda x, k: np.take(x, [0, -1, 0], axis=k),
    "take one": lambda x, k: np.take(x, 0, axis=k),
    "compress": lambda x, k: np.compress([True], x, axis=k),
    "repeat": lambda x, k: np.repeat(x, 2, axis=k),
    "squeeze": lambda x, k: np.squeeze(x, axis=k),
    "argmax": lambda x, k: np.argmax(x, axis=k),
    "argmin keepdims": lambda x, k: np.argmin(x, axis=k, keepdims=True),
    "argsort": lambda x, k: np.argsort(x, axis=k),
    "argpartition": lambda x, k: np.argpartition(x, 0, axis=k),
    "sort": lambda x, k: np.sort(x, axis=k),
    "partition": lambda x, k: np.partition(x, 0, axis=k),
    "count_nonzero": lambda x, k: np.count_nonzero(x, axis=k),
    "nansum": lambda x, k: np.nansum(x, axis=k),
    "nanprod": lambda x, k: np.nanprod(x, axis=k),
    "nanmean": lambda x, k: np.nanmean(x, axis=k),
    "nanvar": lambda x, k: np.nanvar(x, axis=k),
    "nanmax": lambda x, k: np.nanmax(x, axis=k),
    "nanmin": lambda x, k: np.nanmin(x, axis=k),
    "nancumsum": lambda x, k: np.nancumsum(x, axis=k),
    "nancumprod": lambda x, k: np.nancumprod(x, axis=k),
    "nanargmax": lambda x, k: np.nanargmax(x, axis=k),
    "add.reduce": lambda x, k: np.add.reduce(x, axis=k),
    "maximum.reduce": lambda x, k: np.maximum.reduce(x, axis=k),
    "logaddexp.reduce": lambda x, k: np.logaddexp.reduce(x, axis=k),
    "add.accumulate": lambda x, k: np.add.accumulate(x, axis=k),
    "add.reduceat": lambda x, k: np.add.reduceat(x, [0], axis=k),
    "apply_over_axes": lambda x, k: np.apply_over_axes(np.sum, x, k),
    "diff": lambda x, k: np.diff(x, axis=k),
    "split": lambda x, k: np.split(x, 1, axis=k),
    "array_split": lambda x, k: np.array_split(x, 1, axis=k),
    "append": lambda x, k: np.append(x, x, axis=k),
    "concatenate": lambda x, k: np.concatenate([x, x], axis=k),
    "trapezoid": lambda x, k: np.trapezoid(x, axis=k),
    "flip": lambda x, k: np.flip(x, axis=k),
    "roll": lambda x, k: np.roll(x, 1, axis=k),
    "unwrap": lambda x, k: np.unwrap(x, axis=k),
    "gradient": lambda x, k: np.gradient(x, axis=k),
    "delete": lambda x, k: np.delete(x, 0, axis=k),
    "insert": lambda x, k: np.insert(x, 0, 1.0, axis=k),
    "method sum": lambda x, k: x.sum(k),
    "method max": lambda x, k: x.max(axis=k),
    "method prod": lambda x, k: x.prod(k),
    "method cumsum": lambda x, k: x.cumsum(k),
    "method take": lambda x, k: x.take(0, k),
    "method squeeze": lambda x, k: x.squeeze(k),
    "method argmin": lambda x, k: x.argmin(k),
    "method compress": lambda x, k: x.compress([True], k),
    "method mean": lambda x, k: x.mean(k),
}
AXES = [0, -1, 1, -2, (0,), (-1,), 1.5]


def answer(call: Callable[[], Any]) -> Any:
    """What a call gives, or what it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = call()
        except Exception as error:
            return error
    return found.value if isinstance(found, wy.Variable) else found


def check_same(expected: Any, found: Any) -> None:
    if isinstance(expected, Exception):
        # Ours may be a kind of NumPy's: AxisError is both a ValueError and an IndexError.
        assert isinstance(found, (type(expected), TypeError)), f"{found!r}, not {expected!r}"
        return
    assert not isinstance(found, Exception), repr(found)
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_a_number_has_the_axes_that_numpy_gives_it(name: str, axis: Any) -> None:
    call = CALLS[name]
    for plain in (np.float64(3.0), np.array(3.0)):
        expected = answer(lambda plain=plain: call(plain, axis))
        found = answer(lambda: call(wy.Variable(3.0), axis))
        check_same(expected, found)
        if isinstance(expected, Exception) and axis in (0, -1, 1, -2):
            assert isinstance(found, type(expected)), repr(found)


def taken(name: str) -> bool:
    """Whether NumPy takes the axis 0 of a number, and gives one or more floats."""
    found = answer(lambda: CALLS[name](np.float64(3.0), 0))
    return not isinstance(found, Exception) and np.asarray(found).dtype == np.float64


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("name", list(filter(taken, CALLS)))
def test_derivatives_and_programs_are_those_of_the_function(name: str, axis: int) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sin(CALLS[name](x, axis)))

    step = 1e-6
    slope = (f(np.float64(3.0 + step)) - f(np.float64(3.0 - step))) / (2 * step)
    for x in (3.0, np.float64(3.0), np.array(3.0)):
        for mode in ("auto", "trace"):
            assert wy.grad(f, mode=mode)(x) == pytest.approx(slope, abs=1e-8)
    x = wy.Input(3.0)
    program = wy.freeze(f(x * 1.0))
    assert program.run({x: 2.5}) == pytest.approx(f(np.float64(2.5)))


def sums(x: Any) -> Any:
    return np.sum(x, axis=0) * np.prod(x, axis=-1) + np.max(x, 0) * np.squeeze(x, 0)


def lanes(x: Any) -> Any:
    return np.cumsum(x, axis=0)[0] * np.take(x, 0, axis=-1) + np.compress([True], x, axis=0)[0]


@pytest.mark.parametrize("f", [sums, lanes])
def test_functions_are_read_with_such_axes(f: Any) -> None:
    for mode in ("source", "auto", "trace"):
        assert wy.grad(f, mode=mode)(3.0) == (12.0 if f is sums else 7.0)


def test_softmax_of_a_number_is_that_of_scipy() -> None:
    for axis in (0, -1):
        for ours, scipys in (
            (wy.softmax, scipy.special.softmax),
            (wy.log_softmax, scipy.special.log_softmax),
            (wy.logsumexp, scipy.special.logsumexp),
            (wy.special.softmax, scipy.special.softmax),
            (wy.special.log_softmax, scipy.special.log_softmax),
            (wy.special.logsumexp, scipy.special.logsumexp),
        ):
            x = wy.Variable(3.0)
            y: Any = ours(x, axis=axis)
            expected = scipys(np.array(3.0), axis=axis)
            assert (y.shape, y.item()) == (np.shape(expected), expected)
            y.backward()
            assert x.grad == (1.0 if scipys is scipy.special.logsumexp else 0.0)
    for axis in (1, -2):
        with pytest.raises(np.exceptions.AxisError):
            wy.softmax(wy.Variable(3.0), axis)
