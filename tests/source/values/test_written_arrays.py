"""NumPy's functions that write to an array of the function's own, and those of their indices."""

import re

import numpy as np
import pytest

import wyrmling as wy

special = pytest.importorskip("scipy.special")
X = np.array([0.6, 1.3, 0.9])


def out(x):
    made = np.zeros(3)
    same = made
    result = np.multiply(x, 2, out=made)
    np.add(made, x, made)
    np.cumsum(made * x, out=made)
    made[0] += x[1]
    return same * result + np.exp(x, out=None)


def out_where(x):
    return np.divide(x[0], x, out=np.zeros_like(x), where=np.array([True, False, True]))


def out_in_a_loop(x):
    made = np.ones(3)
    for i in range(3):
        np.multiply(made, x * i + 1.0, out=made)
    return made


def added_at(x):
    made = np.zeros(2)
    np.add.at(made, [0, 0, 1], x)
    return made**2


def filled(x):
    made = np.zeros((3, 3))
    made.fill(x[0])
    np.fill_diagonal(made, x)
    row = np.zeros(3)
    np.copyto(row, x * 2)
    np.copyto(row, x[0] ** 2, where=[True, False, False])
    np.put(row, [1], [x[2]])
    return made @ row


def sorted_in_place(x):
    made = x * 2
    made.sort()
    return made * np.arange(1.0, 4.0)


def methods_of_ufuncs(x):
    outer = np.multiply.outer(x, x) + np.subtract.outer(x, [1.0, 2.0, 3.0])
    return np.add.reduce(outer, axis=-1) * np.maximum.reduce(x) + np.multiply.accumulate(x)


def indices(x):
    table = np.outer(x, x)
    made = np.zeros(table.shape)
    for (i, j), value in np.ndenumerate(table):
        made[i, j] = value * (i + 2 * j)
    for at in np.ndindex(table.shape):
        made[at] += table[at] ** 2
    for (k,) in np.ndindex(3):
        made[k, 0] *= x[k]
    for i, j, k in np.ndindex(2, 1, 3):
        made[i, j] += x[k] * (k + 1)
    return made


def of_scipy(x):
    return special.softmax(x) * special.logsumexp(x) + special.log_softmax(x)


FUNCTIONS = [
    *(out, out_where, out_in_a_loop, added_at, filled, sorted_in_place, methods_of_ufuncs),
    *(indices, of_scipy),
]


@pytest.mark.parametrize("mode", ["source", "auto"])
@pytest.mark.parametrize("f", FUNCTIONS)
def test_derivatives(f, mode):
    wanted = f(X.copy())
    seed = np.cos(np.arange(wanted.size) + 1.0).reshape(wanted.shape)
    value, pull = wy.pullback(f, X.copy(), mode=mode)
    np.testing.assert_allclose(value, wanted, rtol=1e-13)
    steps = [np.sum(seed * (f(X + h) - f(X - h))) / 2e-5 for h in np.eye(3) * 1e-5]
    np.testing.assert_allclose(pull(seed)[0], steps, rtol=1e-7, atol=1e-8)


def test_what_is_not_the_functions_own_is_refused():
    def argument(x):
        np.multiply(x, 2, out=x)
        return x

    def view(x):
        made = np.zeros(3)
        part = made.T
        np.add(part, 1.0, out=part)
        return made * x

    for f in (argument, view):
        with pytest.raises(wy.SourceError, match="that writes to"):
            wy.grad(lambda x, f=f: f(x).sum(), mode="source")(X)


def test_tangents_of_what_is_assigned_in_a_loop_for_other_lengths():
    """Of a whole assignment the old tangent is read, and what is made of it is not."""

    def assigned(a):
        y = a * 1.0
        for _ in range(2):
            y[:] = a + 2.0 * a[0]
        return y

    def copied(a):
        y, k = a.copy(), 0
        while k < 2:
            k += 1
            np.copyto(y, a * a + (a @ a))
        return np.stack([y, a])

    for f in (assigned, copied):
        for n in (3, 4, 5, 6, 7, 8, 3, 9):
            a = np.arange(1.0, n + 1)
            direction = np.linspace(-1.0, 1.0, n)
            step = 1e-6
            slope = (f(a + step * direction) - f(a - step * direction)) / (2 * step)
            for mode in ("source", "auto"):
                _, tangent = wy.jvp(f, (a,), (direction,), mode=mode)
                np.testing.assert_allclose(tangent, slope, rtol=1e-6, atol=1e-6)


def test_a_product_with_an_array_of_another_length_raises_in_programs_with_branches():
    """The second operand has the same length in all calls, and the result is one number."""

    def f(x, n, b):
        made = np.ones(3) * 2.0
        both = np.array([1.0, x, 2.0])
        made[n % 2] = b @ made
        return np.sum(both) + made[0]

    read = wy.compile(f, mode="source")
    slope = wy.grad(f, 2, mode="source")
    b = np.array([1.0, 2.0, 3.0])
    assert read(0.5, 2, b) == f(0.5, 2, b)
    np.testing.assert_array_equal(slope(0.5, 2, b), [2.0, 2.0, 2.0])
    for n in (4, 2, 8, 1):
        for g in (f, read, slope):
            with pytest.raises(ValueError, match=r"mismatch|matmul|length"):
                g(0.5, 2, np.ones(n))
    assert read(0.5, 2, b) == f(0.5, 2, b)


def test_a_number_made_of_an_array_of_other_lengths_raises_in_programs_with_branches():
    """NumPy makes a number of arrays of some shapes only."""

    def single(x, n, b):
        made = np.ones(3) * x
        made[n % 2] = np.reshape(b, ())
        return np.sum(made) + n

    def square(x, n, b):
        made = np.ones(3) * x
        for _ in range(n):
            made = made * 0.5 + np.linalg.det(b)
        return np.sum(made)

    def some(x, n, b):
        made, k = np.ones(3) * x, 0
        b = b[:] if n < 3 else b[n - 3 :]
        while k < n:
            made = made * 0.5 + x * np.max(b)
            k += 1
        return made @ made

    shapes = {
        single: [(1,), (2,), (0,), (1,), (4,)],
        square: [(3, 3), (3, 2), (2, 2), (1, 3), (4, 4)],
        some: [(3, 3), (2, 2), (1, 3), (5, 3), (0, 0)],
    }
    for f, several in shapes.items():
        read, slope = wy.compile(f, mode="source"), wy.value_and_grad(f, 2, mode="source")
        for k, shape in enumerate([*several, several[0]]):
            b = 0.5 + np.arange(np.prod(shape)).reshape(shape) ** 2 % 7
            n = 4 if k else 2
            try:
                value, raised = f(0.5, n, b), None
            except ValueError as error:
                value, raised = 0.0, error
            for g in (read, lambda *args, slope=slope: slope(*args)[0]):
                if raised is None:
                    np.testing.assert_allclose(g(0.5, n, b), value, rtol=1e-12)
                else:
                    with pytest.raises(type(raised), match=f"^{re.escape(str(raised))}$"):
                        g(0.5, n, b)


def test_arrays_that_fit_after_some_that_did_not_where_tracing_fails():
    """What was read for the others leaves always, or for other lengths."""

    def mismatched(x, b):
        return np.sum(np.array([x, 2.0]) * b)

    def product(x, b):
        return np.prod(b) * np.sum(np.array([x, 2.0]))

    for f, lengths, gradient in (
        (mismatched, (3, 2, 2, 5, 2), lambda b: np.sum(b[:1])),
        (product, (3, 2, 4, 2, 5, 1), np.prod),
    ):
        for mode in ("source", "auto"):
            slope, read = wy.value_and_grad(f, mode=mode), wy.compile(f, mode=mode)
            for n in lengths:
                b = np.arange(1.0, n + 1)
                if f is mismatched and n != 2:
                    for g in (slope, read):
                        with pytest.raises(ValueError, match="could not be broadcast"):
                            g(0.5, b)
                else:
                    assert read(0.5, b) == f(0.5, b)
                    assert slope(0.5, b) == (f(0.5, b), gradient(b))
