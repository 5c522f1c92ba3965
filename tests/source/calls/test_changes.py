"""What changes between calls is seen: helpers, defaults, globals, and the kinds of arguments."""

import collections
import itertools
import math
import sys
import threading

import numpy as np
import pytest
from outcomes import bits

import wyrmling as wy

MODES = ["source", "auto"]
FACTOR = 2.0


def helper(x):
    return x * 3.0


def calls_helper(x):
    return helper(x) + x


def reads_global(x):
    return x * FACTOR


def with_default(x, scale=2.0, *, shift=1.0):
    return x * scale + shift


def squared(x):
    return x * x + 1


@pytest.fixture(params=MODES)
def grad(request):
    return lambda f, *of, **options: wy.grad(f, *of, mode=request.param, **options)


def repeatedly(f, *args):
    """The result of the last of several calls: the first may be traced."""
    return [f(*args) for _ in range(4)][-1]


def test_a_helper_that_is_replaced(grad, monkeypatch):
    g = grad(calls_helper)
    assert repeatedly(g, 1.5) == 4.0
    monkeypatch.setitem(globals(), "helper", lambda x: x * x)
    assert repeatedly(g, 1.5) == 4.0
    assert repeatedly(g, 2.5) == 6.0
    monkeypatch.undo()
    assert repeatedly(g, 2.5) == 4.0


def test_a_helper_whose_code_is_replaced(grad):
    def other(x):
        return x * 10.0

    g, before = grad(calls_helper), helper.__code__
    assert repeatedly(g, 1.5) == 4.0
    helper.__code__ = other.__code__
    try:
        assert repeatedly(g, 1.5) == 11.0
    finally:
        helper.__code__ = before
    assert repeatedly(g, 1.5) == 4.0


def test_code_of_the_function_itself(grad):
    def f(x):
        return x * 2.0

    def other(x):
        return x * x

    g = grad(f)
    assert repeatedly(g, 1.5) == 2.0
    f.__code__ = other.__code__
    assert repeatedly(g, 1.5) == 3.0


def test_a_global_number(grad, monkeypatch):
    g = grad(reads_global)
    assert repeatedly(g, 1.5) == 2.0
    for value in (5.0, 7, True, -0.5):
        monkeypatch.setitem(globals(), "FACTOR", value)
        assert repeatedly(g, 1.5) == value
    monkeypatch.delitem(globals(), "FACTOR")
    with pytest.raises(NameError, match="FACTOR"):
        g(1.5)


def test_defaults(grad):
    def f(x, scale=2.0, *, shift=1.0):
        return x * scale * shift

    g = grad(f)
    assert repeatedly(g, 1.5) == 2.0
    f.__defaults__ = (5.0,)
    assert repeatedly(g, 1.5) == 5.0
    f.__kwdefaults__["shift"] = 3.0
    assert repeatedly(g, 1.5) == 15.0
    f.__kwdefaults__ = {"shift": 0.5}
    assert repeatedly(g, 1.5) == 2.5
    f.__defaults__ = None
    with pytest.raises(TypeError, match="scale"):
        g(1.5)


def test_a_cell(grad):
    scale = 2.0

    def f(x):
        return x * scale

    g = grad(f)
    assert repeatedly(g, 1.5) == 2.0
    for scale in (3.0, 4, 0.25):
        assert repeatedly(g, 1.5) == scale


def test_a_queue_that_grows():
    """Its length and its truth are no constants of a program."""
    waiting = collections.deque()

    def f(x):
        return x * len(waiting) + (x * x if waiting else 0.0)

    slope = wy.grad(f)
    assert [slope(1.0) for _ in range(4)] == [0.0] * 4
    waiting.extend("ab")
    assert [slope(1.0) for _ in range(4)] == [4.0] * 4
    with pytest.raises(wy.SourceError, match="the length of this"):
        wy.grad(f, mode="source")(1.0)


def test_a_function_of_math(grad, monkeypatch):
    def f(x):
        return math.sin(x) * 2.0

    assert wy.grad(f, mode="source")(0.5) == pytest.approx(2 * math.cos(0.5), rel=1e-15)
    monkeypatch.setattr(math, "sin", lambda x: x * 7.0)
    assert repeatedly(grad(f), 0.5) == 14.0


def test_an_attribute(grad):
    class Model:
        weight = 2.0

        def __call__(self, x):
            return x * self.weight

    model = Model()
    g = grad(model)
    assert repeatedly(g, 1.5) == 2.0
    model.weight = 5.0
    assert repeatedly(g, 1.5) == 5.0
    Model.__call__ = lambda self, x: x * 100.0
    assert repeatedly(g, 1.5) == 100.0


@pytest.mark.parametrize("mode", MODES)
def test_kinds_of_arguments(mode):
    g = wy.grad(squared, mode=mode)
    given = [2, 2.0, np.float32(2.0), np.float64(2.0), np.array(2.0), 3.0, 2, np.float32(3.0)]
    for x in given * 2:
        found = g(x)
        wanted = wy.grad(squared, mode="trace")(x)
        assert type(found) is type(wanted)
        assert found == wanted
    with pytest.raises(TypeError):
        g("text")
    assert g(2.0) == 4.0


def test_arrays_of_other_lengths(grad):
    def f(x):
        return (x * x).sum()

    g = grad(f)
    for n in (3, 5, 3, 0, 1):
        x = np.arange(float(n))
        np.testing.assert_array_equal(g(x), 2 * x)
    np.testing.assert_array_equal(g(np.ones((2, 2))), 2 * np.ones((2, 2)))
    assert g(np.ones(2, np.float32)).dtype == np.float32


def test_integers_of_any_size_in_turn(grad):
    def f(x, n):
        return x * n

    g = grad(f)
    for n in (3, 2**62, 2**63, 10**30, -(2**63), 3, True, 2.5):
        assert g(1.5, n) == float(n)


def test_signs_of_zero_and_nan(grad):
    def f(x, y):
        return x * y

    g = grad(f)
    for y in (0.0, -0.0, math.inf, -math.inf, math.nan):
        assert bits(g(1.0, y)) == bits(y)


def test_a_function_made_anew_each_time(grad):
    for k in range(20):

        def f(x, k=k):
            return x * k

        assert grad(f)(1.5) == k
        assert grad(lambda x, k=k: x * x * k)(1.5) == 3.0 * k


def test_many_threads_at_once():
    def f(x, n):
        for _ in range(n):
            x = x * 0.5 + math.sin(x)
        return x

    g = wy.grad(f, mode="source")
    wanted = {}
    for n in range(8):
        slope, x = 1.0, 0.3
        for _ in range(n):
            slope *= 0.5 + math.cos(x)
            x = x * 0.5 + math.sin(x)
        wanted[n] = slope
    wrong = []

    def work():
        for k in range(200):
            if abs(g(0.3, k % 8) - wanted[k % 8]) > 1e-12:
                wrong.append(k)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_tracer_sees_every_line():
    """While something watches, ``auto`` runs the function itself."""
    lines = []

    def watch(frame, event, arg):
        if frame.f_code is squared.__code__:
            lines.append(event)
        return watch

    g = wy.grad(squared)
    repeatedly(g, 1.5)
    before = sys.gettrace()
    sys.settrace(watch)
    try:
        assert g(1.5) == 3.0
    finally:
        sys.settrace(before)
    assert "line" in lines


def test_what_is_imported_inside_is_looked_up_at_each_call(monkeypatch):
    def f(x):
        import math as m
        from math import sqrt

        return m.exp(x) + sqrt(x)

    g = wy.compile(f)
    assert repeatedly(g, 4.0) == math.exp(4.0) + 2.0
    monkeypatch.setattr(math, "sqrt", lambda x: x * 10.0)
    assert repeatedly(g, 4.0) == math.exp(4.0) + 40.0
    monkeypatch.undo()
    other = type(math)("math")
    other.exp, other.sqrt = math.exp, lambda x: x + 1.0
    monkeypatch.setitem(sys.modules, "math", other)
    assert repeatedly(g, 4.0) == math.exp(4.0) + 5.0
    monkeypatch.undo()
    assert repeatedly(g, 4.0) == math.exp(4.0) + 2.0


def test_an_array_without_axes_is_read_at_each_call():
    def f(w, rate):
        return np.sum(w * w) * rate + rate

    w, rate = np.array([1.5, 2.0]), np.array(0.5)
    for mode in MODES:
        g = wy.grad(f, mode=mode)
        assert repeatedly(g, w, rate).tolist() == [1.5, 2.0]
        rate[...] = 2.0
        assert repeatedly(g, w, rate).tolist() == [6.0, 8.0]
        assert repeatedly(g, w, 0.5).tolist() == [1.5, 2.0]
        rate[...] = 0.5
    same = wy.compile(lambda x: x)
    assert same(rate) is rate
    assert wy.compile(lambda x, y: x * y)(rate, 3.0) == 1.5
    slope = wy.grad(f, argnums=1, mode="source")(w, rate)
    assert isinstance(slope, np.ndarray)
    assert slope == wy.grad(f, argnums=1, mode="trace")(w, rate)


@pytest.mark.parametrize("mode", MODES)
def test_arrays_without_axes_among_other_arguments(mode):
    def f(a, x, b, p, n=1):
        y = b * x[0] + a
        for _ in range(n):
            y = y * p["c"] - p["d"][0] * x[1]
        return y * p["d"][1]

    given = (np.array(0.5), np.array([1.5, 2.0]), np.array(3.0, np.float32))
    parts = {"c": np.array(-1.5), "d": [2.0, np.array(0.25)]}
    g = wy.grad(f, 1, mode=mode)
    for n in (1, 2):
        found = [g(*given, parts, n=n) for _ in range(4)][-1]
        wanted = [3.0 * 0.25 * (-1.5) ** n, -2.0 * 0.25 * (1.0 if n == 1 else -0.5)]
        assert found.tolist() == wanted
    assert wy.compile(f)(*given, parts) == f(*given, parts)


class Scaled:
    """With a field, a property and a method."""

    def __init__(self, by):
        self.by = by

    @property
    def twice(self):
        return self.by * 2.0

    def of(self, x):
        return x * self.by


def scaled_outside(x):
    total = 0.0
    for _ in range(2):
        total += SCALED.of(x) * SCALED.twice + SCALED.by
    return total


def scaled_inside(x):
    one, total = Scaled(3.0), 0.0
    for _ in range(2):
        total += one.of(x) * one.twice + one.by * x
    return total


SCALED = Scaled(3.0)
MEMBERS = {
    "__getattribute__": lambda self, name: (
        5.0 if name == "by" else object.__getattribute__(self, name)
    ),
    "of": lambda self, x: x * x,
    "twice": property(lambda self: 7.0),
    "by": property(lambda self: 7.0, lambda self, value: None),
    "__init__": lambda self, by: setattr(self, "by", 11.0),
    "__setattr__": lambda self, name, value: object.__setattr__(self, name, 13.0),
}


@pytest.mark.parametrize("f", [scaled_outside, scaled_inside])
@pytest.mark.parametrize("name", MEMBERS)
def test_a_member_of_a_class_that_is_set_later(name, f, monkeypatch):
    transform = wy.value_and_grad(f)
    before = [transform(1.5) for _ in range(3)]
    monkeypatch.setattr(Scaled, name, MEMBERS[name], raising=False)
    expected = wy.value_and_grad(f, mode="trace")(1.5)
    assert [transform(1.5) for _ in range(3)] == [expected] * 3
    monkeypatch.undo()
    assert [transform(1.5) for _ in range(3)] == before


class Plain:
    other = 1.0

    def __init__(self, a):
        self.a = a


def asked_for_truth(x):
    return x if Plain(x) else x * 3.0


def attribute_is_read(x):
    return Plain(x).a * 2.0


def attribute_is_missing(x):
    return x * getattr(Plain(x), "extra", 2.0)


@pytest.mark.parametrize("mode", ["source", "auto"])
@pytest.mark.parametrize(
    ("f", "name", "member"),
    [
        (asked_for_truth, "__bool__", lambda self: False),
        (asked_for_truth, "__len__", lambda self: 0),
        (attribute_is_read, "a", property(lambda self: 5.0, lambda self, value: None)),
        (attribute_is_missing, "extra", 9.0),
    ],
)
def test_a_member_that_takes_the_place_of_another_is_seen(f, name, member, mode):
    """There are as many then."""
    transform = wy.value_and_grad(f, mode=mode)
    for _ in range(2):
        before = [transform(1.5) for _ in range(3)]
        kept = Plain.other
        del Plain.other
        setattr(Plain, name, member)
        try:
            expected = wy.value_and_grad(f, mode="trace")(1.5)
            assert [transform(1.5) for _ in range(3)] == [expected] * 3
        finally:
            delattr(Plain, name)
            Plain.other = kept
        assert before[0] != expected
        assert [transform(1.5) for _ in range(3)] == before


LIMIT = math.inf


def up_to_a_limit(x):
    return min(x * x, LIMIT)


@pytest.mark.parametrize("mode", MODES)
def test_a_limit_may_be_infinite_or_not(mode, monkeypatch):
    slope = wy.grad(up_to_a_limit, mode=mode)
    for limit in (math.inf, 1.0, -math.inf, np.float64(math.inf), math.inf, 5, math.nan):
        monkeypatch.setattr(sys.modules[__name__], "LIMIT", limit)
        wanted = 0.0 if limit < 2.25 else 3.0
        assert [slope(1.5) for _ in range(3)] == [wanted] * 3


def test_an_iterator_that_was_there_before_gives_each_item_once():
    """A call that is traced takes what it asks for. One that is read would take items twice."""
    numbers, letters = itertools.count(1.0), iter(range(100))

    def some(x):
        return x * sum(itertools.islice(numbers, 2))

    def one(x):
        for letter in letters:
            return x * letter

    assert [wy.grad(some)(1.0) for _ in range(3)] == [3.0, 7.0, 11.0]
    assert [wy.grad(one)(1.0) for _ in range(3)] == [0.0, 1.0, 2.0]
    for f in (some, one):
        with pytest.raises(wy.SourceError, match="an iterator that was there before"):
            wy.grad(f, mode="source")(1.0)
    assert (next(numbers), next(letters)) == (7.0, 3)
