"""Derivatives to third order of plain Python functions, by truncated Taylor series.

A ``Jet`` is a float with coefficients: what ``f(x + t)`` is as a power series of ``t``. It is a
subclass of float, so comparisons, ``isinstance`` and integers go the way that they go for the
float, and values are Python's to the bit; the coefficients ride along. It shares nothing with the
package: each function knows only its first derivative, of jets, and ``y' = f'(u) u'`` gives the
coefficients one after the other (Griewank and Walther, "Evaluating Derivatives", 2nd edition,
section 13.2).

``math``'s functions lose what is no plain float, as ``float`` does, so ``patched`` puts others in
their places while a function runs. With ``disturbed``, functions give results a last digit off, and
so do coefficients: how far the results of several runs lie apart says how many of their digits mean
something. A coefficient that does not exist is NaN. Arrays of jets are left to other oracles.
"""

import builtins
import contextlib
import math
import operator
import random

import mpmath
import numpy as np
from outcomes import is_record, parts_of, record_like

ORDER = 3
MATH = {name: value for name, value in vars(math).items() if callable(value)}
Plain, Complex = float, complex
_source = []


class Disturbance(random.Random):
    """Random numbers, how many functions were disturbed, and how large coefficients became."""

    functions = 0
    largest = 0.0


@contextlib.contextmanager
def disturbed(seed):
    """Results of functions and coefficients are a little off, in a way that ``seed`` says."""
    _source.append(Disturbance(seed))
    try:
        yield _source[-1]
    finally:
        _source.pop()


def _rounded(value):
    """A result of a function: one unit in the last place off, or not."""
    if not _source or not isinstance(value, Plain) or not MATH["isfinite"](value):
        return value
    _source[-1].functions += 1
    if value in (0.0, 1.0, -1.0):  # functions are exact there
        return value
    towards = _source[-1].choice((-math.inf, value, math.inf))
    return MATH["nextafter"](value, towards)


class Jet(float):
    """A float, and the coefficients of the powers 1, 2, … of its Taylor series."""

    __slots__ = ("rest",)

    def __new__(cls, value, rest=(1.0, 0.0, 0.0)):
        self = super().__new__(cls, value)
        self.rest = tuple(rest)
        return self

    def __reduce__(self):
        return Jet, (plain(self), self.rest)

    def __deepcopy__(self, memo):
        return self

    def __neg__(self):
        return _jet(Plain.__neg__(self), [-c for c in self.rest])

    def __pos__(self):
        return self

    @property
    def real(self):
        return self

    def conjugate(self):
        return self

    def __abs__(self):
        return _jet(Plain.__abs__(self), [_sign(self) * c for c in self.rest])

    def __pow__(self, other, modulus=None):
        return power(self, other) if isinstance(other, int | Plain) else NotImplemented

    def __rpow__(self, other, modulus=None):
        return power(other, self) if isinstance(other, int | Plain) else NotImplemented

    def __divmod__(self, other):
        return plain(self) // plain(other), self % other

    def __rdivmod__(self, other):
        return plain(other) // plain(self), other % self

    def __array_function__(self, function, types, args, kwargs):
        return NotImplemented

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if method != "__call__" or options or ufunc.__name__ not in UFUNCS:
            return NotImplemented
        if any(isinstance(x, np.ndarray) for x in inputs):
            return NotImplemented
        inputs = [x.item() if isinstance(x, np.generic) else x for x in inputs]
        return UFUNCS[ufunc.__name__](*inputs)


def _sign(x):
    """The slope of the magnitude: 0 at zero, and none of NaN."""
    return x if x != x else 0.0 if x == 0 else MATH["copysign"](1.0, x)


def plain(x):
    """The number without coefficients."""
    return Plain(x) if isinstance(x, Jet) else x


def series(x, order):
    """The coefficients of powers 0 to ``order``."""
    if isinstance(x, Jet):
        return [plain(x), *x.rest[:order]]
    return [Plain(x)] + [0.0] * order


def cut(x, order):
    """A number's series to a lower order; to order 0, a plain number."""
    return Jet(plain(x), x.rest[:order]) if isinstance(x, Jet) and order else plain(x)


def _jet(value, rest):
    if not isinstance(value, Plain):  # a complex power
        return value
    if _source:
        rest = [c * (1 + 1e-13 * _source[-1].uniform(-1, 1)) for c in rest]
        sizes = [abs(c) for c in (value, *rest) if MATH["isfinite"](c)]
        _source[-1].largest = max(_source[-1].largest, *sizes)
    return Jet(value, rest)


def composed(value, *parts):
    """A function of several numbers, from its value and its partial derivatives.

    Each part is an operand, and the partial derivative by it as a function of the order to which it
    is wanted.
    """
    parts = [part for part in parts if isinstance(part[0], Jet)]
    if not parts:
        return value
    order = min(len(u.rest) for u, _ in parts)
    rest = [0.0] * order
    for u, partial in parts:
        try:
            slope = series(partial(order - 1), order - 1)
        except (ArithmeticError, ValueError):
            slope = [math.nan] * order
        moved = series(u, order)
        for k in range(1, order + 1):
            rest[k - 1] += sum(j * moved[j] * slope[k - j] for j in range(1, k + 1)) / k
    return _jet(value, rest)


# Arithmetic.


def _sum(x, y, order):
    return [a + b for a, b in zip(series(x, order), series(y, order), strict=True)]


def _difference(x, y, order):
    return [a - b for a, b in zip(series(x, order), series(y, order), strict=True)]


def _product(x, y, order):
    a, b = series(x, order), series(y, order)
    return [sum(a[j] * b[k - j] for j in range(k + 1)) for k in range(order + 1)]


def _quotient(x, y, order):
    a, b = series(x, order), series(y, order)
    q = [a[0] / b[0]]
    for k in range(1, order + 1):
        q.append((a[k] - sum(q[j] * b[k - j] for j in range(k))) / b[0])
    return q


def _remainder(x, y, order):
    # x - floor(x / y) * y, and the quotient does not move.
    quotient = plain(x) // plain(y)
    return [a - quotient * b for a, b in zip(series(x, order), series(y, order), strict=True)]


def _arithmetic(name, combine):
    direct, reflected = getattr(Plain, f"__{name}__"), getattr(Plain, f"__r{name}__")

    def forward(self, other):
        if (value := direct(self, other)) is NotImplemented:
            return value
        order = min(len(x.rest) for x in (self, other) if isinstance(x, Jet))
        return _jet(value, combine(self, other, order)[1:])

    def backward(self, other):
        if (value := reflected(self, other)) is NotImplemented:
            return value
        return _jet(value, combine(other, self, len(self.rest))[1:])

    setattr(Jet, f"__{name}__", forward)
    setattr(Jet, f"__r{name}__", backward)


_arithmetic("add", _sum)
_arithmetic("sub", _difference)
_arithmetic("mul", _product)
_arithmetic("truediv", _quotient)
_arithmetic("mod", _remainder)


def power(x, y):
    """``x ** y``, whose partial derivatives are ``y x ** (y - 1)`` and ``log(x) x ** y``."""
    value = plain(x) ** plain(y)
    if isinstance(value, Complex):
        return value

    def by_base(order):
        u, v = cut(x, order), cut(y, order)
        return v * u ** (v - 1) if v != 0 or isinstance(v, Jet) else 0.0

    def by_exponent(order):
        u, v = cut(x, order), cut(y, order)
        return 0.0 if u == 0 and v > 0 else log(u) * u**v

    return composed(_rounded(value), (x, by_base), (y, by_exponent))


# Functions of math. Each is called with jets or plain numbers, and takes its value from math.

FUNCTIONS = {}


def _unary(name, slope):
    inner = MATH[name]

    def function(x):
        value = _rounded(inner(x))
        return composed(value, (x, lambda order: slope(cut(x, order)))) if type(x) is Jet else value

    FUNCTIONS[name] = function
    return function


def _reciprocal(x):
    return 1.0 / x


log = _unary("log", _reciprocal)
exp = _unary("exp", lambda x: exp(x))
sqrt = _unary("sqrt", lambda x: 0.5 / sqrt(x))
sin = _unary("sin", lambda x: cos(x))
cos = _unary("cos", lambda x: -sin(x))
sinh = _unary("sinh", lambda x: cosh(x))
cosh = _unary("cosh", lambda x: sinh(x))
_unary("tan", lambda x: 1.0 / (cos(x) * cos(x)))
_unary("tanh", lambda x: 1.0 / (cosh(x) * cosh(x)))
_unary("asin", lambda x: 1.0 / sqrt((1 - x) * (1 + x)))
_unary("acos", lambda x: -1.0 / sqrt((1 - x) * (1 + x)))
_unary("atan", lambda x: 1.0 / (1 + x * x))
_unary("asinh", lambda x: 1.0 / sqrt(1 + x * x))
_unary("acosh", lambda x: 1.0 / sqrt((x - 1) * (x + 1)))
_unary("atanh", lambda x: 1.0 / ((1 - x) * (1 + x)))
_unary("log1p", lambda x: 1.0 / (1 + x))
_unary("expm1", lambda x: exp(x))
_unary("log2", lambda x: 1.0 / (x * MATH["log"](2)))
_unary("log10", lambda x: 1.0 / (x * MATH["log"](10)))
exp2 = _unary("exp2", lambda x: exp2(x) * MATH["log"](2))
cbrt = _unary("cbrt", lambda x: 1.0 / (3 * cbrt(x) * cbrt(x)))
_unary("erf", lambda x: exp(-x * x) * (2 / MATH["sqrt"](math.pi)))
_unary("erfc", lambda x: exp(-x * x) * (-2 / MATH["sqrt"](math.pi)))
_unary("degrees", lambda x: 180 / math.pi)
_unary("radians", lambda x: math.pi / 180)
_unary("fabs", _sign)


def _polygamma(n, x):
    value = Plain(mpmath.psi(n, plain(x)))
    return composed(value, (x, lambda order: _polygamma(n + 1, cut(x, order))))


_unary("lgamma", lambda x: _polygamma(0, x))
gamma = _unary("gamma", lambda x: gamma(x) * _polygamma(0, x))


def _function(f):
    FUNCTIONS[f.__name__] = f
    return f


def _logarithm(x, *base):
    return log(x) / log(*base) if base else log(x)


FUNCTIONS["log"] = _logarithm


@_function
def atan2(y, x):
    value = _rounded(MATH["atan2"](y, x))

    def by(of):
        def partial(order):
            u, v = cut(x, order), cut(y, order)
            return of(u, v) / (u * u + v * v)

        return partial

    return composed(value, (y, by(lambda u, v: u)), (x, by(lambda u, v: -v)))


@_function
def hypot(*xs):
    value = _rounded(MATH["hypot"](*xs))

    def by(x):
        return lambda order: cut(x, order) / sqrt(sum(cut(u, order) ** 2 for u in xs))

    return composed(value, *((x, by(x)) for x in xs))


@_function
def dist(p, q):
    return hypot(*(a - b for a, b in zip(p, q, strict=True)))


@_function
def pow(x, y):
    MATH["pow"](x, y)
    if not (isinstance(x, Jet) or isinstance(y, Jet)):
        return _rounded(MATH["pow"](x, y))
    return power(x, y)


@_function
def fmod(x, y):
    value = MATH["fmod"](x, y)
    quotient = MATH["trunc"](plain(x) / plain(y)) if y and MATH["isfinite"](x / y) else 0
    return composed(value, (x, lambda order: 1.0), (y, lambda order: -Plain(quotient)))


@_function
def remainder(x, y):
    value = MATH["remainder"](x, y)
    quotient = round((plain(x) - value) / plain(y))
    return composed(value, (x, lambda order: 1.0), (y, lambda order: -Plain(quotient)))


@_function
def copysign(x, y):
    value = MATH["copysign"](x, y)
    sign = MATH["copysign"](1.0, x) * MATH["copysign"](1.0, y)
    return composed(value, (x, lambda order: sign if x else 0.0), (y, lambda order: 0.0))


@_function
def ldexp(x, n):
    value = MATH["ldexp"](x, n)
    return composed(value, (x, lambda order: MATH["ldexp"](1.0, n)))


@_function
def modf(x):
    part, whole = MATH["modf"](x)
    return composed(part, (x, lambda order: 1.0)), whole


@_function
def fsum(xs):
    xs = list(xs)
    return composed(MATH["fsum"](xs), *((x, lambda order: 1.0) for x in xs))


@_function
def prod(xs, *, start=1):
    for x in xs:
        start = start * x
    return start


UFUNCS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": power,
    **{"negative": operator.neg, "absolute": operator.abs},
    **{"arctan2": atan2, "square": lambda x: x * x},
    **{"maximum": max, "minimum": min},
    **{"greater": operator.gt, "less": operator.lt, "equal": operator.eq},
    **{"greater_equal": operator.ge, "less_equal": operator.le, "not_equal": operator.ne},
    **{name: FUNCTIONS[name] for name in ("exp", "log", "sqrt", "sin", "cos", "tan", "tanh")},
    **{name: FUNCTIONS[name] for name in ("sinh", "cosh", "log1p", "expm1", "exp2", "hypot")},
    **{f"arc{name[1:]}": FUNCTIONS[name] for name in ("asin", "acos", "atan", "asinh", "atanh")},
}


# What would take a jet for a float.
MAKING = ["array", "asarray", "zeros", "ones", "full", "empty", "arange", "eye", "stack"]
LOSING = [(vars(builtins), "complex")]
LOSING += [(vars(np), name) for name in [*MAKING, "float64", "float32"]]


class _Kind(type):
    def __call__(cls, x=0.0):
        return x if isinstance(x, Jet) else Plain(x)

    def __instancecheck__(cls, x):
        return isinstance(x, Plain)


class _Float(float, metaclass=_Kind):
    """Stands for ``float`` while a function runs on jets, which it leaves as they are."""


def _cells(f):
    """The cells that hold functions of math, of a function and of those that it closes over."""
    found = []
    for cell in getattr(f, "__closure__", None) or ():
        try:
            inner = cell.cell_contents
        except ValueError:  # it is empty
            continue
        if type(inner) is type(MATH["sin"]):
            found.append(cell)
        elif hasattr(inner, "__closure__"):
            found += _cells(inner)
    return found


@contextlib.contextmanager
def patched(f):
    """``math``'s functions and ``float`` take jets; also those that ``f``'s module imported."""

    def refuse(*args, **kwargs):
        raise NotImplementedError("this would lose the coefficients")

    by_function = {MATH[name]: function for name, function in FUNCTIONS.items()}
    spaces = [vars(math), getattr(f, "__globals__", {})]
    cells = [cell for cell in _cells(f) if cell.cell_contents in by_function]
    changed = []
    for space in spaces:
        for name, value in list(space.items()):
            if type(value) is type(MATH["sin"]) and value in by_function:
                changed.append((space, name, value))
                space[name] = by_function[value]
    before = [(cell, cell.cell_contents) for cell in cells]
    for cell, value in before:
        cell.cell_contents = by_function[value]
    for space, name in LOSING:
        changed.append((space, name, space[name]))
        space[name] = refuse
    builtins.float = _Float
    try:
        yield
    finally:
        builtins.float = Plain
        for cell, value in before:
            cell.cell_contents = value
        for space, name, value in changed:
            space[name] = value


def lifted(args, direction):
    """Trees of floats as jets that start there and move by ``direction``, which has one number for
    each float in their order. Leaves that are no floats stay as they are.
    """
    moves = iter(direction)

    def lift(x):
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            return type(x)(*map(lift, x))
        if isinstance(x, tuple | list):
            return type(x)(map(lift, x))
        if isinstance(x, dict):
            return {key: lift(value) for key, value in x.items()}
        if is_record(x):
            return record_like(x, {name: lift(part) for name, part in parts_of(x).items()})
        return Jet(x, (Plain(next(moves)), 0.0, 0.0)) if type(x) is Plain else x

    return [lift(x) for x in args]


def derivatives(f, args, direction):
    """What ``f(*args)`` returns on jets."""
    with patched(f):
        return f(*lifted(args, direction))
