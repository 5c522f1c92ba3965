"""What primitives may be given and give: hostile values, mutation, exceptions, other threads."""

import collections
import threading

import numpy as np
import pytest

import wyrmling as wy


class Subclass(np.ndarray):
    pass


class Longer(list):
    def __len__(self):
        return 2**40


class Endless(list):
    def __iter__(self):
        while True:
            yield 1.0


class LongDict(dict):
    def __len__(self):
        return 2**40


ENDLESS = [1.0]
ENDLESS.append(ENDLESS)
CIRCULAR = {"a": 1.0}
CIRCULAR["b"] = CIRCULAR

BAD = {
    "nothing": (None, TypeError, "f: expected a number or an array, or tuples"),
    "empty": ((), TypeError, "f: expected a number or an array, or tuples"),
    "empty dicts": ([{}, {"a": ()}], TypeError, "f: expected a number or an array, or tuples"),
    "itself": (ENDLESS, RecursionError, "f.*does it contain itself"),
    "itself in a dict": (CIRCULAR, RecursionError, "f.*does it contain itself"),
    "text": ((1.0, "a"), TypeError, r"f\[1\]: expected a number or an array, got str 'a'"),
    "bytes": ((1.0, b"a"), TypeError, r"f\[1\]: expected numbers .*, got bytes"),
    "range": (range(2**40), TypeError, "f: expected a number or an array, got range"),
    "range within": (
        [range(2**40)],
        TypeError,
        r"f\[0\]: expected a number or an array, got range",
    ),
    "generator": ((1.0 for _ in "a"), TypeError, "f: expected a number or an array, got generator"),
    "set": ({1.0}, TypeError, "f: expected a number or an array, got set"),
    "complex": ({"k": 1j}, TypeError, r"f\['k'\]: expected a number or an array, got complex"),
    "complex array": (
        collections.namedtuple("Pair", "first second")(1.0, np.ones(2, complex)),
        TypeError,
        r"f\.second: expected numbers",
    ),
    "float16": ((1.0, np.ones(2, np.float16)), TypeError, r"f\[1\]: .*got float16.*astype"),
    "float16 number": ([[np.float16(1)]], TypeError, r"f\[0\]\[0\]: .*got float16.*astype"),
    "long double": ([np.longdouble(1) / 3], TypeError, r"f\[0\]: expected numbers"),
    "objects": ((np.array([None]),), TypeError, r"f\[0\]: expected numbers"),
    "dates": ((np.datetime64("2020"),), TypeError, r"f\[0\]: expected numbers"),
    "records": (np.zeros(2, [("a", float)]), TypeError, "f: expected numbers"),
    "masked": ([np.ma.masked_array([1.0], [True])], TypeError, r"f\[0\]: a masked array would"),
    "masked alone": (np.ma.masked_array([1.0], [True]), TypeError, "f: a masked array would"),
}


@pytest.mark.parametrize("make", [wy.primitive, wy.checkpoint])
@pytest.mark.parametrize("name", BAD)
def test_results_that_cannot_be_are_refused_by_name(name, make):
    result, error, match = BAD[name]

    def f(x):
        return result

    f = make(f)
    for call in (
        lambda: f(wy.Variable(1.0)),
        lambda: f(wy.Input(1.0)),
        lambda: wy.vjp(f, np.ones(2)),
        lambda: wy.jvp(f, (1.0,), (1.0,)),
    ):
        with pytest.raises(error, match=match):
            call()


def test_lengths_that_are_no_lengths_are_not_believed():
    f = wy.primitive(lambda x: (Longer([x, 2 * x]), Endless([x]), LongDict(a=x)))
    longer, endless, named = f(wy.Variable(3.0))
    assert [v.item() for v in (longer[0], longer[1], endless[0], named["a"])] == [
        3.0,
        6.0,
        3.0,
        3.0,
    ]


@pytest.mark.parametrize(
    "result",
    [
        np.arange(6.0).reshape(2, 3).T,
        np.arange(6.0)[::-2],
        np.arange(3.0).astype(">f8"),
        np.arange(3.0, dtype=">f4"),
        np.broadcast_to(1.5, (2, 3)),
        np.arange(3.0).view(Subclass),
        np.array([True, False]),
        np.arange(4, dtype=np.uint8),
        np.frombuffer(b"x" + np.arange(3.0).tobytes() + b"x" * 7, np.float64, 3, 1),
        np.zeros((0, 3)),
        np.array(2.0),
        memoryview(np.arange(3.0)),
        7,
        True,
    ],
    ids=lambda x: f"{type(x).__name__} {x if not isinstance(x, memoryview) else x.tolist()}",
)
def test_results_of_any_layout_are_read(result):
    f = wy.primitive(lambda x: {"first": [result, result], "second": x})
    found = f(wy.Variable(1.0))
    expected = np.asarray(result)
    kind = expected.dtype.newbyteorder("=") if expected.dtype.kind == "f" else np.float64
    for variable in found["first"]:
        np.testing.assert_array_equal(variable.value, expected)
        assert variable.dtype == kind
        assert variable.shape == expected.shape


KEPT = np.ones(3)
SHARED = {
    "the argument": lambda x: x,
    "a view": lambda x: x.T,
    "one in a tuple": lambda x: (x[:1], x * 1.0)[0:1],
    "one twice": lambda x: (x * 1.0,) * 2,
    "in a dict": lambda x: {"a": x[::-1]},
    "an array of its own": lambda x: KEPT,
}


@pytest.mark.parametrize("make", [wy.primitive, wy.checkpoint])
@pytest.mark.parametrize("name", SHARED)
def test_results_are_copies_traced_or_not(name, make):
    f = make(SHARED[name])
    if make is wy.primitive:
        f.defvjp(None)
    argument = np.array([0.3, 0.7, 0.9])

    def written(x):
        y = x * 1.0
        result = f(y)
        parts = list(result.values()) if isinstance(result, dict) else result
        parts = parts if isinstance(parts, tuple | list) else [parts]
        parts[0][0] = 9.0
        return np.sum(y) + sum(k * np.sum(part) for k, part in enumerate(parts))

    plain = written(argument)
    assert wy.value_and_grad(written)(argument)[0] == plain
    assert written(wy.Variable(argument)).item() == plain
    f(argument)
    np.testing.assert_array_equal(KEPT, 1.0)
    np.testing.assert_array_equal(argument, [0.3, 0.7, 0.9])


SIZES = [(), (3,), (0,), (5000,)]


@pytest.mark.parametrize("make", [wy.primitive, wy.checkpoint])
@pytest.mark.parametrize("shape", [(1,), (3,), (2, 0), (70, 70)])
def test_arguments_cannot_be_written_to(make, shape):
    """Where nothing is traced they are the caller's, and so writing would make a difference."""

    def write(x):
        x[...] = 5.0
        return np.sum(x)

    def double(x):
        x *= 2.0
        return np.sum(x)

    def through_a_view(x):
        x.reshape(-1)[:] = 5.0
        return np.sum(x)

    for f in map(make, (write, double, through_a_view)):
        x = wy.Input(np.ones(shape))
        for call in (
            lambda f=f: wy.grad(f)(np.ones(shape)),
            lambda f=f: wy.jvp(f, (np.ones(shape),), (np.ones(shape),)),
            lambda f=f, x=x: f(x),
            lambda f=f, x=x: wy.freeze(f(x * 1.0)),
        ):
            with pytest.raises(ValueError, match="read-only"):
                call()
        np.testing.assert_array_equal(x.value, np.ones(shape))
    # A number is nobody else's.
    assert wy.vjp(make(double), 3.0)[0] == 6.0


@pytest.mark.parametrize("shape", SIZES)
def test_nobody_sees_what_a_primitive_does_to_its_arrays(shape):
    """The function returns its own operand, and it and the rules write to all that they get."""
    kept = []

    def spoil(*arrays):
        for array in arrays:
            array.setflags(write=True)
            array *= 7.0

    def f(x, y):
        kept.append((x, y))
        x.setflags(write=True)
        x *= 2.0
        return x, y, y

    f = wy.primitive(f)

    def rule(g, ans, x, y):
        result = 2.0 * g[0]
        kept.append((*g, *ans, x, y))
        spoil(*g, *ans, x, y)
        return result

    f.defvjp(rule, lambda g, ans, x, y: g[1] + g[2])
    ones = np.ones(shape)
    given = [ones.copy(), ones.copy()]
    x, w = wy.Input(given[0]), wy.Parameter(given[1])
    parts = f(x, w)
    same = f(w, w)
    loss = sum(np.sum(part) for part in parts) + np.sum(same[0] * 1.0)
    spoil(*kept[0])
    for _ in range(2):
        w.zero_grad()
        loss.backward()
        np.testing.assert_array_equal(w.grad, 4.0 * ones)
        for some in kept:
            spoil(*some)
        for part, value in zip(parts, (2.0, 1.0, 1.0), strict=True):
            np.testing.assert_array_equal(part.value, value * ones)
        np.testing.assert_array_equal(x.value, ones)
        np.testing.assert_array_equal(w.value, ones)
    program = wy.freeze(loss)
    value, gradients = program.value_and_grad({x: given[0]})
    assert value == 6.0 * ones.size
    np.testing.assert_array_equal(gradients[w], 4.0 * ones)
    y, pullback = wy.vjp(f, given[0], given[1])
    seeds = (ones.copy(), ones.copy(), ones.copy())
    for _ in range(2):
        got = pullback(tuple(seeds) if shape else (1.0, 1.0, 1.0))
        np.testing.assert_array_equal(got[0], 2.0 * ones)
        np.testing.assert_array_equal(got[1], 2.0 * ones)
    for array in (*given, *seeds, y[1], y[2]):
        np.testing.assert_array_equal(array, ones)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("where", ["value", "vjp", "jvp"])
@pytest.mark.parametrize(
    "error",
    [KeyError("k"), KeyboardInterrupt(), SystemExit(3), StopIteration(2), MemoryError("m")],
    ids=repr,
)
def test_what_a_primitive_raises_arrives_and_leaves_nothing_behind(error, where, several):
    raising = []

    def raise_in(place):
        if place in raising:
            raise error

    def form(x):
        return (x, x) if several else x

    def of(tree):
        return tree[0] if several else tree

    @wy.primitive
    def f(x):
        raise_in("value")
        return form(x * x)

    f.defvjp(lambda g, ans, x: raise_in("vjp") or of(g) * 2.0 * x)
    f.defjvp(lambda t, ans, x: raise_in("jvp") or form(t * 2.0 * x))
    x, w = wy.Input(np.ones(3)), wy.Parameter(1.0)
    loss = np.sum(of(f(x * w)))
    program = wy.freeze(loss)
    pullback = wy.vjp(f, np.ones(2))[1]
    calls = {
        "value": [
            lambda: loss.value,
            lambda: program.run({x: np.ones(3)}),
            lambda: wy.grad(lambda x: np.sum(of(f(x))))(np.ones(2)),
        ],
        "vjp": [
            loss.backward,
            lambda: program.value_and_grad({x: np.ones(3)}),
            lambda: pullback(form(np.ones(2))),
            lambda: wy.fit(program, {x: np.ones(4)}, optimizer=wy.SGD(lr=0.1), batch_size=4),
        ],
        "jvp": [lambda: wy.jvp(f, (np.ones(2),), (np.ones(2),))],
    }
    x.value = np.full(3, 2.0)
    for call in calls[where]:
        raising.append(where)
        with pytest.raises(type(error)) as raised:
            call()
        assert raised.value.args == error.args
        raising.clear()
        assert w.grad is None
        assert w.value == 1.0
        loss.backward()
        assert w.grad == 24.0
        w.zero_grad()
        assert program.run({x: np.ones(3)}) == 3.0
        np.testing.assert_array_equal(pullback(form(np.ones(2)))[0], [2.0, 2.0])


HALF = {
    "array": lambda x: np.ones(np.shape(x), np.float16),
    "number": lambda x: np.float16(1.0),
    "converted": lambda x: x.astype(np.float16),
}


@pytest.mark.parametrize("name", HALF)
@pytest.mark.parametrize("where", ["value", "later", "vjp", "jvp", "leaf of a gradient"])
def test_float16_is_refused_wherever_a_primitive_gives_it(name, where):
    half = HALF[name]
    after = [where != "later"]

    @wy.primitive
    def f(x):
        if where in ("value", "later") and after[0]:
            return half(x)
        return x * 2.0 if isinstance(x, np.ndarray) else {"a": x["a"] * 2.0}["a"]

    f.defvjp(lambda g, ans, x: half(g) if where == "vjp" else g * 2.0)
    if where == "jvp":
        f.defjvp(lambda t, ans, x: half(t))
    if where == "leaf of a gradient":
        f.defvjp(lambda g, ans, x: {"a": half(g)})
    given = (lambda x: {"a": x}) if where == "leaf of a gradient" else (lambda x: x)

    def summed(x):
        return np.sum(f(given(x)))

    def graph():
        x, w = wy.Input(np.ones(2)), wy.Parameter(1.0)
        return x, w, summed(x * w)

    ones = np.ones(2)
    calls = [
        lambda: wy.grad(summed)(ones),
        lambda: wy.hessian(summed)(ones),
        lambda: wy.jvp(summed, (ones,), (ones,)),
        lambda: wy.vjp(summed, ones)[1](1.0),
        lambda: wy.hvp(summed)(ones, ones),
        lambda: graph()[2].backward(),
        lambda: graph()[2].backward(create_graph=True),
    ]
    if where == "jvp":
        calls = [calls[2], lambda: wy.jacfwd(summed)(ones)]
    if where == "later":
        x, _, loss = graph()
        program = wy.freeze(loss)
        after[0] = True
        x.value = np.zeros(2)
        calls = [
            lambda: loss.value,
            lambda: program.run({x: ones}),
            lambda: program.run({x: np.ones(3)}),
            lambda: program.value_and_grad({x: ones}),
            lambda: wy.fit(program, {x: np.ones(4)}, optimizer=wy.SGD(lr=0.1), batch_size=4),
        ]
    if where in ("vjp", "leaf of a gradient"):
        x, _, loss = graph()
        program = wy.freeze(loss)
        calls += [
            lambda: program.value_and_grad({x: ones}),
            lambda: wy.fit(program, {x: np.ones(4)}, optimizer=wy.SGD(lr=0.1), batch_size=4),
        ]
    for call in calls:
        with pytest.raises(TypeError, match=r"float16|half"):
            call()


def test_a_type_that_changes_is_widened_but_not_narrowed():
    kind = [np.float32]
    f = wy.primitive(lambda x: {"a": (x * 2).astype(kind[0])})
    x = wy.Input(np.ones(2, np.float32))
    y = f(x)["a"]
    for narrow in (np.int64, bool, np.float32):
        kind[0] = narrow
        x.value = x.value + np.float32(1.0)
        assert y.value.dtype == np.float32
    kind[0] = np.float64
    x.value = np.zeros(2, np.float32)
    with pytest.raises(
        TypeError, match=r"a.*: expected a result of float32, as before, got float64"
    ):
        _ = y.value


def test_a_rule_may_compute_in_more_digits_than_its_argument_has():
    double = np.array([2.0, 3.0])
    f = wy.primitive(lambda x: {"a": x * x})
    f.defvjp(lambda g, ans, x: g["a"] * x * double)
    x = np.array([1.0, 2.0], np.float32)

    def loss(x):
        return np.sum(f(x)["a"])

    assert wy.grad(loss)(x).dtype == np.float32
    second = wy.hessian(loss)(x)
    assert second.dtype == np.float32
    np.testing.assert_array_equal(second, np.diag(double))
    np.testing.assert_array_equal(wy.hvp(loss)(x, x), [2.0, 6.0])
    f.defjvp(lambda t, ans, x: {"a": t * x * double})
    moved = wy.jvp(f, (x,), (x,))[1]["a"]
    assert moved.dtype == np.float32
    np.testing.assert_array_equal(wy.jacrev(wy.jacfwd(loss))(x), np.diag(double))


@pytest.mark.parametrize("given", [[], [1.0], [1.0] * 3, [1.0, None], None, {"a": 1.0}, (1.0, 1.0)])
def test_gradients_of_a_list_have_a_leaf_for_each_of_its(given):
    f = wy.primitive(lambda ab: ab[0] * ab[1])
    f.defvjp(lambda g, ans, ab: given)
    with pytest.raises(ValueError, match="a gradient for each leaf, in the form of argument 0"):
        wy.grad(f)([1.0, 2.0])


def test_a_pullback_stays_in_its_thread_and_a_program_does_not():
    f = wy.primitive(lambda x: (x * x, np.sum(x)))
    f.defvjp(lambda g, ans, x: g[0] * 2.0 * x + g[1])
    _, pullback = wy.vjp(f, np.array([1.0, 2.0]))
    x, w = wy.Input(np.ones(2)), wy.Parameter(1.0)
    first, second = f(x * w)
    program = wy.freeze(np.sum(first) + second)
    found = []

    def work():
        try:
            pullback((np.ones(2), 1.0))
        except RuntimeError as error:
            found.append(str(error))
        found.append(program.value_and_grad({x: np.array([1.0, 2.0])}))
        found.append(wy.grad(lambda x: f(x)[1])(np.ones(3)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert "belongs to another thread" in found[0]
    assert found[1][0] == 8.0
    assert found[1][1][w] == 13.0
    np.testing.assert_array_equal(found[2], np.ones(3))
    np.testing.assert_array_equal(pullback((np.ones(2), 1.0))[0], [3.0, 5.0])
