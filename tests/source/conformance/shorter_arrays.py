"""Loops and recursion that end where arrays have some length."""

import numpy as np

from .case import at


@at(np.array([1.0, 2.0, 0.5, -1.0]))
@at(np.array([1.0, 2.0, 0.5, -1.0, 0.3, 0.2, 0.9, 1.1]))
@at(np.array([1.5]))
def halves_of_an_array(x):
    def transformed(real, imaginary):
        n = real.shape[0]
        if n == 1:
            return real, imaginary
        a, b = transformed(real[::2], imaginary[::2])
        c, d = transformed(real[1::2], imaginary[1::2])
        angle = -2.0 * np.pi * np.arange(n // 2) / n
        cos, sin = np.cos(angle), np.sin(angle)
        c, d = cos * c - sin * d, sin * c + cos * d
        return np.concatenate([a + c, a - c]), np.concatenate([b + d, b - d])

    real, imaginary = transformed(x, np.zeros(len(x)))
    return np.sum((real**2 + imaginary**2) * np.arange(len(x)))


@at(np.array([1.0, 2.0, 0.5, -1.0]))
@at(np.array([1.0, 2.0]))
def shorter_by_half_in_each_turn(x):
    differences = []
    while len(x) > 1:
        differences.append((x[::2] - x[1::2]) / 2)
        x = (x[::2] + x[1::2]) / 2
    return sum([np.sum(one**3) for one in differences]) + x[0]


@at(np.array([1.0, 2.0, 0.5, -1.0, 3.0]))
@at(np.array([1.0, 2.0]))
def sums_by_doubled_steps(x):
    y, step = x.copy(), 1
    while step < len(y):
        y[step:] = y[step:] + y[:-step]
        step *= 2
    return np.sum(y * y)


@at(np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 0.0]]), 0.3)
@at(np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 0.0], [3.0, 3.0]]), 0.6)
def point_of_a_curve(points, t):
    while len(points) > 1:
        points = (1 - t) * points[:-1] + t * points[1:]
    return np.sum(points[0] ** 3)
