"""fit of functions that ask for the lengths of their data: these may differ, or the function is
refused before anything changes.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wyrmling as wy

ROWS = [np.random.default_rng(2).normal(size=n) for n in (3, 1, 5, 2, 8, 3)]


def trained(loss: Callable[..., Any], columns: dict[str, Any], **starts: Any) -> dict[str, Any]:
    """The parameters after three steps of all samples."""
    parameters = {name: wy.Parameter(value) for name, value in starts.items()}
    wy.fit(loss, columns, parameters=parameters, optimizer=wy.SGD(lr=0.01), epochs=3, batch_size=99)
    return {name: parameter.value for name, parameter in parameters.items()}


def stepped(loss: Callable[..., Any], samples: Any, **starts: Any) -> dict[str, Any]:
    """The same by differences of the Python function."""
    values = {name: np.array(start, dtype=float) for name, start in starts.items()}
    for _ in range(3):
        slopes = {name: np.zeros_like(value) for name, value in values.items()}
        for name, value in values.items():
            for at in np.ndindex(value.shape):
                for way in (1.0, -1.0):
                    moved = np.array(value)
                    moved[at] += way * 1e-6
                    given = {**values, name: moved if moved.ndim else moved[()]}
                    total = sum(loss(**given, xs=xs) for xs in samples)
                    slopes[name][at] += way * total / 2e-6
        values = {name: value - 0.01 * slopes[name] for name, value in values.items()}
    return values


def extremes(w: Any, xs: Any) -> Any:
    """The largest and least of what is given."""
    return (w * max(xs) - min(xs)) ** 2


def states(w: Any, xs: Any) -> Any:
    """A state for each place, kept in an array that is one longer."""
    h = np.zeros(len(xs) + 1)
    for t in range(len(xs)):
        h[t + 1] = np.tanh(xs[t] * w + h[t])
    return (h[-1] - 1.0) ** 2


def rows_of_states(w: Any, xs: Any) -> Any:
    """The same of several numbers at once."""
    h = np.zeros((len(xs) + 1, 2))
    for t in range(len(xs)):
        h[t + 1] = np.tanh(xs[t] * w + h[t])
    return ((h[-1] - 1.0) ** 2).sum()


def rows_as_long_as_a_parameter(w: Any, xs: Any) -> Any:
    """Of a length that is asked for, too."""
    h = np.zeros((len(xs) + 1, len(w)))
    for t in range(len(xs)):
        h[t + 1] = np.tanh(xs[t] * w + h[t])
    return np.sum(h * np.ones((len(xs) + 1, w.shape[0])))


def steps_between(w: Any, xs: Any) -> Any:
    """An array that is one shorter."""
    z = np.zeros(len(xs) - 1)
    for i in range(len(xs) - 1):
        z[i] = w * (xs[i + 1] - xs[i])
    return np.sum(z**2)


def weighed(w: Any, xs: Any) -> Any:
    """With an array of as many ones."""
    return np.sum(np.ones(len(xs)) * xs * w)


@pytest.mark.parametrize(
    ("loss", "w"),
    [
        (extremes, 0.5),
        (states, 0.5),
        (rows_of_states, [0.5, -0.3]),
        (rows_as_long_as_a_parameter, [0.5, -0.3]),
        (steps_between, 0.5),
        (weighed, 0.5),
    ],
)
@pytest.mark.parametrize("rows", [ROWS, ROWS[:1] * 2, ROWS[2:3] * 3], ids=["all", "3", "5"])
def test_lengths_that_are_asked_for(loss: Any, w: Any, rows: Any) -> None:
    """As differences of Python's function say, for data of one length, and of several."""
    found = trained(loss, {"xs": rows}, w=w)["w"]
    np.testing.assert_allclose(found, stepped(loss, rows, w=w)["w"], rtol=1e-7)


@pytest.mark.parametrize("loss", [extremes, states])
@pytest.mark.parametrize("lengths", [(5000, 5000), (5000, 3, 1)])
def test_long_data(loss: Any, lengths: tuple[int, ...]) -> None:
    """Loops stay loops, also where all data have one length."""
    rows = [np.random.default_rng(3).normal(size=n) for n in lengths]
    found = trained(loss, {"xs": rows}, w=0.5)["w"]
    np.testing.assert_allclose(found, stepped(loss, rows, w=0.5)["w"], rtol=1e-6)


def test_what_has_to_know_a_length_is_refused_before_anything_changes() -> None:
    """Not by the first sample that has another length than the one that was read."""

    def smallest(w: Any, xs: Any) -> Any:
        return w * sorted(xs)[0]

    w = wy.Parameter(0.5)
    with pytest.raises(wy.SourceError, match="an array of computed length here"):
        wy.fit(smallest, {"xs": ROWS}, parameters={"w": w}, optimizer=wy.SGD(lr=0.1), batch_size=1)
    assert w.item() == 0.5
    # Data of one length are as long as they are, and integers of a sampler too.
    assert trained(smallest, {"xs": ROWS[2:3]}, w=0.5)["w"] == pytest.approx(
        0.5 - 3 * 0.01 * min(ROWS[2])
    )
    drawn = {"negatives": wy.sampling.Uniform(4, shape=5)}
    table = wy.Parameter(np.ones(4))

    def several(p: Any, x: Any, negatives: Any) -> Any:
        a, *_, b = negatives
        return (p[a] + p[b]) * x

    history = wy.fit(
        several,
        {"x": [1.0, 2.0]},
        sample=drawn,
        parameters={"p": table},
        optimizer=wy.SGD(lr=0.1),
    )
    assert history.loss == [6.0]


@pytest.mark.parametrize("function", [np.prod, np.median])
def test_functions_that_need_lengths_are_refused_before_anything_changes(function: Any) -> None:
    """Those of NumPy whose operators hold for one length; not for parameters, which have one."""

    def of_data(w: Any, xs: Any) -> Any:
        return np.sum(function(xs * w))

    def of_parameter(w: Any, xs: Any) -> Any:
        first, second = w
        return (first + second) * np.sum(xs) * np.sum(function(w))

    w = wy.Parameter(0.5)
    settings: dict[str, Any] = {"optimizer": wy.SGD(lr=0.1), "batch_size": 1}
    what = "which asks for the length of an array of computed length,"
    title = f"{function.__name__}, {what} is not supported"
    with pytest.raises(wy.SourceError, match=title):
        wy.fit(of_data, {"xs": ROWS}, parameters={"w": w}, **settings)
    assert w.item() == 0.5
    found = trained(of_data, {"xs": ROWS[:1]}, w=0.5)["w"]
    np.testing.assert_allclose(found, stepped(of_data, ROWS[:1], w=0.5)["w"], rtol=1e-7)
    found = trained(of_parameter, {"xs": ROWS}, w=[0.5, -0.2])["w"]
    np.testing.assert_allclose(found, stepped(of_parameter, ROWS, w=[0.5, -0.2])["w"], rtol=1e-7)


def test_running_products_take_any_length() -> None:
    def loss(w: Any, xs: Any) -> Any:
        return np.sum(np.cumprod(xs * w))

    found = trained(loss, {"xs": ROWS}, w=0.5)["w"]
    np.testing.assert_allclose(found, stepped(loss, ROWS, w=0.5)["w"], rtol=1e-7)


def test_no_extreme_of_nothing() -> None:
    """Python's own exception, for the sample that is empty."""
    w = wy.Parameter(0.5)
    columns = {"xs": [*ROWS, np.zeros(0)]}
    with pytest.raises(ValueError, match=r"max\(\) .*empty") as caught:
        wy.fit(extremes, columns, parameters={"w": w}, optimizer=wy.SGD(lr=0.1), batch_size=99)
    assert "sample 6 of the columns" in caught.value.__notes__[0]
    assert w.item() == 0.5


def test_a_loss_that_is_an_array_is_called_one() -> None:
    """Without a length that only stood for others while the function was read."""

    def loss(w: Any, xs: Any) -> Any:
        h = np.zeros(len(xs))
        for i in range(len(xs)):
            h[i] = w * xs[i]
        return h

    with pytest.raises(TypeError, match=r"floating-point number as the loss .* an array of 1 axis"):
        trained(loss, {"xs": ROWS}, w=0.5)


COUNTS = [3, 0, 1, 4, 2]


def listed(w: Any, xs: Any) -> Any:
    """A list that is as long as an integer says."""
    made = []
    for i in range(xs):
        made.append(w * i)
    return sum(made)


def zeros(w: Any, xs: Any) -> Any:
    """An array of that length."""
    z = np.zeros(xs)
    for i in range(xs):
        z[i] = w * i
    return z.sum()


FIXED = np.arange(3.0)
WEIGHTS = [1.0, 2, 0.5, -1.0, 3.0]
PRICES = {k: 1.5 * k + 1.0 for k in range(-5, 15)}
FUNCTIONS = (np.sin, np.cos, lambda x: x * x, np.tanh, lambda x: 2.0 * x)


@pytest.mark.parametrize(
    ("loss", "w"),
    [
        (listed, 0.5),
        (zeros, 0.5),
        (lambda w, xs: np.sum((FIXED * xs - xs) / (1 + xs)) * w, 0.5),
        (lambda w, xs: np.sum((w * xs - xs) / (xs + 1) + xs / (w + 3.0)), [0.5, -0.2]),
        (lambda w, xs: w[xs:].sum() * xs, [0.5, -0.2, 0.1, 0.3]),
        (lambda w, xs: WEIGHTS[xs] * w**2 + (0.5, 0.25, 1.0, 2.0, 4.0)[xs] * w, 0.5),
        (lambda w, xs: [w, w * w, 2.0, w + 1.0, 3.0 * w][xs] * w, 0.5),
        (lambda w, xs: FUNCTIONS[xs](w), 0.5),
        (lambda w, xs: WEIGHTS[-xs - 1] * w + [1.0, 2.0][xs % 2] * w, 0.5),
        (lambda w, xs: [1.0, 2][xs > 2] * w + PRICES[xs] * w**2, 0.5),
    ],
)
def test_integers_of_columns_are_lengths_and_operands(loss: Any, w: Any) -> None:
    """One program is for all of them."""
    found = trained(loss, {"xs": COUNTS}, w=w)["w"]
    np.testing.assert_allclose(found, stepped(loss, COUNTS, w=w)["w"], rtol=1e-7)


def test_arrays_of_floats_take_computed_integers() -> None:
    """To the bit, also in loops, with gradients; beyond 53 bits they are rounded as NumPy does."""

    def f(a: Any, n: int) -> Any:
        s = 0.0
        for i in range(n):
            a = a * (i + 1) / (2 + i) - i
            s = s + np.sum(i / (1 + i + a * a))
        return s

    compiled, slope = wy.compile(f, mode="source"), wy.grad(f, mode="source")
    traced = wy.grad(f, mode="trace")
    for n in (0, 1, 40):
        for a in (np.array([0.5, -0.25]), np.zeros(0), np.ones((2, 2))):
            assert compiled(a, n) == f(a, n)
            if n:
                np.testing.assert_allclose(slope(a, n), traced(a, n), rtol=1e-12)

    for n in (1, 40):
        single = np.array([0.5, -0.25], np.float32)
        found = compiled(single, n)
        assert type(found) is type(f(single, n))
        assert found == pytest.approx(f(single, n), rel=1e-6)

    def large(a: Any, n: int) -> Any:
        k = 1
        while k < n:
            k = k * 3
        return a * k

    for dtype in (np.float64, np.float32):
        for n in (2**26, 2**60):
            got = wy.compile(large, mode="source")(np.ones(2, dtype), n)
            wanted = large(np.ones(2, dtype), n)
            assert (got.dtype, got.tobytes()) == (wanted.dtype, wanted.tobytes())


def test_items_of_lists_that_are_not_there() -> None:
    """From the end as in Python, and its own IndexError beyond."""

    def loss(w: Any, k: int) -> Any:
        return w * WEIGHTS[k]

    def of_dict(w: Any, k: int) -> Any:
        return w * PRICES[k]

    settings: dict[str, Any] = {"optimizer": wy.SGD(lr=0.1), "batch_size": 9}
    w = wy.Parameter(1.0)
    assert wy.fit(loss, {"k": [-1, 0, -5]}, parameters={"w": w}, **settings).loss == [5.0]
    before = w.item()
    for bad in (5, -6):
        with pytest.raises(IndexError, match="list index out of range") as caught:
            wy.fit(loss, {"k": [0, bad]}, parameters={"w": w}, **settings)
        assert "sample 1 of the columns" in caught.value.__notes__[0]
    with pytest.raises(KeyError, match="-6"):
        wy.fit(of_dict, {"k": [0, -6]}, parameters={"w": w}, **settings)
    assert w.item() == before


@pytest.mark.parametrize("mode", ["source", "auto"])
def test_extremes_of_what_a_generator_gives(mode: Any) -> None:
    """Of any length, with Python's error for none."""

    def f(x: float, n: int) -> float:
        i, total = 0, 0.0
        while i < n:
            i += 1
            total += max(x * (k % 3) for k in range(i)) - min(abs(x - k) for k in range(i))
        return total

    compiled, slope = wy.compile(f, mode=mode), wy.grad(f, mode=mode)
    for n in (0, 1, 7):
        assert compiled(0.7, n) == f(0.7, n)
        difference = (f(0.7 + 1e-6, n) - f(0.7 - 1e-6, n)) / 2e-6
        assert slope(0.7, n) == pytest.approx(difference, abs=1e-8)

    def of_data(w: Any, xs: Any) -> Any:
        return max(x * w for x in xs) + sum(WEIGHTS[i] for i in (1, 2)) * w

    found = trained(of_data, {"xs": ROWS}, w=0.5)["w"]
    np.testing.assert_allclose(found, stepped(of_data, ROWS, w=0.5)["w"], rtol=1e-7)
    with pytest.raises(ValueError, match=r"max\(\) .*empty"):
        trained(of_data, {"xs": [*ROWS, []]}, w=0.5)


def test_a_parameter_that_does_not_matter_is_named() -> None:
    """By its argument, also where the Parameter has no name."""

    def loss(w: Any, v: Any, xs: Any) -> Any:
        total = w * len(xs)
        for x in xs:
            total = total + w * x
        return total

    given = {"w": wy.Parameter(0.5), "v": wy.Parameter(0.5)}
    with pytest.raises(ValueError, match="loss does not depend on the parameter 'v'"):
        wy.fit(loss, {"xs": ROWS}, parameters=given, optimizer=wy.SGD(lr=0.1))
