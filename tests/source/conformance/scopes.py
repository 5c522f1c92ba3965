"""Local, enclosing, global and built-in names."""

import math

from .case import add, at

SCALE = 2.5
TABLE = {"a": 1.5, "b": (2.0, 3.0)}
COUNT = 3


def _helper(x):
    return x * SCALE


@at(1.5)
def global_number(x):
    return x * SCALE * COUNT


@at(1.5)
def global_function(x):
    return _helper(x) + _helper(2.0)


@at(1.5)
def global_container(x):
    return x * TABLE["a"] + TABLE["b"][1]


@at(1.5)
def global_declared(x):
    global SCALE
    return x * SCALE


@at(1.5)
def global_shadowed_by_a_local(x):
    SCALE = 10.0
    return x * SCALE + _helper(x)


@at(1.5)
def parameter_shadows_a_global(SCALE):
    return SCALE * 2


@at(1.5)
def builtin_shadowed_by_a_local(x):
    max = x * 3
    return max + 1


@at(1.5)
def builtin_shadowed_by_a_function(x):
    def abs(y):
        return y * 100

    return abs(-x)


@at(1.5)
def name_is_missing(x):
    return x * missing_name  # noqa: F821


@at(1.5)
def attribute_of_a_module(x):
    return x * math.pi + math.e


@at(1.5)
def attribute_is_missing(x):
    return x * math.no_such_number


@at(1.5)
def import_inside(x):
    import math as m

    return m.sqrt(x)


@at(1.5)
def import_from_inside(x):
    from math import tau, sqrt as root

    return root(x) * tau


@at(1.5)
def inner_function_shadows(x):
    y = 2.0

    def inner(y):
        y = y * y
        return y

    return inner(x) * y


@at(1.5)
def comprehension_has_a_scope(x):
    k = 5.0
    total = sum([k * x for k in (1.0, 2.0)])
    return total * k


@at(1.5)
def lambda_has_a_scope(x):
    y = 3.0
    f = lambda y: y * x
    return f(2.0) + y


def _made(scale):
    def f(x):
        return x * scale

    return f


add(_made(2.0), 1.5, name="closure_over_a_number")
add(_made(3), 1.5, name="closure_over_an_integer")
add(_made("no number"), 1.5, name="closure_over_a_string")


def _deeper(a):
    def outer(b):
        def inner(x):
            return x * a + b

        return inner

    return outer


add(_deeper(2.0)(3.0), 1.5, name="closure_of_two_levels")


def _over_a_function(g):
    return lambda x: g(x) * g(2 * x)


add(_over_a_function(_helper), 1.5, name="closure_over_a_function")


@at(1.5)
def names_of_the_dunder_kind(x):
    return x * 2 if __name__ else x


@at(1.5)
def class_in_a_function(x):
    class Point:
        scale = 2.0

    return x * Point.scale
