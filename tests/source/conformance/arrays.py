"""Arrays: elementwise functions, reductions, products, indices and loops over elements."""

import numpy as np

from .case import at

V = np.array([0.5, 1.5, -0.7])
W = np.array([1.0, -2.0, 0.25])
M = np.array([[0.5, 1.5], [-0.7, 2.0]])


@at(V)
def sum_of_squares(x):
    return np.sum(x * x)


@at(V)
def elementwise(x):
    return np.sum(np.sin(x) * np.exp(-x) + x**2)


@at(V)
def returned_array(x):
    return np.tanh(x) * 2


@at(V, 1.5)
def scaled(x, s):
    return np.sum(x * s + s)


@at(V, W)
def dot(x, y):
    return x @ y


@at(V, W)
def broadcast(x, y):
    return np.sum(x[:, None] * y[None, :] ** 2)


@at(M)
def trace_of_a_product(a):
    return np.trace(a @ a)


@at(M, V[:2])
def matrix_vector(a, x):
    return np.sum(np.tanh(a @ x))


@at(M)
def transposed(a):
    return np.sum(a.T @ a * 0.5)


@at(M)
def axes(a):
    return np.sum(np.sum(a, axis=0) * np.max(a, axis=1)) + np.mean(a)


@at(V)
def item(x):
    return x[0] * x[1] + x[-1]


@at(V, 1)
@at(V, -1)
@at(V, 3)
def item_by_argument(x, i):
    return x[i] * x[0]


@at(M)
def items_of_a_matrix(a):
    return a[0, 1] * a[1, 0] + a[1][1]


@at(V)
def slices(x):
    return np.sum(x[1:] * x[:-1])


@at(V)
def loop_over_elements(x):
    y = 0.0
    for v in x:
        y = y * 1.5 + v
    return y


@at(V)
def loop_over_indices(x):
    y = 0.0
    for i in range(len(x)):
        y = y * 1.5 + x[i] * i
    return y


@at(M)
def loop_over_rows(a):
    y = 0.0
    for row in a:
        y = y * 0.5 + np.sum(row * row)
    return y


@at(M)
def loop_over_two_indices(a):
    y = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            y += a[i, j] * (i + 1) ** j
    return y


@at(V)
def shape_and_size(x):
    return np.sum(x) * x.size + x.ndim + x.shape[0] + len(x)


@at(V)
def methods(x):
    return x.sum() * x.mean() + x.max() - x.min() + x.dot(x)


@at(V, W)
def where(x, y):
    return np.sum(np.where(x > y, x * y, x))


@at(V)
def maximum(x):
    return np.sum(np.maximum(x, 0.0) ** 2)


@at(V)
def mask(x):
    return np.sum(x[x > 0])


@at(V, np.array([0, 2, 0]))
def fancy_index(x, i):
    return np.sum(x[i] * np.arange(3.0))


@at(V)
@at(-V)
def branch_on_an_element(x):
    if x[0] > 0:
        return x[1] * x[2]
    return np.sum(x)


@at(V)
@at(10 * V)
def branch_on_a_norm(x):
    n = np.sqrt(np.sum(x * x))
    if n > 5:
        x = x / n
    return np.sum(x**3)


@at(V)
def loop_until_small(x):
    while np.sum(x * x) > 0.1:
        x = x * 0.5
    return np.sum(x)


@at(V, 4)
def array_carried_through_a_loop(x, n):
    y = x
    for _ in range(n):
        y = np.tanh(y * x) + 0.1
    return np.sum(y)


@at(V)
def stack_of_numbers(x):
    a = np.array([x[0] * x[1], x[2], 3.0])
    return np.sum(a * a)


@at(1.5)
def array_of_a_number(x):
    a = np.array([x, x * x, 2.0])
    return np.sum(a * np.arange(3.0))


@at(V, W)
def concatenated(x, y):
    return np.sum(np.concatenate([x, y * 2]) ** 2)


@at(1.5)
def constant_arrays(x):
    return np.sum(np.ones(3) * x + np.arange(3.0) + np.zeros(3))


@at(V)
def argmax_as_an_index(x):
    return x[np.argmax(x)] * 3


@at(V, 2)
def axis_as_an_argument(x, n):
    return np.sum(np.reshape(np.concatenate([x, x]), (n, 3)).sum(axis=n - 2) * W)


@at(V.astype(np.float32))
def float32(x):
    return np.sum(x * x)


@at({"w": M, "b": V[:2]}, W[:2])
def parameters_in_a_dict(p, x):
    return np.sum(np.tanh(p["w"] @ x + p["b"]))


@at([M, M * 0.5], V[:2])
def layers_in_a_list(layers, x):
    for a in layers:
        x = np.tanh(a @ x)
    return np.sum(x)


@at(M)
def solve(a):
    return np.sum(np.linalg.solve(a, W[:2]))


@at(V)
def einsum(x):
    return np.einsum("i,i->", x, x * 2)


@at(V, W)
def wrong_shapes(x, y):
    return np.sum(x @ np.concatenate([y, y]))


@at(V)
def index_is_out_of_range(x):
    return x[7]


@at(V)
def truth_of_an_array(x):
    if x > 0:
        return np.sum(x)
    return x[0]


@at(V)
def cumulative(x):
    return np.sum(np.cumsum(x) * W) + np.prod(x)


@at(V)
def sorted_array(x):
    return np.sum(np.sort(x) * W)


@at(V)
def norm(x):
    return np.linalg.norm(x)


@at(V, W)
def helpers(x, y):
    def energy(v):
        return 0.5 * np.sum(v * v)

    return energy(x - y) + energy(x) * energy(y)


@at(np.array(1.5))
def array_without_axes(x):
    return x * x + 1


@at(np.zeros(0))
def empty(x):
    return np.sum(x * x)


@at(V)
def scalar_functions_of_elements(x):
    import math

    return math.sin(x[0]) * math.exp(x[1])


@at(V)
def minimum_of_python(x):
    return min(x[0], x[1]) * max(x)


@at(np.array([0.3, -0.8]))
def rows_of_integers_among_others(x):
    total = np.eye(3)
    for angle in x:
        c, s = np.cos(angle), np.sin(angle)
        total = (
            total
            @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
            @ np.array([[1, x[0]], (0, 1), [0, 0]])[:, [0, 1, 1]]
        )
    return total[0, 2] ** 2 + total[1, 2]


@at(0.7)
@at(1.7)
def elements_of_one_kind_or_another(x):
    return np.sum(np.array([x if x < 1 else 1, 2 if x > 1 else x * x, 3.0]) ** 2)


@at(M)
def elements_one_after_the_other(x):
    total = 0.0
    for i, t in enumerate(x.flat):
        total += t * i
    return total * x.flat[1] + sum(x.T.flat) * len(x.flat) + np.sum(x.flat[1:])


@at(M)
def flat_is_a_view(x):
    y = x * 1.0
    y.flat[1] = 3.0
    return np.sum(y * x)


@at(np.array([0.5, -1.5]))
def truth_among_elements(x):
    return np.sum(np.array([True, x[0] > 0.0, x[1]]) * np.array([[x[0], 1, False]]))


@at(np.array([0.5, -1.5]))
def truth_among_single_numbers(x):
    """Precision shows: 2**24 + 1 is no float32."""
    single = np.array([x.astype(np.float32)[0], True, x[1] > 0.0])
    return x[0] * float((single * 2**24 + np.float32(1.0))[1])


@at(np.array([0.5, 1.5, -0.7]))
@at(np.array([-0.5, 1.5, -0.7]))
def lists_with_elements_of_one_kind_or_another(x):
    first, second = x[0] if x[0] > 0 else 1, 2 if x[1] > 1 else x[2]
    joined = np.concatenate([[first, x[1]], [second, x[2], 1.0]])
    return np.dot([x[0], first], [second, x[1]]) * joined.sum() + np.max(
        [[first, x[2]], [2, second]]
    )
