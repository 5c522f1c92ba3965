"""Elementwise functions against NumPy and SciPy: values, edges, types, and every name.

All of it is made from the rule table: an entry that is added is tested.
"""

import runpy
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import oracle
import pytest
import scipy.special
from mpmath import mp, mpf

import wyrmling as wy
from wyrmling import _core, plain

stubs = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "stubs.py"))
ENTRIES = {entry["function"]: entry for entry in stubs["ENTRIES"]}

# What neither NumPy nor SciPy has, in NumPy's functions.
OTHERS = {
    "softplus": lambda x: np.logaddexp(0, x),
    "relu": lambda x: np.maximum(x, 0),
    "sec": lambda x: 1 / np.cos(x),
    "csc": lambda x: 1 / np.sin(x),
    "cot": lambda x: 1 / np.tan(x),
    "arcsec": lambda x: exact(mp.asec, x),
    "arccsc": lambda x: exact(mp.acsc, x),
    "arccot": lambda x: np.arctan(1 / x),
    "secd": lambda x: 1 / scipy.special.cosdg(x),
    "cscd": lambda x: 1 / scipy.special.sindg(x),
    "arcsind": lambda x: np.rad2deg(np.arcsin(x)),
    "arccosd": lambda x: np.rad2deg(np.arccos(x)),
    "arctand": lambda x: np.rad2deg(np.arctan(x)),
    "arcsecd": lambda x: np.rad2deg(exact(mp.asec, x)),
    "arccscd": lambda x: np.rad2deg(exact(mp.acsc, x)),
    "arccotd": lambda x: np.rad2deg(np.arctan(1 / x)),
    "sinpi": lambda x: np.sin(np.pi * np.fmod(x, 2)),
    "cospi": lambda x: np.cos(np.pi * np.fmod(x, 2)),
    "sech": lambda x: 2 * np.exp(-abs(x)) / (1 + np.exp(-2 * abs(x))),
    "csch": lambda x: np.where(abs(x) < 20, 1 / np.sinh(x), np.sign(x) * 2 * np.exp(-abs(x))),
    "coth": lambda x: 1 / np.tanh(x),
    "arcsech": lambda x: np.where((x == 0) & ~np.signbit(x), np.inf, exact(mp.asech, x)),
    "arccsch": lambda x: tiny(np.arcsinh, x),
    "arccoth": lambda x: exact(mp.acoth, x),
    "trigamma": lambda x: scipy.special.polygamma(1, x),
    "sinint": lambda x: scipy.special.sici(x)[0],
    "cosint": lambda x: scipy.special.sici(x)[1],
    "airy_ai": lambda n, x: airy(n, *scipy.special.airy(x)[:2], x),
    "airy_bi": lambda n, x: airy(n, *scipy.special.airy(x)[2:], x),
    "airy_aie": lambda n, x: scipy.special.airye(x)[0],
    "airy_bie": lambda n, x: scipy.special.airye(x)[2],
    "airy_aie_slope": lambda x: scipy.special.airye(x)[1],
    "airy_bie_slope": lambda x: scipy.special.airye(x)[3],
    "hurwitz_zeta": scipy.special.zeta,
    "riemann_zeta": lambda n, x: scipy.special.zeta(x),
}


def exact(f, x):
    """A function of mpmath's of real numbers; NaN where it is not real."""

    def number(v):
        with mp.workdps(60):
            try:
                y = f(mpf(float(v)))
            except ZeroDivisionError:
                return np.nan
            return float(mp.re(y)) if mp.im(y) == 0 else np.nan

    return np.vectorize(number, otypes=[float])(x)


def tiny(f, x):
    """An inverse hyperbolic function of 1 / x, also where the reciprocal overflows."""
    small = (abs(x) < 1e-290) & (x != 0)
    safe = np.where(small, x * 2.0**300, x)
    return f(1 / safe) + np.where(small, np.sign(x) * 300 * np.log(2), 0)


def airy(n, y, slope, x):
    """The derivative of order n from those of order 0 and 1."""
    return [y, slope, x * y, y + x * slope][n]


# Derivatives have no name elsewhere: their values are tested as those of what they derive.
DERIVATIVES = {name for name, entry in ENTRIES.items() if entry["internal"]}
ORDERS = [0, 1, 2, 3, 10, -1, -2]
USUAL = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 1e-300, -1e-300, np.inf, -np.inf, np.nan]
SPARSE = [0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, -5.0, 7.0, np.inf, -np.inf, np.nan]

# Where SciPy has no limit, or something else than it: what we have instead.
BESSEL = {"j0", "j1", "jn", "y0", "y1", "yn", "ive", "kve"}
FIRST = {"i0", "i1", "iv"}
DEGREES = {"sind", "cosd", "tand", "cotd", "secd", "cscd"}


def limit(name, n, x, want):
    """What is expected where it is not the reference's value; else that."""
    infinite = any(np.isinf(a) for a in x)
    if name in BESSEL and infinite and np.isnan(want) and not (name[0] in "yk" and x[0] < 0):
        return 0.0
    if name in FIRST and infinite:
        return -np.inf if x[0] < 0 and n[0] % 2 else np.inf
    if name == "iv" and abs(x[0]) == 1e-300 and abs(n[0]) == 1:
        return x[0] / 2
    if name in DEGREES and infinite:
        return np.nan
    if name in {"polygamma", "trigamma"} and x[0] == -np.inf:
        return np.nan
    if name == "cscd" and x[0] == 0:
        return np.copysign(np.inf, x[0])
    if name == "exp10" and x[0] == -323:
        return 1e-323
    if name == "rgamma" and x[0] == 171.7:
        return 3.7703988619342501e-309
    if name == "cotd" and abs(x[0]) == 1e-300:
        return 180 / np.pi / x[0]
    if name == "expi" and x[0] == 712.0:
        terms = 1 + (1 + (2 + (6 + (24 + 120 / 712) / 712) / 712) / 712) / 712
        return np.exp(356.0) / 712 * terms * np.exp(356.0)
    if name in {"beta", "betaln"} and any(np.isnan(x)):
        return np.nan
    if name in {"beta", "betaln"} and sum(x) in range(-60, 1) and sum(map(Fraction, x)) != sum(x):
        # SciPy rounds the sum to a pole of the gamma function.
        return exact(lambda first: oracle.FUNCTIONS[name](first, mpf(x[1])), x[0])[()]
    if name == "beta" and max(x) <= 0 and all(a == np.floor(a) for a in x):
        return np.inf
    if name in {"beta", "betaln"} and min(x) == np.inf:
        return 0.0 if name == "beta" else -np.inf
    if name == "kl_div" and np.isnan(want) and np.isinf(x[0]) != np.isinf(x[1]):
        return np.nan if any(np.isnan(x)) else np.inf
    if name == "cosint" and infinite:
        return 0.0
    if name == "airy_ai" and infinite:
        return 0.0 if x[0] > 0 or n[0] == 0 else np.nan
    if name == "airy_bi" and infinite:
        return np.inf if x[0] > 0 else 0.0 if n[0] == 0 else np.nan
    if name in {"airy_aie", "airy_bie"} and infinite:
        return 0.0 if x[0] > 0 or name == "airy_bie" else np.nan
    if name in {"airy_aie_slope", "airy_bie_slope"} and x[0] == np.inf:
        return -np.inf if name == "airy_aie_slope" else np.inf
    if name == "hurwitz_zeta" and (any(np.isnan(x)) or x[1] == -np.inf):
        return np.nan
    if name == "hurwitz_zeta" and x[0] == np.inf and x[1] not in {0.0, -1.0, -2.0, -5.0}:
        return np.nan if x[1] < 0 else np.inf if x[1] < 1 else float(x[1] == 1)
    return want


def reference(name):
    entry = ENTRIES[name]
    if name in OTHERS:
        return OTHERS[name]
    if entry["numpy"]:
        found = [n for n in entry["numpy"] if hasattr(np, n)]
        return getattr(np, found[0])
    return getattr(scipy.special, entry["scipy"][0])


def draw(domain, count, rng):
    parts = [rng.uniform(low, high, count) for low, high in domain]
    return np.concatenate(parts)


def orders(name):
    if not ENTRIES[name]["ordered"]:
        return [()]
    # Of some SciPy has no derivative; those by mpmath are in test_special.py.
    if name in {"airy_aie", "airy_bie", "riemann_zeta"}:
        return [(0,)]
    # Of polygamma those whose edges are not next to a zero, of Airy functions those there are.
    few = {"polygamma", "airy_ai", "airy_bi", "expn"}
    return [(n,) for n in ORDERS if 0 <= n <= 3 or name not in few]


def compare(name, ours, theirs, x, tolerance):
    """Equal to the tolerance: relative, and absolute next to a zero where that is not 0."""
    absolute = 0.0 if np.all(np.abs(theirs) < 1e-100) else 1e-2 * tolerance
    np.testing.assert_allclose(
        ours, theirs, rtol=tolerance, atol=absolute, err_msg=f"{name} of {x}"
    )


@pytest.mark.parametrize("name", sorted(set(ENTRIES) - DERIVATIVES))
def test_values_on_the_domain(name, rng):
    entry, ours, theirs = ENTRIES[name], getattr(_core, name), reference(name)
    for dtype, tolerance in [(np.float64, 1e-13), (np.float32, 3e-7)]:
        for n in orders(name):
            args = [draw(domain, 200, rng).astype(dtype) for domain in entry["domains"]]
            args = [rng.permutation(a)[:200] for a in args]
            y = ours(*n, *map(wy.Variable, args))
            with np.errstate(all="ignore"):
                expected = theirs(*n, *(a.astype(np.float64) for a in args))
            assert y.dtype == (bool if expected.dtype == bool else dtype)
            compare(name, y.value, expected, n, tolerance)


@pytest.mark.parametrize("name", sorted(set(ENTRIES) - DERIVATIVES))
def test_values_at_edges(name):
    entry, ours, theirs = ENTRIES[name], getattr(_core, name), reference(name)
    for n in orders(name):
        if len(entry["domains"]) == 1:
            args = [np.array(USUAL + entry["special"][0])]
        else:
            points = [SPARSE + [x for x in special if abs(x) < 100] for special in entry["special"]]
            args = [a.ravel() for a in np.meshgrid(*points)]
        with np.errstate(all="ignore"):
            expected = np.asarray(theirs(*n, *args), np.float64)
        found = ours(*n, *map(wy.Variable, args)).value
        for at, (y, want) in enumerate(zip(found, expected, strict=True)):
            x = tuple(float(a[at]) for a in args)
            if name in {"beta", "betaln"} and -np.inf in x:
                continue  # between poles: no value is right
            order = n or ((1,) if name.endswith("1") else (0,))
            compare(name, y, limit(name, order, x, want), (*n, *x), 2e-13)


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_all_names_are_one_function(name):
    entry = ENTRIES[name]
    for alias in [name, *entry["numpy"], *entry["scipy"]]:
        assert getattr(_core, alias) is getattr(_core, name)
    for module, aliases in ((wy, entry["numpy"]), (wy.special, entry["scipy"])):
        for alias in aliases:
            assert plain.inner(getattr(module, alias)) is getattr(_core, name)
    for text in (entry["formula"], entry["source"]):
        assert text in getattr(_core, name).__doc__


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_numpys_and_scipys_functions_take_variables(name, rng):
    entry, ours = ENTRIES[name], getattr(_core, name)
    args = [draw(domain, 3, rng) for domain in entry["domains"]]
    args = [a[: min(len(b) for b in args)] for a in args]
    order = [2] if entry["ordered"] else []
    expected = ours(*order, *map(wy.Variable, args)).value
    theirs = [getattr(np, alias, None) for alias in entry["numpy"]]
    theirs += [getattr(scipy.special, alias) for alias in entry["scipy"]]
    theirs = [f for f in theirs if isinstance(f, np.ufunc) or f in (np.sinc, np.i0)]
    for f in theirs:
        y = f(*order, *map(wy.Variable, args))
        assert isinstance(y, wy.Variable)
        np.testing.assert_array_equal(y.value, expected)
        with pytest.raises(TypeError, match=r"out: a plain array cannot take|unexpected keyword"):
            f(*order, *map(wy.Variable, args), out=np.empty(3))


def test_scipy_is_never_imported():
    code = """
import sys
import numpy as np
import wyrmling as wy
wy.special.gamma(wy.Variable(2.0))
try:
    np.modf(wy.Variable(2.0))
except TypeError:
    pass
assert not any(name.startswith("scipy") for name in sys.modules)
import scipy.special
assert scipy.special.gamma(wy.Variable(5.0)).item() == 24.0
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_orders_are_integers_within_bounds():
    x = wy.Variable(1.0)
    for n in (2, 2.0, np.int64(2), np.float64(2.0), True + 1):
        assert wy.special.jn(n, x).item() == pytest.approx(scipy.special.jv(2, 1.0), rel=1e-14)
    for n in (0.5, np.nan, np.float64(0.5), 1001, -1001, 10**400):
        with pytest.raises(ValueError, match="jn: n: expected an integer"):
            wy.special.jn(n, x)
    for n in ([1, 2], x, "1", None, np.arange(2)):
        with pytest.raises(TypeError, match="jn: n: expected one integer"):
            wy.special.jn(n, x)
    with pytest.raises(TypeError, match=r"for several use np.stack\(\[yn\(k, x\) for k in n\]\)"):
        wy.special.yn(np.arange(2), x)


# Those of NumPy's names are NumPy's if no variable is given.
NAMED = ["relu", "special.airy", "special.airye", "special.sici", "special.zeta"]
NAMED += ["special.gammainc", "special.jv"]


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("wrong", ["a", None, {}])
def test_what_is_no_number_is_refused_by_name(name, wrong):
    function = getattr(wy.special if "." in name else wy, name.rpartition(".")[2])
    others = [1.0] if name in ("special.gammainc", "special.jv") else []
    own = "jn" if name == "special.jv" else name.rpartition(".")[2]
    with pytest.raises(
        TypeError, match=rf"^{own}: .*expected numbers.*, got {type(wrong).__name__}"
    ):
        function(*map(int, others), wrong)


def gradient(f, *at):
    """The gradient of a function by each of its arguments."""
    leaves = [wy.Variable(a) for a in at]
    f(*leaves).backward()
    return [float(leaf.grad) for leaf in leaves]


def test_gradients_are_their_limits_at_special_points():
    assert gradient(wy.sinc, 0.0) == [0.0]
    assert wy._core.sinc_derivative(2, 0.0).item() == pytest.approx(-(np.pi**2) / 3, rel=1e-14)
    assert gradient(wy.hypot, 0.0, 0.0) == [0.0, 0.0]
    assert gradient(wy.arctan2, 0.0, 0.0) == [0.0, 0.0]
    assert gradient(wy.abs, 0.0) == [0.0]
    assert gradient(wy.special.xlogy, 0.0, 2.0) == [np.log(2.0), 0.0]
    assert gradient(wy.special.xlogy, 0.0, 0.0)[1] == 0.0
    assert gradient(wy.logaddexp, np.inf, np.inf) == [0.5, 0.5]
    assert gradient(wy.logaddexp, -np.inf, 1.0) == [0.0, 1.0]
    assert gradient(wy.logaddexp, 2.0, 2.0) == [0.5, 0.5]
    assert gradient(wy.special.ellipk, 0.0) == pytest.approx([np.pi / 8], rel=1e-14)
    assert gradient(wy.special.ellipe, 0.0) == pytest.approx([-np.pi / 8], rel=1e-14)
    assert gradient(wy.special.log_ndtr, -40.0) == pytest.approx([40.02496884712], rel=1e-10)
    assert gradient(wy.power, 0.0, 2.0) == [0.0, 0.0]


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_of_what_chooses_are_nan_where_it_is(kind, order):
    """One rule for all of them: where NaN makes a NaN, derivatives by all operands are NaN."""
    nan, one = np.array([np.nan, 2.0], kind), np.array([1.0, 1.0], kind)

    def slopes(f, *at):
        found = []
        for k in range(len(at)):
            g = f
            for _ in range(order):
                g = wy.elementwise_grad(g, k)
            found.append([float(v) for v in g(*at)])
        return found

    first = 1.0 if order == 1 else 0.0
    for f in (wy.maximum, wy.minimum):
        wins = first if f is wy.maximum else 0.0
        rest = first - wins
        for at, taken, other in ((nan, wins, rest), (one, rest, wins)):
            pair = (nan, one) if at is nan else (one, nan)
            np.testing.assert_array_equal(slopes(f, *pair), [[np.nan, taken], [np.nan, other]])
    for f in (wy.fmax, wy.fmin):
        # The number is chosen; of two NaN there is none.
        np.testing.assert_array_equal(slopes(f, nan[:1], one[:1]), [[0.0], [first]])
        np.testing.assert_array_equal(slopes(f, one[:1], nan[:1]), [[first], [0.0]])
        np.testing.assert_array_equal(slopes(f, nan[:1], nan[:1]), [[np.nan]] * 2)
    np.testing.assert_array_equal(slopes(wy.relu, nan), [[np.nan, first]])
    inside, above, below = slopes(wy.clip, nan, one * 0, one * 3)
    np.testing.assert_array_equal([inside, above, below], [[np.nan, first], *[[np.nan, 0.0]] * 2])
    # Of a bound that is NaN, too.
    np.testing.assert_array_equal(slopes(wy.clip, one[:1], nan[:1], one[:1]), [[np.nan]] * 3)
    for f in (wy.max, wy.min):
        v = wy.Variable(nan)
        f(v).backward()
        assert np.isnan(v.grad).all()


def test_extremes_of_zeros_of_two_signs_are_numpys():
    zeros = np.array([[0.0, -0.0, 0.0, -0.0], [0.0, 0.0, -0.0, -0.0]])
    for name in ("maximum", "minimum", "fmax", "fmin"):
        # One by one: of fmax and fmin NumPy's vector loops choose otherwise than its scalar ones.
        expected = [getattr(np, name)(x, y) for x, y in zeros.T]
        for kind in (np.float64, np.float32):
            found = getattr(wy, name)(*map(wy.Variable, zeros.astype(kind))).value
            np.testing.assert_array_equal(np.signbit(found), np.signbit(expected), name)


NEXT_TO_ONE = [2**-53, 2**-52, 3 * 2.0**-52, 5 * 2.0**-51, 1e-14, 1e-12, 1e-9, 1e-6, 1e-3]


@pytest.mark.parametrize("name", ["arcsech", "arcsec", "arccsc", "arccoth", "arccosh", "arctanh"])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_inverses_next_to_one_have_all_digits(name, kind):
    """Where the rounding of 1 / x would take half of the digits."""
    below = name in {"arcsech", "arctanh"}
    least = 2 ** (-24 if kind is np.float32 else -53) * (1 if below else 2)
    steps = np.array([d for d in NEXT_TO_ONE if d >= least] + [least])
    x = kind(1) + (-steps if below else steps).astype(kind)
    if name not in {"arcsech", "arccosh"}:
        x = np.concatenate([x, -x])
    with mp.workdps(60):
        f = {"arctanh": mp.atanh}.get(name, getattr(mp, name.replace("arc", "a")))
        exact = [[mp.diff(f, mpf(float(v)), n, h=mpf(10) ** -30) for v in x] for n in (1, 2)]
        exact = [[f(mpf(float(v))) for v in x], *exact]
    ours = getattr(_core, name)
    for values in exact:
        found = ours(x)
        found = np.asarray(getattr(found, "value", found))
        expected = np.array([float(v) for v in values])
        tolerance = 2e-7 if kind is np.float32 else 5e-15
        np.testing.assert_allclose(found, expected, rtol=tolerance, err_msg=name)
        ours = wy.elementwise_grad(ours)


@pytest.mark.parametrize("limits", [(-0.5, 0.5), (None, 0.5), (-0.5, None), (None, None)])
def test_clip(limits, rng):
    a = rng.uniform(-1, 1, (3, 4))
    x = wy.Variable(a)
    y = np.clip(x, *limits)
    np.testing.assert_array_equal(y.value, a if limits == (None, None) else np.clip(a, *limits))
    y.backward()
    np.testing.assert_array_equal(x.grad, (y.value == a).astype(float))


@pytest.mark.parametrize("path", stubs["FILES"], ids=lambda path: path.name)
def test_lists_of_functions_are_current(path):
    text = path.read_text("utf-8")
    assert text == stubs["FILES"][path](text), "run python scripts/stubs.py"


def test_gradients_of_lengths_and_angles_neither_overflow_nor_vanish():
    assert gradient(wy.hypot, np.inf, 1.0) == [1.0, 0.0]
    assert gradient(wy.hypot, -np.inf, np.inf) == pytest.approx([-(0.5**0.5), 0.5**0.5])
    assert gradient(wy.hypot, 1.5e308, -1.5e308) == pytest.approx([0.5**0.5, -(0.5**0.5)])
    assert gradient(wy.hypot, 3e-310, 4e-310) == pytest.approx([0.6, 0.8])
    assert gradient(wy.arctan2, 1.0, np.inf) == [0.0, 0.0]
    curve = wy.grad(wy.grad(lambda x: wy.hypot(x, 4.0)))
    np.testing.assert_allclose([curve(3.0), curve(np.inf)], [16 / 125, 0.0], rtol=1e-14)


def test_outside_of_the_domain_the_gradient_is_nan_too():
    for x in (-3.0, 0.5):
        assert np.isnan(gradient(wy.arccosh, x))
    assert np.isnan(gradient(_core.arcsec, 0.5))


@pytest.mark.parametrize("name", ["k0", "k1", "kn", "k0e", "k1e", "kve"])
def test_bessel_functions_of_the_largest_numbers(name):
    f = getattr(wy.special, name)
    y = (f(3, 1.2e308) if name in {"kn", "kve"} else f(1.2e308)).item()
    expected = np.sqrt(np.pi / 2) / np.sqrt(1.2e308) if name.endswith("e") else 0.0
    np.testing.assert_allclose(y, expected, rtol=1e-15)


def test_numbers_next_to_zero():
    assert wy.special.airy(5e-324)[1].item() == scipy.special.airy(0.0)[1]
    for f in ("k1", "k1e"):
        assert getattr(wy.special, f)(5e-324).item() == np.inf
    assert wy.special.kn(2, 5e-324).item() == np.inf
    assert np.isfinite(wy.special.k0(5e-324).item())


@pytest.mark.parametrize(("x", "y"), [(np.nan, 0.0), (0.0, np.nan), (np.nan, 1.0)])
def test_the_gradient_of_a_length_that_is_nan_is_nan(x, y):
    assert np.isnan(gradient(wy.hypot, x, y)).all()


@pytest.mark.parametrize("x", [1e153, 1e155, 1e200, -1e300, 1.7e308])
def test_the_cosine_integral_far_out(x):
    # DLMF 6.12.4; the square of x overflows.
    np.testing.assert_allclose(wy._core.cosint(x).item(), np.sin(x) / x, rtol=1e-15)
