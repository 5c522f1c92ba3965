"""Cases of NumPy's array functions for test_arrays.py: the function, and shapes of operands.

Each is written with NumPy's names, or, where NumPy makes a plain array of anything, with those of
``of``, which are wyrmling's for variables.
"""

import warnings

import numpy as np

import wyrmling as wy

MASK = np.array([[True, False, True], [False, True, True]])
NAN = np.array([0.0, np.nan, 0.0, 0.0])
HOLES = np.array([[0.0, np.nan, 0.0], [np.nan, np.nan, np.nan], [0.0, 0.0, 0.0]])
POINTS = np.array([0.25, 0.9, 1.3, 2.1])


def of(x):
    """Whose functions take it."""
    return wy if isinstance(x, wy.Variable) else np


def row_stack(*parts):
    """NumPy 2 gives it up, and says so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return vars(np).get("row_stack", np.vstack)(parts)


def flat(parts):
    return np.concatenate([np.ravel(part) for part in parts])


ARGUMENTS = {
    "sum where": (lambda x: np.sum(x, 1, where=MASK, initial=2.0), [(2, 3)]),
    "sum initial": (lambda x, y: np.sum(x, initial=y[0], keepdims=True), [(2, 3), (1,)]),
    "sum of nothing": (lambda x: np.sum(x, 0, initial=3.0), [(0, 2)]),
    "mean where": (lambda x: np.mean(x, (0, 1), where=MASK), [(2, 3)]),
    "mean where axis": (lambda x: np.mean(x, 1, where=MASK, keepdims=True), [(2, 3)]),
    "prod where": (lambda x: np.prod(x, 0, where=MASK, initial=2.0), [(2, 3)]),
    "max where": (lambda x: np.max(x, 1, where=MASK, initial=-1.0), [(2, 3)]),
    "max initial": (lambda x: np.max(x, initial=1.0), [(2, 3)]),
    "max of nothing": (lambda x: np.max(x, axis=1, initial=5.0), [(2, 0)]),
    "amin where": (lambda x: np.amin(x, (0, 1), where=MASK, initial=9.0), [(2, 3)]),
    "var where": (lambda x: np.var(x, 1, ddof=1, where=MASK), [(2, 3)]),
    "std where": (lambda x: np.std(x, where=MASK, keepdims=True), [(2, 3)]),
    "add.reduce": (lambda x: np.add.reduce(x), [(3, 2)]),
    "add.reduce axis": (lambda x: np.add.reduce(x, axis=(0, 2), keepdims=True), [(3, 2, 2)]),
    "add.reduce all": (lambda x: np.add.reduce(x, axis=None, initial=1.0), [(3, 2)]),
    "add.reduce where": (lambda x: np.add.reduce(x, axis=1, where=MASK), [(2, 3)]),
    "multiply.reduce": (lambda x: np.multiply.reduce(x, axis=-1), [(3, 2)]),
    "maximum.reduce": (lambda x: np.maximum.reduce(x), [(3, 2)]),
    "minimum.reduce": (lambda x: np.minimum.reduce(x, axis=None), [(3, 2)]),
    "logaddexp.reduce": (lambda x: np.logaddexp.reduce(x, axis=1), [(3, 2)]),
    "add.accumulate": (lambda x: np.add.accumulate(x), [(3, 2)]),
    "multiply.accumulate": (lambda x: np.multiply.accumulate(x, axis=1), [(2, 5)]),
    "maximum.accumulate": (lambda x: np.maximum.accumulate(x, 1), [(2, 5)]),
    "minimum.accumulate": (lambda x: np.minimum.accumulate(x), [(4, 2)]),
    "logaddexp.accumulate": (lambda x: np.logaddexp.accumulate(x), [(4,)]),
    "add.outer": (lambda x, y: np.add.outer(x, y), [(2, 3), (2,)]),
    "multiply.outer number": (lambda x, y: np.multiply.outer(x, y), [(3,), ()]),
    "arctan2.outer": (lambda x, y: np.arctan2.outer(x, y), [(2,), (3,)]),
    "transpose by array": (lambda x: np.transpose(x, np.array([2, 0, 1])) * 1.0, [(2, 3, 4)]),
    "reshape by array": (lambda x: np.reshape(x, np.array([3, -1])) * 1.0, [(2, 3)]),
    "method reshape by array": (lambda x: x.reshape(np.array([3, 2])) * 1.0, [(2, 3)]),
    "method transpose by array": (lambda x: x.transpose(np.array([1, 0])) * 1.0, [(2, 3)]),
}

NANS = {
    "nansum axis": (lambda x: np.nansum(x + HOLES, 1, initial=1.0), [(3, 3)]),
    "nansum where": (lambda x: np.nansum(x + HOLES, 1, where=MASK[:1]), [(3, 3)]),
    "nanprod": (lambda x: np.nanprod(x + HOLES, axis=0, keepdims=True), [(3, 3)]),
    "nancumsum": (lambda x: np.nancumsum(x + HOLES, 1), [(3, 3)]),
    "nancumprod": (lambda x: np.nancumprod(x + NAN), [(4,)]),
    "nanmean axis": (lambda x: np.nanmean(x + HOLES[::2], 1), [(2, 3)]),
    "nanmax": (lambda x: np.nanmax(x + NAN), [(4,)]),
    "nanmax axis": (lambda x: np.nanmax(x + HOLES, 0, keepdims=True), [(3, 3)]),
    "nanmin": (lambda x: np.nanmin(x + HOLES[::2], axis=1), [(2, 3)]),
    "nanmin initial": (lambda x: np.nanmin(x + NAN, initial=0.9), [(4,)]),
    "nanvar": (lambda x: np.nanvar(x + NAN, ddof=1), [(4,)]),
    "nanvar axis": (lambda x: np.nanvar(x + HOLES[::2], axis=1), [(2, 3)]),
    "nanstd": (lambda x: np.nanstd(x + HOLES[::2], axis=1, keepdims=True), [(2, 3)]),
    "nanmedian": (lambda x: np.nanmedian(x + NAN), [(4,)]),
    "nanmedian axis": (lambda x: np.nanmedian(x + HOLES[::2], axis=1, keepdims=True), [(2, 3)]),
    "nanmedian of any": (lambda x: np.nanmedian(x, axis=0), [(4, 2)]),
    "nanquantile of any": (lambda x: np.nanquantile(x, [0.1, 0.8]), [(5,)]),
    "nanquantile": (lambda x: np.nanquantile(x + HOLES[::2], [0.1, 0.8], axis=1), [(2, 3)]),
    "nanquantile one": (lambda x: np.nanquantile(x + NAN, 0.3, keepdims=True), [(4,)]),
    "nanpercentile": (lambda x: np.nanpercentile(x + NAN, [[0, 40], [70, 100]]), [(4,)]),
}

FUNCTIONS = {
    "full": (lambda x: of(x).full((2, 3), x), [(3,)]),
    "full number": (lambda x: of(x).full(4, x) * 2.0, [()]),
    "r_": (lambda x: of(x).r_[x, 0, 2.0:4.0, x[0] * 2], [(3,)]),
    "r_ axes": (lambda x: of(x).r_["1,2", x, x * 2], [(3, 2)]),
    "r_ trans": (lambda x: of(x).r_["1,3,0", x, x * 2], [(2, 3)]),
    "r_ column": (lambda x: of(x).r_["-1,2,0", x, 0:1:3j], [(3,)]),
    "c_": (lambda x, y: of(x).c_[x, y], [(3,), (3, 2)]),
    "c_ number": (lambda x: of(x).c_[x, x * 2], [()]),
    "append list": (lambda x: np.append(x, [x[0] * 2, 3.0]), [(2,)]),
    "append in list": (lambda x: of(x).append([x[1], 1.0], [x[0]]), [(2,)]),
    "row_stack": (row_stack, [(2,), (3, 2)]),
    "block": (lambda x, y: np.block([[x, y], [2.0, 3.0, 4.0]]), [(1, 2), (1, 1)]),
    "block vector": (lambda x: np.block([x, 2.0, x[:1]]), [(3,)]),
    "block deep": (lambda x: np.block([[[x, x * 2]], [[x * 3, x]]]), [(2, 2)]),
    "block alone": (lambda x: np.block(x) * 1.0, [(2, 2)]),
    "insert": (lambda x: np.insert(x, 1, 5.0), [(2, 2)]),
    "insert many": (lambda x, y: np.insert(x, [0, 2, 2], y, axis=1), [(2, 3), (2, 3)]),
    "insert rows": (lambda x, y: np.insert(x, 1, y, 0), [(2, 3), (3,)]),
    "insert columns": (lambda x, y: np.insert(x, [1], y, axis=1), [(2, 3), (2, 2)]),
    "insert slice": (lambda x: np.insert(x, slice(None, None, 2), [7.0, 8.0]), [(4,)]),
    "insert end": (lambda x: np.insert(x, -1, x[0]), [(3,)]),
    "delete": (lambda x: np.delete(x, [0, -1]), [(2, 2)]),
    "delete axis": (lambda x: np.delete(x, 1, axis=1), [(2, 3)]),
    "delete slice": (lambda x: np.delete(x, slice(0, 3, 2), 0), [(4, 2)]),
    "delete mask": (lambda x: np.delete(x, np.array([True, False, True])), [(3,)]),
    "delete nothing": (lambda x: np.delete(x, [], 0) * 1.0, [(2, 2)]),
    "select": (lambda x: np.select([x < 0.8, x < 1.4], [x * 2, x**2], 0.5), [(2, 5)]),
    "select wide": (lambda x, y: np.select([x > 1.0], [y], x), [(3, 1), (4,)]),
    "piecewise": (lambda x: np.piecewise(x, [x < 0.9, x > 1.5], [np.sin, np.cos]), [(6,)]),
    "piecewise else": (
        lambda x: np.piecewise(x, [x < 0.9], [2.0, lambda x, k: x * k], 3),
        [(2, 3)],
    ),
    "piecewise number": (lambda x: np.piecewise(x, x > 0.0, [np.exp, 1.0]), [()]),
    "partition": (lambda x: np.partition(x, 2)[2], [(5,)]),
    "partition axis": (lambda x: np.sort(np.partition(x, (1, -1), axis=0), 0), [(4, 2)]),
    "interp": (lambda x: np.interp(x, POINTS, POINTS**2), [(2, 4)]),
    "interp all": (lambda x, y: np.interp(x, POINTS, y, left=-1.0, right=7.0), [(6,), (4,)]),
    "interp places": (lambda x, y: np.interp([0.1, 1.0, 1.5], np.sort(x), y), [(4,), (4,)]),
    "interp period": (lambda x: np.interp(x, [0.6, 0.1, 0.3], [3.0, 1.0, 2.0], period=0.7), [(5,)]),
    "interp point": (lambda x: np.interp(x, [1.0], x[:1]), [(3,)]),
    "gradient": (lambda x: np.gradient(x), [(5,)]),
    "gradient step": (lambda x: np.gradient(x, 0.5, axis=0, edge_order=2), [(4, 2)]),
    "gradient places": (lambda x, y: np.gradient(x, np.sort(y), edge_order=2), [(4,), (4,)]),
    "gradient uneven": (lambda x: np.gradient(x, [0.0, 1.0, 1.5, 4.0], axis=1), [(2, 4)]),
    "gradient axes": (lambda x: flat(np.gradient(x, 2.0, [0.0, 1.0, 3.0])), [(2, 3)]),
    "gradient two": (lambda x: np.gradient(x), [(2,)]),
    "ediff1d": (lambda x: np.ediff1d(x, [1.0, 2.0], x[0, :1]), [(2, 3)]),
    "cov": (lambda x: np.cov(x), [(2, 5)]),
    "cov two": (lambda x, y: np.cov(x, y, ddof=0), [(5,), (2, 5)]),
    "cov columns": (lambda x: np.cov(x, rowvar=False, bias=True), [(5, 2)]),
    "cov one": (lambda x: np.cov(x), [(5,)]),
    "cov weights": (
        lambda x: np.cov(x, fweights=[1, 2, 0, 3], aweights=[0.5, 1.0, 2.0, 1.0]),
        [(2, 4)],
    ),
    "cov often": (lambda x: np.cov(x, fweights=[1, 2, 0, 3]), [(2, 4)]),
    "cov weighing": (lambda x: np.cov(x, aweights=[0.5, 1.0, 2.0, 1.0]), [(2, 4)]),
    "corrcoef": (lambda x: np.corrcoef(x)[0, 1:], [(3, 5)]),
    "corrcoef two": (lambda x, y: np.corrcoef(x, y, rowvar=False)[0, 1], [(5, 1), (5, 1)]),
    "vander": (lambda x: np.vander(x), [(3,)]),
    "vander increasing": (lambda x: np.vander(x, 4, increasing=True), [(3,)]),
    "linspace": (lambda x, y: np.linspace(x, y, 4, axis=-1), [(2,), (2,)]),
    "logspace": (lambda x, y: np.logspace(x, y, 4), [(), (2,)]),
    "logspace base": (lambda x, y: np.logspace(0.0, x, 3, False, base=y), [(), ()]),
    "logspace bases": (lambda x, y: np.logspace(x, 2.0, 3, base=y, axis=-1), [(2,), (2,)]),
    "geomspace": (lambda x, y: np.geomspace(x, y, 5), [(), ()]),
    "geomspace axis": (lambda x, y: np.geomspace(-x, -y, 3, axis=1), [(2,), (2,)]),
    "geomspace open": (lambda x, y: np.geomspace(x, y, 4, endpoint=False), [(2,), ()]),
    "cross axis": (lambda x, y: np.cross(x, y, axis=0), [(3, 2), (3, 2)]),
    "apply_along_axis": (lambda x: np.apply_along_axis(lambda v: v[0] * v, 0, x), [(3, 2)]),
    "apply_along_axis number": (
        lambda x: np.apply_along_axis(lambda v, k: (v * v).sum() * k, 1, x, 2.0),
        [(2, 3, 2)],
    ),
    "apply_along_axis outer": (
        lambda x: np.apply_along_axis(lambda v: np.outer(v, v), 1, x),
        [(2, 2, 3)],
    ),
    "apply_along_axis vector": (lambda x: np.apply_along_axis(np.cumsum, -1, x), [(4,)]),
    "vectorize": (lambda x, y: of(x).vectorize(lambda a, b: a * b + a)(x, y), [(2, 1), (3,)]),
    "vectorize two": (lambda x: flat(of(x).vectorize(lambda a: (a * 2, a**2))(x)), [(4,)]),
}


def stored(change):
    """A copy after ``change``, a function of NumPy that stores in its first argument."""

    def function(x, *more):
        copy = x * 1.0
        change(copy, *more)
        return copy

    return function


STORING = {
    "put": (stored(lambda c, v: np.put(c, [0, -1, 2], v)), [(2, 3), (2,)]),
    "put wrap": (stored(lambda c: np.put(c, [7, -9], 5.0, mode="wrap")), [(2, 3)]),
    "put clip": (stored(lambda c, v: np.put(c, [9, -9], v, mode="clip")), [(4,), (2,)]),
    "place": (stored(lambda c, v: np.place(c, MASK, v)), [(2, 3), (3,)]),
    "putmask": (stored(lambda c, v: np.putmask(c, MASK, v)), [(2, 3), (2,)]),
    "put_along_axis": (
        stored(lambda c, v: np.put_along_axis(c, np.array([[1, 0], [2, -1]]), v, 1)),
        [(2, 3), (2, 1)],
    ),
    "put_along_axis flat": (
        stored(lambda c, v: np.put_along_axis(c, np.array([3, 0]), v, None)),
        [(4,), (2,)],
    ),
    "fill_diagonal": (stored(lambda c, v: np.fill_diagonal(c, v)), [(3, 3), ()]),
    "fill_diagonal wrap": (stored(lambda c, v: np.fill_diagonal(c, v, True)), [(5, 2), (3,)]),
    "fill_diagonal deep": (stored(lambda c: np.fill_diagonal(c, [1.0, 2.0])), [(3, 3, 3)]),
    "copyto": (stored(lambda c, v: np.copyto(c, v)), [(2, 3), (3,)]),
    "copyto where": (stored(lambda c, v: np.copyto(c, v, where=MASK)), [(2, 3), (3,)]),
}

EDGES = np.array([0.2, 0.8, 1.1, 2.0])
DATA = np.array([0.5, 0.3, 1.0, 1.9, 2.5, 0.7])
NUMBERS = np.array([[1, 0, 2], [2, 2, 0]])


def solvable(a):
    """Matrices far from singular ones."""
    return a + 4.0 * np.eye(a.shape[-1])


NEW = np.lib.NumpyVersion(np.__version__) >= "2.0.0"  # arguments of NumPy 2

SECOND = {
    "bincount": (lambda w: np.bincount([0, 3, 3, 1], w, minlength=6), [(4,)]),
    "histogram": (lambda w: np.histogram(DATA, EDGES, weights=w)[0], [(6,)]),
    "histogram bins": (lambda w: np.histogram(DATA, 3, weights=w, density=True)[0], [(6,)]),
    "histogram range": (lambda w: np.histogram(DATA, 3, (0.4, 2.0), weights=w)[0], [(6,)]),
    "histogram2d": (lambda w: np.histogram2d(DATA, DATA**2, [2, EDGES], weights=w)[0], [(6,)]),
    "histogramdd": (
        lambda w: np.histogramdd((DATA, DATA[::-1]), 2, density=True, weights=w)[0],
        [(6,)],
    ),
    "choose": (lambda x, y, z: np.choose(NUMBERS, [x, y, z]), [(2, 3), (3,), ()]),
    "choose wrap": (lambda x, y: np.choose([4, -1, 0], (x, y), mode="wrap"), [(3,), (3,)]),
    "choose clip": (lambda x, y: np.choose(7, [x, y], mode="clip") * 1.0, [(2,), (2,)]),
    "compress": (lambda x: np.compress([True, False, True], x, axis=1), [(2, 3)]),
    "compress flat": (lambda x: np.compress([False, True, True], x), [(2, 3)]),
    "extract": (lambda x: np.extract(MASK, x), [(2, 3)]),
    "unwrap": (lambda x: np.unwrap(x * 20.0), [(6,)]),
    "unwrap by a period that is computed": (
        lambda x: np.unwrap(x * 9.0, period=2.0 + x[0] ** 2),
        [(6,)],
    ),
    "unwrap axis": (lambda x: np.unwrap(x * 9.0, 4.0, axis=0, period=5.0), [(5, 2)]),
    "modf": (lambda x: flat(np.modf(x * [0.4, -0.4] + [1.1, -3.1])), [(2,)]),
    "i0": (lambda x: np.i0(x), [(2, 3)]),
    "real": (lambda x: np.real(x) * 1.0, [(3,)]),
    "imag": (lambda x: np.imag(x) + x, [(3,)]),
    "angle": (lambda x: np.angle(x - 1.0, deg=True) * x, [(4,)]),
    "real_if_close": (lambda x: np.real_if_close(x) * 1.0, [(3,)]),
    "cumulative_sum": (
        lambda x: of(x).cumulative_sum(x, axis=1, include_initial=True),
        [(2, 3)],
    ),
    "cumulative_prod": (lambda x: of(x).cumulative_prod(x, include_initial=True), [(4,)]),
    "apply_over_axes": (lambda x: np.apply_over_axes(np.sum, x, [0, 2]), [(2, 3, 2)]),
    "vectorize signature": (
        lambda x, y: of(x).vectorize(lambda a, b: (a * b).sum() * a, signature="(n),(n)->(n)")(
            x, y
        ),
        [(2, 3), (3,)],
    ),
    "vectorize two by signature": (
        lambda x: flat(of(x).vectorize(lambda a: (a.sum(), a @ a), signature="(n,n)->(),(n,n)")(x)),
        [(2, 2, 2)],
    ),
    "poly": (lambda x: np.poly(x), [(3,)]),
    "polyfit full": (lambda y: flat(np.polyfit(np.arange(5.0), y, 1, full=True)[:2]), [(5,)]),
    "polyadd": (lambda x, y: np.polyadd(x, y), [(3,), (2,)]),
    "polysub": (lambda x, y: np.polysub(x, y), [(2,), (4,)]),
    "polymul": (lambda x, y: np.polymul(x, y), [(3,), (2,)]),
    "polyder": (lambda x: np.polyder(x, 2), [(5,)]),
    "polyint": (lambda x, k: np.polyint(x, 2, k), [(3,), (2,)]),
    "diagflat": (lambda x: np.diagflat(x, -1), [(2, 2)]),
    "resize": (lambda x: np.resize(x, (2, 4)), [(3,)]),
    "unstack": (lambda x: flat(of(x).unstack(x, axis=1)), [(2, 3)]),
    "matvec": (lambda x, y: of(x).einsum("...ij,...j->...i", x, y), [(2, 3), (4, 3)]),
    "matmul": (lambda x, y: np.matmul(x, y), [(4, 2, 3), (3,)]),
    "quantile weibull": (lambda x: np.quantile(x, [0.0, 0.3, 1.0], method="weibull"), [(5,)]),
    "quantile hazen": (lambda x: np.quantile(x, 0.31, axis=0, method="hazen"), [(4, 2)]),
    "percentile nearest": (lambda x: np.percentile(x, [10, 63], method="nearest"), [(6,)]),
    "nanquantile lower": (
        lambda x: np.nanquantile(x + HOLES[::2], [0.1, 0.7], axis=1, method="lower"),
        [(2, 3)],
    ),
    "pad linear_ramp": (
        lambda x: np.pad(x, ((1, 2), (0, 3)), "linear_ramp", end_values=((5.0, 6.0), (7.0, 8.0))),
        [(2, 3)],
    ),
    "pad maximum": (lambda x: np.pad(x, 2, "maximum"), [(2, 3)]),
    "pad mean": (lambda x: np.pad(x, (2, 1), "mean", stat_length=2), [(4,)]),
    "pad median": (lambda x: np.pad(x, 2, "median", stat_length=((3, 2), (1, 4))), [(3, 4)]),
    "pad minimum": (lambda x: np.pad(x, ((0, 0), (1, 1)), "minimum"), [(2, 3)]),
    "pad reflect odd": (lambda x: np.pad(x, (2, 1), "reflect", reflect_type="odd"), [(3,)]),
    "pad symmetric odd": (lambda x: np.pad(x, (2, 3), "symmetric", reflect_type="odd"), [(3,)]),
    "pad reflect far": (lambda x: np.pad(x, (9, 4), "reflect", reflect_type="odd"), [(3,)]),
    "pad symmetric far": (lambda x: np.pad(x, (7, 8), "symmetric", reflect_type="odd"), [(3,)]),
    "add.at": (stored(lambda c, v: np.add.at(c, [0, 2, 0], v)), [(3, 2), (3, 1)]),
    "subtract.at": (stored(lambda c, v: np.subtract.at(c, (0, [1, 1]), v)), [(2, 3), ()]),
    "multiply.at": (stored(lambda c, v: np.multiply.at(c, [0, 2, 0, 0], v)), [(3, 2), (4, 1)]),
    "divide.at": (stored(lambda c, v: np.divide.at(c, ([1, 1], [0, 0]), v)), [(2, 3), (2,)]),
    "maximum.at": (stored(lambda c, v: np.maximum.at(c, [1, 0, 1, 1, -2], v)), [(3,), (5,)]),
    "minimum.at": (stored(lambda c, v: np.minimum.at(c, (..., [1, 1]), v)), [(2, 2), (2, 2)]),
    "logaddexp.at": (stored(lambda c, v: np.logaddexp.at(c, [1] * 5, v)), [(2,), (5,)]),
    "add.reduceat": (lambda x: np.add.reduceat(x, [0, 3, 1], axis=1), [(2, 5)]),
    "maximum.reduceat": (lambda x: np.maximum.reduceat(x, [2, 0, 2]), [(4,)]),
    "var mean": (
        lambda x, m: np.var(x, 1, mean=m, correction=1) if NEW else x.sum(1) * m[0, 0],
        [(2, 3), (2, 1)],
    ),
    "std mean": (
        lambda x, m: np.std(x, mean=m, where=MASK) if NEW else x.sum() * m[0, 0],
        [(2, 3), (1, 1)],
    ),
    "concatenate dtype": (
        lambda x, y: np.concatenate([x, y], 1, dtype=np.float64),
        [(2, 1), (2, 3)],
    ),
    "stack dtype": (lambda x, y: np.stack([x, y], -1, dtype=np.float64), [(3,), (3,)]),
    "clip method": (lambda x: x.clip(min=0.5, max=1.5), [(2, 4)]),
    "method sum": (lambda x: x.sum(1, where=MASK, initial=2.0), [(2, 3)]),
    "method mean": (lambda x: x.mean(axis=0, where=MASK, keepdims=True), [(2, 3)]),
    "method max": (lambda x: x.max(initial=1.0, where=MASK), [(2, 3)]),
    "method min": (lambda x: x.min(0, initial=1.0), [(2, 3)]),
    "method trace": (lambda x: x.trace(1, 0, 2), [(2, 2, 3)]),
    "method compress": (lambda x: x.compress([True, False], 0), [(2, 3)]),
    "method conj": (lambda x: x.conj() * x.real + x.imag, [(3,)]),
    "method sort": (stored(lambda c: c.sort(0)), [(4, 2)]),
    "method partition": (stored(lambda c: c.partition(1, 0)), [(2,)]),
    "method put": (stored(lambda c, v: c.put([1, 0], v)), [(3,), ()]),
    "method fill": (stored(lambda c: c.fill(3.0)), [(2, 2)]),
    "method mT": (lambda x: (x.mT if hasattr(x, "mT") else x.swapaxes(1, 2)) * 1.0, [(2, 2, 3)]),
    "pad variable": (
        lambda x, y: of(x).pad(x, 1, constant_values=((y[0], 1.0),)),
        [(3,), (1,)],
    ),
    "tensorinv": (lambda x: np.linalg.tensorinv(solvable(x).reshape(4, 2, 2), 1), [(4, 4)]),
    "tensorsolve": (
        lambda x, y: np.linalg.tensorsolve(solvable(x).reshape(2, 2, 4), y),
        [(4, 4), (2, 2)],
    ),
    "tensorinv axes": (lambda x: np.linalg.tensorinv(solvable(x).reshape(2, 2, 4)), [(4, 4)]),
    "linalg.cross": (lambda x, y: np.linalg.cross(x, y), [(2, 3), (2, 3)]),
    "linalg.tensordot": (lambda x, y: np.linalg.tensordot(x, y, axes=1), [(2, 3), (3, 2)]),
}

CASES = ARGUMENTS | NANS | FUNCTIONS | STORING | SECOND

# Those that ask once, of the values at hand, and refuse what follows an input.
ONCE = {
    "unique": (lambda x: np.unique(x), [(5,)]),
    "unique_values": (lambda x: np.sort(of(x).unique_values(x)), [(4,)]),
    "unique_counts": (lambda x: of(x).unique_counts(x).values, [(4,)]),
    "unique_inverse": (lambda x: of(x).unique_inverse(x).values, [(4,)]),
    "unique_all": (lambda x: of(x).unique_all(x).values, [(4,)]),
    "union1d": (lambda x: np.union1d(x, [0.5, 1.5]), [(4,)]),
    "intersect1d": (lambda x: np.intersect1d(np.append(x, 5.0), [5.0, 6.0]) * 2.0, [(4,)]),
    "setdiff1d": (lambda x: np.setdiff1d(x, [5.0]), [(4,)]),
    "setxor1d": (lambda x: np.setxor1d(np.append(x, 5.0), [5.0, 7.0]), [(4,)]),
    "trim_zeros": (lambda x: np.trim_zeros(x * [0.0, 1.0, 0.0, 1.0, 0.0]), [(5,)]),
    "frexp": (lambda x: np.frexp(x * 5.0)[0], [(4,)]),
    "polydiv": (lambda x, y: flat(np.polydiv(x, y)), [(4,), (2,)]),
    "polyfit": (lambda x, y: np.polyfit(np.sort(x) + np.arange(5), y, 2), [(5,), (5,)]),
    "polyfit weights": (
        lambda y, w: np.polyfit(np.arange(4.0), y, 1, w=w),
        [(4, 2), (4,)],
    ),
    "polyfit cov": (
        lambda y, w: flat(np.polyfit(np.arange(5.0), y, 1, w=w, cov=True)),
        [(5,), (5,)],
    ),
    "lstsq": (lambda a, b: flat(np.linalg.lstsq(a + FAR, b)[:2]), [(4, 2), (4,)]),
    "lstsq several": (lambda a, b: flat(np.linalg.lstsq(a + FAR, b)[:2]), [(4, 2), (4, 3)]),
    "lstsq wide": (lambda a, b: np.linalg.lstsq((a + FAR).T, b)[0], [(4, 2), (2,)]),
    "lstsq values": (lambda a: np.linalg.lstsq(a + FAR, np.ones(4))[3], [(4, 2)]),
    "histogram edges": (lambda x: np.histogram(x, 4)[1], [(5,)]),
    "histogram density": (lambda x: np.histogram(x, 2, density=True)[0], [(5,)]),
    "histogram_bin_edges": (lambda x: np.histogram_bin_edges(x, 3), [(5,)]),
    "histogram2d edges": (lambda x: flat(np.histogram2d(x, x * 2.0, 2)[1:]), [(5,)]),
    "histogramdd density": (lambda x: np.histogramdd(x, 2, density=True)[0], [(6, 2)]),
}
FAR = np.array([[3.0, 0.0], [0.0, 5.0], [1.0, 0.0], [0.0, -1.0]])
