"""Random functions that call themselves and each other, against plain Python and derivatives by
series; how deep they may go, and what they may not do.
"""

import math
import random
import sys
import threading

import numpy as np
import pytest
from held import Held, Refused
from random_programs import function, once

import wyrmling as wy


class Recursive:
    """The text of a random function of two floats and an integer, which calls those within it."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.pair = self.random.random() < 0.3
        self.counts = self.random.random() < 0.4
        self.keeps = self.random.random() < 0.4
        names = ["go", "hop"] if self.random.random() < 0.4 else ["go"]
        lines = ["import math", "def f(x, y, n):", "    total = 0.0", "    kept = [x, y, 0.5]"]
        for name in names:
            lines += ["    " + line for line in self.function(name, names)]
        lines += [
            f"    u = {self.number('go(x, y, n)')}",
            f"    v = {self.number('go(y, u * 0.1, n - 1)')}",
            "    return u + 0.3 * v + total * 0.01 + kept[0] * kept[2]",
        ]
        self.text = "\n".join(lines) + "\n"

    def choice(self, *options):
        return self.random.choice(options)

    def number(self, call):
        """A call as a number."""
        return f"{call}[0] * 0.5 + {call}[1]" if self.pair else call

    def expression(self, names, depth=2):
        if depth == 0 or self.random.random() < 0.2:
            return self.choice(*names, "0.7", "1.3")
        one, two = self.expression(names, depth - 1), self.expression(names, depth - 1)
        return self.choice(
            f"({one} + {two})",
            f"({one} - 0.5 * {two})",
            f"math.tanh({one}) * {two}",
            f"math.sin({one})",
            f"{one} / (1.5 + math.cos({two}))",
            f"({one} if {two} > 0.4 else {two})",
        )

    def result(self, names):
        first = self.expression(names)
        return f"({first}, {self.expression(names)})" if self.pair else first

    def function(self, name, all_names):
        names = ["a", "b", "x"]
        lines = [f"def {name}(a, b, k):"]
        if self.counts:
            lines.append("    nonlocal total")
        end = self.choice("k <= 0", "k <= 0 or a * b > 3.0", "k < 1 and a < 9.0 or k < 0")
        lines.append(f"    if {end}:")
        if self.counts:
            lines.append("        total += a")
        lines.append(f"        return {self.result(names)}")
        for at in range(self.random.randint(1, 3)):
            own = f"c{at}"
            lines.append(f"    {own} = {self.expression(names)}")
            names.append(own)
            lines += ["    " + line for line in self.call(f"r{at}", names, all_names)]
            names.append(f"r{at}")
            if self.keeps:
                place = self.random.randint(0, 2)
                lines.append(f"    kept[{place}] = math.tanh(kept[{place}] + {own})")
                names.append(f"kept[{place}]")
            if self.counts:
                lines.append(f"    total = total * 0.9 + {own}")
        return [*lines, f"    return {self.result(names)}"]

    def call(self, target, names, functions):
        first, second = self.expression(names), self.expression(names)
        less = self.choice("k - 1", "k - 2", "k // 2 - 1")
        call = self.number(f"{self.choice(*functions)}({first}, {second}, {less})")
        way = self.random.random()
        if way < 0.5:
            return [f"{target} = {call}"]
        if way < 0.7:
            return [f"{target} = {call} if {first} > 0.2 else {second}"]
        if way < 0.85:
            return [f"{target} = a", f"if {second} < 0.9:", f"    {target} = {call}"]
        return [
            f"{target} = b",
            "for t in range(2):",
            f"    {target} = 0.3 * {target} + t * a + ({call})",
        ]


POINTS = [(0.7, 1.2, 3), (-0.4, 0.9, 2), (1.1, -0.3, 0)]


def check(seed):
    """What is wrong with a random function; None if it is refused."""
    text = Recursive(seed).text
    f = function(text)
    found = []
    try:
        with once():
            for at, point in enumerate(POINTS):
                orders = 3 if at == 0 and seed % 12 == 0 else 1
                found += Held(f, point, {}).faults("source", orders)
    except Refused:
        return None
    return [text, *found] if found else []


def test_random_functions_are_what_python_makes_of_them():
    found = {seed: check(seed) for seed in range(24)}
    assert not any(found.values()), "\n".join(next(filter(None, found.values())))
    assert sum(result is not None for result in found.values()) >= 22


def down(x):
    return 0.0 if x <= 0 else down(x - 1) + 1e-3 * x


def test_too_deep_is_python_s_error_and_deep_enough_is_none():
    compiled = wy.compile(down)
    gradient = wy.grad(down, mode="source")
    assert compiled(500.0) == down(500.0)
    assert gradient(500.0) == pytest.approx(0.5)
    for call in (compiled, gradient):
        with pytest.raises(RecursionError):
            call(1e6)
    assert compiled(500.0) == down(500.0)


def test_the_depth_is_that_of_the_time_of_reading():
    before = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(30_000)
        gradient = wy.grad(lambda x: deep(x, 20_000.0), mode="source")
        # Reading takes the stack that Python takes; what was read takes none.
        assert gradient(1.0) == pytest.approx(math.exp(2.0), rel=1e-3)
        small = []
        old = threading.stack_size(64 << 10)
        try:
            thread = threading.Thread(target=lambda: small.append(gradient(1.0)))
            thread.start()
            thread.join()
        finally:
            threading.stack_size(old)
        assert small == [pytest.approx(math.exp(2.0), rel=1e-3)]
    finally:
        sys.setrecursionlimit(before)


def deep(x, n):
    return x if n <= 0 else deep(x, n - 1) * (1 + 1e-4)


def test_a_program_serves_all_integers():
    compiled = wy.compile(lambda x, n: times(x, n))
    for n in range(40):
        assert compiled(1.1, n) == times(1.1, n)


def times(x, n):
    return 1.0 if n == 0 else x * times(x, n - 1)


def test_derivatives_within_and_around():
    def h(y):
        return y * y if y < 1 else h(y / 2) * y

    def go(y):
        return y if y < 1 else wy.grad(h)(y) * go(y / 3)

    x, step = 2.7, 1e-5
    slope = (wy.grad(h)(x + step) - wy.grad(h)(x - step)) / (2 * step)
    hessian = wy.grad(wy.grad(h, mode="source"), mode="source")
    assert hessian(x) == pytest.approx(slope, rel=1e-6)
    value = wy.grad(h, mode="trace")(x) * (x / 3)
    assert wy.compile(go)(x) == pytest.approx(value)
    assert wy.grad(go, mode="source")(x) == pytest.approx(wy.grad(go, mode="trace")(x))


def test_hessians_of_recursions():
    def f(v):
        def go(a, b, k):
            return a * b if k <= v[0] * 0 else go(b * 1.1, a * a + b, k - 1) * a

        return go(v[0], v[1], 3.0)

    v = np.array([0.8, 0.6])
    expected = wy.hessian(f, mode="trace")(v)
    np.testing.assert_allclose(wy.hessian(f, mode="source")(v), expected, rtol=1e-12)
