"""``collections.deque`` that a function makes."""

import copy
from collections import defaultdict, deque

import numpy as np

from .case import at


@at(1.3, 0.7)
def both_ends(x, y):
    d = deque()
    d.append(x)
    d.append(y)
    d.appendleft(x * y)
    return d[0] * 3 + d[1] * d[2] + len(d) + d.pop() * d.popleft()


@at(np.linspace(0.3, 2.0, 12))
@at(np.array([0.3, 0.5]))
def moving_average(x):
    window = deque(maxlen=3)
    total = 0.0
    for value in x:
        window.append(value * value)
        total = total + sum(window) / len(window) * window[-1]
    return total


@at(1.3, 0.7)
def recurrence_of_two(x, y, n=40):
    d = deque([x, y], maxlen=2)
    for _ in range(n):
        d.append(d[0] * 0.3 + d[1] * 0.5)
    return d[-1]


@at(1.3, 0.7)
def breadth_first(x, y):
    waiting = deque([(x, 0)])
    total = 0.0
    while waiting:
        value, depth = waiting.popleft()
        total = total + value * value * y
        if depth < 3:
            waiting.append((value * 0.5, depth + 1))
            waiting.append((value * y * 0.3, depth + 1))
    return total


@at(1.3)
@at(0.01)
def queue_of_computed_length(x):
    waiting = deque([x])
    total, n = 0.0, 0
    while waiting and n < 50:
        value = waiting.popleft()
        n += 1
        total = total + value * value
        if abs(value) > 0.2:
            waiting.append(value * 0.5)
            waiting.appendleft(value * 0.3)
    return total


@at(1.1, 0.3, 3)
@at(1.1, 0.3, 40)
def grown_at_both_ends(x, y, n):
    d, old = deque(maxlen=9), deque()
    for k in range(n):
        d.appendleft(x * k)
        old.appendleft(y * k)
        if k % 3 == 0:
            d.append(y + d[-1])
        if k % 5 == 4:
            old.append(d.popleft() * old.pop())
            old.rotate(1)
        if k % 7 == 6:
            old.clear()
    total = 0.0
    for k, value in enumerate([*d, *old]):
        total = total * 0.9 + value * value * (k + 1)
    return total


@at(np.linspace(0.3, 2.0, 7))
def from_both_ends_of_an_array(x):
    d = deque(x)
    total = 0.0
    while len(d) > 1:
        total = total * 0.5 + d.popleft() * d.pop()
    return total


@at(1.3, 0.7)
def turned(x, y):
    d = deque([x, y, 3.0, x * y])
    for n in (1, -1, 5, -7, 4, 0):
        d.rotate(n)
    d.rotate()
    d.reverse()
    empty = deque()
    empty.rotate(3)
    return sum(value * (i + 1) ** 2 for i, value in enumerate(d))


@at(1.3, 0.7)
def items_of_it(x, y):
    d = deque([x, y, 1.0])
    d[1] = x * y
    d[-1] += y
    del d[0]
    first, *rest = d
    return first * rest[0] + len(d) + x * (3 in deque([1, 3])) + [*d][1] + max(d)


@at(1.3, 0.7)
def at_most_so_many(x, y):
    d = deque([x, y, 2.0], 3)
    d.extend(d)
    d.extendleft([y, x])
    none = deque(maxlen=0)
    none.append(x)
    added = d + deque([x * y])
    return sum(v * (i + 1) for i, v in enumerate(added)) + added.maxlen + len(none)


@at(1.3, 0.7)
def inserted_and_removed(x, y):
    d = deque([x, y], maxlen=6)
    d.insert(-1, 3.0)
    d.insert(100, x * y)
    d.insert(-100, y)
    counts = deque([1, 2, 1])
    counts.remove(1)
    found = counts.index(1) + counts.count(2) + (counts == deque([2, 1]))
    return sum(value * (i + 1) for i, value in enumerate(d)) + found


@at(1.3, 0.7)
def changed_in_place(x, y):
    d = deque([x])
    same = d
    d += [y]
    d *= 2
    other = d.copy()
    other.append(x)
    return sum(same) * len(same) + sum(other) + sum(2 * deque([x]))


@at(1.3)
def deques_by_key(x):
    d = defaultdict(deque)
    d["a"].append(x)
    d["a"].appendleft(x * x)
    return d["a"][0] * 3 + d["a"][1]


@at(1.3)
def class_of_it(x):
    d = deque()
    return x * (isinstance(d, deque) + 2 * (type(d) is deque) + 4 * isinstance(d, list))


@at(1.3)
def changed_while_gone_through(x):
    d = deque([x, x])
    for value in d:
        d.append(value)
        d.popleft()
    return x


@at(1.3)
def changed_at_its_last_item(x):
    d = deque([x, x])
    for i, value in enumerate(d):
        if i == 1:
            d.append(value)
    return x


@at(1.3)
def changed_and_left(x):
    d = deque([x, x * x])
    for i, value in enumerate(d):
        d[i] = value * 2
    for value in d:
        d.append(value)
        break
    return sum(d)


@at(1.3)
def item_of_an_empty_one(x):
    try:
        return deque().popleft()
    except IndexError:
        return x * x


@at(1.3)
def inserted_into_a_full_one(x):
    d = deque([x], maxlen=1)
    d.insert(0, x)
    return d[0]


@at(1.3)
def slice_of_it(x):
    return deque([x, x])[0:1][0]


@at(1.3)
def of_a_negative_length(x):
    return deque([x], -1)[0]


@at(1.3)
def length_is_assigned(x):
    d = deque([x], 3)
    d.maxlen = 2
    return d[0]


@at(1.3)
def copied_by_copy(x):
    d = deque([x])
    copy.copy(d).append(x)
    return sum(d)


@at(1.3, 0.7)
def two_in_turn(x, y):
    return sum(a * b for a, b in zip(deque([x, y]), deque([y, x]), strict=True))


@at(1.3)
def attribute_of_the_text_alone(x):
    d = deque([x])
    try:
        d._items = [2.0]
    except AttributeError:
        x = x * 2
    return x * len(d._items)


@at(1.3)
def changed_before_it_is_gone_through(x):
    d = deque([x])
    begun = iter(d)
    d.append(2.0 * x)
    try:
        return next(begun)
    except RuntimeError:
        return -x


@at(1.3)
def what_changes_nothing_while_it_is_gone_through(x):
    d, empty, total = deque([x, 2.0]), deque(), 0.0
    waiting = iter(empty)
    try:
        for item in d:
            empty.clear()
            try:
                del d[7]
            except IndexError:
                total += item
        return total + sum(waiting)
    except RuntimeError:
        return -x


@at(1.3)
def nothing_is_removed(x):
    d, total = deque([1.0, 2.0]), 0.0
    try:
        for item in d:
            try:
                d.remove(3.0)
            except ValueError:
                total += item * x
    except RuntimeError:
        return -x
    return total
