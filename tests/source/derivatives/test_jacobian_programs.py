"""Jacobians, Hessians and pullbacks of arrays by reading, against tracing."""

import numpy as np
import pytest

import wyrmling as wy

X = np.array([0.3, -0.7, 1.2])
M = np.arange(6.0).reshape(2, 3) / 7


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def elementwise(x):
    return np.sin(x) * x


def rolled(x):
    total = np.zeros(3)
    for i in range(len(x)):
        total[i] = x[i] * x[i - 1]
    return total


def rolled_to_trace(x):
    return np.stack([x[i] * x[i - 1] for i in range(len(x))])


def matrix(x):
    return x @ x.T


def scaled(a, x):
    return {"all": a * x * x, "sum": np.sum(x) * a}


def spread(a):
    return np.array([a, a * a, 1.0])


def spread_to_trace(a):
    return np.stack([a, a * a, 1.0])


# What tracing refuses, in another form.
TO_TRACE = {rolled: rolled_to_trace, spread: spread_to_trace}


def traced(transform, f, *args, **options):
    return transform(TO_TRACE.get(f, f), *args, mode="trace", **options)


def free(x):
    return np.ones(2) * 3.0


CASES = [(elementwise, (X,)), (rolled, (X,)), (matrix, (M,)), (spread, (2.0,)), (free, (X,))]
CASES += [(rosenbrock, (X,)), (elementwise, (M,)), (elementwise, (X.astype(np.float32),))]


def same(found, expected):
    pairs = [wy.transforms.tree.flatten(each)[0] for each in (found, expected)]
    assert [name for name, _ in pairs[0]] == [name for name, _ in pairs[1]]
    for (_, a), (_, b) in zip(*pairs, strict=True):
        assert type(a) is type(b)
        assert np.shape(a) == np.shape(b)
        if isinstance(b, np.ndarray):
            assert a.dtype == b.dtype
        single = getattr(b, "dtype", None) == np.float32
        np.testing.assert_allclose(a, b, rtol=1e-5 if single else 1e-11, atol=1e-9)


@pytest.mark.parametrize("transform", [wy.jacrev, wy.jacfwd], ids=["rev", "fwd"])
@pytest.mark.parametrize(("f", "args"), CASES)
def test_jacobians(f, args, transform):
    same(transform(f, mode="source")(*args), traced(transform, f)(*args))


@pytest.mark.parametrize("transform", [wy.jacrev, wy.jacfwd], ids=["rev", "fwd"])
@pytest.mark.parametrize("argnums", [0, 1, (1, 0)])
def test_jacobians_by_several(transform, argnums):
    args = (2.0, X)
    expected = transform(scaled, argnums, mode="trace")(*args)
    same(transform(scaled, argnums, mode="source")(*args), expected)


@pytest.mark.parametrize("f", [rosenbrock, elementwise, rolled])
def test_hessians(f):
    same(wy.hessian(f, mode="source")(X), traced(wy.hessian, f)(X))


def test_other_lengths_are_read_anew():
    hessian = wy.hessian(rosenbrock, mode="source")
    for n in (2, 5, 3, 2, 7):
        x = np.linspace(-1.0, 1.0, n)
        same(hessian(x), wy.hessian(rosenbrock, mode="trace")(x))


def test_results_are_the_callers():
    jacobian = wy.jacrev(free, mode="source")
    jacobian(X)[0, 0] = 9.0
    assert jacobian(X)[0, 0] == 0.0
    jacobian = wy.jacrev(elementwise, mode="source")
    first = jacobian(X)
    first[:] = 7.0
    assert jacobian(X)[0, 1] == 0.0


@pytest.mark.parametrize(("f", "args"), [*CASES[:4], (scaled, (2.0, X))])
def test_pullbacks(f, args):
    value, back = wy.vjp(f, *args, mode="source")
    expected, by_tracing = traced(wy.vjp, f, *args)
    same(value, expected)
    seed = wy.transforms.tree.convert(lambda leaf: np.cos(leaf) if np.ndim(leaf) else 2.0, value)
    same(back(seed), by_tracing(seed))
    same(back(seed), by_tracing(seed))


def test_a_pullback_of_what_raises():
    def positive(x):
        if x[0] < 0.0:
            raise ValueError("negative")
        return x * x

    with pytest.raises(ValueError, match="negative"):
        wy.vjp(positive, -X, mode="source")
    with pytest.raises(ValueError, match="negative"):
        wy.jacrev(positive, mode="source")(-X)
    assert wy.vjp(positive, X, mode="source")[1](np.ones(3))[0][0] == 0.6
    assert wy.jacrev(positive, mode="source")(X)[0, 0] == 0.6
    with pytest.raises(ValueError, match="negative"):
        wy.vjp(positive, -X, mode="source")


def test_a_pullback_keeps_its_arguments():
    x = X.copy()
    _, back = wy.vjp(elementwise, x, mode="source")
    expected = back(np.ones(3))[0].copy()
    x[:] = 0.0
    np.testing.assert_array_equal(back(np.ones(3))[0], expected)
    with pytest.raises(ValueError, match="expected shape"):
        back(np.ones(2))
    np.testing.assert_array_equal(back(np.ones(3, np.float32))[0], expected)
    with pytest.raises(TypeError, match="expected float64, as the result's, got float16"):
        back(np.ones(3, np.float16))


def test_directions_are_those_of_the_arguments():
    def f(p):
        return np.sum(p["a"] ** 3) * p["b"] ** 2

    args = {"a": X, "b": 2.0}
    direction = {"b": 5.0, "a": np.array([1.0, 0.0, -2.0])}
    for mode in ("trace", "source", "auto", "auto", "auto"):
        same(
            wy.hvp(f, mode=mode)(args, direction), wy.hvp(f)(args, dict(sorted(direction.items())))
        )
        for wrong in ({"b": 5.0, "a": np.ones(1)}, {"b": 5.0, "a": np.ones(2)}):
            with pytest.raises(ValueError, match="expected shape"):
                wy.hvp(f, mode=mode)(args, wrong)
        with pytest.raises(TypeError, match="form of the primals"):
            wy.hvp(f, mode=mode)(args, 1.0)


@pytest.mark.parametrize("x", [2.0, np.float32(2.0), 2])
@pytest.mark.parametrize("seed", [3, 3.0, np.float32(3.0), np.int64(3), np.float64(3.0)])
def test_gradients_of_numbers_may_be_any_numbers(x, seed):
    def f(x):
        return x * x * x

    if type(x) is np.float32 and type(seed) is np.float64:
        for mode in ("trace", "source"):
            with pytest.raises(TypeError, match="expected float32"):
                wy.vjp(f, x, mode=mode)[1](seed)
        return
    expected = wy.vjp(f, x, mode="trace")[1](seed)
    found = wy.vjp(f, x, mode="source")[1](seed)
    assert found == expected
    assert type(found[0]) is type(expected[0])


def test_lengths_that_a_program_has_to_know():
    def filled(x):
        y = np.zeros(len(x))
        for i in range(len(x)):
            y[i] = x[i] ** 2
        return np.sum(y * y)

    slope = wy.grad(filled, mode="source")
    for n in (3, 2, 5, 3, 1, 2):
        x = np.linspace(0.5, 1.5, n)
        np.testing.assert_allclose(slope(x), 4.0 * x**3, rtol=1e-13)


def rosenbrock_by_elements(x):
    s = 0.0
    for i in range(len(x) - 1):
        s = s + 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return s


def by_parts(x):
    # Branches, an array that is written, and an element that is read twice in a turn.
    y = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > 0.0:
            y[i] = x[i] * x[i] * x[0]
        else:
            y[i] = np.sin(x[i]) * x[-1]
    s = 0.0
    for i in range(len(x) - 1, -1, -1):
        s = s * 0.5 + y[i] * y[i - 1]
    return s


def by_parts_to_trace(x):
    y = np.stack([e * e * x[0] if e > 0.0 else np.sin(e) * x[-1] for e in x])
    s = 0.0
    for i in range(len(x) - 1, -1, -1):
        s = s * 0.5 + y[i] * y[i - 1]
    return s


TO_TRACE[by_parts] = by_parts_to_trace


@pytest.mark.parametrize("n", [1, 2, 5, 7, 8, 15])
@pytest.mark.parametrize("f", [rosenbrock_by_elements, rosenbrock, by_parts])
def test_hessians_of_loops_take_several_directions_at_a_time(f, n):
    x = np.random.default_rng(n).normal(size=n)
    if n == 1 and f is not by_parts:
        x = np.append(x, 0.5)
    expected = traced(wy.hessian, f)(x)
    for transform in (
        wy.hessian(f, mode="source"),
        wy.jacfwd(wy.grad(f, mode="source"), mode="source"),
        wy.jacrev(wy.grad(f, mode="source"), mode="source"),
    ):
        found = transform(x)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        longer = np.append(x, 0.25)
        np.testing.assert_allclose(
            transform(longer), traced(wy.hessian, f)(longer), rtol=1e-12, atol=1e-12
        )


def test_columns_of_a_function_of_several_results():
    def f(x):
        s, p = 0.0, 1.0
        for i in range(len(x)):
            s, p = s + x[i] * p, p * x[i]
        return {"s": s, "p": p, "free": 2.0}

    x = np.array([0.5, -1.5, 2.0, 0.25, 3.0, 1.0])
    found = wy.jacfwd(f, mode="source")(x)
    expected = wy.jacfwd(f, mode="trace")(x)
    for key in expected:
        np.testing.assert_allclose(found[key], expected[key], rtol=1e-13, atol=0)


def product_of_squares(a, x):
    return np.sum(a * a) * np.sum(x * x)


def apart(a, x):
    return {"a": a * a, "x": np.sum(x * x)}


SINGLE = X.astype(np.float32)


@pytest.mark.parametrize(
    "of", [(np.float32(2.0), X), (X, np.float32(2.0)), (SINGLE, X), (X, SINGLE)]
)
@pytest.mark.parametrize(
    ("f", "transform"),
    [
        (product_of_squares, wy.jacrev),
        (product_of_squares, wy.jacfwd),
        (product_of_squares, wy.hessian),
        (apart, wy.jacrev),
        (apart, wy.jacfwd),
    ],
)
def test_types_that_differ(f, transform, of):
    """Each derivative has the type that it has when it is traced."""
    expected = transform(f, (0, 1), mode="trace")(*of)
    found = transform(f, (0, 1), mode="source")(*of)
    assert repr(form(found)) == repr(form(expected))
    for one, other in zip(leaves(found), leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def leaves(value):
    parts = value.values() if isinstance(value, dict) else value
    nested = isinstance(value, dict | tuple)
    return [leaf for part in parts for leaf in leaves(part)] if nested else [value]


def form(value):
    return [(type(leaf), np.shape(leaf), np.asarray(leaf).dtype) for leaf in leaves(value)]


@pytest.mark.parametrize("mode", ["source", "auto"])
def test_tangents_and_products_of_constants_have_their_types(mode):
    def value(x):
        return np.float32(2.0), np.sum(x), 3.0

    for _ in range(3):
        found = wy.jvp(value, (X,), (X,), mode=mode)
        assert form(found) == form(wy.jvp(value, (X,), (X,), mode="trace"))
        product = wy.hvp(lambda x: 3.0, mode=mode)(np.float32(1.0), np.float32(1.0))
        assert form((product,)) == [(np.float32, (), np.float32)]


def leaves_of(found):
    return (
        [one for part in found for one in leaves_of(part)] if isinstance(found, tuple) else [found]
    )


@pytest.mark.parametrize(
    "derived",
    [
        lambda f, at, mode: wy.hessian(f, at, mode=mode),
        lambda f, at, mode: wy.jacfwd(wy.jacrev(f, at, mode=mode), 1, mode=mode),
        lambda f, at, mode: wy.jacrev(wy.jacfwd(f, at, mode=mode), 0, mode=mode),
        lambda f, at, mode: wy.jacrev(wy.grad(f, at, mode=mode), 1, mode=mode),
        lambda f, at, mode: wy.hessian(wy.jacrev(f, at, mode=mode), 1, mode=mode),
    ],
)
@pytest.mark.parametrize("at", [0, 1, (0, 1)])
def test_an_array_that_does_not_matter_has_zeros_that_are_differentiated_again(derived, at):
    def f(x, y):
        return np.sum(x**3)

    by_mode = [derived(f, at, mode) for mode in ("source", "trace")]
    for n, m in ((2, 3), (2, 3), (1, 2)):
        x, y = np.arange(1.0, n + 1.0), np.ones((1, m), np.float32)
        found, wanted = (leaves_of(each(x, y)) for each in by_mode)
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert one.shape == other.shape
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-12)
            # It is the caller's own.
            one[...] = 7.0


def test_a_pullback_by_an_array_that_does_not_matter_gives_zeros():
    for n in (2, 2, 3):
        y, back = wy.vjp(lambda x, z: np.sum(x * x), np.ones(n), np.ones((n, 2)), mode="source")
        assert y == n
        for _ in range(2):
            by_x, by_z = back(1.0)
            assert by_x.tolist() == [2.0] * n
            assert by_z.shape == (n, 2)
            assert not by_z.any()
            by_z[...] = 7.0


def beside_nothing(x):
    return np.sum(x) * np.ones(2), x[:0], x * 2.0


@pytest.mark.parametrize("x", [X, np.zeros(0), np.zeros((2, 0)), M])
@pytest.mark.parametrize("transform", [wy.jacobian, wy.jacfwd])
def test_blocks_without_elements_are_there(transform, x):
    found = transform(beside_nothing, mode="source")(x)
    identity = 2.0 * np.eye(x.size).reshape(x.shape * 2)
    wanted = np.ones((2, *x.shape)), np.zeros((*x[:0].shape, *x.shape)), identity
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


def test_a_hessian_by_nothing_has_no_elements():
    assert wy.hessian(rosenbrock, mode="source")(np.zeros(0)).shape == (0, 0)


def positive(x):
    return x[x > 0.0] ** 2


def test_rows_of_what_a_mask_picks():
    jacobian = wy.jacobian(positive, mode="source")
    for x in (X, -X, X + 1.0, X):
        np.testing.assert_array_equal(jacobian(x), np.diag(2.0 * x)[x > 0.0])
    with pytest.raises(wy.SourceError, match="in forward mode of an array of computed length"):
        wy.jacfwd(positive, mode="source")(X)
    np.testing.assert_array_equal(wy.jacfwd(positive)(X), jacobian(X))


def squares_of_positive(x):
    found = []
    for t in x:
        if t > 0.0:
            found.append(t * t)
    return np.array(found)


def test_a_list_of_another_length_is_not_spread():
    jacobian = wy.jacobian(squares_of_positive, mode="source")
    # A result of another length is that of a program of its own.
    for x in (X, np.array([0.5, 0.2, -1.0]), -X, X):
        np.testing.assert_array_equal(jacobian(x), np.diag(2.0 * x)[x > 0.0])


@pytest.mark.parametrize("transform", [wy.jacrev, wy.jacfwd, wy.hessian])
def test_what_the_function_raises_is_its_own(transform):
    """Not an error of reading, though the shapes of results are found by running the program."""
    rows, x = np.array([0, 1, 3]), np.array([1.5, 2.0, 0.5])
    slope = transform(lambda rows, x: x[rows] ** 2, 1, mode="source")
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        slope(rows, x)
    assert slope(rows - 1, x).shape[:2] == (3, 3)


@pytest.mark.parametrize("outer", [wy.jacfwd, wy.jacrev])
@pytest.mark.parametrize("inner", [wy.jacfwd, wy.jacrev])
def test_what_is_stopped_has_no_second_derivative(outer, inner):
    """A Jacobian that is differentiated again still knows what was stopped."""

    def f(x):
        return x * x * wy.stop_gradient(x * x)

    x = np.array([1.0, 2.0, -3.0])
    expected = np.zeros((3, 3, 3))
    expected[range(3), range(3), range(3)] = 2.0 * x * x
    for mode in ("source", "trace"):
        np.testing.assert_allclose(outer(inner(f, mode=mode), mode=mode)(x), expected, rtol=1e-12)
