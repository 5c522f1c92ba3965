"""Functions that are read call what ``compile``, ``grad`` and ``value_and_grad`` made outside."""

import functools

import numpy as np
import pytest
from outcomes import outcome, same

import wyrmling as wy


@wy.compile
def squared(x):
    return x * x


@wy.compile
def summed(x, n):
    total = 0.0
    for i in range(n):
        total += squared(x) * i
    return total


@wy.compile
def factorial(n):
    return 1.0 if n == 0 else n * factorial(n - 1)


@wy.grad
def slope(x):
    return x**3


class Scaled:
    factor = 3.0

    @wy.compile
    def method(self, x):
        return self.factor * x

    @staticmethod
    @wy.compile
    def static(x):
        return x * x

    @wy.compile
    def __call__(self, x):
        return x + self.factor


SCALED = Scaled()
FUNCTIONS = [squared, slope]
of_both = wy.value_and_grad(lambda a, b: a * b * b, (0, 1))
of_last = wy.grad(lambda a, b: a * b * b, -1)
second = wy.grad(wy.grad(lambda x: x**4))
of_compiled = wy.grad(squared)
of_array = wy.grad(lambda v: np.sum(v**3))
partly = functools.partial(wy.compile(lambda a, b: a - b), 2.0)
with_aux = wy.grad(lambda x: (x * x, x), has_aux=True)


def both(x):
    value, (a, b) = of_both(x, 2.0)
    return value + a * b


def within(x):
    inner = wy.compile(lambda t: t * t * x)
    return inner(x) + wy.grad(inner)(x)


CASES = {
    "compiled": lambda x: squared(x) * 2.0,
    "of one another": lambda x: summed(x, 4) + squared(squared(x)),
    "recursive": lambda x: x * factorial(5),
    "grad": lambda x: slope(x) * x,
    "value and grad": both,
    "by the last argument": lambda x: of_last(x, x),
    "grad of grad": lambda x: second(x) * x,
    "grad of compiled": lambda x: of_compiled(x) * x,
    "methods": lambda x: SCALED.method(x) * Scaled.static(x) + SCALED(x),
    "methods of an instance made here": lambda x: Scaled().method(x) * x,
    "in containers": lambda x: sum(f(x) for f in FUNCTIONS),
    "mapped": lambda x: sum(map(squared, [x, x * 2.0])),
    "partial": lambda x: partly(x),
    "of arrays": lambda x: np.sum(of_array(np.stack([x, 2.0])) * x),
    "made within": within,
    "too many arguments": lambda x: squared(x, x),
}


@pytest.mark.parametrize("mode", ["source", "auto"])
@pytest.mark.parametrize("name", CASES)
def test_what_was_made_outside_is_read(name, mode):
    f = CASES[name]
    expected = outcome(f, 1.5)
    fast, gradient = wy.compile(f, mode=mode), wy.grad(f, mode=mode)
    if name == "too many arguments":
        assert outcome(fast, 1.5).same_as(expected)
        return
    traced = wy.grad(f, mode="trace")(1.5)
    for _ in range(3):
        assert same(outcome(fast, 1.5), expected)
        assert gradient(1.5) == pytest.approx(traced, rel=1e-14)


def test_another_of_the_name_is_read_anew(monkeypatch):
    def f(x):
        return squared(x) + x

    gradient = wy.grad(f, mode="source")
    assert [gradient(1.5) for _ in range(3)] == [4.0] * 3
    monkeypatch.setitem(globals(), "squared", wy.compile(lambda x: x * x * x))
    assert gradient(1.5) == 7.75
    monkeypatch.setitem(globals(), "squared", wy.grad(lambda x: x * x * x))
    assert gradient(1.5) == 10.0
    monkeypatch.setattr(Scaled, "factor", 5.0)
    assert wy.compile(CASES["methods"], mode="source")(1.5) == 7.5 * 2.25 + 6.5


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda x: with_aux(x)[0], "what grad made with has_aux"),
        (lambda x: wy.compile(squared, mode="trace")(x), "such arguments of compile"),
    ],
)
def test_others_are_refused(f, text):
    with pytest.raises(wy.SourceError, match=text):
        wy.grad(f, mode="source")(1.5)


def test_a_compiled_loss_is_fitted():
    @wy.compile
    def loss(w, x, y):
        return squared(w * x - y)

    w = wy.Parameter(0.0)
    columns = {"x": [1.0, 2.0], "y": [3.0, 6.0]}
    wy.fit(loss, columns, parameters={"w": w}, optimizer=wy.SGD(lr=0.1), epochs=50, batch_size=2)
    assert w.item() == pytest.approx(3.0, abs=1e-6)
