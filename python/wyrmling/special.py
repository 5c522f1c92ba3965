"""Special functions, by the names that they have in ``scipy.special``.

Besides there are those of Julia's DiffRules that neither NumPy nor SciPy has: the trigonometric
functions of degrees (``sind``), secants, cosecants and cotangents with their inverses, ``sinpi``
and ``cospi``, and ``trigamma``.

They take variables, numbers and whatever NumPy makes an array of. Given no variable they return
arrays, and NumPy's scalars: the same numbers to the bit, in float32 if that came in, else float64.
SciPy is not needed; where it is loaded, its own functions take variables too, those that are
ufuncs. Orders of Bessel functions and of ``polygamma`` are integers. ``help`` on a function says
what it computes, and the source of the formula.

>>> import wyrmling as wy
>>> x = wy.Variable(0.5)
>>> y = wy.special.erf(x)
>>> y.backward()
>>> round(y.item(), 9), round(float(x.grad), 9)
(0.520499878, 0.878782579)
"""

from __future__ import annotations

import math
from typing import Any, SupportsIndex

import numpy as np

from . import _core
from . import functions as _functions
from . import plain as _plain
from ._core import (
    Variable,
    airy_ai,
    airy_aie,
    airy_aie_slope,
    airy_bi,
    airy_bie,
    airy_bie_slope,
    arccosd,
    arccot,
    arccotd,
    arccoth,
    arccsc,
    arccscd,
    arccsch,
    arcsec,
    arcsecd,
    arcsech,
    arcsind,
    arctand,
    beta,
    betaln,
    cbrt,
    constant,
    cosd,
    cosdg,
    cosint,
    cospi,
    cot,
    cotd,
    cotdg,
    coth,
    csc,
    cscd,
    csch,
    dawsn,
    digamma,
    ellipe,
    ellipk,
    entr,
    erf,
    erfc,
    erfcinv,
    erfcx,
    erfi,
    erfinv,
    exp1,
    exp2,
    exp10,
    expand_dims,
    expi,
    expit,
    expm1,
    expn,
    gamma,
    gammainc,
    gammaincc,
    gammaln,
    gammasgn,
    hurwitz_zeta,
    i0,
    i0e,
    i1,
    i1e,
    iv,
    ive,
    j0,
    j1,
    jn,
    jv,
    jve,
    k0,
    k0e,
    k1,
    k1e,
    kl_div,
    kn,
    kv,
    kve,
    log1p,
    log_expit,
    log_ndtr,
    loggamma,
    logit,
    merge_axes,
    ndtr,
    ndtri,
    polygamma,
    psi,
    rel_entr,
    reshape_like,
    rgamma,
    riemann_zeta,
    sec,
    secd,
    sech,
    sind,
    sindg,
    sinint,
    sinpi,
    tand,
    tandg,
    transpose,
    trigamma,
    where,
    xlog1py,
    xlogy,
    y0,
    y1,
    yn,
    yv,
    yve,
)
from .arrays import logsumexp
from .arrays.operand import Axis, Like, axes_of, count, is_axis_of_number, numbers

__all__ = [
    "airy",
    "airye",
    "arccosd",
    "arccot",
    "arccotd",
    "arccoth",
    "arccsc",
    "arccscd",
    "arccsch",
    "arcsec",
    "arcsecd",
    "arcsech",
    "arcsind",
    "arctand",
    "beta",
    "betaln",
    "cbrt",
    "cosd",
    "cosdg",
    "cospi",
    "cot",
    "cotd",
    "cotdg",
    "coth",
    "csc",
    "cscd",
    "csch",
    "dawsn",
    "digamma",
    "ellipe",
    "ellipk",
    "entr",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfi",
    "erfinv",
    "exp1",
    "exp2",
    "exp10",
    "expi",
    "expit",
    "expm1",
    "expn",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "iv",
    "ive",
    "j0",
    "j1",
    "jn",
    "jv",
    "jve",
    "k0",
    "k0e",
    "k1",
    "k1e",
    "kl_div",
    "kn",
    "kv",
    "kve",
    "log1p",
    "log_expit",
    "log_ndtr",
    "log_softmax",
    "loggamma",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "rel_entr",
    "rgamma",
    "sec",
    "secd",
    "sech",
    "sici",
    "sind",
    "sindg",
    "sinpi",
    "softmax",
    "tand",
    "tandg",
    "trigamma",
    "xlog1py",
    "xlogy",
    "y0",
    "y1",
    "yn",
    "yv",
    "yve",
    "zeta",
]


def airy(z: Any, /) -> tuple[Variable, Variable, Variable, Variable]:
    """Return the Airy functions of real numbers: Ai, its derivative, Bi and its derivative.

    By series (DLMF 9.2(i), 9.7(ii)), to 14 digits of the value, or of the amplitude where they
    oscillate. Derivatives of any order are those that y'' = z y gives. Below -1e12, where float64
    cannot tell the phase, all are NaN; Ai and Bi are 0 at -inf.

    Raises TypeError for what holds no numbers.

    >>> [round(y.item(), 9) for y in airy(1.0)]
    [0.135292416, -0.159147441, 1.207423595, 0.932435933]
    """
    x = numbers("airy: z", z)
    return airy_ai(0, x), airy_ai(1, x), airy_bi(0, x), airy_bi(1, x)


def airye(z: Any, /) -> tuple[Variable, Variable, Variable, Variable]:
    """Return what ``airy`` does without its growth: scaled by exp(ζ) or exp(-ζ), ζ = 2/3 z^(3/2).

    Ai and its derivative are multiplied by exp(ζ), Bi and its derivative by exp(-ζ), by the series
    of ``airy``, also where those overflow or vanish. Below 0 the first two are not real, and NaN;
    the others are not scaled, for there ζ is imaginary.

    Elementwise. At 0 derivatives of the scaled functions are infinite from the second on. Raises
    TypeError for what holds no numbers.

    >>> [round(y.item(), 9) for y in airye(1.0)]
    [0.263513645, -0.309976889, 0.619911944, 0.478728571]
    """
    x = numbers("airye: z", z)
    return airy_aie(0, x), airy_aie_slope(x), airy_bie(0, x), airy_bie_slope(x)


def sici(x: Any, /) -> tuple[Variable, Variable]:
    """Return the sine and the cosine integral: ∫_0^x sin(t) / t dt and -∫_|x|^∞ cos(t) / t dt.

    Source: DLMF 6.2(ii).

    Raises TypeError for what holds no numbers.

    >>> [round(y.item(), 9) for y in sici(1.0)]
    [0.94608307, 0.337403923]
    """
    x = numbers("sici: x", x)
    return sinint(x), cosint(x)


def zeta(x: Any, q: Any = None, /) -> Variable:
    """Return the Hurwitz zeta function Σ_(k≥0) (q + k)^-x, or, without q, Riemann's.

    By the Euler-Maclaurin formula (DLMF 25.11.7), with derivatives of any order by x and q. That of
    q is NaN for x below 1, infinite where q is 0 or a negative integer, and NaN for other negative
    q unless x is an integer; there the derivative by x is NaN. Riemann's is continued below 1
    (DLMF 25.4.2). Elementwise, with broadcasting. Raises TypeError for what holds no numbers,
    ValueError for shapes that do not fit.

    >>> round(zeta(2.0).item(), 9), round(zeta(2.0, 0.5).item(), 9), round(zeta(-1.0).item(), 9)
    (1.644934067, 4.934802201, -0.083333333)
    """
    if q is None:
        return riemann_zeta(0, numbers("zeta: x", x))
    # Each is checked alone, so that the error names it; hurwitz_zeta converts both to one type.
    numbers("zeta: x", x)
    numbers("zeta: q", q)
    return hurwitz_zeta(x, q)


def multigammaln(a: Like, d: SupportsIndex) -> Variable:
    """Return the logarithm of the multivariate gamma function of dimension d (DLMF 35.3.4).

    That is d (d-1)/4 log(π) + Σ_(j<d) gammaln(a - j/2); NaN where a is not above (d-1)/2.
    Elementwise in a. Raises TypeError for a d that is no integer or an a without numbers,
    ValueError for a negative d.

    >>> round(multigammaln(3.0, 2).item(), 9)
    1.550194994
    """
    # Integers become floats, which halves can be subtracted from.
    x = numbers("multigammaln: a", a) + 0.0
    d = count("multigammaln: d", d)
    halves = (np.arange(d) / 2).astype(x.dtype)
    sums = gammaln(expand_dims(x, x.ndim) - halves).sum(-1)
    inside = where(x > (d - 1) / 2, 1.0, math.nan).astype(x.dtype)
    return inside * (sums + d * (d - 1) / 4 * math.log(math.pi))


def softmax(x: Like, axis: Axis = None) -> Variable:
    """Return exp(x) / sum(exp(x)) over axes, all of them by default, without overflow.

    That of ``wyrmling.softmax`` is over the last axis. Raises ValueError for no elements.

    >>> softmax([[0.0, 0.0], [0.0, 0.0]])
    array([[0.25, 0.25],
           [0.25, 0.25]])
    """
    return _over_axes(_core.softmax, "softmax", x, axis)


def log_softmax(x: Like, axis: Axis = None) -> Variable:
    """Return the logarithm of ``softmax`` over axes, all of them by default, without underflow.

    Errors are those of ``softmax``.

    >>> log_softmax([[1000.0, 0.0]])
    array([[    0., -1000.]])
    """
    return _over_axes(_core.log_softmax, "log_softmax", x, axis)


def _over_axes(function: Any, name: str, x: Like, axis: Axis) -> Variable:
    """What a function along one axis gives over several, which are merged."""
    x = constant(x)
    number = x.ndim == 0 and is_axis_of_number(axis)
    axes = () if number else axes_of(name, axis, x.ndim)
    if len(axes) == 1:
        found: Variable = function(x, axes[0])
        return found
    if not axes:
        # Of one number, and of each alone.
        return reshape_like(function(expand_dims(x, x.ndim), x.ndim), x)
    others = [k for k in range(x.ndim) if k not in axes]
    order = [*others, *axes]
    moved = transpose(x, order)
    merged = merge_axes(moved, len(others), len(axes))
    found = reshape_like(function(merged, len(others)), moved)
    return transpose(found, [order.index(k) for k in range(x.ndim)])


def _public() -> dict[str, _plain.Function]:
    """The functions in their public form, which computes whatever NumPy has of these names."""
    made: dict[int, _plain.Function] = {}
    found = {}
    for name in __all__:
        ours = globals()[name]
        if name == "logsumexp":
            continue
        if id(ours) not in made:
            shared = vars(_functions).get(name)
            if _plain.numpys(name) or _plain.inner(shared) is not ours:
                shared = None  # that of wyrmling has another meaning
            made[id(ours)] = shared or _plain.public(ours, __name__)
        found[name] = made[id(ours)]
    return found


globals().update(_public())


def __dir__() -> list[str]:
    return sorted(__all__)
