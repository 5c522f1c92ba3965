"""Functions of Python's library that are written in C, as the text that is read in their place.

``math.hypot`` of several numbers, ``math.dist`` and ``math.isclose``, what ``itertools`` makes of
what it is given, ``bisect``, and what NumPy does by indices that are computed (``np.ndindex``,
masks, ``np.ix_``), as loops over ranges. Each gives what its namesake gives, in the same order, and
asks as few items of an iterator; what ``product`` and ``combinations`` take is gone through when
they are called, as theirs is. What raises here is left, and Python raises. The
squares of a distance are added with the error of each addition kept (A. Neumaier,
Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen, 1974).
"""

# ruff: noqa: D103
# mypy: ignore-errors

from __future__ import annotations

import bisect
import itertools
import math

import numpy as np


def real(x):
    """A number as a float; TypeError for what is none, also for a text, which ``float`` takes."""
    math.fabs(x)
    return float(x)


def isclose(a, b, *, rel_tol=1e-09, abs_tol=0.0):
    a, b, rel_tol, abs_tol = real(a), real(b), real(rel_tol), real(abs_tol)
    if rel_tol < 0.0 or abs_tol < 0.0:
        raise ValueError("tolerances must be non-negative")
    if a == b:
        return True
    if math.isinf(a) or math.isinf(b):
        return False
    apart = math.fabs(b - a)
    return apart <= math.fabs(rel_tol * b) or apart <= math.fabs(rel_tol * a) or apart <= abs_tol


def hypot(*coordinates):
    sizes = [math.fabs(one) for one in coordinates]
    largest = 0.0
    for size in sizes:
        if size == math.inf:
            return math.inf
        if size > largest:
            largest = size
    # A power of two, by which squares neither overflow nor vanish.
    scale = 2.0**-600 if largest > 1e150 else 2.0**600 if largest < 1e-150 else 1.0
    total, lost = 0.0, 0.0
    for size in sizes:
        square = (size * scale) * (size * scale)
        added = total + square
        lost += (total - added) + square if total >= square else (square - added) + total
        total = added
    if total == 0.0:
        return 0.0
    return math.sqrt(total + lost) / scale


def dist(p, q):
    p, q = tuple(p), tuple(q)
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    return math.hypot(*[real(a) - real(b) for a, b in zip(p, q, strict=True)])


def chain(*iterables):
    for values in iterables:
        yield from values


def from_iterable(iterable):
    for values in iterable:
        yield from values


def counted(start, step):
    while True:
        yield start
        start = start + step


def count(start=0, step=1):
    real(start), real(step)
    return counted(start, step)


def forever(object):
    while True:
        yield object


def repeated(object, turns):
    for _ in turns:
        yield object


def repeat(object, times=...):
    return forever(object) if times is ... else repeated(object, range(times))


def islice(iterable, *ends):
    start, stop, step = (0, *ends, 1) if len(ends) == 1 else (*ends, 1) if len(ends) == 2 else ends
    start, step = start or 0, 1 if step is None else step
    for end in (start, stop, step):
        # TypeError for what is no integer.
        range(0 if end is None else end)
    if start < 0 or step < 1 or (stop is not None and stop < start):
        raise ValueError("no such slice, or one of nothing")
    return sliced(iterable, start, stop, step)


def sliced(iterable, start, stop, step):
    at, wanted = 0, start
    if stop != 0:
        for item in iterable:
            if at == wanted:
                yield item
                wanted += step
            at += 1
            if at == stop:
                break


def compress(data, selectors):
    for item, chosen in zip(data, selectors, strict=False):
        if chosen:
            yield item


def filterfalse(function, iterable):
    for item in iterable:
        if not (item if function is None else function(item)):
            yield item


def pairwise(iterable):
    begun, last = False, None
    for item in iterable:
        if begun:
            yield last, item
        begun, last = True, item


def accumulate(iterable, func=None, *, initial=None):
    begun, total = initial is not None, initial
    if begun:
        yield total
    for item in iterable:
        if not begun:
            total = item
        elif func is None:
            total = total + item
        else:
            total = func(total, item)
        begun = True
        yield total


def starmap(function, iterable):
    for args in iterable:
        yield function(*args)


def takewhile(predicate, iterable):
    for item in iterable:
        if not predicate(item):
            break
        yield item


def dropwhile(predicate, iterable):
    dropping = True
    for item in iterable:
        if dropping and predicate(item):
            continue
        dropping = False
        yield item


def each(rows):
    """The rows one after the other: an iterator, as the library's functions return."""
    yield from rows


def product(*iterables, repeat=1):
    rows = [()]
    for pool in [tuple(values) for values in iterables] * repeat:
        rows = [(*row, item) for row in rows for item in pool]
    return each(rows)


def chosen(iterable, r, next_after):
    """Rows of r items in the order of the iterable; the next one stands `next_after` further on."""
    pool = tuple(iterable)
    if r < 0:
        raise ValueError("r must be non-negative")
    rows = [((), 0)]
    for _ in range(r):
        rows = [
            ((*row, pool[at]), at + next_after)
            for row, first in rows
            for at in range(first, len(pool))
        ]
    return each([row for row, _ in rows])


def combinations(iterable, r):
    return chosen(iterable, r, 1)


def combinations_with_replacement(iterable, r):
    return chosen(iterable, r, 0)


def permutations(iterable, r=None):
    pool = tuple(iterable)
    if r is not None and r < 0:
        raise ValueError("r must be non-negative")
    rows = [((), range(len(pool)))]
    for _ in range(len(pool) if r is None else r):
        rows = [
            ((*row, pool[at]), [one for one in rest if one != at])
            for row, rest in rows
            for at in rest
        ]
    return each([row for row, _ in rows])


def bit_length(number):
    rest, found = abs(int(number)), 0
    while rest:
        rest >>= 1
        found += 1
    return found


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
    wanted = places_of(x, mask).ravel()
    return np.array([i * 1.0 for i in range(len(wanted)) if wanted[i]])


def masked_store(x, mask, values):
    wanted, at = places_of(x, mask), 0
    for index in ndindex(wanted.shape):
        if wanted[index]:
            x[index] = values[at]
            at += 1
    if at != len(values):
        raise ValueError("there are other values than places")


def crossed(x, rows, columns):
    return np.stack([x[i][columns] for i in rows])


def crossed_store(x, rows, columns, values):
    given = np.broadcast_to(values, (len(rows), len(columns)))
    for i in range(len(rows)):
        for j in range(len(columns)):
            x[rows[i], columns[j]] = given[i, j]


WRITTEN = (
    (bisect, (bisect_left, bisect_right)),
    (np, (searchsorted, digitize, unravel_index, clip, fromiter)),
    (math, (isclose, hypot, dist)),
    (itertools, (chain, pairwise, accumulate, starmap, takewhile, dropwhile)),
    (itertools, (product, combinations, combinations_with_replacement, permutations)),
    (itertools, (count, repeat, islice, compress, filterfalse)),
    (np, (ndindex, ndenumerate)),
)
FUNCTIONS = {
    getattr(module, one.__name__): one.__name__ for module, many in WRITTEN for one in many
}
"""Which function here is read for which of the library's."""
