"""Primitives and checkpoints that return tuples, lists and dicts of arrays."""

import collections
import functools
import gc
import threading
import weakref

import numpy as np
import pytest

import wyrmling as wy

Pair = collections.namedtuple("Pair", "first second")

# Three arrays of different shapes, in many forms. `u` is what a function of `x` and `w` computes.
FORMS = {
    "tuple": lambda u: (u[0], u[1], u[2]),
    "list": lambda u: [u[0], u[1], u[2]],
    "dict": lambda u: {"z": u[0], "a": u[1], 3: u[2]},
    "named tuple": lambda u: (Pair(u[0], u[1]), u[2]),
    "nested": lambda u: {"b": [u[0], ({"k": (u[1],)}, None)], "a": [], "c": Pair(u[2], ())},
}
FIRST = {  # The first result alone, in a container or by itself.
    "alone": lambda u: u[0],
    "tuple of one": lambda u: (u[0],),
    "dict of one": lambda u: {"only": u[0]},
}


def leaves(tree):
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, tuple | list):
        return [leaf for part in tree for leaf in leaves(part)]
    return [] if tree is None else [tree]


def computed(x, w):
    return np.sin(x) * w, np.sum(x * x) * w, np.stack([x, np.exp(x) * w])


def functions(form, forward):
    """A function in some form, and a primitive that is the same."""

    def plain(x, w):
        return form(computed(x, w))

    def call(x, w):
        assert isinstance(x, np.ndarray)
        return plain(x, w)

    primitive = wy.primitive(call)

    def same_form(tree, ans):
        assert repr(blank(tree)) == repr(blank(ans))

    def pulled(argnum, g, ans, x, w):
        same_form(g, ans)
        f = functools.partial(by_argument, plain, x, w, argnum)
        return wy.vjp(f, (x, w)[argnum])[1](g)[0]

    def pushed(argnum, t, ans, x, w):
        f = functools.partial(by_argument, plain, x, w, argnum)
        return wy.jvp(f, ((x, w)[argnum],), (t,))[1]

    primitive.defvjp(functools.partial(pulled, 0), functools.partial(pulled, 1))
    if forward:
        primitive.defjvp(functools.partial(pushed, 0), functools.partial(pushed, 1))
    return plain, primitive


def by_argument(f, x, w, argnum, at):
    return f(at, w) if argnum == 0 else f(x, at)


def blank(tree):
    if isinstance(tree, dict):
        return {key: blank(part) for key, part in tree.items()}
    if isinstance(tree, tuple | list):
        return (type(tree).__name__, [blank(part) for part in tree])
    return None if tree is None else "leaf"


def close(one, other):
    assert repr(blank(one)) == repr(blank(other))
    for a, b in zip(leaves(one), leaves(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)
        assert np.asarray(a).dtype == np.asarray(b).dtype


def mixed(f):
    """One number of all results."""

    def loss(x, w):
        total = 0.0
        for k, leaf in enumerate(leaves(f(x, w))):
            total = total + np.sum(leaf * leaf) * (k + 1.0)
        return total

    return loss


@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize("name", [*FORMS, *FIRST])
def test_transforms_of_what_returns_several_arrays(name, forward):
    plain, primitive = functions({**FORMS, **FIRST}[name], forward)
    x, w = np.array([0.3, -0.7, 1.1]), 2.0
    close(primitive(x, w), plain(x, w))
    close(wy.vjp(primitive, x, w)[0], plain(x, w))
    y = plain(x, w)
    close(wy.vjp(primitive, x, w)[1](y), wy.vjp(plain, x, w)[1](y))
    close(wy.jvp(primitive, (x, w), (x, 3.0)), wy.jvp(plain, (x, w), (x, 3.0)))
    close(wy.jacrev(primitive, (0, 1))(x, w), wy.jacrev(plain, (0, 1))(x, w))
    close(wy.jacfwd(primitive, (0, 1))(x, w), wy.jacfwd(plain, (0, 1))(x, w))
    for transform in (wy.grad, wy.value_and_grad, wy.hessian):
        found, expected = (transform(mixed(f), (0, 1))(x, w) for f in (primitive, plain))
        close(found, expected)
    close(wy.hvp(mixed(primitive))(x, w, x), wy.hvp(mixed(plain))(x, w, x))
    wy.check_grads(primitive, (x, w), order=2)
    slope = wy.grad(wy.grad(wy.grad(lambda s: mixed(primitive)(x * s, w))))(0.5)
    expected = wy.grad(wy.grad(wy.grad(lambda s: mixed(plain)(x * s, w))))(0.5)
    np.testing.assert_allclose(slope, expected, rtol=1e-12)


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("name", FORMS)
def test_what_was_not_used_has_a_gradient_of_zeros(name, which):
    seen = []
    plain, primitive = functions(FORMS[name], False)
    rule = primitive.vjps[0]
    primitive.defvjp(lambda g, *rest: seen.append(g) or rule(g, *rest), argnums=0)
    x = np.array([0.3, -0.7, 1.1])
    found = wy.grad(lambda x: np.sum(leaves(primitive(x, 2.0))[which]))(x)
    expected = wy.grad(lambda x: np.sum(leaves(plain(x, 2.0))[which]))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    gradients = leaves(seen[0])
    for k, (g, y) in enumerate(zip(gradients, leaves(plain(x, 2.0)), strict=True)):
        np.testing.assert_array_equal(g, np.full(np.shape(y), float(k == which)))


@pytest.mark.parametrize("name", [*FORMS, *FIRST])
def test_graphs_and_programs_of_what_returns_several_arrays(name):
    values = [np.array([0.3, -0.7, 1.1]), np.ones(1), np.zeros(0), np.linspace(-1.0, 1.0, 70)]
    found = []
    for f in functions({**FORMS, **FIRST}[name], False):
        x, w = wy.Input(values[0]), wy.Parameter(2.0)
        loss = mixed(f)(x, w)
        program = wy.freeze(loss)
        numbers = []
        for value in values:
            x.value = value
            w.zero_grad()
            loss.backward()
            run, gradients = program.value_and_grad({x: value})
            # The graph, its program, and its gradient as a graph are one function.
            np.testing.assert_allclose([run, program.run({x: value})], loss.item(), rtol=1e-12)
            np.testing.assert_allclose(gradients[w], w.grad, rtol=1e-12)
            numbers += [loss.item(), w.grad]
            w.zero_grad()
            loss.backward(create_graph=True)
            numbers.append(w.grad.item())
            w.zero_grad()
        history = wy.fit(
            program,
            {x: np.linspace(0.0, 1.0, 10)},
            optimizer=wy.SGD(lr=1e-4),
            batch_size=4,
            epochs=2,
            seed=0,
        )
        found.append([*numbers, *history.loss, w.value])
    np.testing.assert_allclose(*found, rtol=1e-10)


def test_parts_keep_their_types_and_shapes():
    parts = [
        np.float32(1.5),
        np.ones((2, 0, 3), np.float32),
        np.arange(6.0).reshape(2, 3).T,
        np.array([0.1, 2.0**-149, 3e38], np.float32),
        np.array([1e-320, 1.7e308, np.inf]),
    ]
    several = wy.primitive(lambda x: parts)
    several.defvjp(lambda g, ans, x: sum(np.sum(part, dtype=np.float64) for part in g) + 0.0 * x)
    for found, part in zip(several(wy.Variable(1.0)), parts, strict=True):
        assert found.dtype == part.dtype
        assert found.shape == np.shape(part)
        np.testing.assert_array_equal(found.value, part)
    for k in (0, 2, 3):
        assert wy.grad(lambda x, k=k: np.sum(several(x)[k]))(1.0) == np.size(parts[k])
    # All of float32 are float32 together.
    narrow = wy.primitive(lambda x: (x * 2, x * x))
    narrow.defvjp(lambda g, ans, x: 2 * g[0] + 2 * x * g[1])
    gradient = wy.grad(lambda x: np.sum(narrow(x)[0] * narrow(x)[1]))(np.ones(2, np.float32))
    assert gradient.dtype == np.float32
    np.testing.assert_array_equal(gradient, [6.0, 6.0])


def test_a_program_of_many_lengths_in_several_threads():
    """More lengths than are remembered, asked for by threads at once."""
    calls = wy.primitive(lambda x: (x * 1.0, np.sum(x), {"twice": np.concatenate([x, x])}))
    calls.defvjp(lambda g, ans, x: g[0] + g[1] + np.sum(np.reshape(g[2]["twice"], (2, -1)), 0))
    x, w = wy.Input(np.ones(3)), wy.Parameter(1.0)
    first, total, last = calls(x * w)
    program = wy.freeze(np.sum(first) * total + np.sum(last["twice"]))
    wrong = []

    def work(seed):
        for n in np.random.default_rng(seed).integers(0, 200, 150):
            value, gradients = program.value_and_grad({x: np.ones(n)})
            if value != n * n + 2 * n or gradients[w] != 2 * n * n + 2 * n:
                wrong.append((n, value, gradients[w]))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


CHANGED = {
    "another kind": lambda x: [x, x],
    "fewer": lambda x: (x,),
    "more": lambda x: (x, x, x),
    "none": lambda x: None,
    "one None": lambda x: (x, None),
    "nested": lambda x: (x, (x,)),
    "a dict": lambda x: {"a": x, "b": x},
    "an array": lambda x: x,
}
RESHAPED = {"shorter": lambda x: (x, x[:1]), "other axes": lambda x: (x, np.sum(x))}


@pytest.mark.parametrize("name", [*CHANGED, *RESHAPED])
def test_a_form_that_changes_is_an_error(name):
    @wy.primitive
    def f(x):
        return form(x)

    f.defvjp(lambda g, ans, x: g[0] + g[1])
    form = as_before = lambda x: (x, x * 2)
    x, w = wy.Input(np.ones(2)), wy.Parameter(1.0)
    first, second = f(x * w)
    loss = np.sum(first) + np.sum(second)
    program = wy.freeze(loss)
    form = {**CHANGED, **RESHAPED}[name]
    match = "f: expected a result of the form .*, as before, got"
    if name in RESHAPED:
        match = r"f\[1\]: expected a result of shape \(2,\), as before, got"
    x.value = np.full(2, 3.0)
    with pytest.raises(ValueError, match=match):
        _ = loss.value
    with pytest.raises(ValueError, match=match):
        loss.backward()
    with pytest.raises(ValueError, match=match):
        program.run({x: np.ones(2)})
    if name in CHANGED:
        with pytest.raises(ValueError, match=match):
            program.value_and_grad({x: np.ones(3)})
        with pytest.raises(ValueError, match=match):
            wy.fit(program, {x: np.ones(4)}, optimizer=wy.SGD(lr=0.1), batch_size=4)
    assert w.grad is None
    form = as_before
    assert loss.item() == 18.0
    assert program.run({x: np.ones(4)}) == 12.0


TANGENTS = {
    "fewer": (lambda t: (t,), ValueError, "f: jvp: expected a result of the form"),
    "an array": (lambda t: t, ValueError, "f: jvp: expected a result of the form"),
    "None": (lambda t: (t, None), ValueError, "f: jvp: expected a result of the form"),
    "other shape": (
        lambda t: (t, np.ones(5)),
        ValueError,
        r"f: jvp\[1\]: .*shape \(\), got \(5,\)",
    ),
    "text": (lambda t: (t, "a"), TypeError, r"f: jvp\[1\]: expected a number, an array or a var"),
    "float16": (lambda t: (np.ones(3, np.float16), 0.0), TypeError, "float16"),
}


@pytest.mark.parametrize("name", TANGENTS)
def test_tangents_have_the_form_of_the_result(name):
    given, error, match = TANGENTS[name]

    def f(x):
        return x, np.sum(x)

    f = wy.primitive(f)
    f.defvjp(lambda g, ans, x: g[0] + g[1])
    f.defjvp(lambda t, ans, x: given(t))
    with pytest.raises(error, match=match):
        wy.jvp(f, (np.ones(3),), (np.ones(3),))
    f.defjvp(lambda t, ans, x: (0.0, np.sum(t)))  # A number is the same for every element.
    tangent = wy.jvp(f, (np.ones(3),), (np.ones(3),))[1]
    np.testing.assert_array_equal(tangent[0], np.zeros(3))
    assert tangent[1] == 3.0


def test_forward_mode_runs_a_reverse_rule_as_often_for_many_results_as_for_few():
    runs = []

    def rule(g, ans, x):
        runs.append(1)
        return sum(k * part for k, part in enumerate(g))

    def count(n):
        runs.clear()
        kinds = [np.float32, np.float64]
        f = wy.primitive(lambda x: [(k * x).astype(kinds[k % 2]) for k in range(n)])
        f.defvjp(rule)
        x = np.array([1.0, 2.0])
        tangents = wy.jvp(f, (x,), (x,))[1]
        for k, tangent in enumerate(tangents):
            assert tangent.dtype == kinds[k % 2]
            np.testing.assert_array_equal(tangent, k * x)
        f.defvjp(None)
        np.testing.assert_array_equal(wy.jvp(f, (x,), (x,))[1], np.zeros((n, 2)))
        return len(runs)

    assert count(60) == count(2) > 0


def test_gradients_of_what_was_broadcast_are_summed_for_several_results():
    f = wy.primitive(lambda x, s: {"product": x * s, "sum": np.sum(x)})
    f.defvjp(
        lambda g, ans, x, s: g["product"] * s + g["sum"],
        lambda g, ans, x, s: g["product"] * x,  # In the shape of the product.
    )
    x = np.arange(6.0).reshape(2, 3)
    for s in (2.0, np.array([1.0, 2.0, 3.0]), np.array([[1.0], [2.0]])):
        wy.check_grads(f, (x, s), order=2)
    f.defvjp(lambda g, ans, x, s: np.ones(7), argnums=0)
    with pytest.raises(ValueError, match=r"vjp: expected a result of shape \(2, 3\), got \(7,\)"):
        wy.grad(lambda x: f(x, 2.0)["sum"])(x)


def test_parts_are_assigned_to_apart_from_each_other():
    f = wy.primitive(lambda x: (x * x, np.sum(x)))
    f.defvjp(lambda g, ans, x: g[0] * 2 * x + g[1])

    def assigned(x):
        squares, total = f(x)
        squares[1] = total
        squares *= 2.0
        return np.sum(squares)

    np.testing.assert_array_equal(wy.grad(assigned)(np.array([1.0, 2.0, 3.0])), [6.0, 2.0, 14.0])


class Object:
    pass


@pytest.mark.parametrize("held", ["results", "gradient", "pullback", "program"])
def test_circles_through_several_results_are_collected(held):
    def circle():
        here = Object()
        f = wy.primitive(lambda x: (x, 2 * x, here)[:2])
        f.defvjp(lambda g, ans, x: g[0] + 2 * g[1])
        x = wy.Variable(np.ones(2))
        first, second = f(x)
        loss = np.sum(first * second)
        if held == "results":
            here.held = (first, second)
        elif held == "gradient":
            loss.backward(create_graph=True)
            here.held = (x, x.grad)
        elif held == "pullback":
            here.held = wy.vjp(f, np.ones(2))
        else:
            here.held = wy.freeze(loss)
        return weakref.ref(here)

    circles = [circle() for _ in range(10)]
    gc.collect()
    gc.collect()
    assert all(ref() is None for ref in circles)


@pytest.mark.parametrize("make", [wy.primitive, wy.checkpoint])
def test_graphs_of_primitives_are_freed_without_the_collector(make):
    class Array(np.ndarray):
        pass

    argument = np.ones(2).view(Array)
    seen = weakref.ref(argument)
    f = make(lambda x, y: (x * y, x + y))
    if make is wy.primitive:
        f.defvjp(lambda g, ans, x, y: g[0] * y + g[1])
    x = wy.Variable(np.ones(2))
    gc.collect()
    gc.disable()
    try:
        parts = f(x, argument)
        np.sum(parts[0] * parts[1]).backward()
        assert seen() is not None
        del argument, parts
        assert seen() is None
    finally:
        gc.enable()
    np.testing.assert_array_equal(x.grad, [3.0, 3.0])


def test_a_part_needs_nobody_to_hold_the_others():
    f = wy.primitive(lambda x: (x * 1.0, x * 3.0))
    f.defvjp(lambda g, ans, x: g[0] + 3.0 * g[1])
    x = wy.Variable(np.ones(2))
    second = f(x)[1]
    del f
    gc.collect()
    np.sum(second * second).backward(create_graph=True)
    gradient = x.grad
    del second
    x.zero_grad()
    gc.collect()
    np.testing.assert_array_equal(gradient.value, [18.0, 18.0])
    np.sum(gradient).backward()
    np.testing.assert_array_equal(x.grad, [18.0, 18.0])
