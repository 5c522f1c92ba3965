"""Functions of many lines, whose registers are allocated in another way than those of few, and
functions that stand in many others.
"""

import importlib.util
import math

import numpy as np
import pytest
from conformance import tables

import wyrmling as wy
from wyrmling.source import choose
from wyrmling.source.abstract import exchange, join

STATEMENTS = (
    "    a = a * b + math.sin(x)",
    "    b = b / (1.0 + a * a)",
    "    if a > {0}:\n        a = a - math.exp(-b * b)",
    "    for k in range(n):\n        b = b + a * 0.5 / (k + 1)",
    "    b = math.tanh(b) if b < {0} else b * 0.25",
)


def imported(path, text):
    """A file with this text, as a module."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """A function of some hundred statements."""
    lines = [STATEMENTS[k % 5].format(k % 7 / 8) for k in range(700)]
    text = "\n".join(
        ["import math", "def f(x, y, n):", "    a, b = x, y", *lines, "    return a + b"]
    )
    return imported(tmp_path_factory.mktemp("long") / "long.py", text + "\n").f


def difference(f, x, h=1e-5):
    return (f(x + h) - f(x - h)) / (2 * h)


def test_values_and_first_derivatives(long):
    for x, y, n in ((0.3, 0.4, 2), (-1.25, 0.5, 0), (0.75, 0.25, 1)):
        value, slope = wy.value_and_grad(long, mode="source")(x, y, n)
        assert math.isclose(value, long(x, y, n), rel_tol=1e-12)
        expected = difference(lambda x, y=y, n=n: long(x, y, n), x)
        assert math.isclose(slope, expected, rel_tol=1e-5, abs_tol=1e-7)


def test_second_derivatives(long):
    slope = wy.grad(long, mode="source")
    expected = difference(lambda x: slope(x, 0.4, 1), 0.3)
    found = wy.grad(slope, mode="source")(0.3, 0.4, 1)
    assert math.isclose(found, expected, rel_tol=1e-5, abs_tol=1e-7)


def test_functions_in_functions(tmp_path):
    """CPython compares the code of the innermost of n twice for each of the others: 2**n times."""
    depth = 60
    lines = [f"{' ' * k}def f{k}(x):" for k in range(depth)]
    calls = [f"{' ' * k}return f{k}(x) * 1.5" for k in range(depth - 1, 0, -1)]
    text = "\n".join([*lines, f"{' ' * depth}return x * x", *calls])
    f = imported(tmp_path / "nested.py", text + "\n").f0
    assert math.isclose(wy.grad(f, mode="source")(2.0), 4.0 * 1.5 ** (depth - 1), rel_tol=1e-12)


def test_arrays_that_stay_are_passed_over_where_paths_meet(tmp_path, monkeypatch):
    calls = []
    merged, pairs = join.Merge.merge, exchange._pairs

    def counted(*args):
        calls.append(1)
        return merged(*args)

    def counted_pairs(*args):
        for pair in pairs(*args):
            calls.append(1)
            yield pair

    monkeypatch.setattr(join.Merge, "merge", counted)
    monkeypatch.setattr(exchange, "_pairs", counted_pairs)
    names = [f"p{k}" for k in range(100)]
    lines = [f"    t = t + {name} @ made if t < 1.0 else t * 0.99" for name in names]
    text = "\n".join(["import numpy as np", f"def f(t, {', '.join(names)}):", *lines])
    text = text.replace("):\n", "):\n    made = np.ones(2)\n    made[0] = 0.25\n", 1)
    f = imported(tmp_path / "named.py", f"{text}\n    return t\n").f
    arrays = [np.array([0.5, 0.01 * k]) for k in range(100)]
    value, slope = wy.value_and_grad(f, mode="source")(0.25, *arrays)
    assert 100 <= len(calls) <= 30 * len(names)
    assert math.isclose(value, f(0.25, *arrays), rel_tol=1e-12)
    assert math.isclose(slope, difference(lambda t: f(t, *arrays), 0.25), rel_tol=1e-5)


def test_many_numbers_that_wait_for_one_array(tmp_path):
    """They are kept in memory, and not across blocks of code."""
    items = ", ".join(f"x[{k}] * {k % 7}.5" for k in range(700))
    text = f"import numpy as np\ndef f(x):\n    return np.sum(np.array([{items}]) ** 2)\n"
    f = imported(tmp_path / "waiting.py", text).f
    x = np.linspace(-1.0, 2.0, 700)
    value, slope = wy.value_and_grad(f, mode="source")(x)
    factors = np.arange(700) % 7 + 0.5
    assert math.isclose(value, f(x), rel_tol=1e-12)
    np.testing.assert_allclose(slope, 2.0 * factors**2 * x, rtol=1e-12)
    with pytest.raises(IndexError):
        wy.grad(f, mode="source")(x[:-1])


def doubled_and_turned(x, y, n):
    items = [y, x[0], x[1]]
    for _ in range(n):
        items = items * 2
    turns = 0
    while turns < 3 and n % 2 == 0:
        turns += 1
        items = items[1:] + items[:1]
    return sum(items)


@pytest.mark.parametrize("n", [2, 10])
def test_many_items_of_several_kinds_are_read_in_time_or_traced(n, monkeypatch):
    """An item may be Python's number or NumPy's: where that meets, all items are compared."""
    calls, merged = [], join.Merge.merge

    def counted(*args):
        calls.append(1)
        return merged(*args)

    monkeypatch.setattr(join.Merge, "merge", counted)
    x, y = np.array([0.5, -0.25]), 2.0
    args = x, y, n
    for mode in ("auto", "trace"):
        value, (by_x, by_y) = wy.value_and_grad(doubled_and_turned, argnums=(0, 1), mode=mode)(
            *args
        )
        assert math.isclose(value, 2**n * 2.25, rel_tol=1e-12)
        np.testing.assert_allclose(by_x, [2.0**n, 2.0**n])
        assert by_y == 2.0**n
    assert len(calls) < 200_000
    if n > 2:
        with pytest.raises(wy.SourceError, match="a function of this size"):
            wy.grad(doubled_and_turned, mode="source")(*args)


def test_tables_too_large_to_be_read_run_by_run_are_read_with_loops(monkeypatch):
    """And once: what cannot be traced is compiled for the calls to come."""
    f, read, programs = tables.longest_common_subsequence, choose.program, []

    def counted(*args, **kwargs):
        programs.append(1)
        return read(*args, **kwargs)

    monkeypatch.setattr(choose, "program", counted)
    slope = difference(lambda x: f(x, 24), 0.7123)
    assert math.isclose(wy.grad(f, mode="source")(0.7123, 24), slope, rel_tol=1e-5)
    g = wy.value_and_grad(f)
    for x in (0.7123, 0.8431, 0.9177):
        value, found = g(x, 24)
        assert math.isclose(value, f(x, 24), rel_tol=1e-12)
        assert math.isclose(found, difference(lambda x: f(x, 24), x), rel_tol=1e-5)
    before = len(programs)
    g(0.9534, 24)
    assert len(programs) == before
