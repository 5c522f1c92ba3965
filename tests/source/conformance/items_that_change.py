"""Lists, dicts and arrays of which the body of a loop changes the items that come."""

import math

import numpy as np

from .case import at


class Place:
    def __init__(self, x):
        self.x = x


@at([1.0, 2.0, 3.0])
@at([])
def each_is_replaced(xs):
    values = list(xs)
    for i, v in enumerate(values):
        values[i] = math.sin(v) * 2.0
    return sum(values) + 1.0


@at([1.0, 2.0, 3.0])
@at([-1.0, 2.0, -3.0])
def those_that_come_are_changed(xs):
    values = list(xs)
    for i, v in enumerate(values):
        if v > 0.0:
            values[(i + 1) % 3] += v
    return values[0] + 2.0 * values[1] + 4.0 * values[2]


@at([1.0, 2.0, 3.0])
def each_in_turns(xs):
    values = list(xs)
    for _ in range(5):
        for i, v in enumerate(values):
            values[i] = v * 0.5 + sum(values) / 10.0
    return sum(values)


@at([1.0, 2.0, 3.0], np.array([0.5, 0.2, 0.1]))
def two_at_once(xs, a):
    values, parts = list(xs), a * 2.0
    for i, (v, p) in enumerate(zip(values, parts, strict=True)):
        values[i - 1] += p
        parts[(i + 1) % 3] *= math.exp(-v)
    return sum(values) + parts.sum()


@at([1.0, 2.0, 3.0])
def from_behind(xs):
    values = list(xs)
    total = 0.0
    for v in reversed(values):
        values[0] += v
        total = total * 2.0 + v
    return total + values[0]


@at([1.0, 2.0, 3.0])
def instances(xs):
    places = [Place(x) for x in xs]
    for i, p in enumerate(places):
        for j, q in enumerate(places):
            if i != j:
                places[i] = Place(p.x + math.tanh(q.x))
    return sum(p.x for p in places)


@at([1.0, 2.0, 3.0])
@at([1.0, -2.0, 3.0])
def of_computed_length(xs):
    values = []
    for x in xs:
        if x > 0.0:
            values.append(x)
    for i, v in enumerate(values):
        values[(i + 1) % len(values)] += math.sqrt(v)
    return sum(v * (i + 1) for i, v in enumerate(values))


@at({"a": 1.0, "b": 2.0})
def values_of_a_dict(d):
    d = dict(d)
    for i, (k, v) in enumerate(d.items()):
        d["b"] += math.sin(v) * i
        d[k] *= 2.0
    return d["a"] + 3.0 * d["b"]
