"""Functions are read into programs that give what Python does."""

import math

import numpy as np
import pytest
from reading import agrees, leaves, read

from wyrmling.source.abstract.operations import Operations
from wyrmling.source.abstract.walker import Walker
from wyrmling.source.interpreter import Interpreter, read_function
from wyrmling.source.text.refuse import TABLE, SourceError

SHIFT = 0.25


def newton(a, n=20):
    x = a
    for _ in range(n):
        if abs(x * x - a) < 1e-12:
            break
        x = 0.5 * (x + a / x)
    return x


def test_a_loop_stays_a_loop_and_gives_the_same_number():
    for a in (2.0, 0.25, 1e6, -1.0):
        agrees(newton, a)
    assert str(read_function(newton, (2.0,), {}).function).count("div") < 4


def test_no_two_parts_have_a_method_of_one_name_and_no_operation_is_missing():
    seen = {}
    for part in (*Interpreter.__bases__, Walker):
        for name in vars(part):
            if not name.startswith("__"):
                assert name not in seen, f"{name} is in {seen[name]} and in {part}"
                seen[name] = part
    for name, operation in vars(Operations).items():
        if callable(operation):
            assert getattr(Interpreter, name) is not operation, name


def test_what_the_table_of_refusals_says_is_read_has_a_handler():
    expressions = {n for n in dir(Interpreter) if n.startswith("evaluate_")}
    statements = {n for n in dir(Interpreter) if n.startswith("execute_")}
    import ast

    for name, entry in TABLE.items():
        cls = getattr(ast, name, None)
        if cls is None or name in ("Starred", "ClassDef"):
            continue
        if issubclass(cls, ast.expr):
            assert (f"evaluate_{name}" in expressions) == entry.is_supported, name
        elif issubclass(cls, ast.stmt):
            assert (f"execute_{name}" in statements) == entry.is_supported, name


def test_captured_numbers_are_read_at_each_call():
    made = read_function(lambda x: x + SHIFT, (1.0,), {})
    assert len(made.inputs) == 2
    assert str(made.inputs[1]) == "SHIFT"


def test_what_has_to_be_known_of_an_argument_is_said():
    def powers(x, n):
        return [x**k for k in range(n)]

    made = read_function(powers, (1.5, 3), {})
    assert made.static == {1: 3}
    agrees(powers, 1.5, 3)


def test_results_of_several_kinds_are_tagged():
    def either(x):
        return 0 if x < 0 else x

    assert read_function(either, (1.0,), {}).tagged
    agrees(either, 1.0)
    agrees(either, -1.0)


def test_a_function_that_only_raises_leaves():
    def fails(x):
        raise ValueError(x)

    assert not read_function(fails, (1.0,), {}).returns
    leaves(fails, 1.0)


def test_kinds_of_numbers_are_kept():
    def f(x):
        return x * 2, x + x, -x, x / 3

    for x in (1.5, np.float64(1.5), np.float32(1.5), 3, True):
        agrees(f, x)


def test_domains_are_those_of_math():
    def f(x):
        return math.log(x) + math.sqrt(x)

    agrees(f, 2.0)
    agrees(f, -1.0)
    agrees(f, math.inf)
    assert math.isnan(read(f, math.nan))


def test_a_refusal_names_the_line():
    def f(x):
        yield x

    with pytest.raises(SourceError, match="generator"):
        read_function(f, (1.0,), {})


def test_a_loop_that_is_written_twice_is_dropped_once():
    # The inner loop cannot stay one loop, which is found when the outer one is written already.
    def f(x, n, flag):
        total = 0
        for i in range(1, 4):
            if x > i:
                total = total + i // -2
            else:
                kept = [0.75 if len([1.0 for k in range(n) if i >= k]) > 1 else 3.0]
                total = total * 0.5 + kept[0]
        return total

    for x in (-0.3, 2.5, 9.0):
        agrees(f, x, 3, True)


class Base:
    def __init__(self, scale):
        self.scale = scale

    def value(self, x):
        return x * self.scale


class Derived(Base):
    def __init__(self, scale):
        super().__init__(scale * 2)
        self.shift = 1.0

    def value(self, x):
        return super().value(x) + self.shift


def test_super_is_the_next_class():
    agrees(lambda x, cls: cls(3.0).value(x), 1.5, Derived)


def test_identity_holds_for_the_objects_that_were_seen():
    one, other = Base(1.0), Base(2.0)

    def f(x, a, b):
        return x if a is b else 2 * x

    made = read_function(f, (1.0, one, one), {})
    assert made.function.interpret([3.0]) == [3.0]
    assert made.needs.missed((f, 3.0, one, one)) is None
    assert made.needs.missed((f, 3.0, one, other)) is not None


def test_members_of_enumerations_are_known_by_identity():
    import enum

    class Order(enum.IntEnum):
        FIRST = 1
        SECOND = 2

    def power(x, n):
        return x**n

    made = read_function(power, (1.5, Order.FIRST), {})
    assert made.needs.missed((power, 1.5, Order.FIRST)) is None
    assert made.needs.missed((power, 1.5, Order.SECOND)) is not None


def test_nothing_with_an_effect_runs_while_a_function_is_read(tmp_path, capsys):
    target = tmp_path / "x.npy"

    def saves(x):
        np.save(target, x)
        return np.sum(x)

    def sets(x):
        setattr(Base, "mark", 1)  # noqa: B010
        return x

    def shows(x):
        print(x)
        return x

    for f, x in ((saves, np.ones(3)), (sets, 1.0)):
        with pytest.raises(SourceError):
            read_function(f, (x,), {})
    assert read_function(shows, (1.0,), {}).printed is not None
    assert capsys.readouterr().out == ""
    assert not target.exists()
    assert not hasattr(Base, "mark")


def test_a_float_is_never_made_a_constant():
    def f(x):
        return math.ldexp(x, 3) * x

    with pytest.raises(SourceError, match="ldexp"):
        read_function(f, (1.5,), {})


def test_the_best_so_far_may_be_none():
    def best(x, n):
        found = None
        for i in range(n):
            value = (x * i) % 1.7
            if found is None or value > found:
                found = value
        return found

    agrees(best, 2.5, 6)
    agrees(best, 2.5, 0)


def test_methods_of_a_class_of_classes_are_none_of_an_instance():
    import enum

    class Order(enum.IntEnum):
        FIRST = 1
        SECOND = 2

    leaves(lambda x, member: x * len(member), 1.5, Order.SECOND)


def test_a_length_that_has_to_be_known_is_read_anew_for_another():
    def filled(x):
        y = np.zeros(len(x))
        for i in range(len(x)):
            y[i] = x[i] ** 2
        return y

    made = read_function(filled, (np.ones(3),), {})
    assert made.needs.missed((filled, np.zeros(3))) is None
    assert made.needs.missed((filled, np.zeros(2))) is not None
    agrees(filled, np.array([1.5, 2.5]))


def test_arrays_without_axes_are_numbers():
    agrees(lambda x: x, np.array(2.0))
    agrees(lambda x, y: x * y - x, np.array(2.0), 3.0)
    agrees(lambda x: x**2, np.array(2.0))


def test_an_instance_is_callable_if_its_class_says_so():
    agrees(lambda x, cls: (callable(cls(x)), hasattr(cls(x), "mro")), 1.5, Base)
