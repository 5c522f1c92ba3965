"""Elementwise functions at the special points that their entries in the rule table name.

Values and all derivatives to third order, mixed ones included, against mpmath (``oracle.py``), in
float64 and float32, at special points, at pairs of them, and at random points of the domains. Where
a derivative does not exist it is what ``ENDS`` says, and the entry's documentation. Everything is
made from what the native module tells of the table: an entry that is added is tested, or named
below. Of many points some are chosen; WYRMLING_EVERY_POINT=1 in the environment takes all.
"""

import itertools
import math
import os
from typing import Any

import numpy as np
import oracle
import pytest
from mpmath import mp, mpf

import wyrmling as wy
from wyrmling import _core

INF, NAN = math.inf, math.nan
# All points, which takes minutes, in place of some.
EVERY = os.environ.get("WYRMLING_EVERY_POINT") == "1"
MOST = {"quick": 10, "slow": 1, "slowest": 1}
SLOWEST = {"hurwitz_zeta", "gammainc", "gammaincc", "erfcinv", "ndtri"}
ENTRIES = {entry["function"]: entry for entry in _core.elementwise()}
# Results of two kinds, whose derivative is zero; test_elementwise.py compares their values.
MASKS = {
    "greater", "greater_equal", "less", "less_equal", "equal", "not_equal", "logical_and",
    "logical_or", "logical_xor", "logical_not", "isnan", "isinf", "isfinite", "signbit",
}  # fmt: skip
# A step from 0 to 1, which no oracle differentiates, and a choice, whose operand is a mask.
OTHERS = {"heaviside", "select"}
# What mpmath takes long to give many digits of: it gets fewer, and fewer points.
SLOW = {
    "erf", "erfc", "erfcx", "erfi", "dawsn", "ndtr", "log_ndtr",
    "gamma", "rgamma", "gammaln", "loggamma", "digamma", "trigamma", "polygamma", "beta", "betaln",
    "gammainc", "gammaincc", "hurwitz_zeta", "riemann_zeta", "erfinv", "erfcinv", "ndtri", "exp1",
    "expn", "sinint", "cosint", "expi", "ellipk", "ellipe", "airy_ai", "airy_bi", "airy_aie",
    "airy_bie", "airy_aie_slope", "airy_bie_slope", "j0", "j1", "jn", "y0", "y1", "yn", "i0", "i1",
    "iv", "i0e", "i1e", "ive", "k0", "k1", "kn", "k0e", "k1e", "kve",
}  # fmt: skip
# The orders of those that have one.
DEGREES = {"airy_ai": [0, 1], "airy_bi": [0, 1], "airy_aie": [0], "airy_bie": [0]}
DEGREES |= {"polygamma": [0, 2], "riemann_zeta": [0], "expn": [0, 1, 3], "jn": [2], "yn": [2]}
DEGREES |= {"iv": [2], "ive": [2], "kn": [2], "kve": [2]}


def whole(x: float) -> bool:
    return math.isfinite(x) and x == math.floor(x)


def divides(x: float, y: float) -> bool:
    """Whether the exact quotient is whole, which a rounded one may be though this is not."""
    return y == 0 or (math.isfinite(x) and math.fmod(x, y) == 0)


def zero(*x: float) -> bool:
    return x[-1] == 0


def unit(x: float) -> bool:
    return abs(x) == 1


def equal(x: float, y: float) -> bool:
    return x == y


# Where a function has no derivative, or the oracle none: kinks, steps, poles and ends.
BROKEN: dict[str, Any] = {
    **dict.fromkeys(["abs", "sign", "relu", "reciprocal", "cbrt", "sqrt", "log", "log2"], zero),
    **dict.fromkeys(["log10", "csc", "cot", "csch", "coth", "arccot", "arccotd", "arccsch"], zero),
    **dict.fromkeys(["i0e", "i1e", "ive", "expi", "cosint", "airy_aie", "airy_bie"], zero),
    **dict.fromkeys(["airy_aie_slope", "airy_bie_slope"], zero),
    **dict.fromkeys(["y0", "y1", "yn", "k0", "k1", "kn", "k0e", "k1e", "kve"], lambda x: x <= 0),
    **dict.fromkeys(["arcsin", "arccos", "arcsind", "arccosd", "arcsec", "arccsc"], unit),
    **dict.fromkeys(["arcsecd", "arccscd", "arctanh", "arccoth", "arccosh"], unit),
    **dict.fromkeys(["floor", "ceil", "trunc"], whole),
    **dict.fromkeys(["ellipk", "ellipe"], lambda x: x == 1),
    **dict.fromkeys(["erfinv"], lambda x: abs(x) >= 1),
    **dict.fromkeys(["gamma", "gammaln", "gammasgn", "digamma"], lambda x: x <= 0 and whole(x)),
    **dict.fromkeys(["trigamma", "polygamma"], lambda x: x <= 0),
    **dict.fromkeys(["tand", "secd"], lambda x: x % 180 == 90),
    **dict.fromkeys(["cscd", "cotd"], lambda x: x % 180 == 0),
    **dict.fromkeys(["maximum", "minimum", "fmax", "fmin"], equal),
    **dict.fromkeys(["remainder", "floor_divide", "fmod"], divides),
    **dict.fromkeys(["rel_entr", "kl_div"], lambda x, y: x <= 0 or y <= 0),
    "copysign": lambda x, y: x == 0 or y == 0,
    # The quotient of 0 is 0, but where its derivatives' factors overflow.
    "divide": lambda x, y: y == 0 or (x == 0 and abs(y) < 1e-70),
    "entr": lambda x: x <= 0,
    "rint": lambda x: whole(x - 0.5),
    "log1p": lambda x: x <= -1,
    "logit": lambda x: x in (0, 1),
    "arcsech": lambda x: x in (0, 1),
    "loggamma": lambda x: x <= 0,
    "erfcinv": lambda x: x in (0, 2) or x > 2,
    "ndtri": lambda x: not 0 < x < 1,
    "exp1": lambda x: x <= 0,
    "expn": lambda x: x <= 0,
    "riemann_zeta": lambda x: x == 1,
    "power": lambda x, y: x <= 0,
    "hypot": lambda x, y: max(abs(x), abs(y)) < 1e-70,
    "arctan2": lambda y, x: y == 0 and x <= 0,
    "xlogy": lambda x, y: y <= 0,
    "xlog1py": lambda x, y: y <= -1,
    "beta": lambda x, y: x <= 0 or y <= 0,
    "betaln": lambda x, y: x <= 0 or y <= 0,
    # Where x^a is below 1e-290 a density vanishes on the way to derivatives that do not.
    "gammainc": lambda a, x: a <= 0 or x <= 0 or a * math.log10(x) < -290,
    "gammaincc": lambda a, x: a <= 0 or x <= 0 or a * math.log10(x) < -290,
    "hurwitz_zeta": lambda s, q: s <= 1 or q <= 0,
}
# Functions whose derivatives have errors relative to the function, as docs/operators.md says.
LOSSES = {"airy_aie", "airy_bie", "airy_aie_slope", "airy_bie_slope", "gammainc", "gammaincc"}


def derivatives(
    name: str, order: tuple[int, ...], at: list[np.ndarray[Any, Any]]
) -> dict[Any, Any]:
    """The values of all derivatives to third order at points, by the order in each argument."""
    count = len(at)
    found = {}
    for orders in itertools.product(range(4), repeat=count):
        if sum(orders) <= 3:

            def f(*x: Any) -> Any:
                return getattr(_core, name)(*order, *x)

            for k, n in enumerate(orders):
                for _ in range(n):
                    f = wy.elementwise_grad(f, k)
            y = f(*at)
            found[orders] = np.asarray(getattr(y, "value", y))
    return found


def points(name: str, rng: np.random.Generator) -> list[tuple[float, ...]]:
    """The special points of an entry, all pairs of them, and some of its domain."""
    entry = ENTRIES[name]
    special = [list(dict.fromkeys([*map(float, s)])) for s in entry["special"]]
    drawn = [[rng.uniform(*d[k % len(d)]) for k in range(4)] for d in entry["domains"]]
    every = [*itertools.product(*special), *zip(*drawn, strict=True)]
    broken = BROKEN.get(name, lambda *x: False)
    every = [p for p in every if not broken(*p)]
    if name in SLOW and not EVERY:
        # A Bessel function of 1e-300 takes mpmath minutes to so many digits.
        every = [p for p in every if all(x == 0 or 1e-20 < abs(x) < 1e20 for x in p)]
    most = (
        len(every)
        if EVERY
        else MOST["slowest" if name in SLOWEST else "slow" if name in SLOW else "quick"]
    )
    if len(every) > most:
        chosen = rng.choice(len(every), most, replace=False)
        every = [every[k] for k in chosen]
    return every


def close(found: float, exact: Any, slack: Any, single: bool) -> bool:
    """Whether a number is right, but for rounding, overflow and what underflows."""
    largest, least = (3.4e38, 1e-44) if single else (1.79e308, 1e-320)
    if abs(exact) > largest:
        return (math.isinf(found) and found * float(mp.sign(exact)) > 0) or abs(exact) < 2 * largest
    if not math.isfinite(found):
        return False
    tolerance = 1e-5 if single else 1e-11
    normal = 1.2e-38 if single else 2.3e-308
    rounding = 1e4 * least if abs(exact) < 10 * normal else least
    return abs(mpf(found) - exact) <= tolerance * max(abs(exact), slack) + rounding


def check(name: str, order: tuple[int, ...], at: list[tuple[float, ...]], single: bool) -> None:
    kind = np.float32 if single else np.float64
    broken = BROKEN.get(name, lambda *x: False)
    with np.errstate(all="ignore"):
        at = [tuple(float(kind(x)) for x in p) for p in at]
    at = [p for p in at if all(map(math.isfinite, p)) and not broken(*p)]
    if not at:
        # In float32 all may be rounded to where there is no derivative.
        assert single, name
        return
    arrays = [np.array(column, kind) for column in zip(*at, strict=True)]
    found = derivatives(name, order, arrays)
    function = oracle.FUNCTIONS[name]
    fine = 15 if name in SLOW else 25

    def of(*x: Any) -> Any:
        return function(*order, *x)

    for number, point in enumerate(at):
        exact = {}
        for orders in found:
            exact[orders] = oracle.derivative(of, point, orders, fine)
        for orders, values in found.items():
            true, y = exact[orders], float(values[number])
            what = f"{name}{order} derived {orders} times at {point}: {y}, not {mp.nstr(true, 17)}"
            if mp.isnan(true):
                # Not real, or no limit: so is the value; a derivative may be continued.
                assert any(orders) or math.isnan(y), what
                continue
            # An error of the argument, as rounding makes one, moves a derivative by the next.
            above = [(k, (*orders[:k], n + 1, *orders[k + 1 :])) for k, n in enumerate(orders)]
            moved = [abs(mpf(point[k]) * exact[o]) for k, o in above if o in exact]
            # Of the highest there is no next: it grows as from the one before.
            below = [(k, (*orders[:k], n - 1, *orders[k + 1 :])) for k, n in enumerate(orders) if n]
            if sum(orders) == 3:
                ratios = [(k, exact[o]) for k, o in below if exact[o] != 0]
                moved += [abs(mpf(point[k]) * true * (true / least)) for k, least in ratios]
            slack = max([mpf(0), *(m for m in moved if not mp.isnan(m))]) / 100
            if name in LOSSES:
                slack = max(slack, abs(exact[(0,) * len(point)]))
            assert close(y, true, slack, single), what


UNARY = sorted(n for n, e in ENTRIES.items() if len(e["domains"]) == 1 and not e["internal"])
BINARY = sorted(n for n, e in ENTRIES.items() if len(e["domains"]) == 2 and not e["internal"])


def test_every_function_has_special_points_and_an_oracle():
    for name, entry in ENTRIES.items():
        assert len(entry["special"]) == len(entry["domains"]), name
        assert all(entry["special"]), name
        assert entry["internal"] or name in oracle.FUNCTIONS or name in MASKS | OTHERS, name
        assert name not in BROKEN or name in oracle.FUNCTIONS


@pytest.mark.parametrize("single", [False, True], ids=["float64", "float32"])
@pytest.mark.parametrize("name", sorted(set(UNARY + BINARY) - MASKS - OTHERS))
def test_derivatives_at_special_points_are_mpmaths(name, single, rng):
    for n in DEGREES.get(name, [None]):
        check(name, () if n is None else (n,), points(name, rng), single)


# What a function and its derivatives are where a derivative does not exist, or the function ends.
ENDS = [
    ("sqrt", 0.0, [0.0, INF, -INF, INF]),
    ("cbrt", 0.0, [0.0, INF, -INF, INF]),
    ("abs", 0.0, [0.0, 0.0, 0.0, 0.0]),
    ("relu", 0.0, [0.0, 0.0, 0.0, 0.0]),
    ("sign", -0.0, [0.0, 0.0, 0.0, 0.0]),
    ("reciprocal", 0.0, [INF, -INF, INF, -INF]),
    ("reciprocal", -0.0, [-INF, -INF, -INF, -INF]),
    ("log", 0.0, [-INF, INF, -INF, INF]),
    ("log", -2.0, [NAN, -0.5, -0.25, -0.25]),
    ("log1p", -1.0, [-INF, INF, -INF, INF]),
    ("arcsin", 1.0, [math.pi / 2, INF, INF, INF]),
    ("arcsin", -1.0, [-math.pi / 2, INF, -INF, INF]),
    ("arccos", 1.0, [0.0, -INF, -INF, -INF]),
    ("arccos", -1.0, [math.pi, -INF, INF, -INF]),
    ("arcsin", 1.5, [NAN, NAN, NAN, NAN]),
    ("arctanh", 1.0, [INF, INF, INF, INF]),
    ("arctanh", -1.0, [-INF, INF, -INF, INF]),
    ("arctanh", 2.0, [NAN, NAN, NAN, NAN]),
    ("arccoth", 1.0, [INF, -INF, INF, -INF]),
    ("arccoth", -1.0, [-INF, -INF, -INF, -INF]),
    ("arccoth", 0.5, [NAN, NAN, NAN, NAN]),
    ("arccosh", 1.0, [0.0, INF, -INF, INF]),
    ("arccosh", -1e5, [NAN, NAN, NAN, NAN]),
    ("arcsec", 1.0, [0.0, INF, -INF, INF]),
    ("arcsec", -1.0, [math.pi, INF, INF, INF]),
    ("arcsech", 1.0, [0.0, -INF, -INF, -INF]),
    ("arcsech", 0.0, [INF, -INF, INF, -INF]),
    ("arccsch", 0.0, [INF, -INF, INF, -INF]),
    ("arccsch", -0.0, [-INF, -INF, -INF, -INF]),
    ("logit", 0.0, [-INF, INF, -INF, INF]),
    ("logit", 1.0, [INF, INF, INF, INF]),
    ("logit", 1.5, [NAN, NAN, NAN, NAN]),
    ("entr", 0.0, [0.0, INF, -INF, INF]),
    ("entr", -1.0, [-INF, NAN, NAN, NAN]),
    ("erfinv", 1.0, [INF, INF, INF, INF]),
    ("gamma", 0.0, [INF, -INF, INF, -INF]),
    ("gamma", 180.0, [INF, INF, INF, INF]),
    ("csc", 0.0, [INF, -INF, INF, -INF]),
    ("coth", -0.0, [-INF, -INF, -INF, -INF]),
    # At infinity the limits.
    ("exp", -INF, [0.0, 0.0, 0.0, 0.0]),
    ("exp", INF, [INF, INF, INF, INF]),
    ("sigmoid", INF, [1.0, 0.0, 0.0, 0.0]),
    ("sigmoid", -INF, [0.0, 0.0, 0.0, 0.0]),
    ("tanh", INF, [1.0, 0.0, 0.0, 0.0]),
    ("arctan", -INF, [-math.pi / 2, 0.0, 0.0, 0.0]),
    ("arccosh", INF, [INF, 0.0, 0.0, 0.0]),
    ("arccsch", INF, [0.0, 0.0, 0.0, 0.0]),
    ("erf", INF, [1.0, 0.0, 0.0, 0.0]),
    ("log_ndtr", -INF, [-INF, INF, -1.0, 0.0]),
    ("log_ndtr", INF, [-0.0, 0.0, 0.0, 0.0]),
    ("rgamma", INF, [0.0, 0.0, 0.0, 0.0]),
    ("log", INF, [INF, 0.0, 0.0, 0.0]),
]


@pytest.mark.parametrize(("name", "x", "expected"), ENDS)
def test_derivatives_at_ends_are_what_is_said(name, x, expected):
    for kind in (np.float64, np.float32):
        found = derivatives(name, (), [np.array([x], kind)])
        found = [float(found[(n,)][0]) for n in range(4)]
        np.testing.assert_allclose(found, expected, rtol=1e-7, err_msg=f"{name} at {x}")
        assert math.copysign(1, found[0]) == math.copysign(1, expected[0]) or expected[0] != 0


# x and y; then x^y and its derivatives by x, y, xx, xy, yy, xxx, xxy, xyy, yyy: the limits for x
# from above.
POWERS = [
    (0.0, 0.0, [1.0, 0.0, -INF, 0.0, INF, INF, 0.0, -INF, -INF, -INF]),
    (0.0, 0.5, [0.0, INF, 0.0, -INF, -INF, 0.0, INF, INF, INF, 0.0]),
    (0.0, 1.0, [0.0, 1.0, 0.0, 0.0, -INF, 0.0, 0.0, INF, INF, 0.0]),
    (0.0, 2.0, [0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, -INF, 0.0, 0.0]),
    (0.0, 3.0, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 6.0, 0.0, 0.0, 0.0]),
    (0.0, -1.0, [INF, -INF, -INF, INF, INF, INF, -INF, -INF, -INF, -INF]),
    (INF, 0.0, [1.0, 0.0, INF, 0.0, 0.0, INF, 0.0, 0.0, 0.0, INF]),
    (INF, 1.0, [INF, 1.0, INF, 0.0, INF, INF, 0.0, 0.0, INF, INF]),
    (INF, -1.0, [0.0] * 10),
    (NAN, 0.0, [1.0, 0.0, NAN, 0.0, NAN, NAN, 0.0, NAN, NAN, NAN]),
    (1.0, 0.0, [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, -1.0, 0.0, 0.0]),
    (-2.0, 3.0, [-8.0, 12.0, NAN, -12.0, NAN, NAN, 6.0, NAN, NAN, NAN]),
    (-2.0, 0.0, [1.0, 0.0, NAN, 0.0, NAN, NAN, 0.0, NAN, NAN, NAN]),
    (-2.0, -1.0, [-0.5, -0.25, NAN, -0.25, NAN, NAN, -0.375, NAN, NAN, NAN]),
    (-2.0, 0.5, [NAN] * 10),
]
# The orders by each argument, in that order.
PARTIALS = [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2), (3, 0), (2, 1), (1, 2), (0, 3)]


@pytest.mark.parametrize(("x", "y", "expected"), POWERS)
def test_powers_of_special_numbers(x, y, expected):
    for kind in (np.float64, np.float32):
        found = derivatives("power", (), [np.array([x], kind), np.array([y], kind)])
        values = [float(found[orders][0]) for orders in PARTIALS]
        np.testing.assert_array_equal(values, expected)


def test_mixed_derivatives_of_powers_at_whole_exponents():
    """What the issue names: the Hessian at y = 0 was that of another function."""
    curve = wy.hessian(lambda v: v[0] ** v[1])(np.array([2.0, 0.0]))
    np.testing.assert_allclose(curve, [[0.0, 0.5], [0.5, math.log(2) ** 2]], rtol=1e-15)
    # At whole exponents, the exponent a variable: the second derivative by it and the mixed one.
    for y in (0.0, 1.0, 2.0, 3.0):
        curve = wy.hessian(lambda v: v[0] ** v[1])(np.array([3.0, y]))
        log = math.log(3.0)
        mixed = 3.0 ** (y - 1) * (1 + y * log)
        expected = [[y * (y - 1) * 3.0 ** (y - 2), mixed], [mixed, 3.0**y * log**2]]
        np.testing.assert_allclose(curve, expected, rtol=1e-14)


RELATIVE = [
    ("rel_entr", 0.0, 2.0, [0.0, -INF, 0.0, INF, -0.5, 0.0, -INF, 0.0, 0.25, 0.0]),
    ("kl_div", 0.0, 2.0, [2.0, -INF, 1.0, INF, -0.5, 0.0, -INF, 0.0, 0.25, 0.0]),
    ("rel_entr", -1.0, 2.0, [INF, *[NAN] * 9]),
    ("kl_div", 1.0, -2.0, [INF, *[NAN] * 9]),
    ("xlogy", 0.0, 0.0, [0.0, -INF, 0.0, 0.0, INF, 0.0, 0.0, 0.0, -INF, 0.0]),
    ("xlogy", 0.0, 2.0, [0.0, math.log(2), 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, -0.25, 0.0]),
    ("xlog1py", 0.0, -1.0, [0.0, -INF, 0.0, 0.0, INF, 0.0, 0.0, 0.0, -INF, 0.0]),
    ("hypot", 0.0, 0.0, [0.0] * 10),
    ("arctan2", 0.0, 0.0, [0.0] * 10),
    ("maximum", 1.0, 1.0, [1.0, 0.5, 0.5, *[0.0] * 7]),
    ("fmin", -1.0, -1.0, [-1.0, 0.5, 0.5, *[0.0] * 7]),
    ("logaddexp", INF, INF, [INF, 0.5, 0.5, *[0.0] * 7]),
    ("logaddexp", 1e308, 1e308, [1e308, 0.5, 0.5, 0.25, -0.25, 0.25, *[0.0] * 4]),
]


@pytest.mark.parametrize(("name", "x", "y", "expected"), RELATIVE)
def test_derivatives_of_pairs_at_ends_are_what_is_said(name, x, y, expected):
    found = derivatives(name, (), [np.array([x]), np.array([y])])
    np.testing.assert_allclose([float(found[o][0]) for o in PARTIALS], expected, rtol=1e-15)


@pytest.mark.parametrize("name", sorted(set(UNARY + BINARY) - MASKS - OTHERS))
def test_programs_and_tangents_give_the_gradients_at_special_points(name):
    entry = ENTRIES[name]
    order = (2,) if entry["ordered"] else ()
    lists = [[*special, INF, -INF, NAN] for special in entry["special"]]
    for kind in (np.float64, np.float32):
        with np.errstate(all="ignore"):
            at = [np.array(column, kind) for column in zip(*itertools.product(*lists), strict=True)]

        def f(*x: Any) -> Any:
            return getattr(_core, name)(*order, *x)

        leaves = [wy.Variable(a) for a in at]
        loss = np.sum(f(*leaves))
        loss.backward()
        eager = [np.zeros_like(v.value) if v.grad is None else v.grad for v in leaves]
        value, frozen = wy.freeze(loss).value_and_grad()
        np.testing.assert_array_equal(value, loss.value)
        for k, (leaf, slope) in enumerate(zip(leaves, eager, strict=True)):
            found = frozen.get(leaf)
            found = np.zeros_like(slope) if found is None else found
            np.testing.assert_array_equal(found, slope)
            before, after = at[:k], at[k + 1 :]

            def along(x: Any, before: Any = before, after: Any = after) -> Any:
                return f(*before, x, *after)

            moved = wy.jvp(along, (at[k],), (np.ones_like(at[k]),))[1]
            np.testing.assert_array_equal(np.asarray(getattr(moved, "value", moved)), slope)


PRODUCTS = [
    [1e-200, 1e-200, 1e300, 1e300],
    [1e300, 1e300, 1e-300, 1e-300],
    [-0.0, 1.0, -1.0],
    [np.inf, 0.0, 1.0],
    [1e-3] * 200 + [1e3] * 200,
]


@pytest.mark.parametrize("numbers", PRODUCTS, ids=range(len(PRODUCTS)))
def test_running_products_are_taken_one_after_the_other(numbers):
    """What overflows or underflows on the way stays so, as in NumPy; parts of it need not."""
    x = np.array(numbers)
    with np.errstate(all="ignore"):
        expected = np.cumprod(x)
    read = wy.compile(lambda x: np.cumprod(x), mode="source")
    for found in (np.cumprod(wy.Variable(x)).value, read(x)):
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
