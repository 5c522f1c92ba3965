"""``mode="auto"`` against ``mode="trace"``: the same results and errors at the first call, at later
ones, when arguments change between calls, and when what is found outside does.
"""

import dataclasses
import functools
import itertools
import linecache
import math

import numpy as np
import pytest
from outcomes import Raised

import wyrmling as wy

A = np.linspace(-1.5, 2.0, 6).reshape(2, 3)
V = np.array([0.5, -0.0, 2.0])
SCALE = 2.0
EXTREME = np.sum
TABLE = {"rate": 0.5, "names": ["a", "b"], "rows": [1.0, 2.0, 3.0]}


class Float(float):
    """A number of a class of its own."""


class Sub(np.ndarray):
    """An array of a class of its own."""


@dataclasses.dataclass
class Layer:
    w: float
    bias: float = 0.25

    def __call__(self, x):
        return np.tanh(x * self.w + self.bias)

    def method(self, x, power=2):
        return (x * self.w) ** power


def branches(x):
    if x > 1.0:
        return x * x * x
    return np.sin(x) if x > 0 else 2.0 * x


def loop(x, n=5):
    total = 0.0
    for k in range(n):
        total = total + x * k
        if total > 100.0:
            break
    return total * x


def while_loop(x):
    while x < 10.0:
        x = x * 1.5 + 0.1
    return x


def starred(x, *rest, scale=2.0, **more):
    for each in rest:
        x = x * each
    return x * scale + sum(more.values()) * x


def integers(x, n):
    return x**n + n // 2 * x


def mutates(x, out):
    out.append(1.0)
    return x * len(out)


def writes(x):
    x[0] = x[1] * 2.0
    return np.sum(x * x)


def copies(x):
    y = x.copy()
    y[0] = 3.0 * y[1]
    return np.sum(y * x)


def from_generator(x, items):
    return x * sum(items)


def raises(x):
    if x > 1.0:
        raise ValueError(f"more than {1.0}")
    assert x > -5.0, "less than that"
    return x * x


def divides(x, y):
    return x / y


def adds_a_list(x):
    return x * [1.0]


def out_of_range(x, k):
    return x * TABLE["rows"][k]


def reads_globals(x):
    return x * x * SCALE + x * TABLE["rate"] * len(TABLE["rows"])


def recursive(x, n):
    return x if n == 0 else x * recursive(x, n - 1)


def no_attribute(x):
    return x.nothing


def of_dict(p):
    return np.sum(p["w"] * p["w"]) * p["b"][0]


def unused(x, y):
    return y * y


def nan_and_zero(x):
    return x * 0.0 - x + np.where(x > 0, x, -x)


def power(x, y):
    return x**y


def float32s(x):
    return x * np.float32(2.0) + np.sqrt(x)


def swaps(x, y):
    x, y = y, x * y
    return x - y


def cumulative(x):
    return np.sum(np.cumsum(x) * np.arange(3.0))


def product(x):
    return np.sum((x @ x.T) ** 2)


def nested(x):
    return wy.grad(lambda y: y * y * x)(x) + x


NO_SOURCE = {"np": np}
exec("def f(x):\n    return x * x + np.sin(x)\n", NO_SOURCE)

# By name: a function, and the arguments of calls in turn.
FUNCTIONS = {
    "branches": (branches, [(0.5,), (2.0,), (-1.0,), (1.0,)]),
    "numbers": (branches, [(2.0,), (2,), (np.float64(2),), (np.float32(2),), (Float(2.0),)]),
    "booleans": (branches, [(True,), (np.True_,), (2.0,)]),
    "loop": (loop, [(0.5,), (0.5, 3), (40.0,), (0.5, 0)]),
    "while": (while_loop, [(0.5,), (20.0,)]),
    "starred": (starred, [(0.5,), (0.5, 2.0), (0.5, 2.0, 3), (0.5, np.float64(2))]),
    "integers": (integers, [(1.5, 2), (1.5, 3), (0.5, 0), (1.5, -1), (2, 3), (1.5, 2.0)]),
    "large integers": (integers, [(1.5, 2), (0.5, 10**18), (0.5, 10**30), (1.5, 2)]),
    "layer": (Layer(0.5), [(1.5,), (-0.5,)]),
    "method": (Layer(0.5).method, [(1.5,), (1.5, 3)]),
    "partial": (functools.partial(loop, n=3), [(1.5,), (2.5,)]),
    "lambda": (lambda x: x * x + 1, [(1.5,), (3,)]),
    "numpy's": (np.sin, [(1.5,), (0.0,)]),
    "without source": (NO_SOURCE["f"], [(1.5,), (0.0,)]),
    "appends to an argument": (mutates, [(1.5, []), (1.5, [1.0, 2.0])]),
    "writes to an argument": (writes, [(V.copy(),), (V.copy(),)]),
    "copies an argument": (copies, [(V,), (V[::-1],)]),
    "raises": (raises, [(0.5,), (2.0,), (-6.0,), (0.5,), (2.0,)]),
    "divides": (divides, [(1.0, 2.0), (1.0, 0.0), (1.0, -0.0), (0.0, 5.0), (1.0, np.float64(0))]),
    "adds a list": (adds_a_list, [(1.0,), (2,)]),
    "index": (out_of_range, [(1.0, 0), (1.0, 5), (1.0, -1), (1.0, 1.5)]),
    "recursion": (recursive, [(1.5, 3), (1.5, 0), (1.5, 5)]),
    "no attribute": (no_attribute, [(1.5,), (2.5,)]),
    "dict": (
        of_dict,
        [({"w": V, "b": [2.0]},), ({"w": 3.0, "b": [2.0]},), ({"w": A, "b": (1.0,)},)],
    ),
    "unused": (unused, [(1.5, 2.0), (V, 2.0), (np.float32(1.0), 2.0)]),
    "nan and zero": (nan_and_zero, [(0.0,), (-0.0,), (math.nan,), (math.inf,), (-math.inf,), (1,)]),
    "power": (power, [(2.0, 3.0), (0.0, 0.0), (0.0, 1.0), (2.0, -1), (-2.0, 2), (0.0, -1.0)]),
    "float32": (float32s, [(np.float32(2.0),), (2.0,), (np.float64(2.0),)]),
    "swaps": (swaps, [(1.5, 2.0), (2, 3)]),
    "cumulative": (cumulative, [(V,), (V.astype(np.float32),), (V[::2].repeat(2)[:3],)]),
    "product": (product, [(A,), (A.T,), (A.astype(np.float32),), (A[:, :1],), (V.view(Sub),)]),
    "nested": (nested, [(1.5,), (2.0,)]),
    "wrong arguments": (swaps, [(1.5,), ("a", 2.0), (None, 1.0), (V, "a"), (1j, 2.0)]),
    "wrong results": (lambda x: x, [(V,), ("a",), (V[:1],), (V[0],)]),
    "integer results": (lambda x: 3, [(1.5,), (2,)]),
    "none": (lambda x: None, [(1.5,), (2.5,)]),
}


def outcome(f, args):
    """What a call gives, or the type and text of what it raises."""
    try:
        return f(*args)
    except Exception as error:
        return Raised(error, None)


def agree(a, b):
    """Whether two outcomes are the same but for the last digits of numbers, which are not zero."""
    if isinstance(a, Raised) or isinstance(b, Raised):
        return type(a) is type(b) and (a.kind, a.text) == (b.kind, b.text)
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(agree, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(agree(a[key], b[key]) for key in a)
    if not isinstance(a, float | np.floating | np.ndarray):
        return a is b or a == b
    a, b = np.asarray(a), np.asarray(b)
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return False
    zeros = np.array_equal(np.signbit(a)[a == 0.0], np.signbit(b)[a == 0.0])
    digits = 1e-5 if a.dtype == np.float32 else 1e-13
    return zeros and np.allclose(a, b, rtol=digits, atol=0.0, equal_nan=True)


def fresh(args):
    """The arguments, so that what a call writes is not seen by the next."""
    return tuple([a.copy() if isinstance(a, list) or type(a) is np.ndarray else a for a in args])


TRANSFORMS = {
    "grad": wy.grad,
    "value_and_grad": wy.value_and_grad,
    "elementwise_grad": wy.elementwise_grad,
    "hessian": wy.hessian,
    "jacfwd": wy.jacfwd,
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_calls_in_turn(name, transform):
    f, calls = FUNCTIONS[name]
    make = TRANSFORMS[transform]
    traced, auto = make(f, mode="trace"), make(f, mode="auto")
    for args in itertools.chain(calls, calls, *[[each] * 4 for each in calls], calls):
        with np.errstate(all="ignore"):
            expected = outcome(traced, fresh(args))
            found = outcome(auto, fresh(args))
            # Where both raise, what plain Python raises is right too.
            plain = outcome(f, fresh(args))
        both = isinstance(found, Raised) and isinstance(expected, Raised) and agree(found, plain)
        assert agree(found, expected) or both, (args, found, expected)


def test_what_is_beside_the_value():
    layer = Layer(3.0)

    def f(x, layer):
        return x * layer.w, (layer, {"x": x, "text": "t"}, None, 3)

    slope = wy.value_and_grad(f, has_aux=True, mode="auto")
    for x in (1.5, 1.5, 2.5, 2, np.float32(2.0)):
        (value, (given, more, none, three)), gradient = slope(x, layer)
        assert (value, gradient, none, three) == (3.0 * x, 3.0, None, 3)
        assert given is layer
        assert more == {"x": x, "text": "t"}
        assert type(more["x"]) is type(value)


def test_what_is_outside_changes_between_calls(monkeypatch):
    """Each call sees what there is: new globals, and what was written to old ones."""
    module = globals()
    layer, array, rows = Layer(2.0), np.array([1.0, 2.0, 3.0]), [1.0, 2.0]

    def f(x):
        return x * SCALE * layer.w * len(rows) * rows[-1] + np.sum(array) * TABLE["rate"] * x

    traced, auto = wy.value_and_grad(f, mode="trace"), wy.value_and_grad(f, mode="auto")
    monkeypatch.setitem(module, "SCALE", 2.0)
    monkeypatch.setitem(TABLE, "rate", 0.5)

    def check():
        for _ in range(3):
            assert agree(auto(1.5), traced(1.5))

    check()
    changes = [
        lambda: module.update(SCALE=3.0),
        lambda: module.update(SCALE=3),
        lambda: module.update(SCALE=np.float32(0.5)),
        lambda: module.update(SCALE=True),
        lambda: TABLE.update(rate=0.25),
        lambda: TABLE.update(rate=1),
        lambda: TABLE.update(more=1.0),
        lambda: TABLE.pop("more"),
        lambda: setattr(layer, "w", 5.0),
        lambda: setattr(layer, "w", 5),
        lambda: rows.append(7.0),
        lambda: rows.append(np.float64(8.0)),
        lambda: rows.pop(),
        lambda: array.__setitem__(0, 10.0),
        lambda: array.fill(0.5),
        lambda: module.update(SCALE=wy.Variable(2.0)),
        lambda: module.update(SCALE=2.0),
    ]
    for change in changes:
        change()
        if isinstance(SCALE, wy.Variable):
            assert [auto(1.5)[1].item() for _ in range(3)] == [traced(1.5)[1].item()] * 3
        else:
            check()


def test_effects_are_those_of_tracing(capsys):
    """What a function prints, counts, draws or writes is the same in every call."""

    def f(x, rng, log, items):
        print("called", len(log))
        log.append(type(x).__name__)
        noise = rng.normal()
        return x * noise * sum(items) + x * x

    found = {}
    for mode in ("trace", "auto"):
        slope, rng, log = wy.grad(f, mode=mode), np.random.default_rng(3), []
        results = [slope(1.5, rng, log, (k for k in (1.0, 2.0))) for _ in range(6)]
        found[mode] = results, log, capsys.readouterr().out
    assert found["auto"] == found["trace"]
    assert len(set(found["auto"][0])) == 6


def test_a_draw_is_made_in_each_call():
    rng = {mode: np.random.default_rng(5) for mode in ("trace", "auto")}
    drawn = {}
    for mode, own in rng.items():
        slope = wy.grad(lambda x, own=own: x * own.normal() + x * own.uniform(), mode=mode)
        drawn[mode] = [slope(1.0) for _ in range(6)]
    assert drawn["auto"] == drawn["trace"]
    assert len(set(drawn["auto"])) == 6


def test_a_global_that_the_function_writes():
    names = {}
    text = "def f(x):\n    global count\n    count += 1\n    return x * x * count\n"
    linecache.cache["<writes>"] = (len(text), None, text.splitlines(keepends=True), "<writes>")
    exec(compile(text, "<writes>", "exec"), names)
    names["count"] = 0
    slope = wy.grad(names["f"], mode="auto")
    assert [slope(1.0) for _ in range(5)] == [2.0, 4.0, 6.0, 8.0, 10.0]
    assert names["count"] == 5


def test_a_function_that_counts_its_calls():
    class Counted:
        calls = 0

        def __call__(self, x):
            self.calls += 1
            return x * self.calls

    f = Counted()
    slope = wy.grad(f, mode="auto")
    assert [slope(1.0) for _ in range(5)] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert f.calls == 5
    f, calls = functools.lru_cache(lambda x: x * x), []
    slope = wy.grad(lambda x: calls.append(1) or f(x), mode="auto")
    assert [slope(2.0) for _ in range(4)] == [4.0] * 4
    assert len(calls) == 4


def test_every_transform_traces_variables():
    x = wy.Variable(2.0)
    for name in ("grad", "hessian", "jacrev", "jacfwd", "elementwise_grad"):
        for _ in range(3):
            assert isinstance(getattr(wy, name)(lambda x: x * x * x, mode="auto")(x), wy.Variable)


def test_what_cannot_be_traced_is_read():
    def filled(x):
        out = np.zeros(2)
        out[0] = x
        out[1] = x * math.exp(x)
        return out.sum()

    slope = wy.grad(filled, mode="auto")
    for x in (0.5, 0.5, 1.0, 2, np.float64(1.5)):
        assert slope(x) == pytest.approx(1.0 + math.exp(x) * (1.0 + x), rel=1e-14)
    # Python's own error, where it has one.
    with pytest.raises(OverflowError, match="math range error"):
        slope(1e4)
    with pytest.raises(TypeError, match=r"np\.sin for math\.sin"):
        wy.grad(float, mode="auto")(1.0)


@pytest.mark.parametrize("mode", ["source", "auto", "trace"])
def test_stop_gradient(mode):
    def scaled(x):
        return x * wy.stop_gradient(x * x)

    def looped(x):
        y = x
        for _ in range(3):
            y = wy.stop_gradient(y) * x
        return y

    for _ in range(3):
        assert wy.grad(scaled, mode=mode)(3.0) == 9.0
        assert wy.grad(wy.grad(scaled, mode=mode), mode=mode)(3.0) == 0.0
        assert wy.jvp(scaled, (3.0,), (1.0,), mode=mode) == (27.0, 9.0)
        assert wy.grad(looped, mode=mode)(2.0) == 8.0
        found = wy.grad(lambda x: np.sum(scaled(x)), mode=mode)(V)
        np.testing.assert_array_equal(found, V * V)


@pytest.mark.parametrize("mode", ["source", "auto"])
def test_other_functions_of_numpys_and_ours_are_seen(mode, monkeypatch):
    chosen = np.max

    def f(x):
        return chosen(x) + EXTREME(x)

    x = np.array([1.0, 2.0, 4.0])
    slope = wy.grad(f, mode=mode)
    monkeypatch.setitem(globals(), "EXTREME", np.sum)
    for one, other in itertools.product(
        (np.max, np.min, wy.max, wy.min), (np.sum, np.prod, wy.prod)
    ):
        chosen = one
        monkeypatch.setitem(globals(), "EXTREME", other)
        expected = wy.grad(f, mode="trace")(x)
        for _ in range(3):
            np.testing.assert_allclose(slope(x), expected, rtol=1e-14)


def test_what_depends_on_values_is_read_as_loops_or_traced():
    def weighted(w):
        return np.average(V, weights=w)

    def pieces(x):
        return np.piecewise(x, [x < 0.0], [np.abs, np.sqrt]).sum()

    x = np.array([-1.0, 4.0])
    with pytest.raises(wy.SourceError):
        wy.grad(lambda w: np.cov(V, aweights=w), mode="source")(V)
    for mode in ("source", "auto"):
        for _ in range(4):
            np.testing.assert_array_equal(wy.grad(pieces, mode=mode)(x), [-1.0, 0.25])
            with pytest.raises(ZeroDivisionError):
                wy.grad(weighted, mode=mode)(np.zeros(3))


@pytest.mark.parametrize("mode", ["source", "auto"])
def test_other_functions_of_one_code_are_seen(mode, monkeypatch):
    """Functions of ours are wrappers of one code, which is not what they do."""
    assert wy.special.softmax.__code__ is wy.special.log_softmax.__code__
    slope = wy.grad(lambda x: EXTREME(x)[0], mode=mode)
    for f in (wy.special.softmax, wy.special.log_softmax, wy.special.softmax):
        monkeypatch.setitem(globals(), "EXTREME", f)
        expected = wy.grad(lambda x: f(x)[0], mode="trace")(V)  # noqa: B023
        for _ in range(3):
            np.testing.assert_allclose(slope(V), expected, rtol=1e-14)


def test_second_derivatives_of_eigenvalues_are_traced():
    def largest(x):
        return np.sum(wy.linalg.eigvalsh(x) ** 3)

    def within(x):
        return np.sum(wy.grad(largest)(x) ** 2)

    direction = np.arange(9.0).reshape(3, 3)
    direction = direction + direction.T
    np.testing.assert_allclose(
        wy.grad(largest, mode="source")(direction), wy.grad(largest, mode="trace")(direction)
    )
    with pytest.raises(wy.SourceError, match="second derivative"):
        wy.hvp(largest, mode="source")(np.eye(3), direction)
    with pytest.raises(wy.SourceError, match="second derivative"):
        wy.grad(within, mode="source")(direction)
    for _ in range(3):
        found = wy.hvp(largest, mode="auto")(np.eye(3), direction)
        traced = wy.hvp(largest, mode="trace")(np.eye(3), direction)
        np.testing.assert_allclose(found, traced, rtol=1e-12)
        with pytest.raises(np.linalg.LinAlgError, match="no second derivative"):
            wy.hvp(lambda x: wy.linalg.eigvalsh(x)[0], mode="auto")(np.eye(3), direction)
