"""Special functions over their whole ranges: values and slopes at drawn numbers, against mpmath.

What ``test_special_points.py`` does at named points this does between them, with numbers drawn
evenly by their exponents: it finds a method that is used beyond where it converges, and a factor
that overflows or vanishes before the product does. WYRMLING_EVERY_POINT=1 in the environment draws
many.
"""

import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import oracle
import pytest
from mpmath import mp, mpf

import wyrmling as wy
from wyrmling import _core

Point = tuple[float, ...]
Draw = Callable[[np.random.Generator], Point]
COUNT = 60 if os.environ.get("WYRMLING_EVERY_POINT") == "1" else 3


def exponents(low: float, high: float, *, negative: bool = False) -> Draw:
    """A number between powers of ten, of either sign if `negative`."""

    def draw(rng: np.random.Generator) -> Point:
        sign = rng.choice([-1.0, 1.0]) if negative else 1.0
        return (sign * float(10.0 ** rng.uniform(low, high)),)

    return draw


def below_one(rng: np.random.Generator) -> Point:
    return (1.0 - float(10.0 ** rng.uniform(-15, -0.1)),)


def of_both_signs(rng: np.random.Generator) -> Point:
    """A large number that is no integer."""
    return (float(np.round(exponents(3, 14, negative=True)(rng)[0])) + rng.choice([0.25, 0.375]),)


def joined(*draws: Draw) -> Draw:
    """A number of each argument."""
    return lambda rng: tuple(x for draw in draws for x in draw(rng))


def neighbours(low: float, high: float) -> Draw:
    """Two numbers, nearly equal."""

    def draw(rng: np.random.Generator) -> Point:
        (x,) = exponents(low, high)(rng)
        (step,) = exponents(-9, -0.5, negative=True)(rng)
        return x, x * (1 + step)

    return draw


BOTH, POSITIVE = exponents(-30, 12, negative=True), exponents(-30, 12)
MIDDLE, SIGNED = exponents(-3, 3), exponents(-3, 3, negative=True)
CASES: list[tuple[str, tuple[int, ...], Draw]] = [
    *((name, (), draw) for name in ("j0", "j1", "i0e", "i1e") for draw in (BOTH, SIGNED)),
    *((name, (), draw) for name in ("y0", "y1", "k0e", "k1e") for draw in (POSITIVE, MIDDLE)),
    *((name, (), SIGNED) for name in ("i0", "i1")),
    *((name, (), MIDDLE) for name in ("k0", "k1")),
    *((name, (n,), SIGNED) for name in ("jn", "iv", "ive") for n in (2, -3, 20, 150, 1000)),
    *((name, (n,), MIDDLE) for name in ("yn", "kn", "kve") for n in (2, -3, 20, 150, 1000)),
    *((name, (n,), POSITIVE) for name in ("yn", "kve") for n in (2, -5, 100)),
    *(("airy_ai", (n,), exponents(-3, 1.7, negative=True)) for n in (0, 1)),
    *(("airy_bi", (n,), exponents(-3, 1.7, negative=True)) for n in (0, 1)),
    *((name, (0,), exponents(-10, 10)) for name in ("airy_aie", "airy_bie")),
    *((name, (), exponents(-3, 6)) for name in ("airy_aie_slope", "airy_bie_slope")),
    *((name, (), draw) for name in ("ellipk", "ellipe") for draw in (below_one, exponents(-15, 0))),
    *((name, (), lambda rng: (-exponents(-15, 200)(rng)[0],)) for name in ("ellipk", "ellipe")),
    ("exp1", (), exponents(-300, 2.8)),
    ("expi", (), exponents(-10, 2.8, negative=True)),
    # Where the power series gives way to the asymptotic one.
    ("expi", (), exponents(1.5, 1.8)),
    *(("expn", (n,), exponents(-10, 2.8)) for n in (0, 2, 7, -2)),
    # Beyond, mpmath's has too few digits for a difference.
    ("expn", (60,), exponents(-10, 2)),
    *((name, (), exponents(-10, 10, negative=True)) for name in ("sinint", "cosint")),
    ("erfcx", (), exponents(-10, 1.4, negative=True)),
    ("erfi", (), exponents(-10, 1.42, negative=True)),
    ("dawsn", (), exponents(-10, 3, negative=True)),
    ("log_ndtr", (), exponents(-3, 1, negative=True)),
    ("erfinv", (), below_one),
    ("erfinv", (), exponents(-15, -0.1, negative=True)),
    ("erfcinv", (), exponents(-20, -0.1)),
    ("ndtri", (), exponents(-20, -0.1)),
    ("gamma", (), exponents(-10, 2.2)),
    ("rgamma", (), exponents(-10, 2, negative=True)),
    ("gammaln", (), exponents(-10, 3.9, negative=True)),
    ("loggamma", (), exponents(-10, 12)),
    ("digamma", (), exponents(-10, 3, negative=True)),
    *(("trigamma", (), draw) for draw in (exponents(-10, 10), exponents(280, 307))),
    *(("polygamma", (n,), exponents(20, 305 / n)) for n in (2, 5, 12)),
    *(("polygamma", (n,), exponents(-3, 3)) for n in (2, 5, 30, 150, 300)),
    *((name, (), joined(MIDDLE, MIDDLE)) for name in ("beta", "betaln")),
    *((name, (), joined(of_both_signs, exponents(-6, 1))) for name in ("beta", "betaln")),
    *((name, (), joined(exponents(-6, 1), exponents(-6, 1))) for name in ("gammainc", "gammaincc")),
    *((name, (), neighbours(-1, 2)) for name in ("gammainc", "gammaincc")),
    ("hurwitz_zeta", (), joined(lambda rng: (1 + exponents(-6, 1.5)(rng)[0],), exponents(-3, 3))),
    ("riemann_zeta", (0,), exponents(-6, 1.9, negative=True)),
    ("kl_div", (), neighbours(-3, 3)),
    ("kl_div", (), joined(MIDDLE, MIDDLE)),
    ("rel_entr", (), neighbours(-3, 3)),
]  # fmt: skip


def slope(function: Any, at: Point, value: Any, k: int) -> Any:
    """The derivative in argument `k`, by a difference of so many digits that nothing is lost."""
    x = mpf(at[k])
    step = min(abs(x), 1) * mpf(10) ** -25
    return (function(*map(mpf, at[:k]), x + step, *map(mpf, at[k + 1 :])) - value) / step


def check(found: float, exact: Any, size: Any, single: bool, what: str) -> None:
    """Whether a number is right relative to the function's size around it."""
    largest, least = (3.4e38, 1.2e-38) if single else (1.79e308, 2.3e-308)
    what = f"{what}: {found}, not {mp.nstr(exact, 17)}"
    if abs(exact) > largest:
        assert found == math.copysign(math.inf, exact), what
    else:
        assert math.isfinite(found), what
        tolerance = 1e-5 if single else 2e-12
        assert abs(mpf(found) - exact) <= tolerance * max(abs(exact), size, mpf(least)), what


def as_array(x: Any) -> Any:
    return np.asarray(getattr(x, "value", x))


@pytest.mark.parametrize("single", [False, True], ids=["float64", "float32"])
@pytest.mark.parametrize(
    ("name", "order", "draw"), CASES, ids=[f"{n}{list(o)}-{k}" for k, (n, o, _) in enumerate(CASES)]
)
def test_values_and_slopes_over_the_range_are_mpmaths(name, order, draw, single, rng):
    kind = np.float32 if single else np.float64
    with np.errstate(all="ignore"):
        drawn = [tuple(float(kind(x)) for x in draw(rng)) for _ in range(COUNT)]
    inside = [p for p in drawn if all(0 != x != 1 and math.isfinite(x) for x in p)]
    poles = {"gammaln", "digamma", "rgamma", "beta", "betaln"}
    inside = [p for p in inside if name not in poles or p[0] % 1]
    if not inside:
        return
    arrays = [np.array(column, kind) for column in zip(*inside, strict=True)]

    def of(*x: Any) -> Any:
        return getattr(_core, name)(*order, *x)

    def exact(*x: Any) -> Any:
        return mp.re(oracle.FUNCTIONS[name](*order, *x))

    values = as_array(of(*arrays))
    slopes = [as_array(wy.elementwise_grad(of, k)(*arrays)) for k in range(len(arrays))]
    for number, at in enumerate(inside):
        far = max(abs(math.log10(abs(x))) for x in at)
        with mp.workdps(int(80 + 3 * far)):
            value = exact(*map(mpf, at))
            true = [slope(exact, at, value, k) for k in range(len(at))]
            size = max(abs(s) * min(abs(x), 1) for s, x in zip(true, at, strict=True))
            where = f"{name}{order} at {at}"
            check(float(values[number]), value, size, single, where)
            for k, found in enumerate(slopes):
                # Next to its zeros a slope is compared with what the function changes by.
                around = abs(value) / max(mpf(abs(at[k])), 1) ** 2
                around = min(around, abs(true[k]) * 1000)
                check(float(found[number]), true[k], around, single, f"{where} by argument {k}")


SLIVERS: list[tuple[Any, int, float, float]] = [
    (np.log2, 2, 1e-154, -1e308 / math.log(2)),
    (np.log2, 1, 1e-308, 1e308 / math.log(2)),
    (np.log2, 1, 1.7e308, 1 / 1.7e308 / math.log(2)),
    (np.log10, 2, 5e-155, -1e308 / (0.25 * math.log(10))),
    (np.log10, 1, 3e-309, 1e308 / (0.3 * math.log(10))),
    (np.log10, 1, 1.7e308, 1 / 1.7e308 / math.log(10)),
    (wy.special.i1, 1, 713.5, 1.10355344846305622e308),
    (wy.special.k1, 1, 8e-155, -1e308 / 0.64),
    (wy.special.k0, 2, 8e-155, 1e308 / 0.64),
    (lambda x: wy.special.kn(3, x), 1, 7.2e-77, -24.0 / 7.2e-77**2 / 7.2e-77**2),
]


@pytest.mark.parametrize(("function", "order", "x", "exact"), SLIVERS)
def test_derivatives_next_to_overflow(function, order, x, exact):
    """They are finite as long as they are numbers, and not until what they are made of is none."""
    for _ in range(order):
        function = wy.grad(function)
    assert math.isclose(function(x), exact, rel_tol=1e-14)
