"""Objects outside of a function that change in ways that no identity shows: a program that was made
before gives what Python gives now, or the call is traced.
"""

import array
import collections
import dataclasses
import functools
import types
import typing

import numpy as np
import pytest

import wyrmling as wy

HERE = types.SimpleNamespace()
"""What each case finds there is made anew for it."""


class Sampled:
    """Becomes an array when NumPy asks for one."""

    def __init__(self):
        self.first = 1.0

    def __array__(self, dtype=None, copy=None):
        return np.array([self.first, 2.0])


class Items(list):
    pass


class Bare:
    pass


class Matched:
    __match_args__ = ("slope",)
    slope, offset = 2.0, 3.0


def matched(x):
    match HERE.it:
        case Matched(found):
            return x * found
    return x


class Kind(type):
    says = False

    def __instancecheck__(cls, x):
        return Kind.says


class ByKind(metaclass=Kind):
    pass


@dataclasses.dataclass
class Line:
    slope: float = 1.0
    offset: float = 2.0
    at: float = dataclasses.field(default=3.0, kw_only=True)


class Pair(typing.NamedTuple):
    a: float
    b: float = 2.0

    def total(self):
        return self.a + self.b

    @property
    def product(self):
        return self.a * self.b


PAIR = Pair(3.0, 4.0)


def scaled(x, by=2.0, *, shift=0.5):
    return x * (by + shift)


def other_line(self, slope=5.0, offset=6.0, *, at=7.0):
    self.slope, self.offset, self.at = slope, offset, at


def undefined(x):
    try:
        return x * later
    except NameError:
        return x * 3.0


def without_attribute(x):
    try:
        return x * HERE.module.later
    except AttributeError:
        return x * 3.0


def with_cell():
    """A function of a name of the one around it, and what gives that a value."""

    def f(x):
        try:
            return x * late
        except NameError:
            return x * 3.0

    def give():
        nonlocal late
        late = 7.0

    late = 0.0
    del late
    return f, give


IN_CELL, GIVE = with_cell()
PART = functools.partial(scaled, by=3.0)
DOUBLES = "d", [1.0, 2.0]

# Linear functions, what they find in HERE, and what changes that.
CASES = {
    "np.sum of a queue": (
        lambda x: x * np.sum(HERE.it),
        lambda: collections.deque([1.0, 2.0]),
        lambda: HERE.it.append(5.0),
    ),
    "np.asarray of a queue": (
        lambda x: np.sum(np.asarray(HERE.it) * x),
        lambda: collections.deque([1.0, 2.0]),
        lambda: HERE.it.append(5.0),
    ),
    "np.asarray of an array.array": (
        lambda x: np.sum(np.asarray(HERE.it) * x),
        lambda: array.array(*DOUBLES),
        lambda: HERE.it.__setitem__(0, 5.0),
    ),
    "np.dot of an array.array": (
        lambda x: np.dot(HERE.it, np.ones(2)) * x,
        lambda: array.array(*DOUBLES),
        lambda: HERE.it.__setitem__(0, 5.0),
    ),
    "np.max of memory": (
        lambda x: np.max(HERE.it) * x,
        lambda: memoryview(array.array(*DOUBLES)),
        lambda: HERE.it.__setitem__(0, 5.0),
    ),
    "np.sum of a list of another class": (
        lambda x: np.sum(HERE.it) * x,
        lambda: Items([1.0, 2.0]),
        lambda: HERE.it.append(5.0),
    ),
    "np.sum of what becomes an array": (
        lambda x: np.sum(HERE.it) * x,
        Sampled,
        lambda: setattr(HERE.it, "first", 5.0),
    ),
    "a partial function that gets a keyword": (
        lambda x: PART(x),
        lambda: None,
        lambda: PART.keywords.__setitem__("shift", 4.0),
    ),
    "a name that is defined later": (
        undefined,
        lambda: None,
        lambda: globals().__setitem__("later", 7.0),
    ),
    "a name around it that is set later": (IN_CELL, lambda: None, GIVE),
    "an attribute of a module that is set later": (
        without_attribute,
        lambda: setattr(HERE, "module", types.ModuleType("module")),
        lambda: setattr(HERE.module, "later", 7.0),
    ),
    "hasattr of a module": (
        lambda x: x * (2.0 if hasattr(HERE.it, "later") else 3.0),
        lambda: types.ModuleType("module"),
        lambda: setattr(HERE.it, "later", 7.0),
    ),
    "hasattr of a class": (
        lambda x: x * (2.0 if hasattr(HERE.it, "there") else 3.0),
        lambda: type("Own", (), {"there": 1.0}),
        lambda: delattr(HERE.it, "there"),
    ),
    "getattr with a default, of a function": (
        lambda x: x * getattr(scaled, "later", 3.0),
        lambda: None,
        lambda: setattr(scaled, "later", 7.0),
    ),
    "callable, of a class that gets __call__": (
        lambda x: x * (2.0 if callable(HERE.it) else 3.0),
        lambda: type("Own", (), {})(),
        lambda: setattr(type(HERE.it), "__call__", lambda self: None),
    ),
    "callable, of a class that loses __call__": (
        lambda x: x * (2.0 if callable(HERE.it) else 3.0),
        lambda: type("Own", (), {"__call__": lambda self: None})(),
        lambda: delattr(type(HERE.it), "__call__"),
    ),
    "isinstance that a class of a class decides": (
        lambda x: x * (2.0 if isinstance(HERE.it, ByKind) else 3.0),
        Bare,
        lambda: setattr(Kind, "says", True),
    ),
    "what positional patterns of a class are": (
        matched,
        Matched,
        lambda: setattr(Matched, "__match_args__", ("offset",)),
    ),
    "a default of a named tuple": (
        lambda x: x * Pair(1.0).b,
        lambda: None,
        lambda: setattr(Pair.__new__, "__defaults__", (7.0,)),
    ),
    "a method of a named tuple": (
        lambda x: x * PAIR.total(),
        lambda: None,
        lambda: setattr(Pair, "total", lambda self: 7.0 * self.a),
    ),
    "a property of a named tuple": (
        lambda x: x * PAIR.product,
        lambda: None,
        lambda: setattr(Pair, "product", property(lambda self: 7.0 * self.a)),
    ),
    "a default of a dataclass": (
        lambda x: x * Line(4.0).offset,
        lambda: None,
        lambda: setattr(Line.__init__, "__defaults__", (7.0, 8.0)),
    ),
    "a default by keyword of a dataclass": (
        lambda x: x * Line().at,
        lambda: None,
        lambda: Line.__init__.__kwdefaults__.__setitem__("at", 9.0),
    ),
    "another __init__ of a dataclass": (
        lambda x: x * Line().slope * Line(at=2.0).at,
        lambda: None,
        lambda: setattr(Line, "__init__", other_line),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_has_changed_is_seen(name):
    f, make, change = CASES[name]
    HERE.it = make()
    transforms = [wy.grad(f, mode=mode) for mode in ("auto", "source", "trace")]
    compiled = wy.compile(f)
    transforms.append(lambda x: compiled(x + 1.0) - compiled(x))

    def found():
        """What each gives for a function that is linear, after calls that may be traced."""
        for transform in transforms:
            try:
                yield [transform(2.0) for _ in range(4)][-1]
            except wy.SourceError:
                yield None

    before, now = f(1.0), list(found())
    assert all(one is None or one == pytest.approx(before) for one in now)
    change()
    assert f(1.0) != before
    after = list(found())
    assert all(one is None or one == pytest.approx(f(1.0)) for one in after)
    assert after[0] is not None
    assert after[2] is not None


class Near:
    """Answers ``in``, and stands for an integer."""

    number = 1

    def __contains__(self, x):
        return abs(x - 0.25) < 0.1

    def __iter__(self):
        return iter([1.0, 2.0])

    def __index__(self):
        return self.number


NEAR = Near()
NUMBERS = [1.0, 2.0, 3.0]
ARRAY = np.array([1.0, 2.0, 3.0])
ZERO_AXES = np.array(2.0)
CALLS = []


def assigned(x):
    made = np.zeros(3)
    made[NEAR] = 7.0
    made[0] = ZERO_AXES
    return x * made.sum()


def deleted(x):
    made = [1.0, 2.0, 5.0]
    made[NEAR] = 4.0
    del made[NEAR]
    return x * sum(made)


PROTOCOLS = {
    "in": lambda x: x if 0.3 in NEAR else -x,
    "not in": lambda x: x if 0.5 not in NEAR else -x,
    "gone through": lambda x: sum(x * one for one in NEAR),
    "an item of a list": lambda x: x * NUMBERS[NEAR],
    "a slice of a list": lambda x: x * sum(NUMBERS[NEAR:]),
    "an item of an array": lambda x: x * ARRAY[NEAR] * np.outer(ARRAY, ARRAY)[NEAR, 2],
    "a slice of an array": lambda x: x * ARRAY[NEAR:].sum(),
    "a range": lambda x: x * sum(range(NEAR, 5)),
    "enumerate": lambda x: sum(at * x for at, _ in enumerate(NUMBERS, NEAR)),
    "a list that is repeated": lambda x: x * sum([2.0] * NEAR),
    "assigned to": assigned,
    "deleted": deleted,
}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_what_a_class_answers_is_asked(name, monkeypatch):
    """And nothing is left for an exception that Python does not raise: a function that has an
    effect after that would be run, and then traced.
    """
    f = PROTOCOLS[name]

    def counted(x):
        made = f(x)
        CALLS.append(name)
        return made

    slopes = [wy.grad(f, mode="auto"), wy.grad(f, mode="source"), wy.grad(counted)]
    for number in (1, 2, 1):
        monkeypatch.setattr(Near, "number", number)
        expected = f(3.0) - f(2.0)
        CALLS.clear()
        for slope in slopes:
            try:
                assert [slope(2.0) for _ in range(3)] == [pytest.approx(expected)] * 3
            except wy.SourceError:
                assert name == "gone through"
        assert len(CALLS) == 3
        with pytest.raises(wy.SourceError):
            wy.grad(counted, mode="source")(2.0)
        assert len(CALLS) == 3


def follows_a_name(x):
    made = x * not_yet  # noqa: F821
    CALLS.append(1)
    return made


def follows_an_attribute(x):
    made = x * HERE.not_yet
    CALLS.append(1)
    return made


@pytest.mark.parametrize("f", [follows_a_name, follows_an_attribute])
def test_what_follows_a_name_that_is_defined_later_happens_once(f, monkeypatch):
    """The program that was made before ends at the name, and knows nothing of what follows."""
    slopes = [wy.grad(f), wy.grad(f, mode="source")]
    for slope in slopes:
        for _ in range(3):
            with pytest.raises((NameError, AttributeError), match="not_yet"):
                slope(2.0)
    monkeypatch.setitem(globals(), "not_yet", 3.0)
    monkeypatch.setattr(HERE, "not_yet", 3.0, raising=False)
    CALLS.clear()
    assert [slopes[0](2.0) for _ in range(3)] == [3.0] * 3
    assert len(CALLS) == 3
    with pytest.raises(wy.SourceError, match="a write to CALLS"):
        slopes[1](2.0)
    assert len(CALLS) == 3


def of_two(first, second, x):
    return x * first["by"][0] * second["by"][0]


def of_nested(both, x):
    return x * both[0][0] * both[1][0]


SHARED = [0.5]
ALIASES = {"first": SHARED, "second": SHARED}


def of_captured(x):
    return x * ALIASES["first"][0] * ALIASES["second"][0]


@pytest.mark.parametrize("mode", ["auto", "source"])
def test_one_list_in_two_places_may_be_two_in_the_next_call(mode, monkeypatch):
    """And a gradient has parts for both places."""
    some, others = [0.5], [2.0]
    cases = [
        (of_two, [({"by": a}, {"by": b}) for a in (some, others) for b in (some, others)]),
        (of_nested, [([a, b],) for a in (some, others) for b in (some, others)]),
        (of_nested, [((a, b),) for a in (some, others) for b in (some, others)]),
    ]
    for f, calls in cases:
        compiled = wy.compile(f)
        for by in range(len(calls[0]) + 1):
            slope, traced = (wy.grad(f, by, mode=each) for each in (mode, "trace"))
            for given in calls * 2:
                assert slope(*given, 3.0) == traced(*given, 3.0)
                assert compiled(*given, 3.0) == f(*given, 3.0)
    slope = wy.grad(of_captured, mode=mode)
    assert [slope(1.0) for _ in range(3)] == [0.25] * 3
    monkeypatch.setitem(ALIASES, "second", [2.0])
    assert [slope(1.0) for _ in range(3)] == [1.0] * 3


@pytest.mark.parametrize("name", ["base", "flags", "strides"])
def test_how_an_array_lies_in_memory_is_not_read(name):
    """It was taken for a method, which is never None."""
    own = np.array([1.0, 2.0])

    def f(x):
        return x * (2.0 if getattr(own, name) is None else 3.0)

    expected = f(1.0)
    assert [wy.grad(f)(1.0) for _ in range(3)] == [expected] * 3
    with pytest.raises(wy.SourceError, match=f"'{name}' of an array"):
        wy.grad(f, mode="source")(1.0)


class Added:
    """Gets methods later."""

    def __init__(self, held):
        self.held = held


ADDED = Added(2.0)


def is_true_outside(x):
    return x if ADDED else 2.0 * x


def is_true_inside(x):
    return x if Added(x) else 2.0 * x


@pytest.mark.parametrize("mode", ["auto", "source"])
@pytest.mark.parametrize("f", [is_true_outside, is_true_inside])
def test_a_method_that_a_class_gets_later_is_called(f, mode, monkeypatch):
    slope = wy.grad(f, mode=mode)
    assert [slope(3.0) for _ in range(3)] == [1.0] * 3
    monkeypatch.setattr(Added, "__len__", lambda self: 0, raising=False)
    assert [slope(3.0) for _ in range(3)] == [2.0] * 3
    monkeypatch.setattr(Added, "__bool__", lambda self: True, raising=False)
    assert [slope(3.0) for _ in range(3)] == [1.0] * 3
    monkeypatch.undo()
    assert [slope(3.0) for _ in range(3)] == [1.0] * 3
