"""Generator expressions, and what else runs late: effects come in Python's order."""

import functools
import operator
from collections import namedtuple

from .case import at

Pair = namedtuple("Pair", ["first"])


@at(1.5)
def body_changes_what_a_generator_expression_reads(x):
    a = [x, x, x]
    s = 0.0
    for v in (v * 2 for v in a):
        a[2] = 5.0
        s = s * 0.5 + v
    return s


@at(1.5)
def enumerated_generator_expression_sees_a_change(x):
    a = [x, x, x]
    s = 0.0
    for i, v in enumerate((v * 2 for v in a), 1):
        a[2] = 5.0
        s = s + i * v
    return s


@at([0.5, -1.0, 2.0])
def return_within_nested_loops(xs):
    for v in (a * b for a in xs for b in xs):
        for k in range(3):
            if v * k > 1.5:
                return v * k
    return xs[0]


@at(1.5)
def expression_given_to_a_function(x):
    def total(values):
        s = 0.0
        for v in values:
            s = s * 0.5 + v
        return s

    k = 2.0
    return total(v * k for v in (x, 3.0, x * x)) + total([x])


@at(1.5)
def expression_given_to_a_function_that_returns_early(x):
    def first_above(values, bound):
        for v in values:
            if v > bound:
                return v
        return bound

    ks = [1.0, 2.0, 3.0]
    return first_above((k * x for k in ks), 2.0) * first_above((x for _ in ks), 9.0)


@at(1.5)
def expression_stored_is_late(x):
    k = 2.0
    a = [x, 1.0]
    g = (v * k for v in a)
    k = 5.0
    a = [0.0]
    return sum(g) + sum(g) + len(a)


@at(1.5)
def any_stops_early(x):
    log = []

    def asked(k):
        log.append(k * x)
        return k * x > 2

    found = any(asked(k) for k in (1.0, 2.0, 3.0))
    return sum(log) * len(log) + found


@at(1.5)
def all_stops_early(x):
    log = []

    def asked(k):
        log.append(k * x)
        return k * x < 2

    found = all(asked(k) for k in (1.0, 2.0, 3.0))
    return sum(log) * len(log) + found


@at(1.5)
def any_of_a_list_does_not_stop(x):
    log = []

    def asked(k):
        log.append(k * x)
        return k * x > 2

    found = any([asked(k) for k in (1.0, 2.0, 3.0)])
    return sum(log) * len(log) + found


@at(1.5)
def in_stops_early(x):
    log = []

    def asked(k):
        log.append(k * x)
        return k

    found = 2 in (asked(k) for k in (1, 2, 3))
    return sum(log) * len(log) + found


@at([0.5, -1.0, 2.0])
@at([0.5, 1.0, 2.0])
def next_of_an_expression(xs):
    return next((v * v for v in xs if v < 0), xs[0]) * xs[2]


@at([0.5, 1.0])
def next_without_a_default(xs):
    return next(v * v for v in xs if v < 0)


@at(1.5)
def zip_of_maps_calls_in_turn(x):
    log = []

    def one(v):
        log.append(v)
        return v * x

    t = 0.0
    for a, b in zip(map(one, [1.0, 2.0, 3.0]), [5.0, 6.0]):
        log.append(a)
        t += a * b
    return t + sum([v * i for i, v in enumerate(log)])


@at(1.5)
def map_and_filter_are_lazy(x):
    log = []

    def keep(v):
        log.append(v)
        return v > 1.6

    t = 0.0
    for v in map(lambda u: u * x, filter(keep, [x, x * x, 2.0])):
        log.append(-v)
        t += v
    return t + sum([v * i for i, v in enumerate(log)])


@at(1.5)
def extend_by_what_looks_at_the_list(x):
    a = [x]
    a.extend(len(a) * x for _ in range(3))
    a += (len(a) for _ in range(2))
    return sum([v * (i + 1) for i, v in enumerate(a)])


@at(1.5)
def built_of_generators(x):
    d = dict((k, x * k) for k in range(3))
    t = tuple(v for v in (x, 2.0))
    m = max(v * v for v in (-x, 1.0)) + min((v for v in (x, -x)), key=abs)
    return d[2] * t[0] + m + sorted(-v for v in (x, 2 * x))[0]


@at(1.5)
def reduced(x):
    return functools.reduce(lambda a, b: a * b, (v + 1 for v in (x, 2.0, x)), 1.0)


@at(1.5)
def closure_of_the_loop_variable(x):
    fs = [f for f in (lambda v, k=k: v * k for k in (1.0, 2.0))]
    gs = [g for g in ((lambda v: v * k) for k in (1.0, 2.0))]
    return fs[0](x) + fs[1](x) * 3 + gs[0](x) * 5 + gs[1](x) * 7


@at(1.5)
def shadowed_names(x):
    k = 10.0
    t = 0.0
    for v in (k * x for k in (1.0, 2.0)):
        t += v * k
    return t + k


@at(1.5)
def body_rebinds_what_the_expression_reads(x):
    s = 1.0
    t = 0.0
    for v in (k * s * x for k in (1.0, 2.0, 3.0)):
        s = s + v
        t += v
    return t + s


@at(1.5)
def enumerate_from_a_float(x):
    return sum(i * v for i, v in enumerate([x, x], 1.5))


@at(1.5)
def a_generator_is_true(x):
    g = (v for v in ())
    return x if g else -x


@at(1.5)
def any_stops_and_counts(x):
    n = 0.0

    def asked(k):
        nonlocal n
        n = n * 2 + k
        return k * x > 2

    found = any(asked(k) for k in (1.0, 2.0, 3.0))
    none = all(asked(k) for k in (2.0, 1.0, 3.0))
    return n * x + found + none


@at(1.5)
def reduced_without_a_first_value(x):
    return functools.reduce(lambda a, b: a * b, (v + 1 for v in (x, 2.0, x)))


@at(1.5, 4)
@at(1.5, 1)
@at(1.5, 0)
def reduced_without_a_first_value_by_a_computed_number(x, n):
    xs = []
    for i in range(n):
        if x * i != 3.0:
            xs.append(x * i * i)
    return functools.reduce(operator.sub, xs) + functools.reduce(max, map(abs, xs))


@at(1.5, 3)
def made_outside_of_a_loop_that_stays_one(x, n):
    g = (v * x for v in (x, 2.0))
    t = 1.0
    for _ in range(n):
        t = t * x + sum(g)
    return t


@at(1.5)
@at(0.5)
def consumed_on_a_branch(x):
    g = (v * x for v in (x, 2.0))
    t = 0.0
    if x > 1:
        t = sum(g)
    return t + x


@at(1.5)
def returned_expression(x):
    def some(k):
        return (v * k for v in (x, 2.0))

    return sum(some(3.0))


@at(1.5)
def returned_with_names_of_its_function(x):
    def inner():
        x = 1.0
        return (x * k for k in (1.0, 2.0))

    return sum(inner())


@at(1.5)
def returned_by_a_lambda(x):
    f = lambda x: (x * k for k in (1.0, 2.0))  # noqa: E731
    return sum(f(3.0)) + x


@at(1.5)
def two_names_at_once(x):
    a = b = (x * k for k in (1.0, 2.0))
    return sum(a) + sum(b)


@at(1.5)
def walrus_of_an_expression(x):
    return sum(g := (x * k for k in (1.0, 2.0))) + sum(g)


@at(1.5)
def default_is_one_generator(x):
    def total(g=(x * k for k in (1.0, 2.0))):  # noqa: B008
        return sum(g)

    return total() + total()


@at(1.5)
def partial_has_one_generator(x):
    total = functools.partial(sum, (x * k for k in (1.0, 2.0)))
    return total() + total()


@at(1.5)
def yielded_with_names_of_its_function(x):
    def rows():
        x = 2.0
        for _ in range(2):
            yield (x * k for k in (1.0, 2.0))
            x = x * 3.0

    t = 0.0
    for row in rows():
        t = t * x + sum(row)
    return t


@at(1.5)
def yielded_and_late(x):
    def rows():
        y = x
        for _ in range(2):
            yield (y * k for k in (1.0, 2.0))
            y = y * 3.0

    t = 0.0
    before = None
    for row in rows():
        if before is not None:
            t = t + sum(before)
        before = row
    return t


@at(1.5)
def expression_of_expressions(x):
    k = 5.0
    return sum(sum(v * k for k in (1.0, x)) * k for v in (x, 2.0))


@at(1.5)
def expressions_in_an_expression_given_on(x):
    def total(rows, k):
        t = 0.0
        for row in rows:
            for v in row:
                t = t * 0.5 + v * k
        return t

    k = 2.0
    return total(((v * w * k for w in (1.0, 2.0)) for v in (x, 3.0)), 10.0)


@at([1.5, 2.0])
def returned_iterators(xs):
    def numbered(values):
        return enumerate(values, 1)

    def both(one, other):
        return zip(map(lambda v: v * 2, one), other)

    return sum(i * v for i, v in numbered(xs)) + sum(a * b for a, b in both(xs, xs))


@at(0.5)
def given_among_starred_arguments(x):
    def total(*values):
        x = 100.0
        return sum(v * x for v in values[0])

    return total(x * i for i in range(1, 3))


@at(0.5)
def given_among_starred_keywords(x):
    def total(**values):
        x = 100.0
        return sum(v * x for v in values["all"])

    return total(all=(x * i for i in range(1, 3)))


@at(0.5)
def held_by_a_named_tuple(x):
    def total(pair):
        x = 100.0
        return sum(v * x for v in pair.first)

    return total(Pair(x * i for i in range(1, 3)))


@at(1.5)
def iterators_with_names(x):
    scale, xs = 2.0, [x, 1.0]
    squares, pairs, numbered = map(lambda v: v * v * scale, xs), zip(xs, [3.0, x]), enumerate(xs, 1)
    high, late = filter(lambda v: v > 1.2, xs), (a * b for a, b in zip(xs, xs))
    scale = 3.0
    xs.append(x * x)
    xs[1] = 2.0 * x
    total = sum(squares) + sum(a * b for a, b in pairs) + sum(i * v for i, v in numbered)
    return total + sum(high) + sum(late) + sum(squares) * 100


@at([1.5, -0.5, 2.5])
def iterators_given_to_functions(xs):
    def total(pairs):
        result = 0.0
        for a, b in pairs:
            result = result * 0.5 + a * b
        return result

    strict = zip(xs, xs, strict=True)
    return (
        total(zip(xs, map(lambda v: v * v, xs)))
        + total(enumerate(reversed(tuple(xs))))
        + total(strict)
    )
