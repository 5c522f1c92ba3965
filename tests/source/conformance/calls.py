"""Calls: how arguments meet parameters."""

import functools
import operator

from .case import add, at


def _add(x, y):
    return x + 2 * y


def _default(x, scale=3.0, *, shift=0.5):
    return x * scale + shift


def _starred(*xs):
    total = 0.0
    for k, x in enumerate(xs):
        total += x * (k + 1)
    return total


def _keywords(**given):
    return given["a"] * 2 + given.get("b", 7.0) + len(given)


def _positional_only(x, /, y, *, z):
    return x * y - z


def _unused(x, y):
    return x


@at(1.5)
def positional(x):
    return _add(x, x * x)


@at(1.5)
def by_keyword(x):
    return _add(y=x, x=2.0) + _add(x, y=3.0)


@at(1.5)
def with_defaults(x):
    return _default(x) + _default(x, 2.0) + _default(x, shift=x)


@at(1.5)
def starred_parameters(x):
    return _starred() + _starred(x) + _starred(x, x * x, 2.0)


@at(1.5)
def starred_arguments(x):
    pair = (x, x * x)
    return _add(*pair) + _starred(*pair, 3.0, *[x])


@at(1.5)
def keyword_parameters(x):
    return _keywords(a=x) + _keywords(a=x, b=x * x)


@at(1.5)
def keyword_arguments(x):
    options = {"y": x * x}
    return _add(x, **options) + _keywords(**{"a": x}, b=2.0)


@at(1.5)
def positional_only(x):
    return _positional_only(x, 2.0, z=x * x) + _positional_only(x, y=x, z=1.0)


@at(1.5)
def too_few(x):
    return _add(x)


@at(1.5)
def too_many(x):
    return _add(x, x, x)


@at(1.5)
def unknown_keyword(x):
    return _add(x, z=x)


@at(1.5)
def keyword_twice(x):
    return _add(x, x=x)


@at(1.5)
def argument_is_not_callable(x):
    return x(2.0)


@at(1.5)
def unused_argument(x):
    return _unused(x, x * x)


@at(1.5)
def unused_argument_that_fails(x):
    return _unused(x, 1 / (x - x))


@at(1.5, 2.0)
def of_itself_starred(x, *rest):
    return x * sum(rest)


@at(1.5, a=2.0)
def of_itself_with_keywords(x, **options):
    return x * options["a"] + len(options)


@at(1.5, shift=2.0)
@at(1.5)
def of_itself_keyword_only(x, *, shift=3.0):
    return x * shift


@at(1.5)
@at(1.5, 4.0)
def of_itself_with_default(x, y=2.5):
    return x * y


def _mutable(x, seen=[1.0, 2.0]):
    return x * seen[0] + seen[1]


add(_mutable, 1.5, name="default_is_a_list")
add(functools.partial(_add, 2.0), 1.5, name="partial")
add(functools.partial(_default, shift=4.0), 1.5, name="partial_with_keyword")
add(functools.partial(functools.partial(_positional_only, 2.0), z=3.0), 1.5, name="partial_twice")


def _logged(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs) * 2

    return wrapper


@at(1.5)
@_logged
def decorated(x):
    return x * x


@_logged
def _decorated_helper(x):
    return x + 1


@at(1.5)
def calls_a_decorated_function(x):
    return _decorated_helper(x) * x


@at(1.5)
def partial_inside(x):
    f = functools.partial(_add, x)
    return f(2.0) + f(y=x)


@at(1.5)
def reduce(x):
    return functools.reduce(lambda a, b: a * b + x, [x, 2.0, x * x])


@at(1.5)
def functions_of_operator(x):
    return operator.add(operator.mul(x, 3.0), operator.neg(x)) - operator.itemgetter(1)((2.0, x))


@at(1.5)
def with_map(x):
    return sum(map(lambda v: v * v, (x, 2.0, x + 1)))


@at(1.5)
def with_filter(x):
    return sum(filter(lambda v: v > 1.6, [x, x * x, 2.0]))


@at(1.5)
def chain_of_calls(x):
    return _add(_add(_add(x, 1.0), x), _default(_add(x, x)))


@at(1.5, 3)
def call_in_a_loop(x, n):
    for k in range(n):
        x = _add(x, k) * 0.5
    return x


@at(1.5)
@at(-1.5)
def several_returns_in_a_callee(x):
    def pick(y):
        if y > 2:
            return y * y
        if y > 0:
            return y
        return 1.0

    return pick(x) + pick(2 * x) * pick(-x)


@at(1.5, 4)
def callee_with_a_loop(x, n):
    def power(y, k):
        result = 1.0
        for _ in range(k):
            result *= y
        return result

    return power(x, n) + power(2.0, n) * power(x + 1, 2)


@at(1.5)
def returns_nothing(x):
    def nothing(y):
        y * 2

    return x if nothing(x) is None else -x


@at(1.5)
def result_is_unpacked(x):
    def pair(y):
        return y, y * y

    a, b = pair(x)
    return a * b + pair(2.0)[1]


@at(1.5)
def isinstance_of_arguments(x):
    if isinstance(x, float) and not isinstance(x, int | str):
        return x * 2
    return x * 3


@at(1.5)
def callable_and_type(x):
    return x * callable(_add) + (type(2) is int) + len("abc")
