"""Random programs in all modes against plain Python; `make random-programs` runs many more."""

import collections

import held
import program
import pytest
import random_programs
import shrinking

import wyrmling as wy

COUNT, BLOCKS = 250, 5


@pytest.mark.parametrize("first", range(0, COUNT, COUNT // BLOCKS))
def test_programs(first):
    ran = collections.Counter()
    for seed in range(first, first + COUNT // BLOCKS):
        made, said = random_programs.run(seed, random_programs.MODES)
        for mode, (result, text) in said.items():
            assert result != "fault", f"program {seed} in {mode}: {text}\n{made.text}"
            ran[mode] += result == "ok"
    assert all(ran[mode] > COUNT // BLOCKS / 2 for mode in random_programs.MODES), ran


@pytest.mark.parametrize("seed", [101089, 150004])
def test_arrays_of_integers_and_lists_of_lists(seed):
    # A view whose array is gone where paths meet; a table that gets numbers of another kind later.
    made, said = random_programs.run(seed, ["source"])
    assert {"integers", "grids"} & made.sorts
    assert said["source"][0] != "fault", said


def test_a_seed_makes_one_program():
    assert program.Program(5).text == program.Program(5).text
    assert len({program.Program(seed).text for seed in range(50)}) == 50


def off(of, by):
    """The transform, wrong by a factor in its value or gradient."""

    def transform(*given, **options):
        f = of(*given, **options)

        def transformed(*args, **kwargs):
            value, gradient = f(*args, **kwargs)
            return by(value, gradient)

        return transformed

    return transform


def point(n):
    return 1.5, 0.7, n, True


TEXT = """
def f(x, y, n, flag):
    v = x * 3.0
    if flag:
        for i in range(3):
            v = v + x * i
            if y > 100:
                raise ValueError('no')
    return v * y
"""
POINTS = [point(2)]


@pytest.mark.parametrize(
    "by",
    [
        lambda y, g: (y * (1 + 2e-16 * 2), g),
        lambda y, g: (y, tuple(part * (1 + 1e-9) for part in g)),
        lambda y, g: (y, g[::-1]),
        lambda y, g: (y, tuple(-part for part in g)),
    ],
)
def test_what_is_wrong_is_noticed_and_shrunk(monkeypatch, by):
    assert random_programs.faults(TEXT, POINTS, "trace", 2) == []
    monkeypatch.setattr(held.wy, "value_and_grad", off(wy.value_and_grad, by))
    found = random_programs.faults(TEXT, POINTS, "trace", 1)
    assert len(found) == 1

    small, fault = random_programs.smallest(TEXT, POINTS, "trace", found[0], 1)
    assert random_programs.kind(fault) == random_programs.kind(found[0])
    assert len(small.splitlines()) == 2


def test_points_at_which_a_program_is_long_are_left_out():
    text = """
def h(n):
    return sum([k for k in range(n)])

def f(x, y, n, flag):
    try:
        for i in range(n):
            x = x + h(n)
    except Exception:
        pass
    return x
"""
    short = [n for n in (-1, 4, 99, 100, 10**6, 2**70) if random_programs.is_short(text, point(n))]
    assert short == [-1, 4, 99]
    _, said = random_programs.run(230944, ["source"])
    assert said["source"][0] == "ok"


def test_exceptions_have_to_be_the_same():
    f = random_programs.function("def f(x, y):\n    y = x / y\n    return y\n")
    plain = held.Held(f, (1.0, 0.0), {})
    said = repr(plain.value)
    assert said.startswith("ZeroDivisionError('")
    assert said.endswith("division by zero') at line 2")
    other = random_programs.function("def f(x, y):\n\n    return x / y\n")
    assert not plain.value.same_as(held.Held(other, (1.0, 0.0), {}).value)


def test_shrinking_keeps_what_it_is_told_to():
    text = program.Program(8).text
    assert "range(" in text
    small = shrinking.shrunk(text, lambda candidate: "range(" in candidate)
    assert "range(" in small
    assert len(small.splitlines()) <= 3
