"""Names are found where Python finds them, and changes of what was found are seen."""

import collections
import dataclasses
import enum
import functools
import math
import types

import pytest

from wyrmling.source.text.refuse import Unreadable
from wyrmling.source.text.scope import ABSENT, FUNCTION, Names, Needs, Property, argument, attribute

ANSWER = 42


class Colour(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Model:
    weight: float
    count = 3

    @property
    def double(self):
        return 2 * self.weight

    @functools.cached_property
    def cached(self):
        return self.weight

    def method(self):
        return self

    @classmethod
    def made(cls):
        return cls


class Slotted:
    __slots__ = ("x",)

    def __init__(self):
        self.x = 1.0


class Dynamic:
    known = 1

    def __getattr__(self, name):
        return name


class Strange:
    def __getattribute__(self, name):
        return name


def function(scale):
    late = 1

    def inner(x, y=2.0, *, z=3.0):
        return x, scale, late, ANSWER, math, len, nowhere  # noqa: F821

    late = 5
    return inner


def test_names_and_places():
    f = function(7)
    names = Names(f)
    for name, value in [("scale", 7), ("late", 5), ("ANSWER", 42), ("math", math), ("len", len)]:
        found, place = names.find(name)
        assert found == value
        assert place.read((f,)) is found
    assert names.default("x") is None
    for name, value in [("y", 2.0), ("z", 3.0)]:
        found, place = names.default(name)
        assert found == value
        assert place.read((f,)) is found
    with pytest.raises(NameError, match="name 'nowhere' is not defined"):
        names.find("nowhere")
    # Relative to the call: those of another function with this code.
    other = function(8)
    assert names.find("scale")[1].read((other,)) == 8
    assert other.__code__ is f.__code__


def test_names_that_are_not_there_yet():
    def outer():
        def inner():
            return late

        if ANSWER == 0:
            late = 1
        return inner

    def defined():
        def inner():
            return late

        names = Names(inner)
        with pytest.raises(NameError, match="free variable 'late'"):
            names.find("late")
        assert names.place.cell(0).read((inner,)) is ABSENT
        late = 1
        assert names.find("late")[0] == 1

    with pytest.raises(NameError, match="free variable 'late'"):
        Names(outer()).find("late")
    defined()


def test_globals_and_builtins(monkeypatch):
    f = function(1)
    needs = Needs()
    found, place = Names(f).find("len")
    needs.expect(place, found)
    assert needs.missed((f,)) is None
    # A global of that name hides the builtin.
    monkeypatch.setitem(f.__globals__, "len", math.sin)
    assert needs.missed((f,)) == "len"
    assert Names(f).find("len")[0] is math.sin
    own = types.FunctionType(f.__code__, {"__builtins__": {"len": 3}}, closure=f.__closure__)
    assert Names(own).find("len")[0] == 3
    with pytest.raises(NameError):
        Names(own).find("math")


def test_changes_are_seen(monkeypatch):
    f = function(math)
    needs = Needs()
    names = Names(f)
    names.expect_defaults(needs)
    needs.expect(*reversed(names.find("ANSWER")))
    module, place = names.find("math")
    needs.expect(place, module)
    sine, place = attribute(module, place, "sin", needs)
    needs.expect(place, sine)
    needs.expect(*reversed(names.find("scale")))
    y = needs.hidden(names.default("y")[1])
    assert needs.hidden(names.default("y")[1]) == y == 0
    assert needs.missed((f,)) is None
    assert needs.missed((function(math),)) is None
    assert needs.missed((function(1),)) == "cell 1"
    with monkeypatch.context() as patch:
        patch.setattr(math, "sin", math.cos)
        assert needs.missed((f,)) == "math.sin"
    with monkeypatch.context() as patch:
        patch.setitem(f.__globals__, "ANSWER", 42.0)
        assert needs.missed((f,)) == "ANSWER"
        patch.setitem(f.__globals__, "ANSWER", int("42"))
        assert needs.missed((f,)) is None
    # Other values of defaults are hidden arguments; another number of them is another function.
    f.__defaults__ = (9.0,)
    assert needs.missed((f,)) is None
    assert names.default("y")[1].read((f,)) == 9.0
    f.__defaults__ = None
    assert needs.missed((f,)) is not None
    g = function(math)
    g.__kwdefaults__ = {"x": 3.0}
    assert needs.missed((g,)) is not None


def test_functions_are_compared_by_their_code():
    def caller(helper):
        return lambda x: helper(x)

    f = caller(lambda x: x + 1)
    needs = Needs()
    helper, place = Names(f).find("helper")
    needs.expect(place, helper)
    assert needs.missed((f,)) is None
    assert needs.missed((caller(lambda x: x + 1),)) == "code of cell 0"
    same = types.FunctionType(helper.__code__, {})
    assert needs.missed((caller(same),)) is None
    assert needs.missed((caller(len),)) == "code of cell 0"
    helper.__code__ = (lambda x: x + 2).__code__
    assert needs.missed((f,)) == "code of cell 0"


def test_methods_are_compared_by_code_and_object():
    model, other = Model(1.0), Model(2.0)
    needs = Needs()
    needs.expect(argument(0), model.method)
    assert needs.missed((None, model.method)) is None
    assert needs.missed((None, other.method)) == "argument 0.__self__"
    listed = [1.0]
    needs = Needs()
    needs.expect(argument(0), listed.append)
    assert needs.missed((None, listed.append)) is None
    assert needs.missed((None, [1.0].append)) is not None
    assert needs.missed((None, listed.pop)) is not None


@pytest.mark.parametrize(
    ("thing", "name"),
    [
        (math, "pi"),
        (Model, "count"),
        (Model(1.0), "weight"),
        (Model(1.0), "count"),
        (Model(1.0), "method"),
        (Model(1.0), "made"),
        (Slotted(), "x"),
        (Colour.RED, "value"),
        (Colour, "RED"),
        (Dynamic(), "known"),
        (collections.namedtuple("Pair", "a b")(1, 2), "b"),
        (function, "__name__"),
        ([], "append"),
        (1.5, "real"),
    ],
)
def test_attributes(thing, name):
    needs = Needs()
    found, place = attribute(thing, argument(0), name, needs)
    assert found == getattr(thing, name)
    assert place.read((None, thing)) == found
    assert needs.missed((None, thing)) is None


def test_properties_are_read_as_functions():
    model = Model(1.0)
    found = attribute(model, argument(0), "double", Needs())
    assert isinstance(found, Property)
    assert found.get is Model.double.fget
    assert found.place.read((None, model)) is found.get


def test_attributes_that_a_class_decides():
    with pytest.raises(Unreadable, match="Dynamic decides"):
        attribute(Dynamic(), argument(0), "unknown", Needs())
    with pytest.raises(Unreadable, match="Strange decides"):
        attribute(Strange(), argument(0), "known", Needs())
    with pytest.raises(Unreadable, match="descriptor written in Python"):
        attribute(Model(1.0), argument(0), "cached", Needs())
    with pytest.raises(AttributeError, match="nothing"):
        attribute(Model(1.0), argument(0), "nothing", Needs())


def test_an_object_of_another_class_is_seen():
    needs = Needs()
    attribute(Model(1.0), argument(0), "weight", needs)
    assert needs.missed((None, Model(2.0))) is None
    assert needs.missed((None, dataclasses.make_dataclass("M", ["weight"])(1.0))) == "argument 0"


def test_containers():
    needs = Needs()
    config = {"w": 1.0, "layers": [1, 2], "name": "a"}
    place = FUNCTION.globals("config")
    needs.keys(place, config)
    needs.length(place.item("layers"), config["layers"])
    needs.hidden(place.item("w"))
    needs.expect(place.item("name"), "a")

    def call(**changes):
        f = types.FunctionType(function.__code__, {"config": {**config, **changes}})
        return needs.missed((f,))

    assert call() is None
    assert call(w=2.0) is None
    assert call(layers=[1]) == "config['layers']"
    assert call(layers=(1, 2)) == "config['layers']"
    assert call(extra=1) == "config"
    assert call(name="b") == "config['name']"
    steps, slots = needs.steps(2)
    assert steps[0] == ("global", 0, "config", ("dict", ("w", "layers", "name")))
    assert slots[place] == 3
    assert [steps[slots[place.item(name)] - 3][0] for name in config] == ["item"] * 3


def test_several_tests_of_one_place():
    needs = Needs()
    needs.instance(argument(1), float)
    needs.expect(argument(1), 1.5)
    needs.expect(argument(1), 1.5)
    steps, _ = needs.steps(2)
    assert [step[:3] for step in steps] == [("self", 2, None)] * 2
    needs.absent(argument(0).attribute("w"))
    needs.instance(argument(0).attribute("real"), int)
    needs.expect(argument(0).attribute("real"), 1)
    assert needs.missed((None, 1, needs)) == "argument 1"
    value = 1.5
    needs = Needs()
    needs.instance(argument(0).attribute("real"), float)
    needs.expect(argument(0).attribute("real"), value)
    assert needs.missed((None, value)) is None
    assert needs.missed((None, 2.5)) == "argument 0.real"
    assert needs.missed((None, 1)) == "argument 0.real"


def test_a_member_of_an_enumeration_may_say_what_its_value_is():
    class Own(enum.Enum):
        RED = 1

        @enum.property
        def value(self):
            return 2

    with pytest.raises(Unreadable, match="descriptor"):
        attribute(Own.RED, argument(0), "value", Needs())
