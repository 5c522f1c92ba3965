"""The text that is read for a function is the function's, or it is not readable."""

import ast
import functools
import gc
import importlib.util
import inspect
import linecache
import statistics
import sys
import textwrap
import threading
import types
import weakref

import numpy as np
import pytest

import wyrmling as wy
from wyrmling.source.text import identity, read
from wyrmling.source.text.refuse import Unreadable
from wyrmling.source.text.scope import FUNCTION, Needs


def text(f):
    """What was read, as ast writes it."""
    return ast.unparse(read.function(f).node)


def registered(source, name="<cell 1>", register=True):
    """What the names are after ``exec`` of a source that linecache knows, as a notebook's cells."""
    source = textwrap.dedent(source)
    if register:
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    found = {}
    exec(compile(source, name, "exec"), found)
    return found


def module(path, source):
    """A file with this source, imported."""
    path.write_text(textwrap.dedent(source))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def plain(x):
    # A comment.
    return x * 2


def decorated(f):
    @functools.wraps(f)
    def wrapper(x):
        return f(x) + 1

    return wrapper


@decorated
@functools.lru_cache
def wrapped(x):
    return x


# fmt: off
several = [lambda x: x + 1, lambda x: x + 2, lambda x: x + 1, lambda x, y=(1, 2): (lambda: x)]
(over_lines,) = (lambda x:
              x
              * 3),
# fmt: on


class Model:
    """Something with methods."""

    scale = 2.0

    def method(self, x):
        return self.__private(x) * self.scale

    def __private(self, x):
        __local = x
        return helper(__local, __named=x)

    @staticmethod
    def static(x):
        return x

    @classmethod
    def made(cls, x):
        return cls, x

    def __call__(self, x):
        return x

    def super_user(self):
        return super().__init__, __class__


def helper(x, **named):
    return x


def test_functions_of_files():
    assert text(plain) == "def plain(x):\n    return x * 2"
    reading = read.function(plain)
    assert reading.file == __file__
    assert reading.first_line == inspect.getsourcelines(plain)[1]
    assert reading.lines[0] == "def plain(x):"
    assert reading.line(reading.node.body[0].lineno) == "    return x * 2"
    assert reading.line(1) == ""
    assert read.function(plain) is reading


def test_lambdas_of_a_line():
    assert [text(f) for f in several] == [
        "lambda x: x + 1",
        "lambda x: x + 2",
        "lambda x: x + 1",
        "lambda x, y=(1, 2): lambda: x",
    ]
    nodes = [read.function(f).node for f in several]
    columns = [node.col_offset for node in nodes]
    assert columns == sorted(set(columns))
    assert text(several[3](1)) == "lambda: x"
    assert text(over_lines) == "lambda x: x * 3"


def test_of_many_lambdas_of_a_line_one_is_compiled(monkeypatch):
    row = [lambda x: x, lambda x: x + 1, lambda x: x, lambda x: x + 2, lambda x: x + 1]  # fmt: skip
    compiled = []
    single = read._matches

    def counted(*args):
        compiled.append(args)
        return single(*args)

    monkeypatch.setattr(read, "_matches", counted)
    columns = [read.function(f).node.col_offset for f in row]
    assert columns == sorted(set(columns))
    assert len(compiled) == len(row)


def test_decorators_are_left_out():
    assert text(wrapped).startswith("def wrapper(x):")
    assert text(wrapped.__wrapped__.__wrapped__) == "def wrapped(x):\n    return x"
    # The tree of the file still has them.
    assert text(wrapped) == text(wrapped)
    assert read.function(wrapped.__wrapped__.__wrapped__).lines[0] == "@decorated"


def test_private_names_are_those_of_the_class():
    assert "self._Model__private(x)" in text(Model.method)
    private = text(Model._Model__private)
    assert "_Model__local = x" in private
    assert "helper(_Model__local, __named=x)" in private
    assert "__class__" in text(Model.super_user)


def test_nested_functions():
    def outer(a):
        b = a

        def inner(x):
            nonlocal b
            b += x
            return a * b

        return inner

    assert text(outer(1)).startswith("def inner(x):\n    nonlocal b")
    assert text(outer).count("def ") == 2


@pytest.mark.skipif(sys.version_info < (3, 12), reason="no type parameters")
def test_generic_functions():
    """What makes type parameters is a function around the function, of the same line."""
    found = registered(
        """
        def generic[T: (float, int), *Ts, **P](x: T) -> T:
            square = lambda y: y * y
            return square(x)
        class Box[T]:
            def scaled[U](self, x: U): return 2 * x
        def outer(x):
            def inner[T](y: T) -> T:
                z: T = y * x
                return z
            return inner(x)
        T = 3.0
        def uses(x):
            def inner[T](y): return y * T
            return inner(x)
        """,
        "<generics>",
    )
    for f in (found["generic"], found["Box"]().scaled, found["outer"]):
        assert wy.grad(f, mode="source")(2.0) == wy.grad(f, mode="trace")(2.0)
    with pytest.raises(wy.SourceError, match="'T': it is a type parameter"):
        wy.grad(found["uses"], mode="source")(2.0)


def test_notebook_cells_and_what_is_not_registered():
    found = registered("def f(x):\n    return x ** 2\ng = lambda x: f(x)\n")
    assert text(found["f"]) == "def f(x):\n    return x ** 2"
    assert text(found["g"]) == "lambda x: f(x)"
    lost = registered("def f(x):\n    return x ** 2\n", "<nowhere>", register=False)
    with pytest.raises(Unreadable, match="its source is not there"):
        read.function(lost["f"])


def test_another_cell_of_the_same_name():
    before = registered("def f(x):\n    return x ** 2\n", "<cell 2>")
    after = registered("def f(x):\n    return x ** 3\n", "<cell 2>")
    assert "x ** 3" in text(after["f"])
    with pytest.raises(Unreadable, match="another function's"):
        read.function(before["f"])


def test_an_edited_file(tmp_path):
    path = tmp_path / "edited_module.py"
    source = "def f(x):\n    return x + {}\n\ndef g(x):\n    return x\n"
    found = module(path, source.format(1))
    path.write_text(source.format(25))
    with pytest.raises(Unreadable, match="another function's"):
        read.function(found.f)
    assert text(found.g) == "def g(x):\n    return x"
    # What was read is kept; what is read now finds no Python.
    path.write_text("def f(x:\n")
    again = types.FunctionType(found.f.__code__.replace(), {})
    with pytest.raises(Unreadable, match="no Python by now"):
        read.function(again)


def test_what_was_asked_with_little_stack_left_is_read_later():
    def asked(f, calls):
        try:
            return asked(f, calls - 1) if calls else bool(read.function(f))
        except (RecursionError, Unreadable):
            return False

    used, depth = len(inspect.stack()), sys.getrecursionlimit()
    nested = "(x - " * 40 + "x" + ")" * 40
    answers = []
    for left in range(5, 90):
        found = registered(f"def f(x):\n    return {nested}\n", f"<cell left {left}>")
        answers.append(asked(found["f"], depth - used - left))
        assert text(found["f"]).startswith("def f(x):")
    # There were too few calls left for some, and enough for others.
    assert not answers[0]
    assert answers[-1]


@pytest.mark.parametrize("error", [RecursionError, MemoryError])
def test_a_lack_of_memory_is_forgotten(monkeypatch, error):
    found = registered("def f(x):\n    return x + 7\n", f"<cell {error.__name__}>")

    def fails(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(read, "_parsed", fails)
        with pytest.raises(Unreadable, match="too little stack or memory left"):
            read.function(found["f"])
    assert "x + 7" in text(found["f"])


def test_a_file_that_was_seen_before_it_was_edited(tmp_path):
    path = tmp_path / "seen_module.py"
    found = module(path, "def f(x):\n    return x + 1\n")
    linecache.getlines(str(path))
    path.write_text("def f(x):\n    return x + 200\n")
    # The text that linecache has is still the function's.
    assert "x + 1" in text(found.f)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return x * 0.0", "return x * -0.0"),
        ("return x * 1", "return x * 1.0"),
        ("return x * 1", "return x * True"),
        ("return lambda: x * 1", "return lambda: x * 2"),
        ("return [x for _ in range(2)]", "return [x for _ in range(3)]"),
        ("return x + a", "return x + b"),
    ],
)
def test_the_smallest_difference_is_seen(before, after):
    found = registered(f"def f(x):\n    {before}\n", "<cell 3>")
    registered(f"def f(x):\n    {after}\n", "<cell 3>")
    with pytest.raises(Unreadable, match="another function's"):
        read.function(found["f"])


def test_calls_of_what_a_module_imports():
    """Python compiles them differently than others."""
    found = registered(
        """
        from __future__ import annotations
        try:
            import math
        except ImportError:
            from cmath import *
        def f(x: undefined) -> undefined:
            return math.sin(x)
        """,
        "<cell 4>",
    )
    assert "math.sin" in text(found["f"])


def test_calls_of_super_depend_on_the_module():
    found = registered(
        """
        used = super
        class A:
            def f(self):
                return super().f()
        """,
        "<cell 7>",
    )
    assert "super().f()" in text(found["A"].f)


def test_code_that_was_replaced():
    def f(x):
        return x

    assert text(f).endswith("return x")
    f.__code__ = plain.__code__
    assert text(f) == text(plain)
    f.__code__ = plain.__code__.replace(co_consts=(None, 3))
    with pytest.raises(Unreadable, match="another function's"):
        read.function(f)


def test_the_standard_library_is_readable():
    functions = [f for f in vars(statistics).values() if inspect.isfunction(f)]
    # From 3.14 the compiler makes a function of a module's annotations, which has no text.
    functions = [f for f in functions if f.__module__ == "statistics"]
    functions = [f for f in functions if f.__name__ != "__annotate__"]
    assert len(functions) > 20
    for f in functions:
        assert read.function(f).node.name == f.__name__


def test_callees():
    model = Model()

    def given(f):
        found = read.callee(f)
        args = [value for value, _ in found.args]
        assert all(place.read((f,)) is value for value, place in found.args)
        assert all(p.read((f,)) is v for v, p in found.keywords.values())
        assert found.place.read((f,)) is found.function
        return found.function, args, {name: value for name, (value, _) in found.keywords.items()}

    assert given(plain) == (plain, [], {})
    assert given(model.method) == (Model.method, [model], {})
    assert given(Model.made) == (Model.__dict__["made"].__func__, [Model], {})
    assert given(model) == (Model.__call__, [model], {})
    assert given(model.static) == (Model.static, [], {})
    assert given(Model.__dict__["static"]) == (Model.static, [], {})
    inner = functools.partial(model.method, 2, x=3)
    assert given(inner) == (Model.method, [model, 2], {"x": 3})
    outer = functools.partial(functools.partial(helper, 1, a=1), 2, a=2, b=3)
    assert given(outer) == (helper, [1, 2], {"a": 2, "b": 3})
    assert read.callee(plain).place == FUNCTION


def test_callees_of_other_calls():
    """What is called must be made the same way, of the same code."""

    def missed(f, *others):
        needs = Needs()
        read.callee(f, needs=needs)
        assert needs.missed((f,)) is None
        return [needs.missed((other,)) is not None for other in others]

    model, other = Model(), Model()
    assert missed(model.method, other.method, model.made, Model.method) == [False, True, True]
    assert missed(model, other, plain, model.method) == [False, True, True]
    assert missed(plain, decorated(plain), helper, model) == [True] * 3
    once = functools.partial(helper, 1, a=1)
    others = [functools.partial(helper, 2, a=3), functools.partial(plain, 1, a=1)]
    others += [functools.partial(helper, a=1), functools.partial(helper, 1, b=1), helper]
    assert missed(once, *others) == [False, True, True, True, True]


@pytest.mark.parametrize(
    "f", [dict, Model, functools.lru_cache(plain), [].append, int.__add__, np.random.normal]
)
def test_what_is_no_python_function(f):
    with pytest.raises(Unreadable):
        read.callee(f)


def test_readings_go_with_their_code():
    found = registered("def f(x):\n    return x\n", "<cell 5>")
    reading = weakref.ref(read.function(found["f"]))
    assert reading() is not None
    found.clear()
    gc.collect()
    assert reading() is None


def test_functions_of_exec_leave_nothing():
    before = len(read._readings)
    for i in range(300):
        found = registered(f"def f(x):\n    return x + {i}\n", "<cell 6>")
        assert text(found["f"]).endswith(f"x + {i}")
    del found
    gc.collect()
    assert len(read._readings) < before + 250


def test_a_constant_on_the_line_of_its_function():
    given = [lambda x: 3, lambda x: "text", (lambda: lambda: 3)()]
    found = [ast.unparse(read.function(f).node.body) for f in given]
    assert found == ["3", "'text'", "3"]
    outer = lambda: lambda: 3  # noqa: E731
    assert isinstance(read.function(outer).node.body, ast.Lambda)
    assert isinstance(read.function(outer()).node.body, ast.Constant)


def test_a_function_that_two_threads_read_at_once(monkeypatch):
    f = registered("def f(x):\n    return x * 2\n", "<cell 7>")["f"]
    shift, moved, ended, texts = read._shift, threading.Event(), threading.Event(), []

    def slowly(node, by):
        shift(node, by)
        if by > 0 and not moved.is_set():
            moved.set()
            ended.wait(0.5)

    def work():
        try:
            texts.append(text(f))
        except Unreadable as error:
            texts.append(str(error))

    def second():
        moved.wait(30.0)
        work()
        ended.set()

    monkeypatch.setattr(read, "_shift", slowly)
    threads = [threading.Thread(target=each) for each in (work, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == ["def f(x):\n    return x * 2"] * 2


def test_a_module_is_looked_through_once_for_all_its_functions(monkeypatch):
    source = "import math\n" + "".join(f"def f{i}(x): return x + {i}\n" for i in range(20))
    found = registered(source + "a = lambda x: 1; b = (lambda\n    x: 2); c = lambda x: 3\n")
    looked, imports = [], read._imports
    monkeypatch.setattr(read, "_imports", lambda tree: looked.append(tree) or imports(tree))
    for i in range(20):
        assert text(found[f"f{i}"]).endswith(f"x + {i}")
    assert [text(found[name])[-1] for name in "abc"] == ["1", "2", "3"]
    assert len(looked) == 1


def test_what_is_forgotten_while_python_ends_says_nothing(monkeypatch):
    class Key:
        """Something that can be referred to weakly."""

    key, cache, raised = Key(), identity.IdentityCache(10), []
    cache.put(key, 1)
    # As where modules have lost their names.
    monkeypatch.setattr(identity, "LOCK", None)
    monkeypatch.setattr(sys, "unraisablehook", raised.append)
    del key
    gc.collect()
    assert (raised, len(cache)) == ([], 0)


def test_what_a_class_calls_its_module_is_any_object():
    class Doubled:
        __module__ = 3

        def __call__(self, x):
            return 2.0 * x

    doubled, polynomial = Doubled(), np.polynomial.Polynomial([1.0, 2.0])
    assert wy.grad(lambda x: doubled(x) * x, mode="source")(3.0) == 12.0
    with pytest.raises(wy.SourceError, match="a call of this is not supported"):
        wy.grad(lambda x: polynomial(x), mode="source")(3.0)
