"""Operators on a list and what NumPy makes an array of it for: an array, or a number of NumPy's."""

import math

import numpy as np

from .case import at


@at(np.array([0.5, 2.0]), [1.0, 2.0])
@at(np.array([0.5, 2.0]), (1.0, 2.0))
@at(np.array([0.5, 2.0]), [])
@at(np.array([0.5, 2.0]), [[1.0, 2.0], [3.0, 4.0]])
def numbers_of_numpy(x, data):
    mean, spread = x
    near = np.sum((data - mean) ** 2) + np.sum(mean / (data + spread))
    return (
        near + np.sum(data**spread) + np.sum([1.0, 2.0] - mean) + math.exp(np.sum(spread % (3, 4)))
    )


@at(np.array([0.5, 2.0]), [1.0, 2.0])
def no_product_with_a_number(x, data):
    return np.sum(data * x[0])


@at(np.array([0.5, 2.0]), [1.0, [2.0]])
@at(np.array([0.5, 2.0]), ["a", 2.0])
def no_array_of_it(x, data):
    return np.sum(data - x[0])


@at(np.array([0.5, 2.0]), 3.0)
def in_place_it_is_another(a, x):
    values = [x, 1.0]
    before = values
    values += a
    return np.sum(values) + len(before) + values[0] * before[0]


@at(np.array([0.5, 2.0]), 3.0)
def in_place_with_numbers(a, x):
    values = [x, 1.0]
    values += a[0]
    values = [*values]
    values *= a
    return np.sum(values)


@at(np.array([0.5, 2.0]), 3.0)
def in_place_with_what_is_no_array(a, x):
    values = [x]
    values += [x * 2.0]
    values += (x, x)
    values += (v for v in a)
    values *= 2
    return sum(values) + len(values)


@at(np.array([0.5, 2.0]), 3.0)
@at(np.array([0.5, 2.0]), -3.0)
def in_place_with_one_thing_or_another(a, x):
    values = [x, x]
    other = a if x > 0.0 else [1.0, 2.0, 3.0]
    values += other
    return sum(values) + len(values)


@at(np.array([0.5, 2.0]), 3.0)
def in_place_where_it_may_have_grown(a, x):
    values = []
    for v in a:
        if v < x:
            values.append(v)
    values += a
    return np.sum(values) + len(values)
