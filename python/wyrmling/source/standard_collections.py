"""Classes of ``collections`` and ``itertools.groupby`` as texts that are read in their place, see
``standard.py``.
"""

# ruff: noqa: D103
# mypy: ignore-errors

from __future__ import annotations

from collections import Counter


def counter_update(counter, iterable=None, /, **kwds):
    if isinstance(iterable, dict):
        if counter:
            for element, count in iterable.items():
                counter[element] = count + counter.get(element, 0)
        else:
            for element, count in iterable.items():
                counter[element] = count
    elif iterable is not None:
        for element in iterable:
            counter[element] = counter.get(element, 0) + 1
    if kwds:
        counter_update(counter, kwds)


def counter_subtract(counter, iterable=None, /, **kwds):
    if isinstance(iterable, dict):
        for element, count in iterable.items():
            counter[element] = counter.get(element, 0) - count
    elif iterable is not None:
        for element in iterable:
            counter[element] = counter.get(element, 0) - 1
    if kwds:
        counter_subtract(counter, kwds)


def counter_most_common(counter, n=None):
    rows = sorted(counter.items(), key=lambda row: row[1], reverse=True)
    return rows if n is None else rows[: max(n, 0)]


def counter_elements(counter):
    for element, count in counter.items():
        for _ in range(count):
            yield element


def counter_total(counter):
    return sum(counter.values())


def counter_sum(left, right):
    found = Counter()
    for element, count in left.items():
        total = count + right[element]
        if total > 0:
            found[element] = total
    for element, count in right.items():
        if element not in left and count > 0:
            found[element] = count
    return found


def counter_difference(left, right):
    found = Counter()
    for element, count in left.items():
        total = count - right[element]
        if total > 0:
            found[element] = total
    for element, count in right.items():
        if element not in left and count < 0:
            found[element] = 0 - count
    return found
