"""Transforms of functions: by formulas, by differences, by each other, and where they refuse."""

import functools
import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wyrmling as wy


def D(f, x):
    return wy.grad(f)(x)


def close(a, b, tolerance=1e-9):
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


# --- what a function may be ---


@pytest.mark.parametrize("argnums", [range(2**40), range(2**40, 0, -1), [0] * 3])
def test_argnums_are_read_no_further_than_the_first_that_is_wrong(argnums):
    for transform in (wy.grad, wy.value_and_grad, wy.jacrev, wy.jacfwd, wy.hessian):
        with pytest.raises(ValueError, match="argnums"):
            transform(np.sum, argnums=argnums)(np.ones(2))
    with pytest.raises(ValueError, match="argnums"):
        wy.primitive(np.sum).defvjp(lambda g, *_: g, argnums=argnums)


@pytest.mark.parametrize(
    "call",
    [
        lambda v, many: np.roll(v, many),
        lambda v, many: np.moveaxis(v, many, 0),
        lambda v, many: np.flip(v, many),
        lambda v, many: np.median(v, many),
        lambda v, many: np.tile(v, many),
        lambda v, many: np.repeat(v, many),
        lambda v, many: np.split(v, many),
        lambda v, many: np.sum(v, axis=many),
        lambda v, many: np.reshape(v, many),
        lambda v, many: np.expand_dims(v, many),
        lambda v, many: np.transpose(v, many),
        lambda v, many: np.partition(v, many),
        lambda v, many: np.pad(v, many),
        lambda v, many: np.vander(v, len(many)),
    ],
)
def test_sequences_of_any_length_are_not_built(call):
    with pytest.raises((TypeError, ValueError, MemoryError)):
        call(wy.Variable(np.ones(3)), range(2**40))


def test_gradients_are_as_plain_as_the_arguments():
    for x, kind in [(2.0, float), (2, float), (np.float64(2), float), (np.float32(2), np.float32)]:
        assert type(wy.grad(lambda x: x * x * x)(x)) is kind
    array = wy.grad(lambda x: x * x * x)(np.array(2.0))
    assert isinstance(array, np.ndarray)
    assert array.shape == ()
    single = wy.grad(lambda x: np.sum(x * x))(np.ones(3, np.float32))
    assert single.dtype == np.float32


def test_control_flow_recursion_closures_and_attributes():
    def power(x, n):
        return 1.0 if n == 0 else x * power(x, n - 1)

    assert wy.grad(power)(2.0, 5) == 80.0

    class Model:
        scale = 3.0

        def __call__(self, x):
            total = 0.0
            for i in range(4):
                total = total + x * i if x > 0 else total - x
                while total > 100:
                    total = total / 2
            return self.scale * total

    assert wy.grad(Model())(1.5) == 18.0
    assert wy.grad(Model())(-1.5) == -12.0


def test_numpy_functions_methods_and_slices():
    def f(x):
        y = np.tanh(x[1:] @ np.ones((3, 2)))
        return np.sum(y) + x.T[0] ** 2 + np.where(x > 0.5, x, 0.0).mean()

    x = np.array([0.3, 0.7, -0.2, 0.9])
    wy.check_grads(f, (x,))


def test_nested_arguments_results_and_keywords():
    class Pair(NamedTuple):
        a: object
        b: object

    def f(tree, pair, *, scale=1.0):
        x, [y] = tree["x"], tree["rest"]
        return scale * (x * y).sum() + pair.a * pair.b

    tree = {"x": np.array([1.0, 2.0]), "rest": [np.array([3.0, 4.0])], "none": None}
    got, pair = wy.grad(f, argnums=(0, 1))(tree, Pair(2.0, np.float32(3.0)), scale=2.0)
    assert list(got) == ["x", "rest", "none"]
    close(got["x"], [6.0, 8.0])
    close(got["rest"][0], [2.0, 4.0])
    assert got["none"] is None
    assert isinstance(pair, Pair)
    assert pair == (3.0, 2.0)
    assert isinstance(pair.b, np.float32)


def test_value_aux_and_argnums():
    f = lambda x, y: (x * y, {"twice": 2 * x, "note": "text", "n": 3})  # noqa: E731
    (value, aux), gradient = wy.value_and_grad(f, argnums=-1, has_aux=True)(2.0, 5.0)
    assert (value, gradient) == (10.0, 2.0)
    assert aux == {"twice": 4.0, "note": "text", "n": 3}
    assert wy.grad(f, has_aux=True)(2.0, 5.0) == (5.0, aux)
    assert wy.value_and_grad(lambda x, y: x * y, argnums=[1, 0])(2.0, 5.0) == (10.0, (2.0, 5.0))


def test_names_and_documentation_follow_the_function():
    def loss(x):
        """What is lost."""
        return x

    gradient = wy.grad(loss)
    assert gradient.__name__ == "grad_loss"
    assert gradient.__doc__ == "The grad of loss.\n\nWhat is lost."
    assert wy.grad(functools.partial(lambda a, x: a * x, 3.0))(1.0) == 3.0


# --- nesting ---


def test_perturbations_are_not_confused():
    assert D(lambda x: x * D(lambda y: x * y, 1), 4) == 8
    assert D(lambda x: x * D(lambda y: x + y, 1), 1) == 1
    assert D(lambda x: x * D(lambda y: x * y, x), 4) == 8
    assert D(lambda x: D(lambda y: y * y * x, x), 3.0) == 12.0
    push = lambda f, x: wy.jvp(f, (x,), (1.0,))[1]  # noqa: E731
    for inner in (D, push):
        for outer in (D, push):
            assert outer(lambda x, inner=inner: x * inner(lambda y: x * y, 1.0), 4.0) == 8.0
            assert outer(lambda x, inner=inner: x * inner(lambda y: x + y, 1.0), 1.0) == 1.0


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_derivatives_of_every_order_in_every_order_of_modes(depth):
    push = lambda f: lambda x: wy.jvp(f, (x,), (1.0,))[1]  # noqa: E731
    for modes in range(2**depth):
        f = lambda x: np.exp(2.0 * x) * np.sin(x)  # noqa: E731
        for bit in range(depth):
            f = wy.grad(f) if modes >> bit & 1 else push(f)
        # The imaginary part of exp((2 + i) x), times (2 + i) a derivative.
        expected = ((2 + 1j) ** depth * np.exp((2 + 1j) * 0.3)).imag
        close(f(0.3), expected)


def test_polynomials_end_in_zeros():
    f = lambda x: 2.0 * x  # noqa: E731
    assert wy.grad(wy.grad(f))(1.0) == 0.0
    assert wy.grad(wy.grad(wy.grad(f)))(1.0) == 0.0
    close(wy.hessian(lambda x: x.sum())(np.ones(3)), np.zeros((3, 3)))


def test_gradient_descent_is_differentiated_through():
    def trained(rate):
        w = 1.0
        for _ in range(200):
            w = w - rate * wy.grad(lambda w: (w - 3.0) ** 2)(w)
        return w

    # w = 3 - 2 (1 - 2 rate)^n
    close(wy.grad(trained)(0.001), 4 * 200 * (1 - 0.002) ** 199)


def test_results_are_variables_where_one_outside_is_involved():
    w = wy.Parameter([2.0, 3.0])
    slope = wy.grad(lambda x: (w * x * x).sum())(np.array([1.0, 1.0]))
    assert isinstance(slope, wy.Variable)
    slope.sum().backward()
    close(w.grad, [2.0, 2.0])
    x = wy.Variable(3.0)
    inner = wy.grad(lambda x: x**3)(x)
    assert inner.item() == 27.0
    inner.backward()
    assert x.grad == 18.0
    data = wy.Input([1.0, 2.0])
    close(wy.grad(lambda x: (data * x).sum())(np.ones(2)), [1.0, 2.0])


def test_a_pullback_is_that_of_what_was_returned():
    def g(x):
        y, pull = wy.vjp(lambda z: np.sin(z) * 2.0, x)
        y *= 100.0
        y[0] = 7.0
        return np.sum(pull(np.ones(2))[0])

    x = np.array([1.0, 2.0])
    close(wy.grad(g)(x), -2.0 * np.sin(x))
    w = wy.Parameter(x)
    y, pull = wy.vjp(lambda z: z * w, x)
    y *= 100.0
    close(pull(np.ones(2))[0].value, x)


# --- products, Jacobians, second derivatives ---


def test_products_of_nested_results():
    def f(x, y):
        return {"a": x * y, "b": (np.sin(x), [y.sum()])}

    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    value, pull = wy.vjp(f, x, y)
    close(value["a"], [3.0, 8.0])
    assert wy.pullback is wy.vjp
    gx, gy = pull({"a": np.ones(2), "b": (np.zeros(2), [10.0])})
    close(gx, y)
    close(gy, x + 10)
    gx, _ = pull({"a": np.zeros(2), "b": (np.ones(2), [0.0])})
    close(gx, np.cos(x))
    value, moved = wy.jvp(f, (x, y), (np.ones(2), np.zeros(2)))
    close(moved["a"], y)
    close(moved["b"][0], np.cos(x))
    close(moved["b"][1][0], 0.0)


def test_jacobians_agree_and_are_those_of_differences():
    a = np.arange(6.0).reshape(2, 3)

    def f(x):
        return np.tanh(a @ x)[:, None] * x

    x = np.array([0.1, -0.4, 0.2])
    expected = np.stack([(f(x + d) - f(x - d)) / 2e-6 for d in 1e-6 * np.eye(3)], -1)
    for jacobian in (wy.jacobian, wy.jacrev, wy.jacfwd):
        found = jacobian(f)(x)
        assert found.shape == (2, 3, 3)
        close(found, expected, 1e-6)


def test_jacobians_of_trees():
    f = lambda p: (p["a"] * p["b"], p["a"] ** 2)  # noqa: E731
    p = {"a": 2.0, "b": np.array([1.0, 5.0])}
    for jacobian in (wy.jacrev, wy.jacfwd):
        first, second = jacobian(f)(p)
        close(first["a"], [1.0, 5.0])
        close(first["b"], 2 * np.eye(2))
        assert second["a"] == 4.0
        close(second["b"], [0.0, 0.0])
    empty = wy.jacrev(lambda x: x * 2)(np.ones((0, 2)))
    assert empty.shape == (0, 2, 0, 2)
    assert wy.jacfwd(lambda x: x * 2)(np.ones((0, 2))).shape == (0, 2, 0, 2)


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def rosenbrock_hessian(x):
    """By hand."""
    n = len(x)
    h = np.zeros((n, n))
    i = np.arange(n - 1)
    h[i, i] += 1200 * x[:-1] ** 2 - 400 * x[1:] + 2
    h[i + 1, i + 1] += 200
    h[i, i + 1] = h[i + 1, i] = -400 * x[:-1]
    return h


def test_hessians():
    x = np.linspace(-1.0, 1.0, 12)
    expected = rosenbrock_hessian(x)
    close(wy.hessian(rosenbrock)(x), expected)
    close(wy.jacfwd(wy.grad(rosenbrock))(x), expected)
    close(wy.jacrev(wy.jacfwd(rosenbrock))(x), expected)
    close(wy.jacfwd(wy.jacfwd(rosenbrock))(x), expected)
    v = np.cos(np.arange(12.0))
    close(wy.hvp(rosenbrock)(x, v), expected @ v)
    nested = wy.hessian(lambda p: p["a"] ** 2 * p["b"])({"a": 3.0, "b": 5.0})
    assert nested == {"a": {"a": 10.0, "b": 6.0}, "b": {"a": 6.0, "b": 0.0}}


def test_elementwise_derivatives():
    x = np.linspace(-2, 2, 7)
    second = wy.elementwise_grad(wy.elementwise_grad(np.sin))
    close(second(x), -np.sin(x))


@given(st.integers(0, 2**32 - 1))
def test_random_compositions_pass_their_check(seed):
    rng = np.random.default_rng(seed)
    parts = [
        np.sin,
        np.tanh,
        lambda x: x * np.cos(x),
        lambda x: np.log1p(x * x),
        lambda x: 1 / (1 + x * x),
    ]
    chosen = [parts[i] for i in rng.integers(0, len(parts), 4)]
    weights = rng.normal(size=(3, 3))

    def f(x):
        for part in chosen:
            x = part(weights @ x * 0.5)
        return x

    wy.check_grads(f, (rng.normal(size=3),), atol=1e-5, rtol=1e-4)


def test_checks_fail_for_wrong_rules():
    wrong = wy.primitive(lambda x: x**3)
    wrong.defvjp(lambda g, ans, x: g * 2 * x**2)
    for mode in ("fwd", "rev"):
        with pytest.raises(AssertionError, match=f"order 1, {mode}: the derivative is"):
            wy.check_grads(wrong, (1.5,), modes=(mode,))
    square = wy.primitive(lambda x: x**2)
    square.defvjp(lambda g, ans, x: g * 3 * x)
    later = wy.primitive(lambda x: x**3)
    later.defvjp(lambda g, ans, x: g * 3 * square(x))
    wy.check_grads(later, (1.5,), order=1)
    with pytest.raises(AssertionError, match="order 2"):
        wy.check_grads(later, (1.5,), order=2)


# --- errors ---


def refused(error, match, f, *args, **kwargs):
    with pytest.raises(error, match=match):
        f(*args, **kwargs)


def test_what_is_no_number():
    g = wy.grad(lambda x: x)
    refused(TypeError, "argument 0: expected a float.*got str 'text'", g, "text")
    refused(TypeError, "argument 0: .*got bool True", g, True)
    refused(TypeError, r"dtype int64; convert it with .astype\(float\)", g, np.arange(3))
    refused(TypeError, r"argument 0\['a'\]\[1\]: .*got str", g, {"a": [1.0, "b"]})
    refused(TypeError, "indices; leave it out of argnums", g, wy.IndexInput([0]))
    refused(TypeError, "complex", g, 1j)


def test_what_cannot_be_differentiated():
    refused(TypeError, r"of shape .3,. from .*; sum it", wy.grad(lambda x: x), np.ones(3))
    refused(TypeError, "returns one number, got tuple", wy.grad(lambda x: (x, x)), 1.0)
    refused(TypeError, "returns one number, got NoneType", wy.grad(lambda x: None), 1.0)
    refused(TypeError, "got int 3; integers have no gradient", wy.grad(lambda x: 3), 1.0)
    refused(TypeError, "got str", wy.grad(lambda x: "loss"), 1.0)
    refused(TypeError, "has_aux: expected", wy.grad(lambda x: x, has_aux=True), 1.0)
    refused(TypeError, "expected a function", wy.grad, 3.0)


def test_unread_arguments_have_no_gradient():
    f = lambda x, y: x * 2.0  # noqa: E731
    assert wy.grad(f, argnums=(0, 1))(1.0, 2.0) == (2.0, 0.0)
    assert wy.jacobian(f, argnums=1)(1.0, np.ones(2)).tolist() == [0.0, 0.0]
    assert wy.jacfwd(f, argnums=1)(1.0, np.ones(2)).tolist() == [0.0, 0.0]
    assert wy.elementwise_grad(f, argnums=1)(np.ones(2), 3.0) == 0.0
    assert wy.hessian(f, argnums=1)(1.0, 2.0) == 0.0
    assert wy.hvp(f, argnums=1)(1.0, 2.0, 1.0) == 0.0
    single = wy.grad(f, argnums=1)(1.0, np.ones(3, np.float32))
    assert single.dtype == np.float32
    assert single.tolist() == [0.0, 0.0, 0.0]
    assert wy.grad(lambda p: p["a"] * 2.0)({"a": 1.0, "b": 2.0}) == {"a": 2.0, "b": 0.0}
    assert wy.grad(lambda x: 1.0 if x > 0 else 0.0)(1.0) == 0.0
    assert wy.grad(lambda x: wy.grad(lambda y: y * 3.0)(x) * x)(2.0) == 3.0


def test_one_number_in_an_array_is_one_number():
    for f in (lambda x: x[:1] ** 2, lambda x: np.sum(x[:1] ** 2, keepdims=True)[None]):
        value, gradient = wy.value_and_grad(f)(np.array([3.0, 1.0]))
        assert value.shape == f(np.array([3.0, 1.0])).shape
        assert gradient.tolist() == [6.0, 0.0]
    assert wy.hessian(lambda x: wy.grad(lambda y: y[:1] ** 3)(x)[0])(np.ones(1)).shape == (1, 1)


def test_a_pullback_within_a_gradient_is_plain_where_its_arguments_are():
    seen = []
    y, pullback = wy.vjp(lambda v: v**2, np.array([1.0, 2.0]))

    def f(x):
        seen.extend([pullback(y)[0], wy.vjp(np.sin, 0.0)[1](1.0)[0], wy.grad(np.cos)(0.0)])
        inner = wy.vjp(lambda v: v * x, 3.0)[1](1.0)[0]
        assert isinstance(inner, wy.Variable)
        return inner * np.sum(seen[0])

    assert wy.grad(f)(2.0) == 18.0
    assert [type(found) for found in seen] == [np.ndarray, float, float]


def test_float16_is_refused():
    half = np.ones(2, np.float16)
    for call in (
        lambda: wy.grad(np.sum)(half),
        lambda: wy.grad(lambda x: x * 2.0)(np.float16(1.0)),
        lambda: wy.grad(lambda x: np.sum(x * half))(np.ones(2, np.float32)),
        lambda: wy.Variable(half),
        lambda: wy.Parameter(half),
        lambda: wy.Input(half),
        lambda: wy.Variable([1.0, 2.0]) + half,
        lambda: wy.stack([half, wy.Variable([1.0, 2.0])]),
        lambda: wy.vjp(np.sin, np.float16(1.0)),
        lambda: wy.jvp(np.sin, (half,), (half,)),
    ):
        refused(TypeError, "got float16.*astype", call)


def test_argnums_that_are_no_distinct_arguments_are_errors():
    f = lambda x: x  # noqa: E731
    refused(ValueError, "argument 1 is to be differentiated, but 1 ", wy.grad(f, 1), 1.0)
    refused(TypeError, "argnums: expected an integer or several", wy.grad(f, (0.5,)), 1.0)
    refused(TypeError, "argnums: expected an integer or several", wy.grad(f, None), 1.0)
    assert wy.grad(f, np.int64(0))(2.0) == 1.0
    refused(ValueError, "distinct", wy.grad(f, (0, -1)), 1.0)
    refused(ValueError, "one argument at least", wy.grad(f, ()), 1.0)


def test_seeds_that_do_not_fit():
    _, pull = wy.vjp(lambda x: x * 2, np.ones(3))
    refused(ValueError, r"expected shape \(3,\), as the result's, got \(2,\)", pull, np.ones(2))
    refused(TypeError, "float64, as the result's, got float16", pull, np.ones(3, np.float16))
    refused(TypeError, "of the form of the result", pull, [np.ones(3)])
    refused(TypeError, "expected numbers, got str", pull, "g")
    jvp = functools.partial(wy.jvp, lambda x: x * 2)
    refused(ValueError, "tangents.*expected shape", jvp, (np.ones(3),), (np.ones(2),))
    refused(TypeError, "form of the primals", jvp, (np.ones(3),), ({"a": 1.0},))
    refused(TypeError, "primals: expected a tuple", jvp, np.ones(3), (np.ones(3),))


def test_gradients_are_not_lost_on_the_way():
    traced = functools.partial(wy.grad, mode="trace")
    refused(TypeError, "np.sin for math.sin", traced(math.sin), 1.0)
    refused(TypeError, "plain array would lose", traced(np.asarray), np.ones(2))
    refused(TypeError, "wyrmling.array", traced(lambda x: np.array([x, x]).sum()), 1.0)

    def fill(x):
        out = np.zeros(2)
        out[0] = x
        return out.sum()

    refused(TypeError, "np.stack", traced(fill), 1.0)

    def fill_rows(x):
        out = np.zeros((2, 2))
        out[0] = x
        return out.sum()

    refused(TypeError, "np.stack", traced(fill_rows), np.ones(2))
    data = wy.Input([1.0, 2.0])
    refused(TypeError, "plain array would lose", wy.grad(lambda x: np.asarray(x).sum()), data)


def test_an_error_of_the_function_is_raised_as_it_is():
    def f(x):
        raise KeyError("mine")

    refused(KeyError, "mine", wy.grad(f), 1.0)


@pytest.mark.parametrize("transform", [wy.jacrev, wy.jacfwd, wy.hessian])
def test_jacobians_pass_on_what_is_beside_the_result(transform):
    def f(x):
        return x**2 * x[0], {"sum": np.sum(x), "none": None}

    x = np.array([1.0, 2.0])
    for mode in ("trace", "auto"):
        slope = transform(f, has_aux=True, mode=mode)
        for _ in range(2):
            found, beside = slope(x)
            assert beside == {"sum": 3.0, "none": None}
            assert np.array_equal(found, transform(lambda x: f(x)[0])(x))
    assert np.array_equal(wy.jacrev(lambda x: slope(x)[1]["sum"])(x), [1.0, 1.0])
    with pytest.raises(wy.SourceError, match="has_aux of"):
        transform(f, has_aux=True, mode="source")(x)
    with pytest.raises(TypeError, match="has_aux: expected a function that returns"):
        transform(lambda x: x, has_aux=True)(x)
