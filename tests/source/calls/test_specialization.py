"""Which calls a specialization fits, what is read of them, and what results become."""

import builtins
import math
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from dispatching import FLOAT, Case, Test, dispatcher, function, named, square

from wyrmling._core import Compiled, Dispatcher, IrBuilder, Specialization, SpecializationTable


def test_kinds_are_exact_types() -> None:
    class Own(float):
        pass

    values: dict[str, Any] = {
        "float": 2.0,
        "int": 2,
        "bool": True,
        "float64": np.float64(2),
        "float32": np.float32(2),
    }
    others = [Own(2.0), 2**63, -(2**63) - 1, "2", None, np.array(2.0), np.int64(2), np.bool_(True)]
    kinds = {"float64": "float"}
    for kind in values:
        b = IrBuilder("same")
        b.returns([b.parameter(0, kinds.get(kind, kind))])
        compiled = b.finish().compile()
        for number, form in enumerate([kind, "float" if "float" in kind else kind]):
            step = ("self", 1, None, ("kind", kind))
            case = Case(None, Specialization(1, (), [step], [1], compiled, [(form, 0)]))
            for other, value in values.items():
                got = case.call(value)
                if other == kind:
                    assert got == value
                    assert type(got) is (type(value) if number == 0 else type(values[form]))
                else:
                    assert got == "python", (kind, value)
            for value in others:
                assert case.call(value) == "python", (kind, value)
    case = Case(
        None,
        Specialization(
            1, (), [("self", 1, None, ("kind", "int"))], [1], function("int"), [("int", 0)]
        ),
    )
    for edge in (2**63 - 1, -(2**63)):
        assert case.call(edge) == edge
    for beyond in (2**63, -(2**63) - 1, 10**40):
        assert case.call(beyond) == "python"


@pytest.mark.parametrize("dtype", ["float64", "float32", "uint32"])
def test_arrays_of_any_layout_are_read_and_none_other(dtype: str) -> None:
    sample = np.arange(12, dtype=dtype).reshape(3, 4)
    b = IrBuilder("same")
    b.returns([b.parameter(0, "array", sample)])
    step = ("self", 1, None, ("array", dtype, 2))
    made = Specialization(1, (), [step], [1], b.finish().compile(), [("array", 0)])
    case = Case(None, made)
    read_only = sample.copy()
    read_only.setflags(write=False)
    bytes_ = np.zeros(12 * sample.itemsize + 1, np.uint8)
    crooked = bytes_[1:].view(dtype).reshape(3, 4)
    for a in [
        sample,
        sample.T,
        sample[::-1, ::2],
        sample[:0],
        np.zeros((0, 0), dtype),
        np.asfortranarray(sample),
        read_only,
        crooked,
    ]:
        got = case.call(a)
        np.testing.assert_array_equal(got, a)
        assert got.dtype == a.dtype
        assert not np.shares_memory(got, a)
        got[...] = 1
    for other in [
        sample[0],
        sample[None],
        sample.astype("int64"),
        sample.astype(sample.dtype.newbyteorder()),
        np.ma.masked_array(sample),
        sample.tolist(),
        sample.astype(object),
        np.float64(1),
    ]:
        assert isinstance(case.call(other), str)


def test_what_a_function_reads_is_compared_at_each_call() -> None:
    scope: dict[str, Any] = {"math": math, "factor": 3}
    exec("def f(x, y=1, *, z=2): return g(x)\ndef g(x): return x", scope)
    f, g = scope["f"], scope["g"]
    steps = [
        ("global", 0, "math", ("is", math)),  # 1
        ("attribute", 1, "sin", ("is", math.sin)),
        ("global", 0, "factor", ("equal", 3)),
        ("global", 0, "range", ("is", range)),
        ("global", 0, "absent", ("absent",)),
        ("global", 0, "g", ("any",)),  # 6
        ("code", 6, None, ("is", g.__code__)),
        ("code", 0, None, ("is", f.__code__)),
        ("defaults", 0, None, ("tuple", 1)),  # 9
        ("item", 9, 0, ("equal", 1)),
        ("length", 9, None, ("equal", 1)),
        ("kwdefaults", 0, None, ("dict", ("z",))),  # 12
        ("item", 12, "z", ("equal", 2)),
        ("type", 0, None, ("is", type(f))),
        ("item", 12, "nothing", ("absent",)),
        ("attribute", 15, "of nothing", ("absent",)),
        ("cell", 0, 0, ("absent",)),
    ]
    case = Case(f, named(*steps))

    def holds() -> bool:
        return case.call() == 1

    def changes(change: Any, back: Any) -> None:
        change()
        assert not holds()
        back()
        assert holds()

    assert holds()
    code = g.__code__
    changes(lambda: scope.update(math=np), lambda: scope.update(math=math))
    changes(lambda: scope.update(factor=3.0), lambda: scope.update(factor=3))
    changes(lambda: scope.update(factor=True), lambda: scope.update(factor=3))
    changes(lambda: scope.update(range=list), lambda: scope.pop("range"))
    changes(lambda: scope.update(absent=None), lambda: scope.pop("absent"))
    changes(
        lambda: setattr(g, "__code__", (lambda x: -x).__code__),
        lambda: setattr(g, "__code__", code),
    )
    changes(lambda: setattr(f, "__defaults__", (2,)), lambda: setattr(f, "__defaults__", (1,)))
    changes(lambda: setattr(f, "__defaults__", None), lambda: setattr(f, "__defaults__", (1,)))
    changes(lambda: f.__kwdefaults__.update(z=3), lambda: f.__kwdefaults__.update(z=2))
    changes(lambda: f.__kwdefaults__.update(y=3), lambda: f.__kwdefaults__.pop("y"))
    sin = math.sin
    changes(lambda: setattr(math, "sin", math.cos), lambda: setattr(math, "sin", sin))
    builtins_ = builtins.range
    try:
        changes(
            lambda: setattr(builtins, "range", list),
            lambda: setattr(builtins, "range", builtins_),
        )
    finally:
        builtins.range = builtins_  # type: ignore[misc]
    # Another function of the same name but other globals.
    other = dict(scope, math=np)
    assert case.call() == 1
    again = dispatcher(type(f)(f.__code__, other), case.specialize, case.fallback, case.table)
    assert again() == "python"


def test_cells_are_read_at_each_call_and_hidden_arguments_too() -> None:
    def maker(a: float) -> Any:
        def f(x: float) -> float:
            return a * x

        return f

    product = function("float", "float", results=lambda b, ids: [b.apply("mul", ids)])
    steps = [("self", 1, None, FLOAT), ("cell", 0, 0, FLOAT)]
    made = Specialization(1, (), steps, [2 + 1, 1], product, [("float", 0)])
    case = Case(maker(3.0), made)
    assert case.call(2.0) == 6.0
    # Another function of the same code has the table's specialization.
    for a in (4.0, 5.0):
        call = dispatcher(maker(a), case.specialize, case.fallback, case.table)
        assert call(2.0) == 2 * a
    assert len(case.asked) == 1
    assert dispatcher(maker(4), case.specialize, case.fallback, case.table)(2.0) == "python"


def test_constants_are_equal_by_type_and_to_the_bit() -> None:
    nan = float("nan")
    pairs: list[tuple[Any, Any, bool]] = [
        (1, 1, True),
        (1, True, False),
        (1, 1.0, False),
        (0.0, -0.0, False),
        (0.0, 0.0, True),
        (nan, float("nan"), True),
        (10**30, 10**30, True),
        ("ab", "".join(["a", "b"]), True),
        (b"a", "a", False),
        (None, None, True),
        (None, ..., False),
        (False, True, False),
        (1j, 1j, True),
        (1j, complex(-0.0, 1), False),
        ((1, (2.0, "x")), (1, (2.0, "x")), True),
        ((1, (2.0, "x")), (1, (2, "x")), False),
        ((1, 2), (1, 2, 3), False),
        ((), [], False),
        ("a", np.str_("a"), False),
        (1.0, np.float64(1.0), False),
    ]
    for expected, given, fits in pairs:
        case = Case(None, named(("self", 1, None, ("equal", expected)), args=1))
        assert (case.call(given) == 1) is fits, (expected, given)
    deep: Any = ()
    for _ in range(100_000):
        deep = (deep,)
    case = Case(None, named(("self", 1, None, ("equal", deep)), args=1))
    assert case.call(deep) == 1
    assert case.call(()) == "python"
    for bad in ([1], {}, object(), np.float64(1), (1, [2]), Compiled):
        with pytest.raises(ValueError, match="expected a number"):
            named(("self", 0, None, ("equal", bad)))
    # What compares as it likes is not asked.

    class Liar(int):
        def __eq__(self, other: object) -> bool:
            raise AssertionError

        __hash__ = int.__hash__

    case = Case(None, named(("self", 1, None, ("equal", 1)), args=1))
    assert case.call(Liar(1)) == "python"


def test_containers_by_their_structure() -> None:
    class Point:
        def __init__(self, x: float) -> None:
            self.x = x

    Pair = namedtuple("Pair", "a b")
    tests: list[tuple[Test, list[Any], list[Any]]] = [
        (("tuple", 2), [(1, 2), ((), [])], [(1,), [1, 2], Pair(1, 2)]),
        (("list", 1), [[1]], [[], (1,), [1, 2]]),
        (
            ("dict", ("a", 1)),
            [{"a": 1, 1: 2}],
            [{1: 2, "a": 1}, {"a": 1}, {"a": 1, 1.0: 2}, {"a": 1, True: 2}, []],
        ),
        (("instance", Pair), [Pair(1, 2)], [(1, 2)]),
        (("instance", Point), [Point(1.0)], [Point, type("Point", (Point,), {})(1.0)]),
        (("is", Point), [Point], [Point(1.0), object]),
        (("same", 0), [len], [max]),
        (("distinct", [0]), [max], [len]),
    ]
    for test, fits, others in tests:
        case = Case(len, named(("self", 1, None, test), args=1))
        for given in fits:
            assert case.call(given) == 1, (test, given)
        for given in others:
            assert case.call(given) == "python", (test, given)
    # What is in them is reached by steps.
    steps = [
        ("self", 1, None, ("tuple", 2)),
        ("item", 1, 0, ("list", 1)),
        ("item", 3, 0, FLOAT),
        ("item", 1, 1, ("instance", Point)),
        ("attribute", 5, "x", FLOAT),
    ]
    total = function("float", "float", results=lambda b, ids: [b.apply("add", ids)])
    case = Case(None, Specialization(1, (), steps, [4, 6], total, [("float", 0)]))
    assert case.call(([1.0], Point(2.0))) == 3.0
    assert case.call(([1.0, 2.0], Point(2.0))) == "python"
    assert case.call(([1.0], Point(2))) == "python"
    assert case.call((1.0, Point(2.0))) == "python"


def test_keywords_in_their_order() -> None:
    steps = [("self", 1, None, FLOAT), ("self", 2, None, FLOAT), ("self", 3, None, FLOAT)]
    both = function("float", "float", "float")
    made = Specialization(1, ("p", "q"), steps, [1, 2, 3], both, build=lambda results: results)
    case = Case(None, made)
    assert case.call(1.0, p=2.0, q=3.0) == (1.0, 2.0, 3.0)
    assert case.call(1.0, q=3.0, p=2.0) == "python"
    assert case.call(1.0, p=2.0, r=3.0) == "python"
    assert case.call(1.0, 2.0, 3.0) == "python"
    key = "".join(["p"])
    assert case.call(1.0, **{key: 2.0, "q": 3.0}) == (1.0, 2.0, 3.0)


def test_results_are_boxed_by_a_straight_list() -> None:
    Pair = namedtuple("Pair", "a b")
    sample = np.arange(3.0)
    compiled = function("float", "int", "bool", "array", like=sample)
    steps = [
        ("self", 1, None, FLOAT),
        ("self", 2, None, ("kind", "int")),
        ("self", 3, None, ("kind", "bool")),
        ("self", 4, None, ("array", "float64", 1)),
    ]
    marker = object()
    outputs: list[tuple[Any, ...]] = [
        ("float", 0),
        ("float64", 0),
        ("int", 1),
        ("bool", 2),
        ("array", 3),
        ("object", marker),
        ("slot", 4),
        ("list", [0, 2]),
        ("dict", ["a", ("b", 1)], [7, 7]),
        ("call", Pair, [3, 4]),
        ("tuple", [0, 1, 7, 8, 9, 5, 6]),
    ]
    case = Case(None, Specialization(4, (), steps, [1, 2, 3, 4], compiled, outputs))
    x, x64, pair, table, named_pair, same, given = case.call(1.5, 7, True, sample)
    assert (x, type(x), x64, type(x64)) == (1.5, float, 1.5, np.float64)
    assert pair == [1.5, 7]
    assert table["a"] is table["b", 1] is pair
    assert type(named_pair) is Pair
    assert named_pair.a is True
    np.testing.assert_array_equal(named_pair.b, sample)
    assert named_pair.b is not sample
    assert same is marker
    assert given is sample
    deep: list[tuple[Any, ...]] = [("float", 0)]
    deep += [("list", [number]) for number in range(100_000)]
    case = Case(None, Specialization(4, (), steps, [1, 2, 3, 4], compiled, deep))
    found = case.call(1.5, 7, True, sample)
    for _ in range(100_000):
        (found,) = found
    assert found == 1.5


def test_what_does_not_fit_together_is_refused() -> None:
    compiled = square()
    given = [("self", 1, None, FLOAT)]
    out = [("float", 0)]
    bad: list[tuple[Any, ...]] = [
        (1, (), given, [], compiled, out),
        (1, (), given, [0], compiled, out),
        (1, (), given, [7], compiled, out),
        (1, (), [("self", 1, None, ("kind", "int"))], [1], compiled, out),
        (1, (), [("self", 1, None, ("array", "float64", 1))], [1], compiled, out),
        (1, (), [("self", 2, None, FLOAT)], [1], compiled, out),
        (1, (), [("self", 1, None, ("same", 3))], [1], compiled, out),
        (1, (), [("self", 1, None, ("kind", "complex"))], [1], compiled, out),
        (1, (), [("self", 1, None, ("array", "int64", 1))], [1], compiled, out),
        (1, (), [("self", 1, None, ("nothing",))], [1], compiled, out),
        (1, (), [("self", 1, None, ("is",))], [1], compiled, out),
        (1, (), [("nothing", 1, None, FLOAT)], [1], compiled, out),
        (1, (), [("global", 0, 3, ("any",)), *given], [1], compiled, out),
        (1, (), [("cell", 0, "a", ("any",)), *given], [1], compiled, out),
        (1, (), [("item", 1, [], ("any",)), *given], [1], compiled, out),
        (1, (), [("self", 1, None, ("instance", 1)), *given], [1], compiled, out),
        (1, (), given, [1], compiled, []),
        (1, (), given, [1], compiled),
        (1, (), given, [1], compiled, out, print),
        (1, (), given, [1], compiled, [("float", 1)]),
        (1, (), given, [1], compiled, [("int", 0)]),
        (1, (), given, [1], compiled, [("float32", 0)]),
        (1, (), given, [1], compiled, [("tuple", [0])]),
        (1, (), given, [1], compiled, [("slot", 3)]),
        (1, (), given, [1], compiled, [("float", 0), ("dict", ["a"], [])]),
        (1, (), given, [1], compiled, [("float", 0), ("dict", [[]], [0])]),
        (1, (), given, [1], compiled, [("nothing", 0)]),
    ]
    for args in bad:
        with pytest.raises(ValueError, match=r"."):
            Specialization(*args)
    for wrong in [
        (-1, (), given, [1], compiled, out),
        (1, (), given, [1], 3, out),
        (1, (1,), given, [1], compiled, out),
        (1, (), [("self", 1)], [1], compiled, out),
        (1, (), 3, [1], compiled, out),
        (1, (), given, [1], compiled, [()]),
    ]:
        with pytest.raises((TypeError, ValueError, OverflowError, IndexError)):
            Specialization(*wrong)
    table = SpecializationTable()
    with pytest.raises(AttributeError, match="table"):
        Dispatcher(len, 1)()
    with pytest.raises(TypeError, match="callable"):
        dispatcher(len, 1, print, table)()
    with pytest.raises(ValueError, match="limit"):
        SpecializationTable(0)
    with pytest.raises(TypeError, match="Specialization"):
        dispatcher(len, lambda *_: 1, print, table)(1)
