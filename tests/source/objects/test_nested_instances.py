"""Gradients by instances within functions that are differentiated themselves; classes in there."""

import dataclasses
import linecache

import numpy as np
import pytest

import wyrmling as wy

MODES = ("trace", "source", "auto")


@dataclasses.dataclass(frozen=True)
class Model:
    weight: float
    bias: float = 0.5
    count: int = 2
    sizes: tuple = (1, 2)
    more: list = dataclasses.field(default_factory=lambda: [1.0, 3])
    values: np.ndarray = dataclasses.field(default_factory=lambda: np.array([1.0, 2.0]))

    def __call__(self, x):
        inside = np.sum(self.values * self.values) * self.weight
        return (self.weight * x + self.bias) * self.count * self.more[0] + inside


def squared(model, x):
    return (model(x) - 1.0) ** 2


def trained(weight, x):
    model = Model(weight)
    for _ in range(4):
        slope = wy.grad(squared)(model, x)
        weight = model.weight - 0.01 * slope.weight
        model = dataclasses.replace(model, weight=weight, bias=model.bias - 0.01 * slope.bias)
    return squared(model, x) + model.weight


def of_all_attributes(model, x):
    slope = wy.grad(squared)(model, x)
    value, again = wy.value_and_grad(squared)(model, x)
    known = slope.count is None and slope.sizes is None and slope.more[1] is None
    total = slope.weight * slope.bias + value * again.weight
    return total + np.sum(slope.values) * slope.more[0] + known


@pytest.mark.parametrize("mode", MODES)
def test_gradients_by_instances_within_functions(mode):
    for f, first in [(trained, 0.3), (of_all_attributes, Model(0.3))]:
        value, slope = wy.value_and_grad(f, mode=mode)(first, 0.7)
        assert value == pytest.approx(f(first, 0.7))
        eps = 1e-6
        if f is trained:
            ends = [trained(0.3 + step, 0.7) for step in (eps, -eps)]
        else:
            slope = slope.weight
            ends = [of_all_attributes(Model(0.3 + step), 0.7) for step in (eps, -eps)]
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * eps), rel=1e-6)


def test_a_class_within_a_function_is_refused_and_traced():
    def f(x):
        class Local:
            def __init__(self, v):
                self.v = v

        return Local(x).v * x

    with pytest.raises(wy.SourceError, match="class within a function") as e:
        wy.grad(f, mode="source")(2.0)
    assert "define it outside" in str(e.value)
    assert [wy.grad(f)(2.0) for _ in range(3)] == [4.0] * 3


def test_the_body_of_a_class_that_is_not_used_is_run():
    seen = []

    def f(x):
        class Unused:
            seen.append(1)

        return x * x

    with pytest.raises(wy.SourceError, match="class within a function"):
        wy.grad(f, mode="source")(2.0)
    assert not seen
    assert [wy.grad(f)(2.0) for _ in range(3)] == [4.0] * 3
    assert seen == [1] * 3


@pytest.mark.parametrize("mode", MODES)
def test_a_class_that_exec_makes_without_a_module_name_is_a_users(mode):
    text = (
        "class P:\n    def __init__(self, a): self.a = a\n"
        "    def sq(self): return self.a * self.a\n"
        "def made(x): return P(x).sq()\ndef given(p): return p.sq()\n"
    )
    linecache.cache["<nameless>"] = (len(text), None, text.splitlines(True), "<nameless>")
    names = {}
    exec(compile(text, "<nameless>", "exec"), names)
    assert names["P"].__module__ == "builtins"
    for _ in range(3):
        assert wy.grad(names["made"], mode=mode)(3.0) == 6.0
        assert wy.grad(names["given"], mode=mode)(names["P"](3.0)).a == 6.0
    with pytest.raises(TypeError, match="argument 0: expected"):
        wy.grad(lambda p: 1.0, mode=mode)(object())


@dataclasses.dataclass
class Counted:
    weight: float
    count: float


@pytest.mark.parametrize("mode", MODES)
def test_an_integer_is_a_count_though_its_field_says_float(mode):
    for _ in range(3):
        found = wy.grad(lambda c: c.weight**c.count, mode=mode)(Counted(2.0, 3))
        assert found == Counted(12.0, None)
