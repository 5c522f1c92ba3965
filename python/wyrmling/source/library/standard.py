"""Functions of Python's library that are written in C, as the text that is read in their place.

``math.hypot`` of several numbers, ``math.dist`` and ``math.isclose``, ``heapq``, what ``itertools``
makes of what it is given, and the getters of ``operator``; ``standard_arrays.py`` has those of
NumPy and ``bisect``, ``standard_collections.py`` those of ``collections``. ``statistics`` and
``functools.wraps`` are written in Python, but in ways that are not read: they have texts, too.
Each gives what its namesake gives, in the same order, and asks as few items of an iterator; what
``product`` and ``combinations`` take is gone through when they are called, as theirs is. What
raises here is left, and Python raises. The squares of a distance are added with the error of each
addition kept (A. Neumaier, Rundungsfehleranalyse einiger Verfahren zur Summation endlicher Summen,
1974).
"""

# ruff: noqa: D103
# mypy: ignore-errors

from __future__ import annotations

import collections
import heapq
import itertools
import math
import operator

import numpy as np

from . import standard_arrays, standard_collections


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


def remainder(x, y):
    x, y = real(x), real(y)
    if math.isnan(x) or math.isnan(y):
        return x + y
    if math.isinf(x) or y == 0.0:
        raise ValueError("math domain error")
    if math.isinf(y):
        return x
    size, least = math.fabs(y), math.fmod(x, y)
    apart = math.fabs(least)
    if apart < size - apart:
        return least
    if apart > size - apart:
        return least - math.copysign(size, x)
    # The multiple next to it is the even one.
    return least - 2.0 * math.fmod(0.5 * (x - least), size)


def modf(x):
    x = real(x)
    return math.copysign(0.0, x) if math.isinf(x) else math.fmod(x, 1.0), float(np.trunc(x))


def fsum(seq):
    partials, infinite, special = [], 0.0, 0.0
    for value in seq:
        x, others = real(value), []
        finite = math.isfinite(x)
        if not finite:
            special += x
            infinite += x if math.isinf(x) else 0.0
            x = 0.0
        for partial in partials:
            # The sum begins anew after what is not finite.
            other = partial if finite else 0.0
            larger, less = (other, x) if math.fabs(x) < math.fabs(other) else (x, other)
            x = larger + less
            lost = less - (x - larger)
            if lost != 0.0:
                others.append(lost)
        if not math.isfinite(x):
            raise OverflowError("intermediate overflow in fsum")
        others.append(x)
        partials = others
    if math.isnan(infinite):
        raise ValueError("-inf + inf in fsum")
    total, lost, at = 0.0, 0.0, len(partials)
    while at > 0 and lost == 0.0:
        at -= 1
        before, total = total, total + partials[at]
        lost = partials[at] - (total - before)
    # Half of the last digit is rounded towards what follows.
    if at > 0 and math.copysign(partials[at - 1], lost) == partials[at - 1]:
        rounded = total + 2.0 * lost
        if rounded - total == 2.0 * lost:
            total = rounded
    return total if special == 0.0 else total + special


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


def cycle(iterable):
    saved = []
    for item in iterable:
        yield item
        saved.append(item)
    while saved:
        for item in saved:
            yield item


def zip_longest(*iterables, fillvalue=None):
    return padded([tuple(values) for values in iterables], fillvalue)


def padded(rows, fill):
    for i in range(max([len(row) for row in rows], default=0)):
        yield tuple([row[i] if i < len(row) else fill for row in rows])


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


def each_of_enumerate(iterable, start):
    yield from enumerate(iterable, start)


def each_of_filter(function, iterable):
    yield from filter(function, iterable)


def each_of_map(function, *iterables):
    yield from map(function, *iterables)


def each_of_reversed(sequence):
    yield from reversed(sequence)


def each_of_strict_zip(*iterables):
    yield from zip(*iterables, strict=True)


def each_of_zip(*iterables):
    yield from zip(*iterables, strict=False)


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


def mean(data):
    return math.fsum(data) / len(data)


class Unhandled(Exception):
    """What Python does not raise: it goes another way. No handler is looked for, since making one
    runs ``__init__``.
    """

    def __init__(self):
        pass


def squares_about(data, centre):
    """The sum of squares about a number; about the mean if there is none, of which the error is
    taken off (the corrected two-pass algorithm: Chan, Golub and LeVeque, 1983). Python's fractions
    hold what floats do not: squares of more than 1e160 or less than 1e-145.
    """
    middle = mean(data) if centre is None else centre
    apart = [x - middle for x in data]
    found = math.fsum([x * x for x in apart])
    largest = max([abs(x) for x in apart])
    if not found < math.inf or 0.0 < largest < 1e-145:
        raise Unhandled
    if centre is None:
        found -= math.fsum(apart) ** 2 / len(data)
    return found


def variance(data, xbar=None):
    if len(data) < 2:
        raise ValueError("variance requires at least two data points")
    return squares_about(data, xbar) / (len(data) - 1)


def pvariance(data, mu=None):
    return squares_about(data, mu) / len(data)


def stdev(data, xbar=None):
    return math.sqrt(variance(data, xbar))


def pstdev(data, mu=None):
    return math.sqrt(pvariance(data, mu))


def itemgetter(item, /, *items):
    if not items:
        return lambda obj, /: obj[item]
    return lambda obj, /: tuple([obj[one] for one in (item, *items)])


def resolved(obj, path):
    for name in path.split("."):
        obj = getattr(obj, name)
    return obj


def attrgetter(attr, /, *attrs):
    for each in (attr, *attrs):
        if not isinstance(each, str):
            raise TypeError("attribute name must be a string")
    if not attrs:
        return lambda obj, /: resolved(obj, attr)
    return lambda obj, /: tuple([resolved(obj, one) for one in (attr, *attrs)])


def methodcaller(name, /, *args, **kwargs):
    if not isinstance(name, str):
        raise TypeError("method name must be a string")
    return lambda obj, /: getattr(obj, name)(*args, **kwargs)


def wraps(wrapped, assigned=(), updated=()):
    """Names and documentation of functions that are made in the text are refused when asked for."""
    return lambda wrapper: wrapper


def update_wrapper(wrapper, wrapped, assigned=(), updated=()):
    return wrapper


def bit_length(number):
    rest, found = abs(int(number)), 0
    while rest:
        rest >>= 1
        found += 1
    return found


def sift_down(heap, first, at):
    item = heap[at]
    while at > first:
        above = (at - 1) >> 1
        if not item < heap[above]:
            break
        heap[at] = heap[above]
        at = above
    heap[at] = item


def sift_up(heap, first):
    item, at = heap[first], first
    below = 2 * at + 1
    while below < len(heap):
        if below + 1 < len(heap) and not heap[below] < heap[below + 1]:
            below += 1
        heap[at] = heap[below]
        at = below
        below = 2 * at + 1
    heap[at] = item
    sift_down(heap, first, at)


def heappush(heap, item):
    heap.append(item)
    sift_down(heap, 0, len(heap) - 1)


def heappop(heap):
    last = heap.pop()
    if not heap:
        return last
    least = heap[0]
    heap[0] = last
    sift_up(heap, 0)
    return least


def heapify(x):
    for i in range(len(x) // 2 - 1, -1, -1):
        sift_up(x, i)


WRITTEN = (
    (math, (isclose, hypot, dist, remainder, modf, fsum)),
    (itertools, (chain, pairwise, accumulate, starmap, takewhile, dropwhile)),
    (itertools, (product, combinations, combinations_with_replacement, permutations)),
    (itertools, (count, cycle, repeat, islice, compress, filterfalse, zip_longest)),
    (operator, (itemgetter, attrgetter, methodcaller)),
    (heapq, (heapify, heappop, heappush)),
    *standard_arrays.WRITTEN,
)
FUNCTIONS = {
    getattr(module, one.__name__): one.__name__ for module, many in WRITTEN for one in many
}
"""Which function here is read for which of the library's."""
TEXTS = (standard_arrays, standard_collections)
MODULES = (__name__, *(one.__name__ for one in TEXTS))
INSTANCES: dict[type, type] = {standard_collections.deque: collections.deque}
"""For each class that is read in place of one of Python's library: that one, which ``isinstance``
and ``type`` name for its instances.
"""
FILES = (__file__, *(one.__file__ for one in TEXTS))
"""Where the texts are."""
