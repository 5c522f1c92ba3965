"""``collections.deque``, what ``collections.Counter`` adds to a dict, ``itertools.groupby``, and
``functools.reduce`` without a first value, as texts that are read in their place, see
``standard.py``.

``counter_update`` is the method ``update`` of ``Counter``, and so on; ``counter_sum`` and
``counter_difference`` are ``+`` and ``-``. ``dicts.py`` says which of them is read.
"""

# ruff: noqa: D102, D103
# mypy: ignore-errors

from __future__ import annotations

import collections
from collections import Counter


class deque:
    """``collections.deque`` over a list. ``_changes`` counts the changes after which Python refuses
    to go on with an iteration; to assign an item and ``reverse`` are none of them. ``range(index)``
    raises TypeError for an index that is no integer, such as a slice.
    """

    __slots__ = ("_changes", "_items", "_maxlen")

    def __init__(self, iterable=(), maxlen=None):
        if maxlen is not None:
            # TypeError for what is no integer.
            range(maxlen)
            if maxlen < 0:
                raise ValueError("maxlen must be non-negative")
        self._items, self._maxlen, self._changes = [], maxlen, 0
        self.extend(iterable)

    @property
    def maxlen(self):
        return self._maxlen

    def append(self, x):
        self._changes += 1
        if self._maxlen is None:
            self._items.append(x)
        elif self._maxlen > 0:
            if len(self._items) == self._maxlen:
                del self._items[0]
            self._items.append(x)

    def appendleft(self, x):
        self._changes += 1
        if self._maxlen is None:
            self._items.insert(0, x)
        elif self._maxlen > 0:
            if len(self._items) == self._maxlen:
                self._items.pop()
            self._items.insert(0, x)

    def extend(self, iterable):
        for x in [*iterable] if iterable is self else iterable:
            self.append(x)

    def extendleft(self, iterable):
        for x in [*iterable] if iterable is self else iterable:
            self.appendleft(x)

    def insert(self, i, x):
        if self._maxlen is not None and len(self._items) >= self._maxlen:
            raise IndexError("deque already at its maximum size")
        self._changes += 1
        self._items.insert(i, x)

    def pop(self):
        if not self._items:
            raise IndexError("pop from an empty deque")
        self._changes += 1
        return self._items.pop()

    def popleft(self):
        if not self._items:
            raise IndexError("pop from an empty deque")
        self._changes += 1
        return self._items.pop(0)

    def remove(self, value):
        self._items.remove(value)
        self._changes += 1

    def clear(self):
        if self._items:
            self._changes += 1
        self._items.clear()

    def copy(self):
        return deque(self._items, self._maxlen)

    __copy__ = copy

    def reverse(self):
        self._items.reverse()

    def rotate(self, n=1):
        if len(self._items) > 1:
            self._changes += 1
            turned = n % len(self._items)
            for _ in range(turned):
                self._items.insert(0, self._items.pop())

    def count(self, value):
        return self._items.count(value)

    def index(self, value):
        return self._items.index(value)

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return gone_through(self, self._changes)

    def __contains__(self, value):
        return value in self._items

    def __getitem__(self, index):
        range(index)
        return self._items[index]

    def __setitem__(self, index, value):
        range(index)
        self._items[index] = value

    def __delitem__(self, index):
        range(index)
        del self._items[index]
        self._changes += 1

    def __eq__(self, other):
        if not isinstance(other, collections.deque):
            return NotImplemented
        return self._items == other._items

    def __add__(self, other):
        if not isinstance(other, collections.deque):
            raise TypeError("a deque and something else cannot be added")
        made = self.copy()
        made.extend(other)
        return made

    def __iadd__(self, other):
        self.extend(other)
        return self

    def __mul__(self, times):
        return deque(self._items * times, self._maxlen)

    def __rmul__(self, times):
        return self * times

    def __imul__(self, times):
        items = self._items * times
        self._items.clear()
        self.extend(items)
        return self


def gone_through(whole, changes):
    """The items of a deque that has had so many ``changes`` when it was asked for them."""
    if whole._changes != changes:
        raise RuntimeError("deque mutated during iteration")
    for x in whole._items:
        yield x
        if whole._changes != changes:
            raise RuntimeError("deque mutated during iteration")


def groupby(iterable, key, unchanged):
    """Groups are made as lists before they are gone through. ``unchanged`` refuses a change of the
    items or of what the key reads meanwhile (``grouping.py``).
    """
    begun, current, group = False, None, []
    for item in iterable:
        value = item if key is None else key(item)
        if begun and (current,) != (value,):
            yield current, iter(group)
            unchanged()
            group.clear()
            group = []
        if not group:
            current = value
        begun = True
        group.append(item)
    if begun:
        yield current, iter(group)
        unchanged()
        group.clear()


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


def reduced(function, iterable):
    begun, total = False, None
    for item in iterable:
        total = function(total, item) if begun else item
        begun = True
    if not begun:
        raise TypeError("reduce() of empty iterable with no initial value")
    return total
