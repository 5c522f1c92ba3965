"""Operators written in Python."""

import threading

import numpy as np
import pytest

import wyrmling as wy


@pytest.fixture
def cube():
    calls = []

    @wy.primitive
    def cube(x):
        assert not isinstance(x, wy.Variable)
        calls.append(np.shape(x))
        return x**3

    cube.defvjp(lambda g, ans, x: g * 3 * x**2)
    cube.calls = calls
    return cube


def test_a_primitive_has_every_derivative(cube):
    assert wy.grad(cube)(2.0) == 12.0
    assert wy.grad(wy.grad(cube))(2.0) == 12.0
    assert wy.grad(wy.grad(wy.grad(cube)))(2.0) == 6.0
    assert wy.jvp(cube, (2.0,), (1.0,)) == (8.0, 12.0)
    assert cube(2.0) == 8.0
    wy.check_grads(lambda x: np.sum(cube(x) * np.sin(x)), (np.array([0.3, 0.7]),), order=3)


@pytest.mark.parametrize("define", ["defvjp", "defjvp"])
def test_there_are_no_rules_for_arguments_that_a_primitive_does_not_take(cube, define):
    def rule(*args):
        return args[0]

    match = f"{define}: cube takes 1 argument.*no rule for argument 1"
    with pytest.raises(ValueError, match=match):
        getattr(cube, define)(rule, rule)
    with pytest.raises(ValueError, match=match):
        getattr(cube, define)(rule, argnums=1)
    assert wy.grad(cube)(2.0) == 12.0  # the rules are as they were
    assert cube.jvps == {}

    # By keyword alone counts not, with a default does, and some take any number, or do not say.
    named = wy.primitive(lambda x, y=1.0, /, *, z=2.0: x)
    getattr(named, define)(rule, rule)
    with pytest.raises(ValueError, match="takes 2 argument"):
        getattr(named, define)(rule, argnums=2)
    getattr(wy.primitive(lambda *x: x[0]), define)(rule, argnums=7)
    getattr(wy.primitive(np.hypot), define)(rule, rule)


def test_a_primitive_is_called_once_for_a_value(cube):
    x = wy.Input([1.0, 2.0])
    y = cube(x)
    assert cube.calls == [(2,)]
    x.value = [3.0, 4.0]
    np.testing.assert_array_equal(y.value, [27.0, 64.0])
    assert cube.calls == [(2,)] * 2


def test_a_primitive_in_backward_and_in_programs(cube):
    w, x = wy.Parameter([2.0]), wy.Input([1.0], name="x")
    loss = (cube(w * x)).sum()
    loss.backward()
    np.testing.assert_array_equal(w.grad, [12.0])
    program = wy.freeze(loss)
    value, gradients = program.value_and_grad({x: [1.0, 2.0, 3.0]})
    assert value == 8.0 * 36
    np.testing.assert_allclose(gradients[w], [12.0 * 36])
    assert (3,) in cube.calls
    history = wy.fit(loss, {x: np.ones(10)}, optimizer=wy.SGD(lr=0.001), epochs=2, threads=2)
    assert history.loss[1] < history.loss[0]


def test_operands_beside_others():
    @wy.primitive
    def scaled(x, factor, y, *, power=1):
        return factor * x**power * y

    scaled.defvjp(
        lambda g, ans, x, factor, y, power=1: g * factor * power * x ** (power - 1) * y,
        None,
        lambda g, ans, x, factor, y, power=1: g * factor * x**power,
    )
    x, y = np.array([[1.0], [2.0]]), np.array([1.0, 2.0, 3.0])
    # Broadcast, so the gradients are summed.
    gx, gy = wy.grad(lambda x, y: np.sum(scaled(x, 3.0, y, power=2)), argnums=(0, 1))(x, y)
    np.testing.assert_allclose(gx, 6 * x * y.sum())
    np.testing.assert_allclose(gy, np.full(3, 15.0))
    wy.check_grads(lambda x, y: scaled(x, 3.0, y, power=2), (x, y))
    with pytest.raises(TypeError, match="power: a variable is passed by position"):
        scaled(1.0, 2.0, 3.0, power=wy.Variable(1.0))
    with pytest.raises(TypeError, match="power: a variable is passed by position"):
        scaled(1.0, 2.0, 3.0, power=[wy.Variable(1.0)])


def _network(params, x, layers=None):
    out = x
    for weight, bias in params["layers"]:
        out = np.tanh(out @ weight + bias)
    return np.sum(out * params["scale"])


def _network_vjp(g, ans, params, x, layers=None):
    return wy.vjp(lambda p: _network(p, x), params)[1](g)[0]


@pytest.mark.parametrize("forward", [False, True])
def test_operands_may_be_in_tuples_and_dicts(forward, rng):
    network = wy.primitive(_network)
    network.defvjp(_network_vjp, lambda g, ans, p, x: wy.vjp(lambda x: _network(p, x), x)[1](g)[0])
    if forward:
        network.defjvp(
            lambda t, ans, p, x: wy.jvp(lambda p: _network(p, x), (p,), (t,))[1],
            lambda t, ans, p, x: wy.jvp(lambda x: _network(p, x), (x,), (t,))[1],
        )
    params = {
        "layers": [(rng.normal(size=(3, 2)), rng.normal(size=2)), (rng.normal(size=(2, 2)), 0.5)],
        "scale": 2.0,
    }
    x = rng.normal(size=(4, 3))
    got = wy.grad(network, argnums=(0, 1))(params, x)
    expected = wy.grad(_network, argnums=(0, 1))(params, x)
    assert list(got[0]) == ["layers", "scale"]
    assert isinstance(got[0]["layers"][0], tuple)
    for one, other in zip(flattened(got), flattened(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    wy.check_grads(network, (params, x))
    # A leaf alone that matters, and plain calls.
    got = wy.grad(lambda s: network({"layers": params["layers"], "scale": s}, x))(2.0)
    np.testing.assert_allclose(got, expected[0]["scale"])
    assert network(params, x) == _network(params, x)
    # In a frozen program.
    s = wy.Input(2.0)
    program = wy.freeze(network({"layers": params["layers"], "scale": s}, x) * 1.0)
    np.testing.assert_allclose(program.run({s: 3.0}), 1.5 * _network(params, x))


def flattened(tree):
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, tuple | list):
        return [leaf for part in tree for leaf in flattened(part)]
    return [tree]


def test_a_gradient_of_a_container_has_its_form():
    pair = wy.primitive(lambda ab: ab[0] * ab[1])
    pair.defvjp(lambda g, ans, ab: (g * ab[1], g * ab[0]))
    assert wy.grad(lambda a: pair((a, a * 2.0)))(3.0) == 12.0
    pair.defvjp(lambda g, ans, ab: g * ab[1])
    with pytest.raises(ValueError, match=r"pair|lambda.*: a gradient for each leaf|each leaf"):
        wy.grad(lambda a: pair((a, 2.0)))(3.0)


def test_a_missing_rule_says_what_to_do():
    @wy.primitive
    def lonely(x, y):
        return x * y

    with pytest.raises(NotImplementedError, match=r"lonely has no rule .* argument 1(.|\n)*defvjp"):
        wy.grad(lonely, argnums=1)(1.0, 2.0)
    with pytest.raises(NotImplementedError, match="argument 0"):
        wy.jvp(lambda x: lonely(x, 2.0), (1.0,), (1.0,))
    with pytest.raises(NotImplementedError, match="lonely has no rule"):
        lonely(wy.Parameter(1.0), 2.0).backward()
    with pytest.raises(NotImplementedError, match="lonely has no rule"):
        wy.freeze(lonely(wy.Parameter(1.0), 2.0)).value_and_grad({})
    lonely.defvjp(None, argnums=0)
    assert wy.grad(lambda x: lonely(x, 2.0) + x)(1.0) == 1.0


def test_forward_rules():
    @wy.primitive
    def f(x):
        return np.sin(x)

    seen = []
    f.defvjp(lambda g, ans, x: g * np.cos(x))
    f.defjvp(lambda t, ans, x: seen.append(1) or t * np.cos(x))
    assert wy.jvp(f, (0.0,), (3.0,))[1] == 3.0
    assert seen
    wy.check_grads(f, (0.3,))


def test_forward_rules_alone_serve_reverse_mode():
    @wy.primitive
    def f(x, params):
        return {"product": x * params["w"], "norm": np.sum(x * x) * params["b"]}

    f.defjvp(
        lambda t, ans, x, p: {"product": t * p["w"], "norm": 2.0 * np.sum(x * t) * p["b"]},
        lambda t, ans, x, p: {
            "product": x * t["w"],
            "norm": ans["norm"] / p["b"] * t["b"],
        },
    )

    def loss(f):
        def of(x, params):
            y = f(x, params)
            return np.sum(np.sin(y["product"])) * y["norm"]

        return of

    x, params = np.array([[0.1, 0.7], [0.4, -0.3]]), {"w": np.array([2.0, 3.0]), "b": 0.5}
    wy.check_grads(f, (x, params), order=2)
    for transform in (wy.grad, wy.hessian):
        found = transform(loss(f), (0, 1))(x, params)
        expected = transform(loss(f.function), (0, 1))(x, params)
        for a, b in zip(flattened(found), flattened(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)
    wide, w = wy.Input(x), wy.Parameter([2.0, 3.0])
    program = wy.freeze(loss(f)(wide, {"w": w, "b": 0.5}))
    expected = wy.grad(lambda w: loss(f.function)(x, {"w": w, "b": 0.5}))(np.array([2.0, 3.0]))
    np.testing.assert_allclose(program.value_and_grad({wide: x})[1][w], expected)
    # None says that it does not move, and a rule for one argument is none for another.
    f.defjvp(None, argnums=0)
    np.testing.assert_array_equal(wy.grad(loss(f))(x, params), np.zeros((2, 2)))
    lonely = wy.primitive(lambda x, y: x * y).defjvp(lambda t, ans, x, y: t * y)
    assert wy.grad(lonely)(2.0, 3.0) == 3.0
    with pytest.raises(NotImplementedError, match="argument 1"):
        wy.grad(lonely, argnums=1)(2.0, 3.0)


@pytest.mark.parametrize(
    ("rules", "argnums", "error"),
    [
        ((), None, ValueError),
        ((None, None), 0, ValueError),
        ((None,), -1, ValueError),
        (("x",), None, TypeError),
    ],
)
def test_rules_of_no_function_or_for_no_argument_are_errors(cube, rules, argnums, error):
    with pytest.raises(error, match="defvjp: "):
        cube.defvjp(*rules, argnums=argnums)


def test_results_that_are_no_arrays_or_of_other_shapes_are_errors():
    f = wy.primitive(lambda x: "text")
    with pytest.raises(TypeError, match="expected a number or an array"):
        f(wy.Variable(1.0))
    g = wy.primitive(lambda x: x * 2)
    g.defvjp(lambda g, ans, x: np.ones((2, 5)))
    with pytest.raises(ValueError, match=r"expected a result of shape \(3,\), got \(2, 5\)"):
        wy.grad(lambda x: g(x).sum())(np.ones(3))
    grows = wy.primitive(lambda x: np.ones(len(grows.lengths)) if grows.lengths.append(1) else 1.0)
    grows.lengths = []
    x = wy.Input(1.0)
    y = grows(x)
    grows.function = lambda x: np.ones(3)
    x.value = 2.0
    with pytest.raises(ValueError, match=r"expected a result of shape \(\), as before, got \(3,\)"):
        _ = y.value

    with pytest.raises(TypeError, match=r"got float16.*astype"):
        wy.grad(wy.primitive(lambda x: np.float16(x)))(1.0)

    def fails(x):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        wy.primitive(fails)(wy.Variable(1.0))


def test_a_primitive_that_reaches_into_its_graph():
    x = wy.Input(1.0)
    reach = []

    @wy.primitive
    def f(v):
        for action in reach:
            action()
        return v * 2

    y = f(x)
    reach.append(lambda: setattr(x, "value", 5.0))
    x.value = 3.0
    with pytest.raises(RuntimeError, match="is being computed with"):
        _ = y.value
    reach.clear()
    assert y.item() == 6.0
    w = wy.Parameter(1.0)
    f.defvjp(lambda g, ans, v: (w * w).backward() or g)
    with pytest.raises(RuntimeError, match="backward pass that is under way"):
        f(w).backward()
    assert w.grad is None


def test_primitives_of_another_thread_may_drop_graphs(cube):
    """While a rule runs, another thread lets go of its last reference to part of the graph."""
    results = []

    def work():
        x = wy.Variable(np.ones(4))
        for _ in range(50):
            results.append(wy.grad(lambda v: np.sum(cube(v) * x))(np.ones(4)))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(results) == 150


def test_a_primitive_may_pull_back_through_its_own_graph():
    found = []

    @wy.primitive
    def double(x):
        return 2.0 * x

    def rule(g, y, x):
        if not found:
            found.append(None)
            found.append(pullback(10.0))
        return 2.0 * g

    double.defvjp(rule)
    _, pullback = wy.vjp(lambda x: x * double(x * x) + x, 3.0)
    assert pullback(1.0) == (2.0 * 3.0 * 9.0 + 1.0,)
    assert found[1] == (10.0 * (2.0 * 3.0 * 9.0 + 1.0),)


@pytest.mark.parametrize(
    ("x", "given"),
    [(np.ones(3), np.ones((5, 3))), (1.0, np.ones(2)), (np.ones((2, 1)), np.ones(3))],
)
def test_a_gradient_is_summed_only_where_its_argument_was_broadcast(x, given):
    @wy.primitive
    def total(x):
        return np.sum(x)

    total.defvjp(lambda g, ans, x: given)
    with pytest.raises(ValueError, match="expected a result of shape"):
        wy.grad(total)(x)


def test_a_gradient_of_what_was_broadcast_may_have_the_shape_of_the_result():
    @wy.primitive
    def scaled(x, by):
        return x * by

    scaled.defvjp(lambda g, ans, x, by: g * by, lambda g, ans, x, by: g * x)
    x, by = np.arange(6.0).reshape(2, 3), np.array([[2.0], [3.0]])
    got = wy.grad(lambda x, by: np.sum(scaled(x, by)), (0, 1))(x, by)
    np.testing.assert_array_equal(got[0], np.broadcast_to(by, x.shape))
    np.testing.assert_array_equal(got[1], x.sum(1, keepdims=True))
    assert wy.grad(lambda a: np.sum(scaled(x, a)))(2.0) == x.sum()


@pytest.mark.parametrize("given", [None, "a", [1.0, 2.0]])
def test_a_rule_returns_numbers(given):
    @wy.primitive
    def double(x):
        return 2.0 * x

    double.defvjp(lambda g, ans, x: given)
    with pytest.raises(TypeError, match="double: vjp: expected a number, an array or a variable"):
        wy.grad(double)(1.0)
