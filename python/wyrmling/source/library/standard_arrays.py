"""Functions of NumPy, ``bisect`` and ``scipy.stats.norm`` as texts that are read in their place,
see ``standard.py``.

What NumPy does by indices that are computed (``np.ndindex``, masks, ``np.ix_``), and what it does
otherwise for other values (bins, weights), is loops over ranges.
"""

# ruff: noqa: D103
# mypy: ignore-errors

from __future__ import annotations

import bisect
import math

import numpy as np

from ... import special


def ndindex(*shape):
    if len(shape) == 1 and isinstance(shape[0], tuple):
        shape = shape[0]
    if len(shape) > 4:
        raise ValueError("indices of more than four axes are not read")
    if len(shape) == 0:
        yield ()
    elif len(shape) == 1:
        for i in range(shape[0]):
            yield (i,)
    elif len(shape) == 2:
        for i in range(shape[0]):
            for j in range(shape[1]):
                yield i, j
    elif len(shape) == 3:
        for i in range(shape[0]):
            for j in range(shape[1]):
                for k in range(shape[2]):
                    yield i, j, k
    else:
        for i in range(shape[0]):
            for j in range(shape[1]):
                for k in range(shape[2]):
                    for m in range(shape[3]):
                        yield i, j, k, m


def ndenumerate(arr):
    for index in ndindex(arr.shape):
        yield index, arr[index]


def bisected(a, comes_before, lo, hi):
    high = len(a) if hi is None or hi == -1 else hi
    if lo < 0:
        raise ValueError("lo must be non-negative")
    while lo < high:
        middle = (lo + high) // 2
        if comes_before(a[middle]):
            lo = middle + 1
        else:
            high = middle
    return lo


def bisect_left(a, x, lo=0, hi=None):
    return bisected(a, lambda item: item < x, lo, hi)


def bisect_right(a, x, lo=0, hi=None):
    return bisected(a, lambda item: not x < item, lo, hi)


def searchsorted(a, v, side="left"):
    if v != v:
        raise ValueError("NaN comes last, after those that are there")
    if side not in ("left", "right"):
        raise ValueError("side is left or right")

    def comes_before(item):
        of = v
        if not (isinstance(item, (int, np.integer)) and isinstance(of, (int, np.integer))):
            # NumPy compares in double precision, unless both are of single precision.
            item, of = float(item), float(of)
        return item < of or (side == "right" and item == of)

    return bisected(a, comes_before, 0, None)


def fall(bins):
    rising, falling = True, True
    for i in range(1, len(bins)):
        if bins[i - 1] < bins[i]:
            falling = False
        elif bins[i - 1] > bins[i]:
            rising = False
        elif bins[i - 1] != bins[i]:
            raise ValueError("NaN among bins")
    if not rising and not falling:
        raise ValueError("bins neither rise nor fall")
    return not rising


def digitize(x, bins, right=False):
    side = "left" if right else "right"
    if fall(bins):
        return len(bins) - searchsorted(bins[::-1], x, side)
    return searchsorted(bins, x, side)


def digitize_all(x, bins, right=False):
    falling = fall(bins)
    edges = bins[::-1] + 0.0 if falling else bins + 0.0
    found = np.searchsorted(edges, x, "left" if right else "right")
    return np.where(falling, len(bins) - found, found)


def unravel_index(indices, shape):
    rest, found = indices, ()
    for length in reversed(shape):
        found = (rest % length, *found)
        rest = rest // length
    if rest != 0:
        raise ValueError("index is out of bounds")
    return found


def clip(a, a_min, a_max):
    return min(max(a, a_min), a_max)


def fromiter(iter, dtype, count=-1):
    if count == -1:
        return np.array(list(iter), dtype)
    items = []
    if count > 0:
        for item in iter:
            items.append(item)
            if len(items) == count:
                break
    if len(items) != count:
        raise ValueError("there are not so many items")
    return np.array(items, dtype)


def arange(start, stop=None, step=1.0):
    start, stop = (0.0, start) if stop is None else (1.0 * start, stop)
    # NumPy adds the difference of the first two.
    apart = (start + step) - start
    count = math.ceil((stop - start) / step)
    return np.array([start + i * apart if i else start for i in range(count)])


def average(a, axis=None, weights=None):
    values, shares = np.asarray(a), np.asarray(weights)
    if shares.shape != values.shape:
        if axis is None or shares.ndim != 1 or len(shares) != values.shape[axis]:
            raise ValueError("weights of another shape")
        shares = np.swapaxes(np.broadcast_to(shares, (*[1] * (values.ndim - 1), -1)), -1, axis)
    total = shares.sum(axis=axis)
    for one in np.ravel(total):
        if one == 0.0:
            raise ZeroDivisionError("weights sum to zero")
    return (values * shares).sum(axis=axis) / total


def piecewise(x, condlist, funclist, *args, **kw):
    masks = [*condlist]
    if len(funclist) == len(masks) + 1:
        some = masks[0]
        for mask in masks[1:]:
            some = some | mask
        masks.append(~some)
    if len(funclist) != len(masks):
        raise ValueError("as many functions as conditions, or one more")
    made = np.zeros_like(x)
    for k in range(len(masks)):
        if not callable(funclist[k]):
            made[masks[k]] = funclist[k]
        elif np.any(masks[k]):
            made[masks[k]] = funclist[k](x[masks[k]], *args, **kw)
    return made


def apply_along_axis(func1d, axis, arr, *args):
    if arr.ndim == 1 and axis in (0, -1):
        return np.asarray(func1d(arr, *args))
    if arr.ndim != 2:
        raise ValueError("lanes of more than two axes are not read")
    if not isinstance(axis, (int, np.integer)) or axis not in (-2, -1, 0, 1):
        raise ValueError("there is no such axis")
    if arr.shape[0 if axis in (1, -1) else 1] == 0:
        raise ValueError("there are no lanes")
    if axis in (1, -1):
        return np.array([func1d(arr[i], *args) for i in range(arr.shape[0])])
    return np.array([func1d(arr[:, i], *args) for i in range(arr.shape[1])]).T


def roll(a, shift, axis=None):
    if axis is None and a.ndim != 1:
        return roll(a.ravel(), shift).reshape(a.shape)
    if a.ndim > 2 or (axis is not None and not -a.ndim <= axis < a.ndim):
        raise ValueError("there is no such axis, or there are more than two")
    if axis in (1, -1) and a.ndim == 2:
        return roll(a.T, shift, 0).T
    made = np.zeros_like(a)
    for i in range(len(a)):
        made[(i + shift) % len(a)] = a[i]
    return made


def vectorized(pyfunc, otype, *args):
    given = np.broadcast_arrays(*args)
    columns = [one.ravel() for one in given]
    if otype is None:
        # NumPy takes the type of the first result, and calls the function for it once more.
        otype = np.result_type(pyfunc(*[column[0] for column in columns]))
    made = np.zeros(len(columns[0]), otype)
    for i in range(len(columns[0])):
        made[i] = pyfunc(*[column[i] for column in columns])
    return made.reshape(given[0].shape)


def add_at(a, indices, b):
    count = len(indices[0])
    given = np.broadcast_to(b, (count, *a.shape[len(indices) :]))
    for i in range(count):
        a[tuple([one[i] for one in indices])] += given[i]


def subtract_at(a, indices, b):
    add_at(a, indices, -b)


def places_of(x, mask):
    wanted = np.where(mask, 1.0, 0.0)
    if wanted.shape != x.shape[: wanted.ndim]:
        raise IndexError("a mask of another shape")
    return wanted


def positions(x, mask):
    return flatnonzero(places_of(x, mask))


def flatnonzero(a):
    wanted = np.where(a != 0, 1.0, 0.0).ravel()
    return np.array([i * 1.0 for i in range(len(wanted)) if wanted[i]]).astype(int)


def nonzero(a):
    places = flatnonzero(a)
    if a.ndim == 1:
        return (places,)
    return places // a.shape[1], places % a.shape[1]


def argwhere(a):
    return np.stack(nonzero(a), axis=-1)


def integers_from(x, first, count):
    return np.array([x[first + i] * 1.0 for i in range(count)]).astype(int)


def masked_store(x, mask, values):
    wanted, at = places_of(x, mask), 0
    for index in ndindex(wanted.shape):
        if wanted[index]:
            x[index] = values[at]
            at += 1
    if at != len(values):
        raise ValueError("there are other values than places")


def turned_store(x, axis, places, values):
    turned = np.moveaxis(x, axis, 0).copy()
    turned[places] = np.moveaxis(values, axis, 0) if np.ndim(values) else values
    x[...] = np.moveaxis(turned, 0, axis)


def crossed(x, rows, columns):
    return np.stack([x[i][columns] for i in rows])


def paired(x, rows, columns):
    rows, columns = np.broadcast_arrays(rows, columns)
    return np.take_along_axis(x[rows], columns[..., None], axis=-1)[..., 0]


def placed_store(x, places, values):
    given = np.broadcast_to(values, (*places.shape, *x.shape[1:]))
    for index in ndindex(places.shape):
        x[places[index]] = given[index]


def paired_store(x, rows, columns, values):
    rows, columns = np.broadcast_arrays(rows, columns)
    given = np.broadcast_to(values, rows.shape)
    for index in ndindex(rows.shape):
        x[rows[index], columns[index]] = given[index]


def crossed_store(x, rows, columns, values):
    given = np.broadcast_to(values, (len(rows), len(columns)))
    for i in range(len(rows)):
        for j in range(len(columns)):
            x[rows[i], columns[j]] = given[i, j]


def positive(scale):
    return np.where(np.greater(scale, 0), scale, np.nan)


def standardized(x, loc, scale):
    """As scipy.stats has it: float64, and NaN for a scale that is not positive."""
    return (np.multiply(x, np.float64(1.0)) - loc) / positive(scale)


def norm_cdf(x, loc=0, scale=1):
    return special.ndtr(standardized(x, loc, scale))


def norm_sf(x, loc=0, scale=1):
    return special.ndtr(-standardized(x, loc, scale))


def norm_logcdf(x, loc=0, scale=1):
    return special.log_ndtr(standardized(x, loc, scale))


def norm_pdf(x, loc=0, scale=1):
    z = standardized(x, loc, scale)
    return np.exp(-(z**2) / 2.0) / math.sqrt(2 * math.pi) / scale


def norm_logpdf(x, loc=0, scale=1):
    z = standardized(x, loc, scale)
    return -(z**2) / 2.0 - math.log(math.sqrt(2 * math.pi)) - np.log(scale)


def norm_ppf(q, loc=0, scale=1):
    return special.ndtri(q) * positive(scale) + loc


WRITTEN = (
    (bisect, (bisect_left, bisect_right)),
    (np, (searchsorted, digitize, unravel_index, clip, fromiter)),
    (np, (argwhere, flatnonzero, nonzero)),
    (np, (arange, average, apply_along_axis, ndindex, ndenumerate, piecewise, roll)),
)
