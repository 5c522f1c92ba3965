"""When auto traces, when it compiles, and when it stops compiling: counted, not timed."""

import functools
import gc
import inspect
import linecache
import math
import sys
import threading
import types

import numpy as np
import pytest

import wyrmling as wy
from wyrmling.source import choose, policy

KEY = ("auto", "grad", 0, False)
RATE = 2.0
ROWS = [1.0]


def made(text, file, **names):
    """A function that exec makes, whose text is there."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    found = {"math": math, "np": np, **names}
    exec(compile(text, file, "exec"), found)
    return found["f"]


def compiled(f):
    """How many programs there are for a function under grad in auto."""
    return sum(each.compiled is not None for each in choose.record(f, KEY).table.entries)


def counter(body="x * x"):
    """A function that counts how often Python runs it, in a way that cannot be read."""
    return made(f"def f(x):\n    runs.append({{x.__class__}})\n    return {body}\n", "<c>", runs=[])


def test_what_is_called_once_is_not_compiled():
    f = made("def f(x):\n    return x * x\n", "<once>")
    slope = wy.grad(f, mode="auto")
    assert slope(3.0) == 6.0
    assert compiled(f) == 0
    # Another signature is new again.
    assert slope(np.float32(3.0)) == 6.0
    assert compiled(f) == 0
    assert slope(3.0) == slope(3.0) == 6.0
    assert compiled(f) == 1


@pytest.mark.parametrize("dtype", [">f8", "<i4", "u1"])
def test_arrays_of_a_type_that_is_traced_leave_others_compiled(dtype):
    f = made("def f(x, y):\n    return x * np.sum(y)\n", f"<types {dtype}>")
    slope = wy.grad(f, mode="auto")
    for _ in range(policy.MOST_ASKED + 1):
        assert slope(3.0, np.array([1, 0]).astype(dtype)) == 1.0
    assert len(choose.record(f, KEY).table.entries) == 1
    assert slope(3.0, np.array([1.5, 2.5])) == 4.0
    assert compiled(f) == 1


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    for _ in range(3):\n        x = x * x\n    return x\n",
        "def f(x):\n    while x < 2.0:\n        x = x * 1.5\n    return x\n",
        "def f(x):\n    return sum([x * k for k in range(3)])\n",
        "def f(x):\n    def g(y):\n        while y < 2.0:\n            y = y*y\n        return y\n"
        "    return g(x) * x\n",
    ],
)
def test_a_loop_is_compiled_at_once(text):
    f = made(text, "<loop>")
    assert wy.grad(f, mode="auto")(1.5) == wy.grad(f, mode="trace")(1.5)
    assert compiled(f) == 1


def test_making_a_transform_reads_nothing(monkeypatch):
    monkeypatch.setattr(choose, "known", lambda *_: pytest.fail("it was asked"))
    slope = wy.grad(lambda x: x * x, mode="auto")
    assert slope.__name__ == "grad_lambda"
    assert slope.__wrapped__(3.0) == 9.0
    assert "The grad of <lambda>." in slope.__doc__
    assert slope.__module__ == __name__
    assert functools.wraps(slope)(lambda: None).__name__ == "grad_lambda"
    with pytest.raises(AttributeError):
        slope.nothing  # noqa: B018
    # Nor does a call with variables.
    assert slope(wy.Variable(3.0)).item() == 6.0


def test_what_cannot_be_read_runs_once_a_call():
    f = counter()
    slope = wy.grad(f, mode="auto")
    for count in range(1, 8):
        assert slope(3.0) == 6.0
        assert len(f.__globals__["runs"]) == count


def test_three_leaves_and_it_is_traced_for_good():
    f = made("def f(x, n):\n    return x * (n * n)\n", "<leaves>")
    slope = wy.grad(f, mode="auto")
    assert [slope(2.0, 3) for _ in range(3)] == [9.0] * 3
    [entry] = choose.record(f, KEY).table.entries
    for left in (1, 2, 3, 3, 3):
        assert slope(2.0, 2**40) == 2.0**80
        assert entry.times_left == left
    assert slope(2.0, 3) == 9.0
    assert compiled(f) == 1


def test_values_that_go_on_changing_are_traced_in_the_end():
    f = made("def f(x):\n    return x * len(N)\n", "<changes>", N="")
    slope = wy.grad(f, mode="auto")
    known = choose.record(f, KEY)
    for n in range(5 * policy.MOST_COMPILED):
        f.__globals__["N"] = "a" * n
        assert slope(2.0) == n
    assert known.compiled == policy.MOST_COMPILED + 1
    assert len(known.table) <= policy.MOST_SIGNATURES


GROWN = """
def f(x, n, m=0):
    xs = []
    for i in range(n):
        xs.append(math.sin(x * (i + m)))
    return sum(xs, 0.0)
"""


@pytest.mark.parametrize("mode", ["auto", "source"])
def test_an_integer_that_goes_on_changing_is_left_open(mode):
    f = made(GROWN, f"<open {mode}>")
    slope = wy.grad(f, mode=mode)
    known = choose.record(f, (mode, *KEY[1:]))
    for n in [*range(5, 5 + 3 * policy.MOST_COMPILED), 0]:
        expected = sum(i * math.cos(2.0 * i) for i in range(n))
        assert slope(2.0, n) == pytest.approx(expected, rel=1e-12)
        assert slope(2.0, n, n) == pytest.approx(
            sum((i + n) * math.cos(2.0 * (i + n)) for i in range(n)), rel=1e-12
        )
    # Of each way to call it at most: one program for each of some values, and one for all others.
    assert len(known.table) <= 2 * (policy.MOST_VALUES + 1)


@pytest.mark.parametrize("mode", ["auto", "source"])
def test_a_captured_integer_that_goes_on_changing_is_left_open(mode):
    text = "def f(x):\n    for i in range(N):\n        x = x * M.scale + i\n    return x\n"
    f = made(text, f"<captured {mode}>", N=0, M=types.SimpleNamespace(scale=1))
    slope = wy.grad(f, mode=mode)
    known = choose.record(f, (mode, *KEY[1:]))
    for n in range(2 * policy.MOST_COMPILED):
        f.__globals__["N"], f.__globals__["M"].scale = n, n % 7
        assert slope(2.0) == pytest.approx((n % 7) ** n, rel=1e-12)
    assert len(known.table) <= 2 * policy.MOST_VALUES + 1
    f.__globals__["N"] = 2.0**70
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        slope(2.0)
    f.__globals__["N"], f.__globals__["M"].scale = 2, 2**70
    assert slope(2.0) == 2.0**140
    f.__globals__["N"], f.__globals__["M"].scale = True, True
    assert slope(2.0) == 1.0


def test_integers_may_be_noted_while_others_are_gone_through():
    known = policy.Record()

    class NotedMeanwhile(set):
        def __len__(self):
            known.values[object()] = set()
            return policy.MOST_VALUES

    known.values = {"a": NotedMeanwhile(), "b": NotedMeanwhile()}
    assert known.varying() == ["a", "b"]


def test_an_integer_that_no_program_leaves_open():
    f = made(GROWN.replace("sum(xs, 0.0)", "sorted(xs)[0]"), "<sorted>")
    slope = wy.grad(f, mode="source")
    known = choose.record(f, ("source", *KEY[1:]))
    for n in range(1, 3 * policy.MOST_VALUES):
        least = min(range(n), key=lambda i: math.sin(2.0 * i))
        assert slope(2.0, n) == least * math.cos(2.0 * least)
        assert len(known.table) == n
    assert len(known.held) == 1


@pytest.mark.parametrize("mode", ["auto", "source"])
def test_integers_are_left_open_where_one_of_them_cannot_be(mode):
    # Lists are sorted that have a known length, so there is a program for each value of k.
    text = """
def f(x, n, k, m):
    xs, ys = [], []
    for i in range(n):
        xs.append(x * i)
    for i in range(m):
        ys.append(x)
    return sum(xs, 0.0) + sum(ys, 0.0) + sorted([x * j for j in range(k, 0, -1)])[0]
"""
    f = made(text, f"<one is held {mode}>")
    slope = wy.grad(f, mode=mode)
    known = choose.record(f, (mode, *KEY[1:]))
    for n in range(4 * policy.MOST_COMPILED):
        assert slope(2.0, n, n % 4 + 1, 2 * n) == sum(range(n)) + 2 * n + 1
    assert len(known.held) == 1
    assert known.compiled <= 4 * policy.MOST_VALUES


def test_kinds_that_go_on_changing_are_traced_in_the_end():
    f = made("def f(xs):\n    return xs[0] * xs[-1]\n", "<kinds>")
    slope = wy.grad(f, mode="auto")
    known = choose.record(f, KEY)
    for n in range(2, 3 * policy.MOST_ASKED):
        assert slope([2.0] * n) == [2.0] + [0.0] * (n - 2) + [2.0]
    assert known.asked == policy.MOST_ASKED
    assert known.compiled <= policy.MOST_COMPILED + 1
    assert len(known.seen) <= policy.MOST_ASKED
    assert len(known.table) <= policy.MOST_SIGNATURES


def test_what_tracing_cannot_do_is_read_at_the_first_call():
    def f(x):
        return math.sin(x) * float(x)

    with pytest.raises(TypeError):
        wy.grad(f, mode="trace")(2.0)
    slope = wy.value_and_grad(f, mode="auto")
    for _ in range(4):
        value, gradient = slope(2.0)
        assert value == f(2.0)
        assert gradient == pytest.approx(math.sin(2.0) + 2.0 * math.cos(2.0), rel=1e-14)
    for _ in range(4):
        value, back = wy.vjp(f, 2.0, mode="auto")
        assert (value, back(1.0)[0]) == (f(2.0), gradient)
        assert wy.jvp(f, (2.0,), (1.0,), mode="auto") == (value, gradient)
        # Python's own error, where it has one.
        with pytest.raises(ValueError, match=r"math domain error|expected a nonnegative input"):
            wy.grad(lambda x: math.sqrt(x) + math.sin(x), mode="auto")(-1.0)


@pytest.mark.parametrize("watch", ["settrace", "monitoring", "setprofile"])
def test_who_watches_sees_every_line_or_call(watch):
    f = made("def f(x):\n    y = x * x\n    return y * x\n", f"<watch {watch}>")
    slope = wy.grad(f, mode="auto")
    for _ in range(4):
        assert slope(2.0) == 12.0
    seen = []
    if watch == "monitoring":
        if sys.version_info < (3, 12):
            pytest.skip("sys.monitoring is new in 3.12")
        tool, events = sys.monitoring.DEBUGGER_ID, sys.monitoring.events
        sys.monitoring.use_tool_id(tool, "test")
        sys.monitoring.register_callback(
            tool, events.LINE, lambda code, line: code is f.__code__ and seen.append(line)
        )
        sys.monitoring.set_events(tool, events.LINE)
        try:
            assert slope(2.0) == 12.0
        finally:
            sys.monitoring.set_events(tool, 0)
            sys.monitoring.free_tool_id(tool)
        assert seen == [2, 3]
    elif watch == "settrace":

        def trace(frame, event, _):
            if frame.f_code is f.__code__ and event == "line":
                seen.append(frame.f_lineno)
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            assert slope(2.0) == 12.0
        finally:
            sys.settrace(before)
        assert seen == [2, 3]
    else:
        # A profiler is shown what runs otherwise: the program, and no Python.
        before = sys.getprofile()
        sys.setprofile(lambda frame, *_: seen.append(frame.f_code))
        try:
            assert slope(2.0) == 12.0
        finally:
            sys.setprofile(before)
        assert f.__code__ not in seen
    seen.clear()
    assert slope(2.0) == 12.0
    assert seen == []


def test_only_a_call_with_little_stack_left_is_traced():
    def deep(calls):
        return deep(calls - 1) if calls else slope(2.0)

    used, depth = len(inspect.stack()), sys.getrecursionlimit()
    for left in range(15, 100, 5):
        text = "def f(x):\n    for _ in range(3):\n        x = np.sin(x * x)\n    return x\n"
        f = made(text, f"<stack {left}>")
        slope = wy.grad(f)
        try:
            there = deep(depth - used - left)
        except RecursionError:
            there = slope(2.0)
        assert there == pytest.approx(slope(2.0), rel=1e-12)
        seen = []
        before = sys.getprofile()
        sys.setprofile(lambda frame, *_, seen=seen: seen.append(frame.f_code))
        try:
            slope(2.0)
        finally:
            sys.setprofile(before)
        assert f.__code__ not in seen, f"{left} calls left"


def of_globals(x):
    for _ in range(3):
        x = math.sin(x) * RATE + len(ROWS) * 0.0
    return x


@pytest.mark.parametrize("mode", ["auto", "source"])
def test_globals_that_change_while_others_call(mode, monkeypatch):
    """A call gives the gradient for what was there before a change or after it."""
    monkeypatch.setitem(globals(), "RATE", 2.0)
    monkeypatch.setitem(globals(), "ROWS", [1.0])
    slope = wy.grad(of_globals, mode=mode)
    expected = []
    for rate in (2.0, 3.0):
        globals()["RATE"] = rate
        expected.append(wy.grad(of_globals, mode="source")(0.5))
    stop, errors, found = threading.Event(), [], set()

    def change():
        for k in range(10**9):
            if stop.is_set():
                return
            globals()["RATE"] = 2.0 + k % 2
            globals()["ROWS"] = [1.0] * (k % 50)

    def call():
        try:
            for _ in range(150):
                found.add(slope(0.5))
        except BaseException as error:
            errors.append(error)

    changer = threading.Thread(target=change)
    callers = [threading.Thread(target=call) for _ in range(4)]
    for thread in (changer, *callers):
        thread.start()
    for thread in callers:
        thread.join()
    stop.set()
    changer.join()
    assert errors == []
    assert found <= set(expected)


def test_functions_that_come_and_go_leave_no_memory():
    if not sys.platform.startswith("linux"):
        pytest.skip("memory is read from /proc")

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    def some(count):
        for k in range(count):
            f = made(f"def f(x):\n    return x * {k}.5 * x\n", "<flat>")
            slope = wy.grad(f, mode="auto")
            assert [slope(1.0) for _ in range(3)] == [2.0 * k + 1.0] * 3

    some(200)
    gc.collect()
    before = resident()
    some(600)
    gc.collect()
    assert resident() - before < 6 << 20


def test_objects_are_asked_for_nothing_but_what_the_function_asks() -> None:
    """An attribute or item that is looked up may have effects."""
    asked = []

    class Asked:
        def __getattr__(self, name: str) -> float:
            asked.append(name)
            if name.startswith("__"):
                raise AttributeError(name)
            return 2.0

        def __len__(self) -> int:
            asked.append("len")
            return 3

        def __getitem__(self, at: int) -> float:
            asked.append("item")
            return 1.0

    def f(thing: Asked, x: float) -> float:
        return x * thing.scale

    compiled, thing = wy.compile(f), Asked()
    for _ in range(5):
        asked.clear()
        assert compiled(thing, 2.0) == 4.0
        assert asked == ["scale"]


PAIRS = """
def f(x):
    pairs = []
    for t in x:
        pairs.append([t, None])
    return sum(a * a for a, _ in pairs)
"""
MATRIX = """
def f(x):
    return np.sum(np.array([[a * b if a > b else 1.0 for a in x] for b in x]))
"""


def test_a_list_for_one_length_is_traced_unless_it_cannot_be():
    f, g = made(PAIRS, "<pairs>"), made(MATRIX, "<matrix>")
    assert not wy.explain(f, np.ones(3)).is_read
    for h in (f, g):
        slope = wy.grad(h)
        for n in (3, 4):
            x = np.arange(1.0, n + 1.0)
            wanted = wy.grad(h, mode="source")(x)
            for _ in range(3):
                np.testing.assert_array_equal(slope(x), wanted)
    assert compiled(f) == 0
    assert compiled(g) == 2


def test_what_is_only_for_one_length_is_read_twice_and_then_run(monkeypatch):
    def median(x):
        found = []
        for one in x:
            if one > 0:
                found.append(one)
        return float(np.median(found))

    made = []
    compiled = choose.compiled
    monkeypatch.setattr(choose, "compiled", lambda *a, **k: made.append(0) or compiled(*a, **k))
    same = wy.compile(median)
    for _ in range(6):
        assert same(np.array([1.0, 2.0, -3.0, 5.0])) == 2.0
    assert len(made) <= 2


def test_what_compares_objects_is_compiled_at_its_first_call():
    """Tracing answers otherwise. A comparison with a constant is none of these."""
    names = {"other": np.ones(2)}
    for at, (body, first) in enumerate(
        {
            "x if x is other else 2.0 * x": 1,
            "sum(x for one in (other,) if one is not x)": 1,
            "(lambda y: y * 2.0 if y is other else y)(x)": 1,
            "x if other is None else 2.0 * x": 0,
            "(other is not None) * x": 0,
            "(other is True) + x": 0,
        }.items()
    ):
        f = made(f"def f(x):\n    return {body}\n", f"<is {at}>", **names)
        wy.grad(f)(2.0)
        assert compiled(f) == first
