"""The elementwise functions of the rule table once more, in mpmath, and derivatives of them.

``FUNCTIONS`` has one for each entry that is a function of real numbers, by the entry's name; those
of an order take it first. They are written from definitions, and share nothing with the package.
``derivative`` differentiates one by differences of so many digits that nothing is lost. It gives
NaN where the function is not real; whoever calls keeps away from points where a derivative does
not exist.
"""

import itertools
from collections.abc import Callable
from typing import Any

import mpmath
from mpmath import mp, mpf

Function = Callable[..., Any]

DEGREE = mpmath.pi / 180


def _erfcx(x: Any) -> Any:
    return mp.exp(x * x) * mp.erfc(x)


def _dawsn(x: Any) -> Any:
    return mp.exp(-x * x) * mp.erfi(x) * mp.sqrt(mp.pi) / 2


def _ndtr(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _airy_scale(x: Any) -> Any:
    return mp.exp(2 * x * mp.sqrt(x) / 3) if x > 0 else mpf(1)


def _airye(function: Function, sign: int, order: int) -> Function:
    def scaled(x: Any) -> Any:
        if x < 0 and sign > 0:
            return mp.nan
        return function(x, derivative=order) * _airy_scale(x) ** sign

    return scaled


def _sinc(x: Any) -> Any:
    return mp.mpf(1) if x == 0 else mp.sinpi(x) / (mp.pi * x)


def _xlogy(x: Any, y: Any) -> Any:
    return mpf(0) if x == 0 else x * mp.log(y)


def _rel_entr(x: Any, y: Any) -> Any:
    return mpf(0) if x == 0 else x * mp.log(x / y)


def _logaddexp(x: Any, y: Any) -> Any:
    # What is below e^-9000 of the other is nothing to float64, nor are its derivatives.
    rest = mp.exp(-abs(x - y)) if abs(x - y) < 9000 else mpf(0)
    return max(x, y) + mp.log(1 + rest)


def _log_abs_gamma(x: Any) -> Any:
    return mp.log(abs(mp.gamma(x))) if abs(x) < 1e4 else mp.re(mp.loggamma(x))


def _gamma_sign(x: Any) -> Any:
    if x < 0 and mp.isint(x):
        return mp.nan
    return mpf(-1) if x < 0 and mp.floor(x) % 2 else mpf(1)


def _rgamma(x: Any) -> Any:
    return mp.rgamma(x)


def _power(x: Any, y: Any) -> Any:
    if x == 0:
        return mpf(0) if y > 0 else mpf(1) if y == 0 else mp.inf
    return mp.power(x, y)


def _gammainc(a: Any, x: Any) -> Any:
    return mp.gammainc(a, 0, x, regularized=True) if x > 0 else mpf(0)


def _second(n: int, x: Any, sign: int) -> Any:
    """Y_n for a sign of -1 (DLMF 10.8.1), K_n for 1 (DLMF 10.31.1), by series; for `x ≤ 1` only."""
    half, n = x / 2, abs(n)
    square = sign * half * half
    finite = mp.fsum(mp.factorial(n - k - 1) / mp.factorial(k) * (-square) ** k for k in range(n))
    finite *= half**-n
    term, rest, k = half**n / mp.factorial(n), mpf(0), 0
    first = mpf(0)
    # ψ(k + 1) + ψ(n + k + 1) by harmonic numbers.
    sums = -2 * mp.euler + mp.harmonic(n)
    while abs(term) > mp.eps * abs(half) ** n * mpf(10) ** -5 / mp.factorial(n):
        first += term
        rest += sums * term
        k += 1
        sums += mpf(1) / k + mpf(1) / (n + k)
        term *= square / (k * (n + k))
    if sign < 0:
        return (-finite + 2 * mp.log(half) * first - rest) / mp.pi
    return (finite + (-1) ** n * (rest - 2 * mp.log(half) * first)) / 2


def _upwards(n: int, x: Any, sign: int, first: Any, second: Any) -> Any:
    """Y_n for a sign of -1 (DLMF 10.6.1), K_n for 1 (DLMF 10.29.1), from those of 0 and 1.

    On the way up these two grow, so that no digits are lost.
    """
    for k in range(1, n):
        first, second = second, 2 * k / x * second + sign * first
    return second if n else first


def _bessely(n: int, x: Any) -> Any:
    if not x > 0:
        return mp.bessely(n, x)
    if x <= 1:
        first, second = _second(0, x, -1), _second(1, x, -1)
    else:
        first, second = mp.bessely(0, x), mp.bessely(1, x)
    return _upwards(abs(n), x, -1, first, second) * (-1) ** min(n, 0)


def _besselk(n: int, x: Any) -> Any:
    """K_n, of which mpmath takes a limit in n: minutes for so many digits."""
    if x < 0 or x > 1e6:
        return mp.besselk(n, x)
    k = _second if x <= 1 else _integral
    return _upwards(abs(n), x, 1, k(0, x, 1), k(1, x, 1))


def _integral(n: int, x: Any, sign: int) -> Any:
    """K_n for `x > 1` as the integral of e^(-x·cosh t)·cosh(n·t) (DLMF 10.32.9).

    The trapezoidal rule's error is e^(-π²/h), or where the integrand is a narrow bell
    e^(-2π²/(x·h²)).
    """
    digits = mp.prec * 0.7 + 10
    step = min(mp.pi**2 / digits, mp.pi * mp.sqrt(2 / (x * digits)))
    total, t = mp.exp(-x) / 2, step
    while True:
        term = mp.exp(-x * mp.cosh(t)) * mp.cosh(n * t)
        total += term
        if term < mp.eps * total * mpf(10) ** -5:
            return total * step
        t += step


def _of_e(function: Function, sign: int) -> Function:
    return lambda *args: mp.exp(sign * abs(args[-1])) * function(*args)


FUNCTIONS: dict[str, Function] = {
    "negative": lambda x: -x,
    "exp": mp.exp,
    "log": mp.log,
    "log1p": lambda x: mp.log(1 + x),
    "expm1": lambda x: mp.exp(x) - 1,
    "sqrt": mp.sqrt,
    "square": lambda x: x * x,
    "abs": abs,
    "sign": lambda x: mpf(mp.sign(x)),
    "reciprocal": lambda x: 1 / x,
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "logsigmoid": lambda x: -mp.log(1 + mp.exp(-x)),
    "softplus": lambda x: mp.log(1 + mp.exp(x)),
    "relu": lambda x: x if x > 0 else mpf(0),
    "positive": lambda x: x,
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "exp2": lambda x: mp.power(2, x),
    "exp10": lambda x: mp.power(10, x),
    "log2": lambda x: mp.log(x) / mp.log(2),
    "log10": lambda x: mp.log(x) / mp.log(10),
    "floor": mp.floor,
    "ceil": mp.ceil,
    "trunc": lambda x: mp.sign(x) * mp.floor(abs(x)),
    "rint": mp.nint,
    "deg2rad": lambda x: x * mp.pi / 180,
    "rad2deg": lambda x: x * 180 / mp.pi,
    "logit": lambda x: mp.log(x / (1 - x)),
    "entr": lambda x: -x * mp.log(x),
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "power": _power,
    "maximum": max,
    "minimum": min,
    "hypot": lambda x, y: mp.sqrt(x * x + y * y),
    "arctan2": mp.atan2,
    "logaddexp": _logaddexp,
    "logaddexp2": lambda x, y: _logaddexp(x * mp.log(2), y * mp.log(2)) / mp.log(2),
    "xlogy": _xlogy,
    "xlog1py": lambda x, y: _xlogy(x, 1 + y),
    "rel_entr": _rel_entr,
    "kl_div": lambda x, y: _rel_entr(x, y) - x + y,
    "fmax": max,
    "fmin": min,
    "copysign": lambda x, y: abs(x) if y > 0 else -abs(x),
    "remainder": lambda x, y: x - y * mp.floor(x / y),
    "fmod": lambda x, y: x - y * mp.sign(x / y) * mp.floor(abs(x / y)),
    "floor_divide": lambda x, y: mp.floor(x / y),
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "tanh": mp.tanh,
    "sec": mp.sec,
    "csc": mp.csc,
    "cot": mp.cot,
    "arcsin": mp.asin,
    "arccos": mp.acos,
    "arctan": mp.atan,
    "arcsec": mp.asec,
    "arccsc": mp.acsc,
    "arccot": lambda x: mp.atan(1 / x),
    "sinpi": mp.sinpi,
    "cospi": mp.cospi,
    "sinc": _sinc,
    "sinh": mp.sinh,
    "cosh": mp.cosh,
    "sech": mp.sech,
    "csch": mp.csch,
    "coth": mp.coth,
    "arcsinh": mp.asinh,
    "arccosh": mp.acosh,
    "arctanh": mp.atanh,
    "arcsech": mp.asech,
    "arccsch": mp.acsch,
    "arccoth": mp.acoth,
    "gamma": mp.gamma,
    "rgamma": mp.rgamma,
    "gammaln": _log_abs_gamma,
    "gammasgn": _gamma_sign,
    "loggamma": mp.loggamma,
    "digamma": mp.digamma,
    "trigamma": lambda x: mp.psi(1, x),
    "polygamma": mp.psi,
    "beta": mp.beta,
    "betaln": lambda x, y: mp.log(abs(mp.beta(x, y))),
    "gammainc": _gammainc,
    "gammaincc": lambda a, x: mp.gammainc(a, x, regularized=True),
    "hurwitz_zeta": mp.zeta,
    "riemann_zeta": lambda n, x: mp.zeta(x, 1, n),
    "erf": mp.erf,
    "erfc": mp.erfc,
    "erfcx": _erfcx,
    "erfi": mp.erfi,
    "dawsn": _dawsn,
    "erfinv": mp.erfinv,
    "erfcinv": lambda x: mp.erfinv(1 - x),
    "ndtr": _ndtr,
    "log_ndtr": lambda x: mp.log(_ndtr(x)),
    "ndtri": lambda x: mp.sqrt(2) * mp.erfinv(2 * x - 1),
    "bell": lambda x: mp.exp(-x * x),
    "j0": lambda x: mp.besselj(0, x),
    "j1": lambda x: mp.besselj(1, x),
    "jn": mp.besselj,
    "y0": lambda x: _bessely(0, x),
    "y1": lambda x: _bessely(1, x),
    "yn": _bessely,
    "i0": lambda x: mp.besseli(0, x),
    "i1": lambda x: mp.besseli(1, x),
    "iv": mp.besseli,
    "i0e": _of_e(lambda x: mp.besseli(0, x), -1),
    "i1e": _of_e(lambda x: mp.besseli(1, x), -1),
    "ive": _of_e(mp.besseli, -1),
    "k0": lambda x: _besselk(0, x),
    "k1": lambda x: _besselk(1, x),
    "kn": _besselk,
    "k0e": _of_e(lambda x: _besselk(0, x), 1),
    "k1e": _of_e(lambda x: _besselk(1, x), 1),
    "kve": _of_e(_besselk, 1),
    "airy_ai": lambda n, x: mp.airyai(x, derivative=n),
    "airy_bi": lambda n, x: mp.airybi(x, derivative=n),
    "airy_aie": lambda n, x: (
        mp.diff(_airye(mp.airyai, 1, 0), x, n) if n else _airye(mp.airyai, 1, 0)(x)
    ),
    "airy_bie": lambda n, x: (
        mp.diff(_airye(mp.airybi, -1, 0), x, n) if n else _airye(mp.airybi, -1, 0)(x)
    ),
    "airy_aie_slope": _airye(mp.airyai, 1, 1),
    "airy_bie_slope": _airye(mp.airybi, -1, 1),
    "exp1": mp.e1,
    "expn": mp.expint,
    "sinint": mp.si,
    "cosint": lambda x: mp.ci(abs(x)),
    "expi": mp.ei,
    "ellipk": mp.ellipk,
    "ellipe": mp.ellipe,
}
# Of degrees, by those of radians.
for _name in ("sin", "cos", "tan", "sec", "csc", "cot"):
    FUNCTIONS[f"{_name}d"] = lambda x, f=FUNCTIONS[_name]: f(x * mp.pi / 180)
    FUNCTIONS[f"arc{_name}d"] = lambda x, f=FUNCTIONS[f"arc{_name}"]: f(x) * 180 / mp.pi


def derivative(
    function: Function,
    at: tuple[float, ...],
    orders: tuple[int, ...],
    fine: int = 30,
    refined: bool = False,
) -> Any:
    """The mixed derivative of the given order in each argument, at numbers; NaN if it is not real.

    Steps are 10^-fine of the argument where that is below 1, else of 1; of 0, as of the other one.
    """
    least = min([1.0, *(abs(x) for x in at if x)])
    logs = [abs(float(mp.log10(abs(mpf(x or least))))) for x in at]
    lost = sum(n * (fine + log) for n, log in zip(orders, logs, strict=True))
    # Functions such as exp(-x) and exp(-x²) are added to others, until float64 has them no more.
    tails = max(min(float(x) ** 2, 340.0) if abs(x) < 2e3 else 0.0 for x in at)
    digits = int(35 + lost + 3 * max(logs) + tails)
    with mp.workdps(digits):
        if not any(orders):
            value = function(*map(mpf, at))
            return mp.re(value) if mp.im(value) == 0 else mp.nan
        points = [mpf(x) for x in at]
        steps = [mpf(10) ** -fine * min(abs(x or least), 1) for x in points]
        result, size = mpf(0), mpf(0)
        for counts in itertools.product(*(range(n + 1) for n in orders)):
            weight, moved = mpf(1), []
            for k, n, x, h in zip(counts, orders, points, steps, strict=True):
                weight *= (-1) ** k * mp.binomial(n, k) / h**n
                moved.append(x + (mpf(n) / 2 - k) * h)
            value = function(*moved)
            if mp.im(value) != 0 or mp.isnan(mp.re(value)):
                return mp.nan
            result += weight * mp.re(value)
            # Of a difference near a zero, the terms that it is of.
            size += abs(weight) * max(abs(mp.re(value)), 1)
        # What is left of terms that cancel.
        if abs(result) <= size * mpf(10) ** (5 - digits):
            return mpf(0)
    if 0 < abs(result) < mpf(10) ** -fine and not refined:
        # If there is only the error of the differences, it falls with the square of the step.
        finer = derivative(function, at, orders, fine + 1, refined=True)
        return mpf(0) if abs(finer) < abs(result) / 50 else result
    return result
