"""What is left of statements: with, match, strings, print, del, docstrings, returns."""

import contextlib
import math

from .case import at


@contextlib.contextmanager
def _context():
    yield 2.0


class _Counter:
    def __init__(self):
        self.entered = 0

    def __enter__(self):
        self.entered += 1
        return self

    def __exit__(self, *of):
        self.entered += 10
        return False


@at(1.5)
def with_a_context(x):
    with _context() as scale:
        y = x * scale
    return y + 1


@at(1.5)
def with_nullcontext(x):
    with contextlib.nullcontext(3.0) as k:
        return x * k


@at(1.5)
def with_an_object(x):
    with _Counter() as counter:
        y = x * counter.entered
    return y + counter.entered


@at(0.0)
@at(1.5)
def with_suppress(x):
    y = 5.0
    with contextlib.suppress(ZeroDivisionError):
        y = 1 / x
    return y + x


@at(1.5, 0)
@at(1.5, 1)
@at(1.5, 7)
def match_constants(x, n):
    match n:
        case 0:
            return x
        case 1 | 2:
            return x * x
        case _:
            return -x


@at(1.5, "add")
@at(1.5, "multiply")
def match_strings(x, operation):
    match operation:
        case "add":
            y = x + 3
        case "multiply":
            y = x * 3
    return y


@at((1.5, 2.5))
@at((1.5, 2.5, 3.5))
@at((1.5,))
def match_sequences(values):
    match values:
        case (a, b):
            return a * b
        case (a, *rest):
            return a + sum(rest)


@at(1.5)
@at(-1.5)
def match_with_a_guard(x):
    match x:
        case y if y > 0:
            return y * y
        case y:
            return -y


@at({"kind": 1.0, "value": 2.5})
def match_mapping(parameters):
    match parameters:
        case {"value": v, "kind": k}:
            return v * k
    return 0.0


@at(1.5)
def match_nothing(x):
    match x:
        case 7.0:
            x = 0.0
    return x * x


@at(1.5)
def match_classes(x):
    match x:
        case int():
            return x
        case float():
            return x * 3
    return 0.0


@at(1.5)
def match_captures(x):
    match (x, 2.0):
        case (a, 3.0):
            return a
        case (a, 2.0 as b):
            return a * b
    return 0.0


@at(1.5)
def docstring(x):
    """It has one."""
    "And a string that is an expression."
    return x * 2


@at(1.5)
def formatted_string(x):
    text = f"{x:.3f} and {x * 2!r}"
    return x * len(text)


@at(1.5)
def constant_strings(x):
    text = "abc" + "d" * 2
    return x * len(text) + ("b" in text) + (text.upper() == "ABCDD")


@at(1.5)
def ellipsis_and_none(x):
    ...
    None
    return x * x


@at(1.5)
def semicolons(x):
    a = x; b = a * a; c = b + 1  # fmt: skip
    return a * b * c


@at(1.5)
def returns_in_all_branches(x):
    if x > 2:
        return x
    elif x > 1:
        return x * x
    else:
        return x**3


@at(1.5, 5)
def returns_from_nested_loops(x, n):
    for i in range(n):
        for j in range(n):
            if i * j > 5:
                return x * (i + j)
    return x


@at(1.5)
def code_after_a_return(x):
    return x * 2
    x = x / 0
    return x


@at(1.5)
def complex_numbers(x):
    z = complex(x, 2.0)
    return x * abs(z)


@at(1.5)
def class_statement(x):
    class Local:
        def __init__(self, v):
            self.v = v

    return Local(x).v * 2


@at(1.5)
def unreachable_construct(x):
    if False:
        yield_ = [1, 2, 3][5]
        return yield_
    return x * math.pi
