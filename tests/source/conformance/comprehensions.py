"""Comprehensions, generator expressions and generators that are consumed on the spot."""

from .case import at


@at(1.5)
def list_comprehension(x):
    a = [x * k for k in (1.0, 2.0, 3.0)]
    return a[0] * a[1] + a[2]


@at([1.5, 2.5])
def over_an_argument(xs):
    return sum([x * x for x in xs])


@at(1.5, 4)
def over_a_range(x, n):
    return sum([x**k for k in range(n)])


@at([1.5, -2.5, 0.5])
def with_a_condition(xs):
    return sum([x * x for x in xs if x > 0])


@at(1.5)
def with_a_constant_condition(x):
    return sum([x * k for k in range(6) if k % 2 == 0])


@at(1.5)
def two_loops(x):
    return sum([x * i - j for i in range(3) for j in range(i)])


@at(1.5)
def nested(x):
    rows = [[x * i + j for j in range(2)] for i in range(3)]
    return rows[2][1] * rows[1][0] + len(rows)


@at(1.5)
def conditional_expression_inside(x):
    return sum([x if k > 1 else -x * k for k in range(4)])


@at(1.5)
def dict_comprehension(x):
    d = {k: x * k for k in (1, 2, 3)}
    return d[1] * d[3]


@at(1.5)
def set_comprehension(x):
    return x * len({k % 3 for k in range(10)})


@at(1.5)
def walrus_in_a_comprehension(x):
    a = [y := x * k for k in (1.0, 2.0)]
    return a[0] * y


@at(1.5)
def walrus_in_a_condition(x):
    a = [y * y for k in (0.5, 1.0, 2.0) if (y := x * k) > 1]
    return sum(a) * y


@at(1.5)
def unpacking_targets(x):
    return sum([a * b for a, b in [(x, 2.0), (3.0, x)]])


@at(1.5)
def generator_expression(x):
    return sum(x * k for k in (1.0, 2.0, 3.0))


@at(1.5)
def generator_expression_with_any(x):
    return x * 2 if any(x > k for k in (1, 2)) else x


@at(1.5)
def generator_in_a_tuple(x):
    a, b = (x * k for k in (2.0, 3.0))
    return a * b + len(tuple(v for v in (x, x)))


@at(1.5)
def generator_function(x):
    def powers(n):
        y = 1.0
        for _ in range(n):
            yield y
            y = y * x

    return sum(powers(4))


@at(1.5)
def generator_in_a_loop(x):
    def halves(y):
        while y > 0.2:
            yield y
            y = y / 2

    total = 0.0
    for y in halves(x):
        total = total * 0.5 + y * y
    return total


@at(1.5)
def generator_left_early(x):
    def naturals():
        k = 0
        while True:
            yield k
            k += 1

    total = 0.0
    for k in naturals():
        total += x * k
        if total > 5:
            break
    return total


@at(1.5)
def yield_from(x):
    def inner():
        yield x
        yield x * x

    def outer():
        yield 1.0
        yield from inner()

    a, b, c = outer()
    return a + b * c


@at(1.5)
def next_of_an_iterator(x):
    it = iter([x, x * x, 3.0])
    a = next(it)
    b = next(it)
    return a * b + next(it) + next(it, 7.0)


@at(1.5)
def enumerate_in_a_comprehension(x):
    return sum([i * v for i, v in enumerate([x, x * x, 2.0])])


@at([1.5, 2.5], [0.5, 1.5])
def zip_in_a_comprehension(a, b):
    return sum(x * y for x, y in zip(a, b)) / len(a)


@at(1.5)
def sorted_comprehension(x):
    a = sorted([x, 1.0, x * x, 0.2])
    return a[0] + 2 * a[1] + 3 * a[2] + 4 * a[3]
