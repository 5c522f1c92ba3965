"""``finally`` and ``with`` where the text returns, breaks or continues; imports inside; sets."""

import contextlib
from collections import namedtuple
from typing import NamedTuple

from .case import at


class Logged:
    """A context that writes down how it is left."""

    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append(1.0)
        return self

    def __exit__(self, *error):
        self.log.append(2.0 if error[0] is None else 3.0)


@at(1.5)
@at(-1.5)
def return_within_try(x):
    log = [0.0]

    def inner():
        try:
            if x > 0:
                return x * 2
            log[0] = log[0] + 1
        finally:
            log[0] = log[0] * 3 + x
        return x

    return inner() * 100 + log[0]


@at(1.5)
def value_is_taken_before(x):
    try:
        y = x
        return y * 2
    finally:
        y = 100.0


@at(1.5)
def a_list_is_changed_after(x):
    def inner():
        a = [x]
        try:
            return a
        finally:
            a[0] = x * x
            a.append(3.0)

    return sum(inner())


@at(1.5, 3)
def break_and_continue_within_try(x, n):
    t = 0.0
    count = 0.0
    for k in range(n + 4):
        try:
            if k == 1:
                continue
            if k > n:
                break
            t += x * k
        finally:
            count = count * 2 + k
    else:
        t = -t
    return t + count


@at(1.5)
@at(-2.5)
def finally_breaks(x):
    t = 0.0
    for k in range(5):
        try:
            if k * x > 2:
                return t
            t += x
        finally:
            if t < -6:
                break
    return t * 2


@at(1.5)
def finally_returns_after_the_end(x):
    n = 0.0
    try:
        n = n + 1
    finally:
        n = n * 10 + 1
        if x > 1:
            return n * x
    return n


@at(1.5)
@at(0.5)
def handler_returns(x):
    t = 0.0
    for k in range(3):
        try:
            if x * k > 1:
                raise ValueError
            t += k
        except ValueError:
            return t * 10
        else:
            t += 0.5
        finally:
            t = t * 2
    return t


@at(1.5)
def nested_finally(x):
    log = 0.0

    def inner():
        nonlocal log
        for k in range(3):
            try:
                try:
                    if k == 1:
                        return x * k
                finally:
                    log = log * 2 + 1
            finally:
                log = log * 3 + k
        return 0.0

    return inner() + log


@at(1.5)
@at(0.0)
def division_within_finally(x):
    try:
        return 1 / x
    finally:
        x = 5.0


@at(1.5)
@at(-1.5)
def return_within_with(x):
    log = []

    def inner():
        with Logged(log) as one, Logged(one.log):
            if x > 0:
                return x * len(log)
            log[0] = x
        return x

    y = inner()
    return y + sum([v * i for i, v in enumerate(log)])


@at(1.5)
def with_in_a_loop_left(x):
    log = [0.0, 0.0]

    class_of_log = log
    t = 0.0
    for k in range(4):
        with contextlib.nullcontext(k) as v:
            if v == 2:
                break
            t += x * v
    return t + class_of_log[0]


@at(1.5)
def finally_within_a_generator_loop(x):
    t = 0.0
    for v in (x * k for k in range(4)):
        try:
            if v > 4:
                break
            t += v
        finally:
            t *= 2
    return t


@at(1.5)
def import_binds_the_package(x):
    import collections.abc
    import os.path as p

    return x * len(p.sep) + isinstance([], collections.abc.Sized)


@at(1.5)
def import_in_a_nested_function(x):
    def inner(v):
        from math import cos

        return cos(v)

    return inner(x) * x


@at(1.5)
def import_of_what_is_not_there(x):
    from math import no_such_number

    return x * no_such_number


@at(1.5)
def import_of_no_module(x):
    try:
        import no_such_module_anywhere as m
    except ImportError:
        return x * 2
    return m.x


@at(1.5, 2)
@at(1.5, 7)
def membership_in_a_set(x, n):
    known = {1, 2, 3, 3.0, True}
    t = x if n in known else -x
    return t * len(known) + (x in {1.5, 2.5}) + ("a" not in {"a", "b"})


@at(1.5)
def set_built_and_asked(x):
    s = {k * k % 5 for k in range(8)}
    t = 0.0
    for k in range(6):
        if k in s:
            t += x * k
    return t + len(s) + len(set([1, 1, 2])) + bool(set())


@at(1.5)
def set_is_gone_through(x):
    t = 0.0
    for k in {3, 1, 2}:
        t = t * 0.5 + x * k
    return t


@at(1.5)
def set_of_computed_numbers(x):
    return x * len({x, 2 * x, x})


@at(1.5)
def operators_of_sets(x):
    return x * len({1, 2} | {2, 3}) + x * len({1, 2} & {2})


class Pair(NamedTuple):
    """A pair with a method."""

    first: float
    second: float

    def total(self):
        return self.first + self.second

    @property
    def product(self):
        return self.first * self.second

    def scaled(self, by):
        return self._replace(second=by * self.second)


Nested = namedtuple("Nested", "pair scale")


@at(Pair(1.5, 2.0), 3.0)
def fields_of_an_argument(p, x):
    a, b = p
    return p.first * a * x + p[1] * b + len(p)


@at(Nested(Pair(1.5, 2.0), [3.0, 0.5]))
def nested_named_tuples(n):
    t = 0.0
    for k in range(3):
        t = t * n.scale[1] + n.pair.first * n.pair.second * k
    return t * n.scale[0]


@at(Pair(1.5, 2.0))
def replaced_field(p):
    q = p._replace(first=p.second * 3)
    return q.first * p.first


@at(Pair(1.5, 2.0))
def method_of_an_argument(p):
    return p.total() * p.first


@at(Pair(1.5, 2.0))
@at(Pair(-1.5, 2.0))
def methods_of_named_tuples(p):
    q = p.scaled(3.0) if p.first > 0 else Pair(p.second, 1.0)
    for _ in range(3):
        q = q.scaled(q.first)
    return q.total() * p.product + p.scaled(2.0).total()


@at(Pair(1.5, 2.0))
def named_tuple_is_a_tuple(p):
    return sum(p) * p.first + isinstance(p, tuple) + (p == (1.5, 2.0)) + max(p)


@at(0.5)
@at(-0.5)
def result_of_another_kind(x):
    if x < 0:
        return 0
    return x * x


@at(1.5, 3)
@at(1.5, 0)
def sum_of_perhaps_nothing(x, n):
    return sum(x * k for k in range(n))
