"""Functions that ``functools.cache`` and ``lru_cache`` decorate, outside and inside of others."""

import functools
import math
from functools import cache, lru_cache

from .case import at


@lru_cache(maxsize=None)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@at(1.3, 0.7)
def decorated_outside(x, y):
    return fibonacci(30) * x + fibonacci(17) * y


@at(1.3, 0.7)
def calls_itself_twice(x, y):
    @cache
    def value(n):
        return x if n == 0 else y if n == 1 else value(n - 1) * 0.5 + value(n - 2) * x

    return value(25)


@at(1.3, 0.7)
def paths_on_a_grid(x, y):
    @lru_cache(maxsize=None)
    def value(i, j):
        if i == 0 or j == 0:
            return x
        return value(i - 1, j) * 0.5 + value(i, j - 1) * y

    return value(8, 8)


@at(1.3, 0.7)
@at(0.4, 0.9)
def edit_distance(x, y):
    ours, theirs = "kitten", "sitting"

    @cache
    def distance(i, j):
        if i == 0:
            return j * x
        if j == 0:
            return i * y
        other = 0.0 if ours[i - 1] == theirs[j - 1] else 1.3
        return min(distance(i - 1, j) + x, distance(i, j - 1) + y, distance(i - 1, j - 1) + other)

    return distance(6, 7)


@at(1.3, 0.7)
def best_of_two(x, y):
    costs = [x, y, x * y, 0.3, 1.1, x + y, 2.0, 0.7]

    @cache
    def best(i):
        if i <= 0:
            return 0.0
        one = best(i - 1) + costs[i - 1]
        two = best(i - 2) + 1.5 * costs[i - 1] * costs[i - 2]
        if one < two:
            return one
        return two

    return best(8)


@at(1.3, 0.7)
def called_in_a_loop(x, y):
    @cache
    def value(i):
        if i == 0:
            return x
        total = sum(value(k) * 0.3 for k in range(i))
        for k in range(i):
            total = total + value(k) * y
        return total * 0.5

    return value(6)


@at(1.3)
def depth_of_an_argument(x, n=6):
    @cache
    def value(i):
        return x if i == 0 else value(i - 1) * x + i

    return value(n)


@at(1.3, 0.7)
def two_call_each_other(x, y):
    @cache
    def even(n):
        return x if n == 0 else odd(n - 1) * y

    @cache
    def odd(n):
        return 0.5 if n == 0 else even(n - 1) + 1.0

    return even(9)


@at(1.3, 0.7)
def tuples_kept(x, y):
    @cache
    def pair(n):
        return (x, y) if n == 0 else (pair(n - 1)[1], pair(n - 1)[0] * x)

    return pair(7)[0] * pair(3)[1]


@at(1.3, 0.7)
@at(-1.3, 0.7)
def of_computed_arguments(x, y):
    def slow(a, b=2.0, *, k=1.0):
        return a * b * k if a > 0 else a - b

    fast = lru_cache(maxsize=8)(slow)
    faster = functools.cache(fast)
    pairs = lru_cache(lambda p: p[0] * p[1])
    return fast(x, y) * faster(y) + fast(x, y, k=3.0) + fast(b=x, a=y) + pairs((x, y))


@at(1.3)
def argument_without_a_hash(x):
    @cache
    def first(items):
        return items[0]

    try:
        return first([x])
    except TypeError:
        return x * x


@at(1.3)
def counts_its_calls(x):
    n = 0

    @cache
    def counted(a):
        nonlocal n
        n += 1
        return a * 2

    counted(1.0)
    counted(1.0)
    return x * n


@at(1.3)
def appends_while_it_calls_itself(x):
    seen = []

    @cache
    def counted(a):
        seen.append(a)
        return a if a < 2 else counted(a - 1) + counted(a - 2)

    counted(6)
    return x * len(seen)


@at(1.3, 0.7)
def reads_what_changes(x, y):
    factor = x

    @cache
    def scaled(n):
        return factor * n

    before = scaled(2)
    factor = y
    return before + scaled(2)


@at(1.3)
def reads_what_changes_in_a_loop(x):
    factor, total = x, 0.0

    @cache
    def scaled(n):
        return factor * n

    for _ in range(5):
        factor = factor * x
        total = total + scaled(2)
    return total


@at(1.3)
def gives_one_list(x):
    @cache
    def items(n):
        return [x] * n

    items(1).append(x)
    return sum(items(1))


@at(1.3)
def number_of_results_is_no_integer(x):
    return lru_cache(maxsize=1.5)(lambda a: a)(x)


@at(1.3)
def equal_arguments_of_two_types(x):
    @cache
    def value(n, m):
        return x if isinstance(n, int) else m * 2.0 * x

    return value(1, 1) + 10.0 * value(1.0, 1) + 100.0 * value(2.0, True)


@at(1.3)
def zeros_of_two_signs(x):
    @cache
    def value(n):
        return x if math.copysign(1.0, n) > 0.0 else -x

    return value(0.0) * 3.0 + value(-0.0)


@at(1.3)
def calls_given_functions(x):
    @cache
    def value(f, n):
        return f(x) if n == 0 else value(f, n - 1) * 2.0

    return value(lambda a: a * a, 3) + value(lambda a: a + 1.0, 2) + value(lambda a: a, 2)
