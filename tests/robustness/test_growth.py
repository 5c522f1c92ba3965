"""Work on many arrays or elements grows with their number, not with its square.

Calls and elements are counted, and no times are compared. ``growth.rs`` counts what is
allocated for graphs. Running results are also compared with NumPy's on either side of the number of
elements from which they are computed in another way.
"""

import numpy as np
import pytest

import wyrmling as wy
from wyrmling.arrays import polynomial, shaping, statistics, universal

N = 300


@pytest.mark.parametrize(
    "work",
    [lambda xs: np.broadcast_arrays(*xs), lambda xs: np.choose(np.arange(4), xs)],
    ids=["broadcast_arrays", "choose"],
)
def test_many_arrays_are_broadcast_once_each(work, monkeypatch):
    calls = []
    single = shaping.broadcast_like

    def counted(x, like):
        calls.append(1)
        return single(x, like)

    monkeypatch.setattr(shaping, "broadcast_like", counted)
    work([wy.Variable(np.arange(4.0)) for _ in range(N)])
    assert 0 < len(calls) <= 3 * N


def test_a_division_of_polynomials_copies_what_its_steps_change(monkeypatch, rng):
    copied = []
    joined = polynomial.concatenate

    def counted(parts):
        made = joined(parts)
        copied.append(made.size)
        return made

    monkeypatch.setattr(polynomial, "concatenate", counted)
    x, y = rng.normal(size=N), np.array([2.0, 0.5, 0.25])
    quotient, rest = np.polydiv(wy.Variable(x), y)
    assert 0 < sum(copied) <= 10 * N
    for made, expected in zip((quotient, rest), np.polydiv(x, y), strict=True):
        np.testing.assert_allclose(made.value, expected, rtol=1e-9, atol=1e-12)


def test_scans_combine_what_adds_up_to_a_few_times_the_elements(rng):
    combined = []

    def multiplied(x, y):
        combined.append(x.size)
        return x * y

    x = rng.uniform(0.9, 1.1, (20 * N + 1, 2))
    found = statistics.scan("scan", multiplied, wy.Variable(x), 0)
    assert 0 < sum(combined) <= 4 * x.size
    np.testing.assert_allclose(found.value, np.cumprod(x, 0), rtol=1e-9)


@pytest.mark.parametrize("n", [1, 255, 256, 257, 258, 1023, 1026])
@pytest.mark.parametrize("ufunc", [np.multiply, np.maximum, np.minimum, np.logaddexp])
def test_running_results_of_many_elements_are_numpys(ufunc, n, rng):
    x, factors = rng.uniform(0.9, 1.1, (2, n)), rng.normal(size=(2, n))
    np.testing.assert_allclose(
        ufunc.accumulate(wy.Variable(x), axis=1).value, ufunc.accumulate(x, axis=1), rtol=1e-9
    )

    def total(x):
        return np.sum(factors * ufunc.accumulate(x, axis=1))

    wy.check_grads(total, (x,), order=1)


def test_slices_of_one_length_are_reduced_together(monkeypatch, rng):
    calls = []
    single = universal._reduce

    def counted(*args):
        calls.append(1)
        return single(*args)

    monkeypatch.setattr(universal, "_reduce", counted)
    x = rng.normal(size=(2, 10 * N))
    places = np.sort(np.concatenate([np.arange(0, 10 * N, 10), np.arange(0, 10 * N, 40)]))
    found = np.add.reduceat(wy.Variable(x), places, axis=1)
    assert 0 < len(calls) <= 2
    np.testing.assert_allclose(found.value, np.add.reduceat(x, places, axis=1), rtol=1e-9)


@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.logaddexp])
def test_long_slices_that_overlap_are_reduced_one_by_one(ufunc, monkeypatch, rng):
    sizes = []
    single = universal._reduce

    def counted(ufunc, x, axis):
        sizes.append(x.size)
        return single(ufunc, x, axis)

    monkeypatch.setattr(universal, "_reduce", counted)
    x, places = rng.uniform(0.9, 1.1, (2, N)), [0, N - 1, 0, N - 1, 7, 3, 0, 5]
    found = ufunc.reduceat(wy.Variable(x), places, axis=1)
    assert 0 < max(sizes) <= x.size
    np.testing.assert_allclose(found.value, ufunc.reduceat(x, places, axis=1), rtol=1e-9)

    factors = rng.normal(size=(2, len(places)))
    wy.check_grads(lambda x: np.sum(factors * ufunc.reduceat(x, places, axis=1)), (x,), order=1)


def drawn_leaves(rng, dtype):
    shapes = [(2,), (), (2, 2), (1,), (0,), (3,), (2, 1), (1, 2), (4,), (), (2,), (1, 1, 1)]
    return {"w": [rng.normal(size=shape).astype(dtype) for shape in shapes], "c": dtype(1.3)}


def combined(p):
    total = sum(np.sum(np.sin(w)) * (k + 1) for k, w in enumerate(p["w"]))
    return {"sum": total * p["c"], "first": p["w"][0] * p["c"]}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_rule_for_a_long_list_is_called_once(rng, dtype):
    calls = []

    def rule(g, ans, p):
        calls.append(1)
        of_w = [np.cos(w) * ((k + 1) * p["c"] * g["sum"]) for k, w in enumerate(p["w"])]
        of_w[0] = of_w[0] + g["first"] * p["c"]
        for w in p["w"]:
            w *= 0.0  # Rules have copies.
        of_c = ans["sum"] / p["c"] * g["sum"] + np.sum(g["first"] * ans["first"] / p["c"])
        return {"c": of_c, "w": of_w}

    opaque = wy.primitive(combined).defvjp(rule)

    def loss(f):
        return lambda p: np.sum(f(p)["sum"] ** 2) + np.sum(f(p)["first"] ** 3)

    def squared(f):
        slopes = wy.grad(loss(f), mode="trace")
        return lambda p: sum(np.sum(slope * slope) for slope in slopes(p)["w"])

    p, tangent = drawn_leaves(rng, dtype), drawn_leaves(rng, dtype)
    rtol = 1e-10 if dtype is np.float64 else 1e-4
    for made, expected in (
        (wy.grad(loss(opaque), mode="trace")(p), wy.grad(loss(combined), mode="trace")(p)),
        (wy.grad(squared(opaque), mode="trace")(p), wy.grad(squared(combined), mode="trace")(p)),
    ):
        for one, other in zip(
            [*made["w"], made["c"]], [*expected["w"], expected["c"]], strict=True
        ):
            assert np.shape(one) == np.shape(other)
            assert np.asarray(one).dtype == np.asarray(other).dtype
            np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)
    moved = [wy.jvp(loss(f), (p,), (tangent,), mode="trace")[1] for f in (opaque, combined)]
    np.testing.assert_allclose(*moved, rtol=rtol)
    leaves = {"w": [wy.Parameter(w) for w in p["w"]], "c": wy.Parameter(p["c"])}
    calls.clear()
    result = opaque(leaves)
    (np.sum(result["sum"]) + np.sum(result["first"])).backward()
    assert len(calls) == 1
    leaves["w"][1].value = 0.25
    expected = combined({"w": [w.value for w in leaves["w"]], "c": p["c"]})
    np.testing.assert_allclose(result["sum"].value, expected["sum"], rtol=rtol)


def test_a_checkpoint_of_many_arguments_is_run_once_more():
    calls = []

    @wy.checkpoint
    def total(xs, scale, number):
        calls.append(1)
        return scale * sum(np.sin(x) * number for x in xs)

    for makes in (wy.Variable, wy.Parameter):
        xs = [makes(0.1 * k) for k in range(30)]
        scale = makes(2.0)
        calls.clear()
        total(xs, scale, 3).backward()
        assert len(calls) == 2
        np.testing.assert_allclose([x.grad for x in xs], [6.0 * np.cos(x.value) for x in xs])
        np.testing.assert_allclose(scale.grad, 3.0 * sum(np.sin(x.value) for x in xs))
    # Those whose lengths may change are operands of their own.
    x, w = wy.Input(np.ones(2)), wy.Parameter(2.0)
    y = total([x * w], w, 3)
    x.value = np.ones(5)
    assert y.value.shape == (5,)
