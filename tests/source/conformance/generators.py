"""Functions with yield: their effects come in Python's order, and as late."""

from .case import at


@at(1.5)
def effects_interleave(x):
    log = []

    def numbers():
        for k in (1.0, 2.0, 3.0):
            log.append(k * x)
            yield k

    for k in numbers():
        log.append(-k)
    return sum([v * (i + 1) for i, v in enumerate(log)])


@at(1.5)
def effects_of_two_generators_nested(x):
    log = []

    def inner(tag):
        for k in range(2):
            log.append(tag + k)
            yield x * k + tag

    total = 0.0
    for a in inner(10):
        for b in inner(a):
            log.append(b)
            total = total * 0.5 + a * b
    return total + sum([v * i for i, v in enumerate(log)])


@at(1.5)
@at(0.1)
def left_by_break_with_else(x):
    def grows(y):
        while y < 10:
            yield y
            y = y * 2

    for v in grows(x):
        if v > 4 * x:
            found = v
            break
    else:
        found = -x
    return found * x


@at(1.5)
def else_is_run(x):
    def some():
        yield x
        yield x * x

    t = 0.0
    for v in some():
        if v > 100:
            break
        t += v
    else:
        t *= 2
    return t


@at([0.5, -1.0, 2.0, 3.0])
def continue_in_the_body(xs):
    def positive():
        for v in xs:
            if v > 0:
                yield v

    t = 0.0
    for v in positive():
        if v > 2.5:
            continue
        t = t * 0.5 + v * v
    return t


@at([0.5, -1.0, 2.0, 3.0])
def return_from_within_the_body(xs):
    def running():
        s = 0.0
        for v in xs:
            s = s + v
            yield s, v

    for s, v in running():
        if s > 1:
            return s * v
    return 0.0 * xs[0]


@at(1.5)
def raise_within_the_body_is_caught(x):
    def numbers():
        for k in range(5):
            yield x * k

    t = 0.0
    try:
        for v in numbers():
            t += v
            if v > 3:
                raise ValueError
    except ValueError:
        t *= 2
    return t


@at(1.5)
def value_of_yield_from(x):
    def inner():
        yield x
        yield x * x
        return x * 3

    def outer():
        r = yield from inner()
        yield r * 2

    total = 0.0
    for v in outer():
        total = total * 0.5 + v
    return total


@at([1.5, 2.5])
def yield_from_a_list(xs):
    def both():
        yield from xs
        yield from (v * v for v in xs)
        yield from range(2)

    return sum(both())


@at(1.5, 3)
def recursion_by_yield_from(x, n):
    def countdown(k):
        if k > 0:
            yield x * k
            yield from countdown(k - 1)

    return sum(v * v for v in countdown(n))


@at(1.5)
def stored_and_consumed_once(x):
    def some():
        yield x
        yield x * x

    g = some()
    t = sum(g)
    return t + sum(g)


@at(1.5)
def consumed_in_two_places(x):
    def some():
        yield x
        yield x * x
        yield 3.0

    g = some()
    t = 0.0
    for v in g:
        t += v
        break
    return t + sum(g)


@at(1.5)
def stored_and_late(x):
    scale = 1.0

    def some():
        yield x * scale
        yield x * x * scale

    g = some()
    scale = 3.0
    return sum(g)


@at(1.5)
def zip_with_a_shorter_list(x):
    log = []

    def numbers():
        k = 0
        while True:
            log.append(k)
            yield k * x
            k += 1

    t = 0.0
    for a, b in zip(numbers(), [1.0, 2.0]):
        t += a * b
    for a, b in zip([1.0, 2.0], numbers()):
        t += a * b
    return t * len(log)


@at(1.5)
def starred_and_unpacked(x):
    def some(n):
        for k in range(n):
            yield x * k

    first, *rest = some(4)
    return first + sum([*rest, *some(2)]) + max(*some(3)) + len((*some(2),))


@at(1.5, 4)
@at(2.5, 0)
def in_a_loop_that_stays_a_loop(x, n):
    def terms(y):
        t = 1.0
        for k in range(n):
            yield t
            t = t * y * 0.5

    total = 0.0
    for i in range(3):
        for v in terms(x + i):
            if v > 50:
                break
            total += v
    return total


@at(1.5)
def nonlocal_in_a_generator(x):
    n = 0.0

    def some():
        nonlocal n
        for k in range(3):
            n = n + x
            yield k * n

    total = 0.0
    for v in some():
        total += v * n
        n *= 2
    return total + n


@at(1.5)
def value_of_yield_is_none(x):
    def some():
        got = yield x
        if got is None:
            yield x * 2
        else:
            yield 100.0

    return sum(some())


@at(1.5)
def passed_on_by_a_function(x):
    def some():
        yield x
        yield x * x

    def give():
        return some()

    a, b = give()
    return a * b


@at(1.5)
def finally_of_a_generator_that_is_left(x):
    log = []

    def some():
        try:
            yield x
            yield x * x
        finally:
            log.append(x)

    for v in some():
        break
    return v * len(log)


@at(1.5)
def started_twice(x):
    def some():
        yield x
        yield x * x

    total = 0.0
    for a, b in zip(some(), some()):
        total += a * b
    return total


@at(1.5)
def generator_of_arrays_by_rows(x):
    def pairs(values):
        previous = None
        for v in values:
            if previous is not None:
                yield previous, v
            previous = v

    return sum(a * b for a, b in pairs([x, 2.0, x * x]))


@at(1.5)
def key_is_called_in_turn(x):
    n = 0.0

    def some():
        nonlocal n
        for k in (1.0, 2.0, 3.0):
            n = n * 2 + k
            yield k * x

    def key(v):
        nonlocal n
        n = n * 3 + v
        return -v

    return max(some(), key=key) + n


@at(1.5)
def made_outside_of_a_loop(x):
    def some():
        yield x
        yield x * x

    g = some()
    t = 1.0
    for _ in range(3):
        for v in g:
            t = t * 0.5 + v
        t = t * x
    return t


@at(1.5)
@at(0.5)
def one_of_two_generators(x):
    def one():
        yield x
        yield 2.0

    def other():
        yield x * x

    g = one() if x > 1 else other()
    t = 0.0
    for v in g:
        t = t * 3 + v
    return t


@at(1.5)
def goes_through_itself(x):
    def some():
        yield x
        yield sum(g)

    g = some()
    return sum(g)


@at(1.5)
def raises_in_the_generator(x):
    def some():
        yield x
        if x > 1:
            raise ValueError("too large")

    try:
        t = sum(some())
    except ValueError:
        t = -x
    return t * x


@at(1.5)
def handler_outside_of_two_generators(x):
    def inner():
        for k in range(4):
            yield k * x

    def outer():
        for v in inner():
            yield v * 2
        yield 100.0

    t = 0.0
    for i in range(2):
        try:
            for v in outer():
                t = t + v
                for u in (v * w for w in (1.0, 2.0)):
                    t = t + u
                    if u > 7:
                        raise KeyError
        except KeyError:
            t = t * 0.5
    return t


@at([1.5, -2.0, 0.5])
def break_of_nested_generators(xs):
    def rows():
        for v in xs:
            yield (v * k for k in (1.0, 2.0, 3.0))

    t = 0.0
    for row in rows():
        for v in row:
            if v < -3:
                break
            t = t * 0.5 + v
        else:
            t += 1
        if t > 100:
            return -t
    return t


@at([1.5, -2.0, 0.5])
def generator_of_a_generator_argument(xs):
    def doubled(values):
        for v in values:
            yield 2 * v

    def above(values, low):
        for v in values:
            if v > low:
                yield v

    return sum(above(doubled(doubled(v * v for v in xs)), 1.5))


@at(1.5)
def arguments_are_bound_at_the_call(x):
    def some(v, k=[0]):
        k = [*k, v]
        yield sum(k)
        yield len(k) * x

    y = x
    g = some(y)
    y = 100.0
    return sum(g)


@at(1.5)
def too_many_arguments(x):
    def some(v):
        yield v

    g = some(x, x)
    return x


@at(1.5)
def a_comprehension_of_a_generator(x):
    def some():
        yield x
        yield 2.0

    a = [v * w for v in some() for w in some()]
    d = {k: v for k, v in enumerate(some())}
    return a[0] + 2 * a[1] + 3 * a[3] + d[0] * d[1]


@at(1.5)
def never_consumed(x):
    n = 0.0

    def some():
        nonlocal n
        n = 100.0
        yield x

    some()
    g = (1 / 0 for _ in (1,))
    return x + n
