"""NumPy's functions on numbers, and NumPy's numbers."""

import numpy as np

from .case import at


@at(0.7)
def functions(x):
    return np.sin(x) * np.exp(-x) + np.sqrt(x) * np.log(x)


@at(0.7)
@at(-0.7)
def maximum_and_minimum(x):
    return np.maximum(x, 0.0) * 3 + np.minimum(x, 0.1) + np.abs(x)


@at(0.7)
def tanh_and_powers(x):
    return np.tanh(x) ** 2 + np.power(x, 3) + np.square(x)


@at(-1.0)
@at(0.0)
def outside_of_the_domain(x):
    return np.sqrt(x) + np.log(x)


@at(1.5, 0.0)
def division_by_zero_of_float(x, y):
    return x / y


@at(np.float64(1.5), np.float64(0.5))
@at(np.float64(1.5), np.float64(0.0))
def division_of_float64(x, y):
    return x / y


@at(np.float64(-8.0))
def power_of_negative_float64(x):
    return x ** (1 / 3)


@at(np.float32(1.5))
def float32(x):
    return x * x + x


@at(np.float32(0.1))
def float32_with_python_float(x):
    return x * 0.1 + 3


@at(np.float32(0.1), 0.1)
def float32_with_float_argument(x, y):
    return x * y


@at(np.float32(0.1), np.float64(0.1))
def float32_with_float64(x, y):
    return x * y


@at(np.float32(3.0))
def functions_of_float32(x):
    return np.sin(x) * np.exp(x)


@at(1.5)
def float64_made_inside(x):
    return np.float64(x) * np.float64(2.0)


@at(1.5)
def constants(x):
    return x * np.pi + np.e - (np.inf < x)


@at(1.5)
@at(-1.5)
def where_of_numbers(x):
    return np.where(x > 0, x * x, -x) * 2


@at(1.5)
def predicates(x):
    return x * np.isfinite(x) + np.isnan(x) + np.sign(x)


@at(7.5, 2.0)
@at(-7.5, 2.0)
def division_functions(x, y):
    return np.floor_divide(x, y) * x + np.mod(x, y) + np.fmod(x, y)


@at(1.5, 0.5)
def functions_of_two(x, y):
    return np.hypot(x, y) * np.arctan2(y, x) + np.logaddexp(x, y)


@at(2.7)
def rounding(x):
    return np.floor(x) * x + np.ceil(x) + np.round(x) + np.trunc(x)


@at(0.5, 10)
def in_a_loop(x, n):
    for _ in range(n):
        x = np.sin(x) + 0.5 * x
    return x


@at(1.5, np.int64(3))
def integer_of_numpy(x, n):
    return x * n


@at(1.5, np.bool_(True))
def truth_of_numpy(x, flag):
    return x * 2 if flag else x


@at(0.3)
def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@at(np.array([0.5, -1.5]))
@at(np.array([2.5, 0.75]))
def methods_of_a_number_of_numpy(w):
    total = (w @ w).sum() + w[0].mean() * w[1].prod(axis=0) + w[1].std()
    return total * w[0].clip(-1.0, 1.0).squeeze() + w[0].max() * w[1].min(0)


@at(np.array([0.5, -1.5]))
@at(np.array([2.5, 0.75], np.float32))
def numbers_of_numpy_with_axes(w):
    first = w[0][None, ...] * 2.0
    return np.sum(np.concatenate([first, w, w.max()[np.newaxis]]) ** 2) * w[1][()]


@at(np.array([1.5, -2.0]))
@at(np.array([-1.5, 2.0]))
def truth_counts_as_a_number(x):
    above, below = x[0] > 0, x[1] < 0
    total = above * x[0] + 2.5 * below - (x[0] > 1.0) * 3 + x[1] / (above + 1)
    return total + (above + below) * x[0] + (above * below) * x[1] + sum([above, below]) * x[1]


@at(np.array([1.5, -2.0]))
@at(np.array([-1.5, 2.0]))
def difference_of_truth(x):
    try:
        return x[0] * ((x[0] > 0) - (x[1] > 0))
    except TypeError:
        return x[1]
