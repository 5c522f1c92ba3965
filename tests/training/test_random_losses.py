"""fit of random losses over ragged data, and over numbers, whose batches may be computed at once:
the loss, and a step, against plain Python."""

import linecache
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wyrmling as wy

ARRAYS = [
    *("xs", "xs * w", "np.tanh(xs)", "xs[::-1]", "np.sort(xs)", "xs * n", "xs + len(xs)"),
    *("(xs - w) / (n + 1)", "np.cumsum(xs)", "np.abs(xs)", "np.where(xs > w, xs, 0.5)"),
]
SAMPLES = 5
NAMES = ("s", "w", "y")


def expression(draw: random.Random, depth: int, *names: str) -> str:
    """Arithmetic of numbers."""

    def part() -> str:
        return expression(draw, depth - 1, *names)

    kind = draw.random()
    if depth == 0 or kind < 0.35:
        return draw.choice([*NAMES, *names, "0.5", "1.5", "-0.25"])
    if kind < 0.7:
        return f"({part()} {draw.choice('+-*')} {part()})"
    if kind < 0.8:
        return f"np.tanh({part()})"
    if kind < 0.86:
        return f"max({part()}, {part()})"
    if kind < 0.9:
        return f"abs({part()})"
    if kind < 0.95:
        return f"({part()} if {part()} > {part()} else {part()})"
    return "[1.0, 2, 0.5, -1.0, 3.0][n % 5]"


def statements(draw: random.Random) -> list[str]:
    """A change of ``s`` by data."""
    array, one, two = draw.choice(ARRAYS), expression(draw, 1), expression(draw, 2)
    return draw.choice(
        [
            [f"for x in {array}:", f"    s = np.tanh({expression(draw, 2, 'x')})"],
            [
                "z = np.zeros(len(xs) + 1)",
                "for t in range(len(xs)):",
                f"    z[t + 1] = np.tanh(z[t] * {one} + xs[t])",
                f"s = s + z[-1] * {one}",
            ],
            [f"if len(xs) > {draw.randint(0, 3)}:", f"    s += max({array})"],
            [f"s = s + np.sum({array})"],
            [
                "made = []",
                f"for x in {array}:",
                f"    if x > {one}:",
                "        made.append(np.tanh(x * w))",
                "s = s + sum(made)",
            ],
            ["for i in range(n):", f"    s = np.tanh({two} + i * 0.1)"],
            ["q = np.zeros(n + 1)", "for i in range(n):", f"    q[i] = {two}", "s += q.sum()"],
            [
                "for i, x in enumerate(xs):",
                "    if i % 2 == 0: continue",
                "    if x > 1.5: break",
                f"    s += x * {one}",
            ],
            ["h = np.zeros(2)", "for x in xs:", "    h = np.tanh(V @ h + x)", f"s += h[0] * {one}"],
            [f"s = s + P[n] * {one}", "for i in items:", "    s = s + P[i] * w"],
        ]
    )


def made(draw: random.Random) -> tuple[str, Callable[..., Any]]:
    """A loss and its text. It depends on all parameters."""
    lines = ["s = 0.0", *(line for _ in range(draw.randint(1, 4)) for line in statements(draw))]
    lines.append("return np.tanh(s) + 0.0 * w + 0.0 * V[0, 0] + 0.0 * P[0]")
    return defined(lines, "w, V, P, xs, items, y, n")


def defined(lines: list[str], arguments: str) -> tuple[str, Callable[..., Any]]:
    """A function of these lines, and its text."""
    text = f"def loss({arguments}):\n" + "".join(f"    {line}\n" for line in lines)
    file, found = "<a random loss>", {"np": np}
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    exec(compile(text, file, "exec"), found)
    return text, found["loss"]


def slope(of: Callable[[Any], float], at: Any) -> tuple[Any, bool]:
    """Differences, and whether they are the same for two steps: there is no kink."""
    value, found = np.array(at, dtype=float), []
    for step in (1e-6, 2e-6):
        slopes = np.zeros_like(value)
        for place in np.ndindex(value.shape):
            for way in (step, -step):
                moved = np.array(value)
                moved[place] += way
                slopes[place] += of(moved if moved.ndim else moved[()]) * np.sign(way)
        found.append(slopes / (2.0 * step))
    return found[0], np.allclose(*found, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("seed", range(60))
def test_losses(seed: int) -> None:
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    text, loss = made(draw)
    lengths = rng.integers(0, 6, SAMPLES) if seed % 3 else [draw.randint(0, 11)] * SAMPLES
    columns = {
        "xs": wy.Ragged(rng.normal(size=sum(lengths)), np.cumsum([0, *lengths])),
        "items": wy.Ragged.from_list([[0], *(rng.integers(0, 5, n) for n in (2, 0, 3, 1))]),
        "y": rng.normal(size=SAMPLES),
        "n": rng.integers(0, 5, SAMPLES),
    }
    starts = {"w": rng.normal(), "V": rng.normal(size=(2, 2)) * 0.5, "P": rng.normal(size=5)}
    samples = [
        {
            "xs": columns["xs"][at],
            "items": columns["items"][at],
            "y": float(columns["y"][at]),
            "n": int(columns["n"][at]),
        }
        for at in range(SAMPLES)
    ]

    check(text, loss, columns, samples, starts)


def check(
    text: str,
    loss: Callable[..., Any],
    columns: dict[str, Any],
    samples: list[dict[str, Any]],
    starts: dict[str, Any],
) -> None:
    """A step on all samples is what Python and differences say."""

    def total(**changed: Any) -> float:
        return sum(float(loss(**(starts | changed), **sample)) for sample in samples)

    parameters = {name: wy.Parameter(start) for name, start in starts.items()}
    settings: dict[str, Any] = {"optimizer": wy.SGD(lr=1.0), "batch_size": SAMPLES}
    history = wy.fit(loss, columns, parameters=parameters, **settings)
    assert history.loss == pytest.approx([total()], rel=1e-9, abs=1e-9), text
    for name, start in starts.items():
        wanted, smooth = slope(lambda value, name=name: total(**{name: value}), start)
        if smooth:
            found = start - parameters[name].value
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5, err_msg=text)


def conditions(draw: random.Random) -> str:
    """What numbers, an integer or a truth value of a sample say."""
    return draw.choice(
        [
            f"{expression(draw, 1, *OTHERS)} {draw.choice('<>')} {expression(draw, 1, *OTHERS)}",
            f"n {draw.choice(['<', '>', '==', '!=', '<=', '>='])} {draw.randint(0, 4)}",
            "flag",
        ]
    )


OTHERS = ("t", "z", "p", "P[n]")
ALL = "0.0 * (w + V[0, 0] + p)"


def nested(draw: random.Random, depth: int, in_loop: bool = False) -> list[str]:
    """Statements in loops and branches."""
    lines = []
    for _ in range(draw.randint(1, 3)):
        kind = draw.random()
        if depth == 0 or kind < 0.4:
            changed, value = draw.choice("stz"), expression(draw, 2, *OTHERS)
            lines.append(draw.choice(["s, t, z = t, z, s", f"{changed} = np.tanh({value})"]))
        elif kind < 0.6:
            lines.append(f"if {conditions(draw)}:")
            lines += [f"    {line}" for line in nested(draw, depth - 1, in_loop)]
        elif kind < 0.8:
            lines.append(f"for _ in range({draw.choice(['n', 'm', 'n', '2'])}):")
            lines += [f"    {line}" for line in nested(draw, depth - 1, True)]
        elif kind < 0.87 and in_loop:
            lines.append(f"if {conditions(draw)}: {draw.choice(['break', 'continue'])}")
        elif kind < 0.93:
            lines.append(f"if {conditions(draw)}: return {expression(draw, 1, *OTHERS)} + {ALL}")
        else:
            lines += [f"v, u = u * {expression(draw, 1, *OTHERS)}, np.tanh(v)", "s = s + v.sum()"]
    return lines


@pytest.mark.parametrize("seed", range(80))
def test_losses_of_numbers(seed: int) -> None:
    """Loops as long as a sample says, ways out of them, and values that change places in them."""
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    lines = ["s, t, z = w, y, P[n]", "p, v, u = P[m], V[0], y * V[1]", *nested(draw, 3)]
    lines.append("return np.tanh(s - 0.5 * t) + 0.3 * z + v.sum() + " + ALL)
    text, loss = defined(lines, "w, V, P, y, n, m, flag")
    columns = {
        "y": rng.normal(size=SAMPLES),
        "n": rng.integers(seed % 3, 5, SAMPLES),
        "m": rng.integers(0, 3, SAMPLES),
        "flag": rng.random(SAMPLES) < 0.5,
    }
    samples = [{name: of[at].item() for name, of in columns.items()} for at in range(SAMPLES)]
    starts = {"w": rng.normal(), "V": rng.normal(size=(2, 2)) * 0.5, "P": rng.normal(size=5)}
    check(text, loss, columns, samples, starts)
