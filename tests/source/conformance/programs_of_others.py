"""What programs that others wrote use: classes that name themselves, questions for types, tables."""

import math

import numpy as np

from .case import at

PROBABILITIES = {("rain", "walk"): 0.1, ("rain", "shop"): 0.4, ("sun", "walk"): 0.6}
PRESSURES = [0.0, 10.0, 15.0, 20.0, 30.0, 35.0, 40.0, 45.0, 50.0, 60.0, 75.0, 90.0]
FACTORS = [1.0, 1.0, 0.99, 0.97, 0.9, 0.86, 0.8, 0.75, 0.7, 0.5, 0.25, 0.0]


class Shape:
    def __init__(self, size):
        self.size = size

    def area(self):
        return self.size


class Square(Shape):
    def __init__(self, size, weight):
        super(Square, self).__init__(size)
        self.weight = weight

    def area(self):
        return self.weight * super(Square, self).area() ** 2


class Tile(Square):
    def area(self):
        return super(Square, self).area() + super(Tile, self).area() * 3.0


@at(1.5)
def classes_that_name_themselves(x):
    return Tile(x, 2.0 * x).area() + Square(x, x).area()


@at(1.5)
def probabilities_by_pairs(x):
    return x * PROBABILITIES["rain", "walk"] + x**2 * PROBABILITIES[("sun", "walk")]


@at(1.5)
def no_division_by_what_is_small(x):
    return x / max(x, np.finfo(float).eps)


@at(np.array([1.0, 2.0]))
def limits_of_a_type(x):
    eps = np.finfo(x.dtype).eps
    return np.sum(x) if x.dtype == np.dtype(float) and eps < 1e-15 else np.sum(x * x)


@at(np.array([1.0, 2.0, 4.0]))
def order_in_memory(x):
    return np.sum(np.asarray(x, dtype=float, order="C") ** 2)


@at(1.5)
@at(-1.5)
def truth_of_a_number(x):
    return x * x if (np.sin(x) < 0).any() else x


@at(15.0)
@at(33.0)
@at(60.0)
@at(95.0)
def table_that_is_searched(x):
    low, high = 0, len(PRESSURES)
    while low < high:
        middle = (low + high) // 2
        if x < PRESSURES[middle]:
            high = middle
        else:
            low = middle + 1
    if low == len(PRESSURES):
        return math.exp(-x)
    slope = (FACTORS[low] - FACTORS[low - 1]) / (PRESSURES[low] - PRESSURES[low - 1])
    return FACTORS[low - 1] + slope * (x - PRESSURES[low - 1])


@at(1.5, 0)
@at(1.5, 2)
@at(1.5, -1)
def integers_of_a_table(x, i):
    total = 0.0
    for k in range(4):
        total += x ** [1, 3, 0, 2, 5][(k * 3 + i) % 5]
    return total


START = {"hot": 0.6, "cold": 0.4}
CHANGES = {"hot": {"hot": 0.7, "cold": 0.3}, "cold": {"hot": 0.4, "cold": 0.6}}


@at(START, "aab")
@at(START, "b")
def most_likely_path(start, seen):
    emitted = {"hot": {"a": 0.2, "b": 0.8}, "cold": {"a": 0.5, "b": 0.5}}
    best = [{one: math.log(start[one]) + math.log(emitted[one][seen[0]]) for one in start}]
    path = {one: [one] for one in start}
    for t in range(1, len(seen)):
        best.append({})
        paths = {}
        for one in start:
            chance, before = max(
                (
                    best[t - 1][other]
                    + math.log(CHANGES[other][one])
                    + math.log(emitted[one][seen[t]]),
                    other,
                )
                for other in start
            )
            best[t][one] = chance
            paths[one] = path[before] + [one]
        path = paths
    return max(best[-1][one] * (1.0 + path[one].count("hot")) for one in start)


@at(0.3, 0.7)
@at(0.9, 2.0)
@at(0.1, 0.2)
@at(-1.0, -3.0)
def nearest_of_several(x, y):
    nearest = None
    for distance, color in ((x, 1.0), (y, x), (x * y, y)):
        if distance > 0.5 and (nearest is None or distance < nearest[0]):
            nearest = (distance, color)
    if nearest is None:
        return math.exp(x)
    distance, color = nearest
    return math.sin(distance) * color


@at(0.3, 0)
@at(0.3, 1)
@at(0.3, 2)
def unpacked_as_one_thing_or_another(x, n):
    pair = (x, 2 * x) if n == 0 else (x, 3 * x, x) if n == 1 else None
    try:
        first, second = pair
    except ValueError:
        return math.sin(x)
    except TypeError:
        return math.cos(x)
    return math.exp(first) * second


@at(0.7, 5)
@at(0.7, 3)
def quadrature(k, n):
    points, weights = np.polynomial.legendre.leggauss(n)
    total = sum(w * np.exp(k * z) for z, w in zip(points, weights))
    points, weights = np.polynomial.hermite.hermgauss(deg=3)
    weights *= 2.0
    return total + sum(w * np.cos(k * z) for z, w in zip(points, weights))


def _merged(a, b):
    out, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        if a[i] <= b[j]:
            out.append(a[i])
            i += 1
        else:
            out.append(b[j])
            j += 1
    return out + a[i:] + b[j:]


def _in_order(values):
    if len(values) < 2:
        return values
    middle = len(values) // 2
    return _merged(_in_order(values[:middle]), _in_order(values[middle:]))


@at([3.0, 1.0, 2.0])
@at([0.5, 3.0, 1.0, 2.0])
@at([1.0])
def sorted_by_merging(values):
    return sum(v * (k + 1) for k, v in enumerate(_in_order(values)))


class Ball:
    def __init__(self, place, shade):
        self.place, self.shade = place, shade

    def distance(self, x):
        return abs(self.place - x)


@at(1.2, 2.0)
@at(1.8, 2.0)
@at(9.0, 2.0)
def nearest_object_or_none(x, y):
    nearest, best = math.inf, None
    for ball in (Ball(1.0, x), Ball(y, x * y)):
        distance = ball.distance(x)
        if distance < min(nearest, 5.0):
            nearest, best = distance, ball
    return best.shade * nearest


@at(1.5, 3)
def texts_of_several(x, n):
    told = ", ".join(f"{v:.3f}" for v in (x, x * x, n))
    rest = "-".join([str(x), "b", repr(n)]) + "".join([]) + "|".join(["a"])
    return x * len("/".join(("x", "y" if x > 1 else "z"))), told + rest


@at(1.5)
def no_text_among_several(x):
    return ",".join([x, "a"])
