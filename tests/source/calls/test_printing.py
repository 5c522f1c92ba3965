"""What a differentiated function prints is what plain Python prints, once in each call."""

import contextlib
import dataclasses
import io
import math
import re
import sys

import numpy as np
import pytest

import wyrmling as wy

MODES = ("trace", "auto", "source")


def printed(call):
    """What a call prints, and what it gives or raises."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        try:
            found = call()
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
    return text.getvalue(), found


def of_every_kind(x, a):
    numbers = (x, x * x, np.sin(x), a.sum(), a[0], a @ a, a * 2, x > 1, a > 1, a[0] > 0)
    for value in (*numbers, [x, a[0], a], (a.sum(),), {"key": x}):
        print(value, [value], f"{value}", f"{value!r}", str(value), repr(value), f"{value!s:>20}")
    print(f"{x:.3f} {a[0]:>10.2e} {x:{10}.{2}f}", sep="|", end="!\n")
    return x * a.sum()


def test_variables_are_shown_as_what_they_stand_for_while_a_function_is_traced():
    args = (1.5, np.array([1.0, 2.0]))
    plain = printed(lambda: of_every_kind(*args))[0]
    for transform in (wy.grad, wy.value_and_grad, wy.jacfwd, wy.jacrev, wy.hessian):
        for mode in ("trace", "auto"):
            derived = transform(of_every_kind, mode=mode)
            assert [printed(lambda f=derived: f(*args))[0] for _ in range(3)] == [plain] * 3
    assert printed(lambda: wy.hvp(of_every_kind)(*args, 1.0))[0] == plain
    assert printed(lambda: wy.vjp(of_every_kind, *args)[1](1.0))[0] == plain
    single = printed(lambda: wy.grad(lambda x: (print(x * 2, [x]), x)[1])(np.float32(1.5)))[0]
    assert single == "3.0 [np.float32(1.5)]\n".replace("np.float32(1.5)", repr(np.float32(1.5)))


def test_elsewhere_variables_are_shown_with_their_class():
    assert repr(wy.Variable(1.5) * 2) == str(wy.Variable(1.5) * 2) == "Variable(3.0)"
    given = wy.Input(2.0)
    seen = []
    wy.grad(lambda x: (seen.append(str(given)), x)[1], mode="trace")(1.0)
    assert seen == ["Input(2.0)"]


# Functions that print, and where; what is printed and returned is Python's in every mode.


def first(x):
    print("x =", x, math.sin(x), [x, (x, 3)], {"a": x}, None, True)
    return math.sin(x) ** 2


def on_branches(x):
    y = x * x
    if x > 0:
        print(f"positive {y:.3f}", y)
        if x > 2:
            print("large", x)
    else:
        print("negative", y, sep="|", end="!\n")
    print()
    return y


def in_a_loop_of_known_length(x):
    for k in range(3):
        x = x * 1.5
        print(k, x)
    for name in ("a", "b"):
        print(name, end=" ")
    return x


def in_a_loop_of_its_argument(x, n):
    for k in range(n):
        x = x * 1.5
        print(k, x, flush=True)
    return x


def in_a_loop_over_values(x):
    while x < 10.0:
        x = x * 2.0
        print(x)
    return x


def helper(x):
    print("helper", x, file=sys.stdout)
    return math.exp(x)


def by_another(x):
    return helper(x) * helper(2.0 * x)


def and_an_exception(x):
    print("before", x)
    if x < 0.0:
        raise ValueError(f"bad {x}")
    print("after")
    return math.sqrt(x)


def and_a_domain(x):
    print("once")
    return math.sqrt(x)


def and_a_large_integer(x, n):
    print("n", n)
    return x * (n * n * n > 0)


def arrays(a):
    print(a, a.sum(), a[0], np.sin(a), [a[1], a])
    return np.sum(a * a)


def what_changes_later(x):
    items = [x]
    print(items)
    items.append(2.0 * x)
    print(items, *items, len(items))
    table = np.zeros(2)
    print(table)
    table[0] = x
    print(table)
    return items[1] * table[0]


@dataclasses.dataclass
class Point:
    x: float
    y: float = 2.0


def instances(x):
    p = Point(x)
    print(p, p.x)
    p.x = x * 2.0
    print(f"{p} {p!r:>20}")
    return p.x * p.y


def formats_that_do_not_fit(x):
    print(x, end=";")
    print(f"{x:d}")
    return x


def recursive(x, n):
    print(n, x)
    return x if n == 0 else recursive(x * 1.1, n - 1)


def strings(x):
    text = f"v={x:8.3f}" + str(x * 2) + repr([x]) + format(x, ".1e")
    print(text, f"{text:>40}|", f"{x!r:>10}{3:03d}")
    return x * x


def chosen(x):
    print("large" if x > 1 else "small", x if x > 2 else None)
    name = "one" if x > 1 else x
    print(name)
    return x * x


PERCENT = "%.3f %s %5.1e %(name)s".replace("%(name)s", "%r")
BRACES = "{0:.2f} {1} {0!r:>8}"


def older_formats(x):
    print(PERCENT % (x, (x, 2), x, "a"), BRACES.format(x, 2 * x))
    return x


def generated(x):
    def numbers():
        for k in range(3):
            print("number", k)
            yield x * k

    return sum(numbers())


def tried(x):
    try:
        print("tried", x)
        if x > 1:
            raise ValueError("too large")
    except ValueError:
        print("caught")
    finally:
        print("at last")
    return x * x


def of_many_kinds(x):
    print(x > 1, int(x), x // 1, -0.0 * x, x * 1e300 * 1e300, math.pi, 1e-7 * x, 1e22 * x)
    print({1.0: x, "k": [x]}, (x,), [], (), {"a": {"b": x}}, f"{x=} {x:,.2f} {x:%} {int(x):05d}")
    print(*[x * k for k in range(3)], sep=", ", end=None)
    return x


def derivatives(x):
    print("slope", wy.grad(lambda y: y * y * x)(x))
    return x**3


CASES = [
    (first, 1.5),
    (on_branches, 1.5),
    (on_branches, -1.5),
    (on_branches, 2.5),
    (in_a_loop_of_known_length, 1.5),
    (in_a_loop_of_its_argument, 1.5, 4),
    (in_a_loop_of_its_argument, 1.5, 0),
    (in_a_loop_over_values, 1.5),
    (by_another, 0.5),
    (and_an_exception, 2.0),
    (and_an_exception, -2.0),
    (and_a_domain, 4.0),
    (and_a_domain, -1.0),
    (and_a_large_integer, 1.5, 2**40),
    (arrays, np.array([1.0, 2.0])),
    (what_changes_later, 1.5),
    (instances, 1.5),
    (formats_that_do_not_fit, 1.5),
    (recursive, 1.5, 3),
    (strings, 1.5),
    (derivatives, 1.5),
    (chosen, 1.5),
    (chosen, 0.5),
    (chosen, 2.5),
    (older_formats, 1.5),
    (generated, 1.5),
    (tried, 1.5),
    (tried, 0.5),
    (of_many_kinds, 1.5),
]
REFUSED = {in_a_loop_over_values}


@pytest.mark.parametrize("mode", ["source", "auto"])
@pytest.mark.parametrize("transform", ["compile", "value_and_grad", "jacrev", "hessian"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].__name__}{case[1:]}")
def test_what_is_printed_is_printed_once(case, transform, mode):
    f, *args = case
    plain = printed(lambda: f(*args))
    derived = getattr(wy, transform)(f, mode=mode)
    for _ in range(5):
        said = printed(lambda: derived(*args))
        if f in REFUSED and mode == "source":
            assert said[0] == ""
            assert re.match(r"SourceError: .*print in a loop", said[1], re.DOTALL)
            continue
        assert said[0] == plain[0]
        if isinstance(plain[1], str):
            assert said[1] == plain[1]
        else:
            assert not isinstance(said[1], str)


@pytest.mark.parametrize("mode", MODES)
def test_text_is_a_value_beside_the_result(mode):
    def f(x):
        y = x * x if x > 0 else -x
        return y, (f"{y:.3f} of {x}", str(x) + "!", f"{[y]!r:>12}")

    for x in (1.5, -2.0):
        for _ in range(2):
            assert wy.grad(f, has_aux=True, mode=mode)(x)[1] == f(x)[1]
            assert wy.compile(f, mode="auto" if mode == "trace" else mode)(x) == f(x)


def test_printing_goes_to_the_file_that_is_given():
    text = io.StringIO()

    def f(x):
        print("there", x, file=text)
        return x * x

    for mode in MODES:
        assert wy.grad(f, mode=mode)(1.5) == 3.0
        assert text.getvalue() == "there 1.5\n"
        text.seek(0)
        text.truncate()


def test_a_loss_that_prints_is_refused():
    def loss(w, x):
        print(w)
        return (w - x) ** 2

    w = wy.Parameter(1.0)
    with pytest.raises(wy.SourceError, match="print in a loss"):
        wy.fit(loss, {"x": np.ones(4)}, parameters={"w": w}, optimizer=wy.SGD(0.1))


def divides(x):
    print("divides", x)
    try:
        return x / (x - 2.0)
    except ZeroDivisionError:
        return x * 3.0


def asserts(x):
    print("asserts", x)
    try:
        # Plain assertions are rewritten in a test.
        if x <= 3.0:
            raise AssertionError(x)
        return x * x
    except AssertionError:
        return x * 2.0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("f", "slope"), [(divides, 3.0), (asserts, 2.0)])
def test_what_prints_and_handles_its_own_exception_prints_once_and_has_a_gradient(f, slope, mode):
    derived = wy.grad(f, mode=mode)
    for at in range(8):
        x = 5.0 if at == 1 else 2.0
        assert printed(lambda x=x: derived(x))[0] == f"{f.__name__} {x}\n"
        if x == 2.0:
            assert printed(lambda: derived(2.0))[1] == slope


@pytest.mark.parametrize("mode", ["auto", "source"])
def test_what_prints_and_cannot_be_traced_says_so_in_each_call_that_leaves(mode):
    def f(x):
        print("f", x)
        return math.sin(x) * min(2 ** int(x), 1)

    derived = wy.grad(f, mode=mode)
    for _ in range(8):
        text, found = printed(lambda: derived(70.0))
        assert text == "f 70.0\n"
        assert re.match(r"SourceError: .*it was left \(.*64 bits\), returns then", found)
    assert printed(lambda: derived(1.0))[0] == "f 1.0\n"


@pytest.mark.parametrize("mode", ["auto", "source"])
def test_what_prints_raises_pythons_exception_though_it_cannot_be_traced(mode):
    def f(x):
        print("f", x)
        if math.sin(x) > 0.5:
            raise KeyError(f"it is {x}")
        return x * x

    derived = wy.grad(f, mode=mode)
    for _ in range(6):
        assert printed(lambda: derived(1.5)) == ("f 1.5\n", "KeyError: 'it is 1.5'")


def classes(x):
    print(type(x).__name__, f"{x.__class__.__name__:>9} {type(x)}")
    return np.sum(x * x)


@pytest.mark.parametrize("mode", ["auto", "source"])
@pytest.mark.parametrize("x", [1.5, np.float64(1.5), np.ones(2)])
def test_a_class_that_is_only_printed_is_pythons(x, mode):
    derived = wy.grad(classes, mode=mode)
    for _ in range(5):
        assert printed(lambda: derived(x))[0] == printed(lambda: classes(x))[0]


def test_a_class_that_is_printed_by_a_function_of_the_users_is_asked_for():
    said = []

    def f(x):
        print = said.append
        print(type(x).__name__)
        return x * x

    wy.grad(f)(1.5)
    wy.grad(f)(1.5)
    assert said == ["Variable", "Variable"]


def test_an_integer_that_is_differentiated_is_a_float_wherever_it_is_shown():
    def f(x):
        print(x)
        return x * x

    for mode in MODES:
        derived = wy.grad(f, mode=mode)
        assert [printed(lambda: derived(3)) for _ in range(3)] == [("3.0\n", 6.0)] * 3  # noqa: B023


class Speaks:
    def __init__(self, text):
        self.text, self.count = text, 0

    def __str__(self):
        self.count += 1
        if self.text is None:
            raise ValueError("it has no text")
        return self.text


@dataclasses.dataclass
class Holds:
    a: float
    one: object


DUMB, LOUD = Speaks(None), Speaks("loud")
SHOWN = {
    "print": lambda x: print("says", DUMB),
    "f-string": lambda x: f"{DUMB} {x}",
    "in a list": lambda x: print([x, Holds(x, DUMB)], f"{DUMB!s}"),
    "made there": lambda x: print(Speaks(None)),
    "format": lambda x: format(DUMB),
    "str": lambda x: str(DUMB),
    "percent": lambda x: "%s %s" % (x, DUMB),  # noqa: UP031
}


@pytest.mark.parametrize("name", SHOWN)
def test_what_code_of_the_users_shows_is_refused_or_traced(name):
    """It would run late, or not at all."""
    show = SHOWN[name]

    def f(x):
        try:
            show(x)
        except ValueError:
            return x * 3.0
        return x * x

    for mode in ("auto", "trace"):
        for _ in range(3):
            assert printed(lambda mode=mode: wy.grad(f, mode=mode)(2.0))[1] == 3.0
    with pytest.raises(wy.SourceError):
        wy.grad(f, mode="source")(2.0)


def test_effects_of_texts_are_had():
    def f(x):
        before = LOUD.count
        print(LOUD, f"{LOUD}")
        return x * (LOUD.count - before)

    for mode in ("auto", "trace"):
        assert printed(lambda mode=mode: wy.grad(f, mode=mode)(2.0)) == ("loud loud\n", 2.0)
    with pytest.raises(wy.SourceError, match="whose class makes"):
        wy.grad(f, mode="source")(2.0)


def test_a_loss_that_prints_is_refused_and_no_mode_is_advised():
    def loss(w, x):
        print(x)
        return w * x

    w = wy.Parameter(1.0)
    with pytest.raises(wy.SourceError, match="loss: print in a loss") as caught:
        wy.fit(loss, {"x": [1.0]}, parameters={"w": w}, optimizer=wy.SGD(lr=0.1))
    assert "mode=" not in str(caught.value)
