"""Random calls of NumPy's functions, with variables in the place of arrays of floats.

Arrays have any shape up to three axes, among them numbers, empty arrays and axes of length 1; any
element type; and memory in C or Fortran order, reversed or with gaps. Axes may be negative,
several, none, or not there. NumPy is the oracle of values, types, shapes and kinds of errors, and
differences of its values that of gradients.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wyrmling as wy

SHAPES = [(), (), (0,), (1,), (2,), (3,), (5,), (1, 1), (2, 3), (3, 2), (3, 3), (1, 3), (3, 1)]
SHAPES += [(0, 3), (3, 0), (2, 1, 3), (2, 3, 4), (1, 0, 2), (2, 2, 2)]
DTYPES = ["f8"] * 6 + ["f4", "f4", "i8", "i4", "u1", "?"]

# What ours refuses, or answers otherwise, on purpose.
REFUSED = [
    "order: expected 'C' or 'F'",
    "expected vectors of 3 components",
    "a count cannot be -1",
    r"gather: index \d+ .* is out of range",  # NumPy looks at no index where the result is empty
]


class Draw:
    """A source of random arguments."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def one(self, *things: Any) -> Any:
        return things[self.rng.integers(len(things))]

    def some(self, chance: float) -> bool:
        return bool(self.rng.random() < chance)

    def array(self, shape: tuple[int, ...] | None = None, dtype: str | None = None) -> Any:
        shape, dtype = self.one(*SHAPES) if shape is None else shape, dtype or self.one(*DTYPES)
        if dtype[0] == "f":
            x = np.asarray(self.rng.normal(size=shape) * 1.5, dtype)
        else:
            x = np.asarray(self.rng.integers(0 if dtype != "i8" else -3, 4, shape)).astype(dtype)
        gaps = np.zeros(tuple(2 * n for n in x.shape), x.dtype)
        if not x.ndim:
            return x
        every = gaps[tuple(slice(None, None, 2) for _ in x.shape)]
        every[...] = x
        reversed_ = x[::-1].copy()[::-1]
        return self.one(x, x, np.asfortranarray(x), np.ascontiguousarray(x.T).T, every, reversed_)

    def axis(self, x: Any, several: bool = True, none: bool = True) -> Any:
        n = x.ndim
        kind = self.rng.integers(10)
        if none and kind < 2:
            return None
        if several and kind < 5:
            axes = self.rng.permutation(n)[: self.rng.integers(n + 1)]
            return tuple(int(k) - n * self.some(0.5) for k in axes)
        if kind == 9:
            return self.one(-n - 1, n, n + 1)
        return int(self.rng.integers(-n, n)) if n else self.one(0, -1)

    def like(self, x: Any, dtype: str | None = None) -> Any:
        """An array that broadcasts with another, as a rule."""
        if self.some(0.1):
            return self.array(None, dtype)
        shape = [1 if self.some(0.3) else n for n in x.shape]
        return self.array(tuple(shape[self.rng.integers(len(shape) + 1) :]), dtype)

    def given(self, **chances: tuple[float, Callable[[], Any]]) -> dict[str, Any]:
        """Arguments by name, each with its chance of being given."""
        return {name: make() for name, (chance, make) in chances.items() if self.some(chance)}


def reduction(draw: Draw, *lacking: str) -> Any:
    x = draw.array()
    given = draw.given(
        axis=(0.85, lambda: draw.axis(x)),
        keepdims=(0.4, lambda: draw.some(0.7)),
        initial=(0.2, lambda: draw.one(0.0, 1.5, -2.0, 2)),
        where=(0.2, lambda: draw.like(x, "?")),
        dtype=(0.1, lambda: draw.one(np.float32, np.float64)),
    )
    return [x], {name: value for name, value in given.items() if name not in lacking}


def lane(draw: Draw, *args: Any, **more: Any) -> Any:
    """An array and an axis, and what may be given besides."""
    x = draw.array()
    by_name = draw.given(axis=(0.8, lambda: draw.axis(x, several=False)))
    return [x, *args], by_name | draw.given(**more)


def joined(draw: Draw) -> Any:
    x = draw.array()
    count = draw.rng.integers(3)
    return [x, *(draw.array(x.shape) if draw.some(0.8) else draw.like(x) for _ in range(count))]


def pair(draw: Draw) -> Any:
    x = draw.array()
    number = draw.one(1.5, 2, -3, True, np.float32(0.5))
    return [x, draw.one(draw.like(x), draw.like(x), number)], {}


def product(draw: Draw, **named: Any) -> Any:
    x = draw.array()
    return [x, draw.array(draw.one(x.shape, x.shape[::-1], x.shape[-1:], None))], named


CALLS: dict[str, Callable[[Draw], Any]] = {
    "sum prod nansum nanprod": reduction,
    "mean nanmean var std nanvar nanstd": lambda draw: reduction(draw, "initial", "dtype"),
    "max min nanmax nanmin": lambda draw: reduction(draw, "dtype"),
    "any all": lambda draw: reduction(draw, "dtype", "initial"),
    "ptp median count_nonzero": lambda draw: reduction(draw, "dtype", "initial", "where"),
    "add.reduce maximum.reduce logaddexp.reduce": lambda draw: reduction(draw, "dtype"),
    "argmax argmin": lambda draw: lane(draw, keepdims=(0.3, lambda: True)),
    "cumsum cumprod nancumsum argsort": lane,
    "cumulative_sum": lambda draw: lane(draw, include_initial=(0.4, lambda: True)),
    "sort flip add.accumulate": lambda draw: lane(draw),
    "take": lambda draw: lane(
        draw,
        draw.rng.integers(-2, 3, draw.one((), (2,), (2, 2), (0,))),
        mode=(0.5, lambda: draw.one("wrap", "clip", "raise")),
    ),
    "repeat": lambda draw: lane(draw, draw.one(2, 0, 1, [2], [1, 2], -1)),
    "delete": lambda draw: lane(draw, draw.one(0, -1, 1, [0, 1], slice(0, 2), [])),
    "insert": lambda draw: lane(draw, draw.one(0, -1, [0, 1], []), draw.one(1.5, 0)),
    "argpartition": lambda draw: lane(draw, draw.one(0, 1, -1)),
    "diff": lambda draw: lane(draw, n=(0.4, lambda: draw.one(0, 1, 2, 3))),
    "trapezoid": lambda draw: lane(draw, dx=(0.3, lambda: 0.5)),
    "roll": lambda draw: lane(draw, draw.one(1, -2, 7)),
    "add.reduceat": lambda draw: lane(draw, draw.one([0], [0, 1], [1, 0], [], [2])),
    "split array_split": lambda draw: lane(draw, draw.one(1, 2, 3, [1], [0, 2], -1)),
    "squeeze": lambda draw: reduction(draw, "keepdims", "initial", "where", "dtype"),
    "quantile nanquantile": lambda draw: (
        [(x := draw.array()), draw.one(0.3, np.float64(0.3), np.float32(0.5), [0.2, 0.7])],
        draw.given(axis=(0.8, lambda: draw.axis(x)), method=(0.3, lambda: "hazen")),
    ),
    "ravel transpose atleast_2d trace diagonal ediff1d isfinite": lambda draw: ([draw.array()], {}),
    "exp tanh abs square floor expm1 arctan sign cbrt logical_not": (
        lambda draw: ([draw.array()], {})
    ),
    "swapaxes": lambda draw: ([(x := draw.array()), draw.axis(x, False, False), -1], {}),
    "reshape": lambda draw: (
        [draw.array(), draw.one(-1, (1, -1), (2, -1), (-1, 3), ())],
        draw.given(order=(0.3, lambda: draw.one("F", "C", "A"))),
    ),
    "tile": lambda draw: ([draw.array(), draw.one(2, (2, 1), 0, ())], {}),
    "concatenate stack": lambda draw: (
        [(parts := joined(draw))],
        draw.given(axis=(0.7, lambda: draw.axis(parts[0], several=False, none=False))),
    ),
    "hstack vstack dstack": lambda draw: ([joined(draw)], {}),
    "clip": lambda draw: ([(x := draw.array()), draw.one(-0.5, 0, draw.like(x)), 1.2], {}),
    "where": lambda draw: ([draw.like(x := draw.array(), "?"), x, draw.like(x)], {}),
    "add subtract multiply divide maximum arctan2 hypot logaddexp copysign": pair,
    "greater equal logical_and logical_or logical_xor": pair,
    "add.outer multiply.outer maximum.outer": product,
    "matmul dot inner outer vecdot kron": product,
    "tensordot": lambda draw: product(draw, axes=draw.one(1, 0, ([0], [0]))),
    "convolve": lambda draw: product(draw, mode=draw.one("full", "same", "valid")),
}


def variabled(argument: Any, made: list[Any]) -> Any:
    """An argument with variables in the place of arrays of floats, which are listed."""
    if isinstance(argument, list) and any(isinstance(part, np.ndarray) for part in argument):
        return [variabled(part, made) for part in argument]
    if isinstance(argument, np.ndarray) and argument.dtype.kind == "f":
        made.append((wy.Variable(argument), argument))
        return made[-1][0]
    return argument


def parts_of(result: Any) -> list[Any]:
    return list(result) if isinstance(result, list | tuple) else [result]


def attempt(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return error


def check_gradients(
    function: Any, args: Any, given: Any, made: Any, found: Any, said: str, draw: Draw
) -> None:
    """Compares gradients with differences of NumPy's values."""
    floats = [k for k, y in enumerate(found) if isinstance(y, wy.Variable) and y.dtype == float]
    weights = {k: draw.rng.normal(size=found[k].shape) for k in floats}
    total: Any = sum(np.sum(found[k] * weight) for k, weight in weights.items())
    if not isinstance(total, wy.Variable) or not np.isfinite(total.value):
        return
    total.backward()

    def value(at: int, place: Any, step: float) -> Any:
        """The sum where one element of the array with this number is another."""
        moved = [array.copy() for _, array in made]
        moved[at][place] += step
        others = iter(moved)

        def plain(argument: Any) -> Any:
            if isinstance(argument, list) and any(isinstance(x, np.ndarray) for x in argument):
                return [plain(part) for part in argument]
            is_float = isinstance(argument, np.ndarray) and argument.dtype.kind == "f"
            return next(others) if is_float else argument

        results = parts_of(function(*map(plain, args), **given))
        return sum(np.sum(results[k] * weight) for k, weight in weights.items())

    for at, (variable, array) in enumerate(made):
        slopes = np.zeros(array.shape)
        for place in np.ndindex(array.shape):
            slopes[place] = (value(at, place, 1e-6) - value(at, place, -1e-6)) / 2e-6
        gradient: Any = variable.grad
        if gradient is None:
            gradient = np.zeros(array.shape)
        elif hasattr(gradient, "to_dense"):
            gradient = gradient.to_dense()
        scale = 1.0 + np.abs(slopes).max(initial=0.0)
        np.testing.assert_allclose(gradient, slopes, atol=1e-4 * scale, err_msg=said)


@pytest.mark.parametrize("names", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_calls_give_what_numpy_gives(names: str) -> None:
    draw = Draw(1)
    for _ in range(150):
        name = draw.one(*names.split())
        function: Any = np
        for part in name.split("."):
            function = getattr(function, part)
        args, given = CALLS[names](draw)
        made: list[Any] = []
        ours = [variabled(argument, made) for argument in args]
        if not made:
            continue
        said = f"{name}(*{args}, **{given})"
        with np.errstate(all="ignore"):
            expected = attempt(lambda function=function, a=args, g=given: function(*a, **g))
            found = attempt(lambda function=function, a=ours, g=given: function(*a, **g))
        if isinstance(expected, Exception):
            if "newaxis" in str(expected):
                continue  # a fault of NumPy's, where nothing is reduced of no elements
            kinds = (type(expected), TypeError, ValueError)
            assert isinstance(found, kinds), f"{said}: {found!r}, not {expected!r}"
            continue
        if isinstance(found, Exception):
            allowed = any(re.search(pattern, str(found)) for pattern in REFUSED)
            assert allowed, f"{said}: {found!r}"
            continue
        is_double = {array.dtype for _, array in made} == {np.dtype(float)} and "dtype" not in given
        results, theirs = parts_of(found), parts_of(expected)
        assert len(results) == len(theirs), said
        for one, other in zip(results, theirs, strict=True):
            value = np.asarray(one.value if isinstance(one, wy.Variable) else one)
            assert value.dtype == np.asarray(other).dtype, f"{said}: {value.dtype}"
            rtol = 1e-9 if is_double else 1e-4
            np.testing.assert_allclose(value, other, rtol, rtol, err_msg=said, strict=True)
        if is_double:
            check_gradients(function, args, given, made, results, said, draw)
