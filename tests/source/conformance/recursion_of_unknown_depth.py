"""Functions that call themselves, or each other, as often as the values of their arguments say."""

import math

import numpy as np

from .case import at


@at(10.0)
@at(0.5)
def with_a_tail(x):
    return x if x < 1 else with_a_tail(x * 0.5)


@at(1.5, 0.0)
@at(1.5, 3.0)
def counted_by_a_float(x, n):
    return 1.0 if n <= 0 else x * counted_by_a_float(x, n - 1)


@at(0.9, 4)
@at(1.5, 0)
def integer_or_float(x, n):
    return 1 if n == 0 else x * integer_or_float(x, n - 1)


@at(9.0)
@at(2.0)
def as_a_tree(x):
    if x < 2:
        return math.sin(x)
    return as_a_tree(x - 1) * 0.7 + as_a_tree(x - 2.5) * x


@at(2, 2, 0.7)
def ackermann(m, n, x):
    if m == 0:
        return (n + 1) * x
    if n == 0:
        return ackermann(m - 1, 1, x)
    return ackermann(m - 1, int(ackermann(m, n - 1, 1.0)), x)


def _falls(x, n):
    return x if x < 1 else _rises(x / 3, n) + 1


def _rises(x, n):
    return n * x if x > 20 else _falls(x * 1.5, n) * n


@at(12.0, 1.25)
@at(0.3, 1.25)
def each_other(x, n):
    return _falls(x, n)


def _female(x, k):
    return 1.0 if k < 1 else x * k - 0.3 * _male(x, _female(x, k - 1))


def _male(x, k):
    return 0.1 if k < 1 else x + k - 0.5 * _female(x, _male(x, k - 1))


@at(0.9, 3.0)
def each_other_and_themselves(x, k):
    return _female(x, k)


@at(5.0, 0.3)
def closure_over_a_local(x, rate):
    scale = rate * 2

    def shrink(y):
        return y if y < 1 else shrink(y * 0.6) * scale + y

    return shrink(x) + shrink(x + 1)


@at(5.0)
def counter_of_calls(x):
    count = 0
    total = 0.0

    def go(y):
        nonlocal count, total
        count += 1
        total += y * y
        if y < 1:
            return y
        return go(y / 2) + count * y

    return go(x) * total + count


@at(5.0)
def shared_list(x):
    seen = [0.0, 1.0]

    def go(y):
        seen[0] = seen[0] + y
        if y > 1:
            go(y - 1)
            seen[1] = seen[1] * y

    go(x)
    return seen[0] * seen[1]


@at(6.0)
def list_that_is_filled(x):
    def go(y, out):
        out[1] = out[0] * y
        out[0] = y
        return 0.0 if y < 1 else y + go(y / 2, out)

    out = [1.0, 0.0]
    return go(x, out) + out[1]


@at(7.0, 0.5)
def pairs(x, y):
    def both(a, b):
        if a < 1:
            return a * b, b
        c, d = both(a / 2, b + 0.1)
        return c + a, d * a

    c, d = both(x, y)
    return c * d


@at(7.0)
def lists_and_dicts(x):
    def parts(a):
        if a < 1:
            return {"sum": a, "last": [a, 1.0]}
        inner = parts(a / 2)
        return {"sum": inner["sum"] + a, "last": [a * inner["last"][0], inner["last"][1] + 1]}

    found = parts(x)
    return found["sum"] * found["last"][0] + found["last"][1]


@at(7.0)
def none_or_a_number(x):
    def find(a):
        if a < 0.1:
            return None
        if a < 1:
            return a * a
        return find(a / 2)

    found = find(x)
    return -1.0 if found is None else found * 3


@at(3.0, 0.2)
def default_and_keyword(x, y):
    def go(a, *rest, step=0.5, **others):
        if a < step:
            return a * others["k"]
        return go(a - step, *rest, step=step * 1.01, **others) + rest[0]

    return go(x, y, 2.0, k=y)


@at(3.3)
def called_in_a_loop(x):
    total = 0.0
    for k in range(4):
        total += as_a_tree(x + k) * k
    return total


@at(4.0)
def calls_within_a_loop(x):
    if x < 1:
        return x * x
    total = 0.0
    k = 1
    while k < 3:
        total = total * 0.5 + calls_within_a_loop(x - k) * x
        k += 1
    return total


@at(100.0)
def bisected(x):
    def root(low, high):
        middle = 0.5 * (low + high)
        if high - low < 1e-3:
            return middle
        if middle * middle > x:
            return root(low, middle)
        return root(middle, high)

    # The interval has no derivative; a step of Newton's has.
    y = root(1.0, 50.0)
    return 0.5 * (y + x / y)


def _simpson(f, a, b):
    return (b - a) / 6 * (f(a) + 4 * f((a + b) / 2) + f(b))


def _adaptive(f, a, b, whole, tolerance):
    middle = (a + b) / 2
    left, right = _simpson(f, a, middle), _simpson(f, middle, b)
    error = left + right - whole
    if abs(error) < 15 * tolerance:
        return left + right + error / 15
    return _adaptive(f, a, middle, left, tolerance / 2) + _adaptive(
        f, middle, b, right, tolerance / 2
    )


@at(1.3, 0.4)
def adaptive_quadrature(x, k):
    def f(t):
        return math.exp(-k * t) * math.sin(x * t)

    return _adaptive(f, 0.0, 3.0, _simpson(f, 0.0, 3.0), 1e-4)


@at(48, 36, 1.5)
def greatest_common_divisor(a, b, x):
    return a * x if b == 0 else greatest_common_divisor(b, a % b, x)


@at(0.5)
def continued_fraction(x):
    def level(k):
        return 1.0 if k > 9 + x else k + x / level(k + 1)

    return level(1)


@at(5.0)
def raises_and_catches_itself(x):
    if x < 0:
        return -x
    try:
        if x > 3:
            raise ValueError
        y = x * 2
    except ValueError:
        y = x * x
    return y + raises_and_catches_itself(x - 1.3)


@at(3.0)
def raises_at_the_bottom(x):
    if x < 1:
        raise ValueError("too small")
    return x * raises_at_the_bottom(x / 2)


@at(2.0)
def divides_by_zero_at_the_bottom(x):
    return 1 / (x - x) if x < 1 else x * divides_by_zero_at_the_bottom(x / 2)


class _Shrinker:
    def __init__(self, rate):
        self.rate = rate

    def run(self, x):
        return x if x < 1 else self.run(x * self.rate) + self.rate


@at(8.0, 0.4)
def method(x, rate):
    return _Shrinker(rate).run(x)


@at(5.0)
def in_a_comprehension(x):
    if x < 1:
        return x
    return sum(in_a_comprehension(x - k) * k for k in (1.5, 2.5)) + x


@at(5.0)
def lambda_that_calls_itself(x):
    f = lambda y: y * y if y < 1 else f(y / 2) + y  # noqa: E731
    return f(x)


@at(np.array([3.0, 5.0, 1.0]))
def norm_of_an_array(v):
    def go(u):
        return u if np.sum(u * u) < 1 else go(u * 0.5) + v

    return np.sum(go(v) * v)


@at(np.array([[0.5, 0.2], [0.1, 0.4]]), np.array([1.0, 2.0]))
def product_of_matrices(m, v):
    def go(u, k):
        if u[0] + u[1] < 0.1 or k > 20:
            return u
        return np.tanh(go(m @ u, k + 1)) + u

    return np.sum(go(v, 0))


@at(np.array([3.0, 1.0, 2.0, 5.0]))
def over_an_array_by_index(v):
    def total(i):
        return 0.0 if i == len(v) else v[i] * v[i] + 0.5 * total(i + 1)

    return total(0)


@at(4.0)
def flags_and_bools(x):
    def go(y, odd):
        if y < 1:
            return y if odd else -y
        return go(y - 1, not odd) * y

    return go(x, False)


@at(5.0)
def infinite_derivative_beside(x):
    def go(y, z):
        if y < 1:
            return z
        return go(y - 1, math.sqrt(abs(y - 3)) if y > 3.5 else z)

    return go(x, x * 0.5)


@at(2.5, 7)
def power_by_squaring(x, n):
    if n == 0:
        return 1.0
    if n % 2:
        return x * power_by_squaring(x, n - 1)
    half = power_by_squaring(x, n // 2)
    return half * half


@at(0.3)
def deep(x):
    def go(n):
        return x if n == 0 else go(n - 1) * 0.999 + x * 1e-3

    return go(300 + int(x))


@at(1.0)
def too_deep(x):
    return 0.0 if x > 1e6 else too_deep(x + 1) * 0.5


@at(1.7)
def view_of_what_a_deeper_call_changes(x):
    a = np.zeros(4)

    def go(i):
        if i > 3:
            a[0] = a[0] + x
            return 0.0
        row = a[0:2]
        return go(i + 1) + row[0]

    return go(x)


@at(1.7)
def shared_array(x):
    a = np.zeros(4)

    def go(i):
        if i > 3:
            return 0.0
        a[0] = a[0] + x
        inner = go(i + 1)
        return inner + a[0] * x

    return go(x)


@at(1.7)
def arrays_of_each_call(x):
    def go(i):
        if i > 3:
            return np.zeros(2)
        b = np.zeros(2)
        b[0] = i * x
        c = go(i + 1)
        b[1] = c[0] + 1
        c[1] = 5.0 * x
        return b + c

    u = go(x)
    u[0] = u[0] * 2
    return u[0] + u[1]


@at(1.7)
def arguments_are_swapped(x):
    def go(i, a, b):
        return a - b * x if i > 5 else go(i + 1, b * 1.1, a)

    return go(x, x, 2.0)


@at(1.7)
def list_changes_while_a_caller_goes_through_it(x):
    a = [0.0, 1.0]

    def go(i):
        if i > 3:
            a[1] = a[1] * x
            return 0.0
        total = 0.0
        for item in a:
            total += item + go(i + 1)
        return total

    return go(x)


@at(1.7)
def the_same_list_comes_back(x):
    v = [x, 1.0]

    def go(y, w):
        return w if y < 1 else go(y / 2, w)

    return x * 3 if go(x, v) is v else x


@at(1.7)
def another_list_comes_back(x):
    def go(y, w):
        return w if y < 1 else go(y / 2, [w[1], w[0] * y])

    v = [x, 1.0]
    u = go(x, v)
    u[0] = 7.0 * x
    return u[0] + v[0]


@at(3.7)
def list_that_grows(x):
    out = []

    def go(y):
        if y >= 1:
            out.append(y)
            go(y / 2)

    go(x)
    return sum(out)


@at(1.7)
def functions_of_functions(x):
    def go(y, f):
        return f(y) if y < 1 else go(y / 2, lambda z: f(z) * y)

    return go(x, lambda z: z * x)


@at(3.7)
def generator_of_generators(x):
    def go(y):
        yield y * y
        if y > 1:
            yield from go(y / 2)

    return sum(go(x))
