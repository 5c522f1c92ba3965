"""Named tuples whose class has operators in Python."""

import math
from typing import NamedTuple

import numpy as np

from .case import at


class Vector(NamedTuple):
    x: float
    y: float

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __radd__(self, other):
        return self if other == 0 else NotImplemented

    def __sub__(self, other):
        return Vector(self.x - other.x, self.y - other.y)

    def __mul__(self, other):
        if isinstance(other, Vector):
            return self.x * other.x + self.y * other.y
        return Vector(self.x * other, self.y * other)

    def __truediv__(self, k):
        return Vector(self.x / k, self.y / k)

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def __abs__(self):
        return math.hypot(self.x, self.y)

    def __matmul__(self, other):
        return self.x * other.y - self.y * other.x


class Tenfold(NamedTuple):
    x: float

    def __mul__(self, k):
        return Tenfold(self.x * k * 10.0)


ORIGIN = Vector(0.5, 0.25)


@at(Vector(1.0, 2.0), Vector(0.5, -1.0), 3.0)
@at(Vector(-1.0, 2.0), Vector(0.5, 1.5), 0.5)
def algebra_of_vectors(a, b, k):
    c = a + b * k - ORIGIN / k
    d = sum([a, b, c], Vector(0.0, 0.0))
    e = sum([a, b])
    e += a
    return c * d + e @ -c + abs(e) + len(c) + (a == b) + sum(c) + max(a, b)[0]


@at(2.0, 40)
@at(0.5, 0)
def a_vector_in_a_loop(x, n):
    p = Vector(x, 1.0)
    for _ in range(n):
        p = p * 0.9 + Vector(0.1, x) / 3.0
    q = p if x > 1.0 else -p
    return q * q


@at(2.0)
def operators_of_tuples_beside_its_own(x):
    w = Tenfold(x)
    return w * 3 + (1.0,), 2 * w, (5.0,) + w, (w * 2).x, w + w


@at(2.0)
def no_operator_of_its_own(x):
    return Tenfold(x) - 1


@at(2.0)
def a_number_of_numpy_beside_it(x):
    found = np.float64(x) + Vector(x, 1.0)
    return math.exp(found[0]) * found.sum()


@at(2.0)
def in_place_beside_others(x):
    values = [x]
    values += Tenfold(x)
    pair = (1.0, 2.0)
    pair += Tenfold(x)
    return sum(values) * sum(pair)
