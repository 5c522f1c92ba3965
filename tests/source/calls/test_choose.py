"""Transforms of functions that are read: what they give, what is seen, when they trace instead."""

import copy
import functools
import gc
import linecache
import math
import pickle
import sys
import threading
import weakref

import numpy as np
import pytest

import wyrmling as wy
from wyrmling.source import choose, policy

SCALE = 2.0


def newton_sqrt(a, n=20):
    x = a
    for _ in range(n):
        if abs(x * x - a) < 1e-12:
            break
        x = 0.5 * (x + a / x)
    return x


def wave(x, y=1.0):
    return np.sin(x) * y + x * y * y


def scaled(x):
    return SCALE * x * x


def tree(params, x):
    w, [b] = params["w"], params["rest"]
    return (w * x + b) * (w * x + b)


def several(x, y):
    return {"sum": x + y, "both": (x * y, [x / y])}


def with_aux(x):
    return x * x, {"twice": 2 * x, "n": 3}


def cubed(x):
    return x * x * x


def inverse(x):
    return 1.0 / x


def refuses(x):
    with open("nothing"):
        return x


def counted(n):
    """A function that says how often Python ran it."""

    def f(x):
        total = x
        for _ in range(n):
            total = total * x
        return total

    return f


def source(transform, f, *args, **options):
    return transform(f, *args, mode="source", **options)


def exec_function(text, name="f", file="<choose>"):
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    found = {"math": math}
    exec(compile(text, file, "exec"), found)
    return found[name]


def test_gradients_of_control_flow():
    slope = source(wy.grad, newton_sqrt)
    for a in (2.0, 9.0, 1e-3):
        assert slope(a) == pytest.approx(0.5 / math.sqrt(a), rel=1e-9)
    # It returns at once there, with what it was given.
    assert slope(1.0) == wy.grad(newton_sqrt, mode="trace")(1.0) == 1.0
    value, gradient = source(wy.value_and_grad, newton_sqrt)(2.0)
    assert value == newton_sqrt(2.0)
    assert gradient == slope(2.0)
    # By keyword, and with more of the arguments given.
    assert slope(2.0, n=20) == slope(2.0, 20) == slope(2.0)


@pytest.mark.parametrize("argnums", [0, 1, -1, (0, 1), [1], range(2), np.int64(1)])
def test_argnums(argnums):
    expected = wy.grad(wave, argnums, mode="trace")(0.5, 2.0)
    found = source(wy.grad, wave, argnums)(0.5, 2.0)
    assert type(found) is type(expected)
    assert np.allclose(found, expected, rtol=1e-14)


def test_wrong_arguments_raise_what_tracing_raises():
    for args, argnums in [((0.5,), 1), (("a", 1.0), 0), ((True, 1.0), 0), ((0.5, 1.0), 2)]:
        with pytest.raises((TypeError, ValueError)) as expected:
            wy.grad(wave, argnums, mode="trace")(*args)
        with pytest.raises(expected.type) as found:
            source(wy.grad, wave, argnums)(*args)
        assert str(found.value) == str(expected.value)
    for transform in (wy.grad, wy.value_and_grad):
        with pytest.raises(TypeError, match="returns one number"):
            source(transform, several)(1.0, 2.0)
    with pytest.raises(TypeError):
        source(wy.grad, wave)(1.0, z=2.0)


@pytest.mark.parametrize("x", [2.0, 2, np.float64(2), np.float32(2)])
def test_gradients_are_as_plain_as_the_arguments(x):
    expected = wy.grad(cubed, mode="trace")(x)
    found = source(wy.grad, cubed)(x)
    assert type(found) is type(expected)
    assert found == expected


def test_an_argument_that_has_to_be_known():
    def power(x, n):
        return sum([x] * n) * x

    slope = source(wy.grad, power)
    for n in (3, 2, 0, 3, True):
        assert slope(1.5, n) == 2 * n * 1.5
    with pytest.raises(TypeError, match="can't multiply sequence by non-int"):
        source(wy.grad, power, 1)(1.5, 2)


def test_what_always_raises_raises_what_python_raises():
    def adds(x):
        return x + "a"

    def raises(x):
        raise KeyError(x)

    for f, kind in [(adds, TypeError), (raises, KeyError)]:
        with pytest.raises(kind) as expected:
            f(1.5)
        with pytest.raises(kind) as found:
            source(wy.grad, f)(1.5)
        assert str(found.value) == str(expected.value)


def test_an_error_of_the_function_is_not_taken_for_one_of_tracing():
    def picky(x):
        if not isinstance(x, float):
            raise TypeError("a plain array would lose the gradient")
        return x * x

    for slope in (wy.grad(picky), wy.grad(picky, mode="trace")):
        for _ in range(3):
            with pytest.raises(TypeError, match="would lose"):
                slope(np.ones(2))
    # Python's answer is another one than that of tracing.
    assert wy.grad(picky)(3.0) == wy.grad(picky, mode="source")(3.0) == 6.0


def test_what_leaves_and_cannot_be_traced():
    def root(x):
        return math.sqrt(x) * min(2 ** int(x), 1)

    slope = source(wy.grad, root)
    assert slope(4.0) == 0.25
    with pytest.raises(wy.SourceError, match=r"it was left \(.*\), returns then") as error:
        slope(70.0)
    assert error.value.lineno == root.__code__.co_firstlineno + 1


def test_what_depends_on_nothing_may_still_leave():
    def one(x):
        if x > 2.0:
            raise ValueError("too much")
        return 1.0

    def pair(x):
        return (one(x), x // x)

    for transform in (wy.grad, wy.value_and_grad, wy.jacrev, wy.jacfwd, wy.hessian):
        assert source(transform, one)(1.0) == transform(one, mode="trace")(1.0)
        with pytest.raises(ValueError, match="too much"):
            source(transform, one)(3.0)
    for transform in (wy.jacrev, wy.jacfwd):
        with pytest.raises(ZeroDivisionError):
            source(transform, pair)(0.0)
    with pytest.raises(ValueError, match="too much"):
        source(wy.vjp, one, 3.0)
    with pytest.raises(ValueError, match="too much"):
        source(wy.jvp, one, (3.0,), (1.0,))
    with pytest.raises(ValueError, match="too much"):
        wy.compile(one)(3.0)


def test_results_of_several_kinds():
    def total(xs):
        s = 0.0
        for x in xs:
            s += np.float64(2.0) * x * x
        return s

    def either(x):
        return np.float64(2.0) * x * x if x > 1.0 else (x if x > 0.0 else -0.0)

    slope = source(wy.value_and_grad, either)
    assert slope(3.0) == (18.0, 12.0)
    assert slope(0.5) == (0.5, 1.0)
    assert str(slope(-1.0)) == "(-0.0, 0.0)"
    fast = wy.compile(either, mode="source")
    assert [type(fast(x)) for x in (3.0, 0.5, -1.0)] == [np.float64, float, float]
    assert source(wy.grad, total)([1.0, 2.0]) == [4.0, 8.0]
    assert type(wy.compile(lambda x: np.isnan(np.float64(1.0) * x))(1.0)) is np.bool_


def test_trees():
    params = {"w": 3.0, "rest": [0.5]}
    expected = wy.grad(tree, mode="trace")(params, 2.0)
    assert source(wy.grad, tree)(params, 2.0) == expected
    assert source(wy.grad, tree, (0, 1))(params, 2.0) == wy.grad(tree, (0, 1), mode="trace")(
        params, 2.0
    )


def test_aux():
    for transform in (wy.grad, wy.value_and_grad):
        expected = transform(with_aux, has_aux=True, mode="trace")(3.0)
        assert source(transform, with_aux, has_aux=True)(3.0) == expected


@pytest.mark.parametrize("transform", [wy.jacrev, wy.jacfwd, wy.hessian], ids=lambda f: f.__name__)
def test_jacobians(transform):
    expected = transform(several, (0, 1), mode="trace")(2.0, 3.0)
    found = source(transform, several, (0, 1))(2.0, 3.0)
    assert list(found) == list(expected)
    flat = [wy.transforms.tree.flatten(each)[0] for each in (found, expected)]
    assert [name for name, _ in flat[0]] == [name for name, _ in flat[1]]
    values = [[leaf for _, leaf in leaves] for leaves in flat]
    np.testing.assert_allclose(*values, rtol=1e-14)


def test_products():
    value, back = source(wy.vjp, wave, 0.5, 2.0)
    expected, traced = wy.vjp(wave, 0.5, 2.0, mode="trace")
    assert value == expected
    for seed in (1.0, -3.0, 2, np.float64(0.5)):
        np.testing.assert_allclose(back(seed), traced(seed), rtol=1e-14)
    with pytest.raises(TypeError, match="form of the result"):
        back((1.0, 2.0))
    value, back = source(wy.vjp, several, 2.0, 3.0)
    seeds = {"sum": 1.0, "both": (2.0, [3.0])}
    traced = wy.vjp(several, 2.0, 3.0, mode="trace")[1]
    np.testing.assert_allclose(back(seeds), traced(seeds), rtol=1e-14)
    moved = source(wy.jvp, wave, (0.5, 2.0), (1.0, -1.0))
    expected = wy.jvp(wave, (0.5, 2.0), (1.0, -1.0), mode="trace")
    np.testing.assert_allclose(moved, expected, rtol=1e-14)
    found = source(wy.hvp, cubed)(2.0, 3.0)
    assert found == pytest.approx(36.0, rel=1e-14)
    assert source(wy.elementwise_grad, cubed)(2.0) == 12.0


def test_a_pullback_has_the_values_of_its_call(monkeypatch):
    _, back = source(wy.vjp, scaled, 3.0)
    monkeypatch.setitem(globals(), "SCALE", 100.0)
    assert back(1.0) == (12.0,)
    assert source(wy.vjp, scaled, 3.0)[1](1.0) == (600.0,)


@pytest.mark.parametrize("outer", ["source", "trace", "auto"])
@pytest.mark.parametrize("inner", ["source", "trace", "auto"])
def test_nesting_to_third_order(outer, inner):
    if (outer, inner) == ("source", "trace"):
        with pytest.raises(wy.SourceError):
            wy.grad(wy.grad(cubed, mode=inner), mode=outer)(2.0)
        return
    second = wy.grad(wy.grad(cubed, mode=inner), mode=outer)
    third = wy.grad(second, mode=outer)
    for _ in range(3):
        assert second(2.0) == 12.0
        assert third(2.0) == 6.0
    assert wy.jacfwd(wy.jacrev(cubed, mode=inner), mode=outer)(2.0) == 12.0


def test_check_grads():
    wy.check_grads(wave, (0.5, 2.0), order=2, mode="source")


def test_changes_are_seen(monkeypatch):
    slope = source(wy.grad, scaled)
    assert slope(3.0) == 12.0
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    assert slope(3.0) == 30.0
    monkeypatch.setitem(globals(), "SCALE", 5)
    assert slope(3.0) == 30.0

    slope = source(wy.grad, wave)
    assert slope(0.0) == 2.0
    with monkeypatch.context() as patch:
        patch.setattr(np, "sin", np.cos)
        assert slope(0.0) == 1.0
    assert slope(0.0) == 2.0
    monkeypatch.setattr(wave, "__defaults__", (3.0,))
    assert slope(0.0) == 12.0
    monkeypatch.setattr(wave, "__code__", (lambda x, y: x * y).__code__)
    assert slope(0.0) == 3.0


def test_closures_that_are_made_anew_share_what_is_compiled():
    make = exec_function("def f(a):\n    return lambda x: a * x * x\n")
    for a in range(1, 5):
        assert source(wy.grad, make(float(a)))(3.0) == 6.0 * a
    key = ("source", "grad", 0, False)
    known = choose.record(make(1.0), key)
    assert len(known.table) == 1
    # Another kind of what is captured is another program.
    assert source(wy.grad, make(np.float32(2.0)))(3.0) == 12.0


def test_leaving_raises_what_python_raises():
    slope = source(wy.grad, inverse)
    assert slope(2.0) == -0.25
    for _ in range(5):
        with pytest.raises(ZeroDivisionError, match="division by zero") as error:
            slope(0.0)
        assert error.traceback[-1].name == "inverse"
    assert slope(2.0) == -0.25


def test_refusals():
    slope = source(wy.grad, refuses)
    with pytest.raises(wy.SourceError, match="a call of open is not supported"):
        slope(1.0)
    with pytest.raises(wy.SourceError, match="cannot be read"):
        source(wy.grad, lambda x: x, 0).__class__ and source(wy.grad, float)(1.0)
    with pytest.raises(ValueError, match="mode: expected one of"):
        wy.grad(wave, mode="fast")
    with pytest.raises(ValueError, match="mode"):
        wy.compile(wave, mode="trace")


def test_auto_traces_what_it_cannot_read():
    def opens(x):
        found = {x.real for _ in range(1)}
        return found.pop() * x

    slope = wy.grad(opens, mode="auto")
    for _ in range(4):
        assert slope(3.0) == 6.0
    explained = wy.explain(opens, 3.0)
    assert not explained.is_read
    assert "an item by a computed key is not supported" in explained.reason


def test_auto_compiles_what_returns():
    f = exec_function("def f(x):\n    return x * x\n", file="<choose auto>")
    slope = wy.grad(f, mode="auto")
    known = choose.record(f, ("auto", "grad", 0, False))
    assert slope(3.0) == 6.0
    assert len(known.table) == 0
    assert slope(3.0) == 6.0
    assert len(known.table) == 1
    looping = exec_function(
        "def f(x):\n    for _ in range(3):\n        x = x * x\n    return x\n", file="<choose loop>"
    )
    assert wy.grad(looping, mode="auto")(1.0) == 8.0
    assert len(choose.record(looping, ("auto", "grad", 0, False)).table) == 1


def test_auto_traces_while_somebody_watches():
    f = exec_function("def f(x):\n    return x * x\n", file="<choose watch>")
    slope = wy.grad(f, mode="auto")
    for _ in range(3):
        slope(3.0)
    lines = []

    def watch(frame, event, arg):
        if frame.f_code is f.__code__:
            lines.append(event)
        return watch

    sys.settrace(watch)
    try:
        assert slope(3.0) == 6.0
    finally:
        sys.settrace(None)
    assert "line" in lines
    lines.clear()
    assert slope(3.0) == 6.0
    assert lines == []


def test_variables_are_traced():
    slope = source(wy.grad, cubed)
    x = wy.Variable(2.0)
    found = slope(x)
    found.backward()
    assert float(x.grad) == 12.0


def test_methods_partials_and_objects():
    class Model:
        weight = 3.0

        def __call__(self, x):
            return self.weight * x * x

        def method(self, x):
            return self(x)

        slope = wy.grad(lambda self, x: self.weight * x * x, 1, mode="source")

    model = Model()
    assert source(wy.grad, model)(2.0) == 12.0
    assert source(wy.grad, model.method)(2.0) == 12.0
    assert model.slope(2.0) == 12.0
    model.weight = 5.0
    assert source(wy.grad, model)(2.0) == 20.0
    assert source(wy.grad, functools.partial(wave, y=2.0))(0.0) == 6.0


def test_names_and_pickles():
    slope = source(wy.grad, wave, (0, 1))
    assert slope.__name__ == "grad_wave"
    assert slope.__wrapped__ is wave
    for other in (pickle.loads(pickle.dumps(slope)), copy.deepcopy(slope), copy.copy(slope)):
        assert type(other) is type(slope)
        assert other(0.5, 2.0) == slope(0.5, 2.0)
    for made in (wy.compile(wave), source(wy.hvp, wave), source(wy.grad, with_aux, has_aux=True)):
        if made.__name__ != "hvp_wave":
            assert pickle.loads(pickle.dumps(made))(0.5) == made(0.5)


def test_compile():
    fast = wy.compile(newton_sqrt, mode="source")
    assert fast(2.0) == newton_sqrt(2.0)
    assert wy.compile(several)(2.0, 3.0) == several(2.0, 3.0)
    assert wy.compile(with_aux)(3) == with_aux(3)
    assert type(wy.compile(with_aux)(3)[0]) is int
    assert type(wy.compile(cubed)(np.float64(2.0))) is np.float64
    assert wy.compile(refuses, mode="auto").__name__ == "refuses"
    with pytest.raises(FileNotFoundError):
        wy.compile(refuses)(1.0)


def test_printed_programs():
    printed = wy.code_ir(newton_sqrt, 2.0)
    assert "newton_sqrt" in printed
    assert printed.count("block") >= 3 or printed.count("^") >= 3 or "jump" in printed
    assert wy.code_adjoint(newton_sqrt, 2.0) != printed
    assert wy.code_adjoint(wave, 0.5, 2.0, argnums=0)
    assert wy.explain(newton_sqrt, 2.0).is_read
    assert "read" in repr(wy.explain(newton_sqrt, 2.0))
    with pytest.raises(wy.SourceError):
        wy.code_ir(refuses, 1.0)


def test_many_functions_leave_no_memory():
    def call(i):
        f = exec_function(f"def f(x):\n    return x * {i}.5\n", file="<choose many>")
        assert source(wy.grad, f)(2.0) == i + 0.5
        return weakref.ref(f)

    gc.collect()
    before = len(policy._records)
    made = [call(i) for i in range(100)]
    gc.collect()
    assert sum(each() is not None for each in made) <= 1
    assert len(policy._records) <= before + 1


def test_threads():
    slope = source(wy.grad, counted(50))
    found, errors = [], []

    def work():
        try:
            found.extend(slope(1.0) for _ in range(50))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert found == [51.0] * 200
