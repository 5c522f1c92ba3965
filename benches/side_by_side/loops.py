"""Functions that are read: loops and branches of plain Python, differentiated without tracing.

JAX has its compiled ``scan`` and ``fori_loop``, PyTorch runs eagerly. Where reading a function is
refused the side is left out with a line.
"""

from __future__ import annotations

import argparse
import inspect
import linecache
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import wyrmling as wy

from . import by_hand
from .peers import Peers
from .rows import OURS, READ, Row, Run, Target, check, micro, microseconds


def read(transform: Callable[..., Any], f: Callable[..., Any], *of: Any) -> Any:
    """A transform of ``f`` that reads it, tried at these arguments; None if it cannot be."""
    transformed = transform(f, mode="source")
    try:
        transformed(*of)
    except NotImplementedError as error:  # wy.SourceError
        print(f"  reading {f.__name__} is refused: {str(error).splitlines()[0]}")
        return None
    return transformed


def sine_loop(x: float) -> float:
    """A thousand steps of a scalar recurrence."""
    for _ in range(1000):
        x = math.sin(x) * 1.01 + 0.1 * x
    return x


def _sine_loop_by_hand(x: float) -> float:
    slope = 1.0
    for _ in range(1000):
        slope *= math.cos(x) * 1.01 + 0.1
        x = math.sin(x) * 1.01 + 0.1 * x
    return slope


def sines_in_a_loop(peers: Peers, options: argparse.Namespace) -> Row:
    """The gradient of the loop of a thousand sines."""
    start = 0.7
    expected = [_sine_loop_by_hand(start)]
    sides: dict[str, Run] = {}
    if gradient := read(wy.grad, sine_loop, start):
        check(READ, [gradient(start)], expected)
        sides[READ] = micro(lambda: gradient(start))
    if jax := peers.jax:
        numpy = jax.numpy

        def step(x: Any) -> Any:
            return numpy.sin(x) * 1.01 + 0.1 * x

        def scan(x: Any) -> Any:
            return jax.lax.scan(lambda x, _: (step(x), None), x, None, length=1000)[0]

        def fori(x: Any) -> Any:
            return jax.lax.fori_loop(0, 1000, lambda _, x: step(x), x)

        for name, f in [("JAX, scan", scan), ("JAX, fori_loop", fori)]:
            compiled = jax.jit(jax.grad(f))
            check(name, [compiled(start)], expected)
            sides[name] = micro(lambda compiled=compiled: compiled(start).block_until_ready())
    if torch := peers.torch:

        def with_torch() -> Any:
            x = first = torch.tensor(start, dtype=torch.float64, requires_grad=True)
            for _ in range(1000):
                x = torch.sin(x) * 1.01 + 0.1 * x
            x.backward()
            return first.grad

        check("PyTorch", [with_torch()], expected)
        sides["PyTorch"] = micro(with_torch)
    sides["Python by hand"] = micro(lambda: _sine_loop_by_hand(start))
    if options.hand:
        sides["Rust by hand"] = by_hand.loop(options.hand, "sines")
    text = "at most 0.6 of JAX's"
    targets = [Target(f"{text} {n}", READ, f"JAX, {n}", most=0.6) for n in ("scan", "fori_loop")]
    targets.append(Target("at most 1.25 of Rust by hand", READ, "Rust by hand", most=1.25))
    return Row("gradient of 1000 steps x = sin(x)*1.01 + 0.1*x", "µs", microseconds, sides, targets)


def horner(c: Any, x: float) -> Any:
    """The value of a polynomial."""
    y = 0.0
    for k in range(len(c)):
        y = y * x + c[k]
    return y


def elements(peers: Peers, options: argparse.Namespace) -> Row:
    """Horner's rule over 10⁴ coefficients: gradients by all of them."""
    c, x = np.random.default_rng(1).normal(size=10_000), 0.999
    expected = [x ** np.arange(len(c) - 1.0, -1.0, -1.0)]
    sides: dict[str, Run] = {}
    if gradient := read(wy.grad, horner, c, x):
        check(READ, [gradient(c, x)], expected)
        sides[READ] = micro(lambda: gradient(c, x))
    if gradient:
        value = wy.compile(horner)
        check("value", [value(c, x)], [horner(c, x)])
        sides[f"{READ}, value"] = micro(lambda: value(c, x))
        long = np.random.default_rng(1).normal(size=10 * len(c))
        sides[f"{READ}, ten times as many"] = micro(lambda: gradient(long, x))
    if jax := peers.jax:

        def scan(c: Any, x: Any) -> Any:
            return jax.lax.scan(lambda y, k: (y * x + k, None), 0.0, c)[0]

        by_jax, array = jax.jit(jax.grad(scan)), jax.numpy.asarray(c)
        check("JAX", [by_jax(array, x)], expected)
        sides["JAX, scan"] = micro(lambda: by_jax(array, x).block_until_ready())
    sides["Python, value"] = micro(lambda: horner(c, x))
    return Row(
        "Horner's rule over 10,000 numbers, gradient by all of them",
        "µs",
        microseconds,
        sides,
        [
            Target("at most 4 times its value", READ, f"{READ}, value", most=4.0),
            Target("linear in the length", f"{READ}, ten times as many", READ, most=13.0),
        ],
    )


def rosenbrock(x: Any) -> Any:
    """Rosenbrock's function."""
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def rosenbrock_by_elements(x: Any) -> Any:
    """Rosenbrock's function, as a loop over elements."""
    s = 0.0
    for i in range(len(x) - 1):
        s = s + 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return s


def _rosenbrock_hessian(x: Any) -> Any:
    """Its Hessian, by hand."""
    diagonal = np.zeros_like(x)
    diagonal[:-1] = 2.0 - 400.0 * (x[1:] - 3.0 * x[:-1] ** 2)
    diagonal[1:] += 200.0
    beside = -400.0 * x[:-1]
    return np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)


def hessian_of(f: Callable[[Any], Any], how: str) -> Callable[[Peers, argparse.Namespace], Row]:
    """The Hessian of Rosenbrock's function of 100 numbers."""

    def row(peers: Peers, options: argparse.Namespace) -> Row:
        x = np.random.default_rng(1).normal(size=100)
        expected = [_rosenbrock_hessian(x)]
        sides: dict[str, Run] = {}
        if hessian := read(wy.hessian, f, x):
            check(READ, [hessian(x)], expected)
            sides[READ] = micro(lambda: hessian(x))
        sides["NumPy by hand"] = micro(lambda: _rosenbrock_hessian(x))
        if jax := peers.jax:
            numpy = jax.numpy

            def value(x: Any) -> Any:
                return numpy.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)

            compiled, given = jax.jit(jax.hessian(value)), numpy.asarray(x)
            check("JAX", [compiled(given)], expected)
            sides["JAX, arrays"] = micro(lambda: compiled(given).block_until_ready())
        text = f"Hessian of Rosenbrock's function of 100 numbers, {how}"
        targets = [Target("under 200 µs", READ, most=2e-4)]
        return Row(text, "µs", microseconds, sides, targets)

    return row


def mul_tr(a: Any, b: Any) -> Any:
    """The function of the post."""
    return np.trace(a @ b)


def trace_of_plain_matrices(peers: Peers, options: argparse.Namespace) -> Row:
    """``mul_tr`` of plain matrices and both gradients."""
    a, b = np.random.default_rng(1).normal(size=(2, 30, 30))
    expected = (b.T, a.T)
    sides: dict[str, Run] = {}
    if gradient := read(lambda f, **o: wy.value_and_grad(f, (0, 1), **o), mul_tr, a, b):
        check(READ, gradient(a, b)[1], expected)
        sides[READ] = micro(lambda: gradient(a, b))
    by_default = wy.value_and_grad(mul_tr, (0, 1))
    sides[f"{OURS}, auto"] = micro(lambda: by_default(a, b))

    def by_hand() -> Any:
        return np.trace(a @ b), (b.T.copy(), a.T.copy())

    sides["NumPy by hand"] = micro(by_hand)
    if jax := peers.jax:
        compiled = jax.jit(jax.value_and_grad(lambda p, q: jax.numpy.trace(p @ q), (0, 1)))
        given = jax.numpy.asarray(a), jax.numpy.asarray(b)
        check("JAX", compiled(*given)[1], expected)
        sides["JAX, jit"] = micro(lambda: jax.block_until_ready(compiled(*given)))
    return Row(
        "mul_tr of plain 30x30 float64, value and both gradients",
        "µs",
        microseconds,
        sides,
        [Target("at most 1.2 of NumPy by hand", READ, "NumPy by hand", most=1.2)],
    )


def recurrent(w: Any, x: Any) -> Any:
    """A recurrent network over the rows of ``x``."""
    h = np.zeros(32)
    for t in range(100):
        h = np.tanh(x[t] @ w + h)
    return np.sum(h)


def recurrent_network(peers: Peers, options: argparse.Namespace) -> Row:
    """The gradient by the weights of a hundred steps of 32 numbers."""
    rng = np.random.default_rng(1)
    w, x = rng.normal(size=(32, 32)) / 32, rng.normal(size=(100, 32))
    sides: dict[str, Run] = {}

    def by_hand() -> Any:
        states = [np.zeros(32)]
        for t in range(100):
            states.append(np.tanh(x[t] @ w + states[-1]))
        gradient, back = np.zeros_like(w), np.ones(32)
        for t in range(99, -1, -1):
            back = back * (1 - states[t + 1] ** 2)
            gradient += np.outer(x[t], back)
        return gradient

    expected = [by_hand()]
    if gradient := read(wy.grad, recurrent, w, x):
        check(READ, [gradient(w, x)], expected)
        sides[READ] = micro(lambda: gradient(w, x))
    by_default = wy.grad(recurrent)
    check(OURS, [by_default(w, x)], expected)
    sides[f"{OURS}, auto"] = micro(lambda: by_default(w, x))
    sides["NumPy by hand"] = micro(by_hand)
    if jax := peers.jax:
        numpy = jax.numpy

        def scan(w: Any, x: Any) -> Any:
            h = jax.lax.scan(lambda h, v: (numpy.tanh(v @ w + h), None), numpy.zeros(32), x)[0]
            return numpy.sum(h)

        compiled, given = jax.jit(jax.grad(scan)), (numpy.asarray(w), numpy.asarray(x))
        check("JAX", [compiled(*given)], expected)
        sides["JAX, scan"] = micro(lambda: compiled(*given).block_until_ready())
    if torch := peers.torch:
        tw, tx = torch.tensor(w, requires_grad=True), torch.tensor(x)

        def with_torch() -> Any:
            tw.grad = None
            h = torch.zeros(32, dtype=torch.float64)
            for t in range(100):
                h = torch.tanh(tx[t] @ tw + h)
            h.sum().backward()
            return tw.grad

        check("PyTorch", [with_torch()], expected)
        sides["PyTorch"] = micro(with_torch)
    return Row(
        "h = tanh(x[t] @ W + h), 100 steps of 32 float64, gradient by W",
        "µs",
        microseconds,
        sides,
        [
            Target("ahead of JAX's compiled scan", READ, "JAX, scan", most=1.0),
            Target("20 times ahead of PyTorch", "PyTorch", READ, least=20.0),
        ],
    )


def newton_sqrt(a: float, n: int = 20) -> float:
    """A square root by Newton's iteration, which stops when it is found."""
    x = a
    for _ in range(n):
        if abs(x * x - a) < 1e-12:
            break
        x = 0.5 * (x + a / x)
    return x


def newton(peers: Peers, options: argparse.Namespace) -> Row:
    """A hundred gradients, at arguments that take different numbers of iterations."""
    points = [float(a) for a in np.geomspace(1e-3, 1e4, 100)]
    expected = [0.5 / math.sqrt(a) for a in points]
    sides: dict[str, Run] = {}
    for name, options_ in [(READ, {"mode": "source"}), (f"{OURS}, auto", {})]:
        if options_ and not (gradient := read(wy.grad, newton_sqrt, points[0])):
            continue
        gradient = wy.grad(newton_sqrt, **options_)
        check(name, [gradient(a) for a in points[10:]], expected[10:])
        sides[name] = micro(lambda gradient=gradient: [gradient(a) for a in points])
    return Row(
        "100 gradients of Newton's square root, 1 to 20 iterations (JAX has none of while_loop)",
        "µs",
        microseconds,
        sides,
    )


def rational(x: float, y: float) -> float:
    """A few operations on two numbers."""
    return x * y / (1.0 + x * x) - y


def call(peers: Peers, options: argparse.Namespace) -> Row:
    """A call of a compiled scalar gradient: what a call costs."""
    x, y = 1.5, 0.5
    expected = [y * (1 - x * x) / (1 + x * x) ** 2]
    sides: dict[str, Run] = {}
    if gradient := read(wy.grad, rational, x, y):
        check(READ, [gradient(x, y)], expected)
        sides[READ] = micro(lambda: gradient(x, y))
    by_default = wy.grad(rational)
    sides[f"{OURS}, auto"] = micro(lambda: by_default(x, y))
    sides["the function in Python"] = micro(lambda: rational(x, y))
    if jax := peers.jax:
        compiled = jax.jit(jax.grad(rational))
        check("JAX", [compiled(x, y)], expected)
        sides["JAX, jit"] = micro(lambda: compiled(x, y).block_until_ready())
    targets = [Target("under 2 µs", READ, most=2e-6)]
    return Row("gradient of a few operations, one call", "µs", microseconds, sides, targets)


def first_call(peers: Peers, options: argparse.Namespace) -> Row:
    """From a function never seen to its gradient: reading, differentiating, compiling."""
    text = inspect.getsource(sine_loop)
    sides: dict[str, Run] = {}

    def made(count: list[int]) -> Callable[..., Any]:
        count[0] += 1
        name = f"<first call {count[0]}>"
        body = text.replace("1.01", f"1.01{count[0]:05}")
        linecache.cache[name] = (len(body), None, body.splitlines(keepends=True), name)
        space: dict[str, Any] = {"math": math, "__name__": "first_call"}
        exec(compile(body, name, "exec"), space)
        function: Callable[..., Any] = space["sine_loop"]
        return function

    count = [0]
    if read(wy.grad, sine_loop, 0.7):

        def ours() -> list[float]:
            f = made(count)
            start = time.perf_counter()
            wy.grad(f, mode="source")(0.7)
            return [time.perf_counter() - start]

        sides[READ] = ours
    if jax := peers.jax:

        def with_jax() -> list[float]:
            count[0] += 1
            c = 1.01 + count[0] * 1e-6
            f = jax.jit(
                jax.grad(
                    lambda x: jax.lax.fori_loop(
                        0, 1000, lambda _, x: jax.numpy.sin(x) * c + 0.1 * x, x
                    )
                )
            )
            start = time.perf_counter()
            f(0.7).block_until_ready()
            return [time.perf_counter() - start]

        sides["JAX, fori_loop"] = with_jax
    return Row(
        "first gradient of the loop of 1000 sines",
        "µs",
        microseconds,
        sides,
        [Target("under 10 ms", READ, most=10e-3)],
        repeats=5,
    )


def logistic(x: float, n: int) -> float:
    """Arithmetic of numbers."""
    for _ in range(n):
        x = 3.7 * x * (1.0 - x)
    return x


def squares(c: Any, mean: float) -> float:
    """A sum over the elements of an array."""
    s = 0.0
    for k in range(len(c)):
        d = c[k] - mean
        s += d * d
    return s


def thirds(n: int) -> int:
    """A branch by a remainder."""
    s = 0
    for i in range(n):
        if i % 3 == 0:
            s += i
        else:
            s -= 1
    return s


def collatz(most: int) -> int:
    """Counting with integers."""
    steps = 0
    for k in range(1, most):
        n = k
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
    return steps


def value_of(
    f: Callable[..., Any], of: Callable[[], Sequence[Any]]
) -> Callable[[Peers, argparse.Namespace], Row]:
    """A loop's value alone, beside Python's and the same loop in Rust."""

    def row(peers: Peers, options: argparse.Namespace) -> Row:
        args = of()
        compiled = wy.compile(f)
        check(READ, [compiled(*args)], [f(*args)])
        sides = {READ: micro(lambda: compiled(*args)), "Python": micro(lambda: f(*args))}
        if options.hand:
            sides["Rust by hand"] = by_hand.loop(options.hand, f.__name__)
        target = Target("at most 1.25 of Rust by hand", READ, "Rust by hand", most=1.25)
        return Row(f"wy.compile: {f.__name__}", "µs", microseconds, sides, [target])

    return row


def _waves() -> Any:
    return np.sin(0.37 * np.arange(10_000))


ROWS = {
    "compile-logistic": value_of(logistic, lambda: (0.3, 10_000)),
    "compile-horner": value_of(horner, lambda: (_waves(), 0.999)),
    "compile-squares": value_of(squares, lambda: (_waves(), 0.1)),
    "compile-thirds": value_of(thirds, lambda: (10_000,)),
    "compile-collatz": value_of(collatz, lambda: (300,)),
    "sine-loop": sines_in_a_loop,
    "horner": elements,
    "rosenbrock": hessian_of(rosenbrock, "of arrays"),
    "rosenbrock-loop": hessian_of(rosenbrock_by_elements, "a loop over elements"),
    "mul-tr": trace_of_plain_matrices,
    "recurrent": recurrent_network,
    "newton": newton,
    "scalar-call": call,
    "first-call": first_call,
}
