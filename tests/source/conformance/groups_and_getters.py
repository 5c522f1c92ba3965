"""``itertools.groupby``, and ``itemgetter``, ``attrgetter`` and ``methodcaller`` of ``operator``."""

from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter, itemgetter, methodcaller

import numpy as np

from .case import at


@dataclass
class Line:
    slope: float
    offset: float = 2.0

    def height(self, x, scale=1.0):
        return (self.slope * x + self.offset) * scale


@dataclass
class Held:
    line: Line


second = itemgetter(1)
slope_and_offset = attrgetter("line.slope", "line.offset")
height_at_three = methodcaller("height", 3.0)


@at(1.3, 0.7)
def groups_of_pairs(x, y):
    rows = [("a", x), ("a", y), ("b", x * y), ("a", 2.0)]
    total = 0.0
    for key, group in groupby(rows, key=lambda row: row[0]):
        total = total * 1.5 + sum(value for _, value in group) + len(key)
    return total


@at(1.3, 0.7)
def groups_as_lists(x, y):
    rows = sorted([("b", x), ("a", y), ("b", x * y)], key=itemgetter(0))
    groups = {key: [value for _, value in group] for key, group in groupby(rows, itemgetter(0))}
    return sum(groups["a"]) * sum(groups["b"])


@at(1.3, 0.7)
@at(-1.3, 0.7)
def groups_by_a_computed_key(x, y):
    total = 0.0
    for is_positive, group in groupby([x, y, x * y, x - y], key=lambda value: value > 0):
        found = sum(group)
        total = total + (found * found if is_positive else found)
    return total


@at(np.array([1.0, 2.0, 3.0, 1.0]))
def groups_of_an_array(x):
    total = 0.0
    for _, group in groupby(x, key=lambda value: value > 1.5):
        total = total * 0.5 + sum(group) ** 2
    return total


@at(1.3, 0.7)
def groups_that_are_not_gone_through(x, y):
    total = 0.0
    for _, group in groupby(zip([0, 0, 1], [x, y, x * y], strict=True), itemgetter(0)):
        total = total * 2 + next(group)[1]
    return total


@at(1.3, 0.7)
def groups_that_came_before(x, y):
    rows = [(0, x), (0, y), (1, x * y)]
    total = x
    for key, group in list(groupby(rows, itemgetter(0))):
        total = total * 2 + sum(value for _, value in group) + key
    return total


@at(1.3)
def groups_of_letters_and_of_nothing(x):
    for _ in groupby([]):
        x = x * 2
    return x * sum(1 for _ in groupby("aabbbc")) + sum(x ** len([*g]) for _, g in groupby("aab"))


@at(1.3)
def key_of_groups_changes(x):
    least, total = 0, 0.0
    for _, group in groupby([1, 2, 3, 4], lambda value: value > least):
        total += x * len(list(group))
        least = 3
    return total


@at(1.3)
def list_of_groups_grows(x):
    items, total = [0, 0, 1, 1], 0.0
    for _, group in groupby(items):
        total = total * 2 + x * len(list(group))
        if len(items) < 5:
            items.append(7)
    return total


@at(1.3)
def key_of_groups_that_counts(x):
    seen, total = [], 0.0

    def key(value):
        seen.append(value)
        return value

    for _, group in groupby([1, 1, 2], key):
        total = total + x * len(seen) + len(list(group))
    return total


@at(1.3)
def key_of_groups_that_prints(x):
    def key(value):
        print("key", value)
        return value

    total = 0.0
    for value, group in groupby([1, 1, 2], key):
        print("group", value)
        total = total + x * len(list(group))
    return total


@at(1.3, 0.7)
def items_got(x, y):
    some = itemgetter(0, 2)([x, y, x * y])
    best = max({"a": 1, "b": 3}.items(), key=second)
    return second([x, y]) * some[1] + itemgetter("k")({"k": x}) + best[1] * y


@at(1.3, 0.7)
def attributes_got(x, y):
    slope, offset = slope_and_offset(Held(Line(x, y)))
    return slope * offset + attrgetter("line")(Held(Line(y))).offset * attrgetter("slope")(Line(x))


@at(1.3, 0.7)
def methods_called(x, y):
    line = Line(x, y)
    return height_at_three(line) + methodcaller("height", y, scale=x)(line)


@at(1.3)
def item_by_keyword(x):
    return itemgetter(0)(obj=[x])


@at(1.3)
def attribute_that_is_not_there(x):
    return attrgetter("slope.line")(Line(x))


@at(1.3)
def names_that_are_no_strings(x):
    found = 0
    for make in (attrgetter, methodcaller):
        try:
            make(1)
        except TypeError:
            found += 1
    return x * found
