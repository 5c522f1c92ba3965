"""Every construct of Python is supported or refused, and errors point at it."""

import ast
import enum
import functools
import math
import operator
import pickle
import re
import warnings

import numpy as np
import pytest

import wyrmling as wy
from wyrmling import _core
from wyrmling.source.interpreter import Interpreter
from wyrmling.source.text import read, refuse
from wyrmling.source.text.refuse import ABSTRACT, GROUPS, NEVER_MADE, TABLE


def classes():
    """The names of all classes of nodes that this Python has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: getattr(ast, name) for name in dir(ast)}
    return {
        each.__name__: each
        for each in found.values()
        if isinstance(each, type) and issubclass(each, ast.AST)
    }


def test_no_class_is_forgotten():
    forgotten = set(classes()) - set(TABLE) - ABSTRACT - NEVER_MADE
    assert forgotten == set()
    assert not set(TABLE) & (ABSTRACT | NEVER_MADE)
    for name in ABSTRACT & set(classes()):
        assert not getattr(ast, name)._fields or name == "slice"


def test_names_of_newer_pythons():
    newer = {"TypeAlias", "TypeVar", "TypeVarTuple", "ParamSpec", "TemplateStr", "Interpolation"}
    assert set(TABLE) <= set(classes()) | newer


def test_each_is_in_one_group():
    listed = [name for names in GROUPS.values() for name in names]
    assert sorted(listed) == sorted(TABLE)


@pytest.mark.parametrize("name", sorted(TABLE))
def test_handlers(name):
    """What is supported has a handler, and nothing else has."""
    node = getattr(ast, name, ast.AST)
    if issubclass(node, ast.stmt):
        verb = "execute"
    elif issubclass(node, ast.expr) and name != "Starred":
        verb = "evaluate"
    else:
        return
    assert hasattr(Interpreter, f"{verb}_{name}") == TABLE[name].is_supported


@pytest.mark.parametrize("name", sorted(TABLE))
def test_entries(name):
    entry = TABLE[name]
    assert entry.construct
    assert entry.is_supported == (entry.advice is None)
    if not entry.is_supported:
        assert entry.advice
        assert not entry.advice.endswith(".")


# fmt: off
async def refused(ä, x):
    ä += 1; await x  # noqa: E702
    async with (
        x
    ):
        return x
# fmt: on


def test_the_caret_is_under_the_construct():
    reading = read.function(refused)
    node = reading.node.body[1].value
    error = refuse.refusal(reading, node)
    assert isinstance(error, refuse.SourceError)
    assert isinstance(error, NotImplementedError)
    head, line, caret, advice = str(error).splitlines()
    number = refused.__code__.co_firstlineno + 1
    assert head == f"{__file__}:{number}: in refused: await is not supported"
    assert line[caret.index("^") : caret.rindex("^") + 1] == "await x"
    assert advice.strip() == "read what is awaited before, and give it to a plain function"
    assert (error.filename, error.lineno, error.offset) == (__file__, number, 13)
    assert error.text[error.offset - 1 :].startswith("await x")
    assert error.construct == "await"
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert (again.lineno, again.construct) == (error.lineno, error.construct)


def test_a_construct_of_several_lines():
    reading = read.function(refused)
    message = str(refuse.refusal(reading, reading.node.body[2]))
    assert "async with (\n    ^^^^^^^^^^^^" in message


def test_what_is_supported_is_not_refused():
    reading = read.function(refused)
    assert refuse.refusal(reading, reading.node.body[0]) is None


def test_what_a_newer_python_has():
    class Invented(ast.stmt):
        pass

    error = refuse.refusal(read.function(refused), Invented(lineno=1, col_offset=0))
    assert "Invented, which is new in Python" in str(error)
    assert error.text is None


def test_what_cannot_be_read():
    error = refuse.unreadable("len", "it is written in C")
    assert str(error).startswith("len cannot be read: it is written in C\n")
    assert error.filename is None
    assert str(refuse.unreadable("f", "no", "a.py", 3)).startswith("a.py:3: f cannot be read: no")


def test_a_fault_of_the_reader_is_a_refusal_and_is_traced_in_auto(monkeypatch):
    for mode in ("source", "auto"):
        with monkeypatch.context() as patches:
            # It is raised as by the native module, which has no frames.
            patches.setattr(_core.IrFunction, "simplify", operator.methodcaller("faulty"))
            derived = wy.grad(lambda x: x * x, mode=mode)
            for _ in range(3):
                if mode == "auto":
                    assert derived(1.5) == 3.0
                    continue
                with pytest.raises(wy.SourceError, match=r"reading it fails .*is a fault") as found:
                    derived(1.5)
                assert isinstance(found.value.__cause__, TypeError)


def test_a_fault_of_the_reader_in_a_loss_is_a_refusal(monkeypatch):
    monkeypatch.setattr(_core.IrBuilder, "finish", operator.methodcaller("faulty"))
    with pytest.raises(wy.SourceError, match=r"reading it fails .*is a fault"):
        wy.fit(
            lambda w, x: (w - x) ** 2,
            {"x": np.ones(4)},
            parameters={"w": wy.Parameter(1.0)},
            optimizer=wy.SGD(0.1),
        )


def test_what_is_refused_within_an_argument_is_named_by_its_place():
    class Model:
        def __init__(self, a, w):
            self.a, self.w = a, w

    def f(model, more):
        return model.a * model.a + more[0][0] + np.sum(model.w)

    z = np.ones(2, complex)
    cases = [
        ((Model(1.5, z), [[0.0]]), "argument 0.w, an ndarray of complex128, is not"),
        ((Model(1.5, {1.0}), [[0.0]]), "argument 0.w, a set, is not"),
        (
            (Model(1.5, 1.0), [[z]]),
            r"argument 1\[0\]\[0\], an ndarray of complex128,",
        ),
    ]
    for args, message in cases:
        with pytest.raises(wy.SourceError, match=message):
            wy.grad(f, mode="source")(*args)
    with pytest.raises(wy.SourceError, match="a captured ndarray of complex128 is not"):
        wy.grad(lambda x: x * np.sum(z), mode="source")(1.5)


SEEN = {"all": [1.0]}


def appends_to_an_argument(x, seen):
    seen.append(x)
    return x


def puts_into_what_is_outside(x, seen):
    SEEN["all"][0] = x
    return x


def puts_into_an_array(x, seen):
    SOME[0] = x
    return x


SOME = np.zeros(3)


@pytest.mark.parametrize(
    ("f", "what"),
    [
        (appends_to_an_argument, "a write to argument 1, which the function did not make, is not"),
        (puts_into_what_is_outside, "a write to SEEN['all'], which the function did not make, is"),
        (puts_into_an_array, "a write to an array that the function did not make, or to a view,"),
    ],
)
def test_a_write_to_what_is_outside_is_refused_by_where_it_is(f, what):
    with pytest.raises(wy.SourceError, match=re.escape(what)):
        wy.grad(f, mode="source")(1.0, [1.0])
    assert SEEN["all"] == [1.0]


def test_a_dict_by_integers_of_a_derived_class_is_refused():
    """And is no fault of the reader: a program has keys of exact types."""
    level = enum.IntEnum("Level", "LOW HIGH")
    rates = {level.LOW: 2.0, level.HIGH: 3.0}

    def f(x):
        return rates[level.HIGH] * x

    with pytest.raises(wy.SourceError, match="a captured dict of such keys"):
        wy.grad(f, mode="source")(1.0)
    assert wy.grad(f)(1.0) == 3.0


@functools.lru_cache
def kept(x):
    return [x * x]


def test_a_function_that_keeps_lists_is_refused_with_a_way_out():
    """Whoever changes one changes what the next call returns."""
    with pytest.raises(wy.SourceError, match=r"call its __wrapped__, or use mode='trace'"):
        wy.grad(lambda x: kept(x)[0] * x, mode="source")(1.5)
    slope = wy.grad(lambda x: math.sin(kept.__wrapped__(x)[0]), mode="source")
    assert slope(0.5) == pytest.approx(math.cos(0.25), rel=1e-14)


def test_another_function_under_the_name_of_one_that_keeps_results():
    scaled = functools.cache(lambda x: 2.0 * x)
    slope = wy.grad(lambda x: scaled(x) * x, mode="source")
    assert slope(1.5) == 6.0
    scaled = functools.cache(lambda x: 3.0 * x)
    assert slope(1.5) == 9.0


def filled_by_rows(x):
    y = np.zeros((2, 2))
    row = y.T[0]
    row[1] = x
    return np.sum(y)


def test_a_write_to_a_view_says_what_to_write():
    with pytest.raises(wy.SourceError, match=r"assign to the array itself, by y\[i, j\]"):
        wy.grad(filled_by_rows, mode="source")(1.5)


def shorter_while_large(x):
    while x[0] > 0.5:
        x = x[1:] * 0.9
    return np.sum(x)


def shorter_where_large(x):
    return shorter_where_large(x[1:]) if x[0] > 0.5 else np.sum(x)


@pytest.mark.parametrize("f", [shorter_while_large, shorter_where_large])
def test_an_array_that_gets_shorter_is_no_list_that_grows(f):
    with pytest.raises(wy.SourceError, match="in which arrays of different shapes meet"):
        wy.grad(f, mode="source")(np.array([1.0, 0.7, 0.2]))
