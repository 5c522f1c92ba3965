"""Functions that are written by hand through ``IrBuilder``: run, printed, left, refused."""

import gc
import math
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

from wyrmling import _core, grad, primitive
from wyrmling._core import Input, IrBuilder, Parameter, Variable


def newton():
    """Newton's iteration for the square root of ``a``, at most ``n`` steps."""
    b = IrBuilder("newton", "newton.py")
    a, n = b.parameter(0, "float"), b.parameter(0, "int")
    leaves = b.exit("a division by zero", 3)
    head, body, end = b.block(), b.block(), b.block()
    x, k = b.parameter(head, "float"), b.parameter(head, "int")
    zero, one, half, tiny = (b.constant(c) for c in (0, 1, 0.5, 1e-12))
    b.jump(head, [a, zero])
    b.switch(head)
    b.branch(b.compute("less_int", [k, n]), body, [], end, [])
    b.switch(body)
    again = b.block()
    error = b.apply("abs", [b.apply("sub", [b.apply("mul", [x, x]), a])])
    b.branch(b.compute("less_number", [error, tiny]), end, [], again, [])
    b.switch(again)
    nothing = b.compute("equal_number", [x, b.constant(0.0)])
    b.guard(b.compute("bool_not", [nothing]), leaves)
    b.line(4)
    x1 = b.apply("mul", [half, b.apply("add", [x, b.apply("div", [a, x])])])
    b.name(x1, "x")
    b.jump(head, [x1, b.compute("int_add", [k, one], leaves)])
    b.switch(end)
    b.returns([x, k])
    return b.finish()


def test_a_loop_runs_prints_and_leaves():
    f = newton()
    assert (f.name, f.file) == ("newton", "newton.py")
    assert (f.parameters, f.results) == (["float", "int"], ["float", "int"])
    assert f.operators == {"abs", "add", "div", "mul", "sub"}
    assert f.exits == [("a division by zero", 3)]
    compiled = f.compile()
    for run in (f.interpret, compiled, f.compile(native=False)):
        x, steps = run([2.0, 50])
        assert x == pytest.approx(math.sqrt(2))
        assert 3 < steps < 10
        assert type(steps) is int
        assert run((2.0, 0)) == type(run([2.0, 0]))((2.0, 0))
        assert run([0.0, 5]) == type(run([2.0, 0]))((0.0, 0))
    b = IrBuilder("left")
    x = b.parameter(0, "float")
    b.guard(b.compute("less_number", [x, b.constant(1.0)]), b.exit("too large", 1))
    b.returns([x])
    f = b.finish()
    assert f.interpret([0.5]) == [0.5]
    assert f.interpret([1.5]) == 0
    assert f.compile()((1.5,)) == 0
    assert "newton" in str(newton())
    assert "too large" in str(f)


def test_every_kind_goes_in_and_out():
    kinds = ["float", "float32", "int", "bool", "index"]
    sample = np.zeros((2, 3), np.float32)
    b = IrBuilder("same")
    ids = [b.parameter(0, kind) for kind in kinds] + [b.parameter(0, "array", sample)]
    assert [b.kind(i) for i in ids] == [*kinds, "array"]
    assert [b.dtype(i) for i in ids] == ["float64", "float32", None, None, "uint32", "float32"]
    assert [b.ndim(i) for i in ids] == [0] * 5 + [2]
    assert b.shape(ids[5]) == [2, 3]
    constants = [True, 2**63 - 1, -0.0, np.float32(1.5), np.uint32(7), np.arange(3.0)]
    b.returns(ids + [b.constant(c) for c in constants])
    f = b.finish()
    given = [math.inf, 0.1, -(2**63), True, 5, np.ones((1, 0), np.float32)]
    for got in (f.interpret(given), f.compile()(given)):
        assert got[0] == math.inf
        assert got[2] == -(2**63)
        assert got[3] is True
        assert got[4] == 5
        assert type(got[1]) is np.float32
        assert got[1] == np.float32(0.1)
        assert got[5].shape == (1, 0)
        assert got[5].dtype == np.float32
        assert got[6] is True
        assert got[7] == 2**63 - 1
        assert math.copysign(1, got[8]) == -1
        assert type(got[9]) is np.float32
        assert got[10] == 7
        assert got[11].tolist() == [0, 1, 2]
    bad = [
        ([1.0] * 5, TypeError),
        ([1.0] * 7, (TypeError, ValueError)),
        ([1.0, 1.0, 2**63, True, 5, sample], OverflowError),
        ([1.0, 1.0, True, True, 5, sample], TypeError),
        ([1.0, 1.0, 1.0, True, 5, sample], TypeError),
        ([1.0, 1.0, 1, 1, 5, sample], TypeError),
        ([1.0, 1.0, 1, True, -5, sample], IndexError),
        ([1.0, 1.0, 1, True, 5, sample[0]], ValueError),
        (["1", 1.0, 1, True, 5, sample], TypeError),
        ([[1.0], 1.0, 1, True, 5, sample], ValueError),
    ]
    for args, error in bad:
        for run in (f.interpret, f.compile()):
            with pytest.raises(error):
                run(args)


def test_wrong_use_raises_and_changes_nothing():
    b = IrBuilder("f")
    x, n = b.parameter(0, "float"), b.parameter(0, "int")
    exit = b.exit("left", 1)
    wrong = [
        (ValueError, lambda: b.parameter(1, "float")),
        (ValueError, lambda: b.parameter(0, "double")),
        (ValueError, lambda: b.parameter(0, "array")),
        (TypeError, lambda: b.parameter(0, "array", np.zeros(3, complex))),
        (AttributeError, lambda: b.parameter(0, "array", [1.0])),
        (OverflowError, lambda: b.parameter(-1, "float")),
        (ValueError, lambda: b.switch(7)),
        (OverflowError, lambda: b.switch(-1)),
        (TypeError, lambda: b.constant("1")),
        (TypeError, lambda: b.constant(1j)),
        (TypeError, lambda: b.constant(np.zeros(3, complex))),
        (OverflowError, lambda: b.constant(2**63)),
        (ValueError, lambda: b.apply("mul", [x, 99])),
        (TypeError, lambda: b.apply("mul", [x, n])),
        (TypeError, lambda: b.apply("mul", [x])),
        (TypeError, lambda: b.apply("mul", [x, -1])),
        (TypeError, lambda: b.apply("mul", [x, 2**40])),
        (TypeError, lambda: b.apply("mul", [x, "x"])),
        (TypeError, lambda: b.apply("mul", [x, True])),
        (TypeError, lambda: b.apply("mul", x)),
        (ValueError, lambda: b.apply("mul", [x, x], n=3)),
        (ValueError, lambda: b.apply("jn", [x])),
        (ValueError, lambda: b.apply("jn", [x], n=2000)),
        (TypeError, lambda: b.apply("jn", [x], n="1")),
        (ValueError, lambda: b.apply("nothing", [x])),
        (ValueError, lambda: b.apply("cast", [x], dtype="float16")),
        (ValueError, lambda: b.compute("nothing", [n, n])),
        (ValueError, lambda: b.compute("int_add", [n, n])),
        (ValueError, lambda: b.compute("int_add", [n, n], 5)),
        (TypeError, lambda: b.compute("int_add", [n, x], exit)),
        (TypeError, lambda: b.compute("int_add", [n], exit)),
        (ValueError, lambda: b.compute("int_add", [n, n], exit, axis=0)),
        (TypeError, lambda: b.guard(x, exit)),
        (ValueError, lambda: b.guard(99, exit)),
        (ValueError, lambda: b.leave(99)),
        (ValueError, lambda: b.jump(4, [])),
        (ValueError, lambda: b.jump(0, [99])),
        (ValueError, lambda: b.branch(99, 0, [], 0, [])),
        (ValueError, lambda: b.returns([99])),
        (ValueError, lambda: b.kind(99)),
        (ValueError, lambda: b.name(99, "x")),
        (OverflowError, lambda: b.line(-1)),
    ]
    for error, call in wrong:
        with pytest.raises(error):
            call()
    b.returns([b.apply("multiply", [x, x])])
    for call in (lambda: b.returns([x]), lambda: b.constant(1), lambda: b.leave(exit)):
        with pytest.raises(ValueError, match="end"):
            call()
    f = b.finish()
    assert f.interpret([3.0, 1]) == [9.0]
    for call in (b.finish, b.block, lambda: b.returns([x]), lambda: b.kind(x)):
        with pytest.raises(RuntimeError, match="finished"):
            call()


def test_functions_that_are_not_sound_are_refused():
    b = IrBuilder("open")
    b.jump(b.block(), [])
    with pytest.raises(ValueError, match="no end"):
        b.finish()
    b = IrBuilder("counts")
    end = b.block()
    b.parameter(end, "float")
    b.jump(end, [])
    b.switch(end)
    b.returns([])
    with pytest.raises(ValueError, match="takes 1"):
        b.finish()
    b = IrBuilder("kinds")
    end = b.block()
    b.parameter(end, "float")
    b.jump(end, [b.constant(1)])
    b.switch(end)
    b.returns([])
    with pytest.raises(TypeError):
        b.finish()
    b = IrBuilder("mixed")
    c = b.parameter(0, "bool")
    left, right = b.block(), b.block()
    b.branch(c, left, [], right, [])
    b.switch(left)
    b.returns([b.constant(1)])
    b.switch(right)
    b.returns([b.constant(1.0)])
    with pytest.raises(TypeError, match="in another"):
        b.finish()


def test_blocks_that_nothing_reaches_are_dropped_and_others_leave():
    b = IrBuilder("f")
    c, x = b.parameter(0, "bool"), b.parameter(0, "float")
    dead, left, right = b.block(), b.block(), b.block()
    b.switch(dead)
    b.constant(1.0)
    b.switch(0)
    b.branch(c, right, [], left, [])
    b.switch(left)
    b.leave(b.exit("not here", 7))
    b.switch(right)
    v = b.parameter(0, "array", np.zeros(3))
    b.returns([x, v, b.constant(3)])
    f = b.finish()
    assert (
        len([line for line in str(f).splitlines() if line.strip().startswith(("b", "block"))]) <= 4
    )
    for run in (f.interpret, f.compile()):
        assert run([False, 1.0, np.zeros(2)]) == 0
        assert next(iter(run([True, 1.0, np.zeros(2)]))) == 1.0


def test_graphs_are_spliced():
    sample = np.arange(6.0).reshape(2, 3)
    x, s = Input(sample), Input(2.0)
    y = (np.sin(x) * s + np.array([1.0, 2.0, 3.0])).sum(axis=1)
    b = IrBuilder("f")
    a, t = b.parameter(0, "array", sample), b.parameter(0, "float")
    (total, twice) = b.splice([y, y * 2], [x, s], [a, t])
    b.returns([total, twice])
    f = b.finish()
    for shape in [(2, 3), (5, 3)]:
        v = np.random.default_rng(0).normal(size=shape)
        got = f.interpret([v, 0.5])
        want = (np.sin(v) * 0.5 + [1, 2, 3]).sum(axis=1)
        np.testing.assert_allclose(got[0], want, rtol=1e-14)
        np.testing.assert_allclose(got[1], 2 * want, rtol=1e-14)


def test_lengths_that_were_asked_for_become_guards():
    sample = np.arange(4.0)
    x = Input(sample)
    y = x.sum() / len(x)
    b = IrBuilder("mean")
    a = b.parameter(0, "array", sample)
    b.returns(b.splice([y], [x], [a]))
    f = b.finish()
    assert f.interpret([sample]) == [1.5]
    assert f.interpret([np.arange(5.0)]) == 0
    assert "length" in f.exits[0][0]
    # What follows the input asks for nothing.
    x = Input(sample)
    b = IrBuilder("mean")
    b.returns(b.splice([x.mean()], [x], [b.parameter(0, "array", sample)]))
    assert b.finish().interpret([np.arange(5.0)]) == [2.0]


def test_what_cannot_be_frozen_is_not_spliced():
    sample = np.ones(3)
    x = Input(sample)

    def spliced(output, inputs=None, kind="array"):
        b = IrBuilder("f")
        inputs = [x] if inputs is None else inputs
        args = [b.parameter(0, kind, sample) for _ in inputs]
        return b.splice([output], inputs, args)

    w = Parameter([1.0, 2.0, 3.0])
    v = Variable([1.0, 2.0, 3.0])
    for leaf in (w, v, Input(sample)):
        with pytest.raises(TypeError, match="none of the inputs"):
            spliced((leaf * x).sum())
    v.register_hook(lambda g: g)
    with pytest.raises(TypeError, match="hook"):
        spliced(v * x)
    with pytest.raises(TypeError, match="value %0"):
        spliced(x * 2, kind="float")
    with pytest.raises(ValueError, match="before"):
        spliced(x * 2, [x, x])
    with pytest.raises(ValueError, match="Input"):
        spliced(x * 2, [x * 1])
    with pytest.raises(TypeError):
        spliced(np.ones(3))
    with pytest.raises(ValueError, match="args"):
        IrBuilder("f").splice([x], [x], [])

    # An argument that another transform differentiates by is no constant.
    def outer(t):
        with pytest.raises(TypeError, match="none of the inputs"):
            spliced(t * x)
        return t * t

    assert grad(outer)(3.0) == 6.0

    # A graph belongs to its thread.
    y, raised = x * 2, []

    def elsewhere():
        with pytest.raises(RuntimeError, match="thread") as error:
            spliced(y)
        raised.append(error)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert raised


def test_a_builder_in_another_thread_works_or_raises():
    b = IrBuilder("f")
    found = []

    def build():
        x = b.parameter(0, "float")
        b.returns([b.apply("sin", [x])])
        found.append(b.finish())

    thread = threading.Thread(target=build)
    thread.start()
    thread.join()
    assert found[0].interpret([1.0]) == [math.sin(1.0)]


def test_functions_are_freed():
    f = newton()
    compiled = f.compile()
    references = [weakref.ref(f), weakref.ref(compiled)]
    del f, compiled
    gc.collect()
    assert all(reference() is None for reference in references)
    for cls in (IrBuilder, _core.IrFunction, _core.Compiled):
        with pytest.raises(TypeError):
            _core.IrFunction.__new__(cls) if cls is not IrBuilder else cls()


def test_functions_are_inlined_and_simplified():
    f = newton()
    b = IrBuilder("twice")
    a, n = b.parameter(0, "float"), b.parameter(0, "int")
    x, k = b.inline(f, [a, n])
    assert (b.kind(x), b.kind(k)) == ("float", "int")
    y, _ = b.inline(f, [x, n])
    b.returns([y, b.apply("add", [b.constant(2.0), b.constant(3.0)])])
    twice = b.finish()
    for g in (twice, twice.simplify()):
        assert g.interpret([16.0, 60]) == pytest.approx([2.0, 5.0])
        assert g.compile()([16.0, 60]) == tuple(g.interpret([16.0, 60]))
    assert len(str(twice.simplify())) < len(str(twice))
    assert [text for text, _ in twice.exits] == ["a division by zero"] * 2
    bad = [
        (ValueError, lambda b: b.inline(f, [99, 99])),
        ((TypeError, ValueError), lambda b: b.inline(f, [0])),
        (TypeError, lambda b: b.inline(f, [1, 0])),
        (TypeError, lambda b: b.inline(3, [0, 1])),
    ]
    for error, call in bad:
        b = IrBuilder("bad")
        b.parameter(0, "float"), b.parameter(0, "int")
        with pytest.raises(error):
            call(b)
        b.returns([])
        assert b.finish().interpret([1.0, 1]) == []


def test_derivatives_of_a_loop_of_any_order():
    f = newton()
    g, [at] = f.vjp([0])
    assert g.parameters == ["float", "int", "float"]
    assert g.results[:2] == f.results
    a = 2.0
    found = g.compile()([a, 50, 1.0])
    x, slope = found[0], found[at]
    assert (x, slope) == (pytest.approx(math.sqrt(a)), pytest.approx(0.5 / math.sqrt(a)))
    assert g.interpret([a, 50, 2.0])[at] == 2 * slope
    # What leaves, leaves in the derivative too.
    b = IrBuilder("left")
    y = b.parameter(0, "float")
    b.guard(b.compute("less_number", [y, b.constant(1.0)]), b.exit("too large", 1))
    b.returns([b.apply("mul", [y, b.apply("mul", [y, y])])])
    g, orders = b.finish(), []
    for _ in range(3):
        derivative, [at] = g.vjp([0])
        b = IrBuilder("derivative")
        y = b.parameter(0, "float")
        results = b.inline(derivative, [y, b.constant(1.0)])
        b.returns([results[at]])
        g = b.finish()
        orders.append(g.compile()((0.5,))[0])
        assert g.compile()((1.5,)) == g.interpret((1.5,)) == 0
    assert orders == [0.75, 3.0, 6.0]
    # A result that does not depend on it has no gradient.
    b = IrBuilder("constant")
    b.parameter(0, "float"), b.parameter(0, "array", np.zeros(3))
    b.returns([b.constant(1.0)])
    g = b.finish()
    assert g.vjp([0, 1])[1] == [None, None]
    assert g.vjp([])[1] == []
    for wrt in ([2], [-1], ["x"], 0, [0, 0, 0]):
        with pytest.raises((ValueError, TypeError, OverflowError)):
            g.vjp(wrt)
    with pytest.raises(TypeError, match="int"):
        f.vjp([1])


def test_operators_of_the_callers_own_are_seen_by_the_collector():
    def circle() -> list[weakref.ref]:
        kept = []

        @primitive
        def double(x):
            return np.asarray(x) * 2.0 + len(kept) * 0.0

        x = Input(np.ones(3))
        b = IrBuilder("f")
        b.returns(b.splice([double(x)], [x], [b.parameter(0, "array", np.ones(3))]))
        f = b.finish()
        compiled = f.compile()
        assert compiled([np.ones(2)])[0].tolist() == f.interpret([np.ones(2)])[0].tolist() == [2, 2]
        kept.extend([f, compiled, double])
        return [weakref.ref(f), weakref.ref(compiled)]

    references = circle()
    gc.collect()
    gc.collect()
    assert [reference() for reference in references] == [None, None]


SMALL_STACK = """
import math, threading
import wyrmling as wy

def f(x):
    for _ in range(10):
        x = math.sin(x) + 0.5 * x
    return x

found = []
threading.stack_size(65536)
thread = threading.Thread(target=lambda: found.append(wy.compile(f, mode="source")(1.0)))
thread.start()
thread.join()
assert found == [f(1.0)], found
print("compiled")
"""


def test_a_thread_of_a_small_stack_compiles(tmp_path):
    file = tmp_path / "small_stack.py"
    file.write_text(SMALL_STACK, "utf-8")
    run = [sys.executable, str(file)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout) == (0, "compiled\n"), done.stderr
