"""What is called in the place of a Python function: when Python goes on, in which thread what is
made, and that nothing is kept.
"""

import gc
import sys
import threading
import time
import weakref
from typing import Any

import numpy as np
import pytest
from dispatching import FLOAT, Case, callbacks, dispatcher, named, square, unary

from wyrmling._core import Dispatcher, IrBuilder, Specialization, SpecializationTable


def test_a_call_runs_what_was_compiled_once() -> None:
    case = Case(None, unary())
    assert [case.call(x) for x in (2.0, 3.0, -1.5)] == [4.0, 9.0, 2.25]
    assert case.asked == [((2.0,), {})]
    assert case.fallen == []
    # Another kind is another signature; None is given for it, so Python goes on.
    assert case.call(2) == "python"
    assert case.call(x=2.0) == "python"
    assert case.call() == "python"
    assert case.call(2.0, 3.0) == "python"
    assert len(case.asked) == 5
    assert case.fallen[1] == (None, None, (), {"x": 2.0})


def test_leaving_goes_on_in_python_and_three_times_for_good() -> None:
    made = unary()
    case = Case(None, made)
    assert case.call(2.0) == 4.0
    for _ in range(3):
        assert case.call(20.0) == "python"
    assert [fallen[:2] for fallen in case.fallen] == [(made, 0)] * 3
    assert made.times_left == 3
    assert case.call(2.0) == "python"
    assert case.fallen[-1] == (made, None, (2.0,), {})
    assert len(case.asked) == 1
    always = Case(None, unary(), most_leaves=None)
    for _ in range(10):
        assert always.call(20.0) == "python"
    assert always.call(2.0) == 4.0
    # An operator that cannot do what is asked leaves as well, with its error.
    sample = np.arange(3.0)
    b = IrBuilder("sum")
    b.returns([b.apply("add", [b.parameter(0, "array", sample) for _ in range(2)])])
    steps = [("self", k, None, ("array", "float64", 1)) for k in (1, 2)]
    made = Specialization(2, (), steps, [1, 2], b.finish().compile(), [("array", 0)])
    case = Case(None, made)
    np.testing.assert_array_equal(case.call(sample, sample), 2 * sample)
    assert case.call(sample, sample[:2]) == "python"
    assert isinstance(case.fallen[0][1], ValueError)


def test_a_signature_may_be_known_not_to_be_compiled() -> None:
    never = Specialization(1, (), [("self", 1, None, FLOAT)], [], None)
    assert never.compiled is None
    case = Case(None, never)
    for _ in range(3):
        assert case.call(1.0) == "python"
    assert len(case.asked) == 1
    assert case.fallen[0][0] is never


def test_errors_of_callbacks_come_through_and_nothing_is_stuck() -> None:
    class Own(Exception):
        pass

    def fails(*_: Any) -> Any:
        raise Own

    table = SpecializationTable()
    call = dispatcher(len, fails, print, table)
    for _ in range(2):
        with pytest.raises(Own):
            call(1)
    call = dispatcher(len, lambda *_: None, fails, table)
    with pytest.raises(Own):
        call(1)

    class Hostile:
        @property
        def x(self) -> Any:
            raise Own

    steps = [("attribute", 1, "x", ("any",))]
    case = Case(None, named(*steps, args=1))
    with pytest.raises(Own):
        case.call(Hostile())
    # A call from within goes on by itself.
    inner: list[Any] = []

    def again(args: Any, kwargs: Any) -> None:
        inner.append(args)
        if len(inner) < 5:
            call(1)

    call = dispatcher(len, again, lambda *_: len(inner), table)
    assert call(1) == 5


def test_a_table_is_bounded_and_the_oldest_goes() -> None:
    made = [unary(FLOAT, ("global", 0, "k", ("equal", k))) for k in range(5)]
    scope: dict[str, Any] = {"k": 0}
    exec("def f(x): pass", scope)
    table = SpecializationTable(3)

    def specialize(args: Any, kwargs: Any) -> Specialization:
        return made[scope["k"]]

    call = dispatcher(scope["f"], specialize, lambda *_: "python", table)

    def ask(k: int) -> list[int]:
        scope["k"] = k
        assert call(2.0) == 4.0
        return sorted(made.index(entry) for entry in table.entries)

    assert [ask(k) for k in (0, 1, 2)] == [[0], [0, 1], [0, 1, 2]]
    assert ask(0) == [0, 1, 2]
    assert ask(3) == [0, 2, 3]
    assert ask(4) == [0, 3, 4]
    assert len(table) == 3
    table.clear()
    assert table.entries == []
    assert ask(1) == [1]


def test_it_becomes_a_method_and_can_be_derived_from() -> None:
    class Named(Dispatcher):
        """With a dict of its own."""

    made = Specialization(2, (), [("self", 2, None, FLOAT)], [2], square(), [("float", 0)])

    class Owner:
        method = Named(len, callbacks(lambda *_: made, print, SpecializationTable()))

    assert Owner().method(3.0) == 9.0
    assert type(Owner.method) is Named
    Owner.method.note = 1  # type: ignore[attr-defined]
    assert Owner.method.function is len


def test_many_threads_specialize_once() -> None:
    count, started = [0], threading.Barrier(8)
    table = SpecializationTable()

    def specialize(args: Any, kwargs: Any) -> Specialization:
        count[0] += 1
        time.sleep(0.2)
        return unary()

    call = dispatcher(len, specialize, lambda *_: "python", table)
    found: list[Any] = []

    def work() -> None:
        started.wait()
        found.extend(call(float(k % 9)) for k in range(200))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count == [1]
    assert found == [float(k % 9) ** 2 for k in range(200)] * 8


def test_two_that_specialize_each_other_do_not_wait_for_ever() -> None:
    inside = threading.Barrier(2)
    calls: list[Any] = []

    def specialize(other: int) -> Any:
        def made(args: Any, kwargs: Any) -> Specialization:
            if args[0] == 1.0:
                inside.wait()
                assert calls[other](2.0) == 4.0
            return unary()

        return made

    calls += [
        dispatcher(len, specialize(1 - k), lambda *_: "python", SpecializationTable())
        for k in range(2)
    ]
    threads = [threading.Thread(target=calls[k], args=(1.0,), daemon=True) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def test_while_somebody_watches_python_goes_on() -> None:
    case = Case(None, unary(), watches=True)
    assert case.call(2.0) == 4.0
    before = sys.gettrace()
    sys.settrace(lambda *_: None)
    try:
        got = case.call(2.0)
    finally:
        sys.settrace(before)
    assert got == "python"
    if sys.version_info >= (3, 12):
        sys.monitoring.use_tool_id(1, "test")
        try:
            assert case.call(2.0) == "python"
        finally:
            sys.monitoring.free_tool_id(1)
    assert case.call(2.0) == 4.0


def test_nothing_is_kept_alive() -> None:
    class Big:
        pass

    def maker(kept: Any) -> Any:
        def f(x: float) -> Any:
            return kept

        return f

    big, table = Big(), SpecializationTable()
    f = maker(big)
    made = unary(FLOAT, ("cell", 0, 0, ("is", big)), ("code", 0, None, ("is", f.__code__)))
    call = dispatcher(f, lambda *_: made, lambda *_: "python", table)
    assert call(2.0) == 4.0
    gone = [weakref.ref(big), weakref.ref(f), weakref.ref(call)]
    del big, f, call
    gc.collect()
    assert [reference() for reference in gone] == [None] * 3
    # Another object at the address of one that is gone does not pass for it.
    for _ in range(100):
        call = dispatcher(maker(Big()), lambda *_: None, lambda *_: "python", table)
        assert call(2.0) == "python"
    # What can fit no more goes when another comes.
    other = unary()
    assert dispatcher(len, lambda *_: other, print, table)(2.0) == 4.0
    assert table.entries == [other]


def test_circles_are_freed() -> None:
    def circle() -> weakref.ref[Any]:
        def f(x: float) -> Any:
            return call

        made = Specialization(
            1, (), [("self", 1, None, FLOAT)], [1], square(), build=lambda results: call(results[0])
        )
        call = dispatcher(f, lambda *_: made, lambda *_: f, SpecializationTable())
        return weakref.ref(call)

    references = [circle() for _ in range(10)]
    gc.collect()
    assert [reference() for reference in references] == [None] * 10


def test_many_functions_leave_no_memory() -> None:
    pytest.importorskip("resource")

    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    def some(count: int) -> None:
        for k in range(count):
            scope: dict[str, Any] = {}
            exec(f"def f(x): return x * {k}.0", scope)
            f, compiled = scope["f"], square()
            made = unary(FLOAT, ("code", 0, None, ("is", f.__code__)), compiled=compiled)
            scope["g"] = dispatcher(f, lambda *_, m=made: m, f, SpecializationTable())
            assert scope["g"](3.0) == 9.0

    if not sys.platform.startswith("linux"):
        pytest.skip("memory is read from /proc")
    some(1000)
    gc.collect()
    before = resident()
    some(3000)
    gc.collect()
    assert resident() - before < 8 << 20
